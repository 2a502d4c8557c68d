/* Non-blocking operations on real workers: several go out at once, and still each queue's are in
 * order, each comes after what it waits for, and a failure stays where it is. Long ones go out
 * alone.
 */
#include "harness.h"

#include "tidemark/tidemark.h"

#include <string.h>
#include <time.h>

enum { QUEUES = 4, EACH = 4000 };

struct world {
  struct tide_sink sink;
  uint32_t failures; /* that the sink got */
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[QUEUES];
  uint32_t ran[QUEUES]; /* plain: operations of a queue follow each other */
  bool done[QUEUES][EACH + 1];
  bool wrong;
  uint32_t together; /* atomic: operations that went out before the one before them was over */
};

struct argument {
  struct world *world;
  uint16_t queue;
  bool fails, waits;
  uint32_t place; /* 1 … */
};
_Static_assert(sizeof(struct argument) == 16, "few arguments");

/* Reads what its neighbour wrote without a lock: only the order makes that right. */
static enum tide_status step(void *arguments) {
  const struct argument *a = arguments;
  struct world *w = a->world;
  if (w->ran[a->queue] + 1 != a->place) __atomic_store_n(&w->wrong, true, __ATOMIC_RELAXED);
  if (a->waits && !w->done[(a->queue + 1) % QUEUES][a->place - 1])
    __atomic_store_n(&w->wrong, true, __ATOMIC_RELAXED);
  w->ran[a->queue] = a->place;
  w->done[a->queue][a->place] = true;
  return a->fails ? TIDE_IO : TIDE_OK;
}
static const struct tide_body_class quick = {.name = "step", .host = step, .non_blocking = true};
static const struct tide_body_class plain = {.name = "plain step", .host = step};

/* Of all that happens it wants failures alone. */
static void hear(void *self, const struct tide_event *event) {
  struct world *w = self;
  if (event->kind != TIDE_EVENT_FINISH || event->status == TIDE_OK) w->wrong = true;
  w->failures++;
}

static void open_world(struct world *w, uint32_t workers) {
  struct tide_cpu_params cpu = {.struct_size = sizeof cpu, .workers = workers};
  struct tide_queue_params queue = {
      .struct_size = sizeof queue, .operations = EACH + 1, .waits = EACH};
  memset(w, 0, sizeof *w);
  w->sink = (struct tide_sink){.event = hear, .self = w, .failures_only = true};
  CHECK_OK(tide_context_create(TIDE_PARAMS(tide_context_params, .sink = &w->sink), &w->context));
  CHECK_OK(tide_cpu_open(w->context, &cpu, &w->device));
  for (int q = 0; q < QUEUES; q++) CHECK_OK(tide_queue_create(w->device, &queue, &w->queues[q]));
}

static void close_world(struct world *w) {
  for (int q = 0; q < QUEUES; q++) tide_queue_destroy(w->queues[q]);
  tide_device_close(w->device);
  tide_context_destroy(w->context);
  CHECK(!w->wrong);
}

/* Where they wait, every eighth does for its neighbour's one before; every ninth may block. */
static void submit(struct world *w, uint32_t queue, uint32_t place, bool fails, bool waits) {
  struct tide_wait wait = {tide_queue_progress(w->queues[(queue + 1) % QUEUES]), place - 1};
  struct argument argument = {w, (uint16_t)queue, fails, waits && place % 8 == 0, place};
  struct tide_operation operation = {.body = place % 9 ? &quick : &plain,
                                     .waits = &wait,
                                     .wait_count = waits && place % 8 == 0,
                                     .arguments = &argument,
                                     .arguments_size = sizeof argument};
  CHECK_OK(tide_queue_submit(w->queues[queue], &operation, NULL, NULL));
}

static void in_order(uint32_t workers) {
  struct world w;
  open_world(&w, workers);
  for (uint32_t place = 1; place <= EACH; place++)
    for (uint32_t q = 0; q < QUEUES; q++) submit(&w, q, place, place % 100 == 0, true);
  for (int q = 0; q < QUEUES; q++) {
    CHECK_OK(tide_queue_drain(w.queues[q], TIDE_FOREVER));
    CHECK_EQ_U64(w.ran[q], EACH);
  }
  struct tide_context_stats stats;
  tide_context_stats(w.context, &stats);
  CHECK_EQ_U64(stats.failed, QUEUES * (EACH / 100));
  CHECK_EQ_U64(w.failures, stats.failed);
  CHECK_EQ_U64(stats.finished, QUEUES * EACH);
  close_world(&w);
}

TEST(one_worker) { in_order(1); }
TEST(three_workers) { in_order(3); }

/* What has gone out runs, what has not is cancelled: a prefix of each queue has run. */
TEST(destroyed_in_the_stream) {
  for (uint32_t round = 0; round < 20; round++) {
    struct world w;
    open_world(&w, 2);
    for (uint32_t place = 1; place <= 200 + 20 * round; place++)
      for (uint32_t q = 0; q < QUEUES; q++) submit(&w, q, place, false, false);
    close_world(&w);
  }
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static enum tide_status take_long(void *arguments) {
  const struct argument *a = arguments;
  struct tide_timeline *progress = tide_queue_progress(a->world->queues[a->queue]);
  bool is_alone = tide_timeline_query(progress) + 1 == a->place;
  if (!is_alone) __atomic_fetch_add(&a->world->together, 1, __ATOMIC_RELAXED);
  for (uint64_t end = now() + 100000; now() < end;) continue;
  return TIDE_OK;
}

/* Of sixteen that a worker takes first, fifteen may be too many. Then it has seen how long they
 * are.
 */
TEST(long_ones_go_out_alone) {
  static const struct tide_body_class body = {
      .name = "long", .host = take_long, .non_blocking = true};
  enum { LONG = 200, WORKERS = 2 };
  struct world w;
  open_world(&w, WORKERS);
  for (uint32_t place = 1; place <= LONG; place++)
    for (uint32_t q = 0; q < QUEUES; q++) {
      struct argument argument = {&w, (uint16_t)q, false, false, place};
      struct tide_operation operation = {
          .body = &body, .arguments = &argument, .arguments_size = sizeof argument};
      CHECK_OK(tide_queue_submit(w.queues[q], &operation, NULL, NULL));
    }
  for (int q = 0; q < QUEUES; q++) CHECK_OK(tide_queue_drain(w.queues[q], TIDE_FOREVER));
  if (w.together > 15 * WORKERS) FAIL("%u of %d went out with others", w.together, QUEUES * LONG);
  close_world(&w);
}

TEST_MAIN(CASE(one_worker), CASE(three_workers), CASE(destroyed_in_the_stream),
          CASE(long_ones_go_out_alone))
