/* Execution: instructions that wait and wake. */
#include "mods/exec.h"
#include "base/alloc.h"

typedef const struct tide_exec_instruction instruction;

static instruction *instruction_at(const struct tide_exec_machine *machine, uint32_t pc) {
  return &machine->program->code.at[pc];
}

/* ---- threads ---- */

void tide_exec_make_ready(struct tide_exec_machine *machine, uint32_t thread) {
  uint32_t in_cta = thread % machine->block_threads;
  uint32_t index = tide_exec_cta_of(machine, thread) * machine->block_warps + in_cta / 32;
  struct tide_exec_warp *warp = &machine->warps[index];
  machine->threads[thread].state = TIDE_THREAD_READY;
  warp->runnable |= 1u << in_cta % 32;
  if (warp->ready_at) return;
  machine->ready[machine->ready_count++] = index;
  warp->ready_at = machine->ready_count;
}

static enum tide_exec_next wait_for(struct tide_exec_machine *machine, uint32_t thread,
                                    struct tide_exec_barrier *barrier) {
  struct tide_exec_thread *who = &machine->threads[thread];
  who->state = TIDE_THREAD_WAITS;
  who->next = barrier->waiters;
  barrier->waiters = thread + 1;
  return TIDE_EXEC_BLOCKS;
}

static void wake_all(struct tide_exec_machine *machine, struct tide_exec_barrier *barrier) {
  uint32_t next = barrier->waiters;
  barrier->waiters = 0;
  while (next) {
    uint32_t thread = next - 1;
    next = machine->threads[thread].next;
    tide_exec_make_ready(machine, thread);
  }
}

/* ---- sleep: a heap by time ---- */

static void heap_down(struct tide_exec_machine *machine, uint32_t index) {
  uint32_t *heap = machine->parked_list;
  for (;;) {
    uint32_t least = index, left = 2 * index + 1;
    for (uint32_t child = left; child < left + 2 && child < machine->parked_count; child++)
      if (machine->threads[heap[child]].wake < machine->threads[heap[least]].wake) least = child;
    if (least == index) return;
    uint32_t other = heap[least];
    heap[least] = heap[index];
    heap[index] = other;
    index = least;
  }
}

static enum tide_exec_next sleep_for(struct tide_exec_machine *machine, uint32_t thread,
                                     int64_t time) {
  uint32_t *heap = machine->parked_list, index = machine->parked_count;
  if (time <= 0) return TIDE_EXEC_GOES_ON;
  if (time > 1000000) time = 1000000; /* nanosleep's limit: a millisecond */
  struct tide_exec_thread *who = &machine->threads[thread];
  who->wake = machine->time + (uint64_t)time;
  who->state = TIDE_THREAD_SLEEPS;
  for (machine->parked_count++; index; index = (index - 1) / 2) {
    uint32_t parent = heap[(index - 1) / 2];
    if (machine->threads[parent].wake <= who->wake) break;
    heap[index] = parent;
  }
  heap[index] = thread;
  return TIDE_EXEC_BLOCKS;
}

void tide_exec_wake_sleepers(struct tide_exec_machine *machine) {
  /* Without a runnable thread, time advances to the next wake. */
  uint64_t first = machine->threads[machine->parked_list[0]].wake;
  if (!machine->ready_count && machine->time < first) machine->time = first;
  while (machine->parked_count && machine->threads[machine->parked_list[0]].wake <= machine->time) {
    uint32_t thread = machine->parked_list[0];
    machine->parked_list[0] = machine->parked_list[--machine->parked_count];
    heap_down(machine, 0);
    tide_exec_make_ready(machine, thread);
  }
}

/* ---- mbarriers ---- */

static void init_barrier(struct tide_exec_barrier *barrier, uint32_t expected) {
  barrier->expected = barrier->pending = expected;
  barrier->phase = 0;
  barrier->bytes = 0;
  barrier->live = true;
}

static void settle_barrier(struct tide_exec_machine *machine, struct tide_exec_barrier *barrier) {
  if (barrier->pending || barrier->bytes) return;
  barrier->phase++;
  barrier->pending = barrier->expected;
  wake_all(machine, barrier);
}

/* Counts an arrival. False: the phase has all its arrivals, and waits for bytes only. */
static bool count_arrival(struct tide_exec_machine *machine, struct tide_exec_barrier *barrier) {
  if (!barrier->pending) return false;
  barrier->pending--;
  settle_barrier(machine, barrier);
  return true;
}

static bool is_phase_over(const struct tide_exec_barrier *barrier, uint32_t parity) {
  return (barrier->phase & 1) != (parity & 1);
}

static enum tide_exec_next wait_parity(struct tide_exec_machine *machine, uint32_t thread,
                                       struct tide_exec_barrier *barrier, uint32_t parity) {
  return is_phase_over(barrier, parity) ? TIDE_EXEC_GOES_ON : wait_for(machine, thread, barrier);
}

/* ---- pipelines ---- */

struct stage {
  const struct tide_exec_pipeline *pipeline;
  struct tide_exec_barrier *full, *empty;
  uint32_t index, phase;
};

/* Finds the stage that an instruction's pipeline (a) and state (b) select. False: an error was
 * reported. */
static bool stage_of(struct tide_exec_machine *machine, uint32_t thread, uint32_t pc,
                     struct stage *stage) {
  const int64_t *f = tide_exec_frame(machine, thread);
  uint64_t handle = (uint64_t)f[instruction_at(machine, pc)->a] - 1;
  if (handle >= machine->program->pipeline_count) {
    tide_exec_fail(machine, thread, pc, "uses a pipeline before its init");
    return false;
  }
  stage->pipeline = &machine->program->pipelines[handle];
  stage->index = (uint32_t)f[instruction_at(machine, pc)->b];
  stage->phase = (uint32_t)((uint64_t)f[instruction_at(machine, pc)->b] >> 32) & 1;
  if (stage->index >= stage->pipeline->stages) {
    tide_exec_fail(machine, thread, pc, "has stage %u of a pipeline of %u", stage->index,
                   stage->pipeline->stages);
    return false;
  }
  stage->full = tide_exec_barriers_of(machine, tide_exec_cta_of(machine, thread)) +
                stage->pipeline->barriers + stage->index;
  stage->empty = stage->full + stage->pipeline->stages;
  if (stage->full->live) return true;
  tide_exec_fail(machine, thread, pc, "uses a pipeline whose barriers aren't initialised");
  return false;
}

static enum tide_exec_next pipeline_init(struct tide_exec_machine *machine, uint32_t thread,
                                         uint32_t pc) {
  uint32_t index = (uint32_t)instruction_at(machine, pc)->imm;
  const struct tide_exec_pipeline *pipeline = &machine->program->pipelines[index];
  tide_exec_frame(machine, thread)[instruction_at(machine, pc)->d] = index + 1;
  if (thread % machine->block_threads) return TIDE_EXEC_GOES_ON;
  struct tide_exec_barrier *barriers =
      tide_exec_barriers_of(machine, tide_exec_cta_of(machine, thread)) + pipeline->barriers;
  if (barriers->live)
    return tide_exec_fail(machine, thread, pc, "initialises a pipeline that is in use");
  for (uint32_t i = 0; i < pipeline->stages; i++) {
    init_barrier(&barriers[i], pipeline->producers);
    init_barrier(&barriers[pipeline->stages + i], pipeline->consumers);
  }
  return TIDE_EXEC_GOES_ON;
}

static bool is_leader(const struct tide_exec_machine *machine, uint32_t thread, uint32_t pc) {
  return thread % machine->block_threads == (uint32_t)instruction_at(machine, pc)->c;
}

/* TMA: the leader arrives and announces the bytes to come. */
static enum tide_exec_next expect_bytes(struct tide_exec_machine *machine, uint32_t thread,
                                        uint32_t pc) {
  struct stage stage;
  if (!stage_of(machine, thread, pc, &stage)) return TIDE_EXEC_STOPS;
  if (!stage.pipeline->tx_bytes || !is_leader(machine, thread, pc)) return TIDE_EXEC_GOES_ON;
  int32_t bytes = instruction_at(machine, pc)->imm;
  stage.full->bytes += bytes < 0 ? (int64_t)stage.pipeline->tx_bytes : bytes;
  if (!count_arrival(machine, stage.full))
    return tide_exec_fail(machine, thread, pc, "arrives at stage %u, which has all its arrivals",
                          stage.index);
  return TIDE_EXEC_GOES_ON;
}

static enum tide_exec_next commit_stage(struct tide_exec_machine *machine, uint32_t thread,
                                        uint32_t pc) {
  struct stage stage;
  if (!stage_of(machine, thread, pc, &stage)) return TIDE_EXEC_STOPS;
  if (!is_phase_over(stage.empty, stage.phase))
    return tide_exec_fail(machine, thread, pc,
                          "commits stage %u in phase %u, which was not acquired", stage.index,
                          stage.phase);
  if (stage.pipeline->tx_bytes) {
    if (!is_leader(machine, thread, pc)) return TIDE_EXEC_GOES_ON;
    stage.full->bytes = 0; /* the copy is complete: its bytes have come */
    settle_barrier(machine, stage.full);
    return TIDE_EXEC_GOES_ON;
  }
  if (is_phase_over(stage.full, stage.phase ^ 1))
    return tide_exec_fail(machine, thread, pc,
                          "commits stage %u in phase %u, which has all its arrivals: the pipeline "
                          "has %u producers",
                          stage.index, stage.phase, stage.pipeline->producers);
  count_arrival(machine, stage.full);
  return TIDE_EXEC_GOES_ON;
}

static enum tide_exec_next release_stage(struct tide_exec_machine *machine, uint32_t thread,
                                         uint32_t pc) {
  struct stage stage;
  if (!stage_of(machine, thread, pc, &stage)) return TIDE_EXEC_STOPS;
  if (!is_phase_over(stage.full, stage.phase))
    return tide_exec_fail(machine, thread, pc, "releases stage %u in phase %u, which is not full",
                          stage.index, stage.phase);
  if (is_phase_over(stage.empty, stage.phase))
    return tide_exec_fail(machine, thread, pc,
                          "releases stage %u in phase %u, which has all its arrivals: the pipeline "
                          "has %u consumers",
                          stage.index, stage.phase, stage.pipeline->consumers);
  count_arrival(machine, stage.empty);
  return TIDE_EXEC_GOES_ON;
}

/* ---- ordered sequences ---- */

static struct tide_exec_barrier *sequence_at(struct tide_exec_machine *machine, uint32_t thread,
                                             uint32_t pc, uint32_t group) {
  const int64_t *f = tide_exec_frame(machine, thread);
  uint64_t handle = (uint64_t)f[instruction_at(machine, pc)->a] - 1;
  uint32_t stage = (uint32_t)f[instruction_at(machine, pc)->b];
  if (handle >= machine->program->sequence_count) {
    tide_exec_fail(machine, thread, pc, "uses a sequence barrier before its init");
    return NULL;
  }
  const struct tide_exec_sequence *sequence = &machine->program->sequences[handle];
  struct tide_exec_barrier *barrier =
      tide_exec_barriers_of(machine, tide_exec_cta_of(machine, thread)) + sequence->barriers +
      stage * sequence->length + group % sequence->length;
  if (stage < sequence->depth && barrier->live) return barrier;
  tide_exec_fail(machine, thread, pc, "uses stage %u of a sequence barrier of %u", stage,
                 sequence->depth);
  return NULL;
}

static enum tide_exec_next sequence_init(struct tide_exec_machine *machine, uint32_t thread,
                                         uint32_t pc) {
  uint32_t index = (uint32_t)instruction_at(machine, pc)->imm;
  const struct tide_exec_sequence *sequence = &machine->program->sequences[index];
  tide_exec_frame(machine, thread)[instruction_at(machine, pc)->d] = index + 1;
  if (thread % machine->block_threads) return TIDE_EXEC_GOES_ON;
  struct tide_exec_barrier *barriers =
      tide_exec_barriers_of(machine, tide_exec_cta_of(machine, thread)) + sequence->barriers;
  if (barriers->live)
    return tide_exec_fail(machine, thread, pc, "initialises a sequence barrier that is in use");
  for (uint32_t i = 0; i < sequence->depth * sequence->length; i++)
    init_barrier(&barriers[i], sequence->group_size);
  return TIDE_EXEC_GOES_ON;
}

/* ---- named barriers ---- */

static enum tide_exec_next step_named_barrier(struct tide_exec_machine *machine, uint32_t thread,
                                              uint32_t pc, bool waits) {
  const int64_t *f = tide_exec_frame(machine, thread);
  int64_t id = f[instruction_at(machine, pc)->a], count = f[instruction_at(machine, pc)->b];
  if (id < 0 || id >= TIDE_EXEC_NAMED)
    return tide_exec_fail(machine, thread, pc, "uses named barrier %lld; there are %u",
                          (long long)id, TIDE_EXEC_NAMED);
  if (!count) count = machine->block_threads;
  else if (count < 0 || count % 32 || count > machine->block_warps * 32)
    return tide_exec_fail(machine, thread, pc,
                          "uses a named barrier for %lld threads: not a multiple of 32 up to %u",
                          (long long)count, machine->block_warps * 32);
  struct tide_exec_barrier *barrier =
      tide_exec_barriers_of(machine, tide_exec_cta_of(machine, thread)) + id;
  if (!barrier->live) {
    barrier->live = true;
    barrier->expected = barrier->pending = (uint32_t)count;
  }
  if (barrier->expected != (uint32_t)count)
    return tide_exec_fail(machine, thread, pc,
                          "uses named barrier %lld for %lld threads; others use it for %u",
                          (long long)id, (long long)count, barrier->expected);
  if (--barrier->pending) return waits ? wait_for(machine, thread, barrier) : TIDE_EXEC_GOES_ON;
  barrier->live = false;
  wake_all(machine, barrier);
  return TIDE_EXEC_GOES_ON;
}

/* ---- the cluster barrier ---- */

static struct tide_exec_cluster *cluster_of(struct tide_exec_machine *machine, uint32_t thread) {
  return &machine->clusters[machine->ctas[tide_exec_cta_of(machine, thread)].cluster];
}

static void settle_cluster(struct tide_exec_machine *machine, struct tide_exec_cluster *cluster) {
  if (!cluster->arrived || cluster->arrived < cluster->live_threads) return;
  cluster->barrier.phase++;
  cluster->arrived = 0;
  wake_all(machine, &cluster->barrier);
}

static enum tide_exec_next cluster_arrive(struct tide_exec_machine *machine, uint32_t thread,
                                          uint32_t pc) {
  struct tide_exec_cluster *cluster = cluster_of(machine, thread);
  struct tide_exec_thread *who = &machine->threads[thread];
  if (who->arrived)
    return tide_exec_fail(machine, thread, pc,
                          "arrives at the cluster barrier twice without a wait between");
  who->arrived = true;
  who->cluster_phase = cluster->barrier.phase;
  cluster->arrived++;
  settle_cluster(machine, cluster);
  return TIDE_EXEC_GOES_ON;
}

static enum tide_exec_next cluster_wait(struct tide_exec_machine *machine, uint32_t thread,
                                        uint32_t pc) {
  struct tide_exec_cluster *cluster = cluster_of(machine, thread);
  struct tide_exec_thread *who = &machine->threads[thread];
  if (!who->arrived)
    return tide_exec_fail(machine, thread, pc,
                          "waits for the cluster barrier without having arrived");
  who->arrived = false;
  if (who->cluster_phase != cluster->barrier.phase) return TIDE_EXEC_GOES_ON;
  return wait_for(machine, thread, &cluster->barrier);
}

void tide_exec_exit(struct tide_exec_machine *machine, uint32_t thread) {
  struct tide_exec_cluster *cluster = cluster_of(machine, thread);
  struct tide_exec_thread *who = &machine->threads[thread];
  struct tide_exec_cta *cta = &machine->ctas[tide_exec_cta_of(machine, thread)];
  who->state = TIDE_THREAD_EXITED;
  machine->live_threads--;
  cta->live_threads--;
  cluster->live_threads--;
  /* Threads that have exited no longer count, whether they arrived or not. */
  if (who->arrived && who->cluster_phase == cluster->barrier.phase) cluster->arrived--;
  settle_cluster(machine, cluster);
}

/* ---- mbarriers in shared memory, of kernels that keep them themselves ---- */

/* Returns the barrier at a pointer; `make`: a new one where none exists. NULL: an error was
 * reported. */
static struct tide_exec_barrier *user_barrier(struct tide_exec_machine *machine, uint32_t thread,
                                              uint32_t pc, bool make) {
  uint64_t pointer = (uint64_t)tide_exec_frame(machine, thread)[instruction_at(machine, pc)->a];
  if (!tide_exec_access(machine, thread, pc, pointer, 8)) return NULL;
  uint32_t cta = (uint32_t)((pointer - TIDE_EXEC_SHARED) >> TIDE_EXEC_OFFSET_BITS);
  uint32_t offset = (uint32_t)(pointer & TIDE_EXEC_OFFSET_MASK) + 1;
  if (pointer >> 60 != TIDE_EXEC_SHARED >> 60) {
    tide_exec_fail(machine, thread, pc, "has an mbarrier outside of shared memory");
    return NULL;
  }
  struct tide_exec_barrier *barriers =
      tide_exec_barriers_of(machine, cta) + TIDE_EXEC_NAMED + machine->program->barrier_count;
  struct tide_exec_barrier *unused = NULL;
  for (uint32_t i = 0; i < machine->program->user_barriers; i++) {
    if (barriers[i].live && barriers[i].offset == offset) return &barriers[i];
    if (!barriers[i].live && !unused) unused = &barriers[i];
  }
  if (make && unused) {
    unused->offset = offset;
    return unused;
  }
  tide_exec_fail(machine, thread, pc,
                 make ? "makes more mbarriers than can be executed"
                      : "uses an mbarrier that isn't initialised");
  return NULL;
}

static enum tide_exec_next user_init(struct tide_exec_machine *machine, uint32_t thread,
                                     uint32_t pc) {
  struct tide_exec_barrier *barrier = user_barrier(machine, thread, pc, true);
  int64_t count = tide_exec_frame(machine, thread)[instruction_at(machine, pc)->b];
  if (!barrier) return TIDE_EXEC_STOPS;
  if (barrier->live)
    return tide_exec_fail(machine, thread, pc,
                          "initialises an mbarrier that is one already: inval comes first");
  if (count < 1 || count >= 1 << 20)
    return tide_exec_fail(machine, thread, pc, "initialises an mbarrier for %lld arrivals",
                          (long long)count);
  init_barrier(barrier, (uint32_t)count);
  return TIDE_EXEC_GOES_ON;
}

static enum tide_exec_next user_step(struct tide_exec_machine *machine, uint32_t thread,
                                     uint32_t pc) {
  instruction *i = instruction_at(machine, pc);
  int64_t *f = tide_exec_frame(machine, thread);
  struct tide_exec_barrier *barrier = user_barrier(machine, thread, pc, false);
  if (!barrier) return TIDE_EXEC_STOPS;
  if (i->code == TIDE_EXEC_MBARRIER_INVAL) {
    if (barrier->waiters)
      return tide_exec_fail(machine, thread, pc, "ends an mbarrier that threads wait for");
    barrier->live = false;
  } else if (i->code == TIDE_EXEC_MBARRIER_TEST) {
    f[i->d] = -(int64_t)(barrier->phase != (uint32_t)f[i->b]);
  } else if (i->code == TIDE_EXEC_MBARRIER_WAIT) {
    return wait_parity(machine, thread, barrier, (uint32_t)f[i->b]);
  } else {
    int64_t count = i->w == 2 ? f[i->b] : 1;
    f[i->d] = barrier->phase;
    if (i->w == 1) barrier->bytes += f[i->b];
    if (count < 1 || count > barrier->pending)
      return tide_exec_fail(machine, thread, pc, "arrives %lld times; %u arrivals are missing",
                            (long long)count, barrier->pending);
    if (i->w == 2 && count == barrier->pending)
      return tide_exec_fail(machine, thread, pc,
                            "completes the phase, which an arrival without completion must not");
    barrier->pending -= (uint32_t)count;
    settle_barrier(machine, barrier);
  }
  return TIDE_EXEC_GOES_ON;
}

/* ---- all ---- */

static enum tide_exec_next step_pipeline(struct tide_exec_machine *machine, uint32_t thread,
                                         uint32_t pc) {
  struct stage stage;
  if (!stage_of(machine, thread, pc, &stage)) return TIDE_EXEC_STOPS;
  return wait_parity(machine, thread,
                     instruction_at(machine, pc)->code == TIDE_EXEC_ACQUIRE ? stage.empty
                                                                            : stage.full,
                     stage.phase);
}

static enum tide_exec_next step_sequence(struct tide_exec_machine *machine, uint32_t thread,
                                         uint32_t pc) {
  bool arrives = instruction_at(machine, pc)->code == TIDE_EXEC_SEQ_ARRIVE;
  uint32_t group = (uint32_t)instruction_at(machine, pc)->imm + arrives;
  struct tide_exec_barrier *barrier = sequence_at(machine, thread, pc, group);
  uint64_t state = (uint64_t)tide_exec_frame(machine, thread)[instruction_at(machine, pc)->b];
  if (!barrier) return TIDE_EXEC_STOPS;
  uint32_t parity = (uint32_t)(state >> 32) & 1;
  if (!arrives) return wait_parity(machine, thread, barrier, parity);
  /* Group 0 waits one phase ahead of the others. Its arrivals, at group 1's barrier, belong to the
   * phase before. */
  if (is_phase_over(barrier, parity ^ (group == 1)))
    return tide_exec_fail(machine, thread, pc,
                          "arrives at the next group's barrier, which has all its arrivals");
  count_arrival(machine, barrier);
  return TIDE_EXEC_GOES_ON;
}

enum tide_exec_next tide_exec_step_wait(struct tide_exec_machine *machine, uint32_t thread,
                                        uint32_t pc) {
  switch (instruction_at(machine, pc)->code) {
    case TIDE_EXEC_ACQUIRE:
    case TIDE_EXEC_CONSUMER_WAIT: return step_pipeline(machine, thread, pc);
    case TIDE_EXEC_EXPECT: return expect_bytes(machine, thread, pc);
    case TIDE_EXEC_COMMIT: return commit_stage(machine, thread, pc);
    case TIDE_EXEC_RELEASE: return release_stage(machine, thread, pc);
    case TIDE_EXEC_PIPELINE_INIT: return pipeline_init(machine, thread, pc);
    case TIDE_EXEC_SEQ_INIT: return sequence_init(machine, thread, pc);
    case TIDE_EXEC_SEQ_WAIT:
    case TIDE_EXEC_SEQ_ARRIVE: return step_sequence(machine, thread, pc);
    case TIDE_EXEC_BARRIER: return step_named_barrier(machine, thread, pc, true);
    case TIDE_EXEC_BARRIER_ARRIVE: return step_named_barrier(machine, thread, pc, false);
    case TIDE_EXEC_CLUSTER_ARRIVE: return cluster_arrive(machine, thread, pc);
    case TIDE_EXEC_CLUSTER_WAIT: return cluster_wait(machine, thread, pc);
    case TIDE_EXEC_SLEEP:
      return sleep_for(machine, thread,
                       tide_exec_frame(machine, thread)[instruction_at(machine, pc)->a]);
    case TIDE_EXEC_EXIT: tide_exec_exit(machine, thread); return TIDE_EXEC_STOPS;
    case TIDE_EXEC_MBARRIER_INIT: return user_init(machine, thread, pc);
    case TIDE_EXEC_MBARRIER_INVAL:
    case TIDE_EXEC_MBARRIER_ARRIVE:
    case TIDE_EXEC_MBARRIER_TEST:
    case TIDE_EXEC_MBARRIER_WAIT: return user_step(machine, thread, pc);
    default: return tide_exec_step_rare(machine, thread, pc);
  }
}
