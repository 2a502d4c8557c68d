/* One timeline: signal against wait, deadline, failure and destruction. */
#include "causal/context_state.h"
#include "interleave.h"

#include "harness.h"
#include "tidemark/tidemark.h"

struct state {
  struct tide_context *context;
  struct tide_timeline *line;
  enum tide_status status;
  bool refused;
  struct tide_position position;
  TIDE_FRONTIER_STORAGE(own, 4);
  TIDE_FRONTIER_STORAGE(copy, 4);
};

static void setup(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_context_create(NULL, &s->context));
  EXPECT_OK(
      tide_timeline_create(s->context, TIDE_PARAMS(tide_timeline_params, .history = 2), &s->line));
}

static void signal_one(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_signal(s->line, 1, NULL));
}
static void signal_one_two(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_signal(s->line, 1, NULL));
  EXPECT_OK(tide_timeline_signal(s->line, 2, NULL));
}
static void wait_one(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_wait(s->line, 1, TIDE_FOREVER));
  EXPECT(tide_timeline_query(s->line) >= 1);
}
static void wait_two(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_wait(s->line, 2, TIDE_FOREVER));
  EXPECT(tide_timeline_query(s->line) >= 2);
}

TEST(signal_wait) {
  static const struct interleave_case one = {.size = sizeof(struct state),
                                             .setup = setup,
                                             .threads = {signal_one, wait_one},
                                             .stale = 3,
                                             .spurious = 2};
  interleave_explore(&one);
}

TEST(two_signals_two_waits) {
  static const struct interleave_case one = {.size = sizeof(struct state),
                                             .setup = setup,
                                             .threads = {signal_one_two, wait_one, wait_two},
                                             .spurious = 1};
  interleave_explore(&one);
}

/* A deadline that may pass at any moment. */
static void wait_a_while(void *self) {
  struct state *s = self;
  s->status = tide_timeline_wait(s->line, 1, 1000);
  EXPECT(s->status == TIDE_OK || s->status == TIDE_TIMEOUT);
}

TEST(signal_wait_deadline) {
  static const struct interleave_case one = {.size = sizeof(struct state),
                                             .setup = setup,
                                             .threads = {signal_one, wait_a_while, wait_one},
                                             .stale = 2};
  interleave_explore(&one);
}

/* ---- failing ---- */

static void fail(void *self) {
  struct state *s = self;
  tide_timeline_fail(s->line, TIDE_LOST);
}
static void try_to_signal(void *self) {
  struct state *s = self;
  enum tide_status status = tide_timeline_signal(s->line, 1, NULL);
  EXPECT(status == TIDE_OK || status == TIDE_LOST);
  s->refused = status != TIDE_OK;
}
static void wait_or_fail(void *self) {
  struct state *s = self;
  s->status = tide_timeline_wait(s->line, 1, TIDE_FOREVER);
  EXPECT(s->status == TIDE_OK || s->status == TIDE_LOST);
}
static void agree(void *self) {
  struct state *s = self;
  EXPECT(s->refused == (s->status == TIDE_LOST));
  EXPECT(tide_timeline_query(s->line) == (s->refused ? 0 : 1));
  EXPECT(tide_timeline_status(s->line) == TIDE_LOST);
}

TEST(signal_fail_wait) {
  static const struct interleave_case one = {.size = sizeof(struct state),
                                             .setup = setup,
                                             .threads = {try_to_signal, fail, wait_or_fail},
                                             .check = agree,
                                             .stale = 1};
  interleave_explore(&one);
}

/* ---- destroying, while others hold references ---- */

static void setup_shared(void *self) {
  struct state *s = self;
  setup(self);
  tide_timeline_retain(s->line);
}
static void destroy(void *self) {
  struct state *s = self;
  tide_timeline_destroy(s->line);
}
static void wait_and_release(void *self) {
  struct state *s = self;
  enum tide_status status = tide_timeline_wait(s->line, 1, TIDE_FOREVER);
  EXPECT(status == TIDE_OK || status == TIDE_CANCELLED);
  tide_timeline_release(s->line);
}
static void signal_and_release(void *self) {
  struct state *s = self;
  enum tide_status status = tide_timeline_signal(s->line, 1, NULL);
  EXPECT(status == TIDE_OK || status == TIDE_CANCELLED);
  tide_timeline_release(s->line);
}
static void setup_shared_thrice(void *self) {
  struct state *s = self;
  setup_shared(self);
  tide_timeline_retain(s->line);
}

TEST(destroy_wait) {
  static const struct interleave_case one = {.size = sizeof(struct state),
                                             .setup = setup_shared,
                                             .threads = {destroy, wait_and_release},
                                             .stale = 3};
  interleave_explore(&one);
}

TEST(destroy_wait_signal) {
  static const struct interleave_case one = {
      .size = sizeof(struct state),
      .setup = setup_shared_thrice,
      .threads = {destroy, wait_and_release, signal_and_release},
      .stale = 1};
  interleave_explore(&one);
}

/* ---- a value and what is known about it come together ---- */

#define HOST 0x0003000000000007ull /* an axis of domain host */

static void setup_tracked(void *self) {
  struct state *s = self;
  setup(self);
  tide_frontier_init(&s->own.frontier, 4);
  tide_frontier_init(&s->copy.frontier, 4);
  s->position = (struct tide_position){.axis = HOST, .frontier = &s->own.frontier};
  EXPECT_OK(tide_tracker_register(s->context->tracker, HOST));
}
static void signal_tracked(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_signal(s->line, 1, &s->position));
  EXPECT_OK(tide_timeline_signal(s->line, 2, &s->position));
}
static void look(void *self) {
  struct state *s = self;
  struct tide_record_info info;
  uint64_t value = tide_timeline_query(s->line);
  EXPECT(tide_tracker_finished(s->context->tracker, HOST, value) || !value);
  if (!value) return;
  EXPECT_OK(tide_timeline_frontier_at(s->line, value, &s->copy.frontier, &info));
  EXPECT(info.value == value && info.epoch == value && info.axis == HOST);
  EXPECT(tide_frontier_get(&s->copy.frontier, HOST) == value);
}

TEST(publish_read) {
  static const struct interleave_case one = {.size = sizeof(struct state),
                                             .setup = setup_tracked,
                                             .threads = {signal_tracked, look},
                                             .stale = 3};
  interleave_explore(&one);
}

static void wait_and_look(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_wait(s->line, 2, TIDE_FOREVER));
  EXPECT(tide_tracker_epoch(s->context->tracker, HOST) == 2);
}

TEST(publish_wait) {
  static const struct interleave_case one = {.size = sizeof(struct state),
                                             .setup = setup_tracked,
                                             .threads = {signal_tracked, wait_and_look},
                                             .stale = 3};
  interleave_explore(&one);
}

/* ---- two who signal ---- */

static void signal_two(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_signal(s->line, 2, NULL));
}
static void signal_one_if_first(void *self) {
  struct state *s = self;
  s->status = tide_timeline_signal(s->line, 1, NULL);
  EXPECT(s->status == TIDE_OK || s->status == TIDE_VALUE);
}
static void wait_twice(void *self) {
  wait_one(self);
  wait_two(self);
}

TEST(two_signallers) {
  static const struct interleave_case one = {
      .size = sizeof(struct state),
      .setup = setup,
      .threads = {signal_one_if_first, signal_two, wait_twice}};
  interleave_explore(&one);
}

TEST_MAIN(CASE(signal_wait), CASE(two_signals_two_waits), CASE(signal_wait_deadline),
          CASE(signal_fail_wait), CASE(destroy_wait), CASE(destroy_wait_signal), CASE(publish_read),
          CASE(publish_wait), CASE(two_signallers))
