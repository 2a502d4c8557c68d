/* timeline/cause.h: the first cause of a failure, shared by all objects that failed because of it.
 *
 * A cause is made when an operation fails, and never changes. The operation, the operations that
 * wait for it, and the timelines that they signal each hold a reference; the last one frees it. So
 * the depth of a failed pipeline costs nothing, and the waiter at its end learns the failure at its
 * beginning.
 *
 * Making a cause may fail for lack of memory: then only the status remains. */
#ifndef TIDE_TIMELINE_CAUSE_H
#define TIDE_TIMELINE_CAUSE_H

#include "causal/context_state.h"

struct tide_cause {
  const struct tide_allocator *allocator;
  uint32_t references; /* atomic */
  struct tide_failure failure;
};

/* Returns a cause with one reference, the caller's; NULL: no memory. */
struct tide_cause *tide_cause_create(struct tide_context *context,
                                     const struct tide_failure *failure);
/* Returns the cause. NULL is fine for both. */
struct tide_cause *tide_cause_retain(struct tide_cause *cause);
void tide_cause_release(struct tide_cause *cause);

#endif
