/* Parses declarations. */
#include "program/parse.h"

static struct tide_declaration *add_declaration(struct tide_parser *parser,
                                                enum tide_declaration_kind kind) {
  struct tide_declaration *declaration = tide_parser_get(parser, sizeof *declaration);
  if (!declaration) return NULL;
  declaration->kind = kind;
  declaration->line = parser->token.line;
  declaration->column = parser->token.column;
  *parser->last_declaration = declaration;
  parser->last_declaration = &declaration->next;
  return declaration;
}

static struct tide_declared *parse_declared(struct tide_parser *parser, const char *what,
                                            bool array) {
  struct tide_declared *declared = tide_parser_get(parser, sizeof *declared);
  if (!declared || !tide_parse_new_name(parser, what, &declared->name)) return NULL;
  if (!array || !tide_parser_accept(parser, '[')) return declared;
  declared->array = true;
  if (!tide_parse_expression(parser, true, &declared->count)) return NULL;
  return tide_parser_expect(parser, ']', "']'") ? declared : NULL;
}

static bool at_new_name(const struct tide_parser *parser, const char *end) {
  return parser->token.kind == TIDE_TOKEN_WORD && !tide_parser_at_word(parser, end);
}

/* Parses names separated by commas. If the word `end` follows the names, spaces suffice. */
static bool parse_names(struct tide_parser *parser, struct tide_declaration *declaration,
                        const char *what, const char *end) {
  struct tide_declared **last = &declaration->names;
  do {
    *last = parse_declared(parser, what, true);
    if (!*last) return false;
    last = &(*last)->next;
  } while (tide_parser_accept(parser, ',') || (end && at_new_name(parser, end)));
  return true;
}

bool tide_parse_require(struct tide_parser *parser, struct tide_code *out_condition,
                        struct tide_string *out_message) {
  tide_parser_advance(parser);
  if (!tide_parse_expression(parser, true, out_condition)) return false;
  return !tide_parser_accept(parser, ',') ||
         tide_parse_string(parser, "a text that says what is required", out_message);
}

static bool parse_param(struct tide_parser *parser, struct tide_declaration *declaration) {
  declaration->names = parse_declared(parser, "a name", false);
  if (!declaration->names || !tide_parser_expect(parser, '=', "'='")) return false;
  if (declaration->kind == TIDE_DECLARE_PARAM && parser->token.kind == TIDE_TOKEN_STRING)
    return tide_parse_string(parser, "a text", &declaration->text);
  return tide_parse_expression(parser, true, &declaration->value);
}

static bool parse_options(struct tide_parser *parser, struct tide_declaration *declaration) {
  struct tide_option **last = &declaration->options;
  while (parser->token.kind == TIDE_TOKEN_WORD) {
    struct tide_option *option = tide_parser_get(parser, sizeof *option);
    if (!option || !tide_parse_word(parser, "an option", &option->key)) return false;
    *last = option;
    last = &option->next;
    bool parsed = parser->token.kind == TIDE_TOKEN_STRING
                      ? tide_parse_string(parser, "a text", &option->text)
                      : tide_parse_expression(parser, true, &option->value);
    if (!parsed) return false;
  }
  return true;
}

static bool parse_device(struct tide_parser *parser, struct tide_declaration *declaration) {
  return parse_names(parser, declaration, "a name for the device", NULL) &&
         tide_parse_word(parser, "the device's kind, such as 'cpu' or 'file'",
                         &declaration->device_kind) &&
         parse_options(parser, declaration);
}

static bool parse_queue(struct tide_parser *parser, struct tide_declaration *declaration) {
  if (!parse_names(parser, declaration, "a name for the queue", "on")) return false;
  if (!tide_parser_accept_word(parser, "on"))
    return tide_parser_expected(parser, "'on' and the queue's device");
  if (!tide_parse_reference(parser, "a device", &declaration->device)) return false;
  for (;;) {
    struct tide_code *value;
    if (tide_parser_at_word(parser, "priority")) value = &declaration->value;
    else if (tide_parser_at_word(parser, "capacity")) value = &declaration->capacity;
    else break;
    if (value->count) return tide_parser_expected(parser, "each of 'priority' and 'capacity' once");
    tide_parser_advance(parser);
    if (!tide_parse_expression(parser, true, value)) return false;
  }
  return tide_parser_at_end(parser) ||
         tide_parser_expected(parser, "'priority', 'capacity' or the end of the line");
}

static bool parse_timeline(struct tide_parser *parser, struct tide_declaration *declaration) {
  if (!parse_names(parser, declaration, "a name for the timeline", "initial")) return false;
  return !tide_parser_accept_word(parser, "initial") ||
         tide_parse_expression(parser, true, &declaration->value);
}

static bool parse_buffer(struct tide_parser *parser, struct tide_declaration *declaration) {
  return parse_names(parser, declaration, "a name for the buffer", NULL) &&
         tide_parse_expression(parser, true, &declaration->value);
}

static bool parse_file(struct tide_parser *parser, struct tide_declaration *declaration) {
  declaration->names = parse_declared(parser, "a name for the file", false);
  if (!declaration->names) return false;
  if (tide_parser_accept_word(parser, "temporary")) {
    declaration->mode = TIDE_FILE_TEMPORARY;
    return true;
  }
  if (tide_parser_accept_word(parser, "read")) declaration->mode = TIDE_FILE_READ;
  else if (tide_parser_accept_word(parser, "write")) declaration->mode = TIDE_FILE_WRITE;
  else return tide_parser_expected(parser, "'read', 'write' or 'temporary'");
  return tide_parse_string_or_name(parser, "the file's path, in quotes", &declaration->text);
}

static bool parse_collective(struct tide_parser *parser, struct tide_declaration *declaration) {
  struct tide_member **last = &declaration->members;
  declaration->names = parse_declared(parser, "a name for the collective", false);
  if (!declaration->names) return false;
  if (!tide_parser_accept_word(parser, "over"))
    return tide_parser_expected(parser, "'over' and the queues that take part");
  do {
    struct tide_member *member = tide_parser_get(parser, sizeof *member);
    if (!member || !tide_parse_reference(parser, "a queue", &member->queue)) return false;
    *last = member;
    last = &member->next;
  } while (tide_parser_accept(parser, ','));
  return true;
}

static bool parse_requirement(struct tide_parser *parser, struct tide_declaration *declaration) {
  return tide_parse_require(parser, &declaration->value, &declaration->text);
}

bool tide_parse_declaration(struct tide_parser *parser, bool *out_is) {
  static const struct {
    const char *word;
    enum tide_declaration_kind kind;
    bool (*parse)(struct tide_parser *parser, struct tide_declaration *declaration);
  } words[] = {{"param", TIDE_DECLARE_PARAM, parse_param},
               {"let", TIDE_DECLARE_LET, parse_param},
               {"require", TIDE_DECLARE_REQUIRE, parse_requirement},
               {"device", TIDE_DECLARE_DEVICE, parse_device},
               {"queue", TIDE_DECLARE_QUEUE, parse_queue},
               {"timeline", TIDE_DECLARE_TIMELINE, parse_timeline},
               {"buffer", TIDE_DECLARE_BUFFER, parse_buffer},
               {"scratch", TIDE_DECLARE_SCRATCH, parse_buffer},
               {"file", TIDE_DECLARE_FILE, parse_file},
               {"collective", TIDE_DECLARE_COLLECTIVE, parse_collective}};
  *out_is = true;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!tide_parser_at_word(parser, words[i].word)) continue;
    if (parser->nesting) {
      return tide_error(parser->errors, TIDE_CORRUPT, parser->token.line, parser->token.column,
                        "'%s' stands outside of 'for' and 'if'", words[i].word);
    }
    struct tide_declaration *declaration = add_declaration(parser, words[i].kind);
    if (words[i].kind != TIDE_DECLARE_REQUIRE) tide_parser_advance(parser);
    return declaration && words[i].parse(parser, declaration);
  }
  *out_is = false;
  return true;
}
