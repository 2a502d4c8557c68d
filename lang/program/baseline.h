/* program/baseline.h: the same program as one would write it by hand, without causal tracking.
 *
 * Queues, devices and bodies are the same; only the synchronisation differs. *Events*: each
 * dependency between operations is a binary event, signalled by the producer and waited for by the
 * consumer. All events are external to the scheduler, so that it can neither elide nor import
 * anything. Dependencies within a queue of an in-order device need no event. *Barrier*: no events;
 * the submitting thread joins all queues before an operation that depends on one submitted since
 * the last join.
 *
 * Scratch memory is handed out in the order of tracked runs and within the same budget: the
 * comparison measures knowledge, not allocators. Uses are tracked one by one, as stream-ordered
 * allocators do. Each operation that names a recycled buffer signals an event, and the next user of
 * the memory waits for the events of the last uses. Each queue waits once. An in-order queue does
 * not wait for its own uses. Of another in-order queue, only the last use is waited for. An
 * operation that depends on another user of the buffer, which has waited already, does not wait. */
#ifndef TIDE_PROGRAM_BASELINE_H
#define TIDE_PROGRAM_BASELINE_H

#include "program/run_state.h"

/* Reads the plan once and makes the graph. Called before the queues are made. */
enum tide_status tide_baseline_create(struct tide_run *run, struct tide_diag *diag);
/* Makes the events. Called once the context exists, so that their creation does not count as time
 * of the run. */
enum tide_status tide_baseline_make_events(struct tide_run *run, struct tide_diag *diag);
/* Sets the source of the memory; NULL: the allocator. */
void tide_baseline_use_source(struct tide_run *run, const struct tide_memory_source *source);
void tide_baseline_destroy(struct tide_run *run);

/* Returns the most waits and signals that one operation of the queue needs. */
void tide_baseline_needs(const struct tide_run *run, uint32_t queue, uint32_t *out_waits,
                         uint32_t *out_signals);
/* Fills run->waits and run->signals for the next operation of the plan. May join all queues. */
enum tide_status tide_baseline_order(struct tide_run *run, const struct tide_step *step,
                                     uint32_t *out_waits, uint32_t *out_signals,
                                     struct tide_diag *diag);

/* ---- baseline_pool.c: memory with a list of uses ---- */

struct tide_timeline;

struct tide_baseline_use {
  uint64_t operation; /* number among the operations */
  uint32_t queue;
  uint32_t join; /* barriers before it */
  struct tide_timeline *event;
};

struct tide_baseline_block {
  struct tide_baseline_block *next; /* list of free blocks */
  struct tide_baseline_block *all;  /* list of all blocks, for the end */
  void *memory;
  uint64_t size;
  struct tide_baseline_use *uses; /* uses of the previous buffers, then of the current one */
  size_t use_count, use_room;
  size_t past;  /* uses[0 .. past) are of the previous buffers */
  bool *behind; /* by queue: its next operations already come after the past */
};

struct tide_baseline_pool {
  const struct tide_allocator *allocator;
  const struct tide_memory_source *source; /* NULL: the allocator */
  struct tide_baseline_block *free, *all;
  size_t align, queues, free_count;
  size_t limit;               /* 0: none */
  uint64_t live, peak, taken; /* bytes */
  uint64_t reused, fresh;
};

/* Finds a block in the order of tracked runs, with the same budget. A free block that needs no wait
 * on `queue` comes first, then a new one within the budget, then a free one that needs a wait, then
 * a new one beyond the budget. Blocks are not cut, so the limit is exceeded rather than the run
 * refused. */
enum tide_status tide_baseline_alloc(struct tide_run *run, struct tide_baseline_pool *pool,
                                     uint64_t size, uint32_t queue,
                                     struct tide_baseline_block **out_block);
void tide_baseline_free(struct tide_baseline_pool *pool, struct tide_baseline_block *block);
enum tide_status tide_baseline_note_use(struct tide_baseline_pool *pool,
                                        struct tide_baseline_block *block,
                                        const struct tide_baseline_use *use);
void tide_baseline_pool_fini(struct tide_baseline_pool *pool);

/* True if `queue` has to wait for this use. */
bool tide_baseline_use_open(const struct tide_run *run, const struct tide_baseline_use *use,
                            uint32_t queue);

/* Perform the runner's alloc and free steps. */
enum tide_status tide_baseline_step_alloc(struct tide_run *run, const struct tide_step *step);
void tide_baseline_step_free(struct tide_run *run, const struct tide_step *step);

#endif
