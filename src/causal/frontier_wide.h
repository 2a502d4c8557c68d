/* causal/frontier_wide.h: frontiers of TIDE_WIDE_LEAST entries and more, with 256-bit
 * instructions where the processor has them. Whoever calls asks tide_frontier_wide() first; the
 * portable code beside the call does the same, entry for entry. */
#ifndef TIDE_CAUSAL_FRONTIER_WIDE_H
#define TIDE_CAUSAL_FRONTIER_WIDE_H

#include "tidemark/causal.h"

/* Below, the portable code is as fast. */
#define TIDE_WIDE_LEAST 8

#if defined(__x86_64__)
#define TIDE_HAS_WIDE 1
/* For tests: the portable code only. */
extern bool tide_frontier_narrow;
static inline bool tide_frontier_wide(void) {
  return __builtin_cpu_supports("avx2") && !tide_frontier_narrow;
}
/* Both lists have equally many entries, at least TIDE_WIDE_LEAST. */
bool tide_wide_covers_same(const struct tide_frontier *f, const struct tide_frontier *g);
enum tide_order tide_wide_compare_same(const struct tide_frontier *f, const struct tide_frontier *g,
                                       bool f_has, bool g_has);
/* f has at least TIDE_WIDE_LEAST entries, g at least 4 and fewer than f. TIDE_WALK: the axes lie
 * too far apart for this. */
enum { TIDE_NO, TIDE_YES, TIDE_WALK };
unsigned tide_wide_covers(const struct tide_frontier *f, const struct tide_frontier *g);
/* tide_frontier_get. It has at least TIDE_WIDE_LEAST entries. */
uint64_t tide_wide_get(const struct tide_frontier *frontier, tide_axis axis);
/* Each has at least 4 entries and neither is the other. False, and nothing is done: the axes lie
 * too far apart for this, or the room is too small. */
bool tide_wide_merge(struct tide_frontier *to, const struct tide_frontier *from);
/* frontier_few.c: each has 1 to TIDE_FEW_MOST entries and neither is the other. False, and nothing
 * is done: the axes lie too far apart for this, or the room is too small. */
#define TIDE_FEW_MOST 8
bool tide_few_merge(struct tide_frontier *to, const struct tide_frontier *from);
#else
#define TIDE_HAS_WIDE 0
static inline bool tide_frontier_wide(void) { return false; }
#endif

#endif
