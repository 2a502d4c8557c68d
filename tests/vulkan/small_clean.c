/* A larger correct program: four lanes, any number of submissions, memory recycled behind fences.
 *
 * Submission i works on lane i % lanes. It mixes its lane's ring of buffers with that of the
 * previous submission and waits for it where the seed says so. The result depends on no order. */
#include "small.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { SLOTS = 16, WORDS = 256, PARTS = 8, PART = WORDS / PARTS };

/* One command buffer, recorded again each time its fence has been waited for. */
struct slot {
  VkCommandPool pool;
  VkCommandBuffer commands;
  VkFence fence;
  bool is_used;
};

struct clean {
  struct device *device;
  struct program lanes; /* only the lanes of the model */
  struct random_state random;
  VkBuffer buffers[LANES_MOST];
  VkDeviceMemory memories[LANES_MOST];
  uint32_t *mapped[LANES_MOST];
  uint32_t model[LANES_MOST][WORDS];
  VkSemaphore timelines[LANES_MOST];
  uint64_t values[LANES_MOST];              /* the newest signal of each lane */
  uint64_t readers[LANES_MOST][LANES_MOST]; /* of the first lane's buffer: the second's newest */
  struct slot slots[LANES_MOST][SLOTS];
};

static VkQueue queue_of(const struct clean *clean, int lane) {
  return clean->device->queues[clean->lanes.lanes[lane].queue].queue;
}

static void open_clean(struct clean *clean) {
  struct device *device = clean->device;
  uint32_t families[LANES_MOST], count = 0;
  for (int l = 0; l < clean->lanes.lane_count; l++) {
    bool is_new = true;
    for (uint32_t f = 0; f < count; f++) is_new &= families[f] != clean->lanes.lanes[l].family;
    if (is_new) families[count++] = clean->lanes.lanes[l].family;
  }
  for (int l = 0; l < clean->lanes.lane_count; l++) {
    void *mapped;
    buffer_create(device, WORDS * 4, families, count, &clean->buffers[l], &clean->memories[l],
                  &mapped);
    clean->mapped[l] = mapped;
    for (uint32_t i = 0; i < WORDS; i++)
      clean->mapped[l][i] = clean->model[l][i] = pattern_word((uint32_t)l, i);
    clean->timelines[l] = semaphore_create(device, false, 0);
    name_object(device, VK_OBJECT_TYPE_SEMAPHORE, HANDLE(clean->timelines[l]), "lane%d.done", l);
    name_object(device, VK_OBJECT_TYPE_BUFFER, HANDLE(clean->buffers[l]), "buffer%d", l);
    for (int s = 0; s < SLOTS; s++) {
      struct slot *slot = &clean->slots[l][s];
      VkCommandPoolCreateInfo pool_info = {
          .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
          .queueFamilyIndex = clean->lanes.lanes[l].family,
      };
      VK(vkCreateCommandPool(device->device, &pool_info, NULL, &slot->pool));
      VkCommandBufferAllocateInfo allocation = {
          .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
          .commandPool = slot->pool,
          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
          .commandBufferCount = 1,
      };
      VK(vkAllocateCommandBuffers(device->device, &allocation, &slot->commands));
      VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
      VK(vkCreateFence(device->device, &fence_info, NULL, &slot->fence));
    }
  }
}

static struct slot *reuse_slot(struct clean *clean, int lane, unsigned round) {
  VkDevice device = clean->device->device;
  struct slot *slot = &clean->slots[lane][round % SLOTS];
  if (slot->is_used) {
    VK(vkWaitForFences(device, 1, &slot->fence, VK_TRUE, UINT64_MAX));
    VK(vkResetFences(device, 1, &slot->fence));
    VK(vkResetCommandPool(device, slot->pool, 0));
  }
  slot->is_used = true;
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                    .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  VK(vkBeginCommandBuffer(slot->commands, &begin));
  return slot;
}

static void record_barrier(VkCommandBuffer commands, bool is_for_host) {
  VkMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
      .dstAccessMask = is_for_host ? VK_ACCESS_HOST_READ_BIT
                                   : VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
  };
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                       is_for_host ? VK_PIPELINE_STAGE_HOST_BIT : VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                       1, &barrier, 0, NULL, 0, NULL);
}

/* Copies a part of another lane's buffer to this lane's and fills another part. */
static void record_work(struct clean *clean, VkCommandBuffer commands, int lane, int source) {
  uint32_t from = random_below(&clean->random, PARTS), to = random_below(&clean->random, PARTS);
  uint32_t filled = (to + 1 + random_below(&clean->random, PARTS - 1)) % PARTS;
  uint32_t value = (uint32_t)random_next(&clean->random);
  record_barrier(commands, false);
  if (source != lane) {
    VkBufferCopy copy = {from * PART * 4, to * PART * 4, PART * 4};
    vkCmdCopyBuffer(commands, clean->buffers[source], clean->buffers[lane], 1, &copy);
    for (uint32_t i = 0; i < PART; i++)
      clean->model[lane][to * PART + i] = clean->model[source][from * PART + i];
  }
  vkCmdFillBuffer(commands, clean->buffers[lane], filled * PART * 4, PART * 4, value);
  for (uint32_t i = 0; i < PART; i++) clean->model[lane][filled * PART + i] = value;
}

/* Waits for the source's newest write, and for the readers of the buffer that is written to. */
static void submit_work(struct clean *clean, struct slot *slot, int lane, int source) {
  VkSemaphore semaphores[LANES_MOST];
  uint64_t values[LANES_MOST];
  VkPipelineStageFlags masks[LANES_MOST];
  uint32_t count = 0;
  for (int l = 0; l < clean->lanes.lane_count; l++) {
    uint64_t value = l == source ? clean->values[source] : clean->readers[lane][l];
    if (l == lane || value == 0) continue;
    semaphores[count] = clean->timelines[l];
    values[count] = value;
    masks[count++] = VK_PIPELINE_STAGE_TRANSFER_BIT;
  }
  uint64_t value = ++clean->values[lane];
  clean->readers[source][lane] = value;
  VkTimelineSemaphoreSubmitInfo timeline = {
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .waitSemaphoreValueCount = count,
      .pWaitSemaphoreValues = values,
      .signalSemaphoreValueCount = 1,
      .pSignalSemaphoreValues = &value,
  };
  VkSubmitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
      .pNext = &timeline,
      .waitSemaphoreCount = count,
      .pWaitSemaphores = semaphores,
      .pWaitDstStageMask = masks,
      .commandBufferCount = 1,
      .pCommandBuffers = &slot->commands,
      .signalSemaphoreCount = 1,
      .pSignalSemaphores = &clean->timelines[lane],
  };
  VK(vkQueueSubmit(queue_of(clean, lane), 1, &info, slot->fence));
}

static void run_submissions(struct clean *clean, unsigned count) {
  unsigned rounds[LANES_MOST] = {0};
  for (unsigned i = 0; i < count; i++) {
    int lane = (int)random_below(&clean->random, (unsigned)clean->lanes.lane_count);
    int source = (int)random_below(&clean->random, (unsigned)clean->lanes.lane_count);
    struct slot *slot = reuse_slot(clean, lane, rounds[lane]++);
    record_work(clean, slot->commands, lane, source);
    VK(vkEndCommandBuffer(slot->commands));
    submit_work(clean, slot, lane, source);
    if (!random_chance(&clean->random, 10)) continue;
    VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &clean->timelines[lane],
                                .pValues = &clean->values[lane]};
    VK(vkWaitSemaphores(clean->device->device, &wait, UINT64_MAX));
  }
  for (int l = 0; l < clean->lanes.lane_count; l++) {
    struct slot *slot = reuse_slot(clean, l, rounds[l]++);
    record_barrier(slot->commands, true);
    VK(vkEndCommandBuffer(slot->commands));
    submit_work(clean, slot, l, l);
  }
}

static void close_clean(struct clean *clean) {
  VkDevice device = clean->device->device;
  VK(vkDeviceWaitIdle(device));
  uint32_t words[LANES_MOST * WORDS];
  uint32_t count = 0;
  for (int l = 0; l < clean->lanes.lane_count; l++)
    for (uint32_t i = 0; i < WORDS; i++) {
      words[count++] = clean->mapped[l][i];
      if (clean->mapped[l][i] != clean->model[l][i])
        small_fail("wrong output: lane %d, word %u is %08x, not %08x", l, i, clean->mapped[l][i],
                   clean->model[l][i]);
    }
  print_words(words, count);
  for (int l = 0; l < clean->lanes.lane_count; l++) {
    for (int s = 0; s < SLOTS; s++) {
      vkDestroyFence(device, clean->slots[l][s].fence, NULL);
      vkDestroyCommandPool(device, clean->slots[l][s].pool, NULL);
    }
    vkDestroySemaphore(device, clean->timelines[l], NULL);
    vkDestroyBuffer(device, clean->buffers[l], NULL);
    vkFreeMemory(device, clean->memories[l], NULL);
  }
}

static long peak_rss_kib(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

void run_clean(struct device *device, const struct small_options *options) {
  struct clean *clean = calloc(1, sizeof *clean);
  if (!clean) small_fail("no memory");
  clean->device = device;
  random_seed(&clean->random, options->kind, options->seed, 0);
  do make_lanes(&clean->lanes, device, &clean->random, true);
  while (clean->lanes.lane_count < LANES_MOST);
  open_clean(clean);
  /* The first tenth warms up: the driver's and the allocator's caches. */
  unsigned warm = options->submissions / 10;
  run_submissions(clean, warm);
  long before = peak_rss_kib();
  run_submissions(clean, options->submissions - warm);
  long after = peak_rss_kib();
  close_clean(clean);
  if (options->rss) fprintf(stderr, "peak RSS: %ld KiB, then +%ld KiB\n", before, after - before);
  free(clean);
}
