/* web/core/state.h: the one program that the page holds. */
#ifndef TIDE_WEB_STATE_H
#define TIDE_WEB_STATE_H

#include "program/explanation.h"
#include "tidemark/kernel.h"
#include "tidemark/sim.h"
#include "view.h"

#define VIEW_DIAGS 50
#define VIEW_SETTINGS 64
#define VIEW_SETTING_TEXT 4096

struct rows { /* a growing array */
  void *items;
  size_t count, room;
};

struct object { /* which timeline or buffer of the plan an address is */
  const void *at;
  uint32_t index;
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
  size_t object_room;
  struct rows turns[2]; /* buffers that are handed out, and freed */
  size_t turn[2];       /* how many were */
  uint32_t step_of;     /* the operation that the newest step is about */
  uint32_t step_kind;
  bool failed; /* out of memory while recording */
  char *room, *answer;
  size_t room_size, answer_size, answer_room;
  struct tide_json json;
};

extern struct view view;

/* heap.c, or whoever compiles this for another machine */
const struct tide_allocator *view_allocator(void);
void view_heap_begin(void);

/* record.c */
bool view_record_begin(void);
void view_record_made(void *user, const struct tide_run *run);
void view_record_end(void);

/* priority.c */
uint32_t view_priority(const void *queue);

/* tell.c */
void view_answer_begin(void);
void view_tell_errors(const struct tide_report *report, enum tide_status status);
void view_tell_tables(void);
void view_tell_result(enum tide_status status, const struct tide_diag *diag);

#endif
