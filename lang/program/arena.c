#include "program/arena.h"
#include "base/alloc.h"

#define CHUNK_SIZE 16384
#define ALIGNMENT 16

struct tide_arena_chunk {
  struct tide_arena_chunk *next;
  size_t size; /* of `bytes` */
  _Alignas(ALIGNMENT) unsigned char bytes[];
};

void tide_arena_fini(struct tide_arena *arena) {
  while (arena->chunks) {
    struct tide_arena_chunk *chunk = arena->chunks;
    arena->chunks = chunk->next;
    tide_free(arena->allocator, chunk, 1, sizeof *chunk + chunk->size);
  }
}

static struct tide_arena_chunk *add_chunk(struct tide_arena *arena, size_t size) {
  struct tide_arena_chunk *chunk;
  if (size > SIZE_MAX - sizeof *chunk) return NULL;
  chunk = tide_alloc(arena->allocator, 1, sizeof *chunk + size);
  if (chunk) chunk->size = size;
  return chunk;
}

void *tide_arena_get(struct tide_arena *arena, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - ALIGNMENT) return NULL;
  bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  struct tide_arena_chunk *newest = arena->chunks;
  if (newest && newest->size - arena->used >= bytes) {
    void *memory = newest->bytes + arena->used;
    arena->used += bytes;
    return memory;
  }
  bool large = bytes > CHUNK_SIZE / 4;
  struct tide_arena_chunk *chunk = add_chunk(arena, large ? bytes : CHUNK_SIZE);
  if (!chunk) return NULL;
  if (large && newest) { /* a large chunk goes behind the newest, which still has space */
    chunk->next = newest->next;
    newest->next = chunk;
    return chunk->bytes;
  }
  chunk->next = newest;
  arena->chunks = chunk;
  arena->used = bytes;
  return chunk->bytes;
}

char *tide_arena_text(struct tide_arena *arena, const char *bytes, size_t length) {
  char *copy = length < SIZE_MAX ? tide_arena_get(arena, length + 1, 1) : NULL;
  if (copy) memcpy(copy, bytes, length);
  return copy;
}
