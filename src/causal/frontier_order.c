/* Frontiers: who knows what the other needs.
 *
 * A frontier with fewer entries than the other cannot know all that it needs, and
 * of two with equally many either both list the same axes or neither dominates. So
 * each question is either one straight loop over equal sets, or one walk of the
 * larger one. */
#include "base/plant.h"
#include "causal/frontier.h"

/* Taint says that needs are missing from the list, so nobody can know them all. */
static bool needs_unlisted(const struct tide_frontier *g) {
  return g->tainted && !TIDE_PLANTED(TIDE_PLANT_TAINTRIGHT);
}

/* Are all listed entries of g covered by f's? */
static bool covers(const struct tide_frontier *f, const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  if (m > n) return false;
  const tide_axis *f_axes = tide_frontier_axes(f), *g_axes = tide_frontier_axes(g);
  const uint64_t *f_epochs = tide_frontier_epochs(f), *g_epochs = tide_frontier_epochs(g);
  size_t i = 0;
  for (size_t j = 0; j < m; j++, i++) {
    while (i < n && f_axes[i] < g_axes[j]) i++;
    if (i == n || f_axes[i] != g_axes[j] || f_epochs[i] < g_epochs[j]) return false;
  }
  return true;
}

bool tide_frontier_dominates(const struct tide_frontier *f, const struct tide_frontier *g) {
  return !needs_unlisted(g) && covers(f, g);
}

enum tide_order tide_frontier_compare(const struct tide_frontier *f, const struct tide_frontier *g) {
  bool after = tide_frontier_dominates(f, g), before = tide_frontier_dominates(g, f);
  if (after) return before ? TIDE_EQUAL : TIDE_AFTER;
  return before ? TIDE_BEFORE : TIDE_CONCURRENT;
}

bool tide_frontier_satisfied(const struct tide_frontier *f, struct tide_tracker *tracker,
                             const struct tide_frontier *g) {
  if (needs_unlisted(g)) return false;
  const tide_axis *f_axes = tide_frontier_axes(f), *g_axes = tide_frontier_axes(g);
  const uint64_t *f_epochs = tide_frontier_epochs(f), *g_epochs = tide_frontier_epochs(g);
  size_t i = 0, n = f->count;
  for (size_t j = 0; j < g->count; j++) {
    while (i < n && f_axes[i] < g_axes[j]) i++;
    if (i < n && f_axes[i] == g_axes[j] && f_epochs[i] >= g_epochs[j]) continue;
    if (!tracker || !tide_tracker_finished(tracker, g_axes[j], g_epochs[j])) return false;
  }
  return true;
}
