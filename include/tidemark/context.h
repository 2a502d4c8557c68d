/* tidemark/context.h: what one process shares.
 *
 * The model. A *context* is everything that the queues of one process have in common: allocator,
 * platform, tracker, axis lease, the scheduler with its one lock, and the sink of events. Devices,
 * timelines, pools and all other objects are made with it, and belong to it:
 *
 *      tide_context_create(NULL, &context);
 *      tide_cpu_open(context, NULL, &cpu);
 *      tide_queue_create(cpu, NULL, &queue);
 *      tide_timeline_create(context, NULL, &done);
 *      … operations …
 *      tide_context_destroy(context);     and the timeline, the queue and the device
 *
 * An object may be destroyed earlier by its own function. What is left goes with the context.
 *
 * Parameter structs begin with `struct_size`, the size of the struct as the caller's compiler knows
 * it. A NULL pointer stands for the defaults. A size of 0 is TIDE_INVALID. Fields that an older
 * caller does not know take their defaults; fields that this library does not know must be zero,
 * else TIDE_UNSUPPORTED.
 *
 *      tide_context_create(TIDE_PARAMS(tide_context_params, .frontier_capacity = 32), &context);
 *
 * Threads: any. Destroy may not overlap another call with the context or its objects.
 *
 * Source: docs/architecture.md.
 */
#ifndef TIDEMARK_CONTEXT_H
#define TIDEMARK_CONTEXT_H

#include "tidemark/causal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pointer to parameters with their size, in C: TIDE_PARAMS(tide_queue_params, .label = "left").
 */
#define TIDE_PARAMS(type, ...) (&(struct type){.struct_size = sizeof(struct type), __VA_ARGS__})

/* The objects that these point to outlive the context. */
struct tide_context_params {
  size_t struct_size;
  const struct tide_platform *platform;   /* NULL: Linux */
  const struct tide_allocator *allocator; /* NULL: malloc */
  const struct tide_sink *sink;           /* NULL: none */
  struct tide_lease *lease;               /* NULL: private, machine 0 */
  uint8_t frontier_capacity;              /* entries; 0: 16 */
  bool paused; /* no operation starts until tide_context_resume: shows what submission alone
                  decides */
  bool check;  /* check mode: finds missing waits and premature frees (slower, allocates) */
  /* Called for each finding of check mode, under no lock. */
  void (*finding)(void *user, const struct tide_diag *diag);
  void *finding_user;
};

/* NULL params are the defaults. TIDE_NOMEM; TIDE_INVALID: struct_size is 0, or a default does not
 * exist (freestanding builds have no platform and no allocator). */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_context_create(const struct tide_context_params *params, struct tide_context **out_context);
/* Destroys what the context still owns, then the context. First queues are cancelled and timelines
 * fail with TIDE_CANCELLED, so that waits end and calls of timepoints run in here; then it blocks
 * until the bodies, transfers and fibers that run have ended. Such a call, body or fiber may wait
 * for, query and signal timelines, and must use no other object. Not from a body or callback of the
 * context. Objects of tidemark-lang and tidemark-mods are destroyed before. NULL is fine. */
TIDE_API void tide_context_destroy(struct tide_context *context);

/* Nothing starts from here on; running bodies end, and submitting goes on. */
TIDE_API void tide_context_pause(struct tide_context *context);
/* Ready operations may start: backends are kicked. */
TIDE_API void tide_context_resume(struct tide_context *context);

struct tide_context_stats {
  uint64_t submitted, entered, finished, failed; /* operations */
  uint64_t waits, waits_failed, waits_resolved, waits_elided, waits_issued;
  uint64_t held;      /* operations that were held at submit */
  uint64_t gap_waits; /* execution-only waits for buffers */
  uint64_t signals, reclassified;
  uint64_t picks, kicks;
  uint64_t tainted;                         /* operations that entered with a tainted frontier */
  uint64_t frontier_entries, frontier_peak; /* summed over entered operations; the largest */
};
/* Counts since the context was created, all at one moment. */
TIDE_API void tide_context_stats(struct tide_context *context,
                                 struct tide_context_stats *out_stats);

/* Describes, a line each: operations that cannot start, with the values that they wait for; running
 * bodies that block in a wait for timelines; devices all of whose workers run such bodies. Returns
 * the length of the whole text, of which `size` - 1 bytes at most are written. Takes time in the
 * number of pending operations. */
TIDE_API size_t tide_context_diagnose(struct tide_context *context, char *buffer, size_t size);

/* Returns a deadline `ms` milliseconds from now: an absolute time of the context's platform, in
 * nanoseconds. */
TIDE_API uint64_t tide_after_ms(const struct tide_context *context, uint64_t ms);

/* Return what the context was created with, or its defaults. They live as long as the context. */
TIDE_API const struct tide_platform *tide_context_platform(const struct tide_context *context);
/* See tide_context_platform. */
TIDE_API const struct tide_allocator *tide_context_allocator(const struct tide_context *context);
/* See tide_context_platform. */
TIDE_API struct tide_lease *tide_context_lease(const struct tide_context *context);
/* The context's own; it lives as long. */
TIDE_API struct tide_tracker *tide_context_tracker(const struct tide_context *context);

#ifdef __cplusplus
}
#endif
#endif
