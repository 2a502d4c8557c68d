/* Free blocks by size. */
#include "memory/bins.h"

void tide_bins_init(struct tide_bins *bins) {
  bins->rows = 0;
  for (unsigned row = 0; row < TIDE_BIN_ROWS; row++) bins->columns[row] = 0;
  for (unsigned bin = 0; bin < TIDE_BINS; bin++) tide_list_init(&bins->lists[bin]);
}

/* Returns the first bin >= `from` with its bits set; TIDE_BINS if there is none. */
static unsigned next_marked(const struct tide_bins *bins, unsigned from) {
  if (from >= TIDE_BINS) return TIDE_BINS;
  unsigned row = from / TIDE_BIN_COLUMNS;
  unsigned columns = bins->columns[row] & (0xffu << from % TIDE_BIN_COLUMNS);
  if (!columns) {
    uint64_t rows = row == 63 ? 0 : bins->rows & (~0ull << (row + 1));
    if (!rows) return TIDE_BINS;
    row = (unsigned)__builtin_ctzll(rows);
    columns = bins->columns[row];
  }
  return row * TIDE_BIN_COLUMNS + (unsigned)__builtin_ctz(columns);
}

static void unmark_bin(struct tide_bins *bins, unsigned bin) {
  unsigned row = bin / TIDE_BIN_COLUMNS;
  bins->columns[row] &= (uint8_t) ~(1u << bin % TIDE_BIN_COLUMNS);
  if (!bins->columns[row]) bins->rows &= ~(1ull << row);
}

unsigned tide_bins_next(struct tide_bins *bins, unsigned from) {
  unsigned bin;
  while ((bin = next_marked(bins, from)) < TIDE_BINS && tide_list_empty(&bins->lists[bin])) {
    unmark_bin(bins, bin);
  }
  return bin;
}
