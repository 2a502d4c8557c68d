/* The kernels that the driver that is none knows: C functions by the names of entries. */
#ifndef TESTS_PLUGINS_CUDA_KERNELS_H
#define TESTS_PLUGINS_CUDA_KERNELS_H

#include "gpu_host.h"

#include "../../benchmarks/patterns/gpu/kernels.h"

#include "wic/gpu_wait.h"

#include "../../benchmarks/patterns/gpu/consumers.h"

#include <stddef.h>
#include <stdlib.h>

struct fake_launch {
  uint32_t grid[3], block[3], shared_bytes;
};

struct fake_kernel {
  const char *name;
  size_t size;                                                    /* of its arguments */
  bool (*run)(void *arguments, const struct fake_launch *launch); /* false: it fails */
  uint32_t shared_bytes;                                          /* that each block has anyway */
};

/* One number to each of `count` words. */
struct fake_add {
  uint64_t words;
  uint32_t count, number;
};

static bool fake_add(void *arguments, const struct fake_launch *launch) {
  const struct fake_add *add = arguments;
  uint32_t *words = (uint32_t *)(uintptr_t)add->words;
  uint32_t threads = launch->grid[0] * launch->block[0];
  for (uint32_t i = 0; i < threads && i < add->count; i++) words[i] += add->number;
  return true;
}

static bool fake_trap(void *arguments, const struct fake_launch *launch) {
  (void)arguments;
  (void)launch;
  return false;
}

/* ---- kernels of modules: the parameters as they were packed ------------------------------ */

/* All the widths; to where `q` points they come as doubles, and so does the launch's shape. */
struct fake_mix {
  uint64_t p;
  int8_t a;
  int16_t b;
  int32_t c;
  int64_t d;
  float e;
  double f;
  uint64_t q;
};

static bool fake_mix(void *arguments, const struct fake_launch *launch) {
  const struct fake_mix *mix = arguments;
  const double *p = (const double *)(uintptr_t)mix->p;
  const double numbers[] = {p[0],   mix->a, mix->b,          mix->c,          (double)mix->d,
                            mix->e, mix->f, launch->grid[0], launch->grid[1], launch->block[0]};
  memcpy((void *)(uintptr_t)mix->q, numbers, sizeof numbers);
  return true;
}

/* As examples/mods/gemm.mlir: C = A * B in f32; tiles of 8 x 16, slices of 8. */
struct fake_gemm {
  uint64_t a, b, c;
  int32_t m, n, k;
};
#define FAKE_GEMM_SIZE (offsetof(struct fake_gemm, k) + 4)

static void fake_product(const struct fake_gemm *g, float more) {
  const float *a = (const float *)(uintptr_t)g->a, *b = (const float *)(uintptr_t)g->b;
  float *c = (float *)(uintptr_t)g->c;
  int rows = g->m * 8, columns = g->n * 16, depth = g->k * 8;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      float sum = more;
      for (int k = 0; k < depth; k++) sum += a[i * depth + k] * b[k * columns + j];
      c[i * columns + j] = sum;
    }
}

static bool fake_gemm(void *arguments, const struct fake_launch *launch) {
  (void)launch;
  fake_product(arguments, 0);
  return true;
}

/* One that is wrong. */
static bool fake_gemm_off(void *arguments, const struct fake_launch *launch) {
  (void)launch;
  fake_product(arguments, 1);
  return true;
}

/* ---- kernels that are warps: a thread each, and all of them at once ---------------------- */

typedef void warp_function(const void *arguments, void *shared, uint32_t block, uint32_t index,
                           uint32_t warps);

struct fake_warp {
  pthread_t thread;
  warp_function *run;
  const void *arguments;
  void *shared;
  struct host_block *host;
  uint32_t block, index, warps;
};

static void *fake_warp_main(void *argument) {
  struct fake_warp *warp = argument;
  host_block = warp->host;
  warp->run(warp->arguments, warp->shared, warp->block, warp->index, warp->warps);
  return NULL;
}

static void open_block(struct host_block *block) {
  memset(block, 0, sizeof *block);
  pthread_mutex_init(&block->lock, NULL);
  for (int i = 0; i < 2; i++) pthread_cond_init(&block->barriers[i].changed, NULL);
}

/* A GPU would start no more than there is room for; here there is room. */
static bool fake_warps(warp_function *run, const void *arguments,
                       const struct fake_launch *launch) {
  uint32_t blocks = launch->grid[0], warps = launch->block[0] / 32;
  uint32_t started = 0, count = blocks * warps;
  struct fake_warp *all = calloc(count, sizeof *all);
  struct host_block *hosts = calloc(blocks, sizeof *hosts);
  unsigned char *shared =
      aligned_alloc(128, (size_t)blocks * ((launch->shared_bytes + 127u) & ~127u));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  for (uint32_t i = 0; i < blocks; i++) open_block(&hosts[i]);
  for (; started < count; started++) {
    struct fake_warp *warp = &all[started];
    uint32_t block = started / warps;
    *warp = (struct fake_warp){.run = run,
                               .arguments = arguments,
                               .host = &hosts[block],
                               .block = block,
                               .index = started % warps,
                               .warps = warps};
    warp->shared = shared + (size_t)block * ((launch->shared_bytes + 127u) & ~127u);
    if (pthread_create(&warp->thread, &attributes, fake_warp_main, warp) != 0) abort();
  }
  for (uint32_t i = 0; i < started; i++) pthread_join(all[i].thread, NULL);
  pthread_attr_destroy(&attributes);
  free(all);
  free(hosts);
  free(shared);
  return true;
}

static void one_pattern_warp(const void *arguments, void *shared, uint32_t block, uint32_t index,
                             uint32_t warps) {
  pattern_warp(arguments, shared, block, index, warps);
}

static bool fake_pattern(void *arguments, const struct fake_launch *launch) {
  return fake_warps(one_pattern_warp, arguments, launch);
}

static void one_interference_warp(const void *arguments, void *shared, uint32_t block,
                                  uint32_t index, uint32_t warps) {
  interference_warp(arguments, shared, block, index, warps);
}

static bool fake_interference(void *arguments, const struct fake_launch *launch) {
  return fake_warps(one_interference_warp, arguments, launch);
}

static const struct fake_kernel fake_kernels[] = {
    {"add", sizeof(struct fake_add), fake_add, 0},
    {"trap", 0, fake_trap, 0},
    {"mix", sizeof(struct fake_mix), fake_mix, 0},
    {"gemm", FAKE_GEMM_SIZE, fake_gemm, 1024 + 2048 + 64},
    {"gemm_off", FAKE_GEMM_SIZE, fake_gemm_off, 1024 + 2048 + 64},
    {"pattern", sizeof(struct gpu_arguments), fake_pattern, 0},
    {"interference", sizeof(struct gpu_interference), fake_interference, 0},
};
static const size_t fake_kernel_count = sizeof fake_kernels / sizeof fake_kernels[0];

#endif
