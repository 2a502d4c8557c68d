/* mods/decimal.h: floating-point numbers as text, exact, without a C library. */
#ifndef TIDE_MODS_DECIMAL_H
#define TIDE_MODS_DECIMAL_H

#include "tidemark/base.h"

/* Parses "1.5e-3" or "12."; returns the nearest double, ties to even. */
double tide_decimal_parse(const char *text, size_t length);
/* Prints as MLIR does: six digits after the point if they are exact (`single`: as a float), else as
 * many as needed. Finite numbers only. Returns the length. */
size_t tide_decimal_print(double number, bool single, char *buffer, size_t size);

#endif
