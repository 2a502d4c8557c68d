/* program/parse.h: what the files of the parser share. Each function that returns
 * bool says false after it has reported what was wrong; the statement is then
 * given up and reading goes on behind it. */
#ifndef TIDE_PROGRAM_PARSE_H
#define TIDE_PROGRAM_PARSE_H

#include "program/ast.h"
#include "program/errors.h"
#include "program/lex.h"

struct tide_parser {
  struct tide_program *program;
  struct tide_lexer lexer;
  struct tide_token token; /* the current one */
  struct tide_errors *errors;
  uint32_t nesting; /* of blocks */
  struct tide_declaration **last_declaration;
};

void tide_parser_advance(struct tide_parser *parser);
/* The one after the current one. */
struct tide_token tide_parser_peek(const struct tide_parser *parser);
bool tide_parser_expected(struct tide_parser *parser, const char *what); /* always false */
bool tide_parser_accept(struct tide_parser *parser, unsigned mark);
bool tide_parser_accept_word(struct tide_parser *parser, const char *word);
bool tide_parser_expect(struct tide_parser *parser, unsigned mark, const char *what);
bool tide_parser_at_word(const struct tide_parser *parser, const char *word);
/* The line ends, or its block. */
bool tide_parser_at_end(const struct tide_parser *parser);
void *tide_parser_get(struct tide_parser *parser, size_t size);

/* Any word. */
bool tide_parse_word(struct tide_parser *parser, const char *what, struct tide_name *out_name);
/* A word that the language does not need for itself. */
bool tide_parse_new_name(struct tide_parser *parser, const char *what, struct tide_name *out_name);
/* `whole`: comparisons and logic too; else arithmetic alone, so that `>=`, `=` and `..` end it. */
bool tide_parse_expression(struct tide_parser *parser, bool whole, struct tide_code *out_code);
bool tide_parse_string(struct tide_parser *parser, const char *what,
                       struct tide_string *out_string);
/* A text, or the name of a text parameter. */
bool tide_parse_string_or_name(struct tide_parser *parser, const char *what,
                               struct tide_string *out_string);
bool tide_parse_reference(struct tide_parser *parser, const char *what,
                          struct tide_reference *out_reference);
bool tide_parse_code_name(struct tide_parser *parser, struct tide_name name,
                          struct tide_code *out_code);

/* param, device, queue …: the current word. Not one of these: false in *out_is, and nothing
 * happens. */
bool tide_parse_declaration(struct tide_parser *parser, bool *out_is);
bool tide_parse_require(struct tide_parser *parser, struct tide_code *out_condition,
                        struct tide_string *out_message);
/* `left: blur …`, `host: …` */
bool tide_parse_operation(struct tide_parser *parser, struct tide_statement **out_statement);
/* Looks up every name; parsing must have succeeded. */
bool tide_program_resolve(struct tide_program *program, struct tide_errors *errors);

#endif
