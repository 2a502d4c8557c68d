/* tidemark/channel.h: queues that wait for points and keep promises.
 *
 * The model. A *channel* is a queue that belongs to a client (tide_queue_params.client); no other
 * queue is a channel. All its operations are *commands*, with or without points. Commands may wait
 * for points, and keep the client's promises on the channel's future timelines:
 *
 *      promise      tide_future_promise announces the point, before anything is queued
 *      queue        an operation that `retires` the point enters the channel: from here on the
 *                   point is scheduled as soon as the operation's waits, and all before it, are
 *      retire       the operation has finished: the waiters of the point go on
 *
 * A wait for a point is a wait like any other: it is elided where the queue already knows the
 * operation that keeps the promise, and it imports that operation's knowledge. While a point is not
 * queued, an operation that waits for it is *held*, and so are later ones of its queue, unless it
 * may be passed. A wait for a compound holds the operation until all parts have ended: only then is
 * the winner's frontier known.
 *
 * Failures propagate down a channel. A command fails when its body fails, when an awaited point or
 * timeline fails, or when its signals are refused as it enters. Commands behind a failed one do not
 * run: in queue order, each fails with the status of the first failure. The points that such a
 * command retires break with that status, and so do points inserted there. So a *retired* point
 * implies that everything before it in its channel was executed without a failure.
 *
 *      wait p  |  draw  |  insert q  |  recover  |  draw  |  insert r
 *
 *      p breaks: the first draw does not run, and q breaks with the status of p;
 *                the second draw runs, and r retires
 *
 * - tide_queue_recover ends the failure at its position in the channel: commands behind it run. An
 *   operation with TIDE_RECOVER is a recovery and a command in one.
 * - An operation with TIDE_DESPITE_BROKEN runs in spite of the failure. A point that it retires
 *   describes this operation alone. Commands behind it still do not run. In its own waits, broken
 *   points count as ended.
 * - Cancelling (points.cancel, tide_queue_cancel) removes a command from the channel. Its points
 *   break with TIDE_CANCELLED, and the channel does not fail. A cancelled recovery does nothing,
 *   except that a refusal (tide_queue_refuse) ends when a recovery is submitted.
 * - Commands behind a failed one drop their waits, which may never end. The exception are waits
 *   that imported a record: its signaller must have finished. A command that has failed by itself,
 *   as by a broken point that it waits for, keeps its own status. Commands behind a failed one make
 *   no choice and change no priorities.
 * - A command that may be passed has the position at which it enters.
 * - A device that runs several commands of a queue at once may have started some behind the failed
 *   one. These run to their end, and their points break. A recovery starts when all commands before
 *   it are over.
 * - A queue that is no channel goes on: a failed operation fails the operations that wait for its
 *   signals, and no others (queue.h).
 *
 * Priority. A device serves the queue with the highest effective priority:
 *
 *      effective = max(base - decreases, inherited, increases)
 *
 * *inherited*: while the first operation of a queue waits, it lends the queue's priority to the
 * channel or queue that it waits for. That queue's first operation passes the priority on along the
 * chain. *increases* are lent by name (tide_queue_increase_priority_until). They are clamped to the
 * lender's own base, so no loan raises a queue above its lenders. *decreases* concern the channel
 * itself. They add up, and each lasts until its dependency ends.
 *
 * Memory. Everything that a channel needs is allocated with the queue. Threads: any.
 *
 * Source: "Trustable Future Sync Points"; docs/points.md maps its calls to these.
 */
#ifndef TIDEMARK_CHANNEL_H
#define TIDEMARK_CHANNEL_H

#include "tidemark/point.h"
#include "tidemark/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most points that one operation may wait for, or retire. For more, use compounds. */
#define TIDE_POINTS_MAX 32

/* The points of an operation; see tide_operation.points. Everything is copied. */
struct tide_operation_points {
  const struct tide_point *waits; /* points that must end before the operation starts */
  size_t wait_count;
  const struct tide_point *retires; /* promises of this channel, kept when the operation has
                                       finished */
  size_t retire_count;
  /* When this point is retired, an operation that has not started is cancelled: it fails with
   * TIDE_CANCELLED in queue order, a held one at once. A broken point cancels nothing. NULL:
   * none. */
  const struct tide_point *cancel;
  /* A late decision: when the operation would start, its body runs if this point is retired, else
   * `otherwise` (NULL: nothing). The operation does not wait for the point. NULL: no choice. */
  const struct tide_point *choose;
  const struct tide_body_class *otherwise;
  const void *otherwise_arguments;
  size_t otherwise_arguments_size; /* with arguments_size at most TIDE_ARGUMENTS_MAX */
};

/* ---- future timelines of a channel ------------------------------------------------------- */

/* Creates a timeline of the channel: operations of this queue alone keep the promises on it
 * (tide_future_promise). Errors as from tide_future_create; TIDE_INVALID: the queue is no channel;
 * TIDE_CANCELLED or the device's status: the queue is being destroyed, or the device is lost.
 * tide_future_destroy destroys the timeline. If the channel goes first, promises that are not
 * queued break, and so does each later value. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_create_future(struct tide_queue *queue, const struct tide_future_params *params,
                         struct tide_future **out_future);

/* ---- commands, each an operation without a body ---------------------------------------- */

/* Errors of all commands: TIDE_INVALID: the queue is no channel; TIDE_CANCELLED: the command would
 * create an object of the client, and the client is gone; TIDE_NOT_FOUND: no such point, or the
 * point is not promised; and as from tide_queue_submit. On an error nothing has changed. */

/* Inserts a point behind all operations that the channel has taken so far. TIDE_FULL, also when as
 * many inserted points are unfinished as the queue has operations; TIDE_EXHAUSTED: as many inserted
 * points broke, each separately (these are remembered): create another channel. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_insert_point(struct tide_queue *queue,
                                                                  struct tide_point *out_point,
                                                                  struct tide_diag *diag);
/* Inserts a wait: later operations start after the point has ended. `flags` as of an operation.
 * TIDE_DEADLOCK: the point would wait for itself. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_wait_point(struct tide_queue *queue,
                                                                struct tide_point point,
                                                                uint32_t flags,
                                                                struct tide_diag *diag);
/* Keeps the promise when all operations before have finished. TIDE_VALUE: the point is retired,
 * queued, or below a queued one; TIDE_INVALID: not promised on this channel; or the point's own
 * error when it is broken. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_retire_point(struct tide_queue *queue, struct tide_point point, struct tide_diag *diag);
/* Inserts a recovery: commands behind it run, even if one before it has failed. Without a failure
 * it changes nothing. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_recover(struct tide_queue *queue,
                                                             struct tide_diag *diag);
/* Returns the status with which commands fail now because of an earlier failed one. TIDE_OK: no
 * command has failed since the last executed recovery. The status may change at once. */
TIDE_API enum tide_status tide_queue_failure(struct tide_queue *queue);
/* Fails all operations that are submitted from now on, until a recovery is submitted. Used when
 * submitting for a client after one of its commands was refused: commands behind the refused one
 * must not run. A `cause` that is no error becomes TIDE_FAILED. Does nothing if the queue is no
 * channel. */
TIDE_API void tide_queue_refuse(struct tide_queue *queue, enum tide_status cause);

/* ---- priorities ------------------------------------------------------------------------------ */

/* Returns the effective priority that the arbiter uses now. */
TIDE_API uint8_t tide_queue_priority(struct tide_queue *queue);

/* Inserts an increase: when the channel reaches it, the target's channel is lent min(level, this
 * queue's base). The loan lasts until the target ends, with any status, or until this queue is
 * destroyed. TIDE_INVALID: no channel keeps the target, which is a compound, a host's point or
 * another domain's; TIDE_FULL: the queue's capacity of priority changes is used up. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_increase_priority_until(struct tide_queue *queue, struct tide_point target,
                                   uint8_t level, struct tide_diag *diag);
/* Inserts a decrease: when the channel reaches it, this channel's priority is `amount` lower, in
 * addition to other decreases, until the dependency ends or the decrease is cancelled. *out_cancel
 * (may be NULL) is a promise of the client, without waiters. tide_queue_cancel_decrease keeps it.
 * When the client is destroyed it breaks, which ends the decrease too. TIDE_FULL as above, or no
 * capacity for the point. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_decrease_priority_until(struct tide_queue *queue, struct tide_point dependency,
                                   uint32_t amount, struct tide_point *out_cancel,
                                   struct tide_diag *diag);
/* Ends the decrease that returned `cancel`: at once, or before it begins. TIDE_NOT_FOUND: the
 * decrease is over. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_cancel_decrease(struct tide_queue *queue,
                                                                     struct tide_point cancel);
/* Suspends all decreases that were submitted before, at once, until the channel reaches this
 * command. (A call that blocks until the queue has made progress, such as tide_queue_drain, also
 * suspends them while it blocks.) TIDE_FULL as above. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_cancel_priority_decreases(struct tide_queue *queue, struct tide_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
