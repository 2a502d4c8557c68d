/* Groups of devices that run ahead, and their hardware queues. */
#include "base/alloc.h"
#include "sched/ahead_parts.h"
#include "sched/arbiter.h"

static struct tide_device_group *find_group(struct tide_sched *sched, const void *name) {
  for (struct tide_link *at = sched->groups.next; name && at != &sched->groups; at = at->next) {
    struct tide_device_group *group = TIDE_CONTAINER(at, struct tide_device_group, link);
    if (group->name == name) return group;
  }
  struct tide_device_group *group = tide_alloc(sched->context->allocator, 1, sizeof *group);
  if (!group) return NULL;
  group->name = name;
  tide_list_push_back(&sched->groups, &group->link);
  return group;
}

static void leave_group(struct tide_sched *sched, struct tide_device_group *group) {
  if (group->devices) return;
  tide_list_remove(&group->link);
  tide_free(sched->context->allocator, group, 1, sizeof *group);
}

/* Puts a hardware queue into a free slot of its group. */
static bool join_group(struct tide_device_group *group, struct tide_hardware_queue *hardware) {
  for (uint32_t slot = 0; slot < TIDE_HARDWARE_QUEUES_MAX; slot++) {
    if (group->queues[slot]) continue;
    group->queues[slot] = hardware;
    hardware->slot = slot;
    hardware->base = hardware->given = hardware->over = group->numbers[slot];
    hardware->release = hardware->released = hardware->reported = hardware->base;
    hardware->seen[slot] = hardware->base;
    return true;
  }
  return false;
}

static size_t device_part_size(uint32_t count) {
  return sizeof(struct tide_ahead_device) + count * sizeof(struct tide_hardware_queue);
}

static void leave_locked(struct tide_device *device, struct tide_ahead_device *part) {
  struct tide_device_group *group = part->group;
  for (uint32_t slot = 0; slot < TIDE_HARDWARE_QUEUES_MAX; slot++) {
    if (!group->queues[slot] || group->queues[slot]->device != device) continue;
    group->numbers[slot] = group->queues[slot]->given;
    group->queues[slot] = NULL;
  }
  group->devices--;
  leave_group(device->sched, group);
}

static enum tide_status join_all(struct tide_device *device, struct tide_ahead_device *part) {
  struct tide_sched *sched = device->sched;
  enum tide_status status = TIDE_OK;
  tide_sched_enter(sched);
  part->group = find_group(sched, device->backend->group);
  if (!part->group) status = TIDE_NOMEM;
  else part->group->devices++;
  for (uint32_t i = 0; status == TIDE_OK && i < part->count; i++) {
    struct tide_hardware_queue *hardware = &part->queues[i];
    hardware->device = device;
    hardware->index = i;
    tide_list_init(&hardware->out);
    tide_ready_init(&hardware->ready);
    if (!join_group(part->group, hardware)) status = TIDE_FULL;
  }
  if (status != TIDE_OK && part->group) leave_locked(device, part);
  if (status == TIDE_OK) tide_store_relaxed(&sched->context->hear_waiter, tide_ahead_hear_waiter);
  tide_sched_leave(sched);
  return status;
}

void tide_ahead_leave_group(struct tide_device *device) { leave_locked(device, device->ahead); }

enum tide_status tide_ahead_open_device(struct tide_device *device) {
  const struct tide_allocator *a = device->sched->context->allocator;
  uint32_t count = device->backend->hardware_queues ? device->backend->hardware_queues : 1;
  if (!device->backend->ahead) return TIDE_OK;
  if (device->backend->sequential) return TIDE_INVALID;
  if (count > TIDE_HARDWARE_QUEUES_MAX) return TIDE_FULL;
  struct tide_ahead_device *part = tide_alloc(a, 1, device_part_size(count));
  if (!part) return TIDE_NOMEM;
  part->count = count;
  enum tide_status status = join_all(device, part);
  if (status == TIDE_OK) {
    device->ahead = part;
    return TIDE_OK;
  }
  tide_free(a, part, 1, device_part_size(count));
  return status;
}

void tide_ahead_free_device(struct tide_device *device) {
  struct tide_ahead_device *part = device->ahead;
  if (!part) return;
  tide_free(device->sched->context->allocator, part, 1, device_part_size(part->count));
}

/* Returns the hardware queue with the fewest queues. */
static struct tide_hardware_queue *choose_hardware(struct tide_ahead_device *part) {
  struct tide_hardware_queue *fewest = &part->queues[0];
  for (uint32_t i = 1; i < part->count; i++)
    if (part->queues[i].queue_count < fewest->queue_count) fewest = &part->queues[i];
  return fewest;
}

enum tide_status tide_ahead_open_queue(struct tide_queue *queue, uint32_t hardware_queue) {
  const struct tide_allocator *a = queue->sched->context->allocator;
  struct tide_ahead_device *part = queue->device->ahead;
  if (!part) return hardware_queue > 1 ? TIDE_INVALID : TIDE_OK;
  if (hardware_queue > part->count) return TIDE_INVALID;
  struct tide_ahead *ahead = tide_alloc(a, 1, sizeof *ahead);
  queue->ahead = ahead;
  if (!ahead) return TIDE_NOMEM;
  ahead->queue = queue;
  ahead->window = queue->device->backend->ahead;
  if (ahead->window > queue->capacity.ops) ahead->window = queue->capacity.ops;
  tide_list_init(&ahead->waiters);
  ahead->outs = tide_alloc(a, ahead->window, sizeof *ahead->outs);
  if (!ahead->outs) return TIDE_NOMEM;
  tide_sched_enter(queue->sched);
  ahead->hardware = hardware_queue ? &part->queues[hardware_queue - 1] : choose_hardware(part);
  ahead->hardware->queue_count++;
  /* A queue that was alone on it holds back others from now on. */
  struct tide_queue *ready = tide_arbiter_choose(&ahead->hardware->ready);
  if (ready && ahead->hardware->queue_count == 2) tide_arbiter_requeue(ready);
  queue->ready_in = &ahead->hardware->ready;
  tide_sched_leave(queue->sched);
  return TIDE_OK;
}

void tide_ahead_close_queue(struct tide_queue *queue) {
  tide_ahead_stop_awaiting(queue);
  tide_ahead_wake_waiters(queue);
}

void tide_ahead_free_queue(struct tide_queue *queue) {
  const struct tide_allocator *a = queue->sched->context->allocator;
  struct tide_ahead *ahead = queue->ahead;
  if (!ahead) return;
  if (ahead->hardware) {
    tide_sched_enter(queue->sched);
    ahead->hardware->queue_count--;
    tide_sched_leave(queue->sched);
  }
  tide_free(a, ahead->outs, ahead->window, sizeof *ahead->outs);
  tide_free(a, ahead, 1, sizeof *ahead);
}
