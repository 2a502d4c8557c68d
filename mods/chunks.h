/* mods/chunks.h: a growing array with elements that never move. Element 0 always exists and is
 * zero: an index of 0 means "none". */
#ifndef TIDE_MODS_CHUNKS_H
#define TIDE_MODS_CHUNKS_H

#include "tidemark/base.h"

#define TIDE_CHUNK_SHIFT 12
#define TIDE_CHUNK_COUNT (1u << TIDE_CHUNK_SHIFT) /* elements */

struct tide_chunks {
  const struct tide_allocator *allocator;
  unsigned char **chunks;
  size_t chunk_count, chunk_capacity;
  uint32_t count; /* elements in use */
  uint32_t size;  /* bytes of an element */
};

/* False: no memory. */
bool tide_chunks_init(struct tide_chunks *chunks, const struct tide_allocator *allocator,
                      uint32_t size);
void tide_chunks_fini(struct tide_chunks *chunks);
/* Adds `count` zeroed elements with consecutive numbers and returns the first; `together`: they are
 * also contiguous in memory. 0: no memory, or too many. */
uint32_t tide_chunks_add(struct tide_chunks *chunks, uint32_t count, bool together);
size_t tide_chunks_memory(const struct tide_chunks *chunks);

static inline void *tide_chunks_at(const struct tide_chunks *chunks, uint32_t index) {
  return chunks->chunks[index >> TIDE_CHUNK_SHIFT] +
         (size_t)(index & (TIDE_CHUNK_COUNT - 1)) * chunks->size;
}

#endif
