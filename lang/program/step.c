/* The cursor: produces one step of the unrolled program after the other. The only state about
 * earlier steps is which scratch buffers are allocated, and each collective's number of
 * instances. */
#include "base/array.h"
#include "base/check.h"
#include "base/alloc.h"
#include "base/text.h"
#include "program/plan.h"

struct stepper {
  struct tide_plan *plan;
  struct tide_cursor *cursor;
  struct tide_errors *errors;
};

static bool evaluate_code(struct stepper *s, struct tide_code code, int64_t *out_value) {
  return tide_evaluate(s->plan->program, s->plan->values, code, s->errors, out_value);
}

/* Reports a value that is out of range, after the requirement in `what`: "a cost is at least 0". */
static bool wrong_value(struct stepper *s, struct tide_code code, const char *what, int64_t value) {
  uint32_t line, column;
  if (s->errors->muted) return false;
  tide_program_location(s->plan->program, code.place, &line, &column);
  return tide_error(s->errors, TIDE_VALUE, line, column, "%s, not %lld", what, (long long)value);
}

bool tide_plan_element(struct tide_plan *plan, const struct tide_reference *reference,
                       struct tide_errors *errors, uint32_t *out_index) {
  struct tide_span span = plan->spans[reference->symbol];
  const struct tide_name *name = &reference->name;
  int64_t index = 0;
  if (reference->indexed &&
      !tide_evaluate(plan->program, plan->values, reference->index, errors, &index)) {
    return false;
  }
  if (index < 0 || index >= span.count) {
    return tide_error(errors, TIDE_VALUE, name->line, name->column,
                      "'%s[%lld]' does not exist: there are %u, 0 to %u",
                      plan->program->symbols[reference->symbol].text, (long long)index, span.count,
                      span.count - 1);
  }
  *out_index = span.first + (uint32_t)index;
  return true;
}

/* ---- waits and signals ------------------------------------------------------------- */

static bool add_value(struct stepper *s, struct tide_values *values, uint32_t timeline,
                      uint64_t value) {
  if (!tide_array_reserve(s->plan->allocator, &values->items, &values->capacity, values->count + 1,
                          sizeof *values->items)) {
    return tide_error_no_memory(s->errors);
  }
  values->items[values->count++] = (struct tide_step_value){timeline, value};
  return true;
}

static bool add_points(struct stepper *s, const struct tide_point_clause *points,
                       struct tide_values *values) {
  struct tide_plan *plan = s->plan;
  values->count = 0;
  for (const struct tide_point_clause *p = points; p; p = p->next) {
    uint32_t symbol = p->timeline.symbol;
    struct tide_span span = plan->spans[symbol];
    int64_t value;
    if (!evaluate_code(s, p->value, &value)) return false;
    if (value < 0) return wrong_value(s, p->value, "a timeline's value is at least 0", value);
    if (plan->program->symbols[symbol].kind == TIDE_SYMBOL_COLLECTIVE) {
      span = (struct tide_span){plan->collectives[span.first].timeline, 1};
    } else if (!p->timeline.all) {
      if (!tide_plan_element(plan, &p->timeline, s->errors, &span.first)) return false;
      span.count = 1;
    }
    s->cursor->order += span.count;
    for (uint32_t i = 0; i < span.count; i++) {
      if (!add_value(s, values, span.first + i, (uint64_t)value)) return false;
    }
  }
  return true;
}

static bool set_points(struct stepper *s, const struct tide_operation_statement *operation,
                       struct tide_step *step) {
  if (!add_points(s, operation->waits, &s->plan->waits) ||
      !add_points(s, operation->signals, &s->plan->signals)) {
    return false;
  }
  step->waits = s->plan->waits.items;
  step->wait_count = s->plan->waits.count;
  step->signals = s->plan->signals.items;
  step->signal_count = s->plan->signals.count;
  return true;
}

/* ---- arguments ------------------------------------------------------------------------ */

static bool is_alive(struct stepper *s, const struct tide_name *name, uint32_t index) {
  const struct tide_plan_buffer *buffer = &s->plan->buffers[index];
  const struct tide_life *life = &s->plan->lives[index];
  if (!buffer->scratch || life->live) return true;
  if (!life->line) {
    return tide_error(s->errors, TIDE_INVALID, name->line, name->column,
                      "'%s' is used before it is allocated", buffer->label);
  }
  return tide_error(s->errors, TIDE_INVALID, name->line, name->column,
                    "'%s' is used after it was freed on line %u", buffer->label, life->line);
}

static bool set_buffer(struct stepper *s, const struct tide_bound *bound,
                       struct tide_step_argument *out) {
  const struct tide_program_argument *a = bound->argument;
  struct tide_plan *plan = s->plan;
  if (a->reference.all) out->index = plan->spans[a->reference.symbol].first + bound->element;
  else if (!tide_plan_element(plan, &a->reference, s->errors, &out->index)) return false;
  const struct tide_plan_buffer *buffer = &plan->buffers[out->index];
  out->size = buffer->size;
  if (a->sliced) {
    int64_t offset, size;
    if (!evaluate_code(s, a->offset, &offset) || !evaluate_code(s, a->size, &size)) return false;
    if (offset < 0 || size < 1 || (uint64_t)offset > buffer->size ||
        (uint64_t)size > buffer->size - (uint64_t)offset) {
      return tide_error(s->errors, TIDE_VALUE, a->line, a->column,
                        "the slice [%lld, %lld] is not within '%s', which has %llu bytes",
                        (long long)offset, (long long)size, buffer->label,
                        (unsigned long long)buffer->size);
    }
    out->offset = (uint64_t)offset;
    out->size = (uint64_t)size;
  }
  return is_alive(s, &a->reference.name, out->index);
}

static bool set_text(struct stepper *s, const struct tide_bound *bound,
                     struct tide_step_argument *out) {
  out->text =
      bound->text ? bound->text : tide_plan_intern(s->plan, &bound->argument->string, s->errors);
  if (!out->text) return false;
  out->size = strlen(out->text);
  return true;
}

static bool set_argument(struct stepper *s, const struct tide_param *param,
                         const struct tide_bound *bound, struct tide_step_argument *out) {
  *out = (struct tide_step_argument){
      .kind = param->kind, .index = TIDE_PLAN_NONE, .integer = param->fallback};
  if (!bound->argument) return true;
  switch (param->kind) {
    case TIDE_PARAM_INTEGER: return evaluate_code(s, bound->argument->value, &out->integer);
    case TIDE_PARAM_TEXT: return set_text(s, bound, out);
    case TIDE_PARAM_FILE:
      out->index = s->plan->spans[bound->argument->reference.symbol].first;
      return true;
    case TIDE_PARAM_IN:
    case TIDE_PARAM_OUT:
    case TIDE_PARAM_INOUT: return set_buffer(s, bound, out);
  }
  return true;
}

/* ---- operations -------------------------------------------------------------------------- */

static bool set_cost(struct stepper *s, const struct tide_operation_statement *operation,
                     struct tide_step *step) {
  int64_t cost;
  if (!operation->cost.count) return true;
  if (!evaluate_code(s, operation->cost, &cost)) return false;
  step->cost = (uint64_t)cost;
  return cost >= 0 || wrong_value(s, operation->cost, "a cost is at least 0", cost);
}

static bool set_operation(struct stepper *s, const struct tide_operation_statement *operation,
                          struct tide_step *step) {
  struct tide_plan *plan = s->plan;
  const struct tide_binding *binding = &plan->bindings[operation->base.number];
  step->body = binding->body;
  step->arguments = plan->arguments;
  for (size_t i = 0; i < binding->body->param_count; i++) {
    if (!set_argument(s, &binding->body->params[i], &binding->params[i], &plan->arguments[i]))
      return false;
  }
  if (!set_points(s, operation, step) || !set_cost(s, operation, step)) return false;
  if (operation->passable) step->flags = TIDE_MAY_BE_PASSED;
  if (operation->label.given) {
    size_t room = sizeof plan->label;
    if (tide_plan_expand(plan, &operation->label, plan->label, room) >= room)
      tide_text_trim(plan->label);
    step->label = plan->label;
  }
  return true;
}

static bool next_part(struct stepper *s, struct tide_step *step) {
  const struct tide_operation_statement *operation = s->cursor->open;
  struct tide_plan *plan = s->plan;
  uint32_t index = plan->spans[operation->target.symbol].first, member = s->cursor->member;
  const struct tide_plan_collective *collective = &plan->collectives[index];
  if (member == 0) plan->instances[index]++;
  step->kind = TIDE_STEP_PART;
  step->collective = index;
  step->member = member;
  step->instance = plan->instances[index];
  step->queue = collective->queues[member];
  plan->values[TIDE_SYMBOL_MEMBER] = member;
  plan->values[TIDE_SYMBOL_MEMBERS] = (int64_t)collective->queue_count;
  s->cursor->member++;
  bool good = set_operation(s, operation, step) &&
              tide_plan_note_writes(plan, &plan->bindings[operation->base.number], step, s->errors);
  if (!good || s->cursor->member == collective->queue_count) s->cursor->open = NULL;
  return good;
}

/* ---- takes ----------------------------------------------------------------------------- */

static enum tide_status did_take(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body took = {
    .class_ = {.name = "took", .host = did_take, .non_blocking = true},
    .summary = "what an operation took was there",
};

/* Makes the second step of an operation that takes. It waits for all tags, and for the first step,
 * and makes the signals of the text. */
static bool set_took(struct stepper *s, const struct tide_operation_statement *operation,
                     struct tide_step *step) {
  struct tide_plan *plan = s->plan;
  const struct tide_values *tags = &plan->taking.tags;
  if (!add_points(s, NULL, &plan->waits)) return false;
  for (size_t i = 0; i < tags->count; i++)
    if (!add_value(s, &plan->waits, tags->items[i].timeline, tags->items[i].value)) return false;
  if (!add_value(s, &plan->waits, plan->queues[step->queue].takes, plan->taken[step->queue]))
    return false;
  if (!add_points(s, operation->signals, &plan->signals)) return false;
  step->body = &took;
  step->took = true;
  return true;
}

static bool set_taking(struct stepper *s, const struct tide_operation_statement *operation,
                       struct tide_step *step) {
  struct tide_plan *plan = s->plan;
  int64_t after = 0;
  if (!set_operation(s, operation, step) || !tide_plan_take(plan, operation, step, s->errors))
    return false;
  if (operation->after.count && !evaluate_code(s, operation->after, &after)) return false;
  if (after < 0) return wrong_value(s, operation->after, "a time is at least 0", after);
  step->after = (uint64_t)after;
  step->tags = plan->taking.tags.items;
  step->tag_count = plan->taking.tags.count;
  if (!tide_plan_note_writes(plan, &plan->bindings[operation->base.number], step, s->errors))
    return false;
  plan->signals.count = 0; /* the signals of the text are the second step's */
  return add_value(s, &plan->signals, plan->queues[step->queue].takes, ++plan->taken[step->queue]);
}

static bool next_take(struct stepper *s, struct tide_step *step) {
  const struct tide_operation_statement *operation = s->cursor->open;
  struct tide_plan *plan = s->plan;
  bool second = s->cursor->member++ != 0;
  step->kind = TIDE_STEP_OPERATION;
  bool good = tide_plan_element(plan, &operation->target, s->errors, &step->queue) &&
              (second ? set_took(s, operation, step) : set_taking(s, operation, step));
  step->waits = plan->waits.items;
  step->wait_count = plan->waits.count;
  step->signals = plan->signals.items;
  step->signal_count = plan->signals.count;
  step->takes = plan->taking.takes;
  step->take_count = plan->taking.take_count;
  step->pieces = plan->taking.pieces;
  step->piece_count = plan->taking.piece_count;
  if (!good || second) s->cursor->open = NULL;
  return good;
}

/* ---- memory ---------------------------------------------------------------------------- */

static bool set_life(struct stepper *s, const struct tide_program_argument *a,
                     const struct tide_step *step) {
  const struct tide_plan_buffer *buffer = &s->plan->buffers[step->buffer];
  struct tide_life *life = &s->plan->lives[step->buffer];
  bool alloc = step->kind == TIDE_STEP_ALLOC;
  if (alloc && life->live) {
    return tide_error(s->errors, TIDE_INVALID, a->line, a->column,
                      "'%s' is allocated already, on line %u", buffer->label, life->line);
  }
  if (!alloc && !life->live && life->line) {
    return tide_error(s->errors, TIDE_INVALID, a->line, a->column,
                      "'%s' was freed already, on line %u", buffer->label, life->line);
  }
  if (!alloc && !life->live) {
    return tide_error(s->errors, TIDE_INVALID, a->line, a->column,
                      "'%s' is freed before it is allocated", buffer->label);
  }
  *life = (struct tide_life){step->line, step->column, alloc};
  if (!alloc) {
    s->cursor->scratch_bytes -= buffer->size;
  } else if (__builtin_add_overflow(s->cursor->scratch_bytes, buffer->size,
                                    &s->cursor->scratch_bytes)) {
    return tide_error(s->errors, TIDE_VALUE, a->line, a->column,
                      "with '%s' the scratch buffers need more than 2^64 bytes", buffer->label);
  }
  return true;
}

static bool next_memory(struct stepper *s, struct tide_step *step) {
  struct tide_cursor *cursor = s->cursor;
  const struct tide_operation_statement *operation = cursor->open;
  const struct tide_program_argument *a = cursor->memory;
  struct tide_span span = s->plan->spans[a->reference.symbol];
  step->kind = operation->base.kind == TIDE_STATEMENT_ALLOC ? TIDE_STEP_ALLOC : TIDE_STEP_FREE;
  bool good = tide_plan_element(s->plan, &operation->target, s->errors, &step->queue);
  if (good && a->reference.all) {
    step->buffer = span.first + cursor->element++;
    if (cursor->element < span.count) return set_life(s, a, step);
  } else if (good) {
    good = tide_plan_element(s->plan, &a->reference, s->errors, &step->buffer);
  }
  cursor->element = 0;
  cursor->memory = a->next;
  if (!a->next) cursor->open = NULL;
  return good && set_life(s, a, step);
}

/* Makes the next step of the open statement. */
static bool next_of_open(struct stepper *s, struct tide_step *step) {
  if (s->cursor->open->base.kind != TIDE_STATEMENT_OPERATION) return next_memory(s, step);
  return s->cursor->open->takes ? next_take(s, step) : next_part(s, step);
}

static bool begin_operation(struct stepper *s, const struct tide_operation_statement *operation,
                            struct tide_step *step) {
  struct tide_plan *plan = s->plan;
  switch (operation->base.kind) {
    case TIDE_STATEMENT_HOST_SIGNAL: step->kind = TIDE_STEP_HOST_SIGNAL; break;
    case TIDE_STATEMENT_HOST_EXTERNAL: step->kind = TIDE_STEP_HOST_EXTERNAL; break;
    case TIDE_STATEMENT_HOST_WAIT: step->kind = TIDE_STEP_HOST_WAIT; break;
    case TIDE_STATEMENT_OPERATION:
      if (operation->takes ||
          plan->program->symbols[operation->target.symbol].kind == TIDE_SYMBOL_COLLECTIVE) {
        s->cursor->open = operation;
        s->cursor->member = 0;
        return next_of_open(s, step);
      }
      step->kind = TIDE_STEP_OPERATION;
      return tide_plan_element(plan, &operation->target, s->errors, &step->queue) &&
             set_operation(s, operation, step) &&
             tide_plan_note_writes(plan, &plan->bindings[operation->base.number], step, s->errors);
    default:
      s->cursor->open = operation;
      s->cursor->memory = operation->arguments;
      s->cursor->element = 0;
      return next_of_open(s, step);
  }
  return set_points(s, operation, step);
}

/* ---- blocks --------------------------------------------------------------------------------- */

static bool push_frame(struct stepper *s, const struct tide_statement *first,
                       const struct tide_for_statement *loop, uint64_t left, int64_t by) {
  struct tide_cursor *cursor = s->cursor;
  TIDE_ASSERT(cursor->depth <= TIDE_PROGRAM_NESTING_MAX);
  cursor->frames[cursor->depth++] = (struct tide_frame){first, loop, left, by};
  return true;
}

static bool begin_for(struct stepper *s, const struct tide_for_statement *loop) {
  int64_t from, to, by = 1;
  if (!evaluate_code(s, loop->from, &from) || !evaluate_code(s, loop->to, &to)) return false;
  if (loop->step.count && !evaluate_code(s, loop->step, &by)) return false;
  if (by == 0) return wrong_value(s, loop->step, "a loop's step is at least 1 or at most -1", 0);
  if (by > 0 ? from >= to : from <= to) return true;
  uint64_t distance = by > 0 ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;
  uint64_t stride = by > 0 ? (uint64_t)by : 0 - (uint64_t)by;
  s->plan->values[loop->symbol] = from;
  return push_frame(s, loop->body, loop, (distance - 1) / stride, by);
}

static bool begin_if(struct stepper *s, const struct tide_if_statement *choice) {
  int64_t value;
  for (;;) { /* iterates: a chain of `else if` takes no depth */
    if (!evaluate_code(s, choice->condition, &value)) return false;
    if (value) return push_frame(s, choice->then, NULL, 0, 0);
    const struct tide_statement *otherwise = choice->otherwise;
    if (!otherwise) return true;
    if (otherwise->kind != TIDE_STATEMENT_IF || otherwise->next)
      return push_frame(s, otherwise, NULL, 0, 0);
    choice = TIDE_CONTAINER(otherwise, struct tide_if_statement, base);
    s->cursor->order++;
  }
}

static bool do_require(struct stepper *s, const struct tide_require_statement *require) {
  char message[160];
  int64_t value;
  if (!evaluate_code(s, require->condition, &value)) return false;
  if (value) return true;
  tide_plan_expand(s->plan, &require->message, message, sizeof message);
  return tide_error(s->errors, TIDE_VALUE, require->base.line, require->base.column, "%s",
                    require->message.given ? message : "this requirement is not met");
}

/* Executes a statement that gives no steps. An error ends the walk, since its continuation is not
 * known. */
static bool do_control(struct stepper *s, const struct tide_statement *statement) {
  switch (statement->kind) {
    case TIDE_STATEMENT_FOR:
      return begin_for(s, TIDE_CONTAINER(statement, struct tide_for_statement, base));
    case TIDE_STATEMENT_IF:
      return begin_if(s, TIDE_CONTAINER(statement, struct tide_if_statement, base));
    case TIDE_STATEMENT_LET: {
      const struct tide_let_statement *let =
          TIDE_CONTAINER(statement, struct tide_let_statement, base);
      return evaluate_code(s, let->value, &s->plan->values[let->symbol]);
    }
    default: return do_require(s, TIDE_CONTAINER(statement, struct tide_require_statement, base));
  }
}

/* Ends the innermost block: starts its next iteration, or leaves it. False: the program is over. */
static bool next_turn(struct stepper *s) {
  struct tide_frame *frame = &s->cursor->frames[s->cursor->depth - 1];
  if (frame->left == 0) {
    s->cursor->depth--;
    return s->cursor->depth > 0;
  }
  frame->left--;
  frame->at = frame->loop->body;
  s->plan->values[frame->loop->symbol] += frame->step;
  s->cursor->order++;
  return true;
}

static bool may_turn(struct stepper *s, uint32_t line, uint32_t column) {
  uint64_t most = 4 * (s->plan->operations_max + 250000);
  if (s->cursor->order - s->cursor->step_order >= TIDE_PLAN_IDLE_MAX)
    return tide_error(s->errors, TIDE_FULL, line, column,
                      "the loops of this program turn more than %u times and submit nothing",
                      TIDE_PLAN_IDLE_MAX);
  if (s->cursor->order < most) return true;
  return tide_error(s->errors, TIDE_FULL, line, column,
                    "the loops of this program turn more than %llu times",
                    (unsigned long long)most);
}

static bool may_operate(struct stepper *s, const struct tide_statement *statement) {
  if (s->cursor->number < s->plan->operations_max) return true;
  return tide_error(s->errors, TIDE_FULL, statement->line, statement->column,
                    "this program has more than %llu operations",
                    (unsigned long long)s->plan->operations_max);
}

/* Returns the next statement that gives steps; NULL: the program is over, or an error ended the
 * walk. */
static const struct tide_statement *next_statement(struct stepper *s) {
  struct tide_cursor *cursor = s->cursor;
  while (cursor->depth) {
    struct tide_frame *frame = &cursor->frames[cursor->depth - 1];
    const struct tide_statement *statement = frame->at;
    if (!statement) {
      const struct tide_for_statement *loop = frame->loop;
      if (loop && !may_turn(s, loop->base.line, loop->base.column)) break;
      if (!next_turn(s)) break;
      continue;
    }
    frame->at = statement->next;
    cursor->order++;
    if (!may_turn(s, statement->line, statement->column)) break;
    if (statement->kind >= TIDE_STATEMENT_LET) {
      if (!do_control(s, statement)) break;
    } else {
      if (!may_operate(s, statement)) break;
      return statement;
    }
  }
  cursor->ended = true;
  return NULL;
}

bool tide_plan_advance(struct tide_plan *plan, struct tide_step *out_step,
                       struct tide_errors *errors) {
  struct stepper s = {plan, &plan->cursor, errors};
  size_t before = errors->count;
  bool resumed = plan->cursor.open != NULL;
  *out_step = (struct tide_step){.kind = TIDE_STEP_END};
  if (plan->cursor.ended) return true;
  const struct tide_statement *statement = resumed ? &plan->cursor.open->base : next_statement(&s);
  if (!statement) return errors->count == before;
  out_step->number = plan->cursor.number++;
  plan->cursor.step_order = plan->cursor.order;
  out_step->line = statement->line;
  out_step->column = statement->column;
  plan->cursor.statement = statement->number;
  errors->muted = plan->complained[statement->number];
  bool good =
      resumed ? next_of_open(&s, out_step)
              : begin_operation(
                    &s, TIDE_CONTAINER(statement, struct tide_operation_statement, base), out_step);
  errors->muted = false;
  if (!good) plan->complained[statement->number] = 1;
  return good;
}

/* ---- names ------------------------------------------------------------------------------- */

size_t tide_plan_names(const struct tide_plan *plan, const struct tide_step *step,
                       struct tide_plan_name *out_names, size_t room) {
  const struct tide_cursor *cursor = &plan->cursor;
  size_t count = 0;
  if (step->kind == TIDE_STEP_PART && room)
    out_names[count++] = (struct tide_plan_name){TIDE_SYMBOL_MEMBER, true};
  for (uint32_t i = cursor->depth; i-- > 0;) {
    const struct tide_frame *frame = &cursor->frames[i];
    if (!frame->loop) continue;
    if (count < room) out_names[count++] = (struct tide_plan_name){frame->loop->symbol, true};
    for (const struct tide_statement *at = frame->loop->body; at && at != frame->at; at = at->next)
      if (at->kind == TIDE_STATEMENT_LET && count < room)
        out_names[count++] = (struct tide_plan_name){
            TIDE_CONTAINER(at, struct tide_let_statement, base)->symbol, false};
  }
  return count;
}
