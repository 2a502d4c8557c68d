/* tool/explain.h: what a paused run told, operation by operation. */
#ifndef TIDE_TOOL_EXPLAIN_H
#define TIDE_TOOL_EXPLAIN_H

#include "tool/tool.h"

struct tide_told_wait {
  char timeline[32];
  uint64_t value;
  unsigned class_, reason; /* enum tide_wait_class, enum tide_wait_reason */
  tide_axis axis;          /* its record's signaller; 0: none */
  uint64_t epoch, record_value;
};

struct tide_told {
  uint64_t epoch;              /* 0: it never entered */
  bool held;                   /* at submit */
  struct tide_frontier *known; /* NULL: no memory */
  struct tide_told_wait *waits;
  size_t wait_count, wait_room;
  uint32_t line, column; /* filled in when the plan is walked through again */
};

struct tide_told_queue {
  struct tide_told *operations; /* by sequence - 1 */
  uint64_t *sequences;          /* by epoch - 1 */
  size_t count;
};

struct tide_told_alloc {
  unsigned reuse; /* enum tide_reuse */
  struct tide_frontier *past;
};

struct tide_explanation {
  const struct tide_tool_program *program;
  const struct tide_plan_tables *tables;
  struct tide_run *run;
  struct tide_sink sink;
  struct tide_told_queue *queues;
  struct tide_told_alloc *allocs; /* in the order of the plan's alloc steps */
  size_t alloc_count, alloc_room;
  bool failed; /* there was no memory for something */
};

/* "reader@3", "all", "the host". */
size_t tide_explain_name(const struct tide_explanation *e, tide_axis axis, uint64_t epoch,
                         char *buffer, size_t size);
/* A sentence: why this class. */
void tide_explain_why(const struct tide_explanation *e, uint32_t queue,
                      const struct tide_told *told, const struct tide_told_wait *wait, char *buffer,
                      size_t size);
const char *tide_explain_class(const struct tide_told_wait *wait);

void tide_explain_print(struct tide_explanation *e);
void tide_explain_print_json(struct tide_explanation *e);

#endif
