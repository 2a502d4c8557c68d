/* sched/checker.h: the scheduler's notifications to check mode. The scheduler's lock is held,
 * except by tide_check_report. */
#ifndef TIDE_SCHED_CHECKER_H
#define TIDE_SCHED_CHECKER_H

#include "tidemark/queue.h"

struct tide_op;
struct tide_timeline;

enum tide_status tide_check_create(struct tide_sched *sched);
void tide_check_destroy(struct tide_sched *sched);
void tide_check_entered(struct tide_queue *queue, struct tide_op *op);
/* Notifies that all parts of an instance have entered. NULL: a part that left before. */
void tide_check_instance(struct tide_sched *sched, const struct tide_timeline *progress,
                         uint64_t number, struct tide_op *const *parts, size_t count);
/* Notifies that a queue has allocated a buffer, or is about to free it. */
void tide_check_allocated(struct tide_sched *sched, struct tide_buffer *buffer);
void tide_check_freed(struct tide_queue *queue, struct tide_buffer *buffer);
/* Notifies that the calling thread has seen the end of all queues of the device. */
void tide_check_settled(struct tide_sched *sched, const struct tide_device *device);
/* Judges what hosts have done since the last operation entered. */
void tide_check_flush(struct tide_sched *sched);
void tide_check_report(struct tide_sched *sched);
/* Adds a finding made elsewhere, such as a refused signal. */
void tide_check_note(struct tide_sched *sched, const struct tide_diag *diag);

#endif
