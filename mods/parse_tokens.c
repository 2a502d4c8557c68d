/* Reports syntax errors, and reads words, integers, strings and symbol names. */
#include "mods/ir_parser.h"
#include "mods/intern.h"
#include "base/alloc.h"
#include "base/text.h"

bool tide_is_word(const struct tide_parser *parser, const char *word) {
  size_t length = parser->token.end - parser->token.start;
  return parser->token.kind == TIDE_TOKEN_WORD && strlen(word) == length &&
         memcmp(parser->text + parser->token.start, word, length) == 0;
}

bool tide_take_word(struct tide_parser *parser, const char *word) {
  if (!tide_is_word(parser, word)) return false;
  tide_advance(parser);
  return true;
}

/* Returns the offset at which a missing token is reported, as in MLIR: behind the last token, also
 * if that stands on an earlier line. */
static uint32_t missing_at(const struct tide_parser *parser) {
  const char *text = parser->text;
  uint32_t start = parser->token.start, at = start;
  if (parser->token.kind == TIDE_TOKEN_END && at) at--;
  for (;;) {
    while (at && (text[at - 1] == ' ' || text[at - 1] == '\t')) at--;
    if (!at) return start;
    if (text[at - 1] != '\n' && text[at - 1] != '\r') return at;
    uint32_t line = --at;
    while (line && text[line - 1] != '\n' && text[line - 1] != '\r') line--;
    for (uint32_t i = line; i + 1 < at; i++)
      if (text[i] == '/' && text[i + 1] == '/') at = i; /* mostly a comment */
  }
}

bool tide_wrong(struct tide_parser *parser, const char *format, ...) {
  char message[256];
  struct tide_text text;
  va_list list;
  if (parser->ir->status != TIDE_OK) return false; /* memory or a limit is at fault, not the text */
  tide_text_init(&text, message, sizeof message);
  va_start(list, format);
  tide_text_format_list(&text, format, list);
  va_end(list);
  tide_text_trim(message);
  parser->errors++;
  return tide_ir_error(parser->ir, parser->token.start + 1, "%s", message);
}

bool tide_missing(struct tide_parser *parser, const char *what) {
  if (parser->ir->status != TIDE_OK) return false;
  parser->errors++;
  return tide_ir_error(parser->ir, missing_at(parser) + 1, "expected %s", what);
}

bool tide_expect(struct tide_parser *parser, uint32_t kind, const char *what) {
  return tide_take(parser, kind) || tide_missing(parser, what);
}

bool tide_expect_word(struct tide_parser *parser, const char *word) {
  return tide_take_word(parser, word) || tide_wrong(parser, "expected '%s'", word);
}

bool tide_deeper(struct tide_parser *parser) {
  if (parser->depth >= TIDE_IR_DEPTH_MAX) return tide_wrong(parser, "nested too deep");
  parser->depth++;
  return true;
}

bool tide_parse_integer(struct tide_parser *parser, int64_t *out_value) {
  bool negative = tide_take(parser, '-');
  struct tide_token token = parser->token;
  const char *text = parser->text + token.start;
  uint64_t value = 0;
  if (token.kind != TIDE_TOKEN_INTEGER) return tide_wrong(parser, "expected integer value");
  uint32_t length = token.end - token.start, base = length > 2 && text[1] == 'x' ? 16 : 10;
  for (uint32_t i = base == 16 ? 2 : 0; i < length; i++) {
    uint32_t digit =
        text[i] <= '9' ? (uint32_t)(text[i] - '0') : (uint32_t)(text[i] | 32) - 'a' + 10;
    if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
        __builtin_add_overflow(value, (uint64_t)digit, &value))
      return tide_wrong(parser, "integer value too large");
  }
  if (negative && value > 1ull << 63) return tide_wrong(parser, "integer value too large");
  tide_advance(parser);
  *out_value = (int64_t)(negative ? 0 - value : value);
  return true;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Escapes are \n, \t, \", \\ and two hexadecimal digits. */
tide_ir_string tide_unquote(struct tide_parser *parser, uint32_t start, uint32_t end) {
  const char *text = parser->text;
  bool plain = true;
  for (uint32_t i = start + 1; i + 1 < end && plain; i++) plain = text[i] != '\\';
  if (plain) return tide_ir_intern(parser->ir, text + start + 1, end - start - 2);
  char *bytes = tide_alloc_unset(parser->ir->allocator, end - start, 1);
  uint32_t length = 0;
  tide_ir_string string = 0;
  if (!bytes) return tide_ir_give_up(parser->ir, TIDE_NOMEM);
  for (uint32_t i = start + 1; i + 1 < end; i++) {
    char c = text[i];
    if (c == '\\') {
      c = text[++i];
      int high = hex_digit(c), low = i + 2 < end ? hex_digit(text[i + 1]) : -1;
      if (c == 'n') c = '\n';
      else if (c == 't') c = '\t';
      else if (c != '"' && c != '\\') {
        if (high < 0 || low < 0) {
          tide_wrong(parser, "unknown escape in string literal");
          goto end;
        }
        c = (char)(high << 4 | low);
        i++;
      }
    }
    bytes[length++] = c;
  }
  string = tide_ir_intern(parser->ir, bytes, length);
end:
  tide_free(parser->ir->allocator, bytes, end - start, 1);
  return string;
}

tide_ir_string tide_parse_symbol_name(struct tide_parser *parser) {
  struct tide_token token = parser->token;
  if (token.kind != TIDE_TOKEN_SYMBOL) {
    tide_wrong(parser, "expected valid '@'-identifier for symbol name");
    return 0;
  }
  tide_ir_string name =
      parser->text[token.start + 1] == '"'
          ? tide_unquote(parser, token.start + 1, token.end)
          : tide_ir_intern(parser->ir, parser->text + token.start + 1, token.end - token.start - 1);
  if (name) tide_advance(parser);
  return name;
}
