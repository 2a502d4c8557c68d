/* Checks all rules, over a whole module. */
#include "mods/verify.h"
#include "mods/intern.h"
#include "base/alloc.h"

void tide_cluster_shape(const struct tide_ir *ir, tide_ir_op op, uint32_t shape[3]) {
  tide_ir_op module = tide_ir_op_kind(ir, op) == TIDE_OP_GPU_MODULE
                          ? op
                          : tide_ir_ancestor(ir, op, TIDE_OP_GPU_MODULE);
  tide_ir_attr attr = module ? tide_ir_get(ir, module, TIDE_NAME_CLUSTER_SHAPE) : 0;
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
  bool good = attr && record->kind == TIDE_IR_ATTR_DENSE && record->count == 6;
  shape[0] = shape[1] = shape[2] = 1;
  for (uint32_t i = 0; i < 3 && good; i++) {
    int64_t size = tide_ir_attr_element(ir, attr, i);
    if (size >= 1 && size <= 16) shape[i] = (uint32_t)size;
  }
}

/* ---- rules of the table ---- */

static bool check_row(struct tide_ir *ir, tide_ir_op op) {
  struct tide_misfit m = tide_ir_misfit(ir, op);
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  tide_ir_type type;
  switch (m.kind) {
    case TIDE_FITS: return true;
    case TIDE_MISFIT_OPERANDS:
      return tide_ir_op_error(ir, op, "expected %u operands, but found %u", m.index,
                              record->operand_count);
    case TIDE_MISFIT_RESULTS:
      return tide_ir_op_error(ir, op, "expected %u results, but found %u", m.index,
                              record->result_count);
    case TIDE_MISFIT_OPERAND:
      type = tide_ir_type_of_value(ir, tide_ir_operand(ir, op, m.index));
      return tide_ir_op_error(ir, op, "operand #%u must be %s, but got '%s'", m.index, m.want,
                              tide_ir_type_name(ir, type).text);
    case TIDE_MISFIT_RESULT:
      type = tide_ir_value_of(ir, record->results + m.index)->type;
      return tide_ir_op_error(ir, op, "result #%u must be %s, but got '%s'", m.index, m.want,
                              tide_ir_type_name(ir, type).text);
    case TIDE_MISFIT_SAME:
      return tide_ir_op_error(ir, op, "requires operands #%u and #%u to have the same type",
                              m.other, m.index);
    case TIDE_MISFIT_SAME_RESULT:
      return tide_ir_op_error(ir, op, "requires the same type for operand #%u and result #%u",
                              m.other, m.index);
    case TIDE_MISFIT_NO_ATTR:
      return tide_ir_op_error(ir, op, "requires attribute '%s'",
                              tide_ir_string_text(ir, m.index, NULL));
    case TIDE_MISFIT_ATTR:
      return tide_ir_op_error(ir, op, "attribute '%s' failed to satisfy constraint: %s attribute",
                              tide_ir_string_text(ir, m.index, NULL), m.want);
    case TIDE_MISFIT_REGIONS:
      return tide_ir_op_error(ir, op, "requires %u region%s, but found %u", m.index,
                              m.index == 1 ? "" : "s", record->region_count);
    case TIDE_MISFIT_SUCCESSORS:
      return tide_ir_op_error(ir, op, "requires %u successor%s but found %u", m.index,
                              m.index == 1 ? "" : "s", record->successor_count);
  }
  return true;
}

static bool check_block(struct tide_ir *ir, tide_ir_op op, tide_ir_block block, bool open) {
  tide_ir_op last = tide_ir_block_of(ir, block)->last;
  if (!last) {
    return open || tide_ir_error(ir, tide_ir_location_of(ir, op),
                                 "'%s' op has an empty block: expect at least a terminator",
                                 tide_ir_op_name(ir, op));
  }
  bool known = tide_ir_op_kind(ir, last) < TIDE_IR_KINDS;
  if (!open && known && !(tide_ir_op_info(ir, last)->traits & TIDE_IR_TERMINATOR))
    return tide_ir_error(ir, tide_ir_location_of(ir, last), "block with no terminator, has '%s'",
                         tide_ir_op_name(ir, last));
  return true;
}

static bool check_regions(struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  uint32_t traits = tide_ir_op_info(ir, op)->traits;
  bool open = traits & TIDE_IR_OPEN || record->kind >= TIDE_IR_KINDS;
  bool good = true;
  if (record->kind == TIDE_OP_BUILTIN_MODULE && tide_ir_body(ir, op, 0) &&
      tide_ir_block_of(ir, tide_ir_body(ir, op, 0))->argument_count)
    return tide_ir_op_error(ir, op, "region should have no arguments");
  for (uint32_t i = 0; i < record->region_count; i++) {
    const struct tide_ir_region_record *region = tide_ir_region_of(ir, record->regions + i);
    bool may_be_empty = record->kind == TIDE_OP_SCF_IF ? i == 1 : !(traits & TIDE_IR_ONE_BLOCK);
    if (traits & TIDE_IR_ONE_BLOCK && region->first != region->last)
      good = tide_ir_op_error(ir, op, "expects region #%u to have 0 or 1 blocks", i);
    if (!region->first && !may_be_empty && record->kind < TIDE_IR_KINDS)
      good = tide_ir_op_error(ir, op, "region #%u must not be empty", i);
    for (tide_ir_block b = region->first; b; b = tide_ir_block_of(ir, b)->next)
      good = check_block(ir, op, b, open) && good;
  }
  return good;
}

/* Returns the required terminator of the operation's blocks; TIDE_OP_NONE: any terminator. */
static unsigned end_of(unsigned kind) {
  switch (kind) {
    case TIDE_OP_SCF_FOR:
    case TIDE_OP_SCF_IF: return TIDE_OP_SCF_YIELD;
    case TIDE_OP_ASYNC_EXEC: return TIDE_OP_ASYNC_YIELD;
    case TIDE_OP_GPU_MODULE: return TIDE_OP_GPU_MODULE_END;
    default: return TIDE_OP_NONE;
  }
}

static bool check_ends(struct tide_ir *ir, tide_ir_op op) {
  unsigned end = end_of(tide_ir_op_kind(ir, op));
  for (uint32_t i = 0; end && i < tide_ir_op_of(ir, op)->region_count; i++) {
    tide_ir_block block = tide_ir_body(ir, op, i);
    tide_ir_op last = tide_ir_terminator(ir, block);
    if (!last || tide_ir_op_kind(ir, last) == end) continue;
    tide_ir_op_error(ir, op, "expects regions to end with '%s', found '%s'", tide_ir_ops[end].name,
                     tide_ir_op_name(ir, last));
    return tide_ir_note(ir, tide_ir_location_of(ir, last),
                        "in custom textual format, the absence of terminator implies '%s'",
                        tide_ir_ops[end].name);
  }
  return true;
}

/* Checks that a terminator is the last operation of its block. */
static bool check_place(struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  if (tide_ir_op_info(ir, op)->traits & TIDE_IR_TERMINATOR && record->next)
    return tide_ir_op_error(ir, op, "must be the last operation in the parent block");
  return true;
}

static void verify_all(struct tide_verifier *verifier) {
  struct tide_ir *ir = verifier->ir;
  uint32_t before = ir->errors;
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true)) {
    if (!check_row(ir, op) || !check_regions(ir, op) || !check_ends(ir, op) || !check_place(ir, op))
      continue;
    tide_verify_op(verifier, op);
    tide_verify_flow(verifier, op);
  }
  /* The checks below rely on those above. */
  if (!tide_verify_dominance(verifier) || !tide_verify_symbols(verifier)) return;
  if (ir->errors != before) return;
  tide_verify_states(verifier);
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true))
    tide_verify_cutlass(verifier, op);
  tide_verify_windows(verifier);
}

enum tide_status tide_ir_verify(struct tide_ir *ir, const struct tide_ir_verify_params *params) {
  struct tide_verifier verifier = {.ir = ir,
                                   .partial = params ? params->partial : TIDE_IR_PARTIAL_REFUSED,
                                   .op_count = ir->ops.count,
                                   .value_count = ir->values.count};
  uint32_t before = ir->errors;
  if (ir->status != TIDE_OK) return ir->status;
  if (!ir->module) return TIDE_INVALID;
  verifier.order = tide_alloc(ir->allocator, verifier.op_count, sizeof(uint32_t));
  verifier.roots = tide_alloc(ir->allocator, verifier.value_count, sizeof(uint32_t));
  verifier.windows = tide_alloc(ir->allocator, verifier.op_count, sizeof(uint32_t));
  if (verifier.order && verifier.roots && verifier.windows) verify_all(&verifier);
  else tide_ir_give_up(ir, TIDE_NOMEM);
  tide_free(ir->allocator, verifier.order, verifier.op_count, sizeof(uint32_t));
  tide_free(ir->allocator, verifier.roots, verifier.value_count, sizeof(uint32_t));
  tide_free(ir->allocator, verifier.windows, verifier.op_count, sizeof(uint32_t));
  if (ir->status != TIDE_OK) return ir->status;
  return ir->errors == before ? TIDE_OK : TIDE_CORRUPT;
}
