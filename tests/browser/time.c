/* view-time PROGRAM NAME=VALUE…: what the page's core takes on this machine, for the browser's
 * tests to set beside what it takes there. Prints nanoseconds: the best of three. */
#include "view.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int once(const char *text, uint32_t length, char **settings, int count, double *out_took) {
  tide_view_begin();
  for (int i = 0; i < count; i++) {
    uint32_t size = (uint32_t)strlen(settings[i]);
    memcpy(tide_view_room(size), settings[i], size);
    if (tide_view_setting(size)) return 1;
  }
  memcpy(tide_view_room(length), text, length);
  if (tide_view_load(length)) return 1;
  double start = now();
  uint32_t status = tide_view_run();
  *out_took = now() - start;
  return status != 0;
}

int main(int argc, char **argv) {
  static char text[1 << 20];
  double best = 1e300, took = 0;
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (!file) return 2;
  uint32_t length = (uint32_t)fread(text, 1, sizeof text, file);
  fclose(file);
  for (int i = 0; i < 3; i++) {
    if (once(text, length, argv + 2, argc - 2, &took)) {
      fprintf(stderr, "%s\n", tide_view_answer());
      return 1;
    }
    if (took < best) best = took;
  }
  tide_view_begin();
  printf("%.0f\n", best);
  return 0;
}
