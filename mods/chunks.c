#include "mods/chunks.h"
#include "base/array.h"
#include "base/alloc.h"

static bool grow_chunks(struct tide_chunks *chunks) {
  if (!tide_array_reserve(chunks->allocator, &chunks->chunks, &chunks->chunk_capacity,
                          chunks->chunk_count + 1, sizeof *chunks->chunks))
    return false;
  unsigned char *chunk = tide_alloc_unset(chunks->allocator, TIDE_CHUNK_COUNT, chunks->size);
  if (!chunk) return false;
  chunks->chunks[chunks->chunk_count++] = chunk;
  return true;
}

bool tide_chunks_init(struct tide_chunks *chunks, const struct tide_allocator *allocator,
                      uint32_t size) {
  *chunks = (struct tide_chunks){.allocator = allocator, .size = size};
  if (!grow_chunks(chunks)) return false;
  memset(chunks->chunks[0], 0, size);
  chunks->count = 1;
  return true;
}

void tide_chunks_fini(struct tide_chunks *chunks) {
  for (size_t i = 0; i < chunks->chunk_count; i++)
    tide_free(chunks->allocator, chunks->chunks[i], TIDE_CHUNK_COUNT, chunks->size);
  tide_free(chunks->allocator, chunks->chunks, chunks->chunk_capacity, sizeof *chunks->chunks);
  *chunks = (struct tide_chunks){.size = 0};
}

/* Zeroes newly added elements. */
static void clear_elements(const struct tide_chunks *chunks, uint32_t first, uint32_t count) {
  while (count) {
    uint32_t here = TIDE_CHUNK_COUNT - (first & (TIDE_CHUNK_COUNT - 1));
    if (here > count) here = count;
    memset(tide_chunks_at(chunks, first), 0, (size_t)here * chunks->size);
    first += here;
    count -= here;
  }
}

uint32_t tide_chunks_add(struct tide_chunks *chunks, uint32_t count, bool together) {
  uint32_t first = chunks->count, place = first & (TIDE_CHUNK_COUNT - 1);
  if (together && count > TIDE_CHUNK_COUNT) return 0;
  if (together && place && count > TIDE_CHUNK_COUNT - place) first += TIDE_CHUNK_COUNT - place;
  if (count > 0x7fffffffu - first) return 0;
  while (chunks->chunk_count << TIDE_CHUNK_SHIFT < (size_t)first + count)
    if (!grow_chunks(chunks)) return 0;
  clear_elements(chunks, first, count);
  chunks->count = first + count;
  return first;
}

size_t tide_chunks_memory(const struct tide_chunks *chunks) {
  return chunks->chunk_count * TIDE_CHUNK_COUNT * chunks->size +
         chunks->chunk_capacity * sizeof *chunks->chunks;
}
