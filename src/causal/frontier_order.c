/* Frontiers: who knows what the other needs.
 *
 * A frontier with fewer entries than the other cannot know all that it needs, and
 * of two with equally many either both list the same axes or neither dominates. So
 * each question is either one straight loop over equal sets, or one walk of the
 * larger one. Short ones come first and in line: nothing pays there but being short. */
#include "base/plant.h"
#include "causal/frontier.h"
#include "causal/frontier_map.h"
#include "causal/frontier_wide.h"

/* Without vectors; shorter ones are walked as fast. */
#define MAP_LEAST 16

#define APART __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))

/* Taint says that needs are missing from the list, so nobody can know them all. */
static inline bool needs_unlisted(const struct tide_frontier *g) {
  return g->tainted && !TIDE_PLANTED(TIDE_PLANT_TAINTRIGHT);
}

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

/* From here to dominates_many: no path has what another one would need, so none sets up a frame. */
APART static bool covers_same_many(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_same(tide_frontier_axes(f), f->capacity, tide_frontier_axes(g), g->capacity,
                     f->count);
}

APART static bool covers_walk_many(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_walk(tide_frontier_axes(f), f->capacity, f->count, tide_frontier_axes(g),
                     g->capacity, g->count);
}

/* f has TIDE_WIDE_LEAST entries or more, and g fewer, but some. */
INLINE bool covers_more(const struct tide_frontier *f, const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  const tide_axis *f_axes = tide_frontier_axes(f), *g_axes = tide_frontier_axes(g);
  if (tide_frontier_span(f) >= TIDE_MAP_BITS) return covers_walk_many(f, g);
  if (g_axes[0] < f_axes[0] || g_axes[m - 1] > f_axes[n - 1]) return false;
#if TIDE_HAS_WIDE
  if (tide_frontier_wide()) {
    if (tide_frontier_eight())
      return m < TIDE_WIDE_LEAST ? tide_eight_covers_few(f, g) : tide_eight_covers(f, g);
    if (n >= TIDE_FRONTIER_MAP_LEAST)
      return m < TIDE_FRONTIER_MAP_LEAST ? tide_few_covers(f, g) : tide_wide_covers(f, g);
  }
#endif
  return m < MAP_LEAST ? covers_walk_many(f, g) : tide_map_covers(f, g);
}

/* f has TIDE_WIDE_LEAST entries or more. */
APART static bool dominates_many(const struct tide_frontier *f, const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  if (m > n) return false;
  if (m == 0) return true;
  if (m < n) return covers_more(f, g);
#if TIDE_HAS_WIDE
  if (tide_frontier_eight()) return tide_eight_covers_same(f, g);
  if (tide_frontier_wide()) return tide_wide_covers_same(f, g);
#endif
  return covers_same_many(f, g);
}

TIDE_HOT bool tide_frontier_dominates(const struct tide_frontier *f,
                                      const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  TIDE_CHECK_MAP(f);
  TIDE_CHECK_MAP(g);
  if (needs_unlisted(g)) return false;
  if (n >= TIDE_WIDE_LEAST) return dominates_many(f, g);
  if (m > n) return false;
  return m == 0 || covers_few(f, n, g, m);
}

/* `f_has` (`g_has`): f (g) has or may have what the other lacks, so the other does not dominate. */
static inline enum tide_order order_of(bool f_has, bool g_has) {
  _Static_assert(TIDE_EQUAL == 0 && TIDE_BEFORE == 1 && TIDE_AFTER == 2 && TIDE_CONCURRENT == 3,
                 "two bits");
  return (enum tide_order)((unsigned)f_has << 1 | (unsigned)g_has);
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
  return order_of(f_has | differ, g_has | differ);
}

/* One of them has TIDE_WIDE_LEAST entries or more. */
APART static enum tide_order compare_many(const struct tide_frontier *f,
                                          const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  if (n > m) return order_of(true, needs_unlisted(g) || (m != 0 && !covers_more(f, g)));
  if (n < m) return order_of(needs_unlisted(f) || (n != 0 && !covers_more(g, f)), true);
  if (tide_frontier_axes(f)[0] != tide_frontier_axes(g)[0]) return TIDE_CONCURRENT;
#if TIDE_HAS_WIDE
  if (tide_frontier_eight())
    return tide_eight_compare_same(f, g, needs_unlisted(f), needs_unlisted(g));
  if (tide_frontier_wide())
    return tide_wide_compare_same(f, g, needs_unlisted(f), needs_unlisted(g));
#endif
  return compare_same(f, g, n);
}

TIDE_HOT enum tide_order tide_frontier_compare(const struct tide_frontier *f,
                                               const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  TIDE_CHECK_MAP(f);
  TIDE_CHECK_MAP(g);
  if ((n | m) >= TIDE_WIDE_LEAST) return compare_many(f, g);
  if (n == m) return compare_same(f, g, n);
  if (n > m) return order_of(true, needs_unlisted(g) || (m != 0 && !covers_few(f, n, g, m)));
  return order_of(needs_unlisted(f) || (n != 0 && !covers_few(g, m, f, n)), true);
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
