/* Frontiers: who knows what the other needs.
 *
 * A frontier with fewer entries than the other cannot know all that it needs, and
 * of two with equally many either both list the same axes or neither dominates. So
 * each question of lists is either one straight loop over equal sets, or one walk of
 * the larger one; windows are compared word by word (frontier_window.c). Short ones
 * come first and in line: nothing pays there but being short. */
#include "causal/frontier.h"
#include "causal/frontier_lanes.h"

#define APART __attribute__((noinline))

/* Taint says that needs are missing from the list, so nobody can know them all. */
static inline bool needs_unlisted(const struct tide_frontier *g) { return g->tainted; }

/* Below, f and g point at axes; the epoch of an axis lies f_epoch (g_epoch) words behind it. */

static inline bool four_lower(const uint64_t *f, const uint64_t *g) {
  return (f[0] < g[0]) | (f[1] < g[1]) | (f[2] < g[2]) | (f[3] < g[3]);
}

/* Equally many, at least 4. */
static inline bool covers_same(const uint64_t *f, size_t f_epoch, const uint64_t *g, size_t g_epoch,
                               size_t count) {
  const uint64_t *end = f + count;
  for (; end - f >= 4; f += 4, g += 4) {
    if ((int)tide_four_differ(f, g) | (int)four_lower(f + f_epoch, g + g_epoch)) return false;
  }
  for (; f < end; f++, g++) {
    if (*f != *g || f[f_epoch] < g[g_epoch]) return false;
  }
  return true;
}

/* g has at least one entry. Once its last axis is not behind f's, f's end need not be looked for:
 * each walk stops before. */
static inline bool covers_walk(const uint64_t *f, size_t f_epoch, size_t n, const uint64_t *g,
                               size_t g_epoch, size_t m) {
  const uint64_t *end = g + m;
  if (f[n - 1] < end[-1]) return false;
  for (; g < end; f++, g++) {
    while (*f < *g) f++;
    if (*f != *g || f[f_epoch] < g[g_epoch]) return false;
  }
  return true;
}

/* m <= n, m > 0: as many of f may be passed over as it has more. Epochs are not branched on, since
 * whether they suffice is what cannot be guessed. */
static inline bool covers_few(const struct tide_frontier *f, size_t n,
                              const struct tide_frontier *g, size_t m) {
  const uint64_t *a = tide_frontier_axes(f), *b = tide_frontier_axes(g), *end = b + m;
  size_t f_epoch = f->capacity, g_epoch = g->capacity, more = n - m;
  bool lower = false;
  do {
    while (*a != *b) {
      if (more-- == 0) return false;
      a++;
    }
    lower |= a[f_epoch] < b[g_epoch];
    a++, b++;
  } while (b != end);
  return !lower;
}

/* Both list something, and f TIDE_WINDOW_LEAST entries or more. */
static inline bool covers_some(const struct tide_frontier *f, const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  if (tide_either_window(f, g)) return tide_window_covers(f, g);
  if (m < n)
    return covers_walk(tide_frontier_axes(f), f->capacity, n, tide_frontier_axes(g), g->capacity,
                       m);
  return covers_same(tide_frontier_axes(f), f->capacity, tide_frontier_axes(g), g->capacity, n);
}

APART static bool dominates_many(const struct tide_frontier *f, const struct tide_frontier *g) {
  if (g->count > f->count) return false;
  return g->count == 0 || covers_some(f, g);
}

TIDE_HOT bool tide_frontier_dominates(const struct tide_frontier *f,
                                      const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  TIDE_CHECK_FRONTIER(f);
  TIDE_CHECK_FRONTIER(g);
  if (needs_unlisted(g)) return false;
  if (n >= TIDE_WINDOW_LEAST) return dominates_many(f, g);
  if (m > n) return false;
  return m == 0 || covers_few(f, n, g, m);
}

/* Equally many: both dominances at once. */
static inline enum tide_order compare_same(const struct tide_frontier *f,
                                           const struct tide_frontier *g, size_t count) {
  const uint64_t *a = tide_frontier_axes(f), *b = tide_frontier_axes(g), *end = a + count;
  size_t f_epoch = f->capacity, g_epoch = g->capacity;
  bool f_has = needs_unlisted(f), g_has = needs_unlisted(g);
  for (; end - a >= 4; a += 4, b += 4) {
    if (tide_four_differ(a, b) | (f_has & g_has)) return TIDE_CONCURRENT;
    f_has |= four_lower(b + g_epoch, a + f_epoch);
    g_has |= four_lower(a + f_epoch, b + g_epoch);
  }
  /* At most three: that one differs could not be guessed. */
  bool differ = false;
  for (; a < end; a++, b++) {
    differ |= *a != *b;
    f_has |= a[f_epoch] > b[g_epoch];
    g_has |= a[f_epoch] < b[g_epoch];
  }
  return tide_order_of(f_has | differ, g_has | differ);
}

APART static enum tide_order compare_any(const struct tide_frontier *f,
                                         const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  bool f_has = needs_unlisted(f), g_has = needs_unlisted(g);
  if (tide_windows_alike(f, g)) {
    unsigned order = tide_lanes_order(tide_window_epochs(f), tide_window_epochs(g), f->window);
    return tide_order_of(order >> 1 | f_has, (order & 1) | g_has);
  }
  if (n > m) return tide_order_of(true, g_has || (m != 0 && !covers_some(f, g)));
  if (n < m) return tide_order_of(f_has || (n != 0 && !covers_some(g, f)), true);
  if (tide_either_window(f, g)) return tide_window_compare(f, g, f_has, g_has);
  return compare_same(f, g, n);
}

TIDE_HOT enum tide_order tide_frontier_compare(const struct tide_frontier *f,
                                               const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  TIDE_CHECK_FRONTIER(f);
  TIDE_CHECK_FRONTIER(g);
  if ((n | m) >= TIDE_WINDOW_LEAST) return compare_any(f, g);
  if (n == m) return compare_same(f, g, n);
  if (n > m) return tide_order_of(true, needs_unlisted(g) || (m != 0 && !covers_few(f, n, g, m)));
  return tide_order_of(needs_unlisted(f) || (n != 0 && !covers_few(g, m, f, n)), true);
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
