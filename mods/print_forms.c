/* Prints custom forms; forms.c parses them. */
#include "mods/print.h"
#include "mods/words.h"
#include "base/alloc.h"

static const struct tide_ir_op_record *record_of(const struct tide_printer *printer,
                                                 tide_ir_op op) {
  return tide_ir_op_of(printer->ir, op);
}

static tide_ir_type result_type(const struct tide_printer *printer, tide_ir_op op) {
  return tide_ir_value_of(printer->ir, record_of(printer, op)->results)->type;
}

static void put_dict(struct tide_printer *printer, tide_ir_op op, const uint32_t *hidden) {
  tide_put_dict(printer, " ", record_of(printer, op)->attributes, hidden);
}

static void put_flag_words(struct tide_printer *printer, tide_ir_op op, const char *word,
                           tide_ir_string name) {
  size_t length;
  const char *text = tide_enum_word(printer->ir, op, name, &length);
  if (!text || (length == 4 && memcmp(text, "none", 4) == 0)) return;
  tide_putf(printer, " %s<%.*s>", word, (int)length, text);
}

/* Prints the operation's own flags as words, and the dictionary without them and `hidden`, which
 * may be 0. */
static void put_flags_and_dict(struct tide_printer *printer, tide_ir_op op, tide_ir_string hidden) {
  static const struct {
    const char *word;
    uint32_t name;
  } flags[] = {{"overflow", TIDE_NAME_OVERFLOW_FLAGS}, {"fastmath", TIDE_NAME_FASTMATH}};
  uint32_t all[4] = {hidden}, count = hidden != 0;
  for (size_t i = 0; i < 2; i++) {
    if (!tide_ir_owns(tide_ir_op_kind(printer->ir, op), flags[i].name)) continue;
    put_flag_words(printer, op, flags[i].word, flags[i].name);
    all[count++] = flags[i].name;
  }
  put_dict(printer, op, all);
}

static void put_symbol_of(struct tide_printer *printer, tide_ir_op op, tide_ir_string name) {
  const struct tide_ir_attr_record *attr =
      tide_ir_attr_of(printer->ir, tide_ir_get(printer->ir, op, name));
  tide_put_symbol(printer, attr->string);
}

/* ---- operands and types ---- */

static void put_binary(struct tide_printer *printer, tide_ir_op op) {
  tide_puts(printer, " ");
  tide_put_operands(printer, op, 0, record_of(printer, op)->operand_count);
  put_flags_and_dict(printer, op, 0);
  tide_puts(printer, " : ");
  tide_put_type(printer, result_type(printer, op));
}

static void put_compare(struct tide_printer *printer, tide_ir_op op) {
  unsigned kind = tide_ir_op_kind(printer->ir, op);
  bool floats = kind == TIDE_OP_ARITH_CMPF || kind == TIDE_OP_LLVM_FCMP;
  bool llvm = kind == TIDE_OP_LLVM_ICMP || kind == TIDE_OP_LLVM_FCMP;
  int64_t place = tide_ir_get_integer(printer->ir, op, TIDE_NAME_PREDICATE, 0);
  const char *word = floats ? tide_float_predicates[place] : tide_integer_predicates[place];
  bool mark = llvm && floats && (place == 0 || place == TIDE_FLOAT_PREDICATES - 1);
  tide_putf(printer, llvm ? " \"%s%s\" " : " %s%s, ", mark ? "_" : "", word);
  tide_put_operands(printer, op, 0, 2);
  put_flags_and_dict(printer, op, TIDE_NAME_PREDICATE);
  tide_puts(printer, " : ");
  tide_put_type(printer, tide_print_operand_type(printer, op, 0));
}

static void put_select(struct tide_printer *printer, tide_ir_op op) {
  tide_puts(printer, " ");
  tide_put_operands(printer, op, 0, 3);
  put_dict(printer, op, NULL);
  tide_puts(printer, " : ");
  if (tide_ir_op_kind(printer->ir, op) == TIDE_OP_LLVM_SELECT) tide_puts(printer, "i1, ");
  tide_put_type(printer, result_type(printer, op));
}

static void put_operands_form(struct tide_printer *printer, tide_ir_op op) {
  uint32_t count = record_of(printer, op)->operand_count;
  put_dict(printer, op, NULL);
  if (!count) return;
  tide_puts(printer, " ");
  tide_put_operands(printer, op, 0, count);
  tide_puts(printer, " : ");
  tide_put_operand_types(printer, op, 0, count);
}

static void put_cast(struct tide_printer *printer, tide_ir_op op) {
  bool rounded = tide_ir_op_kind(printer->ir, op) == TIDE_OP_ARITH_TRUNCF;
  tide_puts(printer, " ");
  tide_put_operand(printer, op, 0);
  if (rounded && tide_ir_has(printer->ir, op, TIDE_NAME_ROUNDING))
    tide_putf(printer, " %s",
              tide_roundings[tide_ir_get_integer(printer->ir, op, TIDE_NAME_ROUNDING, 0)]);
  put_flags_and_dict(printer, op, rounded ? TIDE_NAME_ROUNDING : 0);
  tide_puts(printer, " : ");
  tide_put_operand_types(printer, op, 0, 1);
  tide_puts(printer, " to ");
  tide_put_type(printer, result_type(printer, op));
}

static void put_casts(struct tide_printer *printer, tide_ir_op op) {
  const struct tide_ir_op_record *record = record_of(printer, op);
  if (record->operand_count) {
    tide_puts(printer, " ");
    tide_put_operands(printer, op, 0, record->operand_count);
    tide_puts(printer, " : ");
    tide_put_operand_types(printer, op, 0, record->operand_count);
  }
  tide_puts(printer, " to ");
  for (uint32_t i = 0; i < record->result_count; i++) {
    if (i) tide_puts(printer, ", ");
    tide_put_type(printer, tide_ir_value_of(printer->ir, record->results + i)->type);
  }
  put_dict(printer, op, NULL);
}

static void put_constant(struct tide_printer *printer, tide_ir_op op) {
  static const uint32_t hidden[] = {TIDE_NAME_VALUE, 0};
  bool llvm = tide_ir_op_kind(printer->ir, op) == TIDE_OP_LLVM_CONSTANT;
  if (!llvm) put_dict(printer, op, hidden);
  tide_puts(printer, llvm ? "(" : " ");
  tide_put_attr(printer, tide_ir_get(printer->ir, op, TIDE_NAME_VALUE));
  if (!llvm) return;
  tide_puts(printer, ")");
  put_dict(printer, op, hidden);
  tide_puts(printer, " : ");
  tide_put_type(printer, result_type(printer, op));
}

static void put_dimension(struct tide_printer *printer, tide_ir_op op) {
  static const uint32_t hidden[] = {TIDE_NAME_DIMENSION, TIDE_NAME_UPPER_BOUND, 0};
  size_t length;
  const char *word = tide_enum_word(printer->ir, op, TIDE_NAME_DIMENSION, &length);
  tide_putf(printer, " %c", word[length - 1]);
  if (tide_ir_has(printer->ir, op, TIDE_NAME_UPPER_BOUND))
    tide_putf(printer, " upper_bound %lld",
              (long long)tide_ir_get_integer(printer->ir, op, TIDE_NAME_UPPER_BOUND, 0));
  put_dict(printer, op, hidden);
}

static void put_call(struct tide_printer *printer, tide_ir_op op) {
  static const uint32_t hidden[] = {TIDE_NAME_CALLEE, 0};
  uint32_t count = record_of(printer, op)->operand_count;
  tide_puts(printer, " ");
  tide_put_attr(printer, tide_ir_get(printer->ir, op, TIDE_NAME_CALLEE));
  tide_puts(printer, "(");
  tide_put_operands(printer, op, 0, count);
  tide_puts(printer, ")");
  put_dict(printer, op, hidden);
  tide_puts(printer, " : (");
  tide_put_operand_types(printer, op, 0, count);
  tide_puts(printer, ") -> ");
  tide_put_result_types(printer, op);
}

static void put_result_form(struct tide_printer *printer, tide_ir_op op) {
  put_dict(printer, op, NULL);
  if (tide_ir_op_info(printer->ir, op)->signature[1] == 'x') return;
  tide_puts(printer, " : ");
  tide_put_type(printer, result_type(printer, op));
}

/* ---- cutlass ---- */

static void put_cutlass(struct tide_printer *printer, tide_ir_op op) {
  const struct tide_ir_op_record *record = record_of(printer, op);
  bool exec = record->kind == TIDE_OP_ASYNC_EXEC;
  if (record->operand_count) tide_puts(printer, " ");
  tide_put_operands(printer, op, 0, record->operand_count);
  put_dict(printer, op, NULL);
  if (record->operand_count) {
    tide_puts(printer, " : ");
    tide_put_operand_types(printer, op, 0, record->operand_count);
    /* A window's end without a result prints `-> ()`, as in "MODS Async Dispatch". */
    if (record->result_count || record->kind == TIDE_OP_MODS_END) {
      tide_puts(printer, " -> ");
      tide_put_result_types(printer, op);
    }
  } else if (record->result_count) {
    tide_puts(printer, " : ");
    tide_put_type(printer, result_type(printer, op));
  }
  if (!exec) return;
  tide_puts(printer, " ");
  tide_put_region(printer, record->regions, true, true);
}

/* ---- modules, functions, globals ---- */

/* Prints what stands before a name: linkage, visibility, thread_local, unnamed_addr, a calling
 * convention. */
static void put_head(struct tide_printer *printer, tide_ir_op op) {
  const struct tide_ir *ir = printer->ir;
  int64_t visibility = tide_ir_get_integer(ir, op, TIDE_NAME_VISIBILITY, 0);
  int64_t unnamed = tide_ir_get_integer(ir, op, TIDE_NAME_UNNAMED_ADDR, 0);
  size_t length;
  const char *word = tide_enum_word(printer->ir, op, TIDE_NAME_LINKAGE, &length);
  if (word && !(length == 8 && memcmp(word, "external", 8) == 0))
    tide_putf(printer, " %.*s", (int)length, word);
  if (visibility) tide_putf(printer, " %s", tide_visibilities[visibility]);
  if (tide_ir_has(ir, op, TIDE_NAME_THREAD_LOCAL)) tide_puts(printer, " thread_local");
  if (unnamed) tide_putf(printer, " %s", tide_unnamed[unnamed]);
  word = tide_enum_word(ir, op, TIDE_NAME_CCONV, &length);
  if (word && !(length == 3 && memcmp(word, "ccc", 3) == 0))
    tide_putf(printer, " %.*s", (int)length, word);
}

static void put_module(struct tide_printer *printer, tide_ir_op op) {
  static const uint32_t hidden[] = {TIDE_NAME_SYM_NAME, TIDE_NAME_TARGETS, 0};
  bool gpu = tide_ir_op_kind(printer->ir, op) == TIDE_OP_GPU_MODULE;
  if (tide_ir_has(printer->ir, op, TIDE_NAME_SYM_NAME)) {
    tide_puts(printer, " ");
    put_symbol_of(printer, op, TIDE_NAME_SYM_NAME);
  }
  if (gpu && tide_ir_has(printer->ir, op, TIDE_NAME_TARGETS)) {
    tide_puts(printer, " ");
    tide_put_attr(printer, tide_ir_get(printer->ir, op, TIDE_NAME_TARGETS));
  }
  tide_put_dict(printer, " attributes ", record_of(printer, op)->attributes, hidden);
  tide_puts(printer, " ");
  tide_put_region(printer, record_of(printer, op)->regions, false, !gpu);
}

/* Prints the dictionary of argument or result `index` unless it is empty. */
static void put_item_attrs(struct tide_printer *printer, tide_ir_op op, tide_ir_string name,
                           uint32_t index) {
  const struct tide_ir *ir = printer->ir;
  tide_ir_attr list = tide_ir_get(ir, op, name);
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, list);
  if (list && record->kind == TIDE_IR_ATTR_ARRAY && index < record->count)
    tide_put_dict(printer, " ", tide_ir_item(ir, record->items, index), NULL);
}

static void put_arguments(struct tide_printer *printer, tide_ir_op op,
                          const struct tide_ir_type_record *type, uint32_t inputs) {
  tide_ir_block block = tide_ir_body(printer->ir, op, 0);
  tide_puts(printer, "(");
  for (uint32_t i = 0; i < inputs; i++) {
    if (i) tide_puts(printer, ", ");
    if (block) {
      tide_put_value(printer, tide_ir_argument(printer->ir, block, i));
      tide_puts(printer, ": ");
    }
    tide_put_type(printer, tide_ir_item(printer->ir, type->items, i));
    put_item_attrs(printer, op, TIDE_NAME_ARG_ATTRS, i);
    if (block) tide_put_argument_place(printer, tide_ir_argument(printer->ir, block, i));
  }
  if (type->kind == TIDE_IR_LLVM_FUNCTION && type->a) tide_puts(printer, inputs ? ", ..." : "...");
  tide_puts(printer, ")");
}

static void put_function_results(struct tide_printer *printer, tide_ir_op op,
                                 const struct tide_ir_type_record *type, uint32_t first) {
  const struct tide_ir *ir = printer->ir;
  uint32_t count = type->count - first;
  if (type->kind == TIDE_IR_LLVM_FUNCTION &&
      tide_ir_type_is(ir, tide_ir_item(ir, type->items, first), TIDE_IR_LLVM_VOID))
    return;
  if (!count) return;
  bool parens = count > 1 || tide_ir_has(ir, op, TIDE_NAME_RES_ATTRS) ||
                tide_ir_type_is(ir, tide_ir_item(ir, type->items, first), TIDE_IR_FUNCTION);
  tide_puts(printer, parens ? " -> (" : " -> ");
  for (uint32_t i = 0; i < count; i++) {
    if (i) tide_puts(printer, ", ");
    tide_put_type(printer, tide_ir_item(ir, type->items, first + i));
    put_item_attrs(printer, op, TIDE_NAME_RES_ATTRS, i);
  }
  if (parens) tide_puts(printer, ")");
}

static void put_function(struct tide_printer *printer, tide_ir_op op) {
  const struct tide_ir *ir = printer->ir;
  bool gpu = tide_ir_op_kind(ir, op) == TIDE_OP_GPU_FUNC;
  bool llvm = tide_ir_op_kind(ir, op) == TIDE_OP_LLVM_FUNC;
  static const uint32_t hidden[] = {TIDE_NAME_SYM_NAME,       TIDE_NAME_FUNCTION_TYPE,
                                    TIDE_NAME_ARG_ATTRS,      TIDE_NAME_RES_ATTRS,
                                    TIDE_NAME_SYM_VISIBILITY, TIDE_NAME_LINKAGE,
                                    TIDE_NAME_CCONV,          TIDE_NAME_VISIBILITY,
                                    TIDE_NAME_UNNAMED_ADDR,   0};
  static const uint32_t gpu_hidden[] = {TIDE_NAME_SYM_NAME,       TIDE_NAME_FUNCTION_TYPE,
                                        TIDE_NAME_ARG_ATTRS,      TIDE_NAME_RES_ATTRS,
                                        TIDE_NAME_KERNEL,         TIDE_NAME_WORKGROUP_ATTRIBUTIONS,
                                        TIDE_NAME_SYM_VISIBILITY, 0};
  const struct tide_ir_type_record *type =
      tide_ir_type_of(ir, tide_ir_attr_of(ir, tide_ir_get(ir, op, TIDE_NAME_FUNCTION_TYPE))->type);
  uint32_t inputs = llvm ? type->count - 1 : type->a;
  const char *visibility = tide_ir_get_text(ir, op, TIDE_NAME_SYM_VISIBILITY);
  if (visibility) tide_putf(printer, " %s", visibility);
  if (llvm) put_head(printer, op);
  tide_puts(printer, " ");
  put_symbol_of(printer, op, TIDE_NAME_SYM_NAME);
  put_arguments(printer, op, type, inputs);
  put_function_results(printer, op, type, inputs);
  if (gpu && tide_ir_has(ir, op, TIDE_NAME_KERNEL)) tide_puts(printer, " kernel");
  tide_put_dict(printer, " attributes ", record_of(printer, op)->attributes,
                gpu ? gpu_hidden : hidden);
  if (!tide_ir_body(ir, op, 0)) return;
  tide_puts(printer, " ");
  tide_put_region(printer, record_of(printer, op)->regions, false, true);
}

static void put_global(struct tide_printer *printer, tide_ir_op op) {
  static const uint32_t hidden[] = {
      TIDE_NAME_SYM_NAME,     TIDE_NAME_GLOBAL_TYPE,  TIDE_NAME_LINKAGE,
      TIDE_NAME_VALUE,        TIDE_NAME_CONSTANT,     TIDE_NAME_VISIBILITY,
      TIDE_NAME_UNNAMED_ADDR, TIDE_NAME_THREAD_LOCAL, 0};
  const struct tide_ir *ir = printer->ir;
  put_head(printer, op);
  if (tide_ir_has(ir, op, TIDE_NAME_CONSTANT)) tide_puts(printer, " constant");
  tide_puts(printer, " ");
  put_symbol_of(printer, op, TIDE_NAME_SYM_NAME);
  tide_puts(printer, "(");
  if (tide_ir_has(ir, op, TIDE_NAME_VALUE))
    tide_put_attr(printer, tide_ir_get(ir, op, TIDE_NAME_VALUE));
  tide_puts(printer, ")");
  put_dict(printer, op, hidden);
  tide_puts(printer, " : ");
  tide_put_attr(printer, tide_ir_get(ir, op, TIDE_NAME_GLOBAL_TYPE));
  if (!tide_ir_body(ir, op, 0)) return;
  tide_puts(printer, " ");
  tide_put_region(printer, record_of(printer, op)->regions, false, true);
}

static void put_address(struct tide_printer *printer, tide_ir_op op) {
  static const uint32_t hidden[] = {TIDE_NAME_GLOBAL_NAME, 0};
  tide_puts(printer, " ");
  tide_put_attr(printer, tide_ir_get(printer->ir, op, TIDE_NAME_GLOBAL_NAME));
  put_dict(printer, op, hidden);
  tide_puts(printer, " : ");
  tide_put_type(printer, result_type(printer, op));
}

/* ---- scf ---- */

static void put_assignments(struct tide_printer *printer, tide_ir_op op, tide_ir_block block,
                            uint32_t first_argument, uint32_t first_operand, uint32_t count) {
  tide_puts(printer, "(");
  for (uint32_t i = 0; i < count; i++) {
    if (i) tide_puts(printer, ", ");
    tide_put_value(printer, tide_ir_argument(printer->ir, block, first_argument + i));
    tide_puts(printer, " = ");
    tide_put_operand(printer, op, first_operand + i);
  }
  tide_puts(printer, ")");
}

static void put_types_in_parens(struct tide_printer *printer, tide_ir_op op) {
  const struct tide_ir_op_record *record = record_of(printer, op);
  tide_puts(printer, " -> (");
  for (uint32_t i = 0; i < record->result_count; i++) {
    if (i) tide_puts(printer, ", ");
    tide_put_type(printer, tide_ir_value_of(printer->ir, record->results + i)->type);
  }
  tide_puts(printer, ")");
}

static void put_for(struct tide_printer *printer, tide_ir_op op) {
  const struct tide_ir *ir = printer->ir;
  const struct tide_ir_op_record *record = record_of(printer, op);
  tide_ir_block block = tide_ir_body(ir, op, 0);
  tide_ir_type type = tide_print_operand_type(printer, op, 0);
  tide_puts(printer, " ");
  tide_put_value(printer, tide_ir_argument(ir, block, 0));
  tide_puts(printer, " = ");
  tide_put_operand(printer, op, 0);
  tide_puts(printer, " to ");
  tide_put_operand(printer, op, 1);
  tide_puts(printer, " step ");
  tide_put_operand(printer, op, 2);
  if (record->result_count) {
    tide_puts(printer, " iter_args");
    put_assignments(printer, op, block, 1, 3, record->result_count);
    put_types_in_parens(printer, op);
  }
  tide_puts(printer, " ");
  if (!tide_ir_type_is(ir, type, TIDE_IR_INDEX)) {
    tide_puts(printer, ": ");
    tide_put_type(printer, type);
    tide_puts(printer, " ");
  }
  tide_put_region(printer, record->regions, false, record->result_count != 0);
  put_dict(printer, op, NULL);
}

static void put_if(struct tide_printer *printer, tide_ir_op op) {
  const struct tide_ir_op_record *record = record_of(printer, op);
  bool results = record->result_count != 0;
  tide_puts(printer, " ");
  tide_put_operand(printer, op, 0);
  if (results) put_types_in_parens(printer, op);
  tide_puts(printer, " ");
  tide_put_region(printer, record->regions, true, results);
  if (tide_ir_body(printer->ir, op, 1)) {
    tide_puts(printer, " else ");
    tide_put_region(printer, record->regions + 1, true, results);
  }
  put_dict(printer, op, NULL);
}

static void put_while(struct tide_printer *printer, tide_ir_op op) {
  const struct tide_ir_op_record *record = record_of(printer, op);
  tide_ir_block before = tide_ir_body(printer->ir, op, 0);
  tide_puts(printer, " ");
  if (record->operand_count) {
    put_assignments(printer, op, before, 0, 0, record->operand_count);
    tide_puts(printer, " ");
  }
  tide_puts(printer, ": (");
  tide_put_operand_types(printer, op, 0, record->operand_count);
  tide_puts(printer, ") -> ");
  tide_put_result_types(printer, op);
  tide_puts(printer, " ");
  tide_put_region(printer, record->regions, false, true);
  tide_puts(printer, " do ");
  tide_put_region(printer, record->regions + 1, true, true);
  tide_put_dict(printer, " attributes ", record->attributes, NULL);
}

static void put_condition(struct tide_printer *printer, tide_ir_op op) {
  uint32_t count = record_of(printer, op)->operand_count;
  tide_puts(printer, "(");
  tide_put_operand(printer, op, 0);
  tide_puts(printer, ")");
  put_dict(printer, op, NULL);
  if (count <= 1) return;
  tide_puts(printer, " ");
  tide_put_operands(printer, op, 1, count - 1);
  tide_puts(printer, " : ");
  tide_put_operand_types(printer, op, 1, count - 1);
}

/* ---- branches ---- */

static void put_successor(struct tide_printer *printer, tide_ir_op op, uint32_t index) {
  uint32_t first = 0, count = 0;
  tide_ir_block block = tide_ir_successor(printer->ir, op, index, &first, &count);
  tide_putf(printer, "^bb%u", printer->block_names[block]);
  if (!count) return;
  tide_puts(printer, "(");
  tide_put_operands(printer, op, first, count);
  tide_puts(printer, " : ");
  tide_put_operand_types(printer, op, first, count);
  tide_puts(printer, ")");
}

static void put_branch(struct tide_printer *printer, tide_ir_op op) {
  static const uint32_t hidden[] = {TIDE_NAME_OPERAND_SEGMENTS, 0};
  bool conditional = record_of(printer, op)->successor_count == 2;
  tide_puts(printer, " ");
  if (conditional) {
    tide_put_operand(printer, op, 0);
    tide_puts(printer, ", ");
  }
  put_successor(printer, op, 0);
  if (conditional) {
    tide_puts(printer, ", ");
    put_successor(printer, op, 1);
  }
  put_dict(printer, op, hidden);
}

/* ---- memory ---- */

static void put_access(struct tide_printer *printer, tide_ir_op op) {
  static const uint32_t hidden[] = {TIDE_NAME_ORDERING, TIDE_NAME_VOLATILE, TIDE_NAME_INVARIANT, 0};
  uint32_t count = record_of(printer, op)->operand_count;
  if (tide_ir_has(printer->ir, op, TIDE_NAME_VOLATILE)) tide_puts(printer, " volatile");
  tide_puts(printer, " ");
  tide_put_operands(printer, op, 0, count);
  if (tide_ir_has(printer->ir, op, TIDE_NAME_INVARIANT)) tide_puts(printer, " invariant");
  put_dict(printer, op, hidden);
  tide_puts(printer, " : ");
  tide_put_operand_types(printer, op, 0, count);
  if (count == 2) return;
  tide_puts(printer, " -> ");
  tide_put_type(printer, result_type(printer, op));
}

static void put_gep(struct tide_printer *printer, tide_ir_op op) {
  static const uint32_t hidden[] = {TIDE_NAME_ELEM_TYPE, TIDE_NAME_RAW_INDICES, TIDE_NAME_INBOUNDS,
                                    0};
  const struct tide_ir *ir = printer->ir;
  tide_ir_attr indices = tide_ir_get(ir, op, TIDE_NAME_RAW_INDICES);
  uint32_t count = tide_ir_attr_of(ir, indices)->count / 2, next = 1;
  if (tide_ir_has(ir, op, TIDE_NAME_INBOUNDS)) tide_puts(printer, " inbounds");
  tide_puts(printer, " ");
  tide_put_operand(printer, op, 0);
  tide_puts(printer, "[");
  for (uint32_t i = 0; i < count; i++) {
    int64_t index = tide_ir_attr_element(ir, indices, i);
    if (i) tide_puts(printer, ", ");
    if (index == TIDE_GEP_DYNAMIC) tide_put_operand(printer, op, next++);
    else tide_putf(printer, "%lld", (long long)index);
  }
  tide_puts(printer, "]");
  put_dict(printer, op, hidden);
  tide_puts(printer, " : (");
  tide_put_operand_types(printer, op, 0, record_of(printer, op)->operand_count);
  tide_puts(printer, ") -> ");
  tide_put_type(printer, result_type(printer, op));
  tide_puts(printer, ", ");
  tide_put_attr(printer, tide_ir_get(ir, op, TIDE_NAME_ELEM_TYPE));
}

static void put_bulk_wait(struct tide_printer *printer, tide_ir_op op) {
  static const uint32_t hidden[] = {TIDE_NAME_GROUP, 0};
  tide_putf(printer, " %lld", (long long)tide_ir_get_integer(printer->ir, op, TIDE_NAME_GROUP, 0));
  put_dict(printer, op, hidden);
}

/* ---- all of them ---- */

void tide_put_form(struct tide_printer *printer, tide_ir_op op) {
  const struct tide_ir_op_info *info = tide_ir_op_info(printer->ir, op);
  bool module = info->form == TIDE_FORM_MODULE;
  tide_puts(printer, module ? "module" : info->name);
  switch ((enum tide_ir_form)info->form) {
    case TIDE_FORM_GENERIC: break;
    case TIDE_FORM_PLAIN: put_dict(printer, op, NULL); break;
    case TIDE_FORM_RESULT: put_result_form(printer, op); break;
    case TIDE_FORM_OPERANDS: put_operands_form(printer, op); break;
    case TIDE_FORM_BINARY: put_binary(printer, op); break;
    case TIDE_FORM_CAST: put_cast(printer, op); break;
    case TIDE_FORM_CASTS: put_casts(printer, op); break;
    case TIDE_FORM_CUTLASS: put_cutlass(printer, op); break;
    case TIDE_FORM_MODULE:
    case TIDE_FORM_GPU_MODULE: put_module(printer, op); break;
    case TIDE_FORM_FUNCTION:
    case TIDE_FORM_GPU_FUNC:
    case TIDE_FORM_LLVM_FUNC: put_function(printer, op); break;
    case TIDE_FORM_DIMENSION: put_dimension(printer, op); break;
    case TIDE_FORM_CALL: put_call(printer, op); break;
    case TIDE_FORM_CONSTANT:
    case TIDE_FORM_LLVM_CONSTANT: put_constant(printer, op); break;
    case TIDE_FORM_COMPARE:
    case TIDE_FORM_LLVM_COMPARE: put_compare(printer, op); break;
    case TIDE_FORM_SELECT:
    case TIDE_FORM_SELECT_LLVM: put_select(printer, op); break;
    case TIDE_FORM_FOR: put_for(printer, op); break;
    case TIDE_FORM_IF: put_if(printer, op); break;
    case TIDE_FORM_WHILE: put_while(printer, op); break;
    case TIDE_FORM_CONDITION: put_condition(printer, op); break;
    case TIDE_FORM_BRANCH:
    case TIDE_FORM_COND_BRANCH: put_branch(printer, op); break;
    case TIDE_FORM_LLVM_GLOBAL: put_global(printer, op); break;
    case TIDE_FORM_ADDRESS: put_address(printer, op); break;
    case TIDE_FORM_LOAD:
    case TIDE_FORM_STORE: put_access(printer, op); break;
    case TIDE_FORM_GEP: put_gep(printer, op); break;
    case TIDE_FORM_BULK_WAIT: put_bulk_wait(printer, op); break;
  }
}
