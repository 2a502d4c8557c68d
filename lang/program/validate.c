/* Walks through all steps before any of them runs: checks values, records the users of timelines
 * and buffers, and checks that the program can terminate. */
#include "base/alloc.h"
#include "program/dry_run.h"

struct use {      /* the users of a timeline */
  uint32_t queue; /* the first that waits or signals, + 1 */
  bool queues;    /* several queues */
  bool devices;   /* queues on several devices */
  bool host;
  bool host_signals;
  uint32_t last_line; /* line of the last signal */
};

struct checker {
  struct tide_plan *plan;
  struct tide_errors *errors;
  struct use *uses;
  struct tide_dry_run dry_run;
  const struct tide_plan_params *params;
  uint64_t told; /* the cursor's order at the last call of `progress` */
};

/* True the first time for each statement, so that it reports once. */
static bool first_time(struct checker *c) {
  uint8_t *complained = &c->plan->complained[c->plan->cursor.statement];
  bool first = !*complained;
  *complained = 1;
  return first;
}

static void use_by_queue(struct checker *c, uint32_t timeline, uint32_t queue) {
  struct use *use = &c->uses[timeline];
  c->plan->timelines[timeline].used = true;
  if (use->queue == queue + 1) return;
  if (!use->queue) {
    use->queue = queue + 1;
    return;
  }
  use->queues = true;
  if (c->plan->queues[use->queue - 1].device != c->plan->queues[queue].device) use->devices = true;
}

static void use_by_step(struct checker *c, uint32_t timeline, const struct tide_step *step) {
  if (step->kind == TIDE_STEP_OPERATION || step->kind == TIDE_STEP_PART) {
    use_by_queue(c, timeline, step->queue);
  } else {
    c->plan->timelines[timeline].used = true;
    c->uses[timeline].host = true;
  }
}

/* Checks that the values of a timeline rise in the order of submission. */
static void check_signal(struct checker *c, const struct tide_step *step,
                         const struct tide_step_value *signal) {
  struct tide_plan_timeline *t = &c->plan->timelines[signal->timeline];
  struct use *use = &c->uses[signal->timeline];
  unsigned long long value = signal->value, last = t->last;
  if (value > last) {
    t->last = value;
    use->last_line = step->line;
  } else if (first_time(c)) {
    if (!use->last_line) {
      tide_error(c->errors, TIDE_VALUE, step->line, step->column,
                 "timeline '%s' does not go up: %llu, where it starts at %llu", t->label, value,
                 last);
    } else if (value == last) {
      tide_error(c->errors, TIDE_VALUE, step->line, step->column,
                 "timeline '%s' does not go up: %llu was signalled on line %u already", t->label,
                 value, use->last_line);
    } else {
      tide_error(c->errors, TIDE_VALUE, step->line, step->column,
                 "timeline '%s' goes down: %llu after %llu of line %u", t->label, value, last,
                 use->last_line);
    }
  }
}

static void check_part(struct checker *c, const struct tide_step *step) {
  struct tide_plan_collective *collective = &c->plan->collectives[step->collective];
  struct tide_plan_timeline *t = &c->plan->timelines[collective->timeline];
  collective->instances = step->instance;
  use_by_queue(c, collective->timeline, step->queue);
  t->last = step->instance;
}

/* Records the takes of an operation. The timeline of a tag is also waited for outside of all
 * queues. */
static void check_takes(struct checker *c, const struct tide_step *step,
                        struct tide_plan_queue *queue) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < step->tag_count; i++) c->uses[step->tags[i].timeline].host = true;
  for (size_t i = 0; i < step->take_count; i++) bytes += step->takes[i].size;
  uint32_t pieces = (uint32_t)(step->piece_count + step->take_count);
  if (bytes > queue->taken_bytes) queue->taken_bytes = bytes;
  if (pieces > queue->taken_pieces) queue->taken_pieces = pieces;
  if (queue->take_line) return;
  queue->take_line = step->line;
  queue->take_column = step->column;
}

static void check_operation(struct checker *c, const struct tide_step *step) {
  struct tide_plan_queue *queue = &c->plan->queues[step->queue];
  queue->operations++;
  size_t waits = step->wait_count + step->tag_count; /* a program of events waits for tags */
  if (waits > queue->most_waits) queue->most_waits = (uint32_t)waits;
  if (step->signal_count > queue->most_signals) queue->most_signals = (uint32_t)step->signal_count;
  c->plan->tables.operations++;
  for (size_t i = 0; i < step->body->param_count; i++) {
    const struct tide_step_argument *a = &step->arguments[i];
    if (a->kind > TIDE_PARAM_INOUT || a->index == TIDE_PLAN_NONE) continue;
    queue->uses++;
    struct tide_plan_buffer *buffer = &c->plan->buffers[a->index];
    buffer->read |= a->kind != TIDE_PARAM_OUT;
    buffer->written |= a->kind != TIDE_PARAM_IN;
  }
  if (step->took) queue->uses += step->take_count;
  if (step->kind == TIDE_STEP_PART) check_part(c, step);
  if (step->tag_count) check_takes(c, step, queue);
}

static bool check_step(struct checker *c, const struct tide_step *step) {
  struct tide_plan_tables *tables = &c->plan->tables;
  tables->steps++;
  if (step->kind == TIDE_STEP_OPERATION || step->kind == TIDE_STEP_PART) check_operation(c, step);
  if (c->plan->cursor.scratch_bytes > tables->scratch_bytes)
    tables->scratch_bytes = c->plan->cursor.scratch_bytes;
  tables->waits += step->wait_count;
  tables->signals += step->signal_count;
  for (size_t i = 0; i < step->wait_count; i++) use_by_step(c, step->waits[i].timeline, step);
  for (size_t i = 0; i < step->signal_count; i++) {
    use_by_step(c, step->signals[i].timeline, step);
    if (step->kind >= TIDE_STEP_HOST_SIGNAL) c->uses[step->signals[i].timeline].host_signals = true;
    check_signal(c, step, &step->signals[i]);
  }
  return tide_dry_run_step(&c->dry_run, step);
}

static void check_never_freed(struct checker *c) {
  uint32_t line = 0;
  for (size_t i = 0; i < c->plan->tables.buffer_count; i++) {
    const struct tide_life *life = &c->plan->lives[i];
    if (!life->live || life->line == line) continue; /* reported once for each line */
    line = life->line;
    tide_error(c->errors, TIDE_INVALID, life->line, life->column,
               "'%s' is allocated here and never freed", c->plan->buffers[i].label);
  }
}

static void set_scopes(struct checker *c) {
  for (size_t i = 0; i < c->plan->tables.timeline_count; i++) {
    const struct use *use = &c->uses[i];
    struct tide_scope_usage usage = {.queues = use->queues ? 2 : use->queue != 0,
                                     .devices = use->devices ? 2 : use->queue != 0,
                                     .host = use->host};
    c->plan->timelines[i].scope = tide_scope_for(&usage);
    c->plan->timelines[i].operations_only = !use->host_signals;
  }
}

static void tell_progress(struct checker *c) {
  if (!c->params->progress || c->plan->cursor.order - c->told < TIDE_PLAN_PROGRESS) return;
  c->told = c->plan->cursor.order;
  c->params->progress(c->params->progress_user, c->plan->tables.operations);
}

/* Checks all steps. Continues after an error that does not end the walk. False: the end was not
 * reached. */
static bool walk_plan(struct checker *c) {
  struct tide_step step;
  while (!tide_errors_enough(c->errors)) {
    if (!tide_plan_advance(c->plan, &step, c->errors)) {
      if (c->plan->cursor.ended) return false;
      continue;
    }
    if (step.kind == TIDE_STEP_END) return true;
    if (!check_step(c, &step)) return false;
    tell_progress(c);
  }
  return false;
}

bool tide_plan_check(struct tide_plan *plan, const struct tide_plan_params *params,
                     struct tide_errors *errors) {
  struct checker c = {.plan = plan, .errors = errors, .params = params};
  c.uses = tide_alloc(plan->allocator, plan->tables.timeline_count, sizeof *c.uses);
  if (!c.uses) tide_error_no_memory(errors);
  else if (tide_dry_run_init(&c.dry_run, plan, errors) && walk_plan(&c)) {
    if (tide_dry_run_finish(&c.dry_run)) check_never_freed(&c);
    set_scopes(&c);
    if (!plan->tables.steps && !errors->count)
      tide_error(errors, TIDE_INVALID, 1, 1,
                 "with these parameters, this program has no operations");
  }
  if (c.dry_run.plan) tide_dry_run_fini(&c.dry_run);
  tide_free(plan->allocator, c.uses, plan->tables.timeline_count, sizeof *c.uses);
  return errors->count == 0;
}
