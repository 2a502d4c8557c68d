/* Vulkan's timeline semaphores on tide_timeline, by a thin shim, and the cases by which Vulkan
 * implementations are tested: signals and waits from device and host, wait before signal, chains,
 * one to many, sparse waits, great differences, any and all, races. */
#include "causal/context_state.h"
#include "harness.h"
#include "tidemark/tidemark.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- the shim: names and rules of Vulkan 1.2 ------------------------------------------------- */

typedef struct tide_timeline *VkSemaphore;
typedef struct tide_queue *VkQueue;
typedef enum {
  VK_SUCCESS = 0,
  VK_TIMEOUT = 2,
  VK_ERROR_DEVICE_LOST = -4,
  VK_ERROR_UNKNOWN = -13
} VkResult;
enum { VK_SEMAPHORE_WAIT_ANY_BIT = 1 };

typedef struct {
  uint32_t flags;
  uint32_t semaphoreCount;
  const VkSemaphore *pSemaphores;
  const uint64_t *pValues;
} VkSemaphoreWaitInfo;

typedef struct {
  uint32_t waitSemaphoreCount;
  const VkSemaphore *pWaitSemaphores;
  const uint64_t *pWaitSemaphoreValues;
  uint32_t signalSemaphoreCount;
  const VkSemaphore *pSignalSemaphores;
  const uint64_t *pSignalSemaphoreValues;
} VkSubmitInfo;

static struct tide_context *context;

static VkResult result(enum tide_status status) {
  switch (status) {
    case TIDE_OK: return VK_SUCCESS;
    case TIDE_TIMEOUT: return VK_TIMEOUT;
    case TIDE_LOST: return VK_ERROR_DEVICE_LOST;
    default: return VK_ERROR_UNKNOWN;
  }
}

static VkResult vkCreateSemaphore(uint64_t initial, VkSemaphore *out) {
  struct tide_timeline_params params = {
      .struct_size = sizeof params, .label = "semaphore", .initial = initial};
  return result(tide_timeline_create(context, &params, out));
}
static void vkDestroySemaphore(VkSemaphore semaphore) { tide_timeline_destroy(semaphore); }

static VkResult vkGetSemaphoreCounterValue(VkSemaphore semaphore, uint64_t *value) {
  *value = tide_timeline_query(semaphore);
  return result(tide_timeline_status(semaphore));
}

static VkResult vkSignalSemaphore(VkSemaphore semaphore, uint64_t value) {
  return result(tide_timeline_signal_external(semaphore, value));
}

/* The timeout is relative, in nanoseconds. */
static VkResult vkWaitSemaphores(const VkSemaphoreWaitInfo *info, uint64_t timeout) {
  uint64_t now = context->platform->now(context->platform->self);
  uint64_t deadline = timeout == 0                   ? TIDE_NOW
                      : timeout > TIDE_FOREVER - now ? TIDE_FOREVER
                                                     : now + timeout;
  if (info->semaphoreCount == 1)
    return result(tide_timeline_wait(info->pSemaphores[0], info->pValues[0], deadline));
  struct tide_wait_point *points = calloc(info->semaphoreCount, sizeof *points);
  for (uint32_t i = 0; i < info->semaphoreCount; i++)
    points[i] =
        (struct tide_wait_point){.timeline = info->pSemaphores[i], .value = info->pValues[i]};
  enum tide_status status = info->flags & VK_SEMAPHORE_WAIT_ANY_BIT
                                ? tide_wait_any(points, info->semaphoreCount, deadline, NULL)
                                : tide_wait_all(points, info->semaphoreCount, deadline);
  free(points);
  return result(status);
}

static VkResult wait_one(VkSemaphore semaphore, uint64_t value, uint64_t timeout) {
  return vkWaitSemaphores(&(VkSemaphoreWaitInfo){0, 1, &semaphore, &value}, timeout);
}

/* ---- the device: a thread that hands work back in any order -------------------------------------
 */

static struct {
  struct tide_device *device;
  struct tide_backend backend;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  bool awake, stop;
} gpu = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static enum tide_status nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class empty_batch = {.name = "batch", .host = nothing};

static void wake_gpu(void *self) {
  (void)self;
  pthread_mutex_lock(&gpu.mutex);
  gpu.awake = true;
  pthread_cond_signal(&gpu.cond);
  pthread_mutex_unlock(&gpu.mutex);
}

static bool sleep_gpu(void) {
  pthread_mutex_lock(&gpu.mutex);
  while (!gpu.awake && !gpu.stop) pthread_cond_wait(&gpu.cond, &gpu.mutex);
  bool stop = !gpu.awake;
  gpu.awake = false;
  pthread_mutex_unlock(&gpu.mutex);
  return !stop;
}

static void *run_gpu(void *argument) {
  struct tide_work *work[8], *back[8];
  size_t count = 0;
  (void)argument;
  for (;;) {
    for (size_t i = 0; i < count; i++) back[i] = work[count - 1 - i];
    count = tide_device_exchange(gpu.device, back, count, work, 8, NULL);
    if (count == 0 && !sleep_gpu()) return NULL;
  }
}

static void open_device(void) {
  CHECK_OK(tide_context_create(NULL, &context));
  gpu.backend = (struct tide_backend){.name = "gpu", .kick = wake_gpu};
  CHECK_OK(tide_device_open(context, &gpu.backend, "gpu", &gpu.device));
  gpu.awake = gpu.stop = false;
  CHECK(pthread_create(&gpu.thread, NULL, run_gpu, NULL) == 0);
}

static void close_device(void) {
  CHECK_OK(tide_device_settle(gpu.device, TIDE_FOREVER));
  pthread_mutex_lock(&gpu.mutex);
  gpu.stop = true;
  pthread_cond_signal(&gpu.cond);
  pthread_mutex_unlock(&gpu.mutex);
  pthread_join(gpu.thread, NULL);
  tide_device_close(gpu.device);
  tide_context_destroy(context);
}

static VkQueue get_queue(void) {
  VkQueue queue;
  struct tide_queue_params params = {
      .struct_size = sizeof params, .label = "queue", .operations = 1024};
  CHECK_OK(tide_queue_create(gpu.device, &params, &queue));
  return queue;
}

static VkResult vkQueueSubmit(VkQueue queue, const VkSubmitInfo *info) {
  struct tide_wait waits[128];
  struct tide_signal signals[128];
  for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
    waits[i] = (struct tide_wait){info->pWaitSemaphores[i], info->pWaitSemaphoreValues[i]};
  for (uint32_t i = 0; i < info->signalSemaphoreCount; i++)
    signals[i] = (struct tide_signal){.timeline = info->pSignalSemaphores[i],
                                      .value = info->pSignalSemaphoreValues[i]};
  struct tide_operation operation = {.label = "batch",
                                     .waits = waits,
                                     .wait_count = info->waitSemaphoreCount,
                                     .signals = signals,
                                     .signal_count = info->signalSemaphoreCount,
                                     .body = &empty_batch};
  return result(tide_queue_submit(queue, &operation, NULL, NULL));
}

/* Waits for one value, signals one value; NULL: none. */
static void submit(VkQueue queue, VkSemaphore wait, uint64_t wait_value, VkSemaphore signal,
                   uint64_t signal_value) {
  VkSubmitInfo info = {wait != NULL, &wait, &wait_value, signal != NULL, &signal, &signal_value};
  CHECK(vkQueueSubmit(queue, &info) == VK_SUCCESS);
}

static void vkQueueWaitIdle(VkQueue queue) { CHECK_OK(tide_queue_drain(queue, TIDE_FOREVER)); }

#define MANY 100
static VkSemaphore semaphores[MANY];
static uint64_t values[MANY];

static void create_many(void) {
  for (uint32_t i = 0; i < MANY; i++) {
    values[i] = 1 + i * 37 % 11;
    CHECK(vkCreateSemaphore(0, &semaphores[i]) == VK_SUCCESS);
  }
}
static void destroy_many(void) {
  for (uint32_t i = 0; i < MANY; i++) vkDestroySemaphore(semaphores[i]);
}

/* ---- wait: all or one of a hundred, signalled by device or host
 * ---------------------------------- */

static void *signal_many(void *argument) {
  bool all = argument != NULL;
  for (uint32_t i = 0; i < MANY; i++)
    if (all || i == 61) CHECK(vkSignalSemaphore(semaphores[i], values[i]) == VK_SUCCESS);
  return NULL;
}

static void wait_signalled_by(bool device, bool all) {
  open_device();
  create_many();
  VkQueue queue = get_queue();
  pthread_t host;
  VkSemaphoreWaitInfo info = {all ? 0 : VK_SEMAPHORE_WAIT_ANY_BIT, MANY, semaphores, values};
  CHECK(vkWaitSemaphores(&info, 0) == VK_TIMEOUT);
  CHECK(vkWaitSemaphores(&info, 1000000) == VK_TIMEOUT);
  if (device) {
    VkSubmitInfo batch = {.signalSemaphoreCount = all ? MANY : 1,
                          .pSignalSemaphores = semaphores + (all ? 0 : 61),
                          .pSignalSemaphoreValues = values + (all ? 0 : 61)};
    CHECK(vkQueueSubmit(queue, &batch) == VK_SUCCESS);
  } else {
    CHECK(pthread_create(&host, NULL, signal_many, all ? &info : NULL) == 0);
  }
  CHECK(vkWaitSemaphores(&info, UINT64_MAX) == VK_SUCCESS);
  for (uint32_t i = 0; i < MANY; i++) {
    uint64_t value;
    CHECK(vkGetSemaphoreCounterValue(semaphores[i], &value) == VK_SUCCESS);
    CHECK_EQ_U64(value, all || i == 61 ? values[i] : 0);
  }
  if (!device) pthread_join(host, NULL);
  vkQueueWaitIdle(queue);
  tide_queue_destroy(queue);
  destroy_many();
  close_device();
}

TEST(all_signal_from_device) { wait_signalled_by(true, true); }
TEST(one_signal_from_device) { wait_signalled_by(true, false); }
TEST(all_signal_from_host) { wait_signalled_by(false, true); }
TEST(one_signal_from_host) { wait_signalled_by(false, false); }

/* Nobody blocks: the value is asked for until it is there, of one semaphore after the other. */
static void poll_signalled_by(bool device) {
  open_device();
  create_many();
  VkQueue queue = get_queue();
  pthread_t host;
  if (device) {
    for (uint32_t i = 0; i < MANY; i++) submit(queue, NULL, 0, semaphores[i], values[i]);
  } else {
    CHECK(pthread_create(&host, NULL, signal_many, values) == 0);
  }
  for (uint32_t i = 0; i < MANY; i++) {
    uint64_t value;
    VkResult now;
    do {
      now = wait_one(semaphores[i], values[i], 0); /* never blocks */
      CHECK(vkGetSemaphoreCounterValue(semaphores[i], &value) == VK_SUCCESS);
      CHECK(value == 0 || value == values[i]);
      CHECK(now == VK_SUCCESS ? value == values[i] : now == VK_TIMEOUT);
    } while (now != VK_SUCCESS);
  }
  if (!device) pthread_join(host, NULL);
  vkQueueWaitIdle(queue);
  tide_queue_destroy(queue);
  destroy_many();
  close_device();
}

TEST(poll_signal_from_device) { poll_signalled_by(true); }
TEST(poll_signal_from_host) { poll_signalled_by(false); }

TEST(satisfied_and_poll) {
  VkSemaphore s;
  open_device();
  CHECK(vkCreateSemaphore(5, &s) == VK_SUCCESS);
  CHECK(wait_one(s, 5, 0) == VK_SUCCESS);
  CHECK(wait_one(s, 4, UINT64_MAX) == VK_SUCCESS);
  CHECK(wait_one(s, 6, 0) == VK_TIMEOUT);
  CHECK(vkSignalSemaphore(s, 5) == VK_ERROR_UNKNOWN); /* VUID 03258: strictly greater */
  CHECK(vkSignalSemaphore(s, 6) == VK_SUCCESS);
  CHECK(wait_one(s, 6, 0) == VK_SUCCESS);
  vkDestroySemaphore(s);
  close_device();
}

/* ---- wait before signal
 * -------------------------------------------------------------------------- */

/* Twelve submits on twelve queues, each waiting for the one before; the host starts the chain. */
TEST(host_wait_before_signal) {
  enum { STEPS = 12 };
  VkSemaphore s;
  VkQueue queues[STEPS];
  open_device();
  CHECK(vkCreateSemaphore(0, &s) == VK_SUCCESS);
  for (uint64_t i = 0; i < STEPS; i++) {
    queues[i] = get_queue();
    submit(queues[i], s, 2 * i + 1, s, 2 * i + 2);
    CHECK(wait_one(s, 2 * i + 2, 0) == VK_TIMEOUT);
  }
  for (uint64_t i = 0; i < STEPS; i++) {
    CHECK(vkSignalSemaphore(s, 2 * i + 1) == VK_SUCCESS);
    CHECK(wait_one(s, 2 * i + 2, UINT64_MAX) == VK_SUCCESS);
  }
  for (uint64_t i = 0; i < STEPS; i++) tide_queue_destroy(queues[i]);
  vkDestroySemaphore(s);
  close_device();
}

/* The last of the chain is submitted first. */
TEST(wait_before_signal_chain) {
  enum { STEPS = 40 };
  VkSemaphore s[STEPS + 1];
  VkQueue queues[STEPS];
  open_device();
  for (uint32_t i = 0; i <= STEPS; i++) CHECK(vkCreateSemaphore(i, &s[i]) == VK_SUCCESS);
  for (uint32_t i = STEPS; i-- > 0;) {
    queues[i] = get_queue();
    submit(queues[i], s[i], i + 10, s[i + 1], i + 11);
  }
  CHECK(wait_one(s[STEPS], STEPS + 10, 0) == VK_TIMEOUT);
  CHECK(vkSignalSemaphore(s[0], 10) == VK_SUCCESS);
  CHECK(wait_one(s[STEPS], STEPS + 10, UINT64_MAX) == VK_SUCCESS);
  for (uint32_t i = 0; i < STEPS; i++) tide_queue_destroy(queues[i]);
  for (uint32_t i = 0; i <= STEPS; i++) vkDestroySemaphore(s[i]);
  close_device();
}

/* One signal frees many queues; each answers on a semaphore of its own. */
static void one_to_many(bool device) {
  enum { N = 64 };
  VkSemaphore from, to[N];
  VkQueue queues[N], source;
  uint64_t one[N];
  open_device();
  source = get_queue();
  CHECK(vkCreateSemaphore(0, &from) == VK_SUCCESS);
  for (uint32_t i = 0; i < N; i++) {
    one[i] = 1;
    CHECK(vkCreateSemaphore(0, &to[i]) == VK_SUCCESS);
    queues[i] = get_queue();
    submit(queues[i], from, 1 + i % 5, to[i], 1);
  }
  if (device) {
    submit(source, NULL, 0, from, 1);
    submit(source, NULL, 0, from, 7);
  } else {
    CHECK(vkSignalSemaphore(from, 1) == VK_SUCCESS);
    CHECK(vkSignalSemaphore(from, 7) == VK_SUCCESS);
  }
  CHECK(vkWaitSemaphores(&(VkSemaphoreWaitInfo){0, N, to, one}, UINT64_MAX) == VK_SUCCESS);
  for (uint32_t i = 0; i < N; i++) {
    tide_queue_destroy(queues[i]);
    vkDestroySemaphore(to[i]);
  }
  tide_queue_destroy(source);
  vkDestroySemaphore(from);
  close_device();
}

TEST(one_to_n_from_device) { one_to_many(true); }
TEST(one_to_n_from_host) { one_to_many(false); }

/* Waits for values between those that are signalled, in any order of asking. */
TEST(sparse_waits) {
  VkSemaphore s;
  VkQueue queue;
  open_device();
  queue = get_queue();
  CHECK(vkCreateSemaphore(0, &s) == VK_SUCCESS);
  for (uint64_t v = 1; v <= 100; v++) submit(queue, NULL, 0, s, v * 1000);
  for (uint64_t i = 0; i < 500; i++) {
    uint64_t wanted = 1 + i * 7919 % 100000;
    CHECK(wait_one(s, wanted, UINT64_MAX) == VK_SUCCESS);
    uint64_t value;
    CHECK(vkGetSemaphoreCounterValue(s, &value) == VK_SUCCESS && value >= wanted);
  }
  tide_queue_destroy(queue);
  vkDestroySemaphore(s);
  close_device();
}

/* ---- values
 * ----------------------------------------------------------------------------------------- */

/* The value never goes down, and jumps by as much as there is. */
static VkSemaphore checked;

static void *check_monotonic(void *argument) {
  uint64_t before = 0, value = 0;
  while (value != UINT64_MAX) {
    CHECK(vkGetSemaphoreCounterValue(checked, &value) == VK_SUCCESS);
    CHECK(value >= before);
    before = value;
  }
  return argument;
}

TEST(max_difference_value) {
  pthread_t checker;
  VkQueue queue;
  open_device();
  queue = get_queue();
  CHECK(vkCreateSemaphore(0, &checked) == VK_SUCCESS);
  CHECK(pthread_create(&checker, NULL, check_monotonic, NULL) == 0);
  for (uint64_t last = 0, value = 1; value < 1ull << 62; last = value + 1, value = 3 * last) {
    submit(queue, checked, last, checked, value);
    CHECK(wait_one(checked, value, UINT64_MAX) == VK_SUCCESS);
    CHECK(vkSignalSemaphore(checked, value + 1) == VK_SUCCESS);
  }
  submit(queue, checked, 1, checked, UINT64_MAX);
  CHECK(wait_one(checked, UINT64_MAX, UINT64_MAX) == VK_SUCCESS);
  pthread_join(checker, NULL);
  tide_queue_destroy(queue);
  vkDestroySemaphore(checked);
  close_device();
}

TEST(initial_value) {
  uint64_t initial[] = {0, 1, 0x123456789abcdefull, UINT64_MAX - 1, UINT64_MAX, 0, 0, 0, 0};
  open_device();
  VkQueue queue = get_queue();
  for (size_t i = 5; i < sizeof initial / sizeof *initial; i++)
    initial[i] = context->platform->random(context->platform->self);
  for (size_t i = 0; i < sizeof initial / sizeof *initial; i++) {
    VkSemaphore s;
    uint64_t value;
    CHECK(vkCreateSemaphore(initial[i], &s) == VK_SUCCESS);
    CHECK(vkGetSemaphoreCounterValue(s, &value) == VK_SUCCESS && value == initial[i]);
    CHECK(wait_one(s, initial[i], 0) == VK_SUCCESS);
    if (initial[i] == UINT64_MAX) {
      CHECK(vkSignalSemaphore(s, UINT64_MAX) == VK_ERROR_UNKNOWN);
    } else {
      submit(queue, s, initial[i], s, UINT64_MAX);
      CHECK(wait_one(s, UINT64_MAX, UINT64_MAX) == VK_SUCCESS);
    }
    vkDestroySemaphore(s);
  }
  tide_queue_destroy(queue);
  close_device();
}

/* A host signal stays below what a submitted batch will signal (03259); a batch waits for less than
 * it signals (03881). */
TEST(refused) {
  VkSemaphore s, gate;
  open_device();
  VkQueue queue = get_queue();
  CHECK(vkCreateSemaphore(0, &s) == VK_SUCCESS);
  CHECK(vkCreateSemaphore(0, &gate) == VK_SUCCESS);
  submit(queue, gate, 1, s, 10);
  CHECK(vkSignalSemaphore(s, 10) == VK_ERROR_UNKNOWN);
  CHECK(vkSignalSemaphore(s, 11) == VK_ERROR_UNKNOWN);
  CHECK(vkSignalSemaphore(s, 9) == VK_SUCCESS);
  uint64_t v = 20;
  VkSubmitInfo same = {1, &s, &v, 1, &s, &v};
  CHECK(vkQueueSubmit(queue, &same) == VK_ERROR_UNKNOWN);
  CHECK(vkSignalSemaphore(gate, 1) == VK_SUCCESS);
  CHECK(wait_one(s, 10, UINT64_MAX) == VK_SUCCESS);
  tide_queue_destroy(queue);
  vkDestroySemaphore(s);
  vkDestroySemaphore(gate);
  close_device();
}

/* ---- any, in a race, and a lost device
 * ----------------------------------------------------------------- */

static void *race_any(void *argument) {
  uint64_t rounds = *(uint64_t *)argument;
  for (uint64_t v = 1; v <= rounds; v++)
    CHECK(vkSignalSemaphore(semaphores[v % 4], v) == VK_SUCCESS);
  return NULL;
}

TEST(any_in_a_race) {
  pthread_t host;
  uint64_t rounds = 20000 / test_slowdown();
  open_device();
  create_many();
  CHECK(pthread_create(&host, NULL, race_any, &rounds) == 0);
  for (uint64_t v = 1; v <= rounds - 4; v++) {
    uint64_t wanted[4] = {v, v, v, v};
    VkSemaphoreWaitInfo info = {VK_SEMAPHORE_WAIT_ANY_BIT, 4, semaphores, wanted};
    CHECK(vkWaitSemaphores(&info, UINT64_MAX) == VK_SUCCESS);
  }
  pthread_join(host, NULL);
  destroy_many();
  close_device();
}

/* After a device is lost waits return in finite time, as many as there are. */
static void *wait_for_lost(void *argument) {
  CHECK(wait_one(checked, 1 + (uint64_t)(uintptr_t)argument, UINT64_MAX) == VK_ERROR_DEVICE_LOST);
  return NULL;
}

TEST(device_lost) {
  pthread_t threads[8];
  VkSemaphore gate;
  open_device();
  VkQueue queue = get_queue();
  CHECK(vkCreateSemaphore(0, &checked) == VK_SUCCESS);
  CHECK(vkCreateSemaphore(0, &gate) == VK_SUCCESS);
  submit(queue, gate, 1, checked, 1);
  for (size_t i = 0; i < 8; i++)
    CHECK(pthread_create(&threads[i], NULL, wait_for_lost, (void *)i) == 0);
  tide_device_lose(gpu.device, TIDE_LOST);
  for (size_t i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  tide_device_certify(gpu.device);
  tide_queue_destroy(queue);
  vkDestroySemaphore(checked);
  vkDestroySemaphore(gate);
  close_device();
}

TEST_MAIN(CASE(all_signal_from_device), CASE(one_signal_from_device), CASE(all_signal_from_host),
          CASE(one_signal_from_host), CASE(poll_signal_from_device), CASE(poll_signal_from_host),
          CASE(satisfied_and_poll), CASE(host_wait_before_signal), CASE(wait_before_signal_chain),
          CASE(one_to_n_from_device), CASE(one_to_n_from_host), CASE(sparse_waits),
          CASE(max_difference_value), CASE(initial_value), CASE(refused), CASE(any_in_a_race),
          CASE(device_lost))
