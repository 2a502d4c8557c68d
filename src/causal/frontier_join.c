/* Joining two frontiers in a third: what a queue does that keeps the old one. */
#include "causal/frontier.h"
#include "causal/frontier_wide.h"

/* With fewer in either, one after the other is as fast. */
#define ENDS_LEAST 6

/* One after the other. `roomy`: there is room for all of both. */
static inline __attribute__((always_inline)) bool join_walked(struct tide_frontier *to,
                                                              const struct tide_frontier *a,
                                                              const struct tide_frontier *b,
                                                              bool roomy) {
  size_t n = a->count, m = b->count, most = to->capacity, i = 0, j = 0, k = 0;
  uint64_t *restrict axes = tide_frontier_axes_of(to), *restrict epochs = axes + most;
  const tide_axis *a_axes = tide_frontier_axes(a), *b_axes = tide_frontier_axes(b);
  const uint64_t *a_epochs = tide_frontier_epochs(a), *b_epochs = tide_frontier_epochs(b);
  for (; i < n && j < m && (roomy || k < most); k++) {
    tide_axis in_a = a_axes[i], in_b = b_axes[j];
    if (in_a < in_b) {
      axes[k] = in_a;
      epochs[k] = a_epochs[i++];
    } else if (in_b < in_a) {
      axes[k] = in_b;
      epochs[k] = b_epochs[j++];
    } else {
      axes[k] = in_a;
      epochs[k] = tide_larger(a_epochs[i++], b_epochs[j++]);
    }
  }
  if (!roomy && k + (n - i) + (m - j) > most) return false;
  for (; i < n; i++, k++) axes[k] = a_axes[i], epochs[k] = a_epochs[i];
  for (; j < m; j++, k++) axes[k] = b_axes[j], epochs[k] = b_epochs[j];
  to->count = (uint8_t)k;
  return true;
}

bool tide_frontier_join(struct tide_frontier *to, uint8_t capacity, const struct tide_frontier *a,
                        const struct tide_frontier *b) {
  to->capacity = capacity;
  to->raised = a->raised;
  if (tide_wide_join(to, a, b)) return true;
  size_t n = a->count, m = b->count;
  if (n + m > capacity) return join_walked(to, a, b, false);
  if (n < ENDS_LEAST || m < ENDS_LEAST) return join_walked(to, a, b, true);
  tide_frontier_join_ends(to, a, b);
  return true;
}
