/* See seek.h. */
#include "seek.h"

#include "points_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRAMS = 3000 };

static const struct seek *at;

/* In a process of its own, which may crash. 0: found. */
static int seek_one(const struct seek_plant *plant, uint64_t most) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    tide_planted = plant->which;
    alarm(50 * test_slowdown());
    for (uint64_t seed = 1; seed <= most; seed++) {
      if (!at->run_seed(seed)) continue;
      printf("     %-10s seed %3lu step %3u: %s\n", plant->name, (unsigned long)seed, *at->step,
             points_why);
      tide_planted = TIDE_PLANT_NONE;
      bool clean = !at->run_seed(seed);
      if (!clean) printf("     and without it: %s\n", points_why);
      fflush(stdout);
      _exit(clean ? 0 : 1);
    }
    _exit(1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) printf("     %-10s: signal %d\n", plant->name, WTERMSIG(status));
  return WIFSIGNALED(status) && WTERMSIG(status) != 14 ? 0 : WEXITSTATUS(status);
}

static void plant_is_found(void) {
  const struct seek_plant *plant = test_given();
  if (seek_one(plant, PROGRAMS) != 0) FAIL("planted %s: no violation", plant->name);
}

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
    for (size_t p = 0; strcmp(argv[i], "--plant") == 0 && p < at->plant_count; p++)
      if (strcmp(argv[i + 1], at->plants[p].name) == 0) tide_planted = at->plants[p].which;
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
  struct test_case *cases = calloc(seek->plant_count + 1, sizeof *cases);
  if (!cases) return 2;
  cases[0] = (struct test_case)CASE_SECONDS(as_the_model_says, 120);
  for (size_t i = 0; i < seek->plant_count; i++)
    cases[i + 1] = (struct test_case){seek->plants[i].name, plant_is_found, &seek->plants[i], 60};
  int status = test_main(argc, argv, cases, seek->plant_count + 1);
  free(cases);
  return status;
}
