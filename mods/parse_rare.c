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

bool tide_parse_scope(struct tide_parser *parser) {
  if (!tide_take_word(parser, "syncscope")) return true;
  if (!tide_expect(parser, '(', "'('")) return false;
  if (parser->token.kind != TIDE_TOKEN_STRING) return tide_wrong(parser, "expected string");
  tide_ir_attr scope = tide_parse_attr(parser);
  return scope && tide_expect(parser, ')', "')'") &&
         tide_add_attr(parser, TIDE_NAME_SYNCSCOPE, scope);
}

bool tide_parse_ordering(struct tide_parser *parser, tide_ir_string name) {
  static const char *const orders[] = {"not_atomic", "unordered", "monotonic", NULL,
                                       "acquire",    "release",   "acq_rel",   "seq_cst"};
  int64_t ordering = 0;
  return word_of(parser, orders, sizeof orders / sizeof *orders, "an atomic ordering", &ordering) &&
         tide_add_attr(parser, name, tide_ir_attr_i64(parser->ir, ordering));
}

/* Parses syncscope("…")? ordering attr-dict */
static bool parse_ordering(struct tide_parser *parser) {
  return tide_parse_scope(parser) && tide_parse_ordering(parser, TIDE_NAME_ORDERING) &&
         tide_parse_attr_dict(parser);
}

static bool parse_unit(struct tide_parser *parser, const char *word, tide_ir_string name) {
  return !tide_take_word(parser, word) ||
         tide_add_attr(parser, name, tide_ir_attr_unit(parser->ir));
}

/* Parses weak? volatile? %p, %a, %b syncscope("…")? success failure attr-dict : type, type */
static bool parse_cmpxchg(struct tide_parser *parser, struct tide_op_state *op) {
  struct tide_ir *ir = parser->ir;
  if (!parse_unit(parser, "weak", TIDE_NAME_WEAK) ||
      !parse_unit(parser, "volatile", TIDE_NAME_VOLATILE) || !tide_parse_uses(parser))
    return false;
  if (tide_use_count(parser, op) != 3) return tide_wrong(parser, "expected 3 operands");
  if (!tide_parse_scope(parser) || !tide_parse_ordering(parser, TIDE_NAME_SUCCESS_ORDERING) ||
      !tide_parse_ordering(parser, TIDE_NAME_FAILURE_ORDERING) || !tide_parse_attr_dict(parser) ||
      !tide_expect(parser, ':', "':'"))
    return false;
  tide_ir_type pointer = tide_parse_type(parser);
  if (!pointer || !tide_expect(parser, ',', "','")) return false;
  tide_ir_type value = tide_parse_type(parser);
  uint32_t pair[] = {value, tide_ir_integer(ir, 1)};
  return value && tide_operand(parser, op, 0, pointer) && tide_operand(parser, op, 1, value) &&
         tide_operand(parser, op, 2, value) &&
         tide_result(parser, tide_ir_type_with(ir, TIDE_IR_LLVM_STRUCT, 0, pair, 2));
}

/* Parses volatile? bin-op %pointer, %value syncscope("…")? ordering attr-dict : type, type */
static bool parse_atomicrmw(struct tide_parser *parser, struct tide_op_state *op) {
  static const char *const words[] = {"xchg", "add",  "sub",  "_and",      "nand",     "_or",
                                      "_xor", "max",  "min",  "umax",      "umin",     "fadd",
                                      "fsub", "fmax", "fmin", "uinc_wrap", "udec_wrap"};
  int64_t what = 0;
  if (!parse_unit(parser, "volatile", TIDE_NAME_VOLATILE) ||
      !word_of(parser, words, sizeof words / sizeof *words, "what the atomic operation does",
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
  /* MLIR 19 gives nvvm.barrier.arrive no segments. */
  if (op->kind == TIDE_OP_NVVM_BARRIER_ARRIVE) return tide_parse_attr_dict(parser);
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

/* Parses `vararg(!llvm.func<…>)?`, the type of a callee with a variable number of operands. */
static bool parse_variadic(struct tide_parser *parser) {
  if (!tide_take_word(parser, "vararg")) return true;
  if (!tide_expect(parser, '(', "'('")) return false;
  tide_ir_type type = tide_parse_type(parser);
  return type && tide_expect(parser, ')', "')'") &&
         tide_add_attr(parser, TIDE_NAME_VAR_CALLEE_TYPE, tide_ir_attr_type(parser->ir, type));
}

/* Parses the types of an indirect call, `: pointer, (types) -> type`. */
static bool indirect_types(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_expect(parser, ':', "':'")) return false;
  tide_ir_type pointer = tide_parse_type(parser);
  if (!pointer || !tide_push(parser, &parser->types, pointer) || !tide_expect(parser, ',', "','") ||
      !tide_parse_type_parens(parser) || !tide_expect(parser, TIDE_TOKEN_ARROW, "'->'"))
    return false;
  size_t inputs = parser->types.count;
  if (!tide_parse_types_or_one(parser)) return false;
  for (size_t i = inputs; i < parser->types.count; i++)
    if (!tide_result(parser, parser->types.data[i])) return false;
  parser->types.count = inputs;
  return tide_operands_of_types(parser, op);
}

/* Parses @callee(%a, %b) or %pointer(%a, %b), vararg(type)? attr-dict : types */
static bool parse_call(struct tide_parser *parser, struct tide_op_state *op) {
  bool indirect = parser->token.kind == TIDE_TOKEN_VALUE;
  if (indirect) {
    if (!tide_parse_use(parser)) return false;
  } else {
    if (parser->token.kind != TIDE_TOKEN_SYMBOL)
      return tide_wrong(parser,
                        "a call with a calling convention or a kind of tail call is outside "
                        "of what is read; write it as mlir-opt --mlir-print-op-generic "
                        "prints it");
    tide_ir_attr callee = tide_parse_attr(parser);
    if (!callee || !tide_add_attr(parser, TIDE_NAME_CALLEE, callee)) return false;
  }
  if (!tide_expect(parser, '(', "'('") || !tide_parse_uses_maybe(parser) ||
      !tide_expect(parser, ')', "')'") || !parse_variadic(parser) || !tide_parse_attr_dict(parser))
    return false;
  return indirect ? indirect_types(parser, op) : tide_parse_function_type_of(parser, op);
}

bool tide_has_rare_form(unsigned kind) {
  return kind == TIDE_OP_LLVM_ATOMICRMW || kind == TIDE_OP_LLVM_CMPXCHG ||
         kind == TIDE_OP_LLVM_FENCE || kind == TIDE_OP_LLVM_CALL || kind == TIDE_OP_NVVM_BARRIER ||
         kind == TIDE_OP_NVVM_BARRIER_ARRIVE ||
         (kind >= TIDE_OP_NVVM_MBARRIER_INIT &&
          kind <= TIDE_OP_NVVM_MBARRIER_TRY_WAIT_PARITY_SHARED);
}

bool tide_parse_rare(struct tide_parser *parser, struct tide_op_state *op) {
  switch (op->kind) {
    case TIDE_OP_LLVM_ATOMICRMW: return parse_atomicrmw(parser, op);
    case TIDE_OP_LLVM_CMPXCHG: return parse_cmpxchg(parser, op);
    case TIDE_OP_LLVM_FENCE: return parse_ordering(parser);
    case TIDE_OP_LLVM_CALL: return parse_call(parser, op);
    case TIDE_OP_NVVM_BARRIER:
    case TIDE_OP_NVVM_BARRIER_ARRIVE: return parse_barrier(parser, op);
    default: return parse_typed(parser, op);
  }
}
