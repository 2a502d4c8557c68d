/* A paused context starts nothing, not even what needs no device: operations without a body, a
 * channel's commands, parts of collectives. Failed and cancelled ones end all the same. */
#include "channel_rig.h"

#include "tidemark/channel.h"

#pragma GCC diagnostic ignored "-Woverride-init"

#define EMPTY(queue, ...) SUBMIT(queue, .body = NULL, __VA_ARGS__)

static bool is_over(struct fake *f, const char *label) {
  return fake_find(f, TIDE_EVENT_FINISH, label, 0) != NULL;
}

/* Labels of finished operations, in order. */
static void check_order(struct fake *f, const char *expected) {
  char order[128] = "";
  for (uint32_t i = 0; i < f->event_count; i++)
    if (f->events[i].kind == TIDE_EVENT_FINISH)
      strcat(strcat(order, *order ? " " : ""), f->events[i].label);
  CHECK_EQ_STR(order, expected);
}

static void open_paused(struct fake *f, bool in_order) {
  struct tide_context_params params = {
      .struct_size = sizeof params, .paused = true, .frontier_capacity = 16};
  fake_open_with(f, params, in_order);
}

/* They end in the order in which they entered, and then those that they release. */
static void leave_empty(bool in_order) {
  struct fake f;
  open_paused(&f, in_order);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b"), *c = fake_queue(&f, "c");
  struct tide_timeline *t = fake_timeline(&f, "t", false), *u = fake_timeline(&f, "u", false);
  CHECK_OK(EMPTY(b, .label = "one", SIGNALS({t, 1})));
  CHECK_OK(EMPTY(a, .label = "two"));
  CHECK_OK(EMPTY(c, .label = "three"));
  CHECK_OK(EMPTY(c, .label = "late", WAITS({u, 1})));
  CHECK_OK(SUBMIT(a, .label = "run", WAITS({t, 1})));
  CHECK(fake_held(&f, "late"));
  CHECK_OK(tide_timeline_signal_external(u, 1)); /* it enters while paused */
  CHECK(!fake_held(&f, "late"));
  fake_take_all(&f);
  CHECK(f.count == 0 && tide_timeline_query(t) == 0);
  CHECK(!is_over(&f, "one") && !is_over(&f, "two") && !is_over(&f, "three") &&
        !is_over(&f, "late"));
  CHECK_STATUS(tide_queue_drain(b, TIDE_NOW), TIDE_TIMEOUT);
  tide_context_resume(f.context);
  check_order(&f, "one two three late");
  CHECK_EQ_U64(tide_timeline_query(t), 1);
  fake_run(&f, "run");
  tide_context_pause(f.context);
  CHECK_OK(EMPTY(a, .label = "four"));
  CHECK(!is_over(&f, "four"));
  tide_context_resume(f.context);
  CHECK(is_over(&f, "four"));
  tide_queue_destroy(a), tide_queue_destroy(b), tide_queue_destroy(c);
  tide_timeline_release(t), tide_timeline_release(u);
  fake_close(&f);
}
TEST(empty_ones_wait) { leave_empty(true); }
TEST(empty_ones_wait_out_of_order) { leave_empty(false); }

/* Each is the first of its queue: "behind" is the next one of such a queue. */
TEST(failed_and_cancelled_ones_end) {
  struct fake f;
  open_paused(&f, true);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", false), *u = fake_timeline(&f, "u", false);
  uint64_t sequence;
  CHECK_OK(EMPTY(a, .label = "fails", WAITS({t, 1}), SIGNALS({u, 1})));
  CHECK_OK(EMPTY(a, .label = "behind"));
  CHECK_OK(tide_queue_submit(b, &(struct tide_operation){.label = "cancelled"}, &sequence, NULL));
  tide_timeline_fail(t, TIDE_IO);
  CHECK_STATUS(fake_status(&f, "fails"), TIDE_IO);
  CHECK_STATUS(tide_timeline_wait(u, 1, TIDE_NOW), TIDE_IO);
  CHECK_OK(tide_queue_cancel(b, sequence));
  CHECK_STATUS(fake_status(&f, "cancelled"), TIDE_CANCELLED);
  CHECK(!is_over(&f, "behind"));
  char text[256];
  tide_context_diagnose(f.context, text, sizeof text);
  CHECK(strstr(text, "behind") && strstr(text, "for the context to be resumed"));
  tide_queue_destroy(a), tide_queue_destroy(b);
  CHECK_STATUS(fake_status(&f, "behind"), TIDE_CANCELLED);
  tide_timeline_release(t), tide_timeline_release(u);
  fake_close(&f);
}

TEST(parts_wait) {
  struct fake f;
  open_paused(&f, true);
  struct tide_queue *members[2] = {fake_queue(&f, "a"), fake_queue(&f, "b")};
  struct tide_collective *all;
  CHECK_OK(tide_collective_create(members, 2, "all", &all));
  for (size_t i = 0; i < 2; i++) /* one with a body */
    CHECK_OK(tide_collective_submit(
        all, i, 1,
        &(struct tide_operation){.label = i ? "part" : "empty", .body = i ? &fake_body : NULL},
        NULL, NULL));
  fake_take_all(&f);
  CHECK(f.count == 0 && !is_over(&f, "empty"));
  tide_context_resume(f.context);
  CHECK(is_over(&f, "empty"));
  fake_run(&f, "part");
  CHECK_EQ_U64(tide_timeline_query(tide_collective_progress(all)), 1);
  tide_collective_destroy(all);
  tide_queue_destroy(members[0]), tide_queue_destroy(members[1]);
  fake_close(&f);
}

static enum tide_point_state state_of(struct world *w, struct tide_point point) {
  enum tide_point_state state;
  CHECK_OK(tide_point_state(w->points, point, &state, NULL));
  return state;
}

TEST(commands_wait) {
  struct world w;
  struct tide_future *user;
  struct tide_point inserted;
  open_world(&w);
  CHECK_OK(tide_future_create(w.client, NULL, &user));
  struct tide_point kept = promise(w.fa), choice = promise(user), until = promise(user);
  tide_context_pause(w.f.context);
  CHECK_OK(EMPTY(w.a, .label = "retire", POINTS(RETIRE(kept))));
  CHECK_OK(tide_queue_insert_point(w.a, &inserted, NULL));
  CHECK_OK(EMPTY(w.b, .label = "chooses nothing", POINTS(.choose = &choice)));
  CHECK_OK(SUBMIT(w.c, .label = "chooses", POINTS(.choose = &choice)));
  CHECK_OK(tide_queue_decrease_priority_until(w.b, until, 3, NULL, NULL));
  fake_take_all(&w.f);
  CHECK(w.f.count == 0 && !is_over(&w.f, "retire") && !is_over(&w.f, "chooses nothing"));
  CHECK(state_of(&w, kept) != TIDE_POINT_RETIRED && state_of(&w, inserted) != TIDE_POINT_RETIRED);
  CHECK_OK(tide_future_fulfil(user, choice.value, NULL)); /* before its turn */
  tide_context_resume(w.f.context);
  CHECK(is_over(&w.f, "retire") && is_over(&w.f, "chooses nothing"));
  CHECK(state_of(&w, kept) == TIDE_POINT_RETIRED && state_of(&w, inserted) == TIDE_POINT_RETIRED);
  fake_run(&w.f, "chooses");
  CHECK(fake_ran(&w.f, "chooses"));
  close_world(&w);
}

/* What has ended by itself while paused would be a past that is over: a wait that is resolved. */
TEST(decisions_are_those_of_submission) {
  struct fake f;
  open_paused(&f, true);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", true);
  CHECK_OK(EMPTY(a, .label = "first", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(b, .label = "second", WAITS({t, 1})));
  CHECK_EQ_U64(fake_class(&f, "second", 0), TIDE_WAIT_ISSUED);
  tide_context_resume(f.context);
  fake_run(&f, "second");
  tide_queue_destroy(a), tide_queue_destroy(b);
  tide_timeline_release(t);
  fake_close(&f);
}

/* The context may end without having been resumed. */
TEST(left_paused) {
  struct fake f;
  open_paused(&f, true);
  CHECK_OK(EMPTY(fake_queue(&f, "a"), .label = "one"));
  tide_context_destroy(f.context);
  CHECK_STATUS(fake_status(&f, "one"), TIDE_CANCELLED);
}

TEST_MAIN(CASE(empty_ones_wait), CASE(empty_ones_wait_out_of_order),
          CASE(failed_and_cancelled_ones_end), CASE(parts_wait), CASE(commands_wait),
          CASE(decisions_are_those_of_submission), CASE(left_paused))
