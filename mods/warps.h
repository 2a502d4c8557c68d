/* mods/warps.h: the warps of a region (`cutlass.async.exec`). */
#ifndef TIDE_MODS_WARPS_H
#define TIDE_MODS_WARPS_H

#include "mods/ir.h"

#define TIDE_WARPS_MAX 32 /* of a block */

/* Warps [first, end). A region without the attribute `warps` has all warps of its block: then `all`
 * is set, and `end` is TIDE_WARPS_MAX unless the kernel declares its block's size. */
struct tide_warps {
  int64_t first, end;
  bool all;
};

/* Returns the warps of the region `exec`. An attribute that is no array of integers gives [0, 0).
 */
struct tide_warps tide_warps_of(struct tide_ir *ir, tide_ir_op exec);
/* Returns how many threads the block of the kernel around `op` has; 0: the kernel does not say. */
uint32_t tide_declared_threads(struct tide_ir *ir, tide_ir_op op);

#endif
