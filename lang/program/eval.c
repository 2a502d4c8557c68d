#include "program/eval.h"
#include "base/check.h"

/* Multiplies without the 128-bit helper functions, which a freestanding build lacks. False:
 * overflow. */
static bool multiply_checked(int64_t a, int64_t b, int64_t *out) {
  if (a >= INT32_MIN && a <= INT32_MAX && b >= INT32_MIN && b <= INT32_MAX) {
    *out = a * b;
    return true;
  }
  *out = (int64_t)((uint64_t)a * (uint64_t)b);
  if (a == 0 || b == 0) return true;
  if ((a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN)) return false;
  return *out / b == a;
}

enum outcome { GOOD, OVERFLOW, BY_ZERO };

static enum outcome apply_binary(uint32_t verb, int64_t a, int64_t b, int64_t *out) {
  switch (verb) {
    case TIDE_VERB_ADD: return __builtin_add_overflow(a, b, out) ? OVERFLOW : GOOD;
    case TIDE_VERB_SUBTRACT: return __builtin_sub_overflow(a, b, out) ? OVERFLOW : GOOD;
    case TIDE_VERB_MULTIPLY: return multiply_checked(a, b, out) ? GOOD : OVERFLOW;
    case TIDE_VERB_DIVIDE:
      if (b == 0) return BY_ZERO;
      if (b == -1) return __builtin_sub_overflow((int64_t)0, a, out) ? OVERFLOW : GOOD;
      *out = a / b;
      return GOOD;
    case TIDE_VERB_REMAINDER:
      if (b == 0) return BY_ZERO;
      *out = b == -1 ? 0 : a % b;
      return GOOD;
    case TIDE_VERB_LESS: *out = a < b; return GOOD;
    case TIDE_VERB_LESS_EQUAL: *out = a <= b; return GOOD;
    case TIDE_VERB_GREATER: *out = a > b; return GOOD;
    case TIDE_VERB_GREATER_EQUAL: *out = a >= b; return GOOD;
    case TIDE_VERB_EQUAL: *out = a == b; return GOOD;
    case TIDE_VERB_DIFFERENT: *out = a != b; return GOOD;
    case TIDE_VERB_MINIMUM: *out = a < b ? a : b; return GOOD;
    case TIDE_VERB_MAXIMUM: *out = a > b ? a : b; return GOOD;
    default: return GOOD;
  }
}

static bool report_outcome(const struct tide_program *program, struct tide_errors *errors,
                           const struct tide_instruction *instruction, enum outcome outcome,
                           int64_t a, int64_t b) {
  static const char *const signs[] = {
      [TIDE_VERB_NEGATE] = "-",   [TIDE_VERB_ADD] = "+",    [TIDE_VERB_SUBTRACT] = "-",
      [TIDE_VERB_MULTIPLY] = "*", [TIDE_VERB_DIVIDE] = "/", [TIDE_VERB_REMAINDER] = "%"};
  uint32_t line, column;
  if (errors->muted) return false;
  tide_program_location(program, instruction->place, &line, &column);
  const char *sign = signs[instruction->verb];
  if (outcome == BY_ZERO) {
    return tide_error(errors, TIDE_VALUE, line, column, "division by zero: %lld %s 0", (long long)a,
                      sign);
  }
  return tide_error(errors, TIDE_VALUE, line, column, "%lld %s %lld does not fit 64 bits",
                    (long long)a, sign, (long long)b);
}

/* Executes an instruction that takes one value, or jumps. Returns the index of the next
 * instruction. */
static uint32_t apply_unary(const struct tide_instruction *in, uint32_t at, int64_t *stack,
                            size_t *top) {
  switch (in->verb) {
    case TIDE_VERB_NOT: stack[*top - 1] = stack[*top - 1] == 0; return at + 1;
    case TIDE_VERB_TRUTH: stack[*top - 1] = stack[*top - 1] != 0; return at + 1;
    default: break;
  }
  bool skip = (stack[*top - 1] != 0) == (in->verb == TIDE_VERB_OR_SKIP);
  if (skip) return in->jump;
  (*top)--;
  return at + 1;
}

bool tide_evaluate(const struct tide_program *program, const int64_t *values, struct tide_code code,
                   struct tide_errors *errors, int64_t *out_value) {
  int64_t stack[TIDE_EXPRESSION_STACK];
  size_t top = 0;
  for (uint32_t at = code.at, end = code.at + code.count; at < end;) {
    const struct tide_instruction *in = &program->code[at];
    TIDE_ASSERT(top < TIDE_EXPRESSION_STACK);
    if (in->verb == TIDE_VERB_NUMBER || in->verb == TIDE_VERB_NAME) {
      stack[top++] = in->verb == TIDE_VERB_NUMBER ? in->value : values[in->name];
      at++;
    } else if (in->verb == TIDE_VERB_NEGATE) {
      int64_t value = stack[top - 1];
      if (__builtin_sub_overflow((int64_t)0, value, &stack[top - 1]))
        return report_outcome(program, errors, in, OVERFLOW, 0, value);
      at++;
    } else if (in->verb == TIDE_VERB_NOT || in->verb >= TIDE_VERB_AND_SKIP) {
      at = apply_unary(in, at, stack, &top);
    } else {
      int64_t a = stack[top - 2], b = stack[top - 1];
      enum outcome outcome = apply_binary(in->verb, a, b, &stack[top - 2]);
      if (outcome != GOOD) return report_outcome(program, errors, in, outcome, a, b);
      top--;
      at++;
    }
  }
  *out_value = stack[0];
  return true;
}
