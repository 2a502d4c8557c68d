/* Joining two frontiers in a third: what a queue does that keeps the old one. */
#include "causal/frontier.h"

static inline uint64_t larger(uint64_t a, uint64_t b) { return a < b ? b : a; }

/* Where they list the same axes, which those do that have known each other for a while, up to the
 * first that differs. Returns how many entries are done. */
static inline size_t join_same(tide_axis *axes, uint64_t *epochs, const struct tide_frontier *a,
                               const struct tide_frontier *b) {
  const tide_axis *a_axes = tide_frontier_axes(a), *b_axes = tide_frontier_axes(b);
  const uint64_t *a_epochs = tide_frontier_epochs(a), *b_epochs = tide_frontier_epochs(b);
  size_t count = a->count < b->count ? a->count : b->count, i = 0;
  for (; i < count && a_axes[i] == b_axes[i]; i++) {
    axes[i] = a_axes[i];
    epochs[i] = larger(a_epochs[i], b_epochs[i]);
  }
  return i;
}

TIDE_HOT bool tide_frontier_join(struct tide_frontier *to, uint8_t capacity,
                                 const struct tide_frontier *a, const struct tide_frontier *b) {
  to->capacity = capacity;
  to->raised = a->raised;
  tide_axis *axes = tide_frontier_axes_of(to);
  uint64_t *epochs = axes + capacity;
  const tide_axis *a_axes = tide_frontier_axes(a), *b_axes = tide_frontier_axes(b);
  const uint64_t *a_epochs = tide_frontier_epochs(a), *b_epochs = tide_frontier_epochs(b);
  size_t a_count = a->count, b_count = b->count;
  if (a_count > capacity || b_count > capacity) return false;
  size_t k = join_same(axes, epochs, a, b), i = k, j = k;
  for (; i < a_count && j < b_count && k < capacity; k++) {
    tide_axis axis = a_axes[i] <= b_axes[j] ? a_axes[i] : b_axes[j];
    uint64_t epoch = a_axes[i] == axis ? a_epochs[i++] : 0;
    if (b_axes[j] == axis) epoch = larger(epoch, b_epochs[j++]);
    axes[k] = axis;
    epochs[k] = epoch;
  }
  if (k + (a_count - i) + (b_count - j) > capacity) return false;
  for (; i < a_count; i++, k++) axes[k] = a_axes[i], epochs[k] = a_epochs[i];
  for (; j < b_count; j++, k++) axes[k] = b_axes[j], epochs[k] = b_epochs[j];
  to->count = (uint8_t)k;
  return true;
}
