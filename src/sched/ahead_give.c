/* Submissions: their numbers, and the waits that the device keeps. */
#include "sched/ahead_parts.h"
#include "sched/arbiter.h"
#include "sched/channel_state.h"

static bool each_of_gap(struct tide_op *op, const struct tide_buffer *buffer, void *user,
                        bool (*each)(struct tide_op *, const struct tide_dependency *, void *)) {
  const struct tide_frontier *past = tide_buffer_past(buffer);
  struct tide_dependency on = {.buffer = buffer};
  struct tide_frontier_entry entry;
  bool all = true;
  tide_buffer_past_signaller(buffer, &on.axis, &on.epoch);
  if (on.axis && past->tainted) return each(op, &on, user);
  for (struct tide_frontier_cursor at = tide_frontier_begin(past);
       tide_frontier_next(&at, &entry);) {
    on.axis = entry.axis;
    on.epoch = entry.epoch;
    all &= each(op, &on, user);
  }
  return all;
}

bool tide_ahead_each_dependency(struct tide_op *op, void *user,
                                bool (*each)(struct tide_op *op, const struct tide_dependency *on,
                                             void *user)) {
  bool all = true;
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    struct tide_dependency on = {
        .axis = wait->point ? 0 : wait->axis, .epoch = wait->epoch, .wait = wait};
    if (wait->class_ == TIDE_WAIT_ISSUED) all &= each(op, &on, user);
  }
  for (struct tide_op_use *use = tide_op_uses(op); use; use = use->next)
    if (use->gap) all &= each_of_gap(op, use->buffer, user, each);
  return all;
}

/* The dependencies of a submission, by slot. */
struct needs {
  uint64_t numbers[TIDE_HARDWARE_QUEUES_MAX];            /* the newest submission; 0: none */
  const struct tide_out *outs[TIDE_HARDWARE_QUEUES_MAX]; /* the same submission; NULL: over */
  bool by_host;                                          /* the host has seen a dependency end */
  uint32_t by_device;                                    /* dependencies that it has not */
};

static uint32_t slot_of(const struct tide_out *out) {
  return out->op->queue->ahead->hardware->slot;
}

static void need_number(struct needs *needs, uint32_t slot, uint64_t number,
                        const struct tide_out *out) {
  if (number <= needs->numbers[slot]) return;
  needs->numbers[slot] = number;
  needs->outs[slot] = out;
}

/* Returns the submission that the operation waits for; NULL: the host has seen its end. */
static const struct tide_out *awaited_out(const struct tide_op *op,
                                          const struct tide_dependency *on) {
  if (on->wait && on->wait->open) return NULL;
  struct tide_queue *owner = tide_ahead_peer(op->queue, on->axis);
  if (!owner || owner->device->lost || on->epoch <= owner->published) return NULL;
  TIDE_ASSERT(tide_queue_op(owner, on->epoch)->state >= TIDE_OP_OUT);
  return tide_ahead_out(owner, on->epoch);
}

static bool add_need(struct tide_op *op, const struct tide_dependency *on, void *user) {
  struct needs *needs = user;
  const struct tide_out *out = awaited_out(op, on);
  if (out) need_number(needs, slot_of(out), out->number, out);
  else needs->by_host = true;
  needs->by_device += out != NULL;
  return true;
}

/* True if the host has seen the end of a dependency that is not listed: of a value that was reached
 * already, or a former user of a buffer's memory. A dependency that an earlier submission of the
 * queue, or another wait, brings needs nothing. */
static bool is_seen_by_host(struct tide_op *op) {
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    bool is_known = wait->class_ == TIDE_WAIT_ELIDED && wait->reason != TIDE_REASON_FINISHED;
    if (!is_known && wait->class_ != TIDE_WAIT_ISSUED) return true;
  }
  for (struct tide_op_use *use = tide_op_uses(op); use; use = use->next)
    if (!use->gap && !tide_buffer_is_fresh(use->buffer)) return true;
  return false;
}

static void collect_needs(struct tide_op *op, struct needs *needs) {
  struct tide_queue *queue = op->queue;
  const struct tide_device_group *group = tide_ahead_group(queue);
  *needs = (struct needs){.by_host = queue->ahead->skipped || is_seen_by_host(op)};
  (void)tide_ahead_each_dependency(op, needs, add_need);
  if (queue->in_order) need_number(needs, queue->ahead->hardware->slot, queue->ahead->newest, NULL);
  for (uint32_t slot = 0; needs->by_host && slot < TIDE_HARDWARE_QUEUES_MAX; slot++) {
    const struct tide_hardware_queue *other = group->queues[slot];
    if (other && !other->device->lost && other->over > other->base)
      need_number(needs, slot, other->over, NULL);
  }
}

/* True if the wait for another needed submission brings this one. */
static bool is_implied(const struct needs *needs, uint32_t slot) {
  for (uint32_t other = 0; other < TIDE_HARDWARE_QUEUES_MAX; other++) {
    const struct tide_out *out = needs->outs[other];
    if (other != slot && out && out->seen[slot] >= needs->numbers[slot]) return true;
  }
  return false;
}

/* Drops the dependencies that the hardware queue, or another wait, orders already. */
static void reduce_needs(const struct tide_hardware_queue *hardware, struct needs *needs) {
  bool is_needed[TIDE_HARDWARE_QUEUES_MAX];
  for (uint32_t slot = 0; slot < TIDE_HARDWARE_QUEUES_MAX; slot++)
    is_needed[slot] = needs->numbers[slot] > hardware->seen[slot] && !is_implied(needs, slot);
  for (uint32_t slot = 0; slot < TIDE_HARDWARE_QUEUES_MAX; slot++)
    if (!is_needed[slot]) needs->numbers[slot] = 0;
}

bool tide_ahead_holds_others_back(struct tide_op *op) {
  const struct tide_hardware_queue *hardware = op->queue->ahead->hardware;
  const struct tide_device_group *group = tide_ahead_group(op->queue);
  struct needs needs;
  if (hardware->queue_count < 2) return false;
  collect_needs(op, &needs);
  reduce_needs(hardware, &needs);
  for (uint32_t slot = 0; slot < TIDE_HARDWARE_QUEUES_MAX; slot++)
    if (slot != hardware->slot && needs.numbers[slot] &&
        needs.numbers[slot] > group->queues[slot]->over)
      return true;
  return false;
}

static void see(uint64_t *seen, uint32_t slot, uint64_t number) {
  if (number > seen[slot]) seen[slot] = number;
}

/* Adds a wait for a submission, and all that it has seen. The other device stays open until this
 * submission is over. */
static void add_wait(struct tide_out *out, const struct needs *needs, uint32_t slot) {
  const struct tide_out *awaited = needs->outs[slot];
  struct tide_device *device = tide_ahead_group(out->op->queue)->queues[slot]->device;
  if (device != out->op->queue->device) tide_fetch_add(&device->users, 1u);
  out->waits[slot] = needs->numbers[slot];
  see(out->seen, slot, needs->numbers[slot]);
  for (uint32_t other = 0; awaited && other < TIDE_HARDWARE_QUEUES_MAX; other++)
    see(out->seen, other, awaited->seen[other]);
}

/* A barrier waits for all before it; a wait that is reached, for nothing. */
static void add_barrier(struct tide_out *out, uint32_t slot) {
  out->barrier = true;
  see(out->seen, slot, out->number - 1);
}

/* ---- events ------------------------------------------------------------------------- */

/* Returns the means by which a wait is kept. `needs` is not reduced. */
static enum tide_primitive primitive_for(const struct tide_op *op, const struct tide_out *awaited,
                                         const struct needs *needs) {
  const struct tide_hardware_queue *hardware = op->queue->ahead->hardware;
  if (!awaited) return TIDE_PRIMITIVE_HOST;
  uint32_t slot = slot_of(awaited);
  if (awaited->number <= tide_ahead_group(op->queue)->queues[slot]->over)
    return TIDE_PRIMITIVE_REACHED;
  if (awaited->number <= hardware->seen[slot] || awaited->number < needs->numbers[slot] ||
      is_implied(needs, slot))
    return TIDE_PRIMITIVE_IMPLIED;
  return slot == hardware->slot ? TIDE_PRIMITIVE_BARRIER : TIDE_PRIMITIVE_NATIVE_WAIT;
}

static bool emit_kept(struct tide_op *op, const struct tide_dependency *on, void *user) {
  const struct tide_out *awaited = awaited_out(op, on);
  struct tide_event event = {
      .detail = primitive_for(op, awaited, user) | (on->wait ? 0 : TIDE_KEPT_GAP),
      .value = on->wait ? on->wait->value : tide_buffer_size(on->buffer),
      .object = on->wait ? (const void *)on->wait->timeline : on->buffer,
      .object_label = on->wait ? on->wait->timeline->label : tide_buffer_label(on->buffer),
      .cause_axis = on->axis,
      .cause_epoch = on->epoch,
      .cause_value = awaited ? awaited->number : 0};
  tide_sched_emit(op->queue->sched, TIDE_EVENT_KEPT, op, &event);
  return true;
}

/* ---- giving ------------------------------------------------------------------------- */

void tide_ahead_give(struct tide_op *op) {
  struct tide_queue *queue = op->queue;
  struct tide_context_stats *stats = &queue->sched->stats;
  struct tide_hardware_queue *hardware = queue->ahead->hardware;
  struct tide_out *out = tide_ahead_out(queue, op->work.epoch);
  struct needs needs;
  *out = (struct tide_out){.op = op, .number = ++hardware->given};
  hardware->busy++;
  queue->device->ahead->turn = hardware->index + 1;
  tide_ahead_await_room(queue);
  collect_needs(op, &needs);
  stats->waits_by_device += needs.by_device;
  if (queue->traced) (void)tide_ahead_each_dependency(op, &needs, emit_kept);
  reduce_needs(hardware, &needs);
  for (uint32_t slot = 0; slot < TIDE_HARDWARE_QUEUES_MAX; slot++) {
    if (!needs.numbers[slot]) continue;
    bool is_over = needs.numbers[slot] <= tide_ahead_group(queue)->queues[slot]->over;
    bool is_barrier = slot == hardware->slot && !is_over;
    if (is_barrier) add_barrier(out, slot);
    else add_wait(out, &needs, slot);
    stats->barriers += is_barrier;
    stats->native_waits += !is_barrier && !is_over;
    stats->reached_waits += is_over;
  }
}

void tide_work_submission(const struct tide_work *work, struct tide_submission *out_submission) {
  const struct tide_op *op = TIDE_CONTAINER(work, struct tide_op, work);
  const struct tide_queue *queue = op->queue;
  const struct tide_out *out = tide_ahead_out(queue, work->epoch);
  const struct tide_hardware_queue *hardware = queue->ahead->hardware;
  *out_submission = (struct tide_submission){.hardware_queue = hardware->index,
                                             .number = out->number - hardware->base,
                                             .barrier = out->barrier};
  for (uint32_t slot = 0; slot < TIDE_HARDWARE_QUEUES_MAX; slot++) {
    if (!out->waits[slot]) continue;
    const struct tide_hardware_queue *other = tide_ahead_group(queue)->queues[slot];
    out_submission->waits[out_submission->wait_count++] =
        (struct tide_native_wait){other->device, other->index, out->waits[slot] - other->base};
  }
}

/* ---- out, or refused ------------------------------------------------------------------- */

static void mark_out(struct tide_op *op) {
  struct tide_hardware_queue *hardware = op->queue->ahead->hardware;
  struct tide_out *out = tide_ahead_out(op->queue, op->work.epoch);
  op->state = TIDE_OP_OUT;
  out->is_out = true;
  out->failed = op->status != TIDE_OK;
  op->queue->ahead->newest = out->number;
  if (tide_ahead_waits_inside(op) && hardware->inside <= hardware->over)
    hardware->inside = out->number;
  op->queue->ahead->skipped = false;
  TIDE_ASSERT(tide_list_empty(&hardware->out) ||
              TIDE_CONTAINER(hardware->out.prev, struct tide_out, link)->number < out->number);
  tide_list_push_back(&hardware->out, &out->link);
  bool waits = false; /* for another hardware queue: others there need not any more */
  for (uint32_t slot = 0; slot < TIDE_HARDWARE_QUEUES_MAX; slot++) {
    waits |= slot != hardware->slot && out->seen[slot] > hardware->seen[slot];
    see(hardware->seen, slot, out->seen[slot]);
    out->seen[slot] = hardware->seen[slot];
  }
  out->seen[hardware->slot] = out->number;
  if (waits) tide_arbiter_requeue_holding_back(&hardware->ready);
  struct tide_event event = {.detail = hardware->index, .value = out->number - hardware->base};
  tide_sched_emit(op->queue->sched, TIDE_EVENT_OUT, op, &event);
  if (op->status) tide_channel_failed(op);
  if (!hardware->listening) tide_sched_listen(op->queue->sched);
  tide_ahead_end_reported(hardware);
}

/* The operation fails; it is skipped when all before it is published. */
static void refuse(struct tide_op *op, enum tide_status status) {
  struct tide_queue *queue = op->queue;
  struct tide_out *out = tide_ahead_out(queue, op->work.epoch);
  tide_ahead_drop_waits(out);
  out->op = NULL;
  tide_ahead_leave_hardware(queue->ahead->hardware, 1);
  op->state = TIDE_OP_ENTERED;
  op->work.status = TIDE_OK;
  queue->next_start = op->work.epoch;
  tide_op_fail(op, status, NULL);
  tide_op_give_up_waits(op);
}

void tide_ahead_commit(struct tide_op *op, enum tide_status status) {
  if (status == TIDE_OK) mark_out(op);
  else refuse(op, status);
  tide_sched_look(op->queue);
  tide_ahead_wake_waiters(op->queue);
}
