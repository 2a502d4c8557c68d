/* tidemark/fiber.h: many small jobs that wait, on few threads.
 *
 * The model. A *crew* is a set of threads, its *carriers*, that run *fibers*. Each fiber is a
 * function with its own stack, like a warp of a GPU. A fiber keeps its carrier until it yields,
 * returns, or is parked, for example by a load from a page without data. The carrier then goes on
 * with the next ready fiber. A switch costs some tens of nanoseconds and no system call. A fiber
 * that computes is not preempted by other fibers.
 *
 *      tide_crew_create(context, &params, &crew);
 *      tide_crew_run(crew, filter_tile, &image, 31250);   filter_tile(&image, 0), (&image, 1), …
 *      tide_crew_wait(crew, TIDE_FOREVER);
 *      tide_crew_destroy(crew);
 *
 * There may be far more jobs than stacks: a job that returns passes its stack on to the next one.
 * Therefore a fiber must not wait for a job that starts much later: if fibers like it hold all
 * stacks, that job never starts and they wait for ever.
 *
 * Order. Ready fibers of a carrier run in turn, first come, first served. A job that gets the stack
 * of another one queues behind the fibers that were ready then. A carrier without ready fibers
 * takes over fibers from the others, and sleeps when no carrier has any. A busy carrier also looks
 * at the others now and then, so that no fiber waits for ever behind one that does not yield.
 *
 * Restrictions. After a wait a fiber resumes on any free carrier. Its variables, errno and the
 * rounding mode move with it. The thread's properties do not: thread-local variables, the thread's
 * id, a held mutex. So hold no mutex across a yield or across a load that may fault. A call that
 * blocks the thread blocks all fibers of its carrier. Compilers assume that a function stays on one
 * thread, and may cache the address of errno or of a thread-local variable across a yield: read
 * these in functions of their own. A guard page ends each stack: an overflow kills the process with
 * SIGSEGV.
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
  uint32_t carriers;    /* threads; 0: the number of cores */
  uint32_t fibers;      /* stacks, which limit the concurrent fibers; 0: 1024 */
  size_t stack_bytes;   /* bytes of each stack, without its guard page; rounded up to pages, and to
                           the need of a signal handler. 0: 32 KiB, or more if the processor's state
                           is large. Memory is allocated as it is touched. */
  const uint32_t *cpus; /* carrier i stays on CPU cpus[i]; NULL: not pinned */
  const char *label;    /* the carriers' name; NULL: "carrier" */
  uint32_t linger; /* ns that a carrier without a ready fiber polls before it sleeps; 0: none */
};

/* Creates a crew and starts its carriers, with the caller's signal mask. NULL params select the
 * defaults. TIDE_NOMEM: no memory, address space or threads; TIDE_INVALID: struct_size is missing,
 * more than TIDE_CARRIERS_MAX or TIDE_FIBERS_MAX, or a CPU that this process may not use. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_crew_create(struct tide_context *context,
                                                           const struct tide_crew_params *params,
                                                           struct tide_crew **out_crew);
/* Joins the carriers and frees the crew. TIDE_BUSY: a job has not returned; nothing changes. Not
 * while another call to this crew is in progress. NULL is fine. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_crew_destroy(struct tide_crew *crew);

/* Starts `count` jobs, entry(argument, 0) … entry(argument, count - 1), in this order, each as a
 * fiber. Does not wait for them; `argument` must outlive them. May be called from a fiber.
 * TIDE_NOMEM: none is started; TIDE_INVALID: no entry. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_crew_run(struct tide_crew *crew, void (*entry)(void *argument, uint64_t index), void *argument,
              uint64_t count);
/* Blocks until there is a moment at which all jobs have returned. Their writes are then visible.
 * TIDE_TIMEOUT; TIDE_DEADLOCK: called from a fiber of this crew. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_crew_wait(struct tide_crew *crew, uint64_t deadline);

/* Returns the calling fiber; NULL on a thread that is no carrier. The address is constant while the
 * job lasts. May be called in a signal handler. */
TIDE_API struct tide_fiber *tide_fiber_self(void);
/* Lets the other ready fibers run first; on a thread that is no carrier, other threads. */
TIDE_API void tide_fiber_yield(void);

#ifdef __cplusplus
}
#endif
#endif
