/* Translation: pipelines, sequence barriers, schedulers, and the MODS operations. */
#include "mods/exec_translate.h"
#include "mods/barrier_pool.h"
#include "mods/warps.h"
#include "base/alloc.h"

typedef struct tide_exec_instruction made;

static int64_t number_attribute(struct tide_exec_translator *t, tide_ir_op op,
                                enum tide_ir_name name, int64_t least, int64_t most) {
  int64_t value = tide_ir_get_integer(t->ir, op, name, least - 1);
  if (value < least || value > most)
    tide_exec_refuse(t, op, "has an attribute that is missing or out of range");
  return value;
}

/* ---- async regions ---- */

static void find_window(struct tide_exec_translator *t, tide_ir_op region) {
  t->window = false;
  for (tide_ir_op op = region; op; op = tide_ir_walk_next(t->ir, region, op, true))
    if (tide_ir_op_kind(t->ir, op) == TIDE_OP_MODS_START) t->window = true;
  if (t->window && t->program->window_leader < 0)
    t->program->window_leader = (int32_t)(t->warp_low * 32);
}

static uint32_t threads_of_region(const struct tide_exec_translator *t) {
  uint32_t all = t->shape->block[0] * t->shape->block[1] * t->shape->block[2];
  uint32_t low = t->warp_low * 32, high = t->warp_high * 32;
  if (high > all) high = all;
  return high > low ? high - low : 0;
}

static void async_exec(struct tide_exec_translator *t, tide_ir_op op) {
  struct tide_warps warps = tide_warps_of(t->ir, op);
  int64_t low = warps.first, high = warps.end;
  if (t->warp_high || low < 0 || high <= low || high > TIDE_WARPS_MAX) {
    tide_exec_refuse(t, op, "has no range of warps, or lies in another one");
    return;
  }
  t->warp_low = (uint32_t)low;
  t->warp_high = (uint32_t)high;
  t->main_loop = false;
  t->throttle_barrier = 0;
  find_window(t, op);
  uint32_t over = tide_exec_emit(
      t, op, (made){.code = TIDE_EXEC_JUMP_NOT_WARP, .a = (int16_t)low, .b = (int16_t)high});
  tide_exec_region(t, tide_ir_region_at(t->ir, op, 0));
  if (t->main_loop || t->window) t->program->loop_threads += threads_of_region(t);
  if (t->main_loop && !t->window) tide_exec_emit(t, op, (made){.code = TIDE_EXEC_LOOP_LEAVE});
  tide_exec_patch(t, over, tide_exec_here(t));
  t->warp_low = t->warp_high = 0;
  t->window = false;
}

/* ---- pipelines ---- */

/* Synchronises all threads of the cluster after the barriers are initialised. Consecutive inits
 * share one synchronisation. */
static void sync_after_init(struct tide_exec_translator *t, tide_ir_op op) {
  tide_ir_op next = tide_ir_op_of(t->ir, op)->next;
  unsigned kind = next ? tide_ir_op_kind(t->ir, next) : TIDE_OP_NONE;
  if (kind == TIDE_OP_PIPELINE_INIT || kind == TIDE_OP_SEQ_BAR_INIT) return;
  if (t->shape->cluster[0] * t->shape->cluster[1] * t->shape->cluster[2] > 1) {
    tide_exec_emit(t, op, (made){.code = TIDE_EXEC_CLUSTER_ARRIVE});
    tide_exec_emit(t, op, (made){.code = TIDE_EXEC_CLUSTER_WAIT});
  } else {
    int16_t none = tide_exec_constant(t, 0);
    tide_exec_emit(t, op, (made){.code = TIDE_EXEC_BARRIER, .a = none, .b = none});
  }
}

static bool take_barriers(struct tide_exec_translator *t, tide_ir_op op, uint32_t count,
                          uint32_t *out_first) {
  if (t->status != TIDE_OK) return false;
  *out_first = TIDE_EXEC_NAMED + t->program->barrier_count;
  if (count > TIDE_EXEC_BARRIERS_MAX - t->program->barrier_count ||
      t->program->pipeline_count >= TIDE_EXEC_PIPELINES_MAX ||
      t->program->sequence_count >= TIDE_EXEC_PIPELINES_MAX) {
    tide_exec_refuse(t, op, "needs more barriers than a CTA can have");
    return false;
  }
  t->program->barrier_count += count;
  return true;
}

static void pipeline_init(struct tide_exec_translator *t, tide_ir_op op) {
  struct tide_exec_program *program = t->program;
  struct tide_exec_pipeline pipeline = {
      .stages = (uint32_t)number_attribute(t, op, TIDE_NAME_STAGES, 1, 512),
      .producers = (uint32_t)number_attribute(t, op, TIDE_NAME_PRODUCERS, 1, 1 << 20),
      .consumers = (uint32_t)number_attribute(t, op, TIDE_NAME_CONSUMERS, 1, 1 << 20),
      .tx_bytes = (uint32_t)number_attribute(t, op, TIDE_NAME_TX_BYTES, 0, (1 << 20) - 1)};
  if (!take_barriers(t, op, 2 * pipeline.stages, &pipeline.barriers)) return;
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_PIPELINE_INIT,
                        .d = tide_exec_result(t, op),
                        .imm = (int32_t)program->pipeline_count});
  program->pipelines[program->pipeline_count++] = pipeline;
  sync_after_init(t, op);
}

static void sequence_init(struct tide_exec_translator *t, tide_ir_op op) {
  struct tide_exec_program *program = t->program;
  struct tide_exec_sequence sequence = {
      .depth = (uint32_t)number_attribute(t, op, TIDE_NAME_DEPTH, 1, 256),
      .length = (uint32_t)number_attribute(t, op, TIDE_NAME_LENGTH, 1, 256),
      .group_size = (uint32_t)number_attribute(t, op, TIDE_NAME_GROUP_SIZE, 1, 1 << 20)};
  if (!take_barriers(t, op, sequence.depth * sequence.length, &sequence.barriers)) return;
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_SEQ_INIT,
                        .d = tide_exec_result(t, op),
                        .imm = (int32_t)program->sequence_count});
  program->sequences[program->sequence_count++] = sequence;
  sync_after_init(t, op);
}

/* Returns the number of stages that a state's index counts through. */
static uint16_t stages_of(struct tide_exec_translator *t, tide_ir_op op) {
  const struct tide_ir_type_record *type = tide_ir_type_of(t->ir, tide_exec_operand_type(t, op, 0));
  if ((type->kind != TIDE_IR_PIPELINE && type->kind != TIDE_IR_SEQ_BAR) || !type->a ||
      type->a > 512)
    tide_exec_refuse(t, op, "has no pipeline or sequence barrier with stages");
  return (uint16_t)type->a;
}

static void state_create(struct tide_exec_translator *t, tide_ir_op op) {
  const char *role = tide_ir_get_text(t->ir, op, TIDE_NAME_ROLE);
  int64_t phase = role && strcmp(role, "producer") == 0;
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_MOVE,
                        .d = tide_exec_result(t, op),
                        .a = tide_exec_constant(t, phase << 32)});
}

static void sequence_state(struct tide_exec_translator *t, tide_ir_op op) {
  int64_t phase = tide_ir_get_integer(t->ir, op, TIDE_NAME_GROUP, 0) == 0;
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_MOVE,
                        .d = tide_exec_result(t, op),
                        .a = tide_exec_constant(t, phase << 32)});
}

/* c: the async region's first thread, which issues its TMA; thread 0 outside of a region. */
static void on_pipeline(struct tide_exec_translator *t, tide_ir_op op, uint16_t code) {
  if (t->status != TIDE_OK) return;
  tide_exec_emit(t, op,
                 (made){.code = code,
                        .a = tide_exec_use(t, op, 0),
                        .b = tide_exec_use(t, op, 1),
                        .c = (int16_t)(t->warp_low * 32)});
}

static void emit_acquire(struct tide_exec_translator *t, tide_ir_op op) {
  on_pipeline(t, op, TIDE_EXEC_ACQUIRE);
  made expect = {.code = TIDE_EXEC_EXPECT,
                 .a = tide_exec_use(t, op, 0),
                 .b = tide_exec_use(t, op, 1),
                 .c = (int16_t)(t->warp_low * 32),
                 .imm = -1};
  if (tide_ir_has(t->ir, op, TIDE_NAME_BYTES))
    expect.imm = (int32_t)number_attribute(t, op, TIDE_NAME_BYTES, 0, (1 << 20) - 1);
  tide_exec_emit(t, op, expect);
}

/* Waits until every stage is empty. */
static void emit_tail(struct tide_exec_translator *t, tide_ir_op op) {
  uint16_t stages = stages_of(t, op);
  int32_t kept = t->next_slot;
  int16_t state = tide_exec_new_slots(t, op, 1), pipeline = tide_exec_use(t, op, 0);
  tide_exec_emit(t, op, (made){.code = TIDE_EXEC_MOVE, .d = state, .a = tide_exec_use(t, op, 1)});
  for (uint16_t i = 0; i < stages && t->status == TIDE_OK; i++) {
    tide_exec_emit(t, op, (made){.code = TIDE_EXEC_ACQUIRE, .a = pipeline, .b = state});
    tide_exec_emit(t, op,
                   (made){.code = TIDE_EXEC_STATE_NEXT, .d = state, .a = state, .w = stages});
  }
  t->next_slot = kept;
}

static void sequence_op(struct tide_exec_translator *t, tide_ir_op op, uint16_t code) {
  tide_exec_emit(t, op,
                 (made){.code = code,
                        .a = tide_exec_use(t, op, 0),
                        .b = tide_exec_use(t, op, 1),
                        .imm = (int32_t)number_attribute(t, op, TIDE_NAME_GROUP, 0, 255)});
}

static void state_part(struct tide_exec_translator *t, tide_ir_op op, uint16_t code) {
  tide_exec_emit(t, op,
                 (made){.code = code, .d = tide_exec_result(t, op), .a = tide_exec_use(t, op, 0)});
}

/* ---- schedulers ---- */

/* w: the kind, 4 if rastered along m, the swizzle times 8. imm: the slot of k; INT32_MIN: none. */
static void emit_scheduler(struct tide_exec_translator *t, tide_ir_op op,
                           enum tide_ir_scheduler kind) {
  const char *raster = tide_ir_get_text(t->ir, op, TIDE_NAME_RASTER);
  int64_t swizzle = tide_ir_get_integer(t->ir, op, TIDE_NAME_SWIZZLE, 1);
  if (swizzle < 1 || swizzle > 8) swizzle = 16; /* rejected at run time */
  tide_exec_emit(
      t, op,
      (made){.code = TIDE_EXEC_SCHEDULER,
             .d = tide_exec_result(t, op),
             .a = tide_exec_use(t, op, 0),
             .b = tide_exec_use(t, op, 1),
             .c = tide_exec_use(t, op, 2),
             .w = (uint16_t)(kind | (raster && strcmp(raster, "m") == 0 ? 4 : 0) | swizzle << 3),
             .imm = kind == TIDE_IR_STREAMK ? tide_exec_use(t, op, 3) : INT32_MIN});
}

static void work_first(struct tide_exec_translator *t, tide_ir_op op) {
  state_part(t, op, TIDE_EXEC_WORK_FIRST);
}

static void work_next(struct tide_exec_translator *t, tide_ir_op op) {
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_WORK_NEXT,
                        .d = tide_exec_result(t, op),
                        .a = tide_exec_use(t, op, 0),
                        .b = tide_exec_use(t, op, 1),
                        .w = t->window});
}

static void work_get(struct tide_exec_translator *t, tide_ir_op op) {
  static const char *const fields[] = {"m",       "n",     "l",     "k_begin",
                                       "k_count", "valid", "first", "last"};
  const char *field = tide_ir_get_text(t->ir, op, TIDE_NAME_FIELD);
  for (uint16_t i = 0; field && i < sizeof fields / sizeof *fields; i++)
    if (strcmp(field, fields[i]) == 0) {
      tide_exec_emit(t, op,
                     (made){.code = TIDE_EXEC_WORK_GET,
                            .d = tide_exec_result(t, op),
                            .a = tide_exec_use(t, op, 0),
                            .w = i});
      return;
    }
  tide_exec_refuse(t, op, "asks for a field that there is none of");
}

/* ---- MODS ---- */

static void emit_timestamp(struct tide_exec_translator *t, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(t->ir, op);
  if (!record->result_count) return;
  int16_t d = tide_exec_result(t, op);
  tide_exec_emit(t, op, (made){.code = TIDE_EXEC_REGISTER, .d = d, .w = TIDE_REG_TIME});
  if (record->operand_count > 2)
    tide_exec_emit(t, op,
                   (made){.code = TIDE_EXEC_SUB, .d = d, .a = d, .b = tide_exec_use(t, op, 2)});
}

static void mods_start(struct tide_exec_translator *t, tide_ir_op op) {
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_WINDOW_OPEN,
                        .a = tide_exec_use(t, op, 1),
                        .w = (uint16_t)tide_ir_get_integer(t->ir, op, TIDE_NAME_IS_2CTA_MMA, 0)});
  tide_exec_emit(t, op, (made){.code = TIDE_EXEC_CLUSTER_ARRIVE});
  emit_timestamp(t, op);
}

/* The full handshake: all have entered; all have reached the end. */
static void mods_end(struct tide_exec_translator *t, tide_ir_op op) {
  tide_exec_emit(t, op, (made){.code = TIDE_EXEC_CLUSTER_WAIT});
  tide_exec_emit(t, op, (made){.code = TIDE_EXEC_CLUSTER_ARRIVE});
  tide_exec_emit(t, op, (made){.code = TIDE_EXEC_CLUSTER_WAIT});
  tide_exec_emit(t, op, (made){.code = TIDE_EXEC_WINDOW_CLOSE});
  emit_timestamp(t, op);
}

#define THROTTLE_SLEEP 100 /* virtual ns, of profile 1 */

static void emit_throttle(struct tide_exec_translator *t, tide_ir_op op) {
  int64_t profile = number_attribute(t, op, TIDE_NAME_PROFILE, 0, 2);
  if (t->status != TIDE_OK || profile == 0) return;
  tide_exec_emit(t, op, (made){.code = TIDE_EXEC_THROTTLE});
  if (profile == 1) {
    tide_exec_emit(t, op,
                   (made){.code = TIDE_EXEC_SLEEP, .a = tide_exec_constant(t, THROTTLE_SLEEP)});
    return;
  }
  if (!t->throttle_barrier) {
    uint32_t taken = tide_pool_taken(t->ir, tide_ir_ancestor(t->ir, op, TIDE_OP_GPU_FUNC), NULL);
    t->throttle_barrier = tide_pool_next(taken, t->next_barrier);
    t->next_barrier = t->throttle_barrier + 1;
  }
  if (t->throttle_barrier >= TIDE_POOL_END) {
    tide_exec_refuse(t, op, "has no named barrier left for its profile");
    return;
  }
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_BARRIER,
                        .a = tide_exec_constant(t, t->throttle_barrier),
                        .b = tide_exec_constant(t, threads_of_region(t))});
}

/* Participants are what the start of the scheduler's window says. */
static void emit_query(struct tide_exec_translator *t, tide_ir_op op) {
  tide_ir_op start = tide_opening_of(t->ir, op);
  tide_exec_emit(t, op,
                 (made){.code = TIDE_EXEC_QUERY,
                        .d = tide_exec_result(t, op),
                        .a = tide_exec_use(t, op, 1),
                        .w = (uint16_t)(start && tide_ir_get_integer(t->ir, start,
                                                                     TIDE_NAME_IS_2CTA_MMA, 0))});
}

/* ---- all ---- */

static bool cutlass_pipeline(struct tide_exec_translator *t, tide_ir_op op) {
  switch (tide_ir_op_kind(t->ir, op)) {
    case TIDE_OP_PIPELINE_INIT: pipeline_init(t, op); return true;
    case TIDE_OP_STATE_CREATE: state_create(t, op); return true;
    case TIDE_OP_STATE_INCREMENT:
      tide_exec_emit(t, op,
                     (made){.code = TIDE_EXEC_STATE_NEXT,
                            .d = tide_exec_result(t, op),
                            .a = tide_exec_use(t, op, 1),
                            .w = stages_of(t, op)});
      return true;
    case TIDE_OP_STATE_INDEX: state_part(t, op, TIDE_EXEC_STATE_INDEX); return true;
    case TIDE_OP_STATE_PHASE: state_part(t, op, TIDE_EXEC_STATE_PHASE); return true;
    case TIDE_OP_PRODUCER_ACQUIRE: emit_acquire(t, op); return true;
    case TIDE_OP_PRODUCER_COMMIT: on_pipeline(t, op, TIDE_EXEC_COMMIT); return true;
    case TIDE_OP_PRODUCER_TAIL: emit_tail(t, op); return true;
    case TIDE_OP_CONSUMER_WAIT: on_pipeline(t, op, TIDE_EXEC_CONSUMER_WAIT); return true;
    case TIDE_OP_CONSUMER_RELEASE: on_pipeline(t, op, TIDE_EXEC_RELEASE); return true;
    case TIDE_OP_SEQ_BAR_INIT: sequence_init(t, op); return true;
    case TIDE_OP_SEQ_BAR_STATE: sequence_state(t, op); return true;
    case TIDE_OP_SEQ_BAR_WAIT: sequence_op(t, op, TIDE_EXEC_SEQ_WAIT); return true;
    case TIDE_OP_SEQ_BAR_ARRIVE: sequence_op(t, op, TIDE_EXEC_SEQ_ARRIVE); return true;
    default: return false;
  }
}

bool tide_exec_cutlass(struct tide_exec_translator *t, tide_ir_op op) {
  switch (tide_ir_op_kind(t->ir, op)) {
    case TIDE_OP_ASYNC_EXEC: async_exec(t, op); return true;
    case TIDE_OP_ASYNC_YIELD: return true;
    case TIDE_OP_SCHED_STATIC: emit_scheduler(t, op, TIDE_IR_STATIC_PERSISTENT); return true;
    case TIDE_OP_SCHED_DATA_PARALLEL: emit_scheduler(t, op, TIDE_IR_DATA_PARALLEL); return true;
    case TIDE_OP_SCHED_STREAMK: emit_scheduler(t, op, TIDE_IR_STREAMK); return true;
    case TIDE_OP_GET_CURRENT_WORK: work_first(t, op); return true;
    case TIDE_OP_ADVANCE: work_next(t, op); return true;
    case TIDE_OP_WORK_GET: work_get(t, op); return true;
    case TIDE_OP_MODS_START: mods_start(t, op); return true;
    case TIDE_OP_MODS_END: mods_end(t, op); return true;
    case TIDE_OP_MODS_QUERY: emit_query(t, op); return true;
    case TIDE_OP_MODS_THROTTLE: emit_throttle(t, op); return true;
    default: return cutlass_pipeline(t, op);
  }
}
