/* tidemark demo: examples of several processes, which lie in examples/ and use public headers only.
 */
#include "tool/tool.h"

int compositor_demo(int argc, char **argv); /* demos/compositor/demo.c */

static const struct tide_tool_commands demos = {
    "demo",
    "usage: tidemark demo NAME [OPTIONS]\nRuns an example of several processes.",
    "demo",
    "NAME",
    {{"compositor", "a browser and its renderers, one of them hostile", compositor_demo},
     {NULL, NULL, NULL}}};

int tide_tool_demo(int argc, char **argv) { return tide_tool_dispatch(&demos, argc, argv); }
