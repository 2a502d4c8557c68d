/* program/parse.h: functions shared by the files of the parser. A function that returns bool
 * reports an error before it returns false; its caller then gives the statement up and continues
 * behind it. */
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
  uint32_t nesting; /* depth of blocks */
  struct tide_declaration **last_declaration;
};

void tide_parser_advance(struct tide_parser *parser);
/* Returns the token after the current one. */
struct tide_token tide_parser_peek(const struct tide_parser *parser);
bool tide_parser_expected(struct tide_parser *parser, const char *what); /* always false */
bool tide_parser_accept(struct tide_parser *parser, unsigned mark);
bool tide_parser_accept_word(struct tide_parser *parser, const char *word);
bool tide_parser_expect(struct tide_parser *parser, unsigned mark, const char *what);
bool tide_parser_at_word(const struct tide_parser *parser, const char *word);
/* True at the end of a line or of a block. */
bool tide_parser_at_end(const struct tide_parser *parser);
void *tide_parser_get(struct tide_parser *parser, size_t size);

/* Parses any word. */
bool tide_parse_word(struct tide_parser *parser, const char *what, struct tide_name *out_name);
/* Parses a word that the language does not reserve. */
bool tide_parse_new_name(struct tide_parser *parser, const char *what, struct tide_name *out_name);
/* Parses an expression. `whole`: with comparisons and logic; else arithmetic alone, so that `>=`,
 * `=` and `..` end it. */
bool tide_parse_expression(struct tide_parser *parser, bool whole, struct tide_code *out_code);
bool tide_parse_string(struct tide_parser *parser, const char *what,
                       struct tide_string *out_string);
/* Parses a text, or the name of a text parameter. */
bool tide_parse_string_or_name(struct tide_parser *parser, const char *what,
                               struct tide_string *out_string);
bool tide_parse_reference(struct tide_parser *parser, const char *what,
                          struct tide_reference *out_reference);
bool tide_parse_code_name(struct tide_parser *parser, struct tide_name name,
                          struct tide_code *out_code);

/* Parses a declaration if the current word (param, device, queue …) begins one. Otherwise sets
 * *out_is to false and consumes nothing. */
bool tide_parse_declaration(struct tide_parser *parser, bool *out_is);
bool tide_parse_require(struct tide_parser *parser, struct tide_code *out_condition,
                        struct tide_string *out_message);
/* Parses `left: blur …` or `host: …`. */
bool tide_parse_operation(struct tide_parser *parser, struct tide_statement **out_statement);
/* Looks up every name; parsing must have succeeded. */
bool tide_program_resolve(struct tide_program *program, struct tide_errors *errors);

#endif
