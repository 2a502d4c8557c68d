/* Frontiers: making, copying, raising and removing one entry, validating. */
#include "causal/frontier.h"
#include "base/text.h"

void tide_frontier_init(struct tide_frontier *frontier, uint8_t capacity) {
  *frontier = (struct tide_frontier){.capacity = capacity ? capacity : 1};
}

void tide_frontier_clear(struct tide_frontier *frontier) { tide_frontier_empty(frontier); }

void tide_frontier_store(struct tide_frontier *to, struct tide_entries entries,
                         const struct tide_eviction *eviction) {
  if (entries.count > to->capacity) {
    tide_frontier_shed(to, entries, eviction);
    return;
  }
  if (entries.count >= TIDE_WINDOW_LEAST) {
    struct tide_reach reach = tide_reach_from_to(entries.axes[0], entries.axes[entries.count - 1]);
    if (tide_window_fits(reach.size, to->capacity)) {
      tide_window_make(to, reach, entries);
      return;
    }
  }
  to->window = 0;
  to->count = (uint8_t)entries.count;
  memcpy(tide_frontier_axes_of(to), entries.axes, entries.count * sizeof *entries.axes);
  memcpy(tide_frontier_epochs_of(to), entries.epochs, entries.count * sizeof *entries.epochs);
}

/* Copies a window that `to` has no room for. */
__attribute__((noinline)) static void copy_window_as_lists(struct tide_frontier *to,
                                                           const struct tide_frontier *from,
                                                           const struct tide_eviction *eviction) {
  tide_axis axes[TIDE_FRONTIER_CAPACITY_MAX];
  uint64_t epochs[TIDE_FRONTIER_CAPACITY_MAX];
  struct tide_frontier_entry entry;
  size_t count = 0;
  for (struct tide_frontier_cursor at = tide_frontier_begin(from); tide_frontier_next(&at, &entry);
       count++)
    axes[count] = entry.axis, epochs[count] = entry.epoch;
  tide_frontier_store(to, (struct tide_entries){axes, epochs, count}, eviction);
}

void tide_frontier_copy(struct tide_frontier *to, const struct tide_frontier *from,
                        const struct tide_eviction *eviction) {
  if (to == from) return;
  TIDE_CHECK_FRONTIER(from);
  to->tainted = from->tainted;
  if (from->window && tide_frontier_takes(to, from)) tide_frontier_copy_as_is(to, from);
  else if (from->window) copy_window_as_lists(to, from, eviction);
  else tide_frontier_store(to, tide_entries_of(from), eviction);
}

uint64_t tide_frontier_get(const struct tide_frontier *frontier, tide_axis axis) {
  return tide_frontier_look_up(frontier, axis);
}

/* Adds an entry that does not fit, or not in the window. It is evicted by the same rule as the old
 * ones. */
static void insert_by_merge(struct tide_frontier *frontier, tide_axis axis, uint64_t epoch,
                            const struct tide_eviction *eviction) {
  TIDE_FRONTIER_STORAGE(one, 1);
  tide_frontier_init(&one.frontier, 1);
  tide_frontier_list_one(&one.frontier, axis, epoch);
  tide_frontier_merge(frontier, &one.frontier, eviction);
}

/* Adds an entry for an axis that is not listed. */
static void insert_entry(struct tide_frontier *frontier, tide_axis axis, uint64_t epoch,
                         const struct tide_eviction *eviction) {
  size_t count = frontier->count;
  if (epoch == 0) return;
  TIDE_ASSERT(axis != 0);
  if (frontier->window || count == frontier->capacity) {
    insert_by_merge(frontier, axis, epoch, eviction);
    return;
  }
  tide_axis *axes = tide_frontier_axes_of(frontier);
  uint64_t *epochs = tide_frontier_epochs_of(frontier);
  size_t slot = tide_axes_below(axes, count, axis);
  for (size_t i = count; i > slot; i--) axes[i] = axes[i - 1], epochs[i] = epochs[i - 1];
  axes[slot] = axis;
  epochs[slot] = epoch;
  frontier->count = (uint8_t)(count + 1);
  frontier->raised = (uint8_t)slot;
  tide_window_open(frontier);
}

void tide_frontier_insert_or_raise(struct tide_frontier *frontier, tide_axis axis, uint64_t epoch,
                                   const struct tide_eviction *eviction) {
  size_t slot = tide_frontier_slot(frontier, axis);
  if (slot == TIDE_NO_SLOT) {
    insert_entry(frontier, axis, epoch, eviction);
    return;
  }
  uint64_t *old = tide_frontier_at(frontier, slot);
  *old = tide_larger(*old, epoch);
  if (!frontier->window) frontier->raised = (uint8_t)slot;
}

void tide_frontier_drop(struct tide_frontier *frontier, tide_axis axis) {
  size_t slot = tide_frontier_slot(frontier, axis);
  if (slot == TIDE_NO_SLOT) return;
  size_t left = --frontier->count;
  if (frontier->window) {
    *tide_frontier_at(frontier, slot) = 0;
    if (left < TIDE_WINDOW_LEAST) tide_window_close(frontier);
    return;
  }
  tide_axis *axes = tide_frontier_axes_of(frontier);
  uint64_t *epochs = tide_frontier_epochs_of(frontier);
  for (size_t i = slot; i < left; i++) axes[i] = axes[i + 1], epochs[i] = epochs[i + 1];
}

static enum tide_status validate_lists(const struct tide_frontier *frontier,
                                       struct tide_diag *diag) {
  const tide_axis *axes = tide_frontier_axes(frontier);
  const uint64_t *epochs = tide_frontier_epochs(frontier);
  for (unsigned i = 0; i < frontier->count; i++) {
    if (axes[i] == 0) return tide_diag_set(diag, TIDE_CORRUPT, "frontier: entry %u has axis 0", i);
    if (epochs[i] == 0)
      return tide_diag_set(diag, TIDE_CORRUPT, "frontier: entry %u has epoch 0", i);
    if (i > 0 && axes[i] <= axes[i - 1])
      return tide_diag_set(diag, TIDE_CORRUPT, "frontier: entry %u %s", i,
                           axes[i] == axes[i - 1] ? "repeats the axis before it"
                                                  : "is not in axis order");
  }
  return TIDE_OK;
}

/* The slots behind the highest axis stand for none: they are 0. */
static enum tide_status validate_window(const struct tide_frontier *frontier,
                                        struct tide_diag *diag) {
  tide_axis first = tide_window_first(frontier);
  size_t window = frontier->window, count = 0;
  if (window % 8 || !tide_window_fits(window, frontier->capacity))
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: a window of %zu in a capacity of %u",
                         window, frontier->capacity);
  if (first % 8 != 1)
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: a window that starts at axis %llu",
                         (unsigned long long)first);
  for (size_t i = 0; i < window; i++) {
    if (tide_window_epochs(frontier)[i] == 0) continue;
    if (first + i < first) return tide_diag_set(diag, TIDE_CORRUPT, "frontier: axis 0 is listed");
    count++;
  }
  if (count < TIDE_WINDOW_LEAST)
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: a window of %zu entries", count);
  if (frontier->raised != TIDE_RAISED_NONE)
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: a window with slot %u", frontier->raised);
  if (count == frontier->count) return TIDE_OK;
  return tide_diag_set(diag, TIDE_CORRUPT, "frontier: %zu entries are %u by its count", count,
                       frontier->count);
}

enum tide_status tide_frontier_validate(const struct tide_frontier *frontier,
                                        struct tide_diag *diag) {
  if (frontier->capacity == 0)
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: the capacity is 0");
  if (frontier->count > frontier->capacity)
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: %u entries in a capacity of %u",
                         frontier->count, frontier->capacity);
  if (frontier->tainted > 1)
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: taint is %u, expected 0 or 1",
                         frontier->tainted);
  return frontier->window ? validate_window(frontier, diag) : validate_lists(frontier, diag);
}
