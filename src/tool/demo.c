/* tidemark demo: examples of several processes, which lie in examples/ and use public headers only.
 */
#include "tool/tool.h"

#include <string.h>

int compositor_demo(int argc, char **argv); /* examples/compositor/demo.c */

static const struct {
  const char *name, *summary;
  int (*run)(int argc, char **argv);
} demos[] = {
    {"compositor", "a browser and its renderers, one of them hostile", compositor_demo},
};

#define DEMOS (sizeof demos / sizeof demos[0])

static void print_help(FILE *to) {
  fputs("usage: tidemark demo NAME [OPTIONS]\nRuns an example of several processes.\n\n", to);
  for (size_t i = 0; i < DEMOS; i++) fprintf(to, "  %-12s %s\n", demos[i].name, demos[i].summary);
  fputs("\n  tidemark demo NAME --help   all about one of them\n", to);
}

int tide_tool_demo(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return TIDE_EXIT_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_help(stdout);
    return TIDE_EXIT_OK;
  }
  for (size_t i = 0; i < DEMOS; i++)
    if (strcmp(argv[1], demos[i].name) == 0) return demos[i].run(argc - 1, argv + 1);
  fprintf(stderr, "tidemark demo: there is no demo '%s'; see tidemark demo --help\n", argv[1]);
  return TIDE_EXIT_USAGE;
}
