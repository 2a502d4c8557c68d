/* A context from its creation to its end, and the scheduler in it. */
#include "causal/context_state.h"

#include "base/alloc.h"
#include "base/params.h"
#include "causal/tracker.h"
#include "sched/arbiter.h"
#include "sched/channel_state.h"

/* ---- the scheduler ------------------------------------------------------------------ */

static void sched_destroy(struct tide_sched *sched) {
  const struct tide_platform *platform = tide_sched_platform(sched);
  uint32_t reporting;
  TIDE_ASSERT(tide_list_empty(&sched->devices));
  tide_lock_take(sched->lock, platform);
  if (sched->checker) tide_check_destroy(sched);
  tide_lock_give(sched->lock);
  while ((reporting = tide_load_acquire(&sched->reporting)))
    platform->wait(platform->self, &sched->reporting, reporting, TIDE_FOREVER);
  tide_free(sched->context->allocator, sched->scratch, 1,
            tide_frontier_size(TIDE_FRONTIER_CAPACITY_MAX));
  tide_free(sched->context->allocator, sched, 1, sizeof *sched);
}

static enum tide_status sched_create(struct tide_context *context,
                                     const struct tide_context_params *params) {
  const struct tide_allocator *a = context->allocator;
  struct tide_sched *sched = tide_alloc(a, 1, sizeof *sched);
  if (!sched) return TIDE_NOMEM;
  sched->context = context;
  sched->lock = context->sched_lock;
  sched->paused = params->paused;
  sched->finding = params->finding;
  sched->finding_user = params->finding_user;
  tide_list_init(&sched->devices);
  tide_list_init(&sched->groups);
  tide_list_init(&sched->collectives);
  sched->work_end = &sched->work;
  sched->gone_end = &sched->gone;
  tide_fired_init(&sched->fired);
  tide_fired_init(&sched->host);
  sched->last_changed = &sched->changed;
  sched->scratch = tide_alloc(a, 1, tide_frontier_size(TIDE_FRONTIER_CAPACITY_MAX));
  enum tide_status status = sched->scratch ? TIDE_OK : TIDE_NOMEM;
  if (sched->scratch) tide_frontier_init(sched->scratch, TIDE_FRONTIER_CAPACITY_MAX);
  if (status == TIDE_OK && params->check) status = tide_check_create(sched);
  if (status != TIDE_OK) {
    sched_destroy(sched);
    return status;
  }
  context->sched = sched;
  return TIDE_OK;
}

/* ---- the context --------------------------------------------------------------------- */

enum tide_status tide_context_create(const struct tide_context_params *params,
                                     struct tide_context **out_context) {
  struct tide_context_params own;
  struct tide_context *context;
  enum tide_status status = tide_params_copy(&own, sizeof own, params);
  if (status == TIDE_OK) status = tide_context_allocate(&own, &context);
  if (status != TIDE_OK) return status;
  status = sched_create(context, &own);
  if (status != TIDE_OK) {
    tide_context_free(context);
    return status;
  }
  *out_context = context;
  return TIDE_OK;
}

/* Cancels the queues of all devices before any device is waited for: an operation ends only after
 * the operations that it imported, on any device. */
static void cancel_queues(struct tide_sched *sched) {
  tide_sched_enter(sched);
  if (sched->checker) tide_check_flush(sched);
  tide_collectives_destroy_locked(sched);
  for (struct tide_link *at = sched->devices.next; at != &sched->devices; at = at->next)
    tide_device_destroy_queues_locked(TIDE_CONTAINER(at, struct tide_device, in_sched));
  tide_sched_leave(sched);
}

/* Ends all waits, while all objects still exist for the callbacks that this runs. A callback may
 * make new objects. */
static void end_waits(struct tide_context *context) {
  bool any;
  do {
    any = tide_context_end_owned(context, TIDE_OWNED_MEDIUM);
    any |= tide_context_end_owned(context, TIDE_OWNED_POINTS);
    any |= tide_context_end_owned(context, TIDE_OWNED_TIMELINE);
    any |= tide_context_end_owned(context, TIDE_OWNED_WAIT_SET);
    for (const struct tide_link *list = &context->owned[TIDE_OWNED_NOTIFIER], *at = list->next;
         at != list; at = at->next)
      any |= tide_notifier_dispatch(tide_notifier_of(TIDE_CONTAINER(at, struct tide_owned, link)),
                                    SIZE_MAX) > 0;
  } while (any);
}

/* Blocks until the threads whose waits have ended have left the context. */
static void await_waiting(struct tide_context *context) {
  const struct tide_platform *platform = context->platform;
  uint32_t left = tide_fetch_or(&context->waiting, TIDE_WAITING_AWAITED) | TIDE_WAITING_AWAITED;
  for (; left != TIDE_WAITING_AWAITED; left = tide_load_acquire(&context->waiting))
    platform->wait(platform->self, &context->waiting, left, TIDE_FOREVER);
}

void tide_context_destroy(struct tide_context *context) {
  if (!context) return;
  struct tide_sched *sched = context->sched;
  (void)tide_context_end_owned(context, TIDE_OWNED_CLUSTER);
  cancel_queues(sched);
  /* Operations that fail await what they know. Other machines tell nothing of it any more. */
  tide_tracker_sever(context->tracker, context->lease->machine, TIDE_CANCELLED);
  end_waits(context);
  tide_context_destroy_owned(context, TIDE_OWNED_CREW);
  while (!tide_list_empty(&sched->devices))
    tide_device_close(TIDE_CONTAINER(sched->devices.prev, struct tide_device, in_sched));
  end_waits(context);
  await_waiting(context);
  for (int kind = 0; kind < TIDE_OWNED_KINDS; kind++)
    tide_context_destroy_owned(context, (enum tide_owned_kind)kind);
  sched_destroy(sched);
  tide_context_free(context);
}

void tide_context_pause(struct tide_context *context) {
  tide_sched_enter(context->sched);
  context->sched->paused = true;
  tide_sched_leave(context->sched);
}

void tide_context_resume(struct tide_context *context) {
  struct tide_sched *sched = context->sched;
  tide_sched_enter(sched);
  sched->paused = false;
  for (struct tide_link *at = sched->devices.next; at != &sched->devices; at = at->next) {
    struct tide_device *device = TIDE_CONTAINER(at, struct tide_device, in_sched);
    if (tide_arbiter_has_next(device)) tide_device_kick(device);
  }
  tide_sched_look_at_all(sched);
  tide_sched_leave(sched);
}

void tide_context_stats(struct tide_context *context, struct tide_context_stats *out_stats) {
  struct tide_sched *sched = context->sched;
  tide_sched_enter(sched);
  for (struct tide_link *at = sched->devices.next; at != &sched->devices; at = at->next) {
    struct tide_link *queues = &TIDE_CONTAINER(at, struct tide_device, in_sched)->queues;
    for (struct tide_link *link = queues->next; link != queues; link = link->next)
      tide_queue_count_frontiers(TIDE_CONTAINER(link, struct tide_queue, in_device));
  }
  *out_stats = sched->stats;
  /* A held wait counts as failed if its operation entered all the same, as failed. */
  out_stats->waits_failed = sched->waits_of[TIDE_WAIT_FAILED] + sched->waits_of[TIDE_WAIT_HELD];
  out_stats->waits_resolved = sched->waits_of[TIDE_WAIT_RESOLVED];
  out_stats->waits_elided = sched->waits_of[TIDE_WAIT_ELIDED];
  out_stats->waits_issued = sched->waits_of[TIDE_WAIT_ISSUED];
  out_stats->waits = out_stats->waits_failed + out_stats->waits_resolved + out_stats->waits_elided +
                     out_stats->waits_issued;
  tide_sched_leave(sched);
}
