/* Failure goes down a channel: commands behind a failed one do not run, up to a recovery.
 *
 * One struct tide_channel_failure a queue, which only set_failure and set_refused change:
 *
 *      none ---- a command fails ----> failed(cause, epoch) ---- a recovery starts ----> none
 *                                          ^    |
 *                                          `----' an earlier command fails, too
 *
 * On an out-of-order device commands behind the failed one may have started, and a command before
 * it may still fail. Then the earlier cause replaces the later one, also in commands that were
 * stopped already: a status is final when the command is published, in order. A recovery starts
 * only when all before it is published (may_start). So all commands under way lie between the same
 * two recoveries, and one epoch is enough.
 *
 * A refused command that its client believes to be queued has no epoch. `refused` fails later
 * submits until a recovery is submitted.
 *
 * A command that its client has cancelled is no failure: it was taken out of the channel. */
#include "sched/channel_state.h"

static void set_failure(struct tide_queue *queue, enum tide_status cause, uint64_t epoch,
                        struct tide_cause *first) {
  struct tide_cause *before = queue->failure.first;
  queue->failure.first = tide_cause_retain(first);
  tide_cause_release(before);
  queue->failure.cause = cause;
  queue->failure.epoch = epoch;
}

static void set_refused(struct tide_queue *queue, enum tide_status cause) {
  queue->failure.refused = cause;
}

/* True if no failure before the operation stops it. */
static bool is_exempt(const struct tide_op *op) {
  return (op->flags & (TIDE_DESPITE_BROKEN | TIDE_RECOVER)) != 0;
}

/* ---- failing ------------------------------------------------------------------------ */

void tide_channel_failed(struct tide_op *op) {
  struct tide_queue *queue = op->queue;
  const struct tide_channel_failure *now = &queue->failure;
  if (!queue->channel || op->withdrawn) return;
  if (!now->cause || op->work.epoch < now->epoch)
    set_failure(queue, op->status, op->work.epoch, tide_op_cause(op));
}

void tide_queue_refuse(struct tide_queue *queue, enum tide_status cause) {
  tide_sched_enter(queue->sched);
  if (cause == TIDE_OK || (unsigned)cause >= TIDE_STATUS_COUNT) cause = TIDE_FAILED;
  if (queue->channel && !queue->failure.refused) set_refused(queue, cause);
  tide_sched_leave(queue->sched);
}

/* ---- stopping ---------------------------------------------------------------------------- */

void tide_channel_stop_behind(struct tide_op *op) {
  const struct tide_queue *queue = op->queue;
  if ((op->status && !op->stopped) || is_exempt(op) || op->work.epoch <= queue->failure.epoch)
    return;
  tide_op_drop_cause(op);
  op->status = TIDE_OK;
  tide_op_fail(op, queue->failure.cause, queue->failure.first);
  op->stopped = true;
  tide_op_give_up_waits(op);
}

void tide_channel_join(struct tide_op *op) {
  if (!is_exempt(op)) tide_op_fail(op, op->queue->failure.refused, NULL);
}

bool tide_channel_fails_held(const struct tide_op *op) {
  const struct tide_queue *queue = op->queue;
  if (op->status) return true;
  return queue->failure.cause && queue->published == queue->position.epoch && !is_exempt(op) &&
         !(op->flags & TIDE_MAY_BE_PASSED);
}

/* ---- recovering ------------------------------------------------------------------------------ */

void tide_channel_recovery_queued(struct tide_queue *queue) { set_refused(queue, TIDE_OK); }

void tide_channel_recover(const struct tide_op *op) {
  if (!op->withdrawn) set_failure(op->queue, TIDE_OK, 0, NULL);
}

enum tide_status tide_queue_recover(struct tide_queue *queue, struct tide_diag *diag) {
  struct tide_operation recovery = {.label = "recover", .flags = TIDE_RECOVER};
  return tide_queue_submit(queue, &recovery, NULL, diag);
}

enum tide_status tide_queue_failure(struct tide_queue *queue) {
  tide_sched_enter(queue->sched);
  const struct tide_channel_failure *now = &queue->failure;
  enum tide_status status = now->cause ? now->cause : now->refused;
  tide_sched_leave(queue->sched);
  return status;
}
