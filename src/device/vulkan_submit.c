/* Recording and submitting: one batch of a vkQueueSubmit call per operation. */
#include "device/vulkan_device.h"

#include "base/atomic.h"

#include <string.h>

/* The works of one lane in one call. */
struct batch {
  struct tide_work *works[TIDE_VULKAN_AT_ONCE];
  VkSubmitInfo submits[TIDE_VULKAN_AT_ONCE];
  VkTimelineSemaphoreSubmitInfo values[TIDE_VULKAN_AT_ONCE];
  uint64_t numbers[TIDE_VULKAN_AT_ONCE];
  VkSemaphore semaphores[TIDE_VULKAN_AT_ONCE][TIDE_HARDWARE_QUEUES_MAX];
  uint64_t awaited[TIDE_VULKAN_AT_ONCE][TIDE_HARDWARE_QUEUES_MAX];
  uint64_t newest[TIDE_HARDWARE_QUEUES_MAX]; /* by hardware queue: awaited so far in this call */
  uint32_t count;
  uint64_t recorded; /* the lane's before this call, and the next one */
  uint32_t imported;
};

#define ALL VK_PIPELINE_STAGE_ALL_COMMANDS_BIT
static const VkPipelineStageFlags all_stages[TIDE_HARDWARE_QUEUES_MAX] = {ALL, ALL, ALL, ALL,
                                                                          ALL, ALL, ALL, ALL};

static const struct tide_vulkan_ops *ops_of(const struct tide_work *work) {
  return (const struct tide_vulkan_ops *)(const void *)work->body->ops;
}

/* True if the submission starts with a barrier: for earlier ones of its own VkQueue, or for their
 * writes. A wait for the own semaphore would cost more. */
static bool needs_barrier(const struct tide_submission *submission) {
  bool needs = submission->barrier;
  for (uint32_t i = 0; i < submission->wait_count; i++)
    needs |= submission->waits[i].hardware_queue == submission->hardware_queue;
  return needs;
}

static void put_barrier(const struct tide_vulkan *vulkan, VkCommandBuffer commands,
                        VkPipelineStageFlags to, VkAccessFlags access) {
  const VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                  .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                  .dstAccessMask = access};
  vulkan->driver.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, to, 0, 1, &memory,
                                    0, NULL, 0, NULL);
}

static void put_full_barrier(const struct tide_vulkan *vulkan, VkCommandBuffer commands) {
  put_barrier(vulkan, commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
              VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
}

void tide_vulkan_barrier(struct tide_device *gpu, VkCommandBuffer commands) {
  put_full_barrier(tide_vulkan_of(gpu), commands);
}

/* Records the body. Its writes are made available to the host, too. */
static enum tide_status record_body(struct tide_vulkan *vulkan, const struct tide_work *work,
                                    VkCommandBuffer commands) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  const char *label = driver->CmdBeginDebugUtilsLabelEXT ? tide_work_label(work) : "";
  const VkDebugUtilsLabelEXT what = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
                                     .pLabelName = *label ? label : work->body->name};
  bool is_labelled = driver->CmdBeginDebugUtilsLabelEXT && what.pLabelName;
  if (is_labelled) driver->CmdBeginDebugUtilsLabelEXT(commands, &what);
  enum tide_status status =
      ops_of(work)->record(tide_work_arguments(work), vulkan->device, commands);
  if (is_labelled) driver->CmdEndDebugUtilsLabelEXT(commands);
  put_barrier(vulkan, commands, VK_PIPELINE_STAGE_HOST_BIT,
              VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT);
  return status;
}

static enum tide_status record_work(struct tide_vulkan *vulkan, const struct tide_work *work,
                                    bool barrier, VkCommandBuffer commands) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                          .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  enum tide_status status = tide_status_of_vulkan(driver->BeginCommandBuffer(commands, &begin));
  if (status != TIDE_OK) return status;
  if (barrier) put_full_barrier(vulkan, commands);
  if (work->body) status = record_body(vulkan, work, commands);
  VkResult ended = driver->EndCommandBuffer(commands);
  return status == TIDE_OK ? tide_status_of_vulkan(ended) : status;
}

/* Adds a submission to the batch: its waits for other VkQueues, and its signal. A wait holds back
 * all that comes later, so one before it in the same call need not be repeated: the call submits
 * all of its batches, or none. */
static void add_submission(struct tide_vulkan_lane *lane, struct batch *batch,
                           struct tide_work *work, const struct tide_submission *submission,
                           const VkCommandBuffer *commands) {
  uint32_t i = batch->count++, waits = 0;
  for (uint32_t w = 0; w < submission->wait_count; w++) {
    const struct tide_native_wait *wait = &submission->waits[w];
    uint64_t *newest = &batch->newest[wait->hardware_queue];
    if (wait->hardware_queue == lane->index) continue; /* its barrier */
    if (wait->submission <= *newest) continue;
    *newest = wait->submission;
    batch->semaphores[i][waits] = lane->vulkan->lanes[wait->hardware_queue].semaphore;
    batch->awaited[i][waits++] = wait->submission;
  }
  batch->works[i] = work;
  batch->numbers[i] = submission->number;
  batch->values[i] =
      (VkTimelineSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                      .waitSemaphoreValueCount = waits,
                                      .pWaitSemaphoreValues = batch->awaited[i],
                                      .signalSemaphoreValueCount = 1,
                                      .pSignalSemaphoreValues = &batch->numbers[i]};
  batch->submits[i] = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                     .pNext = &batch->values[i],
                                     .waitSemaphoreCount = waits,
                                     .pWaitSemaphores = batch->semaphores[i],
                                     .pWaitDstStageMask = all_stages,
                                     .commandBufferCount = commands != NULL,
                                     .pCommandBuffers = commands,
                                     .signalSemaphoreCount = 1,
                                     .pSignalSemaphores = &lane->semaphore};
}

/* Records a work, and adds it to the batch unless it is refused. An empty submission without a
 * barrier has no command buffer. Only the host sees a value of an imported semaphore, so after one
 * a barrier makes the writes before its signal visible. */
static void prepare_work(struct tide_vulkan_lane *lane, struct batch *batch, struct tide_work *work,
                         const struct tide_submission *submission) {
  struct tide_vulkan *vulkan = lane->vulkan;
  uint32_t imported = tide_load_acquire(&vulkan->imported);
  bool barrier = needs_barrier(submission) || imported != lane->imported;
  struct tide_vulkan_slot *slot = &lane->slots[lane->recorded % vulkan->ahead];
  if (!work->body && !barrier) {
    add_submission(lane, batch, work, submission, NULL);
    return;
  }
  vulkan->frame.failure.status = TIDE_OK;
  slot->dispatches = 0;
  vulkan->recording = slot;
  enum tide_status status = record_work(vulkan, work, barrier, slot->commands);
  vulkan->recording = NULL;
  if (status != TIDE_OK) {
    tide_work_fail(work, tide_body_failure(&vulkan->frame, status));
    return;
  }
  lane->recorded++;
  lane->imported = imported;
  add_submission(lane, batch, work, submission, &slot->commands);
}

/* A call that fails for want of memory has submitted none of its batches. Any other error leaves
 * open which of them run: then the VkDevice counts as lost. */
static VkResult submit_batch(struct tide_vulkan_lane *lane, struct batch *batch) {
  struct tide_vulkan *vulkan = lane->vulkan;
  if (!batch->count) return VK_SUCCESS;
  if (vulkan->lock) vulkan->lock(vulkan->lock_self, lane->queue.queue);
  VkResult result =
      vulkan->driver.QueueSubmit(lane->queue.queue, batch->count, batch->submits, VK_NULL_HANDLE);
  if (vulkan->unlock) vulkan->unlock(vulkan->lock_self, lane->queue.queue);
  if (result != VK_ERROR_OUT_OF_HOST_MEMORY && result != VK_ERROR_OUT_OF_DEVICE_MEMORY)
    return result;
  vulkan->frame.failure.status = TIDE_OK;
  enum tide_status status = tide_status_of_vulkan(result);
  lane->recorded = batch->recorded;
  lane->imported = batch->imported;
  for (uint32_t i = 0; i < batch->count; i++)
    tide_work_fail(batch->works[i], tide_body_failure(&vulkan->frame, status));
  return VK_SUCCESS;
}

VkResult tide_vulkan_submit(struct tide_vulkan *vulkan, struct tide_work *const *works,
                            size_t count) {
  struct tide_submission submissions[TIDE_VULKAN_AT_ONCE];
  for (size_t i = 0; i < count; i++) tide_work_submission(works[i], &submissions[i]);
  for (uint32_t l = 0; l < vulkan->lane_count; l++) {
    struct tide_vulkan_lane *lane = &vulkan->lanes[l];
    struct batch batch;
    batch.count = 0;
    memset(batch.newest, 0, sizeof batch.newest);
    batch.recorded = lane->recorded;
    batch.imported = lane->imported;
    for (size_t i = 0; i < count; i++)
      if (submissions[i].hardware_queue == l) prepare_work(lane, &batch, works[i], &submissions[i]);
    VkResult result = submit_batch(lane, &batch);
    if (result != VK_SUCCESS) return result;
  }
  return VK_SUCCESS;
}
