/* Lowers pipelines and sequence barriers to mbarriers in shared memory.
 *
 * A pipeline of S stages is S mbarriers "full", then S "empty". A sequence barrier of depth D and
 * length L is D·L mbarriers, stage by stage. A state is a struct of index and phase. */
#include "mods/lower_build.h"

/* Limit on the suspension of one try_wait; CUTLASS's value. */
#define TICKS 10000000

static tide_ir_value state_of(struct tide_lower *l, tide_ir_value index, tide_ir_value phase) {
  return tide_lower_pack(l, l->state, (tide_ir_value[]){index, phase}, 2);
}

static tide_ir_value state_part(struct tide_lower *l, tide_ir_op op, uint32_t operand,
                                uint32_t part) {
  return tide_lower_field(l, tide_ir_operand(l->ir, op, operand), part, l->i32);
}

static void build_wait(struct tide_lower *l, tide_ir_value barrier, tide_ir_value phase) {
  tide_ir_value operands[] = {barrier, phase, tide_lower_i32(l, TICKS)};
  tide_lower_op(l, TIDE_OP_NVVM_MBARRIER_TRY_WAIT_PARITY_SHARED, operands, 3, 0, 0);
}

static void build_arrive(struct tide_lower *l, tide_ir_value barrier) {
  tide_lower_op(l, TIDE_OP_NVVM_MBARRIER_ARRIVE_SHARED, &barrier, 1, l->i64, 0);
}

static uint32_t integer_attr(struct tide_lower *l, tide_ir_op op, tide_ir_string name) {
  return (uint32_t)tide_ir_get_integer(l->ir, op, name, 0);
}

/* ---- inits ---- */

static void register_init(struct tide_lower *l, tide_ir_op op, struct tide_lower_known what,
                          uint32_t slot) {
  struct tide_lower_known *known = tide_lower_know(l, op, tide_lower_slot_address(l, slot));
  what.kind = known->kind;
  what.value = known->value;
  *known = what;
  if (tide_ir_op_of(l->ir, op)->block != tide_ir_body(l->ir, l->function, 0))
    tide_lower_error(l, op, "must stand in the kernel's first block to be lowered");
  tide_ir_replace_all(l->ir, tide_ir_result(l->ir, op, 0), known->value);
  if (l->init_count < TIDE_LOWER_KNOWN_MAX) l->inits[l->init_count++] = op;
}

static void pipeline_init(struct tide_lower *l, tide_ir_op op) {
  uint32_t stages = integer_attr(l, op, TIDE_NAME_STAGES);
  uint32_t slot = tide_lower_take_slots(l, op, 2 * (uint64_t)stages);
  tide_lower_early(
      l, op,
      (struct tide_lower_slot){slot, stages, integer_attr(l, op, TIDE_NAME_PRODUCERS), false});
  tide_lower_early(l, op,
                   (struct tide_lower_slot){slot + stages, stages,
                                            integer_attr(l, op, TIDE_NAME_CONSUMERS), false});
  register_init(
      l, op,
      (struct tide_lower_known){.stages = stages, .bytes = integer_attr(l, op, TIDE_NAME_TX_BYTES)},
      slot);
}

static void seq_bar_init(struct tide_lower *l, tide_ir_op op) {
  uint32_t depth = integer_attr(l, op, TIDE_NAME_DEPTH),
           length = integer_attr(l, op, TIDE_NAME_LENGTH);
  uint64_t count = (uint64_t)depth * length;
  uint32_t slot = tide_lower_take_slots(l, op, count);
  tide_lower_early(l, op,
                   (struct tide_lower_slot){slot, (uint32_t)count,
                                            integer_attr(l, op, TIDE_NAME_GROUP_SIZE), false});
  register_init(l, op, (struct tide_lower_known){.stages = depth, .length = length}, slot);
}

/* ---- states ---- */

static void state_create(struct tide_lower *l, tide_ir_op op) {
  const char *role = tide_ir_get_text(l->ir, op, TIDE_NAME_ROLE);
  bool producer = role && role[0] == 'p'; /* the verifier accepts two roles only */
  tide_lower_replace(l, op, state_of(l, tide_lower_i32(l, 0), tide_lower_i32(l, producer)));
}

static void seq_bar_state(struct tide_lower *l, tide_ir_op op) {
  bool first = integer_attr(l, op, TIDE_NAME_GROUP) == 0;
  tide_lower_replace(l, op, state_of(l, tide_lower_i32(l, 0), tide_lower_i32(l, first)));
}

struct next {
  tide_ir_value index, phase;
};
static struct next next_state(struct tide_lower *l, tide_ir_value index, tide_ir_value phase,
                              uint32_t stages) {
  tide_ir_value one = tide_lower_i32(l, 1);
  tide_ir_value more = tide_lower_binary(l, TIDE_OP_ARITH_ADDI, index, one);
  tide_ir_value wraps = tide_lower_compare(l, TIDE_EQ, more, tide_lower_i32(l, stages));
  return (struct next){
      tide_lower_select(l, wraps, tide_lower_i32(l, 0), more),
      tide_lower_binary(l, TIDE_OP_ARITH_XORI, phase, tide_lower_extend(l, wraps, l->i32))};
}

static void state_increment(struct tide_lower *l, tide_ir_op op) {
  const struct tide_lower_known *known = tide_lower_known(l, op, 0);
  if (!known) return;
  struct next next = next_state(l, state_part(l, op, 1, 0), state_part(l, op, 1, 1), known->stages);
  tide_lower_replace(l, op, state_of(l, next.index, next.phase));
}

/* ---- producers and consumers ---- */

static tide_ir_value full_barrier(struct tide_lower *l, const struct tide_lower_known *known,
                                  tide_ir_value index) {
  return tide_lower_element(l, known->value, l->i64, index);
}

static tide_ir_value empty_barrier(struct tide_lower *l, const struct tide_lower_known *known,
                                   tide_ir_value index) {
  tide_ir_value first = tide_lower_offset(l, known->value, l->i64, known->stages);
  return tide_lower_element(l, first, l->i64, index);
}

/* Waits until the stage is empty. For a TMA pipeline the region's first thread then sets the number
 * of expected bytes. */
static void lower_acquire(struct tide_lower *l, tide_ir_op op,
                          const struct tide_lower_known *known) {
  tide_ir_value index = state_part(l, op, 1, 0);
  build_wait(l, empty_barrier(l, known, index), state_part(l, op, 1, 1));
  if (!known->bytes) return;
  struct tide_lower_region *region = tide_lower_region(l, op);
  if (!region) return;
  int64_t bytes = tide_ir_get_integer(l->ir, op, TIDE_NAME_BYTES, known->bytes);
  tide_ir_value leads = tide_lower_compare(l, TIDE_EQ, tide_lower_register(l, TIDE_OP_NVVM_TID_X),
                                           tide_lower_i32(l, region->first));
  struct tide_lower_inside inside = tide_lower_if(l, leads);
  tide_ir_value operands[] = {full_barrier(l, known, index), tide_lower_i32(l, bytes)};
  tide_lower_op(l, TIDE_OP_NVVM_MBARRIER_ARRIVE_EXPECT_TX_SHARED, operands, 2, 0, 0);
  tide_lower_leave(l, &inside);
}

static tide_ir_block loop_body(struct tide_lower *l, tide_ir_op loop) {
  tide_ir_block body = tide_ir_block_create(l->ir, (tide_ir_type[]){l->i32, l->i32, l->i32}, 3);
  tide_ir_block_append(l->ir, tide_ir_region_at(l->ir, loop, 0), body);
  return body;
}

/* Waits until all stages are empty, so that no consumer arrives on a barrier that is gone. */
static void lower_tail(struct tide_lower *l, tide_ir_op op, const struct tide_lower_known *known) {
  tide_ir_value operands[] = {tide_lower_i32(l, 0), tide_lower_i32(l, known->stages),
                              tide_lower_i32(l, 1), state_part(l, op, 1, 0),
                              state_part(l, op, 1, 1)};
  tide_ir_op loop =
      tide_ir_build(&l->b, TIDE_OP_SCF_FOR, operands, 5, (tide_ir_type[]){l->i32, l->i32}, 2, 0, 1);
  if (!loop) return;
  struct tide_ir_builder outer = l->b;
  l->b.block = loop_body(l, loop);
  l->b.before = 0;
  tide_ir_value index = tide_ir_argument(l->ir, l->b.block, 1);
  tide_ir_value phase = tide_ir_argument(l->ir, l->b.block, 2);
  build_wait(l, empty_barrier(l, known, index), phase);
  struct next next = next_state(l, index, phase, known->stages);
  tide_lower_op(l, TIDE_OP_SCF_YIELD, (tide_ir_value[]){next.index, next.phase}, 2, 0, 0);
  l->b = outer;
}

/* ---- sequence barriers ---- */

static tide_ir_value turn_of(struct tide_lower *l, tide_ir_op op,
                             const struct tide_lower_known *known, uint32_t group) {
  tide_ir_value stage = state_part(l, op, 1, 0);
  tide_ir_value row =
      tide_lower_binary(l, TIDE_OP_ARITH_MULI, stage, tide_lower_i32(l, known->length));
  tide_ir_value at = tide_lower_binary(l, TIDE_OP_ARITH_ADDI, row, tide_lower_i32(l, group));
  return tide_lower_element(l, known->value, l->i64, at);
}

static void seq_bar(struct tide_lower *l, tide_ir_op op, const struct tide_lower_known *known) {
  uint32_t group = integer_attr(l, op, TIDE_NAME_GROUP);
  if (tide_ir_op_kind(l->ir, op) == TIDE_OP_SEQ_BAR_WAIT)
    build_wait(l, turn_of(l, op, known, group), state_part(l, op, 1, 1));
  else build_arrive(l, turn_of(l, op, known, (group + 1) % known->length));
}

/* Lowers an operation on a barrier that has no result. */
static void lower_action(struct tide_lower *l, tide_ir_op op) {
  const struct tide_lower_known *known = tide_lower_known(l, op, 0);
  if (!known) return;
  switch (tide_ir_op_kind(l->ir, op)) {
    case TIDE_OP_PRODUCER_ACQUIRE: lower_acquire(l, op, known); break;
    case TIDE_OP_PRODUCER_COMMIT: /* the bytes themselves complete a TMA pipeline's stage */
      if (!known->bytes) build_arrive(l, full_barrier(l, known, state_part(l, op, 1, 0)));
      break;
    case TIDE_OP_PRODUCER_TAIL: lower_tail(l, op, known); break;
    case TIDE_OP_CONSUMER_WAIT:
      build_wait(l, full_barrier(l, known, state_part(l, op, 1, 0)), state_part(l, op, 1, 1));
      break;
    case TIDE_OP_CONSUMER_RELEASE:
      build_arrive(l, empty_barrier(l, known, state_part(l, op, 1, 0)));
      break;
    default: seq_bar(l, op, known); break;
  }
  tide_ir_erase(l->ir, op);
}

void tide_lower_pipeline(struct tide_lower *l, tide_ir_op op) {
  switch (tide_ir_op_kind(l->ir, op)) {
    case TIDE_OP_PIPELINE_INIT: pipeline_init(l, op); break;
    case TIDE_OP_SEQ_BAR_INIT: seq_bar_init(l, op); break;
    case TIDE_OP_STATE_CREATE: state_create(l, op); break;
    case TIDE_OP_SEQ_BAR_STATE: seq_bar_state(l, op); break;
    case TIDE_OP_STATE_INCREMENT: state_increment(l, op); break;
    case TIDE_OP_STATE_INDEX: tide_lower_replace(l, op, state_part(l, op, 0, 0)); break;
    case TIDE_OP_STATE_PHASE: tide_lower_replace(l, op, state_part(l, op, 0, 1)); break;
    default: lower_action(l, op); break;
  }
}
