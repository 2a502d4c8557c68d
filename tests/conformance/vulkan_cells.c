#define VK_NO_PROTOTYPES
#include "vulkan_cells.h"

#include "harness.h"

#include <stdlib.h>

#define PAGE 4096u
#define PAGES 2048

#define CALLS(X)                                                                                   \
  X(GetPhysicalDeviceMemoryProperties)                                                             \
  X(CreateBuffer)                                                                                  \
  X(DestroyBuffer)                                                                                 \
  X(GetBufferMemoryRequirements)                                                                   \
  X(AllocateMemory)                                                                                \
  X(FreeMemory)                                                                                    \
  X(BindBufferMemory)                                                                              \
  X(CmdUpdateBuffer)                                                                               \
  X(GetMemoryHostPointerPropertiesEXT)

struct page {
  void *address;
  VkBuffer buffer;
  VkDeviceMemory memory;
};

struct vulkan_cells {
  struct tide_vulkan_info info;
#define MEMBER(name) PFN_vk##name name;
  CALLS(MEMBER)
  uint32_t count;
  struct page pages[PAGES];
};

struct vulkan_cells *vulkan_cells_open(struct tide_context *context, uint32_t ahead,
                                       struct tide_device **out_device, const char **out_why) {
  static struct tide_diag diag;
  struct tide_vulkan_params params = {.struct_size = sizeof params, .ahead = ahead};
  enum tide_status status = tide_vulkan_open(context, &params, out_device, &diag);
  *out_why = diag.text;
  if (status == TIDE_UNSUPPORTED) return NULL;
  CHECK_OK(status);
  struct vulkan_cells *cells = calloc(1, sizeof *cells);
  CHECK(cells != NULL);
  tide_vulkan_info(*out_device, &cells->info);
#define FIND(name)                                                                                 \
  cells->name = (PFN_vk##name)cells->info.get_proc(cells->info.instance, "vk" #name);              \
  CHECK(cells->name != NULL);
  CALLS(FIND)
  return cells;
}

void vulkan_cells_close(struct vulkan_cells *cells) {
  for (uint32_t i = 0; i < cells->count; i++) {
    cells->DestroyBuffer(cells->info.device, cells->pages[i].buffer, NULL);
    cells->FreeMemory(cells->info.device, cells->pages[i].memory, NULL);
  }
  free(cells);
}

/* Returns a memory type of both sets, coherent if possible. */
static uint32_t choose_type(struct vulkan_cells *cells, uint32_t types) {
  VkPhysicalDeviceMemoryProperties memory;
  cells->GetPhysicalDeviceMemoryProperties(cells->info.physical_device, &memory);
  for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
    if (types >> i & 1 &&
        memory.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
      return i;
  FAIL("no coherent memory type for imported memory: types %#x", types);
}

static void import_page(struct vulkan_cells *cells, struct page *page, void *address) {
  const VkExternalMemoryHandleTypeFlagBits kind =
      VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  VkDevice device = cells->info.device;
  VkMemoryHostPointerPropertiesEXT pointer = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
  VkExternalMemoryBufferCreateInfo external = {
      .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = kind};
  VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = &external,
                               .size = PAGE,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkMemoryRequirements needs;
  page->address = address;
  CHECK(cells->GetMemoryHostPointerPropertiesEXT(device, kind, address, &pointer) == VK_SUCCESS);
  CHECK(cells->CreateBuffer(device, &create, NULL, &page->buffer) == VK_SUCCESS);
  cells->GetBufferMemoryRequirements(device, page->buffer, &needs);
  VkImportMemoryHostPointerInfoEXT import = {
      .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
      .handleType = kind,
      .pHostPointer = address};
  VkMemoryAllocateInfo allocate = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = &import,
      .allocationSize = PAGE,
      .memoryTypeIndex = choose_type(cells, needs.memoryTypeBits & pointer.memoryTypeBits)};
  CHECK(cells->AllocateMemory(device, &allocate, NULL, &page->memory) == VK_SUCCESS);
  CHECK(cells->BindBufferMemory(device, page->buffer, page->memory, 0) == VK_SUCCESS);
}

/* The last page that was named is the likeliest. */
static VkBuffer buffer_of(struct vulkan_cells *cells, void *address) {
  for (uint32_t i = cells->count; i-- > 0;)
    if (cells->pages[i].address == address) return cells->pages[i].buffer;
  CHECK(cells->count < PAGES);
  import_page(cells, &cells->pages[cells->count], address);
  return cells->pages[cells->count++].buffer;
}

void vulkan_cells_put(struct vulkan_cells *cells, VkCommandBuffer commands, const uint64_t *cell,
                      uint64_t number) {
  uintptr_t offset = (uintptr_t)cell % PAGE;
  VkBuffer buffer = buffer_of(cells, (void *)((uintptr_t)cell - offset));
  cells->CmdUpdateBuffer(commands, buffer, offset, sizeof number, &number);
}
