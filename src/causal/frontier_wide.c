/* Frontiers with 256-bit instructions: four entries at a time.
 *
 * Loops end with a block that overlaps the one before, so that nothing is read behind the entries
 * and nothing is left for a loop by ones. Epochs are compared as signed numbers after their sign
 * was turned over, since there is no instruction for unsigned ones. */
#include "causal/frontier.h"
#include "causal/frontier_wide.h"

#if TIDE_HAS_WIDE
#include "causal/frontier_lanes.h"
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

/* Axes as bits: bit k is the axis `base` + k. Up to four words; a lane each for the words' vectors
 * below. A shift by 64 or more leaves nothing, so each word takes what is its own. */
struct bits {
  __m256i word[4];
};

WIDE_INLINE __m256i word_of(__m256i at, unsigned word) {
  at = _mm256_sub_epi64(at, _mm256_set1_epi64x(64 * (int64_t)word));
  return _mm256_sllv_epi64(_mm256_set1_epi64x(1), at);
}

WIDE_INLINE uint64_t all_of(__m256i bits) {
  __m128i half = _mm_or_si128(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
  return (uint64_t)_mm_cvtsi128_si64(_mm_or_si128(half, _mm_unpackhi_epi64(half, half)));
}

/* The bits of all lanes in each. */
WIDE_INLINE __m256i spread(__m256i bits) {
  bits = _mm256_or_si256(bits, _mm256_permute4x64_epi64(bits, 0x4e));
  return _mm256_or_si256(bits, _mm256_shuffle_epi32(bits, 0x4e));
}

WIDE_INLINE void map_four(struct bits *bits, unsigned words, const tide_axis *axes, __m256i base) {
  __m256i at = _mm256_sub_epi64(load(axes), base);
  bits->word[0] = _mm256_or_si256(bits->word[0], word_of(at, 0));
  if (words > 1) bits->word[1] = _mm256_or_si256(bits->word[1], word_of(at, 1));
  if (words > 2) bits->word[2] = _mm256_or_si256(bits->word[2], word_of(at, 2));
  if (words > 2) bits->word[3] = _mm256_or_si256(bits->word[3], word_of(at, 3));
}

/* count >= 4. Some axes are done twice: up to 4 * at_once + 4 there is no loop to guess. */
WIDE_INLINE struct bits map(unsigned words, unsigned at_once, const tide_axis *axes, size_t count,
                            __m256i base) {
  struct bits bits;
  bits.word[0] = bits.word[1] = bits.word[2] = bits.word[3] = _mm256_setzero_si256();
  const tide_axis *last = axes + count - 4;
  map_four(&bits, words, last, base);
  for (; axes < last; axes += (size_t)4 * at_once) {
    map_four(&bits, words, axes, base);
    if (at_once > 1) map_four(&bits, words, axes + 4 < last ? axes + 4 : last, base);
    if (at_once > 2) map_four(&bits, words, axes + 8 < last ? axes + 8 : last, base);
    if (at_once > 3) map_four(&bits, words, axes + 12 < last ? axes + 12 : last, base);
    if (at_once > 3) map_four(&bits, words, axes + 16 < last ? axes + 16 : last, base);
    if (at_once > 3) map_four(&bits, words, axes + 20 < last ? axes + 20 : last, base);
  }
  return bits;
}

/* The same for many words, one after the other: the axes are sorted, so each takes few of them. */
WIDE_INLINE void map_apart(uint64_t *words, unsigned count_of_words, const tide_axis *axes,
                           size_t count, tide_axis base) {
  const tide_axis *last = axes + count - 4;
  for (unsigned w = 0; w < count_of_words; w++) {
    const __m256i start = _mm256_set1_epi64x((int64_t)(base + 64 * w));
    __m256i bits = _mm256_setzero_si256();
    for (;; axes += 4) {
      if (axes > last) axes = last;
      bits = _mm256_or_si256(bits, word_of(_mm256_sub_epi64(load(axes), start), 0));
      if (axes == last || axes[3] - base >= 64 * (w + 1)) break;
    }
    words[w] = all_of(bits);
  }
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

/* g's axes become bits; four entries of f at a time are looked up in them, those that are there
 * pushed together and held against g's next ones. */
WIDE_INLINE bool covers_within(const struct tide_frontier *f, const struct tide_frontier *g,
                               unsigned words, unsigned at_once) {
  const uint64_t *at = tide_frontier_axes(f), *last = at + f->count - 4;
  const uint64_t *needed = tide_frontier_epochs(g), *end = needed + g->count;
  size_t epoch = f->capacity;
  const __m256i base = _mm256_set1_epi64x((int64_t)tide_frontier_axes(g)[0]);
  struct bits bits = map(words, at_once, tide_frontier_axes(g), g->count, base);
  bits.word[0] = spread(bits.word[0]);
  if (words > 1) bits.word[1] = spread(bits.word[1]);
  if (words > 2) bits.word[2] = spread(bits.word[2]);
  if (words > 2) bits.word[3] = spread(bits.word[3]);
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

WIDE APART static bool covers_short(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_within(f, g, 1, 3);
}
WIDE APART static bool covers_64(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_within(f, g, 1, 6);
}
WIDE APART static bool covers_128(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_within(f, g, 2, 6);
}
WIDE APART static bool covers_256(const struct tide_frontier *f, const struct tide_frontier *g) {
  return covers_within(f, g, 4, 6);
}

unsigned tide_wide_covers(const struct tide_frontier *f, const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  tide_axis first = tide_frontier_axes(g)[0], last = tide_frontier_axes(g)[m - 1];
  if (first < tide_frontier_axes(f)[0]) return TIDE_NO;
  if (last > tide_frontier_axes(f)[n - 1]) return TIDE_NO;
  if (last - first < 64) return m <= 16 ? covers_short(f, g) : covers_64(f, g);
  if (last - first < 128) return covers_128(f, g);
  if (last - first < 256) return covers_256(f, g);
  return TIDE_WALK;
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

/* All axes are from `base` on, none behind base + span. */
WIDE_INLINE bool join_within(struct tide_frontier *to, const struct tide_frontier *f,
                             const struct tide_frontier *g, tide_axis base, size_t span,
                             unsigned words) {
  /* f's epochs, for it may be `to`; and four are read at a time. */
  uint64_t a[4], b[4], kept[TIDE_FRONTIER_CAPACITY_MAX + 4];
  copy(kept, tide_frontier_epochs(f), f->count);
  const __m256i first = _mm256_set1_epi64x((int64_t)base);
  if (words <= 2) {
    struct bits in_a = map(words, 3, tide_frontier_axes(f), f->count, first);
    struct bits in_b = map(words, 3, tide_frontier_axes(g), g->count, first);
    a[0] = all_of(in_a.word[0]);
    b[0] = all_of(in_b.word[0]);
    if (words > 1) a[1] = all_of(in_a.word[1]);
    if (words > 1) b[1] = all_of(in_b.word[1]);
  } else {
    map_apart(a, words, tide_frontier_axes(f), f->count, base);
    map_apart(b, words, tide_frontier_axes(g), g->count, base);
  }
  size_t total = 0;
  for (unsigned w = 0; w < words; w++) total += (size_t)__builtin_popcountll(a[w] | b[w]);
  if (total > to->capacity) return false;
  uint64_t *axes = tide_frontier_axes_of(to);
  struct merge m = {axes, axes + to->capacity, to->capacity, kept, tide_frontier_epochs(g)};
  for (unsigned w = 0; w < words && 64 * w <= span; w++) {
    const __m256i start = _mm256_set1_epi64x((int64_t)(base + 64 * w));
    size_t most = span - 64 * w < 63 ? span - 64 * w : 63;
    size_t room = (size_t)(m.end - m.to), count = (size_t)__builtin_popcountll(a[w] | b[w]);
    /* Also where the word has nothing more, four are written. */
    if (room >= count + 4) merge_word(&m, a[w], b[w], most, start, true);
    else merge_word(&m, a[w], b[w], most, start, false);
  }
  to->count = (uint8_t)total;
  return true;
}

#define WITHIN(name, words)                                                                        \
  WIDE APART static bool name(struct tide_frontier *to, const struct tide_frontier *f,             \
                              const struct tide_frontier *g, tide_axis base, size_t span) {        \
    return join_within(to, f, g, base, span, words);                                               \
  }
WITHIN(join_64, 1)
WITHIN(join_128, 2)
WITHIN(join_256, 4)

bool tide_four_join(struct tide_frontier *to, const struct tide_frontier *f,
                    const struct tide_frontier *g) {
  size_t n = f->count, m = g->count;
  tide_axis first, span = tide_span_of_both(f, g, &first);
  if (span >= 256 || span > 4 * (n + m)) return false;
  if (span < 64) return join_64(to, f, g, first, span);
  if (span < 128) return join_128(to, f, g, first, span);
  return join_256(to, f, g, first, span);
}
#endif
