/* `take BUF`: finds the slices that an operation takes by fault, and their writers. */
#include "base/array.h"
#include "base/alloc.h"
#include "program/plan.h"

static bool take_error(struct tide_errors *errors, const struct tide_program_argument *a,
                       const char *why, const char *label) TIDE_PRINTF(3, 0);
static bool take_error(struct tide_errors *errors, const struct tide_program_argument *a,
                       const char *why, const char *label) {
  return tide_error(errors, TIDE_INVALID, a->line, a->column, why, label);
}

/* ---- writes --------------------------------------------------------------------- */

static void add_write(struct tide_writes *writes, const struct tide_write *write, uint64_t from,
                      uint64_t end) {
  if (from >= end) return;
  if (writes->count == TIDE_WRITES_MAX) {
    writes->lost = true;
    return;
  }
  struct tide_write *own = &writes->list[writes->count++];
  *own = *write;
  own->offset = from;
  own->size = end - from;
}

/* Cuts the slice that is written again out of all earlier writes. */
static void drop_covered(struct tide_writes *writes, const struct tide_write *by) {
  struct tide_write before[TIDE_WRITES_MAX];
  uint32_t count = writes->count;
  uint64_t from = by->offset, end = by->offset + by->size;
  memcpy(before, writes->list, count * sizeof *before);
  writes->count = 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct tide_write *w = &before[i];
    uint64_t w_end = w->offset + w->size;
    add_write(writes, w, w->offset, w_end < from ? w_end : from);
    add_write(writes, w, w->offset > end ? w->offset : end, w_end);
  }
  if (!writes->count) writes->lost = false;
}

static bool note_write(struct tide_plan *plan, const struct tide_step *step,
                       const struct tide_step_argument *a, struct tide_errors *errors) {
  struct tide_writes **slot = &plan->writes[a->index];
  struct tide_write write = {
      .offset = a->offset, .size = a->size, .queue = step->queue, .line = step->line};
  if (!*slot) *slot = tide_alloc(plan->allocator, 1, sizeof **slot);
  if (!*slot) return tide_error_no_memory(errors);
  write.tagged = plan->signals.count > 0;
  if (write.tagged) write.tag = plan->signals.items[0];
  if (!write.tagged && step->kind == TIDE_STEP_PART) {
    write.tagged = true;
    write.tag =
        (struct tide_step_value){plan->collectives[step->collective].timeline, step->instance};
  }
  drop_covered(*slot, &write);
  add_write(*slot, &write, a->offset, a->offset + a->size);
  return true;
}

bool tide_plan_note_writes(struct tide_plan *plan, const struct tide_binding *binding,
                           const struct tide_step *step, struct tide_errors *errors) {
  for (size_t i = 0; i < step->body->param_count; i++) {
    const struct tide_step_argument *a = &step->arguments[i];
    if (a->kind != TIDE_PARAM_OUT && a->kind != TIDE_PARAM_INOUT) continue;
    if (a->index == TIDE_PLAN_NONE) continue;
    uint32_t symbol = binding->params[i].argument->reference.symbol;
    if (plan->program->symbols[symbol].taken && !note_write(plan, step, a, errors)) return false;
  }
  return true;
}

/* ---- takes ------------------------------------------------------------------------- */

struct taker {
  struct tide_plan *plan;
  struct tide_taking *taking;
  const struct tide_program_argument *at; /* the clause in the text */
  const struct tide_step *step;
  struct tide_errors *errors;
};

static bool add_tag(struct taker *t, struct tide_step_value tag, uint32_t *out_tag) {
  struct tide_values *tags = &t->taking->tags;
  for (size_t i = 0; i < tags->count; i++) {
    *out_tag = (uint32_t)i;
    if (tags->items[i].timeline == tag.timeline && tags->items[i].value == tag.value) return true;
  }
  if (!tide_array_reserve(t->plan->allocator, &tags->items, &tags->capacity, tags->count + 1,
                          sizeof *tags->items))
    return tide_error_no_memory(t->errors);
  *out_tag = (uint32_t)tags->count;
  tags->items[tags->count++] = tag;
  return true;
}

/* True if the operation also waits for the write, which leaves nothing to take. */
static bool waits_itself(const struct taker *t, const struct tide_write *write) {
  for (size_t i = 0; i < t->step->wait_count; i++)
    if (t->step->waits[i].timeline == write->tag.timeline &&
        t->step->waits[i].value >= write->tag.value)
      return true;
  return false;
}

static bool add_piece(struct taker *t, struct tide_step_take *take,
                      const struct tide_write *write) {
  struct tide_taking *taking = t->taking;
  const char *label = t->plan->buffers[take->buffer].label;
  uint32_t line = t->at->line, column = t->at->column;
  if (!write->tagged)
    return tide_error(t->errors, TIDE_INVALID, line, column,
                      "'%s' cannot be taken: line %u, which writes it, signals nothing", label,
                      write->line);
  if (waits_itself(t, write))
    return tide_error(t->errors, TIDE_INVALID, line, column,
                      "there is nothing to take: the operation waits for line %u, which writes "
                      "'%s'",
                      write->line, label);
  if (!tide_array_reserve(t->plan->allocator, &taking->pieces, &taking->piece_capacity,
                          taking->piece_count + 1, sizeof *taking->pieces))
    return tide_error_no_memory(t->errors);
  uint64_t from = write->offset > take->offset ? write->offset : take->offset;
  uint64_t end = write->offset + write->size, most = take->offset + take->size;
  struct tide_step_piece piece = {.offset = from, .size = (end < most ? end : most) - from};
  if (!add_tag(t, write->tag, &piece.tag)) return false;
  taking->pieces[taking->piece_count++] = piece;
  take->piece_count++;
  return true;
}

/* Takes one argument that lies in the buffer. */
static bool take_argument(struct taker *t, uint32_t argument) {
  const struct tide_step_argument *a = &t->step->arguments[argument];
  const struct tide_writes *writes = t->plan->writes[a->index];
  const char *label = t->plan->buffers[a->index].label;
  struct tide_step_take take = {.argument = argument,
                                .buffer = a->index,
                                .offset = a->offset,
                                .size = a->size,
                                .first = (uint32_t)t->taking->piece_count};
  uint32_t own = 0;
  if (a->kind != TIDE_PARAM_IN)
    return take_error(t->errors, t->at, "'%s' cannot be taken: the operation writes it, too",
                      label);
  for (uint32_t i = 0; writes && i < writes->count; i++) {
    const struct tide_write *w = &writes->list[i];
    if (w->offset >= a->offset + a->size || a->offset >= w->offset + w->size) continue;
    if (w->queue == t->step->queue) { /* comes before it anyway */
      own = w->line;
      continue;
    }
    if (!add_piece(t, &take, w)) return false;
  }
  if (writes && writes->lost)
    return take_error(t->errors, t->at,
                      "'%s' cannot be taken: it is written in more than 64 slices", label);
  if (!take.piece_count && own)
    return tide_error(t->errors, TIDE_INVALID, t->at->line, t->at->column,
                      "there is nothing to take: line %u, which writes '%s', is of the same queue",
                      own, label);
  if (!take.piece_count)
    return take_error(t->errors, t->at, "'%s' cannot be taken: nothing above writes it", label);
  t->taking->takes[t->taking->take_count++] = take;
  return true;
}

static bool take_buffer(struct taker *t, uint32_t buffer) {
  size_t before = t->taking->take_count;
  for (size_t i = 0; i < before; i++)
    if (t->taking->takes[i].buffer == buffer)
      return take_error(t->errors, t->at, "'%s' is taken twice", t->plan->buffers[buffer].label);
  for (uint32_t i = 0; i < t->step->body->param_count; i++) {
    const struct tide_step_argument *a = &t->step->arguments[i];
    if (a->kind > TIDE_PARAM_INOUT || a->index != buffer) continue;
    if (!take_argument(t, i)) return false;
  }
  if (t->taking->take_count > before) return true;
  return take_error(t->errors, t->at, "'%s' cannot be taken: it is no argument of this operation",
                    t->plan->buffers[buffer].label);
}

bool tide_plan_take(struct tide_plan *plan, const struct tide_operation_statement *operation,
                    const struct tide_step *step, struct tide_errors *errors) {
  struct taker t = {plan, &plan->taking, NULL, step, errors};
  plan->taking.take_count = plan->taking.piece_count = plan->taking.tags.count = 0;
  for (t.at = operation->takes; t.at; t.at = t.at->next) {
    const struct tide_reference *reference = &t.at->reference;
    struct tide_span span = plan->spans[reference->symbol];
    if (!reference->all) {
      if (!tide_plan_element(plan, reference, errors, &span.first)) return false;
      span.count = 1;
    }
    for (uint32_t i = span.first; i < span.first + span.count; i++)
      if (!take_buffer(&t, i)) return false;
  }
  return true;
}
