/* Failure goes down a channel of a session, too: by a wait, by a body, by a refusal. */
#include "service_rig.h"

struct stage { /* a session with a channel, a timeline of its commands, and a buffer */
  struct tide_session *s;
  struct tide_point channel, timeline, hosts, buffer;
  const volatile unsigned char *bytes;
};

static void stage_open(struct stage *t, const struct rig *r) {
  struct tide_future_params large = {.struct_size = sizeof large, .capacity = 64};
  t->s = rig_connect(r, "stage");
  CHECK_OK(tide_session_create_channel(t->s, NULL, &t->channel));
  CHECK_OK(tide_session_create_channel_future(t->s, t->channel, &large, &t->timeline));
  CHECK_OK(tide_session_create_future(t->s, &large, &t->hosts));
  CHECK_OK(tide_session_create_buffer(t->s, 64, &t->buffer));
  t->bytes = tide_session_buffer_data(t->s, t->buffer, NULL);
}

static struct tide_point promise(const struct stage *t, struct tide_point timeline) {
  struct tide_point point;
  CHECK_OK(tide_session_promise(t->s, timeline, 0, &point));
  return point;
}

static void submit(const struct stage *t, struct tide_session_operation operation) {
  CHECK_OK(tide_session_submit(t->s, t->channel, &operation));
}

/* A command that fills one byte, and keeps the point that it returns. */
static struct tide_point draw(const struct stage *t, unsigned byte, uint32_t flags) {
  struct tide_point drawn = promise(t, t->timeline);
  struct tide_session_argument fill[] = {{.buffer = t->buffer, .offset = byte, .size = 1},
                                         {.offset = 7}};
  submit(t, (struct tide_session_operation){.flags = flags,
                                            .body = TIDE_SESSION_FILL,
                                            .arguments = fill,
                                            .argument_count = 2,
                                            .retires = &drawn,
                                            .retire_count = 1});
  return drawn;
}

static void wait_for(const struct stage *t, struct tide_point point) {
  submit(t, (struct tide_session_operation){.waits = &point, .wait_count = 1});
}

static void heard(void *user, enum tide_status status) { *(enum tide_status *)user = status; }

/* What tidemark top says of the one channel. */
static enum tide_status failure_of(const struct stage *t) {
  struct tide_session_client_stats client;
  struct tide_session_channel_stats channel;
  CHECK_OK(tide_session_client_stats(t->s, 0, &client));
  CHECK_OK(tide_session_channel_stats(t->s, client.client, 0, &channel));
  return channel.failure;
}

/* Promises, and is killed before it keeps that. */
static void mortal(const struct rig *r, int in, int out) {
  struct tide_token token = rig_promise(r, "mortal");
  char order;
  rig_tell(out, &token, sizeof token);
  rig_hear(in, &order, 1);
}

TEST(behind_a_wait_for_who_was_killed_nothing_runs) {
  struct rig r;
  struct rig_child child;
  struct stage t;
  struct tide_point theirs;
  enum tide_status told = TIDE_OK;
  rig_open(&r, NULL);
  rig_spawn(&child, mortal, &r);
  stage_open(&t, &r);
  theirs = rig_hear_promise(&child, t.s);
  wait_for(&t, theirs);
  struct tide_point behind = draw(&t, 0, 0);
  struct tide_point despite = draw(&t, 1, TIDE_DESPITE_BROKEN), last = draw(&t, 2, 0);
  CHECK_OK(tide_session_when_complete(t.s, last, heard, &told, NULL));
  CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
  CHECK_STATUS(tide_session_query(t.s, behind), TIDE_TIMEOUT);
  rig_kill(&child);
  CHECK_STATUS(tide_session_wait(t.s, behind, rig_in(5000)), TIDE_OWNER_DIED);
  CHECK_OK(tide_session_wait(t.s, despite, rig_in(5000)));
  CHECK_STATUS(tide_session_wait(t.s, last, rig_in(5000)), TIDE_OWNER_DIED);
  while (!told) CHECK_OK(tide_session_dispatch(t.s, rig_in(5000)));
  CHECK_STATUS(told, TIDE_OWNER_DIED);
  CHECK(t.bytes[0] == 0 && t.bytes[1] == 7 && t.bytes[2] == 0);
  CHECK_STATUS(failure_of(&t), TIDE_OWNER_DIED);
  /* In the ring, in its place among the commands. */
  CHECK_OK(tide_session_recover(t.s, t.channel));
  CHECK_OK(tide_session_wait(t.s, draw(&t, 3, 0), rig_in(5000)));
  CHECK(t.bytes[3] == 7);
  CHECK_OK(failure_of(&t));
  CHECK_EQ_U64(tide_session_refusals(t.s), 0);
  tide_session_close(t.s);
  rig_close(&r);
}

TEST(behind_a_body_that_failed_nothing_runs) {
  struct rig r;
  struct stage t;
  rig_open(&r, NULL);
  stage_open(&t, &r);
  submit(&t, (struct tide_session_operation){.body = TIDE_SESSION_FAIL});
  struct tide_point behind = draw(&t, 0, 0), fresh = draw(&t, 1, TIDE_RECOVER);
  struct tide_point last = draw(&t, 2, 0);
  CHECK_STATUS(tide_session_wait(t.s, behind, rig_in(5000)), TIDE_FAILED);
  CHECK_OK(tide_session_wait(t.s, fresh, rig_in(5000)));
  CHECK_OK(tide_session_wait(t.s, last, rig_in(5000)));
  CHECK(t.bytes[0] == 0 && t.bytes[1] == 7 && t.bytes[2] == 7);
  tide_session_close(t.s);
  rig_close(&r);
}

/* The client has queued more behind it before it can hear of it. */
TEST(behind_a_refused_command_nothing_runs) {
  struct rig r;
  struct stage t;
  rig_open(&r, NULL);
  stage_open(&t, &r);
  /* Held up, so that what was queued before is there still: it runs. */
  struct tide_point gate = promise(&t, t.hosts), nobody = t.hosts;
  wait_for(&t, gate);
  struct tide_point before = draw(&t, 0, 0);
  nobody.value = 1000;
  wait_for(&t, nobody);
  struct tide_point behind = draw(&t, 1, 0), despite = draw(&t, 2, TIDE_DESPITE_BROKEN);
  CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
  CHECK_EQ_U64(tide_session_refusals(t.s), 1);
  CHECK_STATUS(failure_of(&t), TIDE_NOT_FOUND);
  CHECK_OK(tide_session_recover(t.s, t.channel));
  struct tide_point fresh = draw(&t, 3, 0);
  CHECK_OK(tide_session_fulfil(t.s, gate));
  CHECK_OK(tide_session_wait(t.s, before, rig_in(5000)));
  CHECK_STATUS(tide_session_wait(t.s, behind, rig_in(5000)), TIDE_NOT_FOUND);
  CHECK_OK(tide_session_wait(t.s, despite, rig_in(5000)));
  CHECK_OK(tide_session_wait(t.s, fresh, rig_in(5000)));
  CHECK(t.bytes[0] == 7 && t.bytes[1] == 0 && t.bytes[2] == 7 && t.bytes[3] == 7);
  /* An allocation that is refused is a command, too. */
  struct tide_point device = promise(&t, t.timeline), buffer;
  CHECK_OK(tide_session_allocate(t.s, t.channel, UINT64_MAX, &device, NULL, &buffer));
  CHECK_STATUS(tide_session_wait(t.s, draw(&t, 4, 0), rig_in(5000)), TIDE_FULL);
  CHECK(t.bytes[4] == 0);
  tide_session_close(t.s);
  rig_close(&r);
}

/* The owner of a timeline may die between any two commands of others. To name its points is no
 * mistake then: they are broken, and a command that goes on despite that goes on. */
TEST(a_timeline_that_is_gone_is_broken) {
  struct rig r;
  struct rig_child child;
  struct stage t;
  struct tide_point theirs;
  rig_open(&r, NULL);
  rig_spawn(&child, mortal, &r);
  stage_open(&t, &r);
  theirs = rig_hear_promise(&child, t.s);
  /* A choice by what they have never promised is "not retired". */
  struct tide_point chosen = promise(&t, t.timeline), never = theirs;
  never.value = 1000;
  submit(&t,
         (struct tide_session_operation){
             .body = TIDE_SESSION_FAIL, .choose = &never, .retires = &chosen, .retire_count = 1});
  CHECK_OK(tide_session_wait(t.s, chosen, rig_in(5000)));
  rig_kill(&child);
  CHECK_STATUS(tide_session_wait(t.s, theirs, rig_in(5000)), TIDE_OWNER_DIED);
  CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
  chosen = promise(&t, t.timeline);
  struct tide_session_argument body[] = {{.buffer = t.buffer, .offset = 0, .size = 1},
                                         {.offset = 1}};
  struct tide_session_argument other[] = {{.buffer = t.buffer, .offset = 0, .size = 1},
                                          {.offset = 2}};
  submit(&t, (struct tide_session_operation){.flags = TIDE_DESPITE_BROKEN,
                                             .body = TIDE_SESSION_FILL,
                                             .arguments = body,
                                             .argument_count = 2,
                                             .waits = &theirs,
                                             .wait_count = 1,
                                             .retires = &chosen,
                                             .retire_count = 1,
                                             .cancel = &theirs,
                                             .choose = &theirs,
                                             .otherwise = TIDE_SESSION_FILL,
                                             .otherwise_arguments = other,
                                             .otherwise_count = 2});
  CHECK_OK(tide_session_wait(t.s, chosen, rig_in(5000)));
  CHECK_EQ_U64(t.bytes[0], 2);
  CHECK_EQ_U64(tide_session_refusals(t.s), 0);
  /* Without the flag it fails, and nothing behind it runs. */
  wait_for(&t, theirs);
  CHECK_STATUS(tide_session_wait(t.s, draw(&t, 1, 0), rig_in(5000)), TIDE_OWNER_DIED);
  CHECK(t.bytes[1] == 0);
  tide_session_close(t.s);
  rig_close(&r);
}

/* Changes of priorities take no room of the commands: else one of these would be refused. */
TEST(a_channel_takes_as_many_commands_as_it_says) {
  struct rig r;
  struct stage t;
  rig_open(&r, "default operations 8 priority 9");
  stage_open(&t, &r);
  struct tide_point gate = promise(&t, t.hosts), until = promise(&t, t.hosts);
  wait_for(&t, gate);
  for (int i = 0; i < 8; i++)
    CHECK_OK(tide_session_decrease_priority_until(t.s, t.channel, until, 1, NULL));
  for (unsigned i = 0; i < 6; i++) (void)draw(&t, i, 0);
  struct tide_point last = draw(&t, 6, 0);
  CHECK_OK(tide_session_sync(t.s, rig_in(5000)));
  CHECK_EQ_U64(tide_session_refusals(t.s), 0);
  CHECK_STATUS(tide_session_recover(t.s, t.channel), TIDE_FULL);
  CHECK_OK(tide_session_fulfil(t.s, gate));
  CHECK_OK(tide_session_wait(t.s, last, rig_in(5000)));
  tide_session_close(t.s);
  rig_close(&r);
}

TEST_MAIN(CASE(behind_a_wait_for_who_was_killed_nothing_runs),
          CASE(behind_a_body_that_failed_nothing_runs), CASE(behind_a_refused_command_nothing_runs),
          CASE(a_timeline_that_is_gone_is_broken),
          CASE(a_channel_takes_as_many_commands_as_it_says))
