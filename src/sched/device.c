/* Devices: opening, waiting for the last work, closing. */
#include "base/alloc.h"
#include "causal/context_state.h"
#include "sched/sched.h"

enum tide_status tide_device_open(struct tide_context *context, const struct tide_backend *backend,
                                  const char *label, struct tide_device **out_device) {
  struct tide_sched *sched = context->sched;
  struct tide_device *device = tide_alloc(context->allocator, 1, sizeof *device);
  if (!device) return TIDE_NOMEM;
  device->sched = sched;
  device->own = *backend;
  device->backend = &device->own;
  device->dry = 1; /* the first work is announced */
  tide_list_init(&device->queues);
  tide_ready_init(&device->ready);
  tide_label_name(device->label, label, "device", tide_context_number(context));
  enum tide_status status = tide_ahead_open_device(device);
  if (status == TIDE_OK && backend->start) status = backend->start(backend->self, device);
  if (status != TIDE_OK) {
    tide_sched_enter(sched);
    if (device->ahead) tide_ahead_leave_group(device);
    tide_sched_leave(sched);
    tide_ahead_free_device(device);
    tide_free(context->allocator, device, 1, sizeof *device);
    return status;
  }
  tide_sched_enter(sched);
  tide_list_push_back(&sched->devices, &device->in_sched);
  tide_sched_leave(sched);
  *out_device = device;
  return TIDE_OK;
}

const struct tide_backend *tide_device_backend(const struct tide_device *device) {
  return device->backend;
}
struct tide_context *tide_device_context(const struct tide_device *device) {
  return device->sched->context;
}
const char *tide_device_label(const struct tide_device *device) { return device->label; }

enum tide_status tide_device_settle(struct tide_device *device, uint64_t deadline) {
  const struct tide_platform *platform = tide_sched_platform(device->sched);
  uint32_t *words[] = {&device->users, &device->calls};
  tide_fetch_or(&device->calls, TIDE_CALLS_AWAITED);
  for (int i = 0; i < 2; i++) {
    uint32_t left;
    while ((left = tide_load_acquire(words[i])) & ~TIDE_CALLS_AWAITED) {
      if (deadline != TIDE_FOREVER && platform->now(platform->self) >= deadline)
        return TIDE_TIMEOUT;
      platform->wait(platform->self, words[i], left, deadline);
    }
  }
  if (device->sched->checker) {
    tide_sched_enter(device->sched);
    tide_check_settled(device->sched, device);
    tide_sched_leave(device->sched);
  }
  return TIDE_OK;
}

/* ---- the end -------------------------------------------------------------------------- */

/* Visits each queue once, although its end may remove others from the list. */
void tide_device_destroy_queues_locked(struct tide_device *device) {
  struct tide_link left, *at;
  tide_list_move_all(&device->queues, &left);
  while ((at = tide_list_pop_front(&left))) {
    struct tide_queue *queue = TIDE_CONTAINER(at, struct tide_queue, in_device);
    tide_list_push_back(&device->queues, at);
    if (!queue->closing) tide_queue_destroy_locked(queue);
  }
}

/* Takes the device from the scheduler, unless a call of its backend is due. */
static bool unlink_device(struct tide_device *device) {
  struct tide_sched *sched = device->sched;
  tide_sched_enter(sched);
  bool is_busy = device->users || (tide_load_acquire(&device->calls) & ~TIDE_CALLS_AWAITED) ||
                 device->kick_due;
  if (!is_busy) {
    tide_list_remove(&device->in_sched);
    if (device->ahead) tide_ahead_leave_group(device); /* no new submission waits for this device */
  }
  tide_sched_leave(sched);
  return !is_busy;
}

enum tide_status tide_device_close_until(struct tide_device *device, uint64_t deadline) {
  if (!device) return TIDE_OK;
  struct tide_sched *sched = device->sched;
  tide_sched_enter(sched);
  tide_device_destroy_queues_locked(device);
  tide_sched_leave(sched);
  do {
    enum tide_status status = tide_device_settle(device, deadline);
    if (status != TIDE_OK) return status;
  } while (!unlink_device(device));
  if (device->backend->stop) device->backend->stop(device->backend->self);
  tide_cause_release(device->cause);
  tide_ahead_free_device(device);
  tide_free(sched->context->allocator, device, 1, sizeof *device);
  return TIDE_OK;
}

void tide_device_close(struct tide_device *device) {
  TIDE_ASSERT(tide_device_close_until(device, TIDE_FOREVER) == TIDE_OK);
}
