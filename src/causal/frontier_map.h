/* causal/frontier_map.h: which axes a frontier lists, as bits.
 *
 * A frontier of TIDE_FRONTIER_MAP_LEAST entries or more, none of whose axes lies TIDE_MAP_BITS or
 * more behind the first one, has a map behind its epochs: bit k of word w is the axis that lies
 * 64 * w + k behind the first. So the place of an axis is how many bits lie below its own. Whoever
 * changes which axes are listed sees to the map; tide_frontier_validate looks whether it is right.
 * Fewer are made bits of when they are needed: eight fit into one vector. */
#ifndef TIDE_CAUSAL_FRONTIER_MAP_H
#define TIDE_CAUSAL_FRONTIER_MAP_H

#include "base/check.h"
#include "tidemark/causal.h"

#define TIDE_MAP_WORDS TIDE_FRONTIER_MAP_WORDS

#define TIDE_MAP_BITS (64 * (size_t)TIDE_MAP_WORDS)

/* Where its map is, if it has one. */
static inline const uint64_t *tide_frontier_map(const struct tide_frontier *f) {
  return tide_frontier_epochs(f) + f->capacity;
}
static inline uint64_t *tide_frontier_map_of(struct tide_frontier *f) {
  return (uint64_t *)(void *)(f + 1) + (size_t)2 * f->capacity;
}

/* Mostly the same as asking whether it is to have one, and easier to guess. */
static inline bool tide_frontier_map_fits(const struct tide_frontier *f) {
  return f->capacity >= TIDE_FRONTIER_MAP_LEAST;
}

/* How far the last axis lies behind the first. It lists something. */
static inline uint64_t tide_frontier_span(const struct tide_frontier *f) {
  const tide_axis *axes = tide_frontier_axes(f);
  return axes[f->count - 1] - axes[0];
}

static inline bool tide_frontier_mapped(const struct tide_frontier *f) {
  return f->count >= TIDE_FRONTIER_MAP_LEAST && tide_frontier_span(f) < TIDE_MAP_BITS;
}

/* From the axes, whatever was there before; where there is to be none, nothing is done. */
void tide_frontier_remap(struct tide_frontier *f);
bool tide_frontier_map_right(const struct tide_frontier *f);
/* Whoever reads a frontier looks, too, where tests look inside: a writer may have forgotten it. */
#if defined(TIDE_PLANTS) || defined(TIDE_CHECK_MAPS)
#define TIDE_CHECK_MAP(f) TIDE_ASSERT(tide_frontier_map_right(f))
#else
#define TIDE_CHECK_MAP(f) ((void)0)
#endif

/* `to` has just been given the axes of `from`. */
static inline void tide_frontier_copy_map(struct tide_frontier *to,
                                          const struct tide_frontier *from) {
  if (from->count < TIDE_FRONTIER_MAP_LEAST) return;
  const uint64_t *map = tide_frontier_map(from);
  uint64_t *to_map = tide_frontier_map_of(to);
  for (size_t w = 0; w < TIDE_MAP_WORDS; w++) {
    to_map[w] = map[w];
    __asm__(""); /* it may have been stored just now, word by word */
  }
}

/* A map whose bits all move up by so many, of fewer than TIDE_MAP_BITS. */
static inline void tide_map_move(uint64_t *to, const uint64_t *map, size_t by) {
  uint64_t words[2 * TIDE_MAP_WORDS];
  size_t bits = by % 64;
  for (size_t w = 0; w < TIDE_MAP_WORDS; w++) words[w] = 0;
  for (size_t w = 0; w < TIDE_MAP_WORDS; w++) words[w + by / 64] = map[w];
  to[0] = words[0] << bits;
  for (size_t w = 1; w < TIDE_MAP_WORDS; w++)
    to[w] = words[w] << bits | words[w - 1] >> 1 >> (63 - bits);
}

/* So few entries that most of what goes through so many bits finds nothing. */
static inline bool tide_map_sparse(size_t span, size_t entries) { return span > 4 * entries; }

/* `to` has been given what `from` lists and TIDE_FRONTIER_MAP_LEAST axes or more from `first` on,
 * which this was the map of, if there was one. Nothing was evicted. */
void tide_frontier_map_grown(struct tide_frontier *to, tide_axis first, const uint64_t *map,
                             const struct tide_frontier *from);

/* f and g have maps, and none of g's axes lies in front of f's first or behind its last: does f
 * cover g? */
bool tide_map_covers(const struct tide_frontier *f, const struct tide_frontier *g);

#endif
