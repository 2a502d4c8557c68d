/* sched/arbiter.h: the order in which a device's ready queues are picked. The scheduler's lock is
 * held. */
#ifndef TIDE_SCHED_ARBITER_H
#define TIDE_SCHED_ARBITER_H

#include "sched/sched.h"

/* Schedules a kick of the backend after the unlock, if one of its hands is idle. */
void tide_device_kick(struct tide_device *device);
/* Schedules a kick of the backend after the unlock, whether or not a hand is idle. */
void tide_device_call(struct tide_device *device);
/* Schedules a call of the backend's `cancel` after the unlock. */
void tide_device_call_cancel(struct tide_device *device);
void tide_arbiter_enlist(struct tide_queue *queue);
/* Returns the level at which the queue waits for its pick. Parts of collectives that run ahead may
 * meet inside: a priority that is lent to one of them must not change their order. */
static inline uint8_t tide_arbiter_level(const struct tide_queue *queue) {
  uint8_t priority = queue->effective;
  if (queue->ahead && queue->ready_op->part) priority = queue->priority.base;
  if (queue->ahead && tide_ahead_holds_others_back(queue->ready_op)) return priority;
  return (uint8_t)(TIDE_PRIORITY_LEVELS + priority);
}
static inline void tide_arbiter_add(struct tide_queue *queue) {
  struct tide_device *device = queue->device;
  queue->ready = true;
  queue->level = tide_arbiter_level(queue);
  queue->ready_since = queue->ready_in->picks;
  if (queue->ready_in->count++ == 0) queue->ready_in->only = queue;
  else tide_arbiter_enlist(queue);
  if (queue->ahead && !tide_hardware_has_room(queue->ahead->hardware)) tide_ahead_await_room(queue);
  else if (!device->exchanging && !queue->sched->paused) tide_device_kick(device);
}
void tide_arbiter_remove(struct tide_queue *queue);
void tide_arbiter_requeue(struct tide_queue *queue);
/* Returns the first of these queues; NULL: none is ready. */
struct tide_queue *tide_arbiter_choose(const struct tide_ready *ready);
/* Assigns new levels: some of the operations hold back others no more. */
void tide_arbiter_requeue_holding_back(struct tide_ready *ready);
/* Returns the queue to pick next; NULL: none. */
static inline struct tide_queue *tide_arbiter_next(const struct tide_device *device) {
  const struct tide_ready *ready = &device->ready;
  if (__builtin_expect(device->ahead != NULL, 0)) return tide_ahead_next(device);
  return ready->only || !ready->count ? ready->only : tide_arbiter_choose(ready);
}
static inline bool tide_arbiter_has_next(const struct tide_device *device) {
  if (__builtin_expect(device->ahead != NULL, 0)) return tide_ahead_next(device) != NULL;
  return device->ready.count != 0;
}
static inline void tide_arbiter_count_pick(struct tide_queue *queue) {
  queue->ready_in->picks++;
  queue->sched->stats.picks++;
}
static inline void tide_arbiter_take(struct tide_queue *queue) {
  struct tide_ready *ready = queue->ready_in;
  if (ready->only == queue) {
    ready->only = NULL;
    ready->count = 0;
    queue->ready = false;
  } else {
    tide_arbiter_remove(queue);
  }
  tide_arbiter_count_pick(queue);
}

#endif
