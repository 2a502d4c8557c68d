/* Programs of more and more operations: what parsing, planning, counting and submitting ask the
 * allocator for grows as they do. */
#include "harness.h"
#include "meter.h"
#include "tidemark/cpu.h"
#include "tidemark/kernel.h"
#include "tidemark/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum step { PARSE, PLAN, COUNT, SUBMIT, STEPS };
static const char *const step_names[STEPS] = {"parse", "plan", "count", "submit"};

struct work {
  uint64_t allocations[STEPS], bytes[STEPS];
};

static struct meter meter;
static const struct tide_allocator allocator = {meter_alloc, meter_free, &meter};

static enum tide_status open_cpu(void *self, const struct tide_device_request *request,
                                 struct tide_device **out_device, struct tide_diag *diag) {
  (void)self, (void)diag;
  return tide_cpu_open(request->context, TIDE_PARAMS(tide_cpu_params, .workers = 1), out_device);
}
static const struct tide_device_kind cpu = {.name = "cpu", .in_order = true, .open = open_cpu};

static const char head[] = "device d cpu\nqueue q[4] on d\ntimeline t[4]\n"
                           "buffer b[4] 64\nscratch s[4] 64\n";

/* A text with `count` operations. */
typedef void (*write_lines)(FILE *to, unsigned count);

static void write_nops(FILE *to, unsigned count) {
  for (unsigned i = 0; i < count; i++) fprintf(to, "q[%u]: nop\n", i % 4);
}
static void write_loop(FILE *to, unsigned count) {
  fprintf(to,
          "for i in 0..%u {\n"
          "  for j in 0..4 {\n"
          "    q[j]: fill b[j] wait t[(j+1)%%4] >= i signal t[j] = i+1 label \"turn {i}\"\n"
          "  }\n"
          "}\n",
          count / 4);
}
static void write_scratch(FILE *to, unsigned count) {
  for (unsigned i = 0; i < count / 2; i++)
    fprintf(to,
            "q[0]: alloc s[%u]\nq[0]: fill s[%u] signal t[0] = %u\n"
            "q[1]: fill s[%u] wait t[0] >= %u\nq[1]: free s[%u]\n",
            i % 4, i % 4, i + 1, i % 4, i + 1, i % 4);
}

static void note(struct work *work, enum step step) {
  static uint64_t asked, total;
  if (step < STEPS) {
    work->allocations[step] = meter.asked - asked;
    work->bytes[step] = meter.total - total;
  }
  asked = meter.asked;
  total = meter.total;
}

static void submit(struct tide_plan *plan) {
  struct tide_run *run;
  struct tide_run_result result;
  struct tide_run_params params = {.struct_size = sizeof params,
                                   .allocator = &allocator,
                                   .plan = plan,
                                   .kinds = &cpu,
                                   .kind_count = 1,
                                   .submit_only = true};
  CHECK_OK(tide_run_create(&params, NULL, &run));
  CHECK_OK(tide_run_execute(run, &result, NULL));
  tide_run_destroy(run);
}

static void measure(write_lines write, unsigned count, struct work *work) {
  char *text;
  size_t length;
  FILE *to = open_memstream(&text, &length);
  CHECK(to != NULL);
  fputs(head, to);
  write(to, count);
  CHECK(fclose(to) == 0);
  struct tide_program *program;
  struct tide_plan *plan;
  struct tide_plan_counts counts;
  struct tide_body_set set;
  set.bodies = tide_kernel_bodies(&set.count);
  meter = (struct meter){.asked = 0};
  note(work, STEPS);
  CHECK_OK(tide_program_parse(
      TIDE_PARAMS(tide_program_params, .allocator = &allocator, .text = text, .length = length),
      NULL, &program));
  note(work, PARSE);
  CHECK_OK(tide_plan_create(
      program, TIDE_PARAMS(tide_plan_params, .bodies = &set, .body_set_count = 1), NULL, &plan));
  CHECK_EQ_U64(tide_plan_tables(plan)->operations, count);
  note(work, PLAN);
  CHECK_OK(tide_plan_count(plan, &cpu, 1, &allocator, &counts, NULL));
  note(work, COUNT);
  submit(plan);
  note(work, SUBMIT);
  tide_plan_destroy(plan);
  tide_program_destroy(program);
  CHECK_EQ_U64((uint64_t)meter.out, 0);
  free(text);
}

/* Twice the operations cost at most twice as much, and the fixed part. Arrays double: so do these
 * counts. */
static void check_linear(write_lines write, uint64_t most_bytes) {
  enum { COUNT_OF_SIZES = 4, FIRST = 1000, FIXED = 4096 };
  struct work work[COUNT_OF_SIZES];
  for (unsigned i = 0; i < COUNT_OF_SIZES; i++) measure(write, FIRST << i, &work[i]);
  for (unsigned i = 1; i < COUNT_OF_SIZES; i++) {
    for (int step = 0; step < STEPS; step++) {
      uint64_t allocations = work[i].allocations[step], bytes = work[i].bytes[step];
      if (allocations > 2 * work[i - 1].allocations[step] + 8 ||
          bytes > 2 * work[i - 1].bytes[step] + FIXED)
        FAIL("%s of %d operations: %llu allocations of %llu bytes, after %llu of %llu for half",
             step_names[step], FIRST << i, (unsigned long long)allocations,
             (unsigned long long)bytes, (unsigned long long)work[i - 1].allocations[step],
             (unsigned long long)work[i - 1].bytes[step]);
    }
  }
  const struct work *most = &work[COUNT_OF_SIZES - 1], *half = most - 1;
  uint64_t more = FIRST << (COUNT_OF_SIZES - 2);
  uint64_t each = (most->bytes[SUBMIT] - half->bytes[SUBMIT]) / more;
  if (each > most_bytes)
    FAIL("to submit takes %llu bytes an operation, more than %llu", (unsigned long long)each,
         (unsigned long long)most_bytes);
}

TEST(operations_without_anything) { check_linear(write_nops, 800); }
TEST(waits_and_signals_in_a_loop) { check_linear(write_loop, 1100); }
TEST(scratch_buffers) { check_linear(write_scratch, 1550); }

TEST_MAIN(CASE(operations_without_anything), CASE(waits_and_signals_in_a_loop),
          CASE(scratch_buffers))
