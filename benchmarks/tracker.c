/* The tracker: looking up, advancing, waiting, with few and with many who wait. */
#include "bench.h"

#include "base/counter.h"
#include "causal/tracker.h"

#include <pthread.h>
#include <stdlib.h>

enum { AXES = 64, WAITERS = 1024, NEEDS = 8 };

/* The rival: a mutex around an array of axes, each with a list of those who wait for it. */
struct plain_waiter {
  struct plain_waiter *next;
  uint64_t epoch;
};
struct plain_axis {
  tide_axis axis;
  uint64_t epoch;
  struct plain_waiter *waiting;
};

struct state {
  struct tide_tracker *tracker;
  struct tide_tracker_axis *at;
  uint64_t epoch;
  struct tide_node nodes[WAITERS];
  struct tide_frontier_wait wait;
  struct tide_waiter waiters[NEEDS];
  TIDE_FRONTIER_STORAGE(needs, NEEDS);
  TIDE_FRONTIER_STORAGE(knows, NEEDS);
  pthread_mutex_t mutex;
  struct plain_axis plain[AXES];
  struct plain_waiter plain_waiters[WAITERS];
};

static tide_axis axis_at(uint64_t i) { return tide_axis_make(0, TIDE_DOMAIN_QUEUE, 1 + i); }

static void on_node(struct tide_node *node, enum tide_status status) { (void)node, (void)status; }
static void on_wait(struct tide_frontier_wait *wait, enum tide_status status) {
  (void)wait, (void)status;
}

static void *make(void) {
  struct state *s = calloc(1, sizeof *s);
  if (!s) bench_wrong("memory");
  struct tide_tracker_params params = {tide_allocator_system(), tide_platform_linux()};
  BENCH_CHECK(tide_tracker_create(&params, &s->tracker) == TIDE_OK);
  tide_frontier_init(&s->needs.frontier, NEEDS);
  tide_frontier_init(&s->knows.frontier, NEEDS);
  for (uint64_t i = 0; i < AXES; i++) {
    BENCH_CHECK(tide_tracker_register(s->tracker, axis_at(i)) == TIDE_OK);
    BENCH_CHECK(tide_tracker_advance(s->tracker, axis_at(i), 10) == TIDE_OK);
    s->plain[i] = (struct plain_axis){axis_at(i), 10, NULL};
    if (i % (AXES / NEEDS) == 0) tide_frontier_raise(&s->needs.frontier, axis_at(i), 10, NULL);
  }
  for (uint64_t i = 0; i < WAITERS; i++) s->nodes[i].fire = on_node;
  s->at = tide_tracker_find(s->tracker, axis_at(7));
  s->epoch = 10;
  s->wait = (struct tide_frontier_wait){.nodes = s->waiters, .done = on_wait};
  pthread_mutex_init(&s->mutex, NULL);
  return s;
}

/* All wait for far-off epochs of the axis that advances. */
static void *make_waiting(void) {
  struct state *s = make();
  for (uint64_t i = 0; i < WAITERS; i++) {
    uint64_t epoch = UINT64_MAX - 1 - i * 7 % WAITERS;
    BENCH_CHECK(tide_tracker_wait_finish(s->tracker, axis_at(7), epoch, &s->nodes[i]) ==
                TIDE_FINISH_QUEUED);
    s->plain_waiters[i] = (struct plain_waiter){s->plain[7].waiting, epoch};
    s->plain[7].waiting = &s->plain_waiters[i];
  }
  return s;
}

static void drop(void *state) {
  struct state *s = state;
  for (uint64_t i = 0; i < WAITERS; i++)
    tide_tracker_cancel_finish(s->tracker, axis_at(7), &s->nodes[i]);
  tide_tracker_destroy(s->tracker);
  pthread_mutex_destroy(&s->mutex);
  free(s);
}

static void finished(void *state, uint64_t count) {
  struct state *s = state;
  for (uint64_t i = 0; i < count; i++)
    bench_keep(tide_tracker_finished(s->tracker, axis_at(i % AXES), 10));
}

static void finished_plain(void *state, uint64_t count) {
  struct state *s = state;
  for (uint64_t i = 0; i < count; i++) {
    tide_axis axis = axis_at(i % AXES);
    pthread_mutex_lock(&s->mutex);
    size_t at = 0;
    while (at < AXES && s->plain[at].axis != axis) at++;
    bench_keep(at < AXES && s->plain[at].epoch >= 10);
    pthread_mutex_unlock(&s->mutex);
  }
}

static void satisfied(void *state, uint64_t count) {
  struct state *s = state;
  for (uint64_t i = 0; i < count; i++)
    bench_keep(tide_frontier_satisfied(&s->knows.frontier, s->tracker, &s->needs.frontier));
}

static void advance(void *state, uint64_t count) {
  struct state *s = state;
  for (uint64_t i = 0; i < count; i++) {
    struct tide_fired fired;
    tide_fired_init(&fired);
    tide_tracker_advance_collect(s->tracker, s->at, ++s->epoch, &fired);
    tide_fired_run(&fired);
  }
}

static void advance_plain(void *state, uint64_t count) {
  struct state *s = state;
  for (uint64_t i = 0; i < count; i++) {
    pthread_mutex_lock(&s->mutex);
    struct plain_axis *at = &s->plain[7];
    at->epoch++;
    for (struct plain_waiter **link = &at->waiting; *link;) {
      if ((*link)->epoch <= at->epoch) *link = (*link)->next;
      else link = &(*link)->next;
    }
    pthread_mutex_unlock(&s->mutex);
  }
}

static void wait_and_fire(void *state, uint64_t count) {
  struct state *s = state;
  for (uint64_t i = 0; i < count; i++) {
    BENCH_CHECK(tide_tracker_wait_finish(s->tracker, axis_at(7), s->epoch + 1, &s->nodes[0]) ==
                TIDE_FINISH_QUEUED);
    advance(s, 1);
  }
}

static void wait_and_cancel(void *state, uint64_t count) {
  struct state *s = state;
  for (uint64_t i = 0; i < count; i++) {
    BENCH_CHECK(tide_tracker_wait_finish(s->tracker, axis_at(9), 100 + i, &s->nodes[0]) ==
                TIDE_FINISH_QUEUED);
    tide_tracker_cancel_finish(s->tracker, axis_at(9), &s->nodes[0]);
  }
}

/* A wait for 8 axes, then cancelled. */
static void frontier_wait_and_cancel(void *state, uint64_t count) {
  struct state *s = state;
  tide_frontier_clear(&s->needs.frontier);
  for (uint64_t i = 0; i < NEEDS; i++)
    tide_frontier_raise(&s->needs.frontier, axis_at(8 * i), 1000, NULL);
  for (uint64_t i = 0; i < count; i++) {
    BENCH_CHECK(tide_tracker_wait(s->tracker, &s->needs.frontier, &s->wait, NEEDS) == TIDE_OK);
    BENCH_CHECK(tide_tracker_cancel(&s->wait));
  }
}

#define FIGURE(figure, make_state, function)                                                       \
  { .name = figure, .setup = make_state, .teardown = drop, .ours = function, .rounds = 9 }
#define AGAINST(figure, make_state, function, against)                                             \
  {                                                                                                \
    .name = figure, .rival = "mutex and lists", .setup = make_state, .teardown = drop,             \
    .ours = function, .theirs = against, .rounds = 9                                               \
  }

const struct bench_figure bench_tracker[] = {
    AGAINST("finished_64_axes", make, finished, finished_plain),
    FIGURE("satisfied_8_by_tracker", make, satisfied),
    AGAINST("advance_nobody_waits", make, advance, advance_plain),
    AGAINST("advance_1024_wait_far_off", make_waiting, advance, advance_plain),
    FIGURE("wait_and_fire", make, wait_and_fire),
    FIGURE("wait_and_cancel", make, wait_and_cancel),
    FIGURE("frontier_wait_8_and_cancel", make, frontier_wait_and_cancel),
    {0}};
