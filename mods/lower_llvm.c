/* Lowers arith and cf to llvm; index becomes i64. */
#include "mods/lower_build.h"
#include "base/alloc.h"
#include "base/text.h"

/* ---- operations with a single counterpart ---- */

struct pair {
  uint16_t from, to;
};
static const struct pair pairs[] = {{TIDE_OP_ARITH_CONSTANT, TIDE_OP_LLVM_CONSTANT},
                                    {TIDE_OP_ARITH_ADDI, TIDE_OP_LLVM_ADD},
                                    {TIDE_OP_ARITH_SUBI, TIDE_OP_LLVM_SUB},
                                    {TIDE_OP_ARITH_MULI, TIDE_OP_LLVM_MUL},
                                    {TIDE_OP_ARITH_SHLI, TIDE_OP_LLVM_SHL},
                                    {TIDE_OP_ARITH_DIVSI, TIDE_OP_LLVM_SDIV},
                                    {TIDE_OP_ARITH_DIVUI, TIDE_OP_LLVM_UDIV},
                                    {TIDE_OP_ARITH_REMSI, TIDE_OP_LLVM_SREM},
                                    {TIDE_OP_ARITH_REMUI, TIDE_OP_LLVM_UREM},
                                    {TIDE_OP_ARITH_ANDI, TIDE_OP_LLVM_AND},
                                    {TIDE_OP_ARITH_ORI, TIDE_OP_LLVM_OR},
                                    {TIDE_OP_ARITH_XORI, TIDE_OP_LLVM_XOR},
                                    {TIDE_OP_ARITH_SHRSI, TIDE_OP_LLVM_ASHR},
                                    {TIDE_OP_ARITH_SHRUI, TIDE_OP_LLVM_LSHR},
                                    {TIDE_OP_ARITH_CMPI, TIDE_OP_LLVM_ICMP},
                                    {TIDE_OP_ARITH_CMPF, TIDE_OP_LLVM_FCMP},
                                    {TIDE_OP_ARITH_SELECT, TIDE_OP_LLVM_SELECT},
                                    {TIDE_OP_ARITH_ADDF, TIDE_OP_LLVM_FADD},
                                    {TIDE_OP_ARITH_SUBF, TIDE_OP_LLVM_FSUB},
                                    {TIDE_OP_ARITH_MULF, TIDE_OP_LLVM_FMUL},
                                    {TIDE_OP_ARITH_DIVF, TIDE_OP_LLVM_FDIV},
                                    {TIDE_OP_ARITH_REMF, TIDE_OP_LLVM_FREM},
                                    {TIDE_OP_ARITH_NEGF, TIDE_OP_LLVM_FNEG},
                                    {TIDE_OP_ARITH_EXTSI, TIDE_OP_LLVM_SEXT},
                                    {TIDE_OP_ARITH_EXTUI, TIDE_OP_LLVM_ZEXT},
                                    {TIDE_OP_ARITH_TRUNCI, TIDE_OP_LLVM_TRUNC},
                                    {TIDE_OP_ARITH_SITOFP, TIDE_OP_LLVM_SITOFP},
                                    {TIDE_OP_ARITH_UITOFP, TIDE_OP_LLVM_UITOFP},
                                    {TIDE_OP_ARITH_FPTOSI, TIDE_OP_LLVM_FPTOSI},
                                    {TIDE_OP_ARITH_FPTOUI, TIDE_OP_LLVM_FPTOUI},
                                    {TIDE_OP_ARITH_EXTF, TIDE_OP_LLVM_FPEXT},
                                    {TIDE_OP_ARITH_TRUNCF, TIDE_OP_LLVM_FPTRUNC},
                                    {TIDE_OP_ARITH_BITCAST, TIDE_OP_LLVM_BITCAST},
                                    {TIDE_OP_CF_BR, TIDE_OP_LLVM_BR},
                                    {TIDE_OP_CF_COND_BR, TIDE_OP_LLVM_COND_BR}};

static const struct {
  uint16_t from;
  const char *to;
} named[] = {
    {TIDE_OP_ARITH_MAXSI, "llvm.intr.smax"},       {TIDE_OP_ARITH_MAXUI, "llvm.intr.umax"},
    {TIDE_OP_ARITH_MINSI, "llvm.intr.smin"},       {TIDE_OP_ARITH_MINUI, "llvm.intr.umin"},
    {TIDE_OP_ARITH_MAXIMUMF, "llvm.intr.maximum"}, {TIDE_OP_ARITH_MINIMUMF, "llvm.intr.minimum"},
    {TIDE_OP_ARITH_MAXNUMF, "llvm.intr.maxnum"},   {TIDE_OP_ARITH_MINNUMF, "llvm.intr.minnum"}};

/* Renames #arith.fastmath<…> to #llvm.fastmath<…>, where the operation of LLVM has such flags.
 * Drops overflow flags, which are only hints. */
static void convert_flags(struct tide_ir *ir, tide_ir_op op) {
  static const char old[] = "#arith.fastmath";
  tide_ir_attr attr = tide_ir_get(ir, op, TIDE_NAME_FASTMATH);
  unsigned kind = tide_ir_op_kind(ir, op);
  tide_ir_set(ir, op, TIDE_NAME_OVERFLOW_FLAGS, 0);
  if (!attr) return;
  tide_ir_set(ir, op, TIDE_NAME_FASTMATH, 0);
  if (kind < TIDE_IR_KINDS && !tide_ir_owns(kind, TIDE_NAME_FASTMATH_FLAGS)) return;
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
  size_t length;
  if (record->kind != TIDE_IR_ATTR_OPAQUE) return;
  const char *text = tide_ir_string_text(ir, record->string, &length);
  if (length < sizeof old - 1 || memcmp(text, old, sizeof old - 1) != 0) return;
  char fresh[160];
  struct tide_text out;
  tide_text_init(&out, fresh, sizeof fresh);
  tide_text_format(&out, "#llvm.fastmath%s", text + sizeof old - 1);
  if (!tide_text_cut(&out))
    tide_ir_set(ir, op, TIDE_NAME_FASTMATH_FLAGS, tide_ir_attr_opaque(ir, fresh, strlen(fresh), 0));
}

/* Drops the rounding mode of llvm.fptrunc, which rounds to nearest even. */
static bool convert_rounding(struct tide_ir *ir, tide_ir_op op) {
  if (tide_ir_get_integer(ir, op, TIDE_NAME_ROUNDING, 0) != 0)
    return tide_ir_op_error(ir, op,
                            "has a rounding mode that llvm.fptrunc lacks; mlir-opt can "
                            "lower it before");
  tide_ir_set(ir, op, TIDE_NAME_ROUNDING, 0);
  return true;
}

static bool rename_one(struct tide_ir *ir, tide_ir_op op) {
  struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (pairs[i].from == record->kind) {
      record->kind = pairs[i].to;
      convert_flags(ir, op);
      return true;
    }
  for (size_t i = 0; i < sizeof named / sizeof *named; i++)
    if (named[i].from == record->kind) {
      record->kind = tide_ir_kind(ir, named[i].to, strlen(named[i].to));
      convert_flags(ir, op);
      return true;
    }
  return false;
}

/* ---- casts and rounded quotients ---- */

static uint32_t width_of(const struct tide_ir *ir, tide_ir_type type) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  return record->kind == TIDE_IR_INTEGER ? record->a : 64; /* index becomes i64 */
}

/* Lowers a cast of index. A cast that does not change the width is erased; its operand replaces its
 * result. */
static void lower_index_cast(struct tide_ir *ir, tide_ir_op op, bool is_signed) {
  tide_ir_value operand = tide_ir_operand(ir, op, 0), result = tide_ir_result(ir, op, 0);
  uint32_t from = width_of(ir, tide_ir_type_of_value(ir, operand));
  uint32_t to = width_of(ir, tide_ir_type_of_value(ir, result));
  if (from == to) {
    tide_ir_replace_all(ir, result, operand);
    tide_ir_erase(ir, op);
    return;
  }
  tide_ir_op_of(ir, op)->kind = from > to   ? TIDE_OP_LLVM_TRUNC
                                : is_signed ? TIDE_OP_LLVM_SEXT
                                            : TIDE_OP_LLVM_ZEXT;
}

static tide_ir_value build_binary(struct tide_ir_builder *b, enum tide_ir_kind kind,
                                  tide_ir_value x, tide_ir_value y) {
  tide_ir_type type = tide_ir_type_of_value(b->ir, x);
  tide_ir_op op = tide_ir_build(b, kind, (tide_ir_value[]){x, y}, 2, &type, 1, 0, 0);
  return op ? tide_ir_result(b->ir, op, 0) : 0;
}

static tide_ir_value build_compare(struct tide_ir_builder *b, int64_t predicate, tide_ir_value x,
                                   tide_ir_value y) {
  struct tide_ir_named attr = {TIDE_NAME_PREDICATE, tide_ir_attr_i64(b->ir, predicate)};
  tide_ir_type bit = tide_ir_integer(b->ir, 1);
  tide_ir_op op = tide_ir_build(b, TIDE_OP_LLVM_ICMP, (tide_ir_value[]){x, y}, 2, &bit, 1,
                                tide_ir_attr_dictionary(b->ir, &attr, 1), 0);
  return op ? tide_ir_result(b->ir, op, 0) : 0;
}

static tide_ir_value build_constant(struct tide_ir_builder *b, tide_ir_type type, int64_t number) {
  tide_ir_value value = tide_ir_build_integer(b, type, number);
  if (value) tide_ir_op_of(b->ir, tide_ir_defining_op(b->ir, value))->kind = TIDE_OP_LLVM_CONSTANT;
  return value;
}

static tide_ir_value build_zext(struct tide_ir_builder *b, tide_ir_value bit, tide_ir_type type) {
  if (tide_ir_type_of_value(b->ir, bit) == type) return bit;
  tide_ir_op op = tide_ir_build(b, TIDE_OP_LLVM_ZEXT, &bit, 1, &type, 1, 0, 0);
  return op ? tide_ir_result(b->ir, op, 0) : 0;
}

/* Lowers a division that rounds up or down: the truncated quotient, plus or minus one if there is a
 * remainder and the signs require it. */
static void lower_rounded_division(struct tide_ir *ir, tide_ir_op op, bool is_signed, bool up) {
  struct tide_ir_builder b = {ir, tide_ir_op_of(ir, op)->block, op, tide_ir_location_of(ir, op)};
  tide_ir_value x = tide_ir_operand(ir, op, 0), y = tide_ir_operand(ir, op, 1);
  tide_ir_type type = tide_ir_type_of_value(ir, x);
  tide_ir_value zero = build_constant(&b, type, 0);
  tide_ir_value whole = build_binary(&b, is_signed ? TIDE_OP_LLVM_SDIV : TIDE_OP_LLVM_UDIV, x, y);
  tide_ir_value rest = build_binary(&b, is_signed ? TIDE_OP_LLVM_SREM : TIDE_OP_LLVM_UREM, x, y);
  tide_ir_value off = build_compare(&b, TIDE_NE, rest, zero);
  if (is_signed) { /* with unlike signs truncation has rounded up, with like signs down */
    tide_ir_value unlike =
        build_compare(&b, TIDE_SLT, build_binary(&b, TIDE_OP_LLVM_XOR, x, y), zero);
    tide_ir_value wanted = up ? build_binary(&b, TIDE_OP_LLVM_XOR, unlike,
                                             build_constant(&b, tide_ir_integer(ir, 1), 1))
                              : unlike;
    off = build_binary(&b, TIDE_OP_LLVM_AND, off, wanted);
  }
  tide_ir_value by = build_zext(&b, off, type);
  tide_ir_replace_all(ir, tide_ir_result(ir, op, 0),
                      build_binary(&b, up ? TIDE_OP_LLVM_ADD : TIDE_OP_LLVM_SUB, whole, by));
  tide_ir_erase(ir, op);
}

static void lower_cast(struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  if (record->operand_count != record->result_count) return;
  for (uint32_t i = 0; i < record->operand_count; i++)
    tide_ir_replace_all(ir, tide_ir_result(ir, op, i), tide_ir_operand(ir, op, i));
  tide_ir_erase(ir, op);
}

static void lower_op(struct tide_ir *ir, tide_ir_op op) {
  if (rename_one(ir, op)) return;
  switch (tide_ir_op_kind(ir, op)) {
    case TIDE_OP_ARITH_INDEX_CAST: lower_index_cast(ir, op, true); break;
    case TIDE_OP_ARITH_INDEX_CASTUI: lower_index_cast(ir, op, false); break;
    case TIDE_OP_ARITH_CEILDIVSI: lower_rounded_division(ir, op, true, true); break;
    case TIDE_OP_ARITH_CEILDIVUI: lower_rounded_division(ir, op, false, true); break;
    case TIDE_OP_ARITH_FLOORDIVSI: lower_rounded_division(ir, op, true, false); break;
    case TIDE_OP_BUILTIN_CAST: lower_cast(ir, op); break;
    default: break;
  }
}

/* ---- index ---- */

static void convert_values(struct tide_ir *ir, tide_ir_value first, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    struct tide_ir_value_record *value = tide_ir_value_of(ir, first + i);
    if (value->type && tide_ir_type_is(ir, value->type, TIDE_IR_INDEX))
      value->type = tide_ir_integer(ir, 64);
  }
}

static void index_values(struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  convert_values(ir, record->results, record->result_count);
  for (uint32_t r = 0; r < record->region_count; r++)
    for (tide_ir_block block = tide_ir_body(ir, op, r); block;
         block = tide_ir_block_of(ir, block)->next)
      convert_values(ir, tide_ir_block_of(ir, block)->arguments,
                     tide_ir_block_of(ir, block)->argument_count);
  tide_ir_attr value = tide_ir_get(ir, op, TIDE_NAME_VALUE);
  if (!value || record->kind != TIDE_OP_LLVM_CONSTANT) return;
  const struct tide_ir_attr_record *attr = tide_ir_attr_of(ir, value);
  if (attr->kind == TIDE_IR_ATTR_INTEGER && tide_ir_type_is(ir, attr->type, TIDE_IR_INDEX))
    tide_ir_set(ir, op, TIDE_NAME_VALUE, tide_ir_attr_i64(ir, attr->integer));
}

bool tide_lower_llvm(struct tide_ir *ir) {
  uint32_t before = ir->errors;
  for (tide_ir_op op = ir->module, next; op; op = next) {
    next = tide_ir_walk_next(ir, ir->module, op, true);
    if (tide_ir_op_kind(ir, op) != TIDE_OP_ARITH_TRUNCF || convert_rounding(ir, op))
      lower_op(ir, op);
  }
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true))
    index_values(ir, op);
  return ir->status == TIDE_OK && ir->errors == before;
}
