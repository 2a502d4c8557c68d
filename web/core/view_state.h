/* web/core/view_state.h: the program that the page holds, and its recording. */
#ifndef TIDE_WEB_VIEW_STATE_H
#define TIDE_WEB_VIEW_STATE_H

#include "memory/death.h"
#include "program/explanation.h"
#include "tidemark/kernel.h"
#include "tidemark/sim.h"
#include "view.h"

#define VIEW_DIAGS 50
#define VIEW_SETTINGS 64
#define VIEW_SETTING_TEXT 4096

struct rows { /* a growing array */
  void *items;
  size_t count, capacity;
};

struct object { /* maps an address to a timeline of the plan */
  const void *at;
  uint32_t index;
};

/* The state of the recording just before an entry of the log. */
struct view_moment {
  size_t at;
  uint32_t *newest;   /* by queue: 1 + the newest operation that has entered; 0: none */
  uint64_t *finished; /* by queue: the newest published epoch */
  uint64_t *parts;    /* by collective: parts that have finished, of all instances */
};

/* The death frontier of a freed buffer, as the pool made it. */
struct view_death {
  struct tide_death *death; /* NULL: held operations named the buffer, or no pool owned it */
};

struct view {
  const struct tide_allocator *allocator;
  double options[TIDE_VIEW_OPTION_COUNT];
  struct tide_setting settings[VIEW_SETTINGS];
  size_t setting_count;
  char setting_text[VIEW_SETTING_TEXT];
  size_t setting_used;
  struct tide_program *program;
  struct tide_plan *plan;
  const struct tide_plan_tables *tables;
  struct tide_explanation explanation;
  struct tide_simulation *simulation;
  struct tide_sink sink;
  struct rows rows[TIDE_VIEW_ARRAY_COUNT];
  uint32_t **operation_of; /* indexed by queue, then by sequence - 1 */
  struct object *objects;  /* hash table by address */
  size_t object_capacity;
  struct rows turns[2];         /* buffers in the order of the plan: [0] allocated, [1] freed */
  size_t turn[2];               /* how many of these have had their event */
  struct rows deaths;           /* struct view_death, in the order of the frees */
  bool *in_order;               /* by queue */
  struct tide_frontier **after; /* by operation: its frontier `after`; NULL: follows from `known` */
  const void **queues;          /* by queue: struct tide_queue, for look.c */
  uint32_t *priorities;         /* by queue: the last value noted */
  struct view_moment moment;
  uint32_t step_of; /* operation of the newest step */
  uint32_t step_kind;
  bool failed; /* out of memory while recording */
  char *capacity, *answer;
  size_t capacity_size, answer_size, answer_capacity;
  struct tide_json json;
};

extern struct view view;

/* heap.c */
const struct tide_allocator *view_allocator(void);
void view_heap_begin(void);

/* recording.c */
bool view_record_begin(void);
void view_record_made(void *user, const struct tide_run *run);
void view_record_end(void);

/* look.c */
uint32_t view_priority(const void *queue);
bool view_is_in_order(const void *queue);
/* Returns the frontier that the queue's next operation knows; its epoch of the queue's own axis may
 * be out of date. */
const struct tide_frontier *view_position(const void *queue);
const struct tide_frontier *view_death(const void *buffer, tide_axis *out_axis,
                                       uint64_t *out_epoch);

/* reuse.c */
bool view_reuse_begin(void);
void view_reuse_end(void);
/* Records the death frontier of a buffer. Returns the number of the free, from 1; 0: out of
 * memory. */
uint32_t view_reuse_freed(const void *buffer);

/* recording.c: appends `count` zeroed rows; NULL: out of memory. */
void *view_add_row(struct rows *rows, size_t size, size_t count);
/* Returns the operation with an epoch of a queue's axis; TIDE_VIEW_NONE: none has it. */
uint32_t view_operation_at(tide_axis axis, uint64_t epoch);

/* tell.c */
void view_answer_begin(void);
void view_tell_errors(const struct tide_report *report, enum tide_status status);
void view_tell_tables(void);
void view_tell_result(enum tide_status status, const struct tide_diag *diag);

#endif
