/* Channels when somebody has gone: clients, devices, deadlines that passed, many at once; compounds
 * in compounds; check mode. */
#include "channel_rig.h"

/* One whose deadline passes before others', and nobody has looked. */
static struct tide_point brief(struct world *w, struct tide_future *future) {
  struct tide_point point;
  CHECK_OK(tide_future_promise(future, tide_clock_now(w->clock) + MS, &point));
  return point;
}

/* ---- clients that are gone -------------------------------------------------------- */

/* What it inserted is still under way, and keeps its timeline. */
TEST(nothing_is_inserted_for_a_dead_client) {
  struct world w;
  struct tide_client *mortal;
  struct tide_point p;
  struct tide_future *future;
  open_world(&w);
  CHECK_OK(tide_client_create(w.points, NULL, &mortal));
  struct tide_queue *queue =
      CHANNEL(w.f.device, .label = "mortal", .client = mortal, .operations = 8);
  CHECK_OK(SUBMIT(queue, .label = "x"));
  CHECK_OK(tide_queue_insert_point(queue, &p, NULL));
  tide_client_destroy(mortal, TIDE_OK);
  CHECK_STATUS(tide_queue_insert_point(queue, &p, NULL), TIDE_CANCELLED);
  CHECK_STATUS(tide_queue_create_future(queue, NULL, &future), TIDE_CANCELLED);
  struct tide_point stop;
  CHECK_STATUS(tide_queue_decrease_priority_until(queue, p, 1, &stop, NULL), TIDE_CANCELLED);
  CHECK_STATUS(tide_queue_cancel_decrease(queue, p), TIDE_NOT_FOUND);
  fake_run(&w.f, "x");
  CHECK_STATUS(tide_queue_insert_point(queue, &p, NULL), TIDE_CANCELLED);
  tide_queue_destroy(queue);
  close_world(&w);
}

/* ---- devices that are gone ------------------------------------------------------------ */

TEST(a_channel_of_a_lost_device_leaves_nothing_behind) {
  struct world w;
  struct tide_client *mortal;
  struct tide_queue *queue;
  struct tide_client_stats stats;
  open_world(&w);
  CHECK_OK(tide_client_create(w.points, NULL, &mortal));
  tide_device_lose(w.f.other, TIDE_LOST);
  struct tide_queue_params params = {
      .struct_size = sizeof params, .label = "late", .client = mortal};
  CHECK_STATUS(tide_queue_create(w.f.other, &params, &queue), TIDE_LOST);
  tide_client_stats(mortal, &stats);
  CHECK(stats.timelines == 0);
  tide_client_destroy(mortal, TIDE_OK);
  tide_device_certify(w.f.other);
  close_world(&w);
}

/* It goes on though the point broke, but what it imported must have finished all the same. */
TEST(despite_a_lost_device_its_work_is_waited_for) {
  struct world w;
  open_world(&w);
  struct tide_queue *away =
      CHANNEL(w.f.other, .label = "away", .client = w.client, .operations = 8);
  struct tide_future *future = future_of(away, 8);
  struct tide_point p = promise(future);
  CHECK_OK(SUBMIT(away, .label = "x", POINTS(RETIRE(p))));
  CHECK_OK(SUBMIT(w.b, .label = "despite", .flags = TIDE_DESPITE_BROKEN, POINTS(WAIT_FOR(p))));
  fake_take(&w.f, "x");
  tide_device_lose(w.f.other, TIDE_LOST);
  CHECK(!fake_runs(&w.f, "despite")); /* x may still be at its memory */
  for (uint32_t i = 0; i < w.f.count; i++)
    if (strcmp(tide_work_label(w.f.out[i]), "x") == 0) w.f.out[i--] = w.f.out[--w.f.count];
  tide_device_certify(w.f.other);
  fake_run(&w.f, "despite");
  CHECK_STATUS(fake_status(&w.f, "despite"), TIDE_OK);
  tide_future_destroy(future);
  tide_queue_destroy(away);
  close_world(&w);
}

/* No value of its timelines will be promised any more: one that was not is broken, too. */
TEST(values_that_a_closed_channel_will_not_promise) {
  struct world w;
  struct tide_timeline *timeline;
  struct tide_failure failure;
  enum tide_point_state state;
  enum tide_status why;
  uint64_t value;
  open_world(&w);
  struct tide_queue *queue =
      CHANNEL(w.f.device, .label = "brief", .client = w.client, .operations = 8);
  struct tide_future *future = future_of(queue, 8);
  struct tide_point kept = promise(future), later = kept, none;
  later.value += 7;
  CHECK_OK(SUBMIT(queue, .label = "x", POINTS(RETIRE(kept))));
  CHECK_STATUS(tide_point_state(w.points, later, &state, &why), TIDE_NOT_FOUND);
  fake_run(&w.f, "x");
  tide_queue_destroy(queue);
  CHECK_OK(tide_point_wait(w.points, kept, TIDE_NOW));
  CHECK_STATUS(tide_future_promise(future, 0, &none), TIDE_CANCELLED);
  CHECK_OK(tide_point_state(w.points, later, &state, &why));
  CHECK(state == TIDE_POINT_BROKEN);
  CHECK_STATUS(why, TIDE_CANCELLED);
  CHECK_STATUS(tide_point_wait(w.points, later, TIDE_NOW), TIDE_CANCELLED);
  CHECK_OK(tide_point_timeline(w.points, later, &timeline, &value));
  CHECK_STATUS(tide_timeline_wait(timeline, value, TIDE_FOREVER), TIDE_CANCELLED);
  CHECK(tide_timeline_failure(timeline, value, &failure));
  CHECK_STATUS(failure.status, TIDE_CANCELLED);
  tide_timeline_release(timeline);
  CHECK_OK(SUBMIT(w.b, .label = "despite", .flags = TIDE_DESPITE_BROKEN, POINTS(WAIT_FOR(later))));
  fake_run(&w.f, "despite");
  CHECK_OK(SUBMIT(w.b, .label = "behind", POINTS(WAIT_FOR(later))));
  CHECK_STATUS(fake_status(&w.f, "behind"), TIDE_CANCELLED);
  tide_future_destroy(future);
  close_world(&w);
}

/* ---- deadlines that passed ---------------------------------------------------------------- */

/* The submit finds that a promise is overdue; a compound made of it goes, and with it its name. */
TEST(what_a_submit_finds_overdue_is_not_used_any_more) {
  struct world w;
  struct tide_client *mortal;
  struct tide_point all;
  open_world(&w);
  CHECK_OK(tide_client_create(w.points, NULL, &mortal));
  CHECK_OK(tide_compound_promise(mortal, 0, &all));
  struct tide_point p = brief(&w, w.fb), q = promise(w.fa);
  CHECK_OK(tide_compound_all(mortal, all, &p, 1));
  tide_client_destroy(mortal, TIDE_OK); /* it stays until it has ended */
  tide_clock_pass(w.clock, 2 * MS);
  CHECK_STATUS(SUBMIT(w.a, .label = "x", POINTS(WAIT_FOR(all), RETIRE(q))), TIDE_NOT_FOUND);
  close_world(&w);
}

static void count_call(struct tide_schedulable *wait, enum tide_status status) {
  *(enum tide_status *)wait->user = status;
}

TEST(a_submit_that_fails_tells_of_what_it_found_overdue) {
  struct world w;
  enum tide_status told = TIDE_STATUS_COUNT;
  open_world(&w);
  struct tide_point p = brief(&w, w.fa);
  struct tide_schedulable wait = {.call = count_call, .user = &told, .client = w.client};
  CHECK_OK(tide_point_when_schedulable(&wait, p, NULL, 0));
  CHECK(told == TIDE_STATUS_COUNT);
  tide_clock_pass(w.clock, 2 * MS);
  CHECK_STATUS(tide_queue_retire_point(w.a, p, NULL), TIDE_TIMED_OUT);
  CHECK_STATUS(told, TIDE_TIMED_OUT);
  close_world(&w);
}

/* ---- many ------------------------------------------------------------------------------ */

/* All of them held, each a command behind the one before: they leave, or are cancelled from one
 * point, in time that grows as their number does. (With a walk over all that is behind, for each,
 * this takes minutes.) */
static void many_leave(bool by_point) {
  enum { N = 100000 };
  struct world w;
  open_world(&w);
  struct tide_queue *many =
      CHANNEL(w.f.device, .label = "many", .client = w.client, .operations = N);
  struct tide_future *user;
  CHECK_OK(tide_future_create(w.client, NULL, &user));
  struct tide_point p = promise(w.fa), stop = promise(user);
  for (int i = 0; i < N; i++)
    CHECK_OK(SUBMIT(many, .label = "held", POINTS(WAIT_FOR(p), .cancel = &stop)));
  if (by_point) CHECK_OK(tide_future_fulfil(user, stop.value, NULL));
  tide_queue_destroy(many);
  close_world(&w);
}
TEST(a_crowd_leaves_with_its_queue) { many_leave(false); }
TEST(a_crowd_is_cancelled_from_a_point) { many_leave(true); }

/* ---- one behind the other ------------------------------------------------------------ */

/* Nothing has to be picked between the two. */
TEST(what_the_one_before_cancels_does_not_start) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fa);
  CHECK_OK(SUBMIT(w.a, .label = "x"));
  CHECK_OK(tide_queue_retire_point(w.a, p, NULL));
  struct tide_operation empty = {.label = "empty", POINTS(RETIRE(q), .cancel = &p)};
  CHECK_OK(tide_queue_submit(w.a, &empty, NULL, NULL));
  fake_run(&w.f, "x");
  CHECK_STATUS(fake_status(&w.f, "empty"), TIDE_CANCELLED);
  CHECK_STATUS(tide_point_wait(w.points, q, TIDE_NOW), TIDE_CANCELLED);
  close_world(&w);
}

/* ---- priorities ------------------------------------------------------------------------ */

/* Parts of parts: made later, and over before the whole is. */
TEST(who_waits_lends_through_compounds_in_compounds) {
  struct world w;
  struct tide_point outer, inner, parts;
  open_world(&w);
  struct tide_queue *high =
      CHANNEL(w.f.device, .label = "high", .client = w.client, .operations = 8);
  tide_queue_set_priority(high, 14);
  struct tide_point p = promise(w.fa), q = promise(w.fb), r = promise(w.fb);
  CHECK_OK(tide_compound_promise(w.client, 0, &outer));
  CHECK_OK(tide_compound_promise(w.client, 0, &inner));
  CHECK_OK(tide_compound_all(w.client, outer, &inner, 1));
  CHECK_OK(SUBMIT(high, .label = "held", POINTS(WAIT_FOR(outer))));
  CHECK_OK(tide_compound_all(w.client, inner, (struct tide_point[]){p, q}, 2));
  CHECK(tide_queue_priority(w.a) == 14);
  CHECK(tide_queue_priority(w.b) == 14);
  CHECK_OK(tide_queue_retire_point(w.a, p, NULL));
  CHECK(tide_queue_priority(w.a) == 8);
  CHECK(tide_queue_priority(w.b) == 14);
  CHECK_OK(tide_queue_retire_point(w.b, q, NULL));
  CHECK(tide_queue_priority(w.b) == 8);
  fake_run(&w.f, "held");
  /* The groups of an expression. */
  p = promise(w.fa), q = promise(w.fb);
  CHECK_OK(tide_compound_promise(w.client, 0, &parts));
  CHECK_OK(tide_compound_expression(w.client, parts, "0&1|2", 5, (struct tide_point[]){p, q, r}, 3,
                                    NULL));
  CHECK_OK(SUBMIT(high, .label = "held too", POINTS(WAIT_FOR(parts))));
  CHECK(tide_queue_priority(w.a) == 14);
  CHECK_OK(tide_queue_retire_point(w.a, p, NULL));
  CHECK(tide_queue_priority(w.a) == 8);
  CHECK_OK(tide_queue_retire_point(w.b, r, NULL));
  CHECK(tide_queue_priority(w.b) == 8);
  tide_queue_destroy(high);
  close_world(&w);
}

/* ---- check mode ------------------------------------------------------------------------ */

static void count_finding(void *user, const struct tide_diag *diag) {
  (void)diag;
  ++*(unsigned *)user;
}

/* A wait that a later retirement covers orders what a wait for that very one would. */
TEST(check_mode_knows_what_a_later_point_covers) {
  struct world w;
  unsigned findings = 0;
  struct tide_pool *pool;
  struct tide_buffer *buffer;
  open_world_with(&w,
                  (struct tide_context_params){.struct_size = sizeof(struct tide_context_params),
                                               .check = true,
                                               .finding = count_finding,
                                               .finding_user = &findings});
  CHECK_OK(tide_pool_create(w.f.context, NULL, &pool));
  CHECK_OK(tide_queue_alloc(w.a, pool, 64, "buffer", &buffer));
  struct tide_use write = {buffer, TIDE_WRITE, 0, 0}, read = {buffer, TIDE_READ, 0, 0};
  struct tide_point p = promise(w.fa), q = promise(w.fa);
  CHECK_OK(SUBMIT(w.b, .label = "read", .buffers = &read, .buffer_count = 1, POINTS(WAIT_FOR(p))));
  CHECK_OK(SUBMIT(w.a, .label = "fill", .buffers = &write, .buffer_count = 1, POINTS(RETIRE(q))));
  fake_run_out(&w.f);
  CHECK(fake_ran(&w.f, "read"));
  CHECK_EQ_U64(findings, 0);
  CHECK_OK(SUBMIT(w.a, .label = "again", .buffers = &write, .buffer_count = 1));
  CHECK_EQ_U64(findings, 1); /* and nothing orders this behind the read */
  tide_queue_free(w.a, buffer);
  fake_run_out(&w.f);
  tide_queue_destroy(w.a);
  tide_queue_destroy(w.b);
  tide_queue_destroy(w.c);
  w.a = w.b = w.c = NULL;
  CHECK_OK(tide_pool_destroy(pool));
  close_world(&w);
}

TEST_MAIN(CASE(values_that_a_closed_channel_will_not_promise),
          CASE(who_waits_lends_through_compounds_in_compounds),
          CASE(check_mode_knows_what_a_later_point_covers), CASE(a_crowd_leaves_with_its_queue),
          CASE(a_crowd_is_cancelled_from_a_point), CASE(what_the_one_before_cancels_does_not_start),
          CASE(nothing_is_inserted_for_a_dead_client),
          CASE(a_channel_of_a_lost_device_leaves_nothing_behind),
          CASE(despite_a_lost_device_its_work_is_waited_for),
          CASE(what_a_submit_finds_overdue_is_not_used_any_more),
          CASE(a_submit_that_fails_tells_of_what_it_found_overdue))
