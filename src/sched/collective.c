/* N queues do one thing together, on one axis.
 *
 * An instance collects: parts that were submitted, that entered, that arrived at
 * their place, that finished. When all have entered its record is known: the
 * merge of the parts' records, in which the members' own entries are replaced by
 * one, (collective, instance). When all have arrived the parts may start. When
 * all have finished the instance is reached; or it failed, with the first cause.
 *
 * A member is lost when its queue is destroyed or its device is lost. Instances whose
 * parts have all started without it (it had started its own) go on; the others are doomed:
 * nobody's part of them will run, and a part that never came counts as over. From the
 * first of them on the progress fails at once. The axis fails when what goes on is over, and is
 * certified when everything is: a part on a lost device is over once that is certified. */
#include "base/alloc.h"
#include "base/text.h"
#include "causal/tracker.h"
#include "sched/sched.h"

struct tide_instance {
  struct tide_collective *collective;
  uint64_t number; /* 0: free */
  uint64_t kind;
  size_t submitted, entered, arrived, finished;
  struct tide_op **parts; /* by member; NULL once finished */
  struct tide_frontier *record;
  bool recorded;
  enum tide_status status;
  struct tide_cause *cause;
};

struct tide_member {
  tide_axis axis;
  size_t member;
};

struct tide_collective {
  struct tide_collective *next_gone; /* in sched->gone_collectives, once it is over */
  struct tide_sched *sched;
  struct tide_link in_sched; /* sched->collectives */
  bool closing;              /* destroyed: it goes when instance `last` has finished */
  bool released;             /* lost, and over: its members don't belong to it any more */
  enum tide_status lost;     /* a member is: how */
  size_t lost_member;
  char lost_label[TIDE_LABEL_SIZE];
  uint64_t doomed;                   /* lost: from this instance on all fail */
  uint64_t last;                     /* closing or lost: no instance comes after this one */
  struct tide_position position;     /* its frontier is unused: records are made of the parts' */
  struct tide_tracker_axis *tracked; /* NULL: closed */
  struct tide_timeline *progress;
  size_t count;
  struct tide_queue **members;
  struct tide_member *by_axis; /* the members, sorted */
  uint64_t *next;              /* by member: the instance that it submits next */
  uint64_t entered, finished;  /* instances, in order */
  uint32_t mask;
  struct tide_instance *ring; /* by number & mask */
  struct tide_op **parts;
  unsigned char *records;
  size_t record_size;
};

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

static const struct tide_record_source progress_source = {find_record};

struct tide_timeline *tide_collective_progress(struct tide_collective *collective) {
  return collective->progress;
}

/* ---- members ------------------------------------------------------------------------------ */

/* They are mostly made one after the other, so this is one pass. */
static void sort_members(struct tide_collective *collective) {
  struct tide_member *sorted = collective->by_axis;
  for (size_t i = 0; i < collective->count; i++) {
    struct tide_member member = {collective->members[i]->position.axis, i};
    size_t at = i;
    for (; at && sorted[at - 1].axis > member.axis; at--) sorted[at] = sorted[at - 1];
    sorted[at] = member;
  }
}

/* NULL: this axis is no member's. */
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

/* ---- what sched tells ------------------------------------------------------------------ */

/* Each member's own entry is implied by the collective's: all parts have finished when it is
 * reached. They are left out from the beginning, so that they take no room from what stays. */
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
  instance->recorded = true;
}

/* A part left before all had entered. Nobody reaches this value, but an older one may be answered
 * with its record: what is in it is true. */
static void make_coarse_record(struct tide_instance *instance) {
  tide_frontier_clear(instance->record);
  tide_frontier_raise(instance->record, instance->collective->position.axis, instance->number,
                      NULL);
  instance->record->tainted = 1;
}

/* Counts the instances that have entered, in order: a later one may have its record first where a
 * held part of it has left. */
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

void tide_instance_entered(struct tide_op *part) {
  struct tide_instance *instance = tide_op_rare(part)->instance;
  struct tide_collective *collective = instance->collective;
  struct tide_sched *sched = collective->sched;
  if (++instance->entered < collective->count) return;
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
    if (part) tide_op_fail(part, instance->status, instance->cause);
    if (part) tide_sched_look(part->queue);
  }
}

bool tide_instance_arrive(struct tide_op *part) {
  struct tide_instance *instance = tide_op_rare(part)->instance;
  struct tide_collective *collective = instance->collective;
  if (!part->arrived) {
    part->arrived = true;
    if (part->status) fail_instance(instance, part->status, tide_op_cause(part));
    if (++instance->arrived == collective->count)
      for (size_t i = 0; i < collective->count; i++)
        if (instance->parts[i]) tide_sched_look(instance->parts[i]->queue);
  }
  tide_op_fail(part, instance->status, instance->cause);
  /* Nobody's part will run: then none has to wait for the others to be skipped. */
  return instance->status || instance->arrived == collective->count;
}

static void end_if_over(struct tide_collective *collective);

/* What goes on without the lost member is over. */
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

/* In order: instance n+1 can have finished first only where a part left without its turn. */
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
  if (part->status) fail_instance(instance, part->status, tide_op_cause(part));
  /* A part that left before it entered will not arrive: the others need not wait for it. */
  if (!part->arrived) {
    part->arrived = true;
    instance->arrived++;
    if (part->state == TIDE_OP_HELD) instance->entered++;
    for (size_t i = 0; i < collective->count; i++)
      if (instance->parts[i]) tide_sched_look(instance->parts[i]->queue);
  }
  instance->finished++;
  publish_finished(collective);
  end_if_over(collective);
}

bool tide_instance_circular(struct tide_op *part) {
  const struct tide_instance *instance = tide_op_rare(part)->instance;
  const struct tide_frontier *known = part->queue->sched->known;
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(known);
       tide_frontier_next(&at, &entry);) {
    const struct tide_member *member = find_member(instance->collective, entry.axis);
    const struct tide_op *sibling = member ? instance->parts[member->member] : NULL;
    if (!sibling || sibling == part || !sibling->work.epoch) continue;
    if (entry.epoch >= sibling->work.epoch) return true;
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
  return instance;
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
  if (status == TIDE_MISMATCH) fail_instance(instance, TIDE_MISMATCH, NULL);
  struct tide_operation empty = {.label = part->label};
  const struct tide_operation *taken = status == TIDE_OK ? part : &empty;
  /* The part is known to the instance before it can enter, arrive or finish. */
  struct tide_op *op = tide_queue_free_op(queue);
  instance->parts[member] = op;
  enum tide_status submitted = tide_op_submit_locked(queue, taken, instance, NULL, diag);
  if (submitted != TIDE_OK) {
    if (instance->parts[member] == op) instance->parts[member] = NULL;
    if (is_new) instance->number = 0;
    return submitted;
  }
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

/* ---- making ------------------------------------------------------------------------------------
 */

static void free_storage(struct tide_collective *collective, const struct tide_allocator *a) {
  size_t ring = (size_t)collective->mask + 1;
  for (size_t i = 0; collective->ring && i < ring; i++)
    tide_cause_release(collective->ring[i].cause);
  tide_timeline_release(collective->progress);
  tide_free(a, collective->members, collective->count, sizeof *collective->members);
  tide_free(a, collective->by_axis, collective->count, sizeof *collective->by_axis);
  tide_free(a, collective->next, collective->count, sizeof *collective->next);
  tide_free(a, collective->ring, ring, sizeof *collective->ring);
  tide_free(a, collective->parts, ring * collective->count, sizeof *collective->parts);
  tide_free(a, collective->records, ring, collective->record_size);
  tide_free(a, collective, 1, sizeof *collective);
}

struct tide_collective *tide_collective_next_gone(const struct tide_collective *collective) {
  return collective->next_gone;
}

static void release_members(struct tide_collective *collective) {
  collective->released = true;
  for (size_t i = 0; i < collective->count; i++) {
    collective->members[i]->members--;
    tide_sched_look(collective->members[i]);
  }
}

/* The members' queues stay until here, and so does the scheduler; unless a member was lost, all was
 * over before, and whoever destroys the collective keeps the scheduler. */
void tide_collective_free(struct tide_collective *collective) {
  struct tide_sched *sched = collective->sched;
  const struct tide_allocator *a = sched->context->allocator;
  if (!collective->released) {
    tide_sched_enter(sched);
    release_members(collective);
    tide_sched_leave(sched);
  }
  free_storage(collective, a);
}

static enum tide_status make_ring(struct tide_collective *collective) {
  struct tide_context *context = collective->sched->context;
  const struct tide_allocator *a = context->allocator;
  size_t ring = (size_t)collective->mask + 1, count = collective->count;
  collective->record_size = tide_frontier_size(context->frontier_capacity);
  collective->members = tide_alloc(a, count, sizeof *collective->members);
  collective->by_axis = tide_alloc(a, count, sizeof *collective->by_axis);
  collective->next = tide_alloc(a, count, sizeof *collective->next);
  collective->ring = tide_alloc(a, ring, sizeof *collective->ring);
  collective->parts = tide_alloc(a, ring * count, sizeof *collective->parts);
  collective->records = tide_alloc(a, ring, collective->record_size);
  if (!collective->members || !collective->by_axis || !collective->next || !collective->ring ||
      !collective->parts || !collective->records)
    return TIDE_NOMEM;
  for (size_t i = 0; i < ring; i++) {
    struct tide_instance *instance = &collective->ring[i];
    instance->collective = collective;
    instance->parts = collective->parts + i * count;
    instance->record =
        (struct tide_frontier *)(void *)(collective->records + i * collective->record_size);
    tide_frontier_init(instance->record, context->frontier_capacity);
  }
  for (size_t i = 0; i < count; i++) collective->next[i] = 1;
  return TIDE_OK;
}

/* How many instances can be under way: a member has at most its queue's capacity of parts that have
 * not finished, and the newest that it did finish may still run elsewhere. What is more
 * keeps finished records, the newest at least. A power of two. */
static uint32_t instances_for(struct tide_queue *const *members, size_t count) {
  uint32_t most = 0, ring = 256;
  for (size_t i = 0; i < count; i++)
    if (members[i]->op_capacity > most) most = members[i]->op_capacity;
  while (ring < most + 2) ring *= 2;
  return ring;
}

static bool distinct(struct tide_queue *const *members, size_t count) {
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < i; j++)
      if (members[i] == members[j] || members[i]->sched != members[j]->sched) return false;
  return true;
}

/* A member that is lost already can take no part. */
static enum tide_status join(struct tide_collective *collective,
                             struct tide_queue *const *members) {
  struct tide_sched *sched = collective->sched;
  enum tide_status status = TIDE_OK;
  tide_sched_enter(sched);
  for (size_t i = 0; i < collective->count && status == TIDE_OK; i++)
    status = members[i]->closing ? TIDE_CANCELLED : members[i]->device->lost;
  for (size_t i = 0; i < collective->count && status == TIDE_OK; i++) {
    collective->members[i] = members[i];
    members[i]->members++;
  }
  if (status == TIDE_OK) sort_members(collective);
  if (status == TIDE_OK) tide_list_push_back(&sched->collectives, &collective->in_sched);
  tide_sched_leave(sched);
  return status;
}

enum tide_status tide_collective_create(struct tide_queue *const *members, size_t count,
                                        const char *label,
                                        struct tide_collective **out_collective) {
  if (count == 0 || count > 4096 || !distinct(members, count)) return TIDE_INVALID;
  struct tide_sched *sched = members[0]->sched;
  struct tide_context *context = sched->context;
  struct tide_collective *collective = tide_alloc(context->allocator, 1, sizeof *collective);
  if (!collective) return TIDE_NOMEM;
  collective->sched = sched;
  collective->count = count;
  collective->mask = instances_for(members, count) - 1;
  enum tide_status status = make_ring(collective);
  if (status == TIDE_OK) {
    status = tide_timeline_create_sourced(context, label, &progress_source, collective,
                                          &collective->progress);
  }
  if (status == TIDE_OK)
    status = tide_lease_take(context->lease, TIDE_DOMAIN_COLLECTIVE, &collective->position.axis);
  if (status == TIDE_OK)
    status = tide_tracker_register(context->tracker, collective->position.axis);
  if (status == TIDE_OK) {
    collective->tracked = tide_tracker_find(context->tracker, collective->position.axis);
    tide_tracker_set_names(collective->tracked);
    status = join(collective, members);
    if (status != TIDE_OK) (void)tide_tracker_close(context->tracker, collective->position.axis);
  }
  if (status != TIDE_OK) {
    free_storage(collective, context->allocator);
    return status;
  }
  *out_collective = collective;
  return TIDE_OK;
}

/* ---- the end -------------------------------------------------------------------------- */

static void close_collective(struct tide_collective *collective) {
  struct tide_sched *sched = collective->sched;
  tide_list_remove(&collective->in_sched);
  tide_tracker_close_collect(sched->context->tracker, collective->tracked, &sched->fired);
  collective->tracked = NULL;
  tide_timeline_fail_locked(collective->progress, 0, TIDE_CANCELLED, NULL, &sched->fired);
  collective->progress->source_self = NULL;
  collective->next_gone = sched->gone_collectives;
  sched->gone_collectives = collective;
  sched->calls = true;
}

/* Nothing of it is under way any more. Destroyed, it goes; else it has lost a member, and lets the
 * members go: the lost one's queue may be waiting for that. */
static void end_if_over(struct tide_collective *collective) {
  struct tide_sched *sched = collective->sched;
  if (collective->finished < collective->last || !collective->tracked) return;
  if (collective->closing) {
    close_collective(collective);
  } else if (collective->lost && !collective->released) {
    tide_tracker_certify_collect(sched->context->tracker, collective->tracked, &sched->fired);
    release_members(collective);
  }
}

/* The instance will not run: parts that never came count as failed, arrived and finished, and those
 * that have not started are cancelled. */
static void doom(struct tide_instance *instance, enum tide_status status) {
  size_t count = instance->collective->count, missing = count - instance->submitted;
  instance->arrived += missing;
  instance->finished += missing;
  instance->submitted = count;
  fail_instance(instance, status, NULL);
  for (size_t i = 0; i < count; i++) {
    struct tide_op *part = instance->parts[i];
    if (part && part->state == TIDE_OP_HELD) tide_op_leave(part, instance->status);
    else if (part) tide_op_cancel(part, instance->status);
  }
}

/* No member submits any more. */
static void find_last(struct tide_collective *collective) {
  for (size_t i = 0; i < collective->count; i++)
    if (collective->next[i] - 1 > collective->last) collective->last = collective->next[i] - 1;
}

static void destroy_locked(struct tide_collective *collective) {
  find_last(collective);
  for (uint64_t n = collective->finished + 1; n <= collective->last; n++) {
    struct tide_instance *instance = instance_at(collective, n);
    if (instance->submitted < collective->count) doom(instance, TIDE_CANCELLED);
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

void tide_collectives_destroy_locked(struct tide_sched *sched) {
  struct tide_link *all = &sched->collectives, *at = all->next;
  while (at != all) {
    struct tide_collective *collective = TIDE_CONTAINER(at, struct tide_collective, in_sched);
    bool is_left = !collective->closing;
    if (is_left) destroy_locked(collective);
    at = is_left ? all->next : at->next; /* the list may have changed */
  }
}

/* ---- losing a member -------------------------------------------------------------------- */

/* The lost member's own operations have been cancelled, or failed, by now. */
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
    if (needs_member(instance, member)) doom(instance, status);
  }
  publish_finished(collective);
  fail_axis_if_due(collective);
  end_if_over(collective);
}

void tide_collectives_lose(struct tide_queue *queue, enum tide_status status) {
  struct tide_link *all = &queue->sched->collectives;
  for (struct tide_link *at = all->next, *next; at != all; at = next) {
    struct tide_collective *collective = TIDE_CONTAINER(at, struct tide_collective, in_sched);
    next = at->next;
    if (collective->released) continue;
    for (size_t i = 0; i < collective->count; i++) {
      if (collective->members[i] != queue) continue;
      lose_member(collective, i, status);
      break;
    }
  }
}
