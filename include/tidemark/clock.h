/* tidemark/clock.h: a platform with simulated time.
 *
 * The model. A *clock* has its own time and a list of *timer events*: calls at given times. No
 * thread sleeps and nothing runs in parallel. A wait runs one timer event after the other, and the
 * time jumps from each to the next, until the awaited condition holds. So a program of hours runs
 * in moments, on one thread, and the same seed gives the same run.
 *
 *      tide_clock_create(allocator, &params, &clock);
 *      context_params.platform = tide_clock_platform(clock);
 *      … queues, operations, devices of tidemark/sim.h …
 *      tide_timeline_wait(done, 1, TIDE_FOREVER);      the clock runs in here
 *      tide_clock_now(clock);                          the simulated duration
 *
 * A wait without a deadline that no timer event can end would last for ever. This is a bug in the
 * code that should have woken it, and the clock reports it (`stuck`) instead of hanging.
 *
 * Timer events of the same time run in the order in which they were requested, or, with `shuffle`,
 * in an order drawn from the seed.
 *
 * Threads: a single one. A simulation has no other threads: `spawn` returns TIDE_UNSUPPORTED.
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

/* A call at a given time. The caller's storage; must not move while it is expected. */
struct tide_timer_event {
  void (*fire)(struct tide_timer_event *event);
  uint64_t time;  /* ns; filled by tide_clock_at */
  uint64_t order; /* order among events of the same time */
  struct tide_timer_event *child, *sibling, *before;
  bool expected;
};

struct tide_clock_params {
  size_t struct_size;
  uint64_t seed;  /* seed of the platform's random numbers, and of the shuffle */
  uint64_t start; /* the initial time */
  bool shuffle;   /* simultaneous events run in random order */
  /* Called for a wait that nothing can end. Must not return (NULL: the process is aborted). */
  void (*stuck)(void *user);
  void *user;
};

/* Creates a clock. NULL params select the defaults. TIDE_NOMEM; TIDE_INVALID: struct_size is
 * missing. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_clock_create(const struct tide_allocator *allocator,
                                                            const struct tide_clock_params *params,
                                                            struct tide_clock **out_clock);
/* Destroys the clock. Expected events never fire. NULL is fine. */
TIDE_API void tide_clock_destroy(struct tide_clock *clock);
/* Returns the platform, for tide_context_create. Lives as long as the clock. */
TIDE_API const struct tide_platform *tide_clock_platform(struct tide_clock *clock);
/* Returns the simulated time in ns. */
TIDE_API uint64_t tide_clock_now(const struct tide_clock *clock);
/* Requests `event` at `time`, or now if that has passed. The event must not be expected already. */
TIDE_API void tide_clock_at(struct tide_clock *clock, struct tide_timer_event *event,
                            uint64_t time);
/* Cancels an event. Does nothing if the event is not expected. */
TIDE_API void tide_clock_forget(struct tide_clock *clock, struct tide_timer_event *event);
/* Advances to the next event and runs it. False: no event is left. */
TIDE_API bool tide_clock_step(struct tide_clock *clock);
/* Lets `ns` of time pass, and runs the events in it. */
TIDE_API void tide_clock_pass(struct tide_clock *clock, uint64_t ns);
/* Returns a random number below `limit` (>= 1), determined by the seed. */
TIDE_API uint64_t tide_clock_random(struct tide_clock *clock, uint64_t limit);

#ifdef __cplusplus
}
#endif
#endif
