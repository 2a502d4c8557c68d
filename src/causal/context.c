/* The context: what every object is made with. */
#include "base/body_frame.h"
#include "base/deferred.h"
#include "base/lock.h"
#include "base/memory.h"
#include "tidemark/causal.h"

#define DEFAULT_FRONTIER_CAPACITY 16

#if __STDC_HOSTED__ && !defined(TIDE_FREESTANDING)
static const struct tide_platform *default_platform(void) { return tide_platform_linux(); }
static const struct tide_allocator *default_allocator(void) { return tide_allocator_system(); }
#else
static const struct tide_platform *default_platform(void) { return NULL; }
static const struct tide_allocator *default_allocator(void) { return NULL; }
#endif

enum tide_status tide_context_init(struct tide_context *context,
                                   const struct tide_context_params *params) {
  static const struct tide_context_params defaults = {0};
  if (!params) params = &defaults;
  *context = (struct tide_context){
      .platform = params->platform ? params->platform : default_platform(),
      .allocator = params->allocator ? params->allocator : default_allocator(),
      .sink = params->sink && !params->sink->failures_only ? params->sink : NULL,
      .failures = params->sink && params->sink->failures_only ? params->sink : NULL,
      .lease = params->lease,
      .frontier_capacity =
          params->frontier_capacity ? params->frontier_capacity : DEFAULT_FRONTIER_CAPACITY,
  };
  if (!context->platform || !context->allocator) return TIDE_INVALID;
  if (!context->lease) {
    tide_lease_init(&context->own_lease, 0);
    context->lease = &context->own_lease;
  }
  context->deferred = tide_alloc(context->allocator, 1, sizeof *context->deferred);
  context->sched_lock = tide_alloc(context->allocator, 1, sizeof *context->sched_lock);
  context->blocked = tide_alloc(context->allocator, 1, sizeof *context->blocked);
  if (!context->deferred || !context->sched_lock || !context->blocked) {
    tide_context_fini(context);
    return TIDE_NOMEM;
  }
  tide_deferred_init(context->deferred, context->platform);
  tide_lock_init(&context->blocked->lock);
  tide_list_init(&context->blocked->frames);
  struct tide_tracker_params tracker = {context->allocator, context->platform};
  enum tide_status status = tide_tracker_create(&tracker, &context->tracker);
  context->owns_tracker = status == TIDE_OK;
  if (status != TIDE_OK) tide_context_fini(context);
  return status;
}

void tide_context_fini(struct tide_context *context) {
  if (context->owns_tracker) tide_tracker_destroy(context->tracker);
  tide_free(context->allocator, context->deferred, 1, sizeof *context->deferred);
  tide_free(context->allocator, context->sched_lock, 1, sizeof *context->sched_lock);
  tide_free(context->allocator, context->blocked, 1, sizeof *context->blocked);
  context->blocked = NULL;
  context->deferred = NULL;
  context->sched_lock = NULL;
  context->tracker = NULL;
  context->owns_tracker = false;
}
