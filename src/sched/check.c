/* Check mode: finds operations that touch the same bytes, one of them writing, and that no
 * *declared* dependency orders. Shadow clocks learn only from declared waits, from a queue's own
 * order, and from waits of the submitting thread. */
#include "base/alloc.h"
#include "sched/channel_state.h"
#include "sched/check_state.h"

/* ---- timelines ------------------------------------------------------------------- */

/* A timeline reaches a value only after all lower values that are signalled at all: a lower signal
 * that comes late fails. So the record of a value also carries those of all lower ones. */
void tide_check_record(struct tide_checker *checker, const void *timeline, uint64_t value,
                       bool below, const struct tide_shadow_clock *clock) {
  struct tide_shadow_table *table = &checker->table;
  struct tide_shadow *shadow =
      tide_shadow_get(table, TIDE_SHADOW_TIMELINE, (uint64_t)(uintptr_t)timeline);
  struct tide_shadow_record *record =
      shadow ? tide_shadow_add_record(table, shadow, value, below, clock) : NULL;
  if (!record) return;
  size_t at = (size_t)(record - shadow->records);
  if (at > 0) tide_shadow_merge(table, &record->clock, &record[-1].clock);
  while (++at < shadow->count) tide_shadow_merge(table, &shadow->records[at].clock, &record->clock);
}

void tide_check_import(struct tide_checker *checker, struct tide_shadow_clock *clock,
                       const void *timeline, uint64_t value, bool skips) {
  const struct tide_shadow *shadow =
      tide_shadow_find(&checker->table, TIDE_SHADOW_TIMELINE, (uint64_t)(uintptr_t)timeline);
  if (!shadow) return;
  const struct tide_shadow_record *lower = tide_shadow_find_below(shadow, value);
  const struct tide_shadow_record *record = tide_shadow_find_record(shadow, value);
  if (lower) tide_shadow_merge(&checker->table, clock, &lower->clock);
  if (record && (record->value == value || record->below || skips))
    tide_shadow_merge(&checker->table, clock, &record->clock);
}

/* ---- queues ---------------------------------------------------------------------------- */

struct tide_shadow_queue *tide_check_queue(struct tide_checker *checker, struct tide_queue *queue) {
  struct tide_shadow_table *table = &checker->table;
  if (queue->check_index) return &table->queues[queue->check_index - 1];
  if (!tide_shadow_grow(table, (void **)&table->queues, table->queue_count, &table->queue_capacity,
                        sizeof *table->queues))
    return NULL;
  struct tide_shadow_queue *shadow = &table->queues[table->queue_count++];
  queue->check_index = table->queue_count;
  *shadow = (struct tide_shadow_queue){.queue = queue,
                                       .device = queue->device,
                                       .progress = queue->progress,
                                       .axis = queue->position.axis,
                                       .in_order = queue->in_order};
  memcpy(shadow->label, queue->label, sizeof shadow->label);
  return shadow;
}

static void add_hint(struct tide_checker *checker, struct tide_shadow_queue *shadow, uint64_t epoch,
                     const struct tide_record *record) {
  if (!tide_shadow_grow(&checker->table, (void **)&shadow->hints, shadow->hint_count,
                        &shadow->hint_capacity, sizeof *shadow->hints))
    return;
  struct tide_shadow_hint *hint = &shadow->hints[shadow->hint_count++];
  hint->epoch = epoch;
  hint->value = record->node.key;
  memcpy(hint->label, record->timeline->label, sizeof hint->label);
}

/* ---- waits and signals ------------------------------------------------------------- */

/* True if the wait is for a point that was kept: then it orders behind a higher record than the
 * awaited one, too. Only the point's channel keeps it, in order, perhaps by a later point that
 * covers it. So the wait comes behind the first operation that was to keep the point, or a later
 * one.
 *
 * On other timelines the record says whether nothing but operations signal below it. Otherwise a
 * host may signal a value between and open the wait, even if in this run the host came too late. */
static bool is_kept(const struct tide_op *op, const struct tide_op_wait *wait) {
  enum tide_status status;
  return wait->point && tide_point_wait_over(op, wait, &status) &&
         tide_wait_for_point(op, wait)->edge.status == TIDE_OK;
}

static void import_wait(struct tide_checker *checker, struct tide_shadow_clock *clock,
                        const struct tide_op *op, const struct tide_op_wait *wait) {
  if (wait->class_ == TIDE_WAIT_FAILED || wait->value <= wait->timeline->initial) return;
  tide_check_import(checker, clock, wait->timeline, wait->value, is_kept(op, wait));
}

/* Records the clock of a signal. An external signal is ordered by other means: it records an empty
 * clock, for waits for lower values, too. */
static void add_signal(struct tide_checker *checker, const struct tide_record *signal,
                       const struct tide_shadow_clock *clock) {
  static const struct tide_shadow_clock nothing;
  const struct tide_timeline *timeline = signal->timeline;
  tide_check_record(checker, timeline, signal->node.key,
                    signal->external || timeline->operations_only,
                    signal->external ? &nothing : clock);
  if (!timeline->is_backed) return; /* operations signal a backing only to keep its promises */
  struct tide_shadow *shadow =
      tide_shadow_find(&checker->table, TIDE_SHADOW_TIMELINE, (uint64_t)(uintptr_t)timeline);
  if (shadow) shadow->singly = true;
}

/* ---- operations ----------------------------------------------------------------------- */

void tide_check_entered(struct tide_queue *queue, struct tide_op *op) {
  struct tide_checker *checker = queue->sched->checker;
  tide_check_take_events(checker);
  struct tide_shadow_queue *shadow = tide_check_queue(checker, queue);
  tide_check_note_limits(checker);
  if (!shadow) return;
  size_t own = (size_t)(shadow - checker->table.queues);
  struct tide_shadow *thread =
      tide_shadow_get(&checker->table, TIDE_SHADOW_THREAD, tide_op_rare(op)->thread);
  struct tide_shadow_clock *clock = &shadow->clock;
  if (thread) tide_shadow_merge(&checker->table, clock, &thread->clock);
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    import_wait(checker, clock, op, wait);
  shadow->newest = op->work.epoch;
  if (op->part) {
    tide_check_await_uses(checker, op, true);
  } else {
    tide_check_uses(checker, clock, op);
    tide_check_add_uses(checker, op);
    tide_check_forget_uses(checker, op);
  }
  struct tide_shadow_clock *record = &checker->record;
  tide_shadow_copy(&checker->table, record, clock);
  tide_shadow_set(&checker->table, record, own, op->work.epoch);
  if (shadow->in_order) tide_shadow_set(&checker->table, clock, own, op->work.epoch);
  for (struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next) {
    if (op->refused) continue;
    add_signal(checker, &signal->record, record);
    if (!signal->record.external) add_hint(checker, shadow, op->work.epoch, &signal->record);
  }
  tide_check_record(checker, queue->progress, op->work.epoch, true, record);
  tide_check_note_limits(checker);
}

/* The parts of an instance start together, so each is ordered behind all operations before any of
 * them. Conflicts among the parts are not checked: their bodies have to avoid them. */
void tide_check_instance(struct tide_sched *sched, const struct tide_timeline *progress,
                         uint64_t number, struct tide_op *const *parts, size_t count) {
  struct tide_checker *checker = sched->checker;
  struct tide_shadow_table *table = &checker->table;
  struct tide_shadow_queue *queues = table->queues;
  struct tide_shadow_clock *clock = &checker->record, *all = clock, *before = &checker->before;
  before->count = 0;
  for (size_t i = 0; i < count; i++) {
    if (!parts[i] || !parts[i]->queue->check_index) continue;
    uint64_t own = parts[i]->queue->check_index - 1;
    tide_shadow_copy(table, clock, &queues[own].clock);
    if (tide_shadow_epoch(clock, own) >= parts[i]->work.epoch)
      tide_shadow_set(table, clock, own, parts[i]->work.epoch - 1);
    tide_shadow_merge(table, before, clock);
  }
  for (size_t i = 0; i < count; i++) {
    if (!parts[i]) continue;
    tide_check_await_uses(checker, parts[i], false);
    tide_check_add_writes(checker, parts[i]);
  }
  for (size_t i = 0; i < count; i++)
    if (parts[i]) tide_check_uses(checker, before, parts[i]);
  tide_shadow_copy(table, all, before);
  for (size_t i = 0; i < count; i++) {
    if (!parts[i] || !parts[i]->queue->check_index) continue;
    uint64_t own = parts[i]->queue->check_index - 1;
    tide_check_add_uses(checker, parts[i]);
    tide_check_forget_uses(checker, parts[i]);
    tide_shadow_merge(table, &queues[own].clock, before);
    if (tide_shadow_epoch(all, own) < parts[i]->work.epoch)
      tide_shadow_set(table, all, own, parts[i]->work.epoch);
  }
  tide_check_record(checker, progress, number, true, all);
  tide_check_note_limits(checker);
}

/* ---- on and off ------------------------------------------------------------------------ */

enum tide_status tide_check_create(struct tide_sched *sched) {
  struct tide_context *context = sched->context;
  struct tide_checker *checker = tide_alloc(context->allocator, 1, sizeof *checker);
  if (!checker) return TIDE_NOMEM;
  checker->table.allocator = context->allocator;
  checker->sched = sched;
  checker->sink = (struct tide_sink){.event = tide_check_store_event, .self = checker};
  /* Room for the finding that memory has run out. */
  if (!tide_shadow_grow(&checker->table, (void **)&checker->findings, 0, &checker->finding_capacity,
                        sizeof *checker->findings)) {
    tide_free(context->allocator, checker, 1, sizeof *checker);
    return TIDE_NOMEM;
  }
  sched->checker = checker;
  context->check = &checker->sink;
  return TIDE_OK;
}

void tide_check_destroy(struct tide_sched *sched) {
  struct tide_context *context = sched->context;
  struct tide_checker *checker = sched->checker;
  const struct tide_allocator *a = context->allocator;
  context->check = NULL;
  tide_shadow_clock_fini(&checker->table, &checker->record);
  tide_shadow_clock_fini(&checker->table, &checker->before);
  tide_free(a, checker->last, checker->last_capacity, sizeof *checker->last);
  tide_free(a, checker->findings, checker->finding_capacity, sizeof *checker->findings);
  tide_free(a, checker->events, checker->event_capacity, sizeof *checker->events);
  tide_shadow_fini(&checker->table);
  tide_free(a, checker, 1, sizeof *checker);
  sched->checker = NULL;
}
