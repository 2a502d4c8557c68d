/* Builds the lowering's operations: arith with constant folding, structs, scf.if, shared memory. */
#include "mods/lower_build.h"
#include "mods/barrier_pool.h"
#include "mods/warps.h"

void tide_lower_at(struct tide_lower *l, tide_ir_op op) {
  l->b.block = tide_ir_op_of(l->ir, op)->block;
  l->b.before = op;
  l->b.location = tide_ir_location_of(l->ir, op);
}

bool tide_lower_error(struct tide_lower *l, tide_ir_op op, const char *text) {
  l->failed = true;
  return tide_ir_op_error(l->ir, op, "%s", text);
}

void tide_lower_replace(struct tide_lower *l, tide_ir_op op, tide_ir_value value) {
  if (value) tide_ir_replace_all(l->ir, tide_ir_result(l->ir, op, 0), value);
  tide_ir_erase(l->ir, op);
}

tide_ir_attr tide_lower_dictionary1(struct tide_lower *l, tide_ir_string name, tide_ir_attr value) {
  struct tide_ir_named named = {name, value};
  return tide_ir_attr_dictionary(l->ir, &named, 1);
}

tide_ir_value tide_lower_op(struct tide_lower *l, enum tide_ir_kind kind,
                            const tide_ir_value *operands, size_t count, tide_ir_type type,
                            tide_ir_attr attributes) {
  tide_ir_op op = tide_ir_build(&l->b, kind, operands, count, &type, type ? 1 : 0, attributes, 0);
  return op && type ? tide_ir_result(l->ir, op, 0) : 0;
}

tide_ir_value tide_lower_i32(struct tide_lower *l, int64_t value) {
  return tide_ir_build_integer(&l->b, l->i32, (int32_t)value);
}

tide_ir_value tide_lower_bool(struct tide_lower *l, bool value) {
  return tide_ir_build_integer(&l->b, l->i1, value);
}

/* ---- arith ---- */

static bool compute_constant(enum tide_ir_kind kind, uint32_t a, uint32_t b, uint32_t *out) {
  switch ((int)kind) {
    case TIDE_OP_ARITH_ADDI: *out = a + b; return true;
    case TIDE_OP_ARITH_SUBI: *out = a - b; return true;
    case TIDE_OP_ARITH_MULI: *out = a * b; return true;
    case TIDE_OP_ARITH_ANDI: *out = a & b; return true;
    case TIDE_OP_ARITH_ORI: *out = a | b; return true;
    case TIDE_OP_ARITH_XORI: *out = a ^ b; return true;
    case TIDE_OP_ARITH_SHLI: *out = b < 32 ? a << b : 0; return b < 32;
    case TIDE_OP_ARITH_SHRUI: *out = b < 32 ? a >> b : 0; return b < 32;
    case TIDE_OP_ARITH_DIVUI: *out = b ? a / b : 0; return b != 0;
    case TIDE_OP_ARITH_REMUI: *out = b ? a % b : 0; return b != 0;
    case TIDE_OP_ARITH_MINUI: *out = a < b ? a : b; return true;
    case TIDE_OP_ARITH_MAXUI: *out = a > b ? a : b; return true;
    default: return false;
  }
}

/* True if `kind` with this constant on the right returns its left operand. */
static bool changes_nothing(enum tide_ir_kind kind, int64_t right) {
  switch ((int)kind) {
    case TIDE_OP_ARITH_ADDI:
    case TIDE_OP_ARITH_SUBI:
    case TIDE_OP_ARITH_ORI:
    case TIDE_OP_ARITH_XORI:
    case TIDE_OP_ARITH_SHLI:
    case TIDE_OP_ARITH_SHRUI: return right == 0;
    case TIDE_OP_ARITH_MULI:
    case TIDE_OP_ARITH_DIVUI: return right == 1;
    default: return false;
  }
}

tide_ir_value tide_lower_binary(struct tide_lower *l, enum tide_ir_kind kind, tide_ir_value a,
                                tide_ir_value b) {
  tide_ir_type type = tide_ir_type_of_value(l->ir, a);
  int64_t x, y;
  uint32_t result;
  if (tide_ir_constant(l->ir, b, &y)) {
    if (changes_nothing(kind, y)) return a;
    if (type == l->i32 && tide_ir_constant(l->ir, a, &x) &&
        compute_constant(kind, (uint32_t)x, (uint32_t)y, &result))
      return tide_lower_i32(l, (int32_t)result);
  }
  return tide_lower_op(l, kind, (tide_ir_value[]){a, b}, 2, type, 0);
}

tide_ir_value tide_lower_compare(struct tide_lower *l, enum tide_lower_predicate predicate,
                                 tide_ir_value a, tide_ir_value b) {
  int64_t x, y;
  if (tide_ir_constant(l->ir, a, &x) && tide_ir_constant(l->ir, b, &y)) switch (predicate) {
      case TIDE_EQ: return tide_lower_bool(l, x == y);
      case TIDE_NE: return tide_lower_bool(l, x != y);
      case TIDE_SLT: return tide_lower_bool(l, x < y);
      case TIDE_SLE: return tide_lower_bool(l, x <= y);
      case TIDE_SGT: return tide_lower_bool(l, x > y);
      case TIDE_SGE: return tide_lower_bool(l, x >= y);
      case TIDE_ULT: return tide_lower_bool(l, (uint64_t)x < (uint64_t)y);
    }
  tide_ir_attr attr =
      tide_lower_dictionary1(l, TIDE_NAME_PREDICATE, tide_ir_attr_i64(l->ir, predicate));
  return tide_lower_op(l, TIDE_OP_ARITH_CMPI, (tide_ir_value[]){a, b}, 2, l->i1, attr);
}

tide_ir_value tide_lower_select(struct tide_lower *l, tide_ir_value condition, tide_ir_value a,
                                tide_ir_value b) {
  int64_t known;
  if (a == b) return a;
  if (tide_ir_constant(l->ir, condition, &known)) return known ? a : b;
  return tide_lower_op(l, TIDE_OP_ARITH_SELECT, (tide_ir_value[]){condition, a, b}, 3,
                       tide_ir_type_of_value(l->ir, a), 0);
}

tide_ir_value tide_lower_extend(struct tide_lower *l, tide_ir_value value, tide_ir_type type) {
  int64_t known;
  tide_ir_type from = tide_ir_type_of_value(l->ir, value);
  if (from == type) return value;
  if (tide_ir_constant(l->ir, value, &known))
    return tide_ir_build_integer(&l->b, type, from == l->i1 ? known & 1 : (uint32_t)known);
  return tide_lower_op(l, TIDE_OP_ARITH_EXTUI, &value, 1, type, 0);
}

/* ---- structs ---- */

static tide_ir_attr position_attr(struct tide_lower *l, uint32_t index) {
  int64_t at = index;
  return tide_lower_dictionary1(l, TIDE_NAME_POSITION, tide_ir_attr_dense(l->ir, l->i64, &at, 1));
}

tide_ir_value tide_lower_pack(struct tide_lower *l, tide_ir_type type, const tide_ir_value *fields,
                              size_t count) {
  tide_ir_value value = tide_lower_op(l, TIDE_OP_LLVM_UNDEF, NULL, 0, type, 0);
  for (uint32_t i = 0; i < count; i++)
    value = tide_lower_op(l, TIDE_OP_LLVM_INSERTVALUE, (tide_ir_value[]){value, fields[i]}, 2, type,
                          position_attr(l, i));
  return value;
}

tide_ir_value tide_lower_field(struct tide_lower *l, tide_ir_value value, uint32_t index,
                               tide_ir_type type) {
  tide_ir_value from = tide_ir_resolve(l->ir, value);
  for (;;) { /* a value packed in sight needs no extractvalue */
    tide_ir_op op = tide_ir_defining_op(l->ir, from);
    if (!op || tide_ir_op_kind(l->ir, op) != TIDE_OP_LLVM_INSERTVALUE) break;
    tide_ir_attr at = tide_ir_get(l->ir, op, TIDE_NAME_POSITION);
    if (tide_ir_attr_element(l->ir, at, 0) == index) return tide_ir_operand(l->ir, op, 1);
    from = tide_ir_operand(l->ir, op, 0);
  }
  return tide_lower_op(l, TIDE_OP_LLVM_EXTRACTVALUE, &value, 1, type, position_attr(l, index));
}

tide_ir_value tide_lower_register(struct tide_lower *l, enum tide_ir_kind kind) {
  bool wide = kind == TIDE_OP_NVVM_CLOCK64 || kind == TIDE_OP_NVVM_GLOBALTIMER;
  return tide_lower_op(l, kind, NULL, 0, wide ? l->i64 : l->i32, 0);
}

/* ---- scf.if ---- */

static void enter_region(struct tide_lower *l, tide_ir_op op, uint32_t region) {
  tide_ir_block block = tide_ir_block_create(l->ir, NULL, 0);
  tide_ir_block_append(l->ir, tide_ir_region_at(l->ir, op, region), block);
  l->b.block = block;
  l->b.before = 0;
}

struct tide_lower_inside tide_lower_if(struct tide_lower *l, tide_ir_value condition) {
  struct tide_lower_inside inside = {.outer = l->b};
  inside.op = tide_ir_build(&l->b, TIDE_OP_SCF_IF, &condition, 1, NULL, 0, 0, 2);
  if (inside.op) enter_region(l, inside.op, 0);
  return inside;
}

void tide_lower_else(struct tide_lower *l, struct tide_lower_inside *inside) {
  tide_lower_op(l, TIDE_OP_SCF_YIELD, NULL, 0, 0, 0);
  if (inside->op) enter_region(l, inside->op, 1);
}

void tide_lower_leave(struct tide_lower *l, const struct tide_lower_inside *inside) {
  tide_lower_op(l, TIDE_OP_SCF_YIELD, NULL, 0, 0, 0);
  l->b = inside->outer;
}

/* ---- memory ---- */

tide_ir_value tide_lower_slot_address(struct tide_lower *l, uint32_t slot) {
  tide_ir_attr name = tide_ir_attr_symbol(l->ir, &l->barriers, 1);
  tide_ir_value base = tide_lower_op(l, TIDE_OP_LLVM_ADDRESSOF, NULL, 0, l->shared,
                                     tide_lower_dictionary1(l, TIDE_NAME_GLOBAL_NAME, name));
  return tide_lower_offset(l, base, l->i64, slot);
}

static tide_ir_value build_gep(struct tide_lower *l, tide_ir_value base, tide_ir_type element,
                               tide_ir_value index, int64_t constant) {
  struct tide_ir_named named[] = {
      {TIDE_NAME_ELEM_TYPE, tide_ir_attr_type(l->ir, element)},
      {TIDE_NAME_RAW_INDICES, tide_ir_attr_dense(l->ir, l->i32, &constant, 1)}};
  return tide_lower_op(l, TIDE_OP_LLVM_GEP, (tide_ir_value[]){base, index}, index ? 2 : 1,
                       tide_ir_type_of_value(l->ir, base),
                       tide_ir_attr_dictionary(l->ir, named, 2));
}

tide_ir_value tide_lower_offset(struct tide_lower *l, tide_ir_value base, tide_ir_type element,
                                uint32_t offset) {
  return offset ? build_gep(l, base, element, 0, offset) : base;
}

tide_ir_value tide_lower_element(struct tide_lower *l, tide_ir_value base, tide_ir_type element,
                                 tide_ir_value index) {
  int64_t known;
  if (tide_ir_constant(l->ir, index, &known) && known >= 0)
    return tide_lower_offset(l, base, element, (uint32_t)known);
  return build_gep(l, base, element, index,
                   INT32_MIN); /* MLIR's mark of an index that is an operand */
}

static tide_ir_attr access_attrs(struct tide_lower *l, bool is_volatile) {
  struct tide_ir_named named[] = {{TIDE_NAME_ORDERING, tide_ir_attr_i64(l->ir, 0)},
                                  {TIDE_NAME_VOLATILE, tide_ir_attr_unit(l->ir)}};
  return tide_ir_attr_dictionary(l->ir, named, is_volatile ? 2 : 1);
}

tide_ir_value tide_lower_load(struct tide_lower *l, tide_ir_value address, tide_ir_type type,
                              bool is_volatile) {
  return tide_lower_op(l, TIDE_OP_LLVM_LOAD, &address, 1, type, access_attrs(l, is_volatile));
}

void tide_lower_store(struct tide_lower *l, tide_ir_value value, tide_ir_value address,
                      bool is_volatile) {
  tide_lower_op(l, TIDE_OP_LLVM_STORE, (tide_ir_value[]){value, address}, 2, 0,
                access_attrs(l, is_volatile));
}

tide_ir_value tide_lower_asm(struct tide_lower *l, const char *text, const char *constraints,
                             const tide_ir_value *operands, size_t count) {
  return tide_lower_asm_of(l, text, constraints, operands, count, 0);
}

tide_ir_value tide_lower_asm_of(struct tide_lower *l, const char *text, const char *constraints,
                                const tide_ir_value *operands, size_t count, tide_ir_type type) {
  struct tide_ir_named named[] = {{TIDE_NAME_ASM_STRING, tide_ir_attr_text(l->ir, text)},
                                  {TIDE_NAME_CONSTRAINTS, tide_ir_attr_text(l->ir, constraints)},
                                  {TIDE_NAME_SIDE_EFFECTS, tide_ir_attr_unit(l->ir)}};
  return tide_lower_op(l, TIDE_OP_LLVM_INLINE_ASM, operands, count, type,
                       tide_ir_attr_dictionary(l->ir, named, 3));
}

tide_ir_value tide_lower_private(struct tide_lower *l, tide_ir_type type, int64_t value) {
  struct tide_ir_builder kept = l->b;
  tide_ir_block entry = tide_ir_body(l->ir, l->function, 0);
  l->b.block = entry;
  l->b.before = tide_ir_block_of(l->ir, entry)->first;
  tide_ir_value one = tide_lower_i32(l, 1);
  tide_ir_attr element =
      tide_lower_dictionary1(l, TIDE_NAME_ELEM_TYPE, tide_ir_attr_type(l->ir, type));
  tide_ir_value address = tide_lower_op(l, TIDE_OP_LLVM_ALLOCA, &one, 1, l->pointer, element);
  tide_lower_store(l, tide_ir_build_integer(&l->b, type, value), address, false);
  l->b = kept;
  return address;
}

void tide_lower_cluster_sync(struct tide_lower *l) {
  if (tide_lower_ctas(l) == 1) {
    tide_lower_op(l, TIDE_OP_NVVM_BARRIER0, NULL, 0, 0, 0);
    return;
  }
  tide_lower_op(l, TIDE_OP_NVVM_CLUSTER_ARRIVE, NULL, 0, 0, 0);
  tide_lower_op(l, TIDE_OP_NVVM_CLUSTER_WAIT, NULL, 0, 0, 0);
}

/* ---- slots, ids and known values ---- */

uint32_t tide_lower_take_slots(struct tide_lower *l, tide_ir_op op, uint64_t count) {
  uint32_t first = l->slots;
  if (count > TIDE_LOWER_SLOTS_MAX - first) {
    tide_lower_error(l, op, "the barriers of one kernel would take more than 32 KiB");
    return 0;
  }
  l->slots += (uint32_t)count;
  return first;
}

uint32_t tide_lower_take_id(struct tide_lower *l, tide_ir_op op) {
  l->next_id = tide_pool_next(l->taken_ids, l->next_id);
  if (l->next_id < TIDE_POOL_END) return l->next_id++;
  tide_lower_error(l, op, "needs a named barrier, and all of 8 to 15 are taken");
  return 0;
}

void tide_lower_early(struct tide_lower *l, tide_ir_op op, struct tide_lower_slot slot) {
  if (l->early_count == TIDE_LOWER_EARLY_MAX) {
    tide_lower_error(l, op, "one kernel has too many barriers");
    return;
  }
  l->early[l->early_count++] = slot;
}

struct tide_lower_region *tide_lower_region(struct tide_lower *l, tide_ir_op op) {
  tide_ir_op around = tide_ir_ancestor(l->ir, op, TIDE_OP_ASYNC_EXEC);
  if (!around) {
    tide_lower_error(l, op, "stands in no async region");
    return NULL;
  }
  for (uint32_t i = 0; i < l->region_count; i++)
    if (l->regions[i].op == around) return &l->regions[i];
  if (l->region_count == TIDE_LOWER_REGIONS_MAX) {
    tide_lower_error(l, op, "one kernel has more than 32 async regions");
    return NULL;
  }
  struct tide_warps warps = tide_warps_of(l->ir, around);
  bool is_counted = !warps.all || tide_declared_threads(l->ir, around);
  uint32_t first = 32 * (uint32_t)warps.first, end = 32 * (uint32_t)warps.end;
  struct tide_lower_region *region = &l->regions[l->region_count++];
  *region = (struct tide_lower_region){
      .op = around, .first = first, .threads = is_counted ? end - first : 0};
  return region;
}

struct tide_lower_region *tide_lower_in_window(struct tide_lower *l, tide_ir_op op) {
  tide_ir_op around = tide_ir_ancestor(l->ir, op, TIDE_OP_ASYNC_EXEC);
  for (uint32_t i = 0; around && i < l->region_count; i++)
    if (l->regions[i].op == around && l->regions[i].told) return &l->regions[i];
  return NULL;
}

bool tide_lower_counts(struct tide_lower *l, tide_ir_op op,
                       const struct tide_lower_region *region) {
  return region->threads > 0 ||
         tide_lower_error(l, op,
                          "needs the number of its region's threads: neither 'warps' nor the "
                          "kernel's 'known_block_size' says it");
}

struct tide_lower_known *tide_lower_know(struct tide_lower *l, tide_ir_op op, tide_ir_value value) {
  if (l->known_count == TIDE_LOWER_KNOWN_MAX) {
    tide_lower_error(l, op, "one kernel has more than 256 pipelines and schedulers");
    return &l->beyond;
  }
  struct tide_lower_known *known = &l->known[l->known_count++];
  *known = (struct tide_lower_known){.value = value, .kind = tide_ir_op_kind(l->ir, op)};
  return known;
}

const struct tide_lower_known *tide_lower_known(struct tide_lower *l, tide_ir_op op,
                                                uint32_t operand) {
  tide_ir_value value = tide_ir_operand(l->ir, op, operand);
  for (uint32_t i = 0; i < l->known_count; i++)
    if (l->known[i].value == value) return &l->known[i];
  tide_lower_error(l, op, "its first operand must come straight from the operation that makes it");
  return NULL;
}
