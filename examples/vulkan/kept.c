/* A chain of a CPU operation and three on two queues of a GPU, and the means by which its waits are
 * kept. */
#include <stdio.h>
#include <tidemark/tidemark.h>
#include <tidemark/vulkan.h>
static enum tide_status run(void *none) { return none ? TIDE_OK : TIDE_FAILED; }
static enum tide_status record(const void *none, struct tide_device *gpu,
                               VkCommandBuffer commands) {
  return none && gpu && commands ? TIDE_OK : TIDE_FAILED;
}
int main(void) {
  static const struct tide_vulkan_ops ops = {{TIDE_OPS_VULKAN}, record};
  static const struct tide_body_class host = {.name = "host", .host = run},
                                      draw = {.name = "draw", .ops = &ops.ops};
  struct tide_context *context;
  struct tide_device *gpu, *cpu;
  struct tide_queue *queues[3];
  struct tide_timeline *line;
  struct tide_context_stats stats;
  struct tide_diag diag;
  if (tide_context_create(NULL, &context) || tide_cpu_open(context, NULL, &cpu)) return 1;
  if (tide_vulkan_open(context, NULL, &gpu, &diag)) return puts(diag.text), 1;
  if (tide_timeline_create(context, NULL, &line)) return 1;
  for (int i = 0; i < 3; i++)
    if (tide_queue_create(i ? gpu : cpu, NULL, &queues[i])) return 1;
  tide_context_pause(context);
  for (uint64_t i = 0; i < 4; i++) { /* CPU, then from one GPU queue to the other, and back */
    struct tide_wait wait = {line, i};
    struct tide_signal signal = {.timeline = line, .value = i + 1};
    struct tide_operation operation = {.body = i ? &draw : &host,
                                       .waits = &wait,
                                       .wait_count = 1,
                                       .signals = &signal,
                                       .signal_count = 1};
    if (tide_queue_submit(queues[i ? 1 + i % 2 : 0], &operation, NULL, NULL)) return 1;
  }
  tide_context_resume(context);
  if (tide_timeline_wait(line, 4, TIDE_FOREVER)) return 1;
  tide_context_stats(context, &stats);
  printf("%d by the device: %d barriers, %d native; by the host: %d\n", (int)stats.waits_by_device,
         (int)stats.barriers, (int)stats.native_waits,
         (int)(stats.waits_issued - stats.waits_by_device));
  tide_context_destroy(context);
}
