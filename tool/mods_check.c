/* tidemark mods check, tidemark mods opt. */
#include "tool/mods_commands.h"

#include <string.h>

#define COMMON                                                                                     \
  {"--split-input-file", NULL, "parts between lines of // ----- are files of their own"},          \
      {"--verify-diagnostics", NULL,                                                               \
       "the file says what is wrong with it: // expected-error@+1 {{…}}"},                         \
      {"--allow-unregistered-dialect", NULL,                                                       \
       "operations that are not known are taken in their generic form"},                           \
      {"--errors", "N", "shows at most so many errors; 20 is the default, 0: all"}, {              \
    "--partial", "error|mbarrier",                                                                 \
        "masks may leave out participants: mbarriers stand in for the cluster's"                   \
  }

static const struct tide_tool_option check_options[] = {COMMON, {NULL, NULL, NULL}};
static const struct tide_tool_usage check_usage = {
    "mods check", "FILE", "Parses and verifies a file; - is stdin.", check_options,
    "Exit status 0: all is well; 1: something is wrong, or the file cannot be read; 2: the "
    "command\n"
    "line is. -option and --option are the same."};

static const struct tide_tool_option opt_options[] = {
    COMMON,
    {"--fold", NULL, "drops throttles of profile 0 and unused reads of the SM id"},
    {"--throttle", "auto",
     "puts a throttle into each tile's loop where the pipeline is deep enough,\n"
     "                             and says why"},
    {"--mlir-print-op-generic", NULL, "prints MLIR's generic form"},
    {"--mlir-print-debuginfo", NULL, "prints where each operation came from"},
    {NULL, NULL, NULL}};
static const struct tide_tool_usage opt_usage = {
    "mods opt", "FILE", "Parses, verifies, folds and prints a file; - is stdin.", opt_options,
    "Exit status 0: all is well; 1: something is wrong, or the file cannot be read; 2: the "
    "command\n"
    "line is. -option and --option are the same."};

struct job {
  struct tide_mods_input input;
  struct tide_mods_reading reading;
  struct tide_ir_print_params print;
  bool split, expect, opt, fold, throttle;
  bool printed;
};

static bool change_and_print(struct job *job, struct tide_ir *ir) {
  if (job->throttle) tide_ir_throttle(ir);
  if (job->fold) tide_ir_fold(ir);
  if (!job->opt || job->expect) return ir->status == TIDE_OK;
  if (job->printed) fputs("\n// -----\n", stdout);
  job->printed = true;
  enum tide_status status = tide_ir_print(ir, ir->module, &job->print, &tide_mods_stdout);
  if (status != TIDE_OK) tide_tool_error("%s: %s", job->input.name, tide_status_text(status));
  return status == TIDE_OK;
}

static bool do_part(void *self, const struct tide_mods_part *part) {
  struct job *job = self;
  struct tide_ir *ir = NULL;
  struct tide_mods_expected *expected = NULL;
  struct tide_mods_reading reading = job->reading;
  if (job->expect) {
    expected = tide_mods_expect(&job->input, part);
    if (!expected) return false;
    reading.sink = tide_mods_expected_sink(expected);
    reading.all_errors = true;
    reading.errors_max = 0;
  }
  bool good = tide_mods_load(&job->input, part, &reading, &ir);
  if (good) good = change_and_print(job, ir);
  tide_ir_destroy(ir);
  return expected ? tide_mods_expected_end(expected) : good;
}

static bool set_errors(struct job *job, const char *value) {
  uint64_t number;
  if (!tide_tool_parse_number(value, UINT32_MAX, &number)) return false;
  job->reading.errors_max = (uint32_t)number;
  job->reading.all_errors = number == 0;
  return true;
}

static bool set_option(struct job *job, const char *name, const char *value) {
  if (strcmp(name, "--split-input-file") == 0) job->split = true;
  else if (strcmp(name, "--verify-diagnostics") == 0) job->expect = true;
  else if (strcmp(name, "--allow-unregistered-dialect") == 0) job->reading.any_operation = true;
  else if (strcmp(name, "--errors") == 0) return set_errors(job, value);
  else if (strcmp(name, "--fold") == 0) job->fold = true;
  else if (strcmp(name, "--mlir-print-op-generic") == 0) job->print.generic = true;
  else if (strcmp(name, "--mlir-print-debuginfo") == 0) job->print.locations = true;
  else if (strcmp(name, "--partial") == 0 && strcmp(value, "mbarrier") == 0)
    job->reading.partial = TIDE_IR_PARTIAL_MBARRIER;
  else if (strcmp(name, "--partial") == 0 && strcmp(value, "error") == 0)
    job->reading.partial = TIDE_IR_PARTIAL_REFUSED;
  else if (strcmp(name, "--throttle") == 0 && strcmp(value, "auto") == 0) job->throttle = true;
  else return false;
  return true;
}

static int run_check(int argc, char **argv, const struct tide_tool_usage *usage, bool opt) {
  struct tide_tool_arguments arguments = {.usage = usage, .argc = argc, .argv = argv};
  struct job job = {.opt = opt, .reading = {.sink = &tide_mods_stderr}};
  const char *path = NULL;
  int option;
  while ((option = tide_tool_next_argument(&arguments)) != TIDE_ARGUMENT_END) {
    if (option == TIDE_ARGUMENT_HELP) return TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_ERROR) return TIDE_EXIT_USAGE;
    if (option == TIDE_ARGUMENT_POSITIONAL) {
      if (path) return tide_tool_wrong_usage(usage, "one file at a time");
      path = arguments.value;
    } else if (!set_option(&job, usage->options[option].name, arguments.value)) {
      return tide_tool_wrong_usage(usage, "%s: '%s' is not one of its values",
                                   usage->options[option].name, arguments.value);
    }
  }
  if (!tide_mods_read(&job.input, path ? path : "-")) return TIDE_EXIT_FAILED;
  bool good = tide_mods_parts(&job.input, job.split, do_part, &job);
  tide_mods_free(&job.input);
  return good ? TIDE_EXIT_OK : TIDE_EXIT_FAILED;
}

int tide_tool_mods_check(int argc, char **argv) {
  return run_check(argc, argv, &check_usage, false);
}
int tide_tool_mods_opt(int argc, char **argv) { return run_check(argc, argv, &opt_usage, true); }
