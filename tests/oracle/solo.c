/* Two programs that share nothing know exactly the same, and do the same, whether each runs alone
 * or both run interleaved in one scheduler.
 *
 *   oracle-solo [--seed N] */
#include "harness.h"
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct notes {
  uint64_t hashes[MAX_NOTES];
  uint32_t count;
};

static struct world world;

static uint8_t capacity;
static struct tide_random turns;

static void config_of(uint64_t seed, struct config *config) {
  draw_config(seed, config);
  config->pause = 0;
  config->frontier = capacity;
  config->steps = config->steps > 100 ? 100 : config->steps;
  if (config->queues > 4) config->queues = 4;
  if (config->timelines > 4) config->timelines = 4;
  config->crossed = 0; /* how early a failing part is noticed depends on all instances */
  config->destroy = 0; /* both programs' axes must fit */
  config->lose = 0;    /* a loss is one of all other machines */
  /* Memory whose past is tainted waits until everything has finished, in either program. */
  if (capacity < 40) config->buffers = 0;
}

static void add_program(uint64_t seed, struct notes *notes) {
  struct program *program = &world.programs[world.program_count];
  struct config config;
  config_of(seed, &config);
  program->index = (int)world.program_count++;
  notes->count = 0;
  program->notes = notes->hashes;
  program_make(program, &world, &config, seed);
}

static void take_turns(uint32_t count) {
  for (bool more = true; more;) {
    more = false;
    uint32_t first = (uint32_t)tide_random_below(&turns, count);
    for (uint32_t i = 0; i < count && !more; i++) {
      struct program *program = &world.programs[(first + i) % count];
      if (program->step == program->config.steps) continue;
      program_step(program);
      more = true;
    }
  }
}

/* One program, or two by turns. False: a violation. */
static bool run(const uint64_t *seeds, uint32_t count, struct notes *const *notes, bool verbose) {
  memory_reset();
  memset(&world, 0, sizeof world);
  world.contracts = true;
  world.verbose = verbose;
  if (setjmp(world.out)) return false;
  world_open(&world, seeds[0], capacity, false);
  for (uint32_t i = 0; i < count; i++) add_program(seeds[i], notes[i]);
  take_turns(count);
  for (uint32_t i = 0; i < count; i++) program_end(&world.programs[i]);
  for (uint32_t i = 0; i < count; i++) program_close(&world.programs[i]);
  for (uint32_t i = 0; i < count; i++) notes[i]->count = world.programs[i].note_count;
  world_close(&world);
  if (verbose) {
    printf("%s:\n", count == 1 ? "alone" : "both");
    print_history(&world, LOG_LINES);
  }
  return true;
}

static bool differ(const struct notes *a, const struct notes *b, uint32_t *out_where) {
  uint32_t i = 0;
  while (i < a->count && i < b->count && a->hashes[i] == b->hashes[i]) i++;
  *out_where = i;
  return i < a->count || i < b->count;
}

/* NULL, or what is wrong. */
static const char *check(uint64_t seed, bool verbose) {
  static struct notes alone[2], together[2];
  static char why[640];
  uint64_t seeds[2] = {seed, seed + 1000003};
  struct notes *first[] = {&alone[0]}, *second[] = {&alone[1]};
  struct notes *both[] = {&together[0], &together[1]};
  const char *which = NULL;
  capacity = seed % 2 ? 40 : 3;
  turns.state = seed;
  if (!run(seeds, 1, first, verbose)) which = "the first alone";
  else if (!run(seeds + 1, 1, second, verbose)) which = "the second alone";
  else if (!run(seeds, 2, both, verbose)) which = "both";
  if (which) {
    snprintf(why, sizeof why, "%s: %s", which, world.why);
    return why;
  }
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t where;
    if (!differ(&alone[i], &together[i], &where)) continue;
    snprintf(why, sizeof why,
             "program %u does something else beside the other, from event %u of %u on", i, where,
             alone[i].count);
    return why;
  }
  return NULL;
}

TEST(independent_programs) {
  for (uint64_t seed = 1; seed <= 4000 / test_slowdown(); seed++) {
    const char *why = check(seed, false);
    if (why) FAIL("--seed %lu: %s", (unsigned long)seed, why);
  }
}

int main(int argc, char **argv) {
  static const struct test_case cases[] = {CASE_SECONDS(independent_programs, 120)};
  if (argc != 3 || strcmp(argv[1], "--seed") != 0) return test_main(argc, argv, cases, 1);
  const char *why = check(strtoull(argv[2], NULL, 0), true);
  puts(why ? why : "no violation");
  return why != NULL;
}
