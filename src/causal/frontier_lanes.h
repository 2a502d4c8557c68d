/* causal/frontier_lanes.h: four words at a time, for the files that have vectors. */
#ifndef TIDE_CAUSAL_FRONTIER_LANES_H
#define TIDE_CAUSAL_FRONTIER_LANES_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define WIDE __attribute__((target("avx2,popcnt")))
#define WIDE_INLINE static inline __attribute__((always_inline, target("avx2,popcnt")))

WIDE_INLINE __m256i load(const uint64_t *at) {
  return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

WIDE_INLINE void store(uint64_t *at, __m256i words) {
  _mm256_storeu_si256((__m256i *)(void *)at, words);
}

WIDE_INLINE __m256i all(uint64_t word) { return _mm256_set1_epi64x((int64_t)word); }

/* The sign of each lane, as four bits. */
WIDE_INLINE unsigned signs(__m256i words) {
  return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(words));
}

/* All ones where a < b, as unsigned numbers. */
WIDE_INLINE __m256i below(__m256i a, __m256i b) {
  const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
  return _mm256_cmpgt_epi64(_mm256_xor_si256(b, sign), _mm256_xor_si256(a, sign));
}

WIDE_INLINE bool any(__m256i bits) { return !_mm256_testz_si256(bits, bits); }

#endif
