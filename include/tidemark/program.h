/* tidemark/program.h: pipelines as short texts (`*.tide`).
 *
 * The model. A program is read in three steps.
 *
 *      text --parse--> program --plan--> tables + a stream of steps --run--> work
 *
 * *Parsing* checks how the text is written and that every name is known. A *plan* is the program
 * with its parameters filled in and its bodies looked up: tables of its objects (devices, queues,
 * timelines, buffers, files), and a stream of *steps* in program order, loops unrolled one step at
 * a time, so that a million operations take no more memory than ten. Making a plan runs through the
 * whole stream once and refuses programs that could not work: values that go down, waits for values
 * that no operation signals, operations that wait for each other in a cycle, memory used before it
 * is allocated or after it is freed.
 *
 * Errors go to a *report*: as many as there is room for, each with line, column, the expected text
 * and the given one.
 *
 * *Bodies* are the functions that operations run. They come from tables with described signatures,
 * by which a program's text is checked; tidemark/body.h defines such tables, tidemark/kernel.h
 * brings the built-in one.
 *
 * The language itself is described in docs/programs.md.
 *
 * Threads: a program never changes after parsing and may be shared; a plan is
 * used by one thread at a time.
 *
 * Source: docs/programs.md.
 */
#ifndef TIDEMARK_PROGRAM_H
#define TIDEMARK_PROGRAM_H

#include "tidemark/body.h"
#include "tidemark/file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors -------------------------------------------------------------------- */

/* Where errors go. The caller owns the array; `count` goes on when it is full, up to the place
 * where reading stops (soon after). NULL in place of a report is fine. */
struct tide_report {
  struct tide_diag *diags;
  size_t capacity;
  size_t count;
};

/* "satellite.tide:12:18: message", without the place where there is none. Returns the whole length.
 */
TIDE_API size_t tide_program_diag_print(const char *file_name, const struct tide_diag *diag,
                                        char *buffer, size_t size);

/* ---- programs ------------------------------------------------------------------- */

#define TIDE_PROGRAM_TEXT_MAX (16u << 20) /* bytes; a longer text is refused before it is read */
#define TIDE_PROGRAM_NAME_MAX 63          /* bytes of a name */
#define TIDE_PROGRAM_NESTING_MAX 64       /* of blocks, and of parentheses */

struct tide_program;

struct tide_program_params {
  size_t struct_size;
  const struct tide_allocator *allocator; /* outlives the program and its plans */
  const char *text;                       /* any bytes; copied */
  size_t length;
  bool syntax_only; /* for formatting: names are not looked up; no plan can be made of it */
};

/* Any bytes give TIDE_OK, or an error and a report; never a crash. TIDE_CORRUPT: not a program;
 * TIDE_NOT_FOUND: a name is unknown; TIDE_FULL: too long or too deep; TIDE_NOMEM. The status is the
 * first error's. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_program_parse(const struct tide_program_params *params, struct tide_report *report,
                   struct tide_program **out_program);
/* NULL is fine. Its plans must be gone. */
TIDE_API void tide_program_destroy(struct tide_program *program);

/* The text in its one layout, comments kept. Writes at most size bytes, terminated, and returns the
 * length of the whole, without the terminator. The result parses to the same program, and
 * formatting it again changes nothing. */
TIDE_API size_t tide_program_format(const struct tide_program *program, char *buffer, size_t size);

/* What a program can be told from outside; in the order of the text. */
struct tide_program_param {
  const char *name;
  bool text; /* takes text; else a number */
  uint32_t line, column;
};
/* Lives as long as the program. */
TIDE_API const struct tide_program_param *tide_program_params_of(const struct tide_program *program,
                                                                 size_t *out_count);

/* ---- plans: what there is --------------------------------------------------------- */

#define TIDE_PLAN_NONE UINT32_MAX /* "no such entry", where an index is expected */

struct tide_plan_option { /* `workers 2`, `name "llvmpipe"` */
  const char *key;
  const char *text; /* NULL: a number */
  int64_t integer;
  uint32_t line, column;
};

struct tide_plan_device {
  const char *label;
  const char *kind; /* "cpu", "file" …; whoever runs the plan knows what it means */
  const struct tide_plan_option *options;
  size_t option_count;
  uint32_t takers;                 /* its queues with operations that take: each may stall one */
  uint32_t line, column;           /* of the declaration */
  uint32_t kind_line, kind_column; /* of the kind */
};

struct tide_plan_queue {
  const char *label;   /* "left", "lane[3]" */
  uint32_t device;     /* index into devices */
  uint8_t priority;    /* 0: not said */
  uint32_t capacity;   /* operations; 0: not said */
  uint64_t operations; /* how many the plan submits to it */
  uint32_t most_waits; /* of one of its operations */
  uint32_t most_signals;
  uint32_t takes; /* the timeline of its operations that have taken; TIDE_PLAN_NONE: none do */
  uint64_t taken_bytes;            /* the most that one of them takes … */
  uint32_t taken_pieces;           /* … and in how many pieces */
  uint32_t take_line, take_column; /* of the first of them */
  uint32_t line, column;
};

struct tide_plan_timeline {
  const char *label;
  uint64_t initial;
  enum tide_scope scope; /* the narrowest that the plan's use allows */
  bool operations_only;  /* nothing but operations signals it */
  bool used;             /* by any step */
  uint64_t last;         /* the highest value that is signalled; initial if none is */
  uint32_t
      collective; /* this is that collective's progress; TIDE_PLAN_NONE: declared by `timeline` */
  uint32_t line, column;
};

struct tide_plan_buffer {
  const char *label; /* "tile[3]" */
  uint64_t size;     /* bytes, at least 1 */
  bool scratch; /* lives from its alloc to its free, perhaps several times; else all the time */
  bool read, written; /* by any operation */
  uint32_t line, column;
};

enum tide_file_mode {
  TIDE_FILE_READ = 1,     /* exists */
  TIDE_FILE_WRITE = 2,    /* made by the run */
  TIDE_FILE_TEMPORARY = 3 /* read and written, gone afterwards; has no path */
};

struct tide_plan_file {
  const char *label;
  const char *path; /* as written, parameters filled in; NULL for a temporary one */
  enum tide_file_mode mode;
  uint32_t line, column;
};

struct tide_plan_collective {
  const char *label;
  const uint32_t *queues; /* the members, in order */
  size_t queue_count;
  uint32_t timeline;  /* its progress, in timelines */
  uint64_t instances; /* how many the plan submits */
  uint32_t line, column;
};

/* Arrays are flattened: `queue lane[4] on gpu` is four entries. */
struct tide_plan_tables {
  const struct tide_plan_device *devices;
  size_t device_count;
  const struct tide_plan_queue *queues;
  size_t queue_count;
  const struct tide_plan_timeline *timelines;
  size_t timeline_count;
  const struct tide_plan_buffer *buffers;
  size_t buffer_count;
  const struct tide_plan_file *files;
  size_t file_count;
  const struct tide_plan_collective *collectives;
  size_t collective_count;
  uint64_t steps, operations, waits,
      signals;            /* of the whole stream; parts of collectives are operations */
  uint64_t static_bytes;  /* of buffers that are not scratch */
  uint64_t scratch_bytes; /* the most that is allocated at any step */
};

/* ---- plans: what happens ------------------------------------------------------------ */

enum tide_step_kind {
  TIDE_STEP_END = 0,   /* the stream is over */
  TIDE_STEP_OPERATION, /* submit to `queue` */
  TIDE_STEP_PART,  /* submit member `member`'s part of a collective; all parts follow each other */
  TIDE_STEP_ALLOC, /* `buffer`, at the position of `queue` */
  TIDE_STEP_FREE,  /* … */
  TIDE_STEP_HOST_SIGNAL,   /* this thread signals `signals` */
  TIDE_STEP_HOST_EXTERNAL, /* … as if it came from elsewhere */
  TIDE_STEP_HOST_WAIT      /* this thread blocks until `waits` are reached */
};

struct tide_step_argument {
  enum tide_param_kind kind;
  uint32_t index;  /* IN, OUT, INOUT: of the buffer; FILE: of the file; TIDE_PLAN_NONE: left out */
  uint64_t offset; /* of the slice within the buffer */
  uint64_t size;   /* of the slice, or of the text */
  int64_t integer;
  const char *text; /* terminated; lives as long as the plan */
};

struct tide_step_value { /* a wait or a signal */
  uint32_t timeline;     /* index into timelines */
  uint64_t value;
};

/* An operation that takes (`take BUF`) is two steps. The first starts without waiting for whoever
 * writes the buffer: its body loads, and stalls until the *tags* are reached, each for its piece.
 * It signals its queue's own timeline of takes. The second, behind it in its queue, does nothing;
 * it waits for that value and for the tags, and carries what the text says of signals: only what
 * comes behind both may rely on the buffer's writers. */
struct tide_step_take {
  uint32_t argument; /* of the first step */
  uint32_t buffer;
  uint64_t offset, size;       /* the slice */
  uint32_t first, piece_count; /* in pieces */
};
struct tide_step_piece { /* of a buffer; there once its tag is reached */
  uint64_t offset, size;
  uint32_t tag; /* index into tags */
};

struct tide_step {
  enum tide_step_kind kind;
  uint32_t queue;                             /* OPERATION, PART, ALLOC, FREE */
  uint32_t buffer;                            /* ALLOC, FREE */
  const struct tide_body *body;               /* OPERATION, PART; never NULL */
  const struct tide_step_argument *arguments; /* body->param_count of them */
  const struct tide_step_value *waits;
  size_t wait_count;
  const struct tide_step_value *signals;
  size_t signal_count;
  const struct tide_step_take *takes; /* of both steps of an operation that takes */
  size_t take_count;
  const struct tide_step_piece *pieces;
  size_t piece_count;
  const struct tide_step_value *tags; /* of the first one */
  size_t tag_count;
  bool took;                   /* the second one */
  uint64_t after;              /* ns of its cost before it loads what it takes */
  uint64_t cost;               /* ns, for simulators; 0: not said */
  uint32_t flags;              /* enum tide_operation_flags */
  const char *label;           /* NULL: none was given */
  uint32_t collective, member; /* PART */
  uint64_t instance;           /* PART: from 1 */
  uint64_t number;             /* of this step, from 0 */
  uint32_t line, column;
};

struct tide_plan;

/* `name=value` from outside. A text parameter takes the value as it is; a number may be written as
 * in a program (`64K`, `3*4`). */
struct tide_setting {
  const char *name;
  const char *value;
};

struct tide_plan_params {
  size_t struct_size;
  const struct tide_body_set *bodies; /* searched in order */
  size_t body_set_count;
  const struct tide_setting *settings; /* copied */
  size_t setting_count;
  uint64_t operations; /* the most that may be unrolled; 0: 100 million */
};

/* Fills in parameters, looks up bodies and checks the whole stream. Beside the errors of parsing:
 * TIDE_VALUE (a value goes down, a number overflows, an index is out of range), TIDE_DEADLOCK (a
 * cycle), TIDE_NOT_FOUND (no such body or parameter; a wait for what nobody signals),
 * TIDE_MISMATCH (an argument does not fit its body), TIDE_FULL (too many operations), TIDE_INVALID.
 */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_plan_create(const struct tide_program *program,
                                                           const struct tide_plan_params *params,
                                                           struct tide_report *report,
                                                           struct tide_plan **out_plan);
/* NULL is fine. */
TIDE_API void tide_plan_destroy(struct tide_plan *plan);
/* Lives as long as the plan. */
TIDE_API const struct tide_plan_tables *tide_plan_tables(const struct tide_plan *plan);

/* The next step; kind TIDE_STEP_END when there is none. What it points to is valid until the next
 * call. A plan that was created has been checked, so only TIDE_NOMEM can happen. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_plan_next(struct tide_plan *plan, struct tide_step *out_step, struct tide_diag *diag);
/* From the first step again: the same stream. */
TIDE_API void tide_plan_rewind(struct tide_plan *plan);

/* A step as one line of a program without loops: `left: blur tile[3], soft[3], 512, 2  wait read >=
 * 4`. Returns the whole length. */
TIDE_API size_t tide_step_print(const struct tide_plan *plan, const struct tide_step *step,
                                char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
