/* Few entries, whose axes lie close together: each goes straight to its place.
 *
 * A walk of two short lists is mostly wrong guesses, each of which takes as long as a dozen
 * comparisons. So here all axes become bits of one word, and how many bits lie below an axis' own
 * is its place in the union: no branch asks for the outcome. Word by word: it needs no vectors, and
 * `to` may have been written just now, where wide loads would wait. */
#include "causal/frontier.h"
#include "causal/frontier_lanes.h"

#if TIDE_HAS_WIDE
#include <immintrin.h>

#define COUNTING __attribute__((target("bmi,bmi2,popcnt"), aligned(64)))
#define COUNTING_INLINE static inline __attribute__((always_inline, target("bmi,bmi2,popcnt")))

/* Bit k is the axis base + k. */
COUNTING_INLINE uint64_t bits_of(const tide_axis *axes, size_t count, tide_axis base) {
  uint64_t bits = 0;
  for (size_t i = 0; i < count; i++) {
    bits |= 1ull << (axes[i] & 63);
    __asm__(""); /* few: vectors would be slower */
  }
  return bits >> (base & 63) | bits << (-base & 63);
}

COUNTING_INLINE size_t place_of(uint64_t bits, uint64_t at) {
  return (size_t)__builtin_popcountll(_bzhi_u64(bits, (unsigned)at));
}

/* What f lists goes to its place, the last first, as in place none moves down; then g's go to
 * theirs. */
COUNTING static bool join_counting(struct tide_frontier *to, const struct tide_frontier *f,
                                   const struct tide_frontier *g) {
  uint64_t *axes = tide_frontier_axes_of(to), *epochs = tide_frontier_epochs_of(to);
  const uint64_t *a_axes = tide_frontier_axes(f), *a_epochs = a_axes + f->capacity;
  const uint64_t *b_axes = tide_frontier_axes(g), *b_epochs = b_axes + g->capacity;
  size_t n = f->count, m = g->count;
  tide_axis base;
  if (tide_span_of_both(f, g, &base) >= 64) return false;
  uint64_t in_a = bits_of(a_axes, n, base), in_one = in_a | bits_of(b_axes, m, base);
  size_t total = (size_t)__builtin_popcountll(in_one);
  if (total > to->capacity) return false;
  to->count = (uint8_t)total;
  for (size_t i = n; i-- > 0;) {
    uint64_t axis = a_axes[i], epoch = a_epochs[i];
    size_t place = place_of(in_one, axis - base);
    axes[place] = axis;
    epochs[place] = epoch;
  }
  for (size_t j = 0; j < m; j++) {
    uint64_t axis = b_axes[j], epoch = b_epochs[j];
    size_t place = place_of(in_one, axis - base);
    uint64_t old = epochs[place] & (0 - (in_a >> (axis - base) & 1));
    axes[place] = axis;
    epochs[place] = old < epoch ? epoch : old;
  }
  return true;
}

bool tide_few_join(struct tide_frontier *to, const struct tide_frontier *f,
                   const struct tide_frontier *g) {
  return tide_frontier_wide() && join_counting(to, f, g);
}
#else
bool tide_few_join(struct tide_frontier *to, const struct tide_frontier *f,
                   const struct tide_frontier *g) {
  (void)to, (void)f, (void)g;
  return false;
}
#endif
