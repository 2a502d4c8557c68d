/* tidemark/program.h: pipelines as short texts (`*.tide`).
 *
 * The model. A program is processed in three steps.
 *
 *      text --parse--> program --plan--> tables + a stream of steps --run--> work
 *
 * *Parsing* checks the syntax and resolves every name. A *plan* is the program with its parameters
 * filled in and its bodies looked up: tables of its objects (devices, queues, timelines, buffers,
 * files), and a stream of *steps* in program order. Loops are unrolled one step at a time, so a
 * million operations take no more memory than ten. Creating a plan runs through the whole stream
 * once and refuses programs that could not work: values that decrease, waits for values that no
 * operation signals, operations that wait for each other in a cycle, memory used before it is
 * allocated or after it is freed.
 *
 * Errors go to a *report*, up to its capacity. Each has a line, a column, the expected text and the
 * given one.
 *
 * *Bodies* are the functions that operations run. They come from tables with described signatures,
 * which serve to check a program's text. tidemark/body.h defines such tables, tidemark/kernel.h has
 * the built-in one.
 *
 * docs/programs.md describes the language.
 *
 * Threads: a program never changes after parsing and may be shared; a plan is used by one thread at
 * a time.
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

/* A list of errors. The caller owns the array. `count` grows beyond the capacity, up to the
 * location where parsing stops (soon after). A function accepts NULL instead of a report. */
struct tide_report {
  struct tide_diag *diags;
  size_t capacity;
  size_t count;
};

/* Prints "satellite.tide:12:18: message", without a location if the diag has none. Returns the
 * length of the whole text. */
TIDE_API size_t tide_program_diag_print(const char *file_name, const struct tide_diag *diag,
                                        char *buffer, size_t size);

/* ---- programs ------------------------------------------------------------------- */

#define TIDE_PROGRAM_TEXT_MAX (16u << 20) /* bytes; a longer text is refused unread */
#define TIDE_PROGRAM_NAME_MAX 63          /* bytes of a name */
#define TIDE_PROGRAM_NESTING_MAX 64       /* nesting of blocks, and of parentheses */

struct tide_program;

struct tide_program_params {
  size_t struct_size;
  const struct tide_allocator *allocator; /* must outlive the program and its plans; NULL: malloc */
  const char *text;                       /* any bytes; copied */
  size_t length;
  bool syntax_only; /* names are not resolved (for formatting); no plan can be created */
};

/* Parses a text. Any input bytes give TIDE_OK, or an error and a report; never a crash. Returns the
 * status of the first error. TIDE_CORRUPT: not a program; TIDE_NOT_FOUND: an unknown name;
 * TIDE_FULL: too long or too deep; TIDE_INVALID: struct_size is missing; TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_program_parse(const struct tide_program_params *params, struct tide_report *report,
                   struct tide_program **out_program);
/* Destroys the program. Its plans must be gone. NULL is fine. */
TIDE_API void tide_program_destroy(struct tide_program *program);

/* Prints the text in the canonical layout, with its comments. Writes at most size bytes,
 * terminated, and returns the length of the whole, without the terminator. The result parses to the
 * same program, and formatting it again changes nothing. */
TIDE_API size_t tide_program_format(const struct tide_program *program, char *buffer, size_t size);

/* The parameters that a caller can set, in the order of the text. */
struct tide_program_param {
  const char *name;
  bool text; /* true: takes text; false: a number */
  uint32_t line, column;
};
/* Returns the program's parameters. Lives as long as the program. */
TIDE_API const struct tide_program_param *tide_program_params_of(const struct tide_program *program,
                                                                 size_t *out_count);

/* ---- plans: objects --------------------------------------------------------------- */

#define TIDE_PLAN_NONE UINT32_MAX /* no entry, as an index */

struct tide_plan_option { /* e.g. `workers 2`, `name "llvmpipe"` */
  const char *key;
  const char *text; /* NULL: a number */
  int64_t integer;
  uint32_t line, column;
};

struct tide_plan_device {
  const char *label;
  const char *kind; /* "cpu", "file" …; interpreted by the run */
  const struct tide_plan_option *options;
  size_t option_count;
  uint32_t takers;                 /* queues of the device with operations that take: each may stall
                                      one worker */
  uint32_t line, column;           /* location of the declaration */
  uint32_t kind_line, kind_column; /* location of the kind */
};

struct tide_plan_queue {
  const char *label;   /* "left", "lane[3]" */
  uint32_t device;     /* index into devices */
  uint8_t priority;    /* 0: the default */
  uint32_t capacity;   /* maximum operations; 0: the default */
  uint64_t operations; /* number of operations that the plan submits to the queue */
  uint32_t most_waits; /* maximum number of waits of one of its operations */
  uint32_t most_signals;
  uint64_t uses;         /* number of buffers that its operations use, in all */
  uint32_t takes;        /* timeline of its operations that take, one value per taken operation;
                            TIDE_PLAN_NONE: no such operations */
  uint64_t taken_bytes;  /* maximum bytes that one operation takes */
  uint32_t taken_pieces; /* maximum pieces that one operation takes */
  uint32_t take_line, take_column; /* location of the first such operation */
  uint32_t line, column;
};

struct tide_plan_timeline {
  const char *label;
  uint64_t initial;
  enum tide_scope scope; /* the narrowest that the plan's usage allows */
  bool operations_only;  /* only operations signal it */
  bool used;             /* a step uses it */
  uint64_t last;         /* the highest signalled value; `initial` if none is */
  uint32_t collective;   /* the collective that has this timeline as its progress; TIDE_PLAN_NONE:
                            declared   by `timeline` */
  uint32_t line, column;
};

struct tide_plan_buffer {
  const char *label; /* "tile[3]" */
  uint64_t size;     /* bytes, at least 1 */
  bool scratch; /* lives from its alloc to its free, perhaps several times; else during the whole
                   run */
  bool read, written; /* an operation reads it, writes it */
  uint32_t line, column;
};

enum tide_file_mode {
  TIDE_FILE_READ = 1,     /* exists */
  TIDE_FILE_WRITE = 2,    /* created by the run */
  TIDE_FILE_TEMPORARY = 3 /* read and written, then deleted; has no path */
};

struct tide_plan_file {
  const char *label;
  const char *path; /* path from the text, with parameters filled in; NULL: a temporary file */
  enum tide_file_mode mode;
  uint32_t line, column;
};

struct tide_plan_collective {
  const char *label;
  const uint32_t *queues; /* the members, in order */
  size_t queue_count;
  uint32_t timeline;  /* progress timeline, an index into timelines */
  uint64_t instances; /* number of instances that the plan submits */
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
      signals;            /* totals of the whole stream; parts of collectives count as operations */
  uint64_t static_bytes;  /* total size of the buffers that are not scratch */
  uint64_t scratch_bytes; /* maximum that is allocated at any step */
};

/* ---- plans: steps ------------------------------------------------------------------- */

enum tide_step_kind {
  TIDE_STEP_END = 0,   /* end of the stream */
  TIDE_STEP_OPERATION, /* submit an operation to `queue` */
  TIDE_STEP_PART,  /* submit member `member`'s part of a collective; all parts are consecutive */
  TIDE_STEP_ALLOC, /* allocate `buffer`, at the position of `queue` */
  TIDE_STEP_FREE,  /* free `buffer`, likewise */
  TIDE_STEP_HOST_SIGNAL,   /* the executing thread signals `signals` */
  TIDE_STEP_HOST_EXTERNAL, /* the same, as external signals */
  TIDE_STEP_HOST_WAIT      /* the executing thread blocks until `waits` are reached */
};

struct tide_step_argument {
  enum tide_param_kind kind;
  uint32_t index;  /* index of the buffer (IN, OUT, INOUT) or of the file (FILE); TIDE_PLAN_NONE:
                      omitted */
  uint64_t offset; /* offset of the slice within the buffer */
  uint64_t size;   /* size of the slice, or of the text */
  int64_t integer;
  const char *text; /* terminated; lives as long as the plan */
};

struct tide_step_value { /* a wait or a signal */
  uint32_t timeline;     /* index into timelines */
  uint64_t value;
};

/* A take. An operation that takes (`take BUF`) is two steps. The first starts without waiting for
 * the writers of the buffer: its body loads, and stalls until the *tags* are reached, each for its
 * piece. It signals its queue's own timeline of takes. The second step follows in the same queue
 * and has no body. It waits for that value and for the tags, and has the signals of the program's
 * text. So only operations behind both steps may rely on the buffer's writers. */
struct tide_step_take {
  uint32_t argument; /* argument of the first step */
  uint32_t buffer;
  uint64_t offset, size;       /* the slice */
  uint32_t first, piece_count; /* range in `pieces` */
};
struct tide_step_piece { /* piece of a buffer; present once its tag is reached */
  uint64_t offset, size;
  uint32_t tag; /* index into tags */
};

struct tide_step {
  enum tide_step_kind kind;
  uint32_t queue;                             /* OPERATION, PART, ALLOC, FREE */
  uint32_t buffer;                            /* ALLOC, FREE */
  const struct tide_body *body;               /* OPERATION, PART; never NULL */
  const struct tide_step_argument *arguments; /* body->param_count entries */
  const struct tide_step_value *waits;
  size_t wait_count;
  const struct tide_step_value *signals;
  size_t signal_count;
  const struct tide_step_take *takes; /* both steps of an operation that takes */
  size_t take_count;
  const struct tide_step_piece *pieces;
  size_t piece_count;
  const struct tide_step_value *tags; /* first step of an operation that takes */
  size_t tag_count;
  bool took;                   /* second step of an operation that takes */
  uint64_t after;              /* ns of its cost before it loads the taken data */
  uint64_t cost;               /* ns, for simulators; 0: unknown */
  uint32_t flags;              /* enum tide_operation_flags */
  const char *label;           /* NULL: none */
  uint32_t collective, member; /* PART */
  uint64_t instance;           /* PART: starts at 1 */
  uint64_t number;             /* number of this step, from 0 */
  uint32_t line, column;
};

struct tide_plan;

/* A parameter's value, `name=value`. A text parameter takes the value as it is. A number may be
 * written as in a program (`64K`, `3*4`). */
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
  uint64_t operations; /* maximum number of unrolled operations; 0: 100 million */
  /* Called at intervals while a long program is unrolled; may be NULL. */
  void (*progress)(void *user, uint64_t operations);
  void *progress_user;
};

/* Creates a plan: fills in parameters, looks up bodies and checks the whole stream. Errors, in
 * addition to those of tide_program_parse:
 * - TIDE_VALUE: a value decreases, a number overflows, an index is out of range
 * - TIDE_DEADLOCK: a cycle
 * - TIDE_NOT_FOUND: no such body or parameter; a wait for a value that is never signalled
 * - TIDE_MISMATCH: an argument does not fit its body
 * - TIDE_FULL: too many operations, or loops that turn 4 million times between two of them
 * - TIDE_INVALID */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_plan_create(const struct tide_program *program,
                                                           const struct tide_plan_params *params,
                                                           struct tide_report *report,
                                                           struct tide_plan **out_plan);
/* Destroys the plan. NULL is fine. */
TIDE_API void tide_plan_destroy(struct tide_plan *plan);
/* Returns the plan's tables. They live as long as the plan. */
TIDE_API const struct tide_plan_tables *tide_plan_tables(const struct tide_plan *plan);

/* Returns the next step; kind TIDE_STEP_END at the end of the stream. The step's pointers are valid
 * until the next call. Creating the plan has checked the stream, so TIDE_NOMEM is the only possible
 * error. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_plan_next(struct tide_plan *plan, struct tide_step *out_step, struct tide_diag *diag);
/* Restarts at the first step: the stream is the same. */
TIDE_API void tide_plan_rewind(struct tide_plan *plan);

/* Prints a step as one line of a program without loops: `left: blur tile[3], soft[3], 512, 2  wait
 * read >= 4`. Returns the length of the whole text. */
TIDE_API size_t tide_step_print(const struct tide_plan *plan, const struct tide_step *step,
                                char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
