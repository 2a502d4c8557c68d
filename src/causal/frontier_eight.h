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

/* A map of up to eight axes, each `skip` further up, that lie in so many words. A shift by 64 or
 * more leaves nothing. */
EIGHT_INLINE __m256i made_map(const struct tide_frontier *f, size_t skip, size_t words) {
  const tide_axis *axes = tide_frontier_axes(f);
  const __m512i none = _mm512_setzero_si512();
  __mmask8 lanes = first_lanes(f->count);
  __m512i at = _mm512_sub_epi64(load_lanes(lanes, axes), all(axes[0] - skip));
  __m512i word[TIDE_MAP_WORDS] = {none, none, none, none};
#pragma GCC unroll 4
  for (size_t w = 0; w < words; w++)
    word[w] = _mm512_maskz_sllv_epi64(lanes, all(1), _mm512_sub_epi64(at, all(64 * w)));
  /* Each lane pair its two words, then the sums of all pairs: no bit is there twice. */
  __m512i low = words > 1 ? _mm512_or_si512(_mm512_unpacklo_epi64(word[0], word[1]),
                                            _mm512_unpackhi_epi64(word[0], word[1]))
                          : _mm512_or_si512(word[0], _mm512_unpackhi_epi64(word[0], none));
  __m256i half = _mm256_or_si256(_mm512_castsi512_si256(low), _mm512_extracti64x4_epi64(low, 1));
  if (words <= 2) {
    __m128i sum = _mm_or_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return _mm256_zextsi128_si256(words > 1 ? sum : _mm_move_epi64(sum));
  }
  __m512i high = _mm512_or_si512(_mm512_unpacklo_epi64(word[2], word[3]),
                                 _mm512_unpackhi_epi64(word[2], word[3]));
  __m256i other = _mm256_or_si256(_mm512_castsi512_si256(high), _mm512_extracti64x4_epi64(high, 1));
  return _mm256_or_si256(_mm256_permute2x128_si256(half, other, 0x20),
                         _mm256_permute2x128_si256(half, other, 0x31));
}

/* The map of what f lists, each axis `skip` further up, where all that lie in so many words. */
EIGHT_INLINE __m256i moved_map(const struct tide_frontier *f, size_t skip, size_t words) {
  if (f->count < TIDE_FRONTIER_MAP_LEAST) return made_map(f, skip, words);
  const __m256i numbers = _mm256_set_epi64x(3, 2, 1, 0);
  __m256i map = _mm256_loadu_si256((const __m256i *)(const void *)tide_frontier_map(f));
  const unsigned skipped = (unsigned)(skip / 64);
  __m256i from = _mm256_sub_epi64(numbers, _mm256_set1_epi64x((long long)skipped));
  __m256i high = _mm256_maskz_permutexvar_epi64((__mmask8)(0xf << skipped), from, map);
  from = _mm256_sub_epi64(from, _mm256_set1_epi64x(1));
  __m256i low = _mm256_maskz_permutexvar_epi64((__mmask8)(0xe << skipped), from, map);
  return _mm256_shldv_epi64(high, low, _mm256_set1_epi64x((long long)(skip % 64)));
}

#endif
