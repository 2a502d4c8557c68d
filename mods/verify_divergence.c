/* Rejects a cooperative throttle to which only some threads of its region come: its barrier counts
 * all of them.
 *
 * A value *varies* if two threads of a CTA may have it differently: the name of a thread, a result
 * that one thread alone gets, and all values that are computed from such values or chosen by them.
 */
#include "mods/verify.h"
#include "mods/intern.h"
#include "base/alloc.h"

struct divergence {
  struct tide_ir *ir;
  uint8_t *varies; /* by value */
  uint32_t count;
  bool changed;
};

static bool varies(const struct divergence *d, tide_ir_value value) {
  tide_ir_value number = tide_ir_resolve(d->ir, value);
  return number < d->count && d->varies[number];
}

static void mark(struct divergence *d, tide_ir_value value) {
  tide_ir_value number = tide_ir_resolve(d->ir, value);
  if (number >= d->count || d->varies[number]) return;
  d->varies[number] = 1;
  d->changed = true;
}

static void mark_results(struct divergence *d, tide_ir_op op) {
  for (uint32_t i = 0; i < tide_ir_op_of(d->ir, op)->result_count; i++)
    mark(d, tide_ir_result(d->ir, op, i));
}

static bool any_varies(const struct divergence *d, tide_ir_op op, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++)
    if (varies(d, tide_ir_operand(d->ir, op, i))) return true;
  return false;
}

/* True if each thread gets a result of its own for any operands. */
static bool is_source(unsigned kind) {
  if (kind >= TIDE_OP_NVVM_TID_X && kind <= TIDE_OP_NVVM_TID_Z) return true;
  if (kind >= TIDE_OP_NVVM_MBARRIER_INIT && kind <= TIDE_OP_NVVM_MBARRIER_TRY_WAIT_PARITY_SHARED)
    return true;
  switch (kind) {
    case TIDE_OP_GPU_THREAD_ID:
    case TIDE_OP_GPU_GLOBAL_ID:
    case TIDE_OP_GPU_LANE_ID:
    case TIDE_OP_GPU_SUBGROUP_ID:
    case TIDE_OP_NVVM_LANEID:
    case TIDE_OP_NVVM_ELECT:
    case TIDE_OP_NVVM_SHFL:
    case TIDE_OP_NVVM_CLOCK:
    case TIDE_OP_NVVM_CLOCK64:
    case TIDE_OP_NVVM_GLOBALTIMER:
    case TIDE_OP_MODS_START:
    case TIDE_OP_MODS_END:
    case TIDE_OP_MODS_QUERY:
    case TIDE_OP_LLVM_ALLOCA:
    case TIDE_OP_LLVM_ATOMICRMW:
    case TIDE_OP_LLVM_CMPXCHG:
    case TIDE_OP_LLVM_INLINE_ASM:
    case TIDE_OP_LLVM_INTRINSIC:
    case TIDE_OP_LLVM_CALL: return true;
    default: return kind >= TIDE_IR_KINDS;
  }
}

/* ---- regions ---- */

/* Marks values `to`, `to` + 1 … where operands of `op` from `first` on vary; all of them if `all`.
 */
static void hand_on(struct divergence *d, tide_ir_op op, uint32_t first, tide_ir_value to,
                    uint32_t count, bool all) {
  uint32_t operands = tide_ir_op_of(d->ir, op)->operand_count;
  for (uint32_t i = 0; i < count && first + i < operands; i++)
    if (all || varies(d, tide_ir_operand(d->ir, op, first + i))) mark(d, to + i);
}

static void follow_if(struct divergence *d, tide_ir_op op) {
  bool all = varies(d, tide_ir_operand(d->ir, op, 0));
  for (uint32_t i = 0; i < 2; i++) {
    tide_ir_op yield = tide_ir_terminator(d->ir, tide_ir_body(d->ir, op, i));
    if (yield)
      hand_on(d, yield, 0, tide_ir_result(d->ir, op, 0), tide_ir_op_of(d->ir, op)->result_count,
              all);
  }
}

static void follow_for(struct divergence *d, tide_ir_op op) {
  const struct tide_ir *ir = d->ir;
  uint32_t carried = tide_ir_op_of(ir, op)->result_count;
  tide_ir_block body = tide_ir_body(ir, op, 0);
  tide_ir_op yield = tide_ir_terminator(ir, body);
  bool turns = any_varies(d, op, 0, 3);
  if (turns) mark(d, tide_ir_argument(ir, body, 0));
  hand_on(d, op, 3, tide_ir_argument(ir, body, 1), carried, false);
  hand_on(d, yield, 0, tide_ir_argument(ir, body, 1), carried, false);
  hand_on(d, op, 3, tide_ir_result(ir, op, 0), carried, turns);
  hand_on(d, yield, 0, tide_ir_result(ir, op, 0), carried, turns);
}

static void follow_while(struct divergence *d, tide_ir_op op) {
  const struct tide_ir *ir = d->ir;
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  tide_ir_block before = tide_ir_body(ir, op, 0), after = tide_ir_body(ir, op, 1);
  tide_ir_op condition = tide_ir_terminator(ir, before), yield = tide_ir_terminator(ir, after);
  bool turns = varies(d, tide_ir_operand(ir, condition, 0));
  hand_on(d, op, 0, tide_ir_argument(ir, before, 0), record->operand_count, false);
  hand_on(d, yield, 0, tide_ir_argument(ir, before, 0), record->operand_count, false);
  hand_on(d, condition, 1, tide_ir_argument(ir, after, 0), record->result_count, false);
  hand_on(d, condition, 1, tide_ir_result(ir, op, 0), record->result_count, turns);
}

/* Behind a branch on what varies, the arguments of every block of its region may. */
static void follow_branch(struct divergence *d, tide_ir_op op) {
  const struct tide_ir *ir = d->ir;
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  for (uint32_t i = 0; i < record->successor_count; i++) {
    uint32_t first = 0, count = 0;
    tide_ir_block to = tide_ir_successor(ir, op, i, &first, &count);
    hand_on(d, op, first, tide_ir_argument(ir, to, 0), count, false);
  }
  if (record->successor_count < 2 || !varies(d, tide_ir_operand(ir, op, 0))) return;
  tide_ir_region region = tide_ir_block_of(ir, record->block)->region;
  tide_ir_block first = tide_ir_region_of(ir, region)->first;
  for (tide_ir_block at = tide_ir_block_of(ir, first)->next; at;
       at = tide_ir_block_of(ir, at)->next)
    for (uint32_t i = 0; i < tide_ir_block_of(ir, at)->argument_count; i++)
      mark(d, tide_ir_argument(ir, at, i));
}

static void follow_op(struct divergence *d, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(d->ir, op);
  switch (record->kind) {
    case TIDE_OP_SCF_IF: follow_if(d, op); return;
    case TIDE_OP_SCF_FOR: follow_for(d, op); return;
    case TIDE_OP_SCF_WHILE: follow_while(d, op); return;
    case TIDE_OP_FUNC_CALL: mark_results(d, op); return; /* the callee may name the thread */
    default: break;
  }
  if (record->successor_count) follow_branch(d, op);
  if (is_source(record->kind) || any_varies(d, op, 0, record->operand_count)) mark_results(d, op);
}

/* ---- throttles ---- */

static bool is_cooperative(const struct tide_ir *ir, tide_ir_op op) {
  return tide_ir_op_kind(ir, op) == TIDE_OP_MODS_THROTTLE &&
         tide_ir_get_integer(ir, op, TIDE_NAME_PROFILE, 0) == 2;
}

/* True if threads may differ in whether, or how often, they run the region of `op`. */
static bool divides(const struct divergence *d, tide_ir_op op) {
  const struct tide_ir *ir = d->ir;
  if (tide_ir_has(ir, op, TIDE_NAME_CLUSTER_UNIFORM)) return false; /* `run` compares */
  switch (tide_ir_op_kind(ir, op)) {
    case TIDE_OP_SCF_IF: return varies(d, tide_ir_operand(ir, op, 0));
    case TIDE_OP_SCF_FOR: return any_varies(d, op, 0, 3);
    case TIDE_OP_SCF_WHILE:
      return varies(d, tide_ir_operand(ir, tide_ir_terminator(ir, tide_ir_body(ir, op, 0)), 0));
    default: return false;
  }
}

static void check_throttle(const struct divergence *d, tide_ir_op throttle) {
  struct tide_ir *ir = d->ir;
  for (tide_ir_op in = throttle, at; (at = tide_ir_parent(ir, in)); in = at) {
    if (tide_ir_op_kind(ir, at) == TIDE_OP_ASYNC_EXEC) return; /* a window's own rules */
    if (!divides(d, at)) continue;
    bool loop = tide_ir_op_kind(ir, at) != TIDE_OP_SCF_IF;
    tide_ir_op_error(ir, throttle,
                     "has the cooperative profile 2 %s, but all threads of its region have to come "
                     "to its barrier",
                     loop ? "in a loop whose number of turns may differ between threads"
                          : "under a condition that may differ between threads");
    (void)tide_ir_note(ir, tide_ir_location_of(ir, at),
                       loop ? "the loop is here" : "the condition is here");
    return;
  }
}

void tide_verify_divergence(struct tide_verifier *verifier) {
  struct tide_ir *ir = verifier->ir;
  bool any = false;
  for (tide_ir_op op = ir->module; op && !any; op = tide_ir_walk_next(ir, ir->module, op, true))
    any = is_cooperative(ir, op);
  if (!any) return;
  struct divergence d = {.ir = ir, .count = verifier->value_count, .changed = true};
  d.varies = tide_alloc(ir->allocator, d.count, 1);
  if (!d.varies) {
    tide_ir_give_up(ir, TIDE_NOMEM);
    return;
  }
  while (d.changed) {
    d.changed = false;
    for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true))
      follow_op(&d, op);
  }
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true))
    if (is_cooperative(ir, op)) check_throttle(&d, op);
  tide_free(ir->allocator, d.varies, d.count, 1);
}
