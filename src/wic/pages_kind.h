/* wic/pages_kind.h: the operations of a structure behind pages.c. Private to pages*.c. */
#ifndef TIDE_WIC_PAGES_KIND_H
#define TIDE_WIC_PAGES_KIND_H

#include "wic/pages.h"

/* pages.c checks and counts: `count` is 1 … the number of free pages, and freed pages lie within
 * the range. */
struct tide_pages_class {
  struct tide_pages *(*create)(const struct tide_allocator *allocator, uint32_t count);
  void (*destroy)(struct tide_pages *pages);
  uint32_t (*alloc)(struct tide_pages *pages, uint32_t count);
  /* False, and nothing has changed: no alloc returned this run. */
  bool (*free)(struct tide_pages *pages, uint32_t first, uint32_t count);
  uint32_t (*largest)(const struct tide_pages *pages);
};

/* The first member of each structure. */
struct tide_pages {
  const struct tide_pages_class *class;
  const struct tide_allocator *allocator;
  uint32_t count, free;
};

extern const struct tide_pages_class tide_pages_fast, tide_pages_tree;

#endif
