/* Semaphores and fences: how the host makes, signals, awaits and destroys them. */
#include "layer/entries.h"
#include "layer/explore.h"

#include <stdlib.h>

#define TARGETS_ON_STACK 32
/* ---- calls that block ------------------------------------------------------------ */

void layer_host_call_begin(struct layer_device *device, struct layer_host_call *call) {
  call->thread = layer_thread();
  call->since_ns = layer_now_ns();
  call->next = device->host_calls;
  device->host_calls = call;
}

void layer_host_call_end(struct layer_device *device, struct layer_host_call *call) {
  struct layer_host_call **link = &device->host_calls;
  while (*link != call) link = &(*link)->next;
  *link = call->next;
}

static struct layer_target *make_targets(struct layer_target *on_stack, uint32_t count) {
  return count <= TARGETS_ON_STACK ? on_stack : calloc(count, sizeof *on_stack);
}

static void free_targets(struct layer_target *on_stack, struct layer_target *targets) {
  if (targets != on_stack) free(targets);
}

/* Releases, in mode explore, until the targets are released. VK_TIMEOUT: the deadline has passed.
 * Released submissions will finish, so a program's shorter timeout does not decide. */
static VkResult release_targets(struct layer_device *device, struct layer_host_call *call,
                                uint64_t *timeout) {
  if (!device->explorer) return VK_SUCCESS;
  uint64_t now = layer_now_ns();
  uint64_t deadline = *timeout < UINT64_MAX - now ? now + *timeout : 0;
  if (*timeout == 0) {
    if (!layer_explore_is_released(device, call)) layer_explore_poll(device);
    if (!layer_explore_is_released(device, call)) return VK_TIMEOUT;
  } else if (!layer_explore_until(device, call, deadline) && !device->lost) {
    return VK_TIMEOUT;
  }
  if (*timeout < LAYER_PATIENCE_NS) *timeout = LAYER_PATIENCE_NS;
  return device->lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_WaitSemaphores(VkDevice handle,
                                                    const VkSemaphoreWaitInfo *info,
                                                    uint64_t timeout) {
  struct layer_device *device = layer_device_of(handle);
  struct layer_target on_stack[TARGETS_ON_STACK], *targets;
  targets = make_targets(on_stack, info->semaphoreCount);
  if (!targets) return VK_ERROR_OUT_OF_HOST_MEMORY;
  struct layer_host_call call = {.name = "vkWaitSemaphores",
                                 .any = info->flags & VK_SEMAPHORE_WAIT_ANY_BIT,
                                 .targets = targets};
  pthread_mutex_lock(&device->lock);
  for (uint32_t i = 0; i < info->semaphoreCount; i++) {
    struct layer_semaphore *semaphore = layer_semaphore_of(device, info->pSemaphores[i]);
    if (semaphore)
      targets[call.count++] =
          (struct layer_target){.semaphore = semaphore, .value = info->pValues[i]};
  }
  layer_host_call_begin(device, &call);
  pthread_mutex_unlock(&device->lock);
  VkResult result = release_targets(device, &call, &timeout);
  if (result == VK_SUCCESS) result = device->next_layer.WaitSemaphores(handle, info, timeout);
  pthread_mutex_lock(&device->lock);
  layer_host_call_end(device, &call);
  for (uint32_t i = 0; result == VK_SUCCESS && (!call.any || call.count == 1) && i < call.count;
       i++)
    layer_saw_wait(device, targets[i].semaphore, targets[i].value);
  pthread_mutex_unlock(&device->lock);
  free_targets(on_stack, targets);
  if (device->explorer) layer_keep_settle(device);
  return layer_check_lost(device, result);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_WaitForFences(VkDevice handle, uint32_t count,
                                                   const VkFence *fences, VkBool32 all,
                                                   uint64_t timeout) {
  struct layer_device *device = layer_device_of(handle);
  struct layer_target on_stack[TARGETS_ON_STACK], *targets = make_targets(on_stack, count);
  if (!targets) return VK_ERROR_OUT_OF_HOST_MEMORY;
  struct layer_host_call call = {.name = "vkWaitForFences", .any = !all, .targets = targets};
  pthread_mutex_lock(&device->lock);
  for (uint32_t i = 0; i < count; i++) {
    struct layer_fence *fence = layer_fence_of(device, fences[i]);
    if (fence) targets[call.count++] = (struct layer_target){.fence = fence};
  }
  layer_host_call_begin(device, &call);
  pthread_mutex_unlock(&device->lock);
  VkResult result = release_targets(device, &call, &timeout);
  if (result == VK_SUCCESS)
    result = device->next_layer.WaitForFences(handle, count, fences, all, timeout);
  pthread_mutex_lock(&device->lock);
  layer_host_call_end(device, &call);
  for (uint32_t i = 0; result == VK_SUCCESS && (all || call.count == 1) && i < call.count; i++)
    layer_saw_fence(device, targets[i].fence);
  pthread_mutex_unlock(&device->lock);
  free_targets(on_stack, targets);
  if (device->explorer) layer_keep_settle(device);
  return layer_check_lost(device, result);
}

/* ---- idle ------------------------------------------------------------------------ */

static VkResult wait_for_driver(struct layer_device *device, struct layer_queue *queue) {
  if (device->explorer) {
    layer_explore_finish(device, UINT64_MAX);
    return device->lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
  }
  return queue ? device->next_layer.QueueWaitIdle(queue->real)
               : device->next_layer.DeviceWaitIdle(device->handle);
}

/* Begins a call that waits for all that was submitted to a queue, or to all of them. */
static void begin_idle(struct layer_device *device, struct layer_queue *queue,
                       struct layer_host_call *call) {
  pthread_mutex_lock(&device->lock);
  for (uint32_t i = 0; i < device->queue_count; i++) {
    struct layer_queue *at = device->queues[i];
    if (!queue || at == queue)
      call->targets[call->count++] = (struct layer_target){.queue = at, .value = at->submitted};
  }
  layer_host_call_begin(device, call);
  pthread_mutex_unlock(&device->lock);
}

static VkResult wait_idle(struct layer_device *device, struct layer_queue *queue) {
  struct layer_target targets[sizeof device->queues / sizeof device->queues[0]];
  struct layer_host_call call = {.name = queue ? "vkQueueWaitIdle" : "vkDeviceWaitIdle",
                                 .targets = targets};
  uint64_t timeout = UINT64_MAX;
  begin_idle(device, queue, &call);
  VkResult result = release_targets(device, &call, &timeout);
  if (result == VK_SUCCESS) result = wait_for_driver(device, queue);
  pthread_mutex_lock(&device->lock);
  layer_host_call_end(device, &call);
  for (uint32_t i = 0; result == VK_SUCCESS && i < call.count; i++)
    layer_saw_idle(targets[i].queue, targets[i].value, &targets[i].queue->published);
  pthread_mutex_unlock(&device->lock);
  if (device->explorer) layer_keep_settle(device);
  return layer_check_lost(device, result);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_QueueWaitIdle(VkQueue handle) {
  struct layer_device *device = layer_device_of(handle);
  struct layer_queue *queue = layer_queue_of(device, handle);
  return queue ? wait_idle(device, queue) : VK_ERROR_UNKNOWN;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_DeviceWaitIdle(VkDevice handle) {
  return wait_idle(layer_device_of(handle), NULL);
}

/* ---- queries and events ---------------------------------------------------------- */

static bool holds_any(struct layer_device *device) {
  pthread_mutex_lock(&device->lock);
  bool holds = device->explorer->first != NULL;
  pthread_mutex_unlock(&device->lock);
  return holds;
}

/* explore only. Which submission writes a query is not followed: to wait for one is to wait for all
 * that was submitted. */
VKAPI_ATTR VkResult VKAPI_CALL layer_GetQueryPoolResults(VkDevice handle, VkQueryPool pool,
                                                         uint32_t first, uint32_t count,
                                                         size_t size, void *data,
                                                         VkDeviceSize stride,
                                                         VkQueryResultFlags flags) {
  struct layer_device *device = layer_device_of(handle);
  struct layer_target targets[sizeof device->queues / sizeof device->queues[0]];
  struct layer_host_call call = {.name = "vkGetQueryPoolResults", .targets = targets};
  uint64_t timeout = UINT64_MAX;
  if (flags & VK_QUERY_RESULT_WAIT_BIT) {
    begin_idle(device, NULL, &call);
    (void)release_targets(device, &call, &timeout);
    pthread_mutex_lock(&device->lock);
    layer_host_call_end(device, &call);
    pthread_mutex_unlock(&device->lock);
  } else if (holds_any(device)) {
    layer_explore_poll(device);
  }
  return layer_check_lost(device, device->next_layer.GetQueryPoolResults(
                                      handle, pool, first, count, size, data, stride, flags));
}

VKAPI_ATTR VkResult VKAPI_CALL layer_GetEventStatus(VkDevice handle, VkEvent event) {
  struct layer_device *device = layer_device_of(handle);
  if (holds_any(device)) layer_explore_poll(device);
  return layer_check_lost(device, device->next_layer.GetEventStatus(handle, event));
}

/* ---- semaphores ------------------------------------------------------------------ */

static const void *find_chained(const void *chain, VkStructureType type) {
  const VkBaseInStructure *at = chain;
  while (at && at->sType != type) at = at->pNext;
  return at;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_CreateSemaphore(VkDevice handle,
                                                     const VkSemaphoreCreateInfo *info,
                                                     const VkAllocationCallbacks *allocator,
                                                     VkSemaphore *out_semaphore) {
  struct layer_device *device = layer_device_of(handle);
  const VkSemaphoreTypeCreateInfo *type =
      find_chained(info->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  VkResult result = device->next_layer.CreateSemaphore(handle, info, allocator, out_semaphore);
  if (result != VK_SUCCESS) return result;
  bool timeline = type && type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE;
  pthread_mutex_lock(&device->lock);
  bool known =
      layer_semaphore_add(device, *out_semaphore, timeline, timeline ? type->initialValue : 0);
  pthread_mutex_unlock(&device->lock);
  if (known) return VK_SUCCESS;
  device->next_layer.DestroySemaphore(handle, *out_semaphore, allocator);
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static const struct layer_submission *find_user(const struct layer_device *device,
                                                const struct layer_semaphore *semaphore) {
  const struct layer_submission *at = device->explorer ? device->explorer->first : NULL;
  for (; at; at = at->next) {
    for (uint32_t i = 0; i < at->wait_count; i++)
      if (at->waits[i].semaphore == semaphore) return at;
    for (uint32_t i = 0; i < at->signal_count; i++)
      if (at->signals[i].semaphore == semaphore) return at;
  }
  return NULL;
}

VKAPI_ATTR void VKAPI_CALL layer_DestroySemaphore(VkDevice handle, VkSemaphore destroyed,
                                                  const VkAllocationCallbacks *allocator) {
  struct layer_device *device = layer_device_of(handle);
  if (!destroyed) return;
  pthread_mutex_lock(&device->lock);
  struct layer_semaphore *semaphore = layer_semaphore_of(device, destroyed);
  const struct layer_submission *user = semaphore ? find_user(device, semaphore) : NULL;
  if (user) layer_keep_accuse(device, user, "a semaphore was destroyed");
  if (semaphore) layer_semaphore_drop(device, semaphore);
  pthread_mutex_unlock(&device->lock);
  layer_keep(device, LAYER_OBJECT_SEMAPHORE, (uint64_t)destroyed, allocator);
}

/* The ledger records the signal before the driver's call: a waiting thread may see the signal at
 * once. */
VKAPI_ATTR VkResult VKAPI_CALL layer_SignalSemaphore(VkDevice handle,
                                                     const VkSemaphoreSignalInfo *info) {
  struct layer_device *device = layer_device_of(handle);
  pthread_mutex_lock(&device->lock);
  struct layer_semaphore *semaphore = layer_semaphore_of(device, info->semaphore);
  if (semaphore) layer_host_signal(device, semaphore, info->value);
  if (device->explorer) device->explorer->generation++;
  pthread_mutex_unlock(&device->lock);
  VkResult result = device->next_layer.SignalSemaphore(handle, info);
  if (device->explorer) layer_explore_urge(device);
  return layer_check_lost(device, result);
}

/* Makes one pick, in mode explore, then stores the highest value that was released, whether the
 * driver has finished it yet or not. So a program that polls sees the same values in each run. */
static void release_for_poll(struct layer_device *device, VkSemaphore handle) {
  pthread_mutex_lock(&device->lock);
  struct layer_semaphore *semaphore = layer_semaphore_of(device, handle);
  bool is_behind = semaphore && !semaphore->external && semaphore->released < semaphore->submitted;
  pthread_mutex_unlock(&device->lock);
  if (!semaphore || semaphore->external) return;
  if (is_behind) layer_explore_poll(device);
  pthread_mutex_lock(&device->lock);
  uint64_t released = semaphore->released;
  pthread_mutex_unlock(&device->lock);
  VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                              .semaphoreCount = 1,
                              .pSemaphores = &handle,
                              .pValues = &released};
  (void)device->next_layer.WaitSemaphores(device->handle, &info, LAYER_PATIENCE_NS);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_GetSemaphoreCounterValue(VkDevice handle, VkSemaphore polled,
                                                              uint64_t *out_value) {
  struct layer_device *device = layer_device_of(handle);
  if (device->explorer) release_for_poll(device, polled);
  VkResult result = device->next_layer.GetSemaphoreCounterValue(handle, polled, out_value);
  if (result == VK_SUCCESS) {
    pthread_mutex_lock(&device->lock);
    struct layer_semaphore *semaphore = layer_semaphore_of(device, polled);
    if (semaphore) layer_saw_value(device, semaphore, *out_value);
    pthread_mutex_unlock(&device->lock);
  }
  if (device->explorer) layer_keep_settle(device);
  return layer_check_lost(device, result);
}

/* Prepares a semaphore for sharing: another process may signal or await it from here on, so no held
 * submission may be missing. */
static void share_semaphore(struct layer_device *device, VkSemaphore handle) {
  if (device->explorer) layer_explore_flush(device, "a semaphore was shared with another process");
  pthread_mutex_lock(&device->lock);
  struct layer_semaphore *semaphore = layer_semaphore_of(device, handle);
  if (semaphore) semaphore->external = true;
  if (device->explorer) device->explorer->generation++;
  pthread_mutex_unlock(&device->lock);
  layer_limit("semaphores that are shared with another process or driver are followed no further");
}

VKAPI_ATTR VkResult VKAPI_CALL layer_ImportSemaphoreFdKHR(VkDevice handle,
                                                          const VkImportSemaphoreFdInfoKHR *info) {
  struct layer_device *device = layer_device_of(handle);
  share_semaphore(device, info->semaphore);
  return device->next_layer.ImportSemaphoreFdKHR(handle, info);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_GetSemaphoreFdKHR(VkDevice handle,
                                                       const VkSemaphoreGetFdInfoKHR *info,
                                                       int *out_fd) {
  struct layer_device *device = layer_device_of(handle);
  share_semaphore(device, info->semaphore);
  return device->next_layer.GetSemaphoreFdKHR(handle, info, out_fd);
}

/* ---- fences ---------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL layer_CreateFence(VkDevice handle, const VkFenceCreateInfo *info,
                                                 const VkAllocationCallbacks *allocator,
                                                 VkFence *out_fence) {
  struct layer_device *device = layer_device_of(handle);
  VkResult result = device->next_layer.CreateFence(handle, info, allocator, out_fence);
  if (result != VK_SUCCESS) return result;
  pthread_mutex_lock(&device->lock);
  bool known = layer_fence_add(device, *out_fence, info->flags & VK_FENCE_CREATE_SIGNALED_BIT);
  pthread_mutex_unlock(&device->lock);
  if (known) return VK_SUCCESS;
  device->next_layer.DestroyFence(handle, *out_fence, allocator);
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}

/* Separates the fence from its submission. */
static void detach_fence(struct layer_device *device, struct layer_fence *fence, const char *what) {
  struct layer_submission *at =
      fence->queue ? layer_submission_at(fence->queue, fence->epoch) : NULL;
  if (at && at->state != LAYER_RELEASED) {
    layer_keep_accuse(device, at, what); /* unlocks meanwhile */
    at = layer_submission_at(fence->queue, fence->epoch);
  }
  if (at) at->fence = NULL;
  fence->queue = NULL;
}

VKAPI_ATTR void VKAPI_CALL layer_DestroyFence(VkDevice handle, VkFence destroyed,
                                              const VkAllocationCallbacks *allocator) {
  struct layer_device *device = layer_device_of(handle);
  if (!destroyed) return;
  pthread_mutex_lock(&device->lock);
  struct layer_fence *fence = layer_fence_of(device, destroyed);
  if (fence) {
    detach_fence(device, fence, "a fence was destroyed");
    layer_table_take(&device->fences, (uint64_t)destroyed);
    tide_shadow_clock_fini(&device->clocks, &fence->clock);
    free(fence);
  }
  pthread_mutex_unlock(&device->lock);
  layer_keep(device, LAYER_OBJECT_FENCE, (uint64_t)destroyed, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_ResetFences(VkDevice handle, uint32_t count,
                                                 const VkFence *fences) {
  struct layer_device *device = layer_device_of(handle);
  pthread_mutex_lock(&device->lock);
  for (uint32_t i = 0; i < count; i++) {
    struct layer_fence *fence = layer_fence_of(device, fences[i]);
    if (!fence) continue;
    detach_fence(device, fence, "a fence was reset");
    fence->signalled = false;
    fence->external = fence->imported;
  }
  pthread_mutex_unlock(&device->lock);
  return device->next_layer.ResetFences(handle, count, fences);
}

/* Reports a fence as signalled, in mode explore, if its submission is released: so the result is
 * the same in each run. */
static bool release_for_status(struct layer_device *device, VkFence handle) {
  pthread_mutex_lock(&device->lock);
  struct layer_fence *fence = layer_fence_of(device, handle);
  pthread_mutex_unlock(&device->lock);
  if (!fence || fence->external || !fence->queue) return true;
  struct layer_target target = {.fence = fence};
  struct layer_host_call call = {.name = "vkGetFenceStatus", .count = 1, .targets = &target};
  uint64_t timeout = 0;
  if (release_targets(device, &call, &timeout) != VK_SUCCESS) return device->lost;
  (void)device->next_layer.WaitForFences(device->handle, 1, &handle, VK_TRUE, timeout);
  return true;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_GetFenceStatus(VkDevice handle, VkFence polled) {
  struct layer_device *device = layer_device_of(handle);
  if (device->explorer && !release_for_status(device, polled)) return VK_NOT_READY;
  VkResult result = device->next_layer.GetFenceStatus(handle, polled);
  if (result == VK_SUCCESS) {
    pthread_mutex_lock(&device->lock);
    struct layer_fence *fence = layer_fence_of(device, polled);
    if (fence) layer_saw_fence(device, fence);
    pthread_mutex_unlock(&device->lock);
  }
  if (device->explorer) layer_keep_settle(device);
  return layer_check_lost(device, result);
}

static void share_fence(struct layer_device *device, VkFence handle) {
  if (device->explorer) layer_explore_flush(device, "a fence was shared with another process");
  pthread_mutex_lock(&device->lock);
  struct layer_fence *fence = layer_fence_of(device, handle);
  if (fence) fence->external = fence->imported = true;
  if (device->explorer) device->explorer->generation++;
  pthread_mutex_unlock(&device->lock);
  layer_limit("fences that are shared with another process or driver are followed no further");
}

VKAPI_ATTR VkResult VKAPI_CALL layer_ImportFenceFdKHR(VkDevice handle,
                                                      const VkImportFenceFdInfoKHR *info) {
  struct layer_device *device = layer_device_of(handle);
  share_fence(device, info->fence);
  return device->next_layer.ImportFenceFdKHR(handle, info);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_GetFenceFdKHR(VkDevice handle, const VkFenceGetFdInfoKHR *info,
                                                   int *out_fd) {
  struct layer_device *device = layer_device_of(handle);
  share_fence(device, info->fence);
  return device->next_layer.GetFenceFdKHR(handle, info, out_fd);
}
