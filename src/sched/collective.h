/* sched/collective.h: the scheduler's interface to collectives. The scheduler's lock is held unless
 * a function says otherwise. */
#ifndef TIDE_SCHED_COLLECTIVE_H
#define TIDE_SCHED_COLLECTIVE_H

#include "tidemark/queue.h"

struct tide_collective;
struct tide_instance;
struct tide_op;
struct tide_sched;

void tide_instance_entered(struct tide_op *part);
/* Marks the part as arrived: only its instance can still delay its start. True if the part may go
 * on. */
bool tide_instance_arrive(struct tide_op *part);
void tide_instance_finished(struct tide_op *part);
/* Fails the instance of a failed part at once: no other part has to wait for that one to arrive.
 * All are skipped in their turn. */
void tide_instance_fail(struct tide_op *part);
/* Fails a part that is submitted after its instance has failed. Does nothing before. */
void tide_instance_fail_late(const struct tide_instance *instance, struct tide_op *part);
/* Fails the instances that walks have met since the last call and of which a part awaits a value
 * that has failed. `accepted` is false: forgets these instances, for the submit is refused. */
void tide_collectives_notice(struct tide_sched *sched, bool accepted);
/* Returns an instance that is not over; NULL: no collective has this axis, or the instance was not
 * opened, or is over. */
const struct tide_instance *tide_instance_of(const struct tide_sched *sched, tide_axis axis,
                                             uint64_t number);
/* Returns the newest such instance of a collective that this value of its progress awaits; NULL:
 * none, or not the progress of a collective. */
const struct tide_instance *tide_instance_awaited(const struct tide_timeline *progress,
                                                  uint64_t value);
/* True if the instance's record exists, or does once the operation (NULL: none) has entered. */
bool tide_instance_is_promised(const struct tide_instance *instance, const struct tide_op *op);
/* Returns the instance before this one if it is not over; else NULL. */
const struct tide_instance *tide_instance_before(const struct tide_instance *instance);
/* Returns the queue's unfinished part of the instance; NULL: none. */
struct tide_op *tide_instance_part_of(const struct tide_instance *instance,
                                      const struct tide_queue *queue);
/* True if the queue has not submitted its part of an instance of which others have. */
bool tide_collectives_owe(const struct tide_queue *queue);
/* True if an instance that the frontier lists stands for (axis, epoch): a member's epoch up to its
 * part. The frontier does not list such epochs, since the instance finishes after them. */
bool tide_collectives_imply(const struct tide_sched *sched, const struct tide_frontier *known,
                            tide_axis axis, uint64_t epoch);
/* Destroys all collectives that their users left. */
void tide_collectives_destroy_locked(struct tide_sched *sched);
/* Notifies the queue's collectives that the member is lost: the queue is destroyed, or its device
 * is lost. The queue's own operations were cancelled or failed before. */
void tide_collectives_lose(struct tide_queue *queue, enum tide_status status);
/* Frees a destroyed collective, after its last part. No lock is held. */
void tide_collective_free(struct tide_collective *collective);
struct tide_collective *tide_collective_next_gone(const struct tide_collective *collective);

#endif
