/* Promises, future timelines, deadlines, clients: what a host does with points. */
#include "point_rig.h"
#include "fake_device.h"

static struct tide_future *future(struct rig *r, uint32_t capacity) {
  struct tide_future_params params = {
      .struct_size = sizeof params, .label = "frames", .capacity = capacity};
  struct tide_future *made;
  CHECK_OK(tide_future_create(r->client, &params, &made));
  return made;
}

static struct tide_point promise(struct tide_future *f) {
  struct tide_point point;
  CHECK_OK(tide_future_promise(f, 0, &point));
  return point;
}

TEST(promised_then_retired) {
  struct rig r;
  rig_open(&r);
  struct tide_future *f = future(&r, 0);
  struct tide_point one = promise(f), two = promise(f);
  CHECK_EQ_U64(one.domain, 1);
  CHECK_EQ_U64(one.value, 1);
  CHECK_EQ_U64(two.value, 2);
  CHECK_STATE(&r, one, TIDE_POINT_PROMISED);
  CHECK_STATUS(tide_point_wait(r.points, one, TIDE_NOW), TIDE_TIMEOUT);
  CHECK_OK(tide_future_fulfil(f, 1, NULL));
  CHECK_STATE(&r, one, TIDE_POINT_RETIRED);
  CHECK_STATE(&r, two, TIDE_POINT_PROMISED);
  CHECK_OK(tide_point_wait(r.points, one, TIDE_FOREVER));
  CHECK_STATUS(tide_future_fulfil(f, 1, NULL), TIDE_VALUE);
  CHECK_STATUS(tide_future_fulfil(f, 3, NULL), TIDE_NOT_FOUND);
  tide_future_destroy(f);
  rig_close(&r);
}

TEST(names_that_nobody_promised) {
  struct rig r;
  struct tide_timeline *line;
  enum tide_point_state state;
  uint64_t value;
  rig_open(&r);
  struct tide_future *f = future(&r, 0);
  struct tide_point point = promise(f), wrong;
  wrong = point, wrong.value = 2;
  CHECK_STATUS(tide_point_state(r.points, wrong, &state, NULL), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_point_wait(r.points, wrong, TIDE_FOREVER), TIDE_NOT_FOUND);
  wrong = point, wrong.domain = 2;
  CHECK_STATUS(tide_point_state(r.points, wrong, &state, NULL), TIDE_NOT_FOUND);
  wrong = point, wrong.generation++;
  CHECK_STATUS(tide_point_state(r.points, wrong, &state, NULL), TIDE_NOT_FOUND);
  wrong = point, wrong.timeline = UINT32_MAX;
  CHECK_STATUS(tide_point_state(r.points, wrong, &state, NULL), TIDE_NOT_FOUND);
  wrong = point, wrong.reserved = 1;
  CHECK_STATUS(tide_point_state(r.points, wrong, &state, NULL), TIDE_NOT_FOUND);
  wrong = (struct tide_point){0};
  CHECK_STATUS(tide_point_state(r.points, wrong, &state, NULL), TIDE_NOT_FOUND);
  /* By the timeline itself: nobody waits for what nobody owes; only its promiser signals it. */
  CHECK_OK(tide_point_timeline(r.points, point, &line, &value));
  CHECK_STATUS(tide_timeline_wait(line, 2, TIDE_FOREVER), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_timeline_signal_external(line, 1), TIDE_SCOPE);
  tide_timeline_fail(line, TIDE_FAILED);
  CHECK_STATE(&r, point, TIDE_POINT_PROMISED);
  tide_timeline_release(line);
  rig_close(&r);
}

TEST(good_retirement_covers_what_is_unbroken) {
  struct rig r;
  rig_open(&r);
  struct tide_future *f = future(&r, 8);
  struct tide_point p[6];
  for (int i = 1; i <= 5; i++) p[i] = promise(f);
  CHECK_OK(tide_future_break(f, 2, TIDE_FAILED));
  CHECK_OK(tide_future_fulfil(f, 3, NULL));
  CHECK_STATE(&r, p[1], TIDE_POINT_RETIRED);
  CHECK_BROKEN(&r, p[2], TIDE_FAILED);
  CHECK_STATE(&r, p[3], TIDE_POINT_RETIRED);
  CHECK_STATE(&r, p[4], TIDE_POINT_PROMISED);
  CHECK_STATUS(tide_point_wait(r.points, p[2], TIDE_FOREVER), TIDE_FAILED);
  CHECK_OK(tide_point_wait(r.points, p[1], TIDE_FOREVER));
  /* A broken one keeps its turn: whoever comes to keep it is told its error, and 4 is not retired.
   */
  CHECK_STATUS(tide_future_fulfil(f, 2, NULL), TIDE_FAILED);
  CHECK_OK(tide_future_break(f, 4, TIDE_LOST));
  CHECK_STATUS(tide_future_fulfil(f, 4, NULL), TIDE_LOST);
  CHECK_STATUS(tide_future_break(f, 4, TIDE_FAILED), TIDE_LOST);
  CHECK_STATUS(tide_future_break(f, 3, TIDE_FAILED), TIDE_VALUE);
  CHECK_STATUS(tide_future_break(f, 5, TIDE_OK), TIDE_INVALID);
  CHECK_STATE(&r, p[5], TIDE_POINT_PROMISED);
  CHECK_OK(tide_future_fulfil(f, 5, NULL));
  CHECK_BROKEN(&r, p[4], TIDE_LOST);
  struct tide_client_stats stats;
  tide_client_stats(r.client, &stats);
  CHECK_EQ_U64(stats.promised, 5);
  CHECK_EQ_U64(stats.kept, 3);
  CHECK_EQ_U64(stats.broken, 2);
  rig_close(&r);
}

/* Waits of timeline.h on values that end one by one. */
TEST(every_wait_of_timelines_works) {
  struct rig r;
  struct tide_timeline *line;
  struct tide_wait_set *set;
  struct tide_wait_ready ready[4];
  struct tide_record_info info;
  size_t index, count;
  uint64_t value;
  rig_open(&r);
  struct tide_future *f = future(&r, 8);
  struct tide_point p[5];
  for (int i = 1; i <= 4; i++) p[i] = promise(f);
  CHECK_OK(tide_point_timeline(r.points, p[1], &line, &value));
  CHECK_OK(tide_wait_set_create(r.context, 4, &set));
  for (uint64_t i = 1; i <= 3; i++) CHECK_OK(tide_wait_set_add(set, line, i, i, NULL));
  CHECK_OK(tide_future_break(f, 2, TIDE_LOST));
  CHECK_OK(tide_future_fulfil(f, 3, NULL));
  CHECK_OK(tide_wait_set_add(set, line, 2, 22, NULL));
  CHECK_OK(tide_wait_set_wait(set, ready, 4, TIDE_NOW, &count));
  CHECK_EQ_U64(count, 4);
  for (size_t i = 0; i < count; i++)
    CHECK_STATUS(ready[i].status, ready[i].value == 2 ? TIDE_LOST : TIDE_OK);
  tide_wait_set_destroy(set);
  struct tide_wait_point all[2] = {{.timeline = line, .value = 2}, {.timeline = line, .value = 3}};
  CHECK_STATUS(tide_wait_all(all, 2, TIDE_NOW), TIDE_LOST);
  struct tide_wait_point any[2] = {{.timeline = line, .value = 4}, {.timeline = line, .value = 2}};
  CHECK_STATUS(tide_wait_any(any, 2, TIDE_NOW, &index), TIDE_LOST);
  CHECK_EQ_U64(index, 1);
  struct tide_wait_point none[1] = {{.timeline = line, .value = 5}};
  CHECK_STATUS(tide_wait_any(none, 1, TIDE_FOREVER, &index), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_timeline_frontier_at(line, 2, NULL, &info), TIDE_LOST);
  CHECK_OK(tide_timeline_frontier_at(line, 1, NULL, &info));
  CHECK_EQ_U64(tide_timeline_query(line), 3);
  tide_timeline_release(line);
  rig_close(&r);
}

struct telling {
  struct tide_timepoint timepoint;
  enum tide_status *at;
};
static void tell_status(struct tide_timepoint *timepoint, enum tide_status status) {
  *((struct telling *)(void *)timepoint)->at = status;
}

TEST(callbacks_when_complete) {
  struct rig r;
  rig_open(&r);
  struct tide_future *f = future(&r, 8);
  struct tide_point p[5];
  struct telling timepoints[5];
  enum tide_status told[5];
  for (int i = 1; i <= 4; i++) {
    p[i] = promise(f);
    told[i] = TIDE_STATUS_COUNT;
    timepoints[i] = (struct telling){{.call = tell_status}, &told[i]};
    CHECK_OK(tide_point_when_complete(r.points, p[i], &timepoints[i].timepoint));
  }
  CHECK_OK(tide_future_break(f, 1, TIDE_IO));
  CHECK_STATUS(told[1], TIDE_IO);
  CHECK_STATUS(told[2], TIDE_STATUS_COUNT);
  CHECK_OK(tide_future_fulfil(f, 3, NULL));
  CHECK_STATUS(told[2], TIDE_OK);
  CHECK_STATUS(told[3], TIDE_OK);
  CHECK(tide_timepoint_cancel(&timepoints[4].timepoint));
  tide_future_destroy(f);
  CHECK_STATUS(told[4], TIDE_STATUS_COUNT);
  struct telling late = {{.call = tell_status}, &told[4]};
  CHECK_STATUS(tide_point_when_complete(r.points, p[4], &late.timepoint), TIDE_NOT_FOUND);
  late.timepoint.call = NULL;
  CHECK_STATUS(tide_point_when_complete(r.points, p[4], &late.timepoint), TIDE_INVALID);
  rig_close(&r);
}

TEST(deadlines) {
  struct rig r;
  uint64_t next;
  struct tide_client_stats stats;
  rig_open(&r);
  struct tide_future *f = future(&r, 8);
  uint64_t start = tide_clock_now(r.clock);
  struct tide_point p[5];
  p[1] = promise(f); /* one second */
  CHECK_OK(tide_future_promise(f, start + 10 * MS, &p[2]));
  CHECK_OK(tide_future_promise(f, start + 60000 * MS, &p[3])); /* cut to ten seconds */
  CHECK_EQ_U64(tide_points_expire(r.points, &next), 0);
  CHECK_EQ_U64(next, start + 10 * MS);
  /* Whoever waits sees it, at the time, though nobody else looks. */
  CHECK_STATUS(tide_point_wait(r.points, p[2], TIDE_FOREVER), TIDE_TIMED_OUT);
  CHECK_EQ_U64(tide_clock_now(r.clock), start + 10 * MS);
  CHECK_STATE(&r, p[1], TIDE_POINT_PROMISED);
  CHECK_STATUS(tide_point_wait(r.points, p[1], start + 20 * MS), TIDE_TIMEOUT);
  tide_clock_pass(r.clock, 980 * MS);
  /* Its deadline passed just now: it is too late to keep it, even if nobody has looked yet. */
  CHECK_STATUS(tide_future_fulfil(f, 1, NULL), TIDE_TIMED_OUT);
  CHECK_EQ_U64(tide_points_expire(r.points, &next), 0);
  CHECK_EQ_U64(next, start + 10000 * MS);
  CHECK_OK(tide_future_fulfil(f, 3, NULL));
  CHECK_EQ_U64(tide_points_expire(r.points, &next), 0);
  CHECK_EQ_U64(next, TIDE_FOREVER);
  CHECK_BROKEN(&r, p[1], TIDE_TIMED_OUT);
  tide_client_stats(r.client, &stats);
  CHECK_EQ_U64(stats.missed, 2);
  CHECK_EQ_U64(stats.broken, 2);
  rig_close(&r);
}

TEST(capacity) {
  struct rig r;
  struct tide_point p;
  rig_open(&r);
  struct tide_future *f = future(&r, 2);
  promise(f), promise(f);
  CHECK_STATUS(tide_future_promise(f, 0, &p), TIDE_FULL);
  CHECK_OK(tide_future_fulfil(f, 2, NULL));
  promise(f), promise(f);
  /* Broken ones side by side, of one cause, are remembered as one. */
  CHECK_OK(tide_future_break(f, 4, TIDE_FAILED));
  CHECK_STATUS(tide_future_promise(f, 0, &p), TIDE_FULL);
  CHECK_OK(tide_future_break(f, 3, TIDE_FAILED));
  for (uint64_t i = 5; i < 1000; i++) {
    promise(f);
    CHECK_OK(tide_future_break(f, i, TIDE_FAILED));
  }
  /* Others are not: who breaks its word in ever new ways has used the timeline up. */
  promise(f);
  CHECK_OK(tide_future_break(f, 1000, TIDE_LOST));
  CHECK_STATUS(tide_future_promise(f, 0, &p), TIDE_EXHAUSTED);
  p = (struct tide_point){.domain = 1, .timeline = 1, .generation = 1};
  for (p.value = 1; p.value <= 1000; p.value++) {
    if (p.value <= 2) CHECK_STATE(&r, p, TIDE_POINT_RETIRED);
    else CHECK_BROKEN(&r, p, p.value < 1000 ? TIDE_FAILED : TIDE_LOST);
  }
  rig_close(&r);
}

TEST(holes_join_from_both_sides) {
  struct rig r;
  rig_open(&r);
  struct tide_future *f = future(&r, 16);
  struct tide_point p[17], more;
  static const uint64_t order[] = {2, 4, 3, 8, 6, 7, 1, 12, 10, 11, 14, 16};
  for (int i = 1; i <= 16; i++) p[i] = promise(f);
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    CHECK_OK(tide_future_break(f, order[i], TIDE_IO));
  for (int i = 1; i <= 16; i++) {
    bool broken = i <= 4 || (i >= 6 && i <= 8) || (i >= 10 && i <= 12) || i == 14 || i == 16;
    if (broken) CHECK_BROKEN(&r, p[i], TIDE_IO);
    else CHECK_STATE(&r, p[i], TIDE_POINT_PROMISED);
  }
  /* 16 places: 5 runs of broken ones, 5, 9, 13, 15 promised: room for 7. */
  for (int i = 0; i < 7; i++) CHECK_OK(tide_future_promise(f, 0, &more));
  CHECK_STATUS(tide_future_promise(f, 0, &more), TIDE_FULL);
  CHECK_OK(tide_future_fulfil(f, 15, NULL));
  CHECK_STATE(&r, p[13], TIDE_POINT_RETIRED);
  CHECK_BROKEN(&r, p[14], TIDE_IO);
  CHECK_BROKEN(&r, p[16], TIDE_IO);
  rig_close(&r);
}

TEST(values_run_out) {
  struct rig r;
  struct tide_point p;
  struct tide_future_params params = {.struct_size = sizeof params, .initial = UINT64_MAX - 2};
  struct tide_future *f;
  rig_open(&r);
  CHECK_OK(tide_future_create(r.client, &params, &f));
  p = promise(f);
  CHECK_EQ_U64(p.value, UINT64_MAX - 1);
  p = promise(f);
  CHECK_EQ_U64(p.value, UINT64_MAX);
  CHECK_STATUS(tide_future_promise(f, 0, &p), TIDE_EXHAUSTED);
  p.value = UINT64_MAX;
  CHECK_STATUS(tide_point_wait(r.points, p, TIDE_NOW), TIDE_TIMEOUT);
  CHECK_OK(tide_future_break(f, UINT64_MAX - 1, TIDE_FAILED));
  CHECK_OK(tide_future_fulfil(f, UINT64_MAX, NULL));
  CHECK_OK(tide_point_wait(r.points, p, TIDE_NOW));
  p.value--;
  CHECK_BROKEN(&r, p, TIDE_FAILED);
  rig_close(&r);
  /* And past 2^32, where 32 bits would begin again. */
  params.initial = UINT32_MAX - 1ull;
  rig_open(&r);
  CHECK_OK(tide_future_create(r.client, &params, &f));
  for (int i = 0; i < 4; i++) p = promise(f);
  CHECK_EQ_U64(p.value, UINT32_MAX + 3ull);
  CHECK_OK(tide_future_fulfil(f, p.value - 1, NULL));
  CHECK_STATE(&r, p, TIDE_POINT_PROMISED);
  rig_close(&r);
}

TEST(destroying_breaks_and_names_go) {
  struct rig r;
  struct tide_timeline *line;
  enum tide_point_state state;
  uint64_t value;
  rig_open(&r);
  struct tide_future *f = future(&r, 8);
  struct tide_point a = promise(f), b = promise(f), c = promise(f);
  CHECK_OK(tide_point_timeline(r.points, a, &line, &value));
  CHECK_OK(tide_future_fulfil(f, 1, NULL));
  CHECK_OK(tide_future_break(f, 2, TIDE_LOST));
  enum tide_status told = TIDE_STATUS_COUNT;
  struct telling timepoint = {{.call = tell_status}, &told};
  CHECK_OK(tide_point_when_complete(r.points, c, &timepoint.timepoint));
  tide_future_destroy(f);
  CHECK_STATUS(told, TIDE_CANCELLED);
  CHECK_STATUS(tide_point_state(r.points, a, &state, NULL), TIDE_NOT_FOUND);
  /* Whoever kept the timeline still knows what was good as far as nothing broke. */
  CHECK_OK(tide_timeline_wait(line, 1, TIDE_NOW));
  CHECK_STATUS(tide_timeline_wait(line, 2, TIDE_NOW), TIDE_CANCELLED);
  CHECK_STATUS(tide_timeline_wait(line, 4, TIDE_FOREVER), TIDE_CANCELLED);
  tide_timeline_release(line);
  /* The place is another's now, under another name. */
  f = future(&r, 8);
  struct tide_point again = promise(f);
  CHECK_EQ_U64(again.timeline, a.timeline);
  CHECK(again.generation != a.generation);
  CHECK_STATUS(tide_point_state(r.points, b, &state, NULL), TIDE_NOT_FOUND);
  rig_close(&r);
}

TEST(a_client_that_goes) {
  struct rig r;
  struct tide_client *other;
  struct tide_future *f, *g;
  rig_open(&r);
  CHECK_OK(tide_client_create(r.points, NULL, &other));
  CHECK_OK(tide_future_create(other, NULL, &f));
  g = future(&r, 4);
  struct tide_point a = promise(f), b = promise(g), k;
  CHECK_OK(tide_compound_promise(other, 0, &k));
  enum tide_status told[3] = {TIDE_STATUS_COUNT, TIDE_STATUS_COUNT, TIDE_STATUS_COUNT};
  struct telling timepoints[3];
  struct tide_point points[3] = {a, b, k};
  for (int i = 0; i < 3; i++) {
    timepoints[i] = (struct telling){{.call = tell_status}, &told[i]};
    CHECK_OK(tide_point_when_complete(r.points, points[i], &timepoints[i].timepoint));
  }
  tide_client_destroy(other, TIDE_OK);
  CHECK_STATUS(told[0], TIDE_OWNER_DIED);
  CHECK_STATUS(told[1], TIDE_STATUS_COUNT);
  CHECK_STATUS(told[2], TIDE_OWNER_DIED);
  CHECK_STATE(&r, b, TIDE_POINT_PROMISED);
  CHECK_OK(tide_future_fulfil(g, 1, NULL));
  CHECK_STATUS(told[1], TIDE_OK);
  rig_close(&r);
}

TEST(quotas) {
  struct rig r;
  struct tide_client_params few = {.struct_size = sizeof few, .timelines = 2, .parts = 3};
  struct tide_client *client;
  struct tide_point k, l, p[4];
  struct tide_future *f;
  struct tide_points_params room = {
      .struct_size = sizeof room, .manual = true, .timelines = 4, .parts = 8};
  rig_open_with(&r, &room, NULL);
  CHECK_OK(tide_client_create(r.points, &few, &client));
  f = future(&r, 4);
  for (int i = 0; i < 4; i++) p[i] = promise(f);
  CHECK_OK(tide_compound_promise(client, 0, &k));
  CHECK_OK(tide_compound_promise(client, 0, &l));
  CHECK_STATUS(tide_compound_promise(client, 0, &l), TIDE_FULL);
  CHECK_STATUS(tide_compound_all(client, k, p, 4), TIDE_FULL);
  CHECK_OK(tide_compound_all(client, k, p, 3));
  CHECK_STATUS(tide_compound_any(client, l, p, 1), TIDE_FULL);
  /* Others still can, until the room is full. */
  struct tide_point m;
  CHECK_OK(tide_compound_promise(r.client, 0, &m));
  CHECK_STATUS(tide_compound_promise(r.client, 0, &k), TIDE_FULL);
  CHECK_OK(tide_compound_all(r.client, m, p, 4));
  CHECK_STATUS(tide_compound_destroy(r.client, l), TIDE_DENIED);
  CHECK_OK(tide_compound_destroy(client, l));
  CHECK_OK(tide_compound_promise(client, 0, &l));
  CHECK_STATUS(tide_compound_any(client, l, p, 1), TIDE_FULL);
  CHECK_OK(tide_future_fulfil(f, 3, NULL)); /* the first one has ended: its parts are free again */
  CHECK_OK(tide_compound_any(client, l, p + 3, 1));
  tide_client_destroy(client, TIDE_OK);
  CHECK_OK(tide_future_fulfil(f, 4, NULL));
  rig_close(&r);
}

/* With the platform's own clock and thread: nobody looks but the thread. */
TEST(a_thread_watches_deadlines) {
  struct tide_context *context;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_future *f;
  struct tide_point p, q;
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK_OK(tide_points_create(context, NULL, &points));
  CHECK_OK(tide_client_create(points, NULL, &client));
  CHECK_OK(tide_future_create(client, NULL, &f));
  uint64_t now = context->platform->now(context->platform->self);
  CHECK_OK(tide_future_promise(f, now + 3600 * 1000 * MS, &q));
  CHECK_OK(tide_future_promise(f, now + 5 * MS, &p)); /* earlier than what it sleeps for */
  CHECK_STATUS(tide_point_wait(points, p, TIDE_FOREVER), TIDE_TIMED_OUT);
  CHECK(context->platform->now(context->platform->self) >= now + 5 * MS);
  CHECK_OK(tide_future_fulfil(f, 1, NULL));
  tide_client_destroy(client, TIDE_OK);
  tide_points_destroy(points);
  tide_context_destroy(context);
}

/* Until sched tells points what it does, it leaves their timelines alone. */
TEST(operations_refuse_points) {
  static struct fake f;
  struct tide_points_params params = {.struct_size = sizeof params, .manual = true};
  struct tide_points *points;
  struct tide_client *client;
  struct tide_future *future;
  struct tide_timeline *line;
  struct tide_point p;
  struct tide_diag diag;
  uint64_t value;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  CHECK_OK(tide_points_create(f.context, &params, &points));
  CHECK_OK(tide_client_create(points, NULL, &client));
  CHECK_OK(tide_future_create(client, NULL, &future));
  p = promise(future);
  CHECK_OK(tide_point_timeline(points, p, &line, &value));
  struct tide_operation waits = OPERATION(.label = "x", WAITS({line, value}));
  struct tide_operation signals = OPERATION(.label = "x", SIGNALS({line, value}));
  CHECK_STATUS(tide_queue_submit(a, &waits, NULL, &diag), TIDE_UNSUPPORTED);
  CHECK_STATUS(tide_queue_submit(a, &signals, NULL, &diag), TIDE_UNSUPPORTED);
  tide_timeline_release(line);
  tide_client_destroy(client, TIDE_OK);
  tide_points_destroy(points);
  tide_queue_destroy(a);
  fake_close(&f);
}

TEST(bad_rooms) {
  struct rig r;
  struct tide_points *points;
  rig_open(&r);
  struct tide_points_params params = {
      .struct_size = sizeof params, .timelines = (1u << 20) + 1, .manual = true};
  CHECK_STATUS(tide_points_create(r.context, &params, &points), TIDE_INVALID);
  params = (struct tide_points_params){
      .struct_size = sizeof(struct tide_points_params), .parts = UINT32_MAX, .manual = true};
  CHECK_STATUS(tide_points_create(r.context, &params, &points), TIDE_INVALID);
  params = (struct tide_points_params){.struct_size = sizeof(struct tide_points_params),
                                       .deadline = 2,
                                       .longest = 1,
                                       .manual = true};
  CHECK_STATUS(tide_points_create(r.context, &params, &points), TIDE_INVALID);
  params = (struct tide_points_params){.struct_size = sizeof(struct tide_points_params),
                                       .manual = false}; /* this platform has no threads */
  CHECK_STATUS(tide_points_create(r.context, &params, &points), TIDE_UNSUPPORTED);
  struct tide_future_params big = {.struct_size = sizeof big, .capacity = (1u << 20) + 1};
  struct tide_future *f;
  CHECK_STATUS(tide_future_create(r.client, &big, &f), TIDE_INVALID);
  tide_points_destroy(NULL);
  tide_client_destroy(NULL, TIDE_OK);
  tide_future_destroy(NULL);
  CHECK_EQ_STR(tide_point_state_name(TIDE_POINT_BROKEN), "broken");
  CHECK_EQ_STR(tide_point_state_name((enum tide_point_state)9), "unknown");
  rig_close(&r);
}

TEST_MAIN(CASE(promised_then_retired), CASE(names_that_nobody_promised),
          CASE(good_retirement_covers_what_is_unbroken), CASE(every_wait_of_timelines_works),
          CASE(callbacks_when_complete), CASE(deadlines), CASE(capacity),
          CASE(holes_join_from_both_sides), CASE(values_run_out),
          CASE(destroying_breaks_and_names_go), CASE(a_client_that_goes), CASE(quotas),
          CASE(a_thread_watches_deadlines), CASE(operations_refuse_points), CASE(bad_rooms))
