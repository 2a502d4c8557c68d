/* program/arena.h: many small objects that are freed together. */
#ifndef TIDE_PROGRAM_ARENA_H
#define TIDE_PROGRAM_ARENA_H

#include "tidemark/base.h"

struct tide_arena_chunk;
struct tide_arena {
  const struct tide_allocator *allocator;
  struct tide_arena_chunk *chunks;
  size_t used; /* bytes used of the newest chunk */
};

static inline void tide_arena_init(struct tide_arena *arena,
                                   const struct tide_allocator *allocator) {
  *arena = (struct tide_arena){.allocator = allocator};
}
void tide_arena_fini(struct tide_arena *arena);
/* Returns zeroed memory, 16-byte aligned; NULL when there is no memory or the size overflows. */
void *tide_arena_get(struct tide_arena *arena, size_t count, size_t size);
/* Returns a terminated copy; NULL: no memory. */
char *tide_arena_text(struct tide_arena *arena, const char *bytes, size_t length);

#endif
