/* Queues: creation, with all storage; destruction; cancellation, draining and queries. */
#include "base/body_frame.h"
#include "base/params.h"
#include "base/alloc.h"
#include "causal/tracker.h"
#include "sched/arbiter.h"
#include "sched/channel_state.h"

/* ---- the progress timeline's records are the queue's own ---------------------- */

static bool find_record(void *self, uint64_t value, struct tide_record_view *out_view) {
  struct tide_queue *queue = self;
  uint64_t epoch;
  if (!queue) return false; /* the queue is gone: all has finished, and no record is left */
  if (!tide_queue_find(queue, value, &epoch)) return false;
  *out_view = (struct tide_record_view){.value = epoch,
                                        .axis = queue->position.axis,
                                        .epoch = epoch,
                                        .frontier = tide_queue_record(queue, epoch),
                                        .reached = value <= queue->published,
                                        .coarse = epoch != value};
  return true;
}

const struct tide_value_ops tide_queue_backing = {.kind = "queue",
                                                  .find = find_record,
                                                  .denied = TIDE_SCOPE,
                                                  .signaller = "its queue",
                                                  .is_followable = true};

const char tide_no_label[sizeof(struct tide_op_label)];

tide_axis tide_work_axis(const struct tide_work *work) {
  return TIDE_CONTAINER(work, struct tide_op, work)->queue->position.axis;
}
const char *tide_work_label(const struct tide_work *work) {
  return tide_op_label(TIDE_CONTAINER(work, struct tide_op, work));
}

/* ---- making --------------------------------------------------------------------- */

void tide_queue_free_storage(struct tide_queue *queue) {
  const struct tide_allocator *a = queue->sched->context->allocator;
  tide_queue_free_channel(queue);
  tide_ahead_free_queue(queue);
  tide_timeline_release(queue->progress);
  tide_queue_free_stores(queue);
  tide_free(a, queue, 1, sizeof *queue);
}

static enum tide_status register_axis(struct tide_queue *queue) {
  struct tide_context *context = queue->sched->context;
  enum tide_domain domain = queue->device->backend->domain;
  if (!domain) domain = TIDE_DOMAIN_QUEUE;
  enum tide_status status = tide_lease_take(context->lease, domain, &queue->position.axis);
  if (status != TIDE_OK) return status;
  status = tide_tracker_register(context->tracker, queue->position.axis);
  if (status != TIDE_OK) {
    tide_lease_return(context->lease, queue->position.axis);
    return status;
  }
  queue->tracked = tide_tracker_find(context->tracker, queue->position.axis);
  tide_tracker_set_names(queue->tracked);
  tide_tracker_set_owner(queue->tracked, queue->sched, queue);
  return TIDE_OK;
}

#define MOST (1u << 26) /* limit of each capacity of a queue */

static bool take_params(struct tide_queue *queue, const struct tide_queue_params *params) {
  uint32_t operations = params->operations ? params->operations : 256;
  if (operations > MOST || params->waits > MOST || params->signals > MOST ||
      params->buffers > MOST || params->priority >= TIDE_PRIORITY_LEVELS)
    return false;
  queue->capacity = (struct tide_capacity){
      .ops = operations,
      .waits = params->waits ? params->waits : 4 * operations,
      .signals = params->signals ? params->signals : 2 * operations,
      .uses = params->buffers ? params->buffers : 4 * operations,
  };
  queue->grows =
      !(params->operations | params->waits | params->signals | params->buffers) && !params->client;
  tide_queue_open_priority(queue, params->priority ? params->priority : TIDE_PRIORITY_DEFAULT);
  return true;
}

enum tide_status tide_queue_create(struct tide_device *device,
                                   const struct tide_queue_params *params,
                                   struct tide_queue **out_queue) {
  struct tide_queue_params own;
  enum tide_status known = tide_params_copy(&own, sizeof own, params);
  if (known != TIDE_OK) return known;
  params = &own;
  struct tide_sched *sched = device->sched;
  struct tide_context *context = sched->context;
  struct tide_queue *queue = tide_alloc(context->allocator, 1, sizeof *queue);
  if (!queue) return TIDE_NOMEM;
  queue->sched = sched;
  queue->device = device;
  queue->ready_in = &device->ready;
  queue->in_order = device->backend->in_order;
  queue->serial = queue->in_order && !device->ahead;
  queue->traced = context->sink || sched->checker;
  queue->next_start = 1;
  tide_list_init(&queue->held);
  tide_list_init(&queue->memberships);
  enum tide_status status = take_params(queue, params) ? TIDE_OK : TIDE_INVALID;
  if (status == TIDE_OK) status = tide_queue_make_storage(queue);
  if (status == TIDE_OK) {
    status = tide_timeline_create_progress(context, params->label, &tide_queue_backing, queue,
                                           &queue->progress);
  }
  if (status == TIDE_OK) memcpy(queue->label, queue->progress->label, sizeof queue->label);
  if (status == TIDE_OK) status = tide_ahead_open_queue(queue, params->hardware_queue);
  if (status == TIDE_OK) status = register_axis(queue);
  if (status == TIDE_OK) status = tide_queue_open_channel(queue, params);
  if (status != TIDE_OK) {
    /* The tracker names this queue as the axis's owner. */
    if (queue->tracked) (void)tide_tracker_close(context->tracker, queue->position.axis);
    tide_queue_free_storage(queue);
    return status;
  }
  tide_sched_enter(sched);
  status = device->lost;
  if (status == TIDE_OK) {
    tide_list_push_back(&device->queues, &queue->in_device);
    tide_fetch_add(&device->users, 1u);
    if (queue->effective != TIDE_PRIORITY_DEFAULT) tide_sched_prioritise(sched);
  } else if (queue->channel) {
    tide_queue_close_channel(queue, status);
  }
  tide_sched_leave(sched);
  if (status != TIDE_OK) {
    (void)tide_tracker_close(context->tracker, queue->position.axis);
    tide_queue_free_storage(queue);
    return status;
  }
  *out_queue = queue;
  return TIDE_OK;
}

/* ---- the end ----------------------------------------------------------------------- */

void tide_queue_leave_held(struct tide_queue *queue, enum tide_status status) {
  struct tide_link *link;
  /* Last one first: it has no successors that would inherit its dependencies. */
  while ((link = queue->held.prev) != &queue->held) tide_op_leave(tide_op_of_link(link), status);
}

/* Waits without an import need not delay an operation that will not run. Of a foreign value, which
 * may come late, the signaller's end is enough. */
void tide_op_give_up_waits(struct tide_op *op) {
  for (struct tide_op_wait *wait = tide_op_waits(op); wait && op->unmet;
       wait = tide_wait_next(op, wait)) {
    bool is_awaited = wait->class_ == TIDE_WAIT_ISSUED || wait->heap != TIDE_HEAP_NONE;
    const struct tide_value_ops *ops = wait->timeline->ops;
    bool is_kept = wait->axis && !(ops && ops->is_foreign); /* it lends its priority until then */
    if (!is_awaited || is_kept || wait->open || !tide_wait_forget(op, wait)) continue;
    wait->open = true;
    wait->finish = wait->axis != 0;
    op->unmet--;
  }
}

void tide_op_cancel(struct tide_op *op, enum tide_status status) {
  if (op->state != TIDE_OP_ENTERED) return;
  tide_op_fail(op, status, NULL);
  if (tide_op_is_ready(op)) tide_arbiter_remove(op->queue); /* skipped without being picked */
  tide_op_give_up_waits(op);
  if (op->part) tide_instance_fail(op);
  tide_sched_look(op->queue);
}

void tide_op_withdraw(struct tide_op *op) {
  if (op->state == TIDE_OP_ENTERED && !op->status) op->withdrawn = true;
  tide_op_cancel(op, TIDE_CANCELLED);
}

void tide_op_fail_early(struct tide_op *op, enum tide_status status) {
  tide_op_fail(op, status, NULL);
  if (op->points) tide_op_points_fail(op);
  for (struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next)
    tide_op_break_signal(op, signal);
}

/* Asks the backend to cancel a running operation. True if the backend can: then it returns the
 * operation when it has cancelled it. */
static bool cancel_running(struct tide_op *op) {
  struct tide_device *device = op->queue->device;
  if (op->state != TIDE_OP_RUNNING || !device->backend->cancel || device->lost || device->ahead)
    return false;
  tide_op_fail_early(op, TIDE_CANCELLED);
  tide_device_call_cancel(device);
  return true;
}

bool tide_work_is_cancelled(const struct tide_work *work) {
  const struct tide_op *op = TIDE_CONTAINER(work, struct tide_op, work);
  const struct tide_sched *sched = op->queue->sched;
  tide_lock_take(sched->lock, tide_sched_platform(sched));
  bool cancelled = op->status != TIDE_OK;
  tide_lock_give(sched->lock);
  return cancelled;
}

void tide_queue_destroy_locked(struct tide_queue *queue) {
  queue->closing = true;
  if (queue->channel) tide_queue_close_channel(queue, TIDE_CANCELLED);
  tide_queue_leave_held(queue, TIDE_CANCELLED);
  for (uint64_t e = queue->published + 1; e <= queue->position.epoch; e++) {
    struct tide_op *op = tide_queue_op(queue, e);
    if (op && !cancel_running(op)) tide_op_cancel(op, TIDE_CANCELLED);
  }
  if (queue->members) tide_collectives_lose(queue, TIDE_CANCELLED);
  tide_queue_notify_waiters(queue);
  tide_sched_look(queue);
}

void tide_queue_destroy(struct tide_queue *queue) {
  if (!queue) return;
  struct tide_sched *sched = queue->sched;
  tide_sched_enter(sched);
  tide_queue_destroy_locked(queue);
  tide_sched_leave(sched);
}

void tide_queue_close_if_over(struct tide_queue *queue) {
  struct tide_sched *sched = queue->sched;
  if (queue->look) return; /* marked dirty: checked again when it is settled */
  if (!queue->closing || queue->published < queue->position.epoch || queue->in_flight ||
      queue->waiters || queue->members || !tide_list_empty(&queue->held) || !queue->tracked)
    return;
  if (queue->device->lost && !queue->device->certified) return;
  if (queue->channel && queue->channel->cancel.state != TIDE_NODE_IDLE) return;
  if (queue->ahead) tide_ahead_close_queue(queue);
  tide_tracker_close_collect(sched->context->tracker, queue->tracked, &sched->fired);
  queue->tracked = NULL;
  tide_queue_end_priority(queue);
  tide_timeline_fail_locked(queue->progress, 0, TIDE_CANCELLED, NULL, &sched->fired);
  queue->progress->backing = NULL; /* the timeline may outlive the queue */
  tide_list_remove(&queue->in_device);
  tide_queue_count_frontiers(queue);
  queue->look = true; /* never marked dirty again */
  queue->next = NULL;
  *sched->gone_end = queue;
  sched->gone_end = &queue->next;
  sched->calls = true;
}

enum tide_status tide_queue_cancel(struct tide_queue *queue, uint64_t sequence) {
  struct tide_sched *sched = queue->sched;
  enum tide_status status = TIDE_NOT_FOUND;
  tide_sched_enter(sched);
  for (struct tide_link *at = queue->held.next; at != &queue->held; at = at->next) {
    struct tide_op *op = tide_op_of_link(at);
    if (tide_op_sequence(op) != sequence) continue;
    tide_op_leave(op, TIDE_CANCELLED);
    status = TIDE_OK;
    break;
  }
  for (uint64_t e = queue->published + 1; status == TIDE_NOT_FOUND && e <= queue->position.epoch;
       e++) {
    struct tide_op *op = tide_queue_op(queue, e);
    if (!op || tide_op_sequence(op) != sequence) continue;
    if (op->state == TIDE_OP_DONE) break;
    if (op->state == TIDE_OP_ENTERED) {
      tide_op_withdraw(op);
      status = TIDE_OK;
    } else {
      bool is_first = !op->status;
      status = cancel_running(op) ? TIDE_OK : TIDE_BUSY;
      if (status == TIDE_OK && is_first) op->withdrawn = true;
    }
  }
  tide_sched_leave(sched);
  return status;
}

/* ---- waiting for the queue: draining, and for capacity ---------------------------------- */

void tide_queue_wake_parked(struct tide_queue *queue) {
  const struct tide_platform *platform = tide_sched_platform(queue->sched);
  queue->parked = false;
  tide_fetch_add(&queue->changes, 1u);
  platform->wake(platform->self, &queue->changes, UINT32_MAX);
}

/* Announces a thread that is about to park, under the lock. Returns the change count that it has
 * seen. */
static uint32_t begin_parking(struct tide_queue *queue) {
  queue->parked = true;
  if (queue->ahead) tide_sched_listen(queue->sched);
  return tide_load_relaxed(&queue->changes);
}

/* Blocks until the queue's change count differs from `seen`. False if the deadline has passed. */
static bool await_change(struct tide_queue *queue, uint32_t seen, uint64_t deadline) {
  struct tide_context *context = queue->sched->context;
  const struct tide_platform *platform = context->platform;
  if (deadline == TIDE_NOW) return false;
  struct tide_body_frame *frame = tide_body_blocks(context->blocked, platform, NULL, 0);
  platform->wait(platform->self, &queue->changes, seen, deadline);
  tide_body_unblocks(context->blocked, platform, frame);
  return deadline == TIDE_FOREVER || platform->now(platform->self) < deadline;
}

/* Finds the epoch of the last operation up to `sequence`. False if an operation up to `sequence` is
 * still held. */
static bool drain_target(struct tide_queue *queue, uint64_t sequence, uint64_t *out_epoch) {
  if (!tide_list_empty(&queue->held)) {
    struct tide_op *first = tide_op_of_link(queue->held.next);
    if (tide_op_sequence(first) <= sequence) return false;
  }
  uint64_t epoch = queue->position.epoch;
  while (epoch > queue->published) {
    struct tide_op *op = tide_queue_op(queue, epoch);
    if (op && tide_op_sequence(op) <= sequence) break;
    epoch--;
  }
  *out_epoch = epoch;
  return true;
}

enum tide_status tide_queue_drain(struct tide_queue *queue, uint64_t deadline) {
  struct tide_sched *sched = queue->sched;
  struct tide_context *context = sched->context;
  struct tide_scope_of_decreases scope;
  uint64_t epoch = 0;
  tide_waiting_begin(context);
  tide_sched_enter(sched);
  uint64_t sequence = queue->sequence;
  tide_scope_begin_over(&queue->priority, &scope, UINT64_MAX);
  queue->waiters++;
  bool found = drain_target(queue, sequence, &epoch), in_time = true;
  while (!found && in_time) {
    uint32_t seen = begin_parking(queue);
    tide_sched_leave(sched);
    in_time = await_change(queue, seen, deadline);
    tide_sched_enter(sched);
    found = drain_target(queue, sequence, &epoch);
  }
  tide_sched_leave(sched);
  enum tide_status status = TIDE_TIMEOUT;
  if (found) status = tide_timeline_wait(queue->progress, epoch, deadline);
  tide_sched_enter(sched);
  tide_scope_end(&queue->priority, &scope);
  queue->waiters--; /* a queue destroyed meanwhile may be freed from now on */
  tide_sched_look(queue);
  tide_sched_leave(sched);
  tide_waiting_end(context);
  return status;
}

enum tide_status tide_queue_submit_wait(struct tide_queue *queue,
                                        const struct tide_operation *operation, uint64_t deadline,
                                        uint64_t *out_sequence, struct tide_diag *diag) {
  struct tide_sched *sched = queue->sched;
  /* Counted before the first attempt: from here on a destroyed queue keeps its storage. */
  tide_sched_enter(sched);
  queue->waiters++;
  tide_sched_leave(sched);
  enum tide_status status = tide_queue_submit(queue, operation, out_sequence, diag);
  bool in_time = true, blocks = status == TIDE_FULL;
  struct tide_context *context = sched->context;
  if (blocks) tide_waiting_begin(context);
  while (status == TIDE_FULL && in_time) {
    tide_sched_enter(sched);
    uint32_t seen = begin_parking(queue);
    tide_sched_leave(sched);
    status = tide_queue_submit(queue, operation, out_sequence, diag);
    if (status == TIDE_FULL) in_time = await_change(queue, seen, deadline);
  }
  tide_sched_enter(sched);
  queue->waiters--; /* a queue destroyed meanwhile may be freed from now on */
  tide_sched_look(queue);
  tide_sched_leave(sched);
  if (blocks) tide_waiting_end(context);
  return status == TIDE_FULL ? TIDE_TIMEOUT : status;
}

/* ---- queries ---------------------------------------------------------------------------- */

const char *tide_queue_label(const struct tide_queue *queue) { return queue->label; }
tide_axis tide_queue_axis(const struct tide_queue *queue) { return queue->position.axis; }
struct tide_timeline *tide_queue_progress(struct tide_queue *queue) {
  return queue->progress;
}

void tide_queue_position(struct tide_queue *queue, struct tide_frontier *out_frontier,
                         uint64_t *out_epoch) {
  struct tide_eviction eviction = {queue->sched->context->tracker, queue->position.axis};
  tide_sched_enter(queue->sched);
  tide_queue_own_entry(queue);
  if (out_frontier) tide_frontier_copy(out_frontier, queue->position.frontier, &eviction);
  if (out_epoch) *out_epoch = queue->position.epoch;
  tide_sched_leave(queue->sched);
}

/* ---- buffers -------------------------------------------------------------------------------- */

static bool implies(void *self, const struct tide_frontier *known, tide_axis axis, uint64_t epoch) {
  const struct tide_queue *queue = self;
  return tide_collectives_imply(queue->sched, known, axis, epoch);
}

static bool may_await(void *self, tide_axis axis, uint64_t epoch) {
  const struct tide_queue *queue = self;
  return !tide_collectives_owe(queue) || !tide_deadlock_awaits_owed(queue, axis, epoch);
}

const struct tide_insight *tide_queue_insight(struct tide_queue *queue,
                                              struct tide_insight *storage) {
  if (!queue->sched->instances) return NULL;
  *storage = (struct tide_insight){queue, implies, may_await};
  return storage;
}

enum tide_status tide_queue_alloc(struct tide_queue *queue, struct tide_pool *pool, size_t size,
                                  const char *label, struct tide_buffer **out_buffer) {
  const void *home = pool ? tide_pool_home(pool) : NULL;
  if (out_buffer) *out_buffer = NULL;
  if (home && home != queue->device) return TIDE_SCOPE;
  tide_sched_enter(queue->sched);
  tide_queue_own_entry(queue);
  struct tide_insight storage;
  enum tide_status status = tide_pool_alloc_with(
      pool, size, &queue->position, tide_queue_insight(queue, &storage), label, out_buffer);
  if (status == TIDE_OK && queue->sched->checker) tide_check_allocated(queue->sched, *out_buffer);
  tide_sched_leave(queue->sched);
  return status;
}

void tide_queue_free(struct tide_queue *queue, struct tide_buffer *buffer) {
  if (!buffer) return;
  tide_sched_enter(queue->sched);
  if (queue->sched->checker) tide_check_freed(queue, buffer);
  tide_queue_own_entry(queue);
  struct tide_insight storage;
  tide_pool_free_with(buffer, &queue->position, tide_queue_insight(queue, &storage));
  tide_sched_leave(queue->sched);
}
