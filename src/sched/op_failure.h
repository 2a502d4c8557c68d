/* sched/op_failure.h: why an operation fails. The scheduler's lock is held. */
#ifndef TIDE_SCHED_OP_FAILURE_H
#define TIDE_SCHED_OP_FAILURE_H

#include "timeline/cause.h"

struct tide_op;
struct tide_op_signal;

/* The operation fails, unless it has failed already: the first status and its cause stay. `cause`,
 * NULL where the operation itself is the first to fail, is retained. TIDE_OK changes nothing. */
void tide_op_fail(struct tide_op *op, enum tide_status status, struct tide_cause *cause);
/* The cause of an operation that has failed, made now where there was none. NULL: no memory. */
struct tide_cause *tide_op_cause(struct tide_op *op);
void tide_op_drop_cause(struct tide_op *op);
/* The operation has failed: its signal will not come. */
void tide_op_break_signal(struct tide_op *op, struct tide_op_signal *signal);

#endif
