/* The costs of a program before its first operation starts, and of the run: programs of more and
 * more operations, each a line of the text. Linear work has the same figure in every row. */
#include "bench.h"

#include "tidemark/kernel.h"
#include "tidemark/run.h"
#include "tidemark/tidemark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUES 4
#define LINE 64

enum value { PARSE, PLAN, COUNT, TRY, RUN };

struct job {
  uint32_t operations;
  char *text;
  struct tide_program *program;
  struct tide_plan *plan;
};

static const uint32_t sizes[] = {1000, 6400, 64000};

/* Writes line `i` of a program; returns its length. */
typedef int (*write_line)(char *at, uint32_t i);

static int write_nop(char *at, uint32_t i) { return sprintf(at, "q[%u]: nop\n", i % QUEUES); }

/* Waits for the turn before, of the next queue, and uses a buffer. */
static int write_fill(char *at, uint32_t i) {
  unsigned q = i % QUEUES, turn = i / QUEUES;
  return sprintf(at, "q[%u]: fill b[%u] wait t[%u] >= %u signal t[%u] = %u\n", q, q,
                 (q + 1) % QUEUES, turn, q, turn + 1);
}

static void write_text(struct job *job, write_line line) {
  job->text = malloc((size_t)job->operations * LINE + 256);
  if (!job->text) bench_wrong("memory");
  char *at = job->text;
  at += sprintf(at, "device d cpu\nqueue q[%d] on d\ntimeline t[%d]\nbuffer b[%d] 64\n", QUEUES,
                QUEUES, QUEUES);
  for (uint32_t i = 0; i < job->operations; i++) at += line(at, i);
}

static enum tide_status open_cpu(void *self, const struct tide_device_request *request,
                                 struct tide_device **out_device, struct tide_diag *diag) {
  (void)self, (void)diag;
  return tide_cpu_open(request->context, TIDE_PARAMS(tide_cpu_params, .workers = 1), out_device);
}
static const struct tide_device_kind kinds[] = {{.name = "cpu", .open = open_cpu}};

static void parse(struct job *job) {
  struct tide_program_params params = {.struct_size = sizeof params,
                                       .allocator = tide_allocator_system(),
                                       .text = job->text,
                                       .length = strlen(job->text)};
  BENCH_CHECK(tide_program_parse(&params, NULL, &job->program) == TIDE_OK);
}

static void plan(struct job *job) {
  struct tide_body_set set;
  set.bodies = tide_kernel_bodies(&set.count);
  struct tide_plan_params params = {
      .struct_size = sizeof params, .bodies = &set, .body_set_count = 1};
  BENCH_CHECK(tide_plan_create(job->program, &params, NULL, &job->plan) == TIDE_OK);
}

static void count(struct job *job) {
  struct tide_plan_counts counts;
  BENCH_CHECK(tide_plan_count(job->plan, kinds, 1, tide_allocator_system(), &counts, NULL) ==
              TIDE_OK);
}

/* Submits everything; `submit_only`: and starts nothing, as the tool does to count waits. */
static void run(struct job *job, bool submit_only) {
  struct tide_run *made;
  struct tide_run_result result;
  struct tide_run_params params = {.struct_size = sizeof params,
                                   .plan = job->plan,
                                   .kinds = kinds,
                                   .kind_count = 1,
                                   .paused = submit_only,
                                   .submit_only = submit_only};
  BENCH_CHECK(tide_run_create(&params, NULL, &made) == TIDE_OK);
  BENCH_CHECK(tide_run_execute(made, &result, NULL) == TIDE_OK);
  tide_run_destroy(made);
}

static const char *measure(const void *what, unsigned side, double *out_values) {
  struct job job = {.operations = sizes[side]};
  if (bench_smoke()) job.operations /= 10;
  write_text(&job, *(const write_line *)what);
  uint64_t times[] = {bench_now(), 0, 0, 0, 0, 0};
  parse(&job);
  times[PARSE + 1] = bench_now();
  plan(&job);
  times[PLAN + 1] = bench_now();
  count(&job);
  times[COUNT + 1] = bench_now();
  run(&job, true);
  times[TRY + 1] = bench_now();
  run(&job, false);
  times[RUN + 1] = bench_now();
  for (int i = PARSE; i <= RUN; i++)
    out_values[i] = (double)(times[i + 1] - times[i]) / job.operations;
  tide_plan_destroy(job.plan);
  tide_program_destroy(job.program);
  free(job.text);
  return NULL;
}

static const write_line nop = write_nop, fill = write_fill;

#define FIGURE(label, line)                                                                        \
  {.name = label,                                                                                  \
   .contest =                                                                                      \
       &(const struct bench_contest){.sides = {"1000 operations", "6400", "64 000"},               \
                                     .values = {{"parse", "ns", BENCH_LESS},                       \
                                                {"plan", "ns", BENCH_LESS},                        \
                                                {"count the waits", "ns", BENCH_LESS},             \
                                                {"submit without a start", "ns", BENCH_LESS},      \
                                                {"run", "ns", BENCH_LESS}},                        \
                                     .measure = measure,                                           \
                                     .what = &line}},

/* clang-format off */
const struct bench_figure bench_planning[] = {FIGURE("an_operation", nop)
                                              FIGURE("an_operation_that_waits", fill){0}};
