/* Parses custom forms that are never printed: atomics, fences, barriers and calls of the llvm and
 * nvvm dialects, as mlir-opt writes them. */
#include "mods/ir_parser.h"
#include "base/alloc.h"

/* Takes one of a list of words and stores the word's index. */
static bool word_of(struct tide_parser *parser, const char *const *words, size_t count,
                    const char *what, int64_t *out) {
  for (size_t i = 0; i < count; i++) {
    if (!words[i] || !tide_take_word(parser, words[i])) continue;
    *out = (int64_t)i;
    return true;
  }
  return tide_wrong(parser, "expected %s", what);
}

/* Parses syncscope("…")? ordering attr-dict */
static bool parse_ordering(struct tide_parser *parser) {
  static const char *const orders[] = {"not_atomic", "unordered", "monotonic", NULL,
                                       "acquire",    "release",   "acq_rel",   "seq_cst"};
  struct tide_ir *ir = parser->ir;
  int64_t ordering = 0;
  if (tide_take_word(parser, "syncscope")) {
    if (!tide_expect(parser, '(', "'('")) return false;
    if (parser->token.kind != TIDE_TOKEN_STRING) return tide_wrong(parser, "expected string");
    tide_ir_attr scope = tide_parse_attr(parser);
    if (!scope || !tide_expect(parser, ')', "')'") ||
        !tide_add_attr(parser, tide_ir_intern_text(ir, "syncscope"), scope))
      return false;
  }
  return word_of(parser, orders, sizeof orders / sizeof *orders, "an atomic ordering", &ordering) &&
         tide_add_attr(parser, TIDE_NAME_ORDERING, tide_ir_attr_i64(ir, ordering)) &&
         tide_parse_attr_dict(parser);
}

/* Parses volatile? bin-op %pointer, %value syncscope("…")? ordering attr-dict : type, type */
static bool parse_atomicrmw(struct tide_parser *parser, struct tide_op_state *op) {
  static const char *const words[] = {"xchg", "add",  "sub",  "_and",      "nand",     "_or",
                                      "_xor", "max",  "min",  "umax",      "umin",     "fadd",
                                      "fsub", "fmax", "fmin", "uinc_wrap", "udec_wrap"};
  int64_t what = 0;
  if (tide_take_word(parser, "volatile") &&
      !tide_add_attr(parser, TIDE_NAME_VOLATILE, tide_ir_attr_unit(parser->ir)))
    return false;
  if (!word_of(parser, words, sizeof words / sizeof *words, "what the atomic operation does",
               &what) ||
      !tide_add_attr(parser, TIDE_NAME_BIN_OP, tide_ir_attr_i64(parser->ir, what)) ||
      !tide_parse_use(parser) || !tide_expect(parser, ',', "','") || !tide_parse_use(parser) ||
      !parse_ordering(parser) || !tide_expect(parser, ':', "':'"))
    return false;
  tide_ir_type pointer = tide_parse_type(parser);
  if (!pointer || !tide_expect(parser, ',', "','")) return false;
  tide_ir_type value = tide_parse_type(parser);
  return value && tide_operand(parser, op, 0, pointer) && tide_operand(parser, op, 1, value) &&
         tide_result(parser, value);
}

/* Parses (id = %a)? (number_of_threads = %b)? attr-dict */
static bool parse_barrier(struct tide_parser *parser, struct tide_op_state *op) {
  int64_t segments[2] = {0, 0};
  static const char *const words[] = {"id", "number_of_threads"};
  for (size_t i = 0; i < 2; i++) {
    if (!tide_take_word(parser, words[i])) continue;
    if (!tide_expect(parser, '=', "'='") || !tide_parse_use(parser) ||
        !tide_operand(parser, op, tide_use_count(parser, op) - 1, tide_ir_integer(parser->ir, 32)))
      return false;
    segments[i] = 1;
  }
  return tide_add_attr(
             parser, TIDE_NAME_OPERAND_SEGMENTS,
             tide_ir_attr_dense(parser->ir, tide_ir_integer(parser->ir, 32), segments, 2)) &&
         tide_parse_attr_dict(parser);
}

/* Parses %a, %b attr-dict : types (-> type)? */
static bool parse_typed(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_parse_uses(parser) || !tide_parse_attr_dict(parser) ||
      !tide_expect(parser, ':', "':'") || !tide_parse_type_list(parser) ||
      !tide_operands_of_types(parser, op))
    return false;
  return !tide_take(parser, TIDE_TOKEN_ARROW) || tide_result(parser, tide_parse_type(parser));
}

/* Parses @callee(%a, %b) attr-dict : (types) -> type */
static bool parse_call(struct tide_parser *parser, struct tide_op_state *op) {
  if (parser->token.kind != TIDE_TOKEN_SYMBOL)
    return tide_wrong(parser, "a call of what is no symbol is written in the generic form");
  tide_ir_attr callee = tide_parse_attr(parser);
  return callee && tide_add_attr(parser, TIDE_NAME_CALLEE, callee) &&
         tide_expect(parser, '(', "'('") && tide_parse_uses_maybe(parser) &&
         tide_expect(parser, ')', "')'") && tide_parse_attr_dict(parser) &&
         tide_parse_function_type_of(parser, op);
}

bool tide_has_rare_form(unsigned kind) {
  return kind == TIDE_OP_LLVM_ATOMICRMW || kind == TIDE_OP_LLVM_FENCE ||
         kind == TIDE_OP_LLVM_CALL || kind == TIDE_OP_NVVM_BARRIER ||
         kind == TIDE_OP_NVVM_BARRIER_ARRIVE ||
         (kind >= TIDE_OP_NVVM_MBARRIER_INIT &&
          kind <= TIDE_OP_NVVM_MBARRIER_TRY_WAIT_PARITY_SHARED);
}

bool tide_parse_rare(struct tide_parser *parser, struct tide_op_state *op) {
  switch (op->kind) {
    case TIDE_OP_LLVM_ATOMICRMW: return parse_atomicrmw(parser, op);
    case TIDE_OP_LLVM_FENCE: return parse_ordering(parser);
    case TIDE_OP_LLVM_CALL: return parse_call(parser, op);
    case TIDE_OP_NVVM_BARRIER:
    case TIDE_OP_NVVM_BARRIER_ARRIVE: return parse_barrier(parser, op);
    default: return parse_typed(parser, op);
  }
}
