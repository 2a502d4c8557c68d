#include "causal/closed.h"
#include "base/check.h"
#include "base/alloc.h"

/* Returns the number of intervals that begin at or before the axis. */
static size_t count_begun(const struct tide_closed *closed, tide_axis axis) {
  size_t low = 0, high = closed->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (closed->list[middle].first <= axis) low = middle + 1;
    else high = middle;
  }
  return low;
}

bool tide_closed_contains(const struct tide_closed *closed, tide_axis axis) {
  size_t place = count_begun(closed, axis);
  return place > 0 && axis <= closed->list[place - 1].last;
}

void tide_closed_add(struct tide_closed *closed, tide_axis axis) {
  size_t place = count_begun(closed, axis);
  struct tide_interval *next = closed->list + place;
  size_t after = closed->count - place;
  bool joins_last = place > 0 && next[-1].last + 1 == axis;
  bool joins_next = after > 0 && next->first - 1 == axis;
  if (joins_last && joins_next) {
    next[-1].last = next->last;
    memmove(next, next + 1, (after - 1) * sizeof *next);
    closed->count--;
  } else if (joins_last) {
    next[-1].last = axis;
  } else if (joins_next) {
    next->first = axis;
  } else {
    TIDE_ASSERT(closed->count < closed->capacity);
    memmove(next + 1, next, after * sizeof *next);
    *next = (struct tide_interval){axis, axis};
    closed->count++;
  }
}
