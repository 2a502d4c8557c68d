/* Draws the WIC paper's figures from the measurements of a study. */
#ifndef PATTERNS_FIGURES_H
#define PATTERNS_FIGURES_H

#include "figure.h"
#include "study.h"

/* What a way's run in a cell says; NAN: nothing. */
typedef double figure_value(const struct cell *cell, const struct way *way);

figure_value value_over_spin, value_over_yield, value_over_futex; /* logarithms */
figure_value value_consumer_share, value_producer_share, value_idle, value_producer_idle;
figure_value value_apart, value_deviation, value_polling, value_checks, value_hidden;
figure_value value_consumer_overhead, value_host_overhead, value_ready, value_faults;

/* Over those cells of a purpose: of one pattern (NULL: all), with this number of consumers (0:
 * all), on two devices or shared. */
struct choice {
  enum purpose purpose;
  const struct pattern *pattern;
  uint32_t consumers;
  bool pinned;
};
double figures_mean(const struct study *s, struct choice choice, const struct way *way,
                    figure_value *value, bool geometric);

/* How a way stands where the issue sets limits. */
struct standing {
  double over_spin, over_yield, over_futex; /* geometric means over patterns of those over cells */
  double worst;                             /* pattern, over spin */
  const char *worst_name;
  double hidden; /* mean over patterns, where the producer is later */
  double ready;  /* overhead when the data is ready beforehand, % */
};
void figures_standing(const struct study *s, const struct way *way, struct standing *out);
/* The engine that is best over spin; NULL: none has run. */
const struct way *figures_best(const struct study *s);

/* Makes them one after another, those that have a number. */
void figures_each(const struct study *s, void (*use)(const struct figure *f, void *argument),
                  void *argument);

#endif
