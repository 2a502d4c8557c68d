/* Attacks 6 to 12: cycles, and shapes that cost much where a walk is not bounded. The same shapes
 * in one process, where no quota stops them, are in tests/unit/point_deep.c and point_graph.c. */
#include "attack_rig.h"

/* ---- cycles (6 to 8) ---- */

/* Two clients, each of which waits for the other: whoever closes the cycle is told at once, what
 * it was to keep breaks, and the other goes on. */
static void circle_of_two(struct scene *s) {
  struct peer a, b;
  peer_open(&a, &s->r, 16);
  peer_open(&b, &s->r, 16);
  struct tide_point pa = peer_promise(&a, a.line), pb = peer_promise(&b, b.line);
  peer_sync(&a);
  peer_sync(&b);
  struct tide_point pb_at_a = peer_pass(&b, &a, pb), pa_at_b = peer_pass(&a, &b, pa);
  peer_submit(&a, &pb_at_a, &pa);
  peer_sync(&a);
  CHECK_EQ_U64(tide_session_refusals(a.s), 0);
  peer_submit(&b, &pa_at_b, &pb);
  peer_sync(&b);
  CHECK_EQ_U64(tide_session_refusals(b.s), 1);
  CHECK_STATUS(tide_session_wait(b.s, pb, rig_in(9000)), TIDE_DEADLOCK);
  CHECK(tide_session_wait(a.s, pa, rig_in(9000)) != TIDE_OK);
  CHECK(tide_session_query(a.s, pa) != TIDE_TIMEOUT);
  /* Both are of use again, once they have recovered. */
  CHECK_OK(tide_session_recover(a.s, a.channel));
  CHECK_OK(tide_session_recover(b.s, b.channel));
  pa = peer_promise(&a, a.line);
  peer_submit(&a, NULL, &pa);
  pb = peer_promise(&b, b.line);
  peer_submit(&b, NULL, &pb);
  CHECK_OK(tide_session_wait(a.s, pa, rig_in(9000)));
  CHECK_OK(tide_session_wait(b.s, pb, rig_in(9000)));
  tide_session_close(a.s);
  tide_session_close(b.s);
}
TEST(a06_circle_of_two_clients) { survive(NULL, 4, circle_of_two); }

static void waits_for_itself(struct scene *s) {
  struct peer p;
  struct tide_point own;
  peer_open(&p, &s->r, 16);
  own = peer_promise(&p, p.line);
  peer_submit(&p, &own, &own); /* the very same command */
  peer_sync(&p);
  CHECK_EQ_U64(tide_session_refusals(p.s), 1);
  CHECK_STATUS(tide_session_wait(p.s, own, rig_in(9000)), TIDE_DEADLOCK);
  own = peer_promise(&p, p.line);
  peer_submit(&p, &own, NULL); /* one that only a later command could keep */
  peer_submit(&p, NULL, &own);
  peer_sync(&p);
  CHECK_EQ_U64(tide_session_refusals(p.s), 2);
  CHECK(tide_session_wait(p.s, own, rig_in(20000)) != TIDE_TIMEOUT);
  tide_session_close(p.s);
}
TEST(a07_a_channel_waits_for_itself) { survive(NULL, 3, waits_for_itself); }

static void circle_through_a_compound(struct scene *s) {
  struct peer a, b;
  struct tide_point all, any, parts[2];
  peer_open(&a, &s->r, 16);
  peer_open(&b, &s->r, 16);
  struct tide_point pa = peer_promise(&a, a.line), other = peer_promise(&b, b.hosts);
  CHECK_OK(tide_session_promise_compound(b.s, rig_in(9000), &all));
  CHECK_OK(tide_session_promise_compound(b.s, rig_in(9000), &any));
  peer_sync(&a);
  peer_sync(&b);
  parts[0] = peer_pass(&a, &b, pa);
  parts[1] = other;
  struct tide_point all_at_a = peer_pass(&b, &a, all);
  peer_submit(&a, &all_at_a, &pa); /* a waits for b's compound, which nobody has defined */
  peer_sync(&a);
  CHECK_OK(tide_session_any(b.s, any, parts, 2));
  parts[1] = any;
  CHECK_OK(tide_session_all(b.s, all, parts, 2)); /* … and which would wait for a */
  peer_sync(&b);
  CHECK_EQ_U64(tide_session_refusals(b.s), 1);
  CHECK_STATUS(tide_session_query(a.s, pa), TIDE_TIMEOUT);
  CHECK_OK(tide_session_all(b.s, all, &other, 1)); /* it may be defined otherwise */
  CHECK_OK(tide_session_fulfil(b.s, other));
  CHECK_OK(tide_session_wait(a.s, pa, rig_in(9000)));
  CHECK_OK(tide_session_wait(b.s, any, rig_in(9000)));
  tide_session_close(a.s);
  tide_session_close(b.s);
}
TEST(a08_circle_through_a_compound) { survive(NULL, 4, circle_through_a_compound); }

/* ---- lattices, chains, crowds (9 to 12) ---- */

static void ignore(void *user, enum tide_status status) {
  int *calls = user;
  (void)status;
  ++*calls;
}

/* Layers of two, each of which needs both below: 2^26 ways down. Looked at in all ways there are,
 * before and after it is complete, and from the top. */
static void lattice(struct scene *s) {
  struct peer p;
  struct tide_point below[2], layer[2], bottom[2];
  int calls = 0;
  enum tide_point_state state;
  peer_open(&p, &s->r, 16);
  struct tide_point own = peer_promise(&p, p.line);
  for (int i = 0; i < 2; i++) below[i] = bottom[i] = peer_promise(&p, p.hosts);
  for (int n = 0; n < 26; n++) {
    for (int i = 0; i < 2; i++) {
      CHECK_OK(tide_session_promise_compound(p.s, rig_in(9000), &layer[i]));
      CHECK_OK(n % 3 == 2 ? tide_session_any(p.s, layer[i], below, 2)
                          : tide_session_all(p.s, layer[i], below, 2));
    }
    memcpy(below, layer, sizeof below);
    CHECK_OK(tide_session_when_schedulable(p.s, layer[0], &own, 1, ignore, &calls, NULL));
    CHECK_OK(tide_session_when_complete(p.s, layer[1], ignore, &calls, NULL));
  }
  /* A command waits for the top, and what it keeps closes no cycle; one that would is refused. */
  peer_submit(&p, &below[0], &own);
  peer_sync(&p);
  CHECK_EQ_U64(tide_session_refusals(p.s), 0);
  victim_goes_on(&s->v);
  CHECK_OK(tide_session_state(p.s, below[1], &state, NULL));
  CHECK_STATUS(state, TIDE_POINT_PROMISED);
  CHECK_OK(tide_session_fulfil(p.s, bottom[0]));
  CHECK_OK(tide_session_fulfil(p.s, bottom[1]));
  CHECK_OK(tide_session_wait(p.s, own, rig_in(9000)));
  while (calls < 52) CHECK_OK(tide_session_dispatch(p.s, rig_in(9000)));
  tide_session_close(p.s);
}
TEST(a09_diamond_lattice) { survive(NULL, 4, lattice); }

#define LARGE                                                                                      \
  "default handles 4096 timelines 2048 promises 65536 waits 65536 parts 65536 operations 65536 "   \
  "cells 65536 trusted"

/* Two clients, whose channels wait for each other's newest, so many deep. */
static void chain(struct scene *s) {
  enum { DEPTH = 30000 };
  struct peer p[2];
  struct tide_point there[2], last[2];
  unsigned depth = DEPTH / test_slowdown();
  for (int i = 0; i < 2; i++) peer_open(&p[i], &s->r, DEPTH);
  for (int i = 0; i < 2; i++) there[i] = peer_pass(&p[!i], &p[i], p[!i].line);
  struct tide_point gate = peer_promise(&p[0], p[0].hosts);
  for (unsigned i = 0; i < depth; i++) {
    unsigned me = i & 1;
    last[me] = peer_promise(&p[me], p[me].line);
    there[me].value = i ? last[!me].value : 0;
    if (i) peer_sync(&p[!me]);
    peer_submit(&p[me], i ? &there[me] : &gate, &last[me]);
    if (i % 5000 == 0) victim_goes_on(&s->v);
  }
  for (int i = 0; i < 2; i++) {
    peer_sync(&p[i]);
    CHECK_EQ_U64(tide_session_refusals(p[i].s), 0);
  }
  unsigned end = (depth - 1) & 1;
  CHECK_STATUS(tide_session_query(p[end].s, last[end]), TIDE_TIMEOUT);
  CHECK_OK(tide_session_fulfil(p[0].s, gate));
  victim_goes_on(&s->v);
  CHECK_OK(tide_session_wait(p[end].s, last[end], rig_in(30000)));
  for (int i = 0; i < 2; i++) tide_session_close(p[i].s);
}
TEST(a10_chain_of_30000_waits) { survive(LARGE, 1, chain); }

/* Everything waits for one point that does not come: calls, and commands. */
static void crowd(struct scene *s) {
  struct peer p, owner;
  unsigned count = 32000 / test_slowdown();
  int calls = 0;
  peer_open(&owner, &s->r, 16);
  peer_open(&p, &s->r, 32768);
  struct tide_point gate = peer_promise(&owner, owner.hosts);
  peer_sync(&owner);
  struct tide_point there = peer_pass(&owner, &p, gate);
  for (unsigned i = 0; i < count; i++) {
    CHECK_OK(tide_session_when_complete(p.s, there, ignore, &calls, NULL));
    peer_submit(&p, &there, NULL);
  }
  peer_sync(&p);
  CHECK_EQ_U64(tide_session_refusals(p.s), 0);
  victim_goes_on(&s->v);
  if (s->times % 2 == 0) { /* released; or never, and everybody goes */
    CHECK_OK(tide_session_fulfil(owner.s, gate));
    while (calls < (int)count) CHECK_OK(tide_session_dispatch(p.s, rig_in(30000)));
    while (tide_session_channel_over(p.s, p.channel) < count) usleep(1000);
  }
  tide_session_close(owner.s);
  tide_session_close(p.s);
}
TEST(a11_crowd_of_32000_on_one_point) { survive(LARGE, 2, crowd); }

/* One command is held up, and all others stand behind it. */
static void blocked(struct scene *s) {
  struct peer p[2];
  unsigned count = 50000 / test_slowdown();
  struct tide_point gate[2];
  for (int i = 0; i < 2; i++) {
    peer_open(&p[i], &s->r, 65536);
    gate[i] = peer_promise(&p[i], p[i].hosts);
    peer_submit(&p[i], &gate[i], NULL);
    for (unsigned n = 1; n < count; n++) peer_submit(&p[i], NULL, NULL);
    peer_sync(&p[i]);
    CHECK_EQ_U64(tide_session_refusals(p[i].s), 0);
    CHECK_EQ_U64(tide_session_channel_over(p[i].s, p[i].channel), 0);
    victim_goes_on(&s->v);
  }
  for (int i = 0; i < 2; i++) CHECK_OK(tide_session_fulfil(p[i].s, gate[i]));
  for (int i = 0; i < 2; i++)
    while (tide_session_channel_over(p[i].s, p[i].channel) < count) usleep(1000);
  for (int i = 0; i < 2; i++) tide_session_close(p[i].s);
}
TEST(a12_100000_blocked_commands) { survive(LARGE, 1, blocked); }

TEST_MAIN(CASE(a06_circle_of_two_clients), CASE(a07_a_channel_waits_for_itself),
          CASE(a08_circle_through_a_compound), CASE(a09_diamond_lattice),
          CASE(a10_chain_of_30000_waits), CASE(a11_crowd_of_32000_on_one_point),
          CASE(a12_100000_blocked_commands))
