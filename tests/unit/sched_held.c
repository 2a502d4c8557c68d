/* Very many held operations: what it takes to hold and to free each does not grow with their
 * number. */
#include "fake_device.h"
#include "looks.h"

#include "sched/sched.h"

/* Operations without bodies wait for one timeline, each in its own way. */
struct shape {
  enum { ONE_FOR_ALL, IN_ORDER, FROM_THE_LAST, EACH_THE_ONE_BEFORE } way;
  size_t firm_each; /* each such one may not be passed; 0: all may be */
};

static uint64_t awaited_by(const struct shape *shape, size_t i, size_t count) {
  if (shape->way == ONE_FOR_ALL) return 1;
  return shape->way == IN_ORDER ? i + 1 : count - i;
}

static void hold_and_free(const struct tide_allocator *allocator, const void *given, size_t count) {
  const struct shape *shape = given;
  bool chained = shape->way == EACH_THE_ONE_BEFORE;
  static struct fake f;
  struct tide_context_params params = {
      .struct_size = sizeof params, .allocator = allocator, .frontier_capacity = 4};
  fake_open_with(&f, params, true);
  struct tide_queue *held = fake_queue_on(f.device, "held", (uint32_t)count);
  struct tide_queue *other = fake_queue(&f, "other");
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  for (size_t i = 0; i < count; i++) {
    uint64_t value = awaited_by(shape, i, count);
    bool firm = shape->firm_each && i % shape->firm_each == 0;
    struct tide_operation operation = {.flags = firm ? 0 : TIDE_MAY_BE_PASSED, WAITS({t, value})};
    struct tide_signal signal = {t, value + 1, false};
    operation.signals = &signal;
    operation.signal_count = chained;
    CHECK_OK(tide_queue_submit(held, &operation, NULL, NULL));
  }
  CHECK(!tide_list_empty(&held->held));
  for (size_t i = 0; i < count; i++) {
    bool last = shape->way == ONE_FOR_ALL || chained;
    struct tide_operation operation = {SIGNALS({t, i + 1})};
    CHECK_OK(tide_queue_submit(other, &operation, NULL, NULL));
    if (last) break;
  }
  CHECK(tide_list_empty(&held->held));
  tide_queue_destroy(held);
  tide_queue_destroy(other);
  tide_timeline_release(t);
  fake_close(&f);
}

static void check_shape(struct shape shape) { looks_check(hold_and_free, &shape, 512); }

TEST(one_signal_frees_all) { check_shape((struct shape){ONE_FOR_ALL, 0}); }
TEST(a_signal_frees_each) { check_shape((struct shape){IN_ORDER, 0}); }
TEST(signals_free_the_last_first) { check_shape((struct shape){FROM_THE_LAST, 0}); }
TEST(each_frees_the_one_before) { check_shape((struct shape){EACH_THE_ONE_BEFORE, 0}); }
TEST(firm_ones_between) { check_shape((struct shape){IN_ORDER, 8}); }

TEST_MAIN(CASE(one_signal_frees_all), CASE(a_signal_frees_each), CASE(signals_free_the_last_first),
          CASE(each_frees_the_one_before), CASE(firm_ones_between))
