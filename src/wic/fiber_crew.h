/* wic/fiber_crew.h: the structure of a crew.
 *
 * Each carrier has a queue of ready fibers, first come, first served, and a lock. A fiber leaves
 * its stack with its carrier's lock held, and the fiber or loop that is switched to releases it. So
 * a fiber that queues itself, or marks itself parked, cannot be resumed before it is off its stack.
 * `parked` and the queue are under one lock, so readying a fiber is one critical section, too.
 *
 * A carrier with an empty queue goes to its own stack, the *loop*. There it takes some fibers from
 * another carrier's queue, or goes idle, as in device/workers.h: it joins the idle list, checks all
 * queues once more under their locks, and sleeps. A thread that queues a fiber looks at the idle
 * list afterwards. One of the two critical sections of the queue's lock is first: either the idle
 * carrier finds the fiber, or the queueing thread finds the idle carrier.
 *
 * Locks are taken in this order: one that a fiber parks with, crew, carrier, idle. */
#ifndef TIDE_WIC_FIBER_CREW_H
#define TIDE_WIC_FIBER_CREW_H

#include "causal/context_state.h"
#include "wic/fiber_park.h"
#include "wic/fiber_stack.h"

struct tide_carrier {
  _Alignas(64) struct tide_lock lock;
  uint32_t length; /* the queue's length; atomic, changes under the lock */
  struct tide_fiber *head, *tail;
  struct tide_fiber
      *running; /* NULL: the loop. Accessed by the carrier alone, as are the fields below */
  struct tide_lock *held; /* a lock to release, left by the previous fiber */
  uint32_t turns;         /* atomic, written by the carrier alone */
  bool glances;           /* the loop must examine another carrier before it goes on */
  int *error;             /* the thread's errno */
  struct tide_fiber_domain loop;
  struct tide_crew *crew;
  struct tide_fiber_watch watch;
  _Alignas(64) uint32_t state;      /* atomic, waited on: enum carrier_state */
  struct tide_carrier *next_idle;   /* guarded by the idle lock */
  struct tide_carrier *seen_before; /* the carrier examined last, and its turns then */
  uint32_t seen_turns;
  uint32_t seen; /* the index of the carrier to examine next */
  struct tide_thread *thread;
  uint32_t cpu;
};

/* Jobs that wait for a stack. */
struct tide_fiber_jobs {
  struct tide_fiber_jobs *next;
  void (*entry)(void *argument, uint64_t index);
  void *argument;
  uint64_t index, end;
};

struct tide_crew {
  struct tide_context *context;
  struct tide_owned owned;
  struct tide_carrier *carriers;
  struct tide_fiber *fibers;
  struct tide_stacks stacks;
  uint32_t carrier_count, started;
  uint32_t fiber_count;
  bool pinned;
  uint64_t linger; /* ns */
  char label[16];

  _Alignas(64) struct tide_lock lock; /* guards the fields below */
  uint64_t left;                      /* jobs that have not returned */
  uint32_t ends;                      /* atomic, waited on: how often `left` became 0 */
  uint32_t fresh;                     /* fibers from here on were never used */
  uint32_t turn;                      /* the carrier that gets the next jobs */
  struct tide_fiber *free;
  struct tide_fiber_jobs *jobs, *last_jobs;

  _Alignas(64) struct tide_lock idle_lock;
  struct tide_carrier *idle; /* atomic, changes under the idle lock */
  bool stop;
  uint32_t arrived;   /* atomic, waited on: the number of carriers that run */
  uint32_t displaced; /* atomic: the number of those that may not use their CPU */
};

/* Returns this thread's carrier; NULL: not a carrier's thread. */
struct tide_carrier *tide_carrier_self(void);
/* Runs the calling carrier's loop. Returns when no fiber is ready and the crew stops. */
void tide_carrier_loop(struct tide_carrier *carrier);
/* Takes up to `count` carriers off the idle list, as a chain by next_idle; NULL: none. The caller
 * must wake them with tide_carriers_call. */
struct tide_carrier *tide_crew_take_idle(struct tide_crew *crew, uint64_t count);
/* Wakes a chain of carriers that were taken off the idle list. Touches no carrier after its
 * wake. */
void tide_carriers_call(struct tide_carrier *first, const struct tide_platform *platform);
/* Queues a chain of `count` ready fibers, which belong to no carrier or to this carrier's own
 * loop. */
void tide_carrier_give(struct tide_carrier *carrier, struct tide_fiber *first,
                       struct tide_fiber *last, uint32_t count);
/* Counts a returned job of this fiber. True: the fiber has another one. */
bool tide_crew_next_job(struct tide_fiber *fiber);
/* Frees the fiber. True: done, and the crew's lock is held. False: the fiber got a job. */
bool tide_crew_retire_locked(struct tide_fiber *fiber);
/* Polls the queues for a while. True: a fiber looks ready. */
bool tide_carrier_linger(const struct tide_carrier *carrier);
/* Sleeps until a fiber may be ready. False: the crew stops. */
bool tide_carrier_rest(struct tide_carrier *carrier);

#endif
