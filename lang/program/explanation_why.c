/* Sentences that explain the class of a wait. */
#include "base/alloc.h"
#include "program/explanation.h"

void tide_explain_name(const struct tide_explanation *e, tide_axis axis, uint64_t epoch,
                       struct tide_text *text) {
  uint32_t index;
  const char *label = NULL;
  if (axis && axis == e->host) label = "the host";
  if (tide_explanation_queue(e, axis, &index)) label = e->tables->queues[index].label;
  if (tide_explanation_collective(e, axis, &index)) label = e->tables->collectives[index].label;
  if (!label) tide_text_format(text, "axis %llx", (unsigned long long)axis);
  tide_text_format(text, "%s@%llu", label ? label : "", (unsigned long long)epoch);
}

const char *tide_explain_class(const struct tide_explained_wait *wait) {
  static const char *const names[] = {"failed", "resolved", "elided", "issued", "held"};
  return wait->class_ < 5 ? names[wait->class_] : "unknown";
}

const char *tide_explain_reuse(unsigned reuse) {
  static const char *const reuses[] = {
      "used again at once: the queue knows that its last use is over",
      "used again at once: its last use has finished", "used again; who names it waits for",
      "memory that nobody had before"};
  return reuse < 4 ? reuses[reuse] : "";
}

/* Returns the first operation of the queue that started with the awaited epoch in its frontier;
 * NULL: none. */
static const struct tide_explained *find_known_since(const struct tide_explanation *e,
                                                     uint32_t queue,
                                                     const struct tide_explained_wait *wait) {
  const struct tide_explained_queue *from = &e->queues[queue];
  for (size_t i = 0; i < from->count && from->sequences[i]; i++) {
    const struct tide_explained *explained = &from->operations[from->sequences[i] - 1];
    if (explained->known && tide_frontier_get(explained->known, wait->axis) >= wait->epoch)
      return explained;
  }
  return NULL;
}

static void why_known(const struct tide_explanation *e, uint32_t queue,
                      const struct tide_explained *explained,
                      const struct tide_explained_wait *wait, const char *name,
                      struct tide_text *text) {
  const char *own = e->tables->queues[queue].label;
  uint32_t from;
  if (tide_explanation_queue(e, wait->axis, &from) && from == queue) {
    tide_text_format(text, "%s signals it, which comes before this in the same queue", name);
    return;
  }
  const struct tide_explained *first = find_known_since(e, queue, wait);
  if (!first || first == explained)
    tide_text_format(text, "%s signals it, and another of these waits comes after it", name);
  else
    tide_text_format(text, "%s signals it, and %s has known that since %s@%llu (line %u)", name,
                     own, own, (unsigned long long)first->epoch, first->line);
}

static bool from_the_start(const struct tide_explanation *e,
                           const struct tide_explained_wait *wait) {
  for (size_t i = 0; i < e->tables->timeline_count; i++)
    if (strcmp(e->tables->timelines[i].label, wait->timeline) == 0)
      return wait->value <= e->tables->timelines[i].initial;
  return false;
}

static void why_resolved(const struct tide_explanation *e, const struct tide_explained_wait *wait,
                         const char *name, struct tide_text *text) {
  if (from_the_start(e, wait)) tide_text_format(text, "it is so from the start");
  else if (!wait->axis) tide_text_format(text, "it was signalled from outside");
  else if (wait->axis == e->host) tide_text_format(text, "the host has signalled it");
  else tide_text_format(text, "%s has signalled it", name);
}

static void why_issued(const struct tide_explanation *e, uint32_t queue,
                       const struct tide_explained_wait *wait, const char *name,
                       struct tide_text *text) {
  const char *own = e->tables->queues[queue].label;
  uint32_t from;
  if (!wait->axis)
    tide_text_format(text, "whoever signals it cannot be seen into, so %s has to wait", own);
  else if (tide_explanation_queue(e, wait->axis, &from) && from == queue)
    tide_text_format(text, "%s signals it; %s works out of order, so it may still be running", name,
                     own);
  else tide_text_format(text, "%s signals it, and %s knows nothing after it", name, own);
}

static void why_memory(const struct tide_explanation *e, uint32_t queue,
                       const struct tide_explained_wait *wait, const char *name,
                       struct tide_text *text) {
  const char *own = e->tables->queues[queue].label;
  uint32_t from;
  tide_text_format(text, "%s used this memory last", name);
  if (tide_explanation_queue(e, wait->axis, &from) && from == queue)
    tide_text_format(text, "; %s works out of order, so it may still be running", own);
  else tide_text_format(text, ", and %s knows nothing after it", own);
}

const char *tide_explain_primitive(const struct tide_explained_wait *wait) {
  static const char *const names[] = {NULL, "implied", "barrier", "native wait", "reached wait"};
  return wait->kept <= TIDE_PRIMITIVE_REACHED ? names[wait->kept] : NULL;
}

/* Says by which means the wait is kept, in a program with devices that run ahead. */
static void say_keeper(const struct tide_explanation *e, const struct tide_explained *explained,
                       const struct tide_explained_wait *wait, struct tide_text *text) {
  static const char *const means[] = {
      "the host keeps the wait", "the device keeps the wait, and another one brings it",
      "the device keeps the wait: a barrier", "the device keeps the wait: a native wait",
      "it is over by then, and a reached wait orders memory"};
  unsigned kept = explained->is_out ? wait->kept : TIDE_PRIMITIVE_HOST;
  if (!e->runs_ahead || wait->class_ != TIDE_WAIT_ISSUED) return;
  tide_text_format(text, "; %s", means[kept <= TIDE_PRIMITIVE_REACHED ? kept : 0]);
}

void tide_explain_condition(const struct tide_explained_wait *wait, struct tide_text *text) {
  if (wait->is_memory) tide_text_format(text, "memory of %s", wait->timeline);
  else tide_text_format(text, "%s >= %llu", wait->timeline, (unsigned long long)wait->value);
}

static void say_why(const struct tide_explanation *e, uint32_t queue,
                    const struct tide_explained *explained, const struct tide_explained_wait *wait,
                    struct tide_text *text) {
  char name[96];
  struct tide_text named;
  tide_text_init(&named, name, sizeof name);
  tide_explain_name(e, wait->axis, wait->epoch, &named);
  if (wait->is_memory) {
    why_memory(e, queue, wait, name, text);
    return;
  }
  switch (wait->class_) {
    case TIDE_WAIT_FAILED:
      tide_text_format(text, "it has failed, and so will this operation");
      return;
    case TIDE_WAIT_RESOLVED: why_resolved(e, wait, name, text); return;
    case TIDE_WAIT_ISSUED: why_issued(e, queue, wait, name, text); return;
    case TIDE_WAIT_HELD: tide_text_format(text, "nobody has promised it"); return;
    default: break;
  }
  if (wait->reason == TIDE_REASON_FINISHED)
    tide_text_format(text, "%s signals it, and has finished", name);
  else if (wait->reason == TIDE_REASON_SIBLING)
    tide_text_format(text, "%s signals it, and another of these waits comes after it", name);
  else why_known(e, queue, explained, wait, name, text);
}

void tide_explain_why(const struct tide_explanation *e, uint32_t queue,
                      const struct tide_explained *explained,
                      const struct tide_explained_wait *wait, struct tide_text *text) {
  say_why(e, queue, explained, wait, text);
  say_keeper(e, explained, wait, text);
}
