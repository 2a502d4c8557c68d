/* Parser for expressions such as "(0&1)|2". Returns one token a call and builds no tree: the caller
 * keeps the stack of open groups. */
#include "base/text.h"
#include "point/point_state.h"

static enum tide_status refuse_expression(const struct tide_expression *x, size_t at,
                                          const char *what, struct tide_diag *diag) {
  return tide_diag_at(diag, TIDE_CORRUPT, 1, (uint32_t)at + 1, "expression:1:%zu: %s", at + 1,
                      x->length > TIDE_EXPRESSION_LENGTH ? "longer than 4096 bytes" : what);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static enum tide_status read_index(struct tide_expression *x, size_t *out_index,
                                   struct tide_diag *diag) {
  size_t start = x->at, index = 0;
  for (; x->at < x->length && is_digit(x->text[x->at]); x->at++) {
    size_t digit = (size_t)(x->text[x->at] - '0');
    if (index > (SIZE_MAX - digit) / 10 || index * 10 + digit >= x->count)
      return tide_diag_at(diag, TIDE_CORRUPT, 1, (uint32_t)start + 1,
                          "expression:1:%zu: an index is below %zu, the number of points",
                          start + 1, x->count);
    index = index * 10 + digit;
  }
  *out_index = index;
  x->operand = false;
  return TIDE_OK;
}

static enum tide_status read_operand(struct tide_expression *x, enum tide_expression_kind *out_kind,
                                     size_t *out_index, struct tide_diag *diag) {
  if (x->at >= x->length)
    return refuse_expression(x, x->at, "ends where an index or ( is expected", diag);
  if (x->text[x->at] != '(') {
    *out_kind = TIDE_EXPRESSION_INDEX;
    if (!is_digit(x->text[x->at]))
      return refuse_expression(x, x->at, "expected an index or (", diag);
    return read_index(x, out_index, diag);
  }
  if (x->depth == TIDE_EXPRESSION_DEPTH)
    return refuse_expression(x, x->at, "more than 64 parentheses in each other", diag);
  x->depth++;
  x->at++;
  *out_kind = TIDE_EXPRESSION_OPEN;
  return TIDE_OK;
}

static enum tide_status read_operator(struct tide_expression *x,
                                      enum tide_expression_kind *out_kind, struct tide_diag *diag) {
  if (x->at >= x->length) {
    *out_kind = TIDE_EXPRESSION_END;
    return x->depth ? refuse_expression(x, x->at, "ends where ) is expected", diag) : TIDE_OK;
  }
  char c = x->text[x->at];
  if (c == ')') {
    if (!x->depth) return refuse_expression(x, x->at, "a ) without its (", diag);
    x->depth--;
    *out_kind = TIDE_EXPRESSION_CLOSE;
  } else if (c == '&' || c == '|') {
    x->operand = true;
    *out_kind = c == '&' ? TIDE_EXPRESSION_AND : TIDE_EXPRESSION_OR;
  } else {
    return refuse_expression(x, x->at, "expected &, | or )", diag);
  }
  x->at++;
  return TIDE_OK;
}

enum tide_status tide_expression_step(struct tide_expression *x,
                                      enum tide_expression_kind *out_kind, size_t *out_index,
                                      struct tide_diag *diag) {
  if (x->length > TIDE_EXPRESSION_LENGTH)
    return refuse_expression(x, TIDE_EXPRESSION_LENGTH, "", diag);
  while (x->at < x->length && x->text[x->at] == ' ') x->at++;
  return x->operand ? read_operand(x, out_kind, out_index, diag) : read_operator(x, out_kind, diag);
}

enum tide_status tide_expression_check(const char *text, size_t length, size_t count,
                                       struct tide_diag *diag) {
  struct tide_expression x = {.text = text, .length = length, .count = count, .operand = true};
  enum tide_expression_kind kind;
  size_t index;
  enum tide_status status;
  do status = tide_expression_step(&x, &kind, &index, diag);
  while (status == TIDE_OK && kind != TIDE_EXPRESSION_END);
  return status;
}
