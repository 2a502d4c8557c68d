/* Windows word by word: four at a time, or one; lists against a window eight at a time. */
#include "causal/frontier_lanes.h"

#if TIDE_HAS_WIDE
#include <immintrin.h>

#define WIDE __attribute__((target("avx2")))
#define WIDE_INLINE static inline __attribute__((always_inline, target("avx2")))
#define EIGHT __attribute__((target("avx512f,avx512vl,bmi2")))
#define EIGHT_INLINE static inline __attribute__((always_inline, target("avx512f,avx512vl,bmi2")))

uint8_t tide_frontier_tier;

enum tide_tier tide_frontier_best_tier(void) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
    return TIDE_TIER_PORTABLE;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl"))
    return TIDE_TIER_WIDE;
  return TIDE_TIER_EIGHT;
}

/* Before main, so that asking is a look at one byte; whoever comes before that is portable. What
 * the processor has was found out before: that constructor is of a higher priority. */
__attribute__((constructor)) static void find_tier(void) {
  tide_frontier_tier = (uint8_t)tide_frontier_best_tier();
}

/* ---- four at a time ---- */

/* Which of two words is the larger one; and `or`, or not 0 as well where f is lower than g. */
typedef __m256i four_larger(__m256i a, __m256i b);
typedef __m256i or_lower(__m256i or, __m256i f, __m256i g);

/* There is no instruction for it: words are compared as signed ones, with their signs turned over.
 */
WIDE_INLINE __m256i above_wide(__m256i a, __m256i b) {
  const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
  return _mm256_cmpgt_epi64(_mm256_xor_si256(a, sign), _mm256_xor_si256(b, sign));
}
WIDE_INLINE __m256i larger_wide(__m256i a, __m256i b) {
  return _mm256_blendv_epi8(a, b, above_wide(b, a));
}
WIDE_INLINE __m256i or_lower_wide(__m256i or, __m256i f, __m256i g) {
  return _mm256_or_si256(or, above_wide(g, f));
}

/* There is one, and f is lower where it is not the larger. Of 512-bit vectors almost every load
 * would cross a line, and some processors would become slower for a while. */
EIGHT_INLINE __m256i larger_eight(__m256i a, __m256i b) { return _mm256_max_epu64(a, b); }
EIGHT_INLINE __m256i or_lower_eight(__m256i or, __m256i f, __m256i g) {
  return _mm256_or_si256(or, _mm256_xor_si256(larger_eight(f, g), f));
}

/* The empty asm keeps compilers from loading once for each use. */
WIDE_INLINE __m256i load(const uint64_t *at) {
  __m256i words = _mm256_loadu_si256((const __m256i *)(const void *)at);
  __asm__("" : "+x"(words));
  return words;
}

/* Counts down where a word is 0. */
WIDE_INLINE __m256i count_absent(__m256i absent, __m256i words) {
  return _mm256_add_epi64(absent, _mm256_cmpeq_epi64(words, _mm256_setzero_si256()));
}

WIDE_INLINE size_t listed_of(size_t words, __m256i absent) {
  uint64_t lane[4];
  _mm256_storeu_si256((__m256i *)(void *)lane, absent);
  return words + (size_t)(lane[0] + lane[1] + lane[2] + lane[3]);
}

WIDE_INLINE size_t max_by(four_larger *larger_of, uint64_t *to, const uint64_t *a,
                          const uint64_t *b, size_t words) {
  __m256i absent = _mm256_setzero_si256();
  for (size_t i = 0; i < words; i += 8) {
#pragma GCC unroll 2
    for (size_t k = 0; k < 8; k += 4) {
      __m256i larger = larger_of(load(a + i + k), load(b + i + k));
      absent = count_absent(absent, larger);
      _mm256_storeu_si256((__m256i *)(void *)(to + i + k), larger);
    }
  }
  return listed_of(words, absent);
}

WIDE_INLINE void larger_by(four_larger *larger_of, uint64_t *to, const uint64_t *a,
                           const uint64_t *b, size_t words) {
  for (size_t i = 0; i < words; i += 8) {
#pragma GCC unroll 2
    for (size_t k = 0; k < 8; k += 4)
      _mm256_storeu_si256((__m256i *)(void *)(to + i + k),
                          larger_of(load(a + i + k), load(b + i + k)));
  }
}

WIDE size_t tide_wide_listed(const uint64_t *a, const uint64_t *b, size_t words) {
  __m256i absent = _mm256_setzero_si256();
  for (size_t i = 0; i < words; i += 4)
    absent = count_absent(absent, _mm256_or_si256(load(a + i), load(b + i)));
  return listed_of(words, absent);
}

WIDE_INLINE bool any(__m256i words) { return !_mm256_testz_si256(words, words); }

/* In so many words, which the compiler knows. */
WIDE_INLINE __m256i lower_in(or_lower *or_lower_of, const uint64_t *f, const uint64_t *g,
                             size_t words) {
  __m256i lower = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (size_t k = 0; k < words; k += 4) lower = or_lower_of(lower, load(f + k), load(g + k));
  return lower;
}

/* The answer is looked at after every 32 words: if it is no, it mostly shows early. How many are
 * left at the end could not be guessed, so some are looked at twice. */
WIDE_INLINE bool lower_by(or_lower *or_lower_of, const uint64_t *f, const uint64_t *g,
                          size_t words) {
  __m256i lower = _mm256_setzero_si256();
  if (words >= 32) {
    for (size_t left = words - 32; left > 0; f += 32, g += 32, left = left < 32 ? 0 : left - 32)
      if (any(lower_in(or_lower_of, f, g, 32))) return true;
    size_t over = (0 - words) % 32;
    return any(lower_in(or_lower_of, f - over, g - over, 32));
  }
  for (size_t i = 0; i < words; i += 8)
    lower = _mm256_or_si256(lower, lower_in(or_lower_of, f + i, g + i, 8));
  return any(lower);
}

/* That neither covers the other mostly shows in the first eight. */
WIDE_INLINE unsigned order_by(or_lower *or_lower_of, const uint64_t *f, const uint64_t *g,
                              size_t words) {
  __m256i higher = _mm256_setzero_si256(), lower = higher;
  for (size_t i = 0, next = 8; i < words; next += 32) {
    for (size_t end = next < words ? next : words; i < end; i += 8) {
#pragma GCC unroll 2
      for (size_t k = 0; k < 8; k += 4) {
        __m256i x = load(f + i + k), y = load(g + i + k);
        lower = or_lower_of(lower, x, y);
        higher = or_lower_of(higher, y, x);
      }
    }
    if (any(higher) && any(lower)) return 3;
  }
  return (unsigned)any(higher) << 1 | any(lower);
}

WIDE size_t tide_wide_max(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words) {
  return max_by(larger_wide, to, a, b, words);
}
WIDE void tide_wide_larger(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words) {
  larger_by(larger_wide, to, a, b, words);
}
WIDE bool tide_wide_lower(const uint64_t *f, const uint64_t *g, size_t words) {
  return lower_by(or_lower_wide, f, g, words);
}
WIDE unsigned tide_wide_order(const uint64_t *f, const uint64_t *g, size_t words) {
  return order_by(or_lower_wide, f, g, words);
}

EIGHT size_t tide_eight_max(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words) {
  return max_by(larger_eight, to, a, b, words);
}
EIGHT void tide_eight_larger(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words) {
  larger_by(larger_eight, to, a, b, words);
}
EIGHT bool tide_eight_lower(const uint64_t *f, const uint64_t *g, size_t words) {
  return lower_by(or_lower_eight, f, g, words);
}
EIGHT unsigned tide_eight_order(const uint64_t *f, const uint64_t *g, size_t words) {
  return order_by(or_lower_eight, f, g, words);
}

EIGHT bool tide_eight_needs(const uint64_t *epochs, uint64_t first, size_t words,
                            const uint64_t *axes, const uint64_t *needs, size_t count) {
  __mmask8 lanes = (__mmask8)_bzhi_u32(0xff, (unsigned)count);
  __m512i at =
      _mm512_sub_epi64(_mm512_maskz_loadu_epi64(lanes, axes), _mm512_set1_epi64((long long)first));
  __mmask8 inside = _mm512_mask_cmplt_epu64_mask(lanes, at, _mm512_set1_epi64((long long)words));
  __m512i have = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), inside, at, epochs, 8);
  return _mm512_cmplt_epu64_mask(have, _mm512_maskz_loadu_epi64(lanes, needs));
}
#endif

/* ---- one at a time ---- */

/* Counted, what is said of eight words needs no branch: compilers add the carry. */

size_t tide_each_max(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words) {
  size_t listed = 0;
  for (const uint64_t *end = a + words; a < end; to += 8, a += 8, b += 8) {
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++) {
      uint64_t x = a[i], y = b[i], larger = x < y ? y : x;
      listed += larger != 0;
      to[i] = larger;
    }
  }
  return listed;
}

void tide_each_larger(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words) {
  for (size_t i = 0; i < words; i++) to[i] = a[i] < b[i] ? b[i] : a[i];
}

size_t tide_each_listed(const uint64_t *a, const uint64_t *b, size_t words) {
  size_t listed = 0;
  for (size_t i = 0; i < words; i++) listed += (a[i] | b[i]) != 0;
  return listed;
}

bool tide_each_lower(const uint64_t *f, const uint64_t *g, size_t words) {
  for (const uint64_t *end = f + words; f < end; f += 8, g += 8) {
    size_t lower = 0;
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++) lower += f[i] < g[i];
    if (lower) return true;
  }
  return false;
}

unsigned tide_each_order(const uint64_t *f, const uint64_t *g, size_t words) {
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
