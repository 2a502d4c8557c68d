/* Held operations that wait for each other.
 *
 * A held operation waits for the nearest operation held before it in its queue that may not be
 * passed; and for whoever must make its values true. Who that is: as long as v is reserved, any
 * signal of v or more by anybody else is refused, so only the operation that reserved it can make
 * `>= v` true. If only a value r above v is reserved, a host or an operation yet to be submitted,
 * perhaps of a queue yet to be made, may signal v .. r-1 and end the wait: nobody in particular is
 * waited for. But on a timeline that belongs to one queue all later signals come from that queue,
 * behind an operation of it that may not be passed: while such a one waits, only r can come.
 *
 * A cycle of these can never end, and the submit that would close it is refused. */
#include "base/text.h"
#include "sched/sched.h"

/* The held operation with the smallest reserved value that would make the wait true. */
static struct tide_op *may_provide(const struct tide_op *op, const struct tide_op_wait *wait) {
  const struct tide_timeline *timeline = wait->timeline;
  if (tide_load_acquire(&timeline->reached.value) >= wait->value) return NULL;
  if (tide_timeline_has_failed(timeline, wait->value)) return NULL;
  if (timeline->source || tide_timeline_pending(timeline, wait->value)) return NULL;
  struct tide_op_signal *signal =
      (struct tide_op_signal *)(void *)tide_tree_at_least(&timeline->reserved, wait->value);
  /* Its own signal, above what it waits for, gives an operation nothing; nor does one that can only
   * fail. */
  if (!signal || signal->op == op) return NULL;
  return tide_timeline_has_failed(timeline, signal->record.node.key) ? NULL : signal->op;
}

/* The one without which the wait can never be true. */
static struct tide_op *must_provide(const struct tide_op *op, const struct tide_op_wait *wait) {
  const struct tide_timeline *timeline = wait->timeline;
  struct tide_op *giver = may_provide(op, wait);
  if (!giver || tide_tree_at_least(&timeline->reserved, wait->value)->key == wait->value)
    return giver;
  bool nobody_else = timeline->scope == TIDE_SCOPE_QUEUE && !(op->flags & TIDE_MAY_BE_PASSED);
  return nobody_else ? giver : NULL;
}

static struct tide_op *blocker_from(struct tide_queue *queue, struct tide_link *at) {
  for (; at != &queue->held; at = at->prev) {
    struct tide_op *op = tide_op_of_link(at);
    if (!(op->flags & TIDE_MAY_BE_PASSED)) return op;
  }
  return NULL;
}

/* Could anybody wait for what this operation reserves? Most often nobody can, and no search is
 * needed: waits are for values up to `held_most`, and those up to the next lower reservation are
 * not ours. */
static bool awaited(const struct tide_op *op) {
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

static bool push(struct search *search, struct tide_op *op) {
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
  if (!awaited(op)) return false;
  struct search search = {op, NULL, ++queue->sched->search};
  struct tide_op *at = op;
  while (at) {
    struct tide_link *before = at == op ? queue->held.prev : tide_op_rare(at)->link.prev;
    bool closed = push(&search, blocker_from(at->queue, before));
    for (struct tide_op_wait *wait = tide_op_waits(at); wait && !closed;
         wait = tide_wait_next(at, wait))
      closed = push(&search, must_provide(at, wait));
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

/* Does the wait, as long as nobody submits anything and no host signals, lead nowhere, or back?
 * What must go first is put on the stack. */
static bool leads_nowhere(struct search *search, const struct tide_op *op,
                          const struct tide_op_wait *wait) {
  const struct tide_timeline *timeline = wait->timeline;
  if (wait->point) return false; /* a promise is kept, or breaks at its deadline */
  if (tide_load_acquire(&timeline->reached.value) >= wait->value) return false;
  if (tide_timeline_has_failed(timeline, wait->value)) return false;
  if (!timeline->source && tide_timeline_pending(timeline, wait->value)) return false;
  struct tide_op *giver = may_provide(op, wait);
  if (host_may_signal_below(wait, giver)) return false;
  return !giver || push(search, giver);
}

/* Failed beats held. */
static bool about_to_fail(const struct tide_op *op) {
  for (const struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    if (tide_load_acquire(&wait->timeline->reached.value) < wait->value &&
        tide_timeline_has_failed(wait->timeline, wait->value))
      return true;
  return false;
}

static bool stuck(struct tide_queue *queue, struct tide_op *op, struct tide_diag *diag) {
  struct search search = {op, NULL, ++queue->sched->search};
  struct tide_op *at = op;
  while (at) {
    const struct tide_op_wait *wait = about_to_fail(at) ? NULL : tide_op_waits(at);
    if (push(&search, blocker_from(at->queue, tide_op_rare(at)->link.prev))) {
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

/* Everything in the queue is held, and all of it that is at its turn waits for what only an
 * operation that nobody has submitted can signal. */
bool tide_deadlock_full(struct tide_queue *queue, struct tide_diag *diag) {
  if (queue->published < queue->position.epoch || tide_list_empty(&queue->held)) return false;
  for (struct tide_link *at = queue->held.next; at != &queue->held; at = at->next) {
    struct tide_op *op = tide_op_of_link(at);
    if (!stuck(queue, op, diag)) return false;
    if (!(op->flags & TIDE_MAY_BE_PASSED)) break;
  }
  return true;
}
