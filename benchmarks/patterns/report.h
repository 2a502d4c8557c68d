/* tidemark patterns --report DIR: report.md (tables of all figures), grid.md (every cell),
 * report.json (both, for programs) and one SVG a figure. */
#ifndef PATTERNS_REPORT_H
#define PATTERNS_REPORT_H

#include "command.h"

/* 0; 1: something was wrong or could not be written, which has been said. */
int report_write(const struct options *o);

#endif
