/* Each bug of base/plant.h, planted on purpose, must be found: an oracle that finds nothing proves
 * nothing.
 *
 *   oracle-plants [--plant NAME [--seed N [--small] | --count N]]
 *
 * Prints a table: the plant, the seed that found it, how many steps of that program are enough,
 * what was found. Checks of what calls answer are off, so that it is the guarantee itself that
 * breaks, not a return value. */
#include "harness.h"
#include "base/plant.h"
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plant {
  enum tide_plant which;
  const char *name;
  const char *settings[12]; /* what favours it */
};

#define NO_TROUBLE "fail=0", "cancel=0", "host_fail=0", "destroy=0", "lose=0", "destroy_line=0"
#define LIVE(name, ...)                                                                            \
  {                                                                                                \
    (enum tide_plant) TIDE_PLANT_##name, #name, { __VA_ARGS__ }                                    \
  }
#define PLANT(name, ...)                                                                           \
  {                                                                                                \
    TIDE_PLANT_##name, #name, { __VA_ARGS__ }                                                      \
  }

static const struct plant plants[] = {
    PLANT(INC, NO_TROUBLE, "multi=800", "bad=100", "collectives=0"),
    PLANT(RAISEWAIT, NO_TROUBLE, "host_signal=200", "operations_only=0"),
    PLANT(EXTBELOW, NO_TROUBLE, "host_signal=200", "bad=300", "operations_only=0"),
    PLANT(TWOPHASE, NO_TROUBLE, "hold=200", "collectives=0", "racefree=0"),
    PLANT(OWNKNOWN, NO_TROUBLE, "in_order_chance=0"),
    PLANT(GATE, NO_TROUBLE, "in_order_chance=0"),
    PLANT(PREFIXPUB, NO_TROUBLE, "in_order_chance=0"),
    PLANT(FAILWAIT, "host_fail=30", "lose=0", "racefree=0"),
    PLANT(FAILCHECK, "fail=100", "lose=0", "racefree=0"),
    PLANT(USEOBS, "buffers=300", "free_elsewhere=900"),
    PLANT(HELDPIN, "buffers=300", "hold=200", "collectives=0", "racefree=0"),
    PLANT(PAST, "buffers=300", "free_elsewhere=900"),
    PLANT(OWNER, "buffers=300", "free_elsewhere=900"),
    PLANT(GAPNEXT, "buffers=300", "free_elsewhere=900", "hold=200", "collectives=0", "racefree=0"),
    PLANT(GAPOPEN, "buffers=300", "free_elsewhere=900", "fail=200", "cancel=50", "racefree=0"),
    PLANT(DESTROY, "destroy=30", "racefree=0"),
    PLANT(TAINTRIGHT, "buffers=300", "free_elsewhere=900", "frontier=2", "queues=6"),
    PLANT(EVICT, "buffers=300", "free_elsewhere=900", "frontier=2", "queues=6"),
    PLANT(SPLIT, "buffers=300", "free_elsewhere=900"),
    LIVE(ELIDE, NO_TROUBLE),
    LIVE(RECORD, NO_TROUBLE, "query=300", "wakes=300"),
    LIVE(TRACKER, NO_TROUBLE, "wakes=300"),
    LIVE(WAKE, NO_TROUBLE),
    LIVE(HELD, NO_TROUBLE, "hold=200", "collectives=0", "racefree=0"),
    LIVE(KICK, NO_TROUBLE, "kicked=1"),
    LIVE(CALL, NO_TROUBLE, "wakes=300"),
    LIVE(TOGETHER, NO_TROUBLE, "collectives=2", "hold=0", "passable=0", "racefree=0"),
    LIVE(FORGET, "buffers=300", "free_elsewhere=900"),
    LIVE(GAPALONE, "buffers=300", "free_elsewhere=900", "collectives=0", "racefree=0"),
    LIVE(LEAK, "scarce=200", "check=0"),
};
#define PLANTS (sizeof plants / sizeof *plants)
_Static_assert(PLANTS + 1 == TIDE_PLANT_COUNT + (TIDE_PLANT_LEAK - TIDE_PLANT_ELIDE + 1),
               "each plant has a profile");

static void draw_planted(const struct plant *plant, uint64_t seed, struct config *config) {
  draw_config(seed, config);
  for (size_t i = 0; i < sizeof plant->settings / sizeof *plant->settings && plant->settings[i];
       i++)
    if (!config_set(config, plant->settings[i])) abort();
}

static void run_planted(const struct plant *plant, uint64_t seed, bool verbose,
                        struct outcome *outcome) {
  struct config config;
  draw_planted(plant, seed, &config);
  tide_planted = plant->which;
  run_seed(seed, &config, verbose, false, outcome);
  tide_planted = TIDE_PLANT_NONE;
}

/* The first seed that finds it; a crash counts only when nothing better comes. 0: none. */
static uint64_t find(const struct plant *plant, uint64_t most, struct outcome *found) {
  uint64_t crash = 0;
  for (uint64_t seed = 1; seed <= most; seed++) {
    struct outcome outcome;
    run_planted(plant, seed, false, &outcome);
    if (!outcome.violated) continue;
    bool crashed = strncmp(outcome.why, "crash", 5) == 0;
    if (!crash || !crashed) *found = outcome;
    if (!crashed) return seed;
    if (!crash) crash = seed;
    if (seed > crash + 200) break;
  }
  return crash;
}

/* The small program that is left of it; `verbose`: its history, too. */
static uint32_t make_small(const struct plant *plant, uint64_t seed, bool verbose,
                           struct outcome *outcome) {
  struct config config;
  draw_planted(plant, seed, &config);
  tide_planted = plant->which;
  uint32_t left = shrink(seed, &config, false, outcome);
  run_seed(seed, &config, verbose, false, outcome);
  tide_planted = TIDE_PLANT_NONE;
  return left;
}

static void check_plant(const struct plant *plant) {
  struct outcome found = {0}, clean, small = {0};
  uint64_t seed = find(plant, 20000 / test_slowdown(), &found);
  if (!seed) FAIL("planted %s: no violation", plant->name);
  small = found;
  uint32_t left = make_small(plant, seed, false, &small);
  printf("     %-10s seed %3lu step %3u, %2u are enough: %s\n", plant->name, (unsigned long)seed,
         found.steps, left, small.why);
  if (!small.violated || left > found.steps) FAIL("it is not smaller: %u steps", left);
  struct plant none = *plant;
  none.which = TIDE_PLANT_NONE;
  run_planted(&none, seed, false, &clean);
  if (clean.violated)
    FAIL("seed %lu fails without the plant, too: %s", (unsigned long)seed, clean.why);
}

static void run_case(void) { check_plant(test_given()); }

static int explore(const char *name, uint64_t first, uint64_t count, bool small) {
  for (size_t i = 0; i < PLANTS; i++) {
    struct outcome outcome;
    if (strcmp(plants[i].name, name) != 0) continue;
    if (!count) {
      run_planted(&plants[i], first, !small, &outcome);
      if (small && outcome.violated)
        printf("%u steps\n", make_small(&plants[i], first, true, &outcome));
      printf("seed %lu: %s\n", (unsigned long)first,
             outcome.violated ? outcome.why : "no violation");
      return 0;
    }
    for (uint64_t seed = first; seed < first + count; seed++) {
      run_planted(&plants[i], seed, false, &outcome);
      if (outcome.violated)
        printf("seed %lu, step %u: %s\n", (unsigned long)seed, outcome.steps, outcome.why);
    }
    return 0;
  }
  fprintf(stderr, "no such plant: %s\n", name);
  return 2;
}

int main(int argc, char **argv) {
  static struct test_case cases[PLANTS];
  const char *name = NULL;
  uint64_t first = 1, count = 0;
  bool small = false;
  for (int i = 1; i < argc; i++) small |= strcmp(argv[i], "--small") == 0;
  for (int i = 1; i + 1 < argc; i++) {
    if (strcmp(argv[i], "--plant") == 0) name = argv[i + 1];
    else if (strcmp(argv[i], "--seed") == 0) first = strtoull(argv[i + 1], NULL, 0);
    else if (strcmp(argv[i], "--count") == 0) count = strtoull(argv[i + 1], NULL, 0);
  }
  if (name) return explore(name, first, count, small);
  for (size_t i = 0; i < PLANTS; i++)
    cases[i] = (struct test_case){plants[i].name, run_case, &plants[i], 120};
  return test_main(argc, argv, cases, PLANTS);
}
