/* Decides if an operation can be printed in its custom form: not if it is malformed or has parts
 * that the form omits. */
#include "mods/print.h"
#include "mods/verify.h"
#include "mods/words.h"

/* Returns the word in an opaque "#dialect<word>" or "#dialect.kind<word>"; NULL: none. */
const char *tide_enum_word(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name,
                           size_t *out_length) {
  tide_ir_attr attr = tide_ir_get(ir, op, name);
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
  size_t length, start = 0;
  if (!attr || record->kind != TIDE_IR_ATTR_OPAQUE) return NULL;
  const char *text = tide_ir_string_text(ir, record->string, &length);
  while (start < length && text[start] != '<') start++;
  if (start + 1 >= length || text[length - 1] != '>') return NULL;
  *out_length = length - start - 2;
  return text + start + 1;
}

static bool ends_plain(const struct tide_ir *ir, tide_ir_op op, uint32_t region, unsigned kind) {
  tide_ir_op last = tide_ir_terminator(ir, tide_ir_body(ir, op, region));
  return last && tide_ir_op_kind(ir, last) == kind && !tide_ir_op_of(ir, last)->attributes;
}

static uint32_t argument_count(const struct tide_ir *ir, tide_ir_op op, uint32_t region) {
  return tide_ir_block_of(ir, tide_ir_body(ir, op, region))->argument_count;
}

static bool branch_fits(const struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  uint32_t sum = record->successor_count == 2;
  for (uint32_t i = 0; i < record->successor_count; i++) {
    uint32_t count = 0;
    tide_ir_successor(ir, op, i, NULL, &count);
    sum += count;
  }
  return sum == record->operand_count;
}

static bool function_fits(const struct tide_ir *ir, tide_ir_op op) {
  tide_ir_attr attr = tide_ir_get(ir, op, TIDE_NAME_FUNCTION_TYPE);
  const struct tide_ir_type_record *type = tide_ir_type_of(ir, tide_ir_attr_of(ir, attr)->type);
  bool llvm = tide_ir_op_kind(ir, op) == TIDE_OP_LLVM_FUNC;
  uint32_t inputs = llvm ? type->count - 1 : type->a;
  if (type->kind != (llvm ? TIDE_IR_LLVM_FUNCTION : TIDE_IR_FUNCTION)) return false;
  if (!tide_ir_get_text(ir, op, TIDE_NAME_SYM_NAME)) return false;
  return !tide_ir_body(ir, op, 0) || argument_count(ir, op, 0) == inputs;
}

static bool predicate_fits(const struct tide_ir *ir, tide_ir_op op) {
  unsigned kind = tide_ir_op_kind(ir, op);
  bool floats = kind == TIDE_OP_ARITH_CMPF || kind == TIDE_OP_LLVM_FCMP;
  int64_t place = tide_ir_get_integer(ir, op, TIDE_NAME_PREDICATE, -1);
  return place >= 0 && place < (floats ? TIDE_FLOAT_PREDICATES : TIDE_INTEGER_PREDICATES);
}

static bool gep_fits(const struct tide_ir *ir, tide_ir_op op) {
  tide_ir_attr indices = tide_ir_get(ir, op, TIDE_NAME_RAW_INDICES);
  uint32_t dynamic = 1, count = tide_ir_attr_of(ir, indices)->count / 2;
  for (uint32_t i = 0; i < count; i++)
    dynamic += tide_ir_attr_element(ir, indices, i) == TIDE_GEP_DYNAMIC;
  return count <= 32 && dynamic == tide_ir_op_of(ir, op)->operand_count;
}

static bool while_fits(const struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  return tide_ir_body(ir, op, 0) && tide_ir_body(ir, op, 1) &&
         argument_count(ir, op, 0) == record->operand_count;
}

static bool if_fits(const struct tide_ir *ir, tide_ir_op op) {
  bool results = tide_ir_op_of(ir, op)->result_count != 0;
  for (uint32_t i = 0; i < 2; i++)
    if (tide_ir_body(ir, op, i) &&
        (argument_count(ir, op, i) || (!results && !ends_plain(ir, op, i, TIDE_OP_SCF_YIELD))))
      return false;
  return tide_ir_body(ir, op, 0) != 0;
}

static bool for_fits(const struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  tide_ir_block body = tide_ir_body(ir, op, 0);
  if (!body || argument_count(ir, op, 0) != record->result_count + 1u ||
      record->operand_count != record->result_count + 3u)
    return false;
  return record->result_count || ends_plain(ir, op, 0, TIDE_OP_SCF_YIELD);
}

/* True for a plain access; the form does not show any other ordering. */
static bool access_fits(const struct tide_ir *ir, tide_ir_op op) {
  return tide_ir_get_integer(ir, op, TIDE_NAME_ORDERING, 0) == 0 &&
         tide_ir_has(ir, op, TIDE_NAME_ORDERING);
}

static bool dimension_fits(const struct tide_ir *ir, tide_ir_op op) {
  size_t length;
  const char *word = tide_enum_word(ir, op, TIDE_NAME_DIMENSION, &length);
  return word && length == 5 && word[4] >= 'x' && word[4] <= 'z';
}

static bool constant_fits(const struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_attr_record *value =
      tide_ir_attr_of(ir, tide_ir_get(ir, op, TIDE_NAME_VALUE));
  tide_ir_type type = tide_ir_value_of(ir, tide_ir_op_of(ir, op)->results)->type;
  bool typed = value->kind == TIDE_IR_ATTR_INTEGER || value->kind == TIDE_IR_ATTR_BOOL ||
               value->kind == TIDE_IR_ATTR_FLOAT || value->kind == TIDE_IR_ATTR_OPAQUE;
  return typed && value->type == type;
}

static bool shape_fits(const struct tide_ir *ir, tide_ir_op op, enum tide_ir_form form) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  tide_ir_block body = tide_ir_body(ir, op, 0);
  switch (form) {
    case TIDE_FORM_MODULE: return body && !argument_count(ir, op, 0);
    case TIDE_FORM_GPU_MODULE:
      return body && !argument_count(ir, op, 0) && ends_plain(ir, op, 0, TIDE_OP_GPU_MODULE_END);
    case TIDE_FORM_FUNCTION:
    case TIDE_FORM_LLVM_FUNC: return function_fits(ir, op);
    case TIDE_FORM_GPU_FUNC: return body && function_fits(ir, op);
    case TIDE_FORM_CUTLASS: return record->kind != TIDE_OP_ASYNC_EXEC || body;
    case TIDE_FORM_CONSTANT: return constant_fits(ir, op);
    case TIDE_FORM_COMPARE:
    case TIDE_FORM_LLVM_COMPARE: return predicate_fits(ir, op);
    case TIDE_FORM_DIMENSION: return dimension_fits(ir, op);
    case TIDE_FORM_FOR: return for_fits(ir, op);
    case TIDE_FORM_IF: return if_fits(ir, op);
    case TIDE_FORM_WHILE: return while_fits(ir, op);
    case TIDE_FORM_BRANCH:
    case TIDE_FORM_COND_BRANCH: return branch_fits(ir, op);
    case TIDE_FORM_GEP: return gep_fits(ir, op);
    case TIDE_FORM_LOAD:
    case TIDE_FORM_STORE: return access_fits(ir, op);
    case TIDE_FORM_CASTS: return record->result_count != 0;
    case TIDE_FORM_LLVM_GLOBAL: {
      size_t length;
      return tide_enum_word(ir, op, TIDE_NAME_LINKAGE, &length) != NULL;
    }
    default: return true;
  }
}

bool tide_print_has_form(const struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_info *info = tide_ir_op_info(ir, op);
  if (info->form == TIDE_FORM_GENERIC || tide_ir_misfit(ir, op).kind != TIDE_FITS) return false;
  return shape_fits(ir, op, info->form);
}
