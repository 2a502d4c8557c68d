/* Commands through shared memory. */
#include "service/command_ring.h"
#include "base/alloc.h"

static unsigned char *cell_at(const struct tide_ring *ring, uint64_t count) {
  return ring->shared->cells + (count & (ring->size - 1)) * TIDE_WIRE_CELL;
}

/* Returns the number of cells before the ring's end: the rest of a record continues at its
 * beginning. */
static uint32_t cells_to_end(const struct tide_ring *ring, uint64_t count, uint32_t cells) {
  uint64_t left = ring->size - (count & (ring->size - 1));
  return left < cells ? (uint32_t)left : cells;
}

bool tide_ring_has_capacity(const struct tide_ring *ring, uint32_t cells) {
  uint64_t read = tide_load_acquire(&ring->shared->read);
  return ring->count - read + cells <= ring->size;
}

/* Both sides exchange `parked`. Either the reader sees 1 here, and wakes; or this exchange follows
 * the reader's, and all its reads are visible here. */
bool tide_ring_must_park(struct tide_ring *ring, uint32_t cells, uint32_t *out_unparks) {
  *out_unparks = tide_load_acquire(&ring->shared->unparks);
  (void)tide_exchange(&ring->shared->parked, 1u);
  return !tide_ring_has_capacity(ring, cells);
}

/* A thread cannot sleep on `parked`: another may set it again between an unpark and the sleep. */
void tide_ring_park(const struct tide_ring *ring, uint32_t unparks,
                    const struct tide_platform *platform, uint64_t deadline) {
  struct tide_word word = {&ring->shared->unparks, unparks};
  platform->wait_shared(platform->self, &word, 1, deadline);
}

void tide_ring_unpark(struct tide_ring *ring, const struct tide_platform *platform) {
  if (!tide_exchange(&ring->shared->parked, 0u)) return;
  (void)tide_fetch_add(&ring->shared->unparks, 1u);
  platform->wake_shared(platform->self, &ring->shared->unparks, UINT32_MAX);
}

enum tide_status tide_ring_write(struct tide_ring *ring, struct tide_wire_record *record,
                                 bool *out_asleep) {
  uint32_t cells = tide_wire_cells(&record->command);
  if (cells == 0 || cells > ring->size) return TIDE_INVALID;
  if (!tide_ring_has_capacity(ring, cells)) return TIDE_FULL;
  record->command.cells = (uint16_t)cells;
  uint32_t first = cells_to_end(ring, ring->count, cells);
  memcpy(cell_at(ring, ring->count), record->bytes, (size_t)first * TIDE_WIRE_CELL);
  memcpy(ring->shared->cells, record->bytes + (size_t)first * TIDE_WIRE_CELL,
         (size_t)(cells - first) * TIDE_WIRE_CELL);
  ring->count += cells;
  tide_store_ordered(&ring->shared->written, ring->count);
  *out_asleep = tide_load_ordered(&ring->shared->asleep) != 0;
  if (*out_asleep) *out_asleep = tide_exchange(&ring->shared->asleep, 0u) != 0;
  return TIDE_OK;
}

enum tide_status tide_ring_read(struct tide_ring *ring, struct tide_wire_record *out_record,
                                uint32_t *out_cells) {
  uint64_t waiting = tide_load_acquire(&ring->shared->written) - ring->count;
  if (waiting == 0) return TIDE_TIMEOUT;
  if (waiting > ring->size) return TIDE_CORRUPT;
  const struct tide_wire_command *there = (const void *)cell_at(ring, ring->count);
  uint32_t cells = tide_load_relaxed(&there->cells);
  if (cells == 0 || cells > TIDE_WIRE_CELLS || cells > waiting) return TIDE_CORRUPT;
  uint32_t first = cells_to_end(ring, ring->count, cells);
  memcpy(out_record->bytes, cell_at(ring, ring->count), (size_t)first * TIDE_WIRE_CELL);
  memcpy(out_record->bytes + (size_t)first * TIDE_WIRE_CELL, ring->shared->cells,
         (size_t)(cells - first) * TIDE_WIRE_CELL);
  ring->count += cells;
  tide_store_release(&ring->shared->read, ring->count);
  *out_cells = cells;
  return TIDE_OK;
}

void tide_ring_offer_room(struct tide_ring *ring, const struct tide_platform *platform) {
  if (tide_ring_written(ring) - ring->count <= ring->size / 2) tide_ring_unpark(ring, platform);
}

uint64_t tide_ring_written(const struct tide_ring *ring) {
  return tide_load_acquire(&ring->shared->written);
}

bool tide_ring_sleep(struct tide_ring *ring) {
  tide_store_ordered(&ring->shared->asleep, 1u);
  if (tide_load_ordered(&ring->shared->written) == ring->count) return true;
  tide_store_relaxed(&ring->shared->asleep, 0u);
  return false;
}

struct tide_ring_sleeper *tide_ring_begin_sleep(struct tide_ring *ring, struct tide_wire_name name,
                                                uint64_t value) {
  for (uint32_t i = 0; i < TIDE_RING_SLEEPERS; i++) {
    struct tide_ring_sleeper *sleeper = &ring->shared->sleepers[i];
    if (tide_load_relaxed(&sleeper->handle)) continue;
    tide_store_relaxed(&sleeper->generation, name.generation);
    tide_store_relaxed(&sleeper->value, value);
    tide_store_release(&sleeper->handle, name.handle);
    return sleeper;
  }
  return NULL;
}

void tide_ring_end_sleep(struct tide_ring_sleeper *sleeper) {
  if (sleeper) tide_store_release(&sleeper->handle, 0u);
}

bool tide_ring_sleeper_at(const struct tide_ring *ring, uint32_t index,
                          struct tide_wire_point *out_point) {
  const struct tide_ring_sleeper *sleeper = &ring->shared->sleepers[index];
  uint32_t handle = tide_load_acquire(&sleeper->handle);
  if (!handle) return false;
  out_point->name.handle = handle;
  out_point->name.generation = tide_load_relaxed(&sleeper->generation);
  out_point->value = tide_load_relaxed(&sleeper->value);
  return true;
}
