/* Checks attributes that belong to a dialect, or to arguments and results of functions. */
#include "mods/verify.h"
#include "base/alloc.h"

static bool is_named(const struct tide_ir *ir, tide_ir_string name, const char *text) {
  return strcmp(tide_ir_string_text(ir, name, NULL), text) == 0;
}

static bool has_dot(const struct tide_ir *ir, tide_ir_string name) {
  const char *text = tide_ir_string_text(ir, name, NULL);
  while (*text && *text != '.') text++;
  return *text != 0;
}

/* ---- arguments and results ---- */

enum { ON_POINTER = 1, ON_INTEGER = 2, OF_UNIT = 4, OF_TYPE = 8, OF_INTEGER = 16, NO_RESULT = 32 };

static const struct {
  const char *name;
  uint32_t rules;
} parameters[] = {{"llvm.align", ON_POINTER | OF_INTEGER},
                  {"llvm.alignstack", ON_POINTER | OF_INTEGER | NO_RESULT},
                  {"llvm.allocalign", NO_RESULT},
                  {"llvm.allocptr", NO_RESULT},
                  {"llvm.byref", ON_POINTER | OF_TYPE | NO_RESULT},
                  {"llvm.byval", ON_POINTER | OF_TYPE | NO_RESULT},
                  {"llvm.dereferenceable", ON_POINTER | OF_INTEGER},
                  {"llvm.dereferenceable_or_null", ON_POINTER | OF_INTEGER},
                  {"llvm.inalloca", ON_POINTER | OF_TYPE | NO_RESULT},
                  {"llvm.inreg", OF_UNIT},
                  {"llvm.nest", ON_POINTER | OF_UNIT | NO_RESULT},
                  {"llvm.noalias", ON_POINTER | OF_UNIT},
                  {"llvm.nocapture", ON_POINTER | OF_UNIT | NO_RESULT},
                  {"llvm.nofree", ON_POINTER | OF_UNIT | NO_RESULT},
                  {"llvm.nonnull", ON_POINTER | OF_UNIT},
                  {"llvm.noundef", OF_UNIT},
                  {"llvm.preallocated", ON_POINTER | OF_TYPE | NO_RESULT},
                  {"llvm.readnone", ON_POINTER | OF_UNIT | NO_RESULT},
                  {"llvm.readonly", ON_POINTER | OF_UNIT | NO_RESULT},
                  {"llvm.returned", OF_UNIT | NO_RESULT},
                  {"llvm.signext", ON_INTEGER | OF_UNIT},
                  {"llvm.sret", ON_POINTER | OF_TYPE | NO_RESULT},
                  {"llvm.writeonly", ON_POINTER | OF_UNIT | NO_RESULT},
                  {"llvm.zeroext", ON_INTEGER | OF_UNIT}};

/* Returns why an attribute cannot stand on a value of this type; NULL: it can. */
static const char *broken_rule(const struct tide_ir *ir, uint32_t rules, tide_ir_type type,
                               tide_ir_attr value, bool result) {
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, value);
  if (rules & NO_RESULT && result) return "is not a valid result attribute";
  if (rules & OF_UNIT && record->kind != TIDE_IR_ATTR_UNIT) return "should be a unit attribute";
  if (rules & OF_TYPE && record->kind != TIDE_IR_ATTR_TYPE) return "should be a type attribute";
  if (rules & OF_INTEGER && record->kind != TIDE_IR_ATTR_INTEGER)
    return "should be an integer attribute";
  if (!tide_is_llvm_type(ir, type)) return NULL; /* not converted yet */
  if (rules & ON_POINTER && !tide_ir_type_is(ir, type, TIDE_IR_LLVM_POINTER))
    return "attribute attached to non-pointer LLVM type";
  if (rules & ON_INTEGER && !tide_ir_type_is(ir, type, TIDE_IR_INTEGER))
    return "attribute attached to non-integer LLVM type";
  return NULL;
}

static bool check_parameter(struct tide_ir *ir, tide_ir_op op, tide_ir_type type,
                            tide_ir_string name, tide_ir_attr value, bool result) {
  if (!has_dot(ir, name))
    return tide_ir_op_error(ir, op, "%s may only have dialect attributes",
                            result ? "results" : "arguments");
  for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
    if (!is_named(ir, name, parameters[i].name)) continue;
    const char *why = broken_rule(ir, parameters[i].rules, type, value, result);
    return !why || tide_ir_op_error(ir, op, "\"%s\" %s", parameters[i].name, why);
  }
  return true;
}

/* Checks arg_attrs or res_attrs: a dictionary for each of the `count` types. */
static bool check_list(struct tide_ir *ir, tide_ir_op op, bool result, uint32_t types,
                       uint32_t count) {
  tide_ir_attr list = tide_ir_get(ir, op, result ? TIDE_NAME_RES_ATTRS : TIDE_NAME_ARG_ATTRS);
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, list);
  if (!list) return true;
  if (record->kind != TIDE_IR_ATTR_ARRAY || record->count != count)
    return tide_ir_op_error(ir, op, "expects '%s' to be an array of %u dictionaries",
                            result ? "res_attrs" : "arg_attrs", count);
  for (uint32_t i = 0; i < count; i++) {
    const struct tide_ir_attr_record *one = tide_ir_attr_of(ir, tide_ir_item(ir, record->items, i));
    if (one->kind != TIDE_IR_ATTR_DICTIONARY)
      return tide_ir_op_error(ir, op, "expects '%s' to be an array of %u dictionaries",
                              result ? "res_attrs" : "arg_attrs", count);
    for (uint32_t j = 0; j < one->count; j += 2)
      if (!check_parameter(ir, op, tide_ir_item(ir, types, i), tide_ir_item(ir, one->items, j),
                           tide_ir_item(ir, one->items, j + 1), result))
        return false;
  }
  return true;
}

bool tide_verify_parameters(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_attr attr = tide_ir_get(ir, op, TIDE_NAME_FUNCTION_TYPE);
  const struct tide_ir_type_record *type = tide_ir_type_of(ir, tide_ir_attr_of(ir, attr)->type);
  uint32_t inputs = type->a, results;
  if (type->kind == TIDE_IR_LLVM_FUNCTION) {
    tide_ir_type last = tide_ir_item(ir, type->items, type->count - 1);
    inputs = type->count - 1;
    results = !tide_ir_type_is(ir, last, TIDE_IR_LLVM_VOID);
  } else {
    results = type->count - inputs;
  }
  return check_list(ir, op, false, type->items, inputs) &&
         check_list(ir, op, true, type->items + inputs, results);
}

/* ---- attributes of dialects ---- */

static bool check_dimensions(struct tide_ir *ir, tide_ir_op op, tide_ir_string name,
                             const struct tide_ir_attr_record *value) {
  if (value->kind == TIDE_IR_ATTR_DENSE && tide_ir_is_integer(ir, value->type, 32) &&
      value->count >= 2 && value->count <= 6)
    return true;
  return tide_ir_op_error(ir, op, "has '%s', which must be array<i32: …> of 1 to 3 sizes",
                          tide_ir_string_text(ir, name, NULL));
}

static bool check_nvvm(struct tide_ir *ir, tide_ir_op op, tide_ir_string name, tide_ir_attr value) {
  static const char *const numbers[] = {"nvvm.minctasm", "nvvm.maxnreg", "nvvm.cluster_max_blocks"};
  static const char *const sizes[] = {"nvvm.maxntid", "nvvm.reqntid", "nvvm.cluster_dim"};
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, value);
  if (name == TIDE_NAME_NVVM_KERNEL)
    return tide_ir_op_kind(ir, op) == TIDE_OP_LLVM_FUNC ||
           tide_ir_op_error(ir, op, "has 'nvvm.kernel', which belongs to an 'llvm.func'");
  for (size_t i = 0; i < 3; i++) {
    if (is_named(ir, name, sizes[i])) /* verify_block.c checks those of a gpu.func */
      return tide_ir_op_kind(ir, op) == TIDE_OP_GPU_FUNC || check_dimensions(ir, op, name, record);
    if (is_named(ir, name, numbers[i]) && record->kind != TIDE_IR_ATTR_INTEGER)
      return tide_ir_op_error(ir, op, "has '%s', which must be an integer", numbers[i]);
  }
  return true;
}

static bool check_sizes(struct tide_ir *ir, tide_ir_op op, tide_ir_string name,
                        const struct tide_ir_attr_record *value) {
  return (value->kind == TIDE_IR_ATTR_DENSE && tide_ir_is_integer(ir, value->type, 32) &&
          value->count == 6) ||
         tide_ir_op_error(ir, op, "requires '%s' to be array<i32: x, y, z>",
                          tide_ir_string_text(ir, name, NULL));
}

static bool check_own(struct tide_ir *ir, tide_ir_op op, tide_ir_string name, tide_ir_attr value) {
  bool module = tide_ir_op_kind(ir, op) == TIDE_OP_BUILTIN_MODULE;
  if (module && name != TIDE_NAME_SYM_NAME && name != TIDE_NAME_SYM_VISIBILITY &&
      !has_dot(ir, name))
    return tide_ir_op_error(ir, op,
                            "can only contain attributes with dialect-prefixed names, found: '%s'",
                            tide_ir_string_text(ir, name, NULL));
  if (!module && is_named(ir, name, "gpu.container_module"))
    return tide_ir_op_error(ir, op,
                            "has 'gpu.container_module', which belongs to a 'builtin.module'");
  if (is_named(ir, name, "gpu.known_block_size") || is_named(ir, name, "gpu.known_grid_size"))
    return tide_ir_op_kind(ir, op) == TIDE_OP_GPU_FUNC ||
           check_sizes(ir, op, name, tide_ir_attr_of(ir, value));
  if (tide_ir_op_kind(ir, op) == TIDE_OP_GPU_FUNC &&
      (is_named(ir, name, "known_block_size") || is_named(ir, name, "known_grid_size")))
    return check_sizes(ir, op, name, tide_ir_attr_of(ir, value));
  return !tide_ir_begins_with(ir, name, "nvvm.") || check_nvvm(ir, op, name, value);
}

/* Checks a gpu.module's targets. */
static bool check_targets(struct tide_ir *ir, tide_ir_op op) {
  static const char *const kinds[] = {"#nvvm.target", "#rocdl.target", "#spirv.target_env"};
  tide_ir_attr targets = tide_ir_get(ir, op, TIDE_NAME_TARGETS);
  const struct tide_ir_attr_record *list = tide_ir_attr_of(ir, targets);
  if (!targets) return true;
  bool good = list->count > 0;
  for (uint32_t i = 0; good && i < list->count; i++) {
    const struct tide_ir_attr_record *one = tide_ir_attr_of(ir, tide_ir_item(ir, list->items, i));
    bool known = false;
    for (size_t j = 0; one->kind == TIDE_IR_ATTR_OPAQUE && j < 3; j++)
      known = known || tide_ir_begins_with(ir, one->string, kinds[j]);
    good = known;
  }
  return good || tide_ir_op_error(ir, op,
                                  "attribute 'targets' failed to satisfy constraint: array of GPU "
                                  "target attributes with at least 1 elements");
}

/* A symbol stands directly in a symbol table. What another dialect's operation is is not known. */
static bool check_symbol_place(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_op parent = tide_ir_parent(ir, op);
  if (!(tide_ir_op_info(ir, op)->traits & TIDE_IR_SYMBOL) || !parent ||
      tide_ir_op_kind(ir, parent) >= TIDE_IR_KINDS ||
      tide_ir_op_info(ir, parent)->traits & TIDE_IR_SYMBOL_TABLE)
    return true;
  return tide_ir_op_error(ir, op, "is a symbol, but '%s' around it has none",
                          tide_ir_op_name(ir, parent));
}

bool tide_verify_attrs(struct tide_ir *ir, tide_ir_op op) {
  if (!check_symbol_place(ir, op)) return false;
  tide_ir_attr all = tide_ir_op_of(ir, op)->attributes;
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, all);
  for (uint32_t i = 0; all && i < record->count; i += 2)
    if (!check_own(ir, op, tide_ir_item(ir, record->items, i),
                   tide_ir_item(ir, record->items, i + 1)))
      return false;
  return tide_ir_op_kind(ir, op) != TIDE_OP_GPU_MODULE || check_targets(ir, op);
}
