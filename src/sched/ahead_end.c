/* The ends of submissions: reported, of a lost device, awaited. */
#include "sched/ahead_parts.h"
#include "sched/arbiter.h"

/* ---- the end ----------------------------------------------------------------------------- */

void tide_ahead_leave_hardware(struct tide_hardware_queue *hardware, uint32_t count) {
  struct tide_device *device = hardware->device;
  bool was_full = !tide_hardware_has_room(hardware);
  hardware->busy -= count;
  bool has_more = was_full && count && hardware->ready.count;
  if (has_more && !device->exchanging && !device->sched->paused) tide_device_kick(device);
}

void tide_ahead_drop_waits(struct tide_out *out) {
  struct tide_queue *queue = out->op->queue;
  const struct tide_platform *platform = tide_sched_platform(queue->sched);
  for (uint32_t slot = 0; slot < TIDE_HARDWARE_QUEUES_MAX; slot++) {
    if (!out->waits[slot]) continue;
    struct tide_device *device = tide_ahead_group(queue)->queues[slot]->device;
    out->waits[slot] = 0;
    if (device != queue->device && tide_fetch_sub(&device->users, 1u) == 1)
      platform->wake(platform->self, &device->users, UINT32_MAX);
  }
}

/* Submissions of a device of the group are over. An operation that would have held back others may
 * do so no more. */
static void requeue_holding_back(const struct tide_device_group *group) {
  for (uint32_t slot = 0; slot < TIDE_HARDWARE_QUEUES_MAX; slot++) {
    struct tide_hardware_queue *hardware = group->queues[slot];
    if (!hardware) continue;
    tide_arbiter_requeue_holding_back(&hardware->ready);
  }
}

/* A body that waits inside is over: operations may go out behind it. */
static void look_at_queues(const struct tide_device_group *group) {
  for (uint32_t slot = 0; slot < TIDE_HARDWARE_QUEUES_MAX; slot++) {
    const struct tide_hardware_queue *hardware = group->queues[slot];
    if (!hardware) continue;
    const struct tide_link *queues = &hardware->device->queues;
    for (struct tide_link *at = queues->next; at != queues; at = at->next) {
      struct tide_queue *queue = TIDE_CONTAINER(at, struct tide_queue, in_device);
      if (queue->ahead->hardware == hardware) tide_sched_look(queue);
    }
  }
}

static void find_inside(struct tide_hardware_queue *hardware) {
  for (struct tide_link *at = hardware->out.next; at != &hardware->out; at = at->next) {
    const struct tide_out *out = TIDE_CONTAINER(at, struct tide_out, link);
    if (!tide_ahead_waits_inside(out->op)) continue;
    hardware->inside = out->number;
    return;
  }
}

void tide_ahead_end_reported(struct tide_hardware_queue *hardware) {
  uint32_t count = 0;
  bool was_inside = hardware->inside > hardware->over;
  while (!hardware->device->lost && !tide_list_empty(&hardware->out)) {
    struct tide_out *out = TIDE_CONTAINER(hardware->out.next, struct tide_out, link);
    if (out->number > hardware->reported) break;
    tide_list_remove(&out->link);
    tide_ahead_drop_waits(out);
    hardware->over = out->number;
    out->op->state = TIDE_OP_DONE;
    tide_sched_look(out->op->queue);
    count++;
  }
  tide_ahead_leave_hardware(hardware, count);
  bool is_inside_over = was_inside && hardware->inside <= hardware->over;
  if (is_inside_over) find_inside(hardware);
  if (count) requeue_holding_back(hardware->device->ahead->group);
  if (is_inside_over) look_at_queues(hardware->device->ahead->group);
}

/* A listening thread may report an end before the submitting thread returns the work. */
void tide_device_over(struct tide_device *device, uint32_t hardware_queue, uint64_t number) {
  struct tide_sched *sched = device->sched;
  TIDE_ASSERT(device->ahead && hardware_queue < device->ahead->count);
  struct tide_hardware_queue *hardware = &device->ahead->queues[hardware_queue];
  tide_sched_enter(sched);
  /* A lost device's native timeline may say anything. */
  if (number <= hardware->given - hardware->base && number + hardware->base > hardware->reported)
    hardware->reported = number + hardware->base;
  tide_ahead_end_reported(hardware);
  tide_sched_leave(sched);
}

bool tide_ahead_may_publish(struct tide_op *op) { return tide_op_may_start(op); }

/* Releases the submissions of a lost device up to the first one that is not published. */
static void release_published(struct tide_hardware_queue *hardware) {
  uint64_t release = hardware->given;
  if (!hardware->device->certified) return;
  if (!tide_list_empty(&hardware->out))
    release = TIDE_CONTAINER(hardware->out.next, struct tide_out, link)->number - 1;
  if (release <= hardware->release) return;
  hardware->release = release;
  tide_device_call(hardware->device);
}

bool tide_ahead_was_given(const struct tide_op *op) {
  return tide_ahead_out(op->queue, op->work.epoch)->op == op;
}

void tide_ahead_published(struct tide_op *op) {
  struct tide_queue *queue = op->queue;
  uint64_t epoch = op->work.epoch;
  struct tide_out *out = tide_ahead_out(queue, epoch);
  bool was_given = tide_ahead_was_given(op);
  if (!was_given) queue->ahead->skipped = true;
  else if (!queue->device->lost) queue->sched->stats.ran_in_vain += op->status && !out->failed;
  if (was_given && queue->device->lost) {
    struct tide_hardware_queue *hardware = queue->ahead->hardware;
    if (out->is_out && out->number > hardware->over) tide_list_remove(&out->link);
    release_published(hardware);
  }
  out->op = NULL;
  tide_ahead_wake_waiters(queue);
}

void tide_ahead_end_submissions(struct tide_queue *queue) {
  for (uint64_t e = queue->published + 1; e <= queue->position.epoch; e++) {
    struct tide_op *op = tide_queue_op(queue, e);
    if (!op || (op->state != TIDE_OP_RUNNING && op->state != TIDE_OP_OUT)) continue;
    tide_ahead_drop_waits(tide_ahead_out(queue, e));
    op->state = TIDE_OP_DONE;
  }
  release_published(queue->ahead->hardware);
}

void tide_ahead_call_release(struct tide_device *device) {
  const struct tide_backend *backend = device->backend;
  for (uint32_t i = 0; backend->release && i < device->ahead->count; i++) {
    struct tide_hardware_queue *hardware = &device->ahead->queues[i];
    tide_lock_take(device->sched->lock, tide_sched_platform(device->sched));
    uint64_t number = hardware->release - hardware->base;
    bool is_due = hardware->release > hardware->released;
    hardware->released = hardware->release;
    tide_lock_give(device->sched->lock);
    if (is_due) backend->release(backend->self, i, number);
  }
}

/* ---- which end is listened for ------------------------------------------------------------- */

/* True if the end of this operation wakes a waiter. */
static bool is_awaited(const struct tide_op *op) {
  const struct tide_queue *queue = op->queue;
  if (tide_counter_least(&queue->progress->reached) <= op->work.epoch) return true;
  if (tide_load_acquire(&queue->tracked->least) <= op->work.epoch) return true;
  for (const struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next) {
    const struct tide_timeline *timeline = signal->record.timeline;
    if (timeline->is_backed || tide_counter_least(&timeline->reached) <= signal->record.node.key)
      return true;
  }
  return op->points || op->told || op->part; /* a collective has waiters of its own */
}

/* Returns the middle one of the submissions that are out: at least one is. */
static uint64_t middle_out(const struct tide_hardware_queue *hardware) {
  const struct tide_link *at = hardware->out.next;
  for (uint32_t i = 1; at->next != &hardware->out && 2 * i < hardware->busy; i++) at = at->next;
  return TIDE_CONTAINER(at, struct tide_out, link)->number;
}

static uint64_t out_count(const struct tide_queue *queue) {
  return queue->next_start - 1 - queue->published;
}

/* True if the queue's next operation is kept until its last submission is over. */
static bool is_next_kept(const struct tide_queue *queue) {
  bool has_more = queue->next_start <= queue->position.epoch;
  return has_more && out_count(queue) &&
         tide_ahead_is_kept(tide_queue_op(queue, queue->next_start));
}

/* Returns the queue's last submission; UINT64_MAX: it is over, or will only be out. */
static uint64_t last_out(const struct tide_queue *queue) {
  const struct tide_ahead *ahead = queue->ahead;
  bool is_given = tide_queue_op(queue, queue->next_start - 1)->state == TIDE_OP_RUNNING;
  return is_given || ahead->newest <= ahead->hardware->over ? UINT64_MAX : ahead->newest;
}

/* True if the queue has more operations than its window, or a thread waits for its storage. */
static bool awaits_half(const struct tide_queue *queue) {
  bool has_more = queue->next_start <= queue->position.epoch;
  return queue->parked || (has_more && out_count(queue) >= queue->ahead->window);
}

/* True if the next submission may wait inside: for a host that polls, perhaps, until it sees this
 * end. */
static bool is_before_inside(const struct tide_hardware_queue *hardware,
                             const struct tide_out *out) {
  const struct tide_link *next = out->link.next;
  return next != &hardware->out &&
         tide_ahead_waits_inside(TIDE_CONTAINER(next, struct tide_out, link)->op);
}

static uint64_t awaited_by_waiters(const struct tide_hardware_queue *hardware) {
  uint64_t least = UINT64_MAX;
  for (struct tide_link *at = hardware->out.next; at != &hardware->out; at = at->next) {
    const struct tide_out *out = TIDE_CONTAINER(at, struct tide_out, link);
    least = out->number; /* the newest, if no waiter awaits an earlier one */
    if (is_awaited(out->op) || is_before_inside(hardware, out)) break;
  }
  return least;
}

static uint64_t least_of(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Returns the submission whose end some queue needs to go on: half of a full window, or the last
 * one before an operation that is kept until then. UINT64_MAX: none. */
static uint64_t awaited_by_queues(const struct tide_hardware_queue *hardware) {
  const struct tide_link *queues = &hardware->device->queues;
  uint64_t least = UINT64_MAX;
  bool half = hardware->ready.count && !tide_hardware_has_room(hardware);
  for (struct tide_link *at = queues->next; at != queues; at = at->next) {
    const struct tide_queue *queue = TIDE_CONTAINER(at, struct tide_queue, in_device);
    if (queue->ahead->hardware != hardware) continue;
    if (!is_next_kept(queue)) half |= awaits_half(queue);
    else least = least_of(least, last_out(queue));
  }
  return half ? least_of(least, middle_out(hardware)) : least;
}

static uint64_t awaited_of(const struct tide_hardware_queue *hardware) {
  if (hardware->device->lost || tide_list_empty(&hardware->out)) return 0;
  return least_of(awaited_by_waiters(hardware), awaited_by_queues(hardware));
}

uint64_t tide_device_awaited(struct tide_device *device, uint32_t hardware_queue) {
  struct tide_sched *sched = device->sched;
  TIDE_ASSERT(device->ahead && hardware_queue < device->ahead->count);
  struct tide_hardware_queue *hardware = &device->ahead->queues[hardware_queue];
  tide_sched_enter(sched);
  hardware->listening = awaited_of(hardware);
  uint64_t number = hardware->listening ? hardware->listening - hardware->base : 0;
  tide_sched_leave(sched);
  return number;
}

void tide_ahead_listen(struct tide_sched *sched) {
  sched->listen = false;
  for (struct tide_link *at = sched->devices.next; at != &sched->devices; at = at->next) {
    struct tide_device *device = TIDE_CONTAINER(at, struct tide_device, in_sched);
    for (uint32_t i = 0; device->ahead && i < device->ahead->count; i++) {
      const struct tide_hardware_queue *hardware = &device->ahead->queues[i];
      uint64_t number = awaited_of(hardware);
      if (number && (!hardware->listening || number < hardware->listening))
        tide_device_call(device);
    }
  }
}

void tide_ahead_listen_elsewhere(struct tide_sched *sched) {
  for (struct tide_link *at = sched->devices.next; at != &sched->devices; at = at->next) {
    struct tide_device *device = TIDE_CONTAINER(at, struct tide_device, in_sched);
    for (uint32_t i = 0; device->ahead && i < device->ahead->count; i++) {
      const struct tide_hardware_queue *hardware = &device->ahead->queues[i];
      bool was_last = hardware->listening && hardware->listening <= hardware->over;
      if (was_last && !tide_list_empty(&hardware->out)) tide_device_call(device);
    }
  }
}

void tide_ahead_hear_waiter(struct tide_context *context) {
  struct tide_sched *sched = context->sched;
  tide_sched_enter(sched);
  sched->listen = sched->calls = true;
  tide_sched_leave(sched);
}
