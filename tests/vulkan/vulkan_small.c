/* vulkan-small KIND [--seed N] [--correct] [--expect] [--exact-values] [--submissions N] [--rss]:
 * runs one small Vulkan program with one planted mistake, or its correct twin, and prints the
 * bytes. */
#include "small.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kind {
  const char *name;
  void (*make)(struct program *, const struct device *, const struct small_options *);
};

static const struct kind kinds[] = {
    {"forgotten-wait", make_forgotten_wait},
    {"wrong-value", make_wrong_value},
    {"early-destroy", make_early_destroy},
    {"ownership", make_ownership},
    {"host-write", make_host_write},
    {"own-queue", make_own_queue},
    {"value-backwards", make_value_backwards},
    {"cycle", make_cycle},
    {"never-signalled", make_never_signalled},
    {"same-queue", make_same_queue},
    {"wrong-stage", make_wrong_stage},
    {"redundant", make_redundant},
    {"clean", NULL},
};

static const struct kind *find_kind(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kinds[i].name, name)) return &kinds[i];
  return NULL;
}

_Noreturn static void usage(void) {
  fputs("usage: vulkan-small KIND [--seed N] [--correct] [--expect] [--exact-values]\n"
        "                         [--submissions N] [--rss]\n"
        "kinds:",
        stderr);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) fprintf(stderr, " %s", kinds[i].name);
  fputc('\n', stderr);
  exit(2);
}

static uint64_t parse_number(const char *text) {
  char *end;
  if (!text || *text < '0' || *text > '9') usage();
  uint64_t number = strtoull(text, &end, 10);
  if (*end) usage();
  return number;
}

static struct small_options parse_options(int argc, char **argv) {
  struct small_options options = {.seed = 1, .submissions = 40};
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--correct")) options.is_correct = true;
    else if (!strcmp(argv[i], "--expect")) options.expect = true;
    else if (!strcmp(argv[i], "--exact-values")) options.has_exact_values = true;
    else if (!strcmp(argv[i], "--rss")) options.rss = true;
    else if (!strcmp(argv[i], "--seed")) options.seed = parse_number(argv[++i]);
    else if (!strcmp(argv[i], "--submissions"))
      options.submissions = (unsigned)parse_number(argv[++i]);
    else if (argv[i][0] == '-' || options.kind) usage();
    else options.kind = argv[i];
  }
  if (!options.kind) usage();
  return options;
}

int main(int argc, char **argv) {
  struct small_options options = parse_options(argc, argv);
  const struct kind *kind = find_kind(options.kind);
  if (!kind) usage();
  struct device device;
  device_open(&device);
  if (kind->make) {
    struct program *program = calloc(1, sizeof *program);
    if (!program) small_fail("no memory");
    kind->make(program, &device, &options);
    if (options.expect) fputs(program->expectation, stderr);
    execute(&device, program, options.is_correct);
    free(program);
  } else {
    run_clean(&device, &options);
  }
  device_close(&device);
  return 0;
}
