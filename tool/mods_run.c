/* tidemark mods run: a kernel on the CPU, and then on a GPU. */
#include "tool/mods_commands.h"
#include "tool/mods_gpu.h"
#include "tool/mods_launch.h"

#include <stdlib.h>
#include <string.h>

static const struct tide_tool_option options[] = {
    {"--grid", "X[xY[xZ]]", "CTAs; 1 if nothing is said"},
    {"--cluster", "X[xY]", "CTAs of a cluster; what the module declares if nothing is said"},
    {"--block", "X[xY[xZ]]", "threads of a CTA; known_block_size if nothing is said"},
    {"--kernel", "NAME", "which kernel, if the file has several"},
    {"--arg", "NAME=WHAT", "an argument: a number, or f32[64x32] random, zero or iota"},
    {"--seed", "N", "the schedule: 0 is plain, others draw whose turn it is"},
    {"--explore", "N", "runs N schedules, from --seed on; stops at the first that fails"},
    {"--steps", "N", "instructions after which a run counts as endless"},
    {"--print", "NAME", "prints an argument's memory when the run is over"},
    {"--device", "cpu|cuda",
     "cuda: on a GPU, too, where memory must end as on the CPU, byte for byte"},
    {"--ptx", "FILE", "for the GPU; else the file is lowered"},
    {"--repeat", "N", "and N launches more on the GPU, timed"},
    {"--driver", "FILE", "the GPU's driver; libcuda.so.1 if nothing is said"},
    {"--quiet", NULL, "says nothing when all is well"},
    {NULL, NULL, NULL},
};
static const struct tide_tool_usage usage = {
    "mods run", "FILE",
    "Runs a kernel on the CPU: its CTAs' threads take turns. What a GPU would hang on, or leave\n"
    "undefined, is an error with its place.",
    options,
    "Arguments and what is to be checked may stand in the file, on the gpu.func:\n"
    "  tidemark.args = [\"A = f32[64x32] random\", \"m = 8\"], tidemark.check = \"C = A * B\"\n"
    "random draws small whole numbers, so that sums are exact in any order.\n"
    "Exit status 1: an error in the file or in a run, or a product that is wrong."};

enum {
  GRID,
  CLUSTER,
  BLOCK,
  KERNEL,
  ARG,
  SEED,
  EXPLORE,
  STEPS,
  PRINT,
  DEVICE,
  PTX,
  REPEAT,
  DRIVER,
  QUIET
};

struct settings {
  const char *file, *print;
  struct tide_mods_launch launch;
  uint64_t explore;
  struct tide_mods_gpu_choice gpu;
  bool on_gpu, quiet;
};

/* Reads "4", "4x2", "4x2x1". */
static bool parse_shape(const char *text, uint32_t out[3]) {
  out[0] = out[1] = out[2] = 1;
  for (int i = 0; i < 3; i++) {
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (end == text || number == 0 || number > UINT32_MAX || *text < '0' || *text > '9')
      return false;
    out[i] = (uint32_t)number;
    if (!*end) return true;
    if (*end != 'x') return false;
    text = end + 1;
  }
  return false;
}

static bool take_option(struct settings *settings, int option, const char *value) {
  struct tide_mods_launch *launch = &settings->launch;
  switch (option) {
    case GRID: return parse_shape(value, launch->params.grid);
    case CLUSTER: return parse_shape(value, launch->params.cluster);
    case BLOCK: return parse_shape(value, launch->params.block);
    case KERNEL: launch->params.kernel = value; return true;
    case ARG: return tide_mods_launch_set(launch, value);
    case SEED: return tide_tool_parse_number(value, UINT64_MAX, &launch->params.seed);
    case EXPLORE:
      return tide_tool_parse_number(value, UINT32_MAX, &settings->explore) && settings->explore;
    case STEPS: return tide_tool_parse_number(value, UINT64_MAX, &launch->params.steps_max);
    case PRINT: settings->print = value; return true;
    case DEVICE:
      settings->on_gpu = strcmp(value, "cuda") == 0;
      return settings->on_gpu || strcmp(value, "cpu") == 0;
    case PTX: settings->gpu.ptx = value; return true;
    case REPEAT: return tide_tool_parse_number(value, 1000000, &settings->gpu.repeat);
    case DRIVER: settings->gpu.driver = value; return true;
    default: settings->quiet = true; return true;
  }
}

/* Returns -1 to go on, or else the exit status. */
static int parse_arguments(struct settings *settings, int argc, char **argv) {
  struct tide_tool_arguments arguments = {.usage = &usage, .argc = argc, .argv = argv};
  int option;
  while ((option = tide_tool_next_argument(&arguments)) != TIDE_ARGUMENT_END) {
    if (option == TIDE_ARGUMENT_HELP) return TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_ERROR) return TIDE_EXIT_USAGE;
    if (option == TIDE_ARGUMENT_POSITIONAL) {
      if (settings->file) return tide_tool_wrong_usage(&usage, "one file, please");
      settings->file = arguments.value;
    } else if (!take_option(settings, option, arguments.value)) {
      return tide_tool_wrong_usage(&usage, "%s %s: not what it takes", options[option].name,
                                   arguments.value);
    }
  }
  return settings->file ? -1 : tide_tool_wrong_usage(&usage, "which file?");
}

static void say_good(const struct settings *settings, const struct tide_mods_run_stats *stats) {
  const struct tide_mods_launch *launch = &settings->launch;
  if (settings->quiet) return;
  if (settings->explore > 1)
    printf("%llu schedules, all well\n", (unsigned long long)settings->explore);
  printf("%u CTA%s, %u thread%s: %llu instruction%s, %llu window%s, %llu tile%s in them\n",
         stats->ctas, tide_tool_plural(stats->ctas), stats->threads,
         tide_tool_plural(stats->threads), (unsigned long long)stats->instructions,
         tide_tool_plural(stats->instructions), (unsigned long long)stats->windows,
         tide_tool_plural(stats->windows), (unsigned long long)stats->tiles,
         tide_tool_plural(stats->tiles));
  if (launch->check) printf("%s: right\n", launch->check);
}

/* Runs all schedules, until one fails. */
static int run_all(struct settings *settings, struct tide_context *context) {
  struct tide_mods_launch *launch = &settings->launch;
  struct tide_mods_run_stats stats;
  uint64_t first = launch->params.seed;
  for (uint64_t i = 0; i < settings->explore; i++) {
    launch->params.seed = first + i;
    if (!tide_mods_launch_run(launch, context, &stats)) {
      if (settings->explore > 1)
        tide_tool_error("with --seed %llu, after %llu schedule%s well",
                        (unsigned long long)launch->params.seed, (unsigned long long)i,
                        i == 1 ? " that was" : "s that were");
      return TIDE_EXIT_FAILED;
    }
  }
  say_good(settings, &stats);
  if (settings->on_gpu) {
    int status = tide_mods_launch_on_gpu(launch, context, &settings->gpu, settings->quiet);
    if (status != TIDE_EXIT_OK) return status;
  }
  if (settings->print && !tide_mods_launch_print(launch, settings->print)) return TIDE_EXIT_FAILED;
  return TIDE_EXIT_OK;
}

int tide_tool_mods_run(int argc, char **argv) {
  struct settings settings = {.explore = 1};
  struct tide_mods_input input = {.name = NULL};
  struct tide_context *context;
  int status = parse_arguments(&settings, argc, argv);
  if (status >= 0) return status;
  if (!tide_mods_read(&input, settings.file)) return TIDE_EXIT_FAILED;
  settings.launch.params.struct_size = sizeof settings.launch.params;
  settings.launch.params.text = input.text;
  settings.launch.params.length = input.length;
  settings.launch.params.file = input.name;
  settings.launch.params.sink = &tide_mods_stderr;
  status = TIDE_EXIT_FAILED;
  if (tide_context_create(NULL, &context) == TIDE_OK) {
    if (tide_mods_launch_prepare(&settings.launch)) status = run_all(&settings, context);
    tide_context_destroy(context);
  } else {
    tide_tool_error("out of memory");
  }
  tide_mods_launch_fini(&settings.launch);
  tide_mods_free(&input);
  return status;
}
