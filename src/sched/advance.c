/* Operations from entry to their start, and the exchange that backends call. */
#include "sched/arbiter.h"
#include "sched/channel_state.h"

/* ---- resolved waits -------------------------------------------------------------- */

/* Called by a thread without the lock: a host signal, or a tracker. */
void tide_wait_fire(struct tide_node *node, enum tide_status status) {
  struct tide_sched *sched = TIDE_CONTAINER(node, struct tide_wait_node, node)->op->queue->sched;
  (void)status;
  tide_sched_enter(sched);
  tide_wait_fired(node);
  tide_sched_leave(sched);
}

static void leaving_node_fired(struct tide_op *op) {
  struct tide_queue *queue = op->queue;
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    if (wait->heap != TIDE_HEAP_NONE) return;
  tide_op_free(op);
  queue->in_flight--;
}

static void open_wait(struct tide_op *op, struct tide_op_wait *wait, enum tide_status status) {
  wait->open = true;
  op->unmet--;
  /* An operation that continues despite a broken point must wait for its import, too. */
  bool broke = wait->point && tide_wait_for_point(op, wait)->edge.status != TIDE_OK;
  if (status != TIDE_OK || broke) wait->finish = wait->axis != 0;
  if (status == TIDE_OK) return;
  tide_op_fail(op, status, tide_timeline_cause_locked(wait->timeline));
  if (op->part) tide_instance_fail(op);
}

void tide_wait_fired(struct tide_node *node) {
  const struct tide_wait_node *at = TIDE_CONTAINER(node, struct tide_wait_node, node);
  struct tide_op_wait *wait = at->wait;
  struct tide_op *op = at->op;
  struct tide_queue *queue = op->queue;
  wait->heap = TIDE_HEAP_NONE;
  node->state = TIDE_NODE_IDLE;
  tide_sched_look(queue);
  if (op->state == TIDE_OP_HELD) {
    if (op->leaving) leaving_node_fired(op);
    else tide_op_retry(op);
    return;
  }
  TIDE_ASSERT(!wait->open && op->unmet > 0);
  open_wait(op, wait, (enum tide_status)node->status);
  if (op->status) tide_op_give_up_waits(op);
}

void tide_finish_fire(struct tide_node *node, enum tide_status status) {
  struct tide_op *op = TIDE_CONTAINER(node, struct tide_op_rare, finish.node)->op;
  struct tide_sched *sched = op->queue->sched;
  (void)status;
  tide_sched_enter(sched);
  tide_finish_fired(op);
  tide_sched_leave(sched);
}

void tide_finish_fired(struct tide_op *op) {
  tide_op_rare(op)->finish.node.state = TIDE_NODE_IDLE;
  op->finishing = false;
  tide_sched_look(op->queue);
}

/* True if (axis, epoch) has finished; else queues the operation's finish node for it. One node is
 * enough: all awaited epochs must finish before the start. */
bool tide_op_await_finish(struct tide_op *op, tide_axis axis, uint64_t epoch) {
  struct tide_tracker *tracker = op->queue->sched->context->tracker;
  if (tide_tracker_finished(tracker, axis, epoch)) return true;
  struct tide_op_rare *rare = tide_op_rare(op);
  rare->finish.node.fire = tide_finish_fire;
  op->finishing = tide_tracker_wait_finish(tracker, axis, epoch, &rare->finish);
  tide_sched_announce_waiter(op->queue->sched);
  return !op->finishing;
}

/* Returns the number of unfinished entries; *out_last is one of them. */
static size_t count_unfinished(struct tide_tracker *tracker, const struct tide_frontier *past,
                               struct tide_frontier_entry *out_last) {
  struct tide_frontier_entry entry;
  size_t count = 0;
  for (struct tide_frontier_cursor at = tide_frontier_begin(past);
       tide_frontier_next(&at, &entry);) {
    if (tide_tracker_finished(tracker, entry.axis, entry.epoch)) continue;
    count++;
    *out_last = entry;
  }
  return count;
}

/* True if the buffer's past has finished; else waits for one epoch: the only unfinished entry, or
 * the signaller of several. A signaller that is no entry may finish long after them; it is used
 * only if the past is tainted. */
static bool past_finished(struct tide_op *op, const struct tide_buffer *buffer) {
  struct tide_tracker *tracker = op->queue->sched->context->tracker;
  const struct tide_frontier *past = tide_buffer_past(buffer);
  tide_axis axis;
  uint64_t epoch;
  size_t left;
  struct tide_frontier_entry last;
  tide_buffer_past_signaller(buffer, &axis, &epoch);
  if (axis && past->tainted) return tide_op_await_finish(op, axis, epoch);
  while ((left = count_unfinished(tracker, past, &last))) {
    if (left > 1 && axis && tide_frontier_get(past, axis) >= epoch)
      return tide_op_await_finish(op, axis, epoch);
    if (!tide_op_await_finish(op, last.axis, last.epoch)) return false;
  }
  return true;
}

/* True if all entries of the operation's record have finished; else waits for one. The waits of
 * an operation that starts imply that. A failed one gives up its waits, and its record must
 * still be true: the signaller of an import may be over because its machine is lost, while the
 * past of that signaller still runs here. */
static bool record_finished(struct tide_op *op) {
  const struct tide_queue *queue = op->queue;
  const struct tide_frontier *record = tide_queue_record_of_others(queue, op->work.epoch);
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(record);
       tide_frontier_next(&at, &entry);)
    if (entry.axis != queue->position.axis && !tide_op_await_finish(op, entry.axis, entry.epoch))
      return false;
  if (queue->in_order || !tide_tracker_is_severed(queue->sched->context->tracker)) return true;
  /* What the queue knows of itself was imported back; the record's own entry is the operation's. */
  uint64_t own = tide_frontier_get(queue->position.frontier, queue->position.axis);
  if (own >= op->work.epoch) own = op->work.epoch - 1;
  return !own || tide_op_await_finish(op, queue->position.axis, own);
}

/* True if the past of each buffer has finished, and each signaller that a wait has given up on; of
 * a failed operation also its whole record, which may have evicted such a signaller. */
static bool all_finished(struct tide_op *op) {
  if (op->finishing) return false;
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    if (wait->finish && !tide_op_await_finish(op, wait->axis, wait->epoch)) return false;
    if (wait->finish) wait->finish = false;
  }
  for (struct tide_op_use *use = tide_op_uses(op); use; use = use->next)
    if (use->gap && !past_finished(op, use->buffer)) return false;
  return !op->status || record_finished(op);
}

/* ---- before the start ---- */

/* Returns the awaited value: the imported record's, if any. It exceeds the submitted one only if no
 * host can signal in between. */
uint64_t tide_wait_awaited(const struct tide_op *op, const struct tide_op_wait *wait) {
  if (!wait->beyond) return wait->value;
  bool raised = wait->class_ == TIDE_WAIT_ISSUED && wait->axis;
  return raised ? tide_wait_record(op->queue, wait) : wait->value;
}

static inline bool is_point_kept(const struct tide_op *op, const struct tide_op_wait *wait) {
  const struct tide_dependency_edge *need = &tide_wait_for_point(op, wait)->edge;
  return !need->target && need->status == TIDE_OK;
}

/* True if all values are reached and all points have ended without failure. */
static inline bool waits_over(const struct tide_op *op) {
  for (const struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    if (wait->timeline->reached.value < tide_wait_awaited(op, wait) ||
        (wait->point && !is_point_kept(op, wait)))
      return false;
  return true;
}

static void arm_point(struct tide_op *op, struct tide_op_wait *wait) {
  enum tide_status status;
  if (tide_point_wait_over(op, wait, &status)) open_wait(op, wait, status);
  else tide_point_wait_listen(op, wait);
}

void tide_wait_arm(struct tide_op *op, struct tide_op_wait *wait) {
  const struct tide_timeline *timeline = wait->timeline;
  if (wait->class_ != TIDE_WAIT_ISSUED || wait->open || wait->heap != TIDE_HEAP_NONE) return;
  if (wait->point) {
    arm_point(op, wait);
    return;
  }
  enum tide_await state = tide_timeline_await_locked(wait->timeline, tide_wait_awaited(op, wait),
                                                     tide_wait_queue(op, wait));
  if (state == TIDE_AWAIT_QUEUED) wait->heap = TIDE_HEAP_REACHED;
  else open_wait(op, wait, state == TIDE_AWAIT_FAILED ? tide_timeline_status(timeline) : TIDE_OK);
  tide_sched_announce_waiter(op->queue->sched);
}

/* Queues the issued waits that are not resolved yet. */
static void arm_waits(struct tide_op *op) {
  op->armed = true;
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    tide_wait_arm(op, wait);
  if (op->status) tide_op_give_up_waits(op);
}

/* True if all issued waits of the queue's next operation are resolved; else queues them. */
static inline bool waits_open(struct tide_op *op) {
  if (!op->unmet) return true;
  if (op->armed) return false;
  /* On a device that runs ahead, the node of a wait may be queued, or about to fire. */
  if (!op->status && !op->queue->ahead && waits_over(op)) op->unmet = 0;
  else arm_waits(op);
  return !op->unmet;
}

/* Queues an elided wait until its record is settled here. */
TIDE_APART static void await_record(struct tide_op *op, struct tide_op_wait *wait) {
  struct tide_node *node = tide_wait_queue(op, wait);
  TIDE_ASSERT(wait->timeline->ops && wait->timeline->ops->is_foreign);
  uint64_t value = tide_wait_record(op->queue, wait);
  if (tide_timeline_await_locked(wait->timeline, value, node) != TIDE_AWAIT_QUEUED) return;
  wait->heap = TIDE_HEAP_REACHED;
  op->armed = true;
  op->unmet++;
  tide_sched_announce_waiter(op->queue->sched);
}

/* True if the records of all elided waits are settled: elision drops the wait, never the failure.
 * The signaller of a record has finished by now. So the record is settled, but for one that comes
 * from elsewhere, which is awaited. */
static inline bool are_elided_settled(struct tide_op *op) {
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    struct tide_timeline *timeline = wait->timeline;
    if (wait->class_ != TIDE_WAIT_ELIDED) continue;
    if (wait->point) tide_op_fail(op, tide_wait_failure(op, wait), NULL);
    else if (tide_load_acquire(&timeline->reached.value) >= wait->value) continue;
    else if (tide_timeline_has_failed(timeline, tide_wait_record(op->queue, wait)))
      tide_op_fail(op, tide_timeline_status(timeline), tide_timeline_cause_locked(timeline));
    else await_record(op, wait);
  }
  if (op->status) tide_op_give_up_waits(op);
  return !op->unmet;
}

static inline bool may_start(struct tide_op *op) {
  if (op->flags & TIDE_RECOVER && op->queue->published + 1 != op->work.epoch) return false;
  if (!waits_open(op)) return false;
  if ((op->waits || op->uses || op->status) && !all_finished(op)) return false;
  if (!op->waits || op->status) return true;
  return are_elided_settled(op) && (!op->status || record_finished(op));
}

bool tide_op_may_start(struct tide_op *op) { return may_start(op); }

/* ---- starting ---------------------------------------------------------------------- */

/* Prefetches the next operations of a deep queue, which have left the caches since their submit.
 * Several ahead: empty ones end at once, and waits resolve before the start. */
static inline void fetch_behind(const struct tide_queue *queue) {
  if (queue->position.epoch < queue->next_start + 20) return; /* not so deep */
  tide_fetch_lines(&queue->slots[(queue->next_start + 20) & queue->ring_mask], 1);
  const struct tide_op *far = tide_queue_op(queue, queue->next_start + 10);
  const struct tide_epoch_slot *slot = &queue->slots[(queue->next_start + 4) & queue->ring_mask];
  const struct tide_op *near = slot->op;
  if (far) tide_fetch_lines(far, 1);
  if (!near) return;
  if (near->waits) tide_fetch_lines(tide_op_waits(near), 3); /* a wait is shorter than a line */
  if (!near->signals) return;
  tide_fetch_lines(tide_op_signals(near), 2);
  tide_fetch_lines(queue->frontiers + slot->version.at, 2); /* its record */
}

/* Starts the queue's next operation. Returns its work; NULL if it is done at once, since it has
 * failed or has no body. */
static inline struct tide_work *start_operation(struct tide_queue *queue, struct tide_op *op) {
  op->state = TIDE_OP_RUNNING;
  if (__builtin_expect(op->flags & TIDE_RECOVER, 0)) tide_channel_recover(op);
  queue->next_start++; /* operations start in order */
  fetch_behind(queue);
  if (op->status || (!op->work.body && !queue->ahead)) {
    tide_op_finish(op, op->status);
    tide_queue_publish(queue);
    return NULL;
  }
  if (queue->ahead) tide_ahead_give(op);
  else tide_sched_emit(queue->sched, TIDE_EVENT_START, op, NULL);
  op->work.status = TIDE_OK;
  return &op->work;
}

/* True if the operation waits for tide_context_resume. One with a body becomes ready all the same,
 * and starts later; but a command acts when its turn comes, and without a body that is the end.
 * Parts become ready together, with their bodies. */
static inline bool is_kept_back(const struct tide_queue *queue, const struct tide_op *op) {
  if (__builtin_expect(!queue->sched->paused, 1) || op->status) return false;
  return (!op->work.body && !queue->ahead) || (op->points && !op->part);
}

/* Makes the queue's next operation ready. One that does not run is done at once. */
static inline void make_ready(struct tide_queue *queue, struct tide_op *op) {
  if (op->points) tide_op_points_turn(op);
  if (op->status || (!op->work.body && !queue->ahead)) {
    (void)start_operation(queue, op);
    return;
  }
  queue->ready_op = op;
  tide_arbiter_add(queue);
}

void tide_queue_skip_started(struct tide_queue *queue) {
  while (queue->next_start <= queue->position.epoch &&
         (queue->next_start <= queue->published ||
          tide_queue_op(queue, queue->next_start)->state >= TIDE_OP_RUNNING))
    queue->next_start++;
}

void tide_queue_advance(struct tide_queue *queue) {
  bool serial = queue->serial;
  if (queue->ahead) tide_queue_publish(queue);
  while (queue->next_start <= queue->position.epoch) {
    struct tide_op *op = tide_queue_op(queue, queue->next_start);
    if (queue->ready) return; /* the next operation is ready already */
    if (serial && queue->published + 1 != queue->next_start) return;
    if (__builtin_expect(queue->failure.cause, 0)) tide_channel_stop_behind(op);
    if (queue->ahead ? !tide_ahead_may_go(op) : !may_start(op)) return;
    if (queue->device->lost && !queue->device->certified) return;
    if (op->part && !tide_instance_arrive(op)) return;
    if (is_kept_back(queue, op)) return;
    make_ready(queue, op);
  }
}

/* ---- the exchange -------------------------------------------------------------------- */

static void finish_works(const struct tide_device *device, struct tide_work *const *done,
                         size_t count) {
  struct tide_queue *queue = NULL;
  for (size_t i = 0; i < count; i++) {
    struct tide_op *op = TIDE_CONTAINER(done[i], struct tide_op, work);
    TIDE_ASSERT(op->queue->device == device && op->state == TIDE_OP_RUNNING);
    if (device->ahead) {
      tide_ahead_commit(op, done[i]->status);
      continue;
    }
    if (queue && queue != op->queue) tide_queue_publish(queue);
    queue = op->queue;
    tide_op_finish(op, done[i]->status);
  }
  if (queue) tide_queue_publish(queue);
}

static inline bool is_non_blocking(const struct tide_op *op) {
  return op->work.body && op->work.body->non_blocking;
}

/* Starts the arbiter's next operation and returns its work, NULL if none. `with_others`: on a
 * sequential backend only a non-blocking one. */
static struct tide_work *start_next(struct tide_device *device, bool with_others) {
  struct tide_queue *queue;
  while ((queue = tide_arbiter_next(device))) {
    struct tide_op *op = queue->ready_op;
    if (with_others && device->backend->sequential && !is_non_blocking(op)) return NULL;
    tide_arbiter_take(queue);
    if (!device->backend->in_order) tide_sched_look(queue);
    if (queue->failure.cause) tide_channel_stop_behind(op);
    if (queue->ahead && !tide_ahead_may_go(op)) continue; /* a dependency has changed */
    struct tide_work *work = start_operation(queue, op);
    if (work) return work; /* else cancelled while ready, or behind a failure */
  }
  return NULL;
}

/* Returns the queue's next operation if it is non-blocking and its waits are over; else NULL. The
 * caller starts it right behind non-blocking ones. Not in a channel: there it runs only if they
 * succeed. */
static inline __attribute__((always_inline)) struct tide_op *
startable_behind(const struct tide_queue *queue) {
  if (queue->next_start > queue->position.epoch || queue->channel) return NULL;
  struct tide_op *op = tide_queue_op(queue, queue->next_start);
  if (op->state != TIDE_OP_ENTERED || op->uses || op->part || op->asks || op->status ||
      !is_non_blocking(op) || !waits_over(op))
    return NULL;
  return op;
}

/* Starts the operation and those behind it, `most` (at least one) at most. Returns their number. */
static size_t start_behind(struct tide_queue *queue, struct tide_op *op,
                           struct tide_work **out_work, size_t most) {
  size_t count = 0;
  do {
    op->unmet = 0;
    tide_arbiter_count_pick(queue);
    out_work[count++] = start_operation(queue, op);
  } while (count < most && (op = startable_behind(queue)));
  return count;
}

/* Starts operations behind each of these non-blocking ones, in equal shares. Returns the total. */
static size_t start_behind_each(struct tide_work **out_work, size_t count, size_t most) {
  size_t heads = count;
  for (size_t i = 0; i < heads && count < most; i++) {
    struct tide_queue *queue = TIDE_CONTAINER(out_work[i], struct tide_op, work)->queue;
    struct tide_op *op = startable_behind(queue);
    if (!op) continue;
    uint32_t left = (uint32_t)(heads - i), share = ((uint32_t)(most - count) + left - 1) / left;
    count += start_behind(queue, op, out_work + count, share);
  }
  return count;
}

/* True if one exchange may hand out more works after `last`. A sink would see the same times for
 * all works of one batch. */
static inline bool takes_more(const struct tide_device *device, const struct tide_work *last) {
  struct tide_context *context = device->sched->context;
  const struct tide_sink *sink = context->sink ? context->sink : context->failures;
  if (!device->backend->sequential) return true;
  return last->body && last->body->non_blocking && !(sink && sink->wants_time);
}

/* True if the arbiter's next operation may be handed out after `last`. Not at a lower priority: the
 * queue of `last` may have more to run. */
static inline bool may_go_along(const struct tide_device *device, const struct tide_work *last) {
  if (!takes_more(device, last)) return false;
  if (!device->sched->prioritised || !device->backend->sequential) return true;
  return tide_arbiter_next(device)->effective ==
         TIDE_CONTAINER(last, struct tide_op, work)->queue->effective;
}

/* Starts operations in the arbiter's order. Returns their number. */
static size_t start_picked(struct tide_device *device, struct tide_work **out_work, size_t most) {
  const struct tide_backend *backend = device->backend;
  size_t count = 0;
  while (count < most && tide_arbiter_has_next(device)) {
    if (count && !may_go_along(device, out_work[count - 1])) break;
    struct tide_work *work = start_next(device, count > 0);
    if (!work) break;
    out_work[count++] = work;
    if (!backend->in_order) tide_sched_settle(device->sched);
  }
  return count;
}

/* Starts all ready operations and, if none is left, those behind them. Returns their number. */
static size_t start_ready(struct tide_device *device, struct tide_work **out_work, size_t most) {
  const struct tide_backend *backend = device->backend;
  if (device->sched->paused || device->lost) return 0;
  size_t count = start_picked(device, out_work, most);
  bool behind_others = backend->sequential && backend->in_order;
  if (!behind_others || !count || device->ready.count || !takes_more(device, out_work[count - 1]))
    return count;
  return start_behind_each(out_work, count, most);
}

size_t tide_device_exchange_locked(struct tide_device *device, struct tide_work *const *done,
                                   size_t done_count, struct tide_work **out_work, size_t most,
                                   bool *out_more) {
  struct tide_sched *sched = device->sched;
  device->exchanging = true;
  if (!device->lost) finish_works(device, done, done_count);
  tide_sched_settle(sched);
  size_t count = start_ready(device, out_work, most);
  device->exchanging = false;
  uint32_t hands = device->backend->hands ? device->backend->hands : 1;
  bool dry = device->backend->sequential ? most > 0 && count == 0 : count < most;
  if (dry && device->dry < hands) device->dry++;
  if (most == 0 && tide_arbiter_has_next(device) && !sched->paused) tide_device_kick(device);
  if (out_more) *out_more = tide_arbiter_has_next(device) && !sched->paused;
  return count;
}

size_t tide_device_exchange(struct tide_device *device, struct tide_work *const *done,
                            size_t done_count, struct tide_work **out_work, size_t most,
                            bool *out_more) {
  struct tide_sched *sched = device->sched;
  tide_sched_enter(sched);
  size_t count = tide_device_exchange_locked(device, done, done_count, out_work, most, out_more);
  tide_sched_leave(sched);
  return count;
}
