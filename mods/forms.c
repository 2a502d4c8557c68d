/* Parsers of the custom forms. enum tide_ir_form describes each form; print_forms.c prints them. */
#include "mods/ir_parser.h"
#include "mods/flags.h"
#include "mods/intern.h"
#include "mods/words.h"
#include "base/alloc.h"
#include "base/text.h"

/* ---- small things ---- */

/* `: type` */
static tide_ir_type parse_colon_type(struct tide_parser *parser) {
  return tide_expect(parser, ':', "':'") ? tide_parse_type(parser) : 0;
}

/* Gives all uses this type. */
static bool operands_of_type(struct tide_parser *parser, struct tide_op_state *op,
                             tide_ir_type type) {
  bool good = true;
  for (size_t i = 0; i < tide_use_count(parser, op); i++)
    good = good && tide_operand(parser, op, i, type);
  return good;
}

static bool expect_uses(struct tide_parser *parser, const struct tide_op_state *op, size_t count) {
  if (tide_use_count(parser, op) == count) return true;
  return tide_wrong(parser, "expected %llu operand%s", (unsigned long long)count,
                    count == 1 ? "" : "s");
}

/* #prefix<word> */
static bool enum_attr(struct tide_parser *parser, tide_ir_string name, const char *prefix,
                      const char *word, size_t length) {
  char text[128];
  struct tide_text out;
  tide_text_init(&out, text, sizeof text);
  tide_text_format(&out, "#%s%.*s>", prefix, (int)(length < 80 ? length : 80), word);
  return tide_add_attr(parser, name, tide_ir_attr_opaque(parser->ir, text, out.length, 0));
}

/* `overflow<nsw>` or `fastmath<fast>`, where the operation has such flags. */
static bool parse_flags(struct tide_parser *parser, const struct tide_op_state *op) {
  char words[128];
  struct tide_text text;
  uint32_t bits;
  size_t wrong;
  bool llvm = tide_ir_ops[op->kind].name[0] == 'l';
  bool overflow = tide_is_word(parser, "overflow");
  enum tide_flags flags = overflow ? TIDE_FLAGS_OVERFLOW : TIDE_FLAGS_FASTMATH;
  tide_ir_string name = overflow ? TIDE_NAME_OVERFLOW_FLAGS
                        : llvm   ? TIDE_NAME_FASTMATH_FLAGS
                                 : TIDE_NAME_FASTMATH;
  if ((!overflow && !tide_is_word(parser, "fastmath")) || !tide_ir_owns(op->kind, name))
    return true;
  tide_advance(parser);
  if (parser->token.kind != '<') return tide_expect(parser, '<', "'<'");
  uint32_t start = parser->token.end, end = start;
  while (end < parser->length && parser->text[end] != '>') end++;
  if (!tide_flags_read(flags, parser->text + start, end - start, &bits, &wrong)) {
    parser->token = tide_lex(parser->text, parser->length, start + (uint32_t)wrong);
    return tide_wrong(parser, "expected one of %s in %s<…>", tide_flags_words(flags),
                      overflow ? "overflow" : "fastmath");
  }
  parser->token.end = end;
  tide_advance(parser);
  if (!tide_expect(parser, '>', "'>'")) return false;
  tide_text_init(&text, words, sizeof words);
  tide_flags_print(flags, bits, &text);
  const char *prefix = overflow ? (llvm ? "llvm.overflow<" : "arith.overflow<")
                                : (llvm ? "llvm.fastmath<" : "arith.fastmath<");
  return enum_attr(parser, name, prefix, words, text.length);
}

/* ---- operands and one type ---- */

static bool parse_plain(struct tide_parser *parser, struct tide_op_state *op) {
  (void)op;
  return tide_parse_attr_dict(parser);
}

static bool parse_result(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_parse_attr_dict(parser)) return false;
  if (tide_ir_ops[op->kind].signature[1] == 'x')
    return tide_result(parser, parser->ir->tables->index);
  return tide_result(parser, parse_colon_type(parser));
}

static bool parse_operands(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_parse_attr_dict(parser)) return false;
  if (parser->token.kind != TIDE_TOKEN_VALUE) return true;
  return tide_parse_uses(parser) && tide_expect(parser, ':', "':'") &&
         tide_parse_type_list(parser) && tide_operands_of_types(parser, op);
}

static size_t operand_count(const struct tide_op_state *op) {
  const char *signature = tide_ir_ops[op->kind].signature;
  size_t count = 0;
  while (signature[count] != '>') count++;
  return count;
}

static bool parse_binary(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_parse_uses(parser) || !expect_uses(parser, op, operand_count(op)) ||
      !parse_flags(parser, op) || !tide_parse_attr_dict(parser))
    return false;
  tide_ir_type type = parse_colon_type(parser);
  return type && operands_of_type(parser, op, type) && tide_result(parser, type);
}

/* The rounding mode of arith.truncf, which may be left out. */
static bool parse_rounding(struct tide_parser *parser, const struct tide_op_state *op) {
  if (op->kind != TIDE_OP_ARITH_TRUNCF) return true;
  for (int32_t i = 0; i < TIDE_ROUNDINGS; i++)
    if (tide_take_word(parser, tide_roundings[i]))
      return tide_add_attr(parser, TIDE_NAME_ROUNDING, tide_ir_attr_i32(parser->ir, i));
  return true;
}

static bool parse_cast(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_parse_use(parser) || !parse_rounding(parser, op) || !parse_flags(parser, op) ||
      !tide_parse_attr_dict(parser))
    return false;
  tide_ir_type from = parse_colon_type(parser), to;
  if (!from || !tide_expect_word(parser, "to") || !(to = tide_parse_type(parser))) return false;
  return tide_operand(parser, op, 0, from) && tide_result(parser, to);
}

static bool parse_casts(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_parse_uses_maybe(parser)) return false;
  if (tide_use_count(parser, op) &&
      (!tide_expect(parser, ':', "':'") || !tide_parse_type_list(parser) ||
       !tide_operands_of_types(parser, op)))
    return false;
  if (!tide_expect_word(parser, "to") || !tide_parse_type_list(parser)) return false;
  for (size_t i = op->types; i < parser->types.count; i++)
    if (!tide_result(parser, parser->types.data[i])) return false;
  return tide_parse_attr_dict(parser);
}

/* Parses a predicate, a word of a list, which llvm has in quotes; its index in the list is the
 * value. */
static bool parse_predicate(struct tide_parser *parser, const char *const *words, int64_t count,
                            bool llvm) {
  struct tide_token token = parser->token;
  uint32_t start = token.start, end = token.end;
  bool quoted = token.kind == TIDE_TOKEN_STRING;
  if (!quoted && (llvm || token.kind != TIDE_TOKEN_WORD))
    return tide_wrong(parser, "expected a predicate");
  if (quoted) start++, end--;
  if (llvm && end > start && parser->text[start] == '_') start++; /* _true, _false */
  for (int64_t i = 0; i < count; i++)
    if (strlen(words[i]) == end - start &&
        memcmp(words[i], parser->text + start, end - start) == 0) {
      tide_advance(parser);
      return tide_add_attr(parser, TIDE_NAME_PREDICATE, tide_ir_attr_i64(parser->ir, i));
    }
  return tide_wrong(parser, "unknown predicate '%.*s'", (int)(end - start < 20 ? end - start : 20),
                    parser->text + start);
}

static bool parse_compare(struct tide_parser *parser, struct tide_op_state *op) {
  bool llvm = tide_ir_ops[op->kind].form == TIDE_FORM_LLVM_COMPARE;
  bool floats = op->kind == TIDE_OP_ARITH_CMPF || op->kind == TIDE_OP_LLVM_FCMP;
  if (!parse_predicate(parser, floats ? tide_float_predicates : tide_integer_predicates,
                       floats ? TIDE_FLOAT_PREDICATES : TIDE_INTEGER_PREDICATES, llvm))
    return false;
  if (!llvm && !tide_expect(parser, ',', "','")) return false;
  if (!tide_parse_uses(parser) || !expect_uses(parser, op, 2) || !parse_flags(parser, op) ||
      !tide_parse_attr_dict(parser))
    return false;
  tide_ir_type type = parse_colon_type(parser);
  return type && operands_of_type(parser, op, type) && tide_result(parser, parser->ir->tables->i1);
}

static bool parse_select(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_parse_uses(parser) || !expect_uses(parser, op, 3) || !tide_parse_attr_dict(parser))
    return false;
  tide_ir_type condition = parser->ir->tables->i1, type = parse_colon_type(parser);
  if (type && tide_take(parser, ',')) {
    condition = type;
    type = tide_parse_type(parser);
  } else if (type && tide_ir_ops[op->kind].form == TIDE_FORM_SELECT_LLVM) {
    return tide_wrong(parser, "expected ','");
  }
  return type && tide_operand(parser, op, 0, condition) && tide_operand(parser, op, 1, type) &&
         tide_operand(parser, op, 2, type) && tide_result(parser, type);
}

/* ---- constants and names ---- */

static bool parse_constant(struct tide_parser *parser, struct tide_op_state *op) {
  (void)op;
  if (!tide_parse_attr_dict(parser)) return false;
  tide_ir_attr value = tide_parse_attr(parser);
  if (!value) return false;
  const struct tide_ir_attr_record *record = tide_ir_attr_of(parser->ir, value);
  if (!record->type || record->kind == TIDE_IR_ATTR_TYPE || record->kind == TIDE_IR_ATTR_DENSE)
    return tide_wrong(parser, "expected a constant with a type");
  return tide_add_attr(parser, TIDE_NAME_VALUE, value) && tide_result(parser, record->type);
}

static bool parse_llvm_constant(struct tide_parser *parser, struct tide_op_state *op) {
  (void)op;
  tide_ir_attr value;
  if (!tide_expect(parser, '(', "'('") || !(value = tide_parse_attr(parser)) ||
      !tide_expect(parser, ')', "')'") || !tide_parse_attr_dict(parser))
    return false;
  return tide_add_attr(parser, TIDE_NAME_VALUE, value) &&
         tide_result(parser, parse_colon_type(parser));
}

static bool parse_dimension(struct tide_parser *parser, struct tide_op_state *op) {
  struct tide_token token = parser->token;
  (void)op;
  if (!tide_take_word(parser, "x") && !tide_take_word(parser, "y") && !tide_take_word(parser, "z"))
    return tide_wrong(parser, "expected 'x', 'y' or 'z'");
  if (!enum_attr(parser, TIDE_NAME_DIMENSION, "gpu<dim ", parser->text + token.start, 1))
    return false;
  int64_t bound;
  if (tide_take_word(parser, "upper_bound") &&
      (!tide_parse_integer(parser, &bound) ||
       !tide_add_attr(parser, TIDE_NAME_UPPER_BOUND,
                      tide_ir_attr_integer(parser->ir, parser->ir->tables->index, bound))))
    return false;
  return tide_parse_attr_dict(parser) && tide_result(parser, parser->ir->tables->index);
}

/* `@f` as an attribute. */
static bool parse_symbol_attr(struct tide_parser *parser, tide_ir_string name) {
  if (parser->token.kind != TIDE_TOKEN_SYMBOL) return tide_wrong(parser, "expected a symbol name");
  tide_ir_attr attr = tide_parse_attr(parser);
  return attr && tide_add_attr(parser, name, attr);
}

static bool parse_call(struct tide_parser *parser, struct tide_op_state *op) {
  if (!parse_symbol_attr(parser, TIDE_NAME_CALLEE) || !tide_expect(parser, '(', "'('") ||
      !tide_parse_uses_maybe(parser) || !tide_expect(parser, ')', "')'") ||
      !tide_parse_attr_dict(parser))
    return false;
  return tide_parse_function_type_of(parser, op);
}

static bool parse_address(struct tide_parser *parser, struct tide_op_state *op) {
  (void)op;
  return parse_symbol_attr(parser, TIDE_NAME_GLOBAL_NAME) && tide_parse_attr_dict(parser) &&
         tide_result(parser, parse_colon_type(parser));
}

/* ---- scf ---- */

/* `(%x = %y, …)`: `uses` gets names and values alternately. */
static bool parse_assignments(struct tide_parser *parser) {
  if (!tide_expect(parser, '(', "'('")) return false;
  if (tide_take(parser, ')')) return true;
  do
    if (!tide_parse_use(parser) || !tide_expect(parser, '=', "'='") || !tide_parse_use(parser))
      return false;
  while (tide_take(parser, ','));
  return tide_expect(parser, ')', "')'");
}

/* `-> (types)`; appends them to the results. */
static bool parse_result_types(struct tide_parser *parser) {
  size_t base = parser->types.count;
  if (!tide_parse_types_or_one(parser)) return false;
  for (size_t i = base; i < parser->types.count; i++)
    if (!tide_result(parser, parser->types.data[i])) return false;
  parser->types.count = base;
  return true;
}

/* Adds a region's argument: offset, length, type; on a separate stack. */
static bool add_argument(struct tide_parser *parser, struct tide_stack *arguments, size_t use,
                         tide_ir_type type) {
  return tide_push(parser, arguments, parser->uses.data[use]) &&
         tide_push(parser, arguments, parser->uses.data[use + 1]) &&
         tide_push(parser, arguments, type);
}

static bool region_with(struct tide_parser *parser, struct tide_stack *arguments, bool good) {
  good = good && tide_parse_region(parser, false, arguments->data, arguments->count / 3);
  tide_free(parser->ir->allocator, arguments->data, arguments->capacity, sizeof *arguments->data);
  return good;
}

/* %i = %lo to %hi step %s (iter_args(%a = %b) -> (types))? (: type)? region */
static bool parse_for(struct tide_parser *parser, struct tide_op_state *op) {
  struct tide_stack arguments = {NULL, 0, 0};
  tide_ir_type type = parser->ir->tables->index;
  if (!tide_parse_use(parser) || !tide_expect(parser, '=', "'='") || !tide_parse_use(parser) ||
      !tide_expect_word(parser, "to") || !tide_parse_use(parser) ||
      !tide_expect_word(parser, "step") || !tide_parse_use(parser))
    return false;
  if (tide_take_word(parser, "iter_args") &&
      (!parse_assignments(parser) || !tide_expect(parser, TIDE_TOKEN_ARROW, "'->'") ||
       !parse_result_types(parser)))
    return false;
  if (tide_take(parser, ':') && !(type = tide_parse_type(parser))) return false;
  size_t carried = (tide_use_count(parser, op) - 4) / 2;
  if (carried != parser->results.count - op->results)
    return tide_wrong(parser, "mismatch in number of loop-carried values and defined values");
  bool good = true;
  for (size_t i = 1; i < 4; i++) good = tide_operand(parser, op, i, type) && good;
  good = add_argument(parser, &arguments, op->uses, type) && good;
  for (size_t i = 0; i < carried && good; i++) {
    tide_ir_type carried_type = parser->results.data[op->results + i];
    good = tide_operand(parser, op, 5 + 2 * i, carried_type) &&
           add_argument(parser, &arguments, op->uses + 3 * (4 + 2 * i), carried_type);
  }
  if (!region_with(parser, &arguments, good)) return false;
  if (!carried && !tide_implicit_end(parser, TIDE_OP_SCF_YIELD)) return false;
  return tide_parse_attr_dict(parser);
}

static bool parse_if(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_parse_use(parser) || !tide_operand(parser, op, 0, parser->ir->tables->i1)) return false;
  if (tide_take(parser, TIDE_TOKEN_ARROW) && !parse_result_types(parser)) return false;
  bool plain_if = parser->results.count == op->results;
  if (!tide_parse_region(parser, false, NULL, 0) ||
      (plain_if && !tide_implicit_end(parser, TIDE_OP_SCF_YIELD)))
    return false;
  if (tide_take_word(parser, "else")) {
    if (!tide_parse_region(parser, false, NULL, 0) ||
        (plain_if && !tide_implicit_end(parser, TIDE_OP_SCF_YIELD)))
      return false;
  } else { /* an empty region */
    tide_ir_region region = tide_chunks_add(&parser->ir->regions, 1, true);
    if (!region || !tide_push(parser, &parser->regions, region)) return false;
  }
  return tide_parse_attr_dict(parser);
}

/* (%a = %b, …)? : (types) -> types region do region (attributes dict)? */
static bool parse_while(struct tide_parser *parser, struct tide_op_state *op) {
  struct tide_stack arguments = {NULL, 0, 0};
  if (parser->token.kind == '(' && !parse_assignments(parser)) return false;
  if (!tide_expect(parser, ':', "':'") || !tide_parse_type_parens(parser)) return false;
  size_t count = tide_use_count(parser, op) / 2;
  if (parser->types.count - op->types != count)
    return tide_wrong(parser, "expected as many input types as operands (expected %llu got %llu)",
                      (unsigned long long)count,
                      (unsigned long long)(parser->types.count - op->types));
  if (!tide_expect(parser, TIDE_TOKEN_ARROW, "'->'") || !parse_result_types(parser)) return false;
  bool good = true;
  for (size_t i = 0; i < count && good; i++) {
    tide_ir_type type = parser->types.data[op->types + i];
    good = tide_operand(parser, op, 2 * i + 1, type) &&
           add_argument(parser, &arguments, op->uses + 6 * i, type);
  }
  parser->types.count = op->types;
  if (!region_with(parser, &arguments, good)) return false;
  if (!tide_expect_word(parser, "do") || !tide_parse_region(parser, false, NULL, 0)) return false;
  return !tide_take_word(parser, "attributes") || tide_parse_attr_dict(parser);
}

static bool parse_condition(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_expect(parser, '(', "'('") || !tide_parse_use(parser) ||
      !tide_expect(parser, ')', "')'") || !tide_parse_attr_dict(parser) ||
      !tide_parse_uses_maybe(parser) || !tide_push(parser, &parser->types, parser->ir->tables->i1))
    return false;
  if (tide_use_count(parser, op) > 1 &&
      (!tide_expect(parser, ':', "':'") || !tide_parse_type_list(parser)))
    return false;
  return tide_operands_of_types(parser, op);
}

/* ---- branches ---- */

/* ^bb or ^bb(%a, %b : t, t); appends to `uses` and `operands`. */
static bool parse_successor(struct tide_parser *parser, struct tide_op_state *op) {
  tide_ir_block block;
  size_t uses = tide_use_count(parser, op), types = parser->types.count, count = 0;
  bool good = true;
  if (!tide_parse_successor(parser, &block)) return false;
  if (tide_take(parser, '(') && !tide_take(parser, ')')) {
    if (!tide_parse_uses(parser) || !tide_expect(parser, ':', "':'") ||
        !tide_parse_type_list(parser) || !tide_expect(parser, ')', "')'"))
      return false;
    count = tide_use_count(parser, op) - uses;
    if (count != parser->types.count - types)
      return tide_wrong(parser, "expected as many types as operands");
    for (size_t i = 0; i < count; i++)
      good = tide_operand(parser, op, uses + i, parser->types.data[types + i]) && good;
    parser->types.count = types;
  }
  return tide_push(parser, &parser->successors, block) &&
         tide_push(parser, &parser->successors, (uint32_t)count) && good;
}

static bool parse_branch(struct tide_parser *parser, struct tide_op_state *op) {
  return parse_successor(parser, op) && tide_parse_attr_dict(parser);
}

static bool parse_conditional_branch(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_parse_use(parser) || !tide_operand(parser, op, 0, parser->ir->tables->i1) ||
      !tide_expect(parser, ',', "','") || !parse_successor(parser, op) ||
      !tide_expect(parser, ',', "','") || !parse_successor(parser, op) ||
      !tide_parse_attr_dict(parser))
    return false;
  const uint32_t *successors = parser->successors.data + op->successors;
  int64_t segments[] = {1, successors[1], successors[3]};
  return tide_add_attr(parser, TIDE_NAME_OPERAND_SEGMENTS,
                       tide_ir_attr_dense(parser->ir, parser->ir->tables->i32, segments, 3));
}

/* ---- llvm memory ---- */

static bool parse_unit(struct tide_parser *parser, const char *word, tide_ir_string name) {
  return !tide_take_word(parser, word) ||
         tide_add_attr(parser, name, tide_ir_attr_unit(parser->ir));
}

/* `(atomic syncscope("…")? ordering)?` */
static bool parse_atomic(struct tide_parser *parser) {
  if (!tide_take_word(parser, "atomic"))
    return tide_add_attr(parser, TIDE_NAME_ORDERING, tide_ir_attr_i64(parser->ir, 0));
  return tide_parse_scope(parser) && tide_parse_ordering(parser, TIDE_NAME_ORDERING);
}

static bool parse_load(struct tide_parser *parser, struct tide_op_state *op) {
  if (!parse_unit(parser, "volatile", TIDE_NAME_VOLATILE) || !tide_parse_use(parser) ||
      !parse_atomic(parser) || !parse_unit(parser, "invariant", TIDE_NAME_INVARIANT) ||
      !tide_parse_attr_dict(parser))
    return false;
  tide_ir_type pointer = parse_colon_type(parser);
  return pointer && tide_operand(parser, op, 0, pointer) &&
         tide_expect(parser, TIDE_TOKEN_ARROW, "'->'") &&
         tide_result(parser, tide_parse_type(parser));
}

static bool parse_store(struct tide_parser *parser, struct tide_op_state *op) {
  if (!parse_unit(parser, "volatile", TIDE_NAME_VOLATILE) || !tide_parse_uses(parser) ||
      !expect_uses(parser, op, 2))
    return false;
  return parse_atomic(parser) && tide_parse_attr_dict(parser) && tide_expect(parser, ':', "':'") &&
         tide_parse_type_list(parser) && tide_operands_of_types(parser, op);
}

/* [%i, 3, …] */
static bool parse_gep_indices(struct tide_parser *parser) {
  int64_t indices[32];
  size_t count = 0;
  if (!tide_expect(parser, '[', "'['")) return false;
  if (parser->token.kind != ']') {
    do {
      if (count == 32) return tide_wrong(parser, "at most 32 indices");
      indices[count] = TIDE_GEP_DYNAMIC;
      bool good = parser->token.kind == TIDE_TOKEN_VALUE
                      ? tide_parse_use(parser)
                      : tide_parse_integer(parser, &indices[count]);
      if (!good) return false;
      if (indices[count] != (int32_t)indices[count]) return tide_wrong(parser, "index too large");
      count++;
    } while (tide_take(parser, ','));
  }
  return tide_expect(parser, ']', "']'") &&
         tide_add_attr(parser, TIDE_NAME_RAW_INDICES,
                       tide_ir_attr_dense(parser->ir, parser->ir->tables->i32, indices, count));
}

static bool parse_gep(struct tide_parser *parser, struct tide_op_state *op) {
  if (tide_take_word(parser, "inbounds") &&
      !tide_add_attr(parser, TIDE_NAME_INBOUNDS, tide_ir_attr_unit(parser->ir)))
    return false;
  if (!tide_parse_use(parser) || !parse_gep_indices(parser) || !tide_parse_attr_dict(parser) ||
      !tide_expect(parser, ':', "':'") || !tide_parse_type_parens(parser) ||
      !tide_operands_of_types(parser, op) || !tide_expect(parser, TIDE_TOKEN_ARROW, "'->'") ||
      !tide_result(parser, tide_parse_type(parser)) || !tide_expect(parser, ',', "','"))
    return false;
  tide_ir_type element = tide_parse_type(parser);
  return element &&
         tide_add_attr(parser, TIDE_NAME_ELEM_TYPE, tide_ir_attr_type(parser->ir, element));
}

static bool parse_bulk_wait(struct tide_parser *parser, struct tide_op_state *op) {
  int64_t count;
  (void)op;
  if (!tide_parse_integer(parser, &count)) return false;
  if (count < 0 || count > INT32_MAX) return tide_wrong(parser, "no such group");
  return tide_add_attr(parser, TIDE_NAME_GROUP, tide_ir_attr_i32(parser->ir, (int32_t)count)) &&
         tide_parse_attr_dict(parser);
}

/* ---- cutlass ---- */

/* operands attr-dict? (`:` types (`->` types)?)? region? Without operands the types are the
 * results'. */
static bool parse_cutlass(struct tide_parser *parser, struct tide_op_state *op) {
  bool takes_region = op->kind == TIDE_OP_ASYNC_EXEC;
  if (!tide_parse_uses_maybe(parser)) return false;
  if ((!takes_region || tide_dictionary_is_next(parser)) && !tide_parse_attr_dict(parser))
    return false;
  bool no_operands = tide_use_count(parser, op) == 0;
  if (tide_take(parser, ':')) {
    if (no_operands && parser->token.kind != '(') {
      if (!tide_parse_type_list(parser)) return false;
      for (size_t i = op->types; i < parser->types.count; i++)
        if (!tide_result(parser, parser->types.data[i])) return false;
      parser->types.count = op->types;
    } else {
      bool parens = parser->token.kind == '(';
      if (!(parens ? tide_parse_type_parens(parser) : tide_parse_type_list(parser)) ||
          !tide_operands_of_types(parser, op))
        return false;
      if (tide_take(parser, TIDE_TOKEN_ARROW) && !parse_result_types(parser)) return false;
    }
  } else if (!no_operands) {
    return tide_wrong(parser, "expected ':' and the operands' types");
  }
  if (parser->token.kind != '{') return true;
  return tide_parse_region(parser, false, NULL, 0) &&
         (!takes_region || tide_parse_attrs_behind(parser, op->named));
}

/* ---- all of them ---- */

bool tide_parse_form(struct tide_parser *parser, struct tide_op_state *op) {
  switch ((enum tide_ir_form)tide_ir_ops[op->kind].form) {
    case TIDE_FORM_GENERIC: return false;
    case TIDE_FORM_PLAIN: return parse_plain(parser, op);
    case TIDE_FORM_RESULT: return parse_result(parser, op);
    case TIDE_FORM_OPERANDS: return parse_operands(parser, op);
    case TIDE_FORM_BINARY: return parse_binary(parser, op);
    case TIDE_FORM_CAST: return parse_cast(parser, op);
    case TIDE_FORM_CASTS: return parse_casts(parser, op);
    case TIDE_FORM_CUTLASS: return parse_cutlass(parser, op);
    case TIDE_FORM_MODULE:
    case TIDE_FORM_FUNCTION:
    case TIDE_FORM_GPU_MODULE:
    case TIDE_FORM_GPU_FUNC:
    case TIDE_FORM_LLVM_FUNC: return tide_parse_function(parser, op);
    case TIDE_FORM_DIMENSION: return parse_dimension(parser, op);
    case TIDE_FORM_CALL: return parse_call(parser, op);
    case TIDE_FORM_CONSTANT: return parse_constant(parser, op);
    case TIDE_FORM_COMPARE:
    case TIDE_FORM_LLVM_COMPARE: return parse_compare(parser, op);
    case TIDE_FORM_SELECT:
    case TIDE_FORM_SELECT_LLVM: return parse_select(parser, op);
    case TIDE_FORM_FOR: return parse_for(parser, op);
    case TIDE_FORM_IF: return parse_if(parser, op);
    case TIDE_FORM_WHILE: return parse_while(parser, op);
    case TIDE_FORM_CONDITION: return parse_condition(parser, op);
    case TIDE_FORM_BRANCH: return parse_branch(parser, op);
    case TIDE_FORM_COND_BRANCH: return parse_conditional_branch(parser, op);
    case TIDE_FORM_LLVM_GLOBAL: return tide_parse_global(parser, op);
    case TIDE_FORM_ADDRESS: return parse_address(parser, op);
    case TIDE_FORM_LLVM_CONSTANT: return parse_llvm_constant(parser, op);
    case TIDE_FORM_LOAD: return parse_load(parser, op);
    case TIDE_FORM_STORE: return parse_store(parser, op);
    case TIDE_FORM_GEP: return parse_gep(parser, op);
    case TIDE_FORM_BULK_WAIT: return parse_bulk_wait(parser, op);
  }
  return false;
}
