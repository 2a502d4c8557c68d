/* The order of frontiers: dominance, comparison, satisfaction. */
#include "causal/frontier.h"

/* A tainted frontier has needs that are not listed, which no frontier is known to have. */
static inline bool needs_unlisted(const struct tide_frontier *g) { return g->tainted; }

/* Returns two bits: f has, or may have, knowledge that g lacks; and the reverse. */
static enum tide_order order_of(bool f_has, bool g_has) {
  _Static_assert(TIDE_EQUAL == 0 && TIDE_BEFORE == 1 && TIDE_AFTER == 2 && TIDE_CONCURRENT == 3,
                 "two bits");
  return (enum tide_order)((unsigned)f_has << 1 | (unsigned)g_has);
}

static unsigned order_of_windows(const struct tide_frontier *f, const struct tide_frontier *g) {
  return tide_lanes()->order(tide_window_epochs(f), tide_window_epochs(g), f->window);
}

bool tide_frontier_dominates(const struct tide_frontier *f, const struct tide_frontier *g) {
  TIDE_CHECK_FRONTIER(f);
  TIDE_CHECK_FRONTIER(g);
  if (needs_unlisted(g) || g->count > f->count) return false;
  if (tide_windows_alike(f, g)) return !(order_of_windows(f, g) & 1);
  return tide_frontier_covers(f, g);
}

enum tide_order tide_frontier_compare(const struct tide_frontier *f,
                                      const struct tide_frontier *g) {
  bool f_has = needs_unlisted(f), g_has = needs_unlisted(g);
  TIDE_CHECK_FRONTIER(f);
  TIDE_CHECK_FRONTIER(g);
  if (tide_windows_alike(f, g)) {
    unsigned order = order_of_windows(f, g);
    return order_of(f_has || order >> 1, g_has || (order & 1));
  }
  return order_of(f_has || !tide_frontier_covers(g, f), g_has || !tide_frontier_covers(f, g));
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
