/* device/vulkan_driver.h: the functions of Vulkan that a device needs, and its results. */
#ifndef TIDE_DEVICE_VULKAN_DRIVER_H
#define TIDE_DEVICE_VULKAN_DRIVER_H

#define VK_NO_PROTOTYPES
#include "base/body_frame.h"
#include "tidemark/vulkan.h"

#define TIDE_VULKAN_GLOBAL_CALLS(X) X(CreateInstance) X(EnumerateInstanceVersion)

/* vkDestroyDevice, too: a VkDevice is created only if it can be destroyed. */
#define TIDE_VULKAN_INSTANCE_CALLS(X)                                                              \
  X(DestroyInstance)                                                                               \
  X(DestroyDevice)                                                                                 \
  X(EnumeratePhysicalDevices)                                                                      \
  X(GetPhysicalDeviceProperties)                                                                   \
  X(GetPhysicalDeviceProperties2)                                                                  \
  X(GetPhysicalDeviceMemoryProperties)                                                             \
  X(GetPhysicalDeviceFeatures2)                                                                    \
  X(GetPhysicalDeviceQueueFamilyProperties)                                                        \
  X(GetPhysicalDeviceExternalSemaphoreProperties)                                                  \
  X(EnumerateDeviceExtensionProperties)                                                            \
  X(CreateDevice)                                                                                  \
  X(GetDeviceProcAddr)

#define TIDE_VULKAN_DEVICE_CALLS(X)                                                                \
  X(GetDeviceQueue)                                                                                \
  X(QueueWaitIdle)                                                                                 \
  X(QueueSubmit)                                                                                   \
  X(CreateSemaphore)                                                                               \
  X(DestroySemaphore)                                                                              \
  X(CreateCommandPool)                                                                             \
  X(DestroyCommandPool)                                                                            \
  X(AllocateCommandBuffers)                                                                        \
  X(BeginCommandBuffer)                                                                            \
  X(EndCommandBuffer)                                                                              \
  X(CmdPipelineBarrier)                                                                            \
  X(CreateBuffer)                                                                                  \
  X(DestroyBuffer)                                                                                 \
  X(GetBufferMemoryRequirements)                                                                   \
  X(AllocateMemory)                                                                                \
  X(FreeMemory)                                                                                    \
  X(BindBufferMemory)                                                                              \
  X(MapMemory)                                                                                     \
  X(CreateShaderModule)                                                                            \
  X(DestroyShaderModule)                                                                           \
  X(CreateDescriptorSetLayout)                                                                     \
  X(DestroyDescriptorSetLayout)                                                                    \
  X(CreatePipelineLayout)                                                                          \
  X(DestroyPipelineLayout)                                                                         \
  X(CreateComputePipelines)                                                                        \
  X(DestroyPipeline)                                                                               \
  X(CreateDescriptorPool)                                                                          \
  X(DestroyDescriptorPool)                                                                         \
  X(ResetDescriptorPool)                                                                           \
  X(AllocateDescriptorSets)                                                                        \
  X(UpdateDescriptorSets)                                                                          \
  X(CmdBindPipeline)                                                                               \
  X(CmdBindDescriptorSets)                                                                         \
  X(CmdPushConstants)                                                                              \
  X(CmdDispatch)                                                                                   \
  X(CmdCopyBuffer)

/* Functions of Vulkan 1.2, or of VK_KHR_timeline_semaphore. */
#define TIDE_VULKAN_TIMELINE_CALLS(X)                                                              \
  X(WaitSemaphores) X(GetSemaphoreCounterValue) X(SignalSemaphore)

struct tide_vulkan_driver {
  void *library; /* NULL: the application gave its functions */
  PFN_vkGetInstanceProcAddr get_proc;
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  bool owns_device; /* and the instance */
  char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
#define TIDE_VULKAN_MEMBER(name) PFN_vk##name name;
  TIDE_VULKAN_GLOBAL_CALLS(TIDE_VULKAN_MEMBER)
  TIDE_VULKAN_INSTANCE_CALLS(TIDE_VULKAN_MEMBER)
  TIDE_VULKAN_DEVICE_CALLS(TIDE_VULKAN_MEMBER)
  TIDE_VULKAN_TIMELINE_CALLS(TIDE_VULKAN_MEMBER)
#undef TIDE_VULKAN_MEMBER
  PFN_vkCmdBeginDebugUtilsLabelEXT CmdBeginDebugUtilsLabelEXT; /* NULL: no labels */
  PFN_vkCmdEndDebugUtilsLabelEXT CmdEndDebugUtilsLabelEXT;
  PFN_vkGetMemoryHostPointerPropertiesEXT GetMemoryHostPointerPropertiesEXT; /* NULL: no imports */
  VkDeviceSize import_alignment;
  PFN_vkGetSemaphoreFdKHR GetSemaphoreFdKHR; /* NULL: no timeline semaphores as descriptors */
  PFN_vkImportSemaphoreFdKHR ImportSemaphoreFdKHR;
  VkPhysicalDeviceLimits limits;
};

/* Adopts the VkDevice of `params`, or opens one. `queues` has *count entries; those of an opened
 * VkDevice are filled in. On an error nothing is held. */
enum tide_status tide_vulkan_driver_open(struct tide_vulkan_driver *driver,
                                         const struct tide_vulkan_params *params,
                                         struct tide_vulkan_queue *queues, uint32_t *count,
                                         struct tide_diag *diag);
/* Destroys the VkDevice and the instance unless they were adopted, and releases the loader. */
void tide_vulkan_driver_close(struct tide_vulkan_driver *driver);

/* Returns the status for a result of the driver. Reports a failure to the running body. */
enum tide_status tide_status_of_vulkan(VkResult result);
/* The same, with a sentence that names the call: "creating a VkDevice: the Vulkan driver …". */
enum tide_status tide_vulkan_explain(struct tide_diag *diag, VkResult result, const char *what);

#endif
