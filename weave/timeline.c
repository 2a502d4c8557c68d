/* One timeline: signal against wait, deadline, failure and destruction. */
#include "weave.h"

#include "harness.h"
#include "tidemark/tidemark.h"

struct state {
  struct tide_context context;
  struct tide_timeline *line;
  enum tide_status status[WEAVE_THREADS];
  uint64_t seen;
  struct tide_position position;
  TIDE_FRONTIER_STORAGE(frontier, 4);
};

static void setup(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_context_init(&s->context, NULL));
  EXPECT_OK(tide_timeline_create(&s->context, NULL, &s->line));
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
  static const struct weave_case one = {
      .size = sizeof(struct state), .setup = setup, .threads = {signal_one, wait_one}, .stale = 3};
  weave_explore(&one);
}

TEST(two_signals_two_waits) {
  static const struct weave_case one = {.size = sizeof(struct state),
                                        .setup = setup,
                                        .threads = {signal_one_two, wait_one, wait_two},
                                        .stale = 1};
  weave_explore(&one);
}

TEST_MAIN(CASE(signal_wait), CASE(two_signals_two_waits))
