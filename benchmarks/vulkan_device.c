/* A chain of fills over two queues on one VkQueue, on the system's Vulkan driver: the Vulkan device
 * against the same commands submitted by hand.
 *
 * By hand, one thread records each fill behind a barrier, and submits it with the value of a
 * timeline semaphore: 64 command buffers in a ring, as an application has several frames in flight.
 * One command buffer with all fills is the least work for the driver, but no other thread can
 * submit between two of them. */
#include "bench.h"

#define VK_NO_PROTOTYPES
#include "tidemark/tidemark.h"
#include "tidemark/vulkan.h"

#include <stdlib.h>
#include <string.h>

enum { RING = 64, DEVICE = 0, EACH = 1 };

#define CALLS(X)                                                                                   \
  X(GetPhysicalDeviceMemoryProperties)                                                             \
  X(CreateBuffer)                                                                                  \
  X(DestroyBuffer)                                                                                 \
  X(GetBufferMemoryRequirements)                                                                   \
  X(AllocateMemory)                                                                                \
  X(FreeMemory)                                                                                    \
  X(BindBufferMemory)                                                                              \
  X(CreateSemaphore)                                                                               \
  X(DestroySemaphore)                                                                              \
  X(WaitSemaphores)                                                                                \
  X(CreateCommandPool)                                                                             \
  X(DestroyCommandPool)                                                                            \
  X(AllocateCommandBuffers)                                                                        \
  X(BeginCommandBuffer)                                                                            \
  X(EndCommandBuffer)                                                                              \
  X(CmdPipelineBarrier)                                                                            \
  X(CmdFillBuffer)                                                                                 \
  X(QueueSubmit)

/* The device, and a buffer. One at a time. */
static struct {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[2];
  struct tide_timeline *line;
  struct tide_vulkan_info info;
  VkBuffer buffer;
  VkDeviceMemory memory;
  VkDeviceSize size; /* of a fill */
#define MEMBER(name) PFN_vk##name name;
  CALLS(MEMBER)
} vulkan;

static void must(VkResult result) { BENCH_CHECK(result == VK_SUCCESS); }

static void make_buffer(VkDeviceSize size) {
  VkDevice device = vulkan.info.device;
  VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = size,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkMemoryRequirements needs;
  must(vulkan.CreateBuffer(device, &create, NULL, &vulkan.buffer));
  vulkan.GetBufferMemoryRequirements(device, vulkan.buffer, &needs);
  uint32_t type = 0;
  while (!(needs.memoryTypeBits >> type & 1)) type++;
  VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .allocationSize = needs.size,
                                   .memoryTypeIndex = type};
  must(vulkan.AllocateMemory(device, &allocate, NULL, &vulkan.memory));
  must(vulkan.BindBufferMemory(device, vulkan.buffer, vulkan.memory, 0));
  vulkan.size = size;
}

/* Returns NULL, or the reason why there is no device. */
static const char *open_device(VkDeviceSize size, uint32_t count) {
  static struct tide_diag diag;
  struct tide_queue_params params = {
      .struct_size = sizeof params, .operations = count, .waits = count, .signals = count};
  BENCH_CHECK(tide_context_create(NULL, &vulkan.context) == TIDE_OK);
  if (tide_vulkan_open(vulkan.context, NULL, &vulkan.device, &diag) != TIDE_OK) {
    tide_context_destroy(vulkan.context);
    return diag.text;
  }
  tide_vulkan_info(vulkan.device, &vulkan.info);
#define FIND(name)                                                                                 \
  vulkan.name = (PFN_vk##name)vulkan.info.get_proc(vulkan.info.instance, "vk" #name);              \
  BENCH_CHECK(vulkan.name != NULL);
  CALLS(FIND)
  make_buffer(size);
  for (int i = 0; i < 2; i++)
    BENCH_CHECK(tide_queue_create(vulkan.device, &params, &vulkan.queues[i]) == TIDE_OK);
  BENCH_CHECK(tide_timeline_create(vulkan.context, NULL, &vulkan.line) == TIDE_OK);
  return NULL;
}

static void close_device(void) {
  vulkan.DestroyBuffer(vulkan.info.device, vulkan.buffer, NULL);
  vulkan.FreeMemory(vulkan.info.device, vulkan.memory, NULL);
  tide_context_destroy(vulkan.context);
}

/* ---- the chain ------------------------------------------------------------------------ */

static void put_fill(VkCommandBuffer commands, uint32_t word) {
  vulkan.CmdFillBuffer(commands, vulkan.buffer, 0, vulkan.size, word);
}
static enum tide_status record(const void *arguments, struct tide_device *gpu,
                               VkCommandBuffer commands) {
  (void)gpu;
  put_fill(commands, *(const uint32_t *)arguments);
  return TIDE_OK;
}
static const struct tide_vulkan_ops ops = {{TIDE_OPS_VULKAN}, record};
static const struct tide_body_class fill = {.name = "fill", .ops = &ops.ops};

static void run_on_device(uint32_t count) {
  for (uint32_t i = 1; i <= count; i++) {
    struct tide_wait wait = {vulkan.line, i - 1};
    struct tide_signal signal = {.timeline = vulkan.line, .value = i};
    struct tide_operation operation = {.body = &fill,
                                       .waits = &wait,
                                       .wait_count = i > 1,
                                       .signals = &signal,
                                       .signal_count = 1,
                                       .arguments = &i,
                                       .arguments_size = sizeof i};
    BENCH_CHECK(tide_queue_submit(vulkan.queues[i % 2], &operation, NULL, NULL) == TIDE_OK);
  }
  BENCH_CHECK(tide_timeline_wait(vulkan.line, count, TIDE_FOREVER) == TIDE_OK);
}

static void put_barrier(VkCommandBuffer commands) {
  const VkAccessFlags both = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  const VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                  .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                  .dstAccessMask = both};
  vulkan.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                            VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &memory, 0, NULL, 0, NULL);
}

struct by_hand {
  VkSemaphore semaphore;
  VkCommandPool pool;
  VkCommandBuffer commands[RING];
};

static void make_by_hand(struct by_hand *hand) {
  VkSemaphoreTypeCreateInfo timeline = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                     .pNext = &timeline};
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                  .queueFamilyIndex = vulkan.info.queues[0].family};
  must(vulkan.CreateSemaphore(vulkan.info.device, &semaphore, NULL, &hand->semaphore));
  must(vulkan.CreateCommandPool(vulkan.info.device, &pool, NULL, &hand->pool));
  VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = hand->pool,
                                          .commandBufferCount = RING};
  must(vulkan.AllocateCommandBuffers(vulkan.info.device, &allocate, hand->commands));
}

static void await_value(const struct by_hand *hand, uint64_t value) {
  VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                              .semaphoreCount = 1,
                              .pSemaphores = &hand->semaphore,
                              .pValues = &value};
  must(vulkan.WaitSemaphores(vulkan.info.device, &wait, UINT64_MAX));
}

static void submit_by_hand(const struct by_hand *hand, VkCommandBuffer commands, uint64_t value) {
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .signalSemaphoreValueCount = 1,
                                          .pSignalSemaphoreValues = &value};
  VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &values,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &commands,
                         .signalSemaphoreCount = 1,
                         .pSignalSemaphores = &hand->semaphore};
  must(vulkan.QueueSubmit(vulkan.info.queues[0].queue, 1, &submit, VK_NULL_HANDLE));
}

static const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                               .flags =
                                                   VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};

/* `each`: a submission for each fill; else one for all. */
static void run_by_hand(const struct by_hand *hand, uint32_t count, bool each) {
  for (uint32_t i = 1; i <= count; i++) {
    VkCommandBuffer commands = hand->commands[each ? i % RING : 0];
    if (each && i > RING && i % (RING / 2) == 1) await_value(hand, i - RING / 2 - 1);
    if (each || i == 1) must(vulkan.BeginCommandBuffer(commands, &begin));
    put_barrier(commands);
    put_fill(commands, i);
    if (!each && i < count) continue;
    must(vulkan.EndCommandBuffer(commands));
    submit_by_hand(hand, commands, i);
  }
  await_value(hand, count);
}

struct chain {
  VkDeviceSize size;
};

static const char *measure(const void *what, unsigned side, double *out_values) {
  const struct chain *chain = what;
  uint32_t count = bench_smoke() ? 200 : 1000;
  struct by_hand hand;
  const char *why = open_device(chain->size, count);
  if (why) return why;
  make_by_hand(&hand);
  uint64_t before = bench_now();
  if (side == DEVICE) run_on_device(count);
  else run_by_hand(&hand, count, side == EACH);
  out_values[0] = (double)(bench_now() - before) / count;
  vulkan.DestroyCommandPool(vulkan.info.device, hand.pool, NULL);
  vulkan.DestroySemaphore(vulkan.info.device, hand.semaphore, NULL);
  close_device();
  return NULL;
}

static const struct chain chains[] = {{4}, {64 << 10}, {1 << 20}};
#define CONTEST(i)                                                                                 \
  {                                                                                                \
    .sides = {"the Vulkan device", "by hand, a submit each", "by hand, one submit"},               \
    .values = {{"an operation", "ns", BENCH_LESS}}, .measure = measure, .what = &chains[i]         \
  }
static const struct bench_contest contests[] = {CONTEST(0), CONTEST(1), CONTEST(2)};

const struct bench_figure bench_vulkan_device[] = {{.name = "chain_4B", .contest = &contests[0]},
                                                   {.name = "chain_64K", .contest = &contests[1]},
                                                   {.name = "chain_1M", .contest = &contests[2]},
                                                   {0}};
