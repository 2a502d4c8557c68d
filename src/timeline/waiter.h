/* timeline/waiter.h: what is inside a tide_wait_point's storage. */
#ifndef TIDE_TIMELINE_WAITER_H
#define TIDE_TIMELINE_WAITER_H

#include "timeline/timeline.h"

struct tide_point_waiter {
  struct tide_node node;
  void *owner; /* whose point it is: a tide_wait_any_set or a tide_timepoint; NULL: the point
                  counts for nothing, another one of its timeline does */
  union {
    struct {
      uint32_t first, next; /* of a set, while it looks for such: see wait.c */
    };
    struct tide_deferred *callbacks; /* of a timepoint: see timepoint.c */
  };
  uint32_t holds; /* what tide_timeline_hold_locked has said */
};
_Static_assert(sizeof(struct tide_point_waiter) <= sizeof(struct tide_waiter),
               "a wait point must hold its waiter");

static inline struct tide_point_waiter *tide_waiter_of(struct tide_wait_point *point) {
  return (struct tide_point_waiter *)(void *)&point->waiter;
}
static inline struct tide_wait_point *tide_point_of(struct tide_node *node) {
  return (struct tide_wait_point *)(void *)((char *)node -
                                            __builtin_offsetof(struct tide_wait_point, waiter));
}

/* Registers point->waiter, whose fire and owner are set; or says how it stands already. Either way
 * the point holds its timeline, which may be destroyed before it. */
static inline enum tide_await tide_point_register(struct tide_wait_point *point) {
  struct tide_timeline *timeline = point->timeline;
  struct tide_point_waiter *waiter = tide_waiter_of(point);
  struct tide_lock *guard = tide_timeline_lock(timeline);
  waiter->holds = tide_timeline_hold_locked(timeline);
  enum tide_await state = tide_timeline_await_locked(timeline, point->value, &waiter->node);
  tide_lock_give(guard);
  return state;
}
/* True: its fire will not be called, and it holds its timeline no more. *out_last: then that is to
 * be freed. */
static inline bool tide_point_forget(struct tide_wait_point *point, bool *out_last) {
  struct tide_timeline *timeline = point->timeline;
  struct tide_point_waiter *waiter = tide_waiter_of(point);
  struct tide_lock *guard = tide_timeline_lock(timeline);
  bool gone = tide_timeline_forget_locked(timeline, &waiter->node);
  *out_last = gone && tide_timeline_let_go_locked(timeline, waiter->holds);
  tide_lock_give(guard);
  return gone;
}
/* Of one that was not forgotten. */
static inline void tide_point_let_go(struct tide_timeline *timeline, bool holds) {
  if (!holds) {
    tide_timeline_let_go(timeline);
    return;
  }
  struct tide_lock *guard = tide_timeline_lock(timeline);
  bool last = tide_timeline_let_go_locked(timeline, true);
  tide_lock_give(guard);
  if (__builtin_expect(last, 0)) tide_timeline_free(timeline);
}

#endif
