/* Names that the program gives, and calls that carry a queue without giving it work.
 *
 * The debug calls belong to an extension of the instance: the loader answers them where the driver
 * has none, so a program may call them on any device. */
#include "layer/entries.h"
#include "layer/explore.h"

#include <stdlib.h>

/* Returns the driver's object: the driver knows only its own queues. */
static uint64_t real_object(struct layer_device *device, VkObjectType type, uint64_t handle) {
  const struct layer_queue *queue = NULL;
  if (type == VK_OBJECT_TYPE_QUEUE) queue = layer_queue_of(device, (VkQueue)(uintptr_t)handle);
  return queue ? (uint64_t)(uintptr_t)queue->real : handle;
}

static VkQueue real_queue(struct layer_device *device, VkQueue handle) {
  const struct layer_queue *queue = layer_queue_of(device, handle);
  return queue ? queue->real : handle;
}

static void name_object(struct layer_device *device, const VkDebugUtilsObjectNameInfoEXT *info) {
  const char *name = info->pObjectName ? info->pObjectName : "";
  struct layer_semaphore *semaphore;
  struct layer_fence *fence;
  struct layer_queue *queue;
  char *kept;
  switch ((int)info->objectType) {
    case VK_OBJECT_TYPE_SEMAPHORE:
      semaphore = layer_semaphore_of(device, (VkSemaphore)info->objectHandle);
      if (semaphore) layer_clean_text(semaphore->name, sizeof semaphore->name, name);
      break;
    case VK_OBJECT_TYPE_FENCE:
      fence = layer_fence_of(device, (VkFence)info->objectHandle);
      if (fence) layer_clean_text(fence->name, sizeof fence->name, name);
      break;
    case VK_OBJECT_TYPE_QUEUE:
      queue = layer_queue_of(device, (VkQueue)(uintptr_t)info->objectHandle);
      if (queue) layer_clean_text(queue->name, sizeof queue->name, name);
      break;
    case VK_OBJECT_TYPE_COMMAND_BUFFER:
      kept = layer_table_find(&device->names, info->objectHandle);
      if (!kept && !(kept = calloc(1, TIDE_LAYER_NAME_SIZE))) break;
      layer_clean_text(kept, TIDE_LAYER_NAME_SIZE, name);
      if (!layer_table_put(&device->names, info->objectHandle, kept)) free(kept);
      break;
  }
}

VKAPI_ATTR VkResult VKAPI_CALL
layer_SetDebugUtilsObjectNameEXT(VkDevice handle, const VkDebugUtilsObjectNameInfoEXT *info) {
  struct layer_device *device = layer_device_of(handle);
  VkDebugUtilsObjectNameInfoEXT mapped = *info;
  pthread_mutex_lock(&device->lock);
  name_object(device, info);
  pthread_mutex_unlock(&device->lock);
  mapped.objectHandle = real_object(device, info->objectType, info->objectHandle);
  if (!device->next_layer.SetDebugUtilsObjectNameEXT) return VK_SUCCESS;
  return device->next_layer.SetDebugUtilsObjectNameEXT(handle, &mapped);
}

VKAPI_ATTR VkResult VKAPI_CALL
layer_SetDebugUtilsObjectTagEXT(VkDevice handle, const VkDebugUtilsObjectTagInfoEXT *info) {
  struct layer_device *device = layer_device_of(handle);
  VkDebugUtilsObjectTagInfoEXT mapped = *info;
  mapped.objectHandle = real_object(device, info->objectType, info->objectHandle);
  if (!device->next_layer.SetDebugUtilsObjectTagEXT) return VK_SUCCESS;
  return device->next_layer.SetDebugUtilsObjectTagEXT(handle, &mapped);
}

/* Virtual queues share one of the driver's, so their data is kept here, under queue and slot. */
static uint64_t private_key(uint64_t object, VkPrivateDataSlot slot) {
  struct tide_random random = {.state = object ^ (uint64_t)slot << 1};
  return tide_random_next(&random);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_SetPrivateData(VkDevice handle, VkObjectType type,
                                                    uint64_t object, VkPrivateDataSlot slot,
                                                    uint64_t data) {
  struct layer_device *device = layer_device_of(handle);
  if (real_object(device, type, object) == object)
    return device->next_layer.SetPrivateData(handle, type, object, slot, data);
  pthread_mutex_lock(&device->lock);
  bool good = layer_table_put(&device->explorer->private_data, private_key(object, slot),
                              (void *)(uintptr_t)data);
  pthread_mutex_unlock(&device->lock);
  return good ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR void VKAPI_CALL layer_GetPrivateData(VkDevice handle, VkObjectType type, uint64_t object,
                                                VkPrivateDataSlot slot, uint64_t *out_data) {
  struct layer_device *device = layer_device_of(handle);
  if (real_object(device, type, object) == object) {
    device->next_layer.GetPrivateData(handle, type, object, slot, out_data);
    return;
  }
  pthread_mutex_lock(&device->lock);
  *out_data = (uint64_t)(uintptr_t)layer_table_find(&device->explorer->private_data,
                                                    private_key(object, slot));
  pthread_mutex_unlock(&device->lock);
}

VKAPI_ATTR void VKAPI_CALL layer_QueueBeginDebugUtilsLabelEXT(VkQueue queue,
                                                              const VkDebugUtilsLabelEXT *label) {
  struct layer_device *device = layer_device_of(queue);
  if (device->next_layer.QueueBeginDebugUtilsLabelEXT)
    device->next_layer.QueueBeginDebugUtilsLabelEXT(real_queue(device, queue), label);
}

VKAPI_ATTR void VKAPI_CALL layer_QueueEndDebugUtilsLabelEXT(VkQueue queue) {
  struct layer_device *device = layer_device_of(queue);
  if (device->next_layer.QueueEndDebugUtilsLabelEXT)
    device->next_layer.QueueEndDebugUtilsLabelEXT(real_queue(device, queue));
}

VKAPI_ATTR void VKAPI_CALL layer_QueueInsertDebugUtilsLabelEXT(VkQueue queue,
                                                               const VkDebugUtilsLabelEXT *label) {
  struct layer_device *device = layer_device_of(queue);
  if (device->next_layer.QueueInsertDebugUtilsLabelEXT)
    device->next_layer.QueueInsertDebugUtilsLabelEXT(real_queue(device, queue), label);
}
