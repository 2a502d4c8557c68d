/* Runs of pages: the part that both structures share. */
#include "wic/pages_kind.h"

#include "base/check.h"

enum tide_status tide_pages_create(struct tide_context *context, enum tide_pages_kind kind,
                                   uint32_t count, struct tide_pages **out_pages) {
  if (!context || !out_pages || count == 0 || count > TIDE_PAGES_MOST) return TIDE_INVALID;
  if (kind != TIDE_PAGES_FAST && kind != TIDE_PAGES_TREE) return TIDE_INVALID;
  const struct tide_pages_class *class =
      kind == TIDE_PAGES_FAST ? &tide_pages_fast : &tide_pages_tree;
  struct tide_pages *pages = class->create(context->allocator, count);
  if (!pages) return TIDE_NOMEM;
  pages->class = class;
  pages->count = pages->free = count;
  *out_pages = pages;
  return TIDE_OK;
}

void tide_pages_destroy(struct tide_pages *pages) {
  if (pages) pages->class->destroy(pages);
}

uint32_t tide_pages_alloc(struct tide_pages *pages, uint32_t count) {
  if (count == 0 || count > pages->free) return TIDE_PAGES_NONE;
  uint32_t first = pages->class->alloc(pages, count);
  if (first != TIDE_PAGES_NONE) pages->free -= count;
  return first;
}

void tide_pages_free(struct tide_pages *pages, uint32_t first, uint32_t count) {
  TIDE_ASSERT(count > 0 && first < pages->count && count <= pages->count - first);
  bool was_taken_so = pages->class->free(pages, first, count);
  TIDE_ASSERT(was_taken_so);
  pages->free += count;
}

uint32_t tide_pages_free_count(const struct tide_pages *pages) { return pages->free; }

uint32_t tide_pages_largest(const struct tide_pages *pages) { return pages->class->largest(pages); }
