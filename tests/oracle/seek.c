/* See seek.h. */
#include "seek.h"

#include "points_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 3000 };

static const struct seek *at;

TEST(as_the_model_says) {
  for (uint64_t seed = 1; seed <= PROGRAMS / test_slowdown(); seed++)
    if (at->run_seed(seed))
      FAIL("seed %lu, step %u: %s", (unsigned long)seed, *at->step, points_why);
}

static int explore(int argc, char **argv) {
  uint64_t seed = 1, count = 1;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--verbose") == 0) *at->verbose = true;
    if (i + 1 == argc) break;
    if (strcmp(argv[i], "--seed") == 0) seed = strtoull(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--count") == 0) count = strtoull(argv[i + 1], NULL, 10);
  }
  for (uint64_t end = seed + count; seed < end; seed++) {
    if (!at->run_seed(seed)) continue;
    printf("seed %lu, step %u: %s\n", (unsigned long)seed, *at->step, points_why);
    return 1;
  }
  printf("%lu programs, no violation\n", (unsigned long)count);
  return 0;
}

int seek_main(const struct seek *seek, int argc, char **argv) {
  at = seek;
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--seed") == 0 || strcmp(argv[i], "--count") == 0)
      return explore(argc, argv);
  static const struct test_case cases[] = {CASE_SECONDS(as_the_model_says, 120)};
  return test_main(argc, argv, cases, 1);
}
