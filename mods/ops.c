#include "mods/ops.h"
#include "mods/names.h"

typedef const struct tide_ir_attribute_info list;

#define MUST(name, want)                                                                           \
  { TIDE_NAME_##name, TIDE_WANT_##want, true }
#define MAY(name, want)                                                                            \
  { TIDE_NAME_##name, TIDE_WANT_##want, false }
#define END                                                                                        \
  { TIDE_NAME_NONE, TIDE_WANT_ANY, false }

static list none[] = {END};
static list module[] = {MAY(SYM_NAME, STRING), MAY(SYM_VISIBILITY, STRING), END};
static list func[] = {MUST(SYM_NAME, STRING),      MUST(FUNCTION_TYPE, FUNCTION),
                      MAY(SYM_VISIBILITY, STRING), MAY(ARG_ATTRS, ARRAY),
                      MAY(RES_ATTRS, ARRAY),       END};
static list call[] = {MUST(CALLEE, SYMBOL), END};
static list gpu_module[] = {MUST(SYM_NAME, STRING), MAY(TARGETS, ARRAY), END};
static list gpu_func[] = {MUST(FUNCTION_TYPE, FUNCTION), MAY(ARG_ATTRS, ARRAY),
                          MAY(RES_ATTRS, ARRAY), END};
static list dimension[] = {MUST(DIMENSION, ANY), MAY(UPPER_BOUND, INTEGER), END};
static list upper_bound[] = {MAY(UPPER_BOUND, INTEGER), END};
static list value[] = {MUST(VALUE, ANY), END};
static list overflow[] = {MAY(OVERFLOW_FLAGS, OVERFLOW), END};
static list predicate[] = {MUST(PREDICATE, I64), END};
static list predicate_float[] = {MUST(PREDICATE, I64), MAY(FASTMATH, FASTMATH),
                                 MAY(FASTMATH_FLAGS, FASTMATH), END};
static list fastmath[] = {MAY(FASTMATH, FASTMATH), END};
static list fastmath_flags[] = {MAY(FASTMATH_FLAGS, FASTMATH), END};
static list rounding[] = {MAY(ROUNDING, ROUNDING), MAY(FASTMATH, FASTMATH), END};
static list segments[] = {MUST(OPERAND_SEGMENTS, DENSE), END};
static list llvm_func[] = {
    MUST(SYM_NAME, STRING), MUST(FUNCTION_TYPE, TYPE), MAY(LINKAGE, LINKAGE),
    MAY(CCONV, CONVENTION), MAY(VISIBILITY, CHOICE),   MAY(UNNAMED_ADDR, CHOICE),
    MAY(ARG_ATTRS, ARRAY),  MAY(RES_ATTRS, ARRAY),     END};
static list llvm_call[] = {MAY(CALLEE, SYMBOL), MAY(VAR_CALLEE_TYPE, TYPE), MAY(CCONV, CONVENTION),
                           MAY(FASTMATH_FLAGS, FASTMATH), END};
static list llvm_global[] = {
    MUST(SYM_NAME, STRING),    MUST(GLOBAL_TYPE, TYPE), MUST(LINKAGE, LINKAGE),
    MAY(VALUE, ANY),           MAY(ADDR_SPACE, I32),    MAY(ALIGNMENT, I64),
    MAY(CONSTANT, UNIT),       MAY(DSO_LOCAL, UNIT),    MAY(THREAD_LOCAL, UNIT),
    MAY(UNNAMED_ADDR, CHOICE), MAY(VISIBILITY, CHOICE), END};
static list address[] = {MUST(GLOBAL_NAME, SYMBOL), END};
static list elem_type[] = {MUST(ELEM_TYPE, TYPE), MAY(ALIGNMENT, I64), MAY(INBOUNDS, UNIT), END};
static list memory[] = {MAY(ALIGNMENT, I64),    MAY(ORDERING, INTEGER), MAY(VOLATILE, UNIT),
                        MAY(NONTEMPORAL, UNIT), MAY(SYNCSCOPE, STRING), END};
static list load[] = {MAY(ALIGNMENT, I64),
                      MAY(ORDERING, INTEGER),
                      MAY(VOLATILE, UNIT),
                      MAY(NONTEMPORAL, UNIT),
                      MAY(INVARIANT, UNIT),
                      MAY(SYNCSCOPE, STRING),
                      END};
static list gep[] = {MUST(ELEM_TYPE, TYPE), MUST(RAW_INDICES, DENSE), MAY(INBOUNDS, UNIT), END};
static list atomicrmw[] = {MUST(BIN_OP, INTEGER), MUST(ORDERING, INTEGER), MAY(SYNCSCOPE, STRING),
                           MAY(ALIGNMENT, I64),   MAY(VOLATILE, UNIT),     END};
static list cmpxchg[] = {MUST(SUCCESS_ORDERING, INTEGER),
                         MUST(FAILURE_ORDERING, INTEGER),
                         MAY(SYNCSCOPE, STRING),
                         MAY(ALIGNMENT, I64),
                         MAY(WEAK, UNIT),
                         MAY(VOLATILE, UNIT),
                         END};
static list fence[] = {MUST(ORDERING, INTEGER), MAY(SYNCSCOPE, STRING), END};
static list inline_asm[] = {MUST(ASM_STRING, STRING), MUST(CONSTRAINTS, STRING),
                            MAY(SIDE_EFFECTS, UNIT), END};
static list intrinsic[] = {MUST(INTRIN, STRING), END};
static list position[] = {MUST(POSITION, DENSE), END};
static list aligned[] = {MAY(ALIGNED, UNIT), END};
static list bulk_wait[] = {MUST(GROUP, I32), MAY(READ, UNIT), END};
static list shfl[] = {MUST(KIND, ANY), END};
static list bulk_wait_count[] = {MUST(COUNT, INTEGER), END};
static list async_exec[] = {MAY(WARPS, DENSE), END};
static list pipeline_init[] = {MUST(STAGES, I32), MUST(PRODUCERS, I32), MUST(CONSUMERS, I32),
                               MUST(TX_BYTES, I32), END};
static list state_create[] = {MUST(ROLE, STRING), END};
static list acquire[] = {MAY(BYTES, I32), END};
static list seq_bar_init[] = {MUST(DEPTH, I32), MUST(LENGTH, I32), MUST(GROUP_SIZE, I32), END};
static list group[] = {MUST(GROUP, I32), END};
static list scheduler[] = {MAY(RASTER, STRING), MAY(SWIZZLE, I32), END};
static list field[] = {MUST(FIELD, STRING), END};
static list mods_flag[] = {MUST(IS_2CTA_MMA, BOOL), END};
static list throttle[] = {MUST(PROFILE, I32), END};

#define TERMINATOR TIDE_IR_TERMINATOR
#define ISOLATED TIDE_IR_ISOLATED
#define SYMBOL TIDE_IR_SYMBOL
#define SYMBOL_TABLE TIDE_IR_SYMBOL_TABLE
#define ONE_BLOCK TIDE_IR_ONE_BLOCK
#define OPEN TIDE_IR_OPEN
#define CALLABLE TIDE_IR_CALLABLE
#define SYMBOL_MAYBE TIDE_IR_SYMBOL_MAYBE
#define MODS_NAME TIDE_IR_MODS_NAME
#define READS TIDE_IR_READS
#define WRITES TIDE_IR_WRITES
#define ANY TIDE_IR_ANY
#define RECURSIVE TIDE_IR_RECURSIVE

const struct tide_ir_op_info tide_ir_ops[TIDE_IR_KINDS] = {
    {"", ">", 0, 0, 0, none},
#define OP(name, text, signature, traits, effects, form, attributes)                               \
  {text, signature, traits, effects, TIDE_FORM_##form, attributes},
#include "mods/ops_table.h"
#undef OP
};
