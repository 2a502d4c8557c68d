/* The tracker: looking up, advancing, waiting, with few and with many who wait. */
#include "bench.h"

#include "base/counter.h"
#include "base/random.h"
#include "causal/frontier.h"
#include "causal/tracker.h"

#include <pthread.h>
#include <stdlib.h>

enum { AXES = 64, WAITERS = 1024, NEEDS = 8, WIDEST = 64, ORDERS = 64 };

/* The rival: a mutex around an array of axes, each with a list of those who wait for it. */
struct plain_waiter {
  struct plain_waiter *next;
  uint64_t epoch;
  struct plain_join *join; /* NULL: one that is never due */
};
struct plain_join { /* one who waits for several axes */
  uint32_t remaining;
  struct plain_waiter *needs;
};
struct plain_axis {
  tide_axis axis;
  uint64_t epoch;
  struct plain_waiter *waiting;
};

struct state {
  struct tide_tracker *tracker;
  struct tide_tracker_axis *at; /* the axis that advances */
  size_t plain_at;
  uint64_t epoch;
  struct tide_finish_wait finishes[WAITERS];
  struct tide_frontier_wait wait;
  struct tide_waiter waiters[NEEDS];
  TIDE_FRONTIER_STORAGE(needs, NEEDS);
  TIDE_FRONTIER_STORAGE(knows, NEEDS);
  pthread_mutex_t mutex;
  struct plain_axis plain[AXES];
  struct plain_waiter plain_waiters[WAITERS];
  /* fans */
  size_t width;
  uint64_t fired;
  struct tide_tracker_axis *all[AXES];
  struct tide_frontier_wait joins[WAITERS];
  struct tide_waiter *join_nodes; /* one a need */
  struct plain_join plain_joins[WAITERS];
  struct plain_waiter *plain_needs;
  uint8_t orders[ORDERS][WIDEST]; /* in which axes advance */
  TIDE_FRONTIER_STORAGE(wanted, WIDEST);
};

static tide_axis axis_at(uint64_t i) { return tide_axis_make(0, TIDE_DOMAIN_QUEUE, 1 + i); }

static void on_node(struct tide_node *node, enum tide_status status) { (void)node, (void)status; }
static void on_wait(struct tide_frontier_wait *wait, enum tide_status status) {
  (void)wait, (void)status;
}

static void *make(void) {
  struct state *s = calloc(1, sizeof *s);
  if (!s) bench_wrong("memory");
  struct tide_tracker_params params = {
      .struct_size = sizeof params, tide_allocator_system(), tide_platform_linux()};
  BENCH_CHECK(tide_tracker_create(&params, &s->tracker) == TIDE_OK);
  tide_frontier_init(&s->needs.frontier, NEEDS);
  tide_frontier_init(&s->knows.frontier, NEEDS);
  for (uint64_t i = 0; i < AXES; i++) {
    BENCH_CHECK(tide_tracker_register(s->tracker, axis_at(i)) == TIDE_OK);
    BENCH_CHECK(tide_tracker_advance(s->tracker, axis_at(i), 10) == TIDE_OK);
    s->plain[i] = (struct plain_axis){axis_at(i), 10, NULL};
    if (i % (AXES / NEEDS) == 0) tide_frontier_raise(&s->needs.frontier, axis_at(i), 10, NULL);
  }
  for (uint64_t i = 0; i < WAITERS; i++) s->finishes[i].node.fire = on_node;
  s->at = tide_tracker_find(s->tracker, axis_at(7));
  s->plain_at = 7;
  s->epoch = 10;
  s->wait = (struct tide_frontier_wait){.nodes = s->waiters, .done = on_wait};
  pthread_mutex_init(&s->mutex, NULL);
  return s;
}

/* All wait for far-off epochs of one axis: the one that advances, or another. */
static void *make_far(size_t axis) {
  struct state *s = make();
  s->at = tide_tracker_find(s->tracker, axis_at(axis));
  s->plain_at = axis;
  for (uint64_t i = 0; i < WAITERS; i++) {
    uint64_t epoch = UINT64_MAX - 1 - i * 7 % WAITERS;
    BENCH_CHECK(tide_tracker_wait_finish(s->tracker, axis_at(7), epoch, &s->finishes[i]));
    s->plain_waiters[i] = (struct plain_waiter){s->plain[7].waiting, epoch, NULL};
    s->plain[7].waiting = &s->plain_waiters[i];
  }
  return s;
}
static void *make_waiting(void) { return make_far(7); }
static void *make_elsewhere(void) { return make_far(8); }

static void drop(void *state) {
  struct state *s = state;
  for (uint64_t i = 0; i < WAITERS; i++)
    (void)tide_tracker_cancel_finish(s->tracker, &s->finishes[i]);
  tide_tracker_destroy(s->tracker);
  pthread_mutex_destroy(&s->mutex);
  free(s->join_nodes);
  free(s->plain_needs);
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
    struct plain_axis *at = &s->plain[s->plain_at];
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
    BENCH_CHECK(tide_tracker_wait_finish(s->tracker, axis_at(7), s->epoch + 1, &s->finishes[0]));
    advance(s, 1);
  }
}

static void wait_and_cancel(void *state, uint64_t count) {
  struct state *s = state;
  for (uint64_t i = 0; i < count; i++) {
    BENCH_CHECK(tide_tracker_wait_finish(s->tracker, axis_at(9), 100 + i, &s->finishes[0]));
    BENCH_CHECK(tide_tracker_cancel_finish(s->tracker, &s->finishes[0]));
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

/* ---- fans ---- */

static void on_join(struct tide_frontier_wait *wait, enum tide_status status) {
  struct state *s = wait->user;
  s->fired += status == TIDE_OK;
}

enum order { ascending, shuffled, backwards };

static void order_axes(struct state *s, enum order order) {
  struct tide_random random = {s->width};
  for (size_t k = 0; k < ORDERS; k++) {
    for (size_t i = 0; i < s->width; i++)
      s->orders[k][i] = (uint8_t)(order == backwards ? s->width - 1 - i : i);
    for (size_t i = s->width; order == shuffled && i-- > 1;) {
      size_t other = tide_random_below(&random, i + 1);
      uint8_t axis = s->orders[k][i];
      s->orders[k][i] = s->orders[k][other];
      s->orders[k][other] = axis;
    }
  }
}

/* `joins` who wait for `needs` axes each. */
static struct state *make_joins(size_t joins, size_t needs) {
  struct state *s = make();
  s->join_nodes = calloc(joins * needs, sizeof *s->join_nodes);
  s->plain_needs = calloc(joins * needs, sizeof *s->plain_needs);
  if (!s->join_nodes || !s->plain_needs) bench_wrong("memory");
  for (size_t i = 0; i < AXES; i++) s->all[i] = tide_tracker_find(s->tracker, axis_at(i));
  for (size_t i = 0; i < joins; i++) {
    s->joins[i] =
        (struct tide_frontier_wait){.nodes = s->join_nodes + i * needs, .done = on_join, .user = s};
    s->plain_joins[i].needs = s->plain_needs + i * needs;
  }
  tide_frontier_init(&s->wanted.frontier, WIDEST);
  for (size_t i = 0; i < needs; i++) tide_frontier_raise(&s->wanted.frontier, axis_at(i), 1, NULL);
  return s;
}

static void *make_fan_in(size_t width, enum order order) {
  struct state *s = make_joins(1, width);
  s->width = width;
  order_axes(s, order);
  return s;
}

static void *make_fan_out(size_t width) {
  struct state *s = make_joins(width, 1);
  s->width = width;
  return s;
}

static void advance_axis(struct state *s, size_t axis, uint64_t epoch) {
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_tracker_advance_collect(s->tracker, s->all[axis], epoch, &fired);
  tide_fired_run(&fired);
}

static void advance_plain_axis(struct state *s, size_t axis, uint64_t epoch) {
  struct plain_axis *at = &s->plain[axis];
  pthread_mutex_lock(&s->mutex);
  at->epoch = epoch;
  for (struct plain_waiter **link = &at->waiting; *link;) {
    struct plain_waiter *waiter = *link;
    if (waiter->epoch > epoch) {
      link = &waiter->next;
      continue;
    }
    *link = waiter->next;
    if (--waiter->join->remaining == 0) s->fired++;
  }
  pthread_mutex_unlock(&s->mutex);
}

/* One who waits for `axes` of them at `epoch`: both only write the epochs down. */
static void join(struct state *s, size_t who, size_t axes, uint64_t epoch) {
  struct tide_frontier *wanted = &s->wanted.frontier; /* of axes one behind the other */
  uint64_t *epochs = tide_frontier_at(wanted, tide_frontier_slot(wanted, axis_at(0)));
  for (size_t i = 0; i < axes; i++) epochs[i] = epoch;
  BENCH_CHECK(tide_tracker_wait(s->tracker, &s->wanted.frontier, &s->joins[who], axes) == TIDE_OK);
}

static void join_plain(struct state *s, size_t who, size_t axes, uint64_t epoch) {
  struct plain_join *join = &s->plain_joins[who];
  pthread_mutex_lock(&s->mutex);
  join->remaining = (uint32_t)axes;
  for (size_t i = 0; i < axes; i++) {
    join->needs[i] = (struct plain_waiter){s->plain[i].waiting, epoch, join};
    s->plain[i].waiting = &join->needs[i];
  }
  pthread_mutex_unlock(&s->mutex);
}

/* One waits for `width` axes; they advance, and it fires at the last. */
static void fan_in(void *state, uint64_t count) {
  struct state *s = state;
  uint64_t before = s->fired;
  for (uint64_t n = 0; n < count; n++) {
    join(s, 0, s->width, ++s->epoch);
    const uint8_t *order = s->orders[n % ORDERS];
    for (size_t i = 0; i < s->width; i++) advance_axis(s, order[i], s->epoch);
  }
  BENCH_CHECK(s->fired == before + count);
}

static void fan_in_plain(void *state, uint64_t count) {
  struct state *s = state;
  uint64_t before = s->fired;
  for (uint64_t n = 0; n < count; n++) {
    join_plain(s, 0, s->width, ++s->epoch);
    const uint8_t *order = s->orders[n % ORDERS];
    for (size_t i = 0; i < s->width; i++) advance_plain_axis(s, order[i], s->epoch);
  }
  BENCH_CHECK(s->fired == before + count);
}

/* `width` wait for one axis, which frees them all at once. */
static void fan_out(void *state, uint64_t count) {
  struct state *s = state;
  uint64_t before = s->fired;
  for (uint64_t n = 0; n < count; n++) {
    s->epoch++;
    for (size_t i = 0; i < s->width; i++) join(s, i, 1, s->epoch);
    advance_axis(s, 0, s->epoch);
  }
  BENCH_CHECK(s->fired == before + count * s->width);
}

static void fan_out_plain(void *state, uint64_t count) {
  struct state *s = state;
  uint64_t before = s->fired;
  for (uint64_t n = 0; n < count; n++) {
    s->epoch++;
    for (size_t i = 0; i < s->width; i++) join_plain(s, i, 1, s->epoch);
    advance_plain_axis(s, 0, s->epoch);
  }
  BENCH_CHECK(s->fired == before + count * s->width);
}

#define FANS_IN(X, order)                                                                          \
  X(order, 1) X(order, 2) X(order, 4) X(order, 8) X(order, 16) X(order, 32) X(order, 64)
#define FANS_OUT(X) X(1) X(16) X(64) X(256) X(1024)
#define MAKE_IN(order, n)                                                                          \
  static void *make_in_##order##_##n(void) { return make_fan_in(n, order); }
#define MAKE_OUT(n)                                                                                \
  static void *make_out_##n(void) { return make_fan_out(n); }
FANS_IN(MAKE_IN, ascending)
FANS_IN(MAKE_IN, shuffled)
MAKE_IN(backwards, 16)
FANS_OUT(MAKE_OUT)

#define FAN(kind, make_state, label, n, along_what)                                                \
  {.name = label "_" #n,                                                                           \
   .rival = "mutex and lists",                                                                     \
   .setup = make_state,                                                                            \
   .teardown = drop,                                                                               \
   .ours = fan_##kind,                                                                             \
   .theirs = fan_##kind##_plain,                                                                   \
   .curve = label,                                                                                 \
   .at = n,                                                                                        \
   .along = along_what,                                                                            \
   .rounds = 9},
#define FAN_IN(order, n) FAN(in, make_in_##order##_##n, "fan_in_" #order, n, "axes")
#define FAN_OUT(n) FAN(out, make_out_##n, "fan_out", n, "waiters")

#define FIGURE(figure, make_state, function)                                                       \
  { .name = figure, .setup = make_state, .teardown = drop, .ours = function, .rounds = 9 }
#define AGAINST(figure, make_state, function, against)                                             \
  {                                                                                                \
    .name = figure, .rival = "mutex and lists", .setup = make_state, .teardown = drop,             \
    .ours = function, .theirs = against, .rounds = 9                                               \
  }

/* clang-format off */
const struct bench_figure bench_tracker[] = {
    AGAINST("finished_64_axes", make, finished, finished_plain),
    FIGURE("satisfied_8_by_tracker", make, satisfied),
    AGAINST("advance_nobody_waits", make, advance, advance_plain),
    AGAINST("advance_1024_wait_far_off", make_waiting, advance, advance_plain),
    AGAINST("advance_1024_wait_elsewhere", make_elsewhere, advance, advance_plain),
    FIGURE("wait_and_fire", make, wait_and_fire),
    FIGURE("wait_and_cancel", make, wait_and_cancel),
    FIGURE("frontier_wait_8_and_cancel", make, frontier_wait_and_cancel),
    FANS_IN(FAN_IN, ascending) FANS_IN(FAN_IN, shuffled) FAN_IN(backwards, 16)
    FANS_OUT(FAN_OUT)
    {0}};
