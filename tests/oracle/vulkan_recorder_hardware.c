/* The recording driver's VkQueues: what submissions wait for, and when they end. */
#include "vulkan_recorder_state.h"

#include <string.h>
#include <time.h>

static uint32_t index_of(const struct recorder_queue *queue) {
  return (uint32_t)(queue - recorder.queues);
}

/* ---- ends --------------------------------------------------------------------------------- */

static struct recorder_submitted *pending_at(struct recorder_queue *queue, uint64_t place) {
  return &queue->ring[queue->pending[place % RECORDER_RING] % RECORDER_RING];
}

static bool may_start(const struct recorder_submitted *submitted) {
  for (uint32_t i = 0; i < submitted->wait_count; i++)
    if (submitted->waits[i]->value < submitted->values[i]) return false;
  return true;
}

/* Drops submissions that never start. */
static void drop_after(struct recorder_queue *queue, uint64_t place) {
  for (uint64_t i = place; i < queue->end; i++)
    if (pending_at(queue, i)->buffer) pending_at(queue, i)->buffer->state = INVALID;
  queue->end = place;
}

void recorder_lose(void) {
  if (recorder.lost) return;
  recorder.lost = true;
  for (uint32_t i = 0; i < RECORDER_QUEUES; i++) {
    struct recorder_queue *queue = &recorder.queues[i];
    uint64_t place = queue->first;
    while (place < queue->end && may_start(pending_at(queue, place))) place++;
    drop_after(queue, place);
  }
  pthread_cond_broadcast(&recorder.changed);
}

/* Ends the oldest submission of a VkQueue. A lost device has no values any more. */
static void end_first(struct recorder_queue *queue) {
  struct recorder_submitted *submitted = pending_at(queue, queue->first);
  if (!recorder.lost) submitted->signalled->value = submitted->signal;
  if (submitted->buffer) submitted->buffer->state = INVALID; /* for one submit only */
  queue->first++;
  if (++recorder.ends == recorder.params.die) recorder_lose();
}

static bool end_one(void) {
  uint32_t start = (uint32_t)tide_random_below(&recorder.random, RECORDER_QUEUES);
  for (uint32_t i = 0; i < RECORDER_QUEUES; i++) {
    struct recorder_queue *queue = &recorder.queues[(start + i) % RECORDER_QUEUES];
    if (queue->first == queue->end) continue;
    if (recorder.lost ? !queue->idle_wanted : !may_start(pending_at(queue, queue->first))) continue;
    end_first(queue);
    return true;
  }
  return false;
}

void *recorder_hardware_main(void *unused) {
  LOCK;
  while (!recorder.stopping) {
    if (!recorder.params.stuck && end_one()) {
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

/* ---- submissions ---------------------------------------------------------------------------- */

static void see(uint64_t *gate, const uint64_t *more) {
  for (int i = 0; i < RECORDER_QUEUES; i++)
    if (more[i] > gate[i]) gate[i] = more[i];
}

static void add_wait(struct recorder_queue *queue, struct recorder_submitted *submitted,
                     struct recorder_semaphore *semaphore, uint64_t value,
                     VkPipelineStageFlags stages) {
  if (semaphore->submitted < value) recorder_note("waits for a value before it is submitted");
  else if (semaphore->queue == (int)index_of(queue)) recorder_note("a VkQueue waits for itself");
  else if (!(stages & VK_PIPELINE_STAGE_ALL_COMMANDS_BIT))
    recorder_note("a wait is not for all commands");
  else if (value)
    see(queue->gate, recorder.queues[semaphore->queue].ring[value % RECORDER_RING].gate);
  if (value && semaphore->queue >= 0 && value > queue->gate[semaphore->queue])
    queue->gate[semaphore->queue] = value;
  submitted->waits[submitted->wait_count] = semaphore;
  submitted->values[submitted->wait_count++] = value;
}

/* Follows the commands: a barrier orders all before it and all after it. What an operation writes
 * must be released to the host behind it. */
static void follow(struct recorder_queue *queue, const struct recorder_submitted *submitted) {
  const struct recorder_buffer *buffer = submitted->buffer;
  uint32_t unreleased = 0;
  for (uint32_t i = 0; buffer && i < buffer->count; i++) {
    const struct recorder_command *command = &buffer->commands[i];
    if (command->kind == BARRIER) {
      queue->gate[index_of(queue)] = submitted->signal - 1;
      recorder.counts.barriers++;
    } else if (command->kind == HOST_BARRIER) {
      unreleased = 0;
    } else if (command->kind == MARK) {
      struct recorder_submission *where = &recorder.where[command->id];
      *where = (struct recorder_submission){
          .queue = index_of(queue), .number = submitted->signal, .call = recorder.submits};
      memcpy(where->gate, queue->gate, sizeof where->gate);
      unreleased++;
    }
  }
  if (unreleased) recorder_note("what an operation wrote is not released to the host");
}

static void take_buffer(const struct recorder_queue *queue, struct recorder_buffer *buffer) {
  if (buffer->state != EXECUTABLE) recorder_note(OUT_OF_TURN);
  if (buffer->family != queue->family) recorder_note("a command buffer is of another family");
  buffer->state = PENDING;
}

static void add_submit(struct recorder_queue *queue, const VkSubmitInfo *info) {
  const VkTimelineSemaphoreSubmitInfo *values = info->pNext;
  if (!values || values->sType != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO ||
      values->waitSemaphoreValueCount != info->waitSemaphoreCount ||
      info->signalSemaphoreCount != 1 || values->signalSemaphoreValueCount != 1) {
    recorder_note("a submission without its values");
    return;
  }
  struct recorder_semaphore *signalled = OBJECT(semaphore, info->pSignalSemaphores[0]);
  uint64_t number = values->pSignalSemaphoreValues[0];
  struct recorder_submitted *submitted = &queue->ring[number % RECORDER_RING];
  *submitted = (struct recorder_submitted){.signal = number, .signalled = signalled};
  if (signalled->queue < 0) signalled->queue = (int)index_of(queue);
  if (signalled->queue != (int)index_of(queue)) recorder_note("two VkQueues signal one semaphore");
  if (number <= signalled->submitted) recorder_note("a value is signalled twice");
  if (queue->end - queue->first >= recorder.params.ahead)
    recorder_note("too many submissions are out");
  for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
    add_wait(queue, submitted, OBJECT(semaphore, info->pWaitSemaphores[i]),
             values->pWaitSemaphoreValues[i], info->pWaitDstStageMask[i]);
  if (info->commandBufferCount) {
    submitted->buffer = OBJECT(buffer, info->pCommandBuffers[0]);
    take_buffer(queue, submitted->buffer);
  }
  follow(queue, submitted);
  memcpy(submitted->gate, queue->gate, sizeof submitted->gate);
  signalled->submitted = number;
  recorder.counts.submissions++;
  recorder.counts.waits += info->waitSemaphoreCount;
  queue->pending[queue->end++ % RECORDER_RING] = number;
}

void recorder_submit(struct recorder_queue *queue, uint32_t count, const VkSubmitInfo *infos) {
  uint64_t before = queue->end;
  recorder.submits++;
  for (uint32_t i = 0; i < count; i++) add_submit(queue, &infos[i]);
  if (recorder.lost) drop_after(queue, before);
  pthread_cond_broadcast(&recorder.changed);
}
