/* Lowers gpu's registers and barriers to nvvm, and gpu.func and func.func to llvm.func. Moves the
 * contents of the gpu.module into the builtin.module, and sets that module's target. */
#include "mods/lower_build.h"
#include "base/alloc.h"
#include "base/text.h"

/* Without this layout LLVM splits a store of 64 bits in two. */
static const char data_layout[] = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64";
static const char triple[] = "nvptx64-nvidia-cuda";

/* ---- registers ---- */

static const struct {
  uint16_t from, x; /* y and z follow x */
} registers[] = {{TIDE_OP_GPU_THREAD_ID, TIDE_OP_NVVM_TID_X},
                 {TIDE_OP_GPU_BLOCK_ID, TIDE_OP_NVVM_CTAID_X},
                 {TIDE_OP_GPU_BLOCK_DIM, TIDE_OP_NVVM_NTID_X},
                 {TIDE_OP_GPU_GRID_DIM, TIDE_OP_NVVM_NCTAID_X},
                 {TIDE_OP_GPU_CLUSTER_ID, TIDE_OP_NVVM_CLUSTERID_X},
                 {TIDE_OP_GPU_CLUSTER_DIM, TIDE_OP_NVVM_NCLUSTERID_X},
                 {TIDE_OP_GPU_CLUSTER_BLOCK_ID, TIDE_OP_NVVM_CLUSTER_CTAID_X},
                 {TIDE_OP_GPU_CLUSTER_DIM_BLOCKS, TIDE_OP_NVVM_CLUSTER_NCTAID_X}};

/* Returns 0, 1 or 2 for the x, y or z of #gpu<dim …>. */
static uint32_t dimension_of(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_attr attr = tide_ir_get(ir, op, TIDE_NAME_DIMENSION);
  if (!attr) return 0;
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
  if (record->kind == TIDE_IR_ATTR_INTEGER) return (uint32_t)record->integer % 3;
  size_t length;
  const char *text = tide_ir_string_text(ir, record->string, &length);
  while (length && (text[length - 1] < 'x' || text[length - 1] > 'z')) length--;
  return length ? (uint32_t)(text[length - 1] - 'x') : 0;
}

static tide_ir_value build_one(struct tide_ir_builder *b, uint32_t kind, tide_ir_type type,
                               const tide_ir_value *operands, size_t count) {
  tide_ir_op op = tide_ir_build(b, (enum tide_ir_kind)kind, operands, count, &type, 1, 0, 0);
  return op ? tide_ir_result(b->ir, op, 0) : 0;
}

static tide_ir_value build_register(struct tide_ir_builder *b, uint32_t kind) {
  return build_one(b, kind, tide_ir_integer(b->ir, 32), NULL, 0);
}

static tide_ir_value build_i32(struct tide_ir_builder *b, int64_t n) {
  tide_ir_value value = tide_ir_build_integer(b, tide_ir_integer(b->ir, 32), n);
  if (value) tide_ir_op_of(b->ir, tide_ir_defining_op(b->ir, value))->kind = TIDE_OP_LLVM_CONSTANT;
  return value;
}

static tide_ir_value build_binary(struct tide_ir_builder *b, uint32_t kind, tide_ir_value x,
                                  tide_ir_value y) {
  return build_one(b, kind, tide_ir_integer(b->ir, 32), (tide_ir_value[]){x, y}, 2);
}

/* Returns the i32 value of a register operation of gpu; 0: not a register operation. */
static tide_ir_value lower_register(struct tide_ir_builder *b, tide_ir_op op) {
  struct tide_ir *ir = b->ir;
  unsigned kind = tide_ir_op_kind(ir, op);
  for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
    if (registers[i].from == kind) return build_register(b, registers[i].x + dimension_of(ir, op));
  switch (kind) {
    case TIDE_OP_GPU_GLOBAL_ID: {
      uint32_t at = dimension_of(ir, op);
      tide_ir_value before =
          build_binary(b, TIDE_OP_LLVM_MUL, build_register(b, TIDE_OP_NVVM_CTAID_X + at),
                       build_register(b, TIDE_OP_NVVM_NTID_X + at));
      return build_binary(b, TIDE_OP_LLVM_ADD, before, build_register(b, TIDE_OP_NVVM_TID_X + at));
    }
    case TIDE_OP_GPU_LANE_ID: return build_register(b, TIDE_OP_NVVM_LANEID);
    case TIDE_OP_GPU_SUBGROUP_SIZE: return build_i32(b, 32);
    case TIDE_OP_GPU_SUBGROUP_ID:
      return build_binary(b, TIDE_OP_LLVM_LSHR, build_register(b, TIDE_OP_NVVM_TID_X),
                          build_i32(b, 5));
    case TIDE_OP_GPU_NUM_SUBGROUPS:
      return build_binary(b, TIDE_OP_LLVM_LSHR,
                          build_binary(b, TIDE_OP_LLVM_ADD, build_register(b, TIDE_OP_NVVM_NTID_X),
                                       build_i32(b, 31)),
                          build_i32(b, 5));
    default: return 0;
  }
}

static void lower_gpu(struct tide_ir *ir, tide_ir_op op) {
  struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  struct tide_ir_builder b = {ir, record->block, op, tide_ir_location_of(ir, op)};
  switch (record->kind) {
    case TIDE_OP_GPU_BARRIER: record->kind = TIDE_OP_NVVM_BARRIER0; return;
    case TIDE_OP_GPU_RETURN:
    case TIDE_OP_FUNC_RETURN: record->kind = TIDE_OP_LLVM_RETURN; return;
    case TIDE_OP_FUNC_CALL: record->kind = TIDE_OP_LLVM_CALL; return;
    default: break;
  }
  tide_ir_value value = lower_register(&b, op);
  if (!value) return;
  value = build_one(&b, TIDE_OP_LLVM_ZEXT, tide_ir_integer(ir, 64), &value, 1);
  tide_ir_replace_all(ir, tide_ir_result(ir, op, 0), value);
  tide_ir_erase(ir, op);
}

/* ---- functions ---- */

static tide_ir_type index_free(struct tide_ir *ir, tide_ir_type type) {
  return tide_ir_type_is(ir, type, TIDE_IR_INDEX) ? tide_ir_integer(ir, 64) : type;
}

/* Returns the LLVM function type; 0: more than one result, or more than 64 arguments. */
static tide_ir_type function_type(struct tide_ir *ir, tide_ir_type type) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  tide_ir_type items[65];
  uint32_t inputs = record->a, results = record->count - inputs;
  if (inputs > 64 || results > 1) return 0;
  for (uint32_t i = 0; i < record->count; i++)
    items[i] = index_free(ir, tide_ir_item(ir, record->items, i));
  if (!results) items[inputs] = tide_ir_type_get(ir, TIDE_IR_LLVM_VOID, 0, 0);
  return tide_ir_type_with(ir, TIDE_IR_LLVM_FUNCTION, 0, items, inputs + 1);
}

static tide_ir_attr opaque_attr(struct tide_ir *ir, const char *text) {
  return tide_ir_attr_opaque(ir, text, strlen(text), 0);
}

static bool lower_function(struct tide_ir *ir, tide_ir_op op, tide_ir_attr cluster) {
  tide_ir_attr old = tide_ir_get(ir, op, TIDE_NAME_FUNCTION_TYPE);
  tide_ir_type type = old ? function_type(ir, tide_ir_attr_of(ir, old)->type) : 0;
  if (!type) return tide_ir_op_error(ir, op, "has a type that no llvm.func has");
  bool kernel = tide_ir_has(ir, op, TIDE_NAME_KERNEL);
  struct tide_ir_named named[8] = {
      {TIDE_NAME_SYM_NAME, tide_ir_get(ir, op, TIDE_NAME_SYM_NAME)},
      {TIDE_NAME_FUNCTION_TYPE, tide_ir_attr_type(ir, type)},
      {TIDE_NAME_LINKAGE,
       opaque_attr(ir, kernel ? "#llvm.linkage<external>" : "#llvm.linkage<internal>")},
      {TIDE_NAME_CCONV, opaque_attr(ir, "#llvm.cconv<ccc>")}};
  size_t count = 4;
  tide_ir_attr threads = tide_ir_get(ir, op, tide_ir_intern_text(ir, "known_block_size"));
  if (kernel) {
    named[count++] =
        (struct tide_ir_named){tide_ir_intern_text(ir, "nvvm.kernel"), tide_ir_attr_unit(ir)};
    if (cluster)
      named[count++] = (struct tide_ir_named){tide_ir_intern_text(ir, "nvvm.cluster_dim"), cluster};
    if (threads)
      named[count++] = (struct tide_ir_named){tide_ir_intern_text(ir, "nvvm.reqntid"), threads};
  }
  struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  if (!tide_ir_body(ir, op, 0)) named[2].value = opaque_attr(ir, "#llvm.linkage<external>");
  record->kind = TIDE_OP_LLVM_FUNC;
  record->attributes = tide_ir_attr_dictionary(ir, named, count);
  return true;
}

static bool lower_functions(struct tide_ir *ir, tide_ir_op module, tide_ir_attr cluster) {
  for (tide_ir_op op = tide_ir_block_of(ir, tide_ir_body(ir, module, 0))->first; op;
       op = tide_ir_op_of(ir, op)->next) {
    unsigned kind = tide_ir_op_kind(ir, op);
    if ((kind == TIDE_OP_GPU_FUNC || kind == TIDE_OP_FUNC_FUNC) && !lower_function(ir, op, cluster))
      return false;
  }
  return true;
}

/* ---- modules ---- */

/* Lowers the module's functions, moves its operations before it, and erases it. */
static bool hoist_module(struct tide_ir *ir, tide_ir_op module) {
  tide_ir_attr shape = tide_ir_get(ir, module, TIDE_NAME_CLUSTER_SHAPE);
  if (!lower_functions(ir, module, shape)) return false;
  tide_ir_block to = tide_ir_op_of(ir, module)->block;
  for (tide_ir_op op = tide_ir_block_of(ir, tide_ir_body(ir, module, 0))->first, next; op;
       op = next) {
    next = tide_ir_op_of(ir, op)->next;
    if (tide_ir_op_kind(ir, op) == TIDE_OP_GPU_MODULE_END) continue;
    tide_ir_remove(ir, op);
    tide_ir_insert(ir, to, module, op);
  }
  tide_ir_erase(ir, module);
  return true;
}

bool tide_lower_functions(struct tide_ir *ir) {
  for (tide_ir_op op = ir->module, next; op; op = next) {
    next = tide_ir_walk_next(ir, ir->module, op, true);
    lower_gpu(ir, op);
  }
  tide_ir_op only = 0;
  tide_ir_block body = tide_ir_body(ir, ir->module, 0);
  if (!body) return true;
  for (tide_ir_op op = tide_ir_block_of(ir, body)->first, next; op; op = next) {
    next = tide_ir_op_of(ir, op)->next;
    if (tide_ir_op_kind(ir, op) != TIDE_OP_GPU_MODULE) continue;
    if (only) return tide_ir_op_error(ir, op, "is the second one: one is lowered at a time");
    only = op;
    if (!tide_ir_body(ir, op, 0) || !hoist_module(ir, op)) return false;
  }
  if (!lower_functions(ir, ir->module, 0)) return false;
  tide_ir_set(ir, ir->module, tide_ir_intern_text(ir, "llvm.data_layout"),
              tide_ir_attr_text(ir, data_layout));
  tide_ir_set(ir, ir->module, tide_ir_intern_text(ir, "llvm.target_triple"),
              tide_ir_attr_text(ir, triple));
  return ir->status == TIDE_OK;
}
