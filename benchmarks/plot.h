/* Draws a group's results as one SVG: each curve as a panel with logarithmic axes, then the figures
 * that belong to no curve as rows of dots, one panel a unit. Both sides of each dot are readable on
 * light and on dark paper. Only main.c includes this. */
#ifndef BENCHMARKS_PLOT_H
#define BENCHMARKS_PLOT_H

#include "../benchmarks/patterns/drawing.h"
#include "result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  PLOT_COLUMNS = 3,
  PLOT_WIDTH = 360,  /* of a curve's panel */
  PLOT_HEIGHT = 250, /* with its titles, without its legend */
  PLOT_LEFT = 52,
  PLOT_TOP = 30,
  PLOT_LABELS = 330, /* room for the names of rows */
  PLOT_ROW = 18,
  PLOT_LEGEND = 15 /* a line of it */
};

struct plot {
  FILE *to;
  struct result *const *results;
  size_t count;
};

/* ---- curves ---- */

static bool plot_same_curve(const struct result *a, const struct result *b) {
  return a->figure->curve && b->figure->curve && strcmp(a->figure->curve, b->figure->curve) == 0;
}

/* What a side is called along its curve: small and large sizes may have different rivals. */
static void plot_side_name(const struct plot *plot, const struct result *of, unsigned side,
                           char *text, size_t size) {
  snprintf(text, size, "%s", of->sides[side].name);
  for (size_t i = 0; i < plot->count; i++) {
    const struct result *other = plot->results[i];
    if (!plot_same_curve(of, other) || side >= other->side_count) continue;
    size_t length = strlen(text);
    if (!strstr(text, other->sides[side].name))
      snprintf(text + length, size - length, ", then %s", other->sides[side].name);
  }
}

static bool plot_has_side(const struct plot *plot, const struct result *of, unsigned side,
                          unsigned v) {
  for (size_t i = 0; i < plot->count; i++) {
    const struct result *point = plot->results[i];
    if (plot_same_curve(of, point) && side < point->side_count && !point->sides[side].why &&
        isfinite(point->sides[side].value[v].median))
      return true;
  }
  return false;
}

static void plot_line(const struct plot *plot, const struct result *of, unsigned side, unsigned v,
                      const struct draw_axis *x, const struct draw_axis *y) {
  fprintf(plot->to, "<polyline fill='none' stroke='%s' stroke-width='%s' points='",
          draw_colours[side], side ? "1.5" : "2.5");
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < plot->count; i++) {
      const struct result *point = plot->results[i];
      if (!plot_same_curve(of, point) || side >= point->side_count) continue;
      double value = point->sides[side].value[v].median;
      if (point->sides[side].why || !isfinite(value) || value <= 0) continue;
      fprintf(plot->to, pass ? "<circle cx='%.1f' cy='%.1f' r='2.5' fill='%s'/>" : "%.1f,%.1f ",
              draw_place(x, point->figure->at), draw_place(y, value), draw_colours[side]);
    }
    fputs(pass ? "\n" : "'/>", plot->to);
  }
}

static void plot_curve(const struct plot *plot, const struct result *of, unsigned v, double left,
                       double top) {
  struct draw_axis x = {1e9, -1e9, left + PLOT_LEFT, left + PLOT_WIDTH - 14, false};
  struct draw_axis y = {1e9, -1e9, top + PLOT_HEIGHT - 34, top + PLOT_TOP, false};
  for (size_t i = 0; i < plot->count; i++) {
    const struct result *point = plot->results[i];
    if (!plot_same_curve(of, point)) continue;
    draw_include(&x, point->figure->at);
    for (unsigned side = 0; side < point->side_count; side++)
      if (!point->sides[side].why) draw_include(&y, point->sides[side].value[v].median);
  }
  draw_widen(&x, 0.05);
  draw_widen(&y, 0.1);
  char title[160];
  const struct bench_value *value = &of->values[v];
  snprintf(title, sizeof title, "%s: %s%s%s", of->figure->curve, value->name ? value->name : "",
           value->name ? ", " : "", value->unit);
  draw_text(plot->to, "t", left + PLOT_LEFT, top + 18, title);
  draw_ticks(plot->to, &x, true, y.to, y.from);
  draw_ticks(plot->to, &y, false, x.from, x.to);
  draw_text(plot->to, "s", x.to - 60, y.from + 27, of->figure->along ? of->figure->along : "");
  unsigned line = 0;
  for (unsigned side = of->side_count; side-- > 0;) plot_line(plot, of, side, v, &x, &y);
  for (unsigned side = 0; side < of->side_count; side++) {
    if (!plot_has_side(plot, of, side, v)) continue;
    char name[160];
    plot_side_name(plot, of, side, name, sizeof name);
    double at = top + PLOT_HEIGHT + line++ * PLOT_LEGEND;
    fprintf(plot->to, "<circle cx='%.1f' cy='%.1f' r='4' fill='%s'/>", left + PLOT_LEFT, at - 4,
            draw_colours[side]);
    draw_text(plot->to, "s", left + PLOT_LEFT + 9, at, name);
  }
}

static bool plot_first_of_curve(const struct plot *plot, size_t index) {
  if (!plot->results[index]->figure->curve) return false;
  for (size_t i = 0; i < index; i++)
    if (plot_same_curve(plot->results[i], plot->results[index])) return false;
  return true;
}

/* Answers the height. */
static double plot_curves(const struct plot *plot, double top) {
  unsigned panel = 0, sides = 0;
  double height = 0;
  for (size_t i = 0; i < plot->count; i++)
    if (plot_first_of_curve(plot, i) && plot->results[i]->side_count > sides)
      sides = plot->results[i]->side_count;
  height = PLOT_HEIGHT + sides * PLOT_LEGEND + 16;
  for (size_t i = 0; i < plot->count; i++) {
    for (unsigned v = 0; plot_first_of_curve(plot, i) && v < plot->results[i]->value_count; v++) {
      plot_curve(plot, plot->results[i], v, panel % PLOT_COLUMNS * PLOT_WIDTH,
                 top + panel / PLOT_COLUMNS * height);
      panel++;
    }
  }
  return (panel + PLOT_COLUMNS - 1) / PLOT_COLUMNS * height;
}

/* ---- rows of dots ---- */

/* With many sides a colour stands for the same one in all rows of a panel. */
static bool plot_same_sides(const struct result *a, const struct result *b) {
  if (a->side_count <= 2 && b->side_count <= 2) return true;
  if (a->side_count != b->side_count) return false;
  for (unsigned side = 0; side < a->side_count; side++)
    if (strcmp(a->sides[side].name, b->sides[side].name) != 0) return false;
  return true;
}

/* Has it anything to show? */
static bool plot_has_value(const struct result *result, unsigned v) {
  for (unsigned side = 0; side < result->side_count; side++)
    if (!result->sides[side].why && isfinite(result->sides[side].value[v].median)) return true;
  return false;
}

static bool plot_same_scale(const struct result *a, const struct result *b, unsigned v) {
  if (a->figure->curve || b->figure->curve || v >= a->value_count || v >= b->value_count)
    return false;
  if (!plot_same_sides(a, b) || !plot_has_value(a, v) || !plot_has_value(b, v)) return false;
  const char *x = a->values[v].name, *y = b->values[v].name;
  return strcmp(a->values[v].unit, b->values[v].unit) == 0 &&
         (x == y || (x && y && strcmp(x, y) == 0));
}

/* Several names of one place are told by their colours; what a colour is, by the row's end. */
static void plot_row(const struct plot *plot, const struct result *row, unsigned v, double y,
                     const struct draw_axis *x) {
  char rivals[400] = "";
  draw_text(plot->to, "s", 8, y + 3.5, row->figure->name);
  fprintf(plot->to, "<line class='g' x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f'/>\n", x->from, y,
          x->to, y);
  for (unsigned side = row->side_count; side-- > 0;) {
    const struct spread *value = &row->sides[side].value[v];
    if (row->sides[side].why || !isfinite(value->median) || value->median <= 0) continue;
    fprintf(plot->to, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s'/>",
            draw_place(x, value->low > 0 ? value->low : value->median), y,
            draw_place(x, value->high), y, draw_colours[side]);
    fprintf(plot->to, "<circle cx='%.1f' cy='%.1f' r='%s' fill='%s'/>\n",
            draw_place(x, value->median), y, side ? "3.5" : "4.5", draw_colours[side]);
  }
  if (row->side_count == 2) {
    snprintf(rivals, sizeof rivals, "%s", row->sides[1].name);
    fprintf(plot->to, "<g fill='%s'>", draw_colours[1]);
    draw_text(plot->to, "r", x->to + 10, y + 3.5, rivals);
    fputs("</g>", plot->to);
  }
}

static double plot_sides_legend(const struct plot *plot, const struct result *of, double top) {
  for (unsigned side = 0; of->side_count > 2 && side < of->side_count; side++) {
    double x = PLOT_LABELS + (side % 4) * 160, y = top + side / 4 * PLOT_LEGEND;
    fprintf(plot->to, "<circle cx='%.1f' cy='%.1f' r='4' fill='%s'/>", x, y - 4,
            draw_colours[side]);
    draw_text(plot->to, "s", x + 9, y, of->sides[side].name);
  }
  return of->side_count > 2 ? (of->side_count + 3) / 4 * PLOT_LEGEND : 0;
}

static double plot_dots(const struct plot *plot, const struct result *of, unsigned v, double top) {
  struct draw_axis x = {1e9, -1e9, PLOT_LABELS, PLOT_COLUMNS * PLOT_WIDTH - 220, false};
  unsigned rows = 0;
  bool zero = false;
  for (size_t i = 0; i < plot->count; i++) {
    const struct result *row = plot->results[i];
    if (!plot_same_scale(of, row, v)) continue;
    rows++;
    for (unsigned side = 0; side < row->side_count; side++) {
      zero |= !row->sides[side].why && row->sides[side].value[v].median == 0;
      draw_include(&x, row->sides[side].value[v].low);
      draw_include(&x, row->sides[side].value[v].high);
    }
  }
  draw_widen(&x, 0.05);
  char title[120];
  snprintf(title, sizeof title, "%s%s%s (%s is better%s)",
           of->values[v].name ? of->values[v].name : "", of->values[v].name ? ", " : "",
           of->values[v].unit, of->values[v].better == BENCH_MORE ? "more" : "less",
           zero ? "; 0 is not drawn" : "");
  draw_text(plot->to, "t", 8, top + 16, title);
  top += 16 + plot_sides_legend(plot, of, top + 16);
  draw_ticks(plot->to, &x, true, top + 8, top + 8 + rows * PLOT_ROW);
  double y = top + 8 + PLOT_ROW / 2.0;
  for (size_t i = 0; i < plot->count; i++) {
    if (!plot_same_scale(of, plot->results[i], v)) continue;
    plot_row(plot, plot->results[i], v, y, &x);
    y += PLOT_ROW;
  }
  return y + 30;
}

static bool plot_first_of_scale(const struct plot *plot, size_t index, unsigned v) {
  const struct result *result = plot->results[index];
  if (result->figure->curve || !plot_has_value(result, v)) return false;
  for (size_t i = 0; i < index; i++)
    if (plot_same_scale(plot->results[i], plot->results[index], v)) return false;
  return true;
}

/* ---- the file ---- */

static bool plot_group(const char *path, struct result *const *results, size_t count) {
  struct plot plot = {fopen(path, "w+"), results, count};
  if (!plot.to) return false;
  long size_at = draw_begin(plot.to, PLOT_COLUMNS * PLOT_WIDTH);
  draw_text(plot.to, "t", 8, 18, results[0]->group);
  double top = 30 + plot_curves(&plot, 30);
  for (size_t i = 0; i < count; i++)
    for (unsigned v = 0; v < results[i]->value_count; v++)
      if (plot_first_of_scale(&plot, i, v)) top = plot_dots(&plot, results[i], v, top);
  return draw_end(plot.to, size_at, top);
}

#endif
