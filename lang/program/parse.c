/* Parses blocks and statements; also the helpers shared by all of the parser. */
#include "program/parse.h"
#include "base/alloc.h"

/* ---- tokens -------------------------------------------------------------------- */

void tide_parser_advance(struct tide_parser *parser) {
  tide_lexer_next(&parser->lexer, &parser->token);
}

struct tide_token tide_parser_peek(const struct tide_parser *parser) {
  struct tide_lexer ahead = parser->lexer;
  struct tide_token token;
  tide_lexer_next(&ahead, &token);
  return token;
}

bool tide_parser_expected(struct tide_parser *parser, const char *what) {
  const struct tide_token *token = &parser->token;
  char found[96];
  if (token->kind == TIDE_TOKEN_BAD && token->wrong) {
    return tide_error(parser->errors, TIDE_CORRUPT, token->line, token->column, "%s", token->wrong);
  }
  tide_token_print(&parser->lexer, token, found, sizeof found);
  return tide_error(parser->errors, TIDE_CORRUPT, token->line, token->column,
                    "expected %s, found %s", what, found);
}

bool tide_parser_accept(struct tide_parser *parser, unsigned mark) {
  if (!tide_token_mark(&parser->token, mark)) return false;
  tide_parser_advance(parser);
  return true;
}

bool tide_parser_at_word(const struct tide_parser *parser, const char *word) {
  return tide_token_is(&parser->lexer, &parser->token, word);
}

bool tide_parser_accept_word(struct tide_parser *parser, const char *word) {
  if (!tide_parser_at_word(parser, word)) return false;
  tide_parser_advance(parser);
  return true;
}

bool tide_parser_expect(struct tide_parser *parser, unsigned mark, const char *what) {
  return tide_parser_accept(parser, mark) || tide_parser_expected(parser, what);
}

bool tide_parser_at_end(const struct tide_parser *parser) {
  return parser->token.kind == TIDE_TOKEN_NEWLINE || parser->token.kind == TIDE_TOKEN_END ||
         tide_token_mark(&parser->token, '}');
}

void *tide_parser_get(struct tide_parser *parser, size_t size) {
  void *memory = tide_arena_get(&parser->program->arena, 1, size);
  if (!memory) tide_error_no_memory(parser->errors);
  return memory;
}

/* ---- names ----------------------------------------------------------------------- */

static bool is_reserved(const char *text, size_t length) {
  static const char *const words[] = {
      "alloc", "and",   "buffer",  "collective", "device",  "else",    "file", "for",
      "free",  "if",    "initial", "let",        "max",     "min",     "not",  "on",
      "or",    "param", "queue",   "require",    "scratch", "timeline"};
  if (tide_word_is_clause(text, length)) return true;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (tide_word_equal(text, length, words[i])) return true;
  }
  return false;
}

bool tide_parse_word(struct tide_parser *parser, const char *what, struct tide_name *out_name) {
  const struct tide_token *token = &parser->token;
  if (token->kind != TIDE_TOKEN_WORD) return tide_parser_expected(parser, what);
  *out_name = (struct tide_name){token->at, token->length, token->line, token->column};
  tide_parser_advance(parser);
  return true;
}

bool tide_parse_new_name(struct tide_parser *parser, const char *what, struct tide_name *out_name) {
  const struct tide_token *token = &parser->token;
  const char *word = parser->program->text + token->at;
  if (token->kind == TIDE_TOKEN_WORD && is_reserved(word, token->length)) {
    return tide_error(parser->errors, TIDE_CORRUPT, token->line, token->column,
                      "expected %s, found '%.*s', which is a word of the language", what,
                      (int)token->length, word);
  }
  return tide_parse_word(parser, what, out_name);
}

bool tide_parse_reference(struct tide_parser *parser, const char *what,
                          struct tide_reference *out_reference) {
  *out_reference = (struct tide_reference){0};
  if (!tide_parse_new_name(parser, what, &out_reference->name)) return false;
  if (!tide_parser_accept(parser, '[')) return true;
  if (tide_token_mark(&parser->token, '*')) {
    tide_parser_advance(parser);
    out_reference->all = true;
  } else {
    out_reference->indexed = true;
    if (!tide_parse_expression(parser, true, &out_reference->index)) return false;
  }
  return tide_parser_expect(parser, ']', "']'");
}

/* ---- texts ------------------------------------------------------------------------- */

static bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static struct tide_string_part *add_part(struct tide_parser *parser,
                                         struct tide_string_part ***last, struct tide_name text,
                                         bool is_name) {
  struct tide_string_part *part = tide_parser_get(parser, sizeof *part);
  if (!part) return NULL;
  part->text = text;
  part->is_name = is_name;
  **last = part;
  *last = &part->next;
  return part;
}

/* Cuts the text of a string token at each {name}. */
static bool cut_string(struct tide_parser *parser, const struct tide_token *token,
                       struct tide_string *out_string) {
  const char *text = parser->program->text;
  struct tide_string_part **last = &out_string->parts;
  uint32_t at = token->at + 1, end = token->at + token->length - 1, literal = at;
  while (at < end) {
    if (text[at] == '\\' || (text[at] == '{' && text[at + 1] == '{')) {
      at += 2;
      continue;
    }
    if (text[at] != '{') {
      at++;
      continue;
    }
    uint32_t column = token->column + (at - token->at), name = at + 1, stop = name;
    while (stop < end && is_name_byte(text[stop])) stop++;
    if (stop == name || stop >= end || text[stop] != '}' || stop - name > TIDE_PROGRAM_NAME_MAX) {
      return tide_error(parser->errors, TIDE_CORRUPT, token->line, column,
                        "'{' in a text begins the name of a parameter, '{name}'; "
                        "the brace itself is '{{'");
    }
    if (at > literal &&
        !add_part(parser, &last, (struct tide_name){literal, at - literal, 0, 0}, false))
      return false;
    if (!add_part(parser, &last, (struct tide_name){name, stop - name, token->line, column + 1},
                  true))
      return false;
    at = literal = stop + 1;
  }
  return end <= literal ||
         add_part(parser, &last, (struct tide_name){literal, end - literal, 0, 0}, false);
}

bool tide_parse_string(struct tide_parser *parser, const char *what,
                       struct tide_string *out_string) {
  const struct tide_token token = parser->token;
  if (token.kind != TIDE_TOKEN_STRING) return tide_parser_expected(parser, what);
  *out_string = (struct tide_string){.line = token.line, .column = token.column, .given = true};
  tide_parser_advance(parser);
  return cut_string(parser, &token, out_string);
}

bool tide_parse_string_or_name(struct tide_parser *parser, const char *what,
                               struct tide_string *out_string) {
  struct tide_string_part **last = &out_string->parts;
  struct tide_name name;
  if (parser->token.kind != TIDE_TOKEN_WORD) return tide_parse_string(parser, what, out_string);
  if (!tide_parse_new_name(parser, what, &name)) return false;
  *out_string = (struct tide_string){.line = name.line, .column = name.column, .given = true};
  return add_part(parser, &last, name, true) != NULL;
}

/* ---- blocks -------------------------------------------------------------------------- */

static void parse_statements(struct tide_parser *parser, struct tide_statement **last);

/* True if the next line continues this statement. */
static bool continues_statement(const struct tide_parser *parser) {
  struct tide_token next = tide_parser_peek(parser);
  return next.kind == TIDE_TOKEN_WORD &&
         tide_word_is_clause(parser->program->text + next.at, next.length);
}

/* Skips to the end of a statement with an error, over whole blocks that open in it. */
static void recover_statement(struct tide_parser *parser) {
  uint32_t depth = 0;
  for (;; tide_parser_advance(parser)) {
    const struct tide_token *token = &parser->token;
    if (token->kind == TIDE_TOKEN_END) return;
    if (tide_token_mark(token, '{')) depth++;
    else if (tide_token_mark(token, '}') && depth-- == 0) return;
    else if (token->kind == TIDE_TOKEN_NEWLINE && depth == 0 && !continues_statement(parser))
      return;
  }
}

/* Skips a statement with an error in its head. The statements inside its block are still parsed,
 * for their errors. */
static void recover_head(struct tide_parser *parser) {
  while (!tide_parser_at_end(parser) && !tide_token_mark(&parser->token, '{'))
    tide_parser_advance(parser);
  if (!tide_token_mark(&parser->token, '{') || parser->nesting >= TIDE_PROGRAM_NESTING_MAX) {
    recover_statement(parser);
    return;
  }
  struct tide_statement *ignored = NULL;
  tide_parser_advance(parser);
  parser->nesting++;
  parse_statements(parser, &ignored);
  parser->nesting--;
  tide_parser_accept(parser, '}');
  recover_statement(parser);
}

static bool parse_block(struct tide_parser *parser, struct tide_statement **out_first) {
  if (parser->nesting >= TIDE_PROGRAM_NESTING_MAX) {
    return tide_error(parser->errors, TIDE_FULL, parser->token.line, parser->token.column,
                      "blocks are nested deeper than %d", TIDE_PROGRAM_NESTING_MAX);
  }
  const struct tide_token opening = parser->token;
  if (!tide_parser_expect(parser, '{', "'{'")) return false;
  parser->nesting++;
  parse_statements(parser, out_first);
  parser->nesting--;
  if (tide_parser_accept(parser, '}')) return true;
  return tide_error(parser->errors, TIDE_CORRUPT, opening.line, opening.column,
                    "this '{' has no '}'");
}

static bool parse_for(struct tide_parser *parser, struct tide_statement **out_statement) {
  struct tide_for_statement *loop = tide_parser_get(parser, sizeof *loop);
  if (!loop) return false;
  loop->base.kind = TIDE_STATEMENT_FOR;
  *out_statement = &loop->base;
  tide_parser_advance(parser);
  if (!tide_parse_new_name(parser, "the name of the loop's variable", &loop->name)) return false;
  if (!tide_parser_accept_word(parser, "in")) return tide_parser_expected(parser, "'in'");
  if (!tide_parse_expression(parser, false, &loop->from)) return false;
  if (!tide_parser_expect(parser, TIDE_MARK_RANGE, "'..'")) return false;
  if (!tide_parse_expression(parser, false, &loop->to)) return false;
  if (tide_parser_accept_word(parser, "step") &&
      !tide_parse_expression(parser, false, &loop->step)) {
    return false;
  }
  return parse_block(parser, &loop->body);
}

static bool parse_if(struct tide_parser *parser, struct tide_statement **out_statement) {
  struct tide_if_statement *choice = NULL;
  struct tide_statement **place = out_statement;
  do { /* `else if` becomes the else part, without more nesting */
    choice = tide_parser_get(parser, sizeof *choice);
    if (!choice) return false;
    choice->base = (struct tide_statement){.kind = TIDE_STATEMENT_IF,
                                           .number = parser->program->statement_count++,
                                           .line = parser->token.line,
                                           .column = parser->token.column};
    *place = &choice->base;
    place = &choice->otherwise;
    tide_parser_advance(parser);
    if (!tide_parse_expression(parser, true, &choice->condition)) return false;
    if (!parse_block(parser, &choice->then)) return false;
    if (!tide_parser_accept_word(parser, "else")) return true;
  } while (tide_parser_at_word(parser, "if"));
  return parse_block(parser, place);
}

static bool parse_let(struct tide_parser *parser, struct tide_statement **out_statement) {
  struct tide_let_statement *let = tide_parser_get(parser, sizeof *let);
  if (!let) return false;
  let->base.kind = TIDE_STATEMENT_LET;
  *out_statement = &let->base;
  tide_parser_advance(parser);
  return tide_parse_new_name(parser, "a name", &let->name) &&
         tide_parser_expect(parser, '=', "'='") && tide_parse_expression(parser, true, &let->value);
}

static bool parse_require(struct tide_parser *parser, struct tide_statement **out_statement) {
  struct tide_require_statement *require = tide_parser_get(parser, sizeof *require);
  if (!require) return false;
  require->base.kind = TIDE_STATEMENT_REQUIRE;
  *out_statement = &require->base;
  return tide_parse_require(parser, &require->condition, &require->message);
}

static bool parse_end(struct tide_parser *parser) {
  if (parser->token.kind == TIDE_TOKEN_NEWLINE) tide_parser_advance(parser);
  else if (!tide_parser_at_end(parser)) return tide_parser_expected(parser, "the end of the line");
  else if (parser->nesting == 0 && parser->token.kind != TIDE_TOKEN_END)
    return tide_parser_expected(parser, "the end of the line");
  return true;
}

/* Parses a declaration or a statement. *out_statement stays NULL for declarations. */
static bool parse_statement(struct tide_parser *parser, struct tide_statement **out_statement) {
  bool is;
  if (parser->token.kind != TIDE_TOKEN_WORD)
    return tide_parser_expected(parser, "a declaration, 'for', 'if' or an operation");
  if (tide_parser_at_word(parser, "for")) return parse_for(parser, out_statement);
  if (tide_parser_at_word(parser, "if")) return parse_if(parser, out_statement);
  if (tide_parser_at_word(parser, "else")) {
    return tide_error(parser->errors, TIDE_CORRUPT, parser->token.line, parser->token.column,
                      "'else' stands behind a '}', on the same line");
  }
  if (parser->nesting && tide_parser_at_word(parser, "let"))
    return parse_let(parser, out_statement);
  if (parser->nesting && tide_parser_at_word(parser, "require"))
    return parse_require(parser, out_statement);
  if (!tide_parse_declaration(parser, &is)) return false;
  return is || tide_parse_operation(parser, out_statement);
}

static void parse_statements(struct tide_parser *parser, struct tide_statement **last) {
  for (;;) {
    const struct tide_token first = parser->token;
    struct tide_statement *statement = NULL;
    if (first.kind == TIDE_TOKEN_END || tide_errors_enough(parser->errors)) return;
    if (tide_token_mark(&first, '}') && parser->nesting) return;
    if (first.kind == TIDE_TOKEN_NEWLINE) {
      tide_parser_advance(parser);
      continue;
    }
    bool head = tide_parser_at_word(parser, "for") || tide_parser_at_word(parser, "if");
    if (!parse_statement(parser, &statement)) {
      if (tide_token_mark(&parser->token, '}') && !parser->nesting) tide_parser_advance(parser);
      if (head) recover_head(parser);
      else recover_statement(parser);
      continue;
    }
    if (!parse_end(parser)) {
      recover_statement(parser);
      if (tide_token_mark(&parser->token, '}') && !parser->nesting) tide_parser_advance(parser);
    }
    if (!statement) continue;
    if (statement->kind != TIDE_STATEMENT_IF) {
      statement->number = parser->program->statement_count++;
      statement->line = first.line;
      statement->column = first.column;
    }
    *last = statement;
    last = &statement->next;
  }
}

/* ---- programs --------------------------------------------------------------------------- */

static bool check_operations(struct tide_parser *parser) {
  if (parser->program->statements || parser->errors->count) return true;
  return tide_error(parser->errors, TIDE_CORRUPT, 1, 1, "this program has no operations");
}

static bool list_params(struct tide_parser *parser) {
  struct tide_program *program = parser->program;
  size_t count = 0;
  for (struct tide_declaration *d = program->declarations; d; d = d->next)
    count += d->kind == TIDE_DECLARE_PARAM;
  if (!count) return true;
  program->params = tide_arena_get(&program->arena, count, sizeof *program->params);
  if (!program->params) return tide_error_no_memory(parser->errors);
  for (struct tide_declaration *d = program->declarations; d; d = d->next) {
    if (d->kind != TIDE_DECLARE_PARAM) continue;
    const struct tide_name *name = &d->names->name;
    const char *text = tide_arena_text(&program->arena, program->text + name->at, name->length);
    if (!text) return tide_error_no_memory(parser->errors);
    program->params[program->param_count++] =
        (struct tide_program_param){text, d->text.given, name->line, name->column};
  }
  return true;
}

static void parse_text(struct tide_program *program, struct tide_errors *errors, bool syntax_only) {
  struct tide_parser parser = {
      .program = program, .errors = errors, .last_declaration = &program->declarations};
  tide_lexer_init(&parser.lexer, program->text, program->length);
  tide_parser_advance(&parser);
  parse_statements(&parser, &program->statements);
  if (syntax_only || errors->count) return;
  if (!check_operations(&parser) || !list_params(&parser)) return;
  program->resolved = tide_program_resolve(program, errors);
}

enum tide_status tide_program_parse(const struct tide_program_params *params,
                                    struct tide_report *report, struct tide_program **out_program) {
  struct tide_program_params own;
  struct tide_errors errors;
  *out_program = NULL;
  if (!tide_errors_begin(&errors, report, &own, sizeof own, params, "tide_program_params"))
    return errors.status;
  params = &own;
  if (params->length > TIDE_PROGRAM_TEXT_MAX) {
    tide_error(&errors, TIDE_FULL, 0, 0, "a program has at most %u bytes; this text has %llu",
               TIDE_PROGRAM_TEXT_MAX, (unsigned long long)params->length);
    return errors.status;
  }
  const struct tide_allocator *allocator = tide_allocator_or_default(params->allocator);
  struct tide_program *program = allocator ? tide_alloc(allocator, 1, sizeof *program) : NULL;
  if (!program) {
    tide_error_no_memory(&errors);
    return errors.status;
  }
  program->allocator = allocator;
  tide_arena_init(&program->arena, allocator);
  program->length = (uint32_t)params->length;
  program->text =
      tide_arena_text(&program->arena, params->text ? params->text : "", params->length);
  if (program->text) parse_text(program, &errors, params->syntax_only);
  else tide_error_no_memory(&errors);
  if (errors.count) {
    tide_program_destroy(program);
    return errors.status;
  }
  *out_program = program;
  return TIDE_OK;
}

void tide_program_destroy(struct tide_program *program) {
  if (!program) return;
  const struct tide_allocator *allocator = program->allocator;
  tide_free(allocator, program->code, program->code_capacity, sizeof *program->code);
  tide_free(allocator, program->symbols, program->symbol_capacity, sizeof *program->symbols);
  tide_arena_fini(&program->arena);
  tide_free(allocator, program, 1, sizeof *program);
}

const struct tide_program_param *tide_program_params_of(const struct tide_program *program,
                                                        size_t *out_count) {
  *out_count = program->param_count;
  return program->params;
}

void tide_program_location(const struct tide_program *program, uint32_t place, uint32_t *out_line,
                           uint32_t *out_column) {
  uint32_t line = 1, start = 0;
  if (program->length >= 3 && memcmp(program->text, "\xef\xbb\xbf", 3) == 0) start = 3;
  for (uint32_t i = 0; i < place; i++) {
    if (program->text[i] == '\n') {
      line++;
      start = i + 1;
    }
  }
  *out_line = line;
  *out_column = place - start + 1;
}
