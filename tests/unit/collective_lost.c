/* A collective loses a member: its queue is destroyed, or its device is lost. Nobody hangs. */
#include "causal/context_state.h"
#include "fake_device.h"

struct lost {
  struct fake f;
  struct tide_queue *q[3]; /* the third is lost: it is of the other device */
  struct tide_collective *all;
  struct tide_timeline *progress;
  bool destroyed;
  enum tide_status how;
};

static void lost_open(struct lost *l, bool destroyed) {
  fake_open(&l->f, true, 16);
  l->q[0] = fake_queue(&l->f, "a");
  l->q[1] = fake_queue(&l->f, "b");
  l->q[2] = fake_queue_on(l->f.other, "c", 0);
  l->destroyed = destroyed;
  l->how = destroyed ? TIDE_CANCELLED : TIDE_LOST;
  CHECK_OK(tide_collective_create(l->q, 3, "all", &l->all));
  l->progress = tide_collective_progress(l->all);
}

static void part(struct lost *l, size_t member, const char *label) {
  CHECK_OK(tide_collective_submit(l->all, member, 0, &OPERATION(.label = label), NULL, NULL));
}

static void lose(struct lost *l) {
  if (l->destroyed) tide_queue_destroy(l->q[2]);
  else tide_device_lose(l->f.other, TIDE_LOST);
}

/* What ran there was given up. */
static void certify(struct lost *l) {
  if (l->destroyed) return;
  tide_device_certify(l->f.other);
  for (uint32_t i = 0; i < l->f.count; i++)
    if (tide_axis_domain(tide_work_axis(l->f.out[i])) == TIDE_DOMAIN_STORAGE)
      l->f.out[i--] = l->f.out[--l->f.count];
}

static bool axis_finished(struct lost *l, uint64_t epoch) {
  tide_axis axis = tide_axis_make(0, TIDE_DOMAIN_COLLECTIVE, 1);
  return tide_tracker_finished(l->f.context->tracker, axis, epoch);
}

/* Nothing comes of it any more, and everybody is told. */
static void check_refused(struct lost *l, uint64_t value) {
  for (size_t i = 0; i < 3; i++) {
    struct tide_diag diag = {0};
    CHECK_STATUS(tide_collective_submit(l->all, i, 0, &OPERATION(.label = "no"), NULL, &diag),
                 l->how);
    CHECK(strstr(diag.text, "'all'") && strstr(diag.text, "'c'"));
  }
  CHECK_STATUS(tide_timeline_wait(l->progress, value, TIDE_FOREVER), l->how);
}

/* The survivors go on together, on an axis of their own. */
static void check_survivors(struct lost *l) {
  struct tide_collective *rest;
  uint64_t instance;
  CHECK_OK(tide_collective_create(l->q, 2, "rest", &rest));
  for (size_t i = 0; i < 2; i++)
    CHECK_OK(
        tide_collective_submit(rest, i, 0, &OPERATION(.label = i ? "r1" : "r0"), &instance, NULL));
  CHECK_EQ_U64(instance, 1);
  fake_run_out(&l->f);
  CHECK_OK(tide_timeline_wait(tide_collective_progress(rest), 1, TIDE_NOW));
  CHECK(fake_ran(&l->f, "r0") && fake_ran(&l->f, "r1"));
  tide_collective_destroy(rest);
}

static void lost_close(struct lost *l) {
  fake_run_out(&l->f);
  tide_collective_destroy(l->all);
  for (int i = 0; i < 3; i++)
    if (i < 2 || !l->destroyed) tide_queue_destroy(l->q[i]);
  fake_close(&l->f);
}

/* ---- in each state of an instance ---------------------------------------------------- */

static void idle(bool destroyed) {
  struct lost l;
  lost_open(&l, destroyed);
  lose(&l);
  check_refused(&l, 1);
  check_survivors(&l);
  certify(&l);
  lost_close(&l);
}

/* The parts of two are there, the lost member's never comes. */
static void missing(bool destroyed) {
  struct lost l;
  lost_open(&l, destroyed);
  struct tide_timeline *t = fake_timeline(&l.f, "t", false);
  CHECK_OK(
      tide_collective_submit(l.all, 0, 0, &OPERATION(.label = "p0", SIGNALS({t, 1})), NULL, NULL));
  CHECK_OK(SUBMIT(l.q[0], .label = "behind"));
  part(&l, 1, "p1");
  part(&l, 1, "p1 again");
  CHECK(!fake_runs(&l.f, "behind"));
  lose(&l);
  CHECK(fake_runs(&l.f, "behind"));
  CHECK_STATUS(fake_status(&l.f, "p0"), l.how);
  CHECK_STATUS(fake_status(&l.f, "p1"), l.how);
  CHECK_STATUS(fake_status(&l.f, "p1 again"), l.how);
  CHECK_STATUS(tide_timeline_wait(t, 1, TIDE_NOW), l.how);
  check_refused(&l, 1);
  check_survivors(&l);
  certify(&l);
  tide_timeline_destroy(t);
  lost_close(&l);
}

/* The lost member's part is held; so is a survivor's, which nobody will ever let in. */
static void held(bool destroyed) {
  struct lost l;
  lost_open(&l, destroyed);
  struct tide_timeline *t = fake_timeline(&l.f, "t", false);
  part(&l, 0, "p0");
  for (size_t i = 1; i < 3; i++)
    CHECK_OK(tide_collective_submit(
        l.all, i, 0, &OPERATION(.label = i == 1 ? "p1" : "p2", WAITS({t, 1})), NULL, NULL));
  CHECK_OK(SUBMIT(l.q[1], .label = "behind"));
  CHECK(fake_held(&l.f, "p1") && fake_held(&l.f, "p2") && fake_held(&l.f, "behind"));
  lose(&l);
  CHECK_STATUS(fake_status(&l.f, "p0"), l.how);
  CHECK_STATUS(fake_status(&l.f, "p1"), l.how);
  CHECK_STATUS(fake_status(&l.f, "p2"), l.how);
  CHECK(fake_runs(&l.f, "behind"));
  check_refused(&l, 1);
  check_survivors(&l);
  certify(&l);
  tide_timeline_destroy(t);
  lost_close(&l);
}

/* The lost member's part has entered, behind an operation that runs: the survivors don't wait for
 * that, but the instance is not over before its place has come. */
static void entered(bool destroyed) {
  struct lost l;
  lost_open(&l, destroyed);
  struct tide_queue *d = fake_queue(&l.f, "d"), *e = fake_queue(&l.f, "e");
  struct tide_timeline *t = fake_timeline(&l.f, "t", true);
  CHECK_OK(SUBMIT(e, .label = "slow", SIGNALS({t, 1})));
  for (size_t i = 0; i < 3; i++)
    if (i < 2) part(&l, i, i ? "p1" : "p0");
    else
      CHECK_OK(tide_collective_submit(l.all, i, 0, &OPERATION(.label = "p2", WAITS({t, 1})), NULL,
                                      NULL));
  CHECK_OK(SUBMIT(d, .label = "late", WAITS({l.progress, 1})));
  CHECK_OK(SUBMIT(d, .label = "after late"));
  part(&l, 0, "next0");
  fake_take(&l.f, "slow");
  lose(&l);
  CHECK_STATUS(fake_status(&l.f, "p0"), l.how);
  CHECK_STATUS(fake_status(&l.f, "p1"), l.how);
  CHECK_STATUS(fake_status(&l.f, "next0"), l.how);
  check_refused(&l, 1);
  /* The failed epoch satisfies nobody. */
  CHECK(!axis_finished(&l, 1));
  CHECK(!fake_find(&l.f, TIDE_EVENT_PUBLISH, "late", 0));
  certify(&l);
  CHECK(!axis_finished(&l, 1));
  fake_give(&l.f, "slow", TIDE_OK);
  CHECK_STATUS(fake_status(&l.f, "p2"), l.how);
  CHECK_STATUS(fake_status(&l.f, "late"), l.how);
  CHECK(axis_finished(&l, 1) && axis_finished(&l, 2) && axis_finished(&l, 99));
  check_survivors(&l);
  CHECK(fake_ran(&l.f, "after late"));
  tide_queue_destroy(d);
  tide_queue_destroy(e);
  tide_timeline_destroy(t);
  lost_close(&l);
}

/* All have arrived, nobody has started. */
static void ready(bool destroyed) {
  struct lost l;
  lost_open(&l, destroyed);
  for (size_t i = 0; i < 3; i++) part(&l, i, i == 0 ? "p0" : i == 1 ? "p1" : "p2");
  lose(&l);
  CHECK(!fake_runs(&l.f, "p0") && !fake_runs(&l.f, "p1") && !fake_runs(&l.f, "p2"));
  check_refused(&l, 1);
  certify(&l);
  CHECK_STATUS(fake_status(&l.f, "p0"), l.how);
  CHECK_STATUS(fake_status(&l.f, "p2"), l.how);
  CHECK(axis_finished(&l, 1));
  check_survivors(&l);
  lost_close(&l);
}

/* All run. A destroyed queue's running body goes on to its end, and with it the instance; what a
 * lost device ran is not known. */
static void running(bool destroyed) {
  struct lost l;
  lost_open(&l, destroyed);
  struct tide_timeline *t = fake_timeline(&l.f, "t", true);
  CHECK_OK(
      tide_collective_submit(l.all, 0, 0, &OPERATION(.label = "p0", SIGNALS({t, 1})), NULL, NULL));
  part(&l, 1, "p1");
  part(&l, 2, "p2");
  fake_take(&l.f, "p0");
  CHECK(fake_runs(&l.f, "p1") && fake_runs(&l.f, "p2"));
  part(&l, 0, "next0");
  lose(&l);
  check_refused(&l, 2);
  CHECK_STATUS(tide_timeline_wait(l.progress, 1, TIDE_NOW), destroyed ? TIDE_TIMEOUT : l.how);
  fake_give(&l.f, "p0", TIDE_OK);
  fake_give(&l.f, "p1", TIDE_OK);
  CHECK_STATUS(fake_status(&l.f, "p0"), destroyed ? TIDE_OK : l.how);
  CHECK_STATUS(fake_status(&l.f, "next0"), l.how);
  CHECK(!axis_finished(&l, 1));
  if (destroyed) fake_give(&l.f, "p2", TIDE_OK);
  certify(&l);
  CHECK(axis_finished(&l, 1) && axis_finished(&l, 2));
  CHECK_STATUS(tide_timeline_wait(l.progress, 1, TIDE_NOW), destroyed ? TIDE_OK : l.how);
  CHECK_STATUS(tide_timeline_wait(t, 1, TIDE_NOW), destroyed ? TIDE_OK : l.how);
  CHECK_STATUS(tide_timeline_wait(l.progress, 2, TIDE_NOW), l.how);
  check_survivors(&l);
  tide_timeline_destroy(t);
  lost_close(&l);
}

/* The lost member's part is over, the others' run on. */
static void part_over(bool destroyed) {
  struct lost l;
  lost_open(&l, destroyed);
  part(&l, 0, "p0");
  part(&l, 1, "p1");
  part(&l, 2, "p2");
  fake_run(&l.f, "p2");
  lose(&l);
  check_refused(&l, 2);
  CHECK_STATUS(tide_timeline_wait(l.progress, 1, TIDE_NOW), TIDE_TIMEOUT);
  fake_run_out(&l.f);
  CHECK_OK(tide_timeline_wait(l.progress, 1, TIDE_NOW));
  check_survivors(&l);
  certify(&l);
  lost_close(&l);
}

static void finished(bool destroyed) {
  struct lost l;
  lost_open(&l, destroyed);
  for (size_t i = 0; i < 3; i++) part(&l, i, "p");
  fake_run_out(&l.f);
  lose(&l);
  CHECK_OK(tide_timeline_wait(l.progress, 1, TIDE_NOW));
  check_refused(&l, 2);
  check_survivors(&l);
  certify(&l);
  lost_close(&l);
}

TEST(idle) { idle(true), idle(false); }
TEST(missing) { missing(true), missing(false); }
TEST(held) { held(true), held(false); }
TEST(entered) { entered(true), entered(false); }
TEST(ready) { ready(true), ready(false); }
TEST(running) { running(true), running(false); }
TEST(part_over) { part_over(true), part_over(false); }
TEST(finished) { finished(true), finished(false); }

/* ---- around it ------------------------------------------------------------------------- */

/* A destroyed member's queue goes when the last instance is over, though the collective stays; the
 * survivors' may go, too. */
TEST(the_queue_goes) {
  struct lost l;
  lost_open(&l, true);
  for (size_t i = 0; i < 3; i++) part(&l, i, i == 0 ? "p0" : i == 1 ? "p1" : "p2");
  fake_take(&l.f, "p0");
  fake_take(&l.f, "p2");
  lose(&l);
  fake_give(&l.f, "p2", TIDE_OK);
  CHECK_STATUS(tide_device_settle(l.f.other, TIDE_NOW), TIDE_TIMEOUT);
  fake_give(&l.f, "p0", TIDE_OK);
  fake_run(&l.f, "p1");
  CHECK_OK(tide_device_settle(l.f.other, TIDE_NOW));
  tide_queue_destroy(l.q[0]);
  tide_queue_destroy(l.q[1]);
  CHECK_OK(tide_device_settle(l.f.device, TIDE_NOW));
  CHECK_OK(tide_timeline_wait(l.progress, 1, TIDE_NOW));
  tide_collective_destroy(l.all);
  fake_close(&l.f);
}

/* The collective is destroyed first, then a member that it still waits for. */
TEST(destroyed_before) {
  struct lost l;
  lost_open(&l, true);
  struct tide_timeline *t = fake_timeline(&l.f, "t", false);
  part(&l, 0, "p0");
  for (size_t i = 1; i < 3; i++)
    CHECK_OK(tide_collective_submit(
        l.all, i, 0, &OPERATION(.label = i == 1 ? "p1" : "p2", WAITS({t, 1})), NULL, NULL));
  tide_collective_destroy(l.all);
  CHECK(fake_held(&l.f, "p1"));
  lose(&l);
  CHECK_STATUS(fake_status(&l.f, "p0"), TIDE_CANCELLED);
  CHECK_STATUS(fake_status(&l.f, "p1"), TIDE_CANCELLED);
  tide_queue_destroy(l.q[0]);
  tide_queue_destroy(l.q[1]);
  tide_timeline_destroy(t);
  fake_close(&l.f);
}

/* Destroying the collective, too, leaves nobody held for a part that never comes. */
TEST(destroyed_with_held_parts) {
  struct lost l;
  lost_open(&l, true);
  struct tide_timeline *t = fake_timeline(&l.f, "t", false);
  CHECK_OK(
      tide_collective_submit(l.all, 0, 0, &OPERATION(.label = "p0", WAITS({t, 1})), NULL, NULL));
  CHECK_OK(SUBMIT(l.q[0], .label = "behind"));
  tide_collective_destroy(l.all);
  CHECK_STATUS(fake_status(&l.f, "p0"), TIDE_CANCELLED);
  fake_run(&l.f, "behind");
  for (int i = 0; i < 3; i++) tide_queue_destroy(l.q[i]);
  tide_timeline_destroy(t);
  fake_close(&l.f);
}

/* A held part of the second instance leaves: the second one has its record before the first. A wait
 * for the first is held all the same until that has entered. */
TEST(a_later_instance_enters_first) {
  struct lost l;
  struct tide_queue *c;
  lost_open(&l, true);
  struct tide_timeline *t = fake_timeline(&l.f, "t", false);
  CHECK_OK(tide_queue_create(l.f.device, NULL, &c));
  CHECK_OK(
      tide_collective_submit(l.all, 0, 0, &OPERATION(.label = "p0", WAITS({t, 1})), NULL, NULL));
  CHECK_OK(tide_collective_submit(l.all, 0, 0, &OPERATION(.label = "q0"), NULL, NULL));
  CHECK_OK(tide_queue_cancel(l.q[0], 2));
  for (size_t i = 1; i < 3; i++)
    for (int instance = 0; instance < 2; instance++)
      CHECK_OK(tide_collective_submit(l.all, i, 0, &OPERATION(.label = "others"), NULL, NULL));
  struct tide_timeline *progress = tide_collective_progress(l.all);
  CHECK_OK(SUBMIT(c, .label = "c", WAITS({progress, 1})));
  CHECK(fake_held(&l.f, "c"));
  CHECK_OK(tide_timeline_signal(t, 1, NULL));
  fake_run_out(&l.f);
  CHECK_STATUS(fake_status(&l.f, "c"), TIDE_OK);
  tide_collective_destroy(l.all);
  for (int i = 0; i < 3; i++) tide_queue_destroy(l.q[i]);
  tide_queue_destroy(c);
  fake_run_out(&l.f);
  tide_timeline_destroy(t);
  fake_close(&l.f);
}

/* One after the other: the second's device goes while its part runs. */
TEST(two_are_lost) {
  struct lost l;
  lost_open(&l, false);
  for (size_t i = 0; i < 3; i++) part(&l, i, i == 0 ? "p0" : i == 1 ? "p1" : "p2");
  fake_take(&l.f, "p0");
  CHECK(fake_runs(&l.f, "p1") && fake_runs(&l.f, "p2"));
  tide_queue_destroy(l.q[0]);
  CHECK_STATUS(tide_timeline_wait(l.progress, 1, TIDE_NOW), TIDE_TIMEOUT);
  CHECK_STATUS(tide_timeline_wait(l.progress, 2, TIDE_NOW), TIDE_CANCELLED);
  lose(&l);
  CHECK_STATUS(tide_timeline_wait(l.progress, 1, TIDE_NOW), TIDE_CANCELLED);
  fake_give(&l.f, "p0", TIDE_OK);
  fake_give(&l.f, "p1", TIDE_OK);
  CHECK_STATUS(fake_status(&l.f, "p1"), TIDE_LOST);
  CHECK(!axis_finished(&l, 1));
  certify(&l);
  CHECK(axis_finished(&l, 1));
  tide_collective_destroy(l.all);
  tide_queue_destroy(l.q[1]);
  tide_queue_destroy(l.q[2]);
  fake_close(&l.f);
}

/* Who is lost already cannot join; the survivors can while the old one's instances are under way.
 */
TEST(a_new_one) {
  struct lost l;
  struct tide_collective *rest;
  lost_open(&l, false);
  for (size_t i = 0; i < 3; i++) part(&l, i, i == 0 ? "p0" : i == 1 ? "p1" : "p2");
  fake_take(&l.f, "p0");
  CHECK(fake_runs(&l.f, "p1") && fake_runs(&l.f, "p2"));
  lose(&l);
  CHECK_STATUS(tide_collective_create(l.q, 3, "again", &rest), TIDE_LOST);
  CHECK_OK(tide_collective_create(l.q, 2, "rest", &rest));
  CHECK_OK(tide_collective_submit(rest, 0, 0, &OPERATION(.label = "r0"), NULL, NULL));
  CHECK_OK(tide_collective_submit(rest, 1, 0, &OPERATION(.label = "r1"), NULL, NULL));
  fake_give(&l.f, "p0", TIDE_OK);
  CHECK(!fake_runs(&l.f, "r0"));
  fake_give(&l.f, "p1", TIDE_OK);
  CHECK(fake_runs(&l.f, "r0") && fake_runs(&l.f, "r1"));
  tide_collective_destroy(l.all);
  certify(&l);
  fake_run_out(&l.f);
  CHECK_OK(tide_timeline_wait(tide_collective_progress(rest), 1, TIDE_NOW));
  tide_collective_destroy(rest);
  for (int i = 0; i < 3; i++) tide_queue_destroy(l.q[i]);
  fake_close(&l.f);
}

/* ---- who waits on the tracker ----------------------------------------------------------- */

struct probe {
  struct tide_frontier_wait wait;
  struct tide_waiter node;
  bool done;
  enum tide_status status;
};

static void probe_done(struct tide_frontier_wait *wait, enum tide_status status) {
  struct probe *probe = wait->user;
  probe->done = true;
  probe->status = status;
}

static void probe_instance(struct lost *l, struct probe *probe, uint64_t number) {
  TIDE_FRONTIER_STORAGE(entry, 1);
  tide_frontier_init(&entry.frontier, 1);
  tide_frontier_raise(&entry.frontier, tide_axis_make(0, TIDE_DOMAIN_COLLECTIVE, 1), number, NULL);
  *probe = (struct probe){.wait = {.nodes = &probe->node, .done = probe_done, .user = probe}};
  CHECK_OK(tide_tracker_wait(l->f.context->tracker, &entry.frontier, &probe->wait, 1));
}

/* What runs on is awaited; what comes after it has failed. */
TEST(tracker_waits) {
  struct lost l;
  struct probe first, second;
  lost_open(&l, true);
  for (size_t i = 0; i < 3; i++) part(&l, i, i == 0 ? "p0" : i == 1 ? "p1" : "p2");
  fake_take_all(&l.f);
  CHECK_OK(SUBMIT(l.q[0], .label = "slow"));
  part(&l, 0, "next0");
  probe_instance(&l, &first, 1);
  probe_instance(&l, &second, 2);
  lose(&l);
  fake_give(&l.f, "p0", TIDE_OK);
  fake_give(&l.f, "p1", TIDE_OK);
  CHECK(!first.done && !second.done);
  fake_give(&l.f, "p2", TIDE_OK);
  CHECK(first.done && second.done);
  CHECK_STATUS(first.status, TIDE_OK);
  CHECK_STATUS(second.status, TIDE_CANCELLED);
  CHECK(!axis_finished(&l, 2));
  fake_run(&l.f, "slow");
  CHECK(axis_finished(&l, 2));
  lost_close(&l);
}

TEST(tracker_waits_for_what_failed) {
  struct lost l;
  struct probe probe;
  lost_open(&l, false);
  for (size_t i = 0; i < 3; i++) part(&l, i, i == 0 ? "p0" : i == 1 ? "p1" : "p2");
  probe_instance(&l, &probe, 1);
  lose(&l);
  CHECK(probe.done);
  CHECK_STATUS(probe.status, TIDE_LOST);
  CHECK(!axis_finished(&l, 1));
  certify(&l);
  CHECK(axis_finished(&l, 1));
  probe_instance(&l, &probe, 1);
  CHECK_STATUS(probe.status, TIDE_OK);
  lost_close(&l);
}

TEST_MAIN(CASE(idle), CASE(missing), CASE(held), CASE(entered), CASE(ready), CASE(running),
          CASE(part_over), CASE(finished), CASE(the_queue_goes), CASE(destroyed_before),
          CASE(destroyed_with_held_parts), CASE(two_are_lost), CASE(a_later_instance_enters_first),
          CASE(a_new_one), CASE(tracker_waits), CASE(tracker_waits_for_what_failed))
