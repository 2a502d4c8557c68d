/* Waits for any and for all of several timelines: signal against signal, deadline, failure,
 * and against the end of the set. The sets and points live in memory that goes right after. */
#include "causal/context_state.h"
#include "interleave.h"

#include "harness.h"
#include "tidemark/tidemark.h"

struct state {
  struct tide_context *context;
  struct tide_timeline *lines[2];
  struct tide_wait_point *points;
  struct tide_wait_any_set *set;
};

static void setup(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_context_create(NULL, &s->context));
  for (int i = 0; i < 2; i++) EXPECT_OK(tide_timeline_create(s->context, NULL, &s->lines[i]));
}

static void *take(struct state *s, size_t size) {
  void *memory = s->context->allocator->alloc(s->context->allocator->self, size, 16);
  EXPECT(memory);
  return memory;
}
static void give(struct state *s, void *memory, size_t size) {
  s->context->allocator->free(s->context->allocator->self, memory, size);
}
static struct tide_wait_point *take_points(struct state *s) {
  struct tide_wait_point *points = take(s, 2 * sizeof *points);
  for (int i = 0; i < 2; i++)
    points[i] = (struct tide_wait_point){.timeline = s->lines[i], .value = 1};
  return points;
}

static void signal_first(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_signal(s->lines[0], 1, NULL));
}
static void signal_second(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_signal(s->lines[1], 1, NULL));
}
static void fail_first(void *self) {
  struct state *s = self;
  tide_timeline_fail(s->lines[0], TIDE_LOST);
}
static void fail_second(void *self) {
  struct state *s = self;
  tide_timeline_fail(s->lines[1], TIDE_LOST);
}

static void wait_any(void *self) {
  struct state *s = self;
  struct tide_wait_point *points = take_points(s);
  size_t index = 7;
  EXPECT_OK(tide_wait_any(points, 2, TIDE_FOREVER, &index));
  EXPECT(index < 2 && tide_timeline_query(s->lines[index]) == 1);
  give(s, points, 2 * sizeof *points);
}
static void wait_all(void *self) {
  struct state *s = self;
  struct tide_wait_point *points = take_points(s);
  EXPECT_OK(tide_wait_all(points, 2, TIDE_FOREVER));
  EXPECT(tide_timeline_query(s->lines[0]) == 1 && tide_timeline_query(s->lines[1]) == 1);
  give(s, points, 2 * sizeof *points);
}
static void wait_all_a_while(void *self) {
  struct state *s = self;
  struct tide_wait_point *points = take_points(s);
  enum tide_status status = tide_wait_all(points, 2, 1000);
  EXPECT(status == TIDE_OK || status == TIDE_TIMEOUT);
  if (status == TIDE_OK)
    EXPECT(tide_timeline_query(s->lines[0]) == 1 && tide_timeline_query(s->lines[1]) == 1);
  give(s, points, 2 * sizeof *points);
}
static void wait_all_or_fail(void *self) {
  struct state *s = self;
  struct tide_wait_point *points = take_points(s);
  EXPECT(tide_wait_all(points, 2, TIDE_FOREVER) == TIDE_LOST);
  give(s, points, 2 * sizeof *points);
}

#define SEVERAL(name, stale_most, ...)                                                             \
  TEST(name) {                                                                                     \
    static const struct interleave_case one = {.size = sizeof(struct state),                       \
                                               .setup = setup,                                     \
                                               .threads = {__VA_ARGS__},                           \
                                               .stale = stale_most};                               \
    interleave_explore(&one);                                                                      \
  }

SEVERAL(any_of_two, 0, signal_first, signal_second, wait_any)
SEVERAL(all_of_two, 0, signal_first, signal_second, wait_all)
SEVERAL(all_deadline, 0, signal_first, signal_second, wait_all_a_while)
SEVERAL(all_failure, 0, signal_first, fail_second, wait_all_or_fail)
SEVERAL(all_failures, 0, fail_first, fail_second, wait_all_or_fail)
SEVERAL(any_of_two_old_values, 2, signal_first, wait_any)

/* The set is latched by one thread while another waits for it, and a third ends it. */
static void setup_set(void *self) {
  struct state *s = self;
  setup(self);
  s->points = take_points(s);
  s->set = take(s, sizeof *s->set);
  EXPECT_OK(tide_wait_any_init(s->set, s->points, 2));
}
static void wait_and_end_set(void *self) {
  struct state *s = self;
  size_t index;
  enum tide_status status = tide_wait_any_wait(s->set, 1000, &index);
  EXPECT(status == TIDE_OK || status == TIDE_TIMEOUT);
  tide_wait_any_fini(s->set);
  give(s, s->set, sizeof *s->set);
  give(s, s->points, 2 * sizeof *s->points);
}

#define SEVERAL_SET(name, ...)                                                                     \
  TEST(name) {                                                                                     \
    static const struct interleave_case one = {                                                    \
        .size = sizeof(struct state), .setup = setup_set, .threads = {__VA_ARGS__}};               \
    interleave_explore(&one);                                                                      \
  }

SEVERAL_SET(latched_set_ends, signal_first, signal_second, wait_and_end_set)

/* Nobody but the set's points holds the first timeline any more when the set ends, or soon after.
 */
static void release_first(void *self) {
  struct state *s = self;
  tide_timeline_release(s->lines[0]);
}
static void signal_and_release_first(void *self) {
  signal_first(self);
  release_first(self);
}
static void end_set(void *self) {
  struct state *s = self;
  tide_wait_any_fini(s->set);
  give(s, s->set, sizeof *s->set);
  give(s, s->points, 2 * sizeof *s->points);
}

SEVERAL_SET(released_set_ends, release_first, end_set)
SEVERAL_SET(signalled_set_ends, signal_and_release_first, end_set)

TEST_MAIN(CASE(any_of_two), CASE(all_of_two), CASE_SECONDS(all_deadline, 300), CASE(all_failure),
          CASE_SECONDS(all_failures, 300), CASE(any_of_two_old_values), CASE(latched_set_ends),
          CASE(released_set_ends), CASE(signalled_set_ends))
