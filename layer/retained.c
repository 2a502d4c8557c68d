/* Memory and objects of a program, while submissions are held.
 *
 * New memory is filled with a pattern of the seed: a read of bytes that no command wrote differs
 * from seed to seed. Objects destroyed while submissions are held stay alive until these have
 * finished. Freed memory is filled again, so that a submission that still reads it shows other
 * bytes instead of crashing. A correct program sees no difference. */
#include "layer/entries.h"
#include "layer/explore.h"

#include <stdlib.h>

#define FILL_MOST (256u << 20) /* bytes of one allocation */
#define KEPT_MOST (256u << 20) /* bytes; memory freed beyond this is not kept */

struct layer_kept {
  enum layer_object object;
  uint64_t handle;
  const VkAllocationCallbacks *allocator;
  uint64_t after; /* the newest submission that was held */
  uint64_t bytes; /* bytes of memory */
  struct layer_kept *next;
};

struct memory {
  VkDeviceSize size;
  bool is_private; /* host-visible, and used by no other process or device */
  bool is_mapped;
};

/* ---- destroying later ------------------------------------------------------------ */

static void destroy_kept(struct layer_device *device, const struct layer_kept *kept) {
  const struct layer_device_calls *next = &device->next_layer;
  VkDevice handle = device->handle;
  const VkAllocationCallbacks *a = kept->allocator;
  switch (kept->object) {
#define DESTROY(name, call, type)                                                                  \
  case LAYER_OBJECT_##name: next->call(handle, (type)kept->handle, a); break;
    DESTROY(SEMAPHORE, DestroySemaphore, VkSemaphore)
    DESTROY(FENCE, DestroyFence, VkFence)
    DESTROY(MEMORY, FreeMemory, VkDeviceMemory)
    DESTROY(BUFFER, DestroyBuffer, VkBuffer)
    DESTROY(IMAGE, DestroyImage, VkImage)
    DESTROY(BUFFER_VIEW, DestroyBufferView, VkBufferView)
    DESTROY(IMAGE_VIEW, DestroyImageView, VkImageView)
    DESTROY(PIPELINE, DestroyPipeline, VkPipeline)
    DESTROY(PIPELINE_LAYOUT, DestroyPipelineLayout, VkPipelineLayout)
    DESTROY(SAMPLER, DestroySampler, VkSampler)
    DESTROY(DESCRIPTOR_POOL, DestroyDescriptorPool, VkDescriptorPool)
    DESTROY(RENDER_PASS, DestroyRenderPass, VkRenderPass)
    DESTROY(FRAMEBUFFER, DestroyFramebuffer, VkFramebuffer)
    DESTROY(EVENT, DestroyEvent, VkEvent)
    DESTROY(QUERY_POOL, DestroyQueryPool, VkQueryPool)
#undef DESTROY
  }
}

/* True if submissions signal objects of this kind. A driver signals the semaphores of a submission
 * one after the other. A program that has seen the first of them may destroy the others, and mode
 * explore wakes it at just that moment: some drivers (lavapipe 22.3) would then signal freed
 * memory. */
static bool is_signalled(enum layer_object object) {
  return object == LAYER_OBJECT_SEMAPHORE || object == LAYER_OBJECT_FENCE;
}

static void keep_object(struct layer_device *device, enum layer_object object, uint64_t handle,
                        uint64_t bytes, const VkAllocationCallbacks *allocator) {
  struct layer_explorer *explorer = device->explorer;
  struct layer_kept one = {.object = object, .handle = handle, .allocator = allocator},
                    *kept = NULL;
  pthread_mutex_lock(&device->lock);
  if (explorer && explorer->last && !allocator && explorer->kept_bytes <= KEPT_MOST)
    kept = malloc(sizeof *kept);
  if (kept) {
    one.bytes = bytes;
    explorer->kept_bytes += bytes;
    one.after = explorer->last->number;
    *kept = one;
    *explorer->kept_end = kept;
    explorer->kept_end = &kept->next;
  }
  bool is_unfinished = explorer && explorer->is_unfinished;
  pthread_mutex_unlock(&device->lock);
  if (kept) return;
  if (is_unfinished && is_signalled(object)) layer_explore_finish(device, LAYER_PATIENCE_NS);
  destroy_kept(device, &one);
}

void layer_keep(struct layer_device *device, enum layer_object object, uint64_t handle,
                const VkAllocationCallbacks *allocator) {
  keep_object(device, object, handle, 0, allocator);
}

/* Returns the number up to which every submission has been released. */
static uint64_t released_up_to(const struct layer_explorer *explorer) {
  return explorer->first ? explorer->first->number - 1 : UINT64_MAX;
}

/* Takes off the kept objects that no held submission can use. */
static struct layer_kept *take_settled(struct layer_explorer *explorer) {
  struct layer_kept *taken = explorer->kept, **link = &explorer->kept;
  while (*link && (*link)->after <= released_up_to(explorer)) {
    explorer->kept_bytes -= (*link)->bytes;
    link = &(*link)->next;
  }
  if (link == &explorer->kept) return NULL;
  explorer->kept = *link;
  *link = NULL;
  if (!explorer->kept) explorer->kept_end = &explorer->kept;
  return taken;
}

void layer_keep_settle(struct layer_device *device) {
  pthread_mutex_lock(&device->lock);
  struct layer_kept *taken = take_settled(device->explorer);
  pthread_mutex_unlock(&device->lock);
  if (!taken) return;
  layer_explore_finish(device, LAYER_PATIENCE_NS);
  while (taken) {
    struct layer_kept *kept = taken;
    taken = kept->next;
    destroy_kept(device, kept);
    free(kept);
  }
}

void layer_keep_accuse(struct layer_device *device, const struct layer_submission *submission,
                       const char *what) {
  struct layer_text name;
  layer_finding("destroyed-in-use", "%s before the program could know that %s had finished", what,
                layer_name_submission(submission, &name));
  struct layer_target target = {.queue = submission->queue, .value = submission->epoch};
  struct layer_host_call call = {.name = "a call that destroys", .count = 1, .targets = &target};
  pthread_mutex_unlock(&device->lock);
  (void)layer_explore_until(device, &call, layer_now_ns() + 1000000000u);
  layer_explore_finish(device, LAYER_PATIENCE_NS);
  pthread_mutex_lock(&device->lock);
}

#define KEEP(name, object, type)                                                                   \
  VKAPI_ATTR void VKAPI_CALL layer_##name(VkDevice handle, type destroyed,                         \
                                          const VkAllocationCallbacks *allocator) {                \
    if (destroyed)                                                                                 \
      layer_keep(layer_device_of(handle), LAYER_OBJECT_##object, (uint64_t)destroyed, allocator);  \
  }
KEEP(DestroyBufferView, BUFFER_VIEW, VkBufferView)
KEEP(DestroyImageView, IMAGE_VIEW, VkImageView)
KEEP(DestroyPipeline, PIPELINE, VkPipeline)
KEEP(DestroyPipelineLayout, PIPELINE_LAYOUT, VkPipelineLayout)
KEEP(DestroySampler, SAMPLER, VkSampler)
KEEP(DestroyDescriptorPool, DESCRIPTOR_POOL, VkDescriptorPool)
KEEP(DestroyRenderPass, RENDER_PASS, VkRenderPass)
KEEP(DestroyFramebuffer, FRAMEBUFFER, VkFramebuffer)
KEEP(DestroyEvent, EVENT, VkEvent)
KEEP(DestroyQueryPool, QUERY_POOL, VkQueryPool)

static void forget_resource(struct layer_device *device, uint64_t resource) {
  pthread_mutex_lock(&device->lock);
  layer_table_take(&device->explorer->buffers, resource);
  layer_table_take(&device->explorer->between, resource);
  pthread_mutex_unlock(&device->lock);
}

VKAPI_ATTR void VKAPI_CALL layer_DestroyBuffer(VkDevice handle, VkBuffer buffer,
                                               const VkAllocationCallbacks *allocator) {
  struct layer_device *device = layer_device_of(handle);
  if (!buffer) return;
  forget_resource(device, (uint64_t)buffer);
  layer_keep(device, LAYER_OBJECT_BUFFER, (uint64_t)buffer, allocator);
}

VKAPI_ATTR void VKAPI_CALL layer_DestroyImage(VkDevice handle, VkImage image,
                                              const VkAllocationCallbacks *allocator) {
  struct layer_device *device = layer_device_of(handle);
  if (!image) return;
  forget_resource(device, (uint64_t)image);
  layer_keep(device, LAYER_OBJECT_IMAGE, (uint64_t)image, allocator);
}

/* A swapchain cannot be kept: its images are the window system's. */
VKAPI_ATTR void VKAPI_CALL layer_DestroySwapchainKHR(VkDevice handle, VkSwapchainKHR swapchain,
                                                     const VkAllocationCallbacks *allocator) {
  struct layer_device *device = layer_device_of(handle);
  layer_explore_flush(device, "a swapchain was destroyed");
  layer_explore_finish(device, UINT64_MAX);
  layer_keep_settle(device);
  device->next_layer.DestroySwapchainKHR(handle, swapchain, allocator);
}

/* ---- memory ---------------------------------------------------------------------- */

static void fill_memory(struct layer_device *device, VkDeviceMemory memory, VkDeviceSize size,
                        uint64_t seed) {
  struct tide_random random = {.state = seed};
  void *mapped;
  if (size > FILL_MOST) size = FILL_MOST;
  if (device->next_layer.MapMemory(device->handle, memory, 0, size, 0, &mapped) != VK_SUCCESS)
    return;
  for (VkDeviceSize i = 0; i + 8 <= size; i += 8)
    *(uint64_t *)((char *)mapped + i) = tide_random_next(&random);
  device->next_layer.UnmapMemory(device->handle, memory);
}

static bool is_chained(const VkMemoryAllocateInfo *info, VkStructureType type) {
  for (const VkBaseInStructure *at = info->pNext; at; at = at->pNext)
    if (at->sType == type) return true;
  return false;
}

/* True if the memory is imported: such memory has contents already. */
static bool is_imported(const VkMemoryAllocateInfo *info) {
  return is_chained(info, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR) ||
         is_chained(info, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_AllocateMemory(VkDevice handle,
                                                    const VkMemoryAllocateInfo *info,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkDeviceMemory *out_memory) {
  struct layer_device *device = layer_device_of(handle);
  struct layer_explorer *explorer = device->explorer;
  VkResult result = device->next_layer.AllocateMemory(handle, info, allocator, out_memory);
  if (result != VK_SUCCESS) return result;
  bool visible = explorer->memory.memoryTypes[info->memoryTypeIndex].propertyFlags &
                 VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
  struct memory *memory = calloc(1, sizeof *memory);
  if (!visible) layer_limit("memory that the host cannot see is not filled with a pattern");
  if (visible && layer_options()->seed && !is_imported(info))
    fill_memory(device, *out_memory, info->allocationSize, layer_options()->seed);
  if (!memory) return result;
  *memory = (struct memory){.size = info->allocationSize,
                            .is_private =
                                visible && !is_imported(info) &&
                                !is_chained(info, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO)};
  pthread_mutex_lock(&device->lock);
  if (!layer_table_put(&explorer->memories, (uint64_t)*out_memory, memory)) free(memory);
  pthread_mutex_unlock(&device->lock);
  return result;
}

VKAPI_ATTR void VKAPI_CALL layer_FreeMemory(VkDevice handle, VkDeviceMemory freed,
                                            const VkAllocationCallbacks *allocator) {
  struct layer_device *device = layer_device_of(handle);
  if (!freed) return;
  pthread_mutex_lock(&device->lock);
  struct memory *memory = layer_table_take(&device->explorer->memories, (uint64_t)freed);
  bool holds = device->explorer->first != NULL;
  pthread_mutex_unlock(&device->lock);
  if (memory && memory->is_private && holds) {
    if (memory->is_mapped) device->next_layer.UnmapMemory(handle, freed);
    fill_memory(device, freed, memory->size, ~layer_options()->seed);
  }
  uint64_t bytes = memory ? memory->size : 0;
  free(memory);
  keep_object(device, LAYER_OBJECT_MEMORY, (uint64_t)freed, bytes, allocator);
}

static void set_mapped(struct layer_device *device, VkDeviceMemory handle, bool is_mapped) {
  pthread_mutex_lock(&device->lock);
  struct memory *memory = layer_table_find(&device->explorer->memories, (uint64_t)handle);
  if (memory) memory->is_mapped = is_mapped;
  pthread_mutex_unlock(&device->lock);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_MapMemory(VkDevice handle, VkDeviceMemory memory,
                                               VkDeviceSize offset, VkDeviceSize size,
                                               VkMemoryMapFlags flags, void **out_data) {
  struct layer_device *device = layer_device_of(handle);
  VkResult result = device->next_layer.MapMemory(handle, memory, offset, size, flags, out_data);
  if (result == VK_SUCCESS) set_mapped(device, memory, true);
  return result;
}

VKAPI_ATTR void VKAPI_CALL layer_UnmapMemory(VkDevice handle, VkDeviceMemory memory) {
  struct layer_device *device = layer_device_of(handle);
  device->next_layer.UnmapMemory(handle, memory);
  set_mapped(device, memory, false);
}
