/* program/lex.h: a text cut into tokens. Any bytes are accepted; bytes that form no token come back
 * as TIDE_TOKEN_BAD with the reason. */
#ifndef TIDE_PROGRAM_LEX_H
#define TIDE_PROGRAM_LEX_H

#include "tidemark/base.h"

enum tide_token_kind {
  TIDE_TOKEN_END,
  TIDE_TOKEN_NEWLINE, /* any number of line ends, with blank lines and comments between them */
  TIDE_TOKEN_COMMENT, /* only if the lexer's `comments` is set */
  TIDE_TOKEN_WORD,
  TIDE_TOKEN_NUMBER,
  TIDE_TOKEN_STRING, /* with its quotes */
  TIDE_TOKEN_MARK,
  TIDE_TOKEN_BAD
};

/* Marks of one byte are that byte; the others are: */
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
  uint32_t at, length; /* span of the text */
  uint32_t line, column;
  int64_t value;     /* a number's value */
  const char *wrong; /* a bad token's reason */
};

struct tide_lexer {
  const char *text;
  uint32_t length;
  uint32_t at;
  uint32_t line, line_start;
  bool comments;    /* return comments, and every line end by itself */
  bool after_comma; /* the last token was a comma: the statement continues on the next line */
};

void tide_lexer_init(struct tide_lexer *lexer, const char *text, uint32_t length);
void tide_lexer_next(struct tide_lexer *lexer, struct tide_token *out_token);

/* True if the token is this word. tide_token_mark: true if it is this mark. */
bool tide_token_is(const struct tide_lexer *lexer, const struct tide_token *token,
                   const char *word);
static inline bool tide_token_mark(const struct tide_token *token, unsigned mark) {
  return token->kind == TIDE_TOKEN_MARK && token->mark == mark;
}
/* Prints the token as it follows "found": "'>='", "the end of the line"; long ones are cut. */
size_t tide_token_print(const struct tide_lexer *lexer, const struct tide_token *token,
                        char *buffer, size_t size);
/* True if the word begins a clause of an operation: wait, take, signal, cost, label, passable. A
 * clause may start on a line of its own. */
bool tide_word_is_clause(const char *text, size_t length);
bool tide_word_equal(const char *text, size_t length, const char *word);

#endif
