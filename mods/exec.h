/* mods/exec.h: running a kernel on the CPU.
 *
 * The model. A function is translated once into a *code*: instructions of 16 bytes over a frame of
 * 64-bit slots, one slot a value (a work tile has several). Constants lie below the frame's start:
 * slot -1, -2 …. Each *thread* of the launch has only a frame and a position in the code. There is
 * no stack to switch, since regions and calls are flattened into jumps. So the layer needs no
 * fibers and no OS, and the schedule depends on the seed alone.
 *
 * The scheduler draws a *warp*. In its time slice each runnable thread of the warp runs, in lane
 * order, for a drawn number of instructions or until it waits. Threads of a warp are not in
 * lockstep: a program that is right here is right with independent thread scheduling.
 *
 * Integers are kept sign-extended to 64 bits at any width (true is -1), floats narrower
 * than f32 as f32. A pointer is 4 bits of kind, 20 of object, 40 of offset, so that every access
 * can be checked.
 *
 * Barriers of all kinds are elements of one array, each with a list of its waiters.
 *
 * Source: "PTX ISA", on mbarrier, barrier and barrier.cluster. */
#ifndef TIDE_MODS_EXEC_H
#define TIDE_MODS_EXEC_H

#include "mods/ir.h"
#include "mods/schedule.h"
#include "base/random.h"

/* ---- code ------------------------------------------------------------------------------ */

/* The fields are explained with the execution, in exec_run.c, exec_wait.c and exec_rare.c. */
enum tide_exec_code {
  TIDE_EXEC_MOVE,
  TIDE_EXEC_MOVE_MANY,
  TIDE_EXEC_ADD,
  TIDE_EXEC_SUB,
  TIDE_EXEC_MUL,
  TIDE_EXEC_SHL,
  TIDE_EXEC_DIV_S,
  TIDE_EXEC_DIV_U,
  TIDE_EXEC_REM_S,
  TIDE_EXEC_REM_U,
  TIDE_EXEC_CEIL_DIV_S,
  TIDE_EXEC_CEIL_DIV_U,
  TIDE_EXEC_FLOOR_DIV_S,
  TIDE_EXEC_AND,
  TIDE_EXEC_OR,
  TIDE_EXEC_XOR,
  TIDE_EXEC_SHR_S,
  TIDE_EXEC_SHR_U,
  TIDE_EXEC_MAX_S,
  TIDE_EXEC_MAX_U,
  TIDE_EXEC_MIN_S,
  TIDE_EXEC_MIN_U,
  TIDE_EXEC_EQ,
  TIDE_EXEC_NE,
  TIDE_EXEC_LT_S,
  TIDE_EXEC_LE_S,
  TIDE_EXEC_GT_S,
  TIDE_EXEC_GE_S,
  TIDE_EXEC_LT_U,
  TIDE_EXEC_LE_U,
  TIDE_EXEC_GT_U,
  TIDE_EXEC_GE_U,
  TIDE_EXEC_SELECT,
  TIDE_EXEC_NARROW,
  TIDE_EXEC_WIDEN_U,
  TIDE_EXEC_ADD_F32,
  TIDE_EXEC_SUB_F32,
  TIDE_EXEC_MUL_F32,
  TIDE_EXEC_DIV_F32,
  TIDE_EXEC_REM_F32,
  TIDE_EXEC_MAX_F32,
  TIDE_EXEC_MIN_F32,
  TIDE_EXEC_MAXNUM_F32,
  TIDE_EXEC_MINNUM_F32,
  TIDE_EXEC_NEG_F32,
  TIDE_EXEC_FMA_F32,
  TIDE_EXEC_COMPARE_F32,
  TIDE_EXEC_ADD_F64,
  TIDE_EXEC_SUB_F64,
  TIDE_EXEC_MUL_F64,
  TIDE_EXEC_DIV_F64,
  TIDE_EXEC_REM_F64,
  TIDE_EXEC_MAX_F64,
  TIDE_EXEC_MIN_F64,
  TIDE_EXEC_MAXNUM_F64,
  TIDE_EXEC_MINNUM_F64,
  TIDE_EXEC_NEG_F64,
  TIDE_EXEC_FMA_F64,
  TIDE_EXEC_COMPARE_F64,
  TIDE_EXEC_ROUND,
  TIDE_EXEC_F32_TO_F64,
  TIDE_EXEC_F64_TO_F32,
  TIDE_EXEC_S_TO_F32,
  TIDE_EXEC_S_TO_F64,
  TIDE_EXEC_U_TO_F32,
  TIDE_EXEC_U_TO_F64,
  TIDE_EXEC_F_TO_S,
  TIDE_EXEC_F_TO_U,
  TIDE_EXEC_BITS_FROM,
  TIDE_EXEC_BITS_TO,
  TIDE_EXEC_GEP,
  TIDE_EXEC_GEP_FIXED,
  TIDE_EXEC_LOAD,
  TIDE_EXEC_STORE,
  TIDE_EXEC_ATOMIC,
  TIDE_EXEC_EXCHANGE,
  TIDE_EXEC_JUMP,
  TIDE_EXEC_JUMP_ZERO,
  TIDE_EXEC_JUMP_NOT_WARP,
  TIDE_EXEC_FOR,
  TIDE_EXEC_FOR_NEXT,
  TIDE_EXEC_REGISTER,
  TIDE_EXEC_ADDRESS,
  TIDE_EXEC_RANK_ADDRESS,
  TIDE_EXEC_EXIT,
  TIDE_EXEC_TRAP,
  TIDE_EXEC_SLEEP,
  TIDE_EXEC_BARRIER,
  TIDE_EXEC_BARRIER_ARRIVE,
  TIDE_EXEC_CLUSTER_ARRIVE,
  TIDE_EXEC_CLUSTER_WAIT,
  TIDE_EXEC_PIPELINE_INIT,
  TIDE_EXEC_SEQ_INIT,
  TIDE_EXEC_STATE_NEXT,
  TIDE_EXEC_STATE_INDEX,
  TIDE_EXEC_STATE_PHASE,
  TIDE_EXEC_ACQUIRE,
  TIDE_EXEC_EXPECT,
  TIDE_EXEC_COMMIT,
  TIDE_EXEC_CONSUMER_WAIT,
  TIDE_EXEC_RELEASE,
  TIDE_EXEC_SEQ_WAIT,
  TIDE_EXEC_SEQ_ARRIVE,
  TIDE_EXEC_SCHEDULER,
  TIDE_EXEC_WORK_FIRST,
  TIDE_EXEC_WORK_NEXT,
  TIDE_EXEC_WORK_GET,
  TIDE_EXEC_WINDOW_OPEN,
  TIDE_EXEC_WINDOW_CLOSE,
  TIDE_EXEC_THROTTLE,
  TIDE_EXEC_QUERY, /* d: what participant a has told; w: participants are pairs */
  TIDE_EXEC_LOOP_TURN,
  TIDE_EXEC_LOOP_LEAVE,
  TIDE_EXEC_CLAIM,
  TIDE_EXEC_MBARRIER_INIT,
  TIDE_EXEC_MBARRIER_INVAL,
  TIDE_EXEC_MBARRIER_ARRIVE,
  TIDE_EXEC_MBARRIER_TEST,
  TIDE_EXEC_MBARRIER_WAIT,
  TIDE_EXEC_CODE_COUNT
};

struct tide_exec_instruction {
  uint16_t code;
  int16_t d, a, b, c; /* slots */
  uint16_t w;         /* width or options */
  int32_t imm;        /* jump target, offset, … */
};

/* The representation of a value in memory. */
enum tide_exec_cell {
  TIDE_CELL_I8,
  TIDE_CELL_I16,
  TIDE_CELL_I32,
  TIDE_CELL_I64,
  TIDE_CELL_F16,
  TIDE_CELL_BF16,
  TIDE_CELL_F32,
  TIDE_CELL_F64,
  TIDE_CELL_I1 /* a byte, 0 or 1 */
};

enum tide_exec_register {
  TIDE_REG_TID, /* x; y and z follow, as for the others below */
  TIDE_REG_NTID = 3,
  TIDE_REG_CTAID = 6,
  TIDE_REG_NCTAID = 9,
  TIDE_REG_CLUSTERID = 12,
  TIDE_REG_NCLUSTERID = 15,
  TIDE_REG_CLUSTER_CTAID = 18,
  TIDE_REG_CLUSTER_NCTAID = 21,
  TIDE_REG_GLOBAL_ID = 24,
  TIDE_REG_CLUSTER_RANK = 27,
  TIDE_REG_CLUSTER_SIZE,
  TIDE_REG_LANE,
  TIDE_REG_WARP,
  TIDE_REG_WARPS,
  TIDE_REG_WARP_SIZE,
  TIDE_REG_SMID,
  TIDE_REG_TIME,
  TIDE_REG_ELECT
};

struct tide_exec_pipeline {
  uint32_t stages, producers, consumers, tx_bytes;
  uint32_t barriers; /* the first of 2 · stages, among a CTA's: full ones, then empty ones */
};
struct tide_exec_sequence {
  uint32_t depth, length, group_size;
  uint32_t barriers; /* depth · length */
};
/* A tile scheduler of a launch, identified by operation and operands. */
struct tide_exec_plan {
  tide_ir_op op;
  uint32_t sizes[4]; /* m, n, l, k */
  struct tide_schedule schedule;
};
#define TIDE_EXEC_PLANS_MAX 64
#define TIDE_EXEC_WORK_SLOTS                                                                       \
  ((int)(sizeof(struct tide_tile_work) / 8 + 1)) /* the plan, then the work */

#define TIDE_EXEC_SLOTS_MAX 32000
#define TIDE_EXEC_CODE_MAX (1u << 20)
#define TIDE_EXEC_PIPELINES_MAX 64
#define TIDE_EXEC_BARRIERS_MAX 2048 /* per CTA */
#define TIDE_EXEC_NAMED 16
#define TIDE_EXEC_USER_BARRIERS 64 /* mbarriers that a kernel keeps in shared memory itself */
#define TIDE_EXEC_SHARED_MAX (227u * 1024) /* per CTA; an SM has one KiB more */
#define TIDE_EXEC_CLAIMS_MAX 256           /* marks of cutlass.cluster_uniform in a kernel */
#define TIDE_EXEC_DECISIONS 64             /* remembered decisions of each mark */

/* The launch's shape, which the translation depends on. */
struct tide_exec_shape {
  uint32_t grid[3], block[3], cluster[3];
};

struct tide_exec_code_buffer {
  struct tide_exec_instruction *at;
  tide_ir_op *ops; /* each instruction's source operation, parallel to `at` */
  uint32_t count, capacity;
};

/* A translated function. */
struct tide_exec_program {
  const struct tide_allocator *allocator;
  struct tide_ir *ir;
  struct tide_exec_code_buffer code;
  int64_t *constants; /* slot -1 - i */
  uint32_t constant_count, constant_capacity;
  uint32_t slot_count;
  tide_ir_op function;
  uint32_t argument_count;
  struct tide_exec_pipeline pipelines[TIDE_EXEC_PIPELINES_MAX];
  struct tide_exec_sequence sequences[TIDE_EXEC_PIPELINES_MAX];
  uint32_t pipeline_count, sequence_count;
  uint32_t barrier_count; /* a CTA's mbarriers for pipelines and sequences */
  uint32_t user_barriers; /* 0, or TIDE_EXEC_USER_BARRIERS */
  uint32_t claim_count;   /* marks of cutlass.cluster_uniform */
  uint32_t shared_size;
  uint32_t loop_threads; /* threads of a CTA that run a main loop or a window */
  bool contract;         /* the function has MODS operations: the loop's progress is checked */
  int32_t window_leader; /* the thread that counts a CTA's progress; -1: no window */
};

/* Translates a function. TIDE_UNSUPPORTED and TIDE_CORRUPT are reported to the ir's sink.
 * TIDE_NOMEM, TIDE_FULL. */
enum tide_status tide_exec_translate(struct tide_exec_program *program, struct tide_ir *ir,
                                     tide_ir_op function, const struct tide_exec_shape *shape,
                                     const struct tide_allocator *allocator);
void tide_exec_program_fini(struct tide_exec_program *program);

/* Returns the number of elements of a dense array; 0: not a dense array. */
static inline uint32_t tide_exec_dense(const struct tide_ir *ir, tide_ir_attr attr) {
  return attr && tide_ir_attr_of(ir, attr)->kind == TIDE_IR_ATTR_DENSE
             ? tide_ir_attr_of(ir, attr)->count / 2
             : 0;
}

/* Returns the number of slots of a type; 0: the type cannot be executed. */
int tide_exec_slots(const struct tide_ir *ir, tide_ir_type type);
/* Finds a type's cell in memory. False: none. */
bool tide_exec_cell_of(const struct tide_ir *ir, tide_ir_type type, enum tide_exec_cell *out_cell);
/* Returns a type's bytes in memory, as LLVM lays it out for nvptx64; 0: unknown. */
uint64_t tide_exec_size_of(const struct tide_ir *ir, tide_ir_type type, uint64_t *out_align);

/* ---- the machine ------------------------------------------------------------------------ */

#define TIDE_EXEC_OFFSET_BITS 40
#define TIDE_EXEC_OFFSET_MASK (((uint64_t)1 << TIDE_EXEC_OFFSET_BITS) - 1)
#define TIDE_EXEC_GLOBAL ((uint64_t)1 << 60)
#define TIDE_EXEC_SHARED ((uint64_t)2 << 60)

static inline uint64_t tide_exec_pointer(uint64_t kind, uint32_t object, uint64_t offset) {
  return kind | (uint64_t)object << TIDE_EXEC_OFFSET_BITS | offset;
}

struct tide_exec_memory {
  unsigned char *bytes;
  uint64_t size;
};

enum tide_exec_thread_state {
  TIDE_THREAD_READY,
  TIDE_THREAD_WAITS,
  TIDE_THREAD_SLEEPS,
  TIDE_THREAD_EXITED
};

struct tide_exec_thread {
  uint32_t pc;
  uint32_t next; /* the next waiter of the same barrier; thread + 1 */
  uint8_t state;
  bool arrived; /* arrived at the cluster barrier, and has not waited yet */
  bool in_window;
  uint32_t left;          /* main loops that the thread has left, one per window; without windows
                             TIDE_EXEC_FOR_GOOD */
  uint32_t cluster_phase; /* the cluster barrier's phase at arrival */
  uint64_t wake;          /* wake time while the thread sleeps */
};

#define TIDE_EXEC_FOR_GOOD UINT32_MAX

struct tide_exec_warp {
  uint32_t cta;
  uint32_t first;    /* the warp's first thread */
  uint32_t runnable; /* a bit mask of lanes */
  uint32_t live;
  uint32_t ready_at; /* index in the ready list, + 1; 0: not in the list */
};

/* An mbarrier, or the parts of one that a named or cluster barrier needs. */
struct tide_exec_barrier {
  uint32_t waiters; /* thread + 1 */
  uint32_t expected, pending;
  uint32_t phase;  /* the parity is the lowest bit */
  int64_t bytes;   /* transaction bytes that are still to come */
  uint32_t offset; /* user barriers: the offset in shared memory, + 1 */
  bool live;
};

struct tide_exec_cta {
  uint32_t block[3];
  uint32_t cluster, rank; /* the CTA's cluster, and its rank there */
  uint32_t live_threads;
  uint32_t in_window; /* the number of threads in a window */
  uint32_t left;      /* main loops that all of its threads have left */
  uint32_t left_loop; /* the number of threads that have left one more */
  tide_ir_op left_at; /* the operation at which the last thread left */
  uint32_t windows;   /* the number of windows opened */
  uint64_t progress;  /* tiles finished in the last window */
  uint64_t told;      /* the progress at its last throttle */
  uint64_t reply;
  uint8_t query; /* enum tide_exec_query */
};
enum tide_exec_query {
  TIDE_QUERY_NONE,
  TIDE_QUERY_ASKED,
  TIDE_QUERY_ANSWERED,
  TIDE_QUERY_LOST /* the window closed first */
};

struct tide_exec_cluster {
  struct tide_exec_barrier barrier;
  uint32_t live_threads, arrived;
  bool finished; /* a CTA has left a main loop */
};

/* The decision of a cluster's first thread at a mark, on the thread's `turn`th visit. */
struct tide_exec_decision {
  int64_t value;
  uint32_t turn, thread; /* turn 0: no decision yet */
};

struct tide_exec_machine {
  const struct tide_exec_program *program;
  struct tide_ir *ir;
  const struct tide_allocator *allocator;
  struct tide_exec_shape shape;
  uint32_t cta_count, cluster_count, cluster_size;
  uint32_t block_threads, block_warps;
  uint32_t thread_count, warp_count;
  uint32_t frame_slots; /* constants and slots */

  int64_t *frames;
  struct tide_exec_thread *threads;
  struct tide_exec_warp *warps;
  struct tide_exec_cta *ctas;
  struct tide_exec_cluster *clusters;
  struct tide_exec_barrier
      *barriers; /* per CTA: named ones, pipelines' and sequences', user ones */
  uint32_t cta_barriers;
  unsigned char *shared; /* shared_stride bytes per CTA */
  uint32_t shared_stride;
  struct tide_exec_memory *globals;
  uint32_t global_count;
  struct tide_exec_plan plans[TIDE_EXEC_PLANS_MAX];
  uint32_t plan_count;

  uint32_t *ready; /* warps */
  uint32_t ready_count;
  uint32_t *parked_list; /* threads; a heap ordered by `wake` */
  uint32_t parked_count;
  uint32_t live_threads;
  uint32_t *claim_turns;                /* per thread and mark, the number of visits */
  struct tide_exec_decision *decisions; /* per cluster and mark, the newest decisions */

  struct tide_random random;
  uint32_t turn_bits; /* a time slice is up to 2^turn_bits instructions a thread */
  uint64_t slow;      /* a bit mask of CTAs that this seed delays */
  uint64_t steps, steps_max;
  uint64_t time;           /* virtual ns: instructions, and sleeps while no thread could run */
  enum tide_status status; /* TIDE_OK: running */
  bool told;               /* the first failure was reported */
  uint64_t windows, throttles, tiles;

  /* Called after each finished tile of a window; the machine continues if it returns TIDE_OK. */
  enum tide_status (*progress)(void *self);
  void *progress_self;
};

struct tide_exec_machine_params {
  const struct tide_exec_program *program;
  struct tide_exec_shape shape;
  const int64_t *arguments; /* slots, one for each argument */
  const struct tide_exec_memory *globals;
  uint32_t global_count;
  uint64_t seed, steps_max, memory_max;
};

enum tide_status tide_exec_machine_init(struct tide_exec_machine *machine,
                                        const struct tide_exec_machine_params *params);
void tide_exec_machine_fini(struct tide_exec_machine *machine);
/* Runs about `steps` more instructions. TIDE_OK: all threads have ended. TIDE_TIMEOUT: some have
 * not. TIDE_DEADLOCK, TIDE_FAILED, TIDE_EXHAUSTED (steps_max): reported to the sink; final. */
enum tide_status tide_exec_machine_run(struct tide_exec_machine *machine, uint64_t steps);
/* Returns the bytes that a launch of that shape needs. */
uint64_t tide_exec_machine_memory(const struct tide_exec_program *program,
                                  const struct tide_exec_shape *shape);

/* ---- inside: exec_run.c, exec_wait.c, exec_report.c -------------------------------------- */

/* The effect of an instruction that is not simple. */
enum tide_exec_next {
  TIDE_EXEC_GOES_ON,
  TIDE_EXEC_BLOCKS, /* the thread waits; pc is its resumption point */
  TIDE_EXEC_STOPS   /* the thread has ended, or the machine failed */
};

static inline int64_t *tide_exec_frame(const struct tide_exec_machine *machine, uint32_t thread) {
  return machine->frames + (size_t)thread * machine->frame_slots + machine->program->constant_count;
}
static inline uint32_t tide_exec_cta_of(const struct tide_exec_machine *machine, uint32_t thread) {
  return thread / machine->block_threads;
}
static inline struct tide_exec_barrier *
tide_exec_barriers_of(const struct tide_exec_machine *machine, uint32_t cta) {
  return machine->barriers + (size_t)cta * machine->cta_barriers;
}

/* Executes instructions that wait, wake, or change a thread's state as seen by others. pc: the
 * instruction's. */
enum tide_exec_next tide_exec_step_wait(struct tide_exec_machine *machine, uint32_t thread,
                                        uint32_t pc);
/* Executes work, window, register and atomic instructions: none is in the innermost loop. */
enum tide_exec_next tide_exec_step_rare(struct tide_exec_machine *machine, uint32_t thread,
                                        uint32_t pc);
enum tide_exec_next tide_exec_check_claim(struct tide_exec_machine *machine, uint32_t thread,
                                          uint32_t pc);
/* Returns the bytes behind a pointer; NULL: an error was reported. */
void *tide_exec_access(struct tide_exec_machine *machine, uint32_t thread, uint32_t pc,
                       uint64_t pointer, uint32_t size);
/* Makes a thread runnable (again). */
void tide_exec_make_ready(struct tide_exec_machine *machine, uint32_t thread);
void tide_exec_exit(struct tide_exec_machine *machine, uint32_t thread);
void tide_exec_wake_sleepers(struct tide_exec_machine *machine);
/* Reports the first error of a run, at an instruction, with the thread that ran it. */
enum tide_exec_next tide_exec_fail(struct tide_exec_machine *machine, uint32_t thread, uint32_t pc,
                                   const char *format, ...) TIDE_PRINTF(4, 5);
void tide_exec_note(struct tide_exec_machine *machine, tide_ir_op op, const char *format, ...)
    TIDE_PRINTF(3, 4);
void tide_exec_report_deadlock(struct tide_exec_machine *machine);

/* Conversions of floats narrower than f32. */
uint16_t tide_exec_to_f16(float value);
float tide_exec_from_f16(uint16_t bits);
uint16_t tide_exec_to_bf16(float value);
float tide_exec_from_bf16(uint16_t bits);
float tide_exec_to_tf32(float value);
/* Round to odd: an inexact result ends in a 1 bit. A second rounding, to fewer bits, then gives the
 * same result as a single one. */
float tide_exec_odd(double value);
float tide_exec_odd_integer(uint64_t size, bool negative);
/* a * b + c, rounded once; fma.c */
double tide_exec_fma(double a, double b, double c);
double tide_exec_odd_fma(float a, float b, float c);

static inline float tide_exec_f32(int64_t slot) {
  union {
    uint32_t bits;
    float value;
  } u = {.bits = (uint32_t)slot};
  return u.value;
}
static inline int64_t tide_exec_of_f32(float value) {
  union {
    float value;
    uint32_t bits;
  } u = {.value = value};
  return u.bits;
}
static inline double tide_exec_f64(int64_t slot) {
  union {
    int64_t bits;
    double value;
  } u = {.bits = slot};
  return u.value;
}
static inline int64_t tide_exec_of_f64(double value) {
  union {
    double value;
    int64_t bits;
  } u = {.value = value};
  return u.bits;
}
/* Sign-extends the value that remains without the highest `cut` bits. */
static inline int64_t tide_exec_narrow(uint64_t value, unsigned cut) {
  return (int64_t)(value << cut) >> cut;
}
static inline uint64_t tide_exec_unsigned(int64_t value, unsigned cut) {
  return (uint64_t)value << cut >> cut;
}

#endif
