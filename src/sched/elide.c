/* Classifies waits, and elides the redundant ones. Two passes: all waits are classified before the
 * first import, so that a held operation imports nothing. */
#include "base/text.h"
#include "causal/tracker.h"
#include "sched/promise_view.h"
#include "sched/sched.h"

/* Returns the location of the wait's lookup result. */
static inline struct tide_pending *found_of(const struct tide_queue *queue,
                                            const struct tide_op_wait *wait) {
  if (wait->index < TIDE_WAITS_FEW) return &queue->sched->found[wait->index];
  return &tide_wait_apart(queue, wait)->found;
}

static inline bool pending_of_record(const struct tide_record *record, struct tide_pending *out) {
  if (!record) return false;
  const struct tide_op *op = TIDE_CONTAINER(record, struct tide_op_signal, record)->op;
  *out = (struct tide_pending){record->node.key, op->queue->position.axis, op->work.epoch, NULL,
                               op->queue};
  if (!record->external) out->frontier = tide_queue_record_of_others(op->queue, op->work.epoch);
  return true;
}

static bool pending_from_source(const struct tide_timeline *timeline, uint64_t value,
                                struct tide_pending *out) {
  struct tide_record_view view;
  if (!timeline->ops->find(timeline->backing, value, &view)) return false;
  *out = (struct tide_pending){view.value, view.axis, view.epoch, view.frontier, NULL};
  return true;
}

/* Finds the lowest pending record >= value. False if there is none. */
static inline bool find_pending(const struct tide_timeline *timeline, uint64_t value,
                                struct tide_pending *out) {
  struct tide_queue *queue = timeline->backing;
  uint64_t epoch;
  if (tide_timeline_has_ring(timeline))
    return pending_of_record(tide_timeline_pending(timeline, value), out);
  if (timeline->ops != &tide_queue_backing || !queue)
    return pending_from_source(timeline, value, out);
  if (!tide_queue_find(queue, value, &epoch)) return false;
  *out = (struct tide_pending){epoch, queue->position.axis, epoch,
                               tide_queue_record_of_others(queue, epoch), queue};
  return true;
}

static const struct tide_pending *find_above(const struct tide_op_wait *wait,
                                             struct tide_pending *out) {
  bool found = find_pending(wait->timeline, wait->value, out);
  while (found && !out->frontier) found = find_pending(wait->timeline, out->value + 1, out);
  return found ? out : NULL;
}

/* Returns the lowest pending record with a frontier, NULL if none. That is usually the lookup
 * result, else it is stored in `storage`. Reaching it implies that the value was passed. */
static inline const struct tide_pending *find_tracked(const struct tide_queue *queue,
                                                      const struct tide_op_wait *wait,
                                                      struct tide_pending *storage) {
  const struct tide_pending *found = found_of(queue, wait);
  return found->frontier ? found : find_above(wait, storage);
}

/* Returns the record's frontier, with the own entry of its epoch. */
static inline const struct tide_frontier *frontier_of(const struct tide_pending *pending) {
  return pending->queue ? tide_queue_record(pending->queue, pending->epoch) : pending->frontier;
}

bool tide_promise_view(const struct tide_timeline *timeline, uint64_t value,
                       struct tide_record_view *out_view) {
  struct tide_pending pending;
  if (!find_pending(timeline, value, &pending)) return false;
  const struct tide_frontier *frontier = pending.frontier ? frontier_of(&pending) : NULL;
  *out_view = (struct tide_record_view){.value = pending.value,
                                        .axis = frontier ? pending.axis : 0,
                                        .epoch = pending.epoch,
                                        .frontier = frontier};
  return true;
}

bool tide_promise_remains(const struct tide_timeline *timeline) {
  const struct tide_queue *queue = timeline->ops == &tide_queue_backing ? timeline->backing : NULL;
  if (!queue) return timeline->pending.first || timeline->reserved.first;
  return queue->published < queue->position.epoch || !tide_list_empty(&queue->held);
}

bool tide_signaller_satisfied(struct tide_sched *sched, const struct tide_frontier *known,
                              tide_axis axis, uint64_t epoch, uint8_t *out_reason) {
  if (tide_frontier_get(known, axis) >= epoch) {
    *out_reason = TIDE_REASON_KNOWN;
    return true;
  }
  if (tide_tracker_finished(sched->context->tracker, axis, epoch)) {
    *out_reason = TIDE_REASON_FINISHED;
    return true;
  }
  *out_reason = TIDE_REASON_KNOWN;
  return tide_collectives_imply(sched, known, axis, epoch);
}

/* ---- pass one: classify ------------------------------------------------------ */

static inline enum tide_wait_class classify_value(const struct tide_timeline *timeline,
                                                  uint64_t value, struct tide_pending *out) {
  if (timeline->reached.value >= value) return TIDE_WAIT_RESOLVED;
  if (tide_timeline_has_failed(timeline, value)) return TIDE_WAIT_FAILED;
  return find_pending(timeline, value, out) ? TIDE_WAIT_ISSUED : TIDE_WAIT_HELD;
}

static inline bool frontier_has(const struct tide_frontier *known, tide_axis axis, uint64_t epoch) {
  return tide_frontier_look_up(known, axis) >= epoch;
}

static inline bool is_known(const struct tide_sched *sched, const struct tide_pending *pending) {
  if (!pending->frontier) return false;
  return frontier_has(sched->known, pending->axis, pending->epoch) ||
         (__builtin_expect(sched->instances != 0, 0) &&
          tide_collectives_imply(sched, sched->known, pending->axis, pending->epoch));
}

/* Classifies a wait. A known record is marked so at once (TIDE_REASON_KNOWN); the wait is elided
 * when the operation is certain to enter. */
static inline void classify_wait(const struct tide_op *op, struct tide_op_wait *wait) {
  const struct tide_queue *queue = op->queue;
  struct tide_pending pending;
  wait->axis = 0;
  wait->beyond = TIDE_BEYOND_NONE;
  wait->reason = TIDE_REASON_NONE;
  wait->open = wait->finish = false;
  if (__builtin_expect(wait->point, 0)) {
    wait->class_ = tide_point_wait_class(op, wait);
    if (wait->class_ != TIDE_WAIT_ISSUED) return;
  }
  wait->class_ = classify_value(wait->timeline, wait->value, &pending);
  if (wait->class_ != TIDE_WAIT_ISSUED) return;
  if (!is_known(queue->sched, &pending)) {
    *found_of(queue, wait) = pending;
    return;
  }
  wait->reason = TIDE_REASON_KNOWN;
  wait->axis = pending.axis;
  wait->epoch = pending.epoch;
  tide_wait_set_record(queue, wait, pending.value);
}

/* ---- pass two: import --------------------------------------------------------- */

/* Joins a frontier with the queue's own in the next version. False: there is no room. Only new
 * taint enters `known` then: the queue's older taint is kept apart. */
static bool join_next(struct tide_queue *queue, const struct tide_frontier *frontier) {
  struct tide_frontier *next = tide_queue_next_frontier(queue);
  tide_queue_own_entry(queue);
  if (!tide_frontier_join(next, queue->apart->capacity, queue->position.frontier, frontier))
    return false;
  next->tainted = frontier->tainted;
  queue->sched->known = next;
  return true;
}

/* True if the union fits, with the own entry, which `next` may not list yet. */
static bool union_fits(const struct tide_queue *queue, const struct tide_frontier *next,
                       const struct tide_frontier *more) {
  size_t own = tide_frontier_look_up(next, queue->position.axis) == 0;
  return next->count + more->count + own <= next->capacity ||
         next->count + tide_frontier_count_new(next, more) + own <= next->capacity;
}

TIDE_APART static void merge_in_scratch(struct tide_queue *queue,
                                        const struct tide_frontier *frontier) {
  struct tide_sched *sched = queue->sched;
  struct tide_eviction eviction = {sched->context->tracker, queue->position.axis};
  if (sched->known != sched->scratch) {
    tide_frontier_copy(sched->scratch, sched->known, NULL);
    if (sched->known == queue->position.frontier) sched->scratch->tainted = 0;
    sched->known = sched->scratch;
  }
  tide_frontier_merge(sched->scratch, frontier, &eviction);
}

/* Merges in `scratch` if there is no room: eviction then chooses among all entries. */
void tide_sched_learn(struct tide_queue *queue, const struct tide_frontier *frontier) {
  struct tide_frontier *next = tide_queue_next_frontier(queue);
  const struct tide_frontier *known = queue->sched->known;
  if (known == queue->position.frontier && join_next(queue, frontier)) return;
  if (known == next && union_fits(queue, next, frontier)) tide_frontier_merge(next, frontier, NULL);
  else merge_in_scratch(queue, frontier);
}

/* Imports a record's frontier, with the signaller. False: it takes too much room, or probably
 * would: a tainted frontier lacks some entries already. */
static bool learn_record(struct tide_queue *queue, const struct tide_frontier *frontier) {
  struct tide_frontier *next = tide_queue_next_frontier(queue);
  const struct tide_frontier *known = queue->sched->known;
  bool is_tainted = queue->position.frontier->tainted || known->tainted;
  if (is_tainted && !known->window && known->count + frontier->count > known->capacity)
    return false;
  if (known == queue->position.frontier) return join_next(queue, frontier);
  if (!union_fits(queue, next, frontier)) return false;
  tide_frontier_merge(next, frontier, NULL);
  return true;
}

/* Finished entries are of no use, but each costs a look. */
#define LOOK_EACH 8u

/* Imports a signaller alone. So an operation's cost does not grow with the number of queues. The
 * entries that are left out cost elisions. */
TIDE_APART static void learn_signaller(struct tide_queue *queue, tide_axis axis, uint64_t epoch) {
  struct tide_sched *sched = queue->sched;
  struct tide_frontier *next = tide_queue_next_frontier(queue);
  struct tide_eviction eviction = {sched->context->tracker, queue->position.axis};
  if (sched->known != next) {
    tide_queue_own_entry(queue);
    tide_frontier_init(next, queue->apart->capacity);
    tide_frontier_copy(next, sched->known, NULL);
    sched->known = next;
  }
  next->tainted = 1;
  if (next->count == next->capacity && tide_frontier_look_up(next, axis) == 0) {
    if (queue->shed++ % LOOK_EACH) eviction.tracker = NULL;
    tide_frontier_make_room(next, &eviction);
  }
  tide_frontier_raise(next, axis, epoch, &eviction);
}

/* Imports a pending record. */
static void import_record(struct tide_queue *queue, const struct tide_pending *record) {
  if (!learn_record(queue, frontier_of(record)))
    learn_signaller(queue, record->axis, record->epoch);
}

/* True if the record's signaller has finished. Not for a pending record of a queue: its epoch
 * finishes and its values resolve under the lock, in one step. */
static inline bool signaller_finished(const struct tide_sched *sched,
                                      const struct tide_pending *pending) {
  return !pending->queue &&
         tide_tracker_finished(sched->context->tracker, pending->axis, pending->epoch);
}

TIDE_APART static void import_resolved(struct tide_queue *queue, struct tide_op_wait *wait) {
  struct tide_record_view view;
  bool found = tide_timeline_reached_locked(wait->timeline, wait->value, &view);
  tide_queue_own_entry(queue); /* the lookup may have set an older epoch */
  if (!found || !view.frontier) return;
  /* A known epoch was imported already. Of a finished one all has finished, and little is lost. */
  if (tide_frontier_get(queue->sched->known, view.axis) < view.epoch &&
      !learn_record(queue, view.frontier) &&
      !tide_tracker_finished(queue->sched->context->tracker, view.axis, view.epoch))
    learn_signaller(queue, view.axis, view.epoch);
  wait->axis = view.axis;
  wait->epoch = view.epoch;
  tide_wait_set_record(queue, wait, view.value);
}

static inline void mark_elided(const struct tide_queue *queue, struct tide_op_wait *wait,
                               tide_axis axis, uint64_t epoch, uint64_t value,
                               enum tide_wait_reason reason) {
  wait->class_ = TIDE_WAIT_ELIDED;
  wait->reason = reason;
  wait->axis = axis;
  wait->epoch = epoch;
  tide_wait_set_record(queue, wait, value);
}

static void elide_wait(struct tide_queue *queue, struct tide_op_wait *wait,
                       const struct tide_pending *record, enum tide_wait_reason reason) {
  mark_elided(queue, wait, record->axis, record->epoch, record->value, reason);
  if (reason != TIDE_REASON_KNOWN) import_record(queue, record);
}

/* True if the record is known or its signaller has finished; *out_reason says which. */
static inline bool is_settled(struct tide_queue *queue, const struct tide_op_wait *wait,
                              const struct tide_pending *record, uint8_t *out_reason) {
  const struct tide_sched *sched = queue->sched;
  /* Before the first import, pass one has already found that the record is unknown. */
  bool news = sched->known != queue->position.frontier || record != found_of(queue, wait);
  *out_reason = TIDE_REASON_KNOWN;
  if (news && tide_frontier_get(sched->known, record->axis) >= record->epoch) return true;
  if (news && tide_collectives_imply(sched, sched->known, record->axis, record->epoch)) return true;
  *out_reason = TIDE_REASON_FINISHED;
  return signaller_finished(sched, record);
}

/* Elides waits for known or finished records until no import adds one. Returns the number left. */
static size_t elide_known(struct tide_queue *queue, struct tide_op *op) {
  struct tide_pending storage;
  bool again = true;
  size_t remaining = 0;
  while (again) {
    again = false;
    remaining = 0;
    for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
      uint8_t reason;
      if (wait->class_ != TIDE_WAIT_ISSUED) continue;
      const struct tide_pending *record = find_tracked(queue, wait, &storage);
      if (!record || !is_settled(queue, wait, record, &reason)) {
        remaining++;
        continue;
      }
      elide_wait(queue, wait, record, (enum tide_wait_reason)reason);
      again |= reason != TIDE_REASON_KNOWN;
    }
  }
  return remaining;
}

/* True if an issued wait imports the record, and waits for its value. A record above the wait's
 * value is imported only if no host can signal in between. */
static bool imports_record(const struct tide_op_wait *wait, const struct tide_pending *record) {
  return record->frontier && (record->value == wait->value || wait->timeline->operations_only);
}
/* Returns the record that the wait imports, NULL if none. */
static const struct tide_pending *import_of(const struct tide_queue *queue,
                                            const struct tide_op_wait *wait) {
  const struct tide_pending *found = found_of(queue, wait);
  return imports_record(wait, found) ? found : NULL;
}

/* Orders waits for one signaller by timeline number and value, so that runs are reproducible. The
 * address decides only between equal waits. */
static bool goes_first(const struct tide_op_wait *a, const struct tide_op_wait *b) {
  if (a->timeline != b->timeline) return a->timeline->number < b->timeline->number;
  return a->value < b->value || (a->value == b->value && (uintptr_t)a < (uintptr_t)b);
}

/* True if the import of `other` implies `needed`. Causality has no cycles, so two waits imply each
 * other only if one operation signals both: then the first in order stays. */
static bool import_covers(const struct tide_queue *queue, const struct tide_op_wait *other,
                          const struct tide_op_wait *wait, const struct tide_pending *needed) {
  const struct tide_pending *brought = import_of(queue, other);
  if (!brought) return false;
  if (brought->axis == needed->axis) {
    if (brought->epoch != needed->epoch) return brought->epoch > needed->epoch;
    return !import_of(queue, wait) || goes_first(other, wait);
  }
  return tide_frontier_get(brought->frontier, needed->axis) >= needed->epoch ||
         tide_collectives_imply(queue->sched, brought->frontier, needed->axis, needed->epoch);
}

static bool sibling_covers(const struct tide_op *op, const struct tide_op_wait *wait,
                           const struct tide_pending *needed) {
  for (const struct tide_op_wait *other = tide_op_waits(op); other;
       other = tide_wait_next(op, other)) {
    bool was_issued = other->class_ == TIDE_WAIT_ISSUED || other->reason == TIDE_REASON_SIBLING;
    if (other != wait && was_issued && import_covers(op->queue, other, wait, needed)) return true;
  }
  return false;
}

/* The union of all issued waits' imports: their signallers and, apart, the other entries of their
 * frontiers. A wait's own import cannot cover it here, unless two waits share a signaller. So most
 * of many waits need no comparison in pairs. */
struct brought {
  TIDE_FRONTIER_STORAGE(signallers, TIDE_FRONTIER_CAPACITY_MAX);
  TIDE_FRONTIER_STORAGE(others, TIDE_FRONTIER_CAPACITY_MAX);
  bool same_signaller;
};

/* Up to this number, issued waits are compared in pairs, which is cheaper. */
#define FEW 8u

static void add_brought(const struct tide_queue *queue, struct brought *all,
                        const struct tide_op_wait *wait) {
  const struct tide_pending *own = wait->class_ == TIDE_WAIT_ISSUED ? import_of(queue, wait) : NULL;
  if (!own) return;
  struct tide_frontier_entry entry;
  all->same_signaller |= tide_frontier_get(&all->signallers.frontier, own->axis) == own->epoch;
  tide_frontier_raise(&all->signallers.frontier, own->axis, own->epoch, NULL);
  for (struct tide_frontier_cursor at = tide_frontier_begin(own->frontier);
       tide_frontier_next(&at, &entry);)
    if (entry.axis != own->axis)
      tide_frontier_raise(&all->others.frontier, entry.axis, entry.epoch, NULL);
}

enum covered { NOT_COVERED, COVERED, PERHAPS_COVERED };

static enum covered covered_by(const struct tide_queue *queue, const struct brought *all,
                               const struct tide_op_wait *wait, const struct tide_pending *needed) {
  uint64_t signaller = tide_frontier_get(&all->signallers.frontier, needed->axis);
  if (signaller > needed->epoch ||
      tide_frontier_get(&all->others.frontier, needed->axis) >= needed->epoch)
    return COVERED;
  if (all->signallers.frontier.tainted || all->others.frontier.tainted) return PERHAPS_COVERED;
  if (queue->sched->instances) return PERHAPS_COVERED; /* an instance stands for its members */
  if (signaller < needed->epoch) return NOT_COVERED;
  return all->same_signaller || !import_of(queue, wait) ? PERHAPS_COVERED : NOT_COVERED;
}

static void elide_by_siblings(struct tide_queue *queue, struct tide_op *op, size_t issued) {
  struct brought all;
  if (issued > FEW) {
    tide_frontier_init(&all.signallers.frontier, TIDE_FRONTIER_CAPACITY_MAX);
    tide_frontier_init(&all.others.frontier, TIDE_FRONTIER_CAPACITY_MAX);
    all.same_signaller = false;
    for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
      add_brought(queue, &all, wait);
  }
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    struct tide_pending storage;
    if (wait->class_ != TIDE_WAIT_ISSUED) continue;
    const struct tide_pending *needed = find_tracked(queue, wait, &storage);
    if (!needed) continue;
    enum covered covered = issued > FEW ? covered_by(queue, &all, wait, needed) : PERHAPS_COVERED;
    if (covered == NOT_COVERED) continue;
    if (covered == PERHAPS_COVERED && !sibling_covers(op, wait, needed)) continue;
    wait->class_ = TIDE_WAIT_ELIDED;
    wait->reason = TIDE_REASON_SIBLING;
  }
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    struct tide_pending storage;
    if (wait->class_ != TIDE_WAIT_ELIDED || wait->reason != TIDE_REASON_SIBLING) continue;
    const struct tide_pending *record = find_tracked(queue, wait, &storage);
    if (record) elide_wait(queue, wait, record, TIDE_REASON_SIBLING);
  }
}

/* Marks a wait as issued. True if it imports the record. */
static inline bool mark_issued(const struct tide_queue *queue, struct tide_op_wait *wait,
                               const struct tide_pending *record) {
  wait->reason = TIDE_REASON_UNKNOWN;
  tide_wait_set_record(queue, wait, record->value);
  if (!imports_record(wait, record)) return false;
  wait->axis = record->axis;
  wait->epoch = record->epoch;
  return true;
}

static void issue_wait(struct tide_queue *queue, struct tide_op_wait *wait) {
  const struct tide_pending *record = found_of(queue, wait);
  if (mark_issued(queue, wait, record)) import_record(queue, record);
}

/* Imports the records of waits that the queue's own frontier does not imply. Elides those that an
 * import implies. */
static void import_waits(struct tide_queue *queue, struct tide_op *op) {
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    if (wait->class_ == TIDE_WAIT_RESOLVED) import_resolved(queue, wait);
  size_t remaining = elide_known(queue, op);
  if (remaining > 1) elide_by_siblings(queue, op, remaining);
  for (struct tide_op_wait *wait = tide_op_waits(op); remaining && wait;
       wait = tide_wait_next(op, wait))
    if (wait->class_ == TIDE_WAIT_ISSUED) issue_wait(queue, wait);
}

/* Clears the taint once the tracker passes the epoch where it arose: its past has finished. Not
 * after the loss of a machine: that epoch may have failed, and an evicted entry been known only by
 * a signaller there. */
static void clear_finished_taint(struct tide_queue *queue) {
  if (tide_tracker_is_severed(queue->sched->context->tracker)) return;
  if (!queue->taint_epoch || tide_tracker_axis_epoch(queue->tracked) < queue->taint_epoch) return;
  /* A copy, since the records of earlier epochs keep the taint. */
  tide_frontier_copy(queue->apart, queue->position.frontier, NULL);
  queue->position.frontier = queue->apart;
  if (queue->in_order) /* the copy may list the own entry elsewhere */
    queue->version.own = (uint32_t)tide_frontier_slot(queue->apart, queue->position.axis);
  queue->apart->tainted = 0;
  queue->taint_epoch = 0;
  queue->renew = true;
}

enum tide_verdict tide_elide(struct tide_queue *queue, struct tide_op *op) {
  tide_queue_own_entry(queue);
  if (queue->position.frontier->tainted) clear_finished_taint(queue);
  queue->sched->known = queue->position.frontier;
  bool failed = queue->channel && tide_channel_fails_held(op), held = false;
  size_t unknowns = 0;
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait)) {
    classify_wait(op, wait);
    failed |= wait->class_ == TIDE_WAIT_FAILED;
    held |= wait->class_ == TIDE_WAIT_HELD;
    unknowns += wait->reason != TIDE_REASON_KNOWN;
  }
  failed |= op->status != TIDE_OK;
  if (held && !failed) return TIDE_ENTER_HELD;
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    if (wait->reason == TIDE_REASON_KNOWN) wait->class_ = TIDE_WAIT_ELIDED;
  if (unknowns) import_waits(queue, op);
  return failed ? TIDE_ENTER_FAILS : TIDE_ENTER_OK;
}

/* ---- signals ---------------------------------------------------------------------- */

static enum tide_status check_order(struct tide_queue *queue, struct tide_op *op,
                                    const struct tide_op_signal *signal, struct tide_diag *diag) {
  const struct tide_timeline *timeline = signal->record.timeline;
  const struct tide_record *newest = (const void *)timeline->pending.last;
  struct tide_sched *sched = queue->sched;
  uint8_t reason;
  if (!newest || signal->record.external) return TIDE_OK;
  const struct tide_op_signal *other = TIDE_CONTAINER(newest, struct tide_op_signal, record);
  const struct tide_op *first = other->op;
  tide_axis axis = first->queue->position.axis;
  if (axis == queue->position.axis) return TIDE_OK;
  if (tide_signaller_satisfied(sched, sched->known, axis, first->work.epoch, &reason) ||
      tide_order_is_behind(op, first))
    return TIDE_OK;
  return tide_diag_set(
      diag, TIDE_UNORDERED,
      "operation '%s' of queue '%s' would signal timeline '%s' = %lu, but is not "
      "ordered behind operation '%s' of queue '%s', which signals %lu: add a wait for "
      "'%s' >= %lu",
      TIDE_OP_NAME(op), queue->label, timeline->label, (unsigned long)signal->record.node.key,
      TIDE_OP_NAME(other->op), other->op->queue->label, (unsigned long)newest->node.key,
      timeline->label, (unsigned long)newest->node.key);
}

static enum tide_status check_signal(struct tide_queue *queue, struct tide_op *op,
                                     const struct tide_op_signal *signal, struct tide_diag *diag) {
  const struct tide_timeline *timeline = signal->record.timeline;
  uint64_t value = signal->record.node.key;
  uint64_t now = tide_timeline_newest(timeline);
  if (value <= now)
    return tide_diag_set(
        diag, TIDE_VALUE,
        "operation '%s' would signal timeline '%s' = %lu, which does not go up: %lu is "
        "reached or promised",
        TIDE_OP_NAME(op), timeline->label, (unsigned long)value, (unsigned long)now);
  if (timeline->reserved.first && timeline->reserved.first->key <= value) {
    const struct tide_op_signal *held = (const void *)timeline->reserved.first;
    return tide_diag_set(
        diag, TIDE_UNORDERED,
        "operation '%s' would signal timeline '%s' = %lu, but held operation '%s' of "
        "queue '%s' is to signal %lu",
        TIDE_OP_NAME(op), timeline->label, (unsigned long)value, TIDE_OP_NAME(held->op),
        held->op->queue->label, (unsigned long)timeline->reserved.first->key);
  }
  return check_order(queue, op, signal, diag);
}

enum tide_status tide_signals_check(struct tide_queue *queue, struct tide_op *op,
                                    struct tide_diag *diag) {
  for (struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next) {
    enum tide_status status = check_signal(queue, op, signal, diag);
    if (status != TIDE_OK) return status;
  }
  return TIDE_OK;
}
