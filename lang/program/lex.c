#include "program/lex.h"
#include "base/alloc.h"
#include "base/text.h"
#include "tidemark/program.h"

void tide_lexer_init(struct tide_lexer *lexer, const char *text, uint32_t length) {
  *lexer = (struct tide_lexer){.text = text, .length = length, .line = 1};
  if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* skip a byte order mark */
    lexer->at = lexer->line_start = 3;
  }
}

static int peek_byte(const struct tide_lexer *lexer, uint32_t ahead) {
  return lexer->length - lexer->at > ahead ? (unsigned char)lexer->text[lexer->at + ahead] : -1;
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_letter(int c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
static bool is_word(int c) { return is_letter(c) || is_digit(c) || c == '_'; }

static void skip_spaces(struct tide_lexer *lexer) {
  int c;
  while ((c = peek_byte(lexer, 0)) == ' ' || c == '\t' || c == '\r') lexer->at++;
}

static void skip_comment(struct tide_lexer *lexer) {
  int c;
  while ((c = peek_byte(lexer, 0)) != '\n' && c > 0) lexer->at++;
}

static void end_line(struct tide_lexer *lexer) {
  lexer->at++;
  lexer->line++;
  lexer->line_start = lexer->at;
}

static void mark_bad(struct tide_token *token, const char *why) {
  token->kind = TIDE_TOKEN_BAD;
  token->wrong = why;
}

/* Multiplies the value. False: the result would not fit 63 bits. */
static bool scale_value(uint64_t *value, uint64_t factor) {
  if (*value > (uint64_t)INT64_MAX / factor) return false;
  *value *= factor;
  return true;
}

static uint64_t unit_factor(const char *text, size_t length) {
  static const struct {
    const char *name;
    uint64_t factor;
  } units[] = {{"K", 1u << 10}, {"M", 1u << 20}, {"G", 1u << 30}, {"T", 1ull << 40},
               {"ns", 1},       {"us", 1000},    {"ms", 1000000}, {"s", 1000000000}};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (tide_word_equal(text, length, units[i].name)) return units[i].factor;
  }
  return 0;
}

static int digit_value(int c, unsigned base) {
  if (is_digit(c)) return c - '0';
  if (base == 16 && (c | 32) >= 'a' && (c | 32) <= 'f') return (c | 32) - 'a' + 10;
  return -1;
}

static void lex_number(struct tide_lexer *lexer, struct tide_token *token) {
  unsigned base = 10;
  uint64_t value = 0;
  bool fits = true, any = false;
  token->kind = TIDE_TOKEN_NUMBER;
  if (peek_byte(lexer, 0) == '0' && (peek_byte(lexer, 1) | 32) == 'x') {
    base = 16;
    lexer->at += 2;
  }
  for (int digit; (digit = digit_value(peek_byte(lexer, 0), base)) >= 0; lexer->at++) {
    any = true;
    fits = fits && scale_value(&value, base) && value <= (uint64_t)INT64_MAX - (uint64_t)digit;
    value += (uint64_t)digit;
  }
  uint32_t suffix = lexer->at;
  while (is_word(peek_byte(lexer, 0))) lexer->at++;
  if (!any) {
    mark_bad(token, "a hexadecimal number needs digits after '0x'");
  } else if (lexer->at > suffix) {
    uint64_t factor = unit_factor(lexer->text + suffix, lexer->at - suffix);
    if (!factor) mark_bad(token, "unknown unit: sizes take K, M, G or T, times ns, us, ms or s");
    else fits = fits && scale_value(&value, factor);
  }
  if (!fits && token->kind == TIDE_TOKEN_NUMBER)
    mark_bad(token, "this number does not fit 63 bits");
  token->value = (int64_t)value;
}

static void lex_word(struct tide_lexer *lexer, struct tide_token *token) {
  uint32_t start = lexer->at;
  token->kind = TIDE_TOKEN_WORD;
  while (is_word(peek_byte(lexer, 0))) lexer->at++;
  if (lexer->at - start > TIDE_PROGRAM_NAME_MAX)
    mark_bad(token, "this name is longer than 63 bytes");
}

static void lex_string(struct tide_lexer *lexer, struct tide_token *token) {
  token->kind = TIDE_TOKEN_STRING;
  lexer->at++;
  for (;;) {
    int c = peek_byte(lexer, 0);
    if (c == '"') break;
    if (c < 0 || c == '\n') {
      mark_bad(token, "this text has no closing '\"'");
      return;
    }
    if (c == '\\') {
      lexer->at++;
      c = peek_byte(lexer, 0);
      if (c == '\n' || c < 0) continue;
      if (c != '"' && c != '\\' && c != 'n' && c != 't') {
        mark_bad(token, "a '\\' in a text is followed by '\"', '\\', 'n' or 't'");
      }
    } else if (c < ' ' && c != '\t') {
      mark_bad(token, "a text contains no control bytes");
    }
    lexer->at++;
  }
  lexer->at++;
}

static void lex_mark(struct tide_lexer *lexer, struct tide_token *token) {
  static const char *const singles = "()[]{},:+-*/%=<>";
  int c = peek_byte(lexer, 0), next = peek_byte(lexer, 1);
  token->kind = TIDE_TOKEN_MARK;
  lexer->at += 2;
  if (c == '=' && next == '=') token->mark = TIDE_MARK_EQUAL;
  else if (c == '!' && next == '=') token->mark = TIDE_MARK_DIFFERENT;
  else if (c == '<' && next == '=') token->mark = TIDE_MARK_LESS_EQUAL;
  else if (c == '>' && next == '=') token->mark = TIDE_MARK_GREATER_EQUAL;
  else if (c == '.' && next == '.') token->mark = TIDE_MARK_RANGE;
  else {
    lexer->at--;
    for (const char *s = singles; *s; s++) {
      if (c == *s) {
        token->mark = (uint8_t)c;
        return;
      }
    }
    mark_bad(token, NULL);
  }
}

/* Reads one token: a line end, and the blank lines and comments behind it. */
static void lex_newlines(struct tide_lexer *lexer) {
  end_line(lexer);
  if (lexer->comments) return;
  for (;;) {
    skip_spaces(lexer);
    int c = peek_byte(lexer, 0);
    if (c == '#') skip_comment(lexer);
    else if (c == '\n') end_line(lexer);
    else return;
  }
}

static void begin_token(const struct tide_lexer *lexer, struct tide_token *token) {
  *token = (struct tide_token){
      .at = lexer->at, .line = lexer->line, .column = lexer->at - lexer->line_start + 1};
}

static void lex_blank(struct tide_lexer *lexer, struct tide_token *token) {
  if (peek_byte(lexer, 0) == '#' && lexer->comments) {
    begin_token(lexer, token);
    token->kind = TIDE_TOKEN_COMMENT;
    skip_comment(lexer);
    return;
  }
  if (peek_byte(lexer, 0) == '#') {
    skip_comment(lexer);
    begin_token(lexer, token);
  }
  if (peek_byte(lexer, 0) == '\n') {
    token->kind = TIDE_TOKEN_NEWLINE;
    lex_newlines(lexer);
  }
}

void tide_lexer_next(struct tide_lexer *lexer, struct tide_token *out_token) {
  for (;;) {
    skip_spaces(lexer);
    begin_token(lexer, out_token);
    lex_blank(lexer, out_token);
    if (out_token->kind == TIDE_TOKEN_NEWLINE && lexer->after_comma && !lexer->comments) continue;
    break;
  }
  int c = peek_byte(lexer, 0);
  if (out_token->kind == TIDE_TOKEN_END && c >= 0) {
    if (is_digit(c)) lex_number(lexer, out_token);
    else if (is_letter(c) || c == '_') lex_word(lexer, out_token);
    else if (c == '"') lex_string(lexer, out_token);
    else lex_mark(lexer, out_token);
  }
  out_token->length = lexer->at - out_token->at;
  if (out_token->kind != TIDE_TOKEN_COMMENT) lexer->after_comma = tide_token_mark(out_token, ',');
}

bool tide_word_equal(const char *text, size_t length, const char *word) {
  /* Most words differ in the first byte. */
  if (length == 0 || *text != *word) return length == 0 && !*word;
  return strlen(word) == length && memcmp(text, word, length) == 0;
}

bool tide_token_is(const struct tide_lexer *lexer, const struct tide_token *token,
                   const char *word) {
  return token->kind == TIDE_TOKEN_WORD &&
         tide_word_equal(lexer->text + token->at, token->length, word);
}

bool tide_word_is_clause(const char *text, size_t length) {
  static const char *const words[] = {"wait", "take", "signal", "cost", "label", "passable"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (tide_word_equal(text, length, words[i])) return true;
  }
  return false;
}

size_t tide_token_print(const struct tide_lexer *lexer, const struct tide_token *token,
                        char *buffer, size_t size) {
  struct tide_text text;
  tide_text_init(&text, buffer, size);
  uint32_t shown = token->length < 40 ? token->length : 40;
  unsigned char first = token->length ? (unsigned char)lexer->text[token->at] : 0;
  if (token->kind == TIDE_TOKEN_END) tide_text_format(&text, "the end of the text");
  else if (token->kind == TIDE_TOKEN_NEWLINE) tide_text_format(&text, "the end of the line");
  else if (token->kind == TIDE_TOKEN_STRING) tide_text_format(&text, "a text");
  else if (token->kind == TIDE_TOKEN_BAD && (first < ' ' || first > '~')) {
    tide_text_format(&text, "byte 0x%02x", (unsigned)first);
  } else {
    tide_text_format(&text, "'%.*s%s'", (int)shown, lexer->text + token->at,
                     shown < token->length ? "…" : "");
  }
  return text.length;
}
