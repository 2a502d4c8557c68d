/* Simulates a whole plan. The runner runs as usual, on a simulated clock, with bodies that only
 * take time and memory that does not exist. */
#include "base/array.h"
#include "base/check.h"
#include "base/alloc.h"
#include "base/params.h"
#include "base/text.h"
#include "sim/sim_state.h"
#include "tidemark/file.h"

#include <stddef.h>

#define WORKERS_MOST 65536
#define DEPTH_MOST 4096
#define DEPTH 64
#define MACHINES_MOST 65535
#define AHEAD_MOST 4096
#define AHEAD 64

/* ---- devices ----------------------------------------------------------------------- */

static enum tide_status read_option(const struct tide_plan_option *option, int64_t least,
                                    int64_t most, uint32_t *out_number, struct tide_diag *diag) {
  if (option->text)
    return tide_diag_at(diag, TIDE_INVALID, option->line, option->column,
                        "option '%s' takes a number", option->key);
  if (option->integer < least || option->integer > most)
    return tide_diag_at(
        diag, TIDE_INVALID, option->line, option->column, "option '%s' is %s; expected %ld to %ld",
        option->key, option->integer < least ? "too small" : "too large", (long)least, (long)most);
  *out_number = (uint32_t)option->integer;
  return TIDE_OK;
}

enum kind { CPU, STORAGE, GPU, VULKAN };
#define GPUS (1 << GPU | 1 << VULKAN)

/* An option of simulated devices, and the field that it sets. */
struct option {
  const char *key;
  unsigned kinds; /* a bit for each */
  int64_t least, most;
  size_t field; /* offset in struct settings */
};

struct settings {
  uint32_t hands, machine, threads, ahead, hardware_queues;
};

static const struct option device_options[] = {
    {"machine", 1 << CPU | 1 << STORAGE | GPUS, 0, MACHINES_MOST,
     offsetof(struct settings, machine)},
    {"workers", 1 << CPU | GPUS, 1, WORKERS_MOST, offsetof(struct settings, hands)},
    {"depth", 1 << STORAGE, 1, DEPTH_MOST, offsetof(struct settings, hands)},
    {"threads", 1 << STORAGE, 0, 1, offsetof(struct settings, threads)},
    {"ahead", GPUS, 0, AHEAD_MOST, offsetof(struct settings, ahead)},
    {"queues", GPUS, 1, TIDE_HARDWARE_QUEUES_MAX, offsetof(struct settings, hardware_queues)},
};

static enum tide_status read_options(const struct tide_plan_device *device, enum kind kind,
                                     struct settings *settings, struct tide_diag *diag) {
  static const char *const expected[] = {"workers or machine", "depth, threads or machine",
                                         "ahead, queues, workers or machine",
                                         "name, ahead, queues, workers or machine"};
  enum { OPTIONS = sizeof device_options / sizeof *device_options };
  for (size_t i = 0; i < device->option_count; i++) {
    const struct tide_plan_option *given = &device->options[i];
    const struct option *option = device_options;
    while (option < device_options + OPTIONS &&
           (!(option->kinds >> kind & 1) || strcmp(given->key, option->key) != 0))
      option++;
    if (kind == VULKAN && !strcmp(given->key, "name")) {
      if (given->text) continue;
      return tide_diag_at(diag, TIDE_INVALID, given->line, given->column,
                          "option 'name' takes a text");
    }
    if (option == device_options + OPTIONS)
      return tide_diag_at(diag, TIDE_NOT_FOUND, given->line, given->column,
                          "a simulated %s device has no option '%s'; expected %s", device->kind,
                          given->key, expected[kind]);
    enum tide_status status =
        read_option(given, option->least, option->most,
                    (uint32_t *)(void *)((char *)settings + option->field), diag);
    if (status != TIDE_OK) return status;
  }
  return TIDE_OK;
}

static struct tide_sim_op *op_of(struct tide_simulation *s, const struct tide_work *work) {
  return &s->ops[((const struct tide_sim_arguments *)tide_work_arguments(work))->operation];
}

static uint64_t ready(void *self, const struct tide_work *work, uint64_t now) {
  struct tide_sim_made *made = self;
  struct tide_simulation *s = made->simulation;
  struct tide_sim_op *op = op_of(s, work);
  uint32_t number = (uint32_t)(op - s->ops);
  tide_sim_settle(s, number);
  tide_sim_taken(s, number, work->epoch);
  if (op->submission) tide_sim_after_native(made, op, now);
  return op->could > now ? op->could : now;
}

static enum tide_status submit_op(void *self, struct tide_work *work,
                                  const struct tide_submission *submission) {
  struct tide_sim_made *made = self;
  const struct tide_sim_arguments *arguments = tide_work_arguments(work);
  if (arguments->fails) return TIDE_FAILED;
  tide_sim_submitted(made, arguments->operation, submission);
  return TIDE_OK;
}

static uint64_t start_op(void *self, const struct tide_work *work, uint32_t hand, uint64_t now) {
  struct tide_sim_made *made = self;
  struct tide_simulation *s = made->simulation;
  const struct tide_sim_arguments *arguments = tide_work_arguments(work);
  struct tide_sim_op *op = op_of(s, work);
  uint64_t time = arguments->cost;
  op->start = now;
  op->before_it = made->last[hand];
  made->last[hand] = arguments->operation;
  if (op->started) {
    tide_sim_take_again(s, op, work, now);
    return 0; /* `more` follows at once */
  }
  op->started = true;
  op->price = s->params.wait_cost * op->issued;
  if (op->tag_count) time = tide_sim_take_begin(s, op, time);
  if (__builtin_add_overflow(time, op->price, &time)) time = UINT64_MAX / 2;
  op->chain = op->chain_start + time;
  made->result.busy += time;
  made->result.operations++;
  s->result.busy += time;
  s->result.operations++;
  return time;
}

static uint64_t more(void *self, struct tide_work *work, uint32_t hand, uint64_t now) {
  struct tide_sim_made *made = self;
  struct tide_sim_op *op = op_of(made->simulation, work);
  (void)hand;
  if (!op->tag_count) return 0;
  uint64_t time = tide_sim_take_more(made, op, work, now);
  if (time != TIDE_SIM_STALLS) {
    made->result.busy += time;
    made->simulation->result.busy += time;
  }
  return time;
}

static void end_op(void *self, struct tide_work *work, uint32_t hand, uint64_t now) {
  struct tide_sim_made *made = self;
  struct tide_simulation *s = made->simulation;
  const struct tide_sim_arguments *arguments = tide_work_arguments(work);
  struct tide_sim_op *op = op_of(s, work);
  (void)hand;
  op->end = now;
  op->over = true;
  if (op->chain > s->result.longest_chain) s->result.longest_chain = op->chain;
  if (op->part_of != TIDE_SIM_NONE) s->ops[op->part_of].last_part = arguments->operation;
  if (arguments->fails) work->status = TIDE_FAILED;
  if (op->missing != TIDE_OK) work->status = op->missing;
}

/* Adds the submitting thread of a device that runs ahead. */
static enum tide_status make_thread(struct tide_sim_made *made, struct tide_sim_params *params,
                                    const struct settings *settings) {
  struct tide_simulation *s = made->simulation;
  params->hardware_queues = settings->hardware_queues;
  params->submit_cost = s->params.submit_cost;
  params->native_wait_cost = s->params.native_wait_cost;
  params->round_trip = s->params.round_trip;
  params->ahead = s->params.keep_on_host ? 0 : settings->ahead;
  made->script.more = NULL;
  made->result.hardware_queues = params->hardware_queues;
  made->result.ahead = params->ahead;
  if (!params->ahead) return TIDE_OK;
  made->orders = tide_alloc(s->allocator, TIDE_HARDWARE_QUEUES_MAX, sizeof *made->orders);
  return made->orders ? TIDE_OK : TIDE_NOMEM;
}

static enum tide_status make_device(struct tide_simulation *s,
                                    const struct tide_device_request *request,
                                    struct tide_sim_made *made, enum kind kind,
                                    const struct settings *settings) {
  struct tide_sim_params params = {
      .struct_size = sizeof params,
      .label = request->device->label,
      .hands = made->result.hands,
      .out_of_order = !made->in_order,
      .domain = kind == STORAGE ? TIDE_DOMAIN_STORAGE : TIDE_DOMAIN_QUEUE,
      .wake = s->params.wake,
      .script = &made->script,
      .skip_bodies = true,
  };
  made->script = (struct tide_sim_script){ready, start_op, more, end_op, made, submit_op};
  made->last = tide_alloc(s->allocator, params.hands, sizeof *made->last);
  if (!made->last) return TIDE_NOMEM;
  memset(made->last, 0xff, params.hands * sizeof *made->last);
  if (made->is_gpu && make_thread(made, &params, settings) != TIDE_OK) return TIDE_NOMEM;
  return tide_sim_open(request->context, s->clock, &params, &made->device);
}

static enum tide_status refuse_takes(const struct tide_simulation *s, size_t device,
                                     struct tide_diag *diag) {
  for (size_t i = 0; i < s->tables->queue_count; i++) {
    const struct tide_plan_queue *queue = &s->tables->queues[i];
    if (queue->device == device && queue->take_line)
      return tide_diag_at(diag, TIDE_UNSUPPORTED, queue->take_line, queue->take_column,
                          "queue '%s' cannot take: only a thread can stall, not a gpu",
                          queue->label);
  }
  return TIDE_OK;
}

static enum tide_status make_any(struct tide_simulation *s,
                                 const struct tide_device_request *request, enum kind kind,
                                 struct tide_device **out_device, struct tide_diag *diag) {
  size_t index = (size_t)(request->device - s->tables->devices);
  struct tide_sim_made *made = &s->devices[index];
  uint32_t workers = s->params.workers ? s->params.workers : 1;
  struct settings settings = {
      .hands = kind == STORAGE ? DEPTH : workers, .ahead = AHEAD, .hardware_queues = 1};
  made->simulation = s;
  made->in_order = kind == CPU || kind == GPU;
  made->is_gpu = GPUS >> kind & 1;
  enum tide_status status = read_options(request->device, kind, &settings, diag);
  if (status == TIDE_OK && made->is_gpu) status = refuse_takes(s, index, diag);
  made->result.hands = settings.hands;
  made->result.machine = settings.machine;
  if (status != TIDE_OK) return status;
  if (kind != STORAGE && s->params.workers_all) made->result.hands = s->params.workers_all;
  status = make_device(s, request, made, kind, &settings);
  if (status == TIDE_OK) *out_device = made->device;
  return status;
}

static enum tide_status make_cpu(void *self, const struct tide_device_request *request,
                                 struct tide_device **out_device, struct tide_diag *diag) {
  return make_any(self, request, CPU, out_device, diag);
}

static enum tide_status make_file(void *self, const struct tide_device_request *request,
                                  struct tide_device **out_device, struct tide_diag *diag) {
  return make_any(self, request, STORAGE, out_device, diag);
}

static enum tide_status make_gpu(void *self, const struct tide_device_request *request,
                                 struct tide_device **out_device, struct tide_diag *diag) {
  return make_any(self, request, GPU, out_device, diag);
}

static enum tide_status make_vulkan(void *self, const struct tide_device_request *request,
                                    struct tide_device **out_device, struct tide_diag *diag) {
  return make_any(self, request, VULKAN, out_device, diag);
}

/* The same bodies as the real devices take. Those that are only ever simulated take any. */
static bool takes_host(void *self, const struct tide_body_class *class_) {
  (void)self;
  return class_->host != NULL;
}

static bool takes_file(void *self, const struct tide_body_class *class_) {
  (void)self;
  if (!class_->ops || class_->ops->kind != TIDE_OPS_FILE) return false;
  const struct tide_file_ops *ops = (const void *)class_->ops;
  return ops->verb != TIDE_IO_NONE && ops->describe;
}

static bool takes_vulkan(void *self, const struct tide_body_class *class_) {
  (void)self;
  return class_->ops && class_->ops->kind == TIDE_OPS_VULKAN;
}

/* A program has one vulkan device, since its memory holds the buffers: here, as in a run. */
static const struct tide_memory_source *memory_of_vulkan(void *self, struct tide_device *device) {
  struct tide_simulation *s = self;
  (void)device;
  return &s->memory;
}

static const struct tide_device_kind kinds[] = {
    {.name = "cpu",
     .summary = "in order; `workers N`, `machine N`",
     .in_order = true,
     .open = make_cpu,
     .takes = takes_host},
    {.name = "file",
     .summary = "out of order; `depth N`, `machine N`",
     .open = make_file,
     .takes = takes_file},
    {.name = "sim",
     .summary = "in order, and only ever simulated; `workers N`, `machine N`",
     .in_order = true,
     .open = make_cpu},
    {.name = "gpu",
     .summary = "runs ahead, and only ever simulated; `ahead N`, `queues N`, `workers N`, "
                "`machine N`",
     .in_order = true,
     .open = make_gpu},
    {.name = "vulkan",
     .summary = "runs ahead, out of order; `ahead N`, `queues N`, `workers N`, `machine N`; `name` "
                "is ignored",
     .open = make_vulkan,
     .memory = memory_of_vulkan,
     .takes = takes_vulkan},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const struct tide_device_kind *tide_simulation_kinds(size_t *out_count) {
  *out_count = KINDS;
  return kinds;
}

/* ---- stand-ins for bodies, memory and files ------------------------------------------- */

static enum tide_status never_run(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class body = {.name = "sim", .host = never_run};

#define TIME_MOST ((uint64_t)INT64_MAX / 2) /* ns: 146 years; beyond it sums might not fit */

/* True if the clock can hold the time of all submitted operations, run one after the other, with
 * each signal on the slowest way. */
static bool fits_clock(struct tide_simulation *s, uint64_t cost, size_t waits, bool on_gpu) {
  const struct tide_simulation_params *p = &s->params;
  unsigned __int128 most = (unsigned __int128)s->most_time + cost + p->wake + p->step_cost +
                           (unsigned __int128)p->wait_cost * waits;
  if (on_gpu) most += (unsigned __int128)p->submit_cost + p->native_wait_cost + p->round_trip;
  for (size_t i = 0; i < TIDE_WAY_COUNT; i++) most += p->latencies[i];
  for (size_t i = 0; i < p->link_count; i++) most += s->links[i].latency;
  s->too_long |= most > TIME_MOST;
  if (!s->too_long) s->most_time = (uint64_t)most;
  return !s->too_long;
}

/* Replaces the body of an operation. Once memory or the clock's range is exhausted, operations take
 * no time, and the simulation fails. */
static void stand_in(void *self, const struct tide_step *step, struct tide_operation *operation) {
  struct tide_simulation *s = self;
  bool assumed;
  operation->body = NULL;
  operation->arguments_size = 0;
  if (s->no_memory || s->too_long) return;
  uint64_t cost = tide_sim_cost(s, step, &assumed);
  bool on_gpu = s->devices[s->tables->queues[step->queue].device].is_gpu;
  if (!fits_clock(s, cost, operation->wait_count, on_gpu)) return;
  bool fails = step->body->class_.fails || tide_sim_fails(s, step->number);
  s->arguments = (struct tide_sim_arguments){cost, (uint32_t)s->op_count, fails};
  s->result.assumed += assumed;
  tide_sim_note(s, step, operation);
  if (s->no_memory) return;
  operation->body = &body;
  operation->arguments = &s->arguments;
  operation->arguments_size = sizeof s->arguments;
}

static void pass_step_cost(void *self) {
  struct tide_simulation *s = self;
  if (s->params.step_cost) tide_clock_pass(s->clock, s->params.step_cost);
}

/* Returns addresses that are never accessed. */
static void *map(void *self, size_t size) {
  enum { PAGE = 4096 };
  struct tide_simulation *s = self;
  uintptr_t address = s->next_address ? s->next_address : PAGE;
  size_t whole = size > SIZE_MAX - PAGE ? SIZE_MAX : (size + PAGE - 1) / PAGE * PAGE;
  if (whole > UINTPTR_MAX / 2 - address) return NULL;
  s->next_address = address + whole;
  s->mapped += size;
  if (s->mapped > s->result.memory_peak) s->result.memory_peak = s->mapped;
  return (void *)address;
}

static void unmap(void *self, void *memory, size_t size) {
  struct tide_simulation *s = self;
  (void)memory;
  s->mapped -= size;
  if (!s->mapped) s->next_address = 0;
}

static enum tide_status open_none(void *self, const struct tide_plan_file *file,
                                  struct tide_opened_file *out_file, struct tide_diag *diag) {
  (void)self, (void)file, (void)diag;
  *out_file = (struct tide_opened_file){.descriptor = -1};
  return TIDE_OK;
}
static const struct tide_file_source no_files = {.open = open_none};

/* ---- all of it --------------------------------------------------------------------------- */

static bool find_device(const struct tide_plan_tables *tables, const char *label, uint32_t *out) {
  for (size_t i = 0; i < tables->device_count; i++) {
    if (strcmp(tables->devices[i].label, label) != 0) continue;
    *out = (uint32_t)i;
    return true;
  }
  return false;
}

static enum tide_status read_links(struct tide_simulation *s, struct tide_diag *diag) {
  for (size_t i = 0; i < s->params.link_count; i++) {
    const struct tide_sim_link *link = &s->params.links[i];
    struct tide_sim_link_at *at = &s->links[i];
    at->latency = link->latency;
    const char *missing = NULL;
    if (!find_device(s->tables, link->from, &at->from)) missing = link->from;
    else if (!find_device(s->tables, link->to, &at->to)) missing = link->to;
    if (missing)
      return tide_diag_set(diag, TIDE_NOT_FOUND, "a link names device '%s', which there is not",
                           missing);
  }
  return TIDE_OK;
}

/* Reserves the arrays with sizes that the plan's tables state; the others grow. */
static bool reserve_arrays(struct tide_simulation *s) {
  const struct tide_plan_tables *tables = s->tables;
  bool plain = s->params.mode == TIDE_RUN_TRACKED;
  bool good = tide_array_reserve(s->allocator, &s->ops, &s->op_room, (size_t)tables->operations,
                                 sizeof *s->ops);
  if (good && plain)
    good = tide_array_reserve(s->allocator, &s->waits, &s->wait_room, (size_t)tables->waits,
                              sizeof *s->waits);
  for (size_t i = 0; i < tables->queue_count && good; i++) {
    struct tide_sim_queue *queue = &s->queues[i];
    size_t count = (size_t)tables->queues[i].operations;
    good = tide_array_reserve(s->allocator, &queue->operations, &queue->capacity, count,
                              sizeof *queue->operations) &&
           tide_array_reserve(s->allocator, &queue->entered, &queue->entered_capacity, count,
                              sizeof *queue->entered);
  }
  return good;
}

static enum tide_status set_up(struct tide_simulation *s, struct tide_diag *diag) {
  const struct tide_allocator *a = s->allocator;
  struct tide_clock_params clock = {
      .struct_size = sizeof clock, .seed = s->params.seed, .shuffle = s->params.seed != 0};
  s->devices = tide_alloc(a, s->tables->device_count, sizeof *s->devices);
  s->queues = tide_alloc(a, s->tables->queue_count, sizeof *s->queues);
  s->links = tide_alloc(a, s->params.link_count, sizeof *s->links);
  enum tide_status status = s->devices && s->queues && s->links ? TIDE_OK : TIDE_NOMEM;
  if (status == TIDE_OK && !reserve_arrays(s)) status = TIDE_NOMEM;
  if (status == TIDE_OK) status = tide_clock_create(a, &clock, &s->clock);
  if (status != TIDE_OK) return tide_diag_set(diag, status, "out of memory");
  for (size_t i = 0; i < s->tables->queue_count; i++) s->queues[i].last = TIDE_SIM_NONE;
  s->stand_in = (struct tide_run_stand_in){stand_in, pass_step_cost, &s->memory, s};
  s->memory = (struct tide_memory_source){map, unmap, s};
  s->sink = (struct tide_sink){.event = tide_sim_event,
                               .wants_time = s->params.sink && s->params.sink->wants_time,
                               .self = s};
  tide_wait_counter_init(&s->result.waits, &s->sink);
  for (size_t i = 0; i < KINDS; i++) {
    s->kinds[i] = kinds[i];
    s->kinds[i].self = s;
  }
  return read_links(s, diag);
}

static enum tide_status make_run(struct tide_simulation *s, struct tide_diag *diag) {
  struct tide_run_params params = {
      .struct_size = sizeof params,
      .platform = tide_clock_platform(s->clock),
      .allocator = s->allocator,
      .plan = s->params.plan,
      .kinds = s->kinds,
      .kind_count = KINDS,
      .files = &no_files,
      .mode = s->params.mode,
      .memory = s->params.memory,
      .frontier = s->params.frontier,
      .capacity = s->params.capacity,
      .stand_in = &s->stand_in,
      .paused = s->params.paused,
      .sink = &s->result.waits.sink,
      .progress = s->params.progress,
      .progress_user = s->params.progress_user,
  };
  enum tide_status status = tide_run_create(&params, diag, &s->run);
  if (status != TIDE_OK) return status;
  for (uint32_t i = 0; i < s->tables->queue_count; i++)
    s->queues[i].axis = tide_run_queue_axis(s->run, i);
  if (s->params.made) s->params.made(s->params.made_user, s->run);
  return tide_sim_know_axes(s) ? TIDE_OK : TIDE_NOMEM;
}

#if __STDC_HOSTED__ && !defined(TIDE_FREESTANDING)
static const struct tide_allocator *some_allocator(void) { return tide_allocator_system(); }
#else
static const struct tide_allocator *some_allocator(void) { return NULL; }
#endif

enum tide_status tide_simulate(const struct tide_simulation_params *params, struct tide_diag *diag,
                               struct tide_simulation **out_simulation) {
  struct tide_simulation_params own;
  enum tide_status known =
      tide_params_copy_named(&own, sizeof own, params, "tide_simulation_params", diag);
  *out_simulation = NULL;
  if (known != TIDE_OK) return known;
  params = &own;
  const struct tide_allocator *a = params->allocator ? params->allocator : some_allocator();
  if (!a || !params->plan || params->mode == TIDE_RUN_SEQUENTIAL)
    return tide_diag_set(diag, TIDE_INVALID, "a simulation needs a plan that is not sequential");
  struct tide_simulation *s = tide_alloc(a, 1, sizeof *s);
  if (!s) return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  s->params = *params;
  s->allocator = a;
  s->tables = tide_plan_tables(params->plan);
  s->result.device_count = s->tables->device_count;
  *out_simulation = s;
  enum tide_status status = set_up(s, diag);
  if (status == TIDE_OK) status = make_run(s, diag);
  if (status == TIDE_OK) status = tide_run_execute(s->run, &s->result.run, diag);
  if (s->too_long && status == TIDE_OK)
    status = tide_diag_set(diag, TIDE_VALUE,
                           "it might take longer than 146 years: no clock goes so far");
  if (s->no_memory || !tide_sim_trace_path(s)) {
    if (status == TIDE_OK) status = tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  }
  tide_run_destroy(s->run);
  s->run = NULL;
  return status;
}

void tide_simulation_destroy(struct tide_simulation *s) {
  if (!s) return;
  const struct tide_allocator *a = s->allocator;
  tide_sim_native_free(s);
  for (size_t i = 0; s->devices && i < s->tables->device_count; i++)
    tide_free(a, s->devices[i].last, s->devices[i].result.hands, sizeof *s->devices[i].last);
  tide_free(a, s->devices, s->tables->device_count, sizeof *s->devices);
  tide_free(a, s->links, s->params.link_count, sizeof *s->links);
  tide_free(a, s->stops, s->stop_capacity, sizeof *s->stops);
  tide_sim_past_free(s);
  tide_sim_time_free(s);
  tide_sim_take_free(s);
  tide_clock_destroy(s->clock);
  tide_free(a, s, 1, sizeof *s);
}

const struct tide_simulation_result *tide_simulation_result(const struct tide_simulation *s) {
  return &s->result;
}

struct tide_sim_device_result tide_simulation_device(const struct tide_simulation *s,
                                                     size_t device) {
  return s->devices[device].result;
}

bool tide_simulation_operation(const struct tide_simulation *s, uint64_t number,
                               struct tide_sim_stop *out_operation) {
  if (number >= s->op_count) return false;
  const struct tide_sim_op *op = &s->ops[number];
  *out_operation = (struct tide_sim_stop){op->step, op->queue, op->start, op->end};
  return true;
}

const struct tide_sim_stop *tide_simulation_path(const struct tide_simulation *s,
                                                 size_t *out_count) {
  *out_count = s->stop_count;
  return s->stops;
}
