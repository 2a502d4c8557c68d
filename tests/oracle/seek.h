/* Programs made of seeds against a model: what the oracles of points and of channels end with. */
#ifndef TESTS_SEEK_H
#define TESTS_SEEK_H

#include <stdbool.h>
#include <stdint.h>

struct seek {
  bool (*run_seed)(uint64_t seed); /* true if something was wrong: points_why */
  const unsigned *step;            /* that it is at, or was */
  bool *verbose;                   /* each step says what it does */
};

/* The whole program: a case; or, with --seed or --count, what these programs find. `seek` stays. */
int seek_main(const struct seek *seek, int argc, char **argv);

#endif
