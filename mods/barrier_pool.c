#include "mods/barrier_pool.h"

static bool is_named(unsigned kind) {
  return kind == TIDE_OP_NVVM_BARRIER || kind == TIDE_OP_NVVM_BARRIER_ARRIVE ||
         kind == TIDE_OP_NVVM_BARRIER_CTA_SYNC;
}

tide_ir_value tide_pool_id(const struct tide_ir *ir, tide_ir_op op) {
  tide_ir_attr segments = tide_ir_get(ir, op, TIDE_NAME_OPERAND_SEGMENTS);
  /* An arrival always has a thread count: a single operand is not an id. */
  uint32_t least = tide_ir_op_kind(ir, op) == TIDE_OP_NVVM_BARRIER_ARRIVE ? 2 : 1;
  if (tide_ir_op_of(ir, op)->operand_count < least) return 0;
  if (segments && tide_ir_attr_of(ir, segments)->kind == TIDE_IR_ATTR_DENSE &&
      tide_ir_attr_element(ir, segments, 0) == 0)
    return 0;
  return tide_ir_operand(ir, op, 0);
}

uint32_t tide_pool_taken(const struct tide_ir *ir, tide_ir_op function, tide_ir_op *out_computed) {
  uint32_t taken = 0;
  if (out_computed) *out_computed = 0;
  for (tide_ir_op op = function; op; op = tide_ir_walk_next(ir, function, op, true)) {
    tide_ir_value id = is_named(tide_ir_op_kind(ir, op)) ? tide_pool_id(ir, op) : 0;
    int64_t number;
    if (!id) continue;
    if (!tide_ir_constant(ir, id, &number)) {
      if (out_computed && !*out_computed) *out_computed = op;
    } else if (number >= TIDE_POOL_FIRST && number < TIDE_POOL_END) {
      taken |= 1u << number;
    }
  }
  return taken;
}

uint32_t tide_pool_next(uint32_t taken, uint32_t id) {
  if (id < TIDE_POOL_FIRST) id = TIDE_POOL_FIRST;
  while (id < TIDE_POOL_END && taken >> id & 1) id++;
  return id;
}
