/* Questions about frontiers with 512-bit instructions: eight entries at a time.
 * What is left at the end is loaded lane by lane. */
#include "causal/frontier.h"
#include "causal/frontier_wide.h"

#if TIDE_HAS_WIDE
#include "causal/frontier_eight.h"
#include "causal/frontier_map.h"

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

/* Up to 64 entries of f, from the back on: eight of g's epochs at a time, the last of which lie in
 * front of `need`, go to the places of those that g lists, which the bits say. What is not needed
 * is 0, and nothing is lower. */
struct push {
  const uint64_t *have, *need;
  uint64_t listed;
  unsigned lower;
};

EIGHT_INLINE void push(struct push *p, size_t i, __m512i have) {
  uint64_t listed = p->listed >> 8 * i & 0xff;
  p->lower |= _mm512_cmplt_epu64_mask(have, placed(p->need, listed));
  p->need -= __builtin_popcountll(listed);
}

EIGHT_INLINE void push_eight(struct push *p, size_t i) { push(p, i, load(p->have + 8 * i)); }

EIGHT_INLINE bool lower(const uint64_t *have, size_t count, const uint64_t *need, uint64_t listed) {
  struct push p = {have, need, listed, 0};
  size_t last = (count - 1) / 8;
  push(&p, last, load_lanes(first_lanes(count - 8 * last), have + 8 * last));
  switch (last) {
    case 7: push_eight(&p, 6); /* fall through */
    case 6: push_eight(&p, 5); /* fall through */
    case 5: push_eight(&p, 4); /* fall through */
    case 4: push_eight(&p, 3); /* fall through */
    case 3: push_eight(&p, 2); /* fall through */
    case 2: push_eight(&p, 1); /* fall through */
    case 1: push_eight(&p, 0);
  }
  return p.lower;
}

/* Fewer than eight needs: an axis' place is how many f lists below it. What is not listed is 0, and
 * less than what is needed. f's axes lie in so many words. */
EIGHT_INLINE bool covers_few(const struct tide_frontier *f, const struct tide_frontier *g,
                             size_t words) {
  const tide_axis *axes = tide_frontier_axes(g);
  const __m256i in_f = moved_map(f, 0, words);
  __mmask8 lanes = first_lanes(g->count);
  __m512i at = _mm512_sub_epi64(load_lanes(lanes, axes), all(tide_frontier_axes(f)[0]));
  __m512i bit = _mm512_rolv_epi64(all(1), at), word = _mm512_srli_epi64(at, 6);
  __m512i bits = words > 1 ? _mm512_permutexvar_epi64(word, _mm512_castsi256_si512(in_f))
                           : _mm512_broadcastq_epi64(_mm256_castsi256_si128(in_f));
  __m512i place = _mm512_popcnt_epi64(_mm512_and_si512(bits, _mm512_sub_epi64(bit, all(1))));
  if (words > 1) { /* and in the words before */
    const __m256i none = _mm256_setzero_si256(), count = _mm256_popcnt_epi64(in_f);
    __m256i before = _mm256_add_epi64(count, _mm256_alignr_epi64(count, none, 3));
    before = _mm256_add_epi64(before, _mm256_alignr_epi64(before, none, 2));
    before = _mm256_alignr_epi64(before, none, 3);
    place = _mm512_add_epi64(place, _mm512_permutexvar_epi64(word, _mm512_castsi256_si512(before)));
  }
  __mmask8 there = _mm512_mask_test_epi64_mask(lanes, bits, bit);
  __m512i epochs =
      _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), there, place, tide_frontier_epochs(f), 8);
  return !_mm512_cmplt_epu64_mask(epochs, load_lanes(lanes, axes + g->capacity));
}

EIGHT_APART static bool few_64(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_few(f, g, 1);
}
EIGHT_APART static bool few_256(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_few(f, g, TIDE_MAP_WORDS);
}
bool tide_eight_covers_few(const struct tide_frontier *f, const struct tide_frontier *g) {
  return tide_frontier_span(f) < 64 ? few_64(f, g) : few_256(f, g);
}

EIGHT bool tide_eight_covers(const struct tide_frontier *f, const struct tide_frontier *g) {
  uint64_t needs[TIDE_MAP_WORDS], listed[TIDE_MAP_WORDS + 1];
  const uint64_t *map = tide_frontier_map(f);
  const uint64_t *have = tide_frontier_epochs(f), *need = tide_frontier_epochs(g);
  size_t skip = (size_t)(tide_frontier_axes(g)[0] - tide_frontier_axes(f)[0]);
  const __m256i in_f = _mm256_loadu_si256((const __m256i *)(const void *)map),
                in_g = moved_map(g, skip, TIDE_MAP_WORDS);
  if (!_mm256_testc_si256(in_f, in_g)) return false;
  _mm256_storeu_si256((__m256i *)(void *)needs, in_g);
  size_t count = f->count, at = 0;
  if (count <= 64) {
    uint64_t bits = 0;
#pragma GCC unroll 4
    for (size_t w = 0; w < TIDE_MAP_WORDS; w++) { /* once there are 64, nothing follows */
      bits |= _pext_u64(needs[w], map[w]) << (at & 63);
      at += (size_t)__builtin_popcountll(map[w]);
    }
    return !lower(have, count, need + g->count, bits);
  }
  listed[0] = 0;
#pragma GCC unroll 4
  for (size_t w = 0; w < TIDE_MAP_WORDS; w++) {
    uint64_t bits = _pext_u64(needs[w], map[w]);
    listed[at / 64] |= bits << (at & 63);
    listed[at / 64 + 1] = bits >> 1 >> (63 - (at & 63));
    at += (size_t)__builtin_popcountll(map[w]);
  }
  for (size_t w = 0; w < count; w += 64) {
    uint64_t bits = listed[w / 64];
    need += __builtin_popcountll(bits);
    if (lower(have + w, count - w < 64 ? count - w : 64, need, bits)) return false;
  }
  return true;
}
#endif
