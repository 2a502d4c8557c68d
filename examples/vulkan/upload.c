/* A texture upload with a mistake that no test on most machines shows: one queue copies data into a
 * buffer, another one copies the buffer to where the host reads it, and nothing orders the two.
 *
 *   cc upload.c -o upload -lvulkan
 *   ./upload                                                     prints the data, nearly always
 *   tidemark vulkan explore --compare stdout -- ./upload         shows that it need not
 *   tidemark vulkan explore --compare stdout -- ./upload fixed   with the wait: it must
 *
 * Where the driver has one queue both are the same one, and a barrier would be needed instead. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#define SIZE 64

static void check(VkResult result, const char *call) {
  if (result == VK_SUCCESS) return;
  fprintf(stderr, "%s: VkResult %d\n", call, (int)result);
  exit(1);
}
#define CHECK(call) check(call, #call)

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue upload_queue, read_queue;
static VkCommandPool pool;
static VkSemaphore uploaded;

static void make_device(void) {
  static const float priorities[2] = {1, 1};
  const char *names = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  uint32_t count = 1, families = 1;
  VkQueueFamilyProperties family;
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_2};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                               .pApplicationInfo = &application,
                               .enabledExtensionCount = 1,
                               .ppEnabledExtensionNames = &names};
  CHECK(vkCreateInstance(&info, NULL, &instance));
  if (vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || !count) exit(1);
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &families, &family);
  uint32_t queues = family.queueCount < 2 ? 1 : 2;
  VkDeviceQueueCreateInfo queue_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                        .queueCount = queues,
                                        .pQueuePriorities = priorities};
  VkPhysicalDeviceVulkan12Features features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = VK_TRUE};
  VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                    .pNext = &features,
                                    .queueCreateInfoCount = 1,
                                    .pQueueCreateInfos = &queue_info};
  CHECK(vkCreateDevice(physical, &device_info, NULL, &device));
  vkGetDeviceQueue(device, 0, 0, &upload_queue);
  vkGetDeviceQueue(device, 0, queues - 1, &read_queue);
}

static void name(VkObjectType type, uint64_t object, const char *text) {
  PFN_vkSetDebugUtilsObjectNameEXT call =
      (PFN_vkSetDebugUtilsObjectNameEXT)vkGetDeviceProcAddr(device, "vkSetDebugUtilsObjectNameEXT");
  VkDebugUtilsObjectNameInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                        .objectType = type,
                                        .objectHandle = object,
                                        .pObjectName = text};
  if (call) CHECK(call(device, &info));
}

/* A buffer in memory that the host sees. */
static VkBuffer make_buffer(char **out_bytes) {
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                             .size = SIZE,
                             .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  VkPhysicalDeviceMemoryProperties memory;
  VkMemoryRequirements needs;
  VkDeviceMemory bytes;
  VkBuffer buffer;
  VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  CHECK(vkCreateBuffer(device, &info, NULL, &buffer));
  vkGetBufferMemoryRequirements(device, buffer, &needs);
  vkGetPhysicalDeviceMemoryProperties(physical, &memory);
  while (!(needs.memoryTypeBits >> allocate.memoryTypeIndex & 1) ||
         (memory.memoryTypes[allocate.memoryTypeIndex].propertyFlags & wanted) != wanted)
    allocate.memoryTypeIndex++;
  allocate.allocationSize = needs.size;
  CHECK(vkAllocateMemory(device, &allocate, NULL, &bytes));
  CHECK(vkBindBufferMemory(device, buffer, bytes, 0));
  CHECK(vkMapMemory(device, bytes, 0, SIZE, 0, (void **)out_bytes));
  memset(*out_bytes, 0, SIZE);
  return buffer;
}

static VkCommandBuffer record_copy(VkBuffer from, VkBuffer to, const char *text) {
  VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                      .commandPool = pool,
                                      .commandBufferCount = 1};
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VkCommandBuffer commands;
  CHECK(vkAllocateCommandBuffers(device, &info, &commands));
  name(VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)commands, text);
  CHECK(vkBeginCommandBuffer(commands, &begin));
  vkCmdCopyBuffer(commands, from, to, 1, &(VkBufferCopy){.size = SIZE});
  CHECK(vkEndCommandBuffer(commands));
  return commands;
}

/* Signals `uploaded` = signal, behind its wait for `uploaded` >= wait; 0: neither. */
static void submit(VkQueue queue, VkCommandBuffer commands, uint64_t wait, uint64_t signal,
                   VkFence fence) {
  VkPipelineStageFlags stages = VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .waitSemaphoreValueCount = wait != 0,
                                          .pWaitSemaphoreValues = &wait,
                                          .signalSemaphoreValueCount = signal != 0,
                                          .pSignalSemaphoreValues = &signal};
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .pNext = &values,
                       .waitSemaphoreCount = wait != 0,
                       .pWaitSemaphores = &uploaded,
                       .pWaitDstStageMask = &stages,
                       .commandBufferCount = 1,
                       .pCommandBuffers = &commands,
                       .signalSemaphoreCount = signal != 0,
                       .pSignalSemaphores = &uploaded};
  CHECK(vkQueueSubmit(queue, 1, &info, fence));
}

int main(int argc, char **argv) {
  bool is_fixed = argc > 1 && strcmp(argv[1], "fixed") == 0;
  char *source, *texture, *result;
  VkFence done;
  make_device();
  VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                    .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo semaphore_info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                          .pNext = &type};
  VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  CHECK(vkCreateCommandPool(device, &pool_info, NULL, &pool));
  CHECK(vkCreateSemaphore(device, &semaphore_info, NULL, &uploaded));
  CHECK(vkCreateFence(device, &fence_info, NULL, &done));
  name(VK_OBJECT_TYPE_SEMAPHORE, (uint64_t)uploaded, "uploaded");
  VkBuffer from = make_buffer(&source), buffer = make_buffer(&texture), to = make_buffer(&result);
  strcpy(source, "the texture is here");

  submit(upload_queue, record_copy(from, buffer, "upload"), 0, 1, VK_NULL_HANDLE);
  submit(read_queue, record_copy(buffer, to, "read"), is_fixed ? 1 : 0, 0, done);
  CHECK(vkWaitForFences(device, 1, &done, VK_TRUE, UINT64_MAX));
  CHECK(vkDeviceWaitIdle(device));
  printf("'%.*s'\n", SIZE, result);
  exit(0); /* the process takes all of it down */
}
