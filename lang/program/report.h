/* program/report.h: prints the results of runs as lines for people. */
#ifndef TIDE_PROGRAM_REPORT_H
#define TIDE_PROGRAM_REPORT_H

#include "base/text.h"
#include "tidemark/run.h"

#define TIDE_REPORT_TIMES 99

struct tide_times {
  uint64_t list[TIDE_REPORT_TIMES]; /* ns */
  size_t count;
};

/* A run that is shown as a row of the tables. */
struct tide_report_row {
  bool there;
  struct tide_run_result result;
  struct tide_wait_counter waits; /* counted for paused runs */
  bool counted;                   /* `waits` is valid */
};

struct tide_run_report {
  const struct tide_plan_tables *tables;
  const char *devices, *outputs; /* extra lines; NULL: none; not shown when quiet */
  struct tide_plan_counts counts;
  struct tide_report_row paused; /* decided by submission alone */
  struct tide_report_row online; /* a run without pauses */
  uint64_t unlimited_memory;     /* bytes with which `paused` has no waits for memory; 0: unknown */
  bool checked;
  uint64_t files, file_bytes, buffers, buffer_bytes; /* compared by the check */
  uint64_t findings;
  enum tide_run_mode baseline; /* TIDE_RUN_TRACKED: none */
  struct tide_run_result baseline_result;
  struct tide_times tracked_times, baseline_times;
  bool stats; /* print more lines */
  bool quiet; /* print nothing that differs from run to run */
};

/* Formats a size as --memory takes it: "4M", "320K", "1001". Returns the buffer. */
const char *tide_report_size(uint64_t bytes, char *buffer, size_t size);

void tide_report_print(const struct tide_run_report *report, struct tide_text *text);

/* Sorts the list. Returns the middle value, or the mean of the two middle ones; 0: no values. */
uint64_t tide_times_median(struct tide_times *times);
uint64_t tide_times_least(const struct tide_times *times);
uint64_t tide_times_most(const struct tide_times *times);
const char *tide_run_mode_name(enum tide_run_mode mode);

#endif
