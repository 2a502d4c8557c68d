/* timeline/waiter.h: the private part of a tide_wait_point, from its value on. */
#ifndef TIDE_TIMELINE_WAITER_H
#define TIDE_TIMELINE_WAITER_H

#include "base/deferred.h"
#include "timeline/timeline_state.h"

/* The waiter of a point. The point's value is the node's. Data for before the queuing or after the
 * firing shares the storage of the node's links. */
struct tide_point_waiter {
  union {
    struct tide_node node; /* `own`: TIDE_POINT_HELD, and a timepoint's notifier */
    struct {
      uint64_t value;
      uint32_t first, next; /* hash table of a set, before the node is queued: see wait.c */
    };
    struct {
      uint64_t same_value;
      struct tide_deferred_call call; /* a timepoint's call, once its node has fired */
    };
  };
  union {
    struct tide_wait_any_set
        *set; /* the set of the point; NULL: another point of its timeline counts in its stead */
    uintptr_t
        callbacks; /* atomic; a timepoint's context, at first its `notifier`: see timepoint.c */
  };
};
_Static_assert(sizeof(struct tide_point_waiter) <=
                   sizeof(struct tide_wait_point) - offsetof(struct tide_wait_point, value),
               "a wait point holds its waiter");
_Static_assert(offsetof(struct tide_point_waiter, call) + sizeof(struct tide_deferred_call) <=
                   offsetof(struct tide_node, fire),
               "a deferred call overwrites links alone");

_Static_assert(sizeof(void *) != 8 || (sizeof(struct tide_wait_point) == TIDE_CACHE_LINE &&
                                       sizeof(struct tide_timepoint) == TIDE_CACHE_LINE),
               "a wait is one cache line");
/* A timepoint is a wait point that has its call in the location of its node's `fire`. */
_Static_assert(offsetof(struct tide_timepoint, value) == offsetof(struct tide_wait_point, value) &&
                   offsetof(struct tide_timepoint, call) ==
                       offsetof(struct tide_timepoint, value) + offsetof(struct tide_node, fire) &&
                   offsetof(struct tide_timepoint, notifier) ==
                       offsetof(struct tide_timepoint, value) +
                           offsetof(struct tide_point_waiter, callbacks),
               "a timepoint's fields lie where its waiter's are");

static inline struct tide_point_waiter *tide_waiter_of(struct tide_wait_point *point) {
  return (struct tide_point_waiter *)(void *)&point->value;
}
static inline struct tide_wait_point *tide_point_of(struct tide_point_waiter *waiter) {
  return TIDE_CONTAINER(waiter, struct tide_wait_point, value);
}
static inline struct tide_point_waiter *tide_waiter_of_timepoint(struct tide_timepoint *timepoint) {
  return (struct tide_point_waiter *)(void *)&timepoint->value;
}
/* Initialises the fields that queuing the node does not write. */
static inline void tide_waiter_init(struct tide_point_waiter *waiter,
                                    void (*fire)(struct tide_node *, enum tide_status)) {
  waiter->node.fire = fire;
  waiter->node.status = TIDE_OK;
  waiter->node.state = TIDE_NODE_IDLE;
  waiter->node.kind = TIDE_NODE_PLAIN;
  waiter->node.own = 0;
}

/* A bit of `own`: the result of tide_timeline_hold_locked. */
#define TIDE_POINT_HELD 1u

/* Registers the point's waiter, or returns the state of a value that has ended. Either way the
 * point holds its timeline, which may be destroyed before the point. */
static inline enum tide_await tide_point_register(struct tide_wait_point *point) {
  struct tide_timeline *timeline = point->timeline;
  struct tide_context *context = timeline->context;
  struct tide_node *node = &tide_waiter_of(point)->node;
  struct tide_lock *guard = tide_timeline_lock(timeline);
  if (tide_timeline_hold_locked(timeline)) node->own |= TIDE_POINT_HELD;
  enum tide_await state = tide_timeline_await_locked(timeline, point->value, node);
  tide_lock_give(guard);
  if (state == TIDE_AWAIT_QUEUED) tide_context_announce_waiter(context);
  return state;
}
/* Unregisters the point's waiter. True: its `fire` will not be called, and the point holds its
 * timeline no more. *out_last: the caller then frees the timeline. */
static inline bool tide_point_forget(struct tide_wait_point *point, bool *out_last) {
  struct tide_timeline *timeline = point->timeline;
  struct tide_node *node = &tide_waiter_of(point)->node;
  struct tide_lock *guard = tide_timeline_lock(timeline);
  bool gone = tide_timeline_forget_locked(timeline, node);
  *out_last = gone && tide_timeline_let_go_locked(timeline, node->own & TIDE_POINT_HELD);
  tide_lock_give(guard);
  return gone;
}
/* Releases the timeline of a point that was not forgotten. */
static inline void tide_point_let_go(struct tide_wait_point *point) {
  struct tide_timeline *timeline = point->timeline;
  if (!(tide_waiter_of(point)->node.own & TIDE_POINT_HELD)) {
    tide_timeline_let_go(timeline);
    return;
  }
  struct tide_lock *guard = tide_timeline_lock(timeline);
  bool last = tide_timeline_let_go_locked(timeline, true);
  tide_lock_give(guard);
  if (__builtin_expect(last, 0)) tide_timeline_free(timeline);
}

#endif
