/* The Vulkan device over a driver that executes nothing and judges every call.
 *
 * Random programs on several queues of several VkQueues, and on a CPU. Once they are over, each
 * operation must have started behind all that it waits for, directly or not, as the calls of the
 * driver order it: execution and memory. The driver refuses calls, or loses the device. */
#include "harness.h"

#include "vulkan_recorder.h"

#include "base/random.h"
#include "tidemark/tidemark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUES = 6, OPERATIONS = 60, WAITS = 3 };

/* Operations by number, from 0. `behind`: those that must be over before it starts, as bits. */
struct op {
  int queue;
  uint64_t value; /* of its queue's line */
  bool on_cpu;
  int wait_count, waits[WAITS];
  uint64_t behind;
};

static struct program {
  struct tide_random random;
  struct tide_context *context;
  struct tide_device *gpu, *cpu;
  int queue_count, count;
  bool on_cpu[QUEUES];
  struct tide_queue *queues[QUEUES];
  struct tide_timeline *lines[QUEUES];
  int last[QUEUES]; /* the queue's newest operation; -1: none */
  struct op ops[OPERATIONS];
} program;

_Static_assert(OPERATIONS <= 64, "sets of operations are words");

/* Threads decide which operation is wrong first, so the failure does not say. */
static void wrong(uint64_t seed, const char *what) {
  fprintf(stderr, "seed %llu, of %d operations\n", (unsigned long long)seed, program.count);
  FAIL("%s", what);
}

static uint64_t draw(uint64_t limit) { return tide_random_below(&program.random, limit); }

/* What an operation waits for on the CPU has ended when it is recorded, or runs there. */
static void check_cpu_waits(const struct op *op) {
  for (int i = 0; i < op->wait_count; i++) {
    const struct op *on = &program.ops[op->waits[i]];
    if (!on->on_cpu && !op->on_cpu) continue;
    if (tide_timeline_query(program.lines[on->queue]) < on->value)
      FAIL("operation %d goes before operation %d has ended", (int)(op - program.ops),
           (int)(on - program.ops));
  }
}

static enum tide_status record(const void *arguments, struct tide_device *gpu,
                               VkCommandBuffer commands) {
  (void)gpu;
  const struct op *op = *(const struct op *const *)arguments;
  check_cpu_waits(op);
  recorder_mark(commands, (uint32_t)(op - program.ops));
  return TIDE_OK;
}
static enum tide_status run(void *arguments) {
  check_cpu_waits(*(const struct op *const *)arguments);
  return TIDE_OK;
}
static const struct tide_vulkan_ops ops = {{TIDE_OPS_VULKAN}, record};
static const struct tide_body_class on_gpu = {.name = "mark", .ops = &ops.ops};
static const struct tide_body_class on_cpu = {.name = "look", .host = run};

/* ---- a program ------------------------------------------------------------------------ */

static void open_program(uint64_t seed, uint32_t vk_queues) {
  struct tide_vulkan_params params;
  struct recorder_params how = {.seed = seed,
                                .queue_count = vk_queues,
                                .ahead = (uint32_t)(1 + draw(8)),
                                .refuse = draw(4) ? 0 : 20,
                                .lose = draw(6) ? 0 : (uint32_t)(1 + draw(30)),
                                .silent = draw(2),
                                .die = draw(6) ? 0 : (uint32_t)(1 + draw(30))};
  recorder_open(&how, &params);
  CHECK_OK(tide_context_create(NULL, &program.context));
  CHECK_OK(tide_vulkan_open(program.context, &params, &program.gpu, NULL));
  CHECK_OK(tide_cpu_open(program.context, NULL, &program.cpu));
  program.queue_count = (int)(2 + draw(QUEUES - 1));
  for (int q = 0; q < program.queue_count; q++) {
    bool cpu = q == 0 && draw(2);
    struct tide_queue_params queue = {.struct_size = sizeof queue,
                                      .hardware_queue = cpu ? 0 : 1 + (uint32_t)(draw(vk_queues))};
    CHECK_OK(tide_queue_create(cpu ? program.cpu : program.gpu, &queue, &program.queues[q]));
    CHECK_OK(tide_timeline_create(program.context, NULL, &program.lines[q]));
    program.last[q] = -1;
    program.on_cpu[q] = cpu;
  }
}

/* Submits an operation that waits for a few earlier ones. False: the device is lost. */
static bool submit(void) {
  int number = program.count, queue = (int)draw((uint64_t)program.queue_count);
  struct op *op = &program.ops[number];
  struct tide_wait waits[WAITS];
  int last = program.last[queue];
  *op = (struct op){.queue = queue, .value = last < 0 ? 1 : program.ops[last].value + 1};
  op->on_cpu = program.on_cpu[queue];
  for (int i = 0; number && i < (int)draw(WAITS + 1); i++) {
    int on = (int)draw((uint64_t)number);
    waits[op->wait_count] =
        (struct tide_wait){program.lines[program.ops[on].queue], program.ops[on].value};
    op->waits[op->wait_count++] = on;
  }
  struct tide_signal signal = {.timeline = program.lines[queue], .value = op->value};
  bool empty = draw(8) == 0;
  struct tide_operation operation = {.body = empty        ? NULL
                                             : op->on_cpu ? &on_cpu
                                                          : &on_gpu,
                                     .waits = waits,
                                     .wait_count = (size_t)op->wait_count,
                                     .signals = &signal,
                                     .signal_count = 1,
                                     .arguments = &(const struct op *){op},
                                     .arguments_size = sizeof op};
  enum tide_status status = tide_queue_submit(program.queues[queue], &operation, NULL, NULL);
  if (status == TIDE_LOST) return false;
  CHECK_OK(status);
  program.last[queue] = number;
  program.count++;
  return true;
}

static uint64_t later(void) { return tide_after_ms(program.context, 20000 * test_slowdown()); }

/* Waits until the operation has ended, whether it succeeds or not. */
static void end_of(const struct op *op) {
  enum tide_status status = tide_timeline_wait(program.lines[op->queue], op->value, TIDE_FOREVER);
  CHECK(status == TIDE_OK || tide_timeline_status(program.lines[op->queue]) != TIDE_OK);
}

/* Fills in `behind`. A wait for a value that fails orders nothing: it may fail before the operation
 * that would have signalled it. */
static void order_operations(void) {
  int last[QUEUES];
  memset(last, -1, sizeof last);
  for (int i = 0; i < program.count; i++) {
    struct op *op = &program.ops[i];
    op->behind = last[op->queue] < 0 ? 0 : program.ops[last[op->queue]].behind;
    last[op->queue] = i;
    for (int k = 0; k < op->wait_count; k++) {
      const struct op *on = &program.ops[op->waits[k]];
      if (tide_timeline_query(program.lines[on->queue]) >= on->value)
        op->behind |= on->behind | UINT64_C(1) << op->waits[k];
    }
  }
}

/* Each submitted operation was behind all that it had to be behind. */
static void check_order(uint64_t seed) {
  for (int i = 0; i < program.count; i++) {
    struct recorder_submission own = recorder_find((uint32_t)i);
    for (int j = 0; own.number && j < program.count; j++) {
      struct recorder_submission on = recorder_find((uint32_t)j);
      if (!(program.ops[i].behind >> j & 1) || !on.number) continue;
      if (own.gate[on.queue] < on.number)
        wrong(seed, "an operation does not start behind one that it waits for");
    }
  }
}

/* A loss after the last end need not be noticed. */
static bool has_lost_operations(void) {
  for (int q = 0; q < program.queue_count; q++)
    if (tide_timeline_status(program.lines[q]) == TIDE_LOST) return true;
  return false;
}

static void close_program(uint64_t seed) {
  for (int q = 0; q < program.queue_count; q++) {
    int last = program.last[q];
    if (last >= 0) end_of(&program.ops[last]);
    CHECK_OK(tide_queue_drain(program.queues[q], later()));
  }
  if (has_lost_operations() && !recorder_is_idle())
    wrong(seed, "operations of a lost device end before it is idle");
  const char *fault = recorder_fault();
  if (fault) wrong(seed, fault);
  order_operations();
  check_order(seed);
  tide_context_destroy(program.context);
  fault = recorder_close();
  if (fault) wrong(seed, fault);
}

static void try_seed(uint64_t seed) {
  program.random.state = seed;
  program.count = 0;
  open_program(seed, (uint32_t)(1 + draw(RECORDER_QUEUES)));
  while (program.count < OPERATIONS && submit()) {
    if (draw(8)) continue;
    const struct op *op = &program.ops[draw((uint64_t)program.count)];
    end_of(op);
  }
  close_program(seed);
}

TEST(calls_of_the_driver) {
  const char *seed = getenv("SEED");
  uint64_t seeds = test_slowdown() > 3 ? 100 : 1000;
  if (seed) try_seed(strtoull(seed, NULL, 10));
  for (uint64_t i = 1; !seed && i <= seeds; i++) try_seed(i);
}

TEST_MAIN(CASE_SECONDS(calls_of_the_driver, 300))
