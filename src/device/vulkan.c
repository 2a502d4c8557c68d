/* The Vulkan device: one thread submits, others listen for ends. */
#include "device/vulkan_device.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/check.h"
#include "base/params.h"
#include "base/text.h"

#include <string.h>

#define AHEAD_DEFAULT 64u

/* ---- the submitting thread ------------------------------------------------------------- */

/* Exchanges until nothing more may go out. Returns the error that loses the device. */
static VkResult exchange_works(struct tide_vulkan *vulkan) {
  struct tide_work *works[TIDE_VULKAN_AT_ONCE];
  size_t done = 0, count;
  while ((count = tide_device_exchange(vulkan->device, works, done, works, TIDE_VULKAN_AT_ONCE,
                                       NULL))) {
    VkResult result = tide_vulkan_submit(vulkan, works, count);
    if (result != VK_SUCCESS) return result;
    done = count;
  }
  return VK_SUCCESS;
}

/* Waits until the VkQueue touches no memory any more. A lost VkDevice answers in finite time; any
 * other error says nothing. */
static void wait_until_idle(struct tide_vulkan_lane *lane) {
  const struct tide_vulkan *vulkan = lane->vulkan;
  const struct tide_platform *platform = vulkan->context->platform;
  VkResult result;
  do {
    if (vulkan->lock) vulkan->lock(vulkan->lock_self, lane->queue.queue);
    result = vulkan->driver.QueueWaitIdle(lane->queue.queue);
    if (vulkan->unlock) vulkan->unlock(vulkan->lock_self, lane->queue.queue);
    if (result != VK_SUCCESS) platform->yield(platform->self);
  } while (result != VK_SUCCESS && result != VK_ERROR_DEVICE_LOST);
}

/* Loses the device, and waits until it touches no memory any more. */
static void lose_device(struct tide_vulkan *vulkan, VkResult result) {
  vulkan->frame.failure.status = TIDE_OK;
  struct tide_failure why = *tide_body_failure(&vulkan->frame, tide_status_of_vulkan(result));
  why.status = TIDE_LOST;
  tide_store_release(&vulkan->lost, (int32_t)result);
  tide_vulkan_kick(vulkan);
  tide_device_lose_for(vulkan->device, &why);
  tide_vulkan_imports_lose(vulkan);
  tide_vulkan_exports_lose(vulkan);
  for (uint32_t i = 0; i < vulkan->lane_count; i++) wait_until_idle(&vulkan->lanes[i]);
  tide_device_certify(vulkan->device);
}

static void submitting_main(void *argument) {
  struct tide_vulkan *vulkan = argument;
  const struct tide_platform *platform = vulkan->context->platform;
  (void)tide_body_frame_set(&vulkan->frame);
  for (;;) {
    uint32_t news = tide_load_acquire(&vulkan->news);
    VkResult result = exchange_works(vulkan);
    if (result == VK_SUCCESS) result = (VkResult)tide_load_acquire(&vulkan->lost);
    if (result != VK_SUCCESS) {
      lose_device(vulkan, result);
      return;
    }
    if (tide_load_acquire(&vulkan->stop)) return;
    platform->wait(platform->self, &vulkan->news, news, TIDE_FOREVER);
  }
}

/* ---- life -------------------------------------------------------------------------------- */

static void kick(void *self) { tide_vulkan_kick(self); }

static bool takes(void *self, const struct tide_body_class *body) {
  (void)self;
  const struct tide_body_ops *ops = body->ops;
  return ops && ops->kind == TIDE_OPS_VULKAN &&
         ((const struct tide_vulkan_ops *)(const void *)ops)->record;
}

static void stop_threads(struct tide_vulkan *vulkan) {
  const struct tide_platform *platform = vulkan->context->platform;
  tide_store_release(&vulkan->stop, 1u);
  tide_vulkan_listen_stop(vulkan);
  if (vulkan->submitting) platform->join(platform->self, vulkan->submitting);
}

static enum tide_status start(void *self, struct tide_device *device) {
  struct tide_vulkan *vulkan = self;
  const struct tide_platform *platform = vulkan->context->platform;
  vulkan->device = device;
  enum tide_status status = tide_vulkan_listen_start(vulkan);
  if (status == TIDE_OK)
    status = platform->spawn(platform->self, "tide-vulkan", submitting_main, vulkan,
                             &vulkan->submitting);
  if (status != TIDE_OK) stop_threads(vulkan);
  return status;
}

static void free_vulkan(struct tide_vulkan *vulkan) {
  tide_vulkan_kernels_fini(vulkan);
  tide_vulkan_memory_fini(vulkan);
  for (uint32_t i = 0; i < vulkan->lane_count; i++) tide_vulkan_lane_fini(&vulkan->lanes[i]);
  tide_vulkan_driver_close(&vulkan->driver);
  tide_free(vulkan->context->allocator, vulkan, 1, sizeof *vulkan);
}

static void stop(void *self) {
  tide_vulkan_imports_end(self);
  stop_threads(self);
  tide_vulkan_exports_end(self);
  free_vulkan(self);
}

static enum tide_status check_params(const struct tide_vulkan_params *params,
                                     struct tide_diag *diag) {
  if (params->ahead > TIDE_VULKAN_AHEAD_MOST)
    return tide_diag_set(diag, TIDE_INVALID, "a VkQueue has at most %u operations out, not %u",
                         TIDE_VULKAN_AHEAD_MOST, params->ahead);
  uint32_t count = params->instance ? params->queue_count : params->hardware_queues;
  if (count > TIDE_HARDWARE_QUEUES_MAX || (params->instance && count == 0))
    return tide_diag_set(diag, TIDE_INVALID, "a Vulkan device has 1 to %d VkQueues, not %u",
                         TIDE_HARDWARE_QUEUES_MAX, count);
  if (params->instance && (!params->physical_device || !params->device || !params->queues))
    return tide_diag_set(diag, TIDE_INVALID,
                         "an adopted VkDevice needs physical_device, device and queues");
  for (uint32_t i = 0; params->instance && i < count; i++)
    for (uint32_t k = 0; k < i; k++)
      if (params->queues[i].queue == params->queues[k].queue)
        return tide_diag_set(diag, TIDE_INVALID, "VkQueues %u and %u are the same", k, i);
  if (!params->lock != !params->unlock)
    return tide_diag_set(diag, TIDE_INVALID, "lock and unlock belong together");
  return TIDE_OK;
}

static enum tide_status fill_in(struct tide_vulkan *vulkan, const struct tide_vulkan_params *params,
                                struct tide_diag *diag) {
  struct tide_vulkan_queue queues[TIDE_HARDWARE_QUEUES_MAX];
  uint32_t count;
  vulkan->ahead = params->ahead ? params->ahead : AHEAD_DEFAULT;
  vulkan->lock = params->lock;
  vulkan->unlock = params->unlock;
  vulkan->lock_self = params->lock_self;
  enum tide_status status = tide_vulkan_driver_open(&vulkan->driver, params, queues, &count, diag);
  for (uint32_t i = 0; status == TIDE_OK && i < count; i++) {
    vulkan->lane_count++;
    status = tide_vulkan_lane_init(vulkan, i, &queues[i], diag);
  }
  return status;
}

enum tide_status tide_vulkan_open(struct tide_context *context,
                                  const struct tide_vulkan_params *params,
                                  struct tide_device **out_device, struct tide_diag *diag) {
  struct tide_vulkan_params own;
  enum tide_status status =
      tide_params_copy_named(&own, sizeof own, params, "tide_vulkan_params", diag);
  if (status != TIDE_OK) return status;
  status = check_params(&own, diag);
  if (status != TIDE_OK) return status;
  struct tide_vulkan *vulkan = tide_alloc(context->allocator, 1, sizeof *vulkan);
  if (!vulkan) return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  vulkan->context = context;
  tide_vulkan_memory_init(vulkan);
  tide_lock_init(&vulkan->semaphores);
  tide_list_init(&vulkan->imports);
  tide_list_init(&vulkan->outlets);
  status = fill_in(vulkan, &own, diag);
  struct tide_backend backend = {.name = "vulkan",
                                 .hands = 1,
                                 .domain = TIDE_DOMAIN_QUEUE,
                                 .takes = takes,
                                 .kick = kick,
                                 .start = start,
                                 .stop = stop,
                                 .self = vulkan,
                                 .ahead = vulkan->ahead,
                                 .keep_on_host = own.keep_on_host,
                                 .hardware_queues = vulkan->lane_count};
  if (status != TIDE_OK) {
    free_vulkan(vulkan);
    return status;
  }
  status = tide_device_open(context, &backend, own.label ? own.label : "vulkan", out_device);
  if (status == TIDE_OK) return TIDE_OK;
  free_vulkan(vulkan);
  return tide_diag_set(diag, status, "opening the device: %s", tide_status_text(status));
}

struct tide_vulkan *tide_vulkan_of(const struct tide_device *device) {
  TIDE_ASSERT(tide_device_backend(device)->start == start);
  return tide_device_backend(device)->self;
}

void tide_vulkan_info(const struct tide_device *gpu, struct tide_vulkan_info *out_info) {
  const struct tide_vulkan *vulkan = tide_vulkan_of(gpu);
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  *out_info = (struct tide_vulkan_info){.get_proc = driver->get_proc,
                                        .instance = driver->instance,
                                        .physical_device = driver->physical_device,
                                        .device = driver->device,
                                        .queue_count = vulkan->lane_count,
                                        .share_alignment = (size_t)driver->import_alignment};
  for (uint32_t i = 0; i < vulkan->lane_count; i++) out_info->queues[i] = vulkan->lanes[i].queue;
  memcpy(out_info->name, driver->name, sizeof out_info->name);
}
