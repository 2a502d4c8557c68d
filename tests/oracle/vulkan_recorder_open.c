/* The recording driver as a test sees it. */
#include "vulkan_recorder_state.h"

#include "harness.h"

#include <string.h>

/* ---- the application's locks ---------------------------------------------------------------- */

static void lock_queue(void *self, VkQueue queue) {
  (void)self;
  LOCK;
  /* An application may have one lock for all of them. */
  for (uint32_t i = 0; i < RECORDER_QUEUES; i++)
    if (recorder.queues[i].locked) recorder_note("a VkQueue is locked, and another one with it");
  OBJECT(queue, queue)->locked = true;
  UNLOCK;
}
static void unlock_queue(void *self, VkQueue queue) {
  (void)self;
  LOCK;
  OBJECT(queue, queue)->locked = false;
  UNLOCK;
}

/* ---- the test's side ------------------------------------------------------------------------ */

static void adopt(struct tide_vulkan_params *params) {
  static struct tide_vulkan_queue queues[RECORDER_QUEUES];
  for (uint32_t i = 0; i < params->hardware_queues; i++) {
    uint32_t family = recorder.queues[i].family =
        (uint32_t)tide_random_below(&recorder.random, RECORDER_FAMILIES);
    queues[i] = (struct tide_vulkan_queue){HANDLE(VkQueue, &recorder.queues[i]), family};
  }
  params->instance = HANDLE(VkInstance, &recorder.instance);
  params->physical_device = HANDLE(VkPhysicalDevice, &recorder.physical_device);
  params->device = HANDLE(VkDevice, &recorder.device);
  params->queues = queues;
  params->queue_count = params->hardware_queues;
  params->lock = lock_queue;
  params->unlock = unlock_queue;
}

void recorder_open(const struct recorder_params *params, struct tide_vulkan_params *out_params) {
  memset(&recorder, 0, sizeof recorder);
  pthread_mutex_init(&recorder.lock, NULL);
  pthread_cond_init(&recorder.changed, NULL);
  recorder.params = *params;
  recorder.random.state = params->seed;
  *out_params = (struct tide_vulkan_params){.struct_size = sizeof *out_params,
                                            .ahead = params->ahead,
                                            .name = "of calls",
                                            .hardware_queues = params->queue_count};
  if (params->way == RECORDER_ADOPTED) adopt(out_params);
  if (params->way != RECORDER_BY_LOADER) out_params->get_proc = recorder_find_function;
  CHECK(pthread_create(&recorder.hardware, NULL, recorder_hardware_main, NULL) == 0);
}

const char *recorder_fault(void) {
  LOCK;
  const char *fault = recorder.fault;
  UNLOCK;
  return fault;
}

const char *recorder_close(void) {
  LOCK;
  recorder.stopping = true;
  pthread_cond_broadcast(&recorder.changed);
  UNLOCK;
  pthread_join(recorder.hardware, NULL);
  if (!strncmp(recorder.hidden, "vkDestroy", 9)) return recorder.fault;
  for (uint32_t i = 0; i < recorder.pool_count; i++)
    if (recorder.pools[i].exists) recorder_note("a command pool is left");
  for (uint32_t i = 0; i < recorder.semaphore_count; i++)
    if (recorder.semaphores[i].exists) recorder_note("a semaphore is left");
  if (recorder.has_device) recorder_note("a VkDevice is left");
  if (recorder.has_instance) recorder_note("an instance is left");
  return recorder.fault;
}

struct recorder_submission recorder_find(uint32_t id) {
  LOCK;
  struct recorder_submission where = recorder.where[id];
  UNLOCK;
  return where;
}

bool recorder_is_idle(void) {
  LOCK;
  bool idle = true;
  for (uint32_t i = 0; i < recorder.params.queue_count; i++)
    idle &= recorder.queues[i].idle && recorder.queues[i].first == recorder.queues[i].end;
  UNLOCK;
  return idle;
}

enum recorder_call recorder_failed(void) {
  LOCK;
  enum recorder_call failed = recorder.failed;
  UNLOCK;
  return failed;
}

const char *recorder_hidden(void) { return recorder.hidden[0] ? recorder.hidden : NULL; }

void recorder_release(void) {
  LOCK;
  recorder.params.stuck = false;
  pthread_cond_broadcast(&recorder.changed);
  UNLOCK;
}

struct recorder_counts recorder_count(uint32_t submissions) {
  LOCK;
  while (recorder.counts.submissions < submissions)
    pthread_cond_wait(&recorder.changed, &recorder.lock);
  struct recorder_counts counts = recorder.counts;
  UNLOCK;
  return counts;
}
