/* Replaces the names that only "MODS Async Dispatch" has by those of MLIR 19: an intrinsic, another
 * name, or inline assembly. */
#include "mods/lower_build.h"

#define FENCE "llvm.nvvm.membar.sys"

static void replace_op(struct tide_ir *ir, tide_ir_op op, enum tide_ir_kind kind,
                       const struct tide_ir_named *named, size_t count) {
  struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  record->kind = (uint16_t)kind;
  record->attributes = tide_ir_attr_dictionary(ir, named, count);
}

static void make_intrinsic(struct tide_ir *ir, tide_ir_op op, const char *name) {
  struct tide_ir_named named = {TIDE_NAME_INTRIN, tide_ir_attr_text(ir, name)};
  replace_op(ir, op, TIDE_OP_LLVM_INTRINSIC, &named, 1);
}

static void lower_barrier(struct tide_ir *ir, tide_ir_op op) {
  struct tide_ir_named named = {
      TIDE_NAME_OPERAND_SEGMENTS,
      tide_ir_attr_dense(ir, tide_ir_integer(ir, 32), (int64_t[]){1, 1}, 2)};
  replace_op(ir, op, TIDE_OP_NVVM_BARRIER, &named, 1);
}

static void bulk_wait(struct tide_ir *ir, tide_ir_op op) {
  int64_t count = tide_ir_get_integer(ir, op, TIDE_NAME_COUNT, 0);
  struct tide_ir_named named = {TIDE_NAME_GROUP, tide_ir_attr_i32(ir, (int32_t)count)};
  replace_op(ir, op, TIDE_OP_NVVM_BULK_WAIT, &named, 1);
}

static void lower_proxy_fence(struct tide_ir *ir, tide_ir_op op) {
  struct tide_ir_named named[] = {
      {TIDE_NAME_ASM_STRING, tide_ir_attr_text(ir, "fence.proxy.async;")},
      {TIDE_NAME_CONSTRAINTS, tide_ir_attr_text(ir, "~{memory}")},
      {TIDE_NAME_SIDE_EFFECTS, tide_ir_attr_unit(ir)}};
  replace_op(ir, op, TIDE_OP_LLVM_INLINE_ASM, named, 3);
}

static void insert_fence(struct tide_ir *ir, tide_ir_op op, tide_ir_op before) {
  struct tide_ir_builder b = {ir, tide_ir_op_of(ir, op)->block, before,
                              tide_ir_location_of(ir, op)};
  tide_ir_op made = tide_ir_build(&b, TIDE_OP_LLVM_FENCE, NULL, 0, NULL, 0, 0, 0);
  if (made) make_intrinsic(ir, made, FENCE);
}

/* LLVM 19 has no ordered load or store for this target, and makes atomic read-modify-writes
 * relaxed. Fences before and after give the order. `name` is the name of the ordering attribute. */
static void lower_access(struct tide_ir *ir, tide_ir_op op, tide_ir_string name, bool loads,
                         bool stores) {
  enum { MONOTONIC = 2, ACQUIRE = 4, RELEASE = 5, SEQUENTIAL = 7 };
  int64_t ordering = tide_ir_get_integer(ir, op, name, 0);
  if (ordering <= MONOTONIC) return;
  if (!loads || !stores) tide_ir_set(ir, op, name, tide_ir_attr_i64(ir, MONOTONIC));
  if (ordering == SEQUENTIAL || (stores && ordering != ACQUIRE)) insert_fence(ir, op, op);
  if (loads && ordering != RELEASE) insert_fence(ir, op, tide_ir_op_of(ir, op)->next);
}

void tide_lower_names(struct tide_ir *ir) {
  tide_ir_string success = tide_ir_intern_text(ir, "success_ordering");
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true))
    switch (tide_ir_op_kind(ir, op)) {
      case TIDE_OP_NVVM_SMID: make_intrinsic(ir, op, "llvm.nvvm.read.ptx.sreg.smid"); break;
      case TIDE_OP_NVVM_GLOBALTIMER:
        make_intrinsic(ir, op, "llvm.nvvm.read.ptx.sreg.globaltimer");
        break;
      case TIDE_OP_NVVM_MAPA: make_intrinsic(ir, op, "llvm.nvvm.mapa.shared.cluster"); break;
      case TIDE_OP_NVVM_BARRIER_CTA_SYNC: lower_barrier(ir, op); break;
      case TIDE_OP_MODS_BULK_WAIT: bulk_wait(ir, op); break;
      /* LLVM 19 selects no fence for this target; the strongest one replaces every kind. */
      case TIDE_OP_LLVM_FENCE: make_intrinsic(ir, op, FENCE); break;
      case TIDE_OP_LLVM_LOAD: lower_access(ir, op, TIDE_NAME_ORDERING, true, false); break;
      case TIDE_OP_LLVM_STORE: lower_access(ir, op, TIDE_NAME_ORDERING, false, true); break;
      case TIDE_OP_LLVM_ATOMICRMW: lower_access(ir, op, TIDE_NAME_ORDERING, true, true); break;
      case TIDE_OP_LLVM_CMPXCHG: lower_access(ir, op, success, true, true); break;
      case TIDE_OP_NVVM_FENCE_PROXY_ASYNC: lower_proxy_fence(ir, op); break;
      default: break;
    }
}
