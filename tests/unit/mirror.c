/* Mirrors: what a home tells comes late, twice and out of order; waits, elision and failure on it.
 */
#include "timeline/mirror.h"
#include "causal/tracker.h"
#include "fake_device.h"
#include "timeline/pending_value.h"

#define HOME 2 /* the machine number of the home; this context's is 0 */

static tide_axis home_queue(uint64_t ordinal) {
  return tide_axis_make(HOME, TIDE_DOMAIN_QUEUE, ordinal);
}

/* A record of the home, with up to two entries besides its signaller's. */
struct told {
  struct tide_mirror_record record;
  TIDE_FRONTIER_STORAGE(frontier, 8);
};

static struct tide_mirror_record tell(struct told *told, uint64_t value, tide_axis axis,
                                      uint64_t epoch, struct tide_frontier_entry a,
                                      struct tide_frontier_entry b) {
  struct tide_frontier *frontier = &told->frontier.frontier;
  tide_frontier_init(frontier, 8);
  if (axis) tide_frontier_insert_or_raise(frontier, axis, epoch, NULL);
  if (a.axis) tide_frontier_insert_or_raise(frontier, a.axis, a.epoch, NULL);
  if (b.axis) tide_frontier_insert_or_raise(frontier, b.axis, b.epoch, NULL);
  told->record = (struct tide_mirror_record){value, axis, epoch, frontier};
  return told->record;
}
#define NONE ((struct tide_frontier_entry){0, 0})
#define ENTRY(axis, epoch) ((struct tide_frontier_entry){(axis), (epoch)})

static enum tide_status take(struct tide_timeline *mirror, struct tide_mirror_state state,
                             struct tide_diag *diag) {
  struct tide_context *context = mirror->context;
  struct tide_fired fired;
  tide_fired_init(&fired);
  if (!state.fail_from) state.fail_from = UINT64_MAX;
  enum tide_status status = tide_mirror_take(mirror, &state, &fired, diag);
  tide_fired_run_calls(&fired, context);
  return status;
}

/* The home tells one promise. */
static void promise(struct tide_timeline *mirror, uint64_t reached,
                    struct tide_mirror_record record) {
  CHECK_OK(
      take(mirror,
           (struct tide_mirror_state){.reached = reached, .pending = &record, .pending_count = 1},
           NULL));
}
/* The home tells that a tracked record is reached. */
static void reach(struct tide_timeline *mirror, struct tide_mirror_record record) {
  CHECK_OK(
      take(mirror, (struct tide_mirror_state){.reached = record.value, .newest = record}, NULL));
}

static void lose(struct tide_timeline *mirror) {
  struct tide_context *context = mirror->context;
  struct tide_failure why = {.status = TIDE_LOST, .text = "machine 2 (host b, pid 71)"};
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_mirror_lose(mirror, &why, &fired);
  tide_fired_run_calls(&fired, context);
}

static struct tide_timeline *open_mirror(struct fake *f, const char *label) {
  struct tide_timeline *mirror;
  CHECK_OK(tide_mirror_create(f->context, label, &mirror));
  return mirror;
}

static void diagnosed(struct fake *f, const char *words) {
  char text[512];
  (void)tide_context_diagnose(f->context, text, sizeof text);
  if (!strstr(text, words)) FAIL("no \"%s\" in: %s", words, text);
}

/* ---- the join ------------------------------------------------------------------------------ */

TEST(states_join) {
  struct fake f;
  struct told a, b, c;
  struct tide_record_info info;
  TIDE_FRONTIER_STORAGE(knows, 8);
  fake_open(&f, true, 16);
  struct tide_timeline *m = open_mirror(&f, "m");
  tide_frontier_init(&knows.frontier, 8);
  tell(&a, 3, home_queue(1), 1, NONE, NONE);
  tell(&b, 5, home_queue(1), 2, ENTRY(home_queue(2), 7), NONE);
  tell(&c, 9, home_queue(1), 3, NONE, NONE);
  promise(m, 0, b.record); /* before that of 3 */
  CHECK_EQ_U64(tide_timeline_query(m), 0);
  CHECK(
      !tide_tracker_finished(f.context->tracker, home_queue(2), 7)); /* a promise teaches nothing */
  reach(m, b.record);
  reach(m, a.record); /* late */
  promise(m, 0, a.record);
  CHECK_EQ_U64(tide_timeline_query(m), 5);
  CHECK(tide_tracker_finished(f.context->tracker, home_queue(2), 7));
  CHECK_OK(
      tide_timeline_frontier_at(m, 3, &knows.frontier, &info)); /* the record of 3 was missed */
  CHECK(info.value == 5 && info.coarse && info.epoch == 2);
  CHECK_EQ_U64(tide_frontier_get(&knows.frontier, home_queue(2)), 7);
  CHECK_OK(take(m, (struct tide_mirror_state){.reached = 7}, NULL)); /* an external value */
  CHECK_OK(tide_timeline_frontier_at(m, 6, &knows.frontier, &info));
  CHECK(info.external);
  promise(m, 7, c.record);
  CHECK_OK(take(m, (struct tide_mirror_state){.reached = 12}, NULL)); /* its record was promised */
  CHECK_OK(tide_timeline_frontier_at(m, 6, &knows.frontier, &info));
  CHECK(!info.external && info.value == 9 && info.coarse);
  CHECK_OK(tide_timeline_frontier_at(m, 9, &knows.frontier, &info));
  CHECK(!info.coarse && info.epoch == 3);
  tide_timeline_destroy(m);
  fake_close(&f);
}

TEST(what_no_home_can_say) {
  struct fake f;
  struct told a, b;
  struct tide_diag diag;
  fake_open(&f, true, 16);
  struct tide_timeline *m = open_mirror(&f, "m");
  tell(&a, 3, home_queue(1), 1, NONE, NONE);
  tell(&b, 3, home_queue(1), 1, NONE, NONE);
  struct tide_mirror_record twice[] = {a.record, b.record};
  struct tide_mirror_record unsigned_ = a.record;
  unsigned_.epoch = 2;
#define REFUSED(words, ...)                                                                        \
  do {                                                                                             \
    CHECK_STATUS(take(m, (struct tide_mirror_state){__VA_ARGS__}, &diag), TIDE_CORRUPT);           \
    CHECK_EQ_STR(diag.text, "timeline 'm': the home tells " words);                                \
  } while (0)
  REFUSED("pending values that do not go up: 3", .pending = twice, .pending_count = 2);
  REFUSED("pending values that do not go up: 3", .reached = 3, .pending = twice,
          .pending_count = 1);
  REFUSED("a pending record without its signaller: 3", .pending = &unsigned_, .pending_count = 1);
  REFUSED("a reached record above the reached value: 3", .reached = 2, .newest = a.record);
  REFUSED("a reached record without its signaller: 3", .reached = 3, .newest = unsigned_);
  REFUSED("a reached value that has failed: 4", .reached = 4, .fail_from = 4,
          .status = TIDE_FAILED);
  REFUSED("a failure without a status: 4", .fail_from = 4);
  CHECK(!tide_tracker_finished(f.context->tracker, home_queue(1), 1));
  CHECK_OK(take(m, (struct tide_mirror_state){.fail_from = 4, .status = TIDE_FAILED}, NULL));
  REFUSED("a value that it has failed before: 5", .reached = 5);
  CHECK_STATUS(tide_timeline_wait(m, 4, TIDE_NOW), TIDE_FAILED);
  CHECK_STATUS(tide_timeline_wait(m, 3, TIDE_NOW), TIDE_TIMEOUT);
  CHECK_STATUS(tide_timeline_signal_external(m, 1), TIDE_DENIED);
  tide_timeline_fail(m, TIDE_FAILED); /* not by a user */
  CHECK_STATUS(tide_timeline_wait(m, 3, TIDE_NOW), TIDE_TIMEOUT);
  lose(m);
  CHECK_STATUS(tide_timeline_wait(m, 3, TIDE_NOW), TIDE_FAILED);     /* the first status stays */
  CHECK_OK(take(m, (struct tide_mirror_state){.reached = 3}, NULL)); /* too late */
  CHECK_EQ_U64(tide_timeline_query(m), 0);
  tide_timeline_destroy(m);
  fake_close(&f);
}

TEST(many_promises) {
  struct fake f;
  static struct told told[3 * TIDE_MIRROR_PENDING];
  struct tide_record_view view;
  fake_open(&f, true, 16);
  struct tide_timeline *m = open_mirror(&f, "m");
  for (uint64_t i = 3 * TIDE_MIRROR_PENDING; i > 0; i--)
    promise(m, 0, tell(&told[i - 1], i, home_queue(1), i, NONE, NONE));
  CHECK(m->ops->find(m->backing, 1, &view) && view.value == 1);
  CHECK(m->ops->find(m->backing, TIDE_MIRROR_PENDING, &view));
  CHECK(!m->ops->find(m->backing, TIDE_MIRROR_PENDING + 1, &view));
  tide_timeline_destroy(m);
  fake_close(&f);
}

/* ---- operations ------------------------------------------------------------------------------ */

TEST(held_until_it_is_promised) {
  struct fake f;
  struct told a;
  fake_open(&f, true, 16);
  struct tide_timeline *m = open_mirror(&f, "m");
  struct tide_queue *q = fake_queue(&f, "q");
  CHECK_OK(SUBMIT(q, .label = "x", WAITS({m, 3})));
  CHECK(fake_held(&f, "x"));
  diagnosed(&f, "'x' (1) is held 'm' >= 3 (at 0; no machine has promised it)");
  promise(m, 0, tell(&a, 5, home_queue(1), 1, NONE, NONE));
  CHECK(fake_class(&f, "x", 0) == TIDE_WAIT_ISSUED);
  CHECK(!fake_runs(&f, "x"));
  diagnosed(&f, "'x' (1) waits 'm' >= 3 (at 0; another machine has promised 5)");
  CHECK_EQ_U64(fake_find(&f, TIDE_EVENT_WAIT_CLASS, "x", 0)->cause_axis,
               0); /* 5 is more than asked */
  CHECK_OK(take(m, (struct tide_mirror_state){.reached = 3}, NULL));
  fake_run(&f, "x");
  tide_queue_destroy(q);
  tide_timeline_destroy(m);
  fake_close(&f);
}

/* The signaller is known, by another timeline, long before its value arrives here. */
TEST(elided_and_late) {
  struct fake f;
  struct told a, b;
  fake_open(&f, true, 16);
  struct tide_timeline *m = open_mirror(&f, "m"), *n = open_mirror(&f, "n");
  struct tide_queue *q = fake_queue(&f, "q");
  promise(m, 0, tell(&a, 1, home_queue(1), 4, NONE, NONE));
  promise(n, 0, tell(&b, 1, home_queue(2), 1, ENTRY(home_queue(1), 4), NONE));
  CHECK_OK(SUBMIT(q, .label = "x", WAITS({n, 1})));
  CHECK_OK(SUBMIT(q, .label = "y", WAITS({m, 1})));
  CHECK(fake_class(&f, "x", 0) == TIDE_WAIT_ISSUED);
  CHECK(fake_class(&f, "y", 0) == TIDE_WAIT_ELIDED && fake_reason(&f, "y", 0) == TIDE_REASON_KNOWN);
  reach(n, b.record);
  fake_run(&f, "x");
  CHECK(!fake_runs(&f, "y")); /* its record is not settled here */
  reach(m, a.record);
  fake_run(&f, "y");
  tide_queue_destroy(q);
  tide_timeline_destroy(m);
  tide_timeline_destroy(n);
  fake_close(&f);
}

/* Elision drops the wait, never the failure. */
TEST(elided_and_failed) {
  struct fake f;
  struct told a, b;
  struct tide_failure why;
  fake_open(&f, true, 16);
  struct tide_timeline *m = open_mirror(&f, "m"), *n = open_mirror(&f, "n"),
                       *t = fake_timeline(&f, "t", true);
  struct tide_queue *q = fake_queue(&f, "q");
  promise(m, 0, tell(&a, 1, home_queue(1), 4, NONE, NONE));
  promise(n, 0, tell(&b, 1, home_queue(2), 1, ENTRY(home_queue(1), 4), NONE));
  CHECK_OK(SUBMIT(q, .label = "x", WAITS({n, 1})));
  CHECK_OK(SUBMIT(q, .label = "y", WAITS({m, 1}), SIGNALS({t, 1})));
  reach(n, b.record);
  fake_run(&f, "x");
  CHECK(!fake_runs(&f, "y"));
  struct tide_failure first = {.status = TIDE_FAILED, .text = "a disk is full"};
  CHECK_OK(take(
      m, (struct tide_mirror_state){.fail_from = 1, .status = TIDE_FAILED, .cause = &first}, NULL));
  CHECK_STATUS(fake_status(&f, "y"), TIDE_FAILED);
  CHECK(!fake_ran(&f, "y") && tide_timeline_failure(t, 1, &why));
  CHECK_EQ_STR(why.text, "a disk is full");
  tide_queue_destroy(q);
  tide_timeline_destroy(m);
  tide_timeline_destroy(n);
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* The home is lost, which severs its axes. What an operation knew of this machine still runs. */
TEST(a_failure_awaits_all_that_was_known) {
  struct fake f;
  struct told a;
  fake_open(&f, true, 16);
  struct tide_timeline *m = open_mirror(&f, "m"), *t = fake_timeline(&f, "t", true);
  struct tide_queue *q = fake_queue(&f, "q"), *r = fake_queue(&f, "r");
  CHECK_OK(SUBMIT(r, .label = "slow", SIGNALS({t, 1})));
  fake_take(&f, "slow");
  tide_axis slow = tide_queue_axis(r);
  promise(m, 0, tell(&a, 1, home_queue(1), 1, ENTRY(slow, 1), NONE));
  CHECK_OK(SUBMIT(q, .label = "x", WAITS({m, 1}))); /* knows "slow", by the home */
  CHECK_OK(SUBMIT(q, .label = "y", WAITS({t, 1})));
  CHECK(fake_class(&f, "y", 0) == TIDE_WAIT_ELIDED);
  tide_tracker_sever(f.context->tracker, 0, TIDE_LOST);
  lose(m);
  CHECK(!fake_find(&f, TIDE_EVENT_PUBLISH, "x", 0)); /* else "y" would start beside "slow" */
  diagnosed(&f, "'x' (1) waits, as failed, for the end of queue:0.2@1: 'slow' of queue 'r'");
  CHECK(!fake_runs(&f, "y"));
  fake_give(&f, "slow", TIDE_OK);
  CHECK_STATUS(fake_status(&f, "x"), TIDE_LOST);
  fake_run(&f, "y");
  tide_queue_destroy(q);
  tide_queue_destroy(r);
  tide_timeline_destroy(m);
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* A host tells of an axis that is made known only later; what fails then knows that axis, too. */
TEST(an_axis_that_is_not_known_yet) {
  struct fake f;
  TIDE_FRONTIER_STORAGE(knows, 4);
  struct tide_position host = {.frontier = &knows.frontier};
  fake_open(&f, true, 16);
  struct tide_timeline *t, *u = fake_timeline(&f, "u", false);
  struct tide_timeline_params params = {.struct_size = sizeof params, .label = "t", .history = 4};
  CHECK_OK(tide_timeline_create(f.context, &params, &t));
  struct tide_queue *q = fake_queue(&f, "q");
  CHECK_OK(tide_lease_take(f.context->lease, TIDE_DOMAIN_HOST, &host.axis));
  CHECK_OK(tide_tracker_register(f.context->tracker, host.axis));
  tide_frontier_init(&knows.frontier, 4);
  tide_frontier_insert_or_raise(&knows.frontier, home_queue(1), 3, NULL);
  CHECK_OK(SUBMIT(q, .label = "x", WAITS({t, 1}, {u, 1})));
  CHECK_OK(tide_timeline_signal(t, 1, &host));
  tide_timeline_fail(u, TIDE_FAILED);
  CHECK(!fake_find(&f, TIDE_EVENT_PUBLISH, "x", 0));
  diagnosed(&f, "'x' (1) waits, as failed, for the end of queue:2.1@3: an operation elsewhere");
  CHECK_OK(tide_tracker_register(f.context->tracker, home_queue(1)));
  CHECK_OK(tide_tracker_advance(f.context->tracker, home_queue(1), 2));
  CHECK(!fake_find(&f, TIDE_EVENT_PUBLISH, "x", 0));
  CHECK_OK(tide_tracker_advance(f.context->tracker, home_queue(1), 3));
  CHECK_STATUS(fake_status(&f, "x"), TIDE_FAILED);
  tide_queue_destroy(q);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* What is to come from elsewhere may come: no submit is refused for it. */
TEST(no_deadlock) {
  struct fake f;
  struct told a;
  fake_open(&f, true, 16);
  struct tide_timeline *m = open_mirror(&f, "m"), *t = fake_timeline(&f, "t", true);
  struct tide_queue *q = fake_queue_on(f.device, "q", 2), *r = fake_queue(&f, "r");
  CHECK_OK(SUBMIT(q, .label = "x", WAITS({m, 1}, {t, 1})));
  CHECK_OK(SUBMIT(r, .label = "y", WAITS({m, 2}), SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(q, .label = "z"));
  CHECK_STATUS(SUBMIT(q, .label = "w"), TIDE_FULL);
  CHECK_STATUS(SUBMIT(r, .label = "v", SIGNALS({m, 9})), TIDE_DENIED);
  promise(m, 0, tell(&a, 2, home_queue(1), 1, NONE, NONE));
  reach(m, a.record);
  fake_run_out(&f);
  CHECK_EQ_U64(tide_timeline_query(t), 1);
  tide_queue_destroy(q);
  tide_queue_destroy(r);
  tide_timeline_destroy(m);
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* The last owner goes while an operation waits, and the context while another one does. */
TEST(the_user_leaves_it) {
  struct fake f;
  struct told a;
  fake_open(&f, true, 16);
  struct tide_timeline *m = open_mirror(&f, "m");
  struct tide_queue *q = fake_queue(&f, "q");
  CHECK_OK(SUBMIT(q, .label = "x", WAITS({m, 3})));
  tide_timeline_release(m);
  CHECK_STATUS(fake_status(&f, "x"), TIDE_CANCELLED);
  m = open_mirror(&f, "n");
  promise(m, 0, tell(&a, 3, home_queue(1), 1, ENTRY(home_queue(2), 5), NONE));
  CHECK_OK(SUBMIT(q, .label = "y", WAITS({m, 3}))); /* awaits two axes of the home */
  CHECK_OK(tide_device_settle(f.other, TIDE_NOW));
  tide_device_close(f.other);
  tide_context_destroy(f.context);
}

TEST_MAIN(CASE(states_join), CASE(what_no_home_can_say), CASE(many_promises),
          CASE(held_until_it_is_promised), CASE(elided_and_late), CASE(elided_and_failed),
          CASE(a_failure_awaits_all_that_was_known), CASE(an_axis_that_is_not_known_yet),
          CASE(no_deadlock), CASE(the_user_leaves_it))
