/* Submissions as the events of the core's own trace. */
#include "layer/submission_trace.h"

#include "tidemark/queue.h"
#include "tidemark/trace.h"

#include <stdlib.h>
#include <unistd.h>

static struct tide_trace *trace;

static void create_trace(void) {
  struct tide_trace_params params = {.struct_size = sizeof params,
                                     .platform = tide_platform_linux(),
                                     .allocator = layer_allocator()};
  if (tide_trace_create(&params, &trace) != TIDE_OK) trace = NULL;
}

static bool is_wanted(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!layer_options()->trace) return false;
  pthread_once(&once, create_trace);
  return trace != NULL;
}

/* Returns a queue's axis for the trace. Queues have no axis here: their number in the process
 * replaces it. */
static uint64_t axis_of(const struct layer_queue *queue) {
  return (uint64_t)(uintptr_t)queue->device * 64 + queue->index + 1;
}

static void send_event(enum tide_event_kind kind, const struct layer_submission *submission,
                       struct tide_event *event) {
  const struct tide_sink *sink = tide_trace_sink(trace);
  event->kind = kind;
  event->time = layer_now_ns();
  event->axis = axis_of(submission->queue);
  event->epoch = submission->epoch;
  sink->event(sink->self, event);
}

static void send_wait(const struct layer_submission *submission, const struct layer_wait *wait,
                      const char *label) {
  static const enum tide_wait_class classes[] = {[LAYER_WAIT_SEEN] = TIDE_WAIT_RESOLVED,
                                                 [LAYER_WAIT_KNOWN] = TIDE_WAIT_ELIDED,
                                                 [LAYER_WAIT_OWN] = TIDE_WAIT_ISSUED,
                                                 [LAYER_WAIT_SIBLING] = TIDE_WAIT_ELIDED,
                                                 [LAYER_WAIT_NEEDED] = TIDE_WAIT_ISSUED};
  struct layer_text name;
  struct tide_event event = {.detail = classes[wait->class_],
                             .value = wait->value,
                             .label = label,
                             .object_label = layer_name_semaphore(wait->semaphore, &name),
                             .cause_axis = wait->signaller ? axis_of(wait->signaller) : 0,
                             .cause_epoch = wait->signaller_epoch};
  send_event(TIDE_EVENT_WAIT_CLASS, submission, &event);
}

/* Returns a label like "12 blur": a trace keeps short labels only. */
static const char *label_of(const struct layer_submission *submission, struct layer_text *text) {
  const char *command = layer_name_commands(submission);
  snprintf(text->text, sizeof text->text, "%llu %s", (unsigned long long)submission->number,
           command ? command : "");
  return text->text;
}

void layer_trace_start(const struct layer_submission *submission) {
  struct layer_text name, queue;
  if (!is_wanted()) return;
  struct tide_event event = {.label = label_of(submission, &name),
                             .object_label = layer_name_queue(submission->queue, &queue)};
  send_event(TIDE_EVENT_START, submission, &event);
  for (uint32_t i = 0; i < submission->wait_count; i++)
    send_wait(submission, &submission->waits[i], name.text);
}

void layer_trace_finish(const struct layer_submission *submission) {
  struct layer_text name, queue;
  if (!is_wanted()) return;
  struct tide_event event = {.label = label_of(submission, &name),
                             .object_label = layer_name_queue(submission->queue, &queue)};
  send_event(TIDE_EVENT_FINISH, submission, &event);
}

static enum tide_status write_piece(void *to, const char *bytes, size_t size) {
  return fwrite(bytes, 1, size, to) == size ? TIDE_OK : TIDE_IO;
}

void layer_trace_write(void) {
  char path[4160];
  if (!is_wanted()) return;
  snprintf(path, sizeof path, "%s/%ld.trace", layer_options()->directory, (long)getpid());
  FILE *to = fopen(path, "we");
  if (!to) return;
  struct tide_trace_writer writer = {.write = write_piece, .self = to};
  enum tide_status status = tide_trace_write(trace, &writer);
  if (fclose(to) != 0 || status != TIDE_OK) layer_limit("the trace could not be written");
}
