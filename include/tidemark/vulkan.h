/* tidemark/vulkan.h: a Vulkan device, which keeps its own waits.
 *
 * The model. A device uses one or more VkQueues of a VkDevice: those of the application, which it
 * adopts, or those of a VkDevice that it opens by name. An operation's body *records* commands into
 * a VkCommandBuffer. Operations are submitted before they may start: the VkQueues keep the waits
 * for each other by one timeline semaphore per VkQueue, and within a VkQueue by barriers.
 *
 *      static enum tide_status record(const void *arguments, struct tide_device *gpu,
 *                                     VkCommandBuffer commands) {
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
 * *Shared* memory is used by the host, files and Vulkan's commands without a copy: memory of the
 * host that is imported into the VkDevice (tide_vulkan_share), or memory of the driver that the
 * host may use (tide_vulkan_memory, a source for pools). All of it is coherent.
 *
 * Failures. An operation whose `record` fails is not submitted. A VkResult that loses the VkDevice
 * fails everything unfinished with TIDE_LOST. So does an error of vkQueueSubmit other than those
 * for want of memory: its batches may run. No memory is reused, and no queue's progress ends,
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
  bool keep_on_host; /* each operation is submitted only when it may start, to compare */

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
  enum tide_status (*record)(const void *arguments, struct tide_device *gpu,
                             VkCommandBuffer commands);
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
  size_t share_alignment; /* of memory for tide_vulkan_share; 0: the driver imports none */
};
/* Fills in the handles of a Vulkan device; they never change. */
TIDE_API void tide_vulkan_info(const struct tide_device *gpu, struct tide_vulkan_info *out_info);

/* ---- shared memory ------------------------------------------------------------------------ */

/* Imports memory of the host. Address and size are multiples of `share_alignment`. It may not be
 * unmapped before tide_vulkan_unshare or tide_device_close has returned. TIDE_UNSUPPORTED: the
 * driver imports none, or an adopted VkDevice has no VK_EXT_external_memory_host; TIDE_INVALID: not
 * aligned, or shared already; TIDE_NOMEM; or the driver's error. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_vulkan_share(struct tide_device *gpu, void *memory,
                                                            size_t size, struct tide_diag *diag);
/* Ends the import of memory that no operation uses any more. NULL is fine. */
TIDE_API void tide_vulkan_unshare(struct tide_device *gpu, void *memory);

/* Returns a source of shared memory for pools: of the host where the driver imports that, else of
 * the driver. The pool and its buffers must be gone before the device is closed. Lives as long as
 * the device. */
TIDE_API const struct tide_memory_source *tide_vulkan_memory(struct tide_device *gpu);

/* Shared memory as commands name it. The VkBuffer has the usages of copies, and those of storage,
 * uniform, texel, index, vertex and indirect buffers. */
struct tide_vulkan_range {
  VkBuffer buffer;
  VkDeviceSize offset;
};
/* Finds the range of shared memory. Any thread. TIDE_NOT_FOUND: it is not, or not all, shared. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_vulkan_find(struct tide_device *gpu,
                                                           const void *memory, size_t size,
                                                           struct tide_vulkan_range *out_range);

/* ---- commands on shared memory --------------------------------------------------------------
 *
 * A shorter way to run compute shaders: the device makes the pipeline, binds the buffers, and
 * destroys everything when it is closed. Only a body's `record` calls these functions, for its own
 * command buffer. A failure is reported to the operation with a sentence. */

#define TIDE_VULKAN_BUFFERS_MOST 4     /* of a kernel */
#define TIDE_VULKAN_CONSTANTS_MOST 16  /* of a kernel */
#define TIDE_VULKAN_DISPATCHES_MOST 16 /* of an operation */

/* A compute shader with an entry point "main". Its buffers are storage buffers of set 0 with the
 * bindings 0, 1, …. A binding starts at a multiple of the VkDevice's alignment, so up to some
 * hundred bytes before the slice. The push constants are 32-bit words: for each buffer the bytes
 * from the binding's start to the slice, then the constants. Constant; must outlive the device. */
struct tide_vulkan_kernel {
  const char *name;
  const uint32_t *code; /* SPIR-V */
  size_t code_size;     /* bytes */
  uint32_t buffer_count, constant_count;
};

struct tide_vulkan_slice {
  const void *memory; /* shared */
  size_t size;        /* bytes, at least 1 */
};
struct tide_vulkan_dispatch {
  const struct tide_vulkan_kernel *kernel;
  struct tide_vulkan_slice buffers[TIDE_VULKAN_BUFFERS_MOST];
  uint32_t constants[TIDE_VULKAN_CONSTANTS_MOST];
  uint32_t groups[3]; /* 0 counts as 1 */
};
/* Records a dispatch. The first one of a kernel makes its pipeline, unless tide_vulkan_prepare has
 * done that. TIDE_NOT_FOUND: a slice is not shared; TIDE_FULL: too many dispatches; TIDE_INVALID: a
 * slice is empty, or not the command buffer of the running body; TIDE_UNSUPPORTED: beyond a limit
 * of the VkDevice; or an error of tide_vulkan_prepare. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_vulkan_dispatch(struct tide_device *gpu, VkCommandBuffer commands,
                     const struct tide_vulkan_dispatch *dispatch);
/* Records a copy. The slices do not overlap. TIDE_NOT_FOUND: one of them is not shared;
 * TIDE_INVALID: they overlap. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_vulkan_copy(struct tide_device *gpu,
                                                           VkCommandBuffer commands, void *to,
                                                           const void *from, size_t size);
/* Records a barrier: the commands after it start when those before it have ended, and see their
 * writes. */
TIDE_API void tide_vulkan_barrier(struct tide_device *gpu, VkCommandBuffer commands);

/* Makes the pipeline of a kernel, which takes the driver some milliseconds. Any thread. The code
 * must be valid: only its frame and its entry point are checked, and a driver may crash on the
 * rest. TIDE_CORRUPT: the code is no compute shader in SPIR-V; TIDE_INVALID: too many buffers or
 * constants; TIDE_NOMEM; or the driver's error. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_vulkan_prepare(struct tide_device *gpu, const struct tide_vulkan_kernel *kernel,
                    struct tide_diag *diag);

/* ---- semaphores of the application -----------------------------------------------------------
 *
 * Timeline semaphores of the same VkDevice, for submissions that are not operations. */

/* Makes a timeline of a timeline semaphore. It starts at the semaphore's value; each later value
 * arrives as an external signal. The host keeps waits for it. All that the semaphore's submissions
 * wrote is visible to the device's operations that wait. A thread listens while some waiter needs a
 * later value, so a host that only polls calls tide_vulkan_poll. A lost VkDevice fails the timeline
 * with TIDE_LOST. UINT64_MAX, which the driver of a lost VkDevice may answer, loses it.
 *
 * The semaphore alone signals the timeline: for hosts and operations that is TIDE_DENIED, and
 * tide_timeline_fail changes nothing. Its owner is the device: do not release or destroy it. The
 * semaphore must exist until tide_vulkan_release or tide_device_close has returned. TIDE_NOMEM;
 * TIDE_INVALID: no semaphore; TIDE_VALUE: it has UINT64_MAX; TIDE_LOST; or the driver's error. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_vulkan_import(struct tide_device *gpu, VkSemaphore semaphore, const char *label,
                   struct tide_timeline **out_timeline, struct tide_diag *diag);
/* Reads the semaphore at once, signals the timeline, and returns the timeline's value. */
TIDE_API uint64_t tide_vulkan_poll(struct tide_device *gpu, struct tide_timeline *timeline);
/* Ends an import: its values that are not reached fail with TIDE_CANCELLED, and the timeline is
 * gone, unless it was retained. Blocks for some milliseconds. Not from a callback. NULL is fine. */
TIDE_API void tide_vulkan_release(struct tide_device *gpu, struct tide_timeline *timeline);

/* Signals a timeline semaphore from the host once the timeline has reached the value, or has
 * failed: a VkQueue that waits for the semaphore cannot be told of a failure, so the application
 * asks tide_timeline_failure. The loss and the close of the device signal it, too.
 *
 * Callbacks of the context run one after the other, and an export comes after those that are due
 * before it. So a callback must not wait for one, nor for a VkQueue that does.
 *
 * A submission that waits for the semaphore holds back all that is behind it on its VkQueue. So the
 * value must not depend on operations there that are not over when the application submits. To read
 * the host's writes since then, it needs a barrier with VK_ACCESS_HOST_WRITE_BIT.
 *
 * Only exports may signal the semaphore. Their values increase in the order of the calls, and are
 * signalled in this order: one that is due waits for those before it. The semaphore must exist
 * until it has the value, or tide_device_close has returned. TIDE_VALUE: the semaphore has this
 * value, or an earlier export will signal it; or UINT64_MAX; TIDE_SCOPE: the timeline's is narrower
 * than process; TIDE_NOMEM; TIDE_INVALID: no timeline, or no semaphore; TIDE_LOST; or the driver's
 * error. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_vulkan_export(struct tide_device *gpu, struct tide_timeline *timeline, uint64_t value,
                   VkSemaphore semaphore, uint64_t semaphore_value, struct tide_diag *diag);

/* ---- semaphores of other VkDevices and processes ---------------------------------------------
 *
 * Some drivers (VK_KHR_external_semaphore_fd) give out a timeline semaphore as an *opaque
 * descriptor*, from which the same GPU's driver makes a semaphore of another VkDevice, in another
 * process, or for CUDA. Both then have one value. One side exports to its semaphore, the other one
 * imports its own. A holder of the descriptor can signal, so give it only to those you trust.
 *
 * TIDE_UNSUPPORTED: the driver has none of timeline semaphores, or an adopted VkDevice was created
 * without the extension; TIDE_FULL: no descriptors left; or the driver's error. The caller destroys
 * the semaphores before it closes the device. Any thread may call. */

/* Makes a timeline semaphore with value 0, and a descriptor of it, which the caller closes. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_vulkan_semaphore_create(struct tide_device *gpu,
                                                                       VkSemaphore *out_semaphore,
                                                                       int *out_descriptor,
                                                                       struct tide_diag *diag);
/* Makes a semaphore of a descriptor. The caller keeps the descriptor, and may close it at once.
 * TIDE_INVALID: it is no opaque descriptor of a timeline semaphore, as far as the driver can tell.
 */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_vulkan_semaphore_open(struct tide_device *gpu,
                                                                     int descriptor,
                                                                     VkSemaphore *out_semaphore,
                                                                     struct tide_diag *diag);
/* Destroys a semaphore that nothing uses: its import has ended, and its exports are signalled. */
TIDE_API void tide_vulkan_semaphore_destroy(struct tide_device *gpu, VkSemaphore semaphore);

#ifdef __cplusplus
}
#endif
#endif
