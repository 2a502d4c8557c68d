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
/* Returns the level at which the queue waits for its pick. */
static inline uint8_t tide_arbiter_level(const struct tide_queue *queue) {
  if (queue->ahead && tide_ahead_holds_others_back(queue->ready_op)) return 0;
  return (uint8_t)(queue->effective + 1);
}
static inline void tide_arbiter_add(struct tide_queue *queue) {
  struct tide_device *device = queue->device;
  queue->ready = true;
  queue->level = tide_arbiter_level(queue);
  if (queue->kept_age != queue->next_start) queue->ready_since = device->picks;
  queue->kept_age = 0;
  if (device->ready_count++ == 0) device->only = queue;
  else tide_arbiter_enlist(queue);
  if (!device->exchanging && !queue->sched->paused) tide_device_kick(device);
}
void tide_arbiter_remove(struct tide_queue *queue);
void tide_arbiter_requeue(struct tide_queue *queue);
struct tide_queue *tide_arbiter_choose(const struct tide_device *device);
/* Returns the queue to pick next; NULL: no queue is ready. */
static inline struct tide_queue *tide_arbiter_next(const struct tide_device *device) {
  if (device->only || !device->ready_count) return device->only;
  return tide_arbiter_choose(device);
}
static inline void tide_arbiter_count_pick(struct tide_device *device) {
  device->picks++;
  device->sched->stats.picks++;
}
static inline void tide_arbiter_take(struct tide_queue *queue) {
  struct tide_device *device = queue->device;
  if (device->only == queue) {
    device->only = NULL;
    device->ready_count = 0;
    queue->ready = false;
  } else {
    tide_arbiter_remove(queue);
  }
  tide_arbiter_count_pick(device);
}

/* The picked operation cannot go out after all: that was no pick, and the operation keeps its age.
 */
static inline void tide_arbiter_put_back(struct tide_queue *queue) {
  queue->device->picks--;
  queue->sched->stats.picks--;
  queue->kept_age = queue->next_start;
}

#endif
