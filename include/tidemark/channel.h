/* tidemark/channel.h: queues that wait for points and keep promises.
 *
 * The model. A *channel* is a queue that belongs to a client (tide_queue_params.client), and
 * nothing else is one. All its operations are *commands*, also those that have nothing to do with
 * points. They may wait for points, and keep the client's promises on the channel's future
 * timelines:
 *
 *      promise      tide_future_promise: "there will be such a point", before anything is queued
 *      queue        an operation that `retires` it enters the channel: from here on it is
 *                   scheduled as soon as all that it waits for is, and all before it
 *      retire       the operation has finished: whoever waits for the point goes on
 *
 * A wait for a point is a wait like any other: it is elided where the queue already knows the
 * operation that keeps the promise, and imports the knowledge of that operation. An operation whose
 * point is not queued yet is *held*, and later ones of its queue behind it, unless it may be
 * passed. A wait for a compound holds the operation until all parts have ended: only then is the
 * winner's frontier known.
 *
 * Failure goes down a channel. A command fails when its body fails, when a point or timeline that
 * it waits for fails, or when its signals are refused as it enters. Commands behind a failed one do
 * not run: each fails at its place with the status of the first one. The points that such a command
 * retires, and points that were inserted there, break with that status. So a *retired* point says
 * that all before it in its channel was executed and went well.
 *
 *      wait p  |  draw  |  insert q  |  recover  |  draw  |  insert r
 *
 *      p breaks: the first draw does not run, and q breaks with the status of p;
 *                the second draw runs, and r retires
 *
 * - tide_queue_recover ends the failure at its place in the channel: commands behind it run. An
 *   operation with TIDE_RECOVER is a recovery and a command in one.
 * - An operation with TIDE_DESPITE_BROKEN runs all the same, and a point that it retires tells of
 *   this operation alone. Commands behind it still do not run. Broken points count as over for its
 *   own waits.
 * - Cancelling (points.cancel, tide_queue_cancel) takes a command out of the channel. Its points
 *   break with TIDE_CANCELLED, and the channel does not fail. A cancelled recovery
 *   does nothing, except that a refusal (tide_queue_refuse) ends when a recovery is submitted.
 * - Commands behind a failed one give up their waits, which may never end, except where a record
 *   was imported: its signaller must have finished. A command that has failed by itself, as by a
 *   broken point that it waits for, keeps its own status. They choose nothing and change no
 *   priorities.
 * - The place of a command that may be passed is where it enters.
 * - A device that runs several commands of a queue at once may have started some behind the failed
 *   one. These run to their end, and their points break. A recovery starts when all commands before
 *   it are over.
 * - A queue that is no channel goes on: a failed operation fails those that wait for its signals,
 *   and no others (queue.h).
 *
 * Priority. The highest effective priority goes next on a device:
 *
 *      effective = max(base - decreases, inherited, increases)
 *
 * *inherited*: the first operation of a queue lends the queue's priority, as long as it waits, to
 * the channel or queue that it waits for, and along the chain to those that this one waits for.
 * *increases* are lent by name (tide_queue_increase_priority_until), clamped to the lender's own
 * base, so that no loan raises a queue above its lenders. *decreases* are one's own, add up, and
 * each lasts until its dependency ends.
 *
 * Memory. All that a channel needs is allocated with the queue. Threads: any.
 *
 * Source: "Trustable Future Sync Points", whose calls docs/points.md maps to these.
 */
#ifndef TIDEMARK_CHANNEL_H
#define TIDEMARK_CHANNEL_H

#include "tidemark/point.h"
#include "tidemark/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Points that one operation waits for, or retires, at most. For more there are compounds. */
#define TIDE_POINTS_MAX 32

/* What an operation has to do with points; see tide_operation.points. All is copied. */
struct tide_operation_points {
  const struct tide_point *waits; /* each must end before it starts */
  size_t wait_count;
  const struct tide_point *retires; /* promises of this channel, kept when it has finished */
  size_t retire_count;
  /* Once this one is retired the operation is cancelled, unless it has started: it fails with
   * TIDE_CANCELLED at its place, a held one leaves at once. Broken, it cancels nothing. NULL: none.
   */
  const struct tide_point *cancel;
  /* The late decision: when the operation's turn has come, its body runs if this point is retired,
   * else `otherwise` (NULL: nothing). It is not waited for. NULL: no choice. */
  const struct tide_point *choose;
  const struct tide_body_class *otherwise;
  const void *otherwise_arguments;
  size_t otherwise_arguments_size; /* with arguments_size at most TIDE_ARGUMENTS_MAX */
};

/* ---- future timelines of a channel ------------------------------------------------------- */

/* Makes a timeline of the channel: promises on it (tide_future_promise) are kept by operations of
 * this queue alone. As tide_future_create; TIDE_INVALID: the queue is no channel; TIDE_CANCELLED or
 * the device's status: it is going. Destroyed with tide_future_destroy; with the channel, what is
 * promised and not queued breaks, and so does each later value. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_create_future(struct tide_queue *queue, const struct tide_future_params *params,
                         struct tide_future **out_future);

/* ---- commands, each an operation without a body ---------------------------------------- */

/* All of them: TIDE_INVALID: the queue is no channel; TIDE_CANCELLED: what its client would own is
 * asked for, and the client is gone; TIDE_NOT_FOUND: no such point, or nobody has
 * promised it; and as tide_queue_submit. On an error nothing has changed. */

/* A point behind all that the channel has taken so far. TIDE_FULL also when as many inserted ones
 * are unfinished as the queue takes operations; TIDE_EXHAUSTED: as many broke, each apart from the
 * others, as that (they are remembered): make another channel. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_insert_point(struct tide_queue *queue,
                                                                  struct tide_point *out_point,
                                                                  struct tide_diag *diag);
/* Later operations start after the point has ended; `flags` as of an operation. TIDE_DEADLOCK: it
 * would wait for itself. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_wait_point(struct tide_queue *queue,
                                                                struct tide_point point,
                                                                uint32_t flags,
                                                                struct tide_diag *diag);
/* Keeps the promise when all before it has finished. TIDE_VALUE: it is retired, queued, or below
 * one that is queued; TIDE_INVALID: not promised on this channel; its error when it is broken. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_retire_point(struct tide_queue *queue, struct tide_point point, struct tide_diag *diag);
/* Commands behind this place run, whatever has failed before it. Where nothing has, it changes
 * nothing. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_recover(struct tide_queue *queue,
                                                             struct tide_diag *diag);
/* The status with which commands fail now because one before them did; TIDE_OK: none has failed
 * since the last recovery that had its turn. It may change at once. */
TIDE_API enum tide_status tide_queue_failure(struct tide_queue *queue);
/* Fails operations that are submitted from here on, until a recovery is submitted. For submits in
 * the name of a client that has queued others behind a command which was refused. A `cause` that is
 * no error becomes TIDE_FAILED. Does nothing if the queue is no channel. */
TIDE_API void tide_queue_refuse(struct tide_queue *queue, enum tide_status cause);

/* ---- priorities ------------------------------------------------------------------------------ */

/* What the arbiter goes by now. */
TIDE_API uint8_t tide_queue_priority(struct tide_queue *queue);

/* When its turn has come in this channel: the target's channel is lent min(level, this queue's
 * base) until the target ends, however it ends, or this queue goes. TIDE_INVALID: the target is a
 * compound, a host's or another domain's point, which no channel keeps; TIDE_FULL: as many changes
 * of priorities are under way as the queue has room for. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_increase_priority_until(struct tide_queue *queue, struct tide_point target,
                                   uint8_t level, struct tide_diag *diag);
/* When its turn has come: this channel's priority is `amount` lower, on top of other decreases,
 * until the dependency ends or the decrease is cancelled. *out_cancel (may be NULL) is a promise of
 * the client that nobody waits for: tide_queue_cancel_decrease keeps it, and when the client goes
 * it breaks, and the decrease with it. TIDE_FULL as above, or no room for the point. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_decrease_priority_until(struct tide_queue *queue, struct tide_point dependency,
                                   uint32_t amount, struct tide_point *out_cancel,
                                   struct tide_diag *diag);
/* The decrease that the point came from ends at once, or never begins. TIDE_NOT_FOUND: it is over.
 */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_cancel_decrease(struct tide_queue *queue,
                                                                     struct tide_point cancel);
/* All decreases that were submitted before stop counting at once, and count again when the channel
 * has come to this place. (A call that blocks until the queue has done something, tide_queue_drain,
 * does the same for as long as it blocks.) TIDE_FULL as above. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_cancel_priority_decreases(struct tide_queue *queue, struct tide_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
