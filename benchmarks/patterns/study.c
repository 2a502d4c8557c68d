#include "study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const study_modes[STUDY_MODES] = {"polling", "faults", "batches of 16",
                                              "256 outstanding", "both"};

static const struct way *const plain[] = {&way_spin,    &way_yield,  &way_futex,
                                          &way_monitor, &way_direct, &way_fibers};
static const struct way *const waiting[] = {&way_spin, &way_futex, &way_monitor, &way_direct,
                                            &way_fibers};
static const char *const curve_patterns[] = {"C_SRS", "C_CG", "G_BFS", "G_STN"};

/* ---- what can be had here ---- */

static const char *try_way(const struct way *way) {
  static char said[GRID_WAYS][160];
  static size_t next;
  const struct pace once = {.times = {1, 1, 1}};
  struct settings s = grid_settings(1, 0, 4096, false);
  struct outcome out;
  s.us[C1] = s.us[C2] = 0;
  run_pattern(patterns[0], way, &s, &once, PLANT_NOTHING, &out);
  if (out.good) return NULL;
  snprintf(said[next % GRID_WAYS], sizeof said[0], "%s", out.said);
  return said[next++ % GRID_WAYS];
}

static bool is_missing(const struct study *s, const struct way *way) {
  for (size_t i = 0; i < way_count; i++)
    if (ways[i] == way) return s->missing[i];
  return false;
}

/* ---- the plan ---- */

static void add(struct study *s, enum purpose purpose, const struct pattern *pattern,
                struct settings settings) {
  settings.seed = s->seed;
  if (s->cells) {
    s->cells[s->count].purpose = purpose;
    s->cells[s->count].cell.pattern = pattern;
    s->cells[s->count].cell.settings = settings;
  }
  s->count++;
}

static void add_grid(struct study *s, bool pinned) {
  for (uint32_t c = 0; c < GRID_CONSUMERS; c++)
    for (uint32_t p = 0; p < GRID_PRODUCTIONS; p++)
      for (uint32_t b = 0; b < GRID_SIZES; b++)
        for (size_t i = 0; i < s->pattern_count; i++) {
          bool small = grid_consumers[c] <= 16 && grid_productions[p] % 300 == 100 && b == 0;
          if (s->quick && !small) continue;
          add(s, GRID, s->patterns[i],
              grid_settings(grid_consumers[c], grid_productions[p], grid_sizes[b], pinned));
        }
}

/* Many that poll on one core wait for their time slices above all. One alone shows what else a
 * policy costs: its copies, its wakes, and when it delivers. */
static void add_alone(struct study *s) {
  for (size_t i = 0; i < s->pattern_count; i++) {
    struct settings settings = grid_settings(1, 20, 4096, true);
    settings.cycles = 16;
    settings.us[C1] = settings.us[C2] = 10;
    add(s, ALONE, s->patterns[i], settings);
  }
}

/* Where nothing goes back, a producer can be done before anybody starts. */
static void add_ready(struct study *s) {
  for (uint32_t c = 0; c < GRID_CONSUMERS; c++)
    for (uint32_t b = 0; b < GRID_SIZES; b++)
      for (size_t i = 0; i < s->pattern_count; i++) {
        struct settings settings = grid_settings(grid_consumers[c], 0, grid_sizes[b], true);
        if (s->patterns[i]->model != UNIDIRECTIONAL) continue;
        if (s->quick && (grid_consumers[c] != 16 || b)) continue;
        settings.cycles = 2;
        settings.beforehand = true;
        add(s, READY, s->patterns[i], settings);
      }
}

static void add_curves(struct study *s) {
  for (size_t i = 0; i < s->pattern_count; i++)
    for (size_t k = 0; k < sizeof curve_patterns / sizeof *curve_patterns; k++) {
      if (strcmp(s->patterns[i]->name, curve_patterns[k]) != 0) continue;
      struct settings settings = grid_settings(s->quick ? 16 : 64, 200, 4096, true);
      settings.others = 16;
      add(s, CURVES, s->patterns[i], settings);
    }
}

static void add_all(struct study *s) {
  s->count = 0;
  if (s->two_devices) {
    add_ready(s);
    if (!s->baseline) add_curves(s);
    if (!s->baseline) add_alone(s);
    add_grid(s, true);
  }
  if (!s->baseline) add_grid(s, false);
}

/* ---- how ---- */

static size_t list_ways(const struct study *s, const struct study_cell *c,
                        const struct way *out[GRID_WAYS]) {
  bool policies = c->purpose == ALONE || (c->purpose == GRID && c->cell.settings.consumers == 16 &&
                                          c->cell.settings.pinned && !s->baseline);
  const struct way *const *list = policies ? ways : c->purpose == GRID ? plain : waiting;
  size_t all = policies             ? way_count
               : c->purpose == GRID ? sizeof plain / sizeof *plain
                                    : sizeof waiting / sizeof *waiting,
         count = 0;
  for (size_t i = 0; i < all; i++)
    if (!is_missing(s, list[i])) out[count++] = list[i];
  return count;
}

static struct effort effort_of(const struct study *s, const struct study_cell *c) {
  if (c->purpose == ALONE) return (struct effort){s->quick ? 3 : 15, 1000, true};
  if (s->rounds && c->purpose != READY)
    return (struct effort){s->rounds, UINT32_MAX, c->purpose == CURVES};
  if (c->purpose == READY) return (struct effort){s->quick ? 3 : 15, 2500, true};
  if (c->purpose == CURVES) return (struct effort){s->quick ? 1 : 3, 3000, true};
  return (struct effort){s->quick ? 1 : 3, 250, false};
}

/* Seconds that one round and what belongs to it may take; those who poll in vain are dear. */
static double expect(const struct study *s, const struct study_cell *c) {
  const struct way *list[GRID_WAYS];
  size_t count = list_ways(s, c, list);
  double ideal = (double)grid_ideal(c->cell.pattern, &c->cell.settings) / 1e9, all = 0.005;
  for (size_t i = 0; i < count; i++) {
    bool polls = list[i] == &way_spin || list[i]->policy;
    all += 0.002 + ideal * (polls && c->purpose != READY ? 2.6 : 1.6);
  }
  struct effort effort = effort_of(s, c);
  double rounds = floor(effort.budget_ms / 1000.0 / all);
  if (rounds > effort.rounds) rounds = effort.rounds;
  return all * (rounds < 1 ? 1 : rounds);
}

bool study_plan(struct study *s) {
  int cores[2];
  s->two_devices = run_cores(cores);
  for (size_t i = 0; i < way_count; i++) s->missing[i] = try_way(ways[i]);
  add_all(s);
  s->cells = calloc(s->count + 1, sizeof *s->cells);
  if (!s->cells) return false;
  add_all(s);
  s->expected_s = s->two_devices ? s->quick ? 1 : 20 : 0;
  for (size_t i = 0; i < s->count; i++) s->expected_s += expect(s, &s->cells[i]);
  return true;
}

/* ---- warps ---- */

static int compare_outcomes(const void *a, const void *b) {
  const struct scale_outcome *x = a, *y = b;
  return (x->ns > y->ns) - (x->ns < y->ns);
}

static void complain(struct study *s, const char *what, const char *way, const char *said) {
  if (!s->wrong++) snprintf(s->said, sizeof s->said, "%.40s, %.20s: %.160s", what, way, said);
}

/* All modes of one size, in turns. */
static void measure_scale(struct study *s, uint32_t warps, struct study_scale *row) {
  struct scale_outcome runs[STUDY_MODES][3];
  uint32_t rounds = s->quick || warps > 4096 ? 1 : 3;
  for (uint32_t r = 0; r < rounds; r++)
    for (uint32_t m = 0; m < STUDY_MODES; m++) {
      row[m].scale = (struct scale){.warps = warps,
                                    .us = 50,
                                    .polls = m == 0,
                                    .batched = m == 2 || m == 4,
                                    .outstanding = m >= 3 ? 256 : 0};
      scale_run(&row[m].scale, &runs[m][r]);
      if (!runs[m][r].good) complain(s, "warps", study_modes[m], runs[m][r].said);
    }
  for (uint32_t m = 0; m < STUDY_MODES; m++) {
    qsort(runs[m], rounds, sizeof runs[m][0], compare_outcomes);
    row[m].outcome = runs[m][(rounds - 1) / 2];
  }
}

static void measure_scales(struct study *s) {
  static const uint32_t warps[STUDY_SCALES] = {2, 8, 32, 128, 512, 2048, 8192, 31250};
  for (size_t i = 0; i < STUDY_SCALES; i++) {
    if (!s->two_devices || s->baseline || is_missing(s, &way_fibers)) break;
    if (s->quick && warps[i] > 512) break;
    if (s->progress) s->progress(s, "warps");
    measure_scale(s, warps[i], s->scales[s->scale_count++]);
  }
}

/* ---- all of it ---- */

static void measure_cell(struct study *s, struct study_cell *c) {
  const struct way *list[GRID_WAYS];
  size_t count = list_ways(s, c, list);
  struct effort effort = effort_of(s, c);
  if (grid_measure(&c->cell, list, count, &effort)) return;
  for (size_t i = 0; i < c->cell.way_count; i++) {
    const struct measured *m = &c->cell.ways[i];
    if (m->rounds ? m->outcome.good || m->outcome.cut : !m->outcome.said[0]) continue;
    complain(s, c->cell.pattern->name, m->way->name, m->outcome.said);
  }
}

void study_measure(struct study *s) {
  uint64_t begin = exchange_now();
  for (s->done = 0; s->done < s->count; s->done++) {
    if (s->progress) s->progress(s, s->cells[s->done].cell.pattern->name);
    measure_cell(s, &s->cells[s->done]);
    s->took_s = (double)(exchange_now() - begin) / 1e9;
  }
  measure_scales(s);
  s->took_s = (double)(exchange_now() - begin) / 1e9;
}

void study_free(struct study *s) {
  free(s->cells);
  s->cells = NULL;
}
