/* Checks draining: the position of a pipeline's tail, and that all pipelines are drained when a
 * window closes. */
#include "mods/verify.h"

/* ---- the tail ---- */

static bool is_loop(unsigned kind) { return kind == TIDE_OP_SCF_FOR || kind == TIDE_OP_SCF_WHILE; }

/* True if two operations stand in different arms of one scf.if, `later` in the second arm. Then
 * only one of them runs. */
static bool in_other_arm(const struct tide_ir *ir, tide_ir_op earlier, tide_ir_op later) {
  for (tide_ir_op in = earlier, at; (at = tide_ir_parent(ir, in)); in = at) {
    if (tide_ir_op_kind(ir, at) != TIDE_OP_SCF_IF) continue;
    tide_ir_block other = tide_ir_body(ir, at, 1);
    if (!other || tide_ir_op_of(ir, in)->block == other) continue;
    for (tide_ir_op on = later, up; (up = tide_ir_parent(ir, on)); on = up)
      if (tide_ir_op_of(ir, on)->block == other) return true;
  }
  return false;
}

static bool closes_window(const struct tide_ir *ir, tide_ir_op op, tide_ir_op start) {
  return start && tide_ir_op_kind(ir, op) == TIDE_OP_MODS_END &&
         tide_ir_op_of(ir, op)->block == tide_ir_op_of(ir, start)->block;
}

/* Checks that no operation of the tail's pipeline follows the tail, up to the end of its window or
 * region. */
static bool check_last(struct tide_ir *ir, tide_ir_op tail, tide_ir_op root, tide_ir_op start) {
  for (tide_ir_op at = tide_ir_walk_next(ir, root, tail, false);
       at && !closes_window(ir, at, start); at = tide_ir_walk_next(ir, root, at, true)) {
    unsigned kind = tide_ir_op_kind(ir, at);
    bool produces = kind == TIDE_OP_PRODUCER_ACQUIRE || kind == TIDE_OP_PRODUCER_COMMIT;
    if ((!produces && kind != TIDE_OP_PRODUCER_TAIL) ||
        tide_ir_operand(ir, at, 0) != tide_ir_operand(ir, tail, 0) || in_other_arm(ir, tail, at))
      continue;
    if (!produces)
      return tide_ir_op_error(ir, at, "is the second tail of its pipeline in this %s",
                              start ? "window" : "region");
    tide_ir_op_error(ir, at, "comes after the tail of its pipeline");
    return tide_ir_note(ir, tide_ir_location_of(ir, tail), "the tail is here");
  }
  return true;
}

bool tide_verify_tail(struct tide_verifier *verifier, tide_ir_op op) {
  struct tide_ir *ir = verifier->ir;
  tide_ir_op exec = tide_ir_ancestor(ir, op, TIDE_OP_ASYNC_EXEC), start = verifier->windows[op];
  tide_ir_op root = exec ? exec : tide_ir_ancestor(ir, op, TIDE_OP_GPU_FUNC);
  if (!root) return true;
  /* A loop around the whole window is not the tail's loop. */
  tide_ir_op out = start ? tide_ir_parent(ir, start) : root;
  for (tide_ir_op at = tide_ir_parent(ir, op); at && at != out; at = tide_ir_parent(ir, at)) {
    if (!is_loop(tide_ir_op_kind(ir, at))) continue;
    tide_ir_op_error(ir, op, "must stand after the loop, not in it");
    return tide_ir_note(ir, tide_ir_location_of(ir, at), "the loop is here");
  }
  return check_last(ir, op, root, start);
}

/* ---- windows ---- */

static bool drains_pipeline(const struct tide_ir *ir, tide_ir_op op, tide_ir_value pipeline);

static bool arm_drains(const struct tide_ir *ir, tide_ir_block arm, tide_ir_value pipeline) {
  for (tide_ir_op op = arm ? tide_ir_block_of(ir, arm)->first : 0; op;
       op = tide_ir_op_of(ir, op)->next)
    if (drains_pipeline(ir, op, pipeline)) return true;
  return false;
}

/* True if the operation drains the pipeline on every path. Recurses as deep as scf.ifs nest. */
static bool drains_pipeline(const struct tide_ir *ir, tide_ir_op op, tide_ir_value pipeline) {
  unsigned kind = tide_ir_op_kind(ir, op);
  if (kind == TIDE_OP_PRODUCER_TAIL) return tide_ir_operand(ir, op, 0) == pipeline;
  return kind == TIDE_OP_SCF_IF && arm_drains(ir, tide_ir_body(ir, op, 0), pipeline) &&
         arm_drains(ir, tide_ir_body(ir, op, 1), pipeline);
}

/* True if a tail follows before the window closes, in this block or one around it. */
static bool drained_behind(const struct tide_ir *ir, tide_ir_op acquire, tide_ir_op end) {
  tide_ir_value pipeline = tide_ir_operand(ir, acquire, 0);
  tide_ir_block outer = tide_ir_op_of(ir, end)->block;
  for (tide_ir_op in = acquire; in; in = tide_ir_parent(ir, in)) {
    for (tide_ir_op op = tide_ir_op_of(ir, in)->next; op && op != end;
         op = tide_ir_op_of(ir, op)->next)
      if (drains_pipeline(ir, op, pipeline)) return true;
    if (tide_ir_op_of(ir, in)->block == outer) return false;
  }
  return false;
}

bool tide_verify_drained(struct tide_verifier *verifier, tide_ir_op start, tide_ir_op end) {
  struct tide_ir *ir = verifier->ir;
  for (tide_ir_op top = tide_ir_op_of(ir, start)->next; top && top != end;
       top = tide_ir_op_of(ir, top)->next)
    for (tide_ir_op in = top; in; in = tide_ir_walk_next(ir, top, in, true)) {
      if (tide_ir_op_kind(ir, in) != TIDE_OP_PRODUCER_ACQUIRE) continue;
      /* The result for one acquire of a pipeline also holds for the next in this block, since no
       * acquire follows a tail. Pipelines have no origin, so their slots in `roots` are free for
       * this mark. */
      uint32_t *seen = &verifier->roots[tide_ir_resolve(ir, tide_ir_operand(ir, in, 0))];
      uint32_t here = top == in ? start | 1u << 31 : tide_ir_op_of(ir, in)->block;
      if (*seen == here) continue;
      *seen = here;
      if (drained_behind(ir, in, end)) continue;
      tide_ir_op_error(ir, end,
                       "closes the window before a producer's pipeline is drained by "
                       "'cutlass.pipeline.producer_tail'");
      return tide_ir_note(ir, tide_ir_location_of(ir, in), "the producer is here");
    }
  return true;
}
