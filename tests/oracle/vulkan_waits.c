/* The Vulkan device issues as few waits as the transitive reduction has, or fewer.
 *
 * A random program is submitted while nothing ends. Its events are the start and the signal of each
 * submission. VkQueues order their starts, and their signals; a wait orders a signal before a
 * start. A wait that other orders imply is not in the reduction, which is computed by brute force.
 * Of the submissions of one call each may be refused. So none counts on what another one has seen
 * by its waits, but a wait is not repeated. */
#include "harness.h"

#include "vulkan_recorder.h"

#include "base/random.h"
#include "tidemark/tidemark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUES = 8, OPERATIONS = 64, WAITS = 4, EVENTS = 2 * OPERATIONS };

struct op {
  int queue;
  uint64_t value;
  int wait_count, waits[WAITS]; /* different operations */
  bool kept[WAITS];             /* the wait is in the reduction */
  struct recorder_submission where;
};

static struct tide_random dice;
static struct tide_context *context;
static struct tide_queue *queues[QUEUES];
static struct tide_timeline *lines[QUEUES];
static struct op ops[OPERATIONS];
static int queue_count, op_count;

static uint64_t draw(uint64_t limit) { return tide_random_below(&dice, limit); }

/* ---- the program -------------------------------------------------------------------------- */

static enum tide_status record(const void *arguments, struct tide_device *gpu,
                               VkCommandBuffer commands) {
  (void)gpu;
  recorder_mark(commands, *(const uint32_t *)arguments);
  return TIDE_OK;
}
static const struct tide_vulkan_ops recorded = {{TIDE_OPS_VULKAN}, record};
static const struct tide_body_class mark = {.name = "mark", .ops = &recorded.ops};

static bool waits_for(const struct op *op, int on) {
  for (int i = 0; i < op->wait_count; i++)
    if (op->waits[i] == on) return true;
  return false;
}

/* Draws an operation: it waits for recent ones, or for any. */
static void draw_op(int number) {
  struct op *op = &ops[number];
  *op = (struct op){.queue = (int)draw((uint64_t)queue_count), .value = 1};
  for (int i = 0; i < number; i++)
    if (ops[i].queue == op->queue) op->value++;
  uint64_t near = draw(2) ? 8 : OPERATIONS;
  for (int i = 0; number && i < (int)draw(WAITS + 1); i++) {
    int on = number - 1 - (int)draw((uint64_t)number < near ? (uint64_t)number : near);
    if (!waits_for(op, on)) op->waits[op->wait_count++] = on;
  }
}

static void submit(int number) {
  const struct op *op = &ops[number];
  struct tide_wait waits[WAITS];
  for (int i = 0; i < op->wait_count; i++)
    waits[i] = (struct tide_wait){lines[ops[op->waits[i]].queue], ops[op->waits[i]].value};
  struct tide_signal signal = {.timeline = lines[op->queue], .value = op->value};
  struct tide_operation operation = {.body = &mark,
                                     .waits = waits,
                                     .wait_count = (size_t)op->wait_count,
                                     .signals = &signal,
                                     .signal_count = 1,
                                     .arguments = &(uint32_t){(uint32_t)number},
                                     .arguments_size = sizeof(uint32_t)};
  CHECK_OK(tide_queue_submit(queues[op->queue], &operation, NULL, NULL));
}

/* Whether operations go out before the next one is submitted. */
enum pace { TOGETHER, BY_CHANCE, ONE_BY_ONE, PACES };

static void submit_all(enum pace pace) {
  if (pace == TOGETHER) tide_context_pause(context);
  for (int i = 0; i < op_count; i++) {
    submit(i);
    if (pace == ONE_BY_ONE) (void)recorder_count((uint32_t)i + 1);
  }
  if (pace == TOGETHER) tide_context_resume(context);
}

static void open_program(uint64_t seed, uint32_t vk_queues) {
  struct tide_vulkan_params params;
  struct tide_device *gpu;
  struct recorder_params how = {
      .seed = seed, .queue_count = vk_queues, .ahead = OPERATIONS, .stuck = true};
  recorder_open(&how, &params);
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK_OK(tide_vulkan_open(context, &params, &gpu, NULL));
  for (int q = 0; q < queue_count; q++) {
    struct tide_queue_params queue = {.struct_size = sizeof queue,
                                      .hardware_queue = 1 + (uint32_t)q % vk_queues};
    CHECK_OK(tide_queue_create(gpu, &queue, &queues[q]));
    CHECK_OK(tide_timeline_create(context, NULL, &lines[q]));
  }
}

/* ---- the transitive reduction -------------------------------------------------------------- */

#define START(op) (2 * (op))
#define SIGNAL(op) (2 * (op) + 1)

static bool edges[EVENTS][EVENTS], paths[EVENTS][EVENTS];

/* Returns the submission behind this one on its VkQueue; -1: none. */
static int next_of(int number) {
  const struct recorder_submission *own = &ops[number].where;
  int next = -1;
  for (int i = 0; i < op_count; i++) {
    const struct recorder_submission *other = &ops[i].where;
    if (other->queue != own->queue || other->number <= own->number) continue;
    if (next < 0 || other->number < ops[next].where.number) next = i;
  }
  return next;
}

static void add_edges(void) {
  memset(edges, 0, sizeof edges);
  for (int i = 0; i < op_count; i++) {
    int next = next_of(i);
    edges[START(i)][SIGNAL(i)] = true;
    if (next >= 0) edges[START(i)][START(next)] = edges[SIGNAL(i)][SIGNAL(next)] = true;
    for (int k = 0; k < ops[i].wait_count; k++) edges[SIGNAL(ops[i].waits[k])][START(i)] = true;
  }
}

static void find_paths(void) {
  memcpy(paths, edges, sizeof paths);
  for (int via = 0; via < 2 * op_count; via++)
    for (int from = 0; from < 2 * op_count; from++)
      for (int to = 0; paths[from][via] && to < 2 * op_count; to++)
        paths[from][to] |= paths[via][to];
}

/* Returns the last submission of earlier calls on its VkQueue; -1: none. */
static int last_before(int number) {
  const struct recorder_submission *own = &ops[number].where;
  int last = -1;
  for (int i = 0; i < op_count; i++) {
    const struct recorder_submission *other = &ops[i].where;
    if (other->queue != own->queue || other->call >= own->call) continue;
    if (last < 0 || other->number > ops[last].where.number) last = i;
  }
  return last;
}

static bool is_implied(int on, int number) {
  const struct op *op = &ops[number];
  int before = last_before(number);
  for (int k = 0; k < op->wait_count; k++)
    if (op->waits[k] != on && paths[SIGNAL(on)][SIGNAL(op->waits[k])]) return true;
  return before >= 0 && paths[SIGNAL(on)][START(before)];
}

/* True if an earlier submission of the same call waits for the same VkQueue, as long or longer. */
static bool is_repeated(int on, int number) {
  const struct recorder_submission *own = &ops[number].where, *awaited = &ops[on].where;
  for (int i = 0; i < op_count; i++) {
    const struct op *other = &ops[i];
    bool is_before = other->where.queue == own->queue && other->where.call == own->call &&
                     other->where.number < own->number;
    for (int k = 0; is_before && k < other->wait_count; k++) {
      const struct recorder_submission *longer = &ops[other->waits[k]].where;
      if (other->kept[k] && longer->queue == awaited->queue && longer->number >= awaited->number)
        return true;
    }
  }
  return false;
}

static void reduce_op(int number, struct recorder_counts *counts) {
  struct op *op = &ops[number];
  for (int k = 0; k < op->wait_count; k++) {
    bool is_own = ops[op->waits[k]].where.queue == op->where.queue;
    op->kept[k] = !is_implied(op->waits[k], number);
    if (!is_own && is_repeated(op->waits[k], number)) op->kept[k] = false;
    if (is_own) counts->barriers += op->kept[k];
    else counts->waits += op->kept[k];
  }
}

/* Returns the waits of the reduction between VkQueues, and within them. */
static struct recorder_counts reduce(void) {
  struct recorder_counts counts = {.submissions = (uint32_t)op_count};
  add_edges();
  find_paths();
  for (uint64_t number = 1; number <= OPERATIONS; number++)
    for (int i = 0; i < op_count; i++)
      if (ops[i].where.number == number) reduce_op(i, &counts);
  return counts;
}

/* ---- the comparison ----------------------------------------------------------------------- */

static void compare(uint64_t seed) {
  struct recorder_counts now = recorder_count((uint32_t)op_count);
  for (int i = 0; i < op_count; i++) ops[i].where = recorder_find((uint32_t)i);
  struct recorder_counts least = reduce();
  if (now.waits > least.waits || now.barriers > least.barriers)
    fprintf(stderr, "seed %llu: %u waits and %u barriers for %u and %u\n", (unsigned long long)seed,
            now.waits, now.barriers, least.waits, least.barriers);
  if (now.waits > least.waits) FAIL("more waits than the transitive reduction has");
  if (now.barriers > least.barriers) FAIL("more barriers than the transitive reduction has");
}

static void try_seed(uint64_t seed, uint32_t vk_queues, enum pace pace) {
  dice.state = seed;
  op_count = (int)(1 + draw(OPERATIONS));
  queue_count = (int)(vk_queues + draw(QUEUES - vk_queues + 1));
  for (int i = 0; i < op_count; i++) draw_op(i);
  open_program(seed, vk_queues);
  submit_all(pace);
  compare(seed);
  recorder_release();
  for (int q = 0; q < queue_count; q++) CHECK_OK(tide_queue_drain(queues[q], TIDE_FOREVER));
  tide_context_destroy(context);
  const char *fault = recorder_close();
  if (fault) FAIL("%s", fault);
}

TEST(waits_of_the_reduction) {
  static const uint32_t vk_queues[] = {2, 4};
  const char *seed = getenv("SEED");
  uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
  uint64_t last = seed ? first : test_slowdown() > 3 ? 20 : 200;
  for (int i = 0; i < 2; i++)
    for (uint64_t s = first; s <= last; s++)
      for (int pace = 0; pace < PACES; pace++) try_seed(s, vk_queues[i], (enum pace)pace);
}

TEST_MAIN(CASE_SECONDS(waits_of_the_reduction, 300))
