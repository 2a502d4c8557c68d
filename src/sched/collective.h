/* sched/collective.h: the scheduler's interface to collectives. The scheduler's lock is held unless
 * a function says otherwise. */
#ifndef TIDE_SCHED_COLLECTIVE_H
#define TIDE_SCHED_COLLECTIVE_H

#include "tidemark/queue.h"

struct tide_collective;
struct tide_op;
struct tide_sched;

void tide_instance_entered(struct tide_op *part);
/* True if this part would start only after another part of its instance has finished. Uses
 * sched->known. */
bool tide_instance_circular(struct tide_op *part);
/* Marks the part as arrived: only its instance can still delay its start. True if the part may go
 * on. */
bool tide_instance_arrive(struct tide_op *part);
void tide_instance_finished(struct tide_op *part);
/* Returns the unfinished parts of an instance, by member, with NULL for the finished ones; NULL: no
 * collective has this axis, or the instance is over. */
struct tide_op *const *tide_instance_parts(struct tide_sched *sched, tide_axis axis,
                                           uint64_t number, size_t *out_count);
/* Destroys all collectives that their users left. */
void tide_collectives_destroy_locked(struct tide_sched *sched);
/* Notifies the queue's collectives that the member is lost: the queue is destroyed, or its device
 * is lost. The queue's own operations were cancelled or failed before. */
void tide_collectives_lose(struct tide_queue *queue, enum tide_status status);
/* Frees a destroyed collective, after its last part. No lock is held. */
void tide_collective_free(struct tide_collective *collective);
struct tide_collective *tide_collective_next_gone(const struct tide_collective *collective);

#endif
