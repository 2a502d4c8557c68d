/* timeline/pending_value.h: values that end one by one, for the backing of point/ (future timelines
 * and compounds).
 *
 * An ordinary timeline fails from a value upward. Here each pending value has its own struct
 * tide_pending_value, which holds its waiters in place of the timeline's counter. Reaching a value
 * ends all pending values up to it well. When a value breaks, its struct becomes a *broken range*,
 * and no other value is affected: every wait for the value, now or later, fails with the range's
 * status. Adjacent ranges with one status are joined.
 *
 *       reached.value 3        broken ranges  2..2: owner died        pending values  4 5
 *
 * A value that is neither pending, reached nor broken fails at once with TIDE_NOT_FOUND, so that no
 * thread waits for a value without a promiser. "v is good" takes two loads: reached.value >= v and
 * v < lowest_broken; from lowest_broken on a look-up is needed, under the guard.
 *
 * The guard is the scheduler's lock from the start. The structs lie in the promises of point/. */
#ifndef TIDE_TIMELINE_PENDING_VALUE_H
#define TIDE_TIMELINE_PENDING_VALUE_H

#include "timeline/timeline_state.h"

struct tide_pending_value {
  struct tide_tree_node node; /* key: the value; in a broken range, its last value */
  struct tide_counter waiters;
  uint64_t first;  /* the first value of a broken range */
  uint32_t status; /* the status of a broken range; TIDE_OK: still pending */
};

static inline struct tide_pending_value *tide_pending_value_of(struct tide_tree_node *node) {
  return (struct tide_pending_value *)(void *)node;
}

/* Creates a timeline of this kind, guarded by the scheduler's lock. `ops` uses the look-up, await
 * and forget below. TIDE_NOMEM. */
enum tide_status tide_timeline_create_single(struct tide_context *context,
                                             const struct tide_timeline_params *params,
                                             const struct tide_value_ops *ops,
                                             struct tide_timeline **out_timeline);

/* ---- under the guard ---- */

/* Adds a pending value, above all earlier ones. `pending` has no waiters. */
static inline void tide_pending_add_locked(struct tide_timeline *timeline,
                                           struct tide_pending_value *pending, uint64_t value) {
  TIDE_ASSERT(value > timeline->reached.value);
  pending->first = value;
  pending->status = TIDE_OK;
  TIDE_ASSERT(tide_counter_empty(&pending->waiters));
  bool is_new = tide_tree_insert(&timeline->pending_values, &pending->node, value);
  TIDE_ASSERT(is_new);
}
/* Returns a pending value; NULL: it has ended or was never added. */
struct tide_pending_value *tide_pending_find_locked(const struct tide_timeline *timeline,
                                                    uint64_t value);
/* Removes a pending value up to the reached value, and fires its waiters. NULL if none is left. */
static inline struct tide_pending_value *tide_pending_pass_locked(struct tide_timeline *timeline,
                                                                  struct tide_fired *fired) {
  struct tide_tree_node *first = timeline->pending_values.first;
  if (!first || first->key > timeline->reached.value) return NULL;
  struct tide_pending_value *pending = tide_pending_value_of(first);
  tide_tree_remove(&timeline->pending_values, first);
  if (tide_counter_empty(&pending->waiters)) return pending;
  pending->waiters.value = first->key;
  tide_counter_pop(&pending->waiters, first->key, fired, TIDE_OK);
  return pending;
}
/* Breaks a pending value, and fires its waiters with `status`. Adjacent broken ranges of one status
 * are joined: returns the number of pending values (0 to 2) that this frees, in out_freed. */
unsigned tide_pending_break_locked(struct tide_timeline *timeline,
                                   struct tide_pending_value *pending, enum tide_status status,
                                   struct tide_fired *fired,
                                   struct tide_pending_value *out_freed[2]);
/* Drops all broken ranges before their memory is freed; no value is pending. References to the
 * timeline may remain: from lowest_broken on every value then fails with TIDE_CANCELLED. */
void tide_pending_forget_all_locked(struct tide_timeline *timeline);
/* Returns the state of a value. Failed: *out_status is the reason. Pending: *out_pending (may be
 * NULL) is its struct. */
enum tide_await tide_pending_look_locked(const struct tide_timeline *timeline, uint64_t value,
                                         enum tide_status *out_status,
                                         struct tide_pending_value **out_pending);
/* The entries of struct tide_value_ops. */
enum tide_await tide_pending_look_alone(const struct tide_timeline *timeline, uint64_t value,
                                        enum tide_status *out_status);
enum tide_await tide_pending_await_locked(struct tide_timeline *timeline, uint64_t value,
                                          struct tide_node *node);
bool tide_pending_forget_locked(struct tide_timeline *timeline, struct tide_node *node);
/* Does tide_pending_look_locked, in line for the newest and the oldest pending value, the usual
 * ones. `out_pending` must not be NULL. */
static inline enum tide_await tide_pending_look(const struct tide_timeline *timeline,
                                                uint64_t value, enum tide_status *out_status,
                                                struct tide_pending_value **out_pending) {
  struct tide_tree_node *node = timeline->pending_values.last;
  if (node && node->key != value) node = timeline->pending_values.first;
  if (!node || node->key != value || timeline->reached.value >= value || timeline->status)
    return tide_pending_look_locked(timeline, value, out_status, out_pending);
  *out_pending = tide_pending_value_of(node);
  return TIDE_AWAIT_QUEUED;
}

/* ---- timepoints at pending values: timepoint.c ---- */

/* True if the timepoint has a call, and its notifier, if any, belongs to this context. */
bool tide_timepoint_fits(const struct tide_timepoint *timepoint, struct tide_context *context);
/* Queues a timepoint; its call, timeline and value are set. If the result is not TIDE_AWAIT_QUEUED,
 * the caller must use tide_timepoint_call after releasing the guard. */
enum tide_await tide_timepoint_add_single(struct tide_timepoint *timepoint);
void tide_timepoint_call(struct tide_timepoint *timepoint);
/* Runs nodes that timelines have fired, as tide_fired_run does, but consecutive calls of timepoints
 * in one go. The caller holds no lock. */
void tide_fired_run_calls(struct tide_fired *fired, struct tide_context *context);
/* Begins the call of a node that this timeline has fired, while the guard is held, so that it need
 * not be taken again to release the timeline. False: the node is not such a call, or another thread
 * runs the context's callbacks; nothing has changed. */
bool tide_timepoint_begin_locked(struct tide_timeline *timeline, struct tide_node *node);
/* Does tide_fired_run_calls, after the first node's call has begun. */
void tide_fired_run_begun(struct tide_fired *fired, struct tide_context *context);

#endif
