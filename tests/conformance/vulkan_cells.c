#define VK_NO_PROTOTYPES
#include "vulkan_cells.h"

#include "harness.h"

#include <stdlib.h>

struct vulkan_cells {
  struct tide_device *gpu;
  size_t page;
  PFN_vkCmdUpdateBuffer CmdUpdateBuffer;
};

struct vulkan_cells *vulkan_cells_open(struct tide_context *context, uint32_t ahead,
                                       struct tide_device **out_device, const char **out_why) {
  static struct tide_diag diag;
  struct tide_vulkan_params params = {.struct_size = sizeof params, .ahead = ahead};
  struct tide_vulkan_info info;
  enum tide_status status = tide_vulkan_open(context, &params, out_device, &diag);
  *out_why = diag.text;
  if (status == TIDE_UNSUPPORTED) return NULL;
  CHECK_OK(status);
  tide_vulkan_info(*out_device, &info);
  struct vulkan_cells *cells = malloc(sizeof *cells);
  CHECK(cells != NULL);
  *cells = (struct vulkan_cells){
      *out_device, info.share_alignment,
      (PFN_vkCmdUpdateBuffer)info.get_proc(info.instance, "vkCmdUpdateBuffer")};
  CHECK(cells->page && cells->CmdUpdateBuffer);
  return cells;
}

void vulkan_cells_close(struct vulkan_cells *cells) { free(cells); }

void vulkan_cells_put(struct vulkan_cells *cells, VkCommandBuffer commands, uint64_t *cell,
                      uint64_t number) {
  struct tide_vulkan_range range;
  if (tide_vulkan_find(cells->gpu, cell, sizeof *cell, &range) != TIDE_OK) {
    unsigned char *page = (unsigned char *)cell - (uintptr_t)cell % cells->page;
    CHECK_OK(tide_vulkan_share(cells->gpu, page, cells->page, NULL));
    CHECK_OK(tide_vulkan_find(cells->gpu, cell, sizeof *cell, &range));
  }
  cells->CmdUpdateBuffer(commands, range.buffer, range.offset, sizeof number, &number);
}
