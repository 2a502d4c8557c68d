/* Whoever signals may be the last to know: as soon as the others have been told, they may take
 * everything down. Then nothing of it is touched any more. */
#include "causal/context_state.h"
#include "harness.h"

#include "base/atomic.h"
#include "tidemark/tidemark.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static struct tide_platform system_, paused;
static uint32_t kicked, awaiting, gone, armed; /* atomic */
static __thread bool signals;

static void until(const uint32_t *word) {
  while (!tide_load_acquire(word)) usleep(100);
}

static void paused_wait(void *self, const uint32_t *word, uint32_t expected, uint64_t deadline) {
  if (tide_load_acquire(&armed) && !signals) tide_store_release(&awaiting, 1u);
  system_.wait(self, word, expected, deadline);
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

TEST_MAIN(CASE(a_kick_is_the_last_touch))
