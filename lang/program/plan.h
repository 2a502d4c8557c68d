/* program/plan.h: a plan from inside: the program's names with their values, and a
 * cursor that walks through the unrolled program. */
#ifndef TIDE_PROGRAM_PLAN_H
#define TIDE_PROGRAM_PLAN_H

#include "program/ast.h"
#include "program/errors.h"
#include "program/eval.h"

#define TIDE_PLAN_ENTRIES_MAX (1u << 20) /* of each table */
#define TIDE_PLAN_FILES_MAX 4096u
#define TIDE_PLAN_CAPACITY_MAX (1u << 24)
#define TIDE_PLAN_OPERATIONS 100000000u /* unless said otherwise */
#define TIDE_PLAN_LABEL_MAX 64
#define TIDE_PLAN_TEXT_MAX 65536u /* bytes of a text with its names filled in */

/* What a name stands for in the tables. */
struct tide_span {
  uint32_t first, count;
};

/* Which argument of an operation's text fills a parameter of its body. */
struct tide_bound {
  const struct tide_program_argument *argument; /* NULL: left out */
  uint32_t element;                             /* of NAME[*] */
  const char *text;                             /* of a text that is the same each time */
};
struct tide_binding {
  const struct tide_body *body;
  struct tide_bound *params; /* body->param_count */
};

struct tide_frame {
  const struct tide_statement *at;
  const struct tide_for_statement *loop; /* NULL: a block of `if`, or the whole program */
  uint64_t left;                         /* further turns */
  int64_t step;
};

struct tide_life {       /* of a scratch buffer */
  uint32_t line, column; /* of its last alloc, or free; 0: none yet */
  bool live;
};

struct tide_cursor {
  struct tide_frame frames[TIDE_PROGRAM_NESTING_MAX + 1];
  uint32_t depth;
  bool ended; /* for good: at the end, or where it could not go on */
  uint64_t number, order;
  uint32_t statement; /* of the last step: its number */
  /* A statement that gives several steps. */
  const struct tide_operation_statement *open;
  uint32_t member;
  const struct tide_program_argument *memory;
  uint32_t element;
  uint64_t scratch_bytes;
};

struct tide_values { /* a growing row of waits or signals */
  struct tide_step_value *items;
  size_t count, capacity;
};

/* Who wrote a buffer last, as far as it can be taken: slices in the order in which they were
 * written, none wholly behind a later one. */
#define TIDE_WRITES_MAX 64
struct tide_write {
  uint64_t offset, size;
  struct tide_step_value tag; /* what its operation signals … */
  bool tagged;                /* … if it does */
  uint32_t queue, line;
};
struct tide_writes {
  uint32_t count;
  bool lost; /* there were more */
  struct tide_write list[TIDE_WRITES_MAX];
};

/* What the operation that is open takes. */
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
  /* The same arrays, to write to. */
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
  uint8_t *complained;           /* by statement: said what is wrong with it */
  uint64_t operations_max;
  const char **interned; /* texts of arguments, by hash */
  size_t interned_count, interned_capacity;
  char *expanded;
  size_t expanded_capacity;
  struct tide_cursor cursor;
  struct tide_life *lives; /* by buffer */
  uint64_t *instances;     /* by collective */
  struct tide_values waits, signals;
  struct tide_writes **writes; /* by buffer; NULL: nobody takes it, or nobody has written yet */
  uint64_t *taken;             /* by queue: operations that took */
  struct tide_taking taking;
  struct tide_step_argument arguments[TIDE_PARAMS_MAX];
  char label[TIDE_PLAN_LABEL_MAX];
};

/* tables.c: the declarations, with the settings from outside. */
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
/* string.c: a text with its names filled in; the length of the whole, or something above
 * TIDE_PLAN_TEXT_MAX when it is longer than that. */
size_t tide_plan_expand(const struct tide_plan *plan, const struct tide_string *string,
                        char *buffer, size_t size);
/* In the plan's memory; the same text gives the same pointer. NULL after an error. */
const char *tide_plan_intern(struct tide_plan *plan, const struct tide_string *string,
                             struct tide_errors *errors);
/* plan_take.c: records the data that a step writes and an operation takes. */
bool tide_plan_note_writes(struct tide_plan *plan, const struct tide_binding *binding,
                           const struct tide_step *step, struct tide_errors *errors);
/* The operation's takes, from what was written before it. Fills plan->taking. */
bool tide_plan_take(struct tide_plan *plan, const struct tide_operation_statement *operation,
                    const struct tide_step *step, struct tide_errors *errors);
/* step.c: the next step. False: an error was reported, or muted; the cursor stands behind it. */
bool tide_plan_advance(struct tide_plan *plan, struct tide_step *out_step,
                       struct tide_errors *errors);
/* What NAME[index] is in the tables. */
bool tide_plan_element(struct tide_plan *plan, const struct tide_reference *reference,
                       struct tide_errors *errors, uint32_t *out_index);
/* check.c: walks through all steps; fills in what only the whole stream tells. */
bool tide_plan_check(struct tide_plan *plan, struct tide_errors *errors);

#endif
