/* Shared memory: imported from the host, or mapped from the driver. */
#include "device/vulkan_device.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/text.h"

#define USAGES                                                                                     \
  (VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |                           \
   VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |           \
   VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |                       \
   VK_BUFFER_USAGE_INDEX_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |                          \
   VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT)
#define WORD sizeof(uint32_t)
#define OF_HOST VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT

/* ---- one block ------------------------------------------------------------------------------ */

static void free_block(const struct tide_vulkan *vulkan, const struct tide_vulkan_block *block) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  if (block->buffer) driver->DestroyBuffer(driver->device, block->buffer, NULL);
  if (block->device_memory) driver->FreeMemory(driver->device, block->device_memory, NULL);
  if (block->is_host)
    vulkan->context->allocator->free(vulkan->context->allocator->self, block->memory, block->size);
}

/* Makes a VkBuffer that all families of the device use. */
static enum tide_status make_buffer(const struct tide_vulkan *vulkan,
                                    struct tide_vulkan_block *block, bool import,
                                    struct tide_diag *diag) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  uint32_t families[TIDE_HARDWARE_QUEUES_MAX], count = 0;
  for (uint32_t i = 0; i < vulkan->lane_count; i++) {
    uint32_t family = vulkan->lanes[i].queue.family, k = 0;
    while (k < count && families[k] != family) k++;
    if (k == count) families[count++] = family;
  }
  VkExternalMemoryBufferCreateInfo external = {
      .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = OF_HOST};
  VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = import ? &external : NULL,
                               .size = block->size,
                               .usage = USAGES,
                               .sharingMode = count > 1 ? VK_SHARING_MODE_CONCURRENT
                                                        : VK_SHARING_MODE_EXCLUSIVE,
                               .queueFamilyIndexCount = count,
                               .pQueueFamilyIndices = families};
  VkResult result = driver->CreateBuffer(driver->device, &create, NULL, &block->buffer);
  if (result != VK_SUCCESS) block->buffer = VK_NULL_HANDLE;
  return tide_vulkan_explain(diag, result, "creating a VkBuffer");
}

/* Finds the first type of `types` with all properties; UINT32_MAX: none. */
static uint32_t find_type(const struct tide_vulkan *vulkan, uint32_t types,
                          VkMemoryPropertyFlags needed) {
  VkPhysicalDeviceMemoryProperties memory;
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  driver->GetPhysicalDeviceMemoryProperties(driver->physical_device, &memory);
  needed |= VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
    if ((types >> i & 1) && (memory.memoryTypes[i].propertyFlags & needed) == needed) return i;
  return UINT32_MAX;
}

static enum tide_status bind_memory(const struct tide_vulkan *vulkan,
                                    struct tide_vulkan_block *block, VkMemoryAllocateInfo *allocate,
                                    uint32_t types, struct tide_diag *diag) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  /* The host reads it, too, which is slow where it is not cached. */
  uint32_t type = find_type(vulkan, types, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  if (type == UINT32_MAX) type = find_type(vulkan, types, 0);
  if (type == UINT32_MAX)
    return tide_diag_set(diag, TIDE_UNSUPPORTED, "%s has no coherent memory for that",
                         driver->name);
  allocate->memoryTypeIndex = type;
  VkResult result = driver->AllocateMemory(driver->device, allocate, NULL, &block->device_memory);
  if (result != VK_SUCCESS) block->device_memory = VK_NULL_HANDLE;
  else result = driver->BindBufferMemory(driver->device, block->buffer, block->device_memory, 0);
  return tide_vulkan_explain(diag, result, "allocating memory");
}

/* Imports block->memory. On an error free_block cleans up. */
static enum tide_status import_block(const struct tide_vulkan *vulkan,
                                     struct tide_vulkan_block *block, struct tide_diag *diag) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  VkMemoryHostPointerPropertiesEXT properties = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
  VkMemoryRequirements needs;
  enum tide_status status = make_buffer(vulkan, block, true, diag);
  if (status != TIDE_OK) return status;
  driver->GetBufferMemoryRequirements(driver->device, block->buffer, &needs);
  if (needs.size > block->size)
    return tide_diag_set(diag, TIDE_UNSUPPORTED, "%s needs %llu bytes for a VkBuffer of %zu",
                         driver->name, (unsigned long long)needs.size, block->size);
  VkResult result = driver->GetMemoryHostPointerPropertiesEXT(driver->device, OF_HOST,
                                                              block->memory, &properties);
  if (result != VK_SUCCESS) return tide_vulkan_explain(diag, result, "importing memory");
  VkImportMemoryHostPointerInfoEXT import = {
      .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
      .handleType = OF_HOST,
      .pHostPointer = block->memory};
  VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .pNext = &import,
                                   .allocationSize = block->size};
  return bind_memory(vulkan, block, &allocate, properties.memoryTypeBits & needs.memoryTypeBits,
                     diag);
}

/* Fills in block->memory with memory of the driver. On an error free_block cleans up. */
static enum tide_status map_block(const struct tide_vulkan *vulkan,
                                  struct tide_vulkan_block *block) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  VkMemoryRequirements needs;
  void *mapped = NULL;
  enum tide_status status = make_buffer(vulkan, block, false, NULL);
  if (status != TIDE_OK) return status;
  driver->GetBufferMemoryRequirements(driver->device, block->buffer, &needs);
  VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .allocationSize = needs.size};
  status = bind_memory(vulkan, block, &allocate, needs.memoryTypeBits, NULL);
  if (status != TIDE_OK) return status;
  VkResult result =
      driver->MapMemory(driver->device, block->device_memory, 0, VK_WHOLE_SIZE, 0, &mapped);
  block->memory = mapped;
  return tide_vulkan_explain(NULL, result, "mapping memory");
}

/* ---- all blocks, by address ----------------------------------------------------------------- */

/* Returns the index of the first block that ends behind the address. */
static size_t find_block(const struct tide_vulkan_memory *memory, const unsigned char *address) {
  size_t low = 0, high = memory->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct tide_vulkan_block *block = &memory->blocks[middle];
    if (block->memory + block->size <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

static enum tide_status insert_block(struct tide_vulkan *vulkan,
                                     const struct tide_vulkan_block *block) {
  struct tide_vulkan_memory *memory = &vulkan->memory;
  enum tide_status status = TIDE_OK;
  tide_lock_take(&memory->lock, vulkan->context->platform);
  size_t at = find_block(memory, block->memory);
  if (at < memory->count && memory->blocks[at].memory < block->memory + block->size)
    status = TIDE_INVALID;
  else if (!tide_array_reserve(vulkan->context->allocator, &memory->blocks, &memory->capacity,
                               memory->count + 1, sizeof *memory->blocks))
    status = TIDE_NOMEM;
  if (status == TIDE_OK) {
    memmove(&memory->blocks[at + 1], &memory->blocks[at],
            (memory->count - at) * sizeof *memory->blocks);
    memory->blocks[at] = *block;
    memory->count++;
  }
  tide_lock_give(&memory->lock);
  return status;
}

/* Removes the block that starts at the address. False: there is none. */
static bool remove_block(struct tide_vulkan *vulkan, const unsigned char *address,
                         struct tide_vulkan_block *out_block) {
  struct tide_vulkan_memory *memory = &vulkan->memory;
  tide_lock_take(&memory->lock, vulkan->context->platform);
  size_t at = find_block(memory, address);
  bool found = at < memory->count && memory->blocks[at].memory == address;
  if (found) {
    *out_block = memory->blocks[at];
    memory->count--;
    memmove(&memory->blocks[at], &memory->blocks[at + 1],
            (memory->count - at) * sizeof *memory->blocks);
  }
  tide_lock_give(&memory->lock);
  return found;
}

enum tide_status tide_vulkan_find(struct tide_device *gpu, const void *address, size_t size,
                                  struct tide_vulkan_range *out_range) {
  struct tide_vulkan *vulkan = tide_vulkan_of(gpu);
  struct tide_vulkan_memory *memory = &vulkan->memory;
  const unsigned char *from = address;
  tide_lock_take(&memory->lock, vulkan->context->platform);
  size_t at = find_block(memory, from);
  const struct tide_vulkan_block *block = &memory->blocks[at];
  bool found = at < memory->count && block->memory <= from &&
               size <= block->size - (size_t)(from - block->memory);
  if (found)
    *out_range = (struct tide_vulkan_range){block->buffer, (VkDeviceSize)(from - block->memory)};
  tide_lock_give(&memory->lock);
  return found ? TIDE_OK : TIDE_NOT_FOUND;
}

/* ---- sharing -------------------------------------------------------------------------------- */

static enum tide_status share_block(struct tide_vulkan *vulkan, struct tide_vulkan_block *block,
                                    struct tide_diag *diag) {
  enum tide_status status = import_block(vulkan, block, diag);
  if (status != TIDE_OK) return status;
  status = insert_block(vulkan, block);
  if (status == TIDE_INVALID) return tide_diag_set(diag, status, "the memory is shared already");
  if (status != TIDE_OK) return tide_diag_set(diag, status, "out of memory");
  return TIDE_OK;
}

enum tide_status tide_vulkan_share(struct tide_device *gpu, void *memory, size_t size,
                                   struct tide_diag *diag) {
  struct tide_vulkan *vulkan = tide_vulkan_of(gpu);
  VkDeviceSize alignment = vulkan->driver.import_alignment;
  struct tide_vulkan_block block = {.memory = memory, .size = size};
  if (!alignment)
    return tide_diag_set(diag, TIDE_UNSUPPORTED,
                         "%s imports no memory: the VkDevice has no VK_EXT_external_memory_host",
                         vulkan->driver.name);
  if (!memory || (uintptr_t)memory > UINTPTR_MAX - size)
    return tide_diag_set(diag, TIDE_INVALID, "there is no memory of %zu bytes at that address",
                         size);
  if (!size || (uintptr_t)memory % alignment || size % alignment)
    return tide_diag_set(diag, TIDE_INVALID,
                         "shared memory starts and ends at a multiple of %llu bytes",
                         (unsigned long long)alignment);
  enum tide_status status = share_block(vulkan, &block, diag);
  if (status != TIDE_OK) free_block(vulkan, &block);
  return status;
}

void tide_vulkan_unshare(struct tide_device *gpu, void *memory) {
  struct tide_vulkan *vulkan = tide_vulkan_of(gpu);
  struct tide_vulkan_block block;
  if (memory && remove_block(vulkan, memory, &block)) free_block(vulkan, &block);
}

/* ---- a source for pools --------------------------------------------------------------------- */

/* Allocates memory of the host, and imports it. */
static void *map_host(struct tide_vulkan *vulkan, size_t size) {
  const struct tide_allocator *allocator = vulkan->context->allocator;
  size_t alignment = (size_t)vulkan->driver.import_alignment;
  struct tide_vulkan_block block = {.size = (size + alignment - 1) / alignment * alignment,
                                    .is_host = true};
  if (block.size < size) return NULL;
  block.memory = allocator->alloc(allocator->self, block.size, alignment);
  if (!block.memory) return NULL;
  if (share_block(vulkan, &block, NULL) == TIDE_OK) return block.memory;
  free_block(vulkan, &block);
  return NULL;
}

static void *map_driver(struct tide_vulkan *vulkan, size_t size) {
  /* Kernels see whole words. */
  struct tide_vulkan_block block = {.size = (size + WORD - 1) / WORD * WORD};
  if (block.size < size) return NULL;
  if (map_block(vulkan, &block) == TIDE_OK && insert_block(vulkan, &block) == TIDE_OK)
    return block.memory;
  free_block(vulkan, &block);
  return NULL;
}

static void *map(void *self, size_t size) {
  struct tide_vulkan *vulkan = self;
  void *memory = vulkan->driver.import_alignment ? map_host(vulkan, size) : NULL;
  return memory ? memory : map_driver(vulkan, size);
}

static void unmap(void *self, void *memory, size_t size) {
  struct tide_vulkan *vulkan = self;
  struct tide_vulkan_block block;
  (void)size;
  if (remove_block(vulkan, memory, &block)) free_block(vulkan, &block);
}

const struct tide_memory_source *tide_vulkan_memory(struct tide_device *gpu) {
  return &tide_vulkan_of(gpu)->memory.source;
}

void tide_vulkan_memory_init(struct tide_vulkan *vulkan) {
  tide_lock_init(&vulkan->memory.lock);
  vulkan->memory.source = (struct tide_memory_source){map, unmap, vulkan};
}

void tide_vulkan_memory_fini(struct tide_vulkan *vulkan) {
  struct tide_vulkan_memory *memory = &vulkan->memory;
  for (size_t i = 0; i < memory->count; i++) free_block(vulkan, &memory->blocks[i]);
  tide_free(vulkan->context->allocator, memory->blocks, memory->capacity, sizeof *memory->blocks);
}
