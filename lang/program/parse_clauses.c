/* Parses operations, `QUEUE: BODY arguments wait … take … signal … cost … label … passable`, and
 * the actions of the host. */
#include "program/parse.h"

/* True if a clause begins at the current word, or on the next line, to which the parser then
 * advances. */
static bool at_clause(struct tide_parser *parser) {
  struct tide_token token = parser->token;
  const char *text = parser->program->text;
  if (token.kind == TIDE_TOKEN_NEWLINE) {
    token = tide_parser_peek(parser);
    if (token.kind != TIDE_TOKEN_WORD || !tide_word_is_clause(text + token.at, token.length))
      return false;
    tide_parser_advance(parser);
    return true;
  }
  return token.kind == TIDE_TOKEN_WORD && tide_word_is_clause(text + token.at, token.length);
}

/* ---- arguments ------------------------------------------------------------------ */

/* Parses the rest of a slice `[offset, size]`, from the size on. */
static bool parse_slice(struct tide_parser *parser, struct tide_program_argument *argument) {
  argument->sliced = true;
  return tide_parse_expression(parser, false, &argument->size) &&
         tide_parser_expect(parser, ']', "']'");
}

static bool parse_buffer(struct tide_parser *parser, struct tide_program_argument *argument) {
  struct tide_reference *reference = &argument->reference;
  struct tide_code first;
  argument->form = TIDE_FORM_REFERENCE;
  if (!tide_parse_new_name(parser, "a name", &reference->name)) return false;
  if (!tide_parser_accept(parser, '[')) return true;
  if (tide_parser_accept(parser, '*')) {
    reference->all = true;
    return tide_parser_expect(parser, ']', "']'");
  }
  if (!tide_parse_expression(parser, false, &first)) return false;
  if (tide_parser_accept(parser, ',')) { /* a slice of a buffer that is no array */
    argument->offset = first;
    return parse_slice(parser, argument);
  }
  reference->indexed = true;
  reference->index = first;
  if (!tide_parser_expect(parser, ']', "',' or ']'")) return false;
  if (!tide_parser_accept(parser, '[')) return true;
  return tide_parse_expression(parser, false, &argument->offset) &&
         tide_parser_expect(parser, ',', "',' and the size of the slice") &&
         parse_slice(parser, argument);
}

/* Parses a name alone. The resolver decides whether it is a buffer, a file, a text or a number. */
static bool parse_bare_name(struct tide_parser *parser, struct tide_program_argument *argument) {
  argument->form = TIDE_FORM_REFERENCE;
  return tide_parse_new_name(parser, "a name", &argument->reference.name) &&
         tide_parse_code_name(parser, argument->reference.name, &argument->value);
}

static bool ends_argument(const struct tide_parser *parser, const struct tide_token *token) {
  if (tide_token_mark(token, ',') || tide_token_mark(token, '}')) return true;
  if (token->kind == TIDE_TOKEN_END || token->kind == TIDE_TOKEN_NEWLINE) return true;
  return token->kind == TIDE_TOKEN_WORD &&
         tide_word_is_clause(parser->program->text + token->at, token->length);
}

static bool parse_argument(struct tide_parser *parser,
                           struct tide_program_argument **out_argument) {
  struct tide_program_argument *argument = tide_parser_get(parser, sizeof *argument);
  struct tide_token next = tide_parser_peek(parser);
  if (!argument) return false;
  *out_argument = argument;
  argument->line = parser->token.line;
  argument->column = parser->token.column;
  if (parser->token.kind == TIDE_TOKEN_WORD && tide_token_mark(&next, '=')) {
    if (!tide_parse_word(parser, "a name", &argument->name)) return false;
    tide_parser_advance(parser);
    next = tide_parser_peek(parser);
    argument->line = parser->token.line;
    argument->column = parser->token.column;
  }
  if (parser->token.kind == TIDE_TOKEN_STRING) {
    argument->form = TIDE_FORM_STRING;
    return tide_parse_string(parser, "a text", &argument->string);
  }
  if (parser->token.kind == TIDE_TOKEN_WORD && tide_token_mark(&next, '['))
    return parse_buffer(parser, argument);
  if (parser->token.kind == TIDE_TOKEN_WORD && ends_argument(parser, &next))
    return parse_bare_name(parser, argument);
  argument->form = TIDE_FORM_EXPRESSION;
  return tide_parse_expression(parser, true, &argument->value);
}

static bool at_arguments(const struct tide_parser *parser) {
  if (tide_parser_at_end(parser)) return false;
  if (tide_token_mark(&parser->token, ',')) return true; /* the argument before it is missing */
  struct tide_token next = tide_parser_peek(parser);
  /* `label=…` is an argument of that name, `label …` the clause. */
  return tide_token_mark(&next, '=') || !ends_argument(parser, &parser->token);
}

static bool parse_arguments(struct tide_parser *parser,
                            struct tide_operation_statement *operation) {
  struct tide_program_argument **last = &operation->arguments;
  if (!at_arguments(parser)) return true;
  do {
    if (!parse_argument(parser, last)) return false;
    last = &(*last)->next;
  } while (tide_parser_accept(parser, ','));
  return true;
}

/* ---- clauses ----------------------------------------------------------------------- */

static bool parse_timepoints(struct tide_parser *parser, unsigned mark, const char *what,
                             struct tide_point_clause **last) {
  do {
    struct tide_point_clause *point = tide_parser_get(parser, sizeof *point);
    if (!point) return false;
    *last = point;
    last = &point->next;
    if (!tide_parse_reference(parser, "a timeline", &point->timeline) ||
        !tide_parser_expect(parser, mark, what) ||
        !tide_parse_expression(parser, false, &point->value)) {
      return false;
    }
  } while (tide_parser_accept(parser, ','));
  return true;
}

static bool parse_waits(struct tide_parser *parser, struct tide_operation_statement *operation) {
  return parse_timepoints(parser, TIDE_MARK_GREATER_EQUAL, "'>='", &operation->waits);
}

static bool parse_signals(struct tide_parser *parser, struct tide_operation_statement *operation) {
  return parse_timepoints(parser, '=', "'='", &operation->signals);
}

/* Parses a comma-separated list of names without slices. */
static bool parse_row(struct tide_parser *parser, const char *what,
                      struct tide_program_argument **last) {
  do {
    struct tide_program_argument *argument = tide_parser_get(parser, sizeof *argument);
    if (!argument) return false;
    *last = argument;
    last = &argument->next;
    argument->form = TIDE_FORM_REFERENCE;
    argument->line = parser->token.line;
    argument->column = parser->token.column;
    if (!tide_parse_reference(parser, what, &argument->reference)) return false;
  } while (tide_parser_accept(parser, ','));
  return true;
}

static bool parse_takes(struct tide_parser *parser, struct tide_operation_statement *operation) {
  if (!parse_row(parser, "a buffer", &operation->takes)) return false;
  return !tide_parser_accept_word(parser, "after") ||
         tide_parse_expression(parser, false, &operation->after);
}

static bool check_once(struct tide_parser *parser, const char *clause, bool given) {
  if (!given) return true;
  return tide_error(parser->errors, TIDE_CORRUPT, parser->token.line, parser->token.column,
                    "an operation has one '%s'", clause);
}

static bool parse_clause(struct tide_parser *parser, struct tide_operation_statement *operation) {
  if (tide_parser_accept_word(parser, "wait"))
    return check_once(parser, "wait", operation->waits) && parse_waits(parser, operation);
  if (tide_parser_accept_word(parser, "take"))
    return check_once(parser, "take", operation->takes) && parse_takes(parser, operation);
  if (tide_parser_accept_word(parser, "signal"))
    return check_once(parser, "signal", operation->signals) && parse_signals(parser, operation);
  if (tide_parser_accept_word(parser, "cost")) {
    return check_once(parser, "cost", operation->cost.count) &&
           tide_parse_expression(parser, true, &operation->cost);
  }
  if (tide_parser_accept_word(parser, "label")) {
    return check_once(parser, "label", operation->label.given) &&
           tide_parse_string(parser, "a text", &operation->label);
  }
  tide_parser_advance(parser);
  operation->passable = true;
  return true;
}

/* ---- statements ----------------------------------------------------------------------- */

static bool parse_host(struct tide_parser *parser, struct tide_operation_statement *operation) {
  if (tide_parser_accept_word(parser, "signal")) {
    operation->base.kind = TIDE_STATEMENT_HOST_SIGNAL;
    return parse_signals(parser, operation);
  }
  if (tide_parser_accept_word(parser, "external")) {
    operation->base.kind = TIDE_STATEMENT_HOST_EXTERNAL;
    return parse_signals(parser, operation);
  }
  if (tide_parser_accept_word(parser, "wait")) {
    operation->base.kind = TIDE_STATEMENT_HOST_WAIT;
    return parse_waits(parser, operation);
  }
  return tide_parser_expected(parser, "'signal', 'external' or 'wait'");
}

static bool parse_body(struct tide_parser *parser, struct tide_operation_statement *operation) {
  if (tide_parser_accept_word(parser, "alloc")) {
    operation->base.kind = TIDE_STATEMENT_ALLOC;
    return parse_row(parser, "a scratch buffer", &operation->arguments);
  }
  if (tide_parser_accept_word(parser, "free")) {
    operation->base.kind = TIDE_STATEMENT_FREE;
    return parse_row(parser, "a scratch buffer", &operation->arguments);
  }
  operation->base.kind = TIDE_STATEMENT_OPERATION;
  if (!tide_parse_new_name(parser, "a body (what to do)", &operation->body)) return false;
  if (!parse_arguments(parser, operation)) return false;
  while (at_clause(parser)) {
    if (!parse_clause(parser, operation)) return false;
  }
  if (tide_parser_at_end(parser)) return true;
  return tide_parser_expected(
      parser, operation->arguments
                  ? "',', 'wait', 'take', 'signal', 'cost', 'label', 'passable' or the end of the "
                    "line"
                  : "'wait', 'take', 'signal', 'cost', 'label', 'passable' or the end of the line");
}

bool tide_parse_operation(struct tide_parser *parser, struct tide_statement **out_statement) {
  struct tide_operation_statement *operation = tide_parser_get(parser, sizeof *operation);
  bool host = tide_parser_at_word(parser, "host");
  if (!operation) return false;
  if (!tide_parse_reference(parser, "a declaration, 'for', 'if' or the name of a queue",
                            &operation->target)) {
    return false;
  }
  if (!tide_parser_accept(parser, ':')) {
    return tide_parser_expected(parser, operation->target.indexed || operation->target.all
                                            ? "':'"
                                            : "':' (as in 'QUEUE: BODY …') behind this name");
  }
  *out_statement = &operation->base;
  return host ? parse_host(parser, operation) : parse_body(parser, operation);
}
