/* How much waiting warps slow working ones on the same multiprocessor of a GPU: warps parked at
 * barriers with one that looks for all of them, warps that look themselves, and the WIC paper's
 * Algorithm 1, where a block's first thread looks and the others wait at its barrier. Two blocks a
 * multiprocessor, each with four working warps and the waiting ones; a value is the time of the
 * work against that of the same work without these. */
#include "bench.h"

#include "../benchmarks/patterns/gpu.h"

#include <stdio.h>
#include <string.h>

#define WORKERS 4

static char why[256];

static const struct way *way_named(const char *name) {
  for (int i = 0; i < GPU_WAY_COUNT; i++)
    if (strcmp(gpu_ways[i].name, name) == 0) return &gpu_ways[i];
  bench_wrong("there is no such way");
}

/* Waiting warps of a block: 27, beside 4 that work and 1 that looks for them, are all that it can
 * have. So 54 of the 64 warps of a multiprocessor wait at most. */
static const uint32_t crowds[] = {1, 2, 4, 8, 16, 27};
#define CROWDS (sizeof crowds / sizeof crowds[0])

static bool measure_all(struct gpu *gpu, const struct way *way, double *out_values) {
  struct gpu_slowing with, alone;
  uint32_t rounds = bench_smoke() ? 1000 : 200000;
  if (!gpu_interfere(gpu, way, WORKERS, 0, rounds, &alone, why, sizeof why)) return false;
  for (size_t i = 0; i < CROWDS; i++) {
    if (!gpu_interfere(gpu, way, WORKERS, crowds[i], rounds, &with, why, sizeof why)) return false;
    out_values[i] = with.clocks / alone.clocks;
  }
  return true;
}

/* The kernels' own limit ends a round that hangs. */
static const char *measure(const void *what, unsigned side, double *out_values) {
  static const char *const names[] = {"parked", "polled", "algorithm1"};
  (void)what;
  struct gpu *gpu = gpu_open(NULL, why, sizeof why, NULL);
  if (!gpu) return why;
  bool good = measure_all(gpu, way_named(names[side]), out_values);
  gpu_close(gpu);
  return good ? NULL : why;
}

static const struct bench_contest slowing = {.sides = {"parked", "polled", "Algorithm 1"},
                                             .values = {{"beside 2 that wait", "x", BENCH_LESS},
                                                        {"4", "x", BENCH_LESS},
                                                        {"8", "x", BENCH_LESS},
                                                        {"16", "x", BENCH_LESS},
                                                        {"32", "x", BENCH_LESS},
                                                        {"54", "x", BENCH_LESS}},
                                             .measure = measure};

const struct bench_figure bench_gpu[] = {
    {.name = "slowing_of_workers", .contest = &slowing, .rounds = 7}, {0}};
