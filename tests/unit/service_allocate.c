/* Allocation and flush as commands of several points, between processes. */
#include "service_rig.h"

struct stage {
  struct tide_session *s;
  struct tide_point channel, timeline; /* and promises of its commands */
  struct tide_point mine;              /* promises of no channel's */
};

static void stage_open(struct stage *t, const struct rig *r, const char *label) {
  t->s = rig_connect(r, label);
  CHECK_OK(tide_session_create_channel(t->s, NULL, &t->channel));
  CHECK_OK(tide_session_create_channel_future(t->s, t->channel, NULL, &t->timeline));
  struct tide_future_params large = {.struct_size = sizeof large, .capacity = 64};
  CHECK_OK(tide_session_create_future(t->s, &large, &t->mine));
}

static struct tide_point promise(struct stage *t, struct tide_point timeline) {
  struct tide_point point;
  CHECK_OK(tide_session_promise(t->s, timeline, 0, &point));
  return point;
}

/* The channel goes on when this is kept. */
static struct tide_point hold_up(struct stage *t) {
  struct tide_point gate = promise(t, t->mine);
  struct tide_session_operation wait = {.waits = &gate, .wait_count = 1};
  CHECK_OK(tide_session_submit(t->s, t->channel, &wait));
  return gate;
}

static struct tide_point fill(struct stage *t, struct tide_point buffer, uint64_t offset,
                              uint64_t size, uint64_t value) {
  struct tide_point done = promise(t, t->timeline);
  struct tide_session_argument arguments[] = {{.buffer = buffer, .offset = offset, .size = size},
                                              {.offset = value}};
  struct tide_session_operation o = {.body = TIDE_SESSION_FILL,
                                     .arguments = arguments,
                                     .argument_count = 2,
                                     .retires = &done,
                                     .retire_count = 1};
  CHECK_OK(tide_session_submit(t->s, t->channel, &o));
  return done;
}

static struct tide_session_client_stats own_stats(struct tide_session *s, const char *label) {
  struct tide_session_client_stats stats;
  for (uint32_t i = 0; tide_session_client_stats(s, i, &stats) == TIDE_OK; i++)
    if (strcmp(stats.label, label) == 0) return stats;
  FAIL("nobody is called %s", label);
  return stats;
}

/* What is free comes free when the service has come to it. */
static void wait_until_free(struct tide_session *s, const char *label) {
  for (uint64_t until = rig_in(5000); own_stats(s, label).bytes;) {
    if (tide_service_now() > until) FAIL("%s is charged still", label);
    usleep(1000);
  }
}

/* Named, used by the next command, charged: all before it is made; then its points, one by one. */
TEST(a_buffer_is_made_when_its_turn_comes) {
  struct rig r;
  struct stage t;
  struct tide_point buffer;
  uint64_t size;
  rig_open(&r, NULL);
  stage_open(&t, &r, "maker");
  struct tide_point gate = hold_up(&t);
  struct tide_point device = promise(&t, t.timeline), host = promise(&t, t.mine);
  CHECK_OK(tide_session_allocate(t.s, t.channel, 8192, &device, &host, &buffer));
  struct tide_point filled = fill(&t, buffer, 4000, 200, 7);
  CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
  CHECK(tide_session_buffer_data(t.s, buffer, &size) == NULL && size == 0);
  CHECK_STATUS(tide_session_query(t.s, device), TIDE_TIMEOUT);
  CHECK_STATUS(tide_session_query(t.s, host), TIDE_TIMEOUT);
  CHECK_EQ_U64(own_stats(t.s, "maker").bytes, 8192);

  CHECK_OK(tide_session_fulfil(t.s, gate));
  CHECK_OK(tide_session_wait(t.s, device, rig_in(5000)));
  CHECK_OK(tide_session_wait(t.s, filled, rig_in(5000)));
  CHECK_OK(tide_session_wait(t.s, host, rig_in(5000)));
  const unsigned char *bytes = tide_session_buffer_data(t.s, buffer, &size);
  CHECK(bytes != NULL && size == 8192);
  CHECK(bytes[3999] == 0 && bytes[4000] == 7 && bytes[4199] == 7 && bytes[4200] == 0);
  CHECK_EQ_U64(tide_session_refusals(t.s), 0);
  /* It is a buffer like any other. */
  filled = fill(&t, buffer, 0, 1, 3);
  CHECK_OK(tide_session_wait(t.s, filled, rig_in(5000)));
  CHECK_EQ_U64(bytes[0], 3);
  CHECK_OK(tide_session_destroy(t.s, buffer));
  CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
  CHECK(tide_session_buffer_data(t.s, buffer, NULL) == NULL);
  wait_until_free(t.s, "maker");
  tide_session_close(t.s);
  rig_close(&r);
}

/* More than it may have: both points break with TIDE_FULL, the name goes, and what comes after a
 * recovery of the channel is not held up. */
TEST(quotas_break_both_points) {
  struct rig r;
  struct stage t;
  struct tide_point buffer, other;
  rig_open(&r, "default bytes 10000\n");
  stage_open(&t, &r, "greedy");
  for (int i = 0; i < 200;
       i++) { /* more often than it has operations, answers or handles at a time */
    struct tide_point device = promise(&t, t.timeline), host = promise(&t, t.mine);
    CHECK_OK(tide_session_allocate(t.s, t.channel, 10001, &device, &host, &buffer));
    CHECK_STATUS(tide_session_wait(t.s, device, rig_in(5000)), TIDE_FULL);
    CHECK_STATUS(tide_session_wait(t.s, host, rig_in(5000)), TIDE_FULL);
    CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
    CHECK(tide_session_buffer_data(t.s, buffer, NULL) == NULL);
    CHECK_STATUS(tide_session_destroy(t.s, buffer), TIDE_NOT_FOUND);
  }
  /* What is charged is charged before it is made. */
  CHECK_OK(tide_session_recover(t.s, t.channel));
  struct tide_point gate = hold_up(&t);
  struct tide_point device = promise(&t, t.timeline), second = promise(&t, t.timeline);
  CHECK_OK(tide_session_allocate(t.s, t.channel, 6000, &device, NULL, &buffer));
  CHECK_OK(tide_session_allocate(t.s, t.channel, 6000, &second, NULL, &other));
  CHECK_STATUS(tide_session_wait(t.s, second, rig_in(900)), TIDE_FULL);
  CHECK_STATUS(tide_session_query(t.s, device), TIDE_TIMEOUT);
  CHECK_OK(tide_session_fulfil(t.s, gate));
  CHECK_OK(tide_session_wait(t.s, device, rig_in(5000)));
  CHECK_EQ_U64(own_stats(t.s, "greedy").bytes, 6000);
  tide_session_close(t.s);
  rig_close(&r);
}

/* The host's point is no channel's; a command that comes before the buffer fails; and one that is
 * queued when the service ends makes none. */
TEST(what_cannot_be) {
  struct rig r;
  struct stage t, u;
  struct tide_point buffer;
  rig_open(&r, NULL);
  stage_open(&t, &r, "wrong");
  u.s = t.s;
  CHECK_OK(tide_session_create_channel(u.s, NULL, &u.channel));
  CHECK_OK(tide_session_create_channel_future(u.s, u.channel, NULL, &u.timeline));
  struct tide_point device = promise(&t, t.timeline), host = promise(&t, t.timeline);
  CHECK_OK(tide_session_allocate(t.s, t.channel, 64, &device, &host, &buffer));
  CHECK_STATUS(tide_session_wait(t.s, device, rig_in(900)), TIDE_INVALID);
  CHECK_STATUS(tide_session_wait(t.s, host, rig_in(900)), TIDE_INVALID);
  CHECK_STATUS(tide_session_allocate(t.s, t.channel, 0, &device, NULL, &buffer), TIDE_INVALID);
  CHECK_STATUS(tide_session_allocate(t.s, t.channel, 64, NULL, &host, &buffer), TIDE_INVALID);

  struct tide_token token;
  CHECK_OK(tide_session_recover(t.s, t.channel));
  struct tide_point gate = hold_up(&t), theirs;
  device = promise(&t, t.timeline), host = promise(&t, t.mine);
  CHECK_OK(tide_session_allocate(t.s, t.channel, 64, &device, &host, &buffer));
  struct tide_point early = fill(&u, buffer, 0, 64, 1); /* another channel, and it does not wait */
  CHECK_STATUS(tide_session_wait(u.s, early, rig_in(900)), TIDE_INVALID);
  CHECK_OK(tide_session_grant(t.s, buffer, TIDE_RIGHT_READ, &token));
  CHECK_STATUS(tide_session_redeem(t.s, &token, &theirs), TIDE_BUSY);
  /* What was before it in its channel fails: it is not made, and what uses it does not run. */
  struct tide_point late = fill(&t, buffer, 0, 64, 1);
  CHECK_OK(tide_session_break(t.s, gate, TIDE_FAILED));
  CHECK_STATUS(tide_session_wait(t.s, device, rig_in(5000)), TIDE_FAILED);
  CHECK_STATUS(tide_session_wait(t.s, host, rig_in(5000)), TIDE_FAILED);
  CHECK_STATUS(tide_session_wait(t.s, late, rig_in(5000)), TIDE_FAILED);
  CHECK_STATUS(tide_session_redeem(t.s, &token, &theirs), TIDE_NOT_FOUND);
  CHECK_OK(tide_session_recover(t.s, t.channel));
  device = promise(&t, t.timeline), host = promise(&t, t.mine);
  CHECK_OK(tide_session_allocate(t.s, t.channel, 64, &device, &host, &buffer));
  late = fill(&t, buffer, 0, 64, 1);
  CHECK_OK(tide_session_wait(t.s, host, rig_in(5000)));
  CHECK_OK(tide_session_wait(t.s, late, rig_in(5000)));
  CHECK_OK(tide_session_grant(t.s, buffer, TIDE_RIGHT_READ, &token));
  CHECK_OK(tide_session_redeem(t.s, &token, &theirs));
  hold_up(&t);
  device = promise(&t, t.timeline);
  CHECK_OK(tide_session_allocate(t.s, t.channel, 64, &device, NULL, &buffer));
  (void)fill(&t, buffer, 0, 64, 1);
  CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
  tide_session_close(t.s);
  rig_close(&r);
}

/* The name goes before its turn: commands that are queued have it still; the host's point breaks.
 */
TEST(a_name_that_goes_before_its_turn) {
  struct rig r;
  struct stage t;
  struct tide_point buffer;
  rig_open(&r, "default buffers 1\n");
  stage_open(&t, &r, "hasty");
  for (int i = 0; i < 20; i++) {
    struct tide_point gate = hold_up(&t);
    struct tide_point device = promise(&t, t.timeline), host = promise(&t, t.mine);
    CHECK_OK(tide_session_allocate(t.s, t.channel, 4096, &device, &host, &buffer));
    struct tide_point filled = fill(&t, buffer, 0, 4096, 7);
    CHECK_OK(tide_session_destroy(t.s, buffer));
    CHECK_OK(tide_session_fulfil(t.s, gate));
    CHECK_OK(tide_session_wait(t.s, device, rig_in(5000)));
    CHECK_OK(tide_session_wait(t.s, filled, rig_in(5000)));
    CHECK_STATUS(tide_session_wait(t.s, host, rig_in(5000)), TIDE_CANCELLED);
    wait_until_free(t.s, "hasty");
  }
  tide_session_close(t.s);
  rig_close(&r);
}

/* Many at once, none of which is read: nobody but this client is held up by it. */
TEST(unread_buffers_cost_no_descriptors) {
  struct rig r;
  struct stage t;
  struct tide_point buffers[40], device, host, gate;
  rig_descriptors = 96;
  rig_open(&r, NULL);
  rig_descriptors = 0;
  stage_open(&t, &r, "many");
  struct tide_future_params large = {.struct_size = sizeof large, .capacity = 64};
  CHECK_OK(tide_session_create_channel_future(t.s, t.channel, &large, &t.timeline));
  gate = hold_up(&t);
  for (int i = 0; i < 40; i++) {
    device = promise(&t, t.timeline);
    host = promise(&t, t.mine);
    CHECK_OK(tide_session_allocate(t.s, t.channel, 4096, &device, &host, &buffers[i]));
  }
  CHECK_OK(tide_session_fulfil(t.s, gate));
  CHECK_OK(tide_session_wait(t.s, device, rig_in(5000)));
  CHECK_OK(tide_session_wait(t.s, host, rig_in(5000)));
  struct tide_session *another = rig_connect(&r, "another");
  CHECK_OK(tide_session_sync(another, rig_in(5000)));
  tide_session_close(another);
  for (int i = 0; i < 40; i++) CHECK(tide_session_buffer_data(t.s, buffers[i], NULL) != NULL);
  tide_session_close(t.s);
  rig_close(&r);
}

struct gift {
  struct tide_token device, host, done;
};

/* Has queued an allocation and what uses it, and is killed before its turn. */
static void mayfly(const struct rig *r, int in, int out) {
  struct stage t;
  struct tide_point buffer, gate;
  struct tide_token token;
  struct gift gift;
  char order;
  stage_open(&t, r, "mayfly");
  rig_hear(in, &token, sizeof token);
  CHECK_OK(tide_session_redeem(t.s, &token, &gate));
  gate.value = 1;
  struct tide_session_operation wait = {.waits = &gate, .wait_count = 1};
  CHECK_OK(tide_session_submit(t.s, t.channel, &wait));
  struct tide_point device = promise(&t, t.timeline), host = promise(&t, t.mine);
  CHECK_OK(tide_session_allocate(t.s, t.channel, 1 << 20, &device, &host, &buffer));
  struct tide_point done = fill(&t, buffer, 0, 1 << 20, 7);
  CHECK_OK(tide_session_grant(t.s, device, TIDE_RIGHT_WAIT, &gift.device));
  CHECK_OK(tide_session_grant(t.s, host, TIDE_RIGHT_WAIT, &gift.host));
  CHECK_OK(tide_session_grant(t.s, done, TIDE_RIGHT_WAIT, &gift.done));
  rig_tell(out, &gift, sizeof gift);
  rig_hear(in, &order, 1);
}

TEST(a_client_that_dies_before_its_turn) {
  struct rig r;
  struct rig_child child;
  struct stage t;
  struct gift gift;
  struct tide_token token;
  struct tide_point gate, device, host, done;
  rig_open(&r, NULL);
  stage_open(&t, &r, "heir");
  rig_spawn(&child, mayfly, &r);
  CHECK_OK(tide_session_promise(t.s, t.mine, rig_in(60000), &gate));
  CHECK_OK(tide_session_grant(t.s, gate, TIDE_RIGHT_WAIT, &token));
  rig_tell(child.to, &token, sizeof token);
  rig_hear(child.from, &gift, sizeof gift);
  CHECK_OK(tide_session_redeem(t.s, &gift.device, &device));
  CHECK_OK(tide_session_redeem(t.s, &gift.host, &host));
  CHECK_OK(tide_session_redeem(t.s, &gift.done, &done));
  device.value = host.value = 1;
  done.value = 2;
  rig_kill(&child);
  /* What it owed itself breaks at once; what it had queued goes on. */
  CHECK_STATUS(tide_session_wait(t.s, host, rig_in(900)), TIDE_OWNER_DIED);
  CHECK_STATUS(tide_session_query(t.s, device), TIDE_TIMEOUT);
  CHECK_OK(tide_session_fulfil(t.s, gate));
  CHECK_OK(tide_session_wait(t.s, device, rig_in(5000)));
  CHECK_OK(tide_session_wait(t.s, done, rig_in(5000)));
  tide_session_close(t.s);
  rig_close(&r);
}

/* What one process writes, flushed, another reads when it is told so. */
static void reader(const struct rig *r, int in, int out) {
  struct tide_session *s = rig_connect(r, "reader");
  struct tide_token tokens[2];
  struct tide_point host, buffer;
  rig_hear(in, tokens, sizeof tokens);
  CHECK_OK(tide_session_redeem(s, &tokens[0], &host));
  CHECK_OK(tide_session_redeem(s, &tokens[1], &buffer));
  rig_tell(out, "r", 1);
  host.value = 2;
  CHECK_OK(tide_session_wait(s, host, rig_in(5000)));
  const unsigned char *bytes = tide_session_buffer_data(s, buffer, NULL);
  CHECK(bytes[0] == 5 && bytes[100] == 5 && bytes[4095] == 9);
  tide_session_close(s);
}

TEST(flush_of_two_points) {
  struct rig r;
  struct rig_child child;
  struct stage t;
  struct tide_point buffer;
  struct tide_token tokens[2];
  char ready;
  rig_open(&r, NULL);
  stage_open(&t, &r, "writer");
  CHECK_OK(tide_session_create_buffer(t.s, 4096, &buffer));
  struct tide_point device = promise(&t, t.timeline), host = promise(&t, t.timeline);
  CHECK_OK(tide_session_grant(t.s, host, TIDE_RIGHT_WAIT, &tokens[0]));
  CHECK_OK(tide_session_grant(t.s, buffer, TIDE_RIGHT_READ, &tokens[1]));
  rig_spawn(&child, reader, &r);
  rig_tell(child.to, tokens, sizeof tokens);
  rig_hear(child.from, &ready, 1);
  unsigned char *bytes = tide_session_buffer_data(t.s, buffer, NULL);
  memset(bytes, 5, 200);
  bytes[4095] = 9;
  struct tide_session_argument ranges[] = {{.buffer = buffer, .offset = 0, .size = 200},
                                           {.buffer = buffer, .offset = 4095, .size = 1}};
  CHECK_OK(tide_session_flush(t.s, t.channel, ranges, 2, &device, &host));
  CHECK_OK(tide_session_wait(t.s, device, rig_in(5000)));
  rig_end(&child);
  /* A range beyond the buffer breaks both; none at all is none. */
  device = promise(&t, t.timeline), host = promise(&t, t.timeline);
  ranges[1].size = 2;
  CHECK_OK(tide_session_flush(t.s, t.channel, ranges, 2, &device, &host));
  CHECK_STATUS(tide_session_wait(t.s, device, rig_in(900)), TIDE_INVALID);
  CHECK_STATUS(tide_session_wait(t.s, host, rig_in(900)), TIDE_INVALID);
  CHECK_STATUS(tide_session_flush(t.s, t.channel, ranges, 0, &device, &host), TIDE_INVALID);
  tide_session_close(t.s);
  rig_close(&r);
}

TEST_MAIN(CASE(a_buffer_is_made_when_its_turn_comes), CASE(quotas_break_both_points),
          CASE(what_cannot_be), CASE(a_name_that_goes_before_its_turn),
          CASE(unread_buffers_cost_no_descriptors), CASE(a_client_that_dies_before_its_turn),
          CASE(flush_of_two_points))
