/* The first failure: recorded when it occurs, reported with its position at the end. */
#include "base/atomic.h"
#include "base/alloc.h"
#include "base/text.h"
#include "program/run_state.h"

static bool find_queue(const struct tide_run *run, tide_axis axis, uint32_t *out_queue) {
  for (size_t i = 0; i < run->tables->queue_count; i++) {
    if (!run->queues[i].queue || run->queues[i].axis != axis) continue;
    *out_queue = (uint32_t)i;
    return true;
  }
  return false;
}

bool tide_run_axis_queue(const struct tide_run *run, tide_axis axis, uint32_t *out_queue) {
  return run->queues && find_queue(run, axis, out_queue);
}

tide_axis tide_run_queue_axis(const struct tide_run *run, uint32_t queue) {
  return run->queues && queue < run->tables->queue_count ? run->queues[queue].axis : 0;
}

/* Records the first failure. Operations finish under the scheduler's lock, so there is one writer
 * at a time. An operation that is cancelled because the run is over is not a failure. */
static void note_failure(struct tide_run *run, const struct tide_event *event) {
  struct tide_run_failure *failure = &run->failure;
  uint32_t queue;
  if (tide_load_relaxed(&failure->any) || tide_load_relaxed(&run->over)) return;
  if (!find_queue(run, event->axis, &queue)) return;
  const struct tide_run_queue *from = &run->queues[queue];
  if (event->failure) failure->cause = *event->failure;
  else failure->cause = (struct tide_failure){.status = event->status};
  failure->queue = queue;
  failure->place = from->places[event->sequence & from->place_mask];
  tide_store_release(&failure->any, 1u);
}

/* Records the epoch of the operation that started last: events of stalls carry it. */
static void note_start(struct tide_run *run, const struct tide_event *event) {
  uint32_t queue;
  if (find_queue(run, event->axis, &queue)) run->queues[queue].started = event->epoch;
}

static void on_event(void *self, const struct tide_event *event) {
  struct tide_run *run = self;
  if (event->kind == TIDE_EVENT_FINISH && event->status != TIDE_OK) note_failure(run, event);
  if (event->kind == TIDE_EVENT_START && run->takes) note_start(run, event);
  const struct tide_sink *next = run->params.sink;
  if (next) next->event(next->self, event);
}

const struct tide_sink *tide_run_sink(struct tide_run *run) {
  run->sink = (struct tide_sink){
      .event = on_event,
      .wants_time = run->params.sink && run->params.sink->wants_time,
      .self = run,
      .failures_only = !run->params.sink,
  };
  return &run->sink;
}

/* ---- description ------------------------------------------------------------------- */

static bool find_step(struct tide_run *run, uint64_t number, struct tide_step *out_step) {
  tide_plan_rewind(run->params.plan);
  while (tide_plan_next(run->params.plan, out_step, NULL) == TIDE_OK &&
         out_step->kind != TIDE_STEP_END)
    if (out_step->number == number) return true;
  return false;
}

enum tide_status tide_run_lost_device(const struct tide_run *run, struct tide_diag *diag) {
  struct tide_failure failure;
  for (uint32_t i = 0; run->devices && i < run->tables->device_count; i++) {
    const struct tide_plan_device *device = &run->tables->devices[i];
    if (!run->devices[i].device || !tide_device_failure(run->devices[i].device, &failure)) continue;
    return tide_diag_at(diag, failure.status, device->line, device->column, "%s",
                        failure.text[0] ? failure.text : tide_status_text(failure.status));
  }
  return TIDE_OK;
}

enum tide_status tide_run_describe_failure(struct tide_run *run, struct tide_diag *diag) {
  const struct tide_run_failure *failure = &run->failure;
  enum tide_status status = failure->cause.status;
  const char *text = failure->cause.text[0] ? failure->cause.text : tide_status_text(status);
  struct tide_step step;
  char words[96] = "";
  if (!find_step(run, failure->place.step, &step))
    return tide_diag_at(diag, status, failure->place.line, failure->place.column,
                        "an operation failed: %s", text);
  tide_step_print(run->params.plan, &step, words, sizeof words);
  return tide_diag_at(diag, status, step.line, step.column, "operation failed: %s (`%s`)", text,
                      words);
}
