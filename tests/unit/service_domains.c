/* Two services with domains of their own, and a client of both that carries points across. */
#include "service_rig.h"

#include <sys/stat.h>

/* Is it schedulable here? */
static bool schedulable(struct tide_session *s, struct tide_point point) {
  struct heard heard = {0};
  uint32_t wait;
  CHECK_OK(tide_session_when_schedulable(s, point, NULL, 0, hear, &heard, &wait));
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  while (tide_session_dispatch(s, tide_service_now() + 20 * MS) == TIDE_OK) continue;
  if (heard.calls) CHECK_OK(heard.status);
  else CHECK(tide_session_forget(s, wait));
  return heard.calls > 0;
}

static void check_crossing(bool trusted) {
  struct rig here, there;
  struct tide_point timeline, far, near;
  struct tide_session_operation keep = {.retires = &far, .retire_count = 1};
  struct tide_point channel;
  rig_open(&here, trusted ? "default speaks 7\ntrust 7\n" : "default speaks 7\n");
  rig_open(&there, NULL);
  struct tide_session *a = rig_connect(&here, "here"), *b = rig_connect(&there, "there");
  CHECK_OK(tide_session_create_channel(b, NULL, &channel));
  CHECK_OK(tide_session_create_channel_future(b, channel, NULL, &timeline));
  CHECK_OK(tide_session_promise(b, timeline, 0, &far));
  CHECK_OK(tide_session_stand_in(a, 7, 0, &near));
  CHECK(!schedulable(a, near));
  /* Only who is trusted is believed before the end. */
  CHECK_OK(tide_session_report(a, near, TIDE_POINT_SCHEDULED, TIDE_OK));
  CHECK(schedulable(a, near) == trusted);
  CHECK_STATUS(tide_session_query(a, near), TIDE_TIMEOUT);
  CHECK_OK(tide_session_submit(b, channel, &keep));
  CHECK_OK(tide_session_wait(b, far, rig_in(5000)));
  CHECK_OK(tide_session_report(a, near, TIDE_POINT_RETIRED, TIDE_OK));
  CHECK_OK(tide_session_wait(a, near, rig_in(900)));
  CHECK(schedulable(a, near));
  /* And whoever breaks there breaks here. */
  CHECK_OK(tide_session_stand_in(a, 7, 0, &near));
  CHECK_OK(tide_session_report(a, near, TIDE_POINT_BROKEN, TIDE_OWNER_DIED));
  CHECK_STATUS(tide_session_wait(a, near, rig_in(900)), TIDE_OWNER_DIED);
  CHECK_EQ_U64(tide_session_refusals(a), 0);
  CHECK_OK(tide_session_stand_in(a, 8, 0, &near)); /* nobody said that it may speak for that one */
  CHECK_OK(tide_session_sync(a, rig_in(5000)));
  CHECK_EQ_U64(tide_session_refusals(a), 1);
  tide_session_close(a);
  tide_session_close(b);
  rig_close(&here);
  rig_close(&there);
}

TEST(trusted_domain) { check_crossing(true); }
TEST(untrusted_domain) { check_crossing(false); }

/* Who crosses dies: what stands here for points there breaks. */
static void carrier(const struct rig *r, int in, int out) {
  struct tide_session *s = rig_connect(r, "carrier");
  struct tide_point near;
  struct tide_token token;
  char order;
  CHECK_OK(tide_session_stand_in(s, 7, 0, &near));
  CHECK_OK(tide_session_grant(s, near, 0, &token));
  rig_tell(out, &token, sizeof token);
  rig_hear(in, &order, 1);
}

TEST(carrier_dies) {
  struct rig r;
  struct rig_child child;
  struct tide_token token;
  struct tide_point near;
  rig_open(&r, "default speaks 7\n");
  rig_spawn(&child, carrier, &r);
  struct tide_session *s = rig_connect(&r, "waiter");
  rig_hear(child.from, &token, sizeof token);
  CHECK_OK(tide_session_redeem(s, &token, &near));
  near.value = 1;
  rig_kill(&child);
  CHECK_STATUS(tide_session_wait(s, near, rig_in(900)), TIDE_OWNER_DIED);
  tide_session_close(s);
  rig_close(&r);
}

/* An untrusted user's promise is no reason for a trusted channel to wait. */
static void stranger(const struct rig *r, int in, int out) {
  struct tide_point timeline, point;
  struct tide_token token;
  char order;
  if (setgid(65534) != 0 || setuid(65534) != 0) _exit(5);
  struct tide_session *s = rig_connect(r, "stranger");
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_promise(s, timeline, tide_service_now() + 9000 * MS, &point));
  CHECK_OK(tide_session_grant(s, point, 0, &token));
  rig_tell(out, &token, sizeof token);
  rig_hear(in, &order, 1);
  CHECK_OK(tide_session_fulfil(s, point));
  rig_hear(in, &order, 1);
  tide_session_close(s);
}

TEST(trusted_channels_wait_for_no_mere_promise_of_strangers) {
  struct rig r;
  struct rig_child child;
  struct tide_token token;
  struct tide_point theirs, channel;
  if (geteuid() != 0) SKIP("needs another user");
  rig_open(&r, "uid 0 trusted\n");
  CHECK(chmod(r.folder, 0755) == 0);
  rig_spawn(&child, stranger, &r);
  struct tide_session *s = rig_connect(&r, "trusted");
  rig_hear(child.from, &token, sizeof token);
  CHECK_OK(tide_session_redeem(s, &token, &theirs));
  CHECK_OK(tide_session_create_channel(s, NULL, &channel));
  theirs.value = 1;
  struct tide_session_operation o = {.waits = &theirs, .wait_count = 1};
  CHECK_OK(tide_session_submit(s, channel, &o));
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  CHECK_EQ_U64(tide_session_refusals(s), 1);
  rig_tell(child.to, "f", 1);
  CHECK_OK(tide_session_wait(s, theirs, rig_in(5000)));
  CHECK_OK(tide_session_submit(s, channel, &o));
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  CHECK_EQ_U64(tide_session_refusals(s), 1);
  rig_tell(child.to, "q", 1);
  rig_end(&child);
  tide_session_close(s);
  rig_close(&r);
}

TEST_MAIN(CASE(trusted_domain), CASE(untrusted_domain), CASE(carrier_dies),
          CASE(trusted_channels_wait_for_no_mere_promise_of_strangers))
