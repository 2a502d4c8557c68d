/* tidemark vulkan explain and audit: one run, its reports. */
#include "tool/vulkan_session.h"

#include <string.h>
#include <unistd.h>

struct one_run {
  const struct tide_vulkan_job *job;
  char directory[TIDE_VULKAN_PATH_MOST]; /* the directory of the layer's files */
};

static void print_reports(const struct tide_vulkan_reports *reports, FILE *to) {
  for (size_t i = 0; i < reports->count; i++) tide_vulkan_print_report(&reports->list[i], to);
}

/* Prints the reports that the user requested; the run goes on. */
static void show_reports(void *self) {
  const struct one_run *one = self;
  struct tide_vulkan_reports reports;
  if (!tide_vulkan_reports_read(&reports, one->directory)) return;
  if (!reports.count && !reports.broken) tide_tool_error("no report came");
  print_reports(&reports, stderr);
  tide_vulkan_reports_free(&reports);
}

/* Prints the end of the program, unless the program exited by itself. */
static void print_ending(const struct tide_vulkan_job *job,
                         const struct tide_vulkan_ending *ending) {
  char text[128];
  tide_vulkan_ending_text(ending, text, sizeof text);
  if (ending->end != TIDE_VULKAN_EXITED) tide_tool_error("'%s': %s", job->program[0], text);
  if (ending->left)
    tide_tool_error("'%s' left %zu process%s running, which %s ended", job->program[0],
                    ending->left, ending->left == 1 ? "" : "es",
                    ending->left == 1 ? "was" : "were");
}

static void print_json(const struct tide_vulkan_job *job, const struct tide_vulkan_ending *ending,
                       const struct tide_vulkan_reports *reports, int status, FILE *to) {
  struct tide_json json = tide_tool_json(to);
  tide_json_open(&json, NULL, '{');
  tide_json_text(&json, "mode", tide_vulkan_mode_name(job->mode));
  tide_vulkan_json_program(&json, job);
  tide_vulkan_json_ending(&json, "ended", ending);
  tide_json_number(&json, "unreadable_reports", reports->broken);
  tide_vulkan_json_reports(&json, reports);
  tide_json_integer(&json, "exit_status", status);
  tide_json_close(&json, '}');
}

/* Writes the report to the job's file or stderr. False: the reason has been printed. */
static bool write_report(const struct tide_vulkan_job *job, const struct tide_vulkan_ending *ending,
                         const struct tide_vulkan_reports *reports, int status) {
  char *temporary = NULL;
  int descriptor = job->report ? tide_tool_begin_file(job->report, &temporary) : -1;
  if (job->report && descriptor < 0) return false;
  FILE *to = job->report ? fdopen(dup(descriptor), "w") : stderr;
  bool good = to != NULL;
  if (to && job->json) print_json(job, ending, reports, status, to);
  else if (to) print_reports(reports, to);
  if (to && job->report) good = fclose(to) == 0;
  return job->report ? tide_tool_end_file(job->report, descriptor, temporary, good) : good;
}

static int choose_status(const struct tide_vulkan_ending *ending,
                         const struct tide_vulkan_reports *reports) {
  if (ending->end == TIDE_VULKAN_INTERRUPTED) return tide_vulkan_ending_status(ending);
  if (ending->end == TIDE_VULKAN_LIMIT || reports->broken || tide_vulkan_reports_lost(reports) ||
      tide_vulkan_reports_lines(reports, TIDE_VULKAN_LINE_FINDING))
    return TIDE_EXIT_FAILED;
  return reports->count ? tide_vulkan_ending_status(ending) : TIDE_EXIT_NOT_EXPLORED;
}

/* Reports on a finished run. Returns the exit status. */
static int report_run(const struct one_run *one, const struct tide_vulkan_ending *ending) {
  const struct tide_vulkan_job *job = one->job;
  struct tide_vulkan_reports reports;
  if (!tide_vulkan_reports_read(&reports, one->directory)) return TIDE_EXIT_FAILED;
  int status = choose_status(ending, &reports);
  print_ending(job, ending);
  if (!reports.count && !reports.broken) tide_vulkan_explain_silence(job);
  bool good = true;
  if (reports.count || job->json) good = write_report(job, ending, &reports, status);
  if (job->trace && reports.count)
    good = tide_vulkan_keep_trace(one->directory, job->trace) && good;
  if (job->save)
    good = tide_vulkan_save(one->directory, job->save, tide_vulkan_mode_name(job->mode)) && good;
  tide_vulkan_reports_free(&reports);
  return !good && status == TIDE_EXIT_OK ? TIDE_EXIT_FAILED : status;
}

int tide_vulkan_one_run(const struct tide_vulkan_job *job) {
  static struct tide_vulkan_directory directory; /* static: the signal thread may remove it */
  struct one_run one = {.job = job};
  if (!tide_vulkan_directory_create(&directory)) return TIDE_EXIT_FAILED;
  tide_vulkan_watch_signals(&directory);
  tide_vulkan_path(&directory, "run", one.directory);
  int status = TIDE_EXIT_FAILED;
  struct tide_vulkan_run run = {.program = job->program,
                                .directory = one.directory,
                                .limit_ns = job->limit_ns,
                                .show_reports = show_reports,
                                .self = &one};
  run.environment =
      tide_vulkan_environment(job, one.directory, &(struct tide_vulkan_extra){.has_seed = false});
  if (!run.environment) tide_tool_error("out of memory");
  if (run.environment && tide_vulkan_directory_clean(&directory)) {
    struct tide_vulkan_ending ending = tide_vulkan_run(&run);
    if (ending.end != TIDE_VULKAN_NOT_STARTED) status = report_run(&one, &ending);
  }
  tide_vulkan_environment_free(run.environment);
  tide_vulkan_directory_remove(&directory);
  return status;
}
