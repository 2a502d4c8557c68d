/* Buffer reuse against brute force: with the rules as they are nothing goes wrong in thousands
 * of worlds, and each rule switched off goes wrong in one. See pool_world.h. */
#include "pool_world.h"

#include "base/plant.h"
#include "harness.h"
#include <stdio.h>
#include <stdlib.h>

static const struct setting plain = {.steps = 600, .queues = 4, .capacity = 8};
static const struct setting settings[] = {
    {.steps = 600, .queues = 4, .capacity = 8, .hold = 15},
    {.steps = 600, .queues = 3, .capacity = 8, .hold = 10, .out_of_order = 50, .close = true},
    {.steps = 600, .queues = 5, .capacity = 2, .hold = 10, .grace = true},
    {.steps = 600, .queues = 5, .capacity = 3, .out_of_order = 30, .grace = true, .close = true},
    {.steps = 600, .queues = 5, .capacity = 1, .hold = 10},
    {.steps = 600, .queues = 4, .capacity = 8, .covers = true, .hold = 10},
    {.steps = 600, .queues = 4, .capacity = 2, .covers = true, .grace = true, .close = true},
    {.steps = 600, .queues = 4, .capacity = 8, .out_of_order = 60, .covers = true, .hold = 10},
    {.steps = 600, .queues = 4, .capacity = 3, .out_of_order = 60, .hold = 20},
    {.steps = 600, .queues = 4, .capacity = 8, .hold = 10, .strangers = 40, .close = true},
    {.steps = 600, .queues = 5, .capacity = 3, .out_of_order = 30, .strangers = 40, .grace = true},
    {.steps = 600, .queues = 4, .capacity = 8, .hold = 10, .waits_first = true},
    {.steps = 600, .queues = 5, .capacity = 2, .hold = 10, .grace = true, .waits_first = true},
};
#define SETTINGS (sizeof settings / sizeof *settings)

/* TEST_SEEDS says how many worlds a setting; a failure says which to run again. */
static uint64_t seeds(uint64_t otherwise) {
  const char *text = getenv("TEST_SEEDS");
  return (text ? strtoull(text, NULL, 10) : otherwise) / test_slowdown();
}

static void print(const struct tally *t) {
  printf("# %llu worlds: %llu allocs: %llu known, %llu finished, %llu gap, %llu fresh; %llu "
         "pasts known to whoever named the buffer, %llu waited for; %llu tainted entries, %llu "
         "deferred frees, %llu joins, %llu splits, %llu chunks; %llu allocs grew the pool, %llu "
         "waited at its limit, %llu failed\n",
         (unsigned long long)t->runs, (unsigned long long)t->allocs, (unsigned long long)t->known,
         (unsigned long long)t->finished, (unsigned long long)t->gap, (unsigned long long)t->fresh,
         (unsigned long long)t->elided_past, (unsigned long long)t->gap_waits,
         (unsigned long long)t->tainted, (unsigned long long)t->deferred,
         (unsigned long long)t->joins, (unsigned long long)t->splits, (unsigned long long)t->mapped,
         (unsigned long long)t->grown, (unsigned long long)t->gaps_at_the_limit,
         (unsigned long long)t->refused);
}

static void run_setting(const struct setting *setting, uint64_t count) {
  struct tally tally = {0};
  for (uint64_t seed = 1; seed <= count; seed++) {
    const char *what = pool_world_run(setting, seed, &tally);
    if (what)
      FAIL("setting %d, seed %llu: %s", (int)(setting - settings), (unsigned long long)seed, what);
  }
  print(&tally);
  /* Worlds in which nothing happens prove nothing. */
  CHECK(tally.known + tally.finished > tally.runs);
  CHECK(tally.elided_past > tally.runs && tally.gap_waits > tally.runs / 4);
  CHECK(tally.grown > tally.runs && tally.gaps_at_the_limit > tally.runs && tally.refused > 0);
}

TEST(rules_hold) {
  tide_planted = TIDE_PLANT_NONE;
  for (unsigned i = 0; i < SETTINGS; i++) run_setting(&settings[i], seeds(3000));
}

/* How many worlds it takes until a planted bug shows. */
static void find(enum tide_plant plant, const struct setting *setting) {
  struct tally tally = {0};
  uint64_t count = seeds(20000);
  tide_planted = plant;
  for (int bodies_only = 0; bodies_only < 2; bodies_only++) {
    struct setting one = *setting;
    const char *what = NULL;
    uint64_t seed = 0;
    one.bodies_only = bodies_only;
    while (!what && seed < count) what = pool_world_run(&one, ++seed, &tally);
    if (!what) FAIL("not found in %llu worlds", (unsigned long long)count);
    printf("# found in world %llu: %s\n", (unsigned long long)seed, what);
  }
}

TEST(signaller_always) { find(TIDE_PLANT_OWNER, &plain); }
TEST(uses_forgotten) { find(TIDE_PLANT_USEOBS, &plain); }
TEST(held_not_pinned) { find(TIDE_PLANT_HELDPIN, &settings[0]); }
TEST(use_stands_for_others) { find(TIDE_PLANT_FORGET, &plain); }
TEST(split_forgets) { find(TIDE_PLANT_SPLIT, &plain); }
TEST(eviction_without_taint) { find(TIDE_PLANT_EVICT, &settings[2]); }

/* The order of reuse is no matter of safety: its bugs are seen by what an alloc is given. */
static void find_order(enum tide_plant plant, bool waits_first) {
  struct tally tally = {0};
  struct setting one = {.steps = 600, .queues = 4, .capacity = 8, .order_only = true};
  uint64_t count = seeds(2000), seed = 0;
  const char *what = NULL;
  one.waits_first = waits_first;
  tide_planted = plant;
  while (!what && seed < count) what = pool_world_run(&one, ++seed, &tally);
  if (!what) FAIL("not found in %llu worlds", (unsigned long long)count);
  printf("# found in world %llu: %s\n", (unsigned long long)seed, what);
}

TEST(waits_before_the_budget) { find_order(TIDE_PLANT_REUSE_WAITS, false); }
TEST(growth_before_reuse) { find_order(TIDE_PLANT_REUSE_GROWS, false); }
TEST(growth_before_waits) { find_order(TIDE_PLANT_REUSE_GROWS, true); }
TEST(beyond_the_limit) { find_order(TIDE_PLANT_REUSE_BEYOND, false); }
TEST(not_the_fewest_waits) { find_order(TIDE_PLANT_REUSE_MOST, false); }

TEST_MAIN(CASE_SECONDS(rules_hold, 300), CASE(signaller_always), CASE(uses_forgotten),
          CASE(held_not_pinned), CASE(use_stands_for_others), CASE(split_forgets),
          CASE(eviction_without_taint), CASE(waits_before_the_budget), CASE(growth_before_reuse),
          CASE(growth_before_waits), CASE(beyond_the_limit), CASE(not_the_fewest_waits))
