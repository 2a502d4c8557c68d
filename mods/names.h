/* mods/names.h: names of attributes that the code uses. Every ir interns them first, in this order,
 * so that an enumerator is the string's number. */
#ifndef TIDE_MODS_NAMES_H
#define TIDE_MODS_NAMES_H

#define TIDE_IR_NAMES(NAME)                                                                        \
  NAME(SYM_NAME, "sym_name")                                                                       \
  NAME(SYM_VISIBILITY, "sym_visibility")                                                           \
  NAME(FUNCTION_TYPE, "function_type")                                                             \
  NAME(ARG_ATTRS, "arg_attrs")                                                                     \
  NAME(RES_ATTRS, "res_attrs")                                                                     \
  NAME(CALLEE, "callee")                                                                           \
  NAME(VALUE, "value")                                                                             \
  NAME(PREDICATE, "predicate")                                                                     \
  NAME(FASTMATH, "fastmath")                                                                       \
  NAME(FASTMATH_FLAGS, "fastmathFlags")                                                            \
  NAME(OVERFLOW_FLAGS, "overflowFlags")                                                            \
  NAME(DIMENSION, "dimension")                                                                     \
  NAME(UPPER_BOUND, "upper_bound")                                                                 \
  NAME(NVVM_KERNEL, "nvvm.kernel")                                                                 \
  NAME(KERNEL, "gpu.kernel")                                                                       \
  NAME(WORKGROUP_ATTRIBUTIONS, "workgroup_attributions")                                           \
  NAME(OPERAND_SEGMENTS, "operandSegmentSizes")                                                    \
  NAME(TARGETS, "targets")                                                                         \
  NAME(GLOBAL_TYPE, "global_type")                                                                 \
  NAME(GLOBAL_NAME, "global_name")                                                                 \
  NAME(LINKAGE, "linkage")                                                                         \
  NAME(CCONV, "CConv")                                                                             \
  NAME(VISIBILITY, "visibility_")                                                                  \
  NAME(THREAD_LOCAL, "thread_local_")                                                              \
  NAME(UNNAMED_ADDR, "unnamed_addr")                                                               \
  NAME(ADDR_SPACE, "addr_space")                                                                   \
  NAME(ALIGNMENT, "alignment")                                                                     \
  NAME(CONSTANT, "constant")                                                                       \
  NAME(DSO_LOCAL, "dso_local")                                                                     \
  NAME(ELEM_TYPE, "elem_type")                                                                     \
  NAME(INBOUNDS, "inbounds")                                                                       \
  NAME(RAW_INDICES, "rawConstantIndices")                                                          \
  NAME(ORDERING, "ordering")                                                                       \
  NAME(SYNCSCOPE, "syncscope")                                                                     \
  NAME(SUCCESS_ORDERING, "success_ordering")                                                       \
  NAME(FAILURE_ORDERING, "failure_ordering")                                                       \
  NAME(WEAK, "weak")                                                                               \
  NAME(INVARIANT, "invariant")                                                                     \
  NAME(NONTEMPORAL, "nontemporal")                                                                 \
  NAME(ROUNDING, "roundingmode")                                                                   \
  NAME(VAR_CALLEE_TYPE, "var_callee_type")                                                         \
  NAME(VOLATILE, "volatile_")                                                                      \
  NAME(BIN_OP, "bin_op")                                                                           \
  NAME(ASM_STRING, "asm_string")                                                                   \
  NAME(CONSTRAINTS, "constraints")                                                                 \
  NAME(SIDE_EFFECTS, "has_side_effects")                                                           \
  NAME(INTRIN, "intrin")                                                                           \
  NAME(POSITION, "position")                                                                       \
  NAME(ALIGNED, "aligned")                                                                         \
  NAME(GROUP, "group")                                                                             \
  NAME(READ, "read")                                                                               \
  NAME(KIND, "kind")                                                                               \
  NAME(COUNT, "count")                                                                             \
  NAME(WARPS, "warps")                                                                             \
  NAME(STAGES, "stages")                                                                           \
  NAME(PRODUCERS, "producers")                                                                     \
  NAME(CONSUMERS, "consumers")                                                                     \
  NAME(TX_BYTES, "tx_bytes")                                                                       \
  NAME(ROLE, "role")                                                                               \
  NAME(BYTES, "bytes")                                                                             \
  NAME(DEPTH, "depth")                                                                             \
  NAME(LENGTH, "length")                                                                           \
  NAME(GROUP_SIZE, "group_size")                                                                   \
  NAME(RASTER, "raster")                                                                           \
  NAME(SWIZZLE, "swizzle")                                                                         \
  NAME(FIELD, "field")                                                                             \
  NAME(IS_2CTA_MMA, "is_2cta_mma")                                                                 \
  NAME(PROFILE, "profile")                                                                         \
  NAME(CLUSTER_SHAPE, "cutlass.cluster_shape")                                                     \
  NAME(CLUSTER_UNIFORM, "cutlass.cluster_uniform")

enum tide_ir_name {
  TIDE_NAME_NONE,
#define NAME(name, text) TIDE_NAME_##name,
  TIDE_IR_NAMES(NAME)
#undef NAME
      TIDE_IR_NAME_COUNT
};

#endif
