/* Random programs against the library: nothing may break. See oracle.h.
 *
 *   oracle-random [--seed N] [--count N | --minutes N] [--shortest] [--set NAME=VALUE]… [--skip
 * LIST]
 *
 * Without --seed, --count and --minutes: a fixed number of seeds, as a test. With --seed, one
 * program and its history. --shortest goes on after a violation and shows the one that took the
 * fewest steps. --minutes takes one seed after the other, from --seed on, until the time is over; a
 * program that fails is shown whole, tried again (again.c), made small, and shown with the
 * arguments that bring it back. --guarantee checks the guarantee alone, and not what calls answer.
 */
#include "harness.h"
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct totals {
  uint64_t programs, checks;
  struct tide_context_stats stats;
};

static void add(struct totals *totals, const struct outcome *outcome) {
  totals->programs++;
  totals->checks += outcome->checks;
  totals->stats.entered += outcome->stats.entered;
  totals->stats.failed += outcome->stats.failed;
  totals->stats.waits += outcome->stats.waits;
  totals->stats.waits_resolved += outcome->stats.waits_resolved;
  totals->stats.waits_elided += outcome->stats.waits_elided;
  totals->stats.waits_issued += outcome->stats.waits_issued;
  totals->stats.held += outcome->stats.held;
  totals->stats.gap_waits += outcome->stats.gap_waits;
  totals->stats.tainted += outcome->stats.tainted;
}

static void print_totals(const struct totals *t) {
  printf("%lu programs, %lu starts checked; %lu operations (%lu failed, %lu held, %lu tainted), "
         "%lu waits: %lu "
         "resolved, %lu elided, %lu issued; %lu gap waits\n",
         (unsigned long)t->programs, (unsigned long)t->checks, (unsigned long)t->stats.entered,
         (unsigned long)t->stats.failed, (unsigned long)t->stats.held,
         (unsigned long)t->stats.tainted, (unsigned long)t->stats.waits,
         (unsigned long)t->stats.waits_resolved, (unsigned long)t->stats.waits_elided,
         (unsigned long)t->stats.waits_issued, (unsigned long)t->stats.gap_waits);
}

#define SETTINGS_MAX 64
static const char *settings[SETTINGS_MAX];
static uint32_t setting_count;
static const char *skip;
static bool contracts = true;

static void draw_set(uint64_t seed, struct config *config) {
  draw_config(seed, config);
  for (uint32_t i = 0; i < setting_count; i++)
    if (!config_set(config, settings[i])) {
      fprintf(stderr, "there is no '%s' to set\n", settings[i]);
      exit(2);
    }
  if (!skip || skip_set(config, skip)) return;
  fprintf(stderr, "--skip %s: expected steps, such as 1-4,7\n", skip);
  exit(2);
}

static void run_one(uint64_t seed, struct outcome *outcome, bool verbose) {
  struct config config;
  draw_set(seed, &config);
  run_seed(seed, &config, verbose, contracts, outcome);
}

static int search(uint64_t first, uint64_t count, bool shortest) {
  struct totals totals = {0};
  uint64_t best = 0, violations = 0;
  uint32_t steps = UINT32_MAX;
  for (uint64_t seed = first; seed < first + count; seed++) {
    struct outcome outcome;
    run_one(seed, &outcome, false);
    add(&totals, &outcome);
    if (!outcome.violated) continue;
    violations++;
    if (shortest && violations <= 40)
      printf("seed %lu, step %u: %s\n", (unsigned long)seed, outcome.steps, outcome.why);
    if (outcome.steps < steps) {
      steps = outcome.steps;
      best = seed;
    }
    if (!shortest) break;
  }
  if (violations) {
    struct outcome outcome;
    run_one(best, &outcome, true);
    printf("VIOLATION (%lu of %lu) seed %lu, step %u: %s\n", (unsigned long)violations,
           (unsigned long)totals.programs, (unsigned long)best, outcome.steps, outcome.why);
    return 1;
  }
  print_totals(&totals);
  return 0;
}

/* ---- for as long as there is time -------------------------------------------------------- */

static time_t seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

/* The arguments that change the drawn program or its checks. */
static void print_settings(void) {
  for (uint32_t i = 0; i < setting_count; i++) printf(" --set %s", settings[i]);
  if (!contracts) printf(" --guarantee");
}

static void try_again(uint64_t seed, const struct config *config, const struct outcome *outcome) {
  char number[24];
  char *arguments[2 * SETTINGS_MAX + 8] = {(char *)"oracle-random", (char *)"--seed", number};
  uint32_t count = 3;
  snprintf(number, sizeof number, "%lu", (unsigned long)seed);
  for (uint32_t i = 0; i < setting_count; i++) {
    arguments[count++] = (char *)"--set";
    arguments[count++] = (char *)(uintptr_t)settings[i];
  }
  if (!contracts) arguments[count++] = (char *)"--guarantee";
  if (skip) {
    arguments[count++] = (char *)"--skip";
    arguments[count++] = (char *)(uintptr_t)skip;
  }
  show_again(seed, config, contracts, outcome, arguments);
}

static void show_small(uint64_t seed, struct outcome *outcome) {
  struct config drawn, config;
  struct outcome whole;
  draw_set(seed, &drawn);
  setenv("ORACLE_LINES", "4000", 0);
  run_seed(seed, &drawn, true, contracts, &whole);
  printf("VIOLATION seed %lu, step %u: %s\n", (unsigned long)seed, outcome->steps, outcome->why);
  try_again(seed, &drawn, outcome);
  fflush(stdout);
  config = drawn;
  uint32_t left = shrink(seed, &config, contracts, outcome);
  struct outcome last;
  run_seed(seed, &config, true, contracts, &last);
  printf("%u steps are enough: %s\n  oracle-random --seed %lu", left, last.why,
         (unsigned long)seed);
  print_settings();
  printf(" --set steps=%u", config.steps);
  print_config(&drawn, &config);
}

static int search_for(uint64_t first, uint64_t minutes) {
  struct totals totals = {0};
  time_t start = seconds(), shown = start;
  bool terminal = isatty(STDERR_FILENO);
  for (uint64_t seed = first;; seed++) {
    struct outcome outcome;
    run_one(seed, &outcome, false);
    add(&totals, &outcome);
    time_t now = seconds();
    if (terminal && now != shown)
      fprintf(stderr, "\r%lu programs, %lu s of %lu ", (unsigned long)totals.programs,
              (unsigned long)(now - start), (unsigned long)minutes * 60);
    shown = now;
    if (outcome.violated) {
      show_small(seed, &outcome);
      return 1;
    }
    if (now - start >= (time_t)minutes * 60) break;
  }
  if (terminal) fputs("\r", stderr);
  printf("seeds %lu to %lu: ", (unsigned long)first, (unsigned long)(first + totals.programs - 1));
  print_totals(&totals);
  return 0;
}

TEST(random_programs) {
  uint64_t count = 30000 / test_slowdown();
  for (uint64_t seed = 1; seed <= count; seed++) {
    struct outcome outcome;
    run_one(seed, &outcome, false);
    if (outcome.violated) {
      run_one(seed, &outcome, true);
      FAIL("--seed %lu: %s", (unsigned long)seed, outcome.why);
    }
  }
}

/* What a program does depends neither on addresses nor on memory that nothing was written to. */
TEST(programs_elsewhere) {
  uint64_t count = 3000 / test_slowdown();
  for (uint64_t seed = 1; seed <= count; seed++) {
    struct config config;
    struct outcome usual;
    draw_set(seed, &config);
    run_seed(seed, &config, false, contracts, &usual);
    if (differs_elsewhere(seed, &config, contracts, seed, &usual))
      FAIL("--seed %lu does something else in other memory", (unsigned long)seed);
  }
}

int main(int argc, char **argv) {
  static const struct test_case all[] = {CASE_SECONDS(random_programs, 120),
                                         CASE_SECONDS(programs_elsewhere, 120)};
  const struct test_case *cases = all;
  size_t case_count = sizeof all / sizeof *all;
  uint64_t first = 0, count = 0, minutes = 0;
  bool shortest = false, ours = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
      first = strtoull(argv[++i], NULL, 0), ours = true;
    else if (strcmp(argv[i], "--count") == 0 && i + 1 < argc)
      count = strtoull(argv[++i], NULL, 0), ours = true;
    else if (strcmp(argv[i], "--minutes") == 0 && i + 1 < argc)
      minutes = strtoull(argv[++i], NULL, 0), ours = true;
    else if (strcmp(argv[i], "--skip") == 0 && i + 1 < argc) skip = argv[++i], ours = true;
    else if (strcmp(argv[i], "--shortest") == 0) shortest = ours = true;
    else if (strcmp(argv[i], "--set") == 0 && i + 1 < argc && setting_count < SETTINGS_MAX)
      settings[setting_count++] = argv[++i];
    else if (strcmp(argv[i], "--guarantee") == 0) contracts = false;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
      if (strcmp(argv[i], all[k].name) == 0) cases = &all[k], case_count = 1;
  }
  if (!ours) return test_main(1, argv, cases, case_count);
  if (minutes) return search_for(first ? first : 1, minutes);
  if (count) return search(first ? first : 1, count, shortest);
  struct outcome outcome;
  run_one(first, &outcome, true);
  printf("seed %lu: %s\n", (unsigned long)first, outcome.violated ? outcome.why : "no violation");
  return outcome.violated;
}
