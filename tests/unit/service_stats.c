/* What an admin is told about everybody. */
#include "service_rig.h"

#include <pthread.h>
#include <sys/stat.h>

/* A timeline with two values reached, one broken, one queued and three owed; a channel that cannot
 * go on; a compound that is defined, and one that is not. */
static void exhibit(const struct rig *r, int in, int out) {
  struct tide_session *s = rig_connect(r, "exhibit");
  struct tide_session_channel_params params = {
      .struct_size = sizeof params, .label = "road", .priority = 5};
  struct tide_future_params named = {.struct_size = sizeof named, .label = "lane", .capacity = 32};
  struct tide_point channel, lane, gate, never, p[7], whole, empty;
  char order;
  CHECK_OK(tide_session_create_channel(s, &params, &channel));
  CHECK_OK(tide_session_create_channel_future(s, channel, &named, &lane));
  CHECK_OK(tide_session_create_future(s, NULL, &gate));
  CHECK_OK(tide_session_promise(s, gate, 0, &never));
  for (int i = 0; i < 7; i++) CHECK_OK(tide_session_promise(s, lane, rig_in(60000), &p[i]));
  struct tide_session_operation o = {.retires = &p[0], .retire_count = 1};
  CHECK_OK(tide_session_submit(s, channel, &o));
  o.retires = &p[1];
  CHECK_OK(tide_session_submit(s, channel, &o));
  CHECK_OK(tide_session_wait(s, p[1], rig_in(5000)));
  CHECK_OK(tide_session_break(s, p[2], TIDE_FAILED));
  o = (struct tide_session_operation){
      .waits = &never, .wait_count = 1, .retires = &p[3], .retire_count = 1};
  CHECK_OK(tide_session_submit(s, channel, &o));
  CHECK_OK(tide_session_promise_compound(s, 0, &whole));
  CHECK_OK(tide_session_promise_compound(s, TIDE_FOREVER, &empty));
  CHECK_OK(tide_session_all(s, whole, (struct tide_point[]){p[4], p[5]}, 2));
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  rig_tell(out, "r", 1);
  rig_hear(in, &order, 1);
  tide_session_close(s);
}

static uint64_t number_of(struct tide_session *s, const char *label,
                          struct tide_session_client_stats *out) {
  for (uint32_t i = 0; tide_session_client_stats(s, i, out) == TIDE_OK; i++)
    if (strcmp(out->label, label) == 0) return out->client;
  FAIL("nobody is called %s", label);
  return 0;
}

TEST(an_admin_sees_timelines_and_channels) {
  struct rig r;
  struct rig_child child;
  struct tide_session_client_stats client;
  struct tide_session_channel_stats channel;
  struct tide_session_timeline_stats t;
  uint32_t place = 0;
  char ready;
  rig_open(&r, NULL);
  rig_spawn(&child, exhibit, &r);
  rig_hear(child.from, &ready, 1);
  struct tide_session *s = rig_connect(&r, "admin");
  uint64_t number = number_of(s, "exhibit", &client);
  CHECK_EQ_U64(client.promised - client.kept - client.broken, 7);
  CHECK_OK(tide_session_channel_stats(s, number, 0, &channel));
  CHECK(strcmp(channel.label, "road") == 0);
  CHECK_EQ_U64(channel.base, 5);
  CHECK_EQ_U64(channel.priority, 5);
  CHECK_EQ_U64(channel.submitted - channel.over, 1);
  CHECK_STATUS(tide_session_channel_stats(s, number, 1, &channel), TIDE_NOT_FOUND);

  CHECK_OK(tide_session_timeline_stats(s, number, &place, &t));
  CHECK(t.kind == TIDE_SESSION_FUTURE && strcmp(t.label, "lane") == 0);
  CHECK_EQ_U64(t.value, 2);
  CHECK_EQ_U64(t.newest, 7);
  CHECK_EQ_U64(t.broken, 1);
  CHECK_EQ_U64(t.queued, 1);
  CHECK_EQ_U64(t.owed, 3);
  CHECK_EQ_U64(t.capacity, 32);
  CHECK(!t.cut && t.oldest_deadline > tide_service_now() && t.oldest_deadline != TIDE_FOREVER);
  CHECK_OK(tide_session_timeline_stats(s, number, &place, &t));
  CHECK(t.kind == TIDE_SESSION_FUTURE && strncmp(t.label, "timeline ", 9) == 0);
  CHECK_EQ_U64(t.owed, 1);
  CHECK_OK(tide_session_timeline_stats(s, number, &place, &t));
  CHECK(t.kind == TIDE_SESSION_COMPOUND);
  CHECK_EQ_U64(t.queued, 1);
  CHECK_EQ_U64(t.parts, 2);
  CHECK_EQ_U64(t.oldest_deadline, 0);
  CHECK_OK(tide_session_timeline_stats(s, number, &place, &t));
  CHECK(t.kind == TIDE_SESSION_COMPOUND);
  CHECK_EQ_U64(t.owed, 1);
  CHECK_EQ_U64(t.parts, 0);
  CHECK(t.oldest_deadline != 0);
  CHECK_STATUS(tide_session_timeline_stats(s, number, &place, &t), TIDE_NOT_FOUND);

  /* Who is gone has nothing. */
  rig_kill(&child);
  place = 0;
  while (tide_session_client_stats(s, 1, &client) == TIDE_OK) usleep(1000);
  CHECK_STATUS(tide_session_timeline_stats(s, number, &place, &t), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_session_channel_stats(s, number, 0, &channel), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_session_channel_stats(s, 0, 0, &channel), TIDE_NOT_FOUND);
  tide_session_close(s);
  rig_close(&r);
}

/* More promises than are counted in one hold of the lock. */
TEST(what_is_counted_is_bounded) {
  struct rig r;
  struct tide_future_params large = {.struct_size = sizeof large, .capacity = 5000};
  struct tide_session_timeline_stats t;
  struct tide_session_client_stats client;
  struct tide_point lane, p;
  uint32_t place = 0;
  rig_open(&r, "default promises 5000\n");
  struct tide_session *s = rig_connect(&r, "large");
  CHECK_OK(tide_session_create_future(s, &large, &lane));
  for (int i = 0; i < 5000; i++) CHECK_OK(tide_session_promise(s, lane, TIDE_FOREVER, &p));
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  CHECK_OK(tide_session_timeline_stats(s, number_of(s, "large", &client), &place, &t));
  CHECK(t.cut && t.owed >= 4000 && t.owed < 5000);
  CHECK_EQ_U64(t.newest, 5000);
  tide_session_close(s);
  rig_close(&r);
}

/* ---- who waits for whom ---- */

static void no_call(void *user, enum tide_status status) {
  (void)user;
  (void)status;
}

struct sleeper {
  pthread_t thread;
  struct tide_session *s;
  struct tide_point point;
};
static void *sleep_for(void *user) {
  struct sleeper *sleeper = user;
  CHECK(tide_session_wait(sleeper->s, sleeper->point, TIDE_FOREVER) != TIDE_OK);
  return NULL;
}

/* Asks until the text says all of it: a thread may not sleep yet. False: a deadline of the service
 * came first. */
static bool says_all(struct tide_session *s, const char *const *expected, size_t count,
                     char text[4096]) {
  size_t length, said = 0;
  for (int i = 0; i < 2000 && said < count; i++) {
    if (i) usleep(1000);
    CHECK_OK(tide_session_diagnose(s, text, 4096, &length));
    for (said = 0; said < count && strstr(text, expected[said]);) said++;
  }
  return said == count;
}

/* The renderer's command waits for an input of its own and is to keep `frames`. The browser waits
 * for that by a compound: a command, a callback, and a thread that sleeps. */
static bool is_told_who_waits(char text[4096]) {
  static const char *const expected[] = {
      "queue 'draw': operation 'nothing' (1) is held 'input' >= 1 (at 0; promised by 'renderer', "
      "due in ",
      "(at 0; all of a compound that is not defined yet, 'frames' >= 1 (queued as 'nothing' of "
      "queue 'draw'))\n",
      "client 'browser' sleeps until 'frames' >= 1 (at 0; 'nothing' of queue 'draw' will signal 1 "
      "once it may enter)\n",
      "(at 0; 'nothing' of queue 'compose' will signal 1 once it may enter)\n"};
  struct rig r;
  rig_open(&r, NULL);
  struct tide_session *a = rig_connect(&r, "renderer"), *b = rig_connect(&r, "browser");
  struct tide_session_channel_params draw = {.struct_size = sizeof draw, .label = "draw"},
                                     compose = {.struct_size = sizeof compose, .label = "compose"};
  struct tide_future_params frames = {.struct_size = sizeof frames, .label = "frames"},
                            input = {.struct_size = sizeof input, .label = "input"};
  struct tide_point drawing, frame, inputs, wanted, composing, shown, held, all, never;
  struct tide_token token;
  CHECK_OK(tide_session_create_channel(a, &draw, &drawing));
  CHECK_OK(tide_session_create_channel_future(a, drawing, &frames, &frame));
  CHECK_OK(tide_session_create_future(a, &input, &inputs));
  CHECK_OK(tide_session_promise(a, inputs, rig_in(600000), &wanted));
  CHECK_OK(tide_session_promise(a, frame, rig_in(600000), &frame));
  struct tide_session_operation op = {
      .waits = &wanted, .wait_count = 1, .retires = &frame, .retire_count = 1};
  CHECK_OK(tide_session_submit(a, drawing, &op));
  CHECK_OK(tide_session_grant(a, frame, TIDE_RIGHT_WAIT, &token));
  CHECK_OK(tide_session_redeem(b, &token, &held));
  held.value = 1;
  CHECK_OK(tide_session_create_channel(b, &compose, &composing));
  CHECK_OK(tide_session_create_channel_future(b, composing, NULL, &shown));
  CHECK_OK(tide_session_promise(b, shown, rig_in(600000), &shown));
  CHECK_OK(tide_session_promise_compound(b, rig_in(600000), &all));
  CHECK_OK(tide_session_promise_compound(b, rig_in(600000), &never));
  struct tide_point parts[] = {held, never};
  CHECK_OK(tide_session_all(b, all, parts, 2));
  op = (struct tide_session_operation){
      .waits = &all, .wait_count = 1, .retires = &shown, .retire_count = 1};
  CHECK_OK(tide_session_submit(b, composing, &op));
  CHECK_OK(tide_session_when_complete(b, shown, no_call, NULL, NULL));
  struct sleeper sleeper = {.s = b, .point = held};
  CHECK(pthread_create(&sleeper.thread, NULL, sleep_for, &sleeper) == 0);
  bool told = says_all(a, expected, sizeof expected / sizeof expected[0], text);
  tide_session_close(a);
  CHECK(pthread_join(sleeper.thread, NULL) == 0);
  tide_session_close(b);
  rig_close(&r);
  return told;
}

/* Each promise has ten seconds: on a very busy machine one may be broken before the text is read.
 */
TEST(who_waits_for_whom) {
  char text[4096] = "";
  bool told = false;
  for (int tries = 0; tries < 10 && !told; tries++) told = is_told_who_waits(text);
  if (!told) FAIL("the text is:\n%s", text);
}

/* Another user asks: only whom the policy calls admin is told. It takes root to be another user. */
static void stranger(const struct rig *r, int in, int out) {
  struct tide_session_timeline_stats t;
  struct tide_session_channel_stats channel;
  struct tide_session_client_stats client;
  char text[64], order;
  size_t length;
  uint32_t place = 0;
  rig_hear(in, &order, 1);
  bool admin = order == 'a';
  if (setuid(admin ? 60001 : 60002) != 0) _exit(1);
  struct tide_session *s = rig_connect(r, "stranger");
  enum tide_status expected = admin ? TIDE_OK : TIDE_DENIED;
  CHECK_STATUS(tide_session_client_stats(s, 0, &client), expected);
  CHECK_STATUS(tide_session_diagnose(s, text, sizeof text, &length), expected);
  if (!admin) {
    CHECK_STATUS(tide_session_timeline_stats(s, 1, &place, &t), TIDE_DENIED);
    CHECK_STATUS(tide_session_channel_stats(s, 1, 0, &channel), TIDE_DENIED);
  }
  rig_tell(out, "d", 1);
  tide_session_close(s);
}

TEST(others_are_told_nothing) {
  for (int admin = 0; geteuid() == 0 && admin < 2; admin++) {
    struct rig r;
    struct rig_child child;
    char done;
    rig_open(&r, "uid 60001 admin\n");
    CHECK(chmod(r.folder, 0755) == 0);
    rig_spawn(&child, stranger, &r);
    rig_tell(child.to, admin ? "a" : "s", 1);
    rig_hear(child.from, &done, 1);
    rig_end(&child);
    rig_close(&r);
  }
}

TEST_MAIN(CASE(an_admin_sees_timelines_and_channels), CASE(what_is_counted_is_bounded),
          CASE(who_waits_for_whom), CASE(others_are_told_nothing))
