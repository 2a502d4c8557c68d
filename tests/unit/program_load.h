/* What the tests of programs share: a text in, errors or steps out, as text. */
#ifndef TESTS_UNIT_PROGRAM_LOAD_H
#define TESTS_UNIT_PROGRAM_LOAD_H

#include "harness.h"
#include "tidemark/kernel.h"
#include "tidemark/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Five lines that most of the texts begin with. */
#define HEAD                                                                                       \
  "device c, d cpu\n"                                                                              \
  "queue q, r on c\n"                                                                              \
  "timeline a, b\n"                                                                                \
  "buffer m[4] 1K\n"                                                                               \
  "buffer n 64\n"

/* A body with each kind of parameter, beside the built-in ones. */
static enum tide_status do_nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_param every_params[] = {
    {"from", TIDE_PARAM_IN, false, 0},   {"to", TIDE_PARAM_OUT, false, 0},
    {"name", TIDE_PARAM_TEXT, false, 0}, {"size", TIDE_PARAM_INTEGER, true, -1},
    {"also", TIDE_PARAM_INOUT, true, 0},
};
static const struct tide_body own_bodies[] = {
    {{.name = "every", .host = do_nothing}, every_params, 5, "one of each"},
};

struct loaded {
  struct tide_program *program;
  struct tide_plan *plan;
  struct tide_diag diags[20];
  struct tide_report report;
  enum tide_status status;
};

static inline void load_with(struct loaded *l, const struct tide_allocator *allocator,
                             const char *text, size_t length, const struct tide_setting *settings,
                             size_t setting_count, uint64_t operations) {
  struct tide_body_set sets[2] = {{own_bodies, 1}, {NULL, 0}};
  sets[1].bodies = tide_kernel_bodies(&sets[1].count);
  *l = (struct loaded){.report = {NULL, 20, 0}};
  l->report.diags = l->diags;
  struct tide_program_params program = {
      .struct_size = sizeof program, .allocator = allocator, .text = text, .length = length};
  struct tide_plan_params plan = {
      .struct_size = sizeof plan, sets, 2, settings, setting_count, operations};
  l->status = tide_program_parse(&program, &l->report, &l->program);
  if (l->status == TIDE_OK) l->status = tide_plan_create(l->program, &plan, &l->report, &l->plan);
  CHECK((l->status == TIDE_OK) == (l->report.count == 0));
  CHECK((l->status == TIDE_OK) == (l->plan != NULL));
}

static inline void load(struct loaded *l, const char *text) {
  load_with(l, tide_allocator_system(), text, strlen(text), NULL, 0, 0);
}

static inline void unload(struct loaded *l) {
  tide_plan_destroy(l->plan);
  tide_program_destroy(l->program);
}

/* All errors, "line:column: message", one a line. */
static inline char *errors_of(const struct loaded *l, char *buffer, size_t size) {
  size_t used = 0;
  buffer[0] = 0;
  for (size_t i = 0; i < l->report.count && i < l->report.capacity && used < size; i++) {
    const struct tide_diag *d = &l->diags[i];
    used += (size_t)snprintf(buffer + used, size - used, "%s%u:%u: %s", i ? "\n" : "", d->line,
                             d->column, d->text);
  }
  return buffer;
}

/* All steps, one a line. */
static inline char *steps_of(struct tide_plan *plan) {
  size_t used = 0, size = 1 << 20;
  char *buffer = calloc(1, size);
  CHECK(buffer);
  for (;;) {
    struct tide_step step;
    CHECK_OK(tide_plan_next(plan, &step, NULL));
    if (step.kind == TIDE_STEP_END) return buffer;
    used += tide_step_print(plan, &step, buffer + used, size - used);
    CHECK(used + 2 < size);
    buffer[used++] = '\n';
  }
}

static inline void check_errors(const char *file, int line, const char *text, const char *want,
                                enum tide_status status) {
  static char buffer[8192];
  struct loaded l;
  load(&l, text);
  test_eq_str(file, line, "the errors", errors_of(&l, buffer, sizeof buffer), want);
  test_status(file, line, "the status", l.status, status);
  unload(&l);
}
/* The text gives exactly these errors. */
#define CHECK_ERRORS(text, status, want) check_errors(__FILE__, __LINE__, text, want, status)

static inline void check_steps(const char *file, int line, const char *text, const char *want) {
  static char buffer[8192];
  struct loaded l;
  load(&l, text);
  test_eq_str(file, line, "the errors", errors_of(&l, buffer, sizeof buffer), "");
  char *steps = steps_of(l.plan);
  test_eq_str(file, line, "the steps", steps, want);
  tide_plan_rewind(l.plan);
  char *again = steps_of(l.plan);
  test_eq_str(file, line, "the steps after a rewind", again, want);
  free(steps);
  free(again);
  unload(&l);
}
#define CHECK_STEPS(text, want) check_steps(__FILE__, __LINE__, text, want)

#endif
