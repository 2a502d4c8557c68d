/* tidemark vulkan explore: the program alone twice, then once with each seed.
 *
 *   plain, plain --> the same? --> seed 0 (as submissions come) --> seeds 1 to N --> smaller?
 *
 * A run fails if its end or a target of --compare differs from the plain run's, if it hangs, or if
 * the layer has a finding. */
#include "tool/vulkan_explore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAIL_BYTES (16 << 10) /* read from the end of stderr */
#define TAIL_LINES 20
#define ACCOUNT_LINES_MOST 400 /* the most lines of the layer's text in one account */

static bool no_memory(void) {
  tide_tool_error("out of memory");
  return false;
}

/* ---- the account of a failed run ------------------------------------------------- */

/* Reads the last lines of a file. Returns their number of bytes. */
static size_t read_tail(const char *path, char *buffer, size_t size) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return 0;
  off_t end = lseek(descriptor, 0, SEEK_END);
  off_t begin = end > (off_t)size ? end - (off_t)size : 0;
  ssize_t got = pread(descriptor, buffer, size, begin);
  close(descriptor);
  if (got <= 0) return 0;
  size_t at = (size_t)got, lines = 0;
  while (at > 0 && (buffer[at - 1] != '\n' || at == (size_t)got || ++lines < TAIL_LINES)) at--;
  memmove(buffer, buffer + at, (size_t)got - at);
  return (size_t)got - at;
}

static void print_tail(const char *output, FILE *to) {
  static char text[TAIL_BYTES];
  char path[TIDE_VULKAN_PATH_MOST + 8];
  snprintf(path, sizeof path, "%s.stderr", output);
  size_t length = read_tail(path, text, sizeof text);
  if (length) fputs("the end of its stderr:\n", to);
  for (size_t at = 0; at < length;) {
    const char *feed = memchr(text + at, '\n', length - at);
    size_t line = feed ? (size_t)(feed - (text + at)) : length - at;
    fprintf(to, "| %.*s\n", (int)line, text + at);
    at += line + 1;
  }
}

/* Makes the account of a failed run: the layer's text for a hang or a lost device, and the end of
 * stderr. Findings are printed once for all runs. NULL: out of memory. */
static char *make_account(const struct tide_vulkan_reports *reports, const char *output,
                          unsigned failures) {
  char *account = NULL;
  size_t length = 0, lines = 0;
  FILE *to = open_memstream(&account, &length);
  if (!to) return NULL;
  for (size_t i = 0; i < reports->count && lines < ACCOUNT_LINES_MOST; i++) {
    const struct tide_vulkan_report *report = &reports->list[i];
    lines += report->line_count;
    if (reports->count > 1)
      fprintf(to, "%s (process %llu):\n", report->name, (unsigned long long)report->process);
    if (failures & (TIDE_VULKAN_HANG | TIDE_VULKAN_DEVICE_LOST))
      tide_vulkan_print_lines(report, TIDE_VULKAN_LINE_TEXT, "", to);
  }
  print_tail(output, to);
  if (fclose(to) == 0) return account;
  free(account);
  return NULL;
}

/* ---- one run --------------------------------------------------------------------- */

/* Writes the schedule of a run: the process's own, or one hash over all processes. */
static void combine_schedules(const struct tide_vulkan_reports *reports, char *buffer,
                              size_t size) {
  uint64_t all = 0;
  size_t count = 0;
  buffer[0] = 0;
  for (size_t i = 0; i < reports->count; i++) {
    const char *schedule = reports->list[i].schedule;
    uint64_t hash = 0xcbf29ce484222325;
    if (!schedule) continue;
    for (const char *at = schedule; *at; at++) hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
    all += hash;
    if (!count++) snprintf(buffer, size, "%s", schedule);
  }
  if (count > 1) snprintf(buffer, size, "%016llx", (unsigned long long)all);
}

static unsigned judge_ending(const struct tide_vulkan_ending *plain,
                             const struct tide_vulkan_ending *ending) {
  if (ending->end == TIDE_VULKAN_LIMIT) return TIDE_VULKAN_HANG;
  if (ending->end == TIDE_VULKAN_KILLED) return TIDE_VULKAN_CRASH;
  if (ending->end == TIDE_VULKAN_EXITED && ending->number != plain->number)
    return TIDE_VULKAN_STATUS;
  return 0;
}

/* Sets whether a finished run failed, and why. False: the reason has been printed. */
static bool judge_run(struct tide_vulkan_exploration *e, const char *output,
                      const struct tide_vulkan_reports *reports,
                      struct tide_vulkan_outcome *outcome) {
  outcome->failures = judge_ending(&e->plain, &outcome->ending);
  outcome->is_silent = !reports->count && !reports->broken;
  outcome->is_broken = reports->broken > 0;
  if (tide_vulkan_reports_lost(reports)) outcome->failures |= TIDE_VULKAN_DEVICE_LOST;
  if (tide_vulkan_reports_lines(reports, TIDE_VULKAN_LINE_FINDING))
    outcome->failures |= TIDE_VULKAN_FINDING;
  combine_schedules(reports, outcome->schedule, sizeof outcome->schedule);
  if (outcome->ending.end == TIDE_VULKAN_EXITED) {
    if (!tide_vulkan_targets_compare(&e->targets, output, &outcome->difference)) return false;
    if (outcome->difference.target) outcome->failures |= TIDE_VULKAN_DIFFERS;
    if (outcome->ending.took_ns > e->slowest_ns) e->slowest_ns = outcome->ending.took_ns;
  }
  if (!outcome->failures) return true;
  outcome->account = make_account(reports, output, outcome->failures);
  return outcome->account || no_memory();
}

static void show_reports(void *self) {
  const struct tide_vulkan_exploration *e = self;
  struct tide_vulkan_reports reports;
  char run[TIDE_VULKAN_PATH_MOST];
  if (!tide_vulkan_reports_read(&reports, tide_vulkan_path(&e->directory, "run", run))) return;
  tide_tool_progress_over();
  for (size_t i = 0; i < reports.count; i++) tide_vulkan_print_report(&reports.list[i], stderr);
  tide_vulkan_reports_free(&reports);
}

/* Runs the program, with the layer if there is `extra`. False: the program could not be started, or
 * a signal ended the exploration. */
static bool run_program(struct tide_vulkan_exploration *e, const struct tide_vulkan_extra *extra,
                        uint64_t limit_ns, const char *output, struct tide_vulkan_ending *ending) {
  char directory[TIDE_VULKAN_PATH_MOST];
  tide_vulkan_path(&e->directory, "run", directory);
  struct tide_vulkan_run run = {.program = e->job->program,
                                .directory = extra ? directory : NULL,
                                .output = output,
                                .limit_ns = limit_ns,
                                .show_reports = extra ? show_reports : NULL,
                                .self = e};
  run.environment = tide_vulkan_environment(e->job, run.directory, extra);
  if (!run.environment) return no_memory();
  bool good = tide_vulkan_directory_clean(&e->directory);
  if (good) *ending = tide_vulkan_run(&run);
  tide_vulkan_environment_free(run.environment);
  if (good && ending->end == TIDE_VULKAN_INTERRUPTED) e->interrupt = ending->number;
  return good && ending->end != TIDE_VULKAN_NOT_STARTED && !e->interrupt;
}

bool tide_vulkan_explore_once(struct tide_vulkan_exploration *e,
                              const struct tide_vulkan_extra *extra, uint64_t limit_ns,
                              struct tide_vulkan_outcome *out_outcome,
                              struct tide_vulkan_reports *out_reports) {
  char run[TIDE_VULKAN_PATH_MOST], output[TIDE_VULKAN_PATH_MOST];
  tide_vulkan_path(&e->directory, "run", run);
  tide_vulkan_path(&e->directory, "seed", output);
  *out_outcome = (struct tide_vulkan_outcome){.seed = extra->seed};
  *out_reports = (struct tide_vulkan_reports){.list = NULL};
  if (!tide_vulkan_targets_remove(&e->targets, false)) return false;
  if (!run_program(e, extra, limit_ns, output, &out_outcome->ending)) return false;
  if (!tide_vulkan_reports_read(out_reports, run) || out_reports->foreign) return false;
  return judge_run(e, output, out_reports, out_outcome);
}

/* ---- the program alone ----------------------------------------------------------- */

static bool refuse_run(struct tide_vulkan_exploration *e, const char *format, ...)
    TIDE_PRINTF(2, 3);
static bool refuse_run(struct tide_vulkan_exploration *e, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(e->reason, sizeof e->reason, format, list);
  va_end(list);
  e->verdict = TIDE_VULKAN_NOT_COMPARABLE;
  return false;
}

static bool check_plain(struct tide_vulkan_exploration *e, const struct tide_vulkan_ending *ending,
                        const char *output) {
  char text[128];
  if (ending->end == TIDE_VULKAN_EXITED) return true;
  print_tail(output, stderr);
  return refuse_run(e, "without the layer, too, the program does not end well: %s",
                    tide_vulkan_ending_text(ending, text, sizeof text));
}

/* Runs the program twice without the layer. False: the runs cannot serve as the reference. */
static bool run_plain(struct tide_vulkan_exploration *e) {
  char first[TIDE_VULKAN_PATH_MOST], second[TIDE_VULKAN_PATH_MOST];
  struct tide_vulkan_ending again;
  struct tide_vulkan_difference difference;
  tide_vulkan_path(&e->directory, "plain", first);
  tide_vulkan_path(&e->directory, "again", second);
  tide_tool_progress("without the layer, run 1 of 2");
  bool good = tide_vulkan_targets_remove(&e->targets, true) &&
              run_program(e, NULL, e->job->limit_ns, first, &e->plain) &&
              check_plain(e, &e->plain, first) && tide_vulkan_targets_keep(&e->targets, first);
  if (!good) tide_vulkan_targets_restore(&e->targets);
  if (!good) return false;
  tide_tool_progress("without the layer, run 2 of 2");
  if (!tide_vulkan_targets_remove(&e->targets, false) ||
      !run_program(e, NULL, e->job->limit_ns, second, &again) || !check_plain(e, &again, second) ||
      !tide_vulkan_targets_compare(&e->targets, second, &difference))
    return false;
  e->slowest_ns = e->plain.took_ns > again.took_ns ? e->plain.took_ns : again.took_ns;
  if (again.number != e->plain.number)
    return refuse_run(e,
                      "the exit status differs from run to run without the layer (%d, %d): nothing "
                      "can be compared",
                      e->plain.number, again.number);
  if (difference.target)
    return refuse_run(e,
                      "the output differs from run to run without the layer (%s, from byte %llu "
                      "on): nothing can be compared",
                      difference.target, (unsigned long long)difference.offset);
  return true;
}

/* ---- all seeds ------------------------------------------------------------------- */

static bool save_run(const struct tide_vulkan_exploration *e, uint64_t seed) {
  char run[TIDE_VULKAN_PATH_MOST], name[32];
  if (!e->job->save) return true;
  snprintf(name, sizeof name, "seed-%llu", (unsigned long long)seed);
  return tide_vulkan_save(tide_vulkan_path(&e->directory, "run", run), e->job->save,
                          e->replay[0] ? "replay" : name);
}

/* Adds the pairs that the run could have tried. Skips runs of several processes: their submission
 * numbers cannot be combined. */
static void add_pairs(struct tide_vulkan_exploration *e) {
  uint64_t processes[TIDE_VULKAN_PROCESSES_MOST];
  struct tide_vulkan_order order;
  char run[TIDE_VULKAN_PATH_MOST];
  tide_vulkan_path(&e->directory, "run", run);
  if (tide_vulkan_list(run, "order", processes) != 1) return;
  if (!tide_vulkan_read_order(run, processes[0], &order)) return;
  tide_vulkan_pairs_add(&e->pairs, &order);
  tide_vulkan_order_fini(&order);
}

/* Runs one seed and keeps its outcome. */
static bool run_seed(struct tide_vulkan_exploration *e, uint64_t seed) {
  struct tide_vulkan_extra extra = {.has_seed = true, .seed = seed};
  struct tide_vulkan_outcome *outcome = &e->outcomes[e->outcome_count];
  struct tide_vulkan_reports reports;
  if (e->replay[0]) extra.replay = e->replay;
  bool good = tide_vulkan_explore_once(e, &extra, e->job->limit_ns, outcome, &reports);
  if (good) {
    e->outcome_count++;
    good = tide_vulkan_summary_add(&e->summary, &reports, seed, outcome->schedule) || no_memory();
    good = good && save_run(e, seed);
    add_pairs(e);
  }
  if (good && outcome->failures && !e->has_failing && !e->replay[0]) {
    e->has_failing = true;
    e->failing = e->outcome_count - 1;
    tide_vulkan_shrink_keep(e, outcome, &reports);
  }
  tide_vulkan_reports_free(&reports);
  return good;
}

static uint64_t seed_number(const struct tide_vulkan_job *job, uint64_t index) {
  return job->has_seed && index ? job->seed : index;
}

/* Runs seed 0 and the others; for a replay, one run. */
static bool run_seeds(struct tide_vulkan_exploration *e) {
  const struct tide_vulkan_job *job = e->job;
  uint64_t count = job->replay ? 1 : job->has_seed ? 1 + (job->seed != 0) : 1 + job->seeds;
  e->outcomes = calloc(count, sizeof *e->outcomes);
  if (!e->outcomes) return no_memory();
  for (uint64_t i = 0, failed = 0; i < count; i++) {
    uint64_t seed = seed_number(job, i);
    if (job->replay) tide_tool_progress("replay of '%s'", job->replay);
    else
      tide_tool_progress("seed %llu, run %llu of %llu, %llu failed", (unsigned long long)seed,
                         (unsigned long long)i + 1, (unsigned long long)count,
                         (unsigned long long)failed);
    if (!run_seed(e, seed)) return false;
    failed += e->outcomes[i].failures != 0;
    tide_tool_progress_over();
    if (!job->json && !job->report) tide_vulkan_print_outcome(&e->outcomes[i], stdout);
    if (fflush(stdout) != 0) return false; /* main() reports the error */
  }
  return true;
}

/* ---- the end --------------------------------------------------------------------- */

static void not_explored(struct tide_vulkan_exploration *e, const char *reason) {
  e->verdict = TIDE_VULKAN_NOT_EXPLORED;
  snprintf(e->reason, sizeof e->reason, "%s", reason);
}

/* Sets the verdict on all runs together. */
static void judge_all(struct tide_vulkan_exploration *e) {
  size_t failed = 0, silent = 0, broken = 0;
  for (size_t i = 0; i < e->outcome_count; i++) {
    failed += e->outcomes[i].failures != 0;
    silent += e->outcomes[i].is_silent;
    broken += e->outcomes[i].is_broken;
  }
  e->verdict = TIDE_VULKAN_CLEAN;
  if (failed) e->verdict = TIDE_VULKAN_FOUND;
  else if (broken) e->verdict = TIDE_VULKAN_STOPPED;
  else if (silent == e->outcome_count) not_explored(e, "no report came from the layer");
  else if (silent) not_explored(e, "no report came from the layer in some of the runs");
  else if (e->job->drop_edge && !tide_vulkan_summary_count(&e->summary, "dropped"))
    not_explored(e, "the program has no such edge to leave out");
  else if (!tide_vulkan_summary_count(&e->summary, "choices"))
    not_explored(e, "no run met a choice: one queue, or everything is ordered");
  if (e->outcome_count && silent == e->outcome_count) tide_vulkan_explain_silence(e->job);
}

static int exit_status(const struct tide_vulkan_exploration *e) {
  static const int statuses[] = {[TIDE_VULKAN_CLEAN] = TIDE_EXIT_OK,
                                 [TIDE_VULKAN_FOUND] = TIDE_EXIT_FAILED,
                                 [TIDE_VULKAN_NOT_EXPLORED] = TIDE_EXIT_NOT_EXPLORED,
                                 [TIDE_VULKAN_NOT_COMPARABLE] = TIDE_EXIT_FAILED,
                                 [TIDE_VULKAN_STOPPED] = TIDE_EXIT_FAILED};
  return e->interrupt ? 128 + e->interrupt : statuses[e->verdict];
}

static bool print_all(const struct tide_vulkan_exploration *e) {
  const struct tide_vulkan_job *job = e->job;
  char *temporary = NULL;
  int descriptor = job->report ? tide_tool_begin_file(job->report, &temporary) : -1;
  if (job->report && descriptor < 0) return false;
  FILE *to = job->report ? fdopen(dup(descriptor), "w") : stdout;
  bool good = to != NULL;
  if (to && job->json) tide_vulkan_json_exploration(e, to);
  else if (to) tide_vulkan_print_exploration(e, to);
  if (to && job->report) good = fclose(to) == 0;
  return job->report ? tide_tool_end_file(job->report, descriptor, temporary, good) : good;
}

/* Finds the absolute path of --replay, and checks that it is an order. False: the reason has been
 * printed. */
static bool check_replay(struct tide_vulkan_exploration *e) {
  struct tide_vulkan_order order;
  struct tide_diag diag = {.status = TIDE_OK};
  const char *path = e->job->replay, *why = NULL;
  char real[4096];
  size_t length = 0;
  if (!path) return true;
  int descriptor = tide_tool_open_input(path, &why);
  char *text =
      descriptor < 0 ? NULL : tide_tool_read_input(descriptor, TIDE_VULKAN_FILE_MOST, &length);
  if (!text && !why) why = strerror(errno);
  if (descriptor >= 0) close(descriptor);
  if (!text || !realpath(path, real)) {
    tide_tool_error("--replay %s: %s", path, why ? why : strerror(errno));
    free(text);
    return false;
  }
  snprintf(e->replay, sizeof e->replay, "%s", real);
  enum tide_status status = tide_vulkan_order_parse(&order, text, length, &diag);
  free(text);
  if (status == TIDE_OK) tide_vulkan_order_fini(&order);
  else tide_tool_error("%s:%u:%u: %s", path, diag.line, diag.column, diag.text);
  return status == TIDE_OK;
}

/* Runs the whole exploration. */
static void run_exploration(struct tide_vulkan_exploration *e) {
  e->verdict = TIDE_VULKAN_STOPPED;
  if (!run_plain(e) || !run_seeds(e)) return;
  judge_all(e);
  char run[TIDE_VULKAN_PATH_MOST];
  tide_vulkan_path(&e->directory, "run", run);
  if (e->job->trace && !tide_vulkan_keep_trace(run, e->job->trace) &&
      e->verdict == TIDE_VULKAN_CLEAN)
    e->verdict = TIDE_VULKAN_STOPPED;
  if (e->has_failing && !e->job->no_shrink && !tide_vulkan_shrink(e) && !e->interrupt)
    e->shrunk.why = "the search ended by an error";
}

static void free_exploration(struct tide_vulkan_exploration *e) {
  for (size_t i = 0; i < e->outcome_count; i++) free(e->outcomes[i].account);
  free(e->outcomes);
  tide_vulkan_summary_free(&e->summary);
  tide_vulkan_pairs_fini(&e->pairs);
  tide_vulkan_shrink_fini(e);
}

int tide_vulkan_explore(const struct tide_vulkan_job *job) {
  static struct tide_vulkan_exploration e; /* static: the signal thread may remove its directory */
  e.job = job;
  if (!check_replay(&e) || !tide_vulkan_directory_create(&e.directory)) return TIDE_EXIT_FAILED;
  tide_vulkan_watch_signals(&e.directory);
  if (tide_vulkan_targets_init(&e.targets, job, &e.directory)) run_exploration(&e);
  else e.verdict = TIDE_VULKAN_STOPPED;
  tide_tool_progress_over();
  int status = exit_status(&e);
  bool is_told = e.verdict != TIDE_VULKAN_STOPPED || e.outcome_count;
  if (is_told && !print_all(&e) && status == TIDE_EXIT_OK) status = TIDE_EXIT_FAILED;
  free_exploration(&e);
  tide_vulkan_directory_remove(&e.directory);
  return status;
}
