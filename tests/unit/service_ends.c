/* What ended stays so: after its owner has destroyed the timeline, used the handle again, or gone.
 * What was never promised is not found. After the service's end all calls return TIDE_LOST. */
#include "service_rig.h"

/* A holder of another client's points, with a channel of its own. */
struct holder {
  struct tide_session *s;
  struct tide_point channel, timeline;
};

static struct holder open_holder(const struct rig *r) {
  struct holder h = {.s = rig_connect(r, "holder")};
  CHECK_OK(tide_session_create_channel(h.s, NULL, &h.channel));
  CHECK_OK(tide_session_create_channel_future(h.s, h.channel, NULL, &h.timeline));
  return h;
}

/* Returns the point as this holder names it. */
static struct tide_point hand_over(struct tide_session *owner, struct tide_point point,
                                   struct holder *h) {
  struct tide_point held;
  struct tide_token token;
  CHECK_OK(tide_session_grant(owner, point, TIDE_RIGHT_WAIT, &token));
  CHECK_OK(tide_session_redeem(h->s, &token, &held));
  held.value = point.value;
  return held;
}

static enum tide_status wait_by_command(struct holder *h, struct tide_point point, uint32_t flags) {
  struct tide_point kept;
  struct tide_session_operation operation = {
      .waits = &point, .wait_count = 1, .retires = &kept, .retire_count = 1, .flags = flags};
  CHECK_OK(tide_session_promise(h->s, h->timeline, rig_in(60000), &kept));
  CHECK_OK(tide_session_submit(h->s, h->channel, &operation));
  enum tide_status status = tide_session_wait(h->s, kept, rig_in(60000));
  CHECK_OK(tide_session_recover(h->s, h->channel));
  return status;
}

static enum tide_status wait_by_compound(struct holder *h, struct tide_point point) {
  struct tide_point all;
  CHECK_OK(tide_session_promise_compound(h->s, rig_in(60000), &all));
  CHECK_OK(tide_session_all(h->s, all, &point, 1));
  enum tide_status status = tide_session_wait(h->s, all, rig_in(60000));
  CHECK_OK(tide_session_destroy(h->s, all));
  return status;
}

static enum tide_status hear_of(struct holder *h, struct tide_point point, bool schedulable) {
  struct heard heard = {0};
  if (schedulable)
    CHECK_OK(tide_session_when_schedulable(h->s, point, NULL, 0, hear, &heard, NULL));
  else CHECK_OK(tide_session_when_complete(h->s, point, hear, &heard, NULL));
  while (!heard.calls)
    if (tide_session_dispatch(h->s, rig_in(60000)) == TIDE_TIMEOUT) FAIL("no call was made");
  return heard.status;
}

/* Each path to the point's end says the same. */
static void check_end(struct holder *h, struct tide_point point, enum tide_status expected) {
  enum tide_point_state state = TIDE_POINT_PROMISED;
  enum tide_status why = TIDE_OK;
  CHECK_STATUS(tide_session_query(h->s, point), expected);
  CHECK_STATUS(tide_session_wait(h->s, point, TIDE_NOW), expected);
  CHECK_STATUS(tide_session_wait(h->s, point, rig_in(60000)), expected);
  CHECK_STATUS(hear_of(h, point, false), expected);
  CHECK_STATUS(hear_of(h, point, true), expected);
  CHECK_STATUS(wait_by_command(h, point, 0), expected);
  if (expected == TIDE_NOT_FOUND) {
    CHECK_STATUS(tide_session_state(h->s, point, &state, &why), TIDE_NOT_FOUND);
    return;
  }
  CHECK_OK(wait_by_command(h, point, TIDE_DESPITE_BROKEN));
  CHECK_STATUS(wait_by_compound(h, point), expected);
  CHECK_OK(tide_session_state(h->s, point, &state, &why));
  CHECK_STATUS(why, expected);
  CHECK(state == (expected ? TIDE_POINT_BROKEN : TIDE_POINT_RETIRED));
}

/* An owner's timeline with the values 1 kept, 2 to 9 broken in four runs (one more than the shared
 * memory shows), 10 kept; 11 is not promised. And two compounds. */
struct owner {
  struct tide_session *s;
  struct tide_point timeline, good, bad, points[10];
};

static const enum tide_status expected_ends[10] = {
    TIDE_OK,      TIDE_IO,     TIDE_IO, TIDE_DENIED, TIDE_DENIED,
    TIDE_CORRUPT, TIDE_FAILED, TIDE_IO, TIDE_IO,     TIDE_OK};

static void fill_owner(struct owner *o) {
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = 12};
  CHECK_OK(tide_session_create_future(o->s, &params, &o->timeline));
  for (int i = 0; i < 10; i++) {
    CHECK_OK(tide_session_promise(o->s, o->timeline, rig_in(600000), &o->points[i]));
    if (expected_ends[i]) CHECK_OK(tide_session_break(o->s, o->points[i], expected_ends[i]));
    else CHECK_OK(tide_session_fulfil(o->s, o->points[i]));
  }
  CHECK_OK(tide_session_promise_compound(o->s, rig_in(600000), &o->good));
  CHECK_OK(tide_session_all(o->s, o->good, &o->points[9], 1));
  CHECK_OK(tide_session_promise_compound(o->s, rig_in(600000), &o->bad));
  CHECK_OK(tide_session_all(o->s, o->bad, &o->points[3], 1));
  CHECK_OK(tide_session_sync(o->s, rig_in(60000)));
}

enum fate { ALIVE, DESTROYED, USED_AGAIN, CLOSED, FATES };

static void end_owner(struct owner *o, enum fate fate) {
  if (fate == CLOSED) {
    tide_session_close(o->s);
    return;
  }
  if (fate == ALIVE) return;
  CHECK_OK(tide_session_destroy(o->s, o->timeline));
  CHECK_OK(tide_session_destroy(o->s, o->good));
  CHECK_OK(tide_session_destroy(o->s, o->bad));
  /* The handles are few: each is used again. */
  for (int i = 0; fate == USED_AGAIN && i < 200; i++) {
    struct tide_point point;
    CHECK_OK(tide_session_create_future(o->s, NULL, &point));
    CHECK_OK(tide_session_destroy(o->s, point));
  }
  CHECK_OK(tide_session_sync(o->s, rig_in(60000)));
}

/* Waits until the service has noticed that only one client is left. */
static void await_alone(struct tide_session *s) {
  struct tide_session_client_stats stats;
  while (tide_session_client_stats(s, 1, &stats) == TIDE_OK) usleep(1000);
}

TEST(what_ended_stays_so) {
  for (enum fate fate = ALIVE; fate < FATES; fate++) {
    struct rig r;
    rig_open(&r, "default handles 64 timelines 32");
    struct owner o = {.s = rig_connect(&r, "owner")};
    struct holder h = open_holder(&r);
    fill_owner(&o);
    struct tide_point held = hand_over(o.s, o.points[0], &h), good = hand_over(o.s, o.good, &h),
                      bad = hand_over(o.s, o.bad, &h);
    end_owner(&o, fate);
    if (fate == CLOSED) await_alone(h.s);
    for (int i = 0; i < 10; i++) {
      held.value = (uint64_t)i + 1;
      check_end(&h, held, expected_ends[i]);
    }
    held.value = 11;
    check_end(&h, held, TIDE_NOT_FOUND);
    check_end(&h, good, TIDE_OK);
    check_end(&h, bad, TIDE_DENIED);
    tide_session_close(h.s);
    if (fate != CLOSED) tide_session_close(o.s);
    rig_close(&r);
  }
}

/* The owner is gone, and its channel still works: the point is kept after that. */
TEST(what_is_queued_ends_after_its_owner) {
  struct rig r;
  rig_open(&r, NULL);
  struct tide_session *owner = rig_connect(&r, "owner");
  struct holder h = open_holder(&r);
  struct tide_point gate, opened, channel, timeline, kept, owed;
  CHECK_OK(tide_session_create_future(h.s, NULL, &gate));
  CHECK_OK(tide_session_promise(h.s, gate, rig_in(600000), &opened));
  struct holder as_owner = {.s = owner};
  opened = hand_over(h.s, opened, &as_owner);
  CHECK_OK(tide_session_create_channel(owner, NULL, &channel));
  CHECK_OK(tide_session_create_channel_future(owner, channel, NULL, &timeline));
  CHECK_OK(tide_session_promise(owner, timeline, rig_in(600000), &kept));
  CHECK_OK(tide_session_promise(owner, timeline, rig_in(600000), &owed));
  struct tide_session_operation operation = {
      .waits = &opened, .wait_count = 1, .retires = &kept, .retire_count = 1};
  CHECK_OK(tide_session_submit(owner, channel, &operation));
  struct tide_point held = hand_over(owner, kept, &h);
  tide_session_close(owner);
  await_alone(h.s);
  CHECK_STATUS(tide_session_query(h.s, held), TIDE_TIMEOUT);
  gate.value = 1;
  CHECK_OK(tide_session_fulfil(h.s, gate));
  CHECK_OK(tide_session_wait(h.s, held, rig_in(60000)));
  check_end(&h, held, TIDE_OK);
  held.value = 2;
  check_end(&h, held, TIDE_OWNER_DIED);
  tide_session_close(h.s);
  rig_close(&r);
}

/* TIDE_NOT_FOUND as a cause is not the same as no promise. */
TEST(a_cause_is_no_lack_of_a_promise) {
  struct rig r;
  rig_open(&r, NULL);
  struct tide_session *owner = rig_connect(&r, "owner");
  struct holder h = open_holder(&r);
  struct tide_point timeline, broken, good, either;
  CHECK_OK(tide_session_create_future(owner, NULL, &timeline));
  CHECK_OK(tide_session_promise(owner, timeline, rig_in(600000), &broken));
  CHECK_OK(tide_session_break(owner, broken, TIDE_NOT_FOUND));
  struct tide_point held = hand_over(owner, broken, &h);
  CHECK_OK(tide_session_promise_compound(h.s, rig_in(600000), &good));
  CHECK_OK(tide_session_all(h.s, good, NULL, 0));
  for (int gone = 0; gone < 2; gone++) {
    enum tide_point_state state = TIDE_POINT_PROMISED;
    enum tide_status why = TIDE_OK;
    CHECK_OK(tide_session_state(h.s, held, &state, &why));
    CHECK(state == TIDE_POINT_BROKEN);
    CHECK_STATUS(why, TIDE_NOT_FOUND);
    struct tide_point parts[] = {held, good};
    CHECK_OK(tide_session_promise_compound(h.s, rig_in(600000), &either));
    CHECK_OK(tide_session_any(h.s, either, parts, 2));
    CHECK_OK(tide_session_wait(h.s, either, rig_in(60000)));
    if (gone) break;
    tide_session_close(owner);
    await_alone(h.s);
  }
  CHECK_EQ_U64(tide_session_refusals(h.s), 0);
  tide_session_close(h.s);
  rig_close(&r);
}

/* The last commands of destroyed timelines end on other threads while commands name their points:
 * each command sees each timeline either before or after. */
TEST(a_name_that_goes_meanwhile_confuses_no_command) {
  enum { MANY = 32, COMMANDS = 8 };
  struct rig r;
  rig_open(&r, NULL);
  struct tide_session *owner = rig_connect(&r, "owner");
  struct holder h = open_holder(&r);
  struct tide_future_params one = {.struct_size = sizeof one, .capacity = 1};
  struct tide_point channel, gates, gate;
  CHECK_OK(tide_session_create_channel(owner, NULL, &channel));
  CHECK_OK(tide_session_create_future(owner, NULL, &gates));
  for (uint64_t round = 0; round < 200 / test_slowdown(); round++) {
    struct tide_point held[MANY], kept[COMMANDS];
    CHECK_OK(tide_session_promise(owner, gates, rig_in(600000), &gate));
    for (int i = 0; i < MANY; i++) {
      struct tide_point timeline, point;
      struct tide_session_operation ends = {
          .waits = &gate, .wait_count = 1, .retires = &point, .retire_count = 1};
      while (tide_session_create_channel_future(owner, channel, &one, &timeline) == TIDE_FULL)
        CHECK_OK(tide_session_sync(owner, rig_in(60000))); /* the names of the last round go */
      CHECK_OK(tide_session_promise(owner, timeline, rig_in(600000), &point));
      held[i] = hand_over(owner, point, &h);
      CHECK_OK(tide_session_submit(owner, channel, &ends));
      CHECK_OK(tide_session_destroy(owner, timeline));
    }
    CHECK_OK(tide_session_sync(owner, rig_in(60000)));
    CHECK_OK(tide_session_fulfil(owner, gate));
    for (int i = 0; i < COMMANDS; i++) {
      struct tide_session_operation waits = {
          .waits = held, .wait_count = MANY, .retires = &kept[i], .retire_count = 1};
      CHECK_OK(tide_session_promise(h.s, h.timeline, rig_in(600000), &kept[i]));
      CHECK_OK(tide_session_submit(h.s, h.channel, &waits));
    }
    for (int i = 0; i < COMMANDS; i++) CHECK_OK(tide_session_wait(h.s, kept[i], rig_in(60000)));
    for (int i = 0; i < MANY; i++) CHECK_OK(tide_session_destroy(h.s, held[i]));
  }
  CHECK_EQ_U64(tide_session_refusals(h.s), 0);
  tide_session_close(owner);
  tide_session_close(h.s);
  rig_close(&r);
}

/* The service sees the promise of a compound after its deadline. */
TEST(a_compound_that_comes_late_is_broken) {
  struct rig r;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "late");
  struct tide_point compound;
  CHECK(kill(r.server, SIGSTOP) == 0);
  CHECK_OK(tide_session_promise_compound(s, tide_service_now() + MS, &compound));
  usleep(5000);
  CHECK(kill(r.server, SIGCONT) == 0);
  CHECK_STATUS(tide_session_wait(s, compound, rig_in(60000)), TIDE_TIMED_OUT);
  CHECK_STATUS(tide_session_query(s, compound), TIDE_TIMED_OUT);
  tide_session_close(s);
  rig_close(&r);
}

/* A holder pays for what it holds, with its own quota alone; the owner's is free at once. */
TEST(a_holder_pays_for_tombstones) {
  struct rig r;
  rig_open(&r, "default handles 64 timelines 8 promises 32");
  struct tide_session *owner = rig_connect(&r, "owner");
  struct holder h = {.s = rig_connect(&r, "holder")};
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = 8};
  struct tide_point held[4], timeline;
  struct tide_token token;
  for (int round = 0; round < 4; round++) {
    CHECK_OK(tide_session_create_future(owner, &params, &timeline));
    held[round] = hand_over(owner, timeline, &h);
    CHECK_OK(tide_session_destroy(owner, timeline));
  }
  /* The owner has all that it may have again; the holder has nothing left. */
  struct tide_point all[4];
  for (int i = 0; i < 4; i++) CHECK_OK(tide_session_create_future(owner, &params, &all[i]));
  CHECK_OK(tide_session_grant(owner, all[0], TIDE_RIGHT_WAIT, &token));
  struct tide_point none;
  CHECK_STATUS(tide_session_redeem(h.s, &token, &none), TIDE_FULL);
  CHECK_STATUS(tide_session_create_future(h.s, &params, &none), TIDE_FULL);
  CHECK_OK(tide_session_destroy(h.s, held[1]));
  CHECK_OK(tide_session_redeem(h.s, &token, &held[1]));
  CHECK_STATUS(tide_session_redeem(h.s, &token, &none), TIDE_FULL);
  tide_session_close(owner);
  await_alone(h.s);
  for (int i = 0; i < 4; i++) CHECK_OK(tide_session_destroy(h.s, held[i]));
  CHECK_OK(tide_session_sync(h.s, rig_in(60000)));
  for (int i = 0; i < 4; i++) CHECK_OK(tide_session_create_future(h.s, &params, &none));
  tide_session_close(h.s);
  rig_close(&r);
}

/* A destroyed timeline takes its room until the last of its queued points has ended. */
TEST(what_is_queued_is_paid_for) {
  struct rig r;
  rig_open(&r, "default promises 20");
  struct tide_session *s = rig_connect(&r, "owner");
  struct tide_future_params one = {.struct_size = sizeof one, .capacity = 1},
                            many = {.struct_size = sizeof many, .capacity = 16};
  struct tide_point channel, gates, gate, timeline, point, none;
  CHECK_OK(tide_session_create_channel(s, NULL, &channel));
  CHECK_OK(tide_session_create_future(s, &one, &gates));
  CHECK_OK(tide_session_promise(s, gates, rig_in(600000), &gate));
  CHECK_OK(tide_session_create_channel_future(s, channel, &many, &timeline));
  CHECK_OK(tide_session_promise(s, timeline, rig_in(600000), &point));
  struct tide_session_operation ends = {
      .waits = &gate, .wait_count = 1, .retires = &point, .retire_count = 1};
  CHECK_OK(tide_session_submit(s, channel, &ends));
  CHECK_OK(tide_session_destroy(s, timeline));
  CHECK_STATUS(tide_session_create_future(s, &many, &none), TIDE_FULL);
  CHECK_OK(tide_session_fulfil(s, gate));
  enum tide_status status;
  while ((status = tide_session_create_future(s, &many, &none)) == TIDE_FULL) usleep(1000);
  CHECK_OK(status);
  tide_session_close(s);
  rig_close(&r);
}

/* Several holders of one tombstone: it stays until the last has gone, in whatever order. */
TEST(holders_of_one_tombstone_are_apart) {
  struct rig r;
  rig_open(&r, NULL);
  struct owner o = {.s = rig_connect(&r, "owner")};
  struct holder h[3] = {open_holder(&r), open_holder(&r), open_holder(&r)};
  struct tide_point held[3], twice;
  fill_owner(&o);
  for (int i = 0; i < 3; i++) held[i] = hand_over(o.s, o.points[3], &h[i]);
  twice = hand_over(o.s, o.points[3], &h[1]);
  CHECK_OK(tide_session_destroy(h[1].s, twice)); /* while the timeline lives */
  tide_session_close(o.s);
  CHECK_OK(tide_session_destroy(h[0].s, held[0]));
  CHECK_STATUS(tide_session_query(h[0].s, held[0]), TIDE_NOT_FOUND);
  check_end(&h[1], held[1], TIDE_DENIED);
  tide_session_close(h[1].s);
  check_end(&h[2], held[2], TIDE_DENIED);
  tide_session_close(h[2].s);
  tide_session_close(h[0].s);
  rig_close(&r);
}

/* ---- what was never promised --------------------------------------------------------------- */

TEST(a_promise_may_be_told_after_a_call_with_an_answer) {
  struct rig r;
  rig_open(&r, NULL);
  struct tide_session *owner = rig_connect(&r, "owner");
  struct holder h = open_holder(&r);
  struct tide_point timeline, first, second;
  CHECK_OK(tide_session_create_future(owner, NULL, &timeline));
  struct tide_point held = hand_over(owner, timeline, &h);
  held.value = 1;
  check_end(&h, held, TIDE_NOT_FOUND);
  CHECK(kill(r.server, SIGSTOP) == 0);
  CHECK_OK(tide_session_promise(owner, timeline, rig_in(600000), &first));
  CHECK_STATUS(tide_session_query(owner, first), TIDE_TIMEOUT); /* its own promise */
  CHECK_STATUS(tide_session_wait(owner, first, rig_in(10)), TIDE_TIMEOUT);
  CHECK_STATUS(tide_session_query(h.s, held), TIDE_NOT_FOUND);
  CHECK(kill(r.server, SIGCONT) == 0);
  CHECK_OK(tide_session_sync(owner, rig_in(60000)));
  CHECK_STATUS(tide_session_query(h.s, held), TIDE_TIMEOUT);
  CHECK_STATUS(tide_session_wait(h.s, held, rig_in(10)), TIDE_TIMEOUT);
  second = first;
  second.value = 2;
  CHECK_STATUS(tide_session_query(owner, second), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_session_wait(owner, second, rig_in(60000)), TIDE_NOT_FOUND);
  tide_session_close(owner);
  tide_session_close(h.s);
  rig_close(&r);
}

/* Broken values take up a timeline's capacity for good, unless they are neighbours. */
TEST(a_final_refusal_is_no_passing_one) {
  struct rig r;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "owner");
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = 4};
  struct tide_point timeline, point;
  CHECK_OK(tide_session_create_future(s, &params, &timeline));
  for (int i = 0; i < 8; i++) {
    CHECK_OK(tide_session_promise(s, timeline, rig_in(600000), &point));
    if (i == 7) CHECK_STATUS(tide_session_promise(s, timeline, 0, &point), TIDE_FULL);
    if (i % 2) CHECK_OK(tide_session_break(s, point, TIDE_IO));
    else CHECK_OK(tide_session_fulfil(s, point));
    CHECK_OK(tide_session_sync(s, rig_in(60000)));
  }
  CHECK_STATUS(tide_session_promise(s, timeline, 0, &point), TIDE_EXHAUSTED);
  tide_session_close(s);
  rig_close(&r);
}

/* The channel of the timeline is gone: no promise will be taken again. */
TEST(a_closed_timeline_is_exhausted) {
  struct rig r;
  rig_open(&r, NULL);
  struct holder h = open_holder(&r);
  struct tide_point point;
  enum tide_status status = TIDE_OK;
  CHECK_OK(tide_session_destroy(h.s, h.channel));
  CHECK_OK(tide_session_sync(h.s, rig_in(60000)));
  /* The service may still be closing it: then its promises are open, and it is full. */
  for (int i = 0; i < 10000 && (status == TIDE_OK || status == TIDE_FULL); i++) {
    status = tide_session_promise(h.s, h.timeline, 0, &point);
    if (status == TIDE_FULL) usleep(1000);
    CHECK_OK(tide_session_sync(h.s, rig_in(60000)));
  }
  CHECK_STATUS(status, TIDE_EXHAUSTED);
  tide_session_close(h.s);
  rig_close(&r);
}

/* ---- after the service's end --------------------------------------------------------------- */

static void await_loss(struct tide_session *s) {
  while (tide_session_status(s) == TIDE_OK) usleep(1000);
  CHECK_STATUS(tide_session_status(s), TIDE_LOST);
}

/* `owed` is unkept, `kept` was kept before. Nothing but the service's end shows. */
static void check_lost(struct tide_session *s, struct holder *h, struct tide_point owed,
                       struct tide_point kept) {
  enum tide_point_state state = TIDE_POINT_PROMISED;
  enum tide_status why;
  struct tide_point point;
  struct tide_token token;
  struct tide_shared_point place;
  struct heard heard = {0};
  struct tide_session_operation operation = {.waits = &owed, .wait_count = 1};
  CHECK_STATUS(tide_session_query(s, owed), TIDE_LOST);
  CHECK_STATUS(tide_session_wait(s, owed, rig_in(60000)), TIDE_LOST);
  CHECK_STATUS(tide_session_state(s, owed, &state, &why), TIDE_LOST);
  CHECK_STATUS(tide_session_promise(s, h->timeline, 0, &point), TIDE_LOST);
  CHECK_STATUS(tide_session_fulfil(s, owed), TIDE_LOST);
  CHECK_STATUS(tide_session_break(s, owed, TIDE_IO), TIDE_LOST);
  CHECK_STATUS(tide_session_promise_compound(s, 0, &point), TIDE_LOST);
  CHECK_STATUS(tide_session_all(s, owed, &kept, 1), TIDE_LOST);
  CHECK_STATUS(tide_session_create_future(s, NULL, &point), TIDE_LOST);
  CHECK_STATUS(tide_session_create_channel(s, NULL, &point), TIDE_LOST);
  CHECK_STATUS(tide_session_create_buffer(s, 4096, &point), TIDE_LOST);
  CHECK_STATUS(tide_session_submit(s, h->channel, &operation), TIDE_LOST);
  CHECK_STATUS(tide_session_recover(s, h->channel), TIDE_LOST);
  CHECK_STATUS(tide_session_grant(s, owed, TIDE_RIGHT_WAIT, &token), TIDE_LOST);
  CHECK_STATUS(tide_session_view(s, owed, &place), TIDE_LOST);
  CHECK_STATUS(tide_session_when_complete(s, owed, hear, &heard, NULL), TIDE_LOST);
  CHECK_STATUS(tide_session_sync(s, rig_in(60000)), TIDE_LOST);
  CHECK_STATUS(tide_session_dispatch(s, rig_in(60000)), TIDE_LOST);
  CHECK_STATUS(tide_session_destroy(s, owed), TIDE_LOST);
  CHECK_EQ_U64((uint64_t)heard.calls, 0);
  CHECK_OK(tide_session_query(s, kept));
  CHECK_OK(tide_session_wait(s, kept, rig_in(60000)));
  CHECK_OK(tide_session_state(s, kept, &state, &why));
  CHECK(state == TIDE_POINT_RETIRED);
}

TEST(after_the_services_end_all_is_lost) {
  for (int killed = 0; killed < 2; killed++) {
    struct rig r;
    rig_open(&r, NULL);
    struct tide_session *other = rig_connect(&r, "other");
    struct holder h = open_holder(&r);
    struct heard heard = {0};
    struct tide_point timeline, kept, owed;
    CHECK_OK(tide_session_create_future(other, NULL, &timeline));
    CHECK_OK(tide_session_promise(other, timeline, rig_in(600000), &kept));
    CHECK_OK(tide_session_promise(other, timeline, rig_in(600000), &owed));
    CHECK_OK(tide_session_fulfil(other, kept));
    CHECK_OK(tide_session_sync(other, rig_in(60000)));
    kept = hand_over(other, kept, &h);
    owed = kept;
    owed.value = 2;
    int awaited = 0; /* no room is left for another answer */
    while (tide_session_when_complete(h.s, owed, hear, &heard, NULL) == TIDE_OK) awaited++;
    if (killed) {
      int status;
      CHECK(kill(r.server, SIGKILL) == 0);
      CHECK(waitpid(r.server, &status, 0) == r.server);
    } else {
      CHECK(kill(r.server, SIGTERM) == 0);
      rig_join(r.server);
    }
    await_loss(h.s);
    check_lost(h.s, &h, owed, kept);
    CHECK(awaited > 0 && heard.calls == awaited);
    CHECK_STATUS(heard.status, TIDE_LOST); /* no client is blamed */
    tide_session_close(h.s);
    tide_session_close(other);
    rig_sweep(&r);
  }
}

/* The end of each client takes time; in the service's process, that of `first` takes until a byte
 * comes. */
static int go_on[2];
static void hold_first(const struct tide_service_event *event) {
  char byte;
  if (event->kind != TIDE_SERVICE_GONE || strcmp(event->label, "first") != 0) return;
  close(go_on[1]);
  (void)!read(go_on[0], &byte, 1);
}

TEST(the_services_end_is_told_before_it_takes_time) {
  struct rig r;
  CHECK(pipe(go_on) == 0);
  rig_on_event = hold_first;
  rig_open(&r, NULL);
  struct tide_session *s[] = {rig_connect(&r, "first"), rig_connect(&r, "last")};
  CHECK(kill(r.server, SIGTERM) == 0);
  for (int i = 0; i < 2; i++) {
    enum tide_status status;
    while ((status = tide_session_sync(s[i], rig_in(20000))) == TIDE_OK) continue;
    CHECK_STATUS(status, TIDE_LOST);
  }
  rig_tell(go_on[1], "g", 1);
  rig_close(&r);
  CHECK(close(go_on[0]) == 0 && close(go_on[1]) == 0);
  for (int i = 0; i < 2; i++) tide_session_close(s[i]);
  rig_on_event = NULL;
}

TEST_MAIN(CASE(what_ended_stays_so), CASE(what_is_queued_ends_after_its_owner),
          CASE(a_cause_is_no_lack_of_a_promise),
          CASE(a_name_that_goes_meanwhile_confuses_no_command),
          CASE(a_compound_that_comes_late_is_broken), CASE(a_closed_timeline_is_exhausted),
          CASE(a_holder_pays_for_tombstones), CASE(what_is_queued_is_paid_for),
          CASE(holders_of_one_tombstone_are_apart),
          CASE(a_promise_may_be_told_after_a_call_with_an_answer),
          CASE(a_final_refusal_is_no_passing_one), CASE(after_the_services_end_all_is_lost),
          CASE(the_services_end_is_told_before_it_takes_time))
