/* tiers.h: a test once with each tier of the processor's instructions for frontiers. */
#ifndef TESTS_UNIT_TIERS_H
#define TESTS_UNIT_TIERS_H

#include "causal/frontier_lanes.h"
#include "harness.h"

#define TIERS 3

static inline void be_of_tier(unsigned tier) {
#if TIDE_HAS_WIDE
  _Static_assert(TIERS == TIDE_TIER_COUNT, "all are tested");
  static const char *const needs[] = {"nothing", "AVX2, BMI, BMI2 and POPCNT", "AVX-512 with VL"};
  if (tier > tide_frontier_best_tier()) SKIP("this processor has no %s", needs[tier]);
  tide_frontier_tier = (uint8_t)tier;
#else
  if (tier > 0) SKIP("no other processor than x86-64 has tiers");
#endif
}

#define EACH_TIER(what)                                                                            \
  TEST(what##_portable) { what(TIDE_TIER_PORTABLE); }                                              \
  TEST(what##_wide) { what(TIDE_TIER_WIDE); }                                                      \
  TEST(what##_eight) { what(TIDE_TIER_EIGHT); }
#define CASES(what) CASE(what##_portable), CASE(what##_wide), CASE(what##_eight)

#endif
