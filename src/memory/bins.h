/* memory/bins.h: free blocks by size. Two levels: powers of two, and eighths of
 * each; a bitmap a level finds the next bin that may have something in a few
 * instructions. A bin holds sizes from its own up to the next one's, so a block
 * of exactly the wanted size lies in the first bin that a search looks at.
 *
 * A bit is cleared by the search that finds its bin empty, not by whoever takes the
 * last block out: most often the next thing that happens there is that it comes back. */
#ifndef TIDE_MEMORY_BINS_H
#define TIDE_MEMORY_BINS_H

#include "base/list.h"
#include "tidemark/base.h"

#define TIDE_BIN_COLUMNS 8u
#define TIDE_BIN_ROWS (8u * (unsigned)sizeof(size_t))
#define TIDE_BINS (TIDE_BIN_COLUMNS * TIDE_BIN_ROWS)

struct tide_bins {
  uint64_t rows; /* bit r: row r may have something; what has, has its bits set */
  uint8_t columns[TIDE_BIN_ROWS];
  struct tide_link lists[TIDE_BINS];
};

void tide_bins_init(struct tide_bins *bins);
/* The bin that holds blocks of this size, which is at least 8. */
static inline unsigned tide_bin_of(size_t size) {
  unsigned row = 63u ^ (unsigned)__builtin_clzll(size); /* minus, but in one instruction */
  unsigned column = (unsigned)(size >> (row - 3)) & (TIDE_BIN_COLUMNS - 1);
  return row * TIDE_BIN_COLUMNS + column;
}
/* Nothing is in the bins behind this one. False: something may be. */
static inline bool tide_bins_last(const struct tide_bins *bins, unsigned bin) {
  unsigned row = bin / TIDE_BIN_COLUMNS, column = bin % TIDE_BIN_COLUMNS;
  return !(bins->columns[row] >> column >> 1) && !(bins->rows >> row >> 1);
}
/* The first bin >= `from` that has something; TIDE_BINS when there is none. */
unsigned tide_bins_next(struct tide_bins *bins, unsigned from);

/* The newest comes first. */
static inline void tide_bins_insert(struct tide_bins *bins, unsigned bin, struct tide_link *link) {
  unsigned row = bin / TIDE_BIN_COLUMNS, column = bin % TIDE_BIN_COLUMNS;
  tide_list_insert_before(bins->lists[bin].next, link);
  if (bins->columns[row] >> column & 1) return;
  bins->columns[row] |= (uint8_t)(1u << column);
  bins->rows |= 1ull << row;
}

#endif
