/* Publication: an operation that is done becomes finished, in epoch order, with its signals. */
#include "sched/channel_state.h"
#include "sched/sched.h"

/* Marks all epochs up to this one finished. The tracker advances before any timeline value. */
static void advance_finished(struct tide_queue *queue, uint64_t epoch) {
  struct tide_sched *sched = queue->sched;
  if (queue->tracked)
    tide_tracker_axis_advance(sched->context->tracker, queue->tracked, epoch, &sched->fired);
  queue->published = epoch;
  tide_sched_look(queue);
}

static void publish_operation(struct tide_queue *queue, struct tide_op *op) {
  struct tide_sched *sched = queue->sched;
  uint64_t epoch = op->work.epoch;
  queue->slots[epoch & queue->ring_mask].op = NULL;
  sched->stats.finished++;
  tide_timeline_advance(queue->progress, epoch, &sched->fired);
  /* On an out-of-order device the operation may have started before the failure was known. */
  if (queue->failure.cause) tide_channel_stop_behind(op);
  for (struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next) {
    if (op->status) {
      tide_timeline_withdraw(&signal->record, &sched->fired);
      tide_op_break_signal(op, signal);
    } else if (!tide_timeline_reach(&signal->record, op->queue->position.axis, epoch,
                                    tide_queue_record(queue, epoch), &sched->fired))
      tide_op_fail(op, TIDE_VALUE, NULL);
  }
  if (op->refused && op->signals) sched->unpromised--;
  if (op->status) tide_channel_failed(op);
  sched->stats.failed += op->status != TIDE_OK;
  tide_sched_emit(sched, TIDE_EVENT_PUBLISH, op, NULL);
  if (op->part) tide_instance_finished(op);
  if (op->points) tide_op_points_done(op);
  if (queue->ahead) tide_ahead_published(op);
  tide_op_free(op);
}

/* True if the operation is done. One that went ahead also needs that all it waited for, or elided,
 * is published, so its predecessor comes first. */
static inline bool is_publishable(struct tide_op *op) {
  const struct tide_queue *queue = op->queue;
  if (op->state != TIDE_OP_DONE) return false;
  if (!queue->ahead || !tide_ahead_was_given(op)) return true;
  if (queue->published + 1 != op->work.epoch || !tide_ahead_may_publish(op)) return false;
  tide_op_finish(op, op->status);
  return true;
}

/* Publishes the done operations up to the first unfinished one. The tracker advances once for all.
 * The progress timeline advances with each operation, before its signals. */
static bool publish_done(struct tide_queue *queue) {
  uint64_t first = queue->published + 1, end = first;
  while (end <= queue->position.epoch && is_publishable(tide_queue_op(queue, end))) end++;
  if (end > first) advance_finished(queue, end - 1);
  for (uint64_t epoch = first; epoch < end; epoch++)
    publish_operation(queue, tide_queue_op(queue, epoch));
  return end > first;
}

void tide_queue_publish(struct tide_queue *queue) {
  while (publish_done(queue) && queue->ahead) {}
  /* Held operations are now preceded by the failure alone. */
  if (queue->failure.cause && queue->published == queue->position.epoch) queue->retry_held = true;
}

void tide_op_finish(struct tide_op *op, enum tide_status status) {
  tide_op_fail(op, status, NULL);
  op->state = TIDE_OP_DONE;
  if (op->status) tide_channel_failed(op);
  tide_sched_emit_finish(op->queue->sched, op);
}
