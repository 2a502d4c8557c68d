/* layer/command_buffer.h: the account of a command buffer, made while it is recorded. */
#ifndef TIDE_LAYER_COMMAND_BUFFER_H
#define TIDE_LAYER_COMMAND_BUFFER_H

#include "layer/explore.h"

/* A part of a buffer or image on its way between families, or a use of a whole one. */
struct layer_step {
  enum { LAYER_STEP_TRANSFER, LAYER_STEP_READ, LAYER_STEP_WRITE } kind;
  uint64_t resource;
  uint64_t part;     /* a hash of the resource and the range; 0: not a transfer */
  uint32_t from, to; /* families, as the program sees them */
  bool is_whole;
  bool discards; /* the contents do not matter */
};

struct layer_commands {
  VkCommandPool pool;
  uint32_t family;
  bool is_linked;
  VkEvent *host_events; /* events that the commands wait for */
  size_t host_event_count;
  struct layer_step *steps;
  size_t step_count, step_capacity;
};

/* Returns the account of a command buffer; NULL: unknown. */
struct layer_commands *layer_commands_of(struct layer_device *device, VkCommandBuffer handle);

/* ---- ownership.c; no memory: the step is not followed ---- */

void layer_step_add(struct layer_commands *commands, const struct layer_step *step);
void layer_buffer_transfer(struct layer_device *device, struct layer_commands *commands,
                           VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size, uint32_t from,
                           uint32_t to);
void layer_image_transfer(struct layer_device *device, struct layer_commands *commands,
                          VkImage image, const VkImageSubresourceRange *range, uint32_t from,
                          uint32_t to, bool discards);

#endif
