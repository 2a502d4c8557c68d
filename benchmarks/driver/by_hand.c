/* A VkDevice, and dispatches on it by hand. */
#include "driver/by_hand.h"

#include "bench.h"
#include "driver/shaders/steps.h"

#include <string.h>

struct hand hand;

const struct tide_vulkan_kernel hand_kernel = {.name = "steps",
                                               .code = tide_shader_steps,
                                               .code_size = sizeof tide_shader_steps,
                                               .buffer_count = 1,
                                               .constant_count = 4};

/* The push constants: as tide_vulkan_dispatch lays them out. */
struct constants {
  uint32_t words_at, to, first, second, steps;
};

void hand_must(VkResult result) { BENCH_CHECK(result == VK_SUCCESS); }

uint32_t *hand_slot(uint32_t slot) {
  return hand.words + (size_t)slot * HAND_GROUPS_MOST * HAND_GROUP_SIZE;
}

VkSemaphore hand_timeline(void) {
  VkSemaphore semaphore;
  VkSemaphoreTypeCreateInfo timeline = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                  .pNext = &timeline};
  hand_must(vkCreateSemaphore(hand.info.device, &create, NULL, &semaphore));
  return semaphore;
}

/* ---- life -------------------------------------------------------------------------------- */

static void make_layout(void) {
  VkDescriptorSetLayoutBinding words = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .descriptorCount = 1,
                                        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  VkDescriptorSetLayoutCreateInfo bindings = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = 1,
      .pBindings = &words};
  VkPushConstantRange constants = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                   .size = sizeof(struct constants)};
  VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = 1,
                                       .pSetLayouts = &hand.set_layout,
                                       .pushConstantRangeCount = 1,
                                       .pPushConstantRanges = &constants};
  hand_must(vkCreateDescriptorSetLayout(hand.info.device, &bindings, NULL, &hand.set_layout));
  hand_must(vkCreatePipelineLayout(hand.info.device, &layout, NULL, &hand.layout));
}

static void make_pipeline(void) {
  VkShaderModuleCreateInfo shader = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                     .codeSize = sizeof tide_shader_steps,
                                     .pCode = tide_shader_steps};
  hand_must(vkCreateShaderModule(hand.info.device, &shader, NULL, &hand.shader));
  VkComputePipelineCreateInfo pipeline = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = hand.shader,
                .pName = "main"},
      .layout = hand.layout};
  hand_must(vkCreateComputePipelines(hand.info.device, VK_NULL_HANDLE, 1, &pipeline, NULL,
                                     &hand.pipeline));
}

static void make_set(void) {
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
  VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                     .maxSets = 1,
                                     .poolSizeCount = 1,
                                     .pPoolSizes = &size};
  hand_must(vkCreateDescriptorPool(hand.info.device, &pool, NULL, &hand.sets));
  VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                          .descriptorPool = hand.sets,
                                          .descriptorSetCount = 1,
                                          .pSetLayouts = &hand.set_layout};
  hand_must(vkAllocateDescriptorSets(hand.info.device, &allocate, &hand.set));
  struct tide_vulkan_range range;
  BENCH_CHECK(tide_vulkan_find(hand.device, hand.words, hand.size, &range) == TIDE_OK);
  BENCH_CHECK(range.offset == 0);
  VkDescriptorBufferInfo words = {.buffer = range.buffer, .range = hand.size};
  VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                .dstSet = hand.set,
                                .descriptorCount = 1,
                                .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                .pBufferInfo = &words};
  vkUpdateDescriptorSets(hand.info.device, 1, &write, 0, NULL);
}

static void make_commands(void) {
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                  .queueFamilyIndex = hand.info.queues[0].family};
  hand_must(vkCreateCommandPool(hand.info.device, &pool, NULL, &hand.pool));
  VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = hand.pool,
                                          .commandBufferCount = HAND_COMMANDS};
  hand_must(vkAllocateCommandBuffers(hand.info.device, &allocate, hand.commands));
}

static void make_words(void) {
  const struct tide_memory_source *source = tide_vulkan_memory(hand.device);
  hand.size = (size_t)(HAND_COMMANDS + 1) * HAND_GROUPS_MOST * HAND_GROUP_SIZE * sizeof *hand.words;
  hand.words = source->map(source->self, hand.size);
  BENCH_CHECK(hand.words != NULL);
  memset(hand.words, 0, hand.size); /* no round has its page faults */
}

void *hand_open(void) {
  static bool has_named;
  static struct tide_diag diag;
  hand = (struct hand){0};
  BENCH_CHECK(tide_context_create(NULL, &hand.context) == TIDE_OK);
  if (tide_vulkan_open(hand.context, NULL, &hand.device, &diag) != TIDE_OK) {
    tide_context_destroy(hand.context);
    return bench_skip(diag.text);
  }
  tide_vulkan_info(hand.device, &hand.info);
  if (!has_named) bench_note("the Vulkan driver's device: %s", hand.info.name);
  has_named = true;
  hand.queue = hand.info.queues[0].queue;
  make_words();
  make_layout();
  make_pipeline();
  make_set();
  make_commands();
  hand.line = hand_timeline();
  return &hand;
}

void hand_close(void *unused) {
  const struct tide_memory_source *source = tide_vulkan_memory(hand.device);
  VkDevice device = hand.info.device;
  (void)unused;
  vkDestroySemaphore(device, hand.line, NULL);
  vkDestroyCommandPool(device, hand.pool, NULL);
  vkDestroyDescriptorPool(device, hand.sets, NULL);
  vkDestroyPipeline(device, hand.pipeline, NULL);
  vkDestroyShaderModule(device, hand.shader, NULL);
  vkDestroyPipelineLayout(device, hand.layout, NULL);
  vkDestroyDescriptorSetLayout(device, hand.set_layout, NULL);
  source->unmap(source->self, hand.words, hand.size);
  tide_context_destroy(hand.context);
}

/* ---- commands ---------------------------------------------------------------------------- */

void hand_begin(VkCommandBuffer commands) {
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                    .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  hand_must(vkBeginCommandBuffer(commands, &begin));
}

static void put_barrier(VkCommandBuffer commands, VkPipelineStageFlags to, VkAccessFlags access) {
  const VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                  .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                  .dstAccessMask = access};
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, to, 0, 1, &memory, 0, NULL, 0,
                       NULL);
}

void hand_barrier(VkCommandBuffer commands) {
  put_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
              VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
}

void hand_dispatch(VkCommandBuffer commands, const struct hand_steps *dispatch) {
  const uint32_t words = HAND_GROUPS_MOST * HAND_GROUP_SIZE;
  struct constants constants = {.to = dispatch->to * words,
                                .first = dispatch->first * words,
                                .second = dispatch->second * words,
                                .steps = dispatch->steps};
  if (dispatch->groups == 0) return;
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, hand.pipeline);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, hand.layout, 0, 1, &hand.set, 0,
                          NULL);
  vkCmdPushConstants(commands, hand.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof constants,
                     &constants);
  vkCmdDispatch(commands, dispatch->groups, 1, 1);
}

/* ---- submissions ------------------------------------------------------------------------- */

void hand_submit(VkCommandBuffer commands, uint64_t wait) {
  static const VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  uint64_t value = ++hand.value;
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .waitSemaphoreValueCount = wait != 0,
                                          .pWaitSemaphoreValues = &wait,
                                          .signalSemaphoreValueCount = 1,
                                          .pSignalSemaphoreValues = &value};
  VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &values,
                         .waitSemaphoreCount = wait != 0,
                         .pWaitSemaphores = &hand.line,
                         .pWaitDstStageMask = &all,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &commands,
                         .signalSemaphoreCount = 1,
                         .pSignalSemaphores = &hand.line};
  hand_must(vkQueueSubmit(hand.queue, 1, &submit, VK_NULL_HANDLE));
}

void hand_await(uint64_t value) {
  VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                              .semaphoreCount = 1,
                              .pSemaphores = &hand.line,
                              .pValues = &value};
  hand_must(vkWaitSemaphores(hand.info.device, &wait, UINT64_MAX));
}

void hand_host_barrier(VkCommandBuffer commands) {
  put_barrier(commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

void hand_show_host(void) {
  VkCommandBuffer commands = hand.commands[0];
  hand_begin(commands);
  hand_host_barrier(commands);
  hand_must(vkEndCommandBuffer(commands));
  hand_submit(commands, 0);
  hand_await(hand.value);
}

void hand_block(VkSemaphore blocker) {
  static const VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  static const uint64_t one = 1;
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .waitSemaphoreValueCount = 1,
                                          .pWaitSemaphoreValues = &one};
  VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &values,
                         .waitSemaphoreCount = 1,
                         .pWaitSemaphores = &blocker,
                         .pWaitDstStageMask = &all};
  hand_must(vkQueueSubmit(hand.queue, 1, &submit, VK_NULL_HANDLE));
}

void hand_unblock(VkSemaphore blocker) {
  VkSemaphoreSignalInfo signal = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = blocker, .value = 1};
  hand_must(vkSignalSemaphore(hand.info.device, &signal));
}
