/* A run from its creation to its end. */
#include "base/atomic.h"
#include "base/alloc.h"
#include "base/params.h"
#include "base/text.h"
#include "program/run_state.h"

#if __STDC_HOSTED__ && !defined(TIDE_FREESTANDING)
static void fill_defaults(struct tide_run_params *params) {
  if (!params->platform) params->platform = tide_platform_linux();
  if (!params->allocator) params->allocator = tide_allocator_system();
}
#else
static void fill_defaults(struct tide_run_params *params) { (void)params; }
#endif

static void free_run(struct tide_run *run) {
  const struct tide_allocator *a = run->allocator;
  tide_run_free_findings(run);
  tide_free(a, run->buffers, run->tables->buffer_count, sizeof *run->buffers);
  tide_free(a, run->files, run->tables->file_count, sizeof *run->files);
  tide_free(a, run, 1, sizeof *run);
}

enum tide_status tide_run_create(const struct tide_run_params *params, struct tide_diag *diag,
                                 struct tide_run **out_run) {
  struct tide_run_params filled;
  enum tide_status known =
      tide_params_copy_named(&filled, sizeof filled, params, "tide_run_params", diag);
  if (known != TIDE_OK) return known;
  fill_defaults(&filled);
  if (!filled.platform || !filled.allocator || !filled.plan)
    return tide_diag_set(diag, TIDE_INVALID, "a run needs a plan, a platform and an allocator");
  if (filled.submit_only) filled.paused = true;
  const struct tide_allocator *a = filled.allocator;
  struct tide_run *run = tide_alloc(a, 1, sizeof *run);
  if (!run) return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  run->params = filled;
  run->allocator = a;
  run->tables = tide_plan_tables(filled.plan);
  run->buffers = tide_alloc(a, run->tables->buffer_count, sizeof *run->buffers);
  run->files = tide_alloc(a, run->tables->file_count, sizeof *run->files);
  enum tide_status status = run->buffers && run->files ? TIDE_OK : TIDE_NOMEM;
  if (status != TIDE_OK) {
    free_run(run);
    return tide_diag_set(diag, status, "out of memory");
  }
  status = tide_run_open_files(run, diag);
  if (status == TIDE_OK)
    status = filled.mode == TIDE_RUN_SEQUENTIAL ? tide_sequential_create(run, diag)
                                                : tide_run_setup(run, diag);
  if (status != TIDE_OK) {
    tide_run_destroy(run);
    return status;
  }
  *out_run = run;
  return TIDE_OK;
}

/* ---- executing ------------------------------------------------------------------ */

#define REPORT_EVERY 4096 /* steps */

static enum tide_status submit_all(struct tide_run *run, struct tide_diag *diag) {
  const struct tide_run_stand_in *stand_in = run->params.stand_in;
  struct tide_step step;
  tide_plan_rewind(run->params.plan);
  for (;;) {
    enum tide_status status = tide_plan_next(run->params.plan, &step, diag);
    if (status == TIDE_OK && step.kind == TIDE_STEP_END) return TIDE_OK;
    if (status == TIDE_OK) status = tide_run_step(run, &step, diag);
    if (status != TIDE_OK) return status;
    if (stand_in && stand_in->stepped) stand_in->stepped(stand_in->self);
    if (run->params.stop_early && tide_load_acquire(&run->failure.any)) return TIDE_OK;
    if (step.number % REPORT_EVERY == 0) tide_run_report_progress(run);
  }
}

static uint64_t time_now(const struct tide_run *run) {
  const struct tide_platform *platform = tide_context_platform(run->context);
  return platform->now(platform->self);
}

static enum tide_status execute_run(struct tide_run *run, struct tide_diag *diag) {
  uint64_t start = time_now(run);
  enum tide_status status = submit_all(run, diag);
  run->result.submit = time_now(run) - start;
  if (run->params.submit_only) return status;
  if (run->params.paused) {
    start = time_now(run);
    tide_context_resume(run->context);
  }
  if (status == TIDE_OK) status = tide_run_drain(run, diag);
  run->result.wall = time_now(run) - start;
  return status;
}

/* Excludes static buffers from the statistics: they are not handed out to operations. */
static void leave_out_static(const struct tide_run *run, struct tide_pool_stats *stats) {
  for (size_t i = 0; i < run->tables->buffer_count; i++) {
    if (run->tables->buffers[i].scratch) continue;
    stats->allocs--;
    stats->fresh--;
  }
}

enum tide_status tide_run_execute(struct tide_run *run, struct tide_run_result *out_result,
                                  struct tide_diag *diag) {
  struct tide_diag own = {.status = TIDE_OK};
  enum tide_status status;
  if (run->executed) return tide_diag_set(diag, TIDE_INVALID, "a run is executed once");
  run->executed = true;
  if (run->sequential) {
    status = tide_sequential_execute(run, &own);
  } else {
    status = execute_run(run, &own);
    tide_context_stats(run->context, &run->result.sched);
    tide_pool_stats(run->pool, &run->result.pool);
    leave_out_static(run, &run->result.pool);
    run->result.operations = run->submitted;
    run->result.failed = run->result.sched.failed;
  }
  tide_store_relaxed(&run->over, 1u);
  tide_run_tell_findings(run);
  *out_result = run->result;
  if (tide_load_acquire(&run->failure.any)) return tide_run_describe_failure(run, diag);
  if (status != TIDE_OK && diag) *diag = own;
  if (status != TIDE_OK && diag && !diag->status && tide_run_lost_device(run, diag) == TIDE_OK)
    tide_diag_set(diag, status, "%s", tide_status_text(status));
  return status;
}

/* ---- afterwards ------------------------------------------------------------------- */

const void *tide_run_buffer(const struct tide_run *run, uint32_t buffer) {
  if (buffer >= run->tables->buffer_count || run->tables->buffers[buffer].scratch) return NULL;
  return run->buffers[buffer].data;
}

size_t tide_run_describe_device(const struct tide_run *run, uint32_t device, char *buffer,
                                size_t size) {
  if (size) buffer[0] = 0;
  if (!run->devices || device >= run->tables->device_count) return 0;
  const struct tide_run_device *made = &run->devices[device];
  if (!made->kind || !made->kind->describe) return 0;
  return made->kind->describe(made->kind->self, made->device, buffer, size);
}

struct tide_context *tide_run_context(struct tide_run *run) {
  return run->context;
}

bool tide_run_axis_collective(const struct tide_run *run, tide_axis axis,
                              uint32_t *out_collective) {
  if (tide_axis_domain(axis) != TIDE_DOMAIN_COLLECTIVE || !run->collectives) return false;
  /* Collectives have consecutive ordinals, in the order of the plan. */
  uint64_t ordinal = tide_axis_ordinal(axis);
  if (ordinal < 1 || ordinal > run->tables->collective_count) return false;
  *out_collective = (uint32_t)(ordinal - 1);
  return true;
}

bool tide_run_axis_host(const struct tide_run *run, tide_axis axis) {
  return run->host.axis && run->host.axis == axis;
}

uint32_t tide_run_timeline_of(const struct tide_run *run, const void *object) {
  for (size_t i = 0; run->timelines && i < run->tables->timeline_count; i++)
    if (run->timelines[i] == object) return (uint32_t)i;
  return TIDE_PLAN_NONE;
}

struct tide_timeline *tide_run_timeline(const struct tide_run *run, uint32_t timeline) {
  return run->timelines && timeline < run->tables->timeline_count ? run->timelines[timeline] : NULL;
}

enum tide_status tide_run_settle(struct tide_run *run, uint64_t deadline) {
  tide_store_relaxed(&run->over, 1u);
  return run->params.mode == TIDE_RUN_SEQUENTIAL ? TIDE_OK : tide_run_stop_queues(run, deadline);
}

void tide_run_destroy(struct tide_run *run) {
  if (!run) return;
  tide_store_relaxed(&run->over, 1u);
  if (run->params.mode == TIDE_RUN_SEQUENTIAL) tide_sequential_destroy(run);
  else tide_run_teardown(run);
  free_run(run);
}
