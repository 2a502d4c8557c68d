/* Cells that a Vulkan device writes: host memory that is imported into it, page by page. */
#ifndef TESTS_CONFORMANCE_VULKAN_CELLS_H
#define TESTS_CONFORMANCE_VULKAN_CELLS_H

#include "tidemark/vulkan.h"

struct vulkan_cells;

/* Opens a device. NULL: there is none, for the reason in *out_why. */
struct vulkan_cells *vulkan_cells_open(struct tide_context *context, uint32_t ahead,
                                       struct tide_device **out_device, const char **out_why);
/* All submissions are over. */
void vulkan_cells_close(struct vulkan_cells *cells);
/* Records a write of the number to the cell. */
void vulkan_cells_put(struct vulkan_cells *cells, VkCommandBuffer commands, uint64_t *cell,
                      uint64_t number);

#endif
