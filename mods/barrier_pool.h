/* mods/barrier_pool.h: the named barriers 8 to 15, which a kernel's own code and its cooperative
 * throttles share. */
#ifndef TIDE_MODS_POOL_H
#define TIDE_MODS_POOL_H

#include "mods/ir.h"

#define TIDE_POOL_FIRST 8
#define TIDE_POOL_END 16

/* The operand that is a named barrier's id; 0: it says none, so it is barrier 0. */
tide_ir_value tide_pool_id(const struct tide_ir *ir, tide_ir_op op);
/* Bits of the ids that a function names itself. `out_computed`, if not NULL: an operation whose id
 * is not known; 0: there is none. */
uint32_t tide_pool_taken(const struct tide_ir *ir, tide_ir_op function, tide_ir_op *out_computed);
/* The first id from `id` on that is not taken; TIDE_POOL_END: there is none. */
uint32_t tide_pool_next(uint32_t taken, uint32_t id);

#endif
