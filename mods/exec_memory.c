/* Translation: pointers, loads and stores. */
#include "mods/exec_translate.h"

typedef struct tide_exec_instruction made;

static void emit_load(struct tide_exec_translator *t, tide_ir_op op) {
  enum tide_exec_cell cell;
  if (!tide_exec_cell_of(t->ir, tide_exec_result_type(t, op), &cell)) {
    tide_exec_refuse(t, op, "loads a type that isn't executed");
    return;
  }
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_LOAD,
                        .d = tide_exec_result(t, op),
                        .a = tide_exec_use(t, op, 0),
                        .w = (uint16_t)cell});
}

static void emit_store(struct tide_exec_translator *t, tide_ir_op op) {
  enum tide_exec_cell cell;
  if (tide_ir_op_of(t->ir, op)->operand_count != 2 ||
      !tide_exec_cell_of(t->ir, tide_exec_operand_type(t, op, 0), &cell)) {
    tide_exec_refuse(t, op, "stores a type that isn't executed");
    return;
  }
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_STORE,
                        .a = tide_exec_use(t, op, 0),
                        .b = tide_exec_use(t, op, 1),
                        .w = (uint16_t)cell});
}

/* ---- getelementptr ---- */

#define DYNAMIC INT32_MIN

struct gep {
  tide_ir_type type; /* the type that the next index applies to */
  int64_t offset;    /* the constant offset so far */
  int16_t at;        /* the pointer so far */
  uint32_t operand;  /* the operand of the next dynamic index */
};

static void gep_scaled(struct tide_exec_translator *t, tide_ir_op op, struct gep *gep,
                       uint64_t size) {
  if (size > INT32_MAX || gep->operand >= tide_ir_op_of(t->ir, op)->operand_count) {
    tide_exec_refuse(t, op, "has indices that aren't executed");
    return;
  }
  int16_t d = tide_exec_result(t, op);
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_GEP,
                        .d = d,
                        .a = gep->at,
                        .b = tide_exec_use(t, op, gep->operand++),
                        .imm = (int32_t)size});
  gep->at = d;
}

/* Steps into an array or a struct: sets the type of the item, and the bytes that an index
 * counts. */
static bool gep_descend(struct tide_exec_translator *t, struct gep *gep, int64_t index,
                        uint64_t *out_size) {
  const struct tide_ir_type_record *record = tide_ir_type_of(t->ir, gep->type);
  uint64_t align = 1;
  if (record->kind == TIDE_IR_LLVM_ARRAY || record->kind == TIDE_IR_VECTOR) {
    gep->type = record->a;
    *out_size = tide_exec_size_of(t->ir, record->a, &align);
    return *out_size != 0;
  }
  if (record->kind != TIDE_IR_LLVM_STRUCT || index < 0 || index >= record->count) return false;
  uint64_t offset = 0;
  for (int64_t i = 0; i <= index; i++) {
    tide_ir_type item = tide_ir_item(t->ir, record->items, (uint32_t)i);
    uint64_t size = tide_exec_size_of(t->ir, item, &align);
    if (!size) return false;
    if (record->a) align = 1;
    offset = (offset + align - 1) / align * align;
    if (i == index) gep->type = item;
    else offset += size;
  }
  gep->offset += (int64_t)offset;
  *out_size = 0;
  return true;
}

static void emit_gep(struct tide_exec_translator *t, tide_ir_op op) {
  tide_ir_attr type = tide_ir_get(t->ir, op, TIDE_NAME_ELEM_TYPE);
  tide_ir_attr indices = tide_ir_get(t->ir, op, TIDE_NAME_RAW_INDICES);
  uint64_t align = 1, size = 0;
  if (!type || !indices || tide_ir_attr_of(t->ir, type)->kind != TIDE_IR_ATTR_TYPE ||
      !tide_exec_dense(t->ir, indices)) {
    tide_exec_refuse(t, op, "has no element type or no indices");
    return;
  }
  struct gep state = {
      .type = tide_ir_attr_of(t->ir, type)->type, .operand = 1, .at = tide_exec_use(t, op, 0)};
  uint32_t count = tide_exec_dense(t->ir, indices);
  for (uint32_t i = 0; i < count && t->status == TIDE_OK; i++) {
    int64_t index = tide_ir_attr_element(t->ir, indices, i);
    bool known = i == 0 ? (size = tide_exec_size_of(t->ir, state.type, &align)) != 0
                        : gep_descend(t, &state, index, &size);
    if (!known || size > INT32_MAX)
      tide_exec_refuse(t, op, "steps through a type of no known size");
    else if (index == DYNAMIC) gep_scaled(t, op, &state, size);
    else state.offset += index * (int64_t)size;
    if (state.offset > INT32_MAX || state.offset < -INT32_MAX)
      tide_exec_refuse(t, op, "steps too far");
  }
  if (state.offset || state.at != tide_exec_result(t, op))
    tide_exec_emit(t, op,
                   (made){.code = TIDE_EXEC_GEP_FIXED,
                          .d = tide_exec_result(t, op),
                          .a = state.at,
                          .imm = (int32_t)state.offset});
}

/* ---- shared memory ---- */

#define SHARED_GLOBALS_MAX 256

/* Finds a global's offset in a CTA's shared memory, where all shared globals of the module lie in
 * order. False: the global is not shared, or its type has no size. */
static bool shared_offset(struct tide_exec_translator *t, tide_ir_op global, uint32_t *out_offset) {
  tide_ir_block block = tide_ir_op_of(t->ir, global)->block;
  uint64_t offset = 0;
  uint32_t globals = 0;
  bool found = false;
  for (tide_ir_op op = tide_ir_block_of(t->ir, block)->first; op;
       op = tide_ir_op_of(t->ir, op)->next) {
    uint64_t align = 1;
    tide_ir_attr type = tide_ir_get(t->ir, op, TIDE_NAME_GLOBAL_TYPE);
    if (tide_ir_op_kind(t->ir, op) != TIDE_OP_LLVM_GLOBAL || !type) continue;
    if (tide_ir_get_integer(t->ir, op, TIDE_NAME_ADDR_SPACE, 0) != 3) continue;
    if (++globals > SHARED_GLOBALS_MAX || tide_ir_attr_of(t->ir, type)->kind != TIDE_IR_ATTR_TYPE)
      return false;
    uint64_t size = tide_exec_size_of(t->ir, tide_ir_attr_of(t->ir, type)->type, &align);
    int64_t wanted = tide_ir_get_integer(t->ir, op, TIDE_NAME_ALIGNMENT, 0);
    if (wanted > 0 && wanted <= 1024 && !(wanted & (wanted - 1)) && (uint64_t)wanted > align)
      align = (uint64_t)wanted;
    offset = (offset + align - 1) / align * align;
    if (op == global) {
      *out_offset = (uint32_t)offset;
      found = size != 0;
    }
    offset += size;
    if (offset > TIDE_EXEC_SHARED_MAX) return false;
  }
  t->program->shared_size = (uint32_t)offset;
  return found;
}

static void emit_address(struct tide_exec_translator *t, tide_ir_op op) {
  const char *name = tide_ir_get_text(t->ir, op, TIDE_NAME_GLOBAL_NAME);
  tide_ir_op module = tide_ir_ancestor(t->ir, op, TIDE_OP_GPU_MODULE);
  tide_ir_op global =
      name && module ? tide_ir_symbol(t->ir, module, tide_ir_intern_text(t->ir, name)) : 0;
  uint32_t offset;
  if (!global || !shared_offset(t, global, &offset)) {
    tide_exec_refuse(t, op, "is executed for shared memory only (addr_space 3, at most 227 KiB)");
    return;
  }
  tide_exec_emit(
      t, op,
      (made){.code = TIDE_EXEC_ADDRESS, .d = tide_exec_result(t, op), .imm = (int32_t)offset});
}

/* ---- atomics, structs ---- */

static void emit_atomic(struct tide_exec_translator *t, tide_ir_op op) {
  enum tide_exec_cell cell;
  int64_t what = tide_ir_get_integer(t->ir, op, TIDE_NAME_BIN_OP, -1);
  bool known = tide_exec_cell_of(t->ir, tide_exec_result_type(t, op), &cell) && what >= 0 &&
               what <= 16 && cell != TIDE_CELL_I1 && cell != TIDE_CELL_F16 &&
               cell != TIDE_CELL_BF16;
  bool of_floats = what >= 11 && what <= 14;
  if (!known || (what != 0 && of_floats != (cell == TIDE_CELL_F32 || cell == TIDE_CELL_F64))) {
    tide_exec_refuse(t, op, "is an atomic that isn't executed");
    return;
  }
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_ATOMIC,
                        .d = tide_exec_result(t, op),
                        .a = tide_exec_use(t, op, 0),
                        .b = tide_exec_use(t, op, 1),
                        .w = (uint16_t)cell,
                        .imm = (int32_t)what});
}

static void emit_exchange(struct tide_exec_translator *t, tide_ir_op op) {
  enum tide_exec_cell cell;
  if (tide_ir_op_of(t->ir, op)->operand_count != 3 ||
      tide_exec_slots(t->ir, tide_exec_result_type(t, op)) != 2 ||
      !tide_exec_cell_of(t->ir, tide_exec_operand_type(t, op, 1), &cell) || cell >= TIDE_CELL_F16) {
    tide_exec_refuse(t, op, "is an atomic that isn't executed");
    return;
  }
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_EXCHANGE,
                        .d = tide_exec_result(t, op),
                        .a = tide_exec_use(t, op, 0),
                        .b = tide_exec_use(t, op, 1),
                        .c = tide_exec_use(t, op, 2),
                        .w = (uint16_t)cell});
}

/* Finds the slot of a member of a struct of scalars, which lie in consecutive slots. */
static bool find_member(struct tide_exec_translator *t, tide_ir_op op, tide_ir_type type,
                        int64_t *out_index) {
  tide_ir_attr position = tide_ir_get(t->ir, op, TIDE_NAME_POSITION);
  if (tide_exec_dense(t->ir, position) != 1 || !tide_ir_type_is(t->ir, type, TIDE_IR_LLVM_STRUCT)) {
    tide_exec_refuse(t, op, "is executed on structs of scalars only");
    return false;
  }
  *out_index = tide_ir_attr_element(t->ir, position, 0);
  if (*out_index >= 0 && *out_index < tide_exec_slots(t->ir, type)) return true;
  tide_exec_refuse(t, op, "has a position outside of the struct");
  return false;
}

static void emit_extract(struct tide_exec_translator *t, tide_ir_op op) {
  int64_t index;
  if (!find_member(t, op, tide_exec_operand_type(t, op, 0), &index)) return;
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_MOVE,
                        .d = tide_exec_result(t, op),
                        .a = (int16_t)(tide_exec_use(t, op, 0) + index)});
}

static void emit_insert(struct tide_exec_translator *t, tide_ir_op op) {
  int64_t index;
  tide_ir_type type = tide_exec_result_type(t, op);
  if (!find_member(t, op, type, &index) || tide_exec_operand_type(t, op, 0) != type) return;
  if (tide_exec_slots(t->ir, tide_exec_operand_type(t, op, 1)) != 1) return;
  int16_t d = tide_exec_result(t, op);
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_MOVE_MANY,
                        .d = d,
                        .a = tide_exec_use(t, op, 0),
                        .w = (uint16_t)tide_exec_slots(t->ir, type)});
  tide_exec_emit(
      t, op,
      (made){.code = TIDE_EXEC_MOVE, .d = (int16_t)(d + index), .a = tide_exec_use(t, op, 1)});
}

bool tide_exec_memory_op(struct tide_exec_translator *t, tide_ir_op op) {
  switch (tide_ir_op_kind(t->ir, op)) {
    case TIDE_OP_LLVM_LOAD: emit_load(t, op); return true;
    case TIDE_OP_LLVM_STORE: emit_store(t, op); return true;
    case TIDE_OP_LLVM_GEP: emit_gep(t, op); return true;
    case TIDE_OP_LLVM_ADDRESSOF: emit_address(t, op); return true;
    case TIDE_OP_LLVM_ATOMICRMW: emit_atomic(t, op); return true;
    case TIDE_OP_LLVM_CMPXCHG: emit_exchange(t, op); return true;
    case TIDE_OP_LLVM_EXTRACTVALUE: emit_extract(t, op); return true;
    case TIDE_OP_LLVM_INSERTVALUE: emit_insert(t, op); return true;
    default: return false;
  }
}
