/* Shared by the files of the recording driver: what it keeps of each object. */
#ifndef TESTS_ORACLE_VULKAN_RECORDER_STATE_H
#define TESTS_ORACLE_VULKAN_RECORDER_STATE_H

#include "vulkan_recorder.h"

#include <vulkan/vk_icd.h>

#include "base/random.h"

#include <pthread.h>

enum { RECORDER_BUFFERS = 64 * RECORDER_QUEUES, RECORDER_RING = 128, RECORDER_COMMANDS = 16 };

/* The first word of a dispatchable object belongs to Vulkan's loader. */
struct recorder_handle {
  uintptr_t loader;
};

struct recorder_semaphore {
  uint64_t value;     /* reached */
  uint64_t submitted; /* the highest value that a submission will signal */
  int queue;          /* that signals it; -1: none yet */
  bool exists;
};

struct recorder_pool {
  uint32_t family;
  bool exists;
};

enum recorder_command_kind { BARRIER, HOST_BARRIER, OTHER_BARRIER, MARK };
struct recorder_command {
  enum recorder_command_kind kind;
  uint32_t id; /* of a mark */
};

enum recorder_buffer_state { INITIAL, RECORDING, EXECUTABLE, PENDING, INVALID };
struct recorder_buffer {
  struct recorder_handle handle;
  enum recorder_buffer_state state;
  pthread_t thread; /* that records */
  uint32_t family, count;
  struct recorder_command commands[RECORDER_COMMANDS];
};

struct recorder_submitted {
  uint32_t wait_count;
  struct recorder_semaphore *waits[TIDE_HARDWARE_QUEUES_MAX];
  uint64_t values[TIDE_HARDWARE_QUEUES_MAX], signal;
  struct recorder_semaphore *signalled;
  struct recorder_buffer *buffer;
  uint64_t gate[RECORDER_QUEUES];
};

struct recorder_queue {
  struct recorder_handle handle;
  uint32_t family;
  bool locked;      /* by the application */
  bool inside;      /* a thread is in a call */
  bool idle_wanted; /* vkQueueWaitIdle waits */
  bool idle;        /* it has returned */
  uint64_t gate[RECORDER_QUEUES];
  struct recorder_submitted ring[RECORDER_RING]; /* by signalled value */
  uint64_t pending[RECORDER_RING], first, end;   /* signalled values, in submission order */
};

struct recorder {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t hardware;
  struct recorder_params params;
  struct tide_random random;
  bool stopping, lost;
  struct recorder_handle instance, physical_device, device;
  bool has_instance, has_device; /* that were created */
  uint64_t lookups;
  char hidden[64]; /* the function that was not found; "": none */
  enum recorder_call failed;
  uint64_t calls, submits, ends; /* calls that may fail, those of vkQueueSubmit */
  struct recorder_counts counts;
  const char *fault; /* NULL: none */
  uint32_t semaphore_count, buffer_count, pool_count;
  struct recorder_semaphore semaphores[RECORDER_QUEUES + 1];
  struct recorder_pool pools[RECORDER_QUEUES + 1];
  struct recorder_buffer buffers[RECORDER_BUFFERS];
  struct recorder_queue queues[RECORDER_QUEUES];
  struct recorder_submission where[RECORDER_OPERATIONS];
};
extern struct recorder recorder;

#define LOCK pthread_mutex_lock(&recorder.lock)
#define UNLOCK pthread_mutex_unlock(&recorder.lock)

#define FUNCTION(name)                                                                             \
  { "vk" #name, (PFN_vkVoidFunction)name }
struct recorder_function {
  const char *name;
  PFN_vkVoidFunction function;
};
#define FIND(functions, name)                                                                      \
  recorder_find_among(functions, sizeof(functions) / sizeof(functions)[0], name)
PFN_vkVoidFunction recorder_find_among(const struct recorder_function *functions, size_t count,
                                       const char *name);

/* Handles are addresses. */
#define HANDLE(type, p) ((type)(uintptr_t)(p))
#define OBJECT(type, handle) ((struct recorder_##type *)(uintptr_t)(handle))

/* Keeps the first wrong call. Its text must not depend on chance. */
void recorder_note(const char *fault);
/* Which of the two comes to light first is chance. */
#define OUT_OF_TURN "a command buffer is recorded or submitted out of turn"

/* Returns the result of a call that may fail. VK_ERROR_UNKNOWN of vkQueueSubmit says nothing. */
VkResult recorder_answer(enum recorder_call call);

/* Returns the function of that name; NULL: there is none. */
PFN_vkVoidFunction VKAPI_CALL recorder_find_function(VkInstance instance, const char *name);

/* ---- vulkan_recorder_machine.c ---- */
/* Looks among the functions of instances and physical devices. */
PFN_vkVoidFunction recorder_find_of_machine(const char *name);

/* ---- vulkan_recorder_hardware.c ---- */
void *recorder_hardware_main(void *unused);
/* Loses the device: submissions that had started run on until vkQueueWaitIdle. */
void recorder_lose(void);
/* Adds the submissions of a call. On a lost device they are judged alone. */
void recorder_submit(struct recorder_queue *queue, uint32_t count, const VkSubmitInfo *infos);

#endif
