/* tool/job.h: the options of `tidemark run`, and finished runs. */
#ifndef TIDE_TOOL_JOB_H
#define TIDE_TOOL_JOB_H

#include "program/report.h"
#include "tool/tool.h"

#include <pthread.h>

struct tide_job {
  struct tide_tool_program program;
  const char *input, *output, *trace_path;
  enum tide_run_mode baseline; /* TIDE_RUN_TRACKED: none */
  bool check, json, paused, go_on, keep_on_host;
  bool repeat_given;
  uint64_t repeat, seed, memory;
  const struct tide_platform *platform;
  struct tide_platform seeded;
  struct tide_run_report report;
  char devices[512], outputs[512];
  pthread_mutex_t lock; /* guards the fields below */
  uint64_t findings;
};

/* The differences between runs of one job. */
struct tide_job_kind {
  enum tide_run_mode mode;
  bool paused, submit_only, check;
  bool may_lack_memory; /* out of memory is no error: the outcome has no run */
  bool dry; /* with submit_only: memory is unlimited and not real; errors are not printed */
  const struct tide_sink *sink;
  const char *name; /* the name in the progress line */
};

/* A finished run, with its files still open. */
struct tide_outcome {
  struct tide_tool_files *files;
  struct tide_run *run;
  struct tide_run_result result;
};

/* Runs the job once. False: the error has been printed, and nothing is left. */
bool tide_job_run(struct tide_job *job, const struct tide_job_kind *kind,
                  struct tide_outcome *out_outcome);
/* Frees an outcome. Blocks until its operations are over, for ten seconds at most; then the run is
 * left behind. */
void tide_outcome_drop(struct tide_outcome *outcome);
/* True if a run was left behind: its plan, plug-ins and trace must stay. */
bool tide_job_left_one(void);
/* Fills in the report's texts about the run with the kept outputs. */
void tide_job_describe(struct tide_job *job, const struct tide_outcome *outcome);

/* ---- compare.c ---- */
/* Compares every byte of every output file and of every buffer that is not scratch. False: the
 * first difference has been printed. */
bool tide_job_compare(struct tide_job *job, const struct tide_outcome *reference,
                      const struct tide_outcome *outcome, const char *name);

/* ---- run_json.c ---- */
void tide_job_print_json(const struct tide_job *job, FILE *to);

#endif
