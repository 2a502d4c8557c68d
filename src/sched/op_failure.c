/* Causes of failed operations: the first cause is kept, and all dependents inherit it. */
#include "base/text.h"
#include "sched/sched.h"

static void copy_text(char *to, size_t size, const char *from) {
  struct tide_text text;
  tide_text_init(&text, to, size);
  tide_text_format(&text, "%s", from);
}

/* Sets the operation's names in the failure. A text of the backend stays. */
static void name_operation(const struct tide_op *op, struct tide_failure *failure) {
  const struct tide_queue *queue = op->queue;
  failure->sequence = tide_op_sequence(op);
  copy_text(failure->operation, sizeof failure->operation, TIDE_OP_NAME(op));
  copy_text(failure->queue, sizeof failure->queue, queue->label);
  copy_text(failure->device, sizeof failure->device, queue->device->label);
}

void tide_op_fail(struct tide_op *op, enum tide_status status, struct tide_cause *cause) {
  if (status == TIDE_OK || op->status) return;
  /* The bit-field holds known statuses only: any other number becomes TIDE_FAILED. */
  op->status = (uint32_t)status < TIDE_STATUS_COUNT ? status : TIDE_FAILED;
  tide_store_relaxed(&op->queue->sched->context->has_failed, true);
  if (cause) tide_op_rare(op)->cause = tide_cause_retain(cause);
}

void tide_op_refuse(struct tide_op *op, const struct tide_diag *why) {
  if (op->status) return;
  struct tide_failure failure = {.status = why->status};
  name_operation(op, &failure);
  copy_text(failure.text, sizeof failure.text, why->text);
  struct tide_cause *cause = tide_cause_create(op->queue->sched->context, &failure);
  tide_op_fail(op, why->status, cause);
  tide_cause_release(cause);
}

struct tide_cause *tide_op_cause(struct tide_op *op) {
  struct tide_op_rare *rare = tide_op_rare(op);
  if (rare->cause || !op->status) return rare->cause;
  struct tide_failure failure = {.status = op->status};
  name_operation(op, &failure);
  copy_text(failure.text, sizeof failure.text, tide_status_text(op->status));
  rare->cause = tide_cause_create(op->queue->sched->context, &failure);
  return rare->cause;
}

void tide_op_drop_cause(struct tide_op *op) {
  if (!op->rare) return;
  struct tide_op_rare *rare = tide_op_rare(op);
  tide_cause_release(rare->cause);
  rare->cause = NULL;
}

void tide_op_break_signal(struct tide_op *op, struct tide_op_signal *signal) {
  struct tide_timeline *timeline = signal->record.timeline;
  /* A timeline keeps its first cause, so no later one is created; and a backing keeps none. */
  struct tide_cause *cause = timeline->status || timeline->is_backed ? NULL : tide_op_cause(op);
  tide_timeline_break(&signal->record, op->status, cause, &op->queue->sched->fired);
}

void tide_work_fail(struct tide_work *work, const struct tide_failure *why) {
  struct tide_op *op = TIDE_CONTAINER(work, struct tide_op, work);
  struct tide_sched *sched = op->queue->sched;
  struct tide_failure failure = *why;
  if (why->status == TIDE_OK || (uint32_t)why->status >= TIDE_STATUS_COUNT)
    failure.status = TIDE_FAILED;
  failure.text[sizeof failure.text - 1] = 0;
  for (char *at = failure.text; *at; at++)
    if (*at == '\n' || *at == '\r') *at = ' '; /* one line */
  if (!failure.text[0])
    copy_text(failure.text, sizeof failure.text, tide_status_text(failure.status));
  work->status = failure.status;
  tide_sched_enter(sched);
  if (!op->status) {
    name_operation(op, &failure);
    struct tide_cause *cause = tide_cause_create(sched->context, &failure);
    tide_op_fail(op, failure.status, cause);
    tide_cause_release(cause);
  }
  tide_sched_leave(sched);
}
