/* Compute kernels on a Vulkan device, and what happens when the driver refuses an object. */
#include "vulkan_rig.h"

#include <pthread.h>

/* void main() {}, with a local size of 1 */
static const uint32_t nothing[] = {
    0x07230203, 0x00010000, 0,          5,          0,    /* header */
    0x00020011, 1,                                        /* OpCapability Shader */
    0x0003000e, 0,          1,                            /* OpMemoryModel GLSL450 */
    0x0005000f, 5,          3,          0x6e69616d, 0,    /* OpEntryPoint main */
    0x00060010, 3,          17,         1,          1, 1, /* OpExecutionMode */
    0x00020013, 1,          0x00030021, 2,          1,    /* types */
    0x00050036, 1,          3,          0,          2, 0x000200f8,
    4,          0x000100fd, 0x00010038}; /* the function */

static const struct tide_vulkan_kernel none = {"none", nothing, sizeof nothing, 0, 0};
static const struct tide_vulkan_kernel most = {"most", nothing, sizeof nothing, 2, 16};

struct dispatch {
  struct tide_vulkan_dispatch dispatch;
  uint32_t times;
};
static enum tide_status record_dispatch(const void *arguments, struct tide_device *gpu,
                                        VkCommandBuffer commands) {
  const struct dispatch *d = *(const struct dispatch *const *)arguments;
  enum tide_status status = TIDE_OK;
  for (uint32_t i = 0; i < d->times && status == TIDE_OK; i++)
    status = tide_vulkan_dispatch(gpu, commands, &d->dispatch);
  return status;
}
static const struct tide_vulkan_ops dispatch_ops = {{TIDE_OPS_VULKAN}, record_dispatch};
static const struct tide_body_class dispatch_class = {.name = "dispatch", .ops = &dispatch_ops.ops};

static enum tide_status dispatch(const struct tide_vulkan_kernel *kernel, uint32_t groups,
                                 uint32_t times, struct tide_failure *out_failure) {
  struct dispatch d = {
      {.kernel = kernel, .buffers = {{rig.memory + 1, 5}, {rig.memory, SIZE}}, .groups = {groups}},
      times};
  const struct dispatch *arguments = &d;
  return run(&dispatch_class, &arguments, sizeof arguments, out_failure);
}

/* Runs one dispatch, which fails. */
static void check_failure(const struct tide_vulkan_dispatch *dispatch, enum tide_status status,
                          const char *text) {
  struct dispatch d = {*dispatch, 1};
  const struct dispatch *arguments = &d;
  struct tide_failure failure;
  CHECK_STATUS(run(&dispatch_class, &arguments, sizeof arguments, &failure), status);
  if (!strstr(failure.text, text)) FAIL("'%s' without '%s'", failure.text, text);
}

TEST(dispatches) {
  struct tide_failure failure;
  open_rig();
  CHECK_OK(dispatch(&none, 0, 1, &failure));
  CHECK_STATUS(dispatch(&most, 0, 1, &failure), TIDE_NOT_FOUND);
  CHECK(strstr(failure.text, "most: 5 bytes"));
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, SIZE, NULL));
  for (int i = 0; i < 200; i++) /* more than there are command buffers */
    CHECK_OK(dispatch(&most, 3, TIDE_VULKAN_DISPATCHES_MOST, &failure));
  CHECK_STATUS(dispatch(&most, 3, TIDE_VULKAN_DISPATCHES_MOST + 1, &failure), TIDE_FULL);
  CHECK(strstr(failure.text, "at most 16 dispatches"));
  CHECK_OK(dispatch(&none, 1, 1, &failure));
  close_rig();
}

TEST(wrong_dispatches) {
  struct tide_vulkan_dispatch wrong = {.kernel = &none};
  open_rig();
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, SIZE, NULL));
  for (int i = 0; i < 3; i++) {
    wrong.groups[i] = UINT32_MAX;
    check_failure(&wrong, TIDE_UNSUPPORTED, "kernel 'none': 4294967295 groups; at most");
    wrong.groups[i] = 1;
  }
  wrong =
      (struct tide_vulkan_dispatch){.kernel = &most, .buffers = {{rig.memory, 8}, {rig.memory, 0}}};
  check_failure(&wrong, TIDE_INVALID, "kernel 'most': buffer 1 is empty");
  close_rig();
}

/* A buffer of more bytes than a binding can have. */
TEST(a_binding_is_too_large) {
  PFN_vkGetPhysicalDeviceProperties properties_of;
  VkPhysicalDeviceProperties properties;
  open_rig();
  PFN_vkVoidFunction found = rig.find(rig.info.instance, "vkGetPhysicalDeviceProperties");
  memcpy(&properties_of, &found, sizeof found);
  properties_of(rig.info.physical_device, &properties);
  size_t most_bytes = properties.limits.maxStorageBufferRange, page = rig.info.share_alignment;
  size_t size = (most_bytes / page + 1) * page;
  if (size > (size_t)1 << 30) SKIP("a binding may have %zu bytes", most_bytes);
  void *memory =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(memory != MAP_FAILED);
  CHECK_OK(tide_vulkan_share(rig.gpu, memory, size, NULL));
  struct tide_vulkan_dispatch large = {.kernel = &most, .buffers = {{memory, 4}, {memory, size}}};
  check_failure(&large, TIDE_UNSUPPORTED, "kernel 'most': buffer 1 has more than");
  close_rig();
  CHECK(munmap(memory, size) == 0);
}

/* ---- other command buffers ------------------------------------------------------------ */

/* Dispatches into the command buffer of the operation before. */
static VkCommandBuffer before;
static enum tide_status record_elsewhere(const void *arguments, struct tide_device *gpu,
                                         VkCommandBuffer commands) {
  (void)arguments;
  VkCommandBuffer other = before;
  before = commands;
  if (!other) return TIDE_OK;
  return tide_vulkan_dispatch(gpu, other, &(struct tide_vulkan_dispatch){.kernel = &none});
}
static const struct tide_vulkan_ops elsewhere_ops = {{TIDE_OPS_VULKAN}, record_elsewhere};
static const struct tide_body_class elsewhere = {.name = "elsewhere", .ops = &elsewhere_ops.ops};

TEST(another_command_buffer_is_refused) {
  const struct tide_vulkan_dispatch dispatch = {.kernel = &none};
  struct tide_failure failure;
  open_rig();
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, SIZE, NULL));
  before = NULL;
  CHECK_OK(run(&elsewhere, NULL, 0, &failure));
  CHECK_STATUS(run(&elsewhere, NULL, 0, &failure), TIDE_INVALID);
  CHECK(strstr(failure.text, "not the command buffer of the operation"));
  CHECK_STATUS(tide_vulkan_dispatch(rig.gpu, before, &dispatch), TIDE_INVALID);
  CHECK_STATUS(tide_vulkan_copy(rig.gpu, before, rig.memory, rig.memory + 8, 8), TIDE_INVALID);
  close_rig();
}

/* A body that fails without a sentence does not get that of an earlier operation. */
static enum tide_status record_failure(const void *arguments, struct tide_device *gpu,
                                       VkCommandBuffer commands) {
  (void)arguments, (void)gpu, (void)commands;
  return TIDE_VALUE;
}
static const struct tide_vulkan_ops failure_ops = {{TIDE_OPS_VULKAN}, record_failure};
static const struct tide_body_class failing = {.name = "failing", .ops = &failure_ops.ops};

TEST(a_sentence_is_of_its_operation) {
  struct tide_failure failure;
  open_rig();
  check_failure(&(struct tide_vulkan_dispatch){.kernel = &most}, TIDE_INVALID, "is empty");
  CHECK_STATUS(run(&failing, NULL, 0, &failure), TIDE_VALUE);
  CHECK(!strstr(failure.text, "is empty"));
  close_rig();
}

/* ---- many threads --------------------------------------------------------------------- */

static enum tide_status prepared[4];
static void *prepare_most(void *argument) {
  enum tide_status *status = argument;
  *status = tide_vulkan_prepare(rig.gpu, &most, NULL);
  return NULL;
}

/* Threads that make the same pipeline at once keep one of them. */
TEST(threads_prepare_one_kernel) {
  pthread_t threads[4];
  for (int round = 0; round < 20; round++) {
    open_rig();
    for (int i = 0; i < 4; i++)
      CHECK(pthread_create(&threads[i], NULL, prepare_most, &prepared[i]) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < 4; i++) CHECK_OK(prepared[i]);
    close_rig();
  }
}

static void check_refused(const struct tide_vulkan_kernel *kernel, enum tide_status status,
                          const char *text) {
  struct tide_failure failure;
  struct tide_diag diag;
  CHECK_STATUS(tide_vulkan_prepare(rig.gpu, kernel, &diag), status);
  if (!strstr(diag.text, text)) FAIL("'%s' without '%s'", diag.text, text);
  CHECK_STATUS(dispatch(kernel, 1, 1, &failure), status);
  CHECK(strstr(failure.text, text));
}

TEST(wrong_kernels) {
  uint32_t bad[sizeof nothing / sizeof nothing[0]];
  struct tide_vulkan_kernel kernel = {"bad", bad, sizeof bad, 0, 0};
  open_rig();
  memcpy(bad, nothing, sizeof bad);
  CHECK_OK(tide_vulkan_prepare(rig.gpu, &kernel, NULL));
  CHECK_OK(tide_vulkan_prepare(rig.gpu, &kernel, NULL));
  check_refused(&(struct tide_vulkan_kernel){"bad", NULL, 64, 0, 0}, TIDE_CORRUPT, "not SPIR-V");
  check_refused(&(struct tide_vulkan_kernel){"bad", bad, 19, 0, 0}, TIDE_CORRUPT, "not SPIR-V");
  check_refused(&(struct tide_vulkan_kernel){"bad", bad, 16, 0, 0}, TIDE_CORRUPT, "not SPIR-V");
  check_refused(&(struct tide_vulkan_kernel){"bad", bad, 5 * 4, 0, 0}, TIDE_CORRUPT, "entry point");
  check_refused(&(struct tide_vulkan_kernel){"bad", bad, 6 * 4, 0, 0}, TIDE_CORRUPT, "word 5");
  check_refused(&(struct tide_vulkan_kernel){"bad", bad, sizeof bad, 5, 0}, TIDE_INVALID,
                "5 buffers; at most 4");
  check_refused(&(struct tide_vulkan_kernel){"bad", bad, sizeof bad, 0, 17}, TIDE_INVALID,
                "17 constants; at most 16");
  struct tide_vulkan_kernel other = kernel;
  bad[0] = 0x03022307;
  check_refused(&other, TIDE_CORRUPT, "not SPIR-V");
  memcpy(bad, nothing, sizeof bad);
  bad[11] = 4; /* a fragment shader */
  check_refused(&other, TIDE_CORRUPT, "entry point");
  memcpy(bad, nothing, sizeof bad);
  bad[12] = 0;
  bad[7] = 0; /* an instruction of no words */
  check_refused(&other, TIDE_CORRUPT, "word 7");
  close_rig();
}

/* ---- refused objects ------------------------------------------------------------------ */

/* A driver whose n-th call of these is refused. What the others leave behind, validation layers
 * tell. */
static uint32_t calls_left; /* until one is refused */
#define WITH(...) (__VA_ARGS__)
#define MAKES(name, info, handle)                                                                  \
  X(name, WITH(VkDevice d, const info *i, const VkAllocationCallbacks *a, handle *o),              \
    WITH(d, i, a, o))
#define CALLS                                                                                      \
  MAKES(CreateBuffer, VkBufferCreateInfo, VkBuffer)                                                \
  MAKES(AllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory)                                      \
  MAKES(CreateDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout)         \
  MAKES(CreatePipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout)                        \
  MAKES(CreateShaderModule, VkShaderModuleCreateInfo, VkShaderModule)                              \
  MAKES(CreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)                        \
  X(CreateComputePipelines,                                                                        \
    WITH(VkDevice d, VkPipelineCache c, uint32_t n, const VkComputePipelineCreateInfo *i,          \
         const VkAllocationCallbacks *a, VkPipeline *o),                                           \
    WITH(d, c, n, i, a, o))                                                                        \
  X(AllocateDescriptorSets,                                                                        \
    WITH(VkDevice d, const VkDescriptorSetAllocateInfo *i, VkDescriptorSet *o), WITH(d, i, o))     \
  X(ResetDescriptorPool, WITH(VkDevice d, VkDescriptorPool p, VkDescriptorPoolResetFlags f),       \
    WITH(d, p, f))                                                                                 \
  X(BindBufferMemory, WITH(VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize s),              \
    WITH(d, b, m, s))                                                                              \
  X(MapMemory,                                                                                     \
    WITH(VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize s, VkMemoryMapFlags f,         \
         void **p),                                                                                \
    WITH(d, m, o, s, f, p))

#define X(name, parameters, arguments)                                                             \
  static PFN_vk##name real_##name;                                                                 \
  static VkResult VKAPI_CALL try_##name parameters {                                               \
    if (calls_left && --calls_left == 0) return VK_ERROR_OUT_OF_DEVICE_MEMORY;                     \
    return real_##name arguments;                                                                  \
  }
CALLS
#undef X

static PFN_vkVoidFunction refuse(const char *name, PFN_vkVoidFunction found) {
#define X(kind, parameters, arguments)                                                             \
  if (!strcmp(name, "vk" #kind)) {                                                                 \
    real_##kind = (PFN_vk##kind)found;                                                             \
    return (PFN_vkVoidFunction)try_##kind;                                                         \
  }
  CALLS
#undef X
  return found;
}
static PFN_vkVoidFunction refuse_without_imports(const char *name, PFN_vkVoidFunction found) {
  return strcmp(name, "vkGetMemoryHostPointerPropertiesEXT") ? refuse(name, found) : NULL;
}

/* Shares memory, takes some from a pool, and dispatches. False: something was refused. */
static bool use_all(void) {
  struct tide_pool_params params = {
      .struct_size = sizeof params, .source = tide_vulkan_memory(rig.gpu), .chunk = 4096};
  struct tide_pool *pool;
  struct tide_buffer *buffer = NULL;
  struct tide_failure failure;
  struct tide_diag diag;
  enum tide_status shared = tide_vulkan_share(rig.gpu, rig.memory, SIZE, &diag);
  if (shared != TIDE_OK) CHECK(strstr(diag.text, "VK_ERROR_OUT_OF_DEVICE_MEMORY"));
  CHECK_OK(tide_pool_create(rig.context, &params, &pool));
  enum tide_status allocated = tide_queue_alloc(rig.queue, pool, 100, "buffer", &buffer);
  if (buffer) tide_queue_free(rig.queue, buffer);
  CHECK_OK(tide_pool_destroy(pool));
  enum tide_status dispatched = TIDE_OK;
  if (shared == TIDE_OK) dispatched = dispatch(&most, 1, 1, &failure);
  if (dispatched != TIDE_OK) CHECK(strstr(failure.text, "VK_ERROR_OUT_OF_DEVICE_MEMORY"));
  const enum tide_status all[] = {shared, allocated, dispatched};
  for (int i = 0; i < 3; i++) CHECK(all[i] == TIDE_OK || all[i] == TIDE_NOMEM);
  return shared == TIDE_OK && allocated == TIDE_OK && dispatched == TIDE_OK;
}

/* Each call can be refused, and the device goes on. */
TEST(objects_are_refused) {
  uint32_t refused = 0;
  for (uint32_t n = 1;; n++) {
    open_rig_with(refuse, false);
    calls_left = n;
    refused += !use_all();
    if (calls_left) break;
    tide_vulkan_unshare(rig.gpu, rig.memory);
    CHECK(use_all());
    close_rig();
  }
  close_rig();
  CHECK(refused >= 10);
}

/* The same for memory of the driver. */
TEST(memory_of_the_driver_is_refused) {
  uint32_t n = 1;
  for (void *memory = NULL; !memory; n++) {
    open_rig_with(refuse_without_imports, false);
    const struct tide_memory_source *source = tide_vulkan_memory(rig.gpu);
    calls_left = n;
    memory = source->map(source->self, 4096);
    CHECK((memory == NULL) == (calls_left == 0));
    source->unmap(source->self, memory, 4096);
    close_rig();
  }
  CHECK_EQ_U64(n, 6); /* a buffer, memory, its binding, its mapping */
}

TEST_MAIN(CASE(dispatches), CASE(wrong_dispatches), CASE(a_binding_is_too_large),
          CASE(another_command_buffer_is_refused), CASE(a_sentence_is_of_its_operation),
          CASE(threads_prepare_one_kernel), CASE(wrong_kernels), CASE(objects_are_refused),
          CASE(memory_of_the_driver_is_refused))
