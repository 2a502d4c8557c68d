/* Who goes next on a device: the highest priority, oldest first, nobody for ever last.
 *
 * The bound: a queue that is ready is picked after at most
 * TIDE_AGING_PICKS + R further picks of its device, where R is the number of
 * queues that were ready before it. For whoever has waited that long goes first,
 * oldest first. */
#include "sched/sched.h"

#define TIDE_AGING_PICKS 128

void tide_arbiter_add(struct tide_queue *queue) {
  struct tide_device *device = queue->device;
  TIDE_ASSERT(!queue->ready);
  queue->ready = true;
  queue->level = queue->base;
  queue->ready_since = device->picks;
  tide_list_push_back(&device->ready[queue->level], &queue->in_ready);
  tide_list_push_back(&device->ready_by_age, &queue->in_age);
  device->ready_levels |= 1u << queue->level;
  device->ready_count++;
  if (!device->exchanging && !queue->sched->paused) tide_device_kick(device);
}

void tide_device_kick(struct tide_device *device) {
  struct tide_sched *sched = device->sched;
  if (!device->dry || device->kick_due) return;
  device->dry--;
  device->kick_due = true;
  device->next_kick = sched->kicks;
  sched->kicks = device;
  sched->stats.kicks++;
}

void tide_arbiter_remove(struct tide_queue *queue) {
  struct tide_device *device = queue->device;
  if (!queue->ready) return;
  queue->ready = false;
  tide_list_remove(&queue->in_ready);
  tide_list_remove(&queue->in_age);
  if (tide_list_empty(&device->ready[queue->level])) device->ready_levels &= ~(1u << queue->level);
  device->ready_count--;
}

struct tide_queue *tide_arbiter_pick(struct tide_device *device) {
  if (!device->ready_levels) return NULL;
  struct tide_queue *oldest = TIDE_CONTAINER(device->ready_by_age.next, struct tide_queue, in_age);
  struct tide_queue *queue = oldest;
  if (device->picks - oldest->ready_since < TIDE_AGING_PICKS) {
    unsigned level = 31u - (unsigned)__builtin_clz(device->ready_levels);
    queue = TIDE_CONTAINER(device->ready[level].next, struct tide_queue, in_ready);
  }
  tide_arbiter_remove(queue);
  device->picks++;
  queue->sched->stats.picks++;
  return queue;
}

void tide_arbiter_requeue(struct tide_queue *queue) {
  struct tide_device *device = queue->device;
  tide_list_remove(&queue->in_ready);
  if (tide_list_empty(&device->ready[queue->level])) device->ready_levels &= ~(1u << queue->level);
  queue->level = queue->base;
  tide_list_push_back(&device->ready[queue->level], &queue->in_ready);
  device->ready_levels |= 1u << queue->level;
}
