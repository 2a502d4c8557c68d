/* Waiting for the tracker: for a whole frontier, or for one epoch.
 *
 * All book-keeping of a frontier wait is done under the lock, when its nodes are
 * taken off; only the node that decides the wait is handed out to be fired. So
 * once cancel has found a wait undecided, no other thread holds anything of it. */
#include "base/check.h"
#include "causal/tracker_axis.h"

/* What lies in a struct tide_waiter. */
struct wait_node {
  struct tide_node node;
  struct tide_frontier_wait *wait;
  struct tide_tracker_axis *at;
};
_Static_assert(sizeof(struct wait_node) <= sizeof(struct tide_waiter), "a waiter holds a node");
_Static_assert(_Alignof(struct wait_node) <= _Alignof(struct tide_waiter), "and is aligned for it");

/* wait->remaining while pending: epochs that have not finished; then one of these. */
enum { DECIDED = 0 };
#define NEVER UINT32_MAX /* refused or cancelled: `done` will not run */

static struct wait_node *node_of(struct tide_waiter *waiter) {
  return (struct wait_node *)(void *)waiter;
}

static void fire(struct tide_node *node, enum tide_status status) {
  struct tide_frontier_wait *wait = TIDE_CONTAINER(node, struct wait_node, node)->wait;
  wait->done(wait, status);
}

bool tide_tracker_join_locked(struct tide_tracker_axis *at, struct tide_counter *heap,
                              struct tide_node *node, uint64_t epoch) {
  if (tide_tracker_axis_epoch(at) >= epoch) return false;
  tide_counter_add(heap, node, epoch);
  tide_tracker_axis_least_locked(at);
  if (tide_fetch_or(&at->waits.value, 0) < epoch) return true;
  tide_counter_remove(heap, node);
  tide_tracker_axis_least_locked(at);
  return false;
}

void tide_tracker_open_waits_locked(struct tide_tracker_axis *at, uint64_t epoch,
                                    struct tide_fired *out) {
  struct tide_fired opened;
  tide_fired_init(&opened);
  tide_counter_pop(&at->waits, epoch, &opened, TIDE_OK);
  for (struct tide_node *node; (node = tide_fired_pop(&opened));) {
    struct tide_frontier_wait *wait = TIDE_CONTAINER(node, struct wait_node, node)->wait;
    if (--wait->remaining == DECIDED) tide_fired_push(out, node, TIDE_OK);
  }
}

static void unlink_all_locked(struct tide_frontier_wait *wait) {
  for (uint32_t i = 0; i < wait->count; i++) {
    struct wait_node *node = node_of(&wait->nodes[i]);
    if (tide_counter_remove(&node->at->waits, &node->node))
      tide_tracker_axis_least_locked(node->at);
  }
}

void tide_tracker_fail_waits_locked(struct tide_tracker_axis *at, enum tide_status status,
                                    struct tide_fired *out) {
  struct tide_fired failed;
  tide_fired_init(&failed);
  tide_counter_pop_from(&at->waits, 0, &failed, status);
  for (struct tide_node *node; (node = tide_fired_pop(&failed));) {
    struct tide_frontier_wait *wait = TIDE_CONTAINER(node, struct wait_node, node)->wait;
    unlink_all_locked(wait);
    wait->remaining = DECIDED;
    wait->status = status;
    tide_fired_push(out, node, status);
  }
}

/* Finds the axes' states, NULL for a closed one. False when one is unknown. */
static bool find_all_locked(struct tide_tracker *tracker, const struct tide_frontier *frontier,
                            struct tide_waiter *nodes) {
  const tide_axis *axes = tide_frontier_axes(frontier);
  for (size_t i = 0; i < frontier->count; i++) {
    struct tide_tracker_axis *at = tide_tracker_find_locked(tracker, axes[i]);
    if (!at && !tide_closed_contains(&tracker->closed, axes[i])) return false;
    node_of(&nodes[i])->at = at;
  }
  return true;
}

/* Queues a node for each epoch that has not finished. Nodes move to the front of the array as
 * finished ones are left out. Returns the failure of an axis that cannot finish. */
static enum tide_status join_all_locked(const struct tide_frontier *frontier,
                                        struct tide_frontier_wait *wait) {
  const uint64_t *epochs = tide_frontier_epochs(frontier);
  for (size_t i = 0; i < frontier->count; i++) {
    struct tide_tracker_axis *at = node_of(&wait->nodes[i])->at;
    if (!at) continue;
    struct wait_node *node = node_of(&wait->nodes[wait->count]);
    *node = (struct wait_node){.node.fire = fire, .wait = wait, .at = at};
    if (!tide_tracker_join_locked(at, &at->waits, &node->node, epochs[i])) continue;
    wait->count++;
    wait->remaining++;
    if (at->failure != TIDE_OK) return (enum tide_status)at->failure;
  }
  return TIDE_OK;
}

enum tide_status tide_tracker_wait(struct tide_tracker *tracker,
                                   const struct tide_frontier *frontier,
                                   struct tide_frontier_wait *wait, size_t node_count) {
  wait->tracker = tracker;
  wait->count = 0;
  wait->remaining = NEVER;
  wait->status = TIDE_OK;
  if (frontier->tainted) return TIDE_INVALID;
  if (frontier->count > node_count) return TIDE_FULL;
  tide_tracker_lock(tracker);
  if (!find_all_locked(tracker, frontier, wait->nodes)) {
    tide_tracker_unlock(tracker);
    return TIDE_NOT_FOUND;
  }
  wait->remaining = 0;
  enum tide_status failure = join_all_locked(frontier, wait);
  if (failure != TIDE_OK) {
    unlink_all_locked(wait);
    wait->remaining = DECIDED;
    wait->status = failure;
  }
  bool decided = wait->remaining == DECIDED;
  tide_tracker_unlock(tracker);
  if (decided) wait->done(wait, failure);
  return TIDE_OK;
}

bool tide_tracker_cancel(struct tide_frontier_wait *wait) {
  struct tide_tracker *tracker = wait->tracker;
  tide_tracker_lock(tracker);
  bool never = wait->remaining != DECIDED;
  if (never && wait->remaining != NEVER) {
    unlink_all_locked(wait);
    wait->count = 0;
    wait->remaining = NEVER;
  }
  tide_tracker_unlock(tracker);
  return never;
}

enum tide_finish tide_tracker_wait_finish(struct tide_tracker *tracker, tide_axis axis,
                                          uint64_t epoch, struct tide_node *node) {
  if (tide_tracker_finished(tracker, axis, epoch)) return TIDE_FINISH_ALREADY;
  tide_tracker_lock(tracker);
  enum tide_finish finish = TIDE_FINISH_QUEUED;
  struct tide_tracker_axis *at = tide_tracker_find_locked(tracker, axis);
  if (at) {
    if (!tide_tracker_join_locked(at, &at->finishes, node, epoch)) finish = TIDE_FINISH_ALREADY;
  } else {
    bool closed = tide_closed_contains(&tracker->closed, axis);
    finish = closed ? TIDE_FINISH_ALREADY : TIDE_FINISH_UNKNOWN;
  }
  tide_tracker_unlock(tracker);
  return finish;
}

bool tide_tracker_cancel_finish(struct tide_tracker *tracker, tide_axis axis,
                                struct tide_node *node) {
  tide_tracker_lock(tracker);
  bool never = node->state != TIDE_NODE_FIRED;
  if (node->state == TIDE_NODE_QUEUED) {
    struct tide_tracker_axis *at = tide_tracker_find_locked(tracker, axis);
    TIDE_ASSERT(at); /* closing takes all nodes off */
    tide_counter_remove(&at->finishes, node);
    tide_tracker_axis_least_locked(at);
  }
  tide_tracker_unlock(tracker);
  return never;
}
