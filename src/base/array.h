/* base/array.h: growable arrays. */
#ifndef TIDE_BASE_ARRAY_H
#define TIDE_BASE_ARRAY_H

#include "base/sister.h"
#include "tidemark/base.h"

/* Grows an array to hold `count` elements, more than *capacity. `clear`: zeroes the new part.
 * False: no memory, and nothing changed. */
TIDE_SISTER bool tide_array_grow(const struct tide_allocator *allocator, void *array_pointer,
                                 size_t *capacity, size_t count, size_t size, bool clear);

/* Ensures a capacity of `count` elements of `size` bytes. The array is empty, or memory of
 * tide_alloc. Old elements stay, the new part is zero. False: no memory, and nothing changed. */
static inline bool tide_array_reserve(const struct tide_allocator *allocator, void *array_pointer,
                                      size_t *capacity, size_t count, size_t size) {
  return count <= *capacity ||
         tide_array_grow(allocator, array_pointer, capacity, count, size, true);
}
/* Does tide_array_reserve without zeroing, for an array that the caller writes before it reads: no
 * page of the new part is touched. */
static inline bool tide_array_reserve_unset(const struct tide_allocator *allocator,
                                            void *array_pointer, size_t *capacity, size_t count,
                                            size_t size) {
  return count <= *capacity ||
         tide_array_grow(allocator, array_pointer, capacity, count, size, false);
}

#endif
