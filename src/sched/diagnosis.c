/* Describes as text the waits of operations that cannot go on: those that have not started, and
 * those with a body that blocks. */
#include "sched/diagnosis.h"
#include "base/body_frame.h"
#include "base/text.h"
#include "causal/tracker.h"
#include "sched/channel_state.h"
#include "sched/collective_state.h"

static void name_command(struct tide_text *text, const struct tide_command *command) {
  const struct tide_op *op = TIDE_CONTAINER(command, struct tide_op_points, command)->op;
  tide_text_format(text, " '%s' of queue '%s'", TIDE_OP_NAME(op), op->queue->label);
}

static void describe_value(struct tide_text *text, const struct tide_timeline *timeline,
                           uint64_t value, bool held) {
  uint64_t now = tide_load_acquire(&timeline->reached.value);
  if (now >= value) return;
  tide_text_format(text, " '%s' >= %lu (at %lu", timeline->label, (unsigned long)value,
                   (unsigned long)now);
  const struct tide_record *record = tide_timeline_pending(timeline, value);
  const struct tide_op_signal *signal = (const void *)record;
  if (!signal && held) signal = (const void *)tide_tree_at_least(&timeline->reserved, value);
  if (signal)
    tide_text_format(text, "; '%s' of queue '%s' will signal %lu%s", TIDE_OP_NAME(signal->op),
                     signal->op->queue->label, (unsigned long)signal->record.node.key,
                     record ? "" : " once it may enter");
  else if (!timeline->ops) tide_text_format(text, "; nothing has promised it");
  else if (timeline->ops->describe) timeline->ops->describe(text, timeline, value, name_command);
  tide_text_format(text, ")");
}

void tide_diagnose_value(struct tide_text *text, const struct tide_timeline *timeline,
                         uint64_t value) {
  describe_value(text, timeline, value, true);
}

static void begin_line(struct tide_text *text, const struct tide_op *op, const char *state) {
  tide_text_format(text, "queue '%s': operation '%s'", op->queue->label, TIDE_OP_NAME(op));
  if (tide_op_label(op)[0]) tide_text_format(text, " (%lu)", (unsigned long)tide_op_sequence(op));
  tide_text_format(text, " %s", state);
}

/* Describes (axis, epoch), which has not finished; `otherwise`: one that is not of this context. */
static void describe_epoch(struct tide_text *text, struct tide_sched *sched, tide_axis axis,
                           uint64_t epoch, const char *otherwise) {
  const struct tide_queue *queue = tide_tracker_owner(sched->context->tracker, axis, sched);
  const struct tide_op *user =
      queue && epoch > queue->published ? tide_queue_op(queue, epoch) : NULL;
  const struct tide_instance *instance = tide_instance_of(sched, axis, epoch);
  if (user) tide_text_format(text, " '%s' of queue '%s'", TIDE_OP_NAME(user), user->queue->label);
  else if (instance)
    tide_text_format(text, " instance %lu of '%s'", (unsigned long)instance->number,
                     instance->collective->progress->label);
  else tide_text_format(text, "%s", otherwise);
}

/* Describes what an operation that has failed awaits: its place is behind all that it knows. */
static void describe_finish(struct tide_text *text, const struct tide_op *op) {
  const struct tide_finish_wait *finish = &tide_op_rare((struct tide_op *)(uintptr_t)op)->finish;
  char axis[64];
  if (!op->status || !op->finishing) return;
  tide_axis_print(finish->axis, axis, sizeof axis);
  tide_text_format(text, ", as failed, for the end of %s@%lu:", axis,
                   (unsigned long)finish->node.value);
  describe_epoch(text, op->queue->sched, finish->axis, finish->node.value,
                 " an operation elsewhere");
}

/* Describes the gap waits: buffers with a past that has not finished. */
static void describe_gaps(struct tide_text *text, const struct tide_op *op) {
  struct tide_sched *sched = op->queue->sched;
  struct tide_tracker *tracker = sched->context->tracker;
  struct tide_frontier_entry entry;
  for (const struct tide_op_use *use = tide_op_uses(op); use; use = use->next) {
    if (!use->gap || tide_buffer_ready(use->buffer)) continue;
    tide_text_format(text, " for the memory of buffer '%s', in use by",
                     tide_buffer_label(use->buffer));
    for (struct tide_frontier_cursor at = tide_frontier_begin(tide_buffer_past(use->buffer));
         tide_frontier_next(&at, &entry);)
      if (!tide_tracker_finished(tracker, entry.axis, entry.epoch))
        describe_epoch(text, sched, entry.axis, entry.epoch, " its former users");
  }
}

/* Describes the parts that an arrived part waits for. */
static void describe_instance(struct tide_text *text, const struct tide_op *part) {
  const struct tide_instance *instance = tide_op_rare((struct tide_op *)(uintptr_t)part)->instance;
  const struct tide_collective *collective = instance->collective;
  tide_text_format(text,
                   " for the other parts of instance %lu of '%s':", (unsigned long)instance->number,
                   collective->progress->label);
  for (size_t i = 0; i < collective->count; i++) {
    const struct tide_op *other = instance->parts[i];
    if (other && !other->arrived)
      tide_text_format(text, " '%s' of queue '%s' has not arrived;", TIDE_OP_NAME(other),
                       other->queue->label);
    else if (!other && collective->next[i] <= instance->number)
      tide_text_format(text, " queue '%s' has submitted none;", collective->members[i]->label);
  }
}

static void describe_pending(struct tide_text *text, const struct tide_op *op) {
  bool held = op->state == TIDE_OP_HELD;
  begin_line(text, op, held ? "is held" : "waits");
  size_t before = text->length;
  if (!held) describe_gaps(text, op);
  if (!held) describe_finish(text, op);
  if (op->arrived) describe_instance(text, op);
  for (const struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    bool over = wait->open || tide_load_acquire(&wait->timeline->reached.value) >= wait->value;
    bool is_awaited = wait->class_ == TIDE_WAIT_ISSUED || wait->heap != TIDE_HEAP_NONE;
    if (held || (is_awaited && !over)) describe_value(text, wait->timeline, wait->value, held);
  }
  if (text->length == before)
    tide_text_format(text, held                       ? " behind the one before it"
                           : op->queue->sched->paused ? " for the context to be resumed"
                                                      : " for its turn");
  tide_text_format(text, "\n");
}

static void describe_ready(struct tide_text *text, const struct tide_op *op) {
  const struct tide_queue *queue = op->queue;
  begin_line(text, op, "is ready");
  if (queue->ahead && !tide_hardware_has_room(queue->ahead->hardware))
    tide_text_format(text, ", but hardware queue %u of device '%s' is full: %u are given or out\n",
                     queue->ahead->hardware->index, queue->device->label,
                     queue->ahead->hardware->busy);
  else if (queue->sched->paused) tide_text_format(text, ", and the context is paused\n");
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

/* Stops where the text has more than `most` characters. */
static void describe_queue(struct tide_text *text, struct tide_queue *queue, size_t most) {
  for (uint64_t e = queue->published + 1; e <= queue->position.epoch && text->length <= most; e++) {
    const struct tide_op *op = tide_queue_op(queue, e);
    if (op && tide_op_is_ready(op)) describe_ready(text, op);
    else if (op && queue->ahead && op->state >= TIDE_OP_RUNNING) describe_out(text, op);
    else if (op && op->state == TIDE_OP_ENTERED) describe_pending(text, op);
  }
  for (struct tide_link *at = queue->held.next; at != &queue->held && text->length <= most;
       at = at->next)
    describe_pending(text, tide_op_of_link(at));
}

size_t tide_diagnose_most(struct tide_context *context, char *buffer, size_t size, size_t most) {
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
      describe_queue(&text, TIDE_CONTAINER(q, struct tide_queue, in_device), most);
  }
  tide_lock_give(&blocked->lock);
  tide_sched_leave(sched);
  return text.length;
}

size_t tide_context_diagnose(struct tide_context *context, char *buffer, size_t size) {
  return tide_diagnose_most(context, buffer, size, SIZE_MAX);
}
