/* Many runs in turns, and what they come to: the fixed grid of a report and of ./bench wic.
 *
 * A cell is one pattern with one choice of settings; in each round each way runs it once, and who
 * is first changes. What a way came to is its run of median time. Whoever polls in a loop is ended
 * after three times what the cell would take at best (and a quarter of a second): then its time
 * counts as that, and whoever is compared with it is understated. */
#ifndef PATTERNS_GRID_H
#define PATTERNS_GRID_H

#include "run.h"

#define GRID_WAYS 12
#define GRID_ROUNDS 15

struct measured {
  const struct way *way;
  uint32_t rounds;
  uint64_t low, high; /* ns, of all rounds */
  struct outcome outcome;
};

struct cell {
  const struct pattern *pattern;
  struct settings settings;
  struct pace pace;
  size_t way_count;
  struct measured ways[GRID_WAYS];
};

struct effort {
  uint32_t rounds;    /* at most; one at least */
  uint32_t budget_ms; /* of a cell: no further round when that would be exceeded */
  bool patient;       /* nobody is ended, however long it takes */
};

/* The axes of the grid; `most` entries at most are used of each. */
#define GRID_CONSUMERS 4
#define GRID_PRODUCTIONS 4
#define GRID_SIZES 2
extern const uint32_t grid_consumers[GRID_CONSUMERS], grid_productions[GRID_PRODUCTIONS];
extern const uint32_t grid_sizes[GRID_SIZES];

/* One of the grid: C1 and C2 take 100 us, more cycles with fewer consumers. */
struct settings grid_settings(uint32_t consumers, uint32_t production, uint32_t bytes, bool pinned);
/* What it takes when nobody waits in vain, ns. */
uint64_t grid_ideal(const struct pattern *pattern, const struct settings *s);

/* Fills cell->ways from `ways`. False: a run was wrong, and its outcome says how. */
bool grid_measure(struct cell *cell, const struct way *const *list, size_t count,
                  const struct effort *effort);

/* NULL: it has not run, or was not good. One that was cut is good enough when `cut` is true. */
const struct outcome *grid_outcome(const struct cell *cell, const struct way *way, bool cut);
/* The base's time over the way's; NAN: one of them has none. A base that was cut makes it less. */
double grid_ratio(const struct cell *cell, const struct way *way, const struct way *base);

/* ---- means: NAN is left out, and of nothing the mean is NAN ---- */

struct mean {
  double sum;
  uint32_t count;
};
void mean_add(struct mean *m, double value);
double mean_of(const struct mean *m);
double mean_geometric(const struct mean *logarithms); /* of what was added as logarithms */

#endif
