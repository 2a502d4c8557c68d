/* tidemark/clock.h: a platform with simulated time.
 *
 * The model. A *clock* has a time of its own and a list of *timer events*: calls at given times.
 * Nothing sleeps and nothing runs beside: a wait runs one timer event after the other, and the time
 * jumps from each to the next, until the awaited condition holds. So a program of hours runs in
 * moments, on one thread, and the same seed gives the same run.
 *
 *      tide_clock_create(allocator, &params, &clock);
 *      context_params.platform = tide_clock_platform(clock);
 *      … queues, operations, devices of tidemark/sim.h …
 *      tide_timeline_wait(done, 1, TIDE_FOREVER);      the clock runs in here
 *      tide_clock_now(clock);                          how long it all took
 *
 * A wait without a deadline that no timer event can end would last for ever: that is an error of
 * the code that was to wake it, and the clock says so instead of hanging.
 *
 * Timer events of one moment run in the order in which they were requested, or, with `shuffle`, in
 * an order drawn from the seed.
 *
 * Threads: one. There are no others in a simulation: `spawn` answers TIDE_UNSUPPORTED.
 *
 * Source: docs/simulation.md; clock_gettime(2), futex(2).
 */
#ifndef TIDEMARK_CLOCK_H
#define TIDEMARK_CLOCK_H

#include "tidemark/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tide_clock;

/* Something that is to be done. The caller's storage; it stays where it is while it is expected. */
struct tide_timer_event {
  void (*fire)(struct tide_timer_event *event);
  uint64_t time;  /* ns; filled by tide_clock_at */
  uint64_t order; /* among those of one moment */
  struct tide_timer_event *child, *sibling, *before;
  bool expected;
};

struct tide_clock_params {
  size_t struct_size;
  uint64_t seed;  /* of the platform's random numbers, and of the order of what is simultaneous */
  uint64_t start; /* the time at first */
  bool shuffle;   /* what is simultaneous happens in any order */
  /* A wait that nothing can end. It does not return (NULL: the process is aborted). */
  void (*stuck)(void *user);
  void *user;
};

/* NULL params are the defaults. TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_clock_create(const struct tide_allocator *allocator,
                                                            const struct tide_clock_params *params,
                                                            struct tide_clock **out_clock);
/* What is still expected does not happen any more. NULL is fine. */
TIDE_API void tide_clock_destroy(struct tide_clock *clock);
/* For tide_context_create. Lives as long as the clock. */
TIDE_API const struct tide_platform *tide_clock_platform(struct tide_clock *clock);
/* In ns. */
TIDE_API uint64_t tide_clock_now(const struct tide_clock *clock);
/* Lets it happen at `time`, or now if that has passed. It must not be expected already. */
TIDE_API void tide_clock_at(struct tide_clock *clock, struct tide_timer_event *event,
                            uint64_t time);
/* It will not happen. Nothing is done when it is not expected. */
TIDE_API void tide_clock_forget(struct tide_clock *clock, struct tide_timer_event *event);
/* The next one happens, at its time. False: there is none. */
TIDE_API bool tide_clock_step(struct tide_clock *clock);
/* Lets `ns` of time pass, with all that happens meanwhile. */
TIDE_API void tide_clock_pass(struct tide_clock *clock, uint64_t ns);
/* A random number below `limit` (>= 1), as the seed has it. */
TIDE_API uint64_t tide_clock_random(struct tide_clock *clock, uint64_t limit);

#ifdef __cplusplus
}
#endif
#endif
