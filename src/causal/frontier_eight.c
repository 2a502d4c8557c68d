/* Questions about frontiers with 512-bit instructions: eight entries at a time.
 *
 * What is left at the end is loaded lane by lane, but for axes that become bits (see map). */
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
  __mmask8 low = first_lanes(count), high = next_lanes(count);
  unsigned found = _mm512_mask_cmpeq_epi64_mask(low, load_lanes(low, axes), all(axis));
  found |= (unsigned)_mm512_mask_cmpeq_epi64_mask(high, load_lanes(high, axes + 8), all(axis)) << 8;
  size_t at = (size_t)__builtin_ctz(found | 1u << (count - 1));
  return axes[at + frontier->capacity] & (0 - (uint64_t)(found != 0));
}

/* Word w of the bits in lane w. */
EIGHT_INLINE __m512i words_of(unsigned words, const struct bits *bits) {
  __m512i sums = spread(bits->word[0], bits->word[words > 1]);
  if (words > 2) sums = _mm512_mask_blend_epi64(0x0c, sums, spread(bits->word[2], bits->word[3]));
  return words > 1 ? _mm512_xor_si512(sums, _mm512_maskz_alignr_epi64(0xfe, sums, sums, 7)) : sums;
}

/* More than half as many needs as f has entries. g's axes become bits; eight entries of f at a time
 * are looked up in them, and g's next epochs go to the lanes of those that are there. */
struct push {
  __m512i in_g;
  const uint64_t *needed; /* what comes next */
  unsigned lower;
};

EIGHT_INLINE void push_eight(struct push *push, unsigned words, __mmask8 lanes, __m512i axes,
                             __m512i epochs, const struct ground *ground) {
  __m512i bits = push->in_g, at = _mm512_sub_epi64(axes, ground->base);
  if (words > 1) bits = _mm512_permutexvar_epi64(_mm512_srli_epi64(at, 6), bits);
  __m512i bit = _mm512_rolv_epi64(ground->one, axes);
  __mmask8 there = _mm512_mask_test_epi64_mask(lanes, bits, bit);
  __m512i need = _mm512_maskz_expandloadu_epi64(there, push->needed);
  push->lower |= _mm512_cmplt_epu64_mask(epochs, need); /* nothing is lower than 0 */
  push->needed += __builtin_popcount(there);
}

EIGHT_INLINE bool covers_many(const struct tide_frontier *f, const struct tide_frontier *g,
                              unsigned words) {
  const uint64_t *at = tide_frontier_axes(f);
  const struct ground ground = ground_at(words, all_at(at));
  const struct bits bits = map(words, tide_frontier_axes(g), g->count, &ground);
  struct push push = {words_of(words, &bits), tide_frontier_epochs(g), 0};
  size_t epoch = f->capacity, left = f->count;
  for (; left > 8; at += 8, left -= 8)
    push_eight(&push, words, 0xff, load(at), load(at + epoch), &ground);
  __mmask8 lanes = first_lanes(left);
  push_eight(&push, words, lanes, load_lanes(lanes, at), load_lanes(lanes, at + epoch), &ground);
  return (push.needed == tide_frontier_epochs(g) + g->count) & !push.lower;
}

/* Fewer needs. f's axes become bits; eight entries of g at a time are looked up in them. */
struct lookup {
  __m512i word[2], before; /* a word in all lanes each; how many are listed in the first */
  const uint64_t *epochs;
};

/* Whether eight needs are met, and all so far. An axis' place is how many f lists below it. What is
 * not listed is 0, and less than what is needed. */
EIGHT_INLINE __mmask8 met(const struct lookup *lookup, unsigned words, __mmask8 so_far,
                          __mmask8 lanes, __m512i axes, __m512i needs,
                          const struct ground *ground) {
  __mmask8 second = words > 1 ? _mm512_cmpgt_epu64_mask(axes, ground->last[0]) : 0;
  __m512i word = lookup->word[0], bit = _mm512_rolv_epi64(ground->one, axes);
  if (words > 1) word = _mm512_mask_blend_epi64(second, word, lookup->word[1]);
  __mmask8 there = _mm512_mask_test_epi64_mask(lanes, word, bit);
  __m512i below = _mm512_sub_epi64(bit, all_at(tide_eight_words));
  __m512i place = _mm512_popcnt_epi64(_mm512_and_si512(word, below));
  if (words > 1) place = _mm512_mask_add_epi64(place, second, place, lookup->before);
  __m512i epochs =
      _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), there, place, lookup->epochs, 8);
  return _mm512_mask_cmpge_epu64_mask(so_far, epochs, needs);
}

/* How often it goes round could not be guessed: with 16 to 32 entries it is four times. */
EIGHT_INLINE bool covers_few(const struct tide_frontier *f, const struct tide_frontier *g,
                             unsigned words) {
  const uint64_t *a = tide_frontier_axes(f), *b = tide_frontier_axes(g);
  const struct ground ground = ground_at(words, all_at(a));
  const struct bits bits = map(words, a, f->count, &ground);
  __m512i sums = spread(bits.word[0], bits.word[words > 1]);
  struct lookup lookup = {.epochs = a + f->capacity};
  lookup.word[0] = _mm512_unpacklo_epi64(sums, sums);
  lookup.word[1] = _mm512_xor_si512(lookup.word[0], _mm512_unpackhi_epi64(sums, sums));
  lookup.before = _mm512_popcnt_epi64(lookup.word[0]);
  size_t need = g->capacity, count = g->count;
  if (count < 8) {
    __mmask8 lanes = first_lanes(count);
    __m512i axes = load_lanes(lanes, b), needs = load_lanes(lanes, b + need);
    return met(&lookup, words, 0xff, lanes, axes, needs, &ground) == 0xff;
  }
  const uint64_t *last = b + count - 8;
  size_t eights = count <= 16 ? 2 : (count + 31) / 32 * 4;
  __mmask8 all_met = 0xff;
  for (; eights > 0; eights--, b = b + 8 < last ? b + 8 : last)
    all_met = met(&lookup, words, all_met, 0xff, load(b), load(b + need), &ground);
  return all_met == 0xff;
}

EIGHT_APART static bool few_64(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_few(f, g, 1);
}
EIGHT_APART static bool few_128(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_few(f, g, 2);
}
EIGHT_APART static bool many_64(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_many(f, g, 1);
}
EIGHT_APART static bool many_128(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_many(f, g, 2);
}
EIGHT_APART static bool many_256(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_many(f, g, 4);
}

bool tide_eight_covers(const struct tide_frontier *f, const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  tide_axis first = tide_frontier_axes(f)[0], last = tide_frontier_axes(f)[n - 1];
  if (tide_frontier_axes(g)[0] < first || tide_frontier_axes(g)[m - 1] > last) return false;
  if (last - first < 64) return 2 * m > n ? many_64(f, g) : few_64(f, g);
  if (last - first < 128) return 2 * m > n ? many_128(f, g) : few_128(f, g);
  return many_256(f, g);
}
#endif
