/* program/run_order.h: in which order the operations of a plan may be done, one
 * after the other.
 *
 * Steps come in the program's order, in which a wait may stand before its signal.
 * Such an operation is kept, as a scheduler holds it: later ones of its queue stay
 * behind it, unless it may be passed. The parts of a collective go together. What
 * `enter` is called for comes after all that it waits for. */
#ifndef TIDE_PROGRAM_RUN_TURNS_H
#define TIDE_PROGRAM_RUN_TURNS_H

#include "tidemark/program.h"

struct tide_run_order;

struct tide_run_order_client {
  void *self;
  /* Its turn has come. `token` is what keep returned, NULL when it was not kept. */
  enum tide_status (*enter)(void *self, const struct tide_step *step, void *token,
                            struct tide_diag *diag);
  /* It has to wait: a copy is made of the step; the client notes what it will need. NULL: no
   * memory. */
  void *(*keep)(void *self, const struct tide_step *step);
  /* It will not come: gives back what keep returned. */
  void (*forget)(void *self, const struct tide_step *step, void *token);
};

enum tide_status tide_run_order_create(const struct tide_plan_tables *tables,
                                       const struct tide_allocator *allocator,
                                       const struct tide_run_order_client *client,
                                       struct tide_run_order **out_order);
void tide_run_order_destroy(struct tide_run_order *order);
/* An operation, a part, or a signal by the host; other steps are none of its business. */
enum tide_status tide_run_order_step(struct tide_run_order *order, const struct tide_step *step,
                                     struct tide_diag *diag);
/* After the last step: TIDE_DEADLOCK, with the place, when something is still kept. */
enum tide_status tide_run_order_finish(const struct tide_run_order *order, struct tide_diag *diag);

#endif
