/* wic/fiber_park.h: fibers that wait for something: how they are parked, and made ready again.
 *
 * A fiber that must wait puts itself where its waker finds it, under a lock of theirs, and parks
 * with that lock held: it is given back only when the fiber is off its stack.
 *
 *      tide_lock_take(&page->lock, platform);
 *      if (!page->there) {
 *        self->next = page->waiting;                 (`next` is the fiber's own meanwhile)
 *        page->waiting = self;
 *        tide_fiber_park(self, &page->lock);         gives the lock back
 *      } else tide_lock_give(&page->lock);
 *
 * Who finds it there readies it once: with tide_fiber_ready, or many at once, a chain by `next`.
 * Where there is no lock, as with a callback that fires when it likes, pass NULL: who is readied
 * before it parks does not park at all.
 *
 * In a handler of SIGSEGV or SIGBUS (SA_SIGINFO | SA_NODEFER, an empty mask, and not on an
 * alternate stack) a fiber may park, too, by tide_fiber_park_in_handler: the signal's frame stays
 * on its stack meanwhile, and the handler returns on whichever carrier takes it up. */
#ifndef TIDE_WIC_FIBER_PARK_H
#define TIDE_WIC_FIBER_PARK_H

#include "base/lock.h"
#include "tidemark/fiber.h"
#include "wic/fiber_switch.h"
#include "wic/fiber_watch.h"

struct tide_carrier;

struct tide_fiber {
  _Alignas(64) struct tide_fiber_domain place;
  struct tide_fiber *next;      /* in a queue, or wherever it was put when it parked */
  struct tide_carrier *carrier; /* whose it is; atomic, changes under that one's lock */
  void (*entry)(void *argument, uint64_t index);
  void *argument;
  uint64_t index;
  bool begun;  /* it has a place on its stack; its carrier's */
  bool parked; /* guarded by its carrier's lock */
  bool called; /* it was readied before it parked; guarded by its carrier's lock */
  struct tide_fiber_watch watch;
};

/* Called by the fiber itself. `held` (NULL: none) is given back by its carrier once the fiber is
 * off its stack. Returns when it was readied, perhaps on another carrier; errno is as it was. */
void tide_fiber_park(struct tide_fiber *self, struct tide_lock *held);
/* The same in a signal handler; `frame` is its third argument. */
void tide_fiber_park_in_handler(struct tide_fiber *self, struct tide_lock *held, void *frame);

/* Once for each time that it parks. From any thread, with a lock held, in a handler of a fault;
 * not in a handler that interrupts the library. Does not block; wakes a carrier if one sleeps. */
void tide_fiber_ready(struct tide_fiber *fiber);
/* A chain by `next`, ended by NULL, of fibers of one crew: in this order, and at most one wake for
 * each carrier that sleeps. */
void tide_fiber_ready_all(struct tide_fiber *first);

#endif
