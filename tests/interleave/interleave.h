/* tests/interleave/interleave.h: every interleaving of a few small threads, one after the other.
 *
 * A case is a setup, two or three threads and a final check. The explorer runs it
 * again and again, each time in another order, until it has seen all that differ:
 *
 *   struct state { struct tide_context *context; struct tide_timeline *t; };
 *   static void setup(void *self) { … }
 *   static void signaller(void *self) { … EXPECT(…); … }
 *   static void waiter(void *self) { … }
 *
 *   TEST(signal_and_wait) {
 *     static const struct interleave_case one = {
 *         .size = sizeof(struct state), .setup = setup, .threads = {signaller, waiter}};
 *     interleave_explore(&one);
 *   }
 *
 * How. The library's own sources are compiled as for ThreadSanitizer, and the calls that the
 * compiler puts in are answered here (core/hooks.c): each atomic operation is a place where
 * another thread may go on, each plain access is checked against those of other threads. The
 * platform's wait, wake and yield are the explorer's, too, and so is the memory: what was freed is
 * never handed out again, and whoever touches it fails the case.
 *
 * What fails a case: an EXPECT or an invariant of the library, two accesses that race, memory that
 * is gone, threads that all sleep (a lost wake), a run that does not end. The failing run is
 * printed step by step, and as a string for INTERLEAVE_SCHEDULE, which runs just that one.
 *
 * Which orders. Of runs that differ only in the order of independent steps one is enough (source
 * sets and sleep sets: dynamic partial-order reduction, core/explore.c). Relaxed and acquire loads
 * may answer with any older value that C11 allows, at most `stale` times a run. Everything else
 * reads the newest value in the order of the run, so what only a store that is delayed past later
 * loads of the *same* thread's future could show (load buffering) is not explored. */
#ifndef INTERLEAVE_INTERLEAVE_H
#define INTERLEAVE_INTERLEAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERLEAVE_THREADS 4 /* at most, besides the one that sets up and checks */

struct interleave_case {
  size_t size; /* of the state; zeroed before every run */
  void (*setup)(void *state);
  void (*threads[INTERLEAVE_THREADS])(void *state);
  void (*check)(void *state); /* NULL: nothing; all threads have ended */
  unsigned stale;             /* loads that may answer with an old value, a run */
  unsigned spurious;          /* sleeps of each thread that may end for no reason */
  unsigned preemptions;       /* 0: all orders; n: every order with less than n preemptions, without
                                 any reduction */
};

struct interleave_result {
  uint64_t runs;   /* from start to end */
  uint64_t pruned; /* runs broken off: nothing new was to come */
  uint64_t states; /* places where it was decided who goes on */
  unsigned longest;
  bool failed;
  char why[300];
  char schedule[4096];
};

/* Explores; a failure is answered, not printed. */
void interleave_run(const struct interleave_case *which, struct interleave_result *out_result);
/* Explores, prints one line of numbers, and fails the test if the case fails. In the environment
 * INTERLEAVE_OLD, INTERLEAVE_SPURIOUS and INTERLEAVE_PREEMPTIONS say another `stale`, `spurious`
 * and `preemptions`, for a longer look; INTERLEAVE_SCHEDULE runs one order alone. */
void interleave_explore(const struct interleave_case *which);

/* From a thread of a case, its setup or its check. */
_Noreturn void interleave_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define EXPECT(what)                                                                               \
  ((what) ? (void)0 : interleave_fail("not true: %s (%s:%d)", #what, __FILE__, __LINE__))
#define EXPECT_OK(what) EXPECT((what) == 0)

/* A case of the harness on a `struct state`: threads' functions last. `at_end` may be NULL. */
#define INTERLEAVE_CASE(name, stale_most, how, at_end, ...)                                        \
  TEST(name) {                                                                                     \
    static const struct interleave_case one = {.size = sizeof(struct state),                       \
                                               .setup = how,                                       \
                                               .threads = {__VA_ARGS__},                           \
                                               .check = at_end,                                    \
                                               .stale = stale_most};                               \
    interleave_explore(&one);                                                                      \
  }

#endif
