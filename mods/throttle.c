/* --throttle=auto: inserts throttles where they are worth it.
 *
 * A window's loop over tiles keeps a pipeline of S stages full. A full pipeline can have S - 1
 * stages in flight besides the stage in use. A pause at a tile's end is hidden if the pipeline
 * continues meanwhile. With fewer than DEPTH_LEAST stages a pause stalls the loop at once, and no
 * queue exists that the pause could relieve. The same holds if a tile takes fewer rounds, over all
 * its loops, than the pipeline has stages: then the pipeline is never full. If the number of rounds
 * is unknown, only the stages count.
 *
 * Source: "MODS Async Dispatch", which decides for each tile whether the pipeline is deep enough.
 */
#include "mods/ir.h"

#define DEPTH_LEAST 4

/* Returns the most stages of a pipeline used in the loop, and one use of that pipeline. */
static uint32_t stages_in(const struct tide_ir *ir, tide_ir_op loop, tide_ir_op *out_use) {
  uint32_t most = 0;
  for (tide_ir_op op = loop; op; op = tide_ir_walk_next(ir, loop, op, true)) {
    unsigned kind = tide_ir_op_kind(ir, op);
    if (kind != TIDE_OP_PRODUCER_ACQUIRE && kind != TIDE_OP_CONSUMER_WAIT) continue;
    uint32_t stages = tide_ir_type_of(ir, tide_ir_type_of_value(ir, tide_ir_operand(ir, op, 0)))->a;
    if (stages <= most) continue;
    most = stages;
    *out_use = op;
  }
  return most;
}

#define MANY ((uint64_t)1 << 32)

/* Computes the number of rounds of an scf.for. False: unknown. */
static bool count_turns(const struct tide_ir *ir, tide_ir_op loop, uint64_t *out) {
  int64_t low, high, step;
  if (tide_ir_op_kind(ir, loop) != TIDE_OP_SCF_FOR ||
      !tide_ir_constant(ir, tide_ir_operand(ir, loop, 0), &low) ||
      !tide_ir_constant(ir, tide_ir_operand(ir, loop, 1), &high) ||
      !tide_ir_constant(ir, tide_ir_operand(ir, loop, 2), &step) || step <= 0)
    return false;
  uint64_t way = high > low ? (uint64_t)high - (uint64_t)low : 0;
  *out = way / (uint64_t)step + (way % (uint64_t)step != 0);
  return true;
}

/* Computes the most executions of `use` in one tile, through the loops around it. False: unknown.
 */
static bool count_passes(const struct tide_ir *ir, tide_ir_op loop, tide_ir_op use, uint64_t *out) {
  uint64_t times = 1, each;
  bool known = true;
  for (tide_ir_op at = tide_ir_parent(ir, use); at && at != loop; at = tide_ir_parent(ir, at)) {
    unsigned kind = tide_ir_op_kind(ir, at);
    if (kind != TIDE_OP_SCF_FOR && kind != TIDE_OP_SCF_WHILE) continue;
    if (!count_turns(ir, at, &each)) known = false;
    else times = each > MANY || times * each > MANY ? MANY : times * each;
    if (!times) break; /* no other loop can change a zero */
  }
  *out = times;
  return known || !times;
}

/* Computes the most stages of the pipeline of `use` that one tile takes. False: unknown. */
static bool count_rounds(const struct tide_ir *ir, tide_ir_op loop, tide_ir_op use, uint64_t *out) {
  uint64_t times;
  *out = 0;
  for (tide_ir_op op = loop; op; op = tide_ir_walk_next(ir, loop, op, true)) {
    if (tide_ir_op_kind(ir, op) != tide_ir_op_kind(ir, use) ||
        tide_ir_operand(ir, op, 0) != tide_ir_operand(ir, use, 0))
      continue;
    if (!count_passes(ir, loop, op, &times)) return false;
    *out += times;
  }
  return true;
}

/* True if the loop has a throttle; those of profile 0 are folded away and do not count. */
static bool has_throttle(const struct tide_ir *ir, tide_ir_op loop) {
  for (tide_ir_op op = loop; op; op = tide_ir_walk_next(ir, loop, op, true))
    if (tide_ir_op_kind(ir, op) == TIDE_OP_MODS_THROTTLE &&
        tide_ir_get_integer(ir, op, TIDE_NAME_PROFILE, 0) != 0)
      return true;
  return false;
}

/* Returns the region in which a tile loop advances to the next tile; 0: no tile loop. */
static tide_ir_block tile_block(const struct tide_ir *ir, tide_ir_op loop) {
  for (uint32_t i = 0; i < tide_ir_op_of(ir, loop)->region_count; i++) {
    tide_ir_block block = tide_ir_body(ir, loop, i);
    for (tide_ir_op op = tide_ir_block_of(ir, block)->first; op; op = tide_ir_op_of(ir, op)->next)
      if (tide_ir_op_kind(ir, op) == TIDE_OP_ADVANCE) return block;
  }
  return 0;
}

static void insert_throttle(struct tide_ir *ir, tide_ir_block block) {
  tide_ir_op last = tide_ir_terminator(ir, block);
  struct tide_ir_builder builder = {
      .ir = ir, .block = block, .before = last, .location = tide_ir_location_of(ir, last)};
  struct tide_ir_named profile = {TIDE_NAME_PROFILE, tide_ir_attr_i32(ir, 1)};
  tide_ir_build(&builder, TIDE_OP_MODS_THROTTLE, NULL, 0, NULL, 0,
                tide_ir_attr_dictionary(ir, &profile, 1), 0);
}

static bool throttle_loop(struct tide_ir *ir, tide_ir_op loop, tide_ir_block block) {
  tide_ir_op use = 0;
  uint32_t stages = stages_in(ir, loop, &use);
  uint64_t times = 0;
  if (!use) return tide_ir_op_remark(ir, loop, "gets no throttle: it uses no pipeline");
  if (has_throttle(ir, loop)) return tide_ir_op_remark(ir, loop, "gets no throttle: it has one");
  if (stages < DEPTH_LEAST)
    return tide_ir_op_remark(ir, loop,
                             "gets no throttle: with %u stages, fewer than %u, a pause would stall "
                             "the pipeline",
                             stages, DEPTH_LEAST);
  if (count_rounds(ir, loop, use, &times) && times < stages)
    return tide_ir_op_remark(
        ir, loop, "gets no throttle: %llu round%s a tile never fill%s the %u stages",
        (unsigned long long)times, times == 1 ? "" : "s", times == 1 ? "s" : "", stages);
  tide_ir_op_remark(ir, loop, "gets a throttle at the end of each tile: %u stages go on meanwhile",
                    stages);
  insert_throttle(ir, block);
  return true;
}

/* True if a window is open at the loop, in the loop's block. */
static bool in_window(const struct tide_ir *ir, tide_ir_op loop) {
  for (tide_ir_op op = tide_ir_op_of(ir, loop)->prev; op; op = tide_ir_op_of(ir, op)->prev) {
    unsigned kind = tide_ir_op_kind(ir, op);
    if (kind == TIDE_OP_MODS_END) return false;
    if (kind == TIDE_OP_MODS_START) return true;
  }
  return false;
}

uint64_t tide_ir_throttle(struct tide_ir *ir) {
  uint64_t count = 0;
  tide_ir_op next;
  for (tide_ir_op op = ir->module; op; op = next) {
    unsigned kind = tide_ir_op_kind(ir, op);
    bool loop = kind == TIDE_OP_SCF_FOR || kind == TIDE_OP_SCF_WHILE;
    tide_ir_block block = loop ? tile_block(ir, op) : 0;
    if (block && in_window(ir, op)) count += throttle_loop(ir, op, block);
    next = tide_ir_walk_next(ir, ir->module, op, true);
  }
  return count;
}
