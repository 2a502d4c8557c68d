#include "base/array.h"
#include "base/alloc.h"

/* The first capacity is a cache line's worth of elements, at most eight; then it doubles. */
bool tide_array_grow(const struct tide_allocator *allocator, void *array_pointer, size_t *capacity,
                     size_t count, size_t size, bool clear) {
  size_t larger = *capacity ? *capacity : size < 8 ? 8 : size < 64 ? 64 / size : 1;
  while (larger < count) {
    if (larger > SIZE_MAX / 2) return false;
    larger *= 2;
  }
  void *old;
  memcpy(&old, array_pointer, sizeof old);
  char *array = tide_alloc_unset(allocator, larger, size);
  if (!array) return false;
  if (old) memcpy(array, old, *capacity * size);
  if (clear) memset(array + *capacity * size, 0, (larger - *capacity) * size);
  tide_free(allocator, old, *capacity, size);
  memcpy(array_pointer, &array, sizeof array);
  *capacity = larger;
  return true;
}
