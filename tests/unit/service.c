/* Points between processes: promised in one, waited for in another. */
#include "service_rig.h"

TEST(promise_and_fulfil_alone) {
  struct rig r;
  struct tide_point timeline, one, two;
  enum tide_point_state state;
  enum tide_status why;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "alone");
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_promise(s, timeline, 0, &one));
  CHECK_OK(tide_session_promise(s, timeline, 0, &two));
  CHECK_EQ_U64(two.value, 2);
  CHECK_STATUS(tide_session_query(s, one), TIDE_TIMEOUT);
  CHECK_OK(tide_session_state(s, one, &state, &why));
  CHECK_STATUS(state, TIDE_POINT_PROMISED);
  CHECK_OK(tide_session_break(s, one, TIDE_FAILED));
  CHECK_OK(tide_session_fulfil(s, two));
  CHECK_OK(tide_session_wait(s, two, rig_in(5000)));
  CHECK_STATUS(tide_session_wait(s, one, rig_in(5000)), TIDE_FAILED);
  CHECK_STATUS(tide_session_fulfil(s, two), TIDE_VALUE);
  CHECK_STATUS(tide_session_fulfil(s, one), TIDE_FAILED);
  CHECK_OK(tide_session_state(s, one, &state, &why));
  CHECK_STATUS(state, TIDE_POINT_BROKEN);
  CHECK_STATUS(why, TIDE_FAILED);
  CHECK_EQ_U64(tide_session_refusals(s), 0);
  tide_session_close(s);
  rig_close(&r);
}

/* Gives its token, promises, and keeps when told to. */
static void producer(const struct rig *r, int in, int out) {
  struct tide_session *s = rig_connect(r, "producer");
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = 64};
  struct tide_point timeline, point;
  struct tide_token token;
  char order;
  CHECK_OK(tide_session_create_future(s, &params, &timeline));
  CHECK_OK(tide_session_grant(s, timeline, TIDE_RIGHT_WAIT, &token));
  rig_tell(out, &token, sizeof token);
  for (;;) {
    rig_hear(in, &order, 1);
    if (order == 'q') break;
    if (order == 'p') {
      CHECK_OK(tide_session_promise(s, timeline, 0, &point));
      CHECK_OK(tide_session_sync(s, rig_in(5000)));
      rig_tell(out, &point.value, sizeof point.value);
    }
    if (order == 'f') CHECK_OK(tide_session_fulfil(s, point));
    if (order == 'b') CHECK_OK(tide_session_break(s, point, TIDE_CANCELLED));
    if (order == 'd') { /* it keeps its word, and dies with it */
      CHECK_OK(tide_session_fulfil(s, point));
      raise(SIGKILL);
    }
  }
  tide_session_close(s);
}

static uint64_t promise(struct rig_child *child) {
  uint64_t value;
  rig_tell(child->to, "p", 1);
  rig_hear(child->from, &value, sizeof value);
  return value;
}

TEST(two_processes) {
  struct rig r;
  struct rig_child child;
  struct tide_token token;
  struct tide_point point;
  rig_open(&r, NULL);
  rig_spawn(&child, producer, &r);
  struct tide_session *s = rig_connect(&r, "waiter");
  rig_hear(child.from, &token, sizeof token);
  CHECK_OK(tide_session_redeem(s, &token, &point));
  for (int i = 0; i < 50; i++) {
    point.value = promise(&child);
    CHECK_STATUS(tide_session_query(s, point), TIDE_TIMEOUT);
    rig_tell(child.to, i % 5 == 3 ? "b" : "f", 1);
    CHECK_STATUS(tide_session_wait(s, point, rig_in(5000)), i % 5 == 3 ? TIDE_CANCELLED : TIDE_OK);
  }
  rig_tell(child.to, "q", 1);
  rig_end(&child);
  tide_session_close(s);
  rig_close(&r);
}

TEST(killed_producer_breaks_what_it_owes) {
  struct rig r;
  struct rig_child child;
  struct tide_token token;
  struct tide_point point, kept;
  rig_open(&r, NULL);
  rig_spawn(&child, producer, &r);
  struct tide_session *s = rig_connect(&r, "waiter");
  rig_hear(child.from, &token, sizeof token);
  CHECK_OK(tide_session_redeem(s, &token, &point));
  kept = point;
  kept.value = promise(&child);
  rig_tell(child.to, "f", 1);
  CHECK_OK(tide_session_wait(s, kept, rig_in(5000)));
  point.value = promise(&child);
  rig_kill(&child);
  CHECK_STATUS(tide_session_wait(s, point, rig_in(900)), TIDE_OWNER_DIED);
  CHECK_OK(tide_session_query(s, kept));
  struct tide_point again;
  CHECK_STATUS(tide_session_redeem(s, &token, &again), TIDE_NOT_FOUND);
  tide_session_close(s);
  rig_close(&r);
}

/* What it had given to the ring counts, whether the service has come to it or not. */
TEST(last_words_count) {
  struct rig r;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "waiter");
  for (int i = 0; i < 40; i++) {
    struct rig_child child;
    struct tide_token token;
    struct tide_point point;
    rig_spawn(&child, producer, &r);
    rig_hear(child.from, &token, sizeof token);
    CHECK_OK(tide_session_redeem(s, &token, &point));
    point.value = promise(&child);
    rig_tell(child.to, "d", 1);
    CHECK_OK(tide_session_wait(s, point, rig_in(5000)));
    rig_kill(&child);
    CHECK_OK(tide_session_destroy(s, point));
  }
  tide_session_close(s);
  rig_close(&r);
}

TEST(missed_deadline) {
  struct rig r;
  struct tide_point timeline, point;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "late");
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_promise(s, timeline, tide_service_now() + 20 * MS, &point));
  CHECK_STATUS(tide_session_wait(s, point, rig_in(5000)), TIDE_TIMED_OUT);
  tide_session_close(s);
  rig_close(&r);
}

static void dispatch_until(struct tide_session *s, const struct heard *heard) {
  uint64_t until = rig_in(5000);
  while (!heard->calls && tide_service_now() < until) (void)!tide_session_dispatch(s, until);
  CHECK_EQ_U64((uint64_t)heard->calls, 1);
}

TEST(calls_when_complete_and_schedulable) {
  struct rig r;
  struct tide_point timeline, point, later;
  struct heard complete = {0}, schedulable = {0}, assumed = {0}, forgotten = {0};
  uint32_t wait;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "calls");
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_promise(s, timeline, 0, &point));
  CHECK_OK(tide_session_promise(s, timeline, 0, &later));
  CHECK_OK(tide_session_when_complete(s, point, hear, &complete, NULL));
  CHECK_OK(tide_session_when_complete(s, point, hear, &forgotten, &wait));
  CHECK_OK(tide_session_when_schedulable(s, point, NULL, 0, hear, &schedulable, NULL));
  CHECK_OK(tide_session_when_schedulable(s, point, &later, 1, hear, &assumed, NULL));
  dispatch_until(s, &assumed);
  CHECK_OK(assumed.status);
  CHECK(tide_session_forget(s, wait));
  CHECK(!tide_session_forget(s, wait));
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  CHECK(!complete.calls && !schedulable.calls);
  CHECK_OK(tide_session_fulfil(s, point));
  dispatch_until(s, &complete);
  dispatch_until(s, &schedulable);
  CHECK_OK(complete.status);
  CHECK_OK(schedulable.status);
  CHECK(!forgotten.calls);
  tide_session_close(s);
  rig_close(&r);
}

TEST(compounds) {
  struct rig r;
  struct tide_point timeline, part[4], all, any, text;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "compounds");
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_promise_compound(s, 0, &all));
  CHECK_OK(tide_session_promise_compound(s, 0, &any));
  CHECK_OK(tide_session_promise_compound(s, 0, &text));
  for (int i = 0; i < 4; i++) CHECK_OK(tide_session_promise(s, timeline, 0, &part[i]));
  CHECK_OK(tide_session_all(s, all, part, 4));
  CHECK_OK(tide_session_any(s, any, part + 1, 3));
  CHECK_STATUS(tide_session_expression(s, text, "0&(1", 4, part, 4, NULL), TIDE_CORRUPT);
  CHECK_OK(tide_session_expression(s, text, "(0&1)|3", 7, part, 4, NULL));
  CHECK_OK(tide_session_fulfil(s, part[0]));
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  CHECK_STATUS(tide_session_query(s, any), TIDE_TIMEOUT);
  CHECK_OK(tide_session_fulfil(s, part[1]));
  CHECK_OK(tide_session_wait(s, any, rig_in(5000)));
  CHECK_OK(tide_session_wait(s, text, rig_in(5000)));
  CHECK_STATUS(tide_session_query(s, all), TIDE_TIMEOUT);
  CHECK_OK(tide_session_break(s, part[2], TIDE_LOST));
  CHECK_STATUS(tide_session_wait(s, all, rig_in(5000)), TIDE_LOST);
  /* What the service alone can find. */
  CHECK_OK(tide_session_promise_compound(s, 0, &all));
  CHECK_OK(tide_session_all(s, all, &all, 1));
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  CHECK_EQ_U64(tide_session_refusals(s), 1);
  tide_session_close(s);
  rig_close(&r);
}

TEST(names_are_used_again) {
  struct rig r;
  struct tide_point timeline, old = {0}, point;
  rig_open(&r, "default handles 8 timelines 4");
  struct tide_session *s = rig_connect(&r, "names");
  for (int i = 0; i < 100; i++) {
    CHECK_OK(tide_session_create_future(s, NULL, &timeline));
    CHECK_OK(tide_session_promise(s, timeline, 0, &point));
    CHECK_OK(tide_session_fulfil(s, point));
    CHECK_OK(tide_session_wait(s, point, rig_in(5000)));
    if (i) CHECK_STATUS(tide_session_query(s, old), TIDE_NOT_FOUND);
    old = point;
    CHECK_OK(tide_session_destroy(s, timeline));
    CHECK_OK(tide_session_sync(s, rig_in(5000)));
  }
  CHECK_EQ_U64(tide_session_refusals(s), 0);
  tide_session_close(s);
  rig_close(&r);
}

/* Far more than there may be at a time. */
TEST(compounds_are_given_back) {
  struct rig r;
  struct tide_point timeline, point, compound;
  rig_open(&r, "default handles 16 timelines 4");
  struct tide_session *s = rig_connect(&r, "compounds");
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  for (int i = 0; i < 100; i++) {
    CHECK_OK(tide_session_promise(s, timeline, 0, &point));
    CHECK_OK(tide_session_promise_compound(s, 0, &compound));
    CHECK_OK(tide_session_all(s, compound, &point, 1));
    if (i % 2) { /* half of them end before they go */
      CHECK_OK(tide_session_fulfil(s, point));
      CHECK_OK(tide_session_wait(s, compound, rig_in(5000)));
    }
    CHECK_OK(tide_session_destroy(s, compound));
    CHECK_OK(tide_session_sync(s, rig_in(5000)));
    if (i % 2 == 0) CHECK_OK(tide_session_fulfil(s, point));
  }
  CHECK_EQ_U64(tide_session_refusals(s), 0);
  tide_session_close(s);
  rig_close(&r);
}

TEST(service_that_ends_or_dies) {
  for (int kills = 0; kills < 2; kills++) {
    struct rig r;
    struct tide_point timeline, point;
    struct heard complete = {0};
    rig_open(&r, NULL);
    struct tide_session *s = rig_connect(&r, "orphan");
    CHECK_OK(tide_session_create_future(s, NULL, &timeline));
    CHECK_OK(tide_session_promise(s, timeline, tide_service_now() + 9000 * MS, &point));
    CHECK_OK(tide_session_when_complete(s, point, hear, &complete, NULL));
    CHECK_OK(tide_session_sync(s, rig_in(5000)));
    pid_t killer = fork();
    if (killer == 0) {
      usleep(50000);
      kill(r.server, kills ? SIGKILL : SIGTERM);
      _exit(0);
    }
    enum tide_status status = tide_session_wait(s, point, rig_in(5000));
    CHECK(status == TIDE_LOST || (!kills && status == TIDE_OWNER_DIED));
    rig_join(killer);
    waitpid(r.server, NULL, 0);
    while (!complete.calls)
      if (tide_session_dispatch(s, rig_in(5000)) == TIDE_TIMEOUT) FAIL("nothing was told");
    CHECK_STATUS(tide_session_promise(s, timeline, 0, &point), TIDE_LOST);
    tide_session_close(s);
    rig_sweep(&r);
  }
}

TEST(promises_are_bounded) {
  struct rig r;
  struct tide_point timeline, point[4], more;
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = 4};
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "greedy");
  CHECK_OK(tide_session_create_future(s, &params, &timeline));
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 4; i++) CHECK_OK(tide_session_promise(s, timeline, 0, &point[i]));
    CHECK_STATUS(tide_session_promise(s, timeline, 0, &more), TIDE_FULL);
    CHECK_OK(tide_session_fulfil(s, point[3]));
    CHECK_OK(tide_session_wait(s, point[0], rig_in(5000)));
    CHECK_OK(tide_session_sync(s, rig_in(5000)));
  }
  CHECK_EQ_U64(tide_session_refusals(s), 0);
  tide_session_close(s);
  rig_close(&r);
}

TEST_MAIN(CASE(promise_and_fulfil_alone), CASE(two_processes),
          CASE(killed_producer_breaks_what_it_owes), CASE(last_words_count), CASE(missed_deadline),
          CASE(calls_when_complete_and_schedulable), CASE(compounds), CASE(names_are_used_again),
          CASE(compounds_are_given_back), CASE(service_that_ends_or_dies),
          CASE(promises_are_bounded))
