/* causal/frontier_eight.h: eight words at a time, for the files that have 512-bit vectors, and axes
 * as bits. */
#ifndef TIDE_CAUSAL_FRONTIER_EIGHT_H
#define TIDE_CAUSAL_FRONTIER_EIGHT_H

#include "causal/frontier_wide.h"

#include <immintrin.h>

#define EIGHT_TARGET                                                                               \
  target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq,bmi,bmi2,"     \
         "popcnt")
#define EIGHT __attribute__((EIGHT_TARGET))
#define EIGHT_APART __attribute__((noinline, EIGHT_TARGET))
#define EIGHT_INLINE static inline __attribute__((always_inline, EIGHT_TARGET))

EIGHT_INLINE __m512i all(uint64_t word) { return _mm512_set1_epi64((long long)word); }

/* The first `count` lanes, of at most 255. */
EIGHT_INLINE __mmask8 first_lanes(size_t count) {
  return (__mmask8)_bzhi_u32(0xff, (unsigned)count);
}

/* And of the eight after them. */
EIGHT_INLINE __mmask8 next_lanes(size_t count) {
  return (__mmask8)(_bzhi_u32(0xffff, (unsigned)count) >> 8);
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

/* The word that lies there, in all lanes. Compilers fetch it into a register of the other kind
 * first where they use it there, too, and that takes a vector port as well, of which there are only
 * two for 512 bits: they are what these loops wait for. */
EIGHT_INLINE __m512i all_at(const uint64_t *at) {
  __m512i words;
  __asm__("vpbroadcastq %1, %0" : "=v"(words) : "m"(*at));
  return words;
}

/* 1, and how far the last axes of the first three words lie behind the first axis of all. */
static const uint64_t tide_eight_words[4] = {1, 63, 127, 191};

/* What axes are counted from, and in each lane: the bit of an axis of the first word, turned so
 * that an axis turns it to its place, and the last axes of all words but the last, or the highest
 * axis that there is, where a word would go beyond it. */
struct ground {
  __m512i base, one, last[3];
};

EIGHT_INLINE __m512i up_to_highest(__m512i base, __m512i more) {
  __m512i sum = _mm512_add_epi64(base, more);
  return _mm512_mask_blend_epi64(_mm512_cmplt_epu64_mask(sum, base), sum, all(UINT64_MAX));
}

EIGHT_INLINE struct ground ground_at(unsigned words, __m512i base) {
  struct ground ground = {.base = base};
  ground.one = _mm512_rorv_epi64(all_at(tide_eight_words), base);
#pragma GCC unroll 4
  for (unsigned w = 0; w + 1 < words; w++)
    ground.last[w] = up_to_highest(base, all_at(tide_eight_words + 1 + w));
  return ground;
}

/* Axes as bits: bit k of word w is the axis base + 64 * w + k. Each lane has those of its own axes,
 * and each word those of the words before, too, which saves comparisons: they are added without
 * carry, and are taken off the same way when the lanes are. */
struct bits {
  __m512i word[4];
};

EIGHT_INLINE void add_bits(struct bits *bits, unsigned words, __m512i at, __m512i bit,
                           const struct ground *ground) {
#pragma GCC unroll 4
  for (unsigned w = 0; w + 1 < words; w++) {
    __mmask8 before = _mm512_cmple_epu64_mask(at, ground->last[w]);
    bits->word[w] = _mm512_mask_xor_epi64(bits->word[w], before, bits->word[w], bit);
  }
  bits->word[words - 1] = _mm512_xor_si512(bits->word[words - 1], bit);
}

EIGHT_INLINE void add_some(struct bits *bits, unsigned words, __mmask8 lanes, const tide_axis *axes,
                           const struct ground *ground) {
  __m512i at = load(axes);
  add_bits(bits, words, at, _mm512_maskz_rolv_epi64(lanes, ground->one, at), ground);
}

/* At least four axes, from the base on and less than 64 * words above it. More than eight go in
 * sixteens, the last of which may be half empty: so it can be guessed more often how many times it
 * goes round. What lies behind them is read, too, and left out: a frontier with room for n entries
 * has 2 * n words. */
EIGHT_INLINE struct bits map(unsigned words, const tide_axis *axes, size_t count,
                             const struct ground *ground) {
  const bool few = count <= 8;
  struct bits bits;
#pragma GCC unroll 4
  for (unsigned w = 0; w < words; w++) bits.word[w] = _mm512_setzero_si512();
  for (; count > 16; axes += 16, count -= 16) {
    __m512i low = load(axes), high = load(axes + 8);
    add_bits(&bits, words, low, _mm512_rolv_epi64(ground->one, low), ground);
    add_bits(&bits, words, high, _mm512_rolv_epi64(ground->one, high), ground);
  }
  add_some(&bits, words, first_lanes(count), axes, ground);
  if (few) return bits;
  add_some(&bits, words, next_lanes(count), axes + 8, ground);
  return bits;
}

/* The sums of two words' lanes without carry, in turns: of every second lane … */
EIGHT_INLINE __m512i in_turns(__m512i first, __m512i second) {
  return _mm512_xor_si512(_mm512_unpacklo_epi64(first, second),
                          _mm512_unpackhi_epi64(first, second));
}

/* … and of all lanes. */
EIGHT_INLINE __m512i spread(__m512i first, __m512i second) {
  __m512i sums = in_turns(first, second);
  sums = _mm512_xor_si512(sums, _mm512_shuffle_i64x2(sums, sums, 0x4e));
  return _mm512_xor_si512(sums, _mm512_shuffle_i64x2(sums, sums, 0xb1));
}

#endif
