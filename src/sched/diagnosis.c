/* Describes as text the waits of operations that cannot go on: those that have not started, and
 * those with a body that blocks. */
#include "base/body_frame.h"
#include "base/text.h"
#include "sched/sched.h"

static void describe_value(struct tide_text *text, const struct tide_timeline *timeline,
                           uint64_t value, bool held) {
  uint64_t now = tide_load_acquire(&timeline->reached.value);
  if (now >= value) return;
  tide_text_format(text, " '%s' >= %lu (at %lu", timeline->label, (unsigned long)value,
                   (unsigned long)now);
  const struct tide_record *record =
      timeline->source ? NULL : tide_timeline_pending(timeline, value);
  const struct tide_op_signal *signal = (const void *)record;
  if (!signal && held) signal = (const void *)tide_tree_at_least(&timeline->reserved, value);
  if (signal)
    tide_text_format(text, "; '%s' of queue '%s' will signal %lu%s", tide_op_label(signal->op),
                     signal->op->queue->label, (unsigned long)signal->record.node.key,
                     record ? "" : " once it may enter");
  else if (!timeline->source) tide_text_format(text, "; nothing has promised it");
  tide_text_format(text, ")");
}

static void begin_line(struct tide_text *text, const struct tide_op *op, const char *state) {
  tide_text_format(text, "queue '%s': operation '%s' (%lu) %s", op->queue->label, tide_op_label(op),
                   (unsigned long)tide_op_sequence(op), state);
}

static void describe_pending(struct tide_text *text, const struct tide_op *op) {
  bool held = op->state == TIDE_OP_HELD;
  begin_line(text, op, held ? "is held" : "waits");
  size_t before = text->length;
  for (const struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    bool over = wait->open || tide_load_acquire(&wait->timeline->reached.value) >= wait->value;
    if (held || (wait->class_ == TIDE_WAIT_ISSUED && !over))
      describe_value(text, wait->timeline, wait->value, held);
  }
  if (text->length == before)
    tide_text_format(text, held ? " behind the one before it" : " for its turn");
  tide_text_format(text, "\n");
}

static void describe_ready(struct tide_text *text, const struct tide_op *op) {
  const struct tide_queue *queue = op->queue;
  begin_line(text, op, "is ready");
  if (queue->ahead && !tide_hardware_has_room(queue->ahead->hardware))
    tide_text_format(text, ", but hardware queue %u of device '%s' is full: %u are given or out\n",
                     queue->ahead->hardware->index, queue->device->label,
                     queue->ahead->hardware->busy);
  else tide_text_format(text, ", and device '%s' has not taken it\n", queue->device->label);
}

static void describe_out(struct tide_text *text, const struct tide_op *op) {
  const char *device = op->queue->device->label;
  if (op->state == TIDE_OP_RUNNING) {
    begin_line(text, op, "is being submitted");
    tide_text_format(text, " by device '%s'\n", device);
  } else if (op->state == TIDE_OP_OUT) {
    begin_line(text, op, "is out");
    tide_text_format(text, " on device '%s', which keeps its waits: it cannot be cancelled\n",
                     device);
  } else {
    begin_line(text, op, "is over");
    tide_text_format(text, " on device '%s'; an operation that it waited for is not\n", device);
  }
}

/* ---- bodies that block --------------------------------------------------------------------- */

static const struct tide_op *op_of(const struct tide_body_frame *frame) {
  return TIDE_CONTAINER(frame->work, struct tide_op, work);
}

static struct tide_body_frame *frame_of(struct tide_link *link) {
  return TIDE_CONTAINER(link, struct tide_body_frame, link);
}

static bool runs_on(const struct tide_body_frame *frame, const struct tide_device *device) {
  return op_of(frame)->queue->device == device;
}

static void describe_blocked(struct tide_text *text, const struct tide_body_frame *frame) {
  begin_line(text, op_of(frame), "runs, and its body waits for");
  if (!frame->points) tide_text_format(text, " a wait-set");
  size_t before = text->length;
  for (size_t i = 0; i < frame->count; i++) {
    const struct tide_wait_point *point = &frame->points[i];
    bool is_reached = tide_load_acquire(&point->timeline->reached.value) >= point->value;
    if (!is_reached && text->length > before) tide_text_format(text, ",");
    if (!is_reached) describe_value(text, point->timeline, point->value, true);
  }
  if (frame->points && text->length == before) tide_text_format(text, " what is reached by now");
  tide_text_format(text, "\n");
}

/* Describes the bodies that block. If a body blocks in each of its hands, a device starts nothing:
 * the awaited values must not come from that device. */
static void describe_bodies(struct tide_text *text, const struct tide_device *device,
                            struct tide_link *frames) {
  uint32_t hands = device->backend->hands ? device->backend->hands : 1, blocked = 0;
  for (struct tide_link *at = frames->next; at != frames; at = at->next) {
    if (!runs_on(frame_of(at), device)) continue;
    describe_blocked(text, frame_of(at));
    blocked++;
  }
  if (blocked >= hands)
    tide_text_format(text,
                     "device '%s': all its workers (%u) run bodies that wait: nothing else of it "
                     "starts before one of them goes on\n",
                     device->label, hands);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void describe_queue(struct tide_text *text, struct tide_queue *queue) {
  for (uint64_t e = queue->published + 1; e <= queue->position.epoch; e++) {
    const struct tide_op *op = tide_queue_op(queue, e);
    if (op && tide_op_is_ready(op)) describe_ready(text, op);
    else if (op && queue->ahead && op->state >= TIDE_OP_RUNNING) describe_out(text, op);
    else if (op && op->state == TIDE_OP_ENTERED) describe_pending(text, op);
  }
  for (struct tide_link *at = queue->held.next; at != &queue->held; at = at->next)
    describe_pending(text, tide_op_of_link(at));
}

size_t tide_context_diagnose(struct tide_context *context, char *buffer, size_t size) {
  struct tide_sched *sched = context->sched;
  struct tide_blocked_bodies *blocked = sched->context->blocked;
  struct tide_text text;
  tide_text_init(&text, buffer, size);
  tide_sched_enter(sched);
  tide_lock_take(&blocked->lock, tide_sched_platform(sched));
  for (struct tide_link *d = sched->devices.next; d != &sched->devices; d = d->next) {
    struct tide_device *device = TIDE_CONTAINER(d, struct tide_device, in_sched);
    describe_bodies(&text, device, &blocked->frames);
    for (struct tide_link *q = device->queues.next; q != &device->queues; q = q->next)
      describe_queue(&text, TIDE_CONTAINER(q, struct tide_queue, in_device));
  }
  tide_lock_give(&blocked->lock);
  tide_sched_leave(sched);
  return text.length;
}
