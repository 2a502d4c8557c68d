/* web/core/view_state.h: the one program that the page holds. */
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

struct object { /* which timeline or buffer of the plan an address is */
  const void *at;
  uint32_t index;
};

/* What had happened before an entry of the log. */
struct view_moment {
  size_t at;
  uint32_t *newest;   /* by queue: the operation that entered last, from 1 */
  uint64_t *finished; /* by queue: its epoch that is published */
  uint64_t *parts;    /* by collective: how many have finished of all its instances */
};

/* The death frontier of a buffer that was freed, as the pool made it. */
struct view_death {
  struct tide_death *death; /* NULL: held operations named the buffer, or it was no pool's */
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
  uint32_t **operation_of; /* by queue, by sequence - 1 */
  struct object *objects;  /* by hash of the address */
  size_t object_capacity;
  struct rows turns[2];         /* buffers that are handed out, and freed */
  size_t turn[2];               /* how many were */
  struct rows deaths;           /* struct view_death, in the order of the frees */
  bool *in_order;               /* by queue */
  struct tide_frontier **after; /* by operation: as its `after`; NULL: that is `known`, with itself
                                   where the queue is in order */
  const void **queues;          /* by queue: what view_priority looks into */
  uint32_t *priorities;         /* by queue: as they were last */
  struct view_moment moment;
  uint32_t step_of; /* the operation that the newest step is about */
  uint32_t step_kind;
  bool failed; /* out of memory while recording */
  char *capacity, *answer;
  size_t capacity_size, answer_size, answer_capacity;
  struct tide_json json;
};

extern struct view view;

/* heap.c, or whoever compiles this for another machine */
const struct tide_allocator *view_allocator(void);
void view_heap_begin(void);

/* recording.c */
bool view_record_begin(void);
void view_record_made(void *user, const struct tide_run *run);
void view_record_end(void);

/* look.c */
uint32_t view_priority(const void *queue);
bool view_is_in_order(const void *queue);
/* What its next operation may take for granted; the epoch of the own axis may be an older one. */
const struct tide_frontier *view_position(const void *queue);
const struct tide_frontier *view_death(const void *buffer, tide_axis *out_axis,
                                       uint64_t *out_epoch);

/* reuse.c */
bool view_reuse_begin(void);
void view_reuse_end(void);
/* Its number, from 1; 0: out of memory. */
uint32_t view_reuse_freed(const void *buffer);

/* recording.c: an array that grows; NULL: out of memory. */
void *view_add_row(struct rows *rows, size_t size, size_t count);
/* The operation that has an epoch of a queue's axis; TIDE_VIEW_NONE: there is none. */
uint32_t view_operation_at(tide_axis axis, uint64_t epoch);

/* tell.c */
void view_answer_begin(void);
void view_tell_errors(const struct tide_report *report, enum tide_status status);
void view_tell_tables(void);
void view_tell_result(enum tide_status status, const struct tide_diag *diag);

#endif
