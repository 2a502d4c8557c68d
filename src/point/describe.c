/* How timelines stand, for people who look. Nothing is kept for it: what is asked for is counted,
 * as far as that takes a bounded time under the lock. */
#include "base/memory.h"
#include "point/point.h"

#define STEPS_MOST 4096u /* promises and holes that are looked at */

static uint64_t due_of(const struct tide_debt *debt) {
  return debt->due.state == TIDE_NODE_QUEUED ? debt->due.value : TIDE_FOREVER;
}

static void count_turns(const struct tide_timeline *timeline, struct tide_described *out) {
  uint32_t steps = 0;
  struct tide_tree_node *node = timeline->turns.first;
  for (; node && steps < STEPS_MOST; node = tide_tree_next(node), steps++) {
    const struct tide_promise *promise =
        TIDE_CONTAINER(tide_turn_of(node), struct tide_promise, debt.turn);
    if (promise->debt.gate.defined) {
      out->queued++;
      continue;
    }
    if (!out->owed++) out->oldest_due = due_of(&promise->debt);
  }
  out->cut |= node != NULL;
}

static void count_holes(const struct tide_timeline *timeline, struct tide_described *out) {
  uint32_t steps = 0;
  struct tide_tree_node *node = timeline->holes.first;
  for (; node && steps < STEPS_MOST; node = tide_tree_next(node), steps++)
    out->broken += node->key - tide_turn_of(node)->first + 1;
  out->cut |= node != NULL;
}

void tide_future_describe(const struct tide_future *future, struct tide_described *out) {
  struct tide_lock *lock = tide_points_lock(future->points);
  const struct tide_timeline *timeline = future->timeline;
  *out = (struct tide_described){
      .value = timeline->reached.value, .newest = future->newest, .capacity = future->capacity};
  memcpy(out->label, timeline->label, sizeof out->label);
  count_turns(timeline, out);
  count_holes(timeline, out);
  tide_lock_give(lock);
}

enum tide_status tide_compound_describe(struct tide_points *points, struct tide_point name,
                                        struct tide_described *out) {
  struct tide_lock *lock = tide_points_lock(points);
  const struct tide_compound *compound = tide_slot_find(points, name, TIDE_SLOT_COMPOUND);
  *out = (struct tide_described){.newest = 1, .capacity = 1};
  if (compound) {
    const struct tide_gate *gate = &compound->debt.gate;
    bool open = !gate->ended;
    out->stand_in = gate->kind == TIDE_GATE_STAND_IN;
    out->value = gate->ended && !gate->status;
    out->broken = gate->ended && gate->status;
    out->queued = open && (gate->defined || gate->scheduled);
    out->owed = open && !out->queued;
    out->parts = compound->parts;
    if (out->owed) out->oldest_due = due_of(&compound->debt);
  }
  tide_lock_give(lock);
  return compound ? TIDE_OK : TIDE_NOT_FOUND;
}
