/* Transfers of ownership between queue families, followed in the order of release. Only certain
 * mistakes are reported: an acquire without an earlier release of the same part, and a copy from a
 * whole buffer or image that was released and not acquired. A write to such a resource discards its
 * contents, and needs no transfer. */
#include "layer/entries.h"
#include "layer/command_buffer.h"

#include <stdlib.h>

/* ---- while commands are recorded ------------------------------------------------- */

void layer_step_add(struct layer_commands *commands, const struct layer_step *step) {
  if (!commands) return;
  if (commands->step_count == commands->step_capacity) {
    size_t capacity = commands->step_capacity ? commands->step_capacity * 2 : 8;
    struct layer_step *wider = realloc(commands->steps, capacity * sizeof *wider);
    if (!wider) return;
    commands->steps = wider;
    commands->step_capacity = capacity;
  }
  commands->steps[commands->step_count++] = *step;
}

static bool is_transfer(uint32_t from, uint32_t to) {
  return from != to && from < LAYER_FAMILIES_MOST && to < LAYER_FAMILIES_MOST;
}

static uint64_t mix_hash(uint64_t hash, uint64_t number) {
  struct tide_random random = {.state = hash ^ number};
  return tide_random_next(&random);
}

void layer_buffer_transfer(struct layer_device *device, struct layer_commands *commands,
                           VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size, uint32_t from,
                           uint32_t to) {
  if (!commands || !is_transfer(from, to)) return;
  pthread_mutex_lock(&device->lock);
  uintptr_t whole = (uintptr_t)layer_table_find(&device->explorer->buffers, (uint64_t)buffer);
  pthread_mutex_unlock(&device->lock);
  if (size == VK_WHOLE_SIZE && whole > offset) size = whole - offset;
  layer_step_add(
      commands, &(struct layer_step){.resource = (uint64_t)buffer,
                                     .part = mix_hash(mix_hash((uint64_t)buffer, offset), size) | 1,
                                     .from = from,
                                     .to = to,
                                     .is_whole = offset == 0 && size == whole});
}

/* Whether a range is the whole image is not followed: copies from parts are not accused. */
void layer_image_transfer(struct layer_device *device, struct layer_commands *commands,
                          VkImage image, const VkImageSubresourceRange *range, uint32_t from,
                          uint32_t to, bool discards) {
  if (!commands || !is_transfer(from, to)) return;
  pthread_mutex_lock(&device->lock);
  uintptr_t whole = (uintptr_t)layer_table_find(&device->explorer->buffers, (uint64_t)image);
  pthread_mutex_unlock(&device->lock);
  uint32_t levels = range->levelCount, layers = range->layerCount;
  if (levels == VK_REMAINING_MIP_LEVELS) levels = (uint32_t)(whole >> 32) - range->baseMipLevel;
  if (layers == VK_REMAINING_ARRAY_LAYERS) layers = (uint32_t)whole - range->baseArrayLayer;
  uint64_t part = mix_hash((uint64_t)image, range->aspectMask);
  part = mix_hash(part, (uint64_t)range->baseMipLevel << 32 | levels);
  part = mix_hash(part, (uint64_t)range->baseArrayLayer << 32 | layers);
  layer_step_add(commands, &(struct layer_step){.resource = (uint64_t)image,
                                                .part = part | 1,
                                                .from = from,
                                                .to = to,
                                                .discards = discards});
}

/* ---- while submissions are released ---------------------------------------------- */

static void *way_of(const struct layer_step *step) {
  return (void *)(((uintptr_t)step->from << 8 | step->to) + 1);
}

static void pass_transfer(struct layer_explorer *explorer,
                          const struct layer_submission *submission, uint32_t family,
                          const struct layer_step *step) {
  struct layer_text name;
  if (family == step->from) {
    layer_table_put(&explorer->owners, step->part, way_of(step));
    if (step->is_whole) layer_table_put(&explorer->between, step->resource, way_of(step));
    return;
  }
  if (family != step->to) return;
  layer_table_take(&explorer->between, step->resource);
  if (layer_table_take(&explorer->owners, step->part) == way_of(step) || step->discards) return;
  layer_finding("ownership",
                "%s acquires something from family %u for family %u, and no release of it went "
                "before",
                layer_name_submission(submission, &name), step->from, step->to);
}

static void pass_use(struct layer_explorer *explorer, const struct layer_submission *submission,
                     const struct layer_step *step) {
  uintptr_t way = (uintptr_t)layer_table_take(&explorer->between, step->resource);
  struct layer_text name;
  if (!way || step->kind == LAYER_STEP_WRITE) return;
  layer_finding("ownership",
                "%s copies from a buffer that family %u released to family %u, before family %u "
                "acquired it",
                layer_name_submission(submission, &name), (unsigned)((way - 1) >> 8),
                (unsigned)((way - 1) & 255), (unsigned)((way - 1) & 255));
}

void layer_commands_released(struct layer_device *device,
                             const struct layer_submission *submission) {
  struct layer_explorer *explorer = device->explorer;
  for (uint32_t i = 0; i < submission->command_count; i++) {
    const struct layer_commands *commands =
        layer_table_find(&explorer->commands, (uint64_t)(uintptr_t)submission->commands[i]);
    for (size_t k = 0; commands && k < commands->step_count; k++) {
      const struct layer_step *step = &commands->steps[k];
      if (step->kind == LAYER_STEP_TRANSFER)
        pass_transfer(explorer, submission, commands->family, step);
      else pass_use(explorer, submission, step);
    }
  }
}

/* ---- copies ---------------------------------------------------------------------- */

static void add_use(struct layer_device *device, VkCommandBuffer commands, uint64_t resource,
                    bool writes) {
  if (device->real_families == layer_families_advertised(device->real_families) &&
      device->real_families == 1)
    return; /* nothing was ever transferred */
  layer_step_add(layer_commands_of(device, commands),
                 &(struct layer_step){.kind = writes ? LAYER_STEP_WRITE : LAYER_STEP_READ,
                                      .resource = resource});
}

#define COPY(name, parameters, from, to, ...)                                                      \
  VKAPI_ATTR void VKAPI_CALL layer_##name parameters {                                             \
    struct layer_device *device = layer_device_of(commands);                                       \
    add_use(device, commands, (uint64_t)(from), false);                                            \
    add_use(device, commands, (uint64_t)(to), true);                                               \
    device->next_layer.name(__VA_ARGS__);                                                          \
  }

COPY(CmdCopyBuffer,
     (VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count,
      const VkBufferCopy *regions),
     from, to, commands, from, to, count, regions)
COPY(CmdCopyBuffer2, (VkCommandBuffer commands, const VkCopyBufferInfo2 *info), info->srcBuffer,
     info->dstBuffer, commands, info)
COPY(CmdCopyImage,
     (VkCommandBuffer commands, VkImage from, VkImageLayout from_layout, VkImage to,
      VkImageLayout to_layout, uint32_t count, const VkImageCopy *regions),
     from, to, commands, from, from_layout, to, to_layout, count, regions)
COPY(CmdCopyImage2, (VkCommandBuffer commands, const VkCopyImageInfo2 *info), info->srcImage,
     info->dstImage, commands, info)
COPY(CmdCopyBufferToImage,
     (VkCommandBuffer commands, VkBuffer from, VkImage to, VkImageLayout layout, uint32_t count,
      const VkBufferImageCopy *regions),
     from, to, commands, from, to, layout, count, regions)
COPY(CmdCopyBufferToImage2, (VkCommandBuffer commands, const VkCopyBufferToImageInfo2 *info),
     info->srcBuffer, info->dstImage, commands, info)
COPY(CmdCopyImageToBuffer,
     (VkCommandBuffer commands, VkImage from, VkImageLayout layout, VkBuffer to, uint32_t count,
      const VkBufferImageCopy *regions),
     from, to, commands, from, layout, to, count, regions)
COPY(CmdCopyImageToBuffer2, (VkCommandBuffer commands, const VkCopyImageToBufferInfo2 *info),
     info->srcImage, info->dstBuffer, commands, info)

VKAPI_ATTR void VKAPI_CALL layer_CmdFillBuffer(VkCommandBuffer commands, VkBuffer to,
                                               VkDeviceSize offset, VkDeviceSize size,
                                               uint32_t data) {
  struct layer_device *device = layer_device_of(commands);
  add_use(device, commands, (uint64_t)to, true);
  device->next_layer.CmdFillBuffer(commands, to, offset, size, data);
}

VKAPI_ATTR void VKAPI_CALL layer_CmdUpdateBuffer(VkCommandBuffer commands, VkBuffer to,
                                                 VkDeviceSize offset, VkDeviceSize size,
                                                 const void *data) {
  struct layer_device *device = layer_device_of(commands);
  add_use(device, commands, (uint64_t)to, true);
  device->next_layer.CmdUpdateBuffer(commands, to, offset, size, data);
}
