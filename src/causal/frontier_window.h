/* causal/frontier_window.h: the two ways in which a frontier's entries lie in memory.
 *
 * As lists: its axes, sorted, and `capacity` words behind each its epoch.
 *
 * As a window: the axis where it starts, then a word for each axis from there on, which is its
 * epoch, or 0 where it is not listed. What an axis' epoch is takes one look, and two frontiers are
 * merged or compared word by word, whatever they list: nothing has to be guessed, and eight words
 * fit into a vector. Windows start at an axis that is 1 modulo 8 (ordinals do, too) and are a
 * multiple of 8 long, so words of two of them that stand for the same axis are in the same lane.
 *
 * Both take the same room. Which one it is makes no difference to what a frontier means. With fewer
 * than TIDE_WINDOW_LEAST entries it is lists; with more, if they lie close enough together, mostly
 * a window: what has just been joined of two with fewer each is lists at first. So a copy may be
 * of the other form, and an entry's place is not the same there. */
#ifndef TIDE_CAUSAL_FRONTIER_WINDOW_H
#define TIDE_CAUSAL_FRONTIER_WINDOW_H

#include "base/memory.h"
#include "tidemark/causal.h"

/* With fewer, lists are as fast and take less room: there is no window then. The oracle's programs
 * have few queues, and it is to see both. */
#define TIDE_WINDOW_LEAST 8u
#define TIDE_WINDOW_MAX 512

/* How long a window there is room for; and is there, for one of this length? */
static inline size_t tide_window_room(size_t capacity) {
  return capacity == 0 ? 0 : (TIDE_FRONTIER_WORDS(capacity) - 1) / 8 * 8;
}
static inline bool tide_window_fits(size_t size, size_t capacity) {
  return size < TIDE_FRONTIER_WORDS(capacity);
}

static inline tide_axis *tide_window_words(struct tide_frontier *f) {
  return (tide_axis *)(void *)(f + 1);
}
/* Of the place that was raised last: there is none where there is a window. */
#define TIDE_RAISED_NONE UINT8_MAX
/* From here on it has a window, whose words are not looked at. */
static inline void tide_window_set(struct tide_frontier *f, tide_axis first, size_t size) {
  *tide_window_words(f) = first;
  f->window = (uint16_t)size;
  f->raised = TIDE_RAISED_NONE;
}
static inline tide_axis tide_window_first(const struct tide_frontier *f) {
  return *(const tide_axis *)(const void *)(f + 1);
}
static inline uint64_t *tide_window_epochs_of(struct tide_frontier *f) {
  return tide_window_words(f) + 1;
}
static inline const uint64_t *tide_window_epochs(const struct tide_frontier *f) {
  return (const uint64_t *)(const void *)(f + 1) + 1;
}

/* What the window says of the axis; 0: nothing. */
static inline uint64_t tide_window_get(const struct tide_frontier *f, tide_axis axis) {
  uint64_t place = axis - tide_window_first(f);
  return place < f->window ? tide_window_epochs(f)[place] : 0;
}

/* Where a window that has the axis may start at the latest. */
static inline tide_axis tide_window_start(tide_axis axis) { return axis - ((axis - 1) & 7); }

/* From where to where a window has to reach. */
struct tide_reach {
  tide_axis first;
  uint64_t size; /* TIDE_WINDOW_MAX + 1: too much for any */
};

static inline struct tide_reach tide_reach_from_to(tide_axis first, tide_axis last) {
  tide_axis start = tide_window_start(first);
  uint64_t span = last - start;
  return (struct tide_reach){start, span < TIDE_WINDOW_MAX ? (span | 7) + 1 : TIDE_WINDOW_MAX + 1};
}

/* Has either a window? */
static inline bool tide_either_window(const struct tide_frontier *a,
                                      const struct tide_frontier *b) {
  return (a->window | b->window) != 0;
}
/* Do both have a window, and the same? */
static inline bool tide_windows_alike(const struct tide_frontier *a,
                                      const struct tide_frontier *b) {
  return a->window && a->window == b->window && tide_window_first(a) == tide_window_first(b);
}

/* It lists something. */
static inline struct tide_reach tide_reach_of(const struct tide_frontier *f) {
  const tide_axis *axes = (const tide_axis *)(const void *)(f + 1);
  if (f->window) return (struct tide_reach){axes[0], f->window};
  return tide_reach_from_to(axes[0], axes[f->count - 1]);
}

static inline struct tide_reach tide_reach_both(struct tide_reach a, struct tide_reach b) {
  tide_axis first = a.first < b.first ? a.first : b.first;
  uint64_t skip_a = a.first - first, skip_b = b.first - first;
  if (skip_a > TIDE_WINDOW_MAX || skip_b > TIDE_WINDOW_MAX)
    return (struct tide_reach){first, TIDE_WINDOW_MAX + 1};
  a.size += skip_a;
  b.size += skip_b;
  return (struct tide_reach){first, a.size < b.size ? b.size : a.size};
}

static inline bool tide_reach_fits(struct tide_reach reach, size_t capacity) {
  return tide_window_fits(reach.size, capacity);
}

/* Entries as lists. */
struct tide_entries {
  const tide_axis *axes;
  const uint64_t *epochs;
  size_t count;
};
/* Of a frontier that has no window. */
static inline struct tide_entries tide_entries_of(const struct tide_frontier *f) {
  const tide_axis *axes = (const tide_axis *)(const void *)(f + 1);
  return (struct tide_entries){axes, axes + f->capacity, f->count};
}

/* It becomes a window that lists just these, all of which lie in it; they are not its own. */
void tide_window_make(struct tide_frontier *f, struct tide_reach reach,
                      struct tide_entries entries);
/* The same for lists of its own, where they are enough and a window fits; else nothing changes. */
void tide_window_open(struct tide_frontier *f);
/* Back to lists: there are fewer than TIDE_WINDOW_LEAST by now. */
void tide_window_close(struct tide_frontier *f);
/* Longer, so that it has all of this, which fits. */
void tide_window_grow(struct tide_frontier *f, struct tide_reach reach);

/* `f_has` (`g_has`): f (g) has or may have what the other lacks, so the other does not dominate. */
static inline enum tide_order tide_order_of(bool f_has, bool g_has) {
  _Static_assert(TIDE_EQUAL == 0 && TIDE_BEFORE == 1 && TIDE_AFTER == 2 && TIDE_CONCURRENT == 3,
                 "two bits");
  return (enum tide_order)((unsigned)f_has << 1 | (unsigned)g_has);
}

/* A part of tide_frontier_merge, tide_frontier_join, tide_same_axes, tide_frontier_dominates and
 * tide_frontier_compare. One of the two has a window or, for the first two, may get one; both list
 * something. Of the first, false: nothing was done, lists have to do. Of the second: the union does
 * not fit, and what is in `to` means nothing. */
bool tide_window_merge(struct tide_frontier *to, const struct tide_frontier *from);
bool tide_window_join(struct tide_frontier *to, const struct tide_frontier *a,
                      const struct tide_frontier *b);
bool tide_windows_same(const struct tide_frontier *a, const struct tide_frontier *b);
bool tide_window_covers(const struct tide_frontier *f, const struct tide_frontier *g);
enum tide_order tide_window_compare(const struct tide_frontier *f, const struct tide_frontier *g,
                                    bool f_has, bool g_has);

/* May what both list become a window, as far as their number goes? Else neither has one. */
static inline bool tide_window_worth(const struct tide_frontier *a, const struct tide_frontier *b) {
  return a->count >= TIDE_WINDOW_LEAST || b->count >= TIDE_WINDOW_LEAST;
}

#endif
