/* Preallocated structs of a pool: once there are enough, allocating and freeing buffers needs no
 * allocator. The structs come in slabs, and stay until the pool is freed. */
#include "base/check.h"
#include "base/alloc.h"
#include "memory/state.h"

#define SLAB_FIRST 4u /* items of the first slab: a program may have many small pools */
#define SLAB_MOST 64u
#define SNAPSHOT_ROOM 64

static size_t block_bytes(const struct tide_pool *pool) {
  size_t bytes = sizeof(struct tide_block) + tide_death_size(pool->context->frontier_capacity);
  return (bytes + 15) & ~(size_t)15;
}

/* Returns the number of items of the next slab, each time twice as many. */
static uint32_t next_slab_items(struct tide_pool *pool) {
  uint32_t items = pool->slab_items ? pool->slab_items : SLAB_FIRST;
  pool->slab_items = items < SLAB_MOST ? 2 * items : items;
  return items;
}

static struct tide_slab *slab_alloc(struct tide_pool *pool, size_t item, uint32_t items) {
  size_t bytes = sizeof(struct tide_slab) + item * items;
  struct tide_slab *slab = tide_alloc(pool->context->allocator, 1, bytes);
  if (slab) slab->bytes = bytes;
  return slab;
}

static void slab_add(struct tide_pool *pool, struct tide_slab *slab) {
  slab->next = pool->slabs;
  pool->slabs = slab;
}

static bool blocks_grow(struct tide_pool *pool) {
  size_t item = block_bytes(pool);
  uint32_t items = next_slab_items(pool);
  tide_pool_unlock(pool);
  struct tide_slab *slab = slab_alloc(pool, item, items);
  tide_pool_lock(pool);
  if (!slab) return false;
  slab_add(pool, slab);
  for (uint32_t i = 0; i < items; i++) {
    struct tide_block *block = (void *)((char *)(slab + 1) + i * item);
    block->death = (void *)(block + 1);
    tide_death_init(block->death, pool->context->frontier_capacity);
    tide_list_push_back(&pool->spare_blocks, &block->link);
  }
  pool->spare_block_count += items;
  return true;
}

static bool buffers_grow(struct tide_pool *pool) {
  size_t item = tide_buffer_bytes(pool);
  uint32_t items = next_slab_items(pool);
  tide_pool_unlock(pool);
  struct tide_slab *slab = slab_alloc(pool, item, items);
  tide_pool_lock(pool);
  if (!slab) return false;
  slab_add(pool, slab);
  for (uint32_t i = 0; i < items; i++) {
    struct tide_buffer *buffer = (void *)((char *)(slab + 1) + i * item);
    tide_buffer_make(pool, buffer);
    buffer->number = pool->handles + items - i; /* the last one is used first */
  }
  pool->handles += items;
  return true;
}

/* Grows the snapshot's storage to 1.5 times the size that the last snapshot needed. */
static bool snapshot_grow(struct tide_pool *pool) {
  const struct tide_allocator *allocator = pool->context->allocator;
  size_t capacity = pool->grace.wanted + pool->grace.wanted / 2;
  if (capacity < SNAPSHOT_ROOM) capacity = SNAPSHOT_ROOM;
  size_t both = 2 * sizeof(uint64_t);
  tide_pool_unlock(pool);
  uint64_t *room = tide_alloc(allocator, capacity, both);
  tide_pool_lock(pool);
  if (!room) return false;
  uint64_t *old = room;
  size_t old_capacity = capacity;
  if (tide_grace_starved(&pool->grace)) {
    old = pool->grace.axes;
    old_capacity = pool->grace.capacity;
    tide_grace_room(&pool->grace, room, capacity);
  }
  tide_pool_unlock(pool);
  tide_free(allocator, old, old_capacity, both);
  tide_pool_lock(pool);
  return true;
}

bool tide_pool_refill_locked(struct tide_pool *pool) {
  for (;;) {
    if (pool->spare_block_count < TIDE_SPARE_BLOCKS) {
      if (!blocks_grow(pool)) return false;
    } else if (!pool->spare_buffers) {
      if (!buffers_grow(pool)) return false;
    } else if (!tide_grace_starved(&pool->grace) || !snapshot_grow(pool)) {
      return true; /* without capacity for a snapshot, blocks go on waiting for one */
    }
  }
}

void tide_pool_preallocated_free(struct tide_pool *pool) {
  const struct tide_allocator *allocator = pool->context->allocator;
  while (pool->slabs) {
    struct tide_slab *slab = pool->slabs;
    pool->slabs = slab->next;
    tide_free(allocator, slab, 1, slab->bytes);
  }
  tide_free(allocator, pool->grace.axes, pool->grace.capacity, 2 * sizeof(uint64_t));
}
