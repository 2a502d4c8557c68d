/* Rejects `cutlass.cluster_uniform` where it is certainly wrong: the decision depends only on
 * constants and on the CTA's position in its cluster, and differs between the CTAs. All other cases
 * are accepted; execution compares them. */
#include "mods/verify.h"

#define DEPTH_MAX 16

struct cta {
  const struct tide_ir *ir;
  uint32_t shape[3], rank;
  uint32_t left; /* limit on the operations still to be evaluated */
};

static bool evaluate_value(struct cta *cta, tide_ir_value value, uint32_t depth, int64_t *out);

static int64_t sign_extend(const struct tide_ir *ir, tide_ir_type type, uint64_t value) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  unsigned cut = record->kind == TIDE_IR_INTEGER ? 64 - record->a : 0;
  return (int64_t)(value << cut) >> cut;
}

static uint64_t zero_extend(const struct tide_ir *ir, tide_ir_type type, int64_t value) {
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

/* Returns the axis of gpu.cluster_block_id, 0 for x; -1: malformed. */
static int axis_of(const struct tide_ir *ir, tide_ir_op op) {
  size_t length = 0;
  const char *word = tide_ir_string_text(
      ir, tide_ir_attr_of(ir, tide_ir_get(ir, op, TIDE_NAME_DIMENSION))->string, &length);
  return length > 9 ? word[9] - 'x' : -1;
}

static bool evaluate_compare(int64_t predicate, int64_t a, int64_t b, uint64_t ua, uint64_t ub,
                             int64_t *out) {
  const bool results[] = {a == b,  a != b, a<b, a <= b, a> b, a >= b, ua<ub, ua <= ub, ua> ub,
                          ua >= ub};
  if (predicate < 0 || predicate > 9) return false;
  *out = results[predicate] ? -1 : 0;
  return true;
}

static bool evaluate_binary(struct cta *cta, tide_ir_op op, uint32_t depth, int64_t *out) {
  const struct tide_ir *ir = cta->ir;
  tide_ir_value left = tide_ir_operand(ir, op, 0);
  tide_ir_type type = tide_ir_type_of_value(ir, left);
  int64_t a, b;
  if (!evaluate_value(cta, left, depth, &a) ||
      !evaluate_value(cta, tide_ir_operand(ir, op, 1), depth, &b))
    return false;
  uint64_t ua = zero_extend(ir, type, a), ub = zero_extend(ir, type, b), result = 0;
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
      return evaluate_compare(tide_ir_get_integer(ir, op, TIDE_NAME_PREDICATE, -1), a, b, ua, ub,
                              out);
    default: return false;
  }
  *out = sign_extend(ir, type, result);
  return true;
}

static bool evaluate_cast(struct cta *cta, tide_ir_op op, bool is_signed, uint32_t depth,
                          int64_t *out) {
  const struct tide_ir *ir = cta->ir;
  tide_ir_value from = tide_ir_operand(ir, op, 0);
  int64_t value;
  if (!evaluate_value(cta, from, depth, &value)) return false;
  if (!is_signed) value = (int64_t)zero_extend(ir, tide_ir_type_of_value(ir, from), value);
  *out = sign_extend(ir, tide_ir_type_of_value(ir, tide_ir_result(ir, op, 0)), (uint64_t)value);
  return true;
}

static bool evaluate_value(struct cta *cta, tide_ir_value value, uint32_t depth, int64_t *out) {
  const struct tide_ir *ir = cta->ir;
  tide_ir_op op = tide_ir_defining_op(ir, value);
  if (tide_ir_constant(ir, value, out)) {
    *out = sign_extend(ir, tide_ir_type_of_value(ir, value), (uint64_t)*out);
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
    case TIDE_OP_LLVM_SEXT: return evaluate_cast(cta, op, true, depth + 1, out);
    case TIDE_OP_ARITH_INDEX_CASTUI:
    case TIDE_OP_ARITH_EXTUI:
    case TIDE_OP_ARITH_TRUNCI:
    case TIDE_OP_LLVM_ZEXT:
    case TIDE_OP_LLVM_TRUNC: return evaluate_cast(cta, op, false, depth + 1, out);
    default:
      return tide_ir_op_of(ir, op)->operand_count == 2 && evaluate_binary(cta, op, depth + 1, out);
  }
}

/* Computes the condition, or the number of rounds of a loop with bounds. */
static bool evaluate_decision(struct cta *cta, tide_ir_op op, tide_ir_op at, int64_t *out) {
  int64_t from, to, step;
  if (tide_ir_op_kind(cta->ir, op) != TIDE_OP_SCF_FOR)
    return evaluate_value(cta, tide_ir_operand(cta->ir, at, 0), 0, out);
  if (!evaluate_value(cta, tide_ir_operand(cta->ir, op, 0), 0, &from) ||
      !evaluate_value(cta, tide_ir_operand(cta->ir, op, 1), 0, &to) ||
      !evaluate_value(cta, tide_ir_operand(cta->ir, op, 2), 0, &step) || step <= 0)
    return false;
  *out = from < to ? (int64_t)(((uint64_t)to - (uint64_t)from - 1) / (uint64_t)step) + 1 : 0;
  return true;
}

/* True if the CTAs decide alike, or if a decision is unknown. */
static bool ctas_agree(struct tide_ir *ir, tide_ir_op op, tide_ir_op at) {
  struct cta cta = {.ir = ir};
  int64_t first = 0, other;
  tide_cluster_shape(ir, op, cta.shape);
  uint32_t ctas = cta.shape[0] * cta.shape[1] * cta.shape[2];
  for (; cta.rank < ctas && cta.rank < 16; cta.rank++) {
    cta.left = 64;
    if (!evaluate_decision(&cta, op, at, &other)) return true;
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
  if (ctas_agree(ir, op, at)) return;
  tide_ir_op_error(ir, op,
                   "is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in "
                   "what it depends on");
}
