/* Creation and modification of operations and blocks. */
#include "mods/ir.h"
#include "mods/intern.h"

static uint32_t *operand_slot(const struct tide_ir *ir, const struct tide_ir_op_record *op,
                              uint32_t index) {
  return tide_chunks_at(&ir->slots, op->operands + index);
}

static void count_uses(struct tide_ir *ir, tide_ir_value value, uint32_t count) {
  if (value) tide_ir_value_of(ir, value)->uses += count;
}

/* ---- operations ---- */

static bool fits_limits(const struct tide_ir_op_params *params) {
  return params->kind && params->operand_count <= TIDE_IR_OPERANDS_MAX &&
         params->result_count <= TIDE_IR_OPERANDS_MAX &&
         params->region_count <= TIDE_IR_REGIONS_MAX &&
         params->successor_count <= TIDE_IR_REGIONS_MAX &&
         params->operand_count + 2 * params->successor_count < TIDE_CHUNK_COUNT;
}

static bool add_operands(struct tide_ir *ir, struct tide_ir_op_record *op,
                         const struct tide_ir_op_params *params) {
  size_t count = params->operand_count + 2 * params->successor_count;
  if (!count) return true;
  op->operands = tide_chunks_add(&ir->slots, (uint32_t)count, true);
  if (!op->operands) return tide_ir_give_up(ir, TIDE_NOMEM);
  uint32_t *slots = operand_slot(ir, op, 0);
  for (size_t i = 0; i < params->operand_count; i++) {
    *slots++ = params->operands[i];
    count_uses(ir, params->operands[i], 1);
  }
  for (size_t i = 0; i < params->successor_count; i++) {
    *slots++ = params->successors[i];
    *slots++ = params->successor_counts ? params->successor_counts[i] : 0;
  }
  op->operand_count = (uint16_t)params->operand_count;
  op->successor_count = (uint8_t)params->successor_count;
  return true;
}

static bool add_results(struct tide_ir *ir, struct tide_ir_op_record *op, tide_ir_op number,
                        const struct tide_ir_op_params *params) {
  if (!params->result_count) return true;
  op->results = tide_chunks_add(&ir->values, (uint32_t)params->result_count, false);
  if (!op->results) return tide_ir_give_up(ir, TIDE_NOMEM);
  for (uint32_t i = 0; i < params->result_count; i++) {
    struct tide_ir_value_record *value = tide_ir_value_of(ir, op->results + i);
    value->type = params->results[i];
    value->owner = number;
  }
  op->result_count = (uint16_t)params->result_count;
  return true;
}

static bool add_regions(struct tide_ir *ir, struct tide_ir_op_record *op, tide_ir_op number,
                        uint32_t count) {
  if (!count) return true;
  op->regions = tide_chunks_add(&ir->regions, count, false);
  if (!op->regions) return tide_ir_give_up(ir, TIDE_NOMEM);
  for (uint32_t i = 0; i < count; i++) tide_ir_region_of(ir, op->regions + i)->parent = number;
  op->region_count = (uint8_t)count;
  return true;
}

tide_ir_op tide_ir_op_create(struct tide_ir *ir, const struct tide_ir_op_params *params) {
  if (ir->status != TIDE_OK) return 0;
  if (!fits_limits(params)) return tide_ir_give_up(ir, TIDE_FULL);
  tide_ir_op number = tide_chunks_add(&ir->ops, 1, true);
  if (!number) return tide_ir_give_up(ir, TIDE_NOMEM);
  struct tide_ir_op_record *op = tide_ir_op_of(ir, number);
  op->kind = params->kind;
  op->attributes = params->attributes;
  op->location = params->location;
  if (!add_operands(ir, op, params) || !add_results(ir, op, number, params) ||
      !add_regions(ir, op, number, params->region_count))
    return 0;
  ir->op_count++;
  return number;
}

void tide_ir_set_operand(struct tide_ir *ir, tide_ir_op op, uint32_t index, tide_ir_value value) {
  struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  if (index >= record->operand_count) return;
  tide_ir_value old = tide_ir_resolve(ir, *operand_slot(ir, record, index));
  if (old) tide_ir_value_of(ir, old)->uses--;
  *operand_slot(ir, record, index) = value;
  count_uses(ir, value, 1);
}

void tide_ir_replace_all(struct tide_ir *ir, tide_ir_value old_value, tide_ir_value new_value) {
  old_value = tide_ir_resolve(ir, old_value);
  new_value = tide_ir_resolve(ir, new_value);
  if (!old_value || !new_value || old_value == new_value) return;
  struct tide_ir_value_record *old = tide_ir_value_of(ir, old_value);
  count_uses(ir, new_value, old->uses);
  *old = (struct tide_ir_value_record){.type = 0, .owner = new_value};
}

/* ---- blocks ---- */

tide_ir_block tide_ir_block_create(struct tide_ir *ir, const tide_ir_type *arguments,
                                   size_t count) {
  if (ir->status != TIDE_OK) return 0;
  if (count > TIDE_IR_OPERANDS_MAX) return tide_ir_give_up(ir, TIDE_FULL);
  tide_ir_block number = tide_chunks_add(&ir->blocks, 1, true);
  if (!number) return tide_ir_give_up(ir, TIDE_NOMEM);
  struct tide_ir_block_record *block = tide_ir_block_of(ir, number);
  if (!count) return number;
  block->arguments = tide_chunks_add(&ir->values, (uint32_t)count, false);
  if (!block->arguments) return tide_ir_give_up(ir, TIDE_NOMEM);
  block->argument_count = (uint32_t)count;
  for (uint32_t i = 0; i < count; i++) {
    struct tide_ir_value_record *value = tide_ir_value_of(ir, block->arguments + i);
    value->type = arguments[i];
    value->owner = number | TIDE_IR_ARGUMENT;
  }
  return number;
}

void tide_ir_block_append(struct tide_ir *ir, tide_ir_region region, tide_ir_block block) {
  if (!region || !block) return;
  struct tide_ir_region_record *list = tide_ir_region_of(ir, region);
  struct tide_ir_block_record *record = tide_ir_block_of(ir, block);
  record->region = region;
  record->prev = list->last;
  record->next = 0;
  if (list->last) tide_ir_block_of(ir, list->last)->next = block;
  else list->first = block;
  list->last = block;
}

void tide_ir_region_take(struct tide_ir *ir, tide_ir_region to, tide_ir_region from) {
  struct tide_ir_region_record *list = tide_ir_region_of(ir, from);
  tide_ir_block block = list->first;
  if (!to || !from || to == from) return;
  list->first = list->last = 0;
  while (block) {
    tide_ir_block next = tide_ir_block_of(ir, block)->next;
    tide_ir_block_append(ir, to, block);
    block = next;
  }
}

void tide_ir_insert(struct tide_ir *ir, tide_ir_block block, tide_ir_op before, tide_ir_op op) {
  if (!block || !op) return;
  struct tide_ir_block_record *list = tide_ir_block_of(ir, block);
  struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  tide_ir_op prev = before ? tide_ir_op_of(ir, before)->prev : list->last;
  record->block = block;
  record->prev = prev;
  record->next = before;
  if (prev) tide_ir_op_of(ir, prev)->next = op;
  else list->first = op;
  if (before) tide_ir_op_of(ir, before)->prev = op;
  else list->last = op;
}

void tide_ir_remove(struct tide_ir *ir, tide_ir_op op) {
  struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  if (!op || !record->block) return;
  struct tide_ir_block_record *list = tide_ir_block_of(ir, record->block);
  if (record->prev) tide_ir_op_of(ir, record->prev)->next = record->next;
  else list->first = record->next;
  if (record->next) tide_ir_op_of(ir, record->next)->prev = record->prev;
  else list->last = record->prev;
  record->block = record->prev = record->next = 0;
}

void tide_ir_move_tail(struct tide_ir *ir, tide_ir_op first, tide_ir_block to) {
  while (first) {
    tide_ir_op next = tide_ir_op_of(ir, first)->next;
    tide_ir_remove(ir, first);
    tide_ir_insert(ir, to, 0, first);
    first = next;
  }
}

void tide_ir_erase(struct tide_ir *ir, tide_ir_op op) {
  if (!op) return;
  for (tide_ir_op at = op; at; at = tide_ir_walk_next(ir, op, at, true)) {
    const struct tide_ir_op_record *record = tide_ir_op_of(ir, at);
    for (uint32_t i = 0; i < record->operand_count; i++) {
      tide_ir_value value = tide_ir_operand(ir, at, i);
      if (value) tide_ir_value_of(ir, value)->uses--;
    }
    ir->op_count--;
  }
  tide_ir_remove(ir, op);
  if (ir->module == op) ir->module = 0;
}

/* ---- the builder ---- */

tide_ir_op tide_ir_build(struct tide_ir_builder *builder, enum tide_ir_kind kind,
                         const tide_ir_value *operands, size_t operand_count,
                         const tide_ir_type *results, size_t result_count, tide_ir_attr attributes,
                         uint32_t region_count) {
  struct tide_ir_op_params params = {.kind = (uint16_t)kind,
                                     .location = builder->location,
                                     .operands = operands,
                                     .operand_count = operand_count,
                                     .results = results,
                                     .result_count = result_count,
                                     .attributes = attributes,
                                     .region_count = region_count};
  tide_ir_op op = tide_ir_op_create(builder->ir, &params);
  tide_ir_insert(builder->ir, builder->block, builder->before, op);
  return op;
}

tide_ir_value tide_ir_build_integer(struct tide_ir_builder *builder, tide_ir_type type,
                                    int64_t value) {
  struct tide_ir *ir = builder->ir;
  struct tide_ir_named named = {TIDE_NAME_VALUE, tide_ir_is_integer(ir, type, 1)
                                                     ? tide_ir_attr_bool(ir, value & 1)
                                                     : tide_ir_attr_integer(ir, type, value)};
  tide_ir_op op = tide_ir_build(builder, TIDE_OP_ARITH_CONSTANT, NULL, 0, &type, 1,
                                tide_ir_attr_dictionary(ir, &named, 1), 0);
  return op ? tide_ir_result(ir, op, 0) : 0;
}
