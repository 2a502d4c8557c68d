/* Draws a sweep as SVG. The parameter runs to the right, and doubles from mark to mark. */
#include "tool/sim_job.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 720, HEIGHT = 220, LEFT = 70, RIGHT = 20, TOP = 30, BOTTOM = 30, GAP = 20 };

struct panel {
  const char *title;
  double (*value)(const struct tide_sim_point *point);
};

static double time_of(const struct tide_sim_point *point) {
  return point->operations ? point->seconds * 1e9 / (double)point->operations : 0;
}
static double makespan_of(const struct tide_sim_point *point) {
  return (double)point->makespan / 1e3;
}
static double entries_of(const struct tide_sim_point *point) { return point->entries; }
static double tainted_of(const struct tide_sim_point *point) { return 100 * point->tainted; }

static const struct panel panels[] = {
    {"time for one operation, ns (of this machine)", time_of},
    {"makespan, us (simulated)", makespan_of},
    {"entries of a frontier, mean", entries_of},
    {"operations with a tainted frontier, %", tainted_of},
};
static const char *const colours[] = {"#1f6fb4", "#c8511b"};

static void put_text(FILE *to, const char *text) {
  for (; *text; text++) {
    if (*text == '<') fputs("&lt;", to);
    else if (*text == '&') fputs("&amp;", to);
    else if (*text == '>') fputs("&gt;", to);
    else fputc(*text, to);
  }
}

/* Returns the next 1, 2 or 5 with zeros. */
static double round_up(double most) {
  static const double steps[] = {1, 2, 5, 10};
  double unit = 1e-6;
  if (most <= 0) return 1;
  while (unit * 10 < most) unit *= 10;
  for (size_t i = 0; i < 4; i++)
    if (unit * steps[i] >= most) return unit * steps[i];
  return unit * 10;
}

static double x_of(size_t which, size_t count) {
  return LEFT + (count > 1 ? (double)(WIDTH - LEFT - RIGHT) * (double)which / (double)(count - 1)
                           : (WIDTH - LEFT - RIGHT) / 2.0);
}

static void put_frame(FILE *to, const struct panel *panel, double y, double top,
                      const struct tide_sim_series *series, size_t points) {
  double bottom = y + HEIGHT - BOTTOM, height = HEIGHT - TOP - BOTTOM;
  fprintf(to, "<text x=\"%d\" y=\"%.0f\" class=\"title\">%s</text>\n", LEFT, y + TOP - 12,
          panel->title);
  for (int i = 0; i <= 4; i++) {
    double at = bottom - height * i / 4;
    fprintf(to, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n", LEFT,
            WIDTH - RIGHT, at, at);
    fprintf(to, "<text x=\"%d\" y=\"%.1f\" class=\"number\">%g</text>\n", LEFT - 6, at + 4,
            top * i / 4);
  }
  for (size_t i = 0; i < points; i++)
    fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" class=\"mark\">%llu</text>\n", x_of(i, points),
            bottom + 16, (unsigned long long)series->points[i].at);
}

static void put_line(FILE *to, const struct panel *panel, double y, double top,
                     const struct tide_sim_series *series, size_t points, const char *colour) {
  double bottom = y + HEIGHT - BOTTOM, height = HEIGHT - TOP - BOTTOM;
  fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
  for (size_t i = 0; i < points; i++)
    fprintf(to, "%.1f,%.1f ", x_of(i, points),
            bottom - height * panel->value(&series->points[i]) / top);
  fputs("\"/>\n", to);
}

static void put_panel(FILE *to, const struct panel *panel, double y,
                      const struct tide_sim_series *series, size_t series_count, size_t points) {
  double most = 0;
  for (size_t s = 0; s < series_count; s++)
    for (size_t i = 0; i < points; i++)
      if (panel->value(&series[s].points[i]) > most) most = panel->value(&series[s].points[i]);
  double top = round_up(most);
  put_frame(to, panel, y, top, series, points);
  for (size_t s = 0; s < series_count; s++)
    put_line(to, panel, y, top, &series[s], points, colours[s]);
}

static void put_all(FILE *to, const char *parameter, bool quiet,
                    const struct tide_sim_series *series, size_t series_count, size_t points) {
  size_t first = quiet ? 1 : 0, count = sizeof panels / sizeof *panels - first;
  size_t height = count * (HEIGHT + GAP) + 40;
  fprintf(to,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
          "viewBox=\"0 0 %d %zu\" font-family=\"sans-serif\" font-size=\"11\">\n"
          "<style>.title{font-size:13px}.grid{stroke:#ddd}.number{text-anchor:end;fill:#555}"
          ".mark{text-anchor:middle;fill:#555}</style>\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
          WIDTH, height, WIDTH, height);
  for (size_t i = 0; i < count; i++)
    put_panel(to, &panels[first + i], (double)(i * (HEIGHT + GAP)), series, series_count, points);
  for (size_t s = 0; s < series_count; s++) {
    fprintf(to, "<text x=\"%zu\" y=\"%zu\" fill=\"%s\">", LEFT + s * 200, height - 14, colours[s]);
    put_text(to, series_count > 1 ? series[s].name : parameter);
    fputs("</text>\n", to);
  }
  fprintf(to, "<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">", WIDTH - RIGHT, height - 14);
  put_text(to, parameter);
  fputs("</text>\n</svg>\n", to);
}

bool tide_sim_plot(const char *path, const char *parameter, bool quiet,
                   const struct tide_sim_series *series, size_t series_count, size_t point_count) {
  char *temporary;
  int descriptor = tide_tool_begin_file(path, &temporary);
  FILE *file = descriptor < 0 ? NULL : fdopen(dup(descriptor), "w");
  bool good = file != NULL;
  if (file) {
    put_all(file, parameter, quiet, series, series_count, point_count);
    good = !ferror(file);
    good = fclose(file) == 0 && good;
  }
  return tide_tool_end_file(path, descriptor, temporary, good);
}
