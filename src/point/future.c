/* Future timelines: promises that are kept in order. */
#include "base/params.h"
#include "base/check.h"
#include "base/alloc.h"
#include "causal/tracker.h"
#include "point/point_state.h"

#define CAPACITY_DEFAULT 16

static struct tide_promise *promise_of_pending(struct tide_pending_value *pending) {
  return TIDE_CONTAINER(pending, struct tide_promise, unmet.pending);
}

static void give_back(struct tide_promise *promise) {
  struct tide_future *future = promise->future;
  promise->next = future->free;
  future->free = promise;
  future->returned++;
}

static void free_storage(const struct tide_allocator *allocator, struct tide_future *future) {
  tide_free(allocator, future->more, future->capacity - 1, sizeof *future->more);
  tide_free(allocator, future, 1, sizeof *future);
}

/* Reports the end of a value, which is still counted as open; ended 0: the name goes. */
static void notify_end(const struct tide_future *future, uint64_t ended, enum tide_status status,
                       struct tide_fired *fired) {
  struct tide_observed what = {.slot = future->slot,
                               .ended = ended,
                               .status = status,
                               .returned = future->returned,
                               .newest = future->newest,
                               .open = ended ? future->open - 1 : 0,
                               .closed = ended == 0};
  tide_points_notify(future->points, &what, future->timeline, fired);
}

static void notify_counts(const struct tide_future *future) {
  struct tide_observed what = {.slot = future->slot,
                               .returned = future->returned,
                               .newest = future->newest,
                               .open = future->open,
                               .counts = true};
  tide_points_notify(future->points, &what, future->timeline, NULL);
}

static __attribute__((noinline)) void free_future(struct tide_future *future,
                                                  struct tide_fired *fired) {
  const struct tide_allocator *allocator = future->points->context->allocator;
  if (tide_slot_defer(future->points, future->slot)) return;
  notify_end(future, 0, TIDE_OK, fired);
  if (future->slot) tide_slot_give(future->points, future->slot);
  if (future->client) {
    future->client->stats.timelines--;
    tide_future_count(future, &future->client->stats);
  } else {
    future->points->orphans--;
  }
  tide_list_remove(&future->link);
  tide_list_remove(&future->in_channel);
  tide_pending_forget_all_locked(future->timeline);
  tide_timeline_release(future->timeline);
  free_storage(allocator, future);
}

void tide_future_free_unpinned(struct tide_future *future, struct tide_fired *fired) {
  free_future(future, fired);
}

static void uncount_promise(struct tide_promise *promise) {
  if (promise->counted && promise->future->channel) promise->future->channel->awaited--;
  promise->counted = false;
}

static inline void close_one(struct tide_future *future, struct tide_fired *fired) {
  future->open--;
  if (future->gone && !future->open) free_future(future, fired);
}

/* Ends a loop that has counted itself as open, to keep the future timeline. */
static void end_loop(struct tide_future *future) {
  future->open--;
  if (future->points->observer) notify_counts(future);
}

static inline void no_longer_skipped(struct tide_promise *promise) {
  if (promise->skipped) promise->future->skipped--;
  promise->skipped = false;
}

/* Releases an ended promise. All its waiters have been notified, so its memory may be reused. */
static void promise_changed(struct tide_dependency_node *node, struct tide_fired *fired) {
  struct tide_promise *promise = TIDE_CONTAINER(node, struct tide_promise, unmet.node);
  struct tide_future *future = promise->future;
  if (!node->settled) return;
  uint64_t value = promise->unmet.pending.node.key;
  enum tide_status status = (enum tide_status)node->status;
  if (!node->status) future->kept++;
  else if (promise->unmet.client) promise->unmet.client->stats.broken++;
  tide_unmet_met(future->points, &promise->unmet);
  uncount_promise(promise);
  no_longer_skipped(promise);
  tide_dependency_drop_edges(node);
  tide_list_remove(&promise->in_command);
  if (!node->status || promise->spare) give_back(promise);
  notify_end(future, value, status, fired);
  close_one(future, fired);
}

void tide_promise_fail(struct tide_propagation *propagation, struct tide_promise *promise,
                       enum tide_status cause) {
  struct tide_future *future = promise->future;
  struct tide_pending_value *freed[2];
  if (promise->unmet.node.ended) return;
  promise->seen = true;
  unsigned count = tide_pending_break_locked(future->timeline, &promise->unmet.pending, cause,
                                             propagation->fired, freed);
  promise->spare = false;
  for (unsigned i = 0; i < count; i++) {
    struct tide_promise *other = promise_of_pending(freed[i]);
    if (other == promise || other->unmet.node.on_changed) other->spare = true;
    else give_back(other);
  }
  tide_dependency_end(propagation, &promise->unmet.node, cause);
}

void tide_promise_break(struct tide_promise *promise, enum tide_status cause,
                        struct tide_fired *fired) {
  struct tide_propagation propagation;
  tide_propagation_begin(&propagation, fired);
  tide_promise_fail(&propagation, promise, cause);
  tide_propagation_finish(&propagation);
}

/* Marks the pending promises below the queued one: they can only be covered, or break. */
static void skip_up_to(struct tide_future *future, uint64_t value) {
  struct tide_tree_node *tree_node =
      tide_tree_at_least(&future->timeline->pending_values, future->newest_queued + 1);
  for (; tree_node && tree_node->key < value; tree_node = tide_tree_next(tree_node)) {
    promise_of_pending(tide_pending_value_of(tree_node))->skipped = true;
    future->skipped++;
  }
  future->newest_queued = value;
}

void tide_promise_queue(struct tide_propagation *propagation, struct tide_promise *promise,
                        struct tide_command *command) {
  struct tide_dependency_node *node = &promise->unmet.node;
  tide_unmet_met(promise->future->points, &promise->unmet);
  uncount_promise(promise);
  skip_up_to(promise->future, promise->unmet.pending.node.key);
  tide_list_push_back(&command->promises, &promise->in_command);
  tide_dependency_add_edge(node, &promise->edge, &command->node, TIDE_OK);
  tide_dependency_define(propagation, node);
}

/* Ends a kept promise that was never seen: its dependency node stays untouched. Leaves it to the
 * caller to free the future timeline. */
static inline void end_unseen(struct tide_future *future, struct tide_promise *promise,
                              struct tide_fired *fired) {
  struct tide_points *points = future->points;
  future->kept++;
  tide_counter_remove(&points->due, &promise->unmet.due);
  no_longer_skipped(promise);
  give_back(promise);
  if (points->observer) notify_end(future, promise->unmet.pending.node.key, TIDE_OK, fired);
  future->open--;
}

void tide_future_pass(struct tide_propagation *propagation, struct tide_future *future) {
  struct tide_pending_value *pending;
  future->open++; /* keeps the future timeline until the loop is over */
  while ((pending = tide_pending_pass_locked(future->timeline, propagation->fired))) {
    struct tide_promise *promise = promise_of_pending(pending);
    struct tide_dependency_node *node = &promise->unmet.node;
    if (!promise->seen) end_unseen(future, promise, propagation->fired);
    else if (tide_dependency_end_alone(node, propagation->fired))
      promise_changed(node, propagation->fired);
    else tide_dependency_end(propagation, node, TIDE_OK);
  }
  end_loop(future);
  if (future->gone && !future->open) free_future(future, propagation->fired);
}

void tide_needs_counted(const struct tide_dependency_node *node) {
  for (const struct tide_dependency_edge *edge = node->edges; edge; edge = edge->next) {
    struct tide_dependency_node *target = edge->target;
    if (!target || target->kind != TIDE_DEPENDENCY_PROMISE || target->defined || target->ended)
      continue;
    struct tide_promise *promise = TIDE_CONTAINER(target, struct tide_promise, unmet.node);
    if (!promise->future->channel || promise->counted) continue;
    promise->counted = true;
    promise->future->channel->awaited++;
  }
}

/* ---- making and unmaking ------------------------------------------------------------- */

static enum tide_status open_future(struct tide_future *future, struct tide_channel *channel) {
  struct tide_points *points = future->points;
  struct tide_lock *lock = tide_points_lock(points);
  enum tide_status status = channel ? (enum tide_status)channel->closed : TIDE_OK;
  if (status == TIDE_OK)
    status = tide_slot_take(points, future->client, TIDE_SLOT_FUTURE, future, &future->slot);
  if (status == TIDE_OK) {
    tide_list_push_back(&future->client->futures, &future->link);
    future->channel = channel;
    future->by_commands = channel != NULL;
    if (channel) tide_list_push_back(&channel->futures, &future->in_channel);
  }
  tide_lock_give(lock);
  return status;
}

static void put_promise(struct tide_future *future, struct tide_promise *promise) {
  promise->future = future;
  promise->unmet.timeline = future->timeline;
  promise->seen = true; /* the dependency node is not initialized */
  promise->next = future->free;
  future->free = promise;
}

/* Allocates all promises but the first, which lies in the future timeline. The free list begins
 * with the lowest addresses. */
static enum tide_status add_promises(struct tide_future *future) {
  const struct tide_allocator *allocator = future->points->context->allocator;
  if (future->more || future->capacity == 1) return TIDE_OK;
  future->more = tide_alloc(allocator, future->capacity - 1, sizeof *future->more);
  if (!future->more) return TIDE_NOMEM;
  for (uint32_t i = future->capacity - 1; i-- > 0;) put_promise(future, &future->more[i]);
  return TIDE_OK;
}

enum tide_status tide_future_create_on(struct tide_client *client, struct tide_channel *channel,
                                       const struct tide_future_params *params,
                                       struct tide_future **out_future) {
  struct tide_future_params own;
  enum tide_status status = tide_params_copy(&own, sizeof own, params);
  if (status != TIDE_OK) return status;
  params = &own;
  if (params->capacity > TIDE_FUTURE_MOST) return TIDE_INVALID;
  struct tide_context *context = client->points->context;
  struct tide_future *future = tide_alloc(context->allocator, 1, sizeof *future);
  if (!future) return TIDE_NOMEM;
  struct tide_timeline_params timeline = {
      .struct_size = sizeof timeline, .label = params->label, .initial = params->initial};
  future->points = client->points;
  future->client = client;
  future->capacity = params->capacity ? params->capacity : CAPACITY_DEFAULT;
  future->newest = future->newest_queued = params->initial;
  tide_list_init(&future->link);
  tide_list_init(&future->in_channel);
  status = tide_timeline_create_single(context, &timeline, &tide_point_backing, &future->timeline);
  if (status == TIDE_OK && params->capacity) status = add_promises(future);
  if (status == TIDE_OK) put_promise(future, &future->first);
  if (status == TIDE_OK) status = open_future(future, channel);
  if (status == TIDE_OK) {
    *out_future = future;
    return TIDE_OK;
  }
  tide_timeline_release(future->timeline);
  free_storage(context->allocator, future);
  return status;
}

enum tide_status tide_future_create(struct tide_client *client,
                                    const struct tide_future_params *params,
                                    struct tide_future **out_future) {
  return tide_future_create_on(client, NULL, params, out_future);
}

static void break_owed(struct tide_future *future, enum tide_status cause,
                       struct tide_fired *fired) {
  struct tide_tree_node *tree_node = future->timeline->pending_values.first, *next;
  future->open++; /* keeps the future timeline until the loop is over */
  for (; tree_node; tree_node = next) {
    struct tide_promise *promise = promise_of_pending(tide_pending_value_of(tree_node));
    next = tide_tree_next(tree_node);
    if (!promise->unmet.node.defined) tide_promise_break(promise, cause, fired);
  }
  end_loop(future);
}

static void end_future(struct tide_future *future, enum tide_status cause,
                       struct tide_fired *fired) {
  break_owed(future, cause, fired);
  future->gone = true;
  if (!future->open) free_future(future, fired);
}

void tide_future_orphan(struct tide_future *future, enum tide_status cause,
                        struct tide_fired *fired) {
  break_owed(future, cause, fired);
  uint32_t more = future->more ? future->capacity - 1u : 0;
  future->first.unmet.client = NULL;
  for (uint32_t i = 0; i < more; i++) future->more[i].unmet.client = NULL;
  tide_list_remove(&future->link);
  future->client = NULL;
  future->points->orphans++;
  end_future(future, cause, fired);
}

void tide_future_destroy(struct tide_future *future) {
  if (!future) return;
  struct tide_points *points = future->points;
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(points);
  end_future(future, TIDE_CANCELLED, &fired);
  tide_points_unlock(points, &fired);
}

void tide_future_give_up(struct tide_points *points, struct tide_point name,
                         struct tide_fired *fired) {
  struct tide_future *future = tide_slot_find(points, name, TIDE_SLOT_FUTURE);
  if (future) end_future(future, TIDE_CANCELLED, fired);
}

static void close_future(struct tide_future *future, enum tide_status cause,
                         struct tide_fired *fired) {
  if (future->closed) return;
  future->closed = (uint8_t)cause;
  if (future->newest == UINT64_MAX) return;
  tide_timeline_fail_locked(future->timeline, future->newest + 1, cause, NULL, fired);
  tide_points_notify_none(future->points, future, future->newest + 1, fired);
}

void tide_future_close(struct tide_future *future, enum tide_status cause) {
  struct tide_points *points = future->points;
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(points);
  close_future(future, cause, &fired);
  tide_points_unlock(points, &fired);
}

void tide_channel_open(struct tide_channel *channel, struct tide_points *points) {
  *channel = (struct tide_channel){.points = points};
  tide_list_init(&channel->futures);
}

void tide_channel_close(struct tide_channel *channel, enum tide_status cause,
                        struct tide_fired *fired) {
  struct tide_link *link;
  if (!channel->closed) channel->closed = (uint32_t)cause;
  while ((link = tide_list_pop_front(&channel->futures))) {
    struct tide_future *future = TIDE_CONTAINER(link, struct tide_future, in_channel);
    break_owed(future, cause, fired);
    close_future(future, cause, fired);
    future->channel = NULL;
  }
}

/* ---- promising and keeping ----------------------------------------------------------------- */

static __attribute__((noinline)) void renew(struct tide_promise *promise) {
  tide_dependency_init(&promise->unmet.node, TIDE_DEPENDENCY_PROMISE, promise_changed);
  tide_list_init(&promise->in_command);
  promise->spare = promise->seen = false;
}

static inline __attribute__((always_inline)) enum tide_status
promise_locked(struct tide_future *future, uint64_t deadline, struct tide_point *out_point) {
  if (future->closed) return (enum tide_status)future->closed;
  if (future->gone) return TIDE_CANCELLED; /* the name stays valid while promises are pending */
  if (future->newest == UINT64_MAX) return TIDE_EXHAUSTED;
  if (!future->free && add_promises(future) != TIDE_OK) return TIDE_NOMEM;
  struct tide_promise *promise = future->free;
  if (!promise) return future->open ? TIDE_FULL : TIDE_EXHAUSTED;
  future->free = promise->next;
  future->open++;
  if (promise->seen) renew(promise);
  tide_unmet_begin(future->points, &promise->unmet, future->client, ++future->newest, deadline);
  *out_point = (struct tide_point){.domain = future->points->domain,
                                   .timeline = future->slot,
                                   .generation = tide_future_generation(future),
                                   .value = future->newest};
  if (future->points->observer) notify_counts(future);
  return TIDE_OK;
}

static __attribute__((noinline)) void unlock_and_nudge(struct tide_points *points) {
  struct tide_fired none;
  tide_fired_init(&none);
  tide_points_unlock(points, &none);
}

static inline __attribute__((always_inline)) enum tide_status
promise_next(struct tide_future *future, const uint64_t *value, uint64_t deadline,
             struct tide_point *out_point) {
  struct tide_points *points = future->points;
  enum tide_status status = TIDE_VALUE;
  __builtin_prefetch(&future->timeline->pending_values, 1);
  deadline = tide_points_deadline(points, deadline);
  struct tide_lock *lock = tide_points_lock(points);
  if (!value || *value == future->newest + 1 || future->closed)
    status = promise_locked(future, deadline, out_point);
  if (__builtin_expect(!points->nudge, 1)) { /* nothing has ended, so no watch is stale */
    tide_lock_give(lock);
    return status;
  }
  unlock_and_nudge(points);
  return status;
}

enum tide_status tide_future_promise(struct tide_future *future, uint64_t deadline,
                                     struct tide_point *out_point) {
  return promise_next(future, NULL, deadline, out_point);
}

enum tide_status tide_future_promise_value(struct tide_future *future, uint64_t value,
                                           uint64_t deadline, struct tide_point *out_point) {
  return promise_next(future, &value, deadline, out_point);
}

enum tide_status tide_future_promise_named(struct tide_points *points, struct tide_point name,
                                           struct tide_point *out_point) {
  struct tide_future *future = tide_slot_find(points, name, TIDE_SLOT_FUTURE);
  if (!future) return TIDE_CANCELLED;
  return promise_locked(future, tide_points_deadline(points, 0), out_point);
}

uint32_t tide_future_capacity(const struct tide_future *future) {
  struct tide_lock *lock = tide_points_lock(future->points);
  uint32_t capacity = future->capacity;
  tide_lock_give(lock);
  return capacity;
}

struct tide_client *tide_future_client(struct tide_points *points, struct tide_point name) {
  struct tide_lock *lock = tide_points_lock(points);
  const struct tide_future *future = tide_slot_find(points, name, TIDE_SLOT_FUTURE);
  struct tide_client *client = future && !future->gone ? future->client : NULL;
  tide_lock_give(lock);
  return client;
}

/* Finds the promise of this value if it is pending and not queued. */
static enum tide_status find_owed(struct tide_future *future, uint64_t value,
                                  struct tide_promise **out_promise) {
  enum tide_status status;
  if (!tide_future_knows(future, value)) return TIDE_NOT_FOUND;
  struct tide_pending_value *pending;
  enum tide_await stands = tide_pending_look(future->timeline, value, &status, &pending);
  if (stands == TIDE_AWAIT_REACHED) return TIDE_VALUE;
  if (stands == TIDE_AWAIT_FAILED) return status;
  *out_promise = promise_of_pending(pending);
  return (*out_promise)->seen && (*out_promise)->unmet.node.defined ? TIDE_VALUE : TIDE_OK;
}

enum tide_status tide_promise_find(struct tide_channel *channel, struct tide_point point,
                                   struct tide_promise **out_promise, struct tide_fired *fired) {
  if (fired) tide_points_expire_unwatched(channel->points, fired);
  struct tide_future *future = tide_slot_find(channel->points, point, TIDE_SLOT_FUTURE);
  if (!future) return TIDE_NOT_FOUND;
  if (future->channel != channel) return TIDE_INVALID;
  enum tide_status status = find_owed(future, point.value, out_promise);
  if (status == TIDE_OK) (*out_promise)->seen = true;
  return status == TIDE_OK && point.value <= future->newest_queued ? TIDE_VALUE : status;
}

static __attribute__((noinline)) enum tide_status fulfil_locked(struct tide_future *future,
                                                                uint64_t value,
                                                                struct tide_position *position,
                                                                struct tide_fired *fired) {
  struct tide_promise *promise = NULL;
  struct tide_propagation propagation;
  if (future->by_commands) return TIDE_INVALID;
  enum tide_status status = find_owed(future, value, &promise);
  if (status != TIDE_OK) return status;
  future->newest_queued = value;
  tide_timeline_raise_locked(future->timeline, value, position, fired);
  tide_propagation_begin(&propagation, fired);
  tide_future_pass(&propagation, future);
  tide_propagation_finish(&propagation);
  return TIDE_OK;
}

/* Returns the promise of this value if it is the lowest pending one, the host may keep it, and it
 * was never seen; else NULL. */
static inline struct tide_promise *next_unseen(const struct tide_future *future, uint64_t value) {
  const struct tide_timeline *timeline = future->timeline;
  struct tide_tree_node *first = timeline->pending_values.first;
  if (!first || first->key != value || future->by_commands || timeline->status) return NULL;
  struct tide_promise *promise = promise_of_pending(tide_pending_value_of(first));
  return promise->seen ? NULL : promise;
}

static inline void keep_unseen(struct tide_future *future, struct tide_promise *promise,
                               struct tide_position *position, struct tide_fired *fired) {
  uint64_t value = promise->unmet.pending.node.key;
  future->newest_queued = value;
  tide_timeline_raise_quick(future->timeline, value, position, fired);
  tide_pending_pass_locked(future->timeline, fired);
  end_unseen(future, promise, fired);
  if (future->gone && !future->open) free_future(future, fired);
}

static __attribute__((noinline)) bool is_tracked(const struct tide_points *points,
                                                 struct tide_position *position) {
  if (position->tracked && tide_tracker_axis_is(position->tracked, position->axis)) return true;
  position->tracked = tide_tracker_find(points->context->tracker, position->axis);
  return position->tracked != NULL;
}

enum tide_status tide_future_fulfil(struct tide_future *future, uint64_t value,
                                    struct tide_position *position) {
  struct tide_points *points = future->points;
  struct tide_fired fired;
  tide_fired_init(&fired);
  if (position && !is_tracked(points, position)) return TIDE_NOT_FOUND;
  __builtin_prefetch(&future->timeline->pending_values, 1);
  tide_points_lock(points);
  tide_points_expire_unwatched(points, &fired);
  enum tide_status status = TIDE_OK;
  struct tide_promise *next = next_unseen(future, value);
  if (next) keep_unseen(future, next, position, &fired);
  else status = fulfil_locked(future, value, position, &fired);
  tide_points_unlock(points, &fired);
  return status;
}

enum tide_status tide_future_break(struct tide_future *future, uint64_t value,
                                   enum tide_status cause) {
  struct tide_points *points = future->points;
  struct tide_promise *promise = NULL;
  struct tide_fired fired;
  tide_fired_init(&fired);
  if (cause == TIDE_OK || (unsigned)cause >= TIDE_STATUS_COUNT) return TIDE_INVALID;
  tide_points_lock(points);
  tide_points_expire_locked(points, &fired);
  enum tide_status status = find_owed(future, value, &promise);
  if (status == TIDE_OK) tide_promise_break(promise, cause, &fired);
  tide_points_unlock(points, &fired);
  return status;
}
