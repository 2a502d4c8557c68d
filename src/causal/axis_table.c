/* The tracker's table: axis -> state. Written under the lock, read without. */
#include "causal/tracker_axis.h"

void tide_axis_table_init(struct tide_axis_table *table, size_t size) {
  table->older = NULL;
  table->size = size;
  table->shift = 64;
  for (size_t rest = size; rest > 1; rest /= 2) table->shift--;
  for (size_t i = 0; i < size; i++) table->slots[i] = NULL;
}

struct tide_tracker_axis *tide_axis_table_find_from(struct tide_axis_table *table, size_t slot,
                                                    tide_axis axis) {
  size_t mask = table->size - 1;
  for (size_t looked = 0; looked <= mask; looked++, slot = (slot + 1) & mask) {
    struct tide_tracker_axis *at = tide_load_acquire(&table->slots[slot]);
    if (!at) return NULL;
    if (tide_load_acquire(&at->axis) == axis) return at;
  }
  return NULL;
}

void tide_axis_table_insert(struct tide_axis_table *table, struct tide_tracker_axis *at) {
  size_t mask = table->size - 1, slot = tide_axis_table_home(table, at->axis);
  while (tide_load_relaxed(&table->slots[slot])) slot = (slot + 1) & mask;
  tide_store_release(&table->slots[slot], at);
}

/* Removes an entry. Fills the empty slot with a later entry that may lie there by its home slot,
 * and so on, so that no tombstones pile up. An entry is stored in its new slot before its old slot
 * changes. */
void tide_axis_table_remove(struct tide_axis_table *table, struct tide_tracker_axis *at) {
  size_t mask = table->size - 1, hole = tide_axis_table_home(table, at->axis);
  while (tide_load_relaxed(&table->slots[hole]) != at) hole = (hole + 1) & mask;
  for (size_t slot = (hole + 1) & mask;; slot = (slot + 1) & mask) {
    struct tide_tracker_axis *other = tide_load_relaxed(&table->slots[slot]);
    if (!other) break;
    size_t home = tide_axis_table_home(table, other->axis);
    if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
    tide_store_release(&table->slots[hole], other);
    hole = slot;
  }
  tide_store_release(&table->slots[hole], (struct tide_tracker_axis *)NULL);
}
