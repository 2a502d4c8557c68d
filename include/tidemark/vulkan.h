/* tidemark/vulkan.h: a Vulkan device, which keeps its own waits.
 *
 * The model. A device uses one or more VkQueues of a VkDevice: those of the application, which it
 * adopts, or those of a VkDevice that it opens by name. An operation's body *records* commands into
 * a VkCommandBuffer. Operations are submitted before they may start: the VkQueues keep the waits
 * for each other by one timeline semaphore per VkQueue, and within a VkQueue by barriers.
 *
 *      static enum tide_status record(const void *arguments, VkCommandBuffer commands) {
 *        const struct blur *b = arguments;
 *        vkCmdBindPipeline(commands, …);
 *        vkCmdDispatch(commands, …);
 *        return TIDE_OK;
 *      }
 *
 * Order. The operations of one queue start in order and may overlap. If one needs the operation
 * before it, it waits for a value that this one signals. Several queues may use one VkQueue
 * (struct tide_queue_params, `hardware_queue`).
 *
 * Memory. A wait orders memory, too: all writes of the awaited operation are visible to all
 * commands after the wait. Host threads that have seen an operation's end see its writes to
 * coherent memory, and an operation sees what the host wrote before the submit. Commands of one
 * body need barriers between them, as in any command buffer.
 *
 * Failures. An operation whose `record` fails is not submitted. A VkResult that loses the VkDevice
 * fails everything unfinished with TIDE_LOST. No memory is reused, and no queue's progress ends,
 * before vkQueueWaitIdle has returned for each VkQueue.
 *
 * Vulkan's loader is loaded on demand: Tidemark links nothing of it. Needs Vulkan 1.2 with
 * the feature timelineSemaphore; an adopted VkDevice may have 1.1 and VK_KHR_timeline_semaphore.
 *
 * Threads: any thread may call every function. `record`, `lock` and `unlock` are called by the
 * device's own threads, `record` by one at a time.
 *
 * Source: "Vulkan Specification".
 */
#ifndef TIDEMARK_VULKAN_H
#define TIDEMARK_VULKAN_H

#include <vulkan/vulkan_core.h>

#include "tidemark/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_VULKAN_AHEAD_MOST 1024u

struct tide_vulkan_queue {
  VkQueue queue;
  uint32_t family;
};

struct tide_vulkan_params {
  size_t struct_size;
  const char *label; /* copied, cut at 31 bytes; NULL: "vulkan" */
  uint32_t ahead;    /* operations of a VkQueue that are submitted and not over, at most
                        TIDE_VULKAN_AHEAD_MOST; 0: 64 */

  /* ---- a VkDevice of the application, with the feature timelineSemaphore enabled ---- */
  VkInstance instance; /* NULL: a VkDevice is opened by name */
  VkPhysicalDevice physical_device;
  VkDevice device;
  const struct tide_vulkan_queue *queues; /* copied */
  uint32_t queue_count;                   /* at most TIDE_HARDWARE_QUEUES_MAX */
  PFN_vkGetInstanceProcAddr get_proc;     /* NULL: that of the loader */
  /* A VkQueue is used by one thread at a time. Called around each use; NULL: no other thread uses
   * these VkQueues while the device is open. */
  void (*lock)(void *lock_self, VkQueue queue);
  void (*unlock)(void *lock_self, VkQueue queue);
  void *lock_self;

  /* ---- a VkDevice that is opened; ignored for an adopted one ---- */
  const char *name;         /* part of a physical device's name; NULL: any name */
  uint32_t hardware_queues; /* VkQueues, at most as many as one family has; 0: 1 */
};

/* Opens a Vulkan device. A VkDevice that it creates has VK_EXT_external_memory_host enabled where
 * the driver has that. NULL params select the defaults. `diag` (may be NULL) gives the reason of
 * an error. tide_device_close closes it and waits for its submissions; an adopted VkDevice and its
 * queues stay the application's. TIDE_UNSUPPORTED: no loader, no driver, too old, or no timeline
 * semaphores; TIDE_NOT_FOUND: no device of that name, or with so many VkQueues; TIDE_INVALID; or
 * the driver's error. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_vulkan_open(struct tide_context *context,
                                                           const struct tide_vulkan_params *params,
                                                           struct tide_device **out_device,
                                                           struct tide_diag *diag);

/* The description of a Vulkan body: `ops` of its class points to `ops` here. */
struct tide_vulkan_ops {
  struct tide_body_ops ops; /* kind: TIDE_OPS_VULKAN */
  /* Records the operation's commands, and neither begins nor ends the command buffer. The arguments
   * are valid during the call only. An error fails the operation; nothing of it is submitted. */
  enum tide_status (*record)(const void *arguments, VkCommandBuffer commands);
};

/* The handles with which an application makes pipelines and buffers for its bodies. Valid until the
 * device is closed. */
struct tide_vulkan_info {
  PFN_vkGetInstanceProcAddr get_proc;
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  uint32_t queue_count;
  struct tide_vulkan_queue queues[TIDE_HARDWARE_QUEUES_MAX];
  char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
};
/* Fills in the handles of a Vulkan device; they never change. */
TIDE_API void tide_vulkan_info(const struct tide_device *device, struct tide_vulkan_info *out_info);

#ifdef __cplusplus
}
#endif
#endif
