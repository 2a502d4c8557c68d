/* Looking for planted bugs with programs made of seeds: what the oracles of points and of channels
 * end with. */
#ifndef TESTS_SEEK_H
#define TESTS_SEEK_H

#include "base/plant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seek_plant {
  enum tide_plant which;
  const char *name;
};

struct seek {
  bool (*run_seed)(uint64_t seed); /* whether something was wrong: points_why */
  const unsigned *step;            /* that it is at, or was */
  bool *verbose;                   /* each step says what it does */
  const struct seek_plant *plants;
  size_t plant_count;
};

/* The whole program: a case for the rules as they are and one for each plant; or, with --seed or
 * --count, what these programs find. `seek` stays. */
int seek_main(const struct seek *seek, int argc, char **argv);

#endif
