/* The explanation, for people and for scripts: the plan is walked through once more. */
#include "tool/explain.h"

#include <stdlib.h>
#include <string.h>

/* Which operation of its queue a step is: they are submitted in the plan's order. */
static struct tide_told *told_by(struct tide_explanation *e, const struct tide_step *step,
                                 uint64_t *submitted) {
  return &e->queues[step->queue].operations[submitted[step->queue]++];
}

static bool is_operation(const struct tide_step *step) {
  return step->kind == TIDE_STEP_OPERATION || step->kind == TIDE_STEP_PART;
}

/* Each operation gets its line, so that others can name it. */
static bool note_places(struct tide_explanation *e, uint64_t *submitted) {
  struct tide_step step;
  tide_plan_rewind(e->program->plan);
  while (tide_plan_next(e->program->plan, &step, NULL) == TIDE_OK && step.kind != TIDE_STEP_END) {
    if (!is_operation(&step)) continue;
    struct tide_told *told = told_by(e, &step, submitted);
    told->line = step.line;
    told->column = step.column;
  }
  memset(submitted, 0, e->tables->queue_count * sizeof *submitted);
  return true;
}

/* With the queues' names instead of their axes. */
static void print_frontier(const struct tide_explanation *e, const struct tide_frontier *frontier,
                           FILE *to) {
  char name[96];
  fputc('{', to);
  for (size_t i = 0; frontier && i < frontier->count; i++) {
    tide_explain_name(e, tide_frontier_axes(frontier)[i], tide_frontier_epochs(frontier)[i], name,
                      sizeof name);
    fprintf(to, "%s%s", i ? ", " : "", name);
  }
  fprintf(to, "}%s", frontier && frontier->tainted ? "~" : "");
}

static const char *step_text(struct tide_explanation *e, const struct tide_step *step, char *buffer,
                             size_t size) {
  if (tide_step_print(e->program->plan, step, buffer, size) >= size) {
    size_t end = size - 4; /* "…" has three bytes */
    while (end && ((unsigned char)buffer[end] & 0xc0) == 0x80) end--;
    memcpy(buffer + end, "…", 4);
  }
  return buffer;
}

/* ---- for people ---------------------------------------------------------------------- */

static void print_axes(const struct tide_explanation *e) {
  printf(
      "queue@N is the N-th operation that entered a queue; what a frontier lists has finished when "
      "the operation starts.\n");
  printf("The queues' axes:");
  const char *comma = "";
  for (unsigned domain = 1; domain < TIDE_DOMAIN_COUNT; domain++) {
    for (uint64_t ordinal = 1; ordinal <= e->tables->queue_count + 1; ordinal++) {
      tide_axis axis = tide_axis_make(0, (enum tide_domain)domain, ordinal);
      uint32_t queue;
      char text[64];
      if (!tide_run_axis_queue(e->run, axis, &queue)) continue;
      tide_axis_print(axis, text, sizeof text);
      printf("%s %s = %s", comma, e->tables->queues[queue].label, text);
      comma = ",";
    }
  }
  printf("\n");
}

static void print_alloc(const struct tide_explanation *e, const struct tide_step *step,
                        size_t which) {
  static const char *const reuses[] = {
      "used again at once: the queue knows that its last use is over",
      "used again at once: its last use has finished", "used again; who names it waits for",
      "memory that nobody had before"};
  if (which >= e->alloc_count || e->allocs[which].reuse > 3) return;
  const struct tide_told_alloc *alloc = &e->allocs[which];
  printf("\n%u:%u  %s: alloc %s\n    %s", step->line, step->column,
         e->tables->queues[step->queue].label, e->tables->buffers[step->buffer].label,
         reuses[alloc->reuse]);
  if (alloc->reuse == TIDE_REUSE_GAP) {
    printf(" ");
    print_frontier(e, alloc->past, stdout);
  }
  printf("\n");
}

static void print_operation(struct tide_explanation *e, const struct tide_step *step,
                            const struct tide_told *told) {
  char text[256], why[256];
  const char *label = e->tables->queues[step->queue].label;
  printf("\n%u:%u  %s@%llu  %s\n", step->line, step->column, label, (unsigned long long)told->epoch,
         step_text(e, step, text, sizeof text));
  if (told->held)
    printf("    held at submit: nobody had promised all that it waits for, or it stood behind "
           "such a one\n");
  printf("    knows ");
  print_frontier(e, told->known, stdout);
  printf("\n");
  for (size_t i = 0; i < told->wait_count; i++) {
    const struct tide_told_wait *wait = &told->waits[i];
    char condition[96];
    snprintf(condition, sizeof condition, "%s >= %llu", wait->timeline,
             (unsigned long long)wait->value);
    tide_explain_why(e, step->queue, told, wait, why, sizeof why);
    printf("    wait %-24s %-9s %s\n", condition, tide_explain_class(wait), why);
  }
}

static void print_counts(const struct tide_explanation *e) {
  size_t counts[5] = {0}, all = 0, held = 0;
  for (size_t i = 0; i < e->tables->queue_count; i++)
    for (size_t j = 0; j < e->queues[i].count; held += e->queues[i].operations[j++].held)
      for (size_t k = 0; k < e->queues[i].operations[j].wait_count; k++, all++)
        if (e->queues[i].operations[j].waits[k].class_ < 5)
          counts[e->queues[i].operations[j].waits[k].class_]++;
  printf("\n%zu wait%s: %zu resolved, %zu elided, %zu issued, %zu failed", all, all == 1 ? "" : "s",
         counts[TIDE_WAIT_RESOLVED], counts[TIDE_WAIT_ELIDED], counts[TIDE_WAIT_ISSUED],
         counts[TIDE_WAIT_FAILED]);
  if (held) printf("; %zu operation%s held at submit", held, held == 1 ? "" : "s");
  printf("\n");
}

void tide_explain_print(struct tide_explanation *e) {
  struct tide_step step;
  size_t allocs = 0;
  uint64_t *submitted = calloc(e->tables->queue_count + 1, sizeof *submitted);
  if (!submitted || !note_places(e, submitted)) return;
  print_axes(e);
  tide_plan_rewind(e->program->plan);
  while (tide_plan_next(e->program->plan, &step, NULL) == TIDE_OK && step.kind != TIDE_STEP_END) {
    if (step.kind == TIDE_STEP_ALLOC) print_alloc(e, &step, allocs++);
    if (is_operation(&step)) print_operation(e, &step, told_by(e, &step, submitted));
  }
  print_counts(e);
  free(submitted);
}

/* ---- for scripts ------------------------------------------------------------------------- */

static void json_frontier(struct tide_tool_json *json, const char *key,
                          const struct tide_frontier *frontier) {
  static const struct tide_frontier empty = {.capacity = 1};
  if (!frontier) frontier = &empty;
  size_t length = tide_frontier_print(frontier, NULL, 0);
  char *text = malloc(length + 1);
  if (!text) return;
  tide_frontier_print(frontier, text, length + 1);
  tide_json_text(json, key, text);
  free(text);
}

static void json_operation(struct tide_explanation *e, struct tide_tool_json *json,
                           const struct tide_step *step, const struct tide_told *told) {
  char text[256], name[96];
  tide_json_open(json, NULL, '{');
  tide_json_number(json, "line", step->line);
  tide_json_number(json, "column", step->column);
  tide_json_text(json, "queue", e->tables->queues[step->queue].label);
  tide_json_number(json, "epoch", told->epoch);
  tide_json_text(json, "operation", step_text(e, step, text, sizeof text));
  tide_json_bool(json, "held", told->held);
  json_frontier(json, "frontier", told->known);
  tide_json_open(json, "waits", '[');
  for (size_t i = 0; i < told->wait_count; i++) {
    const struct tide_told_wait *wait = &told->waits[i];
    tide_json_open(json, NULL, '{');
    tide_json_text(json, "timeline", wait->timeline);
    tide_json_number(json, "value", wait->value);
    tide_json_text(json, "class", tide_explain_class(wait));
    if (wait->axis) {
      tide_explain_name(e, wait->axis, wait->epoch, name, sizeof name);
      tide_json_text(json, "signaller", name);
    }
    tide_explain_why(e, step->queue, told, wait, text, sizeof text);
    tide_json_text(json, "why", text);
    tide_json_close(json, '}');
  }
  tide_json_close(json, ']');
  tide_json_close(json, '}');
}

static void json_axes(const struct tide_explanation *e, struct tide_tool_json *json) {
  tide_json_open(json, "queues", '{');
  for (unsigned domain = 1; domain < TIDE_DOMAIN_COUNT; domain++) {
    for (uint64_t ordinal = 1; ordinal <= e->tables->queue_count + 1; ordinal++) {
      tide_axis axis = tide_axis_make(0, (enum tide_domain)domain, ordinal);
      uint32_t queue;
      char text[64];
      if (!tide_run_axis_queue(e->run, axis, &queue)) continue;
      tide_axis_print(axis, text, sizeof text);
      tide_json_text(json, e->tables->queues[queue].label, text);
    }
  }
  tide_json_close(json, '}');
}

void tide_explain_print_json(struct tide_explanation *e) {
  struct tide_tool_json json = {.to = stdout};
  struct tide_step step;
  uint64_t *submitted = calloc(e->tables->queue_count + 1, sizeof *submitted);
  if (!submitted || !note_places(e, submitted)) return;
  tide_json_open(&json, NULL, '{');
  tide_json_text(&json, "program", e->program->path);
  json_axes(e, &json);
  tide_json_open(&json, "operations", '[');
  tide_plan_rewind(e->program->plan);
  while (tide_plan_next(e->program->plan, &step, NULL) == TIDE_OK && step.kind != TIDE_STEP_END)
    if (is_operation(&step)) json_operation(e, &json, &step, told_by(e, &step, submitted));
  tide_json_close(&json, ']');
  tide_json_close(&json, '}');
  free(submitted);
}
