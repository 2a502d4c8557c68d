/* What drawings of numbers share, written by hand as SVG: axes, ticks, texts, colours that are
 * readable on light and on dark paper. Drawings of ./bench and of tidemark patterns --report. */
#ifndef PATTERNS_DRAWING_H
#define PATTERNS_DRAWING_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define DRAW_COLOURS 12
static const char *const draw_colours[DRAW_COLOURS] = {"#e8590c", "#1c7ed6", "#2f9e44", "#9c36b5",
                                                       "#c2255c", "#0c8599", "#b08900", "#868e96",
                                                       "#5f3dc4", "#74b816", "#e64980", "#495057"};

struct draw_axis {
  double low, high; /* logarithms, or the numbers themselves when it is linear */
  double from, to;  /* places */
  bool linear;
};

static inline double draw_place(const struct draw_axis *axis, double value) {
  double at = axis->linear ? value : log10(value);
  return axis->from + (at - axis->low) / (axis->high - axis->low) * (axis->to - axis->from);
}

static inline void draw_include(struct draw_axis *axis, double value) {
  if (!isfinite(value) || (!axis->linear && value <= 0)) return;
  double at = axis->linear ? value : log10(value);
  if (at < axis->low) axis->low = at;
  if (at > axis->high) axis->high = at;
}

/* Some room at both ends; never nothing at all. */
static inline void draw_widen(struct draw_axis *axis, double by) {
  if (axis->low > axis->high) axis->low = 0, axis->high = 1;
  axis->low -= by;
  axis->high += by;
}

static inline void draw_number(char *text, size_t size, double value) {
  const char *suffix = "";
  if (value >= 1e6) value /= 1e6, suffix = " M";
  else if (value >= 1e4) value /= 1e3, suffix = " k";
  snprintf(text, size, "%.4g%s", value, suffix);
}

/* One line across the other axis, and its number. */
static inline void draw_tick(FILE *to, const struct draw_axis *axis, double value, bool across,
                             double other_from, double other_to) {
  double at = draw_place(axis, value);
  char text[32];
  draw_number(text, sizeof text, value);
  fprintf(to,
          across ? "<line class='g' x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f'/>"
                 : "<line class='g' y1='%.1f' x1='%.1f' y2='%.1f' x2='%.1f'/>",
          at, other_from, at, other_to);
  if (across)
    fprintf(to, "<text class='s' x='%.1f' y='%.1f' text-anchor='middle'>%s</text>\n", at,
            other_to + 13, text);
  else
    fprintf(to, "<text class='s' x='%.1f' y='%.1f' text-anchor='end'>%s</text>\n", other_from - 5,
            at + 3.5, text);
}

/* Some five round numbers. */
static inline void draw_linear_ticks(FILE *to, const struct draw_axis *axis, bool across,
                                     double other_from, double other_to) {
  double step = pow(10, floor(log10((axis->high - axis->low) / 2)));
  while ((axis->high - axis->low) / step > 7) step *= 2;
  for (double i = ceil(axis->low / step); i * step <= axis->high; i++)
    draw_tick(to, axis, i * step + 0.0, across, other_from, other_to); /* never -0 */
}

/* 1, 2, 5, 10 … ; only the tens when they are many. */
static inline void draw_ticks(FILE *to, const struct draw_axis *axis, bool across,
                              double other_from, double other_to) {
  static const double steps[] = {1, 2, 5};
  bool few = axis->high - axis->low < 2.2;
  if (axis->linear) {
    draw_linear_ticks(to, axis, across, other_from, other_to);
    return;
  }
  for (int ten = (int)floor(axis->low); ten <= (int)ceil(axis->high); ten++)
    for (int s = 0; s < (few ? 3 : 1); s++) {
      double value = steps[s] * pow(10, ten);
      if (log10(value) < axis->low || log10(value) > axis->high) continue;
      draw_tick(to, axis, value, across, other_from, other_to);
    }
}

static inline void draw_text(FILE *to, const char *class, double x, double y, const char *text) {
  fprintf(to, "<text class='%s' x='%.1f' y='%.1f'>", class, x, y);
  for (; *text; text++) {
    if (*text == '<') fputs("&lt;", to);
    else if (*text == '&') fputs("&amp;", to);
    else fputc(*text, to);
  }
  fputs("</text>\n", to);
}

/* The height is known at the end: room for it is left at the place that this answers. */
static inline long draw_begin(FILE *to, int width) {
  fprintf(to,
          "<svg xmlns='http://www.w3.org/2000/svg' font-family='sans-serif' width='%d' height='",
          width);
  long at = ftell(to);
  fprintf(to, "         '>\n<style>.t{font-size:13px;font-weight:bold}.s,.r{font-size:10.5px}"
              ".t,.s{fill:#767676}.g{stroke:#888;stroke-opacity:.25}"
              "@media(prefers-color-scheme:dark){.t,.s{fill:#bbb}}</style>\n");
  return at;
}

/* Closes the file, too. */
static inline bool draw_end(FILE *to, long height_at, double height) {
  fputs("</svg>\n", to);
  fseek(to, height_at, SEEK_SET);
  fprintf(to, "%.0f", height);
  bool good = !ferror(to);
  return fclose(to) == 0 && good;
}

#endif
