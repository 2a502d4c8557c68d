/* The pool of the "RAPIDS Memory Manager" (pool_memory_resource over
 * stream_ordered_memory_resource), for pool.c and pool_trace.c, as it is:
 *
 *   - one lock a call;
 *   - each queue has an event and a list of free blocks in the order of their addresses;
 *   - a free records the queue's event, finds the block's place by going through the list, and
 *     joins it with its neighbours there;
 *   - an alloc goes through the queue's own list for the smallest block that fits; else through the
 *     others', one by one, where it takes a block once its queue waits for that one's event; else
 *     it waits for every other queue and joins their lists into its own, one by one, until
 * something fits; else it takes a chunk from upstream. A block that is larger than asked for is
 * cut, and the rest goes into the list that it came from.
 *
 * Cheaper than there: the lock (base/lock.h for a mutex), finding a queue's list and event (an
 * index for a hash table and a tree), list nodes (from a stack of spare ones for malloc), whether a
 * block begins a chunk (its address for a tree), and the events (rival_pool.h). In one thing
 * dearer: a queue that has joined another's list records its event again. There it does not, so
 * that a third one that takes such a block waits for too little. */
#ifndef BENCHMARKS_RIVAL_RMM_H
#define BENCHMARKS_RIVAL_RMM_H

#include "rival_pool.h"

#define RMM_NODES 4096u

struct rmm_node {
  struct rmm_node *next, *before;
  uintptr_t at;
  size_t size;
};

struct rmm_wait {
  unsigned queue;
  uint64_t epoch;
};

struct rmm_pool {
  struct tide_lock lock;
  const struct tide_platform *platform;
  const struct rival_device *device;
  unsigned queues;
  struct rmm_node lists[RIVAL_QUEUES]; /* sentinels */
  uint64_t events[RIVAL_QUEUES], awaited[RIVAL_QUEUES];
  struct rmm_node *spare;
  uintptr_t end; /* of what came from upstream; addresses are made up */
  size_t chunk;  /* a power of two, no smaller than any block */
  uint64_t recorded;
  struct rmm_wait waits[RIVAL_QUEUES]; /* that the newest alloc had its queue do */
  unsigned wait_count;
  struct rmm_node nodes[RMM_NODES];
};

static inline struct rmm_pool *rmm_make(const struct rival_pool *like, unsigned queues,
                                        size_t chunk) {
  struct rmm_pool *pool = calloc(1, sizeof *pool);
  BENCH_CHECK(pool != NULL);
  pool->platform = like->platform;
  pool->device = like->device;
  pool->queues = queues;
  pool->chunk = chunk;
  pool->end = chunk;
  for (unsigned q = 0; q < RIVAL_QUEUES; q++)
    pool->lists[q].next = pool->lists[q].before = &pool->lists[q];
  for (unsigned i = 0; i < RMM_NODES; i++) {
    pool->nodes[i].next = pool->spare;
    pool->spare = &pool->nodes[i];
  }
  return pool;
}

/* ---- a list ---- */

static inline void rmm_erase(struct rmm_pool *pool, struct rmm_node *node) {
  node->before->next = node->next;
  node->next->before = node->before;
  node->next = pool->spare;
  pool->spare = node;
}

/* Is it what follows `node`, in the same chunk? */
static inline bool rmm_touches(const struct rmm_pool *pool, const struct rmm_node *node,
                               uintptr_t at) {
  return node->at + node->size == at && (at & (pool->chunk - 1)) != 0;
}

static inline void rmm_insert(struct rmm_pool *pool, struct rmm_node *list, uintptr_t at,
                              size_t size) {
  struct rmm_node *next = list->next;
  while (next != list && next->at <= at) next = next->next;
  struct rmm_node *before = next->before;
  bool joins_before = before != list && rmm_touches(pool, before, at);
  bool joins_next = next != list && at + size == next->at && (next->at & (pool->chunk - 1)) != 0;
  if (joins_before) {
    before->size += size;
    if (joins_next) {
      before->size += next->size;
      rmm_erase(pool, next);
    }
  } else if (joins_next) {
    next->at = at;
    next->size += size;
  } else {
    struct rmm_node *node = pool->spare;
    BENCH_CHECK(node != NULL);
    pool->spare = node->next;
    *node = (struct rmm_node){next, before, at, size};
    before->next = next->before = node;
  }
}

/* The smallest that fits, cut to size; 0: none does. */
static inline uintptr_t rmm_take(struct rmm_pool *pool, struct rmm_node *list, size_t size) {
  struct rmm_node *best = NULL;
  for (struct rmm_node *node = list->next; node != list; node = node->next)
    if (node->size >= size && (!best || node->size < best->size)) best = node;
  if (!best) return 0;
  uintptr_t at = best->at;
  size_t rest = best->size - size;
  rmm_erase(pool, best);
  if (rest) rmm_insert(pool, list, at + size, rest);
  return at;
}

/* ---- the calls ---- */

static inline void rmm_wait_for(struct rmm_pool *pool, unsigned queue, unsigned other) {
  pool->device->wait(&pool->awaited[queue], &pool->events[other]);
  pool->waits[pool->wait_count++] = (struct rmm_wait){other, pool->events[other]};
}

static inline void rmm_record(struct rmm_pool *pool, unsigned queue, uint64_t epoch) {
  pool->device->record(&pool->events[queue], epoch);
  pool->recorded++;
}

static inline uintptr_t rmm_steal(struct rmm_pool *pool, unsigned queue, size_t size) {
  for (unsigned other = 0; other < pool->queues; other++) {
    uintptr_t at = other == queue ? 0 : rmm_take(pool, &pool->lists[other], size);
    if (!at) continue;
    rmm_wait_for(pool, queue, other);
    return at;
  }
  return 0;
}

/* `epoch` is what the queue's next operation will have, which all of these waits come before. */
static inline uintptr_t rmm_merge(struct rmm_pool *pool, unsigned queue, size_t size,
                                  uint64_t epoch) {
  for (unsigned other = 0; other < pool->queues; other++) {
    struct rmm_node *list = &pool->lists[other];
    if (other == queue || list->next == list) continue;
    rmm_wait_for(pool, queue, other);
    while (list->next != list) {
      uintptr_t at = list->next->at;
      size_t bytes = list->next->size;
      rmm_erase(pool, list->next);
      rmm_insert(pool, &pool->lists[queue], at, bytes);
    }
    rmm_record(pool, queue, epoch);
    uintptr_t at = rmm_take(pool, &pool->lists[queue], size);
    if (at) return at;
  }
  return 0;
}

static inline uintptr_t rmm_grow(struct rmm_pool *pool, unsigned queue, size_t size) {
  uintptr_t at = pool->end;
  pool->end += pool->chunk;
  if (pool->chunk > size) rmm_insert(pool, &pool->lists[queue], at + size, pool->chunk - size);
  return at;
}

/* Fills pool->waits. */
static inline uintptr_t rmm_alloc(struct rmm_pool *pool, size_t size, unsigned queue,
                                  uint64_t epoch) {
  tide_lock_take(&pool->lock, pool->platform);
  size = (size + 255) & ~(size_t)255;
  pool->wait_count = 0;
  uintptr_t at = rmm_take(pool, &pool->lists[queue], size);
  if (!at) at = rmm_steal(pool, queue, size);
  if (!at) at = rmm_merge(pool, queue, size, epoch);
  if (!at) at = rmm_grow(pool, queue, size);
  tide_lock_give(&pool->lock);
  return at;
}

static inline void rmm_free(struct rmm_pool *pool, uintptr_t at, size_t size, unsigned queue,
                            uint64_t epoch) {
  tide_lock_take(&pool->lock, pool->platform);
  rmm_record(pool, queue, epoch);
  rmm_insert(pool, &pool->lists[queue], at, (size + 255) & ~(size_t)255);
  tide_lock_give(&pool->lock);
}

#endif
