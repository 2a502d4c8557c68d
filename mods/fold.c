/* Erases operations that have no effect. */
#include "mods/ir.h"

static bool may_go(const struct tide_ir *ir, tide_ir_op op) {
  switch (tide_ir_op_kind(ir, op)) {
    case TIDE_OP_MODS_THROTTLE: return tide_ir_get_integer(ir, op, TIDE_NAME_PROFILE, -1) == 0;
    case TIDE_OP_MODS_SMID: return !tide_ir_value_of(ir, tide_ir_op_of(ir, op)->results)->uses;
    default: return false;
  }
}

uint64_t tide_ir_fold(struct tide_ir *ir) {
  uint64_t gone = 0;
  tide_ir_op next;
  for (tide_ir_op op = ir->module; op; op = next) {
    next = tide_ir_walk_next(ir, ir->module, op, true);
    if (!may_go(ir, op)) continue;
    tide_ir_erase(ir, op);
    gone++;
  }
  return gone;
}
