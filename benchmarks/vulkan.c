/* The cost of order on the system's Vulkan driver: of the driver alone, and on Tidemark's device.
 *
 * Floors: a chain of dispatches by hand, whose commands were recorded before. Graphs: the commands
 * are recorded, too, and all sides record the same dispatches. In a chain each operation waits for
 * the one before it; in a DAG for up to two of the last LATEST. By hand, one thread has as few
 * barriers as possible, and awaits ends half a ring at a time, as an application with several
 * frames in flight. */
#include "bench.h"

#include "driver/device_queues.h"

#include <sched.h>
#include <stdlib.h>

enum { COUNT = HAND_COMMANDS, FEW = 100, RING = 64, LATEST = 16, SMALL = 16, LONG = 25000 };

static uint32_t operations(void) { return bench_smoke() ? FEW : COUNT; }

/* Steps of a dispatch of one group that takes LONG ns behind a barrier. */
static uint32_t long_steps;

struct shape {
  bool is_dag, is_long;
  uint32_t groups;
};

static uint32_t steps_of(const struct shape *shape) { return shape->is_long ? long_steps : SMALL; }

/* ---- floors: the driver alone ------------------------------------------------------------ */

enum floor { BARRIERS, NATIVE_WAITS, HOST_WAITS, ONE_BUFFER };

/* A dispatch that depends on the one before it. */
static void put_link(VkCommandBuffer commands, uint32_t i, uint32_t groups, uint32_t steps,
                     bool barrier) {
  struct hand_steps dispatch = {i, i - 1, i - 1, steps, groups};
  if (barrier) hand_barrier(commands);
  hand_dispatch(commands, &dispatch);
}

static void record_floor(enum floor floor, uint32_t count, uint32_t groups, uint32_t steps) {
  for (uint32_t i = 1; i <= count; i++) {
    VkCommandBuffer commands = hand.commands[floor == ONE_BUFFER ? 0 : i - 1];
    if (floor != ONE_BUFFER || i == 1) hand_begin(commands);
    put_link(commands, i, groups, steps, floor == ONE_BUFFER || floor == BARRIERS);
    if (floor != ONE_BUFFER || i == count) hand_must(vkEndCommandBuffer(commands));
  }
}

static void submit_floor(enum floor floor, uint32_t count) {
  for (uint32_t i = 1; i <= (floor == ONE_BUFFER ? 1 : count); i++) {
    hand_submit(hand.commands[i - 1], floor == NATIVE_WAITS && i > 1 ? hand.value : 0);
    if (floor == HOST_WAITS) hand_await(hand.value);
  }
}

/* Returns ns. *out_thread: the submitting thread's processor time. */
static uint64_t run_floor(enum floor floor, uint32_t count, uint32_t groups, uint32_t steps,
                          uint64_t *out_thread) {
  record_floor(floor, count, groups, steps);
  uint64_t before = bench_now(), spent = bench_spent();
  submit_floor(floor, count);
  *out_thread = bench_spent() - spent;
  hand_await(hand.value);
  return bench_now() - before;
}

static const char *measure_floor(const void *what, unsigned side, double *out_values) {
  const struct shape *shape = what;
  uint32_t count = operations();
  uint64_t thread;
  uint64_t all = run_floor((enum floor)side, count, shape->groups, SMALL, &thread);
  out_values[0] = (double)all / count;
  out_values[1] = (double)thread / count;
  return NULL;
}

/* Finds long_steps. The least of several times: others may have the processor meanwhile. */
static void calibrate(void) {
  uint64_t thread, least;
  if (long_steps) return;
  long_steps = 1000;
  for (int step = 0; step < 2; step++) {
    least = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
      uint64_t took = run_floor(ONE_BUFFER, FEW, 1, long_steps, &thread);
      if (took < least) least = took;
    }
    long_steps = (uint32_t)(long_steps * ((double)LONG * FEW / (double)least)) + 1;
  }
}

/* ---- graphs ------------------------------------------------------------------------------ */

/* Operation i is submitted to queue i % 2, and writes slot i. A dependency 0 is none; slot 0 is
 * the host's. */
static uint32_t dependencies[COUNT + 1][2];

static void make_graph(const struct shape *shape) {
  uint32_t seed = 1;
  for (uint32_t i = 1; i <= COUNT; i++) {
    dependencies[i][0] = i - 1;
    dependencies[i][1] = i - 1;
    for (int k = 0; shape->is_dag && k < 2; k++) {
      seed = seed * 1664525u + 1013904223u;
      uint32_t back = 1 + (seed >> 8) % LATEST;
      dependencies[i][k] = seed >> 31 && back < i ? i - back : 0;
    }
  }
}

static struct hand_steps dispatch_of(const struct shape *shape, uint32_t i) {
  return (struct hand_steps){i, dependencies[i][0], dependencies[i][1], steps_of(shape),
                             shape->groups};
}

/* Slot 0 differs in each round: the results of another round are not taken for this one's. */
static void begin_round(void) {
  static uint32_t round;
  uint32_t *words = hand_slot(0);
  round++;
  for (uint32_t i = 0; i < HAND_GROUPS_MOST * HAND_GROUP_SIZE; i++) words[i] = round + i;
}

/* Computes the last word of all slots anew. */
static void check_round(const struct shape *shape, uint32_t count) {
  static uint32_t expected[COUNT + 1];
  uint32_t last = shape->groups * HAND_GROUP_SIZE - 1;
  if (shape->groups == 0) return;
  hand_show_host();
  expected[0] = hand_slot(0)[last];
  for (uint32_t i = 1; i <= count; i++) {
    uint32_t word = expected[dependencies[i][0]] + 3 * expected[dependencies[i][1]];
    for (uint32_t step = 0; step < steps_of(shape); step++) word = word * 1664525u + 1013904223u;
    expected[i] = word;
    BENCH_CHECK(hand_slot(i)[last] == word);
  }
}

/* ---- graphs by hand ---------------------------------------------------------------------- */

/* Records an operation. `covered`: the last barrier is behind all operations up to this one. */
static bool put_operation(const struct shape *shape, VkCommandBuffer commands, uint32_t i,
                          uint32_t *covered) {
  struct hand_steps dispatch = dispatch_of(shape, i);
  bool barrier = dispatch.first > *covered || dispatch.second > *covered;
  if (barrier) {
    hand_barrier(commands);
    *covered = i - 1;
  }
  hand_dispatch(commands, &dispatch);
  return barrier;
}

enum by_hand { EACH, EACH_SEEN, ALL_AT_ONCE };

/* EACH: a submission for each operation. EACH_SEEN: the host sees what it wrote, as it does with
 * Tidemark. Returns the number of barriers between operations. */
static uint32_t run_by_hand(const struct shape *shape, uint32_t count, enum by_hand how) {
  bool each = how != ALL_AT_ONCE;
  uint32_t covered = 0, barriers = 0;
  uint64_t before = hand.value;
  for (uint32_t i = 1; i <= count; i++) {
    VkCommandBuffer commands = hand.commands[each ? i % RING : 0];
    if (each && i > RING && i % (RING / 2) == 1) hand_await(before + i - RING / 2 - 1);
    if (each || i == 1) hand_begin(commands);
    barriers += put_operation(shape, commands, i, &covered);
    if (!each && i < count) continue;
    if (how == EACH_SEEN) hand_host_barrier(commands);
    hand_must(vkEndCommandBuffer(commands));
    hand_submit(commands, 0);
  }
  hand_await(hand.value);
  return barriers;
}

/* ---- graphs on Tidemark's device --------------------------------------------------------- */

static const struct tide_vulkan_ops ops = {{TIDE_OPS_VULKAN}, device_record};
static const struct tide_body_class body = {.name = "steps", .ops = &ops.ops};

static enum tide_status record_kernel(const void *arguments, struct tide_device *gpu,
                                      VkCommandBuffer commands) {
  const struct hand_steps *what = arguments;
  const uint32_t words = HAND_GROUPS_MOST * HAND_GROUP_SIZE;
  struct tide_vulkan_dispatch dispatch = {
      .kernel = &hand_kernel,
      .buffers = {{hand.words, hand.size}},
      .constants = {what->to * words, what->first * words, what->second * words, what->steps},
      .groups = {what->groups}};
  return tide_vulkan_dispatch(gpu, commands, &dispatch);
}
static const struct tide_vulkan_ops kernel_ops = {{TIDE_OPS_VULKAN}, record_kernel};
static const struct tide_body_class kernel_body = {.name = "steps", .ops = &kernel_ops.ops};

/* An operation's value of its queue's line. */
static uint64_t value_of(uint32_t i) { return (i + 1) / 2; }

/* Two dependencies of one queue are one wait. */
static size_t add_waits(const struct device_queues *queues, uint32_t i, struct tide_wait *waits) {
  uint32_t first = dependencies[i][0], second = dependencies[i][1];
  size_t count = 0;
  if (first && second && first % 2 == second % 2) {
    first = first > second ? first : second;
    second = 0;
  }
  if (first) waits[count++] = (struct tide_wait){queues->lines[first % 2], value_of(first)};
  if (second) waits[count++] = (struct tide_wait){queues->lines[second % 2], value_of(second)};
  return count;
}

static void run_on_device(const struct shape *shape, const struct device_queues *queues,
                          uint32_t count, const struct tide_body_class *class) {
  for (uint32_t i = 1; i <= count; i++) {
    struct hand_steps dispatch = dispatch_of(shape, i);
    struct tide_wait waits[2];
    size_t wait_count = add_waits(queues, i, waits);
    device_submit(queues, i % 2, value_of(i), waits, wait_count, class, &dispatch);
  }
  for (uint32_t i = count - 1; i <= count; i++)
    BENCH_CHECK(tide_timeline_wait(queues->lines[i % 2], value_of(i), TIDE_FOREVER) == TIDE_OK);
}

/* ---- graphs: the sides ------------------------------------------------------------------- */

enum graph_side { DEVICE, KERNEL, KEPT, BY_HAND };

static void measure_device(const struct shape *shape, enum graph_side side, uint32_t count,
                           double *out_values) {
  struct tide_vulkan_params params = {.keep_on_host = true};
  struct tide_device *device = side == KEPT ? device_adopt(&params) : hand.device;
  struct tide_context_stats first, last;
  struct device_queues queues;
  device_queues_open(&queues, device);
  tide_context_stats(hand.context, &first);
  uint64_t before = bench_now();
  run_on_device(shape, &queues, count, side == KERNEL ? &kernel_body : &body);
  out_values[0] = (double)(bench_now() - before) / count;
  tide_context_stats(hand.context, &last);
  out_values[1] = (double)(last.barriers - first.barriers) / count;
  device_queues_close(&queues);
  if (side == KEPT) tide_device_close(device);
}

static const char *measure_graph(const void *what, unsigned side, double *out_values) {
  const struct shape *shape = what;
  uint32_t count = operations();
  if (side == KERNEL && shape->groups == 0) return "there is no dispatch";
  if (shape->is_long) calibrate();
  make_graph(shape);
  begin_round();
  if (side <= KEPT) {
    measure_device(shape, (enum graph_side)side, count, out_values);
  } else {
    uint64_t before = bench_now();
    uint32_t barriers = run_by_hand(shape, count, (enum by_hand)(side - BY_HAND));
    out_values[0] = (double)(bench_now() - before) / count;
    out_values[1] = (double)barriers / count;
  }
  check_round(shape, count);
  return NULL;
}

/* ---- submits to a VkQueue that is blocked ------------------------------------------------ */

enum { PRODUCERS = 2, BLOCKED = 256 };

static uint32_t blocked(void) { return bench_smoke() ? FEW : BLOCKED; }

/* The device's submitting thread alone writes these, all but `wanted`. */
static struct {
  uint32_t recorded, out; /* operations; `out` is atomic */
  uint32_t wanted;        /* `end` is the time when so many are out */
  uint64_t end;
} outs;

static enum tide_status record_counted(const void *arguments, struct tide_device *gpu,
                                       VkCommandBuffer commands) {
  outs.recorded++;
  return device_record(arguments, gpu, commands);
}
static const struct tide_vulkan_ops counted_ops = {{TIDE_OPS_VULKAN}, record_counted};
static const struct tide_body_class counted_body = {.name = "steps", .ops = &counted_ops.ops};

/* By hand the VkQueue is used only while the device has nothing to submit. */
static void lock(void *self, VkQueue queue) {
  (void)self;
  (void)queue;
}
static void unlock(void *self, VkQueue queue) {
  (void)self;
  (void)queue;
  if (outs.recorded == outs.wanted) outs.end = bench_now();
  __atomic_store_n(&outs.out, outs.recorded, __ATOMIC_RELEASE);
}

static void await_out(uint32_t count) {
  while (__atomic_load_n(&outs.out, __ATOMIC_ACQUIRE) < count) sched_yield();
}

/* Each operation has its own slot. */
static struct hand_steps blocked_dispatch(uint32_t slot) {
  return (struct hand_steps){slot, 0, 0, SMALL, SMALL};
}

/* Each operation waits for two others that are out, one of each queue. */
static void measure_blocked_device(VkSemaphore blocker, uint32_t count, double *out_values) {
  struct tide_vulkan_params params = {
      .ahead = TIDE_VULKAN_AHEAD_MOST, .lock = lock, .unlock = unlock};
  struct tide_device *device = device_adopt(&params);
  struct device_queues queues;
  device_queues_open(&queues, device);
  outs.recorded = outs.out = 0;
  outs.wanted = (PRODUCERS + 1) * count;
  hand_block(blocker);
  for (uint32_t i = 1; i <= PRODUCERS * count; i++) {
    struct hand_steps dispatch = blocked_dispatch(i);
    device_submit(&queues, i % PRODUCERS, value_of(i), NULL, 0, &counted_body, &dispatch);
  }
  await_out(PRODUCERS * count);
  uint64_t before = bench_now();
  for (uint32_t i = 1; i <= count; i++) {
    struct tide_wait waits[] = {{queues.lines[0], i}, {queues.lines[1], i}};
    struct hand_steps dispatch = blocked_dispatch(PRODUCERS * count + i);
    device_submit(&queues, 2, i, waits, 2, &counted_body, &dispatch);
  }
  out_values[0] = (double)(bench_now() - before) / count;
  await_out(outs.wanted);
  out_values[1] = (double)(outs.end - before) / count;
  hand_unblock(blocker);
  BENCH_CHECK(tide_timeline_wait(queues.lines[2], count, TIDE_FOREVER) == TIDE_OK);
  device_queues_close(&queues);
  tide_device_close(device);
}

static void submit_blocked_by_hand(uint32_t i, bool barrier) {
  VkCommandBuffer commands = hand.commands[i];
  struct hand_steps dispatch = blocked_dispatch(i + 1);
  hand_begin(commands);
  if (barrier) hand_barrier(commands);
  hand_dispatch(commands, &dispatch);
  hand_must(vkEndCommandBuffer(commands));
  hand_submit(commands, 0);
}

/* The calling thread's time, and that until all are out, are the same. */
static void measure_blocked_by_hand(VkSemaphore blocker, uint32_t count, double *out_values) {
  hand_block(blocker);
  for (uint32_t i = 0; i < PRODUCERS * count; i++) submit_blocked_by_hand(i, false);
  uint64_t before = bench_now();
  for (uint32_t i = 0; i < count; i++) submit_blocked_by_hand(PRODUCERS * count + i, true);
  out_values[0] = out_values[1] = (double)(bench_now() - before) / count;
  hand_unblock(blocker);
  hand_await(hand.value);
}

static const char *measure_blocked(const void *what, unsigned side, double *out_values) {
  VkSemaphore blocker = hand_timeline();
  (void)what;
  if (side == 0) measure_blocked_device(blocker, blocked(), out_values);
  else measure_blocked_by_hand(blocker, blocked(), out_values);
  vkDestroySemaphore(hand.info.device, blocker, NULL);
  return NULL;
}

/* ---- the figures ------------------------------------------------------------------------- */

static const struct shape shapes[][5] = {
    {{.groups = 0}, {.groups = 1}, {.groups = 16}, {.groups = 256}, {.groups = 1, .is_long = true}},
    {{.is_dag = true, .groups = 0},
     {.is_dag = true, .groups = 1},
     {.is_dag = true, .groups = 16},
     {.is_dag = true, .groups = 256},
     {.is_dag = true, .groups = 1, .is_long = true}}};

#define FLOOR(i)                                                                                   \
  {                                                                                                \
    .sides = {"a submit each, with a barrier", "a submit each, with a native wait",                \
              "a submit each, and a host wait", "barriers in one command buffer"},                 \
    .values = {{"an operation", "ns", BENCH_LESS}, {"the thread's time", "ns", BENCH_LESS}},       \
    .measure = measure_floor, .what = &shapes[0][i]                                                \
  }
#define GRAPH(dag, i)                                                                              \
  {                                                                                                \
    .sides = {"the Vulkan device", "with tide_vulkan_dispatch", "kept by the host",                \
              "by hand",           "by hand, seen by the host", "by hand, one submit"},            \
    .values = {{"an operation", "ns", BENCH_LESS}, {"barriers", "an operation", BENCH_LESS}},      \
    .measure = measure_graph, .what = &shapes[dag][i]                                              \
  }
static const struct bench_contest floors[] = {FLOOR(0), FLOOR(1), FLOOR(2), FLOOR(3)};
static const struct bench_contest graphs[2][5] = {
    {GRAPH(0, 0), GRAPH(0, 1), GRAPH(0, 2), GRAPH(0, 3), GRAPH(0, 4)},
    {GRAPH(1, 0), GRAPH(1, 1), GRAPH(1, 2), GRAPH(1, 3), GRAPH(1, 4)}};
static const struct bench_contest submits = {
    .sides = {"tide_queue_submit", "recorded and submitted by hand"},
    .values = {{"the caller", "ns", BENCH_LESS}, {"until all are out", "ns", BENCH_LESS}},
    .measure = measure_blocked};

#define FIGURE(figure, which)                                                                      \
  { .name = figure, .setup = hand_open, .teardown = hand_close, .contest = which }
const struct bench_figure bench_vulkan[] = {
    FIGURE("floor_0", &floors[0]),       FIGURE("floor_1", &floors[1]),
    FIGURE("floor_16", &floors[2]),      FIGURE("floor_256", &floors[3]),
    FIGURE("chain_0", &graphs[0][0]),    FIGURE("chain_1", &graphs[0][1]),
    FIGURE("chain_16", &graphs[0][2]),   FIGURE("chain_256", &graphs[0][3]),
    FIGURE("chain_25us", &graphs[0][4]), FIGURE("dag_0", &graphs[1][0]),
    FIGURE("dag_1", &graphs[1][1]),      FIGURE("dag_16", &graphs[1][2]),
    FIGURE("dag_256", &graphs[1][3]),    FIGURE("dag_25us", &graphs[1][4]),
    FIGURE("submit_blocked", &submits),  {0}};
