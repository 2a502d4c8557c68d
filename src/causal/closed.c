#include "causal/closed.h"
#include "base/check.h"

static struct tide_interval *interval_of(struct tide_tree_node *node) {
  return node ? TIDE_CONTAINER(node, struct tide_interval, node) : NULL;
}

/* Returns the last interval that begins before `axis`, and sets *out_next to the one behind it. */
static struct tide_interval *find_begun(const struct tide_closed *closed, tide_axis axis,
                                        struct tide_interval **out_next) {
  struct tide_tree_node *next = tide_tree_at_least(&closed->intervals, axis);
  *out_next = interval_of(next);
  return interval_of(next ? tide_tree_previous(next) : closed->intervals.last);
}

bool tide_closed_contains(const struct tide_closed *closed, tide_axis axis) {
  struct tide_interval *next, *begun = find_begun(closed, axis, &next);
  return (begun && axis <= begun->last) || (next && next->node.key == axis);
}

void tide_closed_add_spare(struct tide_closed *closed, struct tide_interval *interval) {
  interval->node.right = closed->spare ? &closed->spare->node : NULL;
  closed->spare = interval;
  closed->spares++;
}

static struct tide_interval *take_spare(struct tide_closed *closed) {
  struct tide_interval *interval = closed->spare;
  if (!interval) return NULL;
  closed->spare = interval_of(interval->node.right);
  closed->spares--;
  return interval;
}

static void begin_interval(struct tide_closed *closed, struct tide_interval *interval,
                           tide_axis first) {
  bool is_new = tide_tree_insert(&closed->intervals, &interval->node, first);
  TIDE_ASSERT(is_new);
}

void tide_closed_add(struct tide_closed *closed, tide_axis axis) {
  struct tide_interval *next, *begun = find_begun(closed, axis, &next);
  bool joins_begun = begun && begun->last + 1 == axis,
       joins_next = next && next->node.key - 1 == axis;
  if (joins_next) tide_tree_remove(&closed->intervals, &next->node);
  if (joins_begun) {
    begun->last = joins_next ? next->last : axis;
    if (joins_next) tide_closed_add_spare(closed, next);
  } else if (joins_next) {
    begin_interval(closed, next, axis);
  } else {
    struct tide_interval *interval = take_spare(closed);
    TIDE_ASSERT(interval != NULL);
    interval->last = axis;
    begin_interval(closed, interval, axis);
  }
}

struct tide_interval *tide_closed_remove_any(struct tide_closed *closed) {
  struct tide_interval *interval = take_spare(closed);
  if (interval || !closed->intervals.first) return interval;
  interval = interval_of(closed->intervals.first);
  tide_tree_remove(&closed->intervals, &interval->node);
  return interval;
}
