/* Timelines with values that end one by one (timeline/pending_value.h). */
#include "timeline/pending_value.h"
#include "base/check.h"

enum tide_status tide_timeline_create_single(struct tide_context *context,
                                             const struct tide_timeline_params *params,
                                             const struct tide_value_ops *ops,
                                             struct tide_timeline **out_timeline) {
  enum tide_status status = tide_timeline_make(context, params, out_timeline);
  if (status != TIDE_OK) return status;
  (*out_timeline)->guard = context->sched_lock;
  tide_timeline_open_on(*out_timeline, ops, NULL);
  return TIDE_OK;
}

struct tide_pending_value *tide_pending_find_locked(const struct tide_timeline *timeline,
                                                    uint64_t value) {
  struct tide_tree_node *node = tide_tree_at_least(&timeline->pending_values, value);
  return node && node->key == value ? tide_pending_value_of(node) : NULL;
}

/* Returns the broken range that contains a value; NULL: none. */
static struct tide_pending_value *broken_at(const struct tide_timeline *timeline, uint64_t value) {
  struct tide_tree_node *node = tide_tree_at_least(&timeline->broken_ranges, value);
  return node && tide_pending_value_of(node)->first <= value ? tide_pending_value_of(node) : NULL;
}

/* Joins a broken range with its neighbours, if they touch and have the same status. A joined range
 * lies in the later struct; the earlier one is freed. Returns the number freed. */
static unsigned join_ranges(struct tide_timeline *timeline, struct tide_pending_value *pending,
                            struct tide_pending_value *out_freed[2]) {
  unsigned freed = 0;
  for (int side = 0; side < 2; side++) {
    struct tide_pending_value *later = pending;
    if (side == 1) {
      struct tide_tree_node *node = tide_tree_next(&pending->node);
      if (!node) break;
      later = tide_pending_value_of(node);
    }
    struct tide_tree_node *before = tide_tree_previous(&later->node);
    struct tide_pending_value *earlier = before ? tide_pending_value_of(before) : NULL;
    if (!earlier || earlier->node.key + 1 != later->first || earlier->status != later->status)
      continue;
    later->first = earlier->first;
    tide_tree_remove(&timeline->broken_ranges, &earlier->node);
    out_freed[freed++] = earlier;
    pending = later;
  }
  return freed;
}

unsigned tide_pending_break_locked(struct tide_timeline *timeline,
                                   struct tide_pending_value *pending, enum tide_status status,
                                   struct tide_fired *fired,
                                   struct tide_pending_value *out_freed[2]) {
  uint64_t value = pending->node.key;
  TIDE_ASSERT(status != TIDE_OK && !pending->status);
  tide_tree_remove(&timeline->pending_values, &pending->node);
  pending->status = (uint32_t)status;
  tide_tree_insert(&timeline->broken_ranges, &pending->node, value);
  if (value < timeline->lowest_broken) tide_store_release(&timeline->lowest_broken, value);
  if (tide_timeline_traced(timeline))
    tide_timeline_emit(timeline, TIDE_EVENT_BREAK, value, 0, 0, NULL, status);
  tide_counter_pop_from(&pending->waiters, 0, fired, status);
  /* Held operations check their waits again: some in vain, but none is missed. */
  if (tide_counter_least(&timeline->promised) <= value) {
    tide_counter_pop(&timeline->promised, value, fired, TIDE_OK);
    tide_timeline_refresh(timeline);
  }
  return join_ranges(timeline, pending, out_freed);
}

/* Returns the state of a value that is not pending. */
static enum tide_await look_at_ended(const struct tide_timeline *timeline, uint64_t value,
                                     enum tide_status *out_status) {
  bool reached = timeline->reached.value >= value;
  if (timeline->gone) {
    *out_status = TIDE_CANCELLED; /* from the lowest broken range on, the states are lost */
    return reached && value < timeline->lowest_broken ? TIDE_AWAIT_REACHED : TIDE_AWAIT_FAILED;
  }
  struct tide_pending_value *broken = broken_at(timeline, value);
  if (broken) {
    *out_status = (enum tide_status)broken->status;
    return TIDE_AWAIT_FAILED;
  }
  if (reached) return TIDE_AWAIT_REACHED;
  bool failed = tide_timeline_has_failed(timeline, value);
  *out_status = failed ? (enum tide_status)timeline->status : TIDE_NOT_FOUND;
  return TIDE_AWAIT_FAILED;
}

enum tide_await tide_pending_look_locked(const struct tide_timeline *timeline, uint64_t value,
                                         enum tide_status *out_status,
                                         struct tide_pending_value **out_pending) {
  if (timeline->reached.value < value && !tide_timeline_has_failed(timeline, value)) {
    struct tide_pending_value *pending = tide_pending_find_locked(timeline, value);
    if (pending) {
      if (out_pending) *out_pending = pending;
      return TIDE_AWAIT_QUEUED;
    }
  }
  return look_at_ended(timeline, value, out_status);
}

enum tide_await tide_pending_look_alone(const struct tide_timeline *timeline, uint64_t value,
                                        enum tide_status *out_status) {
  return tide_pending_look_locked(timeline, value, out_status, NULL);
}

void tide_pending_forget_all_locked(struct tide_timeline *timeline) {
  TIDE_ASSERT(!timeline->pending_values.root);
  timeline->broken_ranges = (struct tide_tree){.root = NULL};
  timeline->gone = true;
}

enum tide_await tide_pending_await_locked(struct tide_timeline *timeline, uint64_t value,
                                          struct tide_node *node) {
  enum tide_status status;
  struct tide_pending_value *pending;
  enum tide_await stands = tide_pending_look_locked(timeline, value, &status, &pending);
  if (stands == TIDE_AWAIT_QUEUED) tide_counter_add(&pending->waiters, node, value);
  return stands;
}

bool tide_pending_forget_locked(struct tide_timeline *timeline, struct tide_node *node) {
  struct tide_pending_value *pending = tide_pending_find_locked(timeline, node->value);
  return pending && tide_counter_remove(&pending->waiters, node);
}
