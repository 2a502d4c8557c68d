/* Merging with 512-bit instructions: eight entries of the union at a time.
 *
 * Both sides' maps say which of them lists each place in the union: eight places take their epochs
 * from both sides at once, and the larger ones are kept. In place it goes from the back to the
 * front: none of to's entries lies behind its place in the union, so what is written from place p
 * on was read before, and what is still to be read lies in front of p. Into a third it goes word by
 * word from the front and writes eights whole: what is too much is written over by the next word,
 * or lies behind the last entry. */
#include "causal/frontier.h"
#include "causal/frontier_wide.h"

#if TIDE_HAS_WIDE
#include "causal/frontier_eight.h"
#include "causal/frontier_map.h"

#define ONES(m) (((m)&1) + ((m) >> 1 & 1) + ((m) >> 2 & 1) + ((m) >> 3 & 1) + ONES_HIGH(m))
#define ONES_HIGH(m) (((m) >> 4 & 1) + ((m) >> 5 & 1) + ((m) >> 6 & 1) + ((m) >> 7 & 1))
#define PLACE(m, i) (((m) >> (i)&1 ? 16u - ONES((m) >> (i)) : 0u) << 4 * (i))
#define HALF(m, i) (PLACE(m, i) | PLACE(m, (i) + 1) | PLACE(m, (i) + 2) | PLACE(m, (i) + 3))
#define CHOICE(m) HALF(m, 0) | HALF(m, 4)
#define FOUR(m) CHOICE(m), CHOICE((m) + 1), CHOICE((m) + 2), CHOICE((m) + 3)
#define SIXTEEN(m) FOUR(m), FOUR((m) + 4), FOUR((m) + 8), FOUR((m) + 12)
#define SIXTY_FOUR(m) SIXTEEN(m), SIXTEEN((m) + 16), SIXTEEN((m) + 32), SIXTEEN((m) + 48)
const uint32_t tide_eight_choices[257] = {SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128),
                                          SIXTY_FOUR(192), 0 /* read with the last */};

/* A merge under way. */
struct merge {
  uint64_t *axes, *epochs; /* where a word's places begin */
  const uint64_t *a, *b;   /* behind the epochs of both sides that come next */
};

/* Places in the union: which of them each side lists, eight a byte, and the numbers of their axes.
 */
struct places {
  uint8_t in_a[8], in_b[8];
  uint64_t listed[8];
  size_t total, eights;
};

/* Of the axes that the two words list; at most `most`. */
EIGHT_INLINE void find_places(struct places *places, uint64_t a, uint64_t b, size_t most) {
  const __m512i numbers = _mm512_set_epi64(
      0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928, 0x2726252423222120,
      0x1f1e1d1c1b1a1918, 0x1716151413121110, 0x0f0e0d0c0b0a0908, 0x0706050403020100);
  uint64_t both = a | b;
  uint64_t in_a = _pext_u64(a, both), in_b = _pext_u64(b, both);
  memcpy(places->in_a, &in_a, sizeof in_a);
  memcpy(places->in_b, &in_b, sizeof in_b);
  _mm512_storeu_si512(places->listed, _mm512_maskz_compress_epi8(both, numbers));
  /* Compilers would keep all in registers, and take it apart there: on the ports that are short. */
  __asm__("" : "+m"(*places));
  places->total = (size_t)__builtin_popcountll(both);
  places->eights = (most + 7) / 8;
  /* How many eights there are could not be guessed, so some are empty. Eight full ones are rare. */
  if (places->eights == 8 && places->total <= 56) places->eights = 7;
}

EIGHT_INLINE __m512i axes_at(const struct places *places, size_t i, __m512i base) {
  const __m128i *listed = (const __m128i *)(const void *)(places->listed + i);
  return _mm512_add_epi64(_mm512_cvtepu8_epi64(_mm_loadl_epi64(listed)), base);
}

/* The eight places from 8 * i on; none is behind what was done last. In place nothing is written
 * where nothing belongs. */
EIGHT_INLINE void merge_eight(struct merge *m, const struct places *places, size_t i, __m512i base,
                              bool in_place) {
  size_t in_a = places->in_a[i], in_b = places->in_b[i];
  __m512i d = placed(m->a, in_a), e = placed(m->b, in_b);
  __m512i axes = axes_at(places, i, base), epochs = _mm512_max_epu64(d, e);
  m->a -= __builtin_popcountll(in_a);
  m->b -= __builtin_popcountll(in_b);
  if (in_place) {
    __mmask8 lanes = (__mmask8)(in_a | in_b);
    _mm512_mask_storeu_epi64(m->axes + 8 * i, lanes, axes);
    _mm512_mask_storeu_epi64(m->epochs + 8 * i, lanes, epochs);
  } else {
    _mm512_storeu_si512(m->axes + 8 * i, axes);
    _mm512_storeu_si512(m->epochs + 8 * i, epochs);
  }
}

/* A word's places from the back on; all point behind what it takes, but to where its places begin.
 * There is no loop whose end could not be guessed. */
EIGHT_INLINE void merge_word(struct merge *m, const struct places *places, __m512i base,
                             bool in_place) {
  switch (places->eights) {
    case 8: merge_eight(m, places, 7, base, in_place); /* fall through */
    case 7: merge_eight(m, places, 6, base, in_place); /* fall through */
    case 6: merge_eight(m, places, 5, base, in_place); /* fall through */
    case 5: merge_eight(m, places, 4, base, in_place); /* fall through */
    case 4: merge_eight(m, places, 3, base, in_place); /* fall through */
    case 3: merge_eight(m, places, 2, base, in_place); /* fall through */
    case 2: merge_eight(m, places, 1, base, in_place); /* fall through */
    case 1: merge_eight(m, places, 0, base, in_place);
  }
}

/* `base`: the first axis of both; `span`: how far their last one lies behind it. */
EIGHT_INLINE bool join(struct tide_frontier *to, const struct tide_frontier *a,
                       const struct tide_frontier *b, tide_axis base, size_t span, size_t words,
                       bool in_place) {
  uint64_t of_a[TIDE_MAP_WORDS], of_b[TIDE_MAP_WORDS];
  const __m256i in_a = moved_map(a, (size_t)(tide_frontier_axes(a)[0] - base), words),
                in_b = moved_map(b, (size_t)(tide_frontier_axes(b)[0] - base), words);
  _mm256_storeu_si256((__m256i *)(void *)of_a, in_a);
  _mm256_storeu_si256((__m256i *)(void *)of_b, in_b);
  size_t n = a->count, m = b->count, total = 0, written = 0;
  struct places places[TIDE_MAP_WORDS];
#pragma GCC unroll 4
  for (size_t w = 0; w < words; w++) {
    size_t most = span < 64 * w ? 0 : span - 64 * w < 64 ? span - 64 * w + 1 : 64;
    find_places(&places[w], of_a[w], of_b[w], most < n + m ? most : n + m);
    if (written < total + 8 * places[w].eights) written = total + 8 * places[w].eights;
    total += places[w].total;
  }
  if ((in_place ? total : written) > to->capacity) return false;
  uint64_t *axes = tide_frontier_axes_of(to), *epochs = axes + to->capacity;
  const uint64_t *a_epochs = tide_frontier_epochs(a), *b_epochs = tide_frontier_epochs(b);
  if (in_place) {
    struct merge at = {axes + total, epochs + total, a_epochs + n, b_epochs + m};
#pragma GCC unroll 4
    for (size_t w = words; w-- > 0;) {
      at.axes -= places[w].total;
      at.epochs -= places[w].total;
      merge_word(&at, &places[w], all(base + 64 * w), true);
    }
  } else {
#pragma GCC unroll 4
    for (size_t w = 0; w < words; w++) {
      a_epochs += __builtin_popcountll(of_a[w]);
      b_epochs += __builtin_popcountll(of_b[w]);
      struct merge at = {axes, epochs, a_epochs, b_epochs};
      merge_word(&at, &places[w], all(base + 64 * w), false);
      axes += places[w].total;
      epochs += places[w].total;
    }
  }
  to->count = (uint8_t)total;
  if (tide_frontier_map_fits(to))
    _mm256_storeu_si256((__m256i *)(void *)tide_frontier_map_of(to), _mm256_or_si256(in_a, in_b));
  return true;
}

#define JOIN(name, words, in_place)                                                                \
  EIGHT_APART static bool name(struct tide_frontier *to, const struct tide_frontier *a,            \
                               const struct tide_frontier *b, tide_axis base, size_t span) {       \
    return join(to, a, b, base, span, words, in_place);                                            \
  }
JOIN(merge_64, 1, true)
JOIN(merge_128, 2, true)
JOIN(merge_256, 4, true)
JOIN(join_64, 1, false)
JOIN(join_128, 2, false)
JOIN(join_256, 4, false)

bool tide_eight_join(struct tide_frontier *to, const struct tide_frontier *f,
                     const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  tide_axis base, span = tide_span_of_both(f, g, &base);
  /* Eight words in front of any epoch are read: that many belong to it. */
  if (f->capacity < 7 || g->capacity < 7) return false;
  if (span < 64) return (to == f ? merge_64 : join_64)(to, f, g, base, span);
  if (span >= TIDE_MAP_BITS || tide_map_sparse(span, n + m)) return false;
  if (span < 128) return (to == f ? merge_128 : join_128)(to, f, g, base, span);
  return (to == f ? merge_256 : join_256)(to, f, g, base, span);
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
