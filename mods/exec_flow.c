/* Translation: control flow. Regions and calls become jumps. */
#include "mods/exec_translate.h"
#include "base/alloc.h"

typedef struct tide_exec_instruction made;

static uint32_t emit_jump(struct tide_exec_translator *t, tide_ir_op op, uint32_t target) {
  return tide_exec_emit(t, op, (made){.code = TIDE_EXEC_JUMP, .imm = (int32_t)target});
}

/* Returns the operation that ends a region, if the region has one block and the operation is of
 * that kind; else 0. */
static tide_ir_op ends_with(struct tide_exec_translator *t, tide_ir_op op, uint32_t region,
                            enum tide_ir_kind kind) {
  tide_ir_block block = tide_ir_body(t->ir, op, region);
  tide_ir_op last = block ? tide_ir_terminator(t->ir, block) : 0;
  if (last && tide_ir_op_kind(t->ir, last) == kind && !tide_ir_block_of(t->ir, block)->next)
    return last;
  tide_exec_refuse(t, op, "has a region that doesn't end as it should");
  return 0;
}

/* Copies the operands of `from`, from `first` on, to the `count` values from `to` on. The numbers
 * must agree. */
static void pass_values(struct tide_exec_translator *t, tide_ir_op from, uint32_t first,
                        uint32_t count, tide_ir_value to) {
  if (t->status != TIDE_OK) return;
  if (tide_ir_op_of(t->ir, from)->operand_count - first != count)
    tide_exec_refuse(t, from, "passes another number of values than are taken");
  else tide_exec_copy(t, from, first, count, to);
}

static uint32_t arguments_of(struct tide_exec_translator *t, tide_ir_op op, uint32_t region,
                             tide_ir_value *out_first) {
  tide_ir_block block = tide_ir_body(t->ir, op, region);
  const struct tide_ir_block_record *record = tide_ir_block_of(t->ir, block);
  *out_first = record->arguments;
  return block ? record->argument_count : 0;
}

static void translate_body(struct tide_exec_translator *t, tide_ir_op op, uint32_t region) {
  tide_exec_region(t, tide_ir_region_at(t->ir, op, region));
}

static void flow_if(struct tide_exec_translator *t, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(t->ir, op);
  bool has_else = record->region_count > 1 && tide_ir_body(t->ir, op, 1);
  if (!ends_with(t, op, 0, TIDE_OP_SCF_YIELD)) return;
  if (has_else && !ends_with(t, op, 1, TIDE_OP_SCF_YIELD)) return;
  if (!has_else && record->result_count) {
    tide_exec_refuse(t, op, "has results but no else");
    return;
  }
  tide_exec_claim_condition(t, op, op);
  uint32_t over =
      tide_exec_emit(t, op, (made){.code = TIDE_EXEC_JUMP_ZERO, .a = tide_exec_use(t, op, 0)});
  translate_body(t, op, 0);
  if (has_else) {
    uint32_t end = emit_jump(t, op, 0);
    tide_exec_patch(t, over, tide_exec_here(t));
    translate_body(t, op, 1);
    over = end;
  }
  tide_exec_patch(t, over, tide_exec_here(t));
}

/* True if the loop is a main loop: the outermost in an async region, advancing from tile to
 * tile. */
static bool is_main_loop(struct tide_exec_translator *t, tide_ir_op op) {
  if (!t->warp_high || t->loops || !t->program->contract) return false;
  for (tide_ir_op at = op; at; at = tide_ir_walk_next(t->ir, op, at, true))
    if (tide_ir_op_kind(t->ir, at) == TIDE_OP_ADVANCE ||
        tide_ir_op_kind(t->ir, at) == TIDE_OP_MODS_THROTTLE)
      return true;
  return false;
}

static void begin_turn(struct tide_exec_translator *t, tide_ir_op op, bool main_loop) {
  if (!main_loop) return;
  t->main_loop = true;
  tide_exec_emit(t, op, (made){.code = TIDE_EXEC_LOOP_TURN});
}

/* Gives the region's arguments the slots of the results: values carried from one iteration to the
 * next stay in place. */
static bool carry_values(struct tide_exec_translator *t, tide_ir_op op, tide_ir_value arguments) {
  const struct tide_ir_op_record *record = tide_ir_op_of(t->ir, op);
  for (uint32_t i = 0; i < record->result_count; i++) {
    if (tide_ir_type_of_value(t->ir, arguments + i) !=
        tide_ir_type_of_value(t->ir, record->results + i)) {
      tide_exec_refuse(t, op, "has a region that takes values of other types");
      return false;
    }
    tide_exec_alias(t, arguments + i, record->results + i);
  }
  return true;
}

static void flow_for(struct tide_exec_translator *t, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(t->ir, op);
  tide_ir_value arguments;
  uint32_t count = arguments_of(t, op, 0, &arguments), carried = record->result_count;
  bool main_loop = is_main_loop(t, op);
  if (!ends_with(t, op, 0, TIDE_OP_SCF_YIELD)) return;
  if (record->operand_count != carried + 3 || count != carried + 1) {
    tide_exec_refuse(t, op, "has a region that doesn't fit");
    return;
  }
  if (!carry_values(t, op, arguments + 1)) return;
  pass_values(t, op, 3, carried, record->results);
  int32_t kept = t->next_slot;
  int16_t index = tide_exec_define(t, op, arguments);
  made loop = {.code = TIDE_EXEC_FOR,
               .d = index,
               .a = tide_exec_use(t, op, 0),
               .b = tide_exec_use(t, op, 1),
               .c = tide_exec_use(t, op, 2)};
  tide_exec_claim_bounds(t, op);
  uint32_t start = tide_exec_emit(t, op, loop);
  begin_turn(t, op, main_loop);
  t->loops++;
  translate_body(t, op, 0);
  t->loops--;
  loop.code = TIDE_EXEC_FOR_NEXT;
  loop.imm = (int32_t)start + 1;
  tide_exec_emit(t, op, loop);
  tide_exec_patch(t, start, tide_exec_here(t));
  t->next_slot = kept;
}

static void flow_while(struct tide_exec_translator *t, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(t->ir, op);
  tide_ir_value before, after;
  bool main_loop = is_main_loop(t, op);
  if (record->region_count != 2 || !ends_with(t, op, 0, TIDE_OP_SCF_CONDITION) ||
      !ends_with(t, op, 1, TIDE_OP_SCF_YIELD)) {
    tide_exec_refuse(t, op, "has regions that don't fit");
    return;
  }
  if (arguments_of(t, op, 0, &before) != record->operand_count ||
      arguments_of(t, op, 1, &after) != record->result_count) {
    tide_exec_refuse(t, op, "has regions that don't fit");
    return;
  }
  if (!carry_values(t, op, after)) return;
  int32_t kept = t->next_slot;
  for (uint32_t i = 0; i < record->operand_count; i++) tide_exec_define(t, op, before + i);
  pass_values(t, op, 0, record->operand_count, before);
  uint32_t start = tide_exec_here(t);
  t->loops++;
  translate_body(t, op, 0); /* ends with scf.condition: the results, and a jump out */
  uint32_t out = tide_exec_here(t) - 1;
  begin_turn(t, op, main_loop);
  translate_body(t, op, 1);
  t->loops--;
  emit_jump(t, op, start);
  tide_exec_patch(t, out, tide_exec_here(t));
  t->next_slot = kept;
}

/* Copies the yielded values to the next iteration's arguments, or to the results. */
static void flow_yield(struct tide_exec_translator *t, tide_ir_op op) {
  tide_ir_op parent = tide_ir_parent(t->ir, op);
  const struct tide_ir_op_record *record = tide_ir_op_of(t->ir, parent);
  tide_ir_value before;
  if (tide_ir_op_kind(t->ir, parent) == TIDE_OP_SCF_WHILE) {
    uint32_t count = arguments_of(t, parent, 0, &before);
    pass_values(t, op, 0, count, before);
  } else if (tide_ir_op_kind(t->ir, parent) == TIDE_OP_SCF_IF ||
             tide_ir_op_kind(t->ir, parent) == TIDE_OP_SCF_FOR) {
    pass_values(t, op, 0, record->result_count, record->results);
  } else {
    tide_exec_refuse(t, op, "stands outside of scf");
  }
}

static void flow_condition(struct tide_exec_translator *t, tide_ir_op op) {
  tide_ir_op parent = tide_ir_parent(t->ir, op);
  const struct tide_ir_op_record *record = tide_ir_op_of(t->ir, parent);
  if (tide_ir_op_kind(t->ir, parent) != TIDE_OP_SCF_WHILE) {
    tide_exec_refuse(t, op, "stands outside of scf.while");
    return;
  }
  pass_values(t, op, 1, record->result_count, record->results);
  tide_exec_claim_condition(t, parent, op);
  tide_exec_emit(t, op, (made){.code = TIDE_EXEC_JUMP_ZERO, .a = tide_exec_use(t, op, 0)});
}

/* ---- branches ---- */

static void remember_jump(struct tide_exec_translator *t, uint32_t instruction,
                          tide_ir_block block) {
  if (t->status != TIDE_OK) return;
  if (t->jump_count == t->jump_capacity) {
    uint32_t grown = t->jump_capacity ? t->jump_capacity * 2 : 64;
    struct tide_exec_jump *more = tide_alloc_unset(t->program->allocator, grown, sizeof *more);
    if (!more) {
      t->status = TIDE_NOMEM;
      return;
    }
    if (t->jump_count) memcpy(more, t->jumps, t->jump_count * sizeof *more);
    tide_free(t->program->allocator, t->jumps, t->jump_capacity, sizeof *more);
    t->jumps = more;
    t->jump_capacity = grown;
  }
  t->jumps[t->jump_count++] = (struct tide_exec_jump){instruction, block};
}

static void branch_to(struct tide_exec_translator *t, tide_ir_op op, uint32_t successor) {
  uint32_t first, count;
  tide_ir_block block = tide_ir_successor(t->ir, op, successor, &first, &count);
  if (!block || tide_ir_block_of(t->ir, block)->argument_count != count) {
    tide_exec_refuse(t, op, "branches with other values than the block takes");
    return;
  }
  tide_exec_copy(t, op, first, count, tide_ir_block_of(t->ir, block)->arguments);
  remember_jump(t, emit_jump(t, op, 0), block);
}

static void flow_branch(struct tide_exec_translator *t, tide_ir_op op) {
  uint32_t count = tide_ir_op_of(t->ir, op)->successor_count;
  if (count == 0 || count > 2) {
    tide_exec_refuse(t, op, "has no place to branch to");
    return;
  }
  if (count == 2) {
    tide_exec_claim_condition(t, op, op);
    uint32_t over =
        tide_exec_emit(t, op, (made){.code = TIDE_EXEC_JUMP_ZERO, .a = tide_exec_use(t, op, 0)});
    branch_to(t, op, 0);
    tide_exec_patch(t, over, tide_exec_here(t));
  }
  branch_to(t, op, count - 1);
}

/* ---- calls ---- */

static tide_ir_op find_function(struct tide_exec_translator *t, tide_ir_op op) {
  const char *name = tide_ir_get_text(t->ir, op, TIDE_NAME_CALLEE);
  tide_ir_string string = name ? tide_ir_intern_text(t->ir, name) : 0;
  tide_ir_op found = 0;
  for (tide_ir_op table = tide_ir_parent(t->ir, op); table && !found && string;
       table = tide_ir_parent(t->ir, table)) {
    unsigned kind = tide_ir_op_kind(t->ir, table);
    if (kind == TIDE_OP_GPU_MODULE || kind == TIDE_OP_BUILTIN_MODULE)
      found = tide_ir_symbol(t->ir, table, string);
  }
  return found;
}

static void patch_returns(struct tide_exec_translator *t, uint32_t first_jump) {
  for (uint32_t i = first_jump; i < t->jump_count; i++)
    tide_exec_patch(t, t->jumps[i].instruction, tide_exec_here(t));
  t->jump_count = first_jump;
}

static void flow_call(struct tide_exec_translator *t, tide_ir_op op) {
  tide_ir_op function = find_function(t, op);
  struct tide_exec_call call = {.outer = t->call, .op = op, .depth = t->call->depth + 1};
  tide_ir_block entry = function && tide_ir_op_kind(t->ir, function) == TIDE_OP_FUNC_FUNC
                            ? tide_ir_body(t->ir, function, 0)
                            : 0;
  if (!entry || call.depth > TIDE_EXEC_INLINE_MAX) {
    tide_exec_refuse(t, op,
                     entry ? "is a call too deep: recursion isn't executed"
                           : "calls a function without a body");
    return;
  }
  const struct tide_ir_block_record *record = tide_ir_block_of(t->ir, entry);
  int32_t kept = t->next_slot;
  uint32_t first_jump = t->jump_count;
  for (uint32_t i = 0; i < record->argument_count; i++)
    tide_exec_define(t, op, record->arguments + i);
  pass_values(t, op, 0, record->argument_count, record->arguments);
  t->call = &call;
  tide_exec_region(t, tide_ir_region_at(t->ir, function, 0));
  t->call = call.outer;
  if (t->status == TIDE_OK) patch_returns(t, first_jump);
  t->next_slot = kept;
}

static void flow_return(struct tide_exec_translator *t, tide_ir_op op) {
  tide_ir_op call = t->call->op;
  if (!call) {
    tide_exec_emit(t, op, (made){.code = TIDE_EXEC_EXIT});
    return;
  }
  pass_values(t, op, 0, tide_ir_op_of(t->ir, call)->result_count,
              tide_ir_op_of(t->ir, call)->results);
  remember_jump(t, emit_jump(t, op, 0), 0);
}

bool tide_exec_flow(struct tide_exec_translator *t, tide_ir_op op) {
  switch (tide_ir_op_kind(t->ir, op)) {
    case TIDE_OP_SCF_IF: flow_if(t, op); return true;
    case TIDE_OP_SCF_FOR: flow_for(t, op); return true;
    case TIDE_OP_SCF_WHILE: flow_while(t, op); return true;
    case TIDE_OP_SCF_YIELD: flow_yield(t, op); return true;
    case TIDE_OP_SCF_CONDITION: flow_condition(t, op); return true;
    case TIDE_OP_CF_BR:
    case TIDE_OP_CF_COND_BR:
    case TIDE_OP_LLVM_BR:
    case TIDE_OP_LLVM_COND_BR: flow_branch(t, op); return true;
    case TIDE_OP_FUNC_CALL: flow_call(t, op); return true;
    case TIDE_OP_GPU_RETURN:
    case TIDE_OP_FUNC_RETURN:
    case TIDE_OP_LLVM_RETURN: flow_return(t, op); return true;
    case TIDE_OP_LLVM_UNREACHABLE:
      tide_exec_emit(t, op, (made){.code = TIDE_EXEC_TRAP});
      return true;
    default: return false;
  }
}
