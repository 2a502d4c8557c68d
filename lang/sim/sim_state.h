/* sim/sim_state.h: a simulated plan from inside. Everything happens on one thread.
 *
 * An operation is known by its number, in the order of submission: the runner's
 * hook gives it one and puts it into the arguments of the body that takes the real
 * one's place. What an operation waits for is worked out from what was submitted (and, for
 * recycled memory, from what the pool said), not from what the scheduler did with it: so the same
 * holds of the plan and of its baseline. */
#ifndef TIDE_DEVICE_SIM_STATE_H
#define TIDE_DEVICE_SIM_STATE_H

#include "base/random.h"
#include "program/arena.h"
#include "tidemark/sim.h"

#define TIDE_SIM_NONE UINT32_MAX

struct tide_sim_op {
  uint64_t step;      /* its number in the plan */
  uint64_t submitted; /* when */
  uint64_t could;     /* when it could have started, had there been a hand */
  uint64_t start, end;
  uint64_t price;              /* of issued waits, within start … end */
  uint64_t chain, chain_start; /* end and start with any number of hands */
  uint32_t queue;
  uint32_t by;        /* the operation that decided `could`; none: the host */
  uint32_t before_it; /* on its hand */
  uint32_t waits, wait_count;
  uint32_t issued;
  uint32_t part_of;         /* number of the first part of its instance; none: it is no part */
  uint32_t collective;      /* of a part */
  uint32_t last_part;       /* of the first part: who of the instance ended last so far */
  uint32_t tags, tag_count; /* what it takes, in the order in which it looks */
  uint32_t next_tag;        /* the one that it has not seen yet */
  uint64_t after, left;     /* hands' time until the first look, and from then on */
  uint64_t stalled_at;
  bool started, stalls;     /* stalls: it has not seen yet what it stalled for */
  enum tide_status missing; /* why what it takes will not come */
  bool settled;             /* `could`, `by` and `chain_start` are known */
  bool by_memory;           /* a wait for recycled memory decided `could` */
  bool over;
};

/* What an operation waits for. */
struct tide_sim_wait {
  uint64_t key;   /* a timeline (line_of), or an axis */
  uint64_t value; /* or an epoch */
  bool axis;
};

struct tide_sim_tag {
  uint64_t key;      /* as of a wait */
  uint32_t timeline; /* of the plan */
  uint64_t value;
};

/* An operation that stalls, until its tag is reached. */
struct tide_sim_stall {
  struct tide_timepoint point;
  struct tide_sim_made *made;
  struct tide_work *work;
  struct tide_sim_stall *next; /* unused */
};

struct tide_sim_signal {
  uint64_t value;
  uint32_t operation;
};

/* Who signals a timeline, by value. */
struct tide_sim_line {
  uint64_t key;
  struct tide_sim_signal *signals;
  size_t count, capacity;
  size_t found; /* the last that was looked for */
};

struct tide_sim_queue {
  tide_axis axis;
  uint32_t *operations; /* by sequence, from 1 */
  size_t count, capacity;
  uint32_t *entered; /* by epoch, from 1: those that were given out */
  size_t entered_count, entered_capacity;
  uint32_t last; /* given out */
};

/* One gap in memory that was handed out: who must have finished first. */
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
  uint32_t *last; /* by hand: the operation that it did last */
  uint32_t index;
  bool in_order;
};

/* What stands in the place of a body's arguments. */
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
  struct tide_device_kind kinds[4];
  struct tide_sim_made *devices;
  struct tide_sim_queue *queues;
  struct tide_sim_op *ops;
  size_t op_count, op_room;
  struct tide_sim_wait *waits;
  size_t wait_count, wait_room;
  struct tide_sim_tag *tags;
  size_t tag_count, tag_capacity;
  struct tide_sim_stall *spare_stalls;
  struct tide_sim_line *lines; /* by hash */
  size_t line_count, line_room;
  struct tide_sim_gap *gaps;
  size_t gap_count, gap_capacity;
  struct tide_sim_link_at { /* params.links, by index */
    uint32_t from, to;
    uint64_t latency;
  } * links;
  uint64_t **farthest; /* by collective, by device: plus 1; 0: not known yet */
  struct tide_sim_stop *stops;
  size_t stop_count, stop_capacity;
  uint32_t *axis_queues[TIDE_DOMAIN_COUNT]; /* by ordinal */
  size_t axis_capacity[TIDE_DOMAIN_COUNT];
  uintptr_t next_address;
  size_t mapped;
  uint64_t most_time; /* what has been submitted cannot take longer */
  bool too_long, no_memory;
  struct tide_sim_arguments arguments; /* of the operation that is being submitted */
  struct tide_simulation_result result;
};

/* ---- sim_past.c: what an operation waits for, and since when it could start ---- */
void tide_sim_note(struct tide_simulation *s, const struct tide_step *step,
                   const struct tide_operation *operation);
void tide_sim_event(void *self, const struct tide_event *event);
/* Fills `could`, `by` and the chain of an operation that the scheduler has given out. */
void tide_sim_settle(struct tide_simulation *s, uint32_t operation);
/* It has been given out, as this epoch of its queue. */
void tide_sim_taken(struct tide_simulation *s, uint32_t operation, uint64_t epoch);
void tide_sim_past_free(struct tide_simulation *s);
bool tide_sim_know_axes(struct tide_simulation *s);

/* ---- sim_time.c ---- */
uint64_t tide_sim_cost(const struct tide_simulation *s, const struct tide_step *step,
                       bool *out_assumed);
bool tide_sim_fails(const struct tide_simulation *s, uint64_t step);
uint64_t tide_sim_latency(const struct tide_simulation *s, uint32_t from_device,
                          uint32_t to_device);

/* The longest way from a collective's members to a device. */
uint64_t tide_sim_farthest(struct tide_simulation *s, uint32_t collective, uint32_t device);
void tide_sim_time_free(struct tide_simulation *s);

/* ---- sim_take.c: operations that take ---- */
/* The first hand: how long until it looks for the first time. */
uint64_t tide_sim_take_begin(struct tide_simulation *s, struct tide_sim_op *op, uint64_t time);
/* A hand again, after a stall. */
void tide_sim_take_again(struct tide_simulation *s, struct tide_sim_op *op,
                         const struct tide_work *work, uint64_t now);
/* As of a script's `more`. */
uint64_t tide_sim_take_more(struct tide_sim_made *made, struct tide_sim_op *op,
                            struct tide_work *work, uint64_t now);
void tide_sim_take_free(struct tide_simulation *s);
/* When what this wait is for has arrived at the device; false: not ended yet, or nobody's.
 * *out_chain: with any number of hands. */
bool tide_sim_arrival(struct tide_simulation *s, const struct tide_sim_op *op, uint64_t key,
                      uint64_t value, uint32_t *out_by, uint64_t *out_time, uint64_t *out_chain);

/* ---- sim_path.c ---- */
/* From the operation that ended last backwards. False: no memory. */
bool tide_sim_trace_path(struct tide_simulation *s);

#endif
