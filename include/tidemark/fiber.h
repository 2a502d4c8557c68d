/* tidemark/fiber.h: many small jobs that wait, on few threads.
 *
 * The model. A *crew* is some threads, its *carriers*, that run *fibers*: each fiber is a function
 * with a stack of its own, like a warp of a GPU. A fiber runs until it gives its carrier to another
 * one: because it yields, returns, or is parked, as when it touches a page without its data. Then
 * the carrier goes on with the next one that is ready, which costs some tens of nanoseconds and no
 * system call. Nothing takes a carrier away from a fiber that computes.
 *
 *      tide_crew_create(context, &params, &crew);
 *      tide_crew_run(crew, filter_tile, &image, 31250);   filter_tile(&image, 0), (&image, 1), …
 *      tide_crew_wait(crew, TIDE_FOREVER);
 *      tide_crew_destroy(crew);
 *
 * There may be far more jobs than stacks: a job that returns hands its stack on to the next one. So
 * a fiber that waits for a job which starts so much later that all stacks are taken before, waits
 * for ever.
 *
 * Order. Ready fibers of a carrier take turns, first come, first served; a job that gets the stack
 * of another one stands behind those that were ready then. A carrier with nothing to do takes
 * fibers over from the others, and sleeps when there are none; one that is busy looks after the
 * others now and then, so that no fiber waits for ever behind one that does not yield.
 *
 * Restrictions. After a wait a fiber goes on on any free carrier. Its variables, errno and the
 * rounding mode go with it; the thread's properties do not: thread-local variables, the thread's
 * number, a held mutex. So no mutex is held across a yield or a load that may fault. A call that
 * blocks the thread blocks all that would run on its carrier. Compilers believe that a function
 * stays on one thread, and may keep the address of errno or of a thread-local variable from before
 * a yield: read these in functions of their own. Where a stack ends, a page without access lies:
 * the process dies there by SIGSEGV.
 *
 * Source: docs/wic.md; "System V Application Binary Interface"; "Procedure Call Standard for the
 * Arm 64-bit Architecture".
 */
#ifndef TIDEMARK_FIBER_H
#define TIDEMARK_FIBER_H

#include "tidemark/causal.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tide_crew;
struct tide_fiber;

#define TIDE_CARRIERS_MAX 1024u
#define TIDE_FIBERS_MAX (1u << 20)

struct tide_crew_params {
  size_t struct_size;
  uint32_t carriers;  /* threads; 0: as many as the machine has cores */
  uint32_t fibers;    /* stacks, so many are under way at most; 0: 1024 */
  size_t stack_bytes; /* of each, without the page that ends it; rounded up to pages, and to what a
                         signal handler needs. 0: 32 KiB, or more where the processor's state is
                         large. Memory is taken as it is touched. */
  const uint32_t *cpus; /* carrier i stays on CPU cpus[i]; NULL: wherever there is room */
  const char *label;    /* the carriers' name; NULL: "carrier" */
  uint32_t linger; /* ns that a carrier without a ready fiber looks before it sleeps; 0: none */
};

/* Starts the carriers, which have the signal mask of the caller. NULL params are the defaults.
 * TIDE_NOMEM: no memory, address space or threads; TIDE_INVALID: more than TIDE_CARRIERS_MAX or
 * TIDE_FIBERS_MAX, or a CPU that this process may not use. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_crew_create(struct tide_context *context,
                                                           const struct tide_crew_params *params,
                                                           struct tide_crew **out_crew);
/* Joins the carriers and gives all back. TIDE_BUSY, and nothing changes, while a job has not
 * returned. Not while another call to this crew is under way. NULL is fine. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_crew_destroy(struct tide_crew *crew);

/* `count` jobs, entry(argument, 0) … entry(argument, count - 1), which start in this order, each as
 * a fiber. Does not wait for them; the argument outlives them. Also from a fiber. TIDE_NOMEM: none
 * is started; TIDE_INVALID: no entry. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_crew_run(struct tide_crew *crew, void (*entry)(void *argument, uint64_t index), void *argument,
              uint64_t count);
/* Blocks until there is a moment at which all jobs have returned. What they did is visible then.
 * TIDE_TIMEOUT; TIDE_DEADLOCK from a fiber of this crew. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_crew_wait(struct tide_crew *crew, uint64_t deadline);

/* The fiber that calls; NULL on a thread that is no carrier. It has this one address while its job
 * lasts. May be called in a signal handler. */
TIDE_API struct tide_fiber *tide_fiber_self(void);
/* Lets the others that are ready go first. On a thread that is no carrier, other threads. */
TIDE_API void tide_fiber_yield(void);

#ifdef __cplusplus
}
#endif
#endif
