/* tidemark patterns: runs patterns with each way, and says what each is worth. */
#include "command.h"
#include "gpu.h"
#include "report.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One line of the table. */
struct line {
  const struct pattern *pattern;
  const struct way *way;
  const struct settings *settings;
  const struct outcome *outcome;
  const struct pace *pace;
  double over_spin; /* spin's time over its time; 0: spin did not run */
};

static double share(uint64_t part, uint64_t whole) {
  return whole ? (double)part / (double)whole : 0;
}

static void print_head(const struct options *o) {
  const struct settings *s = &o->settings;
  printf("%u consumers, %s; messages of %zu KiB; production %u us a message, C1 and C2 %u us\n",
         (unsigned)s->consumers, s->pinned ? "on one core, the producer on another" : "not pinned",
         s->bytes / 1024, (unsigned)s->us[PRODUCE], (unsigned)s->us[C1]);
  printf("%-12s %-10s %9s %8s %7s %11s  %s\n", "pattern", "way", "ms", "vs spin", "waited",
         "checks", "check");
}

static void print_line(const struct line *l) {
  const struct outcome *out = l->outcome;
  char ratio[16] = "-", waited[16] = "-", checks[24] = "-";
  if (l->over_spin > 0) snprintf(ratio, sizeof ratio, "%.2fx", l->over_spin);
  if (!l->way->faults) {
    snprintf(waited, sizeof waited, "%.1f%%", 100 * share(out->waited_ns, out->alive_ns));
    snprintf(checks, sizeof checks, "%llu", (unsigned long long)out->checks);
  }
  printf("%-12s %-10s %9.1f %8s %7s %11s  %s%s\n", l->pattern->name, l->way->name,
         (double)out->ns / 1e6, ratio, waited, checks, out->good ? "ok" : "FAILED: ", out->said);
}

/* Names, numbers, and texts of ours that need no escapes. */
static void print_json(const struct line *l, const char *before) {
  const struct settings *s = l->settings;
  const struct outcome *out = l->outcome;
  printf("%s\n {\"pattern\":\"%s\",\"model\":\"%s\",\"access\":\"%s\",\"way\":\"%s\"", before,
         l->pattern->name,
         model_names[l->pattern == &pattern_generator ? s->model : l->pattern->model],
         access_names[l->pattern == &pattern_generator ? s->access : l->pattern->access],
         l->way->name);
  printf(",\"slice_us\":%u,\"consumers\":%u,\"cycles\":%u,\"bytes\":%zu,\"pinned\":%s",
         (unsigned)s->slice, (unsigned)s->consumers,
         (unsigned)(s->cycles ? s->cycles : l->pattern->cycles), s->bytes,
         s->pinned ? "true" : "false");
  printf(",\"asked_us\":[%u,%u,%u],\"us\":[%.1f,%.1f,%.1f]", (unsigned)s->us[PRODUCE],
         (unsigned)s->us[C1], (unsigned)s->us[C2], l->pace->us[PRODUCE], l->pace->us[C1],
         l->pace->us[C2]);
  printf(",\"ns\":%llu,\"over_spin\":", (unsigned long long)out->ns);
  if (l->over_spin > 0) printf("%.4f", l->over_spin);
  else fputs("null", stdout);
  printf(",\"messages\":%llu,\"waits\":%llu,\"waited_ns\":%llu,\"waited\":%.4f,\"checks\":%llu",
         (unsigned long long)out->messages, (unsigned long long)out->waits,
         (unsigned long long)out->waited_ns, share(out->waited_ns, out->alive_ns),
         (unsigned long long)out->checks);
  printf(",\"producer_waited_ns\":%llu", (unsigned long long)out->producer_waited_ns);
  printf(",\"cpu_ns\":%llu,\"good\":%s,\"said\":\"%s\"}", (unsigned long long)out->cpu_ns,
         out->good ? "true" : "false", out->said);
}

/* Real work cannot be made shorter than it is. */
static void print_slow(const struct pattern *pattern, const struct settings *s,
                       const struct pace *pace) {
  static const char *const names[PHASES] = {"production", "C1", "C2"};
  for (int i = 0; i < PHASES; i++)
    if (s->us[i] && pace->times[i] == 1 && pace->us[i] > 1.1 * s->us[i])
      printf("%-12s %s takes %.0f us\n", pattern->name, names[i], pace->us[i]);
}

/* One pattern with each way; false: a check failed. */
static bool run_ways(const struct options *o, const struct pattern *pattern,
                     const struct settings *s, bool *first) {
  struct pace pace;
  struct outcome out;
  uint64_t spin = 0;
  bool calibrated = run_calibrate(pattern, s, &pace, &out), good = calibrated;
  if (!calibrated) fprintf(stderr, "tidemark patterns: %s: %s\n", pattern->name, out.said);
  else if (!o->json) print_slow(pattern, s, &pace);
  for (size_t i = 0; i < o->way_count && calibrated; i++) {
    const struct way *way = o->ways[i];
    run_pattern(pattern, way, s, &pace, PLANT_NOTHING, &out);
    if (way == &way_spin) spin = out.ns;
    struct line line = {pattern, way,   s,
                        &out,    &pace, spin && out.ns ? (double)spin / (double)out.ns : 0};
    if (o->json) print_json(&line, *first ? "" : ",");
    else print_line(&line);
    fflush(stdout);
    *first = false;
    good = out.good && good;
  }
  return good;
}

/* The generator runs each combination that was asked for. */
static bool run_generator(const struct options *o, bool *first) {
  bool good = true;
  struct settings s = o->settings;
  for (int model = 0; model < MODELS; model++)
    for (int access = 0; access < ACCESSES; access++) {
      if (!(o->models & 1u << model) || !(o->accesses & 1u << access)) continue;
      s.model = (enum model)model;
      s.access = (enum access)access;
      if (!o->json) printf("%s, %s:\n", model_names[model], access_names[access]);
      good = run_ways(o, &pattern_generator, &s, first) && good;
    }
  return good;
}

/* ---- consumers on a GPU ---- */

static bool run_gpu_ways(const struct options *o, struct gpu *gpu, const struct pattern *pattern,
                         bool *first) {
  struct pace pace;
  struct outcome out;
  uint64_t baseline = 0;
  bool good = run_calibrate(pattern, &o->settings, &pace, &out), calibrated = good;
  if (!good) fprintf(stderr, "tidemark patterns: %s: %s\n", pattern->name, out.said);
  for (uint32_t i = 0; i < GPU_WAY_COUNT && calibrated; i++) {
    if (!(o->gpu_ways & 1u << i)) continue;
    gpu_run(gpu, pattern, &gpu_ways[i], &o->settings, &pace, PLANT_NOTHING, &out);
    if (i == 0) baseline = out.ns;
    struct line line = {pattern,      &gpu_ways[i],
                        &o->settings, &out,
                        &pace,        baseline && out.ns ? (double)baseline / (double)out.ns : 0};
    if (o->json) print_json(&line, *first ? "" : ",");
    else print_line(&line);
    fflush(stdout);
    *first = false;
    good = out.good && good;
  }
  return good;
}

/* Without a GPU nothing runs, and that is said; it is no failure. */
static int run_on_gpu(const struct options *o) {
  char said[256];
  bool none, good = true, first = true;
  struct gpu *gpu = gpu_open(o->driver, said, sizeof said, &none);
  if (!gpu) {
    fprintf(none ? stdout : stderr, "%s: %s\n", none ? "SKIP" : "tidemark patterns", said);
    return none ? 0 : 1;
  }
  const struct settings *s = &o->settings;
  if (o->json) fputs("[", stdout);
  else {
    printf("%u consumers on %s, the producer on the host; messages of %zu KiB; production %u us a "
           "message, C1 and C2 %u us\n",
           (unsigned)s->consumers, gpu_name(gpu), s->bytes / 1024, (unsigned)s->us[PRODUCE],
           (unsigned)s->us[C1]);
    printf("%-12s %-10s %9s %8s %7s %11s  %s\n", "pattern", "way", "ms", "vs alg1", "waited",
           "checks", "check");
  }
  for (size_t i = 0; i < o->pattern_count; i++)
    good = run_gpu_ways(o, gpu, o->patterns[i], &first) && good;
  if (o->json) puts("\n]");
  gpu_close(gpu);
  return good ? 0 : 1;
}

static void list(void) {
  for (size_t i = 0; i < pattern_count; i++)
    printf("%-10s %-15s %-15s %s\n", patterns[i]->name, model_names[patterns[i]->model],
           access_names[patterns[i]->access], patterns[i]->summary);
  printf("%-10s %-15s %-15s %s\n\n", pattern_generator.name, "--model", "--access",
         pattern_generator.summary);
  for (size_t i = 0; i < way_count; i++) printf("%-10s %s\n", ways[i]->name, ways[i]->summary);
  for (size_t i = 0; i < GPU_WAY_COUNT; i++)
    printf("%-10s %s\n", gpu_ways[i].name, gpu_ways[i].summary);
}

int patterns_command(int argc, char **argv, patterns_hint *hint) {
  struct options o;
  bool good = true, first = true;
  if (!patterns_read_options(argc, argv, hint, &o)) return 2;
  if (o.help) return 0;
  if (o.list) return list(), 0;
  if (o.report) return report_write(&o);
  if (o.cuda) return run_on_gpu(&o);
  if (o.json) fputs("[", stdout);
  else print_head(&o);
  for (size_t i = 0; i < o.pattern_count; i++) {
    bool generator = o.patterns[i] == &pattern_generator;
    good = (generator ? run_generator(&o, &first)
                      : run_ways(&o, o.patterns[i], &o.settings, &first)) &&
           good;
  }
  if (o.json) puts("\n]");
  return good ? 0 : 1;
}
