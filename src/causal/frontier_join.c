/* Joining two frontiers in a third: what a queue does that keeps the old one. */
#include "causal/frontier.h"

bool tide_frontier_join(struct tide_frontier *to, uint8_t capacity, const struct tide_frontier *a,
                        const struct tide_frontier *b) {
  to->capacity = capacity;
  to->raised = a->raised;
  uint64_t *restrict axes = tide_frontier_axes_of(to), *restrict epochs = axes + capacity;
  const tide_axis *a_axes = tide_frontier_axes(a), *b_axes = tide_frontier_axes(b);
  const uint64_t *a_epochs = tide_frontier_epochs(a), *b_epochs = tide_frontier_epochs(b);
  size_t a_count = a->count, b_count = b->count, i = 0, j = 0, k = 0;
  for (; i < a_count && j < b_count && k < capacity; k++) {
    tide_axis axis = a_axes[i] <= b_axes[j] ? a_axes[i] : b_axes[j];
    uint64_t epoch = a_axes[i] == axis ? a_epochs[i++] : 0;
    if (b_axes[j] == axis) epoch = tide_larger(epoch, b_epochs[j++]);
    axes[k] = axis;
    epochs[k] = epoch;
  }
  if (k + (a_count - i) + (b_count - j) > capacity) return false;
  for (; i < a_count; i++, k++) axes[k] = a_axes[i], epochs[k] = a_epochs[i];
  for (; j < b_count; j++, k++) axes[k] = b_axes[j], epochs[k] = b_epochs[j];
  to->count = (uint8_t)k;
  return true;
}
