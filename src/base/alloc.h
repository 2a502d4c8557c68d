/* base/alloc.h: moving bytes, and allocating objects. The plain C names come from the C library, or
 * from freestanding.c in builds without one. */
#ifndef TIDE_BASE_ALLOC_H
#define TIDE_BASE_ALLOC_H

#include "base/sister.h"
#include "tidemark/base.h"

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);

#define TIDE_CACHE_LINE 64

/* Prefetches whole cache lines that are about to be written. GCC treats a function that only
 * prefetches as one without effect, and removes calls of it; the empty asm prevents that. */
static inline void tide_fetch_lines(const void *at, size_t count) {
  for (size_t i = 0; i < count; i++) {
    __builtin_prefetch((const void *)((uintptr_t)at + i * TIDE_CACHE_LINE), 1);
    __asm__ volatile("");
  }
}

/* Prefetches cache lines that another processor has just written. The other processor gives each
 * line up at once, instead of sharing a copy first. (Some x86 processors lack the instruction and
 * ignore it.) */
static inline void tide_fetch_to_write(const void *at, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const char *line = (const char *)at + i * TIDE_CACHE_LINE;
#ifdef __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
  }
}

/* Returns the allocator; for NULL the one over malloc, which a freestanding build lacks. */
static inline const struct tide_allocator *
tide_allocator_or_default(const struct tide_allocator *given) {
#if __STDC_HOSTED__ && !defined(TIDE_FREESTANDING)
  return given ? given : tide_allocator_system();
#else
  return given;
#endif
}

/* Returns zeroed memory for one object or an array of them; NULL: no memory, or the size overflows.
 * Objects of a multiple of the cache line's size are aligned to cache lines. */
TIDE_SISTER void *tide_alloc(const struct tide_allocator *allocator, size_t count, size_t size);
/* Does tide_alloc without zeroing, so that unused pages are never touched. */
TIDE_SISTER void *tide_alloc_unset(const struct tide_allocator *allocator, size_t count,
                                   size_t size);
/* Frees memory of either function, with the same count and size. NULL is fine. */
TIDE_SISTER void tide_free(const struct tide_allocator *allocator, void *memory, size_t count,
                           size_t size);

#endif
