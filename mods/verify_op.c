/* Checks single operations of arith, llvm, gpu and func. */
#include "mods/barrier_pool.h"
#include "mods/verify.h"
#include "mods/words.h"
#include "base/alloc.h"

static tide_ir_type operand_type(const struct tide_ir *ir, tide_ir_op op, uint32_t index) {
  return tide_ir_type_of_value(ir, tide_ir_operand(ir, op, index));
}

static tide_ir_type result_type(const struct tide_ir *ir, tide_ir_op op) {
  return tide_ir_value_of(ir, tide_ir_op_of(ir, op)->results)->type;
}

static unsigned width_of(const struct tide_ir *ir, tide_ir_type type) {
  static const unsigned floats[] = {16, 16, 32, 32, 64}; /* MLIR 19 has tf32 in 32 bits */
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  if (record->kind == TIDE_IR_INTEGER) return record->a;
  return record->kind == TIDE_IR_FLOAT ? floats[record->a] : 0;
}

/* Like MLIR, accepts an integer attribute that is narrower or wider than the integer type. */
static bool check_llvm_constant(struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_attr_record *value =
      tide_ir_attr_of(ir, tide_ir_get(ir, op, TIDE_NAME_VALUE));
  const struct tide_ir_type_record *type = tide_ir_type_of(ir, result_type(ir, op));
  unsigned bits = width_of(ir, value->type);
  size_t length = 0;
  switch ((enum tide_ir_attr_kind)value->kind) {
    case TIDE_IR_ATTR_BOOL:
    case TIDE_IR_ATTR_INTEGER:
      return type->kind == TIDE_IR_INTEGER || tide_ir_op_error(ir, op, "expected integer type");
    case TIDE_IR_ATTR_FLOAT:
      return ((type->kind == TIDE_IR_FLOAT || type->kind == TIDE_IR_INTEGER) &&
              width_of(ir, result_type(ir, op)) == bits) ||
             tide_ir_op_error(ir, op, "expected float type of width %u", bits);
    case TIDE_IR_ATTR_STRING:
      tide_ir_string_text(ir, value->string, &length);
      return (type->kind == TIDE_IR_LLVM_ARRAY && type->b == length &&
              tide_ir_is_integer(ir, type->a, 8)) ||
             tide_ir_op_error(ir, op,
                              "expected array type of %llu i8 elements for the string constant",
                              (unsigned long long)length);
    case TIDE_IR_ATTR_OPAQUE:
      return (type->kind != TIDE_IR_INTEGER && type->kind != TIDE_IR_FLOAT &&
              type->kind != TIDE_IR_LLVM_POINTER) ||
             tide_ir_op_error(ir, op, "expected vector or array type");
    case TIDE_IR_ATTR_ARRAY: return true; /* a struct constant */
    default:
      return tide_ir_op_error(ir, op,
                              "only supports integer, float, string or elements attributes");
  }
}

static bool check_constant(struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_attr_record *value =
      tide_ir_attr_of(ir, tide_ir_get(ir, op, TIDE_NAME_VALUE));
  tide_ir_type type = result_type(ir, op);
  if (value->kind != TIDE_IR_ATTR_INTEGER && value->kind != TIDE_IR_ATTR_BOOL &&
      value->kind != TIDE_IR_ATTR_FLOAT && value->kind != TIDE_IR_ATTR_OPAQUE)
    return tide_ir_op_error(ir, op, "value must be an integer, float, or elements attribute");
  if (value->type != type)
    return tide_ir_op_error(ir, op,
                            "failed to verify that result and attribute have the same type");
  if (tide_ir_type_is(ir, type, TIDE_IR_INTEGER) &&
      tide_ir_type_of(ir, type)->b != TIDE_IR_SIGNLESS)
    return tide_ir_op_error(ir, op, "integer return type must be signless");
  return true;
}

/* Returns the required change of a cast's width: 1 grows, -1 shrinks, 0 keeps, 2 any. */
static int required_change(unsigned kind) {
  switch (kind) {
    case TIDE_OP_ARITH_EXTSI:
    case TIDE_OP_ARITH_EXTUI:
    case TIDE_OP_ARITH_EXTF:
    case TIDE_OP_LLVM_ZEXT:
    case TIDE_OP_LLVM_SEXT:
    case TIDE_OP_LLVM_FPEXT: return 1;
    case TIDE_OP_ARITH_TRUNCI:
    case TIDE_OP_ARITH_TRUNCF:
    case TIDE_OP_LLVM_TRUNC:
    case TIDE_OP_LLVM_FPTRUNC: return -1;
    case TIDE_OP_ARITH_BITCAST: return 0;
    default: return 2;
  }
}

static bool check_cast(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_type from = operand_type(ir, op, 0), to = result_type(ir, op);
  unsigned kind = tide_ir_op_kind(ir, op), a = width_of(ir, from), b = width_of(ir, to);
  int way = required_change(kind);
  bool fine = way == 2 || (way == 1 && b > a) || (way == -1 && b < a) || (way == 0 && a == b);
  bool index_cast = kind == TIDE_OP_ARITH_INDEX_CAST || kind == TIDE_OP_ARITH_INDEX_CASTUI;
  if (index_cast)
    fine = tide_ir_type_is(ir, from, TIDE_IR_INDEX) != tide_ir_type_is(ir, to, TIDE_IR_INDEX);
  if (fine) return true;
  if (way == 1 || way == -1)
    return tide_ir_op_error(ir, op, "result type '%s' must be %s than operand type '%s'",
                            tide_ir_type_name(ir, to).text, way == 1 ? "wider" : "shorter",
                            tide_ir_type_name(ir, from).text);
  return tide_ir_op_error(ir, op, "operand type '%s' and result type '%s' are cast incompatible",
                          tide_ir_type_name(ir, from).text, tide_ir_type_name(ir, to).text);
}

static bool check_predicate(struct tide_ir *ir, tide_ir_op op, bool floats) {
  int64_t place = tide_ir_get_integer(ir, op, TIDE_NAME_PREDICATE, -1);
  if (place >= 0 && place < (floats ? TIDE_FLOAT_PREDICATES : TIDE_INTEGER_PREDICATES)) return true;
  return tide_ir_op_error(ir, op,
                          "attribute 'predicate' failed to satisfy constraint: no such predicate");
}

static bool check_gep(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_attr indices = tide_ir_get(ir, op, TIDE_NAME_RAW_INDICES);
  uint32_t dynamic = 0, count = tide_ir_attr_of(ir, indices)->count / 2;
  for (uint32_t i = 0; i < count; i++)
    dynamic += tide_ir_attr_element(ir, indices, i) == TIDE_GEP_DYNAMIC;
  for (uint32_t i = 1; i < tide_ir_op_of(ir, op)->operand_count; i++)
    if (!tide_ir_is_integer(ir, operand_type(ir, op, i), 0))
      return tide_ir_op_error(ir, op, "operand #%u must be signless integer, but got '%s'", i,
                              tide_ir_type_name(ir, operand_type(ir, op, i)).text);
  if (dynamic + 1 != tide_ir_op_of(ir, op)->operand_count)
    return tide_ir_op_error(
        ir, op, "expected as many dynamic indices as specified in 'rawConstantIndices'");
  if (result_type(ir, op) != operand_type(ir, op, 0))
    return tide_ir_op_error(ir, op, "result has another address space than the pointer");
  return true;
}

static bool check_function(struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_type_record *type =
      tide_ir_type_of(ir, tide_ir_attr_of(ir, tide_ir_get(ir, op, TIDE_NAME_FUNCTION_TYPE))->type);
  tide_ir_block entry = tide_ir_body(ir, op, 0);
  bool kernel = tide_ir_has(ir, op, TIDE_NAME_KERNEL);
  if (!tide_ir_get_text(ir, op, TIDE_NAME_SYM_NAME))
    return tide_ir_op_error(ir, op, "requires attribute 'sym_name'");
  if (tide_ir_op_kind(ir, op) == TIDE_OP_GPU_FUNC) {
    if (tide_ir_op_kind(ir, tide_ir_parent(ir, op)) != TIDE_OP_GPU_MODULE)
      return tide_ir_op_error(ir, op, "expects parent op 'gpu.module'");
    if (kernel && type->count != type->a)
      return tide_ir_op_error(ir, op, "expected void return type for kernel functions");
    if (!entry) return tide_ir_op_error(ir, op, "expected body with at least one block");
  }
  const char *visibility = tide_ir_get_text(ir, op, TIDE_NAME_SYM_VISIBILITY);
  if (!entry && (!visibility || strcmp(visibility, "public") == 0))
    return tide_ir_op_error(ir, op, "symbol declaration cannot have public visibility");
  if (!entry) return true;
  const struct tide_ir_block_record *block = tide_ir_block_of(ir, entry);
  if (block->argument_count != type->a)
    return tide_ir_op_error(
        ir, op, "entry block must have %u arguments to match function signature", type->a);
  for (uint32_t i = 0; i < type->a; i++)
    if (tide_ir_value_of(ir, block->arguments + i)->type != tide_ir_item(ir, type->items, i))
      return tide_ir_op_error(
          ir, op,
          "type of entry block argument #%u must match the type of the corresponding "
          "argument in function signature",
          i);
  return true;
}

/* Checks a function of the llvm dialect. The last item of its type is the result. */
static bool check_llvm_function(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_type type = tide_ir_attr_of(ir, tide_ir_get(ir, op, TIDE_NAME_FUNCTION_TYPE))->type;
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  tide_ir_block entry = tide_ir_body(ir, op, 0);
  if (record->kind != TIDE_IR_LLVM_FUNCTION)
    return tide_ir_op_error(ir, op, "requires 'function_type' to be an LLVM function type");
  if (entry && tide_ir_block_of(ir, entry)->argument_count != record->count - 1)
    return tide_ir_op_error(ir, op,
                            "entry block must have %u arguments to match function signature",
                            record->count - 1);
  for (uint32_t i = 0; entry && i + 1 < record->count; i++)
    if (tide_ir_value_of(ir, tide_ir_argument(ir, entry, i))->type !=
        tide_ir_item(ir, record->items, i))
      return tide_ir_op_error(ir, op,
                              "entry block argument #%u is not of LLVM type or not of the "
                              "signature's",
                              i);
  return true;
}

static bool check_dimension(struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_attr_record *attr =
      tide_ir_attr_of(ir, tide_ir_get(ir, op, TIDE_NAME_DIMENSION));
  size_t length = 0;
  const char *text =
      attr->kind == TIDE_IR_ATTR_OPAQUE ? tide_ir_string_text(ir, attr->string, &length) : "";
  if (length == 11 && text[0] == '#' && text[10] == '>' && text[9] >= 'x' && text[9] <= 'z')
    return true;
  return tide_ir_op_error(
      ir, op,
      "attribute 'dimension' failed to satisfy constraint: a dimension, either 'x', 'y', or 'z'");
}

static bool check_warp_barrier(struct tide_ir *ir, tide_ir_op op) {
  int64_t id, threads;
  uint32_t count = tide_ir_op_of(ir, op)->operand_count;
  tide_ir_value named = tide_pool_id(ir, op);
  if (tide_ir_op_kind(ir, op) == TIDE_OP_NVVM_BARRIER_ARRIVE &&
      (count > 2 ||
       !tide_ir_is_integer(ir, tide_ir_type_of_value(ir, tide_ir_operand(ir, op, count - 1)), 32)))
    return tide_ir_op_error(ir, op, "takes an id, which may be left out, and a number of threads");
  if (tide_ir_op_kind(ir, op) == TIDE_OP_NVVM_BARRIER && count && !named)
    return tide_ir_op_error(ir, op, "barrier id is missing, it should be set between 0 to 15");
  if (named && tide_ir_constant(ir, named, &id) && (id < 0 || id > 15))
    return tide_ir_op_error(ir, op, "barrier id %lld is not one of 0 to 15", (long long)id);
  if (count > (named != 0) && tide_ir_constant(ir, tide_ir_operand(ir, op, named != 0), &threads) &&
      (threads <= 0 || threads % 32))
    return tide_ir_op_error(ir, op, "number of threads %lld is not a multiple of 32",
                            (long long)threads);
  return true;
}

/* Checks the limits of PTX's mbarriers: 1 to 2^20 - 1 arrivals, 0 to 2^20 - 1 bytes. */
static bool check_mbarrier(struct tide_ir *ir, tide_ir_op op, bool bytes) {
  int64_t count;
  if (!tide_ir_constant(ir, tide_ir_operand(ir, op, 1), &count) ||
      (count >= !bytes && count < 1 << 20))
    return true;
  return tide_ir_op_error(ir, op, "has %s of %lld, but an mbarrier counts %d to 2^20 - 1",
                          bytes ? "a transaction" : "a count", (long long)count, !bytes);
}

static bool check_cluster_shape(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_attr attr = tide_ir_get(ir, op, TIDE_NAME_CLUSTER_SHAPE);
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
  int64_t ctas = 1;
  if (!attr) return true;
  if (record->kind != TIDE_IR_ATTR_DENSE || record->count != 6 ||
      !tide_ir_is_integer(ir, record->type, 32))
    return tide_ir_op_error(ir, op, "requires 'cutlass.cluster_shape' to be array<i32: x, y, z>");
  for (uint32_t i = 0; i < 3; i++) {
    int64_t size = tide_ir_attr_element(ir, attr, i);
    if (size < 1)
      return tide_ir_op_error(ir, op, "has a cluster shape with a size of %lld", (long long)size);
    ctas = size > 16 || ctas > 16 ? 17 : ctas * size;
  }
  if (ctas > 16)
    return tide_ir_op_error(ir, op, "has a cluster of more than 16 CTAs, the hardware's most");
  if (ctas > 8)
    tide_ir_op_warning(ir, op, "has a cluster of %lld CTAs; more than 8 is not portable",
                       (long long)ctas);
  return true;
}

/* Rejects a cluster shape on any operation but the gpu.module: no code reads it there. */
static bool check_no_shape(struct tide_ir *ir, tide_ir_op op) {
  return !tide_ir_has(ir, op, TIDE_NAME_CLUSTER_SHAPE) ||
         tide_ir_op_error(ir, op, "has 'cutlass.cluster_shape', which belongs to the 'gpu.module'");
}

/* Rejects an 'nvvm.cluster_dim' that differs from the one that the lowering makes of the shape. */
static bool check_cluster_dim(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_attr own = tide_ir_get(ir, op, tide_ir_intern_text(ir, "nvvm.cluster_dim"));
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, own);
  uint32_t shape[3];
  tide_cluster_shape(ir, op, shape);
  if (!own || record->kind != TIDE_IR_ATTR_DENSE) return true;
  for (uint32_t i = 0; i < 3; i++)
    if ((i < record->count / 2 ? tide_ir_attr_element(ir, own, i) : 1) != shape[i])
      return tide_ir_op_error(
          ir, op, "has another 'nvvm.cluster_dim' than its module's cluster shape, %ux%ux%u",
          shape[0], shape[1], shape[2]);
  return true;
}

void tide_verify_op(struct tide_verifier *verifier, tide_ir_op op) {
  struct tide_ir *ir = verifier->ir;
  unsigned kind = tide_ir_op_kind(ir, op);
  tide_verify_attrs(ir, op);
  switch ((enum tide_ir_form)tide_ir_op_info(ir, op)->form) {
    case TIDE_FORM_CONSTANT: check_constant(ir, op); break;
    case TIDE_FORM_LLVM_CONSTANT: check_llvm_constant(ir, op); break;
    case TIDE_FORM_CAST: check_cast(ir, op); break;
    case TIDE_FORM_COMPARE:
    case TIDE_FORM_LLVM_COMPARE:
      check_predicate(ir, op, kind == TIDE_OP_ARITH_CMPF || kind == TIDE_OP_LLVM_FCMP);
      break;
    case TIDE_FORM_GEP:
      if (check_gep(ir, op)) tide_verify_indices(ir, op);
      break;
    case TIDE_FORM_LOAD:
    case TIDE_FORM_STORE: tide_verify_access(ir, op); break;
    case TIDE_FORM_MODULE: check_no_shape(ir, op); break;
    case TIDE_FORM_FUNCTION:
      if (check_function(ir, op) && tide_verify_parameters(ir, op)) check_no_shape(ir, op);
      break;
    case TIDE_FORM_GPU_FUNC:
      if (check_function(ir, op) && tide_verify_parameters(ir, op) && check_no_shape(ir, op))
        check_cluster_dim(ir, op);
      break;
    case TIDE_FORM_LLVM_FUNC:
      if (check_llvm_function(ir, op) && tide_verify_llvm_function(ir, op) &&
          tide_verify_parameters(ir, op))
        check_no_shape(ir, op);
      break;
    case TIDE_FORM_DIMENSION: check_dimension(ir, op); break;
    case TIDE_FORM_GPU_MODULE: check_cluster_shape(ir, op); break;
    default:
      tide_verify_llvm(ir, op);
      if (kind == TIDE_OP_NVVM_MBARRIER_INIT || kind == TIDE_OP_NVVM_MBARRIER_INIT_SHARED ||
          kind == TIDE_OP_NVVM_MBARRIER_ARRIVE_NOCOMPLETE ||
          kind == TIDE_OP_NVVM_MBARRIER_ARRIVE_NOCOMPLETE_SHARED)
        check_mbarrier(ir, op, false);
      if (kind == TIDE_OP_NVVM_MBARRIER_ARRIVE_EXPECT_TX ||
          kind == TIDE_OP_NVVM_MBARRIER_ARRIVE_EXPECT_TX_SHARED)
        check_mbarrier(ir, op, true);
      if (kind == TIDE_OP_NVVM_BARRIER || kind == TIDE_OP_NVVM_BARRIER_ARRIVE ||
          kind == TIDE_OP_NVVM_BARRIER_CTA_SYNC)
        check_warp_barrier(ir, op);
      break;
  }
}
