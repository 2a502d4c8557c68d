/* A figure of a report: rows times series of numbers. The drawing, the table and the JSON are all
 * made of this one. */
#ifndef PATTERNS_FIGURE_H
#define PATTERNS_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define FIGURE_SERIES 12
#define FIGURE_ROWS 24

struct figure {
  const char *name;  /* of its file, and in the JSON; begins with the number in the WIC paper */
  const char *title; /* what is shown */
  const char *unit;  /* "%", "x", … */
  const char *note;  /* what exactly was measured, one sentence or more */
  const char *along; /* what the rows' numbers count; NULL: rows are names, drawn as bars */
  bool logarithmic;  /* the values */
  bool logarithmic_rows;
  double level; /* a line to compare with; NAN: none */
  size_t series_count, row_count;
  const char *series[FIGURE_SERIES];
  char rows[FIGURE_ROWS][24];
  double at[FIGURE_ROWS];                        /* of rows with numbers */
  double values[FIGURE_ROWS][FIGURE_SERIES];     /* NAN: there is none */
  double deviations[FIGURE_ROWS][FIGURE_SERIES]; /* NAN: none is shown */
};

/* No series and no rows yet, all values NAN. */
void figure_begin(struct figure *f, const char *name, const char *title, const char *unit,
                  const char *note);
/* Answers the index. */
size_t figure_series(struct figure *f, const char *name);
size_t figure_row(struct figure *f, const char *name);
size_t figure_row_at(struct figure *f, double at);
/* Has it any number at all? */
bool figure_is_empty(const struct figure *f);

/* DIR/NAME.svg; each number is there as it is in the JSON, as data-value. */
bool figure_draw(const struct figure *f, const char *path);
void figure_print_table(const struct figure *f, FILE *to);
void figure_print_json(const struct figure *f, FILE *to);

#endif
