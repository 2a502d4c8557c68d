/* Which waits remain. Two passes: every wait is looked at before anything is
 * imported, so that an operation that must be held has learned nothing. */
#include "base/plant.h"
#include "base/text.h"
#include "causal/tracker.h"
#include "sched/sched.h"

/* Reads a timeline's record for a value that is not reached, whoever keeps it. */
struct pending {
  uint64_t value;
  tide_axis axis;
  uint64_t epoch;
  const struct tide_frontier *frontier; /* NULL: external. Valid until the next look-up */
};

static inline bool view_of(const struct tide_record *record, struct pending *out) {
  if (!record) return false;
  const struct tide_op *op = TIDE_CONTAINER(record, struct tide_op_signal, record)->op;
  *out = (struct pending){record->node.key, op->work.axis, op->work.epoch, NULL};
  if (!record->external) out->frontier = tide_queue_record(op->queue, op->work.epoch);
  return true;
}

static bool pending_from_source(const struct tide_timeline *timeline, uint64_t value,
                                struct pending *out) {
  struct tide_record_view view;
  if (!timeline->source->find(timeline->source_self, value, &view)) return false;
  *out = (struct pending){view.value, view.axis, view.epoch, view.frontier};
  return true;
}

/* The smallest pending record >= what is waited for. */
static inline bool find_pending(const struct tide_op_wait *wait, struct pending *out) {
  if (wait->timeline->source) return pending_from_source(wait->timeline, wait->value, out);
  return view_of(tide_timeline_pending(wait->timeline, wait->value), out);
}

/* The smallest *tracked* one: reaching it implies that the value was passed. */
static bool find_tracked(const struct tide_op_wait *wait, struct pending *out) {
  if (wait->timeline->source) return pending_from_source(wait->timeline, wait->value, out);
  struct tide_record *record = tide_timeline_pending(wait->timeline, wait->value);
  while (record && record->external)
    record = tide_timeline_pending(wait->timeline, record->node.key + 1);
  return view_of(record, out);
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
  return false;
}

/* ---- pass one: look ---------------------------------------------------------- */

/* An issued wait whose record the queue knows already says so (KNOWN); it is elided once it is
 * clear that the operation enters. */
static void look_at(struct tide_sched *sched, struct tide_op_wait *wait) {
  const struct tide_timeline *timeline = wait->timeline;
  struct pending pending;
  wait->axis = 0;
  wait->record_value = 0;
  wait->reason = TIDE_REASON_NONE;
  wait->open = wait->finish = false;
  if (timeline->reached.value >= wait->value) {
    wait->class_ = TIDE_WAIT_RESOLVED;
  } else if (tide_timeline_has_failed(timeline, wait->value)) {
    wait->class_ = TIDE_WAIT_FAILED;
  } else if (!find_pending(wait, &pending)) {
    wait->class_ = TIDE_WAIT_HELD;
  } else {
    wait->class_ = TIDE_WAIT_ISSUED;
    if (!pending.frontier || tide_frontier_get(sched->known, pending.axis) < pending.epoch) return;
    wait->reason = TIDE_REASON_KNOWN;
    wait->axis = pending.axis;
    wait->epoch = pending.epoch;
    wait->record_value = pending.value;
  }
}

/* ---- pass two: learn ----------------------------------------------------------- */

/* `known` is the queue's own frontier until something is learned; then it is a copy. Taint that
 * arises in the copy is told apart from taint that was there before. */
struct learning {
  struct tide_sched *sched;
  struct tide_eviction eviction;
};

void tide_sched_learn(struct tide_sched *sched, const struct tide_frontier *frontier,
                      const struct tide_eviction *eviction) {
  if (sched->known != sched->scratch) {
    tide_frontier_copy(sched->scratch, sched->known, NULL);
    sched->scratch->tainted = 0;
    sched->known = sched->scratch;
  }
  tide_frontier_merge(sched->scratch, frontier, eviction);
}

static void import(struct learning *l, const struct tide_frontier *frontier) {
  tide_sched_learn(l->sched, frontier, &l->eviction);
}

static void import_resolved(struct learning *l, struct tide_op_wait *wait) {
  struct tide_record_view view;
  if (!tide_timeline_reached_locked(wait->timeline, wait->value, &view) || !view.frontier) return;
  /* Whoever is known was imported with all that it knew. */
  if (tide_frontier_get(l->sched->known, view.axis) < view.epoch) import(l, view.frontier);
  wait->axis = view.axis;
  wait->epoch = view.epoch;
  wait->record_value = view.value;
}

static void elide(struct learning *l, struct tide_op_wait *wait, const struct pending *record,
                  uint8_t reason) {
  wait->class_ = TIDE_WAIT_ELIDED;
  wait->reason = reason;
  wait->axis = record->axis;
  wait->epoch = record->epoch;
  wait->record_value = record->value;
  /* Whoever is known was imported with all that it knew. */
  if (reason != TIDE_REASON_KNOWN) import(l, record->frontier);
}

/* Elides what is known or finished; what that teaches may elide more. */
static void elide_known(struct learning *l, struct tide_op *op) {
  struct pending record;
  bool again = true;
  while (again) {
    again = false;
    for (struct tide_op_wait *wait = op->waits; wait; wait = wait->next) {
      uint8_t reason;
      if (wait->class_ != TIDE_WAIT_ISSUED) continue;
      if (!find_tracked(wait, &record)) continue;
      if (!tide_signaller_satisfied(l->sched, l->sched->known, record.axis, record.epoch,
                                    &reason) &&
          !TIDE_PLANTED(TIDE_PLANT_ELIDE))
        continue;
      elide(l, wait, &record, reason);
      again |= reason != TIDE_REASON_KNOWN;
    }
  }
}

/* What an issued wait imports, and for which value it really waits. A record above the value asked
 * for is waited for only where nobody but an operation could signal in between. */
static bool imports(const struct tide_op_wait *wait, const struct pending *record) {
  return record->frontier && (record->value == wait->value || wait->timeline->operations_only ||
                              TIDE_PLANTED(TIDE_PLANT_RAISEWAIT));
}
static bool import_of(const struct tide_op_wait *wait, struct pending *out) {
  return find_pending(wait, out) && imports(wait, out);
}

/* An order among waits for the same signaller that does not depend on how they were listed. */
static bool goes_first(const struct tide_op_wait *a, const struct tide_op_wait *b) {
  if (a->timeline != b->timeline) return (uintptr_t)a->timeline < (uintptr_t)b->timeline;
  return a->value < b->value || (a->value == b->value && (uintptr_t)a < (uintptr_t)b);
}

/* Does `other`, issued, bring what `wait` needs? Causality has no cycles, so two waits cover each
 * other only when one operation signals both: then the one that goes first stays. */
static bool covers(const struct tide_op_wait *other, const struct tide_op_wait *wait,
                   const struct pending *needed) {
  struct pending brought, own;
  if (!import_of(other, &brought)) return false;
  if (brought.axis == needed->axis) {
    if (brought.epoch != needed->epoch) return brought.epoch > needed->epoch;
    return !import_of(wait, &own) || goes_first(other, wait);
  }
  return tide_frontier_get(brought.frontier, needed->axis) >= needed->epoch;
}

static bool pair_covers(const struct tide_op *op, const struct tide_op_wait *wait,
                        const struct pending *needed) {
  for (const struct tide_op_wait *other = op->waits; other; other = other->next) {
    bool was_issued = other->class_ == TIDE_WAIT_ISSUED || other->reason == TIDE_REASON_SIBLING;
    if (other != wait && was_issued && covers(other, wait, needed)) return true;
  }
  return false;
}

/* What all issued waits bring together, so that most of many need not be compared in pairs: the
 * signallers, and apart from them what these knew of others. No wait is in its own way then, but
 * where two have the same signaller. */
struct brought {
  TIDE_FRONTIER_STORAGE(signallers, TIDE_FRONTIER_CAPACITY_MAX);
  TIDE_FRONTIER_STORAGE(others, TIDE_FRONTIER_CAPACITY_MAX);
  bool same_signaller;
};

/* Where comparing in pairs is cheaper. The oracle's operations are small, and it is to see both. */
#define FEW (TIDE_HAS_PLANTS ? 2u : 8u)

static void add_brought(struct brought *all, const struct tide_op_wait *wait) {
  struct pending own;
  if (wait->class_ != TIDE_WAIT_ISSUED || !import_of(wait, &own)) return;
  const tide_axis *axes = tide_frontier_axes(own.frontier);
  const uint64_t *epochs = tide_frontier_epochs(own.frontier);
  all->same_signaller |= tide_frontier_get(&all->signallers.frontier, own.axis) == own.epoch;
  tide_frontier_raise(&all->signallers.frontier, own.axis, own.epoch, NULL);
  for (uint8_t i = 0; i < own.frontier->count; i++)
    if (axes[i] != own.axis) tide_frontier_raise(&all->others.frontier, axes[i], epochs[i], NULL);
}

enum covered { NOT_COVERED, COVERED, PERHAPS_COVERED };

static enum covered covered_by(const struct brought *all, const struct tide_op_wait *wait,
                               const struct pending *needed) {
  struct pending own;
  uint64_t signaller = tide_frontier_get(&all->signallers.frontier, needed->axis);
  if (signaller > needed->epoch ||
      tide_frontier_get(&all->others.frontier, needed->axis) >= needed->epoch)
    return COVERED;
  if (all->signallers.frontier.tainted || all->others.frontier.tainted) return PERHAPS_COVERED;
  if (signaller < needed->epoch) return NOT_COVERED;
  return all->same_signaller || !import_of(wait, &own) ? PERHAPS_COVERED : NOT_COVERED;
}

static void elide_by_siblings(struct learning *l, struct tide_op *op, size_t issued) {
  struct brought all;
  if (issued > FEW) {
    tide_frontier_init(&all.signallers.frontier, TIDE_FRONTIER_CAPACITY_MAX);
    tide_frontier_init(&all.others.frontier, TIDE_FRONTIER_CAPACITY_MAX);
    all.same_signaller = false;
    for (struct tide_op_wait *wait = op->waits; wait; wait = wait->next) add_brought(&all, wait);
  }
  for (struct tide_op_wait *wait = op->waits; wait; wait = wait->next) {
    struct pending needed;
    if (wait->class_ != TIDE_WAIT_ISSUED) continue;
    if (!find_tracked(wait, &needed)) continue;
    enum covered covered = issued > FEW ? covered_by(&all, wait, &needed) : PERHAPS_COVERED;
    if (covered == NOT_COVERED) continue;
    if (covered == PERHAPS_COVERED && !pair_covers(op, wait, &needed)) continue;
    wait->class_ = TIDE_WAIT_ELIDED;
    wait->reason = TIDE_REASON_SIBLING;
  }
  for (struct tide_op_wait *wait = op->waits; wait; wait = wait->next) {
    struct pending record;
    if (wait->class_ == TIDE_WAIT_ELIDED && wait->reason == TIDE_REASON_SIBLING &&
        find_tracked(wait, &record))
      elide(l, wait, &record, TIDE_REASON_SIBLING);
  }
}

static void issue(struct learning *l, struct tide_op_wait *wait) {
  struct pending record;
  wait->reason = TIDE_REASON_UNKNOWN;
  wait->wait_value = wait->value;
  if (!find_pending(wait, &record)) return;
  wait->record_value = record.value;
  if (!imports(wait, &record)) return;
  wait->axis = record.axis;
  wait->epoch = record.epoch;
  if (wait->timeline->operations_only) wait->wait_value = record.value;
  import(l, record.frontier);
}

/* The waits that the queue's own knowledge did not settle. */
static void learn(struct learning *l, struct tide_op *op) {
  size_t remaining = 0;
  for (struct tide_op_wait *wait = op->waits; wait; wait = wait->next)
    if (wait->class_ == TIDE_WAIT_RESOLVED) import_resolved(l, wait);
  elide_known(l, op);
  for (struct tide_op_wait *wait = op->waits; wait; wait = wait->next)
    remaining += wait->class_ == TIDE_WAIT_ISSUED;
  if (remaining > 1) elide_by_siblings(l, op, remaining);
  for (struct tide_op_wait *wait = op->waits; remaining && wait; wait = wait->next)
    if (wait->class_ == TIDE_WAIT_ISSUED) issue(l, wait);
}

enum tide_verdict tide_elide_waits(struct tide_queue *queue, struct tide_op *op) {
  struct tide_sched *sched = queue->sched;
  bool failed = false, held = false, more = false;
  for (struct tide_op_wait *wait = op->waits; wait; wait = wait->next) {
    look_at(sched, wait);
    failed |= wait->class_ == TIDE_WAIT_FAILED;
    held |= wait->class_ == TIDE_WAIT_HELD;
    more |= wait->reason != TIDE_REASON_KNOWN;
  }
  bool keeps_nothing = held && !failed;
  if (keeps_nothing && !TIDE_PLANTED(TIDE_PLANT_TWOPHASE)) return TIDE_ENTER_HELD;
  for (struct tide_op_wait *wait = op->waits; wait; wait = wait->next)
    if (wait->reason == TIDE_REASON_KNOWN) wait->class_ = TIDE_WAIT_ELIDED;
  if (!more && !TIDE_HAS_PLANTS) return TIDE_ENTER_OK;
  struct learning l = {sched, {sched->context->tracker, queue->position.axis}};
  if (TIDE_PLANTED(TIDE_PLANT_OWNKNOWN) && queue->position.epoch) {
    import(&l, queue->position.frontier);
    tide_frontier_raise(sched->scratch, queue->position.axis, queue->position.epoch, &l.eviction);
  }
  learn(&l, op);
  if (keeps_nothing) { /* only with the planted bug */
    if (sched->known == sched->scratch)
      tide_frontier_copy(queue->position.frontier, sched->known, &l.eviction);
    return TIDE_ENTER_HELD;
  }
  return failed ? TIDE_ENTER_FAILS : TIDE_ENTER_OK;
}

/* All of a taint's past has finished once the tracker passes the epoch where it arose. */
void tide_sched_heal(struct tide_queue *queue) {
  if (!queue->taint_epoch || tide_tracker_axis_epoch(queue->tracked) < queue->taint_epoch) return;
  queue->position.frontier->tainted = 0;
  queue->taint_epoch = 0;
  queue->renew = true;
}

/* ---- signals ---------------------------------------------------------------------- */

static const char *name_of(const struct tide_op *op) {
  return op->work.label[0] ? op->work.label : "?";
}

static enum tide_status check_order(struct tide_queue *queue, struct tide_op *op,
                                    const struct tide_op_signal *signal, struct tide_diag *diag) {
  const struct tide_timeline *timeline = signal->record.timeline;
  const struct tide_record *newest = (const void *)timeline->pending.last;
  struct tide_sched *sched = queue->sched;
  uint8_t reason;
  if (!newest || signal->record.external) return TIDE_OK;
  const struct tide_op_signal *other = TIDE_CONTAINER(newest, struct tide_op_signal, record);
  const struct tide_work *first = &other->op->work;
  if (first->axis == queue->position.axis) return TIDE_OK;
  if (tide_signaller_satisfied(sched, sched->known, first->axis, first->epoch, &reason))
    return TIDE_OK;
  return tide_diag_set(
      diag, TIDE_UNORDERED,
      "operation '%s' of queue '%s' would signal timeline '%s' = %lu, but is not "
      "ordered behind operation '%s' of queue '%s', which signals %lu: add a wait for "
      "'%s' >= %lu",
      name_of(op), queue->label, timeline->label, (unsigned long)signal->record.node.key,
      name_of(other->op), other->op->queue->label, (unsigned long)newest->node.key, timeline->label,
      (unsigned long)newest->node.key);
}

static enum tide_status check_signal(struct tide_queue *queue, struct tide_op *op,
                                     const struct tide_op_signal *signal, struct tide_diag *diag) {
  const struct tide_timeline *timeline = signal->record.timeline;
  uint64_t value = signal->record.node.key;
  uint64_t now = tide_load_acquire(&timeline->reached.value);
  if (timeline->pending.last && timeline->pending.last->key > now)
    now = timeline->pending.last->key;
  if (value <= now)
    return tide_diag_set(
        diag, TIDE_VALUE,
        "operation '%s' would signal timeline '%s' = %lu, which does not go up: %lu is "
        "reached or promised",
        name_of(op), timeline->label, (unsigned long)value, (unsigned long)now);
  if (timeline->reserved.first && timeline->reserved.first->key <= value) {
    const struct tide_op_signal *held = (const void *)timeline->reserved.first;
    return tide_diag_set(
        diag, TIDE_UNORDERED,
        "operation '%s' would signal timeline '%s' = %lu, but held operation '%s' of "
        "queue '%s' is to signal %lu",
        name_of(op), timeline->label, (unsigned long)value, name_of(held->op),
        held->op->queue->label, (unsigned long)timeline->reserved.first->key);
  }
  return check_order(queue, op, signal, diag);
}

enum tide_status tide_signals_check(struct tide_queue *queue, struct tide_op *op,
                                    struct tide_diag *diag) {
  if (TIDE_PLANTED(TIDE_PLANT_INC)) return TIDE_OK;
  for (struct tide_op_signal *signal = op->signals; signal; signal = signal->next) {
    enum tide_status status = check_signal(queue, op, signal, diag);
    if (status != TIDE_OK) return status;
  }
  return TIDE_OK;
}
