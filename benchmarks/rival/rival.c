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
  const uint64_t *words = (const uint64_t *)(const void *)(frontier + 1);
  uint64_t *to = rival->slots[at].frontier;
  uint64_t expected = value - 1;
  rival->slots[at].value = value;
  rival->slots[at].axis = axis;
  rival->slots[at].epoch = value;
  memcpy(to, frontier, sizeof *frontier);
  if (frontier->window) {
    memcpy(to + 1, words, (frontier->window + 1u) * sizeof *words);
  } else {
    memcpy(to + 1, words, bytes);
    memcpy(to + 1 + frontier->capacity, words + frontier->capacity, bytes);
  }
  return __atomic_compare_exchange_n(&rival->cell, &expected, value, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}
