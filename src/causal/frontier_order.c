/* Frontiers: who knows what the other needs.
 *
 * A frontier with fewer entries than the other cannot know all that it needs, and
 * of two with equally many either both list the same axes or neither dominates. So
 * each question is either one straight loop over equal sets, four entries at a
 * time, or one walk of the larger one. */
#include "base/plant.h"
#include "causal/frontier.h"

/* Taint says that needs are missing from the list, so nobody can know them all. */
static inline bool needs_unlisted(const struct tide_frontier *g) {
  return g->tainted && !TIDE_PLANTED(TIDE_PLANT_TAINTRIGHT);
}

/* Below, f and g point at axes; the epoch of an axis lies f_epoch (g_epoch) words behind it. The
 * loop by fours is not inlined, so that the function before it has no registers to save. */

static inline bool four_lower(const uint64_t *f, const uint64_t *g) {
  return (f[0] < g[0]) | (f[1] < g[1]) | (f[2] < g[2]) | (f[3] < g[3]);
}

/* How many of the first entries are looked at one by one, so that fours are left: the first ones
 * often tell already. count > 0. */
static inline size_t singles_of(size_t count) { return 1 + (count - 1) % 4; }

/* Equally many, at least one. */
__attribute__((noinline)) static bool covers_same(const uint64_t *f, size_t f_epoch,
                                                  const uint64_t *g, size_t g_epoch, size_t count) {
  const uint64_t *end = f + count;
  for (const uint64_t *singles = f + singles_of(count); f < singles; f++, g++) {
    if (*f != *g || f[f_epoch] < g[g_epoch]) return false;
  }
  for (; f < end; f += 4, g += 4) {
    if ((int)tide_four_differ(f, g) | (int)four_lower(f + f_epoch, g + g_epoch)) return false;
  }
  return true;
}

/* Once g's last axis is not behind f's, f's end need not be looked for: each walk stops before. */
static inline bool covers_walk(const uint64_t *f, size_t f_epoch, size_t n, const uint64_t *g,
                               size_t g_epoch, size_t m) {
  const uint64_t *end = g + m;
  if (m > 0 && f[n - 1] < end[-1]) return false;
  for (; g < end; f++, g++) {
    while (*f < *g) f++;
    if (*f != *g || f[f_epoch] < g[g_epoch]) return false;
  }
  return true;
}

__attribute__((noinline)) static bool dominates_many(const struct tide_frontier *f,
                                                     const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  if (m < n)
    return covers_walk(tide_frontier_axes(f), f->capacity, n, tide_frontier_axes(g), g->capacity,
                       m);
  return covers_same(tide_frontier_axes(f), f->capacity, tide_frontier_axes(g), g->capacity, n);
}

bool tide_frontier_dominates(const struct tide_frontier *f, const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  if (needs_unlisted(g)) return false;
  if (m > n) return false;
  if (m > 3) return dominates_many(f, g);
  /* A few: nothing pays but being short. */
  const tide_axis *have = tide_frontier_axes(f), *need = tide_frontier_axes(g);
  const uint64_t *have_epochs = tide_frontier_epochs(f), *need_epochs = tide_frontier_epochs(g);
  size_t i = 0;
  for (size_t j = 0; j < m; j++, i++) {
    while (i < n && have[i] < need[j]) i++;
    if (i == n || have[i] != need[j] || have_epochs[i] < need_epochs[j]) return false;
  }
  return true;
}

/* Equally many: both dominances at once. `f_has` (`g_has`): f (g) has or may have what the other
 * lacks, so the other does not dominate it. */
static inline enum tide_order compare_same(const uint64_t *f, size_t f_epoch, const uint64_t *g,
                                           size_t g_epoch, size_t count, bool f_has, bool g_has) {
  const uint64_t *end = f + count;
  for (const uint64_t *singles = count ? f + singles_of(count) : f; f < singles; f++, g++) {
    if (*f != *g) return TIDE_CONCURRENT;
    f_has |= f[f_epoch] > g[g_epoch];
    g_has |= f[f_epoch] < g[g_epoch];
  }
  for (; f < end; f += 4, g += 4) {
    if (tide_four_differ(f, g) | (f_has & g_has)) return TIDE_CONCURRENT;
    f_has |= four_lower(g + g_epoch, f + f_epoch);
    g_has |= four_lower(f + f_epoch, g + g_epoch);
  }
  if (f_has) return g_has ? TIDE_CONCURRENT : TIDE_AFTER;
  return g_has ? TIDE_BEFORE : TIDE_EQUAL;
}

enum tide_order tide_frontier_compare(const struct tide_frontier *f,
                                      const struct tide_frontier *g) {
  if (f->count > g->count) return tide_frontier_dominates(f, g) ? TIDE_AFTER : TIDE_CONCURRENT;
  if (f->count < g->count) return tide_frontier_dominates(g, f) ? TIDE_BEFORE : TIDE_CONCURRENT;
  return compare_same(tide_frontier_axes(f), f->capacity, tide_frontier_axes(g), g->capacity,
                      f->count, needs_unlisted(f), needs_unlisted(g));
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
