/* sched/channel_state.h: what a queue has beside it when it waits for points and keeps promises.
 *
 * An operation with points is a *command* of point/: told when it is queued, when it has its turn,
 * when it is over. Its waits for points are ordinary waits (struct tide_op_wait) on the points' own
 * timelines, so that they are classified, elided and imported like any other, with one difference:
 * each is about one point, and nothing but that point's end opens it. So it listens at the point's
 * dependency node instead of the timeline, and only the record of exactly its value counts.
 *
 * All under the scheduler's lock, which is the points' own. */
#ifndef TIDE_SCHED_CHANNEL_STATE_H
#define TIDE_SCHED_CHANNEL_STATE_H

#include "sched/sched.h"
#include "tidemark/channel.h"

/* Of waits[i] at i. `edge` tells how the point stands: no target: it has settled, with `status`. */
struct tide_point_wait {
  struct tide_dependency_edge edge;
  struct tide_listener listener;
  struct tide_op *op;
};

enum tide_change_state { TIDE_CHANGE_FREE, TIDE_CHANGE_QUEUED, TIDE_CHANGE_UNDER_WAY };
enum tide_change_kind { TIDE_CHANGE_INCREASE, TIDE_CHANGE_DECREASE, TIDE_CHANGE_SCOPE };

/* One change of priorities, from the submit of its command until it is over. */
struct tide_change {
  union {
    struct tide_increase increase;
    struct tide_decrease decrease;
    struct tide_scope_of_decreases scope;
  } as;
  struct tide_point point;  /* the target, or what a decrease depends on */
  struct tide_point cancel; /* of a decrease; value 0: none */
  uint32_t amount;
  uint8_t kind, state;
};

/* Of ops[i] at i. What is below the flags is touched only where they say so. */
struct tide_op_points {
  struct tide_op *op;
  struct tide_command command;
  struct tide_change *change;
  bool queued;      /* point/ knows of it, and not of its end */
  bool has_outside; /* it waits for something besides points */
  bool cancels, chooses;
  bool retired; /* what it chooses by is */
  /* What it waits for besides points: nobody here knows whether that ends. */
  struct tide_dependency_node outside;
  struct tide_dependency_edge outside_edge;
  struct tide_listener cancel, choose;
  struct tide_link cancelled; /* in the channel's list */
  const struct tide_body_class *otherwise;
  void *otherwise_arguments;
};

struct tide_queue_channel {
  struct tide_channel channel;
  struct tide_queue *queue;
  struct tide_point inserted; /* names the future timeline of inserted points */
  struct tide_op_points *ops;
  struct tide_point_wait *waits;
  struct tide_change *changes;
  uint32_t change_count;
  struct tide_link cancelled; /* operations to cancel */
  struct tide_node cancel;    /* under way to do so */
};

/* What was found about the points of one operation, between its check and its place. */
struct tide_points_plan {
  struct tide_resolved waits[TIDE_POINTS_MAX + 1];
  struct tide_dependency_edge *edges[TIDE_POINTS_MAX + 1];
  struct tide_promise *promises[TIDE_POINTS_MAX];
  size_t wait_count, promise_count;
  struct tide_resolved cancel, choose;
  const struct tide_operation_points *points; /* NULL: it has only waits of other kinds */
  struct tide_change *change;
  bool outside;
};

static inline struct tide_op_points *tide_op_points(const struct tide_op *op) {
  return &op->queue->channel->ops[op - op->queue->ops];
}
static inline struct tide_point_wait *tide_wait_for_point(const struct tide_op *op,
                                                          const struct tide_op_wait *wait) {
  const struct tide_queue *queue = op->queue;
  return &queue->channel->waits[wait - queue->waits];
}

/* ---- points.c: one operation and its points ---- */
enum tide_status tide_points_check(struct tide_queue *queue, const struct tide_operation *operation,
                                   struct tide_points_plan *plan, struct tide_diag *diag);
void tide_points_copy(struct tide_op *op, const struct tide_operation *operation,
                      struct tide_points_plan *plan);
/* It is queued, last in its channel. TIDE_DEADLOCK: nothing has changed. */
enum tide_status tide_points_insert(struct tide_op *op, const struct tide_points_plan *plan,
                                    struct tide_diag *diag);

/* ---- channel.c: a channel's own ---- */
enum tide_status tide_queue_open_channel(struct tide_queue *queue,
                                         const struct tide_queue_params *params);
/* It promises no more, and what it owes breaks. */
void tide_queue_close_channel(struct tide_queue *queue, enum tide_status cause);
void tide_queue_free_channel(struct tide_queue *queue);
/* NULL: it is gone. Takes the lock. */
struct tide_client *tide_channel_client(struct tide_queue *queue);
/* TIDE_INVALID, and the diagnosis. */
enum tide_status tide_queue_is_no_channel(const struct tide_queue *queue, struct tide_diag *diag);

/* ---- channel_failure.c ---- */
/* Fails the operation's channel, if it has one. The operation is over, and its status no TIDE_OK.
 */
void tide_channel_failed(struct tide_op *op);
/* Fails an entered operation behind a failed one. Called while queue->failure.cause is set. */
void tide_channel_stop_behind(struct tide_op *op);
/* Fails a new operation behind a refused one. Called while queue->failure.refused is set. */
void tide_channel_join(struct tide_op *op);
/* Ends `refused`: an operation with TIDE_RECOVER was submitted. */
void tide_channel_recovery_queued(struct tide_queue *queue);

/* ---- changes.c ---- */
/* Its turn has come. */
void tide_change_begin(struct tide_queue *queue, struct tide_change *change);
/* Its command will not run. */
void tide_change_drop(struct tide_queue *queue, struct tide_change *change);
void tide_changes_end(struct tide_queue *queue);

#endif
