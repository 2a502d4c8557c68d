/* Operations that wait for points and keep promises. */
#include "channel_rig.h"
#include <stdlib.h>

static void check_state(int line, struct world *w, struct tide_point point,
                        enum tide_point_state want, enum tide_status why) {
  enum tide_point_state state;
  enum tide_status status;
  CHECK_OK(tide_point_state(w->points, point, &state, &status));
  if (state != want)
    test_fail(__FILE__, line, "it is %s, not %s", tide_point_state_name(state),
              tide_point_state_name(want));
  test_status(__FILE__, line, "its status", status, why);
}
#define STATE(w, point, want) check_state(__LINE__, (w), (point), TIDE_POINT_##want, TIDE_OK)
#define BROKEN(w, point, why) check_state(__LINE__, (w), (point), TIDE_POINT_BROKEN, (why))

static bool knows(struct tide_queue *queue, struct tide_queue *other, uint64_t epoch) {
  TIDE_FRONTIER_STORAGE(known, 16);
  tide_frontier_init(&known.frontier, 16);
  tide_queue_position(queue, &known.frontier, NULL);
  return tide_frontier_get(&known.frontier, tide_queue_axis(other)) >= epoch;
}

/* ---- waiting and keeping ------------------------------------------------------------ */

TEST(a_promise_holds_its_waiter_until_it_is_queued) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa);
  CHECK_OK(SUBMIT(w.b, .label = "reader", POINTS(WAIT_FOR(p))));
  CHECK(fake_held(&w.f, "reader"));
  CHECK_OK(SUBMIT(w.b, .label = "behind"));
  CHECK(!fake_runs(&w.f, "behind"));
  STATE(&w, p, PROMISED);
  CHECK_OK(SUBMIT(w.a, .label = "writer", POINTS(RETIRE(p))));
  STATE(&w, p, SCHEDULED);
  CHECK(!fake_held(&w.f, "reader"));
  CHECK(fake_class(&w.f, "reader", 0) == TIDE_WAIT_ISSUED);
  CHECK(knows(w.b, w.a, 1)); /* what its keeper knows was imported at submit */
  CHECK(!fake_runs(&w.f, "reader"));
  fake_run(&w.f, "writer");
  STATE(&w, p, RETIRED);
  fake_run(&w.f, "reader");
  fake_run(&w.f, "behind");
  close_world(&w);
}

TEST(what_is_known_already_is_not_waited_for) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fb);
  CHECK_OK(SUBMIT(w.a, .label = "first", POINTS(RETIRE(p))));
  CHECK_OK(SUBMIT(w.b, .label = "second", POINTS(WAIT_FOR(p), RETIRE(q))));
  CHECK_OK(SUBMIT(w.c, .label = "third", POINTS(WAIT_FOR(q))));
  CHECK_OK(SUBMIT(w.c, .label = "fourth", POINTS(WAIT_FOR(p))));
  CHECK(fake_class(&w.f, "third", 0) == TIDE_WAIT_ISSUED);
  CHECK(fake_class(&w.f, "fourth", 0) == TIDE_WAIT_ELIDED);
  CHECK(fake_reason(&w.f, "fourth", 0) == TIDE_REASON_KNOWN);
  fake_take(&w.f, "first");
  CHECK(!fake_runs(&w.f, "second") && !fake_runs(&w.f, "third"));
  fake_run_out(&w.f);
  CHECK_OK(SUBMIT(w.c, .label = "fifth", POINTS(WAIT_FOR(p))));
  CHECK(fake_class(&w.f, "fifth", 0) == TIDE_WAIT_RESOLVED);
  CHECK_STATUS(fake_status(&w.f, "fourth"), TIDE_OK);
  close_world(&w);
}

TEST(an_elided_wait_still_fails_with_its_point) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fb);
  CHECK_OK(SUBMIT(w.a, .label = "first", POINTS(RETIRE(p))));
  CHECK_OK(
      SUBMIT(w.b, .label = "second", .flags = TIDE_DESPITE_BROKEN, POINTS(WAIT_FOR(p), RETIRE(q))));
  CHECK_OK(SUBMIT(w.c, .label = "third", POINTS(WAIT_FOR(q))));
  CHECK_OK(SUBMIT(w.c, .label = "fourth", POINTS(WAIT_FOR(p))));
  CHECK(fake_class(&w.f, "fourth", 0) == TIDE_WAIT_ELIDED);
  fake_take(&w.f, "first");
  fake_give(&w.f, "first", TIDE_IO);
  fake_run_out(&w.f);
  CHECK_STATUS(fake_status(&w.f, "second"), TIDE_OK);
  CHECK_STATUS(fake_status(&w.f, "third"), TIDE_OK);
  CHECK_STATUS(fake_status(&w.f, "fourth"), TIDE_IO);
  CHECK(fake_ran(&w.f, "second") && !fake_ran(&w.f, "fourth"));
  BROKEN(&w, p, TIDE_IO);
  STATE(&w, q, RETIRED);
  close_world(&w);
}

TEST(a_broken_point_breaks_what_waits_for_it) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fb), r = promise(w.fb);
  CHECK_OK(SUBMIT(w.b, .label = "reader", POINTS(WAIT_FOR(p), RETIRE(q))));
  CHECK_OK(SUBMIT(w.b, .label = "next", POINTS(RETIRE(r))));
  CHECK_OK(SUBMIT(w.c, .label = "despite", .flags = TIDE_DESPITE_BROKEN, POINTS(WAIT_FOR(p))));
  CHECK_OK(tide_future_break(w.fa, p.value, TIDE_TIMED_OUT));
  fake_run_out(&w.f);
  BROKEN(&w, q, TIDE_TIMED_OUT);
  BROKEN(&w, r, TIDE_TIMED_OUT); /* it is behind it in its channel */
  CHECK(!fake_ran(&w.f, "reader"));
  CHECK_STATUS(fake_status(&w.f, "reader"), TIDE_TIMED_OUT);
  CHECK_STATUS(fake_status(&w.f, "despite"), TIDE_OK);
  CHECK(fake_ran(&w.f, "despite"));
  CHECK_STATUS(SUBMIT(w.a, .label = "late", POINTS(RETIRE(p))), TIDE_TIMED_OUT);
  CHECK_OK(SUBMIT(w.c, .label = "after", POINTS(WAIT_FOR(p))));
  fake_run_out(&w.f);
  CHECK_STATUS(fake_status(&w.f, "after"), TIDE_TIMED_OUT);
  close_world(&w);
}

TEST(a_later_point_covers_the_earlier) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fa);
  CHECK_OK(SUBMIT(w.b, .label = "reader", POINTS(WAIT_FOR(p))));
  CHECK_OK(SUBMIT(w.a, .label = "writer", POINTS(RETIRE(q))));
  /* q's record says nothing about p: q may break alone. */
  CHECK(fake_held(&w.f, "reader"));
  CHECK(!fake_runs(&w.f, "reader"));
  fake_run(&w.f, "writer");
  STATE(&w, p, RETIRED);
  CHECK(fake_class(&w.f, "reader", 0) == TIDE_WAIT_RESOLVED);
  fake_run(&w.f, "reader");
  CHECK_STATUS(SUBMIT(w.a, .label = "again", POINTS(RETIRE(p))), TIDE_VALUE);
  close_world(&w);
}

TEST(a_failed_later_point_leaves_the_earlier_owed) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fa), r = promise(w.fa);
  CHECK_OK(SUBMIT(w.b, .label = "reader", POINTS(WAIT_FOR(p))));
  CHECK_OK(SUBMIT(w.a, .label = "writer", POINTS(RETIRE(q))));
  fake_take(&w.f, "writer");
  fake_give(&w.f, "writer", TIDE_FAILED);
  BROKEN(&w, q, TIDE_FAILED);
  STATE(&w, p, PROMISED);
  CHECK(!fake_runs(&w.f, "reader"));
  CHECK_OK(tide_queue_recover(w.a, NULL));
  CHECK_OK(tide_queue_retire_point(w.a, r, NULL));
  STATE(&w, p, RETIRED);
  fake_run(&w.f, "reader");
  close_world(&w);
}

TEST(a_compound_holds_until_it_has_ended) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fb), all, any;
  CHECK_OK(tide_compound_promise(w.client, 0, &all));
  CHECK_OK(tide_compound_promise(w.client, 0, &any));
  CHECK_OK(SUBMIT(w.c, .label = "both", .flags = TIDE_MAY_BE_PASSED, POINTS(WAIT_FOR(all))));
  CHECK_OK(SUBMIT(w.c, .label = "one", POINTS(WAIT_FOR(any))));
  CHECK_OK(tide_compound_all(w.client, all, (struct tide_point[]){p, q}, 2));
  CHECK_OK(tide_compound_any(w.client, any, (struct tide_point[]){p, q}, 2));
  CHECK_OK(SUBMIT(w.a, .label = "x", POINTS(RETIRE(p))));
  CHECK_OK(SUBMIT(w.b, .label = "y", POINTS(RETIRE(q))));
  CHECK(!fake_runs(&w.f, "one"));
  fake_run(&w.f, "y");
  CHECK(fake_runs(&w.f, "one"));
  CHECK(!fake_runs(&w.f, "both"));
  fake_run(&w.f, "x");
  fake_give(&w.f, "one", TIDE_OK);
  fake_run(&w.f, "both");
  close_world(&w);
}

TEST(a_compound_that_broke_opens_when_all_parts_have_ended) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fb), all;
  CHECK_OK(tide_compound_promise(w.client, 0, &all));
  CHECK_OK(tide_compound_all(w.client, all, (struct tide_point[]){p, q}, 2));
  CHECK_OK(SUBMIT(w.c, .label = "despite", .flags = TIDE_DESPITE_BROKEN, POINTS(WAIT_FOR(all))));
  CHECK_OK(SUBMIT(w.b, .label = "y", POINTS(RETIRE(q))));
  CHECK_OK(tide_future_break(w.fa, p.value, TIDE_FAILED));
  BROKEN(&w, all, TIDE_FAILED);
  CHECK(!fake_runs(&w.f, "despite")); /* y may still be at the memory */
  fake_run(&w.f, "y");
  fake_run(&w.f, "despite");
  close_world(&w);
}

TEST(inserted_points_retire_in_order) {
  struct world w;
  struct tide_point p[3];
  open_world(&w);
  for (int i = 0; i < 3; i++) {
    char label[2] = {(char)('x' + i), 0};
    CHECK_OK(SUBMIT(w.a, .label = label));
    CHECK_OK(tide_queue_insert_point(w.a, &p[i], NULL));
  }
  STATE(&w, p[2], SCHEDULED);
  fake_run(&w.f, "x");
  STATE(&w, p[0], RETIRED);
  STATE(&w, p[1], SCHEDULED);
  fake_run(&w.f, "y");
  STATE(&w, p[1], RETIRED);
  STATE(&w, p[2], SCHEDULED);
  fake_run(&w.f, "z");
  STATE(&w, p[2], RETIRED);
  close_world(&w);
}

TEST(a_full_queue_inserts_nothing_and_promises_nothing) {
  struct world w;
  struct tide_point p;
  open_world(&w);
  for (int round = 0; round < 200; round++) { /* would use up the timeline, if each left a hole */
    while (SUBMIT(w.a, .label = "x") == TIDE_OK) continue;
    CHECK_STATUS(tide_queue_insert_point(w.a, &p, NULL), TIDE_FULL);
    fake_run_out(&w.f);
    CHECK_OK(tide_queue_insert_point(w.a, &p, NULL));
    STATE(&w, p, RETIRED);
  }
  close_world(&w);
}

TEST(seed_commands_do_what_they_say) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fb);
  CHECK_OK(tide_queue_wait_point(w.b, p, 0, NULL));
  CHECK_OK(tide_queue_retire_point(w.b, q, NULL));
  STATE(&w, q, PROMISED); /* queued, but what is before it is not scheduled */
  CHECK_OK(tide_queue_retire_point(w.a, p, NULL));
  STATE(&w, p, RETIRED);
  STATE(&w, q, RETIRED);
  close_world(&w);
}

/* ---- what else an operation waits for ------------------------------------------------------ */

TEST(what_waits_for_a_host_is_not_scheduled) {
  struct world w;
  open_world(&w);
  struct tide_timeline *t = fake_timeline(&w.f, "t", false);
  struct tide_point p = promise(w.fa), q = promise(w.fa);
  CHECK_OK(SUBMIT(w.a, .label = "x", WAITS({t, 1}), POINTS(RETIRE(p))));
  CHECK_OK(SUBMIT(w.a, .label = "y", POINTS(RETIRE(q))));
  STATE(&w, p, PROMISED);
  STATE(&w, q, PROMISED); /* it comes after that one */
  CHECK_OK(tide_timeline_signal_external(t, 1));
  STATE(&w, p, SCHEDULED);
  STATE(&w, q, SCHEDULED);
  fake_run_out(&w.f);
  STATE(&w, q, RETIRED);
  tide_timeline_release(t);
  close_world(&w);
}

TEST(a_plain_wait_in_a_channel_holds_up_what_comes_later) {
  struct world w;
  open_world(&w);
  struct tide_timeline *t = fake_timeline(&w.f, "t", false);
  struct tide_point p = promise(w.fa);
  CHECK_OK(SUBMIT(w.a, .label = "x", WAITS({t, 1}), SIGNALS({t, 2})));
  CHECK_OK(SUBMIT(w.a, .label = "y", POINTS(RETIRE(p))));
  STATE(&w, p, PROMISED);
  CHECK_OK(tide_timeline_signal_external(t, 1));
  STATE(&w, p, SCHEDULED);
  fake_run_out(&w.f);
  STATE(&w, p, RETIRED);
  CHECK(tide_timeline_query(t) == 2);
  tide_timeline_release(t);
  close_world(&w);
}

/* ---- refusals ------------------------------------------------------------------------------- */

TEST(refusals) {
  struct world w;
  struct tide_diag diag;
  open_world(&w);
  struct tide_queue *plain = fake_queue(&w.f, "plain");
  struct tide_point p = promise(w.fa), q = promise(w.fa), r = promise(w.fb), nobody = p, ghost;
  nobody.value = 99;
  memset(&ghost, 7, sizeof ghost);
  CHECK_STATUS(tide_queue_submit(plain, &OPERATION(POINTS(WAIT_FOR(p))), NULL, &diag),
               TIDE_INVALID);
  CHECK(strstr(diag.text, "no channel"));
  CHECK_STATUS(tide_queue_insert_point(plain, &ghost, &diag), TIDE_INVALID);
  CHECK_STATUS(SUBMIT(w.a, POINTS(WAIT_FOR(nobody))), TIDE_NOT_FOUND);
  CHECK_STATUS(SUBMIT(w.a, POINTS(WAIT_FOR(ghost))), TIDE_NOT_FOUND);
  CHECK_STATUS(SUBMIT(w.a, POINTS(RETIRE(nobody))), TIDE_NOT_FOUND);
  CHECK_STATUS(SUBMIT(w.a, POINTS(RETIRE(r))), TIDE_INVALID);    /* another channel's */
  CHECK_STATUS(SUBMIT(w.a, POINTS(RETIRE(p, q))), TIDE_INVALID); /* one covers the other */
  CHECK_STATUS(SUBMIT(w.a, POINTS(.wait_count = TIDE_POINTS_MAX + 1)), TIDE_INVALID);
  /* For itself, and for what comes later in its channel. */
  CHECK_STATUS(SUBMIT(w.a, POINTS(WAIT_FOR(p), RETIRE(p))), TIDE_DEADLOCK);
  CHECK_STATUS(SUBMIT(w.a, POINTS(WAIT_FOR(q), RETIRE(p))), TIDE_DEADLOCK);
  CHECK_STATUS(tide_queue_submit(w.a, &OPERATION(.label = "me", POINTS(WAIT_FOR(q))), NULL, &diag),
               TIDE_DEADLOCK);
  CHECK(strstr(diag.text, "'me'"));
  /* Two channels for each other. */
  CHECK_OK(SUBMIT(w.a, .label = "x", POINTS(WAIT_FOR(r), RETIRE(p))));
  CHECK_STATUS(SUBMIT(w.b, POINTS(WAIT_FOR(p), RETIRE(r))), TIDE_DEADLOCK);
  CHECK_STATUS(SUBMIT(w.b, POINTS(WAIT_FOR(p))), TIDE_DEADLOCK);
  CHECK_OK(SUBMIT(w.b, .label = "y", POINTS(RETIRE(r))));
  fake_run_out(&w.f);
  STATE(&w, p, RETIRED);
  /* A timeline of points has no other entrance. */
  struct tide_timeline *timeline;
  uint64_t value;
  CHECK_OK(tide_point_timeline(w.points, q, &timeline, &value));
  CHECK_STATUS(SUBMIT(w.b, WAITS({timeline, value})), TIDE_UNSUPPORTED);
  CHECK_STATUS(SUBMIT(w.b, SIGNALS({timeline, value})), TIDE_UNSUPPORTED);
  tide_timeline_release(timeline);
  tide_queue_destroy(plain);
  close_world(&w);
}

TEST(passable_commands_wait_for_later_ones) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa);
  CHECK_OK(SUBMIT(w.a, .label = "early", .flags = TIDE_MAY_BE_PASSED, POINTS(WAIT_FOR(p))));
  CHECK_OK(SUBMIT(w.a, .label = "late", POINTS(RETIRE(p))));
  STATE(&w, p, SCHEDULED);
  fake_run(&w.f, "late");
  fake_run(&w.f, "early");
  close_world(&w);
}

/* ---- cancelling and choosing ----------------------------------------------------------------- */

/* N frames far ahead, no client awake; one point takes back those that have not started. */
TEST(frames_are_cancelled_from_a_point) {
  enum { N = 40 };
  struct world w;
  struct tide_point frame[N], stop;
  struct tide_future *user;
  open_world(&w);
  CHECK_OK(tide_future_create(w.client, NULL, &user));
  stop = promise(user);
  for (int i = 0; i < N; i++) {
    frame[i] = promise(w.fa);
    char label[8] = "f0";
    label[1] = (char)('0' + i);
    CHECK_OK(SUBMIT(w.a, .label = label, POINTS(RETIRE(frame[i]), .cancel = &stop)));
  }
  struct tide_point held = promise(w.fb), never = promise(w.fb);
  CHECK_OK(SUBMIT(w.c, .label = "held", POINTS(WAIT_FOR(never), .cancel = &stop)));
  fake_run(&w.f, "f0");
  fake_take(&w.f, "f1");
  CHECK_OK(tide_future_fulfil(user, stop.value, NULL));
  STATE(&w, frame[0], RETIRED);
  STATE(&w, frame[1], SCHEDULED); /* it runs, and runs to its end */
  fake_give(&w.f, "f1", TIDE_OK);
  STATE(&w, frame[1], RETIRED);
  for (int i = 2; i < N; i++) BROKEN(&w, frame[i], TIDE_CANCELLED);
  CHECK_STATUS(fake_status(&w.f, "held"), TIDE_CANCELLED);
  /* Retired already: cancelled before it could start. */
  CHECK_OK(SUBMIT(w.b, .label = "too late", POINTS(RETIRE(held), .cancel = &stop)));
  BROKEN(&w, held, TIDE_CANCELLED);
  CHECK(!fake_ran(&w.f, "too late"));
  close_world(&w);
}

TEST(a_broken_point_cancels_nothing) {
  struct world w;
  struct tide_future *user;
  open_world(&w);
  CHECK_OK(tide_future_create(w.client, NULL, &user));
  struct tide_point stop = promise(user), p = promise(w.fa);
  CHECK_OK(SUBMIT(w.a, .label = "x", POINTS(RETIRE(p), .cancel = &stop)));
  CHECK_OK(tide_future_break(user, stop.value, TIDE_CANCELLED));
  fake_run(&w.f, "x");
  STATE(&w, p, RETIRED);
  close_world(&w);
}

static struct { int body, other; } chosen;
static enum tide_status note_body(void *arguments) {
  chosen.body += *(int *)arguments;
  return TIDE_OK;
}
static enum tide_status note_other(void *arguments) {
  chosen.other += *(int *)arguments;
  return TIDE_OK;
}
static const struct tide_body_class body_class = {.name = "body", .host = note_body};
static const struct tide_body_class other_class = {.name = "other", .host = note_other};

static void run_work(struct world *w, const char *label) {
  fake_take(&w->f, label);
  struct tide_work *work = fake_out(&w->f, label);
  if (work->body->host) CHECK_OK(work->body->host(tide_work_arguments(work)));
  fake_give(&w->f, label, TIDE_OK);
}

TEST(a_choice_is_made_at_its_turn) {
  struct world w;
  struct tide_future *user;
  int seven = 7, nine = 9, many[12] = {5};
  open_world(&w);
  CHECK_OK(tide_future_create(w.client, NULL, &user));
  struct tide_point ready = promise(user), later = promise(user);
  memset(&chosen, 0, sizeof chosen);
#define CHOICE(label_, point, with, size)                                                          \
  SUBMIT(w.a, .label = label_, .body = &body_class, .arguments = with, .arguments_size = size,     \
         POINTS(.choose = &point, .otherwise = &other_class, .otherwise_arguments = &nine,         \
                .otherwise_arguments_size = sizeof nine))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
  CHECK_OK(CHOICE("one", ready, &seven, sizeof seven));
  CHECK_OK(CHOICE("two", ready, many, sizeof many));
  CHECK_OK(CHOICE("three", later, many, sizeof many));
  CHECK_OK(SUBMIT(w.a, .label = "four", POINTS(.choose = &later))); /* else nothing */
#pragma GCC diagnostic pop
  run_work(&w, "one");
  CHECK(chosen.other == 9 && chosen.body == 0); /* not retired when its turn came */
  CHECK_OK(tide_future_fulfil(user, ready.value, NULL));
  run_work(&w, "two"); /* its turn had come before: the choice stands */
  CHECK(chosen.other == 18 && chosen.body == 0);
  run_work(&w, "three");
  CHECK(chosen.other == 27);
  fake_run_out(&w.f);
  CHECK(!fake_ran(&w.f, "four"));
  CHECK_STATUS(fake_status(&w.f, "four"), TIDE_OK);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
  CHECK_OK(CHOICE("five", ready, many, sizeof many));
#pragma GCC diagnostic pop
  run_work(&w, "five");
  CHECK(chosen.other == 27 && chosen.body == 5);
  close_world(&w);
}

/* ---- ends --------------------------------------------------------------------------------------
 */

TEST(a_queue_that_goes_breaks_what_it_owes) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fa), r = promise(w.fa);
  CHECK_OK(SUBMIT(w.a, .label = "runs", POINTS(RETIRE(p))));
  CHECK_OK(SUBMIT(w.a, .label = "waits", POINTS(RETIRE(q))));
  CHECK_OK(SUBMIT(w.b, .label = "reader", POINTS(WAIT_FOR(r))));
  fake_take(&w.f, "runs");
  tide_queue_destroy(w.a);
  w.a = NULL;
  BROKEN(&w, r, TIDE_CANCELLED); /* promised, and nobody is left to queue it */
  fake_give(&w.f, "runs", TIDE_OK);
  STATE(&w, p, RETIRED);
  BROKEN(&w, q, TIDE_CANCELLED);
  fake_run_out(&w.f);
  CHECK_STATUS(fake_status(&w.f, "reader"), TIDE_CANCELLED);
  close_world(&w);
}

TEST(a_client_that_dies_keeps_what_is_queued) {
  struct world w;
  struct tide_client *other;
  struct tide_future *future;
  open_world(&w);
  CHECK_OK(tide_client_create(w.points, NULL, &other));
  struct tide_queue *mortal = CHANNEL(w.f.device, .label = "mortal", .client = other);
  CHECK_OK(tide_queue_create_future(mortal, NULL, &future));
  struct tide_point p = promise(future), q = promise(future), inserted;
  CHECK_OK(SUBMIT(mortal, .label = "x", POINTS(RETIRE(p))));
  CHECK_OK(tide_queue_insert_point(mortal, &inserted, NULL));
  CHECK_OK(SUBMIT(w.b, .label = "p", POINTS(WAIT_FOR(p))));
  CHECK_OK(SUBMIT(w.c, .label = "q", POINTS(WAIT_FOR(q))));
  tide_client_destroy(other, TIDE_OWNER_DIED);
  fake_run(&w.f, "x");
  fake_run_out(&w.f);
  CHECK_STATUS(fake_status(&w.f, "p"), TIDE_OK);
  CHECK_STATUS(fake_status(&w.f, "q"), TIDE_OWNER_DIED);
  CHECK_STATUS(tide_queue_insert_point(mortal, &inserted, NULL), TIDE_CANCELLED);
  tide_queue_destroy(mortal);
  close_world(&w);
}

TEST(a_lost_device_breaks_its_promises_at_once) {
  struct world w;
  open_world(&w);
  struct tide_queue *away = CHANNEL(w.f.other, .label = "away", .client = w.client);
  struct tide_future *future;
  CHECK_OK(tide_queue_create_future(away, NULL, &future));
  struct tide_point p = promise(future), q = promise(future), r = promise(future);
  CHECK_OK(SUBMIT(away, .label = "x", POINTS(RETIRE(p))));
  CHECK_OK(SUBMIT(away, .label = "y", POINTS(RETIRE(q))));
  CHECK_OK(SUBMIT(w.b, .label = "reader", POINTS(WAIT_FOR(p))));
  fake_take(&w.f, "x");
  tide_device_lose(w.f.other, TIDE_LOST);
  BROKEN(&w, p, TIDE_LOST);
  BROKEN(&w, q, TIDE_LOST);
  BROKEN(&w, r, TIDE_LOST);
  /* The reader imported x's record: it fails, but not before x can touch nothing any more. */
  fake_take_all(&w.f);
  CHECK(!fake_find(&w.f, TIDE_EVENT_PUBLISH, "reader", 0));
  w.f.count = 0;
  tide_device_certify(w.f.other);
  fake_run_out(&w.f);
  CHECK_STATUS(fake_status(&w.f, "reader"), TIDE_LOST);
  tide_future_destroy(future);
  tide_queue_destroy(away);
  close_world(&w);
}

/* ---- priorities
 * ---------------------------------------------------------------------------------- */

TEST(a_boost_lasts_until_its_target_ends) {
  struct world w;
  open_world(&w);
  struct tide_queue *high =
      CHANNEL(w.f.device, .label = "high", .client = w.client, .priority = 12);
  struct tide_queue *low = CHANNEL(w.f.device, .label = "low", .client = w.client, .priority = 2);
  struct tide_future *future;
  CHECK_OK(tide_queue_create_future(low, NULL, &future));
  struct tide_point p = promise(future), q = promise(future);
  CHECK_OK(tide_queue_increase_priority_until(high, p, 15, NULL));
  CHECK(tide_queue_priority(low) == 12); /* clamped to the lender's base */
  /* What was lent is not lent on. */
  CHECK_OK(tide_queue_increase_priority_until(low, promise(w.fa), 15, NULL));
  CHECK(tide_queue_priority(w.a) == 8);
  CHECK_OK(tide_queue_increase_priority_until(w.b, q, 15, NULL));
  CHECK_OK(SUBMIT(low, .label = "x", POINTS(RETIRE(p))));
  fake_run(&w.f, "x");
  CHECK(tide_queue_priority(low) == 8);
  CHECK_OK(tide_future_break(future, q.value, TIDE_FAILED));
  CHECK(tide_queue_priority(low) == 2);
  /* Over when it was asked for: nothing is lent. */
  CHECK_OK(tide_queue_increase_priority_until(high, q, 15, NULL));
  CHECK(tide_queue_priority(low) == 2);
  struct tide_point compound;
  CHECK_OK(tide_compound_promise(w.client, 0, &compound));
  CHECK_STATUS(tide_queue_increase_priority_until(high, compound, 15, NULL), TIDE_INVALID);
  /* The lender goes. */
  struct tide_point r = promise(future);
  CHECK_OK(tide_queue_increase_priority_until(high, r, 15, NULL));
  CHECK(tide_queue_priority(low) == 12);
  tide_queue_destroy(high);
  CHECK(tide_queue_priority(low) == 2);
  tide_queue_destroy(low);
  close_world(&w);
}

TEST(a_boost_waits_for_its_turn) {
  struct world w;
  open_world(&w);
  struct tide_queue *low = CHANNEL(w.f.device, .label = "low", .client = w.client, .priority = 2);
  struct tide_future *future;
  CHECK_OK(tide_queue_create_future(low, NULL, &future));
  struct tide_point p = promise(future);
  CHECK_OK(SUBMIT(w.a, .label = "first"));
  CHECK_OK(tide_queue_increase_priority_until(w.a, p, 15, NULL));
  CHECK(tide_queue_priority(low) == 2);
  fake_run(&w.f, "first");
  CHECK(tide_queue_priority(low) == 8);
  tide_queue_destroy(low);
  CHECK_STATUS(tide_queue_cancel_decrease(w.a, p), TIDE_NOT_FOUND);
  close_world(&w);
}

TEST(decreases_add_up_and_end_alone) {
  struct world w;
  struct tide_point first, second;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fa);
  CHECK_OK(tide_queue_decrease_priority_until(w.b, p, 3, &first, NULL));
  CHECK_OK(tide_queue_decrease_priority_until(w.b, q, 2, &second, NULL));
  CHECK(tide_queue_priority(w.b) == 3);
  CHECK_OK(tide_queue_cancel_decrease(w.b, second));
  CHECK(tide_queue_priority(w.b) == 5);
  CHECK_STATUS(tide_queue_cancel_decrease(w.b, second), TIDE_NOT_FOUND);
  struct tide_point other;
  CHECK_OK(tide_compound_promise(w.client, 0, &other));
  CHECK_STATUS(tide_queue_cancel_decrease(w.b, other), TIDE_NOT_FOUND);
  STATE(&w, other, PROMISED);
  CHECK_OK(tide_queue_decrease_priority_until(w.b, q, 200, NULL, NULL));
  CHECK(tide_queue_priority(w.b) == 0);
  CHECK_OK(tide_future_break(w.fa, q.value, TIDE_FAILED)); /* broken ends it, too */
  CHECK(tide_queue_priority(w.b) == 5);
  CHECK_OK(tide_queue_retire_point(w.a, p, NULL));
  CHECK(tide_queue_priority(w.b) == 8);
  close_world(&w);
}

/* What was submitted before the call does not count until the channel comes to it. */
TEST(a_scope_suspends_decreases) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa);
  CHECK_OK(tide_queue_decrease_priority_until(w.b, p, 3, NULL, NULL));
  CHECK_OK(SUBMIT(w.b, .label = "x"));
  CHECK_OK(tide_queue_decrease_priority_until(w.b, p, 2, NULL, NULL)); /* behind x */
  CHECK(tide_queue_priority(w.b) == 5);
  CHECK_OK(SUBMIT(w.b, .label = "y"));
  CHECK_OK(tide_queue_cancel_priority_decreases(w.b, NULL));
  CHECK(tide_queue_priority(w.b) == 8);
  fake_run(&w.f, "x");
  CHECK(tide_queue_priority(w.b) == 8);
  fake_run(&w.f, "y");
  CHECK(tide_queue_priority(w.b) == 3);
  close_world(&w);
}

TEST(changes_are_counted) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), stop[16];
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 16; i++)
      CHECK_OK(tide_queue_decrease_priority_until(w.b, p, 1, &stop[i], NULL));
    CHECK_STATUS(tide_queue_decrease_priority_until(w.b, p, 1, NULL, NULL), TIDE_FULL);
    for (int i = 0; i < 16; i++) CHECK_OK(tide_queue_cancel_decrease(w.b, stop[i]));
    CHECK(tide_queue_priority(w.b) == 8);
  }
  close_world(&w);
}

TEST(who_waits_lends_along_the_chain) {
  struct world w;
  open_world(&w);
  struct tide_queue *high =
      CHANNEL(w.f.device, .label = "high", .client = w.client, .priority = 14);
  struct tide_queue *low = CHANNEL(w.f.device, .label = "low", .client = w.client, .priority = 1);
  struct tide_future *future;
  CHECK_OK(tide_queue_create_future(low, NULL, &future));
  struct tide_point p = promise(future), q = promise(w.fa);
  CHECK_OK(SUBMIT(low, .label = "p", POINTS(RETIRE(p))));
  CHECK_OK(SUBMIT(w.a, .label = "q", POINTS(WAIT_FOR(p), RETIRE(q))));
  CHECK(tide_queue_priority(low) == 8); /* `a` waits for it */
  CHECK_OK(SUBMIT(high, .label = "top", POINTS(WAIT_FOR(q))));
  CHECK(tide_queue_priority(w.a) == 14);
  CHECK(tide_queue_priority(low) == 14);
  fake_run(&w.f, "p");
  CHECK(tide_queue_priority(low) == 1);
  CHECK(tide_queue_priority(w.a) == 14);
  fake_run(&w.f, "q");
  CHECK(tide_queue_priority(w.a) == 8);
  fake_run(&w.f, "top");
  /* Nobody has queued it yet: its channel is hurried all the same. And through a compound. */
  struct tide_point r = promise(future), both;
  CHECK_OK(tide_compound_promise(w.client, 0, &both));
  CHECK_OK(tide_compound_all(w.client, both, (struct tide_point[]){r, promise(w.fb)}, 2));
  CHECK_OK(SUBMIT(high, .label = "held", POINTS(WAIT_FOR(both))));
  CHECK(tide_queue_priority(low) == 14);
  CHECK(tide_queue_priority(w.b) == 14);
  CHECK_OK(tide_future_break(future, r.value, TIDE_FAILED));
  CHECK(tide_queue_priority(low) == 1);
  tide_queue_destroy(high);
  CHECK(tide_queue_priority(w.b) == 8);
  tide_queue_destroy(low);
  close_world(&w);
}

TEST(plain_waits_lend_too) {
  struct world w;
  open_world(&w);
  struct tide_timeline *t = fake_timeline(&w.f, "t", false);
  struct tide_queue_params params = {.struct_size = sizeof params, .label = "low", .priority = 1};
  struct tide_queue *low, *high;
  CHECK_OK(tide_queue_create(w.f.device, &params, &low));
  params = (struct tide_queue_params){
      .struct_size = sizeof(struct tide_queue_params), .label = "high", .priority = 14};
  CHECK_OK(tide_queue_create(w.f.device, &params, &high));
  CHECK_OK(SUBMIT(low, .label = "x", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(high, .label = "y", WAITS({t, 1})));
  CHECK(tide_queue_priority(low) == 14);
  fake_run(&w.f, "x");
  CHECK(tide_queue_priority(low) == 1);
  fake_run(&w.f, "y");
  tide_timeline_release(t);
  tide_queue_destroy(low);
  tide_queue_destroy(high);
  close_world(&w);
}

/* A chain as long as anybody likes is a loop here, and not a stack. */
TEST(a_long_chain_lends_without_recursion) {
  enum { N = 3000 };
  struct world w;
  open_world(&w);
  struct tide_queue **queue = calloc(N, sizeof *queue);
  struct tide_timeline **t = calloc(N, sizeof *t);
  struct tide_queue_params params = {.struct_size = sizeof params, .operations = 1, .priority = 1};
  for (int i = 0; i < N; i++) {
    t[i] = fake_timeline(&w.f, "t", false);
    CHECK_OK(tide_queue_create(w.f.device, &params, &queue[i]));
    struct tide_wait wait = {i ? t[i - 1] : NULL, 1};
    struct tide_operation op = {.label = "x",
                                .body = &fake_body,
                                .waits = &wait,
                                .wait_count = i > 0,
                                .signals = &(struct tide_signal){.timeline = t[i], .value = 1},
                                .signal_count = 1};
    CHECK_OK(tide_queue_submit(queue[i], &op, NULL, NULL));
  }
  CHECK(tide_queue_priority(queue[0]) == 1);
  tide_queue_set_priority(queue[N - 1], 15);
  CHECK(tide_queue_priority(queue[0]) == 15);
  tide_queue_set_priority(queue[N - 1], 3);
  CHECK(tide_queue_priority(queue[0]) == 3);
  fake_run_out(&w.f);
  for (int i = 0; i < N; i++) {
    CHECK(tide_queue_priority(queue[i]) == (i == N - 1 ? 3 : 1));
    tide_queue_destroy(queue[i]);
    tide_timeline_release(t[i]);
  }
  free(queue);
  free(t);
  close_world(&w);
}

TEST_MAIN(
    CASE(a_promise_holds_its_waiter_until_it_is_queued),
    CASE(what_is_known_already_is_not_waited_for), CASE(an_elided_wait_still_fails_with_its_point),
    CASE(a_broken_point_breaks_what_waits_for_it), CASE(a_later_point_covers_the_earlier),
    CASE(a_failed_later_point_leaves_the_earlier_owed), CASE(a_compound_holds_until_it_has_ended),
    CASE(a_compound_that_broke_opens_when_all_parts_have_ended),
    CASE(inserted_points_retire_in_order), CASE(a_full_queue_inserts_nothing_and_promises_nothing),
    CASE(seed_commands_do_what_they_say), CASE(what_waits_for_a_host_is_not_scheduled),
    CASE(a_plain_wait_in_a_channel_holds_up_what_comes_later), CASE(refusals),
    CASE(passable_commands_wait_for_later_ones), CASE(frames_are_cancelled_from_a_point),
    CASE(a_broken_point_cancels_nothing), CASE(a_choice_is_made_at_its_turn),
    CASE(a_queue_that_goes_breaks_what_it_owes), CASE(a_client_that_dies_keeps_what_is_queued),
    CASE(a_lost_device_breaks_its_promises_at_once), CASE(a_boost_lasts_until_its_target_ends),
    CASE(a_boost_waits_for_its_turn), CASE(decreases_add_up_and_end_alone),
    CASE(a_scope_suspends_decreases), CASE(changes_are_counted),
    CASE(who_waits_lends_along_the_chain), CASE(plain_waits_lend_too),
    CASE(a_long_chain_lends_without_recursion))
