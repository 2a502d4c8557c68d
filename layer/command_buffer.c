/* Command buffers: do their commands order a submission against its neighbours in the queue?
 *
 * A pipeline barrier orders everything before it in the queue against everything after it, also
 * across submissions, unless one of its scopes is empty. Render passes, events and queries are
 * taken for such barriers, too: that forgoes orders, and accuses no program wrongly.
 *
 * Layout transitions of a queue are ordered among themselves, independent of their barriers. A
 * driver that runs on the CPU does nothing for them, so there two submissions may still change
 * places; elsewhere each transition counts as a barrier. */
#include "layer/entries.h"
#include "layer/command_buffer.h"

#include <stdlib.h>
#include <string.h>

static uint64_t key_of(const void *handle) { return (uint64_t)(uintptr_t)handle; }

struct layer_commands *layer_commands_of(struct layer_device *device, VkCommandBuffer commands) {
  pthread_mutex_lock(&device->lock);
  struct layer_commands *state = layer_table_find(&device->explorer->commands, key_of(commands));
  pthread_mutex_unlock(&device->lock);
  return state;
}

static void link_commands(struct layer_device *device, VkCommandBuffer commands) {
  struct layer_commands *state = layer_commands_of(device, commands);
  if (state) state->is_linked = true;
}

bool layer_commands_link(struct layer_device *device, const VkCommandBuffer *commands,
                         uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const struct layer_commands *state =
        layer_table_find(&device->explorer->commands, key_of(commands[i]));
    if (!state || state->is_linked) return true;
  }
  return false;
}

/* ---- pools and command buffers --------------------------------------------------- */

static void free_state(void *object) {
  struct layer_commands *state = object;
  free(state->steps);
  free(state->host_events);
  free(state);
}

void layer_commands_fini(struct layer_explorer *explorer) {
  layer_table_fini(&explorer->commands, free_state);
  layer_table_fini(&explorer->pools, NULL);
  layer_table_fini(&explorer->owners, NULL);
  layer_table_fini(&explorer->between, NULL);
  layer_table_fini(&explorer->buffers, NULL);
  layer_table_fini(&explorer->memories, free);
  layer_table_fini(&explorer->private_data, NULL);
  layer_table_fini(&explorer->events, NULL);
}

static bool names_commands(struct layer_device *device, const struct layer_submission *submission,
                           VkCommandBuffer commands, VkCommandPool pool) {
  for (uint32_t i = 0; i < submission->command_count; i++) {
    const struct layer_commands *state =
        layer_table_find(&device->explorer->commands, key_of(submission->commands[i]));
    if (pool ? state && state->pool == pool : submission->commands[i] == commands) return true;
  }
  return false;
}

/* Lets held submissions finish that name the command buffer or, if it is given, a buffer of the
 * pool. */
static void accuse_commands(struct layer_device *device, VkCommandBuffer commands,
                            VkCommandPool pool, const char *what) {
  struct layer_submission *at;
  uint64_t accused = 0;
  pthread_mutex_lock(&device->lock);
  do {
    at = device->explorer->first;
    while (at && (at->number <= accused || !names_commands(device, at, commands, pool)))
      at = at->next;
    if (at) {
      accused = at->number;
      layer_keep_accuse(device, at, what); /* unlocks meanwhile */
    }
  } while (at);
  pthread_mutex_unlock(&device->lock);
}

static void clear_state(struct layer_device *device, VkCommandBuffer commands) {
  struct layer_commands *state = layer_commands_of(device, commands);
  if (!state) return;
  state->is_linked = false;
  state->step_count = state->host_event_count = 0;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_CreateCommandPool(VkDevice handle,
                                                       const VkCommandPoolCreateInfo *info,
                                                       const VkAllocationCallbacks *allocator,
                                                       VkCommandPool *out_pool) {
  struct layer_device *device = layer_device_of(handle);
  VkCommandPoolCreateInfo mapped = *info;
  mapped.queueFamilyIndex = layer_real_family(device, info->queueFamilyIndex);
  VkResult result = device->next_layer.CreateCommandPool(handle, &mapped, allocator, out_pool);
  if (result != VK_SUCCESS) return result;
  pthread_mutex_lock(&device->lock);
  layer_table_put(&device->explorer->pools, (uint64_t)*out_pool,
                  (void *)((uintptr_t)info->queueFamilyIndex + 1));
  pthread_mutex_unlock(&device->lock);
  return result;
}

static void forget_pool(struct layer_device *device, VkCommandPool pool) {
  struct layer_table *commands = &device->explorer->commands;
  pthread_mutex_lock(&device->lock);
  layer_table_take(&device->explorer->pools, (uint64_t)pool);
  for (size_t i = 0; i < commands->bucket_count; i++) {
    for (struct layer_entry *entry = commands->buckets[i]; entry;) {
      struct layer_entry *next = entry->next;
      if (((struct layer_commands *)entry->object)->pool == pool)
        free_state(layer_table_take(commands, entry->handle));
      entry = next;
    }
  }
  pthread_mutex_unlock(&device->lock);
}

VKAPI_ATTR void VKAPI_CALL layer_DestroyCommandPool(VkDevice handle, VkCommandPool pool,
                                                    const VkAllocationCallbacks *allocator) {
  struct layer_device *device = layer_device_of(handle);
  if (pool) {
    accuse_commands(device, NULL, pool, "a command pool was destroyed");
    forget_pool(device, pool);
  }
  device->next_layer.DestroyCommandPool(handle, pool, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_ResetCommandPool(VkDevice handle, VkCommandPool pool,
                                                      VkCommandPoolResetFlags flags) {
  struct layer_device *device = layer_device_of(handle);
  accuse_commands(device, NULL, pool, "a command pool was reset");
  return device->next_layer.ResetCommandPool(handle, pool, flags);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_AllocateCommandBuffers(VkDevice handle,
                                                            const VkCommandBufferAllocateInfo *info,
                                                            VkCommandBuffer *out_commands) {
  struct layer_device *device = layer_device_of(handle);
  struct layer_explorer *explorer = device->explorer;
  VkResult result = device->next_layer.AllocateCommandBuffers(handle, info, out_commands);
  if (result != VK_SUCCESS) return result;
  pthread_mutex_lock(&device->lock);
  for (uint32_t i = 0; i < info->commandBufferCount; i++) /* a handle is used again */
    free(layer_table_take(&device->names, key_of(out_commands[i])));
  if (!explorer) {
    pthread_mutex_unlock(&device->lock);
    return result;
  }
  uintptr_t family = (uintptr_t)layer_table_find(&explorer->pools, (uint64_t)info->commandPool);
  for (uint32_t i = 0; i < info->commandBufferCount; i++) {
    struct layer_commands *state = calloc(1, sizeof *state);
    if (!state) continue; /* unknown: counts as linked */
    state->pool = info->commandPool;
    state->family = (uint32_t)(family ? family - 1 : 0);
    struct layer_commands *old = layer_table_take(&explorer->commands, key_of(out_commands[i]));
    if (old) free_state(old);
    if (!layer_table_put(&explorer->commands, key_of(out_commands[i]), state)) free_state(state);
  }
  pthread_mutex_unlock(&device->lock);
  return result;
}

VKAPI_ATTR void VKAPI_CALL layer_FreeCommandBuffers(VkDevice handle, VkCommandPool pool,
                                                    uint32_t count,
                                                    const VkCommandBuffer *commands) {
  struct layer_device *device = layer_device_of(handle);
  for (uint32_t i = 0; i < count; i++) {
    if (!commands[i]) continue;
    accuse_commands(device, commands[i], VK_NULL_HANDLE, "a command buffer was freed");
    pthread_mutex_lock(&device->lock);
    struct layer_commands *state =
        layer_table_take(&device->explorer->commands, key_of(commands[i]));
    pthread_mutex_unlock(&device->lock);
    if (state) free_state(state);
  }
  device->next_layer.FreeCommandBuffers(handle, pool, count, commands);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_BeginCommandBuffer(VkCommandBuffer commands,
                                                        const VkCommandBufferBeginInfo *info) {
  struct layer_device *device = layer_device_of(commands);
  accuse_commands(device, commands, VK_NULL_HANDLE, "a command buffer was recorded anew");
  clear_state(device, commands);
  return device->next_layer.BeginCommandBuffer(commands, info);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_ResetCommandBuffer(VkCommandBuffer commands,
                                                        VkCommandBufferResetFlags flags) {
  struct layer_device *device = layer_device_of(commands);
  accuse_commands(device, commands, VK_NULL_HANDLE, "a command buffer was reset");
  clear_state(device, commands);
  return device->next_layer.ResetCommandBuffer(commands, flags);
}

/* ---- commands that link ---------------------------------------------------------- */

#define LINKING(name, parameters, ...)                                                             \
  VKAPI_ATTR void VKAPI_CALL layer_##name parameters {                                             \
    struct layer_device *device = layer_device_of(commands);                                       \
    link_commands(device, commands);                                                               \
    device->next_layer.name(__VA_ARGS__);                                                          \
  }

/* ---- events: the host may set one that a submission waits for -------------------- */

enum { BY_HOST = 1, BY_DEVICE = 2 };

static void mark_event(struct layer_device *device, VkEvent event, uintptr_t mark, bool is_set) {
  struct layer_table *events = &device->explorer->events;
  pthread_mutex_lock(&device->lock);
  uintptr_t marks = (uintptr_t)layer_table_find(events, (uint64_t)event);
  marks = is_set ? marks | mark : marks & ~mark;
  layer_table_put(events, (uint64_t)event, (void *)marks);
  device->explorer->generation++;
  pthread_cond_broadcast(&device->changed);
  pthread_mutex_unlock(&device->lock);
}

bool layer_host_events_are_set(struct layer_device *device,
                               const struct layer_submission *submission) {
  struct layer_explorer *explorer = device->explorer;
  for (uint32_t i = 0; i < submission->command_count; i++) {
    const struct layer_commands *state =
        layer_table_find(&explorer->commands, key_of(submission->commands[i]));
    for (size_t k = 0; state && k < state->host_event_count; k++)
      if (!layer_table_find(&explorer->events, (uint64_t)state->host_events[k])) return false;
  }
  return true;
}

static void wait_for_events(struct layer_device *device, VkCommandBuffer commands, uint32_t count,
                            const VkEvent *events, bool of_host) {
  struct layer_commands *state = layer_commands_of(device, commands);
  if (!state) return;
  state->is_linked = true;
  VkEvent *wider = of_host && count ? realloc(state->host_events,
                                              (state->host_event_count + count) * sizeof *wider)
                                    : NULL;
  if (!wider) return;
  memcpy(wider + state->host_event_count, events, count * sizeof *wider);
  state->host_events = wider;
  state->host_event_count += count;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_SetEvent(VkDevice handle, VkEvent event) {
  struct layer_device *device = layer_device_of(handle);
  mark_event(device, event, BY_HOST, true);
  return layer_check_lost(device, device->next_layer.SetEvent(handle, event));
}

VKAPI_ATTR VkResult VKAPI_CALL layer_ResetEvent(VkDevice handle, VkEvent event) {
  struct layer_device *device = layer_device_of(handle);
  mark_event(device, event, BY_HOST, false);
  return layer_check_lost(device, device->next_layer.ResetEvent(handle, event));
}

VKAPI_ATTR void VKAPI_CALL layer_CmdSetEvent(VkCommandBuffer commands, VkEvent event,
                                             VkPipelineStageFlags stages) {
  struct layer_device *device = layer_device_of(commands);
  link_commands(device, commands);
  mark_event(device, event, BY_DEVICE, true);
  device->next_layer.CmdSetEvent(commands, event, stages);
}

VKAPI_ATTR void VKAPI_CALL layer_CmdSetEvent2(VkCommandBuffer commands, VkEvent event,
                                              const VkDependencyInfo *info) {
  struct layer_device *device = layer_device_of(commands);
  link_commands(device, commands);
  mark_event(device, event, BY_DEVICE, true);
  device->next_layer.CmdSetEvent2(commands, event, info);
}

VKAPI_ATTR void VKAPI_CALL layer_CmdWaitEvents2(VkCommandBuffer commands, uint32_t count,
                                                const VkEvent *events,
                                                const VkDependencyInfo *infos) {
  struct layer_device *device = layer_device_of(commands);
  for (uint32_t i = 0; i < count; i++) {
    bool of_host = false;
    for (uint32_t k = 0; k < infos[i].memoryBarrierCount; k++)
      of_host |= (infos[i].pMemoryBarriers[k].srcStageMask & VK_PIPELINE_STAGE_2_HOST_BIT) != 0;
    wait_for_events(device, commands, 1, &events[i], of_host);
  }
  device->next_layer.CmdWaitEvents2(commands, count, events, infos);
}

VKAPI_ATTR void VKAPI_CALL layer_CmdWaitEvents(
    VkCommandBuffer commands, uint32_t count, const VkEvent *events, VkPipelineStageFlags from,
    VkPipelineStageFlags to, uint32_t memory_count, const VkMemoryBarrier *memories,
    uint32_t buffer_count, const VkBufferMemoryBarrier *buffers, uint32_t image_count,
    const VkImageMemoryBarrier *images) {
  struct layer_device *device = layer_device_of(commands);
  wait_for_events(device, commands, count, events, from & VK_PIPELINE_STAGE_HOST_BIT);
  device->next_layer.CmdWaitEvents(commands, count, events, from, to, memory_count, memories,
                                   buffer_count, buffers, image_count, images);
}

LINKING(CmdResetEvent, (VkCommandBuffer commands, VkEvent event, VkPipelineStageFlags stages),
        commands, event, stages)
LINKING(CmdResetEvent2, (VkCommandBuffer commands, VkEvent event, VkPipelineStageFlags2 stages),
        commands, event, stages)
LINKING(CmdBeginRenderPass,
        (VkCommandBuffer commands, const VkRenderPassBeginInfo *info, VkSubpassContents contents),
        commands, info, contents)
LINKING(CmdBeginRenderPass2,
        (VkCommandBuffer commands, const VkRenderPassBeginInfo *info,
         const VkSubpassBeginInfo *subpass),
        commands, info, subpass)
LINKING(CmdBeginRendering, (VkCommandBuffer commands, const VkRenderingInfo *info), commands, info)
LINKING(CmdBeginQuery,
        (VkCommandBuffer commands, VkQueryPool pool, uint32_t query, VkQueryControlFlags flags),
        commands, pool, query, flags)
LINKING(CmdBeginQueryIndexedEXT,
        (VkCommandBuffer commands, VkQueryPool pool, uint32_t query, VkQueryControlFlags flags,
         uint32_t index),
        commands, pool, query, flags, index)
LINKING(CmdResetQueryPool,
        (VkCommandBuffer commands, VkQueryPool pool, uint32_t first, uint32_t count), commands,
        pool, first, count)
LINKING(CmdWriteTimestamp,
        (VkCommandBuffer commands, VkPipelineStageFlagBits stage, VkQueryPool pool, uint32_t query),
        commands, stage, pool, query)
LINKING(CmdWriteTimestamp2,
        (VkCommandBuffer commands, VkPipelineStageFlags2 stage, VkQueryPool pool, uint32_t query),
        commands, stage, pool, query)
LINKING(CmdCopyQueryPoolResults,
        (VkCommandBuffer commands, VkQueryPool pool, uint32_t first, uint32_t count, VkBuffer to,
         VkDeviceSize offset, VkDeviceSize stride, VkQueryResultFlags flags),
        commands, pool, first, count, to, offset, stride, flags)

VKAPI_ATTR void VKAPI_CALL layer_CmdExecuteCommands(VkCommandBuffer commands, uint32_t count,
                                                    const VkCommandBuffer *secondaries) {
  struct layer_device *device = layer_device_of(commands);
  struct layer_commands *state = layer_commands_of(device, commands);
  for (uint32_t i = 0; state && i < count; i++) {
    const struct layer_commands *secondary = layer_commands_of(device, secondaries[i]);
    if (!secondary || secondary->is_linked) state->is_linked = true;
    for (size_t k = 0; secondary && k < secondary->step_count; k++)
      layer_step_add(state, &secondary->steps[k]);
    if (secondary && secondary->host_event_count)
      wait_for_events(device, commands, (uint32_t)secondary->host_event_count,
                      secondary->host_events, true);
  }
  device->next_layer.CmdExecuteCommands(commands, count, secondaries);
}

/* ---- barriers -------------------------------------------------------------------- */

/* True if a barrier with these scopes links submissions. The host is no part of the queue. */
static bool links_submissions(VkPipelineStageFlags2 from, VkPipelineStageFlags2 to) {
  return (from & ~(VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT | VK_PIPELINE_STAGE_2_HOST_BIT)) != 0 &&
         (to & ~(VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT | VK_PIPELINE_STAGE_2_HOST_BIT)) != 0;
}

/* The driver has one family where the program sees three: a transfer between them is none for it.
 * The layout changes once, with the release. */
#define MAP_FAMILIES(device, state, barrier)                                                       \
  do {                                                                                             \
    uint32_t from = (barrier)->srcQueueFamilyIndex, to = (barrier)->dstQueueFamilyIndex;           \
    (barrier)->srcQueueFamilyIndex = layer_real_family(device, from);                              \
    (barrier)->dstQueueFamilyIndex = layer_real_family(device, to);                                \
    if ((barrier)->srcQueueFamilyIndex == (barrier)->dstQueueFamilyIndex)                          \
      (barrier)->srcQueueFamilyIndex = (barrier)->dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;   \
    bool is_merged = from != to && (barrier)->srcQueueFamilyIndex == VK_QUEUE_FAMILY_IGNORED;      \
    is_acquire = is_merged && (state) && (state)->family == to;                                    \
  } while (0)

/* Copies of barriers for the driver. NULL: none, or no memory (then they go as they are). */
#define COPY(type, from, count) (count ? copy_array(from, count, sizeof(type)) : NULL)
static void *copy_array(const void *from, uint32_t count, size_t size) {
  void *to = malloc(count * size);
  return to ? memcpy(to, from, count * size) : NULL;
}

VKAPI_ATTR void VKAPI_CALL layer_CmdPipelineBarrier(
    VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to,
    VkDependencyFlags flags, uint32_t memory_count, const VkMemoryBarrier *memories,
    uint32_t buffer_count, const VkBufferMemoryBarrier *buffers, uint32_t image_count,
    const VkImageMemoryBarrier *images) {
  struct layer_device *device = layer_device_of(commands);
  struct layer_commands *state = layer_commands_of(device, commands);
  VkBufferMemoryBarrier *own_buffers = COPY(VkBufferMemoryBarrier, buffers, buffer_count);
  VkImageMemoryBarrier *own_images = COPY(VkImageMemoryBarrier, images, image_count);
  bool is_acquire;
  if (state && links_submissions(from, to)) state->is_linked = true;
  for (uint32_t i = 0; own_buffers && i < buffer_count; i++) {
    VkBufferMemoryBarrier *barrier = &own_buffers[i];
    layer_buffer_transfer(device, state, barrier->buffer, barrier->offset, barrier->size,
                          barrier->srcQueueFamilyIndex, barrier->dstQueueFamilyIndex);
    MAP_FAMILIES(device, state, barrier);
  }
  for (uint32_t i = 0; own_images && i < image_count; i++) {
    VkImageMemoryBarrier *barrier = &own_images[i];
    if (state && !device->is_cpu && barrier->oldLayout != barrier->newLayout)
      state->is_linked = true;
    layer_image_transfer(device, state, barrier->image, &barrier->subresourceRange,
                         barrier->srcQueueFamilyIndex, barrier->dstQueueFamilyIndex,
                         barrier->oldLayout == VK_IMAGE_LAYOUT_UNDEFINED);
    MAP_FAMILIES(device, state, barrier);
    if (is_acquire) barrier->oldLayout = barrier->newLayout;
  }
  device->next_layer.CmdPipelineBarrier(commands, from, to, flags, memory_count, memories,
                                        buffer_count, own_buffers ? own_buffers : buffers,
                                        image_count, own_images ? own_images : images);
  free(own_buffers);
  free(own_images);
}

VKAPI_ATTR void VKAPI_CALL layer_CmdPipelineBarrier2(VkCommandBuffer commands,
                                                     const VkDependencyInfo *info) {
  struct layer_device *device = layer_device_of(commands);
  struct layer_commands *state = layer_commands_of(device, commands);
  VkDependencyInfo mapped = *info;
  VkBufferMemoryBarrier2 *buffers =
      COPY(VkBufferMemoryBarrier2, info->pBufferMemoryBarriers, info->bufferMemoryBarrierCount);
  VkImageMemoryBarrier2 *images =
      COPY(VkImageMemoryBarrier2, info->pImageMemoryBarriers, info->imageMemoryBarrierCount);
  bool is_acquire, is_linked = false;
  for (uint32_t i = 0; i < info->memoryBarrierCount; i++)
    is_linked |= links_submissions(info->pMemoryBarriers[i].srcStageMask,
                                   info->pMemoryBarriers[i].dstStageMask);
  for (uint32_t i = 0; buffers && i < info->bufferMemoryBarrierCount; i++) {
    VkBufferMemoryBarrier2 *barrier = &buffers[i];
    is_linked |= links_submissions(barrier->srcStageMask, barrier->dstStageMask);
    layer_buffer_transfer(device, state, barrier->buffer, barrier->offset, barrier->size,
                          barrier->srcQueueFamilyIndex, barrier->dstQueueFamilyIndex);
    MAP_FAMILIES(device, state, barrier);
  }
  for (uint32_t i = 0; images && i < info->imageMemoryBarrierCount; i++) {
    VkImageMemoryBarrier2 *barrier = &images[i];
    is_linked |= links_submissions(barrier->srcStageMask, barrier->dstStageMask) ||
                 (!device->is_cpu && barrier->oldLayout != barrier->newLayout);
    layer_image_transfer(device, state, barrier->image, &barrier->subresourceRange,
                         barrier->srcQueueFamilyIndex, barrier->dstQueueFamilyIndex,
                         barrier->oldLayout == VK_IMAGE_LAYOUT_UNDEFINED);
    MAP_FAMILIES(device, state, barrier);
    if (is_acquire) barrier->oldLayout = barrier->newLayout;
  }
  if (state && is_linked) state->is_linked = true;
  if (buffers) mapped.pBufferMemoryBarriers = buffers;
  if (images) mapped.pImageMemoryBarriers = images;
  device->next_layer.CmdPipelineBarrier2(commands, &mapped);
  free(buffers);
  free(images);
}
