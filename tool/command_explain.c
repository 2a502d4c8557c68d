/* tidemark explain: a paused run, and its decision about each wait. */
#include "tool/explain.h"

#include "tidemark/kernel.h"

enum { SET, INPUT, FRONTIER, MEMORY, JSON, PLUGIN };

static const struct tide_tool_option options[] = {
    [SET] = {"--set", "NAME=VALUE", "a parameter of the program; may be given several times"},
    [INPUT] = {"--input", "IMAGE", "your own image for the program: PNG, or raw 8-bit rows"},
    [FRONTIER] = {"--frontier", "N", "entries of a frontier, at most 255; one for each queue"},
    [MEMORY] = {"--memory", "SIZE", "at most this much for buffers: 64M, 2G"},
    [JSON] = {"--json", NULL, "the same as JSON"},
    [PLUGIN] = {"--plugin", "FILE.so", "bodies of your own; may be given several times"},
    {NULL, NULL, NULL},
};
static const struct tide_tool_usage usage = {
    "explain", "FILE",
    "Says of each operation what its queue knows, and of each wait what becomes of it.", options,
    "Everything is submitted to queues that do not start, so that the answer is the same each "
    "time.\n"
    "(Where the host waits in the program, what comes before that is really run.)\n\n"
    "  resolved  the value is reached: nothing to wait for\n"
    "  elided    what the queue knows implies that it will have been reached: no wait\n"
    "  issued    the device has to wait\n"
    "  held      nobody had promised such a value when the operation was submitted; it was looked "
    "at\n"
    "            again when somebody did\n"
    "  failed    it will never be reached\n"};

static bool host_waits(struct tide_plan *plan) {
  struct tide_step step;
  tide_plan_rewind(plan);
  while (tide_plan_next(plan, &step, NULL) == TIDE_OK && step.kind != TIDE_STEP_END)
    if (step.kind == TIDE_STEP_HOST_WAIT) return true;
  return false;
}

/* The limits of the run. */
struct limits {
  uint64_t frontier, memory;
};

static enum tide_status run_paused(struct tide_explanation *e, const struct limits *limits,
                                   struct tide_tool_files *files, struct tide_diag *diag) {
  struct tide_run_result result;
  struct tide_run *run;
  struct tide_run_params params = {
      .struct_size = sizeof params,
      .platform = tide_platform_linux(),
      .allocator = tide_allocator_system(),
      .plan = e->plan,
      .files = tide_tool_files_source(files),
      .takes = tide_medium_takes(),
      .paused = true,
      .submit_only = !host_waits(e->plan),
      .frontier = (uint8_t)limits->frontier,
      .memory = (size_t)limits->memory,
      .sink = &e->sink,
  };
  params.kinds = tide_tool_devices(&params.kind_count);
  enum tide_status status = tide_run_create(&params, diag, &run);
  if (status != TIDE_OK) return status;
  tide_explanation_follow(e, run);
  tide_tool_watch_run(run);
  status = tide_run_execute(run, &result, diag);
  tide_tool_watch_run(NULL);
  tide_run_destroy(run);
  return status;
}

static bool explain_program(struct tide_tool_program *program, const struct limits *limits,
                            bool json) {
  const struct tide_allocator *a = tide_allocator_system();
  struct tide_explanation e = {.allocator = NULL};
  struct tide_tool_files *files = tide_tool_files_create(tide_plan_tables(program->plan), NULL);
  struct tide_diag diag = {.status = TIDE_OK};
  bool good = false;
  if (!files || tide_explanation_init(&e, a, program->plan, NULL) != TIDE_OK) {
    tide_tool_error("out of memory");
  } else if (run_paused(&e, limits, files, &diag) != TIDE_OK) {
    tide_tool_error_at(program->path, &diag);
  } else if (e.failed) {
    tide_tool_error("out of memory");
  } else if (json) {
    struct tide_json to = tide_tool_json(stdout);
    good = tide_explain_json(&e, &to, program->path) == TIDE_OK;
  } else {
    tide_explain_print(&e);
    good = true;
  }
  tide_tool_files_destroy(files);
  tide_explanation_fini(&e);
  return good;
}

int tide_tool_explain(int argc, char **argv) {
  struct tide_tool_arguments arguments = {.usage = &usage, .argc = argc, .argv = argv};
  struct tide_tool_program program = {.path = NULL};
  const char *path = NULL, *input = NULL;
  int option, status = TIDE_EXIT_OK;
  struct limits limits = {0};
  bool json = false, good = false;
  while (status == TIDE_EXIT_OK &&
         (option = tide_tool_next_argument(&arguments)) != TIDE_ARGUMENT_END) {
    if (option == TIDE_ARGUMENT_HELP) goto end;
    if (option == TIDE_ARGUMENT_ERROR) status = TIDE_EXIT_USAGE;
    if (option == TIDE_ARGUMENT_POSITIONAL && path)
      status = tide_tool_wrong_usage(&usage, "one program, not '%s', too", arguments.value);
    if (option == TIDE_ARGUMENT_POSITIONAL) path = arguments.value;
    if (option == INPUT) input = arguments.value;
    if (option == JSON) json = true;
    if (option == FRONTIER &&
        (!tide_tool_parse_number(arguments.value, 255, &limits.frontier) || !limits.frontier))
      status = tide_tool_wrong_usage(&usage, "--frontier %s: expected 1 to 255", arguments.value);
    if (option == MEMORY &&
        (!tide_tool_parse_size(arguments.value, &limits.memory) || !limits.memory))
      status = tide_tool_wrong_usage(&usage, "--memory %s: expected a size, such as 64M",
                                     arguments.value);
    if (option == SET && !tide_tool_add_setting(&program, arguments.value))
      status = TIDE_EXIT_USAGE;
    if (option == PLUGIN && !tide_tool_add_plugin(&program, arguments.value))
      status = TIDE_EXIT_FAILED;
  }
  if (status == TIDE_EXIT_OK && !path) status = tide_tool_wrong_usage(&usage, "which program?");
  if (status != TIDE_EXIT_OK) goto end;
  tide_tool_watch_signals();
  good = tide_tool_read(&program, path, false) &&
         (!input || tide_tool_use_image(&program, input)) && tide_tool_plan(&program) &&
         tide_tool_make_inputs(&program) && explain_program(&program, &limits, json);
  status = good ? TIDE_EXIT_OK : TIDE_EXIT_FAILED;
end:
  tide_tool_unload(&program);
  return status;
}
