/* tidemark explain: a paused run, and its decision about each wait. */
#include "tool/explain.h"

#include "tidemark/sim.h"

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
    "Everything is submitted to simulated queues before they start, so that the answer is the "
    "same\n"
    "each time. (Where the host waits in the program, what comes before that runs first.)\n\n"
    "  resolved  the value is reached: nothing to wait for\n"
    "  elided    what the queue knows implies that it will have been reached: no wait\n"
    "  issued    the device, or the host, has to wait\n"
    "  held      nobody had promised such a value when the operation was submitted; it was looked "
    "at\n"
    "            again when somebody did\n"
    "  failed    it will never be reached"};

/* The limits of the run. */
struct limits {
  uint64_t frontier, memory;
};

static void follow_run(void *explanation, const struct tide_run *run) {
  tide_explanation_follow(explanation, run);
}

static enum tide_status simulate(struct tide_explanation *e, const struct limits *limits,
                                 struct tide_diag *diag) {
  struct tide_simulation *simulation = NULL;
  struct tide_simulation_params params = {.struct_size = sizeof params,
                                          .plan = e->plan,
                                          .paused = true,
                                          .frontier = (uint8_t)limits->frontier,
                                          .memory = (size_t)limits->memory,
                                          .sink = &e->sink,
                                          .made = follow_run,
                                          .made_user = e};
  enum tide_status status = tide_simulate(&params, diag, &simulation);
  tide_simulation_destroy(simulation);
  return status;
}

static bool explain_program(struct tide_tool_program *program, const struct limits *limits,
                            bool json) {
  const struct tide_allocator *a = tide_allocator_system();
  struct tide_explanation e = {.allocator = NULL};
  struct tide_diag diag = {.status = TIDE_OK};
  bool good = false;
  if (tide_explanation_init(&e, a, program->plan, NULL) != TIDE_OK) {
    tide_tool_error("out of memory");
  } else if (simulate(&e, limits, &diag) != TIDE_OK) {
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
