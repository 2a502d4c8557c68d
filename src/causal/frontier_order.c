/* Frontiers: who knows what the other needs.
 *
 * A frontier with fewer entries than the other cannot know all that it needs, and
 * of two with equally many either both list the same axes or neither dominates. So
 * each question is either one straight loop over equal sets, four entries at a
 * time, or one walk of the larger one. */
#include "base/plant.h"
#include "causal/frontier.h"

struct sides {
  const tide_axis *f_axes, *g_axes;
  const uint64_t *f_epochs, *g_epochs;
};

static inline struct sides sides_of(const struct tide_frontier *f, const struct tide_frontier *g) {
  return (struct sides){tide_frontier_axes(f), tide_frontier_axes(g), tide_frontier_epochs(f),
                        tide_frontier_epochs(g)};
}

/* Taint says that needs are missing from the list, so nobody can know them all. */
static bool needs_unlisted(const struct tide_frontier *g) {
  return g->tainted && !TIDE_PLANTED(TIDE_PLANT_TAINTRIGHT);
}

static inline bool four_lower(const uint64_t *f, const uint64_t *g) {
  return (f[0] < g[0]) | (f[1] < g[1]) | (f[2] < g[2]) | (f[3] < g[3]);
}

/* How many of the first entries are looked at one by one, so that fours are left: the first ones
 * often tell already. count > 0. */
static inline size_t singles_of(size_t count) { return 1 + (count - 1) % 4; }

/* Equally many, not none. */
static inline bool covers_same(struct sides s, size_t count) {
  size_t i = 0;
  for (size_t singles = singles_of(count); i < singles; i++) {
    if (s.f_axes[i] != s.g_axes[i] || s.f_epochs[i] < s.g_epochs[i]) return false;
  }
  for (; i < count; i += 4) {
    if (tide_four_differ(s.f_axes + i, s.g_axes + i) | four_lower(s.f_epochs + i, s.g_epochs + i))
      return false;
  }
  return true;
}

/* 0 < m <= n. Once g's last axis is not behind f's, f's need not be looked for: it stops the walk. */
static inline bool covers_walk(struct sides s, size_t n, size_t m) {
  if (s.f_axes[n - 1] < s.g_axes[m - 1]) return false;
  size_t i = 0;
  for (size_t j = 0; j < m; j++, i++) {
    tide_axis axis = s.g_axes[j];
    while (s.f_axes[i] < axis) i++;
    if (s.f_axes[i] != axis || s.f_epochs[i] < s.g_epochs[j]) return false;
  }
  return true;
}

bool tide_frontier_dominates(const struct tide_frontier *f, const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  if (needs_unlisted(g) || m > n) return false;
  if (m == 0) return true;
  struct sides s = sides_of(f, g);
  return n == m && n >= 4 ? covers_same(s, n) : covers_walk(s, n, m);
}

/* Equally many: both dominances at once. `f_has` (`g_has`): f (g) has or may have what the other
 * lacks, so the other does not dominate it. */
static inline enum tide_order compare_same(struct sides s, size_t count, bool f_has, bool g_has) {
  size_t i = 0;
  for (size_t singles = count ? singles_of(count) : 0; i < singles; i++) {
    if (s.f_axes[i] != s.g_axes[i]) return TIDE_CONCURRENT;
    f_has |= s.f_epochs[i] > s.g_epochs[i];
    g_has |= s.f_epochs[i] < s.g_epochs[i];
  }
  for (; i < count; i += 4) {
    if (tide_four_differ(s.f_axes + i, s.g_axes + i) | (f_has & g_has)) return TIDE_CONCURRENT;
    f_has |= four_lower(s.g_epochs + i, s.f_epochs + i);
    g_has |= four_lower(s.f_epochs + i, s.g_epochs + i);
  }
  if (f_has) return g_has ? TIDE_CONCURRENT : TIDE_AFTER;
  return g_has ? TIDE_BEFORE : TIDE_EQUAL;
}

enum tide_order tide_frontier_compare(const struct tide_frontier *f, const struct tide_frontier *g) {
  if (f->count > g->count) return tide_frontier_dominates(f, g) ? TIDE_AFTER : TIDE_CONCURRENT;
  if (f->count < g->count) return tide_frontier_dominates(g, f) ? TIDE_BEFORE : TIDE_CONCURRENT;
  return compare_same(sides_of(f, g), f->count, needs_unlisted(f), needs_unlisted(g));
}

bool tide_frontier_satisfied(const struct tide_frontier *f, struct tide_tracker *tracker,
                             const struct tide_frontier *g) {
  if (needs_unlisted(g)) return false;
  struct sides s = sides_of(f, g);
  size_t i = 0, n = f->count;
  for (size_t j = 0; j < g->count; j++) {
    tide_axis axis = s.g_axes[j];
    uint64_t epoch = s.g_epochs[j];
    while (i < n && s.f_axes[i] < axis) i++;
    if (i < n && s.f_axes[i] == axis && s.f_epochs[i] >= epoch) continue;
    if (!tracker || !tide_tracker_finished(tracker, axis, epoch)) return false;
  }
  return true;
}
