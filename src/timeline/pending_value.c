/* Values that end one by one. */
#include "timeline/pending_value.h"
#include "base/check.h"

enum tide_status tide_timeline_create_turned(const struct tide_context *context,
                                             const struct tide_timeline_params *params,
                                             struct tide_timeline **out_timeline) {
  enum tide_status status = tide_timeline_create(context, params, out_timeline);
  if (status != TIDE_OK) return status;
  (*out_timeline)->turned = true;
  (*out_timeline)->guard = context->sched_lock;
  tide_timeline_refresh(*out_timeline);
  return TIDE_OK;
}

struct tide_turn *tide_turn_find_locked(const struct tide_timeline *timeline, uint64_t value) {
  struct tide_tree_node *node = tide_tree_at_least(&timeline->turns, value);
  return node && node->key == value ? tide_turn_of(node) : NULL;
}

/* The hole that this value is part of; NULL: none. */
static struct tide_turn *hole_at(const struct tide_timeline *timeline, uint64_t value) {
  struct tide_tree_node *node = tide_tree_at_least(&timeline->holes, value);
  return node && tide_turn_of(node)->first <= value ? tide_turn_of(node) : NULL;
}

/* Holes of one status that touch become one, which lies in the later turn. */
static unsigned join(struct tide_timeline *timeline, struct tide_turn *turn,
                     struct tide_turn *out_freed[2]) {
  unsigned freed = 0;
  for (int side = 0; side < 2; side++) {
    struct tide_turn *later = turn;
    if (side == 1) {
      struct tide_tree_node *node = tide_tree_next(&turn->node);
      if (!node) break;
      later = tide_turn_of(node);
    }
    struct tide_tree_node *before = tide_tree_previous(&later->node);
    struct tide_turn *earlier = before ? tide_turn_of(before) : NULL;
    if (!earlier || earlier->node.key + 1 != later->first || earlier->status != later->status)
      continue;
    later->first = earlier->first;
    tide_tree_remove(&timeline->holes, &earlier->node);
    out_freed[freed++] = earlier;
    turn = later;
  }
  return freed;
}

unsigned tide_turn_break_locked(struct tide_timeline *timeline, struct tide_turn *turn,
                                enum tide_status status, struct tide_fired *fired,
                                struct tide_turn *out_freed[2]) {
  uint64_t value = turn->node.key;
  TIDE_ASSERT(status != TIDE_OK && !turn->status);
  tide_tree_remove(&timeline->turns, &turn->node);
  turn->status = (uint32_t)status;
  tide_tree_insert(&timeline->holes, &turn->node, value);
  if (value < timeline->lowest_hole) tide_store_release(&timeline->lowest_hole, value);
  if (tide_timeline_heard(timeline))
    tide_timeline_emit(timeline, TIDE_EVENT_BREAK, value, 0, 0, NULL, status);
  tide_counter_pop_from(&turn->waiters, 0, fired, status);
  /* Held operations look again: some of them for nothing, none is forgotten. */
  if (tide_counter_least(&timeline->promised) <= value) {
    tide_counter_pop(&timeline->promised, value, fired, TIDE_OK);
    tide_timeline_refresh(timeline);
  }
  return join(timeline, turn, out_freed);
}

/* Of one without a turn that is still to end. */
static enum tide_await look_at_ended(const struct tide_timeline *timeline, uint64_t value,
                                     enum tide_status *out_status) {
  bool reached = timeline->reached.value >= value;
  if (timeline->gone) {
    *out_status = TIDE_CANCELLED; /* from the lowest hole on, nobody knows any more */
    return reached && value < timeline->lowest_hole ? TIDE_AWAIT_REACHED : TIDE_AWAIT_FAILED;
  }
  struct tide_turn *hole = hole_at(timeline, value);
  if (hole) {
    *out_status = (enum tide_status)hole->status;
    return TIDE_AWAIT_FAILED;
  }
  if (reached) return TIDE_AWAIT_REACHED;
  bool failed = tide_timeline_has_failed(timeline, value);
  *out_status = failed ? (enum tide_status)timeline->status : TIDE_NOT_FOUND;
  return TIDE_AWAIT_FAILED;
}

enum tide_await tide_turn_look_locked(const struct tide_timeline *timeline, uint64_t value,
                                      enum tide_status *out_status, struct tide_turn **out_turn) {
  if (timeline->reached.value < value && !tide_timeline_has_failed(timeline, value)) {
    struct tide_turn *turn = tide_turn_find_locked(timeline, value);
    if (turn) {
      if (out_turn) *out_turn = turn;
      return TIDE_AWAIT_QUEUED;
    }
  }
  return look_at_ended(timeline, value, out_status);
}

void tide_turn_forget_all_locked(struct tide_timeline *timeline) {
  TIDE_ASSERT(!timeline->turns.root);
  timeline->holes = (struct tide_tree){.root = NULL};
  timeline->gone = true;
}

enum tide_await tide_turn_await_locked(struct tide_timeline *timeline, uint64_t value,
                                       struct tide_node *node) {
  enum tide_status status;
  struct tide_turn *turn;
  enum tide_await stands = tide_turn_look_locked(timeline, value, &status, &turn);
  if (stands == TIDE_AWAIT_QUEUED) tide_counter_add(&turn->waiters, node, value);
  return stands;
}

bool tide_turn_forget_locked(struct tide_timeline *timeline, struct tide_node *node) {
  struct tide_turn *turn = tide_turn_find_locked(timeline, node->value);
  return turn && tide_counter_remove(&turn->waiters, node);
}
