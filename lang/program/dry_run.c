#include "program/dry_run.h"
#include "base/array.h"
#include "base/alloc.h"

bool tide_dry_run_init(struct tide_dry_run *r, const struct tide_plan *plan,
                       struct tide_errors *errors) {
  const struct tide_plan_tables *tables = &plan->tables;
  const struct tide_allocator *allocator = plan->allocator;
  *r = (struct tide_dry_run){.plan = plan, .allocator = allocator, .errors = errors};
  r->queues = tide_alloc(allocator, tables->queue_count, sizeof *r->queues);
  r->timelines = tide_alloc(allocator, tables->timeline_count, sizeof *r->timelines);
  r->collectives = tide_alloc(allocator, tables->collective_count, sizeof *r->collectives);
  r->stuck = tide_alloc(allocator, TIDE_STUCK_MAX, sizeof *r->stuck);
  if (!r->queues || !r->timelines || !r->collectives || !r->stuck)
    return tide_error_no_memory(errors);
  for (size_t i = 0; i < tables->timeline_count; i++)
    r->timelines[i].reached = tables->timelines[i].initial;
  return true;
}

void tide_dry_run_fini(struct tide_dry_run *r) {
  const struct tide_plan_tables *tables = &r->plan->tables;
  const struct tide_allocator *allocator = r->allocator;
  tide_free(allocator, r->queues, tables->queue_count, sizeof *r->queues);
  tide_free(allocator, r->timelines, tables->timeline_count, sizeof *r->timelines);
  tide_free(allocator, r->collectives, tables->collective_count, sizeof *r->collectives);
  tide_free(allocator, r->stuck, TIDE_STUCK_MAX, sizeof *r->stuck);
  tide_free(allocator, r->held, r->held_capacity, sizeof *r->held);
  tide_free(allocator, r->values, r->value_capacity, sizeof *r->values);
}

/* ---- storage ------------------------------------------------------------------------- */

static uint32_t new_held(struct tide_dry_run *r) {
  uint32_t at = r->held_free;
  if (at) {
    r->held_free = r->held[at].next;
    return at;
  }
  if (r->held_count == 0) r->held_count = 1; /* index 0 means none */
  if (r->held_count >= UINT32_MAX || !tide_array_reserve(r->allocator, &r->held, &r->held_capacity,
                                                         r->held_count + 1, sizeof *r->held)) {
    tide_error_no_memory(r->errors);
    return 0;
  }
  r->held[0].number = UINT64_MAX;
  return (uint32_t)r->held_count++;
}

static uint32_t new_value(struct tide_dry_run *r) {
  uint32_t at = r->value_free;
  if (at) {
    r->value_free = r->values[at].next;
    return at;
  }
  if (r->value_count == 0) r->value_count = 1;
  if (r->value_count >= UINT32_MAX ||
      !tide_array_reserve(r->allocator, &r->values, &r->value_capacity, r->value_count + 1,
                          sizeof *r->values)) {
    tide_error_no_memory(r->errors);
    return 0;
  }
  return (uint32_t)r->value_count++;
}

static void drop_values(struct tide_dry_run *r, uint32_t *list) {
  while (*list) {
    uint32_t at = *list;
    *list = r->values[at].next;
    r->values[at].next = r->value_free;
    r->value_free = at;
  }
}

static bool copy_values(struct tide_dry_run *r, const struct tide_step_value *values, size_t count,
                        uint32_t *out_list) {
  *out_list = 0;
  for (size_t i = count; i-- > 0;) {
    uint32_t at = new_value(r);
    if (!at) return false;
    r->values[at] = (struct tide_held_value){*out_list, values[i].timeline, values[i].value};
    *out_list = at;
  }
  return true;
}

/* ---- waiters of a timeline: a pairing heap ----------------------------------------------- */

static uint32_t meld_held(struct tide_dry_run *r, uint32_t a, uint32_t b) {
  struct tide_held *held = r->held;
  if (!a) return b;
  if (!b) return a;
  if (held[b].awaited < held[a].awaited) {
    uint32_t swap = a;
    a = b;
    b = swap;
  }
  held[b].sibling = held[a].child;
  held[a].child = b;
  return a;
}

static void await_value(struct tide_dry_run *r, uint32_t op, const struct tide_held_value *wait) {
  uint32_t *heap = &r->timelines[wait->timeline].heap;
  r->held[op].awaited = wait->value;
  r->held[op].child = r->held[op].sibling = 0;
  *heap = meld_held(r, *heap, op);
}

static uint32_t pop_held(struct tide_dry_run *r, uint32_t *heap) {
  struct tide_held *held = r->held;
  uint32_t top = *heap, rest = held[top].child, pairs = 0, merged = 0;
  while (rest) { /* pair from the left … */
    uint32_t a = rest, b = held[a].sibling;
    rest = b ? held[b].sibling : 0;
    held[a].sibling = 0;
    if (b) held[b].sibling = 0;
    a = meld_held(r, a, b);
    held[a].sibling = pairs;
    pairs = a;
  }
  while (pairs) { /* … then meld all from the right */
    uint32_t next = held[pairs].sibling;
    held[pairs].sibling = 0;
    merged = meld_held(r, merged, pairs);
    pairs = next;
  }
  *heap = merged;
  return top;
}

/* ---- progress ------------------------------------------------------------------------------- */

static void make_ready(struct tide_dry_run *r, uint32_t op) {
  r->held[op].next_ready = r->ready;
  r->ready = op;
}

static void raise_value(struct tide_dry_run *r, uint32_t timeline, uint64_t value) {
  struct tide_dry_run_timeline *t = &r->timelines[timeline];
  if (value <= t->reached) return;
  t->reached = value;
  while (t->heap && r->held[t->heap].awaited <= value) make_ready(r, pop_held(r, &t->heap));
}

/* Removes the first operation of a queue; the next one becomes ready. */
static void leave_queue(struct tide_dry_run *r, uint32_t op) {
  struct tide_dry_run_queue *queue = &r->queues[r->held[op].queue];
  queue->first = r->held[op].next;
  if (!queue->first) queue->last = 0;
  else make_ready(r, queue->first);
}

static void complete_operation(struct tide_dry_run *r, uint32_t op) {
  struct tide_held *held = &r->held[op];
  for (uint32_t s = held->signals; s; s = r->values[s].next)
    raise_value(r, r->values[s].timeline, r->values[s].value);
  drop_values(r, &held->signals);
  if (!held->apart) leave_queue(r, op);
  r->queues[held->queue].held_count--;
  r->queues[held->queue].done++;
  held->number = UINT64_MAX;
  held->next = r->held_free;
  r->held_free = op;
}

/* Notes that a part waits only for the other parts. The last part completes all of them. */
static void join_collective(struct tide_dry_run *r, uint32_t op) {
  const struct tide_plan_collective *plan = &r->plan->collectives[r->held[op].collective];
  struct tide_dry_run_collective *c = &r->collectives[r->held[op].collective];
  if (r->held[op].arrived) return;
  r->held[op].arrived = true;
  if (++c->arrived_count < plan->queue_count) return;
  c->arrived_count = 0;
  for (size_t i = 0; i < plan->queue_count; i++)
    complete_operation(r, r->queues[plan->queues[i]].first);
  raise_value(r, plan->timeline, ++c->done);
}

/* Advances an operation that is first in its queue, or has left it: drops its satisfied waits, then
 * completes it or awaits the next value. */
static void look_at_held(struct tide_dry_run *r, uint32_t op) {
  struct tide_held *held = &r->held[op];
  while (held->waits) {
    uint32_t at = held->waits;
    struct tide_held_value *wait = &r->values[at];
    if (wait->value > r->timelines[wait->timeline].reached) {
      if (held->passable && !held->apart) {
        leave_queue(r, op);
        held->apart = true;
      }
      await_value(r, op, wait);
      return;
    }
    held->waits = wait->next;
    wait->next = r->value_free;
    r->value_free = at;
  }
  if (held->collective != TIDE_PLAN_NONE) join_collective(r, op);
  else complete_operation(r, op);
}

static void go_on(struct tide_dry_run *r) {
  while (r->ready) {
    uint32_t op = r->ready;
    r->ready = r->held[op].next_ready;
    look_at_held(r, op);
  }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool is_satisfied(const struct tide_dry_run *r, const struct tide_step *step) {
  for (size_t i = 0; i < step->wait_count; i++) {
    if (step->waits[i].value > r->timelines[step->waits[i].timeline].reached) return false;
  }
  return true;
}

static void signal_all(struct tide_dry_run *r, const struct tide_step *step) {
  for (size_t i = 0; i < step->signal_count; i++)
    raise_value(r, step->signals[i].timeline, step->signals[i].value);
}

static bool hold_step(struct tide_dry_run *r, const struct tide_step *step) {
  struct tide_dry_run_queue *queue = &r->queues[step->queue];
  uint32_t op = new_held(r);
  if (!op) return false;
  struct tide_held *held = &r->held[op];
  *held = (struct tide_held){.number = step->number,
                             .line = step->line,
                             .column = step->column,
                             .queue = step->queue,
                             .collective =
                                 step->kind == TIDE_STEP_PART ? step->collective : TIDE_PLAN_NONE,
                             .passable = (step->flags & TIDE_MAY_BE_PASSED) != 0};
  if (!copy_values(r, step->waits, step->wait_count, &held->waits) ||
      !copy_values(r, step->signals, step->signal_count, &held->signals)) {
    return false;
  }
  queue->held_count++;
  if (queue->last) r->held[queue->last].next = op;
  else queue->first = op;
  queue->last = op;
  if (queue->first == op) make_ready(r, op);
  return true;
}

/* Returns the line of a held operation that would satisfy a wait; 0: none. Searches all of them, so
 * it is for errors only. */
static uint32_t held_signaller(const struct tide_dry_run *r, const struct tide_step_value *wait) {
  for (uint32_t op = 1; op < r->held_count; op++) {
    if (r->held[op].number == UINT64_MAX) continue;
    for (uint32_t s = r->held[op].signals; s; s = r->values[s].next) {
      if (r->values[s].timeline == wait->timeline && r->values[s].value >= wait->value)
        return r->held[op].line;
    }
  }
  return 0;
}

static void host_wait(struct tide_dry_run *r, const struct tide_step *step) {
  for (size_t i = 0; i < step->wait_count && r->stuck_count < TIDE_STUCK_MAX; i++) {
    const struct tide_step_value *wait = &step->waits[i];
    if (wait->value <= r->timelines[wait->timeline].reached) continue;
    r->stuck[r->stuck_count++] = (struct tide_stuck){.number = step->number,
                                                     .line = step->line,
                                                     .column = step->column,
                                                     .by_line = held_signaller(r, wait),
                                                     .wait = *wait,
                                                     .queue = TIDE_PLAN_NONE};
  }
}

/* Notes that the host waits for a place in the queue: all operations in it are held. */
static void note_full(struct tide_dry_run *r, const struct tide_step *step) {
  struct tide_dry_run_queue *queue = &r->queues[step->queue];
  uint32_t capacity = r->plan->queues[step->queue].capacity;
  if (!capacity || queue->held_count < capacity || queue->was_full) return;
  queue->was_full = true;
  if (r->stuck_count == TIDE_STUCK_MAX) return;
  r->stuck[r->stuck_count++] = (struct tide_stuck){.number = step->number,
                                                   .line = step->line,
                                                   .column = step->column,
                                                   .queue = step->queue,
                                                   .done = queue->done};
}

bool tide_dry_run_step(struct tide_dry_run *r, const struct tide_step *step) {
  switch (step->kind) {
    case TIDE_STEP_OPERATION:
      note_full(r, step);
      if (!r->queues[step->queue].first && is_satisfied(r, step)) signal_all(r, step);
      else if (!hold_step(r, step)) return false;
      break;
    case TIDE_STEP_PART:
      note_full(r, step);
      if (!hold_step(r, step)) return false;
      break;
    case TIDE_STEP_HOST_SIGNAL:
    case TIDE_STEP_HOST_EXTERNAL: signal_all(r, step); break;
    case TIDE_STEP_HOST_WAIT: host_wait(r, step); break;
    default: break;
  }
  go_on(r);
  return true;
}
