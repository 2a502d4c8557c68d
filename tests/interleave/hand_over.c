/* Many wake: who is told tells the next. Here three are a ring of which only the head is woken by
 * whoever fires it (see base/parking.h; in an ordinary build it takes five). */
#include "interleave.h"

#include "harness.h"
#include "tidemark/tidemark.h"

struct state {
  struct tide_context *context;
  struct tide_timeline *line;
};

static void setup(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_context_create(NULL, &s->context));
  EXPECT_OK(tide_timeline_create(s->context, NULL, &s->line));
}

static void signal_one(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_signal(s->line, 1, NULL));
}
static void wait_one(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_wait(s->line, 1, TIDE_FOREVER));
  EXPECT(tide_timeline_query(s->line) >= 1);
}

INTERLEAVE_CASE(three_wait, 0, setup, NULL, signal_one, wait_one, wait_one, wait_one)

/* Two rings become one. */
static void signal_two(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_signal(s->line, 2, NULL));
}
static void wait_two(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_wait(s->line, 2, TIDE_FOREVER));
  EXPECT(tide_timeline_query(s->line) == 2);
}

INTERLEAVE_CASE(two_values, 0, setup, NULL, signal_two, wait_one, wait_two, wait_two)

/* A deadline that may pass at any moment: before it is taken off, or when it is to be told. */
static void wait_a_while(void *self) {
  struct state *s = self;
  enum tide_status status = tide_timeline_wait(s->line, 1, 1000);
  EXPECT(status == TIDE_OK || status == TIDE_TIMEOUT);
}

INTERLEAVE_CASE(deadlines_pass, 0, setup, NULL, signal_one, wait_a_while, wait_a_while, wait_one)

/* ---- failing, and destroying ---- */

static void fail(void *self) {
  struct state *s = self;
  tide_timeline_fail(s->line, TIDE_LOST);
}
static void wait_fails(void *self) {
  struct state *s = self;
  EXPECT(tide_timeline_wait(s->line, 1, TIDE_FOREVER) == TIDE_LOST);
}

INTERLEAVE_CASE(three_fail, 0, setup, NULL, fail, wait_fails, wait_fails, wait_fails)

static void setup_shared(void *self) {
  struct state *s = self;
  setup(self);
  for (int i = 0; i < 3; i++) tide_timeline_retain(s->line);
}
static void signal_and_destroy(void *self) {
  struct state *s = self;
  signal_one(self);
  tide_timeline_destroy(s->line);
}
static void wait_and_release(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_wait(s->line, 1, TIDE_FOREVER));
  tide_timeline_release(s->line);
}

/* Too many for all orders: the references of four. */
TEST(destroyed_at_once) {
  static const struct interleave_case one = {
      .size = sizeof(struct state),
      .setup = setup_shared,
      .threads = {signal_and_destroy, wait_and_release, wait_and_release, wait_and_release},
      .preemptions = 2};
  interleave_explore(&one);
}

TEST_MAIN(CASE(three_wait), CASE(two_values), CASE(deadlines_pass), CASE(three_fail),
          CASE(destroyed_at_once))
