/* The dependencies of operations, and walks along them (sched/dependency_walk.h). */
#include "sched/dependency_walk.h"
#include "causal/tracker.h"
#include "sched/collective_state.h"

/* ---- what an operation depends on ------------------------------------------------ */

struct tide_op *tide_wait_may_provide(const struct tide_op *op, const struct tide_op_wait *wait) {
  const struct tide_timeline *timeline = wait->timeline;
  if (tide_load_acquire(&timeline->reached.value) >= wait->value) return NULL;
  if (tide_timeline_has_failed(timeline, wait->value)) return NULL;
  if (timeline->ops || tide_timeline_pending(timeline, wait->value)) return NULL;
  struct tide_op_signal *signal =
      (struct tide_op_signal *)(void *)tide_tree_at_least(&timeline->reserved, wait->value);
  /* An operation's own signal, above the awaited value, cannot end its wait. Neither can a signal
   * that must fail. */
  if (!signal || signal->op == op) return NULL;
  return tide_timeline_has_failed(timeline, signal->record.node.key) ? NULL : signal->op;
}

/* True if the wait ends only by this signal, which is pending. A failed operation awaits what it
 * has imported, and nothing else. */
static bool ends_by(const struct tide_op_wait *wait, const struct tide_record *record,
                    bool failing) {
  const struct tide_timeline *timeline = wait->timeline;
  bool is_exact = record->node.key == wait->value;
  if (failing) return !record->external && (is_exact || timeline->operations_only);
  return is_exact || timeline->operations_only || timeline->scope < TIDE_SCOPE_PROCESS;
}

/* Returns the held operation, or the target, without which the wait can never be true; NULL: none.
 * An operation that may be passed can be preceded by later submits, which may signal, too. The
 * values of a target that enters are as good as pending. */
static struct tide_op *must_provide(const struct tide_dependency_walk *walk,
                                    const struct tide_op *op, const struct tide_op_wait *wait,
                                    bool failing) {
  const struct tide_timeline *timeline = wait->timeline;
  struct tide_op *giver = tide_wait_may_provide(op, wait);
  if (!giver) return NULL;
  const struct tide_tree_node *node = tide_tree_at_least(&timeline->reserved, wait->value);
  if (giver == walk->target && walk->enters)
    return ends_by(wait, (const struct tide_record *)(const void *)node, failing) ? giver : NULL;
  bool no_other = timeline->scope == TIDE_SCOPE_QUEUE && !(op->flags & TIDE_MAY_BE_PASSED);
  return !failing && (node->key == wait->value || no_other) ? giver : NULL;
}

/* Returns the entered operation that signals the awaited value; NULL: none, or others may signal
 * before it. */
static struct tide_op *pending_provider(const struct tide_op_wait *wait, bool failing) {
  const struct tide_record *record = tide_timeline_pending(wait->timeline, wait->value);
  if (!record || !ends_by(wait, record, failing)) return NULL;
  return TIDE_CONTAINER(record, struct tide_op_signal, record)->op;
}

struct tide_op *tide_held_blocker(struct tide_queue *queue, struct tide_link *at) {
  for (; queue->held_firm && at != &queue->held; at = at->prev) {
    struct tide_op *op = tide_op_of_link(at);
    if (!(op->flags & TIDE_MAY_BE_PASSED)) return op;
  }
  return NULL;
}

/* Returns the value whose failure fails the operation. An entered one may need its record's. */
static uint64_t needed_value(const struct tide_op *op, const struct tide_op_wait *wait) {
  if (op->state != TIDE_OP_ENTERED) return wait->value;
  if (wait->class_ == TIDE_WAIT_ELIDED) return tide_wait_record(op->queue, wait);
  return tide_wait_awaited(op, wait);
}

bool tide_wait_has_failed(const struct tide_op *op, const struct tide_op_wait *wait) {
  const struct tide_timeline *timeline = wait->timeline;
  if (wait->point || tide_load_acquire(&timeline->reached.value) >= wait->value) return false;
  return tide_timeline_has_failed(timeline, needed_value(op, wait));
}

bool tide_op_is_failing(const struct tide_op *op) {
  if (op->status) return true;
  if (op->state == TIDE_OP_HELD && op->queue->channel && tide_channel_fails_held(op)) return true;
  for (const struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    if (tide_wait_has_failed(op, wait)) return true;
  return false;
}

/* ---- the walk ---------------------------------------------------------------------- */

/* True if another part of the target's instance comes behind the operation in its queue. */
static bool is_before_other_part(const struct tide_dependency_walk *walk, struct tide_op *op) {
  const struct tide_op *part = tide_instance_part_of(walk->instance, op->queue);
  if (!part || part == op || part == walk->target) return false;
  if (op->state == TIDE_OP_ENTERED)
    return part->state == TIDE_OP_HELD || op->work.epoch < part->work.epoch;
  return part->state == TIDE_OP_HELD && !(op->flags & TIDE_MAY_BE_PASSED) &&
         tide_op_sequence(op) < tide_op_sequence(part);
}

static bool is_waiting(const struct tide_op *op) {
  return op->state == TIDE_OP_HELD || op->state == TIDE_OP_ENTERED;
}

/* Notes that the walk's end depends on the target. Returns true. */
static bool end_walk(struct tide_dependency_walk *walk, struct tide_op *last,
                     enum tide_dependency kind) {
  walk->last = last;
  walk->last_kind = kind;
  return true;
}

/* True if the operation entered while each instance had all its parts. Then all that it needs
 * entered before it, or with such a part: neither the target, nor an instance that lacks one. */
static bool is_frozen(const struct tide_sched *sched, const struct tide_op *op) {
  if (op->state != TIDE_OP_ENTERED) return false;
  return !sched->incomplete || (int32_t)(tide_op_turn(op) - sched->incomplete_since) < 0;
}

/* Pushes an operation that has to arrive, or also to start. One that was pushed to arrive is not
 * pushed again to start: the other parts of its instance were pushed with it. True if the walk has
 * found its end. */
static bool push_once(struct tide_dependency_walk *walk, struct tide_op *from, struct tide_op *op,
                      enum tide_dependency kind, bool starts) {
  struct tide_op_rare *rare = tide_op_rare(op);
  if (!is_waiting(op) || rare->visited == walk->number) return false;
  rare->visited = walk->number;
  if (is_frozen(walk->sched, op)) return false;
  if (walk->instance && is_before_other_part(walk, op)) return false;
  rare->starts = starts;
  rare->from = from;
  rare->from_kind = kind;
  rare->mark = walk->stack;
  walk->stack = op;
  return walk->budget && ++walk->visits > walk->budget;
}

static bool push_newest(struct tide_dependency_walk *walk, struct tide_op *from,
                        struct tide_queue *queue, struct tide_link *held,
                        enum tide_dependency kind);

/* Pushes what all parts of an instance need to arrive; for a member that has not submitted its part
 * yet, its newest operation. */
static bool push_arrivals(struct tide_dependency_walk *walk, struct tide_op *from,
                          const struct tide_instance *instance, enum tide_dependency kind) {
  const struct tide_collective *collective = instance->collective;
  for (size_t i = 0; i < collective->count; i++) {
    struct tide_op *part = instance->parts[i];
    if (part && part != walk->target && !part->arrived && push_once(walk, from, part, kind, false))
      return true;
    struct tide_queue *member = collective->members[i];
    if (!walk->owing || collective->next[i] > instance->number) continue;
    if (member == walk->owing || push_newest(walk, from, member, member->held.prev, kind))
      return true;
  }
  return false;
}

static bool is_of_target(const struct tide_dependency_walk *walk,
                         const struct tide_instance *instance) {
  struct tide_op *target = walk->target;
  return target && target->part && tide_op_rare(target)->instance == instance;
}

bool tide_instance_is_failing(const struct tide_instance *instance, const struct tide_op *but) {
  if (instance->status) return true;
  for (size_t i = 0; i < instance->collective->count; i++) {
    const struct tide_op *part = instance->parts[i];
    if (!part || part == but || !is_waiting(part) || !tide_op_is_failing(part)) continue;
    struct tide_collective *collective = instance->collective;
    collective->ring[instance->number & collective->mask].unnoticed = true;
    collective->sched->unnoticed = true;
    return true;
  }
  return false;
}

/* True if the parts of the instance wait for one another: none has failed. */
static bool waits_for_all(const struct tide_dependency_walk *walk,
                          const struct tide_instance *instance) {
  if (walk->fails && is_of_target(walk, instance)) return false;
  return !tide_instance_is_failing(instance, walk->target);
}

/* Pushes the other parts that a part needs to start. */
static bool push_other_parts(struct tide_dependency_walk *walk, struct tide_op *part) {
  const struct tide_instance *instance = tide_op_rare(part)->instance;
  return waits_for_all(walk, instance) &&
         push_arrivals(walk, part, instance, TIDE_DEPENDS_TOGETHER);
}

/* True if this part cannot start before the target arrives. */
static bool needs_target(const struct tide_dependency_walk *walk, struct tide_op *part) {
  const struct tide_instance *instance = tide_op_rare(part)->instance;
  return is_of_target(walk, instance) && waits_for_all(walk, instance);
}

/* Pushes an operation that has to start. True if the walk has found its end. */
static bool push_operation(struct tide_dependency_walk *walk, struct tide_op *from,
                           struct tide_op *op, enum tide_dependency kind) {
  if (!op) return false;
  if (op == walk->target) return end_walk(walk, from, kind);
  if (!is_waiting(op)) return false;
  if (!op->part || !needs_target(walk, op)) return push_once(walk, from, op, kind, true);
  walk->part = op;
  return end_walk(walk, from, kind);
}

static struct tide_op *op_of_epoch(const struct tide_queue *queue, uint64_t epoch) {
  if (epoch <= queue->published || epoch > queue->position.epoch) return NULL;
  return tide_queue_op(queue, epoch);
}

/* Pushes the operation behind which the queue's next one comes. */
static bool push_newest(struct tide_dependency_walk *walk, struct tide_op *from,
                        struct tide_queue *queue, struct tide_link *held,
                        enum tide_dependency kind) {
  struct tide_op *blocker = tide_held_blocker(queue, held), *target = walk->target;
  if (blocker) return push_operation(walk, from, blocker, kind);
  if (walk->enters && from != target && target->queue == queue)
    return push_operation(walk, from, target, kind);
  return push_operation(walk, from, op_of_epoch(queue, queue->position.epoch), kind);
}

static bool push_predecessor(struct tide_dependency_walk *walk, struct tide_op *op) {
  struct tide_queue *queue = op->queue;
  if (op->state == TIDE_OP_ENTERED)
    return push_operation(walk, op, op_of_epoch(queue, op->work.epoch - 1), TIDE_DEPENDS_BEHIND);
  bool is_listed = op->state == TIDE_OP_HELD; /* the target may be neither */
  struct tide_link *before = is_listed ? tide_op_rare(op)->link.prev : queue->held.prev;
  return push_newest(walk, op, queue, before, TIDE_DEPENDS_BEHIND);
}

/* Pushes an instance that has to end. */
static bool push_instance(struct tide_dependency_walk *walk, struct tide_op *from,
                          const struct tide_instance *instance, enum tide_dependency kind) {
  /* Instances end in order: one that has failed does not hide those before it. */
  for (; instance; instance = tide_instance_before(instance)) {
    if (is_of_target(walk, instance)) return end_walk(walk, from, kind); /* ends after the target */
    if (push_arrivals(walk, from, instance, kind)) return true;
  }
  return false;
}

/* Pushes the operation, or the parts, that (axis, epoch) stands for. */
static bool push_epoch(struct tide_dependency_walk *walk, struct tide_op *from, tide_axis axis,
                       uint64_t epoch, enum tide_dependency kind) {
  struct tide_sched *sched = walk->sched;
  if (!axis) return false;
  const struct tide_queue *queue = tide_tracker_owner(sched->context->tracker, axis, sched);
  if (queue) return push_operation(walk, from, op_of_epoch(queue, epoch), kind);
  const struct tide_instance *instance = tide_instance_of(sched, axis, epoch);
  return instance && push_instance(walk, from, instance, kind);
}

/* Returns the last operation of the queue, perhaps the target, that must enter before the queue has
 * given `lacking` more epochs: it may not be passed, and fewer are held before it. NULL: none. */
static struct tide_op *last_to_enter(const struct tide_dependency_walk *walk,
                                     struct tide_queue *queue, uint64_t lacking) {
  struct tide_op *target = walk->target;
  bool is_targets = target && target->queue == queue;
  if (is_targets && walk->enters) return target; /* it has the next epoch */
  bool is_behind_all = lacking > queue->held_count;
  if (is_behind_all && is_targets && !(target->flags & TIDE_MAY_BE_PASSED)) return target;
  struct tide_link *at = queue->held.prev; /* most waits are for late ones */
  for (uint64_t i = queue->held_count; i > lacking; i--) at = at->prev;
  while (at != &queue->held && tide_op_of_link(at)->flags & TIDE_MAY_BE_PASSED) at = at->prev;
  return at == &queue->held ? NULL : tide_op_of_link(at);
}

/* Pushes the operation that must enter before a queue reaches the epoch that a wait for its
 * progress names. */
static bool push_progress(struct tide_dependency_walk *walk, struct tide_op *from,
                          struct tide_queue *queue, uint64_t epoch, bool failing) {
  uint64_t given = queue->position.epoch;
  bool is_next =
      walk->enters && from != walk->target && walk->target->queue == queue && epoch == given + 1;
  if (failing && epoch > given && !is_next) return false; /* no record to import */
  struct tide_op *giver =
      epoch <= given ? op_of_epoch(queue, epoch) : last_to_enter(walk, queue, epoch - given);
  return push_operation(walk, from, giver, TIDE_DEPENDS_VALUE);
}

/* Pushes the instance that a wait for a collective's progress awaits. A failing operation awaits a
 * promised one: all parts have entered, perhaps with the target. */
static bool push_awaited_instance(struct tide_dependency_walk *walk, struct tide_op *from,
                                  const struct tide_op_wait *wait, bool failing) {
  const struct tide_instance *instance = tide_instance_awaited(wait->timeline, wait->value);
  const struct tide_op *entering = walk->enters && from != walk->target ? walk->target : NULL;
  if (!instance || (failing && !tide_instance_is_promised(instance, entering))) return false;
  return push_instance(walk, from, instance, TIDE_DEPENDS_VALUE);
}

/* Pushes the held operation with the largest reservation below a value: no operation and no host
 * may signal the value before. It comes behind the lower reservations in turn. */
static bool push_lower(struct tide_dependency_walk *walk, struct tide_op *from,
                       const struct tide_timeline *timeline, uint64_t value) {
  const struct tide_tree_node *node = tide_tree_below(&timeline->reserved, value);
  const struct tide_op_signal *signal = (const void *)node;
  if (node && walk->enters && signal->op == walk->target) {
    node = tide_tree_previous(node); /* the target's values are as good as pending */
    signal = (const void *)node;
  }
  return node && push_operation(walk, from, signal->op, TIDE_DEPENDS_ORDER);
}

static bool push_lower_signals(struct tide_dependency_walk *walk, struct tide_op *op) {
  for (struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next)
    if (push_lower(walk, op, signal->record.timeline, signal->record.node.key)) return true;
  return false;
}

/* Pushes what must signal the value of a wait. `failing`: the operation awaits only what it
 * imports. */
static bool push_provider(struct tide_dependency_walk *walk, struct tide_op *op,
                          const struct tide_op_wait *wait, bool failing) {
  const struct tide_timeline *timeline = wait->timeline;
  if (wait->point) return false; /* a promise is kept, or breaks at its deadline */
  if (tide_load_acquire(&timeline->reached.value) >= wait->value) return false;
  if (tide_timeline_has_failed(timeline, wait->value)) return false;
  if (timeline->ops == &tide_queue_backing && timeline->backing)
    return push_progress(walk, op, timeline->backing, wait->value, failing);
  if (timeline->ops) return push_awaited_instance(walk, op, wait, failing);
  struct tide_op *provider = pending_provider(wait, failing);
  if (!provider) provider = must_provide(walk, op, wait, failing);
  if (push_operation(walk, op, provider, TIDE_DEPENDS_VALUE)) return true;
  bool is_promised = tide_timeline_pending(timeline, wait->value) != NULL;
  return !failing && !is_promised && push_lower(walk, op, timeline, wait->value);
}

static bool push_waits(struct tide_dependency_walk *walk, struct tide_op *op, bool failing) {
  bool entered = op->state == TIDE_OP_ENTERED, found = false;
  for (struct tide_op_wait *wait = tide_op_waits(op); wait && !found;
       wait = tide_wait_next(op, wait)) {
    bool is_issued = wait->class_ == TIDE_WAIT_ISSUED && !wait->open;
    if (entered && (wait->finish || (failing && is_issued)))
      found = push_epoch(walk, op, wait->axis, wait->epoch, TIDE_DEPENDS_VALUE);
    else if (!entered || is_issued) found = push_provider(walk, op, wait, failing);
  }
  return found;
}

/* Pushes the unfinished operations that a buffer's past stands for. The signaller counts only if
 * the entries do not tell all: it may finish long after them. */
static bool push_past(struct tide_dependency_walk *walk, struct tide_op *op,
                      const struct tide_buffer *buffer) {
  struct tide_tracker *tracker = walk->sched->context->tracker;
  struct tide_frontier_entry entry;
  uint64_t epoch;
  tide_axis axis;
  tide_buffer_past_signaller(buffer, &axis, &epoch);
  if (axis && tide_tracker_finished(tracker, axis, epoch)) return false;
  if (tide_buffer_past(buffer)->tainted)
    return push_epoch(walk, op, axis, epoch, TIDE_DEPENDS_MEMORY);
  for (struct tide_frontier_cursor at = tide_frontier_begin(tide_buffer_past(buffer));
       tide_frontier_next(&at, &entry);)
    if (push_epoch(walk, op, entry.axis, entry.epoch, TIDE_DEPENDS_MEMORY)) return true;
  return false;
}

static bool push_pasts(struct tide_dependency_walk *walk, struct tide_op *op) {
  bool entered = op->state == TIDE_OP_ENTERED;
  for (const struct tide_op_use *use = tide_op_uses(op); use; use = use->next)
    if ((!entered || use->gap) && push_past(walk, op, use->buffer)) return true;
  return false;
}

/* True if the operation fails at the latest in its turn: itself, or with its instance. */
static bool fails_in_turn(const struct tide_dependency_walk *walk, struct tide_op *op) {
  if (tide_op_is_failing(op)) return true;
  return op->part && !waits_for_all(walk, tide_op_rare(op)->instance);
}

/* Pushes all that the operation needs. */
static bool push_all(struct tide_dependency_walk *walk, struct tide_op *op) {
  bool failing = op == walk->target ? walk->fails : fails_in_turn(walk, op);
  bool starts = op->part && op != walk->target && tide_op_rare(op)->starts;
  if (starts && !failing && push_other_parts(walk, op)) return true;
  if (push_predecessor(walk, op) || (op->waits && push_waits(walk, op, failing))) return true;
  bool enters = op->state == TIDE_OP_ENTERED || (op == walk->target && walk->enters);
  if (op->signals && !enters && !failing && push_lower_signals(walk, op)) return true;
  return op->uses && push_pasts(walk, op);
}

static void begin_walk(struct tide_dependency_walk *walk) {
  walk->number = ++walk->sched->search;
  walk->stack = walk->last = NULL;
  walk->part = NULL;
  walk->visits = 0;
}

static bool finish_walk(struct tide_dependency_walk *walk) {
  while (walk->stack) {
    struct tide_op *op = walk->stack;
    walk->stack = tide_op_rare(op)->mark;
    if (push_all(walk, op)) return true;
  }
  return false;
}

bool tide_walk_from_target(struct tide_dependency_walk *walk) {
  struct tide_op *target = walk->target;
  begin_walk(walk);
  if (target->part && !walk->instance && !walk->fails && push_other_parts(walk, target))
    return true;
  return push_all(walk, target) || finish_walk(walk);
}

bool tide_walk_from_epoch(struct tide_dependency_walk *walk, tide_axis axis, uint64_t epoch) {
  begin_walk(walk);
  return push_epoch(walk, NULL, axis, epoch, TIDE_DEPENDS_MEMORY) || finish_walk(walk);
}
