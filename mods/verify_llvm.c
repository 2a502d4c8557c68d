/* Checks the operations of the llvm dialect that read or write parts, memory and symbols. */
#include "mods/verify.h"
#include "mods/words.h"
#include "base/alloc.h"

static tide_ir_type operand_type(const struct tide_ir *ir, tide_ir_op op, uint32_t index) {
  return tide_ir_type_of_value(ir, tide_ir_operand(ir, op, index));
}

static tide_ir_type result_type(const struct tide_ir *ir, tide_ir_op op) {
  return tide_ir_value_of(ir, tide_ir_op_of(ir, op)->results)->type;
}

/* ---- types ---- */

bool tide_ir_begins_with(const struct tide_ir *ir, tide_ir_string string, const char *prefix) {
  size_t length, size = strlen(prefix);
  const char *text = tide_ir_string_text(ir, string, &length);
  return length >= size && memcmp(text, prefix, size) == 0;
}

bool tide_is_llvm_type(const struct tide_ir *ir, tide_ir_type type) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  if (!type) return false;
  switch (record->kind) {
    case TIDE_IR_INTEGER: return record->b == TIDE_IR_SIGNLESS;
    case TIDE_IR_FLOAT: return record->a != TIDE_IR_TF32;
    case TIDE_IR_VECTOR: return tide_is_llvm_type(ir, record->a);
    case TIDE_IR_LLVM_POINTER:
    case TIDE_IR_LLVM_ARRAY:
    case TIDE_IR_LLVM_STRUCT:
    case TIDE_IR_LLVM_VOID:
    case TIDE_IR_LLVM_FUNCTION: return true;
    case TIDE_IR_OPAQUE:
      return tide_ir_begins_with(ir, record->a, "!llvm.") ||
             tide_ir_begins_with(ir, record->a, "vector<[") ||
             tide_ir_begins_with(ir, record->a, "f80") ||
             tide_ir_begins_with(ir, record->a, "f128");
    default: return false;
  }
}

/* Returns element `index` of an aggregate; 0: *out_why says why not, NULL if that is not known. */
static tide_ir_type element_of(const struct tide_ir *ir, tide_ir_type type, int64_t index,
                               const char **out_why) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  *out_why = NULL;
  if (record->kind == TIDE_IR_OPAQUE) return 0;
  *out_why = "is out of bounds";
  if (record->kind == TIDE_IR_LLVM_STRUCT)
    return index < 0 || index >= record->count ? 0
                                               : tide_ir_item(ir, record->items, (uint32_t)index);
  if (record->kind == TIDE_IR_LLVM_ARRAY) return index < 0 || index >= record->b ? 0 : record->a;
  *out_why = "indexes a type that is no aggregate";
  return 0;
}

static bool check_element(struct tide_ir *ir, tide_ir_op op) {
  bool inserts = tide_ir_op_kind(ir, op) == TIDE_OP_LLVM_INSERTVALUE;
  tide_ir_attr position = tide_ir_get(ir, op, TIDE_NAME_POSITION);
  tide_ir_type whole = operand_type(ir, op, 0), type = whole;
  tide_ir_type value = inserts ? operand_type(ir, op, 1) : result_type(ir, op);
  for (uint32_t i = 0; i < tide_ir_attr_of(ir, position)->count / 2; i++) {
    const char *why;
    int64_t index = tide_ir_attr_element(ir, position, i);
    type = element_of(ir, type, index, &why);
    if (!type) return !why || tide_ir_op_error(ir, op, "position %lld %s", (long long)index, why);
  }
  if (type == value) return true;
  if (inserts)
    return tide_ir_op_error(ir, op, "cannot insert '%s' where '%s' has '%s'",
                            tide_ir_type_name(ir, value).text, tide_ir_type_name(ir, whole).text,
                            tide_ir_type_name(ir, type).text);
  return tide_ir_op_error(ir, op, "extracting from '%s' gives '%s', not '%s'",
                          tide_ir_type_name(ir, whole).text, tide_ir_type_name(ir, type).text,
                          tide_ir_type_name(ir, value).text);
}

bool tide_verify_indices(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_attr indices = tide_ir_get(ir, op, TIDE_NAME_RAW_INDICES);
  tide_ir_type type = tide_ir_attr_of(ir, tide_ir_get(ir, op, TIDE_NAME_ELEM_TYPE))->type;
  for (uint32_t i = 1; i < tide_ir_attr_of(ir, indices)->count / 2; i++) {
    int64_t index = tide_ir_attr_element(ir, indices, i);
    const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
    if (record->kind == TIDE_IR_OPAQUE) return true;
    if (record->kind == TIDE_IR_LLVM_ARRAY || record->kind == TIDE_IR_VECTOR) {
      type = record->a;
      continue;
    }
    if (record->kind != TIDE_IR_LLVM_STRUCT)
      return tide_ir_op_error(ir, op, "type '%s' cannot be indexed (index #%u)",
                              tide_ir_type_name(ir, type).text, i);
    if (index == TIDE_GEP_DYNAMIC)
      return tide_ir_op_error(ir, op, "expected index %u indexing a struct to be constant", i);
    if (index < 0 || index >= record->count)
      return tide_ir_op_error(ir, op, "index %u indexing a struct is out of bounds", i);
    type = tide_ir_item(ir, record->items, (uint32_t)index);
  }
  return true;
}

/* ---- atomics ---- */

enum ordering { NOT_ATOMIC, UNORDERED, MONOTONIC, ACQUIRE = 4, RELEASE, ACQ_REL, SEQ_CST };

static bool is_float(const struct tide_ir *ir, tide_ir_type type) {
  return tide_ir_type_is(ir, type, TIDE_IR_FLOAT);
}

/* True for an integer of 8, 16, 32 or 64 bits. */
static bool is_atomic_integer(const struct tide_ir *ir, tide_ir_type type) {
  return tide_ir_is_integer(ir, type, 8) || tide_ir_is_integer(ir, type, 16) ||
         tide_ir_is_integer(ir, type, 32) || tide_ir_is_integer(ir, type, 64);
}

static bool is_pointer(const struct tide_ir *ir, tide_ir_type type) {
  return tide_ir_type_is(ir, type, TIDE_IR_LLVM_POINTER);
}

static int64_t ordering_of(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name) {
  return tide_ir_get_integer(ir, op, name, NOT_ATOMIC);
}

static bool check_ordering(struct tide_ir *ir, tide_ir_op op, tide_ir_string name, int64_t least) {
  int64_t ordering = ordering_of(ir, op, name);
  if (ordering < 0 || ordering > SEQ_CST || ordering == 3)
    return tide_ir_op_error(ir, op, "attribute '%s' is no atomic ordering",
                            tide_ir_string_text(ir, name, NULL));
  return ordering >= least || tide_ir_op_error(ir, op, "attribute '%s' must be at least %s",
                                               tide_ir_string_text(ir, name, NULL),
                                               least == MONOTONIC ? "monotonic" : "acquire");
}

static bool check_atomicrmw(struct tide_ir *ir, tide_ir_op op) {
  int64_t what = tide_ir_get_integer(ir, op, TIDE_NAME_BIN_OP, -1);
  tide_ir_type type = operand_type(ir, op, 1);
  bool number = is_atomic_integer(ir, type);
  const char *wanted = NULL;
  if (what < 0 || what > 16) return tide_ir_op_error(ir, op, "attribute 'bin_op' is no operation");
  if (what == 0) { /* xchg */
    if (!number && !is_float(ir, type) && !is_pointer(ir, type))
      wanted = "an integer of 8, 16, 32 or 64 bits, a float or a pointer";
  } else if (what >= 11 && what <= 14) {
    if (!is_float(ir, type)) wanted = "a float";
  } else if (!number) {
    wanted = "an integer of 8, 16, 32 or 64 bits";
  }
  if (wanted)
    return tide_ir_op_error(ir, op, "with this operation takes %s, not '%s'", wanted,
                            tide_ir_type_name(ir, type).text);
  return check_ordering(ir, op, TIDE_NAME_ORDERING, MONOTONIC);
}

static bool check_cmpxchg(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_type type = operand_type(ir, op, 1);
  const struct tide_ir_type_record *pair = tide_ir_type_of(ir, result_type(ir, op));
  int64_t failed = ordering_of(ir, op, TIDE_NAME_FAILURE_ORDERING);
  if (!is_atomic_integer(ir, type) && !is_pointer(ir, type))
    return tide_ir_op_error(ir, op,
                            "compares an integer of 8, 16, 32 or 64 bits or a pointer, "
                            "not '%s'",
                            tide_ir_type_name(ir, type).text);
  if (pair->kind != TIDE_IR_LLVM_STRUCT || pair->count != 2 ||
      tide_ir_item(ir, pair->items, 0) != type ||
      !tide_ir_is_integer(ir, tide_ir_item(ir, pair->items, 1), 1))
    return tide_ir_op_error(ir, op, "must give a struct of the value and an i1");
  if (!check_ordering(ir, op, TIDE_NAME_SUCCESS_ORDERING, MONOTONIC) ||
      !check_ordering(ir, op, TIDE_NAME_FAILURE_ORDERING, MONOTONIC))
    return false;
  return (failed != RELEASE && failed != ACQ_REL) ||
         tide_ir_op_error(ir, op, "failure ordering cannot be 'release' or 'acq_rel'");
}

static bool check_fence(struct tide_ir *ir, tide_ir_op op) {
  return check_ordering(ir, op, TIDE_NAME_ORDERING, ACQUIRE);
}

/* True for a type that memory holds. */
static bool has_size(const struct tide_ir *ir, tide_ir_type type) {
  return tide_is_llvm_type(ir, type) && !tide_ir_type_is(ir, type, TIDE_IR_LLVM_VOID) &&
         !tide_ir_type_is(ir, type, TIDE_IR_LLVM_FUNCTION);
}

bool tide_verify_access(struct tide_ir *ir, tide_ir_op op) {
  bool load = tide_ir_op_kind(ir, op) == TIDE_OP_LLVM_LOAD;
  tide_ir_type type = load ? result_type(ir, op) : operand_type(ir, op, 0);
  int64_t ordering = ordering_of(ir, op, TIDE_NAME_ORDERING);
  if (!has_size(ir, type))
    return tide_ir_op_error(ir, op, "'%s' cannot be in memory", tide_ir_type_name(ir, type).text);
  if (!check_ordering(ir, op, TIDE_NAME_ORDERING, NOT_ATOMIC)) return false;
  if (ordering == NOT_ATOMIC)
    return !tide_ir_has(ir, op, TIDE_NAME_SYNCSCOPE) ||
           tide_ir_op_error(ir, op, "expected syncscope to be null for non-atomic access");
  if (ordering == ACQ_REL || ordering == (load ? RELEASE : ACQUIRE))
    return tide_ir_op_error(ir, op, "has an ordering that a %s cannot have",
                            load ? "load" : "store");
  if (!is_atomic_integer(ir, type) && !is_float(ir, type) && !is_pointer(ir, type))
    return tide_ir_op_error(ir, op, "unsupported type '%s' for atomic access",
                            tide_ir_type_name(ir, type).text);
  return tide_ir_has(ir, op, TIDE_NAME_ALIGNMENT) ||
         tide_ir_op_error(ir, op, "expected alignment for atomic access");
}

/* ---- globals ---- */

/* Checks the operations that compute a global's first value. */
static bool check_initializer(struct tide_ir *ir, tide_ir_op global, tide_ir_type type) {
  tide_ir_block block = tide_ir_body(ir, global, 0);
  if (!block) return true;
  tide_ir_op last = tide_ir_terminator(ir, block);
  if (tide_ir_op_kind(ir, last) != TIDE_OP_LLVM_RETURN || !tide_ir_op_of(ir, last)->operand_count)
    return tide_ir_op_error(ir, global, "initializer region cannot return void");
  if (operand_type(ir, last, 0) != type)
    return tide_ir_op_error(
        ir, global, "initializer region type '%s' does not match global type '%s'",
        tide_ir_type_name(ir, operand_type(ir, last, 0)).text, tide_ir_type_name(ir, type).text);
  for (tide_ir_op op = tide_ir_block_of(ir, block)->first; op; op = tide_ir_op_of(ir, op)->next)
    if (tide_ir_op_kind(ir, op) < TIDE_IR_KINDS && tide_ir_op_info(ir, op)->effects)
      return tide_ir_op_error(ir, op, "has an effect, which a global's initializer cannot have");
  return true;
}

static bool is_zero(const struct tide_ir_attr_record *value) {
  if (value->kind == TIDE_IR_ATTR_FLOAT) return !(value->number < 0 || value->number > 0);
  return (value->kind == TIDE_IR_ATTR_INTEGER || value->kind == TIDE_IR_ATTR_BOOL) &&
         value->integer == 0;
}

static bool is_enum(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name,
                    const char *text) {
  tide_ir_attr attr = tide_ir_get(ir, op, name);
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
  return attr && record->kind == TIDE_IR_ATTR_OPAQUE &&
         strcmp(tide_ir_string_text(ir, record->string, NULL), text) == 0;
}

static bool check_global(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_type type = tide_ir_attr_of(ir, tide_ir_get(ir, op, TIDE_NAME_GLOBAL_TYPE))->type;
  tide_ir_attr value = tide_ir_get(ir, op, TIDE_NAME_VALUE);
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, value);
  int64_t alignment = tide_ir_get_integer(ir, op, TIDE_NAME_ALIGNMENT, 1);
  size_t length = 0;
  if (!has_size(ir, type))
    return tide_ir_op_error(ir, op, "expects type to be a valid element type for an LLVM global");
  if (tide_ir_get_integer(ir, op, TIDE_NAME_ADDR_SPACE, 0) < 0)
    return tide_ir_op_error(ir, op, "has a negative address space");
  if (alignment <= 0 || alignment & (alignment - 1))
    return tide_ir_op_error(ir, op, "alignment attribute is not a power of 2");
  if (value && tide_ir_body(ir, op, 0))
    return tide_ir_op_error(ir, op, "cannot have both initializer value and region");
  if (value && record->kind == TIDE_IR_ATTR_STRING) {
    const struct tide_ir_type_record *array = tide_ir_type_of(ir, type);
    tide_ir_string_text(ir, record->string, &length);
    if (array->kind != TIDE_IR_LLVM_ARRAY || array->b != length ||
        !tide_ir_is_integer(ir, array->a, 8))
      return tide_ir_op_error(ir, op,
                              "requires an i8 array type of the length equal to that of the "
                              "string attribute");
  }
  if (is_enum(ir, op, TIDE_NAME_LINKAGE, "#llvm.linkage<common>") && value && !is_zero(record))
    return tide_ir_op_error(ir, op, "expected zero value for 'common' linkage");
  if (is_enum(ir, op, TIDE_NAME_LINKAGE, "#llvm.linkage<appending>") &&
      !tide_ir_type_is(ir, type, TIDE_IR_LLVM_ARRAY))
    return tide_ir_op_error(ir, op, "expected array type for 'appending' linkage");
  return check_initializer(ir, op, type);
}

/* ---- functions, returns, calls ---- */

bool tide_verify_llvm_function(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_attr attr = tide_ir_get(ir, op, TIDE_NAME_FUNCTION_TYPE);
  const struct tide_ir_type_record *type = tide_ir_type_of(ir, tide_ir_attr_of(ir, attr)->type);
  for (uint32_t i = 0; i < type->count; i++)
    if (!tide_is_llvm_type(ir, tide_ir_item(ir, type->items, i)))
      return tide_ir_op_error(ir, op, "has a type of no llvm.func in its signature: '%s'",
                              tide_ir_type_name(ir, tide_ir_item(ir, type->items, i)).text);
  if (tide_ir_body(ir, op, 0))
    return !is_enum(ir, op, TIDE_NAME_LINKAGE, "#llvm.linkage<common>") ||
           tide_ir_op_error(ir, op, "functions cannot have 'common' linkage");
  return !tide_ir_has(ir, op, TIDE_NAME_LINKAGE) ||
         is_enum(ir, op, TIDE_NAME_LINKAGE, "#llvm.linkage<external>") ||
         is_enum(ir, op, TIDE_NAME_LINKAGE, "#llvm.linkage<extern_weak>") ||
         tide_ir_op_error(ir, op,
                          "external functions must have 'external' or 'extern_weak' linkage");
}

static bool check_return(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_op function = tide_ir_ancestor(ir, op, TIDE_OP_LLVM_FUNC);
  if (!function) return true; /* a global's initializer */
  tide_ir_attr attr = tide_ir_get(ir, function, TIDE_NAME_FUNCTION_TYPE);
  const struct tide_ir_type_record *type = tide_ir_type_of(ir, tide_ir_attr_of(ir, attr)->type);
  if (!attr || type->kind != TIDE_IR_LLVM_FUNCTION) return true; /* reported at the function */
  tide_ir_type want = tide_ir_item(ir, type->items, type->count - 1);
  uint32_t count = tide_ir_op_of(ir, op)->operand_count;
  if (tide_ir_type_is(ir, want, TIDE_IR_LLVM_VOID))
    return !count || tide_ir_op_error(ir, op, "expected no operands");
  if (count != 1) return tide_ir_op_error(ir, op, "expected 1 operand");
  return operand_type(ir, op, 0) == want ||
         tide_ir_op_error(ir, op, "mismatching result types: '%s', and the function's '%s'",
                          tide_ir_type_name(ir, operand_type(ir, op, 0)).text,
                          tide_ir_type_name(ir, want).text);
}

static bool check_call(struct tide_ir *ir, tide_ir_op op) {
  if (tide_ir_has(ir, op, TIDE_NAME_CALLEE)) return true; /* compared with its callee */
  if (!tide_ir_op_of(ir, op)->operand_count)
    return tide_ir_op_error(ir, op, "must have either a `callee` attribute or at least an operand");
  return is_pointer(ir, operand_type(ir, op, 0)) ||
         tide_ir_op_error(ir, op, "indirect call expects a pointer as callee: '%s'",
                          tide_ir_type_name(ir, operand_type(ir, op, 0)).text);
}

bool tide_verify_llvm(struct tide_ir *ir, tide_ir_op op) {
  switch (tide_ir_op_kind(ir, op)) {
    case TIDE_OP_LLVM_EXTRACTVALUE:
    case TIDE_OP_LLVM_INSERTVALUE: return check_element(ir, op);
    case TIDE_OP_LLVM_ATOMICRMW: return check_atomicrmw(ir, op);
    case TIDE_OP_LLVM_CMPXCHG: return check_cmpxchg(ir, op);
    case TIDE_OP_LLVM_FENCE: return check_fence(ir, op);
    case TIDE_OP_LLVM_GLOBAL: return check_global(ir, op);
    case TIDE_OP_LLVM_RETURN: return check_return(ir, op);
    case TIDE_OP_LLVM_CALL: return check_call(ir, op);
    default: return true;
  }
}
