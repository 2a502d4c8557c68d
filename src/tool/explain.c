#include "tool/tool.h"
int tide_tool_explain(int argc, char **argv) { (void)argc, (void)argv; return 1; }
