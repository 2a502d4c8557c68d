/* Checks the operations that pass on control and values: loops, branches, yields, returns. */
#include "mods/verify.h"

static tide_ir_type operand_type(const struct tide_ir *ir, tide_ir_op op, uint32_t index) {
  return tide_ir_type_of_value(ir, tide_ir_operand(ir, op, index));
}

static tide_ir_type result_type(const struct tide_ir *ir, tide_ir_op op, uint32_t index) {
  return tide_ir_value_of(ir, tide_ir_op_of(ir, op)->results + index)->type;
}

static tide_ir_type argument_type(const struct tide_ir *ir, tide_ir_block block, uint32_t index) {
  return tide_ir_value_of(ir, tide_ir_argument(ir, block, index))->type;
}

static bool check_for(struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  tide_ir_block body = tide_ir_body(ir, op, 0);
  uint32_t carried = record->operand_count - 3;
  if (record->result_count != carried)
    return tide_ir_op_error(ir, op, "mismatch in number of loop-carried values and defined values");
  if (tide_ir_block_of(ir, body)->argument_count != carried + 1)
    return tide_ir_op_error(ir, op, "mismatch in number of basic block args and defined values");
  if (argument_type(ir, body, 0) != operand_type(ir, op, 0))
    return tide_ir_op_error(ir, op,
                            "expected induction variable to be same type as bounds and step");
  for (uint32_t i = 0; i < carried; i++) {
    tide_ir_type type = result_type(ir, op, i);
    if (operand_type(ir, op, 3 + i) != type)
      return tide_ir_op_error(ir, op, "types mismatch between %uth iter operand and defined value",
                              i);
    if (argument_type(ir, body, 1 + i) != type)
      return tide_ir_op_error(ir, op,
                              "types mismatch between %uth iter region arg and defined value", i);
  }
  return true;
}

static bool check_if(struct tide_ir *ir, tide_ir_op op) {
  if (tide_ir_op_of(ir, op)->result_count && !tide_ir_body(ir, op, 1))
    return tide_ir_op_error(ir, op, "must have an else block if defining values");
  for (uint32_t i = 0; i < 2; i++)
    if (tide_ir_block_of(ir, tide_ir_body(ir, op, i))->argument_count)
      return tide_ir_op_error(ir, op, "requires that child entry blocks have no arguments");
  return true;
}

static bool check_while(struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  tide_ir_block before = tide_ir_body(ir, op, 0), after = tide_ir_body(ir, op, 1);
  if (tide_ir_block_of(ir, before)->argument_count != record->operand_count)
    return tide_ir_op_error(ir, op, "expects as many arguments of 'before' as operands");
  for (uint32_t i = 0; i < record->operand_count; i++)
    if (argument_type(ir, before, i) != operand_type(ir, op, i))
      return tide_ir_op_error(ir, op, "type mismatch between operand #%u and argument of 'before'",
                              i);
  if (tide_ir_block_of(ir, after)->argument_count != record->result_count)
    return tide_ir_op_error(ir, op, "expects as many arguments of 'after' as results");
  for (uint32_t i = 0; i < record->result_count; i++)
    if (argument_type(ir, after, i) != result_type(ir, op, i))
      return tide_ir_op_error(ir, op, "type mismatch between result #%u and argument of 'after'",
                              i);
  tide_ir_op last = tide_ir_terminator(ir, before);
  if (tide_ir_op_kind(ir, last) != TIDE_OP_SCF_CONDITION) {
    tide_ir_op_error(ir, op, "expects the 'before' region to terminate with 'scf.condition'");
    return tide_ir_note(ir, tide_ir_location_of(ir, last), "terminator here");
  }
  last = tide_ir_terminator(ir, after);
  if (tide_ir_op_kind(ir, last) != TIDE_OP_SCF_YIELD) {
    tide_ir_op_error(ir, op, "expects the 'after' region to terminate with 'scf.yield'");
    return tide_ir_note(ir, tide_ir_location_of(ir, last), "terminator here");
  }
  return true;
}

/* Checks that a loop's yield hands on what the next turn takes. The error is at the loop, as in
 * MLIR. */
static bool check_turn(struct tide_ir *ir, tide_ir_op loop, tide_ir_op yield) {
  uint32_t wanted = tide_ir_op_of(ir, loop)->result_count;
  uint32_t count = tide_ir_op_of(ir, yield)->operand_count;
  if (count != wanted) {
    tide_ir_op_error(ir, loop, "different number of region iter_args and yielded values: %u != %u",
                     wanted, count);
    return tide_ir_note(ir, tide_ir_location_of(ir, yield), "yielded here");
  }
  for (uint32_t i = 0; i < count; i++) {
    if (operand_type(ir, yield, i) == result_type(ir, loop, i)) continue;
    tide_ir_op_error(ir, loop,
                     "%u-th region iter_arg and %u-th yielded value have different type: "
                     "'%s' != '%s'",
                     i, i, tide_ir_type_name(ir, result_type(ir, loop, i)).text,
                     tide_ir_type_name(ir, operand_type(ir, yield, i)).text);
    return tide_ir_note(ir, tide_ir_location_of(ir, yield), "yielded here");
  }
  return true;
}

/* Checks that the operands from `first` on have the types of the parent's results or operands. */
static bool check_handed(struct tide_ir *ir, tide_ir_op op, uint32_t first, tide_ir_op parent,
                         bool results) {
  uint32_t count = tide_ir_op_of(ir, op)->operand_count - first;
  uint32_t wanted =
      results ? tide_ir_op_of(ir, parent)->result_count : tide_ir_op_of(ir, parent)->operand_count;
  if (count != wanted)
    return tide_ir_op_error(ir, op, "hands on %u value%s, but '%s' expects %u", count,
                            count == 1 ? "" : "s", tide_ir_op_name(ir, parent), wanted);
  for (uint32_t i = 0; i < count; i++) {
    tide_ir_type want = results ? result_type(ir, parent, i) : operand_type(ir, parent, i);
    if (operand_type(ir, op, first + i) != want)
      return tide_ir_op_error(ir, op, "hands on value #%u of type '%s', but '%s' expects '%s'", i,
                              tide_ir_type_name(ir, operand_type(ir, op, first + i)).text,
                              tide_ir_op_name(ir, parent), tide_ir_type_name(ir, want).text);
  }
  return true;
}

static bool check_yield(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_op parent = tide_ir_parent(ir, op);
  unsigned kind = tide_ir_op_kind(ir, parent);
  bool in_after = tide_ir_op_of(ir, op)->block == tide_ir_body(ir, parent, 1);
  if (kind == TIDE_OP_SCF_FOR) return check_turn(ir, parent, op);
  if (kind == TIDE_OP_SCF_IF) return check_handed(ir, op, 0, parent, true);
  if (kind == TIDE_OP_SCF_WHILE && in_after) return check_handed(ir, op, 0, parent, false);
  if (kind == TIDE_OP_SCF_WHILE) return true; /* reported by check_while() */
  return tide_ir_op_error(ir, op, "expects parent op to be one of 'scf.for, scf.if, scf.while'");
}

static bool check_condition(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_op parent = tide_ir_parent(ir, op);
  if (tide_ir_op_kind(ir, parent) != TIDE_OP_SCF_WHILE)
    return tide_ir_op_error(ir, op, "expects parent op 'scf.while'");
  return check_handed(ir, op, 1, parent, true);
}

static bool check_return(struct tide_ir *ir, tide_ir_op op, unsigned parent_kind) {
  tide_ir_op parent = tide_ir_parent(ir, op);
  if (tide_ir_op_kind(ir, parent) != parent_kind)
    return tide_ir_op_error(ir, op, "expects parent op '%s'", tide_ir_ops[parent_kind].name);
  const struct tide_ir_type_record *type = tide_ir_type_of(
      ir, tide_ir_attr_of(ir, tide_ir_get(ir, parent, TIDE_NAME_FUNCTION_TYPE))->type);
  uint32_t count = tide_ir_op_of(ir, op)->operand_count, results = type->count - type->a;
  if (count != results)
    return tide_ir_op_error(ir, op, "has %u operands, but enclosing function (@%s) returns %u",
                            count, tide_ir_get_text(ir, parent, TIDE_NAME_SYM_NAME), results);
  for (uint32_t i = 0; i < count; i++) {
    tide_ir_type want = tide_ir_item(ir, type->items, type->a + i);
    if (operand_type(ir, op, i) != want)
      return tide_ir_op_error(
          ir, op, "type of return operand %u ('%s') doesn't match function result type ('%s')", i,
          tide_ir_type_name(ir, operand_type(ir, op, i)).text, tide_ir_type_name(ir, want).text);
  }
  return true;
}

static bool check_successors(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_region here = tide_ir_block_of(ir, tide_ir_op_of(ir, op)->block)->region;
  for (uint32_t i = 0; i < tide_ir_op_of(ir, op)->successor_count; i++) {
    uint32_t first = 0, count = 0;
    tide_ir_block block = tide_ir_successor(ir, op, i, &first, &count);
    if (tide_ir_block_of(ir, block)->region != here)
      return tide_ir_op_error(ir, op, "branching to block of a different region");
    if (tide_ir_region_of(ir, here)->first == block)
      return tide_ir_op_error(ir, op, "entry block of region may not have predecessors");
    if (tide_ir_block_of(ir, block)->argument_count != count)
      return tide_ir_op_error(ir, op,
                              "branch has %u operands for successor #%u, but target block has %u",
                              count, i, tide_ir_block_of(ir, block)->argument_count);
    for (uint32_t j = 0; j < count; j++)
      if (operand_type(ir, op, first + j) != argument_type(ir, block, j))
        return tide_ir_op_error(ir, op, "type mismatch for bb argument #%u of successor #%u", j, i);
  }
  return true;
}

void tide_verify_flow(struct tide_verifier *verifier, tide_ir_op op) {
  struct tide_ir *ir = verifier->ir;
  if (tide_ir_op_of(ir, op)->successor_count) check_successors(ir, op);
  switch (tide_ir_op_kind(ir, op)) {
    case TIDE_OP_SCF_FOR: check_for(ir, op); break;
    case TIDE_OP_SCF_IF: check_if(ir, op); break;
    case TIDE_OP_SCF_WHILE: check_while(ir, op); break;
    case TIDE_OP_SCF_YIELD: check_yield(ir, op); break;
    case TIDE_OP_SCF_CONDITION: check_condition(ir, op); break;
    case TIDE_OP_GPU_RETURN: check_return(ir, op, TIDE_OP_GPU_FUNC); break;
    case TIDE_OP_FUNC_RETURN: check_return(ir, op, TIDE_OP_FUNC_FUNC); break;
    case TIDE_OP_ASYNC_YIELD:
      if (tide_ir_op_kind(ir, tide_ir_parent(ir, op)) != TIDE_OP_ASYNC_EXEC)
        tide_ir_op_error(ir, op, "expects parent op 'cutlass.async.exec'");
      break;
    default: break;
  }
}
