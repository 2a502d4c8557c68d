/* mods/warps.h: the warps of a region (`cutlass.async.exec`). */
#ifndef TIDE_MODS_WARPS_H
#define TIDE_MODS_WARPS_H

#include "mods/ir.h"

#define TIDE_WARPS_MAX 32 /* warps of a block */

/* Warps [first, end). A region without the attribute `warps` has all warps of its block: then `all`
 * is set, and `end` is TIDE_WARPS_MAX unless the kernel declares its block's size. */
struct tide_warps {
  int64_t first, end;
  bool all;
};

/* Returns the warps of the region `exec`. [0, 0) if the attribute is no array of two integers. */
struct tide_warps tide_warps_of(struct tide_ir *ir, tide_ir_op exec);
/* Returns the number of threads of the block of the kernel around `op`; 0: not declared. */
uint32_t tide_declared_threads(struct tide_ir *ir, tide_ir_op op);
/* Returns the start of the window around `op`, before it in a block around it; 0: none. */
tide_ir_op tide_opening_of(const struct tide_ir *ir, tide_ir_op op);

#endif
