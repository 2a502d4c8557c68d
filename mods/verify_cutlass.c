/* Checks the cutlass subset except for the windows: regions of warps, pipelines, sequence barriers,
 * schedulers. Called for each operation in the order of the text. mods/verify_states.c traces the
 * origins of states. */
#include "mods/verify.h"
#include "mods/warps.h"
#include "base/alloc.h"

static bool is_power_of_two(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

/* ---- async.exec ---- */

static bool check_exec(struct tide_verifier *verifier, tide_ir_op op) {
  struct tide_ir *ir = verifier->ir;
  verifier->last_exec = op;
  tide_ir_attr warps = tide_ir_get(ir, op, TIDE_NAME_WARPS);
  tide_ir_op outer = tide_ir_ancestor(ir, op, TIDE_OP_ASYNC_EXEC);
  if (outer) {
    tide_ir_op_error(ir, op, "must not be nested in another one");
    return tide_ir_note(ir, tide_ir_location_of(ir, outer), "the outer one is here");
  }
  if (!tide_ir_ancestor(ir, op, TIDE_OP_GPU_FUNC))
    return tide_ir_op_error(ir, op, "must be in a 'gpu.func'");
  if (!warps) return true;
  struct tide_warps range = tide_warps_of(ir, op);
  if (tide_ir_attr_of(ir, warps)->count != 4 ||
      !tide_ir_is_integer(ir, tide_ir_attr_of(ir, warps)->type, 32))
    return tide_ir_op_error(ir, op, "requires 'warps' to be array<i32: first, end>");
  if (range.first < 0 || range.end <= range.first || range.end > TIDE_WARPS_MAX)
    return tide_ir_op_error(ir, op,
                            "has a range of warps [%lld, %lld) that is empty or not in [0, 32)",
                            (long long)range.first, (long long)range.end);
  return true;
}

/* Checks all regions of one function for shared warps. */
static bool check_disjoint(struct tide_verifier *verifier, tide_ir_op function) {
  struct tide_ir *ir = verifier->ir;
  tide_ir_op owners[TIDE_WARPS_MAX] = {0};
  for (tide_ir_op op = function; op;
       op = tide_ir_walk_next(ir, function, op, tide_ir_op_kind(ir, op) != TIDE_OP_ASYNC_EXEC)) {
    if (tide_ir_op_kind(ir, op) != TIDE_OP_ASYNC_EXEC) continue;
    struct tide_warps warps = tide_warps_of(ir, op);
    int64_t warp = warps.first < 0 ? 0 : warps.first;
    for (; warp < warps.end && warp < TIDE_WARPS_MAX; warp++) {
      if (owners[warp]) {
        tide_ir_op_error(ir, op, "takes warp %lld, which another region has", (long long)warp);
        tide_ir_note(ir, tide_ir_location_of(ir, owners[warp]), "the other region is here");
        break;
      }
      owners[warp] = op;
    }
  }
  return true;
}

/* ---- pipelines ---- */

/* Checks that `op` stands in the function's own block, before its first region of warps. */
static bool comes_first(struct tide_verifier *verifier, tide_ir_op op) {
  struct tide_ir *ir = verifier->ir;
  tide_ir_op exec = verifier->last_exec, parent = tide_ir_parent(ir, op);
  unsigned around = tide_ir_op_kind(ir, parent);
  if (exec &&
      tide_ir_ancestor(ir, exec, TIDE_OP_GPU_FUNC) == tide_ir_ancestor(ir, op, TIDE_OP_GPU_FUNC)) {
    tide_ir_op_error(ir, op,
                     "must stand before the regions of warps: all warps take part in its "
                     "barrier");
    return tide_ir_note(ir, tide_ir_location_of(ir, exec), "the region is here");
  }
  if (around != TIDE_OP_SCF_IF && around != TIDE_OP_SCF_FOR && around != TIDE_OP_SCF_WHILE)
    return true;
  return tide_ir_op_error(ir, op, "must stand in the function itself, not in '%s'",
                          tide_ir_op_name(ir, parent));
}

static bool check_positive(struct tide_ir *ir, tide_ir_op op, tide_ir_string name) {
  int64_t value = tide_ir_get_integer(ir, op, name, 0);
  return value > 0 || tide_ir_op_error(ir, op, "requires '%s' to be at least 1, but it is %lld",
                                       tide_ir_string_text(ir, name, NULL), (long long)value);
}

/* Checks a number of arrivals against the limit of PTX's mbarriers. */
static bool check_countable(struct tide_ir *ir, tide_ir_op op, tide_ir_string name) {
  int64_t value = tide_ir_get_integer(ir, op, name, 0);
  return value < 1 << 20 ||
         tide_ir_op_error(ir, op,
                          "requires '%s' to be below 2^20, an mbarrier's most, but it is %lld",
                          tide_ir_string_text(ir, name, NULL), (long long)value);
}

static const struct tide_ir_type_record *result_type(const struct tide_ir *ir, tide_ir_op op) {
  return tide_ir_type_of(ir, tide_ir_value_of(ir, tide_ir_op_of(ir, op)->results)->type);
}

static bool all_positive(struct tide_ir *ir, tide_ir_op op, tide_ir_string a, tide_ir_string b,
                         tide_ir_string c) {
  return check_positive(ir, op, a) && check_positive(ir, op, b) && check_positive(ir, op, c);
}

static bool check_pipeline_init(struct tide_verifier *verifier, tide_ir_op op) {
  struct tide_ir *ir = verifier->ir;
  const struct tide_ir_type_record *type = result_type(ir, op);
  int64_t stages = tide_ir_get_integer(ir, op, TIDE_NAME_STAGES, 0);
  int64_t bytes = tide_ir_get_integer(ir, op, TIDE_NAME_TX_BYTES, 0);
  if (!all_positive(ir, op, TIDE_NAME_STAGES, TIDE_NAME_PRODUCERS, TIDE_NAME_CONSUMERS) ||
      !check_countable(ir, op, TIDE_NAME_PRODUCERS) ||
      !check_countable(ir, op, TIDE_NAME_CONSUMERS))
    return false;
  if (stages != type->a)
    return tide_ir_op_error(ir, op, "has %lld stages, but its type says %u", (long long)stages,
                            type->a);
  if (bytes < 0 || bytes >= 1 << 20)
    return tide_ir_op_error(ir, op,
                            "requires 'tx_bytes' to be 0 (no TMA) or below 2^20, a barrier's most");
  return comes_first(verifier, op);
}

static bool check_seq_bar_init(struct tide_verifier *verifier, tide_ir_op op) {
  struct tide_ir *ir = verifier->ir;
  const struct tide_ir_type_record *type = result_type(ir, op);
  int64_t depth = tide_ir_get_integer(ir, op, TIDE_NAME_DEPTH, 0);
  int64_t length = tide_ir_get_integer(ir, op, TIDE_NAME_LENGTH, 0);
  if (!all_positive(ir, op, TIDE_NAME_DEPTH, TIDE_NAME_LENGTH, TIDE_NAME_GROUP_SIZE) ||
      !check_countable(ir, op, TIDE_NAME_GROUP_SIZE))
    return false;
  if (depth != type->a || length != type->b)
    return tide_ir_op_error(ir, op, "has depth %lld and length %lld, but its type says %u and %u",
                            (long long)depth, (long long)length, type->a, type->b);
  return comes_first(verifier, op);
}

static bool check_role(struct tide_ir *ir, tide_ir_op op) {
  const char *role = tide_ir_get_text(ir, op, TIDE_NAME_ROLE);
  if (strcmp(role, "producer") == 0 || strcmp(role, "consumer") == 0) return true;
  return tide_ir_op_error(ir, op, "requires 'role' to be \"producer\" or \"consumer\", not \"%s\"",
                          role);
}

/* True if two pipelines, barriers or schedulers certainly differ. Values passed on by branches,
 * loops and conditions may be any. */
static bool surely_differ(const struct tide_ir *ir, tide_ir_value a, tide_ir_value b) {
  return a != b && tide_ir_defining_op(ir, a) && tide_ir_defining_op(ir, b) &&
         tide_ir_op_info(ir, tide_ir_defining_op(ir, a))->form == TIDE_FORM_CUTLASS &&
         tide_ir_op_info(ir, tide_ir_defining_op(ir, b))->form == TIDE_FORM_CUTLASS;
}

/* Checks that the state belongs to the pipeline or scheduler of the operation. */
static bool check_state(struct tide_verifier *verifier, tide_ir_op op) {
  struct tide_ir *ir = verifier->ir;
  tide_ir_op root = tide_state_root(verifier, tide_ir_operand(ir, op, 1));
  if (!root || !surely_differ(ir, tide_ir_operand(ir, root, 0), tide_ir_operand(ir, op, 0)))
    return true;
  bool work = tide_ir_op_kind(ir, root) == TIDE_OP_GET_CURRENT_WORK;
  tide_ir_op_error(ir, op,
                   work ? "takes a work tile of another scheduler"
                        : "takes a state of another pipeline");
  return tide_ir_note(ir, tide_ir_location_of(ir, root), "it comes from here");
}

static bool check_side(struct tide_verifier *verifier, tide_ir_op op, const char *want) {
  struct tide_ir *ir = verifier->ir;
  tide_ir_op root = tide_state_root(verifier, tide_ir_operand(ir, op, 1));
  if (!check_state(verifier, op)) return false;
  if (!root) return true;
  const char *role = tide_ir_op_kind(ir, root) == TIDE_OP_STATE_CREATE
                         ? tide_ir_get_text(ir, root, TIDE_NAME_ROLE)
                         : "sequence";
  if (strcmp(role, want) == 0) return true;
  tide_ir_op_error(ir, op, "is a %s's operation, but takes a %s's state", want, role);
  return tide_ir_note(ir, tide_ir_location_of(ir, root), "it comes from here");
}

/* True if `kind` on the same pipeline stands before `op`, in the same region of warps. Searches
 * backwards through the block and the blocks around it, including nested operations. */
static bool came_before(const struct tide_ir *ir, tide_ir_op op, unsigned kind) {
  tide_ir_value pipeline = tide_ir_operand(ir, op, 0);
  for (tide_ir_op at = op; at; at = tide_ir_parent(ir, at)) {
    unsigned around = tide_ir_op_kind(ir, at);
    if (around == TIDE_OP_ASYNC_EXEC || around == TIDE_OP_GPU_FUNC) return false;
    for (tide_ir_op before = tide_ir_op_of(ir, at)->prev; before;
         before = tide_ir_op_of(ir, before)->prev)
      for (tide_ir_op in = before; in; in = tide_ir_walk_next(ir, before, in, true))
        if (tide_ir_op_kind(ir, in) == kind && tide_ir_operand(ir, in, 0) == pipeline) return true;
  }
  return false;
}

static bool check_order(struct tide_ir *ir, tide_ir_op op, unsigned kind) {
  if (came_before(ir, op, kind)) return true;
  return tide_ir_op_error(ir, op, "needs a '%s' of the same pipeline before it",
                          tide_ir_ops[kind].name);
}

static bool check_bytes(struct tide_ir *ir, tide_ir_op op) {
  tide_ir_op init = tide_ir_defining_op(ir, tide_ir_operand(ir, op, 0));
  if (tide_ir_op_kind(ir, init) != TIDE_OP_PIPELINE_INIT) return true;
  int64_t expected = tide_ir_get_integer(ir, init, TIDE_NAME_TX_BYTES, 0);
  int64_t bytes = tide_ir_get_integer(ir, op, TIDE_NAME_BYTES, expected);
  if (expected == 0 && bytes != 0)
    return tide_ir_op_error(ir, op, "expects %lld bytes, but its pipeline is not fed by TMA",
                            (long long)bytes);
  if (expected > 0 && (bytes <= 0 || bytes >= 1 << 20))
    return tide_ir_op_error(ir, op, "must expect some bytes: its pipeline is fed by TMA");
  return true;
}

/* ---- sequence barriers ---- */

static bool check_group(struct tide_verifier *verifier, tide_ir_op op, bool has_state) {
  struct tide_ir *ir = verifier->ir;
  tide_ir_type type = tide_ir_type_of_value(ir, tide_ir_operand(ir, op, 0));
  int64_t group = tide_ir_get_integer(ir, op, TIDE_NAME_GROUP, 0);
  if (group < 0 || group >= tide_ir_type_of(ir, type)->b)
    return tide_ir_op_error(ir, op, "has group %lld, but the barrier's length is %u",
                            (long long)group, tide_ir_type_of(ir, type)->b);
  if (!has_state) return true;
  tide_ir_op root = tide_state_root(verifier, tide_ir_operand(ir, op, 1));
  if (!root) return true;
  if (surely_differ(ir, tide_ir_operand(ir, root, 0), tide_ir_operand(ir, op, 0))) {
    tide_ir_op_error(ir, op, "takes a state of another barrier");
    return tide_ir_note(ir, tide_ir_location_of(ir, root), "it comes from here");
  }
  int64_t other = tide_ir_get_integer(ir, root, TIDE_NAME_GROUP, -1);
  if (other == group) return true;
  tide_ir_op_error(ir, op, "has group %lld, but its state is of group %lld", (long long)group,
                   (long long)other);
  return tide_ir_note(ir, tide_ir_location_of(ir, root), "it comes from here");
}

/* ---- schedulers ---- */

static bool check_scheduler(struct tide_ir *ir, tide_ir_op op, uint32_t want) {
  static const char *const names[] = {"m", "n", "l", "k"};
  const struct tide_ir_type_record *type =
      tide_ir_type_of(ir, tide_ir_value_of(ir, tide_ir_op_of(ir, op)->results)->type);
  const char *raster = tide_ir_get_text(ir, op, TIDE_NAME_RASTER);
  int64_t swizzle = tide_ir_get_integer(ir, op, TIDE_NAME_SWIZZLE, 1), size;
  uint32_t shape[3];
  if (type->a != want) return tide_ir_op_error(ir, op, "makes a scheduler of another type");
  for (uint32_t i = 0; i < (want == TIDE_IR_STREAMK ? 4u : 3u); i++)
    if (tide_ir_constant(ir, tide_ir_operand(ir, op, i), &size) && size <= 0)
      return tide_ir_op_error(ir, op, "requires size %s to be at least 1, but it is %lld", names[i],
                              (long long)size);
  if (raster && strcmp(raster, "m") != 0 && strcmp(raster, "n") != 0)
    return tide_ir_op_error(ir, op, "requires 'raster' to be \"m\" or \"n\", not \"%s\"", raster);
  if (!is_power_of_two(swizzle) || swizzle > 8)
    return tide_ir_op_error(ir, op, "requires 'swizzle' to be 1, 2, 4 or 8, not %lld",
                            (long long)swizzle);
  tide_cluster_shape(ir, op, shape);
  if (!is_power_of_two(shape[0]) || !is_power_of_two(shape[1]) || shape[2] != 1)
    return tide_ir_op_error(ir, op, "requires a cluster of powers of two, flat in z, not %ux%ux%u",
                            shape[0], shape[1], shape[2]);
  if (want == TIDE_IR_STREAMK &&
      tide_ir_op_kind(ir, tide_ir_defining_op(ir, tide_ir_operand(ir, op, 4))) == TIDE_OP_LLVM_ZERO)
    return tide_ir_op_error(ir, op, "needs a workspace for partial tiles, not a null pointer");
  return true;
}

static bool check_work_get(struct tide_ir *ir, tide_ir_op op) {
  static const char *const numbers[] = {"m", "n", "l", "k_begin", "k_count"};
  static const char *const bools[] = {"valid", "first", "last"};
  const char *field = tide_ir_get_text(ir, op, TIDE_NAME_FIELD);
  tide_ir_type type = tide_ir_value_of(ir, tide_ir_op_of(ir, op)->results)->type;
  unsigned bits = 0;
  for (size_t i = 0; i < 5; i++)
    if (strcmp(field, numbers[i]) == 0) bits = 32;
  for (size_t i = 0; i < 3; i++)
    if (strcmp(field, bools[i]) == 0) bits = 1;
  if (!bits) return tide_ir_op_error(ir, op, "knows no field \"%s\" of a work tile", field);
  if (!tide_ir_is_integer(ir, type, bits))
    return tide_ir_op_error(ir, op, "field \"%s\" is an i%u, not '%s'", field, bits,
                            tide_ir_type_name(ir, type).text);
  return true;
}

/* ---- all of them ---- */

void tide_verify_cutlass(struct tide_verifier *verifier, tide_ir_op op) {
  struct tide_ir *ir = verifier->ir;
  tide_state_follow(verifier, op);
  tide_verify_uniform(verifier, op);
  switch (tide_ir_op_kind(ir, op)) {
    case TIDE_OP_GPU_FUNC:
      check_disjoint(verifier, op);
      tide_verify_block(verifier, op);
      break;
    case TIDE_OP_LLVM_FUNC: tide_verify_block(verifier, op); break;
    case TIDE_OP_ASYNC_EXEC: check_exec(verifier, op); break;
    case TIDE_OP_SCF_YIELD:
    case TIDE_OP_ARITH_SELECT:
    case TIDE_OP_LLVM_SELECT:
    case TIDE_OP_CF_BR:
    case TIDE_OP_CF_COND_BR: tide_verify_carried(verifier, op); break;
    case TIDE_OP_PIPELINE_INIT: check_pipeline_init(verifier, op); break;
    case TIDE_OP_STATE_CREATE: check_role(ir, op); break;
    case TIDE_OP_STATE_INCREMENT: check_state(verifier, op); break;
    case TIDE_OP_PRODUCER_ACQUIRE:
      if (check_side(verifier, op, "producer")) check_bytes(ir, op);
      break;
    case TIDE_OP_PRODUCER_COMMIT:
      if (check_side(verifier, op, "producer")) check_order(ir, op, TIDE_OP_PRODUCER_ACQUIRE);
      break;
    case TIDE_OP_PRODUCER_TAIL: check_side(verifier, op, "producer"); break;
    case TIDE_OP_CONSUMER_WAIT: check_side(verifier, op, "consumer"); break;
    case TIDE_OP_CONSUMER_RELEASE:
      if (check_side(verifier, op, "consumer")) check_order(ir, op, TIDE_OP_CONSUMER_WAIT);
      break;
    case TIDE_OP_SEQ_BAR_INIT: check_seq_bar_init(verifier, op); break;
    case TIDE_OP_SEQ_BAR_STATE: check_group(verifier, op, false); break;
    case TIDE_OP_SEQ_BAR_WAIT:
    case TIDE_OP_SEQ_BAR_ARRIVE: check_group(verifier, op, true); break;
    case TIDE_OP_SCHED_STREAMK: check_scheduler(ir, op, TIDE_IR_STREAMK); break;
    case TIDE_OP_SCHED_STATIC: check_scheduler(ir, op, TIDE_IR_STATIC_PERSISTENT); break;
    case TIDE_OP_SCHED_DATA_PARALLEL: check_scheduler(ir, op, TIDE_IR_DATA_PARALLEL); break;
    case TIDE_OP_ADVANCE: check_state(verifier, op); break;
    case TIDE_OP_WORK_GET: check_work_get(ir, op); break;
    default: break;
  }
}
