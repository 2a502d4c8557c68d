/* turns TIDEMARK PROGRAM BY_HAND INPUT FOLDER [WIDTH HEIGHT [PAIRS]]: runs `TIDEMARK run PROGRAM`
 * and the hand-written program in turns, at most PAIRS times each or for some seconds, and prints a
 * table. Its form is the same for each number of pairs. The outputs are compared, and removed
 * again. */
#include "measured_process.h"

#include "../statistics.h"

#include <sys/stat.h>

enum { OURS, BY_HAND, SIDES, PAIRS_MOST = 7 };
static const double time_most = 4000; /* ms of all runs; one pair at least */

struct turns {
  char folders[SIDES][PROCESS_PATH];
  char *commands[SIDES][16];
  double values[SIDES][PROCESS_VALUES][PAIRS_MOST];
  uint32_t pairs;
};

static bool run_pair(struct turns *turns, double *out_took) {
  for (int n = 0; n < SIDES; n++) {
    int side = turns->pairs % 2 ? SIDES - 1 - n : n;
    double values[PROCESS_VALUES];
    if (!process_remove_outputs(turns->folders[side])) return false;
    if (!process_measure(turns->commands[side], values)) return false;
    for (int v = 0; v < PROCESS_VALUES; v++) turns->values[side][v][turns->pairs] = values[v];
    *out_took += values[PROCESS_TIME];
  }
  turns->pairs++;
  return process_same_outputs(turns->folders[OURS], turns->folders[BY_HAND]);
}

static void print_side(struct turns *turns, int side, const char *name) {
  struct spread spreads[PROCESS_VALUES];
  for (int v = 0; v < PROCESS_VALUES; v++)
    spreads[v] = summarize(turns->values[side][v], turns->pairs);
  struct spread time = spreads[PROCESS_TIME];
  char cell[64];
  snprintf(cell, sizeof cell, "%.1f ms  (%.1f ms to %.1f ms)", time.median, time.low, time.high);
  printf("    %-18s%-36s%8.0f%11.1f MiB\n", name, cell, spreads[PROCESS_SWITCHES].median,
         spreads[PROCESS_MEMORY].median);
}

static void print_table(struct turns *turns) {
  double ratios[PAIRS_MOST]; /* how many times faster ours is */
  for (uint32_t i = 0; i < turns->pairs; i++)
    ratios[i] = turns->values[BY_HAND][PROCESS_TIME][i] / turns->values[OURS][PROCESS_TIME][i];
  struct spread ratio = summarize(ratios, turns->pairs);
  struct bound bound = lower_bound(ratios, turns->pairs);
  printf("  whole processes       time, quartiles                     switches        memory\n");
  print_side(turns, OURS, "tidemark run");
  print_side(turns, BY_HAND, "by hand");
  printf(
      "    the ratio         %.2f, at most %.2f with %u %%  (pairs in turns: %u; the same bytes)\n",
      1 / ratio.median, 1 / bound.value, bound.percent, (unsigned)turns->pairs);
}

/* Remembers the command lines of both. */
static void set_commands(struct turns *turns, int argc, char **argv) {
  static char settings[4][PROCESS_PATH + 8];
  char *width = argc > 7 ? argv[6] : NULL, *height = argc > 7 ? argv[7] : NULL;
  char *ours[] = {argv[1],     "run",   argv[2],     "--set", settings[0], "--set",
                  settings[1], "--set", settings[2], "--set", settings[3], NULL};
  char *by_hand[] = {argv[3], argv[4], turns->folders[BY_HAND], width, height, NULL};
  snprintf(settings[0], sizeof settings[0], "output=%s", turns->folders[OURS]);
  snprintf(settings[1], sizeof settings[1], "input=%s", argv[4]);
  snprintf(settings[2], sizeof settings[2], "width=%s", width ? width : "16384");
  snprintf(settings[3], sizeof settings[3], "height=%s", height ? height : "16384");
  memcpy(turns->commands[OURS], ours, sizeof ours);
  memcpy(turns->commands[BY_HAND], by_hand, sizeof by_hand);
}

int main(int argc, char **argv) {
  static struct turns turns;
  uint32_t most = argc == 9 ? (uint32_t)atoi(argv[8]) : PAIRS_MOST;
  if ((argc != 6 && argc != 8 && argc != 9) || most < 1 || most > PAIRS_MOST) return 2;
  for (int side = 0; side < SIDES; side++) {
    snprintf(turns.folders[side], PROCESS_PATH, "%s/%s", argv[5], side ? "by-hand" : "tidemark");
    if (mkdir(turns.folders[side], 0777) != 0 && errno != EEXIST) return 1;
  }
  set_commands(&turns, argc, argv);
  bool good = true;
  for (double took = 0; good && turns.pairs < most && took < time_most;)
    good = run_pair(&turns, &took);
  for (int side = 0; side < SIDES; side++) {
    process_remove_outputs(turns.folders[side]);
    rmdir(turns.folders[side]);
  }
  if (good) print_table(&turns);
  return !good;
}
