/* benchmarks/statistics.h: quartiles, and a bound of a median. */
#ifndef BENCHMARKS_STATISTICS_H
#define BENCHMARKS_STATISTICS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

struct spread {
  double low, median, high; /* quartiles */
};

static int compare_numbers(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The value below which `part` of the sorted values lie. */
static double quantile(const double *sorted, uint32_t count, double part) {
  double at = part * (count - 1);
  uint32_t low = (uint32_t)at;
  uint32_t high = low + 1 < count ? low + 1 : low;
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

/* Sorts the values. */
static struct spread summarize(double *values, uint32_t count) {
  qsort(values, count, sizeof *values, compare_numbers);
  return (struct spread){quantile(values, count, 0.25), quantile(values, count, 0.5),
                         quantile(values, count, 0.75)};
}

struct bound {
  double value;
  unsigned percent; /* the confidence, rounded down */
};

/* Returns a lower bound of the median of at least one value, for any distribution, with 95 %
 * confidence where the count gives that. The k-th smallest value is above the median when fewer
 * than k values are below it, which is as likely as fewer than k heads. So the smallest of fewer
 * than five values gives less: 50, 75, 87, 93 %. Logarithms are needed from 1100 values on: a
 * double cannot hold the chance that none is a head. */
static struct bound lower_bound(const double *sorted, uint32_t count) {
  double chance = count * log(0.5), fewer = exp(chance);
  struct bound bound = {sorted[0], fewer <= 0.05 ? 95 : (unsigned)(100 - 100 * fewer)};
  for (uint32_t k = 1; k <= count && fewer <= 0.05; k++) {
    bound.value = sorted[k - 1];
    chance += log((double)(count - k + 1) / k);
    fewer += exp(chance);
  }
  return bound;
}

#endif
