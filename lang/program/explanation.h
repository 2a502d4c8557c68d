/* program/explanation.h: explains the decisions of a run, operation by operation.
 *
 * An explanation is a sink of a run of a plan. It records the frontier of the queue at each
 * operation, the class of each wait, and the reuse of each buffer. Afterwards it turns the records
 * into sentences. `tidemark explain` and the page of `tidemark view` show the same sentences. */
#ifndef TIDE_PROGRAM_EXPLANATION_H
#define TIDE_PROGRAM_EXPLANATION_H

#include "program/json.h"
#include "base/text.h"
#include "tidemark/run.h"

struct tide_explained_wait {
  bool is_memory; /* a wait for a last user of recycled memory; `timeline` names the buffer */
  char timeline[32];
  uint64_t value;
  unsigned class_, reason; /* enum tide_wait_class, enum tide_wait_reason */
  tide_axis axis;          /* the signaller of the timeline's record; 0: none */
  uint64_t epoch, record_value;
  unsigned kept; /* enum tide_primitive; valid if issued, of an operation that is out */
};

struct tide_explained {
  uint64_t epoch; /* 0: never entered */
  bool held;      /* at submit */
  bool is_out;    /* the device runs ahead, and got the operation before it could start */
  struct tide_frontier *known; /* the queue's frontier; NULL: never entered */
  struct tide_explained_wait *waits;
  size_t wait_count, wait_room;
  uint64_t step;         /* number in the plan */
  uint32_t line, column; /* position in the text */
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
  struct tide_sink sink;        /* the caller gives this sink to the run */
  const struct tide_sink *next; /* receives every event, too; may be NULL */
  struct tide_explained_queue *queues;
  struct tide_explained_alloc *allocs; /* by number of the plan's alloc step */
  size_t alloc_count, alloc_capacity;
  size_t memory_waits; /* GAP events: buffers of operations that had to wait for their last users */
  tide_axis host;
  uint32_t *queue_of[TIDE_DOMAIN_COUNT]; /* by ordinal: index of the queue + 1; 0: none */
  size_t queue_of_capacity[TIDE_DOMAIN_COUNT];
  bool runs_ahead; /* an operation went out before it could start */
  bool failed;     /* out of memory: some records are missing */
};

/* Initialises an explanation. Reads the positions of all operations from the plan, which is
 * rewound. TIDE_NOMEM. */
enum tide_status tide_explanation_init(struct tide_explanation *e,
                                       const struct tide_allocator *allocator,
                                       struct tide_plan *plan, const struct tide_sink *next);
/* Records the axes of the host and of the queues. Called before the run is executed. */
void tide_explanation_follow(struct tide_explanation *e, const struct tide_run *run);
void tide_explanation_fini(struct tide_explanation *e);

/* Finds the queue, or collective, of the plan that has this axis. False: none. */
bool tide_explanation_queue(const struct tide_explanation *e, tide_axis axis, uint32_t *out_queue);
bool tide_explanation_collective(const struct tide_explanation *e, tide_axis axis,
                                 uint32_t *out_collective);
/* Returns the operation of a queue by its sequence; NULL: none. */
struct tide_explained *tide_explanation_at(const struct tide_explanation *e, tide_axis axis,
                                           uint64_t sequence);

/* ---- explanation_why.c ---- */

/* Appends the name of an operation: "reader@3", "all@1", "the host@2". */
void tide_explain_name(const struct tide_explanation *e, tide_axis axis, uint64_t epoch,
                       struct tide_text *text);
/* Appends a sentence: the reason for the wait's class. */
void tide_explain_why(const struct tide_explanation *e, uint32_t queue,
                      const struct tide_explained *explained,
                      const struct tide_explained_wait *wait, struct tide_text *text);
const char *tide_explain_class(const struct tide_explained_wait *wait);
/* Returns "native wait", "barrier" …, the means by which a device keeps the wait; NULL: no device
 * does. */
const char *tide_explain_primitive(const struct tide_explained_wait *wait);
/* Appends the condition that is waited for: "steps >= 3", "memory of tile[0]". */
void tide_explain_condition(const struct tide_explained_wait *wait, struct tide_text *text);
/* Returns a sentence about the reuse of a buffer's memory. */
const char *tide_explain_reuse(unsigned reuse);

/* ---- explanation_json.c ---- */

/* True if the step is an operation of its queue. Operations are submitted in the order of the
 * plan. */
static inline bool tide_step_submits(const struct tide_step *step) {
  return step->kind == TIDE_STEP_OPERATION || step->kind == TIDE_STEP_PART;
}
/* Prints the step as one line; a line that is too long ends with "…". */
void tide_explain_step(const struct tide_plan *plan, const struct tide_step *step, char *buffer,
                       size_t size);
/* Writes one operation. The step is the plan's; `explained` is the record of its operation. */
void tide_explain_json_operation(const struct tide_explanation *e, struct tide_json *json,
                                 const struct tide_step *step,
                                 const struct tide_explained *explained);
/* Writes all operations. Rewinds the plan. */
enum tide_status tide_explain_json(const struct tide_explanation *e, struct tide_json *json,
                                   const char *program);

#endif
