/* Program texts: any bytes are refused with an error, or give a plan whose steps come out
 * the same twice, and a layout that parses to the same steps and does not change any more. And what
 * a plan promises, a simulation keeps: it comes to its end, and no operation is lost. */
#include "tidemark/kernel.h"
#include "tidemark/program.h"
#include "tidemark/sim.h"

#include <stdlib.h>

#define OPERATIONS_MAX 5000

static void expect(bool holds) {
  if (!holds) abort();
}

static struct tide_program *parse(const char *text, size_t length, bool syntax_only) {
  struct tide_diag diags[3];
  struct tide_report report = {diags, 3, 0};
  struct tide_program *program;
  struct tide_program_params params = {.struct_size = sizeof params,
                                       .allocator = tide_allocator_system(),
                                       .text = text,
                                       .length = length,
                                       .syntax_only = syntax_only};
  enum tide_status status = tide_program_parse(&params, &report, &program);
  expect((status == TIDE_OK) == (report.count == 0));
  expect((status == TIDE_OK) == (program != NULL));
  return program;
}

static struct tide_plan *plan(const struct tide_program *program) {
  struct tide_diag diags[3];
  struct tide_report report = {diags, 3, 0};
  struct tide_body_set set = {NULL, 0};
  set.bodies = tide_kernel_bodies(&set.count);
  struct tide_plan_params params = {.struct_size = sizeof params, &set, 1, NULL, 0, OPERATIONS_MAX};
  struct tide_plan *result;
  enum tide_status status = tide_plan_create(program, &params, &report, &result);
  expect((status == TIDE_OK) == (report.count == 0));
  expect((status == TIDE_OK) == (result != NULL));
  return result;
}

/* A digest of all steps, and their number. */
static uint64_t walk(struct tide_plan *plan) {
  char line[512];
  struct tide_step step;
  uint64_t digest = 0, count = 0;
  tide_plan_rewind(plan);
  for (;; count++) {
    expect(tide_plan_next(plan, &step, NULL) == TIDE_OK);
    if (step.kind == TIDE_STEP_END) break;
    expect(step.line > 0 && step.column > 0);
    tide_step_print(plan, &step, line, sizeof line);
    for (const char *c = line; *c; c++) digest = (digest ^ (unsigned char)*c) * 0x100000001b3u;
  }
  expect(count == tide_plan_tables(plan)->steps);
  return digest;
}

/* The layout of a program that can be read; freed by the caller. */
static char *format(const struct tide_program *program, size_t *out_length) {
  *out_length = tide_program_format(program, NULL, 0);
  char *text = malloc(*out_length + 1);
  expect(text != NULL);
  expect(tide_program_format(program, text, *out_length + 1) == *out_length);
  return text;
}

static void check_format(const struct tide_program *program, struct tide_plan *plan_before) {
  size_t length, again_length;
  char *text = format(program, &length);
  struct tide_program *second = parse(text, length, plan_before == NULL);
  expect(second != NULL);
  char *again = format(second, &again_length);
  expect(again_length == length);
  for (size_t i = 0; i < length; i++) expect(text[i] == again[i]);
  if (plan_before) {
    struct tide_plan *plan_after = plan(second);
    expect(plan_after != NULL);
    expect(walk(plan_after) == walk(plan_before));
    tide_plan_destroy(plan_after);
  }
  tide_program_destroy(second);
  free(again);
  free(text);
}

/* Queues that a program makes too small, and memory that it has too little of, are its own affair;
 * so are kinds and options of devices that nobody knows. */
static void simulate(struct tide_plan *plan, enum tide_run_mode mode) {
  const struct tide_plan_tables *tables = tide_plan_tables(plan);
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_simulation *simulation;
  struct tide_simulation_params params = {.struct_size = sizeof params,
                                          .plan = plan,
                                          .mode = mode,
                                          .cost = 100,
                                          .wait_cost = 7,
                                          .latencies = {1, 20, 300},
                                          .frontier = 8};
  if (tables->queue_count + tables->device_count + tables->timeline_count > 300 ||
      tables->buffer_count > 2000 || tables->operations > 1000)
    return;
  enum tide_status status = tide_simulate(&params, &diag, &simulation);
  expect(status == TIDE_OK || diag.text[0]);
  if (status == TIDE_OK) {
    const struct tide_simulation_result *r = tide_simulation_result(simulation);
    expect(r->operations == tables->operations);
    expect(r->path.bodies + r->path.waits + r->path.latency + r->path.hands + r->path.others ==
           r->makespan);
    expect(r->longest_chain <= r->makespan);
  }
  tide_simulation_destroy(simulation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tide_program *program = parse((const char *)data, size, true);
  if (program) check_format(program, NULL);
  tide_program_destroy(program);
  program = parse((const char *)data, size, false);
  struct tide_plan *result = program ? plan(program) : NULL;
  if (result) {
    expect(walk(result) == walk(result));
    check_format(program, result);
    simulate(result, TIDE_RUN_TRACKED);
    simulate(result, TIDE_RUN_EVENTS);
  }
  tide_plan_destroy(result);
  tide_program_destroy(program);
  return 0;
}
