/* Translation: gpu and nvvm operations. */
#include "mods/exec_translate.h"
#include "base/alloc.h"

typedef struct tide_exec_instruction made;

/* ---- registers ---- */

/* The register + 1; where it has axes, the register of x. */
#define REG(name) (TIDE_REG_##name + 1)
static const uint8_t registers[TIDE_IR_KINDS] = {
    [TIDE_OP_GPU_THREAD_ID] = REG(TID),
    [TIDE_OP_GPU_BLOCK_ID] = REG(CTAID),
    [TIDE_OP_GPU_BLOCK_DIM] = REG(NTID),
    [TIDE_OP_GPU_GRID_DIM] = REG(NCTAID),
    [TIDE_OP_GPU_CLUSTER_ID] = REG(CLUSTERID),
    [TIDE_OP_GPU_CLUSTER_DIM] = REG(NCLUSTERID),
    [TIDE_OP_GPU_CLUSTER_BLOCK_ID] = REG(CLUSTER_CTAID),
    [TIDE_OP_GPU_CLUSTER_DIM_BLOCKS] = REG(CLUSTER_NCTAID),
    [TIDE_OP_GPU_GLOBAL_ID] = REG(GLOBAL_ID),
    [TIDE_OP_GPU_LANE_ID] = REG(LANE),
    [TIDE_OP_GPU_SUBGROUP_ID] = REG(WARP),
    [TIDE_OP_GPU_NUM_SUBGROUPS] = REG(WARPS),
    [TIDE_OP_GPU_SUBGROUP_SIZE] = REG(WARP_SIZE),
    [TIDE_OP_NVVM_TID_X] = REG(TID),
    [TIDE_OP_NVVM_TID_Y] = REG(TID) + 1,
    [TIDE_OP_NVVM_TID_Z] = REG(TID) + 2,
    [TIDE_OP_NVVM_NTID_X] = REG(NTID),
    [TIDE_OP_NVVM_NTID_Y] = REG(NTID) + 1,
    [TIDE_OP_NVVM_NTID_Z] = REG(NTID) + 2,
    [TIDE_OP_NVVM_CTAID_X] = REG(CTAID),
    [TIDE_OP_NVVM_CTAID_Y] = REG(CTAID) + 1,
    [TIDE_OP_NVVM_CTAID_Z] = REG(CTAID) + 2,
    [TIDE_OP_NVVM_NCTAID_X] = REG(NCTAID),
    [TIDE_OP_NVVM_NCTAID_Y] = REG(NCTAID) + 1,
    [TIDE_OP_NVVM_NCTAID_Z] = REG(NCTAID) + 2,
    [TIDE_OP_NVVM_LANEID] = REG(LANE),
    [TIDE_OP_NVVM_WARPSIZE] = REG(WARP_SIZE),
    [TIDE_OP_NVVM_CLUSTER_CTARANK] = REG(CLUSTER_RANK),
    [TIDE_OP_NVVM_CLUSTER_NCTARANK] = REG(CLUSTER_SIZE),
    [TIDE_OP_NVVM_CLUSTER_CTAID_X] = REG(CLUSTER_CTAID),
    [TIDE_OP_NVVM_CLUSTER_CTAID_Y] = REG(CLUSTER_CTAID) + 1,
    [TIDE_OP_NVVM_CLUSTER_CTAID_Z] = REG(CLUSTER_CTAID) + 2,
    [TIDE_OP_NVVM_CLUSTER_NCTAID_X] = REG(CLUSTER_NCTAID),
    [TIDE_OP_NVVM_CLUSTER_NCTAID_Y] = REG(CLUSTER_NCTAID) + 1,
    [TIDE_OP_NVVM_CLUSTER_NCTAID_Z] = REG(CLUSTER_NCTAID) + 2,
    [TIDE_OP_NVVM_CLUSTERID_X] = REG(CLUSTERID),
    [TIDE_OP_NVVM_CLUSTERID_Y] = REG(CLUSTERID) + 1,
    [TIDE_OP_NVVM_CLUSTERID_Z] = REG(CLUSTERID) + 2,
    [TIDE_OP_NVVM_NCLUSTERID_X] = REG(NCLUSTERID),
    [TIDE_OP_NVVM_NCLUSTERID_Y] = REG(NCLUSTERID) + 1,
    [TIDE_OP_NVVM_NCLUSTERID_Z] = REG(NCLUSTERID) + 2,
    [TIDE_OP_NVVM_CLOCK] = REG(TIME),
    [TIDE_OP_NVVM_CLOCK64] = REG(TIME),
    [TIDE_OP_NVVM_GLOBALTIMER] = REG(TIME),
    [TIDE_OP_NVVM_SMID] = REG(SMID),
    [TIDE_OP_MODS_SMID] = REG(SMID),
    [TIDE_OP_NVVM_ELECT] = REG(ELECT),
};

/* Returns the axis of `#gpu<dim x>`, by the letter before the last. -1: none. */
static int axis_of(struct tide_exec_translator *t, tide_ir_op op) {
  tide_ir_attr attr = tide_ir_get(t->ir, op, TIDE_NAME_DIMENSION);
  size_t length;
  if (!attr) return 0;
  const struct tide_ir_attr_record *record = tide_ir_attr_of(t->ir, attr);
  if (record->kind == TIDE_IR_ATTR_INTEGER)
    return record->integer >= 0 && record->integer < 3 ? (int)record->integer : -1;
  if (record->kind != TIDE_IR_ATTR_OPAQUE && record->kind != TIDE_IR_ATTR_STRING) return -1;
  const char *text = tide_ir_string_text(t->ir, record->string, &length);
  while (length && (text[length - 1] == '>' || text[length - 1] == ' ')) length--;
  char letter = length ? text[length - 1] : 0;
  return letter >= 'x' && letter <= 'z' ? letter - 'x' : -1;
}

static void read_register(struct tide_exec_translator *t, tide_ir_op op, uint32_t which) {
  int at = axis_of(t, op);
  if (at < 0 || tide_ir_op_of(t->ir, op)->result_count != 1) {
    tide_exec_refuse(t, op, "has no dimension x, y or z");
    return;
  }
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_REGISTER,
                        .d = tide_exec_result(t, op),
                        .w = (uint16_t)(which + (uint32_t)at)});
}

/* ---- barriers ---- */

/* nvvm.barrier and its arrive form have operand segments: an optional id and an optional thread
 * count. */
static void emit_barrier(struct tide_exec_translator *t, tide_ir_op op, uint16_t code,
                         bool counted) {
  const struct tide_ir_op_record *record = tide_ir_op_of(t->ir, op);
  tide_ir_attr segments = tide_ir_get(t->ir, op, TIDE_NAME_OPERAND_SEGMENTS);
  bool has_id = record->operand_count > counted, has_count = record->operand_count > !counted;
  if (tide_exec_dense(t->ir, segments) == 2) {
    has_id = tide_ir_attr_element(t->ir, segments, 0) == 1;
    has_count = tide_ir_attr_element(t->ir, segments, 1) == 1;
  }
  if (has_id + has_count != record->operand_count || (counted && !has_count)) {
    tide_exec_refuse(t, op, "takes a barrier's number and how many threads");
    return;
  }
  int16_t none = tide_exec_constant(t, 0);
  tide_exec_emit(t, op,
                 (made){.code = code,
                        .a = has_id ? tide_exec_use(t, op, 0) : none,
                        .b = has_count ? tide_exec_use(t, op, has_id) : none});
}

static void cta_barrier(struct tide_exec_translator *t, tide_ir_op op) {
  int16_t none = tide_exec_constant(t, 0);
  tide_exec_emit(t, op, (made){.code = TIDE_EXEC_BARRIER, .a = none, .b = none});
}

static void emit_plain(struct tide_exec_translator *t, tide_ir_op op, uint16_t code) {
  tide_exec_emit(t, op, (made){.code = code});
}

/* Emits an instruction with operands a, b, c in their order, and a result if there is one. */
static void emit_straight(struct tide_exec_translator *t, tide_ir_op op, uint16_t code,
                          uint32_t operands) {
  const struct tide_ir_op_record *record = tide_ir_op_of(t->ir, op);
  made one = {.code = code};
  if (record->operand_count < operands) {
    tide_exec_refuse(t, op, "has too few operands");
    return;
  }
  if (operands > 0) one.a = tide_exec_use(t, op, 0);
  if (operands > 1) one.b = tide_exec_use(t, op, 1);
  if (operands > 2) one.c = tide_exec_use(t, op, 2);
  if (record->result_count) one.d = tide_exec_result(t, op);
  tide_exec_emit(t, op, one);
}

/* w: 1: the arrival expects bytes; 2: it must not complete the phase. */
static void mbarrier_arrive(struct tide_exec_translator *t, tide_ir_op op, uint16_t how) {
  const struct tide_ir_op_record *record = tide_ir_op_of(t->ir, op);
  made one = {.code = TIDE_EXEC_MBARRIER_ARRIVE, .w = how, .a = tide_exec_use(t, op, 0)};
  one.b = how ? tide_exec_use(t, op, 1) : tide_exec_constant(t, 1);
  one.d = record->result_count ? tide_exec_result(t, op) : tide_exec_new_slots(t, op, 1);
  tide_exec_emit(t, op, one);
}

/* ---- assembly and intrinsics, as far as our own lowering writes them ---- */

static bool contains_word(const char *text, const char *word) {
  size_t length = strlen(word);
  for (; text && *text; text++)
    if (memcmp(text, word, strlen(text) < length ? strlen(text) : length) == 0 &&
        strlen(text) >= length)
      return true;
  return false;
}

static void emit_assembly(struct tide_exec_translator *t, tide_ir_op op) {
  const char *text = tide_ir_get_text(t->ir, op, TIDE_NAME_ASM_STRING);
  const struct tide_ir_op_record *record = tide_ir_op_of(t->ir, op);
  if (!text || strlen(text) > 256 || !contains_word(text, "nanosleep.u32") ||
      record->result_count) {
    tide_exec_refuse(t, op, "is assembly that isn't executed (nanosleep.u32 is)");
    return;
  }
  int64_t number = 0;
  for (const char *at = text; *at; at++)
    if (at[0] == ' ' && at[1] >= '0' && at[1] <= '9')
      for (at++; *at >= '0' && *at <= '9' && number < INT32_MAX; at++)
        number = number * 10 + (*at - '0');
  tide_exec_emit(
      t, op,
      (made){.code = TIDE_EXEC_SLEEP,
             .a = record->operand_count ? tide_exec_use(t, op, 0) : tide_exec_constant(t, number)});
}

static void emit_intrinsic(struct tide_exec_translator *t, tide_ir_op op) {
  const char *name = tide_ir_get_text(t->ir, op, TIDE_NAME_INTRIN);
  if (name && contains_word(name, "read.ptx.sreg.globaltimer")) read_register(t, op, TIDE_REG_TIME);
  else if (name && contains_word(name, "read.ptx.sreg.smid")) read_register(t, op, TIDE_REG_SMID);
  else if (name && contains_word(name, "llvm.nvvm.mapa"))
    emit_straight(t, op, TIDE_EXEC_RANK_ADDRESS, 2);
  else tide_exec_refuse(t, op, "is an intrinsic that isn't executed");
}

static bool emit_mbarrier(struct tide_exec_translator *t, tide_ir_op op) {
  switch (tide_ir_op_kind(t->ir, op)) {
    case TIDE_OP_NVVM_MBARRIER_INIT:
    case TIDE_OP_NVVM_MBARRIER_INIT_SHARED:
      t->program->user_barriers = TIDE_EXEC_USER_BARRIERS;
      emit_straight(t, op, TIDE_EXEC_MBARRIER_INIT, 2);
      return true;
    case TIDE_OP_NVVM_MBARRIER_INVAL:
    case TIDE_OP_NVVM_MBARRIER_INVAL_SHARED:
      emit_straight(t, op, TIDE_EXEC_MBARRIER_INVAL, 1);
      return true;
    case TIDE_OP_NVVM_MBARRIER_ARRIVE:
    case TIDE_OP_NVVM_MBARRIER_ARRIVE_SHARED: mbarrier_arrive(t, op, 0); return true;
    case TIDE_OP_NVVM_MBARRIER_ARRIVE_EXPECT_TX:
    case TIDE_OP_NVVM_MBARRIER_ARRIVE_EXPECT_TX_SHARED: mbarrier_arrive(t, op, 1); return true;
    case TIDE_OP_NVVM_MBARRIER_ARRIVE_NOCOMPLETE:
    case TIDE_OP_NVVM_MBARRIER_ARRIVE_NOCOMPLETE_SHARED: mbarrier_arrive(t, op, 2); return true;
    case TIDE_OP_NVVM_MBARRIER_TEST_WAIT:
    case TIDE_OP_NVVM_MBARRIER_TEST_WAIT_SHARED:
      emit_straight(t, op, TIDE_EXEC_MBARRIER_TEST, 2);
      return true;
    case TIDE_OP_NVVM_MBARRIER_TRY_WAIT_PARITY:
    case TIDE_OP_NVVM_MBARRIER_TRY_WAIT_PARITY_SHARED:
      emit_straight(t, op, TIDE_EXEC_MBARRIER_WAIT, 2);
      return true;
    default: return false;
  }
}

/* Some operations have a predicate as third operand: if 0, they are skipped. */
static bool gpu_mbarrier(struct tide_exec_translator *t, tide_ir_op op) {
  unsigned kind = tide_ir_op_kind(t->ir, op);
  bool may = kind == TIDE_OP_NVVM_MBARRIER_INIT || kind == TIDE_OP_NVVM_MBARRIER_INIT_SHARED ||
             kind == TIDE_OP_NVVM_MBARRIER_ARRIVE_EXPECT_TX ||
             kind == TIDE_OP_NVVM_MBARRIER_ARRIVE_EXPECT_TX_SHARED;
  if (!may || tide_ir_op_of(t->ir, op)->operand_count < 3) return emit_mbarrier(t, op);
  uint32_t over =
      tide_exec_emit(t, op, (made){.code = TIDE_EXEC_JUMP_ZERO, .a = tide_exec_use(t, op, 2)});
  emit_mbarrier(t, op);
  tide_exec_patch(t, over, tide_exec_here(t));
  return true;
}

bool tide_exec_gpu(struct tide_exec_translator *t, tide_ir_op op) {
  unsigned kind = tide_ir_op_kind(t->ir, op);
  if (kind >= TIDE_IR_KINDS) return false;
  if (registers[kind]) {
    read_register(t, op, registers[kind] - 1u);
    return true;
  }
  switch (kind) {
    case TIDE_OP_GPU_BARRIER:
    case TIDE_OP_NVVM_BARRIER0: cta_barrier(t, op); return true;
    case TIDE_OP_NVVM_BARRIER:
    case TIDE_OP_NVVM_BARRIER_CTA_SYNC: emit_barrier(t, op, TIDE_EXEC_BARRIER, false); return true;
    case TIDE_OP_NVVM_BARRIER_ARRIVE:
      emit_barrier(t, op, TIDE_EXEC_BARRIER_ARRIVE, true);
      return true;
    case TIDE_OP_NVVM_CLUSTER_ARRIVE:
    case TIDE_OP_NVVM_CLUSTER_ARRIVE_RELAXED:
      emit_plain(t, op, TIDE_EXEC_CLUSTER_ARRIVE);
      return true;
    case TIDE_OP_NVVM_CLUSTER_WAIT: emit_plain(t, op, TIDE_EXEC_CLUSTER_WAIT); return true;
    case TIDE_OP_NVVM_MAPA: emit_straight(t, op, TIDE_EXEC_RANK_ADDRESS, 2); return true;
    case TIDE_OP_LLVM_INLINE_ASM: emit_assembly(t, op); return true;
    case TIDE_OP_LLVM_INTRINSIC: emit_intrinsic(t, op); return true;
    /* Memory is in order here, and a copy completes at once: these need no instruction. */
    case TIDE_OP_NVVM_FENCE_MBARRIER_INIT:
    case TIDE_OP_NVVM_FENCE_PROXY:
    case TIDE_OP_NVVM_FENCE_PROXY_ASYNC:
    case TIDE_OP_LLVM_FENCE:
    case TIDE_OP_NVVM_BULK_COMMIT:
    case TIDE_OP_NVVM_BULK_WAIT:
    case TIDE_OP_MODS_BULK_WAIT: return true;
    default: return gpu_mbarrier(t, op);
  }
}
