/* Pools as others have them, for pool.c and pool_trace.c. All are a list of free blocks behind one
 * lock, and differ in what they do about uses that may not be over:
 *
 *   plain   nothing: right for one queue only
 *   use     every use leaves an event with the block; a freed block is free once all of them are
 *           seen to be done
 *   record  PyTorch's record_stream: a block belongs to the queue that made it; a free records an
 *           event on every other queue that used it, and the block goes back when they are done;
 *           nobody takes from another queue
 *   free    the least that RMM's policy can be: a free records one event on the freeing queue; an
 *           alloc takes from its own queue's list of the size, else steals from another's and has
 *           its queue wait for that one's newest event. It cannot split, join or grow
 *   rmm     RMM itself: rival_rmm.h
 *
 * What is charged: taking the lock, and for an event taking one from a list, a call of the device
 * to record it, one to query it, a store to give it back. For `free` and `rmm`, whose events belong
 * to the queues, the call alone. A call is one that goes through a table of the device's functions,
 * and one load or store in it. No device has events at that price: a driver takes about a
 * microsecond to record, and hundreds of nanoseconds to query. So what is printed flatters them,
 * and the events and queries are printed beside it: whoever knows what they cost can add it.
 */
#ifndef BENCHMARKS_RIVAL_POOL_H
#define BENCHMARKS_RIVAL_POOL_H

#include "bench.h"

#include "base/atomic.h"
#include "base/lock.h"
#include <stdlib.h>

#define RIVAL_QUEUES 8u
#define RIVAL_CLASSES 6u
#define RIVAL_BLOCKS 4096u
#define RIVAL_EVENTS 65536u

/* What a device that has events offers; its calls are not seen through. */
struct rival_device {
  void (*record)(uint64_t *event, uint64_t epoch);           /* at what its queue was given last */
  bool (*done)(const uint64_t *event, const uint64_t *seen); /* `seen`: what its queue finished */
  void (*wait)(uint64_t *queue, const uint64_t *event);      /* whatever enters the queue next */
};

__attribute__((noinline, unused)) static void rival_device_record(uint64_t *event, uint64_t epoch) {
  tide_store_release(event, epoch);
}
__attribute__((noinline, unused)) static bool rival_device_done(const uint64_t *event,
                                                                const uint64_t *seen) {
  return tide_load_acquire(event) <= tide_load_acquire(seen);
}
__attribute__((noinline, unused)) static void rival_device_wait(uint64_t *queue,
                                                                const uint64_t *event) {
  tide_store_release(queue, tide_load_acquire(event));
}

struct rival_event {
  struct rival_event *next;
  struct rival_block *block;
  uint64_t epoch;
  unsigned queue;
};

struct rival_block {
  struct rival_block *next;
  unsigned kind, queue;
  unsigned users;             /* record: a bit a queue */
  unsigned missing;           /* record: events that are not done */
  struct rival_event *events; /* use: all of them */
};

struct rival_pool {
  struct tide_lock lock;
  const struct tide_platform *platform;
  const struct rival_device *device;
  struct rival_block *lists[RIVAL_QUEUES][RIVAL_CLASSES];
  struct rival_block *waiting, **waiting_end; /* use: freed, not yet free */
  struct rival_event *outstanding[RIVAL_QUEUES], **outstanding_end[RIVAL_QUEUES]; /* record */
  uint64_t event_epoch[RIVAL_QUEUES]; /* free: the newest recorded */
  uint64_t awaited[RIVAL_QUEUES];     /* free: what the queue was told last to wait for */
  uint64_t done[RIVAL_QUEUES];        /* what the host has seen */
  struct rival_event *spare;
  uint64_t recorded, queried;
  size_t bytes, smallest, used;
  struct rival_block blocks[RIVAL_BLOCKS];
  struct rival_event slab[RIVAL_EVENTS];
};

static inline struct rival_pool *rival_make(size_t smallest) {
  struct rival_pool *pool = calloc(1, sizeof *pool);
  static const struct rival_device plain_device = {rival_device_record, rival_device_done,
                                                   rival_device_wait};
  BENCH_CHECK(pool != NULL);
  pool->device = &plain_device;
  __asm__("" : "+r"(pool->device)); /* nobody knows which */
  pool->platform = tide_platform_linux();
  pool->smallest = smallest;
  pool->waiting_end = &pool->waiting;
  for (unsigned q = 0; q < RIVAL_QUEUES; q++) pool->outstanding_end[q] = &pool->outstanding[q];
  for (unsigned i = 0; i < RIVAL_EVENTS; i++) {
    pool->slab[i].next = pool->spare;
    pool->spare = &pool->slab[i];
  }
  return pool;
}

/* ---- parts ---- */

static inline struct rival_block *rival_take(struct rival_pool *pool, unsigned queue,
                                             unsigned kind) {
  struct rival_block *block = pool->lists[queue][kind];
  if (block) pool->lists[queue][kind] = block->next;
  return block;
}

static inline void rival_put(struct rival_pool *pool, struct rival_block *block, unsigned queue) {
  block->next = pool->lists[queue][block->kind];
  pool->lists[queue][block->kind] = block;
}

static inline struct rival_block *rival_fresh(struct rival_pool *pool, unsigned queue,
                                              unsigned kind) {
  BENCH_CHECK(pool->used < RIVAL_BLOCKS);
  struct rival_block *block = &pool->blocks[pool->used++];
  block->kind = kind;
  block->queue = queue;
  pool->bytes += pool->smallest << kind;
  return block;
}

static inline struct rival_event *rival_record(struct rival_pool *pool, struct rival_block *block,
                                               unsigned queue, uint64_t epoch) {
  struct rival_event *event = pool->spare;
  BENCH_CHECK(event != NULL);
  pool->spare = event->next;
  event->next = NULL;
  event->block = block;
  event->queue = queue;
  pool->device->record(&event->epoch, epoch);
  pool->recorded++;
  return event;
}

static inline bool rival_query(struct rival_pool *pool, const struct rival_event *event) {
  pool->queried++;
  return pool->device->done(&event->epoch, &pool->done[event->queue]);
}

static inline void rival_drop(struct rival_pool *pool, struct rival_event *event) {
  event->next = pool->spare;
  pool->spare = event;
}

/* ---- plain ---- */

static inline struct rival_block *plain_alloc(struct rival_pool *pool, unsigned kind) {
  tide_lock_take(&pool->lock, pool->platform);
  struct rival_block *block = rival_take(pool, 0, kind);
  if (!block) block = rival_fresh(pool, 0, kind);
  tide_lock_give(&pool->lock);
  return block;
}

static inline void plain_free(struct rival_pool *pool, struct rival_block *block) {
  tide_lock_take(&pool->lock, pool->platform);
  rival_put(pool, block, 0);
  tide_lock_give(&pool->lock);
}

/* ---- use ---- */

static inline bool use_over(struct rival_pool *pool, struct rival_block *block) {
  while (block->events) {
    struct rival_event *event = block->events;
    if (!rival_query(pool, event)) return false;
    block->events = event->next;
    rival_drop(pool, event);
  }
  return true;
}

/* Blocks come back in the order in which they were freed; the first that is in use ends it. */
static inline void use_poll(struct rival_pool *pool) {
  struct rival_block *block;
  while ((block = pool->waiting) && use_over(pool, block)) {
    pool->waiting = block->next;
    if (!pool->waiting) pool->waiting_end = &pool->waiting;
    rival_put(pool, block, 0);
  }
}

static inline struct rival_block *use_alloc(struct rival_pool *pool, unsigned kind) {
  tide_lock_take(&pool->lock, pool->platform);
  use_poll(pool);
  struct rival_block *block = rival_take(pool, 0, kind);
  if (!block) block = rival_fresh(pool, 0, kind);
  tide_lock_give(&pool->lock);
  return block;
}

static inline void use_use(struct rival_pool *pool, struct rival_block *block, unsigned queue,
                           uint64_t epoch) {
  tide_lock_take(&pool->lock, pool->platform);
  struct rival_event *event = rival_record(pool, block, queue, epoch);
  event->next = block->events;
  block->events = event;
  tide_lock_give(&pool->lock);
}

static inline void use_free(struct rival_pool *pool, struct rival_block *block) {
  tide_lock_take(&pool->lock, pool->platform);
  block->next = NULL;
  *pool->waiting_end = block;
  pool->waiting_end = &block->next;
  tide_lock_give(&pool->lock);
}

/* ---- record ---- */

static inline void record_poll(struct rival_pool *pool) {
  for (unsigned q = 0; q < RIVAL_QUEUES; q++) {
    struct rival_event *event;
    while ((event = pool->outstanding[q]) && rival_query(pool, event)) {
      pool->outstanding[q] = event->next;
      if (!event->next) pool->outstanding_end[q] = &pool->outstanding[q];
      if (--event->block->missing == 0) rival_put(pool, event->block, event->block->queue);
      rival_drop(pool, event);
    }
  }
}

static inline struct rival_block *record_alloc(struct rival_pool *pool, unsigned queue,
                                               unsigned kind) {
  tide_lock_take(&pool->lock, pool->platform);
  record_poll(pool);
  struct rival_block *block = rival_take(pool, queue, kind);
  if (!block) block = rival_fresh(pool, queue, kind);
  block->users = 0;
  tide_lock_give(&pool->lock);
  return block;
}

static inline void record_use(struct rival_pool *pool, struct rival_block *block, unsigned queue) {
  tide_lock_take(&pool->lock, pool->platform);
  if (queue != block->queue) block->users |= 1u << queue;
  tide_lock_give(&pool->lock);
}

/* `epochs` are the newest of each queue. */
static inline void record_free(struct rival_pool *pool, struct rival_block *block,
                               const uint64_t *epochs) {
  tide_lock_take(&pool->lock, pool->platform);
  for (unsigned users = block->users; users; users &= users - 1) {
    unsigned queue = (unsigned)__builtin_ctz(users);
    struct rival_event *event = rival_record(pool, block, queue, epochs[queue]);
    *pool->outstanding_end[queue] = event;
    pool->outstanding_end[queue] = &event->next;
    block->missing++;
  }
  if (!block->users) rival_put(pool, block, block->queue);
  tide_lock_give(&pool->lock);
}

/* ---- free ---- */

/* *out_from is the queue whose epoch must be waited for, or RIVAL_QUEUES. */
static inline struct rival_block *free_alloc(struct rival_pool *pool, unsigned queue, unsigned kind,
                                             unsigned *out_from, uint64_t *out_epoch) {
  tide_lock_take(&pool->lock, pool->platform);
  struct rival_block *block = rival_take(pool, queue, kind);
  unsigned from = queue;
  for (unsigned i = 1; !block && i < RIVAL_QUEUES; i++) {
    from = (queue + i) % RIVAL_QUEUES;
    block = rival_take(pool, from, kind);
  }
  *out_from = block && from != queue ? from : RIVAL_QUEUES;
  *out_epoch = pool->event_epoch[from];
  if (*out_from != RIVAL_QUEUES)
    pool->device->wait(&pool->awaited[queue], &pool->event_epoch[from]);
  if (!block) block = rival_fresh(pool, queue, kind);
  tide_lock_give(&pool->lock);
  return block;
}

static inline void free_free(struct rival_pool *pool, struct rival_block *block, unsigned queue,
                             uint64_t epoch) {
  tide_lock_take(&pool->lock, pool->platform);
  pool->device->record(&pool->event_epoch[queue], epoch);
  pool->recorded++;
  rival_put(pool, block, queue);
  tide_lock_give(&pool->lock);
}

#endif
