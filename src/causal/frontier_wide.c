/* Frontiers with 256-bit instructions: four entries at a time.
 *
 * Loops end with a block that overlaps the one before, so that nothing is read behind the entries
 * and nothing is left for a loop by ones. Epochs are compared as signed numbers after their sign
 * was turned over, since there is no instruction for unsigned ones. */
#include "causal/frontier.h"
#include "causal/frontier_wide.h"

#if TIDE_HAS_WIDE
#include "causal/frontier_lanes.h"
#include "causal/frontier_map.h"
#include "causal/frontier_wide_tables.h"

#define APART __attribute__((noinline))

uint8_t tide_frontier_tier;

enum tide_tier tide_frontier_best_tier(void) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
    return TIDE_TIER_PORTABLE;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("avx512vbmi2") ||
      !__builtin_cpu_supports("avx512vpopcntdq"))
    return TIDE_TIER_WIDE;
  return TIDE_TIER_EIGHT;
}

/* Before main, so that asking is a look at one byte; whoever comes before that is portable. What
 * the processor has was found out before: that constructor is of a higher priority. */
__attribute__((constructor)) static void find_tier(void) {
  tide_frontier_tier = (uint8_t)tide_frontier_best_tier();
}

/* Axes and, `epoch` words behind each, its epoch. */
struct list {
  const uint64_t *axes;
  size_t epoch;
  size_t count;
};

WIDE_INLINE struct list list_of(const struct tide_frontier *f) {
  return (struct list){tide_frontier_axes(f), f->capacity, f->count};
}

/* Not zero where f does not cover g: at these four entries. */
WIDE_INLINE __m256i uncovered(const uint64_t *f, size_t f_epoch, const uint64_t *g,
                              size_t g_epoch) {
  return _mm256_or_si256(_mm256_xor_si256(load(f), load(g)),
                         below(load(f + f_epoch), load(g + g_epoch)));
}

WIDE bool tide_wide_covers_same(const struct tide_frontier *have,
                                const struct tide_frontier *need) {
  const struct list f = list_of(have), g = list_of(need);
  for (size_t i = 0, last = f.count - 8;;) {
    const uint64_t *a = f.axes + i, *b = g.axes + i;
    if (any(_mm256_or_si256(uncovered(a, f.epoch, b, g.epoch),
                            uncovered(a + 4, f.epoch, b + 4, g.epoch))))
      return false;
    if (i == last) return true;
    i = i + 8 < last ? i + 8 : last;
  }
}

WIDE enum tide_order tide_wide_compare_same(const struct tide_frontier *left,
                                            const struct tide_frontier *right, bool f_has,
                                            bool g_has) {
  const struct list f = list_of(left), g = list_of(right);
  __m256i more = _mm256_set1_epi64x(-(int64_t)f_has), less = _mm256_set1_epi64x(-(int64_t)g_has);
  for (size_t i = 0, last = f.count - 4;;) {
    const uint64_t *a = f.axes + i, *b = g.axes + i;
    __m256i a_epochs = load(a + f.epoch), b_epochs = load(b + g.epoch);
    if (any(_mm256_xor_si256(load(a), load(b)))) return TIDE_CONCURRENT;
    more = _mm256_or_si256(more, below(b_epochs, a_epochs));
    less = _mm256_or_si256(less, below(a_epochs, b_epochs));
    if (i == last) break;
    i = i + 4 < last ? i + 4 : last;
  }
  if (any(more)) return any(less) ? TIDE_CONCURRENT : TIDE_AFTER;
  return any(less) ? TIDE_BEFORE : TIDE_EQUAL;
}

WIDE_INLINE unsigned equal(const tide_axis *axes, __m256i wanted) {
  __m256i same = _mm256_cmpeq_epi64(load(axes), wanted);
  return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(same));
}

/* Halves down to 16, then looks at all of them at once. */
WIDE uint64_t tide_wide_get(const struct tide_frontier *frontier, tide_axis axis) {
  size_t count = frontier->count;
  const tide_axis *axes = tide_axes_halved(tide_frontier_axes(frontier), &count, 16, axis);
  const __m256i wanted = _mm256_set1_epi64x((int64_t)axis);
  unsigned found = equal(axes, wanted) | equal(axes + 4, wanted) << 4 |
                   equal(axes + count - 8, wanted) << (count - 8) |
                   equal(axes + count - 4, wanted) << (count - 4);
  size_t at = (size_t)__builtin_ctz(found | 1u << (count - 1));
  return axes[at + frontier->capacity] & (0 - (uint64_t)(found != 0));
}

/* A word of axes each, in all lanes. */
struct bits {
  __m256i word[TIDE_MAP_WORDS];
};

/* As bits of a word: a shift by 64 or more leaves nothing, so each word takes what is its own. */
WIDE_INLINE __m256i word_of(__m256i at, unsigned word) {
  at = _mm256_sub_epi64(at, all(64 * (uint64_t)word));
  return _mm256_sllv_epi64(all(1), at);
}

WIDE_INLINE uint64_t all_of(__m256i bits) {
  __m128i half = _mm_or_si128(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
  return (uint64_t)_mm_cvtsi128_si64(_mm_or_si128(half, _mm_unpackhi_epi64(half, half)));
}

WIDE_INLINE __m256i lookup(__m256i word, __m256i at, int which) {
  return _mm256_srlv_epi64(word, _mm256_sub_epi64(at, _mm256_set1_epi64x(64 * which)));
}

/* The sign of each lane: is its axis among the bits? */
WIDE_INLINE __m256i listed(const struct bits *bits, unsigned words, __m256i at) {
  __m256i there = _mm256_srlv_epi64(bits->word[0], at);
  if (words > 1) there = _mm256_or_si256(there, lookup(bits->word[1], at, 1));
  if (words > 2) there = _mm256_or_si256(there, lookup(bits->word[2], at, 2));
  if (words > 2) there = _mm256_or_si256(there, lookup(bits->word[3], at, 3));
  return _mm256_slli_epi64(there, 63);
}

/* Those of f's four entries at `at` that are in g, as bits of `lanes`, against g's next ones. */
WIDE_INLINE __m256i lower_than_needed(const uint64_t *epochs, const uint64_t *needed,
                                      unsigned lanes) {
  __m256i known = _mm256_permutevar8x32_epi32(load(epochs), load(tide_wide_lanes[lanes].pack));
  return below(
      known, _mm256_maskload_epi64((const long long *)needed, load(tide_wide_lanes[lanes].packed)));
}

/* Four entries of f at a time are looked up in g's bits, those that are there pushed together and
 * held against g's next ones. */
WIDE_INLINE bool covers_within(const struct tide_frontier *f, const struct tide_frontier *g,
                               unsigned words) {
  const uint64_t *at = tide_frontier_axes(f), *last = at + f->count - 4;
  const uint64_t *needed = tide_frontier_epochs(g), *end = needed + g->count;
  size_t epoch = f->capacity;
  const __m256i base = all(tide_frontier_axes(g)[0]);
  struct bits bits;
  for (unsigned w = 0; w < words; w++) bits.word[w] = all(tide_frontier_map(g)[w]);
  __m256i bad = _mm256_setzero_si256();
  for (; at <= last; at += 4) {
    __m256i there = listed(&bits, words, _mm256_sub_epi64(load(at), base));
    unsigned lanes = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(there));
    bad = _mm256_or_si256(bad, lower_than_needed(at + epoch, needed, lanes));
    needed += __builtin_popcount(lanes);
  }
  unsigned done = (unsigned)(at - last); /* of the last four entries */
  if (done < 4) {
    __m256i there = listed(&bits, words, _mm256_sub_epi64(load(last), base));
    unsigned lanes = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(there)) & 15u << done;
    lanes &= 15;
    bad = _mm256_or_si256(bad, lower_than_needed(last + epoch, needed, lanes));
    needed += __builtin_popcount(lanes);
  }
  return (needed == end) & !any(bad);
}

WIDE APART static bool covers_128(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_within(f, g, 2);
}
WIDE APART static bool covers_256(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_within(f, g, 4);
}

bool tide_wide_covers(const struct tide_frontier *f, const struct tide_frontier *g) {
  return tide_frontier_span(g) < 128 ? covers_128(f, g) : covers_256(f, g);
}

/* A merge under way. */
struct merge {
  uint64_t *to;          /* where the next axes go */
  const uint64_t *end;   /* of their room */
  size_t epoch;          /* how far behind them their epochs go */
  const uint64_t *a, *b; /* the epochs that come next */
};

/* count >= 4 */
WIDE_INLINE void copy(uint64_t *to, const uint64_t *from, size_t count) {
  for (size_t i = 0; i + 4 < count; i += 4) {
    store(to + i, load(from + i));
    __asm__(""); /* or compilers make it one slow instruction */
  }
  store(to + count - 4, load(from + count - 4));
}

/* Bits that are turned so that the four next ones, which say which lanes hold an entry, are the
 * offset of their row. */
#define ROW sizeof(struct tide_wide_lanes)
#define ROWS (15 * ROW)
WIDE_INLINE uint64_t turned(uint64_t bits) { return bits << 7 | bits >> 57; }
WIDE_INLINE uint64_t next_four(uint64_t bits) { return bits >> 4 | bits << 60; }
WIDE_INLINE const struct tide_wide_lanes *row(uint64_t offset) {
  _Static_assert(ROW == 1 << 7, "see turned()");
  return (const struct tide_wide_lanes *)(const void *)((const char *)tide_wide_lanes + offset);
}

/* Up to four entries: the epochs of both go to the lanes of their axes, the larger ones are pushed
 * together, and the axes are known from the bits. Four are written, too, where fewer come: where
 * the room is not `roomy` its end is watched. */
WIDE_INLINE void merge_four(struct merge *m, uint64_t in_a, uint64_t in_b, __m256i start,
                            bool roomy) {
  uint64_t in_one = in_a | in_b;
  __m256i a = _mm256_and_si256(load(m->a), load(row(in_a)->packed));
  __m256i b = _mm256_maskload_epi64((const long long *)m->b, load(row(in_b)->packed));
  a = _mm256_permutevar8x32_epi32(a, load(row(in_a)->spread));
  b = _mm256_permutevar8x32_epi32(b, load(row(in_b)->spread));
  __m256i larger = _mm256_blendv_epi8(a, b, below(a, b));
  __m256i epochs = _mm256_permutevar8x32_epi32(larger, load(row(in_one)->pack));
  __m256i axes = _mm256_add_epi64(start, load(row(in_one)->place));
  m->a += __builtin_popcountll(in_a);
  m->b += __builtin_popcountll(in_b);
  if (roomy || m->to + 4 <= m->end) {
    store(m->to, axes);
    store(m->to + m->epoch, epochs);
  } else { /* at the end of the room */
    __m256i lanes = load(row(in_one)->packed);
    _mm256_maskstore_epi64((long long *)m->to, lanes, axes);
    _mm256_maskstore_epi64((long long *)(m->to + m->epoch), lanes, epochs);
  }
  m->to += __builtin_popcountll(in_one);
}

/* A word of each, as far as its bit `most`. */
WIDE_INLINE void merge_word(struct merge *m, uint64_t a, uint64_t b, size_t most, __m256i start,
                            bool roomy) {
  uint64_t left = turned(a), right = turned(b);
  for (size_t k = 0; k <= most; k += 4) {
    merge_four(m, left & ROWS, right & ROWS, start, roomy);
    left = next_four(left), right = next_four(right);
    start = _mm256_add_epi64(start, _mm256_set1_epi64x(4));
  }
}

/* The words of what f lists, each axis `skip` further up; of four to eight axes they are made here.
 */
WIDE_INLINE void take(uint64_t *words, const struct tide_frontier *f, size_t skip) {
  if (f->count >= TIDE_FRONTIER_MAP_LEAST) {
    tide_map_move(words, tide_frontier_map(f), skip);
    return;
  }
  const tide_axis *axes = tide_frontier_axes(f);
  const __m256i start = all(axes[0] - skip);
  __m256i low = _mm256_sub_epi64(load(axes), start),
          high = _mm256_sub_epi64(load(axes + f->count - 4), start);
  for (unsigned w = 0; w < TIDE_MAP_WORDS; w++)
    words[w] = all_of(_mm256_or_si256(word_of(low, w), word_of(high, w)));
}

WIDE bool tide_four_join(struct tide_frontier *to, const struct tide_frontier *f,
                         const struct tide_frontier *g) {
  size_t n = f->count, m = g->count, total = 0;
  tide_axis first, span = tide_span_of_both(f, g, &first);
  if (span >= TIDE_MAP_BITS || tide_map_sparse(span, n + m)) return false;
  uint64_t a[TIDE_MAP_WORDS], b[TIDE_MAP_WORDS];
  take(a, f, (size_t)(tide_frontier_axes(f)[0] - first));
  take(b, g, (size_t)(tide_frontier_axes(g)[0] - first));
  for (size_t w = 0; w < TIDE_MAP_WORDS; w++) total += (size_t)__builtin_popcountll(a[w] | b[w]);
  if (total > to->capacity) return false;
  /* f's epochs, for it may be `to`; and four are read at a time. */
  uint64_t kept[TIDE_FRONTIER_CAPACITY_MAX + 4];
  copy(kept, tide_frontier_epochs(f), n);
  uint64_t *axes = tide_frontier_axes_of(to);
  struct merge at = {axes, axes + to->capacity, to->capacity, kept, tide_frontier_epochs(g)};
  for (size_t w = 0; 64 * w <= span; w++) {
    const __m256i start = all(first + 64 * w);
    size_t most = span - 64 * w < 63 ? span - 64 * w : 63;
    size_t room = (size_t)(at.end - at.to), count = (size_t)__builtin_popcountll(a[w] | b[w]);
    /* Also where the word has nothing more, four are written. */
    if (room >= count + 4) merge_word(&at, a[w], b[w], most, start, true);
    else merge_word(&at, a[w], b[w], most, start, false);
  }
  to->count = (uint8_t)total;
  if (!tide_frontier_map_fits(to)) return true;
  uint64_t *map = tide_frontier_map_of(to);
  for (size_t w = 0; w < TIDE_MAP_WORDS; w++) map[w] = a[w] | b[w];
  return true;
}
#endif
