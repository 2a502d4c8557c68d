/* The explanation as JSON, for scripts and for the page of `tidemark view`. */
#include "base/alloc.h"
#include "program/explanation.h"

#define STEP_TEXT 256
#define FRONTIER_TEXT 512

void tide_explain_step(const struct tide_plan *plan, const struct tide_step *step, char *buffer,
                       size_t size) {
  if (tide_step_print(plan, step, buffer, size) < size) return;
  size_t end = size - 4; /* "…" has three bytes */
  while (end && ((unsigned char)buffer[end] & 0xc0) == 0x80) end--;
  memcpy(buffer + end, "…", 4);
}

/* Writes a frontier. Most frontiers fit the buffer; one of 255 entries does not. */
static void put_frontier(const struct tide_explanation *e, struct tide_json *json, const char *key,
                         const struct tide_frontier *frontier) {
  static const struct tide_frontier empty = {.capacity = 1};
  char small[FRONTIER_TEXT];
  if (!frontier) frontier = &empty;
  size_t size = tide_frontier_print(frontier, small, sizeof small) + 1;
  if (size <= sizeof small) {
    tide_json_text(json, key, small);
    return;
  }
  char *text = tide_alloc(e->allocator, 1, size);
  if (!text) return;
  tide_frontier_print(frontier, text, size);
  tide_json_text(json, key, text);
  tide_free(e->allocator, text, 1, size);
}

static void put_wait(const struct tide_explanation *e, struct tide_json *json, uint32_t queue,
                     const struct tide_explained *explained,
                     const struct tide_explained_wait *wait) {
  char buffer[STEP_TEXT];
  struct tide_text text;
  tide_json_open(json, NULL, '{');
  if (wait->is_memory) {
    tide_json_text(json, "memory_of", wait->timeline);
  } else {
    tide_json_text(json, "timeline", wait->timeline);
    tide_json_number(json, "value", wait->value);
  }
  tide_json_text(json, "class", tide_explain_class(wait));
  if (e->runs_ahead && wait->class_ == TIDE_WAIT_ISSUED) {
    const char *primitive = explained->is_out ? tide_explain_primitive(wait) : NULL;
    tide_json_text(json, "kept_by", primitive ? "device" : "host");
    if (primitive) tide_json_text(json, "primitive", primitive);
  }
  if (wait->axis) {
    tide_text_init(&text, buffer, 96);
    tide_explain_name(e, wait->axis, wait->epoch, &text);
    tide_json_text(json, "signaller", buffer);
  }
  tide_text_init(&text, buffer, sizeof buffer);
  tide_explain_why(e, queue, explained, wait, &text);
  tide_json_text(json, "why", buffer);
  tide_json_close(json, '}');
}

void tide_explain_json_operation(const struct tide_explanation *e, struct tide_json *json,
                                 const struct tide_step *step,
                                 const struct tide_explained *explained) {
  char text[STEP_TEXT];
  tide_json_open(json, NULL, '{');
  tide_json_number(json, "line", step->line);
  tide_json_number(json, "column", step->column);
  tide_json_text(json, "queue", e->tables->queues[step->queue].label);
  tide_json_number(json, "epoch", explained->epoch);
  tide_explain_step(e->plan, step, text, sizeof text);
  tide_json_text(json, "operation", text);
  tide_json_bool(json, "held", explained->held);
  put_frontier(e, json, "frontier", explained->known);
  tide_json_open(json, "waits", '[');
  for (size_t i = 0; i < explained->wait_count; i++)
    put_wait(e, json, step->queue, explained, &explained->waits[i]);
  tide_json_close(json, ']');
  tide_json_close(json, '}');
}

static void put_axes(const struct tide_explanation *e, struct tide_json *json) {
  tide_json_open(json, "queues", '{');
  for (unsigned domain = 1; domain < TIDE_DOMAIN_COUNT; domain++) {
    for (size_t ordinal = 1; ordinal < e->queue_of_capacity[domain]; ordinal++) {
      uint32_t queue = e->queue_of[domain][ordinal];
      char text[64];
      if (!queue) continue;
      tide_axis_print(e->queues[queue - 1].axis, text, sizeof text);
      tide_json_text(json, e->tables->queues[queue - 1].label, text);
    }
  }
  tide_json_close(json, '}');
}

enum tide_status tide_explain_json(const struct tide_explanation *e, struct tide_json *json,
                                   const char *program) {
  size_t count = e->tables->queue_count;
  uint64_t *submitted = tide_alloc(e->allocator, count, sizeof *submitted);
  struct tide_step step;
  if (!submitted) return TIDE_NOMEM;
  tide_json_open(json, NULL, '{');
  tide_json_text(json, "program", program);
  put_axes(e, json);
  tide_json_open(json, "operations", '[');
  tide_plan_rewind(e->plan);
  while (tide_plan_next(e->plan, &step, NULL) == TIDE_OK && step.kind != TIDE_STEP_END)
    if (tide_step_submits(&step))
      tide_explain_json_operation(e, json, &step,
                                  &e->queues[step.queue].operations[submitted[step.queue]++]);
  tide_json_close(json, ']');
  tide_json_close(json, '}');
  tide_free(e->allocator, submitted, count, sizeof *submitted);
  return TIDE_OK;
}
