/* sched/channel_state.h: the additional state of a queue that is a channel.
 *
 * An operation with points is a *command* of point/. The scheduler notifies point/ when the command
 * is queued, enters, is about to start, and ends.
 *
 * Waits for points are ordinary waits (struct tide_op_wait) on the points' own timelines: they are
 * classified, elided and imported like any other. The difference: such a wait is for one point, and
 * only that point's end opens it. So the wait listens at the point's dependency node instead of the
 * timeline, and only the record of exactly its value counts.
 *
 * Guarded by the scheduler's lock, which is also the points' lock. */
#ifndef TIDE_SCHED_CHANNEL_STATE_H
#define TIDE_SCHED_CHANNEL_STATE_H

#include "sched/sched.h"
#include "tidemark/channel.h"

/* Connects a wait to its point; waits[i] belongs to store.waits[i]. An `edge` without a target:
 * the point has settled, with edge.status. */
struct tide_point_wait {
  struct tide_dependency_edge edge;
  struct tide_listener listener;
  struct tide_op *op;
};

enum tide_change_state { TIDE_CHANGE_FREE, TIDE_CHANGE_QUEUED, TIDE_CHANGE_UNDER_WAY };
enum tide_change_kind { TIDE_CHANGE_INCREASE, TIDE_CHANGE_DECREASE, TIDE_CHANGE_SCOPE };

/* A change of priorities. In use from the submit of its command until the change is over. */
struct tide_change {
  union {
    struct tide_increase increase;
    struct tide_decrease decrease;
    struct tide_scope_of_decreases scope;
  } as;
  struct tide_point point;  /* the target, or a decrease's dependency */
  struct tide_point cancel; /* cancels a decrease; value 0: none */
  uint32_t amount;
  uint8_t kind, state;
};

/* The points of an operation; ops[i] belongs to store.ops[i]. The flags tell which of the fields
 * below them are initialised. */
struct tide_op_points {
  struct tide_op *op;
  struct tide_command command;
  struct tide_change *change;
  bool queued;      /* inserted into the channel; point/ is not notified of the end yet */
  bool has_outside; /* waits for something besides points */
  bool cancels, chooses;
  bool retired; /* the point of `choose` is retired */
  /* Stands for the waits besides those for points: point/ cannot see whether they end. */
  struct tide_dependency_node outside;
  struct tide_dependency_edge outside_edge;
  struct tide_listener cancel, choose;
  struct tide_link cancelled; /* entry of the channel's `cancelled` list */
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
  struct tide_node cancel;    /* fires to cancel them */
};

/* The resolved points of one operation. tide_points_check fills the plan; tide_points_copy and
 * tide_points_insert use it. */
struct tide_points_plan {
  struct tide_resolved waits[TIDE_POINTS_MAX + 1];
  struct tide_dependency_edge *edges[TIDE_POINTS_MAX + 1];
  struct tide_promise *promises[TIDE_POINTS_MAX];
  size_t wait_count, promise_count;
  struct tide_resolved cancel, choose;
  const struct tide_operation_points *points; /* NULL: the operation has only other waits */
  struct tide_change *change;
  bool outside;
};

static inline struct tide_op_points *tide_op_points(const struct tide_op *op) {
  return &op->queue->channel->ops[op - op->queue->store.ops];
}
static inline struct tide_point_wait *tide_wait_for_point(const struct tide_op *op,
                                                          const struct tide_op_wait *wait) {
  const struct tide_queue *queue = op->queue;
  return &queue->channel->waits[wait - queue->store.waits];
}

/* ---- queue_points.c: one operation and its points ---- */
enum tide_status tide_points_check(struct tide_queue *queue, const struct tide_operation *operation,
                                   struct tide_points_plan *plan, struct tide_diag *diag);
void tide_points_copy(struct tide_op *op, const struct tide_operation *operation,
                      struct tide_points_plan *plan);
/* Queues the operation's command, last in its channel. TIDE_DEADLOCK: nothing has changed. */
enum tide_status tide_points_insert(struct tide_op *op, const struct tide_points_plan *plan,
                                    struct tide_diag *diag);

/* ---- channel.c: a channel's own ---- */
enum tide_status tide_queue_open_channel(struct tide_queue *queue,
                                         const struct tide_queue_params *params);
/* Closes the channel to new promises, and breaks the promises that it has not kept. */
void tide_queue_close_channel(struct tide_queue *queue, enum tide_status cause);
void tide_queue_free_channel(struct tide_queue *queue);
/* Returns the channel's client; NULL: it is gone. Takes the lock. */
struct tide_client *tide_channel_client(struct tide_queue *queue);
/* Returns TIDE_INVALID, with a diagnosis: the queue is no channel. */
enum tide_status tide_queue_is_no_channel(const struct tide_queue *queue, struct tide_diag *diag);

/* ---- channel_failure.c ---- */
/* Fails the operation's channel, if it has one. The operation is done, with an error. */
void tide_channel_failed(struct tide_op *op);
/* Fails an entered operation behind a failed one. Called while queue->failure.cause is set. */
void tide_channel_stop_behind(struct tide_op *op);
/* Fails a new operation behind a refused one. Called while queue->failure.refused is set. */
void tide_channel_join(struct tide_op *op);
/* Ends `refused`: an operation with TIDE_RECOVER was submitted. */
void tide_channel_recovery_queued(struct tide_queue *queue);

/* ---- changes.c ---- */
/* Begins the change: its command starts. */
void tide_change_begin(struct tide_queue *queue, struct tide_change *change);
/* Drops the change: its command will not run. */
void tide_change_drop(struct tide_queue *queue, struct tide_change *change);
/* Ends the changes that are under way. */
void tide_changes_end(struct tide_queue *queue);

#endif
