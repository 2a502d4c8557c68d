/* Ends of submissions: threads that wait for the awaited ones, and report all. */
#include "device/vulkan_device.h"

#include "base/atomic.h"

/* ns: each wait is cut at that, and the thread asks again which end is awaited. */
#define SLICE 2000000u

void tide_vulkan_kick(struct tide_vulkan *vulkan) {
  const struct tide_platform *platform = vulkan->context->platform;
  tide_fetch_add(&vulkan->news, 1u);
  platform->wake(platform->self, &vulkan->news, UINT32_MAX);
}

void tide_vulkan_note_loss(struct tide_vulkan *vulkan, VkResult result) {
  tide_store_release(&vulkan->lost, (int32_t)result);
  tide_vulkan_kick(vulkan);
}

bool tide_vulkan_read_semaphore(struct tide_vulkan *vulkan, VkSemaphore semaphore, uint64_t target,
                                uint64_t *out_value) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  VkResult result = driver->GetSemaphoreCounterValue(driver->device, semaphore, out_value);
  bool lost = result == VK_ERROR_DEVICE_LOST;
  lost |= result == VK_SUCCESS && (*out_value < target || *out_value == UINT64_MAX);
  if (lost) tide_vulkan_note_loss(vulkan, VK_ERROR_DEVICE_LOST);
  if (result != VK_SUCCESS) *out_value = 0;
  return !lost;
}

/* Returns the end to wait for; 0: none, or another thread waits for it, or for an earlier one. Of
 * two threads with the same target the first one keeps it. */
static uint64_t choose_target(struct tide_vulkan_listener *listener) {
  struct tide_vulkan_lane *lane = listener->lane;
  uint64_t target = tide_device_awaited(lane->vulkan->device, lane->index);
  tide_store_ordered(&listener->target, target);
  for (int i = 0; i < TIDE_VULKAN_LISTENERS; i++) {
    struct tide_vulkan_listener *other = &lane->listeners[i];
    uint64_t theirs = tide_load_ordered(&other->target);
    if (other == listener || !theirs) continue;
    if (theirs < target || (theirs == target && other < listener)) target = 0;
  }
  if (!target) tide_store_ordered(&listener->target, (uint64_t)0);
  return target;
}

static uint64_t later(const struct tide_platform *platform) {
  return platform->now(platform->self) + SLICE;
}

bool tide_vulkan_wait_semaphore(struct tide_vulkan *vulkan, VkSemaphore semaphore, uint64_t target,
                                const uint32_t *news, uint32_t seen, uint64_t *out_value) {
  const struct tide_platform *platform = vulkan->context->platform;
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                              .semaphoreCount = 1,
                              .pSemaphores = &semaphore,
                              .pValues = &target};
  VkResult result = driver->WaitSemaphores(driver->device, &wait, SLICE);
  if (result == VK_ERROR_DEVICE_LOST) {
    tide_vulkan_note_loss(vulkan, result);
    return false;
  }
  uint64_t least = result == VK_SUCCESS ? target : 0;
  bool ok = tide_vulkan_read_semaphore(vulkan, semaphore, least, out_value);
  bool is_refused = (result != VK_SUCCESS && result != VK_TIMEOUT) || (least && !*out_value);
  if (ok && is_refused) platform->wait(platform->self, news, seen, later(platform));
  return ok;
}

/* False: the VkDevice is lost. */
static bool wait_for_target(struct tide_vulkan_listener *listener, uint64_t target, uint32_t news) {
  struct tide_vulkan_lane *lane = listener->lane;
  struct tide_vulkan *vulkan = lane->vulkan;
  uint64_t value;
  bool ok =
      tide_vulkan_wait_semaphore(vulkan, lane->semaphore, target, &vulkan->news, news, &value);
  tide_store_ordered(&listener->target, (uint64_t)0);
  if (ok) tide_device_over(vulkan->device, lane->index, value);
  return ok;
}

static void listener_main(void *argument) {
  struct tide_vulkan_listener *listener = argument;
  struct tide_vulkan *vulkan = listener->lane->vulkan;
  const struct tide_platform *platform = vulkan->context->platform;
  for (;;) {
    uint32_t news = tide_load_acquire(&vulkan->news);
    if (tide_load_acquire(&vulkan->stop) || tide_load_acquire(&vulkan->lost)) return;
    uint64_t target = choose_target(listener);
    if (!target) platform->wait(platform->self, &vulkan->news, news, TIDE_FOREVER);
    else if (!wait_for_target(listener, target, news)) return;
  }
}

enum tide_status tide_vulkan_listen_start(struct tide_vulkan *vulkan) {
  const struct tide_platform *platform = vulkan->context->platform;
  for (uint32_t i = 0; i < vulkan->lane_count * TIDE_VULKAN_LISTENERS; i++) {
    struct tide_vulkan_listener *listener =
        &vulkan->lanes[i / TIDE_VULKAN_LISTENERS].listeners[i % TIDE_VULKAN_LISTENERS];
    enum tide_status status = platform->spawn(platform->self, "tide-vulkan-end", listener_main,
                                              listener, &listener->thread);
    if (status != TIDE_OK) return status;
  }
  return TIDE_OK;
}

void tide_vulkan_listen_stop(struct tide_vulkan *vulkan) {
  const struct tide_platform *platform = vulkan->context->platform;
  tide_vulkan_kick(vulkan);
  for (uint32_t i = 0; i < vulkan->lane_count * TIDE_VULKAN_LISTENERS; i++) {
    struct tide_vulkan_listener *listener =
        &vulkan->lanes[i / TIDE_VULKAN_LISTENERS].listeners[i % TIDE_VULKAN_LISTENERS];
    if (listener->thread) platform->join(platform->self, listener->thread);
  }
}
