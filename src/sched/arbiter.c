/* Picks a device's next queue: the highest priority, then the oldest. Starvation-free. An operation
 * that would hold back others on its hardware queue goes after all other queues.
 *
 * The bound: a ready queue is picked after at most TIDE_AGING_PICKS + R further picks of its
 * device, where R is the number of queues that were ready before it. A queue that has waited
 * TIDE_AGING_PICKS picks goes first, oldest first. */
#include "sched/arbiter.h"

#define TIDE_AGING_PICKS 128

static void append_ready(struct tide_queue *queue) {
  struct tide_device *device = queue->device;
  struct tide_link *at = device->ready_by_age.prev;
  tide_list_push_back(&device->ready[queue->level], &queue->in_ready);
  /* A queue for which there was no room keeps its age. */
  while (at != &device->ready_by_age &&
         TIDE_CONTAINER(at, struct tide_queue, in_age)->ready_since > queue->ready_since)
    at = at->prev;
  tide_list_insert_before(at->next, &queue->in_age);
  device->ready_levels |= 1u << queue->level;
}

void tide_arbiter_enlist(struct tide_queue *queue) {
  struct tide_device *device = queue->device;
  if (device->only) append_ready(device->only);
  device->only = NULL;
  append_ready(queue);
}

static void list_call(struct tide_device *device) {
  struct tide_sched *sched = device->sched;
  device->kick_due = true;
  device->next_kick = sched->kicks;
  sched->kicks = device;
  sched->calls = true;
}

void tide_device_kick(struct tide_device *device) {
  struct tide_sched *sched = device->sched;
  if (!device->dry || device->kick_due || !device->backend->kick) return;
  device->dry--;
  list_call(device);
  sched->stats.kicks++;
}

void tide_device_call(struct tide_device *device) {
  if (!device->kick_due) list_call(device);
}

void tide_device_call_cancel(struct tide_device *device) {
  tide_store_release(&device->cancel_due, 1u);
  tide_device_call(device);
}

void tide_arbiter_remove(struct tide_queue *queue) {
  struct tide_device *device = queue->device;
  if (!queue->ready) return;
  queue->ready = false;
  device->ready_count--;
  if (device->only == queue) {
    device->only = NULL;
    return;
  }
  tide_list_remove(&queue->in_ready);
  tide_list_remove(&queue->in_age);
  if (tide_list_empty(&device->ready[queue->level])) device->ready_levels &= ~(1u << queue->level);
}

struct tide_queue *tide_arbiter_choose(const struct tide_device *device) {
  struct tide_queue *oldest = TIDE_CONTAINER(device->ready_by_age.next, struct tide_queue, in_age);
  if (device->picks - oldest->ready_since >= TIDE_AGING_PICKS) return oldest;
  unsigned level = 31u - (unsigned)__builtin_clz(device->ready_levels);
  return TIDE_CONTAINER(device->ready[level].next, struct tide_queue, in_ready);
}

void tide_arbiter_requeue(struct tide_queue *queue) {
  struct tide_device *device = queue->device;
  if (device->only == queue) {
    queue->level = tide_arbiter_level(queue);
    return;
  }
  tide_list_remove(&queue->in_ready);
  if (tide_list_empty(&device->ready[queue->level])) device->ready_levels &= ~(1u << queue->level);
  queue->level = tide_arbiter_level(queue);
  tide_list_push_back(&device->ready[queue->level], &queue->in_ready);
  device->ready_levels |= 1u << queue->level;
}
