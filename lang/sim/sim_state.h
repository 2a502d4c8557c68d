/* sim/sim_state.h: the state of a simulated plan. One thread does everything.
 *
 * An operation is known by its number, in the order of submission. The runner's hook assigns the
 * number and puts it into the arguments of the body that replaces the real one. The dependencies of
 * an operation are derived from the submitted operations (and, for recycled memory, from the pool's
 * events), not from the scheduler's decisions. The plan and its baseline are therefore measured in
 * the same way. */
#ifndef TIDE_DEVICE_SIM_STATE_H
#define TIDE_DEVICE_SIM_STATE_H

#include "base/random.h"
#include "program/arena.h"
#include "tidemark/backend.h"
#include "tidemark/sim.h"

#define TIDE_SIM_NONE UINT32_MAX

struct tide_sim_op {
  uint64_t step;      /* number in the plan */
  uint64_t submitted; /* time of submission */
  uint64_t could;     /* earliest possible start, if a hand was free */
  uint64_t start, end;
  uint64_t price;              /* cost of its issued waits, within start … end */
  uint64_t chain, chain_start; /* end and start with unlimited hands */
  uint32_t queue;
  uint32_t by;        /* the operation that decided `could`; none: the host */
  uint32_t before_it; /* the previous operation on its hand */
  uint32_t waits, wait_count;
  uint32_t issued;
  uint32_t part_of;    /* number of the first part of its instance; none: not a part */
  uint32_t collective; /* a part's collective */
  uint32_t last_part;  /* first part only: the part of the instance that has ended last so far */
  uint32_t tags, tag_count; /* the pieces that it takes, in the order of access */
  uint32_t next_tag;        /* the first piece not seen yet */
  uint64_t after, left;     /* time on a hand before the first access, and the rest */
  uint64_t stalled_at;
  bool started, stalls;     /* stalls: has stalled for next_tag and not seen it since */
  enum tide_status missing; /* status of a piece that never arrives */
  bool settled;             /* `could`, `by` and `chain_start` are known */
  bool by_memory;           /* a wait for recycled memory decided `could` */
  bool over;
  uint8_t hardware_queue;
  uint32_t submission; /* number of the submission; 0: the device does not run ahead */
};

/* A dependency of an operation. */
struct tide_sim_wait {
  uint64_t key;   /* a timeline (line_of), or an axis */
  uint64_t value; /* or an epoch */
  bool axis;
};

struct tide_sim_tag {
  uint64_t key;      /* key of a tide_sim_wait */
  uint32_t timeline; /* index in the plan */
  uint64_t value;
};

/* An operation that is stalled until its tag is reached. */
struct tide_sim_stall {
  struct tide_timepoint point;
  struct tide_sim_made *made;
  struct tide_work *work;
  struct tide_sim_stall *next; /* list of unused ones */
};

struct tide_sim_signal {
  uint64_t value;
  uint32_t operation;
};

/* The signallers of a timeline, by value. */
struct tide_sim_line {
  uint64_t key;
  struct tide_sim_signal *signals;
  size_t count, capacity;
  size_t found; /* result of the last search */
};

struct tide_sim_queue {
  tide_axis axis;
  uint32_t *operations; /* by sequence, from 1 */
  size_t count, capacity;
  uint32_t *entered; /* by epoch, from 1: operations given to the device */
  size_t entered_count, entered_capacity;
  uint32_t last; /* the last one given to the device */
};

/* A submission of a device that runs ahead. */
struct tide_sim_native {
  uint32_t operation;         /* none: the number was not used */
  uint32_t last;              /* the operation that ended last, of this one and all before it */
  uint64_t chain;             /* their latest end with unlimited hands */
  uint64_t submitted;         /* time */
  uint32_t waits, wait_count; /* index and count in native_waits */
  bool barrier;
};

/* The submissions of a hardware queue, by number, from 1. */
struct tide_sim_order {
  struct tide_sim_native *submissions;
  size_t count, capacity;
  size_t reached; /* `last` and `chain` are known of so many */
};

struct tide_sim_native_wait {
  uint32_t hardware_queue; /* the same device's */
  uint64_t submission;
};

/* A buffer handed out with a gap, and one operation that must finish before its use. */
struct tide_sim_gap {
  const void *buffer;
  tide_axis axis;
  uint64_t epoch;
};

struct tide_sim_made { /* a device of the plan */
  struct tide_simulation *simulation;
  struct tide_device *device;
  struct tide_sim_script script;
  struct tide_sim_device_result result;
  uint32_t *last;                /* by hand: its last operation */
  struct tide_sim_order *orders; /* by hardware queue; NULL: does not run ahead */
  uint32_t index;
  bool in_order;
  bool is_gpu;
};

/* Replaces the arguments of a body. */
struct tide_sim_arguments {
  uint64_t cost;
  uint32_t operation;
  bool fails;
};

struct tide_simulation {
  struct tide_simulation_params params;
  const struct tide_allocator *allocator;
  const struct tide_plan_tables *tables;
  struct tide_clock *clock;
  struct tide_run *run;
  struct tide_run_stand_in stand_in;
  struct tide_memory_source memory;
  struct tide_sink sink;
  struct tide_device_kind kinds[5];
  struct tide_sim_made *devices;
  struct tide_sim_queue *queues;
  struct tide_sim_op *ops;
  size_t op_count, op_room;
  struct tide_sim_wait *waits;
  size_t wait_count, wait_room;
  struct tide_sim_tag *tags;
  size_t tag_count, tag_capacity;
  struct tide_sim_native_wait *native_waits;
  size_t native_wait_count, native_wait_capacity;
  struct tide_sim_stall *spare_stalls;
  struct tide_sim_line *lines; /* a hash table */
  size_t line_count, line_room;
  struct tide_sim_gap *gaps;
  size_t gap_count, gap_capacity;
  struct tide_sim_link_at { /* params.links, by index */
    uint32_t from, to;
    uint64_t latency;
  } * links;
  uint64_t **farthest; /* by collective, by device: latency + 1; 0: not known yet */
  struct tide_sim_stop *stops;
  size_t stop_count, stop_capacity;
  uint32_t *axis_queues[TIDE_DOMAIN_COUNT]; /* by ordinal */
  size_t axis_capacity[TIDE_DOMAIN_COUNT];
  uintptr_t next_address;
  size_t mapped;
  uint64_t most_time; /* upper bound for the time of all submitted operations */
  bool too_long, no_memory;
  struct tide_sim_arguments arguments; /* arguments of the operation being submitted */
  struct tide_simulation_result result;
};

/* ---- sim_past.c: the dependencies of operations, and their earliest start ---- */
void tide_sim_note(struct tide_simulation *s, const struct tide_step *step,
                   const struct tide_operation *operation);
void tide_sim_event(void *self, const struct tide_event *event);
/* Computes `could`, `by` and the chain of an operation that the scheduler has given out. */
void tide_sim_settle(struct tide_simulation *s, uint32_t operation);
/* Records that an operation has been given out, as this epoch of its queue. */
void tide_sim_taken(struct tide_simulation *s, uint32_t operation, uint64_t epoch);
void tide_sim_past_free(struct tide_simulation *s);
bool tide_sim_know_axes(struct tide_simulation *s);

/* ---- sim_time.c ---- */
uint64_t tide_sim_cost(const struct tide_simulation *s, const struct tide_step *step,
                       bool *out_assumed);
bool tide_sim_fails(const struct tide_simulation *s, uint64_t step);
uint64_t tide_sim_latency(const struct tide_simulation *s, uint32_t from_device,
                          uint32_t to_device);

/* Returns the longest latency from a collective's members to a device. */
uint64_t tide_sim_farthest(struct tide_simulation *s, uint32_t collective, uint32_t device);
void tide_sim_time_free(struct tide_simulation *s);

/* ---- sim_take.c: operations that take ---- */
/* Starts an operation that takes. Returns the time on the hand before its first access. */
uint64_t tide_sim_take_begin(struct tide_simulation *s, struct tide_sim_op *op, uint64_t time);
/* Resumes an operation on a hand after a stall. */
void tide_sim_take_again(struct tide_simulation *s, struct tide_sim_op *op,
                         const struct tide_work *work, uint64_t now);
/* Does the work of a script's `more`. */
uint64_t tide_sim_take_more(struct tide_sim_made *made, struct tide_sim_op *op,
                            struct tide_work *work, uint64_t now);
void tide_sim_take_free(struct tide_simulation *s);
/* Finds the time at which a value arrives at the operation's device. False: its signaller has not
 * ended, or is not known. *out_chain: the time with unlimited hands. */
bool tide_sim_arrival(struct tide_simulation *s, const struct tide_sim_op *op, uint64_t key,
                      uint64_t value, uint32_t *out_by, uint64_t *out_time, uint64_t *out_chain);

/* ---- sim_native.c: devices that run ahead ---- */
void tide_sim_submitted(struct tide_sim_made *made, uint32_t operation,
                        const struct tide_submission *submission);
/* Delays a settled operation by its hardware queue, its barrier and its native waits, which are
 * over. `now`: the start, if a hand was free. */
void tide_sim_after_native(struct tide_sim_made *made, struct tide_sim_op *op, uint64_t now);
void tide_sim_native_free(struct tide_simulation *s);

/* ---- sim_path.c ---- */
/* Traces the path backwards from the operation that ended last. False: no memory. */
bool tide_sim_trace_path(struct tide_simulation *s);

#endif
