/* tidemark explain: a paused run, and what it decided about each wait. */
#include "tool/explain.h"

#include "tidemark/wic.h"

#include <stdlib.h>
#include <string.h>

enum { SET, INPUT, JSON, PLUGIN };

static const struct tide_tool_option options[] = {
    [SET] = {"--set", "NAME=VALUE", "a parameter of the program; may be given several times"},
    [INPUT] = {"--input", "IMAGE", "your own image for the program: PNG, or raw 8-bit rows"},
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

/* ---- listening --------------------------------------------------------------------- */

/* The paused run is submitted by one thread; what else happens, happens under the scheduler's lock.
 */
static struct tide_told *told_of(struct tide_explanation *e, const struct tide_event *event,
                                 uint32_t *out_queue) {
  if (!e->run || !tide_run_axis_queue(e->run, event->axis, out_queue)) return NULL;
  struct tide_told_queue *queue = &e->queues[*out_queue];
  if (!event->sequence || event->sequence > queue->count) return NULL;
  return &queue->operations[event->sequence - 1];
}

static struct tide_frontier *copy_frontier(const struct tide_frontier *from) {
  uint8_t capacity = from->count ? from->count : 1;
  struct tide_frontier *to = malloc(tide_frontier_size(capacity));
  if (!to) return NULL;
  tide_frontier_init(to, capacity);
  tide_frontier_copy(to, from, NULL);
  return to;
}

static void on_enter(struct tide_explanation *e, const struct tide_event *event) {
  uint32_t queue;
  struct tide_told *told = told_of(e, event, &queue);
  if (!told || !event->epoch || event->epoch > e->queues[queue].count) return;
  told->epoch = event->epoch;
  told->known = event->frontier ? copy_frontier(event->frontier) : NULL;
  e->failed |= event->frontier && !told->known;
  e->queues[queue].sequences[event->epoch - 1] = event->sequence;
}

static void on_wait(struct tide_explanation *e, const struct tide_event *event) {
  uint32_t queue;
  struct tide_told *told = told_of(e, event, &queue);
  if (!told) return;
  if (told->wait_count == told->wait_room) {
    size_t room = told->wait_room ? told->wait_room * 2 : 4;
    struct tide_told_wait *waits = realloc(told->waits, room * sizeof *waits);
    if (!waits) {
      e->failed = true;
      return;
    }
    told->waits = waits;
    told->wait_room = room;
  }
  struct tide_told_wait *wait = &told->waits[told->wait_count++];
  *wait = (struct tide_told_wait){.value = event->value,
                                  .class_ = event->detail & 255,
                                  .reason = event->detail >> 8 & 255,
                                  .axis = event->cause_axis,
                                  .epoch = event->cause_epoch,
                                  .record_value = event->cause_value};
  snprintf(wait->timeline, sizeof wait->timeline, "%s", event->object_label);
}

static void on_alloc(struct tide_explanation *e, const struct tide_event *event) {
  if (!event->axis) return; /* by the host: a buffer that is there all the time */
  if (e->alloc_count == e->alloc_room) {
    size_t room = e->alloc_room ? e->alloc_room * 2 : 64;
    struct tide_told_alloc *allocs = realloc(e->allocs, room * sizeof *allocs);
    if (!allocs) {
      e->failed = true;
      return;
    }
    e->allocs = allocs;
    e->alloc_room = room;
  }
  e->allocs[e->alloc_count++] = (struct tide_told_alloc){
      event->detail & 255, event->frontier ? copy_frontier(event->frontier) : NULL};
}

static void on_event(void *self, const struct tide_event *event) {
  struct tide_explanation *e = self;
  uint32_t queue;
  struct tide_told *told;
  switch (event->kind) {
    case TIDE_EVENT_ENTER: on_enter(e, event); break;
    case TIDE_EVENT_WAIT_CLASS: on_wait(e, event); break;
    case TIDE_EVENT_ALLOC: on_alloc(e, event); break;
    case TIDE_EVENT_HOLD:
      told = told_of(e, event, &queue);
      if (told) told->held = true;
      break;
    default: break;
  }
}

/* ---- running -------------------------------------------------------------------------- */

static bool make(struct tide_explanation *e) {
  e->queues = calloc(e->tables->queue_count + 1, sizeof *e->queues);
  if (!e->queues) return false;
  for (size_t i = 0; i < e->tables->queue_count; i++) {
    struct tide_told_queue *queue = &e->queues[i];
    queue->count = (size_t)e->tables->queues[i].operations;
    queue->operations = calloc(queue->count + 1, sizeof *queue->operations);
    queue->sequences = calloc(queue->count + 1, sizeof *queue->sequences);
    if (!queue->operations || !queue->sequences) return false;
  }
  return true;
}

static void unmake(struct tide_explanation *e) {
  for (size_t i = 0; e->queues && i < e->tables->queue_count; i++) {
    struct tide_told_queue *queue = &e->queues[i];
    for (size_t j = 0; queue->operations && j < queue->count; j++) {
      free(queue->operations[j].known);
      free(queue->operations[j].waits);
    }
    free(queue->operations);
    free(queue->sequences);
  }
  for (size_t i = 0; i < e->alloc_count; i++) free(e->allocs[i].past);
  free(e->allocs);
  free(e->queues);
}

static bool host_waits(struct tide_plan *plan) {
  struct tide_step step;
  tide_plan_rewind(plan);
  while (tide_plan_next(plan, &step, NULL) == TIDE_OK && step.kind != TIDE_STEP_END)
    if (step.kind == TIDE_STEP_HOST_WAIT) return true;
  return false;
}

static enum tide_status run_paused(struct tide_explanation *e, struct tide_tool_files *files,
                                   struct tide_diag *diag) {
  struct tide_run_result result;
  struct tide_run_params params = {
      .platform = tide_platform_linux(),
      .allocator = tide_allocator_system(),
      .plan = e->program->plan,
      .files = tide_tool_files_source(files),
      .takes = tide_medium_takes(),
      .paused = true,
      .submit_only = !host_waits(e->program->plan),
      .sink = &e->sink,
  };
  params.kinds = tide_tool_devices(&params.kind_count);
  enum tide_status status = tide_run_create(&params, diag, &e->run);
  if (status != TIDE_OK) return status;
  tide_tool_watch_run(e->run);
  status = tide_run_execute(e->run, &result, diag);
  tide_tool_watch_run(NULL);
  return status;
}

static bool explain(struct tide_tool_program *program, bool json) {
  struct tide_explanation e = {.program = program, .tables = tide_plan_tables(program->plan)};
  struct tide_tool_files *files = tide_tool_files_create(e.tables, NULL);
  struct tide_diag diag = {.status = TIDE_OK};
  bool good = false;
  e.sink = (struct tide_sink){on_event, false, &e};
  if (!files || !make(&e)) {
    tide_tool_error("out of memory");
  } else if (run_paused(&e, files, &diag) != TIDE_OK) {
    tide_tool_error_at(program->path, &diag);
  } else if (e.failed) {
    tide_tool_error("out of memory");
  } else {
    if (json) tide_explain_print_json(&e);
    else tide_explain_print(&e);
    good = true;
  }
  tide_run_destroy(e.run);
  tide_tool_files_destroy(files);
  unmake(&e);
  return good;
}

int tide_tool_explain(int argc, char **argv) {
  struct tide_tool_arguments arguments = {.usage = &usage, .argc = argc, .argv = argv};
  struct tide_tool_program program = {.path = NULL};
  const char *path = NULL, *input = NULL;
  int option, status = TIDE_EXIT_OK;
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
         tide_tool_make_inputs(&program) && explain(&program, json);
  status = good ? TIDE_EXIT_OK : TIDE_EXIT_FAILED;
end:
  tide_tool_unload(&program);
  return status;
}
