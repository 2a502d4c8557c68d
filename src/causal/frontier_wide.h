/* causal/frontier_wide.h: frontiers with what not every x86-64 has: 256-bit instructions
 * (frontier_wide.c), 512-bit ones (frontier_eight.c, frontier_eight_merge.c) and counting bits
 * (frontier_few.c). Whoever calls asks tide_frontier_wide() or tide_frontier_eight() first; the
 * portable code beside the call does the same, entry for entry. */
#ifndef TIDE_CAUSAL_FRONTIER_WIDE_H
#define TIDE_CAUSAL_FRONTIER_WIDE_H

#include "tidemark/causal.h"

/* Below, the portable code is as fast. */
#define TIDE_WIDE_LEAST 8

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
/* The parts of AVX-512 up to VBMI2 and VPOPCNTDQ. */
static inline bool tide_frontier_eight(void) { return tide_frontier_tier >= TIDE_TIER_EIGHT; }

/* Both lists have equally many entries, at least TIDE_WIDE_LEAST. */
bool tide_wide_covers_same(const struct tide_frontier *f, const struct tide_frontier *g);
enum tide_order tide_wide_compare_same(const struct tide_frontier *f, const struct tide_frontier *g,
                                       bool f_has, bool g_has);
/* tide_map_covers. */
bool tide_wide_covers(const struct tide_frontier *f, const struct tide_frontier *g);
/* tide_frontier_get. It has at least TIDE_WIDE_LEAST entries. */
uint64_t tide_wide_get(const struct tide_frontier *frontier, tide_axis axis);
/* What f and g know, in a third or in f itself. Each has at least 4 entries. False, and nothing is
 * done: the axes lie too far apart for this, or the room is too small. */
bool tide_four_join(struct tide_frontier *to, const struct tide_frontier *f,
                    const struct tide_frontier *g);

/* The same with 512-bit instructions, for any number of entries but none. */
bool tide_eight_covers_same(const struct tide_frontier *f, const struct tide_frontier *g);
enum tide_order tide_eight_compare_same(const struct tide_frontier *f,
                                        const struct tide_frontier *g, bool f_has, bool g_has);
bool tide_eight_covers(const struct tide_frontier *f, const struct tide_frontier *g);
/* Of g, which needs no map, fewer than 8; f needs none either if it has 8. */
bool tide_eight_covers_few(const struct tide_frontier *f, const struct tide_frontier *g);
uint64_t tide_eight_get(const struct tide_frontier *frontier, tide_axis axis);
/* tide_four_join, but also false where the room of f or g was made for fewer than 7. */
bool tide_eight_join(struct tide_frontier *to, const struct tide_frontier *f,
                     const struct tide_frontier *g);
/* Both list equally many. False, and nothing is done: not the same axes. */
bool tide_eight_merge_same(struct tide_frontier *to, const struct tide_frontier *from);

/* For few, what f and g know, in a third or in f itself: each has an entry. False, and nothing is
 * done: the axes lie too far apart for this, or the room is too small. */
bool tide_few_join(struct tide_frontier *to, const struct tide_frontier *f,
                   const struct tide_frontier *g);
/* tide_map_covers, one of g's entries after the other: it needs no map. */
bool tide_few_covers(const struct tide_frontier *f, const struct tide_frontier *g);

/* With fewer in either, one by one is as fast; in both, as vectors of 512 and of 256 bits. */
#define TIDE_FEW_LEAST 3
#define TIDE_EIGHT_JOIN_LEAST 15
#define TIDE_WIDE_JOIN_LEAST 24

/* What f and g know, in a third or in f itself, as fast as there is a way. False, and nothing is
 * done: there is none. */
static inline bool tide_wide_join(struct tide_frontier *to, const struct tide_frontier *f,
                                  const struct tide_frontier *g) {
  size_t n = f->count, m = g->count, fewer = n < m ? n : m;
  if (fewer < TIDE_FEW_LEAST || !tide_frontier_wide()) return false;
  if (n + m < TIDE_EIGHT_JOIN_LEAST) return tide_few_join(to, f, g);
  if (fewer > TIDE_FEW_LEAST && tide_frontier_eight() && tide_eight_join(to, f, g)) return true;
  if (n + m < TIDE_WIDE_JOIN_LEAST) return tide_few_join(to, f, g);
  return fewer > TIDE_FEW_LEAST && tide_four_join(to, f, g);
}
#else
#define TIDE_HAS_WIDE 0
static inline bool tide_frontier_wide(void) { return false; }
static inline bool tide_frontier_eight(void) { return false; }
static inline bool tide_wide_join(struct tide_frontier *to, const struct tide_frontier *f,
                                  const struct tide_frontier *g) {
  (void)to, (void)f, (void)g;
  return false;
}
#endif

#endif
