/* sched/dependency_walk.h: a walk from an operation to those without which it can never start.
 *
 * A walk follows these dependencies, and no others:
 *
 *   BEHIND    an entered operation starts after the one before it in its queue; a held one enters
 *             after the entered ones, and after those held before it that may not be passed
 *   VALUE     the value that it awaits can come from one operation only
 *   ORDER     a held operation is to signal less than the value that it awaits or signals. Until
 *             that one has entered, no other may signal the awaited value, and its own signal
 *             would be refused
 *   TOGETHER  a part starts when the other parts of its instance have arrived: when each could
 *             start but for the others
 *   MEMORY    the past of a buffer finishes before the buffer is touched
 *
 * A host or a later submit can end none of them. So operations that form a cycle never start, or
 * fail where only the order of a signal is in the way. An operation that fails depends only on what
 * its end still awaits.
 *
 * Exactly one operation can signal an awaited value v in two cases. v itself is pending or
 * reserved: every other signal of v or more is refused. Or a higher value is, and no host and no
 * operation may signal in between: the timeline is operations_only, or belongs to one queue or
 * device.
 *
 * The scheduler's lock is held. */
#ifndef TIDE_SCHED_DEPENDENCY_WALK_H
#define TIDE_SCHED_DEPENDENCY_WALK_H

#include "sched/sched.h"

enum tide_dependency {
  TIDE_DEPENDS_BEHIND,
  TIDE_DEPENDS_VALUE,
  TIDE_DEPENDS_ORDER,
  TIDE_DEPENDS_TOGETHER,
  TIDE_DEPENDS_MEMORY
};

/* The caller initialises the struct with the fields of the search that it makes; the walk sets the
 * others. */
struct tide_dependency_walk {
  struct tide_sched *sched;
  /* Finds a cycle: the operation that is about to enter or to be held. Its signals are reserved,
   * unless it fails. */
  struct tide_op *target;
  bool enters; /* the target: held operations of its queue come behind it */
  bool fails;  /* the target enters as failed: it awaits only what it has imported */
  /* The target's instance, if only its other parts can depend on the target. Then the target needs
   * none of them to arrive. Nothing that one of them needs leads to it, or else there was a cycle
   * before. So the walk ends where it comes before one of them in its queue. NULL: no such limit.
   */
  const struct tide_instance *instance;
  /* Finds an instance to which this queue still owes a part. A part that is not submitted yet
   * counts as its queue's next operation. NULL: such parts are no dependencies. */
  const struct tide_queue *owing;
  uint32_t
      budget; /* operations to visit; when it is used up, the walk counts as found. 0: no limit */
  /* ---- set by the walk ---- */
  struct tide_op *stack;
  uint64_t number;
  uint32_t visits;
  struct tide_op *last; /* found: the operation that depends on the target, and how */
  enum tide_dependency last_kind;
  const struct tide_op *part; /* it depends on this other part of the target's instance; or NULL */
};

/* Walks from the target. True if the target depends on itself. Then tide_op_rare(op)->from leads
 * from `last` back to the target. */
bool tide_walk_from_target(struct tide_dependency_walk *walk);
/* Walks from (axis, epoch), an operation or an instance. True if it depends on an instance to which
 * `owing` owes a part, or the budget is used up. */
bool tide_walk_from_epoch(struct tide_dependency_walk *walk, tide_axis axis, uint64_t epoch);

/* Returns the held operation with the smallest reserved value that would end the wait; NULL:
 * none. */
struct tide_op *tide_wait_may_provide(const struct tide_op *op, const struct tide_op_wait *wait);
/* Returns the nearest operation held at this link or before it that may not be passed; NULL: none.
 */
struct tide_op *tide_held_blocker(struct tide_queue *queue, struct tide_link *at);
/* True if the awaited value has failed, and so the operation, perhaps unnoticed until its turn. */
bool tide_wait_has_failed(const struct tide_op *op, const struct tide_op_wait *wait);
/* True if the instance has failed, or a part of it but this one (NULL: none) has. If nothing has
 * noticed that failure yet, tide_collectives_notice does once the submit is accepted: so no part
 * waits in vain. */
bool tide_instance_is_failing(const struct tide_instance *instance, const struct tide_op *but);
/* True if the operation has failed or will: a value that it awaits has. It then enters although
 * other waits hold it, and awaits only what it has imported. */
bool tide_op_is_failing(const struct tide_op *op);

#endif
