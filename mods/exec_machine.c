/* Execution: the machine's memory. */
#include "mods/exec.h"
#include "base/alloc.h"

#define FRAME_SLACK                                                                                \
  16 /* extra slots: fields of instructions that are not slots may be read as such */

struct sizes {
  uint64_t ctas, threads, warps, clusters, frame, barriers, shared;
};

static struct sizes sizes_of(const struct tide_exec_program *program,
                             const struct tide_exec_shape *shape) {
  struct sizes s;
  uint64_t block = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2];
  s.ctas = (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2];
  s.threads = s.ctas * block;
  s.warps = s.ctas * ((block + 31) / 32);
  s.clusters = s.ctas / ((uint64_t)shape->cluster[0] * shape->cluster[1] * shape->cluster[2]);
  s.frame = (uint64_t)program->constant_count + program->slot_count + 1;
  s.barriers = TIDE_EXEC_NAMED + program->barrier_count + program->user_barriers;
  s.shared = ((uint64_t)program->shared_size + 15) / 16 * 16;
  return s;
}

uint64_t tide_exec_machine_memory(const struct tide_exec_program *program,
                                  const struct tide_exec_shape *shape) {
  struct sizes s = sizes_of(program, shape);
  return s.threads * (s.frame * 8 + sizeof(struct tide_exec_thread) + 4) +
         s.warps * (sizeof(struct tide_exec_warp) + 4) +
         s.ctas * (sizeof(struct tide_exec_cta) + s.shared +
                   s.barriers * sizeof(struct tide_exec_barrier)) +
         s.clusters * sizeof(struct tide_exec_cluster) +
         program->claim_count *
             (s.threads * 4 + s.clusters * TIDE_EXEC_DECISIONS * sizeof(struct tide_exec_decision));
}

/* Numbers the CTAs, x first. */
static void place_ctas(struct tide_exec_machine *machine) {
  const struct tide_exec_shape *shape = &machine->shape;
  for (uint32_t i = 0; i < machine->cta_count; i++) {
    struct tide_exec_cta *cta = &machine->ctas[i];
    uint32_t in[3], of[3];
    cta->block[0] = i % shape->grid[0];
    cta->block[1] = i / shape->grid[0] % shape->grid[1];
    cta->block[2] = i / shape->grid[0] / shape->grid[1];
    for (int axis = 0; axis < 3; axis++) {
      in[axis] = cta->block[axis] % shape->cluster[axis];
      of[axis] = cta->block[axis] / shape->cluster[axis];
    }
    cta->rank = (in[2] * shape->cluster[1] + in[1]) * shape->cluster[0] + in[0];
    cta->cluster = (of[2] * (shape->grid[1] / shape->cluster[1]) + of[1]) *
                       (shape->grid[0] / shape->cluster[0]) +
                   of[0];
    cta->live_threads = machine->block_threads;
    machine->clusters[cta->cluster].live_threads += machine->block_threads;
  }
}

static void place_warps(struct tide_exec_machine *machine) {
  for (uint32_t i = 0; i < machine->warp_count; i++) {
    struct tide_exec_warp *warp = &machine->warps[i];
    warp->cta = i / machine->block_warps;
    warp->first = warp->cta * machine->block_threads + i % machine->block_warps * 32;
  }
}

static void place_threads(struct tide_exec_machine *machine, const int64_t *arguments) {
  const struct tide_exec_program *program = machine->program;
  for (uint32_t i = 0; i < machine->thread_count; i++) {
    int64_t *frame = tide_exec_frame(machine, i);
    for (uint32_t c = 0; c < program->constant_count; c++)
      frame[-1 - (int64_t)c] = program->constants[c];
    for (uint32_t a = 0; a < program->argument_count; a++) frame[a] = arguments[a];
    tide_exec_make_ready(machine, i);
  }
  machine->live_threads = machine->thread_count;
}

/* Draws the schedule's parameters. Seed 0 is regular: long time slices, no delayed CTA. Other seeds
 * draw the length of the slices, and half of them a set of delayed CTAs. */
static void seed_schedule(struct tide_exec_machine *machine, uint64_t number) {
  machine->random.state = number;
  machine->turn_bits = 10;
  if (!number) return;
  machine->turn_bits = 1 + (uint32_t)tide_random_below(&machine->random, 10);
  if (tide_random_below(&machine->random, 2)) machine->slow = tide_random_next(&machine->random);
}

static bool allocate_arrays(struct tide_exec_machine *machine, const struct sizes *s) {
  const struct tide_allocator *allocator = machine->allocator;
  size_t claims = machine->program->claim_count;
  machine->frames =
      tide_alloc(allocator, (size_t)(s->threads * s->frame) + FRAME_SLACK, sizeof *machine->frames);
  machine->threads = tide_alloc(allocator, s->threads, sizeof *machine->threads);
  machine->parked_list = tide_alloc(allocator, s->threads, sizeof *machine->parked_list);
  machine->warps = tide_alloc(allocator, s->warps, sizeof *machine->warps);
  machine->ready = tide_alloc(allocator, s->warps, sizeof *machine->ready);
  machine->ctas = tide_alloc(allocator, s->ctas, sizeof *machine->ctas);
  machine->clusters = tide_alloc(allocator, s->clusters, sizeof *machine->clusters);
  machine->barriers = tide_alloc(allocator, s->ctas * s->barriers, sizeof *machine->barriers);
  machine->shared = tide_alloc(allocator, s->ctas * s->shared + 16, 1);
  machine->claim_turns = tide_alloc(allocator, s->threads * claims + 1, sizeof(uint32_t));
  machine->decisions = tide_alloc(allocator, s->clusters * claims * TIDE_EXEC_DECISIONS + 1,
                                  sizeof *machine->decisions);
  return machine->frames && machine->threads && machine->parked_list && machine->warps &&
         machine->ready && machine->ctas && machine->clusters && machine->barriers &&
         machine->shared && machine->claim_turns && machine->decisions;
}

enum tide_status tide_exec_machine_init(struct tide_exec_machine *machine,
                                        const struct tide_exec_machine_params *params) {
  const struct tide_exec_program *program = params->program;
  const struct tide_exec_shape *shape = &params->shape;
  struct sizes s = sizes_of(program, shape);
  *machine = (struct tide_exec_machine){.program = program,
                                        .ir = program->ir,
                                        .allocator = program->allocator,
                                        .shape = *shape,
                                        .steps_max = params->steps_max};
  if (tide_exec_machine_memory(program, shape) > params->memory_max) return TIDE_EXHAUSTED;
  machine->cta_count = (uint32_t)s.ctas;
  machine->cluster_count = (uint32_t)s.clusters;
  machine->cluster_size = (uint32_t)(s.ctas / s.clusters);
  machine->thread_count = (uint32_t)s.threads;
  machine->warp_count = (uint32_t)s.warps;
  machine->block_threads = (uint32_t)(s.threads / s.ctas);
  machine->block_warps = (uint32_t)(s.warps / s.ctas);
  machine->frame_slots = (uint32_t)s.frame;
  machine->cta_barriers = (uint32_t)s.barriers;
  machine->shared_stride = (uint32_t)s.shared;
  machine->globals = (struct tide_exec_memory *)params->globals;
  machine->global_count = params->global_count;
  if (!allocate_arrays(machine, &s)) {
    tide_exec_machine_fini(machine);
    return TIDE_NOMEM;
  }
  place_ctas(machine);
  place_warps(machine);
  seed_schedule(machine, params->seed);
  place_threads(machine, params->arguments);
  return TIDE_OK;
}

void tide_exec_machine_fini(struct tide_exec_machine *machine) {
  const struct tide_allocator *allocator = machine->allocator;
  struct sizes s;
  if (!machine->program) return;
  s = sizes_of(machine->program, &machine->shape);
  tide_free(allocator, machine->frames, (size_t)(s.threads * s.frame) + FRAME_SLACK,
            sizeof *machine->frames);
  tide_free(allocator, machine->threads, s.threads, sizeof *machine->threads);
  tide_free(allocator, machine->parked_list, s.threads, sizeof *machine->parked_list);
  tide_free(allocator, machine->warps, s.warps, sizeof *machine->warps);
  tide_free(allocator, machine->ready, s.warps, sizeof *machine->ready);
  tide_free(allocator, machine->ctas, s.ctas, sizeof *machine->ctas);
  tide_free(allocator, machine->clusters, s.clusters, sizeof *machine->clusters);
  tide_free(allocator, machine->barriers, s.ctas * s.barriers, sizeof *machine->barriers);
  tide_free(allocator, machine->shared, s.ctas * s.shared + 16, 1);
  size_t claims = machine->program->claim_count;
  tide_free(allocator, machine->claim_turns, s.threads * claims + 1, sizeof(uint32_t));
  tide_free(allocator, machine->decisions, s.clusters * claims * TIDE_EXEC_DECISIONS + 1,
            sizeof *machine->decisions);
  *machine = (struct tide_exec_machine){.program = NULL};
}
