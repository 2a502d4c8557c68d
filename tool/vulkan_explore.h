/* tool/vulkan_explore.h: the state of `tidemark vulkan explore`, which runs a program many times.
 */
#ifndef TIDE_TOOL_VULKAN_EXPLORE_H
#define TIDE_TOOL_VULKAN_EXPLORE_H

#include "tool/vulkan_session.h"

/* ---- vulkan_compare.c ---- */

/* A target of --compare. */
struct tide_vulkan_target {
  const char *name; /* "stdout", or a file that the program writes */
  bool is_stdout;
  char plain[TIDE_VULKAN_PATH_MOST]; /* a copy from the first plain run */
};

struct tide_vulkan_targets {
  struct tide_vulkan_target list[TIDE_VULKAN_TARGETS_MOST];
  size_t count;
};

struct tide_vulkan_difference {
  const char *target; /* NULL: all are the same */
  bool is_missing;    /* the run did not write the file */
  uint64_t offset;    /* the first byte that differs, or that only one of them has */
};

/* Checks that each target can be compared. False: the reason has been printed. */
bool tide_vulkan_targets_init(struct tide_vulkan_targets *targets,
                              const struct tide_vulkan_job *job,
                              const struct tide_vulkan_directory *directory);
/* Removes the files, before a run. The first time they are moved aside, as FILE.before-tidemark.
 * False: the reason has been printed. */
bool tide_vulkan_targets_remove(const struct tide_vulkan_targets *targets, bool is_first);
/* Copies the output of the first plain run; `output` as of that run. The files that were moved
 * aside are removed. A file that the program did not write is an error. False: the reason has been
 * printed. */
bool tide_vulkan_targets_keep(const struct tide_vulkan_targets *targets, const char *output);
/* Moves files back that were moved aside and not written again. */
void tide_vulkan_targets_restore(const struct tide_vulkan_targets *targets);
/* Compares the output of a run with the copies. False: a file cannot be read; this has been
 * printed. */
bool tide_vulkan_targets_compare(const struct tide_vulkan_targets *targets, const char *output,
                                 struct tide_vulkan_difference *out_difference);

/* ---- vulkan_findings.c ---- */

struct tide_vulkan_total {
  char *text;
  uint64_t number;
};

struct tide_vulkan_totals {
  struct tide_vulkan_total *list;
  size_t count, capacity;
};

struct tide_vulkan_found {
  char *kind, *text;
  uint64_t *seeds; /* the seeds of the runs that showed it, each once */
  size_t seed_count, seed_capacity;
};

/* All reports of all runs, without repetitions. */
struct tide_vulkan_summary {
  struct tide_vulkan_totals counts, limits, schedules;
  struct tide_vulkan_found *findings;
  size_t finding_count, finding_capacity;
  char *layer; /* the file of the layer; NULL: no report came */
  bool is_cut; /* limits or findings beyond the bounds were dropped */
};

/* Adds the reports of one run, and its schedule, which may be empty. False: out of memory. */
bool tide_vulkan_summary_add(struct tide_vulkan_summary *summary,
                             const struct tide_vulkan_reports *reports, uint64_t seed,
                             const char *schedule);
void tide_vulkan_summary_free(struct tide_vulkan_summary *summary);
uint64_t tide_vulkan_summary_count(const struct tide_vulkan_summary *summary, const char *name);

/* ---- vulkan_pairs.c ---- */

/* Pairs of submissions that could go in either order, over all runs. All zero: none yet. */
struct tide_vulkan_pairs {
  struct tide_vulkan_pair *slots;
  size_t capacity, count;
  bool is_cut; /* pairs beyond the bound were dropped */
};

void tide_vulkan_pairs_add(struct tide_vulkan_pairs *pairs, const struct tide_vulkan_order *order);
/* Returns the number of pairs that went in only one of the two orders, in all runs. */
size_t tide_vulkan_pairs_untried(const struct tide_vulkan_pairs *pairs);
void tide_vulkan_pairs_fini(struct tide_vulkan_pairs *pairs);

/* ---- vulkan_explore.c ---- */

enum { /* the reasons for which a run counts as failed */
       TIDE_VULKAN_DIFFERS = 1,
       TIDE_VULKAN_STATUS = 2, /* an exit status other than the plain run's */
       TIDE_VULKAN_HANG = 4,
       TIDE_VULKAN_CRASH = 8,
       TIDE_VULKAN_DEVICE_LOST = 16,
       TIDE_VULKAN_FINDING = 32
};

/* A run under the layer. */
struct tide_vulkan_outcome {
  uint64_t seed;
  struct tide_vulkan_ending ending;
  unsigned failures;
  bool is_silent, is_broken; /* no report came; one came with errors */
  struct tide_vulkan_difference difference;
  char schedule[80];
  char *account; /* lines about a failure; NULL: none */
};

enum tide_vulkan_shrink_end {
  TIDE_VULKAN_SHRINK_NONE,           /* not tried; `why` may have the reason */
  TIDE_VULKAN_SHRINK_NOT_REPRODUCED, /* the recorded order does not fail again */
  TIDE_VULKAN_SHRINK_PAIR,           /* the pair alone fails */
  TIDE_VULKAN_SHRINK_PREFIX          /* no pair does; the prefix is the shortest that fails */
};

struct tide_vulkan_shrunk {
  enum tide_vulkan_shrink_end end;
  const char *why;
  uint64_t seed;         /* the failed run's seed */
  uint64_t first, later; /* the pair: `later` went first */
  size_t prefix, picks;  /* the lengths of the prefix and of the order */
  unsigned runs;
  bool is_cut_short; /* the limit of runs was reached */
  char order[4096];  /* the path of the saved prefix; empty: not saved */
  char *account;     /* the layer's lines about the pair; NULL: none */
};

enum tide_vulkan_verdict {
  TIDE_VULKAN_CLEAN,
  TIDE_VULKAN_FOUND,
  TIDE_VULKAN_NOT_EXPLORED,
  TIDE_VULKAN_NOT_COMPARABLE, /* the program alone ends differently the second time, or does not end
                                 well */
  TIDE_VULKAN_STOPPED         /* by a signal, or by an error that has been printed */
};

struct tide_vulkan_exploration {
  const struct tide_vulkan_job *job;
  struct tide_vulkan_directory directory;
  struct tide_vulkan_targets targets;
  struct tide_vulkan_ending plain;
  uint64_t slowest_ns; /* the slowest run that ended by itself */
  struct tide_vulkan_outcome *outcomes;
  size_t outcome_count;
  size_t failing; /* the index of the outcome with the order to shrink */
  bool has_failing;
  struct tide_vulkan_summary summary;
  struct tide_vulkan_pairs pairs; /* from the runs in which one process submitted */
  struct tide_vulkan_shrunk shrunk;
  char replay[4096]; /* the absolute path of --replay; empty: none */
  enum tide_vulkan_verdict verdict;
  int interrupt;    /* the signal that ended the exploration; 0: none */
  char reason[512]; /* the reason for which nothing was explored or compared */
};

/* Runs the program once under the layer. The caller frees the reports; the layer's files stay until
 * the next run. False: the exploration cannot go on; the reason has been printed. */
bool tide_vulkan_explore_once(struct tide_vulkan_exploration *exploration,
                              const struct tide_vulkan_extra *extra, uint64_t limit_ns,
                              struct tide_vulkan_outcome *out_outcome,
                              struct tide_vulkan_reports *out_reports);

/* ---- vulkan_shrink.c ---- */

/* Reads the order of a process in the directory of a run. False: there is none, or the error has
 * been printed. */
bool tide_vulkan_read_order(const char *run, uint64_t process, struct tide_vulkan_order *order);
/* Keeps the order of the run that has just failed. Sets `why` if the order cannot be shrunk. */
void tide_vulkan_shrink_keep(struct tide_vulkan_exploration *exploration,
                             const struct tide_vulkan_outcome *outcome,
                             const struct tide_vulkan_reports *reports);
/* Searches for the pair of submissions behind the kept failure. False: the exploration must
 * stop. */
bool tide_vulkan_shrink(struct tide_vulkan_exploration *exploration);
void tide_vulkan_shrink_fini(struct tide_vulkan_exploration *exploration);

/* ---- vulkan_explore_print.c ---- */

void tide_vulkan_print_outcome(const struct tide_vulkan_outcome *outcome, FILE *to);
void tide_vulkan_print_exploration(const struct tide_vulkan_exploration *exploration, FILE *to);

/* ---- vulkan_json.c ---- */

void tide_vulkan_json_exploration(const struct tide_vulkan_exploration *exploration, FILE *to);

#endif
