/* Check mode's view of buffers. Each buffer has the accesses that a later one may conflict with,
 * and the bytes that operations have written. */
#include "base/text.h"
#include "sched/check_state.h"

/* True if checks must stop: clocks that lack entries give false findings, and miss real ones. */
static bool is_blind(const struct tide_checker *checker) { return checker->table.out_of_memory; }

static uint64_t end_of(const struct tide_op_use *use) {
  return use->size ? use->offset + use->size : tide_buffer_size(use->buffer);
}

static bool access_overlaps(const struct tide_shadow_access *access,
                            const struct tide_op_use *use) {
  return access->offset < end_of(use) && use->offset < access->offset + access->size;
}

static struct tide_shadow *shadow_buffer(struct tide_checker *checker,
                                         const struct tide_buffer *buffer) {
  struct tide_shadow *shadow =
      tide_shadow_get(&checker->table, TIDE_SHADOW_BUFFER,
                      tide_check_buffer_key(buffer, tide_buffer_serial(buffer)));
  if (shadow && !shadow->label[0]) {
    memcpy(shadow->label, tide_buffer_label(buffer), sizeof shadow->label);
    shadow->covered = tide_buffer_covered(buffer);
  }
  return shadow;
}

/* ---- findings ------------------------------------------------------------------------ */

static const struct tide_shadow_hint *hint_for(const struct tide_shadow_queue *shadow,
                                               uint64_t epoch) {
  size_t low = 0, high = shadow->hint_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (shadow->hints[middle].epoch < epoch) low = middle + 1;
    else high = middle;
  }
  return low < shadow->hint_count ? &shadow->hints[low] : NULL;
}

/* The wait that orders behind an access: the label and value of its timeline, and the epoch
 * that it brings. */
struct missing_wait {
  const char *label;
  uint64_t value, epoch;
  bool is_progress;
};

static struct missing_wait wait_for(const struct tide_shadow_queue *from,
                                    const struct tide_shadow_access *access) {
  const struct tide_shadow_hint *hint = hint_for(from, access->epoch);
  if (hint && hint->label[0])
    return (struct missing_wait){hint->label, hint->value, hint->epoch, false};
  return (struct missing_wait){from->label, access->epoch, access->epoch, true};
}

static void write_wait(const struct missing_wait *wait, struct tide_text *text) {
  tide_text_format(text, "%s'%s' >= %lu", wait->is_progress ? "the progress of " : "", wait->label,
                   (unsigned long)wait->value);
}

static void set_later(struct tide_finding *finding, const struct tide_op *op,
                      const struct tide_op_use *use) {
  finding->later = (struct tide_finding_operation){.axis = op->queue->position.axis,
                                                   .sequence = tide_op_sequence(op),
                                                   .writes = use->access & TIDE_WRITE};
  memcpy(finding->later.label, TIDE_OP_NAME(op), sizeof finding->later.label);
  memcpy(finding->buffer, tide_buffer_label(use->buffer), sizeof finding->buffer);
}

static void set_earlier(struct tide_finding *finding, const struct tide_shadow_queue *from,
                        const struct tide_shadow_access *access) {
  finding->earlier = (struct tide_finding_operation){
      .axis = from->axis, .sequence = access->sequence, .writes = access->write};
  memcpy(finding->earlier.label, access->label, sizeof finding->earlier.label);
}

static void report_conflict(struct tide_checker *checker, const struct tide_op *op,
                            const struct tide_op_use *use, const struct tide_shadow_access *earlier,
                            const struct missing_wait *wait) {
  const struct tide_shadow_queue *from = &checker->table.queues[earlier->queue];
  struct tide_finding finding = {
      .diag = {.status = TIDE_RACE}, .kind = TIDE_FINDING_CONFLICT, .count = 1};
  struct tide_text text;
  set_later(&finding, op, use);
  set_earlier(&finding, from, earlier);
  tide_text_init(&text, finding.advice, sizeof finding.advice);
  tide_text_format(&text, "add a wait for ");
  write_wait(wait, &text);
  tide_text_init(&text, finding.diag.text, sizeof finding.diag.text);
  tide_text_format(
      &text,
      "operation '%s' of queue '%s' %s buffer '%s', which operation '%s' of queue '%s' %s, "
      "and nothing orders them: %s",
      TIDE_OP_NAME(op), op->queue->label, finding.later.writes ? "writes" : "reads", finding.buffer,
      earlier->label, from->label, earlier->write ? "writes" : "reads", finding.advice);
  tide_check_add_finding(checker, &finding);
}

static void report_unwritten(struct tide_checker *checker, const struct tide_op *op,
                             const struct tide_op_use *use, const struct tide_shadow_range *gap) {
  struct tide_finding finding = {
      .diag = {.status = TIDE_RACE}, .kind = TIDE_FINDING_UNWRITTEN, .count = 1};
  struct tide_text text;
  set_later(&finding, op, use);
  finding.offset = gap->begin;
  finding.size = gap->end - gap->begin;
  tide_text_init(&text, finding.diag.text, sizeof finding.diag.text);
  tide_text_format(&text,
                   "operation '%s' of queue '%s' reads buffer '%s', of which nothing has written "
                   "the %lu bytes from %lu on: write them before, or declare the part that it "
                   "reads",
                   TIDE_OP_NAME(op), op->queue->label, finding.buffer, (unsigned long)finding.size,
                   (unsigned long)finding.offset);
  tide_check_add_finding(checker, &finding);
}

static void report_free(struct tide_checker *checker, const struct tide_shadow *buffer,
                        uint32_t queue, const struct tide_shadow_access *access) {
  const struct tide_shadow_queue *from = &checker->table.queues[access->queue];
  struct missing_wait wait = wait_for(from, access);
  struct tide_finding finding = {
      .diag = {.status = TIDE_RACE}, .kind = TIDE_FINDING_FREE, .count = 1};
  struct tide_text text;
  set_earlier(&finding, from, access);
  memcpy(finding.buffer, buffer->label, sizeof finding.buffer);
  tide_text_init(&text, finding.diag.text, sizeof finding.diag.text);
  tide_text_format(&text, "buffer '%s' is freed ", buffer->label);
  if (queue == TIDE_SHADOW_HOST) tide_text_format(&text, "by a host");
  else tide_text_format(&text, "on queue '%s'", checker->table.queues[queue].label);
  tide_text_format(&text,
                   " before operation '%s' of queue '%s' is in its past, though the pool was told "
                   "that frees cover all uses: wait for ",
                   access->label, from->label);
  write_wait(&wait, &text);
  tide_text_format(&text, " first");
  tide_check_add_finding(checker, &finding);
}

/* ---- conflicts -------------------------------------------------------------------------- */

/* Returns the clock of an operation that has entered; NULL: its queue is gone. */
static const struct tide_shadow_clock *clock_of(struct tide_checker *checker, uint32_t queue,
                                                uint64_t epoch) {
  const struct tide_shadow *progress =
      tide_shadow_find(&checker->table, TIDE_SHADOW_TIMELINE,
                       (uint64_t)(uintptr_t)checker->table.queues[queue].progress);
  const struct tide_shadow_record *record =
      progress ? tide_shadow_find_record(progress, epoch) : NULL;
  return record ? &record->clock : NULL;
}

/* True if a wait for `access` orders behind `other`, too. */
static bool implies(struct tide_checker *checker, const struct tide_shadow_access *access,
                    const struct tide_shadow_access *other) {
  const struct tide_shadow_clock *clock = clock_of(checker, access->queue, access->epoch);
  return clock && tide_shadow_epoch(clock, other->queue) >= other->epoch;
}

/* Prepares to note the last access of each queue. False: no memory. */
static bool clear_last(struct tide_checker *checker) {
  size_t queues = checker->table.queue_count;
  while (checker->last_capacity < queues)
    if (!tide_shadow_grow(&checker->table, (void **)&checker->last, checker->last_capacity,
                          &checker->last_capacity, sizeof *checker->last))
      return false;
  memset(checker->last, 0, queues * sizeof *checker->last);
  return true;
}

static void note_last(struct tide_checker *checker, const struct tide_shadow_access *access) {
  const struct tide_shadow_access **last = &checker->last[access->queue];
  if (!*last || (*last)->epoch <= access->epoch) *last = access;
}

/* Leaves the noted accesses that remain once the others are waited for: a wait for the last access
 * of a queue orders behind its earlier ones, and behind all that this access comes after. */
static void drop_implied(struct tide_checker *checker) {
  const struct tide_shadow_access **last = checker->last;
  size_t queues = checker->table.queue_count;
  for (size_t i = 0; i < queues; i++)
    for (size_t j = 0; last[i] && j < queues; j++)
      if (i != j && last[j] && implies(checker, last[j], last[i])) last[i] = NULL;
}

/* Reports the noted conflicts. Each wait that is advised counts as made from then on, so that its
 * other consequences are no findings of their own: all advice together suffices. */
static void report_conflicts(struct tide_checker *checker, struct tide_shadow_clock *clock,
                             const struct tide_op *op, const struct tide_op_use *use) {
  drop_implied(checker);
  for (uint32_t i = 0; i < checker->table.queue_count; i++) {
    if (!checker->last[i]) continue;
    struct missing_wait wait = wait_for(&checker->table.queues[i], checker->last[i]);
    report_conflict(checker, op, use, checker->last[i], &wait);
    const struct tide_shadow_clock *brought = clock_of(checker, i, wait.epoch);
    if (brought) tide_shadow_merge(&checker->table, clock, brought);
  }
}

/* Reports the conflicting accesses that the clock does not include. Removes the accesses that this
 * one is ordered behind, and covers. */
static void check_use(struct tide_checker *checker, struct tide_shadow_clock *clock,
                      const struct tide_op *op, const struct tide_op_use *use) {
  struct tide_shadow *buffer = is_blind(checker) ? NULL : shadow_buffer(checker, use->buffer);
  bool write = use->access & TIDE_WRITE, any = false;
  size_t kept = 0;
  if (!buffer || !clear_last(checker)) return;
  for (size_t i = 0; i < buffer->count; i++) {
    const struct tide_shadow_access *earlier = &buffer->accesses[i];
    bool ordered = tide_shadow_epoch(clock, earlier->queue) >= earlier->epoch;
    bool conflict = !ordered && access_overlaps(earlier, use) && (write || earlier->write);
    bool covered = ordered && (write || !earlier->write) && use->offset <= earlier->offset &&
                   earlier->offset + earlier->size <= end_of(use);
    if (covered) continue;
    buffer->accesses[kept] = *earlier;
    if (conflict) note_last(checker, &buffer->accesses[kept]);
    any |= conflict;
    kept++;
  }
  buffer->count = kept;
  if (any) report_conflicts(checker, clock, op, use);
}

/* ---- bytes that nothing wrote ------------------------------------------------------------- */

static bool writes_range(const struct tide_op *op, const struct tide_op_use *read,
                         const struct tide_shadow_range *range) {
  for (const struct tide_op_use *use = tide_op_uses(op); use; use = use->next)
    if (use->buffer == read->buffer && use->access & TIDE_WRITE && use->offset < range->end &&
        range->begin < end_of(use))
      return true;
  return false;
}

/* True if a held operation is to write some of the bytes: its entry reports the conflict. */
static bool writer_is_held(struct tide_sched *sched, const struct tide_op_use *read,
                           const struct tide_shadow_range *range) {
  struct tide_link *devices = &sched->devices;
  for (struct tide_link *d = devices->next; d != devices; d = d->next) {
    struct tide_link *queues = &TIDE_CONTAINER(d, struct tide_device, in_sched)->queues;
    for (struct tide_link *q = queues->next; q != queues; q = q->next) {
      struct tide_link *held = &TIDE_CONTAINER(q, struct tide_queue, in_device)->held;
      for (struct tide_link *at = held->next; at != held; at = at->next)
        if (writes_range(tide_op_of_link(at), read, range)) return true;
    }
  }
  return false;
}

/* Reports once a read of bytes that no operation has written. A use without a range claims less:
 * only that it reads some of the buffer. */
static void check_read(struct tide_checker *checker, const struct tide_op *op,
                       const struct tide_op_use *use) {
  struct tide_shadow *buffer = is_blind(checker) ? NULL : shadow_buffer(checker, use->buffer);
  struct tide_shadow_range gap;
  if (!buffer || !buffer->traced || !(use->access & TIDE_READ)) return;
  if (!use->size && buffer->range_count) return;
  if (!tide_shadow_find_gap(buffer, use->offset, end_of(use), &gap)) return;
  if (buffer->awaited || writer_is_held(checker->sched, use, &gap)) return;
  report_unwritten(checker, op, use, &gap);
  tide_shadow_add_range(&checker->table, buffer, use->offset, end_of(use));
}

void tide_check_add_writes(struct tide_checker *checker, const struct tide_op *op) {
  for (const struct tide_op_use *use = tide_op_uses(op); use && !op->status; use = use->next) {
    struct tide_shadow *buffer = shadow_buffer(checker, use->buffer);
    if (buffer && buffer->traced && use->access == TIDE_WRITE)
      tide_shadow_add_range(&checker->table, buffer, use->offset, end_of(use));
  }
}

/* ---- operations ------------------------------------------------------------------------------ */

void tide_check_uses(struct tide_checker *checker, struct tide_shadow_clock *clock,
                     const struct tide_op *op) {
  /* A failed operation touches no buffer. */
  for (const struct tide_op_use *use = tide_op_uses(op); use && !op->status; use = use->next) {
    check_read(checker, op, use);
    check_use(checker, clock, op, use);
  }
}

static struct tide_shadow_access access_of(const struct tide_op *op,
                                           const struct tide_op_use *use) {
  struct tide_shadow_access access = {.queue = (uint32_t)(op->queue->check_index - 1),
                                      .write = use->access & TIDE_WRITE,
                                      .epoch = op->work.epoch,
                                      .sequence = tide_op_sequence(op),
                                      .offset = use->offset,
                                      .size = end_of(use) - use->offset};
  memcpy(access.label, TIDE_OP_NAME(op), sizeof access.label);
  return access;
}

static void add_use(struct tide_checker *checker, const struct tide_op *op,
                    const struct tide_op_use *use) {
  struct tide_shadow *buffer = shadow_buffer(checker, use->buffer);
  if (!buffer || !tide_shadow_grow(&checker->table, (void **)&buffer->accesses, buffer->count,
                                   &buffer->capacity, sizeof *buffer->accesses))
    return;
  struct tide_shadow_access access = access_of(op, use);
  buffer->accesses[buffer->count++] = access;
  if (buffer->traced && access.write)
    tide_shadow_add_range(&checker->table, buffer, use->offset, end_of(use));
  /* At the free, a held operation is in the past of its own queue alone. */
  if (buffer->freed && buffer->covered && buffer->freed_on != access.queue)
    report_free(checker, buffer, buffer->freed_on, &access);
}

void tide_check_add_uses(struct tide_checker *checker, const struct tide_op *op) {
  for (const struct tide_op_use *use = tide_op_uses(op); use && !op->status; use = use->next)
    add_use(checker, op, use);
}

void tide_check_await_uses(struct tide_checker *checker, const struct tide_op *part, bool begin) {
  for (const struct tide_op_use *use = tide_op_uses(part); use; use = use->next) {
    struct tide_shadow *buffer = shadow_buffer(checker, use->buffer);
    if (buffer && begin) buffer->awaited++;
    else if (buffer && buffer->awaited) buffer->awaited--;
  }
}

/* Forgets a freed buffer that no operation will use any more. */
static void forget_over(struct tide_checker *checker, const struct tide_shadow *buffer,
                        bool pinned) {
  if (buffer->freed && !buffer->awaited && !pinned)
    tide_shadow_forget(&checker->table, TIDE_SHADOW_BUFFER, buffer->key);
}

void tide_check_forget_uses(struct tide_checker *checker, const struct tide_op *op) {
  for (const struct tide_op_use *use = tide_op_uses(op); use; use = use->next) {
    uint64_t key = tide_check_buffer_key(use->buffer, tide_buffer_serial(use->buffer));
    struct tide_shadow *buffer = tide_shadow_find(&checker->table, TIDE_SHADOW_BUFFER, key);
    if (buffer) forget_over(checker, buffer, tide_buffer_pinned(use->buffer));
  }
}

/* ---- lives of buffers ------------------------------------------------------------------------ */

void tide_check_allocated(struct tide_sched *sched, struct tide_buffer *buffer) {
  struct tide_shadow *shadow = shadow_buffer(sched->checker, buffer);
  if (shadow) shadow->traced = true;
}

void tide_check_free(struct tide_checker *checker, struct tide_shadow *buffer,
                     const struct tide_shadow_clock *clock, uint32_t queue, bool pinned) {
  bool judge = buffer->covered && !is_blind(checker) && clear_last(checker);
  for (size_t i = 0; judge && i < buffer->count; i++) {
    const struct tide_shadow_access *access = &buffer->accesses[i];
    if (access->queue != queue && tide_shadow_epoch(clock, access->queue) < access->epoch)
      note_last(checker, access);
  }
  if (judge) drop_implied(checker);
  for (size_t i = 0; judge && i < checker->table.queue_count; i++)
    if (checker->last[i]) report_free(checker, buffer, queue, checker->last[i]);
  buffer->freed = true;
  buffer->freed_on = queue;
  forget_over(checker, buffer, pinned);
}

void tide_check_freed(struct tide_queue *queue, struct tide_buffer *buffer) {
  struct tide_checker *checker = queue->sched->checker;
  tide_check_take_events(checker);
  struct tide_shadow *shadow = shadow_buffer(checker, buffer);
  const struct tide_shadow_queue *at = tide_check_queue(checker, queue);
  if (shadow && at)
    tide_check_free(checker, shadow, &at->clock, (uint32_t)(queue->check_index - 1),
                    tide_buffer_pinned(buffer));
}
