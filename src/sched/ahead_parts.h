/* sched/ahead_parts.h: shared by the files of running ahead. */
#ifndef TIDE_SCHED_AHEAD_PARTS_H
#define TIDE_SCHED_AHEAD_PARTS_H

#include "causal/tracker_axis.h"
#include "sched/sched.h"

static inline struct tide_device_group *tide_ahead_group(const struct tide_queue *queue) {
  return queue->device->ahead->group;
}
static inline struct tide_out *tide_ahead_out(const struct tide_queue *queue, uint64_t epoch) {
  return &queue->ahead->outs[epoch % queue->ahead->window];
}
/* Returns the queue that owns the axis, if its device is of the same group; else NULL. */
static inline struct tide_queue *tide_ahead_peer(const struct tide_queue *queue, tide_axis axis) {
  struct tide_queue *owner = tide_tracker_owner(queue->sched->context->tracker, axis, queue->sched);
  return owner && owner->ahead && tide_ahead_group(owner) == tide_ahead_group(queue) ? owner : NULL;
}

/* An operation that another one waits for: a wait's signaller, or a former user of a buffer's
 * memory. */
struct tide_dependency {
  tide_axis axis; /* 0: not a queue's */
  uint64_t epoch;
  struct tide_op_wait *wait; /* NULL: a gap */
  const struct tide_buffer *buffer;
};
/* Calls `each` for the issued waits, open or not, and for the gaps. True if all return true.
 */
bool tide_ahead_each_dependency(struct tide_op *op, void *user,
                                bool (*each)(struct tide_op *op, const struct tide_dependency *on,
                                             void *user));
/* True for an operation that the host keeps until all that it waits for is over: it may choose by
 * state, wait in its body, or it has failed. */
bool tide_ahead_is_kept(const struct tide_op *op);
/* True for an operation that may wait in its body, or for others that are not submitted yet. */
bool tide_ahead_waits_inside(const struct tide_op *op);
/* Ends the submissions that the backend has reported. */
void tide_ahead_end_reported(struct tide_hardware_queue *hardware);
/* Retries the queues that await the owner's next submission. */
void tide_ahead_wake_waiters(struct tide_queue *owner);
void tide_ahead_stop_awaiting(struct tide_queue *queue);
/* Counts submissions that have ended, or were refused. Queues for which there was no room go on. */
void tide_ahead_leave_hardware(struct tide_hardware_queue *hardware, uint32_t count);
/* Ends the submission's use of the devices that it waits for. */
void tide_ahead_drop_waits(struct tide_out *out);
/* The context's `hear_waiter`. */
void tide_ahead_hear_waiter(struct tide_context *context);

#endif
