/* The wire form of a frontier: little-endian, one encoding of each (tidemark/causal.h). */
#include "base/text.h"
#include "tidemark/causal.h"

#define VERSION 1
#define FLAG_TAINT 1u

static void store_bytes(uint8_t *at, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t load_bytes(const uint8_t *at, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)at[i] << (8 * i);
  return value;
}

enum tide_status tide_frontier_encode(const struct tide_frontier *frontier, void *buffer,
                                      size_t size, size_t *out_size) {
  *out_size = tide_frontier_wire_size(frontier->count);
  if (size < *out_size) return TIDE_FULL;
  struct tide_frontier_entry entry;
  uint8_t *at = buffer;
  at[0] = VERSION;
  at[1] = frontier->tainted ? FLAG_TAINT : 0;
  store_bytes(at + 2, frontier->count, 2);
  at += 4;
  for (struct tide_frontier_cursor cursor = tide_frontier_begin(frontier);
       tide_frontier_next(&cursor, &entry); at += 16) {
    if (!tide_domain_name(tide_axis_domain(entry.axis))) return TIDE_INVALID;
    store_bytes(at, entry.axis, 8);
    store_bytes(at + 8, entry.epoch, 8);
  }
  return TIDE_OK;
}

static enum tide_status check_head(const uint8_t *at, size_t size, struct tide_diag *diag) {
  if (size < 4) return tide_diag_set(diag, TIDE_CORRUPT, "frontier: %zu bytes, a head has 4", size);
  if (at[0] != VERSION)
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: version %u, expected %u", at[0], VERSION);
  if (at[1] & ~FLAG_TAINT)
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: unknown flags 0x%02x", at[1]);
  size_t count = (size_t)load_bytes(at + 2, 2), expected = tide_frontier_wire_size(count);
  if (size != expected)
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: %zu entries take %zu bytes, found %zu",
                         count, expected, size);
  return TIDE_OK;
}

static enum tide_status check_entry(unsigned entry, tide_axis last, tide_axis axis, uint64_t epoch,
                                    struct tide_diag *diag) {
  if (!tide_domain_name(tide_axis_domain(axis)))
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: entry %u has the unknown domain %u", entry,
                         tide_axis_domain(axis));
  if (axis <= last)
    return tide_diag_set(diag, TIDE_CORRUPT, "frontier: entry %u %s", entry,
                         axis == last ? "repeats the axis before it" : "is not in axis order");
  if (epoch == 0) return tide_diag_set(diag, TIDE_CORRUPT, "frontier: entry %u has epoch 0", entry);
  return TIDE_OK;
}

enum tide_status tide_frontier_decode(const void *bytes, size_t size,
                                      struct tide_frontier *frontier, struct tide_diag *diag) {
  const uint8_t *at = bytes;
  tide_frontier_clear(frontier);
  enum tide_status status = check_head(at, size, diag);
  if (status != TIDE_OK) return status;
  unsigned count = (unsigned)load_bytes(at + 2, 2);
  if (count > frontier->capacity)
    return tide_diag_set(diag, TIDE_FULL, "frontier: %u entries, there is room for %u", count,
                         frontier->capacity);
  bool tainted = at[1] & FLAG_TAINT;
  tide_axis last = 0;
  at += 4;
  for (unsigned i = 0; i < count; i++, at += 16) {
    tide_axis axis = load_bytes(at, 8);
    uint64_t epoch = load_bytes(at + 8, 8);
    status = check_entry(i, last, axis, epoch, diag);
    if (status != TIDE_OK) {
      tide_frontier_clear(frontier);
      return status;
    }
    tide_frontier_raise(frontier, axis, epoch, NULL);
    last = axis;
  }
  frontier->tainted = tainted;
  return TIDE_OK;
}
