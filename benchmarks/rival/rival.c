#include "rival.h"

#include <string.h>

uint64_t rival_load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

bool rival_swap(struct rival *rival, uint64_t value) {
  uint64_t expected = value - 1;
  return __atomic_compare_exchange_n(&rival->cell, &expected, value, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

bool rival_swap_and_copy(struct rival *rival, uint64_t value, tide_axis axis,
                         const struct tide_frontier *frontier) {
  size_t at = value % RIVAL_SLOTS, bytes = frontier->count * sizeof(uint64_t);
  struct tide_frontier *to = &rival->slots[at].frontier.frontier;
  uint64_t expected = value - 1;
  rival->slots[at].value = value;
  rival->slots[at].axis = axis;
  rival->slots[at].epoch = value;
  *to = *frontier;
  memcpy((void *)tide_frontier_axes(to), tide_frontier_axes(frontier), bytes);
  memcpy((void *)tide_frontier_epochs(to), tide_frontier_epochs(frontier), bytes);
  return __atomic_compare_exchange_n(&rival->cell, &expected, value, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}
