/* mods/kernel_shape.h: which kernel is launched, in what shape, on the CPU or on a GPU. */
#ifndef TIDE_MODS_KERNEL_SHAPE_H
#define TIDE_MODS_KERNEL_SHAPE_H

#include "mods/exec.h"
#include "tidemark/mods.h"

/* Tells why, at `op` if it is not 0. False. */
bool tide_exec_complain(struct tide_ir *ir, tide_ir_op op, enum tide_status status,
                        enum tide_status *out_status, const char *why);
/* name NULL: the only one that there is. 0: told. */
tide_ir_op tide_exec_find_kernel(struct tide_ir *ir, const char *name, enum tide_status *status);
/* False, told: a launch that no GPU would take. */
bool tide_exec_take_shape(struct tide_ir *ir, tide_ir_op kernel,
                          const struct tide_mods_run_params *params, struct tide_exec_shape *shape,
                          enum tide_status *status);

#endif
