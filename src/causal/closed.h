/* causal/closed.h: the set of closed axes, stored as intervals.
 *
 * Axes are never reused, and those of one lease close in roughly the order in which they were
 * handed out. So a few intervals of axis numbers hold them all, however many came and went. Axes
 * that close in another order leave up to one interval each, so the intervals are a tree. The
 * owner's lock guards it. */
#ifndef TIDE_CAUSAL_CLOSED_H
#define TIDE_CAUSAL_CLOSED_H

#include "base/tree.h"
#include "tidemark/causal.h"

struct tide_interval {
  struct tide_tree_node node; /* the key is the first axis; `right` links the spares */
  tide_axis last;             /* inclusive */
};

struct tide_closed {
  struct tide_tree intervals;  /* with a gap between each two */
  struct tide_interval *spare; /* the owner allocates them */
  size_t spares;
};

bool tide_closed_contains(const struct tide_closed *closed, tide_axis axis);
/* Adds an axis that is not in the set yet. Needs at most one spare, and may add one. */
void tide_closed_add(struct tide_closed *closed, tide_axis axis);
void tide_closed_add_spare(struct tide_closed *closed, struct tide_interval *interval);
/* Removes a spare, or else an interval, for the owner to free; NULL: none is left. */
struct tide_interval *tide_closed_remove_any(struct tide_closed *closed);

#endif
