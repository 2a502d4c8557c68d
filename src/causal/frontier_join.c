/* Joining two frontiers in a third: what a queue does that keeps the old one. As many as there are
 * vectors for at once; else few one after the other, and many from both ends (frontier_merge.c). */
#include "causal/frontier.h"
#include "causal/frontier_wide.h"

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

static void map_joined(struct tide_frontier *to, const struct tide_frontier *a,
                       const struct tide_frontier *b) {
  if (a->count == 0 || b->count == 0) tide_frontier_copy_map(to, a->count ? a : b);
  else if (a->count >= TIDE_FRONTIER_MAP_LEAST)
    tide_frontier_map_grown(to, tide_frontier_axes(a)[0], tide_frontier_map(a), b);
  else if (b->count >= TIDE_FRONTIER_MAP_LEAST)
    tide_frontier_map_grown(to, tide_frontier_axes(b)[0], tide_frontier_map(b), a);
  else tide_frontier_remap(to);
}

/* What they list may be enough for a map. */
__attribute__((noinline)) static bool
join_many(struct tide_frontier *to, const struct tide_frontier *a, const struct tide_frontier *b) {
  size_t n = a->count, m = b->count;
  bool fits = n >= TIDE_ENDS_LEAST && m >= TIDE_ENDS_LEAST ? tide_frontier_join_ends(to, a, b)
              : n + m <= to->capacity                      ? join_walked(to, a, b, true)
                                                           : join_tight(to, a, b);
  if (fits && to->count >= TIDE_FRONTIER_MAP_LEAST) map_joined(to, a, b);
  return fits;
}

bool tide_frontier_join(struct tide_frontier *to, uint8_t capacity, const struct tide_frontier *a,
                        const struct tide_frontier *b) {
  TIDE_CHECK_MAP(a);
  TIDE_CHECK_MAP(b);
  to->capacity = capacity;
  to->raised = a->raised;
  if (tide_wide_join(to, a, b)) return true;
  size_t n = a->count, m = b->count;
  if (n + m >= TIDE_FRONTIER_MAP_LEAST) return join_many(to, a, b);
  return n + m <= capacity ? join_walked(to, a, b, true) : join_tight(to, a, b);
}
