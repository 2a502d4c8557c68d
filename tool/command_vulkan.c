/* tidemark vulkan: an unmodified Vulkan program under the layer. */
#include "tool/vulkan_session.h"

#include "layer/protocol.h"

#include <string.h>

#define DEFAULT_SEEDS 4
#define SEEDS_MOST 10000
#define EXPLORE_LIMIT_NS 60000000000ull
#define LIMIT_MOST_NS (24ull * 3600 * 1000000000)

/* Options of all modes first; then explore's own. */
enum {
  LIMIT,
  REPORT,
  TRACE,
  AS_JSON,
  SAVE,
  QUEUES,
  FAMILIES,
  DROP_EDGE,
  DROP,
  SEEDS,
  SEED,
  IN_QUEUE,
  COMPARE,
  REPLAY,
  NO_SHRINK
};

#define COMMON_OPTIONS                                                                             \
  [LIMIT] = {"--limit", "TIME", "ends a run after 500ms, 10s, 2m; explore: 60s if not given"},     \
  [REPORT] = {"--report", "FILE", "where the report goes"},                                        \
  [TRACE] = {"--trace", "FILE", "a trace of the last run"},                                        \
  [AS_JSON] = {"--json", NULL, "the report as one JSON object"},                                   \
  [SAVE] = {"--save", "DIR", "keeps the layer's files of each run"}

static const struct tide_tool_option one_run_options[] = {COMMON_OPTIONS, {NULL, NULL, NULL}};
static const struct tide_tool_option explore_options[] = {
    COMMON_OPTIONS,
    [QUEUES] = {"--queues", "K", "queues of each family that the program sees, 1 to 16"},
    [FAMILIES] = {"--families", NULL, "adds a compute and a transfer family"},
    [DROP_EDGE] = {"--drop-edge", "N", "leaves out edge N of the program's own; --save lists them"},
    [DROP] = {"--drop", "CLASS[,CLASS]", "leaves out waits: own, known, sibling, seen, needed"},
    [SEEDS] = {"--seeds", "N", "runs with seeds 1 to N; 4 if not given"},
    [SEED] = {"--seed", "S", "runs with this seed only"},
    [IN_QUEUE] = {"--in-queue", NULL, "also changes the order within a queue"},
    [COMPARE] = {"--compare", "stdout|FILE", "what must not change; may be given several times"},
    [REPLAY] = {"--replay", "FILE", "one run in a recorded order"},
    [NO_SHRINK] = {"--no-shrink", NULL, "does not look for the cause of a failure"},
    {NULL, NULL, NULL},
};

#define STATUS_NOTES                                                                               \
  "Exit status: the program's own; 1 for a finding, a lost device, or the limit; 2 for wrong\n"    \
  "options; 3 if no report came. Ctrl-\\ prints a report of now, and the program goes on."

static const struct tide_tool_usage usages[] = {
    [TIDE_VULKAN_EXPLAIN] = {"vulkan explain", "-- PROGRAM [ARGUMENTS]",
                             "Runs a Vulkan program and says who waits for which value, and why a "
                             "hang hangs.",
                             one_run_options, STATUS_NOTES},
    [TIDE_VULKAN_EXPLORE] =
        {"vulkan explore", "-- PROGRAM [ARGUMENTS]",
         "Runs a Vulkan program in many legal orders of its submissions, and compares.",
         explore_options,
         "The program runs twice without the layer, once in the order as submissions come, and "
         "once with\neach seed. Its stdin is empty. A FILE of --compare is removed before each "
         "run.\n\n"
         "Exit status: 0 nothing was found; 1 something was found; 2 wrong options; 3 not "
         "explored: no\nrun had a choice, or no report came."},
    [TIDE_VULKAN_AUDIT] = {"vulkan audit", "-- PROGRAM [ARGUMENTS]",
                           "Runs a Vulkan program and says which of its waits it could do without.",
                           one_run_options, STATUS_NOTES},
};

static const char *const mode_names[] = {[TIDE_VULKAN_EXPLAIN] = "explain",
                                         [TIDE_VULKAN_EXPLORE] = "explore",
                                         [TIDE_VULKAN_AUDIT] = "audit"};

const char *tide_vulkan_mode_name(enum tide_vulkan_mode mode) { return mode_names[mode]; }

/* ---- values ---------------------------------------------------------------------- */

/* Reads "500ms", "10s", "2m". */
static bool parse_time(const char *text, uint64_t *out_ns) {
  static const struct {
    const char *name;
    uint64_t ns;
  } units[] = {{"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000ull}};
  size_t digits = strspn(text, "0123456789");
  char number[16];
  uint64_t count;
  if (!digits || digits >= sizeof number) return false;
  memcpy(number, text, digits);
  number[digits] = 0;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strcmp(text + digits, units[i].name) == 0) {
      if (!tide_tool_parse_number(number, LIMIT_MOST_NS / units[i].ns, &count)) return false;
      *out_ns = count * units[i].ns;
      return count > 0;
    }
  return false;
}

/* True for a list of wait classes. */
static bool are_classes(const char *text) {
  static const char *const classes[] = {"own", "known", "sibling", "seen", "needed"};
  for (;;) {
    size_t length = strcspn(text, ","), i = 0;
    while (i < 5 && (strlen(classes[i]) != length || memcmp(classes[i], text, length) != 0)) i++;
    if (i == 5) return false;
    if (!text[length]) return true;
    text += length + 1;
  }
}

/* ---- options --------------------------------------------------------------------- */

/* Reads an option's number within bounds. */
static int take_number(const struct tide_tool_usage *usage, int option, const char *text,
                       uint64_t least, uint64_t most, uint64_t *out_number) {
  if (tide_tool_parse_number(text, most, out_number) && *out_number >= least) return TIDE_EXIT_OK;
  return tide_tool_wrong_usage(usage, "%s %s: expected %llu to %llu", usage->options[option].name,
                               text, (unsigned long long)least, (unsigned long long)most);
}

static int take_option(struct tide_vulkan_job *job, int option, const char *value) {
  const struct tide_tool_usage *usage = &usages[job->mode];
  switch (option) {
    case LIMIT:
      if (parse_time(value, &job->limit_ns)) break;
      return tide_tool_wrong_usage(usage, "--limit %s: expected a time up to a day, such as 10s",
                                   value);
    case REPORT: job->report = value; break;
    case TRACE: job->trace = value; break;
    case AS_JSON: job->json = true; break;
    case SAVE: job->save = value; break;
    case QUEUES: return take_number(usage, option, value, 1, TIDE_VULKAN_QUEUES_MOST, &job->queues);
    case FAMILIES: job->families = true; break;
    case DROP_EDGE: return take_number(usage, option, value, 1, UINT32_MAX, &job->drop_edge);
    case DROP:
      job->drop = value;
      if (are_classes(value)) break;
      return tide_tool_wrong_usage(usage, "--drop %s: expected own, known, sibling, seen or needed",
                                   value);
    case SEEDS: return take_number(usage, option, value, 0, SEEDS_MOST, &job->seeds);
    case SEED:
      job->has_seed = true;
      return take_number(usage, option, value, 0, UINT64_MAX, &job->seed);
    case IN_QUEUE: job->in_queue = true; break;
    case COMPARE:
      if (job->target_count == TIDE_VULKAN_TARGETS_MOST)
        return tide_tool_wrong_usage(usage, "--compare: at most %d", TIDE_VULKAN_TARGETS_MOST);
      job->targets[job->target_count++] = value;
      break;
    case REPLAY: job->replay = value; break;
    case NO_SHRINK: job->no_shrink = true; break;
  }
  return TIDE_EXIT_OK;
}

/* Refuses options that have no meaning together. */
static int check_options(const struct tide_vulkan_job *job) {
  const struct tide_tool_usage *usage = &usages[job->mode];
  if (!job->program) return tide_tool_wrong_usage(usage, "which program?");
  if (job->replay && job->has_seed)
    return tide_tool_wrong_usage(usage, "--replay and --seed: a recorded order has no seed");
  if (job->report && job->trace && strcmp(job->report, job->trace) == 0)
    return tide_tool_wrong_usage(usage, "--report and --trace: two different files are expected");
  if ((job->report && !tide_tool_can_write(job->report)) ||
      (job->trace && !tide_tool_can_write(job->trace)))
    return TIDE_EXIT_USAGE;
  return TIDE_EXIT_OK;
}

static int run_mode(enum tide_vulkan_mode mode, int argc, char **argv) {
  struct tide_tool_arguments arguments = {.usage = &usages[mode], .argc = argc, .argv = argv};
  struct tide_vulkan_job job = {.mode = mode, .seeds = DEFAULT_SEEDS};
  if (mode == TIDE_VULKAN_EXPLORE) job.limit_ns = EXPLORE_LIMIT_NS;
  while (!job.program) {
    int option = tide_tool_next_argument(&arguments), status = TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_END) break;
    if (option == TIDE_ARGUMENT_HELP) return TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_ERROR) return TIDE_EXIT_USAGE;
    /* All words after the program are the program's. */
    if (option == TIDE_ARGUMENT_POSITIONAL) job.program = argv + arguments.at - 1;
    else status = take_option(&job, option, arguments.value);
    if (status != TIDE_EXIT_OK) return status;
  }
  int status = check_options(&job);
  if (status != TIDE_EXIT_OK) return status;
  return mode == TIDE_VULKAN_EXPLORE ? tide_vulkan_explore(&job) : tide_vulkan_one_run(&job);
}

static int run_explain(int argc, char **argv) { return run_mode(TIDE_VULKAN_EXPLAIN, argc, argv); }
static int run_explore(int argc, char **argv) { return run_mode(TIDE_VULKAN_EXPLORE, argc, argv); }
static int run_audit(int argc, char **argv) { return run_mode(TIDE_VULKAN_AUDIT, argc, argv); }

static const struct tide_tool_commands commands = {
    "vulkan",
    "usage: tidemark vulkan COMMAND [OPTIONS] -- PROGRAM [ARGUMENTS]\n"
    "Runs an unmodified Vulkan program under Tidemark's layer.",
    "command",
    "COMMAND",
    {{"explain", "says who waits for which value, and why a hang hangs", run_explain},
     {"explore", "runs the program in many legal orders, and compares", run_explore},
     {"audit", "says which waits the program could do without", run_audit},
     {NULL, NULL, NULL}}};

int tide_tool_vulkan(int argc, char **argv) { return tide_tool_dispatch(&commands, argc, argv); }
