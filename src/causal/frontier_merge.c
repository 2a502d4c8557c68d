/* Merging: the component-wise maximum of two frontiers.
 *
 * With a window, or with enough for one, word by word (frontier_window.c). Lists: equal sets first
 * and in place; then few that lie close together (frontier_few.c); then a walk that raises what
 * both list and inserts what is new while that moves little. A short rest is merged from the back,
 * in place, into the room behind the entries, by a loop that branches. A longer one, or one for
 * which there might not be enough room, is merged into a buffer from both ends, by steps that
 * don't; and only what then does not fit is evicted. */
#include "causal/frontier.h"

/* A merge under way: i entries of `to`, or of the first of two that are joined, and j of `from` are
 * done. */
struct merge {
  const tide_axis *axes;
  const uint64_t *epochs;
  const tide_axis *from_axes;
  const uint64_t *from_epochs;
  size_t count, from_count;
  size_t i, j;
};

static inline struct merge merge_at(const struct tide_frontier *to,
                                    const struct tide_frontier *from, size_t i, size_t j) {
  return (struct merge){tide_frontier_axes(to),
                        tide_frontier_epochs(to),
                        tide_frontier_axes(from),
                        tide_frontier_epochs(from),
                        to->count,
                        from->count,
                        i,
                        j};
}

static bool same_axes(const tide_axis *a, const tide_axis *b, size_t count) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    if (tide_four_differ(a + i, b + i)) return false;
  }
  for (; i < count; i++) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/* Equally many, but some, and no window. False, and nothing was done: not the same axes. */
static inline bool merge_same(struct tide_frontier *to, const struct tide_frontier *from) {
  size_t n = to->count;
  uint64_t *epochs = tide_frontier_epochs_of(to);
  const uint64_t *from_epochs = tide_frontier_epochs(from);
  const tide_axis *axes = tide_frontier_axes(to), *from_axes = tide_frontier_axes(from);
  if (!tide_axes_alike(axes, from_axes, n) || !same_axes(axes, from_axes, n)) return false;
  for (size_t i = 0; i < n; i++) epochs[i] = tide_larger(epochs[i], from_epochs[i]);
  return true;
}

/* One entry each, and room for both: which axis is the lower one, or whether it is the same, is not
 * branched on. */
static inline void merge_one(struct tide_frontier *to, const struct tide_frontier *from) {
  tide_axis *axes = tide_frontier_axes_of(to), a = axes[0], b = *tide_frontier_axes(from);
  uint64_t *epochs = tide_frontier_epochs_of(to), d = epochs[0], e = *tide_frontier_epochs(from);
  uint64_t swap = 0 - (uint64_t)(b < a), same = 0 - (uint64_t)(a == b);
  uint64_t axis = (a ^ b) & swap, epoch = (d ^ e) & swap;
  axes[0] = a ^ axis;
  axes[1] = b ^ axis;
  epochs[0] = tide_larger(d ^ epoch, (e ^ epoch) & same);
  epochs[1] = e ^ epoch;
  to->count = (uint8_t)(2 + same);
}

/* Goes on as long as nothing new has to be inserted in front of many entries. */
static inline struct merge walk(struct tide_frontier *to, struct merge m) {
  tide_axis *axes = tide_frontier_axes_of(to);
  uint64_t *epochs = tide_frontier_epochs_of(to);
  for (; m.j < m.from_count; m.i++, m.j++) {
    tide_axis axis = m.from_axes[m.j];
    while (m.i < m.count && axes[m.i] < axis) m.i++;
    if (m.i < m.count && axes[m.i] == axis) {
      epochs[m.i] = tide_larger(epochs[m.i], m.from_epochs[m.j]);
      continue;
    }
    if ((m.count - m.i) + (m.from_count - m.j) > 8 || m.count == to->capacity) break;
    for (size_t k = m.count++; k > m.i; k--) {
      axes[k] = axes[k - 1];
      epochs[k] = epochs[k - 1];
    }
    axes[m.i] = axis;
    epochs[m.i] = m.from_epochs[m.j];
  }
  return m;
}

/* Merges what is left into the end of the room behind it, from the back, then closes the gap that
 * common axes leave. Returns the new count. */
static size_t merge_in_place(struct tide_frontier *to, struct merge m) {
  tide_axis *axes = tide_frontier_axes_of(to);
  uint64_t *epochs = tide_frontier_epochs_of(to);
  size_t i = m.count, j = m.from_count, end = i + (j - m.j), k = end;
  while (i > m.i && j > m.j) {
    tide_axis a = axes[i - 1], b = m.from_axes[j - 1];
    k--;
    if (a > b) {
      axes[k] = a;
      epochs[k] = epochs[--i];
    } else if (a < b) {
      axes[k] = b;
      epochs[k] = m.from_epochs[--j];
    } else {
      axes[k] = a;
      i--, j--;
      epochs[k] = tide_larger(epochs[i], m.from_epochs[j]);
    }
  }
  while (j > m.j) {
    k--, j--;
    axes[k] = m.from_axes[j];
    epochs[k] = m.from_epochs[j];
  }
  if (k > i) tide_frontier_shift(axes, epochs, i, k, end - k);
  return i + (end - k);
}

/* What was merged from both ends: `low` entries from the beginning on, and those from `high` up to
 * `end`, which is given: how many there are at most, or just how many. */
struct buffer {
  tide_axis *axes;
  uint64_t *epochs;
  size_t low, high, end;
};

/* Where one end reads a and b next, and where it writes. */
struct end {
  size_t i, j, k;
};

/* What comes next from one end: the smaller axis where they go up, the larger one else. What is
 * taken is not branched on, for no processor can guess it. */
static inline __attribute__((always_inline)) void take(const struct merge *m, struct buffer *out,
                                                       struct end *end, bool up) {
  uint64_t a = m->axes[end->i], b = m->from_axes[end->j];
  uint64_t of_a = up ? a <= b : a >= b, of_b = up ? b <= a : b >= a;
  uint64_t d = m->epochs[end->i] & (0 - of_a), e = m->from_epochs[end->j] & (0 - of_b);
  out->axes[end->k] = up ? (a < b ? a : b) : (a > b ? a : b);
  out->epochs[end->k] = tide_larger(d, e);
  end->i += up ? of_a : 0 - of_a;
  end->j += up ? of_b : 0 - of_b;
  end->k += up ? 1 : (size_t)-1;
}

/* Merges what is left of both: from both ends, so that the steps of the one need not await those of
 * the other. As long as both have one left, and not one each: then the ends do not take the same.
 */
static inline __attribute__((always_inline)) void merge_rest(struct merge m, struct buffer *out) {
  struct end low = {m.i, m.j, 0}, high = {m.count - 1, m.from_count - 1, out->end - 1};
  while ((ptrdiff_t)((high.i - low.i) | (high.j - low.j)) > 0) { /* negative: none */
    take(&m, out, &low, true);
    take(&m, out, &high, false);
  }
  size_t i_end = high.i + 1, j_end = high.j + 1;
  if (low.i < i_end && low.j < j_end) take(&m, out, &low, true);
  bool of_a = low.i < i_end;
  size_t from = of_a ? low.i : low.j, rest = of_a ? i_end - from : j_end - from;
  tide_frontier_words(out->axes + low.k, (of_a ? m.axes : m.from_axes) + from, rest);
  tide_frontier_words(out->epochs + low.k, (of_a ? m.epochs : m.from_epochs) + from, rest);
  out->low = low.k + rest;
  out->high = high.k + 1;
}

static inline size_t count_of(const struct buffer *out) { return out->low + out->end - out->high; }

/* The whole union is what the victims are chosen from: the first `done` of `to`, then `out`, which
 * has room for all and where they are put together: a fiber's stack is small. First what came from
 * above, then what came from below: neither is written on before it has moved. */
__attribute__((noinline)) static void evict(struct tide_frontier *to, size_t done,
                                            struct buffer *out,
                                            const struct tide_eviction *eviction) {
  size_t above = out->end - out->high, count = done + out->low;
  tide_frontier_shift(out->axes, out->epochs, count, out->high, above);
  tide_frontier_shift(out->axes, out->epochs, done, 0, out->low);
  memcpy(out->axes, tide_frontier_axes(to), done * sizeof out->axes[0]);
  memcpy(out->epochs, tide_frontier_epochs(to), done * sizeof out->epochs[0]);
  tide_frontier_shed(to, (struct tide_entries){out->axes, out->epochs, count + above}, eviction);
}

static inline __attribute__((always_inline)) void
merge_through(tide_axis *room, uint64_t *epoch_room, struct tide_frontier *to,
              const struct tide_frontier *from, size_t i, size_t j,
              const struct tide_eviction *eviction) {
  struct buffer out = {room, epoch_room, .end = (to->count - i) + (from->count - j)};
  merge_rest(merge_at(to, from, i, j), &out);
  if (i + count_of(&out) > to->capacity) {
    evict(to, i, &out, eviction);
    return;
  }
  tide_axis *axes = tide_frontier_axes_of(to) + i;
  uint64_t *epochs = tide_frontier_epochs_of(to) + i;
  size_t above = out.end - out.high;
  tide_frontier_words(axes, out.axes, out.low);
  tide_frontier_words(epochs, out.epochs, out.low);
  tide_frontier_words(axes + out.low, out.axes + out.high, above);
  tide_frontier_words(epochs + out.low, out.epochs + out.high, above);
  to->count = (uint8_t)(i + count_of(&out));
}

/* For when the union may be larger than the frontier, or many are left. Two that are not wide, as
 * most are, take little of a fiber's stack. */
#define NARROW_MAX 64
__attribute__((noinline)) static void merge_narrow(struct tide_frontier *to,
                                                   const struct tide_frontier *from, size_t i,
                                                   size_t j, const struct tide_eviction *eviction) {
  tide_axis axes[NARROW_MAX];
  uint64_t epochs[NARROW_MAX];
  merge_through(axes, epochs, to, from, i, j, eviction);
}
__attribute__((noinline)) static void merge_buffered(struct tide_frontier *to,
                                                     const struct tide_frontier *from, size_t i,
                                                     size_t j,
                                                     const struct tide_eviction *eviction) {
  tide_axis axes[TIDE_UNION_MAX];
  uint64_t epochs[TIDE_UNION_MAX];
  merge_through(axes, epochs, to, from, i, j, eviction);
}

static size_t union_count(const struct tide_frontier *a, const struct tide_frontier *b) {
  const tide_axis *a_axes = tide_frontier_axes(a), *b_axes = tide_frontier_axes(b);
  size_t n = a->count, m = b->count, i = 0, j = 0, count = 0;
  for (; i < n && j < m; count++) {
    tide_axis in_a = a_axes[i], in_b = b_axes[j];
    i += in_a <= in_b;
    j += in_b <= in_a;
  }
  return count + (n - i) + (m - j);
}

/* What both list leaves a gap between what comes from below and from above, but where they had to
 * be counted before. */
bool tide_frontier_join_ends(struct tide_frontier *to, const struct tide_frontier *a,
                             const struct tide_frontier *b) {
  struct buffer out = {tide_frontier_axes_of(to), tide_frontier_epochs_of(to),
                       .end = (size_t)a->count + b->count};
  if (out.end > to->capacity) out.end = union_count(a, b);
  if (out.end > to->capacity) return false;
  merge_rest(merge_at(a, b, 0, 0), &out);
  tide_frontier_shift(out.axes, out.epochs, out.low, out.high, out.end - out.high);
  to->count = (uint8_t)count_of(&out);
  return true;
}

/* `from` lists something, and they do not list the same axes. */
TIDE_HOT __attribute__((noinline)) static void merge_walked(struct tide_frontier *to,
                                                            const struct tide_frontier *from,
                                                            const struct tide_eviction *eviction) {
  struct merge m = merge_at(to, from, 0, 0);
  m = walk(to, m);
  if (m.j == m.from_count) {
    to->count = (uint8_t)m.count;
  } else if (m.count + (m.from_count - m.j) <= to->capacity &&
             (m.count - m.i < TIDE_ENDS_LEAST || m.from_count - m.j < TIDE_ENDS_LEAST)) {
    to->count = (uint8_t)merge_in_place(to, m);
  } else {
    to->count = (uint8_t)m.count;
    if (m.count + m.from_count <= NARROW_MAX) merge_narrow(to, from, m.i, m.j, eviction);
    else merge_buffered(to, from, m.i, m.j, eviction);
  }
}

/* There is a window, but none for the union, or more is listed than there is room for: what both
 * list, one after the other. */
static inline __attribute__((always_inline)) void
merge_listed(tide_axis *axes, uint64_t *epochs, struct tide_frontier *to,
             const struct tide_frontier *from, const struct tide_eviction *eviction) {
  size_t count = tide_frontier_union(axes, epochs, TIDE_UNION_MAX, to, from);
  tide_frontier_store(to, (struct tide_entries){axes, epochs, count}, eviction);
}
__attribute__((noinline)) static void merge_listed_narrow(struct tide_frontier *to,
                                                          const struct tide_frontier *from,
                                                          const struct tide_eviction *eviction) {
  tide_axis axes[NARROW_MAX];
  uint64_t epochs[NARROW_MAX];
  merge_listed(axes, epochs, to, from, eviction);
}
__attribute__((noinline)) static void merge_listed_wide(struct tide_frontier *to,
                                                        const struct tide_frontier *from,
                                                        const struct tide_eviction *eviction) {
  tide_axis axes[TIDE_UNION_MAX];
  uint64_t epochs[TIDE_UNION_MAX];
  merge_listed(axes, epochs, to, from, eviction);
}

/* `from` lists something, and there is or may be a window. False, and nothing was done: neither has
 * one, and the union can have none. */
static bool merge_windows(struct tide_frontier *to, const struct tide_frontier *from,
                          const struct tide_eviction *eviction) {
  if (to->count == 0) {
    uint8_t tainted = to->tainted;
    tide_frontier_copy(to, from, eviction);
    to->tainted |= tainted;
    return true;
  }
  if (to->count == from->count && !tide_either_window(to, from) && merge_same(to, from))
    return true;
  if (tide_window_merge(to, from)) return true;
  if (!tide_either_window(to, from)) return false;
  if ((size_t)to->count + from->count <= NARROW_MAX) merge_listed_narrow(to, from, eviction);
  else merge_listed_wide(to, from, eviction);
  return true;
}

TIDE_HOT void tide_frontier_merge(struct tide_frontier *to, const struct tide_frontier *from,
                                  const struct tide_eviction *eviction) {
  size_t n = to->count, m = from->count;
  TIDE_CHECK_FRONTIER(to);
  TIDE_CHECK_FRONTIER(from);
  to->tainted |= from->tainted;
  if (m == 0) return;
  if (tide_window_worth(to, from)) {
    if (merge_windows(to, from, eviction)) return;
  } else if (n == m) {
    if (n == 1 && to->capacity > 1) {
      merge_one(to, from);
      return;
    }
    if (merge_same(to, from)) return;
  }
  if (n >= TIDE_FEW_LEAST && m >= TIDE_FEW_LEAST && tide_few_join(to, to, from)) return;
  merge_walked(to, from, eviction);
}
