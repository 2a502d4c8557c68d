/* The explanation for people: one more walk through the plan. */
#include "tool/explain.h"

#include <stdlib.h>

/* Prints a frontier with the queues' names instead of their axes. */
static void print_frontier(const struct tide_explanation *e, const struct tide_frontier *frontier,
                           FILE *to) {
  const char *comma = "";
  struct tide_frontier_entry entry;
  fputc('{', to);
  static const struct tide_frontier nothing = {.capacity = 1};
  struct tide_frontier_cursor at = tide_frontier_begin(frontier ? frontier : &nothing);
  for (; tide_frontier_next(&at, &entry); comma = ", ") {
    char name[96];
    struct tide_text text;
    tide_text_init(&text, name, sizeof name);
    tide_explain_name(e, entry.axis, entry.epoch, &text);
    fprintf(to, "%s%s", comma, name);
  }
  fprintf(to, "}%s", frontier && frontier->tainted ? "~" : "");
}

static void print_axes(const struct tide_explanation *e) {
  printf(
      "queue@N is the N-th operation that entered a queue; what a frontier lists has finished when "
      "the operation starts.\n");
  printf("The queues' axes:");
  const char *comma = "";
  for (unsigned domain = 1; domain < TIDE_DOMAIN_COUNT; domain++) {
    for (size_t ordinal = 1; ordinal < e->queue_of_capacity[domain]; ordinal++) {
      uint32_t queue = e->queue_of[domain][ordinal];
      char text[64];
      if (!queue) continue;
      tide_axis_print(e->queues[queue - 1].axis, text, sizeof text);
      printf("%s %s = %s", comma, e->tables->queues[queue - 1].label, text);
      comma = ",";
    }
  }
  printf("\n");
}

static void print_alloc(const struct tide_explanation *e, const struct tide_step *step,
                        size_t which) {
  if (which >= e->alloc_count || e->allocs[which].reuse > 3) return;
  const struct tide_explained_alloc *alloc = &e->allocs[which];
  printf("\n%u:%u  %s: alloc %s\n    %s", step->line, step->column,
         e->tables->queues[step->queue].label, e->tables->buffers[step->buffer].label,
         tide_explain_reuse(alloc->reuse));
  if (alloc->reuse == TIDE_REUSE_GAP) {
    printf(" ");
    print_frontier(e, alloc->past, stdout);
  }
  printf("\n");
}

static void print_operation(const struct tide_explanation *e, const struct tide_step *step,
                            const struct tide_explained *told) {
  char step_text[256];
  const char *label = e->tables->queues[step->queue].label;
  tide_explain_step(e->plan, step, step_text, sizeof step_text);
  printf("\n%u:%u  %s@%llu  %s\n", step->line, step->column, label, (unsigned long long)told->epoch,
         step_text);
  if (told->held)
    printf("    held at submit: nobody had promised all that it waits for, or it stood behind "
           "such a one\n");
  printf("    knows ");
  print_frontier(e, told->known, stdout);
  printf("\n");
  for (size_t i = 0; i < told->wait_count; i++) {
    const struct tide_explained_wait *wait = &told->waits[i];
    char condition[96], why[256];
    struct tide_text text;
    tide_text_init(&text, condition, sizeof condition);
    tide_explain_condition(wait, &text);
    tide_text_init(&text, why, sizeof why);
    tide_explain_why(e, step->queue, told, wait, &text);
    printf("    wait %-24s %-9s %s\n", condition, tide_explain_class(wait), why);
  }
}

static void print_counts(const struct tide_explanation *e) {
  size_t counts[5] = {0}, all = 0, held = 0, by_device = 0;
  for (size_t i = 0; i < e->tables->queue_count; i++)
    for (size_t j = 0; j < e->queues[i].count; held += e->queues[i].operations[j++].held)
      for (size_t k = 0; k < e->queues[i].operations[j].wait_count; k++) {
        const struct tide_explained_wait *wait = &e->queues[i].operations[j].waits[k];
        if (wait->is_memory || wait->class_ >= 5) continue;
        counts[wait->class_]++;
        by_device += wait->kept != 0;
        all++;
      }
  printf("\n%zu wait%s: %zu resolved, %zu elided, %zu issued, %zu failed", all, all == 1 ? "" : "s",
         counts[TIDE_WAIT_RESOLVED], counts[TIDE_WAIT_ELIDED], counts[TIDE_WAIT_ISSUED],
         counts[TIDE_WAIT_FAILED]);
  if (by_device)
    printf("; a device keeps %zu of the issued ones, the host %zu", by_device,
           counts[TIDE_WAIT_ISSUED] - by_device);
  if (held) printf("; %zu operation%s held at submit", held, held == 1 ? "" : "s");
  printf("\n");
  if (e->memory_waits)
    printf("%zu more wait%s for recycled buffers, which order work that more memory would let "
           "overlap\n",
           e->memory_waits, e->memory_waits == 1 ? "" : "s");
}

void tide_explain_print(const struct tide_explanation *e) {
  struct tide_step step;
  size_t allocs = 0;
  uint64_t *submitted = calloc(e->tables->queue_count + 1, sizeof *submitted);
  if (!submitted) return;
  print_axes(e);
  tide_plan_rewind(e->plan);
  while (tide_plan_next(e->plan, &step, NULL) == TIDE_OK && step.kind != TIDE_STEP_END) {
    if (step.kind == TIDE_STEP_ALLOC) print_alloc(e, &step, allocs++);
    if (tide_step_submits(&step))
      print_operation(e, &step, &e->queues[step.queue].operations[submitted[step.queue]++]);
  }
  print_counts(e);
  free(submitted);
}
