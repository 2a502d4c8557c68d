/* Timelines in shared memory: records, written and read.
 *
 * A record is written under its sequence number `seq`: first an odd number, then the words, then
 * the next even number. A reader loads the number, the words and the number again. All loads
 * acquire and all stores release, so a reader that has loaded one new word finds the number
 * changed. No reader waits: a torn record counts as missing. */
#include "base/atomic.h"
#include "causal/frontier.h"
#include "timeline/shared_layout.h"

#define TRIES 4 /* a record that was overwritten so often is too old to be kept */

struct entry {
  uint64_t axis, epoch;
};

/* A copy of a record of the region. */
struct copied {
  uint64_t value, after, axis, epoch, lease;
  TIDE_FRONTIER_STORAGE(known, TIDE_FRONTIER_CAPACITY_MAX);
};

static struct tide_shared_record_head *
record_at(const struct tide_shared *shared, const struct tide_shared_slot *slot, uint64_t number) {
  size_t offset = (size_t)(number % shared->shape.records) * shared->record_size;
  unsigned char *first = shared->memory + ((const unsigned char *)(slot + 1) - shared->memory);
  return (struct tide_shared_record_head *)(void *)(first + offset);
}

/* ---- writing ------------------------------------------------------------------------------- */

void tide_shared_forget_records(const struct tide_shared *shared, struct tide_shared_slot *slot) {
  for (uint32_t i = 0; i < shared->shape.records; i++) {
    struct tide_shared_record_head *record = record_at(shared, slot, i);
    uint64_t seq = tide_load_relaxed(&record->seq);
    if (seq != 0) tide_store_release(&record->seq, seq | 1);
  }
}

static void write_entries(struct entry *to, const struct tide_frontier *from) {
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(from); tide_frontier_next(&at, &entry);
       to++) {
    tide_store_release(&to->axis, entry.axis);
    tide_store_release(&to->epoch, entry.epoch);
  }
}

void tide_shared_write_record(const struct tide_shared *shared, struct tide_shared_slot *slot,
                              uint64_t value, const struct tide_frontier *frontier, tide_axis axis,
                              uint64_t epoch) {
  TIDE_FRONTIER_STORAGE(fitting, TIDE_FRONTIER_CAPACITY_MAX);
  if (frontier->count > shared->shape.capacity) {
    struct tide_eviction eviction = {NULL, axis};
    tide_frontier_init(&fitting.frontier, shared->shape.capacity);
    tide_frontier_copy(&fitting.frontier, frontier, &eviction);
    frontier = &fitting.frontier;
  }
  uint64_t next = tide_load_relaxed(&slot->next);
  struct tide_shared_record_head *record = record_at(shared, slot, next);
  uint64_t seq = tide_load_relaxed(&record->seq) | 1;
  tide_store_relaxed(&record->seq, seq);
  tide_store_release(&record->value, value);
  tide_store_release(&record->after, tide_load_relaxed(&slot->value));
  tide_store_release(&record->axis, axis);
  tide_store_release(&record->epoch, epoch);
  tide_store_release(&record->lease, shared->lease);
  tide_store_release(&record->shape, (uint64_t)frontier->count | (uint64_t)frontier->tainted << 8);
  write_entries((struct entry *)(void *)(record + 1), frontier);
  tide_store_release(&record->seq, seq + 1);
  tide_store_release(&slot->next, next + 1);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Returns the smallest record from `value` to `reached`; NULL: none. */
static const struct tide_shared_record_head *find_record(const struct tide_shared *shared,
                                                         const struct tide_shared_slot *slot,
                                                         uint64_t value, uint64_t reached,
                                                         uint64_t *out_seq) {
  const struct tide_shared_record_head *best = NULL;
  uint64_t least = UINT64_MAX;
  for (uint32_t i = 0; i < shared->shape.records; i++) {
    const struct tide_shared_record_head *record = record_at(shared, slot, i);
    uint64_t seq = tide_load_acquire(&record->seq);
    if (seq & 1 || seq == 0) continue;
    uint64_t has = tide_load_acquire(&record->value);
    if (has < value || has > reached || (best && has >= least)) continue;
    best = record;
    least = has;
    *out_seq = seq;
  }
  return best;
}

/* Copies a record. Trusts no word: reads no more entries than the region has capacity for; the
 * caller validates the copy. TIDE_CORRUPT: the shape is wrong; TIDE_BUSY: the record was
 * overwritten meanwhile. */
static enum tide_status copy_record(const struct tide_shared *shared,
                                    const struct tide_shared_record_head *record, uint64_t seq,
                                    struct copied *out) {
  out->value = tide_load_acquire(&record->value);
  out->after = tide_load_acquire(&record->after);
  out->axis = tide_load_acquire(&record->axis);
  out->epoch = tide_load_acquire(&record->epoch);
  out->lease = tide_load_acquire(&record->lease);
  uint64_t shape = tide_load_acquire(&record->shape);
  uint64_t count = shape & 0xff;
  bool fits = shape >> 9 == 0 && count <= shared->shape.capacity;
  if (!fits) count = 0;
  struct tide_frontier *known = &out->known.frontier;
  tide_frontier_init(known, TIDE_FRONTIER_CAPACITY_MAX);
  const struct entry *from = (const struct entry *)(const void *)(record + 1);
  for (size_t i = 0; i < count; i++) {
    tide_axis axis = tide_load_acquire(&from[i].axis);
    tide_frontier_append(known, axis, tide_load_acquire(&from[i].epoch));
  }
  known->tainted = (uint8_t)(shape >> 8 & 1);
  if (tide_load_acquire(&record->seq) != seq) return TIDE_BUSY;
  return fits ? TIDE_OK : TIDE_CORRUPT;
}

bool tide_shared_lists(const struct tide_frontier *frontier, tide_axis axis, uint64_t epoch) {
  if (epoch == 0 || tide_frontier_validate(frontier, NULL) != TIDE_OK) return false;
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(frontier);
       tide_frontier_next(&at, &entry);)
    if (!tide_domain_name(tide_axis_domain(entry.axis))) return false;
  return tide_frontier_get(frontier, axis) >= epoch;
}

static bool is_believable(const struct copied *record, uint64_t value, uint64_t reached) {
  return record->value >= value && record->value <= reached && record->after < record->value &&
         tide_shared_lists(&record->known.frontier, record->axis, record->epoch);
}

/* Looks for the record once. TIDE_OK; TIDE_NOT_FOUND: no record is kept; TIDE_BUSY: the record was
 * overwritten meanwhile; or the status of tide_shared_judge. */
static enum tide_status try_once(const struct tide_shared *shared,
                                 const struct tide_shared_slot *slot, uint32_t generation,
                                 uint64_t value, struct copied *out) {
  uint64_t reached, again, seq;
  enum tide_status status = tide_shared_judge(slot, generation, value, &reached);
  if (status != TIDE_OK) return status;
  const struct tide_shared_record_head *record = find_record(shared, slot, value, reached, &seq);
  enum tide_status found = record ? copy_record(shared, record, seq, out) : TIDE_NOT_FOUND;
  /* The words may be another generation's. Or no record was found because signals since the first
   * look pushed it out; their records lie above `reached`. */
  status = tide_shared_judge(slot, generation, value, &again);
  if (status != TIDE_OK) return status;
  if (found == TIDE_NOT_FOUND && again != reached) return TIDE_BUSY;
  if (found == TIDE_OK && !is_believable(out, value, reached)) return TIDE_CORRUPT;
  return found;
}

static enum tide_status look_up(const struct tide_shared *shared, uint32_t slot,
                                uint32_t generation, uint64_t value, struct copied *out) {
  const struct tide_shared_slot *at = tide_shared_slot_of(shared, slot);
  uint64_t reached;
  if (!at) return TIDE_INVALID;
  uint64_t initial = tide_load_acquire(&at->initial);
  enum tide_status status = tide_shared_judge(at, generation, value, &reached);
  if (status != TIDE_OK) return status;
  if (value <= initial) return TIDE_NOT_FOUND;
  out->value = reached; /* external, if no record is found */
  out->axis = 0;
  if (shared->lease == 0) return TIDE_OK;
  for (int i = 0; i < TRIES; i++) {
    status = try_once(shared, at, generation, value, out);
    if (status == TIDE_OK && out->lease == shared->lease) return TIDE_OK;
    if (status != TIDE_BUSY) break;
  }
  if (status != TIDE_OK && status != TIDE_BUSY && status != TIDE_NOT_FOUND) return status;
  out->value = reached;
  out->axis = 0;
  return TIDE_OK;
}

enum tide_status tide_shared_record(const struct tide_shared *shared, uint32_t slot,
                                    uint32_t generation, uint64_t value,
                                    struct tide_frontier *out_frontier,
                                    struct tide_record_info *out_info) {
  struct copied record;
  enum tide_status status = look_up(shared, slot, generation, value, &record);
  bool tracked = status == TIDE_OK && record.axis != 0;
  if (out_frontier) {
    struct tide_eviction eviction = {NULL, record.axis};
    if (tracked) tide_frontier_copy(out_frontier, &record.known.frontier, &eviction);
    else tide_frontier_clear(out_frontier), out_frontier->tainted = 1;
  }
  if (status == TIDE_OK && out_info)
    *out_info = (struct tide_record_info){.value = record.value,
                                          .axis = record.axis,
                                          .epoch = tracked ? record.epoch : 0,
                                          .external = !tracked,
                                          .coarse = tracked && value <= record.after};
  return status;
}
