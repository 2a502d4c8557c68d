/* Answers as JSON. */
#include "base/alloc.h"
#include "program/plan.h"
#include "view_state.h"

/* Appends to the answer. If there is no memory to grow it, the bytes are dropped. */
static void put_bytes(void *self, const char *bytes, size_t size) {
  (void)self;
  if (view.answer_size + size + 1 > view.answer_capacity) {
    size_t room = (view.answer_size + size + 1) * 2;
    char *more = view.allocator->alloc(view.allocator->self, room, 16);
    if (!more) return;
    if (view.answer) {
      memcpy(more, view.answer, view.answer_size);
      view.allocator->free(view.allocator->self, view.answer, view.answer_capacity);
    }
    view.answer = more;
    view.answer_capacity = room;
  }
  memcpy(view.answer + view.answer_size, bytes, size);
  view.answer_size += size;
  view.answer[view.answer_size] = 0;
}

void view_answer_begin(void) {
  view.answer_size = 0;
  if (view.answer) view.answer[0] = 0;
  view.json = (struct tide_json){.write = put_bytes, .dense = true};
}

static void put_place(const struct tide_diag *diag) {
  tide_json_number(&view.json, "line", diag->line);
  tide_json_number(&view.json, "column", diag->column);
  tide_json_text(&view.json, "text", diag->text);
  tide_json_text(&view.json, "status", tide_status_name(diag->status));
}

void view_tell_errors(const struct tide_report *report, enum tide_status status) {
  size_t told = report->count < report->capacity ? report->count : report->capacity;
  struct tide_diag none = {.status = status, .text = "it could not be read: out of memory"};
  tide_json_open(&view.json, NULL, '{');
  tide_json_open(&view.json, "errors", '[');
  for (size_t i = 0; i < (told ? told : 1); i++) {
    tide_json_open(&view.json, NULL, '{');
    put_place(told ? &report->diags[i] : &none);
    tide_json_close(&view.json, '}');
  }
  tide_json_close(&view.json, ']');
  tide_json_number(&view.json, "more", report->count - told);
  tide_json_close(&view.json, '}');
}

/* ---- the program's tables --------------------------------------------------------------- */

static void tell_params(void) {
  const struct tide_program *program = view.program;
  tide_json_open(&view.json, "params", '[');
  for (size_t i = 0; i < program->param_count; i++) {
    const struct tide_program_param *param = &program->params[i];
    tide_json_open(&view.json, NULL, '{');
    tide_json_text(&view.json, "name", param->name);
    tide_json_number(&view.json, "line", param->line);
    for (size_t s = 0; s < program->symbol_count; s++) {
      if (!program->symbols[s].text || strcmp(program->symbols[s].text, param->name) != 0) continue;
      if (param->text)
        tide_json_text(&view.json, "value", view.plan->texts[s] ? view.plan->texts[s] : "");
      else tide_json_integer(&view.json, "value", view.plan->values[s]);
      break;
    }
    tide_json_close(&view.json, '}');
  }
  tide_json_close(&view.json, ']');
}

static void tell_devices(void) {
  const struct tide_plan_tables *t = view.tables;
  tide_json_open(&view.json, "devices", '[');
  for (size_t i = 0; i < t->device_count; i++) {
    tide_json_open(&view.json, NULL, '{');
    tide_json_text(&view.json, "label", t->devices[i].label);
    tide_json_text(&view.json, "kind", t->devices[i].kind);
    tide_json_close(&view.json, '}');
  }
  tide_json_close(&view.json, ']');
  tide_json_open(&view.json, "queues", '[');
  for (size_t i = 0; i < t->queue_count; i++) {
    tide_json_open(&view.json, NULL, '{');
    tide_json_text(&view.json, "label", t->queues[i].label);
    tide_json_number(&view.json, "device", t->queues[i].device);
    tide_json_number(&view.json, "priority", t->queues[i].priority ? t->queues[i].priority : 8);
    tide_json_number(&view.json, "operations", t->queues[i].operations);
    tide_json_close(&view.json, '}');
  }
  tide_json_close(&view.json, ']');
}

static void tell_timelines(void) {
  const struct tide_plan_tables *t = view.tables;
  tide_json_open(&view.json, "timelines", '[');
  for (size_t i = 0; i < t->timeline_count; i++) {
    const struct tide_plan_timeline *timeline = &t->timelines[i];
    tide_json_open(&view.json, NULL, '{');
    tide_json_text(&view.json, "label", timeline->label);
    tide_json_number(&view.json, "initial", timeline->initial);
    tide_json_text(&view.json, "scope", tide_scope_name(timeline->scope));
    tide_json_bool(&view.json, "used", timeline->used);
    if (timeline->collective != TIDE_PLAN_NONE)
      tide_json_number(&view.json, "collective", timeline->collective);
    tide_json_close(&view.json, '}');
  }
  tide_json_close(&view.json, ']');
}

static void tell_buffers(void) {
  const struct tide_plan_tables *t = view.tables;
  tide_json_open(&view.json, "buffers", '[');
  for (size_t i = 0; i < t->buffer_count; i++) {
    tide_json_open(&view.json, NULL, '{');
    tide_json_text(&view.json, "label", t->buffers[i].label);
    tide_json_number(&view.json, "size", t->buffers[i].size);
    tide_json_bool(&view.json, "scratch", t->buffers[i].scratch);
    tide_json_close(&view.json, '}');
  }
  tide_json_close(&view.json, ']');
  tide_json_open(&view.json, "collectives", '[');
  for (size_t i = 0; i < t->collective_count; i++) {
    tide_json_open(&view.json, NULL, '{');
    tide_json_text(&view.json, "label", t->collectives[i].label);
    tide_json_number(&view.json, "members", t->collectives[i].queue_count);
    tide_json_close(&view.json, '}');
  }
  tide_json_close(&view.json, ']');
}

void view_tell_tables(void) {
  tide_json_open(&view.json, NULL, '{');
  tell_params();
  tell_devices();
  tell_timelines();
  tell_buffers();
  tide_json_number(&view.json, "operations", view.tables->operations);
  tide_json_close(&view.json, '}');
}

/* ---- results ------------------------------------------------------------------------------ */

static void tell_counts(const struct tide_simulation_result *result) {
  const struct tide_run_result *run = &result->run;
  struct tide_json *json = &view.json;
  tide_json_number(json, "makespan", result->makespan);
  tide_json_number(json, "chain", result->longest_chain);
  tide_json_number(json, "operations", result->operations);
  tide_json_number(json, "submitted", run->sched.waits);
  tide_json_number(json, "resolved", run->sched.waits_resolved);
  tide_json_number(json, "elided", run->sched.waits_elided);
  tide_json_number(json, "issued", run->sched.waits_issued);
  tide_json_number(json, "failed", run->failed);
  tide_json_number(json, "held", run->sched.held);
  tide_json_number(json, "tainted", run->sched.tainted);
  tide_json_number(json, "gap_waits", run->sched.gap_waits);
  tide_json_number(json, "path_gap_waits", result->path.memory_waits);
  tide_json_number(json, "events", run->events + run->use_events);
  tide_json_number(json, "event_waits", run->event_waits + run->reuse_waits);
  tide_json_open(json, "devices", '[');
  for (size_t i = 0; i < result->device_count; i++) {
    struct tide_sim_device_result device = tide_simulation_device(view.simulation, i);
    tide_json_open(json, NULL, '{');
    tide_json_number(json, "hands", device.hands);
    tide_json_number(json, "busy", device.busy);
    tide_json_close(json, '}');
  }
  tide_json_close(json, ']');
}

static void tell_allocs(void) {
  tide_json_open(&view.json, "allocs", '[');
  for (size_t i = 0; i < view.explanation.alloc_count; i++)
    tide_json_number(&view.json, NULL, view.explanation.allocs[i].reuse);
  tide_json_close(&view.json, ']');
  tide_json_open(&view.json, "reuse", '[');
  for (unsigned i = 0; i < 4; i++) tide_json_text(&view.json, NULL, tide_explain_reuse(i));
  tide_json_close(&view.json, ']');
}

void view_tell_result(enum tide_status status, const struct tide_diag *diag) {
  tide_json_open(&view.json, NULL, '{');
  tide_json_text(&view.json, "status", tide_status_name(status));
  if (status != TIDE_OK) {
    struct tide_diag said = *diag;
    if (said.status == TIDE_OK)
      tide_diag_set(&said, status, "this program is too large for a page: %s",
                    tide_status_text(status));
    tide_json_open(&view.json, "error", '{');
    put_place(&said);
    tide_json_close(&view.json, '}');
  }
  if (view.simulation) tell_counts(tide_simulation_result(view.simulation));
  tell_allocs();
  tide_json_close(&view.json, '}');
}
