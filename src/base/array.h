/* base/array.h: arrays that grow. */
#ifndef TIDE_BASE_ARRAY_H
#define TIDE_BASE_ARRAY_H

#include "base/sister.h"
#include "tidemark/base.h"

/* Makes room for `count` elements, more than *capacity. `clear`: the new part becomes zero. False,
 * and nothing changed, when there is no memory. */
TIDE_SISTER bool tide_array_grow(const struct tide_allocator *allocator, void *array_pointer,
                                 size_t *capacity, size_t count, size_t size, bool clear);

/* Makes room for `count` elements of `size` bytes in an array that tide_alloc gave or that is empty
 * yet; what was in it stays, the new part is zero. False, and nothing changed, when there is no
 * memory. */
static inline bool tide_array_reserve(const struct tide_allocator *allocator, void *array_pointer,
                                      size_t *capacity, size_t count, size_t size) {
  return count <= *capacity ||
         tide_array_grow(allocator, array_pointer, capacity, count, size, true);
}
/* The same for an array whose new part is written before it is read: no page of it is touched. */
static inline bool tide_array_reserve_unset(const struct tide_allocator *allocator,
                                            void *array_pointer, size_t *capacity, size_t count,
                                            size_t size) {
  return count <= *capacity ||
         tide_array_grow(allocator, array_pointer, capacity, count, size, false);
}

#endif
