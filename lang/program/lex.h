/* program/lex.h: a text cut into tokens. Any bytes will do; what is no token
 * comes back as TIDE_TOKEN_BAD with the reason. */
#ifndef TIDE_PROGRAM_LEX_H
#define TIDE_PROGRAM_LEX_H

#include "tidemark/base.h"

enum tide_token_kind {
  TIDE_TOKEN_END,
  TIDE_TOKEN_NEWLINE, /* one for any number of line ends, blank lines and comments between them */
  TIDE_TOKEN_COMMENT, /* only when asked for */
  TIDE_TOKEN_WORD,
  TIDE_TOKEN_NUMBER,
  TIDE_TOKEN_STRING, /* with its quotes */
  TIDE_TOKEN_MARK,
  TIDE_TOKEN_BAD
};

/* Marks of one byte are that byte; the others: */
enum tide_mark {
  TIDE_MARK_EQUAL = 128,   /* == */
  TIDE_MARK_DIFFERENT,     /* != */
  TIDE_MARK_LESS_EQUAL,    /* <= */
  TIDE_MARK_GREATER_EQUAL, /* >= */
  TIDE_MARK_RANGE          /* .. */
};

struct tide_token {
  uint8_t kind;
  uint8_t mark;
  uint32_t at, length; /* in the text */
  uint32_t line, column;
  int64_t value;     /* of a number */
  const char *wrong; /* of a bad token: why */
};

struct tide_lexer {
  const char *text;
  uint32_t length;
  uint32_t at;
  uint32_t line, line_start;
  bool comments;    /* give comments, and every line end by itself */
  bool after_comma; /* a line that ends with a comma goes on in the next */
};

void tide_lexer_init(struct tide_lexer *lexer, const char *text, uint32_t length);
void tide_lexer_next(struct tide_lexer *lexer, struct tide_token *out_token);

/* Is the token this word, or this mark? */
bool tide_token_is(const struct tide_lexer *lexer, const struct tide_token *token,
                   const char *word);
static inline bool tide_token_mark(const struct tide_token *token, unsigned mark) {
  return token->kind == TIDE_TOKEN_MARK && token->mark == mark;
}
/* What stands in the text, for "found …": "'>='", "the end of the line", cut when long. */
size_t tide_token_print(const struct tide_lexer *lexer, const struct tide_token *token,
                        char *buffer, size_t size);
/* wait, take, signal, cost, label, passable: words that begin a part of an operation, in a line of
 * its own if one likes. */
bool tide_word_is_clause(const char *text, size_t length);
bool tide_word_equal(const char *text, size_t length, const char *word);

#endif
