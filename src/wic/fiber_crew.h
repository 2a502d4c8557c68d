/* wic/fiber_crew.h: what a crew is made of.
 *
 * Each carrier has a queue of ready fibers, first come, first served, and a lock. Whoever leaves a
 * stack does so with the lock of its carrier held, and whoever arrives gives it back: so a fiber
 * that puts itself into the queue, or says that it is parked, cannot be taken up before it is off
 * its stack. Since `parked` and the queue are under one lock, readying is one section, too.
 *
 * A carrier whose queue is empty goes to its own stack, the *loop*, and there takes some fibers
 * from another one's queue, or goes idle, as in device/workers.h: it joins the list of those
 * idle, looks through all queues once more, with their locks, and sleeps. Who puts a fiber into a
 * queue looks at that list afterwards. Of the two sections of the queue's lock one is first: either
 * the one idle finds the fiber, or who put it there finds the one idle.
 *
 * Locks are taken in this order: one that a fiber parks with, crew, carrier, idle. */
#ifndef TIDE_WIC_FIBER_CREW_H
#define TIDE_WIC_FIBER_CREW_H

#include "causal/context_state.h"
#include "wic/fiber_park.h"
#include "wic/fiber_stack.h"

struct tide_carrier {
  _Alignas(64) struct tide_lock lock;
  uint32_t length; /* of the queue; atomic, changes under the lock */
  struct tide_fiber *head, *tail;
  struct tide_fiber *running; /* NULL: the loop. Its own, as all that follows */
  struct tide_lock *held;     /* what the fiber that just left gives back */
  uint32_t turns;             /* atomic, only it writes */
  bool glances;               /* it looks after the others before it goes on */
  int *error;                 /* its thread's errno */
  struct tide_fiber_domain loop;
  struct tide_crew *crew;
  struct tide_fiber_watch watch;
  _Alignas(64) uint32_t state;      /* atomic, waited on: enum carrier_state */
  struct tide_carrier *next_idle;   /* guarded by the idle lock */
  struct tide_carrier *seen_before; /* the other that it looked at last, and the turns of that */
  uint32_t seen_turns;
  uint32_t seen; /* which one it looks at next */
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

  _Alignas(64) struct tide_lock lock; /* guards what follows */
  uint64_t left;                      /* jobs that have not returned */
  uint32_t ends;                      /* atomic, waited on: how often `left` became 0 */
  uint32_t fresh;                     /* fibers from here on were never used */
  uint32_t turn;                      /* the carrier that gets the next jobs */
  struct tide_fiber *free;
  struct tide_fiber_jobs *jobs, *last_jobs;

  _Alignas(64) struct tide_lock idle_lock;
  struct tide_carrier *idle; /* atomic, changes under the idle lock */
  bool stop;
  uint32_t arrived;   /* atomic, waited on: carriers that run */
  uint32_t displaced; /* atomic: those of them that may not use their CPU */
};

/* The carrier of this thread; NULL: it is none. */
struct tide_carrier *tide_carrier_self(void);
/* The loop of the carrier that calls. Returns when there is nothing to do and the crew stops. */
void tide_carrier_loop(struct tide_carrier *carrier);
/* Up to `count` of those idle, a chain by next_idle, who are not idle any more and must be
 * called. NULL: none. */
struct tide_carrier *tide_crew_take_idle(struct tide_crew *crew, uint64_t count);
/* Touches each no more, once it is told. */
void tide_carriers_call(struct tide_carrier *first, const struct tide_platform *platform);
/* A chain of `count` ready fibers, which belong to nobody or to this carrier's own loop. */
void tide_carrier_give(struct tide_carrier *carrier, struct tide_fiber *first,
                       struct tide_fiber *last, uint32_t count);
/* The job of this fiber has returned. True: it has another one. */
bool tide_crew_next_job(struct tide_fiber *fiber);
/* Takes the lock of the crew: true, with the lock held; the fiber is free. False: it has a job. */
bool tide_crew_retire_locked(struct tide_fiber *fiber);
/* Looks for a while whether there is something to do. */
bool tide_carrier_linger(const struct tide_carrier *carrier);
/* Sleeps until there may be something to do. False: the crew stops. */
bool tide_carrier_rest(struct tide_carrier *carrier);

#endif
