/* Tombstones: what a timeline's values were, once it is gone.
 *
 * A client that has redeemed a timeline holds it until it destroys its own name or ends. The owner
 * may destroy the timeline, reuse its handle, or end before: its slot, its shared memory and its
 * quota are free at once. What ended stays so for all holders: a tombstone keeps the reached value
 * and the broken runs. There is one for each held timeline; each holder is charged for all of it,
 * so that no holder pays for another.
 *
 *      the owner's timeline --- its name goes ---> filled
 *      first redeem: made          last holder leaves: freed
 *
 * The points of a filled tombstone are the service's own: one for each result. A value that was
 * never promised keeps its old name, which no timeline has any more: TIDE_NOT_FOUND. */
#include "base/alloc.h"
#include "service/served.h"

struct tide_tombstone {
  uint32_t holders;
  uint32_t capacity, run_count;
  bool is_filled; /* guarded by the points' lock; then the rest is constant */
  struct tide_ended ended;
  struct tide_broken_run runs[];
};

static size_t size_of(uint32_t capacity) {
  return sizeof(struct tide_tombstone) + capacity * sizeof(struct tide_broken_run);
}

/* The number of promises that a timeline remembers: it has at most as many broken runs. */
static uint32_t capacity_of(const struct tide_entry *entry) {
  return entry->kind == TIDE_ENTRY_FUTURE ? tide_future_capacity(entry->object) : 1;
}

uint32_t tide_promises_left(const struct tide_served *client) {
  return client->limits.promises - client->held - tide_load_acquire(&client->published->promises);
}

enum tide_status tide_tombstone_hold(struct tide_served *holder, const struct tide_entry *owned,
                                     struct tide_tombstone **out_tombstone) {
  struct tide_service *service = holder->service;
  uint32_t capacity = capacity_of(owned);
  struct tide_place_of *of = &service->places[owned->base.timeline];
  if (capacity > tide_promises_left(holder)) return TIDE_FULL;
  /* No lock is needed: only this thread sets the pointer, and it is cleared only after this thread
   * has begun to destroy the name, which the owner's entry still has. */
  struct tide_tombstone *tombstone = of->tombstone;
  if (!tombstone) {
    tombstone = tide_alloc(service->context->allocator, 1, size_of(capacity));
    if (!tombstone) return TIDE_NOMEM;
    tombstone->capacity = capacity;
    struct tide_lock *lock = tide_points_lock(service->points);
    of->tombstone = tombstone;
    tide_lock_give(lock);
  }
  tombstone->holders++;
  holder->held += capacity;
  *out_tombstone = tombstone;
  return TIDE_OK;
}

void tide_tombstone_release(struct tide_served *holder, struct tide_tombstone *tombstone,
                            struct tide_point base) {
  struct tide_service *service = holder->service;
  holder->held -= tombstone->capacity;
  if (--tombstone->holders) return;
  struct tide_lock *lock = tide_points_lock(service->points);
  if (!tombstone->is_filled) service->places[base.timeline].tombstone = NULL;
  tide_lock_give(lock);
  tide_free(service->context->allocator, tombstone, 1, size_of(tombstone->capacity));
}

void tide_tombstone_fill(struct tide_service *service, uint32_t slot) {
  struct tide_tombstone *tombstone = service->places[slot].tombstone;
  if (!tombstone) return;
  service->places[slot].tombstone = NULL;
  tombstone->run_count = tide_slot_ends(service->points, slot, &tombstone->ended, tombstone->runs,
                                        tombstone->capacity);
  tombstone->is_filled = true;
}

/* False: the value was never promised. */
static bool find_result(const struct tide_tombstone *tombstone, uint64_t value,
                        enum tide_status *out_status) {
  const struct tide_ended *ended = &tombstone->ended;
  for (uint32_t i = 0; i < tombstone->run_count; i++) {
    if (value < tombstone->runs[i].first || tombstone->runs[i].last < value) continue;
    *out_status = tombstone->runs[i].status;
    return true;
  }
  *out_status = value <= ended->reached ? TIDE_OK : ended->closed;
  return value <= ended->reached || ended->closed;
}

struct tide_point tide_tombstone_point(struct tide_service *service,
                                       const struct tide_tombstone *tombstone,
                                       struct tide_point point) {
  enum tide_status status;
  struct tide_lock *lock = tide_points_lock(service->points);
  bool is_filled = tombstone->is_filled;
  if (!is_filled) tide_points_pin(service->points);
  tide_lock_give(lock);
  service->has_pinned |= !is_filled;
  if (!is_filled || !find_result(tombstone, point.value, &status)) return point;
  return service->results[tide_refusal_cause(status)];
}

void tide_tombstones_settle(struct tide_service *service) {
  if (service->has_pinned) tide_points_unpin(service->points);
  service->has_pinned = false;
}
