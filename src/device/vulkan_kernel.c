/* Commands on shared memory: copies, and dispatches of compute kernels. */
#include "device/vulkan_device.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/text.h"

#define WORD sizeof(uint32_t)
#define KERNEL_ERROR "kernel '%s': "

/* ---- shaders -------------------------------------------------------------------------------- */

#define SPIRV_MAGIC 0x07230203u
#define SPIRV_HEADER 5u /* words */
#define OP_ENTRY_POINT 15u
#define GL_COMPUTE 5u

/* True if the words of an OpEntryPoint are those of a compute shader's "main". */
static bool is_main(const uint32_t *words, size_t count) {
  return count >= 5 && words[1] == GL_COMPUTE && !memcmp(&words[3], "main", sizeof "main");
}

/* Checks the frame of the code, not each instruction: drivers trust these. */
static enum tide_status check_code(const struct tide_vulkan_kernel *kernel,
                                   struct tide_diag *diag) {
  const uint32_t *code = kernel->code;
  size_t words = kernel->code_size / WORD;
  bool has_main = false;
  if (!code || kernel->code_size % WORD || words < SPIRV_HEADER || code[0] != SPIRV_MAGIC)
    return tide_diag_set(diag, TIDE_CORRUPT, KERNEL_ERROR "the code is not SPIR-V", kernel->name);
  for (size_t i = SPIRV_HEADER; i < words;) {
    size_t count = code[i] >> 16;
    if (!count || count > words - i)
      return tide_diag_set(diag, TIDE_CORRUPT, KERNEL_ERROR "word %zu is no instruction of SPIR-V",
                           kernel->name, i);
    has_main |= (code[i] & 0xffff) == OP_ENTRY_POINT && is_main(&code[i], count);
    i += count;
  }
  if (has_main) return TIDE_OK;
  return tide_diag_set(diag, TIDE_CORRUPT,
                       KERNEL_ERROR "the code has no compute shader with entry point 'main'",
                       kernel->name);
}

static enum tide_status check_kernel(const struct tide_vulkan_kernel *kernel,
                                     struct tide_diag *diag) {
  if (kernel->buffer_count > TIDE_VULKAN_BUFFERS_MOST)
    return tide_diag_set(diag, TIDE_INVALID, KERNEL_ERROR "%u buffers; at most %d", kernel->name,
                         kernel->buffer_count, TIDE_VULKAN_BUFFERS_MOST);
  if (kernel->constant_count > TIDE_VULKAN_CONSTANTS_MOST)
    return tide_diag_set(diag, TIDE_INVALID, KERNEL_ERROR "%u constants; at most %d", kernel->name,
                         kernel->constant_count, TIDE_VULKAN_CONSTANTS_MOST);
  return check_code(kernel, diag);
}

/* ---- pipelines ------------------------------------------------------------------------------ */

static void free_pipeline(const struct tide_vulkan *vulkan,
                          const struct tide_vulkan_pipeline *pipeline) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  if (pipeline->pipeline) driver->DestroyPipeline(driver->device, pipeline->pipeline, NULL);
  if (pipeline->layout) driver->DestroyPipelineLayout(driver->device, pipeline->layout, NULL);
  if (pipeline->set) driver->DestroyDescriptorSetLayout(driver->device, pipeline->set, NULL);
}

static uint32_t count_pushed(const struct tide_vulkan_kernel *kernel) {
  return kernel->buffer_count + kernel->constant_count;
}

static VkResult make_layout(const struct tide_vulkan *vulkan,
                            struct tide_vulkan_pipeline *pipeline) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  VkDescriptorSetLayoutBinding bindings[TIDE_VULKAN_BUFFERS_MOST];
  for (uint32_t i = 0; i < pipeline->kernel->buffer_count; i++)
    bindings[i] =
        (VkDescriptorSetLayoutBinding){.binding = i,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .descriptorCount = 1,
                                       .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  VkDescriptorSetLayoutCreateInfo set = {.sType =
                                             VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                         .bindingCount = pipeline->kernel->buffer_count,
                                         .pBindings = bindings};
  VkPushConstantRange pushed = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                .size = (uint32_t)(count_pushed(pipeline->kernel) * WORD)};
  VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = 1,
                                       .pSetLayouts = &pipeline->set,
                                       .pushConstantRangeCount = pushed.size != 0,
                                       .pPushConstantRanges = &pushed};
  VkResult result = driver->CreateDescriptorSetLayout(driver->device, &set, NULL, &pipeline->set);
  if (result != VK_SUCCESS) pipeline->set = VK_NULL_HANDLE;
  else result = driver->CreatePipelineLayout(driver->device, &layout, NULL, &pipeline->layout);
  if (result != VK_SUCCESS) pipeline->layout = VK_NULL_HANDLE;
  return result;
}

/* Makes a pipeline. On an error free_pipeline cleans up. */
static enum tide_status make_pipeline(const struct tide_vulkan *vulkan,
                                      struct tide_vulkan_pipeline *pipeline,
                                      struct tide_diag *diag) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  const struct tide_vulkan_kernel *kernel = pipeline->kernel;
  VkShaderModule module = VK_NULL_HANDLE;
  VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                   .codeSize = kernel->code_size,
                                   .pCode = kernel->code};
  VkResult result = make_layout(vulkan, pipeline);
  if (result == VK_SUCCESS)
    result = driver->CreateShaderModule(driver->device, &code, NULL, &module);
  if (result != VK_SUCCESS) return tide_vulkan_explain(diag, result, kernel->name);
  VkComputePipelineCreateInfo create = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main"},
      .layout = pipeline->layout};
  result = driver->CreateComputePipelines(driver->device, VK_NULL_HANDLE, 1, &create, NULL,
                                          &pipeline->pipeline);
  if (result != VK_SUCCESS) pipeline->pipeline = VK_NULL_HANDLE;
  driver->DestroyShaderModule(driver->device, module, NULL);
  return tide_vulkan_explain(diag, result, kernel->name);
}

/* Finds the pipeline of a kernel; the caller holds the lock. NULL: not made. */
static const struct tide_vulkan_pipeline *look_up(const struct tide_vulkan_kernels *kernels,
                                                  const struct tide_vulkan_kernel *kernel) {
  for (size_t i = 0; i < kernels->count; i++)
    if (kernels->pipelines[i].kernel == kernel) return &kernels->pipelines[i];
  return NULL;
}

static bool find_pipeline(struct tide_vulkan *vulkan, const struct tide_vulkan_kernel *kernel,
                          struct tide_vulkan_pipeline *out_pipeline) {
  struct tide_vulkan_kernels *kernels = &vulkan->kernels;
  tide_lock_take(&kernels->lock, vulkan->context->platform);
  const struct tide_vulkan_pipeline *found = look_up(kernels, kernel);
  if (found) *out_pipeline = *found;
  tide_lock_give(&kernels->lock);
  return found != NULL;
}

/* Keeps a pipeline. False: another thread has been quicker, or no memory. */
static bool keep_pipeline(struct tide_vulkan *vulkan, const struct tide_vulkan_pipeline *pipeline) {
  struct tide_vulkan_kernels *kernels = &vulkan->kernels;
  tide_lock_take(&kernels->lock, vulkan->context->platform);
  bool keep =
      !look_up(kernels, pipeline->kernel) &&
      tide_array_reserve(vulkan->context->allocator, &kernels->pipelines, &kernels->capacity,
                         kernels->count + 1, sizeof *kernels->pipelines);
  if (keep) kernels->pipelines[kernels->count++] = *pipeline;
  tide_lock_give(&kernels->lock);
  return keep;
}

static enum tide_status prepare(struct tide_vulkan *vulkan, const struct tide_vulkan_kernel *kernel,
                                struct tide_vulkan_pipeline *out_pipeline, struct tide_diag *diag) {
  struct tide_vulkan_pipeline made = {.kernel = kernel};
  if (find_pipeline(vulkan, kernel, out_pipeline)) return TIDE_OK;
  enum tide_status status = check_kernel(kernel, diag);
  if (status == TIDE_OK) status = make_pipeline(vulkan, &made, diag);
  if (status == TIDE_OK && keep_pipeline(vulkan, &made)) {
    *out_pipeline = made;
    return TIDE_OK;
  }
  free_pipeline(vulkan, &made);
  if (status != TIDE_OK) return status;
  if (find_pipeline(vulkan, kernel, out_pipeline)) return TIDE_OK;
  return tide_diag_set(diag, TIDE_NOMEM, KERNEL_ERROR "out of memory", kernel->name);
}

enum tide_status tide_vulkan_prepare(struct tide_device *gpu,
                                     const struct tide_vulkan_kernel *kernel,
                                     struct tide_diag *diag) {
  struct tide_vulkan_pipeline pipeline;
  return prepare(tide_vulkan_of(gpu), kernel, &pipeline, diag);
}

void tide_vulkan_kernels_fini(struct tide_vulkan *vulkan) {
  struct tide_vulkan_kernels *kernels = &vulkan->kernels;
  for (size_t i = 0; i < kernels->count; i++) free_pipeline(vulkan, &kernels->pipelines[i]);
  tide_free(vulkan->context->allocator, kernels->pipelines, kernels->capacity,
            sizeof *kernels->pipelines);
}

/* ---- dispatches ----------------------------------------------------------------------------- */

/* Makes the descriptor pool of the slot. */
static enum tide_status make_sets(const struct tide_vulkan *vulkan, struct tide_vulkan_slot *slot) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                               TIDE_VULKAN_DISPATCHES_MOST * TIDE_VULKAN_BUFFERS_MOST};
  VkDescriptorPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = TIDE_VULKAN_DISPATCHES_MOST,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
  VkResult result = driver->CreateDescriptorPool(driver->device, &create, NULL, &slot->sets);
  if (result != VK_SUCCESS) slot->sets = VK_NULL_HANDLE;
  return tide_status_of_vulkan(result);
}

static enum tide_status make_set(const struct tide_vulkan *vulkan, struct tide_vulkan_slot *slot,
                                 const struct tide_vulkan_pipeline *pipeline,
                                 VkDescriptorSet *out_set) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  enum tide_status status = slot->sets ? TIDE_OK : make_sets(vulkan, slot);
  if (status != TIDE_OK) return status;
  if (slot->dispatches == TIDE_VULKAN_DISPATCHES_MOST)
    return tide_body_report(TIDE_FULL, 0, "an operation has at most %d dispatches",
                            TIDE_VULKAN_DISPATCHES_MOST);
  if (!slot->dispatches)
    status = tide_status_of_vulkan(driver->ResetDescriptorPool(driver->device, slot->sets, 0));
  if (status != TIDE_OK) return status;
  VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                          .descriptorPool = slot->sets,
                                          .descriptorSetCount = 1,
                                          .pSetLayouts = &pipeline->set};
  VkResult result = driver->AllocateDescriptorSets(driver->device, &allocate, out_set);
  if (result == VK_SUCCESS) slot->dispatches++;
  return tide_status_of_vulkan(result);
}

static enum tide_status find_slice(struct tide_device *gpu, const char *what, const void *memory,
                                   size_t size, struct tide_vulkan_range *out_range) {
  enum tide_status status = tide_vulkan_find(gpu, memory, size, out_range);
  if (status == TIDE_OK) return status;
  return tide_body_report(status, 0, "%s: %zu bytes at 0x%lx are not shared with the GPU", what,
                          size, (unsigned long)(uintptr_t)memory);
}

/* Finds where a buffer's binding starts, and how far before the slice that is. */
static enum tide_status bind_buffer(struct tide_device *gpu,
                                    const struct tide_vulkan_dispatch *dispatch, uint32_t index,
                                    VkDescriptorBufferInfo *out_binding, uint32_t *out_shift) {
  const VkPhysicalDeviceLimits *limits = &tide_vulkan_of(gpu)->driver.limits;
  const struct tide_vulkan_slice *slice = &dispatch->buffers[index];
  struct tide_vulkan_range range;
  if (!slice->size)
    return tide_body_report(TIDE_INVALID, 0, KERNEL_ERROR "buffer %u is empty",
                            dispatch->kernel->name, index);
  enum tide_status status =
      find_slice(gpu, dispatch->kernel->name, slice->memory, slice->size, &range);
  if (status != TIDE_OK) return status;
  VkDeviceSize alignment = limits->minStorageBufferOffsetAlignment;
  VkDeviceSize shift = range.offset % (alignment < WORD ? WORD : alignment);
  VkDeviceSize size = (shift + slice->size + WORD - 1) / WORD * WORD;
  if (size > limits->maxStorageBufferRange)
    return tide_body_report(TIDE_UNSUPPORTED, 0, KERNEL_ERROR "buffer %u has more than %u bytes",
                            dispatch->kernel->name, index, limits->maxStorageBufferRange);
  *out_binding = (VkDescriptorBufferInfo){range.buffer, range.offset - shift, size};
  *out_shift = (uint32_t)shift;
  return TIDE_OK;
}

static void write_set(const struct tide_vulkan *vulkan, VkDescriptorSet set,
                      const VkDescriptorBufferInfo *bindings, uint32_t count) {
  VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                .dstSet = set,
                                .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER};
  VkWriteDescriptorSet writes[TIDE_VULKAN_BUFFERS_MOST];
  for (uint32_t i = 0; i < count; i++) {
    writes[i] = write;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].pBufferInfo = &bindings[i];
  }
  vulkan->driver.UpdateDescriptorSets(vulkan->driver.device, count, writes, 0, NULL);
}

static void put_dispatch(const struct tide_vulkan *vulkan, VkCommandBuffer commands,
                         const struct tide_vulkan_pipeline *pipeline, VkDescriptorSet set,
                         const uint32_t *pushed, const uint32_t *groups) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  uint32_t size = (uint32_t)(count_pushed(pipeline->kernel) * WORD);
  driver->CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->pipeline);
  driver->CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->layout, 0, 1,
                                &set, 0, NULL);
  if (size)
    driver->CmdPushConstants(commands, pipeline->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, size,
                             pushed);
  driver->CmdDispatch(commands, groups[0] ? groups[0] : 1, groups[1] ? groups[1] : 1,
                      groups[2] ? groups[2] : 1);
}

static enum tide_status check_groups(const struct tide_vulkan *vulkan,
                                     const struct tide_vulkan_dispatch *dispatch) {
  for (int i = 0; i < 3; i++)
    if (dispatch->groups[i] > vulkan->driver.limits.maxComputeWorkGroupCount[i])
      return tide_body_report(TIDE_UNSUPPORTED, 0, KERNEL_ERROR "%u groups; at most %u",
                              dispatch->kernel->name, dispatch->groups[i],
                              vulkan->driver.limits.maxComputeWorkGroupCount[i]);
  return TIDE_OK;
}

static enum tide_status check_commands(const struct tide_vulkan *vulkan, VkCommandBuffer commands) {
  if (vulkan->recording && vulkan->recording->commands == commands) return TIDE_OK;
  return tide_body_report(TIDE_INVALID, 0, "not the command buffer of the operation");
}

enum tide_status tide_vulkan_dispatch(struct tide_device *gpu, VkCommandBuffer commands,
                                      const struct tide_vulkan_dispatch *dispatch) {
  struct tide_vulkan *vulkan = tide_vulkan_of(gpu);
  const struct tide_vulkan_kernel *kernel = dispatch->kernel;
  struct tide_vulkan_pipeline pipeline;
  VkDescriptorBufferInfo bindings[TIDE_VULKAN_BUFFERS_MOST];
  uint32_t pushed[TIDE_VULKAN_BUFFERS_MOST + TIDE_VULKAN_CONSTANTS_MOST];
  VkDescriptorSet set;
  struct tide_diag diag = {.text = ""};
  enum tide_status status = check_commands(vulkan, commands);
  if (status == TIDE_OK) status = check_groups(vulkan, dispatch);
  if (status != TIDE_OK) return status;
  status = prepare(vulkan, kernel, &pipeline, &diag);
  if (status != TIDE_OK) return tide_body_report(status, 0, "%s", diag.text);
  for (uint32_t i = 0; i < kernel->buffer_count && status == TIDE_OK; i++)
    status = bind_buffer(gpu, dispatch, i, &bindings[i], &pushed[i]);
  if (status == TIDE_OK) status = make_set(vulkan, vulkan->recording, &pipeline, &set);
  if (status != TIDE_OK) return status;
  memcpy(&pushed[kernel->buffer_count], dispatch->constants, kernel->constant_count * WORD);
  write_set(vulkan, set, bindings, kernel->buffer_count);
  put_dispatch(vulkan, commands, &pipeline, set, pushed, dispatch->groups);
  return TIDE_OK;
}

enum tide_status tide_vulkan_copy(struct tide_device *gpu, VkCommandBuffer commands, void *to,
                                  const void *from, size_t size) {
  struct tide_vulkan *vulkan = tide_vulkan_of(gpu);
  struct tide_vulkan_range into, out_of;
  uintptr_t x = (uintptr_t)to, y = (uintptr_t)from;
  enum tide_status status = check_commands(vulkan, commands);
  if (status != TIDE_OK || !size) return status;
  if ((x > y ? x - y : y - x) < size)
    return tide_body_report(TIDE_INVALID, 0, "a copy between slices that overlap");
  status = find_slice(gpu, "copy", to, size, &into);
  if (status == TIDE_OK) status = find_slice(gpu, "copy", from, size, &out_of);
  if (status != TIDE_OK) return status;
  VkBufferCopy region = {.srcOffset = out_of.offset, .dstOffset = into.offset, .size = size};
  vulkan->driver.CmdCopyBuffer(commands, out_of.buffer, into.buffer, 1, &region);
  return TIDE_OK;
}
