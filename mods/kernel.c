#include "mods/kernel_shape.h"
#include "mods/warps.h"
#include "base/alloc.h"

bool tide_exec_complain(struct tide_ir *ir, tide_ir_op op, enum tide_status status,
                        enum tide_status *out_status, const char *why) {
  *out_status = status;
  if (op) return tide_ir_op_error(ir, op, "%s", why);
  return tide_ir_error(ir, 0, "%s", why);
}

tide_ir_op tide_exec_find_kernel(struct tide_ir *ir, const char *name, enum tide_status *status) {
  tide_ir_op found = 0;
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true)) {
    const char *own = tide_ir_get_text(ir, op, TIDE_NAME_SYM_NAME);
    if (tide_ir_op_kind(ir, op) != TIDE_OP_GPU_FUNC || !tide_ir_has(ir, op, TIDE_NAME_KERNEL))
      continue;
    if (name && own && strcmp(name, own) == 0) return op;
    if (!name && found) {
      tide_exec_complain(ir, op, TIDE_NOT_FOUND, status,
                         "is another kernel: say which one is to run");
      return 0;
    }
    if (!name) found = op;
  }
  if (!found) tide_exec_complain(ir, 0, TIDE_NOT_FOUND, status, "there is no such kernel");
  return found;
}

/* Reads three numbers of a dense array; missing ones are 1, invalid ones 0. False: no array. */
static bool read_three(const struct tide_ir *ir, tide_ir_op op, const char *name, uint32_t out[3]) {
  struct tide_ir *any = (struct tide_ir *)ir; /* interning a name has no visible effect */
  tide_ir_attr attr = tide_ir_get(ir, op, tide_ir_intern_text(any, name));
  uint32_t count = tide_exec_dense(ir, attr);
  if (!count || count > 3) return false;
  for (uint32_t i = 0; i < 3; i++) {
    int64_t value = i < count ? tide_ir_attr_element(ir, attr, i) : 1;
    out[i] = value > 0 && value < UINT32_MAX ? (uint32_t)value : 0;
  }
  return true;
}

/* Returns the number of warps that the kernel's regions need; 0: the kernel has no regions. */
static uint32_t highest_warp(struct tide_ir *ir, tide_ir_op kernel) {
  int64_t most = 0;
  for (tide_ir_op op = kernel; op; op = tide_ir_walk_next(ir, kernel, op, true)) {
    if (tide_ir_op_kind(ir, op) != TIDE_OP_ASYNC_EXEC) continue;
    struct tide_warps warps = tide_warps_of(ir, op);
    int64_t needed = warps.all ? 1 : warps.end;
    if (needed > most) most = needed;
  }
  return most <= 32 ? (uint32_t)most : 32;
}

static bool all_zero(const uint32_t three[3]) { return !three[0] && !three[1] && !three[2]; }

static bool take_block(struct tide_ir *ir, tide_ir_op kernel,
                       const struct tide_mods_run_params *params, uint32_t block[3],
                       enum tide_status *status) {
  uint32_t warps = highest_warp(ir, kernel), said[3];
  bool says = read_three(ir, kernel, "known_block_size", said) ||
              read_three(ir, kernel, "gpu.known_block_size", said) ||
              read_three(ir, kernel, "nvvm.reqntid", said);
  memcpy(block, params->block, sizeof params->block);
  if (all_zero(block) && says) memcpy(block, said, sizeof said);
  else if (all_zero(block)) block[0] = 32 * (warps ? warps : 1);
  for (int i = 0; i < 3; i++) {
    if (!block[i]) block[i] = 1;
    if (says && block[i] != said[i])
      return tide_exec_complain(ir, kernel, TIDE_INVALID, status, "declares another block size");
  }
  if (warps && (block[0] < 32 * warps || block[1] > 1 || block[2] > 1))
    return tide_exec_complain(ir, kernel, TIDE_INVALID, status,
                              "is launched in a block without all warps of its regions: they are "
                              "counted along x");
  return true;
}

bool tide_exec_take_shape(struct tide_ir *ir, tide_ir_op kernel,
                          const struct tide_mods_run_params *params, struct tide_exec_shape *shape,
                          enum tide_status *status) {
  tide_ir_op module = tide_ir_ancestor(ir, kernel, TIDE_OP_GPU_MODULE);
  uint32_t said[3] = {1, 1, 1};
  bool says = module && read_three(ir, module, "cutlass.cluster_shape", said);
  memcpy(shape->grid, params->grid, sizeof shape->grid);
  memcpy(shape->cluster, all_zero(params->cluster) ? said : params->cluster, sizeof shape->cluster);
  if (!take_block(ir, kernel, params, shape->block, status)) return false;
  uint64_t ctas = 1, threads = 1, size = 1;
  for (int i = 0; i < 3; i++) {
    if (!shape->grid[i]) shape->grid[i] = 1;
    if (!shape->cluster[i]) shape->cluster[i] = 1;
    if (says && shape->cluster[i] != said[i])
      return tide_exec_complain(ir, module, TIDE_INVALID, status, "declares another cluster shape");
    if (shape->grid[i] > TIDE_MODS_CTAS_MAX || shape->block[i] > TIDE_MODS_THREADS_MAX ||
        shape->cluster[i] > TIDE_MODS_CLUSTER_MAX)
      return tide_exec_complain(ir, kernel, TIDE_INVALID, status,
                                "is launched in too large a shape");
    if (shape->grid[i] % shape->cluster[i])
      return tide_exec_complain(ir, kernel, TIDE_INVALID, status,
                                "is launched in a grid that isn't made of whole clusters");
    ctas *= shape->grid[i];
    threads *= shape->block[i];
    size *= shape->cluster[i];
  }
  if (ctas > TIDE_MODS_CTAS_MAX || threads > TIDE_MODS_THREADS_MAX || size > TIDE_MODS_CLUSTER_MAX)
    return tide_exec_complain(ir, kernel, TIDE_INVALID, status, "is launched in too large a shape");
  return true;
}
