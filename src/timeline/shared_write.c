/* Timelines in shared memory: the writes of the owner, and the reaper. */
#include "base/atomic.h"
#include "timeline/shared_layout.h"

void tide_shared_set_alone(struct tide_shared *shared, bool alone) { shared->alone = alone; }

/* Wakes the waiters. A waiter reads the word before it looks at the slot: either it sees the new
 * words, or the word that it would sleep on has changed. */
static void wake_waiters(const struct tide_shared *shared, struct tide_shared_slot *slot) {
  const struct tide_platform *platform = shared->platform;
  if (shared->alone) return;
  tide_fetch_add(&slot->word, 1);
  if (platform->wake_shared) platform->wake_shared(platform->self, &slot->word, UINT32_MAX);
}

/* Returns a slot to write; NULL: *out_status is the reason. */
static struct tide_shared_slot *to_write(const struct tide_shared *shared, uint32_t slot,
                                         enum tide_status *out_status) {
  struct tide_shared_slot *at = tide_shared_slot_of(shared, slot);
  *out_status = TIDE_OK;
  if (!at) *out_status = TIDE_INVALID;
  else if (!shared->writable) *out_status = TIDE_DENIED;
  return *out_status == TIDE_OK ? at : NULL;
}

static bool is_open(const struct tide_shared_slot *slot) {
  return tide_load_acquire(&slot->generation) & 1;
}

static struct tide_shared_slot *open_to_write(const struct tide_shared *shared, uint32_t slot,
                                              enum tide_status *out_status) {
  struct tide_shared_slot *at = to_write(shared, slot, out_status);
  if (!at || is_open(at)) return at;
  *out_status = TIDE_CANCELLED;
  return NULL;
}

/* Readers of the last generation see its end before they see any of these stores. */
enum tide_status tide_shared_open(struct tide_shared *shared, uint32_t slot, uint32_t generation,
                                  uint64_t initial) {
  enum tide_status status;
  struct tide_shared_slot *at = to_write(shared, slot, &status);
  if (!at) return status;
  uint64_t last = tide_load_acquire(&at->generation);
  if (last & 1) return TIDE_BUSY;
  if (generation <= last >> 1) return TIDE_INVALID;
  tide_shared_forget_records(shared, at);
  tide_store_release(&at->status, (uint32_t)TIDE_OK);
  tide_store_release(&at->fail_from, UINT64_MAX);
  tide_store_release(&at->broken, UINT64_MAX);
  tide_store_release(&at->initial, initial);
  tide_store_release(&at->value, initial);
  tide_store_release(&at->generation, (uint64_t)generation << 1 | 1);
  wake_waiters(shared, at);
  return TIDE_OK;
}

enum tide_status tide_shared_close(struct tide_shared *shared, uint32_t slot) {
  enum tide_status status;
  struct tide_shared_slot *at = open_to_write(shared, slot, &status);
  if (!at) return status;
  tide_store_release(&at->generation, tide_load_relaxed(&at->generation) & ~1ull);
  wake_waiters(shared, at);
  return TIDE_OK;
}

/* Returns the failure of a value; TIDE_OK: none. */
static enum tide_status failure_of(const struct tide_shared_slot *slot, uint64_t value) {
  if (value < tide_load_acquire(&slot->fail_from)) return TIDE_OK;
  uint32_t status = tide_load_acquire(&slot->status);
  return status == TIDE_OK || tide_shared_fails(status) ? (enum tide_status)status : TIDE_CORRUPT;
}

enum tide_status tide_shared_signal(struct tide_shared *shared, uint32_t slot, uint64_t value,
                                    const struct tide_frontier *frontier, tide_axis axis,
                                    uint64_t epoch) {
  enum tide_status status;
  struct tide_shared_slot *at = open_to_write(shared, slot, &status);
  if (!at) return status;
  if (frontier && !tide_shared_lists(frontier, axis, epoch)) return TIDE_INVALID;
  if ((status = failure_of(at, value)) != TIDE_OK) return status;
  if (value <= tide_load_relaxed(&at->value)) return TIDE_VALUE;
  if (frontier && shared->lease && shared->shape.records)
    tide_shared_write_record(shared, at, value, frontier, axis, epoch);
  tide_store_release(&at->value, value);
  wake_waiters(shared, at);
  return TIDE_OK;
}

enum tide_status tide_shared_publish(struct tide_shared *shared, uint32_t slot, uint64_t value,
                                     uint64_t lowest_broken) {
  enum tide_status status;
  struct tide_shared_slot *at = open_to_write(shared, slot, &status);
  if (!at) return status;
  if (value > tide_load_relaxed(&at->value) && (status = failure_of(at, value)) != TIDE_OK)
    return status;
  /* A broken value is visible before any value above it is reached. */
  if (lowest_broken < tide_load_relaxed(&at->broken))
    tide_store_release(&at->broken, lowest_broken);
  if (value > tide_load_relaxed(&at->value)) tide_store_release(&at->value, value);
  return TIDE_OK;
}

enum tide_status tide_shared_wake(struct tide_shared *shared, uint32_t slot) {
  enum tide_status status;
  struct tide_shared_slot *at = to_write(shared, slot, &status);
  if (at) wake_waiters(shared, at);
  return status;
}

/* Fails the values from `from` on that are not reached. Each word only decreases here, and the
 * status is stored before the range that has it. So if a writer died in the middle, repeating this
 * takes nothing back. */
static void fail_values(struct tide_shared_slot *slot, uint64_t from, enum tide_status status) {
  uint64_t reached = tide_load_relaxed(&slot->value);
  if (reached == UINT64_MAX) return;
  if (from <= reached) from = reached + 1;
  if (!tide_shared_fails(tide_load_relaxed(&slot->status)))
    tide_store_release(&slot->status, (uint32_t)status);
  if (from < tide_load_relaxed(&slot->fail_from)) tide_store_release(&slot->fail_from, from);
  if (from < tide_load_relaxed(&slot->broken)) tide_store_release(&slot->broken, from);
}

enum tide_status tide_shared_fail(struct tide_shared *shared, uint32_t slot, uint64_t from,
                                  enum tide_status status) {
  enum tide_status answer;
  if (!tide_shared_fails((uint32_t)status)) return TIDE_INVALID;
  struct tide_shared_slot *at = open_to_write(shared, slot, &answer);
  if (!at) return answer;
  fail_values(at, from, status);
  wake_waiters(shared, at);
  return TIDE_OK;
}

/* Wakes the waiters of closed slots, too: a writer may have died between close and wake. */
enum tide_status tide_shared_reap(struct tide_shared *shared, enum tide_status status) {
  if (!tide_shared_fails((uint32_t)status)) return TIDE_INVALID;
  if (!shared->writable) return TIDE_DENIED;
  for (uint32_t i = 0; i < shared->shape.count; i++) {
    struct tide_shared_slot *slot = tide_shared_slot_of(shared, i);
    if (!tide_shared_fails(tide_load_relaxed(&slot->buried)))
      tide_store_release(&slot->buried, (uint32_t)status);
    if (is_open(slot)) fail_values(slot, 0, status);
    wake_waiters(shared, slot);
  }
  return TIDE_OK;
}
