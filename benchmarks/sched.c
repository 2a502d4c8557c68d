/* The scheduler with empty operations: what the queue code itself costs. */
#include "bench.h"

#include "base/atomic.h"
#include "tidemark/tidemark.h"

#include <stdlib.h>

#define CHAIN 100000

struct world {
  struct tide_context context;
  struct tide_sched *sched;
  struct tide_device *device;
  struct tide_queue *queue;
  struct tide_timeline *timeline;
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
  struct tide_queue_params queue = {
      .label = "chain", .operations = CHAIN, .waits = CHAIN, .signals = CHAIN, .buffers = 1};
  struct tide_timeline_params timeline = {.label = "step"};
  BENCH_CHECK(tide_context_init(&world->context, NULL) == TIDE_OK);
  BENCH_CHECK(tide_sched_create(&world->context, NULL, &world->sched) == TIDE_OK);
  BENCH_CHECK(tide_device_create(world->sched, &backend, "inline", &world->device) == TIDE_OK);
  BENCH_CHECK(tide_queue_create(world->device, &queue, &world->queue) == TIDE_OK);
  BENCH_CHECK(tide_timeline_create(&world->context, &timeline, &world->timeline) == TIDE_OK);
  return world;
}

static void drop(void *state) {
  struct world *world = state;
  tide_queue_destroy(world->queue);
  BENCH_CHECK(tide_device_settle(world->device, TIDE_FOREVER) == TIDE_OK);
  BENCH_CHECK(tide_device_destroy(world->device) == TIDE_OK);
  tide_sched_destroy(world->sched);
  tide_timeline_destroy(world->timeline);
  tide_context_fini(&world->context);
  free(world);
}

static void submit(struct world *world, bool chained) {
  struct tide_wait wait = {world->timeline, world->value};
  struct tide_signal signal = {world->timeline, world->value + 1, false};
  struct tide_operation operation = {.body = &empty};
  if (chained) {
    operation.waits = &wait;
    operation.wait_count = world->value > 0;
    operation.signals = &signal;
    operation.signal_count = 1;
    world->value++;
  }
  BENCH_CHECK(tide_queue_submit(world->queue, &operation, NULL, NULL) == TIDE_OK);
}

static uint64_t run_all(struct world *world) {
  struct tide_work *work, *done;
  size_t done_count = 0;
  uint64_t ran = 0;
  while (tide_device_exchange(world->device, &done, done_count, &work, 1, NULL)) {
    work->status = work->body->host(work->arguments);
    done = work;
    done_count = 1;
    ran++;
  }
  return ran;
}

/* All submitted before anything runs, `chained`: each waits for the one before through a timeline.
 */
static void paused(struct world *world, uint64_t count, bool chained) {
  while (count) {
    uint64_t part = count < CHAIN ? count : CHAIN;
    for (uint64_t i = 0; i < part; i++) submit(world, chained);
    BENCH_CHECK(run_all(world) == part);
    count -= part;
  }
}

static void paused_plain(void *state, uint64_t count) { paused(state, count, false); }
static void paused_chained(void *state, uint64_t count) { paused(state, count, true); }

static void online_chained(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++) {
    submit(world, true);
    BENCH_CHECK(run_all(world) == 1);
  }
}

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
