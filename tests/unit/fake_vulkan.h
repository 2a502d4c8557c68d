/* A Vulkan driver with timeline semaphores and no GPU: submissions end at once, or not before the
 * test allows it. Counts calls, loses the device, and refuses calls when told to. */
#ifndef TESTS_UNIT_FAKE_VULKAN_H
#define TESTS_UNIT_FAKE_VULKAN_H

#define VK_NO_PROTOTYPES
#include "harness.h"

#include "tidemark/vulkan.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { FAKE_SEMAPHORES = 64, FAKE_BUFFERS = 4096 };

struct fake_semaphore {
  uint64_t value;
  uint32_t waits;   /* calls of vkWaitSemaphores for it */
  uint32_t signals; /* calls of vkSignalSemaphore */
  bool exists, is_timeline, is_exportable;
  struct fake_semaphore *payload; /* of another one; NULL: its own */
};

static struct fake_vulkan {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct fake_semaphore semaphores[FAKE_SEMAPHORES];
  bool barrier[FAKE_BUFFERS]; /* the command buffer has a barrier for all commands */
  uint32_t semaphore_count, buffer_count;
  uint32_t submissions, barriers;                         /* barriers: submissions that have one */
  uint32_t refuse_begins, refuse_submits, refuse_signals; /* so many calls, for want of memory */
  uint32_t wrong;                                         /* values that did not go up */
  uint32_t refuse_shares;                                 /* so many calls for descriptors */
  bool lost, fails_signals; /* with an error that is not for want of memory */
  bool shares;              /* semaphores by descriptors */
} fake_vulkan = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

#define FAKE_LOCK pthread_mutex_lock(&fake_vulkan.lock)
#define FAKE_UNLOCK pthread_mutex_unlock(&fake_vulkan.lock)
#define FAKE_HANDLE(type, p) ((type)(uintptr_t)(p))

static inline struct fake_semaphore *fake_of(VkSemaphore semaphore) {
  struct fake_semaphore *own = (struct fake_semaphore *)(uintptr_t)semaphore;
  return own->payload ? own->payload : own;
}

static void fake_raise(struct fake_semaphore *semaphore, uint64_t value) {
  if (value <= semaphore->value) fake_vulkan.wrong++;
  else semaphore->value = value;
  pthread_cond_broadcast(&fake_vulkan.changed);
}

static VkResult fake_refuse(uint32_t *left) {
  if (!*left) return VK_SUCCESS;
  --*left;
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}

/* ---- calls ------------------------------------------------------------------------------- */

static VkResult VKAPI_CALL fake_CreateSemaphore(VkDevice device, const VkSemaphoreCreateInfo *info,
                                                const VkAllocationCallbacks *allocator,
                                                VkSemaphore *out_semaphore) {
  (void)device, (void)allocator;
  FAKE_LOCK;
  CHECK(fake_vulkan.semaphore_count < FAKE_SEMAPHORES);
  struct fake_semaphore *made = &fake_vulkan.semaphores[fake_vulkan.semaphore_count++];
  *made = (struct fake_semaphore){.exists = true};
  for (const VkBaseInStructure *more = info ? info->pNext : NULL; more; more = more->pNext) {
    made->is_timeline |= more->sType == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    made->is_exportable |= more->sType == VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO;
  }
  FAKE_UNLOCK;
  *out_semaphore = FAKE_HANDLE(VkSemaphore, made);
  return VK_SUCCESS;
}

static void VKAPI_CALL fake_DestroySemaphore(VkDevice device, VkSemaphore semaphore,
                                             const VkAllocationCallbacks *allocator) {
  (void)device, (void)allocator;
  FAKE_LOCK;
  ((struct fake_semaphore *)(uintptr_t)semaphore)->exists = false;
  FAKE_UNLOCK;
}

/* A descriptor is a file with the payload's number. */
static VkResult VKAPI_CALL fake_GetSemaphoreFdKHR(VkDevice device,
                                                  const VkSemaphoreGetFdInfoKHR *info,
                                                  int *out_descriptor) {
  uint32_t number = (uint32_t)(fake_of(info->semaphore) - fake_vulkan.semaphores);
  (void)device;
  FAKE_LOCK;
  CHECK(fake_of(info->semaphore)->is_exportable && fake_of(info->semaphore)->is_timeline);
  CHECK(info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT);
  VkResult result = fake_refuse(&fake_vulkan.refuse_shares);
  FAKE_UNLOCK;
  if (result != VK_SUCCESS) return result;
  *out_descriptor = memfd_create("fake semaphore", MFD_CLOEXEC);
  CHECK(pwrite(*out_descriptor, &number, sizeof number, 0) == sizeof number);
  return VK_SUCCESS;
}

static VkResult VKAPI_CALL fake_ImportSemaphoreFdKHR(VkDevice device,
                                                     const VkImportSemaphoreFdInfoKHR *info) {
  struct fake_semaphore *own = (struct fake_semaphore *)(uintptr_t)info->semaphore;
  uint32_t number;
  (void)device;
  CHECK(info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT && !info->flags);
  CHECK(own->is_timeline);
  if (pread(info->fd, &number, sizeof number, 0) != sizeof number)
    return VK_ERROR_INVALID_EXTERNAL_HANDLE;
  close(info->fd);
  own->payload = &fake_vulkan.semaphores[number];
  return VK_SUCCESS;
}

static void VKAPI_CALL fake_GetPhysicalDeviceExternalSemaphoreProperties(
    VkPhysicalDevice device, const VkPhysicalDeviceExternalSemaphoreInfo *info,
    VkExternalSemaphoreProperties *out) {
  const VkSemaphoreTypeCreateInfo *type = info->pNext;
  (void)device;
  CHECK(type && type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE);
  out->externalSemaphoreFeatures =
      VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
}

static VkResult VKAPI_CALL fake_GetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore,
                                                         uint64_t *out_value) {
  (void)device;
  FAKE_LOCK;
  CHECK(fake_of(semaphore)->exists);
  *out_value = fake_of(semaphore)->value;
  VkResult result = fake_vulkan.lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
  FAKE_UNLOCK;
  return result;
}

static VkResult VKAPI_CALL fake_WaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info,
                                               uint64_t timeout) {
  struct fake_semaphore *semaphore = fake_of(info->pSemaphores[0]);
  struct timespec until;
  int over = 0;
  (void)device;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += (long)timeout;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  FAKE_LOCK;
  CHECK(semaphore->exists && info->semaphoreCount == 1 && timeout < 100000000);
  semaphore->waits++;
  while (!fake_vulkan.lost && semaphore->value < info->pValues[0] && !over)
    over = pthread_cond_timedwait(&fake_vulkan.changed, &fake_vulkan.lock, &until);
  VkResult result = fake_vulkan.lost                      ? VK_ERROR_DEVICE_LOST
                    : semaphore->value < info->pValues[0] ? VK_TIMEOUT
                                                          : VK_SUCCESS;
  FAKE_UNLOCK;
  return result;
}

static VkResult VKAPI_CALL fake_SignalSemaphore(VkDevice device,
                                                const VkSemaphoreSignalInfo *info) {
  struct fake_semaphore *semaphore = fake_of(info->semaphore);
  (void)device;
  FAKE_LOCK;
  CHECK(semaphore->exists);
  VkResult result = fake_vulkan.lost            ? VK_ERROR_DEVICE_LOST
                    : fake_vulkan.fails_signals ? VK_ERROR_UNKNOWN
                                                : fake_refuse(&fake_vulkan.refuse_signals);
  semaphore->signals++;
  if (result == VK_SUCCESS) fake_raise(semaphore, info->value);
  FAKE_UNLOCK;
  return result;
}

static VkResult VKAPI_CALL fake_QueueSubmit(VkQueue queue, uint32_t count,
                                            const VkSubmitInfo *infos, VkFence fence) {
  (void)queue, (void)fence;
  FAKE_LOCK;
  VkResult result =
      fake_vulkan.lost ? VK_ERROR_DEVICE_LOST : fake_refuse(&fake_vulkan.refuse_submits);
  for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++) {
    const VkTimelineSemaphoreSubmitInfo *values = infos[i].pNext;
    fake_vulkan.submissions++;
    if (infos[i].commandBufferCount)
      fake_vulkan.barriers += *(const bool *)(const void *)infos[i].pCommandBuffers[0];
    fake_raise(fake_of(infos[i].pSignalSemaphores[0]), values->pSignalSemaphoreValues[0]);
  }
  FAKE_UNLOCK;
  return result;
}

static VkResult VKAPI_CALL fake_QueueWaitIdle(VkQueue queue) {
  (void)queue;
  FAKE_LOCK;
  VkResult result = fake_vulkan.lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
  FAKE_UNLOCK;
  return result;
}

static VkResult VKAPI_CALL fake_BeginCommandBuffer(VkCommandBuffer commands,
                                                   const VkCommandBufferBeginInfo *info) {
  (void)info;
  FAKE_LOCK;
  *(bool *)(void *)commands = false;
  VkResult result = fake_refuse(&fake_vulkan.refuse_begins);
  FAKE_UNLOCK;
  return result;
}
static VkResult VKAPI_CALL fake_EndCommandBuffer(VkCommandBuffer commands) {
  (void)commands;
  return VK_SUCCESS;
}

static void VKAPI_CALL fake_CmdPipelineBarrier(VkCommandBuffer commands, VkPipelineStageFlags from,
                                               VkPipelineStageFlags to, VkDependencyFlags flags,
                                               uint32_t count, const VkMemoryBarrier *memory,
                                               uint32_t buffer_count,
                                               const VkBufferMemoryBarrier *buffers,
                                               uint32_t image_count,
                                               const VkImageMemoryBarrier *images) {
  const VkAccessFlags both = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  (void)flags, (void)buffer_count, (void)buffers, (void)image_count, (void)images;
  if (from & to & VK_PIPELINE_STAGE_ALL_COMMANDS_BIT && count == 1 &&
      memory->srcAccessMask & VK_ACCESS_MEMORY_WRITE_BIT && (memory->dstAccessMask & both) == both)
    *(bool *)(void *)commands = true;
}

static VkResult VKAPI_CALL fake_CreateCommandPool(VkDevice device,
                                                  const VkCommandPoolCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator,
                                                  VkCommandPool *out_pool) {
  (void)device, (void)info, (void)allocator;
  *out_pool = FAKE_HANDLE(VkCommandPool, &fake_vulkan);
  return VK_SUCCESS;
}
static void VKAPI_CALL fake_DestroyCommandPool(VkDevice device, VkCommandPool pool,
                                               const VkAllocationCallbacks *allocator) {
  (void)device, (void)pool, (void)allocator;
}
static VkResult VKAPI_CALL fake_AllocateCommandBuffers(VkDevice device,
                                                       const VkCommandBufferAllocateInfo *info,
                                                       VkCommandBuffer *out_commands) {
  (void)device;
  FAKE_LOCK;
  for (uint32_t i = 0; i < info->commandBufferCount; i++)
    out_commands[i] = FAKE_HANDLE(VkCommandBuffer,
                                  &fake_vulkan.barrier[fake_vulkan.buffer_count++ % FAKE_BUFFERS]);
  FAKE_UNLOCK;
  return VK_SUCCESS;
}

static void VKAPI_CALL fake_GetPhysicalDeviceProperties2(VkPhysicalDevice device,
                                                         VkPhysicalDeviceProperties2 *out) {
  (void)device;
  out->properties =
      (VkPhysicalDeviceProperties){.apiVersion = VK_API_VERSION_1_2, .deviceName = "fake"};
}

static VkResult VKAPI_CALL fake_EnumerateDeviceExtensionProperties(VkPhysicalDevice device,
                                                                   const char *layer,
                                                                   uint32_t *count,
                                                                   VkExtensionProperties *out) {
  (void)device, (void)layer, (void)out;
  *count = 0;
  return VK_SUCCESS;
}

static void VKAPI_CALL fake_GetPhysicalDeviceFeatures2(VkPhysicalDevice device,
                                                       VkPhysicalDeviceFeatures2 *out) {
  VkPhysicalDeviceTimelineSemaphoreFeatures *timelines = out->pNext;
  (void)device;
  timelines->timelineSemaphore = VK_TRUE;
}

/* Never called for an adopted device. */
static void VKAPI_CALL fake_unexpected(void) { FAIL("a call that no test here needs"); }

static PFN_vkVoidFunction fake_find_call(const char *name);
static PFN_vkVoidFunction VKAPI_CALL fake_GetDeviceProcAddr(VkDevice device, const char *name) {
  (void)device;
  return fake_find_call(name);
}

static PFN_vkVoidFunction fake_find_call(const char *name) {
#define ROW(name)                                                                                  \
  { "vk" #name, (PFN_vkVoidFunction)fake_##name }
  static const struct {
    const char *name;
    PFN_vkVoidFunction function;
  } calls[] = {ROW(GetDeviceProcAddr),
               ROW(GetPhysicalDeviceProperties2),
               ROW(EnumerateDeviceExtensionProperties),
               ROW(GetPhysicalDeviceFeatures2),
               ROW(QueueSubmit),
               ROW(QueueWaitIdle),
               ROW(CreateSemaphore),
               ROW(DestroySemaphore),
               ROW(WaitSemaphores),
               ROW(GetSemaphoreCounterValue),
               ROW(SignalSemaphore),
               ROW(GetSemaphoreFdKHR),
               ROW(ImportSemaphoreFdKHR),
               ROW(GetPhysicalDeviceExternalSemaphoreProperties),
               ROW(CreateCommandPool),
               ROW(DestroyCommandPool),
               ROW(AllocateCommandBuffers),
               ROW(BeginCommandBuffer),
               ROW(EndCommandBuffer),
               ROW(CmdPipelineBarrier)};
#undef ROW
  if (strstr(name, "SemaphoreFd") && !fake_vulkan.shares) return NULL;
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
    if (!strcmp(calls[i].name, name)) return calls[i].function;
  return strstr(name, "DebugUtils") ? NULL : (PFN_vkVoidFunction)fake_unexpected;
}

static PFN_vkVoidFunction VKAPI_CALL fake_get_proc(VkInstance instance, const char *name) {
  (void)instance;
  return fake_find_call(name);
}

/* ---- the test's side ----------------------------------------------------------------------- */

/* The parameters that adopt this driver, with one VkQueue. */
static inline struct tide_vulkan_params fake_vulkan_params(void) {
  static const struct tide_vulkan_queue queue = {FAKE_HANDLE(VkQueue, &fake_vulkan), 0};
  return (struct tide_vulkan_params){.struct_size = sizeof(struct tide_vulkan_params),
                                     .ahead = 8,
                                     .instance = FAKE_HANDLE(VkInstance, &fake_vulkan),
                                     .physical_device = FAKE_HANDLE(VkPhysicalDevice, &fake_vulkan),
                                     .device = FAKE_HANDLE(VkDevice, &fake_vulkan),
                                     .queues = &queue,
                                     .queue_count = 1,
                                     .get_proc = fake_get_proc};
}

static inline VkSemaphore fake_semaphore_make(uint64_t value) {
  VkSemaphore semaphore;
  CHECK(fake_CreateSemaphore(NULL, NULL, NULL, &semaphore) == VK_SUCCESS);
  fake_of(semaphore)->value = value;
  return semaphore;
}

/* Does what a submission of the application does at its end. */
static inline void fake_signal(VkSemaphore semaphore, uint64_t value) {
  FAKE_LOCK;
  fake_raise(fake_of(semaphore), value);
  FAKE_UNLOCK;
}

static inline uint64_t fake_value(VkSemaphore semaphore) {
  FAKE_LOCK;
  uint64_t value = fake_of(semaphore)->value;
  FAKE_UNLOCK;
  return value;
}

static inline uint32_t fake_count(const uint32_t *counter) {
  FAKE_LOCK;
  uint32_t count = *counter;
  FAKE_UNLOCK;
  return count;
}

static inline void fake_lose(void) {
  FAKE_LOCK;
  fake_vulkan.lost = true;
  pthread_cond_broadcast(&fake_vulkan.changed);
  FAKE_UNLOCK;
}

/* Blocks until the host has signalled the value. */
static inline void fake_await(VkSemaphore semaphore, uint64_t value) {
  FAKE_LOCK;
  while (fake_of(semaphore)->value < value)
    pthread_cond_wait(&fake_vulkan.changed, &fake_vulkan.lock);
  FAKE_UNLOCK;
}

#endif
