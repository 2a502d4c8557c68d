/* Timelines in shared memory, within one process: what each call answers. Other processes are in
 * shared_processes.c. */
#include "shared_rig.h"

#include "base/random.h"
#include "tidemark/clock.h"

static void *memory;
static size_t size;
static struct tide_shared owner, reader;

static void open_region(uint32_t count, uint32_t records, uint8_t capacity) {
  struct tide_shared_shape shape = {count, records, capacity};
  size = tide_shared_size(&shape);
  CHECK(size > 0);
  memory = aligned_alloc(64, (size + 63) / 64 * 64);
  memset(memory, 0, size);
  CHECK_OK(tide_shared_format(memory, size, &shape));
  attach(&owner, memory, size, true, LEASE);
  attach(&reader, memory, size, false, LEASE);
}

static enum tide_status look(uint64_t value) { return tide_shared_look(&reader, 0, 1, value); }
static enum tide_status wait_now(uint64_t value) {
  return tide_shared_wait(&reader, 0, 1, value, TIDE_NOW);
}

/* ---- shape and attach ------------------------------------------------------------------------ */

TEST(shapes) {
  struct tide_shared_shape good = {3, 4, 8};
  CHECK_EQ_U64(tide_shared_size(&good), 64 + 3 * (64 + 4 * (64 + 8 * 16)));
  struct tide_shared_shape values_only = {1, 0, 0};
  CHECK_EQ_U64(tide_shared_size(&values_only), 128);
  static const struct tide_shared_shape bad[] = {{0, 4, 8},    {1u << 21, 0, 0}, {1, 1, 8},
                                                 {1, 1025, 8}, {1, 4, 0},        {1, 0, 8}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(tide_shared_size(&bad[i]) == 0);
  CHECK(tide_shared_size(NULL) == 0);
  open_region(1, 2, 1);
  CHECK_STATUS(tide_shared_format(memory, size - 1, &(struct tide_shared_shape){1, 2, 1}),
               TIDE_FULL);
  CHECK_STATUS(tide_shared_format((char *)memory + 8, size, &good), TIDE_INVALID);
  CHECK_STATUS(tide_shared_format(memory, size, &bad[0]), TIDE_INVALID);
  free(memory);
}

static enum tide_status attach_as(size_t of, void *at) {
  struct tide_shared_params params = {.struct_size = sizeof params,
                                      .platform = tide_platform_linux()};
  struct tide_shared view;
  return tide_shared_attach(&view, at, of, &params);
}

TEST(attach_checks) {
  open_region(2, 4, 8);
  struct tide_shared_head *head = memory, kept = *head;
  CHECK_OK(attach_as(size, memory));
  CHECK_OK(attach_as(size + 1000, memory));
  CHECK_STATUS(attach_as(size - 1, memory), TIDE_CORRUPT);
  CHECK_STATUS(attach_as(10, memory), TIDE_CORRUPT);
  CHECK_STATUS(attach_as(size, (char *)memory + 32), TIDE_INVALID);
  CHECK_STATUS(attach_as(size, NULL), TIDE_INVALID);
  CHECK_STATUS(tide_shared_attach(&owner, memory, size, NULL), TIDE_INVALID);
  head->magic++;
  CHECK_STATUS(attach_as(size, memory), TIDE_CORRUPT);
  *head = kept, head->version = 2;
  CHECK_STATUS(attach_as(size, memory), TIDE_CORRUPT);
  *head = kept, head->count = UINT32_MAX;
  CHECK_STATUS(attach_as(size, memory), TIDE_CORRUPT);
  *head = kept, head->capacity = 256 + 8;
  CHECK_STATUS(attach_as(size, memory), TIDE_CORRUPT);
  *head = kept, head->records = 5;
  CHECK_STATUS(attach_as(size, memory), TIDE_CORRUPT);
  /* What was attached before goes by what it saw then. */
  head->count = UINT32_MAX;
  CHECK_EQ_U64(tide_shared_value(&reader, 2), 0);
  CHECK_STATUS(tide_shared_look(&reader, 2, 1, 1), TIDE_INVALID);
  free(memory);
}

/* ---- values ---------------------------------------------------------------------------------- */

TEST(values) {
  open_region(2, 0, 0);
  CHECK_STATUS(look(1), TIDE_TIMEOUT); /* it may still be opened */
  CHECK_STATUS(signal_plain(&owner, 0, 1), TIDE_CANCELLED);
  CHECK_STATUS(tide_shared_open(&owner, 0, 0, 0), TIDE_INVALID);
  CHECK_OK(tide_shared_open(&owner, 0, 1, 5));
  CHECK_STATUS(tide_shared_open(&owner, 0, 2, 5), TIDE_BUSY);
  CHECK_EQ_U64(tide_shared_value(&reader, 0), 5);
  CHECK_EQ_U64(tide_shared_value(&reader, 1), 0);
  CHECK_OK(look(5));
  CHECK_STATUS(look(6), TIDE_TIMEOUT);
  CHECK_STATUS(wait_now(6), TIDE_TIMEOUT);
  CHECK_STATUS(signal_plain(&owner, 0, 5), TIDE_VALUE);
  CHECK_STATUS(signal_plain(&owner, 2, 6), TIDE_INVALID);
  CHECK_STATUS(signal_plain(&reader, 0, 6), TIDE_DENIED);
  CHECK_OK(signal_plain(&owner, 0, 7));
  CHECK_OK(wait_now(6));
  CHECK_OK(tide_shared_wait(&reader, 0, 1, 7, TIDE_FOREVER));
  const struct tide_platform *p = tide_platform_linux();
  CHECK_STATUS(tide_shared_wait(&reader, 0, 1, 8, p->now(p->self) + 2000000), TIDE_TIMEOUT);
  CHECK_OK(signal_plain(&owner, 0, UINT64_MAX));
  CHECK_OK(look(UINT64_MAX));
  CHECK_OK(tide_shared_fail(&owner, 0, 0, TIDE_LOST)); /* all is reached: nothing fails */
  CHECK_OK(look(UINT64_MAX));
  free(memory);
}

TEST(generations) {
  open_region(1, 2, 8);
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  signal_known(&owner, 0, 3, 1);
  CHECK_OK(tide_shared_fail(&owner, 0, 0, TIDE_FAILED));
  CHECK_OK(tide_shared_close(&owner, 0));
  CHECK_STATUS(look(1), TIDE_CANCELLED);
  CHECK_STATUS(wait_now(9), TIDE_CANCELLED);
  CHECK_STATUS(tide_shared_close(&owner, 0), TIDE_CANCELLED);
  CHECK_STATUS(tide_shared_open(&owner, 0, 1, 0), TIDE_INVALID); /* never again */
  CHECK_OK(tide_shared_open(&owner, 0, 2, 0));
  CHECK_STATUS(look(1), TIDE_CANCELLED);
  CHECK_STATUS(tide_shared_look(&reader, 0, 2, 1), TIDE_TIMEOUT);
  CHECK_OK(signal_plain(&owner, 0, 3));
  struct tide_record_info info;
  CHECK_OK(tide_shared_record(&reader, 0, 2, 3, NULL, &info)); /* no record of the first one */
  CHECK(info.external);
  signal_known(&owner, 0, 4, 2);
  CHECK_OK(tide_shared_record(&reader, 0, 2, 4, NULL, &info));
  CHECK(!info.external && info.epoch == 2);
  CHECK_STATUS(tide_shared_look(&reader, 0, 0, 0), TIDE_CANCELLED);
  free(memory);
}

/* ---- failing --------------------------------------------------------------------------------- */

TEST(fails) {
  open_region(2, 0, 0);
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  CHECK_OK(signal_plain(&owner, 0, 3));
  static const enum tide_status not [] = {TIDE_OK, TIDE_TIMEOUT, TIDE_NOT_FOUND, TIDE_CORRUPT,
                                          (enum tide_status)99};
  for (size_t i = 0; i < sizeof not / sizeof *not ; i++) {
    CHECK_STATUS(tide_shared_fail(&owner, 0, 0, not [i]), TIDE_INVALID);
    CHECK_STATUS(tide_shared_reap(&owner, not [i]), TIDE_INVALID);
  }
  CHECK_STATUS(tide_shared_reap(&reader, TIDE_LOST), TIDE_DENIED);
  CHECK_OK(tide_shared_fail(&owner, 0, 10, TIDE_FAILED)); /* from its own value upward */
  CHECK_STATUS(look(9), TIDE_TIMEOUT);
  CHECK_STATUS(look(10), TIDE_FAILED);
  CHECK_STATUS(look(UINT64_MAX), TIDE_FAILED);
  CHECK_STATUS(signal_plain(&owner, 0, 10), TIDE_FAILED);
  CHECK_STATUS(tide_shared_publish(&owner, 0, 10, UINT64_MAX), TIDE_FAILED);
  CHECK_OK(signal_plain(&owner, 0, 5));
  CHECK_OK(tide_shared_reap(&owner, TIDE_OWNER_DIED)); /* the first failure's status stays */
  CHECK_OK(tide_shared_reap(&owner, TIDE_OWNER_DIED));
  CHECK_OK(look(5));
  CHECK_STATUS(look(6), TIDE_FAILED);
  CHECK_STATUS(wait_now(6), TIDE_FAILED);
  CHECK_STATUS(tide_shared_look(&reader, 1, 1, 1), TIDE_OWNER_DIED); /* it never will be */
  CHECK_STATUS(tide_shared_sleep(&reader, 0, tide_shared_word(&reader, 0), TIDE_NOW), TIDE_TIMEOUT);
  CHECK_OK(tide_shared_sleep(&reader, 0, tide_shared_word(&reader, 0) - 1, TIDE_FOREVER));
  free(memory);
}

/* The highest value of all can fail, too, though it is also the word for "none". */
TEST(highest_fails) {
  open_region(1, 0, 0);
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  CHECK_STATUS(look(UINT64_MAX), TIDE_TIMEOUT);
  CHECK_OK(signal_plain(&owner, 0, UINT64_MAX - 1));
  CHECK_OK(tide_shared_reap(&owner, TIDE_OWNER_DIED));
  CHECK_OK(look(UINT64_MAX - 1));
  CHECK_STATUS(look(UINT64_MAX), TIDE_OWNER_DIED);
  CHECK_STATUS(signal_plain(&owner, 0, UINT64_MAX), TIDE_OWNER_DIED);
  free(memory);
}

TEST(lowest_broken) {
  open_region(1, 0, 0);
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  CHECK_OK(tide_shared_publish(&owner, 0, 4, UINT64_MAX));
  CHECK_OK(look(4));
  CHECK_OK(tide_shared_publish(&owner, 0, 7, 6)); /* 6 broke, 7 was reached */
  CHECK_EQ_U64(tide_shared_value(&reader, 0), 7);
  CHECK_OK(look(5));
  CHECK_STATUS(look(6), TIDE_NOT_FOUND);
  CHECK_STATUS(wait_now(7), TIDE_NOT_FOUND);
  CHECK_STATUS(wait_now(9), TIDE_NOT_FOUND);
  CHECK_OK(tide_shared_publish(&owner, 0, 2, UINT64_MAX)); /* neither goes back */
  CHECK_EQ_U64(tide_shared_value(&reader, 0), 7);
  CHECK_STATUS(look(6), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_shared_publish(&reader, 0, 8, 8), TIDE_DENIED);
  CHECK_OK(tide_shared_wake(&owner, 0));
  CHECK_STATUS(tide_shared_wake(&owner, 1), TIDE_INVALID);
  CHECK_OK(tide_shared_reap(&owner, TIDE_OWNER_DIED));
  CHECK_STATUS(look(7), TIDE_NOT_FOUND);
  CHECK_STATUS(look(8), TIDE_OWNER_DIED);
  free(memory);
}

/* ---- records --------------------------------------------------------------------------------- */

static known out;
static struct tide_record_info info;

static enum tide_status ask(const struct tide_shared *view, uint64_t value) {
  tide_frontier_init(&out.frontier, 8);
  return tide_shared_record(view, 0, 1, value, &out.frontier, &info);
}

/* The record of `epoch` answers. */
static void expect_record(uint64_t value, uint64_t has, uint64_t epoch, bool coarse) {
  CHECK_OK(ask(&reader, value));
  CHECK(!info.external && info.axis == axis_a);
  CHECK_EQ_U64(info.value, has);
  CHECK_EQ_U64(info.epoch, epoch);
  CHECK(info.coarse == coarse);
  CHECK(out.frontier.count == 2 && !out.frontier.tainted);
  CHECK_EQ_U64(tide_frontier_get(&out.frontier, axis_a), epoch);
  CHECK_EQ_U64(tide_frontier_get(&out.frontier, axis_b), epoch * 10);
}

static void expect_external(const struct tide_shared *view, uint64_t value) {
  CHECK_OK(ask(view, value));
  CHECK(info.external && info.axis == 0 && info.epoch == 0);
  CHECK(out.frontier.count == 0 && out.frontier.tainted);
}

TEST(records) {
  open_region(1, 4, 8);
  CHECK_OK(tide_shared_open(&owner, 0, 1, 2));
  CHECK_STATUS(ask(&reader, 2), TIDE_NOT_FOUND);
  CHECK_STATUS(ask(&reader, 3), TIDE_TIMEOUT);
  CHECK(out.frontier.tainted && out.frontier.count == 0);
  signal_known(&owner, 0, 3, 1);
  signal_known(&owner, 0, 6, 2);
  expect_record(3, 3, 1, false);
  expect_record(4, 6, 2, false); /* 4 to 6 were reached by it */
  CHECK_OK(signal_plain(&owner, 0, 7));
  expect_external(&reader, 7);
  signal_known(&owner, 0, 8, 3);
  expect_record(7, 8, 3, true); /* a later one heals it */
  signal_known(&owner, 0, 9, 4);
  signal_known(&owner, 0, 10, 5); /* takes the place of 3 */
  expect_record(3, 6, 2, true);
  expect_record(10, 10, 5, false);
  CHECK_STATUS(ask(&reader, 11), TIDE_TIMEOUT);
  CHECK_STATUS(tide_shared_record(&reader, 5, 1, 1, NULL, NULL), TIDE_INVALID);
  CHECK_OK(tide_shared_fail(&owner, 0, 0, TIDE_LOST));
  expect_record(10, 10, 5, false);
  CHECK_STATUS(ask(&reader, 11), TIDE_LOST);
  free(memory);
}

TEST(leases) {
  open_region(1, 4, 8);
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  signal_known(&owner, 0, 1, 1);
  struct tide_shared view;
  attach(&view, memory, size, false, 0); /* the reader shares none */
  expect_external(&view, 1);
  attach(&view, memory, size, false, LEASE + 1); /* or another */
  expect_external(&view, 1);
  expect_record(1, 1, 1, false);
  attach(&owner, memory, size, true, 0); /* the owner shares none */
  signal_known(&owner, 0, 2, 2);
  expect_external(&reader, 2);
  free(memory);
}

TEST(record_sizes) {
  open_region(1, 2, 1); /* room for one entry: the signaller's */
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  signal_known(&owner, 0, 1, 7);
  CHECK_OK(ask(&reader, 1));
  CHECK(out.frontier.count == 1 && out.frontier.tainted);
  CHECK_EQ_U64(tide_frontier_get(&out.frontier, axis_a), 7);
  free(memory);
  open_region(1, 2, 255);
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  TIDE_FRONTIER_STORAGE(many, 255);
  tide_frontier_init(&many.frontier, 255);
  for (uint64_t i = 0; i < 255; i++)
    tide_frontier_insert_or_raise(&many.frontier, axis_a + i, i + 1, NULL);
  CHECK_OK(tide_shared_signal(&owner, 0, 1, &many.frontier, axis_a, 1));
  CHECK_OK(ask(&reader, 1)); /* a small one keeps the signaller */
  CHECK(out.frontier.count == 8 && out.frontier.tainted);
  CHECK_EQ_U64(tide_frontier_get(&out.frontier, axis_a), 1);
  TIDE_FRONTIER_STORAGE(all, 255);
  tide_frontier_init(&all.frontier, 255);
  CHECK_OK(tide_shared_record(&reader, 0, 1, 1, &all.frontier, NULL));
  CHECK(all.frontier.count == 255 && !all.frontier.tainted);
  CHECK(tide_frontier_compare(&all.frontier, &many.frontier) == TIDE_EQUAL);
  free(memory);
}

TEST(bad_records) {
  open_region(1, 2, 8);
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  known storage;
  const struct tide_frontier *f = knowing(&storage, 3);
  CHECK_STATUS(tide_shared_signal(&owner, 0, 1, f, axis_a, 4), TIDE_INVALID);
  CHECK_STATUS(tide_shared_signal(&owner, 0, 1, f, axis_a, 0), TIDE_INVALID);
  CHECK_STATUS(tide_shared_signal(&owner, 0, 1, f, axis_a + 5, 1), TIDE_INVALID);
  CHECK_EQ_U64(tide_shared_value(&reader, 0), 0);
  signal_known(&owner, 0, 1, 3);
  struct tide_shared_record_head *record =
      (void *)((char *)memory + sizeof(struct tide_shared_head) + sizeof(struct tide_shared_slot));
  uint64_t *entries = (uint64_t *)(record + 1);
  static const struct {
    int word;
    uint64_t is;
  } lies[] = {{1, 2}, {3, 0},        {3, 1},   {4, 0}, {4, 4}, {6, 255},
              {6, 9}, {6, 2 | 1024}, {6, 256}, {8, 0}, {9, 0}, {8, ~0ull}};
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    uint64_t *word = (uint64_t *)record + lies[i].word, was = *word;
    *word = lies[i].is;
    enum tide_status status = ask(&reader, 1);
    if (i == 0) CHECK(status == TIDE_OK && info.external); /* it is not reached: not there */
    else CHECK_STATUS(status, TIDE_CORRUPT);
    CHECK(out.frontier.count == 0 && out.frontier.tainted);
    *word = was;
  }
  CHECK(entries[0] == axis_a);
  expect_record(1, 1, 3, false);
  record->seq |= 1; /* torn: not there */
  expect_external(&reader, 1);
  free(memory);
}

/* Bytes of chance, which also change: no answer is out of place. */
TEST(chance) {
  open_region(2, 3, 4);
  struct tide_random random = {.state = 9};
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  for (uint64_t i = 1; i < 20000; i++) {
    uint64_t *words = (uint64_t *)memory + 8;
    words[tide_random_below(&random, size / 8 - 8)] =
        tide_random_below(&random, 2) ? tide_random_below(&random, 8) : tide_random_next(&random);
    (void)!ask(&reader, tide_random_below(&random, 8));
    CHECK_OK(tide_frontier_validate(&out.frontier, NULL));
    enum tide_status status = wait_now(tide_random_below(&random, 8));
    CHECK(status < TIDE_STATUS_COUNT);
    if (tide_random_below(&random, 4)) continue;
    memset(words, 0, size - 64);
    CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
    for (uint64_t v = 1; v <= tide_random_below(&random, 6); v++) signal_known(&owner, 0, v, v);
  }
  free(memory);
}

/* ---- waiting for several ----------------------------------------------------------------------
 */

TEST(any) {
  open_region(300, 0, 0);
  struct tide_shared_point points[300];
  for (uint32_t i = 0; i < 300; i++) {
    CHECK_OK(tide_shared_open(&owner, i, 1, 0));
    points[i] = (struct tide_shared_point){&reader, i, 1, 1};
  }
  const struct tide_platform *p = tide_platform_linux();
  size_t index = 9;
  CHECK_STATUS(tide_shared_wait_any(points, 0, TIDE_NOW, &index), TIDE_INVALID);
  CHECK_STATUS(tide_shared_wait_any(points, 300, TIDE_NOW, &index), TIDE_TIMEOUT);
  CHECK_STATUS(tide_shared_wait_any(points, 3, p->now(p->self) + 2000000, &index), TIDE_TIMEOUT);
  CHECK_STATUS(tide_shared_wait_any(points, 300, p->now(p->self) + 3000000, &index), TIDE_TIMEOUT);
  CHECK(index == 9);
  CHECK_OK(signal_plain(&owner, 299, 1));
  CHECK_OK(tide_shared_fail(&owner, 298, 0, TIDE_LOST));
  CHECK_OK(tide_shared_wait_any(points + 299, 1, TIDE_FOREVER, &index));
  CHECK_STATUS(tide_shared_wait_any(points, 300, TIDE_FOREVER, &index), TIDE_LOST);
  CHECK(index == 298);
  points[4].slot = 300;
  CHECK_STATUS(tide_shared_wait_any(points, 300, TIDE_FOREVER, NULL), TIDE_INVALID);
  free(memory);
}

/* ---- platforms --------------------------------------------------------------------------------
 */

static uint32_t wakes;
static void count_wake(void *self, const uint32_t *word, uint32_t count) {
  (void)self, (void)word, (void)count;
  wakes++;
}

TEST(alone) {
  open_region(2, 0, 0);
  struct tide_platform counting = *tide_platform_linux();
  counting.wake_shared = count_wake;
  owner.platform = &counting;
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  wakes = 0;
  CHECK_OK(signal_plain(&owner, 0, 1));
  CHECK_EQ_U64(wakes, 1); /* who sleeps cannot be seen */
  tide_shared_set_alone(&owner, true);
  CHECK_OK(signal_plain(&owner, 0, 2));
  CHECK_EQ_U64(wakes, 1);
  tide_shared_set_alone(&owner, false);
  CHECK_OK(tide_shared_publish(&owner, 0, 3, UINT64_MAX));
  CHECK_EQ_U64(wakes, 1);
  CHECK_OK(tide_shared_reap(&owner, TIDE_LOST)); /* who waits for slot 1 to be opened, too */
  CHECK_EQ_U64(wakes, 3);
  free(memory);
}

/* In a simulation the timer events change the words. */
static void signal_second(struct tide_timer_event *event) {
  (void)event;
  CHECK_OK(signal_plain(&owner, 1, 1));
}

TEST(simulated) {
  open_region(2, 0, 0);
  struct tide_clock *clock;
  CHECK_OK(tide_clock_create(tide_allocator_system(), NULL, &clock));
  owner.platform = reader.platform = tide_clock_platform(clock);
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  CHECK_OK(tide_shared_open(&owner, 1, 1, 0));
  struct tide_timer_event event = {.fire = signal_second};
  tide_clock_at(clock, &event, 100);
  struct tide_shared_point points[] = {{&reader, 0, 1, 1}, {&reader, 1, 1, 1}};
  size_t index;
  CHECK_STATUS(tide_shared_wait(&reader, 1, 1, 1, 50), TIDE_TIMEOUT);
  CHECK_STATUS(tide_shared_wait_any(points, 2, 60, &index), TIDE_TIMEOUT);
  CHECK_EQ_U64(tide_clock_now(clock), 60);
  CHECK_OK(tide_shared_wait_any(points, 2, TIDE_FOREVER, &index));
  CHECK(index == 1 && tide_clock_now(clock) == 100);
  CHECK_STATUS(tide_shared_wait(&reader, 1, 1, 2, 200), TIDE_TIMEOUT);
  CHECK_EQ_U64(tide_clock_now(clock), 200);
  tide_clock_destroy(clock);
  free(memory);
}

TEST(no_shared_waits) {
  open_region(2, 0, 0);
  struct tide_platform poor = *tide_platform_linux();
  poor.wait_shared = NULL;
  poor.wake_shared = NULL;
  owner.platform = reader.platform = &poor;
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  CHECK_OK(signal_plain(&owner, 0, 1));
  CHECK_OK(tide_shared_wait(&reader, 0, 1, 1, TIDE_FOREVER));
  CHECK_STATUS(tide_shared_wait(&reader, 0, 1, 2, TIDE_NOW), TIDE_TIMEOUT);
  CHECK_STATUS(tide_shared_wait(&reader, 0, 1, 2, TIDE_FOREVER), TIDE_UNSUPPORTED);
  struct tide_shared_point point = {&reader, 0, 1, 2};
  CHECK_STATUS(tide_shared_wait_any(&point, 1, TIDE_FOREVER, NULL), TIDE_UNSUPPORTED);
  free(memory);
}

TEST_MAIN(CASE(shapes), CASE(attach_checks), CASE(values), CASE(generations), CASE(fails),
          CASE(highest_fails), CASE(lowest_broken), CASE(records), CASE(leases), CASE(record_sizes),
          CASE(bad_records), CASE(chance), CASE(any), CASE(alone), CASE(no_shared_waits),
          CASE(simulated))
