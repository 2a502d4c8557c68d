/* program/run_order.h: a sequential order for the operations of a plan.
 *
 * Steps arrive in the program's order, in which a wait may precede its signal. An operation with
 * such a wait is kept, as a scheduler holds it: later operations of its queue stay behind it,
 * unless it may be passed. The parts of a collective are entered together. `enter` is called for a
 * step after it was called for all steps that this one waits for. */
#ifndef TIDE_PROGRAM_RUN_ORDER_H
#define TIDE_PROGRAM_RUN_ORDER_H

#include "tidemark/program.h"

struct tide_run_order;

struct tide_run_order_client {
  void *self;
  /* Performs a step; all its waits are satisfied. `token` is the result of `keep`; NULL: the step
   * was not kept. */
  enum tide_status (*enter)(void *self, const struct tide_step *step, void *token,
                            struct tide_diag *diag);
  /* Called when a step has to wait, with the copy that is kept. Returns a token with the client's
   * data for the step; NULL: no memory. */
  void *(*keep)(void *self, const struct tide_step *step);
  /* Frees the token of a kept step that is never entered. */
  void (*forget)(void *self, const struct tide_step *step, void *token);
};

enum tide_status tide_run_order_create(const struct tide_plan_tables *tables,
                                       const struct tide_allocator *allocator,
                                       const struct tide_run_order_client *client,
                                       struct tide_run_order **out_order);
void tide_run_order_destroy(struct tide_run_order *order);
/* Processes an operation, a part or a signal by the host. Ignores other steps. */
enum tide_status tide_run_order_step(struct tide_run_order *order, const struct tide_step *step,
                                     struct tide_diag *diag);
/* Called after the last step. TIDE_DEADLOCK, with the position, when a step is still kept. */
enum tide_status tide_run_order_finish(const struct tide_run_order *order, struct tide_diag *diag);

#endif
