/* program/run_state.h: the state of a run. One thread uses it. Only `failure` and the queues'
 * `started` are written by other threads, under the scheduler's lock; `takes_over` is atomic. */
#ifndef TIDE_PROGRAM_RUN_STATE_H
#define TIDE_PROGRAM_RUN_STATE_H

#include "base/check.h"
#include "base/lock.h"
#include "tidemark/run.h"

struct tide_baseline;
struct tide_take;
struct tide_sequential;

/* The position in the text of a submitted operation. */
struct tide_place {
  uint64_t step; /* number in the plan */
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
  void *taker;      /* the taker, from the source of takes; NULL: the queue takes nothing */
  uint64_t started; /* epoch of the operation that started last, if run->takes; written under the
                       scheduler's lock */
  struct tide_place *places; /* positions of the unfinished operations: by sequence & mask */
};

struct tide_run_buffer {
  struct tide_buffer *buffer; /* the pool's buffer; NULL while a scratch buffer is not allocated */
  void *data;                 /* address; NULL: not allocated */
};

/* The name of a statement's operations in messages, unless the text has a label. */
#define TIDE_RUN_NAMES 32u
struct tide_run_name {
  const struct tide_body *body; /* NULL: the name is a label, and not reused */
  uint32_t line, column;
  char text[24];
};

/* The first operation that failed, and its cause. */
struct tide_run_failure {
  uint32_t any; /* atomic; set once, after the other fields */
  uint32_t queue;
  struct tide_place place;
  struct tide_failure cause;
};

/* A finding of check mode, about operations of these queues. */
struct tide_noted {
  struct tide_finding finding;
  uint32_t queues[2]; /* the later operation's, the earlier one's */
  size_t group;
};

struct tide_run_findings {
  struct tide_lock lock; /* guards the list: any thread reports */
  struct tide_noted *list;
  size_t count, capacity;
};

struct tide_run {
  struct tide_run_params params;
  const struct tide_plan_tables *tables;
  const struct tide_allocator *allocator;
  struct tide_context *context;
  struct tide_sink sink; /* the run's own: notes the first failure, then calls the caller's sink */
  uint8_t frontier_capacity;
  bool takes;         /* some queue has a taker */
  bool names_buffers; /* operations name the buffers that they use: some are recycled, or check mode
                         is on */
  bool executed;
  uint32_t over; /* atomic: the remaining operations are being cancelled */
  struct tide_pool *pool;
  const struct tide_memory_source *memory; /* of a device; NULL: none needs its own */
  struct tide_run_device *devices;
  struct tide_run_queue *queues;
  struct tide_timeline **timelines;
  struct tide_collective **collectives;
  struct tide_run_buffer *buffers;
  struct tide_opened_file *files;
  struct tide_position host;
  struct tide_run_failure failure;
  struct tide_run_findings findings;
  struct tide_baseline *baseline;     /* events and barrier modes */
  struct tide_sequential *sequential; /* sequential mode */
  uint64_t submitted;
  struct tide_take *takes_over; /* atomic: a list of takes to be freed */
  struct tide_run_result result;
  /* Scratch space for the operation being submitted. */
  struct tide_wait *waits;
  struct tide_signal *signals;
  size_t wait_room, signal_room;
  struct tide_wait_point *points; /* queue_count + 1 of them */
  size_t point_count;             /* points in use */
  uint32_t lost_slices;           /* time slices since a device was found lost */
  uint32_t noted; /* the queue that the points are of; TIDE_PLAN_NONE: every queue */
  struct tide_run_name names[TIDE_RUN_NAMES]; /* a cache, by hash of the position */
};

static inline const struct tide_platform *tide_run_platform(const struct tide_run *run) {
  return tide_context_platform(run->context);
}

/* ---- findings.c ---- */
/* Receives a finding of check mode. */
void tide_run_note_finding(void *run, const struct tide_diag *diag);
/* Tells the findings to the caller of the run, by statements. Rewinds the plan. */
void tide_run_tell_findings(struct tide_run *run);
void tide_run_free_findings(struct tide_run *run);

/* ---- run_setup.c ---- */
enum tide_status tide_run_setup(struct tide_run *run, struct tide_diag *diag);
void tide_run_teardown(struct tide_run *run);
/* Destroys queues and collectives; blocks until running operations are over, or the deadline. */
enum tide_status tide_run_stop_queues(struct tide_run *run, uint64_t deadline);
enum tide_status tide_run_open_files(struct tide_run *run, struct tide_diag *diag);

/* ---- run_submit.c ---- */
/* Performs one step: submits, allocates, signals …, and blocks where the step requires it. */
enum tide_status tide_run_step(struct tide_run *run, const struct tide_step *step,
                               struct tide_diag *diag);
/* Fills the arguments of a body. data(self, buffer) returns the buffer's address. */
void tide_run_arguments(const struct tide_run *run, const struct tide_step *step,
                        void *(*data)(const struct tide_run *run, uint32_t buffer),
                        struct tide_argument *out_arguments);

/* ---- run_memory.c ---- */
enum tide_status tide_run_make_pool(struct tide_run *run, struct tide_diag *diag);
/* Makes a buffer of the plan, unless it is scratch. Its contents are zeros, in every mode. */
enum tide_status tide_run_make_buffer(struct tide_run *run, size_t index, struct tide_diag *diag);
enum tide_status tide_run_alloc(struct tide_run *run, const struct tide_step *step,
                                struct tide_diag *diag);
void tide_run_free(struct tide_run *run, const struct tide_step *step);

/* ---- run_take.c ---- */
/* Opens the taker of a queue that takes. Does nothing for other queues. */
enum tide_status tide_run_open_taker(struct tide_run *run, uint32_t queue, struct tide_diag *diag);
void tide_run_close_takers(struct tide_run *run);
/* Prepares the first step of an operation that takes: replaces the body, and keeps the arguments
 * for the body's later call. Does nothing where the step takes nothing, or the run waits instead
 * (baseline modes). TIDE_NOMEM. */
enum tide_status tide_run_take(struct tide_run *run, const struct tide_step *step,
                               struct tide_operation *operation, struct tide_take **out_take);
/* Frees the take of an operation that was not submitted. `take` may be NULL. */
void tide_run_drop_take(struct tide_take *take);

/* ---- run_wait.c ---- */
/* Blocks until all submitted operations have finished. TIDE_DEADLOCK: the remaining ones wait for
 * ever. */
enum tide_status tide_run_drain(struct tide_run *run, struct tide_diag *diag);
/* Notes the progress of a queue (TIDE_PLAN_NONE: every queue) and of a collective (TIDE_PLAN_NONE:
 * none), for tide_run_wait_progress. */
void tide_run_note_progress(struct tide_run *run, uint32_t queue, uint32_t collective);
/* Blocks until one of the noted progresses has advanced. TIDE_DEADLOCK: no operation is running, so
 * none will advance. With stop_early: the status of the first failure. */
enum tide_status tide_run_wait_progress(struct tide_run *run);
enum tide_status tide_run_host_wait(struct tide_run *run, const struct tide_step *step,
                                    struct tide_diag *diag);
void tide_run_report_progress(struct tide_run *run);

/* ---- run_failure.c ---- */
/* Returns TIDE_OK, or the status of a lost device; the diag then names the device and the
 * reason. */
enum tide_status tide_run_lost_device(const struct tide_run *run, struct tide_diag *diag);
const struct tide_sink *tide_run_sink(struct tide_run *run);
/* Describes the first failure, with its position. Rewinds the plan. */
enum tide_status tide_run_describe_failure(struct tide_run *run, struct tide_diag *diag);

/* ---- run_sequential.c ---- */
enum tide_status tide_sequential_create(struct tide_run *run, struct tide_diag *diag);
enum tide_status tide_sequential_execute(struct tide_run *run, struct tide_diag *diag);
void tide_sequential_destroy(struct tide_run *run);

#endif
