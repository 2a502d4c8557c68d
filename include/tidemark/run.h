/* tidemark/run.h: runs plans on real queues.
 *
 * The model. A plan (tidemark/program.h) lists objects and steps. A *run* creates the objects:
 * devices from a registry of kinds, queues, timelines with the plan's scopes, buffers from a pool,
 * files from the caller's file source. Then it submits one step after the other and waits when a
 * queue is full. At the end it waits until everything has finished.
 *
 *      plan ──create──> run ──execute──> result     look at its buffers ──> destroy
 *
 * A plan can be run in four modes, for comparison:
 *
 * - tracked: waits are declared, Tidemark finds those that remain
 * - events: the same queues, devices and bodies, but as a program of binary events: one event per
 *   dependency, and one for each operation that uses a recycled buffer; nothing is elided
 * - barrier: likewise, with all queues joined before each operation that depends on one since the
 *   last join
 * - sequential: one thread, one body after the other, memory that is never shared: the expected
 *   result
 *
 * The run uses nothing of the system directly. Threads and time come from the platform, devices and
 * files from the registries that the caller supplies.
 *
 * Errors carry a location in the program's text: of the declaration, or of the operation that was
 * refused or that failed first.
 *
 * Threads: a run, and the plan while it is being run, are used by one thread at a time;
 * tide_run_context may be called from another thread.
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

/* ---- supplied by the caller ------------------------------------------------------- */

struct tide_device_request {
  struct tide_context *context;
  const struct tide_plan_device *device; /* the label, and the options with their locations */
  bool keep_on_host;                     /* from tide_run_params */
};

/* A kind of device, for `device NAME KIND`. */
struct tide_device_kind {
  const char *name;
  const char *summary; /* a single line for readers */
  bool in_order;       /* the same as in its backend */
  /* Opens a device in request->context. Reports an unknown option as an error at the option's
   * location. The run closes the device. */
  enum tide_status (*open)(void *self, const struct tide_device_request *request,
                           struct tide_device **out_device, struct tide_diag *diag);
  /* Describes the device in this run ("2 workers"); returns the length. May be NULL. */
  size_t (*describe)(void *self, const struct tide_device *device, char *buffer, size_t size);
  /* Returns the source of the run's buffers, for devices whose bodies need memory of theirs; at
   * most one device of a run does. NULL: the bodies use any memory of the host. */
  const struct tide_memory_source *(*memory)(void *self, struct tide_device *device);
  /* True if a device of this kind supports the class. NULL: the device's backend decides. A
   * simulation needs it, since a simulated device never sees the body. */
  bool (*takes)(void *self, const struct tide_body_class *body);
  void *self;
};

/* Returns an option of a device by its key; NULL: not given. */
TIDE_API const struct tide_plan_option *tide_plan_option_find(const struct tide_plan_device *device,
                                                              const char *key);

struct tide_opened_file {
  int descriptor;
  const char *name; /* the current or future path, for messages; NULL: none */
};

struct tide_file_source {
  /* Opens one of the plan's files for the whole run. Descriptor and name stay the source's, which
   * closes the file after the run, and then decides about the written data. */
  enum tide_status (*open)(void *self, const struct tide_plan_file *file,
                           struct tide_opened_file *out_file, struct tide_diag *diag);
  void *self;
};

/* A body that takes memory by fault, before a worker calls it. */
struct tide_taken_piece { /* a piece of an argument */
  uint64_t offset, size;
  struct tide_timeline *timeline; /* the piece is present once this timeline … */
  uint64_t value;                 /* … reaches this value */
  uint64_t stalled, resumed; /* filled in: begin and end of the time that the body waited for the
                                piece */
  enum tide_status status;   /* filled in: TIDE_OK, or the reason why the data did not come */
};
struct tide_taken_argument {
  uint32_t argument;
  struct tide_taken_piece *pieces;
  size_t piece_count;
};
struct tide_taken {
  const struct tide_body *body;
  struct tide_argument *arguments; /* body->param_count entries; may be changed */
  const struct tide_taken_argument *taken;
  size_t taken_count;
};

/* The implementation of `take BUF`: bodies that load memory before the data has arrived. */
struct tide_take_source {
  /* Opens a taker for one queue, which runs its operations one after the other. Each operation
   * takes up to `bytes`, in up to `pieces` pieces. */
  enum tide_status (*open)(void *self, struct tide_context *context, const char *label,
                           uint64_t bytes, uint32_t pieces, void **out_taker,
                           struct tide_diag *diag);
  /* Calls the body's host function, which stalls when it loads data that has not arrived. Returns
   * the body's status, or the error of a piece if its data did not arrive. */
  enum tide_status (*call)(void *taker, struct tide_taken *taken);
  void (*close)(void *taker);
  void *self;
};

/* ---- runs ---------------------------------------------------------------------------- */

enum tide_run_mode { TIDE_RUN_TRACKED, TIDE_RUN_EVENTS, TIDE_RUN_BARRIER, TIDE_RUN_SEQUENTIAL };

/* Replaces bodies and memory, for a simulator. */
struct tide_run_stand_in {
  /* Called before an operation is submitted. May replace its body and arguments, which are copied
   * with the rest. */
  void (*operation)(void *self, const struct tide_step *step, struct tide_operation *operation);
  /* Called after each step, under no lock: time may pass. */
  void (*stepped)(void *self);
  /* The source of the buffers' addresses. The memory behind them is never touched. */
  const struct tide_memory_source *memory;
  void *self;
};

struct tide_run_params {
  size_t struct_size;
  const struct tide_platform *platform;   /* NULL: Linux */
  const struct tide_allocator *allocator; /* NULL: malloc */
  struct tide_plan *plan;                 /* the run rewinds it */
  const struct tide_device_kind *kinds;
  size_t kind_count;
  const struct tide_file_source *files; /* NULL: programs with files are refused */
  const struct tide_take_source *takes; /* NULL: a run that would take is refused */
  enum tide_run_mode mode;
  bool paused;      /* nothing starts until everything is submitted: the counts are deterministic */
  bool submit_only; /* with paused: nothing starts at all, and no file is opened; the result shows
                       the decisions of submission */
  bool check;       /* check mode of the scheduler; `finding` is called for each ordering error */
  bool keep_on_host; /* the host keeps the waits of devices that run ahead, to compare */
  bool stop_early;   /* the first failure ends the run; else everything that does not depend on it
                        goes on */
  size_t memory;     /* maximum bytes of all buffers; 0: no limit */
  size_t align;      /* alignment of buffers; 0: 64 */
  uint8_t frontier;  /* capacity of frontiers, in entries; 0: one for each queue and collective, at
                        most 255 */
  uint32_t capacity; /* operations of a queue without a declared capacity; 0: all, at most 1024 */
  const struct tide_run_stand_in *stand_in; /* not for sequential runs; NULL: none */
  const struct tide_sink *sink;             /* receives all events; may be NULL */
  /* Called regularly by the executing thread. */
  void (*progress)(void *user, uint64_t submitted, uint64_t finished);
  void *progress_user;
  /* The diag is that of a struct tide_finding. Findings about the same two statements are one, told
   * when the run has ended: the first pair of operations, with their places and iterations, the
   * `count` of pairs, and as `advice` the wait that suffices for all. Others are told at once, by
   * any thread, under no lock. */
  void (*finding)(void *user, const struct tide_diag *diag);
  void *finding_user;
};

struct tide_run_result {
  uint64_t wall;   /* ns from the first submit (paused: from the resume) to the end */
  uint64_t submit; /* ns spent until everything was submitted */
  uint64_t operations, failed;
  struct tide_context_stats sched; /* zero for sequential runs */
  struct tide_pool_stats pool;     /* tracked runs only */
  /* Events and barrier modes only. */
  uint64_t events;        /* binary events for dependencies */
  uint64_t use_events;    /* binary events for uses of recycled buffers */
  uint64_t event_waits;   /* waits for dependency events */
  uint64_t reuse_waits;   /* waits for use events, before memory was used again */
  uint64_t reused, fresh; /* allocated buffers */
  uint64_t barriers;      /* number of joins of all queues */
};

struct tide_run;

/* Creates all objects that the plan declares. On error nothing is left; the diag has the cause and
 * its location. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_run_create(const struct tide_run_params *params,
                                                          struct tide_diag *diag,
                                                          struct tide_run **out_run);
/* Runs the plan to its end, once. Blocks. Returns the first failure: of the operation that failed
 * first, or of the step that was refused; the diag has its location and cause. *out_result is
 * filled in either case. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_run_execute(struct tide_run *run, struct tide_run_result *out_result, struct tide_diag *diag);
/* Returns the contents of a buffer after the run, until destroy; NULL for a scratch buffer. */
TIDE_API const void *tide_run_buffer(const struct tide_run *run, uint32_t buffer);
/* Returns the context, for tide_context_diagnose, from any thread until destroy; NULL for a
 * sequential run. */
TIDE_API struct tide_context *tide_run_context(struct tide_run *run);
/* Finds the queue of the plan with this axis; false: none. */
TIDE_API bool tide_run_axis_queue(const struct tide_run *run, tide_axis axis, uint32_t *out_queue);
/* Finds the collective of the plan with this axis; false: none. */
TIDE_API bool tide_run_axis_collective(const struct tide_run *run, tide_axis axis,
                                       uint32_t *out_collective);
/* Returns the axis of a queue of the plan; 0 for a sequential run. */
TIDE_API tide_axis tide_run_queue_axis(const struct tide_run *run, uint32_t queue);
/* True if the axis is that of the thread that executes the plan's host steps. */
TIDE_API bool tide_run_axis_host(const struct tide_run *run, tide_axis axis);
/* Returns the index of a plan's timeline by the `object` of events; TIDE_PLAN_NONE: not a timeline
 * of the plan. */
TIDE_API uint32_t tide_run_timeline_of(const struct tide_run *run, const void *object);
/* Returns a timeline of the plan by its index; NULL for a sequential run. */
TIDE_API struct tide_timeline *tide_run_timeline(const struct tide_run *run, uint32_t timeline);
/* Describes a device of the plan in this run, by the function of its kind. Returns the length; 0:
 * no description. */
TIDE_API size_t tide_run_describe_device(const struct tide_run *run, uint32_t device, char *buffer,
                                         size_t size);
/* Cancels all operations that have not started, and running ones if their device can; blocks until
 * the others are over. From then on the run can only be destroyed. TIDE_TIMEOUT: an operation still
 * runs, so tide_run_destroy would block, and everything that the run uses must stay. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_run_settle(struct tide_run *run, uint64_t deadline);
/* Destroys the run; first settles it without a deadline. NULL is fine. */
TIDE_API void tide_run_destroy(struct tide_run *run);

/* ---- analysis of a plan's dependencies ----------------------------------------------------- */

/* Counts of waits. `fewest` is the minimum that suffices, by transitive reduction of the declared
 * dependencies. A queue's own order is free if its device works in order. */
struct tide_plan_counts {
  uint64_t waits; /* declared by operations */
  uint64_t cross; /* declared waits for another queue */
  uint64_t host;  /* declared waits for the host's signals, or for initial values */
  uint64_t fewest;
  uint64_t fewest_cross;
  bool known; /* false: the plan is too large for fewest and fewest_cross */
};

/* Counts the waits of a plan, which is rewound. TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_plan_count(struct tide_plan *plan, const struct tide_device_kind *kinds, size_t kind_count,
                const struct tide_allocator *allocator, struct tide_plan_counts *out_counts,
                struct tide_diag *diag);

/* A sink that counts waits by class and passes all events on to the next sink. */
struct tide_wait_counter {
  struct tide_sink sink;        /* the sink for the run */
  const struct tide_sink *next; /* NULL: none */
  uint64_t issued_cross;        /* issued waits for another queue */
  uint64_t elided_known, elided_finished, elided_sibling;
};
/* Initializes the counter, in the caller's storage, which must outlive the run. */
TIDE_API void tide_wait_counter_init(struct tide_wait_counter *counter,
                                     const struct tide_sink *next);

#ifdef __cplusplus
}
#endif
#endif
