/* Timelines under many threads: nothing is lost, nothing comes twice, a value and its record never
 * come apart. */
#include "causal/context_state.h"
#include "harness.h"
#include "tidemark/timeline.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct tide_context *context;

static void open_context(void) { CHECK_OK(tide_context_create(NULL, &context)); }
static void close_context(void) { tide_context_destroy(context); }

static struct tide_timeline *make(uint32_t history) {
  struct tide_timeline *timeline;
  struct tide_timeline_params params = {
      .struct_size = sizeof params, .label = "t", .history = history};
  CHECK_OK(tide_timeline_create(context, &params, &timeline));
  return timeline;
}

static uint64_t now(void) { return context->platform->now(context->platform->self); }
static uint64_t rounds(uint64_t n) { return n / test_slowdown(); }

static void run_threads(void *(*body)(void *), size_t count) {
  pthread_t threads[32];
  for (size_t i = 0; i < count; i++) CHECK(pthread_create(&threads[i], NULL, body, (void *)i) == 0);
  for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

/* ---- to and fro ------------------------------------------------------------------------- */

static struct tide_timeline *ping, *pong;

static void *play(void *argument) {
  bool first = argument == NULL;
  for (uint64_t i = 1; i <= rounds(20000); i++) {
    if (first) CHECK_OK(tide_timeline_signal_external(ping, i));
    CHECK_OK(tide_timeline_wait(first ? pong : ping, i, TIDE_FOREVER));
    if (!first) CHECK_OK(tide_timeline_signal_external(pong, i));
  }
  return NULL;
}

TEST(to_and_fro) {
  open_context();
  ping = make(1);
  pong = make(1);
  run_threads(play, 2);
  CHECK_EQ_U64(tide_timeline_query(pong), rounds(20000));
  tide_timeline_destroy(ping);
  tide_timeline_destroy(pong);
  close_context();
}

/* ---- a value and its record --------------------------------------------------------------------
 */

static struct tide_timeline *line;
static uint64_t last_value;

static void *raise_tracked(void *argument) {
  (void)argument;
  TIDE_FRONTIER_STORAGE(known, 16);
  tide_frontier_init(&known.frontier, 16);
  struct tide_position position = {.frontier = &known.frontier};
  CHECK_OK(tide_lease_take(context->lease, TIDE_DOMAIN_HOST, &position.axis));
  CHECK_OK(tide_tracker_register(context->tracker, position.axis));
  for (uint64_t v = 1; v <= last_value; v++) CHECK_OK(tide_timeline_signal(line, v, &position));
  return NULL;
}

static void *ask(void *argument) {
  TIDE_FRONTIER_STORAGE(known, 16);
  struct tide_record_info info;
  uint64_t value = 0;
  tide_frontier_init(&known.frontier, 16);
  if (argument == (void *)0) return raise_tracked(NULL);
  while (value < last_value) {
    value = tide_timeline_query(line);
    if (value == 0) continue;
    CHECK_OK(tide_timeline_frontier_at(line, value, &known.frontier, &info));
    /* Whoever reads v never gets an older record; and its signaller has finished. */
    CHECK(info.value >= value && info.epoch == info.value && info.coarse == (info.value > value));
    CHECK_EQ_U64(tide_frontier_get(&known.frontier, info.axis), info.epoch);
    CHECK(tide_tracker_finished(context->tracker, info.axis, info.epoch));
  }
  return NULL;
}

TEST(value_and_record) {
  open_context();
  line = make(4);
  last_value = rounds(100000);
  run_threads(ask, 4);
  tide_timeline_destroy(line);
  close_context();
}

/* ---- everybody wakes
 * ------------------------------------------------------------------------------ */

static void *wait_steps(void *argument) {
  uint64_t step = (uint64_t)(uintptr_t)argument + 1;
  for (uint64_t v = step; v <= last_value; v += step) {
    uint64_t deadline = v % 3 ? TIDE_FOREVER : now() + 20000;
    enum tide_status status = tide_timeline_wait(line, v, deadline);
    CHECK(status == TIDE_OK || (status == TIDE_TIMEOUT && deadline != TIDE_FOREVER));
    if (status == TIDE_OK) CHECK(tide_timeline_query(line) >= v);
  }
  return NULL;
}

static void *raise_external(void *argument) {
  if (argument != (void *)0) return wait_steps((void *)((uintptr_t)argument * 7));
  for (uint64_t v = 1; v <= last_value; v++) CHECK_OK(tide_timeline_signal_external(line, v));
  return NULL;
}

TEST(everybody_wakes) {
  open_context();
  line = make(1);
  last_value = rounds(20000);
  run_threads(raise_external, 8);
  tide_timeline_destroy(line);
  close_context();
}

/* Of threads that race to signal the same values each value goes to one. */
static uint64_t won;

static void *race(void *argument) {
  (void)argument;
  for (uint64_t v = 1; v <= last_value; v++) {
    enum tide_status status = tide_timeline_signal_external(line, v);
    CHECK(status == TIDE_OK || status == TIDE_VALUE);
    if (status == TIDE_OK) __atomic_fetch_add(&won, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

TEST(racing_signals) {
  open_context();
  line = make(1);
  last_value = rounds(50000);
  run_threads(race, 4);
  CHECK_EQ_U64(tide_timeline_query(line), last_value);
  CHECK(won > 0 && won <= last_value);
  tide_timeline_destroy(line);
  close_context();
}

/* ---- failing and destroying
 * ------------------------------------------------------------------------ */

static void *until_failed(void *argument) {
  if (argument == (void *)0) {
    for (uint64_t v = 1; v <= 200; v++) CHECK_OK(tide_timeline_signal_external(line, v));
    tide_timeline_fail(line, TIDE_IO);
    return NULL;
  }
  enum tide_status status = TIDE_OK;
  for (uint64_t v = 1; status == TIDE_OK; v++) {
    status = tide_timeline_wait(line, v, TIDE_FOREVER);
    if (status != TIDE_OK) CHECK_EQ_U64(v, 201);
  }
  CHECK_STATUS(status, TIDE_IO);
  return NULL;
}

TEST(failing_wakes_everybody) {
  open_context();
  for (uint64_t i = 0; i < rounds(50); i++) {
    line = make(1);
    run_threads(until_failed, 6);
    tide_timeline_destroy(line);
  }
  close_context();
}

/* Destroying fails its waiters; those whose deadline comes at that very moment, too. */
static uint32_t waiting;

static void *until_destroyed(void *argument) {
  if (argument == (void *)0) {
    while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) < 4) {}
    uint64_t start = now();
    while (now() < start + 30000) {}
    tide_timeline_destroy(line);
    return NULL;
  }
  struct tide_timeline *mine = line;
  uint64_t deadline =
      argument == (void *)1 ? TIDE_FOREVER : now() + 20000 + 5000 * (uint64_t)(uintptr_t)argument;
  __atomic_fetch_add(&waiting, 1, __ATOMIC_RELEASE);
  enum tide_status status = tide_timeline_wait(mine, 1, deadline);
  CHECK(status == TIDE_CANCELLED || (status == TIDE_TIMEOUT && argument != (void *)1));
  return NULL;
}

TEST(destroying_under_waiters) {
  open_context();
  for (uint64_t i = 0; i < rounds(300); i++) {
    line = make(1);
    /* A waiter that may not have begun when it is destroyed needs a reference of its own. */
    struct tide_timeline *held = line;
    tide_timeline_retain(held);
    waiting = 0;
    run_threads(until_destroyed, 5);
    tide_timeline_release(held);
  }
  close_context();
}

/* A waiter gives up at the very moment when the timeline is destroyed: it may not touch what is
 * gone. The clock and the allocator are the test's: the one stops the waiter between its last look
 * and its giving up, the other spoils what is freed. */
static struct tide_platform slow_platform;
static const struct tide_platform *real_platform;
static pthread_t giving_up;
static uint32_t
    stage; /* 1: the waiter sleeps; 2: it has seen its deadline; 3: the timeline is destroyed */

static uint64_t slow_now(void *self) {
  uint64_t time = real_platform->now(self);
  if (!pthread_equal(pthread_self(), giving_up) || __atomic_load_n(&stage, __ATOMIC_ACQUIRE) != 1)
    return time;
  __atomic_store_n(&stage, 2, __ATOMIC_RELEASE);
  while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != 3) {}
  return real_platform->now(self);
}

static void *spoil_alloc(void *unused, size_t size, size_t align) {
  (void)unused;
  return aligned_alloc(align, (size + align - 1) & ~(align - 1));
}
static void spoil_free(void *unused, void *memory, size_t size) {
  (void)unused;
  memset(memory, 0xdd, size);
#if defined(__SANITIZE_ADDRESS__)
  free(memory); /* it says more than we can */
#endif
}

static void *give_up(void *argument) {
  uint64_t *deadline = argument;
  giving_up = pthread_self();
  *deadline = real_platform->now(real_platform->self) + 1000000;
  __atomic_store_n(&stage, 1, __ATOMIC_RELEASE);
  enum tide_status status = tide_timeline_wait(line, 1, *deadline);
  CHECK(status == TIDE_CANCELLED || status == TIDE_TIMEOUT);
  return NULL;
}

TEST(destroyed_while_giving_up) {
  static const struct tide_allocator spoiler = {spoil_alloc, spoil_free, NULL};
  real_platform = tide_platform_linux();
  slow_platform = *real_platform;
  slow_platform.now = slow_now;
  struct tide_context_params params = {
      .struct_size = sizeof params, .platform = &slow_platform, .allocator = &spoiler};
  CHECK_OK(tide_context_create(&params, &context));
  line = make(1);
  pthread_t thread;
  uint64_t deadline;
  CHECK(pthread_create(&thread, NULL, give_up, &deadline) == 0);
  while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != 2) {}
  tide_timeline_destroy(line);
  __atomic_store_n(&stage, 3, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  close_context();
}

/* ---- timepoints: called once, or cancelled
 * ------------------------------------------------------------ */

enum { POINTS = 64 };
static uint32_t points_called, points_cancelled;

struct once {
  struct tide_timepoint timepoint;
  uint32_t called;
};

static void count_call(struct tide_timepoint *timepoint, enum tide_status status) {
  struct once *once = (struct once *)(void *)timepoint;
  CHECK(status == TIDE_OK || status == TIDE_IO);
  CHECK_EQ_U64(__atomic_fetch_add(&once->called, 1, __ATOMIC_ACQ_REL), 0);
  __atomic_fetch_add(&points_called, 1, __ATOMIC_ACQ_REL);
}

static void *register_and_cancel(void *argument) {
  static struct once points[4][POINTS];
  size_t me = (size_t)argument;
  if (me == 0) {
    for (uint64_t v = 1; v <= last_value; v++) CHECK_OK(tide_timeline_signal_external(line, v));
    tide_timeline_fail(line, TIDE_IO);
    return NULL;
  }
  for (uint64_t round = 0; tide_timeline_status(line) == TIDE_OK; round++) {
    uint64_t value = tide_timeline_query(line);
    for (size_t i = 0; i < POINTS; i++) {
      points[me][i].called = 0;
      points[me][i].timepoint =
          (struct tide_timepoint){.call = count_call, .timeline = line, .value = value + i};
      CHECK_OK(tide_timepoint_add(&points[me][i].timepoint));
    }
    for (size_t i = POINTS; i-- > 0;) {
      bool cancelled = tide_timepoint_cancel(&points[me][i].timepoint);
      if (cancelled) __atomic_fetch_add(&points_cancelled, 1, __ATOMIC_ACQ_REL);
      while (!cancelled && !__atomic_load_n(&points[me][i].called, __ATOMIC_ACQUIRE)) {}
      if (cancelled) CHECK_EQ_U64(__atomic_load_n(&points[me][i].called, __ATOMIC_ACQUIRE), 0);
    }
  }
  return NULL;
}

TEST(timepoints_once) {
  open_context();
  line = make(1);
  last_value = rounds(200000);
  run_threads(register_and_cancel, 4);
  CHECK((points_called + points_cancelled) % POINTS == 0);
  tide_timeline_destroy(line);
  close_context();
}

/* ---- any, all and sets
 * -------------------------------------------------------------------------------- */

static struct tide_timeline *lines[8];

static void *any_of_eight(void *argument) {
  size_t me = (size_t)argument;
  if (me < 2) {
    for (uint64_t v = 1; v <= last_value; v++)
      for (size_t i = me; i < 8; i += 2) CHECK_OK(tide_timeline_signal_external(lines[i], v));
    return NULL;
  }
  for (uint64_t v = 1; v <= last_value;) {
    struct tide_wait_point points[8];
    memset(points, 0, sizeof points);
    for (size_t i = 0; i < 8; i++)
      points[i] = (struct tide_wait_point){.timeline = lines[i], .value = v};
    size_t index = 99;
    uint64_t deadline = v % 4 == 0 ? now() + 1000 : TIDE_FOREVER;
    enum tide_status status =
        me == 2 ? tide_wait_any(points, 8, deadline, &index) : tide_wait_all(points, 8, deadline);
    if (status == TIDE_TIMEOUT) {
      CHECK(deadline != TIDE_FOREVER);
      continue;
    }
    CHECK_OK(status);
    if (me == 2) CHECK(tide_timeline_query(lines[index]) >= v);
    for (size_t i = 0; i < 8 && me == 3; i++) CHECK(tide_timeline_query(lines[i]) >= v);
    v++;
  }
  return NULL;
}

TEST(any_and_all) {
  open_context();
  last_value = rounds(5000);
  for (size_t i = 0; i < 8; i++) lines[i] = make(1);
  run_threads(any_of_eight, 4);
  for (size_t i = 0; i < 8; i++) tide_timeline_destroy(lines[i]);
  close_context();
}

static struct tide_wait_set *set;

static void *feed_the_set(void *argument) {
  if (argument == (void *)0) {
    for (uint64_t v = 1; v <= last_value; v++)
      for (size_t i = 0; i < 8; i++) CHECK_OK(tide_timeline_signal_external(lines[i], v));
    return NULL;
  }
  uint64_t reported = 0, added = 0, removed = 0, next[8] = {0};
  struct tide_wait_ready ready[4];
  size_t count;
  for (size_t i = 0; i < 8; i++, added++)
    CHECK_OK(tide_wait_set_add(set, lines[i], ++next[i], i, NULL));
  while (reported < 8 * last_value) {
    CHECK_OK(tide_wait_set_wait(set, ready, 4, TIDE_FOREVER, &count));
    for (size_t i = 0; i < count; i++) {
      size_t which = (size_t)ready[i].cookie;
      CHECK(ready[i].status == TIDE_OK && ready[i].value == next[which]);
      reported++;
      if (next[which] == last_value) continue;
      uint64_t member;
      CHECK_OK(tide_wait_set_add(set, lines[which], ++next[which], which, &member));
      added++;
      if (next[which] % 5 || !tide_wait_set_remove(set, member)) continue;
      removed++;
      CHECK_OK(tide_wait_set_add(set, lines[which], next[which], which, NULL));
      added++;
    }
  }
  CHECK_EQ_U64(added, reported + removed);
  return NULL;
}

TEST(sets) {
  open_context();
  last_value = rounds(20000);
  CHECK_OK(tide_wait_set_create(context, 8, &set));
  for (size_t i = 0; i < 8; i++) lines[i] = make(1);
  run_threads(feed_the_set, 2);
  tide_wait_set_destroy(set);
  for (size_t i = 0; i < 8; i++) tide_timeline_destroy(lines[i]);
  close_context();
}

/* ---- whoever blocks is counted: workers look at it before they let operations come together */

static void *block(void *argument) {
  size_t how = (size_t)argument;
  struct tide_wait_point points[2] = {{.timeline = line, .value = 1},
                                      {.timeline = line, .value = 2}};
  struct tide_wait_set *set;
  struct tide_wait_ready ready;
  size_t count;
  if (how == 0) CHECK_OK(tide_timeline_wait(line, 1, TIDE_FOREVER));
  if (how == 1) CHECK_OK(tide_wait_any(points, 2, TIDE_FOREVER, NULL));
  if (how == 2) CHECK_OK(tide_wait_all(points, 1, TIDE_FOREVER));
  if (how < 3) return NULL;
  CHECK_OK(tide_wait_set_create(context, 1, &set));
  CHECK_OK(tide_wait_set_add(set, line, 1, 0, NULL));
  CHECK_OK(tide_wait_set_wait(set, &ready, 1, TIDE_FOREVER, &count));
  tide_wait_set_destroy(set);
  return NULL;
}

TEST(who_blocks_is_counted) {
  for (size_t how = 0; how < 4; how++) {
    pthread_t thread;
    CHECK_OK(tide_context_create(NULL, &context));
    CHECK_OK(tide_timeline_create(context, NULL, &line));
    CHECK(!pthread_create(&thread, NULL, block, (void *)how));
    while (__atomic_load_n(&context->waiting, __ATOMIC_ACQUIRE) != 1) sched_yield();
    CHECK_OK(tide_timeline_signal_external(line, 1));
    CHECK(!pthread_join(thread, NULL));
    CHECK_EQ_U64(__atomic_load_n(&context->waiting, __ATOMIC_ACQUIRE), 0);
    tide_timeline_destroy(line);
    tide_context_destroy(context);
  }
}

TEST_MAIN(CASE(who_blocks_is_counted), CASE(to_and_fro), CASE(value_and_record),
          CASE(everybody_wakes), CASE(racing_signals), CASE(failing_wakes_everybody),
          CASE(destroying_under_waiters), CASE_SECONDS(destroyed_while_giving_up, 10),
          CASE(timepoints_once), CASE(any_and_all), CASE(sets))
