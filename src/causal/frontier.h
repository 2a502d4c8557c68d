/* causal/frontier.h: how a frontier lies in memory, for the files that write one. */
#ifndef TIDE_CAUSAL_FRONTIER_H
#define TIDE_CAUSAL_FRONTIER_H

#include "base/check.h"
#include "base/memory.h"
#include "causal/frontier_lanes.h"
#include "causal/frontier_window.h"

/* Short ones take as long as it takes to fetch the code: let that not depend on where it lies. */
#define TIDE_HOT __attribute__((aligned(64)))

/* Two full frontiers that share no axis. */
#define TIDE_UNION_MAX (2 * TIDE_FRONTIER_CAPACITY_MAX)

/* The lists of one that has no window; in other folders nobody asks for them (tests/tidy/lists). */
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
  return (uint64_t *)(void *)(f + 1) + f->capacity;
}

/* Halves the axes until there are no more than `most`, and the axis, if it is listed, or its place
 * is among them. Compilers make a branch of the choice, and it stays one: as a mask it took up to
 * twice as long where the processor has learned the outcome, and gained only from 128 on where it
 * had not. */
static inline __attribute__((always_inline)) const tide_axis *
tide_axes_halved(const tide_axis *axes, size_t *count, size_t most, tide_axis axis) {
  while (*count > most) {
    size_t half = *count / 2;
    const tide_axis *upper = axes + half;
    axes = axes[half - 1] < axis ? upper : axes;
    *count -= half;
  }
  return axes;
}

/* Where tests look inside, whoever reads a frontier sees whether it is in order: somebody may have
 * written it by hand. */
#ifdef TIDE_CHECK_FRONTIERS
#define TIDE_CHECK_FRONTIER(f) TIDE_ASSERT(tide_frontier_validate((f), NULL) == TIDE_OK)
#else
#define TIDE_CHECK_FRONTIER(f) ((void)0)
#endif

/* A few words are copied one by one: what was just stored word by word cannot be loaded in wide
 * pieces without a stall. The empty asm keeps compilers from calling memcpy all the same. */
#define TIDE_FEW_WORDS 24

/* The two don't overlap. */
static inline void tide_frontier_words(uint64_t *to, const uint64_t *from, size_t count) {
  if (count > TIDE_FEW_WORDS) {
    memcpy(to, from, count * sizeof *to);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    to[i] = from[i];
    __asm__("");
  }
}

/* For those that are copied all the time and are mostly short. */
static inline void tide_frontier_copy_short(struct tide_frontier *to,
                                            const struct tide_frontier *from,
                                            const struct tide_eviction *eviction) {
  if (from->count > to->capacity || from->count > 4) {
    tide_frontier_copy(to, from, eviction);
    return;
  }
  to->count = from->count;
  to->tainted = from->tainted;
  to->window = 0;
  for (size_t i = 0; i < from->count; i++) {
    tide_frontier_axes_of(to)[i] = tide_frontier_axes(from)[i];
    tide_frontier_epochs_of(to)[i] = tide_frontier_epochs(from)[i];
    __asm__("");
  }
}

/* Can the one be copied into the other as it lies there? */
static inline bool tide_frontier_takes(const struct tide_frontier *to,
                                       const struct tide_frontier *from) {
  return from->count <= to->capacity &&
         (from->window == 0 || tide_window_fits(from->window, to->capacity));
}

/* For what was not written just now: in wide pieces. It can be taken. */
static inline void tide_frontier_copy_wide(struct tide_frontier *to,
                                           const struct tide_frontier *from) {
  const tide_axis *axes = tide_frontier_axes(from);
  const uint64_t *epochs = tide_frontier_epochs(from);
  tide_axis *to_axes = tide_frontier_axes_of(to);
  uint64_t *to_epochs = tide_frontier_epochs_of(to);
  size_t count = from->count, i = 0;
  to->count = from->count;
  to->tainted = from->tainted;
  to->window = from->window;
  if (from->window) {
    tide_window_set(to, *axes, from->window);
    for (; i < from->window; i += 8) memcpy(to_axes + 1 + i, axes + 1 + i, 8 * sizeof *axes);
    return;
  }
  for (; i + 4 <= count; i += 4) {
    memcpy(to_axes + i, axes + i, 4 * sizeof *axes);
    memcpy(to_epochs + i, epochs + i, 4 * sizeof *epochs);
  }
  for (; i < count; i++) {
    to_axes[i] = axes[i];
    to_epochs[i] = epochs[i];
    __asm__("");
  }
}

/* It lists nothing, and nothing is missing. */
static inline void tide_frontier_empty(struct tide_frontier *f) {
  f->window = f->count = f->tainted = 0;
}

/* The first entry of one that lists some, but fewer than TIDE_WINDOW_LEAST. */
static inline struct tide_frontier_entry tide_frontier_first(const struct tide_frontier *f) {
  return (struct tide_frontier_entry){*tide_frontier_axes(f), *tide_frontier_epochs(f)};
}

/* And where its epoch is. */
static inline uint64_t *tide_frontier_first_epoch(struct tide_frontier *f) {
  return tide_frontier_epochs_of(f);
}

/* It lists nothing else from now on. */
static inline void tide_frontier_list_one(struct tide_frontier *f, tide_axis axis, uint64_t epoch) {
  f->count = 1;
  f->window = 0;
  *tide_frontier_axes_of(f) = axis;
  *tide_frontier_epochs_of(f) = epoch;
}

/* It has no window, and is not full. Not looked at: whether that is its place, or anybody's. */
static inline void tide_frontier_append(struct tide_frontier *f, tide_axis axis, uint64_t epoch) {
  tide_frontier_axes_of(f)[f->count] = axis;
  tide_frontier_epochs_of(f)[f->count++] = epoch;
}

/* The least capacity that so many entries, in such a window, need: its room is the window's length
 * or more (tide_window_room). */
static inline size_t tide_frontier_packed(size_t count, size_t window) {
  size_t least = window <= 8 ? 5 : window <= 24 ? 9 : (window - 6) / 2;
  return window == 0 || count > least ? count : least;
}

/* It takes no more room than it needs. */
static inline void tide_frontier_pack(struct tide_frontier *f) {
  uint64_t *words = tide_frontier_axes_of(f);
  const uint64_t *epochs = tide_frontier_epochs(f);
  size_t count = f->count;
  for (size_t i = 0; f->window == 0 && i < count; i++) words[count + i] = epochs[i];
  f->capacity = (uint8_t)tide_frontier_packed(count, f->window);
}

/* How many words it takes as it is, with its head, once nothing else will be listed. */
static inline size_t tide_frontier_kept_words(const struct tide_frontier *f) {
  size_t entries = f->window ? 1 + (size_t)f->window : 2 * (size_t)f->capacity;
  return sizeof *f / sizeof(uint64_t) + entries;
}

/* Only those entries stay of which `stays` says so. */
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

/* The epoch at a place, which stays an entry's as long as nothing else is listed. */
static inline uint64_t *tide_frontier_at(struct tide_frontier *f, size_t place) {
  return (uint64_t *)(void *)(f + 1) + (f->window ? 1 : f->capacity) + place;
}

/* The place of an axis; TIDE_NO_PLACE: it is not listed. */
#define TIDE_NO_PLACE SIZE_MAX
static inline size_t tide_frontier_slot(const struct tide_frontier *f, tide_axis axis) {
  if (f->window)
    return tide_window_get(f, axis) ? (size_t)(axis - tide_window_first(f)) : TIDE_NO_PLACE;
  for (size_t i = f->count; i-- > 0;)
    if (tide_frontier_axes(f)[i] == axis) return i;
  return TIDE_NO_PLACE;
}

/* Moves `count` entries from index `from` to index `to`; the two may overlap. */
static inline void tide_frontier_shift(tide_axis *axes, uint64_t *epochs, size_t to, size_t from,
                                       size_t count) {
  if (count > TIDE_FEW_WORDS) {
    memmove(axes + to, axes + from, count * sizeof axes[0]);
    memmove(epochs + to, epochs + from, count * sizeof epochs[0]);
  } else if (to < from) {
    for (size_t i = 0; i < count; i++)
      axes[to + i] = axes[from + i], epochs[to + i] = epochs[from + i];
  } else {
    while (count-- > 0)
      axes[to + count] = axes[from + count], epochs[to + count] = epochs[from + count];
  }
}

/* The epoch of the axis if it is at this place; else 0, though it may be listed. Whoever guesses an
 * axis' place in one frontier by its place in another, which most often lists the same ones, asks
 * this. */
static inline uint64_t tide_frontier_get_at(const struct tide_frontier *f, size_t place,
                                            tide_axis axis) {
  const tide_axis *axes = tide_frontier_axes(f);
  if (f->window) return tide_window_get(f, axis);
  return place < f->count && axes[place] == axis ? axes[place + f->capacity] : 0;
}

/* The same for the place that was raised last, mostly of a queue's own axis. */
static inline uint64_t tide_frontier_get_raised(const struct tide_frontier *f, tide_axis axis) {
  return tide_frontier_get_at(f, f->raised, axis);
}

/* The place of an axis that is listed, mostly where it was raised last. */
static inline size_t tide_frontier_slot_raised(const struct tide_frontier *f, tide_axis axis) {
  if (f->window) return (size_t)(axis - tide_window_first(f));
  return tide_frontier_get_raised(f, axis) ? f->raised : tide_frontier_slot(f, axis);
}

/* What follows is for short frontiers in paths that are to need no call and no stack: of up to
 * TIDE_SHORT entries. */
#define TIDE_SHORT 16

/* How many of these are below it: without a branch that depends on where it is, since nobody could
 * foretell that. */
static inline size_t tide_short_place(const tide_axis *axes, size_t count, tide_axis axis) {
  size_t place = 0;
  for (size_t i = 0; i < count; i++) place += axes[i] < axis;
  return place;
}

/* tide_frontier_get. */
static inline uint64_t tide_short_get(const struct tide_frontier *f, tide_axis axis) {
  const tide_axis *axes = tide_frontier_axes(f);
  if (f->window) return tide_window_get(f, axis);
  size_t count = f->count, place = tide_short_place(axes, count, axis);
  return place < count && axes[place] == axis ? axes[place + f->capacity] : 0;
}

/* The same of one axis after the other, upwards: *next is 0 at first, and says how far it came. */
static inline uint64_t tide_short_get_upwards(const struct tide_frontier *f, tide_axis axis,
                                              size_t *next) {
  const tide_axis *axes = tide_frontier_axes(f);
  size_t count = f->count, place = *next;
  if (f->window) return tide_window_get(f, axis);
  while (place < count && axes[place] < axis) place++;
  *next = place;
  return place < count && axes[place] == axis ? axes[place + f->capacity] : 0;
}

/* The same, for the axis that was raised last, mostly. */
static inline uint64_t tide_short_get_own(const struct tide_frontier *f, tide_axis axis) {
  uint64_t epoch = tide_frontier_get_raised(f, axis);
  return epoch ? epoch : tide_short_get(f, axis);
}

/* Where the epoch of the axis is; NULL: it is not listed. */
static inline uint64_t *tide_short_at(struct tide_frontier *f, tide_axis axis) {
  tide_axis *axes = tide_frontier_axes_of(f);
  size_t count = f->count, place;
  if (f->window) {
    axes++;
    place = (size_t)(axis - tide_window_first(f));
    return place < f->window && axes[place] ? &axes[place] : NULL;
  }
  place = tide_short_place(axes, count, axis);
  return place < count && axes[place] == axis ? axes + place + f->capacity : NULL;
}

/* tide_frontier_copy, and tide_frontier_get on the way. It can be taken. */
static inline uint64_t tide_short_copy(struct tide_frontier *to, const struct tide_frontier *from,
                                       tide_axis axis) {
  uint64_t *axes = tide_frontier_axes_of(to), *epochs = axes + to->capacity;
  const uint64_t *from_axes = tide_frontier_axes(from), *from_epochs = from_axes + from->capacity;
  uint64_t found = 0;
  size_t count = from->count;
  if (from->window) {
    tide_frontier_copy_wide(to, from);
    return tide_window_get(from, axis);
  }
  to->tainted = from->tainted;
  to->count = (uint8_t)count;
  to->window = 0;
  for (size_t i = 0; i < count; i++) {
    uint64_t at = from_axes[i], epoch = from_epochs[i];
    axes[i] = at;
    epochs[i] = epoch;
    found = at == axis ? epoch : found;
  }
  return found;
}

/* Has it room for one more that is few enough for lists? */
static inline bool tide_short_has_capacity(const struct tide_frontier *f) {
  return f->count < f->capacity && f->count + 1u < TIDE_WINDOW_LEAST;
}

/* tide_frontier_raise where there is, of an axis that is not listed. */
static inline void tide_short_insert(struct tide_frontier *f, tide_axis axis, uint64_t epoch) {
  tide_axis *axes = tide_frontier_axes_of(f);
  uint64_t *epochs = tide_frontier_epochs_of(f);
  size_t count = f->count, place = tide_short_place(axes, count, axis);
  tide_frontier_shift(axes, epochs, place + 1, place, count - place);
  axes[place] = axis;
  epochs[place] = epoch;
  f->count = (uint8_t)(count + 1);
}

static inline bool tide_four_differ(const tide_axis *a, const tide_axis *b) {
  return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) != 0;
}

/* Two of the same count. Looks at the last first: mostly it is there that they differ. No is also
 * said where one has a window, and the other has another one or lists. */
static inline bool tide_same_axes(const struct tide_frontier *a, const struct tide_frontier *b) {
  if (tide_either_window(a, b)) return tide_windows_same(a, b);
  const tide_axis *a_axes = tide_frontier_axes(a), *b_axes = tide_frontier_axes(b);
  for (size_t i = a->count; i-- > 0;)
    if (a_axes[i] != b_axes[i]) return false;
  return true;
}

/* Two axes at once: any processor that we compile for has registers for that. */
typedef uint64_t tide_two __attribute__((vector_size(16)));

static inline uint64_t tide_larger(uint64_t a, uint64_t b) { return a < b ? b : a; }

/* How far the last axis that a or b lists lies behind the first. Each lists something, and has no
 * window. */
static inline tide_axis tide_span_of_both(const struct tide_frontier *a,
                                          const struct tide_frontier *b, tide_axis *out_first) {
  const tide_axis *a_axes = tide_frontier_axes(a), *b_axes = tide_frontier_axes(b);
  tide_axis a_last = a_axes[a->count - 1], b_last = b_axes[b->count - 1];
  *out_first = a_axes[0] < b_axes[0] ? a_axes[0] : b_axes[0];
  return (a_last < b_last ? b_last : a_last) - *out_first;
}

/* Tells most different sets apart by three of their axes at once: that one of them differs could
 * not be guessed. count > 0. */
static inline bool tide_axes_alike(const tide_axis *a, const tide_axis *b, size_t count) {
  size_t half = count / 2, last = count - 1;
  return ((a[0] ^ b[0]) | (a[half] ^ b[half]) | (a[last] ^ b[last])) == 0;
}

/* to = the component-wise maximum of two others, in storage for `capacity` entries that need not be
 * initialised. False: the union does not fit, and what is in `to` means nothing. Says nothing of
 * taint. */
bool tide_frontier_join(struct tide_frontier *to, uint8_t capacity, const struct tide_frontier *a,
                        const struct tide_frontier *b);

/* The same where both have a window, of the same reach; else false. What it says of the capacity is
 * as follows. */
bool tide_frontier_join_windows(struct tide_frontier *to, uint8_t capacity, uint8_t room,
                                const struct tide_frontier *a, const struct tide_frontier *b);

/* The same where `a` lists all that its window reaches over, so that the union lists no more,
 * whatever `b` lists there; else false. */
static inline bool tide_frontier_join_full(struct tide_frontier *to, uint8_t capacity,
                                           const struct tide_frontier *a,
                                           const struct tide_frontier *b) {
  size_t size = a->window;
  if (size != a->count || size > capacity || !tide_windows_alike(a, b)) return false;
  tide_window_set(to, tide_window_first(a), size);
  to->count = to->capacity = (uint8_t)size;
  tide_lanes_larger(tide_window_epochs_of(to), tide_window_epochs(a), tide_window_epochs(b), size);
  return true;
}

/* The same for two that list the same axes, which those do that have known each other for a while:
 * it is taken for granted, and looked at on the way. False: they do not, or there is no room. The
 * capacity becomes no more than they need, and `room` for what is to be added. Windows may list
 * others than each other, too: their places are the same. */
static inline bool tide_frontier_join_alike(struct tide_frontier *to, uint8_t capacity,
                                            uint8_t room, const struct tide_frontier *a,
                                            const struct tide_frontier *b) {
  size_t count = a->count, i = 0;
  const tide_axis *a_axes = tide_frontier_axes(a), *b_axes = tide_frontier_axes(b);
  if (tide_either_window(a, b))
    return (room == 0 && tide_frontier_join_full(to, capacity, a, b)) ||
           tide_frontier_join_windows(to, capacity, room, a, b);
  if (count == 0 || count != b->count || count + room > capacity ||
      !tide_axes_alike(a_axes, b_axes, count))
    return false;
  /* The arrays of `to` are nobody else's, which compilers are to know. */
  uint64_t *restrict axes = tide_frontier_axes_of(to), *restrict epochs = axes + count + room;
  const uint64_t *a_epochs = tide_frontier_epochs(a), *b_epochs = tide_frontier_epochs(b);
  tide_two differ = {0, 0};
  for (; i + 2 <= count; i += 2) {
    tide_two first, second;
    memcpy(&first, a_axes + i, sizeof first);
    memcpy(&second, b_axes + i, sizeof second);
    memcpy(axes + i, &first, sizeof first);
    differ |= first ^ second;
    epochs[i] = tide_larger(a_epochs[i], b_epochs[i]);
    epochs[i + 1] = tide_larger(a_epochs[i + 1], b_epochs[i + 1]);
  }
  if (i < count) { /* the last, which is the same */
    axes[i] = a_axes[i];
    epochs[i] = tide_larger(a_epochs[i], b_epochs[i]);
  }
  to->capacity = (uint8_t)(count + room);
  to->count = (uint8_t)count;
  to->window = 0;
  to->raised = a->raised;
  return !(differ[0] | differ[1]);
}

/* With fewer in either it is as quick one after the other as from both ends. */
#define TIDE_ENDS_LEAST 6
/* tide_frontier_join of two that have no window, from both ends; the capacity is set, and each
 * lists something. */
bool tide_frontier_join_ends(struct tide_frontier *to, const struct tide_frontier *a,
                             const struct tide_frontier *b);

/* What f and g know, where no more than 64 axes lie from the first to the last, in a third or in f
 * itself; neither has a window, and each lists something. False, and nothing is done: they lie
 * further apart, the room is too small, or this processor cannot count bits. */
bool tide_few_join(struct tide_frontier *to, const struct tide_frontier *f,
                   const struct tide_frontier *g);
/* With fewer in either, one by one is as fast. */
#define TIDE_FEW_LEAST 3

/* These and no others, as far as there is room; taints it when one is lost. The lists are not its
 * own. */
void tide_frontier_store(struct tide_frontier *to, struct tide_entries entries,
                         const struct tide_eviction *eviction);

/* The same for more than there is room for. */
void tide_frontier_shed(struct tide_frontier *to, struct tide_entries entries,
                        const struct tide_eviction *eviction);

/* What both know, as lists, which are nobody else's. Returns how many that is; most + 1: more. */
size_t tide_frontier_union(tide_axis *axes, uint64_t *epochs, size_t most,
                           const struct tide_frontier *a, const struct tide_frontier *b);

#endif
