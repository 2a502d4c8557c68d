/* tidemark demo: examples of several processes, which lie in examples/ and use public headers only.
 */
#include "tool/tool.h"

/* demos/compositor/demo.c */
int compositor_demo(int argc, char **argv, tide_tool_hint_of_option *hint);

static int run_compositor(int argc, char **argv) {
  return compositor_demo(argc, argv, tide_tool_option_hint);
}

static const struct tide_tool_commands demos = {
    "demo",
    "usage: tidemark demo NAME [OPTIONS]\nRuns an example of several processes.",
    "demo",
    "NAME",
    {{"compositor", "a browser and its renderers, one of them hostile", run_compositor},
     {NULL, NULL, NULL}}};

int tide_tool_demo(int argc, char **argv) { return tide_tool_dispatch(&demos, argc, argv); }
