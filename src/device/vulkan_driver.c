/* Loads Vulkan, opens a VkDevice by name or adopts one, and translates results. */
#include "device/vulkan_driver.h"

#include "base/text.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define LOADER "libvulkan.so.1"
#define DEVICES_MOST 16
#define FAMILIES_MOST 32
#define EXTENSIONS_MOST 512

/* ---- results ----------------------------------------------------------------------------- */

struct answer {
  VkResult result;
  enum tide_status status;
  const char *name;
};

static const struct answer answers[] = {
    {VK_SUCCESS, TIDE_OK, "SUCCESS"},
    {VK_ERROR_OUT_OF_HOST_MEMORY, TIDE_NOMEM, "ERROR_OUT_OF_HOST_MEMORY"},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, TIDE_NOMEM, "ERROR_OUT_OF_DEVICE_MEMORY"},
    {VK_ERROR_INITIALIZATION_FAILED, TIDE_UNSUPPORTED, "ERROR_INITIALIZATION_FAILED"},
    {VK_ERROR_DEVICE_LOST, TIDE_LOST, "ERROR_DEVICE_LOST"},
    {VK_ERROR_LAYER_NOT_PRESENT, TIDE_UNSUPPORTED, "ERROR_LAYER_NOT_PRESENT"},
    {VK_ERROR_EXTENSION_NOT_PRESENT, TIDE_UNSUPPORTED, "ERROR_EXTENSION_NOT_PRESENT"},
    {VK_ERROR_FEATURE_NOT_PRESENT, TIDE_UNSUPPORTED, "ERROR_FEATURE_NOT_PRESENT"},
    {VK_ERROR_INCOMPATIBLE_DRIVER, TIDE_UNSUPPORTED, "ERROR_INCOMPATIBLE_DRIVER"},
    {VK_ERROR_UNKNOWN, TIDE_FAILED, "ERROR_UNKNOWN"},
    {VK_ERROR_TOO_MANY_OBJECTS, TIDE_NOMEM, "ERROR_TOO_MANY_OBJECTS"},
    {VK_ERROR_INVALID_EXTERNAL_HANDLE, TIDE_INVALID, "ERROR_INVALID_EXTERNAL_HANDLE"},
};

static const struct answer *find_answer(VkResult result) {
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
    if (answers[i].result == result) return &answers[i];
  return NULL;
}

enum tide_status tide_status_of_vulkan(VkResult result) {
  const struct answer *found = find_answer(result);
  if (!found)
    return tide_body_report(TIDE_FAILED, result, "the Vulkan driver answers %d", (int)result);
  if (found->status == TIDE_OK) return TIDE_OK;
  return tide_body_report(found->status, result, "the Vulkan driver answers VK_%s", found->name);
}

enum tide_status tide_vulkan_explain(struct tide_diag *diag, VkResult result, const char *what) {
  const struct answer *found = find_answer(result);
  if (result == VK_SUCCESS) return TIDE_OK;
  if (!found)
    return tide_diag_set(diag, TIDE_FAILED, "%s: the Vulkan driver answers %d", what, (int)result);
  return tide_diag_set(diag, found->status, "%s: the Vulkan driver answers VK_%s", what,
                       found->name);
}

/* ---- functions --------------------------------------------------------------------------- */

static enum tide_status report_missing(struct tide_diag *diag, const char *name) {
  return tide_diag_set(diag, TIDE_UNSUPPORTED, "this Vulkan has no vk%s", name);
}

static enum tide_status load_loader(struct tide_vulkan_driver *driver, struct tide_diag *diag) {
  driver->library = dlopen(LOADER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!driver->library)
    return tide_diag_set(diag, TIDE_UNSUPPORTED, "there is no Vulkan: %s", dlerror());
  void *found = dlsym(driver->library, "vkGetInstanceProcAddr");
  if (!found) return report_missing(diag, "GetInstanceProcAddr");
  memcpy(&driver->get_proc, &found, sizeof found);
  return TIDE_OK;
}

#define FIND(find, handle, name)                                                                   \
  driver->name = (PFN_vk##name)driver->find(handle, "vk" #name);                                   \
  if (!driver->name) return report_missing(diag, #name);
#define FIND_GLOBAL(name) FIND(get_proc, NULL, name)
#define FIND_OF_INSTANCE(name) FIND(get_proc, driver->instance, name)
#define FIND_OF_DEVICE(name) FIND(GetDeviceProcAddr, driver->device, name)
#define FIND_OF_TIMELINES(name)                                                                    \
  driver->name = (PFN_vk##name)driver->GetDeviceProcAddr(driver->device, "vk" #name);              \
  if (!driver->name)                                                                               \
    driver->name = (PFN_vk##name)driver->GetDeviceProcAddr(driver->device, "vk" #name "KHR");      \
  if (!driver->name)                                                                               \
    return tide_diag_set(diag, TIDE_UNSUPPORTED,                                                   \
                         "the VkDevice has no timeline semaphores: it has no vk" #name);

static enum tide_status find_instance_calls(struct tide_vulkan_driver *driver,
                                            struct tide_diag *diag) {
  TIDE_VULKAN_INSTANCE_CALLS(FIND_OF_INSTANCE)
  return TIDE_OK;
}

/* True if the driver gives out timeline semaphores as opaque descriptors, and takes them. */
static bool shares_timelines(const struct tide_vulkan_driver *driver) {
  const VkExternalSemaphoreFeatureFlags both =
      VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
  const VkSemaphoreTypeCreateInfo timeline = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                              .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkPhysicalDeviceExternalSemaphoreInfo info = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
      .pNext = &timeline,
      .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
  VkExternalSemaphoreProperties properties = {.sType =
                                                  VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
  driver->GetPhysicalDeviceExternalSemaphoreProperties(driver->physical_device, &info, &properties);
  return (properties.externalSemaphoreFeatures & both) == both;
}

static enum tide_status find_device_calls(struct tide_vulkan_driver *driver,
                                          struct tide_diag *diag) {
  TIDE_VULKAN_DEVICE_CALLS(FIND_OF_DEVICE)
  TIDE_VULKAN_TIMELINE_CALLS(FIND_OF_TIMELINES)
  driver->CmdBeginDebugUtilsLabelEXT = (PFN_vkCmdBeginDebugUtilsLabelEXT)driver->get_proc(
      driver->instance, "vkCmdBeginDebugUtilsLabelEXT");
  driver->CmdEndDebugUtilsLabelEXT = (PFN_vkCmdEndDebugUtilsLabelEXT)driver->get_proc(
      driver->instance, "vkCmdEndDebugUtilsLabelEXT");
  if (!driver->CmdEndDebugUtilsLabelEXT) driver->CmdBeginDebugUtilsLabelEXT = NULL;
  driver->GetMemoryHostPointerPropertiesEXT =
      (PFN_vkGetMemoryHostPointerPropertiesEXT)driver->GetDeviceProcAddr(
          driver->device, "vkGetMemoryHostPointerPropertiesEXT");
  if (!driver->GetMemoryHostPointerPropertiesEXT) driver->import_alignment = 0;
  driver->GetSemaphoreFdKHR =
      (PFN_vkGetSemaphoreFdKHR)driver->GetDeviceProcAddr(driver->device, "vkGetSemaphoreFdKHR");
  driver->ImportSemaphoreFdKHR = (PFN_vkImportSemaphoreFdKHR)driver->GetDeviceProcAddr(
      driver->device, "vkImportSemaphoreFdKHR");
  bool has_both = driver->GetSemaphoreFdKHR && driver->ImportSemaphoreFdKHR;
  if (!has_both || !shares_timelines(driver)) driver->GetSemaphoreFdKHR = NULL;
  return TIDE_OK;
}

/* ---- opening a VkDevice ----------------------------------------------------------------------
 */

static enum tide_status make_instance(struct tide_vulkan_driver *driver, struct tide_diag *diag) {
  TIDE_VULKAN_GLOBAL_CALLS(FIND_GLOBAL)
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .pEngineName = "Tidemark",
                                   .apiVersion = VK_API_VERSION_1_2};
  VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &application};
  uint32_t version = 0;
  enum tide_status status =
      tide_vulkan_explain(diag, driver->EnumerateInstanceVersion(&version), "finding its version");
  if (status == TIDE_OK && version < VK_API_VERSION_1_2)
    return tide_diag_set(diag, TIDE_UNSUPPORTED, "the Vulkan loader has version %u.%u, not 1.2",
                         VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
  if (status != TIDE_OK) return status;
  VkResult result = driver->CreateInstance(&create, NULL, &driver->instance);
  if (result != VK_SUCCESS) driver->instance = VK_NULL_HANDLE;
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
    return tide_diag_set(diag, TIDE_UNSUPPORTED, "there is no Vulkan driver");
  status = tide_vulkan_explain(diag, result, "creating an instance");
  return status == TIDE_OK ? find_instance_calls(driver, diag) : status;
}

static bool has_timelines(const struct tide_vulkan_driver *driver, VkPhysicalDevice device) {
  VkPhysicalDeviceTimelineSemaphoreFeatures timelines = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                        .pNext = &timelines};
  driver->GetPhysicalDeviceFeatures2(device, &features);
  return timelines.timelineSemaphore;
}

/* Finds the first device with `name` in its name and with timeline semaphores. */
static enum tide_status find_device(struct tide_vulkan_driver *driver, const char *name,
                                    struct tide_diag *diag) {
  VkPhysicalDevice devices[DEVICES_MOST];
  uint32_t count = DEVICES_MOST;
  bool has_name = false;
  VkResult result = driver->EnumeratePhysicalDevices(driver->instance, &count, devices);
  if (result == VK_ERROR_INITIALIZATION_FAILED) count = 0; /* the loader, if no driver has one */
  else if (result != VK_SUCCESS && result != VK_INCOMPLETE)
    return tide_vulkan_explain(diag, result, "finding devices");
  for (uint32_t i = 0; i < count; i++) {
    VkPhysicalDeviceProperties properties;
    driver->GetPhysicalDeviceProperties(devices[i], &properties);
    if (name && !strstr(properties.deviceName, name)) continue;
    has_name = true;
    if (properties.apiVersion < VK_API_VERSION_1_2 || !has_timelines(driver, devices[i])) continue;
    driver->physical_device = devices[i];
    return TIDE_OK;
  }
  if (count == 0) return tide_diag_set(diag, TIDE_UNSUPPORTED, "no Vulkan driver has a device");
  if (has_name)
    return tide_diag_set(diag, TIDE_UNSUPPORTED, "no Vulkan device%s%s has timeline semaphores",
                         name ? " named " : "", name ? name : "");
  return tide_diag_set(diag, TIDE_NOT_FOUND, "no Vulkan device's name contains '%s'", name);
}

/* Finds a family for compute, with graphics if there is one, that has `count` VkQueues. */
static enum tide_status find_family(const struct tide_vulkan_driver *driver, uint32_t count,
                                    uint32_t *out_family, struct tide_diag *diag) {
  uint32_t families = 0, most = 0;
  int best = -1;
  driver->GetPhysicalDeviceQueueFamilyProperties(driver->physical_device, &families, NULL);
  if (families > FAMILIES_MOST) families = FAMILIES_MOST;
  VkQueueFamilyProperties properties[FAMILIES_MOST];
  driver->GetPhysicalDeviceQueueFamilyProperties(driver->physical_device, &families, properties);
  for (uint32_t i = 0; i < families; i++) {
    if (!(properties[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
    if (properties[i].queueCount > most) most = properties[i].queueCount;
    if (properties[i].queueCount < count) continue;
    if (best < 0 || (properties[i].queueFlags & ~properties[best].queueFlags &
                     (VkQueueFlags)VK_QUEUE_GRAPHICS_BIT))
      best = (int)i;
  }
  if (best < 0)
    return tide_diag_set(diag, TIDE_NOT_FOUND, "%s has at most %u VkQueues for compute, not %u",
                         driver->name, most, count);
  *out_family = (uint32_t)best;
  return TIDE_OK;
}

static bool has_extension(const struct tide_vulkan_driver *driver, const char *name) {
  VkExtensionProperties extensions[EXTENSIONS_MOST];
  uint32_t count = EXTENSIONS_MOST;
  VkResult result =
      driver->EnumerateDeviceExtensionProperties(driver->physical_device, NULL, &count, extensions);
  if (result != VK_SUCCESS && result != VK_INCOMPLETE) return false;
  for (uint32_t i = 0; i < count; i++)
    if (!strcmp(extensions[i].extensionName, name)) return true;
  return false;
}

static enum tide_status make_device(struct tide_vulkan_driver *driver, uint32_t family,
                                    uint32_t count, struct tide_diag *diag) {
  const float priorities[TIDE_HARDWARE_QUEUES_MAX] = {0};
  VkPhysicalDeviceTimelineSemaphoreFeatures timelines = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
      .timelineSemaphore = VK_TRUE};
  VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                    .queueFamilyIndex = family,
                                    .queueCount = count,
                                    .pQueuePriorities = priorities};
  const char *const wanted[] = {VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
                                VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME};
  const char *enabled[sizeof wanted / sizeof wanted[0]];
  uint32_t enabled_count = 0;
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
    if (has_extension(driver, wanted[i])) enabled[enabled_count++] = wanted[i];
  VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &timelines,
                               .enabledExtensionCount = enabled_count,
                               .ppEnabledExtensionNames = enabled,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queues};
  VkResult result = driver->CreateDevice(driver->physical_device, &create, NULL, &driver->device);
  if (result != VK_SUCCESS) driver->device = VK_NULL_HANDLE;
  return tide_vulkan_explain(diag, result, "creating a VkDevice");
}

static void read_properties(struct tide_vulkan_driver *driver) {
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT imports = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
  bool has_imports = has_extension(driver, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                            .pNext = has_imports ? &imports : NULL};
  driver->GetPhysicalDeviceProperties2(driver->physical_device, &properties);
  memcpy(driver->name, properties.properties.deviceName, sizeof driver->name);
  driver->name[sizeof driver->name - 1] = 0;
  driver->limits = properties.properties.limits;
  driver->import_alignment = imports.minImportedHostPointerAlignment;
}

static enum tide_status open_device(struct tide_vulkan_driver *driver,
                                    const struct tide_vulkan_params *params,
                                    struct tide_vulkan_queue *queues, uint32_t *count,
                                    struct tide_diag *diag) {
  uint32_t family;
  *count = params->hardware_queues ? params->hardware_queues : 1;
  driver->owns_device = true;
  enum tide_status status = make_instance(driver, diag);
  if (status == TIDE_OK) status = find_device(driver, params->name, diag);
  if (status != TIDE_OK) return status;
  read_properties(driver);
  status = find_family(driver, *count, &family, diag);
  if (status == TIDE_OK) status = make_device(driver, family, *count, diag);
  if (status == TIDE_OK) status = find_device_calls(driver, diag);
  for (uint32_t i = 0; status == TIDE_OK && i < *count; i++) {
    driver->GetDeviceQueue(driver->device, family, i, &queues[i].queue);
    queues[i].family = family;
  }
  return status;
}

static enum tide_status adopt_device(struct tide_vulkan_driver *driver,
                                     const struct tide_vulkan_params *params,
                                     struct tide_vulkan_queue *queues, uint32_t *count,
                                     struct tide_diag *diag) {
  driver->instance = params->instance;
  driver->physical_device = params->physical_device;
  driver->device = params->device;
  *count = params->queue_count;
  memcpy(queues, params->queues, *count * sizeof *queues);
  enum tide_status status = find_instance_calls(driver, diag);
  if (status != TIDE_OK) return status;
  read_properties(driver);
  if (!has_timelines(driver, driver->physical_device))
    return tide_diag_set(
        diag, TIDE_UNSUPPORTED,
        "%s has no timeline semaphores, or the VkInstance's apiVersion is below 1.1", driver->name);
  return find_device_calls(driver, diag);
}

enum tide_status tide_vulkan_driver_open(struct tide_vulkan_driver *driver,
                                         const struct tide_vulkan_params *params,
                                         struct tide_vulkan_queue *queues, uint32_t *count,
                                         struct tide_diag *diag) {
  *driver = (struct tide_vulkan_driver){.get_proc = params->get_proc};
  enum tide_status status = driver->get_proc ? TIDE_OK : load_loader(driver, diag);
  if (status == TIDE_OK)
    status = (params->instance ? adopt_device : open_device)(driver, params, queues, count, diag);
  if (status != TIDE_OK) {
    tide_vulkan_driver_close(driver);
    *driver = (struct tide_vulkan_driver){.owns_device = false};
  }
  return status;
}

void tide_vulkan_driver_close(struct tide_vulkan_driver *driver) {
  if (driver->owns_device && driver->device) driver->DestroyDevice(driver->device, NULL);
  if (driver->owns_device && driver->instance && driver->DestroyInstance)
    driver->DestroyInstance(driver->instance, NULL);
  if (driver->library) dlclose(driver->library);
}
