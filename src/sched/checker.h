/* sched/checker.h: what the scheduler tells check mode. The scheduler's lock is held, except by
 * tide_check_report. */
#ifndef TIDE_SCHED_CHECKER_H
#define TIDE_SCHED_CHECKER_H

#include "tidemark/queue.h"

struct tide_op;
struct tide_timeline;

enum tide_status tide_check_create(struct tide_sched *sched);
void tide_check_destroy(struct tide_sched *sched);
void tide_check_entered(struct tide_queue *queue, struct tide_op *op);
/* All parts of an instance have entered; NULL: one that left before. */
void tide_check_instance(struct tide_sched *sched, const struct tide_timeline *progress,
                         uint64_t number, struct tide_op *const *parts, size_t count);
void tide_check_freed(struct tide_queue *queue, struct tide_buffer *buffer);
void tide_check_report(struct tide_sched *sched);
/* A finding that was made elsewhere, such as a refused signal. */
void tide_check_note(struct tide_sched *sched, const struct tide_diag *diag);

#endif
