/* Eviction: the choice of entries that go when a frontier is too small.
 *
 * Finished entries go first, then the smallest epochs, then the largest axes. This order is total
 * and a property of the entries alone, so the result does not depend on how they came together. */
#include "causal/frontier.h"
#include "causal/tracker_axis.h"

struct shed {
  struct tide_entries entries;
  struct tide_tracker *tracker;
  bool finished[TIDE_UNION_MAX];
  bool gone[TIDE_UNION_MAX];
  /* The entries that go, so far: a heap with the last to go on top. */
  uint16_t heap[TIDE_UNION_MAX];
  size_t size;
};

static bool goes_before(const struct shed *s, size_t a, size_t b) {
  if (s->finished[a] != s->finished[b]) return s->finished[a];
  if (s->entries.epochs[a] != s->entries.epochs[b])
    return s->entries.epochs[a] < s->entries.epochs[b];
  return s->entries.axes[a] > s->entries.axes[b];
}

static void heap_swap(struct shed *s, size_t a, size_t b) {
  uint16_t t = s->heap[a];
  s->heap[a] = s->heap[b];
  s->heap[b] = t;
}

static void heap_push(struct shed *s, size_t entry) {
  size_t at = s->size++;
  s->heap[at] = (uint16_t)entry;
  for (size_t up; at > 0 && goes_before(s, s->heap[up = (at - 1) / 2], s->heap[at]); at = up)
    heap_swap(s, at, up);
}

static void heap_replace_top(struct shed *s, size_t entry) {
  s->heap[0] = (uint16_t)entry;
  for (size_t at = 0;;) {
    size_t child = 2 * at + 1;
    if (child >= s->size) return;
    if (child + 1 < s->size && goes_before(s, s->heap[child], s->heap[child + 1])) child++;
    if (!goes_before(s, s->heap[at], s->heap[child])) return;
    heap_swap(s, at, child);
    at = child;
  }
}

/* tide_tracker_finished, without a call if the axis is in its first slot of the table. */
static inline bool is_finished(struct tide_tracker *tracker, tide_axis axis, uint64_t epoch) {
  const struct tide_axis_table *table = tide_load_acquire(&tracker->table);
  const struct tide_tracker_axis *at =
      tide_load_acquire(&table->slots[tide_axis_table_home(table, axis)]);
  if (!at || tide_load_acquire(&at->axis) != axis)
    return tide_tracker_finished(tracker, axis, epoch);
  uint64_t finished = tide_tracker_axis_finished(at);
  if (tide_load_acquire(&at->axis) == axis) return finished >= epoch;
  return tide_tracker_finished(tracker, axis, epoch);
}

/* Adds an entry to the `excess` entries that go, if it goes before one of them. */
static void consider_entry(struct shed *s, size_t entry, size_t excess) {
  tide_axis axis = s->entries.axes[entry];
  uint64_t epoch = s->entries.epochs[entry];
  bool is_full = s->size == excess;
  if (is_full && s->finished[s->heap[0]] && s->entries.epochs[s->heap[0]] < epoch) return;
  s->finished[entry] = s->tracker && is_finished(s->tracker, axis, epoch);
  if (!is_full) heap_push(s, entry);
  else if (goes_before(s, entry, s->heap[0])) heap_replace_top(s, entry);
}

void tide_frontier_shed(struct tide_frontier *to, struct tide_entries entries,
                        const struct tide_eviction *eviction) {
  struct shed s;
  tide_axis keep = eviction ? eviction->keep : 0;
  bool finished = true;
  s.entries = entries;
  s.tracker = eviction ? eviction->tracker : NULL;
  s.size = 0;
  memset(s.gone, 0, entries.count);
  for (size_t i = 0; i < entries.count; i++)
    if (entries.axes[i] != keep) consider_entry(&s, i, entries.count - to->capacity);
  for (size_t i = 0; i < s.size; i++) {
    s.gone[s.heap[i]] = true;
    finished &= s.finished[s.heap[i]];
  }
  to->window = to->count = 0;
  for (size_t i = 0; i < entries.count; i++)
    if (!s.gone[i]) tide_frontier_append(to, entries.axes[i], entries.epochs[i]);
  tide_window_open(to);
  if (!finished) to->tainted = 1;
}

/* ---- room for one more ------------------------------------------------------------------- */

static bool is_unfinished(void *self, tide_axis axis, uint64_t epoch) {
  const struct tide_eviction *eviction = self;
  return axis == eviction->keep || !is_finished(eviction->tracker, axis, epoch);
}

/* The entries that go: those with lower epochs, and `equal` of those with this one. */
struct floor {
  tide_axis keep;
  uint64_t epoch;
  size_t equal;
};
static bool is_above(void *self, tide_axis axis, uint64_t epoch) {
  struct floor *floor = self;
  if (axis == floor->keep) return true;
  if (epoch != floor->epoch || !floor->equal) return epoch >= floor->epoch;
  floor->equal--;
  return false;
}

/* Finds the k smallest epochs of the entries but `keep`, of which there are more. */
static struct floor find_floor(const struct tide_frontier *f, tide_axis keep, size_t k) {
  uint64_t least[TIDE_FRONTIER_CAPACITY_MAX / 4 + 2] = {0}; /* ascending */
  struct tide_frontier_entry entry;
  size_t count = 0, lower = 0;
  for (struct tide_frontier_cursor at = tide_frontier_begin(f); tide_frontier_next(&at, &entry);) {
    if (entry.axis == keep || (count == k && entry.epoch >= least[k - 1])) continue;
    size_t slot = count < k ? count++ : k - 1;
    for (; slot > 0 && least[slot - 1] > entry.epoch; slot--) least[slot] = least[slot - 1];
    least[slot] = entry.epoch;
  }
  while (least[lower] < least[k - 1]) lower++;
  return (struct floor){keep, least[k - 1], k - lower};
}

void tide_frontier_make_room(struct tide_frontier *f, const struct tide_eviction *eviction) {
  struct tide_eviction own = *eviction;
  size_t quarter = f->capacity / 4u, most = f->capacity - (quarter ? quarter : 1);
  if (own.tracker) tide_frontier_filter(f, is_unfinished, &own);
  if (f->count <= most) return;
  struct floor floor = find_floor(f, own.keep, f->count - most);
  tide_frontier_filter(f, is_above, &floor);
  f->tainted = 1;
}
