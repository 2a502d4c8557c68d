/* Checks symbols: each is unique in its table, and each reference has a definition. */
#include "mods/verify.h"
#include "mods/intern.h"
#include "base/alloc.h"

static tide_ir_string symbol_of(const struct tide_ir *ir, tide_ir_op op) {
  tide_ir_attr attr = tide_ir_get(ir, op, TIDE_NAME_SYM_NAME);
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
  return attr && record->kind == TIDE_IR_ATTR_STRING ? record->string : 0;
}

static bool is_table(const struct tide_ir *ir, tide_ir_op op) {
  return tide_ir_op_info(ir, op)->traits & TIDE_IR_SYMBOL_TABLE;
}

/* Checks that the call has the operands and results of the function. */
static void check_call(struct tide_ir *ir, tide_ir_op call, tide_ir_op function) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, call);
  const struct tide_ir_type_record *type = tide_ir_type_of(
      ir, tide_ir_attr_of(ir, tide_ir_get(ir, function, TIDE_NAME_FUNCTION_TYPE))->type);
  bool good = record->operand_count == type->a && record->result_count == type->count - type->a;
  for (uint32_t i = 0; good && i < type->count; i++) {
    tide_ir_value value =
        i < type->a ? tide_ir_operand(ir, call, i) : record->results + (i - type->a);
    good = tide_ir_type_of_value(ir, value) == tide_ir_item(ir, type->items, i);
  }
  if (good) return;
  tide_ir_op_error(ir, call, "has other operands or results than '%s'",
                   tide_ir_get_text(ir, function, TIDE_NAME_SYM_NAME));
  tide_ir_note(ir, tide_ir_location_of(ir, function), "the function is here");
}

/* Checks a call of the llvm dialect. Its functions have at most one result. */
static void check_llvm_call(struct tide_ir *ir, tide_ir_op call, tide_ir_op function) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, call);
  const struct tide_ir_type_record *type = tide_ir_type_of(
      ir, tide_ir_attr_of(ir, tide_ir_get(ir, function, TIDE_NAME_FUNCTION_TYPE))->type);
  if (type->kind != TIDE_IR_LLVM_FUNCTION) return; /* reported at the function */
  uint32_t inputs = type->count - 1;
  if (type->a && !tide_ir_has(ir, call, TIDE_NAME_VAR_CALLEE_TYPE)) {
    tide_ir_op_error(ir, call, "missing var_callee_type attribute for vararg call");
    return;
  }
  tide_ir_type result = tide_ir_item(ir, type->items, inputs);
  bool gives = !tide_ir_type_is(ir, result, TIDE_IR_LLVM_VOID);
  bool good = record->result_count == gives &&
              (type->a ? record->operand_count >= inputs : record->operand_count == inputs);
  for (uint32_t i = 0; good && i < inputs; i++)
    good =
        tide_ir_type_of_value(ir, tide_ir_operand(ir, call, i)) == tide_ir_item(ir, type->items, i);
  if (good && gives) good = tide_ir_value_of(ir, record->results)->type == result;
  if (good) return;
  tide_ir_op_error(ir, call, "has other operands or results than '%s'",
                   tide_ir_get_text(ir, function, TIDE_NAME_SYM_NAME));
  tide_ir_note(ir, tide_ir_location_of(ir, function), "the function is here");
}

static void check_callee(struct tide_ir *ir, tide_ir_op call, tide_ir_op target, const char *name) {
  bool llvm = tide_ir_op_kind(ir, call) == TIDE_OP_LLVM_CALL;
  if (!target)
    tide_ir_op_error(ir, call,
                     llvm ? "'%s' does not reference a symbol in the current scope"
                          : "'%s' does not reference a valid function",
                     name);
  else if (tide_ir_op_kind(ir, target) != (llvm ? TIDE_OP_LLVM_FUNC : TIDE_OP_FUNC_FUNC))
    tide_ir_op_error(ir, call, "'%s' does not reference a valid %s", name,
                     llvm ? "LLVM function" : "function");
  else if (!tide_ir_get(ir, target, TIDE_NAME_FUNCTION_TYPE)) return; /* reported at the function */
  else if (llvm) check_llvm_call(ir, call, target);
  else check_call(ir, call, target);
}

static void check_address(struct tide_ir *ir, tide_ir_op op, tide_ir_op target, const char *name) {
  unsigned kind = target ? tide_ir_op_kind(ir, target) : TIDE_OP_NONE;
  if (kind != TIDE_OP_LLVM_GLOBAL && kind != TIDE_OP_LLVM_FUNC) {
    tide_ir_op_error(
        ir, op, "must reference a global defined by 'llvm.mlir.global' or 'llvm.func': '%s'", name);
  } else if (kind == TIDE_OP_LLVM_GLOBAL) {
    tide_ir_type type = tide_ir_value_of(ir, tide_ir_op_of(ir, op)->results)->type;
    int64_t space = tide_ir_get_integer(ir, target, TIDE_NAME_ADDR_SPACE, 0);
    if (tide_ir_type_is(ir, type, TIDE_IR_LLVM_POINTER) && tide_ir_type_of(ir, type)->a != space)
      tide_ir_op_error(ir, op,
                       "pointer address space must match address space of the referenced "
                       "global: %lld",
                       (long long)space);
  }
}

static void check_reference(struct tide_verifier *verifier, tide_ir_op op,
                            const uint32_t *symbols) {
  struct tide_ir *ir = verifier->ir;
  unsigned kind = tide_ir_op_kind(ir, op);
  bool call = kind == TIDE_OP_FUNC_CALL || kind == TIDE_OP_LLVM_CALL;
  if (!call && kind != TIDE_OP_LLVM_ADDRESSOF) return;
  tide_ir_string field = call ? TIDE_NAME_CALLEE : TIDE_NAME_GLOBAL_NAME;
  tide_ir_attr attr = tide_ir_get(ir, op, field);
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
  if (!attr || record->kind != TIDE_IR_ATTR_SYMBOL || record->count != 1) return;
  tide_ir_op target = symbols[tide_ir_item(ir, record->items, 0)];
  const char *name = tide_ir_get_text(ir, op, field);
  if (call) check_callee(ir, op, target, name);
  else check_address(ir, op, target, name);
}

static void check_table(struct tide_verifier *verifier, tide_ir_op table, uint32_t *symbols) {
  struct tide_ir *ir = verifier->ir;
  tide_ir_op first = tide_ir_block_of(ir, tide_ir_body(ir, table, 0))->first;
  for (tide_ir_op op = first; op; op = tide_ir_op_of(ir, op)->next) {
    tide_ir_string name = symbol_of(ir, op);
    if (!name) continue;
    if (symbols[name]) {
      tide_ir_error(ir, tide_ir_location_of(ir, op), "redefinition of symbol named '%s'",
                    tide_ir_string_text(ir, name, NULL));
      tide_ir_note(ir, tide_ir_location_of(ir, symbols[name]),
                   "see existing symbol definition here");
    } else {
      symbols[name] = op;
    }
  }
  for (tide_ir_op op = table; op;
       op = tide_ir_walk_next(ir, table, op, op == table || !is_table(ir, op)))
    check_reference(verifier, op, symbols);
  for (tide_ir_op op = first; op; op = tide_ir_op_of(ir, op)->next) symbols[symbol_of(ir, op)] = 0;
}

bool tide_verify_symbols(struct tide_verifier *verifier) {
  struct tide_ir *ir = verifier->ir;
  uint32_t count = ir->tables->strings.count;
  uint32_t *symbols = tide_alloc(ir->allocator, count, sizeof *symbols);
  if (!symbols) return tide_ir_give_up(ir, TIDE_NOMEM);
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, is_table(ir, op)))
    if (is_table(ir, op)) check_table(verifier, op, symbols);
  tide_free(ir->allocator, symbols, count, sizeof *symbols);
  return true;
}
