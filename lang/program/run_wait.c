/* Waits of the submitting thread: for capacity, for memory, for values, for the end. */
#include "base/atomic.h"
#include "base/alloc.h"
#include "base/text.h"
#include "program/run_state.h"

#define PROGRESS_EVERY 64 /* queues */
#define SLICE 100000000u  /* ns between checks that anything still moves */
#define LOST_SLICES 20u   /* time slices until a lost device is given up */

/* Returns the end of a time slice. A simulated clock jumps, and may be years ahead, so its slices
 * grow with its time. */
static uint64_t in_a_slice(const struct tide_run *run) {
  const struct tide_platform *platform = tide_run_platform(run);
  uint64_t now = platform->now(platform->self), slice = SLICE;
  if (run->params.stand_in && now / 4 > slice) slice = now / 4;
  return now + slice;
}

static struct tide_timeline *progress_of(const struct tide_run *run, size_t queue) {
  return tide_queue_progress(run->queues[queue].queue);
}

void tide_run_report_progress(struct tide_run *run) {
  uint64_t finished = 0;
  if (!run->params.progress) return;
  for (size_t i = 0; i < run->tables->queue_count; i++)
    finished += tide_timeline_query(progress_of(run, i));
  run->params.progress(run->params.progress_user, run->submitted, finished);
}

static bool queue_is_still(const struct tide_run *run, size_t queue) {
  uint64_t epoch;
  tide_queue_position(run->queues[queue].queue, NULL, &epoch);
  return tide_timeline_query(progress_of(run, queue)) >= epoch;
}

/* True if every operation that has entered has finished; the remaining ones are held. */
static bool is_quiescent(const struct tide_run *run) {
  for (size_t i = 0; i < run->tables->queue_count; i++)
    if (!queue_is_still(run, i)) return false;
  return true;
}

static bool to_stop(const struct tide_run *run) {
  return run->params.stop_early && tide_load_acquire(&run->failure.any);
}

/* Called after a slice without progress. Returns the status of a lost device that has not returned
 * its operations for LOST_SLICES slices; else TIDE_OK. Mostly a lost device returns them at once,
 * and they fail like others. */
static enum tide_status given_up(struct tide_run *run, struct tide_diag *diag) {
  enum tide_status status = tide_run_lost_device(run, NULL);
  if (status == TIDE_OK || ++run->lost_slices < LOST_SLICES) return TIDE_OK;
  return tide_run_lost_device(run, diag);
}

/* ---- progress ------------------------------------------------------------------- */

static void note_progress(struct tide_run *run, struct tide_timeline *progress) {
  run->points[run->point_count++] =
      (struct tide_wait_point){.timeline = progress, .value = tide_timeline_query(progress) + 1};
}

void tide_run_note_progress(struct tide_run *run, uint32_t queue, uint32_t collective) {
  run->point_count = 0;
  run->noted = queue;
  if (queue != TIDE_PLAN_NONE) note_progress(run, progress_of(run, queue));
  for (size_t i = 0; queue == TIDE_PLAN_NONE && i < run->tables->queue_count; i++)
    note_progress(run, progress_of(run, i));
  if (collective != TIDE_PLAN_NONE)
    note_progress(run, tide_collective_progress(run->collectives[collective]));
}

/* Waits for half of the operations under way, not for the next one: a wake-up for each operation
 * costs more than the operation. */
static void ask_for_half(struct tide_run *run) {
  uint64_t epoch, seen = run->points[0].value - 1;
  tide_queue_position(run->queues[run->noted].queue, NULL, &epoch);
  if (epoch > seen + 1) run->points[0].value = seen + (epoch - seen) / 2;
}

/* True if no operation is under way. Checks the noted queue first: mostly it has work, and there
 * may be many others. */
static bool still_here(const struct tide_run *run) {
  return (run->noted == TIDE_PLAN_NONE || queue_is_still(run, run->noted)) && is_quiescent(run);
}

enum tide_status tide_run_wait_progress(struct tide_run *run) {
  if (run->noted != TIDE_PLAN_NONE) ask_for_half(run);
  for (;;) {
    bool still = still_here(run);
    enum tide_status status =
        tide_wait_any(run->points, run->point_count, still ? TIDE_NOW : in_a_slice(run), NULL);
    if (to_stop(run)) return run->failure.cause.status;
    if (status != TIDE_TIMEOUT) return status;
    if (still) return TIDE_DEADLOCK;
    if ((status = given_up(run, NULL)) != TIDE_OK) return status;
    tide_run_report_progress(run); /* not each time: it reads all queues */
  }
}

/* ---- values ------------------------------------------------------------------------ */

/* Runs all entered operations to their end. In paused mode, operations run only during the host's
 * waits; the state after each wait is then always the same. */
static void let_all_finish(struct tide_run *run) {
  while (!is_quiescent(run) && given_up(run, NULL) == TIDE_OK) {
    for (size_t i = 0; i < run->tables->queue_count; i++) {
      uint64_t epoch;
      tide_queue_position(run->queues[i].queue, NULL, &epoch);
      (void)!tide_timeline_wait(progress_of(run, i), epoch, in_a_slice(run));
    }
    tide_run_report_progress(run);
  }
}

static enum tide_status wait_for(struct tide_run *run, const struct tide_step_value *wait) {
  struct tide_timeline *timeline = run->timelines[wait->timeline];
  for (;;) {
    bool still = is_quiescent(run);
    enum tide_status status =
        tide_timeline_wait(timeline, wait->value, still ? TIDE_NOW : in_a_slice(run));
    tide_run_report_progress(run);
    if (status != TIDE_TIMEOUT) return status;
    if (to_stop(run)) return run->failure.cause.status;
    if (still) return TIDE_DEADLOCK;
    if ((status = given_up(run, NULL)) != TIDE_OK) return status;
  }
}

enum tide_status tide_run_host_wait(struct tide_run *run, const struct tide_step *step,
                                    struct tide_diag *diag) {
  enum tide_status status = TIDE_OK;
  if (run->params.paused) tide_context_resume(run->context);
  for (size_t i = 0; status == TIDE_OK && i < step->wait_count; i++) {
    const struct tide_step_value *wait = &step->waits[i];
    status = wait_for(run, wait);
    if (status == TIDE_OK)
      status = tide_timeline_import(run->timelines[wait->timeline], wait->value, &run->host);
    if (status == TIDE_NOT_FOUND) status = TIDE_OK; /* true from the start: nothing to import */
    if (status != TIDE_OK && !tide_load_acquire(&run->failure.any))
      tide_diag_at(diag, status, step->line, step->column,
                   "the host waits for timeline '%s' >= %lu: %s",
                   run->tables->timelines[wait->timeline].label, (unsigned long)wait->value,
                   status == TIDE_DEADLOCK ? "nothing that was submitted reaches it"
                                           : tide_status_text(status));
  }
  if (run->params.paused) {
    let_all_finish(run);
    tide_context_pause(run->context);
  }
  return status;
}

/* ---- the end --------------------------------------------------------------------------- */

static enum tide_status report_stuck(struct tide_run *run, struct tide_diag *diag) {
  char text[192];
  tide_context_diagnose(run->context, text, sizeof text);
  for (char *c = text; *c; c++)
    if (*c == '\n') *c = 0;
  return tide_diag_set(diag, TIDE_DEADLOCK, "what is left waits for ever: %s", text);
}

/* Drains one queue. Checks whether anything moves only after a slice without progress: the check
 * reads every queue, and there may be many. */
static enum tide_status drain_queue(struct tide_run *run, struct tide_queue *queue,
                                    struct tide_diag *diag) {
  for (bool still = false;;) {
    enum tide_status status = tide_queue_drain(queue, still ? TIDE_NOW : in_a_slice(run));
    if (status != TIDE_TIMEOUT && status != TIDE_OK) return status;
    if (to_stop(run)) return run->failure.cause.status;
    if (status == TIDE_OK) return status;
    if (still) return report_stuck(run, diag);
    if ((status = given_up(run, diag)) != TIDE_OK) return status;
    tide_run_report_progress(run);
    still = is_quiescent(run);
  }
}

enum tide_status tide_run_drain(struct tide_run *run, struct tide_diag *diag) {
  for (size_t i = 0; i < run->tables->queue_count; i++) {
    if (i % PROGRESS_EVERY == 0) tide_run_report_progress(run);
    enum tide_status status = drain_queue(run, run->queues[i].queue, diag);
    if (status != TIDE_OK) return status;
  }
  tide_run_report_progress(run);
  return TIDE_OK;
}
