/* Attacks 21 to 27: what is said of points and lent to channels. How priorities are lent along
 * chains is in tests/unit/channel.c, with a device that shows who goes next; here it is what one
 * client can do to another. */
#include "attack_rig.h"

#include "kernel/builtin_bodies.h"

static void count(void *user, enum tide_status status) {
  int *calls = user;
  if (status == TIDE_OK) ++*calls;
}

/* ---- ANY (21) ---- */

static void never_and_soon(struct scene *s) {
  struct peer p, other;
  struct tide_point any, parts[2];
  int complete = 0, schedulable = 0;
  peer_open(&p, &s->r, 16);
  peer_open(&other, &s->r, 16);
  struct tide_point never = peer_promise(&other, other.hosts);
  peer_sync(&other);
  parts[0] = peer_pass(&other, &p, never);
  parts[1] = peer_promise(&p, p.hosts);
  CHECK_OK(tide_session_promise_compound(p.s, rig_in(9000), &any));
  CHECK_OK(tide_session_any(p.s, any, parts, 2));
  struct tide_point done = peer_promise(&p, p.line);
  peer_submit(&p, &any, &done);
  CHECK_OK(tide_session_when_complete(p.s, any, count, &complete, NULL));
  CHECK_OK(tide_session_when_schedulable(p.s, any, NULL, 0, count, &schedulable, NULL));
  peer_sync(&p);
  CHECK_STATUS(tide_session_query(p.s, done), TIDE_TIMEOUT);
  if (s->times % 2) { /* the one that never comes breaks; that is not the end of the other */
    CHECK_OK(tide_session_break(other.s, never, TIDE_FAILED));
    peer_sync(&other);
    CHECK_STATUS(tide_session_query(p.s, any), TIDE_TIMEOUT);
  }
  CHECK_OK(tide_session_fulfil(p.s, parts[1]));
  CHECK_OK(tide_session_wait(p.s, done, rig_in(9000)));
  while (complete + schedulable < 2) CHECK_OK(tide_session_dispatch(p.s, rig_in(9000)));
  tide_session_close(other.s);
  CHECK_OK(tide_session_query(p.s, any));
  tide_session_close(p.s);
}
TEST(a21_any_of_never_and_soon) { survive(NULL, 4, never_and_soon); }

/* ---- assuming and trust (22, 23) ---- */

static void assume_others(struct scene *s) {
  struct peer p, other;
  int calls = 0;
  peer_open(&p, &s->r, 16);
  peer_open(&other, &s->r, 16);
  struct tide_point theirs = peer_promise(&other, other.hosts);
  peer_sync(&other);
  struct tide_point there = peer_pass(&other, &p, theirs);
  struct tide_point mine = peer_promise(&p, p.hosts);
  /* Nothing comes of it but an error, through the call. */
  CHECK_OK(tide_session_when_schedulable(p.s, there, &there, 1, count, &calls, NULL));
  struct tide_point both[2] = {mine, there};
  CHECK_OK(tide_session_when_schedulable(p.s, there, both, 2, count, &calls, NULL));
  CHECK_OK(tide_session_when_schedulable(p.s, there, &mine, 1, count, &calls, NULL));
  peer_sync(&p);
  (void)!tide_session_dispatch(p.s, TIDE_NOW);
  CHECK_EQ_U64((uint64_t)calls, 0);
  /* One's own may be assumed, for that call alone. */
  CHECK_OK(tide_session_when_schedulable(p.s, mine, &mine, 1, count, &calls, NULL));
  while (!calls) CHECK_OK(tide_session_dispatch(p.s, rig_in(9000)));
  enum tide_point_state state;
  CHECK_OK(tide_session_state(p.s, mine, &state, NULL));
  CHECK_STATUS(state, TIDE_POINT_PROMISED);
  tide_session_close(other.s);
  tide_session_close(p.s);
}
TEST(a22_assume_what_is_anothers) { survive(NULL, 4, assume_others); }

/* No domain is trusted that the service does not trust; what one says is "promised" to nobody. */
static void lying_domain(struct scene *s) {
  struct peer p;
  peer_open(&p, &s->r, 16);
  for (uint32_t domain = 2; domain < 200; domain += 13)
    CHECK_STATUS(tide_session_trust(p.s, domain), TIDE_DENIED);
  CHECK_STATUS(tide_session_trust(p.s, UINT32_MAX), TIDE_DENIED);
  struct tide_point point = peer_promise(&p, p.hosts);
  for (uint32_t domain = 0; domain < 5; domain++) {
    struct tide_point forged = point;
    forged.domain = point.domain + domain + 1;
    CHECK_STATUS(tide_session_query(p.s, forged), TIDE_NOT_FOUND);
    struct tide_session_operation o = {.waits = &forged, .wait_count = 1};
    CHECK_STATUS(tide_session_submit(p.s, p.channel, &o), TIDE_NOT_FOUND);
  }
  tide_session_close(p.s);
}
TEST(a23_untrusted_domain_lies) { survive(NULL, 3, lying_domain); }

/* Breaking a promise with a cause that says "not yet" would leave its waiters asleep. */
static void lying_cause(struct scene *s) {
  static const enum tide_status causes[] = {TIDE_OK, TIDE_TIMEOUT, TIDE_BUSY, TIDE_STATUS_COUNT,
                                            (enum tide_status)UINT32_MAX};
  struct peer waiter;
  peer_open(&waiter, &s->r, 16);
  for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
    struct raw c;
    raw_connect(&c, &s->r);
    struct tide_wire_record record = raw_command(TIDE_WIRE_FUTURE, 1, 1, 0);
    CHECK_OK(raw_ask(&c, &record));
    record = raw_command(TIDE_WIRE_PROMISE, 1, 1, 1);
    record.command.deadline = rig_in(9000);
    CHECK_OK(raw_ask(&c, &record));
    record = raw_command(TIDE_WIRE_GRANT, 1, 1, 0);
    record.command.answer = 1;
    raw_push(&c, &record);
    struct tide_wire_message answer = raw_hear(&c, TIDE_WIRE_ANSWER);
    struct tide_token token;
    struct tide_point there;
    memcpy(token.bytes, answer.token, sizeof token.bytes);
    CHECK_OK(tide_session_redeem(waiter.s, &token, &there));
    there.value = 1;
    struct tide_point done = peer_promise(&waiter, waiter.line);
    peer_submit(&waiter, &there, &done);
    record = raw_command(TIDE_WIRE_BREAK, 1, 1, 1);
    record.command.number = (uint32_t)causes[i];
    CHECK_STATUS(raw_ask(&c, &record), TIDE_INVALID);
    CHECK_STATUS(tide_session_query(waiter.s, there), TIDE_TIMEOUT);
    raw_close(&c);
    CHECK_STATUS(tide_session_wait(waiter.s, there, rig_in(9000)), TIDE_OWNER_DIED);
    CHECK(tide_session_wait(waiter.s, done, rig_in(9000)) != TIDE_TIMEOUT);
    CHECK_OK(tide_session_destroy(waiter.s, there));
  }
  tide_session_close(waiter.s);
}
TEST(broken_with_a_cause_that_says_not_yet) { survive(NULL, 3, lying_cause); }

/* ---- priorities (24 to 27) ---- */

/* Low does what it can to go first: asks for the highest, has a proxy boost it, boosts itself, lets
 * decreases go below nothing. Whatever it does, its commands and the victim's all run, and it is
 * told what it may not. */
static void climb(struct scene *s) {
  struct tide_session_channel_params high = {
      .struct_size = sizeof high, .priority = 255, .operations = 32};
  struct peer low, proxy;
  peer_open(&low, &s->r, 64);
  peer_open(&proxy, &s->r, 64);
  struct tide_point channel, cancel;
  CHECK_OK(tide_session_create_channel(low.s, &high, &channel));
  struct tide_point target = peer_promise(&low, low.line);
  peer_sync(&low);
  struct tide_point at_proxy = peer_pass(&low, &proxy, target);
  for (int i = 0; i < 10; i++) {
    CHECK_OK(tide_session_increase_priority_until(proxy.s, proxy.channel, at_proxy, 255));
    CHECK_OK(tide_session_increase_priority_until(low.s, channel, target, 255));
    CHECK_OK(tide_session_increase_priority_until(low.s, low.channel, target, 255));
    CHECK_OK(tide_session_decrease_priority_until(low.s, channel, target, UINT32_MAX, &cancel));
  }
  peer_sync(&low);
  peer_sync(&proxy);
  victim_goes_on(&s->v);
  /* The point never retires: its owner goes, and the boosts with it (25). */
  if (s->times % 2) CHECK_OK(tide_session_break(low.s, target, TIDE_CANCELLED));
  tide_session_close(low.s);
  victim_goes_on(&s->v);
  struct tide_point done = peer_promise(&proxy, proxy.line);
  peer_submit(&proxy, NULL, &done);
  CHECK_OK(tide_session_wait(proxy.s, done, rig_in(9000)));
  tide_session_close(proxy.s);
}
TEST(a24_a25_low_boosts_itself_through_a_proxy) { survive("default priority 9", 4, climb); }

/* A decrease on what is dead already, or dies: lifted at once, and a synchronous read goes on. */
static void decrease_on_the_dead(struct scene *s) {
  struct peer p, other;
  peer_open(&p, &s->r, 64);
  peer_open(&other, &s->r, 16);
  struct tide_point point = peer_promise(&other, other.hosts);
  peer_sync(&other);
  struct tide_point there = peer_pass(&other, &p, point), cancel;
  CHECK_OK(tide_session_decrease_priority_until(p.s, p.channel, there, 200, &cancel));
  peer_sync(&p);
  tide_session_close(other.s);
  CHECK_STATUS(tide_session_wait(p.s, there, rig_in(9000)), TIDE_OWNER_DIED);
  CHECK_OK(tide_session_decrease_priority_until(p.s, p.channel, there, 200, &cancel));
  for (int i = 0; i < 20; i++) {
    struct tide_point done = peer_promise(&p, p.line);
    peer_submit(&p, NULL, &done);
    CHECK_OK(tide_session_wait(p.s, done, rig_in(9000)));
  }
  tide_session_close(p.s);
}
TEST(a26_decrease_on_a_dead_dependency) { survive(NULL, 4, decrease_on_the_dead); }

/* High waits for middle waits for low, while others of middle priority keep the device busy: low
 * goes first, since high lends. Which command ran first is told by a hash that each adds to. */
static void add_to_hash(struct peer *p, struct tide_point buffer, const struct tide_point *waits,
                        size_t wait_count, const struct tide_point *retire, uint64_t seed) {
  struct tide_session_argument arguments[] = {attack_range(buffer, 0, 8),
                                              attack_range(buffer, 0, 8), attack_number(seed)};
  struct tide_session_operation o = {.body = TIDE_SESSION_HASH,
                                     .arguments = arguments,
                                     .argument_count = 3,
                                     .waits = waits,
                                     .wait_count = wait_count,
                                     .retires = retire,
                                     .retire_count = retire != NULL};
  CHECK_OK(tide_session_submit(p->s, p->channel, &o));
}

static uint64_t order_hash(const uint64_t seeds[4]) {
  uint64_t word = 0;
  for (int i = 0; i < 4; i++) {
    struct tide_argument arguments[3] = {
        {.data = &word, .size = 8}, {.data = &word, .size = 8}, {.integer = (int64_t)seeds[i]}};
    CHECK_OK(tide_body_hash(arguments));
  }
  return word;
}

/* Of one session, so that all commands are in when the gate opens; one worker, so that they run one
 * after the other. */
TEST(a27_inversion_chain) {
  struct rig r;
  struct peer p[4]; /* low, middle, high, and the crowd */
  struct tide_point buffer, gate, low, middle, done[4];
  rig_workers = 1;
  rig_open(&r, "default priority 15");
  struct tide_session *s = rig_connect(&r, "chain");
  static const uint8_t priorities[] = {1, 5, 9, 5};
  CHECK_OK(tide_session_create_buffer(s, 8, &buffer));
  for (int i = 0; i < 4; i++) {
    struct tide_session_channel_params params = {.struct_size = sizeof params,
                                                 .priority = priorities[i]};
    p[i].s = s;
    CHECK_OK(tide_session_create_channel(s, &params, &p[i].channel));
    CHECK_OK(tide_session_create_channel_future(s, p[i].channel, NULL, &p[i].line));
    CHECK_OK(tide_session_create_future(s, NULL, &p[i].hosts));
  }
  uint64_t got[2] = {0};
  uint64_t plain = order_hash((const uint64_t[]){3, 4, 1, 2});
  uint64_t lent = order_hash((const uint64_t[]){1, 2, 3, 4});
  /* The worker may take one command before the gate has opened for all: then once more. Without
   * lending, the chain never goes first. */
  for (int tries = 0; tries < 50 && (got[0] != plain || got[1] != lent); tries++)
    for (int chained = 0; chained < 2; chained++) {
      *(uint64_t *)tide_session_buffer_data(s, buffer, NULL) = 0;
      gate = peer_promise(&p[0], p[0].hosts);
      low = peer_promise(&p[0], p[0].line);
      middle = peer_promise(&p[1], p[1].line);
      for (int i = 2; i < 4; i++) done[i] = peer_promise(&p[i], p[i].line);
      add_to_hash(&p[3], buffer, &gate, 1, &done[3], 4);
      struct tide_point for_middle[2] = {gate, low}, for_high[2] = {gate, middle};
      add_to_hash(&p[0], buffer, &gate, 1, &low, 1);
      add_to_hash(&p[1], buffer, for_middle, 2, &middle, 2);
      if (chained) add_to_hash(&p[2], buffer, for_high, 2, &done[2], 3);
      else add_to_hash(&p[2], buffer, &gate, 1, &done[2], 3);
      peer_sync(&p[0]);
      CHECK_OK(tide_session_fulfil(s, gate));
      for (int i = 2; i < 4; i++) CHECK_OK(tide_session_wait(s, done[i], rig_in(9000)));
      CHECK_OK(tide_session_wait(s, middle, rig_in(9000)));
      got[chained] = *(uint64_t *)tide_session_buffer_data(s, buffer, NULL);
    }
  CHECK_EQ_U64(got[0], plain);
  CHECK_EQ_U64(got[1], lent);
  tide_session_close(s);
  rig_close(&r);
}

TEST_MAIN(CASE(a21_any_of_never_and_soon), CASE(a22_assume_what_is_anothers),
          CASE(a23_untrusted_domain_lies), CASE(broken_with_a_cause_that_says_not_yet),
          CASE(a24_a25_low_boosts_itself_through_a_proxy), CASE(a26_decrease_on_a_dead_dependency),
          CASE(a27_inversion_chain))
