/* base: status names, text, the counter's heap, the lock, lists, the Linux platform. */
#include "harness.h"

#include "base/counter.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/alloc.h"
#include "base/random.h"
#include "base/text.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- status ---- */

TEST(status_has_a_name_and_a_text) {
  for (unsigned i = 0; i < TIDE_STATUS_COUNT; i++) {
    const char *name = tide_status_name((enum tide_status)i);
    CHECK(name && memcmp(name, "TIDE_", 5) == 0);
    CHECK(tide_status_text((enum tide_status)i)[0]);
    for (unsigned j = 0; j < i; j++)
      CHECK(strcmp(name, tide_status_name((enum tide_status)j)) != 0);
  }
  CHECK_EQ_STR(tide_status_name(TIDE_OK), "TIDE_OK");
  CHECK_EQ_STR(tide_status_name(TIDE_RACE), "TIDE_RACE");
  CHECK_EQ_STR(tide_status_name((enum tide_status)TIDE_STATUS_COUNT), "TIDE_STATUS_UNKNOWN");
  CHECK_EQ_STR(tide_status_name((enum tide_status) - 1), "TIDE_STATUS_UNKNOWN");
  CHECK(tide_status_text((enum tide_status)12345)[0]);
}

/* The numbers cross processes and wires. */
TEST(status_numbers_never_change) {
  CHECK_EQ_U64(TIDE_DEADLOCK, 5);
  CHECK_EQ_U64(TIDE_CANCELLED, 11);
  CHECK_EQ_U64(TIDE_UNSUPPORTED, 14);
  CHECK_EQ_U64(TIDE_RACE, 20);
}

/* ---- text ---- */

/* Formats with ours and with the C library's; both must agree. */
#define SAME(...)                                                                                  \
  do {                                                                                             \
    char want[256], got[256];                                                                      \
    int length = snprintf(want, sizeof want, __VA_ARGS__);                                         \
    struct tide_text text;                                                                         \
    tide_text_init(&text, got, sizeof got);                                                        \
    tide_text_format(&text, __VA_ARGS__);                                                          \
    CHECK_EQ_STR(got, want);                                                                       \
    CHECK_EQ_U64(text.length, (uint64_t)length);                                                   \
  } while (0)

TEST(text_formats_like_printf) {
  SAME("plain");
  SAME("%s|%8s|%-8s|%.*s|%.2s", "one", "two", "three", 2, "four", "five");
  SAME("%c%c%%", 'a', 'b');
  SAME("%d %d %d", 0, -1, 2147483647);
  SAME("%d", -2147483647 - 1);
  SAME("%ld %lld", -9223372036854775807L - 1, -9223372036854775807LL - 1);
  SAME("%u %lu %llu %zu", 4294967295u, 18446744073709551615ul, 18446744073709551615ull, (size_t)7);
  SAME("%x %08x %8x %-8x|", 255u, 255u, 255u, 255u);
  SAME("%5d|%-5d|%05d", -42, -42, -42);
  SAME("%016llx", 0x123456789abcdefull);
}

TEST(text_is_cut_but_counted) {
  char data[8];
  struct tide_text text;
  tide_text_init(&text, data, sizeof data);
  tide_text_format(&text, "%s", "1234567");
  CHECK_EQ_STR(data, "1234567");
  CHECK(!tide_text_cut(&text));
  tide_text_format(&text, "%d", 89);
  CHECK_EQ_STR(data, "1234567");
  CHECK(tide_text_cut(&text));
  CHECK_EQ_U64(text.length, 9);
  tide_text_init(&text, NULL, 0);
  tide_text_format(&text, "%s", "only counted");
  CHECK_EQ_U64(text.length, 12);
}

TEST(diag_keeps_its_place) {
  struct tide_diag diag = {0};
  CHECK_STATUS(tide_diag_at(&diag, TIDE_CORRUPT, 12, 18, "timeline '%s'", "tiles"), TIDE_CORRUPT);
  CHECK_EQ_U64(diag.status, TIDE_CORRUPT);
  CHECK_EQ_U64(diag.line, 12);
  CHECK_EQ_U64(diag.column, 18);
  CHECK_EQ_STR(diag.text, "timeline 'tiles'");
  CHECK_STATUS(tide_diag_set(&diag, TIDE_FULL, "full"), TIDE_FULL);
  CHECK_EQ_U64(diag.line, 0);
  CHECK_STATUS(tide_diag_set(NULL, TIDE_FULL, "nobody listens"), TIDE_FULL);
}

/* ---- memory ---- */

TEST(alloc_zeroes_and_refuses_overflow) {
  const struct tide_allocator *allocator = tide_allocator_system();
  unsigned char *bytes = tide_alloc(allocator, 100, 3);
  CHECK(bytes);
  for (int i = 0; i < 300; i++) CHECK(bytes[i] == 0);
  tide_free(allocator, bytes, 100, 3);
  CHECK(!tide_alloc(allocator, SIZE_MAX / 2, 3));
  void *nothing = tide_alloc(allocator, 0, 8);
  CHECK(nothing);
  tide_free(allocator, nothing, 0, 8);
  tide_free(allocator, NULL, 1, 1);
  for (size_t align = 1; align <= 4096; align *= 2) {
    void *memory = allocator->alloc(allocator->self, 100, align);
    CHECK(memory && (uintptr_t)memory % align == 0);
    allocator->free(allocator->self, memory, 100);
  }
}

/* ---- the counter, against an array that is searched from end to end ---- */

enum { NODES = 300 };

struct model {
  struct tide_counter counter;
  struct tide_node nodes[NODES];
  bool queued[NODES];
  uint64_t value[NODES], newest;
};

static void model_add(struct model *model, int i, uint64_t value) {
  tide_counter_add(&model->counter, &model->nodes[i], value);
  model->queued[i] = true;
  model->value[i] = value;
}

static uint64_t model_least(const struct model *model) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < NODES; i++) {
    if (model->queued[i] && model->value[i] < least) least = model->value[i];
  }
  return least;
}

/* Those that came off are exactly those in [from, to]. */
static void model_fired(struct model *model, struct tide_fired *fired, uint64_t from, uint64_t to,
                        bool ascending, enum tide_status status) {
  uint64_t last = 0;
  for (struct tide_node *node; (node = tide_fired_pop(fired));) {
    long i = node - model->nodes;
    CHECK(i >= 0 && i < NODES && model->queued[i]);
    CHECK_EQ_U64(node->state, TIDE_NODE_FIRED);
    CHECK_STATUS(node->status, status);
    CHECK_EQ_U64(node->value, model->value[i]);
    CHECK(node->value >= from && node->value <= to);
    CHECK(!ascending || node->value >= last);
    last = node->value;
    model->queued[i] = false;
  }
  for (int i = 0; i < NODES; i++) {
    CHECK(!model->queued[i] || model->value[i] < from || model->value[i] > to);
  }
}

static void model_step(struct model *model, struct tide_random *random, uint64_t range) {
  int i = (int)tide_random_below(random, NODES);
  uint64_t value = tide_random_below(random, range);
  /* Half of them in order, as most are. */
  if (tide_random_below(random, 2)) value = model->newest += tide_random_below(random, 3);
  struct tide_fired fired;
  tide_fired_init(&fired);
  switch (tide_random_below(random, 16)) {
    case 0:
      tide_counter_pop(&model->counter, value / 4, &fired, TIDE_OK);
      model_fired(model, &fired, 0, value / 4, true, TIDE_OK);
      break;
    case 1:
      value = tide_random_below(random, 2) ? range - tide_random_below(random, range) / 4
                                           : model->newest - tide_random_below(random, 20);
      tide_counter_pop_from(&model->counter, value, &fired, TIDE_LOST);
      model_fired(model, &fired, value, UINT64_MAX, false, TIDE_LOST);
      break;
    case 2:
    case 3:
    case 4:
    case 5:
      CHECK(tide_counter_remove(&model->counter, &model->nodes[i]) == model->queued[i]);
      model->queued[i] = false;
      CHECK(!tide_counter_remove(&model->counter, &model->nodes[i]));
      break;
    default:
      if (!model->queued[i]) model_add(model, i, value);
      break;
  }
  CHECK_EQ_U64(tide_counter_least(&model->counter), model_least(model));
}

TEST(counter_agrees_with_an_array) {
  static const uint64_t ranges[] = {1, 3, 50, 100000};
  for (uint64_t seed = 1; seed <= 40; seed++) {
    struct model *model = calloc(1, sizeof *model);
    struct tide_random random = {seed};
    for (int step = 0; step < 4000; step++) model_step(model, &random, ranges[seed % 4]);
    struct tide_fired fired;
    tide_fired_init(&fired);
    tide_counter_pop(&model->counter, UINT64_MAX, &fired, TIDE_OK);
    model_fired(model, &fired, 0, UINT64_MAX, true, TIDE_OK);
    CHECK(tide_counter_empty(&model->counter));
    free(model);
  }
}

/* Every shape that recursion could trip over: long chains of siblings and of children. */
TEST(counter_takes_a_million_waiters) {
  const uint32_t count = 1000000 / test_slowdown();
  for (int order = 0; order < 3; order++) {
    struct tide_counter counter = {0};
    struct tide_node *nodes = calloc(count, sizeof *nodes);
    CHECK(nodes);
    for (uint32_t i = 0; i < count; i++) {
      uint64_t value = order == 0 ? i : order == 1 ? count - i : 7;
      tide_counter_add(&counter, &nodes[i], value);
    }
    struct tide_fired fired;
    tide_fired_init(&fired);
    tide_counter_pop(&counter, UINT64_MAX, &fired, TIDE_OK);
    uint32_t fired_count = 0;
    while (tide_fired_pop(&fired)) fired_count++;
    CHECK_EQ_U64(fired_count, count);
    free(nodes);
  }
}

/* In the list and in the heap; smaller values stay queued. */
TEST(counter_fails_from_a_value) {
  struct tide_counter counter = {0};
  struct tide_node nodes[6] = {0};
  static const uint64_t values[] = {4, 9, 8, 1, 12, 7};
  struct tide_fired fired;
  tide_fired_init(&fired);
  for (int i = 0; i < 6; i++) tide_counter_add(&counter, &nodes[i], values[i]);
  tide_counter_pop_from(&counter, 8, &fired, TIDE_LOST);
  for (int i = 0; i < 6; i++) {
    CHECK_EQ_U64(nodes[i].state, values[i] >= 8 ? TIDE_NODE_FIRED : TIDE_NODE_QUEUED);
    CHECK_STATUS(nodes[i].status, values[i] >= 8 ? TIDE_LOST : TIDE_OK);
  }
  CHECK_EQ_U64(tide_counter_least(&counter), 1);
}

static unsigned fire_calls;
static void count_fire(struct tide_node *node, enum tide_status status) {
  CHECK_STATUS(status, TIDE_CANCELLED);
  CHECK_EQ_U64(node->state, TIDE_NODE_FIRED);
  memset(node, 0xa5, sizeof *node); /* a node may be gone once fired */
  fire_calls++;
}

TEST(fired_run_lets_nodes_vanish) {
  struct tide_node nodes[5] = {0};
  struct tide_fired fired;
  tide_fired_init(&fired);
  for (int i = 0; i < 5; i++) {
    nodes[i].fire = count_fire;
    tide_fired_push(&fired, &nodes[i], TIDE_CANCELLED);
  }
  tide_fired_run(&fired);
  CHECK_EQ_U64(fire_calls, 5);
  CHECK(!tide_fired_pop(&fired));
}

/* ---- lock ---- */

struct contest {
  struct tide_lock lock;
  uint64_t plain; /* guarded by lock; a lost update shows */
  uint64_t rounds;
};

static void contend(void *argument) {
  struct contest *contest = argument;
  const struct tide_platform *platform = tide_platform_linux();
  for (uint64_t i = 0; i < contest->rounds; i++) {
    tide_lock_take(&contest->lock, platform);
    contest->plain++;
    tide_lock_give(&contest->lock);
  }
}

TEST(lock_excludes) {
  const struct tide_platform *platform = tide_platform_linux();
  struct contest contest = {.rounds = 300000 / test_slowdown()};
  struct tide_thread *threads[4];
  tide_lock_init(&contest.lock);
  for (int i = 0; i < 4; i++) {
    CHECK_OK(platform->spawn(platform->self, "contender", contend, &contest, &threads[i]));
  }
  for (int i = 0; i < 4; i++) platform->join(platform->self, threads[i]);
  CHECK_EQ_U64(contest.plain, 4 * contest.rounds);
  CHECK(!tide_lock_held(&contest.lock));
  CHECK(tide_lock_try(&contest.lock));
  CHECK(!tide_lock_try(&contest.lock));
  CHECK(tide_lock_held(&contest.lock));
}

/* A holder that sleeps: the others must get past spinning and yielding, and come back. */
static void take_once(void *argument) {
  struct contest *contest = argument;
  tide_lock_take(&contest->lock, tide_platform_linux());
  contest->plain++;
  tide_lock_give(&contest->lock);
}

TEST(lock_outlasts_a_sleeping_holder) {
  const struct tide_platform *platform = tide_platform_linux();
  struct contest contest = {0};
  struct tide_thread *threads[2];
  CHECK(tide_lock_try(&contest.lock));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(platform->spawn(platform->self, "late", take_once, &contest, &threads[i]));
  }
  poll(NULL, 0, 20);
  CHECK_EQ_U64(contest.plain, 0);
  tide_lock_give(&contest.lock);
  for (int i = 0; i < 2; i++) platform->join(platform->self, threads[i]);
  CHECK_EQ_U64(contest.plain, 2);
}

/* ---- list ---- */

TEST(list_keeps_order) {
  struct tide_link head, links[4];
  tide_list_init(&head);
  CHECK(tide_list_empty(&head) && !tide_list_pop_front(&head));
  for (int i = 0; i < 4; i++) tide_list_push_back(&head, &links[i]);
  tide_list_remove(&links[2]);
  tide_list_remove(&links[2]);
  CHECK(tide_list_pop_front(&head) == &links[0]);
  tide_list_insert_before(&links[1], &links[2]);
  CHECK(tide_list_pop_front(&head) == &links[2]);
  CHECK(tide_list_pop_front(&head) == &links[1]);
  CHECK(tide_list_pop_front(&head) == &links[3]);
  CHECK(tide_list_empty(&head));
}

/* ---- the Linux platform ---- */

TEST(platform_wait_returns_at_its_deadline) {
  const struct tide_platform *p = tide_platform_linux();
  uint32_t word = 1;
  uint64_t start = p->now(p->self);
  p->wait(p->self, &word, 0, TIDE_FOREVER); /* another value: returns at once */
  p->wait(p->self, &word, 1, TIDE_NOW);
  uint64_t deadline = p->now(p->self) + 20000000;
  while (p->now(p->self) < deadline) p->wait(p->self, &word, 1, deadline);
  CHECK(p->now(p->self) - start >= 20000000);
  CHECK(p->thread_id(p->self) != 0);
  CHECK(p->cores(p->self) >= 1);
}

static void wake_main(void *argument) {
  const struct tide_platform *p = tide_platform_linux();
  uint32_t *word = argument;
  tide_store_release(word, 1u);
  p->wake(p->self, word, UINT32_MAX);
}

TEST(platform_wake_wakes) {
  const struct tide_platform *p = tide_platform_linux();
  for (int i = 0; i < 200; i++) {
    uint32_t word = 0;
    struct tide_thread *thread;
    CHECK_OK(p->spawn(p->self, NULL, wake_main, &word, &thread));
    while (tide_load_acquire(&word) == 0) p->wait(p->self, &word, 0, TIDE_FOREVER);
    p->join(p->self, thread);
  }
}

TEST(platform_notify_polls_readable) {
  const struct tide_platform *p = tide_platform_linux();
  int fd;
  CHECK_OK(p->notify_open(p->self, &fd));
  struct pollfd poller = {.fd = fd, .events = POLLIN};
  CHECK(poll(&poller, 1, 0) == 0);
  p->notify_raise(p->self, fd);
  p->notify_raise(p->self, fd);
  CHECK(poll(&poller, 1, 0) == 1);
  p->notify_clear(p->self, fd);
  CHECK(poll(&poller, 1, 0) == 0);
  p->notify_close(p->self, fd);
}

TEST_MAIN(CASE(status_has_a_name_and_a_text), CASE(status_numbers_never_change),
          CASE(text_formats_like_printf), CASE(text_is_cut_but_counted), CASE(diag_keeps_its_place),
          CASE(alloc_zeroes_and_refuses_overflow), CASE(counter_agrees_with_an_array),
          CASE(counter_takes_a_million_waiters), CASE(counter_fails_from_a_value),
          CASE(fired_run_lets_nodes_vanish), CASE(lock_excludes),
          CASE(lock_outlasts_a_sleeping_holder), CASE(list_keeps_order),
          CASE(platform_wait_returns_at_its_deadline), CASE(platform_wake_wakes),
          CASE(platform_notify_polls_readable))
