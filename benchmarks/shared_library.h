/* Functions of a shared library that lies beside the program, so that what is measured includes the
 * call into one. */
#ifndef BENCHMARKS_SHARED_LIBRARY_H
#define BENCHMARKS_SHARED_LIBRARY_H

#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>

static inline void *library_open(const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", bench_folder(), name);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) bench_wrong(dlerror());
  return library;
}

static inline void *library_find(void *library, const char *name) {
  void *symbol = dlsym(library, name);
  if (!symbol) bench_wrong(name);
  return symbol;
}

#endif
