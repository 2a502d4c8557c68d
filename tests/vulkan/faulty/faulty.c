/* A layer below the one under test that plays a driver with a fault: the FAULTY_SUBMIT-th
 * vkQueueSubmit of the process says that the device is lost. It also plays a window system: a
 * present waits for its semaphores, and shows nothing. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

/* One instance and one device are enough here. */
static PFN_vkGetInstanceProcAddr next_instance;
static PFN_vkGetDeviceProcAddr next_device;
static PFN_vkQueueSubmit next_submit;

__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface);

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count,
                                             const VkSubmitInfo *infos, VkFence fence) {
  static atomic_int calls;
  const char *faulty = getenv("FAULTY_SUBMIT");
  int number = atomic_fetch_add(&calls, 1) + 1;
  if (faulty && number >= atoi(faulty)) return VK_ERROR_DEVICE_LOST;
  return next_submit(queue, count, infos, fence);
}

#define WAITS_MOST 8

static VKAPI_ATTR VkResult VKAPI_CALL present(VkQueue queue, const VkPresentInfoKHR *info) {
  VkPipelineStageFlags stages[WAITS_MOST];
  if (info->waitSemaphoreCount > WAITS_MOST) return VK_ERROR_UNKNOWN;
  for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
    stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  VkSubmitInfo waits = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                        .waitSemaphoreCount = info->waitSemaphoreCount,
                        .pWaitSemaphores = info->pWaitSemaphores,
                        .pWaitDstStageMask = stages};
  return next_submit(queue, 1, &waits, VK_NULL_HANDLE);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *allocator,
                                                      VkInstance *out_instance) {
  VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)info->pNext;
  while (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
         link->function != VK_LAYER_LINK_INFO)
    link = (VkLayerInstanceCreateInfo *)link->pNext;
  next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  PFN_vkCreateInstance next = (PFN_vkCreateInstance)next_instance(NULL, "vkCreateInstance");
  return next(info, allocator, out_instance);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                                    const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkDevice *out_device) {
  VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)info->pNext;
  while (link->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO ||
         link->function != VK_LAYER_LINK_INFO)
    link = (VkLayerDeviceCreateInfo *)link->pNext;
  PFN_vkGetInstanceProcAddr instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  PFN_vkCreateDevice next = (PFN_vkCreateDevice)instance(NULL, "vkCreateDevice");
  VkResult result = next(physical, info, allocator, out_device);
  if (result == VK_SUCCESS)
    next_submit = (PFN_vkQueueSubmit)next_device(*out_device, "vkQueueSubmit");
  return result;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL find_device_call(VkDevice device,
                                                                 const char *name) {
  if (strcmp(name, "vkQueueSubmit") == 0) return (PFN_vkVoidFunction)submit;
  if (strcmp(name, "vkQueuePresentKHR") == 0) return (PFN_vkVoidFunction)present;
  return next_device(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL find_instance_call(VkInstance instance,
                                                                   const char *name) {
  if (strcmp(name, "vkCreateInstance") == 0) return (PFN_vkVoidFunction)create_instance;
  if (strcmp(name, "vkCreateDevice") == 0) return (PFN_vkVoidFunction)create_device;
  if (strcmp(name, "vkGetInstanceProcAddr") == 0) return (PFN_vkVoidFunction)find_instance_call;
  if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)find_device_call;
  return instance ? next_instance(instance, name) : NULL;
}

VkResult vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface) {
  interface->loaderLayerInterfaceVersion = 2;
  interface->pfnGetInstanceProcAddr = find_instance_call;
  interface->pfnGetDeviceProcAddr = find_device_call;
  interface->pfnGetPhysicalDeviceProcAddr = NULL;
  return VK_SUCCESS;
}
