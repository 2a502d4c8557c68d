#include "base/alloc.h"

void *tide_alloc_unset(const struct tide_allocator *allocator, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
  size_t alignment = size % TIDE_CACHE_LINE ? 16 : TIDE_CACHE_LINE;
  return allocator->alloc(allocator->self, bytes ? bytes : 1, alignment);
}

void *tide_alloc(const struct tide_allocator *allocator, size_t count, size_t size) {
  void *memory = tide_alloc_unset(allocator, count, size);
  if (memory) memset(memory, 0, count * size);
  return memory;
}

void tide_free(const struct tide_allocator *allocator, void *memory, size_t count, size_t size) {
  if (!memory) return;
  size_t bytes = count * size;
  allocator->free(allocator->self, memory, bytes ? bytes : 1);
}
