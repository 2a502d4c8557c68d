/* Non-blocking commands with points on real workers: each comes after the point that it waits for.
 */
#include "harness.h"
#include "tidemark/tidemark.h"

#include <string.h>

enum { QUEUES = 4, EACH = 3000 };
static struct world {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_points *room;
  struct tide_client *client;
  struct tide_queue *queues[QUEUES];
  struct tide_future *futures[QUEUES];
  uint32_t ran[QUEUES];
  bool done[QUEUES][EACH + 1];
  bool wrong;
} w;
struct argument {
  uint32_t queue, place, awaited, fails;
};
static enum tide_status step(void *arguments) {
  const struct argument *a = arguments;
  if (a->awaited && !w.done[(a->queue + 1) % QUEUES][a->awaited])
    __atomic_store_n(&w.wrong, true, __ATOMIC_RELAXED);
  w.ran[a->queue]++;
  w.done[a->queue][a->place] = true;
  return a->fails ? TIDE_IO : TIDE_OK;
}
static const struct tide_body_class quick = {.name = "step", .host = step, .non_blocking = true};

static void go(uint32_t workers, uint32_t fail_each) {
  struct tide_cpu_params cpu = {.struct_size = sizeof cpu, .workers = workers};
  memset(&w, 0, sizeof w);
  CHECK_OK(tide_context_create(NULL, &w.context));
  CHECK_OK(tide_cpu_open(w.context, &cpu, &w.device));
  struct tide_points_params room = {.struct_size = sizeof room, .manual = true};
  CHECK_OK(tide_points_create(w.context, &room, &w.room));
  CHECK_OK(tide_client_create(w.room, NULL, &w.client));
  struct tide_queue_params queue = {.struct_size = sizeof queue,
                                    .operations = EACH + 1,
                                    .waits = EACH,
                                    .signals = EACH,
                                    .client = w.client};
  struct tide_future_params future = {.struct_size = sizeof future, .capacity = EACH + 1};
  for (int q = 0; q < QUEUES; q++) {
    CHECK_OK(tide_queue_create(w.device, &queue, &w.queues[q]));
    CHECK_OK(tide_queue_create_future(w.queues[q], &future, &w.futures[q]));
  }
  static struct tide_point points[QUEUES][EACH + 1];
  for (uint32_t place = 1; place <= EACH; place++)
    for (uint32_t q = 0; q < QUEUES; q++) {
      CHECK_OK(tide_future_promise(w.futures[q], 0, &points[q][place]));
      bool waits = place > 1 && place % 3 == 0;
      struct tide_operation_points own = {.retires = &points[q][place],
                                          .retire_count = 1,
                                          .waits = &points[(q + 1) % QUEUES][place - 1],
                                          .wait_count = waits};
      struct argument argument = {q, place, waits ? place - 1 : 0,
                                  fail_each && place % fail_each == 0};
      bool recovers =
          fail_each && place % fail_each == 7; /* a few behind the failed one do not run */
      struct tide_operation operation = {.flags = recovers ? TIDE_RECOVER : 0u,
                                         .body = &quick,
                                         .points = &own,
                                         .arguments = &argument,
                                         .arguments_size = sizeof argument};
      CHECK_OK(tide_queue_submit(w.queues[q], &operation, NULL, NULL));
    }
  for (int q = 0; q < QUEUES; q++) CHECK_OK(tide_queue_drain(w.queues[q], TIDE_FOREVER));
  if (!fail_each)
    for (int q = 0; q < QUEUES; q++) CHECK_EQ_U64(w.ran[q], EACH);
  for (int q = 0; q < QUEUES; q++) tide_queue_destroy(w.queues[q]);
  tide_device_close(w.device);
  tide_client_destroy(w.client, TIDE_OK);
  tide_points_destroy(w.room);
  tide_context_destroy(w.context);
  CHECK(!w.wrong);
}
TEST(one) { go(1, 0); }
TEST(three) { go(3, 0); }
TEST(three_failing) { go(3, 101); }
TEST_MAIN(CASE(one), CASE(three), CASE(three_failing))
