/* The table of intercepted calls, and the next layer's addresses. */
#include "layer/calls.h"
#include "layer/entries.h"
#include "layer/options.h"

#include <string.h>

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
