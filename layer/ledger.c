/* The ledger: queues, semaphores, fences, and the submissions that have not been seen to finish. */
#include "layer/layer.h"
#include "layer/submission_trace.h"

#include <stdlib.h>
#include <string.h>

#define RECORDS_MOST 512   /* records of one semaphore; the older half goes */
#define RING_MOST 8192     /* submissions of one queue that no thread saw finish */
#define RING_FIRST 256     /* more than explore holds of one queue */
#define SIGNALLERS_MOST 32 /* records from which one look at a value imports */

bool layer_ledger_init(struct layer_device *device) {
  device->clocks.allocator = layer_allocator();
  return pthread_mutex_init(&device->lock, NULL) == 0 &&
         pthread_mutex_init(&device->release_lock, NULL) == 0 &&
         pthread_cond_init(&device->changed, NULL) == 0;
}

static void forget_semaphore(struct layer_device *device, struct layer_semaphore *semaphore) {
  tide_shadow_forget(&device->clocks, TIDE_SHADOW_TIMELINE, semaphore->serial);
  free(semaphore);
}

static void unreference_semaphore(struct layer_device *device, struct layer_semaphore *semaphore) {
  if (--semaphore->references == 0) forget_semaphore(device, semaphore);
}

void layer_ledger_fini(struct layer_device *device) {
  for (uint32_t i = 0; i < device->queue_count; i++) {
    struct layer_queue *queue = device->queues[i];
    layer_queue_is_done(queue, queue->submitted);
    for (size_t k = 0; k < queue->import_count; k++)
      tide_shadow_clock_fini(&device->clocks, &queue->imports[k].clock);
    tide_shadow_clock_fini(&device->clocks, &queue->published);
    free(queue->ring);
    free(queue);
  }
  for (size_t i = 0; i < device->fences.bucket_count; i++)
    for (struct layer_entry *e = device->fences.buckets[i]; e; e = e->next)
      tide_shadow_clock_fini(&device->clocks, &((struct layer_fence *)e->object)->clock);
  layer_table_fini(&device->fences, free);
  layer_table_fini(&device->semaphores, free);
  layer_table_fini(&device->names, free);
  tide_shadow_clock_fini(&device->clocks, &device->scratch);
  tide_shadow_fini(&device->clocks);
  pthread_cond_destroy(&device->changed);
  pthread_mutex_destroy(&device->release_lock);
  pthread_mutex_destroy(&device->lock);
}

/* ---- queues ---------------------------------------------------------------------- */

struct layer_queue *layer_queue_of(struct layer_device *device, VkQueue handle) {
  for (uint32_t i = 0; i < device->queue_count; i++)
    if (device->queues[i]->handle == handle) return device->queues[i];
  return NULL;
}

struct layer_queue *layer_queue_add(struct layer_device *device, VkQueue real, uint32_t family,
                                    uint32_t index) {
  if (device->queue_count == sizeof device->queues / sizeof device->queues[0]) return NULL;
  struct layer_queue *queue = calloc(1, sizeof *queue);
  if (queue) queue->ring = calloc(RING_FIRST, sizeof(struct layer_submission *));
  if (!queue || !queue->ring) {
    free(queue);
    return NULL;
  }
  queue->ring_size = RING_FIRST;
  queue->device = device;
  queue->handle = queue->real = real;
  queue->family = queue->real_family = family;
  queue->index_in_family = index;
  queue->index = device->queue_count;
  device->queues[device->queue_count++] = queue;
  return queue;
}

/* Ensures a free slot in the queue's ring. Memory is bounded even if the program looks at nothing:
 * then the oldest submission is forgotten. A held one cannot be. False: no memory. */
static bool make_room(struct layer_queue *queue) {
  if (queue->submitted - queue->done < queue->ring_size) return true;
  size_t size = queue->ring_size * 2;
  struct layer_submission **ring = NULL;
  bool is_held = queue->released == queue->done;
  if (size <= RING_MOST || is_held) ring = calloc(size, sizeof(struct layer_submission *));
  if (!ring) {
    layer_queue_is_done(queue, queue->done + 1);
    queue->device->counts.forgotten += !is_held;
    return !is_held;
  }
  for (uint64_t e = queue->done + 1; e <= queue->submitted; e++)
    ring[e % size] = queue->ring[e % queue->ring_size];
  free(queue->ring);
  queue->ring = ring;
  queue->ring_size = size;
  return true;
}

struct layer_submission *layer_submission_at(const struct layer_queue *queue, uint64_t epoch) {
  if (epoch <= queue->done || epoch > queue->submitted) return NULL;
  return queue->ring[epoch % queue->ring_size];
}

void layer_queue_advance(struct layer_queue *queue) {
  if (queue->released < queue->done) queue->released = queue->done;
  while (queue->released < queue->submitted) {
    const struct layer_submission *at = layer_submission_at(queue, queue->released + 1);
    if (at && at->state != LAYER_RELEASED) return;
    queue->released++;
  }
}

/* A held submission cannot have finished, even if the program concluded so. */
void layer_queue_is_done(struct layer_queue *queue, uint64_t epoch) {
  while (queue->done < epoch && queue->done < queue->submitted) {
    struct layer_submission **slot = &queue->ring[(queue->done + 1) % queue->ring_size];
    if (*slot && (*slot)->state != LAYER_RELEASED) return;
    if (*slot) {
      layer_trace_finish(*slot);
      layer_submission_free(queue->device, *slot);
    }
    *slot = NULL;
    queue->done++;
  }
}

/* ---- semaphores and fences ------------------------------------------------------- */

struct layer_semaphore *layer_semaphore_of(struct layer_device *device, VkSemaphore handle) {
  return layer_table_find(&device->semaphores, (uint64_t)handle);
}

struct layer_semaphore *layer_semaphore_add(struct layer_device *device, VkSemaphore handle,
                                            bool timeline, uint64_t initial) {
  struct layer_semaphore *semaphore = calloc(1, sizeof *semaphore);
  if (!semaphore) return NULL;
  semaphore->handle = handle;
  semaphore->references = 1;
  semaphore->timeline = timeline;
  semaphore->serial = ++device->next_serial;
  semaphore->initial = semaphore->submitted = semaphore->released = semaphore->seen = initial;
  semaphore->records = tide_shadow_get(&device->clocks, TIDE_SHADOW_TIMELINE, semaphore->serial);
  if (semaphore->records && layer_table_put(&device->semaphores, (uint64_t)handle, semaphore))
    return semaphore;
  forget_semaphore(device, semaphore);
  return NULL;
}

void layer_semaphore_drop(struct layer_device *device, struct layer_semaphore *semaphore) {
  layer_table_take(&device->semaphores, (uint64_t)semaphore->handle);
  semaphore->destroyed = true;
  unreference_semaphore(device, semaphore);
}

struct layer_fence *layer_fence_of(struct layer_device *device, VkFence handle) {
  return layer_table_find(&device->fences, (uint64_t)handle);
}

struct layer_fence *layer_fence_add(struct layer_device *device, VkFence handle, bool signalled) {
  struct layer_fence *fence = calloc(1, sizeof *fence);
  if (!fence) return NULL;
  fence->handle = handle;
  fence->signalled = signalled;
  if (layer_table_put(&device->fences, (uint64_t)handle, fence)) return fence;
  free(fence);
  return NULL;
}

/* ---- submissions ----------------------------------------------------------------- */

struct layer_submission *layer_submission_make(uint32_t waits, uint32_t signals,
                                               uint32_t commands) {
  struct layer_submission *submission;
  size_t size = sizeof *submission + waits * sizeof(struct layer_wait) +
                signals * sizeof(struct layer_signal) + commands * sizeof(VkCommandBuffer);
  submission = calloc(1, size);
  if (!submission) return NULL;
  submission->waits = (struct layer_wait *)(submission + 1);
  submission->signals = (struct layer_signal *)(submission->waits + waits);
  submission->commands = (VkCommandBuffer *)(submission->signals + signals);
  submission->state = LAYER_RELEASED;
  return submission;
}

void layer_submission_free(struct layer_device *device, struct layer_submission *submission) {
  for (uint32_t i = 0; i < submission->wait_count; i++)
    unreference_semaphore(device, submission->waits[i].semaphore);
  for (uint32_t i = 0; i < submission->signal_count; i++)
    unreference_semaphore(device, submission->signals[i].semaphore);
  free(submission);
}

/* Gives waits of binary semaphores their values: the n-th wait waits for the n-th signal. */
static void number_waits(struct layer_submission *submission) {
  for (uint32_t i = 0; i < submission->wait_count; i++) {
    struct layer_semaphore *semaphore = submission->waits[i].semaphore;
    semaphore->references++;
    if (!semaphore->timeline) submission->waits[i].value = ++semaphore->waits;
  }
}

static void record_signal(struct layer_queue *queue, struct layer_submission *submission,
                          struct layer_signal *signal, const struct tide_shadow_clock *clock) {
  struct layer_semaphore *semaphore = signal->semaphore;
  struct tide_shadow_table *clocks = &queue->device->clocks;
  semaphore->references++;
  if (!semaphore->timeline) signal->value = semaphore->submitted + 1;
  if (signal->value > semaphore->submitted) semaphore->submitted = signal->value;
  if (semaphore->external) return;
  if (semaphore->records->count >= RECORDS_MOST)
    tide_shadow_drop_records(clocks, semaphore->records, RECORDS_MOST / 2);
  struct tide_shadow_record *record =
      tide_shadow_add_record(clocks, semaphore->records, signal->value, false, clock);
  /* A sparse bind finishes at any time, so it implies no other submission of its queue. */
  if (record && submission->kind != LAYER_SPARSE) {
    record->queue = queue->index;
    record->epoch = submission->epoch;
  }
}

/* Collects the knowledge that a signal at these stages carries: the queue's imports for stages that
 * the signal covers, the submitting thread's knowledge, and all earlier submissions of the queue.
 * The signal's own submission is included only if the signal waits for all of it: another signal of
 * the same batch may wait for more. */
static void collect_knowledge(struct layer_queue *queue, const struct layer_submission *submission,
                              VkPipelineStageFlags2 stages, struct tide_shadow_clock *clock) {
  struct tide_shadow_table *clocks = &queue->device->clocks;
  const struct tide_shadow *thread = tide_shadow_find(clocks, TIDE_SHADOW_THREAD, layer_thread());
  clock->count = 0;
  for (size_t i = 0; i < queue->import_count; i++)
    if (layer_stages_meet(queue->imports[i].stages, stages))
      tide_shadow_merge(clocks, clock, &queue->imports[i].clock);
  if (thread) tide_shadow_merge(clocks, clock, &thread->clock);
  if (submission->kind != LAYER_SPARSE)
    tide_shadow_set(clocks, clock, queue->index,
                    layer_stages_are_all(stages) ? submission->epoch : submission->epoch - 1);
}

static void record_fence(struct layer_queue *queue, struct layer_submission *submission) {
  struct layer_fence *fence = submission->fence;
  fence->queue = queue;
  fence->epoch = submission->epoch;
  fence->signalled = false;
  tide_shadow_copy(&queue->device->clocks, &fence->clock, &queue->published);
}

bool layer_ledger_submit(struct layer_queue *queue, struct layer_submission *submission) {
  struct layer_device *device = queue->device;
  if (!make_room(queue)) return false;
  submission->queue = queue;
  submission->epoch = ++queue->submitted;
  queue->ring[submission->epoch % queue->ring_size] = submission;
  number_waits(submission);
  layer_classify(queue, submission);
  for (uint32_t i = 0; i < submission->signal_count; i++) {
    collect_knowledge(queue, submission, submission->signals[i].stages, &device->scratch);
    record_signal(queue, submission, &submission->signals[i], &device->scratch);
  }
  collect_knowledge(queue, submission, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, &queue->published);
  if (submission->fence) record_fence(queue, submission);
  layer_queue_advance(queue);
  device->counts.submissions++;
  device->counts.waits += submission->wait_count;
  device->counts.signals += submission->signal_count;
  return true;
}

/* ---- threads of the host --------------------------------------------------------- */

static void teach_thread(struct layer_device *device, const struct tide_shadow_clock *clock) {
  struct tide_shadow *thread = tide_shadow_get(&device->clocks, TIDE_SHADOW_THREAD, layer_thread());
  if (thread) tide_shadow_merge(&device->clocks, &thread->clock, clock);
}

void layer_saw_value(struct layer_device *device, struct layer_semaphore *semaphore,
                     uint64_t value) {
  const struct tide_shadow *records = semaphore->records;
  uint64_t taught = 0; /* bits of queues: the newest signal of each implies the earlier ones */
  unsigned looked_at = 0;
  if (value > semaphore->seen) semaphore->seen = value;
  for (size_t i = records->count; i-- > 0 && looked_at < SIGNALLERS_MOST;) {
    const struct tide_shadow_record *record = &records->records[i];
    if (record->value > value) continue;
    looked_at++;
    if (record->epoch && (taught >> record->queue & 1)) continue;
    teach_thread(device, &record->clock);
    if (!record->epoch) continue;
    taught |= (uint64_t)1 << record->queue;
    layer_queue_is_done(device->queues[record->queue],
                        tide_shadow_epoch(&record->clock, record->queue));
  }
}

/* Notes the end of a wait. The smallest recorded value that ends a wait for `value` is the one that
 * ended it: values rise. */
void layer_saw_wait(struct layer_device *device, struct layer_semaphore *semaphore,
                    uint64_t value) {
  const struct tide_shadow_record *record = tide_shadow_find_record(semaphore->records, value);
  layer_saw_value(device, semaphore, record ? record->value : value);
}

void layer_saw_idle(struct layer_queue *queue, uint64_t epoch,
                    const struct tide_shadow_clock *clock) {
  teach_thread(queue->device, clock);
  layer_queue_is_done(queue, epoch);
}

void layer_saw_fence(struct layer_device *device, struct layer_fence *fence) {
  fence->signalled = true;
  if (!fence->queue) return;
  teach_thread(device, &fence->clock);
  layer_queue_is_done(fence->queue, fence->epoch);
}

void layer_host_signal(struct layer_device *device, struct layer_semaphore *semaphore,
                       uint64_t value) {
  static const struct tide_shadow_clock nothing;
  const struct tide_shadow *thread =
      tide_shadow_find(&device->clocks, TIDE_SHADOW_THREAD, layer_thread());
  if (value > semaphore->submitted) semaphore->submitted = value;
  if (value > semaphore->released) {
    semaphore->released = value;
    semaphore->released_by = 0;
  }
  if (value > semaphore->seen) semaphore->seen = value;
  struct tide_shadow_record *record = tide_shadow_add_record(
      &device->clocks, semaphore->records, value, false, thread ? &thread->clock : &nothing);
  if (record) record->queue = (uint32_t)layer_thread();
  pthread_cond_broadcast(&device->changed);
}

void layer_external_signal(struct layer_device *device, struct layer_semaphore *semaphore) {
  semaphore->released = ++semaphore->submitted;
  pthread_cond_broadcast(&device->changed);
}
