/* sched/op_failure.h: the failure of an operation, and its cause. The scheduler's lock is held. */
#ifndef TIDE_SCHED_OP_FAILURE_H
#define TIDE_SCHED_OP_FAILURE_H

#include "timeline/cause.h"

struct tide_op;
struct tide_op_signal;

/* Fails the operation, unless it has failed already: the first status and its cause stay. `cause`
 * is retained; NULL: the operation itself is the first to fail. TIDE_OK changes nothing. */
void tide_op_fail(struct tide_op *op, enum tide_status status, struct tide_cause *cause);
/* Fails an operation that was refused when it entered; `why` becomes its cause. */
void tide_op_refuse(struct tide_op *op, const struct tide_diag *why);
/* Returns the cause of a failed operation, and creates it if there is none. NULL: no memory. */
struct tide_cause *tide_op_cause(struct tide_op *op);
void tide_op_drop_cause(struct tide_op *op);
/* Breaks a signal of a failed operation: the value will not be reached. */
void tide_op_break_signal(struct tide_op *op, struct tide_op_signal *signal);

#endif
