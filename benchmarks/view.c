/* The page of `tidemark view` in a browser: 100 000 operations simulated there and by the same core
 * natively; how soon a program is seen, and how often 10 000 operations can be drawn in a second.
 */
#include "bench.h"

#include "../web/core/view.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char why[256];

/* What the script prints; false: why not. */
static bool ask(const char *what, double *out_values, int count) {
  char command[PATH_MAX + 64], line[512] = "";
  snprintf(command, sizeof command, "BUILD='%s' sh benchmarks/view.sh %s 2>&1", bench_folder(),
           what);
  FILE *pipe = popen(command, "r");
  if (!pipe || !fgets(line, sizeof line, pipe)) snprintf(line, sizeof line, "it says nothing");
  bool good = pipe && pclose(pipe) == 0;
  char *at = line;
  for (int i = 0; i < count && good; i++) {
    char *end;
    out_values[i] = strtod(at, &end);
    good = end != at;
    at = end;
  }
  if (good) return true;
  line[strcspn(line, "\n")] = 0;
  snprintf(why, sizeof why, "%.200s", strncmp(line, "SKIP view: ", 11) == 0 ? line + 11 : line);
  return false;
}

/* ---- 100 000 operations ---- */

static void setting(const char *text) {
  uint32_t size = (uint32_t)strlen(text);
  memcpy(tide_view_room(size), text, size);
  BENCH_CHECK(tide_view_setting(size) == 0);
}

static const char *natively(double *out_values) {
  static char text[1 << 16];
  FILE *file = fopen("examples/fleet.tide", "rb");
  if (!file) return "examples/ is not here: start ./bench in the repository";
  uint32_t length = (uint32_t)fread(text, 1, sizeof text, file);
  fclose(file);
  tide_view_begin();
  setting(bench_smoke() ? "operations=900" : "operations=94500");
  setting("devices=8");
  setting("together=0");
  memcpy(tide_view_room(length), text, length);
  BENCH_CHECK(tide_view_load(length) == 0);
  uint64_t begin = bench_now();
  BENCH_CHECK(tide_view_run() == 0);
  out_values[0] = (double)(bench_now() - begin) / 1e6;
  tide_view_begin();
  return NULL;
}

static const char *measure_run(const void *what, unsigned side, double *out_values) {
  (void)what;
  if (side == 1) return natively(out_values);
  return ask("run", out_values, 1) ? NULL : why;
}

static const struct bench_contest run = {.sides = {"in the page", "natively"},
                                         .values = {{"100 000 operations", "ms", BENCH_LESS}},
                                         .measure = measure_run};

/* ---- drawing ---- */

static const char *measure_drawing(const void *what, unsigned side, double *out_values) {
  (void)what, (void)side;
  return ask("draw", out_values, 4) ? NULL : why;
}

static const struct bench_contest drawing = {.sides = {"the page"},
                                             .values = {{"first picture", "ms", BENCH_LESS},
                                                        {"scrubbing", "/s", BENCH_MORE},
                                                        {"panning", "/s", BENCH_MORE},
                                                        {"all lanes", "/s", BENCH_MORE}},
                                             .measure = measure_drawing};

const struct bench_figure bench_view[] = {{.name = "simulate", .contest = &run, .rounds = 3},
                                          {.name = "draw", .contest = &drawing, .rounds = 3},
                                          {0}};
