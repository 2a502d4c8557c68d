/* causal/frontier.h: the layouts of a frontier, and the operations that other layers need in line.
 *
 * A frontier has one of two layouts, in the same storage behind its head:
 *
 *   lists    axis, axis, …      ascending; from word `capacity` on their epochs
 *   window   first axis, epoch, epoch, …   one slot an axis from the first one on, 0: not listed
 *
 * A slot is the index of an entry's epoch. In a window the axis is the index, so a look-up needs no
 * search, and a merge or a comparison of two windows goes word by word and branches on no entry.
 * Windows start at an axis that is 1 modulo 8 (ordinals do, too) and have a multiple of 8 slots, so
 * the slots of one axis in two windows have the same lane.
 *
 * The layout has no meaning. With fewer than TIDE_WINDOW_LEAST entries, or axes that lie too far
 * apart, a frontier has lists; else mostly a window. The union of two shorter frontiers may be
 * lists at first. So a copy may have the other layout, and other slots. */
#ifndef TIDE_CAUSAL_FRONTIER_H
#define TIDE_CAUSAL_FRONTIER_H

#include "base/check.h"
#include "base/alloc.h"
#include "tidemark/causal.h"

/* The entries of two full frontiers that share no axis. */
#define TIDE_UNION_MAX (2 * TIDE_FRONTIER_CAPACITY_MAX)

/* Test builds validate each frontier that is read: a caller may have written it by hand. */
#ifdef TIDE_CHECK_FRONTIERS
#define TIDE_CHECK_FRONTIER(f) TIDE_ASSERT(tide_frontier_validate((f), NULL) == TIDE_OK)
#else
#define TIDE_CHECK_FRONTIER(f) ((void)0)
#endif

static inline uint64_t tide_larger(uint64_t a, uint64_t b) { return a < b ? b : a; }

/* ---- lists (src/causal only: tests/tidy/lists) ---- */

static inline const tide_axis *tide_frontier_axes(const struct tide_frontier *f) {
  return (const tide_axis *)(const void *)(f + 1);
}
static inline const uint64_t *tide_frontier_epochs(const struct tide_frontier *f) {
  return tide_frontier_axes(f) + f->capacity;
}
static inline tide_axis *tide_frontier_axes_of(struct tide_frontier *f) {
  return (tide_axis *)(void *)(f + 1);
}
static inline uint64_t *tide_frontier_epochs_of(struct tide_frontier *f) {
  return tide_frontier_axes_of(f) + f->capacity;
}

/* Entries as lists, of a frontier or of a buffer. */
struct tide_entries {
  const tide_axis *axes;
  const uint64_t *epochs;
  size_t count;
};

/* Returns the entries of a frontier that has lists. */
static inline struct tide_entries tide_entries_of(const struct tide_frontier *f) {
  return (struct tide_entries){tide_frontier_axes(f), tide_frontier_epochs(f), f->count};
}

/* Returns the number of ascending axes below `axis`: its slot if it is listed. The last eight are
 * counted, since the outcome of a branch could not be predicted. */
static inline size_t tide_axes_below(const tide_axis *axes, size_t count, tide_axis axis) {
  size_t below = 0, rest = 0;
  while (count > 8) {
    size_t half = count / 2;
    below += axes[below + half - 1] < axis ? half : 0;
    count -= half;
  }
  for (size_t i = 0; i < count; i++) rest += axes[below + i] < axis;
  return below + rest;
}

/* ---- windows (src/causal only) ---- */

/* With fewer entries lists are as fast and take less room. The oracle's programs have few queues,
 * and need both layouts. */
#define TIDE_WINDOW_LEAST 8u
#define TIDE_WINDOW_MAX 512
/* A window has no slot that was raised last. */
#define TIDE_RAISED_NONE UINT8_MAX

/* True if a capacity has room for a window of so many slots. */
static inline bool tide_window_fits(uint64_t size, size_t capacity) {
  return size < TIDE_FRONTIER_WORDS(capacity);
}
static inline tide_axis tide_window_first(const struct tide_frontier *f) {
  return *tide_frontier_axes(f);
}
static inline const uint64_t *tide_window_epochs(const struct tide_frontier *f) {
  return tide_frontier_axes(f) + 1;
}
static inline uint64_t *tide_window_epochs_of(struct tide_frontier *f) {
  return tide_frontier_axes_of(f) + 1;
}
/* Returns the epoch of an axis in a window; 0: it is not listed. */
static inline uint64_t tide_window_get(const struct tide_frontier *f, tide_axis axis) {
  uint64_t slot = axis - tide_window_first(f);
  return slot < f->window ? tide_window_epochs(f)[slot] : 0;
}
static inline bool tide_either_window(const struct tide_frontier *a,
                                      const struct tide_frontier *b) {
  return (a->window | b->window) != 0;
}
/* True if both have a window, with the same axes. */
static inline bool tide_windows_alike(const struct tide_frontier *a,
                                      const struct tide_frontier *b) {
  return a->window && a->window == b->window && tide_window_first(a) == tide_window_first(b);
}

/* The axes that a window has a slot for, or would have. */
struct tide_reach {
  tide_axis first;
  uint64_t size; /* more than TIDE_WINDOW_MAX: no window is so long */
};

static inline struct tide_reach tide_reach_from_to(tide_axis first, tide_axis last) {
  tide_axis start = first - ((first - 1) & 7);
  uint64_t span = last - start;
  return (struct tide_reach){start, span < TIDE_WINDOW_MAX ? (span | 7) + 1 : TIDE_WINDOW_MAX + 1};
}
/* Returns the reach of a frontier that lists something. */
static inline struct tide_reach tide_reach_of(const struct tide_frontier *f) {
  const tide_axis *axes = tide_frontier_axes(f);
  if (f->window) return (struct tide_reach){axes[0], f->window};
  return tide_reach_from_to(axes[0], axes[f->count - 1]);
}
static inline struct tide_reach tide_reach_both(struct tide_reach a, struct tide_reach b) {
  tide_axis first = a.first < b.first ? a.first : b.first;
  uint64_t skip_a = a.first - first, skip_b = b.first - first;
  if (skip_a > TIDE_WINDOW_MAX || skip_b > TIDE_WINDOW_MAX)
    return (struct tide_reach){first, TIDE_WINDOW_MAX + 1};
  return (struct tide_reach){first, tide_larger(a.size + skip_a, b.size + skip_b)};
}

/* Makes a frontier a window, and leaves the slots unset. */
static inline void tide_window_set(struct tide_frontier *f, struct tide_reach reach) {
  *tide_frontier_axes_of(f) = reach.first;
  f->window = (uint16_t)reach.size;
  f->raised = TIDE_RAISED_NONE;
}
/* Makes a frontier a window that lists nothing. */
void tide_window_clear(struct tide_frontier *f, struct tide_reach reach);
/* Makes a frontier a window of these entries, which lie elsewhere. */
void tide_window_make(struct tide_frontier *f, struct tide_reach reach,
                      struct tide_entries entries);
/* Turns the lists of a frontier into a window, if they are long enough and a window fits. */
void tide_window_open(struct tide_frontier *f);
/* Turns a window of fewer than TIDE_WINDOW_LEAST entries into lists. */
void tide_window_close(struct tide_frontier *f);
/* Extends a window to a reach that includes the old one and fits. */
void tide_window_widen(struct tide_frontier *f, struct tide_reach reach);
/* Raises the slots of a window that reaches over all axes that `from` lists. `count`: the number of
 * listed axes before. Returns the number afterwards. */
size_t tide_window_raise(struct tide_frontier *f, const struct tide_frontier *from, size_t count);

/* The loops over windows, for one kind of processor. `words` is a multiple of 8. */
struct tide_lanes {
  /* Stores the larger words. Returns the number that are not 0. `to` may be `a`. */
  size_t (*max)(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words);
  /* Bit 1: some word of f is higher. Bit 0: some word of f is lower. */
  unsigned (*order)(const uint64_t *f, const uint64_t *g, size_t words);
};

/* Each tier has the instructions of those before: AVX2; AVX-512F and VL. */
enum tide_tier { TIDE_TIER_PORTABLE, TIDE_TIER_AVX2, TIDE_TIER_AVX512, TIDE_TIER_COUNT };
extern const struct tide_lanes tide_lanes_of_tier[TIDE_TIER_COUNT];

/* Reads the features that the compiler's runtime detects before any constructor runs. */
static inline enum tide_tier tide_tier_of_processor(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
    return TIDE_TIER_AVX512;
  if (__builtin_cpu_supports("avx2")) return TIDE_TIER_AVX2;
#endif
  return TIDE_TIER_PORTABLE;
}
static inline const struct tide_lanes *tide_lanes(void) {
  return &tide_lanes_of_tier[tide_tier_of_processor()];
}

/* ---- inside src/causal ---- */

/* Replaces all entries, which lie elsewhere; evicts those that do not fit. */
void tide_frontier_store(struct tide_frontier *to, struct tide_entries entries,
                         const struct tide_eviction *eviction);
/* The same for more entries than the capacity. */
void tide_frontier_shed(struct tide_frontier *to, struct tide_entries entries,
                        const struct tide_eviction *eviction);

/* ---- reading ---- */

/* Returns where the epoch of a slot is, valid until another axis is listed. */
static inline uint64_t *tide_frontier_at(struct tide_frontier *f, size_t slot) {
  return tide_frontier_axes_of(f) + (f->window ? 1 : f->capacity) + slot;
}

/* Returns the slot of an axis; TIDE_NO_SLOT: it is not listed. */
#define TIDE_NO_SLOT SIZE_MAX
static inline size_t tide_frontier_slot(const struct tide_frontier *f, tide_axis axis) {
  const tide_axis *axes = tide_frontier_axes(f);
  size_t count = f->count;
  if (f->window)
    return tide_window_get(f, axis) ? (size_t)(axis - tide_window_first(f)) : TIDE_NO_SLOT;
  size_t slot = tide_axes_below(axes, count, axis);
  return slot < count && axes[slot] == axis ? slot : TIDE_NO_SLOT;
}

/* tide_frontier_get in line. */
static inline uint64_t tide_frontier_look_up(const struct tide_frontier *f, tide_axis axis) {
  const tide_axis *axes = tide_frontier_axes(f);
  size_t count = f->count;
  if (f->window) return tide_window_get(f, axis);
  size_t slot = tide_axes_below(axes, count, axis);
  return slot < count && axes[slot] == axis ? axes[slot + f->capacity] : 0;
}

/* tide_frontier_get for axes that ascend from call to call. *next is 0 before the first. */
static inline uint64_t tide_frontier_get_upwards(const struct tide_frontier *f, tide_axis axis,
                                                 size_t *next) {
  const tide_axis *axes = tide_frontier_axes(f);
  size_t count = f->count, slot = *next;
  if (f->window) return tide_window_get(f, axis);
  while (slot < count && axes[slot] < axis) slot++;
  *next = slot;
  return slot < count && axes[slot] == axis ? axes[slot + f->capacity] : 0;
}

/* Returns the epoch of the axis if lists have it in this slot; else 0, though they may list it. For
 * a caller that knows the axis' slot in another frontier, which most often lists the same axes. */
static inline uint64_t tide_frontier_get_at(const struct tide_frontier *f, size_t slot,
                                            tide_axis axis) {
  const tide_axis *axes = tide_frontier_axes(f);
  if (f->window) return tide_window_get(f, axis);
  return slot < f->count && axes[slot] == axis ? axes[slot + f->capacity] : 0;
}

/* The same with the slot that was raised last, mostly of a queue's own axis. */
static inline uint64_t tide_frontier_get_raised(const struct tide_frontier *f, tide_axis axis) {
  return tide_frontier_get_at(f, f->raised, axis);
}

/* Returns the slot of a listed axis, mostly the one that was raised last. */
static inline size_t tide_frontier_slot_raised(const struct tide_frontier *f, tide_axis axis) {
  if (f->window) return (size_t)(axis - tide_window_first(f));
  return tide_frontier_get_raised(f, axis) ? f->raised : tide_frontier_slot(f, axis);
}

/* Returns the first entry of a frontier of 1 to TIDE_WINDOW_LEAST - 1 entries. */
static inline struct tide_frontier_entry tide_frontier_first(const struct tide_frontier *f) {
  return (struct tide_frontier_entry){*tide_frontier_axes(f), *tide_frontier_epochs(f)};
}
static inline uint64_t *tide_frontier_first_epoch(struct tide_frontier *f) {
  return tide_frontier_epochs_of(f);
}

/* tide_frontier_covers for lists. */
static inline bool tide_lists_cover(struct tide_entries f, struct tide_entries g) {
  size_t i = 0;
  for (size_t k = 0; k < g.count; k++, i++) {
    while (i < f.count && f.axes[i] < g.axes[k]) i++;
    if (i == f.count || f.axes[i] != g.axes[k] || f.epochs[i] < g.epochs[k]) return false;
  }
  return true;
}

/* True if g lists no axis that f does not list at least as high. Ignores taint. */
static inline bool tide_frontier_covers(const struct tide_frontier *f,
                                        const struct tide_frontier *g) {
  if (!tide_either_window(f, g)) return tide_lists_cover(tide_entries_of(f), tide_entries_of(g));
  struct tide_frontier_entry need;
  size_t next = 0;
  for (struct tide_frontier_cursor at = tide_frontier_begin(g); tide_frontier_next(&at, &need);)
    if (tide_frontier_get_upwards(f, need.axis, &next) < need.epoch) return false;
  return true;
}

/* Returns the number of entries of `from` for axes that `to` does not list. */
size_t tide_frontier_count_new(const struct tide_frontier *to, const struct tide_frontier *from);

/* ---- writing ---- */

/* Removes the entries and the taint. */
static inline void tide_frontier_empty(struct tide_frontier *f) {
  f->window = f->count = f->tainted = 0;
}

/* Replaces all entries by one. */
static inline void tide_frontier_list_one(struct tide_frontier *f, tide_axis axis, uint64_t epoch) {
  f->count = 1;
  f->window = 0;
  *tide_frontier_axes_of(f) = axis;
  *tide_frontier_epochs_of(f) = epoch;
}

/* Appends an entry to lists that are not full. The order of axes is not checked. */
static inline void tide_frontier_append(struct tide_frontier *f, tide_axis axis, uint64_t epoch) {
  tide_frontier_axes_of(f)[f->count] = axis;
  tide_frontier_epochs_of(f)[f->count++] = epoch;
}

/* True if tide_frontier_copy_as_is is possible. */
static inline bool tide_frontier_takes(const struct tide_frontier *to,
                                       const struct tide_frontier *from) {
  return from->count <= to->capacity &&
         (from->window == 0 || tide_window_fits(from->window, to->capacity));
}
/* Copies the entries in their layout, and the taint. */
static inline void tide_frontier_copy_as_is(struct tide_frontier *to,
                                            const struct tide_frontier *from) {
  to->count = from->count;
  to->tainted = from->tainted;
  to->window = from->window;
  if (from->window) {
    tide_window_set(to, tide_reach_of(from));
    memcpy(tide_window_epochs_of(to), tide_window_epochs(from), from->window * sizeof(uint64_t));
    return;
  }
  memcpy(tide_frontier_axes_of(to), tide_frontier_axes(from), from->count * sizeof(tide_axis));
  memcpy(tide_frontier_epochs_of(to), tide_frontier_epochs(from), from->count * sizeof(uint64_t));
}

/* Stores the union of two frontiers in a third, which needs no initialisation. False: the union
 * does not fit, and `to` has no meaning. Ignores taint. */
bool tide_frontier_join(struct tide_frontier *to, uint8_t capacity, const struct tide_frontier *a,
                        const struct tide_frontier *b);

/* Removes all finished entries of a full frontier; if that is less than a quarter, the smallest
 * epochs, too, and taints it. Never the one of eviction->keep. */
void tide_frontier_make_room(struct tide_frontier *f, const struct tide_eviction *eviction);

/* Returns the least capacity for so many entries in such a window (0: in lists). */
static inline size_t tide_frontier_packed(size_t count, size_t window) {
  size_t least = window <= 8 ? 5 : window <= 24 ? 9 : (window - 6) / 2;
  return window == 0 || count > least ? count : least;
}
/* Reduces the capacity to the least. */
static inline void tide_frontier_pack(struct tide_frontier *f) {
  uint64_t *words = tide_frontier_axes_of(f);
  const uint64_t *epochs = tide_frontier_epochs(f);
  size_t count = f->count;
  for (size_t i = 0; f->window == 0 && i < count; i++) words[count + i] = epochs[i];
  f->capacity = (uint8_t)tide_frontier_packed(count, f->window);
}
/* Returns the number of words, with the head, that are in use. */
static inline size_t tide_frontier_kept_words(const struct tide_frontier *f) {
  size_t entries = f->window ? 1 + (size_t)f->window : 2 * (size_t)f->capacity;
  return sizeof *f / sizeof(uint64_t) + entries;
}

/* Removes the entries that `stays` is false of, which is called in axis order. */
static inline __attribute__((always_inline)) void
tide_frontier_filter(struct tide_frontier *f, bool (*stays)(void *self, tide_axis, uint64_t epoch),
                     void *self) {
  tide_axis *axes = tide_frontier_axes_of(f);
  uint64_t *epochs = f->window ? tide_window_epochs_of(f) : tide_frontier_epochs_of(f);
  size_t left = 0;
  if (f->window) {
    for (size_t i = 0; i < f->window; i++) {
      if (epochs[i] && !stays(self, *axes + i, epochs[i])) epochs[i] = 0;
      left += epochs[i] != 0;
    }
  } else {
    for (size_t i = 0; i < f->count; i++) {
      axes[left] = axes[i];
      epochs[left] = epochs[i];
      left += stays(self, axes[left], epochs[left]);
    }
  }
  f->count = (uint8_t)left;
  if (f->window && left < TIDE_WINDOW_LEAST) tide_window_close(f);
}

#endif
