/* base/alloc.h: moving bytes, and asking an allocator for objects. The plain C
 * names come from the C library, or from freestanding.c where there is none. */
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

/* Asks for whole lines that are about to be written. GCC takes a function that does nothing else
 * for one without effect, and leaves calls of it out: hence the statement that it cannot. */
static inline void tide_fetch_lines(const void *at, size_t count) {
  for (size_t i = 0; i < count; i++) {
    __builtin_prefetch((const void *)((uintptr_t)at + i * TIDE_CACHE_LINE), 1);
    __asm__ volatile("");
  }
}

/* The same of lines that another processor has just written: it gives them away at once, instead of
 * a copy first. (Not every x86 processor has the instruction; the others do nothing.) */
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

/* Zeroed memory for one object or an array of them; NULL when there is none or
 * when the size overflows. Objects that are whole cache lines lie on cache lines. */
TIDE_SISTER void *tide_alloc(const struct tide_allocator *allocator, size_t count, size_t size);
/* The same, but nothing is set, so that what is never used is never touched. */
TIDE_SISTER void *tide_alloc_unset(const struct tide_allocator *allocator, size_t count,
                                   size_t size);
/* Give back what they gave, with the same numbers. NULL is fine. */
TIDE_SISTER void tide_free(const struct tide_allocator *allocator, void *memory, size_t count,
                           size_t size);

#endif
