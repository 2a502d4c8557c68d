/* base/random.h: a small seeded generator (splitmix64), the same everywhere. */
#ifndef TIDE_BASE_RANDOM_H
#define TIDE_BASE_RANDOM_H

#include <stdint.h>

struct tide_random {
  uint64_t state;
};

static inline uint64_t tide_random_next(struct tide_random *random) {
  uint64_t z = random->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Returns a number below `limit`, which must not be 0. The bias is below limit / 2^64. */
static inline uint64_t tide_random_below(struct tide_random *random, uint64_t limit) {
  return (uint64_t)(((unsigned __int128)tide_random_next(random) * limit) >> 64);
}

#endif
