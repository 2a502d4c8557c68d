/* Picks a device's next queue: the highest priority, then the oldest. Starvation-free. On a device
 * that runs ahead, each hardware queue has ready queues of its own, and those with room take turns.
 * An operation that would hold back others there goes after all other queues.
 *
 * The bound: a ready queue is picked after at most TIDE_AGING_PICKS + R further picks of its
 * device, or its hardware queue, where R is the number of queues that were ready before it. A queue
 * that has waited TIDE_AGING_PICKS picks goes first, oldest first. */
#include "sched/arbiter.h"

#define TIDE_AGING_PICKS 128

static void append_ready(struct tide_queue *queue) {
  struct tide_ready *ready = queue->ready_in;
  tide_list_push_back(&ready->levels[queue->level], &queue->in_ready);
  tide_list_push_back(&ready->by_age, &queue->in_age);
  ready->used_levels |= 1u << queue->level;
}

void tide_arbiter_enlist(struct tide_queue *queue) {
  struct tide_ready *ready = queue->ready_in;
  if (ready->only) append_ready(ready->only);
  ready->only = NULL;
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

static void leave_level(struct tide_queue *queue) {
  struct tide_ready *ready = queue->ready_in;
  tide_list_remove(&queue->in_ready);
  if (tide_list_empty(&ready->levels[queue->level])) ready->used_levels &= ~(1u << queue->level);
}

void tide_arbiter_remove(struct tide_queue *queue) {
  struct tide_ready *ready = queue->ready_in;
  if (!queue->ready) return;
  queue->ready = false;
  ready->count--;
  if (ready->only == queue) {
    ready->only = NULL;
    return;
  }
  leave_level(queue);
  tide_list_remove(&queue->in_age);
}

struct tide_queue *tide_arbiter_choose(const struct tide_ready *ready) {
  if (ready->only || !ready->count) return ready->only;
  struct tide_queue *oldest = TIDE_CONTAINER(ready->by_age.next, struct tide_queue, in_age);
  if (ready->picks - oldest->ready_since >= TIDE_AGING_PICKS) return oldest;
  unsigned level = 31u - (unsigned)__builtin_clz(ready->used_levels);
  return TIDE_CONTAINER(ready->levels[level].next, struct tide_queue, in_ready);
}

void tide_arbiter_requeue(struct tide_queue *queue) {
  struct tide_ready *ready = queue->ready_in;
  uint8_t level = tide_arbiter_level(queue);
  if (ready->only == queue) queue->level = level;
  if (queue->level == level) return;
  leave_level(queue);
  queue->level = level;
  tide_list_push_back(&ready->levels[queue->level], &queue->in_ready);
  ready->used_levels |= 1u << queue->level;
}

void tide_arbiter_requeue_holding_back(struct tide_ready *ready) {
  if (ready->only) tide_arbiter_requeue(ready->only);
  for (uint32_t level = 0; level < TIDE_PRIORITY_LEVELS; level++) {
    struct tide_link *at = ready->levels[level].next, *last = ready->levels[level].prev, *next;
    for (bool more = at != &ready->levels[level]; more; at = next) {
      next = at->next;
      more = at != last;
      tide_arbiter_requeue(TIDE_CONTAINER(at, struct tide_queue, in_ready));
    }
  }
}
