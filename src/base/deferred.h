/* base/deferred.h: calls that wait for their turn.
 *
 * A callback may signal what triggers the next callback, and so on for a million
 * steps. Calling each from within the last would overflow the stack. So whoever
 * has a call to make puts it in the context's queue; if nobody is running the
 * queue, it runs it, until it is empty. */
#ifndef TIDE_BASE_DEFERRED_H
#define TIDE_BASE_DEFERRED_H

#include "base/lock.h"

struct tide_deferred_call {
  struct tide_deferred_call *next;
  void (*run)(struct tide_deferred_call *call); /* the call may be gone once it ran */
};

struct tide_deferred {
  const struct tide_platform *platform;
  struct tide_lock lock;
  bool running;
  struct tide_deferred_call *first, **last;
  /* Those who dispatch calls elsewhere, newest first, and how many there ever were: timepoint.c's.
   */
  struct tide_notifier *notifiers;
  uint32_t notifier_number;
};

void tide_deferred_init(struct tide_deferred *queue, const struct tide_platform *platform);
/* Under the queue's lock. True: nobody runs the queue, so the caller makes its call at once,
 * without the lock, and drains the queue afterwards. False: it is queued, for whoever runs the
 * queue. */
static inline bool tide_deferred_enter(struct tide_deferred *queue,
                                       struct tide_deferred_call *call) {
  if (__builtin_expect(!queue->running, 1)) return queue->running = true;
  call->next = NULL;
  *queue->last = call;
  queue->last = &call->next;
  return false;
}
/* Runs what was queued meanwhile, until there is nothing left. */
void tide_deferred_drain(struct tide_deferred *queue);
/* Queues the call, and runs the queue unless another thread, or a call further up
 * this stack, is running it. No lock may be held. */
void tide_deferred_add(struct tide_deferred *queue, struct tide_deferred_call *call);

#endif
