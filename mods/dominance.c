/* Verifies that each value dominates its uses. */
#include "mods/verify.h"
#include "mods/intern.h"
#include "base/alloc.h"

/* Dominators of the blocks, for regions with several. The arrays are indexed by block. */
struct dominators {
  struct tide_ir *ir;
  uint32_t *parent;   /* dominator-tree parent; the entry's is itself; 0: unreachable */
  uint32_t *place;    /* the position in reverse postorder, from 1 on */
  uint32_t *in, *out; /* numbers in the tree: the block's, and one past its subtree */
  uint32_t *list;     /* the region's blocks in reverse postorder; also used as a stack */
  uint32_t *edges;    /* the number of the block's successors visited */
  uint32_t *memory;
  uint32_t count; /* the number of blocks */
};

static tide_ir_block successor_of(const struct tide_ir *ir, tide_ir_block block, uint32_t index) {
  tide_ir_op last = tide_ir_block_of(ir, block)->last;
  return last ? tide_ir_successor(ir, last, index, NULL, NULL) : 0;
}

/* Walks depth first from the entry. Returns the number of reachable blocks. */
static uint32_t sort_blocks(struct dominators *d, tide_ir_block entry) {
  uint32_t depth = 0, done = 0;
  uint32_t *stack = d->out; /* free until the tree is walked */
  d->place[entry] = 1;
  stack[depth++] = entry;
  while (depth) {
    tide_ir_block block = stack[depth - 1];
    tide_ir_block next = successor_of(d->ir, block, d->edges[block]++);
    if (!next) {
      d->list[done++] = block;
      depth--;
    } else if (!d->place[next]) {
      d->place[next] = 1;
      stack[depth++] = next;
    }
  }
  for (uint32_t i = 0; i < done / 2; i++) {
    uint32_t swap = d->list[i];
    d->list[i] = d->list[done - 1 - i];
    d->list[done - 1 - i] = swap;
  }
  for (uint32_t i = 0; i < done; i++) d->place[d->list[i]] = i + 1;
  return done;
}

static tide_ir_block common_dominator(const struct dominators *d, tide_ir_block a,
                                      tide_ir_block b) {
  while (a != b) {
    while (d->place[a] > d->place[b]) a = d->parent[a];
    while (d->place[b] > d->place[a]) b = d->parent[b];
  }
  return a;
}

/* Runs a round of the algorithm of Cooper, Harvey and Kennedy, over outgoing edges. True: changed.
 */
static bool improve_parents(struct dominators *d, uint32_t count) {
  bool changed = false;
  for (uint32_t i = 0; i < count; i++) {
    tide_ir_block block = d->list[i], next;
    for (uint32_t e = 0; (next = successor_of(d->ir, block, e)); e++) {
      if (next == d->list[0]) continue;
      tide_ir_block parent = d->parent[next] ? common_dominator(d, d->parent[next], block) : block;
      changed = changed || parent != d->parent[next];
      d->parent[next] = parent;
    }
  }
  return changed;
}

/* Children follow their parent in reverse postorder, so subtree sizes are summed from the end. */
static void number_tree(struct dominators *d, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) d->out[d->list[i]] = 1;
  for (uint32_t i = count; i-- > 1;) d->out[d->parent[d->list[i]]] += d->out[d->list[i]];
  d->in[d->list[0]] = 1;
  for (uint32_t i = 0; i < count; i++) d->edges[d->list[i]] = d->in[d->list[i]] + 1;
  for (uint32_t i = 0; i < count; i++) {
    tide_ir_block block = d->list[i], parent = d->parent[block];
    if (i) { /* the next free number under its parent */
      d->in[block] = d->edges[parent];
      d->edges[parent] += d->out[block];
    }
    d->edges[block] = d->in[block] + 1;
    d->out[block] += d->in[block]; /* past the last in the subtree */
  }
}

static void region_dominators(struct dominators *d, tide_ir_block entry) {
  uint32_t count = sort_blocks(d, entry);
  d->parent[entry] = entry;
  while (improve_parents(d, count)) {}
  number_tree(d, count);
}

static bool block_dominates(const struct dominators *d, tide_ir_block a, tide_ir_block b) {
  if (a == b || !d->memory || !d->parent[b]) return true; /* unreachable blocks never run */
  return d->in[a] <= d->in[b] && d->in[b] < d->out[a] && d->parent[a];
}

static bool init_dominators(struct dominators *d, struct tide_ir *ir) {
  bool several = false;
  *d = (struct dominators){.ir = ir, .count = ir->blocks.count};
  for (tide_ir_region r = 1; r < ir->regions.count && !several; r++)
    several = tide_ir_region_of(ir, r)->first != tide_ir_region_of(ir, r)->last;
  if (!several) return true;
  d->memory = tide_alloc(ir->allocator, d->count, 6 * sizeof *d->memory);
  if (!d->memory) return tide_ir_give_up(ir, TIDE_NOMEM);
  uint32_t **const arrays[] = {&d->parent, &d->place, &d->in, &d->out, &d->list, &d->edges};
  for (size_t i = 0; i < 6; i++) *arrays[i] = d->memory + i * d->count;
  for (tide_ir_region r = 1; r < ir->regions.count; r++) {
    const struct tide_ir_region_record *region = tide_ir_region_of(ir, r);
    if (region->parent && region->first != region->last) region_dominators(d, region->first);
  }
  return true;
}

/* ---- uses ---- */

static void report_undominated(struct tide_verifier *verifier, tide_ir_op op, uint32_t index,
                               tide_ir_value value) {
  struct tide_ir *ir = verifier->ir;
  tide_ir_op source = tide_ir_defining_op(ir, value);
  tide_ir_error(ir, tide_ir_location_of(ir, op), "operand #%u does not dominate this use", index);
  if (!source) {
    tide_ir_block block = tide_ir_argument_block(ir, value);
    tide_ir_op parent = tide_ir_region_of(ir, tide_ir_block_of(ir, block)->region)->parent;
    tide_ir_note(ir, tide_ir_location_of(ir, parent), "operand defined as a block argument");
    return;
  }
  bool same = tide_ir_op_of(ir, source)->block == tide_ir_op_of(ir, op)->block;
  tide_ir_note(ir, tide_ir_location_of(ir, source), "operand defined here (%s)",
               same ? "op in the same block" : "op in another block or region");
}

static void report_isolation(struct tide_verifier *verifier, tide_ir_op op, tide_ir_op around) {
  struct tide_ir *ir = verifier->ir;
  tide_ir_op_error(ir, op, "using value defined outside the region");
  tide_ir_note(ir, tide_ir_location_of(ir, around), "required by region isolation constraints");
}

static void check_use(struct tide_verifier *verifier, const struct dominators *d, tide_ir_op op,
                      uint32_t index) {
  const struct tide_ir *ir = verifier->ir;
  tide_ir_value value = tide_ir_operand(ir, op, index);
  tide_ir_op source = tide_ir_defining_op(ir, value), at = op;
  tide_ir_block block =
      source ? tide_ir_op_of(ir, source)->block : tide_ir_argument_block(ir, value);
  tide_ir_region region = tide_ir_block_of(ir, block)->region;
  if (!block || !region) {
    report_undominated(verifier, op, index, value);
    return;
  }
  while (at && tide_ir_block_of(ir, tide_ir_op_of(ir, at)->block)->region != region) {
    at = tide_ir_parent(ir, at);
    if (at && tide_ir_op_info(ir, at)->traits & TIDE_IR_ISOLATED) {
      report_isolation(verifier, op, at);
      return;
    }
  }
  tide_ir_block here = tide_ir_op_of(ir, at)->block;
  bool fine = at && (here == block ? !source || (source != at && verifier->order[source] &&
                                                 verifier->order[source] < verifier->order[at])
                                   : block_dominates(d, block, here));
  /* An operation's own results are not available in its regions. */
  if (!fine) report_undominated(verifier, op, index, value);
}

bool tide_verify_dominance(struct tide_verifier *verifier) {
  struct tide_ir *ir = verifier->ir;
  struct dominators d;
  if (!init_dominators(&d, ir)) return false;
  verifier->several = d.memory != NULL;
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true)) {
    const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
    verifier->order[op] = ++verifier->seen;
    for (uint32_t i = 0; i < record->operand_count; i++) check_use(verifier, &d, op, i);
  }
  tide_free(ir->allocator, d.memory, d.count, 6 * sizeof *d.memory);
  return true;
}
