/* memory/bins.h: free blocks by size. Two levels: powers of two, and eighths of each. A bitmap for
 * each level finds the next bin that may have blocks in a few instructions. A bin holds sizes from
 * its own up to the next one's, so a block of exactly the wanted size is in the first bin that a
 * search examines.
 *
 * The removal of the last block leaves the bin's bit set, since most often that block comes back
 * next. A search that finds the bin empty clears the bit. */
#ifndef TIDE_MEMORY_BINS_H
#define TIDE_MEMORY_BINS_H

#include "base/list.h"
#include "tidemark/base.h"

#define TIDE_BIN_COLUMNS 8u
#define TIDE_BIN_ROWS (8u * (unsigned)sizeof(size_t))
#define TIDE_BINS (TIDE_BIN_COLUMNS * TIDE_BIN_ROWS)

struct tide_bins {
  uint64_t rows; /* bit r: row r may have blocks. All bits of a bin with blocks are set */
  uint8_t columns[TIDE_BIN_ROWS];
  struct tide_link lists[TIDE_BINS];
};

void tide_bins_init(struct tide_bins *bins);
/* Returns the bin that holds blocks of this size, which is at least 8. */
static inline unsigned tide_bin_of(size_t size) {
  unsigned row = 63u ^ (unsigned)__builtin_clzll(size); /* minus, but in one instruction */
  unsigned column = (unsigned)(size >> (row - 3)) & (TIDE_BIN_COLUMNS - 1);
  return row * TIDE_BIN_COLUMNS + column;
}
/* True if all bins behind this one are empty. False: they may have blocks. */
static inline bool tide_bins_last(const struct tide_bins *bins, unsigned bin) {
  unsigned row = bin / TIDE_BIN_COLUMNS, column = bin % TIDE_BIN_COLUMNS;
  return !(bins->columns[row] >> column >> 1) && !(bins->rows >> row >> 1);
}
/* Returns the first bin >= `from` that has blocks; TIDE_BINS if there is none. */
unsigned tide_bins_next(struct tide_bins *bins, unsigned from);

/* Inserts a block. The newest comes first. */
static inline void tide_bins_insert(struct tide_bins *bins, unsigned bin, struct tide_link *link) {
  unsigned row = bin / TIDE_BIN_COLUMNS, column = bin % TIDE_BIN_COLUMNS;
  tide_list_insert_before(bins->lists[bin].next, link);
  if (bins->columns[row] >> column & 1) return;
  bins->columns[row] |= (uint8_t)(1u << column);
  bins->rows |= 1ull << row;
}

#endif
