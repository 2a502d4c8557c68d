/* Failure goes down a channel: commands behind a failed one do not run, and their points break. */
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

static struct tide_point insert(struct tide_queue *queue) {
  struct tide_point point;
  CHECK_OK(tide_queue_insert_point(queue, &point, NULL));
  return point;
}

static void run_badly(struct world *w, const char *label, enum tide_status status) {
  fake_take(&w->f, label);
  fake_give(&w->f, label, status);
}

/* ---- what fails a channel -------------------------------------------------------------- */

/* SyncPointWait, draw, InsertSyncPoint: the calling pattern of the sync point document. */
TEST(a_failed_wait_stops_what_is_behind) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fb);
  CHECK_OK(tide_queue_wait_point(w.b, p, 0, NULL));
  CHECK_OK(SUBMIT(w.b, .label = "draw"));
  CHECK_OK(SUBMIT(w.b, .label = "keep", POINTS(RETIRE(q))));
  struct tide_point behind = insert(w.b);
  STATE(&w, behind, PROMISED);
  CHECK_OK(tide_future_break(w.fa, p.value, TIDE_TIMED_OUT));
  fake_run_out(&w.f);
  BROKEN(&w, behind, TIDE_TIMED_OUT);
  BROKEN(&w, q, TIDE_TIMED_OUT);
  CHECK(!fake_ran(&w.f, "draw") && !fake_ran(&w.f, "keep"));
  CHECK_STATUS(fake_status(&w.f, "draw"), TIDE_TIMED_OUT);
  CHECK_STATUS(tide_queue_failure(w.b), TIDE_TIMED_OUT);
  /* What comes later is behind it, too; other channels are not. */
  BROKEN(&w, insert(w.b), TIDE_TIMED_OUT);
  STATE(&w, insert(w.c), RETIRED);
  CHECK_OK(tide_queue_failure(w.c));
  close_world(&w);
}

TEST(a_failed_body_stops_what_is_behind) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa);
  struct tide_point before = insert(w.a);
  CHECK_OK(SUBMIT(w.a, .label = "bad"));
  CHECK_OK(SUBMIT(w.a, .label = "next", POINTS(RETIRE(p))));
  struct tide_point behind = insert(w.a);
  run_badly(&w, "bad", TIDE_IO);
  fake_run_out(&w.f);
  STATE(&w, before, RETIRED);
  BROKEN(&w, p, TIDE_IO);
  BROKEN(&w, behind, TIDE_IO);
  CHECK(!fake_ran(&w.f, "next"));
  close_world(&w);
}

TEST(a_failed_timeline_stops_what_is_behind) {
  struct world w;
  open_world(&w);
  struct tide_timeline *t = fake_timeline(&w.f, "t", false), *u = fake_timeline(&w.f, "u", false);
  CHECK_OK(SUBMIT(w.a, .label = "waits", WAITS({t, 1})));
  CHECK_OK(SUBMIT(w.a, .label = "signals", SIGNALS({u, 1})));
  struct tide_point behind = insert(w.a);
  tide_timeline_fail(t, TIDE_LOST);
  fake_run_out(&w.f);
  BROKEN(&w, behind, TIDE_LOST);
  CHECK_STATUS(tide_timeline_wait(u, 1, TIDE_NOW), TIDE_LOST);
  CHECK(!fake_ran(&w.f, "signals"));
  tide_timeline_release(t);
  tide_timeline_release(u);
  close_world(&w);
}

/* A queue without a client is no channel: only dependents fail. */
TEST(a_plain_queue_goes_on) {
  struct world w;
  open_world(&w);
  struct tide_queue *plain = fake_queue(&w.f, "plain");
  CHECK_OK(SUBMIT(plain, .label = "bad"));
  CHECK_OK(SUBMIT(plain, .label = "next"));
  run_badly(&w, "bad", TIDE_IO);
  fake_run(&w.f, "next");
  CHECK_STATUS(fake_status(&w.f, "next"), TIDE_OK);
  CHECK_OK(tide_queue_failure(plain));
  struct tide_diag diag;
  CHECK_STATUS(tide_queue_recover(plain, &diag), TIDE_INVALID);
  CHECK(strstr(diag.text, "no channel"));
  tide_queue_destroy(plain);
  close_world(&w);
}

/* From channel to channel, by the points that break. */
TEST(failure_crosses_by_points) {
  struct world w;
  open_world(&w);
  CHECK_OK(SUBMIT(w.a, .label = "bad"));
  struct tide_point first = insert(w.a);
  CHECK_OK(tide_queue_wait_point(w.b, first, 0, NULL));
  CHECK_OK(SUBMIT(w.b, .label = "b"));
  struct tide_point second = insert(w.b);
  CHECK_OK(tide_queue_wait_point(w.c, second, TIDE_DESPITE_BROKEN, NULL));
  CHECK_OK(SUBMIT(w.c, .label = "c"));
  struct tide_point third = insert(w.c);
  run_badly(&w, "bad", TIDE_IO);
  fake_run_out(&w.f);
  BROKEN(&w, second, TIDE_IO);
  STATE(&w, third, RETIRED);
  CHECK(!fake_ran(&w.f, "b") && fake_ran(&w.f, "c"));
  close_world(&w);
}

TEST(a_part_of_a_collective_fails_with_its_channel) {
  struct world w;
  struct tide_collective *both;
  open_world(&w);
  CHECK_OK(tide_collective_create((struct tide_queue *[]){w.a, w.b}, 2, "both", &both));
  CHECK_OK(SUBMIT(w.a, .label = "bad"));
  CHECK_OK(tide_collective_submit(both, 0, 1, &OPERATION(.label = "part a"), NULL, NULL));
  CHECK_OK(tide_collective_submit(both, 1, 1, &OPERATION(.label = "part b"), NULL, NULL));
  struct tide_point behind = insert(w.b);
  run_badly(&w, "bad", TIDE_IO);
  fake_run_out(&w.f);
  CHECK(!fake_ran(&w.f, "part a") && !fake_ran(&w.f, "part b"));
  CHECK_STATUS(tide_timeline_wait(tide_collective_progress(both), 1, TIDE_NOW), TIDE_IO);
  BROKEN(&w, behind, TIDE_IO);
  /* The next instance is behind a recovery in both. */
  CHECK_OK(tide_queue_recover(w.a, NULL));
  CHECK_OK(tide_queue_recover(w.b, NULL));
  CHECK_OK(tide_collective_submit(both, 0, 1, &OPERATION(.label = "again a"), NULL, NULL));
  CHECK_OK(tide_collective_submit(both, 1, 1, &OPERATION(.label = "again b"), NULL, NULL));
  fake_run_out(&w.f);
  CHECK(fake_ran(&w.f, "again a") && fake_ran(&w.f, "again b"));
  tide_collective_destroy(both);
  close_world(&w);
}

/* A command that its client takes for queued was refused: later submits fail, earlier ones do not.
 */
TEST(what_is_submitted_behind_a_refused_command_fails) {
  struct world w;
  open_world(&w);
  struct tide_point never = promise(w.fb);
  CHECK_OK(SUBMIT(w.a, .label = "before"));
  struct tide_point before = insert(w.a);
  tide_queue_refuse(w.a, TIDE_DENIED);
  CHECK_STATUS(tide_queue_failure(w.a), TIDE_DENIED);
  tide_queue_refuse(w.a, TIDE_INVALID); /* the first one counts */
  CHECK_OK(SUBMIT(w.a, .label = "behind"));
  CHECK_OK(SUBMIT(w.a, .label = "waits", POINTS(WAIT_FOR(never))));
  CHECK_OK(SUBMIT(w.a, .label = "despite", .flags = TIDE_DESPITE_BROKEN));
  struct tide_point behind = insert(w.a);
  CHECK_OK(tide_queue_recover(w.a, NULL));
  CHECK_OK(SUBMIT(w.a, .label = "fresh"));
  struct tide_point fresh = insert(w.a);
  CHECK(!fake_held(&w.f, "waits"));
  fake_run(&w.f, "before");
  STATE(&w, before, RETIRED);
  fake_run(&w.f, "despite");
  BROKEN(&w, behind, TIDE_DENIED);
  fake_run(&w.f, "fresh");
  STATE(&w, fresh, RETIRED);
  CHECK(!fake_ran(&w.f, "behind") && !fake_ran(&w.f, "waits"));
  CHECK_OK(tide_queue_failure(w.a));
  tide_queue_refuse(w.a, TIDE_OK);
  CHECK_STATUS(tide_queue_failure(w.a), TIDE_FAILED);
  close_world(&w);
}

/* ---- until the client says otherwise --------------------------------------------------------- */

TEST(a_recovery_counts_at_its_place) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fa);
  CHECK_OK(SUBMIT(w.a, .label = "bad"));
  CHECK_OK(SUBMIT(w.a, .label = "lost", POINTS(RETIRE(p))));
  struct tide_point lost = insert(w.a);
  CHECK_OK(tide_queue_recover(w.a, NULL));
  CHECK_OK(SUBMIT(w.a, .label = "good", POINTS(RETIRE(q))));
  struct tide_point good = insert(w.a);
  run_badly(&w, "bad", TIDE_IO);
  fake_run_out(&w.f);
  BROKEN(&w, p, TIDE_IO);
  BROKEN(&w, lost, TIDE_IO);
  STATE(&w, q, RETIRED);
  STATE(&w, good, RETIRED);
  CHECK(!fake_ran(&w.f, "lost") && fake_ran(&w.f, "good"));
  CHECK_OK(tide_queue_failure(w.a));
  /* And when it is queued late. */
  CHECK_OK(SUBMIT(w.a, .label = "bad again"));
  run_badly(&w, "bad again", TIDE_FAILED);
  CHECK_STATUS(tide_queue_failure(w.a), TIDE_FAILED);
  CHECK_OK(tide_queue_recover(w.a, NULL));
  STATE(&w, insert(w.a), RETIRED);
  /* With nothing to recover from it changes nothing. */
  CHECK_OK(tide_queue_recover(w.a, NULL));
  STATE(&w, insert(w.a), RETIRED);
  close_world(&w);
}

/* A recovery that is a command, too: one that fails itself fails what is behind it. */
TEST(a_recovery_may_have_a_body) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fa), broken = promise(w.fb);
  CHECK_OK(SUBMIT(w.a, .label = "bad"));
  CHECK_OK(SUBMIT(w.a, .label = "fresh", .flags = TIDE_RECOVER, POINTS(RETIRE(p))));
  struct tide_point first = insert(w.a);
  CHECK_OK(
      SUBMIT(w.a, .label = "waits", .flags = TIDE_RECOVER, POINTS(WAIT_FOR(broken), RETIRE(q))));
  struct tide_point second = insert(w.a);
  CHECK_OK(tide_future_break(w.fb, broken.value, TIDE_TIMED_OUT));
  run_badly(&w, "bad", TIDE_IO);
  fake_run(&w.f, "fresh");
  fake_run_out(&w.f);
  STATE(&w, p, RETIRED);
  STATE(&w, first, RETIRED);
  BROKEN(&w, q, TIDE_TIMED_OUT);
  BROKEN(&w, second, TIDE_TIMED_OUT);
  close_world(&w);
}

TEST(despite_broken_runs_alone) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fa), q = promise(w.fa);
  CHECK_OK(SUBMIT(w.a, .label = "bad"));
  CHECK_OK(SUBMIT(w.a, .label = "clean up", .flags = TIDE_DESPITE_BROKEN, POINTS(RETIRE(p))));
  CHECK_OK(SUBMIT(w.a, .label = "next", POINTS(RETIRE(q))));
  struct tide_point behind = insert(w.a);
  run_badly(&w, "bad", TIDE_IO);
  fake_run(&w.f, "clean up");
  fake_run_out(&w.f);
  STATE(&w, p, RETIRED);
  BROKEN(&w, q, TIDE_IO);
  BROKEN(&w, behind, TIDE_IO);
  CHECK(!fake_ran(&w.f, "next"));
  /* One that fails itself changes nothing for those behind: the first cause stays. */
  CHECK_OK(SUBMIT(w.a, .label = "fails", .flags = TIDE_DESPITE_BROKEN));
  run_badly(&w, "fails", TIDE_FAILED);
  BROKEN(&w, insert(w.a), TIDE_IO);
  close_world(&w);
}

/* ---- what commands behind a failed one do, and do not do --------------------------------------
 */

/* What they wait for may never come: nobody has to wait for its deadline. */
TEST(commands_behind_a_failed_one_do_not_wait) {
  struct world w;
  open_world(&w);
  struct tide_timeline *t = fake_timeline(&w.f, "t", false);
  struct tide_point never = promise(w.fb), p = promise(w.fa), q = promise(w.fa);
  CHECK_OK(SUBMIT(w.a, .label = "bad"));
  CHECK_OK(SUBMIT(w.a, .label = "held", POINTS(WAIT_FOR(never), RETIRE(p))));
  CHECK_OK(SUBMIT(w.a, .label = "plain", WAITS({t, 1}), POINTS(RETIRE(q))));
  struct tide_point behind = insert(w.a);
  CHECK(fake_held(&w.f, "held") && fake_held(&w.f, "plain"));
  run_badly(&w, "bad", TIDE_IO);
  BROKEN(&w, p, TIDE_IO);
  BROKEN(&w, q, TIDE_IO);
  BROKEN(&w, behind, TIDE_IO);
  STATE(&w, never, PROMISED);
  /* Nor those that come later, as long as nothing but the failure is before them. */
  p = promise(w.fa);
  CHECK_OK(SUBMIT(w.a, .label = "late", POINTS(WAIT_FOR(never), RETIRE(p))));
  BROKEN(&w, p, TIDE_IO);
  /* Behind a recovery they wait. */
  CHECK_OK(tide_queue_recover(w.a, NULL));
  p = promise(w.fa);
  CHECK_OK(SUBMIT(w.a, .label = "fresh", POINTS(WAIT_FOR(never), RETIRE(p))));
  CHECK(fake_held(&w.f, "fresh"));
  CHECK_OK(SUBMIT(w.b, .label = "keeper", POINTS(RETIRE(never))));
  fake_run_out(&w.f);
  STATE(&w, p, RETIRED);
  CHECK(fake_ran(&w.f, "fresh"));
  tide_timeline_release(t);
  close_world(&w);
}

/* An issued wait, whose record was imported, still must have finished: memory hangs on that. */
TEST(what_was_imported_must_have_finished) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fb), q = promise(w.fa);
  CHECK_OK(SUBMIT(w.b, .label = "writer", POINTS(RETIRE(p))));
  CHECK_OK(SUBMIT(w.a, .label = "bad"));
  CHECK_OK(SUBMIT(w.a, .label = "reader", POINTS(WAIT_FOR(p), RETIRE(q))));
  CHECK(fake_class(&w.f, "reader", 0) == TIDE_WAIT_ISSUED);
  run_badly(&w, "bad", TIDE_IO);
  STATE(&w, q, SCHEDULED);
  fake_run(&w.f, "writer");
  BROKEN(&w, q, TIDE_IO);
  close_world(&w);
}

TEST(passable_commands_have_their_place_where_they_enter) {
  struct world w;
  open_world(&w);
  struct tide_point p = promise(w.fb), q = promise(w.fb), r = promise(w.fa);
  struct tide_future *other = future_of(w.a, 4);
  struct tide_point s = promise(other);
  CHECK_OK(
      SUBMIT(w.a, .label = "behind", .flags = TIDE_MAY_BE_PASSED, POINTS(WAIT_FOR(p), RETIRE(r))));
  CHECK_OK(
      SUBMIT(w.a, .label = "beyond", .flags = TIDE_MAY_BE_PASSED, POINTS(WAIT_FOR(q), RETIRE(s))));
  CHECK_OK(SUBMIT(w.a, .label = "bad"));
  run_badly(&w, "bad", TIDE_IO);
  CHECK(fake_held(&w.f, "behind") && fake_held(&w.f, "beyond"));
  CHECK_OK(tide_queue_retire_point(w.b, p, NULL));
  BROKEN(&w, r, TIDE_IO);
  CHECK_OK(tide_queue_recover(w.a, NULL));
  CHECK_OK(tide_queue_retire_point(w.b, q, NULL));
  fake_run_out(&w.f);
  STATE(&w, s, RETIRED);
  CHECK(!fake_ran(&w.f, "behind") && fake_ran(&w.f, "beyond"));
  tide_future_destroy(other);
  close_world(&w);
}

TEST(nothing_is_chosen_and_no_priority_changes) {
  struct world w;
  struct tide_point cancel;
  open_world(&w);
  struct tide_point p = promise(w.fb);
  CHECK_OK(SUBMIT(w.a, .label = "bad"));
  CHECK_OK(SUBMIT(w.a, .label = "choice", POINTS(.choose = &p, .otherwise = &fake_body)));
  CHECK_OK(tide_queue_decrease_priority_until(w.a, p, 3, &cancel, NULL));
  CHECK_OK(tide_queue_increase_priority_until(w.a, p, 15, NULL));
  CHECK_OK(tide_queue_cancel_priority_decreases(w.a, NULL));
  tide_queue_set_priority(w.b, 2);
  run_badly(&w, "bad", TIDE_IO);
  fake_run_out(&w.f);
  CHECK(!fake_ran(&w.f, "choice"));
  CHECK(tide_queue_priority(w.a) == 8);
  CHECK(tide_queue_priority(w.b) == 2);
  CHECK_STATUS(tide_queue_cancel_decrease(w.a, cancel), TIDE_NOT_FOUND);
  CHECK_OK(tide_queue_recover(w.a, NULL));
  CHECK_OK(tide_queue_decrease_priority_until(w.a, p, 3, NULL, NULL));
  CHECK(tide_queue_priority(w.a) == 5); /* the scope of the other call is over */
  close_world(&w);
}

/* Taken out of the channel by its own client's word: it is not among what came before. */
TEST(a_cancelled_command_fails_nothing_else) {
  struct world w;
  struct tide_future *user;
  uint64_t sequence;
  open_world(&w);
  CHECK_OK(tide_future_create(w.client, NULL, &user));
  struct tide_point stop = promise(user), p = promise(w.fa), q = promise(w.fa), never;
  CHECK_OK(SUBMIT(w.a, .label = "runs"));
  CHECK_OK(SUBMIT(w.a, .label = "by a point", POINTS(RETIRE(p), .cancel = &stop)));
  CHECK_OK(
      tide_queue_submit(w.a, &OPERATION(.label = "by number", POINTS(RETIRE(q))), &sequence, NULL));
  struct tide_point behind = insert(w.a);
  CHECK_OK(SUBMIT(w.a, .label = "last"));
  CHECK_OK(tide_future_fulfil(user, stop.value, NULL));
  CHECK_OK(tide_queue_cancel(w.a, sequence));
  fake_run(&w.f, "runs");
  BROKEN(&w, p, TIDE_CANCELLED);
  BROKEN(&w, q, TIDE_CANCELLED);
  STATE(&w, behind, RETIRED);
  fake_run(&w.f, "last");
  /* Held, it leaves. */
  never = promise(w.fb);
  CHECK_OK(tide_queue_submit(w.a, &OPERATION(.label = "held", POINTS(WAIT_FOR(never))), &sequence,
                             NULL));
  behind = insert(w.a);
  CHECK_OK(tide_queue_cancel(w.a, sequence));
  STATE(&w, behind, RETIRED);
  /* But a point that broke with that status is a failure like others, cancelled afterwards or not.
   */
  CHECK_OK(SUBMIT(w.a, .label = "first"));
  struct tide_point gone = promise(w.fb);
  CHECK_OK(tide_future_break(w.fb, gone.value, TIDE_CANCELLED));
  CHECK_OK(tide_queue_submit(w.a, &OPERATION(.label = "waits", POINTS(WAIT_FOR(gone))), &sequence,
                             NULL));
  behind = insert(w.a);
  CHECK_OK(tide_queue_cancel(w.a, sequence));
  fake_run(&w.f, "first");
  BROKEN(&w, behind, TIDE_CANCELLED);
  close_world(&w);
}

/* The cancelling point is retired by the command right before: the command is cancelled at its
 * place, and the channel does not fail with it either. */
TEST(a_command_is_cancelled_by_the_one_before_it) {
  struct world w;
  open_world(&w);
  struct tide_point stop = promise(w.fa), p = promise(w.fa);
  CHECK_OK(SUBMIT(w.a, .label = "runs"));
  CHECK_OK(tide_queue_retire_point(w.a, stop, NULL));
  CHECK_OK(SUBMIT(w.a, .label = "cancelled", POINTS(RETIRE(p), .cancel = &stop)));
  CHECK_OK(SUBMIT(w.a, .label = "next"));
  struct tide_point behind = insert(w.a);
  fake_run(&w.f, "runs");
  CHECK_STATUS(fake_status(&w.f, "cancelled"), TIDE_CANCELLED);
  BROKEN(&w, p, TIDE_CANCELLED);
  CHECK_OK(tide_queue_failure(w.a));
  fake_run(&w.f, "next");
  STATE(&w, behind, RETIRED);
  CHECK(!fake_ran(&w.f, "cancelled"));
  close_world(&w);
}

TEST(a_cancelled_recovery_recovers_nothing) {
  struct world w;
  uint64_t sequence;
  open_world(&w);
  CHECK_OK(SUBMIT(w.a, .label = "bad"));
  CHECK_OK(
      tide_queue_submit(w.a, &OPERATION(.label = "r", .flags = TIDE_RECOVER), &sequence, NULL));
  struct tide_point behind = insert(w.a);
  CHECK_OK(tide_queue_cancel(w.a, sequence));
  run_badly(&w, "bad", TIDE_IO);
  fake_run_out(&w.f);
  BROKEN(&w, behind, TIDE_IO);
  close_world(&w);
}

/* ---- devices out of order, and crowds -------------------------------------------------------- */

TEST(out_of_order_what_has_started_runs_and_its_points_break) {
  struct world w;
  open_world(&w);
  struct tide_queue *away = CHANNEL(w.f.other, .label = "away", .client = w.client);
  struct tide_future *future = future_of(away, 8);
  struct tide_point p = promise(future), q = promise(future), r = promise(future);
  struct tide_point s = promise(future), t = promise(future);
  CHECK_OK(SUBMIT(away, .label = "first", POINTS(RETIRE(p))));
  CHECK_OK(SUBMIT(away, .label = "bad", POINTS(RETIRE(q))));
  CHECK_OK(SUBMIT(away, .label = "started", POINTS(RETIRE(r))));
  fake_take(&w.f, "started");
  fake_give(&w.f, "bad", TIDE_IO);
  /* The first one runs still, and what comes now is behind the bad one. */
  CHECK_OK(SUBMIT(away, .label = "late", POINTS(RETIRE(s))));
  CHECK_OK(SUBMIT(away, .label = "fresh", .flags = TIDE_RECOVER, POINTS(RETIRE(t))));
  CHECK(!fake_runs(&w.f, "late") && !fake_runs(&w.f, "fresh"));
  fake_give(&w.f, "started", TIDE_OK);
  STATE(&w, p, SCHEDULED);
  STATE(&w, r, SCHEDULED); /* in their order */
  CHECK(!fake_runs(&w.f, "fresh"));
  fake_give(&w.f, "first", TIDE_OK);
  STATE(&w, p, RETIRED);
  BROKEN(&w, q, TIDE_IO);
  BROKEN(&w, r, TIDE_IO);
  BROKEN(&w, s, TIDE_IO);
  fake_run(&w.f, "fresh");
  STATE(&w, t, RETIRED);
  CHECK(!fake_ran(&w.f, "late"));
  tide_queue_destroy(away);
  tide_future_destroy(future);
  close_world(&w);
}

TEST(out_of_order_what_was_ready_does_not_start) {
  struct world w;
  open_world(&w);
  struct tide_queue *away = CHANNEL(w.f.other, .label = "away", .client = w.client);
  CHECK_OK(SUBMIT(away, .label = "bad"));
  CHECK_OK(SUBMIT(away, .label = "ready"));
  w.f.count = (uint32_t)tide_device_exchange(w.f.other, NULL, 0, w.f.out, 1, NULL);
  CHECK(fake_out(&w.f, "bad") && !fake_out(&w.f, "ready"));
  fake_give(&w.f, "bad", TIDE_IO);
  fake_run_out(&w.f);
  CHECK(!fake_ran(&w.f, "ready"));
  CHECK_STATUS(fake_status(&w.f, "ready"), TIDE_IO);
  tide_queue_destroy(away);
  close_world(&w);
}

/* One failure fails all that is queued behind it, held or not, each once. */
TEST(a_crowd_behind_a_failed_command) {
  enum { N = 50000 };
  struct world w;
  open_world(&w);
  struct tide_queue *crowded =
      CHANNEL(w.f.device, .label = "crowded", .client = w.client, .operations = 2 * N + 2);
  struct tide_point never = promise(w.fb), last;
  CHECK_OK(SUBMIT(crowded, .label = "bad"));
  for (int i = 0; i < N; i++) CHECK_OK(SUBMIT(crowded));
  for (int i = 0; i < N; i++) CHECK_OK(SUBMIT(crowded, POINTS(WAIT_FOR(never))));
  CHECK_OK(tide_queue_insert_point(crowded, &last, NULL));
  run_badly(&w, "bad", TIDE_IO);
  BROKEN(&w, last, TIDE_IO);
  tide_queue_destroy(crowded);
  close_world(&w);
}

/* ---- real workers ------------------------------------------------------------------------------
 */

static uint32_t ran, failed;
static enum tide_status count_run(void *arguments) {
  (void)arguments;
  __atomic_fetch_add(&ran, 1u, __ATOMIC_RELAXED);
  return TIDE_OK;
}
static enum tide_status fail_run(void *arguments) {
  (void)arguments;
  __atomic_fetch_add(&failed, 1u, __ATOMIC_RELAXED);
  return TIDE_IO;
}

struct crew {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_queue *queue, *other;
};

static void open_crew(struct crew *c, uint32_t workers) {
  struct tide_cpu_params cpu = {.struct_size = sizeof cpu, .workers = workers};
  struct tide_points_params room = {.struct_size = sizeof room, .manual = true};
  ran = failed = 0;
  CHECK_OK(tide_context_create(NULL, &c->context));
  CHECK_OK(tide_cpu_open(c->context, &cpu, &c->device));
  CHECK_OK(tide_points_create(c->context, &room, &c->points));
  CHECK_OK(tide_client_create(c->points, NULL, &c->client));
  /* As many points may break, each apart from the others. */
  c->queue = CHANNEL(c->device, .client = c->client, .operations = 2048);
  c->other = CHANNEL(c->device, .client = c->client);
}

static void close_crew(struct crew *c) {
  tide_queue_destroy(c->queue);
  tide_queue_destroy(c->other);
  tide_device_close(c->device);
  tide_client_destroy(c->client, TIDE_OK);
  tide_points_destroy(c->points);
  tide_context_destroy(c->context);
}

/* Brief bodies are taken several at once. */
static void fail_on_workers(bool brief, uint32_t workers) {
  const struct tide_body_class good = {.name = "good", .host = count_run, .non_blocking = brief};
  const struct tide_body_class bad = {.name = "bad", .host = fail_run, .non_blocking = brief};
  struct crew c;
  open_crew(&c, workers);
  struct tide_operation runs = {.body = &good}, fails = {.body = &bad};
  struct tide_operation despite = {.body = &good, .flags = TIDE_DESPITE_BROKEN};
  uint32_t rounds = 500 / test_slowdown() + 1;
  for (uint32_t round = 0; round < rounds; round++) {
    struct tide_point behind, fresh;
    CHECK_OK(tide_queue_submit(c.queue, &fails, NULL, NULL));
    for (int i = 0; i < 20; i++) CHECK_OK(tide_queue_submit(c.queue, &runs, NULL, NULL));
    CHECK_OK(tide_queue_submit(c.queue, &despite, NULL, NULL));
    CHECK_OK(tide_queue_submit(c.queue, &despite, NULL, NULL));
    for (int i = 0; i < 20; i++) CHECK_OK(tide_queue_submit(c.queue, &runs, NULL, NULL));
    CHECK_OK(tide_queue_insert_point(c.queue, &behind, NULL));
    CHECK_OK(tide_queue_recover(c.queue, NULL));
    CHECK_OK(tide_queue_submit(c.queue, &runs, NULL, NULL));
    CHECK_OK(tide_queue_insert_point(c.queue, &fresh, NULL));
    CHECK_STATUS(tide_point_wait(c.points, behind, TIDE_FOREVER), TIDE_IO);
    CHECK_OK(tide_point_wait(c.points, fresh, TIDE_FOREVER));
  }
  CHECK_EQ_U64(failed, rounds);
  CHECK_EQ_U64(ran, 3 * rounds);
  close_crew(&c);
}
TEST(on_one_worker) { fail_on_workers(false, 1); }
TEST(on_three_workers) { fail_on_workers(false, 3); }
TEST(brief_on_one_worker) { fail_on_workers(true, 1); }
TEST(brief_on_three_workers) { fail_on_workers(true, 3); }

/* The fast path of a submit sees that a command was refused. */
TEST(nothing_runs_behind_a_refused_command) {
  const struct tide_body_class good = {.name = "good", .host = count_run};
  struct tide_operation runs = {.body = &good};
  struct crew c;
  struct tide_point point;
  open_crew(&c, 1);
  CHECK_OK(tide_queue_submit(c.queue, &runs, NULL, NULL));
  CHECK_OK(tide_queue_drain(c.queue, TIDE_FOREVER));
  tide_queue_refuse(c.queue, TIDE_DENIED);
  CHECK_OK(tide_queue_submit(c.queue, &runs, NULL, NULL));
  CHECK_OK(tide_queue_insert_point(c.queue, &point, NULL));
  CHECK_STATUS(tide_point_wait(c.points, point, TIDE_FOREVER), TIDE_DENIED);
  CHECK_EQ_U64(ran, 1);
  CHECK_OK(tide_queue_recover(c.queue, NULL));
  CHECK_OK(tide_queue_submit(c.queue, &runs, NULL, NULL));
  CHECK_OK(tide_queue_insert_point(c.queue, &point, NULL));
  CHECK_OK(tide_point_wait(c.points, point, TIDE_FOREVER));
  CHECK_EQ_U64(ran, 2);
  close_crew(&c);
}

/* What is held behind a command that runs all the same does not wait either, once that is over. */
TEST(held_behind_one_that_runs_despite) {
  const struct tide_body_class good = {.name = "good", .host = count_run};
  const struct tide_body_class bad = {.name = "bad", .host = fail_run};
  struct tide_operation fails = {.body = &bad};
  struct tide_operation despite = {.body = &good, .flags = TIDE_DESPITE_BROKEN};
  struct crew c;
  open_crew(&c, 1);
  struct tide_future *future = future_of(c.other, 4);
  struct tide_point never, behind;
  CHECK_OK(tide_future_promise(future, TIDE_FOREVER, &never));
  tide_context_pause(c.context);
  CHECK_OK(tide_queue_submit(c.queue, &fails, NULL, NULL));
  CHECK_OK(tide_queue_submit(c.queue, &despite, NULL, NULL));
  CHECK_OK(tide_queue_wait_point(c.queue, never, 0, NULL));
  CHECK_OK(tide_queue_insert_point(c.queue, &behind, NULL));
  tide_context_resume(c.context);
  CHECK_STATUS(tide_point_wait(c.points, behind, TIDE_FOREVER), TIDE_IO);
  CHECK_EQ_U64(ran, 1);
  CHECK_STATUS(tide_point_wait(c.points, never, TIDE_NOW), TIDE_TIMEOUT);
  close_crew(&c);
}

TEST_MAIN(CASE(a_failed_wait_stops_what_is_behind), CASE(a_failed_body_stops_what_is_behind),
          CASE(a_failed_timeline_stops_what_is_behind), CASE(a_plain_queue_goes_on),
          CASE(failure_crosses_by_points), CASE(a_part_of_a_collective_fails_with_its_channel),
          CASE(what_is_submitted_behind_a_refused_command_fails),
          CASE(a_recovery_counts_at_its_place), CASE(a_recovery_may_have_a_body),
          CASE(despite_broken_runs_alone), CASE(commands_behind_a_failed_one_do_not_wait),
          CASE(what_was_imported_must_have_finished),
          CASE(passable_commands_have_their_place_where_they_enter),
          CASE(nothing_is_chosen_and_no_priority_changes),
          CASE(a_cancelled_command_fails_nothing_else),
          CASE(a_command_is_cancelled_by_the_one_before_it),
          CASE(a_cancelled_recovery_recovers_nothing),
          CASE(out_of_order_what_has_started_runs_and_its_points_break),
          CASE(out_of_order_what_was_ready_does_not_start), CASE(a_crowd_behind_a_failed_command),
          CASE(on_one_worker), CASE(on_three_workers), CASE(brief_on_one_worker),
          CASE(brief_on_three_workers), CASE(nothing_runs_behind_a_refused_command),
          CASE(held_behind_one_that_runs_despite))
