/* Instances and devices, and the loader's side of the layer. */
#include "layer/entries.h"
#include "layer/explore.h"
#include "layer/protocol.h"

#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default"))) VKAPI_ATTR

EXPORTED VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface);

/* ---- instances ------------------------------------------------------------------- */

static VkLayerInstanceCreateInfo *find_instance_link(const VkInstanceCreateInfo *info) {
  VkLayerInstanceCreateInfo *at = (VkLayerInstanceCreateInfo *)info->pNext;
  while (at && (at->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
                at->function != VK_LAYER_LINK_INFO))
    at = (VkLayerInstanceCreateInfo *)at->pNext;
  return at;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_CreateInstance(const VkInstanceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkInstance *out_instance) {
  VkLayerInstanceCreateInfo *link = find_instance_link(info);
  struct layer_instance *instance = link ? layer_instance_make() : NULL;
  if (!instance) return VK_ERROR_INITIALIZATION_FAILED;
  PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  PFN_vkCreateInstance create = (PFN_vkCreateInstance)next(NULL, "vkCreateInstance");
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  VkResult result = create ? create(info, allocator, out_instance) : VK_ERROR_INITIALIZATION_FAILED;
  if (result != VK_SUCCESS) {
    layer_instance_recycle(instance);
    return result;
  }
  instance->handle = *out_instance;
  instance->GetInstanceProcAddr = next;
  layer_load_instance_calls(instance);
  layer_instance_publish(instance);
  layer_report_start();
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL layer_DestroyInstance(VkInstance handle,
                                                 const VkAllocationCallbacks *allocator) {
  struct layer_instance *instance = handle ? layer_instance_of(handle) : NULL;
  if (!instance) return;
  instance->next_layer.DestroyInstance(handle, allocator);
  layer_instance_recycle(instance);
}

/* ---- devices --------------------------------------------------------------------- */

static VkLayerDeviceCreateInfo *find_device_link(const VkDeviceCreateInfo *info,
                                                 VkLayerFunction function) {
  VkLayerDeviceCreateInfo *at = (VkLayerDeviceCreateInfo *)info->pNext;
  while (at &&
         (at->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO || at->function != function))
    at = (VkLayerDeviceCreateInfo *)at->pNext;
  return at;
}

static void name_device(struct layer_device *device) {
  VkPhysicalDeviceProperties properties;
  device->instance->next_layer.GetPhysicalDeviceProperties(device->physical, &properties);
  layer_clean_text(device->name, sizeof device->name, properties.deviceName);
  device->is_cpu = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
}

/* Fetches the driver's queues that stand behind the virtual ones. */
static void fetch_queues(struct layer_device *device, const struct layer_queue_infos *infos) {
  for (uint32_t i = 0; i < infos->count; i++) {
    uint32_t family = infos->infos[i].queueFamilyIndex;
    if (family >= LAYER_FAMILIES_MOST) continue;
    device->next_layer.GetDeviceQueue(device->handle, family, 0, &device->explorer->real[family]);
    device->set_loader_data(device->handle, device->explorer->real[family]);
  }
}

static bool make_explorer(struct layer_device *device) {
  if (layer_options()->mode != LAYER_EXPLORE) return true;
  device->explorer = calloc(1, sizeof *device->explorer);
  return device->explorer != NULL;
}

static void free_device(struct layer_device *device) {
  free(device->explorer);
  free(device->groups);
  free(device->edges);
  layer_device_recycle(device);
}

static void count_device_group(const VkDeviceCreateInfo *info) {
  for (const VkBaseInStructure *at = info->pNext; at; at = at->pNext)
    if (at->sType == VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO &&
        ((const VkDeviceGroupDeviceCreateInfo *)at)->physicalDeviceCount > 1)
      layer_limit(
          "a device group: its submissions run on devices that the layer does not tell apart");
}

VKAPI_ATTR VkResult VKAPI_CALL layer_CreateDevice(VkPhysicalDevice physical,
                                                  const VkDeviceCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator,
                                                  VkDevice *out_device) {
  struct layer_instance *instance = layer_instance_of(physical);
  VkLayerDeviceCreateInfo *link = find_device_link(info, VK_LAYER_LINK_INFO);
  VkLayerDeviceCreateInfo *data = find_device_link(info, VK_LOADER_DATA_CALLBACK);
  struct layer_device *device = link && instance ? layer_device_make() : NULL;
  struct layer_queue_infos infos = {0};
  VkDeviceCreateInfo mapped = *info;
  VkResult result = VK_ERROR_INITIALIZATION_FAILED;
  if (!device) return result;
  if (!data || !make_explorer(device)) goto failed;
  PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  PFN_vkCreateDevice create = (PFN_vkCreateDevice)next(instance->handle, "vkCreateDevice");
  device->next_layer.GetDeviceProcAddr = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  device->set_loader_data = data->u.pfnSetDeviceLoaderData;
  device->instance = instance;
  device->physical = physical;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  instance->next_layer.GetPhysicalDeviceQueueFamilyProperties(physical, &device->real_families,
                                                              NULL);
  if (device->explorer) {
    layer_map_queue_infos(info, device->real_families, &infos);
    mapped.pQueueCreateInfos = infos.infos;
    mapped.queueCreateInfoCount = infos.count;
  }
  if (create) result = create(physical, &mapped, allocator, out_device);
  if (result != VK_SUCCESS) goto failed;
  device->handle = *out_device;
  layer_load_device_calls(&device->next_layer, device->handle);
  name_device(device);
  count_device_group(info);
  if (device->explorer) fetch_queues(device, &infos);
  if (layer_ledger_init(device) && (!device->explorer || layer_explore_init(device))) {
    layer_device_publish(device);
    return VK_SUCCESS;
  }
  device->next_layer.DestroyDevice(device->handle, allocator);
  result = VK_ERROR_OUT_OF_HOST_MEMORY;
failed:
  free_device(device);
  return result;
}

VKAPI_ATTR void VKAPI_CALL layer_DestroyDevice(VkDevice handle,
                                               const VkAllocationCallbacks *allocator) {
  struct layer_device *device = handle ? layer_device_of(handle) : NULL;
  if (!device) return;
  if (device->explorer) layer_explore_fini(device);
  layer_report_keep(device);
  layer_device_hide(device);
  device->next_layer.DestroyDevice(handle, allocator);
  layer_ledger_fini(device);
  free_device(device);
  layer_report(LAYER_REASON_EXIT);
}

/* ---- queues ---------------------------------------------------------------------- */

/* Creates a queue handle of the layer. The loader recognises it by the first word, which is the
 * device's. (The loader's own call for that walks lists without a lock, so it is for vkCreateDevice
 * only: loader 1.3.239.) */
static struct layer_queue *make_virtual_queue(struct layer_device *device, uint32_t family,
                                              uint32_t index) {
  uint32_t real = layer_real_family(device, family);
  if (real >= LAYER_FAMILIES_MOST || !device->explorer->real[real]) return NULL;
  struct layer_queue *queue = layer_queue_add(device, device->explorer->real[real], family, index);
  if (!queue) return NULL;
  queue->handle = (VkQueue)queue;
  queue->real_family = real;
  queue->loader_data = atomic_load(&device->key);
  return queue;
}

static VkQueue find_queue(struct layer_device *device, uint32_t family, uint32_t index,
                          VkQueue real) {
  struct layer_queue *queue = NULL;
  pthread_mutex_lock(&device->lock);
  for (uint32_t i = 0; i < device->queue_count && !queue; i++) {
    struct layer_queue *at = device->queues[i];
    bool is_it = real ? at->handle == real : at->family == family && at->index_in_family == index;
    if (is_it) queue = at;
  }
  if (!queue)
    queue = real ? layer_queue_add(device, real, family, index)
                 : make_virtual_queue(device, family, index);
  pthread_mutex_unlock(&device->lock);
  return queue ? queue->handle : real;
}

VKAPI_ATTR void VKAPI_CALL layer_GetDeviceQueue(VkDevice handle, uint32_t family, uint32_t index,
                                                VkQueue *out_queue) {
  struct layer_device *device = layer_device_of(handle);
  VkQueue real = NULL;
  if (!device->explorer) device->next_layer.GetDeviceQueue(handle, family, index, &real);
  *out_queue = find_queue(device, family, index, real);
}

VKAPI_ATTR void VKAPI_CALL layer_GetDeviceQueue2(VkDevice handle, const VkDeviceQueueInfo2 *info,
                                                 VkQueue *out_queue) {
  struct layer_device *device = layer_device_of(handle);
  VkQueue real = NULL;
  if (!device->explorer) device->next_layer.GetDeviceQueue2(handle, info, &real);
  *out_queue = find_queue(device, info->queueFamilyIndex, info->queueIndex, real);
}

/* ---- questions of the loader ----------------------------------------------------- */

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL layer_GetDeviceProcAddr(VkDevice handle,
                                                                 const char *name) {
  struct layer_device *device = layer_device_of(handle);
  if (!device) return NULL;
  PFN_vkVoidFunction next = device->next_layer.GetDeviceProcAddr(handle, name);
  PFN_vkVoidFunction own = next && !layer_options()->is_off ? layer_find_entry(name, true) : NULL;
  return own ? own : next;
}

/* True if a call is intercepted even if the layer is off: the calls that create and find devices,
 * since the chain of layers goes through them. */
static bool is_needed(const char *name) {
  static const char *const names[] = {"vkGetInstanceProcAddr", "vkCreateInstance",
                                      "vkDestroyInstance",     "vkCreateDevice",
                                      "vkDestroyDevice",       "vkGetDeviceProcAddr"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL layer_GetInstanceProcAddr(VkInstance handle,
                                                                   const char *name) {
  PFN_vkVoidFunction own =
      !layer_options()->is_off || is_needed(name) ? layer_find_entry(name, false) : NULL;
  struct layer_instance *instance = handle ? layer_instance_of(handle) : NULL;
  if (!instance) return own;
  PFN_vkVoidFunction next = instance->GetInstanceProcAddr(handle, name);
  return own && (next || is_needed(name)) ? own : next;
}

static VkResult describe_layer(uint32_t *count, VkLayerProperties *properties) {
  static const VkLayerProperties layer = {.layerName = TIDE_VULKAN_LAYER_NAME,
                                          .specVersion = VK_HEADER_VERSION_COMPLETE,
                                          .implementationVersion = 1,
                                          .description = TIDE_VULKAN_LAYER_TEXT};
  if (properties && *count > 0) properties[0] = layer;
  VkResult result = properties && *count == 0 ? VK_INCOMPLETE : VK_SUCCESS;
  *count = properties && *count == 0 ? 0 : 1;
  return result;
}

/* True for the installed manifest's name, and for the longer ones that the tool gives. */
static bool is_ours(const char *layer) {
  return layer && strncmp(layer, TIDE_VULKAN_LAYER_NAME, strlen(TIDE_VULKAN_LAYER_NAME)) == 0;
}

VKAPI_ATTR VkResult VKAPI_CALL
layer_EnumerateInstanceLayerProperties(uint32_t *count, VkLayerProperties *properties) {
  return describe_layer(count, properties);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_EnumerateDeviceLayerProperties(VkPhysicalDevice physical,
                                                                    uint32_t *count,
                                                                    VkLayerProperties *properties) {
  (void)physical;
  return describe_layer(count, properties);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_EnumerateInstanceExtensionProperties(
    const char *layer, uint32_t *count, VkExtensionProperties *properties) {
  (void)properties;
  if (!is_ours(layer)) return VK_ERROR_LAYER_NOT_PRESENT;
  *count = 0;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL
layer_EnumerateDeviceExtensionProperties(VkPhysicalDevice physical, const char *layer,
                                         uint32_t *count, VkExtensionProperties *properties) {
  if (!is_ours(layer))
    return layer_instance_of(physical)->next_layer.EnumerateDeviceExtensionProperties(
        physical, layer, count, properties);
  *count = 0;
  return VK_SUCCESS;
}

EXPORTED VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface) {
  if (interface->loaderLayerInterfaceVersion < 2) return VK_ERROR_INITIALIZATION_FAILED;
  interface->loaderLayerInterfaceVersion = 2;
  interface->pfnGetInstanceProcAddr = layer_GetInstanceProcAddr;
  interface->pfnGetDeviceProcAddr = layer_GetDeviceProcAddr;
  interface->pfnGetPhysicalDeviceProcAddr = NULL;
  return VK_SUCCESS;
}
