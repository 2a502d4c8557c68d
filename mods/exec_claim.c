/* Execution: checks that decisions marked `cutlass.cluster_uniform` are the same in all threads of
 * a cluster that reach them. On a GPU a window behind a false mark hangs, or some CTAs pass without
 * the others; here it is an error at the mark. */
#include "mods/exec_translate.h"

typedef struct tide_exec_instruction made;

/* d: the mark's number; a: the decided value. For a loop with bounds: a, b, c, and w is 1. */
static void emit_claim(struct tide_exec_translator *t, tide_ir_op marked, tide_ir_op at, made one) {
  if (!tide_ir_has(t->ir, marked, TIDE_NAME_CLUSTER_UNIFORM) || t->status != TIDE_OK) return;
  if (t->program->claim_count == TIDE_EXEC_CLAIMS_MAX) {
    tide_exec_refuse(t, marked, "is one mark of cutlass.cluster_uniform too many");
    return;
  }
  one.code = TIDE_EXEC_CLAIM;
  one.d = (int16_t)t->program->claim_count++;
  tide_exec_emit(t, at, one);
}

void tide_exec_claim_condition(struct tide_exec_translator *t, tide_ir_op marked, tide_ir_op op) {
  emit_claim(t, marked, op, (made){.a = tide_exec_use(t, op, 0)});
}

void tide_exec_claim_bounds(struct tide_exec_translator *t, tide_ir_op loop) {
  emit_claim(t, loop, loop,
             (made){.a = tide_exec_use(t, loop, 0),
                    .b = tide_exec_use(t, loop, 1),
                    .c = tide_exec_use(t, loop, 2),
                    .w = 1});
}

static int64_t iterations_of(int64_t from, int64_t to, int64_t step) {
  if (from >= to || step <= 0) return 0;
  return (int64_t)(((uint64_t)to - (uint64_t)from - 1) / (uint64_t)step + 1);
}

/* The first thread that decides for the nth time sets the value; the others must agree. A thread
 * that is TIDE_EXEC_DECISIONS behind is not compared. */
enum tide_exec_next tide_exec_check_claim(struct tide_exec_machine *machine, uint32_t thread,
                                          uint32_t pc) {
  const made *i = &machine->program->code.at[pc];
  const int64_t *f = tide_exec_frame(machine, thread);
  uint32_t claims = machine->program->claim_count, number = (uint32_t)i->d;
  uint32_t cluster = machine->ctas[tide_exec_cta_of(machine, thread)].cluster;
  uint32_t turn = ++machine->claim_turns[(size_t)thread * claims + number];
  struct tide_exec_decision *decided =
      &machine->decisions[((size_t)cluster * claims + number) * TIDE_EXEC_DECISIONS +
                          turn % TIDE_EXEC_DECISIONS];
  int64_t value = i->w ? iterations_of(f[i->a], f[i->b], f[i->c]) : f[i->a];
  if (decided->turn < turn) {
    *decided = (struct tide_exec_decision){.value = value, .turn = turn, .thread = thread};
    return TIDE_EXEC_GOES_ON;
  }
  if (decided->turn > turn || decided->value == value) return TIDE_EXEC_GOES_ON;
  return tide_exec_fail(machine, thread, pc,
                        "is marked 'cutlass.cluster_uniform', but goes another way here than in "
                        "CTA %u, thread %u of its cluster",
                        tide_exec_cta_of(machine, decided->thread),
                        decided->thread % machine->block_threads);
}
