/* Execution of instructions that are not in the innermost loop: memory outside the thread's frame,
 * registers, atomics, schedulers, windows and the progress of a cluster. */
#include "mods/exec.h"
#include "base/alloc.h"

typedef const struct tide_exec_instruction instruction;
typedef uint16_t any_u16 __attribute__((may_alias));
typedef uint32_t any_u32 __attribute__((may_alias));
typedef uint64_t any_u64 __attribute__((may_alias));

static instruction *instruction_at(const struct tide_exec_machine *machine, uint32_t pc) {
  return &machine->program->code.at[pc];
}

static struct tide_exec_cta *cta_of(struct tide_exec_machine *machine, uint32_t thread) {
  return &machine->ctas[tide_exec_cta_of(machine, thread)];
}

/* ---- memory ---- */

static void *bytes_inside(struct tide_exec_machine *machine, uint32_t thread, uint32_t pc,
                          unsigned char *bytes, uint64_t size, uint64_t offset, uint32_t wanted) {
  if (offset <= size && wanted <= size - offset) {
    if (offset % wanted == 0) return bytes + offset;
    tide_exec_fail(machine, thread, pc, "accesses %u bytes at byte %llu, which is misaligned",
                   wanted, (unsigned long long)offset);
    return NULL;
  }
  /* Offsets in the upper half lie below the object. */
  bool below = offset >> (TIDE_EXEC_OFFSET_BITS - 1);
  tide_exec_fail(machine, thread, pc, "accesses %u bytes at byte %s%llu of a memory of %llu",
                 wanted, below ? "-" : "",
                 (unsigned long long)(below ? TIDE_EXEC_OFFSET_MASK + 1 - offset : offset),
                 (unsigned long long)size);
  return NULL;
}

void *tide_exec_access(struct tide_exec_machine *machine, uint32_t thread, uint32_t pc,
                       uint64_t pointer, uint32_t size) {
  uint64_t offset = pointer & TIDE_EXEC_OFFSET_MASK;
  uint32_t object = (uint32_t)(pointer >> TIDE_EXEC_OFFSET_BITS & 0xfffff);
  uint32_t own = tide_exec_cta_of(machine, thread);
  if (pointer >> 60 == TIDE_EXEC_GLOBAL >> 60 && object < machine->global_count)
    return bytes_inside(machine, thread, pc, machine->globals[object].bytes,
                        machine->globals[object].size, offset, size);
  if (pointer >> 60 != TIDE_EXEC_SHARED >> 60 || object >= machine->cta_count) {
    tide_exec_fail(machine, thread, pc, "accesses memory through %s",
                   pointer >> TIDE_EXEC_OFFSET_BITS ? "something that is no pointer"
                                                    : "a null pointer");
    return NULL;
  }
  if (machine->ctas[object].cluster != machine->ctas[own].cluster) {
    tide_exec_fail(machine, thread, pc, "accesses shared memory of CTA %u, in another cluster",
                   object);
    return NULL;
  }
  if (!machine->ctas[object].live_threads) {
    tide_exec_fail(machine, thread, pc, "accesses shared memory of CTA %u, which has exited",
                   object);
    return NULL;
  }
  return bytes_inside(machine, thread, pc,
                      machine->shared + (size_t)object * machine->shared_stride,
                      machine->program->shared_size, offset, size);
}

static int64_t combine_integers(int64_t old, int64_t value, int32_t how) {
  switch (how) {
    case 0: return value;
    case 1: return (int64_t)((uint64_t)old + (uint64_t)value);
    case 2: return (int64_t)((uint64_t)old - (uint64_t)value);
    case 3: return old & value;
    case 4: return ~(old & value);
    case 5: return old | value;
    case 6: return old ^ value;
    case 7: return old > value ? old : value;
    case 8: return old < value ? old : value;
    case 9: return (uint64_t)old > (uint64_t)value ? old : value;
    case 15: return (uint64_t)old >= (uint64_t)value ? 0 : (int64_t)((uint64_t)old + 1);
    case 16: return !old || (uint64_t)old > (uint64_t)value ? value : (int64_t)((uint64_t)old - 1);
    default: return (uint64_t)old < (uint64_t)value ? old : value;
  }
}

/* Combines two floats, f32 or f64: the sum of two f32 is exact enough in f64. A number wins over
 * NaN. */
static double combine_floats(double old, double value, int32_t how) {
  switch (how) {
    case 11: return old + value;
    case 12: return old - value;
    case 13: return old > value || value != value ? old : value;
    default: return old < value || value != value ? old : value;
  }
}

static int64_t read_cell(const void *memory, unsigned cell) {
  switch (cell) {
    case TIDE_CELL_I8: return *(const int8_t *)memory;
    case TIDE_CELL_I16: return (int16_t) * (const any_u16 *)memory;
    case TIDE_CELL_I32: return (int32_t) * (const any_u32 *)memory;
    case TIDE_CELL_F32: return *(const any_u32 *)memory;
    default: return (int64_t) * (const any_u64 *)memory;
  }
}

static void write_cell(void *memory, unsigned cell, int64_t value) {
  switch (cell) {
    case TIDE_CELL_I8: *(uint8_t *)memory = (uint8_t)value; break;
    case TIDE_CELL_I16: *(any_u16 *)memory = (uint16_t)value; break;
    case TIDE_CELL_I32:
    case TIDE_CELL_F32: *(any_u32 *)memory = (uint32_t)value; break;
    default: *(any_u64 *)memory = (uint64_t)value; break;
  }
}

static enum tide_exec_next step_atomic(struct tide_exec_machine *machine, uint32_t thread,
                                       uint32_t pc) {
  static const uint8_t sizes[] = {1, 2, 4, 8, 2, 2, 4, 8};
  instruction *i = instruction_at(machine, pc);
  int64_t *f = tide_exec_frame(machine, thread);
  void *memory = tide_exec_access(machine, thread, pc, (uint64_t)f[i->a], sizes[i->w]);
  if (!memory) return TIDE_EXEC_STOPS;
  int64_t old = read_cell(memory, i->w), value = f[i->b], next;
  if (i->code == TIDE_EXEC_EXCHANGE) {
    bool same = old == value;
    if (same) write_cell(memory, i->w, f[i->c]);
    f[i->d] = old;
    f[i->d + 1] = -(int64_t)same;
    return TIDE_EXEC_GOES_ON;
  }
  if (i->imm == 0) next = value;
  else if (i->w == TIDE_CELL_F32)
    next =
        tide_exec_of_f32((float)combine_floats(tide_exec_f32(old), tide_exec_f32(value), i->imm));
  else if (i->w == TIDE_CELL_F64)
    next = tide_exec_of_f64(combine_floats(tide_exec_f64(old), tide_exec_f64(value), i->imm));
  else next = combine_integers(old, value, i->imm);
  write_cell(memory, i->w, next);
  f[i->d] = old;
  return TIDE_EXEC_GOES_ON;
}

/* mapa: the same offset in the shared memory of another CTA of the cluster. */
static enum tide_exec_next rank_address(struct tide_exec_machine *machine, uint32_t thread,
                                        uint32_t pc) {
  int64_t *f = tide_exec_frame(machine, thread);
  uint64_t pointer = (uint64_t)f[instruction_at(machine, pc)->a];
  uint32_t cluster = cta_of(machine, thread)->cluster;
  int64_t rank = f[instruction_at(machine, pc)->b];
  if (pointer >> 60 == TIDE_EXEC_SHARED >> 60 && rank >= 0)
    for (uint32_t cta = 0; cta < machine->cta_count; cta++)
      if (machine->ctas[cta].cluster == cluster && machine->ctas[cta].rank == rank) {
        f[instruction_at(machine, pc)->d] =
            (int64_t)tide_exec_pointer(TIDE_EXEC_SHARED, cta, pointer & TIDE_EXEC_OFFSET_MASK);
        return TIDE_EXEC_GOES_ON;
      }
  return tide_exec_fail(machine, thread, pc, "maps an address to CTA %lld of a cluster of %u",
                        (long long)rank, machine->cluster_size);
}

/* ---- registers ---- */

static uint32_t index_along(uint32_t index, const uint32_t size[3], uint32_t axis) {
  if (axis == 0) return index % size[0];
  return axis == 1 ? index / size[0] % size[1] : index / size[0] / size[1];
}

static int64_t special_register(struct tide_exec_machine *machine, uint32_t thread,
                                uint32_t which) {
  const struct tide_exec_cta *cta = cta_of(machine, thread);
  const struct tide_exec_shape *shape = &machine->shape;
  uint32_t tid = thread % machine->block_threads, axis = which % 3;
  switch (which) {
    case TIDE_REG_CLUSTER_RANK: return cta->rank;
    case TIDE_REG_CLUSTER_SIZE: return machine->cluster_size;
    case TIDE_REG_LANE: return tid % 32;
    case TIDE_REG_WARP: return tid / 32;
    case TIDE_REG_WARPS: return machine->block_warps;
    case TIDE_REG_WARP_SIZE: return 32;
    case TIDE_REG_SMID: return tide_exec_cta_of(machine, thread);
    case TIDE_REG_TIME: return (int64_t)machine->time;
    case TIDE_REG_ELECT: return -(int64_t)(tid % 32 == 0);
    default: break;
  }
  switch (which - axis) {
    case TIDE_REG_TID: return index_along(tid, shape->block, axis);
    case TIDE_REG_NTID: return shape->block[axis];
    case TIDE_REG_CTAID: return cta->block[axis];
    case TIDE_REG_NCTAID: return shape->grid[axis];
    case TIDE_REG_CLUSTERID: return cta->block[axis] / shape->cluster[axis];
    case TIDE_REG_NCLUSTERID: return shape->grid[axis] / shape->cluster[axis];
    case TIDE_REG_CLUSTER_CTAID: return cta->block[axis] % shape->cluster[axis];
    case TIDE_REG_CLUSTER_NCTAID: return shape->cluster[axis];
    default:
      return (int64_t)cta->block[axis] * shape->block[axis] + index_along(tid, shape->block, axis);
  }
}

/* ---- schedulers ---- */

static struct tide_exec_plan *find_plan(struct tide_exec_machine *machine, tide_ir_op op,
                                        const uint32_t sizes[4]) {
  for (uint32_t i = 0; i < machine->plan_count; i++)
    if (machine->plans[i].op == op && memcmp(machine->plans[i].sizes, sizes, 16) == 0)
      return &machine->plans[i];
  return NULL;
}

static enum tide_exec_next create_scheduler(struct tide_exec_machine *machine, uint32_t thread,
                                            uint32_t pc) {
  instruction *i = instruction_at(machine, pc);
  int64_t *f = tide_exec_frame(machine, thread);
  tide_ir_op op = machine->program->code.ops[pc];
  int64_t wanted[4] = {f[i->a], f[i->b], f[i->c], i->imm == INT32_MIN ? 0 : f[i->imm]};
  uint32_t sizes[4];
  const char *why = "";
  for (int n = 0; n < 4; n++) {
    if (wanted[n] < 0) return tide_exec_fail(machine, thread, pc, "can't schedule sizes below 0");
    if (wanted[n] > INT32_MAX)
      return tide_exec_fail(machine, thread, pc, "can't schedule sizes above %d", INT32_MAX);
    sizes[n] = (uint32_t)wanted[n];
  }
  struct tide_exec_plan *plan = find_plan(machine, op, sizes);
  if (!plan && machine->plan_count == TIDE_EXEC_PLANS_MAX)
    return tide_exec_fail(machine, thread, pc, "is used for more than %u problems",
                          TIDE_EXEC_PLANS_MAX);
  if (!plan) {
    plan = &machine->plans[machine->plan_count];
    struct tide_schedule_params params = {.kind = (enum tide_ir_scheduler)(i->w & 3),
                                          .m = sizes[0],
                                          .n = sizes[1],
                                          .l = sizes[2],
                                          .k = sizes[3],
                                          .along_m = i->w >> 2 & 1,
                                          .swizzle = i->w >> 3};
    memcpy(params.grid, machine->shape.grid, sizeof params.grid);
    memcpy(params.cluster, machine->shape.cluster, sizeof params.cluster);
    if (tide_schedule_init(&plan->schedule, &params, &why) != TIDE_OK)
      return tide_exec_fail(machine, thread, pc, "can't schedule %s", why);
    plan->op = op;
    memcpy(plan->sizes, sizes, sizeof sizes);
    machine->plan_count++;
  }
  f[i->d] = plan - machine->plans + 1;
  return TIDE_EXEC_GOES_ON;
}

/* Stores a work tile in its slots: the plan's number, then the work. */
static void keep_work(int64_t *slots, int64_t plan, const struct tide_tile_work *work) {
  slots[0] = plan;
  memcpy(slots + 1, work, sizeof *work);
}

static enum tide_exec_next work_first(struct tide_exec_machine *machine, uint32_t thread,
                                      uint32_t pc) {
  int64_t *f = tide_exec_frame(machine, thread), plan = f[instruction_at(machine, pc)->a];
  struct tide_tile_work work;
  if (plan < 1 || plan > machine->plan_count)
    return tide_exec_fail(machine, thread, pc, "has no scheduler");
  tide_schedule_first(&machine->plans[plan - 1].schedule, cta_of(machine, thread)->block, &work);
  keep_work(&f[instruction_at(machine, pc)->d], plan, &work);
  return TIDE_EXEC_GOES_ON;
}

static void finish_tile(struct tide_exec_machine *machine, uint32_t thread) {
  struct tide_exec_cta *cta = cta_of(machine, thread);
  cta->progress++;
  machine->tiles++;
  if (!machine->progress) return;
  enum tide_status status = machine->progress(machine->progress_self);
  if (status != TIDE_OK && machine->status == TIDE_OK) machine->status = status;
}

static enum tide_exec_next work_next(struct tide_exec_machine *machine, uint32_t thread,
                                     uint32_t pc) {
  instruction *i = instruction_at(machine, pc);
  int64_t *f = tide_exec_frame(machine, thread), plan = f[i->a];
  struct tide_tile_work work;
  if (plan < 1 || plan > machine->plan_count || f[i->b] != plan)
    return tide_exec_fail(machine, thread, pc, "has a work tile of another scheduler");
  memcpy(&work, &f[i->b + 1], sizeof work);
  bool was_valid = work.valid;
  tide_schedule_next(&machine->plans[plan - 1].schedule, &work);
  keep_work(&f[i->d], plan, &work);
  if (was_valid && i->w && machine->threads[thread].in_window &&
      thread % machine->block_threads == (uint32_t)machine->program->window_leader)
    finish_tile(machine, thread);
  return machine->status == TIDE_OK ? TIDE_EXEC_GOES_ON : TIDE_EXEC_STOPS;
}

static enum tide_exec_next work_get(struct tide_exec_machine *machine, uint32_t thread,
                                    uint32_t pc) {
  instruction *i = instruction_at(machine, pc);
  int64_t *f = tide_exec_frame(machine, thread);
  struct tide_tile_work work;
  if (f[i->a] < 1 || f[i->a] > machine->plan_count)
    return tide_exec_fail(machine, thread, pc, "has no work tile");
  memcpy(&work, &f[i->a + 1], sizeof work);
  const int64_t fields[] = {work.m,       work.n,      work.l,      work.k_begin,
                            work.k_count, -work.valid, -work.first, -work.last};
  f[i->d] = fields[i->w & 7];
  return TIDE_EXEC_GOES_ON;
}

/* ---- windows ---- */

/* The first thread of a CTA to open the next window resets the progress. Other threads may not have
 * closed the previous window yet, but all have reached its end. */
static void next_window(struct tide_exec_machine *machine, struct tide_exec_cta *cta) {
  cta->windows++;
  cta->progress = cta->told = 0;
  if (cta->query == TIDE_QUERY_ASKED) cta->query = TIDE_QUERY_LOST;
  machine->windows++;
}

static enum tide_exec_next window_open(struct tide_exec_machine *machine, uint32_t thread,
                                       uint32_t pc) {
  struct tide_exec_cta *cta = cta_of(machine, thread);
  uint64_t mask = (uint64_t)tide_exec_frame(machine, thread)[instruction_at(machine, pc)->a];
  uint32_t participants = machine->cluster_size / (instruction_at(machine, pc)->w ? 2 : 1);
  if (mask != ((uint64_t)1 << participants) - 1)
    return tide_exec_fail(machine, thread, pc,
                          "opens a window for the participants 0x%llx; all %u of the cluster "
                          "must take part",
                          (unsigned long long)mask, participants);
  if (machine->threads[thread].in_window)
    return tide_exec_fail(machine, thread, pc, "opens a window within a window");
  machine->threads[thread].in_window = true;
  cta->in_window++;
  if (machine->threads[thread].left == cta->windows) next_window(machine, cta);
  return TIDE_EXEC_GOES_ON;
}

/* Updates the number of main loops that all threads of a CTA have left, after the last thread has
 * left one. */
static void count_left(struct tide_exec_machine *machine, uint32_t cta_index) {
  struct tide_exec_cta *cta = &machine->ctas[cta_index];
  const struct tide_exec_thread *threads = machine->threads + cta_index * machine->block_threads;
  uint32_t least = TIDE_EXEC_FOR_GOOD;
  for (uint32_t i = 0; i < machine->block_threads; i++)
    if (threads[i].left && threads[i].left < least) least = threads[i].left;
  cta->left = least;
  cta->left_loop = 0;
  for (uint32_t i = 0; i < machine->block_threads; i++) cta->left_loop += threads[i].left > least;
  machine->clusters[cta->cluster].finished = true;
}

static enum tide_exec_next leave_loop(struct tide_exec_machine *machine, uint32_t thread,
                                      uint32_t pc, bool for_good) {
  struct tide_exec_cta *cta = cta_of(machine, thread);
  struct tide_exec_thread *who = &machine->threads[thread];
  if (who->left == TIDE_EXEC_FOR_GOOD) return TIDE_EXEC_GOES_ON;
  bool was_last = who->left == cta->left;
  who->left = for_good ? TIDE_EXEC_FOR_GOOD : who->left + 1;
  cta->left_at = machine->program->code.ops[pc];
  if (was_last && ++cta->left_loop == machine->program->loop_threads)
    count_left(machine, tide_exec_cta_of(machine, thread));
  return TIDE_EXEC_GOES_ON;
}

static enum tide_exec_next window_close(struct tide_exec_machine *machine, uint32_t thread,
                                        uint32_t pc) {
  struct tide_exec_cta *cta = cta_of(machine, thread);
  if (!machine->threads[thread].in_window)
    return tide_exec_fail(machine, thread, pc, "closes a window that isn't open");
  machine->threads[thread].in_window = false;
  if (--cta->in_window == 0 && cta->query == TIDE_QUERY_ASKED) cta->query = TIDE_QUERY_LOST;
  return leave_loop(machine, thread, pc, false);
}

static enum tide_exec_next answer_query(struct tide_exec_machine *machine, uint32_t thread) {
  struct tide_exec_cta *cta = cta_of(machine, thread);
  machine->throttles++;
  cta->told = cta->progress;
  if (cta->query == TIDE_QUERY_ASKED && cta->in_window) {
    cta->reply = cta->progress;
    cta->query = TIDE_QUERY_ANSWERED;
  }
  return TIDE_EXEC_GOES_ON;
}

/* Stores what a participant of the thread's cluster has told: its CTA, or the pair's even CTA. */
static enum tide_exec_next query_progress(struct tide_exec_machine *machine, uint32_t thread,
                                          uint32_t pc) {
  instruction *i = instruction_at(machine, pc);
  int64_t *f = tide_exec_frame(machine, thread);
  const struct tide_exec_cta *own = cta_of(machine, thread);
  uint32_t participant = (uint32_t)f[i->a], each = i->w ? 2 : 1;
  if (participant >= machine->cluster_size / each)
    return tide_exec_fail(machine, thread, pc, "asks for participant %lld, but the cluster has %u",
                          (long long)f[i->a], machine->cluster_size / each);
  if (!machine->threads[thread].in_window)
    return tide_exec_fail(machine, thread, pc, "asks for progress outside of a window");
  for (uint32_t at = 0; at < machine->cta_count; at++)
    if (machine->ctas[at].cluster == own->cluster && machine->ctas[at].rank == participant * each)
      f[i->d] = (int32_t)machine->ctas[at].told;
  return TIDE_EXEC_GOES_ON;
}

/* Checks the progress contract: no thread may begin another iteration of a main loop that another
 * CTA of the cluster has left. The loops are compared window by window. */
static enum tide_exec_next loop_turn(struct tide_exec_machine *machine, uint32_t thread,
                                     uint32_t pc) {
  struct tide_exec_cta *own = cta_of(machine, thread);
  const struct tide_exec_cluster *cluster = &machine->clusters[own->cluster];
  if (machine->cluster_size == 1 || !cluster->finished) return TIDE_EXEC_GOES_ON;
  for (uint32_t i = 0; i < machine->cta_count; i++) {
    const struct tide_exec_cta *cta = &machine->ctas[i];
    if (cta == own || cta->cluster != own->cluster || cta->left <= machine->threads[thread].left)
      continue;
    tide_exec_fail(machine, thread, pc,
                   "begins a turn of the main loop when CTA %u of its cluster has finished: late "
                   "re-entry breaks the cluster's progress contract",
                   i);
    tide_exec_note(machine, cta->left_at, "CTA %u left its main loop here", i);
    return TIDE_EXEC_STOPS;
  }
  return TIDE_EXEC_GOES_ON;
}

/* ---- all ---- */

enum tide_exec_next tide_exec_step_rare(struct tide_exec_machine *machine, uint32_t thread,
                                        uint32_t pc) {
  instruction *i = instruction_at(machine, pc);
  int64_t *f = tide_exec_frame(machine, thread);
  switch (i->code) {
    case TIDE_EXEC_REGISTER:
      f[i->d] = special_register(machine, thread, i->w);
      return TIDE_EXEC_GOES_ON;
    case TIDE_EXEC_ADDRESS:
      f[i->d] = (int64_t)tide_exec_pointer(TIDE_EXEC_SHARED, tide_exec_cta_of(machine, thread),
                                           (uint32_t)i->imm);
      return TIDE_EXEC_GOES_ON;
    case TIDE_EXEC_RANK_ADDRESS: return rank_address(machine, thread, pc);
    case TIDE_EXEC_ATOMIC:
    case TIDE_EXEC_EXCHANGE: return step_atomic(machine, thread, pc);
    case TIDE_EXEC_SCHEDULER: return create_scheduler(machine, thread, pc);
    case TIDE_EXEC_WORK_FIRST: return work_first(machine, thread, pc);
    case TIDE_EXEC_WORK_NEXT: return work_next(machine, thread, pc);
    case TIDE_EXEC_WORK_GET: return work_get(machine, thread, pc);
    case TIDE_EXEC_WINDOW_OPEN: return window_open(machine, thread, pc);
    case TIDE_EXEC_WINDOW_CLOSE: return window_close(machine, thread, pc);
    case TIDE_EXEC_THROTTLE: return answer_query(machine, thread);
    case TIDE_EXEC_QUERY: return query_progress(machine, thread, pc);
    case TIDE_EXEC_LOOP_TURN: return loop_turn(machine, thread, pc);
    case TIDE_EXEC_CLAIM: return tide_exec_check_claim(machine, thread, pc);
    case TIDE_EXEC_LOOP_LEAVE: return leave_loop(machine, thread, pc, true);
    default: return tide_exec_fail(machine, thread, pc, "was reached");
  }
}
