/* Whether an operation is ordered behind another one, where frontiers have forgotten it.
 *
 * A frontier that is too small costs elisions, but must not refuse a signal that is in order. So
 * before a refusal, the operations that have not finished are searched: from an operation to those
 * that it and its predecessors in its queue wait for. The awaited one has not finished, and an
 * operation that has finished is behind none such. */
#include "causal/tracker.h"
#include "sched/sched.h"

struct search {
  tide_axis axis; /* the target */
  uint64_t epoch;
  struct tide_op *stack;
  uint64_t number;
};

/* Pushes an operation of a queue, unless it has finished or was pushed before. */
static void push_epoch(struct search *search, const struct tide_queue *queue, uint64_t epoch) {
  if (epoch <= queue->published) return;
  struct tide_op *op = tide_queue_op(queue, epoch);
  struct tide_op_rare *rare = tide_op_rare(op);
  if (rare->visited == search->number) return;
  rare->visited = search->number;
  rare->mark = search->stack;
  search->stack = op;
}

/* True if one of the operation's waits is for the target. Pushes the others. */
static bool follow_waits(struct search *search, const struct tide_op *op) {
  struct tide_sched *sched = op->queue->sched;
  for (const struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    if (!wait->axis) continue;
    if (wait->axis == search->axis && wait->epoch >= search->epoch) return true;
    const struct tide_queue *owner = tide_tracker_owner(sched->context->tracker, wait->axis, sched);
    if (owner) push_epoch(search, owner, wait->epoch);
  }
  return false;
}

bool tide_order_is_behind(struct tide_op *op, tide_axis axis, uint64_t epoch) {
  struct tide_queue *queue = op->queue;
  struct search search = {axis, epoch, NULL, ++queue->sched->search};
  if (follow_waits(&search, op)) return true;
  push_epoch(&search, queue, queue->position.epoch);
  while (search.stack) {
    struct tide_op *at = search.stack;
    search.stack = tide_op_rare(at)->mark;
    if (follow_waits(&search, at)) return true;
    push_epoch(&search, at->queue, at->work.epoch - 1);
  }
  return false;
}
