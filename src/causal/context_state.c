/* The context's parts that need no scheduler, and the objects that it owns. */
#include "causal/context_state.h"
#include "causal/tracker_axis.h"

#include "base/body_frame.h"
#include "base/check.h"
#include "base/deferred.h"
#include "base/alloc.h"

#define DEFAULT_FRONTIER_CAPACITY 16

#if __STDC_HOSTED__ && !defined(TIDE_FREESTANDING)
static const struct tide_platform *default_platform(void) { return tide_platform_linux(); }
static const struct tide_allocator *default_allocator(void) { return tide_allocator_system(); }
#else
static const struct tide_platform *default_platform(void) { return NULL; }
static const struct tide_allocator *default_allocator(void) { return NULL; }
#endif

static void take_params(struct tide_context *context, const struct tide_context_params *params) {
  const struct tide_sink *sink = params->sink;
  context->sink = sink && !sink->failures_only ? sink : NULL;
  context->failures = sink && sink->failures_only ? sink : NULL;
  context->lease = params->lease;
  if (!context->lease) {
    tide_lease_init(&context->own_lease, 0);
    context->lease = &context->own_lease;
  }
  context->frontier_capacity =
      params->frontier_capacity ? params->frontier_capacity : DEFAULT_FRONTIER_CAPACITY;
}

enum tide_status tide_context_allocate(const struct tide_context_params *params,
                                       struct tide_context **out_context) {
  const struct tide_platform *platform = params->platform ? params->platform : default_platform();
  const struct tide_allocator *a = params->allocator ? params->allocator : default_allocator();
  if (!platform || !a) return TIDE_INVALID;
  struct tide_context *context = tide_alloc(a, 1, sizeof *context);
  if (!context) return TIDE_NOMEM;
  context->platform = platform;
  context->allocator = a;
  take_params(context, params);
  tide_lock_init(&context->owned_lock);
  for (int i = 0; i < TIDE_OWNED_KINDS; i++) {
    tide_list_init(&context->owned[i]);
    tide_list_init(&context->ended[i]);
  }
  context->deferred = tide_alloc(a, 1, sizeof *context->deferred);
  context->sched_lock = tide_alloc(a, 1, sizeof *context->sched_lock);
  context->blocked = tide_alloc(a, 1, sizeof *context->blocked);
  struct tide_tracker_params tracker = {.struct_size = sizeof tracker, a, platform};
  enum tide_status status = context->deferred && context->sched_lock && context->blocked
                                ? tide_tracker_create(&tracker, &context->tracker)
                                : TIDE_NOMEM;
  if (status != TIDE_OK) {
    tide_context_free(context);
    return status;
  }
  context->tracker->context = context;
  tide_deferred_init(context->deferred, platform);
  tide_lock_init(&context->blocked->lock);
  tide_list_init(&context->blocked->frames);
  *out_context = context;
  return TIDE_OK;
}

void tide_context_free(struct tide_context *context) {
  const struct tide_allocator *a = context->allocator;
  tide_tracker_destroy(context->tracker);
  tide_free(a, context->deferred, 1, sizeof *context->deferred);
  tide_free(a, context->sched_lock, 1, sizeof *context->sched_lock);
  tide_free(a, context->blocked, 1, sizeof *context->blocked);
  tide_free(a, context, 1, sizeof *context);
}

/* ---- owned objects ---------------------------------------------------------------- */

void tide_context_own(struct tide_context *context, enum tide_owned_kind kind,
                      struct tide_owned *owned, const struct tide_owned_ops *ops) {
  tide_lock_take(&context->owned_lock, context->platform);
  context->owned_ops[kind] = ops;
  owned->kind = (uint8_t)kind;
  owned->is_owned = true;
  tide_list_push_back(&context->owned[kind], &owned->link);
  tide_lock_give(&context->owned_lock);
}

void tide_context_disown(struct tide_context *context, struct tide_owned *owned) {
  tide_lock_take(&context->owned_lock, context->platform);
  if (owned->is_owned) tide_list_remove(&owned->link);
  owned->is_owned = false;
  tide_lock_give(&context->owned_lock);
}

/* Moves the newest object that has not ended to those that have, and keeps it; NULL if there is
 * none. */
static struct tide_owned *begin_end(struct tide_context *context, enum tide_owned_kind kind) {
  struct tide_link *list = &context->owned[kind];
  struct tide_owned *found = NULL;
  tide_lock_take(&context->owned_lock, context->platform);
  if (!tide_list_empty(list)) {
    found = TIDE_CONTAINER(list->prev, struct tide_owned, link);
    tide_list_remove(&found->link);
    tide_list_insert_before(context->ended[kind].next, &found->link);
  }
  if (found && context->owned_ops[kind]->keep) context->owned_ops[kind]->keep(found);
  tide_lock_give(&context->owned_lock);
  return found;
}

bool tide_context_end_owned(struct tide_context *context, enum tide_owned_kind kind) {
  struct tide_owned *owned;
  bool any = false;
  while ((owned = begin_end(context, kind))) {
    context->owned_ops[kind]->end(owned);
    if (context->owned_ops[kind]->let_go) context->owned_ops[kind]->let_go(owned);
    any = true;
  }
  return any;
}

static void destroy_all(struct tide_context *context, const struct tide_link *list) {
  while (!tide_list_empty(list)) {
    struct tide_owned *owned = TIDE_CONTAINER(list->next, struct tide_owned, link);
    tide_context_disown(context, owned);
    context->owned_ops[owned->kind]->destroy(owned);
  }
}

void tide_context_destroy_owned(struct tide_context *context, enum tide_owned_kind kind) {
  destroy_all(context, &context->ended[kind]);
  destroy_all(context, &context->owned[kind]);
}

/* ---- parameters ------------------------------------------------------ */

const struct tide_platform *tide_context_platform(const struct tide_context *context) {
  return context->platform;
}
const struct tide_allocator *tide_context_allocator(const struct tide_context *context) {
  return context->allocator;
}
struct tide_lease *tide_context_lease(const struct tide_context *context) {
  return context->lease;
}
struct tide_tracker *tide_context_tracker(const struct tide_context *context) {
  return context->tracker;
}

uint64_t tide_after_ms(const struct tide_context *context, uint64_t ms) {
  uint64_t now = context->platform->now(context->platform->self);
  return ms >= (TIDE_FOREVER - now) / 1000000 ? TIDE_FOREVER : now + ms * 1000000;
}
