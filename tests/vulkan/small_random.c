/* Random numbers that depend on the kind, the seed and the attempt only: splitmix64. */
#include "small.h"

uint64_t random_next(struct random_state *random) {
  uint64_t z = random->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void random_seed(struct random_state *random, const char *kind, uint64_t seed, uint64_t attempt) {
  random->state = seed;
  for (const char *at = kind; *at; at++) random->state = random_next(random) + (uint8_t)*at;
  random->state ^= random_next(random) + attempt * 0xd1342543de82ef95u;
  random_next(random);
}

unsigned random_below(struct random_state *random, unsigned limit) {
  return (unsigned)(random_next(random) % limit);
}

bool random_chance(struct random_state *random, unsigned percent) {
  return random_below(random, 100) < percent;
}
