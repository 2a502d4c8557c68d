/* wic/pages.h: runs of neighbouring pages out of a fixed number of them, as the Interrupter takes
 * them for what its consumers wait for.
 *
 * Two structures behind one interface, chosen when it is made:
 *
 * TIDE_PAGES_FAST keeps the free runs by their exact size, with a bitmap over the sizes, and what
 * each page's neighbour needs to join with it in an array beside. It gives the smallest free run
 * that is long enough, the newest of several. Taking and giving back are a few instructions
 * whatever their length; where no free run is near in size, a look at four words at most.
 *
 * TIDE_PAGES_TREE is the WIC paper's: a segment tree over the pages, searched from the top down. It
 * gives the lowest free pages that will do.
 *
 * Both fail only when there is no such run, and do the same whenever they are asked the same.
 * Whoever calls holds the lock: nothing here does. All memory is taken by create: about 16 bytes a
 * page for the fast one, 28 for the tree's, whose pages count up to the next power of two.
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

/* All `count` pages are free, and numbered from 0. TIDE_INVALID unless it is 1 … TIDE_PAGES_MOST.
 */
TIDE_MUST_CHECK enum tide_status tide_pages_create(struct tide_context *context,
                                                   enum tide_pages_kind kind, uint32_t count,
                                                   struct tide_pages **out_pages);
/* What is still taken goes with it. */
void tide_pages_destroy(struct tide_pages *pages);

/* The first of `count` pages that were free and now are taken; TIDE_PAGES_NONE when there are no
 * such neighbours, or when none are asked for. */
uint32_t tide_pages_alloc(struct tide_pages *pages, uint32_t count);
/* Gives back all of what one alloc gave, by the same numbers; anything else fails an assert. */
void tide_pages_free(struct tide_pages *pages, uint32_t first, uint32_t count);

/* How many pages are free, and how many of them the longest run has. */
uint32_t tide_pages_free_count(const struct tide_pages *pages);
uint32_t tide_pages_largest(const struct tide_pages *pages);

#endif
