/* The scheduler: what is cancelled, fails, is destroyed or lost; and collectives. */
#include "causal/context_state.h"
#include "fake_device.h"

/* ---- cancelling ---------------------------------------------------------------------------- */

TEST(cancel) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
  uint64_t one, two, three, held, behind;
  CHECK_OK(tide_queue_submit(a, &OPERATION(.label = "one", SIGNALS({t, 1})), &one, NULL));
  CHECK_OK(tide_queue_submit(a, &OPERATION(.label = "two", SIGNALS({t, 2})), &two, NULL));
  CHECK_OK(tide_queue_submit(a, &OPERATION(.label = "three"), &three, NULL));
  CHECK_OK(tide_queue_submit(b, &OPERATION(.label = "held", WAITS({u, 1})), &held, NULL));
  CHECK_OK(tide_queue_submit(b, &OPERATION(.label = "behind"), &behind, NULL));
  CHECK(one == 1 && two == 2 && three == 3 && held == 1 && behind == 2);
  fake_take(&f, "one");
  CHECK_STATUS(tide_queue_cancel(a, one), TIDE_BUSY);
  CHECK_OK(tide_queue_cancel(a, two));
  CHECK(!fake_find(&f, TIDE_EVENT_FINISH, "two", 0)); /* at its place */
  fake_give(&f, "one", TIDE_OK);
  CHECK_STATUS(fake_status(&f, "two"), TIDE_CANCELLED);
  CHECK_STATUS(tide_timeline_wait(t, 2, TIDE_NOW), TIDE_CANCELLED);
  CHECK_OK(tide_timeline_wait(t, 1, TIDE_NOW));
  CHECK_STATUS(tide_queue_cancel(a, two), TIDE_NOT_FOUND);
  CHECK_OK(tide_queue_cancel(b, held)); /* at once */
  CHECK_STATUS(fake_status(&f, "held"), TIDE_CANCELLED);
  CHECK(fake_runs(&f, "behind") && fake_runs(&f, "three"));
  fake_run_out(&f);
  CHECK(!fake_ran(&f, "two") && !fake_ran(&f, "held"));
  CHECK_EQ_U64(tide_timeline_query(tide_queue_progress(b)), 1);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* One that has been offered to the backend, but was not taken. */
TEST(cancel_ready) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  uint64_t one;
  CHECK_OK(tide_queue_submit(a, &OPERATION(.label = "one"), &one, NULL));
  CHECK_OK(SUBMIT(a, .label = "two"));
  CHECK_OK(tide_queue_cancel(a, one));
  CHECK_STATUS(fake_status(&f, "one"), TIDE_CANCELLED);
  fake_run(&f, "two");
  CHECK(!fake_ran(&f, "one"));
  tide_queue_destroy(a);
  fake_close(&f);
}

TEST(drain) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  CHECK_OK(tide_queue_drain(a, TIDE_NOW));
  CHECK_OK(SUBMIT(a, .label = "one"));
  CHECK_STATUS(tide_queue_drain(a, TIDE_NOW), TIDE_TIMEOUT);
  fake_run(&f, "one");
  CHECK_OK(tide_queue_drain(a, TIDE_NOW));
  CHECK_OK(SUBMIT(a, .label = "held", WAITS({t, 1})));
  uint64_t soon = f.context->platform->now(f.context->platform->self) + 2000000;
  CHECK_STATUS(tide_queue_drain(a, soon), TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_signal_external(t, 1));
  fake_run(&f, "held");
  CHECK_OK(tide_queue_drain(a, TIDE_FOREVER));
  tide_queue_destroy(a);
  tide_timeline_destroy(t);
  fake_close(&f);
}

TEST(destroy_with_waiters) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", false), *progress = tide_queue_progress(a);
  CHECK_OK(SUBMIT(a, .label = "runs", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(a, .label = "waits", SIGNALS({t, 2})));
  CHECK_OK(SUBMIT(a, .label = "held", WAITS({t, 9})));
  CHECK_OK(SUBMIT(b, .label = "other", WAITS({t, 2})));
  CHECK_OK(SUBMIT(b, .label = "far", WAITS({progress, 9})));
  CHECK_OK(SUBMIT(b, .label = "both", WAITS({progress, 1}, {t, 20})));
  fake_take(&f, "runs");
  tide_queue_destroy(a);
  CHECK_STATUS(fake_status(&f, "held"), TIDE_CANCELLED);
  CHECK_STATUS(tide_device_settle(f.device, TIDE_NOW), TIDE_TIMEOUT);
  fake_give(&f, "runs", TIDE_OK);
  CHECK_EQ_U64(tide_timeline_query(t), 1);
  CHECK_STATUS(fake_status(&f, "waits"), TIDE_CANCELLED);
  CHECK_STATUS(fake_status(&f, "other"), TIDE_CANCELLED);
  CHECK_STATUS(fake_status(&f, "far"), TIDE_CANCELLED);
  /* The queue is gone, its progress is asked about once more. */
  tide_timeline_destroy(t);
  CHECK_STATUS(fake_status(&f, "both"), TIDE_CANCELLED);
  tide_queue_destroy(b);
  fake_close(&f);
}

/* ---- failing ------------------------------------------------------------------------------- */

TEST(failure_goes_on_as_first_cause) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b"), *c = fake_queue(&f, "c");
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
  CHECK_OK(SUBMIT(a, .label = "one", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(b, .label = "two", WAITS({t, 1}), SIGNALS({u, 1})));
  CHECK_OK(SUBMIT(c, .label = "three", WAITS({u, 1})));
  CHECK_OK(SUBMIT(b, .label = "elided", WAITS({t, 1})));
  CHECK(fake_class(&f, "elided", 0) == TIDE_WAIT_ELIDED);
  CHECK_OK(SUBMIT(a, .label = "other"));
  fake_take(&f, "one");
  fake_give(&f, "one", TIDE_IO);
  CHECK_STATUS(fake_status(&f, "two"), TIDE_IO);
  CHECK_STATUS(fake_status(&f, "three"), TIDE_IO);
  CHECK_STATUS(fake_status(&f, "elided"), TIDE_IO);
  CHECK(!fake_ran(&f, "two") && !fake_ran(&f, "three") && !fake_ran(&f, "elided"));
  CHECK(fake_runs(&f, "other"));
  CHECK_STATUS(tide_timeline_wait(u, 1, TIDE_FOREVER), TIDE_IO);
  fake_run_out(&f);
  struct tide_context_stats stats;
  tide_context_stats(f.context, &stats);
  CHECK_EQ_U64(stats.failed, 4);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_queue_destroy(c);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* An elided wait counts on a record above its value: when that fails, so does it. */
TEST(elided_below_the_record) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  CHECK_OK(SUBMIT(a, .label = "three", SIGNALS({t, 3})));
  CHECK_OK(SUBMIT(a, .label = "one", WAITS({t, 1})));
  CHECK(fake_class(&f, "one", 0) == TIDE_WAIT_ELIDED);
  fake_take(&f, "three");
  fake_give(&f, "three", TIDE_FAILED);
  CHECK_STATUS(fake_status(&f, "one"), TIDE_FAILED);
  CHECK(!fake_ran(&f, "one"));
  tide_queue_destroy(a);
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* It fails early, and finishes at its place: not before whoever signalled what it imported. */
TEST(failing_keeps_its_place) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b"), *c = fake_queue(&f, "c");
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  CHECK_OK(SUBMIT(a, .label = "slow", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(b, .label = "waits", WAITS({t, 1})));
  CHECK_OK(SUBMIT(b, .label = "after"));
  CHECK_OK(SUBMIT(c, .label = "knows nothing"));
  fake_take(&f, "slow");
  tide_timeline_fail(t, TIDE_IO);
  CHECK_STATUS(tide_timeline_wait(t, 1, TIDE_FOREVER), TIDE_IO);
  CHECK(!fake_find(&f, TIDE_EVENT_FINISH, "waits", 0));
  CHECK(!fake_runs(&f, "after"));
  fake_give(&f, "slow", TIDE_OK);
  CHECK_STATUS(fake_status(&f, "waits"), TIDE_IO);
  CHECK(fake_runs(&f, "after"));
  CHECK_EQ_U64(tide_timeline_query(t), 0); /* it had failed before its turn */
  /* What imported nothing does not delay. */
  CHECK_OK(SUBMIT(c, .label = "late", WAITS({t, 1})));
  fake_run(&f, "knows nothing");
  CHECK_STATUS(fake_status(&f, "late"), TIDE_IO);
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_queue_destroy(c);
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* A wait that imported nothing does not delay an operation that has failed. */
TEST(nothing_imported_nothing_awaited) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b"), *c = fake_queue(&f, "c");
  struct tide_timeline *t = fake_timeline(&f, "t", false), *u = fake_timeline(&f, "u", false);
  CHECK_OK(SUBMIT(a, .label = "one", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(c, .label = "seven", SIGNALS({u, 7})));
  CHECK_OK(SUBMIT(b, .label = "both", WAITS({t, 1}, {u, 2})));
  fake_take(&f, "one");
  fake_give(&f, "one", TIDE_IO);
  CHECK_STATUS(fake_status(&f, "both"), TIDE_IO);
  CHECK_OK(SUBMIT(b, .label = "late", WAITS({t, 1}, {u, 2})));
  CHECK_STATUS(fake_status(&f, "late"), TIDE_IO);
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_queue_destroy(c);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

TEST(timeline_destroyed_under_operations) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  CHECK_OK(SUBMIT(a, .label = "gives", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(b, .label = "takes", WAITS({t, 1})));
  CHECK_OK(SUBMIT(b, .label = "held", WAITS({t, 2})));
  tide_timeline_destroy(t);
  fake_run(&f, "gives");
  CHECK_STATUS(fake_status(&f, "takes"), TIDE_CANCELLED);
  CHECK_STATUS(fake_status(&f, "held"), TIDE_CANCELLED);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  fake_close(&f);
}

/* ---- pausing and kicks ------------------------------------------------------------------------
 */

TEST(pause) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  tide_context_pause(f.context);
  uint32_t kicks = f.kicks;
  CHECK_OK(SUBMIT(a, .label = "one"));
  CHECK(!fake_runs(&f, "one"));
  CHECK_EQ_U64(f.kicks, kicks);
  tide_context_resume(f.context);
  CHECK(f.kicks > kicks);
  fake_run(&f, "one");
  kicks = f.kicks;
  CHECK(!fake_runs(&f, "one"));
  CHECK_OK(SUBMIT(a, .label = "two"));
  CHECK_EQ_U64(f.kicks, kicks + 1); /* one a dry exchange */
  CHECK_OK(SUBMIT(a, .label = "three"));
  CHECK_EQ_U64(f.kicks, kicks + 1);
  fake_run_out(&f);
  tide_queue_destroy(a);
  fake_close(&f);
}

/* ---- collectives
 * ---------------------------------------------------------------------------------- */

struct trio {
  struct tide_queue *q[3];
  struct tide_collective *all;
};

static void trio_open(struct fake *f, struct trio *trio) {
  fake_open(f, true, 16);
  for (int i = 0; i < 3; i++) trio->q[i] = fake_queue(f, i == 0 ? "a" : i == 1 ? "b" : "c");
  CHECK_OK(tide_collective_create(trio->q, 3, "all", &trio->all));
}

static void trio_close(struct fake *f, struct trio *trio) {
  fake_run_out(f);
  tide_collective_destroy(trio->all);
  for (int i = 0; i < 3; i++) tide_queue_destroy(trio->q[i]);
  fake_close(f);
}

TEST(parts_start_together) {
  struct fake f;
  struct trio trio;
  uint64_t instance;
  trio_open(&f, &trio);
  struct tide_queue *d = fake_queue(&f, "d");
  CHECK_OK(SUBMIT(trio.q[2], .label = "before"));
  CHECK_OK(tide_collective_submit(trio.all, 0, 7, &OPERATION(.label = "p0"), &instance, NULL));
  CHECK_EQ_U64(instance, 1);
  CHECK_OK(tide_collective_submit(trio.all, 1, 7, &OPERATION(.label = "p1"), NULL, NULL));
  CHECK(!fake_runs(&f, "p0"));
  CHECK_OK(SUBMIT(d, .label = "late", WAITS({tide_collective_progress(trio.all), 1})));
  CHECK(fake_held(&f, "late"));
  CHECK_OK(tide_collective_submit(trio.all, 2, 7, &OPERATION(.label = "p2"), NULL, NULL));
  CHECK(!fake_held(&f, "late"));
  CHECK(!fake_runs(&f, "p0") && !fake_runs(&f, "p1"));
  fake_run(&f, "before");
  CHECK(fake_runs(&f, "p0") && fake_runs(&f, "p1") && fake_runs(&f, "p2"));
  /* Its record is one entry, where the members' would be three. */
  TIDE_FRONTIER_STORAGE(known, 16);
  tide_frontier_init(&known.frontier, 16);
  tide_queue_position(d, &known.frontier, NULL);
  CHECK_EQ_U64(known.frontier.count, 2);
  struct tide_frontier_entry entry = {0, 0};
  for (struct tide_frontier_cursor at = tide_frontier_begin(&known.frontier);
       tide_frontier_next(&at, &entry);)
    continue;
  CHECK(tide_axis_domain(entry.axis) == TIDE_DOMAIN_COLLECTIVE);
  fake_give(&f, "p0", TIDE_OK);
  fake_give(&f, "p1", TIDE_OK);
  CHECK_EQ_U64(tide_timeline_query(tide_collective_progress(trio.all)), 0);
  fake_give(&f, "p2", TIDE_OK);
  CHECK_EQ_U64(tide_timeline_query(tide_collective_progress(trio.all)), 1);
  fake_run(&f, "late");
  tide_queue_destroy(d);
  trio_close(&f, &trio);
}

TEST(members_disagree) {
  struct fake f;
  struct trio trio;
  struct tide_diag diag;
  trio_open(&f, &trio);
  CHECK_OK(tide_collective_submit(trio.all, 0, 1, &OPERATION(.label = "p0"), NULL, NULL));
  CHECK_STATUS(tide_collective_submit(trio.all, 1, 2, &OPERATION(.label = "p1"), NULL, &diag),
               TIDE_MISMATCH);
  CHECK(strstr(diag.text, "'b'") && strstr(diag.text, "'all'"));
  CHECK_OK(tide_collective_submit(trio.all, 2, 1, &OPERATION(.label = "p2"), NULL, NULL));
  fake_run_out(&f);
  CHECK(!fake_ran(&f, "p0") && !fake_ran(&f, "p2"));
  CHECK_STATUS(fake_status(&f, "p0"), TIDE_MISMATCH);
  CHECK_STATUS(fake_status(&f, "p2"), TIDE_MISMATCH);
  CHECK_STATUS(tide_timeline_wait(tide_collective_progress(trio.all), 1, TIDE_FOREVER),
               TIDE_MISMATCH);
  CHECK_STATUS(tide_collective_submit(trio.all, 3, 1, &OPERATION(.label = "p3"), NULL, NULL),
               TIDE_INVALID);
  trio_close(&f, &trio);
}

TEST(failing_part) {
  struct fake f;
  struct trio trio;
  trio_open(&f, &trio);
  struct tide_timeline *t = fake_timeline(&f, "t", true);
  for (size_t i = 0; i < 3; i++) {
    char label[] = "p0";
    label[1] = (char)('0' + i);
    if (i == 2)
      CHECK_OK(tide_collective_submit(trio.all, i, 0, &OPERATION(.label = label, SIGNALS({t, 1})),
                                      NULL, NULL));
    else CHECK_OK(tide_collective_submit(trio.all, i, 0, &OPERATION(.label = label), NULL, NULL));
  }
  fake_take(&f, "p0");
  fake_give(&f, "p0", TIDE_IO);
  fake_give(&f, "p1", TIDE_OK);
  fake_give(&f, "p2", TIDE_OK);
  CHECK_STATUS(fake_status(&f, "p2"), TIDE_IO);
  CHECK_STATUS(tide_timeline_wait(t, 1, TIDE_NOW), TIDE_IO);
  CHECK_STATUS(tide_timeline_wait(tide_collective_progress(trio.all), 1, TIDE_NOW), TIDE_IO);
  tide_timeline_destroy(t);
  trio_close(&f, &trio);
}

/* What a part waits for may not lie behind another part of the same instance. */
TEST(parts_that_wait_for_each_other) {
  struct fake f;
  struct trio trio;
  struct tide_diag diag;
  trio_open(&f, &trio);
  struct tide_timeline *t = fake_timeline(&f, "t", true);
  CHECK_OK(tide_collective_submit(trio.all, 0, 0, &OPERATION(.label = "p0", SIGNALS({t, 1})), NULL,
                                  NULL));
  CHECK_STATUS(
      tide_collective_submit(trio.all, 1, 0, &OPERATION(.label = "p1", WAITS({t, 1})), NULL, &diag),
      TIDE_DEADLOCK);
  CHECK(strstr(diag.text, "'p1'"));
  CHECK_OK(SUBMIT(trio.q[0], .label = "behind", SIGNALS({t, 2})));
  CHECK_STATUS(
      tide_collective_submit(trio.all, 1, 0, &OPERATION(.label = "p1", WAITS({t, 2})), NULL, &diag),
      TIDE_DEADLOCK);
  CHECK_OK(tide_collective_submit(trio.all, 1, 0, &OPERATION(.label = "p1"), NULL, NULL));
  CHECK_OK(tide_collective_submit(trio.all, 2, 0, &OPERATION(.label = "p2"), NULL, NULL));
  fake_run_out(&f);
  CHECK_EQ_U64(tide_timeline_query(t), 2);
  tide_timeline_destroy(t);
  trio_close(&f, &trio);
}

/* ---- losing a device
 * ------------------------------------------------------------------------------ */

TEST(lose_and_certify) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue_on(f.other, "b", 0);
  struct tide_timeline *t = fake_timeline(&f, "t", false), *u = fake_timeline(&f, "u", false);
  CHECK_OK(SUBMIT(a, .label = "runs", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(a, .label = "waits", SIGNALS({t, 2})));
  CHECK_OK(SUBMIT(a, .label = "held", WAITS({u, 1})));
  CHECK_OK(SUBMIT(b, .label = "other", WAITS({t, 1})));
  CHECK_OK(SUBMIT(b, .label = "after"));
  fake_take(&f, "runs");
  tide_device_lose(f.device, TIDE_LOST);
  /* Hosts are told at once; nothing counts as finished. */
  CHECK_STATUS(tide_timeline_wait(t, 1, TIDE_FOREVER), TIDE_LOST);
  CHECK_STATUS(fake_status(&f, "held"), TIDE_LOST);
  CHECK_STATUS(SUBMIT(a, .label = "no"), TIDE_LOST);
  CHECK(!fake_runs(&f, "after"));
  CHECK(!tide_tracker_finished(f.context->tracker, tide_queue_axis(a), 1));
  tide_device_certify(f.device);
  f.count = 0;
  CHECK_STATUS(fake_status(&f, "runs"), TIDE_LOST);
  CHECK_STATUS(fake_status(&f, "waits"), TIDE_LOST);
  CHECK_STATUS(fake_status(&f, "other"), TIDE_LOST);
  CHECK(fake_runs(&f, "after"));
  CHECK(tide_tracker_finished(f.context->tracker, tide_queue_axis(a), 2));
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* Certified work counts as finished when what it had imported has: here, work of another device. */
TEST(certified_work_keeps_its_place) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue_on(f.other, "b", 0),
                    *c = fake_queue_on(f.other, "c", 0);
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
  CHECK_OK(SUBMIT(b, .label = "slow", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(a, .label = "lost", WAITS({t, 1}), SIGNALS({u, 1})));
  CHECK_OK(SUBMIT(c, .label = "waits", WAITS({u, 1})));
  CHECK_OK(SUBMIT(c, .label = "after"));
  fake_take(&f, "slow");
  tide_device_lose(f.device, TIDE_LOST);
  tide_device_certify(f.device);
  CHECK(!tide_tracker_finished(f.context->tracker, tide_queue_axis(a), 1));
  CHECK(!fake_runs(&f, "after"));
  fake_give(&f, "slow", TIDE_OK);
  CHECK_STATUS(fake_status(&f, "lost"), TIDE_LOST);
  CHECK_STATUS(fake_status(&f, "waits"), TIDE_LOST);
  CHECK(fake_runs(&f, "after"));
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_queue_destroy(c);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* ---- what is left of a queue --------------------------------------------------------------------
 */

TEST(progress_outlives_its_device) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  struct tide_timeline *progress = tide_queue_progress(a);
  tide_timeline_retain(progress);
  tide_queue_destroy(a);
  CHECK_OK(tide_device_settle(f.device, TIDE_NOW));
  tide_device_close(f.device);
  tide_device_close(f.other);
  CHECK_STATUS(tide_timeline_wait(progress, 1, TIDE_FOREVER), TIDE_CANCELLED);
  tide_timeline_release(progress);
  tide_context_destroy(f.context);
}

TEST_MAIN(CASE(progress_outlives_its_device), CASE(cancel), CASE(cancel_ready), CASE(drain),
          CASE(destroy_with_waiters), CASE(failure_goes_on_as_first_cause),
          CASE(elided_below_the_record), CASE(failing_keeps_its_place),
          CASE(nothing_imported_nothing_awaited), CASE(timeline_destroyed_under_operations),
          CASE(pause), CASE(parts_start_together), CASE(members_disagree), CASE(failing_part),
          CASE(parts_that_wait_for_each_other), CASE(lose_and_certify),
          CASE(certified_work_keeps_its_place))
