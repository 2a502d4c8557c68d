/* Signals that a failure has put out of order.
 *
 * An operation imports the past of each value that it waits for. If it fails or leaves before that,
 * the later operations of its queue lack this past, and a signal of theirs can seem unordered. They
 * also come earlier, so that a lower signal of another queue can seem not to go up. Without the
 * failure both submits are accepted. So both are accepted after it, too, and the operations fail at
 * their places, as held ones do.
 *
 * The queue of the failed operation is marked for good. A queue is affected if it is marked, or if
 * its frontier lists an epoch of a marked one. Frontiers may have forgotten such epochs, and a
 * destroyed queue has no mark: then the submit is refused. */
#include "causal/tracker.h"
#include "sched/collective_state.h"

static bool is_marked(struct tide_sched *sched, tide_axis axis) {
  const struct tide_queue *queue =
      axis ? tide_tracker_owner(sched->context->tracker, axis, sched) : NULL;
  return queue && queue->order_was_lost;
}

static bool has_marked_member(struct tide_sched *sched, tide_axis axis) {
  const struct tide_collective *collective =
      tide_tracker_owner(sched->context->tracker, axis, &sched->collectives);
  for (size_t i = 0; collective && i < collective->count; i++)
    if (is_marked(sched, collective->by_axis[i].axis)) return true;
  return false;
}

static bool lists_marked(struct tide_sched *sched, const struct tide_frontier *frontier) {
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(frontier);
       tide_frontier_next(&at, &entry);)
    if (is_marked(sched, entry.axis) || has_marked_member(sched, entry.axis)) return true;
  return false;
}

static bool is_affected(struct tide_queue *queue) {
  return queue->order_was_lost || lists_marked(queue->sched, queue->position.frontier);
}

/* True if the signaller of this node, pending or reserved, is affected. NULL: none. */
static bool has_affected(const struct tide_tree_node *node) {
  const struct tide_op_signal *signal = (const void *)node;
  return node && is_affected(signal->op->queue);
}

const struct tide_tree_node *tide_reservation_above(const struct tide_queue *queue,
                                                    const struct tide_timeline *timeline,
                                                    uint64_t value) {
  const struct tide_tree_node *above = tide_tree_at_least(&timeline->reserved, value);
  const struct tide_op_signal *other = (const void *)above;
  if (!above || above->key == value) return above;
  bool first = other->op->queue == queue && !(other->op->flags & TIDE_MAY_BE_PASSED);
  return first ? above : NULL;
}

/* True if the signal is refused without any failure, too. */
static bool is_taken(const struct tide_queue *queue, const struct tide_timeline *timeline,
                     uint64_t value) {
  const struct tide_tree_node *pending = tide_tree_at_least(&timeline->pending, value);
  return (pending && pending->key == value) || tide_reservation_above(queue, timeline, value);
}

bool tide_order_may_be_lost(struct tide_queue *queue, const struct tide_timeline *timeline,
                            uint64_t value, bool enters) {
  struct tide_sched *sched = queue->sched;
  struct tide_record_view view;
  if (is_taken(queue, timeline, value)) return false;
  if (is_affected(queue) || (enters && lists_marked(sched, sched->known))) return true;
  if (has_affected(timeline->pending.last) || has_affected(timeline->reserved.first)) return true;
  return tide_timeline_reached_locked(timeline, value, &view) && view.frontier &&
         (is_marked(sched, view.axis) || lists_marked(sched, view.frontier));
}

/* True if a failure may be why the operation is refused. */
static bool is_excused(const struct tide_op *op, enum tide_status status, bool enters) {
  bool excused = false;
  if (status != TIDE_VALUE && status != TIDE_UNORDERED) return false;
  for (struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next) {
    struct tide_timeline *timeline = signal->record.timeline;
    if (is_taken(op->queue, timeline, signal->record.node.key)) return false;
    excused |= tide_order_may_be_lost(op->queue, timeline, signal->record.node.key, enters);
  }
  return excused;
}

enum tide_status tide_order_judge(struct tide_op *op, tide_signals_test *test, bool enters,
                                  struct tide_diag *diag) {
  struct tide_diag why;
  tide_op_unreserve(op);
  enum tide_status status = test(op->queue, op, &why);
  tide_op_unreserve(op);
  if (!is_excused(op, status, enters)) {
    if (diag) *diag = why;
    return status;
  }
  if (op->queue->sched->checker) tide_check_note(op->queue->sched, &why);
  tide_op_refuse(op, &why);
  return TIDE_OK;
}
