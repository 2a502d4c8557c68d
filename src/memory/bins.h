/* memory/bins.h: free blocks by size. Two levels: powers of two, and eighths of
 * each; a bitmap a level finds the next bin that has something in a few
 * instructions. A bin holds sizes from its own up to the next one's, so a block
 * of exactly the wanted size lies in the first bin that a search looks at. */
#ifndef TIDE_MEMORY_BINS_H
#define TIDE_MEMORY_BINS_H

#include "base/list.h"
#include "tidemark/base.h"

#define TIDE_BIN_COLUMNS 8u
#define TIDE_BIN_ROWS (8u * (unsigned)sizeof(size_t))
#define TIDE_BINS (TIDE_BIN_COLUMNS * TIDE_BIN_ROWS)

struct tide_bins {
  uint64_t rows; /* bit r: row r has something */
  uint8_t columns[TIDE_BIN_ROWS];
  struct tide_link lists[TIDE_BINS];
};

void tide_bins_init(struct tide_bins *bins);
/* The bin that holds blocks of this size, which is not 0. */
static inline unsigned tide_bin_of(size_t size) {
  unsigned row = 63u - (unsigned)__builtin_clzll(size);
  unsigned column = row < 3 ? 0 : (unsigned)(size >> (row - 3)) & (TIDE_BIN_COLUMNS - 1);
  return row * TIDE_BIN_COLUMNS + column;
}
/* The first bin >= `from` that has something; TIDE_BINS when there is none. */
unsigned tide_bins_next(const struct tide_bins *bins, unsigned from);
/* The newest comes first. */
void tide_bins_insert(struct tide_bins *bins, unsigned bin, struct tide_link *link);
void tide_bins_remove(struct tide_bins *bins, unsigned bin, struct tide_link *link);

#endif
