/* Attacks 13 to 18: names of others, guessed names, names that were; numbers at the end of their
 * range; more than was promised. */
#include "attack_rig.h"

static enum tide_status ask(struct raw *c, struct tide_wire_record record) {
  return raw_ask(c, &record);
}

/* What the victim's tokens give: its timeline at handle 1, its buffer at handle 2. */
static void redeem_victim(struct scene *s, struct raw *c) {
  struct tide_token tokens[2];
  rig_tell(s->v.child.to, "t", 1);
  rig_hear(s->v.child.from, tokens, sizeof tokens);
  for (uint32_t i = 0; i < 2; i++) {
    struct tide_wire_record record = raw_command(TIDE_WIRE_REDEEM, i + 1, 1, 0);
    record.command.text_size = 16;
    memcpy(record.bytes + sizeof record.command, &tokens[i], 16);
    CHECK_OK(ask(c, record));
  }
}

/* A granted point may be waited for, and that is all: of the ways to end it, define it, promise
 * more of it, grant it on, or destroy it, none does anything to its owner. */
static void signal_foreign(struct scene *s) {
  struct raw c;
  raw_connect(&c, &s->r);
  redeem_victim(s, &c);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_CHANNEL, 3, 1, 16)));
  for (uint64_t value = 0; value < 50; value++) {
    static const uint8_t ops[] = {TIDE_WIRE_PROMISE, TIDE_WIRE_FULFIL, TIDE_WIRE_BREAK,
                                  TIDE_WIRE_ALL,     TIDE_WIRE_ANY,    TIDE_WIRE_EXPRESSION};
    for (size_t i = 0; i < sizeof ops; i++) {
      struct tide_wire_record record = raw_command(ops[i], 1, 1, value);
      record.command.number = TIDE_FAILED;
      CHECK_STATUS(ask(&c, record), TIDE_NOT_FOUND);
    }
    CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_GRANT, 1, 1, 0)), TIDE_DENIED);
    CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_GRANT, 2, 1, 0)), TIDE_DENIED);
    /* A command that claims to keep it. */
    struct tide_wire_record record = raw_command(TIDE_WIRE_SUBMIT, 3, 1, 0);
    raw_add_point(&record, 1, 1, value);
    record.command.wait_count = 0;
    record.command.retire_count = 1;
    CHECK(ask(&c, record) != TIDE_OK);
    /* A command that writes where only reading was granted. */
    record = raw_command(TIDE_WIRE_SUBMIT, 3, 1, 0);
    struct tide_wire_argument arguments[2] = {{.buffer = {2, 1}, .size = 4096}, {.offset = 255}};
    memcpy(record.bytes + sizeof record.command, arguments, sizeof arguments);
    record.command.argument_count = 2;
    record.command.body = TIDE_SESSION_FILL;
    CHECK_STATUS(ask(&c, record), TIDE_DENIED);
  }
  victim_goes_on(&s->v);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_DESTROY, 1, 1, 0)));
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_DESTROY, 2, 1, 0)));
  raw_close(&c);
}
TEST(a13_signal_a_foreign_timeline) { survive("default grants 1024", 3, signal_foreign); }

/* A million names, most of which somebody else has. */
static void suggestion(struct scene *s) {
  struct raw c;
  uint64_t seed = 0x9e3779b97f4a7c15ull + s->times;
  uint32_t guesses = 1000000 / (test_slowdown() * test_slowdown());
  raw_connect(&c, &s->r);
  for (uint32_t i = 0; i < guesses; i++) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    struct tide_wire_record record =
        raw_command((enum tide_wire_op)(1 + seed % 14), (uint32_t)(seed >> 20) % 1200,
                    1 + (uint32_t)(seed >> 40) % 1000, seed >> 50);
    if (record.command.op == TIDE_WIRE_FUTURE || record.command.op == TIDE_WIRE_COMPOUND)
      record.command.op = TIDE_WIRE_DESTROY;
    raw_push(&c, &record);
  }
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_SYNC, 0, 0, 0)));
  raw_close(&c);
  /* Tokens: sixteen wrong ones, and the connection ends; again and again. */
  for (int round = 0; round < 100; round++) {
    raw_connect(&c, &s->r);
    for (uint32_t i = 0; i < 20; i++) {
      struct tide_wire_record record = raw_command(TIDE_WIRE_REDEEM, 1, i + 1, 0);
      bool asleep;
      record.command.text_size = 16;
      seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
      memcpy(record.bytes + sizeof record.command, &seed, sizeof seed);
      CHECK_OK(tide_ring_write(&c.ring, &record, &asleep));
      raw_ring_bell(&c);
    }
    raw_expect_end(&c);
    raw_close(&c);
  }
}
TEST(a14_guess_a_million_names) { survive("default refusals 1M", 3, suggestion); }

/* A name that was: neither its owner nor one to whom it was granted ever sees what came after. */
static void stale(struct scene *s) {
  struct peer owner;
  struct tide_session *other = rig_connect(&s->r, "other");
  struct tide_point old[40], foreign[40], fresh;
  struct tide_token token[40];
  enum tide_point_state state;
  owner.s = rig_connect(&s->r, "owner");
  for (int i = 0; i < 40; i++) {
    CHECK_OK(tide_session_create_future(owner.s, NULL, &fresh));
    CHECK_OK(tide_session_promise(owner.s, fresh, rig_in(9000), &old[i]));
    CHECK_OK(tide_session_grant(owner.s, fresh, TIDE_RIGHT_WAIT, &token[i]));
    CHECK_OK(tide_session_redeem(other, &token[i], &foreign[i]));
    foreign[i].value = 1;
    CHECK_OK(tide_session_destroy(owner.s, fresh));
    CHECK_OK(tide_session_sync(owner.s, rig_in(9000)));
    if (i < 10) CHECK_STATUS(tide_session_redeem(other, &token[i], &fresh), TIDE_NOT_FOUND);
    for (int k = 0; k <= i; k++) {
      CHECK_STATUS(tide_session_query(owner.s, old[k]), TIDE_NOT_FOUND);
      CHECK_STATUS(tide_session_fulfil(owner.s, old[k]), TIDE_NOT_FOUND);
      enum tide_status status = tide_session_query(other, foreign[k]);
      CHECK(status == TIDE_CANCELLED || status == TIDE_NOT_FOUND);
      CHECK(tide_session_state(other, foreign[k], &state, NULL) != TIDE_OK ||
            state == TIDE_POINT_BROKEN);
    }
  }
  tide_session_close(owner.s);
  tide_session_close(other);
}
TEST(a15_stale_generations_never_alias) { survive("default handles 48", 4, stale); }

/* Generations and values that come again, or go back. */
static void backwards(struct scene *s) {
  struct raw c;
  raw_connect(&c, &s->r);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_FUTURE, 1, 7, 10)));
  for (uint32_t generation = 0; generation < 10; generation++)
    CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_FUTURE, 1, generation, 0)), TIDE_BUSY);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_PROMISE, 1, 7, 11)));
  for (uint64_t value = 0; value < 20; value++)
    if (value != 12) CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_PROMISE, 1, 7, value)), TIDE_VALUE);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_FULFIL, 1, 7, 11)));
  for (uint64_t value = 0; value < 12; value++)
    CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_FULFIL, 1, 7, value)), TIDE_VALUE);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_DESTROY, 1, 7, 0)));
  for (uint32_t generation = 0; generation < 8; generation++)
    CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_FUTURE, 1, generation, 0)), TIDE_BUSY);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_FUTURE, 1, 8, 0)));
  raw_close(&c);
}
TEST(a16_repeated_and_backwards) { survive(NULL, 4, backwards); }

/* Numbers near 2^32 and 2^64 count on as others do, and never begin again. */
static void large_numbers(struct scene *s) {
  static const uint64_t starts[] = {UINT32_MAX - 2ull, (1ull << 63) - 3, UINT64_MAX - 3,
                                    UINT64_MAX - 1, UINT64_MAX};
  struct raw c;
  struct tide_session *session = rig_connect(&s->r, "large");
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    struct tide_future_params params = {.struct_size = sizeof params, .initial = starts[i]};
    struct tide_point timeline, point;
    CHECK_OK(tide_session_create_future(session, &params, &timeline));
    for (uint64_t n = 1; n < 8; n++) {
      enum tide_status status = tide_session_promise(session, timeline, 0, &point);
      if (starts[i] > UINT64_MAX - n) {
        CHECK_STATUS(status, TIDE_EXHAUSTED);
        continue;
      }
      CHECK_OK(status);
      CHECK_EQ_U64(point.value, starts[i] + n);
      CHECK_STATUS(tide_session_query(session, point), TIDE_TIMEOUT);
      CHECK_OK(tide_session_fulfil(session, point));
      CHECK_OK(tide_session_wait(session, point, rig_in(9000)));
    }
    point.value = starts[i];
    CHECK_OK(tide_session_query(session, point));
  }
  CHECK_OK(tide_session_sync(session, rig_in(9000)));
  CHECK_EQ_U64(tide_session_refusals(session), 0);
  tide_session_close(session);
  raw_connect(&c, &s->r);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_FUTURE, 1, UINT32_MAX, UINT64_MAX - 1)));
  CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_PROMISE, 1, UINT32_MAX, 0)), TIDE_VALUE);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_PROMISE, 1, UINT32_MAX, UINT64_MAX)));
  CHECK(ask(&c, raw_command(TIDE_WIRE_PROMISE, 1, UINT32_MAX, 0)) != TIDE_OK);
  CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_FUTURE, UINT32_MAX, 1, 0)), TIDE_NOT_FOUND);
  CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_FUTURE, 1u << 31, 1, 0)), TIDE_NOT_FOUND);
  struct tide_wire_record record = raw_command(TIDE_WIRE_FUTURE, 2, 1, 0);
  record.command.number = UINT32_MAX; /* promises at a time */
  CHECK_STATUS(ask(&c, record), TIDE_FULL);
  CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_CHANNEL, 2, 1, UINT64_MAX)), TIDE_FULL);
  CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_BUFFER, 2, 1, UINT64_MAX)), TIDE_FULL);
  CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_BUFFER, 2, 1, 1ull << 63)), TIDE_FULL);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_CHANNEL, 3, 1, 16)));
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_BUFFER, 4, 1, 4096)));
  /* Ranges that go round the end of the numbers. */
  static const uint64_t ranges[][2] = {
      {UINT64_MAX, 1}, {UINT64_MAX - 7, 16},    {4097, 0}, {4096, 1}, {1, UINT64_MAX},
      {0, 4097},       {1ull << 63, 1ull << 63}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    record = raw_command(TIDE_WIRE_SUBMIT, 3, 1, 0);
    struct tide_wire_argument arguments[2] = {
        {.buffer = {4, 1}, .offset = ranges[i][0], .size = ranges[i][1]}, {.offset = 1}};
    memcpy(record.bytes + sizeof record.command, arguments, sizeof arguments);
    record.command.argument_count = 2;
    record.command.body = TIDE_SESSION_FILL;
    CHECK_STATUS(ask(&c, record), TIDE_INVALID);
  }
  raw_close(&c);
}
TEST(a17_numbers_near_the_end) { survive(NULL, 4, large_numbers); }

/* Keeping what was not promised, more than once, or out of turn; by the host and by commands. */
static void more_than_promised(struct scene *s) {
  struct raw c;
  raw_connect(&c, &s->r);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_FUTURE, 1, 1, 0)));
  CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_FULFIL, 1, 1, 1)), TIDE_NOT_FOUND);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_PROMISE, 1, 1, 1)));
  CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_FULFIL, 1, 1, 2)), TIDE_NOT_FOUND);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_FULFIL, 1, 1, 1)));
  CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_FULFIL, 1, 1, 1)), TIDE_VALUE);
  struct tide_wire_record breaks = raw_command(TIDE_WIRE_BREAK, 1, 1, 1);
  breaks.command.number = TIDE_FAILED;
  CHECK_STATUS(ask(&c, breaks), TIDE_VALUE);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_CHANNEL, 2, 1, 16)));
  struct tide_wire_record future = raw_command(TIDE_WIRE_FUTURE, 3, 1, 0);
  future.command.other = (struct tide_wire_name){2, 1};
  CHECK_OK(ask(&c, future));
  struct tide_wire_record submit = raw_command(TIDE_WIRE_SUBMIT, 2, 1, 0);
  raw_add_point(&submit, 3, 1, 1);
  submit.command.wait_count = 0;
  submit.command.retire_count = 1;
  CHECK_STATUS(ask(&c, submit), TIDE_NOT_FOUND);
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_PROMISE, 3, 1, 1)));
  CHECK_STATUS(ask(&c, raw_command(TIDE_WIRE_FULFIL, 3, 1, 1)), TIDE_INVALID);
  submit.command.flags = TIDE_WIRE_RECOVER; /* a refused command was before it */
  CHECK_OK(ask(&c, submit));
  CHECK_STATUS(ask(&c, submit), TIDE_VALUE);
  /* The same point twice in one command. */
  CHECK_OK(ask(&c, raw_command(TIDE_WIRE_PROMISE, 3, 1, 2)));
  submit = raw_command(TIDE_WIRE_SUBMIT, 2, 1, 0);
  raw_add_point(&submit, 3, 1, 2);
  raw_add_point(&submit, 3, 1, 2);
  submit.command.wait_count = 0;
  submit.command.retire_count = 2;
  CHECK(ask(&c, submit) != TIDE_OK);
  raw_close(&c);
}
TEST(a18_more_than_was_promised) { survive(NULL, 4, more_than_promised); }

TEST_MAIN(CASE(a13_signal_a_foreign_timeline), CASE(a14_guess_a_million_names),
          CASE(a15_stale_generations_never_alias), CASE(a16_repeated_and_backwards),
          CASE(a17_numbers_near_the_end), CASE(a18_more_than_was_promised))
