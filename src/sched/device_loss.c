/* Loss of a device. Its operations fail at once towards their waiters. They end once the backend
 * has certified that none of them can touch memory any more. */
#include "base/text.h"
#include "sched/channel_state.h"
#include "sched/sched.h"

static void lose_queue(struct tide_queue *queue, enum tide_status status) {
  struct tide_sched *sched = queue->sched;
  if (queue->channel) tide_queue_close_channel(queue, status);
  if (queue->tracked)
    tide_tracker_fail_collect(sched->context->tracker, queue->tracked, status, &sched->fired);
  for (uint64_t e = queue->published + 1; e <= queue->position.epoch; e++) {
    struct tide_op *op = tide_queue_op(queue, e);
    if (!op) continue;
    tide_op_fail(op, status, queue->device->cause);
    tide_op_cancel(op, status);
    tide_op_fail_early(op, status);
  }
  tide_queue_leave_held(queue, status);
  if (queue->members) tide_collectives_lose(queue, status);
  tide_queue_notify_waiters(queue);
}

static struct tide_cause *cause_of_loss(const struct tide_device *device,
                                        const struct tide_failure *why) {
  struct tide_failure failure = {.status = device->lost, .code = why->code};
  struct tide_text text;
  tide_text_init(&text, failure.device, sizeof failure.device);
  tide_text_format(&text, "%s", device->label);
  tide_text_init(&text, failure.text, sizeof failure.text);
  tide_text_format(&text, "device '%s' was lost: %s", device->label,
                   why->text[0] ? why->text : tide_status_text(device->lost));
  if (tide_text_cut(&text)) tide_text_trim(failure.text);
  return tide_cause_create(device->sched->context, &failure);
}

void tide_device_lose_for(struct tide_device *device, const struct tide_failure *why) {
  struct tide_sched *sched = device->sched;
  tide_sched_enter(sched);
  if (!device->lost) {
    device->lost = why->status == TIDE_OK ? TIDE_LOST : why->status;
    device->cause = cause_of_loss(device, why);
    for (struct tide_link *at = device->queues.next; at != &device->queues; at = at->next)
      lose_queue(TIDE_CONTAINER(at, struct tide_queue, in_device), device->lost);
  }
  tide_sched_leave(sched);
}

void tide_device_lose(struct tide_device *device, enum tide_status status) {
  tide_device_lose_for(device, &(struct tide_failure){.status = status});
}

bool tide_device_failure(struct tide_device *device, struct tide_failure *out_failure) {
  struct tide_lock *lock = device->sched->lock;
  tide_lock_take(lock, tide_sched_platform(device->sched));
  enum tide_status status = device->lost;
  if (status && out_failure)
    *out_failure = device->cause ? device->cause->failure : (struct tide_failure){.status = status};
  tide_lock_give(lock);
  return status != TIDE_OK;
}

enum tide_status tide_device_status(struct tide_device *device) {
  struct tide_failure failure = {.status = TIDE_OK};
  (void)tide_device_failure(device, &failure);
  return failure.status;
}

/* Ends the operations that were running, and publishes the first of them. The others are skipped in
 * order: an epoch counts as finished only once its imports have finished, on a lost device, too. */
static void certify_queue(struct tide_queue *queue) {
  for (uint64_t e = queue->published + 1; e <= queue->position.epoch; e++) {
    struct tide_op *op = tide_queue_op(queue, e);
    if (op && op->state == TIDE_OP_RUNNING && !queue->ahead) tide_op_finish(op, op->status);
  }
  if (queue->ahead) tide_ahead_end_submissions(queue);
  tide_queue_skip_started(queue);
  tide_queue_publish(queue);
  tide_sched_look(queue);
}

void tide_device_certify(struct tide_device *device) {
  struct tide_sched *sched = device->sched;
  tide_sched_enter(sched);
  if (device->lost && !device->certified) {
    device->certified = true;
    for (struct tide_link *at = device->queues.next; at != &device->queues; at = at->next)
      certify_queue(TIDE_CONTAINER(at, struct tide_queue, in_device));
  }
  tide_sched_leave(sched);
}
