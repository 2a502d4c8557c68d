/* Points: breaking against waiting and retiring, deadlines against keeping, cancelling a wait. */
#include "interleave.h"

#include "base/check.h"
#include "harness.h"
#include "tidemark/tidemark.h"

struct state {
  struct tide_context *context;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_future *future;
  struct tide_point first, second;
  struct tide_timeline *line;
  struct tide_schedulable wait;
  struct tide_timepoint end;
  enum tide_status kept, given_up, waited;
  unsigned calls;
  bool cancelled;
};

static void setup(void *self) {
  struct state *s = self;
  struct tide_points_params room = {
      .struct_size = sizeof room, .manual = true, .timelines = 1, .parts = 1};
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = 2};
  uint64_t value;
  EXPECT_OK(tide_context_create(NULL, &s->context));
  EXPECT_OK(tide_points_create(s->context, &room, &s->points));
  EXPECT_OK(tide_client_create(s->points, NULL, &s->client));
  EXPECT_OK(tide_future_create(s->client, &params, &s->future));
  EXPECT_OK(tide_future_promise(s->future, 0, &s->first));
  EXPECT_OK(tide_future_promise(s->future, 0, &s->second));
  EXPECT_OK(tide_point_timeline(s->points, s->first, &s->line, &value));
}

static void on_call(struct tide_schedulable *wait, enum tide_status status) {
  struct state *s = wait->user;
  (void)status;
  s->calls++;
}
static void setup_wait(void *self) {
  struct state *s = self;
  setup(self);
  s->wait.call = on_call;
  s->wait.user = s;
  s->wait.client = s->client;
  EXPECT_OK(tide_point_when_schedulable(&s->wait, s->first, NULL, 0));
}

static void on_end(struct tide_timepoint *timepoint, enum tide_status status) {
  struct state *s = TIDE_CONTAINER(timepoint, struct state, end);
  s->waited = status;
  s->calls++;
}
/* Nobody but its future holds the timeline. */
static void setup_end(void *self) {
  struct state *s = self;
  setup(self);
  tide_timeline_release(s->line);
  s->end.call = on_end;
  EXPECT_OK(tide_point_when_complete(s->points, s->first, &s->end));
}

static void give_up_first(void *self) {
  struct state *s = self;
  s->given_up = tide_future_break(s->future, 1, TIDE_FAILED);
}
static void keep_first(void *self) {
  struct state *s = self;
  s->kept = tide_future_fulfil(s->future, 1, NULL);
}
static void keep_second(void *self) {
  struct state *s = self;
  s->kept = tide_future_fulfil(s->future, 2, NULL);
}
static void give_up_then_keep(void *self) {
  give_up_first(self);
  keep_second(self);
}
static void wait_first(void *self) {
  struct state *s = self;
  s->waited = tide_timeline_wait(s->line, 1, TIDE_FOREVER);
}
static void glance_first(void *self) {
  struct state *s = self;
  s->waited = tide_timeline_wait(s->line, 1, TIDE_NOW);
  EXPECT(s->waited == TIDE_TIMEOUT || s->waited == TIDE_FAILED);
}
/* Nobody else looks at deadlines: it does so itself, when its clock says so. */
static void wait_and_watch(void *self) {
  struct state *s = self;
  s->waited = tide_point_wait(s->points, s->first, TIDE_FOREVER);
}
static void destroy(void *self) {
  struct state *s = self;
  tide_future_destroy(s->future);
}
static void cancel(void *self) {
  struct state *s = self;
  s->cancelled = tide_schedulable_cancel(&s->wait);
}

static void cancel_end(void *self) {
  struct state *s = self;
  s->cancelled = tide_timepoint_cancel(&s->end);
}

static void it_was_broken(void *self) {
  struct state *s = self;
  EXPECT_OK(s->given_up);
  EXPECT(s->waited == TIDE_FAILED);
}
/* Whoever came first: all agree on it. */
static void all_agree(void *self) {
  struct state *s = self;
  EXPECT_OK(s->kept);
  EXPECT(s->given_up == TIDE_OK || s->given_up == TIDE_VALUE);
  EXPECT(s->waited == (s->given_up == TIDE_OK ? TIDE_FAILED : TIDE_OK));
}
static void kept_or_cancelled(void *self) {
  struct state *s = self;
  EXPECT(s->waited == TIDE_OK || s->waited == TIDE_CANCELLED);
}
static void in_time_or_not(void *self) {
  struct state *s = self;
  EXPECT(s->waited == TIDE_OK || s->waited == TIDE_TIMED_OUT);
  EXPECT(s->kept == s->waited);
}
static void nothing(void *self) { (void)self; }
static void called_unless_cancelled(void *self) {
  struct state *s = self;
  EXPECT_OK(s->kept);
  EXPECT(s->calls == (s->cancelled ? 0 : 1));
}
static void ended_unless_cancelled(void *self) {
  struct state *s = self;
  EXPECT(s->calls == (s->cancelled ? 0 : 1));
  EXPECT(s->cancelled || s->waited == TIDE_CANCELLED);
  EXPECT(!tide_timepoint_cancel(&s->end));
}

INTERLEAVE_CASE(break_wait, 2, setup, it_was_broken, give_up_first, wait_first)
INTERLEAVE_CASE(break_glance, 2, setup, nothing, give_up_then_keep, glance_first)
INTERLEAVE_CASE(break_retire_wait, 1, setup, all_agree, give_up_first, keep_second, wait_first)
INTERLEAVE_CASE(destroy_wait, 2, setup, kept_or_cancelled, destroy, wait_first)
INTERLEAVE_CASE(keep_deadline, 1, setup, in_time_or_not, keep_first, wait_and_watch)
INTERLEAVE_CASE(keep_cancel, 2, setup_wait, called_unless_cancelled, keep_first, cancel)
INTERLEAVE_CASE(keep_cancel_end, 2, setup_end, called_unless_cancelled, keep_second, cancel_end)
INTERLEAVE_CASE(destroy_cancel_end, 2, setup_end, ended_unless_cancelled, destroy, cancel_end)

TEST_MAIN(CASE(break_wait), CASE(break_glance), CASE(break_retire_wait), CASE(destroy_wait),
          CASE(keep_deadline), CASE(keep_cancel), CASE(keep_cancel_end), CASE(destroy_cancel_end))
