/* timeline/waiter.h: what is inside a tide_wait_point's storage. */
#ifndef TIDE_TIMELINE_WAITER_H
#define TIDE_TIMELINE_WAITER_H

#include "timeline/timeline.h"

struct tide_point_waiter {
  struct tide_node node;
  void *owner; /* whose point it is: a tide_wait_any_set or a tide_timepoint; NULL: the point
                  counts for nothing, another one of its timeline does */
  uint32_t first, next; /* of a set, while it looks for such: see wait.c */
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

/* Registers point->waiter, whose fire and owner are set; or says how it stands already. */
enum tide_await tide_point_register(struct tide_wait_point *point);
/* True: its fire will not be called. */
bool tide_point_forget(struct tide_wait_point *point);

#endif
