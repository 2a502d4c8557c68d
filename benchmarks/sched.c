/* The scheduler with empty operations: what the queue code itself costs. */
#include "bench.h"

#include "base/atomic.h"
#include "tidemark/tidemark.h"

#include <stdlib.h>

#define CHAIN 100000

struct world {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queue;
  struct tide_timeline *timeline;
  struct tide_operation operation;
  struct tide_wait wait;
  struct tide_signal signal;
  uint64_t value, epoch, cell;
};

static enum tide_status nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class empty = {.name = "empty", .host = nothing};
/* The driving thread is the only executor: no wake is part of the figure. */
static const struct tide_backend backend = {.name = "inline", .in_order = true};

static void *make(void) {
  struct world *world = calloc(1, sizeof *world);
  if (!world) bench_wrong("memory");
  struct tide_queue_params queue = {.struct_size = sizeof queue,
                                    .label = "chain",
                                    .operations = CHAIN,
                                    .waits = CHAIN,
                                    .signals = CHAIN,
                                    .buffers = 1};
  struct tide_timeline_params timeline = {.struct_size = sizeof timeline, .label = "step"};
  BENCH_CHECK(tide_context_create(NULL, &world->context) == TIDE_OK);
  BENCH_CHECK(tide_device_open(world->context, &backend, "inline", &world->device) == TIDE_OK);
  BENCH_CHECK(tide_queue_create(world->device, &queue, &world->queue) == TIDE_OK);
  BENCH_CHECK(tide_timeline_create(world->context, &timeline, &world->timeline) == TIDE_OK);
  return world;
}

static void drop(void *state) {
  struct world *world = state;
  tide_queue_destroy(world->queue);
  BENCH_CHECK(tide_device_settle(world->device, TIDE_FOREVER) == TIDE_OK);
  tide_device_close(world->device);
  tide_timeline_destroy(world->timeline);
  tide_context_destroy(world->context);
  free(world);
}

/* As a program does that submits the same again and again: only what changes is written anew. */
static void submit(struct world *world, bool chained) {
  if (chained) {
    world->operation.wait_count = world->value > 0;
    world->wait.value = world->value++;
    world->signal.value = world->value;
  }
  BENCH_CHECK(tide_queue_submit(world->queue, &world->operation, NULL, NULL) == TIDE_OK);
}

static void choose(struct world *world, bool chained) {
  world->wait = (struct tide_wait){world->timeline, 0};
  world->signal = (struct tide_signal){world->timeline, 0, false};
  world->operation = (struct tide_operation){.body = &empty};
  if (!chained) return;
  world->operation.waits = &world->wait;
  world->operation.signals = &world->signal;
  world->operation.signal_count = 1;
}

static struct tide_work *run(struct world *world, struct tide_work *work) {
  work->status = work->body->host(tide_work_arguments(work));
  struct tide_work *next;
  return tide_device_exchange(world->device, &work, 1, &next, 1, NULL) ? next : NULL;
}

static struct tide_work *start(struct world *world) {
  struct tide_work *work;
  return tide_device_exchange(world->device, NULL, 0, &work, 1, NULL) ? work : NULL;
}

/* All submitted before anything runs, `chained`: each waits for the one before through a timeline.
 */
static void paused(struct world *world, uint64_t count, bool chained) {
  choose(world, chained);
  while (count) {
    uint64_t part = count < CHAIN ? count : CHAIN, ran = 0;
    for (uint64_t i = 0; i < part; i++) submit(world, chained);
    for (struct tide_work *work = start(world); work; work = run(world, work)) ran++;
    BENCH_CHECK(ran == part);
    count -= part;
  }
}

static void paused_plain(void *state, uint64_t count) { paused(state, count, false); }
static void paused_chained(void *state, uint64_t count) { paused(state, count, true); }

/* Submitted while the one before runs. */
static void online(struct world *world, uint64_t count, bool chained) {
  choose(world, chained);
  struct tide_work *work = NULL;
  for (uint64_t i = 0; i < count; i++) {
    submit(world, chained);
    work = work ? run(world, work) : start(world);
    BENCH_CHECK(work != NULL);
  }
  BENCH_CHECK(!work || !run(world, work));
}

static void online_plain(void *state, uint64_t count) { online(state, count, false); }
static void online_chained(void *state, uint64_t count) { online(state, count, true); }

static void swaps_10(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count * 10; i++) {
    uint64_t expected = world->cell;
    tide_compare_exchange(&world->cell, &expected, expected + 1);
  }
}

const struct bench_figure bench_sched[] = {{.name = "queue_paused",
                                            .rival = "10 CAS",
                                            .setup = make,
                                            .teardown = drop,
                                            .ours = paused_plain,
                                            .theirs = swaps_10},
                                           {.name = "queue_online",
                                            .rival = "10 CAS",
                                            .setup = make,
                                            .teardown = drop,
                                            .ours = online_plain,
                                            .theirs = swaps_10},
                                           {.name = "chain_paused",
                                            .rival = "10 CAS",
                                            .setup = make,
                                            .teardown = drop,
                                            .ours = paused_chained,
                                            .theirs = swaps_10},
                                           {.name = "chain_online",
                                            .rival = "10 CAS",
                                            .setup = make,
                                            .teardown = drop,
                                            .ours = online_chained,
                                            .theirs = swaps_10},
                                           {0}};
