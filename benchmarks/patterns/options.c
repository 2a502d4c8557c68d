/* The command line. */
#include "command.h"
#include "gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char help[] =
    "usage: tidemark patterns [NAME...] [OPTIONS]\n"
    "Runs ten communication patterns (or those named), small versions of real applications, with\n"
    "different ways of waiting for data, and checks the numbers that they compute.\n\n"
    "  --list             what patterns and ways there are\n"
    "  --way NAMES        spin,futex for instance; policies are five that others proposed, all is\n"
    "                     all (all but the policies)\n"
    "  --device NAME      cpu, or cuda: consumers are warps of a GPU; its ways are algorithm1,\n"
    "                     polled, split and parked, and not all patterns have such consumers\n"
    "  --driver FILE      the GPU's driver (libcuda.so.1)\n"
    "  --consumers N      from 1 to 4096 (16)\n"
    "  --produce US       how long the producer works for a message, from 0 to 100000 (100)\n"
    "  --work US          how long a consumer works for a message before it needs it, and how\n"
    "                     long after, from 0 to 100000 (100); 0: as long as it takes\n"
    "  --message BYTES    4096 to 1048576, a multiple of 4096; 4K and 64K will do (4K)\n"
    "  --cycles N         from 2 to 10000; each pattern has its own number\n"
    "  --shared           nobody is pinned; else consumers share one core, the producer has "
    "another\n"
    "  --slice US         how long a consumer may run while others want the core, from 100 to\n"
    "                     100000; the kernel's own number else (about 3000): what polling costs\n"
    "                     depends on it, and a device that switches at each instruction has none\n"
    "  --seed N           for the data (1)\n"
    "  --limit SECONDS    a run that takes longer has failed (120)\n"
    "  --json             prints numbers for programs\n"
    "  --report DIR       measures all of them (or those named) with all ways over a fixed grid:\n"
    "                     4, 16, 64, 256 consumers; production 25, 100, 200, 400 us; messages of\n"
    "                     4K and 64K; on two devices and shared. Writes tables, numbers and\n"
    "                     drawings into DIR, which is made; says how long it will take\n"
    "  --quick            with --report: a small part of it, in a minute or so\n"
    "  --rounds N         with --report: how often each is run, 1 to 15; else up to 3 times, but\n"
    "                     not where that takes long\n"
    "  --help             this text\n\n"
    "The pattern `generator` makes messages that carry no application, and takes\n"
    "  --model NAME       unidirectional, alternating, multiple, probabilistic or all (all)\n"
    "  --access NAME      streaming, adjacent, scatter-gather, random or all (all)\n"
    "  --n0 N, --n1 N     messages to a consumer and back in a cycle, 1 to 64 (2 and 2); only\n"
    "                     multiple and probabilistic use them\n"
    "  --xi P             how likely each of them is in probabilistic (0.5)\n";

static bool wrong(const char *format, const char *what) {
  fputs("tidemark patterns: ", stderr);
  fprintf(stderr, format, what);
  fputs("; see tidemark patterns --help\n", stderr);
  return false;
}

/* 64K is 65536. */
static bool parse(const char *text, uint64_t *out) {
  char *rest;
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  unsigned long long number = strtoull(text, &rest, 10);
  if (*rest == 'K' && number < 1u << 30) number *= 1024, rest++;
  *out = number;
  return !errno && !*rest;
}

/* ---- names ---- */

static bool add_pattern(struct options *o, const char *name) {
  const struct pattern *found = NULL;
  if (strcasecmp(name, pattern_generator.name) == 0) found = &pattern_generator;
  for (size_t i = 0; i < pattern_count; i++)
    if (strcasecmp(name, patterns[i]->name) == 0) found = patterns[i];
  if (!found) return wrong("there is no pattern '%s': --list says what there is", name);
  for (size_t i = 0; i < o->pattern_count; i++)
    if (o->patterns[i] == found) return true;
  o->patterns[o->pattern_count++] = found;
  return true;
}

static bool is_word(const char *word, const char *text, size_t length) {
  return strlen(word) == length && memcmp(word, text, length) == 0;
}

/* One, or a group of them; false: there is none. */
static bool add_ways(struct options *o, const char *name, size_t length) {
  for (uint32_t i = 0; i < GPU_WAY_COUNT; i++)
    if (is_word(gpu_ways[i].name, name, length)) return o->gpu_ways |= 1u << i, true;
  bool all = is_word("all", name, length), policies = is_word("policies", name, length);
  bool found = false;
  for (size_t i = 0; i < way_count; i++) {
    bool there = false;
    if (!all && !(policies && ways[i]->policy) && !is_word(ways[i]->name, name, length)) continue;
    for (size_t k = 0; k < o->way_count; k++) there = there || o->ways[k] == ways[i];
    if (!there) o->ways[o->way_count++] = ways[i];
    found = true;
  }
  return found;
}

static bool take_ways(struct options *o, const char *value) {
  o->way_count = 0;
  for (const char *at = value;;) {
    size_t length = strcspn(at, ",");
    if (!add_ways(o, at, length)) return wrong("'%s' is no way: --list says what there is", value);
    if (!at[length]) return true;
    at += length + 1;
  }
}

/* Bits of those meant. */
static bool take_choice(const char *option, const char *value, const char *const *names,
                        uint32_t count, uint32_t *out) {
  *out = (1u << count) - 1;
  if (strcmp(value, "all") == 0) return true;
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(value, names[i]) == 0) return *out = 1u << i, true;
  char text[64];
  snprintf(text, sizeof text, "%s has no '%%s'", option);
  return wrong(text, value);
}

/* ---- numbers ---- */

static bool take_number(const char *name, const char *value, struct options *o) {
  struct settings *s = &o->settings;
  uint32_t bytes = (uint32_t)s->bytes, seed = (uint32_t)s->seed, waits = s->us[C1];
  const struct {
    const char *name;
    uint64_t least, most;
    uint32_t *out;
  } numbers[] = {
      {"--consumers", 1, 4096, &s->consumers},
      {"--produce", 0, 100000, &s->us[PRODUCE]},
      {"--work", 0, 100000, &waits},
      {"--message", 4096, 1048576, &bytes},
      {"--cycles", 2, 10000, &s->cycles},
      {"--limit", 1, 100000, &s->limit},
      {"--seed", 0, UINT32_MAX, &seed},
      {"--n0", 1, 64, &s->n0},
      {"--n1", 1, 64, &s->n1},
      {"--slice", 100, 100000, &s->slice},
      {"--rounds", 1, 15, &o->rounds},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    uint64_t number;
    char text[96];
    if (strcmp(name, numbers[i].name) != 0) continue;
    bool good = parse(value, &number) && number >= numbers[i].least && number <= numbers[i].most;
    if (good) *numbers[i].out = (uint32_t)number;
    if (!good || bytes % 4096) {
      snprintf(text, sizeof text, "%s takes a %s from %u to %u, not '%%s'", name,
               numbers[i].out == &bytes ? "multiple of 4096" : "number", (unsigned)numbers[i].least,
               (unsigned)numbers[i].most);
      return wrong(text, value);
    }
    s->bytes = bytes;
    s->seed = seed;
    s->us[C1] = s->us[C2] = waits;
    return true;
  }
  return wrong("there is no option %s", name);
}

static bool take_xi(const char *value, struct options *o) {
  char *rest;
  double xi = strtod(value, &rest);
  if (rest == value || *rest || !(xi >= 0 && xi <= 1))
    return wrong("--xi takes a number from 0 to 1, not '%s'", value);
  o->settings.xi = xi;
  return true;
}

/* All options: FLAGS without a value, then those with one. */
enum { FLAGS = 5 };
static const char *const names[] = {"--json",   "--list",      "--quick",   "--shared", "--help",
                                    "--way",    "--consumers", "--produce", "--work",   "--message",
                                    "--limit",  "--cycles",    "--seed",    "--model",  "--access",
                                    "--n0",     "--n1",        "--xi",      "--slice",  "--report",
                                    "--rounds", "--device",    "--driver",  NULL};

/* What takes a value; NULL: nothing of this name does. */
static const char *option_name(const char *name) {
  for (const char *const *at = names + FLAGS; *at; at++)
    if (strcmp(name, *at) == 0) return *at;
  return NULL;
}

static bool is_flag(const char *name) {
  for (size_t i = 0; i < FLAGS; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

static bool unknown_option(const char *name, patterns_hint *hint) {
  char text[160];
  snprintf(text, sizeof text, "there is no option %%s%s", hint(name, names));
  return wrong(text, name);
}

static bool take_folder(struct options *o, const char *value) {
  if (!*value) return wrong("--report needs a folder%s", "");
  o->report = value;
  return true;
}

static bool take_option(const char *name, const char *value, struct options *o) {
  if (strcmp(name, "--report") == 0) return take_folder(o, value);
  if (strcmp(name, "--seed") != 0 && strcmp(name, "--rounds") != 0) o->setting = option_name(name);
  if (strcmp(name, "--way") == 0) return take_ways(o, value);
  if (strcmp(name, "--model") == 0)
    return take_choice(name, value, model_names, MODELS, &o->models);
  if (strcmp(name, "--access") == 0)
    return take_choice(name, value, access_names, ACCESSES, &o->accesses);
  if (strcmp(name, "--xi") == 0) return take_xi(value, o);
  if (strcmp(name, "--driver") == 0) return o->driver = value, true;
  if (strcmp(name, "--device") == 0) {
    o->cuda = strcmp(value, "cuda") == 0;
    return o->cuda || strcmp(value, "cpu") == 0 || wrong("--device has no '%s'", value);
  }
  return take_number(name, value, o);
}

static bool read_flag(const char *name, struct options *o) {
  if (strcmp(name, "--json") == 0) return o->setting = "--json", o->json = true;
  if (strcmp(name, "--list") == 0) return o->list = true;
  if (strcmp(name, "--quick") == 0) return o->quick = true;
  if (strcmp(name, "--shared") == 0) {
    o->setting = "--shared";
    o->settings.pinned = false;
    return true;
  }
  return false;
}

/* A report's grid is fixed, and its patterns are applications. */
static bool fits_report(const struct options *o) {
  if (!o->report && (o->quick || o->rounds))
    return wrong("%s goes with --report", o->quick ? "--quick" : "--rounds");
  if (!o->report) return true;
  if (o->setting) return wrong("a report's grid is fixed: %s does not go with it", o->setting);
  for (size_t i = 0; i < o->pattern_count; i++)
    if (o->patterns[i] == &pattern_generator)
      return wrong("a report is about the ten: %s is none", pattern_generator.name);
  return true;
}

/* A device's own ways, and patterns that it has. */
static bool fit_together(const struct options *o) {
  if (o->cuda ? o->way_count > 0 : o->gpu_ways != 0)
    return wrong("%s has other ways: --list says which", o->cuda ? "cuda" : "cpu");
  for (size_t i = 0; o->cuda && i < o->pattern_count; i++)
    if (!o->patterns[i]->gpu) return wrong("%s has no consumers for a GPU", o->patterns[i]->name);
  return true;
}

static void add_defaults(struct options *o) {
  bool ways_given = o->way_count > 0;
  if (o->cuda) {
    if (!o->gpu_ways) o->gpu_ways = (1u << GPU_WAY_COUNT) - 1;
    bool all = o->pattern_count == 0;
    for (size_t i = 0; all && i < pattern_count; i++)
      if (patterns[i]->gpu) o->patterns[o->pattern_count++] = patterns[i];
    return;
  }
  for (size_t i = 0; !ways_given && i < way_count; i++)
    if (!ways[i]->policy) o->ways[o->way_count++] = ways[i];
  if (o->pattern_count) return;
  for (size_t i = 0; i < pattern_count; i++) o->patterns[o->pattern_count++] = patterns[i];
}

bool patterns_read_options(int argc, char **argv, patterns_hint *hint,
                           struct options *out_options) {
  struct options *o = out_options;
  *o = (struct options){.settings = {.consumers = 16,
                                     .us = {100, 100, 100},
                                     .bytes = 4096,
                                     .pinned = true,
                                     .limit = 120,
                                     .seed = 1,
                                     .n0 = 2,
                                     .n1 = 2,
                                     .xi = 0.5},
                        .models = (1u << MODELS) - 1,
                        .accesses = (1u << ACCESSES) - 1};
  for (int i = 1; i < argc; i++) {
    char name[32];
    const char *equals = strchr(argv[i], '='), *value = equals ? equals + 1 : NULL;
    size_t length = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
    snprintf(name, sizeof name, "%.*s", (int)length, argv[i]);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
      fputs(help, stdout);
      return o->help = true;
    }
    if (argv[i][0] != '-') {
      if (!add_pattern(o, argv[i])) return false;
    } else if (!value && read_flag(name, o)) {
      continue;
    } else if (!option_name(name)) {
      return is_flag(name) ? wrong("%s takes no value", name) : unknown_option(name, hint);
    } else if (!value && ++i == argc) {
      return wrong("%s needs a value", name);
    } else if (!take_option(name, value ? value : argv[i], o)) {
      return false;
    }
  }
  if (!fit_together(o)) return false;
  add_defaults(o);
  return fits_report(o);
}
