/* mods/mods_lex.h: splits MLIR text into tokens. */
#ifndef TIDE_MODS_LEX_H
#define TIDE_MODS_LEX_H

#include "tidemark/base.h"

enum tide_token_kind {
  TIDE_TOKEN_END,
  TIDE_TOKEN_WRONG,  /* a byte that begins no token; an unterminated string */
  TIDE_TOKEN_WORD,   /* arith.addi, true, i32 */
  TIDE_TOKEN_VALUE,  /* %x */
  TIDE_TOKEN_BLOCK,  /* ^bb */
  TIDE_TOKEN_SYMBOL, /* @f, @"any name" */
  TIDE_TOKEN_HASH,   /* #alias, #dialect.attr */
  TIDE_TOKEN_BANG,   /* !alias, !dialect.type */
  TIDE_TOKEN_INTEGER,
  TIDE_TOKEN_FLOAT,
  TIDE_TOKEN_STRING, /* with its quotes */
  TIDE_TOKEN_ARROW,
  TIDE_TOKEN_COLONS, /* :: */
  TIDE_TOKEN_ELLIPSIS,
  /* Other punctuation is its own character. */
};

struct tide_token {
  uint32_t kind;
  uint32_t start, end; /* offsets */
};

/* Returns the length of the byte order mark at the text's start; 0: the text has none. */
static inline uint32_t tide_lex_byte_order_mark(const char *text, size_t length) {
  return length >= 3 && text[0] == '\xef' && text[1] == '\xbb' && text[2] == '\xbf' ? 3 : 0;
}
/* Returns the token at or behind `at`. */
struct tide_token tide_lex(const char *text, uint32_t length, uint32_t at);
/* Returns the offset behind the bracket that closes the <, (, [ or { at `at`. 0: unclosed, or
 * nested too deep. relations: >= and <= are no brackets. */
uint32_t tide_lex_balanced(const char *text, uint32_t length, uint32_t at, bool relations);

#endif
