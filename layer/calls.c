/* The table of intercepted calls, and the next layer's addresses. */
#include "layer/calls.h"
#include "layer/options.h"

#include <string.h>

LAYER_ENTRY(GetInstanceProcAddr);
LAYER_ENTRY(CreateInstance);
LAYER_ENTRY(DestroyInstance);
LAYER_ENTRY(CreateDevice);
LAYER_ENTRY(EnumerateInstanceLayerProperties);
LAYER_ENTRY(EnumerateInstanceExtensionProperties);
LAYER_ENTRY(EnumerateDeviceLayerProperties);
LAYER_ENTRY(EnumerateDeviceExtensionProperties);
LAYER_ENTRY(GetPhysicalDeviceQueueFamilyProperties);
LAYER_ENTRY(GetPhysicalDeviceQueueFamilyProperties2);
LAYER_ENTRY(GetPhysicalDeviceSurfaceSupportKHR);
LAYER_ENTRY(GetDeviceProcAddr);
LAYER_ENTRY(DestroyDevice);
LAYER_ENTRY(GetDeviceQueue);
LAYER_ENTRY(GetDeviceQueue2);
LAYER_ENTRY(QueueSubmit);
LAYER_ENTRY(QueueSubmit2);
LAYER_ENTRY(QueueWaitIdle);
LAYER_ENTRY(DeviceWaitIdle);
LAYER_ENTRY(QueueBindSparse);
LAYER_ENTRY(QueuePresentKHR);
LAYER_ENTRY(AcquireNextImageKHR);
LAYER_ENTRY(AcquireNextImage2KHR);
LAYER_ENTRY(CreateSwapchainKHR);
LAYER_ENTRY(DestroySwapchainKHR);
LAYER_ENTRY(CreateSemaphore);
LAYER_ENTRY(DestroySemaphore);
LAYER_ENTRY(SignalSemaphore);
LAYER_ENTRY(WaitSemaphores);
LAYER_ENTRY(GetSemaphoreCounterValue);
LAYER_ENTRY(ImportSemaphoreFdKHR);
LAYER_ENTRY(GetSemaphoreFdKHR);
LAYER_ENTRY(CreateFence);
LAYER_ENTRY(DestroyFence);
LAYER_ENTRY(ResetFences);
LAYER_ENTRY(GetFenceStatus);
LAYER_ENTRY(WaitForFences);
LAYER_ENTRY(ImportFenceFdKHR);
LAYER_ENTRY(GetFenceFdKHR);
LAYER_ENTRY(SetDebugUtilsObjectNameEXT);
LAYER_ENTRY(SetDebugUtilsObjectTagEXT);
LAYER_ENTRY(QueueBeginDebugUtilsLabelEXT);
LAYER_ENTRY(QueueEndDebugUtilsLabelEXT);
LAYER_ENTRY(QueueInsertDebugUtilsLabelEXT);
LAYER_ENTRY(GetQueryPoolResults);
LAYER_ENTRY(SetEvent);
LAYER_ENTRY(ResetEvent);
LAYER_ENTRY(GetEventStatus);
LAYER_ENTRY(CmdBeginQueryIndexedEXT);
LAYER_ENTRY(SetPrivateData);
LAYER_ENTRY(GetPrivateData);
LAYER_ENTRY(CreateCommandPool);
LAYER_ENTRY(DestroyCommandPool);
LAYER_ENTRY(ResetCommandPool);
LAYER_ENTRY(AllocateCommandBuffers);
LAYER_ENTRY(FreeCommandBuffers);
LAYER_ENTRY(BeginCommandBuffer);
LAYER_ENTRY(ResetCommandBuffer);
LAYER_ENTRY(CmdPipelineBarrier);
LAYER_ENTRY(CmdPipelineBarrier2);
LAYER_ENTRY(CmdWaitEvents);
LAYER_ENTRY(CmdWaitEvents2);
LAYER_ENTRY(CmdSetEvent);
LAYER_ENTRY(CmdSetEvent2);
LAYER_ENTRY(CmdResetEvent);
LAYER_ENTRY(CmdResetEvent2);
LAYER_ENTRY(CmdBeginRenderPass);
LAYER_ENTRY(CmdBeginRenderPass2);
LAYER_ENTRY(CmdBeginRendering);
LAYER_ENTRY(CmdBeginQuery);
LAYER_ENTRY(CmdResetQueryPool);
LAYER_ENTRY(CmdWriteTimestamp);
LAYER_ENTRY(CmdWriteTimestamp2);
LAYER_ENTRY(CmdCopyQueryPoolResults);
LAYER_ENTRY(CmdExecuteCommands);
LAYER_ENTRY(CmdCopyBuffer);
LAYER_ENTRY(CmdCopyBuffer2);
LAYER_ENTRY(CmdCopyImage);
LAYER_ENTRY(CmdCopyImage2);
LAYER_ENTRY(CmdCopyBufferToImage);
LAYER_ENTRY(CmdCopyBufferToImage2);
LAYER_ENTRY(CmdCopyImageToBuffer);
LAYER_ENTRY(CmdCopyImageToBuffer2);
LAYER_ENTRY(CmdFillBuffer);
LAYER_ENTRY(CmdUpdateBuffer);
LAYER_ENTRY(AllocateMemory);
LAYER_ENTRY(FreeMemory);
LAYER_ENTRY(MapMemory);
LAYER_ENTRY(UnmapMemory);
LAYER_ENTRY(CreateBuffer);
LAYER_ENTRY(CreateImage);
LAYER_ENTRY(DestroyBuffer);
LAYER_ENTRY(DestroyImage);
LAYER_ENTRY(DestroyBufferView);
LAYER_ENTRY(DestroyImageView);
LAYER_ENTRY(DestroyPipeline);
LAYER_ENTRY(DestroyPipelineLayout);
LAYER_ENTRY(DestroySampler);
LAYER_ENTRY(DestroyDescriptorPool);
LAYER_ENTRY(DestroyRenderPass);
LAYER_ENTRY(DestroyFramebuffer);
LAYER_ENTRY(DestroyEvent);
LAYER_ENTRY(DestroyQueryPool);

enum scope { INSTANCE, DEVICE, EXPLORE }; /* EXPLORE: device calls of that mode only */

#define ENTRY(name, scope)                                                                         \
  { "vk" #name, (PFN_vkVoidFunction)layer_##name, scope }
#define ALIAS(name, suffix, scope)                                                                 \
  ENTRY(name, scope), { "vk" #name #suffix, (PFN_vkVoidFunction)layer_##name, scope }

static const struct entry {
  const char *name;
  PFN_vkVoidFunction call;
  enum scope scope;
} entries[] = {
    ENTRY(GetInstanceProcAddr, INSTANCE),
    ENTRY(CreateInstance, INSTANCE),
    ENTRY(DestroyInstance, INSTANCE),
    ENTRY(CreateDevice, INSTANCE),
    ENTRY(EnumerateInstanceLayerProperties, INSTANCE),
    ENTRY(EnumerateInstanceExtensionProperties, INSTANCE),
    ENTRY(EnumerateDeviceLayerProperties, INSTANCE),
    ENTRY(EnumerateDeviceExtensionProperties, INSTANCE),
    ENTRY(GetPhysicalDeviceQueueFamilyProperties, INSTANCE),
    ALIAS(GetPhysicalDeviceQueueFamilyProperties2, KHR, INSTANCE),
    ENTRY(GetPhysicalDeviceSurfaceSupportKHR, INSTANCE),
    ENTRY(GetDeviceProcAddr, DEVICE),
    ENTRY(DestroyDevice, DEVICE),
    ENTRY(GetDeviceQueue, DEVICE),
    ENTRY(GetDeviceQueue2, DEVICE),
    ENTRY(QueueSubmit, DEVICE),
    ALIAS(QueueSubmit2, KHR, DEVICE),
    ENTRY(QueueWaitIdle, DEVICE),
    ENTRY(DeviceWaitIdle, DEVICE),
    ENTRY(QueueBindSparse, DEVICE),
    ENTRY(QueuePresentKHR, DEVICE),
    ENTRY(AcquireNextImageKHR, DEVICE),
    ENTRY(AcquireNextImage2KHR, DEVICE),
    ENTRY(CreateSwapchainKHR, EXPLORE),
    ENTRY(DestroySwapchainKHR, EXPLORE),
    ENTRY(CreateSemaphore, DEVICE),
    ENTRY(DestroySemaphore, DEVICE),
    ALIAS(SignalSemaphore, KHR, DEVICE),
    ALIAS(WaitSemaphores, KHR, DEVICE),
    ALIAS(GetSemaphoreCounterValue, KHR, DEVICE),
    ENTRY(ImportSemaphoreFdKHR, DEVICE),
    ENTRY(GetSemaphoreFdKHR, DEVICE),
    ENTRY(CreateFence, DEVICE),
    ENTRY(DestroyFence, DEVICE),
    ENTRY(ResetFences, DEVICE),
    ENTRY(GetFenceStatus, DEVICE),
    ENTRY(WaitForFences, DEVICE),
    ENTRY(ImportFenceFdKHR, DEVICE),
    ENTRY(GetFenceFdKHR, DEVICE),
    ENTRY(SetDebugUtilsObjectNameEXT, DEVICE),
    ENTRY(SetDebugUtilsObjectTagEXT, EXPLORE),
    ENTRY(QueueBeginDebugUtilsLabelEXT, EXPLORE),
    ENTRY(QueueEndDebugUtilsLabelEXT, EXPLORE),
    ENTRY(QueueInsertDebugUtilsLabelEXT, EXPLORE),
    ENTRY(GetQueryPoolResults, EXPLORE),
    ENTRY(SetEvent, EXPLORE),
    ENTRY(ResetEvent, EXPLORE),
    ENTRY(GetEventStatus, EXPLORE),
    ENTRY(CmdBeginQueryIndexedEXT, EXPLORE),
    ALIAS(SetPrivateData, EXT, EXPLORE),
    ALIAS(GetPrivateData, EXT, EXPLORE),
    ENTRY(CreateCommandPool, EXPLORE),
    ENTRY(DestroyCommandPool, EXPLORE),
    ENTRY(ResetCommandPool, EXPLORE),
    ENTRY(AllocateCommandBuffers, DEVICE),
    ENTRY(FreeCommandBuffers, EXPLORE),
    ENTRY(BeginCommandBuffer, EXPLORE),
    ENTRY(ResetCommandBuffer, EXPLORE),
    ENTRY(CmdPipelineBarrier, EXPLORE),
    ALIAS(CmdPipelineBarrier2, KHR, EXPLORE),
    ENTRY(CmdWaitEvents, EXPLORE),
    ALIAS(CmdWaitEvents2, KHR, EXPLORE),
    ENTRY(CmdSetEvent, EXPLORE),
    ALIAS(CmdSetEvent2, KHR, EXPLORE),
    ENTRY(CmdResetEvent, EXPLORE),
    ALIAS(CmdResetEvent2, KHR, EXPLORE),
    ENTRY(CmdBeginRenderPass, EXPLORE),
    ALIAS(CmdBeginRenderPass2, KHR, EXPLORE),
    ALIAS(CmdBeginRendering, KHR, EXPLORE),
    ENTRY(CmdBeginQuery, EXPLORE),
    ENTRY(CmdResetQueryPool, EXPLORE),
    ENTRY(CmdWriteTimestamp, EXPLORE),
    ALIAS(CmdWriteTimestamp2, KHR, EXPLORE),
    ENTRY(CmdCopyQueryPoolResults, EXPLORE),
    ENTRY(CmdExecuteCommands, EXPLORE),
    ENTRY(CmdCopyBuffer, EXPLORE),
    ALIAS(CmdCopyBuffer2, KHR, EXPLORE),
    ENTRY(CmdCopyImage, EXPLORE),
    ALIAS(CmdCopyImage2, KHR, EXPLORE),
    ENTRY(CmdCopyBufferToImage, EXPLORE),
    ALIAS(CmdCopyBufferToImage2, KHR, EXPLORE),
    ENTRY(CmdCopyImageToBuffer, EXPLORE),
    ALIAS(CmdCopyImageToBuffer2, KHR, EXPLORE),
    ENTRY(CmdFillBuffer, EXPLORE),
    ENTRY(CmdUpdateBuffer, EXPLORE),
    ENTRY(AllocateMemory, EXPLORE),
    ENTRY(FreeMemory, EXPLORE),
    ENTRY(MapMemory, EXPLORE),
    ENTRY(UnmapMemory, EXPLORE),
    ENTRY(CreateBuffer, EXPLORE),
    ENTRY(CreateImage, EXPLORE),
    ENTRY(DestroyBuffer, EXPLORE),
    ENTRY(DestroyImage, EXPLORE),
    ENTRY(DestroyBufferView, EXPLORE),
    ENTRY(DestroyImageView, EXPLORE),
    ENTRY(DestroyPipeline, EXPLORE),
    ENTRY(DestroyPipelineLayout, EXPLORE),
    ENTRY(DestroySampler, EXPLORE),
    ENTRY(DestroyDescriptorPool, EXPLORE),
    ENTRY(DestroyRenderPass, EXPLORE),
    ENTRY(DestroyFramebuffer, EXPLORE),
    ENTRY(DestroyEvent, EXPLORE),
    ENTRY(DestroyQueryPool, EXPLORE),
};

PFN_vkVoidFunction layer_find_entry(const char *name, bool of_device) {
  const struct layer_options *options = layer_options();
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
    const struct entry *entry = &entries[i];
    if (strcmp(entry->name, name) != 0) continue;
    if (of_device && entry->scope == INSTANCE) return NULL;
    if (entry->scope == EXPLORE && options->mode != LAYER_EXPLORE) return NULL;
    return entry->call;
  }
  return NULL;
}

void layer_load_instance_calls(struct layer_instance *instance) {
  struct layer_instance_calls *calls = &instance->next_layer;
#define LOAD(name)                                                                                 \
  calls->name = (PFN_vk##name)instance->GetInstanceProcAddr(instance->handle, "vk" #name);
  LAYER_INSTANCE_CALLS(LOAD)
#undef LOAD
  if (!calls->GetPhysicalDeviceQueueFamilyProperties2)
    calls->GetPhysicalDeviceQueueFamilyProperties2 =
        (PFN_vkGetPhysicalDeviceQueueFamilyProperties2)instance->GetInstanceProcAddr(
            instance->handle, "vkGetPhysicalDeviceQueueFamilyProperties2KHR");
}

void layer_load_device_calls(struct layer_device_calls *calls, VkDevice device) {
#define LOAD(name)                                                                                 \
  calls->name = (PFN_vk##name)calls->GetDeviceProcAddr(device, "vk" #name);                        \
  if (!calls->name)                                                                                \
    calls->name = (PFN_vk##name)calls->GetDeviceProcAddr(device, "vk" #name "KH"                   \
                                                                 "R");
  LAYER_DEVICE_CALLS(LOAD)
#undef LOAD
}
