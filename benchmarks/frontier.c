/* Frontiers against the textbook two-pointer loops, on lists as the textbook has them, and compiled
 * beside them.
 *
 * Inputs. same: equal axes. interleaved: no axis in common, taking turns. half: every second axis
 * in common, the rest taking turns. tight: the same, into just enough capacity. random: 256
 * rotating inputs of n of 2n axes each. subset: 256 of them, where the right side lists about half
 * of the left one's axes, and half of the answers are yes. The processor learns even 256 short
 * inputs by heart, so there are 4096 more, each of 64 left sides with each of 64 right ones, and
 * 65536 up to 16 entries: wild, where both are n of 2n axes; superset and mixed, where the right
 * side's axes are some of the left one's, and all or half of the answers are yes. far,
 * far_superset: the same as wild and superset with axes that lie thousands apart. scenes: what
 * meets when the examples run.
 * A merge changes its left side, so both sides first copy it anew (the same memcpy, in both
 * figures). Up to 8 entries the textbook is faster in place, above with a buffer: it gets its best.
 * A join writes into a third, as a queue does that keeps what it knew before: no copy, and the
 * textbook needs no buffer.
 */
#include "bench.h"

#include "base/random.h"
#include "causal/frontier.h"
#include "frontier_scenes.h"
#include "tidemark/causal.h"

#include <stdlib.h>
#include <string.h>

#define INPUTS 256
/* Of each side. Some processors learn the turns of a hundred thousand guesses by heart, so where
 * each input takes few of them there are more: the memory stays the same. */
#define WILD(n) ((size_t)((n) <= 16 ? 256 : 64))
#define WILD_MOST (256 * 256)

enum shape {
  shape_same,
  shape_interleaved,
  shape_half,
  shape_tight,
  shape_random,
  shape_subset,
  shape_wild,
  shape_superset,
  shape_far,
  shape_far_superset,
  shape_mixed,
  shape_scenes
};

struct pair {
  struct tide_frontier *f, *g;
  tide_axis own; /* one of f's: a queue raises its own axis, which is one of those that it knows */
};

struct inputs {
  size_t count;
  struct pair pairs[WILD_MOST];
  struct pair made[INPUTS]; /* what the pairs are made of */
  size_t made_count;
  size_t bytes; /* of each f */
  /* Ours, one behind the other, and, so many bytes behind, the same for the textbook, as lists. */
  unsigned char *memory;
  size_t apart, used;
  TIDE_FRONTIER_STORAGE(scratch, 255);
};

/* ---- the textbook ---- */

/* Where the code lies is to make no difference: ours does the same. With -O3 the join is a fifth
 * faster than with -O2, which the library is compiled with; the others don't care. */
#ifdef __clang__ /* has no such attribute */
#define TEXTBOOK __attribute__((noinline, aligned(64)))
#else
#define TEXTBOOK __attribute__((noinline, aligned(64), optimize("O3")))
#endif

struct writable {
  uint64_t *axes, *epochs;
};

static inline struct writable open_entries(struct tide_frontier *f) {
  uint64_t *words = (uint64_t *)(void *)(f + 1);
  return (struct writable){words, words + f->capacity};
}

/* Two passes: count the union, then fill it in from the back, in place. */
TEXTBOOK static void textbook_merge(struct tide_frontier *to, const struct tide_frontier *from) {
  struct writable a = open_entries(to);
  const uint64_t *b_axes = tide_frontier_axes(from), *b_epochs = tide_frontier_epochs(from);
  size_t i = 0, j = 0, n = to->count, m = from->count, count = 0;
  for (; i < n && j < m; count++) {
    if (a.axes[i] < b_axes[j]) i++;
    else if (a.axes[i] > b_axes[j]) j++;
    else i++, j++;
  }
  count += (n - i) + (m - j);
  to->tainted |= from->tainted;
  if (count > to->capacity) bench_wrong("the textbook does not evict");
  to->count = (uint8_t)count;
  i = n, j = m;
  while (j > 0) {
    count--;
    if (i > 0 && a.axes[i - 1] > b_axes[j - 1]) {
      i--;
      a.axes[count] = a.axes[i];
      a.epochs[count] = a.epochs[i];
    } else if (i > 0 && a.axes[i - 1] == b_axes[j - 1]) {
      i--, j--;
      a.axes[count] = a.axes[i];
      a.epochs[count] = a.epochs[i] > b_epochs[j] ? a.epochs[i] : b_epochs[j];
    } else {
      j--;
      a.axes[count] = b_axes[j];
      a.epochs[count] = b_epochs[j];
    }
  }
}

/* One pass into a buffer, then copied back. */
TEXTBOOK static void buffered_merge(struct tide_frontier *to, const struct tide_frontier *from) {
  struct writable a = open_entries(to);
  const uint64_t *b_axes = tide_frontier_axes(from), *b_epochs = tide_frontier_epochs(from);
  uint64_t axes[510], epochs[510];
  size_t i = 0, j = 0, n = to->count, m = from->count, count = 0;
  while (i < n && j < m) {
    if (a.axes[i] < b_axes[j]) {
      axes[count] = a.axes[i];
      epochs[count++] = a.epochs[i++];
    } else if (a.axes[i] > b_axes[j]) {
      axes[count] = b_axes[j];
      epochs[count++] = b_epochs[j++];
    } else {
      axes[count] = a.axes[i];
      epochs[count++] = a.epochs[i] > b_epochs[j] ? a.epochs[i] : b_epochs[j];
      i++, j++;
    }
  }
  for (; i < n; i++) axes[count] = a.axes[i], epochs[count++] = a.epochs[i];
  for (; j < m; j++) axes[count] = b_axes[j], epochs[count++] = b_epochs[j];
  to->tainted |= from->tainted;
  if (count > to->capacity) bench_wrong("the textbook does not evict");
  memcpy(a.axes, axes, count * sizeof axes[0]);
  memcpy(a.epochs, epochs, count * sizeof epochs[0]);
  to->count = (uint8_t)count;
}

/* Straight into a third. */
TEXTBOOK static void textbook_join(struct tide_frontier *to, const struct tide_frontier *f,
                                   const struct tide_frontier *g) {
  struct writable out = open_entries(to);
  const uint64_t *a_axes = tide_frontier_axes(f), *a_epochs = tide_frontier_epochs(f);
  const uint64_t *b_axes = tide_frontier_axes(g), *b_epochs = tide_frontier_epochs(g);
  size_t i = 0, j = 0, n = f->count, m = g->count, count = 0;
  while (i < n && j < m) {
    if (a_axes[i] < b_axes[j]) {
      out.axes[count] = a_axes[i];
      out.epochs[count++] = a_epochs[i++];
    } else if (a_axes[i] > b_axes[j]) {
      out.axes[count] = b_axes[j];
      out.epochs[count++] = b_epochs[j++];
    } else {
      out.axes[count] = a_axes[i];
      out.epochs[count++] = a_epochs[i] > b_epochs[j] ? a_epochs[i] : b_epochs[j];
      i++, j++;
    }
  }
  for (; i < n; i++) out.axes[count] = a_axes[i], out.epochs[count++] = a_epochs[i];
  for (; j < m; j++) out.axes[count] = b_axes[j], out.epochs[count++] = b_epochs[j];
  if (count > to->capacity) bench_wrong("the textbook does not evict");
  to->tainted = f->tainted | g->tainted;
  to->count = (uint8_t)count;
}

TEXTBOOK static bool textbook_dominates(const struct tide_frontier *f,
                                        const struct tide_frontier *g) {
  if (g->tainted) return false;
  const uint64_t *f_axes = tide_frontier_axes(f), *f_epochs = tide_frontier_epochs(f);
  const uint64_t *g_axes = tide_frontier_axes(g), *g_epochs = tide_frontier_epochs(g);
  size_t i = 0, n = f->count, m = g->count;
  for (size_t j = 0; j < m; j++) {
    while (i < n && f_axes[i] < g_axes[j]) i++;
    if (i == n || f_axes[i] != g_axes[j] || f_epochs[i] < g_epochs[j]) return false;
    i++;
  }
  return true;
}

TEXTBOOK static enum tide_order textbook_compare(const struct tide_frontier *f,
                                                 const struct tide_frontier *g) {
  const uint64_t *f_axes = tide_frontier_axes(f), *f_epochs = tide_frontier_epochs(f);
  const uint64_t *g_axes = tide_frontier_axes(g), *g_epochs = tide_frontier_epochs(g);
  size_t i = 0, j = 0, n = f->count, m = g->count;
  bool more = f->tainted, less = g->tainted; /* f has what g lacks; g has what f lacks */
  while (i < n && j < m) {
    if (f_axes[i] < g_axes[j]) {
      more = true;
      i++;
    } else if (f_axes[i] > g_axes[j]) {
      less = true;
      j++;
    } else {
      if (f_epochs[i] > g_epochs[j]) more = true;
      else if (f_epochs[i] < g_epochs[j]) less = true;
      i++, j++;
    }
    if (more && less) return TIDE_CONCURRENT;
  }
  more |= i < n;
  less |= j < m;
  if (more) return less ? TIDE_CONCURRENT : TIDE_AFTER;
  return less ? TIDE_BEFORE : TIDE_EQUAL;
}

TEXTBOOK static uint64_t textbook_get(const struct tide_frontier *f, tide_axis axis) {
  const uint64_t *axes = tide_frontier_axes(f);
  for (size_t i = 0; i < f->count; i++) {
    if (axes[i] == axis) return tide_frontier_epochs(f)[i];
  }
  return 0;
}

/* Insert or raise: linear search while that is faster, else binary. */
TEXTBOOK static void textbook_raise(struct tide_frontier *f, tide_axis axis, uint64_t epoch) {
  struct writable a = open_entries(f);
  size_t i = 0, n = f->count;
  if (n <= 16) {
    while (i < n && a.axes[i] < axis) i++;
  } else {
    for (size_t end = n; i < end;) {
      size_t middle = (i + end) / 2;
      if (a.axes[middle] < axis) i = middle + 1;
      else end = middle;
    }
  }
  if (i < n && a.axes[i] == axis) {
    if (a.epochs[i] < epoch) a.epochs[i] = epoch;
    return;
  }
  if (n == f->capacity) bench_wrong("the textbook does not evict");
  memmove(a.axes + i + 1, a.axes + i, (n - i) * sizeof a.axes[0]);
  memmove(a.epochs + i + 1, a.epochs + i, (n - i) * sizeof a.epochs[0]);
  a.axes[i] = axis;
  a.epochs[i] = epoch;
  f->count = (uint8_t)(n + 1);
}

/* ---- the floor ---- */

/* Whoever answers yes has read all that both sides say: their words, from wherever they lie. */
#define READ_SIDE(words, count)                                                                    \
  for (size_t i = 0; i + 16 <= (count); i += 16)                                                   \
    for (size_t k = 0; k < 16; k++) all[k] |= (words)[i + k];                                      \
  for (size_t i = (count) / 16 * 16; i < (count); i++) all[0] |= (words)[i]
#define READ_ALL                                                                                   \
  uint64_t all[16] = {0}, any = 0;                                                                 \
  READ_SIDE(f, n);                                                                                 \
  READ_SIDE(g, m);                                                                                 \
  for (size_t k = 0; k < 16; k++) any |= all[k];                                                   \
  return any
#ifdef __clang__
#define READER __attribute__((noinline))
#else
#define READER __attribute__((noinline, optimize("O3")))
#endif
READER static uint64_t read_plain(const uint64_t *f, size_t n, const uint64_t *g, size_t m) {
  READ_ALL;
}
#if defined(__x86_64__)
READER __attribute__((target("avx2"))) static uint64_t read_wide(const uint64_t *f, size_t n,
                                                                 const uint64_t *g, size_t m) {
  READ_ALL;
}
#endif

static inline size_t words_of(const struct tide_frontier *f) {
  return f->window ? f->window : (size_t)f->capacity + f->count;
}

static inline uint64_t read_both(const struct tide_frontier *f, const struct tide_frontier *g) {
  const uint64_t *of_f = (const uint64_t *)(const void *)(f + 1) + (f->window != 0);
  const uint64_t *of_g = (const uint64_t *)(const void *)(g + 1) + (g->window != 0);
#if defined(__x86_64__)
  if (tide_tier_of_processor() >= TIDE_TIER_AVX2)
    return read_wide(of_f, words_of(f), of_g, words_of(g));
#endif
  return read_plain(of_f, words_of(f), of_g, words_of(g));
}

/* ---- inputs ---- */

static tide_axis axis_at(uint64_t i) { return tide_axis_make(0, TIDE_DOMAIN_QUEUE, 1 + i); }

static inline struct tide_frontier *lists_of(const struct inputs *in,
                                             const struct tide_frontier *f) {
  return (struct tide_frontier *)((uintptr_t)f + in->apart);
}

static void make_lists(const struct inputs *in, const struct tide_frontier *f) {
  struct tide_frontier *lists = lists_of(in, f);
  struct tide_frontier_entry entry;
  tide_frontier_init(lists, f->capacity);
  for (struct tide_frontier_cursor at = tide_frontier_begin(f); tide_frontier_next(&at, &entry);)
    tide_frontier_append(lists, entry.axis, entry.epoch);
  BENCH_CHECK(tide_frontier_compare(f, lists) == TIDE_EQUAL);
}

static struct tide_frontier_entry entry_at(const struct tide_frontier *f, size_t number) {
  struct tide_frontier_entry entry = {0, 0};
  struct tide_frontier_cursor at = tide_frontier_begin(f);
  for (size_t i = 0; i <= number; i++)
    if (!tide_frontier_next(&at, &entry)) bench_wrong("there are so many entries");
  return entry;
}

static uint64_t spread_of(enum shape shape) {
  return shape == shape_far || shape == shape_far_superset ? 4096 : 1;
}

/* n of 2n axes. */
static void fill_random(struct tide_random *random, struct tide_frontier *f, size_t n,
                        uint64_t spread) {
  while (f->count < n)
    tide_frontier_raise(f, axis_at(spread * tide_random_below(random, 2 * n)),
                        1000 + tide_random_below(random, 1000), NULL);
}

/* g gets about half of f's entries, lower ones; then, half of the time, one too high. */
static void fill_subset(struct tide_random *random, struct pair *pair, size_t n) {
  const struct tide_frontier *f = pair->f;
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(f); tide_frontier_next(&at, &entry);) {
    if (n > 1 && tide_random_below(random, 2)) continue;
    tide_frontier_raise(pair->g, entry.axis, entry.epoch - 1, NULL);
  }
  size_t count = pair->g->count;
  if (count == 0 || tide_random_below(random, 2)) return;
  tide_axis axis = entry_at(pair->g, tide_random_below(random, count)).axis;
  tide_frontier_raise(pair->g, axis, 5000, NULL);
}

/* f: the even axes of the first n, and others. g: at least one of the even ones, lower; half of
 * the g of `mixed` have one that is too high. So all answers are the same, or half of them. */
static void fill_wild(struct tide_random *random, struct pair *pair, enum shape shape, size_t n) {
  uint64_t spread = spread_of(shape);
  if (shape == shape_wild || shape == shape_far) {
    fill_random(random, pair->f, n, spread);
    fill_random(random, pair->g, n, spread);
    return;
  }
  size_t shared = (n + 1) / 2, sure = tide_random_below(random, shared);
  for (size_t i = 0; i < shared; i++) {
    tide_frontier_raise(pair->f, axis_at(spread * 4 * i), 1000 + tide_random_below(random, 1000),
                        NULL);
    if (i == sure || tide_random_below(random, 4))
      tide_frontier_raise(pair->g, axis_at(spread * 4 * i), 1 + tide_random_below(random, 1000),
                          NULL);
  }
  while (pair->f->count < n)
    tide_frontier_raise(pair->f, axis_at(spread * tide_random_below(random, 2 * n)), 1500, NULL);
  if (shape != shape_mixed || tide_random_below(random, 2)) return;
  size_t high = tide_random_below(random, pair->g->count);
  tide_frontier_raise(pair->g, entry_at(pair->g, high).axis, 5000, NULL);
}

/* Where the left side does not know all, it is one entry that it lacks or has lower. */
static void fill_scene(struct tide_random *random, struct pair *pair, size_t scene) {
  for (unsigned i = 0; i < 16; i++) {
    uint64_t epoch = 1000 + tide_random_below(random, 1000);
    if (scenes[scene].left >> i & 1) tide_frontier_raise(pair->f, axis_at(i), epoch, NULL);
    if (scenes[scene].right >> i & 1)
      tide_frontier_raise(pair->g, axis_at(i), epoch - tide_random_below(random, 3), NULL);
  }
  if (scenes[scene].known || !tide_frontier_dominates(pair->f, pair->g)) return;
  size_t high = tide_random_below(random, pair->g->count);
  tide_frontier_raise(pair->g, entry_at(pair->g, high).axis, 5000, NULL);
}

static void fill(struct tide_random *random, struct pair *pair, enum shape shape, size_t n) {
  if (shape >= shape_wild) {
    fill_wild(random, pair, shape, n);
    return;
  }
  if (shape == shape_random || shape == shape_subset) fill_random(random, pair->f, n, 1);
  if (shape == shape_random) fill_random(random, pair->g, n, 1);
  if (shape == shape_subset) fill_subset(random, pair, n);
  if (shape >= shape_random) return;
  for (size_t i = 0; i < n; i++) {
    uint64_t epoch = 1000 + tide_random_below(random, 1000);
    bool shared = shape == shape_same || (shape != shape_interleaved && i % 2 == 0);
    tide_frontier_raise(pair->f, axis_at(2 * i), epoch, NULL);
    if (i == 127 && shape == shape_interleaved) break; /* the union has to fit: 255 */
    tide_frontier_raise(pair->g, axis_at(2 * i + !shared), epoch, NULL);
  }
}

static size_t capacity_for(enum shape shape, size_t n) {
  if (shape == shape_tight) return n + n / 2;
  return 2 * n < 255 ? 2 * n : 255;
}

static void check_pair(const struct inputs *in, const struct pair *pair) {
  TIDE_FRONTIER_STORAGE(a, 255);
  TIDE_FRONTIER_STORAGE(b, 255);
  const struct tide_frontier *f = pair->f, *g = pair->g;
  const struct tide_frontier *f_lists = lists_of(in, f), *g_lists = lists_of(in, g);
  memcpy(&a, f_lists, in->bytes);
  memcpy(&b, f_lists, in->bytes);
  textbook_merge(&a.frontier, g_lists);
  buffered_merge(&b.frontier, g_lists);
  BENCH_CHECK(tide_frontier_compare(&a.frontier, &b.frontier) == TIDE_EQUAL);
  memcpy(&b, f, in->bytes);
  tide_frontier_merge(&b.frontier, g, NULL);
  BENCH_CHECK(tide_frontier_compare(&a.frontier, &b.frontier) == TIDE_EQUAL);
  tide_frontier_init(&b.frontier, 255);
  textbook_join(&b.frontier, f_lists, g_lists);
  BENCH_CHECK(tide_frontier_compare(&a.frontier, &b.frontier) == TIDE_EQUAL);
  tide_frontier_init(&b.frontier, 255);
  BENCH_CHECK(tide_frontier_join(&b.frontier, 255, f, g));
  BENCH_CHECK(tide_frontier_compare(&a.frontier, &b.frontier) == TIDE_EQUAL);
  BENCH_CHECK(tide_frontier_dominates(f, g) == textbook_dominates(f_lists, g_lists));
  BENCH_CHECK(tide_frontier_compare(f, g) == textbook_compare(f_lists, g_lists));
}

static void shuffle(struct tide_random *random, struct inputs *in) {
  for (size_t i = in->count - 1; i > 0; i--) {
    size_t other = tide_random_below(random, i + 1);
    struct pair pair = in->pairs[i];
    in->pairs[i] = in->pairs[other];
    in->pairs[other] = pair;
  }
}

/* Each left side with each right one, in no order. */
static void cross(struct tide_random *random, struct inputs *in) {
  size_t sides = in->made_count;
  in->count = sides * sides;
  for (size_t i = 0; i < in->count; i++)
    in->pairs[i] =
        (struct pair){in->made[i / sides].f, in->made[i % sides].g, in->made[i / sides].own};
  shuffle(random, in);
}

static struct tide_frontier *new_frontier(struct inputs *in, size_t capacity) {
  struct tide_frontier *f = (struct tide_frontier *)(void *)(in->memory + in->used);
  in->used += tide_frontier_size(capacity);
  tide_frontier_init(f, (uint8_t)capacity);
  return f;
}

/* The right side has been packed, as records are. */
static size_t packed(size_t n) { return tide_frontier_packed(n, (2 * n + 7) / 8 * 8); }

static void new_pair(struct inputs *in, size_t capacity, size_t n) {
  if (in->made_count == INPUTS) bench_wrong("there is room for the inputs");
  struct tide_frontier *f = new_frontier(in, capacity);
  in->made[in->made_count++] = (struct pair){f, new_frontier(in, packed(n)), 0};
}

static void make_pairs(struct tide_random *random, struct inputs *in, enum shape shape,
                       size_t capacity, size_t n) {
  size_t count = shape >= shape_wild ? WILD(n) : shape >= shape_random ? INPUTS : 1;
  for (size_t i = 0; i < count; i++) {
    new_pair(in, capacity, n);
    fill(random, &in->made[i], shape, n);
  }
}

static void make_scenes(struct tide_random *random, struct inputs *in, size_t n) {
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    for (unsigned k = 0; k < scenes[i].times; k++) {
      new_pair(in, n, n);
      fill_scene(random, &in->made[in->made_count - 1], i);
    }
  }
}

static void *make(enum shape shape, size_t n) {
  struct inputs *in = calloc(1, sizeof *in);
  if (!in) bench_wrong("memory");
  struct tide_random random = {n * 8 + shape};
  size_t capacity = shape == shape_scenes ? n : capacity_for(shape, n);
  in->bytes = tide_frontier_size(capacity);
  in->apart = INPUTS * (in->bytes + tide_frontier_size(packed(n)));
  in->memory = malloc(2 * in->apart);
  if (!in->memory) bench_wrong("memory");
  if (shape == shape_scenes) make_scenes(&random, in, n);
  else make_pairs(&random, in, shape, capacity, n);
  in->count = in->made_count;
  for (size_t i = 0; i < in->made_count; i++) {
    make_lists(in, in->made[i].f);
    make_lists(in, in->made[i].g);
    const struct tide_frontier *f = in->made[i].f;
    in->made[i].own = f->count ? entry_at(f, f->count * 2u / 3).axis : axis_at(0);
  }
  memcpy(in->pairs, in->made, in->made_count * sizeof in->made[0]);
  if (shape == shape_scenes) shuffle(&random, in);
  else if (shape >= shape_wild) cross(&random, in);
  for (size_t i = 0; i < in->count; i++) check_pair(in, &in->pairs[i]);
  return in;
}

static void drop(void *state) {
  struct inputs *in = state;
  free(in->memory);
  free(in);
}

/* ---- the figures ---- */

#define F_LISTS lists_of(in, pair->f)
#define G_LISTS lists_of(in, pair->g)

#define MERGE(name, left, call)                                                                    \
  static void name(void *state, uint64_t count) {                                                  \
    struct inputs *in = state;                                                                     \
    for (uint64_t i = 0; i < count; i++) {                                                         \
      const struct pair *pair = &in->pairs[i & (in->count - 1)];                                   \
      memcpy(&in->scratch, left, in->bytes);                                                       \
      call;                                                                                        \
    }                                                                                              \
  }
MERGE(merge_ours, pair->f, tide_frontier_merge(&in->scratch.frontier, pair->g, NULL))
MERGE(merge_textbook, F_LISTS, textbook_merge(&in->scratch.frontier, G_LISTS))
MERGE(merge_buffered, F_LISTS, buffered_merge(&in->scratch.frontier, G_LISTS))

static void join_ours(void *state, uint64_t count) {
  struct inputs *in = state;
  for (uint64_t i = 0; i < count; i++) {
    const struct pair *pair = &in->pairs[i & (in->count - 1)];
    in->scratch.frontier.tainted = pair->f->tainted | pair->g->tainted;
    uint8_t room = pair->f->capacity;
    if (!tide_frontier_join(&in->scratch.frontier, room, pair->f, pair->g))
      bench_wrong("there is room for a join");
  }
}

static void join_textbook(void *state, uint64_t count) {
  struct inputs *in = state;
  for (uint64_t i = 0; i < count; i++) {
    const struct pair *pair = &in->pairs[i & (in->count - 1)];
    in->scratch.frontier.capacity = pair->f->capacity;
    textbook_join(&in->scratch.frontier, F_LISTS, G_LISTS);
  }
}

#define ASK(name, call)                                                                            \
  static void name(void *state, uint64_t count) {                                                  \
    struct inputs *in = state;                                                                     \
    for (uint64_t i = 0; i < count; i++) {                                                         \
      const struct pair *pair = &in->pairs[i & (in->count - 1)];                                   \
      bench_keep((uint64_t)(call));                                                                \
    }                                                                                              \
  }
ASK(dominates_ours, tide_frontier_dominates(pair->f, pair->g))
ASK(dominates_textbook, textbook_dominates(F_LISTS, G_LISTS))
ASK(dominates_floor, read_both(pair->f, pair->g))
ASK(compare_ours, tide_frontier_compare(pair->f, pair->g))
ASK(compare_textbook, textbook_compare(F_LISTS, G_LISTS))
ASK(get_ours, tide_frontier_get(pair->f, axis_at(i * 7 % (2u * pair->g->capacity))))
ASK(get_textbook, textbook_get(F_LISTS, axis_at(i * 7 % (2u * pair->g->capacity))))

#define RAISE(name, call)                                                                          \
  static void name(void *state, uint64_t count) {                                                  \
    struct inputs *in = state;                                                                     \
    for (uint64_t i = 0; i < count; i++) {                                                         \
      struct pair *pair = &in->pairs[i & (in->count - 1)];                                         \
      call;                                                                                        \
      bench_keep(0);                                                                               \
    }                                                                                              \
  }
RAISE(raise_ours, tide_frontier_raise(pair->f, pair->own, 10000 + i, NULL))
RAISE(raise_textbook, textbook_raise(F_LISTS, pair->own, 10000 + i))

/* One comparison of few entries with the same axes and epochs, beside a library that is not here.
 */
struct few {
  size_t entries;
  double others;
};

static const char *compare_few(const void *what, unsigned side, double *out) {
  const struct few *few = what;
  if (side == 2) {
    out[0] = BENCH_SCALED(few->others);
    return NULL;
  }
  uint64_t times = bench_smoke() ? 10 : 500000;
  void *inputs = make(shape_same, few->entries);
  uint64_t start = bench_now();
  (side == 0 ? compare_ours : compare_textbook)(inputs, times);
  out[0] = (double)(bench_now() - start) / (double)times;
  drop(inputs);
  return NULL;
}

#define COMPARE_FEW(n, ns)                                                                         \
  {.name = "compare_few_" #n,                                                                      \
   .contest =                                                                                      \
       &(const struct bench_contest){.sides = {"ours", "two-pointer", "IREE, scaled by the CAS"},  \
                                     .values = {{NULL, "ns", BENCH_LESS}},                         \
                                     .measure = compare_few,                                       \
                                     .what = &(const struct few){n, ns}}},

#define SMALL(X, shape) X(shape, 1) X(shape, 2) X(shape, 4) X(shape, 8)
#define LARGE(X, shape) X(shape, 16) X(shape, 32) X(shape, 64) X(shape, 128)
#define SIZES(X, shape) SMALL(X, shape) LARGE(X, shape)
#define MAKE(shape, n)                                                                             \
  static void *make_##shape##_##n(void) { return make(shape_##shape, n); }
SIZES(MAKE, same)
SIZES(MAKE, interleaved)
SIZES(MAKE, half)
SIZES(MAKE, tight)
SIZES(MAKE, random)
SIZES(MAKE, subset)
SIZES(MAKE, wild)
SIZES(MAKE, superset)
SIZES(MAKE, mixed)
LARGE(MAKE, far)
LARGE(MAKE, far_superset)
MAKE(scenes, 16)

#define FIGURE_NAMED(label, what, shape, n, against, rival_function)                               \
  {.name = label "_" #n,                                                                           \
   .curve = label,                                                                                 \
   .at = n,                                                                                        \
   .along = "entries",                                                                             \
   .rival = against,                                                                               \
   .setup = make_##shape##_##n,                                                                    \
   .teardown = drop,                                                                               \
   .ours = what##_ours,                                                                            \
   .theirs = rival_function,                                                                       \
   .rounds = 9},
#define FIGURE(what, shape, n, against, rival_function)                                            \
  FIGURE_NAMED(#what "_" #shape, what, shape, n, against, rival_function)
#define MERGE_SMALL(shape, n) FIGURE(merge, shape, n, "two-pointer in place", merge_textbook)
#define MERGE_LARGE(shape, n) FIGURE(merge, shape, n, "two-pointer buffered", merge_buffered)
#define MERGES(shape) SMALL(MERGE_SMALL, shape) LARGE(MERGE_LARGE, shape)
#define JOIN(shape, n) FIGURE(join, shape, n, "two-pointer", join_textbook)
#define DOMINATES(shape, n) FIGURE(dominates, shape, n, "two-pointer", dominates_textbook)
#define FLOOR(shape, n)                                                                            \
  FIGURE_NAMED("dominates_floor", dominates, shape, n, "reading both", dominates_floor)
#define COMPARE(shape, n) FIGURE(compare, shape, n, "two-pointer", compare_textbook)
#define GET(shape, n) FIGURE(get, shape, n, "linear search", get_textbook)

#define RAISES(shape, n) FIGURE(raise, shape, n, "search and raise", raise_textbook)

/* clang-format off */
const struct bench_figure bench_frontier[] = {
    MERGES(same) MERGES(interleaved) MERGES(half) MERGES(tight) MERGES(random)
    MERGES(wild) MERGES(superset)
    SIZES(JOIN, same) SIZES(JOIN, random) SIZES(JOIN, wild) SIZES(JOIN, superset)
    SIZES(DOMINATES, same) SIZES(DOMINATES, subset)
    SIZES(DOMINATES, superset) SIZES(DOMINATES, mixed) LARGE(FLOOR, superset)
    SIZES(COMPARE, same) SIZES(COMPARE, random) SIZES(COMPARE, subset)
    SIZES(COMPARE, wild) SIZES(COMPARE, mixed)
    COMPARE_FEW(1, 4.4) COMPARE_FEW(4, 9.9)
    LARGE(MERGE_LARGE, far) LARGE(JOIN, far) LARGE(DOMINATES, far_superset) LARGE(GET, far)
    SIZES(GET, random) SIZES(GET, wild)
    SIZES(RAISES, same) SIZES(RAISES, wild)
    MERGE_SMALL(scenes, 16) DOMINATES(scenes, 16) COMPARE(scenes, 16)
    {0}};
