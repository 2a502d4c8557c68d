#include "mods/ir.h"
#include "mods/intern.h"
#include "mods/mods_lex.h"
#include "mods/place.h"
#include "base/alloc.h"

/* ---- the ir itself ---- */

static bool init_arrays(struct tide_ir *ir) {
  struct {
    struct tide_chunks *chunks;
    uint32_t size;
  } arrays[] = {{&ir->ops, sizeof(struct tide_ir_op_record)},
                {&ir->values, sizeof(struct tide_ir_value_record)},
                {&ir->blocks, sizeof(struct tide_ir_block_record)},
                {&ir->regions, sizeof(struct tide_ir_region_record)},
                {&ir->slots, sizeof(uint32_t)},
                {&ir->types, sizeof(struct tide_ir_type_record)},
                {&ir->attrs, sizeof(struct tide_ir_attr_record)},
                {&ir->items, sizeof(uint32_t)},
                {&ir->places, sizeof(tide_ir_location)}};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    if (!tide_chunks_init(arrays[i].chunks, ir->allocator, arrays[i].size)) return false;
  return tide_ir_tables_init(ir);
}

enum tide_status tide_ir_create(const struct tide_allocator *allocator, struct tide_ir **out_ir) {
  allocator = tide_allocator_or_default(allocator);
  *out_ir = NULL;
  if (!allocator) return TIDE_INVALID;
  struct tide_ir *ir = tide_alloc(allocator, 1, sizeof *ir);
  if (!ir) return TIDE_NOMEM;
  ir->allocator = allocator;
  ir->errors_max = TIDE_IR_ERRORS_MAX;
  ir->file = "-";
  ir->first_line = 1;
  if (!init_arrays(ir)) {
    tide_ir_destroy(ir);
    return TIDE_NOMEM;
  }
  *out_ir = ir;
  return TIDE_OK;
}

void tide_ir_destroy(struct tide_ir *ir) {
  if (!ir) return;
  tide_ir_tables_fini(ir);
  tide_ir_lines_free(ir);
  struct tide_chunks *const arrays[] = {&ir->ops,     &ir->values, &ir->blocks,
                                        &ir->regions, &ir->slots,  &ir->types,
                                        &ir->attrs,   &ir->items,  &ir->places};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) tide_chunks_fini(arrays[i]);
  tide_free(ir->allocator, ir, 1, sizeof *ir);
}

size_t tide_ir_memory(const struct tide_ir *ir) {
  const struct tide_chunks *const arrays[] = {&ir->ops,     &ir->values, &ir->blocks,
                                              &ir->regions, &ir->slots,  &ir->types,
                                              &ir->attrs,   &ir->items,  &ir->places};
  size_t bytes = sizeof *ir + tide_ir_tables_memory(ir) + tide_ir_lines_memory(ir);
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    bytes += tide_chunks_memory(arrays[i]);
  return bytes;
}

bool tide_ir_place_argument(struct tide_ir *ir, tide_ir_value argument, tide_ir_location location) {
  if (!location) return true;
  if (argument >= ir->places.count &&
      !tide_chunks_add(&ir->places, argument + 1 - ir->places.count, false))
    return tide_ir_give_up(ir, TIDE_NOMEM);
  *(tide_ir_location *)tide_chunks_at(&ir->places, argument) = location;
  return true;
}

tide_ir_location tide_ir_argument_place(const struct tide_ir *ir, tide_ir_value argument) {
  if (argument >= ir->places.count) return 0;
  return *(const tide_ir_location *)tide_chunks_at(&ir->places, argument);
}

/* ---- types ---- */

bool tide_ir_type_is(const struct tide_ir *ir, tide_ir_type type, enum tide_ir_type_kind kind) {
  return type && tide_ir_type_of(ir, type)->kind == kind;
}

bool tide_ir_is_integer(const struct tide_ir *ir, tide_ir_type type, unsigned bits) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  return type && record->kind == TIDE_IR_INTEGER && record->b == TIDE_IR_SIGNLESS &&
         (bits == 0 || record->a == bits);
}

tide_ir_type tide_ir_function_type(struct tide_ir *ir, const tide_ir_type *inputs,
                                   size_t input_count, const tide_ir_type *results,
                                   size_t result_count) {
  size_t count = input_count + result_count;
  if (count > 2 * TIDE_IR_OPERANDS_MAX) return tide_ir_give_up(ir, TIDE_FULL);
  tide_ir_type few[16] = {0}, *all = few;
  if (count > 16) all = tide_alloc_unset(ir->allocator, count, sizeof *all);
  if (!all) return tide_ir_give_up(ir, TIDE_NOMEM);
  for (size_t i = 0; i < input_count; i++) all[i] = inputs[i];
  for (size_t i = 0; i < result_count; i++) all[input_count + i] = results[i];
  tide_ir_type type = tide_ir_type_with(ir, TIDE_IR_FUNCTION, (uint32_t)input_count, all, count);
  if (all != few) tide_free(ir->allocator, all, count, sizeof *all);
  return type;
}

/* ---- values ---- */

const char *tide_ir_value_name(const struct tide_ir *ir, tide_ir_value value, size_t *out_length) {
  uint32_t at = tide_ir_value_of(ir, value)->name;
  if (!at) return NULL;
  struct tide_token token = tide_lex(ir->text, (uint32_t)ir->length, at - 1);
  *out_length = token.end - token.start - 1;
  return ir->text + at;
}

tide_ir_value tide_ir_resolve(const struct tide_ir *ir, tide_ir_value value) {
  while (value) {
    const struct tide_ir_value_record *record = tide_ir_value_of(ir, value);
    if (record->type || !record->owner) break;
    value = record->owner;
  }
  return value;
}

tide_ir_type tide_ir_type_of_value(const struct tide_ir *ir, tide_ir_value value) {
  return tide_ir_value_of(ir, tide_ir_resolve(ir, value))->type;
}

tide_ir_op tide_ir_defining_op(const struct tide_ir *ir, tide_ir_value value) {
  uint32_t owner = tide_ir_value_of(ir, tide_ir_resolve(ir, value))->owner;
  return owner & TIDE_IR_ARGUMENT ? 0 : owner;
}

tide_ir_block tide_ir_argument_block(const struct tide_ir *ir, tide_ir_value value) {
  uint32_t owner = tide_ir_value_of(ir, tide_ir_resolve(ir, value))->owner;
  return owner & TIDE_IR_ARGUMENT ? owner & ~TIDE_IR_ARGUMENT : 0;
}

uint32_t tide_ir_value_index(const struct tide_ir *ir, tide_ir_value value) {
  value = tide_ir_resolve(ir, value);
  tide_ir_op op = tide_ir_defining_op(ir, value);
  if (op) return value - tide_ir_op_of(ir, op)->results;
  return value - tide_ir_block_of(ir, tide_ir_argument_block(ir, value))->arguments;
}

bool tide_ir_constant(const struct tide_ir *ir, tide_ir_value value, int64_t *out_value) {
  tide_ir_op op = value ? tide_ir_defining_op(ir, value) : 0;
  unsigned kind = tide_ir_op_kind(ir, op);
  if (kind != TIDE_OP_ARITH_CONSTANT && kind != TIDE_OP_LLVM_CONSTANT) return false;
  const struct tide_ir_attr_record *attr =
      tide_ir_attr_of(ir, tide_ir_get(ir, op, TIDE_NAME_VALUE));
  bool number = attr->kind == TIDE_IR_ATTR_INTEGER || attr->kind == TIDE_IR_ATTR_BOOL;
  if (!number || !tide_ir_has(ir, op, TIDE_NAME_VALUE)) return false;
  *out_value = attr->integer;
  return true;
}

/* ---- parts of an operation ---- */

static uint32_t *operand_slot(const struct tide_ir *ir, const struct tide_ir_op_record *op,
                              uint32_t index) {
  return tide_chunks_at(&ir->slots, op->operands + index);
}

tide_ir_value tide_ir_operand(const struct tide_ir *ir, tide_ir_op op, uint32_t index) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  if (index >= record->operand_count) return 0;
  return tide_ir_resolve(ir, *operand_slot(ir, record, index));
}

tide_ir_region tide_ir_region_at(const struct tide_ir *ir, tide_ir_op op, uint32_t index) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  return index < record->region_count ? record->regions + index : 0;
}

tide_ir_block tide_ir_body(const struct tide_ir *ir, tide_ir_op op, uint32_t region_index) {
  return tide_ir_region_of(ir, tide_ir_region_at(ir, op, region_index))->first;
}

/* Slots hold the operands, then two numbers for each successor: its block, and how many operands it
 * takes. */
tide_ir_block tide_ir_successor(const struct tide_ir *ir, tide_ir_op op, uint32_t index,
                                uint32_t *out_first_operand, uint32_t *out_count) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  uint32_t after = 0;
  if (index >= record->successor_count) return 0;
  for (uint32_t i = index + 1; i < record->successor_count; i++)
    after += *operand_slot(ir, record, record->operand_count + 2 * i + 1);
  uint32_t count = *operand_slot(ir, record, record->operand_count + 2 * index + 1);
  if (out_count) *out_count = count;
  if (out_first_operand) *out_first_operand = record->operand_count - after - count;
  return *operand_slot(ir, record, record->operand_count + 2 * index);
}

const struct tide_ir_op_info *tide_ir_op_info(const struct tide_ir *ir, tide_ir_op op) {
  static const struct tide_ir_attribute_info none[] = {{0, TIDE_WANT_ANY, false}};
  static const struct tide_ir_op_info other = {"", "*>*", 0, TIDE_IR_ANY, TIDE_FORM_GENERIC, none};
  unsigned kind = tide_ir_op_kind(ir, op);
  return kind < TIDE_IR_KINDS ? &tide_ir_ops[kind] : &other;
}

tide_ir_attr tide_ir_get(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name) {
  return tide_ir_attr_find(ir, tide_ir_op_of(ir, op)->attributes, name);
}

bool tide_ir_has(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name) {
  return tide_ir_get(ir, op, name) != 0;
}

int64_t tide_ir_get_integer(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name,
                            int64_t fallback) {
  tide_ir_attr attr = tide_ir_get(ir, op, name);
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
  if (!attr) return fallback;
  bool number = record->kind == TIDE_IR_ATTR_INTEGER || record->kind == TIDE_IR_ATTR_BOOL;
  return number ? record->integer : fallback;
}

const char *tide_ir_get_text(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name) {
  tide_ir_attr attr = tide_ir_get(ir, op, name);
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
  if (!attr) return NULL;
  if (record->kind == TIDE_IR_ATTR_STRING) return tide_ir_string_text(ir, record->string, NULL);
  if (record->kind == TIDE_IR_ATTR_SYMBOL && record->count)
    return tide_ir_string_text(ir, tide_ir_item(ir, record->items, record->count - 1), NULL);
  return NULL;
}

void tide_ir_set(struct tide_ir *ir, tide_ir_op op, tide_ir_string name, tide_ir_attr value) {
  struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  const struct tide_ir_attr_record *old = tide_ir_attr_of(ir, record->attributes);
  uint32_t count = record->attributes ? old->count / 2 : 0, kept = 0;
  struct tide_ir_named *items = tide_alloc_unset(ir->allocator, count + 1, sizeof *items);
  if (!items || !op || !name) {
    if (!items) tide_ir_give_up(ir, TIDE_NOMEM);
    tide_free(ir->allocator, items, count + 1, sizeof *items);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    tide_ir_string old_name = tide_ir_item(ir, old->items, 2 * i);
    if (old_name == name) continue;
    items[kept++] = (struct tide_ir_named){old_name, tide_ir_item(ir, old->items, 2 * i + 1)};
  }
  if (value) items[kept++] = (struct tide_ir_named){name, value};
  record->attributes = tide_ir_attr_dictionary(ir, items, kept);
  tide_free(ir->allocator, items, count + 1, sizeof *items);
}

/* ---- around an operation ---- */

tide_ir_op tide_ir_parent(const struct tide_ir *ir, tide_ir_op op) {
  tide_ir_block block = tide_ir_op_of(ir, op)->block;
  return tide_ir_region_of(ir, tide_ir_block_of(ir, block)->region)->parent;
}

tide_ir_op tide_ir_ancestor(const struct tide_ir *ir, tide_ir_op op, enum tide_ir_kind kind) {
  do op = tide_ir_parent(ir, op);
  while (op && tide_ir_op_kind(ir, op) != kind);
  return op;
}

tide_ir_op tide_ir_terminator(const struct tide_ir *ir, tide_ir_block block) {
  return tide_ir_block_of(ir, block)->last;
}

bool tide_ir_before(const struct tide_ir *ir, tide_ir_op a, tide_ir_op b) {
  for (a = tide_ir_op_of(ir, a)->next; a; a = tide_ir_op_of(ir, a)->next)
    if (a == b) return true;
  return false;
}

tide_ir_op tide_ir_in_block(const struct tide_ir *ir, tide_ir_op op, tide_ir_block block) {
  while (op && tide_ir_op_of(ir, op)->block != block) op = tide_ir_parent(ir, op);
  return op;
}

tide_ir_op tide_ir_symbol(const struct tide_ir *ir, tide_ir_op table, tide_ir_string name) {
  tide_ir_op op = tide_ir_block_of(ir, tide_ir_body(ir, table, 0))->first;
  for (; op; op = tide_ir_op_of(ir, op)->next) {
    tide_ir_attr attr = tide_ir_get(ir, op, TIDE_NAME_SYM_NAME);
    const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
    if (attr && record->kind == TIDE_IR_ATTR_STRING && record->string == name) return op;
  }
  return 0;
}

/* Returns the first operation in the regions of `op`; 0: none. */
static tide_ir_op first_inside(const struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  for (uint32_t i = 0; i < record->region_count; i++) {
    tide_ir_block block = tide_ir_region_of(ir, record->regions + i)->first;
    for (; block; block = tide_ir_block_of(ir, block)->next)
      if (tide_ir_block_of(ir, block)->first) return tide_ir_block_of(ir, block)->first;
  }
  return 0;
}

/* Returns the first operation behind a block, in its parent's later blocks and regions; 0: none. */
static tide_ir_op first_behind(const struct tide_ir *ir, tide_ir_block block, tide_ir_op parent) {
  tide_ir_region region = tide_ir_block_of(ir, block)->region;
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, parent);
  block = tide_ir_block_of(ir, block)->next;
  for (;;) {
    for (; block; block = tide_ir_block_of(ir, block)->next)
      if (tide_ir_block_of(ir, block)->first) return tide_ir_block_of(ir, block)->first;
    if (++region >= record->regions + record->region_count) return 0;
    block = tide_ir_region_of(ir, region)->first;
  }
}

tide_ir_op tide_ir_walk_next(const struct tide_ir *ir, tide_ir_op root, tide_ir_op op, bool into) {
  tide_ir_op inside = into ? first_inside(ir, op) : 0;
  if (inside) return inside;
  while (op != root) {
    const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
    if (record->next) return record->next;
    tide_ir_op parent = tide_ir_parent(ir, op);
    tide_ir_op behind = first_behind(ir, record->block, parent);
    if (behind) return behind;
    if (!parent) return 0;
    op = parent;
  }
  return 0;
}
