/* What the command line of tidemark patterns asks for. */
#ifndef PATTERNS_COMMAND_H
#define PATTERNS_COMMAND_H

#include "run.h"

struct options {
  struct settings settings;
  const struct pattern *patterns[16];
  const struct way *ways[16];
  size_t pattern_count, way_count;
  uint32_t models, accesses; /* bits: those that the generator runs */
  bool json, list, help;
  const char *report;  /* the folder; NULL: none is asked for */
  bool quick;          /* a small part of it */
  uint32_t rounds;     /* of each of its cells; 0: as many as fit */
  const char *setting; /* an option that chooses what a report does not let choose; NULL: none */
  bool cuda;           /* consumers are a GPU's warps */
  const char *driver;  /* of it; NULL: the system's */
  uint32_t gpu_ways;   /* bits: which of them */
};

/* Returns text to append to the message about an unknown option; `options` ends with NULL. */
typedef const char *patterns_hint(const char *word, const char *const *options);

/* False: what is wrong has been said. */
bool patterns_read_options(int argc, char **argv, patterns_hint *hint, struct options *out_options);

/* What the tool calls: 0, 1 when a check failed, 2 for a wrong command line. */
int patterns_command(int argc, char **argv, patterns_hint *hint);

#endif
