#include "program/plan.h"
#include "base/alloc.h"

/* Allocates the arrays that are indexed by symbol or statement. */
static bool make_values(struct tide_plan *plan, struct tide_errors *errors) {
  const struct tide_program *program = plan->program;
  const struct tide_allocator *allocator = plan->allocator;
  plan->values = tide_alloc(allocator, program->symbol_count, sizeof *plan->values);
  plan->texts = tide_alloc(allocator, program->symbol_count, sizeof *plan->texts);
  plan->spans = tide_alloc(allocator, program->symbol_count, sizeof *plan->spans);
  plan->bindings = tide_alloc(allocator, program->statement_count, sizeof *plan->bindings);
  plan->complained = tide_alloc(allocator, program->statement_count, sizeof *plan->complained);
  return (plan->values && plan->texts && plan->spans && plan->bindings && plan->complained) ||
         tide_error_no_memory(errors);
}

static bool make_state(struct tide_plan *plan, struct tide_errors *errors) {
  plan->lives = tide_alloc(plan->allocator, plan->tables.buffer_count, sizeof *plan->lives);
  plan->instances =
      tide_alloc(plan->allocator, plan->tables.collective_count, sizeof *plan->instances);
  plan->writes = tide_alloc(plan->allocator, plan->tables.buffer_count, sizeof *plan->writes);
  plan->taken = tide_alloc(plan->allocator, plan->tables.queue_count, sizeof *plan->taken);
  return (plan->lives && plan->instances && plan->writes && plan->taken) ||
         tide_error_no_memory(errors);
}

static void make_plan(struct tide_plan *plan, const struct tide_plan_params *params,
                      struct tide_errors *errors) {
  plan->operations_max = params->operations ? params->operations : TIDE_PLAN_OPERATIONS;
  if (plan->operations_max > INT64_MAX / 8) plan->operations_max = INT64_MAX / 8;
  if (!plan->program->resolved) {
    tide_error(errors, TIDE_INVALID, 0, 0, "the program was read for its syntax only");
    return;
  }
  if (!make_values(plan, errors)) return;
  if (!tide_plan_declare(plan, params->settings, params->setting_count, errors)) return;
  if (!make_state(plan, errors)) return;
  if (!tide_plan_bind(plan, params->bodies, params->body_set_count, errors)) return;
  tide_plan_rewind(plan);
  if (tide_plan_check(plan, params, errors)) tide_plan_rewind(plan);
}

enum tide_status tide_plan_create(const struct tide_program *program,
                                  const struct tide_plan_params *params, struct tide_report *report,
                                  struct tide_plan **out_plan) {
  struct tide_plan_params own;
  struct tide_errors errors;
  *out_plan = NULL;
  if (!tide_errors_begin(&errors, report, &own, sizeof own, params, "tide_plan_params"))
    return errors.status;
  params = &own;
  struct tide_plan *plan = tide_alloc(program->allocator, 1, sizeof *plan);
  if (!plan) {
    tide_error_no_memory(&errors);
    return errors.status;
  }
  plan->program = program;
  plan->allocator = program->allocator;
  tide_arena_init(&plan->arena, plan->allocator);
  make_plan(plan, params, &errors);
  if (errors.count) {
    tide_plan_destroy(plan);
    return errors.status;
  }
  *out_plan = plan;
  return TIDE_OK;
}

void tide_plan_destroy(struct tide_plan *plan) {
  if (!plan) return;
  const struct tide_allocator *a = plan->allocator;
  const struct tide_program *program = plan->program;
  tide_free(a, plan->values, program->symbol_count, sizeof *plan->values);
  tide_free(a, plan->texts, program->symbol_count, sizeof *plan->texts);
  tide_free(a, plan->spans, program->symbol_count, sizeof *plan->spans);
  tide_free(a, plan->bindings, program->statement_count, sizeof *plan->bindings);
  tide_free(a, plan->complained, program->statement_count, sizeof *plan->complained);
  tide_free(a, plan->lives, plan->tables.buffer_count, sizeof *plan->lives);
  tide_free(a, plan->instances, plan->tables.collective_count, sizeof *plan->instances);
  for (size_t i = 0; plan->writes && i < plan->tables.buffer_count; i++)
    tide_free(a, plan->writes[i], 1, sizeof *plan->writes[i]);
  tide_free(a, plan->writes, plan->tables.buffer_count, sizeof *plan->writes);
  tide_free(a, plan->taken, plan->tables.queue_count, sizeof *plan->taken);
  tide_free(a, plan->taking.pieces, plan->taking.piece_capacity, sizeof *plan->taking.pieces);
  tide_free(a, plan->taking.tags.items, plan->taking.tags.capacity,
            sizeof *plan->taking.tags.items);
  tide_free(a, plan->devices, plan->device_capacity, sizeof *plan->devices);
  tide_free(a, plan->queues, plan->queue_capacity, sizeof *plan->queues);
  tide_free(a, plan->timelines, plan->timeline_capacity, sizeof *plan->timelines);
  tide_free(a, plan->buffers, plan->buffer_capacity, sizeof *plan->buffers);
  tide_free(a, plan->files, plan->file_capacity, sizeof *plan->files);
  tide_free(a, plan->collectives, plan->collective_capacity, sizeof *plan->collectives);
  tide_free(a, plan->interned, plan->interned_capacity, sizeof *plan->interned);
  tide_free(a, plan->expanded, plan->expanded_capacity, sizeof *plan->expanded);
  tide_free(a, plan->waits.items, plan->waits.capacity, sizeof *plan->waits.items);
  tide_free(a, plan->signals.items, plan->signals.capacity, sizeof *plan->signals.items);
  tide_arena_fini(&plan->arena);
  tide_free(a, plan, 1, sizeof *plan);
}

const struct tide_plan_tables *tide_plan_tables(const struct tide_plan *plan) {
  return &plan->tables;
}

void tide_plan_rewind(struct tide_plan *plan) {
  struct tide_cursor *cursor = &plan->cursor;
  memset(cursor, 0, sizeof *cursor);
  memset(plan->lives, 0, plan->tables.buffer_count * sizeof *plan->lives);
  memset(plan->instances, 0, plan->tables.collective_count * sizeof *plan->instances);
  memset(plan->taken, 0, plan->tables.queue_count * sizeof *plan->taken);
  for (size_t i = 0; i < plan->tables.buffer_count; i++)
    if (plan->writes[i]) plan->writes[i]->count = plan->writes[i]->lost = 0;
  cursor->frames[0].at = plan->program->statements;
  cursor->depth = 1;
}

enum tide_status tide_plan_next(struct tide_plan *plan, struct tide_step *out_step,
                                struct tide_diag *diag) {
  struct tide_report report = {.diags = diag, .capacity = diag != NULL};
  struct tide_errors errors = {.report = &report};
  if (tide_plan_advance(plan, out_step, &errors)) return TIDE_OK;
  plan->cursor.ended = true;
  return errors.status;
}
