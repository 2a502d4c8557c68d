#include "vulkan_recorder.h"

#include "harness.h"

#include "base/random.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUFFERS = 256, RING = 4096, COMMANDS = 16 };

struct semaphore {
  uint64_t value;     /* reached */
  uint64_t submitted; /* the highest value that a submission will signal */
  int queue;          /* that signals it; -1: none yet */
  bool exists;
};

enum command_kind { BARRIER, HOST_BARRIER, OTHER_BARRIER, MARK };
struct command {
  enum command_kind kind;
  uint32_t id; /* of a mark */
};

enum buffer_state { INITIAL, RECORDING, EXECUTABLE, PENDING, INVALID };
struct buffer {
  enum buffer_state state;
  pthread_t thread; /* that records */
  uint32_t count;
  struct command commands[COMMANDS];
};

struct submitted {
  uint32_t wait_count, buffer_count;
  struct semaphore *waits[TIDE_HARDWARE_QUEUES_MAX];
  uint64_t values[TIDE_HARDWARE_QUEUES_MAX], signal;
  struct semaphore *signalled;
  struct buffer *buffer;
  uint64_t gate[RECORDER_QUEUES];
};

struct queue {
  uint64_t last, over; /* submissions; over: their number that have ended */
  uint64_t gate[RECORDER_QUEUES];
  struct submitted ring[RING]; /* by signalled value */
  bool locked, idle;
  uint64_t pending[RING], first, end; /* signalled values, in submission order */
};

static struct recorder {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t hardware;
  struct recorder_params params;
  struct tide_random random;
  bool stopping, lost, idle;
  uint64_t submissions, ends;
  char fault[256];
  struct semaphore semaphores[RECORDER_QUEUES + 4];
  struct buffer buffers[RECORDER_QUEUES * BUFFERS];
  uint32_t semaphore_count, buffer_count, pools;
  struct queue queues[RECORDER_QUEUES];
  struct recorder_submission where[RECORDER_OPERATIONS];
} recorder;

#define LOCK pthread_mutex_lock(&recorder.lock)
#define UNLOCK pthread_mutex_unlock(&recorder.lock)

/* Which of the two comes to light first is chance. */
static const char out_of_turn[] = "a command buffer is recorded or submitted out of turn";

__attribute__((format(printf, 1, 2))) static void fault(const char *format, ...) {
  va_list list;
  if (recorder.fault[0]) return;
  va_start(list, format);
  vsnprintf(recorder.fault, sizeof recorder.fault, format, list);
  va_end(list);
}

static bool refuses(void) {
  return recorder.params.refuse && tide_random_below(&recorder.random, recorder.params.refuse) == 0;
}

/* Handles are addresses. */
#define HANDLE(type, p) ((type)(uintptr_t)(p))
static struct queue *queue_of(VkQueue queue) { return (struct queue *)(uintptr_t)queue; }
static struct buffer *buffer_of(VkCommandBuffer commands) {
  return (struct buffer *)(uintptr_t)commands;
}
static struct semaphore *semaphore_of(VkSemaphore semaphore) {
  return (struct semaphore *)(uintptr_t)semaphore;
}
static uint32_t index_of(const struct queue *queue) { return (uint32_t)(queue - recorder.queues); }

/* ---- the hardware ---------------------------------------------------------------------- */

static bool may_end(const struct submitted *submitted) {
  for (uint32_t i = 0; i < submitted->wait_count; i++)
    if (submitted->waits[i]->value < submitted->values[i]) return false;
  return true;
}

static bool end_one(void) {
  uint32_t start = (uint32_t)tide_random_below(&recorder.random, RECORDER_QUEUES);
  for (uint32_t i = 0; i < RECORDER_QUEUES; i++) {
    struct queue *queue = &recorder.queues[(start + i) % RECORDER_QUEUES];
    if (queue->first == queue->end) continue;
    struct submitted *submitted = &queue->ring[queue->pending[queue->first % RING] % RING];
    if (!may_end(submitted)) continue;
    submitted->signalled->value = submitted->signal;
    if (submitted->buffer) submitted->buffer->state = INVALID; /* for one submit only */
    queue->first++;
    recorder.ends++;
    recorder.lost |= recorder.ends == recorder.params.die;
    return true;
  }
  return false;
}

static void *hardware_main(void *unused) {
  LOCK;
  while (!recorder.stopping) {
    if (!recorder.lost && end_one()) {
      pthread_cond_broadcast(&recorder.changed);
      bool rests = tide_random_below(&recorder.random, 4) == 0;
      UNLOCK;
      if (rests) nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
      LOCK;
    } else {
      pthread_cond_wait(&recorder.changed, &recorder.lock);
    }
  }
  UNLOCK;
  return unused;
}

/* ---- submitting --------------------------------------------------------------------------- */

static void see(uint64_t *gate, const uint64_t *more) {
  for (int i = 0; i < RECORDER_QUEUES; i++)
    if (more[i] > gate[i]) gate[i] = more[i];
}

static void add_wait(struct queue *queue, struct submitted *submitted, struct semaphore *semaphore,
                     uint64_t value, VkPipelineStageFlags stages) {
  if (semaphore->submitted < value) fault("waits for %d before it is submitted", (int)value);
  else if (semaphore->queue == (int)index_of(queue)) fault("a VkQueue waits for itself");
  else if (!(stages & VK_PIPELINE_STAGE_ALL_COMMANDS_BIT)) fault("a wait is not for all commands");
  else if (value) see(queue->gate, recorder.queues[semaphore->queue].ring[value % RING].gate);
  if (value && semaphore->queue >= 0 && value > queue->gate[semaphore->queue])
    queue->gate[semaphore->queue] = value;
  submitted->waits[submitted->wait_count] = semaphore;
  submitted->values[submitted->wait_count++] = value;
}

/* Follows the commands: a barrier orders all before it and all after it. What an operation writes
 * must be released to the host behind it. */
static void follow(struct queue *queue, struct submitted *submitted, uint64_t number) {
  struct buffer *buffer = submitted->buffer;
  uint32_t unreleased = 0;
  for (uint32_t i = 0; buffer && i < buffer->count; i++) {
    const struct command *command = &buffer->commands[i];
    if (command->kind == BARRIER) {
      queue->gate[index_of(queue)] = number - 1;
    } else if (command->kind == HOST_BARRIER) {
      unreleased = 0;
    } else if (command->kind == MARK) {
      struct recorder_submission *where = &recorder.where[command->id];
      *where = (struct recorder_submission){.queue = index_of(queue), .number = number};
      memcpy(where->gate, queue->gate, sizeof where->gate);
      unreleased++;
    }
  }
  if (unreleased) fault("what an operation wrote is not released to the host");
}

static void add_submit(struct queue *queue, const VkSubmitInfo *info) {
  const VkTimelineSemaphoreSubmitInfo *values = info->pNext;
  if (!values || values->sType != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO ||
      values->waitSemaphoreValueCount != info->waitSemaphoreCount ||
      info->signalSemaphoreCount != 1 || values->signalSemaphoreValueCount != 1) {
    fault("a submission without its values");
    return;
  }
  struct semaphore *signalled = semaphore_of(info->pSignalSemaphores[0]);
  uint64_t number = values->pSignalSemaphoreValues[0];
  struct submitted *submitted = &queue->ring[number % RING];
  *submitted = (struct submitted){.signal = number, .signalled = signalled};
  if (signalled->queue < 0) signalled->queue = (int)index_of(queue);
  if (signalled->queue != (int)index_of(queue)) fault("two VkQueues signal one semaphore");
  if (number <= signalled->submitted) fault("value %d is signalled twice", (int)number);
  if (queue->end - queue->first >= recorder.params.ahead) fault("too many submissions are out");
  for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
    add_wait(queue, submitted, semaphore_of(info->pWaitSemaphores[i]),
             values->pWaitSemaphoreValues[i], info->pWaitDstStageMask[i]);
  if (info->commandBufferCount) {
    struct buffer *buffer = submitted->buffer = buffer_of(info->pCommandBuffers[0]);
    if (buffer->state != EXECUTABLE) fault("%s", out_of_turn);
    buffer->state = PENDING;
  }
  follow(queue, submitted, number);
  memcpy(submitted->gate, queue->gate, sizeof submitted->gate);
  signalled->submitted = number;
  queue->pending[queue->end++ % RING] = number;
}

static VkResult VKAPI_CALL QueueSubmit(VkQueue handle, uint32_t count, const VkSubmitInfo *infos,
                                       VkFence fence) {
  struct queue *queue = queue_of(handle);
  LOCK;
  (void)fence;
  if (!queue->locked) fault("vkQueueSubmit on a VkQueue that is not locked");
  if (recorder.idle) fault("vkQueueSubmit on a device that is known to be lost");
  recorder.submissions++;
  if (recorder.params.lose && recorder.submissions == recorder.params.lose) recorder.lost = true;
  VkResult result = recorder.lost ? VK_ERROR_DEVICE_LOST
                    : refuses()   ? VK_ERROR_OUT_OF_HOST_MEMORY
                                  : VK_SUCCESS;
  for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++) add_submit(queue, &infos[i]);
  pthread_cond_broadcast(&recorder.changed);
  UNLOCK;
  return result;
}

/* ---- command buffers ------------------------------------------------------------------------ */

static VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer commands,
                                              const VkCommandBufferBeginInfo *info) {
  struct buffer *buffer = buffer_of(commands);
  LOCK;
  if (buffer->state == PENDING) fault("%s", out_of_turn);
  if (buffer->state == RECORDING) fault("a command buffer is begun twice");
  if (!(info->flags & VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)) fault("not for one submit");
  bool refused = refuses();
  if (!refused) {
    buffer->state = RECORDING;
    buffer->thread = pthread_self();
    buffer->count = 0;
  }
  UNLOCK;
  return refused ? VK_ERROR_OUT_OF_DEVICE_MEMORY : VK_SUCCESS;
}

static VkResult VKAPI_CALL EndCommandBuffer(VkCommandBuffer commands) {
  struct buffer *buffer = buffer_of(commands);
  LOCK;
  if (buffer->state != RECORDING) fault("a command buffer is ended that was not begun");
  bool refused = refuses();
  buffer->state = refused ? INVALID : EXECUTABLE;
  UNLOCK;
  return refused ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_SUCCESS;
}

static void add_command(VkCommandBuffer commands, enum command_kind kind, uint32_t id) {
  struct buffer *buffer = buffer_of(commands);
  LOCK;
  if (buffer->state != RECORDING) fault("a command outside of a recording");
  if (!pthread_equal(buffer->thread, pthread_self())) fault("two threads record");
  if (buffer->count < COMMANDS) buffer->commands[buffer->count++] = (struct command){kind, id};
  UNLOCK;
}

void recorder_mark(VkCommandBuffer commands, uint32_t id) { add_command(commands, MARK, id); }

static enum command_kind kind_of(VkPipelineStageFlags from, VkPipelineStageFlags to,
                                 const VkMemoryBarrier *memory) {
  const VkAccessFlags both = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  if (!(from & VK_PIPELINE_STAGE_ALL_COMMANDS_BIT) ||
      !(memory->srcAccessMask & VK_ACCESS_MEMORY_WRITE_BIT))
    return OTHER_BARRIER;
  if (to & VK_PIPELINE_STAGE_HOST_BIT && memory->dstAccessMask & VK_ACCESS_HOST_READ_BIT)
    return HOST_BARRIER;
  bool all = to & VK_PIPELINE_STAGE_ALL_COMMANDS_BIT && (memory->dstAccessMask & both) == both;
  return all ? BARRIER : OTHER_BARRIER;
}

static void VKAPI_CALL CmdPipelineBarrier(VkCommandBuffer commands, VkPipelineStageFlags from,
                                          VkPipelineStageFlags to, VkDependencyFlags flags,
                                          uint32_t count, const VkMemoryBarrier *memory,
                                          uint32_t buffer_count,
                                          const VkBufferMemoryBarrier *buffers,
                                          uint32_t image_count,
                                          const VkImageMemoryBarrier *images) {
  (void)flags, (void)buffer_count, (void)buffers, (void)image_count, (void)images;
  add_command(commands, count == 1 ? kind_of(from, to, memory) : OTHER_BARRIER, 0);
}

static VkResult VKAPI_CALL CreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                             const VkAllocationCallbacks *allocator,
                                             VkCommandPool *out_pool) {
  (void)device, (void)allocator;
  if (!(info->flags & VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT))
    fault("command buffers of this pool cannot be recorded again");
  *out_pool = HANDLE(VkCommandPool, ++recorder.pools);
  return VK_SUCCESS;
}

static void check_unused(const char *what) {
  for (uint32_t i = 0; i < RECORDER_QUEUES; i++)
    if (recorder.queues[i].first != recorder.queues[i].end && !recorder.lost)
      fault("%s is destroyed while a VkQueue uses it", what);
}

static void VKAPI_CALL DestroyCommandPool(VkDevice device, VkCommandPool pool,
                                          const VkAllocationCallbacks *allocator) {
  (void)device, (void)pool, (void)allocator;
  LOCK;
  recorder.pools--;
  check_unused("a command pool");
  UNLOCK;
}

static VkResult VKAPI_CALL AllocateCommandBuffers(VkDevice device,
                                                  const VkCommandBufferAllocateInfo *info,
                                                  VkCommandBuffer *out_commands) {
  (void)device;
  for (uint32_t i = 0; i < info->commandBufferCount; i++) {
    CHECK(recorder.buffer_count < sizeof recorder.buffers / sizeof recorder.buffers[0]);
    out_commands[i] = HANDLE(VkCommandBuffer, &recorder.buffers[recorder.buffer_count++]);
  }
  return VK_SUCCESS;
}

/* ---- semaphores ---------------------------------------------------------------------------- */

static VkResult VKAPI_CALL CreateSemaphore(VkDevice device, const VkSemaphoreCreateInfo *info,
                                           const VkAllocationCallbacks *allocator,
                                           VkSemaphore *out_semaphore) {
  (void)device, (void)info, (void)allocator;
  struct semaphore *semaphore = &recorder.semaphores[recorder.semaphore_count++];
  *semaphore = (struct semaphore){.queue = -1, .exists = true};
  *out_semaphore = HANDLE(VkSemaphore, semaphore);
  return VK_SUCCESS;
}

static void VKAPI_CALL DestroySemaphore(VkDevice device, VkSemaphore semaphore,
                                        const VkAllocationCallbacks *allocator) {
  (void)device, (void)allocator;
  LOCK;
  semaphore_of(semaphore)->exists = false;
  check_unused("a semaphore");
  UNLOCK;
}

/* A lost device may answer a wait or a query with success. */
static VkResult lost_or_silent(void) {
  return recorder.lost && !recorder.params.silent ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}

static VkResult VKAPI_CALL GetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore,
                                                    uint64_t *out_value) {
  (void)device;
  LOCK;
  *out_value = semaphore_of(semaphore)->value;
  if (!semaphore_of(semaphore)->exists) fault("a semaphore is used that was destroyed");
  VkResult result = lost_or_silent();
  UNLOCK;
  return result;
}

static VkResult VKAPI_CALL WaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info,
                                          uint64_t timeout) {
  const struct semaphore *semaphore = semaphore_of(info->pSemaphores[0]);
  struct timespec until;
  (void)device;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += (long)(timeout < 100000000u ? timeout : 100000000u);
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  LOCK;
  bool refused = refuses();
  if (info->semaphoreCount != 1) fault("a wait for several semaphores spins on some drivers");
  int over = 0;
  while (!refused && !recorder.lost && semaphore->value < info->pValues[0] && !over)
    over = pthread_cond_timedwait(&recorder.changed, &recorder.lock, &until);
  VkResult result = refused                               ? VK_ERROR_OUT_OF_HOST_MEMORY
                    : recorder.lost                       ? lost_or_silent()
                    : semaphore->value < info->pValues[0] ? VK_TIMEOUT
                                                          : VK_SUCCESS;
  UNLOCK;
  return result;
}

/* ---- the device ------------------------------------------------------------------------------ */

static VkResult VKAPI_CALL QueueWaitIdle(VkQueue handle) {
  LOCK;
  if (!queue_of(handle)->locked) fault("vkQueueWaitIdle on a VkQueue that is not locked");
  bool refused = refuses();
  queue_of(handle)->idle = !refused;
  recorder.idle = true;
  for (uint32_t i = 0; i < recorder.params.queue_count; i++)
    recorder.idle &= recorder.queues[i].idle;
  VkResult result = recorder.lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
  UNLOCK;
  return refused ? VK_ERROR_OUT_OF_HOST_MEMORY : result;
}

static void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice device,
                                                    VkPhysicalDeviceProperties2 *out_properties) {
  (void)device;
  out_properties->properties =
      (VkPhysicalDeviceProperties){.apiVersion = VK_API_VERSION_1_2, .deviceName = "recorder"};
}

static VkResult VKAPI_CALL EnumerateDeviceExtensionProperties(VkPhysicalDevice device,
                                                              const char *layer, uint32_t *count,
                                                              VkExtensionProperties *properties) {
  (void)device, (void)layer, (void)properties;
  *count = 0;
  return VK_SUCCESS;
}

/* Never called for an adopted device. */
static void VKAPI_CALL unexpected(void) { FAIL("a call that an adopted device does not need"); }

static PFN_vkVoidFunction find(const char *name);
static PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice device, const char *name) {
  (void)device;
  return find(name);
}

static PFN_vkVoidFunction find(const char *name) {
#define ROW(name)                                                                                  \
  { "vk" #name, (PFN_vkVoidFunction)name }
  static const struct {
    const char *name;
    PFN_vkVoidFunction function;
  } calls[] = {ROW(GetDeviceProcAddr),
               ROW(GetPhysicalDeviceProperties2),
               ROW(EnumerateDeviceExtensionProperties),
               ROW(QueueSubmit),
               ROW(QueueWaitIdle),
               ROW(CreateSemaphore),
               ROW(DestroySemaphore),
               ROW(WaitSemaphores),
               ROW(GetSemaphoreCounterValue),
               ROW(CreateCommandPool),
               ROW(DestroyCommandPool),
               ROW(AllocateCommandBuffers),
               ROW(BeginCommandBuffer),
               ROW(EndCommandBuffer),
               ROW(CmdPipelineBarrier)};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
    if (!strcmp(calls[i].name, name)) return calls[i].function;
  return strstr(name, "EXT") ? NULL : (PFN_vkVoidFunction)unexpected;
}

static PFN_vkVoidFunction VKAPI_CALL get_proc(VkInstance instance, const char *name) {
  (void)instance;
  return find(name);
}

static void lock_queue(void *self, VkQueue queue) {
  (void)self;
  LOCK;
  /* An application may have one lock for all of them. */
  for (uint32_t i = 0; i < RECORDER_QUEUES; i++)
    if (recorder.queues[i].locked) fault("a VkQueue is locked, and another one with it");
  queue_of(queue)->locked = true;
  UNLOCK;
}
static void unlock_queue(void *self, VkQueue queue) {
  (void)self;
  LOCK;
  queue_of(queue)->locked = false;
  UNLOCK;
}

/* ---- the test's side ------------------------------------------------------------------------ */

void recorder_open(const struct recorder_params *params, struct tide_vulkan_params *out_params) {
  static struct tide_vulkan_queue queues[RECORDER_QUEUES];
  memset(&recorder, 0, sizeof recorder);
  pthread_mutex_init(&recorder.lock, NULL);
  pthread_cond_init(&recorder.changed, NULL);
  recorder.params = *params;
  recorder.random.state = params->seed;
  for (uint32_t i = 0; i < params->queue_count; i++)
    queues[i] = (struct tide_vulkan_queue){HANDLE(VkQueue, &recorder.queues[i]), 0};
  *out_params = (struct tide_vulkan_params){.struct_size = sizeof *out_params,
                                            .ahead = params->ahead,
                                            .instance = HANDLE(VkInstance, &recorder),
                                            .physical_device = HANDLE(VkPhysicalDevice, &recorder),
                                            .device = HANDLE(VkDevice, &recorder),
                                            .queues = queues,
                                            .queue_count = params->queue_count,
                                            .get_proc = get_proc,
                                            .lock = lock_queue,
                                            .unlock = unlock_queue};
  CHECK(pthread_create(&recorder.hardware, NULL, hardware_main, NULL) == 0);
}

const char *recorder_fault(void) {
  LOCK;
  bool is_wrong = recorder.fault[0];
  UNLOCK;
  return is_wrong ? recorder.fault : NULL; /* written once */
}

const char *recorder_close(void) {
  LOCK;
  recorder.stopping = true;
  pthread_cond_broadcast(&recorder.changed);
  UNLOCK;
  pthread_join(recorder.hardware, NULL);
  if (recorder.pools) fault("%u command pools are left", recorder.pools);
  for (uint32_t i = 0; i < recorder.semaphore_count; i++)
    if (recorder.semaphores[i].exists) fault("a semaphore is left");
  return recorder.fault[0] ? recorder.fault : NULL;
}

struct recorder_submission recorder_find(uint32_t id) {
  LOCK;
  struct recorder_submission where = recorder.where[id];
  UNLOCK;
  return where;
}

bool recorder_is_idle(void) {
  LOCK;
  bool idle = recorder.idle;
  UNLOCK;
  return idle;
}
