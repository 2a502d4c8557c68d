/* wic/pages_kind.h: what pages.c asks of the structure behind it. Private to pages*.c. */
#ifndef TIDE_WIC_PAGES_KIND_H
#define TIDE_WIC_PAGES_KIND_H

#include "wic/pages.h"

/* What is common to them is checked and counted by pages.c: `count` is 1 to what is free, and what
 * is given back lies among the pages. */
struct tide_pages_class {
  struct tide_pages *(*create)(const struct tide_allocator *allocator, uint32_t count);
  void (*destroy)(struct tide_pages *pages);
  uint32_t (*alloc)(struct tide_pages *pages, uint32_t count);
  /* False: no alloc gave it so. Then nothing has changed. */
  bool (*free)(struct tide_pages *pages, uint32_t first, uint32_t count);
  uint32_t (*largest)(const struct tide_pages *pages);
};

/* Stands first in the struct of each kind. */
struct tide_pages {
  const struct tide_pages_class *class;
  const struct tide_allocator *allocator;
  uint32_t count, free;
};

extern const struct tide_pages_class tide_pages_fast, tide_pages_tree;

#endif
