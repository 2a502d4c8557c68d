/* The counts, limits and findings of all runs of explore, each once. */
#include "tool/vulkan_explore.h"

#include <stdlib.h>
#include <string.h>

#define DIFFERENT_MOST 1000 /* counts, limits, findings; each run has one schedule */

/* ---- totals ---------------------------------------------------------------------- */

/* Finds a text, or appends it with number 0. NULL: out of memory, or `most` texts are kept. */
static struct tide_vulkan_total *find_total(struct tide_vulkan_totals *totals, const char *text,
                                            size_t most) {
  for (size_t i = 0; i < totals->count; i++)
    if (strcmp(totals->list[i].text, text) == 0) return &totals->list[i];
  if (totals->count >= most) return NULL;
  if (totals->count == totals->capacity) {
    size_t capacity = totals->capacity ? 2 * totals->capacity : 16;
    struct tide_vulkan_total *list = realloc(totals->list, capacity * sizeof *list);
    if (!list) return NULL;
    totals->list = list;
    totals->capacity = capacity;
  }
  struct tide_vulkan_total *total = &totals->list[totals->count];
  *total = (struct tide_vulkan_total){.text = strdup(text)};
  if (!total->text) return NULL;
  totals->count++;
  return total;
}

static void free_totals(struct tide_vulkan_totals *totals) {
  for (size_t i = 0; i < totals->count; i++) free(totals->list[i].text);
  free(totals->list);
}

/* ---- findings -------------------------------------------------------------------- */

static struct tide_vulkan_found *append_finding(struct tide_vulkan_summary *summary,
                                                const char *kind, const char *text) {
  if (summary->finding_count == summary->finding_capacity) {
    size_t capacity = summary->finding_capacity ? 2 * summary->finding_capacity : 16;
    struct tide_vulkan_found *list = realloc(summary->findings, capacity * sizeof *list);
    if (!list) return NULL;
    summary->findings = list;
    summary->finding_capacity = capacity;
  }
  struct tide_vulkan_found *found = &summary->findings[summary->finding_count];
  *found = (struct tide_vulkan_found){.kind = strdup(kind), .text = strdup(text)};
  if (found->kind && found->text) {
    summary->finding_count++;
    return found;
  }
  free(found->kind), free(found->text);
  return NULL;
}

static bool add_seed(struct tide_vulkan_found *found, uint64_t seed) {
  if (found->seed_count && found->seeds[found->seed_count - 1] == seed) return true;
  if (found->seed_count == found->seed_capacity) {
    size_t capacity = found->seed_capacity ? 2 * found->seed_capacity : 8;
    uint64_t *seeds = realloc(found->seeds, capacity * sizeof *seeds);
    if (!seeds) return false;
    found->seeds = seeds;
    found->seed_capacity = capacity;
  }
  found->seeds[found->seed_count++] = seed;
  return true;
}

static bool add_finding(struct tide_vulkan_summary *summary, const struct tide_vulkan_line *line,
                        uint64_t seed) {
  struct tide_vulkan_found *found = NULL;
  for (size_t i = 0; i < summary->finding_count && !found; i++)
    if (strcmp(summary->findings[i].kind, line->word) == 0 &&
        strcmp(summary->findings[i].text, line->text) == 0)
      found = &summary->findings[i];
  if (!found && summary->finding_count == DIFFERENT_MOST) {
    summary->is_cut = true;
    return true;
  }
  if (!found) found = append_finding(summary, line->word, line->text);
  return found && add_seed(found, seed);
}

static bool add_total(struct tide_vulkan_summary *summary, struct tide_vulkan_totals *totals,
                      const char *text, uint64_t number) {
  struct tide_vulkan_total *total = find_total(totals, text, DIFFERENT_MOST);
  if (total) total->number += number;
  else if (totals->count == DIFFERENT_MOST) summary->is_cut = true;
  else return false;
  return true;
}

/* ---- reports --------------------------------------------------------------------- */

static bool add_report(struct tide_vulkan_summary *summary, const struct tide_vulkan_report *report,
                       uint64_t seed) {
  if (!summary->layer) summary->layer = strdup(report->file);
  bool good = summary->layer != NULL;
  for (size_t i = 0; i < report->count_count && good; i++)
    good = add_total(summary, &summary->counts, report->counts[i].name, report->counts[i].number);
  for (size_t i = 0; i < report->line_count && good; i++) {
    const struct tide_vulkan_line *line = &report->lines[i];
    if (line->kind == TIDE_VULKAN_LINE_FINDING) good = add_finding(summary, line, seed);
    if (line->kind == TIDE_VULKAN_LINE_LIMIT)
      good = add_total(summary, &summary->limits, line->text, 1);
  }
  return good;
}

bool tide_vulkan_summary_add(struct tide_vulkan_summary *summary,
                             const struct tide_vulkan_reports *reports, uint64_t seed,
                             const char *schedule) {
  bool good = !*schedule || find_total(&summary->schedules, schedule, SIZE_MAX);
  for (size_t i = 0; i < reports->count && good; i++)
    good = add_report(summary, &reports->list[i], seed);
  return good;
}

void tide_vulkan_summary_free(struct tide_vulkan_summary *summary) {
  free_totals(&summary->counts);
  free_totals(&summary->limits);
  free_totals(&summary->schedules);
  for (size_t i = 0; i < summary->finding_count; i++) {
    free(summary->findings[i].kind);
    free(summary->findings[i].text);
    free(summary->findings[i].seeds);
  }
  free(summary->findings);
  free(summary->layer);
}

uint64_t tide_vulkan_summary_count(const struct tide_vulkan_summary *summary, const char *name) {
  for (size_t i = 0; i < summary->counts.count; i++)
    if (strcmp(summary->counts.list[i].text, name) == 0) return summary->counts.list[i].number;
  return 0;
}
