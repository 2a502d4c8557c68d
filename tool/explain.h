/* tool/explain.h: prints the explanation of `tidemark explain` for people. */
#ifndef TIDE_TOOL_EXPLAIN_H
#define TIDE_TOOL_EXPLAIN_H

#include "program/explanation.h"
#include "tool/tool.h"

void tide_explain_print(const struct tide_explanation *e);

#endif
