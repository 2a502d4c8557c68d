/* What the rounds of one figure came to, and how it is printed. Only main.c includes this. */
#ifndef BENCHMARKS_RESULT_H
#define BENCHMARKS_RESULT_H

#include "bench.h"
#include "statistics.h"

#include <stdio.h>

enum { ROUNDS_MAX = 2001 };

struct side_result {
  const char *name;
  const char *why;  /* NULL, or why it was skipped */
  bool has_crashed; /* a process of it was killed by a signal */
  struct spread value[BENCH_VALUES];
  struct spread ratio[BENCH_VALUES]; /* how many times better ours is */
  struct bound bound[BENCH_VALUES];  /* the ratio is at least this */
};

struct result {
  const char *group;
  const struct bench_figure *figure;
  struct bench_value values[BENCH_VALUES];
  unsigned value_count, side_count;
  uint32_t rounds; /* of each side */
  struct side_result sides[BENCH_SIDES];
};

/* ---- text ---- */

static void print_number(FILE *to, double value) {
  int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 1 ? 2 : 4;
  fprintf(to, "%.*f", digits, value);
}

static void print_plain(const struct result *result) {
  const struct side_result *ours = &result->sides[0], *theirs = &result->sides[1];
  const char *unit = result->values[0].unit;
  char name[64];
  snprintf(name, sizeof name, "%s/%s", result->group, result->figure->name);
  printf("%-32s %s", name, result->side_count > 1 ? "ours " : "");
  print_number(stdout, ours->value[0].median);
  printf(" %s", unit);
  if (result->side_count > 1) {
    printf("   %s ", theirs->name);
    print_number(stdout, theirs->value[0].median);
    printf(" %s   %.2fx (%.2f-%.2f)", unit, theirs->ratio[0].median, theirs->ratio[0].low,
           theirs->ratio[0].high);
  } else {
    printf(" (");
    print_number(stdout, ours->value[0].low);
    printf("-");
    print_number(stdout, ours->value[0].high);
    printf(")");
  }
  printf("\n");
}

/* Number, then how many times better ours is, of each value; many values are numbers only. */
enum { WIDE = 30, NARROW = 16, FEW_VALUES = 3 };

static void print_row(const struct result *result, unsigned side) {
  const struct side_result *row = &result->sides[side];
  printf("  %-22s", row->name);
  if (row->why) {
    printf(" skipped: %s\n", row->why);
    return;
  }
  for (unsigned v = 0; v < result->value_count; v++) {
    char cell[64] = "-";
    double median = row->value[v].median;
    int digits = median >= 100 ? 0 : median >= 1 ? 1 : 3;
    if (isnan(median)) {
    } else if (result->value_count > FEW_VALUES) {
      snprintf(cell, sizeof cell, "%.*f", digits, median);
    } else if (side == 0) {
      snprintf(cell, sizeof cell, "%.*f (%.*f-%.*f)  ", digits, median, digits, row->value[v].low,
               digits, row->value[v].high);
    } else if (isnan(row->ratio[v].median)) {
      snprintf(cell, sizeof cell, "%.*f", digits, median);
    } else {
      snprintf(cell, sizeof cell, "%.*f  %.2fx (%.2f-%.2f)", digits, median, row->ratio[v].median,
               row->ratio[v].low, row->ratio[v].high);
    }
    printf(" %*s", result->value_count > FEW_VALUES ? NARROW : WIDE, cell);
  }
  if (side > 0 && result->figure->contest->bound)
    printf("   %s: at least %.3fx (%u %%, pairs: %u)", result->values[0].name, row->bound[0].value,
           row->bound[0].percent, result->rounds);
  printf("\n");
}

static void print_table(const struct result *result) {
  char name[64];
  snprintf(name, sizeof name, "%s/%s", result->group, result->figure->name);
  printf("%-24s", name);
  for (unsigned v = 0; v < result->value_count; v++) {
    char cell[64];
    const char *what = result->values[v].name;
    snprintf(cell, sizeof cell, "%s%s%s", what ? what : "", what ? ", " : "",
             result->values[v].unit);
    printf(" %*s", result->value_count > FEW_VALUES ? NARROW : WIDE, cell);
  }
  printf("\n");
  for (unsigned side = 0; side < result->side_count; side++) print_row(result, side);
}

/* ---- JSON: one entry a value ---- */

static void print_json_number(const char *key, double value) {
  if (isfinite(value)) printf(", \"%s\": %.6g", key, value);
}

static void print_json_spread(const char *key, struct spread spread) {
  if (!isfinite(spread.median)) return;
  printf(", \"%s\": %.6g, \"%s_quartiles\": [%.6g, %.6g]", key, spread.median, key, spread.low,
         spread.high);
}

static void print_json_rivals(const struct result *result, unsigned v) {
  const char *comma = "";
  printf(", \"rivals\": [");
  for (unsigned side = 1; side < result->side_count; side++) {
    const struct side_result *rival = &result->sides[side];
    if (!rival->why && isnan(rival->value[v].median)) continue;
    printf("%s\n      {\"name\": \"%s\"", comma, rival->name);
    if (rival->why) {
      printf(", \"skipped\": \"%s\"}", rival->why);
    } else {
      print_json_spread("value", rival->value[v]);
      print_json_spread("ratio", rival->ratio[v]);
      if (rival->bound[v].percent == 95)
        print_json_number("ratio_at_least_95", rival->bound[v].value);
      printf("}");
    }
    comma = ",";
  }
  printf("]");
}

static void print_json(const struct result *result, bool *first) {
  const struct bench_figure *figure = result->figure;
  for (unsigned v = 0; v < result->value_count; v++) {
    const struct bench_value *value = &result->values[v];
    printf("%s\n    {\"name\": \"%s/%s\"", *first ? "" : ",", result->group, figure->name);
    *first = false;
    if (value->name) printf(", \"value\": \"%s\"", value->name);
    if (figure->curve) printf(", \"curve\": \"%s\", \"at\": %.6g", figure->curve, figure->at);
    printf(", \"unit\": \"%s\", \"better\": \"%s\"", value->unit,
           value->better == BENCH_MORE ? "more" : "less");
    printf(", \"rounds\": %u", result->rounds);
    if (result->sides[0].why) printf(", \"skipped\": \"%s\"", result->sides[0].why);
    else print_json_spread("ours", result->sides[0].value[v]);
    if (result->side_count > 1) print_json_rivals(result, v);
    printf("}");
  }
}

#endif
