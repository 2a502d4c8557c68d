/* causal/frontier_eight.h: eight words at a time, for the files that have 512-bit vectors. */
#ifndef TIDE_CAUSAL_FRONTIER_EIGHT_H
#define TIDE_CAUSAL_FRONTIER_EIGHT_H

#include "causal/frontier_map.h"
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

/* For each choice of eight places, in four bits a place: which of eight epochs goes there, if these
 * end with the last one that goes anywhere. 8 is the first of them, 0 is none. */
extern const uint32_t tide_eight_choices[257];

/* The epochs in front of `end`, at the places that take one; 0 at the others. Eight words in front
 * of it are read. This way it is half as many instructions that wait for the same port as with the
 * one that is made for it. */
EIGHT_INLINE __m512i placed(const uint64_t *end, size_t places) {
  const __m512i shifts = _mm512_set_epi64(28, 24, 20, 16, 12, 8, 4, 0);
  __m512i choice = all_at((const uint64_t *)(const void *)(tide_eight_choices + places));
  return _mm512_permutex2var_epi64(_mm512_setzero_si512(), _mm512_srlv_epi64(choice, shifts),
                                   _mm512_loadu_si512(end - 8));
}

/* The sums of two words' lanes without carry, in turns of two. */
EIGHT_INLINE __m512i in_turns(__m512i first, __m512i second) {
  return _mm512_xor_si512(_mm512_unpacklo_epi64(first, second),
                          _mm512_unpackhi_epi64(first, second));
}

/* A map of up to eight axes, each `skip` further up. A shift by 64 or more leaves nothing. */
EIGHT_INLINE __m256i made_map(const struct tide_frontier *f, size_t skip) {
  const tide_axis *axes = tide_frontier_axes(f);
  __mmask8 lanes = first_lanes(f->count);
  __m512i at = _mm512_sub_epi64(load_lanes(lanes, axes), all(axes[0] - skip));
  __m512i words[TIDE_MAP_WORDS];
#pragma GCC unroll 4
  for (unsigned w = 0; w < TIDE_MAP_WORDS; w++)
    words[w] = _mm512_maskz_sllv_epi64(lanes, all(1), _mm512_sub_epi64(at, all(64 * (uint64_t)w)));
  __m512i low = in_turns(words[0], words[1]), high = in_turns(words[2], words[3]);
  __m512i sums = _mm512_xor_si512(_mm512_shuffle_i64x2(low, high, 0x44),
                                  _mm512_shuffle_i64x2(low, high, 0xee));
  sums = _mm512_xor_si512(sums, _mm512_shuffle_i64x2(sums, sums, 0xb1));
  return _mm512_castsi512_si256(_mm512_shuffle_i64x2(sums, sums, 0x08));
}

/* The map of what f lists, each axis `skip` further up, of fewer than TIDE_MAP_BITS. */
EIGHT_INLINE __m256i moved_map(const struct tide_frontier *f, size_t skip) {
  if (f->count < TIDE_FRONTIER_MAP_LEAST) return made_map(f, skip);
  const __m256i numbers = _mm256_set_epi64x(3, 2, 1, 0);
  __m256i map = _mm256_loadu_si256((const __m256i *)(const void *)tide_frontier_map(f));
  unsigned words = (unsigned)(skip / 64);
  __m256i from = _mm256_sub_epi64(numbers, _mm256_set1_epi64x((long long)words));
  __m256i high = _mm256_maskz_permutexvar_epi64((__mmask8)(0xf << words), from, map);
  from = _mm256_sub_epi64(from, _mm256_set1_epi64x(1));
  __m256i low = _mm256_maskz_permutexvar_epi64((__mmask8)(0xe << words), from, map);
  return _mm256_shldv_epi64(high, low, _mm256_set1_epi64x((long long)(skip % 64)));
}

#endif
