/* Checks that a lowered module has nothing left that MLIR's llvm and nvvm dialects lack. */
#include "mods/lower_build.h"
#include "mods/verify.h"

#define ADVICE "mlir-opt can lower it before"

static bool is_lowered(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_string name = tide_ir_intern_text(ir, tide_ir_op_name(ir, op));
  unsigned kind = tide_ir_op_kind(ir, op);
  if (kind == TIDE_OP_BUILTIN_MODULE) return true;
  if (kind < TIDE_IR_KINDS && tide_ir_ops[kind].traits & TIDE_IR_MODS_NAME) return false;
  return tide_ir_begins_with(ir, name, "llvm.") || tide_ir_begins_with(ir, name, "nvvm.");
}

static bool check_values(struct tide_ir *ir, tide_ir_op op, tide_ir_value first, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    tide_ir_type type = tide_ir_value_of(ir, first + i)->type;
    if (!tide_is_llvm_type(ir, type))
      return tide_ir_op_error(ir, op, "has a value of type '%s', which is not lowered; " ADVICE,
                              tide_ir_type_name(ir, type).text);
  }
  return true;
}

static bool check_one(struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  if (!is_lowered(ir, op)) return tide_ir_op_error(ir, op, "is not lowered; " ADVICE);
  if (!check_values(ir, op, record->results, record->result_count)) return false;
  for (uint32_t i = 0; i < record->region_count; i++)
    for (tide_ir_block block = tide_ir_body(ir, op, i); block;
         block = tide_ir_block_of(ir, block)->next) {
      const struct tide_ir_block_record *body = tide_ir_block_of(ir, block);
      if (!check_values(ir, op, body->arguments, body->argument_count)) return false;
    }
  return true;
}

/* ---- before: text that is kept unchecked is refused ---- */

/* True for an attribute that is checked here, or of a dialect that checks none. */
static bool is_admitted(const struct tide_ir *ir, tide_ir_string name) {
  static const char *const checked[] = {
      "cutlass.", "gpu.", "tidemark.", "llvm.data_layout", "llvm.target_triple", "nvvm."};
  size_t length = 0;
  const char *text = tide_ir_string_text(ir, name, NULL);
  for (size_t i = 0; i < sizeof checked / sizeof *checked; i++)
    if (tide_ir_begins_with(ir, name, checked[i])) return true;
  while (text[length] && text[length] != '.') length++;
  /* Debian's mlir-opt has the dialect of MLIR's own tests, too. */
  return !text[length] ||
         (!tide_is_dialect(text, length) && !tide_ir_begins_with(ir, name, "test."));
}

static bool admit_names(struct tide_ir *ir, tide_ir_op op, tide_ir_attr dictionary) {
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, dictionary);
  for (uint32_t i = 0; dictionary && i < record->count; i += 2)
    if (!is_admitted(ir, tide_ir_item(ir, record->items, i)))
      return tide_ir_op_error(ir, op, "has '%s', which is outside of what is lowered; " ADVICE,
                              tide_ir_string_text(ir, tide_ir_item(ir, record->items, i), NULL));
  return true;
}

/* Checks the attributes of arguments or results. nvvm.grid_constant, for one, has rules of its own.
 */
static bool admit_list(struct tide_ir *ir, tide_ir_op op, tide_ir_string name) {
  tide_ir_attr list = tide_ir_get(ir, op, name);
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, list);
  for (uint32_t i = 0; list && record->kind == TIDE_IR_ATTR_ARRAY && i < record->count; i++) {
    const struct tide_ir_attr_record *one = tide_ir_attr_of(ir, tide_ir_item(ir, record->items, i));
    for (uint32_t j = 0; one->kind == TIDE_IR_ATTR_DICTIONARY && j < one->count; j += 2) {
      tide_ir_string own = tide_ir_item(ir, one->items, j);
      if (tide_ir_begins_with(ir, own, "nvvm.") || tide_ir_begins_with(ir, own, "test."))
        return tide_ir_op_error(
            ir, op,
            "has an argument or a result with '%s', which is outside of what is lowered; " ADVICE,
            tide_ir_string_text(ir, own, NULL));
    }
  }
  return true;
}

bool tide_lower_admit(struct tide_ir *ir) {
  if (ir->unchecked)
    return tide_ir_error(ir, ir->unchecked,
                         "this is kept as it is written, and outside of what is lowered; " ADVICE);
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true))
    if (!admit_names(ir, op, tide_ir_op_of(ir, op)->attributes) ||
        !admit_list(ir, op, TIDE_NAME_ARG_ATTRS) || !admit_list(ir, op, TIDE_NAME_RES_ATTRS))
      return false;
  return true;
}

bool tide_lower_check(struct tide_ir *ir) {
  bool good = true;
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true))
    good = check_one(ir, op) && good;
  /* The rest are the rules that hold for any module. */
  return good && tide_ir_verify(ir, NULL) == TIDE_OK;
}
