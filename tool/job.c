/* Runs a job once, from its files to its result. */
#include "tool/job.h"

#include "tidemark/kernel.h"

#include <string.h>
#include <time.h>

#define PROGRESS_EVERY 100000000 /* ns */
#define FINDINGS_SHOWN 20
#define SETTLE_MOST 10000000000u /* ns that operations may take to end after the run */

struct watching {
  const struct tide_job *job;
  const struct tide_job_kind *kind;
  uint64_t next;
};

static void on_progress(void *user, uint64_t submitted, uint64_t finished) {
  struct watching *watching = user;
  const struct tide_platform *platform = watching->job->platform;
  uint64_t now = platform->now(platform->self);
  (void)submitted;
  if (now < watching->next) return;
  watching->next = now + PROGRESS_EVERY;
  tide_tool_progress("%s: %llu of %llu operations", watching->kind->name,
                     (unsigned long long)finished,
                     (unsigned long long)watching->job->report.tables->operations);
}

static void on_finding(void *user, const struct tide_diag *diag) {
  struct tide_job *job = user;
  const struct tide_finding *finding = (const void *)diag;
  pthread_mutex_lock(&job->lock);
  uint64_t number = ++job->findings;
  pthread_mutex_unlock(&job->lock);
  if (number <= FINDINGS_SHOWN) tide_tool_finding_at(job->program.path, finding);
}

static void note_devices(struct tide_run_params *params) {
  params->kinds = tide_tool_devices(&params->kind_count);
}

#define REST_BEFORE 200000 /* ns */

/* Waits until the workers have started and sleep again, so that compared runs start alike: the
 * preparations of one kind take longer than those of another. The processor stays awake. */
static void begin_alike(const struct tide_job *job) {
  const struct tide_platform *platform = job->platform;
  if (!job->baseline) return;
  uint64_t start = platform->now(platform->self);
  while (platform->now(platform->self) - start < REST_BEFORE) platform->yield(platform->self);
}

/* ---- memory that is not there ---- */

struct imagined {
  struct tide_memory_source source;
  struct tide_run_stand_in stand_in;
  uintptr_t next;
};

static void *imagine_block(void *self, size_t size) {
  struct imagined *imagined = self;
  uintptr_t address = imagined->next;
  if (size > UINTPTR_MAX / 2 - address) return NULL;
  imagined->next += (size + 4095) & ~(uintptr_t)4095;
  return (void *)address;
}

static void drop_imagined(void *self, void *memory, size_t size) {
  (void)self, (void)memory, (void)size;
}

static void keep_operation(void *self, const struct tide_step *step,
                           struct tide_operation *operation) {
  (void)self, (void)step, (void)operation;
}

/* Gives the run as much memory as there are addresses. No operation starts, so no byte is
 * touched. */
static void imagine_memory(struct tide_run_params *params, struct imagined *imagined) {
  *imagined = (struct imagined){{imagine_block, drop_imagined, imagined},
                                {keep_operation, NULL, &imagined->source, NULL},
                                4096};
  params->stand_in = &imagined->stand_in;
  params->memory = SIZE_MAX / 4;
}

bool tide_job_run(struct tide_job *job, const struct tide_job_kind *kind,
                  struct tide_outcome *out_outcome) {
  struct tide_outcome outcome = {.files = tide_tool_files_create(job->report.tables, job->output)};
  struct tide_diag diag = {.status = TIDE_OK};
  struct watching watching = {job, kind, 0};
  struct imagined imagined;
  if (!outcome.files) {
    tide_tool_error("out of memory");
    return false;
  }
  struct tide_run_params params = {
      .struct_size = sizeof params,
      .platform = job->platform,
      .allocator = tide_allocator_system(),
      .plan = job->program.plan,
      .files = tide_tool_files_source(outcome.files),
      .takes = tide_medium_takes(),
      .mode = kind->mode,
      .paused = kind->paused,
      .submit_only = kind->submit_only,
      .check = kind->check,
      .keep_on_host = job->keep_on_host,
      .stop_early = !job->go_on,
      .memory = (size_t)job->memory,
      .sink = kind->sink,
      .progress = on_progress,
      .progress_user = &watching,
      .finding = on_finding,
      .finding_user = job,
  };
  if (kind->dry) imagine_memory(&params, &imagined);
  note_devices(&params);
  enum tide_status status = tide_run_create(&params, &diag, &outcome.run);
  if (status == TIDE_OK) {
    begin_alike(job);
    tide_tool_watch_run(outcome.run);
    status = tide_run_execute(outcome.run, &outcome.result, &diag);
    tide_tool_watch_run(NULL);
  }
  tide_tool_progress_over();
  if (status == TIDE_OK) {
    *out_outcome = outcome;
    return true;
  }
  bool lacks_memory = kind->may_lack_memory && status == TIDE_NOMEM;
  if (!kind->dry && !lacks_memory) tide_tool_error_at(job->program.path, &diag);
  tide_outcome_drop(&outcome);
  if (lacks_memory) *out_outcome = outcome;
  return lacks_memory;
}

/* "cpu0: 2 workers · disk: io_uring" */
static void describe_devices(struct tide_job *job, const struct tide_outcome *outcome) {
  const struct tide_plan_tables *tables = job->report.tables;
  struct tide_text text;
  tide_text_init(&text, job->devices, sizeof job->devices);
  for (uint32_t i = 0; i < tables->device_count; i++) {
    char own[128];
    tide_run_describe_device(outcome->run, i, own, sizeof own);
    tide_text_format(&text, "%s%s: %s", i ? ", " : "", tables->devices[i].label, own);
  }
  if (!tide_text_cut(&text)) job->report.devices = job->devices;
}

static void describe_outputs(struct tide_job *job, const struct tide_outcome *outcome) {
  const struct tide_plan_tables *tables = job->report.tables;
  struct tide_text text;
  tide_text_init(&text, job->outputs, sizeof job->outputs);
  for (size_t i = 0; i < tables->file_count; i++)
    if (tables->files[i].mode == TIDE_FILE_WRITE)
      tide_text_format(&text, "%s%s", text.length ? ", " : "",
                       tide_tool_files_path(outcome->files, i));
  if (text.length && !tide_text_cut(&text)) job->report.outputs = job->outputs;
}

void tide_job_describe(struct tide_job *job, const struct tide_outcome *outcome) {
  describe_devices(job, outcome);
  describe_outputs(job, outcome);
}

/* Set once a run was left behind: its plan, plug-ins and trace are still in use. */
static bool left;

bool tide_job_left_one(void) { return left; }

void tide_outcome_drop(struct tide_outcome *outcome) {
  const struct tide_platform *platform = tide_platform_linux();
  uint64_t deadline = platform->now(platform->self) + SETTLE_MOST;
  if (outcome->run && tide_run_settle(outcome->run, deadline) != TIDE_OK) {
    tide_tool_error("an operation does not end; it is left behind");
    tide_tool_remove_files();
    left = true;
  } else {
    tide_run_destroy(outcome->run);
    tide_tool_files_destroy(outcome->files);
  }
  outcome->run = NULL;
  outcome->files = NULL;
}
