/* Why does this program not go on? From each call that blocks, along what it waits for, down to a
 * cause: a value that no submission signals, a cycle, or work that the device has not finished. */
#include "layer/layer.h"

#include <stdarg.h>
#include <string.h>

#define DEPTH_MOST 64
#define LINES_MOST 400

struct explanation {
  struct layer_device *device;
  FILE *to;
  unsigned lines, depth;
  const struct layer_submission *path[DEPTH_MOST];
  const struct layer_submission *explained[256]; /* once is enough */
  unsigned explained_count;
};

static void print(struct explanation *e, const char *format, ...) TIDE_PRINTF(2, 3);
static void print(struct explanation *e, const char *format, ...) {
  if (e->lines++ >= LINES_MOST) {
    if (e->lines == LINES_MOST + 1) fputs("text (more is left out)\n", e->to);
    return;
  }
  va_list list;
  va_start(list, format);
  fprintf(e->to, "text %*s", (int)(2 * e->depth), "");
  vfprintf(e->to, format, list);
  fputc('\n', e->to);
  va_end(list);
}

static uint64_t value_now(const struct layer_device *device,
                          const struct layer_semaphore *semaphore) {
  uint64_t value = semaphore->seen;
  if (semaphore->timeline && !semaphore->destroyed && device->next_layer.GetSemaphoreCounterValue)
    device->next_layer.GetSemaphoreCounterValue(device->handle, semaphore->handle, &value);
  return value;
}

static bool is_satisfied(const struct layer_device *device, const struct layer_semaphore *semaphore,
                         uint64_t value) {
  if (semaphore->timeline) return value_now(device, semaphore) >= value;
  /* A binary semaphore cannot be asked: its signaller can. */
  const struct tide_shadow_record *record = tide_shadow_find_record(semaphore->records, value);
  if (!record) return semaphore->external || value <= semaphore->released;
  return record->epoch && device->queues[record->queue]->done >= record->epoch;
}

static void explain_submission(struct explanation *e, const struct layer_submission *submission);

static void explain_missing_signal(struct explanation *e, const struct layer_semaphore *semaphore,
                                   uint64_t value) {
  if (semaphore->external)
    print(e, "it is shared with another process or driver, which is to signal it");
  else if (!semaphore->timeline)
    print(e, "no submission signals it: the wait is the %llu-th, signals so far are %llu",
          (unsigned long long)value, (unsigned long long)semaphore->submitted);
  else
    print(e, "NO submission and no host signals a value >= %llu (highest submitted: %llu)",
          (unsigned long long)value, (unsigned long long)semaphore->submitted);
}

/* "timeline 'frame' >= 3 (now 0)", then its signaller. */
static void explain_semaphore(struct explanation *e, const char *subject,
                              const struct layer_semaphore *semaphore, uint64_t value) {
  struct layer_text name, by;
  const struct layer_submission *signaller = NULL;
  const struct tide_shadow_record *record = tide_shadow_find_record(semaphore->records, value);
  if (record && record->epoch)
    signaller = layer_submission_at(e->device->queues[record->queue], record->epoch);
  if (semaphore->timeline)
    print(e, "%s waits for %s >= %llu (now %llu)%s%s", subject,
          layer_name_semaphore(semaphore, &name), (unsigned long long)value,
          (unsigned long long)value_now(e->device, semaphore),
          signaller ? ": signalled by " : "",
          signaller ? layer_name_submission(signaller, &by) : "");
  else
    print(e, "%s waits for %s%s%s", subject, layer_name_semaphore(semaphore, &name),
          signaller ? ": signalled by " : "",
          signaller ? layer_name_submission(signaller, &by) : "");
  e->depth++;
  if (signaller) explain_submission(e, signaller);
  else if (!record) explain_missing_signal(e, semaphore, value);
  e->depth--;
}

static void report_cycle(struct explanation *e, unsigned from) {
  char text[1024];
  size_t length = 0;
  struct layer_text name;
  for (unsigned i = from; i < e->depth && length + LAYER_TEXT + 16 < sizeof text; i++)
    if (e->path[i])
      length += (size_t)snprintf(text + length, sizeof text - length, "%s -> ",
                                 layer_name_submission(e->path[i], &name));
  snprintf(text + length, sizeof text - length, "%s",
           layer_name_submission(e->path[from], &name));
  print(e, "CYCLE: %s", text);
  layer_finding("cycle", "submissions wait for each other: %s", text);
}

/* The first submission of a queue that has an unsatisfied wait stops all that come later. */
static const struct layer_submission *stopped_by(const struct layer_device *device,
                                                 const struct layer_submission *submission) {
  const struct layer_queue *queue = submission->queue;
  for (uint64_t epoch = queue->done + 1; epoch < submission->epoch; epoch++) {
    const struct layer_submission *earlier = layer_submission_at(queue, epoch);
    for (uint32_t i = 0; earlier && i < earlier->wait_count; i++)
      if (!is_satisfied(device, earlier->waits[i].semaphore, earlier->waits[i].value))
        return earlier;
  }
  return NULL;
}

static void explain_waits(struct explanation *e, const struct layer_submission *submission) {
  struct layer_text name, first;
  bool waits = false;
  const struct layer_submission *before = stopped_by(e->device, submission);
  for (uint32_t i = 0; i < submission->wait_count; i++) {
    const struct layer_wait *wait = &submission->waits[i];
    if (wait->dropped || is_satisfied(e->device, wait->semaphore, wait->value)) continue;
    explain_semaphore(e, layer_name_submission(submission, &name), wait->semaphore, wait->value);
    waits = true;
  }
  if (before) {
    print(e, "%s comes behind %s, and a queue starts in order",
          layer_name_submission(submission, &name), layer_name_submission(before, &first));
    explain_submission(e, before);
  } else if (!waits) {
    print(e, submission->state == LAYER_HELD
                 ? "%s may go: the layer holds it"
                 : "%s may go: the device has not finished it",
          layer_name_submission(submission, &name));
  }
}

static void explain_submission(struct explanation *e, const struct layer_submission *submission) {
  for (unsigned i = 0; i < e->depth && i < DEPTH_MOST; i++) {
    if (e->path[i] != submission) continue;
    report_cycle(e, i);
    return;
  }
  struct layer_text name;
  for (unsigned i = 0; i < e->explained_count; i++) {
    if (e->explained[i] != submission) continue;
    print(e, "%s: see above", layer_name_submission(submission, &name));
    return;
  }
  if (e->depth + 2 >= DEPTH_MOST) {
    print(e, "(and further)");
    return;
  }
  if (e->explained_count < sizeof e->explained / sizeof e->explained[0])
    e->explained[e->explained_count++] = submission;
  e->path[e->depth] = submission;
  explain_waits(e, submission);
  e->path[e->depth] = NULL;
}

static void explain_queue(struct explanation *e, const char *subject,
                          const struct layer_queue *queue, uint64_t epoch) {
  struct layer_text name;
  const struct layer_submission *last = layer_submission_at(queue, epoch);
  print(e, "%s waits for all of %s", subject, layer_name_queue(queue, &name));
  e->depth++;
  if (last) explain_submission(e, last);
  e->depth--;
}

static void explain_fence(struct explanation *e, const char *subject,
                          const struct layer_fence *fence) {
  struct layer_text name, by;
  const struct layer_submission *signaller =
      fence->queue ? layer_submission_at(fence->queue, fence->epoch) : NULL;
  print(e, "%s waits for %s%s%s", subject, layer_name_fence(fence, &name),
        signaller ? ": signalled by " : "",
        signaller ? layer_name_submission(signaller, &by) : "");
  e->depth++;
  if (signaller) explain_submission(e, signaller);
  else if (!fence->queue && !fence->signalled && !fence->external)
    print(e, "NO submission signals it");
  e->depth--;
}

static void explain_target(struct explanation *e, const char *subject,
                           const struct layer_target *target) {
  if (target->semaphore && !is_satisfied(e->device, target->semaphore, target->value))
    explain_semaphore(e, subject, target->semaphore, target->value);
  if (target->fence && !target->fence->signalled) explain_fence(e, subject, target->fence);
  if (target->queue && target->queue->done < target->value)
    explain_queue(e, subject, target->queue, target->value);
}

static void explain_call(struct explanation *e, const struct layer_host_call *call) {
  char subject[64];
  snprintf(subject, sizeof subject, "thread %llu", (unsigned long long)call->thread);
  print(e, "%s has been in %s for %.1f s%s", subject, call->name,
        (double)(layer_now_ns() - call->since_ns) / 1e9,
        call->any && call->count > 1 ? ", for any of:" : "");
  e->depth++;
  for (uint32_t i = 0; i < call->count; i++) explain_target(e, subject, &call->targets[i]);
  e->depth--;
}

/* Without a call that blocks: the program polls, or is stuck elsewhere. */
static void explain_queues(struct explanation *e) {
  for (uint32_t i = 0; i < e->device->queue_count; i++) {
    const struct layer_queue *queue = e->device->queues[i];
    const struct layer_submission *last = layer_submission_at(queue, queue->submitted);
    struct layer_text name;
    if (!last) continue;
    print(e, "%s: %llu submissions were not seen to finish", layer_name_queue(queue, &name),
          (unsigned long long)(queue->submitted - queue->done));
    e->depth++;
    explain_submission(e, last);
    e->depth--;
  }
}

void layer_explain(struct layer_device *device, FILE *to) {
  struct explanation e = {.device = device, .to = to};
  if (!device->host_calls) {
    print(&e, "no thread blocks in a call of Vulkan");
    explain_queues(&e);
  }
  for (const struct layer_host_call *call = device->host_calls; call; call = call->next)
    explain_call(&e, call);
}
