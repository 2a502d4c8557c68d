/* Few entries with 256-bit instructions: each axis is held against all others at once.
 *
 * A walk of two short lists is mostly wrong guesses, each of which takes as long as a dozen
 * comparisons. So here all of one side's axes lie in a register, the other side's are held against
 * them one by one, and no branch asks for the outcome. Axes are compared by their lower halves:
 * the upper ones have to be the same, which those of one lease's domain are. */
#include "causal/frontier_wide.h"

#if TIDE_HAS_WIDE
#include "causal/frontier_lanes.h"

/* The first `count` lanes, as a mask; of the second four where `from` is 4. */
WIDE_INLINE __m256i lanes_below(size_t count, int from) {
  return _mm256_cmpgt_epi64(all(count), _mm256_setr_epi64x(from, from + 1, from + 2, from + 3));
}

/* The lower halves of up to 8 axes, in order; zeros behind the last one. */
WIDE_INLINE __m256i hold(const uint64_t *axes, size_t count) {
  const long long *at = (const long long *)(const void *)axes;
  __m256i low = _mm256_maskload_epi64(at, lanes_below(count, 0));
  __m256i high = _mm256_maskload_epi64(at + 4, lanes_below(count, 4));
  __m256 both = _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), 0x88);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0xd8);
}

WIDE_INLINE unsigned bits_of(__m256i mask) {
  return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(mask));
}

/* How many of the lower bits are set before each, 32 bits a count. */
WIDE_INLINE __m256i set_before(unsigned bits) {
  uint64_t apart = bits * 0x0101010101010101u & 0x8040201008040201u; /* each in its own byte */
  uint64_t ones = (apart + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
  return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)(ones * 0x0101010101010100u)));
}

/* Where entries come in the union. */
struct places {
  uint32_t to[TIDE_FEW_MOST], from[TIDE_FEW_MOST];
  unsigned common; /* which of from's axes both list, as bits */
};

/* `to` is read word by word: it may have been written just now, and wide loads would wait. */
WIDE_INLINE void find_places(const uint64_t *axes, size_t n, const uint64_t *from_axes, size_t m,
                             struct places *out) {
  const __m256i held = hold(from_axes, m);
  __m256i lower = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  unsigned common = 0, held_bits = (1u << m) - 1;
  for (size_t i = 0; i < n; i++) {
    __m256i axis = _mm256_set1_epi32((int)(uint32_t)axes[i]);
    __m256i above = _mm256_cmpgt_epi32(held, axis);
    lower = _mm256_sub_epi32(lower, above); /* all ones is -1 */
    common |= bits_of(_mm256_cmpeq_epi32(held, axis));
    unsigned others = (common | bits_of(above)) & held_bits;
    out->to[i] = (uint32_t)(i + m) - (uint32_t)__builtin_popcount(others);
  }
  common &= held_bits;
  /* Those that both list are counted once. */
  _mm256_storeu_si256((__m256i *)(void *)out->from, _mm256_sub_epi32(lower, set_before(common)));
  out->common = common;
}

/* What `to` lists moves to its place, the last first, as none moves down; then the other's go to
 * theirs. */
WIDE bool tide_few_merge(struct tide_frontier *to, const struct tide_frontier *from) {
  struct places places;
  size_t n = to->count, m = from->count;
  uint64_t *axes = (uint64_t *)(void *)(to + 1), *epochs = axes + to->capacity;
  const uint64_t *b_axes = tide_frontier_axes(from), *b_epochs = tide_frontier_epochs(from);
  if (((axes[0] ^ axes[n - 1]) | (axes[0] ^ b_axes[0]) | (axes[0] ^ b_axes[m - 1])) >> 31)
    return false;
  find_places(axes, n, b_axes, m, &places);
  unsigned common = places.common;
  size_t total = n + m - (size_t)__builtin_popcount(common);
  if (total > to->capacity) return false;
  to->count = (uint8_t)total;
  for (size_t i = n; i-- > 0;) {
    uint64_t axis = axes[i], epoch = epochs[i], place = places.to[i];
    axes[place] = axis;
    epochs[place] = epoch;
  }
  for (size_t j = 0; j < m; j++, common >>= 1) {
    uint64_t place = places.from[j], epoch = b_epochs[j];
    uint64_t old = epochs[place] & (0 - (uint64_t)(common & 1));
    axes[place] = b_axes[j];
    epochs[place] = old < epoch ? epoch : old;
  }
  return true;
}
#endif
