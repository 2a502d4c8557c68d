/* What the timeline's figures are compared with, in a shared library as well: a call into one costs
 * something by itself, which is neither side's doing. */
#ifndef BENCHMARKS_RIVAL_H
#define BENCHMARKS_RIVAL_H

#include "tidemark/causal.h"

#define RIVAL_SLOTS 16

struct rival {
  uint64_t cell;
  struct {
    uint64_t value, axis, epoch;
    uint64_t frontier[1 + TIDE_FRONTIER_WORDS(16)];
  } slots[RIVAL_SLOTS];
};

TIDE_API uint64_t rival_load(const uint64_t *word);
/* One compare-and-swap of value - 1 to value. */
TIDE_API bool rival_swap(struct rival *rival, uint64_t value);
/* And the frontier's entries into a ring of records. */
TIDE_API bool rival_swap_and_copy(struct rival *rival, uint64_t value, tide_axis axis,
                                  const struct tide_frontier *frontier);

#endif
