/* wic/fiber_park.h: parking fibers, and making them ready again.
 *
 * A fiber that must wait puts itself where its waker finds it, under a lock of theirs, and parks
 * with that lock held. The lock is released only when the fiber is off its stack.
 *
 *        tide_lock_take(&page->lock, platform);
 *        if (!page->there) {
 *          self->next = page->waiting;                 (`next` is the fiber's own meanwhile)
 *          page->waiting = self;
 *          tide_fiber_park(self, &page->lock);         releases the lock
 *        } else tide_lock_give(&page->lock);
 *
 * The waker readies each fiber that it finds once: with tide_fiber_ready, or several in a chain by
 * `next`. Without a lock, as with an asynchronous callback, pass NULL: a fiber that is readied
 * before it parks does not park at all.
 *
 * A fiber may also park in a handler of SIGSEGV or SIGBUS, with tide_fiber_park_in_handler. The
 * handler needs SA_SIGINFO | SA_NODEFER and an empty mask, and must not run on an alternate stack.
 * The signal's frame stays on the fiber's stack meanwhile. The handler returns on the carrier that
 * resumes the fiber. */
#ifndef TIDE_WIC_FIBER_PARK_H
#define TIDE_WIC_FIBER_PARK_H

#include "base/lock.h"
#include "tidemark/fiber.h"
#include "wic/fiber_switch.h"
#include "wic/fiber_watch.h"

struct tide_carrier;

struct tide_fiber {
  _Alignas(64) struct tide_fiber_domain place;
  struct tide_fiber *next;      /* links a queue, or the waker's list of parked fibers */
  struct tide_carrier *carrier; /* the owner; atomic, changes under the owner's lock */
  void (*entry)(void *argument, uint64_t index);
  void *argument;
  uint64_t index;
  bool begun;  /* `place` is a point on its stack; accessed by its carrier alone */
  bool parked; /* guarded by its carrier's lock */
  bool called; /* readied before it parked; guarded by its carrier's lock */
  struct tide_fiber_watch watch;
};

/* Parks the calling fiber. Its carrier releases `held` (NULL: none) once the fiber is off its
 * stack. Returns when the fiber is readied, perhaps on another carrier; errno is unchanged. */
void tide_fiber_park(struct tide_fiber *self, struct tide_lock *held);
/* Parks a fiber in a signal handler; `frame` is the handler's third argument. */
void tide_fiber_park_in_handler(struct tide_fiber *self, struct tide_lock *held, void *frame);

/* Readies a fiber, once for each time that it parks. From any thread, also with a lock held or in a
 * handler of a fault; not in a handler that interrupts the library. Does not block; wakes a carrier
 * if one sleeps. */
void tide_fiber_ready(struct tide_fiber *fiber);
/* Readies a chain by `next`, ended by NULL, of fibers of one crew. Keeps their order, and wakes
 * each sleeping carrier at most once. */
void tide_fiber_ready_all(struct tide_fiber *first);

#endif
