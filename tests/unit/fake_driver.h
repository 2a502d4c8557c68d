/* The GPU driver that is none, for tests that steer it: tests/plugins/cuda.c, which lies beside the
 * test's own program. */
#ifndef TESTS_UNIT_FAKE_DRIVER_H
#define TESTS_UNIT_FAKE_DRIVER_H

#include "harness.h"

#include "base/atomic.h"
#include "plugins/cuda.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Its path, as tidemark/cuda.h takes it. */
static char fake_driver_path[PATH_MAX + 64];

static inline struct fake_cuda *fake_driver_load(void) {
  char folder[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  CHECK(length > 0);
  folder[length] = 0;
  *strrchr(folder, '/') = 0;
  snprintf(fake_driver_path, sizeof fake_driver_path, "%s/plugin-cuda.so", folder);
  void *library = dlopen(fake_driver_path, RTLD_NOW);
  if (!library) FAIL("%s", dlerror());
  fake_cuda_function *get;
  void *found = dlsym(library, "tide_fake_cuda");
  memcpy(&get, &found, sizeof get);
  return get();
}

/* Nothing was left, and no rule of the driver broken. */
static inline void fake_driver_check(struct fake_cuda *fake) {
  CHECK_EQ_U64(tide_load_acquire(&fake->live), 0);
  CHECK_EQ_U64(tide_load_acquire(&fake->wrong), 0);
}

#endif
