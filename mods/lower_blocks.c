/* Replaces scf.if, scf.for and scf.while by blocks and branches. */
#include "mods/lower_build.h"

struct flow {
  struct tide_ir *ir;
  tide_ir_block last; /* new blocks are inserted after it */
};

static void insert_after(struct tide_ir *ir, tide_ir_block after, tide_ir_block block) {
  struct tide_ir_block_record *before = tide_ir_block_of(ir, after);
  struct tide_ir_block_record *record = tide_ir_block_of(ir, block);
  struct tide_ir_region_record *region = tide_ir_region_of(ir, before->region);
  record->region = before->region;
  record->prev = after;
  record->next = before->next;
  if (before->next) tide_ir_block_of(ir, before->next)->prev = block;
  else region->last = block;
  before->next = block;
}

static void append_block(struct flow *flow, tide_ir_block block) {
  if (!block) return;
  insert_after(flow->ir, flow->last, block);
  flow->last = block;
}

/* Removes the single block of region `index` and returns it; 0: the region is empty. */
static tide_ir_block take_block(struct tide_ir *ir, tide_ir_op op, uint32_t index) {
  struct tide_ir_region_record *region = tide_ir_region_of(ir, tide_ir_region_at(ir, op, index));
  tide_ir_block block = region->first;
  region->first = region->last = 0;
  return block;
}

/* Moves the operations behind `op` into a new block. With `results`, the block has arguments that
 * replace the results of `op`. */
static tide_ir_block split_after(struct tide_ir *ir, tide_ir_op op, bool results) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  uint32_t count = results ? record->result_count : 0;
  tide_ir_block rest = tide_ir_block_create(ir, NULL, 0);
  if (!rest) return 0;
  if (count) {
    tide_ir_type types[64];
    if (count > 64) return 0;
    for (uint32_t i = 0; i < count; i++)
      types[i] = tide_ir_type_of_value(ir, tide_ir_result(ir, op, i));
    rest = tide_ir_block_create(ir, types, count);
    if (!rest) return 0;
    for (uint32_t i = 0; i < count; i++)
      tide_ir_replace_all(ir, tide_ir_result(ir, op, i), tide_ir_argument(ir, rest, i));
  }
  tide_ir_move_tail(ir, record->next, rest);
  return rest;
}

/* ---- branches ---- */

struct target {
  tide_ir_block block;
  const tide_ir_value *values;
  uint32_t count;
};

static void branch_to(struct tide_ir *ir, tide_ir_block from, tide_ir_location location,
                      struct target to) {
  struct tide_ir_op_params params = {.kind = TIDE_OP_LLVM_BR,
                                     .location = location,
                                     .operands = to.values,
                                     .operand_count = to.count,
                                     .successors = &to.block,
                                     .successor_counts = &to.count,
                                     .successor_count = 1};
  tide_ir_insert(ir, from, 0, tide_ir_op_create(ir, &params));
}

#define VALUES_MAX 64

static void fork_to(struct tide_ir *ir, tide_ir_block from, tide_ir_location location,
                    tide_ir_value condition, struct target yes, struct target no) {
  tide_ir_value operands[1 + 2 * VALUES_MAX];
  uint32_t count = 0;
  operands[count++] = condition;
  for (uint32_t i = 0; i < yes.count; i++) operands[count++] = yes.values[i];
  for (uint32_t i = 0; i < no.count; i++) operands[count++] = no.values[i];
  struct tide_ir_named named = {
      TIDE_NAME_OPERAND_SEGMENTS,
      tide_ir_attr_dense(ir, tide_ir_integer(ir, 32), (int64_t[]){1, yes.count, no.count}, 3)};
  struct tide_ir_op_params params = {.kind = TIDE_OP_LLVM_COND_BR,
                                     .location = location,
                                     .operands = operands,
                                     .operand_count = count,
                                     .attributes = tide_ir_attr_dictionary(ir, &named, 1),
                                     .successors = (tide_ir_block[]){yes.block, no.block},
                                     .successor_counts = (uint32_t[]){yes.count, no.count},
                                     .successor_count = 2};
  tide_ir_insert(ir, from, 0, tide_ir_op_create(ir, &params));
}

/* Stores the operands from `first` on and returns their number. */
static uint32_t operands_of(const struct tide_ir *ir, tide_ir_op op, uint32_t first,
                            tide_ir_value *values) {
  uint32_t count = tide_ir_op_of(ir, op)->operand_count - first;
  for (uint32_t i = 0; i < count; i++) values[i] = tide_ir_operand(ir, op, first + i);
  return count;
}

/* Replaces the yield that ends `block` by a branch to `to`. The `lead` values precede the yield's
 * operands. */
static void yield_to(struct tide_ir *ir, tide_ir_block block, tide_ir_block to,
                     const tide_ir_value *lead, uint32_t lead_count) {
  tide_ir_value values[1 + VALUES_MAX];
  tide_ir_op yield = tide_ir_terminator(ir, block);
  tide_ir_location location = tide_ir_location_of(ir, yield);
  for (uint32_t i = 0; i < lead_count; i++) values[i] = lead[i];
  uint32_t count = lead_count + operands_of(ir, yield, 0, values + lead_count);
  tide_ir_erase(ir, yield);
  branch_to(ir, block, location, (struct target){to, values, count});
}

/* ---- if, for and while ---- */

static void lower_if(struct flow *flow, tide_ir_op op, tide_ir_block block) {
  struct tide_ir *ir = flow->ir;
  tide_ir_location location = tide_ir_location_of(ir, op);
  tide_ir_value condition = tide_ir_operand(ir, op, 0);
  tide_ir_block rest = split_after(ir, op, true);
  if (!rest) return;
  tide_ir_block yes = take_block(ir, op, 0);
  tide_ir_block no = tide_ir_op_of(ir, op)->region_count > 1 ? take_block(ir, op, 1) : 0;
  tide_ir_erase(ir, op);
  fork_to(ir, block, location, condition, (struct target){yes, NULL, 0},
          (struct target){no ? no : rest, NULL, 0});
  append_block(flow, yes);
  append_block(flow, no);
  append_block(flow, rest);
  yield_to(ir, yes, rest, NULL, 0);
  if (no) yield_to(ir, no, rest, NULL, 0);
}

static tide_ir_value build_binary(struct tide_ir *ir, tide_ir_block block,
                                  tide_ir_location location, enum tide_ir_kind kind,
                                  tide_ir_value a, tide_ir_value b) {
  struct tide_ir_builder builder = {.ir = ir, .block = block, .location = location};
  bool compares = kind == TIDE_OP_ARITH_CMPI;
  struct tide_ir_named less = {TIDE_NAME_PREDICATE, tide_ir_attr_i64(ir, TIDE_SLT)};
  tide_ir_type type = compares ? tide_ir_integer(ir, 1) : tide_ir_type_of_value(ir, a);
  tide_ir_op op = tide_ir_build(&builder, kind, (tide_ir_value[]){a, b}, 2, &type, 1,
                                compares ? tide_ir_attr_dictionary(ir, &less, 1) : 0, 0);
  return op ? tide_ir_result(ir, op, 0) : 0;
}

/* Returns a block with arguments of the same types as those of `like`, and replaces those by its
 * own. */
static tide_ir_block make_header(struct tide_ir *ir, tide_ir_block like) {
  struct tide_ir_block_record *record = tide_ir_block_of(ir, like);
  tide_ir_type types[1 + VALUES_MAX];
  for (uint32_t i = 0; i < record->argument_count; i++)
    types[i] = tide_ir_type_of_value(ir, record->arguments + i);
  tide_ir_block block = tide_ir_block_create(ir, types, record->argument_count);
  for (uint32_t i = 0; block && i < record->argument_count; i++)
    tide_ir_replace_all(ir, record->arguments + i, tide_ir_argument(ir, block, i));
  record->argument_count = 0;
  return block;
}

static void lower_for(struct flow *flow, tide_ir_op op, tide_ir_block block) {
  struct tide_ir *ir = flow->ir;
  tide_ir_location location = tide_ir_location_of(ir, op);
  tide_ir_value upper = tide_ir_operand(ir, op, 1), step = tide_ir_operand(ir, op, 2);
  tide_ir_value start[1 + VALUES_MAX] = {tide_ir_operand(ir, op, 0)};
  uint32_t count = 1 + operands_of(ir, op, 3, start + 1);
  tide_ir_block rest = split_after(ir, op, false), body = tide_ir_body(ir, op, 0);
  tide_ir_block head = rest ? make_header(ir, body) : 0;
  if (!head) return;
  take_block(ir, op, 0);
  for (uint32_t i = 1; i < count; i++)
    tide_ir_replace_all(ir, tide_ir_result(ir, op, i - 1), tide_ir_argument(ir, head, i));
  tide_ir_erase(ir, op);
  branch_to(ir, block, location, (struct target){head, start, count});
  append_block(flow, head);
  append_block(flow, body);
  append_block(flow, rest);
  tide_ir_value at = tide_ir_argument(ir, head, 0);
  fork_to(ir, head, location, build_binary(ir, head, location, TIDE_OP_ARITH_CMPI, at, upper),
          (struct target){body, NULL, 0}, (struct target){rest, NULL, 0});
  tide_ir_op yield = tide_ir_terminator(ir, body);
  tide_ir_remove(ir, yield);
  tide_ir_value next = build_binary(ir, body, location, TIDE_OP_ARITH_ADDI, at, step);
  tide_ir_insert(ir, body, 0, yield);
  yield_to(ir, body, head, &next, 1);
}

static void lower_while(struct flow *flow, tide_ir_op op, tide_ir_block block) {
  struct tide_ir *ir = flow->ir;
  tide_ir_location location = tide_ir_location_of(ir, op);
  tide_ir_value values[VALUES_MAX];
  uint32_t count = operands_of(ir, op, 0, values);
  tide_ir_block rest = split_after(ir, op, true);
  if (!rest) return;
  tide_ir_block before = take_block(ir, op, 0), after = take_block(ir, op, 1);
  tide_ir_erase(ir, op);
  branch_to(ir, block, location, (struct target){before, values, count});
  append_block(flow, before);
  append_block(flow, after);
  append_block(flow, rest);
  tide_ir_op condition = tide_ir_terminator(ir, before);
  tide_ir_value goes_on = tide_ir_operand(ir, condition, 0);
  count = operands_of(ir, condition, 1, values);
  tide_ir_erase(ir, condition);
  fork_to(ir, before, location, goes_on, (struct target){after, values, count},
          (struct target){rest, values, count});
  yield_to(ir, after, before, NULL, 0);
}

/* ---- walking ---- */

static bool fits_values(struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  if (record->operand_count < VALUES_MAX && record->result_count < VALUES_MAX) return true;
  return tide_ir_op_error(ir, op, "carries more than %d values, which is not lowered", VALUES_MAX);
}

static bool lower_block(struct tide_ir *ir, tide_ir_block block) {
  struct flow flow = {.ir = ir, .last = block};
  for (tide_ir_op op = tide_ir_block_of(ir, block)->first; op; op = tide_ir_op_of(ir, op)->next) {
    unsigned kind = tide_ir_op_kind(ir, op);
    if (kind != TIDE_OP_SCF_IF && kind != TIDE_OP_SCF_FOR && kind != TIDE_OP_SCF_WHILE) continue;
    if (!fits_values(ir, op)) return false;
    if (kind == TIDE_OP_SCF_IF) lower_if(&flow, op, block);
    else if (kind == TIDE_OP_SCF_FOR) lower_for(&flow, op, block);
    else lower_while(&flow, op, block);
    return ir->status == TIDE_OK; /* the remaining operations are in a block of their own now */
  }
  return true;
}

bool tide_lower_blocks(struct tide_ir *ir) {
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true)) {
    unsigned kind = tide_ir_op_kind(ir, op);
    if (kind != TIDE_OP_GPU_FUNC && kind != TIDE_OP_FUNC_FUNC && kind != TIDE_OP_LLVM_FUNC)
      continue;
    for (tide_ir_block block = tide_ir_body(ir, op, 0); block;
         block = tide_ir_block_of(ir, block)->next)
      if (!lower_block(ir, block)) return false;
  }
  return true;
}
