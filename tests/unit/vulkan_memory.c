/* Memory that the host shares with a Vulkan device, and the commands on it. */
#define VK_NO_PROTOTYPES
#include "harness.h"

#include "tidemark/tidemark.h"
#include "tidemark/vulkan.h"

#include <string.h>
#include <sys/mman.h>

#define SIZE ((size_t)1 << 20)

static struct rig {
  struct tide_context *context;
  struct tide_device *gpu;
  struct tide_queue *queue;
  struct tide_timeline *done;
  uint64_t value;
  struct tide_vulkan_info info;
  unsigned char *memory;
} rig;

/* A driver that imports no memory of the host. */
static PFN_vkGetInstanceProcAddr loader_proc;
static PFN_vkGetDeviceProcAddr loader_device_proc;
static PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name) {
  bool imports = !strcmp(name, "vkGetMemoryHostPointerPropertiesEXT");
  return imports ? NULL : loader_device_proc(device, name);
}
static PFN_vkVoidFunction VKAPI_CALL instance_proc(VkInstance instance, const char *name) {
  PFN_vkVoidFunction found = loader_proc(instance, name);
  if (strcmp(name, "vkGetDeviceProcAddr") != 0) return found;
  loader_device_proc = (PFN_vkGetDeviceProcAddr)found;
  return (PFN_vkVoidFunction)device_proc;
}

/* A driver whose n-th object cannot be made. What the others leave behind, validation layers tell.
 */
static uint32_t objects_left; /* until one is refused */
#define OBJECTS(X)                                                                                 \
  X(CreateBuffer, VkBufferCreateInfo, VkBuffer)                                                    \
  X(AllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory)                                          \
  X(CreateDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout)             \
  X(CreatePipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout)                            \
  X(CreateShaderModule, VkShaderModuleCreateInfo, VkShaderModule)                                  \
  X(CreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)
#define REFUSING(name, info, handle)                                                               \
  static PFN_vk##name real_##name;                                                                 \
  static VkResult VKAPI_CALL try_##name(VkDevice device, const info *create,                       \
                                        const VkAllocationCallbacks *allocator, handle *out) {     \
    if (objects_left && --objects_left == 0) return VK_ERROR_OUT_OF_DEVICE_MEMORY;                 \
    return real_##name(device, create, allocator, out);                                            \
  }
OBJECTS(REFUSING)
static PFN_vkVoidFunction VKAPI_CALL refusing_device_proc(VkDevice device, const char *name) {
  PFN_vkVoidFunction found = loader_device_proc(device, name);
#define REFUSE(kind, info, handle)                                                                 \
  if (!strcmp(name, "vk" #kind)) {                                                                 \
    real_##kind = (PFN_vk##kind)found;                                                             \
    return (PFN_vkVoidFunction)try_##kind;                                                         \
  }
  OBJECTS(REFUSE)
  return found;
}
static PFN_vkVoidFunction VKAPI_CALL refusing_proc(VkInstance instance, const char *name) {
  PFN_vkVoidFunction found = loader_proc(instance, name);
  if (strcmp(name, "vkGetDeviceProcAddr") != 0) return found;
  loader_device_proc = (PFN_vkGetDeviceProcAddr)found;
  return (PFN_vkVoidFunction)refusing_device_proc;
}

static void open_rig(PFN_vkGetInstanceProcAddr get_proc) {
  struct tide_diag diag;
  struct tide_vulkan_params params = {.struct_size = sizeof params, .get_proc = get_proc};
  if (test_slowdown() > 1) SKIP("a Vulkan driver under a sanitizer");
  CHECK_OK(tide_context_create(NULL, &rig.context));
  enum tide_status status = tide_vulkan_open(rig.context, &params, &rig.gpu, &diag);
  if (status == TIDE_UNSUPPORTED) SKIP("%s", diag.text);
  CHECK_OK(status);
  tide_vulkan_info(rig.gpu, &rig.info);
  CHECK_OK(tide_queue_create(rig.gpu, NULL, &rig.queue));
  CHECK_OK(tide_timeline_create(rig.context, NULL, &rig.done));
  rig.value = 0;
  rig.memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(rig.memory != MAP_FAILED);
}

static void close_rig(void) {
  tide_timeline_destroy(rig.done);
  tide_queue_destroy(rig.queue);
  tide_device_close(rig.gpu);
  tide_context_destroy(rig.context);
  CHECK(munmap(rig.memory, SIZE) == 0);
}

/* Finds the loader, by a device that is closed again. */
static void find_loader(void) {
  open_rig(NULL);
  loader_proc = rig.info.get_proc;
  close_rig();
}

static void open_without_imports(void) {
  find_loader();
  open_rig(instance_proc);
  CHECK(!rig.info.share_alignment);
}

/* Runs one body to its end. *out_failure has the reason of an error. */
static enum tide_status run(const struct tide_body_class *body, const void *arguments,
                            uint32_t size, struct tide_failure *out_failure) {
  struct tide_operation operation = {.body = body,
                                     .arguments = arguments,
                                     .arguments_size = size,
                                     TIDE_SIGNALS(TIDE_SIGNAL(rig.done, ++rig.value))};
  CHECK_OK(tide_queue_submit(rig.queue, &operation, NULL, NULL));
  enum tide_status status = tide_timeline_wait(rig.done, rig.value, TIDE_FOREVER);
  if (status == TIDE_OK) return status;
  CHECK(tide_timeline_failure(rig.done, rig.value, out_failure));
  tide_timeline_destroy(rig.done);
  CHECK_OK(tide_timeline_create(rig.context, NULL, &rig.done));
  rig.value = 0;
  return status;
}

/* ---- copies --------------------------------------------------------------------------- */

struct copy {
  void *to;
  const void *from;
  size_t size;
};
static enum tide_status record_copy(const void *arguments, struct tide_device *gpu,
                                    VkCommandBuffer commands) {
  const struct copy *c = arguments;
  return tide_vulkan_copy(gpu, commands, c->to, c->from, c->size);
}
static const struct tide_vulkan_ops copy_ops = {{TIDE_OPS_VULKAN}, record_copy};
static const struct tide_body_class copy_class = {.name = "copy", .ops = &copy_ops.ops};

static enum tide_status copy(void *to, const void *from, size_t size,
                             struct tide_failure *out_failure) {
  struct copy c = {to, from, size};
  return run(&copy_class, &c, sizeof c, out_failure);
}

static void check_copy(unsigned char *to, const unsigned char *from, size_t size) {
  struct tide_failure failure;
  CHECK_OK(copy(to, from, size, &failure));
  CHECK(!memcmp(to, from, size));
}

TEST(shared_memory_is_the_same) {
  open_rig(NULL);
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, SIZE, NULL));
  for (size_t i = 0; i < SIZE; i++) rig.memory[i] = (unsigned char)(i * 7 + i / 256);
  check_copy(rig.memory + SIZE / 2, rig.memory, SIZE / 2);
  rig.memory[5] = 77; /* the host's newer writes are seen */
  check_copy(rig.memory + SIZE / 2 + 3, rig.memory + 1, 1001);
  CHECK(rig.memory[SIZE / 2 + 7] == 77);
  check_copy(rig.memory + 1, rig.memory, 1); /* neighbours */
  check_copy(rig.memory, rig.memory + SIZE - 1, 0);
  close_rig();
}

TEST(wrong_copies_fail) {
  struct tide_failure failure;
  char elsewhere[8] = {0};
  open_rig(NULL);
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, SIZE, NULL));
  CHECK_STATUS(copy(rig.memory, elsewhere, 8, &failure), TIDE_NOT_FOUND);
  CHECK(strstr(failure.text, "copy: 8 bytes") && strstr(failure.text, "not memory that"));
  CHECK_STATUS(copy(elsewhere, rig.memory, 8, &failure), TIDE_NOT_FOUND);
  CHECK_STATUS(copy(rig.memory, rig.memory + SIZE - 8, 9, &failure), TIDE_NOT_FOUND);
  CHECK_STATUS(copy(rig.memory + 7, rig.memory, 8, &failure), TIDE_INVALID);
  CHECK(strstr(failure.text, "overlap"));
  CHECK_STATUS(copy(rig.memory, rig.memory, SIZE_MAX, &failure), TIDE_INVALID);
  check_copy(rig.memory + 8, rig.memory, 8); /* the device goes on */
  close_rig();
}

/* Two VkDevices take turns on the same memory: the host carries each wait from one to the other. */
TEST(two_devices_share_memory) {
  struct tide_device *gpus[2];
  struct tide_queue *queues[2];
  const uint64_t rounds = 50;
  open_rig(NULL);
  gpus[0] = rig.gpu, queues[0] = rig.queue;
  CHECK_OK(tide_vulkan_open(rig.context, NULL, &gpus[1], NULL));
  CHECK_OK(tide_queue_create(gpus[1], NULL, &queues[1]));
  for (int i = 0; i < 2; i++) CHECK_OK(tide_vulkan_share(gpus[i], rig.memory, SIZE, NULL));
  memset(rig.memory, 3, 64);
  for (uint64_t i = 0; i < rounds; i++) {
    struct copy c = {rig.memory + 64 * (i + 1), rig.memory + 64 * i, 64};
    struct tide_operation operation = {.body = &copy_class,
                                       TIDE_ARGUMENTS(c),
                                       TIDE_WAITS({rig.done, i}),
                                       TIDE_SIGNALS(TIDE_SIGNAL(rig.done, i + 1))};
    CHECK_OK(tide_queue_submit(queues[i % 2], &operation, NULL, NULL));
  }
  CHECK_OK(tide_timeline_wait(rig.done, rounds, TIDE_FOREVER));
  CHECK(!memcmp(rig.memory, rig.memory + 64 * rounds, 64));
  tide_queue_destroy(queues[1]);
  tide_device_close(gpus[1]);
  close_rig();
}

/* ---- sharing -------------------------------------------------------------------------- */

static enum tide_status find(size_t offset, size_t size, struct tide_vulkan_range *out_range) {
  return tide_vulkan_find(rig.gpu, rig.memory + offset, size, out_range);
}

TEST(blocks_are_found) {
  struct tide_vulkan_range first, second;
  open_rig(NULL);
  size_t page = rig.info.share_alignment;
  CHECK_STATUS(find(0, 1, &first), TIDE_NOT_FOUND);
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory + 4 * page, page, NULL));
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, page, NULL));
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory + page, 2 * page, NULL));
  CHECK_OK(find(0, page, &first));
  CHECK_OK(find(page + 3, 2 * page - 3, &second));
  CHECK(first.buffer != second.buffer && first.offset == 0 && second.offset == 3);
  CHECK_STATUS(find(0, page + 1, &first), TIDE_NOT_FOUND); /* two blocks */
  CHECK_STATUS(find(3 * page, 1, &first), TIDE_NOT_FOUND);
  CHECK_OK(find(5 * page - 1, 1, &first));
  CHECK_STATUS(find(5 * page - 1, 2, &first), TIDE_NOT_FOUND);
  CHECK_STATUS(find(page, SIZE_MAX, &first), TIDE_NOT_FOUND);
  tide_vulkan_unshare(rig.gpu, rig.memory);
  tide_vulkan_unshare(rig.gpu, NULL);
  CHECK_STATUS(find(0, 1, &first), TIDE_NOT_FOUND);
  CHECK_OK(find(page, 1, &first));
  close_rig();
}

TEST(wrong_sharing) {
  struct tide_diag diag;
  open_rig(NULL);
  size_t page = rig.info.share_alignment;
  CHECK(page > 1);
  CHECK_STATUS(tide_vulkan_share(rig.gpu, rig.memory + 1, page, &diag), TIDE_INVALID);
  CHECK(strstr(diag.text, "a multiple of"));
  CHECK_STATUS(tide_vulkan_share(rig.gpu, rig.memory, page + 1, &diag), TIDE_INVALID);
  CHECK_STATUS(tide_vulkan_share(rig.gpu, rig.memory, 0, &diag), TIDE_INVALID);
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory + page, page, &diag));
  CHECK_STATUS(tide_vulkan_share(rig.gpu, rig.memory, 2 * page, &diag), TIDE_INVALID);
  CHECK(strstr(diag.text, "shared already"));
  CHECK_STATUS(tide_vulkan_share(rig.gpu, rig.memory + page, page, &diag), TIDE_INVALID);
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, page, &diag));
  close_rig();
}

TEST(no_imports) {
  struct tide_diag diag;
  open_without_imports();
  CHECK_STATUS(tide_vulkan_share(rig.gpu, rig.memory, SIZE, &diag), TIDE_UNSUPPORTED);
  CHECK(strstr(diag.text, "VK_EXT_external_memory_host"));
  close_rig();
}

/* ---- pools ---------------------------------------------------------------------------- */

/* A pool of shared memory: what the host writes the GPU copies, across chunks, again and again. */
static void check_pool(void) {
  struct tide_pool_params params = {
      .struct_size = sizeof params, .source = tide_vulkan_memory(rig.gpu), .chunk = 1 << 16};
  struct tide_pool *pool;
  CHECK_OK(tide_pool_create(rig.context, &params, &pool));
  for (unsigned round = 0; round < 30; round++) {
    struct tide_buffer *from, *to;
    size_t size = 1 + round * 12345;
    CHECK_OK(tide_queue_alloc(rig.queue, pool, size, "from", &from));
    CHECK_OK(tide_queue_alloc(rig.queue, pool, size, "to", &to));
    memset(tide_buffer_data(from), (int)round + 1, size);
    check_copy(tide_buffer_data(to), tide_buffer_data(from), size);
    tide_queue_free(rig.queue, from);
    tide_queue_free(rig.queue, to);
  }
  CHECK_OK(tide_pool_destroy(pool));
}

TEST(pool_of_imported_memory) {
  open_rig(NULL);
  check_pool();
  close_rig();
}
TEST(pool_of_the_drivers_memory) {
  open_without_imports();
  check_pool();
  close_rig();
}

static void submit_copy(struct tide_queue *queue, struct tide_buffer *buffer, const void *from) {
  struct copy c = {tide_buffer_data(buffer), from, tide_buffer_size(buffer)};
  struct tide_operation operation = {
      .body = &copy_class, TIDE_ARGUMENTS(c), TIDE_USES({buffer, TIDE_WRITE, 0, 0})};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
}

/* Memory that one queue has freed is another's before its last use has even started: the device
 * keeps the wait for that. */
TEST(gaps_are_closed_by_the_device) {
  open_rig(NULL);
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, SIZE, NULL));
  memset(rig.memory, 1, 4096);
  memset(rig.memory + 4096, 2, 4096);
  struct tide_pool_params params = {.struct_size = sizeof params,
                                    .source = tide_vulkan_memory(rig.gpu),
                                    .chunk = 4096,
                                    .limit = 4096};
  struct tide_pool *pool;
  struct tide_queue *second;
  struct tide_buffer *before, *after;
  struct tide_context_stats stats;
  CHECK_OK(tide_pool_create(rig.context, &params, &pool));
  CHECK_OK(tide_queue_create(rig.gpu, NULL, &second));
  tide_context_pause(rig.context);
  CHECK_OK(tide_queue_alloc(rig.queue, pool, 4096, "before", &before));
  submit_copy(rig.queue, before, rig.memory);
  tide_queue_free(rig.queue, before);
  CHECK_OK(tide_queue_alloc(second, pool, 4096, "after", &after));
  submit_copy(second, after, rig.memory + 4096);
  tide_context_resume(rig.context);
  CHECK_OK(tide_queue_drain(second, TIDE_FOREVER));
  tide_context_stats(rig.context, &stats);
  CHECK_EQ_U64(stats.waits_by_device, 1);
  CHECK(!memcmp(tide_buffer_data(after), rig.memory + 4096, 4096));
  tide_queue_free(second, after);
  CHECK_OK(tide_pool_destroy(pool));
  tide_queue_destroy(second);
  close_rig();
}

/* ---- kernels -------------------------------------------------------------------------- */

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

TEST(dispatches) {
  const struct tide_vulkan_kernel none = {"none", nothing, sizeof nothing, 0, 0};
  const struct tide_vulkan_kernel most = {"most", nothing, sizeof nothing, 2, 16};
  struct tide_failure failure;
  open_rig(NULL);
  CHECK_OK(dispatch(&none, 0, 1, &failure));
  CHECK_STATUS(dispatch(&most, 0, 1, &failure), TIDE_NOT_FOUND);
  CHECK(strstr(failure.text, "most: 5 bytes"));
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, SIZE, NULL));
  for (int i = 0; i < 200; i++) /* more than there are command buffers */
    CHECK_OK(dispatch(&most, 3, TIDE_VULKAN_DISPATCHES_MOST, &failure));
  CHECK_STATUS(dispatch(&most, 3, TIDE_VULKAN_DISPATCHES_MOST + 1, &failure), TIDE_FULL);
  CHECK(strstr(failure.text, "at most 16 dispatches"));
  CHECK_STATUS(dispatch(&most, UINT32_MAX, 1, &failure), TIDE_UNSUPPORTED);
  CHECK(strstr(failure.text, "groups are too many"));
  CHECK_OK(dispatch(&none, 1, 1, &failure));
  close_rig();
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
  open_rig(NULL);
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

/* Shares memory, takes some from a pool, and dispatches. False: something was refused. */
static bool use_all(void) {
  const struct tide_vulkan_kernel kernel = {"most", nothing, sizeof nothing, 2, 16};
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
  if (shared == TIDE_OK) dispatched = dispatch(&kernel, 1, 1, &failure);
  if (dispatched != TIDE_OK) CHECK(strstr(failure.text, "VK_ERROR_OUT_OF_DEVICE_MEMORY"));
  const enum tide_status all[] = {shared, allocated, dispatched};
  for (int i = 0; i < 3; i++) CHECK(all[i] == TIDE_OK || all[i] == TIDE_NOMEM);
  return shared == TIDE_OK && allocated == TIDE_OK && dispatched == TIDE_OK;
}

/* Each object can be refused, and the device goes on. */
TEST(objects_are_refused) {
  uint32_t refused = 0;
  find_loader();
  for (uint32_t n = 1;; n++) {
    open_rig(refusing_proc);
    objects_left = n;
    refused += !use_all();
    if (objects_left) break;
    tide_vulkan_unshare(rig.gpu, rig.memory);
    CHECK(use_all());
    close_rig();
  }
  close_rig();
  CHECK(refused >= 6);
}

TEST_MAIN(CASE(shared_memory_is_the_same), CASE(wrong_copies_fail), CASE(two_devices_share_memory),
          CASE(blocks_are_found), CASE(wrong_sharing), CASE(no_imports),
          CASE(pool_of_imported_memory), CASE(pool_of_the_drivers_memory),
          CASE(gaps_are_closed_by_the_device), CASE(dispatches), CASE(objects_are_refused),
          CASE(wrong_kernels))
