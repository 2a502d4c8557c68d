/* Parses operands, results and successors, and pushes them onto the parser's stacks. */
#include "mods/ir_parser.h"
#include "mods/intern.h"
#include "base/array.h"

bool tide_push(struct tide_parser *parser, struct tide_stack *stack, uint32_t number) {
  if (stack->count == stack->capacity &&
      !tide_array_reserve(parser->ir->allocator, &stack->data, &stack->capacity, stack->count + 1,
                          sizeof *stack->data))
    return tide_ir_give_up(parser->ir, TIDE_NOMEM);
  stack->data[stack->count++] = number;
  return true;
}

bool tide_parse_use(struct tide_parser *parser) {
  struct tide_token token = parser->token;
  int64_t index = 0;
  if (token.kind != TIDE_TOKEN_VALUE) return tide_missing(parser, "SSA operand");
  tide_advance(parser);
  if (parser->token.kind == TIDE_TOKEN_HASH && parser->token.start == token.end) {
    parser->token = tide_lex(parser->text, parser->length, token.end + 1);
    if (!tide_parse_integer(parser, &index)) return false;
    if (index > UINT16_MAX) return tide_wrong(parser, "reference to invalid result number");
  }
  return tide_push(parser, &parser->uses, token.start) &&
         tide_push(parser, &parser->uses, token.end - token.start) &&
         tide_push(parser, &parser->uses, (uint32_t)index);
}

bool tide_parse_uses(struct tide_parser *parser) {
  do
    if (!tide_parse_use(parser)) return false;
  while (tide_take(parser, ','));
  return true;
}

bool tide_parse_uses_maybe(struct tide_parser *parser) {
  return parser->token.kind != TIDE_TOKEN_VALUE || tide_parse_uses(parser);
}

bool tide_operand(struct tide_parser *parser, struct tide_op_state *op, size_t index,
                  tide_ir_type type) {
  const uint32_t *use = parser->uses.data + op->uses + 3 * index;
  tide_ir_value value = tide_scope_use(parser, use[0], use[1], use[2], type);
  return value && tide_push(parser, &parser->operands, value);
}

bool tide_operands_of_types(struct tide_parser *parser, struct tide_op_state *op) {
  size_t uses = tide_use_count(parser, op), types = parser->types.count - op->types;
  bool good = true;
  if (uses != types)
    return tide_wrong(parser, "expected %llu operand type%s but had %llu", (unsigned long long)uses,
                      uses == 1 ? "" : "s", (unsigned long long)types);
  for (size_t i = 0; i < uses; i++)
    good = good && tide_operand(parser, op, i, parser->types.data[op->types + i]);
  parser->types.count = op->types;
  return good;
}

bool tide_result(struct tide_parser *parser, tide_ir_type type) {
  return type && tide_push(parser, &parser->results, type);
}

bool tide_parse_successor(struct tide_parser *parser, tide_ir_block *out_block) {
  struct tide_token token = parser->token;
  if (token.kind != TIDE_TOKEN_BLOCK) return tide_wrong(parser, "expected block name");
  tide_advance(parser);
  *out_block = tide_scope_block(parser, token.start, token.end - token.start);
  return *out_block != 0;
}
