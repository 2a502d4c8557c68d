/* Who goes next on a device: the highest priority, oldest first, and nobody for ever last. */
#include "fake_device.h"

#include "base/random.h"

/* As src/sched/arbiter.c states it: a queue that is ready is picked after at most this many picks
 * of its device, and one more for each queue that was ready before it. */
#define AGING_PICKS 128

struct lane {
  struct tide_queue *queue;
  uint8_t level;
};

static void lane_open(struct fake *f, struct lane *lane, uint8_t level) {
  struct tide_queue_params params = {
      .struct_size = sizeof params, .label = "lane", .priority = level, .operations = 1024};
  lane->level = level;
  CHECK_OK(tide_queue_create(f->device, &params, &lane->queue));
}

static void lane_fill(struct lane *lane, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) CHECK_OK(SUBMIT(lane->queue, .label = "x"));
}

/* One pick: the axis of the queue that had its turn; 0 when nothing is ready. The work is over when
 * the next one is picked. */
static tide_axis pick(struct fake *f) {
  struct tide_work *done = f->count ? f->out[0] : NULL;
  f->count = (uint32_t)tide_device_exchange(f->device, &done, f->count, f->out, 1, NULL);
  return f->count ? tide_work_axis(f->out[0]) : 0;
}

static bool is(const struct lane *lane, tide_axis axis) {
  return tide_queue_axis(lane->queue) == axis;
}

static void finish(struct fake *f, struct lane *lanes, size_t count) {
  while (pick(f)) continue;
  for (size_t i = 0; i < count; i++) tide_queue_destroy(lanes[i].queue);
  fake_close(f);
}

TEST(the_highest_goes_first_then_the_oldest) {
  struct fake f;
  struct lane lanes[4];
  fake_open(&f, true, 16);
  for (size_t i = 0; i < 4; i++) lane_open(&f, &lanes[i], (uint8_t)(i == 0 ? 3 : i == 3 ? 9 : 5));
  lane_fill(&lanes[0], 1);
  lane_fill(&lanes[2], 1);
  lane_fill(&lanes[1], 1);
  lane_fill(&lanes[3], 1);
  CHECK(is(&lanes[3], pick(&f)));
  CHECK(is(&lanes[2], pick(&f))); /* of two alike the one that was ready first */
  CHECK(is(&lanes[1], pick(&f)));
  CHECK(is(&lanes[0], pick(&f)));
  CHECK(pick(&f) == 0);
  finish(&f, lanes, 4);
}

/* Of one queue the first is ready: a cancelled one behind it does not cost it its turn. */
TEST(cancelling_behind_keeps_the_turn) {
  struct fake f;
  struct lane lanes[2];
  fake_open(&f, true, 16);
  for (size_t i = 0; i < 2; i++) lane_open(&f, &lanes[i], 5);
  lane_fill(&lanes[0], 2);
  lane_fill(&lanes[1], 1);
  CHECK_OK(tide_queue_cancel(lanes[0].queue, 2));
  CHECK(is(&lanes[0], pick(&f)));
  CHECK(is(&lanes[1], pick(&f)));
  CHECK(pick(&f) == 0);
  finish(&f, lanes, 2);
}

/* Three wait for one signal: they start as they were submitted, in whatever order they came to
 * wait.
 */
static void let_go_together(const size_t order[3]) {
  struct fake f;
  struct lane lanes[4];
  struct tide_work *ahead[3], *none;
  fake_open(&f, true, 16);
  for (size_t i = 0; i < 4; i++) lane_open(&f, &lanes[i], 0);
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  CHECK_OK(SUBMIT(lanes[3].queue, .label = "signaller", SIGNALS({t, 1})));
  CHECK(is(&lanes[3], pick(&f)));
  for (size_t i = 0; i < 3; i++) CHECK_OK(SUBMIT(lanes[i].queue, .label = "ahead"));
  for (size_t i = 0; i < 3; i++) CHECK_OK(SUBMIT(lanes[i].queue, .label = "x", WAITS({t, 1})));
  CHECK_EQ_U64(tide_device_exchange(f.device, NULL, 0, ahead, 3, NULL), 3);
  for (size_t i = 0; i < 3; i++)
    CHECK_EQ_U64(tide_device_exchange(f.device, &ahead[order[i]], 1, &none, 1, NULL), 0);
  for (size_t i = 0; i < 3; i++) CHECK(is(&lanes[i], pick(&f)));
  CHECK(pick(&f) == 0);
  tide_timeline_destroy(t);
  finish(&f, lanes, 4);
}
TEST(let_go_together_in_the_order_of_submits) {
  static const size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) let_go_together(orders[i]);
}

TEST(equals_take_turns) {
  struct fake f;
  struct lane lanes[3];
  fake_open(&f, true, 16);
  for (size_t i = 0; i < 3; i++) lane_open(&f, &lanes[i], 0);
  for (size_t i = 0; i < 3; i++) lane_fill(&lanes[i], 10);
  for (size_t i = 0; i < 30; i++) CHECK(is(&lanes[i % 3], pick(&f)));
  finish(&f, lanes, 3);
}

/* A queue with work of higher priority without end: the lowest is picked when its time has come,
 * not later, and not long before. */
TEST(the_lowest_is_picked_within_the_bound) {
  struct fake f;
  struct lane lanes[2];
  fake_open(&f, true, 16);
  lane_open(&f, &lanes[0], 1);
  lane_open(&f, &lanes[1], 15);
  lane_fill(&lanes[1], 600);
  lane_fill(&lanes[0], 3);
  for (int turn = 0; turn < 3; turn++) {
    uint32_t picks = 0;
    while (is(&lanes[1], pick(&f))) picks++;
    CHECK(picks <= AGING_PICKS + 1);
    CHECK(picks >= AGING_PICKS - 1);
  }
  finish(&f, lanes, 2);
}

/* Many queues of all priorities, each with work without end: how long each of them waits. */
TEST(nobody_waits_longer_than_the_bound) {
  enum { LANES = 20, PICKS = 4000 };
  struct fake f;
  struct lane lanes[LANES];
  uint32_t since[LANES] = {0}, longest = 0, low = 0;
  fake_open(&f, true, 16);
  for (size_t i = 0; i < LANES; i++) lane_open(&f, &lanes[i], (uint8_t)(1 + i % 15));
  for (size_t i = 0; i < LANES; i++) lane_fill(&lanes[i], 900);
  for (uint32_t n = 1; n <= PICKS; n++) {
    tide_axis axis = pick(&f);
    for (size_t i = 0; i < LANES; i++) {
      if (!is(&lanes[i], axis)) continue;
      if (n - since[i] > longest) longest = n - since[i];
      since[i] = n;
      low += lanes[i].level == 1;
      lane_fill(&lanes[i], 1);
    }
  }
  for (size_t i = 0; i < LANES; i++)
    if (PICKS - since[i] > longest) longest = PICKS - since[i];
  CHECK(longest <= AGING_PICKS + LANES + 1);
  CHECK(longest > AGING_PICKS); /* priorities count for something, too */
  CHECK(low >= 2 * (PICKS / (AGING_PICKS + LANES + 1) - 1));
  finish(&f, lanes, LANES);
}

TEST(a_new_priority_counts_at_once) {
  struct fake f;
  struct lane lanes[2];
  fake_open(&f, true, 16);
  lane_open(&f, &lanes[0], 3);
  lane_open(&f, &lanes[1], 5);
  for (size_t i = 0; i < 2; i++) lane_fill(&lanes[i], 3);
  CHECK(is(&lanes[1], pick(&f)));
  tide_queue_set_priority(lanes[0].queue, 9);
  CHECK(is(&lanes[0], pick(&f)));
  tide_queue_set_priority(lanes[0].queue, 1);
  CHECK(is(&lanes[1], pick(&f)));
  finish(&f, lanes, 2);
}

static void shuffle(struct tide_random *random, size_t *order, size_t count) {
  for (size_t i = 0; i < count; i++) {
    size_t at = (size_t)tide_random_below(random, i + 1);
    order[i] = order[at];
    order[at] = i;
  }
}

/* Queues come to wait for one signal in one order, and were given what waits in another: that one
 * counts. */
TEST(what_a_signal_lets_go_starts_as_submitted) {
  enum { LANES = 11 };
  for (uint64_t seed = 1; seed <= 50; seed++) {
    struct fake f;
    struct lane lanes[LANES + 1];
    struct tide_random random = {seed};
    size_t first[LANES], second[LANES], count = 2 + seed % (LANES - 1);
    fake_open(&f, seed % 3 != 0, 16);
    struct tide_timeline *t = fake_timeline(&f, "t", seed % 2);
    for (size_t i = 0; i <= count; i++) lane_open(&f, &lanes[i], 5);
    shuffle(&random, first, count);
    shuffle(&random, second, count);
    for (size_t i = 0; i < count; i++) lane_fill(&lanes[first[i]], 1);
    CHECK_OK(SUBMIT(lanes[count].queue, .label = "gate", SIGNALS({t, 1})));
    for (size_t i = 0; i < count; i++)
      CHECK_OK(SUBMIT(lanes[second[i]].queue, .label = "y", WAITS({t, 1})));
    for (size_t i = 0; i < count; i++) CHECK(is(&lanes[first[i]], pick(&f)));
    CHECK(is(&lanes[count], pick(&f)));
    for (size_t i = 0; i < count; i++) CHECK(is(&lanes[second[i]], pick(&f)));
    tide_timeline_release(t);
    finish(&f, lanes, count + 1);
  }
}

/* One that runs nothing lets others go while those that its own signal let go are gone through:
 * they come behind these, each step's in the order in which they were submitted. */
TEST(what_is_let_go_on_the_way_comes_behind) {
  enum { X, A, D, B, E, C, LANES };
  static const int wanted[] = {X, B, C, D, E};
  struct fake f;
  struct lane lanes[LANES];
  fake_open(&f, true, 16);
  struct tide_timeline *t = fake_timeline(&f, "t", false), *u = fake_timeline(&f, "u", false);
  struct tide_wait wait = {t, 1};
  struct tide_signal signal = {u, 1, false};
  struct tide_operation none = {
      .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1};
  for (size_t i = 0; i < LANES; i++) lane_open(&f, &lanes[i], 0);
  CHECK_OK(SUBMIT(lanes[X].queue, .label = "x", SIGNALS({t, 1})));
  CHECK_OK(tide_queue_submit(lanes[A].queue, &none, NULL, NULL));
  CHECK_OK(SUBMIT(lanes[D].queue, .label = "d", WAITS({u, 1})));
  CHECK_OK(SUBMIT(lanes[B].queue, .label = "b", WAITS({t, 1})));
  CHECK_OK(SUBMIT(lanes[E].queue, .label = "e", WAITS({u, 1})));
  CHECK_OK(SUBMIT(lanes[C].queue, .label = "c", WAITS({t, 1})));
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    CHECK(is(&lanes[wanted[i]], pick(&f)));
  CHECK(pick(&f) == 0);
  tide_timeline_release(t);
  tide_timeline_release(u);
  finish(&f, lanes, LANES);
}

TEST_MAIN(CASE(the_highest_goes_first_then_the_oldest), CASE(cancelling_behind_keeps_the_turn),
          CASE(let_go_together_in_the_order_of_submits), CASE(equals_take_turns),
          CASE(the_lowest_is_picked_within_the_bound), CASE(nobody_waits_longer_than_the_bound),
          CASE(a_new_priority_counts_at_once), CASE(what_a_signal_lets_go_starts_as_submitted),
          CASE(what_is_let_go_on_the_way_comes_behind))
