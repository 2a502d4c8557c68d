/* mods/kernel_shape.h: the launched kernel and the shape of its launch, on the CPU or on a GPU. */
#ifndef TIDE_MODS_KERNEL_SHAPE_H
#define TIDE_MODS_KERNEL_SHAPE_H

#include "mods/exec.h"
#include "tidemark/mods.h"

/* Sets *out_status and reports `why`, at `op` if not 0. Returns false. */
bool tide_exec_complain(struct tide_ir *ir, tide_ir_op op, enum tide_status status,
                        enum tide_status *out_status, const char *why);
/* Returns the kernel of that name; NULL: the only kernel. 0: none, or several; reported. */
tide_ir_op tide_exec_find_kernel(struct tide_ir *ir, const char *name, enum tide_status *status);
/* Computes the shape of a launch. False: no GPU would accept the launch; reported. */
bool tide_exec_take_shape(struct tide_ir *ir, tide_ir_op kernel,
                          const struct tide_mods_run_params *params, struct tide_exec_shape *shape,
                          enum tide_status *status);

#endif
