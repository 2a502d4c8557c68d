/* Collectives: N queues perform operations together, on one axis.
 *
 * An instance counts its parts: submitted, entered, arrived, finished. A part has arrived when only
 * the other parts can still delay its start.
 *
 *   all have entered    the record is known: the merge of the parts' records, with one entry
 *                       (collective, instance) instead of the members' own entries
 *   all have arrived    the parts may start
 *   all have finished   the instance is reached, or has failed with the first cause
 *
 * A member is lost when its queue is destroyed or its device is lost. An instance goes on if all
 * its parts were submitted and the lost member's part was neither cancelled nor failed. The others
 * are doomed: parts that have not started are cancelled, and parts that were never submitted count
 * as finished. The progress fails at once from the first doomed instance on. The axis fails when
 * the instances that go on are over. The axis is certified when all instances are over: a part on a
 * lost device ends once the device is certified. */
#include "base/alloc.h"
#include "base/text.h"
#include "causal/tracker.h"
#include "sched/collective_state.h"
#include "sched/dependency_walk.h"

/* ---- the progress timeline ------------------------------------------------------- */

static struct tide_instance *instance_at(struct tide_collective *collective, uint64_t number) {
  return &collective->ring[number & collective->mask];
}

static bool find_record(void *self, uint64_t value, struct tide_record_view *out_view) {
  struct tide_collective *collective = self;
  if (!collective) return false;
  uint64_t newest = collective->entered, number = value;
  if (value == 0 || value > newest) return false;
  if (newest - number > collective->mask) number = newest - collective->mask;
  *out_view = (struct tide_record_view){.value = number,
                                        .axis = collective->position.axis,
                                        .epoch = number,
                                        .frontier = instance_at(collective, number)->record,
                                        .reached = value <= collective->finished,
                                        .coarse = number != value};
  return true;
}

const struct tide_value_ops tide_collective_backing = {
    .kind = "collective", .find = find_record, .denied = TIDE_SCOPE, .signaller = "its collective"};

struct tide_timeline *tide_collective_progress(struct tide_collective *collective) {
  return collective->progress;
}

/* ---- members ------------------------------------------------------------------------------ */

/* Returns the member with this axis; NULL: none. */
static const struct tide_member *find_member(const struct tide_collective *collective,
                                             tide_axis axis) {
  size_t low = 0, high = collective->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (collective->by_axis[middle].axis < axis) low = middle + 1;
    else high = middle;
  }
  const struct tide_member *found = &collective->by_axis[low];
  return low < collective->count && found->axis == axis ? found : NULL;
}

/* ---- notifications from the scheduler -------------------------------------------------- */

/* Merges the record without the members' own entries. The collective's entry implies them, since
 * all parts have finished when it is reached. Omitted from the beginning, they take no capacity
 * from the other entries. */
static void merge_others(const struct tide_collective *collective, struct tide_frontier *all,
                         const struct tide_frontier *record, const struct tide_eviction *eviction) {
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(record);
       tide_frontier_next(&at, &entry);)
    if (!find_member(collective, entry.axis))
      tide_frontier_raise(all, entry.axis, entry.epoch, eviction);
  if (record->tainted) all->tainted = 1;
}

static void make_record(struct tide_instance *instance) {
  struct tide_collective *collective = instance->collective;
  struct tide_sched *sched = collective->sched;
  struct tide_eviction eviction = {sched->context->tracker, collective->position.axis};
  struct tide_frontier *all = sched->scratch;
  tide_frontier_clear(all);
  for (size_t i = 0; i < collective->count; i++) {
    const struct tide_op *part = instance->parts[i];
    if (part)
      merge_others(collective, all, tide_queue_record(part->queue, part->work.epoch), &eviction);
  }
  tide_frontier_raise(all, collective->position.axis, instance->number, &eviction);
  tide_frontier_copy(instance->record, all, &eviction);
  if (collective->tracked) tide_tracker_give(collective->tracked, instance->number);
  instance->recorded = true;
}

/* Makes the record of a failed instance: a part left before all had entered. The value is never
 * reached, but a lookup of an older value may return this record. Its entry is true, and the taint
 * stands for the rest. */
static void make_coarse_record(struct tide_instance *instance) {
  tide_frontier_clear(instance->record);
  tide_frontier_raise(instance->record, instance->collective->position.axis, instance->number,
                      NULL);
  instance->record->tainted = 1;
}

/* Counts the instances that have entered, in order. A later one may have its record first if a held
 * part of it has left. */
static void count_entered(struct tide_collective *collective) {
  struct tide_counter *promised = &collective->progress->promised;
  const struct tide_instance *next;
  while ((next = instance_at(collective, collective->entered + 1))->number ==
             collective->entered + 1 &&
         next->recorded)
    collective->entered++;
  if (tide_counter_least(promised) <= collective->entered)
    tide_counter_pop(promised, collective->entered, &collective->sched->fired, TIDE_OK);
}

/* Counts a part that has entered, or has left instead. True if it was the last. */
static bool count_entry(struct tide_instance *instance) {
  if (++instance->entered < instance->collective->count) return false;
  instance->collective->sched->incomplete--;
  return true;
}

void tide_instance_entered(struct tide_op *part) {
  struct tide_instance *instance = tide_op_rare(part)->instance;
  struct tide_collective *collective = instance->collective;
  struct tide_sched *sched = collective->sched;
  bool is_last = count_entry(instance);
  if (part->status) tide_instance_fail(part);
  if (!is_last) return;
  make_record(instance);
  count_entered(collective);
  if (sched->checker)
    tide_check_instance(sched, collective->progress, instance->number, instance->parts,
                        collective->count);
}

static void fail_instance(struct tide_instance *instance, enum tide_status status,
                          struct tide_cause *cause) {
  if (!instance->status) {
    instance->status = status;
    instance->cause = tide_cause_retain(cause);
  }
  for (size_t i = 0; i < instance->collective->count; i++) {
    struct tide_op *part = instance->parts[i];
    if (!part) continue;
    tide_op_fail(part, instance->status, instance->cause);
    if (part->state == TIDE_OP_ENTERED) tide_op_give_up_waits(part);
    if (part == part->queue->held_firm) tide_op_retry(part); /* it need not be held any more */
    tide_sched_look(part->queue);
  }
}

void tide_instance_fail(struct tide_op *part) {
  struct tide_instance *instance = tide_op_rare(part)->instance;
  if (part->status && !instance->status) fail_instance(instance, part->status, tide_op_cause(part));
}

void tide_instance_fail_late(const struct tide_instance *instance, struct tide_op *part) {
  tide_op_fail(part, instance->status, instance->cause);
}

/* Fails a part that awaits a value that has failed, and its instance. */
static void notice_failure(struct tide_op *part) {
  for (struct tide_op_wait *wait = tide_op_waits(part); wait; wait = tide_wait_next(part, wait))
    if (tide_wait_has_failed(part, wait))
      tide_op_fail(part, tide_timeline_status(wait->timeline),
                   tide_timeline_cause_locked(wait->timeline));
  tide_instance_fail(part);
}

static void notice_failures(struct tide_instance *instance) {
  for (size_t i = 0; i < instance->collective->count && !instance->status; i++) {
    struct tide_op *part = instance->parts[i];
    bool waits = part && (part->state == TIDE_OP_HELD || part->state == TIDE_OP_ENTERED);
    if (waits) notice_failure(part);
  }
}

void tide_collectives_notice(struct tide_sched *sched, bool accepted) {
  struct tide_link *all = &sched->collectives;
  sched->unnoticed = false;
  for (struct tide_link *at = all->next; at != all; at = at->next) {
    struct tide_collective *collective = TIDE_CONTAINER(at, struct tide_collective, in_sched);
    for (uint64_t n = collective->finished + 1; n <= collective->opened; n++) {
      struct tide_instance *instance = instance_at(collective, n);
      if (instance->unnoticed && accepted) notice_failures(instance);
      instance->unnoticed = false;
    }
  }
}

/* All parts become ready in one step, so that parts of two collectives are picked in the same order
 * on every device. One that does not run goes over the worklist. */
static void start_others(struct tide_instance *instance, const struct tide_op *last) {
  for (size_t i = 0; i < instance->collective->count; i++) {
    struct tide_op *part = instance->parts[i];
    if (!part || part == last) continue;
    bool runs = !instance->status && !part->status && part->work.body;
    if (runs) tide_queue_advance(part->queue);
    else tide_sched_look(part->queue);
  }
}

bool tide_instance_arrive(struct tide_op *part) {
  struct tide_instance *instance = tide_op_rare(part)->instance;
  struct tide_collective *collective = instance->collective;
  if (!part->arrived) {
    part->arrived = true;
    tide_instance_fail(part);
    if (++instance->arrived == collective->count) start_others(instance, part);
  }
  tide_op_fail(part, instance->status, instance->cause);
  /* No part of a failed instance runs: none has to wait until the others are skipped. */
  return instance->status || instance->arrived == collective->count;
}

static void end_if_over(struct tide_collective *collective);

/* Fails the axis once the instances that go on without the lost member are over. */
static void fail_axis_if_due(struct tide_collective *collective) {
  struct tide_sched *sched = collective->sched;
  if (!collective->lost || !collective->tracked) return;
  if (collective->finished + 1 < collective->doomed) return;
  tide_tracker_fail_collect(sched->context->tracker, collective->tracked, collective->lost,
                            &sched->fired);
}

static void publish_instance(struct tide_collective *collective, struct tide_instance *instance) {
  struct tide_sched *sched = collective->sched;
  collective->finished = instance->number;
  sched->instances--;
  if (instance->entered < collective->count) sched->incomplete--;
  if (!instance->recorded) make_coarse_record(instance);
  if (collective->entered < instance->number) collective->entered = instance->number;
  count_entered(collective);
  tide_tracker_advance_collect(sched->context->tracker, collective->tracked, instance->number,
                               &sched->fired);
  if (instance->status)
    tide_timeline_fail_locked(collective->progress, instance->number, instance->status,
                              instance->cause, &sched->fired);
  else tide_timeline_advance(collective->progress, instance->number, &sched->fired);
  fail_axis_if_due(collective);
}

/* Publishes the finished instances in order. Instance n+1 finishes first only if a part of it has
 * left out of order. */
static void publish_finished(struct tide_collective *collective) {
  struct tide_instance *next;
  while ((next = instance_at(collective, collective->finished + 1))->number ==
             collective->finished + 1 &&
         next->finished >= collective->count)
    publish_instance(collective, next);
}

void tide_instance_finished(struct tide_op *part) {
  struct tide_instance *instance = tide_op_rare(part)->instance;
  struct tide_collective *collective = instance->collective;
  const struct tide_member *member = find_member(collective, part->queue->position.axis);
  if (instance->parts[member->member] == part) instance->parts[member->member] = NULL;
  tide_instance_fail(part);
  /* A part that left before it entered will not arrive: the others need not wait for it. */
  if (!part->arrived) {
    part->arrived = true;
    instance->arrived++;
    if (part->state == TIDE_OP_HELD) (void)count_entry(instance);
    for (size_t i = 0; i < collective->count; i++)
      if (instance->parts[i]) tide_sched_look(instance->parts[i]->queue);
  }
  instance->finished++;
  publish_finished(collective);
  end_if_over(collective);
}

/* ---- look-ups ---------------------------------------------------------------------------- */

/* Returns the instance while it has unfinished parts; else NULL. */
static struct tide_instance *unfinished_at(struct tide_collective *collective, uint64_t number) {
  struct tide_instance *instance = instance_at(collective, number);
  return instance->number == number && number > collective->finished ? instance : NULL;
}

const struct tide_instance *tide_instance_of(const struct tide_sched *sched, tide_axis axis,
                                             uint64_t number) {
  struct tide_collective *collective =
      tide_tracker_owner(sched->context->tracker, axis, &sched->collectives);
  return collective ? unfinished_at(collective, number) : NULL;
}

const struct tide_instance *tide_instance_awaited(const struct tide_timeline *progress,
                                                  uint64_t value) {
  struct tide_collective *collective = progress->backing;
  if (progress->ops != &tide_collective_backing || !collective) return NULL;
  return unfinished_at(collective, value < collective->opened ? value : collective->opened);
}

bool tide_instance_is_promised(const struct tide_instance *instance, const struct tide_op *op) {
  const struct tide_collective *collective = instance->collective;
  if (instance->number <= collective->entered) return true;
  if (!op || !op->part || instance->number != collective->entered + 1) return false;
  const struct tide_member *member = find_member(collective, op->queue->position.axis);
  return member && instance->parts[member->member] == op &&
         instance->entered + 1 == collective->count;
}

const struct tide_instance *tide_instance_before(const struct tide_instance *instance) {
  return unfinished_at(instance->collective, instance->number - 1);
}

struct tide_op *tide_instance_part_of(const struct tide_instance *instance,
                                      const struct tide_queue *queue) {
  const struct tide_member *member = find_member(instance->collective, queue->position.axis);
  return member ? instance->parts[member->member] : NULL;
}

bool tide_collectives_owe(const struct tide_queue *queue) {
  struct tide_link *all = &queue->sched->collectives;
  if (!queue->members || !queue->sched->instances) return false;
  for (struct tide_link *at = all->next; at != all; at = at->next) {
    const struct tide_collective *collective = TIDE_CONTAINER(at, struct tide_collective, in_sched);
    const struct tide_member *member = find_member(collective, queue->position.axis);
    if (member && collective->next[member->member] <= collective->opened) return true;
  }
  return false;
}

/* True if the instance is known to end only after (axis, epoch): the epoch of a member up to its
 * part, which has entered and is unfinished. A failed instance stands for nothing. */
static bool stands_for(const struct tide_instance *instance, tide_axis axis, uint64_t epoch) {
  if (!instance->recorded || instance->status || instance->collective->lost) return false;
  const struct tide_member *member = find_member(instance->collective, axis);
  const struct tide_op *part = member ? instance->parts[member->member] : NULL;
  return part && part->work.epoch >= epoch;
}

bool tide_collectives_imply(const struct tide_sched *sched, const struct tide_frontier *known,
                            tide_axis axis, uint64_t epoch) {
  if (!sched->instances) return false;
  const struct tide_queue *queue = tide_tracker_owner(sched->context->tracker, axis, sched);
  if (!queue || !queue->members) return false;
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(known);
       tide_frontier_next(&at, &entry);) {
    if (tide_axis_domain(entry.axis) != TIDE_DOMAIN_COLLECTIVE) continue;
    const struct tide_instance *instance = tide_instance_of(sched, entry.axis, entry.epoch);
    if (instance && stands_for(instance, axis, epoch)) return true;
  }
  return false;
}

/* ---- submitting ---------------------------------------------------------------------------- */

static struct tide_instance *open_instance(struct tide_collective *collective, uint64_t number,
                                           uint64_t kind) {
  struct tide_instance *instance = instance_at(collective, number);
  if (instance->number == number) return instance;
  if (instance->number && instance->finished < collective->count)
    return NULL; /* the ring is full */
  struct tide_op **parts = instance->parts;
  struct tide_frontier *record = instance->record;
  tide_cause_release(instance->cause);
  *instance = (struct tide_instance){
      .collective = collective, .number = number, .kind = kind, .parts = parts, .record = record};
  struct tide_sched *sched = collective->sched;
  sched->instances++;
  if (sched->incomplete++ == 0) sched->incomplete_since = (uint32_t)sched->stats.entered;
  collective->opened = number; /* a member has submitted its part of each instance before */
  return instance;
}

/* Frees an instance whose first part was refused. */
static void close_unused(struct tide_instance *instance) {
  instance->number = 0;
  instance->collective->opened--;
  instance->collective->sched->instances--;
  instance->collective->sched->incomplete--;
}

static enum tide_status submit_locked(struct tide_collective *collective, size_t member,
                                      uint64_t kind, const struct tide_operation *part,
                                      uint64_t *out_instance, struct tide_diag *diag) {
  if (collective->lost)
    return tide_diag_set(
        diag, collective->lost, "'%s' has lost member %zu ('%s'): the others need a new collective",
        collective->progress->label, collective->lost_member, collective->lost_label);
  struct tide_queue *queue = collective->members[member];
  uint64_t number = collective->next[member];
  if (number - collective->finished > collective->mask)
    return tide_diag_set(diag, TIDE_FULL, "%u instances of '%s' are under way",
                         collective->mask + 1, collective->progress->label);
  bool is_new = instance_at(collective, number)->number != number;
  struct tide_instance *instance = open_instance(collective, number, kind);
  if (!instance) return tide_diag_set(diag, TIDE_FULL, "'%s' is full", collective->progress->label);
  enum tide_status status = TIDE_OK;
  if (instance->kind != kind)
    status = tide_diag_set(
        diag, TIDE_MISMATCH,
        "member %zu ('%s') submits kind %lu as instance %lu of '%s', others submitted "
        "kind %lu",
        member, queue->label, (unsigned long)kind, (unsigned long)number,
        collective->progress->label, (unsigned long)instance->kind);
  struct tide_operation empty = {.label = part->label};
  const struct tide_operation *taken = status == TIDE_OK ? part : &empty;
  /* The part is known to the instance before it can enter, arrive or finish. So the queue grows
   * first, or not at all: it would take the part from another store. */
  enum tide_status submitted = tide_queue_has_capacity(queue, taken, diag);
  struct tide_op *op = tide_queue_free_op(queue);
  if (submitted == TIDE_OK) {
    instance->parts[member] = op;
    submitted = tide_op_submit_locked(queue, taken, instance, NULL, diag);
  }
  if (submitted != TIDE_OK) {
    if (instance->parts[member] == op) instance->parts[member] = NULL;
    if (is_new) close_unused(instance);
    return submitted;
  }
  if (status == TIDE_MISMATCH) fail_instance(instance, TIDE_MISMATCH, NULL);
  if (status != TIDE_OK && instance->parts[member]) {
    op->status = status;
    tide_sched_look(queue);
  }
  instance->submitted++;
  collective->next[member]++;
  if (out_instance) *out_instance = number;
  return status;
}

enum tide_status tide_collective_submit(struct tide_collective *collective, size_t member,
                                        uint64_t kind, const struct tide_operation *part,
                                        uint64_t *out_instance, struct tide_diag *diag) {
  if (member >= collective->count)
    return tide_diag_set(diag, TIDE_INVALID, "member %zu of %zu", member, collective->count);
  tide_sched_enter(collective->sched);
  enum tide_status status = submit_locked(collective, member, kind, part, out_instance, diag);
  tide_sched_leave(collective->sched);
  return status;
}

/* ---- the end -------------------------------------------------------------------------- */

static void close_collective(struct tide_collective *collective) {
  struct tide_sched *sched = collective->sched;
  tide_list_remove(&collective->in_sched);
  tide_tracker_close_collect(sched->context->tracker, collective->tracked, &sched->fired);
  collective->tracked = NULL;
  tide_timeline_fail_locked(collective->progress, 0, TIDE_CANCELLED, NULL, &sched->fired);
  collective->progress->backing = NULL;
  collective->next_gone = sched->gone_collectives;
  sched->gone_collectives = collective;
  sched->calls = true;
}

/* Acts once no instance is under way. A destroyed collective is closed. One that has lost a member
 * releases all members: the lost member's queue may be waiting for that. */
static void end_if_over(struct tide_collective *collective) {
  struct tide_sched *sched = collective->sched;
  if (collective->finished < collective->last || !collective->tracked) return;
  if (collective->closing) {
    close_collective(collective);
  } else if (collective->lost && !collective->released) {
    tide_tracker_certify_collect(sched->context->tracker, collective->tracked, &sched->fired);
    tide_collective_release_members(collective);
  }
}

/* Fails an instance that will not run. Parts that were never submitted count as arrived and
 * finished; parts that have not started are cancelled. */
static void doom_instance(struct tide_instance *instance, enum tide_status status) {
  size_t count = instance->collective->count, missing = count - instance->submitted;
  instance->arrived += missing;
  instance->finished += missing;
  instance->submitted = count;
  fail_instance(instance, status, NULL);
  for (size_t i = 0; i < count; i++) {
    struct tide_op *part = instance->parts[i];
    uint64_t *next = &instance->collective->next[i];
    if (*next <= instance->number) *next = instance->number + 1; /* it owes the part no more */
    if (part && part->state == TIDE_OP_HELD) tide_op_leave(part, instance->status);
    else if (part) tide_op_cancel(part, instance->status);
  }
}

/* Sets `last`. Called when no member can submit any more. */
static void find_last(struct tide_collective *collective) {
  for (size_t i = 0; i < collective->count; i++)
    if (collective->next[i] - 1 > collective->last) collective->last = collective->next[i] - 1;
}

static void destroy_locked(struct tide_collective *collective) {
  find_last(collective);
  for (uint64_t n = collective->finished + 1; n <= collective->last; n++) {
    struct tide_instance *instance = instance_at(collective, n);
    if (instance->submitted < collective->count) doom_instance(instance, TIDE_CANCELLED);
  }
  publish_finished(collective);
  collective->closing = true;
  end_if_over(collective);
}

void tide_collective_destroy(struct tide_collective *collective) {
  if (!collective) return;
  struct tide_sched *sched = collective->sched;
  tide_sched_enter(sched);
  destroy_locked(collective);
  tide_sched_leave(sched);
}

/* Visits each collective once, although its end may remove others from the list. */
void tide_collectives_destroy_locked(struct tide_sched *sched) {
  struct tide_link left, *at;
  tide_list_move_all(&sched->collectives, &left);
  while ((at = tide_list_pop_front(&left))) {
    struct tide_collective *collective = TIDE_CONTAINER(at, struct tide_collective, in_sched);
    tide_list_push_back(&sched->collectives, at);
    if (!collective->closing) destroy_locked(collective);
  }
}

/* ---- losing a member -------------------------------------------------------------------- */

/* True if the instance cannot go on without the lost member. The member's own operations were
 * cancelled or failed before. */
static bool needs_member(const struct tide_instance *instance, size_t member) {
  const struct tide_op *part = instance->parts[member];
  return instance->submitted < instance->collective->count || instance->status ||
         (part && part->status);
}

static void lose_member(struct tide_collective *collective, size_t member,
                        enum tide_status status) {
  struct tide_sched *sched = collective->sched;
  if (!collective->lost) {
    collective->lost = status;
    collective->lost_member = member;
    memcpy(collective->lost_label, collective->members[member]->label,
           sizeof collective->lost_label);
    find_last(collective);
    collective->doomed = collective->last + 1;
  }
  uint64_t first = collective->last + 1;
  for (uint64_t n = collective->last; n > collective->finished; n--)
    if (needs_member(instance_at(collective, n), member)) first = n;
  if (first < collective->doomed) collective->doomed = first;
  tide_timeline_fail_locked(collective->progress, collective->doomed, collective->lost, NULL,
                            &sched->fired);
  for (uint64_t n = first; n <= collective->last; n++) {
    struct tide_instance *instance = instance_at(collective, n);
    if (needs_member(instance, member)) doom_instance(instance, status);
  }
  publish_finished(collective);
  fail_axis_if_due(collective);
  end_if_over(collective);
}

void tide_collectives_lose(struct tide_queue *queue, enum tide_status status) {
  struct tide_link left, *at;
  tide_list_move_all(&queue->memberships, &left);
  while ((at = tide_list_pop_front(&left))) {
    struct tide_membership *own = TIDE_CONTAINER(at, struct tide_membership, in_queue);
    tide_list_push_back(&queue->memberships, at);
    if (own->collective->tracked)
      lose_member(own->collective, (size_t)(own - own->collective->memberships), status);
  }
}
