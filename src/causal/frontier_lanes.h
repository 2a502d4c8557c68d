/* causal/frontier_lanes.h: windows word by word (frontier_window.h), with the widest instructions
 * that the processor has. Lengths are multiples of 8 words, and may be 0. */
#ifndef TIDE_CAUSAL_FRONTIER_LANES_H
#define TIDE_CAUSAL_FRONTIER_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a processor has; each has the ones before as well. */
enum tide_tier { TIDE_TIER_PORTABLE, TIDE_TIER_WIDE, TIDE_TIER_EIGHT, TIDE_TIER_COUNT };

#if defined(__x86_64__)
#define TIDE_HAS_WIDE 1
/* What is used: the best that there is, found out when the program is loaded. Tests set it lower.
 */
extern uint8_t tide_frontier_tier;
enum tide_tier tide_frontier_best_tier(void);
/* AVX2, BMI, BMI2 and POPCNT. */
static inline bool tide_frontier_wide(void) { return tide_frontier_tier >= TIDE_TIER_WIDE; }
/* AVX-512F and VL as well. */
static inline bool tide_frontier_eight(void) { return tide_frontier_tier >= TIDE_TIER_EIGHT; }
#else
#define TIDE_HAS_WIDE 0
static inline bool tide_frontier_wide(void) { return false; }
static inline bool tide_frontier_eight(void) { return false; }
#endif

/* By the tier. */
#define TIDE_LANES(tier)                                                                           \
  size_t tide_##tier##_max(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words);      \
  void tide_##tier##_larger(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words);     \
  bool tide_##tier##_lower(const uint64_t *f, const uint64_t *g, size_t words);                    \
  unsigned tide_##tier##_order(const uint64_t *f, const uint64_t *g, size_t words);
TIDE_LANES(each)
size_t tide_each_listed(const uint64_t *a, const uint64_t *b, size_t words);
#if TIDE_HAS_WIDE
size_t tide_wide_listed(const uint64_t *a, const uint64_t *b, size_t words);
TIDE_LANES(wide)
TIDE_LANES(eight)
/* Does a window from the axis `first` on have less than one of these needs, at most eight? */
bool tide_eight_needs(const uint64_t *epochs, uint64_t first, size_t words, const uint64_t *axes,
                      const uint64_t *needs, size_t count);
#define TIDE_BEST(what, ...)                                                                       \
  (tide_frontier_eight()  ? tide_eight_##what(__VA_ARGS__)                                         \
   : tide_frontier_wide() ? tide_wide_##what(__VA_ARGS__)                                          \
                          : tide_each_##what(__VA_ARGS__))
#else
#define TIDE_BEST(what, ...) tide_each_##what(__VA_ARGS__)
#endif

/* to = the larger ones. Returns how many words are not 0 then. `to` may be `a`. */
static inline size_t tide_lanes_max(uint64_t *to, const uint64_t *a, const uint64_t *b,
                                    size_t words) {
  return TIDE_BEST(max, to, a, b, words);
}
/* The same where nobody has to be told how many: where no word of `a` is 0 it is all. */
static inline void tide_lanes_larger(uint64_t *to, const uint64_t *a, const uint64_t *b,
                                     size_t words) {
  TIDE_BEST(larger, to, a, b, words);
}
/* How many that would be. */
static inline size_t tide_lanes_listed(const uint64_t *a, const uint64_t *b, size_t words) {
#if TIDE_HAS_WIDE
  if (tide_frontier_wide()) return tide_wide_listed(a, b, words);
#endif
  return tide_each_listed(a, b, words);
}
/* Is any word of f lower than g's? */
static inline bool tide_lanes_lower(const uint64_t *f, const uint64_t *g, size_t words) {
  return TIDE_BEST(lower, f, g, words);
}
/* Bit 1: one of f is higher. Bit 0: one is lower. */
static inline unsigned tide_lanes_order(const uint64_t *f, const uint64_t *g, size_t words) {
  return TIDE_BEST(order, f, g, words);
}

#endif
