/* layer/calls.h: the calls of the next layer that this one makes.
 *
 * A device call is found under its core name or, where the driver is older, under the name of the
 * extension that it came from (calls.c). A pointer is NULL where the driver has no such call. */
#ifndef TIDE_LAYER_CALLS_H
#define TIDE_LAYER_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#define LAYER_INSTANCE_CALLS(X)                                                                    \
  X(DestroyInstance)                                                                               \
  X(GetPhysicalDeviceProperties)                                                                   \
  X(GetPhysicalDeviceMemoryProperties)                                                             \
  X(GetPhysicalDeviceQueueFamilyProperties)                                                        \
  X(GetPhysicalDeviceQueueFamilyProperties2)                                                       \
  X(GetPhysicalDeviceSurfaceSupportKHR)                                                            \
  X(EnumerateDeviceExtensionProperties)

#define LAYER_DEVICE_CALLS(X)                                                                      \
  X(DestroyDevice)                                                                                 \
  X(GetDeviceQueue)                                                                                \
  X(GetDeviceQueue2)                                                                               \
  X(QueueSubmit)                                                                                   \
  X(QueueSubmit2)                                                                                  \
  X(QueueWaitIdle)                                                                                 \
  X(DeviceWaitIdle)                                                                                \
  X(QueueBindSparse)                                                                               \
  X(QueuePresentKHR)                                                                               \
  X(AcquireNextImageKHR)                                                                           \
  X(AcquireNextImage2KHR)                                                                          \
  X(CreateSwapchainKHR)                                                                            \
  X(DestroySwapchainKHR)                                                                           \
  X(CreateSemaphore)                                                                               \
  X(DestroySemaphore)                                                                              \
  X(SignalSemaphore)                                                                               \
  X(WaitSemaphores)                                                                                \
  X(GetSemaphoreCounterValue)                                                                      \
  X(ImportSemaphoreFdKHR)                                                                          \
  X(GetSemaphoreFdKHR)                                                                             \
  X(CreateFence)                                                                                   \
  X(DestroyFence)                                                                                  \
  X(ResetFences)                                                                                   \
  X(GetFenceStatus)                                                                                \
  X(WaitForFences)                                                                                 \
  X(ImportFenceFdKHR)                                                                              \
  X(GetFenceFdKHR)                                                                                 \
  X(SetDebugUtilsObjectNameEXT)                                                                    \
  X(SetDebugUtilsObjectTagEXT)                                                                     \
  X(QueueBeginDebugUtilsLabelEXT)                                                                  \
  X(QueueEndDebugUtilsLabelEXT)                                                                    \
  X(QueueInsertDebugUtilsLabelEXT)                                                                 \
  X(GetQueryPoolResults)                                                                           \
  X(SetEvent)                                                                                      \
  X(ResetEvent)                                                                                    \
  X(GetEventStatus)                                                                                \
  X(CmdBeginQueryIndexedEXT)                                                                       \
  X(SetPrivateData)                                                                                \
  X(GetPrivateData)                                                                                \
  X(CreateCommandPool)                                                                             \
  X(DestroyCommandPool)                                                                            \
  X(ResetCommandPool)                                                                              \
  X(AllocateCommandBuffers)                                                                        \
  X(FreeCommandBuffers)                                                                            \
  X(BeginCommandBuffer)                                                                            \
  X(ResetCommandBuffer)                                                                            \
  X(CmdPipelineBarrier)                                                                            \
  X(CmdPipelineBarrier2)                                                                           \
  X(CmdWaitEvents)                                                                                 \
  X(CmdWaitEvents2)                                                                                \
  X(CmdSetEvent)                                                                                   \
  X(CmdSetEvent2)                                                                                  \
  X(CmdResetEvent)                                                                                 \
  X(CmdResetEvent2)                                                                                \
  X(CmdBeginRenderPass)                                                                            \
  X(CmdBeginRenderPass2)                                                                           \
  X(CmdBeginRendering)                                                                             \
  X(CmdBeginQuery)                                                                                 \
  X(CmdResetQueryPool)                                                                             \
  X(CmdWriteTimestamp)                                                                             \
  X(CmdWriteTimestamp2)                                                                            \
  X(CmdCopyQueryPoolResults)                                                                       \
  X(CmdExecuteCommands)                                                                            \
  X(CmdCopyBuffer)                                                                                 \
  X(CmdCopyBuffer2)                                                                                \
  X(CmdCopyImage)                                                                                  \
  X(CmdCopyImage2)                                                                                 \
  X(CmdCopyBufferToImage)                                                                          \
  X(CmdCopyBufferToImage2)                                                                         \
  X(CmdCopyImageToBuffer)                                                                          \
  X(CmdCopyImageToBuffer2)                                                                         \
  X(CmdFillBuffer)                                                                                 \
  X(CmdUpdateBuffer)                                                                               \
  X(AllocateMemory)                                                                                \
  X(FreeMemory)                                                                                    \
  X(MapMemory)                                                                                     \
  X(UnmapMemory)                                                                                   \
  X(CreateBuffer)                                                                                  \
  X(CreateImage)                                                                                   \
  X(DestroyBuffer)                                                                                 \
  X(DestroyImage)                                                                                  \
  X(DestroyBufferView)                                                                             \
  X(DestroyImageView)                                                                              \
  X(DestroyPipeline)                                                                               \
  X(DestroyPipelineLayout)                                                                         \
  X(DestroySampler)                                                                                \
  X(DestroyDescriptorPool)                                                                         \
  X(DestroyRenderPass)                                                                             \
  X(DestroyFramebuffer)                                                                            \
  X(DestroyEvent)                                                                                  \
  X(DestroyQueryPool)

#define LAYER_POINTER(name) PFN_vk##name name;
struct layer_instance_calls {
  LAYER_INSTANCE_CALLS(LAYER_POINTER)
};
struct layer_device_calls {
  PFN_vkGetDeviceProcAddr GetDeviceProcAddr;
  LAYER_DEVICE_CALLS(LAYER_POINTER)
};
#undef LAYER_POINTER

struct layer_instance {
  struct layer_instance *next; /* the list of state.c, which outlives the instance */
  _Atomic(void *) key;
  VkInstance handle;
  bool is_used;
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
  struct layer_instance_calls next_layer;
};

void layer_load_instance_calls(struct layer_instance *instance);
void layer_load_device_calls(struct layer_device_calls *calls, VkDevice device);

/* Returns the layer's own entry point for a call, named vk...: entry_*.c. NULL: not intercepted in
 * this mode. */
PFN_vkVoidFunction layer_find_entry(const char *name, bool of_device);

#endif
