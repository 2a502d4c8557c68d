/* program/baseline.h: the same program, written by hand as people do without
 * causal tracking.
 *
 * Queues, devices and bodies are the same; the order is made otherwise. *Events*:
 * each dependency between operations is a binary event of its own, signalled by the
 * one and waited for by the other. All events are external to the scheduler, which
 * can neither elide nor import anything. Within a queue whose device works in order
 * there are none. *Barrier*: no events; the submitting thread joins all queues
 * before an operation that depends on one submitted since the last join.
 *
 * Scratch memory is handed out in the order of tracked runs and within the same
 * budget: the comparison is one of knowledge, not of allocators. Uses are tracked
 * one by one, as stream-ordered allocators do: each operation that names a recycled
 * buffer signals an event, and the next user of the memory waits for the events of
 * the last uses. It waits once on each queue, not for its own queue in order, only
 * for the last use of each other queue in order, and not behind an operation that
 * has waited already. */
#ifndef TIDE_PROGRAM_BASELINE_H
#define TIDE_PROGRAM_BASELINE_H

#include "program/run_state.h"

/* Before the queues are made: reads the plan once and makes the graph. */
enum tide_status tide_baseline_create(struct tide_run *run, struct tide_diag *diag);
/* Once the context is there: makes the events, so that this is not counted as time of the run. */
enum tide_status tide_baseline_make_events(struct tide_run *run, struct tide_diag *diag);
void tide_baseline_destroy(struct tide_run *run);

/* The most waits and signals that one operation of the queue needs. */
void tide_baseline_needs(const struct tide_run *run, uint32_t queue, uint32_t *out_waits,
                         uint32_t *out_signals);
/* Fills run->waits and run->signals for the next operation of the plan. May join all queues. */
enum tide_status tide_baseline_order(struct tide_run *run, const struct tide_step *step,
                                     uint32_t *out_waits, uint32_t *out_signals,
                                     struct tide_diag *diag);

/* ---- baseline_pool.c: memory with a list of uses ---- */

struct tide_timeline;

struct tide_baseline_use {
  uint64_t operation; /* its number among the operations */
  uint32_t queue;
  uint32_t join; /* barriers before it */
  struct tide_timeline *event;
};

struct tide_baseline_block {
  struct tide_baseline_block *next; /* in a list of free ones of a size */
  struct tide_baseline_block *all;  /* every block, for the end */
  void *memory;
  uint64_t size;
  struct tide_baseline_use *uses; /* of the buffers before, then of this one */
  size_t use_count, use_room;
  size_t past;  /* uses[0 .. past) are of the buffers before */
  bool *behind; /* by queue: its next entries come after the past already */
};

struct tide_baseline_pool {
  const struct tide_allocator *allocator;
  const struct tide_memory_source *source; /* of the memory itself; NULL: the allocator */
  struct tide_baseline_block *free, *all;
  size_t align, queues, free_count;
  size_t limit;               /* 0: none */
  uint64_t live, peak, taken; /* bytes */
  uint64_t reused, fresh;
};

/* The order of tracked runs, with the same budget: a block that needs no wait on `queue`, else a
 * new one within the budget, else one that does, else a new one. Blocks are not cut, so the limit
 * is exceeded rather than the run refused. */
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

/* For the runner's alloc and free steps. */
enum tide_status tide_baseline_step_alloc(struct tide_run *run, const struct tide_step *step);
void tide_baseline_step_free(struct tide_run *run, const struct tide_step *step);

#endif
