#include "wic/fiber_park.h"
#include "base/alloc.h"
#include "wic/fiber_crew.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

#define GLANCE 256 /* turns between two examinations of another carrier */

/* ---- thread-local state ----------------------------------------------------------------- */

/* Functions that read or write `current`. Never inlined, and opaque: a fiber may resume on another
 * thread, and the compiler would keep the first thread's value. The initial-exec model lets a
 * signal handler read the variable. */
#define OF_THIS_THREAD __attribute__((noinline))

static _Thread_local struct tide_carrier *current __attribute__((tls_model("initial-exec")));

OF_THIS_THREAD struct tide_carrier *tide_carrier_self(void) {
  struct tide_carrier *carrier = current;
  __asm__ volatile("" : "+r"(carrier));
  return carrier;
}

OF_THIS_THREAD static void set_current(struct tide_carrier *carrier) {
  __asm__ volatile("" : "+r"(carrier));
  current = carrier;
}

OF_THIS_THREAD struct tide_fiber *tide_fiber_self(void) {
  struct tide_carrier *carrier = current;
  __asm__ volatile("" : "+r"(carrier));
  return carrier ? carrier->running : NULL;
}

/* ---- queues --------------------------------------------------------------------------- */

static void lock(struct tide_carrier *carrier) {
  tide_lock_take(&carrier->lock, carrier->crew->context->platform);
}

static void unlock(struct tide_carrier *carrier) { tide_lock_give(&carrier->lock); }

static void push_locked(struct tide_carrier *carrier, struct tide_fiber *first,
                        struct tide_fiber *last, uint32_t count) {
  last->next = NULL;
  if (carrier->head) carrier->tail->next = first;
  else carrier->head = first;
  carrier->tail = last;
  tide_store_relaxed(&carrier->length, carrier->length + count);
}

static struct tide_fiber *pop_locked(struct tide_carrier *carrier) {
  struct tide_fiber *fiber = carrier->head;
  if (!fiber) return NULL;
  carrier->head = fiber->next;
  if (carrier->head) __builtin_prefetch(carrier->head);
  tide_store_relaxed(&carrier->length, carrier->length - 1);
  return fiber;
}

/* ---- switching ---------------------------------------------------------------------- */

static void fiber_main(void *passed);

static void prepare_stack(struct tide_fiber *fiber) {
  const struct tide_crew *crew = tide_load_relaxed(&fiber->carrier)->crew;
  char *stack = tide_stack_at(&crew->stacks, (uint32_t)(fiber - crew->fibers));
  tide_fiber_domain_init(&fiber->place, stack, crew->stacks.bytes, fiber_main);
  tide_fiber_watch_stack(&fiber->watch, stack, crew->stacks.bytes);
  fiber->begun = true;
}

/* Runs after a switch, when the previous fiber is off its stack: releases the locks that it left
 * with. */
static void finish_switch(struct tide_carrier *carrier) {
  struct tide_lock *held = carrier->held;
  unlock(carrier);
  if (held) tide_lock_give(held);
}

/* Switches to `next`, or to the loop if NULL. The caller holds the carrier's lock. Returns, without
 * locks, when another fiber or loop switches back. */
TIDE_FIBER_BARE static void switch_from(struct tide_fiber *self, struct tide_fiber *next,
                                        struct tide_lock *held, bool ends) {
  struct tide_carrier *carrier = tide_load_relaxed(&self->carrier);
  if (next && !next->begun) prepare_stack(next);
  carrier->held = held;
  carrier->running = next;
  struct tide_fiber_domain *to = next ? &next->place : &carrier->loop;
  tide_fiber_watch_leave(&self->watch, next ? &next->watch : &carrier->watch, ends);
  carrier = tide_fiber_swap(&self->place, to, carrier);
  tide_fiber_watch_arrive(&self->watch);
  finish_switch(carrier);
}

/* Switches from the loop to a fiber. The caller holds the carrier's lock. */
static void run_fiber(struct tide_carrier *carrier, struct tide_fiber *fiber) {
  if (!fiber->begun) prepare_stack(fiber);
  carrier->held = NULL;
  carrier->running = fiber;
  tide_fiber_watch_leave(&carrier->watch, &fiber->watch, false);
  tide_fiber_swap(&carrier->loop, &fiber->place, carrier);
  tide_fiber_watch_arrive(&carrier->watch);
  finish_switch(carrier);
}

/* Returns the next fiber to run. NULL: go to the loop, because the queue is empty or another
 * carrier must be examined. */
static struct tide_fiber *next_fiber_locked(struct tide_carrier *carrier) {
  uint32_t turns = carrier->turns + 1;
  tide_store_relaxed(&carrier->turns, turns);
  if (__builtin_expect(turns % GLANCE == 0 && carrier->crew->carrier_count > 1, 0)) {
    carrier->glances = true;
    return NULL;
  }
  return pop_locked(carrier);
}

static void yield_fiber(struct tide_fiber *self) {
  struct tide_carrier *carrier = tide_load_relaxed(&self->carrier);
  int error = *carrier->error;
  lock(carrier);
  struct tide_fiber *next = next_fiber_locked(carrier);
  if (next || carrier->glances) {
    push_locked(carrier, self, self, 1);
    switch_from(self, next, NULL, false);
  } else unlock(carrier);
  *tide_load_relaxed(&self->carrier)->error = error;
}

void tide_fiber_yield(void) {
  struct tide_fiber *self = tide_fiber_self();
  if (self) yield_fiber(self);
  else sched_yield();
}

TIDE_FIBER_BARE static void fiber_main(void *passed) {
  struct tide_carrier *carrier = passed;
  struct tide_fiber *self = carrier->running;
  tide_fiber_watch_arrive(&self->watch);
  finish_switch(carrier);
  for (;;) {
    self->entry(self->argument, self->index);
    tide_fiber_plain_floats();
    if (!tide_crew_next_job(self) && tide_crew_retire_locked(self)) {
      carrier = tide_load_relaxed(&self->carrier);
      lock(carrier);
      switch_from(self, next_fiber_locked(carrier), &carrier->crew->lock, true);
    } else yield_fiber(self); /* fibers that are already ready run first */
  }
}

/* ---- parking and readying --------------------------------------------------------------- */

void tide_fiber_park(struct tide_fiber *self, struct tide_lock *held) {
  struct tide_carrier *carrier = tide_load_relaxed(&self->carrier);
  int error = *carrier->error;
  lock(carrier);
  if (self->called) {
    self->called = false;
    unlock(carrier);
    if (held) tide_lock_give(held);
  } else {
    self->parked = true;
    switch_from(self, next_fiber_locked(carrier), held, false);
  }
  *tide_load_relaxed(&self->carrier)->error = error;
}

/* A signal's frame holds its thread's alternate stack, and returning from the handler sets that.
 * After a move to another thread the frame must hold the new thread's. */
void tide_fiber_park_in_handler(struct tide_fiber *self, struct tide_lock *held, void *frame) {
  ucontext_t *context = frame;
#ifdef TIDE_FIBER_TSAN
  /* TSan's own handler, which calls ours, blocks all signals; other code runs on this thread
   * meanwhile and needs them. */
  pthread_sigmask(SIG_SETMASK, &context->uc_sigmask, NULL);
#endif
  struct tide_carrier *before = tide_load_relaxed(&self->carrier);
  tide_fiber_park(self, held);
  if (tide_load_relaxed(&self->carrier) != before) sigaltstack(NULL, &context->uc_stack);
}

/* Takes and returns the fiber's carrier, locked. The carrier may change until its lock is held. */
static struct tide_carrier *lock_home(struct tide_fiber *fiber) {
  struct tide_carrier *carrier = tide_load_relaxed(&fiber->carrier);
  for (;;) {
    lock(carrier);
    struct tide_carrier *now = tide_load_relaxed(&fiber->carrier);
    if (now == carrier) return carrier;
    unlock(carrier);
    carrier = now;
  }
}

/* True: the fiber is in the queue now. */
static bool ready_locked(struct tide_carrier *carrier, struct tide_fiber *fiber) {
  if (!fiber->parked) {
    fiber->called = true;
    return false;
  }
  fiber->parked = false;
  push_locked(carrier, fiber, fiber, 1);
  return true;
}

/* Releases the lock and wakes idle carriers. After the release the crew may be destroyed, if the
 * queued fibers were its last. The crew stays while a carrier taken off the idle list awaits its
 * wake: so the carriers are taken before the release. */
static void unlock_and_call(struct tide_carrier *carrier, uint64_t queued) {
  const struct tide_platform *platform = carrier->crew->context->platform;
  struct tide_carrier *idle = queued ? tide_crew_take_idle(carrier->crew, queued) : NULL;
  unlock(carrier);
  if (idle) tide_carriers_call(idle, platform);
}

void tide_fiber_ready(struct tide_fiber *fiber) {
  struct tide_carrier *carrier = lock_home(fiber);
  unlock_and_call(carrier, ready_locked(carrier, fiber));
}

void tide_fiber_ready_all(struct tide_fiber *first) {
  struct tide_carrier *carrier = NULL;
  uint64_t queued = 0;
  for (struct tide_fiber *fiber = first, *next; fiber; fiber = next) {
    next = fiber->next;
    if (carrier && tide_load_relaxed(&fiber->carrier) != carrier) {
      unlock(carrier);
      carrier = NULL;
    }
    if (!carrier) carrier = lock_home(fiber);
    queued += ready_locked(carrier, fiber);
  }
  if (carrier) unlock_and_call(carrier, queued);
}

void tide_carrier_give(struct tide_carrier *carrier, struct tide_fiber *first,
                       struct tide_fiber *last, uint32_t count) {
  last->next = NULL;
  for (struct tide_fiber *fiber = first; fiber; fiber = fiber->next)
    tide_store_relaxed(&fiber->carrier, carrier);
  lock(carrier);
  push_locked(carrier, first, last, count);
  unlock_and_call(carrier, count);
}

/* ---- a carrier's loop ----------------------------------------------------------------- */

#define TAKEN_MOST 16 /* fibers taken over at once */

/* Takes up to `most` of the other's fibers, the oldest first. */
static bool take_over(struct tide_carrier *carrier, struct tide_carrier *other, uint32_t most) {
  struct tide_fiber *first = NULL, *last = NULL;
  uint32_t count = 0;
  lock(other);
  for (; count < most && other->head; count++) {
    struct tide_fiber *fiber = pop_locked(other);
    tide_store_relaxed(&fiber->carrier, carrier);
    if (last) last->next = fiber;
    else first = fiber;
    last = fiber;
  }
  unlock(other);
  if (count == 0) return false;
  lock(carrier);
  push_locked(carrier, first, last, count);
  unlock(carrier);
  return true;
}

static uint32_t half_of_queue(uint32_t length) {
  uint32_t count = length - length / 2;
  return count < TAKEN_MOST ? count : TAKEN_MOST;
}

/* Takes fibers from the next carrier that has any. */
static bool find_work(struct tide_carrier *carrier) {
  struct tide_crew *crew = carrier->crew;
  uint32_t self = (uint32_t)(carrier - crew->carriers);
  for (uint32_t i = 1; i < crew->carrier_count; i++) {
    struct tide_carrier *other = &crew->carriers[(self + i) % crew->carrier_count];
    uint32_t length = tide_load_relaxed(&other->length);
    if (length && take_over(carrier, other, half_of_queue(length))) return true;
  }
  return false;
}

/* Examines the same carrier twice, then the next. Takes over fibers if the other made no turn in
 * between, or if its queue is more than twice as long as this one. */
static void look_at_carrier(struct tide_carrier *carrier) {
  struct tide_crew *crew = carrier->crew;
  struct tide_carrier *other = &crew->carriers[carrier->seen % crew->carrier_count];
  uint32_t turns = tide_load_relaxed(&other->turns), own = tide_load_relaxed(&carrier->length);
  uint32_t length = tide_load_relaxed(&other->length);
  bool stuck = other == carrier->seen_before && turns == carrier->seen_turns;
  carrier->glances = false;
  if (other != carrier && length && (stuck || length / 2 > own))
    take_over(carrier, other, half_of_queue(length));
  if (other == carrier || other == carrier->seen_before) carrier->seen++;
  carrier->seen_before = other;
  carrier->seen_turns = turns;
}

void tide_carrier_loop(struct tide_carrier *carrier) {
  set_current(carrier);
  carrier->error = &errno;
  tide_fiber_watch_thread(&carrier->watch);
  for (;;) {
    if (carrier->glances) look_at_carrier(carrier);
    lock(carrier);
    struct tide_fiber *fiber = pop_locked(carrier);
    if (fiber) {
      run_fiber(carrier, fiber);
      continue;
    }
    unlock(carrier);
    if (!find_work(carrier) && !tide_carrier_linger(carrier) && !tide_carrier_rest(carrier)) break;
  }
  set_current(NULL);
}
