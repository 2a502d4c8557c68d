/* Implements the public header: modules, and probes inserted into them. */
#include "base/params.h"
#include "mods/verify.h"
#include "base/alloc.h"
#include "base/text.h"

struct tide_mods_module {
  struct tide_ir *ir;
  const struct tide_allocator *allocator;
  bool partial;
};

/* ---- modules ---- */

enum tide_status tide_mods_parse(const struct tide_mods_params *params,
                                 struct tide_mods_module **out_module) {
  struct tide_mods_params own;
  enum tide_status known = tide_params_copy(&own, sizeof own, params);
  if (known != TIDE_OK) return known;
  params = &own;
  struct tide_ir_parse_params text = {.text = params->text,
                                      .length = params->length,
                                      .file = params->file,
                                      .any_operation = params->any_operation};
  *out_module = NULL;
  const struct tide_allocator *allocator = tide_allocator_or_default(params->allocator);
  if (!allocator) return TIDE_INVALID;
  struct tide_mods_module *module = tide_alloc(allocator, 1, sizeof *module);
  if (!module) return TIDE_NOMEM;
  module->allocator = allocator;
  module->partial = params->partial_masks;
  enum tide_status status = tide_ir_create(allocator, &module->ir);
  if (status == TIDE_OK) {
    module->ir->sink = params->sink;
    status = tide_ir_parse(module->ir, &text);
  }
  if (status == TIDE_OK) *out_module = module;
  else tide_mods_destroy(module);
  return status;
}

void tide_mods_destroy(struct tide_mods_module *module) {
  if (!module) return;
  tide_ir_destroy(module->ir);
  tide_free(module->allocator, module, 1, sizeof *module);
}

enum tide_status tide_mods_verify(struct tide_mods_module *module) {
  struct tide_ir_verify_params params = {.partial = module->partial ? TIDE_IR_PARTIAL_MBARRIER
                                                                    : TIDE_IR_PARTIAL_REFUSED};
  return tide_ir_verify(module->ir, &params);
}

uint64_t tide_mods_fold(struct tide_mods_module *module) { return tide_ir_fold(module->ir); }

uint64_t tide_mods_operations(const struct tide_mods_module *module) {
  return module->ir->op_count;
}

size_t tide_mods_memory(const struct tide_mods_module *module) {
  return sizeof *module + tide_ir_memory(module->ir);
}

static void append_text(void *self, const char *bytes, size_t size) {
  tide_text_bytes(self, bytes, size);
}

size_t tide_mods_print(struct tide_mods_module *module, bool generic, char *buffer, size_t size) {
  struct tide_ir_print_params params = {.generic = generic};
  struct tide_text text;
  struct tide_ir_out out = {append_text, &text};
  tide_text_init(&text, buffer, size);
  enum tide_status status = tide_ir_print(module->ir, module->ir->module, &params, &out);
  return status == TIDE_OK ? text.length : 0;
}

/* ---- positions ---- */

uint64_t tide_mods_participants(struct tide_mods_cluster cluster, enum tide_mods_mma mma) {
  bool pairs = mma == TIDE_MODS_MMA_2SM;
  if (cluster.x - 1 >= 16 || cluster.y - 1 >= 16 || cluster.z - 1 >= 16) return 0;
  uint32_t ctas = cluster.x * cluster.y * cluster.z;
  if (ctas > 16 || (pairs && cluster.x % 2)) return 0;
  return (1ull << (pairs ? ctas / 2 : ctas)) - 1;
}

static tide_ir_op function_of(const struct tide_ir *ir, const char *name) {
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true)) {
    if (tide_ir_op_kind(ir, op) != TIDE_OP_GPU_FUNC) continue;
    const char *its = tide_ir_get_text(ir, op, TIDE_NAME_SYM_NAME);
    if (its && strcmp(its, name) == 0) return op;
  }
  return 0;
}

enum tide_status tide_mods_region(struct tide_mods_module *module, const char *function,
                                  uint32_t number, struct tide_mods_cursor *out_cursor) {
  const struct tide_ir *ir = module->ir;
  tide_ir_op root = function_of(ir, function);
  for (tide_ir_op op = root; op; op = tide_ir_walk_next(ir, root, op, true)) {
    if (tide_ir_op_kind(ir, op) != TIDE_OP_ASYNC_EXEC || number-- > 0) continue;
    tide_ir_block block = tide_ir_body(ir, op, 0);
    *out_cursor = (struct tide_mods_cursor){module, block, tide_ir_block_of(ir, block)->first};
    return block ? TIDE_OK : TIDE_NOT_FOUND;
  }
  return TIDE_NOT_FOUND;
}

enum tide_status tide_mods_seek(struct tide_mods_cursor *cursor, const char *operation,
                                bool behind) {
  const struct tide_ir *ir = cursor->module->ir;
  for (tide_ir_op op = cursor->before; op; op = tide_ir_op_of(ir, op)->next) {
    if (strcmp(tide_ir_op_name(ir, op), operation) != 0) continue;
    cursor->before = behind ? tide_ir_op_of(ir, op)->next : op;
    return TIDE_OK;
  }
  return TIDE_NOT_FOUND;
}

static bool is_named(const struct tide_ir *ir, tide_ir_value first, uint32_t count,
                     const char *name) {
  size_t length = 0;
  const char *own = count ? tide_ir_value_name(ir, first, &length) : NULL;
  return own && strlen(name) == length && memcmp(own, name, length) == 0;
}

/* Returns the value `name` among a block's arguments and the results before `end`; 0: none. */
static tide_ir_value named_in(const struct tide_ir *ir, tide_ir_block block, tide_ir_op end,
                              const char *name) {
  const struct tide_ir_block_record *record = tide_ir_block_of(ir, block);
  for (uint32_t i = 0; i < record->argument_count; i++)
    if (is_named(ir, record->arguments + i, 1, name)) return record->arguments + i;
  for (tide_ir_op op = record->first; op && op != end; op = tide_ir_op_of(ir, op)->next)
    if (is_named(ir, tide_ir_op_of(ir, op)->results, tide_ir_op_of(ir, op)->result_count, name))
      return tide_ir_op_of(ir, op)->results;
  return 0;
}

enum tide_status tide_mods_find(const struct tide_mods_cursor *cursor, const char *name,
                                tide_mods_value *out_value) {
  const struct tide_ir *ir = cursor->module->ir;
  tide_ir_block block = cursor->block;
  tide_ir_op end = cursor->before;
  while (block) {
    tide_ir_value value = named_in(ir, block, end, name);
    if (value) {
      *out_value = value;
      return TIDE_OK;
    }
    end = tide_ir_region_of(ir, tide_ir_block_of(ir, block)->region)->parent;
    if (!end || tide_ir_op_info(ir, end)->traits & TIDE_IR_ISOLATED) break;
    block = tide_ir_op_of(ir, end)->block;
  }
  return TIDE_NOT_FOUND;
}

/* ---- probes ---- */

static struct tide_ir_builder builder_at(const struct tide_mods_cursor *cursor) {
  return (struct tide_ir_builder){
      .ir = cursor->module->ir, .block = cursor->block, .before = cursor->before};
}

static enum tide_status status_after(const struct tide_mods_cursor *cursor, tide_ir_op op) {
  return op                                      ? TIDE_OK
         : cursor->module->ir->status != TIDE_OK ? cursor->module->ir->status
                                                 : TIDE_NOMEM;
}

static tide_ir_attr mma_attr(struct tide_ir *ir, enum tide_mods_mma mma) {
  struct tide_ir_named named = {TIDE_NAME_IS_2CTA_MMA,
                                tide_ir_attr_bool(ir, mma == TIDE_MODS_MMA_2SM)};
  return tide_ir_attr_dictionary(ir, &named, 1);
}

enum tide_status tide_mods_mainloop_begin(struct tide_mods_cursor *cursor,
                                          tide_mods_value scheduler, enum tide_mods_mma mma,
                                          struct tide_mods_window *out_window) {
  struct tide_ir *ir = cursor->module->ir;
  struct tide_ir_builder builder = builder_at(cursor);
  tide_ir_op around = tide_ir_region_of(ir, tide_ir_block_of(ir, cursor->block)->region)->parent;
  tide_ir_type i64 = tide_ir_integer(ir, 64);
  uint32_t shape[3];
  tide_cluster_shape(ir, around, shape);
  uint64_t mask =
      tide_mods_participants((struct tide_mods_cluster){shape[0], shape[1], shape[2]}, mma);
  tide_ir_type type = scheduler < ir->values.count ? tide_ir_type_of_value(ir, scheduler) : 0;
  if (!mask || !tide_ir_type_is(ir, type, TIDE_IR_TILE_SCHEDULER)) return TIDE_INVALID;
  tide_ir_value participants = tide_ir_build_integer(&builder, i64, (int64_t)mask);
  tide_ir_op op =
      tide_ir_build(&builder, TIDE_OP_MODS_START, (tide_ir_value[]){scheduler, participants}, 2,
                    &i64, 1, mma_attr(ir, mma), 0);
  if (op)
    *out_window =
        (struct tide_mods_window){scheduler, participants, tide_ir_result(ir, op, 0), mma};
  return status_after(cursor, op);
}

enum tide_status tide_mods_mainloop_end(struct tide_mods_cursor *cursor,
                                        const struct tide_mods_window *window,
                                        tide_mods_value *out_elapsed) {
  struct tide_ir *ir = cursor->module->ir;
  struct tide_ir_builder builder = builder_at(cursor);
  tide_ir_type i64 = tide_ir_integer(ir, 64);
  tide_ir_value operands[] = {window->scheduler, window->participants, window->started};
  tide_ir_op op = tide_ir_build(&builder, TIDE_OP_MODS_END, operands, 3, &i64, out_elapsed ? 1 : 0,
                                mma_attr(ir, window->mma), 0);
  if (op && out_elapsed) *out_elapsed = tide_ir_result(ir, op, 0);
  return status_after(cursor, op);
}

enum tide_status tide_mods_report_smid(struct tide_mods_cursor *cursor, tide_mods_value *out_smid) {
  struct tide_ir_builder builder = builder_at(cursor);
  tide_ir_type i32 = tide_ir_integer(builder.ir, 32);
  tide_ir_op op = tide_ir_build(&builder, TIDE_OP_MODS_SMID, NULL, 0, &i32, 1, 0, 0);
  if (op) *out_smid = tide_ir_result(builder.ir, op, 0);
  return status_after(cursor, op);
}

enum tide_status tide_mods_throttle(struct tide_mods_cursor *cursor, uint32_t profile) {
  struct tide_ir_builder builder = builder_at(cursor);
  if (profile > 2) return TIDE_INVALID;
  struct tide_ir_named named = {TIDE_NAME_PROFILE, tide_ir_attr_i32(builder.ir, (int32_t)profile)};
  return status_after(cursor, tide_ir_build(&builder, TIDE_OP_MODS_THROTTLE, NULL, 0, NULL, 0,
                                            tide_ir_attr_dictionary(builder.ir, &named, 1), 0));
}
