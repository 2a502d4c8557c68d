/* mods/verify.h: the verifier's state, and the functions that its files share. */
#ifndef TIDE_MODS_VERIFY_H
#define TIDE_MODS_VERIFY_H

#include "mods/ir.h"

/* How an operation differs from its row of the table. */
enum tide_misfit_kind {
  TIDE_FITS,
  TIDE_MISFIT_OPERANDS, /* `index`: the required number */
  TIDE_MISFIT_RESULTS,
  TIDE_MISFIT_OPERAND, /* the type of operand `index` */
  TIDE_MISFIT_RESULT,
  TIDE_MISFIT_SAME, /* operands `index` and `other` have different types */
  TIDE_MISFIT_SAME_RESULT,
  TIDE_MISFIT_NO_ATTR, /* `index`: the attribute's name */
  TIDE_MISFIT_ATTR,
  TIDE_MISFIT_REGIONS,
  TIDE_MISFIT_SUCCESSORS
};
struct tide_misfit {
  enum tide_misfit_kind kind;
  uint32_t index, other;
  const char *want;
};
struct tide_misfit tide_ir_misfit(const struct tide_ir *ir, tide_ir_op op);

struct tide_verifier {
  struct tide_ir *ir;
  enum tide_ir_partial partial;
  uint32_t *order;   /* by operation: its number in the walk; 0: not seen yet */
  uint32_t *roots;   /* by value: the origin of a pipeline state or work tile; 0: unknown */
  uint32_t *windows; /* by operation: the start of the window around it; 0: none */
  uint32_t op_count, value_count;
  uint32_t seen;
  bool several;         /* some region has several blocks */
  bool moved;           /* a round of tide_verify_states() found a root */
  tide_ir_op last_exec; /* the last region of warps in the walk */
};

/* tide_verify_…: report errors and continue. */
void tide_verify_op(struct tide_verifier *verifier, tide_ir_op op); /* verify_op.c */
bool tide_ir_begins_with(const struct tide_ir *ir, tide_ir_string string, const char *prefix);
/* True for the name of a dialect that mlir-opt has; parse_opaque.c. */
bool tide_is_dialect(const char *name, size_t length);
/* True if LLVM has the type. */
bool tide_is_llvm_type(const struct tide_ir *ir, tide_ir_type type);
/* verify_llvm.c; the indices of a getelementptr, and the rest. */
bool tide_verify_indices(struct tide_ir *ir, tide_ir_op op);
bool tide_verify_access(struct tide_ir *ir, tide_ir_op op);
bool tide_verify_llvm_function(struct tide_ir *ir, tide_ir_op op);
bool tide_verify_llvm(struct tide_ir *ir, tide_ir_op op);
/* verify_attrs.c; the attributes of arguments and results, and those of dialects. */
bool tide_verify_parameters(struct tide_ir *ir, tide_ir_op op);
bool tide_verify_attrs(struct tide_ir *ir, tide_ir_op op);
void tide_verify_flow(struct tide_verifier *verifier, tide_ir_op op);    /* verify_flow.c */
void tide_verify_cutlass(struct tide_verifier *verifier, tide_ir_op op); /* verify_cutlass.c */
void tide_verify_windows(struct tide_verifier *verifier);                /* verify_windows.c */
void tide_verify_divergence(struct tide_verifier *verifier);             /* verify_divergence.c */
void tide_verify_block(struct tide_verifier *verifier, tide_ir_op function); /* verify_block.c */
void tide_verify_uniform(struct tide_verifier *verifier, tide_ir_op op);     /* verify_uniform.c */
/* verify_states.c */
tide_ir_op tide_state_root(const struct tide_verifier *verifier, tide_ir_value value); /* or 0 */
void tide_state_follow(struct tide_verifier *verifier, tide_ir_op op);
void tide_verify_states(struct tide_verifier *verifier); /* through branches */
bool tide_verify_carried(struct tide_verifier *verifier, tide_ir_op op);
/* verify_cluster.c; requires correct windows. */
void tide_verify_cluster_barrier(struct tide_verifier *verifier, tide_ir_op function);
bool tide_verify_tail(struct tide_verifier *verifier, tide_ir_op tail); /* verify_drain.c */
bool tide_verify_drained(struct tide_verifier *verifier, tide_ir_op start, tide_ir_op end);
bool tide_verify_dominance(struct tide_verifier *verifier); /* dominance.c; false: no memory */
bool tide_verify_symbols(struct tide_verifier *verifier);   /* symbols.c; false: no memory */

/* Stores the cluster's shape; 1, 1, 1 if absent or invalid. */
void tide_cluster_shape(const struct tide_ir *ir, tide_ir_op op, uint32_t shape[3]);

#endif
