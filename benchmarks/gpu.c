/* How much waiting warps slow working ones on the same multiprocessor of a GPU: warps parked at
 * barriers with one that looks for all of them, warps that look themselves, and Algorithm 1, where
 * a block's first thread looks and the others wait at its barrier. Two blocks a multiprocessor,
 * each with four working warps and the waiting ones; `none` is the same without these. */
#include "bench.h"

#include "../examples/patterns/gpu.h"

#include <stdio.h>
#include <string.h>

#define WORKERS 4

struct crowd {
  uint32_t waiters; /* of a block */
};

static char why[256];

static const struct way *way_named(const char *name) {
  for (int i = 0; i < GPU_WAY_COUNT; i++)
    if (strcmp(gpu_ways[i].name, name) == 0) return &gpu_ways[i];
  bench_wrong("there is no such way");
}

/* The kernels' own limit ends a round that hangs. */
static const char *measure(const void *what, unsigned side, double *out_values) {
  static const char *const names[] = {"parked", "polled", "algorithm1", "split"};
  const struct crowd *crowd = what;
  struct gpu_slowing with = {0, 0}, alone = {0, 0};
  uint32_t rounds = bench_smoke() ? 1000 : 200000;
  uint32_t waiters = side < 3 ? crowd->waiters : 0;
  struct gpu *gpu = gpu_open(NULL, why, sizeof why, NULL);
  if (!gpu) return why;
  const struct way *way = way_named(names[side]);
  bool good = gpu_interfere(gpu, way, WORKERS, 0, rounds, &alone, why, sizeof why) &&
              gpu_interfere(gpu, way, WORKERS, waiters, rounds, &with, why, sizeof why);
  gpu_close(gpu);
  if (!good) return why;
  out_values[0] = with.clocks / rounds;
  out_values[1] = with.clocks / alone.clocks;
  out_values[2] = with.looks;
  return NULL;
}

#define CROWD(count)                                                                               \
  static const struct crowd crowd_##count = {count};                                               \
  static const struct bench_contest contest_##count = {                                            \
      .sides = {"parked", "polled", "Algorithm 1", "none"},                                        \
      .values = {{"a round of work", "clocks", BENCH_LESS},                                        \
                 {"slowing", "x", BENCH_LESS},                                                     \
                 {"looks a block", "", BENCH_LESS}},                                               \
      .measure = measure,                                                                          \
      .what = &crowd_##count}
CROWD(1);
CROWD(2);
CROWD(4);
CROWD(8);
CROWD(16);
CROWD(27);

/* 27 a block, beside 4 that work and 1 that looks, are all that a block can have: 54 of the 64
 * warps of a multiprocessor. */
const struct bench_figure bench_gpu[] = {
    {.name = "waiting_2", .contest = &contest_1, .rounds = 5},
    {.name = "waiting_4", .contest = &contest_2, .rounds = 5},
    {.name = "waiting_8", .contest = &contest_4, .rounds = 5},
    {.name = "waiting_16", .contest = &contest_8, .rounds = 5},
    {.name = "waiting_32", .contest = &contest_16, .rounds = 5},
    {.name = "waiting_54", .contest = &contest_27, .rounds = 5},
    {0}};
