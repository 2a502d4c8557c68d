/* layer/entries.h: the entry points of the layer, each with the prototype of the call that it
 * intercepts. calls.c has the table of them. */
#ifndef TIDE_LAYER_ENTRIES_H
#define TIDE_LAYER_ENTRIES_H

#include "layer/calls.h"

#define LAYER_ENTRY(name) VKAPI_ATTR __typeof__(*(PFN_vk##name)0) layer_##name

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

#undef LAYER_ENTRY

#endif
