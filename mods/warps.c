#include "mods/warps.h"
#include "mods/intern.h"

uint32_t tide_declared_threads(struct tide_ir *ir, tide_ir_op op) {
  static const char *const names[] = {"known_block_size", "gpu.known_block_size", "nvvm.reqntid"};
  tide_ir_op kernel = tide_ir_ancestor(ir, op, TIDE_OP_GPU_FUNC);
  for (size_t i = 0; kernel && i < sizeof names / sizeof *names; i++) {
    tide_ir_attr attr = tide_ir_get(ir, kernel, tide_ir_intern_text(ir, names[i]));
    const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
    uint32_t count = attr && record->kind == TIDE_IR_ATTR_DENSE ? record->count / 2 : 0;
    uint64_t threads = count >= 1 && count <= 3;
    for (uint32_t j = 0; j < count && threads; j++) {
      int64_t size = tide_ir_attr_element(ir, attr, j);
      threads = size > 0 && size <= 32 * TIDE_WARPS_MAX ? threads * (uint64_t)size : 0;
      if (threads > 32 * TIDE_WARPS_MAX) threads = 0;
    }
    if (threads) return (uint32_t)threads;
  }
  return 0;
}

struct tide_warps tide_warps_of(struct tide_ir *ir, tide_ir_op exec) {
  tide_ir_attr warps = tide_ir_get(ir, exec, TIDE_NAME_WARPS);
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, warps);
  if (!warps) {
    uint32_t threads = tide_declared_threads(ir, exec);
    return (struct tide_warps){0, threads ? (threads + 31) / 32 : TIDE_WARPS_MAX, true};
  }
  if (record->kind != TIDE_IR_ATTR_DENSE || record->count != 4) return (struct tide_warps){0, 0, 0};
  return (struct tide_warps){tide_ir_attr_element(ir, warps, 0), tide_ir_attr_element(ir, warps, 1),
                             false};
}

tide_ir_op tide_opening_of(const struct tide_ir *ir, tide_ir_op op) {
  for (tide_ir_op in = op; in; in = tide_ir_parent(ir, in))
    for (tide_ir_op at = tide_ir_op_of(ir, in)->prev; at; at = tide_ir_op_of(ir, at)->prev) {
      if (tide_ir_op_kind(ir, at) == TIDE_OP_MODS_START) return at;
      if (tide_ir_op_kind(ir, at) == TIDE_OP_MODS_END) break;
    }
  return 0;
}
