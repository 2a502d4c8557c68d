/* The instance, the device with all its queues, names, buffers, and the compute pipeline. */
#include "small.h"
#include "small_mix.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void small_fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("vulkan-small: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  fflush(NULL);
  _Exit(1); /* Other threads may be inside the driver: no destructor may run. */
}

void check_result(VkResult result, const char *call) {
  if (result != VK_SUCCESS) small_fail("%.60s: VkResult %d", call, (int)result);
}

void name_object(struct device *device, VkObjectType type, uint64_t handle, const char *format,
                 ...) {
  char name[64];
  if (!device->set_name) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  VkDebugUtilsObjectNameInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
      .objectType = type,
      .objectHandle = handle,
      .pObjectName = name,
  };
  VK(device->set_name(device->device, &info));
}

/* ---- opening ------------------------------------------------------------------------ */

static bool has_instance_extension(const char *name) {
  uint32_t count = 0;
  VK(vkEnumerateInstanceExtensionProperties(NULL, &count, NULL));
  VkExtensionProperties *all = calloc(count + 1, sizeof *all);
  VK(vkEnumerateInstanceExtensionProperties(NULL, &count, all));
  bool found = false;
  for (uint32_t i = 0; i < count; i++) found = found || !strcmp(all[i].extensionName, name);
  free(all);
  return found;
}

static void open_instance(struct device *device) {
  const char *extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  bool has_names = has_instance_extension(extension);
  VkApplicationInfo application = {
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
      .pApplicationName = "vulkan-small",
      .apiVersion = VK_API_VERSION_1_3,
  };
  VkInstanceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
      .pApplicationInfo = &application,
      .enabledExtensionCount = has_names,
      .ppEnabledExtensionNames = &extension,
  };
  VK(vkCreateInstance(&info, NULL, &device->instance));
  if (has_names)
    device->set_name = (PFN_vkSetDebugUtilsObjectNameEXT)vkGetInstanceProcAddr(
        device->instance, "vkSetDebugUtilsObjectNameEXT");

  uint32_t count = 1;
  VkResult result = vkEnumeratePhysicalDevices(device->instance, &count, &device->physical);
  if (result != VK_INCOMPLETE) VK(result);
  if (count == 0) small_fail("no Vulkan device");
  vkGetPhysicalDeviceMemoryProperties(device->physical, &device->memory);
}

/* Takes up to LANES_MOST queues of each family that can copy. */
static uint32_t choose_queues(struct device *device, VkDeviceQueueCreateInfo infos[16]) {
  static const float priorities[LANES_MOST] = {1, 1, 1, 1};
  const VkQueueFlags copying = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
  /* SwiftShader writes as many families as the array holds: the count is asked for first. */
  uint32_t count = 0, used = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &count, NULL);
  if (count > 16) count = 16;
  VkQueueFamilyProperties families[16];
  vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &count, families);
  for (uint32_t f = 0; f < count; f++) {
    if (!(families[f].queueFlags & copying)) continue;
    uint32_t queues = families[f].queueCount < LANES_MOST ? families[f].queueCount : LANES_MOST;
    infos[used++] = (VkDeviceQueueCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = f,
        .queueCount = queues,
        .pQueuePriorities = priorities,
    };
    for (uint32_t q = 0; q < queues; q++)
      device->queues[device->queue_count++] =
          (struct real_queue){.family = f, .flags = families[f].queueFlags};
  }
  device->family_count = (int)used;
  if (used == 0) small_fail("no queue that can copy");
  return used;
}

static void fetch_queues(struct device *device) {
  uint32_t index = 0;
  for (int q = 0; q < device->queue_count; q++) {
    struct real_queue *real = &device->queues[q];
    index = q > 0 && real[-1].family == real->family ? index + 1 : 0;
    vkGetDeviceQueue(device->device, real->family, index, &real->queue);
    name_object(device, VK_OBJECT_TYPE_QUEUE, HANDLE(real->queue), "family%u.queue%u", real->family,
                index);
  }
}

void device_open(struct device *device) {
  *device = (struct device){0};
  open_instance(device);
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(device->physical, &properties);
  VkPhysicalDeviceVulkan13Features features13 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  bool has_13 = properties.apiVersion >= VK_API_VERSION_1_3;
  VkPhysicalDeviceVulkan12Features features12 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .pNext = has_13 ? &features13 : NULL};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                        .pNext = &features12};
  vkGetPhysicalDeviceFeatures2(device->physical, &features);
  if (!features12.timelineSemaphore) small_fail("the device has no timeline semaphores");
  device->has_submit2 = has_13 && features13.synchronization2;

  VkPhysicalDeviceVulkan13Features use13 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
      .synchronization2 = device->has_submit2};
  VkPhysicalDeviceVulkan12Features use12 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .pNext = has_13 ? &use13 : NULL,
      .timelineSemaphore = VK_TRUE};
  VkDeviceQueueCreateInfo queues[16];
  VkDeviceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
      .pNext = &use12,
      .queueCreateInfoCount = choose_queues(device, queues),
      .pQueueCreateInfos = queues,
  };
  VK(vkCreateDevice(device->physical, &info, NULL, &device->device));
  fetch_queues(device);
}

void device_open_pipeline(struct device *device) {
  VkDescriptorSetLayoutBinding bindings[3];
  for (uint32_t i = 0; i < 3; i++)
    bindings[i] = (VkDescriptorSetLayoutBinding){
        .binding = i,
        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        .descriptorCount = 1,
        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
    };
  VkDescriptorSetLayoutCreateInfo set_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = 3,
      .pBindings = bindings,
  };
  VK(vkCreateDescriptorSetLayout(device->device, &set_info, NULL, &device->set_layout));
  VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = 20};
  VkPipelineLayoutCreateInfo layout_info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
      .setLayoutCount = 1,
      .pSetLayouts = &device->set_layout,
      .pushConstantRangeCount = 1,
      .pPushConstantRanges = &range,
  };
  VK(vkCreatePipelineLayout(device->device, &layout_info, NULL, &device->layout));
  VkShaderModuleCreateInfo module_info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = sizeof mix_code,
      .pCode = mix_code,
  };
  VkShaderModule module;
  VK(vkCreateShaderModule(device->device, &module_info, NULL, &module));
  VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main"},
      .layout = device->layout,
  };
  VK(vkCreateComputePipelines(device->device, VK_NULL_HANDLE, 1, &info, NULL, &device->pipeline));
  vkDestroyShaderModule(device->device, module, NULL);
}

void device_close(struct device *device) {
  vkDestroyPipeline(device->device, device->pipeline, NULL);
  vkDestroyPipelineLayout(device->device, device->layout, NULL);
  vkDestroyDescriptorSetLayout(device->device, device->set_layout, NULL);
  vkDestroyDevice(device->device, NULL);
  vkDestroyInstance(device->instance, NULL);
}

/* ---- objects ------------------------------------------------------------------------ */

static uint32_t memory_type(const struct device *device, uint32_t allowed) {
  const VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (uint32_t i = 0; i < device->memory.memoryTypeCount; i++)
    if ((allowed & (1u << i)) && (device->memory.memoryTypes[i].propertyFlags & wanted) == wanted)
      return i;
  small_fail("no host-visible, coherent memory for a buffer");
}

void buffer_create(struct device *device, VkDeviceSize size, const uint32_t *families,
                   uint32_t family_count, VkBuffer *out_buffer, VkDeviceMemory *out_memory,
                   void **out_mapped) {
  VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = size,
      .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
               VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
      .sharingMode = family_count > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
      .queueFamilyIndexCount = family_count > 1 ? family_count : 0,
      .pQueueFamilyIndices = families,
  };
  VK(vkCreateBuffer(device->device, &info, NULL, out_buffer));
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device->device, *out_buffer, &needs);
  VkMemoryAllocateInfo allocation = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .allocationSize = needs.size,
      .memoryTypeIndex = memory_type(device, needs.memoryTypeBits),
  };
  VK(vkAllocateMemory(device->device, &allocation, NULL, out_memory));
  VK(vkBindBufferMemory(device->device, *out_buffer, *out_memory, 0));
  VK(vkMapMemory(device->device, *out_memory, 0, VK_WHOLE_SIZE, 0, out_mapped));
}

VkSemaphore semaphore_create(struct device *device, bool is_binary, uint64_t initial) {
  VkSemaphoreTypeCreateInfo type = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
      .semaphoreType = is_binary ? VK_SEMAPHORE_TYPE_BINARY : VK_SEMAPHORE_TYPE_TIMELINE,
      .initialValue = is_binary ? 0 : initial,
  };
  VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  VkSemaphore semaphore;
  VK(vkCreateSemaphore(device->device, &info, NULL, &semaphore));
  return semaphore;
}

void print_words(const uint32_t *words, size_t count) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < count; i++) hash = (hash ^ words[i]) * 0x100000001b3u;
  printf("hash %016llx words %zu\n", (unsigned long long)hash, count);
  /* About 32 words, evenly spread. */
  size_t stride = count > 32 ? count / 32 : 1;
  for (size_t i = 0, shown = 0; i < count; i += stride, shown++)
    printf("%08x%s", words[i], shown % 8 == 7 || i + stride >= count ? "\n" : " ");
  fflush(stdout);
}
