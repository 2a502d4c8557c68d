/* sched/sched.h: the scheduler's private functions, by the file that has them. */
#ifndef TIDE_SCHED_SCHED_H
#define TIDE_SCHED_SCHED_H

#include "base/check.h"
#include "sched/ahead.h"
#include "sched/op_failure.h"
#include "sched/operation_storage.h"
#include "sched/scheduler_pass.h"

/* Keeps code for rare operations out of line, so that the common path saves no registers for it. */
#define TIDE_APART __attribute__((noinline))

struct tide_change;

/* ---- elide.c ---- */
enum tide_verdict { TIDE_ENTER_OK, TIDE_ENTER_HELD, TIDE_ENTER_FAILS };
/* Classifies every wait, and sets sched->known to the frontier that the operation would start with.
 * Changes only the waits' own fields, and the frontier's taint if its past has finished. */
enum tide_verdict tide_elide(struct tide_queue *queue, struct tide_op *op);
/* Merges a whole frontier into `known` for an operation of this queue. */
void tide_sched_learn(struct tide_queue *queue, const struct tide_frontier *frontier);
/* Checks that the operation raises each timeline that it signals, and is ordered behind the newest
 * signaller. Uses sched->known. TIDE_VALUE, TIDE_UNORDERED. */
enum tide_status tide_signals_check(struct tide_queue *queue, struct tide_op *op,
                                    struct tide_diag *diag);
/* True if (axis, epoch) is known or has finished; *out_reason says which. */
bool tide_signaller_satisfied(struct tide_sched *sched, const struct tide_frontier *known,
                              tide_axis axis, uint64_t epoch, uint8_t *out_reason);

/* ---- lost_order.c ---- */
/* Returns the reservation that rules out a value, NULL if none: of the same value, or of a higher
 * one by an operation that precedes a new one in the queue. */
const struct tide_tree_node *tide_reservation_above(const struct tide_queue *queue,
                                                    const struct tide_timeline *timeline,
                                                    uint64_t value);
/* True if this signal of the queue's new operation may be out of order because another operation
 * has failed. `enters`: it has been classified; else it is held, or not there yet. */
bool tide_order_may_be_lost(struct tide_queue *queue, const struct tide_timeline *timeline,
                            uint64_t value, bool enters);
typedef enum tide_status tide_signals_test(struct tide_queue *queue, struct tide_op *op,
                                           struct tide_diag *diag);
/* Decides about a new operation whose signals do not pass this test. TIDE_OK: a failure may be why;
 * the operation has failed, and is accepted. Else it is refused, which the diag describes. */
enum tide_status tide_order_judge(struct tide_op *op, tide_signals_test *test, bool enters,
                                  struct tide_diag *diag);

/* ---- order_search.c ---- */
/* True if the operation, which enters next, is ordered behind an unfinished one. Frontiers need not
 * list that one. Takes time for each operation that entered after it, so it is for a refusal. */
bool tide_order_is_behind(struct tide_op *op, const struct tide_op *target);

/* ---- device.c ---- */
/* Destroys the device's queues that its user left. */
void tide_device_destroy_queues_locked(struct tide_device *device);

/* ---- queue.c ---- */
/* The backing of the progress timeline; its argument is the queue, NULL once that is gone. */
extern const struct tide_value_ops tide_queue_backing;
/* Finds the epoch of the progress timeline's record for `value`; false if there is none. */
static inline bool tide_queue_find(struct tide_queue *queue, uint64_t value, uint64_t *out_epoch) {
  uint64_t newest = queue->position.epoch;
  if (value == 0 || value > newest) return false;
  if (newest - value > queue->ring_mask) value = newest - queue->ring_mask;
  *out_epoch = value < queue->oldest ? queue->oldest : value;
  return true;
}
void tide_queue_free_storage(struct tide_queue *queue);
/* Returns what the queue knows beyond its frontier; NULL: nothing, as no instance is under way. */
const struct tide_insight *tide_queue_insight(struct tide_queue *queue,
                                              struct tide_insight *storage);

/* ---- operation_storage.c ---- */
/* Allocates the storage of operations and frontiers. TIDE_NOMEM: it may be there in part. */
enum tide_status tide_queue_make_storage(struct tide_queue *queue);
/* Frees it. */
void tide_queue_free_stores(struct tide_queue *queue);
/* Allocates the whole capacity, if the queue has less. False: it has it, or no memory is left. */
bool tide_queue_grow(struct tide_queue *queue);

/* ---- queue.c ---- */
/* Frees a destroyed queue once it has no operation, draining thread or collective. */
void tide_queue_close_if_over(struct tide_queue *queue);
/* Removes all held operations; their signals fail with `status`. */
void tide_queue_leave_held(struct tide_queue *queue, enum tide_status status);
/* Cancels an operation that has entered and not started. */
void tide_op_cancel(struct tide_op *op, enum tide_status status);
/* Cancels at the client's request: the channel does not fail. */
void tide_op_withdraw(struct tide_op *op);
/* Fails the signals and points of an entered operation before its end. Waiters are notified now;
 * the epoch finishes and the storage is freed at the usual time. */
void tide_op_fail_early(struct tide_op *op, enum tide_status status);
/* Drops the waits of a failed operation, except those with an import from this context. */
void tide_op_give_up_waits(struct tide_op *op);
/* Cancels the queue's operations, and frees the queue after the last one. */
void tide_queue_destroy_locked(struct tide_queue *queue);
/* Wakes the parked threads that drain the queue or wait for capacity. */
void tide_queue_wake_parked(struct tide_queue *queue);
/* Wakes parked threads, if any: the held list has changed, or storage of an operation came free. A
 * thread that waits for the progress timeline instead is no such one: it costs no wake. */
static inline void tide_queue_notify_waiters(struct tide_queue *queue) {
  if (__builtin_expect(queue->parked, 0)) tide_queue_wake_parked(queue);
}

/* ---- enter.c ---- */
/* Gives the operation its epoch, just after its classification: `known` must be current. */
void tide_op_enter(struct tide_queue *queue, struct tide_op *op);
/* Returns the operation's position in the scheduler's order of entry, which may wrap. Valid before
 * the start: from then on work.status is the body's. */
static inline uint32_t tide_op_turn(const struct tide_op *op) { return (uint32_t)op->work.status; }
/* Adds the queue's frontiers since the last call to the statistics. */
void tide_queue_count_frontiers(struct tide_queue *queue);
/* Classifies due held operations again, up to the first that stays held and may not be passed. */
void tide_queue_retry_held(struct tide_queue *queue);
/* Makes a held operation due, which no firm one precedes. */
void tide_op_retry(struct tide_op *op);
void tide_op_hold(struct tide_queue *queue, struct tide_op *op);
bool tide_wait_forget(const struct tide_op *op, struct tide_op_wait *wait);
/* Returns the status of a wait of class TIDE_WAIT_FAILED. */
enum tide_status tide_wait_failure(const struct tide_op *op, const struct tide_op_wait *wait);
/* Releases the reserved signals. */
void tide_op_unreserve(struct tide_op *op);
/* Removes a held operation for good; its signals fail with `status`. */
void tide_op_leave(struct tide_op *op, enum tide_status status);
/* Frees the operation's signals and uses, and notifies its completion. */
void tide_op_free_effects(struct tide_op *op);
static inline void tide_op_free_waits(struct tide_queue *queue, struct tide_op *op) {
  struct tide_store *store = tide_op_store(op);
  struct tide_op_wait *wait = tide_op_waits(op), *first = wait;
  uint32_t count = 1;
  tide_sched_let_go(wait->timeline);
  for (; wait->next; count++) {
    wait = tide_wait_behind(wait);
    tide_sched_let_go(wait->timeline);
  }
  tide_wait_set_next(wait, store->free_waits);
  store->free_waits = first;
  queue->free_waits_count += count;
  op->waits = 0;
}
/* Returns the operation's storage to its queue. */
static inline __attribute__((always_inline)) void tide_op_free(struct tide_op *op) {
  struct tide_queue *queue = op->queue;
  if (op->waits) tide_op_free_waits(queue, op);
  if (op->signals || op->uses || op->told) tide_op_free_effects(op);
  if (__builtin_expect(op->status != TIDE_OK, 0)) tide_op_drop_cause(op);
  op->state = TIDE_OP_FREE;
  struct tide_store *store = tide_op_store(op);
  op->unmet = store->free_ops;
  store->free_ops = (uint32_t)((uint64_t *)(void *)(op + 1) - (uint64_t *)(void *)store->ops);
  queue->free_ops_count++;
  tide_queue_notify_waiters(queue);
}
static inline struct tide_op *tide_queue_op(const struct tide_queue *queue, uint64_t epoch) {
  return queue->slots[epoch & queue->ring_mask].op;
}

/* ---- channel_failure.c ---- */
/* True if a held operation of a channel must enter as failed, regardless of its waits: it is
 * preceded only by a failure. */
bool tide_channel_fails_held(const struct tide_op *op);
/* Ends the channel's failure. Called when an operation with TIDE_RECOVER starts or is skipped. */
void tide_channel_recover(const struct tide_op *op);

/* ---- advance.c ---- */
/* Starts operations in epoch order, as far as they may start. */
void tide_queue_advance(struct tide_queue *queue);
/* Moves next_start beyond the operations that have started. */
void tide_queue_skip_started(struct tide_queue *queue);
/* True if the operation may start, or has failed and may end; else the event that it waits for
 * marks its queue dirty. */
bool tide_op_may_start(struct tide_op *op);
/* Queues an issued wait, unless it is queued or over. */
void tide_wait_arm(struct tide_op *op, struct tide_op_wait *wait);
/* True if (axis, epoch) has finished; else queues the operation's finish node for it. */
bool tide_op_await_finish(struct tide_op *op, tide_axis axis, uint64_t epoch);
/* Returns the value that the wait's end needs. */
uint64_t tide_wait_awaited(const struct tide_op *op, const struct tide_op_wait *wait);
/* Does tide_device_exchange with the lock held. */
size_t tide_device_exchange_locked(struct tide_device *device, struct tide_work *const *done,
                                   size_t done_count, struct tide_work **out_work, size_t most,
                                   bool *out_more);
void tide_wait_fire(struct tide_node *node, enum tide_status status);
/* Returns the wait's node, ready to be queued. */
static inline struct tide_node *tide_wait_queue(struct tide_op *op, struct tide_op_wait *wait) {
  /* Several operations of a device that runs ahead wait at once. */
  wait->apart =
      op->state == TIDE_OP_HELD || wait->index == TIDE_WAITS_FEW || op->queue->ahead != NULL;
  struct tide_wait_node *at = tide_wait_node(op->queue, wait);
  at->op = op;
  at->wait = wait;
  at->node.fire = tide_wait_fire;
  at->node.state = TIDE_NODE_IDLE; /* the union may have held `found` */
  at->node.kind = TIDE_NODE_PLAIN;
  return &at->node;
}
void tide_finish_fire(struct tide_node *node, enum tide_status status);
/* Handle a fired node, with the lock held. */
void tide_wait_fired(struct tide_node *node);
void tide_finish_fired(struct tide_op *op);

/* ---- publication.c ---- */
/* Marks the operation done, after its body has run or was skipped. Publication follows in epoch
 * order. */
void tide_op_finish(struct tide_op *op, enum tide_status status);
/* Publishes done operations in epoch order. */
void tide_queue_publish(struct tide_queue *queue);

/* ---- changes.c ---- */
void tide_queue_open_priority(struct tide_queue *queue, uint8_t base);
/* Starts priority inheritance between queues. */
void tide_sched_prioritise(struct tide_sched *sched);
/* Lends the queue's priority to exactly the queues that its head operation waits for. */
void tide_queue_lend(struct tide_queue *queue);
/* Ends all lending to and from the queue. */
void tide_queue_end_priority(struct tide_queue *queue);

/* ---- queue_points.c ---- */
enum tide_wait_class tide_point_wait_class(const struct tide_op *op,
                                           const struct tide_op_wait *wait);
/* True if the point has ended; *out_status is the operation's result. */
bool tide_point_wait_over(const struct tide_op *op, const struct tide_op_wait *wait,
                          enum tide_status *out_status);
/* Queues the wait until the point ends, or, for a held operation, until its record exists. */
void tide_point_wait_listen(struct tide_op *op, struct tide_op_wait *wait);
/* Removes the wait from its queue; false if its node is about to fire. */
bool tide_point_wait_forget(const struct tide_op *op, struct tide_op_wait *wait);
/* Notify the operation's points: it has entered; its waits are over and it starts next; it has
 * finished or left; its device is lost; its storage is freed. */
void tide_op_points_entered(struct tide_op *op);
void tide_op_points_turn(struct tide_op *op);
void tide_op_points_done(struct tide_op *op);
void tide_op_points_fail(struct tide_op *op);
void tide_op_points_free(struct tide_op *op);
void tide_cancel_fire(struct tide_node *node, enum tide_status status);
void tide_cancel_fired(struct tide_node *node);

/* ---- submit.c ---- */
/* Checks the arguments, the queue's state and its free capacity, for which the queue grows if it
 * can. TIDE_OK, or the submit's error. */
enum tide_status tide_queue_has_capacity(struct tide_queue *queue,
                                         const struct tide_operation *operation,
                                         struct tide_diag *diag);
/* Submits a command that changes priorities, with the lock held. */
enum tide_status tide_op_submit_change(struct tide_queue *queue,
                                       const struct tide_operation *operation,
                                       struct tide_change *change, struct tide_diag *diag);
/* Submits one operation, with the lock held. `instance`: of a collective's part; else NULL. */
enum tide_status tide_op_submit_locked(struct tide_queue *queue,
                                       const struct tide_operation *operation,
                                       struct tide_instance *instance, uint64_t *out_sequence,
                                       struct tide_diag *diag);

/* ---- deadlock.c ---- */
/* True if a cycle may be closed by the operation, which is about to enter, or else to be held. */
bool tide_deadlock_possible(struct tide_op *op, bool enters);
/* True if it closes one, which the diag describes. Its signals are reserved, unless it enters as
 * failed. */
bool tide_deadlock_closes(struct tide_op *op, bool enters, bool fails, struct tide_diag *diag);
/* Called when a held operation has left the queue: those behind it get lower epochs. Before another
 * held one enters, tide_deadlock_fail_cyclic fails those that wait for themselves now. */
void tide_deadlock_note_leaving(const struct tide_queue *queue);
void tide_deadlock_fail_cyclic(struct tide_sched *sched);
/* True if (axis, epoch) may depend on a part that the queue has not submitted yet. */
bool tide_deadlock_awaits_owed(const struct tide_queue *queue, tide_axis axis, uint64_t epoch);
/* True if no operation of this full queue can finish without another submit. */
bool tide_deadlock_full(struct tide_queue *queue, struct tide_diag *diag);

#include "sched/checker.h"
#include "sched/collective.h"

#endif
