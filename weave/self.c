/* The explorer itself: on programs so small that one knows what must come out. */
#include "weave.h"

#include "base/atomic.h"
#include "harness.h"
#include "tidemark/base.h"

#include <stdio.h>

struct state {
  uint32_t x, y, word;
  uint32_t a, b;
  uint64_t plain;
};

static bool outcomes[4]; /* over all runs: [2a + b] */

static void nothing(void *self) { (void)self; }
static void note(void *self) {
  struct state *s = self;
  outcomes[2 * s->a + s->b] = true;
}

/* Each stores its own, then loads the other's. */
static void store_x_load_y(void *self) {
  struct state *s = self;
  tide_store_release(&s->x, 1u);
  s->a = tide_load_acquire(&s->y);
}
static void store_y_load_x(void *self) {
  struct state *s = self;
  tide_store_release(&s->y, 1u);
  s->b = tide_load_acquire(&s->x);
}

static void explore(struct weave_case which, struct weave_result *found) {
  for (int i = 0; i < 4; i++) outcomes[i] = false;
  which.size = sizeof(struct state);
  if (!which.setup) which.setup = nothing;
  weave_run(&which, found);
}

TEST(every_order_is_seen) {
  static struct weave_result found;
  explore((struct weave_case){.threads = {store_x_load_y, store_y_load_x}, .check = note}, &found);
  CHECK(!found.failed && found.runs == 3);
  CHECK(!outcomes[0] && outcomes[1] && outcomes[2] && outcomes[3]);
}

TEST(old_values_are_read) {
  static struct weave_result found;
  explore(
      (struct weave_case){.threads = {store_x_load_y, store_y_load_x}, .check = note, .stale = 2},
      &found);
  CHECK(!found.failed && outcomes[0] && outcomes[1] && outcomes[2] && outcomes[3]);
}

TEST_MAIN(CASE(every_order_is_seen), CASE(old_values_are_read))
