/* The Vulkan of an application that exists already: adopt.c gives its VkDevice to Tidemark. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>

static struct application {
  VkInstance instance;
  VkPhysicalDevice physical;
  VkDevice device;
  VkQueue queue; /* of family 0 */
  VkCommandPool pool;
  pthread_mutex_t lock; /* of the VkQueue */
} application = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Of a VkResult or a tide_status, which both are 0 for success. */
static inline void check(int result, const char *call) {
  if (result == 0) return;
  fprintf(stderr, "%s: %d\n", call, result);
  exit(1);
}
#define CHECK(call) check((int)(call), #call)

static inline void application_open(void) {
  static const float priority = 1;
  static const char *const import = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
  const VkApplicationInfo info = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                  .apiVersion = VK_API_VERSION_1_2};
  const VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                         .pApplicationInfo = &info};
  VkPhysicalDeviceVulkan12Features features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = VK_TRUE};
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
  VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &features,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue,
                               .enabledExtensionCount = 1,
                               .ppEnabledExtensionNames = &import};
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  uint32_t count = 1;
  CHECK(vkCreateInstance(&instance, NULL, &application.instance));
  if (vkEnumeratePhysicalDevices(application.instance, &count, &application.physical) < 0 || !count)
    exit(1);
  VkResult result = vkCreateDevice(application.physical, &device, NULL, &application.device);
  device.enabledExtensionCount = 0; /* the driver may not have it */
  if (result == VK_ERROR_EXTENSION_NOT_PRESENT)
    result = vkCreateDevice(application.physical, &device, NULL, &application.device);
  CHECK(result);
  CHECK(vkCreateCommandPool(application.device, &pool, NULL, &application.pool));
  vkGetDeviceQueue(application.device, 0, 0, &application.queue);
}

static inline void application_close(VkSemaphore one, VkSemaphore other) {
  CHECK(vkDeviceWaitIdle(application.device));
  vkDestroySemaphore(application.device, one, NULL);
  vkDestroySemaphore(application.device, other, NULL);
  vkDestroyCommandPool(application.device, application.pool, NULL);
  vkDestroyDevice(application.device, NULL);
  vkDestroyInstance(application.instance, NULL);
}

static inline void application_lock(void *self, VkQueue queue) {
  (void)self, (void)queue;
  pthread_mutex_lock(&application.lock);
}
static inline void application_unlock(void *self, VkQueue queue) {
  (void)self, (void)queue;
  pthread_mutex_unlock(&application.lock);
}

static inline VkSemaphore application_semaphore(void) {
  const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                      .pNext = &type};
  VkSemaphore semaphore;
  CHECK(vkCreateSemaphore(application.device, &info, NULL, &semaphore));
  return semaphore;
}

/* A submission of its own: waits for `on` >= value, copies from `offset` to behind it, and signals
 * `to` = value. The host writes after the submit, so the copy needs a barrier for that. */
static inline void application_upload(VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size,
                                      VkSemaphore on, VkSemaphore to, uint64_t value) {
  const VkMemoryBarrier host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                .srcAccessMask = VK_ACCESS_HOST_WRITE_BIT,
                                .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT};
  const VkBufferCopy copy = {.srcOffset = offset, .dstOffset = offset + size, .size = size};
  const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = application.pool,
                                            .commandBufferCount = 1};
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  const VkTimelineSemaphoreSubmitInfo values = {
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .waitSemaphoreValueCount = 1,
      .pWaitSemaphoreValues = &value,
      .signalSemaphoreValueCount = 1,
      .pSignalSemaphoreValues = &value};
  VkCommandBuffer commands;
  CHECK(vkAllocateCommandBuffers(application.device, &info, &commands));
  CHECK(vkBeginCommandBuffer(commands, &begin));
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1,
                       &host, 0, NULL, 0, NULL);
  vkCmdCopyBuffer(commands, buffer, buffer, 1, &copy);
  CHECK(vkEndCommandBuffer(commands));
  const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &values,
                               .waitSemaphoreCount = 1,
                               .pWaitSemaphores = &on,
                               .pWaitDstStageMask = &stages,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands,
                               .signalSemaphoreCount = 1,
                               .pSignalSemaphores = &to};
  application_lock(NULL, application.queue);
  CHECK(vkQueueSubmit(application.queue, 1, &submit, VK_NULL_HANDLE));
  application_unlock(NULL, application.queue);
}
