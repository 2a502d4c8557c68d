/* sched/delegation.h: flat combining: a submitter does a worker's exchange.
 *
 * A worker and a submitter contend for the scheduler's lock, and the data that it guards moves from
 * one processor's cache to the other's: some fifteen lines an operation, which take longer than all
 * else. So a worker that keeps up with a stream of short operations does not take the lock: it
 * posts a request. The next submitter is the *combiner*: before it unlocks, it does the exchange,
 * and writes the bodies and arguments for the worker into the request, half a line each.
 *
 * The worker owns the request, except between tide_delegation_post and the answer. It may withdraw
 * the request (tide_delegation_take_back), because no further submit may come. */
#ifndef TIDE_SCHED_DELEGATION_H
#define TIDE_SCHED_DELEGATION_H

#include "sched/sched.h"

#define TIDE_AT_ONCE_MAX 16 /* 16 non-blocking operations take less than waking another thread */

/* A body and its arguments, copied for the worker. */
struct tide_task {
  const struct tide_body_class *body;
  void *arguments; /* NULL: they are in `few` */
  _Alignas(16) unsigned char few[TIDE_ARGUMENTS_FEW];
};

/* Each cache line has mostly one writer. */
struct tide_delegation {
  /* The combiner's, with the lock held: */
  _Alignas(TIDE_CACHE_LINE) struct tide_device *device;
  uint32_t most, count; /* works wanted; works that the worker has */
  uint32_t answers;     /* answers given */
  struct tide_work *works[TIDE_AT_ONCE_MAX];
  /* The answer: */
  _Alignas(TIDE_CACHE_LINE) uint32_t answered; /* atomic: `answers`, stored last */
  uint32_t task_count;
  bool more;               /* more operations could start */
  struct tide_fired calls; /* callbacks of the exchange: the worker calls them */
  struct tide_task tasks[TIDE_AT_ONCE_MAX];
};

/* Posts the request; its works are done and have succeeded. False if another request is posted. */
static inline bool tide_delegation_post(struct tide_sched *sched, struct tide_delegation *request) {
  struct tide_delegation *none = NULL;
  return tide_compare_exchange(&sched->delegated, &none, request);
}
/* Withdraws the request. False if a combiner has it: the answer will come. */
static inline bool tide_delegation_take_back(struct tide_sched *sched,
                                             struct tide_delegation *request) {
  struct tide_delegation *mine = request;
  return tide_compare_exchange(&sched->delegated, &mine, NULL);
}

#endif
