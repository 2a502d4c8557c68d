/* driver/by_hand.h: a VkDevice, and dispatches on it by hand.
 *
 * Tidemark chooses and opens the VkDevice. Submissions by hand and Tidemark's device take turns on
 * its one VkQueue. A dispatch writes a *slot* of words, which it computes from two other slots. */
#ifndef BENCHMARKS_DRIVER_BY_HAND_H
#define BENCHMARKS_DRIVER_BY_HAND_H

#include "tidemark/tidemark.h"
#include "tidemark/vulkan.h"

#include <vulkan/vulkan.h>

enum { HAND_COMMANDS = 1000, HAND_GROUPS_MOST = 256, HAND_GROUP_SIZE = 32 };

/* One at a time. */
extern struct hand {
  struct tide_context *context;
  struct tide_device *device; /* the VkDevice's */
  struct tide_vulkan_info info;
  VkQueue queue;
  uint32_t *words; /* of slots 0 to HAND_COMMANDS */
  size_t size;     /* of these, in bytes */
  VkShaderModule shader;
  VkDescriptorSetLayout set_layout;
  VkPipelineLayout layout;
  VkPipeline pipeline;
  VkDescriptorPool sets;
  VkDescriptorSet set;
  VkCommandPool pool;
  VkCommandBuffer commands[HAND_COMMANDS];
  VkSemaphore line; /* a timeline */
  uint64_t value;   /* the newest one that was submitted */
} hand;

/* A dispatch. */
struct hand_steps {
  uint32_t to, first, second; /* slots */
  uint32_t steps;
  uint32_t groups; /* 0: no dispatch */
};

extern const struct tide_vulkan_kernel hand_kernel;

/* Ends the program unless the driver succeeded. */
void hand_must(VkResult result);
/* A setup: returns &hand, or skips the figure. */
void *hand_open(void);
void hand_close(void *unused);

uint32_t *hand_slot(uint32_t slot);
VkSemaphore hand_timeline(void);

void hand_begin(VkCommandBuffer commands);
/* All later commands wait for all earlier ones of the VkQueue, and see their writes. */
void hand_barrier(VkCommandBuffer commands);
/* The host sees the writes of all earlier commands of the VkQueue. */
void hand_host_barrier(VkCommandBuffer commands);
void hand_dispatch(VkCommandBuffer commands, const struct hand_steps *dispatch);

/* Submits the command buffer with a signal of the next value of `line`. `wait`: a value of it, or
 * 0. */
void hand_submit(VkCommandBuffer commands, uint64_t wait);
/* Blocks until `line` has the value. */
void hand_await(uint64_t value);
/* Makes all writes that are over visible to the host. */
void hand_show_host(void);
/* Submits a wait for the semaphore's value 1: no later submission starts before. */
void hand_block(VkSemaphore blocker);
void hand_unblock(VkSemaphore blocker);

#endif
