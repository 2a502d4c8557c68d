#include "timeline/history.h"
#include "base/alloc.h"
#include "causal/frontier.h"

/* A slot: this head, then a frontier. One slot beside the ring keeps the newest tracked record when
 * external ones push it out. */
struct slot {
  uint64_t value;
  tide_axis axis; /* 0: external */
  uint64_t epoch;
  struct tide_frontier frontier;
};

#define SLOT_SIZE(capacity)                                                                        \
  (sizeof(struct slot) - sizeof(struct tide_frontier) + tide_frontier_size(capacity))
#define FIRST_CAPACITY 1 /* entries of the timeline's own slot */
_Static_assert(sizeof(struct slot) + 2 * sizeof(uint64_t) * FIRST_CAPACITY == TIDE_FIRST_SLOT_SIZE,
               "the first slot has one entry");
#define HISTORY_MOST (1u << 24)
#define HISTORY_DEFAULT 16u

static struct slot *slot_at(const struct tide_timeline *timeline, uint64_t number) {
  return (struct slot *)(void *)(timeline->slots +
                                 (number & (timeline->history - 1)) * timeline->slot_size);
}

/* Not for the timeline's own slot, which is the whole ring. */
static struct slot *kept_slot(const struct tide_timeline *timeline) {
  return (struct slot *)(void *)(timeline->slots + (size_t)timeline->history * timeline->slot_size);
}

static bool has_one_slot(const struct tide_timeline *timeline) {
  return timeline->slots == timeline->first_slot;
}

/* Makes the ring of `size` empty slots. False: no memory, and the old ring stays. */
static bool make_ring(struct tide_timeline *timeline, uint32_t size) {
  uint8_t capacity = timeline->context->frontier_capacity;
  size_t slot_size = SLOT_SIZE(capacity);
  unsigned char *slots = tide_alloc(timeline->context->allocator, (size_t)size + 1, slot_size);
  if (!slots) return false;
  timeline->slots = slots;
  timeline->slot_size = (uint16_t)slot_size;
  timeline->history = size;
  for (uint64_t i = 0; i < size; i++) tide_frontier_init(&slot_at(timeline, i)->frontier, capacity);
  tide_frontier_init(&kept_slot(timeline)->frontier, capacity);
  return true;
}

enum tide_status tide_history_init(struct tide_timeline *timeline, uint32_t history) {
  uint32_t size = 1;
  if (history > HISTORY_MOST) return TIDE_INVALID;
  if (history > 0) {
    while (size < history) size *= 2;
    return make_ring(timeline, size) ? TIDE_OK : TIDE_NOMEM;
  }
  timeline->grows = true;
  timeline->slots = timeline->first_slot;
  timeline->slot_size = TIDE_FIRST_SLOT_SIZE;
  timeline->history = 1;
  tide_frontier_init(&slot_at(timeline, 0)->frontier, FIRST_CAPACITY);
  return TIDE_OK;
}

static void free_ring(const struct tide_timeline *timeline, unsigned char *slots, uint32_t size) {
  if (slots != timeline->first_slot)
    tide_free(timeline->context->allocator, slots, (size_t)size + 1, timeline->slot_size);
}

void tide_history_fini(struct tide_timeline *timeline) {
  free_ring(timeline, timeline->slots, timeline->history);
}

static void move_slot(struct slot *to, const struct slot *from) {
  to->value = from->value;
  to->axis = from->axis;
  to->epoch = from->epoch;
  tide_frontier_copy(&to->frontier, &from->frontier, NULL);
}

void tide_history_grow(struct tide_timeline *timeline) {
  unsigned char *slots = timeline->slots;
  size_t slot_size = timeline->slot_size;
  uint32_t size = timeline->history;
  const uint64_t *external = timeline->newest_external;
  uint64_t count = timeline->newest - timeline->oldest;
  if (!has_one_slot(timeline) && count + timeline->signalling <= size) return;
  if (!make_ring(timeline, 2 * size)) return;
  for (uint64_t i = timeline->oldest; i < timeline->newest; i++) {
    const struct slot *from = (const void *)(slots + (i & (size - 1)) * slot_size);
    struct slot *to = slot_at(timeline, i);
    move_slot(to, from);
    if (external == &from->value) timeline->newest_external = &to->value;
  }
  if (timeline->kept) move_slot(kept_slot(timeline), (const void *)(slots + size * slot_size));
  free_ring(timeline, slots, size);
  timeline->grows = timeline->history < HISTORY_DEFAULT;
}

static void drop_oldest(struct tide_timeline *timeline) {
  struct slot *slot = slot_at(timeline, timeline->oldest);
  if (timeline->dropped < slot->value) timeline->dropped = slot->value;
  if (timeline->tracked == timeline->oldest + 1 && !has_one_slot(timeline)) {
    memcpy(kept_slot(timeline), slot, timeline->slot_size);
    timeline->kept = true;
  }
  timeline->oldest++;
}

/* Stores the value of the newest record, if that is external: until then, the timeline's value is
 * the record's. Required before a look-up and before the next record. */
static inline void settle_newest(const struct tide_timeline *timeline) {
  if (timeline->newest_external) *timeline->newest_external = timeline->reached.value;
}

static inline struct slot *next_slot(struct tide_timeline *timeline) {
  settle_newest(timeline);
  if (timeline->newest - timeline->oldest == timeline->history) drop_oldest(timeline);
  return slot_at(timeline, timeline->newest++);
}

/* Consecutive external values share one slot, with the last value: none of them carries
 * knowledge. With only one slot, a tracked record stays in it, and the external one is dropped. */
void tide_history_push_external(struct tide_timeline *timeline, uint64_t value) {
  struct slot *slot = slot_at(timeline, timeline->newest - 1);
  bool is_empty = timeline->newest == timeline->oldest;
  if (!is_empty && slot->axis && has_one_slot(timeline)) {
    settle_newest(timeline);
    timeline->dropped = value;
    timeline->newest_external = &timeline->dropped;
    return;
  }
  if (is_empty || slot->axis) slot = next_slot(timeline);
  slot->value = value;
  slot->axis = 0;
  timeline->newest_external = &slot->value;
}

static inline struct slot *push_slot(struct tide_timeline *timeline, uint64_t value, tide_axis axis,
                                     uint64_t epoch) {
  struct slot *slot = next_slot(timeline);
  slot->value = value;
  slot->axis = axis;
  slot->epoch = epoch;
  timeline->tracked = timeline->newest;
  timeline->newest_external = NULL;
  timeline->quiet_below = 0;
  timeline->kept = false;
  return slot;
}

void tide_history_push(struct tide_timeline *timeline, uint64_t value, tide_axis axis,
                       uint64_t epoch, const struct tide_frontier *frontier) {
  struct tide_eviction eviction = {timeline->context->tracker, axis};
  tide_frontier_copy(&push_slot(timeline, value, axis, epoch)->frontier, frontier, &eviction);
}

void tide_history_push_step(struct tide_timeline *timeline, uint64_t value,
                            struct tide_position *position) {
  struct tide_eviction eviction = {timeline->context->tracker, position->axis};
  struct tide_frontier *from = position->frontier;
  uint64_t epoch = ++position->epoch;
  struct tide_frontier *to = &push_slot(timeline, value, position->axis, epoch)->frontier;
  size_t at = tide_frontier_slot(from, position->axis);
  if (at != TIDE_NO_SLOT && tide_frontier_takes(to, from)) {
    tide_frontier_copy_as_is(to, from);
    *tide_frontier_at(to, at) = *tide_frontier_at(from, at) = epoch;
    return;
  }
  tide_frontier_raise(from, position->axis, epoch, &eviction);
  tide_frontier_copy(to, from, &eviction);
}

static bool view_slot(const struct slot *slot, bool coarse, struct tide_record_view *out_view) {
  *out_view = (struct tide_record_view){.value = slot->value,
                                        .axis = slot->axis,
                                        .epoch = slot->epoch,
                                        .frontier = slot->axis ? &slot->frontier : NULL,
                                        .reached = true,
                                        .coarse = coarse};
  return true;
}

/* Returns the number of the first record in the ring with a value >= value, mostly the newest. */
static uint64_t lower_bound(const struct tide_timeline *timeline, uint64_t value) {
  uint64_t low = timeline->oldest, high = timeline->newest;
  if (high - low > 1 && slot_at(timeline, high - 2)->value < value) low = high - 1;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (slot_at(timeline, middle)->value < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

bool tide_history_newest(const struct tide_timeline *timeline, struct tide_record_view *out_view) {
  if (!timeline->tracked) return false;
  bool is_kept = timeline->tracked <= timeline->oldest;
  if (is_kept && !timeline->kept) return false; /* the timeline's own slot has lost it */
  return view_slot(is_kept ? kept_slot(timeline) : slot_at(timeline, timeline->tracked - 1), false,
                   out_view);
}

bool tide_history_find(const struct tide_timeline *timeline, uint64_t value,
                       struct tide_record_view *out_view) {
  if (value <= timeline->initial) return false;
  settle_newest(timeline);
  bool coarse = value <= timeline->dropped;
  if (coarse && timeline->kept && kept_slot(timeline)->value >= value)
    return view_slot(kept_slot(timeline), true, out_view);
  uint64_t number = lower_bound(timeline, value);
  /* Only a dropped record may be replaced by a later one. An external record that is still in the
   * ring means that nothing is known. */
  if (coarse)
    while (number < timeline->newest && !slot_at(timeline, number)->axis) number++;
  if (number >= timeline->newest) return false;
  const struct slot *slot = slot_at(timeline, number);
  return view_slot(slot, coarse && slot->value != value, out_view);
}
