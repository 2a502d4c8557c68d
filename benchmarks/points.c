/* Points in one process, in the shapes in which Chromium's sync points were measured: release
 * without and with a waiter, rings of clients, crowds, channels, clients that go. The machine's own
 * unit beside it is an uncontended mutex, locked and unlocked. */
#include "bench.h"

#include "tidemark/tidemark.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define HOUR 3600000000000u

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock_unlock(void *state, uint64_t count) {
  (void)state;
  for (uint64_t i = 0; i < count; i++) {
    pthread_mutex_lock(&mutex);
    bench_keep(i);
    pthread_mutex_unlock(&mutex);
  }
}

/* ---- one point at a time ---------------------------------------------------------------- */

struct world {
  struct tide_context *context;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_future *future;
  struct tide_timepoint wait;
  struct tide_point point;
};

static void open_room(struct world *world, uint32_t timelines) {
  struct tide_points_params params = {
      .struct_size = sizeof params, .timelines = timelines, .deadline = HOUR, .longest = 2 * HOUR};
  BENCH_CHECK(tide_context_create(NULL, &world->context) == TIDE_OK);
  BENCH_CHECK(tide_points_create(world->context, &params, &world->points) == TIDE_OK);
}
static void close_room(struct world *world) {
  tide_points_destroy(world->points);
  tide_context_destroy(world->context);
}

static void *make(void) {
  struct world *world = calloc(1, sizeof *world);
  open_room(world, 4);
  BENCH_CHECK(tide_client_create(world->points, NULL, &world->client) == TIDE_OK);
  BENCH_CHECK(tide_future_create(world->client, NULL, &world->future) == TIDE_OK);
  BENCH_CHECK(tide_future_promise(world->future, 0, &world->point) == TIDE_OK);
  return world;
}
static void drop(void *state) {
  struct world *world = state;
  tide_client_destroy(world->client, TIDE_OK);
  close_room(world);
  free(world);
}

static void promise_and_release(void *state, uint64_t count) {
  struct world *world = state;
  struct tide_point point = world->point;
  for (uint64_t i = 0; i < count; i++) {
    BENCH_CHECK(tide_future_fulfil(world->future, point.value, NULL) == TIDE_OK);
    BENCH_CHECK(tide_future_promise(world->future, 0, &point) == TIDE_OK);
  }
  world->point = point;
}

static void ask_state(void *state, uint64_t count) {
  struct world *world = state;
  enum tide_point_state what;
  for (uint64_t i = 0; i < count; i++)
    BENCH_CHECK(tide_point_state(world->points, world->point, &what, NULL) == TIDE_OK);
}

static uint64_t called;
static void count_call(struct tide_timepoint *timepoint, enum tide_status status) {
  (void)timepoint;
  BENCH_CHECK(status == TIDE_OK);
  called++;
}

static void wait_release_call(void *state, uint64_t count) {
  struct world *world = state;
  struct tide_point point = world->point;
  uint64_t before = called;
  world->wait = (struct tide_timepoint){.call = count_call};
  for (uint64_t i = 0; i < count; i++) {
    BENCH_CHECK(tide_point_when_complete(world->points, point, &world->wait) == TIDE_OK);
    BENCH_CHECK(tide_future_fulfil(world->future, point.value, NULL) == TIDE_OK);
    BENCH_CHECK(tide_future_promise(world->future, 0, &point) == TIDE_OK);
  }
  BENCH_CHECK(called == before + count);
  world->point = point;
}

/* ---- crowds, rings, clients --------------------------------------------------------------- */

struct shape {
  uint32_t size;
};

static const char *unit_of(double *out_values, unsigned at) {
  uint64_t begin = bench_now(), count = bench_smoke() ? 1000 : 2000000;
  lock_unlock(NULL, count);
  out_values[at] = (double)(bench_now() - begin) / (double)count;
  return NULL;
}

/* All wait for one point: nanoseconds a waiter, for waiting and for being called. */
static const char *crowd(const void *what, unsigned side, double *out_values) {
  uint32_t size = ((const struct shape *)what)->size;
  struct world *world = make();
  (void)side;
  if (bench_smoke()) size = 1000;
  struct tide_timepoint *waits = calloc(size, sizeof *waits);
  memset(waits, 1, size * sizeof *waits); /* the pages are there */
  called = 0;
  uint64_t begin = bench_now();
  for (uint32_t i = 0; i < size; i++) {
    waits[i] = (struct tide_timepoint){.call = count_call};
    BENCH_CHECK(tide_point_when_complete(world->points, world->point, &waits[i]) == TIDE_OK);
  }
  uint64_t waited = bench_now();
  BENCH_CHECK(tide_future_fulfil(world->future, world->point.value, NULL) == TIDE_OK);
  uint64_t end = bench_now();
  BENCH_CHECK(called == size);
  out_values[0] = (double)(waited - begin) / size;
  out_values[1] = (double)(end - waited) / size;
  out_values[2] = sizeof(struct tide_timepoint);
  free(waits);
  drop(world);
  return unit_of(out_values, 3);
}

/* The same, with the promises apart: they are made before, many at a time. */
#define BATCH 512
static const char *apart(const void *what, unsigned side, double *out_values) {
  struct world world = {0};
  struct tide_point points[BATCH];
  uint32_t rounds = bench_smoke() ? 20 : 2000;
  uint64_t promising = 0, keeping = 0;
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = BATCH};
  (void)what;
  (void)side;
  open_room(&world, 4);
  BENCH_CHECK(tide_client_create(world.points, NULL, &world.client) == TIDE_OK);
  BENCH_CHECK(tide_future_create(world.client, &params, &world.future) == TIDE_OK);
  world.wait = (struct tide_timepoint){.call = count_call};
  called = 0;
  for (uint32_t round = 0; round < rounds; round++) {
    uint64_t begin = bench_now();
    for (uint32_t i = 0; i < BATCH; i++)
      BENCH_CHECK(tide_future_promise(world.future, 0, &points[i]) == TIDE_OK);
    uint64_t promised = bench_now();
    for (uint32_t i = 0; i < BATCH; i++) {
      BENCH_CHECK(tide_point_when_complete(world.points, points[i], &world.wait) == TIDE_OK);
      BENCH_CHECK(tide_future_fulfil(world.future, points[i].value, NULL) == TIDE_OK);
    }
    keeping += bench_now() - promised;
    promising += promised - begin;
  }
  BENCH_CHECK(called == (uint64_t)rounds * BATCH);
  out_values[0] = (double)promising / rounds / BATCH;
  out_values[1] = (double)keeping / rounds / BATCH;
  tide_client_destroy(world.client, TIDE_OK);
  close_room(&world);
  return unit_of(out_values, 2);
}

/* Each client waits for the one before it, and keeps its promise when it is called. */
struct member {
  struct tide_timepoint wait;
  struct tide_future *future;
  struct tide_point point;
};
static void keep_own(struct tide_timepoint *timepoint, enum tide_status status) {
  struct member *member = (struct member *)(void *)timepoint;
  BENCH_CHECK(status == TIDE_OK);
  BENCH_CHECK(tide_future_fulfil(member->future, member->point.value, NULL) == TIDE_OK);
}

static const char *ring(const void *what, unsigned side, double *out_values) {
  uint32_t size = ((const struct shape *)what)->size, rounds;
  struct world world = {0};
  (void)side;
  open_room(&world, size + 1);
  struct member *members = calloc(size, sizeof *members);
  struct tide_client **clients = calloc(size, sizeof(struct tide_client *));
  for (uint32_t i = 0; i < size; i++) {
    BENCH_CHECK(tide_client_create(world.points, NULL, &clients[i]) == TIDE_OK);
    BENCH_CHECK(tide_future_create(clients[i], NULL, &members[i].future) == TIDE_OK);
  }
  rounds = (bench_smoke() ? 8192 : 400000) / size;
  uint64_t begin = bench_now(), promising = 0;
  for (uint32_t round = 0; round < rounds; round++) {
    uint64_t now = size > 2 ? bench_now() : 0; /* of two it would take as long as they do */
    for (uint32_t i = 0; i < size; i++)
      BENCH_CHECK(tide_future_promise(members[i].future, 0, &members[i].point) == TIDE_OK);
    if (size > 2) promising += bench_now() - now;
    for (uint32_t i = 1; i < size; i++) {
      members[i].wait = (struct tide_timepoint){.call = keep_own};
      BENCH_CHECK(tide_point_when_complete(world.points, members[i - 1].point, &members[i].wait) ==
                  TIDE_OK);
    }
    BENCH_CHECK(tide_future_fulfil(members[0].future, members[0].point.value, NULL) == TIDE_OK);
    BENCH_CHECK(tide_point_wait(world.points, members[size - 1].point, TIDE_NOW) == TIDE_OK);
  }
  uint64_t took = bench_now() - begin;
  out_values[0] = (double)rounds * (size - 1) * 1000 / (double)took;
  out_values[1] = (double)rounds * (size - 1) * 1000 / (double)(took - promising);
  for (uint32_t i = 0; i < size; i++) tide_client_destroy(clients[i], TIDE_OK);
  free(members);
  free(clients);
  close_room(&world);
  return unit_of(out_values, 2);
}

/* One of many goes, with what it owes. */
static const char *leave(const void *what, unsigned side, double *out_values) {
  uint32_t size = ((const struct shape *)what)->size, some = 64;
  struct world world = {0};
  (void)side;
  if (bench_smoke()) size = 200;
  open_room(&world, size);
  struct tide_client **clients = calloc(size, sizeof(struct tide_client *));
  for (uint32_t i = 0; i < size; i++) {
    struct tide_future *future;
    struct tide_point point;
    BENCH_CHECK(tide_client_create(world.points, NULL, &clients[i]) == TIDE_OK);
    BENCH_CHECK(tide_future_create(clients[i], NULL, &future) == TIDE_OK);
    BENCH_CHECK(tide_future_promise(future, 0, &point) == TIDE_OK);
  }
  uint64_t begin = bench_now();
  for (uint32_t i = 0; i < some; i++) {
    tide_client_destroy(clients[size / some * i], TIDE_OK);
    clients[size / some * i] = NULL;
  }
  out_values[0] = (double)(bench_now() - begin) / some / 1000;
  for (uint32_t i = 0; i < size; i++) tide_client_destroy(clients[i], TIDE_OK);
  free(clients);
  close_room(&world);
  return unit_of(out_values, 1);
}

/* ---- channels ------------------------------------------------------------------------------- */

enum { CHANNEL_DEPTH = 512 };

static enum tide_status nothing(void *arguments) { return (void)arguments, TIDE_OK; }
static const struct tide_body_class empty = {
    .name = "empty", .host = nothing, .non_blocking = true};

struct lane {
  struct tide_queue *queue;
  struct tide_future *future;
  struct tide_point last;
};

/* The queue is full: until half of it is over, so that there is work for the worker meanwhile. */
static void let_run(const struct world *world, const struct lane *lane) {
  struct tide_point half = lane->last;
  half.value -= CHANNEL_DEPTH / 2;
  BENCH_CHECK(tide_point_wait(world->points, half, TIDE_FOREVER) == TIDE_OK);
}

/* Each task waits for a task of the channel before, and keeps a promise of its own. */
static void submit_row(const struct world *world, struct lane *lanes, uint32_t size) {
  struct tide_point before = {0};
  for (uint32_t i = 0; i < size; i++) {
    struct tide_point own;
    BENCH_CHECK(tide_future_promise(lanes[i].future, 0, &own) == TIDE_OK);
    struct tide_operation_points points = {
        .waits = &before, .wait_count = before.value != 0, .retires = &own, .retire_count = 1};
    struct tide_operation task = {.body = &empty, .points = &points};
    enum tide_status status;
    while ((status = tide_queue_submit(lanes[i].queue, &task, NULL, NULL)) == TIDE_FULL)
      let_run(world, &lanes[i]);
    BENCH_CHECK(status == TIDE_OK);
    lanes[i].last = before = own;
  }
}

static const char *tasks(const void *what, unsigned side, double *out_values) {
  uint32_t size = ((const struct shape *)what)->size;
  uint32_t rows = (bench_smoke() ? 512 : 200000) / size;
  struct world world = {0};
  struct tide_device *device;
  (void)side;
  open_room(&world, 2 * size + 1);
  BENCH_CHECK(tide_cpu_open(world.context, NULL, &device) == TIDE_OK);
  BENCH_CHECK(tide_client_create(world.points, NULL, &world.client) == TIDE_OK);
  struct lane *lanes = calloc(size, sizeof *lanes);
  struct tide_queue_params params = {
      .struct_size = sizeof params, .client = world.client, .operations = CHANNEL_DEPTH};
  struct tide_future_params future = {.struct_size = sizeof future, .capacity = 2 * CHANNEL_DEPTH};
  for (uint32_t i = 0; i < size; i++) {
    BENCH_CHECK(tide_queue_create(device, &params, &lanes[i].queue) == TIDE_OK);
    BENCH_CHECK(tide_queue_create_future(lanes[i].queue, &future, &lanes[i].future) == TIDE_OK);
  }
  uint64_t begin = bench_now();
  for (uint32_t row = 0; row < rows; row++) submit_row(&world, lanes, size);
  for (uint32_t i = 0; i < size; i++)
    BENCH_CHECK(tide_point_wait(world.points, lanes[i].last, TIDE_FOREVER) == TIDE_OK);
  struct tide_client_stats stats;
  out_values[0] = (double)rows * size * 1000000 / (double)(bench_now() - begin);
  tide_client_stats(world.client, &stats);
  BENCH_CHECK(stats.kept == (uint64_t)rows * size && !stats.broken);
  for (uint32_t i = 0; i < size; i++) tide_queue_destroy(lanes[i].queue);
  tide_device_close(device);
  tide_client_destroy(world.client, TIDE_OK);
  free(lanes);
  tide_points_destroy(world.points);
  tide_context_destroy(world.context);
  return unit_of(out_values, 1);
}

/* ---- the table ----------------------------------------------------------------------------------
 */

#define SHAPE(count)                                                                               \
  &(const struct shape) { count }
#define RING(count)                                                                                \
  {                                                                                                \
    .name = "ring_" #count, .rounds = 7, .contest = &(const struct bench_contest) {                \
      .sides = {"ours"},                                                                           \
      .values = {{"waits", "M/s", BENCH_MORE},                                                     \
                 {"but for promising", "M/s", BENCH_MORE},                                         \
                 {"a mutex", "ns", BENCH_LESS}},                                                   \
      .measure = ring, .what = SHAPE(count)                                                        \
    }                                                                                              \
  }
#define LEAVE(count)                                                                               \
  {                                                                                                \
    .name = "destroy_one_of_" #count, .rounds = 7, .contest = &(const struct bench_contest) {      \
      .sides = {"ours"},                                                                           \
      .values = {{"a client", "us", BENCH_LESS}, {"a mutex", "ns", BENCH_LESS}}, .measure = leave, \
      .what = SHAPE(count)                                                                         \
    }                                                                                              \
  }
#define TASKS(count)                                                                               \
  {                                                                                                \
    .name = "tasks_" #count "_channels", .rounds = 7, .contest = &(const struct bench_contest) {   \
      .sides = {"ours"}, .values = {{"tasks", "/ms", BENCH_MORE}, {"a mutex", "ns", BENCH_LESS}},  \
      .measure = tasks, .what = SHAPE(count)                                                       \
    }                                                                                              \
  }

const struct bench_figure bench_points[] = {
    {.name = "promise_and_release",
     .rival = "a mutex",
     .setup = make,
     .teardown = drop,
     .ours = promise_and_release,
     .theirs = lock_unlock},
    {.name = "state",
     .rival = "a mutex",
     .setup = make,
     .teardown = drop,
     .ours = ask_state,
     .theirs = lock_unlock},
    {.name = "promise_wait_release_call",
     .rival = "a mutex",
     .setup = make,
     .teardown = drop,
     .ours = wait_release_call,
     .theirs = lock_unlock},
    {.name = "promise_apart",
     .rounds = 7,
     .contest = &(const struct bench_contest){.sides = {"ours"},
                                              .values = {{"a promise", "ns", BENCH_LESS},
                                                         {"wait, release, call", "ns", BENCH_LESS},
                                                         {"a mutex", "ns", BENCH_LESS}},
                                              .measure = apart}},
    {.name = "crowd_1000000",
     .rounds = 5,
     .contest = &(const struct bench_contest){.sides = {"ours"},
                                              .values = {{"a wait", "ns", BENCH_LESS},
                                                         {"a call", "ns", BENCH_LESS},
                                                         {"memory a wait", "B", BENCH_LESS},
                                                         {"a mutex", "ns", BENCH_LESS}},
                                              .measure = crowd,
                                              .what = SHAPE(1000000)}},
    RING(2),
    RING(1024),
    RING(4096),
    LEAVE(200),
    LEAVE(20000),
    TASKS(2),
    TASKS(32),
    TASKS(128),
    {0}};
