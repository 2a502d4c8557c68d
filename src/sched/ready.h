/* sched/ready.h: queues whose next operation is ready, in the order in which they are picked. */
#ifndef TIDE_SCHED_READY_H
#define TIDE_SCHED_READY_H

#include "base/list.h"
#include "tidemark/queue.h"

/* By level, the lowest first: queues with a next operation that would hold back others on the
 * hardware queue, then all other queues, each by priority. */
#define TIDE_ARBITER_LEVELS (2 * TIDE_PRIORITY_LEVELS)
#define TIDE_LEVELS_HOLDING_BACK ((UINT32_C(1) << TIDE_PRIORITY_LEVELS) - 1) /* as bits */

/* The queues of a device, or of one hardware queue of a device that runs ahead. */
struct tide_ready {
  struct tide_queue *only; /* the ready queue, if it is the only one: in no list then */
  uint64_t picks;
  uint32_t count;
  uint32_t used_levels; /* bit i: levels[i] is not empty */
  struct tide_link by_age;
  struct tide_link levels[TIDE_ARBITER_LEVELS];
};

static inline void tide_ready_init(struct tide_ready *ready) {
  tide_list_init(&ready->by_age);
  for (int i = 0; i < TIDE_ARBITER_LEVELS; i++) tide_list_init(&ready->levels[i]);
}

#endif
