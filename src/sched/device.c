/* Devices: where work goes out to backends and comes back; and the scheduler itself. */
#include "base/memory.h"
#include "causal/tracker.h"
#include "sched/arbiter.h"
#include "sched/channel.h"

/* One scheduler a context, until its memory goes. */
static bool claim(const struct tide_context *context) {
  return tide_exchange((uint32_t *)&context->scheduled, 1u) == 0;
}

static void unclaim(const struct tide_context *context) {
  tide_store_release((uint32_t *)&context->scheduled, 0u);
}

enum tide_status tide_sched_create(const struct tide_context *context,
                                   const struct tide_sched_params *params,
                                   struct tide_sched **out_sched) {
  const struct tide_allocator *a = context->allocator;
  if (!claim(context)) return TIDE_BUSY;
  struct tide_sched *sched = tide_alloc(a, 1, sizeof *sched);
  if (!sched) {
    unclaim(context);
    return TIDE_NOMEM;
  }
  sched->context = context;
  sched->lock = context->sched_lock;
  sched->references = 1;
  if (params) sched->params = *params;
  sched->paused = sched->params.paused;
  tide_list_init(&sched->devices);
  tide_list_init(&sched->collectives);
  sched->work_end = &sched->work;
  tide_fired_init(&sched->fired);
  tide_fired_init(&sched->host);
  sched->last_changed = &sched->changed;
  sched->scratch = tide_alloc(a, 1, tide_frontier_size(TIDE_FRONTIER_CAPACITY_MAX));
  enum tide_status status = sched->scratch ? TIDE_OK : TIDE_NOMEM;
  if (sched->scratch) tide_frontier_init(sched->scratch, TIDE_FRONTIER_CAPACITY_MAX);
  if (status == TIDE_OK && sched->params.check) status = tide_check_create(sched);
  if (status != TIDE_OK) {
    tide_sched_destroy(sched);
    return status;
  }
  *out_sched = sched;
  return TIDE_OK;
}

void tide_sched_unref(struct tide_sched *sched) {
  const struct tide_context *context = sched->context;
  const struct tide_allocator *a = context->allocator;
  if (tide_fetch_sub(&sched->references, 1u) != 1) return;
  tide_free(a, sched, 1, sizeof *sched);
  unclaim(context);
}

void tide_sched_destroy(struct tide_sched *sched) {
  if (!sched) return;
  const struct tide_allocator *a = sched->context->allocator;
  TIDE_ASSERT(tide_list_empty(&sched->devices));
  tide_lock_take(sched->lock, tide_sched_platform(sched));
  if (sched->checker) tide_check_destroy(sched);
  tide_lock_give(sched->lock);
  tide_free(a, sched->scratch, 1, tide_frontier_size(TIDE_FRONTIER_CAPACITY_MAX));
  tide_sched_unref(sched);
}

void tide_sched_pause(struct tide_sched *sched) {
  tide_sched_enter(sched);
  sched->paused = true;
  tide_sched_leave(sched);
}

void tide_sched_resume(struct tide_sched *sched) {
  tide_sched_enter(sched);
  sched->paused = false;
  for (struct tide_link *at = sched->devices.next; at != &sched->devices; at = at->next) {
    struct tide_device *device = TIDE_CONTAINER(at, struct tide_device, in_sched);
    if (device->ready_count) tide_device_kick(device);
  }
  tide_sched_leave(sched);
}

void tide_sched_stats(struct tide_sched *sched, struct tide_sched_stats *out_stats) {
  tide_sched_enter(sched);
  for (struct tide_link *at = sched->devices.next; at != &sched->devices; at = at->next) {
    struct tide_link *queues = &TIDE_CONTAINER(at, struct tide_device, in_sched)->queues;
    for (struct tide_link *link = queues->next; link != queues; link = link->next)
      tide_queue_count_frontiers(TIDE_CONTAINER(link, struct tide_queue, in_device));
  }
  *out_stats = sched->stats;
  /* Beside a failed one, one that nobody has promised does not hold the operation back. */
  out_stats->waits_failed = sched->waits_of[TIDE_WAIT_FAILED] + sched->waits_of[TIDE_WAIT_HELD];
  out_stats->waits_resolved = sched->waits_of[TIDE_WAIT_RESOLVED];
  out_stats->waits_elided = sched->waits_of[TIDE_WAIT_ELIDED];
  out_stats->waits_issued = sched->waits_of[TIDE_WAIT_ISSUED];
  out_stats->waits = out_stats->waits_failed + out_stats->waits_resolved + out_stats->waits_elided +
                     out_stats->waits_issued;
  tide_sched_leave(sched);
}

/* ---- devices ---------------------------------------------------------------------- */

enum tide_status tide_device_create(struct tide_sched *sched, const struct tide_backend *backend,
                                    const char *label, struct tide_device **out_device) {
  struct tide_device *device = tide_alloc(sched->context->allocator, 1, sizeof *device);
  if (!device) return TIDE_NOMEM;
  device->sched = sched;
  device->backend = backend;
  device->dry = 1; /* the first work is announced */
  tide_list_init(&device->queues);
  tide_list_init(&device->ready_by_age);
  for (int i = 0; i < TIDE_PRIORITY_LEVELS; i++) tide_list_init(&device->ready[i]);
  size_t length = label ? strlen(label) : 0;
  if (length >= sizeof device->label) length = sizeof device->label - 1;
  if (length) memcpy(device->label, label, length);
  tide_sched_enter(sched);
  tide_list_push_back(&sched->devices, &device->in_sched);
  tide_sched_leave(sched);
  *out_device = device;
  return TIDE_OK;
}

const char *tide_device_label(const struct tide_device *device) { return device->label; }

enum tide_status tide_device_settle(struct tide_device *device, uint64_t deadline) {
  const struct tide_platform *platform = tide_sched_platform(device->sched);
  uint32_t *words[] = {&device->queue_count, &device->calls};
  tide_fetch_or(&device->calls, TIDE_CALLS_AWAITED);
  for (int i = 0; i < 2; i++) {
    uint32_t left;
    while ((left = tide_load_acquire(words[i])) & ~TIDE_CALLS_AWAITED) {
      if (deadline != TIDE_FOREVER && platform->now(platform->self) >= deadline)
        return TIDE_TIMEOUT;
      platform->wait(platform->self, words[i], left, deadline);
    }
  }
  return TIDE_OK;
}

enum tide_status tide_device_destroy(struct tide_device *device) {
  if (!device) return TIDE_OK;
  struct tide_sched *sched = device->sched;
  if (tide_load_acquire(&device->queue_count)) return TIDE_BUSY;
  tide_sched_enter(sched);
  bool busy = device->queue_count || (tide_load_acquire(&device->calls) & ~TIDE_CALLS_AWAITED) ||
              device->kick_due;
  if (!busy) tide_list_remove(&device->in_sched);
  tide_sched_leave(sched);
  if (busy) return TIDE_BUSY;
  tide_cause_release(device->cause);
  tide_free(sched->context->allocator, device, 1, sizeof *device);
  return TIDE_OK;
}
