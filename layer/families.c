/* The queues and families that the program sees, and those of the driver behind them. */
#include "layer/entries.h"
#include "layer/explore.h"

#include <stdlib.h>
#include <string.h>

/* Compute and transfer families are added where the driver has one family for all. */
#define ADDED_FAMILIES 2

static bool adds_families(uint32_t real_count) {
  return layer_options()->mode == LAYER_EXPLORE && layer_options()->families && real_count == 1;
}

uint32_t layer_families_advertised(uint32_t real_count) {
  return adds_families(real_count) ? real_count + ADDED_FAMILIES : real_count;
}

uint32_t layer_real_family(const struct layer_device *device, uint32_t family) {
  bool is_added = family >= device->real_families && family < LAYER_FAMILIES_MOST;
  return is_added ? 0 : family; /* beyond: VK_QUEUE_FAMILY_IGNORED and its like */
}

/* Fills in the i-th family that the program sees, from the driver's. */
static void shape_family(uint32_t index, uint32_t real_count, VkQueueFamilyProperties *family) {
  static const VkQueueFlags added[ADDED_FAMILIES] = {VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT,
                                                     VK_QUEUE_TRANSFER_BIT};
  if (layer_options()->mode != LAYER_EXPLORE) return;
  if (index >= real_count) family->queueFlags = added[index - real_count];
  if (family->queueCount < layer_options()->queues) family->queueCount = layer_options()->queues;
}

/* Returns the number of families. Some drivers write as many families as the array holds, so the
 * count is queried first. */
static uint32_t count_families(VkPhysicalDevice physical) {
  uint32_t count = 0;
  layer_instance_of(physical)->next_layer.GetPhysicalDeviceQueueFamilyProperties(physical, &count,
                                                                                 NULL);
  return count;
}

VKAPI_ATTR void VKAPI_CALL layer_GetPhysicalDeviceQueueFamilyProperties(
    VkPhysicalDevice physical, uint32_t *count, VkQueueFamilyProperties *families) {
  const struct layer_instance_calls *next = &layer_instance_of(physical)->next_layer;
  uint32_t real = count_families(physical), shown = layer_families_advertised(real);
  if (!families) {
    *count = shown;
    return;
  }
  if (*count > shown) *count = shown;
  uint32_t written = *count < real ? *count : real;
  next->GetPhysicalDeviceQueueFamilyProperties(physical, &written, families);
  for (uint32_t i = real; i < *count; i++) families[i] = families[0];
  for (uint32_t i = 0; i < *count; i++) shape_family(i, real, &families[i]);
}

/* Chained structures of the added families are filled by asking for the first one anew. */
VKAPI_ATTR void VKAPI_CALL layer_GetPhysicalDeviceQueueFamilyProperties2(
    VkPhysicalDevice physical, uint32_t *count, VkQueueFamilyProperties2 *families) {
  const struct layer_instance_calls *next = &layer_instance_of(physical)->next_layer;
  uint32_t real = count_families(physical), shown = layer_families_advertised(real);
  if (!families) {
    *count = shown;
    return;
  }
  if (*count > shown) *count = shown;
  uint32_t written = *count < real ? *count : real;
  next->GetPhysicalDeviceQueueFamilyProperties2(physical, &written, families);
  for (uint32_t i = real; i < *count; i++) {
    uint32_t one = 1;
    next->GetPhysicalDeviceQueueFamilyProperties2(physical, &one, &families[i]);
  }
  for (uint32_t i = 0; i < *count; i++) shape_family(i, real, &families[i].queueFamilyProperties);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_GetPhysicalDeviceSurfaceSupportKHR(VkPhysicalDevice physical,
                                                                        uint32_t family,
                                                                        VkSurfaceKHR surface,
                                                                        VkBool32 *supported) {
  if (family >= count_families(physical)) family = 0;
  return layer_instance_of(physical)->next_layer.GetPhysicalDeviceSurfaceSupportKHR(
      physical, family, surface, supported);
}

void layer_map_queue_infos(const VkDeviceCreateInfo *info, uint32_t real_families,
                           struct layer_queue_infos *out_infos) {
  static const float priority = 1.0f;
  out_infos->count = 0;
  for (uint32_t i = 0; i < info->queueCreateInfoCount; i++) {
    VkDeviceQueueCreateInfo one = info->pQueueCreateInfos[i];
    if (one.queueFamilyIndex >= real_families) one.queueFamilyIndex = 0;
    bool is_there = false;
    for (uint32_t k = 0; k < out_infos->count; k++)
      is_there |= out_infos->infos[k].queueFamilyIndex == one.queueFamilyIndex;
    if (is_there || out_infos->count == LAYER_FAMILIES_MOST) continue;
    one.queueCount = 1;
    one.pQueuePriorities = &priority;
    out_infos->infos[out_infos->count++] = one;
  }
}

bool layer_map_family_list(const struct layer_device *device, uint32_t *count,
                           const uint32_t *families, uint32_t out_families[LAYER_FAMILIES_MOST]) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < *count && kept < LAYER_FAMILIES_MOST; i++) {
    uint32_t family = layer_real_family(device, families[i]);
    bool is_there = false;
    for (uint32_t k = 0; k < kept; k++) is_there |= out_families[k] == family;
    if (!is_there) out_families[kept++] = family;
  }
  *count = kept;
  return kept > 1;
}

/* ---- resources that name families ------------------------------------------------ */

/* The three create infos have the same three fields. */
#define MAP_SHARING(device, info, mode, count, families)                                           \
  uint32_t list[LAYER_FAMILIES_MOST];                                                              \
  if ((info)->mode == VK_SHARING_MODE_CONCURRENT) {                                                \
    bool is_shared = layer_map_family_list(device, &(info)->count, (info)->families, list);        \
    (info)->families = list;                                                                       \
    if (!is_shared) (info)->mode = VK_SHARING_MODE_EXCLUSIVE;                                      \
  }

VKAPI_ATTR VkResult VKAPI_CALL layer_CreateBuffer(VkDevice handle, const VkBufferCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator,
                                                  VkBuffer *out_buffer) {
  struct layer_device *device = layer_device_of(handle);
  VkBufferCreateInfo mapped = *info;
  MAP_SHARING(device, &mapped, sharingMode, queueFamilyIndexCount, pQueueFamilyIndices)
  VkResult result = device->next_layer.CreateBuffer(handle, &mapped, allocator, out_buffer);
  if (result != VK_SUCCESS) return result;
  pthread_mutex_lock(&device->lock);
  layer_table_put(&device->explorer->buffers, (uint64_t)*out_buffer, (void *)(uintptr_t)info->size);
  pthread_mutex_unlock(&device->lock);
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_CreateImage(VkDevice handle, const VkImageCreateInfo *info,
                                                 const VkAllocationCallbacks *allocator,
                                                 VkImage *out_image) {
  struct layer_device *device = layer_device_of(handle);
  VkImageCreateInfo mapped = *info;
  MAP_SHARING(device, &mapped, sharingMode, queueFamilyIndexCount, pQueueFamilyIndices)
  VkResult result = device->next_layer.CreateImage(handle, &mapped, allocator, out_image);
  if (result != VK_SUCCESS) return result;
  pthread_mutex_lock(&device->lock);
  layer_table_put(&device->explorer->buffers, (uint64_t)*out_image,
                  (void *)((uintptr_t)info->mipLevels << 32 | info->arrayLayers));
  pthread_mutex_unlock(&device->lock);
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_CreateSwapchainKHR(VkDevice handle,
                                                        const VkSwapchainCreateInfoKHR *info,
                                                        const VkAllocationCallbacks *allocator,
                                                        VkSwapchainKHR *out_swapchain) {
  struct layer_device *device = layer_device_of(handle);
  VkSwapchainCreateInfoKHR mapped = *info;
  MAP_SHARING(device, &mapped, imageSharingMode, queueFamilyIndexCount, pQueueFamilyIndices)
  return device->next_layer.CreateSwapchainKHR(handle, &mapped, allocator, out_swapchain);
}
