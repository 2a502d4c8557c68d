/* Checks the cluster barrier's phase rule: a warp that has arrived waits before it arrives again.
 *
 * Only certain violations are errors. The walk follows the phase of each warp. The phase is unknown
 * after paths that join with different phases, in blocks that are reached by branches, and after
 * calls. Execution detects the remaining violations. */
#include "mods/verify.h"
#include "mods/warps.h"

/* Sets of warps: those that may be here without, and with, an arrival not waited for. */
struct phase {
  uint32_t without, with;
};

struct follower {
  struct tide_ir *ir;
  uint32_t warps; /* the warps that execute the current region */
  bool told;
  bool again;          /* the second round of a loop */
  bool inits, windows; /* true: these operations use the barrier */
  tide_ir_op arrived;
};

static struct phase follow_block(struct follower *f, tide_ir_block block, struct phase phase);

static struct phase meet_phases(struct phase a, struct phase b) {
  return (struct phase){a.without | b.without, a.with | b.with};
}

static bool same_phase(struct phase a, struct phase b) {
  return a.without == b.without && a.with == b.with;
}

/* Reports an error if a warp has certainly arrived and not waited. */
static void check_arrival(struct follower *f, tide_ir_op op, struct phase phase) {
  if (f->told || !(phase.with & ~phase.without & f->warps)) return;
  f->told = true;
  tide_ir_op_error(f->ir, op,
                   "arrives at the cluster barrier again before its last arrival there was waited "
                   "for");
  tide_ir_note(f->ir, tide_ir_location_of(f->ir, f->arrived), "an arrival is here");
}

static struct phase after_arrival(struct follower *f, tide_ir_op op, struct phase phase) {
  check_arrival(f, op, phase);
  f->arrived = op;
  return (struct phase){phase.without & ~f->warps, phase.with | f->warps};
}

static struct phase after_wait(struct follower *f, struct phase phase) {
  return (struct phase){phase.without | f->warps, phase.with & ~f->warps};
}

static struct phase unknown_phase(struct follower *f, struct phase phase) {
  return (struct phase){phase.without | f->warps, phase.with | f->warps};
}

/* Follows a region. With several blocks the phase at its end is unknown. */
static struct phase follow_region(struct follower *f, tide_ir_op op, uint32_t index,
                                  struct phase phase) {
  tide_ir_block first = tide_ir_body(f->ir, op, index);
  if (!first) return phase;
  phase = follow_block(f, first, phase);
  for (tide_ir_block at = tide_ir_block_of(f->ir, first)->next; at;
       at = tide_ir_block_of(f->ir, at)->next) {
    follow_block(f, at, unknown_phase(f, phase));
    phase = unknown_phase(f, phase);
  }
  return phase;
}

static struct phase follow_turn(struct follower *f, tide_ir_op op, struct phase phase) {
  phase = follow_region(f, op, 0, phase);
  return tide_ir_op_kind(f->ir, op) == TIDE_OP_SCF_WHILE ? follow_region(f, op, 1, phase) : phase;
}

/* Follows two rounds, which show all phases of a loop. Loops inside a second round get one. */
static struct phase follow_loop(struct follower *f, tide_ir_op op, struct phase phase) {
  struct phase once = follow_turn(f, op, phase);
  if (!f->again && !same_phase(once, phase)) {
    f->again = true;
    once = meet_phases(once, follow_turn(f, op, once));
    f->again = false;
  }
  return meet_phases(phase, once);
}

static struct phase follow_exec(struct follower *f, tide_ir_op op, struct phase phase) {
  struct tide_warps warps = tide_warps_of(f->ir, op);
  uint32_t before = f->warps;
  f->warps &= (uint32_t)(((uint64_t)1 << warps.end) - ((uint64_t)1 << warps.first));
  phase = follow_region(f, op, 0, phase);
  f->warps = before;
  return phase;
}

static struct phase follow_op(struct follower *f, tide_ir_op op, struct phase phase) {
  switch (tide_ir_op_kind(f->ir, op)) {
    case TIDE_OP_NVVM_CLUSTER_ARRIVE:
    case TIDE_OP_NVVM_CLUSTER_ARRIVE_RELAXED: return after_arrival(f, op, phase);
    case TIDE_OP_NVVM_CLUSTER_WAIT: return after_wait(f, phase);
    case TIDE_OP_MODS_START: return f->windows ? after_arrival(f, op, phase) : phase;
    case TIDE_OP_MODS_END: return f->windows ? after_wait(f, phase) : phase;
    case TIDE_OP_PIPELINE_INIT:
    case TIDE_OP_SEQ_BAR_INIT:
      if (f->inits) check_arrival(f, op, phase);
      return f->inits ? after_wait(f, phase) : phase;
    case TIDE_OP_FUNC_CALL:
    case TIDE_OP_LLVM_CALL: return unknown_phase(f, phase);
    case TIDE_OP_ASYNC_EXEC: return follow_exec(f, op, phase);
    case TIDE_OP_SCF_FOR:
    case TIDE_OP_SCF_WHILE: return follow_loop(f, op, phase);
    case TIDE_OP_SCF_IF:
      return meet_phases(follow_region(f, op, 0, phase), follow_region(f, op, 1, phase));
    default: return phase;
  }
}

static struct phase follow_block(struct follower *f, tide_ir_block block, struct phase phase) {
  for (tide_ir_op op = tide_ir_block_of(f->ir, block)->first; op && !f->told;
       op = tide_ir_op_of(f->ir, op)->next)
    phase = follow_op(f, op, phase);
  return phase;
}

void tide_verify_cluster_barrier(struct tide_verifier *verifier, tide_ir_op function) {
  uint32_t shape[3];
  tide_cluster_shape(verifier->ir, function, shape);
  struct follower f = {.ir = verifier->ir,
                       .warps = UINT32_MAX,
                       .inits = shape[0] * shape[1] * shape[2] > 1,
                       .windows = verifier->partial == TIDE_IR_PARTIAL_REFUSED};
  follow_region(&f, function, 0, (struct phase){.without = UINT32_MAX});
}
