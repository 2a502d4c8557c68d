/* tests/unit/vulkan_rig.h: a Vulkan device with a queue, and memory to share with it. */
#ifndef TESTS_UNIT_VULKAN_RIG_H
#define TESTS_UNIT_VULKAN_RIG_H

#define VK_NO_PROTOTYPES
#include "harness.h"

#include "base/atomic.h"
#include "tidemark/tidemark.h"
#include "tidemark/vulkan.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE ((size_t)1 << 20)

/* Replaces a function of the VkDevice; returns `found` for all others. */
typedef PFN_vkVoidFunction (*rig_hook)(const char *name, PFN_vkVoidFunction found);

static struct rig {
  struct tide_context *context;
  struct tide_device *gpu;
  struct tide_queue *queue;
  struct tide_timeline *done;
  uint64_t value;
  struct tide_vulkan_info info;
  unsigned char *memory;
  int64_t live; /* atomic: bytes that the library holds */
  rig_hook hook;
  PFN_vkGetInstanceProcAddr find;
  PFN_vkGetDeviceProcAddr find_of_device;
} rig;

static void *rig_alloc(void *self, size_t size, size_t align) {
  const struct tide_allocator *system = self;
  void *memory = system->alloc(system->self, size, align);
  if (memory) tide_fetch_add(&rig.live, (int64_t)size);
  return memory;
}
static void rig_free(void *self, void *memory, size_t size) {
  const struct tide_allocator *system = self;
  if (memory) tide_fetch_add(&rig.live, -(int64_t)size);
  system->free(system->self, memory, size);
}

static PFN_vkVoidFunction VKAPI_CALL rig_device_proc(VkDevice device, const char *name) {
  PFN_vkVoidFunction found = rig.find_of_device(device, name);
  return rig.hook ? rig.hook(name, found) : found;
}
static PFN_vkVoidFunction VKAPI_CALL rig_proc(VkInstance instance, const char *name) {
  PFN_vkVoidFunction found = rig.find(instance, name);
  if (strcmp(name, "vkGetDeviceProcAddr") != 0) return found;
  rig.find_of_device = (PFN_vkGetDeviceProcAddr)found;
  return (PFN_vkVoidFunction)rig_device_proc;
}

static void rig_find_loader(void) {
  void *loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_NODELETE);
  if (!loader) SKIP("%s", dlerror());
  void *found = dlsym(loader, "vkGetInstanceProcAddr");
  CHECK(found);
  memcpy(&rig.find, &found, sizeof found);
  dlclose(loader);
}

static void open_rig_with(rig_hook hook, bool keep_on_host) {
  struct tide_allocator allocator = {rig_alloc, rig_free, NULL};
  struct tide_diag diag = {.text = ""};
  struct tide_vulkan_params params = {
      .struct_size = sizeof params, .get_proc = rig_proc, .keep_on_host = keep_on_host};
  if (test_slowdown() > 1) SKIP("a Vulkan driver under a sanitizer");
  rig = (struct rig){.hook = hook};
  rig_find_loader();
  allocator.self = (void *)(uintptr_t)tide_allocator_system();
  static struct tide_allocator kept;
  kept = allocator;
  CHECK_OK(tide_context_create(TIDE_PARAMS(tide_context_params, .allocator = &kept), &rig.context));
  enum tide_status status = tide_vulkan_open(rig.context, &params, &rig.gpu, &diag);
  if (status == TIDE_UNSUPPORTED) SKIP("%s", diag.text);
  CHECK_OK(status);
  tide_vulkan_info(rig.gpu, &rig.info);
  CHECK_OK(tide_queue_create(rig.gpu, NULL, &rig.queue));
  CHECK_OK(tide_timeline_create(rig.context, NULL, &rig.done));
  rig.memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(rig.memory != MAP_FAILED);
}
static inline void open_rig(void) { open_rig_with(NULL, false); }

static void close_rig(void) {
  tide_timeline_destroy(rig.done);
  tide_queue_destroy(rig.queue);
  tide_device_close(rig.gpu);
  tide_context_destroy(rig.context);
  CHECK(munmap(rig.memory, SIZE) == 0);
  CHECK_EQ_U64((uint64_t)rig.live, 0);
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

#endif
