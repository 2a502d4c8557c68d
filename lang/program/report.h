/* program/report.h: what runs had to say, in lines for people. */
#ifndef TIDE_PROGRAM_REPORT_H
#define TIDE_PROGRAM_REPORT_H

#include "base/text.h"
#include "tidemark/run.h"

#define TIDE_REPORT_TIMES 99

struct tide_times {
  uint64_t list[TIDE_REPORT_TIMES]; /* ns */
  size_t count;
};

/* Of a run whose waits are shown as a row of the table. */
struct tide_report_row {
  bool there;
  struct tide_run_result result;
  struct tide_wait_counter waits; /* of paused runs */
  bool counted;                   /* `waits` was used */
};

struct tide_run_report {
  const struct tide_plan_tables *tables;
  const char *devices, *outputs; /* lines of their own, if not NULL and not quiet */
  struct tide_plan_counts counts;
  struct tide_report_row paused; /* what submission alone decides */
  struct tide_report_row online; /* a run as it happened */
  uint64_t unlimited_memory;     /* bytes with which `paused` has no waits for memory; 0: unknown */
  bool checked;
  uint64_t files, file_bytes, buffers, buffer_bytes; /* compared */
  uint64_t findings;
  enum tide_run_mode baseline; /* TIDE_RUN_TRACKED: none */
  struct tide_run_result baseline_result;
  struct tide_times tracked_times, baseline_times;
  bool stats; /* more lines */
  bool quiet; /* nothing that differs from run to run */
};

/* "4M", "320K", "1001": as --memory takes it. Returns the buffer. */
const char *tide_report_size(uint64_t bytes, char *buffer, size_t size);

void tide_report_print(const struct tide_run_report *report, struct tide_text *text);

/* In place. The middle one, or the mean of the two in the middle; 0 when there are none. */
uint64_t tide_times_median(struct tide_times *times);
uint64_t tide_times_least(const struct tide_times *times);
uint64_t tide_times_most(const struct tide_times *times);
const char *tide_run_mode_name(enum tide_run_mode mode);

#endif
