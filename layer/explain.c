/* Diagnosis: why does this program not go on?
 *
 * First a dry run takes the ledger to its end: each queue finishes its submissions in order as long
 * as their waits can be satisfied. A queue that stops has one *stuck* submission; all behind it are
 * only late. Then the account follows each blocked call to the stuck submission behind it, to the
 * submission that this one waits for, and so on. It ends at a value that no submission signals, or
 * at a cycle. */
#include "layer/layer.h"

#include <stdarg.h>
#include <string.h>

#define QUEUES_MOST 64
#define LINES_MOST 200

struct explanation {
  struct layer_device *device;
  FILE *to;
  unsigned lines, depth;
  uint64_t reach[QUEUES_MOST]; /* by queue: all up to this epoch can finish */
  bool is_explained[QUEUES_MOST];
  const struct layer_queue *path[QUEUES_MOST];         /* the stuck queues that led here, */
  const struct layer_submission *awaited[QUEUES_MOST]; /* their awaited submissions on this way */
  bool is_exact[QUEUES_MOST]; /* no other signal can come before the awaited one's */
  unsigned path_length;
  char missing[LAYER_TEXT + 64]; /* the first value or fence that nothing signals */
  bool has_cycle, has_outside;   /* a cycle; a signal that is to come from elsewhere */
};

static void print_line(struct explanation *e, const char *format, ...) TIDE_PRINTF(2, 3);
static void print_line(struct explanation *e, const char *format, ...) {
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

/* ---- the dry run of the ledger -------------------------------------------------- */

/* Returns the submission that would end the wait; NULL: none, or it has been seen to finish. */
static const struct layer_submission *
signaller_of(const struct explanation *e, const struct layer_semaphore *semaphore, uint64_t value) {
  const struct tide_shadow_record *record = tide_shadow_find_record(semaphore->records, value);
  if (!record || !record->epoch) return NULL;
  return layer_submission_at(e->device->queues[record->queue], record->epoch);
}

static bool can_end(const struct explanation *e, const struct layer_semaphore *semaphore,
                    uint64_t value) {
  const struct tide_shadow_record *record = tide_shadow_find_record(semaphore->records, value);
  if (semaphore->timeline && value_now(e->device, semaphore) >= value) return true;
  if (record && record->epoch) return record->epoch <= e->reach[record->queue];
  if (record) return semaphore->timeline ? value <= semaphore->seen : true;
  /* An acquired image's semaphore has no record: the window system signals it. */
  return !semaphore->timeline && value <= semaphore->submitted;
}

static bool can_finish(const struct explanation *e, const struct layer_submission *submission) {
  for (uint32_t i = 0; submission && i < submission->wait_count; i++) {
    const struct layer_wait *wait = &submission->waits[i];
    if (!wait->dropped && !can_end(e, wait->semaphore, wait->value)) return false;
  }
  return true;
}

static void run_to_the_end(struct explanation *e) {
  const struct layer_device *device = e->device;
  for (uint32_t i = 0; i < device->queue_count; i++) e->reach[i] = device->queues[i]->done;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (uint32_t i = 0; i < device->queue_count; i++) {
      const struct layer_queue *queue = device->queues[i];
      while (e->reach[i] < queue->submitted &&
             can_finish(e, layer_submission_at(queue, e->reach[i] + 1))) {
        e->reach[i]++;
        goes_on = true;
      }
    }
  }
}

/* Returns the submission that stops the queue; NULL: none does. */
static const struct layer_submission *stuck_of(const struct explanation *e,
                                               const struct layer_queue *queue) {
  return layer_submission_at(queue, e->reach[queue->index] + 1);
}

/* ---- the account ----------------------------------------------------------------- */

/* Notes the first value that nothing signals, for the verdict. */
static void note_missing(struct explanation *e, const struct layer_semaphore *semaphore,
                         uint64_t value) {
  struct layer_text name;
  if (e->missing[0]) return;
  layer_name_semaphore(semaphore, &name);
  if (semaphore->timeline)
    snprintf(e->missing, sizeof e->missing, "%s >= %llu", name.text, (unsigned long long)value);
  else snprintf(e->missing, sizeof e->missing, "%s", name.text);
}

static void explain_missing_signal(struct explanation *e, const struct layer_semaphore *semaphore,
                                   uint64_t value) {
  if (semaphore->external) e->has_outside = true;
  else note_missing(e, semaphore, value);
  if (semaphore->external)
    print_line(e, "it is shared with another process or driver, which is to signal it");
  else if (!semaphore->timeline)
    print_line(e, "NO submission signals it: this wait is its %llu-th, signals so far: %llu",
               (unsigned long long)value, (unsigned long long)semaphore->submitted);
  else if (value <= semaphore->submitted)
    print_line(
        e,
        "its signaller is not known any more: the newest signals of a timeline are kept, and the "
        "highest of them is %llu",
        (unsigned long long)semaphore->submitted);
  else
    print_line(e, "NO submission and no thread signals a value >= %llu (highest so far: %llu)",
               (unsigned long long)value, (unsigned long long)semaphore->submitted);
}

/* Reports a cycle: "submission 12 -> submission 15 -> submission 12", each waits for the next, or
 * comes behind it. */
static void report_cycle(struct explanation *e, const struct layer_queue *queue) {
  char text[1024];
  size_t length = 0;
  unsigned from = 0;
  struct layer_text name;
  while (e->path[from] != queue) from++;
  for (unsigned i = from; i < e->path_length && length + 2 * LAYER_TEXT + 16 < sizeof text; i++) {
    const struct layer_submission *stuck = stuck_of(e, e->path[i]), *awaited = e->awaited[i];
    length += (size_t)snprintf(text + length, sizeof text - length, "%s -> ",
                               layer_name_submission(stuck, &name));
    if (awaited && awaited != stuck_of(e, awaited->queue))
      length += (size_t)snprintf(text + length, sizeof text - length, "%s -> ",
                                 layer_name_submission(awaited, &name));
  }
  snprintf(text + length, sizeof text - length, "%s",
           layer_name_submission(stuck_of(e, queue), &name));
  bool is_exact = true;
  for (unsigned i = from; i < e->path_length; i++) is_exact &= e->is_exact[i];
  print_line(e, "%s: %s", is_exact ? "CYCLE" : "nothing but a signal between ends this", text);
  e->has_cycle |= is_exact;
  if (is_exact) layer_finding("cycle", "submissions wait for each other: %s", text);
}

static bool is_on_path(const struct explanation *e, const struct layer_queue *queue) {
  for (unsigned i = 0; i < e->path_length; i++)
    if (e->path[i] == queue) return true;
  return false;
}

static void explain_queue(struct explanation *e, const struct layer_queue *queue);

/* Explains a submission that has not finished: stuck, behind a stuck one, or still running on the
 * device. */
static void explain_submission(struct explanation *e, const struct layer_submission *submission) {
  const struct layer_submission *stuck = stuck_of(e, submission->queue);
  struct layer_text name, first;
  if (submission->epoch <= e->reach[submission->queue->index]) {
    print_line(e, "%s lacks nothing: %s", layer_name_submission(submission, &name),
               submission->state == LAYER_HELD ? "the layer holds it"
                                               : "the device has not finished it");
    return;
  }
  if (submission != stuck)
    print_line(e, "%s comes behind %s: a queue starts in order",
               layer_name_submission(submission, &name), layer_name_submission(stuck, &first));
  explain_queue(e, submission->queue);
}

static void explain_wait(struct explanation *e, const char *subject,
                         const struct layer_semaphore *semaphore, uint64_t value) {
  const struct layer_submission *signaller = signaller_of(e, semaphore, value);
  const struct tide_shadow_record *record = tide_shadow_find_record(semaphore->records, value);
  bool is_exact = record && record->value == value;
  struct layer_text name, by;
  char now[64] = "";
  if (semaphore->timeline)
    snprintf(now, sizeof now, " >= %llu (now %llu)", (unsigned long long)value,
             (unsigned long long)value_now(e->device, semaphore));
  print_line(e, "%s waits for %s%s%s%s", subject, layer_name_semaphore(semaphore, &name), now,
             signaller && is_exact ? ": the signaller is " : "",
             signaller && is_exact ? layer_name_submission(signaller, &by) : "");
  if (e->path_length) e->awaited[e->path_length - 1] = signaller;
  if (e->path_length) e->is_exact[e->path_length - 1] = is_exact;
  e->depth++;
  if (signaller && !is_exact) note_missing(e, semaphore, value);
  if (signaller && !is_exact)
    print_line(e, "NO submission and no thread signals a value from %llu to %llu; %s signals %llu",
               (unsigned long long)value, (unsigned long long)record->value - 1,
               layer_name_submission(signaller, &by), (unsigned long long)record->value);
  if (signaller) explain_submission(e, signaller);
  else explain_missing_signal(e, semaphore, value);
  e->depth--;
}

/* Explains the waits of the submission that stops a queue. */
static void explain_queue(struct explanation *e, const struct layer_queue *queue) {
  const struct layer_submission *stuck = stuck_of(e, queue);
  struct layer_text name;
  if (is_on_path(e, queue)) {
    report_cycle(e, queue);
    return;
  }
  if (e->is_explained[queue->index]) {
    print_line(e, "%s: see above", layer_name_submission(stuck, &name));
    return;
  }
  e->is_explained[queue->index] = true;
  e->path[e->path_length++] = queue;
  for (uint32_t i = 0; i < stuck->wait_count; i++) {
    const struct layer_wait *wait = &stuck->waits[i];
    if (!wait->dropped && !can_end(e, wait->semaphore, wait->value))
      explain_wait(e, layer_name_submission(stuck, &name), wait->semaphore, wait->value);
  }
  e->path_length--;
}

/* ---- calls that block ------------------------------------------------------------ */

static void explain_fence(struct explanation *e, const char *subject,
                          const struct layer_fence *fence) {
  struct layer_text name, by;
  const struct layer_submission *signaller =
      fence->queue ? layer_submission_at(fence->queue, fence->epoch) : NULL;
  print_line(e, "%s waits for %s%s%s", subject, layer_name_fence(fence, &name),
             signaller ? ": the signaller is " : "",
             signaller ? layer_name_submission(signaller, &by) : "");
  e->depth++;
  if (signaller) explain_submission(e, signaller);
  else if (fence->external)
    print_line(e, "another process, driver or the window system is to signal it");
  else if (!fence->queue) print_line(e, "NO submission signals it");
  e->has_outside |= fence->external;
  if (!fence->external && !fence->queue && !e->missing[0])
    snprintf(e->missing, sizeof e->missing, "%s", layer_name_fence(fence, &name));
  e->depth--;
}

static void explain_idle(struct explanation *e, const char *subject,
                         const struct layer_queue *queue, uint64_t epoch) {
  const struct layer_submission *last = layer_submission_at(queue, epoch);
  struct layer_text name;
  print_line(e, "%s waits for all of %s", subject, layer_name_queue(queue, &name));
  e->depth++;
  if (last) explain_submission(e, last);
  e->depth--;
}

static void explain_target(struct explanation *e, const char *subject,
                           const struct layer_target *target) {
  if (target->semaphore) {
    if (!target->semaphore->timeline || value_now(e->device, target->semaphore) < target->value)
      explain_wait(e, subject, target->semaphore, target->value);
  } else if (target->fence) {
    if (!target->fence->signalled) explain_fence(e, subject, target->fence);
  } else if (target->queue->done < target->value) {
    explain_idle(e, subject, target->queue, target->value);
  }
}

static void explain_call(struct explanation *e, const struct layer_host_call *call) {
  char subject[64];
  snprintf(subject, sizeof subject, "thread %llu", (unsigned long long)call->thread);
  print_line(e, "%s has been in %s for %.1f s%s", subject, call->name,
             (double)(layer_now_ns() - call->since_ns) / 1e9,
             call->any && call->count > 1 ? ", for any of:" : "");
  e->depth++;
  for (uint32_t i = 0; i < call->count; i++) explain_target(e, subject, &call->targets[i]);
  e->depth--;
}

/* Explains the remaining queues: a program that polls, or that is stuck elsewhere, blocks in no
 * call. */
static void explain_rest(struct explanation *e) {
  struct layer_text name;
  for (uint32_t i = 0; i < e->device->queue_count; i++) {
    const struct layer_queue *queue = e->device->queues[i];
    const struct layer_submission *stuck = stuck_of(e, queue);
    if (!stuck || e->is_explained[i]) continue;
    print_line(e, "%s is stuck", layer_name_queue(queue, &name));
    e->depth++;
    explain_queue(e, queue);
    e->depth--;
  }
}

static void count_unfinished(struct explanation *e) {
  struct layer_text name;
  for (uint32_t i = 0; i < e->device->queue_count; i++) {
    const struct layer_queue *queue = e->device->queues[i];
    if (queue->submitted == queue->done) continue;
    print_line(
        e, "%s: %llu submission%s not seen to finish (%llu held by the layer), the oldest is %llu",
        layer_name_queue(queue, &name), (unsigned long long)(queue->submitted - queue->done),
        queue->submitted - queue->done == 1 ? " was" : "s were", (unsigned long long)queue->held,
        (unsigned long long)(layer_submission_at(queue, queue->done + 1)
                                 ? layer_submission_at(queue, queue->done + 1)->number
                                 : 0));
  }
}

static bool has_unfinished(const struct layer_device *device) {
  for (uint32_t i = 0; i < device->queue_count; i++)
    if (device->queues[i]->submitted != device->queues[i]->done) return true;
  return false;
}

static void print_verdict(const struct explanation *e) {
  fputs("verdict ", e->to);
  if (e->device->lost) fputs("the device is lost; the account tells what was under way", e->to);
  else if (e->has_cycle) fputs("it hangs: submissions wait for each other in a cycle", e->to);
  else if (e->missing[0])
    fprintf(e->to, "it cannot go on before something signals %s, and nothing is there that will",
            e->missing);
  else if (e->has_outside)
    fputs("it waits for another process, another driver or the window system", e->to);
  else if (has_unfinished(e->device))
    fputs("nothing hangs: all that was submitted can finish, and some of it is under way", e->to);
  else if (e->device->host_calls)
    fputs("nothing hangs: all that the calls wait for has happened", e->to);
  else fputs("nothing hangs in Vulkan: all is finished, and no thread waits in a call", e->to);
  fputc('\n', e->to);
}

void layer_explain(struct layer_device *device, FILE *to) {
  struct explanation e = {.device = device, .to = to};
  run_to_the_end(&e);
  if (!device->host_calls) print_line(&e, "no thread waits in a call of Vulkan");
  for (const struct layer_host_call *call = device->host_calls; call; call = call->next)
    explain_call(&e, call);
  explain_rest(&e);
  if (device->counts.forgotten)
    print_line(&e, "%llu submission%s dropped from the ledger, and may be the cause",
               (unsigned long long)device->counts.forgotten,
               device->counts.forgotten == 1 ? " was" : "s were");
  count_unfinished(&e);
  print_verdict(&e);
}
