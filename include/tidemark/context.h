/* tidemark/context.h: the state that all queues of a process share.
 *
 * The model. A *context* holds the allocator, the platform, the tracker, the axis lease, the
 * scheduler with its single lock, and the sink of events. Devices, timelines, pools and all other
 * objects are made with a context, and belong to it:
 *
 *      tide_context_create(NULL, &context);
 *      tide_cpu_open(context, NULL, &cpu);
 *      tide_queue_create(cpu, NULL, &queue);
 *      tide_timeline_create(context, NULL, &done);
 *      … operations …
 *      tide_context_destroy(context);     and the timeline, the queue and the device
 *
 * An object may be destroyed earlier, by its own function. Destroying the context destroys the
 * remaining ones.
 *
 * Parameter structs begin with `struct_size`, the size of the struct as the caller was compiled
 * with it. A NULL pointer selects the defaults. A size of 0 is TIDE_INVALID. Fields unknown to an
 * older caller take their defaults. Fields unknown to this library must be zero, else
 * TIDE_UNSUPPORTED.
 *
 *      tide_context_create(TIDE_PARAMS(tide_context_params, .frontier_capacity = 32), &context);
 *
 * Labels. Objects and operations take a label, for messages, events and traces. It is copied and
 * cut to 31 bytes, never inside a character; control characters, line separators and bytes that are
 * no UTF-8 become '?'. So each message is one line. Without a label (NULL or ""), an object is
 * called by its kind and its number in the context, "queue 3" (a buffer by its number in the pool),
 * and an operation by its body and its number in the queue: "blur #7", or "empty #7" without a
 * body.
 *
 * Threads: any. Destroy must not overlap another call with the context or its objects.
 *
 * Source: docs/architecture.md.
 */
#ifndef TIDEMARK_CONTEXT_H
#define TIDEMARK_CONTEXT_H

#include "tidemark/causal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pointer to a parameter struct with its size, in C: TIDE_PARAMS(tide_queue_params, .label =
 * "left"). */
#define TIDE_PARAMS(type, ...) (&(struct type){.struct_size = sizeof(struct type), __VA_ARGS__})

/* ---- check mode ----------------------------------------------------------------- */

/* Check mode judges a program by its declarations: by waits, signals, uses of buffers, the order of
 * queues, and what the submitting thread has waited for. It takes no notice of values that happen
 * to be reached. So a run finds the errors of all runs with the same submits. It finds:
 *
 *   CONFLICT   two operations touch the same bytes, one writes, and nothing orders them. Of several
 *              accesses that an operation conflicts with, those are reported whose waits suffice
 *              for the others, too. A wait for a value orders behind each lower value that is
 *              signalled, and behind the awaited value's own signal.
 *   UNWRITTEN  an operation reads bytes that nothing has written. Only operations can have written
 *              a buffer of tide_queue_alloc, unless tide_buffer_ready has returned true: then the
 *              host may have. Other buffers count as written. A use without a range reads some of
 *              the buffer, so that any write is enough; a use with one reads all of it.
 *   FREE       a pool's frees_cover_uses is not true: a queue or a host frees a buffer, and a use
 *              is not in its past. A host's past is what the thread has waited for: values, drained
 *              queues, settled devices, tide_buffer_idle.
 *   OTHER      a refused submit, or no memory is left; the diag says all. */
enum tide_finding_kind {
  TIDE_FINDING_OTHER,
  TIDE_FINDING_CONFLICT,
  TIDE_FINDING_UNWRITTEN,
  TIDE_FINDING_FREE
};

struct tide_finding_operation {
  tide_axis axis;    /* its queue's; 0: no operation */
  uint64_t sequence; /* its number within the queue */
  bool writes;
  char label[32];
};

/* A finding. `diag` is the first member: the callback's pointer is one to the whole struct. */
struct tide_finding {
  struct tide_diag diag; /* includes the advice */
  enum tide_finding_kind kind;
  uint64_t count;                        /* findings alike that this one stands for */
  struct tide_finding_operation later;   /* CONFLICT, UNWRITTEN: entered last */
  struct tide_finding_operation earlier; /* CONFLICT, FREE */
  char buffer[32];
  uint64_t offset, size; /* UNWRITTEN: the first such bytes */
  char advice[256];      /* CONFLICT: the missing wait */
};

/* ---- contexts -------------------------------------------------------------------- */

/* The objects behind these pointers must outlive the context. */
struct tide_context_params {
  size_t struct_size;
  const struct tide_platform *platform;   /* NULL: Linux */
  const struct tide_allocator *allocator; /* NULL: malloc */
  const struct tide_sink *sink;           /* NULL: none */
  struct tide_lease *lease;               /* NULL: private, machine 0 */
  uint8_t frontier_capacity;              /* capacity of its frontiers, in entries; 0: 16 */
  bool paused; /* as after tide_context_pause: shows the decisions of submission alone */
  bool check;  /* check mode: see enum tide_finding_kind (slower, allocates) */
  /* Called for each finding, under no lock. The diag is that of a struct tide_finding. */
  void (*finding)(void *user, const struct tide_diag *diag);
  void *finding_user;
};

/* Creates a context. NULL params select the defaults. TIDE_NOMEM; TIDE_INVALID: struct_size is 0,
 * or a default does not exist (freestanding builds have no platform and no allocator). */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_context_create(const struct tide_context_params *params, struct tide_context **out_context);
/* Destroys all objects that the context still owns, then the context. First it cancels queues and
 * fails timelines with TIDE_CANCELLED, so that waits end and calls of timepoints run inside this
 * call. Then it blocks until running bodies, transfers and fibers have ended, and until threads
 * that block in waits have left these. Such a call, body or fiber may wait for, query and signal
 * timelines, and must use no other object. Not from a body or callback of the context. Objects of
 * tidemark-lang and tidemark-mods must be destroyed before. NULL is fine. */
TIDE_API void tide_context_destroy(struct tide_context *context);

/* Pauses the start of operations, also of those without a body and of a channel's commands: none
 * ends, unless it has failed or was cancelled. Running bodies end, and submits are still accepted.
 */
TIDE_API void tide_context_pause(struct tide_context *context);
/* Allows operations to start: at once those without a body, in the order in which they entered; the
 * others as the backends, which are kicked, take them. */
TIDE_API void tide_context_resume(struct tide_context *context);

struct tide_context_stats {
  uint64_t submitted, entered, finished, failed; /* operations */
  uint64_t waits, waits_failed, waits_resolved, waits_elided, waits_issued;
  uint64_t held;      /* operations that were held at submit */
  uint64_t gap_waits; /* execution-only waits for buffers */
  /* Waits, gap waits too, that a device has kept: the awaited operation was out, and the host had
   * not seen its end. All other issued waits were kept by the host. */
  uint64_t waits_by_device;
  /* Orders to devices that run ahead: waits for another hardware queue, barriers, and waits
   * that are over but order memory. */
  uint64_t native_waits, barriers, reached_waits;
  uint64_t ran_in_vain; /* operations that were out when an awaited one failed */
  uint64_t signals, reclassified;
  uint64_t picks, kicks;
  uint64_t tainted;                         /* operations that entered with a tainted frontier */
  uint64_t frontier_entries, frontier_peak; /* sum over entered operations; maximum */
};
/* Copies the counts since the context was created, all of one moment. */
TIDE_API void tide_context_stats(struct tide_context *context,
                                 struct tide_context_stats *out_stats);

/* Describes, one per line: operations that cannot start, with the values that they wait for;
 * running bodies that block in a wait for timelines; devices with all workers in such bodies.
 * Writes at most `size` - 1 bytes; returns the length of the whole text. The time is linear in the
 * number of pending operations. */
TIDE_API size_t tide_context_diagnose(struct tide_context *context, char *buffer, size_t size);

/* Returns a deadline `ms` milliseconds from now: an absolute time of the context's platform, in
 * nanoseconds. */
TIDE_API uint64_t tide_after_ms(const struct tide_context *context, uint64_t ms);

/* Returns the platform that the context was created with, or the default. Lives as long as the
 * context. */
TIDE_API const struct tide_platform *tide_context_platform(const struct tide_context *context);
/* See tide_context_platform. */
TIDE_API const struct tide_allocator *tide_context_allocator(const struct tide_context *context);
/* See tide_context_platform. */
TIDE_API struct tide_lease *tide_context_lease(const struct tide_context *context);
/* Returns the context's own tracker. Lives as long as the context. */
TIDE_API struct tide_tracker *tide_context_tracker(const struct tide_context *context);

#ifdef __cplusplus
}
#endif
#endif
