#include "base/memory.h"

void *tide_alloc(const struct tide_allocator *allocator, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
  if (bytes == 0) bytes = 1;
  size_t alignment = size % TIDE_CACHE_LINE ? 16 : TIDE_CACHE_LINE;
  void *memory = allocator->alloc(allocator->self, bytes, alignment);
  if (memory) memset(memory, 0, bytes);
  return memory;
}

void tide_free(const struct tide_allocator *allocator, void *memory, size_t count, size_t size) {
  if (!memory) return;
  size_t bytes = count * size;
  allocator->free(allocator->self, memory, bytes ? bytes : 1);
}
