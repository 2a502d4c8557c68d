/* The same with a planted bug, on the side of whoever checks: not finding it is the failure. */
#define PLANTED 1
#include "expression.c"
