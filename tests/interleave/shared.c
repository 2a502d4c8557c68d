/* A slot of shared memory: signal, publish, fail and close against those who look, wait and read
 * records. Each thread is a process; the region is what they share. */
#include "interleave.h"

#include "harness.h"
#include "tidemark/tidemark.h"

#define LEASE 5
#define SLOT_SIZE (64 + 2 * 128)

static const tide_axis axis_a = 0x0000200000000001u;

struct state {
  struct tide_context *context;
  struct tide_shared owner, reader;
  _Alignas(64) unsigned char memory[64 + 2 * SLOT_SIZE];
  enum tide_status status, second;
};

static void format(struct state *s) {
  struct tide_shared_shape shape = {2, 2, 1};
  EXPECT(tide_shared_size(&shape) == sizeof s->memory);
  EXPECT_OK(tide_shared_format(s->memory, sizeof s->memory, &shape));
  struct tide_shared_params params = {
      .struct_size = sizeof params, tide_platform_linux(), true, LEASE};
  EXPECT_OK(tide_shared_attach(&s->owner, s->memory, sizeof s->memory, &params));
  params.writable = false;
  EXPECT_OK(tide_shared_attach(&s->reader, s->memory, sizeof s->memory, &params));
}

static void setup(void *self) {
  struct state *s = self;
  format(s);
  EXPECT_OK(tide_shared_open(&s->owner, 0, 1, 0));
  EXPECT_OK(tide_shared_open(&s->owner, 1, 1, 0));
}

/* The record of `value` is {a@value}. */
static void signal(struct state *s, uint32_t slot, uint64_t value) {
  TIDE_FRONTIER_STORAGE(known, 1);
  tide_frontier_init(&known.frontier, 1);
  tide_frontier_insert_or_raise(&known.frontier, axis_a, value, NULL);
  EXPECT_OK(tide_shared_signal(&s->owner, slot, value, &known.frontier, axis_a, value));
}

static void signal_one(void *self) { signal(self, 0, 1); }
static void signal_one_two(void *self) {
  signal(self, 0, 1);
  signal(self, 0, 2);
}
static void signal_three(void *self) {
  signal_one_two(self);
  signal(self, 0, 3);
}

/* ---- signal against wait ----------------------------------------------------------------------
 */

static void wait_one(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_shared_wait(&s->reader, 0, 1, 1, TIDE_FOREVER));
  EXPECT(tide_shared_value(&s->reader, 0) >= 1);
}
static void wait_two(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_shared_wait(&s->reader, 0, 1, 2, TIDE_FOREVER));
}
static void wait_a_while(void *self) {
  struct state *s = self;
  s->status = tide_shared_wait(&s->reader, 0, 1, 1, 1000);
  EXPECT(s->status == TIDE_OK || s->status == TIDE_TIMEOUT);
}
static void publish_then_wake(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_shared_publish(&s->owner, 0, 1, UINT64_MAX));
  EXPECT_OK(tide_shared_wake(&s->owner, 0));
}

INTERLEAVE_CASE(signal_wait, 3, setup, NULL, signal_one, wait_one)
INTERLEAVE_CASE(signals_waits, 0, setup, NULL, signal_one_two, wait_one, wait_two)
INTERLEAVE_CASE(signal_deadline, 2, setup, NULL, signal_one, wait_a_while, wait_one)
INTERLEAVE_CASE(publish_wake, 2, setup, NULL, publish_then_wake, wait_one)

/* ---- signal against a reader of records
 * ----------------------------------------------------------- */

/* Reached, so its record is there: its own, or a later one that took its place. */
static void read_record(struct state *s, uint64_t value) {
  TIDE_FRONTIER_STORAGE(known, 2);
  struct tide_record_info info;
  tide_frontier_init(&known.frontier, 2);
  uint64_t reached = tide_shared_value(&s->reader, 0);
  enum tide_status status = tide_shared_record(&s->reader, 0, 1, value, &known.frontier, &info);
  if (status == TIDE_TIMEOUT) {
    EXPECT(reached < value);
    return;
  }
  EXPECT_OK(status);
  EXPECT(!info.external && info.value >= value);
  EXPECT(info.axis == axis_a && info.epoch == info.value);
  EXPECT(known.frontier.count == 1 && !known.frontier.tainted);
  EXPECT(tide_frontier_get(&known.frontier, axis_a) == info.value);
  EXPECT(info.coarse == (info.value != value));
}
static void read_one(void *self) { read_record(self, 1); }
static void read_two(void *self) { read_record(self, 2); }
static void wait_and_read(void *self) {
  wait_one(self);
  read_record(self, 1);
}

INTERLEAVE_CASE(signal_read, 3, setup, NULL, signal_one, read_one)
INTERLEAVE_CASE(signal_wait_read, 2, setup, NULL, signal_one_two, wait_and_read)

/* There are two places: the third record overwrites the first, while that is read. */
static void setup_full(void *self) {
  setup(self);
  signal_one_two(self);
}
static void signal_next(void *self) { signal(self, 0, 3); }
INTERLEAVE_CASE(overwrite_read, 2, setup_full, NULL, signal_next, read_one)
INTERLEAVE_CASE(three_read, 1, setup, NULL, signal_three, read_two)

/* ---- failing, and the reaper
 * ------------------------------------------------------------------- */

static void fail_from_two(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_shared_fail(&s->owner, 0, 2, TIDE_LOST));
}
static void signal_then_fail(void *self) {
  signal_one(self);
  fail_from_two(self);
}
/* The first failure wins: who buries finds one that has begun. */
static void fail_then_bury(void *self) {
  struct state *s = self;
  fail_from_two(self);
  EXPECT_OK(tide_shared_reap(&s->owner, TIDE_OWNER_DIED));
}
static void wait_two_fails(void *self) {
  struct state *s = self;
  EXPECT(tide_shared_wait(&s->reader, 0, 1, 2, TIDE_FOREVER) == TIDE_LOST);
}
static void wait_one_fails(void *self) {
  struct state *s = self;
  EXPECT(tide_shared_wait(&s->reader, 0, 1, 1, TIDE_FOREVER) == TIDE_LOST);
}
static void look_twice(void *self) {
  struct state *s = self;
  s->status = tide_shared_look(&s->reader, 0, 1, 2);
  s->second = tide_shared_look(&s->reader, 0, 1, 2);
  EXPECT(s->status == TIDE_TIMEOUT || s->status == TIDE_LOST);
  EXPECT(s->second == s->status || s->second == TIDE_LOST);
}

INTERLEAVE_CASE(fail_wait, 2, setup, NULL, signal_then_fail, wait_one, wait_two_fails)
INTERLEAVE_CASE(fail_look, 3, setup, NULL, fail_from_two, look_twice)
INTERLEAVE_CASE(bury_wait, 2, setup, NULL, fail_then_bury, wait_one_fails, wait_two_fails)

/* 1 broke, and then 2 was reached: nobody takes 1 for good. */
static void break_one(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_shared_publish(&s->owner, 0, 2, 1));
  EXPECT_OK(tide_shared_wake(&s->owner, 0));
}
static void wait_broken(void *self) {
  struct state *s = self;
  EXPECT(tide_shared_wait(&s->reader, 0, 1, 1, TIDE_FOREVER) == TIDE_NOT_FOUND);
}
INTERLEAVE_CASE(break_wait, 3, setup, NULL, break_one, wait_broken)

/* ---- generations
 * ------------------------------------------------------------------------------------ */

/* The slot's next life begins at a value that its first never reached. */
static void reopen(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_shared_close(&s->owner, 0));
  EXPECT_OK(tide_shared_open(&s->owner, 0, 2, 5));
}
static void wait_until_closed(void *self) {
  struct state *s = self;
  EXPECT(tide_shared_wait(&s->reader, 0, 1, 2, TIDE_FOREVER) == TIDE_CANCELLED);
}
static void look_across(void *self) {
  struct state *s = self;
  s->status = tide_shared_look(&s->reader, 0, 1, 2);
  EXPECT(s->status == TIDE_TIMEOUT || s->status == TIDE_CANCELLED);
}
static void reopen_and_signal(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_shared_close(&s->owner, 0));
  EXPECT_OK(tide_shared_open(&s->owner, 0, 2, 0));
  signal(s, 0, 9);
}
/* Its first life reached 1 and 2. */
static void read_across(void *self) {
  struct state *s = self;
  struct tide_record_info info;
  s->status = tide_shared_record(&s->reader, 0, 1, 1, NULL, &info);
  EXPECT(s->status == TIDE_OK || s->status == TIDE_CANCELLED);
  if (s->status == TIDE_OK) EXPECT(!info.external && info.value == 1);
}

/* Who knows the name of the next life already; its first reached 9. */
static void signal_reopen(void *self) {
  struct state *s = self;
  signal(s, 0, 9);
  EXPECT_OK(tide_shared_close(&s->owner, 0));
  EXPECT_OK(tide_shared_open(&s->owner, 0, 2, 5));
}
static void look_ahead(void *self) {
  struct state *s = self;
  EXPECT(tide_shared_look(&s->reader, 0, 2, 7) == TIDE_TIMEOUT);
}
static void wait_ahead(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_shared_wait(&s->reader, 0, 2, 5, TIDE_FOREVER));
}
INTERLEAVE_CASE(open_look, 3, setup, NULL, signal_reopen, look_ahead)
INTERLEAVE_CASE(open_wait, 2, setup, NULL, signal_reopen, wait_ahead)

INTERLEAVE_CASE(close_wait, 2, setup, NULL, reopen, wait_until_closed)
INTERLEAVE_CASE(close_look, 3, setup, NULL, reopen, look_across)
INTERLEAVE_CASE(close_read, 2, setup_full, NULL, reopen_and_signal, read_across)

/* ---- several
 * ----------------------------------------------------------------------------------------- */

static void signal_other(void *self) { signal(self, 1, 1); }
static void wait_any(void *self) {
  struct state *s = self;
  struct tide_shared_point points[] = {{&s->reader, 0, 1, 1}, {&s->reader, 1, 1, 1}};
  size_t index = 9;
  EXPECT_OK(tide_shared_wait_any(points, 2, TIDE_FOREVER, &index));
  EXPECT(index < 2 && tide_shared_value(&s->reader, (uint32_t)index) == 1);
}
INTERLEAVE_CASE(any_of_two, 1, setup, NULL, signal_one, signal_other, wait_any)

TEST_MAIN(CASE(signal_wait), CASE(signals_waits), CASE(signal_deadline), CASE(publish_wake),
          CASE(signal_read), CASE(signal_wait_read), CASE(overwrite_read), CASE(three_read),
          CASE(fail_wait), CASE(fail_look), CASE(bury_wait), CASE(break_wait), CASE(close_wait),
          CASE(open_look), CASE(open_wait), CASE(close_look), CASE(close_read), CASE(any_of_two))
