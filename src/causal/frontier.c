/* Frontiers: making, reading, raising one entry.
 *
 * Lists of axes and of epochs lie apart from each other, so that looking for an
 * axis reads axes only. */
#include "causal/frontier.h"
#include "base/check.h"
#include "base/memory.h"
#include "base/text.h"

void tide_frontier_init(struct tide_frontier *frontier, uint8_t capacity) {
  *frontier = (struct tide_frontier){.capacity = capacity ? capacity : 1};
}

void tide_frontier_clear(struct tide_frontier *frontier) { tide_frontier_empty(frontier); }

/* Few: the two arrays word by word, in steps of four. */
static inline void copy_few(struct tide_frontier *to, struct tide_entries from) {
  tide_axis *axes = tide_frontier_axes_of(to);
  uint64_t *epochs = tide_frontier_epochs_of(to);
  size_t i = 0;
  for (; i + 4 <= from.count; i += 4) {
    uint64_t a = from.axes[i], b = from.axes[i + 1], c = from.axes[i + 2], d = from.axes[i + 3];
    axes[i] = a, axes[i + 1] = b, axes[i + 2] = c, axes[i + 3] = d;
    __asm__("");
    a = from.epochs[i], b = from.epochs[i + 1], c = from.epochs[i + 2], d = from.epochs[i + 3];
    epochs[i] = a, epochs[i + 1] = b, epochs[i + 2] = c, epochs[i + 3] = d;
    __asm__("");
  }
  for (; i < from.count; i++) {
    axes[i] = from.axes[i];
    epochs[i] = from.epochs[i];
    __asm__("");
  }
}

void tide_frontier_store(struct tide_frontier *to, struct tide_entries entries,
                         const struct tide_eviction *eviction) {
  if (entries.count > to->capacity) {
    tide_frontier_shed(to, entries, eviction);
    return;
  }
  if (entries.count >= TIDE_WINDOW_LEAST) {
    struct tide_reach reach = tide_reach_from_to(entries.axes[0], entries.axes[entries.count - 1]);
    if (tide_reach_fits(reach, to->capacity)) {
      tide_window_make(to, reach, entries);
      return;
    }
  }
  to->window = 0;
  to->count = (uint8_t)entries.count;
  if (entries.count > TIDE_FEW_WORDS) {
    memcpy(tide_frontier_axes_of(to), entries.axes, entries.count * sizeof *entries.axes);
    memcpy(tide_frontier_epochs_of(to), entries.epochs, entries.count * sizeof *entries.epochs);
  } else {
    copy_few(to, entries);
  }
}

#define APART __attribute__((noinline))

/* A window that there is no room for. */
APART static void copy_listed(struct tide_frontier *to, const struct tide_frontier *from,
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
  if (from->window == 0) {
    tide_frontier_store(to, tide_entries_of(from), eviction);
  } else if (tide_frontier_takes(to, from)) {
    tide_window_set(to, tide_window_first(from), from->window);
    to->count = from->count;
    tide_frontier_words(tide_window_epochs_of(to), tide_window_epochs(from), from->window);
  } else {
    copy_listed(to, from, eviction);
  }
}

/* Up to so many are looked at one by one. */
#define FEW 8

/* How many axes are below `axis`: the place where it is or belongs. */
static inline __attribute__((always_inline)) size_t place_of(const tide_axis *axes, size_t count,
                                                             tide_axis axis) {
  const tide_axis *from = tide_axes_halved(axes, &count, 4, axis);
  size_t place = (size_t)(from - axes);
  for (size_t i = 0; i < count; i++) place += from[i] < axis;
  return place;
}

/* For many. */
APART static uint64_t get_many(const struct tide_frontier *frontier, tide_axis axis) {
  const tide_axis *axes = tide_frontier_axes(frontier);
  size_t count = frontier->count;
  size_t place = place_of(axes, count, axis);
  place -= place == count;
  return tide_frontier_epochs(frontier)[place] & (0 - (uint64_t)(axes[place] == axis));
}

TIDE_HOT uint64_t tide_frontier_get(const struct tide_frontier *frontier, tide_axis axis) {
  size_t count = frontier->count;
  if (frontier->window) return tide_window_get(frontier, axis);
  if (count > FEW) return get_many(frontier, axis);
  const tide_axis *at = tide_frontier_axes(frontier);
  for (const tide_axis *end = at + count; at < end; at++) {
    if (*at == axis) return at[frontier->capacity];
  }
  return 0;
}

/* With a new entry that there is no room for, or not where it belongs: it is evicted by the same
 * rule as the old ones. */
APART static void raise_stored(struct tide_frontier *frontier, tide_axis axis, uint64_t epoch,
                               const struct tide_eviction *eviction) {
  tide_axis axes[TIDE_FRONTIER_CAPACITY_MAX + 1];
  uint64_t epochs[TIDE_FRONTIER_CAPACITY_MAX + 1];
  struct tide_frontier_entry entry;
  size_t count = 0, place = TIDE_NO_PLACE;
  for (struct tide_frontier_cursor at = tide_frontier_begin(frontier);
       tide_frontier_next(&at, &entry); count++) {
    if (place == TIDE_NO_PLACE && axis < entry.axis) place = count++;
    axes[count] = entry.axis, epochs[count] = entry.epoch;
  }
  if (place == TIDE_NO_PLACE) place = count++;
  axes[place] = axis, epochs[place] = epoch;
  tide_frontier_store(frontier, (struct tide_entries){axes, epochs, count}, eviction);
}

/* It has no window, and does not list it. */
static void raise_new(struct tide_frontier *frontier, tide_axis axis, uint64_t epoch,
                      const struct tide_eviction *eviction) {
  if (epoch == 0) return;
  TIDE_ASSERT(axis != 0);
  tide_axis *axes = tide_frontier_axes_of(frontier);
  uint64_t *epochs = tide_frontier_epochs_of(frontier);
  size_t count = frontier->count, place = place_of(axes, count, axis);
  if (count == frontier->capacity) {
    raise_stored(frontier, axis, epoch, eviction);
    return;
  }
  tide_frontier_shift(axes, epochs, place + 1, place, count - place);
  axes[place] = axis;
  epochs[place] = epoch;
  frontier->count = (uint8_t)(count + 1);
  frontier->raised = (uint8_t)place;
  if (count + 1 >= TIDE_WINDOW_LEAST) tide_window_open(frontier);
}

/* It has a window. */
static void raise_in_window(struct tide_frontier *frontier, tide_axis axis, uint64_t epoch,
                            const struct tide_eviction *eviction) {
  if (tide_window_get(frontier, axis) == 0) {
    if (epoch == 0) return;
    TIDE_ASSERT(axis != 0);
    struct tide_reach reach = tide_reach_from_to(axis, axis);
    if (frontier->count == frontier->capacity ||
        !tide_reach_fits(tide_reach_both(tide_reach_of(frontier), reach), frontier->capacity)) {
      raise_stored(frontier, axis, epoch, eviction);
      return;
    }
    tide_window_grow(frontier, reach);
    frontier->count++;
  }
  uint64_t *old = tide_window_epochs_of(frontier) + (size_t)(axis - tide_window_first(frontier));
  if (*old < epoch) *old = epoch;
}

TIDE_HOT void tide_frontier_insert_or_raise(struct tide_frontier *frontier, tide_axis axis,
                                            uint64_t epoch, const struct tide_eviction *eviction) {
  const tide_axis *axes = tide_frontier_axes(frontier);
  size_t count = frontier->count, place = 0;
  if (frontier->window) {
    raise_in_window(frontier, axis, epoch, eviction);
    return;
  }
  if (count <= FEW) {
    while (place < count && axes[place] != axis) place++;
  } else {
    place = place_of(axes, count, axis);
  }
  if (place == count || axes[place] != axis) {
    raise_new(frontier, axis, epoch, eviction);
    return;
  }
  uint64_t *old = tide_frontier_epochs_of(frontier) + place;
  if (*old < epoch) *old = epoch;
  frontier->raised = (uint8_t)place;
}

void tide_frontier_drop(struct tide_frontier *frontier, tide_axis axis) {
  tide_axis *axes = tide_frontier_axes_of(frontier);
  uint64_t *epochs = tide_frontier_epochs_of(frontier);
  size_t count = frontier->count;
  if (frontier->window) {
    if (tide_window_get(frontier, axis) == 0) return;
    tide_window_epochs_of(frontier)[(size_t)(axis - tide_window_first(frontier))] = 0;
    if (--frontier->count < TIDE_WINDOW_LEAST) tide_window_close(frontier);
    return;
  }
  size_t place = place_of(axes, count, axis);
  if (place == count || axes[place] != axis) return;
  tide_frontier_shift(axes, epochs, place, place + 1, count - place - 1);
  frontier->count = (uint8_t)(count - 1);
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

/* Behind the highest axis come 0 and the lowest: none of them may be listed. */
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
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: a window with place %u", frontier->raised);
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
