/* The functions that the page calls. */
#include "base/alloc.h"
#include "program/arena.h"
#include "program/plan.h"
#include "view_state.h"

struct view view;

/* ---- bytes in and out ------------------------------------------------------------------ */

char *tide_view_room(uint32_t size) {
  if (!view.allocator) tide_view_begin();
  if (size <= view.capacity_size) return view.capacity;
  char *room = view.allocator->alloc(view.allocator->self, size, 16);
  if (!room) return NULL;
  if (view.capacity) view.allocator->free(view.allocator->self, view.capacity, view.capacity_size);
  view.capacity = room;
  view.capacity_size = size;
  return room;
}

const char *tide_view_answer(void) { return view.answer ? view.answer : ""; }
uint32_t tide_view_answer_size(void) { return (uint32_t)view.answer_size; }

const void *tide_view_array(uint32_t array) {
  return array < TIDE_VIEW_ARRAY_COUNT ? view.rows[array].items : NULL;
}
uint32_t tide_view_array_count(uint32_t array) {
  return array < TIDE_VIEW_ARRAY_COUNT ? (uint32_t)view.rows[array].count : 0;
}

/* ---- one program ----------------------------------------------------------------------- */

#if !defined(__wasm__)
static void free_view(void) {
  const struct tide_allocator *a = view.allocator;
  static const size_t sizes[] = {sizeof(struct tide_view_operation),
                                 sizeof(struct tide_view_entry),
                                 sizeof(struct tide_view_wait),
                                 sizeof(struct tide_view_value),
                                 sizeof(struct tide_view_use),
                                 sizeof(double),
                                 1};
  if (!a) return;
  tide_simulation_destroy(view.simulation);
  tide_explanation_fini(&view.explanation);
  for (size_t i = 0; view.operation_of && i < view.tables->queue_count; i++)
    tide_free(a, view.operation_of[i], (size_t)view.tables->queues[i].operations,
              sizeof **view.operation_of);
  if (view.operation_of)
    tide_free(a, view.operation_of, view.tables->queue_count, sizeof *view.operation_of);
  tide_free(a, view.objects, view.object_capacity, sizeof *view.objects);
  for (size_t i = 0; i < TIDE_VIEW_ARRAY_COUNT; i++)
    tide_free(a, view.rows[i].items, view.rows[i].capacity, sizes[i]);
  view_reuse_end();
  for (size_t i = 0; i < 2; i++)
    tide_free(a, view.turns[i].items, view.turns[i].capacity, sizeof(uint32_t));
  if (view.tables) {
    size_t queues = view.tables->queue_count;
    tide_free(a, view.in_order, queues, sizeof *view.in_order);
    for (size_t i = 0; view.after && i < view.tables->operations; i++)
      if (view.after[i])
        tide_free(a, view.after[i], 1, tide_frontier_size(view.after[i]->capacity));
    tide_free(a, view.after, (size_t)view.tables->operations, sizeof *view.after);
    tide_free(a, view.queues, queues, sizeof *view.queues);
    tide_free(a, view.priorities, queues, sizeof *view.priorities);
  }
  tide_plan_destroy(view.plan);
  tide_program_destroy(view.program);
  if (view.capacity) a->free(a->self, view.capacity, view.capacity_size);
  if (view.answer) a->free(a->self, view.answer, view.answer_capacity);
}
#else
static void free_view(void) {} /* view_heap_begin frees everything */
#endif

void tide_view_begin(void) {
  free_view();
  view_heap_begin();
  memset(&view, 0, sizeof view);
  view.allocator = view_allocator();
}

void tide_view_option(uint32_t option, double value) {
  if (option < TIDE_VIEW_OPTION_COUNT && value >= 0 && value < 9e15) view.options[option] = value;
}

uint32_t tide_view_setting(uint32_t length) {
  size_t equals = 0;
  if (length > view.capacity_size || view.setting_count == VIEW_SETTINGS ||
      view.setting_used + length + 1 > VIEW_SETTING_TEXT)
    return TIDE_FULL;
  char *text = view.setting_text + view.setting_used;
  memcpy(text, view.capacity, length);
  text[length] = 0;
  while (equals < length && text[equals] != '=') equals++;
  if (!equals || equals == length) return TIDE_INVALID;
  text[equals] = 0;
  view.settings[view.setting_count++] = (struct tide_setting){text, text + equals + 1};
  view.setting_used += length + 1;
  return TIDE_OK;
}

/* Limits the devices of each kind: queues of further devices move to the first ones. */
static void share_devices(void) {
  uint32_t most = (uint32_t)view.options[TIDE_VIEW_DEVICES];
  if (!most) return;
  for (size_t i = 0; i < view.tables->queue_count; i++) {
    const struct tide_plan_device *devices = view.tables->devices;
    uint32_t own = view.tables->queues[i].device, rank = 0, at = 0;
    for (uint32_t d = 0; d < own; d++) rank += strcmp(devices[d].kind, devices[own].kind) == 0;
    rank %= most;
    for (at = 0; at < own; at++)
      if (strcmp(devices[at].kind, devices[own].kind) == 0 && rank-- == 0) break;
    view.plan->queues[i].device = at;
  }
}

uint32_t tide_view_load(uint32_t length) {
  struct tide_diag diags[VIEW_DIAGS];
  struct tide_report report = {.diags = diags, .capacity = VIEW_DIAGS};
  struct tide_body_set set;
  set.bodies = tide_kernel_bodies(&set.count);
  if (length > view.capacity_size || view.program) return TIDE_INVALID;
  struct tide_program_params program = {.struct_size = sizeof program,
                                        .allocator = view.allocator,
                                        .text = length ? view.capacity : "",
                                        .length = length};
  struct tide_plan_params plan = {.struct_size = sizeof plan,
                                  .bodies = &set,
                                  .body_set_count = 1,
                                  .settings = view.settings,
                                  .setting_count = view.setting_count,
                                  .operations = TIDE_VIEW_OPERATIONS};
  view_answer_begin();
  enum tide_status status = tide_program_parse(&program, &report, &view.program);
  if (status == TIDE_OK) status = tide_plan_create(view.program, &plan, &report, &view.plan);
  if (status != TIDE_OK) {
    view_tell_errors(&report, status);
    return status;
  }
  view.tables = tide_plan_tables(view.plan);
  share_devices();
  view_tell_tables();
  return TIDE_OK;
}

/* ---- the run --------------------------------------------------------------------------- */

static enum tide_status simulate_plan(struct tide_diag *diag) {
  const double *options = view.options;
  struct tide_simulation_params params = {
      .struct_size = sizeof params,
      .allocator = view.allocator,
      .plan = view.plan,
      .mode = (enum tide_run_mode)options[TIDE_VIEW_MODE],
      .seed = (uint64_t)options[TIDE_VIEW_SEED],
      .cost = 1000,
      .cost_per_kib = 250,
      .workers_all = (uint32_t)options[TIDE_VIEW_WORKERS],
      .frontier = (uint8_t)options[TIDE_VIEW_FRONTIER],
      .paused = options[TIDE_VIEW_PAUSED] > 0,
      .step_cost = (uint64_t)options[TIDE_VIEW_STEP_COST],
      .wait_cost = (uint64_t)options[TIDE_VIEW_WAIT_COST],
      .memory = (size_t)options[TIDE_VIEW_MEMORY],
      .fail = (uint32_t)options[TIDE_VIEW_FAIL],
      .capacity = (uint32_t)options[TIDE_VIEW_CAPACITY],
      .sink = &view.explanation.sink,
      .made = view_record_made,
  };
  params.latencies[TIDE_WAY_DEVICE] = (uint64_t)options[TIDE_VIEW_LATENCY];
  params.latencies[TIDE_WAY_MACHINE] = (uint64_t)options[TIDE_VIEW_LATENCY];
  if (params.mode > TIDE_RUN_BARRIER) params.mode = TIDE_RUN_TRACKED;
  return tide_simulate(&params, diag, &view.simulation);
}

uint32_t tide_view_run(void) {
  struct tide_diag diag = {.status = TIDE_OK};
  if (!view.plan || view.simulation) return TIDE_INVALID;
  view_answer_begin();
  enum tide_status status = TIDE_NOMEM;
  if (view_record_begin()) status = simulate_plan(&diag);
  if (view.simulation) view_record_end();
  if (view.failed || view.explanation.failed) status = TIDE_NOMEM;
  view_tell_result(status, &diag);
  return status;
}

/* ---- queries ----------------------------------------------------------------------------- */

uint32_t tide_view_operation(uint32_t operation) {
  const struct tide_view_operation *op = view.rows[TIDE_VIEW_ARRAY_OPERATIONS].items;
  struct tide_step step;
  view_answer_begin();
  if (operation >= view.rows[TIDE_VIEW_ARRAY_OPERATIONS].count) return TIDE_NOT_FOUND;
  op += operation;
  const struct tide_explained *told =
      &view.explanation.queues[op->queue].operations[op->sequence - 1];
  tide_plan_rewind(view.plan);
  while (tide_plan_next(view.plan, &step, NULL) == TIDE_OK && step.kind != TIDE_STEP_END) {
    if (step.number != told->step) continue;
    tide_explain_json_operation(&view.explanation, &view.json, &step, told);
    return TIDE_OK;
  }
  return TIDE_NOT_FOUND;
}

uint32_t tide_view_explain(uint32_t length) {
  char name[256];
  struct tide_text text;
  view_answer_begin();
  if (!view.simulation) return TIDE_INVALID;
  tide_text_init(&text, name, sizeof name);
  tide_text_bytes(&text, view.capacity, length < view.capacity_size ? length : view.capacity_size);
  view.json.dense = false;
  return tide_explain_json(&view.explanation, &view.json, name);
}
