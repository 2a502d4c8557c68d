/* Runs the same program with a parameter that doubles, to show the growth of its cost. */
#include "tool/sim_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define POINTS_MOST 64

struct sweep {
  struct tide_sim_job *job;
  char name[TIDE_PROGRAM_NAME_MAX + 1];
  uint64_t at[POINTS_MOST];
  size_t count;
  struct tide_sim_point points[2][POINTS_MOST];
  const char *names[2];
  size_t series;
};

/* Reads "devices=1..4096". */
static bool parse_range(struct sweep *sweep) {
  const char *text = sweep->job->sweep, *equals = strchr(text, '=');
  const char *dots = equals ? strstr(equals, "..") : NULL;
  char from[24];
  uint64_t first, last;
  size_t length = equals ? (size_t)(equals - text) : 0;
  if (!dots || !length || length >= sizeof sweep->name || (size_t)(dots - equals) > sizeof from - 1)
    return false;
  memcpy(sweep->name, text, length);
  memcpy(from, equals + 1, (size_t)(dots - equals) - 1);
  from[dots - equals - 1] = 0;
  if (!tide_tool_parse_number(from, INT64_MAX, &first) || !first ||
      !tide_tool_parse_number(dots + 2, INT64_MAX, &last) || last < first)
    return false;
  for (uint64_t at = first; sweep->count < POINTS_MOST; at *= 2) {
    if (at > last || at < first) at = last;
    sweep->at[sweep->count++] = at;
    if (at == last) break;
  }
  return true;
}

static bool has_number(const struct sweep *sweep, const char *name) {
  bool text;
  return tide_tool_has_param(&sweep->job->program, name, &text) && !text;
}

/* Returns processor time: other processes may use the machine, too. */
static double seconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t memory_peak_kb(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss : 0;
}

/* ---- one point --------------------------------------------------------------------- */

/* Makes a plan with these settings added; they are removed again afterwards. */
static bool plan_with(struct sweep *sweep, const struct tide_setting *settings, size_t count) {
  struct tide_tool_program *program = &sweep->job->program;
  size_t before = program->setting_count;
  if (before + count > TIDE_TOOL_SETTINGS_MOST) {
    tide_tool_error("too many settings");
    return false;
  }
  memcpy(&program->settings[before], settings, count * sizeof *settings);
  program->setting_count += count;
  bool good = tide_tool_plan(program);
  program->setting_count = before;
  return good;
}

static void note_point(struct tide_sim_point *point, const struct tide_simulation_result *result) {
  const struct tide_context_stats *sched = &result->run.sched;
  double entered = sched->entered ? (double)sched->entered : 1;
  point->operations = result->operations;
  point->makespan = result->makespan;
  point->entries = (double)sched->frontier_entries / entered;
  point->tainted = (double)sched->tainted / entered;
  point->peak = sched->frontier_peak;
  point->memory_kb = memory_peak_kb();
  point->there = true;
}

static bool run_point(struct sweep *sweep, size_t series, size_t which) {
  struct tide_sim_job *job = sweep->job;
  struct tide_sim_outcome outcome = {.mode = TIDE_RUN_TRACKED};
  struct tide_sim_point *point = &sweep->points[series][which];
  char value[24], other[TIDE_PROGRAM_NAME_MAX + 1] = "";
  struct tide_setting settings[2] = {{sweep->name, value}};
  const char *equals = job->against ? strchr(job->against, '=') : NULL;
  snprintf(value, sizeof value, "%llu", (unsigned long long)sweep->at[which]);
  if (series) {
    memcpy(other, job->against, (size_t)(equals - job->against));
    settings[1] = (struct tide_setting){other, equals + 1};
  }
  tide_tool_progress("%s = %s%s%s: planning", sweep->name, value, series ? ", " : "",
                     series ? job->against : "");
  bool good = plan_with(sweep, settings, series ? 2 : 1);
  point->at = sweep->at[which];
  double start = seconds_now();
  good = good && tide_sim_job_run(job, &outcome);
  point->seconds = seconds_now() - start;
  if (good) note_point(point, outcome.result);
  tide_simulation_destroy(outcome.simulation);
  tide_plan_destroy(job->program.plan);
  job->program.plan = NULL;
  if (!good)
    tide_tool_error("--sweep: it failed with %s = %s%s%s", sweep->name, value, series ? ", " : "",
                    series ? job->against : "");
  return good;
}

/* ---- the table ------------------------------------------------------------------------ */

static void print_head(const struct sweep *sweep) {
  printf("%s, %s from %llu to %llu\n", sweep->job->program.path, sweep->name,
         (unsigned long long)sweep->at[0], (unsigned long long)sweep->at[sweep->count - 1]);
}

static void print_series(const struct sweep *sweep, size_t series) {
  bool quiet = sweep->job->quiet;
  if (sweep->series > 1) printf("  %s\n", sweep->names[series]);
  printf("  %10s%14s%16s%12s%9s%12s", sweep->name, "operations", "makespan", "entries", "at most",
         "tainted");
  if (!quiet) printf("%14s%12s", "ns/operation", "MiB so far");
  printf("\n");
  for (size_t i = 0; i < sweep->count; i++) {
    const struct tide_sim_point *point = &sweep->points[series][i];
    char time[32];
    if (!point->there) continue;
    printf("  %10llu%14llu%16s%12.1f%9llu%10.1f %%", (unsigned long long)point->at,
           (unsigned long long)point->operations, tide_sim_time(point->makespan, time, sizeof time),
           point->entries, (unsigned long long)point->peak, 100 * point->tainted);
    if (!quiet)
      printf("%14.0f%12.0f", point->seconds * 1e9 / (double)point->operations,
             (double)point->memory_kb / 1024);
    printf("\n");
  }
}

static void print_json(const struct sweep *sweep) {
  struct tide_json json = tide_tool_json(stdout);
  tide_json_open(&json, NULL, '{');
  tide_json_text(&json, "program", sweep->job->program.path);
  tide_json_text(&json, "parameter", sweep->name);
  tide_json_open(&json, "series", '[');
  for (size_t s = 0; s < sweep->series; s++) {
    tide_json_open(&json, NULL, '{');
    tide_json_text(&json, "name", sweep->names[s]);
    tide_json_open(&json, "points", '[');
    for (size_t i = 0; i < sweep->count; i++) {
      const struct tide_sim_point *point = &sweep->points[s][i];
      tide_json_open(&json, NULL, '{');
      tide_json_number(&json, "value", point->at);
      tide_json_number(&json, "operations", point->operations);
      tide_json_seconds(&json, "makespan", point->makespan);
      tide_json_number(&json, "entries_per_thousand_operations", (uint64_t)(point->entries * 1000));
      tide_json_number(&json, "frontier_peak", point->peak);
      tide_json_number(&json, "tainted_per_million", (uint64_t)(point->tainted * 1e6));
      if (!sweep->job->quiet) {
        tide_json_seconds(&json, "seconds", (uint64_t)(point->seconds * 1e9));
        tide_json_number(&json, "memory_kib", point->memory_kb);
      }
      tide_json_close(&json, '}');
    }
    tide_json_close(&json, ']');
    tide_json_close(&json, '}');
  }
  tide_json_close(&json, ']');
  tide_json_close(&json, '}');
}

/* ---- all of it --------------------------------------------------------------------------- */

static bool check_against(const struct sweep *sweep) {
  const char *text = sweep->job->against, *equals = text ? strchr(text, '=') : NULL;
  char name[TIDE_PROGRAM_NAME_MAX + 1] = "";
  bool is_text;
  if (!text) return true;
  if (equals && (size_t)(equals - text) < sizeof name) memcpy(name, text, (size_t)(equals - text));
  if (equals && tide_tool_has_param(&sweep->job->program, name, &is_text)) return true;
  tide_tool_error("--against %s: expected NAME=VALUE, of a parameter of %s", text,
                  sweep->job->program.path);
  return false;
}

static bool sweep_all(struct sweep *sweep) {
  for (size_t s = 0; s < sweep->series; s++)
    for (size_t i = 0; i < sweep->count; i++)
      if (!run_point(sweep, s, i)) return false;
  return true;
}

static bool print_sweep(const struct sweep *sweep) {
  struct tide_sim_job *job = sweep->job;
  struct tide_sim_series series[2];
  if (job->json) {
    print_json(sweep);
  } else {
    print_head(sweep);
    for (size_t s = 0; s < sweep->series; s++) print_series(sweep, s);
  }
  for (size_t s = 0; s < sweep->series; s++)
    series[s] = (struct tide_sim_series){sweep->names[s], sweep->points[s]};
  return !job->plot ||
         tide_sim_plot(job->plot, sweep->name, job->quiet, series, sweep->series, sweep->count);
}

bool tide_sim_sweep(struct tide_sim_job *job) {
  struct sweep *sweep = calloc(1, sizeof *sweep);
  bool good = false;
  if (!sweep) {
    tide_tool_error("out of memory");
    return false;
  }
  sweep->job = job;
  sweep->series = job->against ? 2 : 1;
  sweep->names[0] = job->against ? "as it is" : job->program.path;
  sweep->names[1] = job->against;
  if (!parse_range(sweep) || !has_number(sweep, sweep->name))
    tide_tool_error("--sweep %s: expected NAME=FROM..TO, of a numeric parameter of %s", job->sweep,
                    job->program.path);
  else if (job->plot && tide_tool_same_file(job->plot, job->program.file))
    tide_tool_error("--plot %s: the program is in this file", job->plot);
  else good = check_against(sweep) && sweep_all(sweep) && print_sweep(sweep);
  tide_tool_progress_over();
  free(sweep);
  return good;
}
