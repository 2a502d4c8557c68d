/* The Vulkan device over a driver that executes nothing and judges every call.
 *
 * Random programs on several queues of several VkQueues, and on a CPU. Once they are over, each
 * operation must have started behind all that it waits for, directly or not, as the calls of the
 * driver order it: execution and memory. The driver refuses calls, or loses the device: at random,
 * and at every call of small programs. */
#include "harness.h"

#include "vulkan_recorder.h"

#include "base/random.h"
#include "tidemark/tidemark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUES = 6, OPERATIONS = 60, FEW_OPERATIONS = 8, WAITS = 3 };

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
  uint64_t seed;
  int queue_count, count, most;
  bool has_cpu;
  bool on_cpu[QUEUES];
  struct tide_queue *queues[QUEUES];
  struct tide_timeline *lines[QUEUES];
  int last[QUEUES]; /* the queue's newest operation; -1: none */
  struct op ops[OPERATIONS];
} program;

_Static_assert(OPERATIONS <= 64, "sets of operations are words");

/* Threads decide which operation is wrong first, so the failure does not say. */
static void wrong(const char *what) {
  fprintf(stderr, "seed %llu, of %d operations\n", (unsigned long long)program.seed, program.count);
  FAIL("%s", what);
}

static uint64_t draw(uint64_t limit) { return tide_random_below(&program.random, limit); }

/* What an operation waits for on the CPU has ended when it is recorded, or runs there. */
static void check_cpu_waits(const struct op *op) {
  for (int i = 0; i < op->wait_count; i++) {
    const struct op *on = &program.ops[op->waits[i]];
    if (!on->on_cpu && !op->on_cpu) continue;
    if (tide_timeline_query(program.lines[on->queue]) < on->value)
      wrong("an operation goes before one of the CPU that it waits for");
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

/* False: the driver refused, and the reason was given. */
static bool open_device(const struct recorder_params *how) {
  struct tide_vulkan_params params;
  struct tide_diag diag = {.text = ""};
  recorder_open(how, &params);
  CHECK_OK(tide_context_create(NULL, &program.context));
  enum tide_status status = tide_vulkan_open(program.context, &params, &program.gpu, &diag);
  if (status == TIDE_OK) return true;
  if (!strstr(diag.text, "ing ") || !strstr(diag.text, ": the Vulkan driver answers "))
    wrong("a device that cannot be opened does not say why");
  if (status != TIDE_NOMEM && status != TIDE_FAILED)
    wrong("a device that cannot be opened gives another error");
  return false;
}

static void make_queues(uint32_t vk_queues) {
  CHECK_OK(tide_cpu_open(program.context, NULL, &program.cpu));
  program.queue_count = (int)(2 + draw(QUEUES - 1));
  for (int q = 0; q < program.queue_count; q++) {
    bool cpu = q == 0 && program.has_cpu;
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
static void check_order(void) {
  for (int i = 0; i < program.count; i++) {
    struct recorder_submission own = recorder_find((uint32_t)i);
    for (int j = 0; own.number && j < program.count; j++) {
      struct recorder_submission on = recorder_find((uint32_t)j);
      if (!(program.ops[i].behind >> j & 1) || !on.number) continue;
      if (own.gate[on.queue] < on.number)
        wrong("an operation does not start behind one that it waits for");
    }
  }
}

/* A loss after the last end need not be noticed. */
static bool has_failed_operations(enum tide_status with) {
  for (int q = 0; q < program.queue_count; q++)
    if (tide_timeline_status(program.lines[q]) == with) return true;
  return false;
}

/* The rarest judgement comes first: others may depend on the times of threads. */
static void end_program(const struct recorder_params *how,
                        void (*check)(const struct recorder_params *how)) {
  for (int q = 0; q < program.queue_count; q++) {
    int last = program.last[q];
    if (last >= 0) end_of(&program.ops[last]);
    CHECK_OK(tide_queue_drain(program.queues[q], later()));
  }
  if (has_failed_operations(TIDE_LOST) && !recorder_is_idle())
    wrong("operations of a lost device end before it is idle");
  if (check) check(how);
  if (recorder_fault()) wrong(recorder_fault());
  order_operations();
  check_order();
}

static void close_program(void) {
  tide_context_destroy(program.context);
  const char *fault = recorder_close();
  if (fault) wrong(fault);
}

static void begin_program(uint64_t seed, int most) {
  program.random.state = program.seed = seed;
  program.count = program.queue_count = 0;
  program.most = most;
}

/* Runs a program; `check` sees its end. */
static void run_program(const struct recorder_params *how,
                        void (*check)(const struct recorder_params *how)) {
  if (open_device(how)) {
    make_queues(how->queue_count);
    while (program.count < program.most && submit()) {
      if (draw(8)) continue;
      const struct op *op = &program.ops[draw((uint64_t)program.count)];
      end_of(op);
    }
    end_program(how, check);
  }
  close_program();
}

/* ---- calls that fail at random -------------------------------------------------------------- */

/* One or two families; at least one has all VkQueues that are asked for, and computes. */
static struct recorder_machine draw_machine(uint32_t queues) {
  struct recorder_machine machine = {.flags = {VK_QUEUE_TRANSFER_BIT, 0}};
  uint32_t families = (uint32_t)(1 + draw(RECORDER_FAMILIES)), enough = (uint32_t)draw(families);
  for (uint32_t i = 0; i < families; i++) {
    bool computes = i == enough || draw(2);
    machine.flags[i] = VK_QUEUE_TRANSFER_BIT | (computes ? VK_QUEUE_COMPUTE_BIT : 0u) |
                       (draw(2) ? VK_QUEUE_GRAPHICS_BIT : 0u);
    machine.queues[i] = i == enough ? queues + (uint32_t)draw(3) : 1 + (uint32_t)draw(4);
  }
  return machine;
}

static void try_seed(uint64_t seed, enum recorder_way way) {
  begin_program(seed, OPERATIONS);
  struct recorder_params how = {.seed = seed,
                                .queue_count = (uint32_t)(1 + draw(RECORDER_QUEUES)),
                                .ahead = (uint32_t)(1 + draw(8)),
                                .refuse = draw(4) ? 0 : 20,
                                .fail_at = draw(6) ? 0 : 1 + draw(200),
                                .fail_with = VK_ERROR_DEVICE_LOST,
                                .silence = (enum recorder_silence)draw(RECORDER_SILENCES),
                                .die = draw(6) ? 0 : (uint32_t)(1 + draw(30))};
  program.has_cpu = draw(2);
  how.way = way;
  if (way != RECORDER_ADOPTED) how.machine = draw_machine(how.queue_count);
  run_program(&how, NULL);
}

/* $SEED: one program. */
static void try_seeds(enum recorder_way way, uint64_t seeds) {
  const char *seed = getenv("SEED");
  if (seed) try_seed(strtoull(seed, NULL, 10), way);
  for (uint64_t i = 1; !seed && i <= seeds; i++) try_seed(i, way);
}

TEST(calls_of_the_driver) {
  try_seeds(RECORDER_ADOPTED, test_slowdown() > 3 ? 100 : 800);
  try_seeds(RECORDER_BY_NAME, test_slowdown() > 3 ? 50 : 200);
}

TEST(through_the_loader) {
  const char *reason = recorder_find_loader();
  if (reason) SKIP("%s", reason);
  try_seeds(RECORDER_BY_LOADER, test_slowdown() > 3 ? 30 : 200);
}

/* ---- every call fails ------------------------------------------------------------------------ */

/* Returns the status of operations that fail because of the call. TIDE_OK: it fails none. */
static enum tide_status expected_status(const struct recorder_params *how) {
  enum recorder_call call = recorder_failed();
  if (call == RECORDER_NONE) return TIDE_OK;
  if (how->fail_with == VK_ERROR_DEVICE_LOST) return TIDE_LOST;
  if (call == RECORDER_ASK || call >= RECORDER_LISTEN) return TIDE_OK;
  /* Nothing is known of the batches of such a call. */
  if (how->fail_with == VK_ERROR_UNKNOWN && call == RECORDER_SUBMIT) return TIDE_LOST;
  return how->fail_with == VK_ERROR_UNKNOWN ? TIDE_FAILED : TIDE_NOMEM;
}

static void check_failure(const struct recorder_params *how, const struct tide_failure *failure) {
  bool is_loss = how->die && failure->code == (int32_t)VK_ERROR_DEVICE_LOST;
  bool is_known = is_loss || failure->code == (int32_t)how->fail_with;
  if (!is_known || !strstr(failure->text, "the Vulkan driver answers"))
    wrong("an operation fails without the driver's answer");
}

/* A call fails the operations that it must, and no others. */
static void check_statuses(const struct recorder_params *how) {
  enum tide_status expected = expected_status(how);
  for (int q = 0; q < program.queue_count; q++) {
    struct tide_failure failure;
    enum tide_status status = tide_timeline_status(program.lines[q]);
    bool may_be = status == TIDE_OK || status == expected || (how->die && status == TIDE_LOST);
    if (!may_be) wrong("an operation fails with another error");
    if (status == TIDE_OK || program.last[q] < 0) continue;
    if (tide_timeline_failure(program.lines[q], program.ops[program.last[q]].value, &failure))
      check_failure(how, &failure);
  }
  bool needs_one = expected != TIDE_OK && expected != TIDE_LOST && !how->die;
  if (needs_one && !has_failed_operations(expected)) wrong("a call fails, and no operation");
}

/* Runs a small program again and again: its first call fails, its second one … Threads decide how
 * many calls it has. `die`: the device is lost besides. */
static void fail_each_call(uint64_t seed, VkResult with, enum recorder_silence silence,
                           uint32_t die) {
  for (uint64_t n = 1;; n++) {
    begin_program(seed, FEW_OPERATIONS);
    struct recorder_params how = {.seed = seed,
                                  .queue_count = (uint32_t)(1 + draw(3)),
                                  .ahead = (uint32_t)(1 + draw(3)),
                                  .fail_at = n,
                                  .fail_with = with,
                                  .silence = silence,
                                  .die = die,
                                  .way = seed % 2 ? RECORDER_ADOPTED : RECORDER_BY_NAME};
    program.has_cpu = draw(2);
    run_program(&how, check_statuses);
    if (recorder_failed() == RECORDER_NONE) return;
  }
}

TEST(each_call_fails) {
  static const VkResult errors[] = {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY,
                                    VK_ERROR_UNKNOWN};
  uint64_t seeds = test_slowdown() > 3 ? 1 : 8;
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    for (uint64_t i = 0; i < 3; i++) {
      fail_each_call(seed, errors[i], RECORDER_SAYS, 0);
      fail_each_call(seed, errors[i], RECORDER_SAYS, 1 + (uint32_t)(seed % 4));
    }
    for (int silence = 0; silence < RECORDER_SILENCES; silence++)
      fail_each_call(seed, VK_ERROR_DEVICE_LOST, (enum recorder_silence)silence, 0);
  }
}

TEST_MAIN(CASE_SECONDS(calls_of_the_driver, 300), CASE_SECONDS(through_the_loader, 300),
          CASE_SECONDS(each_call_fails, 300))
