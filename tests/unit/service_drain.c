/* A service that ends in order: nothing new, and what there is may end. */
#include "service_home.h"
#include "service_raw.h"

#define LONG (600000 * MS)

/* The service has begun to end. */
static void drain(struct home *h, uint64_t time) {
  tide_service_drain(h->service, time);
  for (unsigned i = 0; i < 5000 && home_try(h) != TIDE_NOT_FOUND; i++) usleep(2000);
  CHECK_STATUS(home_try(h), TIDE_NOT_FOUND);
}

static struct tide_point promise_one(struct tide_session *s, struct tide_point timeline) {
  struct tide_point point;
  CHECK_OK(tide_session_promise(s, timeline, rig_in(60000), &point));
  return point;
}

/* The service ends when the promise is kept, and `last` with it. */
static void keep_the_last(struct home *h, struct tide_session *s, struct tide_point promise,
                          struct tide_point last) {
  CHECK_STATUS(tide_session_query(s, last), TIDE_TIMEOUT);
  CHECK(!home_is_over(h));
  CHECK_OK(tide_session_fulfil(s, promise));
  CHECK_OK(tide_session_wait(s, last, rig_in(5000)));
  home_join(h, TIDE_OK);
  tide_session_close(s);
  CHECK(rmdir(h->r.folder) == 0);
}

TEST(promises_are_kept_and_none_is_made) {
  struct home h;
  struct tide_point timeline, other, compound;
  home_open(&h, "");
  struct tide_session *s = rig_connect(&h.r, "session");
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_create_future(s, NULL, &other));
  struct tide_point point = promise_one(s, timeline);
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  drain(&h, LONG);
  struct tide_point late = promise_one(s, other);
  CHECK_STATUS(tide_session_wait(s, late, rig_in(5000)), TIDE_LOST);
  CHECK_OK(tide_session_promise_compound(s, rig_in(60000), &compound));
  CHECK_STATUS(tide_session_wait(s, compound, rig_in(5000)), TIDE_LOST);
  CHECK_OK(tide_session_status(s));
  keep_the_last(&h, s, point, point);
}

/* The refusals of the end are no fault of the client's. */
TEST(no_client_is_paced_for_the_end) {
  struct home h;
  struct tide_point timeline, other, compound;
  struct tide_session_client_stats stats;
  home_open(&h, "default refusals 1");
  struct tide_session *s = rig_connect(&h.r, "session");
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_create_future(s, NULL, &other));
  struct tide_point point = promise_one(s, timeline);
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  drain(&h, LONG);
  (void)promise_one(s, other);
  for (int i = 0; i < 40; i++) CHECK_OK(tide_session_promise_compound(s, rig_in(60000), &compound));
  CHECK_OK(tide_session_sync(s, rig_in(20000)));
  CHECK_EQ_U64(tide_session_refusals(s), 41);
  CHECK_OK(tide_session_client_stats(s, 0, &stats));
  CHECK_EQ_U64(stats.paced, 0);
  keep_the_last(&h, s, point, point);
}

/* A client has left, and its command waits for another one's promise. */
TEST(commands_run) {
  struct home h;
  struct tide_point timeline, there, channel, line, done;
  struct tide_token tokens[2];
  home_open(&h, "");
  struct tide_session *s = rig_connect(&h.r, "session");
  struct tide_session *gone = rig_connect(&h.r, "gone");
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  struct tide_point gate = promise_one(s, timeline);
  CHECK_OK(tide_session_grant(s, timeline, TIDE_RIGHT_WAIT, &tokens[0]));
  CHECK_OK(tide_session_redeem(gone, &tokens[0], &there));
  there.value = gate.value;
  CHECK_OK(tide_session_create_channel(gone, NULL, &channel));
  CHECK_OK(tide_session_create_channel_future(gone, channel, NULL, &line));
  struct tide_point promised = promise_one(gone, line);
  struct tide_session_operation o = {
      .waits = &there, .wait_count = 1, .retires = &promised, .retire_count = 1};
  CHECK_OK(tide_session_submit(gone, channel, &o));
  CHECK_OK(tide_session_grant(gone, line, TIDE_RIGHT_WAIT, &tokens[1]));
  CHECK_OK(tide_session_redeem(s, &tokens[1], &done));
  done.value = promised.value;
  tide_session_close(gone);
  drain(&h, LONG);
  keep_the_last(&h, s, gate, done);
}

TEST(an_idle_client_is_not_waited_for) {
  struct home h;
  home_open(&h, "");
  struct tide_session *s = rig_connect(&h.r, "session");
  check_victim(s);
  tide_service_drain(h.service, LONG);
  home_join(&h, TIDE_OK);
  CHECK_STATUS(tide_session_sync(s, rig_in(5000)), TIDE_LOST);
  tide_session_close(s);
  CHECK(rmdir(h.r.folder) == 0);
}

TEST(the_time_ends) {
  struct home h;
  struct tide_point timeline;
  home_open(&h, "");
  struct tide_session *s = rig_connect(&h.r, "session");
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  (void)promise_one(s, timeline);
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  tide_service_drain(h.service, 20 * MS);
  home_join(&h, TIDE_TIMEOUT);
  CHECK_STATUS(tide_session_sync(s, rig_in(5000)), TIDE_LOST);
  tide_session_close(s);
  CHECK(rmdir(h.r.folder) == 0);
}

/* The path is free: the next service is there before the first one ends. */
TEST(the_next_service_and_a_stop) {
  struct home h, next;
  struct tide_point timeline;
  home_open(&h, "");
  struct tide_session *s = rig_connect(&h.r, "session");
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  (void)promise_one(s, timeline);
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  drain(&h, LONG);
  next.r = h.r;
  home_start(&next, "");
  struct tide_session *other = rig_connect(&next.r, "other");
  check_victim(other);
  CHECK(!home_is_over(&h));
  tide_service_stop(h.service);
  home_join(&h, TIDE_OK);
  check_victim(other);
  tide_session_close(other);
  tide_session_close(s);
  home_close(&next);
}

TEST_MAIN(CASE(promises_are_kept_and_none_is_made), CASE(no_client_is_paced_for_the_end),
          CASE(commands_run), CASE(an_idle_client_is_not_waited_for), CASE(the_time_ends),
          CASE(the_next_service_and_a_stop))
