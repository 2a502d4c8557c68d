/* Check mode: finds operations that touch the same bytes, one of them writing, and that no
 * *declared* dependency orders. Shadow clocks learn only from declared waits, from a queue's own
 * order, and from waits of the submitting thread. */
#include "base/alloc.h"
#include "base/text.h"
#include "causal/shadow.h"
#include "sched/channel_state.h"

#define FINDINGS_KEPT 64

struct tide_checker {
  struct tide_shadow_table table;
  struct tide_sink sink; /* receives the signals and waits of hosts */
  struct tide_lock lock; /* guards host_events, which are added under a timeline's guard */
  struct tide_sched *sched;
  struct {
    const void *timeline;
    uint64_t value, thread;
    enum tide_event_kind kind;
  } host_events[4096];
  size_t host_event_count;
  struct tide_shadow_clock record, before; /* scratch of one call, kept to reuse the memory */
  struct tide_diag findings[FINDINGS_KEPT];
  size_t finding_count;
  bool said_full;
};

/* ---- findings ------------------------------------------------------------------ */

void tide_check_note(struct tide_sched *sched, const struct tide_diag *diag) {
  struct tide_checker *checker = sched->checker;
  if (checker->finding_count < FINDINGS_KEPT) checker->findings[checker->finding_count++] = *diag;
  sched->calls = true;
}

void tide_check_report(struct tide_sched *sched) {
  for (;;) {
    struct tide_diag diag;
    tide_lock_take(sched->lock, tide_sched_platform(sched));
    struct tide_checker *checker = sched->checker; /* NULL: destroyed meanwhile */
    bool any = checker && checker->finding_count > 0;
    if (any) {
      diag = checker->findings[0];
      checker->finding_count--;
      memmove(checker->findings, checker->findings + 1,
              checker->finding_count * sizeof *checker->findings);
    }
    tide_lock_give(sched->lock);
    if (!any) return;
    if (sched->finding) sched->finding(sched->finding_user, &diag);
  }
}

static void note_limits(struct tide_checker *checker) {
  struct tide_diag diag;
  if (checker->said_full || !checker->table.out_of_memory) return;
  checker->said_full = true;
  tide_diag_set(&diag, TIDE_NOMEM, "check mode ran out of memory: from here on it finds nothing");
  tide_check_note(checker->sched, &diag);
}

/* True if checks must stop: clocks that lack entries give false findings, and miss real ones. */
static bool is_blind(const struct tide_checker *checker) { return checker->table.out_of_memory; }

/* ---- hosts ------------------------------------------------------------------------ */

/* Stores the event for later, since a timeline's guard is held. */
static void store_host_event(void *self, const struct tide_event *event) {
  struct tide_checker *checker = self;
  bool by_host = !event->axis || tide_axis_domain(event->axis) == TIDE_DOMAIN_HOST;
  if (event->kind == TIDE_EVENT_SIGNAL
          ? !by_host
          : event->kind != TIDE_EVENT_HOST_WAIT && event->kind != TIDE_EVENT_MADE)
    return;
  tide_lock_take(&checker->lock, tide_sched_platform(checker->sched));
  size_t at = checker->host_event_count;
  if (at < sizeof checker->host_events / sizeof *checker->host_events) {
    checker->host_events[at].timeline = event->object;
    checker->host_events[at].value = event->value;
    checker->host_events[at].thread = event->thread;
    checker->host_events[at].kind = event->kind;
    checker->host_event_count++;
  } else {
    checker->table.out_of_memory = true;
  }
  tide_lock_give(&checker->lock);
}

static void add_record(struct tide_checker *checker, const void *timeline, uint64_t value,
                       bool below, const struct tide_shadow_clock *clock) {
  struct tide_shadow *shadow =
      tide_shadow_get(&checker->table, TIDE_SHADOW_TIMELINE, (uint64_t)(uintptr_t)timeline);
  if (shadow) (void)tide_shadow_add_record(&checker->table, shadow, value, below, clock);
}

static const struct tide_shadow_record *record_of(struct tide_checker *checker,
                                                  const void *timeline, uint64_t value) {
  const struct tide_shadow *shadow =
      tide_shadow_find(&checker->table, TIDE_SHADOW_TIMELINE, (uint64_t)(uintptr_t)timeline);
  return shadow ? tide_shadow_find_record(shadow, value) : NULL;
}

/* Applies the stored events: a wait merges the value's clock into the thread's; a signal records
 * the thread's clock for the value. */
static void take_host_events(struct tide_checker *checker) {
  tide_lock_take(&checker->lock, tide_sched_platform(checker->sched));
  for (size_t i = 0; i < checker->host_event_count; i++) {
    struct tide_shadow *thread =
        tide_shadow_get(&checker->table, TIDE_SHADOW_THREAD, checker->host_events[i].thread);
    const void *timeline = checker->host_events[i].timeline;
    uint64_t value = checker->host_events[i].value;
    if (!thread) break;
    if (checker->host_events[i].kind ==
        TIDE_EVENT_MADE) { /* perhaps at the address of an earlier timeline */
      tide_shadow_forget(&checker->table, TIDE_SHADOW_TIMELINE, (uint64_t)(uintptr_t)timeline);
    } else if (checker->host_events[i].kind == TIDE_EVENT_SIGNAL) {
      add_record(checker, timeline, value, true, &thread->clock);
    } else {
      const struct tide_shadow_record *record = record_of(checker, timeline, value);
      if (record) tide_shadow_merge(&checker->table, &thread->clock, &record->clock);
    }
  }
  checker->host_event_count = 0;
  tide_lock_give(&checker->lock);
}

/* ---- queues ---------------------------------------------------------------------------- */

static struct tide_shadow_queue *shadow_queue(struct tide_checker *checker,
                                              struct tide_queue *queue) {
  struct tide_shadow_table *table = &checker->table;
  if (queue->check_index) return &table->queues[queue->check_index - 1];
  if (!tide_shadow_grow(table, (void **)&table->queues, table->queue_count, &table->queue_capacity,
                        sizeof *table->queues))
    return NULL;
  struct tide_shadow_queue *shadow = &table->queues[table->queue_count++];
  queue->check_index = table->queue_count;
  *shadow = (struct tide_shadow_queue){.queue = queue};
  shadow->in_order = queue->in_order;
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

static const struct tide_shadow_hint *hint_for(const struct tide_shadow_queue *shadow,
                                               uint64_t epoch) {
  for (size_t i = 0; i < shadow->hint_count; i++)
    if (shadow->hints[i].epoch >= epoch) return &shadow->hints[i];
  return NULL;
}

/* ---- accesses ---------------------------------------------------------------------------- */

static void report_race(struct tide_checker *checker, const struct tide_op *op,
                        const struct tide_op_use *use, const struct tide_shadow_access *earlier) {
  const struct tide_shadow_queue *from = &checker->table.queues[earlier->queue];
  const struct tide_shadow_hint *hint = hint_for(from, earlier->epoch);
  struct tide_diag diag;
  struct tide_text text;
  diag = (struct tide_diag){.status = TIDE_RACE};
  tide_text_init(&text, diag.text, sizeof diag.text);
  tide_text_format(
      &text,
      "operation '%s' of queue '%s' %s buffer '%s', which operation '%s' of queue '%s' %s, "
      "and nothing orders them: add a wait for ",
      tide_op_label(op), op->queue->label, use->access & TIDE_WRITE ? "writes" : "reads",
      tide_buffer_label(use->buffer), earlier->label, from->label,
      earlier->write ? "writes" : "reads");
  if (hint) tide_text_format(&text, "'%s' >= %lu", hint->label, (unsigned long)hint->value);
  else
    tide_text_format(&text, "the progress of '%s' >= %lu", from->label,
                     (unsigned long)earlier->epoch);
  tide_check_note(checker->sched, &diag);
}

static bool access_overlaps(const struct tide_shadow_access *a, uint64_t offset, uint64_t size) {
  return a->offset < offset + size && offset < a->offset + a->size;
}

static uint64_t size_of(const struct tide_op_use *use) {
  return use->size ? use->size : tide_buffer_size(use->buffer) - use->offset;
}

/* Returns the key of one life of a handle: held operations may still name an earlier buffer with
 * the same handle. */
static uint64_t buffer_key(const struct tide_buffer *buffer) {
  return (uint64_t)(uintptr_t)buffer * 0x9e3779b97f4a7c15u + tide_buffer_serial(buffer);
}

static struct tide_shadow *shadow_buffer(struct tide_checker *checker,
                                         const struct tide_op_use *use) {
  return tide_shadow_get(&checker->table, TIDE_SHADOW_BUFFER, buffer_key(use->buffer));
}

/* Reports the first conflicting access that the clock does not include. Removes the accesses that
 * this one is ordered behind, and covers. */
static void check_use(struct tide_checker *checker, const struct tide_shadow_clock *clock,
                      const struct tide_op *op, const struct tide_op_use *use) {
  struct tide_shadow *buffer = is_blind(checker) ? NULL : shadow_buffer(checker, use);
  uint64_t size = size_of(use);
  bool write = use->access & TIDE_WRITE, reported = false;
  size_t kept = 0;
  for (size_t i = 0; buffer && i < buffer->count; i++) {
    struct tide_shadow_access *earlier = &buffer->accesses[i];
    bool ordered = tide_shadow_epoch(clock, earlier->queue) >= earlier->epoch;
    bool conflict = access_overlaps(earlier, use->offset, size) && (write || earlier->write);
    if (conflict && !ordered && !reported) {
      report_race(checker, op, use, earlier);
      reported = true;
    }
    bool covered = ordered && (write || !earlier->write) && use->offset <= earlier->offset &&
                   earlier->offset + earlier->size <= use->offset + size;
    if (!covered) buffer->accesses[kept++] = *earlier;
  }
  if (buffer) buffer->count = kept;
}

static void add_access(struct tide_checker *checker, const struct tide_op *op,
                       const struct tide_op_use *use) {
  struct tide_shadow *buffer = shadow_buffer(checker, use);
  if (!buffer || !tide_shadow_grow(&checker->table, (void **)&buffer->accesses, buffer->count,
                                   &buffer->capacity, sizeof *buffer->accesses))
    return;
  struct tide_shadow_access *access = &buffer->accesses[buffer->count++];
  *access = (struct tide_shadow_access){.queue = (uint32_t)(op->queue->check_index - 1),
                                        .write = use->access & TIDE_WRITE,
                                        .epoch = op->work.epoch,
                                        .offset = use->offset,
                                        .size = size_of(use)};
  memcpy(access->label, tide_op_label(op), sizeof access->label);
}

/* True if the wait orders the operation behind the record's signaller.
 *
 * A record of exactly the awaited value does. A higher record does only if nothing but operations
 * signal the timeline. Otherwise a host may signal a value in between and open the wait, even if in
 * this run the host came too late for that.
 *
 * A point that was kept does, too. Only its channel keeps it, in order, perhaps by a later point
 * that covers it. So it comes behind the first operation that was to keep it, or a later one. */
static bool kept_by(const struct tide_op *op, const struct tide_op_wait *wait,
                    const struct tide_shadow_record *record) {
  if (record->value == wait->value) return true;
  if (!wait->point) return record->below;
  enum tide_status status;
  return tide_point_wait_over(op, wait, &status) &&
         tide_wait_for_point(op, wait)->edge.status == TIDE_OK;
}

static void import_wait(struct tide_checker *checker, struct tide_shadow_clock *clock,
                        const struct tide_op *op, const struct tide_op_wait *wait) {
  if (wait->class_ == TIDE_WAIT_FAILED || wait->value <= wait->timeline->initial) return;
  const struct tide_shadow_record *record = record_of(checker, wait->timeline, wait->value);
  if (record && kept_by(op, wait, record))
    tide_shadow_merge(&checker->table, clock, &record->clock);
}

/* Records the clock of a signal. An external signal is ordered by other means: it records an empty
 * clock, for waits for lower values, too. */
static void add_signal(struct tide_checker *checker, const struct tide_record *signal,
                       const struct tide_shadow_clock *clock) {
  static const struct tide_shadow_clock nothing;
  add_record(checker, signal->timeline, signal->node.key,
             signal->external || signal->timeline->operations_only,
             signal->external ? &nothing : clock);
}

void tide_check_entered(struct tide_queue *queue, struct tide_op *op) {
  struct tide_checker *checker = queue->sched->checker;
  take_host_events(checker);
  struct tide_shadow_queue *shadow = shadow_queue(checker, queue);
  note_limits(checker);
  if (!shadow) return;
  size_t own = (size_t)(shadow - checker->table.queues);
  struct tide_shadow *thread =
      tide_shadow_get(&checker->table, TIDE_SHADOW_THREAD, tide_op_rare(op)->thread);
  struct tide_shadow_clock *clock = &shadow->clock;
  if (thread) tide_shadow_merge(&checker->table, clock, &thread->clock);
  for (struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    import_wait(checker, clock, op, wait);
  /* A failed operation touches no buffer. */
  for (struct tide_op_use *use = tide_op_uses(op); use && !op->part && !op->status;
       use = use->next) {
    check_use(checker, clock, op, use);
    add_access(checker, op, use);
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
  add_record(checker, queue->progress, op->work.epoch, true, record);
  note_limits(checker);
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
  tide_shadow_copy(table, all, before);
  for (size_t i = 0; i < count; i++)
    for (struct tide_op_use *use = parts[i] ? tide_op_uses(parts[i]) : NULL; use; use = use->next)
      check_use(checker, before, parts[i], use);
  for (size_t i = 0; i < count; i++) {
    if (!parts[i] || !parts[i]->queue->check_index) continue;
    uint64_t own = parts[i]->queue->check_index - 1;
    for (struct tide_op_use *use = tide_op_uses(parts[i]); use; use = use->next)
      add_access(checker, parts[i], use);
    tide_shadow_merge(table, &queues[own].clock, before);
    if (tide_shadow_epoch(all, own) < parts[i]->work.epoch)
      tide_shadow_set(table, all, own, parts[i]->work.epoch);
  }
  add_record(checker, progress, number, true, all);
  note_limits(checker);
}

void tide_check_freed(struct tide_queue *queue, struct tide_buffer *buffer) {
  struct tide_checker *checker = queue->sched->checker;
  take_host_events(checker);
  struct tide_shadow *shadow =
      tide_shadow_find(&checker->table, TIDE_SHADOW_BUFFER, buffer_key(buffer));
  struct tide_shadow_queue *at = shadow_queue(checker, queue);
  bool judge = shadow && at && tide_buffer_covered(buffer) && !is_blind(checker);
  for (size_t i = 0; judge && i < shadow->count; i++) {
    const struct tide_shadow_access *access = &shadow->accesses[i];
    const struct tide_shadow_queue *from = &checker->table.queues[access->queue];
    bool own = from == at;
    if (own || tide_shadow_epoch(&at->clock, access->queue) >= access->epoch) continue;
    const struct tide_shadow_hint *hint = hint_for(from, access->epoch);
    struct tide_diag diag;
    tide_diag_set(
        &diag, TIDE_RACE,
        "buffer '%s' is freed on queue '%s' before operation '%s' of queue '%s' is in its past, "
        "though the pool was told that frees cover all uses: wait for '%s' >= %lu first",
        tide_buffer_label(buffer), queue->label, access->label, from->label,
        hint ? hint->label : from->label, (unsigned long)(hint ? hint->value : access->epoch));
    tide_check_note(queue->sched, &diag);
    break;
  }
  tide_shadow_forget(&checker->table, TIDE_SHADOW_BUFFER, buffer_key(buffer));
}

/* ---- on and off ------------------------------------------------------------------------ */

enum tide_status tide_check_create(struct tide_sched *sched) {
  struct tide_context *context = sched->context;
  struct tide_checker *checker = tide_alloc(context->allocator, 1, sizeof *checker);
  if (!checker) return TIDE_NOMEM;
  checker->table.allocator = context->allocator;
  checker->sched = sched;
  checker->sink = (struct tide_sink){.event = store_host_event, .self = checker};
  sched->checker = checker;
  context->check = &checker->sink;
  return TIDE_OK;
}

void tide_check_destroy(struct tide_sched *sched) {
  struct tide_context *context = sched->context;
  struct tide_shadow_table *table = &sched->checker->table;
  context->check = NULL;
  tide_shadow_clock_fini(table, &sched->checker->record);
  tide_shadow_clock_fini(table, &sched->checker->before);
  tide_shadow_fini(table);
  tide_free(context->allocator, sched->checker, 1, sizeof *sched->checker);
  sched->checker = NULL;
}
