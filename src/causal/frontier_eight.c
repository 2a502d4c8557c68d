/* Questions about frontiers with 512-bit instructions: eight entries at a time.
 *
 * What is left at the end is loaded lane by lane: nothing behind the entries is read. */
#include "causal/frontier.h"
#include "causal/frontier_wide.h"

#if TIDE_HAS_WIDE
#include "causal/frontier_eight.h"

/* Which lanes of f do not cover g's. */
EIGHT_INLINE unsigned uncovered(__m512i f, __m512i g, __m512i f_epochs, __m512i g_epochs) {
  return (unsigned)_mm512_cmpneq_epi64_mask(f, g) |
         (unsigned)_mm512_cmplt_epu64_mask(f_epochs, g_epochs);
}

EIGHT bool tide_eight_covers_same(const struct tide_frontier *f, const struct tide_frontier *g) {
  const uint64_t *a = tide_frontier_axes(f), *b = tide_frontier_axes(g);
  size_t f_epoch = f->capacity, g_epoch = g->capacity, count = f->count;
  for (; count > 8; a += 8, b += 8, count -= 8) {
    if (uncovered(load(a), load(b), load(a + f_epoch), load(b + g_epoch))) return false;
  }
  __mmask8 lanes = first_lanes(count);
  return !uncovered(load_lanes(lanes, a), load_lanes(lanes, b), load_lanes(lanes, a + f_epoch),
                    load_lanes(lanes, b + g_epoch));
}

EIGHT enum tide_order tide_eight_compare_same(const struct tide_frontier *f,
                                              const struct tide_frontier *g, bool f_has,
                                              bool g_has) {
  const uint64_t *a = tide_frontier_axes(f), *b = tide_frontier_axes(g);
  size_t f_epoch = f->capacity, g_epoch = g->capacity, left = f->count;
  unsigned more = f_has, less = g_has;
  for (;;) {
    __mmask8 lanes = first_lanes(left);
    __m512i a_epochs = load_lanes(lanes, a + f_epoch), b_epochs = load_lanes(lanes, b + g_epoch);
    if (_mm512_cmpneq_epi64_mask(load_lanes(lanes, a), load_lanes(lanes, b)))
      return TIDE_CONCURRENT;
    more |= _mm512_cmplt_epu64_mask(b_epochs, a_epochs);
    less |= _mm512_cmplt_epu64_mask(a_epochs, b_epochs);
    if (left <= 8) break;
    a += 8, b += 8, left -= 8;
  }
  if (more) return less ? TIDE_CONCURRENT : TIDE_AFTER;
  return less ? TIDE_BEFORE : TIDE_EQUAL;
}

/* Halves down to 16, then looks at all of them at once. */
EIGHT uint64_t tide_eight_get(const struct tide_frontier *frontier, tide_axis axis) {
  size_t count = frontier->count;
  const tide_axis *axes = tide_axes_halved(tide_frontier_axes(frontier), &count, 16, axis);
  __mmask8 low = first_lanes(count), high = (__mmask8)(_bzhi_u32(0xffff, (unsigned)count) >> 8);
  unsigned found = _mm512_mask_cmpeq_epi64_mask(low, load_lanes(low, axes), all(axis));
  found |= (unsigned)_mm512_mask_cmpeq_epi64_mask(high, load_lanes(high, axes + 8), all(axis)) << 8;
  size_t at = (size_t)__builtin_ctz(found | 1u << (count - 1));
  return axes[at + frontier->capacity] & (0 - (uint64_t)(found != 0));
}

/* The sums of two words' lanes, without carry, in turns. */
EIGHT_INLINE __m512i spread(__m512i first, __m512i second) {
  __m512i sums =
      _mm512_xor_si512(_mm512_unpacklo_epi64(first, second), _mm512_unpackhi_epi64(first, second));
  sums = _mm512_xor_si512(sums, _mm512_shuffle_i64x2(sums, sums, 0x4e));
  return _mm512_xor_si512(sums, _mm512_shuffle_i64x2(sums, sums, 0xb1));
}

/* Word w of the bits in lane w; where there is but one word, in all lanes. */
EIGHT_INLINE __m512i words_of(unsigned words, const struct bits *bits) {
  if (words == 1) return spread(bits->word[0], bits->word[0]);
  __m512i sums = spread(bits->word[0], bits->word[1]);
  if (words > 2) sums = _mm512_mask_blend_epi64(0x0c, sums, spread(bits->word[2], bits->word[3]));
  return _mm512_xor_si512(sums, _mm512_maskz_alignr_epi64(0xfe, sums, sums, 7));
}

/* Which lanes' bits are set. */
EIGHT_INLINE __mmask8 among(unsigned words, __m512i bits, __mmask8 lanes, __m512i at) {
  if (words > 1) bits = _mm512_permutexvar_epi64(_mm512_srli_epi64(at, 6), bits);
  return _mm512_mask_test_epi64_mask(lanes, bits, _mm512_rolv_epi64(all(1), at));
}

/* g's axes become bits; eight entries of f at a time are looked up in them, and g's next epochs go
 * to the lanes of those that are there. All axes are less than 64 * words above f's first. */
EIGHT_INLINE bool covers_within(const struct tide_frontier *f, const struct tide_frontier *g,
                                unsigned words) {
  const uint64_t *at = tide_frontier_axes(f), *needed = tide_frontier_epochs(g);
  const uint64_t *end = needed + g->count;
  const tide_axis base = at[0];
  const struct bits bits = map(words, tide_frontier_axes(g), g->count, base);
  const __m512i in_g = words_of(words, &bits);
  size_t epoch = f->capacity, left = f->count;
  unsigned lower = 0;
  for (; left > 8; at += 8, left -= 8) {
    __mmask8 there = among(words, in_g, 0xff, _mm512_sub_epi64(load(at), all(base)));
    __m512i need = _mm512_maskz_expandloadu_epi64(there, needed);
    lower |= _mm512_cmplt_epu64_mask(load(at + epoch), need); /* nothing is lower than 0 */
    needed += __builtin_popcount(there);
  }
  __mmask8 lanes = first_lanes(left);
  __mmask8 there = among(words, in_g, lanes, _mm512_sub_epi64(load_lanes(lanes, at), all(base)));
  __m512i need = _mm512_maskz_expandloadu_epi64(there, needed);
  lower |= _mm512_cmplt_epu64_mask(load_lanes(lanes, at + epoch), need);
  needed += __builtin_popcount(there);
  return (needed == end) & !lower;
}

EIGHT_APART static bool covers_64(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_within(f, g, 1);
}
EIGHT_APART static bool covers_128(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_within(f, g, 2);
}
EIGHT_APART static bool covers_256(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_within(f, g, 4);
}

unsigned tide_eight_covers(const struct tide_frontier *f, const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  tide_axis first = tide_frontier_axes(f)[0], last = tide_frontier_axes(f)[n - 1];
  if (tide_frontier_axes(g)[0] < first || tide_frontier_axes(g)[m - 1] > last) return TIDE_NO;
  if (last - first < 64) return covers_64(f, g);
  if (last - first < 128) return covers_128(f, g);
  if (last - first < 256) return covers_256(f, g);
  return TIDE_WALK;
}
#endif
