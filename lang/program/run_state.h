/* program/run_state.h: a run from inside. One thread uses it; only `failure` is
 * written by whoever finishes an operation, under the scheduler's lock. */
#ifndef TIDE_PROGRAM_RUN_STATE_H
#define TIDE_PROGRAM_RUN_STATE_H

#include "base/check.h"
#include "tidemark/run.h"

struct tide_baseline;
struct tide_take;
struct tide_sequential;

/* Where an operation that was submitted stands in the text. */
struct tide_place {
  uint64_t step; /* its number in the plan */
  uint32_t line, column;
};

struct tide_run_device {
  const struct tide_device_kind *kind;
  struct tide_device *device;
};

struct tide_run_queue {
  struct tide_queue *queue;
  tide_axis axis;
  uint64_t submitted; /* operations; the sequence of the last one */
  uint32_t place_mask;
  void *taker;               /* of the source of takes; NULL: nothing is taken */
  uint64_t started;          /* epoch of what started last; by the scheduler, of a taker's queue */
  struct tide_place *places; /* of what may still be unfinished: by sequence & mask */
};

struct tide_run_buffer {
  struct tide_buffer *buffer; /* of the pool; NULL while a scratch buffer is not allocated */
  void *data;                 /* NULL: not there now */
};

/* What the operations of a statement are called in messages, unless the text has a label that
 * depends on more. */
#define TIDE_RUN_NAMES 32u
struct tide_run_name {
  const struct tide_body *body; /* NULL: nobody's */
  uint32_t line, column;
  char text[24];
};

/* The first operation that failed, and its cause. */
struct tide_run_failure {
  uint32_t any; /* atomic; the rest is written before it, once */
  uint32_t queue;
  struct tide_place place;
  struct tide_failure cause;
};

struct tide_run {
  struct tide_run_params params;
  const struct tide_plan_tables *tables;
  const struct tide_allocator *allocator;
  struct tide_context *context;
  struct tide_sink sink; /* ours: notes the first failure, then hands on */
  uint8_t frontier_capacity;
  bool takes;         /* some queue has a taker */
  bool names_buffers; /* operations say which they use: some are recycled, or check mode asks */
  bool executed;
  uint32_t over; /* atomic: what is left is being cancelled */
  struct tide_pool *pool;
  struct tide_run_device *devices;
  struct tide_run_queue *queues;
  struct tide_timeline **timelines;
  struct tide_collective **collectives;
  struct tide_run_buffer *buffers;
  struct tide_opened_file *files;
  struct tide_position host;
  struct tide_run_failure failure;
  struct tide_baseline *baseline;     /* events and barrier */
  struct tide_sequential *sequential; /* the one thread */
  uint64_t submitted;
  struct tide_take *takes_over; /* atomic: a list of those that nobody needs any more */
  struct tide_run_result result;
  /* One operation as it is submitted. */
  struct tide_wait *waits;
  struct tide_signal *signals;
  size_t wait_room, signal_room;
  struct tide_wait_point *points;             /* one a queue, and one more … */
  size_t point_count;                         /* … so many of which are noted … */
  uint32_t lost_slices;                       /* of time, since a device was found lost */
  uint32_t noted;                             /* … of this queue; TIDE_PLAN_NONE: of all */
  struct tide_run_name names[TIDE_RUN_NAMES]; /* of statements: by place, mostly */
};

static inline const struct tide_platform *tide_run_platform(const struct tide_run *run) {
  return tide_context_platform(run->context);
}

/* ---- run_setup.c ---- */
enum tide_status tide_run_setup(struct tide_run *run, struct tide_diag *diag);
void tide_run_teardown(struct tide_run *run);
/* Destroys queues and collectives; blocks until what runs is over, or the deadline. */
enum tide_status tide_run_stop_queues(struct tide_run *run, uint64_t deadline);
enum tide_status tide_run_open_files(struct tide_run *run, struct tide_diag *diag);

/* ---- run_submit.c ---- */
/* Does one step: submits, allocates, signals … and waits where it must. */
enum tide_status tide_run_step(struct tide_run *run, const struct tide_step *step,
                               struct tide_diag *diag);
/* Fills the arguments of a body. data(self, buffer) is where a buffer lies. */
void tide_run_arguments(const struct tide_run *run, const struct tide_step *step,
                        void *(*data)(const struct tide_run *run, uint32_t buffer),
                        struct tide_argument *out_arguments);

/* ---- run_memory.c ---- */
enum tide_status tide_run_make_pool(struct tide_run *run, struct tide_diag *diag);
/* Makes a buffer of the plan that is not scratch. It starts as zeros, in every mode. */
enum tide_status tide_run_make_buffer(struct tide_run *run, size_t index, struct tide_diag *diag);
enum tide_status tide_run_alloc(struct tide_run *run, const struct tide_step *step,
                                struct tide_diag *diag);
void tide_run_free(struct tide_run *run, const struct tide_step *step);

/* ---- run_take.c ---- */
/* Whatever takes needs, of a queue; also without it where nothing is taken. */
enum tide_status tide_run_open_taker(struct tide_run *run, uint32_t queue, struct tide_diag *diag);
void tide_run_close_takers(struct tide_run *run);
/* The first step of an operation that takes: another body in the place of its own, which has
 * `arguments`. Nothing, where the step takes nothing or waits instead. TIDE_NOMEM. */
enum tide_status tide_run_take(struct tide_run *run, const struct tide_step *step,
                               struct tide_operation *operation, struct tide_take **out_take);
/* It was not submitted after all. NULL is fine. */
void tide_run_drop_take(struct tide_take *take);

/* ---- run_wait.c ---- */
/* Blocks until all that was submitted has finished, or has nothing left to wait for. */
enum tide_status tide_run_drain(struct tide_run *run, struct tide_diag *diag);
/* Notes how far a queue (TIDE_PLAN_NONE: every one), and a collective (TIDE_PLAN_NONE: none), have
 * come … */
void tide_run_note_progress(struct tide_run *run, uint32_t queue, uint32_t collective);
/* … and blocks until one of them has come further. TIDE_DEADLOCK: nothing is under way any more, so
 * none will; the failure, when the run is to stop at it. */
enum tide_status tide_run_wait_progress(struct tide_run *run);
enum tide_status tide_run_host_wait(struct tide_run *run, const struct tide_step *step,
                                    struct tide_diag *diag);
void tide_run_report_progress(struct tide_run *run);

/* ---- run_failure.c ---- */
/* TIDE_OK, or the status of a device that was lost; then the diag says which and why. */
enum tide_status tide_run_lost_device(const struct tide_run *run, struct tide_diag *diag);
const struct tide_sink *tide_run_sink(struct tide_run *run);
/* The first failure in words, with its place. Rewinds the plan. */
enum tide_status tide_run_describe_failure(struct tide_run *run, struct tide_diag *diag);

/* ---- run_sequential.c ---- */
enum tide_status tide_sequential_create(struct tide_run *run, struct tide_diag *diag);
enum tide_status tide_sequential_execute(struct tide_run *run, struct tide_diag *diag);
void tide_sequential_destroy(struct tide_run *run);

#endif
