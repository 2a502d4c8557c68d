/* driver/device_queues.h: queues of Tidemark's device, on the VkDevice that is used by hand, too.
 */
#ifndef BENCHMARKS_DRIVER_DEVICE_QUEUES_H
#define BENCHMARKS_DRIVER_DEVICE_QUEUES_H

#include "driver/by_hand.h"

enum { DEVICE_QUEUES = 3 };

struct device_queues {
  struct tide_queue *queues[DEVICE_QUEUES];
  struct tide_timeline *lines[DEVICE_QUEUES]; /* queue i signals line i, by 1 an operation */
};

/* Opens a device on the VkDevice and the VkQueue that are there. */
struct tide_device *device_adopt(struct tide_vulkan_params *params);

void device_queues_open(struct device_queues *to, struct tide_device *device);
void device_queues_close(struct device_queues *queues);

/* Submits a dispatch that signals the value of its queue's line. */
void device_submit(const struct device_queues *queues, uint32_t queue, uint64_t value,
                   const struct tide_wait *waits, size_t wait_count,
                   const struct tide_body_class *class, const struct hand_steps *dispatch);

/* Records a dispatch as by hand. For a struct tide_vulkan_ops. */
enum tide_status device_record(const void *arguments, struct tide_device *gpu,
                               VkCommandBuffer commands);

#endif
