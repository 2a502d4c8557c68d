/* wic/pages.h: an allocator of runs of neighbouring pages from a fixed number of them. The
 * Interrupter allocates the pages of its requests here.
 *
 * Two structures implement it; tide_pages_create takes the kind:
 *
 * TIDE_PAGES_FAST keeps the free runs by their exact size, with a bitmap over the sizes. An array
 * beside the pages holds the lengths that joining neighbours needs. An allocation takes the
 * smallest free run that is long enough, the newest of several. Allocating and freeing cost a few
 * instructions for any length; without a free run of a similar size, the search reads four words at
 * most.
 *
 * TIDE_PAGES_TREE is the WIC paper's: a segment tree over the pages, searched from the top down. An
 * allocation takes the lowest free pages that suffice.
 *
 * Both fail only if no such run exists, and both are deterministic. The caller holds a lock:
 * nothing here locks. All memory is allocated by tide_pages_create: about 16 bytes a page for the
 * fast one; 28 for the tree, which rounds the page count up to a power of two.
 *
 * Source: "WIC: Hiding Producer-Consumer Synchronization Delays with Warp-Level Interrupt-based GPU
 * Communications". */
#ifndef TIDE_WIC_PAGES_H
#define TIDE_WIC_PAGES_H

#include "causal/context_state.h"

#define TIDE_PAGES_MOST (1u << 24)
#define TIDE_PAGES_NONE UINT32_MAX

enum tide_pages_kind { TIDE_PAGES_FAST, TIDE_PAGES_TREE };

struct tide_pages;

/* Creates `count` free pages, numbered from 0. TIDE_INVALID unless `count` is 1 …
 * TIDE_PAGES_MOST. */
TIDE_MUST_CHECK enum tide_status tide_pages_create(struct tide_context *context,
                                                   enum tide_pages_kind kind, uint32_t count,
                                                   struct tide_pages **out_pages);
/* Frees the structure, whether or not pages are still allocated. */
void tide_pages_destroy(struct tide_pages *pages);

/* Allocates `count` neighbouring pages and returns the first; TIDE_PAGES_NONE if no such run is
 * free, or `count` is 0. */
uint32_t tide_pages_alloc(struct tide_pages *pages, uint32_t count);
/* Frees all pages of one tide_pages_alloc, by the same numbers; anything else fails an assert. */
void tide_pages_free(struct tide_pages *pages, uint32_t first, uint32_t count);

/* Return the number of free pages, and the length of the longest free run. */
uint32_t tide_pages_free_count(const struct tide_pages *pages);
uint32_t tide_pages_largest(const struct tide_pages *pages);

#endif
