/* The lowering pass: kernel by kernel, first the operations in the regions, then the regions, then
 * the types. */
#include "mods/lower_build.h"
#include "mods/barrier_pool.h"
#include "mods/warps.h"
#include "base/alloc.h"
#include "base/text.h"

static bool is_cutlass(unsigned kind) {
  return kind >= TIDE_OP_ASYNC_EXEC && kind <= TIDE_OP_MODS_THROTTLE;
}

static void lower_one(struct tide_lower *l, tide_ir_op op) {
  unsigned kind = tide_ir_op_kind(l->ir, op);
  if (kind >= TIDE_OP_MODS_START) tide_lower_mods(l, op);
  else if (kind >= TIDE_OP_SCHED_STATIC) tide_lower_schedule(l, op);
  else if (kind >= TIDE_OP_PIPELINE_INIT) tide_lower_pipeline(l, op);
}

/* ---- the setup by the CTA's first thread ---- */

static void set_up(struct tide_lower *l, const struct tide_lower_slot *slot) {
  for (uint32_t i = 0; i < slot->count; i++) {
    tide_ir_value address = tide_lower_slot_address(l, slot->slot + i);
    tide_ir_value value = tide_lower_i32(l, slot->value);
    if (slot->words) {
      tide_lower_store(l, value, address, true);
      tide_lower_store(l, value, tide_lower_offset(l, address, l->i32, 1), true);
    } else {
      tide_ir_value operands[] = {address, value};
      tide_lower_op(l, TIDE_OP_NVVM_MBARRIER_INIT_SHARED, operands, 2, 0, 0);
    }
  }
}

/* Sets up all barriers at the last pipeline's or sequence barrier's init, else at the kernel's
 * start. They share one synchronization. */
static void build_prologue(struct tide_lower *l) {
  if (!l->early_count) return;
  tide_ir_block entry = tide_ir_body(l->ir, l->function, 0);
  tide_ir_op place =
      l->init_count ? l->inits[l->init_count - 1] : tide_ir_block_of(l->ir, entry)->first;
  tide_lower_at(l, place);
  tide_ir_value leads = tide_lower_compare(l, TIDE_EQ, tide_lower_register(l, TIDE_OP_NVVM_TID_X),
                                           tide_lower_i32(l, 0));
  struct tide_lower_inside inside = tide_lower_if(l, leads);
  for (uint32_t i = 0; i < l->early_count; i++) set_up(l, &l->early[i]);
  tide_lower_op(l, TIDE_OP_NVVM_FENCE_MBARRIER_INIT, NULL, 0, 0, 0);
  tide_lower_leave(l, &inside);
  tide_lower_cluster_sync(l);
}

/* Declares the shared memory of the kernel's barriers, before the kernel. */
static void declare_memory(struct tide_lower *l) {
  if (!l->slots) return;
  tide_lower_at(l, l->function);
  tide_ir_type type = tide_ir_type_get(l->ir, TIDE_IR_LLVM_ARRAY, l->i64, l->slots);
  static const char internal[] = "#llvm.linkage<internal>";
  struct tide_ir_named named[] = {
      {TIDE_NAME_SYM_NAME, tide_ir_attr_text(l->ir, tide_ir_string_text(l->ir, l->barriers, NULL))},
      {TIDE_NAME_GLOBAL_TYPE, tide_ir_attr_type(l->ir, type)},
      {TIDE_NAME_LINKAGE, tide_ir_attr_opaque(l->ir, internal, sizeof internal - 1, 0)},
      {TIDE_NAME_ADDR_SPACE, tide_ir_attr_i32(l->ir, 3)},
      {TIDE_NAME_ALIGNMENT, tide_ir_attr_i64(l->ir, 8)},
      {TIDE_NAME_DSO_LOCAL, tide_ir_attr_unit(l->ir)}};
  tide_ir_op global = tide_ir_build(&l->b, TIDE_OP_LLVM_GLOBAL, NULL, 0, NULL, 0,
                                    tide_ir_attr_dictionary(l->ir, named, 6), 1);
  if (!global) return;
  tide_ir_block block = tide_ir_block_create(l->ir, NULL, 0);
  tide_ir_block_append(l->ir, tide_ir_region_at(l->ir, global, 0), block);
  l->b.block = block;
  l->b.before = 0;
  tide_ir_value nothing = tide_lower_op(l, TIDE_OP_LLVM_UNDEF, NULL, 0, type, 0);
  tide_lower_op(l, TIDE_OP_LLVM_RETURN, &nothing, 1, 0, 0);
}

/* ---- async regions ---- */

static tide_ir_value build_warp_test(struct tide_lower *l, tide_ir_op op) {
  struct tide_warps warps = tide_warps_of(l->ir, op);
  tide_ir_value warp = tide_lower_binary(
      l, TIDE_OP_ARITH_SHRUI, tide_lower_register(l, TIDE_OP_NVVM_TID_X), tide_lower_i32(l, 5));
  warp = tide_lower_binary(l, TIDE_OP_ARITH_SUBI, warp, tide_lower_i32(l, warps.first));
  return tide_lower_compare(l, TIDE_ULT, warp, tide_lower_i32(l, warps.end - warps.first));
}

static void lower_region(struct tide_lower *l, tide_ir_op op) {
  tide_ir_op end = tide_ir_terminator(l->ir, tide_ir_body(l->ir, op, 0));
  tide_lower_at(l, op);
  tide_ir_value condition = build_warp_test(l, op);
  tide_ir_op taken = tide_ir_build(&l->b, TIDE_OP_SCF_IF, &condition, 1, NULL, 0, 0, 2);
  if (!taken) return;
  tide_ir_region_take(l->ir, tide_ir_region_at(l->ir, taken, 0), tide_ir_region_at(l->ir, op, 0));
  tide_ir_erase(l->ir, op);
  if (end) tide_ir_op_of(l->ir, end)->kind = TIDE_OP_SCF_YIELD; /* not erased: the walk is here */
}

/* Replaces the regions, and erases the operations that the first walk kept for reference. */
static void second_walk(struct tide_lower *l) {
  for (tide_ir_op op = l->function, next; op; op = next) {
    next = tide_ir_walk_next(l->ir, l->function, op, true);
    unsigned kind = tide_ir_op_kind(l->ir, op);
    if (kind == TIDE_OP_ASYNC_EXEC) lower_region(l, op);
    else if (kind == TIDE_OP_MODS_START) tide_ir_erase(l->ir, op);
  }
  for (uint32_t i = 0; i < l->init_count; i++) tide_ir_erase(l->ir, l->inits[i]);
}

/* ---- types ---- */

static tide_ir_type lowered_type(struct tide_lower *l, tide_ir_type type) {
  if (!type) return 0;
  switch (tide_ir_type_of(l->ir, type)->kind) {
    case TIDE_IR_PIPELINE:
    case TIDE_IR_SEQ_BAR: return l->shared;
    case TIDE_IR_PIPELINE_STATE: return l->state;
    case TIDE_IR_TILE_SCHEDULER: return tide_lower_scheduler_type(l->ir);
    case TIDE_IR_WORK_TILE: return l->tile;
    default: return type;
  }
}

static void lower_values(struct tide_lower *l, tide_ir_value first, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    struct tide_ir_value_record *value = tide_ir_value_of(l->ir, first + i);
    value->type = lowered_type(l, value->type);
  }
}

static void lower_arguments(struct tide_lower *l, tide_ir_op op) {
  for (uint32_t r = 0; r < tide_ir_op_of(l->ir, op)->region_count; r++)
    for (tide_ir_block block = tide_ir_body(l->ir, op, r); block;
         block = tide_ir_block_of(l->ir, block)->next) {
      const struct tide_ir_block_record *record = tide_ir_block_of(l->ir, block);
      lower_values(l, record->arguments, record->argument_count);
    }
}

static void lower_types(struct tide_lower *l) {
  for (tide_ir_op op = l->function; op; op = tide_ir_walk_next(l->ir, l->function, op, true)) {
    const struct tide_ir_op_record *record = tide_ir_op_of(l->ir, op);
    lower_values(l, record->results, record->result_count);
    lower_arguments(l, op);
  }
}

/* ---- a kernel ---- */

static bool signature_fits(struct tide_lower *l) {
  const struct tide_ir_block_record *entry =
      tide_ir_block_of(l->ir, tide_ir_body(l->ir, l->function, 0));
  for (uint32_t i = 0; i < entry->argument_count; i++) {
    tide_ir_type type = tide_ir_type_of_value(l->ir, entry->arguments + i);
    if (lowered_type(l, type) != type)
      return tide_lower_error(l, l->function, "takes an argument of the cutlass dialect");
  }
  return true;
}

static void begin_function(struct tide_lower *l, tide_ir_op module, tide_ir_op function) {
  char name[256];
  struct tide_text text;
  l->module = module;
  l->function = function;
  l->slots = l->known_count = l->region_count = l->early_count = l->init_count = 0;
  l->next_id = TIDE_POOL_FIRST;
  l->taken_ids = tide_pool_taken(l->ir, function, NULL);
  tide_text_init(&text, name, sizeof name);
  tide_text_format(&text, "%s_barriers", tide_ir_get_text(l->ir, function, TIDE_NAME_SYM_NAME));
  l->barriers = tide_ir_intern_text(l->ir, name);
}

static void lower_kernel(struct tide_lower *l, tide_ir_op module, tide_ir_op function) {
  if (!tide_ir_body(l->ir, function, 0)) return;
  begin_function(l, module, function);
  if (!signature_fits(l)) return;
  for (tide_ir_op op = function, next; op && !l->failed; op = next) {
    next = tide_ir_walk_next(l->ir, function, op, true);
    if (!is_cutlass(tide_ir_op_kind(l->ir, op))) continue;
    tide_lower_at(l, op);
    lower_one(l, op);
  }
  if (l->failed || l->ir->status != TIDE_OK) return;
  build_prologue(l);
  second_walk(l);
  lower_types(l);
  declare_memory(l);
}

static void cluster_of(struct tide_lower *l, tide_ir_op module) {
  tide_ir_attr shape = tide_ir_get(l->ir, module, TIDE_NAME_CLUSTER_SHAPE);
  bool known = shape && tide_ir_attr_of(l->ir, shape)->kind == TIDE_IR_ATTR_DENSE &&
               tide_ir_attr_of(l->ir, shape)->count == 6; /* element pairs: low, high bits */
  for (uint32_t i = 0; i < 3; i++)
    l->cluster[i] = known ? (uint32_t)tide_ir_attr_element(l->ir, shape, i) : 1;
}

static void lower_kernels(struct tide_lower *l, tide_ir_op module) {
  cluster_of(l, module);
  for (tide_ir_op op = tide_ir_block_of(l->ir, tide_ir_body(l->ir, module, 0))->first, next; op;
       op = next) {
    next = tide_ir_op_of(l->ir, op)->next;
    if (tide_ir_op_kind(l->ir, op) == TIDE_OP_GPU_FUNC && !l->failed) lower_kernel(l, module, op);
  }
}

static void init_types(struct tide_lower *l) {
  l->i1 = tide_ir_integer(l->ir, 1);
  l->i32 = tide_ir_integer(l->ir, 32);
  l->i64 = tide_ir_integer(l->ir, 64);
  l->shared = tide_ir_type_get(l->ir, TIDE_IR_LLVM_POINTER, 3, 0);
  l->pointer = tide_ir_type_get(l->ir, TIDE_IR_LLVM_POINTER, 0, 0);
  l->state = tide_ir_type_with(l->ir, TIDE_IR_LLVM_STRUCT, 0, (uint32_t[]){l->i32, l->i32}, 2);
  l->tile = tide_lower_tile_type(l->ir);
}

static void left_over(struct tide_lower *l) {
  for (tide_ir_op op = l->ir->module; op; op = tide_ir_walk_next(l->ir, l->ir->module, op, true))
    if (is_cutlass(tide_ir_op_kind(l->ir, op)))
      tide_lower_error(l, op, "stands outside of a gpu.func, where nothing lowers it");
}

static void lower_modules(struct tide_lower *l) {
  for (tide_ir_op op = tide_ir_walk_next(l->ir, l->ir->module, l->ir->module, true); op;
       op = tide_ir_walk_next(l->ir, l->ir->module, op, false))
    if (tide_ir_op_kind(l->ir, op) == TIDE_OP_GPU_MODULE && tide_ir_body(l->ir, op, 0))
      lower_kernels(l, op);
  if (!l->failed) left_over(l);
  if (l->failed || l->params.form == TIDE_LOWER_MODS) return;
  tide_lower_names(l->ir);
  if (!tide_lower_blocks(l->ir) || !tide_lower_llvm(l->ir) || !tide_lower_functions(l->ir) ||
      !tide_lower_check(l->ir))
    l->failed = true;
}

enum tide_status tide_lower(struct tide_ir *ir, const struct tide_lower_params *params) {
  if (!ir->module || ir->status != TIDE_OK) return ir->status;
  struct tide_lower *l = tide_alloc(ir->allocator, 1, sizeof *l);
  if (!l) return TIDE_NOMEM;
  *l = (struct tide_lower){.ir = ir, .b = {.ir = ir}};
  if (params) l->params = *params;
  init_types(l);
  if (l->params.form == TIDE_LOWER_MODS || tide_lower_admit(ir)) lower_modules(l);
  else l->failed = true;
  enum tide_status status = ir->status != TIDE_OK ? ir->status : l->failed ? TIDE_CORRUPT : TIDE_OK;
  tide_free(ir->allocator, l, 1, sizeof *l);
  return status;
}
