/* Points of refused commands: every waiter hears the refusal's status, whenever it began to wait.
 */
#include "service_raw.h"

#include <pthread.h>

static void check_call(struct tide_session *s, struct heard *h, enum tide_status expected) {
  while (!h->calls)
    if (tide_session_dispatch(s, rig_in(20000)) == TIDE_TIMEOUT) FAIL("no call was made");
  CHECK_EQ_U64((uint64_t)h->calls, 1);
  CHECK_STATUS(h->status, expected);
}

/* All ways to hear of a point; the status is its end. */
static void check_broken(struct tide_session *s, struct tide_point point,
                         enum tide_status expected) {
  struct heard complete = {0}, schedulable = {0};
  enum tide_point_state state = TIDE_POINT_PROMISED;
  enum tide_status why = TIDE_OK;
  CHECK_STATUS(tide_session_wait(s, point, rig_in(20000)), expected);
  CHECK_STATUS(tide_session_query(s, point), expected);
  CHECK_OK(tide_session_state(s, point, &state, &why));
  CHECK(state == TIDE_POINT_BROKEN);
  CHECK_STATUS(why, expected);
  CHECK_OK(tide_session_when_complete(s, point, hear, &complete, NULL));
  CHECK_OK(tide_session_when_schedulable(s, point, NULL, 0, hear, &schedulable, NULL));
  check_call(s, &complete, expected);
  check_call(s, &schedulable, expected);
}

/* A thread waits before the service has seen the command: the service is stopped meanwhile. */
struct waiter {
  pthread_t thread;
  uint32_t number;
  struct tide_session *s;
  struct tide_point point;
  enum tide_status status;
};
static void *wait_for(void *user) {
  struct waiter *w = user;
  test_thread_begins(&w->number);
  w->status = tide_session_wait(w->s, w->point, rig_in(40000));
  return NULL;
}
static void begin_waiting(struct waiter *w, struct tide_session *s, struct tide_point point) {
  *w = (struct waiter){.s = s, .point = point};
  CHECK(pthread_create(&w->thread, NULL, wait_for, w) == 0);
}
static enum tide_status end_waiting(struct waiter *w) {
  CHECK(pthread_join(w->thread, NULL) == 0);
  return w->status;
}

TEST(a_stand_in_for_a_domain_that_it_may_not_speak_for) {
  struct rig r;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "speaker");
  struct tide_point point, all, later, channel, timeline, kept;
  struct tide_shared_point place;
  struct tide_token token;
  struct waiter waiter;
  CHECK_OK(tide_session_create_channel(s, NULL, &channel));
  CHECK_OK(tide_session_create_channel_future(s, channel, NULL, &timeline));
  CHECK(kill(r.server, SIGSTOP) == 0);
  CHECK_OK(tide_session_stand_in(s, 9, 0, &point));
  begin_waiting(&waiter, s, point);
  test_await_asleep(&waiter.number);
  CHECK(kill(r.server, SIGCONT) == 0);
  CHECK_STATUS(end_waiting(&waiter), TIDE_DENIED);
  check_broken(s, point, TIDE_DENIED);
  /* What depends on it breaks for the same reason, and does not wait for its own deadline. */
  CHECK_STATUS(tide_session_grant(s, point, TIDE_RIGHT_WAIT, &token), TIDE_DENIED);
  CHECK_OK(tide_session_view(s, point, &place));
  CHECK_STATUS(tide_shared_look(place.shared, place.slot, place.generation, 1), TIDE_DENIED);
  CHECK_OK(tide_session_promise(s, timeline, 0, &kept));
  struct tide_session_operation waits = {
      .waits = &point, .wait_count = 1, .retires = &kept, .retire_count = 1};
  CHECK_OK(tide_session_submit(s, channel, &waits));
  check_broken(s, kept, TIDE_DENIED);
  CHECK_OK(tide_session_promise_compound(s, TIDE_FOREVER, &all));
  CHECK_OK(tide_session_all(s, all, &point, 1));
  check_broken(s, all, TIDE_DENIED);
  struct tide_point good, either[2] = {point}, any;
  CHECK_OK(tide_session_promise_compound(s, TIDE_FOREVER, &good));
  CHECK_OK(tide_session_all(s, good, NULL, 0));
  either[1] = good;
  CHECK_OK(tide_session_promise_compound(s, TIDE_FOREVER, &any));
  CHECK_OK(tide_session_any(s, any, either, 2));
  CHECK_OK(tide_session_wait(s, any, rig_in(20000)));
  CHECK_OK(tide_session_report(s, point, TIDE_POINT_RETIRED, TIDE_OK));
  /* Its name is given back as any other. */
  CHECK_OK(tide_session_destroy(s, point));
  uint64_t refusals = 2; /* the stand-in, the report */
  CHECK_OK(tide_session_sync(s, rig_in(20000)));
  CHECK_EQ_U64(tide_session_refusals(s), refusals);
  CHECK_OK(tide_session_promise_compound(s, 0, &later));
  CHECK_OK(tide_session_all(s, later, NULL, 0));
  CHECK_OK(tide_session_wait(s, later, rig_in(20000)));
  tide_session_close(s);
  rig_close(&r);
}

/* No name and no timeline is lost. */
TEST(more_refused_ones_than_there_are_names) {
  struct rig r;
  rig_open(&r, "default timelines 4 handles 16 refusals 1M");
  struct tide_session *s = rig_connect(&r, "speaker");
  struct tide_point point;
  for (int i = 0; i < 100; i++) {
    CHECK_OK(tide_session_stand_in(s, 9, TIDE_FOREVER, &point));
    CHECK_STATUS(tide_session_wait(s, point, rig_in(20000)), TIDE_DENIED);
    CHECK_OK(tide_session_destroy(s, point));
  }
  struct tide_point four[4];
  CHECK_OK(tide_session_sync(s, rig_in(20000)));
  for (int i = 0; i < 4; i++) CHECK_OK(tide_session_promise_compound(s, 0, &four[i]));
  CHECK_OK(tide_session_sync(s, rig_in(20000)));
  CHECK_EQ_U64(tide_session_refusals(s), 100);
  tide_session_close(s);
  rig_close(&r);
}

/* The channel went, and its timeline with it: no value of it is promised any more. */
TEST(a_promise_on_a_channel_that_has_gone) {
  struct rig r;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "owner"), *other = rig_connect(&r, "other");
  struct tide_point channel, timeline, point[3], foreign;
  struct tide_token token;
  struct waiter waiter;
  CHECK_OK(tide_session_create_channel(s, NULL, &channel));
  CHECK_OK(tide_session_create_channel_future(s, channel, NULL, &timeline));
  CHECK_OK(tide_session_grant(s, timeline, TIDE_RIGHT_WAIT, &token));
  CHECK_OK(tide_session_redeem(other, &token, &foreign));
  CHECK_OK(tide_session_promise(s, timeline, rig_in(60000), &point[0]));
  CHECK_OK(tide_session_destroy(s, channel));
  /* The one that was promised in time tells that the channel has gone. */
  enum tide_status cause = tide_session_wait(s, point[0], rig_in(20000));
  CHECK(cause != TIDE_OK && cause != TIDE_TIMEOUT);
  CHECK_OK(tide_session_promise(s, timeline, rig_in(60000), &point[1]));
  CHECK_OK(tide_session_promise(s, timeline, rig_in(60000), &point[2]));
  foreign.value = point[1].value;
  begin_waiting(&waiter, other, foreign);
  CHECK_STATUS(tide_session_wait(s, point[1], rig_in(20000)), cause);
  CHECK_STATUS(end_waiting(&waiter), cause);
  for (int i = 0; i < 3; i++) check_broken(s, point[i], cause);
  check_broken(other, foreign, cause);
  /* What depends on one breaks for the same reason, in other sessions, too. */
  struct tide_point line, next, kept, all, expression;
  CHECK_OK(tide_session_create_channel(other, NULL, &line));
  CHECK_OK(tide_session_create_channel_future(other, line, NULL, &next));
  CHECK_OK(tide_session_promise(other, next, rig_in(60000), &kept));
  struct tide_session_operation waits = {
      .waits = &foreign, .wait_count = 1, .retires = &kept, .retire_count = 1};
  CHECK_OK(tide_session_submit(other, line, &waits));
  check_broken(other, kept, cause);
  CHECK_OK(tide_session_promise_compound(other, TIDE_FOREVER, &all));
  CHECK_OK(tide_session_all(other, all, &foreign, 1));
  check_broken(other, all, cause);
  CHECK_OK(tide_session_promise_compound(s, TIDE_FOREVER, &expression));
  CHECK_OK(tide_session_expression(s, expression, "0 & 1", 5, &point[1], 2, NULL));
  check_broken(s, expression, cause);
  CHECK_EQ_U64(tide_session_refusals(other), 0);
  CHECK_EQ_U64(tide_session_refusals(s), 2); /* the promises */
  CHECK_OK(tide_session_destroy(s, timeline));
  CHECK_OK(tide_session_sync(s, rig_in(20000)));
  check_victim(s);
  tide_session_close(other);
  tide_session_close(s);
  rig_close(&r);
}

/* ---- without the library ---- */

static enum tide_status raw_look(const struct raw *c, uint32_t place, uint32_t generation,
                                 uint64_t value) {
  struct tide_values values;
  uint32_t count = c->welcome.limits.handles;
  CHECK_OK(tide_values_attach(&values, c->values.memory, count, false));
  return tide_values_look(&values, place, generation, value, false);
}

TEST(names_that_are_others_already) {
  struct rig r;
  struct raw c;
  rig_open(&r, NULL);
  raw_connect(&c, &r);
  struct tide_wire_record record = command(TIDE_WIRE_COMPOUND, 1, 1, 0);
  CHECK_OK(raw_ask(&c, &record));
  record = command(TIDE_WIRE_STAND_IN, 1, 2, 0); /* its place is taken */
  CHECK_STATUS(raw_ask(&c, &record), TIDE_BUSY);
  CHECK_STATUS(raw_look(&c, 1, 1, 1), TIDE_TIMEOUT);
  record = command(TIDE_WIRE_STAND_IN, 0, 1, 0);
  CHECK_STATUS(raw_ask(&c, &record), TIDE_NOT_FOUND);
  record = command(TIDE_WIRE_STAND_IN, 2, 5, 0);
  CHECK_STATUS(raw_ask(&c, &record), TIDE_DENIED);
  CHECK_STATUS(raw_look(&c, 2, 5, 1), TIDE_DENIED);
  record = command(TIDE_WIRE_COMPOUND, 2, 6, 0);
  CHECK_STATUS(raw_ask(&c, &record), TIDE_BUSY);
  record = command(TIDE_WIRE_DESTROY, 2, 5, 0);
  CHECK_OK(raw_ask(&c, &record));
  record = command(TIDE_WIRE_COMPOUND, 2, 5, 0); /* an old generation */
  CHECK_STATUS(raw_ask(&c, &record), TIDE_BUSY);
  record = command(TIDE_WIRE_COMPOUND, 2, 6, 0);
  CHECK_OK(raw_ask(&c, &record));
  CHECK_STATUS(raw_look(&c, 2, 6, 1), TIDE_TIMEOUT);
  raw_close(&c);
  rig_close(&r);
}

/* The channel of a command has gone: what it was to keep breaks. */
TEST(a_command_without_a_channel) {
  struct rig r;
  struct raw c;
  rig_open(&r, NULL);
  raw_connect(&c, &r);
  struct tide_wire_record record = command(TIDE_WIRE_FUTURE, 1, 1, 0);
  CHECK_OK(raw_ask(&c, &record));
  record = command(TIDE_WIRE_PROMISE, 1, 1, 1);
  record.command.deadline = rig_in(600000);
  CHECK_OK(raw_ask(&c, &record));
  record = command(TIDE_WIRE_SUBMIT, 7, 1, 0);
  record.command.retire_count = 1;
  *(struct tide_wire_point *)(void *)(record.bytes + sizeof record.command) =
      (struct tide_wire_point){{1, 1}, 1};
  CHECK_STATUS(raw_ask(&c, &record), TIDE_NOT_FOUND);
  CHECK_STATUS(raw_look(&c, 1, 1, 1), TIDE_NOT_FOUND);
  raw_close(&c);
  rig_close(&r);
}

/* Broken promises have used up the timeline: it closes, and each later value is broken. */
TEST(a_timeline_without_room) {
  struct rig r;
  struct raw c;
  rig_open(&r, NULL);
  raw_connect(&c, &r);
  struct tide_wire_record record = command(TIDE_WIRE_FUTURE, 1, 1, 0);
  record.command.number = 1;
  CHECK_OK(raw_ask(&c, &record));
  record = command(TIDE_WIRE_PROMISE, 1, 1, 1);
  record.command.deadline = rig_in(600000);
  CHECK_OK(raw_ask(&c, &record));
  record = command(TIDE_WIRE_BREAK, 1, 1, 1);
  record.command.number = TIDE_IO;
  CHECK_OK(raw_ask(&c, &record));
  record = command(TIDE_WIRE_COMPLETE, 1, 1, 2);
  CHECK_STATUS(raw_ask(&c, &record), TIDE_NOT_FOUND);
  for (uint64_t value = 2; value < 5; value++) {
    record = command(TIDE_WIRE_PROMISE, 1, 1, value);
    CHECK_STATUS(raw_ask(&c, &record), TIDE_EXHAUSTED);
    CHECK_STATUS(raw_look(&c, 1, 1, value), TIDE_EXHAUSTED);
    record = command(TIDE_WIRE_COMPLETE, 1, 1, value);
    CHECK_STATUS(raw_ask(&c, &record), TIDE_EXHAUSTED);
  }
  CHECK_STATUS(raw_look(&c, 1, 1, 1), TIDE_IO);
  raw_close(&c);
  rig_close(&r);
}

/* The awaited points are another command's to keep. */
TEST(what_a_refused_command_waits_for_stays_open) {
  struct rig r;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "waits");
  struct tide_point hosts, gate, channel, line, kept;
  CHECK_OK(tide_session_create_future(s, NULL, &hosts));
  CHECK_OK(tide_session_create_channel(s, NULL, &channel));
  CHECK_OK(tide_session_create_channel_future(s, channel, NULL, &line));
  CHECK_OK(tide_session_promise(s, hosts, TIDE_FOREVER, &gate));
  CHECK_OK(tide_session_promise(s, line, TIDE_FOREVER, &kept));
  struct tide_session_operation no_arguments = {.body = TIDE_SESSION_COPY,
                                                .waits = &gate,
                                                .wait_count = 1,
                                                .retires = &kept,
                                                .retire_count = 1};
  CHECK_OK(tide_session_submit(s, channel, &no_arguments));
  check_broken(s, kept, TIDE_INVALID);
  CHECK_STATUS(tide_session_query(s, gate), TIDE_TIMEOUT);
  CHECK_OK(tide_session_fulfil(s, gate));
  CHECK_OK(tide_session_wait(s, gate, rig_in(9000)));
  CHECK_EQ_U64(tide_session_refusals(s), 1);
  tide_session_close(s);
  rig_close(&r);
}

TEST_MAIN(CASE(a_stand_in_for_a_domain_that_it_may_not_speak_for),
          CASE(more_refused_ones_than_there_are_names), CASE(a_promise_on_a_channel_that_has_gone),
          CASE(names_that_are_others_already), CASE(a_command_without_a_channel),
          CASE(a_timeline_without_room), CASE(what_a_refused_command_waits_for_stays_open))
