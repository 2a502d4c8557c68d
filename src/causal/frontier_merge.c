/* Merging: the component-wise maximum of two frontiers, in one of them or in a third.
 *
 * Into a window word by word; lists in place, from the back. A union that needs eviction, or that
 * no window has room for, is first written to a buffer. */
#include "causal/frontier.h"

/* tide_frontier_count_new for lists. */
static inline size_t count_new_listed(struct tide_entries to, struct tide_entries from) {
  size_t count = 0, i = 0;
  for (size_t k = 0; k < from.count; k++) {
    while (i < to.count && to.axes[i] < from.axes[k]) i++;
    count += i == to.count || to.axes[i] != from.axes[k];
  }
  return count;
}

size_t tide_frontier_count_new(const struct tide_frontier *to, const struct tide_frontier *from) {
  if (!tide_either_window(to, from))
    return count_new_listed(tide_entries_of(to), tide_entries_of(from));
  struct tide_frontier_entry entry;
  size_t count = 0, next = 0;
  for (struct tide_frontier_cursor at = tide_frontier_begin(from); tide_frontier_next(&at, &entry);)
    count += tide_frontier_get_upwards(to, entry.axis, &next) == 0;
  return count;
}

/* Writes the union of two lists, up to `most` entries. Returns the number; most + 1: there are
 * more. */
static inline size_t write_union_of_lists(tide_axis *axes, uint64_t *epochs, size_t most,
                                          struct tide_entries a, struct tide_entries b) {
  size_t i = 0, k = 0, count = 0;
  for (; i < a.count && k < b.count; count++) {
    if (count == most) return most + 1;
    if (a.axes[i] < b.axes[k]) {
      axes[count] = a.axes[i];
      epochs[count] = a.epochs[i++];
    } else if (a.axes[i] > b.axes[k]) {
      axes[count] = b.axes[k];
      epochs[count] = b.epochs[k++];
    } else {
      axes[count] = a.axes[i];
      epochs[count] = tide_larger(a.epochs[i++], b.epochs[k++]);
    }
  }
  if (i == a.count) a = b, i = k; /* the rest is of b */
  for (; i < a.count; i++, count++) {
    if (count == most) return most + 1;
    axes[count] = a.axes[i];
    epochs[count] = a.epochs[i];
  }
  return count;
}

/* Writes the union as lists, up to `most` entries. Returns the number; most + 1: there are more. */
static size_t write_union(tide_axis *axes, uint64_t *epochs, size_t most,
                          const struct tide_frontier *a, const struct tide_frontier *b) {
  if (!tide_either_window(a, b))
    return write_union_of_lists(axes, epochs, most, tide_entries_of(a), tide_entries_of(b));
  struct tide_frontier_cursor i = tide_frontier_begin(a), j = tide_frontier_begin(b);
  struct tide_frontier_entry in_a = {0, 0}, in_b = {0, 0};
  bool of_a = tide_frontier_next(&i, &in_a), of_b = tide_frontier_next(&j, &in_b);
  size_t count = 0;
  for (; of_a || of_b; count++) {
    if (count == most) return most + 1;
    bool a_next = of_a && (!of_b || in_a.axis <= in_b.axis);
    bool b_next = of_b && (!of_a || in_b.axis <= in_a.axis);
    axes[count] = a_next ? in_a.axis : in_b.axis;
    epochs[count] = tide_larger(a_next ? in_a.epoch : 0, b_next ? in_b.epoch : 0);
    if (a_next) of_a = tide_frontier_next(&i, &in_a);
    if (b_next) of_b = tide_frontier_next(&j, &in_b);
  }
  return count;
}

/* True if the union may be a window, by its number of entries and its reach. */
static bool union_reach(const struct tide_frontier *a, const struct tide_frontier *b,
                        size_t capacity, struct tide_reach *out_reach) {
  if (a->count < TIDE_WINDOW_LEAST && b->count < TIDE_WINDOW_LEAST) return false;
  if (a->count == 0 || b->count == 0) return false;
  *out_reach = tide_reach_both(tide_reach_of(a), tide_reach_of(b));
  return tide_window_fits(out_reach->size, capacity);
}

/* Returns the number of entries of the union; more than `capacity`: it does not fit. */
static __attribute__((noinline)) size_t join_many(struct tide_frontier *to, uint8_t capacity,
                                                  const struct tide_frontier *a,
                                                  const struct tide_frontier *b) {
  struct tide_reach reach;
  if (tide_windows_alike(a, b) && tide_window_fits(a->window, capacity)) {
    tide_window_set(to, tide_reach_of(a));
    return tide_lanes()->max(tide_window_epochs_of(to), tide_window_epochs(a),
                             tide_window_epochs(b), a->window);
  }
  if (union_reach(a, b, capacity, &reach)) {
    tide_window_clear(to, reach);
    return tide_window_raise(to, b, tide_window_raise(to, a, 0));
  }
  return write_union(tide_frontier_axes_of(to), tide_frontier_epochs_of(to), capacity, a, b);
}

bool tide_frontier_join(struct tide_frontier *to, uint8_t capacity, const struct tide_frontier *a,
                        const struct tide_frontier *b) {
  TIDE_CHECK_FRONTIER(a);
  TIDE_CHECK_FRONTIER(b);
  to->capacity = capacity;
  to->window = 0;
  to->raised = a->raised;
  bool few = a->count < TIDE_WINDOW_LEAST && b->count < TIDE_WINDOW_LEAST; /* so both have lists */
  size_t count = few ? write_union_of_lists(tide_frontier_axes_of(to), tide_frontier_epochs_of(to),
                                            capacity, tide_entries_of(a), tide_entries_of(b))
                     : join_many(to, capacity, a, b);
  to->count = (uint8_t)count;
  return count <= capacity;
}

/* Merges into a window. False: the union does not fit, and nothing has changed. */
static bool merge_into_window(struct tide_frontier *to, const struct tide_frontier *from) {
  size_t room = (size_t)to->capacity - to->count;
  struct tide_reach reach;
  if (!union_reach(to, from, to->capacity, &reach)) return false;
  if (from->count > room && tide_frontier_count_new(to, from) > room) return false;
  tide_window_widen(to, reach);
  to->count = (uint8_t)tide_window_raise(to, from, to->count);
  return true;
}

/* Merges lists from the back into the room behind them. False: the union does not fit. */
static bool merge_lists(struct tide_frontier *to, const struct tide_frontier *from) {
  tide_axis *axes = tide_frontier_axes_of(to);
  uint64_t *epochs = tide_frontier_epochs_of(to);
  struct tide_entries more = tide_entries_of(from);
  size_t i = to->count, j = more.count, k = i + count_new_listed(tide_entries_of(to), more);
  if (k > to->capacity) return false;
  to->count = (uint8_t)k;
  while (j > 0) {
    bool of_to = i > 0 && axes[i - 1] >= more.axes[j - 1];
    bool of_from = i == 0 || axes[i - 1] <= more.axes[j - 1];
    i -= of_to;
    j -= of_from;
    axes[--k] = of_to ? axes[i] : more.axes[j];
    epochs[k] = tide_larger(of_to ? epochs[i] : 0, of_from ? more.epochs[j] : 0);
  }
  if (to->count >= TIDE_WINDOW_LEAST) tide_window_open(to);
  return true;
}

__attribute__((noinline)) static void merge_buffered(struct tide_frontier *to,
                                                     const struct tide_frontier *from,
                                                     const struct tide_eviction *eviction) {
  tide_axis axes[TIDE_UNION_MAX];
  uint64_t epochs[TIDE_UNION_MAX];
  size_t count = write_union(axes, epochs, TIDE_UNION_MAX, to, from);
  tide_frontier_store(to, (struct tide_entries){axes, epochs, count}, eviction);
}

void tide_frontier_merge(struct tide_frontier *to, const struct tide_frontier *from,
                         const struct tide_eviction *eviction) {
  bool done = false;
  TIDE_CHECK_FRONTIER(to);
  TIDE_CHECK_FRONTIER(from);
  to->tainted |= from->tainted;
  if (from->count == 0) return;
  if (to->window) done = merge_into_window(to, from);
  else if (!from->window) done = merge_lists(to, from);
  if (!done) merge_buffered(to, from, eviction);
}
