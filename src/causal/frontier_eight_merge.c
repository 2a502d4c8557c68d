/* Merging with 512-bit instructions: eight entries of the union at a time.
 *
 * Axes that lie close together become bits, and for each place in the union two bits say which side
 * lists it: with them eight places take their epochs from both sides at once, and the larger ones
 * are kept. In place it goes from the back to the front: none of to's entries lies behind its place
 * in the union, so what is written from place p on was read before, and what is still to be read
 * lies in front of p. Into a third it goes the other way, and writes eights whole: what is too much
 * is written over by those that follow, or lies behind the last. */
#include "causal/frontier.h"
#include "causal/frontier_wide.h"

#if TIDE_HAS_WIDE
#include "causal/frontier_eight.h"

/* For each choice of eight places, in four bits a place: which of eight epochs goes there, if these
 * end with the last one that goes anywhere. 8 is the first of them, 0 is none. */
#define ONES(m) (((m)&1) + ((m) >> 1 & 1) + ((m) >> 2 & 1) + ((m) >> 3 & 1) + ONES_HIGH(m))
#define ONES_HIGH(m) (((m) >> 4 & 1) + ((m) >> 5 & 1) + ((m) >> 6 & 1) + ((m) >> 7 & 1))
#define PLACE(m, i) (((m) >> (i)&1 ? 16u - ONES((m) >> (i)) : 0u) << 4 * (i))
#define HALF(m, i) (PLACE(m, i) | PLACE(m, (i) + 1) | PLACE(m, (i) + 2) | PLACE(m, (i) + 3))
#define CHOICE(m) HALF(m, 0) | HALF(m, 4)
#define FOUR(m) CHOICE(m), CHOICE((m) + 1), CHOICE((m) + 2), CHOICE((m) + 3)
#define SIXTEEN(m) FOUR(m), FOUR((m) + 4), FOUR((m) + 8), FOUR((m) + 12)
#define SIXTY_FOUR(m) SIXTEEN(m), SIXTEEN((m) + 16), SIXTEEN((m) + 32), SIXTEEN((m) + 48)
static const uint32_t choices[257] = {SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128),
                                      SIXTY_FOUR(192), 0 /* read with the last */};

/* The epochs in front of `end`, at the places that take one; 0 at the others. This way it is half
 * as many instructions that wait for the same port as with the one that is made for it. */
EIGHT_INLINE __m512i placed(const uint64_t *end, size_t places) {
  const __m512i shifts = _mm512_set_epi64(28, 24, 20, 16, 12, 8, 4, 0);
  __m512i choice = all_at((const uint64_t *)(const void *)(choices + places));
  return _mm512_permutex2var_epi64(_mm512_setzero_si512(), _mm512_srlv_epi64(choice, shifts),
                                   _mm512_loadu_si512(end - 8));
}

/* A merge under way. In place these point behind what is still to be done, else at it. */
struct merge {
  uint64_t *axes, *epochs; /* of the union */
  const uint64_t *a, *b;   /* epochs of the two sides */
};

/* Places in the union: which of them each side lists, eight a byte, and the numbers of their axes.
 */
struct places {
  uint8_t in_a[8], in_b[8];
  uint64_t listed[8];
  size_t total, eights;
};

/* Of the axes that the two words list; at most `most`. */
EIGHT_INLINE struct places places_of(uint64_t a, uint64_t b, size_t most) {
  const __m512i numbers = _mm512_set_epi64(
      0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928, 0x2726252423222120,
      0x1f1e1d1c1b1a1918, 0x1716151413121110, 0x0f0e0d0c0b0a0908, 0x0706050403020100);
  uint64_t both = a | b;
  uint64_t in_a = _pext_u64(a, both), in_b = _pext_u64(b, both);
  struct places places;
  memcpy(places.in_a, &in_a, sizeof in_a);
  memcpy(places.in_b, &in_b, sizeof in_b);
  _mm512_storeu_si512(places.listed, _mm512_maskz_compress_epi8(both, numbers));
  places.total = (size_t)__builtin_popcountll(both);
  places.eights = (most + 7) / 8;
  /* How many eights there are could not be guessed, so some are empty. Eight full ones are rare. */
  if (places.eights == 8 && places.total <= 56) places.eights = 7;
  return places;
}

EIGHT_INLINE __m512i axes_at(const struct places *places, size_t i, __m512i base) {
  const __m128i *listed = (const __m128i *)(const void *)(places->listed + i);
  return _mm512_add_epi64(_mm512_cvtepu8_epi64(_mm_loadl_epi64(listed)), base);
}

/* From the back, and nothing is written where nothing belongs. */
EIGHT_INLINE void merge_in_place(struct merge *m, const struct places *places, __m512i base) {
  m->axes -= places->total;
  m->epochs -= places->total;
  for (size_t i = places->eights; i-- > 0;) {
    size_t next_a = places->in_a[i], next_b = places->in_b[i];
    __m512i d = placed(m->a, next_a), e = placed(m->b, next_b);
    __mmask8 lanes = (__mmask8)(next_a | next_b);
    m->a -= __builtin_popcountll(next_a);
    m->b -= __builtin_popcountll(next_b);
    _mm512_mask_storeu_epi64(m->axes + 8 * i, lanes, axes_at(places, i, base));
    _mm512_mask_storeu_epi64(m->epochs + 8 * i, lanes, _mm512_max_epu64(d, e));
  }
}

/* To elsewhere, from the front; there is room for all eights, also where they are empty. */
EIGHT_INLINE void merge_apart(struct merge *m, const struct places *places, __m512i base) {
  for (size_t i = 0; i < places->eights; i++) {
    size_t next_a = places->in_a[i], next_b = places->in_b[i];
    m->a += __builtin_popcountll(next_a);
    m->b += __builtin_popcountll(next_b);
    _mm512_storeu_si512(m->axes + 8 * i, axes_at(places, i, base));
    _mm512_storeu_si512(m->epochs + 8 * i,
                        _mm512_max_epu64(placed(m->a, next_a), placed(m->b, next_b)));
  }
  m->axes += places->total;
  m->epochs += places->total;
}

struct words {
  uint64_t of_a[4], of_b[4];
};

/* The words of both sides: their lanes' sums, four at a time. */
EIGHT_INLINE struct words words_of(unsigned words, const struct bits *a, const struct bits *b) {
  struct words out;
  if (words == 1) {
    __m128i both = _mm512_castsi512_si128(spread(a->word[0], b->word[0]));
    out.of_a[0] = (uint64_t)_mm_cvtsi128_si64(both);
    out.of_b[0] = (uint64_t)_mm_extract_epi64(both, 1);
    return out;
  }
#pragma GCC unroll 2
  for (unsigned w = 0; w < words; w += 2) {
    __m512i of_a = in_turns(a->word[w], a->word[w + 1]),
            of_b = in_turns(b->word[w], b->word[w + 1]);
    __m512i sums = _mm512_xor_si512(_mm512_shuffle_i64x2(of_a, of_b, 0x44),
                                    _mm512_shuffle_i64x2(of_a, of_b, 0xee));
    sums = _mm512_xor_si512(sums, _mm512_shuffle_i64x2(sums, sums, 0xb1));
    __m128i first = _mm512_castsi512_si128(sums), second = _mm512_extracti64x2_epi64(sums, 2);
    out.of_a[w] = (uint64_t)_mm_cvtsi128_si64(first);
    out.of_a[w + 1] = (uint64_t)_mm_extract_epi64(first, 1);
    out.of_b[w] = (uint64_t)_mm_cvtsi128_si64(second);
    out.of_b[w + 1] = (uint64_t)_mm_extract_epi64(second, 1);
  }
#pragma GCC unroll 3
  for (unsigned w = words - 1; w > 0; w--) {
    out.of_a[w] ^= out.of_a[w - 1];
    out.of_b[w] ^= out.of_b[w - 1];
  }
  return out;
}

/* A word's first axis; of one that has none, anything. */
EIGHT_INLINE __m512i first_of(const struct ground *ground, unsigned word) {
  return word > 0 ? _mm512_add_epi64(ground->last[word - 1], all_at(tide_eight_words))
                  : ground->base;
}

/* All axes are from the first one on, none further than `span` behind it. */
EIGHT_INLINE bool merge_within(struct tide_frontier *to, const struct tide_frontier *a,
                               const struct tide_frontier *b, size_t span, unsigned words,
                               bool in_place) {
  const uint64_t *a_axes = tide_frontier_axes(a), *b_axes = tide_frontier_axes(b);
  const uint64_t *a_epochs = a_axes + a->capacity, *b_epochs = b_axes + b->capacity;
  size_t n = a->count, m = b->count, total = 0, written = 0;
  const __m512i base = _mm512_min_epu64(all_at(a_axes), all_at(b_axes));
  const struct ground ground = ground_at(words, base);
  const struct bits a_bits = map(words, a_axes, n, &ground),
                    b_bits = map(words, b_axes, m, &ground);
  const struct words listed = words_of(words, &a_bits, &b_bits);
  struct places places[4];
#pragma GCC unroll 4
  for (unsigned w = 0; w < words; w++) {
    size_t most = w < words / 2 ? 64 : span + 1 > 64 * w ? span + 1 - 64 * w : 0;
    if (most > n + m) most = n + m;
    places[w] = places_of(listed.of_a[w], listed.of_b[w], most < 64 ? most : 64);
    if (written < total + 8 * places[w].eights) written = total + 8 * places[w].eights;
    total += places[w].total;
  }
  if ((in_place ? total : written) > to->capacity) return false;
  uint64_t *axes = tide_frontier_axes_of(to), *epochs = axes + to->capacity;
  if (in_place) {
    struct merge at = {axes + total, epochs + total, a_epochs + n, b_epochs + m};
#pragma GCC unroll 4
    for (unsigned w = words; w-- > 0;) merge_in_place(&at, &places[w], first_of(&ground, w));
  } else {
    struct merge at = {axes, epochs, a_epochs, b_epochs};
#pragma GCC unroll 4
    for (unsigned w = 0; w < words; w++) merge_apart(&at, &places[w], first_of(&ground, w));
  }
  to->count = (uint8_t)total;
  return true;
}

#define WITHIN(name, words, in_place)                                                              \
  EIGHT_APART static bool name(struct tide_frontier *to, const struct tide_frontier *a,            \
                               const struct tide_frontier *b, size_t span) {                       \
    return merge_within(to, a, b, span, words, in_place);                                          \
  }
WITHIN(merge_64, 1, true)
WITHIN(merge_128, 2, true)
WITHIN(merge_256, 4, true)
WITHIN(join_64, 1, false)
WITHIN(join_128, 2, false)
WITHIN(join_256, 4, false)

bool tide_eight_join(struct tide_frontier *to, const struct tide_frontier *f,
                     const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  tide_axis first, span = tide_span_of_both(f, g, &first);
  (void)first; /* is taken from both sides' words, where they lie in vectors anyway */
  /* Eight words in front of any epoch are read: that many belong to it. */
  if (f->capacity < 7 || g->capacity < 7) return false;
  if (span < 64) return (to == f ? merge_64 : join_64)(to, f, g, span);
  if (span >= 256 || span > 4 * (n + m)) return false;
  if (span < 128) return (to == f ? merge_128 : join_128)(to, f, g, span);
  return (to == f ? merge_256 : join_256)(to, f, g, span);
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
