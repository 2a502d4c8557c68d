/* Why a wait is in its class, in a sentence. */
#include "tool/explain.h"

#include <string.h>

size_t tide_explain_name(const struct tide_explanation *e, tide_axis axis, uint64_t epoch,
                         char *buffer, size_t size) {
  uint32_t index;
  const char *label = NULL;
  if (tide_run_axis_host(e->run, axis)) label = "the host";
  if (tide_run_axis_queue(e->run, axis, &index)) label = e->tables->queues[index].label;
  if (tide_run_axis_collective(e->run, axis, &index)) label = e->tables->collectives[index].label;
  return (size_t)snprintf(buffer, size, "%s@%llu", label ? label : "?", (unsigned long long)epoch);
}

const char *tide_explain_class(const struct tide_told_wait *wait) {
  static const char *const names[] = {"failed", "resolved", "elided", "issued", "held"};
  return wait->class_ < 5 ? names[wait->class_] : "unknown";
}

/* The first operation of the queue that knew it when it started. */
static const struct tide_told *learned(const struct tide_explanation *e, uint32_t queue,
                                       const struct tide_told_wait *wait) {
  const struct tide_told_queue *from = &e->queues[queue];
  for (size_t i = 0; i < from->count && from->sequences[i]; i++) {
    const struct tide_told *told = &from->operations[from->sequences[i] - 1];
    if (told->known && tide_frontier_get(told->known, wait->axis) >= wait->epoch) return told;
  }
  return NULL;
}

static void why_known(const struct tide_explanation *e, uint32_t queue,
                      const struct tide_told *told, const struct tide_told_wait *wait,
                      const char *name, char *buffer, size_t size) {
  const char *own = e->tables->queues[queue].label;
  uint32_t from;
  if (tide_run_axis_queue(e->run, wait->axis, &from) && from == queue) {
    snprintf(buffer, size, "%s signals it, which comes before this in the same queue", name);
    return;
  }
  const struct tide_told *first = learned(e, queue, wait);
  if (!first || first == told) {
    snprintf(buffer, size, "%s signals it, and another of these waits comes after that", name);
    return;
  }
  snprintf(buffer, size, "%s signals it, and %s has known that since %s@%llu (line %u)", name, own,
           own, (unsigned long long)first->epoch, first->line);
}

static bool from_the_start(const struct tide_explanation *e, const struct tide_told_wait *wait) {
  for (size_t i = 0; i < e->tables->timeline_count; i++)
    if (strcmp(e->tables->timelines[i].label, wait->timeline) == 0)
      return wait->value <= e->tables->timelines[i].initial;
  return false;
}

static void why_resolved(const struct tide_explanation *e, const struct tide_told_wait *wait,
                         const char *name, char *buffer, size_t size) {
  if (from_the_start(e, wait)) snprintf(buffer, size, "it is so from the start");
  else if (!wait->axis) snprintf(buffer, size, "it was signalled from outside");
  else if (tide_run_axis_host(e->run, wait->axis))
    snprintf(buffer, size, "the host has signalled it");
  else snprintf(buffer, size, "%s has signalled it", name);
}

static void why_issued(const struct tide_explanation *e, uint32_t queue,
                       const struct tide_told_wait *wait, const char *name, char *buffer,
                       size_t size) {
  const char *own = e->tables->queues[queue].label;
  uint32_t from;
  if (!wait->axis)
    snprintf(buffer, size, "whoever signals it cannot be seen into, so %s has to wait", own);
  else if (tide_run_axis_queue(e->run, wait->axis, &from) && from == queue)
    snprintf(buffer, size, "%s signals it; %s works out of order, so it may still be running", name,
             own);
  else
    snprintf(buffer, size, "%s signals it, and nothing that %s knows comes after that", name, own);
}

void tide_explain_why(const struct tide_explanation *e, uint32_t queue,
                      const struct tide_told *told, const struct tide_told_wait *wait, char *buffer,
                      size_t size) {
  char name[96];
  tide_explain_name(e, wait->axis, wait->epoch, name, sizeof name);
  switch (wait->class_) {
    case TIDE_WAIT_FAILED:
      snprintf(buffer, size, "it has failed, and so will this operation");
      return;
    case TIDE_WAIT_RESOLVED: why_resolved(e, wait, name, buffer, size); return;
    case TIDE_WAIT_ISSUED: why_issued(e, queue, wait, name, buffer, size); return;
    case TIDE_WAIT_HELD: snprintf(buffer, size, "nobody has promised it"); return;
    default: break;
  }
  if (wait->reason == TIDE_REASON_FINISHED)
    snprintf(buffer, size, "%s signals it, and has finished", name);
  else if (wait->reason == TIDE_REASON_SIBLING)
    snprintf(buffer, size, "%s signals it, and another of these waits comes after that", name);
  else why_known(e, queue, told, wait, name, buffer, size);
}
