/* Passing a held submission to the driver, by the call that the program used. */
#include "layer/explore.h"

#include <stdlib.h>

struct arrays {
  VkSemaphore *semaphores;
  uint64_t *values;
  VkPipelineStageFlags *stages;
  VkSemaphoreSubmitInfo *infos;
  uint32_t count;
  bool has_timeline;
};

static bool allocate_arrays(struct arrays *arrays, uint32_t count) {
  arrays->semaphores = calloc(count + 1, sizeof *arrays->semaphores);
  arrays->values = calloc(count + 1, sizeof *arrays->values);
  arrays->stages = calloc(count + 1, sizeof *arrays->stages);
  arrays->infos = calloc(count + 1, sizeof *arrays->infos);
  return arrays->semaphores && arrays->values && arrays->stages && arrays->infos;
}

static void free_arrays(struct arrays *arrays) {
  free(arrays->semaphores);
  free(arrays->values);
  free(arrays->stages);
  free(arrays->infos);
}

static void add_semaphore(struct arrays *arrays, const struct layer_semaphore *semaphore,
                          uint64_t value, VkPipelineStageFlags2 stages) {
  uint32_t at = arrays->count++;
  arrays->has_timeline |= semaphore->timeline;
  arrays->semaphores[at] = semaphore->handle;
  arrays->values[at] = semaphore->timeline ? value : 0;
  arrays->stages[at] = (VkPipelineStageFlags)stages;
  arrays->infos[at] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                              .semaphore = semaphore->handle,
                                              .value = arrays->values[at],
                                              .stageMask = stages};
}

static VkResult call_submit2(const struct layer_submission *submission, const struct arrays *waits,
                             const struct arrays *signals, uint32_t command_count, VkFence fence) {
  VkCommandBufferSubmitInfo *commands = calloc(command_count + 1, sizeof *commands);
  if (!commands) return VK_ERROR_OUT_OF_HOST_MEMORY;
  for (uint32_t i = 0; i < command_count; i++)
    commands[i] = (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                              .commandBuffer = submission->commands[i]};
  VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                        .waitSemaphoreInfoCount = waits->count,
                        .pWaitSemaphoreInfos = waits->infos,
                        .commandBufferInfoCount = command_count,
                        .pCommandBufferInfos = commands,
                        .signalSemaphoreInfoCount = signals->count,
                        .pSignalSemaphoreInfos = signals->infos};
  const struct layer_queue *queue = submission->queue;
  VkResult result = queue->device->next_layer.QueueSubmit2(queue->real, 1, &info, fence);
  free(commands);
  return result;
}

static VkResult call_submit(const struct layer_submission *submission, const struct arrays *waits,
                            const struct arrays *signals, uint32_t command_count, VkFence fence) {
  bool has_timelines = waits->has_timeline || signals->has_timeline;
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .waitSemaphoreValueCount = waits->count,
                                          .pWaitSemaphoreValues = waits->values,
                                          .signalSemaphoreValueCount = signals->count,
                                          .pSignalSemaphoreValues = signals->values};
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .pNext = has_timelines ? &values : NULL,
                       .waitSemaphoreCount = waits->count,
                       .pWaitSemaphores = waits->semaphores,
                       .pWaitDstStageMask = waits->stages,
                       .commandBufferCount = command_count,
                       .pCommandBuffers = submission->commands,
                       .signalSemaphoreCount = signals->count,
                       .pSignalSemaphores = signals->semaphores};
  const struct layer_queue *queue = submission->queue;
  return queue->device->next_layer.QueueSubmit(queue->real, 1, &info, fence);
}

static bool gather_semaphores(const struct layer_submission *submission, unsigned parts,
                              struct arrays *waits, struct arrays *signalled) {
  if (!allocate_arrays(waits, submission->wait_count) ||
      !allocate_arrays(signalled, submission->signal_count))
    return false;
  for (uint32_t i = 0; (parts & LAYER_PART_WAITS) && i < submission->wait_count; i++) {
    const struct layer_wait *wait = &submission->waits[i];
    if (!wait->dropped) add_semaphore(waits, wait->semaphore, wait->value, wait->stages);
  }
  for (uint32_t i = 0; (parts & LAYER_PART_SIGNALS) && i < submission->signal_count; i++) {
    const struct layer_signal *signal = &submission->signals[i];
    if (!signal->backwards)
      add_semaphore(signalled, signal->semaphore, signal->value, signal->stages);
  }
  return true;
}

VkResult layer_release(struct layer_submission *submission, unsigned parts) {
  struct arrays waits = {0}, signalled = {0};
  VkResult result = VK_ERROR_OUT_OF_HOST_MEMORY;
  if (gather_semaphores(submission, parts, &waits, &signalled)) {
    uint32_t command_count = parts & LAYER_PART_COMMANDS ? submission->command_count : 0;
    VkFence fence = VK_NULL_HANDLE;
    if ((parts & LAYER_PART_SIGNALS) && submission->fence) fence = submission->fence->handle;
    result = (submission->uses_submit2 ? call_submit2 : call_submit)(submission, &waits, &signalled,
                                                                     command_count, fence);
  }
  free_arrays(&waits);
  free_arrays(&signalled);
  return result;
}
