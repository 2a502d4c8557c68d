/* Queues of Tidemark's device, on the VkDevice that is used by hand, too. */
#include "driver/device_queues.h"

#include "bench.h"

struct tide_device *device_adopt(struct tide_vulkan_params *params) {
  struct tide_device *device;
  params->struct_size = sizeof *params;
  params->instance = hand.info.instance;
  params->physical_device = hand.info.physical_device;
  params->device = hand.info.device;
  params->queues = hand.info.queues;
  params->queue_count = 1;
  params->get_proc = hand.info.get_proc;
  BENCH_CHECK(tide_vulkan_open(hand.context, params, &device, NULL) == TIDE_OK);
  return device;
}

void device_queues_open(struct device_queues *to, struct tide_device *device) {
  struct tide_queue_params params = {.struct_size = sizeof params,
                                     .operations = HAND_COMMANDS,
                                     .waits = 2 * HAND_COMMANDS,
                                     .signals = HAND_COMMANDS};
  for (int i = 0; i < DEVICE_QUEUES; i++) {
    BENCH_CHECK(tide_queue_create(device, &params, &to->queues[i]) == TIDE_OK);
    BENCH_CHECK(tide_timeline_create(hand.context, NULL, &to->lines[i]) == TIDE_OK);
  }
}

void device_queues_close(struct device_queues *queues) {
  for (int i = 0; i < DEVICE_QUEUES; i++) {
    tide_queue_destroy(queues->queues[i]);
    tide_timeline_release(queues->lines[i]);
  }
}

void device_submit(const struct device_queues *queues, uint32_t queue, uint64_t value,
                   const struct tide_wait *waits, size_t wait_count,
                   const struct tide_body_class *class, const struct hand_steps *dispatch) {
  struct tide_signal signal = {.timeline = queues->lines[queue], .value = value};
  struct tide_operation operation = {.body = class,
                                     .waits = waits,
                                     .wait_count = wait_count,
                                     .signals = &signal,
                                     .signal_count = 1,
                                     .arguments = dispatch,
                                     .arguments_size = sizeof *dispatch};
  BENCH_CHECK(tide_queue_submit(queues->queues[queue], &operation, NULL, NULL) == TIDE_OK);
}

enum tide_status device_record(const void *arguments, struct tide_device *gpu,
                               VkCommandBuffer commands) {
  (void)gpu;
  hand_dispatch(commands, arguments);
  return TIDE_OK;
}
