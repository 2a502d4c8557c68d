/* Buffer reuse against brute force: nothing goes wrong in thousands of worlds. See
 * pool_world.h. */
#include "pool_world.h"

#include "harness.h"
#include <stdio.h>
#include <stdlib.h>

static const struct setting settings[] = {
    {.steps = 600, .queues = 4, .capacity = 8},
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
         "waited at its limit, %llu failed, %llu took the room of idle chunks\n",
         (unsigned long long)t->runs, (unsigned long long)t->allocs, (unsigned long long)t->known,
         (unsigned long long)t->finished, (unsigned long long)t->gap, (unsigned long long)t->fresh,
         (unsigned long long)t->elided_past, (unsigned long long)t->gap_waits,
         (unsigned long long)t->tainted, (unsigned long long)t->deferred,
         (unsigned long long)t->joins, (unsigned long long)t->splits, (unsigned long long)t->mapped,
         (unsigned long long)t->grown, (unsigned long long)t->gaps_at_the_limit,
         (unsigned long long)t->refused, (unsigned long long)t->exchanged);
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
  for (unsigned i = 0; i < SETTINGS; i++) run_setting(&settings[i], seeds(3000));
}

/* What an alloc is given, by the order of reuse alone: no matter of safety. */
TEST(order_holds) {
  for (int waits_first = 0; waits_first < 2; waits_first++) {
    struct setting one = {.steps = 600, .queues = 4, .capacity = 8, .order_only = true};
    struct tally tally = {0};
    one.waits_first = waits_first;
    for (uint64_t seed = 1; seed <= seeds(2000); seed++) {
      const char *what = pool_world_run(&one, seed, &tally);
      if (what) FAIL("seed %llu: %s", (unsigned long long)seed, what);
    }
    if (seeds(2000) >= 2000) CHECK(tally.exchanged > 0); /* it is rare */
  }
}

TEST_MAIN(CASE_SECONDS(rules_hold, 300), CASE_SECONDS(order_holds, 120))
