/* Persistent wait-sets: arrival against waiting, removing and destroying. */
#include "interleave.h"

#include "harness.h"
#include "tidemark/tidemark.h"

struct state {
  struct tide_context *context;
  struct tide_timeline *lines[2];
  struct tide_wait_set *set;
  uint64_t member;
  bool removed;
  unsigned reported;
};

static void setup(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_context_create(NULL, &s->context));
  EXPECT_OK(tide_wait_set_create(s->context, 2, &s->set));
  for (int i = 0; i < 2; i++) {
    EXPECT_OK(tide_timeline_create(s->context, NULL, &s->lines[i]));
    EXPECT_OK(tide_wait_set_add(s->set, s->lines[i], 1, (uint64_t)i + 10, i ? NULL : &s->member));
  }
}
static void setup_empty(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_context_create(NULL, &s->context));
  EXPECT_OK(tide_wait_set_create(s->context, 2, &s->set));
  EXPECT_OK(tide_timeline_create(s->context, NULL, &s->lines[0]));
}

static void signal_first(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_signal(s->lines[0], 1, NULL));
}
static void signal_second(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_signal(s->lines[1], 1, NULL));
}
static void destroy_first(void *self) {
  struct state *s = self;
  tide_timeline_destroy(s->lines[0]);
}
static void add(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_wait_set_add(s->set, s->lines[0], 1, 10, NULL));
}

/* Until both have come. */
static void wait_for_two(void *self) {
  struct state *s = self;
  struct tide_wait_ready ready[2];
  size_t count;
  while (s->reported < 2) {
    EXPECT_OK(tide_wait_set_wait(s->set, ready, 2, TIDE_FOREVER, &count));
    EXPECT(count >= 1);
    s->reported += (unsigned)count;
  }
}
static void wait_for_one(void *self) {
  struct state *s = self;
  struct tide_wait_ready ready;
  size_t count;
  EXPECT_OK(tide_wait_set_wait(s->set, &ready, 1, TIDE_FOREVER, &count));
  EXPECT(count == 1 && ready.cookie == 10 && ready.value == 1);
  EXPECT(ready.status == TIDE_OK || ready.status == TIDE_CANCELLED);
}
static void wait_a_while(void *self) {
  struct state *s = self;
  struct tide_wait_ready ready[2];
  size_t count;
  enum tide_status status = tide_wait_set_wait(s->set, ready, 2, 1000, &count);
  EXPECT(status == (count ? TIDE_OK : TIDE_TIMEOUT));
  s->reported = (unsigned)count;
}
static void the_rest_comes(void *self) {
  struct state *s = self;
  struct tide_wait_ready ready[2];
  size_t count;
  (void)!tide_wait_set_wait(s->set, ready, 2, TIDE_NOW, &count);
  EXPECT(count + s->reported == 2);
  tide_wait_set_destroy(s->set);
}
static void remove_first(void *self) {
  struct state *s = self;
  s->removed = tide_wait_set_remove(s->set, s->member);
}
static void reported_unless_removed(void *self) {
  struct state *s = self;
  struct tide_wait_ready ready[2];
  size_t count;
  enum tide_status status = tide_wait_set_wait(s->set, ready, 2, TIDE_NOW, &count);
  EXPECT(count == (s->removed ? 0 : 1) && status == (count ? TIDE_OK : TIDE_TIMEOUT));
  tide_wait_set_destroy(s->set);
}
static void destroy_set(void *self) {
  struct state *s = self;
  tide_wait_set_destroy(s->set);
}

#define SET(name, stale_most, how, at_end, ...)                                                    \
  TEST(name) {                                                                                     \
    static const struct interleave_case one = {.size = sizeof(struct state),                       \
                                               .setup = how,                                       \
                                               .threads = {__VA_ARGS__},                           \
                                               .check = at_end,                                    \
                                               .stale = stale_most};                               \
    interleave_explore(&one);                                                                      \
  }

SET(two_arrive, 0, setup, destroy_set, signal_first, signal_second, wait_for_two)
SET(add_signal_wait, 2, setup_empty, destroy_set, add, signal_first, wait_for_one)
SET(remove_or_report, 2, setup, reported_unless_removed, signal_first, remove_first)
SET(destroy_set_signal, 2, setup, NULL, signal_first, signal_second, destroy_set)
SET(destroy_line_wait, 2, setup, NULL, destroy_first, wait_for_one)
SET(arrive_deadline, 1, setup, the_rest_comes, signal_first, signal_second, wait_a_while)

TEST_MAIN(CASE(arrive_deadline), CASE(two_arrive), CASE(add_signal_wait), CASE(remove_or_report),
          CASE(destroy_set_signal), CASE(destroy_line_wait))
