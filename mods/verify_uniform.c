/* `cutlass.cluster_uniform` where it can be seen that it is not so: what is decided on is computed
 * from constants and from the CTA's place in its cluster only, and differs between the CTAs. What
 * cannot be computed here is believed; execution compares it. */
#include "mods/verify.h"

#define DEPTH_MAX 16

struct cta {
  const struct tide_ir *ir;
  uint32_t shape[3], rank;
  uint32_t left; /* operations that may still be looked at */
};

static bool number(struct cta *cta, tide_ir_value value, uint32_t depth, int64_t *out);

static int64_t narrow(const struct tide_ir *ir, tide_ir_type type, uint64_t value) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  unsigned cut = record->kind == TIDE_IR_INTEGER ? 64 - record->a : 0;
  return (int64_t)(value << cut) >> cut;
}

static uint64_t widen(const struct tide_ir *ir, tide_ir_type type, int64_t value) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  unsigned cut = record->kind == TIDE_IR_INTEGER ? 64 - record->a : 0;
  return (uint64_t)value << cut >> cut;
}

static bool place_on_axis(const struct cta *cta, int axis, int64_t *out) {
  uint32_t of[3] = {cta->rank % cta->shape[0], cta->rank / cta->shape[0] % cta->shape[1],
                    cta->rank / cta->shape[0] / cta->shape[1]};
  *out = axis >= 0 && axis < 3 ? of[axis] : 0;
  return axis >= 0 && axis < 3;
}

/* `x` of gpu.cluster_block_id. */
static int axis_of(const struct tide_ir *ir, tide_ir_op op) {
  size_t length = 0;
  const char *word = tide_ir_string_text(
      ir, tide_ir_attr_of(ir, tide_ir_get(ir, op, TIDE_NAME_DIMENSION))->string, &length);
  return length > 9 ? word[9] - 'x' : -1;
}

static bool compare(int64_t predicate, int64_t a, int64_t b, uint64_t ua, uint64_t ub,
                    int64_t *out) {
  const bool results[] = {a == b,  a != b, a<b, a <= b, a> b, a >= b, ua<ub, ua <= ub, ua> ub,
                          ua >= ub};
  if (predicate < 0 || predicate > 9) return false;
  *out = results[predicate] ? -1 : 0;
  return true;
}

static bool binary(struct cta *cta, tide_ir_op op, uint32_t depth, int64_t *out) {
  const struct tide_ir *ir = cta->ir;
  tide_ir_value left = tide_ir_operand(ir, op, 0);
  tide_ir_type type = tide_ir_type_of_value(ir, left);
  int64_t a, b;
  if (!number(cta, left, depth, &a) || !number(cta, tide_ir_operand(ir, op, 1), depth, &b))
    return false;
  uint64_t ua = widen(ir, type, a), ub = widen(ir, type, b), result = 0;
  switch (tide_ir_op_kind(ir, op)) {
    case TIDE_OP_ARITH_ADDI:
    case TIDE_OP_LLVM_ADD: result = ua + ub; break;
    case TIDE_OP_ARITH_SUBI:
    case TIDE_OP_LLVM_SUB: result = ua - ub; break;
    case TIDE_OP_ARITH_MULI:
    case TIDE_OP_LLVM_MUL: result = ua * ub; break;
    case TIDE_OP_ARITH_ANDI:
    case TIDE_OP_LLVM_AND: result = ua & ub; break;
    case TIDE_OP_ARITH_ORI:
    case TIDE_OP_LLVM_OR: result = ua | ub; break;
    case TIDE_OP_ARITH_XORI:
    case TIDE_OP_LLVM_XOR: result = ua ^ ub; break;
    case TIDE_OP_ARITH_DIVUI:
    case TIDE_OP_LLVM_UDIV:
      if (!ub) return false;
      result = ua / ub;
      break;
    case TIDE_OP_ARITH_REMUI:
    case TIDE_OP_LLVM_UREM:
      if (!ub) return false;
      result = ua % ub;
      break;
    case TIDE_OP_ARITH_SHRUI:
    case TIDE_OP_LLVM_LSHR:
      if (ub > 63) return false;
      result = ua >> ub;
      break;
    case TIDE_OP_ARITH_CMPI:
    case TIDE_OP_LLVM_ICMP:
      return compare(tide_ir_get_integer(ir, op, TIDE_NAME_PREDICATE, -1), a, b, ua, ub, out);
    default: return false;
  }
  *out = narrow(ir, type, result);
  return true;
}

static bool cast(struct cta *cta, tide_ir_op op, bool is_signed, uint32_t depth, int64_t *out) {
  const struct tide_ir *ir = cta->ir;
  tide_ir_value from = tide_ir_operand(ir, op, 0);
  int64_t value;
  if (!number(cta, from, depth, &value)) return false;
  if (!is_signed) value = (int64_t)widen(ir, tide_ir_type_of_value(ir, from), value);
  *out = narrow(ir, tide_ir_type_of_value(ir, tide_ir_result(ir, op, 0)), (uint64_t)value);
  return true;
}

static bool number(struct cta *cta, tide_ir_value value, uint32_t depth, int64_t *out) {
  const struct tide_ir *ir = cta->ir;
  tide_ir_op op = tide_ir_defining_op(ir, value);
  if (tide_ir_constant(ir, value, out)) {
    *out = narrow(ir, tide_ir_type_of_value(ir, value), (uint64_t)*out);
    return true;
  }
  if (!op || depth == DEPTH_MAX || !cta->left--) return false;
  switch (tide_ir_op_kind(ir, op)) {
    case TIDE_OP_NVVM_CLUSTER_CTARANK: *out = cta->rank; return true;
    case TIDE_OP_NVVM_CLUSTER_CTAID_X: return place_on_axis(cta, 0, out);
    case TIDE_OP_NVVM_CLUSTER_CTAID_Y: return place_on_axis(cta, 1, out);
    case TIDE_OP_NVVM_CLUSTER_CTAID_Z: return place_on_axis(cta, 2, out);
    case TIDE_OP_GPU_CLUSTER_BLOCK_ID: return place_on_axis(cta, axis_of(ir, op), out);
    case TIDE_OP_ARITH_INDEX_CAST:
    case TIDE_OP_ARITH_EXTSI:
    case TIDE_OP_LLVM_SEXT: return cast(cta, op, true, depth + 1, out);
    case TIDE_OP_ARITH_INDEX_CASTUI:
    case TIDE_OP_ARITH_EXTUI:
    case TIDE_OP_ARITH_TRUNCI:
    case TIDE_OP_LLVM_ZEXT:
    case TIDE_OP_LLVM_TRUNC: return cast(cta, op, false, depth + 1, out);
    default: return tide_ir_op_of(ir, op)->operand_count == 2 && binary(cta, op, depth + 1, out);
  }
}

/* The condition, or how often a loop with bounds goes round. */
static bool decision(struct cta *cta, tide_ir_op op, tide_ir_op at, int64_t *out) {
  int64_t from, to, step;
  if (tide_ir_op_kind(cta->ir, op) != TIDE_OP_SCF_FOR)
    return number(cta, tide_ir_operand(cta->ir, at, 0), 0, out);
  if (!number(cta, tide_ir_operand(cta->ir, op, 0), 0, &from) ||
      !number(cta, tide_ir_operand(cta->ir, op, 1), 0, &to) ||
      !number(cta, tide_ir_operand(cta->ir, op, 2), 0, &step) || step <= 0)
    return false;
  *out = from < to ? (int64_t)(((uint64_t)to - (uint64_t)from - 1) / (uint64_t)step) + 1 : 0;
  return true;
}

/* Do the CTAs decide alike, or is it not known how some do? */
static bool alike(struct tide_ir *ir, tide_ir_op op, tide_ir_op at) {
  struct cta cta = {.ir = ir};
  int64_t first = 0, other;
  tide_cluster_shape(ir, op, cta.shape);
  uint32_t ctas = cta.shape[0] * cta.shape[1] * cta.shape[2];
  for (; cta.rank < ctas && cta.rank < 16; cta.rank++) {
    cta.left = 64;
    if (!decision(&cta, op, at, &other)) return true;
    if (cta.rank == 0) first = other;
    if (first != other) return false;
  }
  return true;
}

void tide_verify_uniform(struct tide_verifier *verifier, tide_ir_op op) {
  struct tide_ir *ir = verifier->ir;
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  tide_ir_op at = op;
  if (!tide_ir_has(ir, op, TIDE_NAME_CLUSTER_UNIFORM)) return;
  if (record->kind == TIDE_OP_SCF_WHILE)
    at = tide_ir_terminator(ir, tide_ir_body(ir, op, 0)); /* scf.condition */
  else if (record->kind != TIDE_OP_SCF_IF && record->kind != TIDE_OP_SCF_FOR &&
           record->successor_count < 2)
    return;
  if (alike(ir, op, at)) return;
  tide_ir_op_error(ir, op,
                   "is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in "
                   "what it depends on");
}
