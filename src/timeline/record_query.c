/* Queries of a host about a reached value. */
#include "timeline/timeline_state.h"

static enum tide_status find_record(struct tide_timeline *timeline, uint64_t value,
                                    struct tide_record_view *out_view) {
  if (value > timeline->reached.value) return TIDE_TIMEOUT;
  if (value <= timeline->initial) return TIDE_NOT_FOUND;
  enum tide_status status;
  if (tide_timeline_look_locked(timeline, value, &status) == TIDE_AWAIT_FAILED) return status;
  if (!tide_timeline_reached_locked(timeline, value, out_view))
    *out_view = (struct tide_record_view){.value = value, .reached = true};
  return TIDE_OK;
}

enum tide_status tide_timeline_frontier_at(struct tide_timeline *timeline, uint64_t value,
                                           struct tide_frontier *out_frontier,
                                           struct tide_record_info *out_info) {
  struct tide_record_view view;
  struct tide_lock *guard = tide_timeline_lock(timeline);
  enum tide_status status = find_record(timeline, value, &view);
  if (status == TIDE_OK && out_frontier) {
    if (view.frontier) {
      struct tide_eviction eviction = {timeline->context->tracker, view.axis};
      tide_frontier_copy(out_frontier, view.frontier, &eviction);
    } else {
      tide_frontier_clear(out_frontier);
      out_frontier->tainted = 1;
    }
  }
  tide_lock_give(guard);
  if (status == TIDE_OK && out_info)
    *out_info = (struct tide_record_info){.value = view.value,
                                          .axis = view.axis,
                                          .epoch = view.axis ? view.epoch : 0,
                                          .external = !view.frontier,
                                          .coarse = view.coarse};
  return status;
}

enum tide_status tide_timeline_import(struct tide_timeline *timeline, uint64_t value,
                                      struct tide_position *position) {
  struct tide_record_view view;
  struct tide_lock *guard = tide_timeline_lock(timeline);
  enum tide_status status = find_record(timeline, value, &view);
  if (status == TIDE_OK && view.frontier) {
    struct tide_eviction eviction = {timeline->context->tracker, position->axis};
    tide_frontier_merge(position->frontier, view.frontier, &eviction);
  }
  tide_lock_give(guard);
  return status;
}
