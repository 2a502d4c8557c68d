/* Checks the block size that a kernel declares. Regions and barriers must not count on more
 * threads: their waits would never end. */
#include "mods/verify.h"
#include "mods/intern.h"
#include "mods/barrier_pool.h"
#include "mods/warps.h"

#define THREADS_MAX 1024

struct block {
  const char *name; /* the attribute's name */
  int64_t threads;
  bool exact; /* else an upper bound */
  bool flat;
};

/* Reads array<i32: x, y, z>; y and z may be missing. */
static bool read_block(struct tide_ir *ir, tide_ir_op op, const char *name, struct block *block) {
  tide_ir_attr attr = tide_ir_get(ir, op, tide_ir_intern_text(ir, name));
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
  if (!attr) return false;
  uint32_t count = record->kind == TIDE_IR_ATTR_DENSE ? record->count / 2 : 0;
  if (count < 1 || count > 3 || !tide_ir_is_integer(ir, record->type, 32))
    return tide_ir_op_error(ir, op, "requires '%s' to be array<i32: x, y, z>", name);
  block->name = name;
  block->threads = 1;
  block->flat = true;
  for (uint32_t i = 0; i < count; i++) {
    int64_t size = tide_ir_attr_element(ir, attr, i);
    if (size < 1 || size > THREADS_MAX || (block->threads *= size) > THREADS_MAX)
      return tide_ir_op_error(ir, op, "has no block of 1 to 1024 threads in '%s'", name);
    block->flat = block->flat && (i == 0 || size == 1);
  }
  return true;
}

static bool too_many(struct tide_ir *ir, tide_ir_op op, const char *what, int64_t count,
                     const struct block *block) {
  return count <= block->threads ||
         tide_ir_op_error(ir, op, "counts on %lld %s, but '%s' says that a CTA has %s %lld threads",
                          (long long)count, what, block->name, block->exact ? "only" : "at most",
                          (long long)block->threads);
}

static bool check_barrier(struct tide_ir *ir, tide_ir_op op, const struct block *block) {
  uint32_t index = tide_pool_id(ir, op) != 0;
  int64_t threads;
  return tide_ir_op_of(ir, op)->operand_count <= index ||
         !tide_ir_constant(ir, tide_ir_operand(ir, op, index), &threads) ||
         too_many(ir, op, "threads", threads, block);
}

static bool check_inside(struct tide_ir *ir, tide_ir_op op, const struct block *block) {
  switch (tide_ir_op_kind(ir, op)) {
    case TIDE_OP_ASYNC_EXEC:
      if (!block->flat && block->exact)
        return tide_ir_op_error(
            ir, op, "needs a block that is flat in y and z: its warps are those of tid.x");
      return tide_warps_of(ir, op).all ||
             too_many(ir, op, "threads", 32 * tide_warps_of(ir, op).end, block);
    case TIDE_OP_PIPELINE_INIT:
      return too_many(ir, op, "producers", tide_ir_get_integer(ir, op, TIDE_NAME_PRODUCERS, 0),
                      block) &&
             too_many(ir, op, "consumers", tide_ir_get_integer(ir, op, TIDE_NAME_CONSUMERS, 0),
                      block);
    case TIDE_OP_SEQ_BAR_INIT:
      return too_many(ir, op, "threads of a group",
                      tide_ir_get_integer(ir, op, TIDE_NAME_GROUP_SIZE, 0), block);
    case TIDE_OP_NVVM_BARRIER:
    case TIDE_OP_NVVM_BARRIER_ARRIVE:
    case TIDE_OP_NVVM_BARRIER_CTA_SYNC: return check_barrier(ir, op, block);
    default: return true;
  }
}

void tide_verify_block(struct tide_verifier *verifier, tide_ir_op function) {
  static const char *const names[] = {"known_block_size", "gpu.known_block_size", "nvvm.reqntid",
                                      "nvvm.maxntid"};
  struct tide_ir *ir = verifier->ir;
  for (uint32_t i = 0; i < 4; i++) {
    struct block block = {.exact = i < 3};
    if (!read_block(ir, function, names[i], &block)) continue;
    for (tide_ir_op op = function; op; op = tide_ir_walk_next(ir, function, op, true))
      if (!check_inside(ir, op, &block)) return; /* an error for one attribute is enough */
  }
}
