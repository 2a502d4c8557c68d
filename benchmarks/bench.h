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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bench_better { BENCH_LESS, BENCH_MORE };

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

  uint32_t rounds; /* of each side; 0 = 15 */
};

/* Monotonic nanoseconds. */
uint64_t bench_now(void);
/* True in ./bench --smoke: one short round; sizes may be cut down. */
bool bench_smoke(void);
/* Lets the compiler drop nothing that leads to the value. */
static inline void bench_keep(uint64_t value) { __asm__ volatile("" : : "r"(value) : "memory"); }
/* For setup: answers NULL, and says why the figure cannot be had here. */
void *bench_skip(const char *why);
/* Ends the program: a benchmark must not go on with a wrong result. */
_Noreturn void bench_wrong(const char *what);
#define BENCH_CHECK(what) ((what) ? (void)0 : bench_wrong(#what))

struct bench_group {
  const char *name;
  const struct bench_figure *figures;
};

#endif
