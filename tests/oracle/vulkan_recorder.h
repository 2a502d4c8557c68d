/* A Vulkan driver that executes nothing, and judges the calls.
 *
 * The drivers at hand run everything in order, so that a forgotten barrier changes nothing there.
 * This one keeps, for each VkQueue, what every submission waits for, and finds the first wrong
 * call: waits, barriers and scopes, external synchronisation, the life of objects. A thread ends
 * submissions at random, as their waits allow. Calls may be refused, and the device may be lost:
 * with each error that the specification allows for the call. */
#ifndef TESTS_ORACLE_VULKAN_RECORDER_H
#define TESTS_ORACLE_VULKAN_RECORDER_H

#define VK_NO_PROTOTYPES
#include "tidemark/vulkan.h"

#define RECORDER_QUEUES TIDE_HARDWARE_QUEUES_MAX
#define RECORDER_OPERATIONS 512

/* The calls that may fail. From RECORDER_SUBMIT on, they may say that the device is lost. */
enum recorder_call {
  RECORDER_NONE,
  RECORDER_ASK,    /* for what the device need not have */
  RECORDER_CREATE, /* instances, VkDevices, semaphores, pools, command buffers */
  RECORDER_RECORD, /* the begin or the end of a command buffer */
  RECORDER_SUBMIT,
  RECORDER_LISTEN, /* a wait for a semaphore, or a query of its value */
  RECORDER_IDLE    /* vkQueueWaitIdle */
};

/* A lost device may answer as if nothing were wrong. Waits succeed at once. */
enum recorder_silence {
  RECORDER_SAYS,    /* it does not */
  RECORDER_STUCK,   /* nothing ends any more */
  RECORDER_GARBAGE, /* semaphores have the value UINT64_MAX */
  RECORDER_SILENCES
};

/* How a test comes to the VkDevice. */
enum recorder_way {
  RECORDER_ADOPTED,
  RECORDER_BY_NAME,  /* opened; the driver's functions are given */
  RECORDER_BY_LOADER /* opened by Vulkan's loader, which loads the driver */
};

#define RECORDER_NAME "recorder of calls"
#define RECORDER_FAMILIES 2
/* The physical device. All 0: of Vulkan 1.2, with one family for compute. */
struct recorder_machine {
  uint32_t loader_version, version;
  bool has_no_timelines;
  bool enables_no_timelines; /* an adopted VkDevice: their creation is refused */
  bool has_no_devices;
  VkResult refuses_device; /* the answer of vkCreateDevice */
  VkQueueFlags flags[RECORDER_FAMILIES];
  uint32_t queues[RECORDER_FAMILIES];
};

struct recorder_params {
  uint64_t seed;
  enum recorder_way way;
  struct recorder_machine machine;
  uint64_t hide; /* this one of the functions that are looked up is missing; 0: none */
  uint32_t queue_count, ahead;
  uint32_t refuse;    /* one call in so many is refused, of those that may be; 0: none */
  uint64_t fail_at;   /* this one of the calls that may fail does; 0: none */
  VkResult fail_with; /* VK_ERROR_DEVICE_LOST: the device is lost, whatever the call may say */
  uint32_t die;       /* the device is lost with that end of a submission; 0: never */
  enum recorder_silence silence;
  bool stuck; /* no submission ends before recorder_release */
};

/* So far. */
struct recorder_counts {
  uint32_t submissions, waits, barriers; /* barriers for other submissions */
};

/* A submission. */
struct recorder_submission {
  uint32_t queue;
  uint64_t number;                /* 0: none */
  uint64_t call;                  /* of vkQueueSubmit */
  uint64_t gate[RECORDER_QUEUES]; /* by queue: over before it starts, and visible to it */
};

/* Opens the driver; there is one at a time. `out_params` is what tide_vulkan_open needs. */
void recorder_open(const struct recorder_params *params, struct tide_vulkan_params *out_params);
/* Returns the first wrong call; NULL: none so far. */
const char *recorder_fault(void);
/* The last one. All objects are to be destroyed. */
const char *recorder_close(void);
/* A command of the operation `id` < RECORDER_OPERATIONS: called while it is recorded. */
void recorder_mark(VkCommandBuffer commands, uint32_t id);
/* Where the operation was submitted last. */
struct recorder_submission recorder_find(uint32_t id);
/* True if vkQueueWaitIdle has returned for each VkQueue, and nothing runs. */
bool recorder_is_idle(void);
void recorder_release(void);
/* Returns the counts, once there are so many submissions. */
struct recorder_counts recorder_count(uint32_t submissions);
/* Returns the call that `fail_at` names; RECORDER_NONE: it has not come. */
enum recorder_call recorder_failed(void);
/* Returns the function that `hide` names; NULL: so many have not been looked up. */
const char *recorder_hidden(void);
/* Prepares RECORDER_BY_LOADER. Returns why that cannot be tried; NULL: it can. */
const char *recorder_find_loader(void);

#endif
