/* The order of frontiers: dominance, comparison, satisfaction. */
#include "causal/frontier.h"

/* A tainted frontier has needs that are not listed, which no frontier is known to have. */
static inline bool needs_unlisted(const struct tide_frontier *g) { return g->tainted; }

static unsigned order_of_windows(const struct tide_frontier *f, const struct tide_frontier *g) {
  return tide_lanes()->order(tide_window_epochs(f), tide_window_epochs(g), f->window);
}

/* Returns the same bits as tide_lanes' order. Axes mostly agree, so only that is a branch. */
static inline unsigned order_of_lists(struct tide_entries f, struct tide_entries g) {
  size_t i = 0, k = 0;
  unsigned order = 0;
  while (i < f.count && k < g.count) {
    if (f.axes[i] == g.axes[k]) {
      order |= (unsigned)(f.epochs[i] > g.epochs[k]) << 1 | (f.epochs[i] < g.epochs[k]);
      i++, k++;
    } else {
      bool f_first = f.axes[i] < g.axes[k];
      order |= f_first ? 2 : 1;
      i += f_first;
      k += !f_first;
    }
    if (order == 3) return 3;
  }
  return order | (unsigned)(i < f.count) << 1 | (k < g.count);
}

/* The paths with a window are out of line, so that few entries save no registers. */

static __attribute__((noinline)) bool dominates_window(const struct tide_frontier *f,
                                                       const struct tide_frontier *g) {
  if (tide_windows_alike(f, g)) return !(order_of_windows(f, g) & 1);
  return tide_frontier_covers(f, g);
}

bool tide_frontier_dominates(const struct tide_frontier *f, const struct tide_frontier *g) {
  TIDE_CHECK_FRONTIER(f);
  TIDE_CHECK_FRONTIER(g);
  if (needs_unlisted(g) || g->count > f->count) return false;
  if (tide_either_window(f, g)) return dominates_window(f, g);
  return tide_lists_cover(tide_entries_of(f), tide_entries_of(g));
}

/* Adds the taint to the order of the entries: f has, or may have, knowledge that g lacks; and the
 * reverse. */
static inline enum tide_order order_with_taint(unsigned order, const struct tide_frontier *f,
                                               const struct tide_frontier *g) {
  _Static_assert(TIDE_EQUAL == 0 && TIDE_BEFORE == 1 && TIDE_AFTER == 2 && TIDE_CONCURRENT == 3,
                 "two bits");
  return (enum tide_order)(order | (unsigned)needs_unlisted(f) << 1 | needs_unlisted(g));
}

static __attribute__((noinline)) enum tide_order compare_window(const struct tide_frontier *f,
                                                                const struct tide_frontier *g) {
  unsigned order = tide_windows_alike(f, g)
                       ? order_of_windows(f, g)
                       : (unsigned)!tide_frontier_covers(g, f) << 1 | !tide_frontier_covers(f, g);
  return order_with_taint(order, f, g);
}

enum tide_order tide_frontier_compare(const struct tide_frontier *f,
                                      const struct tide_frontier *g) {
  TIDE_CHECK_FRONTIER(f);
  TIDE_CHECK_FRONTIER(g);
  if (tide_either_window(f, g)) return compare_window(f, g);
  return order_with_taint(order_of_lists(tide_entries_of(f), tide_entries_of(g)), f, g);
}

bool tide_frontier_satisfied(const struct tide_frontier *f, struct tide_tracker *tracker,
                             const struct tide_frontier *g) {
  if (needs_unlisted(g)) return false;
  struct tide_frontier_entry need;
  for (struct tide_frontier_cursor at = tide_frontier_begin(g); tide_frontier_next(&at, &need);) {
    if (tide_frontier_get(f, need.axis) >= need.epoch) continue;
    if (!tracker || !tide_tracker_finished(tracker, need.axis, need.epoch)) return false;
  }
  return true;
}
