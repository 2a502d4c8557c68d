/* Expressions of compound points: whatever text comes, it is refused with a column inside of it, or
 * read as a plain recursive reader reads it: the same answer, and the same truth whichever points
 * are good.
 *
 * The first byte is how many points there are, the second which of them are good (among the first
 * eight); the rest is the text. */
#include "base/check.h"
#include "point/point_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the plain reader: grammar as it is written down, with the depth of its calls bounded ---- */

struct reader {
  const char *text;
  size_t length, at, count;
  unsigned depth, good;
  bool wrong;
};

static bool read_or(struct reader *r);

static char next(struct reader *r) {
  while (r->at < r->length && r->text[r->at] == ' ') r->at++;
  return r->at < r->length ? r->text[r->at] : 0;
}

static bool read_index(struct reader *r) {
  size_t value = 0;
  bool large = false;
  for (; r->at < r->length && r->text[r->at] >= '0' && r->text[r->at] <= '9'; r->at++) {
    value = value * 10 + (size_t)(r->text[r->at] - '0');
    large = large || value >= r->count;
  }
  if (large) r->wrong = true;
  return !large && value < 8 && (r->good >> value & 1);
}

static bool read_operand(struct reader *r) {
  char c = next(r);
  if (c >= '0' && c <= '9') return read_index(r);
  if (c != '(' || r->depth == TIDE_EXPRESSION_DEPTH) {
    r->wrong = true;
    return false;
  }
  r->at++;
  r->depth++;
  bool value = read_or(r);
  if (next(r) != ')') r->wrong = true;
  r->at++;
  r->depth--;
  return value;
}

static bool read_and(struct reader *r) {
  bool value = read_operand(r);
  for (;;) {
    char c = next(r);
    if (r->wrong || c != '&') return value;
    r->at++;
    bool other = read_operand(r);
    value = value && other;
  }
}

static bool read_or(struct reader *r) {
  bool value = read_and(r);
  while (!r->wrong && next(r) == '|') {
    r->at++;
    bool other = read_and(r);
    value = value || other;
  }
  return value;
}

/* ---- ours: step by step, with the open groups beside ---- */

static bool evaluate(const char *text, size_t length, size_t count, unsigned good) {
  bool any[TIDE_EXPRESSION_DEPTH + 1] = {false}, all[TIDE_EXPRESSION_DEPTH + 1] = {true};
  struct tide_expression x = {.text = text, .length = length, .count = count, .operand = true};
  enum tide_expression_kind kind;
  size_t index, depth = 0;
  for (;;) {
    TIDE_ASSERT(tide_expression_step(&x, &kind, &index, NULL) == TIDE_OK);
    bool closes = kind == TIDE_EXPRESSION_CLOSE || kind == TIDE_EXPRESSION_END;
    if (kind == TIDE_EXPRESSION_INDEX) all[depth] = all[depth] && index < 8 && (good >> index & 1);
    if (kind == TIDE_EXPRESSION_OR || closes) {
      any[depth] = any[depth] || all[depth];
      all[depth] = true;
    }
    if (kind == TIDE_EXPRESSION_END) return any[0];
    if (kind == TIDE_EXPRESSION_CLOSE) {
      depth--;
      all[depth] = all[depth] && any[depth + 1];
    }
    if (kind == TIDE_EXPRESSION_OPEN) {
      depth++;
      any[depth] = false;
      all[depth] = true;
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tide_diag diag = {.status = TIDE_OK};
  if (size < 2) return 0;
  size_t count = data[0], length = size - 2;
  const char *text = (const char *)data + 2;
  struct reader r = {.text = text, .length = length, .count = count, .good = data[1]};
  enum tide_status status = tide_expression_check(text, length, count, &diag);
  TIDE_ASSERT(status == TIDE_OK || status == TIDE_CORRUPT);
  if (length > TIDE_EXPRESSION_LENGTH) {
    TIDE_ASSERT(status == TIDE_CORRUPT);
    return 0;
  }
  bool value = read_or(&r);
  if (next(&r) || r.at < r.length) r.wrong = true;
  TIDE_ASSERT(r.wrong == (status != TIDE_OK));
  if (status == TIDE_OK) {
    TIDE_ASSERT(evaluate(text, length, count, data[1]) == value);
  } else {
    TIDE_ASSERT(diag.status == status && diag.line == 1 && diag.text[0]);
    TIDE_ASSERT(diag.column >= 1 && diag.column <= length + 1);
  }
  return 0;
}
