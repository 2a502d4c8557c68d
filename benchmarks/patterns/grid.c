#include "grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const uint32_t grid_consumers[GRID_CONSUMERS] = {4, 16, 64, 256};
const uint32_t grid_productions[GRID_PRODUCTIONS] = {25, 100, 200, 400};
const uint32_t grid_sizes[GRID_SIZES] = {4096, 65536};

struct settings grid_settings(uint32_t consumers, uint32_t production, uint32_t bytes,
                              bool pinned) {
  return (struct settings){.consumers = consumers,
                           .cycles = consumers <= 4    ? 8
                                     : consumers <= 16 ? 4
                                                       : 2,
                           .us = {production, 100, 100},
                           .bytes = bytes,
                           .pinned = pinned,
                           .limit = 120,
                           .seed = 1,
                           .n0 = 2,
                           .n1 = 2,
                           .xi = 0.5,
                           .watched = true};
}

uint64_t grid_ideal(const struct pattern *pattern, const struct settings *s) {
  uint32_t messages = pattern->down, up = pattern->up;
  if (pattern->shape) pattern->shape(s, &messages, &up);
  uint64_t consumers = (uint64_t)s->us[C1] + s->us[C2], producer = s->us[PRODUCE];
  uint64_t each = consumers > producer ? consumers : producer;
  return (uint64_t)s->consumers * s->cycles * messages * each * 1000;
}

/* ---- a cell ---- */

/* Loops that look, and leave the core to nobody. */
static bool polls(const struct way *way) { return way == &way_spin || way->policy; }

static void run_one(const struct cell *cell, const struct way *way, const struct effort *effort,
                    bool unchecked, struct outcome *out) {
  struct settings s = cell->settings;
  uint64_t most = 3 * grid_ideal(cell->pattern, &s) / 1000000;
  if (polls(way) && !effort->patient) s.cut = most < 250 ? 250 : (uint32_t)most;
  s.unchecked = unchecked;
  run_pattern(cell->pattern, way, &s, &cell->pace, PLANT_NOTHING, out);
  if (out->cut) out->ns = s.cut * UINT64_C(1000000);
}

static int compare_times(const void *a, const void *b) {
  const struct outcome *x = a, *y = b;
  return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Its own runs, sorted by time; one that was wrong is what the way came to. */
static bool conclude(struct measured *m, struct outcome *runs, uint32_t rounds) {
  m->rounds = rounds;
  for (uint32_t i = 0; i < rounds; i++)
    if (!runs[i].good && !runs[i].cut) {
      m->outcome = runs[i];
      return false;
    }
  qsort(runs, rounds, sizeof *runs, compare_times);
  m->low = runs[0].ns;
  m->high = runs[rounds - 1].ns;
  m->outcome = runs[(rounds - 1) / 2];
  return true;
}

/* Each way once; false: one was wrong. */
static bool play_round(struct cell *cell, const struct effort *effort, uint32_t round,
                       struct outcome *runs) {
  bool good = true;
  for (size_t i = 0; i < cell->way_count; i++) {
    size_t which = (i + round) % cell->way_count;
    struct outcome *out = &runs[which * GRID_ROUNDS + round];
    run_one(cell, cell->ways[which].way, effort, round > 0, out);
    good = (out->good || out->cut) && good;
  }
  return good;
}

bool grid_measure(struct cell *cell, const struct way *const *list, size_t count,
                  const struct effort *effort) {
  struct outcome *runs = calloc(GRID_WAYS * GRID_ROUNDS, sizeof *runs), first;
  uint64_t begin = exchange_now(), budget = effort->budget_ms * UINT64_C(1000000);
  uint32_t rounds = 0;
  bool good = runs && run_calibrate(cell->pattern, &cell->settings, &cell->pace, &first);
  cell->way_count = count;
  for (size_t i = 0; i < count; i++) cell->ways[i] = (struct measured){.way = list[i]};
  if (!good && runs) cell->ways[0].outcome = first;
  while (good && rounds < effort->rounds && rounds < GRID_ROUNDS) {
    good = play_round(cell, effort, rounds++, runs);
    if ((exchange_now() - begin) * (rounds + 1) / rounds > budget) break;
  }
  for (size_t i = 0; i < count && rounds; i++)
    good = conclude(&cell->ways[i], &runs[i * GRID_ROUNDS], rounds) && good;
  free(runs);
  return good;
}

const struct outcome *grid_outcome(const struct cell *cell, const struct way *way, bool cut) {
  for (size_t i = 0; i < cell->way_count; i++) {
    const struct outcome *out = &cell->ways[i].outcome;
    if (cell->ways[i].way != way || !cell->ways[i].rounds) continue;
    return out->good || (cut && out->cut) ? out : NULL;
  }
  return NULL;
}

double grid_ratio(const struct cell *cell, const struct way *way, const struct way *base) {
  const struct outcome *ours = grid_outcome(cell, way, way == base),
                       *theirs = grid_outcome(cell, base, true);
  return ours && theirs && ours->ns ? (double)theirs->ns / (double)ours->ns : NAN;
}

/* ---- means ---- */

void mean_add(struct mean *m, double value) {
  if (!isfinite(value)) return;
  m->sum += value;
  m->count++;
}

double mean_of(const struct mean *m) { return m->count ? m->sum / m->count : NAN; }
double mean_geometric(const struct mean *logarithms) {
  return logarithms->count ? exp(mean_of(logarithms)) : NAN;
}
