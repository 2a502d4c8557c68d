/* tidemark sim: a program on devices that only take time. */
#include "tool/sim_job.h"

#include <stdlib.h>
#include <string.h>

enum {
  SET,
  SEED,
  COST,
  SPREAD,
  LATENCY,
  LINK,
  WAKE,
  WAIT_COST,
  STEP_COST,
  KEEP,
  SUBMIT_COST,
  NATIVE_WAIT,
  ROUND_TRIP,
  WORKERS,
  FAIL,
  MEMORY,
  FRONTIER,
  CAPACITY,
  BASELINE,
  PATH,
  STATS,
  SWEEP,
  AGAINST,
  PLOT,
  QUIET,
  JSON,
  PLUGIN
};

static const struct tide_tool_option options[] = {
    [SET] = {"--set", "NAME=VALUE", "a parameter of the program; may be given several times"},
    [SEED] = {"--seed", "N", "of all that is random; with 0, the default, nothing is but --spread"},
    [COST] =
        {"--cost", "TIME[/KiB=TIME]",
         "what an operation without `cost` takes, and more for each KiB that it names; 1us and "
         "250ns"},
    [SPREAD] = {"--spread", "uniform|exponential",
                "times are drawn, with the cost as their mean, and do not depend on the baseline"},
    [LATENCY] = {"--latency", "WAY=TIME",
                 "of signals between queues of a device (queue), devices (device), machines "
                 "(machine); 0"},
    [LINK] = {"--link", "A:B=TIME", "the latency between two devices; may be given several times"},
    [WAKE] = {"--wake", "TIME", "what it takes a device without work to see that there is some; 0"},
    [WAIT_COST] = {"--wait-cost", "TIME", "what an issued wait costs the device that does it; 0"},
    [STEP_COST] = {"--step-cost", "TIME", "what a step costs the thread that submits; 0"},
    [KEEP] = {"--keep", "device|host",
              "what keeps the waits of a device that runs ahead (gpu); device"},
    [SUBMIT_COST] = {"--submit-cost", "TIME", "a gpu's thread needs it for each submission; 3us"},
    [NATIVE_WAIT] = {"--native-wait", "TIME",
                     "from a signal to the start of what waits for it on a gpu; 2us"},
    [ROUND_TRIP] = {"--round-trip", "TIME",
                    "from the end of work on a gpu until the host knows it; 10us"},
    [WORKERS] = {"--workers", "N", "of a cpu or gpu that does not say; 1"},
    [FAIL] = {"--fail", "N", "so many bodies of a million fail"},
    [MEMORY] = {"--memory", "SIZE", "at most this much for buffers: 64M, 2G"},
    [FRONTIER] = {"--frontier", "N",
                  "entries of a frontier; what does not fit is lost, and marked"},
    [CAPACITY] = {"--capacity", "N", "operations of a queue that does not say"},
    [BASELINE] = {"--baseline", "events|barrier|host|none",
                  "what it is compared with; host: all waits are kept by it; events"},
    [PATH] = {"--path", NULL, "all of the longest path"},
    [STATS] = {"--stats", NULL, "more numbers"},
    [SWEEP] = {"--sweep", "NAME=A..B", "with a parameter from A to B, doubled each time"},
    [AGAINST] = {"--against", "NAME=VALUE", "sweeps with this setting, too"},
    [PLOT] = {"--plot", "FILE.svg", "draws the sweep"},
    [QUIET] = {"--quiet-time", NULL, "nothing that differs from run to run"},
    [JSON] = {"--json", NULL, "the report as JSON; times are in seconds"},
    [PLUGIN] = {"--plugin", "FILE.so", "bodies of your own; may be given several times"},
    {NULL, NULL, NULL},
};
static const struct tide_tool_usage usage = {
    "sim", "FILE", "Runs a program on simulated devices, in a time of its own.", options,
    "Bodies do not run, files are not opened, memory is not taken: a program for a thousand "
    "devices\n"
    "runs on one thread. What schedules it is the same as on real queues. TIME is 5us, 2ms, 1s …\n"
    "Exit status: 0; 1: it failed; 2: wrong usage."};

/* ---- the command line -------------------------------------------------------------- */

static bool parse_time(const char *text, uint64_t *out_ns) {
  static const struct {
    const char *unit;
    uint64_t ns;
  } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
  char number[24];
  size_t digits = strspn(text, "0123456789");
  uint64_t value;
  if (!digits || digits >= sizeof number) return false;
  memcpy(number, text, digits);
  number[digits] = 0;
  if (!tide_tool_parse_number(number, UINT64_MAX / 4, &value)) return false;
  *out_ns = value;
  if (!text[digits]) return value == 0;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strcmp(text + digits, units[i].unit) == 0)
      return !__builtin_mul_overflow(value, units[i].ns, out_ns) && *out_ns < UINT64_MAX / 4;
  return false;
}

/* Reads "5us", or "5us/KiB=1us". */
static bool parse_cost(const char *text, struct tide_simulation_params *params) {
  static const char more[] = "/KiB=";
  const char *slash = strstr(text, more);
  char first[32];
  if (!slash) {
    params->cost_per_kib = 0;
    return parse_time(text, &params->cost);
  }
  if ((size_t)(slash - text) >= sizeof first) return false;
  memcpy(first, text, (size_t)(slash - text));
  first[slash - text] = 0;
  return parse_time(first, &params->cost) &&
         parse_time(slash + sizeof more - 1, &params->cost_per_kib);
}

static bool parse_latency(const char *text, struct tide_simulation_params *params) {
  static const char *const ways[TIDE_WAY_COUNT] = {"queue", "device", "machine"};
  const char *equals = strchr(text, '=');
  for (size_t i = 0; equals && i < TIDE_WAY_COUNT; i++)
    if (strlen(ways[i]) == (size_t)(equals - text) &&
        memcmp(ways[i], text, (size_t)(equals - text)) == 0)
      return parse_time(equals + 1, &params->latencies[i]);
  return false;
}

static bool parse_link(const char *text, struct tide_sim_job *job) {
  size_t count = job->params.link_count;
  char *copy = count < TIDE_SIM_LINKS_MOST ? strdup(text) : NULL;
  char *equals = copy ? strrchr(copy, '=') : NULL, *colon = copy ? strchr(copy, ':') : NULL;
  struct tide_sim_link *link = &job->links[count];
  if (!equals || !colon || colon > equals || !parse_time(equals + 1, &link->latency)) {
    free(copy);
    return false;
  }
  *equals = *colon = 0;
  link->from = copy;
  link->to = colon + 1;
  job->owned[job->params.link_count++] = copy;
  return true;
}

static bool parse_spread(const char *text, struct tide_simulation_params *params) {
  if (strcmp(text, "uniform") == 0) params->spread = TIDE_SPREAD_UNIFORM;
  else if (strcmp(text, "exponential") == 0) params->spread = TIDE_SPREAD_EXPONENTIAL;
  else return false;
  return true;
}

static bool parse_baseline(const char *text, struct tide_sim_job *job) {
  job->baseline_by_host = strcmp(text, "host") == 0;
  if (strcmp(text, "events") == 0) job->baseline = TIDE_RUN_EVENTS;
  else if (strcmp(text, "barrier") == 0) job->baseline = TIDE_RUN_BARRIER;
  else if (strcmp(text, "none") == 0 || job->baseline_by_host) job->baseline = TIDE_RUN_TRACKED;
  else return false;
  return true;
}

static bool parse_keep(const char *text, struct tide_simulation_params *params) {
  params->keep_on_host = strcmp(text, "host") == 0;
  return params->keep_on_host || strcmp(text, "device") == 0;
}

static bool parse_small(const char *text, uint64_t most, uint64_t *out_number) {
  return tide_tool_parse_number(text, most, out_number) && *out_number;
}

/* Returns NULL if the value is valid, else the expected form. */
static const char *take_value(struct tide_sim_job *job, int option, const char *value) {
  struct tide_simulation_params *params = &job->params;
  uint64_t number = 0, size = 0;
  switch (option) {
    case SEED: return tide_tool_parse_number(value, UINT64_MAX, &params->seed) ? NULL : "a number";
    case COST: return parse_cost(value, params) ? NULL : "a time, such as 5us, or 5us/KiB=1us";
    case SPREAD: return parse_spread(value, params) ? NULL : "uniform or exponential";
    case LATENCY: return parse_latency(value, params) ? NULL : "queue, device or machine=TIME";
    case LINK: return parse_link(value, job) ? NULL : "DEVICE:DEVICE=TIME, at most 64 of them";
    case WAKE: return parse_time(value, &params->wake) ? NULL : "a time, such as 25us";
    case WAIT_COST: return parse_time(value, &params->wait_cost) ? NULL : "a time, such as 2us";
    case STEP_COST: return parse_time(value, &params->step_cost) ? NULL : "a time, such as 200ns";
    case KEEP: return parse_keep(value, params) ? NULL : "device or host";
    case SUBMIT_COST: return parse_time(value, &params->submit_cost) ? NULL : "a time, such as 3us";
    case NATIVE_WAIT:
      return parse_time(value, &params->native_wait_cost) ? NULL : "a time, such as 2us";
    case ROUND_TRIP: return parse_time(value, &params->round_trip) ? NULL : "a time, such as 10us";
    case WORKERS:
      if (!parse_small(value, 65536, &number)) return "1 to 65536";
      params->workers = (uint32_t)number;
      return NULL;
    case FAIL:
      if (!tide_tool_parse_number(value, 1000000, &number)) return "0 to 1000000";
      params->fail = (uint32_t)number;
      return NULL;
    case MEMORY:
      if (!tide_tool_parse_size(value, &size) || !size) return "a size, such as 64M";
      params->memory = size;
      return NULL;
    case FRONTIER:
      if (!parse_small(value, 255, &number)) return "1 to 255";
      params->frontier = (uint8_t)number;
      return NULL;
    case CAPACITY:
      if (!parse_small(value, 1u << 26, &number)) return "1 to 67108864";
      params->capacity = (uint32_t)number;
      return NULL;
    case BASELINE: return parse_baseline(value, job) ? NULL : "events, barrier, host or none";
    case SWEEP: job->sweep = value; return NULL;
    case AGAINST: job->against = value; return NULL;
    case PLOT: job->plot = value; return NULL;
    default: return NULL;
  }
}

static void take_flag(struct tide_sim_job *job, int option) {
  switch (option) {
    case PATH: job->path = true; break;
    case STATS: job->stats = true; break;
    case QUIET: job->quiet = true; break;
    case JSON: job->json = true; break;
    default: break;
  }
}

/* Returns TIDE_EXIT_OK and sets a path; or returns the exit status, with *out_path NULL. */
static int parse_arguments(struct tide_sim_job *job, int argc, char **argv, const char **out_path) {
  struct tide_tool_arguments arguments = {.usage = &usage, .argc = argc, .argv = argv};
  int option;
  *out_path = NULL;
  const char *path = NULL;
  while ((option = tide_tool_next_argument(&arguments)) != TIDE_ARGUMENT_END) {
    if (option == TIDE_ARGUMENT_HELP) return TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_ERROR) return TIDE_EXIT_USAGE;
    if (option == TIDE_ARGUMENT_POSITIONAL) {
      if (path) return tide_tool_wrong_usage(&usage, "one program, not '%s', too", arguments.value);
      path = arguments.value;
      continue;
    }
    take_flag(job, option);
    const char *expected = take_value(job, option, arguments.value);
    if (expected)
      return tide_tool_wrong_usage(&usage, "%s %s: expected %s", options[option].name,
                                   arguments.value, expected);
    if (option == SET && !tide_tool_add_setting(&job->program, arguments.value))
      return TIDE_EXIT_USAGE;
    if (option == PLUGIN && !tide_tool_add_plugin(&job->program, arguments.value))
      return TIDE_EXIT_FAILED;
  }
  if (!path) return tide_tool_wrong_usage(&usage, "which program?");
  if ((job->plot || job->against) && !job->sweep)
    return tide_tool_wrong_usage(&usage, "--plot and --against go with --sweep");
  *out_path = path;
  return TIDE_EXIT_OK;
}

/* ---- running ------------------------------------------------------------------------------- */

static void show_progress(void *user, uint64_t submitted, uint64_t finished) {
  const char *const *name = user;
  tide_tool_progress("%s: %llu operations submitted, %llu finished", *name,
                     (unsigned long long)submitted, (unsigned long long)finished);
}

bool tide_sim_job_run(struct tide_sim_job *job, struct tide_sim_outcome *out_outcome) {
  static const char *const names[] = {"tracked", "events", "barrier", "sequential"};
  const char *name = out_outcome->by_host ? "host" : names[out_outcome->mode];
  struct tide_diag diag = {.status = TIDE_OK};
  job->params.plan = job->program.plan;
  job->params.mode = out_outcome->mode;
  job->params.links = job->links;
  job->params.progress = show_progress;
  job->params.progress_user = &name;
  struct tide_simulation_params params = job->params;
  params.keep_on_host |= out_outcome->by_host;
  enum tide_status status = tide_simulate(&params, &diag, &out_outcome->simulation);
  tide_tool_progress_over();
  if (status == TIDE_OK) {
    out_outcome->result = tide_simulation_result(out_outcome->simulation);
    return true;
  }
  tide_tool_error_at(job->program.path, &diag);
  tide_simulation_destroy(out_outcome->simulation);
  out_outcome->simulation = NULL;
  return false;
}

/* Runs once more without a memory limit, to find the cost of the waits for memory. */
static void run_unlimited(const struct tide_sim_job *job,
                          struct tide_sim_unlimited *out_unlimited) {
  struct tide_simulation_params params = job->params;
  struct tide_simulation *simulation;
  const char *name = "without a limit";
  params.mode = TIDE_RUN_TRACKED;
  params.memory = SIZE_MAX / 4;
  params.progress_user = &name;
  struct tide_diag ignored = {.status = TIDE_OK};
  if (tide_simulate(&params, &ignored, &simulation) == TIDE_OK) {
    const struct tide_simulation_result *result = tide_simulation_result(simulation);
    *out_unlimited = (struct tide_sim_unlimited){result->run.sched.gap_waits == 0, result->makespan,
                                                 result->run.pool.source_used};
  }
  tide_tool_progress_over();
  tide_simulation_destroy(simulation);
}

static bool run_once(struct tide_sim_job *job) {
  struct tide_sim_outcome tracked = {.mode = TIDE_RUN_TRACKED};
  struct tide_sim_outcome other = {.mode = job->baseline, .by_host = job->baseline_by_host};
  bool good = tide_tool_plan(&job->program) && tide_sim_job_run(job, &tracked);
  bool compared = job->baseline != TIDE_RUN_TRACKED || job->baseline_by_host;
  if (good && compared) good = tide_sim_job_run(job, &other);
  struct tide_sim_unlimited unlimited = {.is_known = false};
  if (good && tracked.result->run.sched.gap_waits) run_unlimited(job, &unlimited);
  if (good)
    good = (job->json ? tide_sim_print_json : tide_sim_print)(job, &tracked,
                                                              compared ? &other : NULL, &unlimited);
  tide_simulation_destroy(tracked.simulation);
  tide_simulation_destroy(other.simulation);
  return good;
}

int tide_tool_sim(int argc, char **argv) {
  struct tide_sim_job job = {
      .baseline = TIDE_RUN_EVENTS,
      .params = {.struct_size = sizeof(struct tide_simulation_params),
                 .cost = 1000,
                 .cost_per_kib = 250,
                 .submit_cost = 3000,
                 .native_wait_cost = 2000,
                 .round_trip = 10000,
                 .workers = 1},
  };
  const char *path;
  int status = parse_arguments(&job, argc, argv, &path);
  if (path) {
    bool good = tide_tool_read(&job.program, path, false) &&
                (job.sweep ? tide_sim_sweep(&job) : run_once(&job));
    status = good ? TIDE_EXIT_OK : TIDE_EXIT_FAILED;
  }
  tide_tool_unload(&job.program);
  for (size_t i = 0; i < job.params.link_count; i++) free(job.owned[i]);
  return status;
}
