/* tidemark/mods.h: persistent kernels as text, checked.
 *
 * The model. A *module* is a program in MLIR's textual form: gpu, arith, scf, llvm, and the subset
 * of the cutlass dialect that persistent kernels use. A module is parsed, verified, folded and
 * printed. Its faults go to a *sink*, each as a diagnostic with its location in the text.
 *
 * Inside an async region of such a kernel, `mods_report_mainloop_start` and `_end` open and close a
 * *window* around the main loop: a handshake of the whole cluster, in which its CTAs report their
 * progress. The *participants* are the CTAs, or the pairs of CTAs if one MMA spans two. The
 * functions for probes below insert such operations into a kernel, and derive the participants from
 * the cluster's shape.
 *
 * docs/mods.md describes the operations.
 *
 * Threads: one thread at a time uses a module.
 *
 * Source: "MODS Async Dispatch".
 */
#ifndef TIDEMARK_MODS_H
#define TIDEMARK_MODS_H

#include "tidemark/causal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- diagnostics ---------------------------------------------------------------- */

enum tide_mods_severity {
  TIDE_MODS_ERROR = 1,
  TIDE_MODS_WARNING = 2,
  TIDE_MODS_REMARK = 3,
  TIDE_MODS_NOTE = 4 /* belongs to the diagnostic before it */
};

struct tide_mods_diagnostic {
  enum tide_mods_severity severity;
  const char *file;
  uint32_t line, column; /* 1-based; line 0: no location; column 0: no location in the line */
  const char *text;      /* terminated */
  const char *source;    /* the text of the line, not terminated; NULL: unknown */
  size_t source_length;
};

/* A receiver of diagnostics: of at most 20 errors and 20 warnings of a module, with their notes.
 * All pointers in a diagnostic are valid during the call. */
struct tide_mods_sink {
  void (*diagnostic)(void *self, const struct tide_mods_diagnostic *diagnostic);
  void *self;
};

/* ---- modules ---------------------------------------------------------------------- */

struct tide_mods_module;

struct tide_mods_params {
  size_t struct_size;
  const struct tide_allocator *allocator; /* must outlive the module; NULL: malloc */
  const char *text;                       /* any bytes; must outlive the module */
  size_t length;
  const char *file;                  /* name in diagnostics; must outlive the module; NULL: "-" */
  const struct tide_mods_sink *sink; /* must outlive the module; NULL: none */
  bool any_operation;                /* unknown operations are accepted, in generic form */
  bool partial_masks;                /* a mask may leave out participants; lowered with mbarriers */
};

/* Parses a module, in either of MLIR's forms. TIDE_CORRUPT: not a module, and the sink got the
 * reasons; TIDE_FULL: too long, too deep; TIDE_INVALID: struct_size is missing, and no sink
 * is known; TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_parse(const struct tide_mods_params *params,
                                                          struct tide_mods_module **out_module);
/* Destroys the module. NULL is fine. */
TIDE_API void tide_mods_destroy(struct tide_mods_module *module);
/* Verifies all rules. TIDE_CORRUPT: one or more are broken; the sink got all of them. */
TIDE_API enum tide_status tide_mods_verify(struct tide_mods_module *module);
/* Drops throttles of profile 0 and unused reads of the SM id, and nothing that writes. Returns the
 * number of dropped operations. */
TIDE_API uint64_t tide_mods_fold(struct tide_mods_module *module);
/* Returns the number of operations of the module. */
TIDE_API uint64_t tide_mods_operations(const struct tide_mods_module *module);
/* Returns the bytes of memory of the module, without its text. */
TIDE_API size_t tide_mods_memory(const struct tide_mods_module *module);

/* Prints the module; `generic`: in MLIR's generic form. Writes at most size bytes, terminated.
 * Returns the length of the whole text, without the terminator; 0: no memory, or regions are nested
 * too deep to be read again. */
TIDE_API size_t tide_mods_print(struct tide_mods_module *module, bool generic, char *buffer,
                                size_t size);

/* ---- probes into a kernel ------------------------------------------------------------- */

struct tide_mods_cluster {
  uint32_t x, y, z; /* in CTAs */
};
enum tide_mods_mma {
  TIDE_MODS_MMA_1SM, /* an MMA belongs to one CTA: participants are CTAs */
  TIDE_MODS_MMA_2SM  /* an MMA spans two CTAs, neighbours along x: participants are pairs */
};

/* Returns a mask with one bit per participant; 0: no such cluster (more than 16 CTAs, or pairs
 * along an odd x). */
TIDE_API uint64_t tide_mods_participants(struct tide_mods_cluster cluster, enum tide_mods_mma mma);

/* A location between two operations of a region. Valid until the module changes by other means. */
struct tide_mods_cursor {
  struct tide_mods_module *module;
  uint32_t block, before; /* the module's own numbers */
};
typedef uint32_t tide_mods_value;

/* Returns the start of the cutlass.async.exec with this number (from 0) in the function of this
 * name. TIDE_NOT_FOUND. */
TIDE_API enum tide_status tide_mods_region(struct tide_mods_module *module, const char *function,
                                           uint32_t number, struct tide_mods_cursor *out_cursor);
/* Moves just before (behind: just behind) the next operation of this name in the same block, such
 * as "scf.while". TIDE_NOT_FOUND: none follows; the cursor stays. */
TIDE_API enum tide_status tide_mods_seek(struct tide_mods_cursor *cursor, const char *operation,
                                         bool behind);
/* Returns the value with the name %name in the function around the cursor, or outside of its
 * region. The verifier checks whether it can be used here. TIDE_NOT_FOUND. */
TIDE_API enum tide_status tide_mods_find(const struct tide_mods_cursor *cursor, const char *name,
                                         tide_mods_value *out_value);

/* A window, from its begin to its end. */
struct tide_mods_window {
  tide_mods_value scheduler, participants, started;
  enum tide_mods_mma mma;
};

/* Opens a window. This function and the next three insert operations at the cursor, which then
 * stands behind them. The participants are derived from the module's cluster shape and from the MMA
 * policy. TIDE_INVALID: the cluster's shape does not fit the policy, or `scheduler` is not one;
 * TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_mods_mainloop_begin(struct tide_mods_cursor *cursor, tide_mods_value scheduler,
                         enum tide_mods_mma mma, struct tide_mods_window *out_window);
/* Closes the window. *out_elapsed (may be NULL) is the time since the begin, an i64 in
 * nanoseconds. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_mods_mainloop_end(struct tide_mods_cursor *cursor, const struct tide_mods_window *window,
                       tide_mods_value *out_elapsed);
/* Reads the SM id, an i32. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_report_smid(struct tide_mods_cursor *cursor,
                                                                tide_mods_value *out_smid);
/* Inserts a throttle. Profile 0: none; 1: sleeps a while; 2: a barrier of the region's warps,
 * inside a window. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_throttle(struct tide_mods_cursor *cursor,
                                                             uint32_t profile);

/* ---- execution on the CPU -------------------------------------------------------------
 *
 * A *run* is one launch of a kernel: a grid of CTAs in clusters, each CTA with a number of threads.
 * The threads take turns on the caller's thread, in an order that the seed determines: the same
 * seed gives the same run. Undefined behaviour and hangs of a GPU are errors with a location here:
 * accesses out of bounds, barriers used wrongly, waits that can never end, CTAs that are late for
 * the main loop.
 *
 * Progress. While a CTA is in a window, its progress is the number of tiles that it has finished
 * there. A run has an axis of domain *kernel*: each finished tile is an epoch, and increases the
 * run's timeline by one. Queues and threads wait for its values as for any other. */

struct tide_mods_run;
struct tide_timeline;   /* timeline.h */
struct tide_body_class; /* queue.h */

/* An argument of the kernel: memory for a pointer, else a number. */
struct tide_mods_argument {
  void *data; /* 8-byte aligned; belongs to the caller, and is used until destroy */
  uint64_t size;
  int64_t integer;
  double number; /* the value of a float parameter */
};

struct tide_mods_run_params {
  size_t struct_size;
  const char *text; /* the module; any bytes; used until destroy, and so is `file` */
  size_t length;
  const char *file;
  const char *kernel; /* NULL: the module's only kernel */
  const struct tide_mods_argument *arguments;
  size_t argument_count;
  uint32_t grid[3];    /* CTAs; 0s count as 1 */
  uint32_t block[3];   /* threads per CTA; all 0: known_block_size, or as many as the regions use */
  uint32_t cluster[3]; /* CTAs; all 0: as declared in the module */
  uint64_t seed;       /* 0: round-robin */
  uint64_t steps_max;  /* maximum instructions; 0: 2^36 */
  uint64_t memory_max; /* maximum bytes of the run's own memory; 0: 2^32 */
  const struct tide_mods_sink *sink;
  struct tide_timeline *progress; /* increased by one per finished tile; NULL: none */
};

#define TIDE_MODS_CTAS_MAX 65536u
#define TIDE_MODS_THREADS_MAX 1024u /* maximum per CTA */
#define TIDE_MODS_CLUSTER_MAX 16u

/* Creates a run: parses, verifies and translates. The sink gets the reason of an error.
 * TIDE_CORRUPT; TIDE_UNSUPPORTED; TIDE_NOT_FOUND: no such kernel; TIDE_MISMATCH: the arguments do
 * not fit the kernel; TIDE_INVALID: struct_size is missing (no sink is known), the grid does not
 * consist of whole clusters, or sizes beyond the limits above; TIDE_EXHAUSTED: more memory than
 * memory_max. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_mods_run_create(struct tide_context *context, const struct tide_mods_run_params *params,
                     struct tide_mods_run **out_run);
/* Runs about `steps` more instructions. One thread at a time. All results but the first two are
 * final, and the timeline fails with them.
 * - TIDE_OK: the kernel has ended
 * - TIDE_TIMEOUT: the kernel has not ended
 * - TIDE_DEADLOCK: no thread can go on
 * - TIDE_FAILED: an instruction failed
 * - TIDE_EXHAUSTED: steps_max
 * - TIDE_DENIED, TIDE_VALUE …: the timeline's error */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_run_step(struct tide_mods_run *run,
                                                             uint64_t steps);
/* Destroys the run. Its axis is closed, or failed if the kernel has not ended. NULL is fine. */
TIDE_API void tide_mods_run_destroy(struct tide_mods_run *run);

/* Imports the knowledge of a value that the stepping thread has waited for, before the first step.
 * From now on the records of the run's progress carry that knowledge, too. TIDE_VALUE: a tile has
 * finished already, or the run has ended; else as from tide_timeline_import. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_mods_run_import(struct tide_mods_run *run, struct tide_timeline *timeline, uint64_t value);

/* Returns the axis of the run's progress. */
TIDE_API tide_axis tide_mods_run_axis(const struct tide_mods_run *run);

struct tide_mods_run_stats {
  uint64_t instructions;
  uint64_t time; /* virtual ns */
  uint32_t ctas, threads;
  uint64_t windows, throttles; /* windows opened, counted per CTA; throttles passed, counted per
                                  thread */
  uint64_t tiles;              /* finished in windows */
};
/* Copies the current statistics. */
TIDE_API void tide_mods_run_statistics(const struct tide_mods_run *run,
                                       struct tide_mods_run_stats *out_stats);

/* Requests the progress of CTA `to` for CTA `from`, by their numbers (x first). CTA `to` replies at
 * its next throttle. TIDE_NOT_FOUND: no such CTA; TIDE_DENIED: different clusters, or one is
 * outside of a window; TIDE_BUSY: a query to `to` is pending. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_run_query(struct tide_mods_run *run,
                                                              uint32_t from, uint32_t to);
/* Returns the number of tiles that `to` had finished when it reached its throttle. TIDE_TIMEOUT: no
 * throttle yet; TIDE_CANCELLED: its window closed first; TIDE_NOT_FOUND: no query to it was made.
 */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_run_reply(struct tide_mods_run *run,
                                                              uint32_t to, uint64_t *out_progress);

/* Returns the body class of a kernel as an operation of a queue. The argument is one `struct
 * tide_mods_run *`, which the body steps to its end. The run's result is the operation's status. */
TIDE_API const struct tide_body_class *tide_mods_body(void);

/* ---- execution on a GPU -----------------------------------------------------------------
 *
 * The same launch on a GPU. The module gives shape and arguments; the PTX is the output of
 * `tidemark mods lower --emit=ptx` for it. A GPU does not check as a run on the CPU does: a kernel
 * that hangs hangs until the deadline of its waiter. */

struct tide_mods_gpu;
struct tide_device;      /* device.h */
struct tide_cuda_stream; /* cuda.h */

/* Creates a launch, with `params` as of a run; seed, limits and progress are ignored, and an
 * argument may be anywhere in host memory. Allocates device memory for the arguments and loads the
 * PTX, which is read during the call. The sink gets the reason of an error, or `diag` (may be NULL)
 * if it is the GPU's. Errors as from tide_mods_run_create, tide_cuda_alloc and tide_cuda_load;
 * TIDE_MISMATCH also: the PTX has no such kernel. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_mods_gpu_create(struct tide_context *context, struct tide_device *cuda,
                     const struct tide_mods_run_params *params, const char *ptx,
                     struct tide_mods_gpu **out_gpu, struct tide_diag *diag);
/* Destroys the launch. None of its work may be in progress. NULL is fine. */
TIDE_API void tide_mods_gpu_destroy(struct tide_mods_gpu *gpu);

/* Puts a copy of the arguments' memory to the GPU on a stream. Load, start and store go onto the
 * stream in this order, with errors as from tide_cuda_launch. No work of an earlier load may be in
 * progress. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_gpu_load(struct tide_mods_gpu *gpu,
                                                             struct tide_cuda_stream *stream);
/* Puts the kernel on the stream. May be called repeatedly. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_gpu_start(struct tide_mods_gpu *gpu,
                                                              struct tide_cuda_stream *stream);
/* Waits for all work, like tide_cuda_stream_wait, and copies the arguments' memory back. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_mods_gpu_store(struct tide_mods_gpu *gpu, struct tide_cuda_stream *stream, uint64_t deadline);

#ifdef __cplusplus
}
#endif
#endif
