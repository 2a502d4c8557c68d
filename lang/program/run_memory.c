/* The buffers of a run: the pool, static buffers, and the plan's alloc and free steps. */
#include "base/alloc.h"
#include "base/text.h"
#include "program/baseline.h"

#define LIMITED_BASELINE_CHUNK                                                                     \
  ((size_t)4096) /* leaves the rest of the limit to the baseline's scratch memory */

enum tide_status tide_run_make_pool(struct tide_run *run, struct tide_diag *diag) {
  size_t buffers = run->tables->buffer_count + 16;
  struct tide_pool_params params = {
      .struct_size = sizeof params,
      .label = "buffers",
      .limit = run->params.memory,
      .chunk = run->baseline && run->params.memory ? LIMITED_BASELINE_CHUNK : 0,
      .align = run->params.align,
      .buffers = buffers > UINT32_MAX ? UINT32_MAX : (uint32_t)buffers,
      .uses_are_named = true, /* a program has no other uses */
      .source = run->params.stand_in ? run->params.stand_in->memory : run->memory,
  };
  if (run->baseline) tide_baseline_use_source(run, params.source);
  enum tide_status status = tide_pool_create(run->context, &params, &run->pool);
  return status == TIDE_OK ? TIDE_OK : tide_diag_set(diag, status, "the pool cannot be made");
}

/* ---- out of memory -------------------------------------------------------------------- */

/* Appends the reason: ": the limit (--memory) is 4096 bytes, of which 1024 are busy, 64 in
 * buffers". The scratch memory of a baseline has no limit. */
static void write_shortage(const struct tide_run *run, const struct tide_plan_buffer *buffer,
                           struct tide_text *text) {
  struct tide_pool_stats stats;
  tide_pool_stats(run->pool, &stats);
  if (!stats.limit || (run->baseline && buffer->scratch)) return;
  tide_text_format(text, ": the limit (--memory) is %lu bytes", (unsigned long)stats.limit);
  if (buffer->size > stats.limit) tide_text_format(text, ", and the buffer alone is larger");
  else
    tide_text_format(text, ", of which %lu are busy, %lu in buffers",
                     (unsigned long)stats.busy_bytes, (unsigned long)stats.live_bytes);
}

static enum tide_status refuse_buffer(const struct tide_run *run,
                                      const struct tide_plan_buffer *buffer,
                                      enum tide_status status, uint32_t line, uint32_t column,
                                      struct tide_diag *diag) {
  char why[160] = "";
  struct tide_text text;
  tide_text_init(&text, why, sizeof why);
  if (status == TIDE_NOMEM) write_shortage(run, buffer, &text);
  return tide_diag_at(diag, status, line, column, "buffer '%s' of %lu bytes: %s%s", buffer->label,
                      (unsigned long)buffer->size, tide_status_text(status), why);
}

/* ---- static buffers ------------------------------------------------------------------- */

enum tide_status tide_run_make_buffer(struct tide_run *run, size_t index, struct tide_diag *diag) {
  const struct tide_plan_buffer *buffer = &run->tables->buffers[index];
  struct tide_run_buffer *made = &run->buffers[index];
  run->names_buffers |= buffer->scratch || run->params.check;
  if (buffer->scratch) return TIDE_OK;
  enum tide_status status = TIDE_NOMEM;
  if (buffer->size <= SIZE_MAX)
    status = tide_pool_alloc(run->pool, (size_t)buffer->size, NULL, buffer->label, &made->buffer);
  if (status != TIDE_OK)
    return refuse_buffer(run, buffer, status, buffer->line, buffer->column, diag);
  made->data = tide_buffer_data(made->buffer);
  if (!run->params.submit_only && !run->params.stand_in)
    memset(made->data, 0, (size_t)buffer->size);
  return TIDE_OK;
}

/* ---- steps ------------------------------------------------------------------------------ */

static enum tide_status try_alloc(struct tide_run *run, const struct tide_step *step) {
  const struct tide_plan_buffer *buffer = &run->tables->buffers[step->buffer];
  if (run->baseline) return tide_baseline_step_alloc(run, step);
  if (buffer->size > SIZE_MAX) return TIDE_NOMEM;
  return tide_queue_alloc(run->queues[step->queue].queue, run->pool, (size_t)buffer->size,
                          buffer->label, &run->buffers[step->buffer].buffer);
}

enum tide_status tide_run_alloc(struct tide_run *run, const struct tide_step *step,
                                struct tide_diag *diag) {
  const struct tide_plan_buffer *buffer = &run->tables->buffers[step->buffer];
  enum tide_status status = try_alloc(run, step);
  while (status == TIDE_NOMEM && !run->params.paused) {
    tide_run_note_progress(run, TIDE_PLAN_NONE, TIDE_PLAN_NONE);
    status = try_alloc(run, step);
    if (status != TIDE_NOMEM) break;
    enum tide_status waited = tide_run_wait_progress(run);
    if (waited != TIDE_OK && waited != TIDE_DEADLOCK) return waited;
    status = try_alloc(run, step);
    if (waited == TIDE_DEADLOCK) break;
  }
  if (status != TIDE_OK) return refuse_buffer(run, buffer, status, step->line, step->column, diag);
  if (!run->baseline)
    run->buffers[step->buffer].data = tide_buffer_data(run->buffers[step->buffer].buffer);
  return TIDE_OK;
}

void tide_run_free(struct tide_run *run, const struct tide_step *step) {
  struct tide_run_buffer *buffer = &run->buffers[step->buffer];
  if (run->baseline) tide_baseline_step_free(run, step);
  else tide_queue_free(run->queues[step->queue].queue, buffer->buffer);
  *buffer = (struct tide_run_buffer){NULL, NULL};
}
