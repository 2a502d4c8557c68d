/* mods/barrier_pool.h: the named barriers 8 to 15, shared by a kernel's own code and its
 * cooperative throttles. */
#ifndef TIDE_MODS_BARRIER_POOL_H
#define TIDE_MODS_BARRIER_POOL_H

#include "mods/ir.h"

#define TIDE_POOL_FIRST 8
#define TIDE_POOL_END 16

/* Returns the operand with a named barrier's id; 0: none, which means barrier 0. */
tide_ir_value tide_pool_id(const struct tide_ir *ir, tide_ir_op op);
/* Returns a bit mask of the pool's ids that a function uses itself. *out_computed, if not NULL: an
 * operation with an id that is not a constant; 0: none. */
uint32_t tide_pool_taken(const struct tide_ir *ir, tide_ir_op function, tide_ir_op *out_computed);
/* Returns the first id from `id` on that is not taken; TIDE_POOL_END: none. */
uint32_t tide_pool_next(uint32_t taken, uint32_t id);

#endif
