/* Pairs of submissions that could have gone in either order, and the orders that were tried. */
#include "tool/vulkan_explore.h"

#include <stdlib.h>

#define PAIRS_MOST ((size_t)1 << 20)

struct tide_vulkan_pair {
  uint64_t earlier, later; /* by submission; 0: the slot is empty */
  unsigned ways;           /* bit 1: tried in that order; bit 2: in the other */
};

static size_t slot_of(const struct tide_vulkan_pairs *pairs, uint64_t earlier, uint64_t later) {
  uint64_t hash = (earlier * 0x9e3779b97f4a7c15u) ^ (later * 0xc2b2ae3d27d4eb4fu);
  size_t slot = (size_t)(hash >> 32) & (pairs->capacity - 1);
  while (pairs->slots[slot].later &&
         (pairs->slots[slot].earlier != earlier || pairs->slots[slot].later != later))
    slot = (slot + 1) & (pairs->capacity - 1);
  return slot;
}

/* Keeps half of the slots empty. False: PAIRS_MOST is reached, or no memory. */
static bool grow_slots(struct tide_vulkan_pairs *pairs) {
  if (pairs->count * 2 < pairs->capacity) return true;
  if (pairs->count >= PAIRS_MOST) return false;
  struct tide_vulkan_pairs wider = {.capacity = pairs->capacity ? pairs->capacity * 2 : 256,
                                    .count = pairs->count};
  wider.slots = calloc(wider.capacity, sizeof *wider.slots);
  if (!wider.slots) return false;
  for (size_t i = 0; i < pairs->capacity; i++) {
    const struct tide_vulkan_pair *pair = &pairs->slots[i];
    if (pair->later) wider.slots[slot_of(&wider, pair->earlier, pair->later)] = *pair;
  }
  free(pairs->slots);
  *pairs = wider;
  return true;
}

static void add_pair(struct tide_vulkan_pairs *pairs, uint64_t first, uint64_t second) {
  uint64_t earlier = first < second ? first : second, later = first < second ? second : first;
  if (!grow_slots(pairs)) {
    pairs->is_cut = true;
    return;
  }
  struct tide_vulkan_pair *pair = &pairs->slots[slot_of(pairs, earlier, later)];
  if (!pair->later) pairs->count++;
  pair->earlier = earlier;
  pair->later = later;
  pair->ways |= first == earlier ? 1 : 2;
}

void tide_vulkan_pairs_add(struct tide_vulkan_pairs *pairs, const struct tide_vulkan_order *order) {
  for (size_t i = 0; i < order->pick_count; i++) {
    const struct tide_vulkan_pick *pick = &order->picks[i];
    for (size_t k = 0; k < pick->candidate_count; k++) {
      uint64_t other = order->candidates[pick->candidates_at + k];
      if (other != pick->first) add_pair(pairs, pick->first, other);
    }
  }
}

size_t tide_vulkan_pairs_untried(const struct tide_vulkan_pairs *pairs) {
  size_t untried = 0;
  for (size_t i = 0; i < pairs->capacity; i++)
    untried += pairs->slots[i].later && pairs->slots[i].ways != 3;
  return untried;
}

void tide_vulkan_pairs_fini(struct tide_vulkan_pairs *pairs) {
  free(pairs->slots);
  *pairs = (struct tide_vulkan_pairs){.slots = NULL};
}
