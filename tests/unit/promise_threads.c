/* A host and an operation want the same value of a timeline at the same time: one of them gets it,
 * and the other is told so at once. */
#include "fake_device.h"

#include <pthread.h>

/* ---- at once ------------------------------------------------------------------------------------
 */

#define ROUNDS (20000 / test_slowdown())

struct race {
  struct tide_timeline *timeline;
  uint64_t round, answered; /* the host signals round's value once it is there */
  enum tide_status status;
};

static void *host(void *self) {
  struct race *race = self;
  for (uint64_t round = 1; round <= ROUNDS; round++) {
    while (__atomic_load_n(&race->round, __ATOMIC_ACQUIRE) < round) {}
    race->status = tide_timeline_signal_external(race->timeline, round);
    __atomic_store_n(&race->answered, round, __ATOMIC_RELEASE);
  }
  return NULL;
}

TEST(one_of_two_gets_the_value) {
  static struct fake f;
  struct race race = {0};
  pthread_t thread;
  struct tide_diag diag;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  race.timeline = fake_timeline(&f, "t", false);
  CHECK(pthread_create(&thread, NULL, host, &race) == 0);
  for (uint64_t round = 1; round <= ROUNDS; round++) {
    f.event_count = 0;
    struct tide_operation x = OPERATION(.label = "x", SIGNALS({race.timeline, round}));
    __atomic_store_n(&race.round, round, __ATOMIC_RELEASE);
    enum tide_status status = tide_queue_submit(a, &x, NULL, &diag);
    while (__atomic_load_n(&race.answered, __ATOMIC_ACQUIRE) < round) {}
    if (status == TIDE_OK) {
      CHECK_STATUS(race.status, TIDE_VALUE);
      fake_run(&f, "x");
      CHECK_STATUS(fake_status(&f, "x"), TIDE_OK);
    } else {
      CHECK_STATUS(status, TIDE_VALUE);
      CHECK_OK(race.status);
      CHECK(strstr(diag.text, "'x'") && strstr(diag.text, "'t'"));
    }
    CHECK_EQ_U64(tide_timeline_query(race.timeline), round);
  }
  CHECK(pthread_join(thread, NULL) == 0);
  tide_queue_destroy(a);
  tide_timeline_destroy(race.timeline);
  fake_close(&f);
}

TEST_MAIN(CASE(one_of_two_gets_the_value))
