/* Held operations that wait for each other, and the question who waits for whom.
 *
 * A held operation waits for values that nobody has promised. If another held
 * operation has reserved such a value, only that one can make it true (anybody
 * else's signal would be refused). And it waits for the nearest operation held
 * before it in its queue that may not be passed. A cycle of these can never end. */
#include "base/text.h"
#include "sched/sched.h"

static struct tide_op *provider(const struct tide_op_wait *wait) {
  const struct tide_timeline *timeline = wait->timeline;
  if (tide_load_acquire(&timeline->reached.value) >= wait->value) return NULL;
  if (tide_timeline_has_failed(timeline, wait->value)) return NULL;
  if (timeline->source || tide_timeline_pending(timeline, wait->value)) return NULL;
  struct tide_op_signal *signal =
      (struct tide_op_signal *)(void *)tide_tree_at_least(&timeline->reserved, wait->value);
  /* Its own signal, above what it waits for, gives an operation nothing; nor does one that can only
   * fail. */
  if (!signal || signal->op == wait->op) return NULL;
  return tide_timeline_has_failed(timeline, signal->record.node.key) ? NULL : signal->op;
}

static struct tide_op *blocker_from(struct tide_queue *queue, struct tide_link *at) {
  for (; at != &queue->held; at = at->prev) {
    struct tide_op *op = TIDE_CONTAINER(at, struct tide_op, link);
    if (!(op->flags & TIDE_MAY_BE_PASSED)) return op;
  }
  return NULL;
}

/* Could anybody wait for what this operation reserves? Most often nobody can, and no search is
 * needed: waits are for values up to `held_most`, and those up to the next lower reservation are
 * not ours. */
static bool awaited(const struct tide_op *op) {
  for (const struct tide_op_signal *signal = op->signals; signal; signal = signal->next) {
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
  if (op->visited == search->number) return false;
  op->visited = search->number;
  op->mark = search->stack;
  search->stack = op;
  return false;
}

bool tide_deadlock_closes(struct tide_queue *queue, struct tide_op *op, struct tide_diag *diag) {
  if (!awaited(op)) return false;
  struct search search = {op, NULL, ++queue->sched->search};
  struct tide_op *at = op;
  while (at) {
    struct tide_link *before = at == op ? queue->held.prev : at->link.prev;
    bool closed = push(&search, blocker_from(at->queue, before));
    for (struct tide_op_wait *wait = at->waits; wait && !closed; wait = wait->next)
      closed = push(&search, provider(wait));
    if (closed) {
      tide_diag_set(
          diag, TIDE_DEADLOCK,
          "operation '%s' of queue '%s' would wait for itself: held operation '%s' of queue "
          "'%s' waits for what it would signal, and must go first",
          op->work.label, queue->label, at->work.label, at->queue->label);
      return true;
    }
    at = search.stack;
    if (at) search.stack = at->mark;
  }
  return false;
}

/* Everything in the queue is held, and the first of it waits for what only an operation that nobody
 * has submitted can signal. */
bool tide_deadlock_full(struct tide_queue *queue, struct tide_diag *diag) {
  if (queue->published < queue->position.epoch || tide_list_empty(&queue->held)) return false;
  uint64_t number = ++queue->sched->search;
  struct tide_op *at = TIDE_CONTAINER(queue->held.next, struct tide_op, link);
  while (at && at->visited != number) {
    struct tide_op *next = NULL;
    at->visited = number;
    for (struct tide_op_wait *wait = at->waits; wait; wait = wait->next) {
      const struct tide_timeline *timeline = wait->timeline;
      if (tide_load_acquire(&timeline->reached.value) >= wait->value) continue;
      if (tide_timeline_has_failed(timeline, wait->value)) return false;
      if (!timeline->source && tide_timeline_pending(timeline, wait->value)) continue;
      struct tide_op *giver = provider(wait);
      if (giver) {
        next = giver;
      } else if (timeline->operations_only) {
        tide_diag_set(
            diag, TIDE_DEADLOCK,
            "queue '%s' is full and nothing in it can finish: operation '%s' waits for timeline "
            "'%s' >= %lu, which nobody has promised",
            queue->label, at->label, timeline->label, (unsigned long)wait->value);
        return true;
      }
    }
    at = next;
  }
  return false;
}

/* ---- who waits for whom -------------------------------------------------------------- */

static void describe_wait(struct tide_text *text, const struct tide_op_wait *wait, bool held) {
  const struct tide_timeline *timeline = wait->timeline;
  uint64_t now = tide_load_acquire(&timeline->reached.value);
  if (now >= wait->value) return;
  tide_text_format(text, " '%s' >= %lu (at %lu", timeline->label, (unsigned long)wait->value,
                   (unsigned long)now);
  const struct tide_record *record =
      timeline->source ? NULL : tide_timeline_pending(timeline, wait->value);
  const struct tide_op_signal *signal = (const void *)record;
  if (!signal && held) signal = (const void *)tide_tree_at_least(&timeline->reserved, wait->value);
  if (signal)
    tide_text_format(text, "; '%s' of queue '%s' will signal %lu%s", signal->op->work.label,
                     signal->op->queue->label, (unsigned long)signal->record.node.key,
                     record ? "" : " once it may enter");
  else if (!timeline->source) tide_text_format(text, "; nobody has promised it");
  tide_text_format(text, ")");
}

static void describe(struct tide_text *text, const struct tide_op *op) {
  bool held = op->state == TIDE_OP_HELD;
  tide_text_format(text, "queue '%s': operation '%s' (%lu) %s", op->queue->label, op->work.label,
                   (unsigned long)op->sequence, held ? "is held" : "waits");
  size_t before = text->length;
  for (const struct tide_op_wait *wait = op->waits; wait; wait = wait->next)
    if (held || (wait->class_ == TIDE_WAIT_ISSUED && !wait->open)) describe_wait(text, wait, held);
  if (text->length == before)
    tide_text_format(text, held ? " behind the one before it" : " for its turn");
  tide_text_format(text, "\n");
}

size_t tide_sched_diagnose(struct tide_sched *sched, char *buffer, size_t size) {
  struct tide_text text;
  tide_text_init(&text, buffer, size);
  tide_sched_enter(sched);
  for (struct tide_link *d = sched->devices.next; d != &sched->devices; d = d->next) {
    struct tide_device *device = TIDE_CONTAINER(d, struct tide_device, in_sched);
    for (struct tide_link *q = device->queues.next; q != &device->queues; q = q->next) {
      struct tide_queue *queue = TIDE_CONTAINER(q, struct tide_queue, in_device);
      for (uint64_t e = queue->published + 1; e <= queue->position.epoch; e++) {
        struct tide_op *op = tide_queue_op(queue, e);
        if (op && op->state == TIDE_OP_ENTERED) describe(&text, op);
      }
      for (struct tide_link *h = queue->held.next; h != &queue->held; h = h->next)
        describe(&text, TIDE_CONTAINER(h, struct tide_op, link));
    }
  }
  tide_sched_leave(sched);
  return text.length;
}
