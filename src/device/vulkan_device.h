/* device/vulkan_device.h: shared by the files of the Vulkan device. */
#ifndef TIDE_DEVICE_VULKAN_DEVICE_H
#define TIDE_DEVICE_VULKAN_DEVICE_H

#include "device/vulkan_driver.h"

#include "base/list.h"
#include "causal/context_state.h"

#define TIDE_VULKAN_AT_ONCE 32u /* works of one exchange */
#define TIDE_VULKAN_LISTENERS 2

/* A thread that waits for one end. vkWaitSemaphores cannot be interrupted, and drivers wait for
 * *any* of several semaphores by spinning. So a waiter for an earlier end needs the other thread.
 * One for a still earlier end is heard when a wait is cut. */
struct tide_vulkan_listener {
  struct tide_vulkan_lane *lane;
  struct tide_thread *thread;
  uint64_t target; /* atomic: the awaited number; 0: none */
};

/* A command buffer, and the descriptor sets of its dispatches. */
struct tide_vulkan_slot {
  VkCommandBuffer commands;
  VkDescriptorPool sets; /* made by the first dispatch */
  uint32_t dispatches;   /* that use its sets */
};

/* A VkQueue. Its semaphore has the number of the newest submission that is over. */
struct tide_vulkan_lane {
  struct tide_vulkan *vulkan;
  uint32_t index;
  struct tide_vulkan_queue queue;
  VkSemaphore semaphore;
  VkCommandPool pool;
  /* A ring of `ahead`, private to the submitting thread. Of the submissions at most so many are not
   * over, the newest ones, so the next slot is always free. */
  struct tide_vulkan_slot *slots;
  uint64_t recorded; /* command buffers so far */
  uint32_t imported; /* the device's, at the lane's newest barrier for it */
  struct tide_vulkan_listener listeners[TIDE_VULKAN_LISTENERS];
};

/* Shared memory: one VkBuffer over all of it. */
struct tide_vulkan_block {
  unsigned char *memory;
  size_t size;
  VkBuffer buffer;
  VkDeviceMemory device_memory;
  bool is_host; /* tide_vulkan_memory has allocated the memory */
};
struct tide_vulkan_memory {
  struct tide_lock lock;
  struct tide_vulkan_block *blocks; /* by address */
  size_t count, capacity;
  struct tide_memory_source source;
};

struct tide_vulkan_pipeline {
  const struct tide_vulkan_kernel *kernel;
  VkDescriptorSetLayout set;
  VkPipelineLayout layout;
  VkPipeline pipeline;
};
struct tide_vulkan_kernels {
  struct tide_lock lock;
  struct tide_vulkan_pipeline *pipelines;
  size_t count, capacity;
};

struct tide_vulkan {
  struct tide_context *context;
  struct tide_vulkan_driver driver;
  struct tide_device *device;
  uint32_t ahead, lane_count;
  struct tide_vulkan_lane lanes[TIDE_HARDWARE_QUEUES_MAX];
  void (*lock)(void *lock_self, VkQueue queue);
  void (*unlock)(void *lock_self, VkQueue queue);
  void *lock_self;
  struct tide_thread *submitting;
  uint32_t news;                      /* atomic, waited on: counts kicks */
  uint32_t stop;                      /* atomic */
  int32_t lost;                       /* atomic: the VkResult that lost it; VK_SUCCESS: not lost */
  struct tide_body_frame frame;       /* the submitting thread's */
  struct tide_vulkan_slot *recording; /* by the submitting thread */
  struct tide_vulkan_memory memory;
  struct tide_vulkan_kernels kernels;

  /* ---- semaphores of the application ---- */
  struct tide_lock semaphores; /* guards the two lists */
  struct tide_link imports;    /* struct tide_vulkan_import */
  struct tide_link outlets;    /* struct outlet of vulkan_export.c */
  uint32_t imported; /* atomic: values that arrived; the next submission begins with a barrier */
  uint32_t exports;  /* atomic, waited on: exports that are not over */
};

struct tide_vulkan *tide_vulkan_of(const struct tide_device *device);

/* ---- vulkan_lane.c ---- */
enum tide_status tide_vulkan_lane_init(struct tide_vulkan *vulkan, uint32_t index,
                                       const struct tide_vulkan_queue *queue,
                                       struct tide_diag *diag);
/* All submissions are over. */
void tide_vulkan_lane_fini(struct tide_vulkan_lane *lane);

/* ---- vulkan_submit.c ---- */
/* Records and submits the works. Each gets its status: TIDE_OK, it is out; else it is refused. An
 * error loses the device: works may run. */
VkResult tide_vulkan_submit(struct tide_vulkan *vulkan, struct tide_work *const *works,
                            size_t count);

/* ---- vulkan_memory.c ---- */
void tide_vulkan_memory_init(struct tide_vulkan *vulkan);
/* Frees all VkBuffers: nothing uses them any more. */
void tide_vulkan_memory_fini(struct tide_vulkan *vulkan);

/* ---- vulkan_kernel.c ---- */
void tide_vulkan_kernels_fini(struct tide_vulkan *vulkan);

/* ---- vulkan_listen.c ---- */
enum tide_status tide_vulkan_listen_start(struct tide_vulkan *vulkan);
/* Joins the listening threads. */
void tide_vulkan_listen_stop(struct tide_vulkan *vulkan);
/* Wakes the submitting thread and idle listening ones. */
void tide_vulkan_kick(struct tide_vulkan *vulkan);
/* Tells the submitting thread of a loss. */
void tide_vulkan_note_loss(struct tide_vulkan *vulkan, VkResult result);
/* Reads a semaphore, which has at least `target`; *out_value is 0 if the driver has no memory.
 * False: the VkDevice is lost, and the submitting thread knows. Then waits may succeed though
 * nothing has ended, and a counter may have any value. */
bool tide_vulkan_read_semaphore(struct tide_vulkan *vulkan, VkSemaphore semaphore, uint64_t target,
                                uint64_t *out_value);
/* Waits until a semaphore has `target`, for some milliseconds at most, and reads it. Without memory
 * the driver may answer at once: then this waits while *news == seen. */
bool tide_vulkan_wait_semaphore(struct tide_vulkan *vulkan, VkSemaphore semaphore, uint64_t target,
                                const uint32_t *news, uint32_t seen, uint64_t *out_value);

/* ---- vulkan_semaphore.c ---- */
/* Has the threads of the imports fail their timelines: the device is lost. */
void tide_vulkan_imports_lose(struct tide_vulkan *vulkan);
/* Ends all imports. */
void tide_vulkan_imports_end(struct tide_vulkan *vulkan);

/* ---- vulkan_export.c ---- */
/* Signals for all exports: the device is lost. */
void tide_vulkan_exports_lose(struct tide_vulkan *vulkan);
/* Signals for all exports, and waits until they are over. */
void tide_vulkan_exports_end(struct tide_vulkan *vulkan);

#endif
