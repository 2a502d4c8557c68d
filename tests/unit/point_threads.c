/* Points with threads: promisers, keepers, breakers, waiters and the deadlines' own thread at once.
 */
#include "point_rig.h"

#include <pthread.h>
#include <stdatomic.h>

#define ROUNDS 1500
#define WAITERS 3

struct shared {
  struct tide_context *context;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_future *future;
  struct tide_point names[ROUNDS + 1];
  _Atomic uint64_t promised;
  atomic_uint calls;
};

static uint64_t round_of(struct shared *s, uint64_t after) {
  uint64_t promised;
  while ((promised = atomic_load(&s->promised)) <= after)
    s->context->platform->yield(s->context->platform->self);
  return promised;
}

/* Promises one after the other, and keeps most; others it breaks, some are for their deadlines. */
static void *promiser(void *self) {
  struct shared *s = self;
  const struct tide_platform *platform = s->context->platform;
  for (uint64_t i = 1; i <= ROUNDS; i++) {
    bool late = i % 50 == 7;
    uint64_t soon = platform->now(platform->self) + (late ? MS / 10 : 5000 * MS);
    struct tide_point point;
    enum tide_status status;
    while ((status = tide_future_promise(s->future, soon, &point)) == TIDE_FULL)
      platform->yield(platform->self);
    CHECK_OK(status);
    CHECK_EQ_U64(point.value, i);
    s->names[i] = point;
    atomic_store(&s->promised, i);
    if (late) continue;
    if (i % 10 == 3) {
      CHECK_OK(tide_future_break(s->future, i, TIDE_LOST));
    } else {
      CHECK_OK(tide_future_fulfil(s->future, i, NULL));
    }
  }
  return NULL;
}

static void *waiter(void *self) {
  struct shared *s = self;
  for (uint64_t i = 1; i <= ROUNDS; i++) {
    round_of(s, i - 1);
    enum tide_status status = tide_point_wait(s->points, s->names[i], TIDE_FOREVER), again;
    enum tide_point_state state;
    if (i % 50 == 7) CHECK(status == TIDE_OK || status == TIDE_TIMED_OUT); /* covered, or late */
    else CHECK_STATUS(status, i % 10 == 3 ? TIDE_LOST : TIDE_OK);
    CHECK_OK(tide_point_state(s->points, s->names[i], &state, &again));
    CHECK_STATUS(again, status);
    CHECK(state == (status ? TIDE_POINT_BROKEN : TIDE_POINT_RETIRED));
  }
  return NULL;
}

static void count(struct tide_schedulable *wait, enum tide_status status) {
  struct shared *s = wait->user;
  (void)status;
  atomic_fetch_add(&s->calls, 1);
}

/* Waits for "schedulable", and cancels half of them. */
static void *watcher(void *self) {
  struct shared *s = self;
  static struct tide_schedulable waits[ROUNDS + 1];
  unsigned called = 0;
  for (uint64_t i = 1; i <= ROUNDS; i++) {
    round_of(s, i - 1);
    waits[i] = (struct tide_schedulable){.call = count, .user = s, .client = s->client};
    CHECK_OK(tide_point_when_schedulable(&waits[i], s->names[i], NULL, 0));
    if (i % 2 == 0 || !tide_schedulable_cancel(&waits[i])) called++;
  }
  while (atomic_load(&s->calls) < called) s->context->platform->yield(s->context->platform->self);
  return NULL;
}

/* Compounds over what is there, defined while it ends. */
static void *combiner(void *self) {
  struct shared *s = self;
  struct tide_client *client;
  CHECK_OK(tide_client_create(s->points, NULL, &client));
  for (uint64_t i = 1; i < ROUNDS; i++) {
    uint64_t newest = round_of(s, i);
    struct tide_point parts[3] = {s->names[i], s->names[i + 1], s->names[newest]}, all, any;
    enum tide_status status;
    CHECK_OK(tide_compound_promise(client, 0, &all));
    CHECK_OK(tide_compound_promise(client, 0, &any));
    CHECK_OK(tide_compound_any(client, any, (struct tide_point[]){parts[0], all}, 2));
    CHECK_OK(tide_compound_expression(client, all, "(0|1)&2|0&1", 11, parts, 3, NULL));
    status = tide_point_wait(s->points, any, TIDE_FOREVER);
    CHECK(status == TIDE_OK || status == TIDE_LOST || status == TIDE_TIMED_OUT);
    if (tide_point_wait(s->points, all, TIDE_FOREVER) == TIDE_OK) CHECK_OK(status);
    CHECK_OK(tide_compound_destroy(client, all));
    CHECK_OK(tide_compound_destroy(client, any));
  }
  tide_client_destroy(client, TIDE_OK);
  return NULL;
}

TEST(all_at_once) {
  static struct shared s;
  static void *(*const roles[])(void *) = {promiser, waiter, waiter, watcher, combiner};
  pthread_t threads[sizeof roles / sizeof *roles];
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = 512};
  CHECK_OK(tide_context_create(NULL, &s.context));
  CHECK_OK(tide_points_create(s.context, NULL, &s.points));
  CHECK_OK(tide_client_create(s.points, NULL, &s.client));
  CHECK_OK(tide_future_create(s.client, &params, &s.future));
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
    CHECK(pthread_create(&threads[i], NULL, roles[i], &s) == 0);
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
    CHECK(pthread_join(threads[i], NULL) == 0);
  tide_client_destroy(s.client, TIDE_OK);
  tide_points_destroy(s.points);
  tide_context_destroy(s.context);
}

/* Clients that come and go, while others wait for what they promised: nobody hangs. */
static void *comes_and_goes(void *self) {
  struct shared *s = self;
  for (uint64_t i = 1; i <= ROUNDS / 5; i++) {
    struct tide_client *client;
    struct tide_future *f;
    CHECK_OK(tide_client_create(s->points, NULL, &client));
    CHECK_OK(tide_future_create(client, NULL, &f));
    CHECK_OK(tide_future_promise(f, 0, &s->names[i]));
    atomic_store(&s->promised, i);
    if (i % 3 == 0) CHECK_OK(tide_future_fulfil(f, 1, NULL));
    if (i % 3 == 1) tide_future_destroy(f);
    tide_client_destroy(client, TIDE_OK);
  }
  return NULL;
}

static void *waits_for_them(void *self) {
  struct shared *s = self;
  for (uint64_t i = 1; i <= ROUNDS / 5; i++) {
    round_of(s, i - 1);
    enum tide_status status = tide_point_wait(s->points, s->names[i], TIDE_FOREVER);
    CHECK(status == TIDE_NOT_FOUND || status == TIDE_CANCELLED || status == TIDE_OWNER_DIED ||
          (status == TIDE_OK && i % 3 == 0));
  }
  return NULL;
}

TEST(clients_come_and_go) {
  static struct shared s;
  pthread_t threads[WAITERS];
  CHECK_OK(tide_context_create(NULL, &s.context));
  CHECK_OK(tide_points_create(s.context, NULL, &s.points));
  for (int i = 0; i < WAITERS; i++)
    CHECK(pthread_create(&threads[i], NULL, i ? waits_for_them : comes_and_goes, &s) == 0);
  for (int i = 0; i < WAITERS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  tide_points_destroy(s.points);
  tide_context_destroy(s.context);
}

TEST_MAIN(CASE(all_at_once), CASE(clients_come_and_go))
