/* The report of explore as text. */
#include "tool/vulkan_explore.h"

#include <string.h>

#define SEEDS_SHOWN 8

static void print_indented(const char *text, const char *indent, FILE *to) {
  while (text && *text) {
    size_t length = strcspn(text, "\n");
    fprintf(to, "%s%.*s\n", indent, (int)length, text);
    text += length + (text[length] == '\n');
  }
}

static void print_difference(const struct tide_vulkan_difference *difference, FILE *to) {
  if (difference->is_missing) fprintf(to, "%s was not written", difference->target);
  else
    fprintf(to, "%s differs from byte %llu on", difference->target,
            (unsigned long long)difference->offset);
}

void tide_vulkan_print_outcome(const struct tide_vulkan_outcome *outcome, FILE *to) {
  const char *between = "";
  char ending[128];
  tide_vulkan_ending_text(&outcome->ending, ending, sizeof ending);
  fprintf(to, "seed %llu: ", (unsigned long long)outcome->seed);
  if (outcome->failures & TIDE_VULKAN_DIFFERS) {
    print_difference(&outcome->difference, to);
    between = "; ";
  }
  static const struct {
    unsigned failure;
    const char *text;
  } rows[] = {{TIDE_VULKAN_HANG, "hang: "},
              {TIDE_VULKAN_CRASH, "crash: "},
              {TIDE_VULKAN_STATUS, "differs: "}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!(outcome->failures & rows[i].failure)) continue;
    fprintf(to, "%s%s%s", between, rows[i].text, ending);
    between = "; ";
  }
  if (outcome->failures & TIDE_VULKAN_DEVICE_LOST) {
    fprintf(to, "%sthe device was lost", between);
    between = "; ";
  }
  if (outcome->failures & TIDE_VULKAN_FINDING) fprintf(to, "%sfindings", between);
  if (!outcome->failures)
    fputs(outcome->is_silent   ? "no report came"
          : outcome->is_broken ? "its report cannot be read"
                               : "same",
          to);
  fputc('\n', to);
  print_indented(outcome->account, "    ", to);
}

/* ---- all runs together ----------------------------------------------------------- */

static void print_counts(const struct tide_vulkan_exploration *e, FILE *to) {
  static const struct {
    const char *count, *text;
    bool is_always_shown;
  } rows[] = {{"choices", "choices met", true}, {"forced", "forced picks", false},
              {"timer", "timer picks", true},   {"bound", "bound picks", false},
              {"flushed", "flushed", false},    {"dropped", "waits dropped", false}};
  fprintf(to, "%zu run%s, %zu different order%s", e->outcome_count,
          e->outcome_count == 1 ? "" : "s", e->summary.schedules.count,
          e->summary.schedules.count == 1 ? "" : "s");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint64_t number = tide_vulkan_summary_count(&e->summary, rows[i].count);
    if (number || rows[i].is_always_shown)
      fprintf(to, ", %s %llu", rows[i].text, (unsigned long long)number);
  }
  uint64_t edges = tide_vulkan_summary_count(&e->summary, "edges");
  if (edges) fprintf(to, ", edges %llu a run", (unsigned long long)(edges / e->outcome_count));
  fprintf(to, "\npairs that could go in either order: %s%zu, tried in one only: %zu",
          e->pairs.is_cut ? "at least " : "", e->pairs.count, tide_vulkan_pairs_untried(&e->pairs));
  fputc('\n', to);
}

static void print_finding(const struct tide_vulkan_found *found, FILE *to) {
  fprintf(to, "finding, %s: %s (seed%s", found->kind, found->text,
          found->seed_count == 1 ? "" : "s");
  for (size_t i = 0; i < found->seed_count && i < SEEDS_SHOWN; i++)
    fprintf(to, "%s %llu", i ? "," : "", (unsigned long long)found->seeds[i]);
  if (found->seed_count > SEEDS_SHOWN)
    fprintf(to, " and %zu more", found->seed_count - SEEDS_SHOWN);
  fputs(")\n", to);
}

static void print_shrunk(const struct tide_vulkan_exploration *e, FILE *to) {
  const struct tide_vulkan_shrunk *shrunk = &e->shrunk;
  unsigned long long seed = shrunk->seed;
  switch (shrunk->end) {
    case TIDE_VULKAN_SHRINK_NONE:
      if (shrunk->why && !e->job->no_shrink)
        fprintf(to, "seed %llu: the cause was not looked for: %s\n", seed, shrunk->why);
      return;
    case TIDE_VULKAN_SHRINK_NOT_REPRODUCED:
      fprintf(to, "seed %llu: not reproducible by its order: timing takes part\n", seed);
      return;
    case TIDE_VULKAN_SHRINK_PAIR:
      fprintf(to,
              "seed %llu: submissions %llu and %llu had to change places: nothing orders them\n",
              seed, (unsigned long long)shrunk->first, (unsigned long long)shrunk->later);
      print_indented(shrunk->account, "    ", to);
      break;
    case TIDE_VULKAN_SHRINK_PREFIX:
      fprintf(to,
              "seed %llu: no single pair of submissions fails alone; the first %zu of %zu picks "
              "fail\n",
              seed, shrunk->prefix, shrunk->picks);
      if (shrunk->order[0])
        fprintf(
            to,
            "    to see it again: --replay %s, with the options and words of this run (%s ...)\n",
            shrunk->order, e->job->program[0]);
      break;
  }
  fprintf(to, "    found in %u run%s%s\n", shrunk->runs, tide_tool_plural(shrunk->runs),
          shrunk->is_cut_short ? ", the most; a longer search might find less" : "");
}

static void print_verdict(const struct tide_vulkan_exploration *e, FILE *to) {
  size_t failed = 0;
  for (size_t i = 0; i < e->outcome_count; i++) failed += e->outcomes[i].failures != 0;
  if (e->interrupt) fprintf(to, "ended by signal %d before all runs were made\n", e->interrupt);
  else if (e->verdict == TIDE_VULKAN_FOUND)
    fprintf(to, "found: %zu of %zu run%s failed\n", failed, e->outcome_count,
            tide_tool_plural(e->outcome_count));
  else if (e->verdict == TIDE_VULKAN_CLEAN) fputs("nothing found\n", to);
  else if (e->verdict == TIDE_VULKAN_NOT_EXPLORED) fprintf(to, "not explored: %s\n", e->reason);
  else if (e->verdict == TIDE_VULKAN_NOT_COMPARABLE) fprintf(to, "not compared: %s\n", e->reason);
}

void tide_vulkan_print_exploration(const struct tide_vulkan_exploration *e, FILE *to) {
  if (to != stdout) /* on stdout each was printed as it came */
    for (size_t i = 0; i < e->outcome_count; i++) tide_vulkan_print_outcome(&e->outcomes[i], to);
  if (e->outcome_count) {
    if (e->plain.number)
      fprintf(to, "without the layer, too, the exit status is %d\n", e->plain.number);
    if (e->summary.layer) tide_vulkan_print_layer(e->summary.layer, "", to);
    for (size_t i = 0; i < e->summary.finding_count; i++)
      print_finding(&e->summary.findings[i], to);
    for (size_t i = 0; i < e->summary.limits.count; i++)
      fprintf(to, "limit: %s\n", e->summary.limits.list[i].text);
    if (e->summary.is_cut) fputs("more findings, limits or counts came than are kept\n", to);
    print_counts(e, to);
    print_shrunk(e, to);
  }
  print_verdict(e, to);
}
