/* Commands, compounds, what is schedulable, cycles, trust: what follows from what, told by a
 * scheduler that only tells. */
#include "point_rig.h"

static struct tide_future *on(struct rig *r, struct tide_channel *channel, const char *label) {
  struct tide_future_params params = {.struct_size = sizeof params, .label = label, .capacity = 8};
  struct tide_future *f;
  CHECK_OK(tide_future_create_on(r->client, channel, &params, &f));
  return f;
}

static struct tide_point promise(struct tide_future *f) {
  struct tide_point point;
  CHECK_OK(tide_future_promise(f, 0, &point));
  return point;
}

static struct tide_point compound(struct rig *r) {
  struct tide_point point;
  CHECK_OK(tide_compound_promise(r->client, 0, &point));
  return point;
}

/* ---- channels ---- */

TEST(scheduled_when_all_before_is) {
  struct rig r;
  struct tide_channel a, b;
  struct command c[8];
  rig_open(&r);
  tide_channel_open(&a, r.points);
  tide_channel_open(&b, r.points);
  struct tide_future *fa = on(&r, &a, "a"), *fb = on(&r, &b, "b");
  struct tide_point p = promise(fa), q = promise(fb), q2 = promise(fb);
  /* b waits for p, then retires q, then q2: nothing is scheduled before p is queued. */
  CHECK_OK(QUEUE(&r, &b, &c[0], NULL, p));
  CHECK_OK(QUEUE_FREE(&r, &b, &c[1], &q));
  CHECK_OK(QUEUE_FREE(&r, &b, &c[2], &q2));
  CHECK_STATE(&r, q, TIDE_POINT_PROMISED);
  CHECK_OK(QUEUE_FREE(&r, &a, &c[3], &p));
  CHECK_STATE(&r, p, TIDE_POINT_SCHEDULED);
  CHECK_STATE(&r, q, TIDE_POINT_SCHEDULED);
  CHECK_STATE(&r, q2, TIDE_POINT_SCHEDULED);
  command_done(&r, &c[3], TIDE_OK);
  CHECK_STATE(&r, p, TIDE_POINT_RETIRED);
  CHECK_STATE(&r, q, TIDE_POINT_SCHEDULED);
  command_done(&r, &c[0], TIDE_OK);
  command_done(&r, &c[1], TIDE_FAILED);
  CHECK_BROKEN(&r, q, TIDE_FAILED);
  command_done(&r, &c[2], TIDE_OK);
  CHECK_STATE(&r, q2, TIDE_POINT_RETIRED);
  CHECK(!a.tail && !b.tail);
  rig_close(&r);
}

TEST(what_queueing_refuses) {
  struct rig r;
  struct tide_channel a, b;
  struct command c[4];
  rig_open(&r);
  tide_channel_open(&a, r.points);
  tide_channel_open(&b, r.points);
  struct tide_future *f = on(&r, &a, "a");
  struct tide_point p[4], none;
  for (int i = 1; i <= 3; i++) p[i] = promise(f);
  none = p[3], none.value = 4;
  CHECK_STATUS(QUEUE_FREE(&r, &a, &c[0], &none), TIDE_NOT_FOUND); /* more than was promised */
  CHECK_STATUS(QUEUE_FREE(&r, &b, &c[0], &p[1]), TIDE_INVALID);   /* not this channel's to keep */
  CHECK_STATUS(tide_future_fulfil(f, 1, NULL), TIDE_INVALID);     /* nor the host's */
  none = p[3], none.generation++;
  CHECK_STATUS(QUEUE_FREE(&r, &a, &c[0], &none), TIDE_NOT_FOUND);
  CHECK_STATUS(QUEUE(&r, &b, &c[0], NULL, none), TIDE_NOT_FOUND);
  CHECK_OK(QUEUE_FREE(&r, &a, &c[0], &p[2]));
  CHECK_STATUS(QUEUE_FREE(&r, &a, &c[1], &p[2]), TIDE_VALUE);
  CHECK_STATUS(QUEUE_FREE(&r, &a, &c[1], &p[1]), TIDE_VALUE); /* backwards */
  CHECK_STATUS(tide_future_break(f, 2, TIDE_FAILED), TIDE_VALUE);
  CHECK_STATE(&r, p[1], TIDE_POINT_PROMISED);
  command_done(&r, &c[0], TIDE_OK);
  CHECK_STATE(&r, p[1], TIDE_POINT_RETIRED); /* covered */
  CHECK_OK(tide_future_break(f, 3, TIDE_IO));
  CHECK_STATUS(QUEUE_FREE(&r, &a, &c[1], &p[3]), TIDE_IO); /* it keeps its turn */
  rig_close(&r);
}

TEST(queued_in_time_is_in_time) {
  struct rig r;
  struct tide_channel a;
  struct command c[2];
  rig_open(&r);
  tide_channel_open(&a, r.points);
  struct tide_future *f = on(&r, &a, "a");
  struct tide_point p = promise(f), q = promise(f);
  tide_clock_pass(r.clock, 999 * MS);
  CHECK_OK(QUEUE_FREE(&r, &a, &c[0], &p));
  tide_clock_pass(r.clock, 1 * MS);
  CHECK_STATUS(QUEUE_FREE(&r, &a, &c[1], &q), TIDE_TIMED_OUT);
  tide_clock_pass(r.clock, 3600000 * MS); /* what is queued takes as long as it takes */
  CHECK_STATE(&r, p, TIDE_POINT_SCHEDULED);
  CHECK_BROKEN(&r, q, TIDE_TIMED_OUT);
  command_done(&r, &c[0], TIDE_OK);
  CHECK_STATE(&r, p, TIDE_POINT_RETIRED);
  rig_close(&r);
}

TEST(closing_a_channel) {
  struct rig r;
  struct tide_channel a;
  struct command c[2];
  struct tide_point more;
  rig_open(&r);
  tide_channel_open(&a, r.points);
  struct tide_future *f = on(&r, &a, "a");
  struct tide_point p = promise(f), q = promise(f);
  CHECK_OK(QUEUE_FREE(&r, &a, &c[0], &p));
  channel_close(&r, &a, TIDE_OWNER_DIED);
  CHECK_BROKEN(&r, q, TIDE_OWNER_DIED);
  CHECK_STATE(&r, p, TIDE_POINT_SCHEDULED);
  CHECK_STATUS(tide_future_promise(f, 0, &more), TIDE_OWNER_DIED);
  CHECK_STATUS(tide_future_fulfil(f, 2, NULL), TIDE_INVALID);
  command_done(&r, &c[0], TIDE_OK);
  CHECK_STATE(&r, p, TIDE_POINT_RETIRED);
  rig_close(&r);
}

/* What is queued is kept, though its timeline, and then its client, are gone. */
TEST(kept_after_its_owner) {
  struct rig r;
  struct tide_channel a;
  struct command c[2];
  struct tide_client *client;
  struct tide_future *f;
  struct tide_timeline *line;
  enum tide_point_state state;
  uint64_t value;
  rig_open(&r);
  tide_channel_open(&a, r.points);
  CHECK_OK(tide_client_create(r.points, NULL, &client));
  CHECK_OK(tide_future_create_on(client, &a, NULL, &f));
  struct tide_point p = promise(f), q = promise(f), k = compound(&r);
  CHECK_OK(tide_point_timeline(r.points, p, &line, &value));
  CHECK_OK(QUEUE_FREE(&r, &a, &c[0], &p));
  CHECK_OK(tide_compound_all(r.client, k, &p, 1));
  tide_future_destroy(f);
  CHECK_BROKEN(&r, q, TIDE_CANCELLED);
  tide_client_destroy(client, TIDE_OK);
  CHECK_STATE(&r, p, TIDE_POINT_SCHEDULED);
  command_done(&r, &c[0], TIDE_OK);
  CHECK_STATUS(tide_point_state(r.points, p, &state, NULL), TIDE_NOT_FOUND);
  CHECK_STATE(&r, k, TIDE_POINT_RETIRED);
  CHECK_OK(tide_timeline_wait(line, 1, TIDE_NOW));
  tide_timeline_release(line);
  rig_close(&r);
}

/* A command that leaves early does not free those behind it from what is before it. */
TEST(cancelled_early) {
  struct rig r;
  struct tide_channel a, b;
  struct command c[5];
  rig_open(&r);
  tide_channel_open(&a, r.points);
  tide_channel_open(&b, r.points);
  struct tide_future *fa = on(&r, &a, "a"), *fb = on(&r, &b, "b");
  struct tide_point p = promise(fa), q = promise(fb), q2 = promise(fb);
  CHECK_OK(QUEUE(&r, &b, &c[0], NULL, p));
  CHECK_OK(QUEUE_FREE(&r, &b, &c[1], &q));
  CHECK_OK(QUEUE_FREE(&r, &b, &c[2], &q2));
  command_done(&r, &c[1], TIDE_CANCELLED);
  CHECK_BROKEN(&r, q, TIDE_CANCELLED);
  CHECK_STATE(&r, q2, TIDE_POINT_PROMISED);
  CHECK_OK(QUEUE_FREE(&r, &a, &c[3], &p));
  CHECK_STATE(&r, q2, TIDE_POINT_SCHEDULED);
  command_done(&r, &c[3], TIDE_OK);
  command_done(&r, &c[0], TIDE_OK);
  command_done(&r, &c[2], TIDE_OK);
  CHECK_STATE(&r, q2, TIDE_POINT_RETIRED);
  rig_close(&r);
}

TEST(passed_by_later_commands) {
  struct rig r;
  struct tide_channel a, b;
  struct command c[4];
  rig_open(&r);
  tide_channel_open(&a, r.points);
  tide_channel_open(&b, r.points);
  struct tide_future *fa = on(&r, &a, "a"), *fb = on(&r, &b, "b");
  struct tide_point p = promise(fa), q = promise(fb);
  CHECK_OK(queue_command(&r, &b, &c[0], &p, 1, NULL, 0, true));
  CHECK_OK(QUEUE_FREE(&r, &b, &c[1], &q));
  CHECK_STATE(&r, q, TIDE_POINT_SCHEDULED);
  command_done(&r, &c[1], TIDE_OK);
  CHECK_OK(tide_future_break(fa, 1, TIDE_LOST));
  command_done(&r, &c[0], TIDE_LOST);
  rig_close(&r);
}

/* As sched will do it: the operation's own record is pending on the timeline, and is what is known
 * about the value; when the operation fails, its promise breaks and nothing else. */
TEST(records_of_operations) {
  struct rig r;
  struct tide_channel a;
  struct command c[2];
  struct tide_fired fired;
  struct tide_record_info info;
  struct tide_timeline *line;
  uint64_t value;
  TIDE_FRONTIER_STORAGE(past, 4);
  tide_axis axis = tide_axis_make(0, TIDE_DOMAIN_QUEUE, 1);
  rig_open(&r);
  tide_channel_open(&a, r.points);
  struct tide_future *f = on(&r, &a, "f");
  struct tide_point p = promise(f), q = promise(f), s = promise(f);
  CHECK_OK(tide_point_timeline(r.points, p, &line, &value));
  struct tide_record one = {.timeline = line}, two = {.timeline = line};
  tide_frontier_init(&past.frontier, 4);
  tide_frontier_raise(&past.frontier, axis, 1, NULL);
  CHECK_OK(QUEUE_FREE(&r, &a, &c[0], &p));
  CHECK_OK(QUEUE_FREE(&r, &a, &c[1], &q));
  tide_fired_init(&fired);
  tide_points_lock(r.points);
  tide_timeline_promise(&one, 1, &fired);
  tide_timeline_promise(&two, 2, &fired);
  tide_timeline_reach(&one, axis, 1, &past.frontier, &fired);
  tide_command_done(&c[0].command, TIDE_OK, &fired);
  tide_timeline_withdraw(&two, &fired);
  tide_timeline_break(&two, TIDE_FAILED, NULL, &fired);
  tide_command_done(&c[1].command, TIDE_FAILED, &fired);
  tide_points_unlock(r.points, &fired);
  CHECK_STATE(&r, p, TIDE_POINT_RETIRED);
  CHECK_BROKEN(&r, q, TIDE_FAILED);
  CHECK_STATE(&r, s, TIDE_POINT_PROMISED);
  CHECK_OK(tide_timeline_frontier_at(line, 1, NULL, &info));
  CHECK_EQ_U64(info.axis, axis);
  CHECK(!info.external);
  tide_timeline_release(line);
  rig_close(&r);
}

/* A position makes a host's keeping tracked. */
TEST(kept_with_a_position) {
  struct rig r;
  struct tide_record_info info;
  struct tide_timeline *line;
  uint64_t value;
  TIDE_FRONTIER_STORAGE(known, 4);
  rig_open(&r);
  struct tide_position host = {.frontier = &known.frontier};
  tide_frontier_init(&known.frontier, 4);
  CHECK_OK(tide_lease_take(r.context->lease, TIDE_DOMAIN_HOST, &host.axis));
  struct tide_future *f = on(&r, NULL, "f");
  struct tide_point p = promise(f);
  CHECK_STATUS(tide_future_fulfil(f, 1, &host), TIDE_NOT_FOUND); /* not registered */
  CHECK_OK(tide_tracker_register(r.context->tracker, host.axis));
  CHECK_OK(tide_future_fulfil(f, 1, &host));
  CHECK(tide_tracker_finished(r.context->tracker, host.axis, 1));
  CHECK_OK(tide_point_timeline(r.points, p, &line, &value));
  CHECK_OK(tide_timeline_frontier_at(line, value, NULL, &info));
  CHECK_EQ_U64(info.axis, host.axis);
  tide_timeline_release(line);
  rig_close(&r);
}

/* ---- compounds ---- */

TEST(all_of) {
  struct rig r;
  rig_open(&r);
  struct tide_future *f = on(&r, NULL, "f"), *g = on(&r, NULL, "g");
  struct tide_point parts[2] = {promise(f), promise(g)}, k = compound(&r), empty = compound(&r);
  struct tide_timeline *line;
  uint64_t value;
  CHECK_OK(tide_point_timeline(r.points, k, &line, &value));
  CHECK_STATUS(tide_timeline_wait(line, value, TIDE_NOW), TIDE_TIMEOUT); /* before it is defined */
  CHECK_OK(tide_compound_all(r.client, k, parts, 2));
  CHECK_STATUS(tide_compound_all(r.client, k, parts, 2), TIDE_INVALID);
  CHECK_OK(tide_future_fulfil(f, 1, NULL));
  CHECK_STATE(&r, k, TIDE_POINT_PROMISED);
  CHECK_OK(tide_future_fulfil(g, 1, NULL));
  CHECK_STATE(&r, k, TIDE_POINT_RETIRED);
  CHECK_OK(tide_timeline_wait(line, value, TIDE_FOREVER));
  CHECK_OK(tide_compound_all(r.client, empty, NULL, 0));
  CHECK_STATE(&r, empty, TIDE_POINT_RETIRED);
  tide_timeline_release(line);
  rig_close(&r);
}

TEST(all_of_one_that_breaks) {
  struct rig r;
  rig_open(&r);
  struct tide_future *f = on(&r, NULL, "f"), *g = on(&r, NULL, "g");
  struct tide_point parts[2] = {promise(f), promise(g)}, k = compound(&r), outer = compound(&r);
  struct tide_resolved found;
  CHECK_OK(tide_compound_all(r.client, outer, &k, 1));
  CHECK_OK(tide_compound_all(r.client, k, parts, 2));
  CHECK_OK(tide_future_break(g, 1, TIDE_IO));
  CHECK_BROKEN(&r, k, TIDE_IO);
  CHECK_BROKEN(&r, outer, TIDE_IO);
  /* But what waits on the service's side opens when the other has ended, too. */
  CHECK_OK(tide_point_resolve(r.points, outer, &found));
  CHECK(found.node && !found.node->settled);
  CHECK_OK(tide_future_fulfil(f, 1, NULL));
  CHECK_OK(tide_point_resolve(r.points, outer, &found));
  CHECK(!found.node && found.status == TIDE_IO);
  rig_close(&r);
}

TEST(any_of) {
  struct rig r;
  rig_open(&r);
  struct tide_future *f = on(&r, NULL, "f"), *g = on(&r, NULL, "g");
  struct tide_point parts[2] = {promise(f), promise(g)}, k = compound(&r), l = compound(&r);
  CHECK_STATUS(tide_compound_any(r.client, k, NULL, 0), TIDE_INVALID);
  CHECK_OK(tide_compound_any(r.client, k, parts, 2));
  CHECK_OK(tide_future_break(f, 1, TIDE_IO));
  CHECK_STATE(&r, k, TIDE_POINT_PROMISED);
  CHECK_OK(tide_compound_any(r.client, l, parts, 1));
  CHECK_BROKEN(&r, l, TIDE_IO);
  CHECK_OK(tide_future_fulfil(g, 1, NULL));
  CHECK_STATE(&r, k, TIDE_POINT_RETIRED);
  CHECK_STATUS(tide_compound_any(r.client, l, parts, 2), TIDE_INVALID);
  rig_close(&r);
}

/* 21: never and soon. */
TEST(any_of_never_and_soon) {
  struct rig r;
  struct tide_channel a, b;
  struct command c[2];
  rig_open(&r);
  tide_channel_open(&a, r.points);
  tide_channel_open(&b, r.points);
  struct tide_future *f = on(&r, &a, "f"), *g = on(&r, &b, "g");
  struct tide_point never = promise(f), soon = promise(g), k = compound(&r);
  CHECK_OK(tide_compound_any(r.client, k, (struct tide_point[]){never, soon}, 2));
  CHECK_OK(QUEUE_FREE(&r, &b, &c[0], &soon));
  CHECK_STATE(&r, k, TIDE_POINT_SCHEDULED);
  command_done(&r, &c[0], TIDE_OK);
  CHECK_STATE(&r, k, TIDE_POINT_RETIRED);
  CHECK_STATE(&r, never, TIDE_POINT_PROMISED);
  rig_close(&r);
}

TEST(expressions) {
  struct rig r;
  rig_open(&r);
  struct tide_future *f[6];
  struct tide_point p[6];
  for (int i = 0; i < 6; i++) {
    f[i] = on(&r, NULL, "f");
    p[i] = promise(f[i]);
  }
  struct tide_point k = compound(&r), l = compound(&r), m = compound(&r);
  struct tide_diag diag = {.status = TIDE_OK};
  static const char text[] = "(0&1&2)|(3&4&5)", binds[] = "0 | 1 & 2", nested[] = "((0|1)&(2|3))";
  CHECK_STATUS(tide_compound_expression(r.client, k, "0&", 2, p, 6, &diag), TIDE_CORRUPT);
  CHECK_EQ_U64(diag.column, 3);
  CHECK_OK(tide_compound_expression(r.client, k, text, strlen(text), p, 6, &diag));
  CHECK_OK(tide_compound_expression(r.client, l, binds, strlen(binds), p, 6, NULL));
  CHECK_OK(tide_compound_expression(r.client, m, nested, strlen(nested), p, 6, NULL));
  CHECK_OK(tide_future_fulfil(f[1], 1, NULL));
  CHECK_STATE(&r, l, TIDE_POINT_PROMISED); /* not (0|1)&2 */
  CHECK_OK(tide_future_fulfil(f[3], 1, NULL));
  CHECK_STATE(&r, m, TIDE_POINT_RETIRED);
  CHECK_OK(tide_future_fulfil(f[0], 1, NULL));
  CHECK_STATE(&r, l, TIDE_POINT_RETIRED);
  CHECK_OK(tide_future_break(f[2], 1, TIDE_IO));
  CHECK_STATE(&r, k, TIDE_POINT_PROMISED);
  CHECK_OK(tide_future_fulfil(f[4], 1, NULL));
  CHECK_OK(tide_future_break(f[5], 1, TIDE_LOST));
  CHECK_BROKEN(&r, k, TIDE_IO);
  struct tide_client_stats stats;
  tide_client_stats(r.client, &stats);
  CHECK_EQ_U64(stats.parts, 0);
  rig_close(&r);
}

TEST(what_defining_refuses) {
  struct rig r;
  struct tide_client *other;
  rig_open(&r);
  CHECK_OK(tide_client_create(r.points, NULL, &other));
  struct tide_future *f = on(&r, NULL, "f");
  struct tide_point p = promise(f), k = compound(&r), none = p, late;
  none.value = 9;
  CHECK_STATUS(tide_compound_all(other, k, &p, 1), TIDE_DENIED);
  CHECK_STATUS(tide_compound_all(r.client, p, &p, 1), TIDE_INVALID);
  CHECK_STATUS(tide_compound_all(r.client, k, (struct tide_point[]){p, none}, 2), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_compound_all(r.client, none, &p, 1), TIDE_INVALID);
  none = k, none.generation++;
  CHECK_STATUS(tide_compound_all(r.client, none, &p, 1), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_compound_all(r.client, k, &k, 1), TIDE_DEADLOCK);
  CHECK_STATE(&r, k, TIDE_POINT_PROMISED);
  CHECK_OK(tide_compound_all(r.client, k, &p, 1)); /* after all */
  late = compound(&r);
  tide_clock_pass(r.clock, 1000 * MS);
  CHECK_STATUS(tide_compound_all(r.client, late, &p, 1), TIDE_TIMED_OUT);
  CHECK_STATUS(tide_compound_destroy(r.client, p), TIDE_INVALID);
  CHECK_OK(tide_compound_destroy(r.client, k));
  CHECK_STATUS(tide_compound_destroy(r.client, k), TIDE_NOT_FOUND);
  tide_client_destroy(other, TIDE_OK);
  rig_close(&r);
}

/* ---- cycles ---- */

/* 7: a point that its own channel will retire later, by itself and through a compound. */
TEST(waiting_for_oneself) {
  struct rig r;
  struct tide_channel a;
  struct command c[2];
  rig_open(&r);
  tide_channel_open(&a, r.points);
  struct tide_future *f = on(&r, &a, "f"), *host = on(&r, NULL, "h");
  struct tide_point p = promise(f), h = promise(host), k = compound(&r), l = compound(&r);
  struct tide_point m = compound(&r);
  CHECK_STATUS(QUEUE(&r, &a, &c[0], NULL, p), TIDE_DEADLOCK);
  CHECK_STATUS(QUEUE(&r, &a, &c[0], &p, p), TIDE_DEADLOCK);
  CHECK_OK(tide_compound_all(r.client, k, (struct tide_point[]){h, p}, 2));
  CHECK_STATUS(QUEUE(&r, &a, &c[0], NULL, k), TIDE_DEADLOCK);
  /* Any of them is one, too: when h breaks, it would be. */
  CHECK_OK(tide_compound_any(r.client, l, (struct tide_point[]){h, p}, 2));
  CHECK_STATUS(QUEUE(&r, &a, &c[0], NULL, l), TIDE_DEADLOCK);
  CHECK_STATUS(tide_compound_any(r.client, m, (struct tide_point[]){h, m}, 2), TIDE_DEADLOCK);
  /* A command that may be passed waits for what comes later; but not for what it retires. */
  CHECK_STATUS(queue_command(&r, &a, &c[0], &p, 1, &p, 1, true), TIDE_DEADLOCK);
  CHECK_OK(queue_command(&r, &a, &c[0], &k, 1, NULL, 0, true));
  CHECK_OK(QUEUE_FREE(&r, &a, &c[1], &p));
  CHECK_STATE(&r, p, TIDE_POINT_SCHEDULED);
  command_done(&r, &c[1], TIDE_OK);
  CHECK_OK(tide_future_fulfil(host, 1, NULL));
  command_done(&r, &c[0], TIDE_OK);
  CHECK_STATE(&r, k, TIDE_POINT_RETIRED);
  rig_close(&r);
}

/* 6: two clients wait for each other: the second is told, at once; the first goes on. */
TEST(two_in_a_circle) {
  struct rig r;
  struct tide_channel a, b;
  struct command c[4];
  rig_open(&r);
  tide_channel_open(&a, r.points);
  tide_channel_open(&b, r.points);
  struct tide_future *fa = on(&r, &a, "a"), *fb = on(&r, &b, "b");
  struct tide_point p = promise(fa), q = promise(fb);
  CHECK_OK(QUEUE(&r, &a, &c[0], NULL, q));
  CHECK_STATUS(QUEUE(&r, &b, &c[1], &q, p), TIDE_DEADLOCK);
  CHECK_OK(QUEUE_FREE(&r, &b, &c[1], &q)); /* without the wait */
  CHECK_STATE(&r, q, TIDE_POINT_SCHEDULED);
  CHECK_OK(QUEUE_FREE(&r, &a, &c[2], &p));
  CHECK_STATE(&r, p, TIDE_POINT_SCHEDULED);
  CHECK_OK(QUEUE(&r, &b, &c[3], NULL, p)); /* and behind it it is none any more */
  command_done(&r, &c[1], TIDE_OK);
  command_done(&r, &c[0], TIDE_OK);
  command_done(&r, &c[2], TIDE_OK);
  command_done(&r, &c[3], TIDE_OK);
  rig_close(&r);
}

/* 8: it is the compound that closes it, when somebody waits for it already. */
TEST(a_circle_through_a_compound) {
  struct rig r;
  struct tide_channel a, b;
  struct command c[2];
  rig_open(&r);
  tide_channel_open(&a, r.points);
  tide_channel_open(&b, r.points);
  struct tide_future *fa = on(&r, &a, "a");
  struct tide_point p = promise(fa), k = compound(&r), l = compound(&r);
  CHECK_OK(tide_compound_all(r.client, k, &l, 1));
  CHECK_OK(QUEUE(&r, &a, &c[0], NULL, k));
  CHECK_STATUS(tide_compound_all(r.client, l, &k, 1), TIDE_DEADLOCK);
  CHECK_STATUS(tide_compound_all(r.client, l, &p, 1), TIDE_DEADLOCK);
  CHECK_STATUS(tide_compound_expression(r.client, l, "(0)", 3, &p, 1, NULL), TIDE_DEADLOCK);
  tide_clock_pass(r.clock, 1000 * MS);
  CHECK_BROKEN(&r, k, TIDE_TIMED_OUT); /* nobody defined it */
  command_done(&r, &c[0], TIDE_TIMED_OUT);
  rig_close(&r);
}

/* ---- "schedulable" ---- */

TEST(when_schedulable_is_told) {
  struct rig r;
  struct tide_channel a;
  struct command c[1];
  struct told t, u, v, w;
  rig_open(&r);
  tide_channel_open(&a, r.points);
  struct tide_future *f = on(&r, &a, "a");
  struct tide_point p = promise(f), q = promise(f), none = p;
  none.value = 3;
  CHECK_OK(when_schedulable(&t, r.client, p, NULL, 0));
  CHECK_OK(when_schedulable(&u, r.client, q, NULL, 0));
  CHECK_OK(when_schedulable(&v, r.client, p, NULL, 0));
  CHECK_STATUS(when_schedulable(&w, r.client, none, NULL, 0), TIDE_NOT_FOUND);
  CHECK(tide_schedulable_cancel(&v.wait));
  CHECK(!tide_schedulable_cancel(&v.wait));
  CHECK_OK(QUEUE_FREE(&r, &a, &c[0], &p));
  CHECK_EQ_U64(t.calls, 1);
  CHECK_OK(t.status);
  CHECK(!tide_schedulable_cancel(&t.wait));
  CHECK_EQ_U64(u.calls, 0);
  CHECK_OK(when_schedulable(&w, r.client, p, NULL, 0));
  CHECK_EQ_U64(w.calls, 1);
  CHECK_OK(tide_future_break(f, 2, TIDE_LOST));
  CHECK_EQ_U64(u.calls, 1);
  CHECK_STATUS(u.status, TIDE_LOST);
  CHECK_EQ_U64(v.calls, 0);
  command_done(&r, &c[0], TIDE_OK);
  rig_close(&r);
}

TEST(assuming) {
  struct rig r;
  struct tide_client *me;
  struct tide_channel a;
  struct command c[2];
  struct told t, u;
  struct tide_future *mine;
  rig_open(&r);
  tide_channel_open(&a, r.points);
  CHECK_OK(tide_client_create(r.points, NULL, &me));
  CHECK_OK(tide_future_create(me, NULL, &mine));
  struct tide_future *f = on(&r, &a, "a");
  struct tide_point m1 = promise(mine), m2 = promise(mine), m3 = promise(mine), p = promise(f);
  CHECK_STATUS(when_schedulable(&t, me, p, &p, 1), TIDE_DENIED); /* 22: another's */
  CHECK_STATUS(when_schedulable(&t, me, p, &m1, TIDE_ASSUMED_MAX + 1), TIDE_INVALID);
  /* p will be retired after m1 and m2: assuming m1 is not enough, assuming m2 is. */
  CHECK_OK(when_schedulable(&t, me, p, &m1, 1));
  CHECK_OK(when_schedulable(&u, me, p, &m2, 1));
  CHECK_OK(QUEUE(&r, &a, &c[0], &p, m1, m2));
  CHECK_EQ_U64(t.calls, 0);
  CHECK_EQ_U64(u.calls, 1);
  CHECK_OK(u.status);
  CHECK_STATE(&r, p, TIDE_POINT_PROMISED); /* for that call alone */
  CHECK_OK(tide_future_break(mine, 1, TIDE_LOST));
  CHECK_EQ_U64(t.calls, 0);
  CHECK_OK(tide_future_fulfil(mine, 2, NULL));
  CHECK_EQ_U64(t.calls, 1);
  CHECK_OK(when_schedulable(&t, me, m3, &m2, 1));
  CHECK_EQ_U64(t.calls, 0);
  tide_client_destroy(me, TIDE_OK);
  CHECK_EQ_U64(t.calls, 1);
  CHECK_STATUS(t.status, TIDE_CANCELLED);
  command_done(&r, &c[0], TIDE_OK);
  rig_close(&r);
}

/* Looking where it is held up takes parts; when there are none left, the caller is told. */
TEST(no_room_to_look) {
  struct tide_points_params params = {.struct_size = sizeof params, .manual = true, .parts = 4};
  struct rig r;
  struct tide_client *me;
  struct tide_future *mine;
  struct told t, u;
  rig_open_with(&r, &params, NULL);
  CHECK_OK(tide_client_create(r.points, NULL, &me));
  CHECK_OK(tide_future_create(me, NULL, &mine));
  struct tide_future *f = on(&r, NULL, "f"), *g = on(&r, NULL, "g");
  struct tide_point own = promise(mine), p = promise(f), q = promise(g), k = compound(&r);
  CHECK_OK(tide_compound_any(r.client, k, (struct tide_point[]){p, q}, 2));
  CHECK_OK(when_schedulable(&t, me, k, &own, 1));
  CHECK_EQ_U64(t.calls, 0);
  CHECK_OK(when_schedulable(&u, me, k, &own, 1));
  CHECK_EQ_U64(u.calls, 1);
  CHECK_STATUS(u.status, TIDE_FULL);
  CHECK_OK(tide_future_break(f, 1, TIDE_LOST));
  CHECK_EQ_U64(t.calls, 0);
  CHECK_OK(tide_future_fulfil(g, 1, NULL));
  CHECK_EQ_U64(t.calls, 1);
  CHECK_OK(t.status);
  CHECK_EQ_U64(r.points->free_cells, 4);
  tide_client_destroy(me, TIDE_OK);
  rig_close(&r);
}

/* 15: a name's generation is used once; a place whose generations ran out is used no more. */
TEST(generations_run_out) {
  struct tide_points_params params = {.struct_size = sizeof params, .manual = true, .timelines = 2};
  struct rig r;
  struct tide_future *f, *g;
  enum tide_point_state state;
  rig_open_with(&r, &params, NULL);
  r.points->slots[1].generation = UINT32_MAX;
  f = on(&r, NULL, "f");
  struct tide_point last = promise(f);
  CHECK_EQ_U64(last.generation, UINT32_MAX);
  tide_future_destroy(f);
  f = on(&r, NULL, "f");
  struct tide_point other = promise(f);
  CHECK(other.timeline != last.timeline);
  CHECK_STATUS(tide_future_create(r.client, NULL, &g), TIDE_FULL);
  CHECK_STATUS(tide_point_state(r.points, last, &state, NULL), TIDE_NOT_FOUND);
  rig_close(&r);
}

/* ---- trust ---- */

TEST(untrusted_words_count_at_the_end) {
  struct rig r;
  struct tide_point foreign, liar, k;
  struct told t, u;
  rig_open(&r);
  CHECK_OK(tide_points_trust(r.points, 7));
  CHECK_OK(tide_stand_in_create(r.client, 7, TIDE_FOREVER, &foreign));
  CHECK_OK(tide_stand_in_create(r.client, 8, 0, &liar));
  CHECK_STATUS(tide_stand_in_create(r.client, 1, 0, &k), TIDE_INVALID);
  CHECK_STATUS(tide_compound_all(r.client, liar, NULL, 0), TIDE_INVALID);
  k = compound(&r);
  CHECK_OK(tide_compound_all(r.client, k, (struct tide_point[]){foreign, liar}, 2));
  CHECK_OK(when_schedulable(&t, r.client, foreign, NULL, 0));
  CHECK_OK(when_schedulable(&u, r.client, liar, NULL, 0));
  report(&r, foreign, TIDE_POINT_SCHEDULED, TIDE_OK);
  report(&r, liar, TIDE_POINT_SCHEDULED, TIDE_OK); /* 23 */
  CHECK_EQ_U64(t.calls, 1);
  CHECK_EQ_U64(u.calls, 0);
  CHECK_STATE(&r, foreign, TIDE_POINT_SCHEDULED);
  CHECK_STATE(&r, liar, TIDE_POINT_PROMISED);
  CHECK_STATE(&r, k, TIDE_POINT_PROMISED);
  report(&r, liar, TIDE_POINT_RETIRED, TIDE_OK);
  CHECK_EQ_U64(u.calls, 1);
  CHECK_STATE(&r, k, TIDE_POINT_SCHEDULED);
  report(&r, foreign, TIDE_POINT_BROKEN, TIDE_LOST);
  CHECK_BROKEN(&r, k, TIDE_LOST);
  rig_close(&r);
}

TEST(a_client_may_only_narrow) {
  struct rig r;
  struct tide_client *careful;
  struct tide_channel a;
  struct command c[1];
  struct tide_point foreign;
  struct told t, u;
  rig_open(&r);
  tide_channel_open(&a, r.points);
  CHECK_OK(tide_points_trust(r.points, 7));
  CHECK_OK(tide_points_trust(r.points, 9));
  CHECK_OK(tide_client_create(r.points, NULL, &careful));
  CHECK_STATUS(tide_client_trust(careful, 8), TIDE_DENIED);
  CHECK_OK(tide_client_trust(careful, 9));
  CHECK_OK(tide_stand_in_create(r.client, 7, TIDE_FOREVER, &foreign));
  struct tide_future *f = on(&r, &a, "a");
  struct tide_point p = promise(f);
  CHECK_OK(when_schedulable(&t, r.client, p, NULL, 0));
  CHECK_OK(when_schedulable(&u, careful, p, NULL, 0));
  CHECK_OK(QUEUE(&r, &a, &c[0], &p, foreign));
  report(&r, foreign, TIDE_POINT_SCHEDULED, TIDE_OK);
  CHECK_EQ_U64(t.calls, 1);
  CHECK_EQ_U64(u.calls, 0);
  report(&r, foreign, TIDE_POINT_RETIRED, TIDE_OK);
  CHECK_EQ_U64(u.calls, 1);
  command_done(&r, &c[0], TIDE_OK);
  tide_client_destroy(careful, TIDE_OK);
  rig_close(&r);
}

TEST(a_domain_is_lost) {
  struct rig r;
  struct tide_point a, b;
  struct tide_fired fired;
  rig_open(&r);
  CHECK_OK(tide_stand_in_create(r.client, 7, TIDE_FOREVER, &a));
  CHECK_OK(tide_stand_in_create(r.client, 8, 0, &b));
  tide_fired_init(&fired);
  tide_points_lock(r.points);
  tide_points_lose_domain(r.points, 7, TIDE_LOST, &fired);
  tide_points_unlock(r.points, &fired);
  CHECK_BROKEN(&r, a, TIDE_LOST);
  CHECK_STATE(&r, b, TIDE_POINT_PROMISED);
  tide_clock_pass(r.clock, 1000 * MS);
  CHECK_BROKEN(&r, b, TIDE_TIMED_OUT);
  for (uint32_t i = 0; i < 64; i++) CHECK_OK(tide_points_trust(r.points, 100 + i));
  CHECK_STATUS(tide_points_trust(r.points, 200), TIDE_FULL);
  CHECK_OK(tide_points_trust(r.points, 100));
  rig_close(&r);
}

TEST_MAIN(CASE(scheduled_when_all_before_is), CASE(what_queueing_refuses),
          CASE(queued_in_time_is_in_time), CASE(closing_a_channel), CASE(kept_after_its_owner),
          CASE(cancelled_early), CASE(passed_by_later_commands), CASE(records_of_operations),
          CASE(kept_with_a_position), CASE(all_of), CASE(all_of_one_that_breaks), CASE(any_of),
          CASE(any_of_never_and_soon), CASE(expressions), CASE(what_defining_refuses),
          CASE(waiting_for_oneself), CASE(two_in_a_circle), CASE(a_circle_through_a_compound),
          CASE(when_schedulable_is_told), CASE(assuming), CASE(no_room_to_look),
          CASE(generations_run_out), CASE(untrusted_words_count_at_the_end),
          CASE(a_client_may_only_narrow), CASE(a_domain_is_lost))
