/* tidemark-bench [NAME…] [--json] [--smoke] [--list]: see bench.h. */
#include "bench.h"
#include "bench-table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15, ROUNDS_MAX = 101 };
static const uint64_t round_time = 10000000; /* ns a round should take */

static bool smoke, json;
static unsigned printed;

uint64_t bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool bench_smoke(void) { return smoke; }

static const char *skipped; /* why, when setup said so */
void *bench_skip(const char *why) {
  skipped = why;
  return NULL;
}

void bench_wrong(const char *what) {
  fflush(stdout);
  fprintf(stderr, "tidemark-bench: not true: %s\n", what);
  exit(1);
}

/* ---- statistics ---- */

static int compare(const void *a, const void *b) {
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

struct spread {
  double low, median, high; /* quartiles */
};

static struct spread summarize(double *values, uint32_t count) {
  qsort(values, count, sizeof *values, compare);
  return (struct spread){quantile(values, count, 0.25), quantile(values, count, 0.5),
                         quantile(values, count, 0.75)};
}

/* ---- measuring ---- */

struct side {
  void (*work)(void *state, uint64_t count);
  double (*measure)(void *state);
  uint64_t count; /* repetitions a round */
  double values[ROUNDS_MAX];
};

static uint64_t time_of(const struct side *side, void *state, uint64_t count) {
  uint64_t start = bench_now();
  side->work(state, count);
  return bench_now() - start;
}

/* How often to repeat, so that the clock's own cost and grain don't show. */
static void calibrate(struct side *side, void *state) {
  side->count = 1;
  if (!side->work || smoke) return;
  uint64_t took;
  while ((took = time_of(side, state, side->count)) < round_time / 4) {
    side->count *= took < round_time / 64 ? 8 : 2;
  }
  side->count = side->count * round_time / took;
  if (side->count == 0) side->count = 1;
}

static double measure(const struct side *side, void *state) {
  if (side->measure) return side->measure(state);
  return (double)time_of(side, state, side->count) / (double)side->count;
}

/* ---- printing ---- */

static void print_number(double value) {
  int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 1 ? 2 : 4;
  printf("%.*f", digits, value);
}

static void print_text(const char *group, const struct bench_figure *figure, struct spread ours,
                       struct spread theirs, struct spread ratio) {
  const char *unit = figure->unit ? figure->unit : "ns";
  char name[64];
  snprintf(name, sizeof name, "%s/%s", group, figure->name);
  printf("%-32s %s", name, figure->rival ? "ours " : "");
  print_number(ours.median);
  printf(" %s", unit);
  if (figure->rival) {
    printf("   %s ", figure->rival);
    print_number(theirs.median);
    printf(" %s   %.2fx (%.2f-%.2f)", unit, ratio.median, ratio.low, ratio.high);
  } else {
    printf(" (");
    print_number(ours.low);
    printf("-");
    print_number(ours.high);
    printf(")");
  }
  printf("\n");
}

static void print_json(const char *group, const struct bench_figure *figure, struct spread ours,
                       struct spread theirs, struct spread ratio) {
  printf("%s\n    {\"name\": \"%s/%s\", \"unit\": \"%s\", \"better\": \"%s\", \"ours\": %.6g, "
         "\"ours_quartiles\": [%.6g, %.6g]",
         printed ? "," : "", group, figure->name, figure->unit ? figure->unit : "ns",
         figure->better == BENCH_MORE ? "more" : "less", ours.median, ours.low, ours.high);
  if (figure->rival) {
    printf(", \"rival\": \"%s\", \"theirs\": %.6g, \"theirs_quartiles\": [%.6g, %.6g], "
           "\"ratio\": %.4g, \"ratio_quartiles\": [%.4g, %.4g]",
           figure->rival, theirs.median, theirs.low, theirs.high, ratio.median, ratio.low,
           ratio.high);
  }
  printf("}");
}

static void run(const char *group, const struct bench_figure *figure) {
  skipped = "not possible here";
  void *state = figure->setup ? figure->setup() : NULL;
  if (figure->setup && !state) {
    fprintf(json ? stderr : stdout, "%s %s/%s: %s\n", smoke ? "SKIP" : "skipped", group,
            figure->name, skipped);
    return;
  }
  static struct side ours, theirs;
  static double ratios[ROUNDS_MAX];
  ours = (struct side){.work = figure->ours, .measure = figure->measure_ours};
  theirs = (struct side){.work = figure->theirs, .measure = figure->measure_theirs};
  bool rival = theirs.work || theirs.measure;
  uint32_t rounds = smoke ? 1 : figure->rounds ? figure->rounds : ROUNDS;
  if (rounds > ROUNDS_MAX) rounds = ROUNDS_MAX;
  calibrate(&ours, state);
  if (rival) calibrate(&theirs, state);
  for (uint32_t i = 0; i < rounds; i++) {
    /* Who goes first changes each round. */
    if (i % 2 == 0) ours.values[i] = measure(&ours, state);
    if (rival) theirs.values[i] = measure(&theirs, state);
    if (i % 2 == 1) ours.values[i] = measure(&ours, state);
    ratios[i] = figure->better == BENCH_MORE ? ours.values[i] / theirs.values[i]
                                             : theirs.values[i] / ours.values[i];
  }
  if (figure->teardown) figure->teardown(state);
  struct spread a = summarize(ours.values, rounds), b = summarize(theirs.values, rounds);
  struct spread ratio = summarize(ratios, rounds);
  if (smoke) printf("PASS %s/%s\n", group, figure->name);
  else if (json) print_json(group, figure, a, b, ratio);
  else print_text(group, figure, a, b, ratio);
  fflush(stdout);
  printed++;
}

/* ---- the machine ---- */

static void read_cpu(char *name, size_t size) {
  snprintf(name, size, "unknown CPU");
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (file && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    colon[1 + strcspn(colon + 1, "\n")] = 0;
    snprintf(name, size, "%s", colon + 2);
    break;
  }
  if (file) fclose(file);
}

static void print_machine(void) {
  char cpu[128];
  struct utsname system;
  read_cpu(cpu, sizeof cpu);
  if (uname(&system) != 0) memset(&system, 0, sizeof system);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (json) {
    printf(
        "{\"machine\": {\"cpu\": \"%s\", \"cores\": %ld, \"system\": \"%s %s\"},\n  \"figures\": [",
        cpu, cores, system.sysname, system.release);
  } else if (!smoke) {
    printf("# %s, %ld cores, %s %s; medians of %d rounds in turns\n", cpu, cores, system.sysname,
           system.release, ROUNDS);
  }
}

/* ---- choosing ---- */

static bool chosen(const char *group, const char *figure, char **names, int count) {
  char name[64];
  snprintf(name, sizeof name, "%s/%s", group, figure);
  for (int i = 0; i < count; i++) {
    if (strstr(name, names[i])) return true;
  }
  return count == 0;
}

static unsigned run_group(const struct bench_group *group, char **names, int count, bool list) {
  unsigned found = 0;
  for (const struct bench_figure *figure = group->figures; figure->name; figure++) {
    if (!chosen(group->name, figure->name, names, count)) continue;
    found++;
    if (list) printf("%s/%s\n", group->name, figure->name);
    else run(group->name, figure);
  }
  return found;
}

static int usage(FILE *to) {
  fputs("usage: bench [NAME...] [--json] [--smoke] [--list]\n"
        "  NAME     only figures whose group/name contains one of these\n"
        "  --json   for programs\n"
        "  --smoke  one short round of each, only to see that they work\n"
        "  --list   names only\n",
        to);
  return to == stdout ? 0 : 2;
}

int main(int argc, char **argv) {
  bool list = false;
  int names = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) json = true;
    else if (strcmp(argv[i], "--smoke") == 0) smoke = true;
    else if (strcmp(argv[i], "--list") == 0) list = true;
    else if (strcmp(argv[i], "--help") == 0) return usage(stdout);
    else if (strncmp(argv[i], "--", 2) == 0) return usage(stderr);
    else argv[1 + names++] = argv[i];
  }
  if (!list) print_machine();
  unsigned found = 0;
  size_t groups = sizeof bench_groups / sizeof *bench_groups;
  for (size_t i = 0; i < groups; i++) { /* the machine's own floors come first */
    if (strcmp(bench_groups[i].name, "floors") == 0)
      found += run_group(&bench_groups[i], argv + 1, names, list);
  }
  for (size_t i = 0; i < groups; i++) {
    if (strcmp(bench_groups[i].name, "floors") != 0)
      found += run_group(&bench_groups[i], argv + 1, names, list);
  }
  if (json && !list) puts("\n  ]\n}");
  if (found == 0) fprintf(stderr, "tidemark-bench: no figure has such a name; see --list\n");
  return found == 0 ? 2 : 0;
}
