/* tool/vulkan_session.h: `tidemark vulkan`, which runs a program under the layer
 * (layer/protocol.h).
 *
 *   command_vulkan.c      the command line
 *   vulkan_one_run.c      explain, audit: one run, its reports
 *   vulkan_explore.c      explore: plain runs, seeds, differences
 *   vulkan_shrink.c       the pair of submissions behind a failing order
 *   vulkan_run.c          starts, watches and ends one program
 *   vulkan_processes.c    the processes of a run, from /proc
 *   vulkan_signals.c      signals to the tool
 *   vulkan_environment.c  the environment of a run
 *   vulkan_directory.c    the private directory
 *   vulkan_compare.c      outputs of two runs
 *   vulkan_findings.c     the findings of all runs, each once
 *   vulkan_pairs.c        pairs of submissions, and the orders tried
 *   vulkan_print.c, vulkan_json.c, vulkan_explore_print.c
 *   vulkan_report.c       the layer's reports; layer/recorded_order.c its orders */
#ifndef TIDE_TOOL_VULKAN_SESSION_H
#define TIDE_TOOL_VULKAN_SESSION_H

#include "tool/tool.h"
#include "tool/vulkan_report.h"

#include <sys/types.h>

enum { TIDE_EXIT_NOT_EXPLORED = 3 }; /* also if no report came */

#define TIDE_VULKAN_TARGETS_MOST 16
#define TIDE_VULKAN_PROCESSES_MOST 256 /* the most processes with a report */

enum tide_vulkan_mode { TIDE_VULKAN_EXPLAIN, TIDE_VULKAN_EXPLORE, TIDE_VULKAN_AUDIT };

/* The command line. */
struct tide_vulkan_job {
  enum tide_vulkan_mode mode;
  char **program; /* ends with NULL */
  uint64_t seeds, seed;
  bool has_seed;              /* this seed alone */
  uint64_t queues, drop_edge; /* 0: not given */
  const char *drop;           /* "own,known"; NULL: not given */
  bool families, in_queue, json, no_shrink;
  uint64_t limit_ns; /* 0: none */
  const char *trace, *report, *save, *replay;
  const char *targets[TIDE_VULKAN_TARGETS_MOST];
  size_t target_count;
};

const char *tide_vulkan_mode_name(enum tide_vulkan_mode mode);
/* Runs the job. Returns the exit status. */
int tide_vulkan_one_run(const struct tide_vulkan_job *job);
int tide_vulkan_explore(const struct tide_vulkan_job *job);

/* ---- vulkan_directory.c ---- */

/* A directory of the tool's own, for the files of the runs. */
struct tide_vulkan_directory {
  char path[512];
};

/* False: the reason has been printed. */
bool tide_vulkan_directory_create(struct tide_vulkan_directory *directory);
/* Removes the directory and all that is in it. */
void tide_vulkan_directory_remove(struct tide_vulkan_directory *directory);
/* Writes "DIRECTORY/NAME" to a buffer of TIDE_VULKAN_PATH_MOST bytes, and returns it. */
#define TIDE_VULKAN_PATH_MOST 640
const char *tide_vulkan_path(const struct tide_vulkan_directory *directory, const char *name,
                             char *buffer);
/* Empties or makes DIRECTORY/run, where the layer writes, and puts the layer's manifest there.
 * False: the reason has been printed. */
bool tide_vulkan_directory_clean(const struct tide_vulkan_directory *directory);
/* Lists the processes that have a file PID.ENDING in `run`, in ascending order, at most
 * TIDE_VULKAN_PROCESSES_MOST. */
size_t tide_vulkan_list(const char *run, const char *ending, uint64_t *out_processes);
/* Returns the text of run/PID.ENDING, for the caller to free. NULL: the reason has been printed. */
char *tide_vulkan_read(const char *run, uint64_t process, const char *ending, size_t *out_length);
/* Copies a file. `to` appears by rename. False: the reason has been printed. */
bool tide_vulkan_copy_file(const char *from, const char *to);
/* Keeps the largest PID.trace of the run as `to`. False: the reason has been printed. */
bool tide_vulkan_keep_trace(const char *run, const char *to);
/* Keeps the reports and orders of the run as FOLDER/NAME.report and so on. False: the reason has
 * been printed. */
bool tide_vulkan_save(const char *run, const char *folder, const char *name);

/* The reports of one run. */
struct tide_vulkan_reports {
  struct tide_vulkan_report *list;
  size_t count;
  size_t broken;  /* files with errors, and `foreign`; each error has been printed */
  size_t foreign; /* reports of another layer than this tool's */
};

/* Reads all reports of `run`. False: out of memory, which has been printed. */
bool tide_vulkan_reports_read(struct tide_vulkan_reports *reports, const char *run);
void tide_vulkan_reports_free(struct tide_vulkan_reports *reports);
/* Returns the sum of a count over all reports. */
uint64_t tide_vulkan_reports_count(const struct tide_vulkan_reports *reports, const char *name);
size_t tide_vulkan_reports_lines(const struct tide_vulkan_reports *reports,
                                 enum tide_vulkan_line_kind kind);
/* True if a process lost its device. */
bool tide_vulkan_reports_lost(const struct tide_vulkan_reports *reports);

/* ---- vulkan_environment.c ---- */

/* Options of one run, besides the job's. */
struct tide_vulkan_extra {
  bool has_seed, has_prefix, has_after;
  uint64_t seed, prefix, held, until; /* after=HELD:UNTIL */
  const char *replay;                 /* an absolute path; NULL: none */
};

/* Returns the environment of a run; NULL: out of memory. The caller frees it with
 * tide_vulkan_environment_free(). `run`: the layer's output directory; NULL: no layer. */
char **tide_vulkan_environment(const struct tide_vulkan_job *job, const char *run,
                               const struct tide_vulkan_extra *extra);
void tide_vulkan_environment_free(char **environment);
/* Returns the path of the layer's file. */
const char *tide_vulkan_layer_file(char *buffer, size_t size);
/* Writes the manifest that makes the loader load this layer and no other. False: the reason has
 * been printed. */
bool tide_vulkan_write_manifest(const char *run);
/* Prints the possible causes of a run without a report, and how to check each. */
void tide_vulkan_explain_silence(const struct tide_vulkan_job *job);

/* ---- vulkan_processes.c ---- */

struct tide_vulkan_processes {
  pid_t *list;
  size_t count, capacity;
};

/* Lists the descendants of this process, including zombies, without `strangers` (NULL: none) and
 * their descendants. False: out of memory, or there is no /proc. */
bool tide_vulkan_descendants(struct tide_vulkan_processes *found,
                             const struct tide_vulkan_processes *strangers);
/* ---- vulkan_signals.c ---- */

/* From here on, a signal to the tool goes to the run in progress. If no run is in progress, or two
 * signals did not end it, SIGINT, SIGTERM and SIGHUP remove the directory and end the tool. */
void tide_vulkan_watch_signals(struct tide_vulkan_directory *directory);
/* Sets whether a run is in progress. */
void tide_vulkan_set_running(bool is_running);
/* Returns the next signal of the run in progress, SIGCHLD, too; 0: none came in that time. */
int tide_vulkan_next_signal(uint64_t timeout_ns);
/* Restores the signal mask and actions that tide_vulkan_watch_signals() and main() changed. For a
 * child, before it executes a program. */
void tide_vulkan_reset_signals(void);

/* ---- vulkan_run.c ---- */

enum tide_vulkan_end {
  TIDE_VULKAN_EXITED,      /* number: the exit status */
  TIDE_VULKAN_KILLED,      /* number: the signal */
  TIDE_VULKAN_LIMIT,       /* the run reached the limit */
  TIDE_VULKAN_INTERRUPTED, /* number: the signal that the tool got */
  TIDE_VULKAN_NOT_STARTED  /* the reason has been printed */
};

struct tide_vulkan_ending {
  enum tide_vulkan_end end;
  int number;
  uint64_t took_ns;
  size_t left; /* processes that still ran when the program had ended, and were ended */
};

struct tide_vulkan_run {
  char **program, **environment;
  const char *directory; /* the layer's output directory; NULL: without the layer */
  const char *output;    /* stdout and stderr go to OUTPUT.stdout and OUTPUT.stderr, and stdin is
                            /dev/null; NULL: they are the tool's own */
  uint64_t limit_ns;     /* 0: none */
  /* Called when the reports requested by the user have come; may be NULL. */
  void (*show_reports)(void *self);
  void *self;
};

/* Runs a program until all its processes have ended. */
struct tide_vulkan_ending tide_vulkan_run(const struct tide_vulkan_run *run);
/* Writes "exit status 3", "killed by signal 11 (Segmentation fault)". Returns the buffer. */
const char *tide_vulkan_ending_text(const struct tide_vulkan_ending *ending, char *buffer,
                                    size_t size);
/* Returns the exit status; for a signal N, 128 + N, as shells do. */
int tide_vulkan_ending_status(const struct tide_vulkan_ending *ending);

/* ---- vulkan_print.c, vulkan_json.c ---- */

void tide_vulkan_print_report(const struct tide_vulkan_report *report, FILE *to);
void tide_vulkan_print_layer(const char *file, const char *indent, FILE *to);
/* Prints the lines of a kind, one below the other. */
void tide_vulkan_print_lines(const struct tide_vulkan_report *report,
                             enum tide_vulkan_line_kind kind, const char *indent, FILE *to);
void tide_vulkan_json_reports(struct tide_json *json, const struct tide_vulkan_reports *reports);
void tide_vulkan_json_ending(struct tide_json *json, const char *key,
                             const struct tide_vulkan_ending *ending);
void tide_vulkan_json_program(struct tide_json *json, const struct tide_vulkan_job *job);

#endif
