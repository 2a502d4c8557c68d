/* mods/exec_translate.h: the translator's state and functions, shared by its files. */
#ifndef TIDE_MODS_EXEC_TRANSLATE_H
#define TIDE_MODS_EXEC_TRANSLATE_H

#include "mods/exec.h"

#define TIDE_EXEC_INLINE_MAX 16 /* the depth of nested calls; recursion ends here */

struct tide_exec_jump {
  uint32_t instruction;
  tide_ir_block block; /* 0: the end of the function that is being inlined */
};

/* The function that `func.return` returns from; the outermost is the kernel. */
struct tide_exec_call {
  struct tide_exec_call *outer;
  tide_ir_op op; /* the call; 0: the kernel */
  uint32_t depth;
};

struct tide_exec_translator {
  struct tide_exec_program *program;
  struct tide_ir *ir;
  const struct tide_exec_shape *shape;
  int32_t *slots;     /* indexed by value: its slot + SLOT_BIAS; 0: none */
  uint32_t *block_at; /* indexed by block: the first instruction of a jump target */
  uint32_t value_count, block_count;
  uint16_t *hash; /* constants: index + 1 */
  int32_t next_slot;
  struct tide_exec_jump *jumps; /* jumps without a target yet */
  uint32_t jump_count, jump_capacity;
  struct tide_exec_call *call;
  uint32_t loops;               /* the number of enclosing loops within the async region */
  uint32_t warp_low, warp_high; /* the async region's; 0, 0: outside */
  bool window;                  /* the async region has a window */
  uint32_t throttle_barrier;    /* the region's; 0: none yet */
  uint32_t next_barrier;        /* pool id for the function's next throttle */
  bool main_loop;               /* the async region has a main loop */
  enum tide_status status;
};

/* Functions of the translation. They do nothing once t->status is not TIDE_OK. */
uint32_t tide_exec_emit(struct tide_exec_translator *t, tide_ir_op op,
                        struct tide_exec_instruction instruction);
int16_t tide_exec_constant(struct tide_exec_translator *t, int64_t value);
int16_t tide_exec_new_slots(struct tide_exec_translator *t, tide_ir_op op, int count);
/* Gives the value slots of its own, until its region ends. */
int16_t tide_exec_define(struct tide_exec_translator *t, tide_ir_op op, tide_ir_value value);
/* Gives the value the slots of another value, or a known slot. */
void tide_exec_alias(struct tide_exec_translator *t, tide_ir_value value, tide_ir_value of);
void tide_exec_assign(struct tide_exec_translator *t, tide_ir_value value, int16_t slot);
int16_t tide_exec_use(struct tide_exec_translator *t, tide_ir_op op, uint32_t operand);
int16_t tide_exec_slot_of(struct tide_exec_translator *t, tide_ir_op op, tide_ir_value value);
static inline int16_t tide_exec_result(struct tide_exec_translator *t, tide_ir_op op) {
  return tide_exec_slot_of(t, op, tide_ir_result(t->ir, op, 0));
}
/* Copies the operands from `first` on to those values, as if all at once. */
void tide_exec_copy(struct tide_exec_translator *t, tide_ir_op op, uint32_t first, uint32_t count,
                    tide_ir_value to);
void tide_exec_refuse(struct tide_exec_translator *t, tide_ir_op op, const char *why);
/* Returns 64 less the bits of an integer type. */
uint16_t tide_exec_cut(const struct tide_ir *ir, tide_ir_type type);
static inline tide_ir_type tide_exec_operand_type(struct tide_exec_translator *t, tide_ir_op op,
                                                  uint32_t index) {
  return tide_ir_type_of_value(t->ir, tide_ir_operand(t->ir, op, index));
}
static inline tide_ir_type tide_exec_result_type(struct tide_exec_translator *t, tide_ir_op op) {
  return tide_ir_type_of_value(t->ir, tide_ir_result(t->ir, op, 0));
}
static inline uint32_t tide_exec_here(const struct tide_exec_translator *t) {
  return t->program->code.count;
}
void tide_exec_patch(struct tide_exec_translator *t, uint32_t instruction, uint32_t target);

/* Translates all blocks of a region; the slots of their values are released at the end. */
void tide_exec_region(struct tide_exec_translator *t, tide_ir_region region);
/* True if the result is a constant of one slot, which then lies below the frames. */
bool tide_exec_known(struct tide_exec_translator *t, tide_ir_op op, int16_t *out_slot);
/* Each translates one operation. False: the operation is of another family. */
bool tide_exec_arith(struct tide_exec_translator *t, tide_ir_op op);
bool tide_exec_memory_op(struct tide_exec_translator *t, tide_ir_op op);
bool tide_exec_flow(struct tide_exec_translator *t, tide_ir_op op);
bool tide_exec_cutlass(struct tide_exec_translator *t, tide_ir_op op);
bool tide_exec_gpu(struct tide_exec_translator *t, tide_ir_op op);
/* Check operations marked cutlass.cluster_uniform: operand 0 of `op`, or the iteration count of a
 * loop with bounds, is compared within the cluster. */
void tide_exec_claim_condition(struct tide_exec_translator *t, tide_ir_op marked, tide_ir_op op);
void tide_exec_claim_bounds(struct tide_exec_translator *t, tide_ir_op loop);

#endif
