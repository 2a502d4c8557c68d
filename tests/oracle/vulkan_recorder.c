#include "vulkan_recorder_state.h"

#include "harness.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

struct recorder recorder;

void recorder_note(const char *fault) {
  if (!recorder.fault) recorder.fault = fault;
}

static uint64_t draw(uint64_t limit) { return tide_random_below(&recorder.random, limit); }

/* Every call may fail for an unknown reason. */
static VkResult draw_error(enum recorder_call call) {
  if (call == RECORDER_SUBMIT ? draw(8) == 0 : draw(3) == 0) return VK_ERROR_UNKNOWN;
  return draw(2) ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

/* An open has many calls: of these few are refused. */
static bool refuses(enum recorder_call call) {
  if (recorder.lost && call == RECORDER_IDLE && draw(2)) return true;
  uint32_t one_in = recorder.params.refuse * (call == RECORDER_CREATE ? 32 : 1);
  return one_in && draw(one_in) == 0;
}

VkResult recorder_answer(enum recorder_call call) {
  const struct recorder_params *params = &recorder.params;
  bool is_it = ++recorder.calls == params->fail_at;
  if (is_it) recorder.failed = call;
  if (is_it && params->fail_with != VK_ERROR_DEVICE_LOST) return params->fail_with;
  if (!is_it && refuses(call)) return draw_error(call);
  bool says = params->silence == RECORDER_SAYS && call >= RECORDER_SUBMIT;
  VkResult result = (recorder.lost || is_it) && says ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
  if (is_it && call != RECORDER_SUBMIT) recorder_lose();
  return result;
}

/* ---- VkQueues ------------------------------------------------------------------------------- */

/* External synchronisation: one thread at a time, and with the application's lock. */
static struct recorder_queue *enter_queue(VkQueue handle, const char *unlocked) {
  struct recorder_queue *queue = OBJECT(queue, handle);
  if (recorder.params.way == RECORDER_ADOPTED && !queue->locked) recorder_note(unlocked);
  if (queue->inside) recorder_note("two threads use one VkQueue");
  queue->inside = true;
  return queue;
}

/* The worst that an error allows: a call that says nothing of memory has submitted its batches, and
 * they start. */
static VkResult VKAPI_CALL QueueSubmit(VkQueue handle, uint32_t count, const VkSubmitInfo *infos,
                                       VkFence fence) {
  LOCK;
  (void)fence;
  struct recorder_queue *queue =
      enter_queue(handle, "vkQueueSubmit on a VkQueue that is not locked");
  if (queue->idle) recorder_note("vkQueueSubmit on a device that is known to be lost");
  VkResult result = recorder_answer(RECORDER_SUBMIT);
  bool loses = recorder.calls == recorder.params.fail_at &&
               recorder.params.fail_with == VK_ERROR_DEVICE_LOST;
  if (result == VK_SUCCESS || result == VK_ERROR_UNKNOWN || loses)
    recorder_submit(queue, count, infos);
  if (loses) recorder_lose();
  queue->inside = false;
  UNLOCK;
  return result;
}

/* Only with that call all submissions are known to be over. */
static VkResult VKAPI_CALL QueueWaitIdle(VkQueue handle) {
  LOCK;
  struct recorder_queue *queue =
      enter_queue(handle, "vkQueueWaitIdle on a VkQueue that is not locked");
  VkResult result = recorder_answer(RECORDER_IDLE);
  if (result == VK_SUCCESS || result == VK_ERROR_DEVICE_LOST) {
    queue->idle_wanted = true;
    pthread_cond_broadcast(&recorder.changed);
    while (queue->first != queue->end) pthread_cond_wait(&recorder.changed, &recorder.lock);
    queue->idle = true;
  }
  queue->inside = false;
  UNLOCK;
  return result;
}

/* ---- command buffers ------------------------------------------------------------------------ */

static VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer commands,
                                              const VkCommandBufferBeginInfo *info) {
  struct recorder_buffer *buffer = OBJECT(buffer, commands);
  LOCK;
  if (buffer->state == PENDING) recorder_note(OUT_OF_TURN);
  if (buffer->state == RECORDING) recorder_note("a command buffer is begun twice");
  if (!(info->flags & VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT))
    recorder_note("not for one submit");
  VkResult result = recorder_answer(RECORDER_RECORD);
  if (result == VK_SUCCESS) {
    buffer->state = RECORDING;
    buffer->thread = pthread_self();
    buffer->count = 0;
  }
  UNLOCK;
  return result;
}

static VkResult VKAPI_CALL EndCommandBuffer(VkCommandBuffer commands) {
  struct recorder_buffer *buffer = OBJECT(buffer, commands);
  LOCK;
  if (buffer->state != RECORDING) recorder_note("a command buffer is ended that was not begun");
  VkResult result = recorder_answer(RECORDER_RECORD);
  buffer->state = result == VK_SUCCESS ? EXECUTABLE : INVALID;
  UNLOCK;
  return result;
}

static void add_command(VkCommandBuffer commands, enum recorder_command_kind kind, uint32_t id) {
  struct recorder_buffer *buffer = OBJECT(buffer, commands);
  LOCK;
  if (buffer->state != RECORDING) recorder_note("a command outside of a recording");
  if (!pthread_equal(buffer->thread, pthread_self())) recorder_note("two threads record");
  if (buffer->count < RECORDER_COMMANDS)
    buffer->commands[buffer->count++] = (struct recorder_command){kind, id};
  UNLOCK;
}

void recorder_mark(VkCommandBuffer commands, uint32_t id) { add_command(commands, MARK, id); }

static enum recorder_command_kind kind_of(VkPipelineStageFlags from, VkPipelineStageFlags to,
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

/* ---- objects ------------------------------------------------------------------------------ */

static void check_unused(const char *used) {
  for (uint32_t i = 0; i < RECORDER_QUEUES; i++)
    if (recorder.queues[i].first != recorder.queues[i].end) recorder_note(used);
}

/* What a call that fails leaves in its result is no object. */
#define POISON UINT64_C(0xbad)

static VkResult VKAPI_CALL CreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                             const VkAllocationCallbacks *allocator,
                                             VkCommandPool *out_pool) {
  (void)device, (void)allocator;
  LOCK;
  if (!(info->flags & VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT))
    recorder_note("command buffers of this pool cannot be recorded again");
  VkResult result = recorder_answer(RECORDER_CREATE);
  struct recorder_pool *pool = &recorder.pools[recorder.pool_count];
  *out_pool = HANDLE(VkCommandPool, POISON);
  if (result == VK_SUCCESS) {
    recorder.pool_count++;
    *pool = (struct recorder_pool){.family = info->queueFamilyIndex, .exists = true};
    *out_pool = HANDLE(VkCommandPool, pool);
  }
  UNLOCK;
  return result;
}

/* True if the handle is of an object that exists. */
#define EXISTS(type, handle)                                                                       \
  exists(HANDLE(uintptr_t, handle), recorder.type##s, recorder.type##_count,                       \
         sizeof recorder.type##s[0])
static bool exists(uintptr_t handle, const void *objects, uint32_t count, size_t size) {
  uintptr_t first = (uintptr_t)objects;
  return handle >= first && handle < first + count * size && (handle - first) % size == 0;
}

static bool is_pool(VkCommandPool pool) {
  bool is_one = EXISTS(pool, pool) && OBJECT(pool, pool)->exists;
  if (!is_one) recorder_note("a command pool is used that does not exist");
  return is_one;
}

static bool is_semaphore(VkSemaphore semaphore) {
  bool is_one = EXISTS(semaphore, semaphore) && OBJECT(semaphore, semaphore)->exists;
  if (!is_one) recorder_note("a semaphore is used that does not exist");
  return is_one;
}

static void VKAPI_CALL DestroyCommandPool(VkDevice device, VkCommandPool pool,
                                          const VkAllocationCallbacks *allocator) {
  (void)device, (void)allocator;
  LOCK;
  check_unused("a command pool is destroyed while a VkQueue uses it");
  if (is_pool(pool)) OBJECT(pool, pool)->exists = false;
  UNLOCK;
}

static VkResult VKAPI_CALL AllocateCommandBuffers(VkDevice device,
                                                  const VkCommandBufferAllocateInfo *info,
                                                  VkCommandBuffer *out_commands) {
  (void)device;
  LOCK;
  VkResult result =
      is_pool(info->commandPool) ? recorder_answer(RECORDER_CREATE) : VK_ERROR_OUT_OF_HOST_MEMORY;
  for (uint32_t i = 0; i < info->commandBufferCount; i++) {
    struct recorder_buffer *buffer = &recorder.buffers[recorder.buffer_count];
    out_commands[i] = NULL;
    if (result != VK_SUCCESS) continue;
    CHECK(recorder.buffer_count++ < RECORDER_BUFFERS);
    buffer->family = OBJECT(pool, info->commandPool)->family;
    buffer->handle.loader = ICD_LOADER_MAGIC;
    out_commands[i] = HANDLE(VkCommandBuffer, buffer);
  }
  UNLOCK;
  return result;
}

static VkResult VKAPI_CALL CreateSemaphore(VkDevice device, const VkSemaphoreCreateInfo *info,
                                           const VkAllocationCallbacks *allocator,
                                           VkSemaphore *out_semaphore) {
  const VkSemaphoreTypeCreateInfo *type = info->pNext;
  (void)device, (void)allocator;
  LOCK;
  if (!type || type->semaphoreType != VK_SEMAPHORE_TYPE_TIMELINE)
    recorder_note("a semaphore has no values");
  VkResult result = recorder_answer(RECORDER_CREATE);
  if (recorder.params.machine.enables_no_timelines) result = VK_ERROR_UNKNOWN;
  struct recorder_semaphore *semaphore = &recorder.semaphores[recorder.semaphore_count];
  *out_semaphore = HANDLE(VkSemaphore, POISON);
  if (result == VK_SUCCESS) {
    recorder.semaphore_count++;
    *semaphore = (struct recorder_semaphore){.queue = -1, .exists = true};
    *out_semaphore = HANDLE(VkSemaphore, semaphore);
  }
  UNLOCK;
  return result;
}

static void VKAPI_CALL DestroySemaphore(VkDevice device, VkSemaphore semaphore,
                                        const VkAllocationCallbacks *allocator) {
  (void)device, (void)allocator;
  LOCK;
  check_unused("a semaphore is destroyed while a VkQueue uses it");
  if (is_semaphore(semaphore)) OBJECT(semaphore, semaphore)->exists = false;
  UNLOCK;
}

/* ---- waits of the host -------------------------------------------------------------------- */

static VkResult VKAPI_CALL GetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore,
                                                    uint64_t *out_value) {
  (void)device;
  LOCK;
  VkResult result = recorder_answer(RECORDER_LISTEN);
  bool knows = is_semaphore(semaphore) && result == VK_SUCCESS &&
               !(recorder.lost && recorder.params.silence == RECORDER_GARBAGE);
  *out_value = knows ? OBJECT(semaphore, semaphore)->value : UINT64_MAX;
  UNLOCK;
  return result;
}

static struct timespec after(uint64_t timeout) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += (long)(timeout < 100000000u ? timeout : 100000000u);
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  return until;
}

static VkResult VKAPI_CALL WaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info,
                                          uint64_t timeout) {
  const struct recorder_semaphore *semaphore = OBJECT(semaphore, info->pSemaphores[0]);
  const struct timespec until = after(timeout);
  (void)device;
  LOCK;
  if (info->semaphoreCount != 1)
    recorder_note("a wait for several semaphores spins on some drivers");
  VkResult result =
      is_semaphore(info->pSemaphores[0]) ? recorder_answer(RECORDER_LISTEN) : VK_ERROR_UNKNOWN;
  bool was_lost = recorder.lost;
  for (int over = 0; result == VK_SUCCESS && !recorder.lost;) {
    if (semaphore->value >= info->pValues[0]) break;
    if (over) result = VK_TIMEOUT;
    else over = pthread_cond_timedwait(&recorder.changed, &recorder.lock, &until);
  }
  if (recorder.lost && !was_lost && recorder.params.silence == RECORDER_SAYS)
    result = VK_ERROR_DEVICE_LOST;
  UNLOCK;
  return result;
}

/* ---- functions ------------------------------------------------------------------------------ */

PFN_vkVoidFunction recorder_find_among(const struct recorder_function *functions, size_t count,
                                       const char *name) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(functions[i].name, name)) return functions[i].function;
  return NULL;
}

PFN_vkVoidFunction VKAPI_CALL recorder_find_function(VkInstance instance, const char *name) {
  static const struct recorder_function functions[] = {
      FUNCTION(QueueSubmit),       FUNCTION(QueueWaitIdle),      FUNCTION(CreateSemaphore),
      FUNCTION(DestroySemaphore),  FUNCTION(WaitSemaphores),     FUNCTION(GetSemaphoreCounterValue),
      FUNCTION(CreateCommandPool), FUNCTION(DestroyCommandPool), FUNCTION(BeginCommandBuffer),
      FUNCTION(EndCommandBuffer),  FUNCTION(CmdPipelineBarrier), FUNCTION(AllocateCommandBuffers)};
  (void)instance;
  if (++recorder.lookups == recorder.params.hide) {
    snprintf(recorder.hidden, sizeof recorder.hidden, "%s", name);
    return NULL;
  }
  PFN_vkVoidFunction found = FIND(functions, name);
  return found ? found : recorder_find_of_machine(name);
}
