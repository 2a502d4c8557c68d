/* The kernels that the driver that is none knows: C functions by the names of entries. */
#ifndef TESTS_PLUGINS_CUDA_KERNELS_H
#define TESTS_PLUGINS_CUDA_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fake_launch {
  uint32_t grid[3], block[3], shared_bytes;
};

struct fake_kernel {
  const char *name;
  size_t size;                                                    /* of its arguments */
  bool (*run)(void *arguments, const struct fake_launch *launch); /* false: it fails */
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

static const struct fake_kernel fake_kernels[] = {
    {"add", sizeof(struct fake_add), fake_add},
    {"trap", 0, fake_trap},
};
static const size_t fake_kernel_count = sizeof fake_kernels / sizeof fake_kernels[0];

#endif
