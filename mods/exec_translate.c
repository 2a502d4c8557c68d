/* Translation: slots, constants, instructions, and the function as a whole. */
#include "mods/exec_translate.h"
#include "base/alloc.h"

#define SLOT_BIAS 40000
#define HASH_SIZE 65536u

/* ---- giving up ---- */

static void give_up(struct tide_exec_translator *t, enum tide_status status) {
  if (t->status == TIDE_OK) t->status = status;
}

void tide_exec_refuse(struct tide_exec_translator *t, tide_ir_op op, const char *why) {
  if (t->status != TIDE_OK) return;
  tide_ir_op_error(t->ir, op, "%s", why);
  t->status = TIDE_UNSUPPORTED;
}

/* ---- growing arrays ---- */

/* Reserves capacity for one more element of `size` bytes. False: no memory. */
static bool reserve_one(struct tide_exec_translator *t, void **array, uint32_t count,
                        uint32_t *capacity, size_t size) {
  if (count < *capacity) return true;
  uint32_t grown = *capacity ? *capacity * 2 : 256;
  void *more = tide_alloc_unset(t->program->allocator, grown, size);
  if (!more) {
    give_up(t, TIDE_NOMEM);
    return false;
  }
  if (count) memcpy(more, *array, count * size);
  tide_free(t->program->allocator, *array, *capacity, size);
  *array = more;
  *capacity = grown;
  return true;
}

uint32_t tide_exec_emit(struct tide_exec_translator *t, tide_ir_op op,
                        struct tide_exec_instruction instruction) {
  struct tide_exec_code_buffer *code = &t->program->code;
  uint32_t capacity = code->capacity;
  if (t->status != TIDE_OK) return 0;
  if (code->count >= TIDE_EXEC_CODE_MAX) {
    tide_exec_refuse(t, op, "makes the function too long to be executed");
    return 0;
  }
  void *at = code->at, *ops = code->ops;
  uint32_t op_capacity = capacity;
  if (!reserve_one(t, &at, code->count, &capacity, sizeof *code->at)) return 0;
  code->at = at;
  if (!reserve_one(t, &ops, code->count, &op_capacity, sizeof *code->ops)) {
    /* The two arrays share one recorded capacity, and only one has grown: free both. */
    tide_free(t->program->allocator, code->at, capacity, sizeof *code->at);
    code->at = NULL;
    tide_free(t->program->allocator, code->ops, code->capacity, sizeof *code->ops);
    code->ops = NULL;
    code->count = code->capacity = 0;
    return 0;
  }
  code->ops = ops;
  code->capacity = capacity;
  code->at[code->count] = instruction;
  code->ops[code->count] = op;
  return code->count++;
}

void tide_exec_patch(struct tide_exec_translator *t, uint32_t instruction, uint32_t target) {
  if (t->status == TIDE_OK) t->program->code.at[instruction].imm = (int32_t)target;
}

/* ---- slots ---- */

int16_t tide_exec_constant(struct tide_exec_translator *t, int64_t value) {
  struct tide_exec_program *program = t->program;
  uint32_t at = (uint32_t)((uint64_t)value * 0x9e3779b97f4a7c15u >> 48);
  if (t->status != TIDE_OK) return 0;
  for (; t->hash[at]; at = (at + 1) % HASH_SIZE)
    if (program->constants[t->hash[at] - 1] == value) return (int16_t)-t->hash[at];
  if (program->constant_count >= TIDE_EXEC_SLOTS_MAX) {
    give_up(t, TIDE_FULL);
    return 0;
  }
  void *constants = program->constants;
  if (!reserve_one(t, &constants, program->constant_count, &program->constant_capacity,
                   sizeof *program->constants))
    return 0;
  program->constants = constants;
  program->constants[program->constant_count++] = value;
  t->hash[at] = (uint16_t)program->constant_count;
  return (int16_t)-t->hash[at];
}

int16_t tide_exec_new_slots(struct tide_exec_translator *t, tide_ir_op op, int count) {
  int32_t slot = t->next_slot;
  if (t->status != TIDE_OK) return 0;
  if (slot + count > TIDE_EXEC_SLOTS_MAX) {
    tide_exec_refuse(t, op, "needs more values at a time than a thread can have");
    return 0;
  }
  t->next_slot += count;
  if ((uint32_t)t->next_slot > t->program->slot_count)
    t->program->slot_count = (uint32_t)t->next_slot;
  return (int16_t)slot;
}

int16_t tide_exec_define(struct tide_exec_translator *t, tide_ir_op op, tide_ir_value value) {
  tide_ir_type type = tide_ir_type_of_value(t->ir, value);
  int count = tide_exec_slots(t->ir, type);
  if (t->status != TIDE_OK) return 0;
  if (!count) {
    tide_ir_op_error(t->ir, op, "has a value of type %s, which isn't executed",
                     tide_ir_type_name(t->ir, type).text);
    give_up(t, TIDE_UNSUPPORTED);
    return 0;
  }
  int16_t slot = tide_exec_new_slots(t, op, count);
  t->slots[value] = slot + SLOT_BIAS;
  return slot;
}

void tide_exec_alias(struct tide_exec_translator *t, tide_ir_value value, tide_ir_value of) {
  if (t->status == TIDE_OK) t->slots[value] = t->slots[of];
}

void tide_exec_assign(struct tide_exec_translator *t, tide_ir_value value, int16_t slot) {
  if (t->status == TIDE_OK) t->slots[value] = slot + SLOT_BIAS;
}

int16_t tide_exec_slot_of(struct tide_exec_translator *t, tide_ir_op op, tide_ir_value value) {
  if (t->status != TIDE_OK) return 0;
  if (!value || !t->slots[value]) {
    tide_exec_refuse(t, op, "uses a value from outside of what is executed");
    return 0;
  }
  return (int16_t)(t->slots[value] - SLOT_BIAS);
}

int16_t tide_exec_use(struct tide_exec_translator *t, tide_ir_op op, uint32_t operand) {
  if (operand >= tide_ir_op_of(t->ir, op)->operand_count) {
    tide_exec_refuse(t, op, "has too few operands");
    return 0;
  }
  return tide_exec_slot_of(t, op, tide_ir_operand(t->ir, op, operand));
}

/* ---- copies ---- */

static void emit_move(struct tide_exec_translator *t, tide_ir_op op, int16_t to, int16_t from,
                      int count) {
  if (to == from) return;
  tide_exec_emit(t, op,
                 (struct tide_exec_instruction){count == 1 ? TIDE_EXEC_MOVE : TIDE_EXEC_MOVE_MANY,
                                                to, from, 0, 0, (uint16_t)count, 0});
}

/* True if a copy overwrites a value that a later copy still reads. */
static bool copies_collide(struct tide_exec_translator *t, tide_ir_op op, uint32_t first,
                           uint32_t count, tide_ir_value to) {
  int32_t low = INT32_MAX, high = INT32_MIN; /* the slots written so far */
  for (uint32_t i = 0; i < count; i++) {
    int32_t from = tide_exec_use(t, op, first + i), target = tide_exec_slot_of(t, op, to + i);
    int32_t size = tide_exec_slots(t->ir, tide_ir_type_of_value(t->ir, to + i));
    if (from < high && from + size > low) return true;
    if (target < low) low = target;
    if (target + size > high) high = target + size;
  }
  return false;
}

void tide_exec_copy(struct tide_exec_translator *t, tide_ir_op op, uint32_t first, uint32_t count,
                    tide_ir_value to) {
  int32_t kept = t->next_slot;
  for (uint32_t i = 0; i < count; i++)
    if (tide_exec_operand_type(t, op, first + i) != tide_ir_type_of_value(t->ir, to + i)) {
      tide_exec_refuse(t, op, "passes a value on as one of another type");
      return;
    }
  if (t->status != TIDE_OK) return;
  bool twice = copies_collide(t, op, first, count, to);
  int16_t spare = (int16_t)kept;
  for (int round = twice ? 0 : 1; round < 2; round++) {
    int16_t at = spare;
    for (uint32_t i = 0; i < count && t->status == TIDE_OK; i++) {
      int size = tide_exec_slots(t->ir, tide_ir_type_of_value(t->ir, to + i));
      int16_t from = tide_exec_use(t, op, first + i), target = tide_exec_slot_of(t, op, to + i);
      if (twice && round == 0) emit_move(t, op, tide_exec_new_slots(t, op, size), from, size);
      else emit_move(t, op, target, twice ? at : from, size);
      at = (int16_t)(at + size);
    }
  }
  t->next_slot = kept;
}

/* ---- the function ---- */

static void translate_op(struct tide_exec_translator *t, tide_ir_op op) {
  if (t->status != TIDE_OK) return;
  if (tide_exec_arith(t, op) || tide_exec_memory_op(t, op) || tide_exec_flow(t, op) ||
      tide_exec_gpu(t, op) || tide_exec_cutlass(t, op))
    return;
  tide_exec_refuse(t, op, "isn't executed");
}

/* Defines the values of a block. The arguments of a region's first block are defined by the caller
 * that translates the region. */
static void define_block(struct tide_exec_translator *t, tide_ir_op parent, tide_ir_block block) {
  const struct tide_ir_block_record *record = tide_ir_block_of(t->ir, block);
  int16_t slot;
  for (uint32_t i = 0; record->prev && i < record->argument_count; i++)
    tide_exec_define(t, parent, record->arguments + i);
  for (tide_ir_op op = record->first; op && t->status == TIDE_OK;
       op = tide_ir_op_of(t->ir, op)->next) {
    const struct tide_ir_op_record *of = tide_ir_op_of(t->ir, op);
    if (tide_exec_known(t, op, &slot)) t->slots[of->results] = slot + SLOT_BIAS;
    else
      for (uint32_t i = 0; i < of->result_count; i++) tide_exec_define(t, op, of->results + i);
  }
}

void tide_exec_region(struct tide_exec_translator *t, tide_ir_region region) {
  const struct tide_ir_region_record *record = tide_ir_region_of(t->ir, region);
  int32_t kept = t->next_slot;
  uint32_t first_jump = t->jump_count;
  for (tide_ir_block block = record->first; block && t->status == TIDE_OK;
       block = tide_ir_block_of(t->ir, block)->next)
    define_block(t, record->parent, block);
  for (tide_ir_block block = record->first; block && t->status == TIDE_OK;
       block = tide_ir_block_of(t->ir, block)->next) {
    t->block_at[block] = tide_exec_here(t);
    for (tide_ir_op op = tide_ir_block_of(t->ir, block)->first; op;
         op = tide_ir_op_of(t->ir, op)->next)
      translate_op(t, op);
  }
  /* Branches between the blocks; those out of an inlined function stay. */
  uint32_t left = first_jump;
  for (uint32_t i = first_jump; i < t->jump_count; i++) {
    struct tide_exec_jump jump = t->jumps[i];
    if (!jump.block) t->jumps[left++] = jump;
    else if (tide_ir_block_of(t->ir, jump.block)->region == region)
      tide_exec_patch(t, jump.instruction, t->block_at[jump.block]);
    else tide_exec_refuse(t, record->parent, "has a branch out of its region");
  }
  t->jump_count = left;
  t->next_slot = kept;
}

/* Collects facts about the function that its instructions depend on. */
static void collect_facts(struct tide_exec_translator *t, tide_ir_op function) {
  for (tide_ir_op op = function; op; op = tide_ir_walk_next(t->ir, function, op, true)) {
    unsigned kind = tide_ir_op_kind(t->ir, op);
    if (kind == TIDE_OP_MODS_START || kind == TIDE_OP_MODS_END || kind == TIDE_OP_MODS_THROTTLE)
      t->program->contract = true;
  }
}

static void translate_function(struct tide_exec_translator *t, tide_ir_op function) {
  struct tide_exec_program *program = t->program;
  tide_ir_block entry = tide_ir_body(t->ir, function, 0);
  struct tide_exec_call kernel = {.op = 0};
  if (!entry) {
    tide_exec_refuse(t, function, "has no body to execute");
    return;
  }
  program->argument_count = tide_ir_block_of(t->ir, entry)->argument_count;
  t->call = &kernel;
  collect_facts(t, function);
  /* Arguments are defined first: slots 0, 1, …. */
  for (uint32_t i = 0; i < program->argument_count; i++) {
    tide_ir_value argument = tide_ir_argument(t->ir, entry, i);
    if (tide_exec_slots(t->ir, tide_ir_type_of_value(t->ir, argument)) != 1)
      tide_exec_refuse(t, function, "has an argument that can't be passed");
    tide_exec_define(t, function, argument);
  }
  tide_exec_region(t, tide_ir_region_at(t->ir, function, 0));
}

static bool begin_translation(struct tide_exec_translator *t) {
  const struct tide_allocator *allocator = t->program->allocator;
  t->value_count = t->ir->values.count;
  t->block_count = t->ir->blocks.count;
  t->slots = tide_alloc(allocator, t->value_count, sizeof *t->slots);
  t->block_at = tide_alloc(allocator, t->block_count, sizeof *t->block_at);
  t->hash = tide_alloc(allocator, HASH_SIZE, sizeof *t->hash);
  return t->slots && t->block_at && t->hash;
}

static void end_translation(struct tide_exec_translator *t) {
  const struct tide_allocator *allocator = t->program->allocator;
  tide_free(allocator, t->slots, t->value_count, sizeof *t->slots);
  tide_free(allocator, t->block_at, t->block_count, sizeof *t->block_at);
  tide_free(allocator, t->hash, HASH_SIZE, sizeof *t->hash);
  tide_free(allocator, t->jumps, t->jump_capacity, sizeof *t->jumps);
}

enum tide_status tide_exec_translate(struct tide_exec_program *program, struct tide_ir *ir,
                                     tide_ir_op function, const struct tide_exec_shape *shape,
                                     const struct tide_allocator *allocator) {
  struct tide_exec_translator t = {.program = program, .ir = ir, .shape = shape};
  *program = (struct tide_exec_program){
      .allocator = allocator, .ir = ir, .function = function, .window_leader = -1};
  if (!begin_translation(&t)) t.status = TIDE_NOMEM;
  else translate_function(&t, function);
  end_translation(&t);
  if (t.status != TIDE_OK) tide_exec_program_fini(program);
  return t.status;
}

void tide_exec_program_fini(struct tide_exec_program *program) {
  tide_free(program->allocator, program->code.at, program->code.capacity, sizeof *program->code.at);
  tide_free(program->allocator, program->code.ops, program->code.capacity,
            sizeof *program->code.ops);
  tide_free(program->allocator, program->constants, program->constant_capacity,
            sizeof *program->constants);
  *program = (struct tide_exec_program){.allocator = program->allocator};
}
