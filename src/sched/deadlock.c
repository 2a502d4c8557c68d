/* Operations that would wait for themselves, and queues that are full for good.
 *
 * A cycle of dependencies (sched/dependency_walk.h) never ends, and the submit that would close it
 * is refused. Operations that depend on the submitted one come to be in four ways: held ones await
 * its signals, its epoch or its instance; held ones await or signal more than it signals; held ones
 * come behind it, since it passes them; and it is the part that the other parts of its instance
 * lack. It may also await itself. Any other submit closes no cycle, and no walk is made.
 *
 * Two events close cycles without a submit. Both fail an operation.
 *
 * - A held operation that may be passed enters: then later ones come behind it. It fails at once,
 *   and awaits nothing (enter.c). Held operations that await its epoch, and so itself, fail too.
 * - A held operation is cancelled: those behind it get lower epochs, and a wait for their queue's
 *   progress can come to mean an operation that depends on the wait. The waiting one fails. */
#include "base/text.h"
#include "sched/collective_state.h"
#include "sched/dependency_walk.h"

/* True if a held operation may wait for a value of this timeline above `below`. */
static inline bool is_awaited_above(const struct tide_timeline *timeline, uint64_t below) {
  return timeline->held_waits && timeline->held_most > below;
}

/* Returns the newest value that is reached or pending, or reserved below the signalled one. */
static uint64_t value_below(const struct tide_op_signal *signal) {
  const struct tide_timeline *timeline = signal->record.timeline;
  uint64_t below = tide_timeline_newest(timeline);
  const struct tide_tree_node *lower =
      tide_tree_below(&timeline->reserved, signal->record.node.key);
  return lower && lower->key > below ? lower->key : below;
}

/* True if a held operation may wait for a value that this operation signals, or a higher one, or
 * for its epoch; or if it is to signal a higher value. Mostly false: waits are for values up to
 * `held_most`, and values up to the next lower reservation belong to other signallers. */
static bool may_be_awaited(const struct tide_op *op, bool enters) {
  for (const struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next) {
    const struct tide_timeline *timeline = signal->record.timeline;
    if (is_awaited_above(timeline, value_below(signal))) return true;
    const struct tide_tree_node *last = timeline->reserved.last;
    if (last && last->key > signal->record.node.key) return true;
  }
  /* It enters next, or after all that is held. */
  uint64_t before = op->queue->position.epoch + (enters ? 0 : op->queue->held_count);
  return is_awaited_above(op->queue->progress, before);
}

static bool is_instance_awaited(const struct tide_instance *instance) {
  return is_awaited_above(instance->collective->progress, instance->number - 1);
}

/* True if only other parts of the operation's instance, if any, can depend on it. */
static bool is_for_its_instance(struct tide_op *op, bool enters) {
  bool passes = enters && !tide_list_empty(&op->queue->held);
  return op->part && !passes && !may_be_awaited(op, enters) &&
         !is_instance_awaited(tide_op_rare(op)->instance);
}

/* True if the part waits for the end of its own instance. */
static bool awaits_itself(const struct tide_op *part, const struct tide_instance *instance) {
  for (const struct tide_op_wait *wait = tide_op_waits(part); wait;
       wait = tide_wait_next(part, wait))
    if (wait->timeline == instance->collective->progress && wait->value >= instance->number)
      return true;
  return false;
}

static bool part_may_close(struct tide_op *part) {
  const struct tide_instance *instance = tide_op_rare(part)->instance;
  return instance->submitted || is_instance_awaited(instance) || awaits_itself(part, instance);
}

/* True if the operation waits for an epoch that its own queue has yet to give. */
static bool awaits_own_queue(const struct tide_op *op) {
  for (const struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    if (wait->timeline == op->queue->progress && wait->value > op->queue->position.epoch)
      return true;
  return false;
}

/* True if a held operation may wait for a value between the newest one and the signalled one. From
 * the entry on no other operation may signal such a value. */
static bool may_be_awaited_between(const struct tide_op *op) {
  for (const struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next) {
    const struct tide_timeline *timeline = signal->record.timeline;
    uint64_t below = value_below(signal);
    bool is_closed = timeline->operations_only || timeline->scope < TIDE_SCOPE_PROCESS;
    bool has_between = signal->record.node.key > below + 1;
    if (is_closed && has_between && is_awaited_above(timeline, below)) return true;
  }
  return false;
}

/* True if the entry of a held operation may add dependencies. Those that were there while it was
 * held are known to close no cycle. New ones are those of operations that it passes, or that could
 * have passed it; of waits for a value in between; and of failing operations, which await pending
 * values. Most entries add none, so that a signal may free many operations without a walk each. */
static bool entry_may_add(struct tide_op *op) {
  const struct tide_queue *queue = op->queue;
  if (tide_load_relaxed(&queue->sched->context->has_failed)) return true;
  if (op->flags & TIDE_MAY_BE_PASSED || queue->held.next != &tide_op_rare(op)->link) return true;
  return may_be_awaited_between(op);
}

bool tide_deadlock_possible(struct tide_op *op, bool enters) {
  const struct tide_sched *sched = op->queue->sched;
  if (!enters && awaits_own_queue(op)) return true;
  if (!sched->instances) return !enters && may_be_awaited(op, false);
  if (enters && op->state == TIDE_OP_HELD && !entry_may_add(op)) return false;
  if (op->part && part_may_close(op)) return true;
  return (enters && !tide_list_empty(&op->queue->held)) || may_be_awaited(op, enters);
}

/* ---- describing a cycle ------------------------------------------------------------- */

static const char *const relations[] = {[TIDE_DEPENDS_BEHIND] = "comes behind",
                                        [TIDE_DEPENDS_VALUE] = "waits for",
                                        [TIDE_DEPENDS_ORDER] = "needs the lower signal of",
                                        [TIDE_DEPENDS_TOGETHER] = "starts with",
                                        [TIDE_DEPENDS_MEMORY] = "reuses the memory of"};

/* Reverses the links from `last` to the target, and moves each kind to the operation that has the
 * dependency. Returns the first operation that the target depends on; NULL: the target itself. */
static struct tide_op *reverse_path(const struct tide_dependency_walk *walk,
                                    unsigned *out_first_kind) {
  struct tide_op *next = NULL, *op = walk->last;
  unsigned kind = walk->last_kind;
  while (op != walk->target) {
    struct tide_op_rare *rare = tide_op_rare(op);
    struct tide_op *from = rare->from;
    unsigned from_kind = rare->from_kind;
    rare->from = next;
    rare->from_kind = kind;
    kind = from_kind;
    next = op;
    op = from;
  }
  *out_first_kind = kind;
  return next;
}

/* The number of operations of a cycle that a message names. */
#define NAMED_MOST 5

static void describe_cycle(const struct tide_dependency_walk *walk, struct tide_diag *diag) {
  struct tide_op *target = walk->target;
  struct tide_text text;
  unsigned kind;
  if (!diag) return;
  struct tide_op *op = reverse_path(walk, &kind);
  tide_text_init(&text, diag->text, sizeof diag->text);
  tide_text_format(&text, "operation '%s' of queue '%s' would wait for itself: it",
                   TIDE_OP_NAME(target), target->queue->label);
  bool awaits_itself = !op && !walk->part;
  for (int named = 0; op && named < NAMED_MOST; named++) {
    tide_text_format(&text, " %s '%s' of queue '%s', which", relations[kind], TIDE_OP_NAME(op),
                     op->queue->label);
    kind = tide_op_rare(op)->from_kind;
    op = tide_op_rare(op)->from;
  }
  if (op) tide_text_format(&text, " depends on it by way of others");
  else if (awaits_itself)
    tide_text_format(&text, " %s a value that comes only after it", relations[kind]);
  else if (walk->part)
    tide_text_format(&text, " %s '%s' of queue '%s', which %s it", relations[kind],
                     TIDE_OP_NAME(walk->part), walk->part->queue->label,
                     relations[TIDE_DEPENDS_TOGETHER]);
  else tide_text_format(&text, " %s it", relations[kind]);
  if (tide_text_cut(&text)) tide_text_trim(diag->text);
}

static bool finds_cycle(struct tide_dependency_walk *walk, struct tide_diag *diag) {
  if (!tide_walk_from_target(walk)) return false;
  (void)tide_diag_set(diag, TIDE_DEADLOCK, "%s", "");
  describe_cycle(walk, diag);
  return true;
}

bool tide_deadlock_closes(struct tide_op *op, bool enters, bool fails, struct tide_diag *diag) {
  struct tide_dependency_walk walk = {
      .sched = op->queue->sched, .target = op, .enters = enters, .fails = fails};
  if (is_for_its_instance(op, enters)) walk.instance = tide_op_rare(op)->instance;
  return finds_cycle(&walk, diag);
}

/* ---- after a cancellation -------------------------------------------------------------- */

static bool fails_in_turn(struct tide_op *op) {
  return tide_op_is_failing(op) ||
         (op->part && tide_instance_is_failing(tide_op_rare(op)->instance, op));
}

/* True if the wait is for an epoch that its queue has yet to give, or has given to an operation
 * that closed a cycle. */
static bool is_for_moved_epoch(const struct tide_op_wait *wait) {
  const struct tide_timeline *timeline = wait->timeline;
  const struct tide_queue *queue = timeline->ops == &tide_queue_backing ? timeline->backing : NULL;
  if (!queue || wait->value <= queue->published) return false;
  if (wait->value > queue->position.epoch) return true;
  const struct tide_op *op = tide_queue_op(queue, wait->value);
  return op && op->cyclic;
}

static bool awaits_moved_epoch(const struct tide_op *op) {
  for (const struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    if (is_for_moved_epoch(wait)) return true;
  return false;
}

/* Fails the operation at its place if it waits for itself. */
static void fail_if_cyclic(struct tide_op *op) {
  struct tide_dependency_walk walk = {.sched = op->queue->sched, .target = op};
  struct tide_diag diag;
  if (fails_in_turn(op) || !finds_cycle(&walk, &diag)) return;
  if (walk.sched->checker) tide_check_note(walk.sched, &diag);
  tide_op_refuse(op, &diag);
  if (op->part) tide_instance_fail(op);
  if (!tide_held_blocker(op->queue, tide_op_rare(op)->link.prev)) tide_op_retry(op);
  tide_sched_look(op->queue);
}

static void fail_cyclic_ones(const struct tide_device *device) {
  for (struct tide_link *q = device->queues.next; q != &device->queues; q = q->next) {
    struct tide_link *held = &TIDE_CONTAINER(q, struct tide_queue, in_device)->held;
    for (struct tide_link *at = held->next; at != held; at = at->next)
      if (awaits_moved_epoch(tide_op_of_link(at))) fail_if_cyclic(tide_op_of_link(at));
  }
}

void tide_deadlock_note_leaving(const struct tide_queue *queue) {
  bool gone = queue->closing || queue->device->lost; /* then its progress timeline fails soon */
  if (!gone && is_awaited_above(queue->progress, queue->position.epoch))
    queue->sched->epochs_moved = true;
}

void tide_deadlock_fail_cyclic(struct tide_sched *sched) {
  sched->epochs_moved = false;
  for (struct tide_link *at = sched->devices.next; at != &sched->devices; at = at->next)
    fail_cyclic_ones(TIDE_CONTAINER(at, struct tide_device, in_sched));
  if (sched->unnoticed) tide_collectives_notice(sched, true);
}

/* ---- a choice of memory ------------------------------------------------------------------ */

/* The number of operations that one look at a block visits. */
#define BLOCK_BUDGET 256

bool tide_deadlock_awaits_owed(const struct tide_queue *queue, tide_axis axis, uint64_t epoch) {
  struct tide_dependency_walk walk = {
      .sched = queue->sched, .owing = queue, .budget = BLOCK_BUDGET};
  bool found = tide_walk_from_epoch(&walk, axis, epoch);
  if (walk.sched->unnoticed) tide_collectives_notice(walk.sched, false);
  return found;
}

/* ---- full queues -------------------------------------------------------------------------- */

struct search {
  struct tide_op *target, *stack;
  uint64_t number;
};

static bool push_operation(struct search *search, struct tide_op *op) {
  if (!op) return false;
  if (op == search->target) return true;
  struct tide_op_rare *rare = tide_op_rare(op);
  if (rare->visited == search->number) return false;
  rare->visited = search->number;
  rare->mark = search->stack;
  search->stack = op;
  return false;
}

static bool host_may_signal_below(const struct tide_op_wait *wait, const struct tide_op *giver) {
  const struct tide_timeline *timeline = wait->timeline;
  if (timeline->operations_only || timeline->scope < TIDE_SCOPE_PROCESS) return false;
  return !giver || tide_tree_at_least(&timeline->reserved, wait->value)->key != wait->value;
}

/* True if the wait cannot end without another submit or a host's signal: no operation would signal
 * the value, or the search is back at its target. Pushes the operation that must go first. */
static bool leads_nowhere(struct search *search, const struct tide_op *op,
                          const struct tide_op_wait *wait) {
  const struct tide_timeline *timeline = wait->timeline;
  if (wait->point) return false;   /* a promise is kept, or breaks at its deadline */
  if (timeline->ops) return false; /* operations that are submitted may bring progress */
  if (tide_load_acquire(&timeline->reached.value) >= wait->value) return false;
  if (tide_timeline_has_failed(timeline, wait->value)) return false;
  if (tide_timeline_pending(timeline, wait->value)) return false;
  struct tide_op *giver = tide_wait_may_provide(op, wait);
  if (host_may_signal_below(wait, giver)) return false;
  return !giver || push_operation(search, giver);
}

static bool is_stuck(struct tide_queue *queue, struct tide_op *op, struct tide_diag *diag) {
  struct search search = {op, NULL, ++queue->sched->search};
  struct tide_op *at = op;
  while (at) {
    const struct tide_op_wait *wait = tide_op_is_failing(at) ? NULL : tide_op_waits(at);
    if (push_operation(&search, tide_held_blocker(at->queue, tide_op_rare(at)->link.prev))) {
      tide_diag_set(diag, TIDE_DEADLOCK,
                    "queue '%s' is full and nothing in it can finish: operation '%s' waits for "
                    "what '%s' would signal, which is held behind it",
                    queue->label, TIDE_OP_NAME(op), TIDE_OP_NAME(at));
      return true;
    }
    while (wait && !leads_nowhere(&search, at, wait)) wait = tide_wait_next(at, wait);
    if (wait) {
      tide_diag_set(
          diag, TIDE_DEADLOCK,
          "queue '%s' is full and nothing in it can finish: operation '%s' waits for timeline "
          "'%s' >= %lu, which nobody has promised",
          queue->label, TIDE_OP_NAME(at), wait->timeline->label, (unsigned long)wait->value);
      return true;
    }
    at = search.stack;
    if (at) search.stack = tide_op_rare(at)->mark;
  }
  return false;
}

/* True if all operations of the queue are held, and each that could enter next waits for a signal
 * that only an operation not yet submitted can give. */
bool tide_deadlock_full(struct tide_queue *queue, struct tide_diag *diag) {
  /* The end of a failed operation fails waits for values that no operation has promised. */
  if (queue->sched->unpromised) return false;
  if (queue->published < queue->position.epoch || tide_list_empty(&queue->held)) return false;
  for (struct tide_link *at = queue->held.next; at != &queue->held; at = at->next) {
    struct tide_op *op = tide_op_of_link(at);
    if (!is_stuck(queue, op, diag)) return false;
    if (!(op->flags & TIDE_MAY_BE_PASSED)) break;
  }
  return true;
}
