/* A VkQueue: its semaphore and its command buffers. */
#include "device/vulkan_device.h"

#include "base/alloc.h"
#include "base/text.h"

static enum tide_status make_semaphore(struct tide_vulkan_lane *lane, struct tide_diag *diag) {
  const struct tide_vulkan_driver *driver = &lane->vulkan->driver;
  VkSemaphoreTypeCreateInfo timeline = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                  .pNext = &timeline};
  VkResult result = driver->CreateSemaphore(driver->device, &create, NULL, &lane->semaphore);
  if (result != VK_SUCCESS) lane->semaphore = VK_NULL_HANDLE;
  return tide_vulkan_explain(diag, result, "creating a timeline semaphore");
}

static enum tide_status make_commands(struct tide_vulkan_lane *lane, struct tide_diag *diag) {
  const struct tide_vulkan_driver *driver = &lane->vulkan->driver;
  VkCommandPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT |
                                             VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = lane->queue.family};
  VkResult result = driver->CreateCommandPool(driver->device, &create, NULL, &lane->pool);
  if (result != VK_SUCCESS) lane->pool = VK_NULL_HANDLE;
  VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = lane->pool,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
  for (uint32_t i = 0; i < lane->vulkan->ahead && result == VK_SUCCESS; i++)
    result = driver->AllocateCommandBuffers(driver->device, &allocate, &lane->slots[i].commands);
  return tide_vulkan_explain(diag, result, "creating command buffers");
}

enum tide_status tide_vulkan_lane_init(struct tide_vulkan *vulkan, uint32_t index,
                                       const struct tide_vulkan_queue *queue,
                                       struct tide_diag *diag) {
  struct tide_vulkan_lane *lane = &vulkan->lanes[index];
  lane->vulkan = vulkan;
  lane->index = index;
  lane->queue = *queue;
  for (int i = 0; i < TIDE_VULKAN_LISTENERS; i++) lane->listeners[i].lane = lane;
  lane->slots = tide_alloc(vulkan->context->allocator, vulkan->ahead, sizeof *lane->slots);
  if (!lane->slots) return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  enum tide_status status = make_semaphore(lane, diag);
  return status == TIDE_OK ? make_commands(lane, diag) : status;
}

void tide_vulkan_lane_fini(struct tide_vulkan_lane *lane) {
  struct tide_vulkan *vulkan = lane->vulkan;
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  if (lane->pool) driver->DestroyCommandPool(driver->device, lane->pool, NULL);
  if (lane->semaphore) driver->DestroySemaphore(driver->device, lane->semaphore, NULL);
  for (uint32_t i = 0; lane->slots && i < vulkan->ahead; i++)
    if (lane->slots[i].sets)
      driver->DestroyDescriptorPool(driver->device, lane->slots[i].sets, NULL);
  tide_free(vulkan->context->allocator, lane->slots, vulkan->ahead, sizeof *lane->slots);
}
