/* Lowers what the CTAs of a cluster tell each other of their progress in a window.
 *
 * Each region with a window has a word of 64 bits in its CTA's shared memory: the number of the
 * window, and the tiles that are finished in it, at the time of the last throttle. The words only
 * grow. With one MMA a CTA the region's first thread, chosen by tid.x, writes its own count. With
 * one MMA for two CTAs the even CTA, chosen by cluster.ctarank, writes for the pair: each of its
 * threads raises the word to its own count. A query reads the lower half of its participant's word
 * in the cluster's shared memory. */
#include "mods/lower_build.h"
#include "mods/warps.h"

#define UMAX 9      /* llvm.atomicrmw: bin_op */
#define MONOTONIC 2 /* ordering */

static tide_ir_value number64(struct tide_lower *l, int64_t number) {
  return tide_ir_build_integer(&l->b, l->i64, number);
}

static tide_ir_value word_address(struct tide_lower *l, const struct tide_lower_region *region) {
  return tide_lower_slot_address(l, region->told - 1);
}

static void raise_word(struct tide_lower *l, const struct tide_lower_region *region,
                       tide_ir_value count) {
  tide_ir_value operands[] = {word_address(l, region), count};
  struct tide_ir_named named[] = {{TIDE_NAME_BIN_OP, tide_ir_attr_i64(l->ir, UMAX)},
                                  {TIDE_NAME_ORDERING, tide_ir_attr_i64(l->ir, MONOTONIC)}};
  tide_lower_op(l, TIDE_OP_LLVM_ATOMICRMW, operands, 2, l->i64,
                tide_ir_attr_dictionary(l->ir, named, 2));
}

void tide_lower_tell(struct tide_lower *l, const struct tide_lower_region *region) {
  tide_ir_value own, count = tide_lower_load(l, region->tiles, l->i64, false);
  if (region->pairs) {
    tide_ir_value rank = tide_lower_register(l, TIDE_OP_NVVM_CLUSTER_CTARANK);
    own = tide_lower_compare(l, TIDE_EQ,
                             tide_lower_binary(l, TIDE_OP_ARITH_ANDI, rank, tide_lower_i32(l, 1)),
                             tide_lower_i32(l, 0));
  } else {
    own = tide_lower_compare(l, TIDE_EQ, tide_lower_register(l, TIDE_OP_NVVM_TID_X),
                             tide_lower_i32(l, region->first));
  }
  struct tide_lower_inside inside = tide_lower_if(l, own);
  if (region->pairs) raise_word(l, region, count);
  else tide_lower_store(l, count, word_address(l, region), true);
  tide_lower_leave(l, &inside);
}

static bool has_query(const struct tide_ir *ir, tide_ir_op region) {
  for (tide_ir_op op = region; op; op = tide_ir_walk_next(ir, region, op, true))
    if (tide_ir_op_kind(ir, op) == TIDE_OP_MODS_QUERY) return true;
  return false;
}

/* Takes the region's word. Where other threads may reach it before its first window, it is set up
 * with the barriers, before all CTAs of the cluster go on. */
static void take_word(struct tide_lower *l, tide_ir_op start, struct tide_lower_region *region) {
  uint32_t slot = tide_lower_take_slots(l, start, 1);
  region->told = slot + 1;
  region->tiles = tide_lower_private(l, l->i64, 0);
  if (region->pairs || has_query(l->ir, region->op))
    tide_lower_early(l, start, (struct tide_lower_slot){slot, 1, 0, true});
}

void tide_lower_progress(struct tide_lower *l, tide_ir_op start, bool pairs,
                         struct tide_lower_region *region) {
  region->pairs = pairs;
  if (!region->told) take_word(l, start, region);
  tide_ir_value count = tide_lower_load(l, region->tiles, l->i64, false);
  tide_ir_value last = tide_lower_binary(l, TIDE_OP_ARITH_ORI, count, number64(l, UINT32_MAX));
  tide_lower_store(l, tide_lower_binary(l, TIDE_OP_ARITH_ADDI, last, number64(l, 1)), region->tiles,
                   false);
  tide_lower_tell(l, region);
}

void tide_lower_finished(struct tide_lower *l, const struct tide_lower_region *region,
                         tide_ir_value valid) {
  tide_ir_value count = tide_lower_load(l, region->tiles, l->i64, false);
  tide_ir_value one = tide_lower_extend(l, valid, l->i64);
  tide_lower_store(l, tide_lower_binary(l, TIDE_OP_ARITH_ADDI, count, one), region->tiles, false);
}

void tide_lower_query(struct tide_lower *l, tide_ir_op op) {
  const struct tide_lower_region *region = tide_lower_in_window(l, op);
  if (!region) {
    tide_lower_error(l, op, "asks for progress in a region that has no window before it");
    return;
  }
  tide_ir_value mine = word_address(l, region), rank = tide_ir_operand(l->ir, op, 1);
  if (tide_lower_ctas(l) == 1) {
    tide_lower_replace(l, op, tide_lower_load(l, mine, l->i32, true));
    return;
  }
  if (region->pairs) rank = tide_lower_binary(l, TIDE_OP_ARITH_SHLI, rank, tide_lower_i32(l, 1));
  tide_ir_value to[] = {mine, rank};
  tide_ir_value there = tide_lower_op(l, TIDE_OP_NVVM_MAPA, to, 2, l->shared, 0);
  tide_lower_replace(l, op,
                     tide_lower_asm_of(l, "ld.relaxed.cluster.shared::cluster.u32 $0, [$1];",
                                       "=r,r,~{memory}", &there, 1, l->i32));
}
