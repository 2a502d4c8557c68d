/* Signals and fails timelines: by the host first, then by operations. */
#include "base/check.h"
#include "base/text.h"
#include "causal/tracker.h"
#include "timeline/history.h"
#include "timeline/pending_value.h"
#include "timeline/timeline_state.h"

static inline uint64_t min_value(uint64_t a, uint64_t b) { return a < b ? a : b; }

static inline void limit_quiet(struct tide_timeline *timeline) {
  uint64_t limit = min_value(timeline->host_limit, timeline->wake_at);
  timeline->quiet_below = timeline->newest_external && !timeline->is_followed ? limit : 0;
}

static inline bool may_hosts_signal(const struct tide_timeline *timeline) {
  return timeline->scope >= TIDE_SCOPE_PROCESS && !timeline->operations_only &&
         !timeline->is_backed;
}

void tide_timeline_follow_tell(struct tide_timeline_follow *follow, struct tide_fired *fired) {
  if (tide_exchange(&follow->told, 1u)) return;
  tide_fetch_add(&follow->in_flight, 1u);
  tide_fired_push(fired, &follow->node, TIDE_OK);
}

/* Recomputes host_limit after a change of the pending, reserved or failed values. */
static inline void limit_host(struct tide_timeline *timeline) {
  if (!may_hosts_signal(timeline)) {
    timeline->host_limit = timeline->quiet_below = 0;
    return;
  }
  uint64_t limit = timeline->fail_from;
  if (timeline->pending.first) limit = min_value(limit, timeline->pending.first->key);
  if (timeline->reserved.first) limit = min_value(limit, timeline->reserved.first->key);
  timeline->host_limit = limit;
  limit_quiet(timeline);
}

/* Recomputes wake_at after a change of the waiters. `promised` lies beyond the cache lines of a
 * host's signal, which reads it only if it has a waiter. */
static inline void limit_wakes(struct tide_timeline *timeline) {
  timeline->wake_at = tide_counter_least(&timeline->reached);
  if (__builtin_expect(timeline->awaits_promise, 0))
    timeline->wake_at = min_value(timeline->wake_at, tide_counter_least(&timeline->promised));
  limit_quiet(timeline);
}

void tide_timeline_refresh(struct tide_timeline *timeline) {
  timeline->awaits_promise = !tide_counter_empty(&timeline->promised);
  limit_wakes(timeline);
  limit_host(timeline);
}

/* Fires the waiters up to `value` in both heaps. Under the guard. */
static inline void wake_up_to(struct tide_timeline *timeline, uint64_t value,
                              struct tide_fired *fired) {
  if (tide_counter_least(&timeline->reached) <= value)
    tide_counter_pop(&timeline->reached, value, fired, TIDE_OK);
  if (__builtin_expect(timeline->awaits_promise, 0)) {
    tide_counter_pop(&timeline->promised, value, fired, TIDE_OK);
    timeline->awaits_promise = !tide_counter_empty(&timeline->promised);
  }
  limit_wakes(timeline);
}

enum tide_status tide_timeline_refuses_hosts(const struct tide_timeline *timeline) {
  if (timeline->ops) return timeline->ops->denied;
  return may_hosts_signal(timeline) ? TIDE_OK : TIDE_SCOPE;
}

/* Returns why the host may not signal this value; TIDE_OK if it may. */
static enum tide_status refuse_host_signal(const struct tide_timeline *timeline, uint64_t value) {
  enum tide_status status = tide_timeline_refuses_hosts(timeline);
  if (status != TIDE_OK) return status;
  if (tide_timeline_has_failed(timeline, value)) return (enum tide_status)timeline->status;
  if (value <= timeline->reached.value) return TIDE_VALUE;
  /* UINT64_MAX is never below the limit, and may be allowed. */
  bool promised = (timeline->pending.first && timeline->pending.first->key <= value) ||
                  (timeline->reserved.first && timeline->reserved.first->key <= value);
  return promised ? TIDE_VALUE : TIDE_OK;
}

/* Raises the timeline. The host's own epoch counts as finished; the tracker must know that before
 * the value is reached. */
void tide_timeline_raise_locked(struct tide_timeline *timeline, uint64_t value,
                                struct tide_position *position, struct tide_fired *fired) {
  if (position) {
    tide_history_push_step(timeline, value, position);
    tide_tracker_advance_collect(timeline->context->tracker, position->tracked, position->epoch,
                                 fired);
  } else if (!timeline->newest_external) {
    tide_history_push_external(timeline, value);
    limit_quiet(timeline);
  }
  if (__builtin_expect(tide_timeline_traced(timeline), 0))
    tide_timeline_emit(timeline, TIDE_EVENT_SIGNAL, value, position ? position->axis : 0,
                       position ? position->epoch : 0, position ? position->frontier : NULL,
                       TIDE_OK);
  tide_store_release(&timeline->reached.value, value);
  if (value >= timeline->wake_at) wake_up_to(timeline, value, fired);
  tide_timeline_tell_change(timeline, fired);
}

/* Signals under the guard, and releases it. */
static __attribute__((noinline)) enum tide_status signal_locked(struct tide_timeline *timeline,
                                                                struct tide_lock *guard,
                                                                uint64_t value,
                                                                struct tide_position *position) {
  bool allowed = value > timeline->reached.value && value < timeline->host_limit;
  if (__builtin_expect(!allowed, 0)) {
    enum tide_status status = refuse_host_signal(timeline, value);
    if (status != TIDE_OK) {
      tide_lock_give(guard);
      return status;
    }
  }
  struct tide_context *context = timeline->context;
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_timeline_raise_locked(timeline, value, position, &fired);
  bool begun = fired.first && tide_timepoint_begin_locked(timeline, fired.first);
  tide_lock_give(guard);
  if (begun) tide_fired_run_begun(&fired, context);
  else if (fired.first) tide_fired_run_calls(&fired, context);
  return TIDE_OK;
}

static __attribute__((noinline)) enum tide_status
signal_slow(struct tide_timeline *timeline, uint64_t value, struct tide_position *position) {
  if (position &&
      (!position->tracked || !tide_tracker_axis_is(position->tracked, position->axis))) {
    position->tracked = tide_tracker_find(timeline->context->tracker, position->axis);
    if (!position->tracked) return TIDE_NOT_FOUND;
  }
  return signal_locked(timeline, tide_timeline_lock(timeline), value, position);
}

static __attribute__((noinline)) void emit_external(const struct tide_timeline *timeline,
                                                    uint64_t value) {
  tide_timeline_emit(timeline, TIDE_EVENT_SIGNAL, value, 0, 0, NULL, TIDE_OK);
}

/* Fast path: an external signal after an external one, with a free guard and no waiter. The other
 * cases are functions out of line, so that this one saves no registers. */
enum tide_status tide_timeline_signal(struct tide_timeline *timeline, uint64_t value,
                                      struct tide_position *position) {
  if (position) return signal_slow(timeline, value, position);
  bool heard = tide_timeline_traced(timeline); /* before the exchange, which delays loads */
  struct tide_lock *guard = tide_load_acquire(&timeline->guard);
  if (!tide_lock_take_free(guard)) return signal_slow(timeline, value, NULL);
  if (__builtin_expect(guard != tide_load_relaxed(&timeline->guard), 0)) {
    tide_lock_give(guard);
    return signal_slow(timeline, value, NULL);
  }
  bool quiet = value > timeline->reached.value && value < timeline->quiet_below;
  if (!quiet) return signal_locked(timeline, guard, value, NULL);
  if (__builtin_expect(heard, 0)) emit_external(timeline, value);
  tide_store_release(&timeline->reached.value, value);
  tide_lock_give(guard);
  return TIDE_OK;
}

/* Fails all values from `value` on, under the guard. A lower failure widens the range; the first
 * status stays. */
void tide_timeline_fail_locked(struct tide_timeline *timeline, uint64_t value,
                               enum tide_status status, struct tide_cause *cause,
                               struct tide_fired *fired) {
  if (value <= timeline->reached.value) value = timeline->reached.value + 1;
  if (value == 0 || tide_timeline_has_failed(timeline, value)) return;
  /* A timeline that only its owner refers to is most likely being destroyed. */
  if (tide_load_relaxed(&timeline->references) != 1 || timeline->held_waits)
    tide_store_relaxed(&timeline->context->has_failed, true);
  if (!timeline->status) {
    timeline->cause = tide_cause_retain(cause);
    tide_store_release(&timeline->status, (uint32_t)status);
  }
  status = (enum tide_status)timeline->status;
  tide_store_release(&timeline->fail_from, value);
  if (tide_timeline_traced(timeline))
    tide_timeline_emit(timeline, TIDE_EVENT_FAIL, value, 0, 0, NULL, status);
  tide_counter_pop_from(&timeline->reached, value, fired, status);
  tide_counter_pop_from(&timeline->promised, value, fired, status);
  tide_timeline_refresh(timeline);
  tide_timeline_tell_change(timeline, fired);
}

/* True if the backing ends the values, also without an owner of the timeline. */
static bool keeps_values(const struct tide_timeline *timeline) {
  return timeline->ops && !timeline->ops->fails_on_release;
}

void tide_timeline_end_locked(struct tide_timeline *timeline, enum tide_status status,
                              struct tide_fired *fired) {
  if (keeps_values(timeline)) return;
  tide_timeline_note_end(timeline, fired);
  tide_timeline_fail_locked(timeline, 0, status, NULL, fired);
}

void tide_timeline_end(struct tide_timeline *timeline, enum tide_status status) {
  struct tide_context *context = timeline->context;
  struct tide_fired fired;
  tide_fired_init(&fired);
  if (keeps_values(timeline)) return; /* the guard may be held */
  struct tide_lock *guard = tide_timeline_lock(timeline);
  tide_timeline_end_locked(timeline, status, &fired);
  tide_lock_give(guard);
  tide_fired_run_calls(&fired, context);
}

void tide_timeline_fail(struct tide_timeline *timeline, enum tide_status status) {
  if (timeline->ops) return; /* only its backing fails it */
  tide_timeline_end(timeline, status ? status : TIDE_FAILED);
}

void tide_timeline_raise_external(struct tide_timeline *timeline, uint64_t value) {
  struct tide_context *context = timeline->context;
  struct tide_fired fired;
  tide_fired_init(&fired);
  struct tide_lock *guard = tide_timeline_lock(timeline);
  if (value > timeline->reached.value && !tide_timeline_has_failed(timeline, value))
    tide_timeline_raise_locked(timeline, value, NULL, &fired);
  tide_lock_give(guard);
  tide_fired_run_calls(&fired, context);
}

/* ---- signals of operations, under sched's lock ------------------------------ */

bool tide_timeline_reserve(struct tide_record *record, uint64_t value) {
  struct tide_timeline *timeline = record->timeline;
  TIDE_ASSERT(record->state == TIDE_RECORD_IDLE);
  bool is_new = tide_tree_insert(&timeline->reserved, &record->node, value);
  tide_timeline_refresh(timeline);
  if (is_new) record->state = TIDE_RECORD_RESERVED;
  return is_new;
}

void tide_timeline_unreserve(struct tide_record *record, struct tide_fired *fired) {
  struct tide_timeline *timeline = record->timeline;
  TIDE_ASSERT(record->state == TIDE_RECORD_RESERVED);
  tide_tree_remove(&timeline->reserved, &record->node);
  tide_timeline_refresh(timeline);
  record->state = TIDE_RECORD_IDLE;
  tide_timeline_tell_change(timeline, fired);
}

void tide_timeline_promise(struct tide_record *record, uint64_t value, struct tide_fired *fired) {
  struct tide_timeline *timeline = record->timeline;
  TIDE_ASSERT(record->state == TIDE_RECORD_IDLE);
  bool is_new = tide_tree_insert(&timeline->pending, &record->node, value);
  TIDE_ASSERT(is_new);
  limit_host(timeline);
  if (tide_counter_least(&timeline->promised) <= value) {
    tide_counter_pop(&timeline->promised, value, fired, TIDE_OK);
    tide_timeline_refresh(timeline);
  }
  if (is_new) record->state = TIDE_RECORD_PENDING;
  tide_timeline_tell_change(timeline, fired);
}

static inline void withdraw(struct tide_record *record) {
  if (record->state != TIDE_RECORD_PENDING) return;
  tide_tree_remove(&record->timeline->pending, &record->node);
  record->state = TIDE_RECORD_IDLE;
  limit_host(record->timeline);
}

/* Returns the lowest value that an operation is to signal; NULL: none is. */
static const struct tide_tree_node *lowest_unsignalled(const struct tide_timeline *timeline) {
  const struct tide_tree_node *pending = timeline->pending.first;
  const struct tide_tree_node *reserved = timeline->reserved.first;
  if (!pending || !reserved) return pending ? pending : reserved;
  return pending->key < reserved->key ? pending : reserved;
}

/* The operation or the host that was to signal the value is over, and did not. */
static void note_value_over(const struct tide_timeline *timeline, uint64_t value) {
  struct tide_timeline_follow *follow = timeline->follow;
  if (!timeline->is_followed) return;
  const struct tide_tree_node *lowest = lowest_unsignalled(timeline);
  if (value > follow->over) follow->over = value;
  if (value > follow->over_first && (!lowest || lowest->key > value)) follow->over_first = value;
}
static void note_over(const struct tide_record *record) {
  if (record->state == TIDE_RECORD_IDLE) note_value_over(record->timeline, record->node.key);
}

uint64_t tide_timeline_ended_locked(const struct tide_timeline *timeline) {
  uint64_t ended = timeline->reached.value;
  if (!timeline->is_followed) return ended;
  const struct tide_tree_node *lowest = lowest_unsignalled(timeline);
  uint64_t over = lowest ? timeline->follow->over_first : timeline->follow->over;
  if (over > ended) ended = over;
  return lowest ? min_value(ended, lowest->key - 1) : ended;
}

void tide_timeline_note_end(const struct tide_timeline *timeline, struct tide_fired *fired) {
  if (!timeline->is_followed) return;
  timeline->follow->over = timeline->follow->over_first = UINT64_MAX;
  tide_timeline_tell_change(timeline, fired); /* the values may have failed before */
}

void tide_timeline_withdraw(struct tide_record *record, struct tide_fired *fired) {
  withdraw(record);
  tide_timeline_tell_change(record->timeline, fired);
}

bool tide_timeline_reach(struct tide_record *record, tide_axis axis, uint64_t epoch,
                         const struct tide_frontier *frontier, struct tide_fired *fired) {
  struct tide_timeline *timeline = record->timeline;
  uint64_t value = record->node.key;
  withdraw(record);
  bool up = value > timeline->reached.value;
  if (tide_timeline_has_failed(timeline, value)) {
    up = true; /* failed before: no value is reached, no failure is new */
    note_over(record);
    tide_timeline_tell_change(timeline, fired);
  } else if (!up) {
    tide_timeline_fail_locked(timeline, value, TIDE_VALUE, NULL, fired);
  } else {
    if (record->external) tide_history_push_external(timeline, value);
    else tide_history_push(timeline, value, axis, epoch, frontier);
    if (tide_timeline_traced(timeline))
      tide_timeline_emit(timeline, TIDE_EVENT_SIGNAL, value, axis, epoch,
                         record->external ? NULL : frontier, TIDE_OK);
    tide_store_release(&timeline->reached.value, value);
    if (value >= timeline->wake_at) wake_up_to(timeline, value, fired);
    tide_timeline_tell_change(timeline, fired);
  }
  return up;
}

/* Returns the newest reached, pending or reserved value below `value`. Waiters of the values in
 * between relied on the signal that will not come. */
static uint64_t newest_below(const struct tide_timeline *timeline, uint64_t value) {
  uint64_t newest = timeline->reached.value;
  const struct tide_tree_node *pending = tide_tree_below(&timeline->pending, value);
  const struct tide_tree_node *reserved = tide_tree_below(&timeline->reserved, value);
  if (pending && pending->key > newest) newest = pending->key;
  if (reserved && reserved->key > newest) newest = reserved->key;
  return newest;
}

void tide_timeline_break(struct tide_record *record, enum tide_status status,
                         struct tide_cause *cause, struct tide_fired *fired) {
  struct tide_timeline *timeline = record->timeline;
  uint64_t value = record->node.key;
  note_over(record);
  if (timeline->is_backed || value <= timeline->reached.value) return;
  tide_timeline_fail_locked(timeline, newest_below(timeline, value) + 1, status, cause, fired);
}

void tide_timeline_fail_external(struct tide_timeline *timeline, uint64_t value, uint64_t below,
                                 const struct tide_failure *why) {
  struct tide_context *context = timeline->context;
  struct tide_cause *cause = tide_cause_create(context, why);
  struct tide_fired fired;
  tide_fired_init(&fired);
  struct tide_lock *guard = tide_timeline_lock(timeline);
  if (value > timeline->reached.value) {
    uint64_t newest = newest_below(timeline, value);
    note_value_over(timeline, value);
    tide_timeline_fail_locked(timeline, (below > newest ? below : newest) + 1, why->status, cause,
                              &fired);
    tide_timeline_tell_change(timeline, &fired);
  }
  tide_lock_give(guard);
  tide_cause_release(cause);
  tide_fired_run_calls(&fired, context);
}

bool tide_timeline_reached_locked(const struct tide_timeline *timeline, uint64_t value,
                                  struct tide_record_view *out_view) {
  if (tide_timeline_has_ring(timeline)) return tide_history_find(timeline, value, out_view);
  return timeline->ops->find(timeline->backing, value, out_view) && out_view->reached;
}

bool tide_timeline_newest_locked(const struct tide_timeline *timeline,
                                 struct tide_record_view *out_view) {
  uint64_t reached = timeline->reached.value;
  if (tide_timeline_has_ring(timeline)) return tide_history_newest(timeline, out_view);
  return tide_timeline_reached_locked(timeline, reached, out_view) && out_view->value <= reached;
}

static inline void note_awaited(const struct tide_timeline *timeline) {
  if (timeline->ops->awaited && timeline->backing) timeline->ops->awaited(timeline->backing);
}

enum tide_await tide_timeline_await_backed(struct tide_timeline *timeline, uint64_t value,
                                           struct tide_node *node) {
  if (timeline->ops->await) return timeline->ops->await(timeline, value, node);
  enum tide_await state = tide_timeline_await_reached(timeline, value, node);
  if (state == TIDE_AWAIT_QUEUED) note_awaited(timeline);
  return state;
}

enum tide_await tide_timeline_await(struct tide_timeline *timeline, uint64_t value,
                                    struct tide_node *node) {
  struct tide_context *context = timeline->context;
  struct tide_lock *guard = tide_timeline_lock(timeline);
  enum tide_await answer = tide_timeline_await_locked(timeline, value, node);
  tide_lock_give(guard);
  if (answer == TIDE_AWAIT_QUEUED) tide_context_announce_waiter(context);
  return answer;
}

void tide_timeline_await_promise_locked(struct tide_timeline *timeline, uint64_t value,
                                        struct tide_node *node) {
  tide_counter_add(&timeline->promised, node, value);
  tide_timeline_refresh(timeline);
  if (timeline->is_backed) note_awaited(timeline);
}

bool tide_timeline_set_follow(struct tide_timeline *timeline, struct tide_timeline_follow *follow) {
  struct tide_lock *guard = tide_timeline_lock(timeline);
  bool is_free = !timeline->is_followed;
  if (is_free) {
    timeline->follow = follow;
    timeline->is_followed = true;
    limit_quiet(timeline);
  }
  tide_lock_give(guard);
  return is_free;
}

void tide_timeline_end_follow(struct tide_timeline *timeline, struct tide_timeline_follow *follow) {
  const struct tide_platform *platform = timeline->context->platform;
  struct tide_lock *guard = tide_timeline_lock(timeline);
  timeline->is_followed = false;
  timeline->follow = NULL;
  limit_quiet(timeline);
  tide_lock_give(guard);
  while (tide_load_acquire(&follow->in_flight)) platform->yield(platform->self);
}

bool tide_timeline_awaited(struct tide_timeline *timeline, uint64_t *out_value) {
  struct tide_lock *guard = tide_timeline_lock(timeline);
  *out_value =
      min_value(tide_counter_least(&timeline->reached), tide_counter_least(&timeline->promised));
  bool any = !tide_counter_empty(&timeline->reached) || !tide_counter_empty(&timeline->promised);
  tide_lock_give(guard);
  return any;
}

/* True if each value has a state of its own, and fails alone. */
static bool has_own_states(const struct tide_timeline *timeline) {
  return timeline->ops && timeline->ops->look;
}

enum tide_await tide_timeline_look_locked(const struct tide_timeline *timeline, uint64_t value,
                                          enum tide_status *out_status) {
  if (has_own_states(timeline)) return timeline->ops->look(timeline, value, out_status);
  if (timeline->reached.value >= value) return TIDE_AWAIT_REACHED;
  if (!tide_timeline_has_failed(timeline, value)) return TIDE_AWAIT_QUEUED;
  *out_status = (enum tide_status)timeline->status;
  return TIDE_AWAIT_FAILED;
}

enum tide_status tide_timeline_failed_with(struct tide_timeline *timeline, uint64_t value) {
  enum tide_status status = TIDE_OK;
  if (!has_own_states(timeline)) return tide_timeline_status(timeline);
  struct tide_lock *guard = tide_timeline_lock(timeline);
  (void)timeline->ops->look(timeline, value, &status);
  tide_lock_give(guard);
  return status;
}

/* Describes the failure. No operation failed first, so the text names the timeline. */
static void describe_failure(const struct tide_timeline *timeline, uint64_t value,
                             enum tide_status status, struct tide_failure *out_failure) {
  struct tide_text text;
  *out_failure = (struct tide_failure){.status = status};
  tide_text_init(&text, out_failure->text, sizeof out_failure->text);
  tide_text_format(&text, "timeline '%s' >= %lu: %s", timeline->label, (unsigned long)value,
                   tide_status_text(status));
}

struct tide_cause *tide_timeline_cause_locked(struct tide_timeline *timeline) {
  struct tide_failure failure;
  if (has_own_states(timeline) || timeline->cause || !timeline->status) return timeline->cause;
  describe_failure(timeline, timeline->fail_from, (enum tide_status)timeline->status, &failure);
  timeline->cause = tide_cause_create(timeline->context, &failure);
  return timeline->cause;
}

bool tide_timeline_failure(struct tide_timeline *timeline, uint64_t value,
                           struct tide_failure *out_failure) {
  enum tide_status status = TIDE_OK;
  struct tide_lock *guard = tide_timeline_lock(timeline);
  bool failed = tide_timeline_look_locked(timeline, value, &status) == TIDE_AWAIT_FAILED;
  if (failed && out_failure) {
    if (timeline->cause) *out_failure = timeline->cause->failure;
    else describe_failure(timeline, value, status, out_failure);
  }
  tide_lock_give(guard);
  return failed;
}

enum tide_await tide_timeline_look(struct tide_timeline *timeline, uint64_t value) {
  enum tide_status status;
  bool reached = tide_load_acquire(&timeline->reached.value) >= value;
  /* A value breaks before a later one is reached, so this load is as new as the one above. */
  if (value < tide_load_acquire(&timeline->lowest_broken)) {
    if (reached) return TIDE_AWAIT_REACHED;
    return tide_timeline_has_failed(timeline, value) ? TIDE_AWAIT_FAILED : TIDE_AWAIT_QUEUED;
  }
  struct tide_lock *guard = tide_timeline_lock(timeline);
  enum tide_await stands = tide_timeline_look_locked(timeline, value, &status);
  tide_lock_give(guard);
  return stands;
}

bool tide_timeline_forget_backed(struct tide_timeline *timeline, struct tide_node *node) {
  if (timeline->ops->forget) return timeline->ops->forget(timeline, node);
  return tide_counter_remove(&timeline->reached, node);
}

bool tide_timeline_forget(struct tide_timeline *timeline, struct tide_node *node) {
  struct tide_lock *guard = tide_timeline_lock(timeline);
  bool gone = tide_timeline_forget_locked(timeline, node);
  tide_lock_give(guard);
  return gone;
}

bool tide_timeline_forget_promise_locked(struct tide_timeline *timeline, struct tide_node *node) {
  bool gone = tide_counter_remove(&timeline->promised, node);
  tide_timeline_refresh(timeline);
  return gone;
}
