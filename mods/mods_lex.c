#include "mods/mods_lex.h"

enum { LETTER = 1, DIGIT = 2, SPACE = 4, WORD_MORE = 8, SUFFIX_MORE = 16 };

/* Classes of a byte, by its value. */
static const unsigned char classes[256] = {
    ['\0'] = SPACE, /* as MLIR's lexer */
    ['\t'] = SPACE,
    ['\n'] = SPACE,
    ['\r'] = SPACE,
    [' '] = SPACE,
#define BOTH (WORD_MORE | SUFFIX_MORE)
    ['$'] = BOTH,
    ['.'] = BOTH,
    ['-'] = SUFFIX_MORE,
    ['_'] = LETTER | BOTH,
    ['0'] = DIGIT | BOTH,
    ['1'] = DIGIT | BOTH,
    ['2'] = DIGIT | BOTH,
    ['3'] = DIGIT | BOTH,
    ['4'] = DIGIT | BOTH,
    ['5'] = DIGIT | BOTH,
    ['6'] = DIGIT | BOTH,
    ['7'] = DIGIT | BOTH,
    ['8'] = DIGIT | BOTH,
    ['9'] = DIGIT | BOTH,
#define L(c) [c] = LETTER | BOTH, [c + 'a' - 'A'] = LETTER | BOTH
    L('A'),
    L('B'),
    L('C'),
    L('D'),
    L('E'),
    L('F'),
    L('G'),
    L('H'),
    L('I'),
    L('J'),
    L('K'),
    L('L'),
    L('M'),
    L('N'),
    L('O'),
    L('P'),
    L('Q'),
    L('R'),
    L('S'),
    L('T'),
    L('U'),
    L('V'),
    L('W'),
    L('X'),
    L('Y'),
    L('Z'),
};

static bool is_class(char c, int class_) { return classes[(unsigned char)c] & class_; }

static uint32_t skip_space(const char *text, uint32_t length, uint32_t at) {
  for (;;) {
    while (at < length && is_class(text[at], SPACE)) at++;
    if (at + 1 >= length || text[at] != '/' || text[at + 1] != '/') return at;
    while (at < length && text[at] != '\n') at++;
  }
}

/* Returns the offset behind the closing quote; 0: not closed on its line. `at` is the opening
 * quote. */
static uint32_t string_end(const char *text, uint32_t length, uint32_t at) {
  for (at++; at < length && text[at] != '\n'; at++) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') at++;
  }
  return 0;
}

/* Lexes %name, ^name, #name, !name: digits only, or a name that begins with no digit. */
static struct tide_token lex_sigil(const char *text, uint32_t length, uint32_t at, uint32_t kind) {
  uint32_t end = at + 1;
  if (end < length && is_class(text[end], DIGIT))
    while (end < length && is_class(text[end], DIGIT)) end++;
  else
    while (end < length && is_class(text[end], SUFFIX_MORE)) end++;
  /* `#map->` and `%x->` end before the arrow. */
  while (end > at + 1 && text[end - 1] == '-' && end < length && text[end] == '>') end--;
  return (struct tide_token){end > at + 1 ? kind : TIDE_TOKEN_WRONG, at, end};
}

static struct tide_token lex_number(const char *text, uint32_t length, uint32_t at) {
  uint32_t end = at;
  if (text[at] == '0' && at + 2 < length && text[at + 1] == 'x' &&
      (is_class(text[at + 2], DIGIT) ||
       ((text[at + 2] | 32) >= 'a' && (text[at + 2] | 32) <= 'f'))) {
    for (end += 2; end < length && (is_class(text[end], DIGIT) ||
                                    ((text[end] | 32) >= 'a' && (text[end] | 32) <= 'f'));)
      end++;
    return (struct tide_token){TIDE_TOKEN_INTEGER, at, end};
  }
  while (end < length && is_class(text[end], DIGIT)) end++;
  if (end >= length || text[end] != '.') return (struct tide_token){TIDE_TOKEN_INTEGER, at, end};
  for (end++; end < length && is_class(text[end], DIGIT);) end++;
  uint32_t power = end + 1;
  if (end < length && (text[end] | 32) == 'e') {
    if (power < length && (text[power] == '+' || text[power] == '-')) power++;
    if (power < length && is_class(text[power], DIGIT))
      for (end = power; end < length && is_class(text[end], DIGIT);) end++;
  }
  return (struct tide_token){TIDE_TOKEN_FLOAT, at, end};
}

static struct tide_token lex_symbol(const char *text, uint32_t length, uint32_t at) {
  uint32_t end = at + 1;
  if (end < length && text[end] == '"') end = string_end(text, length, end);
  else if (end < length && is_class(text[end], LETTER))
    while (end < length && is_class(text[end], WORD_MORE)) end++;
  else end = 0;
  return (struct tide_token){end ? TIDE_TOKEN_SYMBOL : TIDE_TOKEN_WRONG, at, end ? end : at + 1};
}

static struct tide_token lex_punctuation(const char *text, uint32_t length, uint32_t at) {
  char c = text[at], next = at + 1 < length ? text[at + 1] : 0;
  if (c == '-' && next == '>') return (struct tide_token){TIDE_TOKEN_ARROW, at, at + 2};
  if (c == '.' && next == '.' && at + 2 < length && text[at + 2] == '.')
    return (struct tide_token){TIDE_TOKEN_ELLIPSIS, at, at + 3};
  if (c == ':' && next == ':') return (struct tide_token){TIDE_TOKEN_COLONS, at, at + 2};
  switch (c) {
    case '(':
    case ')':
    case '{':
    case '}':
    case '[':
    case ']':
    case '<':
    case '>':
    case ',':
    case ':':
    case '=':
    case '-':
    case '+':
    case '*':
    case '?':
    case '|':
    case '/': return (struct tide_token){(unsigned char)c, at, at + 1};
    default: return (struct tide_token){TIDE_TOKEN_WRONG, at, at + 1};
  }
}

struct tide_token tide_lex(const char *text, uint32_t length, uint32_t at) {
  at = skip_space(text, length, at);
  if (at >= length) return (struct tide_token){TIDE_TOKEN_END, length, length};
  char c = text[at];
  uint32_t end = at;
  if (is_class(c, LETTER)) {
    while (end < length && is_class(text[end], WORD_MORE)) end++;
    return (struct tide_token){TIDE_TOKEN_WORD, at, end};
  }
  if (is_class(c, DIGIT)) return lex_number(text, length, at);
  switch (c) {
    case '%': return lex_sigil(text, length, at, TIDE_TOKEN_VALUE);
    case '^': return lex_sigil(text, length, at, TIDE_TOKEN_BLOCK);
    case '#': return lex_sigil(text, length, at, TIDE_TOKEN_HASH);
    case '!': return lex_sigil(text, length, at, TIDE_TOKEN_BANG);
    case '@': return lex_symbol(text, length, at);
    case '"':
      end = string_end(text, length, at);
      return (struct tide_token){end ? TIDE_TOKEN_STRING : TIDE_TOKEN_WRONG, at,
                                 end ? end : at + 1};
    default: return lex_punctuation(text, length, at);
  }
}

uint32_t tide_lex_balanced(const char *text, uint32_t length, uint32_t at, bool relations) {
  char open[64];
  uint32_t depth = 0;
  for (; at < length; at++) {
    char c = text[at], close = 0;
    if (c == '"') {
      at = string_end(text, length, at);
      if (!at--) return 0;
      continue;
    }
    if (c == '-' && at + 1 < length && text[at + 1] == '>') {
      at++;
      continue;
    }
    if (relations && (c == '>' || c == '<') && at + 1 < length && text[at + 1] == '=') {
      at++;
      continue;
    }
    if (c == '<' || c == '(' || c == '[' || c == '{') {
      if (depth == sizeof open) return 0;
      open[depth++] = c;
      continue;
    }
    if (c == '>') close = '<';
    if (c == ')') close = '(';
    if (c == ']') close = '[';
    if (c == '}') close = '{';
    if (!close) continue;
    if (!depth || open[--depth] != close) return 0;
    if (!depth) return at + 1;
  }
  return 0;
}
