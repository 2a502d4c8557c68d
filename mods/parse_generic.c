/* Parses the generic form: `"name"(operands)[successors]<{properties}>({regions}) : type`. */
#include "mods/ir_parser.h"

static bool generic_successors(struct tide_parser *parser) {
  if (!tide_take(parser, '[')) return true;
  do {
    tide_ir_block block = 0;
    if (!tide_parse_successor(parser, &block) || !tide_push(parser, &parser->successors, block) ||
        !tide_push(parser, &parser->successors, 0))
      return false;
  } while (tide_take(parser, ','));
  return tide_expect(parser, ']', "']'");
}

/* Parses `<{…}>`, which MLIR calls properties. Here they share a dictionary with attributes. */
static bool generic_properties(struct tide_parser *parser) {
  if (!tide_take(parser, '<')) return true;
  if (parser->token.kind != '{') return tide_wrong(parser, "expected '{'");
  return tide_parse_attr_dict(parser) && tide_expect(parser, '>', "'>'");
}

static bool generic_regions(struct tide_parser *parser, bool isolated) {
  if (!tide_take(parser, '(')) return true;
  do
    if (!tide_parse_region(parser, isolated, NULL, 0)) return false;
  while (tide_take(parser, ','));
  return tide_expect(parser, ')', "')'");
}

bool tide_parse_function_type_of(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_expect(parser, ':', "':'") || !tide_parse_type_parens(parser) ||
      !tide_expect(parser, TIDE_TOKEN_ARROW, "'->'"))
    return false;
  size_t inputs = parser->types.count;
  if (!tide_parse_types_or_one(parser)) return false;
  for (size_t i = inputs; i < parser->types.count; i++)
    if (!tide_result(parser, parser->types.data[i])) return false;
  parser->types.count = inputs;
  return tide_operands_of_types(parser, op);
}

/* Sets how many operands each successor takes: all of a branch's; else the segments give the
 * numbers. */
static bool generic_segments(struct tide_parser *parser, const struct tide_op_state *op) {
  size_t count = (parser->successors.count - op->successors) / 2;
  uint32_t *successors = parser->successors.data + op->successors;
  if (!count) return true;
  if (op->kind == TIDE_OP_CF_BR || op->kind == TIDE_OP_LLVM_BR) {
    successors[1] = (uint32_t)(parser->operands.count - op->operands);
    return true;
  }
  if (op->kind != TIDE_OP_CF_COND_BR && op->kind != TIDE_OP_LLVM_COND_BR) return true;
  uint64_t sum = 1;
  tide_ir_attr sizes = 0;
  for (size_t i = op->named; i < parser->named.count; i += 2)
    if (parser->named.data[i] == TIDE_NAME_OPERAND_SEGMENTS) sizes = parser->named.data[i + 1];
  for (uint32_t i = 0; sizes && i < count; i++) {
    int64_t size = tide_ir_attr_element(parser->ir, sizes, i + 1);
    if (size < 0 || size > TIDE_IR_OPERANDS_MAX) size = TIDE_IR_OPERANDS_MAX + 1;
    successors[2 * i + 1] = (uint32_t)size;
    sum += (uint64_t)size;
  }
  if (!sizes || count != 2 || sum != parser->operands.count - op->operands)
    return tide_wrong(parser, "'operandSegmentSizes' does not match the operands");
  return true;
}

bool tide_parse_generic(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_expect(parser, '(', "'('") || !tide_parse_uses_maybe(parser) ||
      !tide_expect(parser, ')', "')'"))
    return false;
  bool isolated = op->kind < TIDE_IR_KINDS && tide_ir_ops[op->kind].traits & TIDE_IR_ISOLATED;
  size_t first = parser->named.count;
  if (!generic_successors(parser) || !generic_properties(parser) ||
      !generic_regions(parser, isolated) || !tide_parse_attrs_behind(parser, first) ||
      !tide_parse_function_type_of(parser, op))
    return false;
  return generic_segments(parser, op);
}
