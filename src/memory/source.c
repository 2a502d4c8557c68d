/* The source of a pool's memory: chunks, within the budget and the limit. */
#include "base/alloc.h"
#include "memory/state.h"

static void *allocator_map(void *self, size_t size) {
  struct tide_pool *pool = self;
  const struct tide_allocator *allocator = pool->context->allocator;
  return allocator->alloc(allocator->self, size, pool->align);
}

static void allocator_unmap(void *self, void *memory, size_t size) {
  struct tide_pool *pool = self;
  const struct tide_allocator *allocator = pool->context->allocator;
  allocator->free(allocator->self, memory, size);
}

void tide_source_init(struct tide_pool *pool, const struct tide_memory_source *source) {
  static const struct tide_memory_source allocator = {allocator_map, allocator_unmap, NULL};
  pool->source = source ? *source : allocator;
  if (!source) pool->source.self = pool;
}

static size_t offset_of(const struct tide_pool *pool, const void *memory) {
  return (size_t)(-(uintptr_t)memory & (pool->align - 1));
}

size_t tide_source_budget(const struct tide_pool *pool, size_t more) {
  uint64_t live, peak = pool->peak_block_bytes;
  if (__builtin_add_overflow(pool->live_block_bytes, (uint64_t)more, &live)) live = UINT64_MAX;
  return tide_memory_budget(pool->limit, peak > live ? peak : live);
}

static size_t bytes_below(size_t most, uint64_t used) {
  return most > used ? most - (size_t)used : 0;
}

/* Returns the bytes that may still be taken. All bytes count towards a limit. Uncut bytes do not
 * count towards the budget, which pays for the same blocks regardless of unused chunk ends. */
static size_t bytes_left(const struct tide_pool *pool, size_t most) {
  uint64_t taken = pool->stats.source_bytes;
  if (pool->limit) return bytes_below(pool->limit, taken);
  if (most == SIZE_MAX) return SIZE_MAX;
  return bytes_below(most, taken - pool->uncut_bytes);
}

bool tide_source_allows(const struct tide_pool *pool, size_t size, size_t most) {
  return size <= bytes_left(pool, most);
}

static bool reserve_bytes(struct tide_pool *pool, size_t bytes, size_t most) {
  if (!tide_source_allows(pool, bytes, most)) return false;
  if (__builtin_add_overflow(pool->stats.source_bytes, (uint64_t)bytes,
                             &pool->stats.source_bytes)) {
    pool->stats.source_bytes -= bytes;
    return false;
  }
  return true;
}

/* Maps `bytes`, which the caller has reserved. A failure ends the reservation. */
static bool map_chunk(struct tide_pool *pool, struct tide_chunk *chunk, size_t bytes,
                      size_t needed) {
  tide_pool_unlock(pool);
  void *memory = pool->source.map(pool->source.self, bytes);
  if (memory && offset_of(pool, memory) > bytes - needed) {
    pool->source.unmap(pool->source.self, memory, bytes);
    memory = NULL;
  }
  tide_pool_lock(pool);
  chunk->memory = memory;
  chunk->size = bytes;
  if (!memory) pool->stats.source_bytes -= bytes;
  return memory != NULL;
}

/* Tries a whole chunk, then the remaining budget, then the needed bytes, then enough bytes to align
 * the memory of a poorly aligned source. Bytes lost to alignment count towards the limit alone. */
static bool map_some(struct tide_pool *pool, struct tide_chunk *chunk, size_t needed, size_t most) {
  size_t bytes = pool->chunk > needed ? pool->chunk : needed, left = bytes_left(pool, most);
  if (bytes > left) bytes = left & ~(pool->align - 1);
  if (bytes > needed && reserve_bytes(pool, bytes, most) && map_chunk(pool, chunk, bytes, needed))
    return true;
  if (reserve_bytes(pool, needed, most) && map_chunk(pool, chunk, needed, needed)) return true;
  size_t loose;
  if (__builtin_add_overflow(needed, pool->align - 1, &loose)) return false;
  if (!tide_source_allows(pool, needed, most)) return false;
  return reserve_bytes(pool, loose, SIZE_MAX) && map_chunk(pool, chunk, loose, needed);
}

static struct tide_block *take_chunk(struct tide_pool *pool, size_t size, size_t most) {
  const struct tide_allocator *allocator = pool->context->allocator;
  tide_pool_unlock(pool);
  struct tide_chunk *chunk = tide_alloc(allocator, 1, sizeof *chunk);
  tide_pool_lock(pool);
  if (!chunk) return NULL;
  bool mapped = map_some(pool, chunk, size, most);
  if (!mapped || !tide_pool_preallocate_locked(pool)) {
    if (mapped) pool->stats.source_bytes -= chunk->size;
    tide_pool_unlock(pool);
    if (mapped) tide_source_give(pool, chunk);
    else tide_free(allocator, chunk, 1, sizeof *chunk);
    tide_pool_lock(pool);
    return NULL;
  }
  struct tide_pool_stats *stats = &pool->stats;
  if (stats->source_bytes > stats->source_peak) stats->source_peak = stats->source_bytes;
  pool->chunks_added++;
  size_t offset = offset_of(pool, chunk->memory);
  return tide_chunk_add(pool, chunk, (char *)chunk->memory + offset,
                        (chunk->size - offset) & ~(pool->align - 1));
}

static void leave_source(struct tide_pool *pool) {
  const struct tide_platform *platform = pool->context->platform;
  pool->asking--;
  tide_store_release(&pool->answers, pool->answers + 1);
  if (pool->awaiting) platform->wake(platform->self, &pool->answers, UINT32_MAX);
}

struct tide_block *tide_source_take_locked(struct tide_pool *pool, size_t size, size_t most) {
  if (!tide_source_allows(pool, size, most)) return NULL;
  pool->asking++;
  struct tide_block *block = take_chunk(pool, size, most);
  leave_source(pool);
  return block;
}

bool tide_source_await_locked(struct tide_pool *pool, uint64_t chunks) {
  const struct tide_platform *platform = pool->context->platform;
  if (pool->chunks_added != chunks) return true;
  if (!pool->asking) return false;
  uint32_t answers = pool->answers;
  pool->awaiting++;
  tide_pool_unlock(pool);
  platform->wait(platform->self, &pool->answers, answers, TIDE_FOREVER);
  tide_pool_lock(pool);
  pool->awaiting--;
  return true;
}

void tide_source_give(struct tide_pool *pool, struct tide_chunk *chunk) {
  pool->source.unmap(pool->source.self, chunk->memory, chunk->size);
  tide_free(pool->context->allocator, chunk, 1, sizeof *chunk);
}

uint64_t tide_source_busy_bytes(const struct tide_pool *pool) {
  uint64_t bytes = pool->stats.source_bytes;
  for (const struct tide_link *at = pool->chunks.next; at != &pool->chunks; at = at->next) {
    const struct tide_chunk *chunk = TIDE_CONTAINER(at, struct tide_chunk, link);
    if (tide_chunk_is_idle(pool, chunk)) bytes -= chunk->size;
  }
  return bytes;
}

/* Bytes count until the source has them back: the limit holds at each moment. */
size_t tide_source_give_idle_locked(struct tide_pool *pool, size_t size) {
  struct tide_link gone, *link;
  size_t bytes = 0;
  tide_list_init(&gone);
  for (struct tide_link *at = pool->chunks.next, *next; at != &pool->chunks; at = next) {
    struct tide_chunk *chunk = TIDE_CONTAINER(at, struct tide_chunk, link);
    next = at->next;
    if (!tide_chunk_is_idle(pool, chunk)) continue;
    tide_chunk_remove(pool, chunk);
    tide_list_push_back(&gone, &chunk->link);
    bytes += chunk->size;
    if (pool->limit && size <= bytes_below(pool->limit, pool->stats.source_bytes - bytes)) break;
  }
  if (!bytes) return 0;
  pool->asking++;
  tide_pool_unlock(pool);
  while ((link = tide_list_pop_front(&gone)))
    tide_source_give(pool, TIDE_CONTAINER(link, struct tide_chunk, link));
  tide_pool_lock(pool);
  pool->stats.source_bytes -= bytes;
  leave_source(pool);
  return bytes;
}
