/* The tracker: advance against wait, cancel, failure, close and the next axis in its state. */
#include "causal/context_state.h"
#include "interleave.h"

#include "causal/tracker.h"
#include "harness.h"
#include "tidemark/tidemark.h"

#define ONE 0x0003000000000001ull
#define TWO 0x0003000000000002ull
#define NEW 0x0003000000000003ull

struct state {
  struct tide_context *context;
  struct tide_tracker *tracker;
  struct tide_tracker_axis *at;
  struct tide_frontier_wait wait;
  struct tide_waiter nodes[2];
  struct tide_finish_wait finish, later;
  unsigned done, fired;
  enum tide_status status;
  bool cancelled, both_finished;
  TIDE_FRONTIER_STORAGE(both, 4);
};

static void done(struct tide_frontier_wait *wait, enum tide_status status) {
  struct state *s = wait->user;
  s->done++;
  s->status = status;
  s->both_finished =
      tide_tracker_finished(s->tracker, ONE, 1) && tide_tracker_finished(s->tracker, TWO, 1);
}
static void fired(struct tide_node *node, enum tide_status status) {
  struct state *s = (void *)((char *)node - offsetof(struct state, finish));
  EXPECT_OK(status);
  __atomic_fetch_add(&s->fired, 1u, __ATOMIC_ACQ_REL);
}
static void fired_later(struct tide_node *node, enum tide_status status) {
  struct state *s = (void *)((char *)node - offsetof(struct state, later));
  EXPECT_OK(status);
  __atomic_fetch_add(&s->fired, 1u, __ATOMIC_ACQ_REL);
}

static void setup(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_context_create(NULL, &s->context));
  s->tracker = s->context->tracker;
  EXPECT_OK(tide_tracker_register(s->tracker, ONE));
  EXPECT_OK(tide_tracker_register(s->tracker, TWO));
  s->at = tide_tracker_find(s->tracker, ONE);
  tide_frontier_init(&s->both.frontier, 4);
  tide_frontier_raise(&s->both.frontier, ONE, 1, NULL);
  tide_frontier_raise(&s->both.frontier, TWO, 1, NULL);
  s->wait = (struct tide_frontier_wait){.nodes = s->nodes, .done = done, .user = s};
  s->finish.node.fire = fired;
  s->later.node.fire = fired_later;
}

/* As the scheduler does it: on the state itself, with the exchange and no lock. */
static void advance_one(void *self) {
  struct state *s = self;
  struct tide_fired ready;
  tide_fired_init(&ready);
  tide_tracker_advance_collect(s->tracker, s->at, 1, &ready);
  tide_fired_run(&ready);
}
static void advance_two(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_tracker_advance(s->tracker, TWO, 1));
}
static void wait_for_both(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_tracker_wait(s->tracker, &s->both.frontier, &s->wait, 2));
}
static void wait_and_cancel(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_tracker_wait(s->tracker, &s->both.frontier, &s->wait, 2));
  s->cancelled = tide_tracker_cancel(&s->wait);
}
static void fail_two(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_tracker_fail(s->tracker, TWO, TIDE_LOST));
}
static void wait_finish(void *self) {
  struct state *s = self;
  if (!tide_tracker_wait_finish(s->tracker, ONE, 1, &s->finish))
    __atomic_fetch_add(&s->fired, 1u, __ATOMIC_ACQ_REL);
}

/* Two waiters of one axis: who comes second need not announce itself. */
static void wait_finish_later(void *self) {
  struct state *s = self;
  if (!tide_tracker_wait_finish(s->tracker, ONE, 2, &s->later))
    __atomic_fetch_add(&s->fired, 1u, __ATOMIC_ACQ_REL);
}
static void advance_one_further(void *self) {
  struct state *s = self;
  struct tide_fired ready;
  tide_fired_init(&ready);
  tide_tracker_advance_collect(s->tracker, s->at, 2, &ready);
  tide_fired_run(&ready);
}

static void came_once(void *self) {
  struct state *s = self;
  EXPECT(s->done == 1 && s->status == TIDE_OK);
  EXPECT(s->both_finished);
}
static void failed_once(void *self) {
  struct state *s = self;
  EXPECT(s->done == 1 && s->status == TIDE_LOST);
}
static void came_unless_cancelled(void *self) {
  struct state *s = self;
  EXPECT(s->done == (s->cancelled ? 0 : 1));
}
static void finished_once(void *self) {
  struct state *s = self;
  EXPECT(s->fired == 1);
}
static void finished_one_of_two(void *self) {
  struct state *s = self;
  EXPECT(s->fired == 1);
  EXPECT(tide_tracker_cancel_finish(s->tracker, &s->later));
}
static void finished_twice_unless_cancelled(void *self) {
  struct state *s = self;
  EXPECT(s->fired == (s->cancelled ? 1 : 2));
}

/* An axis closes, and its state serves another one, while somebody looks without the lock. */
static void replace_one(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_tracker_advance(s->tracker, ONE, 9));
  EXPECT_OK(tide_tracker_close(s->tracker, ONE));
  EXPECT_OK(tide_tracker_register(s->tracker, NEW));
  EXPECT_OK(tide_tracker_advance(s->tracker, NEW, 3));
}
static void look_at_one(void *self) {
  struct state *s = self;
  uint64_t first = tide_tracker_epoch(s->tracker, ONE);
  uint64_t second = tide_tracker_epoch(s->tracker, ONE);
  EXPECT(first == 0 || first == 9 || first == UINT64_MAX);
  EXPECT(second >= first);
}
static void look_at_new(void *self) {
  struct state *s = self;
  uint64_t epoch = tide_tracker_epoch(s->tracker, NEW);
  EXPECT(epoch == 0 || epoch == 3);
}
static void grow(void *self) {
  struct state *s = self;
  for (uint64_t i = 0; i < 7; i++) EXPECT_OK(tide_tracker_register(s->tracker, NEW + i));
}
static void look_while_growing(void *self) {
  struct state *s = self;
  EXPECT(tide_tracker_find(s->tracker, ONE) == s->at);
  EXPECT(tide_tracker_epoch(s->tracker, NEW + 6) == 0);
}

/* Closing an axis while somebody begins to wait for it. */
static void close_one(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_tracker_advance(s->tracker, TWO, 1));
  EXPECT_OK(tide_tracker_close(s->tracker, ONE));
}
static void fail_and_certify(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_tracker_fail(s->tracker, ONE, TIDE_LOST));
  EXPECT_OK(tide_tracker_certify(s->tracker, ONE));
}
static void wait_and_cancel_finish(void *self) {
  struct state *s = self;
  bool queued = tide_tracker_wait_finish(s->tracker, ONE, 1, &s->finish);
  if (queued) s->cancelled = tide_tracker_cancel_finish(s->tracker, &s->finish);
  else __atomic_fetch_add(&s->fired, 1u, __ATOMIC_ACQ_REL);
}
static void finished_unless_cancelled(void *self) {
  struct state *s = self;
  EXPECT(s->fired == (s->cancelled ? 0 : 1));
}
static void register_new(void *self) {
  struct state *s = self;
  enum tide_status status = tide_tracker_register(s->tracker, NEW);
  EXPECT(status == TIDE_OK || status == TIDE_BUSY);
  if (status == TIDE_OK) __atomic_fetch_add(&s->done, 1u, __ATOMIC_ACQ_REL);
}
static void registered_once(void *self) {
  struct state *s = self;
  EXPECT(s->done == 1 && tide_tracker_live(s->tracker) == 3);
}

#define TRACK(name, stale_most, at_end, ...)                                                       \
  TEST(name) {                                                                                     \
    static const struct interleave_case one = {.size = sizeof(struct state),                       \
                                               .setup = setup,                                     \
                                               .threads = {__VA_ARGS__},                           \
                                               .check = at_end,                                    \
                                               .stale = stale_most};                               \
    interleave_explore(&one);                                                                      \
  }

TRACK(advance_wait, 2, came_once, advance_one, advance_two, wait_for_both)
TRACK(advance_cancel, 2, came_unless_cancelled, advance_one, advance_two, wait_and_cancel)
TRACK(advance_fail, 2, failed_once, advance_one, fail_two, wait_for_both)
TRACK(advance_finish, 3, finished_once, advance_one, wait_finish)
TRACK(advance_several, 2, finished_one_of_two, advance_one, wait_finish, wait_finish_later)
TRACK(advance_several_cancel, 2, finished_twice_unless_cancelled, advance_one_further,
      wait_and_cancel_finish, wait_finish_later)
TRACK(state_used_again, 2, NULL, replace_one, look_at_one, look_at_new)
TRACK(table_grows, 3, NULL, grow, look_while_growing)
TRACK(close_wait, 2, came_once, close_one, wait_for_both)
TRACK(certify_finish, 2, finished_once, fail_and_certify, wait_finish)
TRACK(close_cancel, 2, finished_unless_cancelled, close_one, wait_and_cancel_finish)
TRACK(register_twice, 2, registered_once, register_new, register_new)

TEST_MAIN(CASE(close_wait), CASE(certify_finish), CASE(close_cancel), CASE(register_twice),
          CASE(advance_wait), CASE(advance_cancel), CASE(advance_fail), CASE(advance_finish),
          CASE(advance_several), CASE(advance_several_cancel), CASE_SECONDS(state_used_again, 300),
          CASE(table_grows))
