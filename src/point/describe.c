/* Descriptions of timelines and compounds, for diagnostics. Nothing is counted in advance: each
 * call counts, up to a limit that bounds the time under the lock. */
#include "base/alloc.h"
#include "point/point_state.h"

#define STEPS_MOST 4096u /* promises or broken ranges that one call counts */

static uint64_t due_of(const struct tide_unmet *unmet) {
  return unmet->due.state == TIDE_NODE_QUEUED ? unmet->due.value : TIDE_FOREVER;
}

static void count_pending(const struct tide_timeline *timeline, struct tide_described *out) {
  uint32_t steps = 0;
  struct tide_tree_node *tree_node = timeline->pending_values.first;
  for (; tree_node && steps < STEPS_MOST; tree_node = tide_tree_next(tree_node), steps++) {
    const struct tide_promise *promise =
        TIDE_CONTAINER(tide_pending_value_of(tree_node), struct tide_promise, unmet.pending);
    if (promise->unmet.node.defined) {
      out->queued++;
      continue;
    }
    if (!out->owed++) out->oldest_due = due_of(&promise->unmet);
  }
  out->cut |= tree_node != NULL;
}

static void count_broken(const struct tide_timeline *timeline, struct tide_described *out) {
  uint32_t steps = 0;
  struct tide_tree_node *tree_node = timeline->broken_ranges.first;
  for (; tree_node && steps < STEPS_MOST; tree_node = tide_tree_next(tree_node), steps++)
    out->broken += tree_node->key - tide_pending_value_of(tree_node)->first + 1;
  out->cut |= tree_node != NULL;
}

void tide_future_describe(const struct tide_future *future, struct tide_described *out) {
  struct tide_lock *lock = tide_points_lock(future->points);
  const struct tide_timeline *timeline = future->timeline;
  *out = (struct tide_described){
      .value = timeline->reached.value, .newest = future->newest, .capacity = future->capacity};
  memcpy(out->label, timeline->label, sizeof out->label);
  count_pending(timeline, out);
  count_broken(timeline, out);
  tide_lock_give(lock);
}

enum tide_status tide_compound_describe(struct tide_points *points, struct tide_point name,
                                        struct tide_described *out) {
  struct tide_lock *lock = tide_points_lock(points);
  const struct tide_compound *compound = tide_slot_find(points, name, TIDE_SLOT_COMPOUND);
  *out = (struct tide_described){.newest = 1, .capacity = 1};
  if (compound) {
    const struct tide_dependency_node *node = &compound->unmet.node;
    bool open = !node->ended;
    out->stand_in = node->kind == TIDE_DEPENDENCY_STAND_IN;
    out->value = node->ended && !node->status;
    out->broken = node->ended && node->status;
    out->queued = open && (node->defined || node->scheduled);
    out->owed = open && !out->queued;
    out->parts = compound->parts;
    if (out->owed) out->oldest_due = due_of(&compound->unmet);
  }
  tide_lock_give(lock);
  return compound ? TIDE_OK : TIDE_NOT_FOUND;
}
