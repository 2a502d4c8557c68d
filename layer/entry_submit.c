/* Calls that give a queue something to do. */
#include "layer/entries.h"
#include "layer/explore.h"
#include "layer/submission_trace.h"

#include <stdlib.h>

#define TURN_NS 1000000000u

/* ---- chained structures ---------------------------------------------------------- */

static const VkBaseInStructure *find_chained(const void *chain, VkStructureType type) {
  const VkBaseInStructure *at = chain;
  while (at && at->sType != type) at = at->pNext;
  return at;
}

static bool is_plain_group(const VkDeviceGroupSubmitInfo *group) {
  for (uint32_t i = 0; i < group->commandBufferCount; i++)
    if (group->pCommandBufferDeviceMasks[i] > 1) return false;
  for (uint32_t i = 0; i < group->waitSemaphoreCount; i++)
    if (group->pWaitSemaphoreDeviceIndices[i]) return false;
  for (uint32_t i = 0; i < group->signalSemaphoreCount; i++)
    if (group->pSignalSemaphoreDeviceIndices[i]) return false;
  return true;
}

/* True if a copy of the submission without the chain means the same. */
static bool is_understood(const void *chain) {
  for (const VkBaseInStructure *at = chain; at; at = at->pNext) {
    switch ((int)at->sType) {
      case VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO: break;
      case VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO:
        if (!is_plain_group((const VkDeviceGroupSubmitInfo *)at)) return false;
        break;
      case VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO:
        if (((const VkProtectedSubmitInfo *)at)->protectedSubmit) return false;
        break;
      default: layer_limit("structure %d chained to a submit", (int)at->sType); return false;
    }
  }
  return true;
}

static bool is_plain(const VkSubmitInfo2 *info) {
  bool plain = is_understood(info->pNext) && !(info->flags & VK_SUBMIT_PROTECTED_BIT);
  for (uint32_t i = 0; plain && i < info->waitSemaphoreInfoCount; i++)
    plain = is_understood(info->pWaitSemaphoreInfos[i].pNext) &&
            !info->pWaitSemaphoreInfos[i].deviceIndex;
  for (uint32_t i = 0; plain && i < info->signalSemaphoreInfoCount; i++)
    plain = is_understood(info->pSignalSemaphoreInfos[i].pNext) &&
            !info->pSignalSemaphoreInfos[i].deviceIndex;
  for (uint32_t i = 0; plain && i < info->commandBufferInfoCount; i++)
    plain = is_understood(info->pCommandBufferInfos[i].pNext) &&
            info->pCommandBufferInfos[i].deviceMask <= 1;
  return plain;
}

/* ---- submissions from the two forms ---------------------------------------------- */

/* Adds a wait. Its semaphore is known: the program made it through the layer. The lock is held. */
static void add_wait(struct layer_device *device, struct layer_submission *submission,
                     VkSemaphore handle, uint64_t value, VkPipelineStageFlags2 stages) {
  struct layer_semaphore *semaphore = layer_semaphore_of(device, handle);
  if (!semaphore) return;
  submission->waits[submission->wait_count++] =
      (struct layer_wait){.semaphore = semaphore, .value = value, .stages = stages};
}

static void add_signal(struct layer_device *device, struct layer_submission *submission,
                       VkSemaphore handle, uint64_t value, VkPipelineStageFlags2 stages) {
  struct layer_semaphore *semaphore = layer_semaphore_of(device, handle);
  if (!semaphore) return;
  submission->signals[submission->signal_count++] =
      (struct layer_signal){.semaphore = semaphore, .value = value, .stages = stages};
}

static struct layer_submission *read_submit(struct layer_device *device, const VkSubmitInfo *info) {
  const VkTimelineSemaphoreSubmitInfo *values = (const VkTimelineSemaphoreSubmitInfo *)find_chained(
      info->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  struct layer_submission *submission = layer_submission_make(
      info->waitSemaphoreCount, info->signalSemaphoreCount, info->commandBufferCount);
  if (!submission) return NULL;
  for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
    add_wait(device, submission, info->pWaitSemaphores[i],
             values && i < values->waitSemaphoreValueCount ? values->pWaitSemaphoreValues[i] : 0,
             info->pWaitDstStageMask[i]);
  for (uint32_t i = 0; i < info->signalSemaphoreCount; i++)
    add_signal(device, submission, info->pSignalSemaphores[i],
               values && i < values->signalSemaphoreValueCount ? values->pSignalSemaphoreValues[i]
                                                               : 0,
               VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
  for (uint32_t i = 0; i < info->commandBufferCount; i++)
    submission->commands[submission->command_count++] = info->pCommandBuffers[i];
  return submission;
}

static struct layer_submission *read_submit2(struct layer_device *device,
                                             const VkSubmitInfo2 *info) {
  struct layer_submission *submission = layer_submission_make(
      info->waitSemaphoreInfoCount, info->signalSemaphoreInfoCount, info->commandBufferInfoCount);
  if (!submission) return NULL;
  submission->uses_submit2 = true;
  for (uint32_t i = 0; i < info->waitSemaphoreInfoCount; i++)
    add_wait(device, submission, info->pWaitSemaphoreInfos[i].semaphore,
             info->pWaitSemaphoreInfos[i].value, info->pWaitSemaphoreInfos[i].stageMask);
  for (uint32_t i = 0; i < info->signalSemaphoreInfoCount; i++)
    add_signal(device, submission, info->pSignalSemaphoreInfos[i].semaphore,
               info->pSignalSemaphoreInfos[i].value, info->pSignalSemaphoreInfos[i].stageMask);
  for (uint32_t i = 0; i < info->commandBufferInfoCount; i++)
    submission->commands[submission->command_count++] = info->pCommandBufferInfos[i].commandBuffer;
  return submission;
}

/* The two forms of a submit, as one. */
struct submit {
  struct layer_queue *queue;
  const VkSubmitInfo *infos;
  const VkSubmitInfo2 *infos2;
  uint32_t count;
  VkFence fence;
};

/* True if another process or driver may wait for one of its signals. */
static bool signals_outside(const struct layer_submission *submission) {
  bool outside = submission->fence && submission->fence->external;
  for (uint32_t i = 0; i < submission->signal_count; i++)
    outside |= submission->signals[i].semaphore->external;
  return outside;
}

/* Reads batch i of a submit. A fence without batches counts as one. NULL: no memory. */
static struct layer_submission *read_batch(const struct submit *submit, uint32_t i) {
  struct layer_device *device = submit->queue->device;
  struct layer_submission *submission = i >= submit->count ? layer_submission_make(0, 0, 0)
                                        : submit->infos2 ? read_submit2(device, &submit->infos2[i])
                                                         : read_submit(device, &submit->infos[i]);
  if (!submission) return NULL;
  submission->number = layer_next_number();
  if (submit->fence && i + 1 >= submit->count)
    submission->fence = layer_fence_of(device, submit->fence);
  submission->is_urgent = signals_outside(submission);
  return submission;
}

static uint32_t count_batches(const struct submit *submit) {
  return submit->count == 0 && submit->fence ? 1 : submit->count;
}

static bool submit_is_plain(const struct submit *submit) {
  bool plain = true;
  for (uint32_t i = 0; i < submit->count; i++)
    plain = plain &&
            (submit->infos2 ? is_plain(&submit->infos2[i]) : is_understood(submit->infos[i].pNext));
  return plain;
}

/* ---- recording in the ledger ---------------------------------------------------- */

/* Records a submission before the driver is called: another thread may see its end at once. */
static void record_submission(struct layer_queue *queue, struct layer_submission *submission) {
  if (submission && layer_ledger_submit(queue, submission)) {
    layer_trace_start(submission);
    return;
  }
  free(submission);
  queue->device->clocks.out_of_memory = true;
}

static void record_submit(const struct submit *submit) {
  struct layer_device *device = submit->queue->device;
  pthread_mutex_lock(&device->lock);
  for (uint32_t i = 0; i < count_batches(submit); i++)
    record_submission(submit->queue, read_batch(submit, i));
  pthread_mutex_unlock(&device->lock);
}

/* ---- explore: calls passed on in queue order ------------------------------------ */

/* Gives the submission to the ledger, and blocks until its signallers and its predecessors in the
 * queue are released. A submission that waits for a later call of this thread would block for ever:
 * after a second it is passed to the driver all the same. False: no memory. */
static bool await_turn(struct layer_queue *queue, struct layer_submission *submission) {
  struct layer_device *device = queue->device;
  struct layer_target *targets = calloc(submission->wait_count + 1, sizeof *targets);
  struct layer_host_call call = {.name = "a call that cannot be held", .targets = targets};
  pthread_mutex_lock(&device->lock);
  uint64_t before = queue->submitted;
  bool good = targets && layer_ledger_submit(queue, submission);
  for (uint32_t i = 0; good && i < submission->wait_count; i++)
    targets[call.count++] = (struct layer_target){.semaphore = submission->waits[i].semaphore,
                                                  .value = submission->waits[i].value};
  if (good) targets[call.count++] = (struct layer_target){.queue = queue, .value = before};
  if (good) layer_host_call_begin(device, &call);
  pthread_mutex_unlock(&device->lock);
  if (good && !layer_explore_until(device, &call, layer_now_ns() + TURN_NS))
    layer_limit("a call that cannot be held went to the driver before what it waits for");
  pthread_mutex_lock(&device->lock);
  if (good) layer_host_call_end(device, &call);
  pthread_mutex_unlock(&device->lock);
  free(targets);
  return good;
}

/* Publishes a submission that was passed on, after the driver's call and under the same
 * release_lock: waiters may see the signals. */
static void publish_passed(struct layer_device *device, struct layer_submission *submission) {
  pthread_mutex_lock(&device->lock);
  layer_trace_start(submission);
  for (uint32_t i = 0; i < submission->wait_count; i++)
    submission->waits[i].semaphore->waits_started += !submission->waits[i].semaphore->timeline;
  for (uint32_t i = 0; i < submission->signal_count; i++)
    if (submission->signals[i].value > submission->signals[i].semaphore->released)
      submission->signals[i].semaphore->released = submission->signals[i].value;
  device->explorer->is_unfinished = true;
  device->explorer->generation++;
  pthread_cond_broadcast(&device->changed);
  pthread_mutex_unlock(&device->lock);
}

static VkResult call_driver(const struct submit *submit, VkQueue queue) {
  const struct layer_device_calls *next = &submit->queue->device->next_layer;
  return submit->infos2 ? next->QueueSubmit2(queue, submit->count, submit->infos2, submit->fence)
                        : next->QueueSubmit(queue, submit->count, submit->infos, submit->fence);
}

/* Passes on a batch of a submit that cannot be copied. */
static VkResult pass_batch(const struct submit *submit, uint32_t i) {
  struct layer_device *device = submit->queue->device;
  struct submit one = {.queue = submit->queue,
                       .infos = submit->infos ? &submit->infos[i] : NULL,
                       .infos2 = submit->infos2 ? &submit->infos2[i] : NULL,
                       .count = 1,
                       .fence = i + 1 == submit->count ? submit->fence : VK_NULL_HANDLE};
  pthread_mutex_lock(&device->lock);
  struct layer_submission *submission = read_batch(&one, 0);
  pthread_mutex_unlock(&device->lock);
  if (!submission || !await_turn(submit->queue, submission)) {
    free(submission);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  }
  pthread_mutex_lock(&device->release_lock);
  VkResult result = call_driver(&one, submit->queue->real);
  publish_passed(device, submission);
  pthread_mutex_unlock(&device->release_lock);
  return layer_check_lost(device, result);
}

static VkResult pass_submit(const struct submit *submit) {
  VkResult result = VK_SUCCESS;
  layer_explore_flush(submit->queue->device, "a submission that cannot be copied");
  for (uint32_t i = 0; i < submit->count && result == VK_SUCCESS; i++)
    result = pass_batch(submit, i);
  return result;
}

static VkResult hold_submit(const struct submit *submit) {
  struct layer_device *device = submit->queue->device;
  for (uint32_t i = 0; i < count_batches(submit); i++) {
    pthread_mutex_lock(&device->lock);
    struct layer_submission *submission = read_batch(submit, i);
    pthread_mutex_unlock(&device->lock);
    if (!submission || !layer_explore_hold(submit->queue, submission)) {
      free(submission);
      return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
  }
  return device->lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}

static VkResult take_submit(struct submit *submit, VkQueue handle) {
  struct layer_device *device = layer_device_of(handle);
  submit->queue = layer_queue_of(device, handle);
  if (!submit->queue) return VK_ERROR_UNKNOWN; /* no handle of this device */
  if (!device->explorer) {
    record_submit(submit);
    return layer_check_lost(device, call_driver(submit, handle));
  }
  return submit_is_plain(submit) ? hold_submit(submit) : pass_submit(submit);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_QueueSubmit(VkQueue queue, uint32_t count,
                                                 const VkSubmitInfo *infos, VkFence fence) {
  return take_submit(&(struct submit){.infos = infos, .count = count, .fence = fence}, queue);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_QueueSubmit2(VkQueue queue, uint32_t count,
                                                  const VkSubmitInfo2 *infos, VkFence fence) {
  return take_submit(&(struct submit){.infos2 = infos, .count = count, .fence = fence}, queue);
}

/* ---- sparse binds, presents, acquires -------------------------------------------- */

static struct layer_submission *read_bind(struct layer_device *device, const VkBindSparseInfo *info,
                                          VkFence fence) {
  const VkTimelineSemaphoreSubmitInfo *values = (const VkTimelineSemaphoreSubmitInfo *)find_chained(
      info->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  struct layer_submission *submission =
      layer_submission_make(info->waitSemaphoreCount, info->signalSemaphoreCount, 0);
  if (!submission) return NULL;
  submission->kind = LAYER_SPARSE;
  submission->number = layer_next_number();
  submission->fence = fence ? layer_fence_of(device, fence) : NULL;
  for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
    add_wait(device, submission, info->pWaitSemaphores[i],
             values && i < values->waitSemaphoreValueCount ? values->pWaitSemaphoreValues[i] : 0,
             VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
  for (uint32_t i = 0; i < info->signalSemaphoreCount; i++)
    add_signal(device, submission, info->pSignalSemaphores[i],
               values && i < values->signalSemaphoreValueCount ? values->pSignalSemaphoreValues[i]
                                                               : 0,
               VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
  return submission;
}

/* Begins a submission that is passed on, before the driver's call. Mode explore releases all
 * predecessors first, and then holds release_lock. NULL: no memory. */
static struct layer_submission *begin_passed(struct layer_queue *queue,
                                             struct layer_submission *submission) {
  struct layer_device *device = queue->device;
  bool good = submission != NULL;
  if (device->explorer) {
    good = good && await_turn(queue, submission);
    if (!good) free(submission);
    pthread_mutex_lock(&device->release_lock);
    return good ? submission : NULL;
  }
  pthread_mutex_lock(&device->lock);
  record_submission(queue, submission);
  pthread_mutex_unlock(&device->lock);
  return submission;
}

static VkResult end_passed(struct layer_device *device, struct layer_submission *submission,
                           VkResult result) {
  if (device->explorer) {
    if (submission) publish_passed(device, submission);
    pthread_mutex_unlock(&device->release_lock);
  }
  return layer_check_lost(device, result);
}

static VkResult bind_sparse(struct layer_queue *queue, const VkBindSparseInfo *info, bool is_one,
                            VkFence fence) {
  struct layer_device *device = queue->device;
  struct layer_submission *submission = NULL;
  if (is_one) {
    pthread_mutex_lock(&device->lock);
    submission = read_bind(device, info, fence);
    pthread_mutex_unlock(&device->lock);
  }
  submission = begin_passed(queue, submission);
  return end_passed(device, submission,
                    device->next_layer.QueueBindSparse(queue->real, is_one, info, fence));
}

VKAPI_ATTR VkResult VKAPI_CALL layer_QueueBindSparse(VkQueue handle, uint32_t count,
                                                     const VkBindSparseInfo *infos, VkFence fence) {
  struct layer_queue *queue = layer_queue_of(layer_device_of(handle), handle);
  VkResult result = VK_SUCCESS;
  if (!queue) return VK_ERROR_UNKNOWN;
  if (!count) return bind_sparse(queue, infos, false, fence);
  for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++)
    result = bind_sparse(queue, &infos[i], true, i + 1 == count ? fence : VK_NULL_HANDLE);
  return result;
}

/* A present cannot be held: its result tells the state of the window. */
VKAPI_ATTR VkResult VKAPI_CALL layer_QueuePresentKHR(VkQueue handle, const VkPresentInfoKHR *info) {
  struct layer_device *device = layer_device_of(handle);
  struct layer_queue *queue = layer_queue_of(device, handle);
  if (!queue) return VK_ERROR_UNKNOWN;
  struct layer_submission *submission = layer_submission_make(info->waitSemaphoreCount, 0, 0);
  if (submission) {
    pthread_mutex_lock(&device->lock);
    submission->kind = LAYER_PRESENT;
    submission->number = layer_next_number();
    for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
      add_wait(device, submission, info->pWaitSemaphores[i], 0,
               VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    pthread_mutex_unlock(&device->lock);
  }
  submission = begin_passed(queue, submission);
  return end_passed(device, submission, device->next_layer.QueuePresentKHR(queue->real, info));
}

/* Notes the semaphore and fence of an acquire: the window system signals them, and their past is
 * unknown. */
static void take_acquire(struct layer_device *device, VkResult result, VkSemaphore semaphore,
                         VkFence fence) {
  if (result != VK_SUCCESS && result != VK_SUBOPTIMAL_KHR) return;
  pthread_mutex_lock(&device->lock);
  struct layer_semaphore *signalled = layer_semaphore_of(device, semaphore);
  struct layer_fence *known = fence ? layer_fence_of(device, fence) : NULL;
  if (signalled) layer_external_signal(device, signalled);
  if (known) known->external = true;
  if (device->explorer) device->explorer->generation++;
  pthread_mutex_unlock(&device->lock);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_AcquireNextImageKHR(VkDevice handle, VkSwapchainKHR swapchain,
                                                         uint64_t timeout, VkSemaphore semaphore,
                                                         VkFence fence, uint32_t *out_index) {
  struct layer_device *device = layer_device_of(handle);
  VkResult result = device->next_layer.AcquireNextImageKHR(handle, swapchain, timeout, semaphore,
                                                           fence, out_index);
  take_acquire(device, result, semaphore, fence);
  return layer_check_lost(device, result);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_AcquireNextImage2KHR(VkDevice handle,
                                                          const VkAcquireNextImageInfoKHR *info,
                                                          uint32_t *out_index) {
  struct layer_device *device = layer_device_of(handle);
  VkResult result = device->next_layer.AcquireNextImage2KHR(handle, info, out_index);
  take_acquire(device, result, info->semaphore, info->fence);
  return layer_check_lost(device, result);
}
