/* Joining two frontiers in a third: what a queue does that keeps the old one. Windows word by word
 * (frontier_window.c); lists, if they are few, one after the other, else from both ends
 * (frontier_merge.c). */
#include "causal/frontier.h"
#include "causal/frontier_lanes.h"

/* One after the other; which one is next is not branched on. `roomy`: there is room for all. */
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
    size_t of_a = in_a <= in_b, of_b = in_b <= in_a;
    axes[k] = in_a < in_b ? in_a : in_b;
    epochs[k] = tide_larger(a_epochs[i] & (0 - of_a), b_epochs[j] & (0 - of_b));
    i += of_a;
    j += of_b;
  }
  bool of_a = i < n;
  size_t rest = of_a ? n - i : m - j;
  if (!roomy && k + rest > most) return false; /* also where both have some left */
  const uint64_t *rest_axes = of_a ? a_axes + i : b_axes + j;
  const uint64_t *rest_epochs = of_a ? a_epochs + i : b_epochs + j;
  for (size_t x = 0; x < rest; x++) {
    axes[k + x] = rest_axes[x];
    epochs[k + x] = rest_epochs[x];
    __asm__(""); /* few: vectors would be slower */
  }
  to->count = (uint8_t)(k + rest);
  return true;
}

/* Apart, so that the usual way has the registers. */
__attribute__((noinline)) static bool
join_tight(struct tide_frontier *to, const struct tide_frontier *a, const struct tide_frontier *b) {
  return join_walked(to, a, b, false);
}

size_t tide_frontier_union(tide_axis *axes, uint64_t *epochs, size_t most,
                           const struct tide_frontier *a, const struct tide_frontier *b) {
  struct tide_frontier_cursor i = tide_frontier_begin(a), j = tide_frontier_begin(b);
  struct tide_frontier_entry in_a = {0, 0}, in_b = {0, 0};
  bool of_a = tide_frontier_next(&i, &in_a), of_b = tide_frontier_next(&j, &in_b);
  size_t count = 0;
  for (; of_a || of_b; count++) {
    if (count == most) return most + 1;
    bool a_next = of_a && (!of_b || in_a.axis <= in_b.axis);
    bool b_next = of_b && (!of_a || in_b.axis <= in_a.axis);
    axes[count] = a_next ? in_a.axis : in_b.axis;
    epochs[count] = tide_larger(a_next ? in_a.epoch : 0, b_next ? in_b.epoch : 0);
    if (a_next) of_a = tide_frontier_next(&i, &in_a);
    if (b_next) of_b = tide_frontier_next(&j, &in_b);
  }
  return count;
}

/* There is a window, but none for the union: what both list becomes lists. Rare. */
__attribute__((noinline)) static bool join_listed(struct tide_frontier *to,
                                                  const struct tide_frontier *a,
                                                  const struct tide_frontier *b) {
  size_t most = to->capacity;
  size_t count =
      tide_frontier_union(tide_frontier_axes_of(to), tide_frontier_epochs_of(to), most, a, b);
  to->count = (uint8_t)count;
  return count <= most;
}

bool tide_frontier_join(struct tide_frontier *to, uint8_t capacity, const struct tide_frontier *a,
                        const struct tide_frontier *b) {
  size_t n = a->count, m = b->count;
  TIDE_CHECK_FRONTIER(a);
  TIDE_CHECK_FRONTIER(b);
  to->capacity = capacity;
  to->window = 0;
  to->raised = a->raised;
  if (tide_window_worth(a, b)) {
    if (n && m && tide_reach_fits(tide_reach_both(tide_reach_of(a), tide_reach_of(b)), capacity))
      return tide_window_join(to, a, b);
    if (tide_either_window(a, b)) return join_listed(to, a, b);
  }
  if (n >= TIDE_FEW_LEAST && m >= TIDE_FEW_LEAST && tide_few_join(to, a, b)) return true;
  if (n >= TIDE_ENDS_LEAST && m >= TIDE_ENDS_LEAST) return tide_frontier_join_ends(to, a, b);
  return n + m <= capacity ? join_walked(to, a, b, true) : join_tight(to, a, b);
}

bool tide_frontier_join_windows(struct tide_frontier *to, uint8_t capacity, uint8_t room,
                                const struct tide_frontier *a, const struct tide_frontier *b) {
  size_t size = a->window;
  if (!tide_windows_alike(a, b) || !tide_window_fits(size, capacity)) return false;
  size_t count =
      tide_lanes_max(tide_window_epochs_of(to), tide_window_epochs(a), tide_window_epochs(b), size);
  if (count + room > capacity) return false;
  size_t packed = tide_frontier_packed(count, size), wanted = count + room;
  tide_window_set(to, tide_window_first(a), size);
  to->count = (uint8_t)count;
  to->capacity = (uint8_t)(packed < wanted ? wanted : packed);
  return true;
}
