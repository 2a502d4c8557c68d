/* program/plan.h: the inside of a plan: the program's names with their values, and a cursor that
 * walks through the unrolled program. */
#ifndef TIDE_PROGRAM_PLAN_H
#define TIDE_PROGRAM_PLAN_H

#include "program/ast.h"
#include "program/errors.h"
#include "program/eval.h"

#define TIDE_PLAN_ENTRIES_MAX (1u << 20) /* entries of each table */
#define TIDE_PLAN_FILES_MAX 4096u
#define TIDE_PLAN_CAPACITY_MAX (1u << 24)
#define TIDE_PLAN_OPERATIONS 100000000u /* the default limit */
/* Statements between two steps: a slow machine does so many in a second. So a loop that submits
 * nothing is refused at once, and a program that submits may turn for as long as it needs. */
#define TIDE_PLAN_IDLE_MAX 4000000u
#define TIDE_PLAN_PROGRESS 1000000u /* statements between two calls of `progress` */
#define TIDE_PLAN_LABEL_MAX 64
#define TIDE_PLAN_TEXT_MAX 65536u /* bytes of a text with its names filled in */

/* The table entries of a name. */
struct tide_span {
  uint32_t first, count;
};

/* The argument of an operation's text that fills a parameter of its body. */
struct tide_bound {
  const struct tide_program_argument *argument; /* NULL: omitted */
  uint32_t element;                             /* index in NAME[*] */
  const char *text;                             /* a text without loop variables, expanded once */
};
struct tide_binding {
  const struct tide_body *body;
  struct tide_bound *params; /* body->param_count */
};

struct tide_frame {
  const struct tide_statement *at;
  const struct tide_for_statement *loop; /* NULL: a block of `if`, or the whole program */
  uint64_t left;                         /* iterations left */
  int64_t step;
};

struct tide_life {       /* the allocation state of a scratch buffer */
  uint32_t line, column; /* position of its last alloc or free; 0: none yet */
  bool live;
};

struct tide_cursor {
  struct tide_frame frames[TIDE_PROGRAM_NESTING_MAX + 1];
  uint32_t depth;
  bool ended; /* the walk is over: at the end, or after an error */
  uint64_t number, order;
  uint64_t step_order; /* `order` at the last step */
  uint32_t statement;  /* number of the last step's statement */
  /* The statement that is giving several steps, and the position in it. */
  const struct tide_operation_statement *open;
  uint32_t member;
  const struct tide_program_argument *memory;
  uint32_t element;
  uint64_t scratch_bytes;
};

struct tide_values { /* a growing array of waits or signals */
  struct tide_step_value *items;
  size_t count, capacity;
};

/* The last writers of a buffer, as far as operations may take it: disjoint slices, in the order of
 * the writes. */
#define TIDE_WRITES_MAX 64
struct tide_write {
  uint64_t offset, size;
  struct tide_step_value tag; /* the first signal of the writing operation; valid if `tagged` */
  bool tagged;                /* the operation signals */
  uint32_t queue, line;
};
struct tide_writes {
  uint32_t count;
  bool lost; /* further slices were dropped */
  struct tide_write list[TIDE_WRITES_MAX];
};

/* The takes of the current operation. */
struct tide_taking {
  struct tide_step_take takes[TIDE_PARAMS_MAX];
  size_t take_count;
  struct tide_step_piece *pieces;
  size_t piece_count, piece_capacity;
  struct tide_values tags;
};

struct tide_plan {
  const struct tide_program *program;
  const struct tide_allocator *allocator;
  struct tide_arena arena;
  struct tide_plan_tables tables;
  /* The same arrays, writable. */
  struct tide_plan_device *devices;
  struct tide_plan_queue *queues;
  struct tide_plan_timeline *timelines;
  struct tide_plan_buffer *buffers;
  struct tide_plan_file *files;
  struct tide_plan_collective *collectives;
  size_t device_capacity, queue_capacity, timeline_capacity, buffer_capacity, file_capacity,
      collective_capacity;
  int64_t *values;               /* by symbol */
  const char **texts;            /* by symbol */
  struct tide_span *spans;       /* by symbol */
  struct tide_binding *bindings; /* by statement */
  uint8_t *complained;           /* by statement: an error has been reported */
  uint64_t operations_max;
  const char **interned; /* texts of arguments, by hash */
  size_t interned_count, interned_capacity;
  char *expanded;
  size_t expanded_capacity;
  struct tide_cursor cursor;
  struct tide_life *lives; /* by buffer */
  uint64_t *instances;     /* by collective */
  struct tide_values waits, signals;
  struct tide_writes **writes; /* by buffer; NULL: never taken, or not written yet */
  uint64_t *taken;             /* by queue: operations that took, so far */
  struct tide_taking taking;
  struct tide_step_argument arguments[TIDE_PARAMS_MAX];
  char label[TIDE_PLAN_LABEL_MAX];
};

/* tables.c: processes the declarations, with the settings of the caller. */
bool tide_plan_declare(struct tide_plan *plan, const struct tide_setting *settings,
                       size_t setting_count, struct tide_errors *errors);
/* setting.c */
bool tide_plan_setting(struct tide_plan *plan, const struct tide_declaration *param,
                       const char *value, struct tide_errors *errors);
bool tide_plan_settings_known(struct tide_plan *plan, const struct tide_setting *settings,
                              size_t count, struct tide_errors *errors);
/* bind.c: finds each operation's body and checks its arguments. */
bool tide_plan_bind(struct tide_plan *plan, const struct tide_body_set *sets, size_t set_count,
                    struct tide_errors *errors);
/* string.c: writes a text with its names filled in. Returns the length of the whole text, or a
 * value above TIDE_PLAN_TEXT_MAX when it is longer than that. */
size_t tide_plan_expand(const struct tide_plan *plan, const struct tide_string *string,
                        char *buffer, size_t size);
/* Returns the expanded text, in the plan's memory; equal texts give the same pointer. NULL after an
 * error. */
const char *tide_plan_intern(struct tide_plan *plan, const struct tide_string *string,
                             struct tide_errors *errors);
/* plan_take.c: records the slices that a step writes. */
bool tide_plan_note_writes(struct tide_plan *plan, const struct tide_binding *binding,
                           const struct tide_step *step, struct tide_errors *errors);
/* Finds the writers of the buffers that an operation takes. Fills plan->taking. */
bool tide_plan_take(struct tide_plan *plan, const struct tide_operation_statement *operation,
                    const struct tide_step *step, struct tide_errors *errors);
/* step.c: produces the next step. False: an error was reported, or muted because the statement has
 * reported one; the cursor is behind the failed step. */
bool tide_plan_advance(struct tide_plan *plan, struct tide_step *out_step,
                       struct tide_errors *errors);
/* Finds the table index of NAME[index]; reports an error when it is out of range. */
bool tide_plan_element(struct tide_plan *plan, const struct tide_reference *reference,
                       struct tide_errors *errors, uint32_t *out_index);
/* A number that the expressions of a step can name. */
struct tide_plan_name {
  uint32_t symbol;
  bool counts; /* it tells the iterations apart: a loop's variable, `member` */
};
/* step.c: lists the numbers that the current step's statement can name, the innermost first,
 * without those of the whole program. Returns their number, `room` at most. */
size_t tide_plan_names(const struct tide_plan *plan, const struct tide_step *step,
                       struct tide_plan_name *out_names, size_t room);
/* validate.c: walks through all steps, and fills in the table fields that depend on all of them. */
bool tide_plan_check(struct tide_plan *plan, const struct tide_plan_params *params,
                     struct tide_errors *errors);

#endif
