/* From a program that violates something to a small one that still does. */
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool skips[MAX_STEPS];

static bool still(uint64_t seed, const struct config *config, bool contracts,
                  struct outcome *outcome) {
  struct outcome tried;
  run_seed(seed, config, false, contracts, &tried);
  if (tried.violated) *outcome = tried;
  return tried.violated;
}

/* Each number of the configuration: nothing of it at all, else half of it. What there must be one
 * of stays. */
static bool shrink_fields(uint64_t seed, struct config *config, bool contracts,
                          struct outcome *outcome) {
  uint32_t *fields[64];
  const char *names[64];
  bool any = false;
  size_t count = config_fields(config, fields, names, 64);
  for (size_t i = 0; i < count; i++) {
    uint32_t before = *fields[i];
    for (uint32_t value = 0; value < before; value = value ? before : before / 2) {
      *fields[i] = value;
      bool needed = strcmp(names[i], "queues") == 0 || strcmp(names[i], "devices") == 0 ||
                    strcmp(names[i], "timelines") == 0;
      if (!(needed && !value) && still(seed, config, contracts, outcome)) {
        any = true;
        break;
      }
      *fields[i] = before;
      if (before < 2) break;
    }
  }
  return any;
}

/* Leaves out runs of steps, shorter and shorter ones. */
static void shrink_steps(uint64_t seed, struct config *config, bool contracts,
                         struct outcome *outcome) {
  config->skip = skips;
  if (outcome->steps < config->steps) {
    uint32_t before = config->steps;
    config->steps = outcome->steps;
    if (!still(seed, config, contracts, outcome)) config->steps = before;
  }
  for (uint32_t length = config->steps / 2; length; length /= 2) {
    for (uint32_t first = 1; first <= config->steps; first += length) {
      bool before[MAX_STEPS];
      memcpy(before, skips, sizeof skips);
      for (uint32_t i = first; i < first + length && i <= config->steps; i++) skips[i] = true;
      if (memcmp(before, skips, sizeof skips) != 0 && !still(seed, config, contracts, outcome))
        memcpy(skips, before, sizeof skips);
    }
  }
}

uint32_t shrink(uint64_t seed, struct config *config, bool contracts, struct outcome *outcome) {
  uint32_t left = 0;
  memset(skips, 0, sizeof skips);
  config->skip = skips;
  shrink_steps(seed, config, contracts, outcome);
  for (int round = 0; round < 3 && shrink_fields(seed, config, contracts, outcome); round++)
    shrink_steps(seed, config, contracts, outcome);
  for (uint32_t i = 1; i <= config->steps && i < MAX_STEPS; i++) left += !skips[i];
  return left;
}

/* ---- saying it ---------------------------------------------------------------------- */

void print_config(const struct config *drawn, const struct config *config) {
  struct config a = *drawn, b = *config;
  uint32_t *before[64], *after[64];
  const char *names[64];
  size_t count = config_fields(&a, before, names, 64);
  (void)config_fields(&b, after, names, 64);
  for (size_t i = 0; i < count; i++)
    if (*before[i] != *after[i]) printf(" --set %s=%u", names[i], *after[i]);
  const char *word = " --skip ";
  for (uint32_t i = 1; config->skip && i <= config->steps && i < MAX_STEPS; i++) {
    uint32_t last = i;
    if (!config->skip[i]) continue;
    while (last < config->steps && config->skip[last + 1]) last++;
    printf(last > i ? "%s%u-%u" : "%s%u", word, i, last);
    word = ",";
    i = last;
  }
  printf("\n");
}

bool skip_set(struct config *config, const char *text) {
  memset(skips, 0, sizeof skips);
  config->skip = skips;
  while (*text) {
    char *end;
    unsigned long first = strtoul(text, &end, 10), last = first;
    if (end == text) return false;
    text = end;
    if (*text == '-') {
      last = strtoul(text + 1, &end, 10);
      text = end;
    }
    if (!first || last >= MAX_STEPS || last < first) return false;
    for (; first <= last; first++) skips[first] = true;
    if (*text == ',') text++;
    else if (*text) return false;
  }
  return true;
}
