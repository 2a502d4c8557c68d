/* Operations enter their queue's order, or are held before it. */
#include "base/alloc.h"
#include "causal/tracker.h"
#include "sched/dependency_walk.h"

/* ---- storage ----------------------------------------------------------------- */

void tide_sched_disown_last(struct tide_sched *sched, struct tide_timeline *timeline) {
  if (!timeline->ends_singly) {
    tide_timeline_note_end(timeline, &sched->fired);
    tide_timeline_fail_locked(timeline, 0, TIDE_CANCELLED, NULL, &sched->fired);
  }
  tide_context_disown(timeline->context, &timeline->owned);
  if (tide_timeline_let_go_locked(timeline, false)) tide_timeline_free(timeline);
}

static void free_uses(struct tide_op *op) {
  struct tide_store *store = tide_op_store(op);
  for (struct tide_op_use *use = tide_op_uses(op), *next; use; use = next) {
    next = use->next;
    tide_buffer_release(use->buffer);
    use->next = store->free_uses;
    store->free_uses = use;
    op->queue->free_uses_count++;
  }
  op->uses = false;
}

void tide_op_free_effects(struct tide_op *op) {
  struct tide_queue *queue = op->queue;
  struct tide_store *store = tide_op_store(op);
  if (op->points) tide_op_points_free(op);
  if (op->work.body && op->work.body->over) op->work.body->over(tide_work_arguments(&op->work));
  for (struct tide_op_signal *signal = tide_op_signals(op), *next; signal; signal = next) {
    next = signal->next;
    tide_sched_disown(queue->sched, signal->record.timeline);
    signal->next = store->free_signals;
    store->free_signals = signal;
    queue->free_signals_count++;
  }
  free_uses(op);
  op->signals = 0;
}

/* ---- frontiers ----------------------------------------------------------------- */

/* True if each entry is known, by way of collectives, too, or has finished. */
TIDE_APART static bool is_each_satisfied(struct tide_sched *sched,
                                         const struct tide_frontier *past) {
  struct tide_frontier_entry entry;
  uint8_t reason;
  if (past->tainted) return false;
  for (struct tide_frontier_cursor at = tide_frontier_begin(past); tide_frontier_next(&at, &entry);)
    if (!tide_signaller_satisfied(sched, sched->known, entry.axis, entry.epoch, &reason))
      return false;
  return true;
}

static bool is_past_known(struct tide_sched *sched, const struct tide_buffer *buffer) {
  tide_axis axis;
  uint64_t epoch;
  uint8_t reason;
  tide_buffer_past_signaller(buffer, &axis, &epoch);
  if (axis && tide_signaller_satisfied(sched, sched->known, axis, epoch, &reason)) return true;
  const struct tide_frontier *past = tide_buffer_past(buffer);
  return past->count + past->tainted == 0 ||
         tide_frontier_satisfied(sched->known, sched->context->tracker, past) ||
         (sched->instances && is_each_satisfied(sched, past));
}

/* Imports a buffer's past, and with each entry the entry's own frontier. A past lists only the last
 * users of the memory: an entry known without its frontier would leave implied epochs unknown. A
 * finished entry needs none, for its past has finished, too. */
TIDE_APART static void import_past(struct tide_queue *queue, const struct tide_frontier *past) {
  struct tide_sched *sched = queue->sched;
  struct tide_tracker *tracker = sched->context->tracker;
  struct tide_frontier_entry use;
  for (struct tide_frontier_cursor at = tide_frontier_begin(past); tide_frontier_next(&at, &use);) {
    uint8_t reason;
    if (tide_signaller_satisfied(sched, sched->known, use.axis, use.epoch, &reason)) continue;
    const struct tide_queue *other = tide_tracker_owner(tracker, use.axis, sched);
    if (other) tide_sched_learn(queue, tide_queue_record(other, use.epoch));
  }
  tide_sched_learn(queue, past);
}

/* Marks the uses of buffers with a past that the queue does not know: this past must finish before
 * the start. The queue then knows the past, since later operations are ordered behind this one. */
TIDE_APART static void add_gap_waits(struct tide_queue *queue, struct tide_op *op) {
  struct tide_sched *sched = queue->sched;
  for (struct tide_op_use *use = tide_op_uses(op); use; use = use->next) {
    use->gap = false;
    if (is_past_known(sched, use->buffer)) continue;
    use->gap = true;
    sched->stats.gap_waits++;
    import_past(queue, tide_buffer_past(use->buffer));
  }
}

/* Epochs of versions with equally many entries count alike. So a call is due only before that
 * number or the taint changes. */
TIDE_APART void tide_queue_count_frontiers(struct tide_queue *queue) {
  struct tide_context_stats *stats = &queue->sched->stats;
  uint64_t epochs = queue->position.epoch - queue->counted;
  if (!epochs) return;
  stats->frontier_entries += epochs * queue->newest->count;
  stats->tainted += epochs * queue->newest->tainted;
  queue->counted = queue->position.epoch;
}

/* Copies `known` to the next version: nothing was imported, or the import is in `scratch`. */
TIDE_APART static void copy_known(struct tide_queue *queue, struct tide_frontier *next) {
  const struct tide_sched *sched = queue->sched;
  struct tide_eviction eviction = {sched->context->tracker, queue->position.axis};
  tide_frontier_init(next, queue->apart->capacity);
  tide_frontier_copy(next, sched->known, &eviction);
  if (sched->known == queue->position.frontier) next->tainted = 0;
}

TIDE_APART static void add_own_entry(struct tide_queue *queue, struct tide_frontier *next,
                                     uint64_t epoch) {
  struct tide_eviction eviction = {queue->sched->context->tracker, queue->position.axis};
  tide_frontier_raise(next, queue->position.axis, epoch, &eviction);
}

/* Sets the position's frontier to a copy of the version, but for the own entry: `own` is the epoch
 * that was imported back, 0 if none. */
TIDE_APART static void set_apart(struct tide_queue *queue, const struct tide_frontier *version,
                                 uint64_t own) {
  struct tide_frontier *apart = queue->apart;
  tide_frontier_copy(apart, version, NULL);
  if (own) *tide_frontier_at(apart, tide_frontier_slot(apart, queue->position.axis)) = own;
  else tide_frontier_drop(apart, queue->position.axis);
  queue->position.frontier = apart;
}

/* Makes `known`, with the own entry, the queue's next version. On an out-of-order device the
 * position's frontier is a copy without the new own entry. It lists no more than the version: an
 * operation that fails awaits the entries of its version, and later ones rely on the position's. */
static inline struct tide_frontier *make_version(struct tide_queue *queue, uint64_t epoch) {
  struct tide_frontier *next = tide_queue_next_frontier(queue);
  if (queue->sched->known != next) copy_known(queue, next);
  uint64_t own = queue->in_order ? 0 : tide_frontier_get(next, queue->position.axis);
  if (tide_frontier_get_raised(next, queue->position.axis) == 0) add_own_entry(queue, next, epoch);
  if (!queue->in_order) set_apart(queue, next, own);
  queue->version.own = (uint32_t)tide_frontier_slot_raised(next, queue->position.axis);
  *tide_frontier_at(next, queue->version.own) = epoch;
  return next;
}

TIDE_APART static void pack_version(struct tide_frontier *version) { tide_frontier_pack(version); }

/* Shrinks the version to its entries, and moves the next one behind it. */
static inline void append_version(struct tide_queue *queue, struct tide_frontier *version) {
  if (version->count < version->capacity) pack_version(version);
  tide_queue_next_version(queue, version);
}

/* Begins a new version, shared from this epoch on: something was imported, or a taint cleared. */
static inline void renew_version(struct tide_queue *queue, uint64_t epoch) {
  struct tide_sched *sched = queue->sched;
  bool was_tainted = queue->position.frontier->tainted;
  struct tide_frontier *version = make_version(queue, epoch);
  if (version->tainted || was_tainted) {
    if (version->tainted || !queue->taint_epoch) queue->taint_epoch = epoch;
    version->tainted = 1;
  }
  if (queue->newest->count != version->count || queue->newest->tainted != version->tainted)
    tide_queue_count_frontiers(queue);
  queue->version.at = (uint32_t)queue->next_frontier;
  append_version(queue, version);
  queue->newest = version;
  if (queue->in_order) queue->position.frontier = version;
  else queue->apart->tainted = version->tainted;
  if (version->count > sched->stats.frontier_peak) sched->stats.frontier_peak = version->count;
  queue->learned = epoch;
  queue->renew = false;
}

/* ---- entering -------------------------------------------------------------------- */

TIDE_APART static void emit_wait(struct tide_sched *sched, const struct tide_op *op,
                                 const struct tide_op_wait *wait) {
  struct tide_event event = {.detail = wait->class_ | (uint32_t)wait->reason << 8,
                             .value = wait->value,
                             .object = wait->timeline,
                             .object_label = wait->timeline->label,
                             .cause_axis = wait->axis,
                             .cause_epoch = wait->epoch,
                             .cause_value = tide_wait_record(op->queue, wait)};
  tide_sched_emit(sched, TIDE_EVENT_WAIT_CLASS, op, &event);
}

/* Gives up the waits of an operation that has failed, and notes whether it lacks what one of them
 * would have brought. */
TIDE_APART static void give_up_waits(struct tide_op *op) {
  bool *lost = &op->queue->order_was_lost;
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    *lost |= wait->class_ == TIDE_WAIT_FAILED || wait->class_ == TIDE_WAIT_HELD;
  tide_op_give_up_waits(op);
}

/* A device that keeps its waits cannot look at a record once it has the operation. */
TIDE_APART static void note_foreign(struct tide_op *op, const struct tide_op_wait *wait) {
  const struct tide_value_ops *ops = wait->timeline->ops;
  op->foreign |= ops && ops->is_foreign;
}

/* Counts the waits. Issued ones are queued only before the start: most are resolved by then. */
static inline void count_waits(struct tide_queue *queue, struct tide_op *op) {
  struct tide_sched *sched = queue->sched;
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    sched->waits_of[wait->class_]++;
    op->unmet += wait->class_ == TIDE_WAIT_ISSUED;
    if (wait->class_ == TIDE_WAIT_FAILED)
      tide_op_fail(op, tide_wait_failure(op, wait), tide_timeline_cause_locked(wait->timeline));
    if (queue->ahead && wait->class_ == TIDE_WAIT_ELIDED) note_foreign(op, wait);
    if (__builtin_expect(queue->traced, 0)) emit_wait(sched, op, wait);
  }
  if (op->status) give_up_waits(op);
}

TIDE_APART static void emit_gaps(struct tide_sched *sched, const struct tide_op *op) {
  for (const struct tide_op_use *use = tide_op_uses(op); use; use = use->next) {
    if (!use->gap) continue;
    struct tide_event event = {.object = use->buffer,
                               .object_label = tide_buffer_label(use->buffer),
                               .value = tide_buffer_size(use->buffer),
                               .frontier = tide_buffer_past(use->buffer)};
    tide_buffer_past_signaller(use->buffer, &event.cause_axis, &event.cause_epoch);
    tide_sched_emit(sched, TIDE_EVENT_GAP, op, &event);
  }
}

static void promise_signals(struct tide_queue *queue, struct tide_op *op) {
  struct tide_sched *sched = queue->sched;
  for (struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next) {
    sched->stats.signals++;
    tide_timeline_promise(&signal->record, signal->record.node.key, &sched->fired);
  }
  if (op->points) tide_op_points_entered(op);
}

/* A failed operation promises nothing: its publication fails its signals. */
TIDE_APART static void count_unpromised(struct tide_sched *sched, const struct tide_op *op) {
  sched->unpromised++;
  for (const struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next)
    sched->stats.signals++;
}

TIDE_APART static void take_buffers(struct tide_queue *queue, struct tide_op *op, bool was_held) {
  struct tide_insight storage;
  struct tide_naming told = {queue->position.axis, op->work.epoch, queue->newest, queue->learned,
                             tide_queue_insight(queue, &storage)};
  for (struct tide_op_use *use = tide_op_uses(op); use; use = use->next) {
    /* A free while the operation was held cannot cover this use. */
    if (was_held) tide_buffer_trace(use->buffer, &told);
    else tide_buffer_use(use->buffer, &told);
    if (was_held) tide_buffer_unpin(use->buffer);
  }
}

/* Saves `known` for the sink: the position, which it may point to, is about to change. */
TIDE_APART static void copy_known_for_sink(struct tide_queue *queue) {
  struct tide_sched *sched = queue->sched;
  if (!sched->context->sink || sched->known == sched->scratch) return;
  bool own = sched->known != tide_queue_next_frontier(queue);
  tide_queue_own_entry(queue);
  tide_frontier_copy(sched->scratch, sched->known, NULL);
  if (own) sched->scratch->tainted = 0;
  sched->known = sched->scratch;
}

TIDE_APART static void emit_enter(struct tide_queue *queue, struct tide_op *op) {
  struct tide_sched *sched = queue->sched;
  if (!sched->context->sink) return;
  sched->scratch->tainted = queue->newest->tainted;
  struct tide_event event = {.frontier = sched->scratch};
  tide_sched_emit(sched, TIDE_EVENT_ENTER, op, &event);
}

/* Gives the operation the next epoch. Only the own entry of the queue's frontier changes. */
static uint64_t assign_epoch(struct tide_queue *queue, struct tide_op *op) {
  uint64_t epoch = ++queue->position.epoch;
  struct tide_epoch_slot *slot = &queue->slots[epoch & queue->ring_mask];
  op->work.epoch = epoch;
  op->state = TIDE_OP_ENTERED;
  slot->op = op;
  slot->version = queue->version;
  tide_fetch_lines(&queue->slots[(epoch + 4) & queue->ring_mask], 1); /* a later entry's slot */
  if (queue->in_order) *tide_frontier_at(queue->position.frontier, queue->version.own) = epoch;
  tide_tracker_give(queue->tracked, epoch); /* before any buffer records it */
  op->work.status = (enum tide_status)(uint32_t)queue->sched->stats.entered++; /* tide_op_turn */
  return epoch;
}
/* Fires the waits for the epoch's promise. Marks the queue dirty if the operation is its next. */
static void mark_if_first(struct tide_queue *queue, uint64_t epoch) {
  /* The progress timeline's promise is the epoch itself. */
  struct tide_counter *promised = &queue->progress->promised;
  if (tide_counter_least(promised) <= epoch)
    tide_counter_pop(promised, epoch, &queue->sched->fired, TIDE_OK);
  bool serial = queue->serial;
  if (serial ? queue->published + 1 >= epoch : queue->next_start >= epoch) tide_sched_look(queue);
}

/* Makes `known` the queue's frontier and, with the own entry, the operation's record. Most
 * operations lack most kinds of waits, signals and uses; each kind costs one check. */
void tide_op_enter(struct tide_queue *queue, struct tide_op *op) {
  struct tide_sched *sched = queue->sched;
  bool was_held = op->state == TIDE_OP_HELD;
  if (op->uses) add_gap_waits(queue, op);
  bool traced = __builtin_expect(queue->traced, 0);
  bool renew = queue->renew || sched->known != queue->position.frontier;
  if (traced) copy_known_for_sink(queue); /* imports nothing */
  if (renew) renew_version(queue, queue->position.epoch + 1);
  uint64_t epoch = assign_epoch(queue, op);
  if (traced) emit_enter(queue, op);
  if (op->waits) count_waits(queue, op);
  if (traced && op->uses) emit_gaps(sched, op);
  if (op->uses) take_buffers(queue, op, was_held);
  if (traced && sched->checker) tide_check_entered(queue, op);
  if (op->signals && op->refused) count_unpromised(sched, op);
  else if (op->signals) promise_signals(queue, op);
  if (op->part) tide_instance_entered(op);
  mark_if_first(queue, epoch);
  if (was_held) tide_sched_look(queue);
}

enum tide_status tide_wait_failure(const struct tide_op *op, const struct tide_op_wait *wait) {
  enum tide_status status = TIDE_OK;
  if (!wait->point) return tide_timeline_status(wait->timeline);
  return tide_point_wait_over(op, wait, &status) ? status : TIDE_OK;
}

/* Removes the wait's node from its heap. False if the node is about to fire. */
bool tide_wait_forget(const struct tide_op *op, struct tide_op_wait *wait) {
  struct tide_node *node = &tide_wait_node(op->queue, wait)->node;
  bool off = true;
  if (wait->heap == TIDE_HEAP_POINT) off = tide_point_wait_forget(op, wait);
  else if (wait->heap == TIDE_HEAP_PROMISED)
    off = tide_timeline_forget_promise_locked(wait->timeline, node);
  else if (wait->heap == TIDE_HEAP_REACHED) off = tide_timeline_forget_locked(wait->timeline, node);
  if (off) wait->heap = TIDE_HEAP_NONE;
  return off;
}

/* ---- being held --------------------------------------------------------------------- */

/* Removes the waits' nodes. True if one is about to fire: the operation must stay until then. */
static bool dequeue_waits(struct tide_op *op) {
  bool in_flight = false;
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    in_flight |= !tide_wait_forget(op, wait);
  }
  return in_flight;
}

/* Queues the waits of a held operation for the events that may change their class. */
static void queue_held_waits(struct tide_op *op) {
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    if (wait->heap != TIDE_HEAP_NONE) continue;
    if (wait->point) {
      bool over = wait->class_ == TIDE_WAIT_RESOLVED;
      if (!over) tide_point_wait_listen(op, wait);
      continue;
    }
    struct tide_node *node = tide_wait_queue(op, wait);
    if (wait->class_ == TIDE_WAIT_HELD) {
      tide_timeline_await_promise_locked(wait->timeline, wait->value, node);
      wait->heap = TIDE_HEAP_PROMISED;
    } else if (wait->class_ == TIDE_WAIT_ISSUED) {
      enum tide_await state = tide_timeline_await_locked(wait->timeline, wait->value, node);
      TIDE_ASSERT(state == TIDE_AWAIT_QUEUED);
      wait->heap = TIDE_HEAP_REACHED;
      tide_sched_announce_waiter(op->queue->sched);
    }
  }
}

static void count_held(struct tide_op *op, bool add) {
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    struct tide_timeline *timeline = wait->timeline;
    if (add) {
      timeline->held_waits++;
      if (tide_timeline_has_failed(timeline, wait->value))
        tide_store_relaxed(&timeline->context->has_failed, true);
      if (wait->value > timeline->held_most) timeline->held_most = wait->value;
    } else if (--timeline->held_waits == 0) {
      timeline->held_most = 0;
    }
  }
}

void tide_op_retry(struct tide_op *op) {
  struct tide_queue *queue = op->queue;
  struct tide_op_rare *rare = tide_op_rare(op);
  if (!op->retry) tide_tree_insert(&queue->due, &rare->due, rare->sequence);
  op->retry = true;
  queue->retry_held = true;
}

static void drop_retry(struct tide_op *op) {
  if (op->retry) tide_tree_remove(&op->queue->due, &tide_op_rare(op)->due);
  op->retry = false;
}

/* Makes held operations due, from a link of the list up to the first that may not be passed. */
static void retry_from(struct tide_queue *queue, struct tide_link *link) {
  queue->held_firm = NULL;
  for (; link != &queue->held && !queue->held_firm; link = link->next) {
    struct tide_op *op = tide_op_of_link(link);
    if (!(op->flags & TIDE_MAY_BE_PASSED)) queue->held_firm = op;
    tide_op_retry(op);
  }
}

static void remove_held(struct tide_op *op) {
  struct tide_link *link = &tide_op_rare(op)->link, *next = link->next;
  drop_retry(op);
  tide_list_remove(link);
  op->queue->held_count--;
  count_held(op, false);
  if (op->queue->held_firm == op) retry_from(op->queue, next);
}

/* Appends the operation to the held list. Its signals are reserved before; its waits are queued
 * once no firm operation is held before it. */
void tide_op_hold(struct tide_queue *queue, struct tide_op *op) {
  struct tide_sched *sched = queue->sched;
  op->state = TIDE_OP_HELD;
  sched->stats.held++;
  count_held(op, true);
  for (struct tide_op_use *use = tide_op_uses(op); use; use = use->next)
    tide_buffer_pin(use->buffer);
  uint64_t sequence = tide_op_sequence(op);
  struct tide_op_rare *rare = tide_op_rare(op);
  rare->sequence = sequence;
  op->numbered = true;
  tide_list_push_back(&queue->held, &rare->link);
  queue->held_count++;
  tide_sched_emit(sched, TIDE_EVENT_HOLD, op, NULL);
  if (!queue->held_firm) retry_from(queue, &rare->link);
  tide_sched_look(queue);
}

void tide_op_unreserve(struct tide_op *op) {
  for (struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next)
    if (signal->record.state == TIDE_RECORD_RESERVED)
      tide_timeline_unreserve(&signal->record, &op->queue->sched->fired);
}

/* Drops all that a held operation awaits, so that its end depends on its place alone. Its waits
 * import nothing, and it touches no buffer. */
static void drop_dependencies(struct tide_queue *queue, struct tide_op *op) {
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    wait->class_ = TIDE_WAIT_FAILED;
    wait->axis = 0;
  }
  for (struct tide_op_use *use = tide_op_uses(op); use; use = use->next)
    tide_buffer_unpin(use->buffer);
  queue->order_was_lost = true;
  if (op->uses) free_uses(op);
  queue->sched->known = queue->position.frontier;
}

/* Checks a held operation that is about to enter. A refusal makes it enter as failed. */
static enum tide_status check_held(struct tide_queue *queue, struct tide_op *op, bool has_failed) {
  struct tide_diag diag;
  bool may_be_cyclic = tide_deadlock_possible(op, true);
  if (has_failed) tide_op_unreserve(op);
  bool is_cyclic = may_be_cyclic && tide_deadlock_closes(op, true, has_failed, &diag);
  tide_op_unreserve(op);
  enum tide_status status = is_cyclic ? TIDE_DEADLOCK : TIDE_OK;
  if (!is_cyclic && !has_failed) status = tide_signals_check(queue, op, &diag);
  if (status == TIDE_OK) return TIDE_OK;
  if (queue->sched->checker) tide_check_note(queue->sched, &diag);
  tide_op_refuse(op, &diag);
  op->cyclic = is_cyclic;
  if (is_cyclic) drop_dependencies(queue, op);
  return status;
}

static bool is_of_failing_instance(struct tide_op *op) {
  return op->part && tide_instance_is_failing(tide_op_rare(op)->instance, op);
}

/* Classifies a held operation again. */
static void try_enter(struct tide_queue *queue, struct tide_op *op) {
  struct tide_sched *sched = queue->sched;
  drop_retry(op);
  if (dequeue_waits(op)) return; /* retried when the node has fired */
  sched->stats.reclassified++;
  enum tide_verdict verdict = tide_elide(queue, op);
  if (verdict == TIDE_ENTER_HELD) {
    queue_held_waits(op);
    return;
  }
  bool has_failed = verdict == TIDE_ENTER_FAILS || op->status || is_of_failing_instance(op);
  enum tide_status status = check_held(queue, op, has_failed);
  remove_held(op);
  op->refused = has_failed || status != TIDE_OK;
  tide_queue_notify_waiters(queue);
  tide_op_enter(queue, op);
  if (sched->unnoticed) tide_collectives_notice(sched, true);
  /* What depends on the operation must not wait for its place: that is the cycle. */
  if (status != TIDE_DEADLOCK) return;
  tide_op_fail_early(op, status);
  tide_deadlock_fail_cyclic(sched); /* those that await its epoch */
}

/* In a failed channel, held operations may fail without an event of their own. */
static void retry_failing(struct tide_queue *queue) {
  for (struct tide_link *link = queue->held.next; link != &queue->held; link = link->next) {
    struct tide_op *op = tide_op_of_link(link);
    if (tide_channel_fails_held(op)) tide_op_retry(op);
    if (op == queue->held_firm) return;
  }
}

void tide_queue_retry_held(struct tide_queue *queue) {
  if (queue->sched->epochs_moved) tide_deadlock_fail_cyclic(queue->sched);
  if (queue->failure.cause) retry_failing(queue);
  while (queue->due.first)
    try_enter(queue, TIDE_CONTAINER(queue->due.first, struct tide_op_rare, due)->op);
  queue->retry_held = false;
}

void tide_op_leave(struct tide_op *op, enum tide_status status) {
  struct tide_queue *queue = op->queue;
  struct tide_sched *sched = queue->sched;
  if (op->leaving) return;
  op->leaving = true;
  tide_op_drop_cause(op);
  op->status = TIDE_OK;
  tide_op_fail(op, status, status == queue->device->lost ? queue->device->cause : NULL);
  if (op->waits || op->uses) queue->order_was_lost = true;
  bool in_flight = dequeue_waits(op);
  remove_held(op);
  tide_op_unreserve(op);
  for (struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next)
    tide_op_break_signal(op, signal);
  if (op->points) tide_op_points_done(op);
  for (struct tide_op_use *use = tide_op_uses(op); use; use = use->next)
    tide_buffer_unpin(use->buffer);
  sched->stats.failed++;
  tide_sched_emit_finish(sched, op);
  if (op->part) tide_instance_finished(op);
  queue->retry_held = true;
  tide_sched_look(queue);
  tide_deadlock_note_leaving(queue);
  if (in_flight) queue->in_flight++;
  else tide_op_free(op);
  tide_queue_notify_waiters(queue);
}
