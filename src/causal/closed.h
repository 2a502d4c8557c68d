/* causal/closed.h: the axes that have closed, as intervals.
 *
 * Axes are never reused and those of one lease close in roughly the order in
 * which they were handed out, so a few intervals of axis numbers hold them all,
 * however many came and went. The owner's lock guards it. */
#ifndef TIDE_CAUSAL_CLOSED_H
#define TIDE_CAUSAL_CLOSED_H

#include "tidemark/causal.h"

struct tide_interval {
  tide_axis first, last; /* inclusive */
};

struct tide_closed {
  struct tide_interval *list; /* ascending, with a gap between each two; the owner allocates */
  size_t count, capacity;
};

bool tide_closed_contains(const struct tide_closed *closed, tide_axis axis);
/* Adds an axis that is not in the set yet. Needs capacity for at most one more interval. */
void tide_closed_add(struct tide_closed *closed, tide_axis axis);

#endif
