/* Frontiers' maps of axes, without vectors. */
#include "causal/frontier_map.h"
#include "base/memory.h"

/* The words of what f lists, each axis `skip` further up. A word is stored when the next one
 * begins. Axes that another process wrote may be in no order. */
static void make_map(uint64_t *map, const struct tide_frontier *f, uint64_t skip) {
  const tide_axis *axes = tide_frontier_axes(f);
  uint64_t word = 0;
  size_t w = 0;
  for (size_t i = 0; i < f->count; i++) {
    uint64_t at = axes[i] - axes[0] + skip;
    if (at >= TIDE_MAP_BITS) break;
    for (; w < at / 64; word = 0) map[w++] = word;
    word |= 1ull << (at % 64);
  }
  for (; w < TIDE_MAP_WORDS; word = 0) map[w++] = word;
}

void tide_frontier_remap(struct tide_frontier *f) {
  if (tide_frontier_mapped(f)) make_map(tide_frontier_map_of(f), f, 0);
}

bool tide_frontier_map_right(const struct tide_frontier *f) {
  uint64_t map[TIDE_MAP_WORDS];
  if (!tide_frontier_mapped(f)) return true;
  make_map(map, f, 0);
  return memcmp(map, tide_frontier_map(f), sizeof map) == 0;
}

void tide_frontier_map_grown(struct tide_frontier *to, tide_axis first, const uint64_t *map,
                             const struct tide_frontier *from) {
  uint64_t ones[TIDE_MAP_WORDS], others[TIDE_MAP_WORDS];
  if (!tide_frontier_mapped(to)) return;
  tide_axis start = tide_frontier_axes(to)[0], from_first = tide_frontier_axes(from)[0];
  tide_map_move(ones, map, (size_t)(first - start));
  if (from->count < TIDE_FRONTIER_MAP_LEAST) make_map(others, from, from_first - start);
  else tide_map_move(others, tide_frontier_map(from), (size_t)(from_first - start));
  uint64_t *to_map = tide_frontier_map_of(to);
  for (size_t w = 0; w < TIDE_MAP_WORDS; w++) to_map[w] = ones[w] | others[w];
}

/* Bit by bit of f's, with no step that depends on a guess. */
bool tide_map_covers(const struct tide_frontier *f, const struct tide_frontier *g) {
  uint64_t needs[TIDE_MAP_WORDS], missing = 0, lower = 0;
  const uint64_t *map = tide_frontier_map(f);
  const uint64_t *have = tide_frontier_epochs(f), *need = tide_frontier_epochs(g);
  tide_map_move(needs, tide_frontier_map(g), tide_frontier_axes(g)[0] - tide_frontier_axes(f)[0]);
  for (size_t w = 0; w < TIDE_MAP_WORDS; w++) missing |= needs[w] & ~map[w];
  if (missing) return false;
  for (size_t w = 0; w < TIDE_MAP_WORDS; w++) {
    uint64_t in_f = map[w], in_g = needs[w];
    for (; in_f; in_f &= in_f - 1, have++) {
      uint64_t bit = in_f & (0 - in_f), needed = (in_g & bit) != 0;
      lower |= needed & (*have < *need);
      need += needed;
    }
  }
  return !lower;
}
