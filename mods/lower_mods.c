/* Lowers the MODS operations.
 *
 * The hardware's cluster barrier counts every thread of the cluster, so the handshake of "MODS
 * Async Dispatch" needs no barrier of the pool. A mask that leaves participants out does need one:
 * each CTA has an mbarrier at which one thread of every participating CTA arrives, after a named
 * barrier of its region. */
#include "mods/lower_build.h"

static void build_barrier(struct tide_lower *l, tide_ir_value id, tide_ir_value threads) {
  tide_lower_op(l, TIDE_OP_NVVM_BARRIER_CTA_SYNC, (tide_ir_value[]){id, threads}, 2, 0, 0);
}

struct window {
  struct tide_lower_region *region;
  bool pairs;   /* participants are pairs of CTAs */
  bool partial; /* the mask is constant, and leaves participants out */
  uint64_t mask;
  tide_ir_value rank, has; /* partial: this CTA's rank; true if the mask has this CTA */
  uint32_t slot;           /* partial: the mbarrier's slot */
};

static uint32_t count_bits(uint64_t mask) {
  uint32_t count = 0;
  for (; mask; mask &= mask - 1) count++;
  return count;
}

static uint64_t mask_of_all(const struct tide_lower *l, bool pairs) {
  uint32_t count = tide_lower_ctas(l) / (pairs ? 2 : 1);
  return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

static bool read_window(struct tide_lower *l, tide_ir_op op, struct window *window) {
  int64_t mask;
  *window = (struct window){.region = tide_lower_region(l, op)};
  window->pairs = tide_ir_get_integer(l->ir, op, TIDE_NAME_IS_2CTA_MMA, 0) != 0;
  if (!window->region) return false;
  if (!tide_ir_constant(l->ir, tide_ir_operand(l->ir, op, 1), &mask)) return true;
  window->mask = (uint64_t)mask;
  window->partial = window->mask != mask_of_all(l, window->pairs);
  if (window->partial && l->params.partial != TIDE_IR_PARTIAL_MBARRIER)
    return tide_lower_error(l, op,
                            "has a mask that leaves out participants: the cluster barrier counts "
                            "them all (--partial=mbarrier lowers it otherwise)");
  return true;
}

/* Returns the pair's number: the CTAs of a pair have neighbouring ranks. */
static tide_ir_value pair_of(struct tide_lower *l, tide_ir_value rank) {
  return tide_lower_binary(l, TIDE_OP_ARITH_SHRUI, rank, tide_lower_i32(l, 1));
}

/* ---- a mask that leaves participants out ---- */

/* Returns the window's start, which has its mbarrier: the last one before the end in the same
 * block. */
static tide_ir_op start_of(struct tide_lower *l, tide_ir_op end) {
  tide_ir_op start = 0;
  for (tide_ir_op op = tide_ir_op_of(l->ir, end)->prev; op && !start;
       op = tide_ir_op_of(l->ir, op)->prev)
    if (tide_ir_op_kind(l->ir, op) == TIDE_OP_MODS_START) start = op;
  return start;
}

static void partial_state(struct tide_lower *l, struct window *window) {
  window->rank = tide_lower_register(l, TIDE_OP_NVVM_CLUSTER_CTARANK);
  tide_ir_value participant = window->pairs ? pair_of(l, window->rank) : window->rank;
  tide_ir_value shifted = tide_lower_binary(
      l, TIDE_OP_ARITH_SHRUI, tide_lower_i32(l, (int32_t)(uint32_t)window->mask), participant);
  tide_ir_value bit = tide_lower_binary(l, TIDE_OP_ARITH_ANDI, shifted, tide_lower_i32(l, 1));
  window->has = tide_lower_compare(l, TIDE_NE, bit, tide_lower_i32(l, 0));
}

/* Makes one thread of this CTA arrive at the mbarrier of every CTA in the mask, after all threads
 * of the region have passed the region's named barrier. */
static void arrive_everywhere(struct tide_lower *l, tide_ir_op op, struct window *window) {
  struct tide_lower_region *region = window->region;
  if (!tide_lower_counts(l, op, region)) return;
  if (!region->gather_id) region->gather_id = tide_lower_take_id(l, op);
  struct tide_lower_inside inside = tide_lower_if(l, window->has);
  build_barrier(l, tide_lower_i32(l, region->gather_id), tide_lower_i32(l, region->threads));
  tide_ir_value leads = tide_lower_compare(l, TIDE_EQ, tide_lower_register(l, TIDE_OP_NVVM_TID_X),
                                           tide_lower_i32(l, region->first));
  struct tide_lower_inside leader = tide_lower_if(l, leads);
  tide_ir_value mine = tide_lower_slot_address(l, window->slot);
  for (uint32_t rank = 0; rank < tide_lower_ctas(l); rank++) {
    if (!(window->mask >> (window->pairs ? rank / 2 : rank) & 1)) continue;
    tide_ir_value to[] = {mine, tide_lower_i32(l, rank)};
    tide_ir_value there = tide_lower_op(l, TIDE_OP_NVVM_MAPA, to, 2, l->shared, 0);
    tide_lower_asm(l, "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$0];", "r,~{memory}",
                   &there, 1);
  }
  tide_lower_leave(l, &leader);
  tide_lower_leave(l, &inside);
}

static const char wait_text[] = "{\n"
                                ".reg .pred P;\n"
                                "AGAIN:\n"
                                "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 P, [$0], "
                                "$1;\n"
                                "@P bra DONE;\n"
                                "bra AGAIN;\n"
                                "DONE:\n"
                                "}";

static void partial_wait(struct tide_lower *l, struct window *window, tide_ir_value phases) {
  struct tide_lower_inside inside = tide_lower_if(l, window->has);
  tide_ir_value phase = tide_lower_load(l, phases, l->i32, false);
  tide_ir_value operands[] = {tide_lower_slot_address(l, window->slot), phase};
  tide_lower_asm(l, wait_text, "r,r,~{memory}", operands, 2);
  tide_ir_value next = tide_lower_binary(l, TIDE_OP_ARITH_XORI, phase, tide_lower_i32(l, 1));
  tide_lower_store(l, next, phases, false);
  tide_lower_leave(l, &inside);
}

static void partial_start(struct tide_lower *l, tide_ir_op op, struct window *window) {
  window->slot = tide_lower_take_slots(l, op, 1);
  uint32_t ctas = count_bits(window->mask) * (window->pairs ? 2 : 1);
  tide_lower_early(l, op, (struct tide_lower_slot){window->slot, 1, ctas, false});
  partial_state(l, window);
  arrive_everywhere(l, op, window);
  struct tide_lower_known *known =
      tide_lower_know(l, op, tide_lower_private(l, l->i32, 0)); /* the phase to wait for */
  known->stages = window->slot;
  known->length = op; /* partial_of() finds the entry by this start */
}

static const struct tide_lower_known *partial_of(struct tide_lower *l, tide_ir_op op) {
  tide_ir_op start = start_of(l, op);
  for (uint32_t i = 0; i < l->known_count; i++)
    if (start && l->known[i].kind == TIDE_OP_MODS_START && l->known[i].length == start)
      return &l->known[i];
  tide_lower_error(l, op, "has no start in its block");
  return NULL;
}

static void partial_end(struct tide_lower *l, tide_ir_op op, struct window *window) {
  const struct tide_lower_known *known = partial_of(l, op);
  if (!known) return;
  window->slot = known->stages;
  partial_state(l, window);
  partial_wait(l, window, known->value);
  if (l->params.end != TIDE_LOWER_END_FULL) return;
  arrive_everywhere(l, op, window);
  partial_wait(l, window, known->value);
}

/* ---- start and end ---- */

static void lower_start(struct tide_lower *l, tide_ir_op op) {
  struct window window;
  if (!read_window(l, op, &window)) return;
  tide_lower_progress(l, op, window.pairs, window.region);
  if (window.partial) partial_start(l, op, &window);
  else tide_lower_op(l, TIDE_OP_NVVM_CLUSTER_ARRIVE, NULL, 0, 0, 0);
  if (tide_ir_op_of(l->ir, op)->result_count) {
    tide_ir_value now = tide_lower_register(l, TIDE_OP_NVVM_GLOBALTIMER);
    tide_ir_replace_all(l->ir, tide_ir_result(l->ir, op, 0), now);
  }
}

static void build_handshake(struct tide_lower *l) {
  tide_lower_op(l, TIDE_OP_NVVM_CLUSTER_WAIT, NULL, 0, 0, 0);
  if (l->params.end != TIDE_LOWER_END_FULL) return;
  tide_lower_op(l, TIDE_OP_NVVM_CLUSTER_ARRIVE, NULL, 0, 0, 0);
  tide_lower_op(l, TIDE_OP_NVVM_CLUSTER_WAIT, NULL, 0, 0, 0);
}

static void lower_end(struct tide_lower *l, tide_ir_op op) {
  struct window window;
  if (!read_window(l, op, &window)) return;
  tide_ir_attr none = tide_lower_dictionary1(l, TIDE_NAME_COUNT, tide_ir_attr_i32(l->ir, 0));
  tide_lower_op(l, TIDE_OP_MODS_BULK_WAIT, NULL, 0, 0, none);
  if (window.partial) partial_end(l, op, &window);
  else build_handshake(l);
  if (tide_ir_op_of(l->ir, op)->operand_count < 3) return;
  tide_ir_value now = tide_lower_register(l, TIDE_OP_NVVM_GLOBALTIMER);
  tide_ir_value took = tide_lower_binary(l, TIDE_OP_ARITH_SUBI, now, tide_ir_operand(l->ir, op, 2));
  if (tide_ir_op_of(l->ir, op)->result_count)
    tide_ir_replace_all(l->ir, tide_ir_result(l->ir, op, 0), took);
}

/* ---- throttles ----
 *
 * Profile 2 is a named barrier of the region's warps. The region's first thread, the leader,
 * changes the barrier's count while the warps run: when its tiles come as quickly as ever, it lets
 * one more warp go. All warps of one throttle must pass the same count, so two words alternate. At
 * throttle i all warps read word i mod 2. Before the leader arrives, it writes word (i + 1) mod 2;
 * a reader of that word has passed the barrier after the write. A warp that is let go never takes
 * part again. Counts never grow, so a word that such a warp reads late still excludes it. */

static void begin_throttles(struct tide_lower *l, tide_ir_op op, struct tide_lower_region *region) {
  if (region->throttle_id || !tide_lower_counts(l, op, region)) return;
  region->throttle_id = tide_lower_take_id(l, op);
  region->words = tide_lower_take_slots(l, op, 1);
  tide_lower_early(l, op, (struct tide_lower_slot){region->words, 1, region->threads, true});
  region->turn = tide_lower_private(l, l->i32, 0);
  region->last = tide_lower_private(l, l->i64, 0);
  region->best = tide_lower_private(l, l->i64, INT64_MAX);
}

/* Builds the number of threads that take part in the next throttle. The count stays the same in the
 * first two intervals, which only establish the shortest time. */
static tide_ir_value next_count(struct tide_lower *l, const struct tide_lower_region *region,
                                tide_ir_value turn, tide_ir_value count) {
  tide_ir_value now = tide_lower_register(l, TIDE_OP_NVVM_CLOCK64);
  tide_ir_value last = tide_lower_load(l, region->last, l->i64, false);
  tide_ir_value best = tide_lower_load(l, region->best, l->i64, false);
  tide_lower_store(l, now, region->last, false);
  tide_ir_value took = tide_lower_binary(l, TIDE_OP_ARITH_SUBI, now, last);
  tide_ir_value is_first = tide_lower_compare(l, TIDE_EQ, turn, tide_lower_i32(l, 0));
  tide_ir_value quick = tide_lower_binary(l, TIDE_OP_ARITH_MINUI, took, best);
  tide_lower_store(l, tide_lower_select(l, is_first, best, quick), region->best, false);
  tide_ir_value eighth =
      tide_lower_binary(l, TIDE_OP_ARITH_SHRUI, best, tide_ir_build_integer(&l->b, l->i64, 3));
  tide_ir_value bound = tide_lower_binary(l, TIDE_OP_ARITH_ADDI, best, eighth);
  tide_ir_value calm = tide_lower_compare(l, TIDE_ULT, took, bound);
  tide_ir_value known = tide_lower_compare(l, TIDE_SGT, turn, tide_lower_i32(l, 1));
  tide_ir_value fewer =
      tide_lower_binary(l, TIDE_OP_ARITH_MAXUI,
                        tide_lower_binary(l, TIDE_OP_ARITH_SUBI, count, tide_lower_i32(l, 32)),
                        tide_lower_i32(l, 32));
  tide_ir_value relax = tide_lower_binary(l, TIDE_OP_ARITH_ANDI, calm, known);
  return tide_lower_select(l, relax, fewer, count);
}

static tide_ir_value word_address(struct tide_lower *l, const struct tide_lower_region *region,
                                  tide_ir_value turn) {
  tide_ir_value which = tide_lower_binary(l, TIDE_OP_ARITH_ANDI, turn, tide_lower_i32(l, 1));
  return tide_lower_element(l, tide_lower_slot_address(l, region->words), l->i32, which);
}

static void take_part(struct tide_lower *l, const struct tide_lower_region *region,
                      tide_ir_value turn, tide_ir_value count, tide_ir_value place) {
  tide_ir_value next = tide_lower_binary(l, TIDE_OP_ARITH_ADDI, turn, tide_lower_i32(l, 1));
  tide_ir_value leads = tide_lower_compare(l, TIDE_EQ, place, tide_lower_i32(l, 0));
  struct tide_lower_inside inside = tide_lower_if(l, leads);
  tide_lower_store(l, next_count(l, region, turn, count), word_address(l, region, next), true);
  tide_lower_leave(l, &inside);
  build_barrier(l, tide_lower_i32(l, region->throttle_id), count);
  tide_lower_store(l, next, region->turn, false);
}

static void lower_cooperative(struct tide_lower *l, tide_ir_op op) {
  struct tide_lower_region *region = tide_lower_region(l, op);
  if (!region) return;
  begin_throttles(l, op, region);
  if (!region->throttle_id) return;
  tide_ir_value turn = tide_lower_load(l, region->turn, l->i32, false);
  tide_ir_value here = tide_lower_compare(l, TIDE_SGE, turn, tide_lower_i32(l, 0));
  struct tide_lower_inside taking = tide_lower_if(l, here);
  tide_ir_value count = tide_lower_load(l, word_address(l, region, turn), l->i32, true);
  tide_ir_value place =
      tide_lower_binary(l, TIDE_OP_ARITH_SUBI, tide_lower_register(l, TIDE_OP_NVVM_TID_X),
                        tide_lower_i32(l, region->first));
  tide_ir_value stays = tide_lower_compare(l, TIDE_ULT, place, count);
  struct tide_lower_inside inside = tide_lower_if(l, stays);
  take_part(l, region, turn, count, place);
  tide_lower_else(l, &inside);
  tide_lower_store(l, tide_lower_i32(l, -1), region->turn, false);
  tide_lower_leave(l, &inside);
  tide_lower_leave(l, &taking);
}

static void build_sleep(struct tide_lower *l) {
  tide_ir_value time = tide_lower_i32(l, TIDE_LOWER_SLEEP_NANOSECONDS);
  tide_lower_asm(l, "nanosleep.u32 $0;", "r", &time, 1);
}

void tide_lower_mods(struct tide_lower *l, tide_ir_op op) {
  switch (tide_ir_op_kind(l->ir, op)) {
    case TIDE_OP_MODS_START: lower_start(l, op); return; /* kept: partial_end() looks for it */
    case TIDE_OP_MODS_END: lower_end(l, op); break;
    case TIDE_OP_MODS_QUERY: tide_lower_query(l, op); return;
    case TIDE_OP_MODS_SMID:
      tide_lower_replace(l, op, tide_lower_register(l, TIDE_OP_NVVM_SMID));
      return;
    default:
      if (tide_ir_get_integer(l->ir, op, TIDE_NAME_PROFILE, 0) && tide_lower_in_window(l, op))
        tide_lower_tell(l, tide_lower_in_window(l, op));
      switch (tide_ir_get_integer(l->ir, op, TIDE_NAME_PROFILE, 0)) {
        case 1: build_sleep(l); break;
        case 2: lower_cooperative(l, op); break;
        default: break; /* profile 0: no effect */
      }
  }
  tide_ir_erase(l->ir, op);
}
