/* tidemark run: the main job. */
#include "tool/job.h"

#include "base/random.h"
#include "tidemark/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  SET,
  INPUT,
  OUTPUT,
  CHECK,
  BASELINE,
  REPEAT,
  PAUSED,
  STATS,
  QUIET,
  JSON,
  TRACE,
  PLUGIN,
  MEMORY,
  SEED,
  KEEP,
  GO_ON
};

static const struct tide_tool_option options[] = {
    [SET] = {"--set", "NAME=VALUE", "a parameter of the program; may be given several times"},
    [INPUT] = {"--input", "IMAGE", "your own image for the program: PNG, or raw 8-bit rows"},
    [OUTPUT] = {"--output", "DIR", "where outputs go, instead of the current folder"},
    [CHECK] = {"--check", NULL,
               "compares all outputs with a sequential run, and looks for ordering errors"},
    [BASELINE] = {"--baseline", "events|barrier",
                  "runs it without causal tracking, too, and compares the time"},
    [REPEAT] =
        {"--repeat", "N",
         "timed runs of each kind, in turns; with --baseline 3, or more when they are short"},
    [PAUSED] = {"--paused", NULL,
                "starts only when all is submitted: what is counted is the same each time"},
    [STATS] = {"--stats", NULL, "more numbers"},
    [QUIET] = {"--quiet-time", NULL, "nothing that differs from run to run"},
    [JSON] = {"--json", NULL, "the report as JSON"},
    [TRACE] = {"--trace", "FILE.json", "what happened when, for ui.perfetto.dev"},
    [PLUGIN] = {"--plugin", "FILE.so", "bodies of your own; may be given several times"},
    [MEMORY] = {"--memory", "SIZE", "at most this much for buffers: 64M, 2G"},
    [SEED] = {"--seed", "N", "makes whatever is random repeatable"},
    [KEEP] = {"--keep", "device|host",
              "what keeps the waits of a device that runs ahead (vulkan); device"},
    [GO_ON] = {"--go-on", NULL,
               "does not stop at the first failure, but does all that does not depend on it"},
    {NULL, NULL, NULL},
};
static const struct tide_tool_usage usage = {
    "run", "FILE", "Runs a program on real queues.", options,
    "FILE - is standard input. Outputs appear when everything has succeeded, and not before.\n"
    "Exit status: 0; 1: it failed, or a check did; 2: wrong usage.\n"
    "SIGQUIT (Ctrl-\\) says on stderr who waits for whom."};

/* ---- the command line -------------------------------------------------------------- */

static uint64_t seeded_random(void *self) { return tide_random_next(self); }

static bool parse_baseline(struct tide_job *job, const char *value) {
  if (strcmp(value, "events") == 0) job->baseline = TIDE_RUN_EVENTS;
  else if (strcmp(value, "barrier") == 0) job->baseline = TIDE_RUN_BARRIER;
  else return false;
  return true;
}

/* False: the error has been printed. */
static bool take_value(struct tide_job *job, int option, const char *value) {
  switch (option) {
    case INPUT: job->input = value; return true;
    case OUTPUT:
      job->output = value;
      if (*value) return true;
      tide_tool_wrong_usage(&usage, "--output: expected a folder");
      return false;
    case TRACE: job->trace_path = value; return true;
    case BASELINE:
      if (parse_baseline(job, value)) return true;
      tide_tool_wrong_usage(&usage, "--baseline %s: expected events or barrier", value);
      return false;
    case REPEAT:
      if (tide_tool_parse_number(value, TIDE_REPORT_TIMES, &job->repeat) && job->repeat)
        return job->repeat_given = true;
      tide_tool_wrong_usage(&usage, "--repeat %s: expected 1 to %d", value, TIDE_REPORT_TIMES);
      return false;
    case MEMORY:
      if (tide_tool_parse_size(value, &job->memory) && job->memory) return true;
      tide_tool_wrong_usage(&usage, "--memory %s: expected a size, such as 64M", value);
      return false;
    case SEED:
      if (tide_tool_parse_number(value, UINT64_MAX, &job->seed)) return true;
      tide_tool_wrong_usage(&usage, "--seed %s: expected a number", value);
      return false;
    case KEEP:
      job->keep_on_host = strcmp(value, "host") == 0;
      if (job->keep_on_host || strcmp(value, "device") == 0) return true;
      tide_tool_wrong_usage(&usage, "--keep %s: expected device or host", value);
      return false;
    default: return true;
  }
}

static void take_flag(struct tide_job *job, int option) {
  switch (option) {
    case CHECK: job->check = true; break;
    case PAUSED: job->paused = true; break;
    case STATS: job->report.stats = true; break;
    case QUIET: job->report.quiet = true; break;
    case JSON: job->json = true; break;
    case GO_ON: job->go_on = true; break;
    default: break;
  }
}

/* Returns TIDE_EXIT_OK and sets a path; or returns the exit status, with *out_path NULL. */
static int parse_arguments(struct tide_job *job, int argc, char **argv, const char **out_path) {
  struct tide_tool_arguments arguments = {.usage = &usage, .argc = argc, .argv = argv};
  int option;
  *out_path = NULL;
  const char *path = NULL;
  while ((option = tide_tool_next_argument(&arguments)) != TIDE_ARGUMENT_END) {
    if (option == TIDE_ARGUMENT_HELP) return TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_ERROR) return TIDE_EXIT_USAGE;
    if (option == TIDE_ARGUMENT_POSITIONAL) {
      if (path) return tide_tool_wrong_usage(&usage, "one program, not '%s', too", arguments.value);
      path = arguments.value;
      continue;
    }
    take_flag(job, option);
    if (!take_value(job, option, arguments.value)) return TIDE_EXIT_USAGE;
    if (option == SET && !tide_tool_add_setting(&job->program, arguments.value))
      return TIDE_EXIT_USAGE;
    if (option == PLUGIN && !tide_tool_add_plugin(&job->program, arguments.value))
      return TIDE_EXIT_FAILED;
  }
  if (!path) return tide_tool_wrong_usage(&usage, "which program?");
  if (!job->repeat_given) job->repeat = job->baseline ? 3 : 1;
  *out_path = path;
  return TIDE_EXIT_OK;
}

/* ---- counts that submission alone decides ---- */

static bool host_waits(struct tide_plan *plan) {
  struct tide_step step;
  tide_plan_rewind(plan);
  while (tide_plan_next(plan, &step, NULL) == TIDE_OK && step.kind != TIDE_STEP_END)
    if (step.kind == TIDE_STEP_HOST_WAIT) return true;
  return false;
}

#define COUNTED_MOST 500000u /* operations: more would take too much memory at once */

static bool can_be_paused(const struct tide_job *job) {
  const struct tide_plan_tables *tables = job->report.tables;
  return tables->operations <= COUNTED_MOST && !host_waits(job->program.plan);
}

/* Submits everything to queues that do not start, and counts the results of the waits. A program
 * with host waits cannot be counted this way, nor one that needs the memory of finished
 * operations. */
static bool count_paused(struct tide_job *job) {
  struct tide_report_row *row = &job->report.paused;
  struct tide_outcome outcome;
  struct tide_job_kind kind = {
      .mode = TIDE_RUN_TRACKED, .paused = true, .submit_only = true, .name = "counting"};
  kind.may_lack_memory = job->memory != 0;
  if (!can_be_paused(job)) return true;
  tide_wait_counter_init(&row->waits, NULL);
  kind.sink = &row->waits.sink;
  if (!tide_job_run(job, &kind, &outcome)) return false;
  if (!outcome.run) return true;
  row->result = outcome.result;
  row->there = row->counted = true;
  tide_outcome_drop(&outcome);
  return true;
}

/* If operations waited for memory: finds the bytes that the program takes when none waits. */
static void count_memory(struct tide_job *job) {
  const struct tide_report_row *paused = &job->report.paused;
  struct tide_outcome outcome;
  struct tide_job_kind kind = {.mode = TIDE_RUN_TRACKED,
                               .paused = true,
                               .submit_only = true,
                               .dry = true,
                               .name = "counting memory"};
  if (!paused->there || !paused->result.sched.gap_waits || !can_be_paused(job)) return;
  if (!tide_job_run(job, &kind, &outcome)) return;
  if (!outcome.result.sched.gap_waits)
    job->report.unlimited_memory = outcome.result.pool.source_used;
  tide_outcome_drop(&outcome);
}

/* ---- runs -------------------------------------------------------------------------------------
 */

struct running {
  struct tide_job *job;
  bool has_reference;
  struct tide_outcome reference; /* the sequential run */
  struct tide_outcome last;      /* the last tracked run: its outputs are kept */
  bool has_last;
  /* The last run of the baseline, kept although it is not reported: the next run gets the memory of
   * the run before. If only one kind were kept, the other would always find warm memory. */
  struct tide_outcome last_baseline;
  bool has_last_baseline;
  struct tide_trace *trace;
};

static void keep_outcome(struct running *running, struct tide_outcome *outcome) {
  if (running->has_last) tide_outcome_drop(&running->last);
  running->last = *outcome;
  running->has_last = true;
}

static void keep_baseline(struct running *running, struct tide_outcome *outcome) {
  if (running->has_last_baseline) tide_outcome_drop(&running->last_baseline);
  running->last_baseline = *outcome;
  running->has_last_baseline = true;
}

static bool run_reference(struct running *running) {
  struct tide_job_kind kind = {.mode = TIDE_RUN_SEQUENTIAL, .name = "sequential"};
  if (!running->job->check) return true;
  running->has_reference = tide_job_run(running->job, &kind, &running->reference);
  return running->has_reference;
}

static bool matches_reference(struct running *running, const struct tide_outcome *outcome,
                              const char *name) {
  return !running->has_reference ||
         tide_job_compare(running->job, &running->reference, outcome, name);
}

/* Runs with all requested extras: search for ordering errors, trace, pause. The run is timed only
 * if none of these slows it down. */
static bool run_first(struct running *running) {
  struct tide_job *job = running->job;
  struct tide_outcome outcome;
  struct tide_job_kind kind = {.mode = TIDE_RUN_TRACKED,
                               .paused = job->paused,
                               .check = job->check,
                               .name = job->check ? "checked" : "tracked"};
  if (running->trace) kind.sink = tide_trace_sink(running->trace);
  struct tide_report_row *row = job->paused ? &job->report.paused : &job->report.online;
  if (job->paused) {
    tide_wait_counter_init(&row->waits, kind.sink);
    kind.sink = &row->waits.sink;
    row->counted = true;
  }
  if (!tide_job_run(job, &kind, &outcome)) return false;
  row->there = true;
  row->result = outcome.result;
  bool same = matches_reference(running, &outcome, "a tracked one");
  if (!job->check && !kind.sink && !job->baseline)
    job->report.tracked_times.list[job->report.tracked_times.count++] = outcome.result.wall;
  keep_outcome(running, &outcome);
  return same;
}

static bool run_timed(struct running *running, enum tide_run_mode mode) {
  struct tide_job *job = running->job;
  struct tide_run_report *report = &job->report;
  bool tracked = mode == TIDE_RUN_TRACKED;
  struct tide_outcome outcome;
  struct tide_job_kind kind = {.mode = mode, .name = tide_run_mode_name(mode)};
  if (!tide_job_run(job, &kind, &outcome)) return false;
  struct tide_times *times = tracked ? &report->tracked_times : &report->baseline_times;
  times->list[times->count++] = outcome.result.wall;
  bool same = matches_reference(running, &outcome, tracked ? "a tracked one" : "the baseline");
  if (tracked) {
    report->online.there = true;
    report->online.result = outcome.result;
    keep_outcome(running, &outcome);
  } else {
    report->baseline_result = outcome.result;
    keep_baseline(running, &outcome);
  }
  return same;
}

#define SHORT_REPEATS 15      /* the most repeats of short runs … */
#define SHORT_TIME 300000000u /* … while all of them together took less than this, in ns */

static bool has_enough_runs(const struct tide_job *job, uint64_t done) {
  const struct tide_times *a = &job->report.tracked_times, *b = &job->report.baseline_times;
  uint64_t all = 0;
  if (job->repeat_given || !job->baseline || done < job->repeat) return done >= job->repeat;
  for (size_t i = 0; i < a->count; i++) all += a->list[i];
  for (size_t i = 0; i < b->count; i++) all += b->list[i];
  return all >= SHORT_TIME || done >= SHORT_REPEATS;
}

/* Runs both kinds in turns; each goes first as often as the other. */
static bool run_in_turns(struct running *running) {
  struct tide_job *job = running->job;
  bool good = true;
  if (!job->baseline && (job->paused || job->check || job->trace_path)) return true;
  for (uint64_t i = job->report.tracked_times.count; good && !has_enough_runs(job, i); i++) {
    good = run_timed(running, i % 2 && job->baseline ? job->baseline : TIDE_RUN_TRACKED);
    if (good && job->baseline) good = run_timed(running, i % 2 ? TIDE_RUN_TRACKED : job->baseline);
  }
  return good;
}

/* ---- the trace ---------------------------------------------------------------------------------
 */

static enum tide_status write_piece(void *self, const char *bytes, size_t size) {
  return fwrite(bytes, 1, size, self) == size ? TIDE_OK : TIDE_IO;
}

/* True unless the trace would replace the program, an input or an output. */
static bool trace_is_apart(const struct running *running) {
  const char *path = running->job->trace_path;
  const struct tide_plan_tables *tables = running->job->report.tables;
  bool apart = !tide_tool_same_file(path, running->job->program.file);
  for (size_t i = 0; i < tables->file_count; i++) {
    const char *used = running->has_last ? tide_tool_files_path(running->last.files, i) : NULL;
    if (tide_tool_same_file(path, used ? used : tables->files[i].path)) apart = false;
  }
  if (!apart) tide_tool_error("--trace %s: the program is in this file, or uses it", path);
  return apart;
}

static bool write_trace(struct running *running) {
  const char *path = running->job->trace_path;
  char *temporary;
  if (!trace_is_apart(running)) return false;
  int descriptor = tide_tool_begin_file(path, &temporary);
  FILE *file = descriptor < 0 ? NULL : fdopen(dup(descriptor), "w");
  bool good = file != NULL;
  if (file) {
    struct tide_trace_writer writer = {write_piece, file};
    good = tide_trace_write(running->trace, &writer) == TIDE_OK;
    good = fclose(file) == 0 && good;
  }
  good = tide_tool_end_file(path, descriptor, temporary, good);
  if (good && tide_trace_lost(running->trace))
    tide_tool_error("%s: events at the beginning, %llu, are not in it; there were too many", path,
                    (unsigned long long)tide_trace_lost(running->trace));
  return good;
}

static bool make_trace(struct running *running) {
  const struct tide_plan_tables *tables = running->job->report.tables;
  uint64_t events = tables->operations * 8 + tables->waits + tables->signals + 1024;
  struct tide_trace_params params = {
      .struct_size = sizeof params,
      .platform = running->job->platform,
      .allocator = tide_allocator_system(),
      .events = events > (1u << 22) ? 1u << 22 : (size_t)events,
  };
  if (!running->job->trace_path) return true;
  if (!trace_is_apart(running) || !tide_tool_can_write(running->job->trace_path)) return false;
  if (tide_trace_create(&params, &running->trace) == TIDE_OK) return true;
  tide_tool_error("no memory for the trace");
  return false;
}

/* ---- all of it
 * ------------------------------------------------------------------------------------ */

static void print_report(struct tide_job *job) {
  char buffer[8192];
  struct tide_text text;
  if (job->json) {
    tide_job_print_json(job, stdout);
    return;
  }
  tide_text_init(&text, buffer, sizeof buffer);
  tide_text_format(&text, "%s\n", job->program.path);
  tide_report_print(&job->report, &text);
  fputs(buffer, stdout);
}

/* False: an output would replace the program. */
static bool spares_program(const struct running *running) {
  const struct tide_plan_tables *tables = running->job->report.tables;
  const struct tide_tool_program *program = &running->job->program;
  for (size_t i = 0; i < tables->file_count; i++) {
    const struct tide_plan_file *file = &tables->files[i];
    struct tide_diag diag = {.status = TIDE_INVALID, .line = file->line, .column = file->column};
    if (file->mode != TIDE_FILE_WRITE ||
        !tide_tool_same_file(tide_tool_files_path(running->last.files, i), program->file))
      continue;
    snprintf(diag.text, sizeof diag.text, "file '%s': the program itself is there", file->label);
    tide_tool_error_at(program->path, &diag);
    return false;
  }
  return true;
}

static bool commit_outputs(struct running *running) {
  struct tide_diag diag = {.status = TIDE_OK};
  if (!spares_program(running)) return false;
  if (tide_tool_files_commit(running->last.files, &diag) == TIDE_OK) return true;
  tide_tool_error_at(running->job->program.path, &diag);
  return false;
}

static bool run_all(struct running *running) {
  struct tide_job *job = running->job;
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_run_report *report = &job->report;
  size_t kind_count;
  const struct tide_device_kind *kinds = tide_tool_devices(&kind_count);
  report->tables = tide_plan_tables(job->program.plan);
  report->baseline = job->baseline;
  if (tide_plan_count(job->program.plan, kinds, kind_count, tide_allocator_system(),
                      &report->counts, &diag) != TIDE_OK) {
    tide_tool_error_at(job->program.path, &diag);
    return false;
  }
  if (!make_trace(running) || !run_reference(running)) return false;
  if (!job->paused && !count_paused(job)) return false;
  bool first = job->check || job->paused || running->trace || !job->baseline;
  bool good = (!first || run_first(running)) && run_in_turns(running);
  count_memory(job);
  report->checked = job->check;
  report->findings = job->findings;
  if (job->findings) {
    tide_tool_error("%llu ordering error%s; the outputs are not kept",
                    (unsigned long long)job->findings, tide_tool_plural(job->findings));
    return false;
  }
  if (!good) return false;
  tide_job_describe(job, &running->last);
  return commit_outputs(running);
}

int tide_tool_run(int argc, char **argv) {
  struct tide_job job = {.lock = PTHREAD_MUTEX_INITIALIZER};
  struct running running = {.job = &job};
  struct tide_random random;
  const char *path;
  bool good = false;
  int status = parse_arguments(&job, argc, argv, &path);
  if (!path) {
    tide_tool_unload(&job.program);
    return status;
  }
  tide_tool_watch_signals();
  random.state = job.seed;
  job.seeded = *tide_platform_linux();
  job.platform = tide_platform_linux();
  if (job.seed) {
    job.seeded.random = seeded_random;
    job.seeded.self = &random;
    job.platform = &job.seeded;
  }
  good = tide_tool_read(&job.program, path, false) &&
         (!job.input || tide_tool_use_image(&job.program, job.input)) &&
         tide_tool_plan(&job.program) && tide_tool_make_inputs(&job.program) && run_all(&running);
  /* After a failure the trace is needed most. */
  if (running.trace) good = write_trace(&running) && good;
  if (good) print_report(&job);
  if (running.has_last) tide_outcome_drop(&running.last);
  if (running.has_last_baseline) tide_outcome_drop(&running.last_baseline);
  if (running.has_reference) tide_outcome_drop(&running.reference);
  if (tide_job_left_one()) return TIDE_EXIT_FAILED;
  tide_trace_destroy(running.trace);
  tide_tool_unload(&job.program);
  return good ? TIDE_EXIT_OK : TIDE_EXIT_FAILED;
}
