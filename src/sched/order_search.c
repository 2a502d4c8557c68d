/* Whether an operation is ordered behind another one, where frontiers have forgotten it.
 *
 * A frontier that is too small costs elisions, but must not refuse a signal that is in order. So
 * before a refusal, the operations that have not finished are searched: from an operation to those
 * that it and its predecessors in its queue wait for. The awaited one has not finished, and an
 * operation that has finished is behind none such. Neither is one that has started on a device
 * where the host keeps all waits, or that entered before the awaited one. */
#include "causal/tracker.h"
#include "sched/collective_state.h"

struct search {
  const struct tide_op *target;
  struct tide_op *stack;
  uint64_t number;
};

static bool may_be_behind(const struct search *search, const struct tide_op *op) {
  bool entered = op->state == TIDE_OP_ENTERED;
  if (!entered && !op->queue->ahead) return false;
  return !entered || search->target->state != TIDE_OP_ENTERED ||
         (int32_t)(tide_op_turn(op) - tide_op_turn(search->target)) > 0;
}

/* Pushes an operation of a queue, unless it cannot be behind the target or was pushed before. */
static void push_epoch(struct search *search, const struct tide_queue *queue, uint64_t epoch) {
  if (epoch <= queue->published) return;
  struct tide_op *op = tide_queue_op(queue, epoch);
  if (!may_be_behind(search, op)) return;
  struct tide_op_rare *rare = tide_op_rare(op);
  if (rare->visited == search->number) return;
  rare->visited = search->number;
  rare->mark = search->stack;
  search->stack = op;
}

/* True if the awaited epoch is the target's or a later one of its queue. Else pushes it. */
static bool follow_epoch(struct search *search, const struct tide_queue *queue, uint64_t epoch) {
  const struct tide_op *target = search->target;
  if (queue == target->queue && epoch >= target->work.epoch) return true;
  push_epoch(search, queue, epoch);
  return false;
}

/* The same for the parts of a collective's instance: its records do not list the members. */
static bool follow_parts(struct search *search, tide_axis axis, uint64_t number) {
  const struct tide_instance *instance =
      tide_instance_of(search->target->queue->sched, axis, number);
  for (size_t i = 0; instance && i < instance->collective->count; i++) {
    const struct tide_op *part = instance->parts[i];
    if (part && follow_epoch(search, part->queue, part->work.epoch)) return true;
  }
  return false;
}

static bool follow_axis(struct search *search, tide_axis axis, uint64_t epoch) {
  struct tide_sched *sched = search->target->queue->sched;
  if (!axis) return false;
  const struct tide_queue *owner = tide_tracker_owner(sched->context->tracker, axis, sched);
  return owner ? follow_epoch(search, owner, epoch) : follow_parts(search, axis, epoch);
}

static bool follow_past(struct search *search, const struct tide_buffer *buffer) {
  struct tide_frontier_entry use;
  for (struct tide_frontier_cursor at = tide_frontier_begin(tide_buffer_past(buffer));
       tide_frontier_next(&at, &use);)
    if (follow_axis(search, use.axis, use.epoch)) return true;
  return false;
}

/* True if the operation waits for the target. Pushes what else it waits for. */
static bool follow_waits(struct search *search, const struct tide_op *op) {
  for (const struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    if (follow_axis(search, wait->axis, wait->epoch)) return true;
  for (const struct tide_op_use *use = tide_op_uses(op); use; use = use->next)
    if (use->gap && follow_past(search, use->buffer)) return true;
  return false;
}

bool tide_order_is_behind(struct tide_op *op, const struct tide_op *target) {
  struct tide_queue *queue = op->queue;
  struct search search = {target, NULL, ++queue->sched->search};
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
