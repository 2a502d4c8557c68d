/* The recording driver's instance, physical device and VkDevice, and how the loader finds it. */
#include "vulkan_recorder_state.h"

#include "harness.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct recorder_machine *machine(void) { return &recorder.params.machine; }

/* Outputs of a call: at most *count of `have`. Returns VK_INCOMPLETE if that is fewer. */
static VkResult count_out(uint32_t *count, uint32_t have, bool only_count) {
  bool fits = only_count || *count >= have;
  if (fits) *count = have;
  return fits ? VK_SUCCESS : VK_INCOMPLETE;
}

/* ---- the instance ------------------------------------------------------------------------- */

static VkResult VKAPI_CALL EnumerateInstanceVersion(uint32_t *out_version) {
  LOCK;
  VkResult result = recorder_answer(RECORDER_CREATE);
  *out_version = machine()->loader_version ? machine()->loader_version : VK_API_VERSION_1_2;
  UNLOCK;
  return result;
}

static VkResult VKAPI_CALL EnumerateInstanceExtensionProperties(const char *layer, uint32_t *count,
                                                                VkExtensionProperties *extensions) {
  (void)layer;
  return count_out(count, 0, !extensions);
}

static VkResult VKAPI_CALL CreateInstance(const VkInstanceCreateInfo *info,
                                          const VkAllocationCallbacks *allocator,
                                          VkInstance *out_instance) {
  (void)allocator;
  LOCK;
  if (!info->pApplicationInfo || info->pApplicationInfo->apiVersion < VK_API_VERSION_1_2)
    recorder_note("an instance of too old a version");
  VkResult result = recorder_answer(RECORDER_CREATE);
  *out_instance = HANDLE(VkInstance, 0xbad);
  if (result == VK_SUCCESS) {
    recorder.has_instance = true;
    recorder.instance.loader = ICD_LOADER_MAGIC;
    *out_instance = HANDLE(VkInstance, &recorder.instance);
  }
  UNLOCK;
  return result;
}

static void VKAPI_CALL DestroyInstance(VkInstance instance,
                                       const VkAllocationCallbacks *allocator) {
  (void)allocator;
  LOCK;
  if (!recorder.has_instance || instance != HANDLE(VkInstance, &recorder.instance))
    recorder_note("an instance is destroyed that does not exist");
  if (recorder.has_device) recorder_note("an instance is destroyed before its VkDevice");
  recorder.has_instance = false;
  UNLOCK;
}

static VkResult VKAPI_CALL EnumeratePhysicalDevices(VkInstance instance, uint32_t *count,
                                                    VkPhysicalDevice *devices) {
  (void)instance;
  LOCK;
  VkResult result = recorder_answer(RECORDER_CREATE);
  if (result == VK_SUCCESS) result = count_out(count, !machine()->has_no_devices, !devices);
  recorder.physical_device.loader = ICD_LOADER_MAGIC;
  if (result == VK_SUCCESS && devices && *count)
    devices[0] = HANDLE(VkPhysicalDevice, &recorder.physical_device);
  UNLOCK;
  return result;
}

/* ---- the physical device ------------------------------------------------------------------ */

static void VKAPI_CALL GetPhysicalDeviceProperties(VkPhysicalDevice device,
                                                   VkPhysicalDeviceProperties *out_properties) {
  (void)device;
  *out_properties = (VkPhysicalDeviceProperties){.deviceName = RECORDER_NAME};
  out_properties->apiVersion = machine()->version ? machine()->version : VK_API_VERSION_1_2;
}

static void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice device,
                                                    VkPhysicalDeviceProperties2 *out_properties) {
  GetPhysicalDeviceProperties(device, &out_properties->properties);
}

static void VKAPI_CALL GetPhysicalDeviceFeatures(VkPhysicalDevice device,
                                                 VkPhysicalDeviceFeatures *out_features) {
  (void)device;
  *out_features = (VkPhysicalDeviceFeatures){.robustBufferAccess = VK_TRUE};
}

static void VKAPI_CALL GetPhysicalDeviceFeatures2(VkPhysicalDevice device,
                                                  VkPhysicalDeviceFeatures2 *out_features) {
  GetPhysicalDeviceFeatures(device, &out_features->features);
  for (VkBaseOutStructure *more = out_features->pNext; more; more = more->pNext)
    if (more->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES)
      ((VkPhysicalDeviceTimelineSemaphoreFeatures *)(void *)more)->timelineSemaphore =
          !machine()->has_no_timelines;
}

static uint32_t queues_of(uint32_t family) {
  if (!machine()->flags[0]) return family == 0 ? RECORDER_QUEUES : 0;
  return machine()->queues[family];
}

static void VKAPI_CALL GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice device,
                                                              uint32_t *count,
                                                              VkQueueFamilyProperties *families) {
  const VkQueueFlags *flags = machine()->flags;
  (void)device;
  (void)count_out(count, flags[1] ? 2 : 1, !families);
  for (uint32_t i = 0; families && i < *count; i++)
    families[i] = (VkQueueFamilyProperties){
        .queueFlags = flags[0] ? flags[i] : VK_QUEUE_COMPUTE_BIT, .queueCount = queues_of(i)};
}

static void VKAPI_CALL GetPhysicalDeviceMemoryProperties(
    VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties *out_memory) {
  (void)device;
  *out_memory = (VkPhysicalDeviceMemoryProperties){.memoryTypeCount = 0};
}

static VkResult VKAPI_CALL EnumerateDeviceExtensionProperties(VkPhysicalDevice device,
                                                              const char *layer, uint32_t *count,
                                                              VkExtensionProperties *extensions) {
  (void)device, (void)layer;
  LOCK;
  VkResult result = recorder_answer(RECORDER_ASK);
  UNLOCK;
  return result == VK_SUCCESS ? count_out(count, 0, !extensions) : result;
}

/* ---- the VkDevice ------------------------------------------------------------------------- */

static bool has_enabled_timelines(const VkDeviceCreateInfo *info) {
  for (const VkBaseInStructure *more = info->pNext; more; more = more->pNext)
    if (more->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES)
      return ((const VkPhysicalDeviceTimelineSemaphoreFeatures *)(const void *)more)
          ->timelineSemaphore;
  return false;
}

static VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                        const VkAllocationCallbacks *allocator,
                                        VkDevice *out_device) {
  const VkDeviceQueueCreateInfo *queues = info->pQueueCreateInfos;
  (void)physical, (void)allocator;
  LOCK;
  if (!has_enabled_timelines(info)) recorder_note("a VkDevice without timeline semaphores");
  if (info->queueCreateInfoCount != 1 || queues->queueFamilyIndex >= RECORDER_FAMILIES ||
      queues->queueCount > queues_of(queues->queueFamilyIndex))
    recorder_note("a VkDevice with VkQueues that a family does not have");
  VkResult result = recorder_answer(RECORDER_CREATE);
  if (machine()->refuses_device) result = machine()->refuses_device;
  *out_device = HANDLE(VkDevice, 0xbad);
  if (result == VK_SUCCESS) {
    recorder.has_device = true;
    recorder.device.loader = ICD_LOADER_MAGIC;
    for (uint32_t i = 0; i < RECORDER_QUEUES; i++)
      recorder.queues[i].family = queues->queueFamilyIndex;
    *out_device = HANDLE(VkDevice, &recorder.device);
  }
  UNLOCK;
  return result;
}

static void VKAPI_CALL DestroyDevice(VkDevice device, const VkAllocationCallbacks *allocator) {
  (void)allocator;
  LOCK;
  if (!recorder.has_device || device != HANDLE(VkDevice, &recorder.device))
    recorder_note("a VkDevice is destroyed that does not exist");
  for (uint32_t i = 0; i < recorder.pool_count; i++)
    if (recorder.pools[i].exists) recorder_note("a VkDevice is destroyed before a command pool");
  for (uint32_t i = 0; i < recorder.semaphore_count; i++)
    if (recorder.semaphores[i].exists) recorder_note("a VkDevice is destroyed before a semaphore");
  recorder.has_device = false;
  UNLOCK;
}

static void VKAPI_CALL GetDeviceQueue(VkDevice device, uint32_t family, uint32_t index,
                                      VkQueue *out_queue) {
  (void)device;
  LOCK;
  if (index >= RECORDER_QUEUES || recorder.queues[index].family != family)
    recorder_note("a VkQueue that was not created");
  recorder.queues[index].handle.loader = ICD_LOADER_MAGIC;
  *out_queue = HANDLE(VkQueue, &recorder.queues[index]);
  UNLOCK;
}

static PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice device, const char *name) {
  (void)device;
  return recorder_find_function(NULL, name);
}

/* The loader, or the device, looks it up and does not call it. */
static void VKAPI_CALL unexpected(void) { FAIL("a call that is not needed"); }

PFN_vkVoidFunction recorder_find_of_machine(const char *name) {
  static const struct recorder_function functions[] = {
      FUNCTION(EnumerateInstanceVersion),
      FUNCTION(EnumerateInstanceExtensionProperties),
      FUNCTION(CreateInstance),
      FUNCTION(DestroyInstance),
      FUNCTION(EnumeratePhysicalDevices),
      FUNCTION(GetPhysicalDeviceProperties),
      FUNCTION(GetPhysicalDeviceProperties2),
      FUNCTION(GetPhysicalDeviceFeatures),
      FUNCTION(GetPhysicalDeviceFeatures2),
      FUNCTION(GetPhysicalDeviceQueueFamilyProperties),
      FUNCTION(GetPhysicalDeviceMemoryProperties),
      FUNCTION(EnumerateDeviceExtensionProperties),
      FUNCTION(CreateDevice),
      FUNCTION(DestroyDevice),
      FUNCTION(GetDeviceQueue),
      FUNCTION(GetDeviceProcAddr)};
  PFN_vkVoidFunction found = FIND(functions, name);
  size_t length = strlen(name);
  bool is_extension = strstr(name, "EXT") || strstr(name, "KHR") || length < 4 ||
                      strncmp(name, "vk", 2) || name[2] == '_' || strstr(name, "Adapter");
  return found || is_extension ? found : (PFN_vkVoidFunction)unexpected;
}

/* ---- the loader --------------------------------------------------------------------------- */

const char *recorder_find_loader(void) {
  static char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 100);
  if (length < 0) return "the test does not know where it is";
  path[length] = 0;
  char *end = strrchr(path, '/') + 1;
  strcpy(end, "tests/vulkan/recorder/libVkICD_recorder.so");
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return "the recording driver is not built";
  void *found = dlsym(library, "recorder_connect");
  if (!found || !dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
    return "there is no Vulkan loader";
  void (*connect)(PFN_vkGetInstanceProcAddr);
  memcpy(&connect, &found, sizeof found);
  connect(recorder_find_function);
  strcpy(end, "tests/vulkan/recorder/VkICD_recorder.json");
  setenv("VK_DRIVER_FILES", path, 1);
  setenv("VK_ICD_FILENAMES", path, 1); /* older loaders */
  setenv("VK_LOADER_LAYERS_DISABLE", "~implicit~", 1);
  setenv("NODEVICE_SELECT", "1", 1);
  return NULL;
}
