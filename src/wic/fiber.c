#include "wic/fiber_park.h"
#include "base/alloc.h"
#include "wic/fiber_crew.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

#define GLANCE 256 /* turns between two looks at another carrier */

/* ---- what belongs to a thread -------------------------------------------------------- */

/* Never inlined, and opaque: a compiler would keep what it knows of the thread that it began on.
 * Of the model of a program's own variables, so that a signal handler may read it. */
#define OF_THIS_THREAD __attribute__((noinline))

static _Thread_local struct tide_carrier *current __attribute__((tls_model("initial-exec")));

OF_THIS_THREAD struct tide_carrier *tide_carrier_self(void) {
  struct tide_carrier *carrier = current;
  __asm__ volatile("" : "+r"(carrier));
  return carrier;
}

OF_THIS_THREAD static void become(struct tide_carrier *carrier) {
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

static void begin_fiber(struct tide_fiber *fiber) {
  const struct tide_crew *crew = tide_load_relaxed(&fiber->carrier)->crew;
  char *stack = tide_stack_at(&crew->stacks, (uint32_t)(fiber - crew->fibers));
  tide_fiber_domain_init(&fiber->place, stack, crew->stacks.bytes, fiber_main);
  tide_fiber_watch_stack(&fiber->watch, stack, crew->stacks.bytes);
  fiber->begun = true;
}

/* Whoever was on this carrier before is off its stack now. */
static void arrive(struct tide_carrier *carrier) {
  struct tide_lock *held = carrier->held;
  unlock(carrier);
  if (held) tide_lock_give(held);
}

/* The carrier's lock is held. Goes to `next`, or to the loop; returns when somebody comes back,
 * with no lock held. */
TIDE_FIBER_BARE static void leave(struct tide_fiber *self, struct tide_fiber *next,
                                  struct tide_lock *held, bool ends) {
  struct tide_carrier *carrier = tide_load_relaxed(&self->carrier);
  if (next && !next->begun) begin_fiber(next);
  carrier->held = held;
  carrier->running = next;
  struct tide_fiber_domain *to = next ? &next->place : &carrier->loop;
  tide_fiber_watch_leave(&self->watch, next ? &next->watch : &carrier->watch, ends);
  carrier = tide_fiber_swap(&self->place, to, carrier);
  tide_fiber_watch_arrive(&self->watch);
  arrive(carrier);
}

/* The loop's way to a fiber; the carrier's lock is held. */
static void go_to(struct tide_carrier *carrier, struct tide_fiber *fiber) {
  if (!fiber->begun) begin_fiber(fiber);
  carrier->held = NULL;
  carrier->running = fiber;
  tide_fiber_watch_leave(&carrier->watch, &fiber->watch, false);
  tide_fiber_swap(&carrier->loop, &fiber->place, carrier);
  tide_fiber_watch_arrive(&carrier->watch);
  arrive(carrier);
}

/* Who goes on here; NULL: the loop decides, because the queue is empty or it is time to look at the
 * others. */
static struct tide_fiber *turn_locked(struct tide_carrier *carrier) {
  uint32_t turns = carrier->turns + 1;
  tide_store_relaxed(&carrier->turns, turns);
  if (__builtin_expect(turns % GLANCE == 0 && carrier->crew->carrier_count > 1, 0)) {
    carrier->glances = true;
    return NULL;
  }
  return pop_locked(carrier);
}

static void yield(struct tide_fiber *self) {
  struct tide_carrier *carrier = tide_load_relaxed(&self->carrier);
  int error = *carrier->error;
  lock(carrier);
  struct tide_fiber *next = turn_locked(carrier);
  if (next || carrier->glances) {
    push_locked(carrier, self, self, 1);
    leave(self, next, NULL, false);
  } else unlock(carrier);
  *tide_load_relaxed(&self->carrier)->error = error;
}

void tide_fiber_yield(void) {
  struct tide_fiber *self = tide_fiber_self();
  if (self) yield(self);
  else sched_yield();
}

TIDE_FIBER_BARE static void fiber_main(void *passed) {
  struct tide_carrier *carrier = passed;
  struct tide_fiber *self = carrier->running;
  tide_fiber_watch_arrive(&self->watch);
  arrive(carrier);
  for (;;) {
    self->entry(self->argument, self->index);
    tide_fiber_plain_floats();
    if (!tide_crew_next_job(self) && tide_crew_retire_locked(self)) {
      carrier = tide_load_relaxed(&self->carrier);
      lock(carrier);
      leave(self, turn_locked(carrier), &carrier->crew->lock, true);
    } else yield(self); /* who was ready goes first */
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
    leave(self, turn_locked(carrier), held, false);
  }
  *tide_load_relaxed(&self->carrier)->error = error;
}

/* A signal's frame says which alternate stack its thread had, and returning from the handler sets
 * it: another thread's, after the fiber has moved. */
void tide_fiber_park_in_handler(struct tide_fiber *self, struct tide_lock *held, void *frame) {
  ucontext_t *context = frame;
#ifdef TIDE_FIBER_TSAN
  /* Its own handler, which calls ours, blocks all signals; others are to run here meanwhile. */
  pthread_sigmask(SIG_SETMASK, &context->uc_sigmask, NULL);
#endif
  struct tide_carrier *before = tide_load_relaxed(&self->carrier);
  tide_fiber_park(self, held);
  if (tide_load_relaxed(&self->carrier) != before) sigaltstack(NULL, &context->uc_stack);
}

/* With the lock of the fiber's carrier, which may change until it is held. */
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

/* True: it is in the queue now. */
static bool ready_locked(struct tide_carrier *carrier, struct tide_fiber *fiber) {
  if (!fiber->parked) {
    fiber->called = true;
    return false;
  }
  fiber->parked = false;
  push_locked(carrier, fiber, fiber, 1);
  return true;
}

/* Gives the lock back, and lets carriers that are idle look. Without the lock the crew may be gone,
 * if what was queued was its last; but not while one of its carriers is still to be told. */
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

/* Takes up to `most` of the other's fibers, those that were ready first. */
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

static uint32_t half(uint32_t length) {
  uint32_t count = length - length / 2;
  return count < TAKEN_MOST ? count : TAKEN_MOST;
}

/* From the next one that has any. */
static bool find_work(struct tide_carrier *carrier) {
  struct tide_crew *crew = carrier->crew;
  uint32_t self = (uint32_t)(carrier - crew->carriers);
  for (uint32_t i = 1; i < crew->carrier_count; i++) {
    struct tide_carrier *other = &crew->carriers[(self + i) % crew->carrier_count];
    uint32_t length = tide_load_relaxed(&other->length);
    if (length && take_over(carrier, other, half(length))) return true;
  }
  return false;
}

/* Looks at the same one twice, then at the next. Helps when its fibers did not have a turn in
 * between, or when they have far less of a carrier than those here. */
static void look_at_carrier(struct tide_carrier *carrier) {
  struct tide_crew *crew = carrier->crew;
  struct tide_carrier *other = &crew->carriers[carrier->seen % crew->carrier_count];
  uint32_t turns = tide_load_relaxed(&other->turns), own = tide_load_relaxed(&carrier->length);
  uint32_t length = tide_load_relaxed(&other->length);
  bool stuck = other == carrier->seen_before && turns == carrier->seen_turns;
  carrier->glances = false;
  if (other != carrier && length && (stuck || length / 2 > own))
    take_over(carrier, other, half(length));
  if (other == carrier || other == carrier->seen_before) carrier->seen++;
  carrier->seen_before = other;
  carrier->seen_turns = turns;
}

void tide_carrier_loop(struct tide_carrier *carrier) {
  become(carrier);
  carrier->error = &errno;
  tide_fiber_watch_thread(&carrier->watch);
  for (;;) {
    if (carrier->glances) look_at_carrier(carrier);
    lock(carrier);
    struct tide_fiber *fiber = pop_locked(carrier);
    if (fiber) {
      go_to(carrier, fiber);
      continue;
    }
    unlock(carrier);
    if (!find_work(carrier) && !tide_carrier_linger(carrier) && !tide_carrier_rest(carrier)) break;
  }
  become(NULL);
}
