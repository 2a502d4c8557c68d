/* benchmarks/bench.h: what a file of benchmarks is made of.
 *
 * benchmarks/frontier.c defines one table, named after the file and ended by {0}; it is
 * picked up by its name:
 *
 *   const struct bench_figure bench_frontier[] = {
 *       {.name = "merge_16", .unit = "ns", .rival = "two-pointer merge",
 *        .setup = make, .ours = merge_ours, .theirs = merge_textbook, .teardown = drop},
 *       {0}};
 *
 * Both sides are measured in turns (ours, theirs, theirs, ours, …) in one process, so
 * that a warm cache or a busy neighbour meets both. A figure prints the median of each
 * side and the ratio with its quartiles:
 *
 *   frontier/merge_16    ours 21.3 ns   two-pointer merge 58.0 ns   2.72x (2.65-2.80)
 *
 * Ratios say how many times better ours is, whether less or more is better; below 1 the
 * rival is ahead. The rival must be honest: the textbook algorithm, the platform's own
 * primitive or a peer, doing the same work, never a straw man.
 */
#ifndef BENCHMARKS_BENCH_H
#define BENCHMARKS_BENCH_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum bench_better { BENCH_LESS, BENCH_MORE };

/* Several rivals, or several values a round: one table. */
#define BENCH_SIDES 10
#define BENCH_VALUES 7

struct bench_value {
  const char *name; /* "submitting" … */
  const char *unit;
  enum bench_better better;
};

struct bench_contest {
  const char *sides[BENCH_SIDES]; /* ours first; NULL after the last */
  struct bench_value values[BENCH_VALUES];
  /* One round of one side; fills out_values, NAN where a value means nothing. Answers NULL, or
   * constant text: why this side cannot be had here. Then it is not asked again. */
  const char *(*measure)(const void *what, unsigned side, double *out_values);
  const void *what;
  /* NULL, or how many rounds there are to be; asked before the first, and not in a smoke run. */
  uint32_t (*rounds)(const void *what);
  bool bound; /* also says how much better ours is at least, and with which confidence */
};

struct bench_figure {
  const char *name;
  const char *unit;  /* NULL: nanoseconds a repetition */
  const char *rival; /* what theirs is; NULL: ours has no rival here */
  /* NULL, or makes what both sides work on. Answering NULL skips the figure (no device …). */
  void *(*setup)(void);
  void (*teardown)(void *state);

  /* Either: does the work `count` times. Timed from outside; count is chosen so that a
   * round takes some milliseconds. */
  void (*ours)(void *state, uint64_t count);
  void (*theirs)(void *state, uint64_t count);

  /* Or: measures one round itself and answers in `unit`; for what has no plain repetition. */
  double (*measure_ours)(void *state);
  double (*measure_theirs)(void *state);
  enum bench_better better;

  /* Or: several sides or values. Of the above only the name, setup and teardown, then. */
  const struct bench_contest *contest;

  /* Figures of a group with the same curve are points of it: where, and of what. */
  const char *curve;
  double at;
  const char *along; /* what `at` counts: "entries"; NULL with no curve */

  uint32_t rounds; /* of each side; 0 = 15 */
};

/* Monotonic nanoseconds. */
uint64_t bench_now(void);
/* The processor time of this thread, which does not count what others had of the processor. It
 * takes a system call: for what runs for a while by itself. */
uint64_t bench_spent(void);
/* ns of an uncontended compare-and-swap, measured now (floors.c). A figure of a library that is not
 * here, from a machine where that took 2.5 ns, is scaled by it: a contest's side of its own. */
double bench_compare_and_swap(void);
#define BENCH_SCALED(ns) ((ns) / 2.5 * bench_compare_and_swap())
/* True in ./bench --smoke: one short round; sizes may be cut down. */
bool bench_smoke(void);
/* Lets the compiler drop nothing that leads to the value. */
static inline void bench_keep(uint64_t value) { __asm__ volatile("" : : "r"(value) : "memory"); }
/* For setup: answers NULL, and says why the figure cannot be had here. */
void *bench_skip(const char *why);
/* Prints a line of comment, such as the name of a driver; on stderr with --json. */
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the program: a benchmark must not go on with a wrong result. */
_Noreturn void bench_wrong(const char *what);
/* fork(), for a child that ends when its parent does, however that ends: a benchmark that gives up
 * leaves nobody behind. By the thread that stays to the end; it is the kernel that watches it. */
pid_t bench_fork(void);
/* Runs `work` in a process of its own, which leaves no threads, memory or locks behind: it fills
 * out_values and answers as a contest's measure does. One that hangs is ended after a while. */
const char *bench_apart(const char *(*work)(const void *what, double *out_values), const void *what,
                        double *out_values);
/* The folder that the program lies in, without a slash at its end. */
const char *bench_folder(void);
#define BENCH_CHECK(what) ((what) ? (void)0 : bench_wrong(#what))

struct bench_group {
  const char *name;
  const struct bench_figure *figures;
};

#endif
