/* Eviction: which entries go when a frontier is too small.
 *
 * The order in which they go is total and is a property of the entries alone:
 * finished before unfinished, then the smaller epoch, then the larger axis. So
 * the result does not depend on how the entries came together. */
#include "causal/frontier.h"
#include "causal/tracker_axis.h"

struct shed {
  struct tide_entries entries;
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

static void swap(struct shed *s, size_t a, size_t b) {
  uint16_t t = s->heap[a];
  s->heap[a] = s->heap[b];
  s->heap[b] = t;
}

static void heap_push(struct shed *s, size_t entry) {
  size_t at = s->size++;
  s->heap[at] = (uint16_t)entry;
  for (size_t up; at > 0 && goes_before(s, s->heap[up = (at - 1) / 2], s->heap[at]); at = up)
    swap(s, at, up);
}

static void heap_replace_top(struct shed *s, size_t entry) {
  s->heap[0] = (uint16_t)entry;
  for (size_t at = 0;;) {
    size_t child = 2 * at + 1;
    if (child >= s->size) return;
    if (child + 1 < s->size && goes_before(s, s->heap[child], s->heap[child + 1])) child++;
    if (!goes_before(s, s->heap[at], s->heap[child])) return;
    swap(s, at, child);
    at = child;
  }
}

/* Marks the `excess` entries that go; true when one of them had not finished. */
static bool choose(struct shed *s, size_t excess, const struct tide_eviction *eviction) {
  struct tide_tracker *tracker = eviction ? eviction->tracker : NULL;
  tide_axis keep = eviction ? eviction->keep : 0;
  for (size_t i = 0; i < s->entries.count; i++) {
    tide_axis axis = s->entries.axes[i];
    s->gone[i] = false;
    s->finished[i] = tracker && tide_tracker_finished(tracker, axis, s->entries.epochs[i]);
    if (axis == keep) continue;
    if (s->size < excess) heap_push(s, i);
    else if (goes_before(s, i, s->heap[0])) heap_replace_top(s, i);
  }
  bool lost = false;
  for (size_t i = 0; i < s->size; i++) {
    s->gone[s->heap[i]] = true;
    lost |= !s->finished[s->heap[i]];
  }
  return lost;
}

/* tide_tracker_finished, without a call where the axis is found at once. */
static inline bool is_finished(struct tide_tracker *tracker, const struct tide_axis_table *table,
                               tide_axis axis, uint64_t epoch) {
  size_t home = tide_axis_table_home(table, axis);
  struct tide_tracker_axis *at = tide_load_acquire(&table->slots[home]);
  if (!at || tide_load_acquire(&at->axis) != axis)
    return tide_tracker_finished(tracker, axis, epoch);
  uint64_t finished = tide_tracker_axis_finished(at);
  return tide_load_acquire(&at->axis) == axis ? finished >= epoch
                                              : tide_tracker_finished(tracker, axis, epoch);
}

/* The one that goes first; entries.count: none may. Whoever cannot go before the best one so far is
 * not asked about. */
static size_t first_to_go(const struct tide_entries *entries, const struct tide_eviction *eviction,
                          bool *out_finished) {
  struct tide_tracker *tracker = eviction ? eviction->tracker : NULL;
  const struct tide_axis_table *table = tracker ? tide_load_acquire(&tracker->table) : NULL;
  tide_axis keep = eviction ? eviction->keep : 0;
  size_t first = entries->count;
  uint64_t least = UINT64_MAX;
  bool finished = false;
  for (size_t i = 0; i < entries->count; i++) {
    uint64_t epoch = entries->epochs[i];
    bool sooner = epoch <= least; /* of the same epoch the larger axis goes, which comes later */
    if ((finished && !sooner) || entries->axes[i] == keep) continue;
    bool over = tracker && is_finished(tracker, table, entries->axes[i], epoch);
    if (!over && (finished || !sooner)) continue;
    first = i;
    least = epoch;
    finished = over;
  }
  *out_finished = finished;
  return first;
}

/* Mostly there is one too many. */
static void shed_one(struct tide_frontier *to, const struct tide_entries *entries,
                     const struct tide_eviction *eviction) {
  tide_axis *axes = tide_frontier_axes_of(to);
  uint64_t *epochs = tide_frontier_epochs_of(to);
  bool finished;
  size_t gone = first_to_go(entries, eviction, &finished), kept = entries->count - 1;
  tide_frontier_words(axes, entries->axes, gone);
  tide_frontier_words(epochs, entries->epochs, gone);
  tide_frontier_words(axes + gone, entries->axes + gone + 1, kept - gone);
  tide_frontier_words(epochs + gone, entries->epochs + gone + 1, kept - gone);
  to->count = (uint8_t)kept;
  if (!finished) to->tainted = 1;
}

void tide_frontier_shed(struct tide_frontier *to, struct tide_entries entries,
                        const struct tide_eviction *eviction) {
  struct shed s;
  to->window = 0;
  if (entries.count - to->capacity == 1) {
    shed_one(to, &entries, eviction);
    tide_window_open(to);
    return;
  }
  s.entries = entries;
  s.size = 0;
  bool lost = choose(&s, entries.count - to->capacity, eviction);
  tide_axis *axes = tide_frontier_axes_of(to);
  uint64_t *epochs = tide_frontier_epochs_of(to);
  size_t kept = 0;
  for (size_t i = 0; i < entries.count; i++) {
    if (s.gone[i]) continue;
    axes[kept] = entries.axes[i];
    epochs[kept++] = entries.epochs[i];
  }
  to->count = (uint8_t)kept;
  tide_window_open(to);
  if (lost) to->tainted = 1;
}
