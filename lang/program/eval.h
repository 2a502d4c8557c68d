/* program/eval.h: evaluates expressions. Overflow and division by zero are errors, reported at
 * their position. */
#ifndef TIDE_PROGRAM_EVAL_H
#define TIDE_PROGRAM_EVAL_H

#include "program/ast.h"
#include "program/errors.h"

/* `values`: by symbol. */
bool tide_evaluate(const struct tide_program *program, const int64_t *values, struct tide_code code,
                   struct tide_errors *errors, int64_t *out_value);

#endif
