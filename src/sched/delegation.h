/* sched/delegation.h: an exchange that somebody else does.
 *
 * A worker and whoever submits meet at the scheduler's lock, and all that it guards follows whoever
 * takes it from one processor's cache to the other's: some fifteen lines an operation, which takes
 * longer than all the rest. So a worker that keeps up with a stream of short operations does not
 * take the lock, but leaves word that it is done and wants more. Whoever submits next does the
 * exchange before it gives the lock back, and answers with what the bodies need: half a line each.
 *
 * The request is the worker's. It gives it away by tide_delegation_post, and has it again with the
 * answer, or when it takes it back: there may be nobody who submits. */
#ifndef TIDE_SCHED_DELEGATION_H
#define TIDE_SCHED_DELEGATION_H

#include "sched/sched.h"

#define TIDE_AT_ONCE_MAX 16 /* short operations take less than waking another thread */

/* What a body needs. */
struct tide_task {
  const struct tide_body_class *body;
  void *arguments; /* NULL: they are here */
  _Alignas(16) unsigned char few[TIDE_ARGUMENTS_FEW];
};

/* Each line is written by one side alone, mostly. */
struct tide_delegation {
  /* Of whoever exchanges, with the lock held: */
  _Alignas(TIDE_CACHE_LINE) struct tide_device *device;
  uint32_t most, count; /* works that are wanted; that are out */
  uint32_t answers;     /* that were given */
  struct tide_work *works[TIDE_AT_ONCE_MAX];
  /* The answer: */
  _Alignas(TIDE_CACHE_LINE) uint32_t answered; /* atomic: `answers`, once the rest is there */
  uint32_t task_count;
  bool more;               /* others could start, too */
  struct tide_fired calls; /* to make: the worker's, as if it had been there itself */
  struct tide_task tasks[TIDE_AT_ONCE_MAX];
};

/* What is out is over, all of it well. False: another request is there. */
static inline bool tide_delegation_post(struct tide_sched *sched, struct tide_delegation *request) {
  struct tide_delegation *none = NULL;
  return tide_compare_exchange(&sched->delegated, &none, request);
}
/* False: it is being answered. */
static inline bool tide_delegation_take_back(struct tide_sched *sched,
                                             struct tide_delegation *request) {
  struct tide_delegation *mine = request;
  return tide_compare_exchange(&sched->delegated, &mine, NULL);
}

#endif
