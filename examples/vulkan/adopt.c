/* An application's VkDevice, adopted. Frames are decoded on the CPU, uploaded by a submission of
 * the application, drawn on the GPU and shown on the CPU. Of the semaphores between them two are
 * left, those of the application's own submission: one is exported, the other one imported. */
#include "application.h"
#include <tidemark/tidemark.h>
#include <tidemark/vulkan.h>
#define SIZE ((size_t)65536)

static char *memory, *drawn; /* shared: a decoded frame, an uploaded one, a drawn one */
static enum tide_status decode(void *frame) {
  return snprintf(memory, SIZE, "frame %d", *(int *)frame) < 0 ? TIDE_IO : TIDE_OK;
}
static enum tide_status draw(const void *frame, struct tide_device *gpu, VkCommandBuffer commands) {
  return frame ? tide_vulkan_copy(gpu, commands, drawn, memory + SIZE, SIZE) : TIDE_OK;
}
static enum tide_status show(void *frame) { return frame && puts(drawn) < 0 ? TIDE_IO : TIDE_OK; }
static const struct tide_vulkan_ops draw_ops = {{TIDE_OPS_VULKAN}, draw};
static const struct tide_body_class bodies[] = {
    {"decode", .host = decode}, {"draw", .ops = &draw_ops.ops}, {"show", .host = show}};

int main(void) {
  struct tide_context *context;
  struct tide_device *gpu, *cpu;
  struct tide_queue *queues[3];
  struct tide_timeline *frames, *uploads; /* frames: 3 n + 1 decoded, + 2 drawn, + 3 shown */
  struct tide_vulkan_range range;
  application_open();
  struct tide_vulkan_queue queue = {application.queue, 0};
  struct tide_vulkan_params adopt = {.struct_size = sizeof adopt, .instance = application.instance};
  adopt.physical_device = application.physical, adopt.device = application.device;
  adopt.queues = &queue, adopt.queue_count = 1;
  adopt.lock = application_lock, adopt.unlock = application_unlock;
  CHECK(tide_context_create(NULL, &context)), CHECK(tide_cpu_open(context, NULL, &cpu));
  CHECK(tide_vulkan_open(context, &adopt, &gpu, NULL));
  for (int i = 0; i < 3; i++) CHECK(tide_queue_create(i == 1 ? gpu : cpu, NULL, &queues[i]));
  CHECK(tide_timeline_create(context, NULL, &frames));
  if (!(memory = tide_vulkan_memory(gpu)->map(tide_vulkan_memory(gpu)->self, 3 * SIZE))) return 1;
  CHECK(tide_vulkan_find(gpu, memory, 3 * SIZE, &range)), drawn = memory + 2 * SIZE;
  VkSemaphore decoded = application_semaphore(), uploaded = application_semaphore();
  CHECK(tide_vulkan_import(gpu, uploaded, "uploads", &uploads, NULL));
  for (uint64_t n = 0; n < 3; n++) {
    int frame = (int)n + 1;
    struct tide_wait waits[] = {{frames, 3 * n}, {uploads, n + 1}, {frames, 3 * n + 2}};
    CHECK(tide_vulkan_export(gpu, frames, 3 * n + 1, decoded, n + 1, NULL));
    for (uint64_t i = 0; i < 3; i++) {
      struct tide_signal signal = {.timeline = frames, .value = 3 * n + i + 1};
      struct tide_operation operation = {.body = &bodies[i], TIDE_ARGUMENTS(frame)};
      operation.waits = &waits[i], operation.wait_count = 1;
      operation.signals = &signal, operation.signal_count = 1;
      CHECK(tide_queue_submit(queues[i], &operation, NULL, NULL));
    }
    application_upload(range.buffer, range.offset, SIZE, decoded, uploaded, n + 1);
    CHECK(tide_timeline_wait(frames, 3 * n + 3, TIDE_FOREVER));
  }
  tide_context_destroy(context); /* and the device: its memory, and the import */
  application_close(decoded, uploaded);
}
