/* tidemark/run.h: runs plans on real queues.
 *
 * The model. A plan (tidemark/program.h) lists objects and steps. A *run* carries it out: devices
 * from a registry of kinds, queues, timelines with the plan's scopes, buffers from a pool, files
 * from wherever the caller keeps them; then it submits one step after the other, waits when a queue
 * is full, and at the end until everything has finished.
 *
 *      plan ──create──> run ──execute──> result     look at its buffers ──> destroy
 *
 * The same plan can be run in four ways, to compare them:
 *
 * - tracked: waits are declared, Tidemark finds those that remain
 * - events: the same queues, devices and bodies, but as a program of binary events: one event a
 *   dependency, and one for each operation that uses a recycled buffer; nothing is elided
 * - barrier: likewise, with all queues joined before each operation that depends on one since the
 *   last join
 * - sequential: one thread, one body after the other, memory that is never shared: the expected
 *   result
 *
 * Nothing of the system is used here. Threads and time come from the platform, devices and files
 * from the registries that the caller plugs in.
 *
 * Errors carry the place in the program's text: of the declaration, or of the operation that was
 * refused or that failed first.
 *
 * Threads: a run, and the plan while it is being run, are used by one thread at a time;
 * tide_run_context may be asked from another one.
 *
 * Source: docs/programs.md; docs/performance.md.
 */
#ifndef TIDEMARK_RUN_H
#define TIDEMARK_RUN_H

#include "tidemark/backend.h"
#include "tidemark/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what comes from outside ----------------------------------------------------- */

struct tide_device_request {
  struct tide_context *context;
  const struct tide_plan_device *device; /* its label, and its options with their places */
};

/* What `device NAME KIND` can name. */
struct tide_device_kind {
  const char *name;
  const char *summary; /* one line for people */
  bool in_order;       /* as its backend says */
  /* Opens a device in request->context. An unknown option is its error to report, at the option's
   * location. The run closes the device. */
  enum tide_status (*open)(void *self, const struct tide_device_request *request,
                           struct tide_device **out_device, struct tide_diag *diag);
  /* Describes the device in this run ("2 workers"); returns the length. May be NULL. */
  size_t (*describe)(void *self, const struct tide_device *device, char *buffer, size_t size);
  void *self;
};

/* An option of a device by its key; NULL when it was not given. */
TIDE_API const struct tide_plan_option *tide_plan_option_find(const struct tide_plan_device *device,
                                                              const char *key);

struct tide_opened_file {
  int descriptor;
  const char *name; /* for messages: where it is, or will be; NULL: it has none */
};

struct tide_file_source {
  /* Opens one of the plan's files for the whole run. Descriptor and name stay the source's, which
   * closes it after the run, and decides then what becomes of what was written. */
  enum tide_status (*open)(void *self, const struct tide_plan_file *file,
                           struct tide_opened_file *out_file, struct tide_diag *diag);
  void *self;
};

/* A body that takes memory by fault, about to be called by a worker. */
struct tide_taken_piece { /* of an argument */
  uint64_t offset, size;
  struct tide_timeline *timeline; /* it is there once this … */
  uint64_t value;                 /* … is reached */
  uint64_t stalled, resumed; /* filled in: when the body had to wait for it first, and no more */
  enum tide_status status;   /* filled in: TIDE_OK, or why its data did not come */
};
struct tide_taken_argument {
  uint32_t argument;
  struct tide_taken_piece *pieces;
  size_t piece_count;
};
struct tide_taken {
  const struct tide_body *body;
  struct tide_argument *arguments; /* body->param_count of them; to be changed at will */
  const struct tide_taken_argument *taken;
  size_t taken_count;
};

/* How operations take (`take BUF`): bodies that load memory before it is there. */
struct tide_take_source {
  /* For one queue, whose operations run one after the other. Each takes up to `bytes`, in up to
   * `pieces` pieces. */
  enum tide_status (*open)(void *self, struct tide_context *context, const char *label,
                           uint64_t bytes, uint32_t pieces, void **out_taker,
                           struct tide_diag *diag);
  /* Calls the body's host function; it stalls where it loads what is not there. Returns the body's
   * status, or why the data of a piece did not come. */
  enum tide_status (*call)(void *taker, struct tide_taken *taken);
  void (*close)(void *taker);
  void *self;
};

/* ---- runs ---------------------------------------------------------------------------- */

enum tide_run_mode { TIDE_RUN_TRACKED, TIDE_RUN_EVENTS, TIDE_RUN_BARRIER, TIDE_RUN_SEQUENTIAL };

/* Who stands in for bodies and memory that are not there: a simulator. */
struct tide_run_stand_in {
  /* An operation is about to be submitted: another body and other arguments may take the place of
   * its own. They are copied with the rest. */
  void (*operation)(void *self, const struct tide_step *step, struct tide_operation *operation);
  /* A step is done. Under no lock: time may pass. */
  void (*stepped)(void *self);
  /* Buffers get addresses from here, and nobody touches what is there. */
  const struct tide_memory_source *memory;
  void *self;
};

struct tide_run_params {
  size_t struct_size;
  const struct tide_platform *platform;   /* NULL: Linux */
  const struct tide_allocator *allocator; /* NULL: malloc */
  struct tide_plan *plan;                 /* is rewound */
  const struct tide_device_kind *kinds;
  size_t kind_count;
  const struct tide_file_source *files; /* NULL: programs with files are refused */
  const struct tide_take_source *takes; /* NULL: programs that take are refused, where they would */
  enum tide_run_mode mode;
  bool paused; /* nothing starts until all is submitted: what is counted does not depend on luck */
  bool submit_only;  /* with paused: nothing starts at all, and no file is opened; the result tells
                        what submission decided */
  bool check;        /* check mode of the scheduler: `finding` is called for each ordering error */
  bool stop_early;   /* the first failure ends it; else all that does not depend on it goes on */
  size_t memory;     /* bytes that buffers may take; 0: no limit */
  size_t align;      /* of buffers; 0: 64 */
  uint8_t frontier;  /* entries of a frontier; 0: one for each queue and collective, at most 255 */
  uint32_t capacity; /* operations of a queue that does not say; 0: all, at most 1024 */
  const struct tide_run_stand_in *stand_in; /* not for sequential runs; NULL: nobody */
  const struct tide_sink *sink;             /* sees all events; may be NULL */
  /* Called now and then by the executing thread. */
  void (*progress)(void *user, uint64_t submitted, uint64_t finished);
  void *progress_user;
  /* By any thread, under no lock. */
  void (*finding)(void *user, const struct tide_diag *diag);
  void *finding_user;
};

struct tide_run_result {
  uint64_t wall;   /* ns from the first submit (paused: from when things could start) to the end */
  uint64_t submit; /* ns spent until all was submitted */
  uint64_t operations, failed;
  struct tide_context_stats sched; /* zero for sequential runs */
  struct tide_pool_stats pool;     /* tracked runs only */
  /* Of the baselines. */
  uint64_t events;        /* binary events that were made: for dependencies … */
  uint64_t use_events;    /* … and for uses of recycled buffers */
  uint64_t event_waits;   /* waits for the former */
  uint64_t reuse_waits;   /* waits for the latter, before memory was used again */
  uint64_t reused, fresh; /* buffers handed out */
  uint64_t barriers;      /* times that all queues were joined */
};

struct tide_run;

/* Makes all that the plan declares. On error nothing is left; the diag says what and where. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_run_create(const struct tide_run_params *params,
                                                          struct tide_diag *diag,
                                                          struct tide_run **out_run);
/* Runs to the end, once. Returns the first failure: of the operation that failed first, with its
 * place and why, or of the step that was refused. *out_result is filled in either case. Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_run_execute(struct tide_run *run, struct tide_run_result *out_result, struct tide_diag *diag);
/* What a buffer that is not scratch holds after the run, until destroy; NULL for a scratch buffer.
 */
TIDE_API const void *tide_run_buffer(const struct tide_run *run, uint32_t buffer);
/* For tide_context_diagnose, from any thread until destroy; NULL for a sequential run. */
TIDE_API struct tide_context *tide_run_context(struct tide_run *run);
/* Which queue, or collective, of the plan has this axis; false when none has. */
TIDE_API bool tide_run_axis_queue(const struct tide_run *run, tide_axis axis, uint32_t *out_queue);
/* Likewise, a collective of the plan. */
TIDE_API bool tide_run_axis_collective(const struct tide_run *run, tide_axis axis,
                                       uint32_t *out_collective);
/* The other way round: of a queue of the plan. 0 for a sequential run. */
TIDE_API tide_axis tide_run_queue_axis(const struct tide_run *run, uint32_t queue);
/* Is it the axis of the thread that executes the plan's host steps? */
TIDE_API bool tide_run_axis_host(const struct tide_run *run, tide_axis axis);
/* The index of a plan's timeline by the object that events name; TIDE_PLAN_NONE: not one of them.
 */
TIDE_API uint32_t tide_run_timeline_of(const struct tide_run *run, const void *object);
/* The other way round; NULL for a sequential run. */
TIDE_API struct tide_timeline *tide_run_timeline(const struct tide_run *run, uint32_t timeline);
/* What a device of the plan is in this run, as its kind describes it. Returns the length; 0:
 * nothing. */
TIDE_API size_t tide_run_describe_device(const struct tide_run *run, uint32_t device, char *buffer,
                                         size_t size);
/* Cancels whatever has not started, and what runs where its device can; blocks until the rest is
 * over. From then on the run can only be destroyed. TIDE_TIMEOUT: something still runs, so
 * tide_run_destroy would block, and all that the run uses must stay. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_run_settle(struct tide_run *run, uint64_t deadline);
/* NULL is fine. Settles first, without a deadline. */
TIDE_API void tide_run_destroy(struct tide_run *run);

/* ---- what a plan's dependencies need ----------------------------------------------------- */

/* "The fewest": waits that a perfect hand would place, by transitive reduction of what is declared.
 * A queue's own order comes for free, where its device works in order. */
struct tide_plan_counts {
  uint64_t waits; /* declared, by operations */
  uint64_t cross; /* of them, for something on another queue */
  uint64_t host;  /* of them, for something that the host signals, or that was so from the start */
  uint64_t fewest;
  uint64_t fewest_cross;
  bool known; /* false: the plan is too large for fewest and fewest_cross */
};

/* TIDE_NOMEM. The plan is rewound. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_plan_count(struct tide_plan *plan, const struct tide_device_kind *kinds, size_t kind_count,
                const struct tide_allocator *allocator, struct tide_plan_counts *out_counts,
                struct tide_diag *diag);

/* Counts waits as they are classified: a sink that hands everything on to the next. */
struct tide_wait_counter {
  struct tide_sink sink;        /* give this one to the run */
  const struct tide_sink *next; /* NULL: nobody */
  uint64_t issued_cross;        /* issued, for something on another queue */
  uint64_t elided_known, elided_finished, elided_sibling;
};
/* The caller's storage; it outlives the run that it is given to. */
TIDE_API void tide_wait_counter_init(struct tide_wait_counter *counter,
                                     const struct tide_sink *next);

#ifdef __cplusplus
}
#endif
#endif
