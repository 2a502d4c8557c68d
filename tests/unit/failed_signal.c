/* A signal that fails, is cancelled or is lost: the values that relied on it fail with it, for
 * every kind of waiter, early or late. A timeline without owners fails as if it were destroyed. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/atomic.h"
#include "fake_device.h"
#include "timeline/timeline_state.h"

/* ---- every kind of waiter ------------------------------------------------------------------ */

enum { THREE = 3, FIVE = 5 };

struct call {
  struct tide_timepoint point;
  enum tide_status status;
  bool called;
};

static void called(struct tide_timepoint *point, enum tide_status status) {
  struct call *call = (struct call *)(void *)point;
  call->status = status;
  __atomic_store_n(&call->called, true, __ATOMIC_RELEASE);
}

struct blocked {
  struct tide_timeline *timeline;
  bool any;
  uint32_t number;
  enum tide_status status;
  pthread_t thread;
};

static void *block(void *self) {
  struct blocked *blocked = self;
  struct tide_wait_point point = {.timeline = blocked->timeline, .value = THREE};
  test_thread_begins(&blocked->number);
  blocked->status = blocked->any ? tide_wait_any(&point, 1, TIDE_FOREVER, NULL)
                                 : tide_timeline_wait(blocked->timeline, THREE, TIDE_FOREVER);
  return NULL;
}

static void start(struct blocked *blocked, struct tide_timeline *timeline, bool any) {
  *blocked = (struct blocked){.timeline = timeline, .any = any};
  CHECK(pthread_create(&blocked->thread, NULL, block, blocked) == 0);
  while (!__atomic_load_n(&blocked->number, __ATOMIC_ACQUIRE)) usleep(100);
}

/* Those that wait for 3 when nothing has been decided yet. */
struct waiters {
  struct call call;
  struct blocked one, any;
  struct tide_wait_set *set;
};

static void wait_early(struct waiters *early, struct fake *f, struct tide_timeline *timeline) {
  early->call = (struct call){.point = {.timeline = timeline, .value = THREE, .call = called}};
  CHECK_OK(tide_timepoint_add(&early->call.point));
  CHECK_OK(tide_wait_set_create(f->context, 4, &early->set));
  CHECK_OK(tide_wait_set_add(early->set, timeline, THREE, 33, NULL));
  start(&early->one, timeline, false);
  start(&early->any, timeline, true);
}

static void all_failed(struct waiters *early, enum tide_status status) {
  struct tide_wait_ready ready;
  size_t count;
  pthread_join(early->one.thread, NULL);
  pthread_join(early->any.thread, NULL);
  CHECK_STATUS(early->one.status, status);
  CHECK_STATUS(early->any.status, status);
  CHECK(early->call.called);
  CHECK_STATUS(early->call.status, status);
  CHECK_OK(tide_wait_set_wait(early->set, &ready, 1, TIDE_NOW, &count));
  CHECK_EQ_U64(ready.cookie, 33);
  CHECK_STATUS(ready.status, status);
  tide_wait_set_destroy(early->set);
}

static void fails_for_latecomers(struct fake *f, struct tide_timeline *timeline,
                                 struct tide_queue *queue, enum tide_status status) {
  struct call call = {.point = {.timeline = timeline, .value = THREE, .call = called}};
  CHECK_STATUS(tide_timeline_wait(timeline, THREE, TIDE_FOREVER), status);
  CHECK_OK(tide_timepoint_add(&call.point));
  CHECK(call.called);
  CHECK_STATUS(call.status, status);
  CHECK_OK(SUBMIT(queue, .label = "late", WAITS({timeline, THREE})));
  CHECK_STATUS(fake_status(f, "late"), status);
}

/* ---- every way in which a signal does not come --------------------------------------------- */

enum way { FAILS, CANCELLED, HELD_CANCELLED, QUEUE_DESTROYED, DEVICE_LOST, DEPENDS, WAYS };

static const char *const way_names[WAYS] = {"body fails",           "cancelled",
                                            "cancelled while held", "queue destroyed",
                                            "device lost",          "a wait failed"};

static enum tide_status go_wrong(struct fake *f, enum way way, struct tide_queue **queue,
                                 uint64_t five, struct tide_timeline *other) {
  switch (way) {
    case FAILS:
      fake_take(f, "five");
      fake_give(f, "five", TIDE_IO);
      return TIDE_IO;
    case QUEUE_DESTROYED:
      tide_queue_destroy(*queue);
      *queue = NULL;
      return TIDE_CANCELLED;
    case DEVICE_LOST: tide_device_lose(f->device, TIDE_LOST); return TIDE_LOST;
    case DEPENDS: tide_timeline_fail(other, TIDE_CORRUPT); return TIDE_CORRUPT;
    default: CHECK_OK(tide_queue_cancel(*queue, five)); return TIDE_CANCELLED;
  }
}

TEST(all_waiters_are_told_early_or_late) {
  for (enum way way = FAILS; way < WAYS; way++) {
    struct fake f;
    struct waiters early;
    uint64_t five;
    fake_open(&f, true, 16);
    struct tide_queue *a = fake_queue(&f, "a");
    struct tide_queue *b = fake_queue_on(f.other, "b", 16), *c = fake_queue_on(f.other, "c", 16);
    struct tide_timeline *t = fake_timeline(&f, "t", false), *other = fake_timeline(&f, "o", false);
    bool held = way == HELD_CANCELLED || way == DEPENDS;
    struct tide_operation operation = OPERATION(.label = "five", SIGNALS({t, FIVE}));
    struct tide_wait wait = {other, 1};
    if (held) operation.waits = &wait, operation.wait_count = 1;
    CHECK_OK(tide_queue_submit(a, &operation, &five, NULL));
    CHECK_OK(SUBMIT(b, .label = "early", WAITS({t, THREE})));
    wait_early(&early, &f, t);
    enum tide_status status = go_wrong(&f, way, &a, five, other);
    if (fake_status(&f, "early") != status) printf("when: %s\n", way_names[way]);
    CHECK_STATUS(fake_status(&f, "early"), status);
    all_failed(&early, status);
    fails_for_latecomers(&f, t, c, status);
    /* The waiters of 3 were told that it does not come: so it does not. */
    CHECK_STATUS(tide_timeline_signal_external(t, THREE), status);
    if (way == DEVICE_LOST) tide_device_certify(f.device);
    if (a) tide_queue_destroy(a);
    tide_queue_destroy(b);
    tide_queue_destroy(c);
    tide_timeline_destroy(t);
    tide_timeline_destroy(other);
    fake_close(&f);
  }
}

/* ---- how far down --------------------------------------------------------------------------- */

/* 2 is pending below 5: its waiters, and those of 1, do not rely on 5. */
TEST(stops_above_what_is_pending_below) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  uint64_t five;
  CHECK_OK(SUBMIT(a, .label = "two", SIGNALS({t, 2})));
  CHECK_OK(tide_queue_submit(a, &OPERATION(.label = "five", SIGNALS({t, 5})), &five, NULL));
  CHECK_OK(SUBMIT(b, .label = "one", WAITS({t, 1})));
  tide_device_lose(f.other, TIDE_LOST); /* of no concern */
  CHECK_OK(tide_queue_cancel(a, five));
  fake_run(&f, "two");
  CHECK_OK(tide_timeline_wait(t, 2, TIDE_NOW));
  CHECK_STATUS(tide_timeline_wait(t, 3, TIDE_NOW), TIDE_CANCELLED);
  fake_run(&f, "one");
  CHECK_OK(fake_status(&f, "one"));
  tide_device_certify(f.other);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* 2 is reserved by a held operation of the same queue, and 5 by one behind it. */
TEST(stops_above_what_is_reserved_below) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  struct tide_timeline *t = fake_timeline(&f, "t", false), *gate = fake_timeline(&f, "gate", false);
  uint64_t five;
  CHECK_OK(SUBMIT(a, .label = "two", WAITS({gate, 1}), SIGNALS({t, 2})));
  CHECK_OK(tide_queue_submit(a, &OPERATION(.label = "five", SIGNALS({t, 5})), &five, NULL));
  CHECK(fake_held(&f, "two") && fake_held(&f, "five"));
  CHECK_OK(tide_queue_cancel(a, five));
  CHECK_STATUS(tide_timeline_wait(t, 3, TIDE_NOW), TIDE_CANCELLED);
  CHECK_STATUS(tide_timeline_wait(t, 2, TIDE_NOW), TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_signal_external(gate, 1));
  fake_run(&f, "two");
  CHECK_OK(tide_timeline_wait(t, 2, TIDE_NOW));
  tide_queue_destroy(a);
  tide_timeline_destroy(t);
  tide_timeline_destroy(gate);
  fake_close(&f);
}

/* ---- a timeline that nobody can signal ------------------------------------------------------- */

TEST(released_under_waiters) {
  struct fake f;
  struct waiters early;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  CHECK_OK(SUBMIT(a, .label = "held", WAITS({t, THREE})));
  wait_early(&early, &f, t);
  /* The threads have no reference of their own: they must sleep before it is released. */
  while (tide_load_acquire(&f.context->waiting) < 2) usleep(1000);
  test_await_asleep(&early.one.number);
  test_await_asleep(&early.any.number);
  tide_timeline_release(t);
  CHECK_STATUS(fake_status(&f, "held"), TIDE_CANCELLED);
  all_failed(&early, TIDE_CANCELLED);
  tide_queue_destroy(a);
  fake_close(&f);
}

/* The kinds of waiters; those that a failure of this test would leave blocked are the last. */
enum lone { LONE_MEMBER, LONE_TIMEPOINT, LONE_OPERATION, LONE_THREAD, LONE_ANY, LONES };

static const char *const lone_names[LONES] = {
    "a member of a wait-set", "a timepoint", "a held operation",
    "a thread that waits for one value", "a thread that waits for any of one"};

/* True once a waiter is queued. */
static bool is_awaited(struct tide_timeline *timeline) {
  struct tide_lock *guard = tide_timeline_lock(timeline);
  bool awaited = !tide_counter_empty(&timeline->reached);
  tide_lock_give(guard);
  return awaited;
}

static void wait_alone(struct waiters *early, struct fake *f, struct tide_queue *queue,
                       struct tide_timeline *timeline, enum lone lone) {
  switch (lone) {
    case LONE_MEMBER:
      CHECK_OK(tide_wait_set_create(f->context, 1, &early->set));
      CHECK_OK(tide_wait_set_add(early->set, timeline, THREE, 33, NULL));
      return;
    case LONE_TIMEPOINT:
      early->call = (struct call){.point = {.timeline = timeline, .value = THREE, .call = called}};
      CHECK_OK(tide_timepoint_add(&early->call.point));
      return;
    case LONE_OPERATION: CHECK_OK(SUBMIT(queue, .label = "held", WAITS({timeline, THREE}))); return;
    default:
      start(&early->one, timeline, lone == LONE_ANY);
      while (!is_awaited(timeline)) usleep(100);
  }
}

/* The status that the lone waiter was told; TIDE_TIMEOUT: none. */
static enum tide_status told_alone(struct waiters *early, struct fake *f, enum lone lone) {
  struct tide_wait_ready ready;
  size_t count;
  enum tide_status status = TIDE_TIMEOUT;
  switch (lone) {
    case LONE_MEMBER:
      status = tide_wait_set_wait(early->set, &ready, 1, TIDE_NOW, &count);
      if (status == TIDE_OK) status = ready.status;
      tide_wait_set_destroy(early->set);
      return status;
    case LONE_TIMEPOINT: return early->call.called ? early->call.status : TIDE_TIMEOUT;
    case LONE_OPERATION: return fake_held(f, "held") ? TIDE_TIMEOUT : fake_status(f, "held");
    default: pthread_join(early->one.thread, NULL); return early->one.status;
  }
}

/* One reference beside the owners' is a waiter already. */
TEST(released_under_a_lone_waiter) {
  for (enum lone lone = LONE_MEMBER; lone < LONES; lone++) {
    struct fake f;
    struct waiters early;
    fake_open(&f, true, 16);
    struct tide_queue *a = fake_queue(&f, "a");
    struct tide_timeline *t = fake_timeline(&f, "t", false);
    wait_alone(&early, &f, a, t, lone);
    tide_timeline_release(t);
    enum tide_status status = told_alone(&early, &f, lone);
    if (status != TIDE_CANCELLED) printf("the waiter: %s\n", lone_names[lone]);
    CHECK_STATUS(status, TIDE_CANCELLED);
    tide_queue_destroy(a);
    fake_close(&f);
  }
}

/* The operation that is to signal it is an owner: what it promised comes, and nothing else. */
TEST(released_before_its_last_signal) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  CHECK_OK(SUBMIT(a, .label = "three", SIGNALS({t, THREE})));
  CHECK_OK(SUBMIT(b, .label = "first", WAITS({t, THREE})));
  CHECK_OK(SUBMIT(b, .label = "second", WAITS({t, FIVE})));
  CHECK(fake_held(&f, "second"));
  tide_timeline_release(t);
  CHECK(fake_held(&f, "second"));
  fake_run(&f, "three");
  fake_run(&f, "first");
  CHECK_OK(fake_status(&f, "first"));
  CHECK_STATUS(fake_status(&f, "second"), TIDE_CANCELLED);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  fake_close(&f);
}

/* An operation that is to signal a timeline owns it while it is held, even if it waits for it. */
TEST(released_under_one_that_waits_and_signals_it) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  uint64_t sequence;
  CHECK_OK(tide_queue_submit(a, &OPERATION(.label = "own", WAITS({t, 1}), SIGNALS({t, 2})),
                             &sequence, NULL));
  tide_timeline_release(t);
  CHECK(fake_held(&f, "own")); /* it owns the timeline: only a cancel ends it */
  CHECK_OK(tide_queue_cancel(a, sequence));
  CHECK_STATUS(fake_status(&f, "own"), TIDE_CANCELLED);
  tide_queue_destroy(a);
  fake_close(&f);
}

TEST_MAIN(CASE(all_waiters_are_told_early_or_late), CASE(stops_above_what_is_pending_below),
          CASE(stops_above_what_is_reserved_below), CASE(released_under_waiters),
          CASE(released_under_a_lone_waiter), CASE(released_before_its_last_signal),
          CASE(released_under_one_that_waits_and_signals_it))
