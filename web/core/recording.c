/* The recording: a sink that stores events in the order in which they happen. */
#include "base/array.h"
#include "base/alloc.h"
#include "memory/state.h"
#include "program/run_state.h"
#include "view_state.h"

#define FIRST (1u << 24)
#define WATCHED 512 /* queues */

void *view_add_row(struct rows *rows, size_t size, size_t count) {
  if (!tide_array_reserve_unset(view.allocator, &rows->items, &rows->capacity, rows->count + count,
                                size)) {
    view.failed = true;
    return NULL;
  }
  void *at = (char *)rows->items + rows->count * size;
  memset(at, 0, size * count);
  rows->count += count;
  return at;
}

static void *view_add(enum tide_view_array array, size_t size, size_t count) {
  return view_add_row(&view.rows[array], size, count);
}

/* ---- the operations of the plan ------------------------------------------------------------- */

static void add_name(struct tide_view_operation *op, const struct tide_step *step) {
  const char *name = step->label ? step->label : step->body->class_.name;
  size_t size = strlen(name);
  op->name = (uint32_t)view.rows[TIDE_VIEW_ARRAY_NAMES].count;
  char *to = view_add(TIDE_VIEW_ARRAY_NAMES, 1, size);
  if (!to) return;
  memcpy(to, name, size);
  op->name_size = (uint32_t)size;
}

static void add_signals(struct tide_view_operation *op, const struct tide_step *step,
                        uint32_t number) {
  op->first_signal = (uint32_t)view.rows[TIDE_VIEW_ARRAY_VALUES].count;
  for (size_t i = 0; i < step->signal_count; i++) {
    struct tide_view_value *value = view_add(TIDE_VIEW_ARRAY_VALUES, sizeof *value, 1);
    if (!value) return;
    *value =
        (struct tide_view_value){(double)step->signals[i].value, step->signals[i].timeline, number};
    op->signal_count++;
  }
}

static void add_uses(struct tide_view_operation *op, const struct tide_step *step) {
  op->first_use = (uint32_t)view.rows[TIDE_VIEW_ARRAY_USES].count;
  for (size_t i = 0; i < step->body->param_count; i++) {
    const struct tide_step_argument *argument = &step->arguments[i];
    if (argument->kind > TIDE_PARAM_INOUT || argument->index == TIDE_PLAN_NONE) continue;
    struct tide_view_use *use = view_add(TIDE_VIEW_ARRAY_USES, sizeof *use, 1);
    if (!use) return;
    *use = (struct tide_view_use){argument->index, argument->kind == TIDE_PARAM_IN ? TIDE_READ
                                                   : argument->kind == TIDE_PARAM_OUT
                                                       ? TIDE_WRITE
                                                       : TIDE_READ_WRITE};
    op->use_count++;
  }
}

static void add_operation(const struct tide_step *step, uint64_t *submitted) {
  uint32_t number = (uint32_t)view.rows[TIDE_VIEW_ARRAY_OPERATIONS].count;
  struct tide_view_operation *op = view_add(TIDE_VIEW_ARRAY_OPERATIONS, sizeof *op, 1);
  if (!op) return;
  *op = (struct tide_view_operation){.submitted = -1,
                                     .start = -1,
                                     .end = -1,
                                     .queue = step->queue,
                                     .line = step->line,
                                     .column = step->column,
                                     .collective = TIDE_VIEW_NONE,
                                     .after = TIDE_VIEW_NONE};
  if (step->kind == TIDE_STEP_PART) {
    op->collective = step->collective;
    op->instance = (uint32_t)step->instance;
  }
  view.operation_of[step->queue][submitted[step->queue]++] = number;
  op->sequence = (uint32_t)submitted[step->queue];
  add_name(op, step);
  add_signals(op, step, number);
  add_uses(op, step);
}

static void add_turn(bool free, uint32_t buffer) {
  uint32_t *turn = view_add_row(&view.turns[free], sizeof *turn, 1);
  if (turn) *turn = buffer;
}

static bool add_plan(void) {
  size_t queues = view.tables->queue_count;
  uint64_t *submitted = tide_alloc(view.allocator, queues, sizeof *submitted);
  struct tide_step step;
  if (!submitted) return false;
  tide_plan_rewind(view.plan);
  while (tide_plan_next(view.plan, &step, NULL) == TIDE_OK && step.kind != TIDE_STEP_END) {
    if (tide_step_submits(&step)) add_operation(&step, submitted);
    else if (step.kind == TIDE_STEP_ALLOC) add_turn(false, step.buffer);
    else if (step.kind == TIDE_STEP_FREE) add_turn(true, step.buffer);
  }
  tide_free(view.allocator, submitted, queues, sizeof *submitted);
  return !view.failed;
}

/* ---- timelines by address, buffers by order -------------------------------------------------- */

static size_t hash(const void *at) {
  uint64_t key = (uint64_t)(uintptr_t)at * 0x9e3779b97f4a7c15u;
  return (size_t)(key >> 32);
}

static struct object *find_object(const void *at) {
  size_t mask = view.object_capacity - 1, i = hash(at) & mask;
  while (view.objects[i].at && view.objects[i].at != at) i = (i + 1) & mask;
  return &view.objects[i];
}

void view_record_made(void *user, const struct tide_run *run) {
  (void)user;
  tide_explanation_follow(&view.explanation, run);
  size_t capacity = 16;
  while (capacity < 2 * view.tables->timeline_count + 2) capacity *= 2;
  view.objects = tide_alloc(view.allocator, capacity, sizeof *view.objects);
  if (!view.objects) {
    view.failed = true;
    return;
  }
  view.object_capacity = capacity;
  for (uint32_t i = 0; run->queues && i < view.tables->queue_count; i++)
    view.queues[i] = run->queues[i].queue;
  for (uint32_t i = 0; i < view.tables->queue_count; i++) {
    if (!view.queues[i]) continue;
    view.priorities[i] = view_priority(view.queues[i]);
    view.in_order[i] = view_is_in_order(view.queues[i]);
  }
  for (uint32_t i = 0; run->timelines && i < view.tables->timeline_count; i++)
    if (run->timelines[i]) *find_object(run->timelines[i]) = (struct object){run->timelines[i], i};
}

static uint32_t timeline_of(const void *object) {
  if (!object || !view.object_capacity) return TIDE_VIEW_NONE;
  struct object *found = find_object(object);
  return found->at ? found->index : TIDE_VIEW_NONE;
}

/* Returns the buffer of the next ALLOC or FREE event: both come in the order of the plan. */
static uint32_t buffer_of(bool free) {
  struct rows *rows = &view.turns[free];
  const uint32_t *buffers = rows->items;
  size_t at = view.turn[free]++;
  return at < rows->count ? buffers[at] : TIDE_VIEW_NONE;
}

/* Finds a buffer by its label, which the pool may have truncated. */
static uint32_t buffer_named(const char *label) {
  size_t length = strlen(label);
  for (uint32_t i = 0; i < view.tables->buffer_count; i++) {
    const char *whole = view.tables->buffers[i].label;
    if (strlen(whole) >= length && memcmp(whole, label, length) == 0 &&
        (!whole[length] || length == TIDE_LABEL_SIZE - 1))
      return i;
  }
  return TIDE_VIEW_NONE;
}

/* ---- events --------------------------------------------------------------------------------- */

static uint32_t operation_by(tide_axis axis, uint64_t sequence) {
  uint32_t queue;
  if (!axis || !sequence || !tide_explanation_queue(&view.explanation, axis, &queue) ||
      sequence > view.tables->queues[queue].operations)
    return TIDE_VIEW_NONE;
  return view.operation_of[queue][sequence - 1];
}

uint32_t view_operation_at(tide_axis axis, uint64_t epoch) {
  uint32_t queue;
  if (!axis || !epoch || !tide_explanation_queue(&view.explanation, axis, &queue) ||
      epoch > view.explanation.queues[queue].count)
    return TIDE_VIEW_NONE;
  return operation_by(axis, view.explanation.queues[queue].sequences[epoch - 1]);
}

/* Returns the number of an axis: queues, then collectives, then the host. */
static double axis_number(tide_axis axis) {
  uint32_t index;
  if (tide_explanation_queue(&view.explanation, axis, &index)) return index;
  if (tide_explanation_collective(&view.explanation, axis, &index))
    return (double)(view.tables->queue_count + index);
  return (double)(view.tables->queue_count + view.tables->collective_count);
}

static uint32_t add_frontier(const struct tide_frontier *frontier) {
  if (!frontier) return 0;
  if (!view.rows[TIDE_VIEW_ARRAY_FRONTIERS].count)
    view_add(TIDE_VIEW_ARRAY_FRONTIERS, sizeof(double), 2); /* so that index 0 means none */
  uint32_t at = (uint32_t)view.rows[TIDE_VIEW_ARRAY_FRONTIERS].count;
  double *to = view_add(TIDE_VIEW_ARRAY_FRONTIERS, sizeof(double), 2 + 2 * (size_t)frontier->count);
  if (!to) return 0;
  to[0] = frontier->count;
  to[1] = frontier->tainted;
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor place = tide_frontier_begin(frontier);
       tide_frontier_next(&place, &entry);) {
    *(to += 2) = axis_number(entry.axis);
    to[1] = (double)entry.epoch;
  }
  return at;
}

/* True if the event begins a step of the page. A step is all that happens at one time to one
 * operation: submit and enter, or start, or end and signal. */
static bool begins_step(const struct tide_event *event, uint32_t operation) {
  bool same = operation != TIDE_VIEW_NONE && operation == view.step_of;
  switch (event->kind) {
    case TIDE_EVENT_SUBMIT:
    case TIDE_EVENT_START: return true;
    case TIDE_EVENT_FINISH: return !same || view.step_kind != TIDE_EVENT_FINISH;
    case TIDE_EVENT_HOLD:
    case TIDE_EVENT_WAIT_CLASS:
    case TIDE_EVENT_GAP:
    case TIDE_EVENT_KEPT:
    case TIDE_EVENT_OUT:
    case TIDE_EVENT_ENTER:
    case TIDE_EVENT_PUBLISH:
    case TIDE_EVENT_SIGNAL:
    case TIDE_EVENT_FAIL: return !same;
    default: return true;
  }
}

/* Notes the queue's frontier after an operation, if it has to be stored. Usually it follows from
 * `known`: the operation is added on a device in order, nothing on others. If the frontier had no
 * capacity for all entries, it differs. */
static void note_after(const struct tide_event *event, struct tide_view_operation *op,
                       uint32_t number) {
  bool in_order = view.in_order[op->queue];
  const struct tide_frontier *known = event->frontier;
  const struct tide_frontier *now =
      view.queues[op->queue] ? view_position(view.queues[op->queue]) : NULL;
  if (!known || !now) return;
  bool listed = tide_frontier_get(known, event->axis) > 0;
  if (now->tainted == known->tainted && now->count == known->count + (in_order && !listed)) {
    op->after = in_order ? TIDE_VIEW_NONE : op->known;
    return;
  }
  uint8_t capacity = now->count < 255 ? (uint8_t)(now->count + 1) : 255;
  struct tide_frontier *after = tide_alloc(view.allocator, 1, tide_frontier_size(capacity));
  if (!after) {
    view.failed = true;
    return;
  }
  struct tide_eviction eviction = {.keep = event->axis};
  tide_frontier_init(after, capacity);
  tide_frontier_copy(after, now, NULL);
  if (in_order) tide_frontier_raise(after, event->axis, event->epoch, &eviction);
  op->after = add_frontier(after);
  view.after[number] = after;
}

static void note_operation(const struct tide_event *event, uint32_t number, uint32_t frontier) {
  struct tide_view_operation *op = view.rows[TIDE_VIEW_ARRAY_OPERATIONS].items;
  if (number == TIDE_VIEW_NONE) return;
  op += number;
  switch (event->kind) {
    case TIDE_EVENT_SUBMIT: op->submitted = (double)event->time; break;
    case TIDE_EVENT_HOLD: op->held = 1; break;
    case TIDE_EVENT_ENTER:
      op->epoch = (uint32_t)event->epoch;
      op->known = frontier;
      note_after(event, op, number);
      break;
    case TIDE_EVENT_FINISH: op->status = (uint32_t)event->status; break;
    default: break;
  }
}

static uint32_t object_of(const struct tide_event *event) {
  switch (event->kind) {
    case TIDE_EVENT_WAIT_CLASS:
    case TIDE_EVENT_SIGNAL:
    case TIDE_EVENT_FAIL:
    case TIDE_EVENT_BREAK:
    case TIDE_EVENT_HOST_WAIT: return timeline_of(event->object);
    case TIDE_EVENT_GAP: return buffer_named(event->object_label);
    case TIDE_EVENT_KEPT:
      return event->detail & TIDE_KEPT_GAP ? buffer_named(event->object_label)
                                           : timeline_of(event->object);
    case TIDE_EVENT_ALLOC:
    case TIDE_EVENT_FREE: return buffer_of(event->kind == TIDE_EVENT_FREE);
    default: return TIDE_VIEW_NONE;
  }
}

/* Notes the queues with a changed priority: lent priorities change as waits come and go. Does
 * nothing for very many queues: no page can show all, and the checks would take longer than the
 * run. */
static void note_priorities(uint64_t time) {
  if (view.tables->queue_count > WATCHED) return;
  for (uint32_t i = 0; i < view.tables->queue_count; i++) {
    uint32_t now = view.queues[i] ? view_priority(view.queues[i]) : view.priorities[i];
    if (now == view.priorities[i]) continue;
    struct tide_view_entry *entry = view_add(TIDE_VIEW_ARRAY_LOG, sizeof *entry, 1);
    if (!entry) return;
    view.priorities[i] = now;
    *entry = (struct tide_view_entry){.time = (double)time,
                                      .value = now,
                                      .kind = TIDE_VIEW_PRIORITY,
                                      .operation = TIDE_VIEW_NONE,
                                      .object = i};
  }
}

static bool has_value(const struct tide_event *event) {
  return event->kind == TIDE_EVENT_WAIT_CLASS || event->kind == TIDE_EVENT_KEPT ||
         event->kind == TIDE_EVENT_OUT || event->kind == TIDE_EVENT_SIGNAL ||
         event->kind == TIDE_EVENT_FAIL || event->kind == TIDE_EVENT_HOST_WAIT;
}

static void log_event(const struct tide_event *event) {
  bool memory = event->kind == TIDE_EVENT_ALLOC || event->kind == TIDE_EVENT_FREE;
  bool signal = event->kind == TIDE_EVENT_SIGNAL || event->kind == TIDE_EVENT_FAIL;
  if (memory && !event->axis) return; /* a permanent buffer */
  uint32_t operation = signal   ? view_operation_at(event->axis, event->epoch)
                       : memory ? TIDE_VIEW_NONE
                                : operation_by(event->axis, event->sequence);
  bool first = begins_step(event, operation);
  uint32_t frontier = event->kind == TIDE_EVENT_FREE ? view_reuse_freed(event->object)
                                                     : add_frontier(event->frontier);
  struct tide_view_entry *entry = view_add(TIDE_VIEW_ARRAY_LOG, sizeof *entry, 1);
  if (!entry) return;
  *entry = (struct tide_view_entry){.time = (double)event->time,
                                    .value = has_value(event) ? (double)event->value
                                             : memory         ? axis_number(event->axis)
                                                              : (double)event->epoch,
                                    .kind = (uint32_t)event->kind | (event->detail & 0xffff) << 8 |
                                            (first ? FIRST : 0),
                                    .operation = operation,
                                    .object = object_of(event),
                                    .frontier = frontier};
  if (first || event->kind == TIDE_EVENT_FINISH) view.step_kind = event->kind;
  if (first) view.step_of = operation;
  note_operation(event, operation, frontier);
  if (event->kind == TIDE_EVENT_SUBMIT || event->kind == TIDE_EVENT_ENTER ||
      event->kind == TIDE_EVENT_START || event->kind == TIDE_EVENT_FINISH)
    note_priorities(event->time);
}

/* An operation of a device that runs ahead starts by itself: its start is logged when it goes out,
 * and gets its time at the end of the simulation. */
static void on_event(void *self, const struct tide_event *event) {
  (void)self;
  log_event(event);
  if (event->kind != TIDE_EVENT_OUT) return;
  struct tide_event start = *event;
  start.kind = TIDE_EVENT_START;
  start.detail = 0;
  log_event(&start);
}

bool view_record_begin(void) {
  const struct tide_allocator *a = view.allocator;
  view.sink = (struct tide_sink){.event = on_event, .wants_time = true};
  view.step_of = TIDE_VIEW_NONE;
  view.operation_of = tide_alloc(a, view.tables->queue_count, sizeof *view.operation_of);
  view.queues = tide_alloc(a, view.tables->queue_count, sizeof *view.queues);
  view.priorities = tide_alloc(a, view.tables->queue_count, sizeof *view.priorities);
  view.in_order = tide_alloc(a, view.tables->queue_count, sizeof *view.in_order);
  view.after = tide_alloc(a, (size_t)view.tables->operations, sizeof *view.after);
  if (!view.operation_of || !view.queues || !view.priorities || !view.in_order || !view.after)
    return false;
  for (size_t i = 0; i < view.tables->queue_count; i++) {
    view.operation_of[i] =
        tide_alloc(a, (size_t)view.tables->queues[i].operations, sizeof **view.operation_of);
    if (!view.operation_of[i]) return false;
  }
  return add_plan() && view_reuse_begin() &&
         tide_explanation_init(&view.explanation, a, view.plan, &view.sink) == TIDE_OK;
}

/* ---- afterwards ----------------------------------------------------------------------------- */

static void add_waits(uint32_t number) {
  struct tide_view_operation *op = view.rows[TIDE_VIEW_ARRAY_OPERATIONS].items;
  op += number;
  const struct tide_explained *told =
      &view.explanation.queues[op->queue].operations[op->sequence - 1];
  op->first_wait = (uint32_t)view.rows[TIDE_VIEW_ARRAY_WAITS].count;
  for (size_t i = 0; i < told->wait_count; i++) {
    const struct tide_explained_wait *from = &told->waits[i];
    struct tide_view_wait *wait = view_add(TIDE_VIEW_ARRAY_WAITS, sizeof *wait, 1);
    if (!wait) return;
    *wait = (struct tide_view_wait){.value = from->is_memory ? -1 : (double)from->value,
                                    .record = (double)from->record_value,
                                    .timeline = TIDE_VIEW_NONE,
                                    .cause = view_operation_at(from->axis, from->epoch),
                                    .class_ = from->class_,
                                    .reason = from->reason};
    op->wait_count++;
  }
}

/* Copies each wait's timeline from the log. */
static void name_waits(void) {
  struct tide_view_operation *ops = view.rows[TIDE_VIEW_ARRAY_OPERATIONS].items;
  struct tide_view_wait *waits = view.rows[TIDE_VIEW_ARRAY_WAITS].items;
  const struct tide_view_entry *log = view.rows[TIDE_VIEW_ARRAY_LOG].items;
  for (size_t i = 0; i < view.rows[TIDE_VIEW_ARRAY_LOG].count; i++) {
    uint32_t number = log[i].operation;
    if ((log[i].kind & 255) != TIDE_EVENT_WAIT_CLASS || number == TIDE_VIEW_NONE) continue;
    struct tide_view_wait *wait = waits + ops[number].first_wait;
    for (uint32_t j = 0; j < ops[number].wait_count; j++, wait++) {
      if (wait->timeline != TIDE_VIEW_NONE || wait->value != log[i].value) continue;
      wait->timeline = log[i].object;
      break;
    }
  }
}

/* Sorts the log by time. The scheduler logs a start when the operation may start, but the simulated
 * start may be later, when its last wait arrives. The sort is a stable merge sort, as most entries
 * are in order already. */
static void order_log(void) {
  struct tide_view_entry *log = view.rows[TIDE_VIEW_ARRAY_LOG].items;
  size_t count = view.rows[TIDE_VIEW_ARRAY_LOG].count;
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t from = 0; from + width < count; from += 2 * width) {
      size_t middle = from + width, end = middle + width < count ? middle + width : count;
      if (log[middle - 1].time <= log[middle].time) continue;
      struct tide_view_entry *left = tide_alloc_unset(view.allocator, width, sizeof *left);
      if (!left) return;
      memcpy(left, log + from, width * sizeof *left);
      size_t a = 0, b = middle, to = from;
      while (a < width && b < end) log[to++] = log[b].time < left[a].time ? log[b++] : left[a++];
      while (a < width) log[to++] = left[a++];
      tide_free(view.allocator, left, width, sizeof *left);
    }
  }
}

void view_record_end(void) {
  struct tide_view_operation *ops = view.rows[TIDE_VIEW_ARRAY_OPERATIONS].items;
  struct tide_view_entry *log = view.rows[TIDE_VIEW_ARRAY_LOG].items;
  size_t count = view.rows[TIDE_VIEW_ARRAY_OPERATIONS].count;
  struct tide_sim_stop stop;
  for (uint32_t i = 0; i < count && tide_simulation_operation(view.simulation, i, &stop); i++) {
    if (stop.end < stop.start || ops[i].submitted < 0) continue;
    ops[i].start = (double)stop.start;
    ops[i].end = (double)stop.end;
  }
  for (size_t i = 0; i < view.rows[TIDE_VIEW_ARRAY_LOG].count; i++)
    if ((log[i].kind & 255) == TIDE_EVENT_START && log[i].operation != TIDE_VIEW_NONE &&
        ops[log[i].operation].start > log[i].time)
      log[i].time = ops[log[i].operation].start;
  order_log();
  for (uint32_t i = 0; i < count && !view.failed; i++) add_waits(i);
  if (!view.failed) name_waits();
}
