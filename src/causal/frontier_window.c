/* Frontiers as windows: made, merged, joined and compared (see frontier_window.h). */
#include "causal/frontier_window.h"
#include "causal/frontier_lanes.h"

#define APART __attribute__((noinline))

static inline uint64_t larger_of(uint64_t a, uint64_t b) { return a < b ? b : a; }

/* Eights of words. */
static inline void clear(uint64_t *words, size_t count) {
  for (size_t i = 0; i < count; i += 8) memset(words + i, 0, 8 * sizeof *words);
}
static inline void copy(uint64_t *to, const uint64_t *from, size_t count) {
  for (size_t i = 0; i < count; i += 8) memcpy(to + i, from + i, 8 * sizeof *to);
}
static inline void copy_up(uint64_t *to, const uint64_t *from, size_t count) {
  for (size_t i = count; i > 0; i -= 8) memcpy(to + i - 8, from + i - 8, 8 * sizeof *to);
}
static inline size_t listed(const uint64_t *words, size_t count) {
  return tide_lanes_listed(words, words, count);
}

static inline void open_at(struct tide_frontier *f, struct tide_reach reach) {
  tide_window_set(f, reach.first, (size_t)reach.size);
}

/* All of them lie in it. Returns how many it did not list. */
static inline size_t put(struct tide_frontier *f, struct tide_entries entries) {
  uint64_t *epochs = tide_window_epochs_of(f);
  tide_axis first = tide_window_first(f);
  size_t more = 0;
  for (size_t i = 0; i < entries.count; i++) {
    uint64_t *at = epochs + (size_t)(entries.axes[i] - first), old = *at;
    more += old == 0;
    *at = larger_of(old, entries.epochs[i]);
  }
  return more;
}

void tide_window_make(struct tide_frontier *f, struct tide_reach reach,
                      struct tide_entries entries) {
  open_at(f, reach);
  clear(tide_window_epochs_of(f), (size_t)reach.size);
  f->count = (uint8_t)put(f, entries);
}

/* As many as most have; so little of a fiber's stack is taken. */
#define FEW 32
static inline __attribute__((always_inline)) void
open_through(uint64_t *room, struct tide_frontier *f, struct tide_reach reach) {
  struct tide_entries entries = tide_entries_of(f);
  memcpy(room, entries.axes, entries.count * sizeof *room);
  memcpy(room + entries.count, entries.epochs, entries.count * sizeof *room);
  tide_window_make(f, reach, (struct tide_entries){room, room + entries.count, entries.count});
}
APART static void open_many(struct tide_frontier *f, struct tide_reach reach) {
  uint64_t room[2 * TIDE_FRONTIER_CAPACITY_MAX];
  open_through(room, f, reach);
}
APART static void open_few(struct tide_frontier *f, struct tide_reach reach) {
  uint64_t room[2 * FEW];
  open_through(room, f, reach);
}

void tide_window_open(struct tide_frontier *f) {
  if (f->window || f->count < TIDE_WINDOW_LEAST) return;
  struct tide_reach reach = tide_reach_of(f);
  if (!tide_reach_fits(reach, f->capacity)) return;
  if (f->count <= FEW) open_few(f, reach);
  else open_many(f, reach);
}

void tide_window_close(struct tide_frontier *f) {
  struct tide_frontier_entry entries[TIDE_WINDOW_LEAST];
  size_t count = 0;
  struct tide_frontier_cursor at = tide_frontier_begin(f);
  while (tide_frontier_next(&at, &entries[count])) count++;
  f->window = 0;
  for (size_t i = 0; i < count; i++) {
    tide_window_words(f)[i] = entries[i].axis;
    tide_window_words(f)[i + f->capacity] = entries[i].epoch;
  }
}

/* A longer one; `to` may be `from`, and need not have been anything before. */
static inline void widen(struct tide_frontier *to, const struct tide_frontier *from,
                         struct tide_reach reach) {
  size_t skip = (size_t)(tide_window_first(from) - reach.first), window = from->window;
  uint64_t *epochs = tide_window_epochs_of(to);
  if (to != from) copy(epochs + skip, tide_window_epochs(from), window);
  else if (skip) copy_up(epochs + skip, epochs, window);
  clear(epochs, skip);
  clear(epochs + skip + window, (size_t)reach.size - skip - window);
  open_at(to, reach);
}

void tide_window_grow(struct tide_frontier *f, struct tide_reach reach) {
  reach = tide_reach_both(tide_reach_of(f), reach);
  if (reach.size != f->window) widen(f, f, reach);
}

/* ---- merging ---- */

static size_t new_lists(const struct tide_frontier *to, struct tide_entries from) {
  size_t more = 0;
  for (size_t i = 0; i < from.count; i++) more += tide_window_get(to, from.axes[i]) == 0;
  return more;
}

static size_t new_window(const struct tide_frontier *to, const struct tide_frontier *from) {
  size_t more = 0;
  tide_axis start = tide_window_first(from);
  for (size_t i = 0; i < from->window; i++)
    more += tide_window_epochs(from)[i] && tide_window_get(to, start + i) == 0;
  return more;
}

static bool has_capacity(const struct tide_frontier *to, const struct tide_frontier *from) {
  size_t room = (size_t)to->capacity - to->count;
  if (from->count <= room) return true;
  if (tide_windows_alike(to, from))
    return tide_lanes_listed(tide_window_epochs(to), tide_window_epochs(from), to->window) <=
           to->capacity;
  return (from->window ? new_window(to, from) : new_lists(to, tide_entries_of(from))) <= room;
}

/* The window of `from` lies in that of `to`, which lists `count` entries. Returns how many then. */
static inline size_t put_window(struct tide_frontier *to, const struct tide_frontier *from,
                                size_t count) {
  size_t window = from->window;
  uint64_t *at =
      tide_window_epochs_of(to) + (size_t)(tide_window_first(from) - tide_window_first(to));
  count -= listed(at, window);
  return count + tide_lanes_max(at, at, tide_window_epochs(from), window);
}

/* `to` has a window. */
static inline bool merge_into(struct tide_frontier *to, const struct tide_frontier *from) {
  if (!has_capacity(to, from)) return false;
  uint64_t *epochs = tide_window_epochs_of(to);
  if (tide_windows_alike(to, from)) {
    to->count = (uint8_t)tide_lanes_max(epochs, epochs, tide_window_epochs(from), to->window);
    return true;
  }
  struct tide_reach both = tide_reach_both(tide_reach_of(to), tide_reach_of(from));
  if (!tide_reach_fits(both, to->capacity)) return false;
  if (both.size != to->window) widen(to, to, both);
  to->count = (uint8_t)(from->window ? put_window(to, from, to->count)
                                     : to->count + put(to, tide_entries_of(from)));
  return true;
}

/* Lists of its own become a window first, which is mostly only done once. */
APART static bool merge_opening(struct tide_frontier *to, const struct tide_frontier *from) {
  uint64_t room[2 * FEW];
  struct tide_entries own = tide_entries_of(to);
  struct tide_reach reach = tide_reach_both(tide_reach_of(to), tide_reach_of(from));
  size_t n = own.count;
  if (n > FEW || n + from->count > to->capacity || !tide_reach_fits(reach, to->capacity))
    return false;
  memcpy(room, own.axes, n * sizeof *room);
  memcpy(room + n, own.epochs, n * sizeof *room);
  own = (struct tide_entries){room, room + n, n};
  if (from->window) {
    widen(to, from, reach);
    to->count = (uint8_t)(from->count + put(to, own));
  } else {
    tide_window_make(to, reach, own);
    to->count = (uint8_t)(n + put(to, tide_entries_of(from)));
  }
  return true;
}

bool tide_window_merge(struct tide_frontier *to, const struct tide_frontier *from) {
  return to->window ? merge_into(to, from) : merge_opening(to, from);
}

/* Copies. Returns how many are listed. */
static inline size_t take(uint64_t *to, const uint64_t *from, size_t words) {
  return words ? tide_lanes_max(to, from, from, words) : 0;
}

/* a's window does not start behind b's. Returns how many they list. */
static inline size_t join_windows(uint64_t *to, const struct tide_frontier *a,
                                  const struct tide_frontier *b) {
  const uint64_t *of_a = tide_window_epochs(a), *of_b = tide_window_epochs(b);
  size_t n = a->window, m = b->window;
  size_t skip = (size_t)(tide_window_first(b) - tide_window_first(a));
  if (skip >= n) { /* and a gap */
    clear(to + n, skip - n);
    return take(to, of_a, n) + take(to + skip, of_b, m);
  }
  size_t both = n - skip < m ? n - skip : m, end = skip + both;
  size_t count = take(to, of_a, skip) + tide_lanes_max(to + skip, of_a + skip, of_b, both);
  if (end < n) return count + take(to + end, of_a + end, n - end);
  return count + take(to + end, of_b + both, m - both);
}

bool tide_window_join(struct tide_frontier *to, const struct tide_frontier *a,
                      const struct tide_frontier *b) {
  struct tide_reach reach = tide_reach_both(tide_reach_of(a), tide_reach_of(b));
  size_t count;
  if (tide_windows_alike(a, b)) {
    count = tide_lanes_max(tide_window_epochs_of(to), tide_window_epochs(a), tide_window_epochs(b),
                           a->window);
    open_at(to, reach);
  } else if (a->window && b->window) {
    bool swap = tide_window_first(b) < tide_window_first(a);
    count = join_windows(tide_window_epochs_of(to), swap ? b : a, swap ? a : b);
    open_at(to, reach);
  } else {
    const struct tide_frontier *lists = a->window ? b : a;
    a = a->window ? a : b;
    if (a->window) widen(to, a, reach);
    else tide_window_make(to, reach, tide_entries_of(a));
    count = a->count + put(to, tide_entries_of(lists));
  }
  to->count = (uint8_t)count;
  return count <= to->capacity;
}

/* ---- comparing ---- */

bool tide_windows_same(const struct tide_frontier *a, const struct tide_frontier *b) {
  return tide_windows_alike(a, b) &&
         tide_lanes_listed(tide_window_epochs(a), tide_window_epochs(b), a->window) == a->count;
}

/* The words that both windows have. */
struct shared {
  const uint64_t *f, *g;
  size_t words;
};
static inline struct shared shared_of(const struct tide_frontier *f,
                                      const struct tide_frontier *g) {
  const uint64_t *f_epochs = tide_window_epochs(f), *g_epochs = tide_window_epochs(g);
  uint64_t skip = tide_window_first(g) - tide_window_first(f), back = 0 - skip;
  bool behind = skip < f->window;
  if (!behind && back >= g->window) return (struct shared){f_epochs, g_epochs, 0};
  size_t n = f->window - (size_t)(behind ? skip : 0), m = g->window - (size_t)(behind ? 0 : back);
  return (struct shared){f_epochs + (behind ? skip : 0), g_epochs + (behind ? 0 : back),
                         n < m ? n : m};
}

/* Does f list anything outside of what is shared? */
static inline bool lists_more(const struct tide_frontier *f, const uint64_t *shared, size_t words) {
  if (words == f->window) return false;
  const uint64_t *epochs = tide_window_epochs(f), *end = epochs + f->window;
  return listed(epochs, (size_t)(shared - epochs)) ||
         listed(shared + words, (size_t)(end - (shared + words)));
}

static inline bool covers_lists(const struct tide_frontier *f, struct tide_entries g) {
  bool lower = false;
#if TIDE_HAS_WIDE
  if (g.count <= 8 && tide_frontier_eight())
    return !tide_eight_needs(tide_window_epochs(f), tide_window_first(f), f->window, g.axes,
                             g.epochs, g.count);
#endif
  for (size_t i = 0; i < g.count; i++) lower |= tide_window_get(f, g.axes[i]) < g.epochs[i];
  return !lower;
}

/* f has lists, g a window. */
APART static bool lists_cover(const struct tide_frontier *f, const struct tide_frontier *g) {
  struct tide_entries have = tide_entries_of(f);
  struct tide_frontier_entry need;
  size_t i = 0;
  for (struct tide_frontier_cursor at = tide_frontier_begin(g); tide_frontier_next(&at, &need);
       i++) {
    while (i < have.count && have.axes[i] < need.axis) i++;
    if (i == have.count || have.axes[i] != need.axis || have.epochs[i] < need.epoch) return false;
  }
  return true;
}

bool tide_window_covers(const struct tide_frontier *f, const struct tide_frontier *g) {
  if (!f->window) return lists_cover(f, g);
  if (!g->window) return covers_lists(f, tide_entries_of(g));
  struct shared s = shared_of(f, g);
  return !lists_more(g, s.g, s.words) && !tide_lanes_lower(s.f, s.g, s.words);
}

/* f has a window, g has lists. */
static enum tide_order compare_lists(const struct tide_frontier *f, const struct tide_frontier *g,
                                     bool f_has, bool g_has) {
  struct tide_entries needs = tide_entries_of(g);
  size_t listed = 0;
  for (size_t i = 0; i < needs.count; i++) {
    uint64_t have = tide_window_get(f, needs.axes[i]);
    listed += have != 0;
    f_has |= have > needs.epochs[i];
    g_has |= have < needs.epochs[i];
  }
  return tide_order_of(f_has | (listed < f->count), g_has);
}

enum tide_order tide_window_compare(const struct tide_frontier *f, const struct tide_frontier *g,
                                    bool f_has, bool g_has) {
  if (!g->window) return compare_lists(f, g, f_has, g_has);
  if (!f->window) {
    enum tide_order order = compare_lists(g, f, g_has, f_has);
    return tide_order_of(order & 1, order >> 1);
  }
  struct shared s = shared_of(f, g);
  unsigned order = tide_lanes_order(s.f, s.g, s.words);
  f_has |= order >> 1 || lists_more(f, s.f, s.words);
  g_has |= (order & 1) || lists_more(g, s.g, s.words);
  return tide_order_of(f_has, g_has);
}
