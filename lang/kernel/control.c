/* Bodies that compute nothing: nop, fail, spin. */
#include "kernel/builtin_bodies.h"

#include <time.h>

#define SPIN_MOST_MICROSECONDS 60000000 /* a minute: longer is a mistake */

enum tide_status tide_body_nop(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}

enum tide_status tide_body_fail(void *arguments) {
  (void)arguments;
  return TIDE_FAILED;
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

enum tide_status tide_body_spin(void *arguments) {
  const struct tide_argument *a = arguments;
  if (a[0].integer < 0 || a[0].integer > SPIN_MOST_MICROSECONDS) return TIDE_INVALID;
  int64_t end = now_ns() + a[0].integer * 1000;
  while (now_ns() < end) {}
  return TIDE_OK;
}
