/* Cycles of held operations.
 *
 * A held operation depends on the nearest operation held before it in its queue that may not be
 * passed, and on the operations that must signal its values.
 *
 * While v is reserved, any other signal of v or more is refused. So only the operation that
 * reserved v can make `>= v` true. If only a value r above v is reserved, a host may signal v ..
 * r-1 and end the wait; so may an operation yet to be submitted, perhaps of a queue yet to be
 * created. Then the wait depends on no particular operation. A timeline that belongs to one queue
 * is different: all later signals come from that queue, behind its operation that may not be
 * passed. While that operation waits, only r can come.
 *
 * A cycle of these dependencies never ends, and the submit that would close it is refused. */
#include "base/text.h"
#include "sched/sched.h"

/* Returns the held operation with the smallest reserved value that would make the wait true; NULL:
 * none. */
static struct tide_op *may_provide(const struct tide_op *op, const struct tide_op_wait *wait) {
  const struct tide_timeline *timeline = wait->timeline;
  if (tide_load_acquire(&timeline->reached.value) >= wait->value) return NULL;
  if (tide_timeline_has_failed(timeline, wait->value)) return NULL;
  if (timeline->source || tide_timeline_pending(timeline, wait->value)) return NULL;
  struct tide_op_signal *signal =
      (struct tide_op_signal *)(void *)tide_tree_at_least(&timeline->reserved, wait->value);
  /* An operation's own signal, above the awaited value, cannot end its wait. Neither can a signal
   * that must fail. */
  if (!signal || signal->op == op) return NULL;
  return tide_timeline_has_failed(timeline, signal->record.node.key) ? NULL : signal->op;
}

/* Returns the held operation without which the wait can never be true; NULL: none. */
static struct tide_op *must_provide(const struct tide_op *op, const struct tide_op_wait *wait) {
  const struct tide_timeline *timeline = wait->timeline;
  struct tide_op *giver = may_provide(op, wait);
  if (!giver || tide_tree_at_least(&timeline->reserved, wait->value)->key == wait->value)
    return giver;
  bool nobody_else = timeline->scope == TIDE_SCOPE_QUEUE && !(op->flags & TIDE_MAY_BE_PASSED);
  return nobody_else ? giver : NULL;
}

static struct tide_op *blocker_from(struct tide_queue *queue, struct tide_link *at) {
  for (; queue->held_firm && at != &queue->held; at = at->prev) {
    struct tide_op *op = tide_op_of_link(at);
    if (!(op->flags & TIDE_MAY_BE_PASSED)) return op;
  }
  return NULL;
}

/* True if a held operation may wait for a value that this operation reserves. Mostly false, and no
 * search is needed: waits are for values up to `held_most`, and values up to the next lower
 * reservation belong to other signallers. */
static bool may_be_awaited(const struct tide_op *op) {
  for (const struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next) {
    const struct tide_timeline *timeline = signal->record.timeline;
    uint64_t below = tide_load_acquire(&timeline->reached.value);
    if (timeline->pending.last && timeline->pending.last->key > below)
      below = timeline->pending.last->key;
    const struct tide_tree_node *previous = tide_tree_previous(&signal->record.node);
    if (previous && previous->key > below) below = previous->key;
    if (timeline->held_waits && timeline->held_most > below) return true;
  }
  return false;
}

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

bool tide_deadlock_closes(struct tide_queue *queue, struct tide_op *op, struct tide_diag *diag) {
  if (!may_be_awaited(op)) return false;
  struct search search = {op, NULL, ++queue->sched->search};
  struct tide_op *at = op;
  while (at) {
    struct tide_link *before = at == op ? queue->held.prev : tide_op_rare(at)->link.prev;
    bool closed = push_operation(&search, blocker_from(at->queue, before));
    for (struct tide_op_wait *wait = tide_op_waits(at); wait && !closed;
         wait = tide_wait_next(at, wait))
      closed = push_operation(&search, must_provide(at, wait));
    if (closed) {
      tide_diag_set(
          diag, TIDE_DEADLOCK,
          "operation '%s' of queue '%s' would wait for itself: held operation '%s' of queue "
          "'%s' waits for what it would signal, and must go first",
          tide_op_label(op), queue->label, tide_op_label(at), at->queue->label);
      return true;
    }
    at = search.stack;
    if (at) search.stack = tide_op_rare(at)->mark;
  }
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
  if (wait->point) return false; /* a promise is kept, or breaks at its deadline */
  if (tide_load_acquire(&timeline->reached.value) >= wait->value) return false;
  if (tide_timeline_has_failed(timeline, wait->value)) return false;
  if (!timeline->source && tide_timeline_pending(timeline, wait->value)) return false;
  struct tide_op *giver = may_provide(op, wait);
  if (host_may_signal_below(wait, giver)) return false;
  return !giver || push_operation(search, giver);
}

/* True if a wait has failed: then the operation enters, even if other waits hold it. */
static bool about_to_fail(const struct tide_op *op) {
  for (const struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    if (tide_load_acquire(&wait->timeline->reached.value) < wait->value &&
        tide_timeline_has_failed(wait->timeline, wait->value))
      return true;
  return false;
}

static bool is_stuck(struct tide_queue *queue, struct tide_op *op, struct tide_diag *diag) {
  struct search search = {op, NULL, ++queue->sched->search};
  struct tide_op *at = op;
  while (at) {
    const struct tide_op_wait *wait = about_to_fail(at) ? NULL : tide_op_waits(at);
    if (push_operation(&search, blocker_from(at->queue, tide_op_rare(at)->link.prev))) {
      tide_diag_set(diag, TIDE_DEADLOCK,
                    "queue '%s' is full and nothing in it can finish: operation '%s' waits for "
                    "what '%s' would signal, which is held behind it",
                    queue->label, tide_op_label(op), tide_op_label(at));
      return true;
    }
    while (wait && !leads_nowhere(&search, at, wait)) wait = tide_wait_next(at, wait);
    if (wait) {
      tide_diag_set(
          diag, TIDE_DEADLOCK,
          "queue '%s' is full and nothing in it can finish: operation '%s' waits for timeline "
          "'%s' >= %lu, which nobody has promised",
          queue->label, tide_op_label(at), wait->timeline->label, (unsigned long)wait->value);
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
  if (queue->published < queue->position.epoch || tide_list_empty(&queue->held)) return false;
  for (struct tide_link *at = queue->held.next; at != &queue->held; at = at->next) {
    struct tide_op *op = tide_op_of_link(at);
    if (!is_stuck(queue, op, diag)) return false;
    if (!(op->flags & TIDE_MAY_BE_PASSED)) break;
  }
  return true;
}
