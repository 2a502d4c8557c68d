/* mods/decimal.h: floating-point numbers as text, exact, without a C library. */
#ifndef TIDE_MODS_DECIMAL_H
#define TIDE_MODS_DECIMAL_H

#include "tidemark/base.h"

/* "1.5e-3", "12." The double that is nearest, ties to even. */
double tide_decimal_parse(const char *text, size_t length);
/* As MLIR writes it: six digits behind the point if they say it all (`single`: to a float), else as
 * many as it needs. Finite numbers only. Returns the length. */
size_t tide_decimal_print(double number, bool single, char *buffer, size_t size);

#endif
