/* program/explanation.h: what a run decided, operation by operation, and why.
 *
 * An explanation is a sink: it listens to a run of a plan, and notes of each operation what its
 * queue knew, of each wait what became of it, and of each buffer how it was handed out. Afterwards
 * it says so in sentences. `tidemark explain` and the page of `tidemark view` show the same ones.
 */
#ifndef TIDE_PROGRAM_EXPLANATION_H
#define TIDE_PROGRAM_EXPLANATION_H

#include "program/json.h"
#include "base/text.h"
#include "tidemark/run.h"

struct tide_explained_wait {
  bool is_memory; /* for one of the last users of recycled memory; `timeline` names the buffer */
  char timeline[32];
  uint64_t value;
  unsigned class_, reason; /* enum tide_wait_class, enum tide_wait_reason */
  tide_axis axis;          /* its record's signaller; 0: none */
  uint64_t epoch, record_value;
};

struct tide_explained {
  uint64_t epoch;              /* 0: it never entered */
  bool held;                   /* at submit */
  struct tide_frontier *known; /* NULL: it never entered */
  struct tide_explained_wait *waits;
  size_t wait_count, wait_room;
  uint64_t step;         /* its number in the plan */
  uint32_t line, column; /* where it is written */
};

struct tide_explained_queue {
  struct tide_explained *operations; /* by sequence - 1 */
  uint64_t *sequences;               /* by epoch - 1 */
  size_t count;
  tide_axis axis;
};

struct tide_explained_alloc {
  unsigned reuse; /* enum tide_reuse */
  struct tide_frontier *past;
};

struct tide_explanation {
  const struct tide_allocator *allocator;
  struct tide_plan *plan;
  const struct tide_plan_tables *tables;
  struct tide_sink sink;        /* give this one to the run */
  const struct tide_sink *next; /* hears all of it, too; may be NULL */
  struct tide_explained_queue *queues;
  struct tide_explained_alloc *allocs; /* in the order of the plan's alloc steps */
  size_t alloc_count, alloc_capacity;
  size_t memory_waits; /* operations' buffers whose last users had to be waited for */
  tide_axis host;
  uint32_t *queue_of[TIDE_DOMAIN_COUNT]; /* by ordinal; 1 is the first queue, 0 none */
  size_t queue_of_capacity[TIDE_DOMAIN_COUNT];
  bool failed; /* there was no memory for something */
};

/* Where operations are written is read from the plan, which is rewound. TIDE_NOMEM. */
enum tide_status tide_explanation_init(struct tide_explanation *e,
                                       const struct tide_allocator *allocator,
                                       struct tide_plan *plan, const struct tide_sink *next);
/* Before the run is executed: whose axes are whose. */
void tide_explanation_follow(struct tide_explanation *e, const struct tide_run *run);
void tide_explanation_fini(struct tide_explanation *e);

/* Which queue, or collective, of the plan has this axis. */
bool tide_explanation_queue(const struct tide_explanation *e, tide_axis axis, uint32_t *out_queue);
bool tide_explanation_collective(const struct tide_explanation *e, tide_axis axis,
                                 uint32_t *out_collective);
/* The operation at a place of a queue of the plan; NULL when there is none. */
struct tide_explained *tide_explanation_at(const struct tide_explanation *e, tide_axis axis,
                                           uint64_t sequence);

/* ---- explanation_why.c ---- */

/* "reader@3", "all@1", "the host@2". */
void tide_explain_name(const struct tide_explanation *e, tide_axis axis, uint64_t epoch,
                       struct tide_text *text);
/* A sentence: why this class. */
void tide_explain_why(const struct tide_explanation *e, uint32_t queue,
                      const struct tide_explained *explained,
                      const struct tide_explained_wait *wait, struct tide_text *text);
const char *tide_explain_class(const struct tide_explained_wait *wait);
/* "steps >= 3", "memory of tile[0]": what it is for. */
void tide_explain_condition(const struct tide_explained_wait *wait, struct tide_text *text);
/* A sentence about a buffer that was handed out. */
const char *tide_explain_reuse(unsigned reuse);

/* ---- explanation_json.c ---- */

/* Which operation of its queue a step of the plan is: they are submitted in its order. */
static inline bool tide_step_submits(const struct tide_step *step) {
  return step->kind == TIDE_STEP_OPERATION || step->kind == TIDE_STEP_PART;
}
/* The step as one line; one that is too long ends with "…". */
void tide_explain_step(const struct tide_plan *plan, const struct tide_step *step, char *buffer,
                       size_t size);
/* The step is the plan's, and `told` what became of it. */
void tide_explain_json_operation(const struct tide_explanation *e, struct tide_json *json,
                                 const struct tide_step *step,
                                 const struct tide_explained *explained);
/* All of it. The plan is rewound. */
enum tide_status tide_explain_json(const struct tide_explanation *e, struct tide_json *json,
                                   const char *program);

#endif
