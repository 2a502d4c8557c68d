/* Channels and buffers between processes. */
#include "service_rig.h"

struct stage { /* a session with a channel, and a timeline of its commands */
  struct tide_session *s;
  struct tide_point channel, timeline;
};

static void stage_open(struct stage *t, const struct rig *r, const char *label, uint8_t priority) {
  struct tide_session_channel_params params = {
      .struct_size = sizeof params, .label = label, .priority = priority};
  t->s = rig_connect(r, label);
  CHECK_OK(tide_session_create_channel(t->s, &params, &t->channel));
  CHECK_OK(tide_session_create_channel_future(t->s, t->channel, NULL, &t->timeline));
}

static struct tide_point stage_promise(struct stage *t) {
  struct tide_point point;
  CHECK_OK(tide_session_promise(t->s, t->timeline, 0, &point));
  return point;
}

static struct tide_session_argument range(struct tide_point buffer, uint64_t offset,
                                          uint64_t size) {
  return (struct tide_session_argument){.buffer = buffer, .offset = offset, .size = size};
}
static struct tide_session_argument number(uint64_t value) {
  return (struct tide_session_argument){.offset = value};
}

TEST(fill_and_copy) {
  struct rig r;
  struct stage t;
  struct tide_point a, b;
  rig_open(&r, NULL);
  stage_open(&t, &r, "fill", 0);
  CHECK_OK(tide_session_create_buffer(t.s, 4096, &a));
  CHECK_OK(tide_session_create_buffer(t.s, 4096, &b));
  struct tide_point filled = stage_promise(&t), copied = stage_promise(&t);
  struct tide_session_argument fill[] = {range(a, 0, 4096), number(7)};
  struct tide_session_operation first = {.body = TIDE_SESSION_FILL,
                                         .arguments = fill,
                                         .argument_count = 2,
                                         .retires = &filled,
                                         .retire_count = 1};
  struct tide_session_argument copy[] = {range(a, 0, 100), range(b, 1000, 100)};
  struct tide_session_operation second = {.body = TIDE_SESSION_COPY,
                                          .arguments = copy,
                                          .argument_count = 2,
                                          .waits = &filled,
                                          .wait_count = 1,
                                          .retires = &copied,
                                          .retire_count = 1};
  CHECK_OK(tide_session_submit(t.s, t.channel, &first));
  CHECK_OK(tide_session_submit(t.s, t.channel, &second));
  CHECK_OK(tide_session_wait(t.s, copied, rig_in(5000)));
  const unsigned char *bytes = tide_session_buffer_data(t.s, b, NULL);
  CHECK(bytes[999] == 0 && bytes[1000] == 7 && bytes[1099] == 7 && bytes[1100] == 0);
  CHECK_EQ_U64(tide_session_refusals(t.s), 0);
  tide_session_close(t.s);
  rig_close(&r);
}

/* A command that cannot be: what it was to keep breaks with its error. */
TEST(refused_commands_break_what_they_keep) {
  struct rig r;
  struct stage t;
  struct tide_point buffer;
  rig_open(&r, NULL);
  stage_open(&t, &r, "refused", 0);
  CHECK_OK(tide_session_create_buffer(t.s, 64, &buffer));
  struct tide_point point = stage_promise(&t);
  struct tide_session_argument beyond[] = {range(buffer, 60, 8), number(7)};
  struct tide_session_operation o = {.body = TIDE_SESSION_FILL,
                                     .arguments = beyond,
                                     .argument_count = 2,
                                     .retires = &point,
                                     .retire_count = 1};
  CHECK_OK(tide_session_submit(t.s, t.channel, &o));
  CHECK_STATUS(tide_session_wait(t.s, point, rig_in(900)), TIDE_INVALID);
  CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
  CHECK_EQ_U64(tide_session_refusals(t.s), 1);
  CHECK_EQ_U64(tide_session_channel_over(t.s, t.channel), 1);
  /* And one that fails, behind a recovery: what is behind a refused command does not run. */
  CHECK_OK(tide_session_recover(t.s, t.channel));
  point = stage_promise(&t);
  o = (struct tide_session_operation){
      .body = TIDE_SESSION_FAIL, .retires = &point, .retire_count = 1};
  CHECK_OK(tide_session_submit(t.s, t.channel, &o));
  CHECK_STATUS(tide_session_wait(t.s, point, rig_in(900)), TIDE_FAILED);
  tide_session_close(t.s);
  rig_close(&r);
}

struct gift {
  struct tide_token point, buffer;
  uint64_t value;
};

/* Promises a picture, gives it away, and draws it when told to; or it is killed before. */
static void painter(const struct rig *r, int in, int out) {
  struct stage t;
  struct tide_point buffer;
  struct gift gift;
  char order;
  stage_open(&t, r, "painter", 0);
  CHECK_OK(tide_session_create_buffer(t.s, 4096, &buffer));
  struct tide_point drawn = stage_promise(&t);
  CHECK_OK(tide_session_grant(t.s, drawn, TIDE_RIGHT_WAIT, &gift.point));
  CHECK_OK(tide_session_grant(t.s, buffer, TIDE_RIGHT_READ, &gift.buffer));
  gift.value = drawn.value;
  rig_tell(out, &gift, sizeof gift);
  rig_hear(in, &order, 1);
  struct tide_session_argument fill[] = {range(buffer, 0, 4096), number(9)};
  struct tide_session_operation o = {.body = TIDE_SESSION_FILL,
                                     .arguments = fill,
                                     .argument_count = 2,
                                     .retires = &drawn,
                                     .retire_count = 1};
  CHECK_OK(tide_session_submit(t.s, t.channel, &o));
  rig_hear(in, &order, 1);
  tide_session_close(t.s);
}

TEST(service_side_wait_for_another_process) {
  for (int kill_it = 0; kill_it < 2; kill_it++) {
    struct rig r;
    struct rig_child child;
    struct stage t;
    struct gift gift;
    struct tide_point drawn, theirs, mine;
    rig_open(&r, NULL);
    rig_spawn(&child, painter, &r);
    stage_open(&t, &r, "reader", 0);
    CHECK_OK(tide_session_create_buffer(t.s, 4096, &mine));
    rig_hear(child.from, &gift, sizeof gift);
    CHECK_OK(tide_session_redeem(t.s, &gift.point, &drawn));
    CHECK_OK(tide_session_redeem(t.s, &gift.buffer, &theirs));
    drawn.value = gift.value;
    struct tide_point shown = stage_promise(&t);
    struct tide_session_argument copy[] = {range(theirs, 0, 4096), range(mine, 0, 4096)};
    struct tide_session_operation o = {.body = TIDE_SESSION_COPY,
                                       .arguments = copy,
                                       .argument_count = 2,
                                       .waits = &drawn,
                                       .wait_count = 1,
                                       .retires = &shown,
                                       .retire_count = 1};
    CHECK_OK(tide_session_submit(t.s, t.channel, &o));
    CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
    CHECK_STATUS(tide_session_query(t.s, shown), TIDE_TIMEOUT);
    if (kill_it) {
      rig_kill(&child);
      CHECK_STATUS(tide_session_wait(t.s, shown, rig_in(900)), TIDE_OWNER_DIED);
    } else {
      rig_tell(child.to, "d", 1);
      CHECK_OK(tide_session_wait(t.s, shown, rig_in(5000)));
      CHECK(((unsigned char *)tide_session_buffer_data(t.s, mine, NULL))[4095] == 9);
      rig_tell(child.to, "q", 1);
      rig_end(&child);
    }
    /* A reader may not write. */
    struct tide_session_argument fill[] = {range(theirs, 0, 16), number(1)};
    shown = stage_promise(&t);
    o = (struct tide_session_operation){.body = TIDE_SESSION_FILL,
                                        .arguments = fill,
                                        .argument_count = 2,
                                        .retires = &shown,
                                        .retire_count = 1};
    CHECK_OK(tide_session_submit(t.s, t.channel, &o));
    CHECK_STATUS(tide_session_wait(t.s, shown, rig_in(900)), TIDE_DENIED);
    tide_session_close(t.s);
    rig_close(&r);
  }
}

/* What a client had queued runs, though it was killed. */
static void hasty(const struct rig *r, int in, int out) {
  struct stage t;
  struct gift gift = {.value = 0};
  char order;
  stage_open(&t, r, "hasty", 0);
  struct tide_point late = stage_promise(&t);
  struct tide_session_argument spin = number(20000);
  struct tide_session_operation o = {
      .body = TIDE_SESSION_SPIN, .arguments = &spin, .argument_count = 1};
  CHECK_OK(tide_session_grant(t.s, late, TIDE_RIGHT_WAIT, &gift.point));
  rig_tell(out, &gift, sizeof gift);
  rig_hear(in, &order, 1);
  for (int i = 0; i < 5; i++) CHECK_OK(tide_session_submit(t.s, t.channel, &o));
  o.retires = &late;
  o.retire_count = 1;
  CHECK_OK(tide_session_submit(t.s, t.channel, &o));
  CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
  rig_tell(out, &gift, sizeof gift);
  rig_hear(in, &order, 1);
}

TEST(queued_commands_outlive_their_client) {
  struct rig r;
  struct rig_child child;
  struct gift gift;
  struct tide_point late;
  rig_open(&r, NULL);
  rig_spawn(&child, hasty, &r);
  struct tide_session *s = rig_connect(&r, "patient");
  rig_hear(child.from, &gift, sizeof gift);
  CHECK_OK(tide_session_redeem(s, &gift.point, &late));
  late.value = 1;
  rig_tell(child.to, "g", 1);
  rig_hear(child.from, &gift, sizeof gift);
  rig_kill(&child);
  CHECK_OK(tide_session_wait(s, late, rig_in(5000)));
  tide_session_close(s);
  rig_close(&r);
}

TEST(full_channels_say_so) {
  struct rig r;
  struct stage t;
  rig_open(&r, "default operations 8");
  stage_open(&t, &r, "full", 0);
  struct tide_point gate;
  struct tide_point hosts;
  CHECK_OK(tide_session_create_future(t.s, NULL, &hosts));
  CHECK_OK(tide_session_promise(t.s, hosts, 0, &gate));
  struct tide_session_operation o = {.waits = &gate, .wait_count = 1};
  unsigned taken = 0;
  enum tide_status status;
  while ((status = tide_session_submit(t.s, t.channel, &o)) == TIDE_OK) taken++;
  CHECK_STATUS(status, TIDE_FULL);
  CHECK_EQ_U64(taken, 8);
  CHECK_OK(tide_session_fulfil(t.s, gate));
  while (tide_session_channel_over(t.s, t.channel) < 8) usleep(100);
  CHECK_EQ_U64(tide_session_channel_over(t.s, t.channel), 8);
  CHECK_OK(tide_session_submit(t.s, t.channel, &o));
  CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
  CHECK_EQ_U64(tide_session_refusals(t.s), 0);
  tide_session_close(t.s);
  rig_close(&r);
}

/* Use case 6: one upload, three points. And what the bodies do. */
TEST(services_of_several_points) {
  struct rig r;
  struct stage t;
  struct tide_point source, texture, tiled, back;
  enum { WIDTH = 16, SIZE = WIDTH * 8 * 4 };
  rig_open(&r, NULL);
  stage_open(&t, &r, "upload", 0);
  CHECK_OK(tide_session_create_buffer(t.s, SIZE, &source));
  CHECK_OK(tide_session_create_buffer(t.s, SIZE, &texture));
  CHECK_OK(tide_session_create_buffer(t.s, SIZE, &tiled));
  CHECK_OK(tide_session_create_buffer(t.s, SIZE, &back));
  unsigned char *bytes = tide_session_buffer_data(t.s, source, NULL);
  for (int i = 0; i < SIZE; i++) bytes[i] = (unsigned char)(i * 7);
  struct tide_point read = stage_promise(&t), device = stage_promise(&t), host = stage_promise(&t);
  struct tide_session_argument from = range(source, 0, SIZE), to = range(texture, 0, SIZE);
  CHECK_OK(tide_session_upload(t.s, t.channel, &from, &to, &read, &device, &host));
  CHECK_OK(tide_session_wait(t.s, read, rig_in(5000)));
  CHECK_OK(tide_session_wait(t.s, host, rig_in(5000)));
  CHECK(memcmp(bytes, tide_session_buffer_data(t.s, texture, NULL), SIZE) == 0);
  struct tide_session_argument tile[] = {to, range(tiled, 0, SIZE), number(WIDTH)};
  struct tide_session_argument untile[] = {range(tiled, 0, SIZE), range(back, 0, SIZE),
                                           number(WIDTH)};
  struct tide_point done = stage_promise(&t);
  struct tide_session_operation o = {
      .body = TIDE_SESSION_TILE, .arguments = tile, .argument_count = 3};
  CHECK_OK(tide_session_submit(t.s, t.channel, &o));
  o = (struct tide_session_operation){.body = TIDE_SESSION_UNTILE,
                                      .arguments = untile,
                                      .argument_count = 3,
                                      .retires = &done,
                                      .retire_count = 1};
  CHECK_OK(tide_session_submit(t.s, t.channel, &o));
  CHECK_OK(tide_session_wait(t.s, done, rig_in(5000)));
  CHECK(memcmp(bytes, tide_session_buffer_data(t.s, back, NULL), SIZE) == 0);
  const unsigned char *squares = tide_session_buffer_data(t.s, tiled, NULL);
  CHECK(memcmp(bytes, squares, SIZE) != 0);
  CHECK(memcmp(squares + 16, bytes + (size_t)WIDTH * 4, 16) == 0); /* the second row of the first */
  tide_session_close(t.s);
  rig_close(&r);
}

TEST(late_choice_and_cancel) {
  struct rig r;
  struct stage t;
  struct tide_point hosts, gate, ready, stop, buffer;
  rig_open(&r, NULL);
  stage_open(&t, &r, "choice", 0);
  CHECK_OK(tide_session_create_future(t.s, NULL, &hosts));
  CHECK_OK(tide_session_create_buffer(t.s, 64, &buffer));
  for (int round = 0; round < 3; round++) {
    CHECK_OK(tide_session_promise(t.s, hosts, 0, &stop));
    CHECK_OK(tide_session_promise(t.s, hosts, 0, &ready));
    CHECK_OK(tide_session_promise(t.s, hosts, 0, &gate));
    struct tide_point done = stage_promise(&t);
    struct tide_session_argument one[] = {range(buffer, 0, 1), number(1)};
    struct tide_session_argument two[] = {range(buffer, 0, 1), number(2)};
    struct tide_session_operation o = {.body = TIDE_SESSION_FILL,
                                       .arguments = one,
                                       .argument_count = 2,
                                       .waits = &gate,
                                       .wait_count = 1,
                                       .retires = &done,
                                       .retire_count = 1,
                                       .cancel = &stop,
                                       .choose = &ready,
                                       .otherwise = TIDE_SESSION_FILL,
                                       .otherwise_arguments = two,
                                       .otherwise_count = 2};
    CHECK_OK(tide_session_submit(t.s, t.channel, &o));
    if (round == 2) {
      CHECK_OK(tide_session_fulfil(t.s, stop));
      CHECK_STATUS(tide_session_wait(t.s, done, rig_in(5000)), TIDE_CANCELLED);
      CHECK_OK(tide_session_fulfil(t.s, gate));
      break;
    }
    if (round == 0) {
      CHECK_OK(tide_session_break(t.s, stop, TIDE_CANCELLED));
      CHECK_OK(tide_session_fulfil(t.s, ready));
    } else {
      CHECK_OK(tide_session_break(t.s, stop, TIDE_CANCELLED));
      CHECK_OK(tide_session_break(t.s, ready, TIDE_CANCELLED));
    }
    CHECK_OK(tide_session_fulfil(t.s, gate));
    CHECK_OK(tide_session_wait(t.s, done, rig_in(5000)));
    CHECK(*(unsigned char *)tide_session_buffer_data(t.s, buffer, NULL) == round + 1);
  }
  CHECK_EQ_U64(tide_session_refusals(t.s), 0);
  tide_session_close(t.s);
  rig_close(&r);
}

TEST(priorities) {
  struct rig r;
  struct stage t;
  struct tide_point hosts, until, cancel;
  rig_open(&r, "default priority 9");
  stage_open(&t, &r, "low", 15);
  CHECK_OK(tide_session_create_future(t.s, NULL, &hosts));
  CHECK_OK(tide_session_promise(t.s, hosts, 0, &until));
  struct tide_point own = stage_promise(&t);
  CHECK_OK(tide_session_decrease_priority_until(t.s, t.channel, until, 3, &cancel));
  CHECK_OK(tide_session_cancel_priority_decreases(t.s, t.channel));
  CHECK_OK(tide_session_cancel_decrease(t.s, cancel));
  CHECK_OK(tide_session_increase_priority_until(t.s, t.channel, own, 15));
  CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
  CHECK_EQ_U64(tide_session_refusals(t.s), 0);
  CHECK_OK(tide_session_cancel_decrease(t.s, cancel));
  CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
  CHECK_EQ_U64(tide_session_refusals(t.s), 1);
  tide_session_close(t.s);
  rig_close(&r);
}

/* A trusted client's channels wait only for what is known to come. */
TEST(trusted_clients_wait_for_what_is_scheduled) {
  struct rig r;
  struct stage trusted;
  struct tide_point hosts, point, theirs;
  struct tide_token token;
  rig_open(&r, "default trusted");
  stage_open(&trusted, &r, "browser", 0);
  CHECK_OK(tide_session_create_future(trusted.s, NULL, &hosts));
  CHECK_OK(tide_session_promise(trusted.s, hosts, 0, &point));
  CHECK_OK(tide_session_grant(trusted.s, hosts, TIDE_RIGHT_WAIT, &token));
  /* Granted by one that is trusted. */
  CHECK_OK(tide_session_redeem(trusted.s, &token, &theirs));
  theirs.value = point.value;
  struct tide_session_operation o = {.waits = &theirs, .wait_count = 1};
  CHECK_OK(tide_session_submit(trusted.s, trusted.channel, &o));
  CHECK_OK(tide_session_sync(trusted.s, rig_in(5000)));
  CHECK_EQ_U64(tide_session_refusals(trusted.s), 0);
  CHECK_OK(tide_session_fulfil(trusted.s, point));
  tide_session_close(trusted.s);
  rig_close(&r);
}

TEST_MAIN(CASE(fill_and_copy), CASE(refused_commands_break_what_they_keep),
          CASE(service_side_wait_for_another_process), CASE(queued_commands_outlive_their_client),
          CASE(full_channels_say_so), CASE(services_of_several_points),
          CASE(late_choice_and_cancel), CASE(priorities),
          CASE(trusted_clients_wait_for_what_is_scheduled))
