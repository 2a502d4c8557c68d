/* Compiles expressions to postfix code. Operators stay on a small stack until their right side is
 * complete (the shunting yard algorithm), so nothing recurses. */
#include "program/parse.h"
#include "base/array.h"
#include "base/alloc.h"

#define OPERATORS_MAX 128 /* pending operators at once */

enum operator_kind { OPEN_PAREN, OPEN_MINIMUM, OPEN_MAXIMUM, PREFIX, BINARY };

struct operator_ {
  uint8_t kind;
  uint8_t strength;
  uint32_t verb;
  uint32_t place;
  uint32_t line, column;
  uint32_t skip;      /* and, or: the jump to complete */
  uint32_t arguments; /* min, max: complete arguments */
};

struct expression {
  struct tide_parser *parser;
  bool whole;
  uint32_t depth; /* depth of parentheses */
  uint32_t count;
  struct operator_ stack[OPERATORS_MAX];
};

enum {
  STRENGTH_OR = 1,
  STRENGTH_AND,
  STRENGTH_NOT,
  STRENGTH_COMPARE,
  STRENGTH_ADD,
  STRENGTH_MULTIPLY,
  STRENGTH_NEGATE
};

static bool emit_instruction(struct tide_parser *parser, struct tide_instruction instruction) {
  struct tide_program *program = parser->program;
  if (program->code_count >= UINT32_MAX ||
      !tide_array_reserve(program->allocator, &program->code, &program->code_capacity,
                          program->code_count + 1, sizeof *program->code)) {
    return tide_error_no_memory(parser->errors);
  }
  program->code[program->code_count++] = instruction;
  return true;
}

bool tide_parse_code_name(struct tide_parser *parser, struct tide_name name,
                          struct tide_code *out_code) {
  *out_code = (struct tide_code){(uint32_t)parser->program->code_count, 1, name.at};
  return emit_instruction(
      parser,
      (struct tide_instruction){.verb = TIDE_VERB_NAME, .place = name.at, .name = name.length});
}

static bool push_operator(struct expression *e, struct operator_ o) {
  if (e->count == OPERATORS_MAX) {
    return tide_error(e->parser->errors, TIDE_FULL, o.line, o.column,
                      "this expression is nested too deep");
  }
  e->stack[e->count++] = o;
  return true;
}

static bool pop_operator(struct expression *e) {
  struct operator_ o = e->stack[--e->count];
  struct tide_program *program = e->parser->program;
  if (!emit_instruction(e->parser, (struct tide_instruction){.verb = o.verb, .place = o.place}))
    return false;
  if (o.strength == STRENGTH_AND || o.strength == STRENGTH_OR) {
    program->code[o.skip].jump = (uint32_t)program->code_count - 1;
  }
  return true;
}

static bool pop_stronger(struct expression *e, unsigned strength) {
  while (e->count && e->stack[e->count - 1].kind >= PREFIX &&
         e->stack[e->count - 1].strength >= strength) {
    if (!pop_operator(e)) return false;
  }
  return true;
}

static struct operator_ operator_here(const struct expression *e, enum operator_kind kind,
                                      unsigned strength, enum tide_verb verb) {
  const struct tide_token *token = &e->parser->token;
  return (struct operator_){.kind = (uint8_t)kind,
                            .strength = (uint8_t)strength,
                            .verb = verb,
                            .place = token->at,
                            .line = token->line,
                            .column = token->column};
}

static bool open_group(struct expression *e, enum operator_kind kind) {
  if (++e->depth > TIDE_PROGRAM_NESTING_MAX) {
    return tide_error(e->parser->errors, TIDE_FULL, e->parser->token.line, e->parser->token.column,
                      "parentheses are nested deeper than %d", TIDE_PROGRAM_NESTING_MAX);
  }
  if (!push_operator(
          e,
          operator_here(e, kind, 0, kind == OPEN_MAXIMUM ? TIDE_VERB_MAXIMUM : TIDE_VERB_MINIMUM)))
    return false;
  tide_parser_advance(e->parser);
  return kind == OPEN_PAREN || tide_parser_expect(e->parser, '(', "'('");
}

static bool prefix_not(struct expression *e) {
  const struct operator_ *top = e->count ? &e->stack[e->count - 1] : NULL;
  if (top && top->kind >= PREFIX && top->strength > STRENGTH_NOT) {
    return tide_error(e->parser->errors, TIDE_CORRUPT, e->parser->token.line,
                      e->parser->token.column, "put 'not …' in parentheses here");
  }
  if (!push_operator(e, operator_here(e, PREFIX, STRENGTH_NOT, TIDE_VERB_NOT))) return false;
  tide_parser_advance(e->parser);
  return true;
}

/* Parses a number, a name, or a prefix of one. *out_operand: false after a prefix. */
static bool parse_operand(struct expression *e, bool *out_operand) {
  struct tide_parser *parser = e->parser;
  const struct tide_token token = parser->token;
  *out_operand = false;
  if (tide_token_mark(&token, '(')) return open_group(e, OPEN_PAREN);
  if (tide_parser_at_word(parser, "min")) return open_group(e, OPEN_MINIMUM);
  if (tide_parser_at_word(parser, "max")) return open_group(e, OPEN_MAXIMUM);
  if (tide_parser_at_word(parser, "not")) return prefix_not(e);
  if (tide_token_mark(&token, '-')) {
    if (!push_operator(e, operator_here(e, PREFIX, STRENGTH_NEGATE, TIDE_VERB_NEGATE)))
      return false;
    tide_parser_advance(parser);
    return true;
  }
  *out_operand = true;
  if (token.kind == TIDE_TOKEN_NUMBER) {
    tide_parser_advance(parser);
    return emit_instruction(parser, (struct tide_instruction){.verb = TIDE_VERB_NUMBER,
                                                              .place = token.at,
                                                              .value = token.value});
  }
  struct tide_name name;
  if (!tide_parse_new_name(parser, "a number or a name", &name)) return false;
  return emit_instruction(
      parser,
      (struct tide_instruction){.verb = TIDE_VERB_NAME, .place = name.at, .name = name.length});
}

/* Returns the binary operator of the current token; strength 0: none. */
static struct operator_ binary_operator(const struct expression *e) {
  static const struct {
    uint8_t mark, strength, verb;
  } marks[] = {{'+', STRENGTH_ADD, TIDE_VERB_ADD},
               {'-', STRENGTH_ADD, TIDE_VERB_SUBTRACT},
               {'*', STRENGTH_MULTIPLY, TIDE_VERB_MULTIPLY},
               {'/', STRENGTH_MULTIPLY, TIDE_VERB_DIVIDE},
               {'%', STRENGTH_MULTIPLY, TIDE_VERB_REMAINDER},
               {'<', STRENGTH_COMPARE, TIDE_VERB_LESS},
               {'>', STRENGTH_COMPARE, TIDE_VERB_GREATER},
               {TIDE_MARK_LESS_EQUAL, STRENGTH_COMPARE, TIDE_VERB_LESS_EQUAL},
               {TIDE_MARK_GREATER_EQUAL, STRENGTH_COMPARE, TIDE_VERB_GREATER_EQUAL},
               {TIDE_MARK_EQUAL, STRENGTH_COMPARE, TIDE_VERB_EQUAL},
               {TIDE_MARK_DIFFERENT, STRENGTH_COMPARE, TIDE_VERB_DIFFERENT}};
  bool whole = e->whole || e->depth > 0;
  if (whole && tide_parser_at_word(e->parser, "and"))
    return operator_here(e, BINARY, STRENGTH_AND, TIDE_VERB_TRUTH);
  if (whole && tide_parser_at_word(e->parser, "or"))
    return operator_here(e, BINARY, STRENGTH_OR, TIDE_VERB_TRUTH);
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    if (tide_token_mark(&e->parser->token, marks[i].mark) &&
        (whole || marks[i].strength > STRENGTH_COMPARE)) {
      return operator_here(e, BINARY, marks[i].strength, (enum tide_verb)marks[i].verb);
    }
  }
  return (struct operator_){0};
}

static bool push_binary(struct expression *e, struct operator_ o) {
  const struct tide_program *program = e->parser->program;
  if (!pop_stronger(e, o.strength + (o.strength == STRENGTH_COMPARE ? 1u : 0u))) return false;
  if (o.strength == STRENGTH_COMPARE && e->count && e->stack[e->count - 1].kind == BINARY &&
      e->stack[e->count - 1].strength == STRENGTH_COMPARE) {
    return tide_error(e->parser->errors, TIDE_CORRUPT, o.line, o.column,
                      "comparisons don't chain: write 'a < b and b < c'");
  }
  if (o.strength <= STRENGTH_AND) {
    o.skip = (uint32_t)program->code_count;
    enum tide_verb verb = o.strength == STRENGTH_AND ? TIDE_VERB_AND_SKIP : TIDE_VERB_OR_SKIP;
    if (!emit_instruction(e->parser, (struct tide_instruction){.verb = verb, .place = o.place}))
      return false;
  }
  tide_parser_advance(e->parser);
  return push_operator(e, o);
}

/* Processes `,` or `)` behind an operand, inside parentheses. */
static bool close_or_comma(struct expression *e, bool *out_operand) {
  bool comma = tide_token_mark(&e->parser->token, ',');
  if (!pop_stronger(e, 0)) return false;
  struct operator_ *o = &e->stack[e->count - 1];
  if (comma && o->kind == OPEN_PAREN) return tide_parser_expected(e->parser, "')'");
  if (o->kind != OPEN_PAREN && o->arguments++ > 0 &&
      !emit_instruction(e->parser, (struct tide_instruction){.verb = o->verb, .place = o->place})) {
    return false;
  }
  *out_operand = !comma; /* a closed group is an operand */
  tide_parser_advance(e->parser);
  if (comma) return true;
  e->count--;
  e->depth--;
  return true;
}

bool tide_parse_expression(struct tide_parser *parser, bool whole, struct tide_code *out_code) {
  struct expression e;
  bool complete = false; /* the expression so far ends with an operand */
  e.parser = parser;
  e.whole = whole;
  e.depth = e.count = 0;
  uint32_t start = (uint32_t)parser->program->code_count, place = parser->token.at;
  for (;;) {
    if (!complete) {
      if (!parse_operand(&e, &complete)) return false;
      continue;
    }
    struct operator_ o = binary_operator(&e);
    if (o.strength) {
      if (!push_binary(&e, o)) return false;
      complete = false;
    } else if (e.depth == 0) {
      break;
    } else if (tide_token_mark(&parser->token, ')') || tide_token_mark(&parser->token, ',')) {
      if (!close_or_comma(&e, &complete)) return false;
    } else {
      return tide_parser_expected(parser, "an operator or ')'");
    }
  }
  if (!pop_stronger(&e, 0)) return false;
  *out_code = (struct tide_code){start, (uint32_t)parser->program->code_count - start, place};
  return true;
}
