/* Frontiers: making, reading, raising one entry.
 *
 * Axes and epochs lie in separate sorted arrays, so that looking for an axis
 * reads axes only. */
#include "causal/frontier.h"
#include "base/check.h"
#include "base/memory.h"
#include "base/text.h"
#include "causal/frontier_map.h"
#include "causal/frontier_wide.h"

void tide_frontier_init(struct tide_frontier *frontier, uint8_t capacity) {
  *frontier = (struct tide_frontier){.capacity = capacity ? capacity : 1};
}

void tide_frontier_clear(struct tide_frontier *frontier) {
  frontier->count = 0;
  frontier->tainted = 0;
}

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

/* Replaces to's entries. `entries` may not be in `to`. */
static void store(struct tide_frontier *to, struct tide_entries entries,
                  const struct tide_eviction *eviction) {
  if (entries.count > to->capacity) {
    tide_frontier_shed(to, entries, eviction);
    return;
  }
  if (entries.count > TIDE_FEW_WORDS) {
    memcpy(tide_frontier_axes_of(to), entries.axes, entries.count * sizeof *entries.axes);
    memcpy(tide_frontier_epochs_of(to), entries.epochs, entries.count * sizeof *entries.epochs);
  } else {
    copy_few(to, entries);
  }
  to->count = (uint8_t)entries.count;
}

void tide_frontier_copy(struct tide_frontier *to, const struct tide_frontier *from,
                        const struct tide_eviction *eviction) {
  if (to == from) return;
  TIDE_CHECK_MAP(from);
  to->tainted = from->tainted;
  store(to,
        (struct tide_entries){tide_frontier_axes(from), tide_frontier_epochs(from), from->count},
        eviction);
  if (from->count <= to->capacity) tide_frontier_copy_map(to, from);
}

#define APART __attribute__((noinline))

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
#if TIDE_HAS_WIDE
  if (tide_frontier_eight()) return tide_eight_get(frontier, axis);
  if (tide_frontier_wide()) return tide_wide_get(frontier, axis);
#endif
  size_t place = place_of(axes, count, axis);
  place -= place == count;
  return tide_frontier_epochs(frontier)[place] & (0 - (uint64_t)(axes[place] == axis));
}

TIDE_HOT uint64_t tide_frontier_get(const struct tide_frontier *frontier, tide_axis axis) {
  size_t count = frontier->count;
  if (count > FEW) return get_many(frontier, axis);
  const tide_axis *at = tide_frontier_axes(frontier);
  for (const tide_axis *end = at + count; at < end; at++) {
    if (*at == axis) return at[frontier->capacity];
  }
  return 0;
}

/* The new entry is evicted by the same rule as the old ones. */
static void raise_full(struct tide_frontier *frontier, size_t place, tide_axis axis, uint64_t epoch,
                       const struct tide_eviction *eviction) {
  tide_axis axes[TIDE_FRONTIER_CAPACITY_MAX + 1];
  uint64_t epochs[TIDE_FRONTIER_CAPACITY_MAX + 1];
  size_t count = frontier->count;
  const tide_axis *old_axes = tide_frontier_axes(frontier);
  const uint64_t *old_epochs = tide_frontier_epochs(frontier);
  memcpy(axes, old_axes, place * sizeof axes[0]);
  memcpy(epochs, old_epochs, place * sizeof epochs[0]);
  axes[place] = axis;
  epochs[place] = epoch;
  memcpy(axes + place + 1, old_axes + place, (count - place) * sizeof axes[0]);
  memcpy(epochs + place + 1, old_epochs + place, (count - place) * sizeof epochs[0]);
  tide_frontier_shed(frontier, (struct tide_entries){axes, epochs, count + 1}, eviction);
}

/* The axis at this place is new. */
static void map_new(struct tide_frontier *frontier, size_t place) {
  const tide_axis *axes = tide_frontier_axes(frontier);
  if (frontier->count < TIDE_FRONTIER_MAP_LEAST || !tide_frontier_mapped(frontier)) return;
  if (frontier->count == TIDE_FRONTIER_MAP_LEAST) {
    tide_frontier_remap(frontier);
    return;
  }
  uint64_t *map = tide_frontier_map_of(frontier);
  if (place == 0) tide_map_move(map, map, (size_t)(axes[1] - axes[0]));
  size_t at = (size_t)(axes[place] - axes[0]);
  map[at / 64] |= 1ull << (at % 64);
}

/* It is not listed. */
static void raise_new(struct tide_frontier *frontier, tide_axis axis, uint64_t epoch,
                      const struct tide_eviction *eviction) {
  if (epoch == 0) return;
  TIDE_ASSERT(axis != 0);
  tide_axis *axes = tide_frontier_axes_of(frontier);
  uint64_t *epochs = tide_frontier_epochs_of(frontier);
  size_t count = frontier->count, place = place_of(axes, count, axis);
  if (count == frontier->capacity) {
    raise_full(frontier, place, axis, epoch, eviction);
    return;
  }
  tide_frontier_shift(axes, epochs, place + 1, place, count - place);
  axes[place] = axis;
  epochs[place] = epoch;
  frontier->count = (uint8_t)(count + 1);
  frontier->raised = (uint8_t)place;
  map_new(frontier, place);
}

TIDE_HOT void tide_frontier_insert_or_raise(struct tide_frontier *frontier, tide_axis axis,
                                            uint64_t epoch, const struct tide_eviction *eviction) {
  const tide_axis *axes = tide_frontier_axes(frontier);
  size_t count = frontier->count, place = 0;
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
  size_t count = frontier->count, place = place_of(axes, count, axis);
  if (place == count || axes[place] != axis) return;
  tide_frontier_shift(axes, epochs, place, place + 1, count - place - 1);
  frontier->count = (uint8_t)(count - 1);
  tide_frontier_remap(frontier);
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
  if (!tide_frontier_map_right(frontier))
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: its map is not of its axes");
  return TIDE_OK;
}
