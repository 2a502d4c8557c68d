/* Runs a program on the device: makes its objects, records its batches, makes the host's calls. */
#include "small.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct run {
  struct device *device;
  const struct program *program;
  VkBuffer buffers[BUFFERS_MOST];
  VkDeviceMemory memories[BUFFERS_MOST];
  uint32_t *mapped[BUFFERS_MOST];
  VkSemaphore semaphores[SEMAPHORES_MOST];
  VkCommandPool pools[BATCHES_MOST];
  VkCommandBuffer commands[BATCHES_MOST];
  VkDescriptorPool sets;
  VkFence fences[ITEMS_MOST];
  pthread_mutex_t lock; /* guards next_item */
  pthread_cond_t ends_singly;
  int next_item;
};

struct worker {
  struct run *run;
  int thread;
};

/* ---- making the objects ------------------------------------------------------------- */

static void make_buffers(struct run *run) {
  const struct program *program = run->program;
  uint32_t families[LANES_MOST], count = 0;
  for (int l = 0; l < program->lane_count; l++) {
    bool is_new = true;
    for (uint32_t f = 0; f < count; f++) is_new &= families[f] != program->lanes[l].family;
    if (is_new) families[count++] = program->lanes[l].family;
  }
  if (program->is_exclusive) count = 0;
  for (int b = 0; b < program->buffer_count; b++) {
    const struct buffer *buffer = &program->buffers[b];
    void *mapped;
    buffer_create(run->device, (VkDeviceSize)buffer->words * 4, families, count, &run->buffers[b],
                  &run->memories[b], &mapped);
    run->mapped[b] = mapped;
    for (uint32_t i = 0; i < buffer->words; i++)
      run->mapped[b][i] = pattern_word(buffer->pattern, i);
    name_object(run->device, VK_OBJECT_TYPE_BUFFER, HANDLE(run->buffers[b]), "buffer%d", b);
    name_object(run->device, VK_OBJECT_TYPE_DEVICE_MEMORY, HANDLE(run->memories[b]),
                "buffer%d.memory", b);
  }
}

static void make_semaphores(struct run *run) {
  for (int s = 0; s < run->program->semaphore_count; s++) {
    const struct semaphore *semaphore = &run->program->semaphores[s];
    run->semaphores[s] = semaphore_create(run->device, semaphore->is_binary, semaphore->initial);
    name_object(run->device, VK_OBJECT_TYPE_SEMAPHORE, HANDLE(run->semaphores[s]), "%s",
                semaphore->name);
  }
  for (int i = 0; i < run->program->item_count; i++) {
    if (!run->program->items[i].has_fence) continue;
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VK(vkCreateFence(run->device->device, &info, NULL, &run->fences[i]));
    name_object(run->device, VK_OBJECT_TYPE_FENCE, HANDLE(run->fences[i]), "call%d.fence", i + 1);
  }
}

static void make_set_pool(struct run *run) {
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3 * BATCHES_MOST * 3};
  VkDescriptorPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .maxSets = 3 * BATCHES_MOST,
      .poolSizeCount = 1,
      .pPoolSizes = &size,
  };
  VK(vkCreateDescriptorPool(run->device->device, &info, NULL, &run->sets));
}

/* ---- recording ---------------------------------------------------------------------- */

static VkPipelineStageFlags stages_of(const struct run *run, const struct batch *batch) {
  bool mixes = run->program->uses_mix && run->program->lanes[batch->lane].can_dispatch;
  return VK_PIPELINE_STAGE_TRANSFER_BIT | (mixes ? VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT : 0);
}

static VkAccessFlags accesses_of(VkPipelineStageFlags stages, bool reads) {
  VkAccessFlags access = VK_ACCESS_TRANSFER_WRITE_BIT;
  if (reads) access |= VK_ACCESS_TRANSFER_READ_BIT;
  if (stages & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT)
    access |= VK_ACCESS_SHADER_WRITE_BIT | (reads ? VK_ACCESS_SHADER_READ_BIT : 0);
  return access;
}

static void record_barrier(const struct run *run, const struct batch *batch,
                           VkCommandBuffer commands, bool is_for_host) {
  VkPipelineStageFlags stages = stages_of(run, batch);
  VkMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = accesses_of(stages, false),
      .dstAccessMask = is_for_host ? VK_ACCESS_HOST_READ_BIT : accesses_of(stages, true),
  };
  vkCmdPipelineBarrier(commands, stages, is_for_host ? VK_PIPELINE_STAGE_HOST_BIT : stages, 0, 1,
                       &barrier, 0, NULL, 0, NULL);
}

/* Records one half of the transfers of ownership. Within one family there is none. */
static void record_handovers(const struct run *run, const struct batch *batch,
                             VkCommandBuffer commands, bool is_acquire) {
  const struct handover *all = is_acquire ? batch->acquires : batch->releases;
  int count = is_acquire ? batch->acquire_count : batch->release_count;
  VkPipelineStageFlags stages = stages_of(run, batch);
  for (int i = 0; i < count; i++) {
    uint32_t from = run->program->lanes[all[i].from_lane].family;
    uint32_t to = run->program->lanes[all[i].to_lane].family;
    if (from == to) continue;
    VkBufferMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
        .srcAccessMask = is_acquire ? 0 : accesses_of(stages, false),
        .dstAccessMask = is_acquire ? accesses_of(stages, true) : 0,
        .srcQueueFamilyIndex = from,
        .dstQueueFamilyIndex = to,
        .buffer = run->buffers[all[i].buffer],
        .size = VK_WHOLE_SIZE,
    };
    /* The acquire is ordered behind the semaphore by the stages that wait for it. */
    vkCmdPipelineBarrier(commands, stages,
                         is_acquire ? stages : VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 0, 0, NULL, 1,
                         &barrier, 0, NULL);
  }
}

static void record_mix(struct run *run, const struct step *step, VkCommandBuffer commands) {
  struct device *device = run->device;
  VkDescriptorSetAllocateInfo allocation = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .descriptorPool = run->sets,
      .descriptorSetCount = 1,
      .pSetLayouts = &device->set_layout,
  };
  VkDescriptorSet set;
  VK(vkAllocateDescriptorSets(device->device, &allocation, &set));
  const int buffers[3] = {step->in, step->in2, step->out};
  VkDescriptorBufferInfo infos[3];
  VkWriteDescriptorSet writes[3];
  for (uint32_t i = 0; i < 3; i++) {
    infos[i] = (VkDescriptorBufferInfo){run->buffers[buffers[i]], 0, VK_WHOLE_SIZE};
    writes[i] = (VkWriteDescriptorSet){
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
        .dstSet = set,
        .dstBinding = i,
        .descriptorCount = 1,
        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        .pBufferInfo = &infos[i],
    };
  }
  vkUpdateDescriptorSets(device->device, 3, writes, 0, NULL);
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, device->pipeline);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, device->layout, 0, 1, &set, 0,
                          NULL);
  const uint32_t given[5] = {step->in_at, step->in2_at, step->out_at, step->words, step->value};
  vkCmdPushConstants(commands, device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof given, given);
  vkCmdDispatch(commands, (step->words + 63) / 64, 1, 1);
}

static void record_step(struct run *run, const struct step *step, VkCommandBuffer commands) {
  VkBuffer out = run->buffers[step->out];
  VkDeviceSize at = (VkDeviceSize)step->out_at * 4, size = (VkDeviceSize)step->words * 4;
  uint32_t words[WORDS_MOST];
  VkBufferCopy copy = {(VkDeviceSize)step->in_at * 4, at, size};
  switch (step->kind) {
    case STEP_FILL: vkCmdFillBuffer(commands, out, at, size, step->value); break;
    case STEP_UPDATE:
      for (uint32_t i = 0; i < step->words; i++) words[i] = pattern_word(step->value, i);
      vkCmdUpdateBuffer(commands, out, at, size, words);
      break;
    case STEP_COPY: vkCmdCopyBuffer(commands, run->buffers[step->in], out, 1, &copy); break;
    case STEP_MIX: record_mix(run, step, commands);
  }
}

static bool steps_conflict(const struct step *earlier, const struct step *later) {
  bool earlier_reads = earlier->kind == STEP_COPY || earlier->kind == STEP_MIX;
  bool later_reads = later->kind == STEP_COPY || later->kind == STEP_MIX;
  if (earlier->out == later->out) return true;
  if (later_reads && (earlier->out == later->in || earlier->out == later->in2)) return true;
  return earlier_reads && (later->out == earlier->in || later->out == earlier->in2);
}

static void record_batch(struct run *run, int index) {
  const struct batch *batch = &run->program->batches[index];
  VkCommandPoolCreateInfo pool_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
      .queueFamilyIndex = run->program->lanes[batch->lane].family,
  };
  VK(vkCreateCommandPool(run->device->device, &pool_info, NULL, &run->pools[index]));
  VkCommandBufferAllocateInfo allocation = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = run->pools[index],
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      .commandBufferCount = 1,
  };
  VK(vkAllocateCommandBuffers(run->device->device, &allocation, &run->commands[index]));
  VkCommandBuffer commands = run->commands[index];
  name_object(run->device, VK_OBJECT_TYPE_COMMAND_POOL, HANDLE(run->pools[index]), "batch%d.pool",
              index + 1);
  name_object(run->device, VK_OBJECT_TYPE_COMMAND_BUFFER, HANDLE(commands), "batch%d", index + 1);

  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                    .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  VK(vkBeginCommandBuffer(commands, &begin));
  record_handovers(run, batch, commands, true);
  if (batch->has_barrier) record_barrier(run, batch, commands, false);
  int since = 0; /* the first step behind the last barrier */
  for (int i = 0; i < batch->step_count; i++) {
    for (int j = since; j < i; j++)
      if (steps_conflict(&batch->steps[j], &batch->steps[i])) {
        record_barrier(run, batch, commands, false);
        since = i;
      }
    record_step(run, &batch->steps[i], commands);
  }
  record_handovers(run, batch, commands, false);
  if (batch->has_host_barrier) record_barrier(run, batch, commands, true);
  VK(vkEndCommandBuffer(commands));
}

/* ---- submitting --------------------------------------------------------------------- */

static void submit(struct run *run, const struct item *item, VkFence fence) {
  const struct program *program = run->program;
  VkSubmitInfo infos[BATCHES_MOST] = {0};
  VkTimelineSemaphoreSubmitInfo timelines[BATCHES_MOST] = {0};
  static _Thread_local VkSemaphore waits[BATCHES_MOST][WAITS_MOST],
      signals[BATCHES_MOST][SIGNALS_MOST];
  static _Thread_local uint64_t wait_values[BATCHES_MOST][WAITS_MOST],
      signal_values[BATCHES_MOST][SIGNALS_MOST];
  static _Thread_local VkPipelineStageFlags masks[BATCHES_MOST][WAITS_MOST];
  for (int i = 0; i < item->count; i++) {
    const struct batch *batch = &program->batches[item->first + i];
    for (int w = 0; w < batch->wait_count; w++) {
      waits[i][w] = run->semaphores[batch->waits[w].semaphore];
      wait_values[i][w] = batch->waits[w].value;
      masks[i][w] = batch->waits[w].mask;
    }
    for (int s = 0; s < batch->signal_count; s++) {
      signals[i][s] = run->semaphores[batch->signals[s].semaphore];
      signal_values[i][s] = batch->signals[s].value;
    }
    timelines[i] = (VkTimelineSemaphoreSubmitInfo){
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = (uint32_t)batch->wait_count,
        .pWaitSemaphoreValues = wait_values[i],
        .signalSemaphoreValueCount = (uint32_t)batch->signal_count,
        .pSignalSemaphoreValues = signal_values[i],
    };
    infos[i] = (VkSubmitInfo){
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .pNext = &timelines[i],
        .waitSemaphoreCount = (uint32_t)batch->wait_count,
        .pWaitSemaphores = waits[i],
        .pWaitDstStageMask = masks[i],
        .commandBufferCount = 1,
        .pCommandBuffers = &run->commands[item->first + i],
        .signalSemaphoreCount = (uint32_t)batch->signal_count,
        .pSignalSemaphores = signals[i],
    };
  }
  int lane = program->batches[item->first].lane;
  VkQueue queue = run->device->queues[program->lanes[lane].queue].queue;
  VK(vkQueueSubmit(queue, (uint32_t)item->count, infos, fence));
}

static void submit2(struct run *run, const struct item *item, VkFence fence) {
  const struct program *program = run->program;
  VkSubmitInfo2 infos[BATCHES_MOST] = {0};
  VkCommandBufferSubmitInfo commands[BATCHES_MOST] = {0};
  static _Thread_local VkSemaphoreSubmitInfo waits[BATCHES_MOST][WAITS_MOST],
      signals[BATCHES_MOST][SIGNALS_MOST];
  for (int i = 0; i < item->count; i++) {
    const struct batch *batch = &program->batches[item->first + i];
    for (int w = 0; w < batch->wait_count; w++)
      waits[i][w] = (VkSemaphoreSubmitInfo){
          .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
          .semaphore = run->semaphores[batch->waits[w].semaphore],
          .value = batch->waits[w].value,
          .stageMask = batch->waits[w].mask, /* The old bits have the same values. */
      };
    for (int s = 0; s < batch->signal_count; s++)
      signals[i][s] = (VkSemaphoreSubmitInfo){
          .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
          .semaphore = run->semaphores[batch->signals[s].semaphore],
          .value = batch->signals[s].value,
          .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
      };
    commands[i] = (VkCommandBufferSubmitInfo){
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
        .commandBuffer = run->commands[item->first + i],
    };
    infos[i] = (VkSubmitInfo2){
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
        .waitSemaphoreInfoCount = (uint32_t)batch->wait_count,
        .pWaitSemaphoreInfos = waits[i],
        .commandBufferInfoCount = 1,
        .pCommandBufferInfos = &commands[i],
        .signalSemaphoreInfoCount = (uint32_t)batch->signal_count,
        .pSignalSemaphoreInfos = signals[i],
    };
  }
  int lane = program->batches[item->first].lane;
  VkQueue queue = run->device->queues[program->lanes[lane].queue].queue;
  VK(vkQueueSubmit2(queue, (uint32_t)item->count, infos, fence));
}

/* ---- the host's calls --------------------------------------------------------------- */

static void sleep_ms(uint64_t ms) {
  struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
  nanosleep(&time, NULL);
}

static VkFence fence_of(const struct run *run, int batch) {
  for (int i = 0; i < run->program->item_count; i++) {
    const struct item *item = &run->program->items[i];
    if (item->action == ACT_SUBMIT && item->first <= batch && batch < item->first + item->count)
      return run->fences[i];
  }
  small_fail("batch %d is never submitted", batch + 1);
}

static void await_values(struct run *run, const struct item *item) {
  VkSemaphore semaphores[TARGETS_MOST];
  uint64_t values[TARGETS_MOST];
  for (int t = 0; t < item->target_count; t++) {
    const struct signal *signal = &run->program->batches[item->targets[t]].signals[0];
    semaphores[t] = run->semaphores[signal->semaphore];
    values[t] = signal->value;
  }
  if (item->how == HOW_TIMELINE) {
    VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = (uint32_t)item->target_count,
        .pSemaphores = semaphores,
        .pValues = values,
    };
    VK(vkWaitSemaphores(run->device->device, &info, UINT64_MAX));
    return;
  }
  for (int t = 0; t < item->target_count; t++)
    for (uint64_t value = 0;;) {
      VK(vkGetSemaphoreCounterValue(run->device->device, semaphores[t], &value));
      if (value >= values[t]) break;
      sleep_ms(1);
    }
}

static void await(struct run *run, const struct item *item) {
  const struct program *program = run->program;
  VkFence fences[TARGETS_MOST];
  switch (item->how) {
    case HOW_FENCE:
      for (int t = 0; t < item->target_count; t++) fences[t] = fence_of(run, item->targets[t]);
      VK(vkWaitForFences(run->device->device, (uint32_t)item->target_count, fences, VK_TRUE,
                         UINT64_MAX));
      break;
    case HOW_TIMELINE:
    case HOW_POLL: await_values(run, item); break;
    case HOW_QUEUE_IDLE:
      for (int t = 0; t < item->target_count; t++) {
        int lane = program->batches[item->targets[t]].lane;
        VK(vkQueueWaitIdle(run->device->queues[program->lanes[lane].queue].queue));
      }
      break;
    case HOW_DEVICE_IDLE: VK(vkDeviceWaitIdle(run->device->device));
  }
}

static void destroy_buffer(struct run *run, int buffer) {
  vkDestroyBuffer(run->device->device, run->buffers[buffer], NULL);
  vkFreeMemory(run->device->device, run->memories[buffer], NULL);
  run->buffers[buffer] = VK_NULL_HANDLE;
  run->memories[buffer] = VK_NULL_HANDLE;
}

static void run_item(struct run *run, int index) {
  const struct item *item = &run->program->items[index];
  VkDevice device = run->device->device;
  VkSemaphore *semaphore = &run->semaphores[item->semaphore];
  VkSemaphoreSignalInfo signal = {VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, NULL, *semaphore,
                                  item->value};
  VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                              .semaphoreCount = 1,
                              .pSemaphores = semaphore,
                              .pValues = &item->value};
  switch (item->action) {
    case ACT_SUBMIT: (item->uses_submit2 ? submit2 : submit)(run, item, run->fences[index]); break;
    case ACT_WAIT: await(run, item); break;
    case ACT_SIGNAL: VK(vkSignalSemaphore(device, &signal)); break;
    case ACT_AWAIT: VK(vkWaitSemaphores(device, &wait, UINT64_MAX)); break;
    case ACT_WRITE:
      for (uint32_t i = 0; i < run->program->buffers[item->buffer].words; i++)
        run->mapped[item->buffer][i] = pattern_word((uint32_t)item->value, i);
      break;
    case ACT_SLEEP: sleep_ms(item->value); break;
    case ACT_DESTROY_BUFFER: destroy_buffer(run, item->buffer); break;
    case ACT_DESTROY_SEMAPHORE:
      vkDestroySemaphore(device, *semaphore, NULL);
      *semaphore = VK_NULL_HANDLE;
      break;
    case ACT_DESTROY_POOL:
      vkDestroyCommandPool(device, run->pools[item->first], NULL);
      run->pools[item->first] = VK_NULL_HANDLE;
      break;
    case ACT_RESET_POOL: VK(vkResetCommandPool(device, run->pools[item->first], 0)); break;
    case ACT_FREE_COMMANDS:
      vkFreeCommandBuffers(device, run->pools[item->first], 1, &run->commands[item->first]);
  }
}

/* Runs the items of one thread. All threads together follow the order of the items. */
static void *run_thread(void *given) {
  const struct worker *worker = given;
  struct run *run = worker->run;
  for (int i = 0; i < run->program->item_count; i++) {
    if (run->program->items[i].thread != worker->thread) continue;
    pthread_mutex_lock(&run->lock);
    while (run->next_item != i) pthread_cond_wait(&run->ends_singly, &run->lock);
    pthread_mutex_unlock(&run->lock);
    run_item(run, i); /* Only the thread whose item is next gets here. */
    pthread_mutex_lock(&run->lock);
    run->next_item++;
    pthread_cond_broadcast(&run->ends_singly);
    pthread_mutex_unlock(&run->lock);
  }
  return NULL;
}

static void run_threads(struct run *run) {
  pthread_t threads[LANES_MOST];
  struct worker workers[LANES_MOST];
  int count = run->program->thread_count;
  for (int t = 0; t < count; t++) workers[t] = (struct worker){run, t};
  for (int t = 1; t < count; t++)
    if (pthread_create(&threads[t], NULL, run_thread, &workers[t])) small_fail("pthread_create");
  run_thread(&workers[0]);
  for (int t = 1; t < count; t++) pthread_join(threads[t], NULL);
}

/* ---- output and the end ------------------------------------------------------------- */

static void print_output(const struct run *run, bool is_correct) {
  const struct program *program = run->program;
  size_t count = 0, at = 0;
  for (int b = 0; b < program->buffer_count; b++)
    if (program->buffers[b].is_output) count += program->buffers[b].words;
  uint32_t *words = calloc(count + 1, sizeof *words), *right = calloc(count + 1, sizeof *right);
  if (!words || !right) small_fail("no memory");
  for (int b = 0; b < program->buffer_count; b++) {
    const struct buffer *buffer = &program->buffers[b];
    if (!buffer->is_output) continue;
    memcpy(words + at, run->mapped[b], buffer->words * sizeof *words);
    at += buffer->words;
  }
  print_words(words, count);
  simulate(program, 0, false, right);
  for (size_t i = 0; is_correct && i < count; i++)
    if (words[i] != right[i])
      small_fail("wrong output: word %zu is %08x, not %08x", i, words[i], right[i]);
  free(words);
  free(right);
}

static void destroy_all(struct run *run) {
  VkDevice device = run->device->device;
  VK(vkDeviceWaitIdle(device));
  for (int b = 0; b < run->program->buffer_count; b++) destroy_buffer(run, b);
  for (int s = 0; s < run->program->semaphore_count; s++)
    vkDestroySemaphore(device, run->semaphores[s], NULL);
  for (int i = 0; i < run->program->item_count; i++) vkDestroyFence(device, run->fences[i], NULL);
  for (int i = 0; i < run->program->batch_count; i++)
    vkDestroyCommandPool(device, run->pools[i], NULL);
  vkDestroyDescriptorPool(device, run->sets, NULL);
}

void execute(struct device *device, const struct program *program, bool is_correct) {
  struct run *run = calloc(1, sizeof *run);
  if (!run) small_fail("no memory");
  run->device = device;
  run->program = program;
  pthread_mutex_init(&run->lock, NULL);
  pthread_cond_init(&run->ends_singly, NULL);
  if (program->uses_mix) device_open_pipeline(device);
  make_buffers(run);
  make_semaphores(run);
  make_set_pool(run);
  for (int i = 0; i < program->batch_count; i++) record_batch(run, i);
  run_threads(run);
  print_output(run, is_correct);
  destroy_all(run);
  free(run);
}
