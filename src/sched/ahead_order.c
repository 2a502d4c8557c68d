/* Devices that run ahead: whether an operation may go out. */
#include "sched/ahead_parts.h"
#include "sched/arbiter.h"
#include "sched/channel_state.h"

/* How an epoch is awaited. */
enum keep {
  KEEP_NATIVE, /* the submission is out or over */
  KEEP_SOON,   /* will be out: entered or given */
  KEEP_HOST    /* by the host */
};

/* An operation that is known to fail is settled by the host, as is all that no device of the group
 * will submit. */
static enum keep judge_epoch(const struct tide_queue *queue, tide_axis axis, uint64_t epoch,
                             struct tide_queue **out_owner) {
  struct tide_queue *owner = tide_ahead_peer(queue, axis);
  *out_owner = owner;
  if (!owner || owner->device->lost) return KEEP_HOST;
  if (epoch <= owner->published) return KEEP_NATIVE;
  const struct tide_op *op = tide_queue_op(owner, epoch);
  const struct tide_hardware_queue *hardware = owner->ahead->hardware;
  if (op->status) return KEEP_HOST;
  /* The signal of a submission comes after all before it. One that waits inside may need an
   * operation behind this one: a native wait would hold that back. */
  if (op->state == TIDE_OP_OUT && hardware != queue->ahead->hardware &&
      hardware->inside > hardware->over && tide_ahead_out(owner, epoch)->number >= hardware->inside)
    return KEEP_HOST;
  return op->state >= TIDE_OP_OUT ? KEEP_NATIVE : KEEP_SOON;
}

/* Retries the queue when `owner` has submitted its next operation. One such queue at a time is
 * enough. */
static void await_submit(struct tide_queue *queue, struct tide_queue *owner) {
  if (!queue->ahead->waiting.next)
    tide_list_push_back(&owner->ahead->waiters, &queue->ahead->waiting);
}
void tide_ahead_stop_awaiting(struct tide_queue *queue) {
  if (queue->ahead->waiting.next) tide_list_remove(&queue->ahead->waiting);
  queue->ahead->waiting.next = NULL;
}
void tide_ahead_wake_waiters(struct tide_queue *owner) {
  struct tide_link *all = &owner->ahead->waiters;
  while (!tide_list_empty(all)) {
    struct tide_ahead *ahead = TIDE_CONTAINER(all->next, struct tide_ahead, waiting);
    tide_ahead_stop_awaiting(ahead->queue);
    tide_sched_look(ahead->queue);
  }
}

bool tide_ahead_awaits_submit(const struct tide_op *op, const struct tide_op_wait *wait) {
  struct tide_queue *owner;
  return wait->class_ == TIDE_WAIT_ISSUED && !wait->open && !wait->point &&
         judge_epoch(op->queue, wait->axis, wait->epoch, &owner) == KEEP_SOON;
}

/* True for an open wait. If a point broke early, despite which the operation goes on, the signaller
 * must have finished, too. */
static bool is_over(struct tide_op *op, struct tide_op_wait *wait) {
  if (!wait->finish) return true;
  if (op->finishing || !tide_op_await_finish(op, wait->axis, wait->epoch)) return false;
  wait->finish = false;
  return true;
}

/* True if the end is kept by the device, or the host has seen it. Else an event marks the queue
 * dirty. */
static bool dependency_may_go(struct tide_op *op, const struct tide_dependency *on, void *user) {
  struct tide_queue *owner;
  (void)user;
  if (on->wait && on->wait->open) return is_over(op, on->wait);
  switch (judge_epoch(op->queue, on->axis, on->epoch, &owner)) {
    case KEEP_NATIVE: return true;
    case KEEP_SOON: await_submit(op->queue, owner); return false;
    case KEEP_HOST: break;
  }
  if (!on->wait) return !op->finishing && tide_op_await_finish(op, on->axis, on->epoch);
  tide_wait_arm(op, on->wait);
  return on->wait->open;
}

/* Fails the operation if a record that it waits for, or that was elided, has failed already. */
static void check_failed(struct tide_op *op) {
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    struct tide_timeline *timeline = wait->timeline;
    bool looked_at = wait->class_ == TIDE_WAIT_ELIDED || wait->class_ == TIDE_WAIT_ISSUED;
    if (!looked_at || wait->point || timeline->reached.value >= wait->value) continue;
    if (!tide_timeline_has_failed(timeline, tide_wait_awaited(op, wait))) continue;
    tide_op_fail(op, tide_timeline_status(timeline), tide_timeline_cause_locked(timeline));
  }
  if (op->status) tide_op_give_up_waits(op);
}

bool tide_ahead_waits_inside(const struct tide_op *op) {
  const struct tide_body_class *body = op->work.body;
  return op->part || (body && body->waits_inside);
}

bool tide_ahead_is_kept(const struct tide_op *op) {
  return op->queue->device->backend->keep_on_host || op->status || op->asks ||
         op->flags & TIDE_RECOVER || op->foreign || tide_ahead_waits_inside(op);
}

/* Has the backend listen for a submission, unless it listens for an earlier one. */
static void listen_for(const struct tide_hardware_queue *hardware, uint64_t number) {
  if (!hardware->listening || number < hardware->listening)
    tide_sched_listen(hardware->device->sched);
}

/* A full window waits for half of the submissions, so that it does not wake a thread for each.
 * Their numbers may have gaps: this is the lowest that the middle one can have. */
static void listen_for_half(const struct tide_hardware_queue *hardware) {
  listen_for(hardware, hardware->over + (hardware->busy + 1) / 2);
}

static bool has_own_room(const struct tide_queue *queue) {
  return queue->next_start - 1 - queue->published < queue->ahead->window;
}

bool tide_hardware_has_room(const struct tide_hardware_queue *hardware) {
  return hardware->busy < hardware->device->backend->ahead;
}

void tide_ahead_await_room(const struct tide_queue *queue) {
  const struct tide_hardware_queue *hardware = queue->ahead->hardware;
  bool has_more = queue->next_start <= queue->position.epoch && !has_own_room(queue);
  bool has_ready = hardware->ready.count && !tide_hardware_has_room(hardware);
  if (has_more || has_ready) listen_for_half(hardware);
}

struct tide_queue *tide_ahead_next(const struct tide_device *device) {
  const struct tide_ahead_device *part = device->ahead;
  for (uint32_t i = 0; i < part->count; i++) {
    const struct tide_hardware_queue *hardware = &part->queues[(part->turn + i) % part->count];
    if (!tide_hardware_has_room(hardware)) continue;
    if (hardware->ready.count) return tide_arbiter_choose(&hardware->ready);
  }
  return NULL;
}

bool tide_ahead_may_go(struct tide_op *op) {
  struct tide_queue *queue = op->queue;
  uint64_t before = op->work.epoch - 1;
  tide_ahead_stop_awaiting(queue);
  if (!op->status) check_failed(op);
  if (tide_ahead_is_kept(op)) {
    if (queue->published != before) {
      listen_for(queue->ahead->hardware, queue->ahead->newest);
      return false;
    }
    return tide_op_may_start(op);
  }
  if (!has_own_room(queue)) {
    tide_ahead_await_room(queue);
    return false;
  }
  if (before > queue->published && tide_queue_op(queue, before)->state < TIDE_OP_OUT) return false;
  bool may_go = tide_ahead_each_dependency(op, NULL, dependency_may_go);
  if (op->status) tide_sched_look(queue); /* a dependency has failed: it is skipped at its place */
  return may_go && !op->status;
}
