/* Checks the MODS operations: pairs, windows, participants, throttles. */
#include "mods/bits.h"
#include "mods/barrier_pool.h"
#include "mods/verify.h"

static bool cluster_barrier(unsigned kind) {
  return kind == TIDE_OP_NVVM_CLUSTER_ARRIVE || kind == TIDE_OP_NVVM_CLUSTER_ARRIVE_RELAXED ||
         kind == TIDE_OP_NVVM_CLUSTER_WAIT;
}

static bool is_mods(unsigned kind) {
  return kind >= TIDE_OP_MODS_START && kind <= TIDE_OP_MODS_THROTTLE;
}

/* ---- participants ---- */

static bool check_mask(struct tide_verifier *verifier, tide_ir_op start) {
  struct tide_ir *ir = verifier->ir;
  uint32_t shape[3];
  int64_t mask;
  bool pairs = tide_ir_get_integer(ir, start, TIDE_NAME_IS_2CTA_MMA, 0);
  tide_cluster_shape(ir, start, shape);
  uint32_t ctas = shape[0] * shape[1] * shape[2], participants = pairs ? ctas / 2 : ctas;
  if (pairs && shape[0] % 2)
    return tide_ir_op_error(
        ir, start, "has is_2cta_mma = true, which needs a cluster with an even x, not %ux%ux%u",
        shape[0], shape[1], shape[2]);
  if (!tide_ir_constant(ir, tide_ir_operand(ir, start, 1), &mask)) {
    tide_ir_op_warning(ir, start,
                       "has a participant mask that is known at run time only; the lowering takes "
                       "it for all %u %s",
                       participants, pairs ? "pairs of CTAs" : "CTAs");
    return true;
  }
  uint64_t bits = (uint64_t)mask;
  const char *what = pairs ? "pairs of CTAs" : "CTAs";
  if (bits == 0) return tide_ir_op_error(ir, start, "has an empty participant mask");
  if (bits >> participants)
    return tide_ir_op_error(
        ir, start, "has participant %d in its mask, but the %ux%ux%u cluster has %u %s",
        63 - __builtin_clzll(bits), shape[0], shape[1], shape[2], participants, what);
  uint32_t count = tide_bits_count(bits);
  if (count < participants && verifier->partial == TIDE_IR_PARTIAL_REFUSED)
    return tide_ir_op_error(ir, start,
                            "leaves out %u of %u %s: the cluster barrier counts all of them "
                            "(--partial=mbarrier lowers such a mask otherwise)",
                            participants - count, participants, what);
  return true;
}

/* ---- pairs ---- */

static bool same_number(const struct tide_ir *ir, tide_ir_value a, tide_ir_value b) {
  int64_t x, y;
  return a == b || (tide_ir_constant(ir, a, &x) && tide_ir_constant(ir, b, &y) && x == y);
}

static bool tell_start(struct tide_ir *ir, tide_ir_op start, bool good) {
  return good || tide_ir_note(ir, tide_ir_location_of(ir, start), "the start is here");
}

static bool check_pair(struct tide_ir *ir, tide_ir_op start, tide_ir_op end) {
  const struct tide_ir_op_record *a = tide_ir_op_of(ir, start), *b = tide_ir_op_of(ir, end);
  if (tide_ir_get(ir, start, TIDE_NAME_IS_2CTA_MMA) != tide_ir_get(ir, end, TIDE_NAME_IS_2CTA_MMA))
    return tell_start(ir, start,
                      tide_ir_op_error(ir, end, "does not agree with its start on is_2cta_mma"));
  if (tide_ir_operand(ir, start, 0) != tide_ir_operand(ir, end, 0))
    return tell_start(ir, start,
                      tide_ir_op_error(ir, end, "does not agree with its start on the scheduler"));
  if (!same_number(ir, tide_ir_operand(ir, start, 1), tide_ir_operand(ir, end, 1)))
    return tell_start(
        ir, start,
        tide_ir_op_error(ir, end, "does not agree with its start on the participant mask"));
  if (b->operand_count == 3 && (!a->result_count || tide_ir_operand(ir, end, 2) != a->results)) {
    tide_ir_op_error(ir, end, "takes a timestamp that is not its start's");
    return tide_ir_note(ir, tide_ir_location_of(ir, start), "the start is here");
  }
  if (b->result_count && b->operand_count < 3)
    return tide_ir_op_error(ir, end, "has no start timestamp to measure the elapsed time from");
  return true;
}

/* ---- all CTAs of the cluster enter a window equally often ---- */

/* True for a loop with constant bounds and step. */
static bool fixed_turns(const struct tide_ir *ir, tide_ir_op op) {
  int64_t number;
  return tide_ir_op_kind(ir, op) == TIDE_OP_SCF_FOR &&
         tide_ir_constant(ir, tide_ir_operand(ir, op, 0), &number) &&
         tide_ir_constant(ir, tide_ir_operand(ir, op, 1), &number) &&
         tide_ir_constant(ir, tide_ir_operand(ir, op, 2), &number);
}

static bool is_marked_uniform(const struct tide_ir *ir, tide_ir_op op) {
  return tide_ir_has(ir, op, TIDE_NAME_CLUSTER_UNIFORM);
}

static bool tell_mark(struct tide_ir *ir, tide_ir_op op, bool good) {
  return good || tide_ir_note(ir, tide_ir_location_of(ir, op),
                              "mark it with 'cutlass.cluster_uniform' if it does not");
}

/* True if no branch from `block` on leads to `block` or to text before it. Then none of those
 * branches decides whether `block` runs. */
static bool only_forward(const struct tide_verifier *verifier, tide_ir_block block) {
  const struct tide_ir *ir = verifier->ir;
  uint32_t place = verifier->order[tide_ir_block_of(ir, block)->first];
  for (tide_ir_block at = block; at; at = tide_ir_block_of(ir, at)->next) {
    tide_ir_op last = tide_ir_block_of(ir, at)->last;
    for (uint32_t i = 0; last && i < tide_ir_op_of(ir, last)->successor_count; i++) {
      uint32_t first, count;
      tide_ir_block to = tide_ir_successor(ir, last, i, &first, &count);
      if (verifier->order[tide_ir_block_of(ir, to)->first] <= place) return false;
    }
  }
  return true;
}

/* Returns an unmarked conditional branch that may decide whether the block of `op` runs; 0: none.
 * No branch leads to the first block of a region. */
static tide_ir_op branch_to(const struct tide_verifier *verifier, tide_ir_op op) {
  const struct tide_ir *ir = verifier->ir;
  tide_ir_block block = tide_ir_op_of(ir, op)->block;
  tide_ir_region region = tide_ir_block_of(ir, block)->region;
  tide_ir_block first = tide_ir_region_of(ir, region)->first, end = 0;
  if (block == first) return 0;
  if (only_forward(verifier, block)) end = block;
  for (tide_ir_block at = first; at && at != end; at = tide_ir_block_of(ir, at)->next) {
    tide_ir_op last = tide_ir_block_of(ir, at)->last;
    if (last && tide_ir_op_of(ir, last)->successor_count > 1 && !is_marked_uniform(ir, last))
      return last;
  }
  return 0;
}

static bool check_uniform(struct tide_verifier *verifier, tide_ir_op start) {
  struct tide_ir *ir = verifier->ir;
  for (tide_ir_op in = start, at; (at = tide_ir_parent(ir, in)); in = at) {
    unsigned kind = tide_ir_op_kind(ir, at);
    tide_ir_op branch = branch_to(verifier, in);
    if (branch)
      return tell_mark(ir, branch,
                       tide_ir_op_error(ir, start,
                                        "stands behind a branch that may differ between the CTAs "
                                        "of the cluster"));
    if (kind == TIDE_OP_SCF_IF && !is_marked_uniform(ir, at))
      return tell_mark(ir, at,
                       tide_ir_op_error(ir, start,
                                        "stands under a condition that may differ between the "
                                        "CTAs of the cluster"));
    bool loop = kind == TIDE_OP_SCF_FOR || kind == TIDE_OP_SCF_WHILE;
    if (loop && !is_marked_uniform(ir, at) && !fixed_turns(ir, at))
      return tell_mark(ir, at,
                       tide_ir_op_error(ir, start,
                                        "stands in a loop whose number of turns may differ between "
                                        "the CTAs of the cluster"));
  }
  return true;
}

/* ---- one block ---- */

struct window {
  tide_ir_op start; /* the open window in this block; 0: none */
  tide_ir_op outer; /* the window around the whole block; 0: none */
};

static void open_window(struct tide_verifier *verifier, tide_ir_op op, struct window *window) {
  struct tide_ir *ir = verifier->ir;
  tide_ir_op other = window->start ? window->start : window->outer;
  if (other) {
    tide_ir_op_error(ir, op, "opens a window inside another one");
    tide_ir_note(ir, tide_ir_location_of(ir, other), "the other window opens here");
  }
  if (check_mask(verifier, op)) check_uniform(verifier, op);
  window->start = op;
}

static void close_window(struct tide_verifier *verifier, tide_ir_op op, struct window *window) {
  struct tide_ir *ir = verifier->ir;
  if (!window->start) {
    tide_ir_op_error(ir, op,
                     "has no matching mods_report_mainloop_start before it in the same block");
    return;
  }
  if (check_pair(ir, window->start, op)) tide_verify_drained(verifier, window->start, op);
  window->start = 0;
}

static void check_throttle(struct tide_ir *ir, tide_ir_op op, bool inside) {
  int64_t profile = tide_ir_get_integer(ir, op, TIDE_NAME_PROFILE, 0);
  if (profile < 0 || profile > 2)
    tide_ir_op_error(ir, op, "knows no profile %lld, only 0, 1 and 2", (long long)profile);
  else if (profile == 2 && !inside)
    tide_ir_op_error(ir, op,
                     "has the cooperative profile 2, which must stand between a matched "
                     "mods_report_mainloop_start and _end");
}

/* Checks that a query stands in a window and asks for one of its participants. */
static void check_query(struct tide_ir *ir, tide_ir_op op, tide_ir_op start) {
  uint32_t shape[3];
  int64_t participant, mask;
  if (!start) {
    tide_ir_op_error(ir, op,
                     "asks for progress outside of a window, where no CTA tells of it: it must "
                     "stand between a matched mods_report_mainloop_start and _end");
    return;
  }
  bool pairs = tide_ir_get_integer(ir, start, TIDE_NAME_IS_2CTA_MMA, 0);
  tide_cluster_shape(ir, op, shape);
  uint32_t participants = shape[0] * shape[1] * shape[2] / (pairs ? 2 : 1);
  if (tide_ir_operand(ir, op, 0) != tide_ir_operand(ir, start, 0))
    tell_start(ir, start,
               tide_ir_op_error(ir, op, "does not agree with its window on the scheduler"));
  if (!tide_ir_constant(ir, tide_ir_operand(ir, op, 1), &participant)) return;
  if (participant < 0 || participant >= participants)
    tide_ir_op_error(ir, op, "asks for participant %lld, but the cluster has %u",
                     (long long)participant, participants);
  else if (tide_ir_constant(ir, tide_ir_operand(ir, start, 1), &mask) &&
           !((uint64_t)mask >> participant & 1))
    tide_ir_op_error(ir, op, "asks for participant %lld, which its window's mask leaves out",
                     (long long)participant);
}

static void check_in_window(struct tide_ir *ir, tide_ir_op op, tide_ir_op start) {
  unsigned kind = tide_ir_op_kind(ir, op);
  if (cluster_barrier(kind))
    tide_ir_op_error(ir, op, "uses the cluster barrier inside a window, whose handshake is open");
  else if (kind == TIDE_OP_PIPELINE_INIT || kind == TIDE_OP_SEQ_BAR_INIT)
    tide_ir_op_error(ir, op, "must come before the window: it synchronises the cluster");
  else return;
  tide_ir_note(ir, tide_ir_location_of(ir, start), "the window opens here");
}

static void check_one(struct tide_verifier *verifier, tide_ir_op op, struct window *window) {
  struct tide_ir *ir = verifier->ir;
  unsigned kind = tide_ir_op_kind(ir, op);
  tide_ir_op start = window->start ? window->start : window->outer;
  verifier->windows[op] = start;
  if (is_mods(kind) && !tide_ir_ancestor(ir, op, TIDE_OP_ASYNC_EXEC)) {
    tide_ir_op_error(ir, op, "appears only inside 'cutlass.async.exec'");
    return;
  }
  if (kind == TIDE_OP_MODS_START) open_window(verifier, op, window);
  else if (kind == TIDE_OP_MODS_END) close_window(verifier, op, window);
  else if (kind == TIDE_OP_MODS_THROTTLE) check_throttle(ir, op, start != 0);
  else if (kind == TIDE_OP_MODS_QUERY) check_query(ir, op, start);
  else if (kind == TIDE_OP_PRODUCER_TAIL) tide_verify_tail(verifier, op);
  else if (start) check_in_window(ir, op, start);
}

static void check_block(struct tide_verifier *verifier, tide_ir_block block) {
  struct tide_ir *ir = verifier->ir;
  tide_ir_op first = tide_ir_block_of(ir, block)->first;
  struct window window = {0, verifier->windows[tide_ir_parent(ir, first)]};
  for (tide_ir_op op = first; op; op = tide_ir_op_of(ir, op)->next)
    check_one(verifier, op, &window);
  if (window.start)
    tide_ir_op_error(ir, window.start,
                     "has no matching mods_report_mainloop_end after it in the same block");
}

/* ---- the pool of named barriers ---- */

/* Checks that the pool has enough ids. The cooperative throttles of a region of warps share one id.
 * Ids that the function names itself, anywhere, are taken. */
static void check_pool(struct tide_ir *ir, tide_ir_op function) {
  uint32_t wanted = 0, left = TIDE_POOL_END - TIDE_POOL_FIRST;
  tide_ir_op last_region = 0, computed = 0;
  for (tide_ir_op op = function; op; op = tide_ir_walk_next(ir, function, op, true)) {
    if (tide_ir_op_kind(ir, op) != TIDE_OP_MODS_THROTTLE ||
        tide_ir_get_integer(ir, op, TIDE_NAME_PROFILE, 0) != 2)
      continue;
    tide_ir_op region = tide_ir_ancestor(ir, op, TIDE_OP_ASYNC_EXEC);
    if (region == last_region) continue;
    last_region = region;
    if (!wanted) left -= tide_bits_count(tide_pool_taken(ir, function, &computed));
    if (!wanted && computed) {
      tide_ir_op_warning(ir, computed,
                         "computes its id, which may be the one of a cooperative throttle");
      tide_ir_note(ir, tide_ir_location_of(ir, op), "a throttle is here");
    }
    if (++wanted <= left) continue;
    tide_ir_op_error(ir, op, "needs a named barrier, but all of the pool's (8 to 15) are taken");
    return;
  }
}

/* Warns if a region has no window but another has: a window's handshake counts the threads of all
 * regions. */
static void check_all_take_part(struct tide_ir *ir, tide_ir_op function) {
  tide_ir_op with = 0, without = 0, region = 0;
  bool found = true;
  for (tide_ir_op op = function; op; op = tide_ir_walk_next(ir, function, op, true)) {
    unsigned kind = tide_ir_op_kind(ir, op);
    if (kind == TIDE_OP_ASYNC_EXEC) {
      if (!found) without = region;
      region = op;
      found = false;
    }
    if (kind == TIDE_OP_MODS_START) {
      with = op;
      found = true;
    }
  }
  if (!found) without = region;
  if (!with || !without) return;
  tide_ir_op_warning(ir, without,
                     "has no window, but the cluster barrier of another region's "
                     "window counts its threads, too");
  tide_ir_note(ir, tide_ir_location_of(ir, with), "that window opens here");
}

void tide_verify_windows(struct tide_verifier *verifier) {
  struct tide_ir *ir = verifier->ir;
  uint32_t before = ir->errors;
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true)) {
    const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
    if (!record->prev && op != ir->module) check_block(verifier, record->block);
    if (record->kind == TIDE_OP_GPU_FUNC) check_pool(ir, op);
  }
  if (ir->errors != before) return; /* after an error the windows are unreliable */
  tide_verify_divergence(verifier);
  tide_ir_op followed = 0;
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true)) {
    unsigned kind = tide_ir_op_kind(ir, op);
    if (kind == TIDE_OP_GPU_FUNC) check_all_take_part(ir, op);
    if (kind != TIDE_OP_NVVM_CLUSTER_ARRIVE && kind != TIDE_OP_NVVM_CLUSTER_ARRIVE_RELAXED)
      continue;
    tide_ir_op function = tide_ir_ancestor(ir, op, TIDE_OP_GPU_FUNC);
    if (!function) function = tide_ir_ancestor(ir, op, TIDE_OP_FUNC_FUNC);
    if (function && function != followed) tide_verify_cluster_barrier(verifier, function);
    followed = function;
  }
}
