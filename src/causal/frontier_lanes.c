/* The loops over windows: in portable words, and in vectors for processors that have them. */
#include "causal/frontier.h"

/* Counting needs no branch for each word: compilers add the carry. */

static size_t max_portable(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words) {
  size_t listed = 0;
  for (const uint64_t *end = a + words; a < end; to += 8, a += 8, b += 8) {
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++) {
      uint64_t larger = tide_larger(a[i], b[i]);
      listed += larger != 0;
      to[i] = larger;
    }
  }
  return listed;
}

static unsigned order_portable(const uint64_t *f, const uint64_t *g, size_t words) {
  size_t higher = 0, lower = 0;
  for (const uint64_t *end = f + words; f < end; f += 8, g += 8) {
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++) {
      higher += g[i] < f[i];
      lower += f[i] < g[i];
    }
    if (higher && lower) return 3;
  }
  return (unsigned)(higher != 0) << 1 | (lower != 0);
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Four words at once. Of 512 bits almost every load would cross a cache line. The bodies are the
 * same for both tiers: `larger` is a comparison and a blend, or one instruction. */

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512vl")))
#define AVX2_INLINE static inline __attribute__((always_inline, target("avx2")))
#define AVX512_INLINE static inline __attribute__((always_inline, target("avx512f,avx512vl")))

typedef __m256i larger_function(__m256i a, __m256i b);

/* AVX2 compares signed words only: both signs are turned over. */
AVX2_INLINE __m256i larger_avx2(__m256i a, __m256i b) {
  const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
  __m256i above = _mm256_cmpgt_epi64(_mm256_xor_si256(b, sign), _mm256_xor_si256(a, sign));
  return _mm256_blendv_epi8(a, b, above);
}
AVX512_INLINE __m256i larger_avx512(__m256i a, __m256i b) { return _mm256_max_epu64(a, b); }

AVX2_INLINE __m256i load_four(const uint64_t *at) {
  return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

AVX2_INLINE size_t max_by(larger_function *larger_of, uint64_t *to, const uint64_t *a,
                          const uint64_t *b, size_t words) {
  __m256i absent = _mm256_setzero_si256();
  for (size_t i = 0; i < words; i += 8) {
#pragma GCC unroll 2
    for (size_t k = i; k < i + 8; k += 4) {
      __m256i larger = larger_of(load_four(a + k), load_four(b + k));
      absent = _mm256_add_epi64(absent, _mm256_cmpeq_epi64(larger, _mm256_setzero_si256()));
      _mm256_storeu_si256((__m256i *)(void *)(to + k), larger);
    }
  }
  uint64_t lane[4]; /* each a negative count */
  _mm256_storeu_si256((__m256i *)(void *)lane, absent);
  return words + (size_t)(lane[0] + lane[1] + lane[2] + lane[3]);
}

AVX2_INLINE bool is_any_set(__m256i words) { return !_mm256_testz_si256(words, words); }

/* A word is lower where it is not the larger one. */
AVX2_INLINE unsigned order_by(larger_function *larger_of, const uint64_t *f, const uint64_t *g,
                              size_t words) {
  __m256i higher = _mm256_setzero_si256(), lower = higher;
  for (size_t i = 0; i < words; i += 8) {
#pragma GCC unroll 2
    for (size_t k = i; k < i + 8; k += 4) {
      __m256i x = load_four(f + k), y = load_four(g + k), larger = larger_of(x, y);
      lower = _mm256_or_si256(lower, _mm256_xor_si256(larger, x));
      higher = _mm256_or_si256(higher, _mm256_xor_si256(larger, y));
    }
    if (is_any_set(higher) && is_any_set(lower)) return 3;
  }
  return (unsigned)is_any_set(higher) << 1 | is_any_set(lower);
}

AVX2 static size_t max_avx2(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words) {
  return max_by(larger_avx2, to, a, b, words);
}
AVX2 static unsigned order_avx2(const uint64_t *f, const uint64_t *g, size_t words) {
  return order_by(larger_avx2, f, g, words);
}
AVX512 static size_t max_avx512(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words) {
  return max_by(larger_avx512, to, a, b, words);
}
AVX512 static unsigned order_avx512(const uint64_t *f, const uint64_t *g, size_t words) {
  return order_by(larger_avx512, f, g, words);
}
#endif

const struct tide_lanes tide_lanes_of_tier[TIDE_TIER_COUNT] = {
    [TIDE_TIER_PORTABLE] = {max_portable, order_portable},
#if defined(__x86_64__)
    [TIDE_TIER_AVX2] = {max_avx2, order_avx2},
    [TIDE_TIER_AVX512] = {max_avx512, order_avx512},
#endif
};
