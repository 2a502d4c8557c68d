/* Many threads that wait for one timeline: who signals wakes few of them, these wake the others,
 * and nobody is left asleep, whoever gives up meanwhile. */
#include "base/random.h"
#include "harness.h"
#include "tidemark/timeline.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CROWD = 40 };

static struct tide_platform counting;
static const struct tide_platform *real;
static struct tide_context *context;
static struct tide_timeline *line;
static uint32_t asleep; /* how often somebody went to sleep */
static _Thread_local uint32_t wakes;

static void count_wait(void *self, const uint32_t *word, uint32_t expected, uint64_t deadline) {
  if (expected == 0) __atomic_fetch_add(&asleep, 1, __ATOMIC_ACQ_REL); /* no lock's nap */
  real->wait(self, word, expected, deadline);
}
static void count_wake(void *self, const uint32_t *word, uint32_t count) {
  wakes++;
  real->wake(self, word, count);
}

static void open_line(void) {
  real = tide_platform_linux();
  counting = *real;
  counting.wait = count_wait;
  counting.wake = count_wake;
  struct tide_context_params params = {.struct_size = sizeof params, .platform = &counting};
  CHECK_OK(tide_context_create(&params, &context));
  CHECK_OK(tide_timeline_create(context, NULL, &line));
  asleep = 0;
}
static void close_line(void) {
  tide_timeline_destroy(line);
  tide_context_destroy(context);
}

static uint64_t now(void) { return real->now(real->self); }

struct guest {
  pthread_t thread;
  uint64_t value, deadline;
  enum tide_status expected; /* TIDE_TIMEOUT: that, or TIDE_OK */
  uint32_t wakes;
};
static struct guest guests[CROWD];

static void *attend(void *argument) {
  struct guest *guest = argument;
  wakes = 0;
  enum tide_status status = tide_timeline_wait(line, guest->value, guest->deadline);
  if (status == TIDE_OK) CHECK(tide_timeline_query(line) >= guest->value);
  if (status != TIDE_OK || guest->expected != TIDE_TIMEOUT) CHECK_STATUS(status, guest->expected);
  guest->wakes = wakes;
  return NULL;
}

static void invite(size_t i, struct guest guest) {
  guests[i] = guest;
  CHECK(pthread_create(&guests[i].thread, NULL, attend, &guests[i]) == 0);
}
static void wait_until_asleep(uint32_t count) {
  while (__atomic_load_n(&asleep, __ATOMIC_ACQUIRE) < count) real->yield(real->self);
}
static void join_all(void) {
  for (size_t i = 0; i < CROWD; i++) pthread_join(guests[i].thread, NULL);
}

static uint32_t called;
static void on_call(struct tide_timepoint *timepoint, enum tide_status status) {
  (void)timepoint;
  CHECK_OK(status);
  called++; /* by the thread that signals: no other reads it */
}

/* One wake by the signaller, two at most by each of the crowd; and calls are the signaller's. */
TEST(few_wakes_each) {
  struct tide_timepoint points[2];
  open_line();
  called = 0;
  memset(points, 0, sizeof points);
  for (int i = 0; i < 2; i++) {
    points[i].call = on_call;
    points[i].timeline = line;
    points[i].value = 7;
    CHECK_OK(tide_timepoint_add(&points[i]));
    for (size_t g = 0; g < CROWD / 2; g++)
      invite((size_t)i * CROWD / 2 + g, (struct guest){.value = 7, .deadline = TIDE_FOREVER});
    wait_until_asleep(CROWD / 2 * ((uint32_t)i + 1));
  }
  wakes = 0;
  CHECK_OK(tide_timeline_signal_external(line, 7));
  CHECK_EQ_U64(wakes, 1);
  CHECK_EQ_U64(called, 2);
  join_all();
  for (size_t i = 0; i < CROWD; i++) {
    CHECK(guests[i].wakes <= 2);
    wakes += guests[i].wakes;
  }
  CHECK_EQ_U64(wakes, CROWD);
  close_line();
}

/* A few are woken by the signaller: nobody waits for another. */
TEST(small_crowd) {
  open_line();
  for (size_t i = 0; i < CROWD; i++)
    invite(i, (struct guest){.value = 1 + i / 4, .deadline = TIDE_FOREVER});
  wait_until_asleep(CROWD);
  for (uint64_t value = 1; value <= CROWD / 4; value++) {
    wakes = 0;
    CHECK_OK(tide_timeline_signal_external(line, value));
    CHECK_EQ_U64(wakes, 4);
  }
  join_all();
  for (size_t i = 0; i < CROWD; i++) CHECK_EQ_U64(guests[i].wakes, 0);
  close_line();
}

/* Values in and out of order, deadlines that pass around the signal, failure for the rest. */
TEST(who_gives_up) {
  struct tide_random random = {11};
  for (uint64_t round = 0; round < 200 / test_slowdown(); round++) {
    open_line();
    for (size_t i = 0; i < CROWD; i++) {
      bool patient = tide_random_below(&random, 2);
      uint64_t value = 1 + tide_random_below(&random, 6);
      invite(i, (struct guest){.value = value,
                               .deadline = patient ? TIDE_FOREVER
                                                   : now() + tide_random_below(&random, 2000000),
                               .expected = patient ? TIDE_OK : TIDE_TIMEOUT});
    }
    CHECK_OK(tide_timeline_signal_external(line, 1 + tide_random_below(&random, 3)));
    CHECK_OK(tide_timeline_signal_external(line, 6));
    join_all();
    close_line();
  }
}

/* All give up, in a random order, so that rings lose their heads in the list and in the heap. */
TEST(all_give_up) {
  struct tide_random random = {12};
  for (uint64_t round = 0; round < 50 / test_slowdown() + 1; round++) {
    open_line();
    uint64_t end = now() + 1000000;
    for (size_t i = 0; i < CROWD; i++)
      invite(i, (struct guest){.value = 1 + tide_random_below(&random, 4),
                               .deadline = end + tide_random_below(&random, 1000000),
                               .expected = TIDE_TIMEOUT});
    join_all();
    CHECK_OK(tide_timeline_signal_external(line, 9)); /* it would touch who is left */
    close_line();
  }
}

TEST(all_fail) {
  open_line();
  for (size_t i = 0; i < CROWD; i++)
    invite(i, (struct guest){
                  .value = 1 + i % 3, .deadline = TIDE_FOREVER, .expected = TIDE_CANCELLED});
  wait_until_asleep(CROWD);
  tide_timeline_fail(line, TIDE_CANCELLED);
  join_all();
  close_line();
}

TEST_MAIN(CASE(few_wakes_each), CASE(small_crowd), CASE(who_gives_up), CASE(all_give_up),
          CASE(all_fail))
