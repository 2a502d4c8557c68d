/* Translation: arithmetic and casts. */
#include "mods/exec_translate.h"
#include "mods/float_bits.h"

#define F32(name) TIDE_EXEC_##name##_F32
#define I(name) TIDE_EXEC_##name
#define TO_F64 (TIDE_EXEC_ADD_F64 - TIDE_EXEC_ADD_F32)

static const uint8_t integer_codes[TIDE_IR_KINDS] = {
    [TIDE_OP_ARITH_ADDI] = I(ADD),
    [TIDE_OP_ARITH_SUBI] = I(SUB),
    [TIDE_OP_ARITH_MULI] = I(MUL),
    [TIDE_OP_ARITH_SHLI] = I(SHL),
    [TIDE_OP_ARITH_DIVSI] = I(DIV_S),
    [TIDE_OP_ARITH_DIVUI] = I(DIV_U),
    [TIDE_OP_ARITH_REMSI] = I(REM_S),
    [TIDE_OP_ARITH_REMUI] = I(REM_U),
    [TIDE_OP_ARITH_CEILDIVSI] = I(CEIL_DIV_S),
    [TIDE_OP_ARITH_CEILDIVUI] = I(CEIL_DIV_U),
    [TIDE_OP_ARITH_FLOORDIVSI] = I(FLOOR_DIV_S),
    [TIDE_OP_ARITH_ANDI] = I(AND),
    [TIDE_OP_ARITH_ORI] = I(OR),
    [TIDE_OP_ARITH_XORI] = I(XOR),
    [TIDE_OP_ARITH_SHRSI] = I(SHR_S),
    [TIDE_OP_ARITH_SHRUI] = I(SHR_U),
    [TIDE_OP_ARITH_MAXSI] = I(MAX_S),
    [TIDE_OP_ARITH_MAXUI] = I(MAX_U),
    [TIDE_OP_ARITH_MINSI] = I(MIN_S),
    [TIDE_OP_ARITH_MINUI] = I(MIN_U),
    [TIDE_OP_LLVM_ADD] = I(ADD),
    [TIDE_OP_LLVM_SUB] = I(SUB),
    [TIDE_OP_LLVM_MUL] = I(MUL),
    [TIDE_OP_LLVM_SHL] = I(SHL),
    [TIDE_OP_LLVM_UDIV] = I(DIV_U),
    [TIDE_OP_LLVM_SDIV] = I(DIV_S),
    [TIDE_OP_LLVM_UREM] = I(REM_U),
    [TIDE_OP_LLVM_SREM] = I(REM_S),
    [TIDE_OP_LLVM_AND] = I(AND),
    [TIDE_OP_LLVM_OR] = I(OR),
    [TIDE_OP_LLVM_XOR] = I(XOR),
    [TIDE_OP_LLVM_LSHR] = I(SHR_U),
    [TIDE_OP_LLVM_ASHR] = I(SHR_S),
};

static const uint8_t float_codes[TIDE_IR_KINDS] = {
    [TIDE_OP_ARITH_ADDF] = F32(ADD),       [TIDE_OP_ARITH_SUBF] = F32(SUB),
    [TIDE_OP_ARITH_MULF] = F32(MUL),       [TIDE_OP_ARITH_DIVF] = F32(DIV),
    [TIDE_OP_ARITH_MAXIMUMF] = F32(MAX),   [TIDE_OP_ARITH_MINIMUMF] = F32(MIN),
    [TIDE_OP_ARITH_MAXNUMF] = F32(MAXNUM), [TIDE_OP_ARITH_MINNUMF] = F32(MINNUM),
    [TIDE_OP_ARITH_NEGF] = F32(NEG),       [TIDE_OP_LLVM_FADD] = F32(ADD),
    [TIDE_OP_LLVM_FSUB] = F32(SUB),        [TIDE_OP_LLVM_FMUL] = F32(MUL),
    [TIDE_OP_LLVM_FDIV] = F32(DIV),        [TIDE_OP_LLVM_FNEG] = F32(NEG),
    [TIDE_OP_LLVM_FMA] = F32(FMA),         [TIDE_OP_ARITH_REMF] = F32(REM),
    [TIDE_OP_LLVM_FREM] = F32(REM),
};

uint16_t tide_exec_cut(const struct tide_ir *ir, tide_ir_type type) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  return type && record->kind == TIDE_IR_INTEGER && record->a && record->a < 64
             ? (uint16_t)(64 - record->a)
             : 0;
}

static bool is_float(const struct tide_ir *ir, tide_ir_type type, uint32_t *out_kind) {
  if (!tide_ir_type_is(ir, type, TIDE_IR_FLOAT)) return false;
  *out_kind = tide_ir_type_of(ir, type)->a;
  return true;
}

static bool is_number(const struct tide_ir *ir, tide_ir_type type) {
  return tide_ir_type_is(ir, type, TIDE_IR_INTEGER) || tide_ir_type_is(ir, type, TIDE_IR_INDEX) ||
         tide_ir_type_is(ir, type, TIDE_IR_LLVM_POINTER);
}

static bool is_narrow(uint32_t kind) {
  return kind == TIDE_IR_F16 || kind == TIDE_IR_BF16 || kind == TIDE_IR_TF32;
}

/* Rounds an f32 result to the narrower type of the operation. In f32, sums, products and quotients
 * are exact enough for that. Other operations have rounded to odd before (imm 1). */
static void round_to(struct tide_exec_translator *t, tide_ir_op op, int16_t slot, uint32_t kind) {
  if (is_narrow(kind))
    tide_exec_emit(t, op,
                   (struct tide_exec_instruction){I(ROUND), slot, slot, 0, 0, (uint16_t)kind, 0});
}

static bool check_shape(struct tide_exec_translator *t, tide_ir_op op, uint32_t operands) {
  const struct tide_ir_op_record *record = tide_ir_op_of(t->ir, op);
  if (record->operand_count == operands && record->result_count == 1) return true;
  tide_exec_refuse(t, op, "has operands or results that it should not have");
  return false;
}

static void integer_op(struct tide_exec_translator *t, tide_ir_op op, uint8_t code) {
  if (!check_shape(t, op, 2)) return;
  tide_ir_type type = tide_exec_result_type(t, op);
  if (!is_number(t->ir, type)) {
    tide_exec_refuse(t, op, "is executed on integers only");
    return;
  }
  tide_exec_emit(t, op,
                 (struct tide_exec_instruction){code, tide_exec_result(t, op),
                                                tide_exec_use(t, op, 0), tide_exec_use(t, op, 1), 0,
                                                tide_exec_cut(t->ir, type), 0});
}

static void float_op(struct tide_exec_translator *t, tide_ir_op op, uint8_t code) {
  uint32_t kind, operands = code == F32(NEG) ? 1 : code == F32(FMA) ? 3 : 2;
  if (!check_shape(t, op, operands)) return;
  if (!is_float(t->ir, tide_exec_result_type(t, op), &kind)) {
    tide_exec_refuse(t, op, "is executed on scalars only");
    return;
  }
  struct tide_exec_instruction made = {.code = code, .d = tide_exec_result(t, op)};
  if (kind == TIDE_IR_F64) made.code += TO_F64;
  made.a = tide_exec_use(t, op, 0);
  if (operands > 1) made.b = tide_exec_use(t, op, 1);
  if (operands > 2) made.c = tide_exec_use(t, op, 2);
  made.imm = is_narrow(kind);
  tide_exec_emit(t, op, made);
  round_to(t, op, made.d, kind);
}

static void emit_compare(struct tide_exec_translator *t, tide_ir_op op) {
  /* Relations for which each predicate, 0 to 15, is true: 1 equal, 2 greater, 4 less, 8
   * unordered. */
  static const uint8_t bits[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 8, 15};
  uint32_t kind;
  if (!check_shape(t, op, 2)) return;
  int64_t predicate = tide_ir_get_integer(t->ir, op, TIDE_NAME_PREDICATE, -1);
  tide_ir_type type = tide_exec_operand_type(t, op, 0);
  struct tide_exec_instruction made = {
      .d = tide_exec_result(t, op), .a = tide_exec_use(t, op, 0), .b = tide_exec_use(t, op, 1)};
  if (is_float(t->ir, type, &kind) && predicate >= 0 && predicate < 16) {
    made.code = kind == TIDE_IR_F64 ? TIDE_EXEC_COMPARE_F64 : TIDE_EXEC_COMPARE_F32;
    made.w = bits[predicate];
  } else if (is_number(t->ir, type) && predicate >= 0 && predicate < 10) {
    made.code = (uint16_t)(TIDE_EXEC_EQ + predicate);
  } else {
    tide_exec_refuse(t, op, "has a predicate or a type that isn't executed");
    return;
  }
  tide_exec_emit(t, op, made);
}

static void cast_to_float(struct tide_exec_translator *t, tide_ir_op op, uint32_t kind) {
  bool is_unsigned = tide_ir_op_kind(t->ir, op) == TIDE_OP_ARITH_UITOFP ||
                     tide_ir_op_kind(t->ir, op) == TIDE_OP_LLVM_UITOFP;
  struct tide_exec_instruction made = {.d = tide_exec_result(t, op),
                                       .a = tide_exec_use(t, op, 0),
                                       .w = tide_exec_cut(t->ir, tide_exec_operand_type(t, op, 0)),
                                       .imm = is_narrow(kind)};
  if (kind == TIDE_IR_F64) made.code = is_unsigned ? TIDE_EXEC_U_TO_F64 : TIDE_EXEC_S_TO_F64;
  else made.code = is_unsigned ? TIDE_EXEC_U_TO_F32 : TIDE_EXEC_S_TO_F32;
  tide_exec_emit(t, op, made);
  round_to(t, op, made.d, kind);
}

static void cast_floats(struct tide_exec_translator *t, tide_ir_op op, uint32_t from, uint32_t to) {
  struct tide_exec_instruction made = {
      .code = TIDE_EXEC_MOVE, .d = tide_exec_result(t, op), .a = tide_exec_use(t, op, 0)};
  made.imm = is_narrow(to);
  if (from == TIDE_IR_F64 && to != TIDE_IR_F64) made.code = TIDE_EXEC_F64_TO_F32;
  if (from != TIDE_IR_F64 && to == TIDE_IR_F64) made.code = TIDE_EXEC_F32_TO_F64;
  tide_exec_emit(t, op, made);
  round_to(t, op, made.d, to);
}

/* Reinterprets the bits of a float, which a slot holds as those of its f32 or f64. */
static void cast_bits(struct tide_exec_translator *t, tide_ir_op op) {
  uint32_t kind;
  uint64_t align;
  tide_ir_type from = tide_exec_operand_type(t, op, 0), to = tide_exec_result_type(t, op);
  bool from_float = is_float(t->ir, from, &kind), to_float = is_float(t->ir, to, &kind);
  enum tide_exec_cell from_cell, to_cell;
  int16_t d = tide_exec_result(t, op), a = tide_exec_use(t, op, 0);
  if (from == to || (!from_float && !to_float)) {
    tide_exec_emit(t, op, (struct tide_exec_instruction){I(MOVE), d, a, 0, 0, 0, 0});
    return;
  }
  if (!tide_exec_cell_of(t->ir, from, &from_cell) || !tide_exec_cell_of(t->ir, to, &to_cell) ||
      tide_exec_size_of(t->ir, from, &align) != tide_exec_size_of(t->ir, to, &align)) {
    tide_exec_refuse(t, op, "casts between types of different widths");
    return;
  }
  if (from_float) {
    tide_exec_emit(
        t, op, (struct tide_exec_instruction){I(BITS_FROM), d, a, 0, 0, (uint16_t)from_cell, 0});
    a = d;
  }
  if (to_float)
    tide_exec_emit(t, op,
                   (struct tide_exec_instruction){I(BITS_TO), d, a, 0, 0, (uint16_t)to_cell, 0});
}

/* Casts between integers, indices and pointers. */
static void cast_integers(struct tide_exec_translator *t, tide_ir_op op) {
  unsigned kind = tide_ir_op_kind(t->ir, op);
  bool zeros = kind == TIDE_OP_ARITH_EXTUI || kind == TIDE_OP_LLVM_ZEXT ||
               kind == TIDE_OP_ARITH_INDEX_CASTUI || kind == TIDE_OP_LLVM_INTTOPTR;
  int16_t d = tide_exec_result(t, op), a = tide_exec_use(t, op, 0);
  if (zeros) {
    tide_exec_emit(
        t, op,
        (struct tide_exec_instruction){I(WIDEN_U), d, a, 0, 0,
                                       tide_exec_cut(t->ir, tide_exec_operand_type(t, op, 0)), 0});
    a = d;
  }
  uint16_t cut = tide_exec_cut(t->ir, tide_exec_result_type(t, op));
  if (!zeros || cut)
    tide_exec_emit(t, op, (struct tide_exec_instruction){I(NARROW), d, a, 0, 0, cut, 0});
}

static void emit_cast(struct tide_exec_translator *t, tide_ir_op op) {
  uint32_t from = 0, to = 0;
  if (!check_shape(t, op, 1)) return;
  tide_ir_type source = tide_exec_operand_type(t, op, 0), target = tide_exec_result_type(t, op);
  bool from_float = is_float(t->ir, source, &from), to_float = is_float(t->ir, target, &to);
  if ((!from_float && !is_number(t->ir, source)) || (!to_float && !is_number(t->ir, target)))
    tide_exec_refuse(t, op, "casts between types that aren't executed");
  else if (tide_ir_get_integer(t->ir, op, TIDE_NAME_ROUNDING, 0) != 0)
    tide_exec_refuse(t, op, "has a rounding mode that isn't executed");
  else if (tide_ir_op_kind(t->ir, op) == TIDE_OP_ARITH_BITCAST ||
           tide_ir_op_kind(t->ir, op) == TIDE_OP_LLVM_BITCAST)
    cast_bits(t, op);
  else if (from_float && to_float) cast_floats(t, op, from, to);
  else if (to_float) cast_to_float(t, op, to);
  else if (!from_float) cast_integers(t, op);
  else {
    bool u = tide_ir_op_kind(t->ir, op) == TIDE_OP_ARITH_FPTOUI ||
             tide_ir_op_kind(t->ir, op) == TIDE_OP_LLVM_FPTOUI;
    tide_exec_emit(t, op,
                   (struct tide_exec_instruction){
                       u ? I(F_TO_U) : I(F_TO_S), tide_exec_result(t, op), tide_exec_use(t, op, 0),
                       0, 0, tide_exec_cut(t->ir, target), from == TIDE_IR_F64});
  }
}

static void emit_select(struct tide_exec_translator *t, tide_ir_op op) {
  if (!check_shape(t, op, 3)) return;
  tide_exec_emit(t, op,
                 (struct tide_exec_instruction){
                     I(SELECT), tide_exec_result(t, op), tide_exec_use(t, op, 0),
                     tide_exec_use(t, op, 1), tide_exec_use(t, op, 2),
                     (uint16_t)tide_exec_slots(t->ir, tide_exec_result_type(t, op)), 0});
}

/* ---- constants ---- */

static bool constant_value(struct tide_exec_translator *t, tide_ir_op op, int64_t *out_value) {
  tide_ir_attr attr = tide_ir_get(t->ir, op, TIDE_NAME_VALUE);
  tide_ir_type type = tide_exec_result_type(t, op);
  uint32_t kind;
  if (!attr) return false;
  const struct tide_ir_attr_record *record = tide_ir_attr_of(t->ir, attr);
  bool to_float = is_float(t->ir, type, &kind);
  if (record->kind == TIDE_IR_ATTR_FLOAT && to_float) {
    float narrow = is_narrow(kind) ? tide_exec_odd(record->number) : (float)record->number;
    if (kind == TIDE_IR_F16) narrow = tide_exec_from_f16(tide_exec_to_f16(narrow));
    if (kind == TIDE_IR_BF16) narrow = tide_exec_from_bf16(tide_exec_to_bf16(narrow));
    if (kind == TIDE_IR_TF32) narrow = tide_exec_to_tf32(narrow);
    if (record->number != record->number && kind != TIDE_IR_F64)
      narrow = tide_exec_f32((int64_t)tide_float_narrow(TIDE_IR_F32, record->number));
    *out_value = kind == TIDE_IR_F64 ? tide_exec_of_f64(record->number) : tide_exec_of_f32(narrow);
    return true;
  }
  if ((record->kind != TIDE_IR_ATTR_INTEGER && record->kind != TIDE_IR_ATTR_BOOL) || to_float)
    return false;
  *out_value = tide_exec_narrow((uint64_t)record->integer, tide_exec_cut(t->ir, type));
  return true;
}

static bool known_value(struct tide_exec_translator *t, tide_ir_op op, int64_t *out_value) {
  unsigned kind = tide_ir_op_kind(t->ir, op);
  *out_value = 0;
  if (kind == TIDE_OP_LLVM_UNDEF || kind == TIDE_OP_LLVM_ZERO || kind == TIDE_OP_LLVM_POISON)
    return true;
  return (kind == TIDE_OP_ARITH_CONSTANT || kind == TIDE_OP_LLVM_CONSTANT) &&
         constant_value(t, op, out_value);
}

bool tide_exec_known(struct tide_exec_translator *t, tide_ir_op op, int16_t *out_slot) {
  int64_t value;
  if (tide_ir_op_of(t->ir, op)->result_count != 1 ||
      tide_exec_slots(t->ir, tide_exec_result_type(t, op)) != 1 || !known_value(t, op, &value))
    return false;
  *out_slot = tide_exec_constant(t, value);
  return true;
}

/* Emits a constant of several slots. Constants of one slot lie below the frames and need no
 * instruction. */
static void emit_constant(struct tide_exec_translator *t, tide_ir_op op) {
  int64_t value;
  int16_t slot = tide_exec_result(t, op);
  if (slot < 0) return;
  if (!known_value(t, op, &value)) {
    tide_exec_refuse(t, op, "has a value that isn't executed");
    return;
  }
  int count = tide_exec_slots(t->ir, tide_exec_result_type(t, op));
  for (int i = 0; i < count; i++)
    tide_exec_emit(t, op,
                   (struct tide_exec_instruction){I(MOVE), (int16_t)(slot + i),
                                                  tide_exec_constant(t, value), 0, 0, 0, 0});
}

bool tide_exec_arith(struct tide_exec_translator *t, tide_ir_op op) {
  unsigned kind = tide_ir_op_kind(t->ir, op);
  if (kind >= TIDE_IR_KINDS) return false;
  if (integer_codes[kind]) {
    integer_op(t, op, integer_codes[kind]);
    return true;
  }
  if (float_codes[kind]) {
    float_op(t, op, float_codes[kind]);
    return true;
  }
  switch (kind) {
    case TIDE_OP_ARITH_CMPI:
    case TIDE_OP_ARITH_CMPF:
    case TIDE_OP_LLVM_ICMP:
    case TIDE_OP_LLVM_FCMP: emit_compare(t, op); return true;
    case TIDE_OP_ARITH_SELECT:
    case TIDE_OP_LLVM_SELECT: emit_select(t, op); return true;
    case TIDE_OP_ARITH_CONSTANT:
    case TIDE_OP_LLVM_CONSTANT:
    case TIDE_OP_LLVM_UNDEF:
    case TIDE_OP_LLVM_ZERO:
    case TIDE_OP_LLVM_POISON: emit_constant(t, op); return true;
    case TIDE_OP_ARITH_EXTSI:
    case TIDE_OP_ARITH_EXTUI:
    case TIDE_OP_ARITH_TRUNCI:
    case TIDE_OP_ARITH_INDEX_CAST:
    case TIDE_OP_ARITH_INDEX_CASTUI:
    case TIDE_OP_ARITH_SITOFP:
    case TIDE_OP_ARITH_UITOFP:
    case TIDE_OP_ARITH_FPTOSI:
    case TIDE_OP_ARITH_FPTOUI:
    case TIDE_OP_ARITH_EXTF:
    case TIDE_OP_ARITH_TRUNCF:
    case TIDE_OP_ARITH_BITCAST:
    case TIDE_OP_LLVM_ZEXT:
    case TIDE_OP_LLVM_SEXT:
    case TIDE_OP_LLVM_TRUNC:
    case TIDE_OP_LLVM_PTRTOINT:
    case TIDE_OP_LLVM_INTTOPTR:
    case TIDE_OP_LLVM_ADDRSPACECAST:
    case TIDE_OP_LLVM_BITCAST:
    case TIDE_OP_LLVM_SITOFP:
    case TIDE_OP_LLVM_UITOFP:
    case TIDE_OP_LLVM_FPTOSI:
    case TIDE_OP_LLVM_FPTOUI:
    case TIDE_OP_LLVM_FPEXT:
    case TIDE_OP_LLVM_FPTRUNC: emit_cast(t, op); return true;
    default: return false;
  }
}
