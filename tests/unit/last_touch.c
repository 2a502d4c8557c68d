/* Whoever signals may be the last to know: as soon as the others have been told, they may take
 * everything down. Then nothing of it is touched any more. */
#include "causal/context_state.h"
#include "harness.h"

#include "base/atomic.h"
#include "tidemark/channel.h"
#include "tidemark/tidemark.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static struct tide_platform system_, paused;
static uint32_t kicked, awaiting, gone, armed, asleep; /* atomic */
static __thread bool signals, waits, destroys;

static void until(const uint32_t *word) {
  while (!tide_load_acquire(word)) usleep(100);
}

static void paused_wait(void *self, const uint32_t *word, uint32_t expected, uint64_t deadline) {
  if (destroys || (tide_load_acquire(&armed) && !signals)) tide_store_release(&awaiting, 1u);
  if (waits) tide_store_release(&asleep, 1u);
  system_.wait(self, word, expected, deadline);
  /* Its wait is over, and it is taken off its processor until it is waited for, or nothing is
   * there. */
  while (waits && !tide_load_acquire(&awaiting) && !tide_load_acquire(&gone)) usleep(100);
}
/* The signaller has told somebody, and is taken off its processor until nothing is there. */
static void paused_wake(void *self, const uint32_t *word, uint32_t count) {
  system_.wake(self, word, count);
  if (tide_load_acquire(&armed) && signals) until(&gone);
}
/* The device's owner waits until this kick is over. */
static void kick(void *self) {
  (void)self;
  if (!tide_load_acquire(&armed)) return;
  tide_store_release(&kicked, 1u);
  until(&awaiting);
}

static enum tide_status never(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class body = {.name = "body", .host = never};

static void *signal_it(void *timeline) {
  signals = true;
  tide_store_release(&armed, 1u);
  CHECK_OK(tide_timeline_signal(timeline, 1, NULL));
  return NULL;
}

/* Each piece in pages of its own, so that a touch of what is gone is seen. */
static void *map(void *self, size_t size, size_t align) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)self;
  CHECK(align <= 4096);
  return memory == MAP_FAILED ? NULL : memory;
}
static void unmap(void *self, void *memory, size_t size) {
  (void)self;
  CHECK(munmap(memory, size) == 0);
}

TEST(a_kick_is_the_last_touch) {
  static struct tide_backend backend = {.name = "own", .in_order = true, .kick = kick};
  struct tide_device *device;
  struct tide_queue *queue;
  struct tide_timeline *timeline;
  struct tide_work *work;
  pthread_t thread;
  system_ = paused = *tide_platform_linux();
  paused.wait = paused_wait;
  paused.wake = paused_wake;
  static const struct tide_allocator pages = {.alloc = map, .free = unmap};
  struct tide_context *context;
  CHECK_OK(tide_context_create(
      TIDE_PARAMS(tide_context_params, .platform = &paused, .allocator = &pages), &context));
  CHECK_OK(tide_device_open(context, &backend, "device", &device));
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  CHECK_OK(tide_timeline_create(context, NULL, &timeline));
  struct tide_wait wait = {timeline, 1};
  struct tide_operation operation = {.body = &body, .waits = &wait, .wait_count = 1};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
  CHECK(tide_device_exchange(device, NULL, 0, &work, 1, NULL) == 0); /* from now on it is kicked */
  CHECK(pthread_create(&thread, NULL, signal_it, timeline) == 0);
  until(&kicked);
  CHECK(tide_device_exchange(device, NULL, 0, &work, 1, NULL) == 1);
  tide_device_exchange(device, &work, 1, NULL, 0, NULL);
  CHECK_OK(tide_timeline_wait(tide_queue_progress(queue), 1, TIDE_FOREVER));
  tide_queue_destroy(queue);
  CHECK_OK(tide_device_settle(device, TIDE_FOREVER));
  tide_device_close(device);
  tide_timeline_destroy(timeline);
  tide_context_destroy(context);
  tide_store_release(&gone, 1u);
  pthread_join(thread, NULL);
}

/* ---- threads that wait while the context is destroyed ---- */

struct waiter {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queue;
  struct tide_timeline *timeline;
  struct tide_wait_set *set;
  struct tide_points *points;
  struct tide_point point;
  enum tide_status (*wait)(struct waiter *waiter);
  enum tide_status expected;
};

static void *wait_for_ever(void *argument) {
  struct waiter *waiter = argument;
  waits = true;
  CHECK_STATUS(waiter->wait(waiter), waiter->expected);
  return NULL;
}

static enum tide_status wait_one(struct waiter *waiter) {
  return tide_timeline_wait(waiter->timeline, 1, TIDE_FOREVER);
}
static enum tide_status wait_progress(struct waiter *waiter) {
  return tide_timeline_wait(tide_queue_progress(waiter->queue), 2, TIDE_FOREVER);
}
static enum tide_status wait_any(struct waiter *waiter) {
  struct tide_wait_point points[2] = {{.timeline = waiter->timeline, .value = 1},
                                      {.timeline = waiter->timeline, .value = 2}};
  return tide_wait_any(points, 2, TIDE_FOREVER, NULL);
}
static enum tide_status wait_set(struct waiter *waiter) {
  struct tide_wait_ready ready[2];
  size_t count;
  enum tide_status status = tide_wait_set_wait(waiter->set, ready, 2, TIDE_FOREVER, &count);
  if (status == TIDE_OK) CHECK_STATUS(ready[0].status, TIDE_CANCELLED);
  return status;
}
static enum tide_status wait_set_with_a_member(struct waiter *waiter) {
  CHECK_OK(tide_wait_set_add(waiter->set, waiter->timeline, 1, 0, NULL));
  return wait_set(waiter);
}
static enum tide_status wait_point(struct waiter *waiter) {
  return tide_point_wait(waiter->points, waiter->point, TIDE_FOREVER);
}
static enum tide_status drain(struct waiter *waiter) {
  return tide_queue_drain(waiter->queue, TIDE_FOREVER);
}
/* The queue has room for two. */
static enum tide_status submit_three(struct waiter *waiter) {
  struct tide_wait wait = {waiter->timeline, 1};
  struct tide_operation operation = {.body = &body, .waits = &wait, .wait_count = 1};
  enum tide_status status = TIDE_OK;
  for (int i = 0; i < 3 && status == TIDE_OK; i++)
    status = tide_queue_submit_wait(waiter->queue, &operation, TIDE_FOREVER, NULL, NULL);
  return status;
}

static void check_left(enum tide_status (*wait)(struct waiter *waiter), enum tide_status expected) {
  static struct tide_backend backend = {.name = "own", .in_order = true};
  static const struct tide_allocator pages = {.alloc = map, .free = unmap};
  struct waiter waiter = {.wait = wait, .expected = expected};
  struct tide_client *client;
  struct tide_future *future;
  pthread_t thread;
  system_ = paused = *tide_platform_linux();
  paused.wait = paused_wait;
  CHECK_OK(tide_context_create(
      TIDE_PARAMS(tide_context_params, .platform = &paused, .allocator = &pages), &waiter.context));
  CHECK_OK(tide_device_open(waiter.context, &backend, "device", &waiter.device));
  CHECK_OK(tide_queue_create(waiter.device, TIDE_PARAMS(tide_queue_params, .operations = 2),
                             &waiter.queue));
  CHECK_OK(tide_timeline_create(waiter.context, NULL, &waiter.timeline));
  CHECK_OK(tide_wait_set_create(waiter.context, 2, &waiter.set));
  CHECK_OK(tide_points_create(waiter.context, TIDE_PARAMS(tide_points_params, .manual = true),
                              &waiter.points));
  CHECK_OK(tide_client_create(waiter.points, NULL, &client));
  CHECK_OK(tide_future_create(client, NULL, &future));
  CHECK_OK(tide_future_promise(future, 0, &waiter.point));
  if (wait == drain || wait == wait_progress) {
    struct tide_wait never_reached = {waiter.timeline, 1};
    struct tide_operation operation = {.body = &body, .waits = &never_reached, .wait_count = 1};
    CHECK_OK(tide_queue_submit(waiter.queue, &operation, NULL, NULL));
  }
  CHECK(pthread_create(&thread, NULL, wait_for_ever, &waiter) == 0);
  until(&asleep);
  destroys = true;
  tide_context_destroy(waiter.context);
  tide_store_release(&gone, 1u);
  CHECK(pthread_join(thread, NULL) == 0);
}

TEST(a_wait) { check_left(wait_one, TIDE_CANCELLED); }
TEST(a_wait_for_progress) { check_left(wait_progress, TIDE_CANCELLED); }
TEST(a_wait_for_any) { check_left(wait_any, TIDE_CANCELLED); }
TEST(a_wait_of_a_set) { check_left(wait_set_with_a_member, TIDE_OK); }
TEST(a_wait_of_an_empty_set) { check_left(wait_set, TIDE_CANCELLED); }
TEST(a_wait_for_a_point) { check_left(wait_point, TIDE_CANCELLED); }
TEST(a_drain) { check_left(drain, TIDE_OK); }
TEST(a_submit) { check_left(submit_three, TIDE_CANCELLED); }

TEST_MAIN(CASE(a_kick_is_the_last_touch), CASE(a_wait), CASE(a_wait_for_progress),
          CASE(a_wait_for_any), CASE(a_wait_of_a_set), CASE(a_wait_of_an_empty_set),
          CASE(a_wait_for_a_point), CASE(a_drain), CASE(a_submit))
