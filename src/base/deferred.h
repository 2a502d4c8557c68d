/* base/deferred.h: a queue of calls that must not nest.
 *
 * A callback may signal a value that triggers the next callback, and so on for a million steps.
 * Nested calls would overflow the stack. So a thread puts its call in the context's queue. If no
 * thread is running the queue, the thread runs the queue until it is empty. */
#ifndef TIDE_BASE_DEFERRED_H
#define TIDE_BASE_DEFERRED_H

#include "base/lock.h"
#include "base/tree.h"

struct tide_deferred_call {
  struct tide_deferred_call *next;
  void (*run)(struct tide_deferred_call *call); /* the call may be gone once it has run */
};

struct tide_deferred {
  const struct tide_platform *platform;
  struct tide_lock lock;
  bool running;
  struct tide_deferred_call *first, **last;
  /* All notifiers of the context, by number, and the number of the last one created. For
   * timepoint.c. */
  struct tide_tree notifiers;
  uint32_t notifier_number;
};

void tide_deferred_init(struct tide_deferred *queue, const struct tide_platform *platform);
/* Enters the queue with a call, under the queue's lock. True: no thread was running the queue. The
 * caller then makes its call at once, without the lock, and drains the queue afterwards. False: the
 * call is queued for the thread that runs the queue. */
static inline bool tide_deferred_enter(struct tide_deferred *queue,
                                       struct tide_deferred_call *call) {
  if (__builtin_expect(!queue->running, 1)) return queue->running = true;
  call->next = NULL;
  *queue->last = call;
  queue->last = &call->next;
  return false;
}
/* Has calls wait for tide_deferred_drain, since the caller holds a lock that they may take. False:
 * a thread runs the queue, maybe this one; then nothing is to be drained. */
static inline bool tide_deferred_hold(struct tide_deferred *queue) {
  tide_lock_take(&queue->lock, queue->platform);
  bool holds = !queue->running;
  queue->running = true;
  tide_lock_give(&queue->lock);
  return holds;
}
/* Runs the calls queued meanwhile, until the queue is empty. */
void tide_deferred_drain(struct tide_deferred *queue);
/* Queues the call, and runs the queue unless another thread, or a call further up
 * this stack, is running it. No lock may be held. */
void tide_deferred_add(struct tide_deferred *queue, struct tide_deferred_call *call);

#endif
