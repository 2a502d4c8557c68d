#include "figure.h"

#include "drawing.h"

#include <string.h>

enum { WIDTH = 1000, HEIGHT = 300, LEFT = 60, RIGHT = 20, TOP = 34, LEGEND = 16, COLUMNS = 6 };

/* ---- filling ---- */

void figure_begin(struct figure *f, const char *name, const char *title, const char *unit,
                  const char *note) {
  *f = (struct figure){.name = name, .title = title, .unit = unit, .note = note, .level = NAN};
  for (size_t r = 0; r < FIGURE_ROWS; r++)
    for (size_t s = 0; s < FIGURE_SERIES; s++) f->values[r][s] = f->deviations[r][s] = NAN;
}

size_t figure_series(struct figure *f, const char *name) {
  f->series[f->series_count] = name;
  return f->series_count++;
}

size_t figure_row(struct figure *f, const char *name) {
  snprintf(f->rows[f->row_count], sizeof f->rows[0], "%s", name);
  return f->row_count++;
}

size_t figure_row_at(struct figure *f, double at) {
  f->at[f->row_count] = at;
  snprintf(f->rows[f->row_count], sizeof f->rows[0], "%.6g", at);
  return f->row_count++;
}

bool figure_is_empty(const struct figure *f) {
  for (size_t r = 0; r < f->row_count; r++)
    for (size_t s = 0; s < f->series_count; s++)
      if (isfinite(f->values[r][s])) return false;
  return true;
}

/* ---- drawing ---- */

static struct draw_axis value_axis(const struct figure *f) {
  struct draw_axis y = {1e9, -1e9, TOP + HEIGHT, TOP, !f->logarithmic};
  for (size_t r = 0; r < f->row_count; r++)
    for (size_t s = 0; s < f->series_count; s++) {
      double value = f->values[r][s], by = f->deviations[r][s];
      draw_include(&y, value);
      if (isfinite(by)) draw_include(&y, value - by), draw_include(&y, value + by);
    }
  if (!f->logarithmic) draw_include(&y, 0);
  if (isfinite(f->level)) draw_include(&y, f->level);
  draw_widen(&y, y.low < y.high ? (y.high - y.low) * 0.04 : 0.1);
  return y;
}

static void draw_value(FILE *to, const struct figure *f, size_t row, size_t series) {
  fprintf(to, " data-row='%s' data-series='%s' data-value='%.6g'>", f->rows[row], f->series[series],
          f->values[row][series]);
  fprintf(to, "<title>%s, %s: %.4g %s</title>", f->rows[row], f->series[series],
          f->values[row][series], f->unit);
}

static void draw_bar(FILE *to, const struct figure *f, size_t row, size_t series, double x,
                     double width, const struct draw_axis *y) {
  double value = f->values[row][series], by = f->deviations[row][series];
  double base =
      f->logarithmic ? (isfinite(f->level) ? draw_place(y, f->level) : y->from) : draw_place(y, 0);
  double at = draw_place(y, value);
  fprintf(to, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'", x,
          at < base ? at : base, width * 0.9, fabs(at - base), draw_colours[series]);
  draw_value(to, f, row, series);
  fputs("</rect>", to);
  if (isfinite(by))
    fprintf(to, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' stroke='%s'/>", x + width * 0.45,
            x + width * 0.45, draw_place(y, value - by), draw_place(y, value + by), "#888");
  fputc('\n', to);
}

static void draw_bars(FILE *to, const struct figure *f, const struct draw_axis *y) {
  double group = (double)(WIDTH - LEFT - RIGHT) / (double)f->row_count;
  double width = group * 0.86 / (double)f->series_count;
  for (size_t r = 0; r < f->row_count; r++) {
    double x = LEFT + group * (double)r + group * 0.07;
    for (size_t s = 0; s < f->series_count; s++)
      if (isfinite(f->values[r][s]) && (!f->logarithmic || f->values[r][s] > 0))
        draw_bar(to, f, r, s, x + width * (double)s, width, y);
    draw_text(to, "s", x, TOP + HEIGHT + 15, f->rows[r]);
  }
}

static void draw_lines(FILE *to, const struct figure *f, const struct draw_axis *y) {
  struct draw_axis x = {1e9, -1e9, LEFT, WIDTH - RIGHT, !f->logarithmic_rows};
  for (size_t r = 0; r < f->row_count; r++) draw_include(&x, f->at[r]);
  draw_widen(&x, x.low < x.high ? (x.high - x.low) * 0.02 : 0.1);
  draw_ticks(to, &x, true, TOP, TOP + HEIGHT);
  for (size_t s = 0; s < f->series_count; s++) {
    fprintf(to, "<polyline fill='none' stroke='%s' stroke-width='2' points='", draw_colours[s]);
    for (size_t r = 0; r < f->row_count; r++)
      if (isfinite(f->values[r][s]))
        fprintf(to, "%.1f,%.1f ", draw_place(&x, f->at[r]), draw_place(y, f->values[r][s]));
    fputs("'/>\n", to);
    for (size_t r = 0; r < f->row_count; r++) {
      if (!isfinite(f->values[r][s])) continue;
      fprintf(to, "<circle cx='%.1f' cy='%.1f' r='3' fill='%s'", draw_place(&x, f->at[r]),
              draw_place(y, f->values[r][s]), draw_colours[s]);
      draw_value(to, f, r, s);
      fputs("</circle>\n", to);
    }
  }
  draw_text(to, "s", WIDTH / 2 - 60, TOP + HEIGHT + 30, f->along);
}

static double draw_legend(FILE *to, const struct figure *f) {
  double top = TOP + HEIGHT + 48;
  for (size_t s = 0; s < f->series_count; s++) {
    double x = LEFT + (double)(s % COLUMNS) * 155, y = top + (double)(s / COLUMNS) * LEGEND;
    fprintf(to, "<circle cx='%.1f' cy='%.1f' r='4' fill='%s'/>", x, y - 4, draw_colours[s]);
    draw_text(to, "s", x + 9, y, f->series[s]);
  }
  return top + (double)((f->series_count + COLUMNS - 1) / COLUMNS) * LEGEND + 6;
}

bool figure_draw(const struct figure *f, const char *path) {
  FILE *to = fopen(path, "w+");
  char title[200];
  if (!to) return false;
  long height_at = draw_begin(to, WIDTH);
  struct draw_axis y = value_axis(f);
  snprintf(title, sizeof title, "%s, %s", f->title, f->unit);
  draw_text(to, "t", LEFT, 20, title);
  draw_ticks(to, &y, false, LEFT, WIDTH - RIGHT);
  if (isfinite(f->level))
    fprintf(to, "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='#888'/>\n", LEFT, WIDTH - RIGHT,
            draw_place(&y, f->level), draw_place(&y, f->level));
  if (f->along) draw_lines(to, f, &y);
  else draw_bars(to, f, &y);
  return draw_end(to, height_at, draw_legend(to, f));
}

/* ---- the table, and the JSON ---- */

static void print_value(FILE *to, double value, double deviation) {
  if (!isfinite(value)) {
    fputs(" – |", to);
    return;
  }
  int digits = fabs(value) >= 1000 ? 0 : fabs(value) >= 100 ? 1 : 2;
  fprintf(to, " %.*f", digits, value);
  if (isfinite(deviation)) fprintf(to, " ± %.*f", digits, deviation);
  fputs(" |", to);
}

void figure_print_table(const struct figure *f, FILE *to) {
  fprintf(to, "**%s, %s.** %s\n\n| %s |", f->title, f->unit, f->note, f->along ? f->along : "");
  for (size_t s = 0; s < f->series_count; s++) fprintf(to, " %s |", f->series[s]);
  fputs("\n|---|", to);
  for (size_t s = 0; s < f->series_count; s++) fputs("--:|", to);
  fputc('\n', to);
  for (size_t r = 0; r < f->row_count; r++) {
    fprintf(to, "| %s |", f->rows[r]);
    for (size_t s = 0; s < f->series_count; s++)
      print_value(to, f->values[r][s], f->deviations[r][s]);
    fputc('\n', to);
  }
  fputc('\n', to);
}

static void print_number(FILE *to, double value) {
  if (isfinite(value)) fprintf(to, "%.6g", value);
  else fputs("null", to);
}

static void print_numbers(const struct figure *f, const double *values, FILE *to) {
  fputc('[', to);
  for (size_t s = 0; s < f->series_count; s++) {
    if (s) fputc(',', to);
    print_number(to, values[s]);
  }
  fputc(']', to);
}

void figure_print_json(const struct figure *f, FILE *to) {
  fprintf(to,
          "{\"name\":\"%s\",\"title\":\"%s\",\"unit\":\"%s\",\"note\":\"%s\",\"along\":", f->name,
          f->title, f->unit, f->note);
  if (f->along) fprintf(to, "\"%s\"", f->along);
  else fputs("null", to);
  fputs(",\"series\":[", to);
  for (size_t s = 0; s < f->series_count; s++) fprintf(to, "%s\"%s\"", s ? "," : "", f->series[s]);
  fputs("],\"rows\":[", to);
  for (size_t r = 0; r < f->row_count; r++) {
    fprintf(to, "%s\n   {\"row\":\"%s\",\"values\":", r ? "," : "", f->rows[r]);
    print_numbers(f, f->values[r], to);
    fputs(",\"deviations\":", to);
    print_numbers(f, f->deviations[r], to);
    fputc('}', to);
  }
  fputs("]}", to);
}
