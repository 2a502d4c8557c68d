/* Memory with a list of uses, for runs without frontiers. */
#include "base/alloc.h"
#include "memory/pool.h"
#include "program/baseline.h"

bool tide_baseline_use_open(const struct tide_run *run, const struct tide_baseline_use *use,
                            uint32_t queue) {
  const struct tide_plan_queue *plan = &run->tables->queues[queue];
  if (use->queue == queue && run->devices[plan->device].kind->in_order) return false;
  if (use->event) return tide_timeline_query(use->event) == 0;
  return use->join == run->result.barriers;
}

static bool any_open(const struct tide_run *run, const struct tide_baseline_block *block,
                     uint32_t queue) {
  for (size_t i = 0; i < block->use_count; i++)
    if (tide_baseline_use_open(run, &block->uses[i], queue)) return true;
  return false;
}

static bool fits_block(const struct tide_baseline_block *block, uint64_t size) {
  return block->size >= size && block->size / 2 <= size;
}

static void *take_memory(const struct tide_baseline_pool *pool, uint64_t size) {
  const struct tide_allocator *a = pool->allocator;
  if (size > SIZE_MAX - pool->align) return NULL;
  if (pool->source) return pool->source->map(pool->source->self, (size_t)size);
  return a->alloc(a->self, (size_t)size, pool->align);
}

static void drop_memory(const struct tide_baseline_pool *pool, void *memory, uint64_t size) {
  const struct tide_allocator *a = pool->allocator;
  if (pool->source) pool->source->unmap(pool->source->self, memory, (size_t)size);
  else a->free(a->self, memory, (size_t)size);
}

static struct tide_baseline_block *new_block(struct tide_baseline_pool *pool, uint64_t size) {
  const struct tide_allocator *a = pool->allocator;
  struct tide_baseline_block *block = tide_alloc(a, 1, sizeof *block);
  if (!block) return NULL;
  block->memory = take_memory(pool, size);
  if (!block->memory) {
    tide_free(a, block, 1, sizeof *block);
    return NULL;
  }
  block->behind = tide_alloc(a, pool->queues, sizeof *block->behind);
  if (!block->behind) {
    drop_memory(pool, block->memory, size);
    tide_free(a, block, 1, sizeof *block);
    return NULL;
  }
  block->size = size;
  block->all = pool->all;
  pool->all = block;
  pool->taken += size;
  return block;
}

/* Drops finished uses; the others become the block's past. Uses of the last buffer come after all
 * earlier ones, so only they count. Without any, the earlier uses still count. */
static void drop_finished_uses(const struct tide_run *run, struct tide_baseline_block *block) {
  size_t kept = 0, first = block->use_count > block->past ? block->past : 0;
  for (size_t i = first; i < block->use_count; i++) {
    const struct tide_baseline_use *use = &block->uses[i];
    bool over =
        use->event ? tide_timeline_query(use->event) != 0 : use->join < run->result.barriers;
    if (!over) block->uses[kept++] = *use;
  }
  block->use_count = block->past = kept;
  memset(block->behind, 0, run->tables->queue_count * sizeof *block->behind);
}

/* Finds a free block that needs no wait on `queue`; else the one that was freed first, and sets
 * *out_waits. */
static struct tide_baseline_block **find_free(const struct tide_run *run,
                                              struct tide_baseline_pool *pool, uint64_t size,
                                              uint32_t queue, bool *out_waits) {
  struct tide_baseline_block **oldest = NULL;
  *out_waits = false;
  for (struct tide_baseline_block **at = &pool->free; *at; at = &(*at)->next) {
    if (!fits_block(*at, size)) continue;
    if (!any_open(run, *at, queue)) return at;
    if (!oldest) oldest = at;
  }
  *out_waits = oldest != NULL;
  return oldest;
}

#define FREE_MOST                                                                                  \
  1024u /* with this many free blocks, one of them is reused even if it needs a wait */

static bool within_budget(const struct tide_baseline_pool *pool, uint64_t size) {
  if (pool->free_count >= FREE_MOST) return false;
  uint64_t live = pool->live + size, peak = pool->peak > live ? pool->peak : live;
  size_t budget = tide_memory_budget(pool->limit, peak);
  return pool->taken <= budget && size <= budget - pool->taken;
}

enum tide_status tide_baseline_alloc(struct tide_run *run, struct tide_baseline_pool *pool,
                                     uint64_t size, uint32_t queue,
                                     struct tide_baseline_block **out_block) {
  bool waits;
  struct tide_baseline_block **found = find_free(run, pool, size, queue, &waits);
  struct tide_baseline_block *block = NULL;
  if (!found || (waits && within_budget(pool, size))) block = new_block(pool, size);
  if (block) {
    pool->fresh++;
  } else if (found) {
    block = *found;
    *found = block->next;
    pool->free_count--;
    pool->reused++;
  } else {
    return TIDE_NOMEM;
  }
  pool->live += block->size;
  if (pool->live > pool->peak) pool->peak = pool->live;
  block->next = NULL;
  drop_finished_uses(run, block);
  *out_block = block;
  return TIDE_OK;
}

void tide_baseline_free(struct tide_baseline_pool *pool, struct tide_baseline_block *block) {
  struct tide_baseline_block **at = &pool->free;
  while (*at) at = &(*at)->next;
  *at = block;
  pool->free_count++;
  pool->live -= block->size;
}

enum tide_status tide_baseline_note_use(struct tide_baseline_pool *pool,
                                        struct tide_baseline_block *block,
                                        const struct tide_baseline_use *use) {
  if (block->use_count == block->use_room) {
    size_t capacity = block->use_room ? block->use_room * 2 : 8;
    struct tide_baseline_use *uses = tide_alloc(pool->allocator, capacity, sizeof *uses);
    if (!uses) return TIDE_NOMEM;
    if (block->use_count) memcpy(uses, block->uses, block->use_count * sizeof *uses);
    tide_free(pool->allocator, block->uses, block->use_room, sizeof *uses);
    block->uses = uses;
    block->use_room = capacity;
  }
  block->uses[block->use_count++] = *use;
  return TIDE_OK;
}

void tide_baseline_pool_fini(struct tide_baseline_pool *pool) {
  const struct tide_allocator *a = pool->allocator;
  while (pool->all) {
    struct tide_baseline_block *block = pool->all;
    pool->all = block->all;
    drop_memory(pool, block->memory, block->size);
    tide_free(a, block->uses, block->use_room, sizeof *block->uses);
    tide_free(a, block->behind, pool->queues, sizeof *block->behind);
    tide_free(a, block, 1, sizeof *block);
  }
}
