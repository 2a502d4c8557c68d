/* Traces the origins of pipeline states and work tiles. `roots` follows them through increments,
 * loops, conditions and branches to the operation that made them. A state keeps its pipeline and
 * its role on the way. */
#include "mods/verify.h"

#define ROUNDS_MAX 16

tide_ir_op tide_state_root(const struct tide_verifier *verifier, tide_ir_value value) {
  return verifier->roots[tide_ir_resolve(verifier->ir, value)];
}

static bool is_state(const struct tide_ir *ir, tide_ir_value value) {
  return tide_ir_type_is(ir, tide_ir_type_of_value(ir, value), TIDE_IR_PIPELINE_STATE);
}

static bool is_tracked(const struct tide_ir *ir, tide_ir_value value) {
  return is_state(ir, value) ||
         tide_ir_type_is(ir, tide_ir_type_of_value(ir, value), TIDE_IR_WORK_TILE);
}

/* True if two origins have the same pipeline, role and group. An unknown origin agrees with any. */
static bool origins_agree(const struct tide_ir *ir, tide_ir_op a, tide_ir_op b) {
  return !a || !b || a == b ||
         (tide_ir_op_kind(ir, a) == tide_ir_op_kind(ir, b) &&
          tide_ir_operand(ir, a, 0) == tide_ir_operand(ir, b, 0) &&
          tide_ir_get(ir, a, TIDE_NAME_ROLE) == tide_ir_get(ir, b, TIDE_NAME_ROLE) &&
          tide_ir_get(ir, a, TIDE_NAME_GROUP) == tide_ir_get(ir, b, TIDE_NAME_GROUP));
}

/* ---- tracing ---- */

static void hand_on(struct tide_verifier *verifier, tide_ir_op from, uint32_t first,
                    tide_ir_value to, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (verifier->roots[to + i]) continue;
    verifier->roots[to + i] =
        tide_state_root(verifier, tide_ir_operand(verifier->ir, from, first + i));
    verifier->moved = verifier->moved || verifier->roots[to + i];
  }
}

static void follow_select(struct tide_verifier *verifier, tide_ir_op op) {
  const struct tide_ir *ir = verifier->ir;
  tide_ir_op a = tide_state_root(verifier, tide_ir_operand(ir, op, 1));
  tide_ir_op b = tide_state_root(verifier, tide_ir_operand(ir, op, 2));
  if (origins_agree(ir, a, b)) hand_on(verifier, op, a ? 1 : 2, tide_ir_op_of(ir, op)->results, 1);
}

static void follow_branch(struct tide_verifier *verifier, tide_ir_op op) {
  const struct tide_ir *ir = verifier->ir;
  for (uint32_t i = 0; i < tide_ir_op_of(ir, op)->successor_count; i++) {
    uint32_t first, count;
    tide_ir_block to = tide_ir_successor(ir, op, i, &first, &count);
    if (count) hand_on(verifier, op, first, tide_ir_argument(ir, to, 0), count);
  }
}

void tide_state_follow(struct tide_verifier *verifier, tide_ir_op op) {
  const struct tide_ir *ir = verifier->ir;
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  tide_ir_op parent = tide_ir_parent(ir, op);
  const struct tide_ir_op_record *outer = tide_ir_op_of(ir, parent);
  switch (record->kind) {
    case TIDE_OP_STATE_CREATE:
    case TIDE_OP_SEQ_BAR_STATE:
    case TIDE_OP_GET_CURRENT_WORK: verifier->roots[record->results] = op; break;
    case TIDE_OP_STATE_INCREMENT:
    case TIDE_OP_ADVANCE: hand_on(verifier, op, 1, record->results, 1); break;
    case TIDE_OP_ARITH_SELECT:
    case TIDE_OP_LLVM_SELECT: follow_select(verifier, op); break;
    case TIDE_OP_CF_BR:
    case TIDE_OP_CF_COND_BR: follow_branch(verifier, op); break;
    case TIDE_OP_SCF_FOR:
      hand_on(verifier, op, 3, tide_ir_argument(ir, tide_ir_body(ir, op, 0), 1),
              record->result_count);
      hand_on(verifier, op, 3, record->results, record->result_count);
      break;
    case TIDE_OP_SCF_WHILE:
      hand_on(verifier, op, 0, tide_ir_argument(ir, tide_ir_body(ir, op, 0), 0),
              record->operand_count);
      break;
    case TIDE_OP_SCF_CONDITION:
      hand_on(verifier, op, 1, tide_ir_argument(ir, tide_ir_body(ir, parent, 1), 0),
              record->operand_count - 1u);
      hand_on(verifier, op, 1, outer->results, record->operand_count - 1u);
      break;
    case TIDE_OP_SCF_YIELD:
      if (outer->kind == TIDE_OP_SCF_IF)
        hand_on(verifier, op, 0, outer->results, outer->result_count);
      break;
    default: break;
  }
}

/* Repeats the walk until no round finds a root, since a block may stand before the blocks that
 * branch to it. Values without a root after ROUNDS_MAX rounds are not checked. */
void tide_verify_states(struct tide_verifier *verifier) {
  struct tide_ir *ir = verifier->ir;
  verifier->moved = verifier->several;
  for (uint32_t round = 0; verifier->moved && round < ROUNDS_MAX; round++) {
    verifier->moved = false;
    for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true))
      tide_state_follow(verifier, op);
  }
}

/* ---- joins ---- */

static bool tell_both(struct tide_ir *ir, tide_ir_op a, tide_ir_op b) {
  tide_ir_note(ir, tide_ir_location_of(ir, a), "that one comes from here");
  return tide_ir_note(ir, tide_ir_location_of(ir, b), "this one comes from here");
}

/* Checks that a loop-carried value has the same origin in every round, and that the arms of a
 * condition agree. */
static bool check_yield(struct tide_verifier *verifier, tide_ir_op yield) {
  struct tide_ir *ir = verifier->ir;
  tide_ir_op loop = tide_ir_parent(ir, yield);
  unsigned kind = tide_ir_op_kind(ir, loop);
  for (uint32_t i = 0; i < tide_ir_op_of(ir, yield)->operand_count; i++) {
    tide_ir_value value = tide_ir_operand(ir, yield, i), first;
    if (!is_tracked(ir, value)) continue;
    if (kind == TIDE_OP_SCF_FOR) first = tide_ir_argument(ir, tide_ir_body(ir, loop, 0), 1 + i);
    else if (kind == TIDE_OP_SCF_WHILE) first = tide_ir_argument(ir, tide_ir_body(ir, loop, 0), i);
    else first = tide_ir_op_of(ir, loop)->results + i;
    tide_ir_op a = tide_state_root(verifier, first), b = tide_state_root(verifier, value);
    if (!a || !b || a == b || (kind == TIDE_OP_SCF_IF && origins_agree(ir, a, b))) continue;
    tide_ir_op_error(ir, yield,
                     "hands on value #%u that comes from another place than what it "
                     "takes over from",
                     i);
    return tell_both(ir, a, b);
  }
  return true;
}

static bool check_select(struct tide_verifier *verifier, tide_ir_op op) {
  struct tide_ir *ir = verifier->ir;
  tide_ir_value value = tide_ir_operand(ir, op, 1);
  tide_ir_op a = tide_state_root(verifier, value);
  tide_ir_op b = tide_state_root(verifier, tide_ir_operand(ir, op, 2));
  if (!is_state(ir, value) || origins_agree(ir, a, b)) return true;
  tide_ir_op_error(ir, op, "chooses between states of different pipelines or roles");
  return tell_both(ir, a, b);
}

static bool check_branch(struct tide_verifier *verifier, tide_ir_op op) {
  struct tide_ir *ir = verifier->ir;
  for (uint32_t i = 0; i < tide_ir_op_of(ir, op)->successor_count; i++) {
    uint32_t first, count;
    tide_ir_block to = tide_ir_successor(ir, op, i, &first, &count);
    for (uint32_t j = 0; j < count; j++) {
      tide_ir_value value = tide_ir_operand(ir, op, first + j);
      tide_ir_op a = verifier->roots[tide_ir_argument(ir, to, j)];
      tide_ir_op b = tide_state_root(verifier, value);
      if (!is_state(ir, value) || origins_agree(ir, a, b)) continue;
      tide_ir_op_error(ir, op,
                       "gives successor #%u a state of another pipeline or role than other "
                       "branches give it",
                       i);
      return tell_both(ir, a, b);
    }
  }
  return true;
}

bool tide_verify_carried(struct tide_verifier *verifier, tide_ir_op op) {
  switch (tide_ir_op_kind(verifier->ir, op)) {
    case TIDE_OP_SCF_YIELD: return check_yield(verifier, op);
    case TIDE_OP_CF_BR:
    case TIDE_OP_CF_COND_BR: return check_branch(verifier, op);
    default: return check_select(verifier, op);
  }
}
