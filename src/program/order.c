#include "program/order.h"
#include "base/memory.h"

bool tide_order_init(struct tide_order *order, const struct tide_plan *plan,
                     struct tide_errors *errors) {
  const struct tide_plan_tables *tables = &plan->tables;
  const struct tide_allocator *allocator = plan->allocator;
  *order = (struct tide_order){.plan = plan, .allocator = allocator, .errors = errors};
  order->queues = tide_alloc(allocator, tables->queue_count, sizeof *order->queues);
  order->timelines = tide_alloc(allocator, tables->timeline_count, sizeof *order->timelines);
  order->collectives = tide_alloc(allocator, tables->collective_count, sizeof *order->collectives);
  order->stuck = tide_alloc(allocator, TIDE_STUCK_MAX, sizeof *order->stuck);
  if (!order->queues || !order->timelines || !order->collectives || !order->stuck)
    return tide_error_no_memory(errors);
  for (size_t i = 0; i < tables->timeline_count; i++)
    order->timelines[i].reached = tables->timelines[i].initial;
  return true;
}

void tide_order_fini(struct tide_order *order) {
  const struct tide_plan_tables *tables = &order->plan->tables;
  const struct tide_allocator *allocator = order->allocator;
  tide_free(allocator, order->queues, tables->queue_count, sizeof *order->queues);
  tide_free(allocator, order->timelines, tables->timeline_count, sizeof *order->timelines);
  tide_free(allocator, order->collectives, tables->collective_count, sizeof *order->collectives);
  tide_free(allocator, order->stuck, TIDE_STUCK_MAX, sizeof *order->stuck);
  tide_free(allocator, order->held, order->held_capacity, sizeof *order->held);
  tide_free(allocator, order->values, order->value_capacity, sizeof *order->values);
}

/* ---- storage ------------------------------------------------------------------------- */

static uint32_t new_held(struct tide_order *order) {
  uint32_t at = order->held_free;
  if (at) {
    order->held_free = order->held[at].next;
    return at;
  }
  if (order->held_count == 0) order->held_count = 1; /* 0 means none */
  if (order->held_count >= UINT32_MAX ||
      !tide_array_reserve(order->allocator, &order->held, &order->held_capacity,
                          order->held_count + 1, sizeof *order->held)) {
    tide_error_no_memory(order->errors);
    return 0;
  }
  order->held[0].number = UINT64_MAX;
  return (uint32_t)order->held_count++;
}

static uint32_t new_value(struct tide_order *order) {
  uint32_t at = order->value_free;
  if (at) {
    order->value_free = order->values[at].next;
    return at;
  }
  if (order->value_count == 0) order->value_count = 1;
  if (order->value_count >= UINT32_MAX ||
      !tide_array_reserve(order->allocator, &order->values, &order->value_capacity,
                          order->value_count + 1, sizeof *order->values)) {
    tide_error_no_memory(order->errors);
    return 0;
  }
  return (uint32_t)order->value_count++;
}

static void drop_values(struct tide_order *order, uint32_t *list) {
  while (*list) {
    uint32_t at = *list;
    *list = order->values[at].next;
    order->values[at].next = order->value_free;
    order->value_free = at;
  }
}

static bool copy_values(struct tide_order *order, const struct tide_step_value *values,
                        size_t count, uint32_t *out_list) {
  *out_list = 0;
  for (size_t i = count; i-- > 0;) {
    uint32_t at = new_value(order);
    if (!at) return false;
    order->values[at] = (struct tide_held_value){*out_list, values[i].timeline, values[i].value};
    *out_list = at;
  }
  return true;
}

/* ---- who waits for a timeline: a pairing heap ------------------------------------------- */

static uint32_t meld(struct tide_order *order, uint32_t a, uint32_t b) {
  struct tide_held *held = order->held;
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

static void await(struct tide_order *order, uint32_t op, const struct tide_held_value *wait) {
  uint32_t *heap = &order->timelines[wait->timeline].heap;
  order->held[op].awaited = wait->value;
  order->held[op].child = order->held[op].sibling = 0;
  *heap = meld(order, *heap, op);
}

static uint32_t pop(struct tide_order *order, uint32_t *heap) {
  struct tide_held *held = order->held;
  uint32_t top = *heap, rest = held[top].child, pairs = 0, merged = 0;
  while (rest) { /* in pairs from the left … */
    uint32_t a = rest, b = held[a].sibling;
    rest = b ? held[b].sibling : 0;
    held[a].sibling = 0;
    if (b) held[b].sibling = 0;
    a = meld(order, a, b);
    held[a].sibling = pairs;
    pairs = a;
  }
  while (pairs) { /* … then all into one from the right */
    uint32_t next = held[pairs].sibling;
    held[pairs].sibling = 0;
    merged = meld(order, merged, pairs);
    pairs = next;
  }
  *heap = merged;
  return top;
}

/* ---- going on ------------------------------------------------------------------------------ */

static void make_ready(struct tide_order *order, uint32_t op) {
  order->held[op].next_ready = order->ready;
  order->ready = op;
}

static void raise_value(struct tide_order *order, uint32_t timeline, uint64_t value) {
  struct tide_order_timeline *t = &order->timelines[timeline];
  if (value <= t->reached) return;
  t->reached = value;
  while (t->heap && order->held[t->heap].awaited <= value) make_ready(order, pop(order, &t->heap));
}

/* Takes the first of a queue out; the next one moves up. */
static void leave_queue(struct tide_order *order, uint32_t op) {
  struct tide_order_queue *queue = &order->queues[order->held[op].queue];
  queue->first = order->held[op].next;
  if (!queue->first) queue->last = 0;
  else make_ready(order, queue->first);
}

static void complete(struct tide_order *order, uint32_t op) {
  struct tide_held *held = &order->held[op];
  for (uint32_t s = held->signals; s; s = order->values[s].next)
    raise_value(order, order->values[s].timeline, order->values[s].value);
  drop_values(order, &held->signals);
  if (!held->apart) leave_queue(order, op);
  held->number = UINT64_MAX;
  held->next = order->held_free;
  order->held_free = op;
}

/* A part that only waits for the others. The last one lets all of them go. */
static void arrive(struct tide_order *order, uint32_t op) {
  const struct tide_plan_collective *plan = &order->plan->collectives[order->held[op].collective];
  struct tide_order_collective *c = &order->collectives[order->held[op].collective];
  if (order->held[op].arrived) return;
  order->held[op].arrived = true;
  if (++c->arrived_count < plan->queue_count) return;
  c->arrived_count = 0;
  for (size_t i = 0; i < plan->queue_count; i++)
    complete(order, order->queues[plan->queues[i]].first);
  raise_value(order, plan->timeline, ++c->done);
}

/* Looks at what is first in its queue, or stands apart. */
static void look(struct tide_order *order, uint32_t op) {
  struct tide_held *held = &order->held[op];
  while (held->waits) {
    uint32_t at = held->waits;
    struct tide_held_value *wait = &order->values[at];
    if (wait->value > order->timelines[wait->timeline].reached) {
      if (held->passable && !held->apart) {
        leave_queue(order, op);
        held->apart = true;
      }
      await(order, op, wait);
      return;
    }
    held->waits = wait->next;
    wait->next = order->value_free;
    order->value_free = at;
  }
  if (held->collective != TIDE_PLAN_NONE) arrive(order, op);
  else complete(order, op);
}

static void go_on(struct tide_order *order) {
  while (order->ready) {
    uint32_t op = order->ready;
    order->ready = order->held[op].next_ready;
    look(order, op);
  }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool satisfied(const struct tide_order *order, const struct tide_step *step) {
  for (size_t i = 0; i < step->wait_count; i++) {
    if (step->waits[i].value > order->timelines[step->waits[i].timeline].reached) return false;
  }
  return true;
}

static void signal_all(struct tide_order *order, const struct tide_step *step) {
  for (size_t i = 0; i < step->signal_count; i++)
    raise_value(order, step->signals[i].timeline, step->signals[i].value);
}

static bool hold(struct tide_order *order, const struct tide_step *step) {
  struct tide_order_queue *queue = &order->queues[step->queue];
  uint32_t op = new_held(order);
  if (!op) return false;
  struct tide_held *held = &order->held[op];
  *held = (struct tide_held){.number = step->number,
                             .line = step->line,
                             .column = step->column,
                             .queue = step->queue,
                             .collective = step->kind == TIDE_STEP_PART ? step->collective
                                                                        : TIDE_PLAN_NONE,
                             .passable = (step->flags & TIDE_MAY_BE_PASSED) != 0};
  if (!copy_values(order, step->waits, step->wait_count, &held->waits) ||
      !copy_values(order, step->signals, step->signal_count, &held->signals)) {
    return false;
  }
  if (queue->last) order->held[queue->last].next = op;
  else queue->first = op;
  queue->last = op;
  if (queue->first == op) make_ready(order, op);
  return true;
}

static void host_wait(struct tide_order *order, const struct tide_step *step) {
  for (size_t i = 0; i < step->wait_count && order->stuck_count < TIDE_STUCK_MAX; i++) {
    if (step->waits[i].value <= order->timelines[step->waits[i].timeline].reached) continue;
    order->stuck[order->stuck_count++] =
        (struct tide_stuck){step->number, step->line, step->column, step->waits[i]};
  }
}

bool tide_order_step(struct tide_order *order, const struct tide_step *step) {
  switch (step->kind) {
    case TIDE_STEP_OPERATION:
      if (!order->queues[step->queue].first && satisfied(order, step)) signal_all(order, step);
      else if (!hold(order, step)) return false;
      break;
    case TIDE_STEP_PART:
      if (!hold(order, step)) return false;
      break;
    case TIDE_STEP_HOST_SIGNAL:
    case TIDE_STEP_HOST_EXTERNAL: signal_all(order, step); break;
    case TIDE_STEP_HOST_WAIT: host_wait(order, step); break;
    default: break;
  }
  go_on(order);
  return true;
}

bool tide_order_finish(struct tide_order *order) { return tide_order_report(order); }
