/* Execution: error reports, and the threads' locations in a deadlock. */
#include "mods/bits.h"
#include "mods/exec.h"
#include "base/text.h"

static void name_thread(struct tide_text *text, const struct tide_exec_machine *machine,
                        uint32_t thread) {
  const struct tide_exec_cta *cta = &machine->ctas[tide_exec_cta_of(machine, thread)];
  tide_text_format(text, "CTA %u", tide_exec_cta_of(machine, thread));
  if (machine->cluster_size > 1)
    tide_text_format(text, " (rank %u of cluster %u)", cta->rank, cta->cluster);
  tide_text_format(text, ", warp %u, lane %u", thread % machine->block_threads / 32,
                   thread % machine->block_threads % 32);
}

enum tide_exec_next tide_exec_fail(struct tide_exec_machine *machine, uint32_t thread, uint32_t pc,
                                   const char *format, ...) {
  char message[512], who[96];
  struct tide_text text;
  va_list list;
  if (machine->status != TIDE_OK) return TIDE_EXEC_STOPS;
  machine->status = TIDE_FAILED;
  tide_text_init(&text, message, sizeof message);
  va_start(list, format);
  tide_text_format_list(&text, format, list);
  va_end(list);
  tide_text_init(&text, who, sizeof who);
  name_thread(&text, machine, thread);
  tide_ir_op_error(machine->ir, machine->program->code.ops[pc], "%s (%s)", message, who);
  return TIDE_EXEC_STOPS;
}

void tide_exec_note(struct tide_exec_machine *machine, tide_ir_op op, const char *format, ...) {
  char message[256];
  struct tide_text text;
  va_list list;
  tide_text_init(&text, message, sizeof message);
  va_start(list, format);
  tide_text_format_list(&text, format, list);
  va_end(list);
  tide_ir_note(machine->ir, tide_ir_location_of(machine->ir, op), "%s", message);
}

/* ---- deadlocks ---- */

#define PLACES_MAX 24 /* the most locations that are listed */

/* Returns a thread's location: for a waiting thread, the instruction before its pc. */
static uint32_t place_of(const struct tide_exec_machine *machine, uint32_t thread) {
  const struct tide_exec_thread *who = &machine->threads[thread];
  return who->state == TIDE_THREAD_READY || !who->pc ? who->pc : who->pc - 1;
}

/* Appends the state of a barrier: "stage 1 of the pipeline: phase 0 has 3 of 4 arrivals". */
static void name_barrier(struct tide_text *text, const struct tide_exec_machine *machine,
                         uint32_t thread, uint32_t pc) {
  const struct tide_exec_instruction *i = &machine->program->code.at[pc];
  const int64_t *f = tide_exec_frame(machine, thread);
  const struct tide_exec_barrier *barriers =
      tide_exec_barriers_of(machine, tide_exec_cta_of(machine, thread));
  if (i->code == TIDE_EXEC_ACQUIRE || i->code == TIDE_EXEC_CONSUMER_WAIT) {
    const struct tide_exec_pipeline *pipeline = &machine->program->pipelines[f[i->a] - 1];
    uint32_t stage = (uint32_t)f[i->b];
    bool full = i->code == TIDE_EXEC_CONSUMER_WAIT;
    barriers += pipeline->barriers + stage + (full ? 0 : pipeline->stages);
    tide_text_format(text, ": stage %u isn't %s in phase %u, %u of %u arrivals", stage,
                     full ? "full" : "empty", (unsigned)(f[i->b] >> 32) & 1,
                     barriers->expected - barriers->pending, barriers->expected);
    if (barriers->bytes) tide_text_format(text, ", %lld bytes to come", (long long)barriers->bytes);
  } else if (i->code == TIDE_EXEC_BARRIER) {
    barriers += f[i->a];
    tide_text_format(text, ": named barrier %u has %u of %u threads", (unsigned)f[i->a],
                     barriers->expected - barriers->pending, barriers->expected);
  } else if (i->code == TIDE_EXEC_CLUSTER_WAIT) {
    const struct tide_exec_cluster *cluster =
        &machine->clusters[machine->ctas[tide_exec_cta_of(machine, thread)].cluster];
    tide_text_format(text, ": the cluster barrier has %u of %u threads", cluster->arrived,
                     cluster->live_threads);
  }
}

/* Reports all lanes of a warp that are at one location, in one line. */
static void report_place(struct tide_exec_machine *machine, uint32_t warp, uint32_t lanes) {
  uint32_t first = machine->warps[warp].first + (uint32_t)__builtin_ctz(lanes);
  uint32_t pc = place_of(machine, first);
  char message[256];
  struct tide_text text;
  tide_text_init(&text, message, sizeof message);
  tide_text_format(&text, "CTA %u, warp %u, %u lanes from %u: %s here", machine->warps[warp].cta,
                   warp % machine->block_warps, tide_bits_count(lanes),
                   (unsigned)__builtin_ctz(lanes),
                   machine->threads[first].state == TIDE_THREAD_READY ? "runs" : "waits");
  if (machine->threads[first].state == TIDE_THREAD_WAITS) name_barrier(&text, machine, first, pc);
  tide_exec_note(machine, machine->program->code.ops[pc], "%s", message);
}

static uint32_t lanes_at(const struct tide_exec_machine *machine, uint32_t warp, uint32_t among,
                         uint32_t pc) {
  uint32_t lanes = 0;
  for (uint32_t rest = among; rest; rest &= rest - 1) {
    uint32_t lane = (uint32_t)__builtin_ctz(rest);
    if (place_of(machine, machine->warps[warp].first + lane) == pc) lanes |= 1u << lane;
  }
  return lanes;
}

static uint32_t live_lanes(const struct tide_exec_machine *machine, uint32_t warp) {
  uint32_t count = machine->block_threads - warp % machine->block_warps * 32, lanes = 0;
  for (uint32_t i = 0; i < 32 && i < count; i++)
    if (machine->threads[machine->warps[warp].first + i].state != TIDE_THREAD_EXITED)
      lanes |= 1u << i;
  return lanes;
}

void tide_exec_report_deadlock(struct tide_exec_machine *machine) {
  uint32_t listed = 0, left_out = 0;
  bool first = machine->status == TIDE_DEADLOCK;
  for (uint32_t warp = 0; warp < machine->warp_count; warp++)
    for (uint32_t lanes = live_lanes(machine, warp), here; lanes; lanes &= ~here) {
      uint32_t pc = place_of(machine, machine->warps[warp].first + (uint32_t)__builtin_ctz(lanes));
      here = lanes_at(machine, warp, lanes, pc);
      if (first)
        tide_ir_op_error(machine->ir, machine->program->code.ops[pc],
                         "waits for ever: no thread can go on (deadlock)");
      first = false;
      if (listed++ < PLACES_MAX) report_place(machine, warp, here);
      else left_out++;
    }
  if (left_out) tide_exec_note(machine, machine->program->function, "and %u places more", left_out);
}
