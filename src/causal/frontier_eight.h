/* causal/frontier_eight.h: eight words at a time, for the files that have 512-bit vectors, and axes
 * as bits. */
#ifndef TIDE_CAUSAL_FRONTIER_EIGHT_H
#define TIDE_CAUSAL_FRONTIER_EIGHT_H

#include "causal/frontier_wide.h"

#include <immintrin.h>

#define EIGHT_TARGET                                                                               \
  target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")
#define EIGHT __attribute__((EIGHT_TARGET))
#define EIGHT_APART __attribute__((noinline, EIGHT_TARGET))
#define EIGHT_INLINE static inline __attribute__((always_inline, EIGHT_TARGET))

EIGHT_INLINE __m512i all(uint64_t word) { return _mm512_set1_epi64((long long)word); }

/* The first `count` lanes, of at most 255. */
EIGHT_INLINE __mmask8 first_lanes(size_t count) {
  return (__mmask8)_bzhi_u32(0xff, (unsigned)count);
}

/* The empty asm keeps compilers from loading once for each use. */
EIGHT_INLINE __m512i load(const uint64_t *at) {
  __m512i words = _mm512_loadu_si512(at);
  __asm__("" : "+v"(words));
  return words;
}

EIGHT_INLINE __m512i load_lanes(__mmask8 lanes, const uint64_t *at) {
  return _mm512_maskz_loadu_epi64(lanes, at);
}

/* Axes as bits: bit k of word w is the axis base + 64 * w + k. Each lane has those of its own axes,
 * and each word those of the words before, too, which saves comparisons: they are added without
 * carry, and are taken off the same way when the lanes are. */
struct bits {
  __m512i word[4];
};

EIGHT_INLINE void map_eight(struct bits *bits, unsigned words, __mmask8 lanes, __m512i axes,
                            tide_axis base) {
  __m512i bit = _mm512_maskz_rolv_epi64(lanes, all(1ull << (-base & 63)), axes);
  for (unsigned w = 0; w + 1 < words; w++) {
    __mmask8 before = _mm512_cmplt_epu64_mask(axes, all(base + 64 * (w + 1)));
    bits->word[w] = _mm512_mask_xor_epi64(bits->word[w], before, bits->word[w], bit);
  }
  bits->word[words - 1] = _mm512_xor_si512(bits->word[words - 1], bit);
}

/* All are from base on and less than 64 * words above it. More than eight go in sixteens, the last
 * of which may be half empty: so it can be guessed more often how many times it goes round. */
EIGHT_INLINE struct bits map(unsigned words, const tide_axis *axes, size_t count, tide_axis base) {
  const bool few = count <= 8;
  struct bits bits;
  for (unsigned w = 0; w < words; w++) bits.word[w] = _mm512_setzero_si512();
  for (; count > 16; axes += 16, count -= 16) {
    map_eight(&bits, words, 0xff, load(axes), base);
    map_eight(&bits, words, 0xff, load(axes + 8), base);
  }
  unsigned lanes = _bzhi_u32(0xffff, (unsigned)count);
  map_eight(&bits, words, (__mmask8)lanes, load_lanes((__mmask8)lanes, axes), base);
  if (few) return bits;
  lanes >>= 8;
  map_eight(&bits, words, (__mmask8)lanes, load_lanes((__mmask8)lanes, axes + 8), base);
  return bits;
}

/* The sum of all lanes, without carry. */
EIGHT_INLINE uint64_t fold(__m512i lanes) {
  __m256i half =
      _mm256_xor_si256(_mm512_castsi512_si256(lanes), _mm512_extracti64x4_epi64(lanes, 1));
  __m128i two = _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  return (uint64_t)_mm_cvtsi128_si64(_mm_xor_si128(two, _mm_unpackhi_epi64(two, two)));
}

EIGHT_INLINE void fold_bits(uint64_t *out, unsigned words, const struct bits *bits) {
  uint64_t before = 0;
  for (unsigned w = 0; w < words; w++) {
    uint64_t all_so_far = fold(bits->word[w]);
    out[w] = all_so_far ^ before;
    before = all_so_far;
  }
}

#endif
