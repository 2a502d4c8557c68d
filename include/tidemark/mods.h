/* tidemark/mods.h: persistent kernels as text, checked.
 *
 * The model. A *module* is a program in MLIR's textual form: gpu, arith, scf, llvm and the part of
 * the cutlass dialect that persistent kernels are made of. A module is parsed, verified, folded and
 * printed again; its faults go to a *sink*, each diagnostic with its location in the text.
 *
 * Inside an async region of such a kernel, `mods_report_mainloop_start` and `_end` open and close a
 * *window* around the main loop: a handshake of the whole cluster, by which its CTAs report their
 * progress. The *participants* are the CTAs, or the pairs of CTAs where one MMA spans two. The
 * calls at the end of this header put probes into a kernel; they derive the participants from the
 * cluster's shape.
 *
 * The operations are described in docs/mods.md.
 *
 * Threads: a module is used by one thread at a time.
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
  uint32_t line, column; /* 1-based; line 0: it has no place; column 0: no place in its line */
  const char *text;      /* terminated */
  const char *source;    /* that line of the text, not terminated; NULL: not known */
  size_t source_length;
};

/* Everything in a diagnostic is valid during the call. */
struct tide_mods_sink {
  void (*diagnostic)(void *self, const struct tide_mods_diagnostic *diagnostic);
  void *self;
};

/* ---- modules ---------------------------------------------------------------------- */

struct tide_mods_module;

struct tide_mods_params {
  size_t struct_size;
  const struct tide_allocator *allocator; /* outlives the module */
  const char *text;                       /* any bytes; outlives the module */
  size_t length;
  const char *file;                  /* for diagnostics; outlives the module; NULL: "-" */
  const struct tide_mods_sink *sink; /* outlives the module; NULL: nobody listens */
  bool any_operation;                /* operations that are not known are taken, in generic form */
  bool partial_masks;                /* a mask may leave out participants; lowered with mbarriers */
};

/* Both of MLIR's forms. TIDE_CORRUPT: it is no module, and why was told; TIDE_FULL: too long, too
 * deep; TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_parse(const struct tide_mods_params *params,
                                                          struct tide_mods_module **out_module);
/* NULL is fine. */
TIDE_API void tide_mods_destroy(struct tide_mods_module *module);
/* All rules. TIDE_CORRUPT: one is broken, or several; all of them were told. */
TIDE_API enum tide_status tide_mods_verify(struct tide_mods_module *module);
/* Drops throttles of profile 0 and unused reads of the SM id, and nothing that writes. Gives how
 * many went. */
TIDE_API uint64_t tide_mods_fold(struct tide_mods_module *module);
/* Operations that the module has. */
TIDE_API uint64_t tide_mods_operations(const struct tide_mods_module *module);
/* Bytes that it holds, without its text. */
TIDE_API size_t tide_mods_memory(const struct tide_mods_module *module);

/* The module's text; `generic`: in MLIR's generic form. Writes at most size bytes, terminated, and
 * gives the length of the whole, without the terminator; 0 where there is no memory, or regions are
 * nested too deep to be read again. */
TIDE_API size_t tide_mods_print(struct tide_mods_module *module, bool generic, char *buffer,
                                size_t size);

/* ---- probes into a kernel ------------------------------------------------------------- */

struct tide_mods_cluster {
  uint32_t x, y, z; /* CTAs */
};
enum tide_mods_mma {
  TIDE_MODS_MMA_1SM, /* one MMA is one CTA's: participants are CTAs */
  TIDE_MODS_MMA_2SM  /* one MMA spans two CTAs, neighbours along x: participants are pairs */
};

/* One bit for each participant; 0: no such cluster (more than 16 CTAs, or pairs along an odd x). */
TIDE_API uint64_t tide_mods_participants(struct tide_mods_cluster cluster, enum tide_mods_mma mma);

/* A place between two operations of a region. Good until the module changes by other means. */
struct tide_mods_cursor {
  struct tide_mods_module *module;
  uint32_t block, before; /* the module's own numbers */
};
typedef uint32_t tide_mods_value;

/* The start of the cutlass.async.exec with that number (from 0) in the function of that name.
 * TIDE_NOT_FOUND: there is none. */
TIDE_API enum tide_status tide_mods_region(struct tide_mods_module *module, const char *function,
                                           uint32_t number, struct tide_mods_cursor *out_cursor);
/* Moves to just before (behind: just behind) the next operation of that name in the same block, as
 * in "scf.while". TIDE_NOT_FOUND: none follows; the cursor stays. */
TIDE_API enum tide_status tide_mods_seek(struct tide_mods_cursor *cursor, const char *operation,
                                         bool behind);
/* The value that is written %name in the function around the cursor, or outside of its region; the
 * verifier says whether it can be used here. TIDE_NOT_FOUND: none is. */
TIDE_API enum tide_status tide_mods_find(const struct tide_mods_cursor *cursor, const char *name,
                                         tide_mods_value *out_value);

/* One window, from its begin to its end. */
struct tide_mods_window {
  tide_mods_value scheduler, participants, started;
  enum tide_mods_mma mma;
};

/* The calls below put operations at the cursor, which then stands behind them. The participants are
 * derived from the cluster's shape, which the module says, and from the MMA policy. TIDE_INVALID:
 * the cluster's shape and the policy don't go together, or `scheduler` is none; TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_mods_mainloop_begin(struct tide_mods_cursor *cursor, tide_mods_value scheduler,
                         enum tide_mods_mma mma, struct tide_mods_window *out_window);
/* `out_elapsed`, if not NULL, is the time since the begin, an i64 in nanoseconds. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_mods_mainloop_end(struct tide_mods_cursor *cursor, const struct tide_mods_window *window,
                       tide_mods_value *out_elapsed);
/* An i32. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_report_smid(struct tide_mods_cursor *cursor,
                                                                tide_mods_value *out_smid);
/* 0: none; 1: sleeps a while; 2: a barrier of the region's warps, inside a window. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_throttle(struct tide_mods_cursor *cursor,
                                                             uint32_t profile);

/* ---- execution on the CPU -------------------------------------------------------------
 *
 * A *run* is one launch of a kernel: a grid of CTAs in clusters, each CTA of so many threads. The
 * threads take turns on the caller's thread, in an order that the seed decides, so a seed is a
 * schedule, and the same seed the same run. What a GPU would leave undefined or hang on is an error
 * with its place: accesses out of bounds, barriers used wrongly, waits that can never end, CTAs
 * that are late for the main loop.
 *
 * Progress. While a CTA is in a window, its progress is the number of tiles that it has finished
 * there. A run has an axis of domain *kernel*: each finished tile is an epoch, and the run's
 * timeline goes up by one. Queues and threads wait for its values as for any other. */

struct tide_mods_run;
struct tide_timeline;   /* timeline.h */
struct tide_body_class; /* queue.h */

/* An argument of the kernel: memory where it takes a pointer, else a number. */
struct tide_mods_argument {
  void *data; /* 8-byte aligned; belongs to the caller, and is used until destroy */
  uint64_t size;
  int64_t integer;
  double number; /* where the kernel takes a float */
};

struct tide_mods_run_params {
  size_t struct_size;
  const char *text; /* the module; any bytes; used until destroy, as the file's name is */
  size_t length;
  const char *file;
  const char *kernel; /* NULL: the only one that there is */
  const struct tide_mods_argument *arguments;
  size_t argument_count;
  uint32_t grid[3];    /* CTAs; 0s count as 1 */
  uint32_t block[3];   /* threads of one; all 0: known_block_size, or as many as the regions use */
  uint32_t cluster[3]; /* CTAs; all 0: what the module says */
  uint64_t seed;       /* 0: plain turns */
  uint64_t steps_max;  /* instructions; 0: 2^36 */
  uint64_t memory_max; /* bytes of the run's own; 0: 2^32 */
  const struct tide_mods_sink *sink;
  struct tide_timeline *progress; /* goes up by one a finished tile; NULL: none is wanted */
};

#define TIDE_MODS_CTAS_MAX 65536u
#define TIDE_MODS_THREADS_MAX 1024u /* of one CTA */
#define TIDE_MODS_CLUSTER_MAX 16u

/* Parses, verifies and translates. TIDE_CORRUPT, TIDE_UNSUPPORTED: told to the sink.
 * TIDE_NOT_FOUND: there is no such kernel. TIDE_MISMATCH: the arguments don't fit it. TIDE_INVALID:
 * a grid that isn't made of whole clusters, or sizes beyond the limits above. TIDE_EXHAUSTED: more
 * memory than memory_max. The reason is told to the sink, too. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_mods_run_create(struct tide_context *context, const struct tide_mods_run_params *params,
                     struct tide_mods_run **out_run);
/* Runs about `steps` instructions more. TIDE_OK: the kernel has ended. TIDE_TIMEOUT: it has not.
 * TIDE_DEADLOCK: nobody can go on. TIDE_FAILED: an instruction was wrong. TIDE_EXHAUSTED:
 * steps_max. TIDE_DENIED, TIDE_VALUE …: what the timeline said. All but the first two are final;
 * the timeline fails with them. One thread at a time. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_run_step(struct tide_mods_run *run,
                                                             uint64_t steps);
/* The axis is closed, or failed if the kernel has not ended. NULL is fine. */
TIDE_API void tide_mods_run_destroy(struct tide_mods_run *run);

/* Whoever steps the run has waited for this value before the first step: from now on the records of
 * the run's progress teach what that one does, too. TIDE_VALUE: a tile has finished already, or the
 * run has ended; else as tide_timeline_import. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_mods_run_import(struct tide_mods_run *run, struct tide_timeline *timeline, uint64_t value);

/* The axis of the run's progress. */
TIDE_API tide_axis tide_mods_run_axis(const struct tide_mods_run *run);

struct tide_mods_run_stats {
  uint64_t instructions;
  uint64_t time; /* virtual ns */
  uint32_t ctas, threads;
  uint64_t windows, throttles; /* opened, once a CTA; passed, a thread at a time */
  uint64_t tiles;              /* finished in windows */
};
/* As the run stands now. */
TIDE_API void tide_mods_run_statistics(const struct tide_mods_run *run,
                                       struct tide_mods_run_stats *out_stats);

/* CTA `from` asks CTA `to`, by their numbers (x first), how far it is. The answer is given at the
 * next throttle of `to`. TIDE_NOT_FOUND: there is no such CTA. TIDE_DENIED: they are of two
 * clusters, or one is outside of a window. TIDE_BUSY: a question to it is open. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_run_query(struct tide_mods_run *run,
                                                              uint32_t from, uint32_t to);
/* Tiles that it had finished when it came to its throttle. TIDE_TIMEOUT: it has not come yet.
 * TIDE_CANCELLED: its window closed first. TIDE_NOT_FOUND: nobody asked. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_run_reply(struct tide_mods_run *run,
                                                              uint32_t to, uint64_t *out_progress);

/* A kernel as an operation of a queue: the argument is one `struct tide_mods_run *`, which is
 * stepped to its end there; how that ends is the operation's status. */
TIDE_API const struct tide_body_class *tide_mods_body(void);

/* ---- execution on a GPU -----------------------------------------------------------------
 *
 * The same launch on a GPU: the module says shape and arguments, and the PTX is what `tidemark mods
 * lower --emit=ptx` made of it. Nothing is checked there as it is on the CPU: a kernel that hangs
 * hangs until the deadline of whoever waits. */

struct tide_mods_gpu;
struct tide_device;      /* device.h */
struct tide_cuda_stream; /* cuda.h */

/* `params` as of a run; seed, limits and progress are not looked at, and an argument may be
 * anywhere in the host's memory. Takes memory of the device for the arguments and loads the PTX,
 * which is read during the call. Errors as of a run; TIDE_MISMATCH, too: the PTX has no such
 * kernel; or as tide_cuda_alloc and tide_cuda_load. Why is told to the sink, or, where it is the
 * GPU's, to `diag` (may be NULL). */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_mods_gpu_create(struct tide_context *context, struct tide_device *cuda,
                     const struct tide_mods_run_params *params, const char *ptx,
                     struct tide_mods_gpu **out_gpu, struct tide_diag *diag);
/* Nothing of it is under way. NULL is fine. */
TIDE_API void tide_mods_gpu_destroy(struct tide_mods_gpu *gpu);

/* Onto a stream, in this order; each as tide_cuda_launch. The arguments' memory goes to the GPU;
 * nothing that was loaded before is under way. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_gpu_load(struct tide_mods_gpu *gpu,
                                                             struct tide_cuda_stream *stream);
/* The kernel, as often as it is called. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_mods_gpu_start(struct tide_mods_gpu *gpu,
                                                              struct tide_cuda_stream *stream);
/* Waits for all of it, as tide_cuda_stream_wait, and brings the arguments' memory back. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_mods_gpu_store(struct tide_mods_gpu *gpu, struct tide_cuda_stream *stream, uint64_t deadline);

#ifdef __cplusplus
}
#endif
#endif
