/* State and end of a point. A point is a value of a timeline, so its waits are timeline waits. */
#include "base/check.h"
#include "point/point_state.h"

static const char *const state_names[] = {"unknown", "promised", "scheduled", "retired", "broken"};

const char *tide_point_state_name(enum tide_point_state state) {
  return (unsigned)state <= TIDE_POINT_BROKEN ? state_names[state] : state_names[0];
}

static enum tide_status resolve_compound(struct tide_compound *compound, struct tide_point point,
                                         struct tide_resolved *out_resolved) {
  struct tide_dependency_node *node = &compound->unmet.node;
  if (point.value != 1) return TIDE_NOT_FOUND;
  out_resolved->node = node->settled ? NULL : node;
  out_resolved->status = node->ended ? (enum tide_status)node->status : TIDE_OK;
  return TIDE_OK;
}

/* Finds the dependency node for reading only: does not mark the promise as seen. */
static enum tide_status look_at(struct tide_points *points, struct tide_point point,
                                struct tide_resolved *out_resolved) {
  struct tide_compound *compound = tide_slot_find(points, point, TIDE_SLOT_COMPOUND);
  if (compound) return resolve_compound(compound, point, out_resolved);
  struct tide_future *future = tide_slot_find(points, point, TIDE_SLOT_FUTURE);
  if (!future || !tide_future_knows(future, point.value)) return TIDE_NOT_FOUND;
  *out_resolved = (struct tide_resolved){.status = TIDE_OK};
  struct tide_pending_value *pending;
  enum tide_await stands =
      tide_pending_look(future->timeline, point.value, &out_resolved->status, &pending);
  if (stands == TIDE_AWAIT_REACHED) out_resolved->status = TIDE_OK;
  if (stands != TIDE_AWAIT_QUEUED) return TIDE_OK;
  out_resolved->node = &TIDE_CONTAINER(pending, struct tide_promise, unmet.pending)->unmet.node;
  out_resolved->status = TIDE_OK;
  return TIDE_OK;
}

enum tide_status tide_point_resolve(struct tide_points *points, struct tide_point point,
                                    struct tide_resolved *out_resolved) {
  enum tide_status status = look_at(points, point, out_resolved);
  struct tide_dependency_node *node = status == TIDE_OK ? out_resolved->node : NULL;
  if (node && node->kind == TIDE_DEPENDENCY_PROMISE)
    TIDE_CONTAINER(node, struct tide_promise, unmet.node)->seen = true;
  return status;
}

enum tide_status tide_point_state(struct tide_points *points, struct tide_point point,
                                  enum tide_point_state *out_state, enum tide_status *out_status) {
  struct tide_resolved found;
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(points);
  tide_points_expire_unwatched(points, &fired);
  enum tide_status status = look_at(points, point, &found);
  if (status == TIDE_OK) {
    bool ended = !found.node || found.node->ended;
    if (ended) *out_state = found.status ? TIDE_POINT_BROKEN : TIDE_POINT_RETIRED;
    else *out_state = found.node->scheduled ? TIDE_POINT_SCHEDULED : TIDE_POINT_PROMISED;
    if (out_status) *out_status = ended ? found.status : TIDE_OK;
  }
  tide_points_unlock(points, &fired);
  return status;
}

static inline struct tide_timeline *find_timeline(const struct tide_points *points,
                                                  const struct tide_point *point) {
  const struct tide_slot *slot = tide_slot_of(points, point);
  if (!slot || slot->kind == TIDE_SLOT_FREE) return NULL;
  if (slot->kind == TIDE_SLOT_COMPOUND)
    return point->value == 1 ? ((const struct tide_compound *)slot->object)->unmet.timeline : NULL;
  const struct tide_future *future = slot->object;
  return tide_future_knows(future, point->value) ? future->timeline : NULL;
}

struct tide_timeline *tide_point_find_timeline(const struct tide_points *points,
                                               struct tide_point point) {
  return find_timeline(points, &point);
}

enum tide_status tide_point_timeline(struct tide_points *points, struct tide_point point,
                                     struct tide_timeline **out_timeline, uint64_t *out_value) {
  struct tide_lock *lock = tide_points_lock(points);
  struct tide_timeline *timeline = tide_point_find_timeline(points, point);
  if (timeline) tide_timeline_retain(timeline);
  tide_lock_give(lock);
  if (!timeline) return TIDE_NOT_FOUND;
  *out_timeline = timeline;
  *out_value = point.value;
  return TIDE_OK;
}

/* Waits where no thread watches the deadlines: wakes at each deadline to break overdue promises. */
static enum tide_status wait_watching(struct tide_points *points, struct tide_timeline *timeline,
                                      uint64_t value, uint64_t deadline) {
  enum tide_status status;
  for (;;) {
    uint64_t next;
    tide_points_expire(points, &next);
    bool last = deadline <= next;
    status = tide_timeline_wait(timeline, value, last ? deadline : next);
    if (status != TIDE_TIMEOUT || last) return status;
  }
}

/* Reads the state in one hold of the lock. False: the caller must sleep. */
static bool look_once(struct tide_points *points, const struct tide_point *point, uint64_t deadline,
                      enum tide_status *out_status) {
  struct tide_pending_value *pending;
  enum tide_await stands = TIDE_AWAIT_FAILED;
  struct tide_lock *lock = tide_points_lock(points);
  const struct tide_timeline *timeline = find_timeline(points, point);
  *out_status = TIDE_NOT_FOUND;
  if (timeline) stands = tide_pending_look(timeline, point->value, out_status, &pending);
  if (stands == TIDE_AWAIT_REACHED) tide_timeline_emit_seen(timeline, point->value);
  tide_lock_give(lock);
  if (stands == TIDE_AWAIT_REACHED) *out_status = TIDE_OK;
  if (stands == TIDE_AWAIT_QUEUED) *out_status = TIDE_TIMEOUT;
  return stands != TIDE_AWAIT_QUEUED || deadline == TIDE_NOW;
}

enum tide_status tide_point_wait(struct tide_points *points, struct tide_point point,
                                 uint64_t deadline) {
  struct tide_timeline *timeline;
  uint64_t value;
  enum tide_status status;
  if (points->thread && look_once(points, &point, deadline, &status)) return status;
  status = tide_point_timeline(points, point, &timeline, &value);
  if (status != TIDE_OK) return status;
  struct tide_context *context = points->context;
  tide_waiting_begin(context);
  status = points->thread ? tide_timeline_wait(timeline, value, deadline)
                          : wait_watching(points, timeline, value, deadline);
  tide_timeline_release(timeline);
  tide_waiting_end(context);
  return status;
}

enum tide_status tide_point_when_complete(struct tide_points *points, struct tide_point point,
                                          struct tide_timepoint *timepoint) {
  if (!tide_timepoint_fits(timepoint, points->context)) return TIDE_INVALID;
  struct tide_lock *lock = tide_points_lock(points);
  struct tide_timeline *timeline = find_timeline(points, &point);
  enum tide_await state = TIDE_AWAIT_FAILED;
  if (timeline) {
    timepoint->timeline = timeline;
    timepoint->value = point.value;
    state = tide_timepoint_add_single(timepoint);
  }
  tide_lock_give(lock);
  if (!timeline) return TIDE_NOT_FOUND;
  if (state != TIDE_AWAIT_QUEUED) tide_timepoint_call(timepoint);
  return TIDE_OK;
}
