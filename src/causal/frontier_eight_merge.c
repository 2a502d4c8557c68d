/* Merging with 512-bit instructions: eight entries of the union at a time.
 *
 * Axes that lie close together become bits, and for each place in the union two bits say which side
 * lists it: with them eight places take their epochs from both sides at once, and the larger ones
 * are kept. It goes from the back to the front, so that it needs no other memory: none of to's
 * entries lies behind its place in the union, so what is written from place p on was read before,
 * and what is still to be read lies in front of p. */
#include "causal/frontier_wide.h"

#if TIDE_HAS_WIDE
#include "causal/frontier_eight.h"

/* A merge under way: all these point behind what is still to be done. */
struct merge {
  uint64_t *axes, *epochs; /* of the union */
  const uint64_t *a, *b;   /* epochs of the two sides */
};

/* The axes base, base + 1 … that the two words list; at most `most`. */
EIGHT_INLINE void merge_word(struct merge *m, uint64_t a, uint64_t b, size_t most, tide_axis base) {
  const __m512i numbers = _mm512_set_epi64(
      0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928, 0x2726252423222120,
      0x1f1e1d1c1b1a1918, 0x1716151413121110, 0x0f0e0d0c0b0a0908, 0x0706050403020100);
  uint64_t both = a | b, in_a = _pext_u64(a, both), in_b = _pext_u64(b, both), listed[8];
  size_t total = (size_t)__builtin_popcountll(both), eights = (most + 7) / 8;
  _mm512_storeu_si512(listed, _mm512_maskz_compress_epi8(both, numbers));
  m->axes -= total;
  m->epochs -= total;
  /* How many eights there are could not be guessed, so some are empty. Eight full ones are rare. */
  if (eights == 8 && total <= 56) eights = 7;
  for (size_t i = eights; i-- > 0;) {
    unsigned next_a = in_a >> 8 * i & 0xff, next_b = in_b >> 8 * i & 0xff;
    m->a -= __builtin_popcount(next_a);
    m->b -= __builtin_popcount(next_b);
    __m512i d = _mm512_maskz_expandloadu_epi64((__mmask8)next_a, m->a);
    __m512i e = _mm512_maskz_expandloadu_epi64((__mmask8)next_b, m->b);
    __m512i at = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(listed + i)));
    __mmask8 lanes = _kor_mask8((__mmask8)next_a, (__mmask8)next_b);
    _mm512_mask_storeu_epi64(m->axes + 8 * i, lanes, _mm512_add_epi64(at, all(base)));
    _mm512_mask_storeu_epi64(m->epochs + 8 * i, lanes, _mm512_max_epu64(d, e));
  }
}

/* All axes are from `base` on, none behind base + span. */
EIGHT_INLINE bool merge_within(struct tide_frontier *to, const struct tide_frontier *from,
                               tide_axis base, size_t span, unsigned words) {
  uint64_t a[4], b[4];
  size_t n = to->count, m = from->count, total = 0;
  const struct ground ground = ground_at(words, all_at(&base));
  const struct bits b_bits = map(words, tide_frontier_axes(from), m, &ground);
  const struct bits a_bits = map(words, tide_frontier_axes(to), n, &ground);
  fold_bits(b, words, &b_bits);
  fold_bits(a, words, &a_bits);
  for (unsigned w = 0; w < words; w++) total += (size_t)__builtin_popcountll(a[w] | b[w]);
  if (total > to->capacity) return false;
  uint64_t *axes = (uint64_t *)(void *)(to + 1), *epochs = axes + to->capacity;
  struct merge at = {axes + total, epochs + total, epochs + n, tide_frontier_epochs(from) + m};
  for (unsigned w = words; w-- > 0;) {
    if (64 * w > span) continue;
    size_t most = span + 1 - 64 * w;
    if (most > n + m) most = n + m;
    merge_word(&at, a[w], b[w], most < 64 ? most : 64, base + 64 * w);
  }
  to->count = (uint8_t)total;
  return true;
}

EIGHT_APART static bool merge_64(struct tide_frontier *to, const struct tide_frontier *from,
                                 tide_axis base, size_t span) {
  return merge_within(to, from, base, span, 1);
}
EIGHT_APART static bool merge_128(struct tide_frontier *to, const struct tide_frontier *from,
                                  tide_axis base, size_t span) {
  return merge_within(to, from, base, span, 2);
}
EIGHT_APART static bool merge_256(struct tide_frontier *to, const struct tide_frontier *from,
                                  tide_axis base, size_t span) {
  return merge_within(to, from, base, span, 4);
}

bool tide_eight_merge(struct tide_frontier *to, const struct tide_frontier *from) {
  size_t n = to->count, m = from->count;
  const tide_axis *a = tide_frontier_axes(to), *b = tide_frontier_axes(from);
  tide_axis first = a[0] < b[0] ? a[0] : b[0], last = a[n - 1] < b[m - 1] ? b[m - 1] : a[n - 1];
  tide_axis span = last - first;
  if (span < 64) return merge_64(to, from, first, span);
  if (span >= 256 || span > 4 * (n + m)) return false;
  return span < 128 ? merge_128(to, from, first, span) : merge_256(to, from, first, span);
}

EIGHT bool tide_eight_merge_same(struct tide_frontier *to, const struct tide_frontier *from) {
  uint64_t *a = (uint64_t *)(void *)(to + 1);
  const uint64_t *b = tide_frontier_axes(from);
  size_t a_epoch = to->capacity, b_epoch = from->capacity, count = to->count, i = 0;
  __mmask8 lanes = first_lanes(count - (count - 1) / 8 * 8);
  for (; i + 8 < count; i += 8)
    if (_mm512_cmpneq_epi64_mask(load(a + i), load(b + i))) return false;
  if (_mm512_cmpneq_epi64_mask(load_lanes(lanes, a + i), load_lanes(lanes, b + i))) return false;
  a += a_epoch, b += b_epoch;
  for (i = 0; i + 8 < count; i += 8)
    _mm512_storeu_si512(a + i, _mm512_max_epu64(load(a + i), load(b + i)));
  __m512i larger = _mm512_max_epu64(load_lanes(lanes, a + i), load_lanes(lanes, b + i));
  _mm512_mask_storeu_epi64(a + i, lanes, larger);
  return true;
}
#endif
