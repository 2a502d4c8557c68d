#include "base/params.h"
#include "timeline/timeline_state.h"
#include "base/check.h"
#include "base/alloc.h"
#include "timeline/history.h"

static struct tide_timeline *make_timeline(struct tide_context *context, const char *label,
                                           const char *kind) {
  struct tide_timeline *timeline = tide_alloc(context->allocator, 1, sizeof *timeline);
  if (!timeline) return NULL;
  timeline->context = context;
  timeline->guard = &timeline->own_lock;
  timeline->fail_from = UINT64_MAX;
  timeline->lowest_broken = UINT64_MAX;
  timeline->references = timeline->owners = 1;
  timeline->number = tide_context_number(context);
  tide_label_name(timeline->label, label, kind, timeline->number);
  return timeline;
}

static void emit_event(const struct tide_sink *sink, const struct tide_platform *platform,
                       struct tide_event *event) {
  event->time = sink->wants_time ? platform->now(platform->self) : 0;
  sink->event(sink->self, event);
}

static void tell_check(struct tide_context *context, struct tide_event *event) {
  if (context->check) emit_event(context->check, context->platform, event);
}

static struct tide_timeline *timeline_of(struct tide_owned *owned) {
  return TIDE_CONTAINER(owned, struct tide_timeline, owned);
}
static void end_owned(struct tide_owned *owned) {
  tide_timeline_end(timeline_of(owned), TIDE_CANCELLED);
}
static void keep_owned(struct tide_owned *owned) {
  tide_fetch_add(&timeline_of(owned)->references, 1u);
}
static void let_go_owned(struct tide_owned *owned) { tide_timeline_let_go(timeline_of(owned)); }
/* The remaining owners are the user's handles, which end with the context. */
static void destroy_owned(struct tide_owned *owned) {
  tide_store_relaxed(&timeline_of(owned)->owners, 1u);
  tide_timeline_destroy(timeline_of(owned));
}
static const struct tide_owned_ops owned_ops = {end_owned, keep_owned, let_go_owned, destroy_owned};

enum tide_status tide_timeline_create(struct tide_context *context,
                                      const struct tide_timeline_params *params,
                                      struct tide_timeline **out_timeline) {
  enum tide_status status = tide_timeline_make(context, params, out_timeline);
  if (status == TIDE_OK)
    tide_context_own(context, TIDE_OWNED_TIMELINE, &(*out_timeline)->owned, &owned_ops);
  return status;
}

enum tide_status tide_timeline_make(struct tide_context *context,
                                    const struct tide_timeline_params *params,
                                    struct tide_timeline **out_timeline) {
  struct tide_timeline_params own;
  enum tide_status known = tide_params_copy(&own, sizeof own, params);
  if (known != TIDE_OK) return known;
  params = &own;
  if ((unsigned)params->scope > TIDE_SCOPE_SYSTEM) return TIDE_INVALID;
  /* tidemark/shared.h has such timelines: they need memory, and an owner. */
  struct tide_timeline *timeline = make_timeline(context, params->label, "timeline");
  if (!timeline) return TIDE_NOMEM;
  timeline->scope = params->scope ? params->scope : TIDE_SCOPE_PROCESS;
  timeline->operations_only = params->operations_only;
  timeline->initial = timeline->reached.value = params->initial;
  tide_timeline_refresh(timeline);
  enum tide_status status = tide_history_init(timeline, params->history);
  if (status != TIDE_OK) {
    tide_free(context->allocator, timeline, 1, sizeof *timeline);
    return status;
  }
  struct tide_event made = {.kind = TIDE_EVENT_MADE, .object = timeline};
  tell_check(context, &made);
  *out_timeline = timeline;
  return TIDE_OK;
}

enum tide_status tide_timeline_create_progress(struct tide_context *context, const char *label,
                                               const struct tide_value_ops *ops, void *backing,
                                               struct tide_timeline **out_timeline) {
  struct tide_timeline *timeline = make_timeline(context, label, ops->kind);
  if (!timeline) return TIDE_NOMEM;
  timeline->scope = TIDE_SCOPE_PROCESS;
  timeline->operations_only = true;
  timeline->guard = context->sched_lock;
  tide_timeline_open_on(timeline, ops, backing);
  *out_timeline = timeline;
  return TIDE_OK;
}

void tide_timeline_open_on(struct tide_timeline *timeline, const struct tide_value_ops *ops,
                           void *backing) {
  timeline->ops = ops;
  timeline->backing = backing;
  timeline->is_backed = true;
  tide_timeline_refresh(timeline);
}

void tide_timeline_leave_backing(struct tide_timeline *timeline) {
  struct tide_lock *guard = tide_timeline_lock(timeline);
  timeline->backing = NULL;
  tide_lock_give(guard);
}

struct tide_lock *tide_timeline_lock_slowly(struct tide_timeline *timeline) {
  for (;;) {
    struct tide_lock *guard = tide_load_acquire(&timeline->guard);
    tide_lock_take(guard, timeline->context->platform);
    if (guard == tide_load_relaxed(&timeline->guard)) return guard;
    tide_lock_give(guard);
  }
}

void tide_timeline_adopt(struct tide_timeline *timeline) {
  struct tide_lock *own = &timeline->own_lock;
  if (timeline->guard != own) return;
  tide_lock_take(own, timeline->context->platform);
  tide_store_release(&timeline->guard, timeline->context->sched_lock);
  tide_lock_give(own);
}

void tide_timeline_retain(struct tide_timeline *timeline) { tide_fetch_add(&timeline->owners, 1u); }

void tide_timeline_release(struct tide_timeline *timeline) {
  if (!timeline || tide_fetch_sub(&timeline->owners, 1u) > 1) return;
  /* Waiters may keep the timeline's memory longer, and release it themselves. */
  tide_context_disown(timeline->context, &timeline->owned);
  /* Every waiter holds a reference: if only the owners' one is left, there is no waiter. */
  if (tide_load_acquire(&timeline->references) != 1) tide_timeline_end(timeline, TIDE_CANCELLED);
  tide_timeline_let_go(timeline);
}

void tide_timeline_orphan(struct tide_timeline *timeline) {
  struct tide_lock *guard = tide_timeline_lock(timeline);
  timeline->orphan = true;
  bool held = timeline->held > 0;
  tide_lock_give(guard);
  if (!held) tide_timeline_free(timeline);
}

void tide_timeline_free(struct tide_timeline *timeline) {
  TIDE_ASSERT(tide_counter_empty(&timeline->reached) && tide_counter_empty(&timeline->promised) &&
              !timeline->pending.root);
  if (timeline->ops && timeline->ops->free) timeline->ops->free(timeline->backing);
  if (timeline->slots) tide_history_fini(timeline);
  tide_cause_release(timeline->cause);
  tide_free(timeline->context->allocator, timeline, 1, sizeof *timeline);
}

void tide_timeline_destroy(struct tide_timeline *timeline) {
  if (!timeline) return;
  tide_timeline_fail(timeline, TIDE_CANCELLED);
  tide_timeline_release(timeline);
}

const char *tide_timeline_label(const struct tide_timeline *timeline) { return timeline->label; }
enum tide_scope tide_timeline_scope(const struct tide_timeline *timeline) {
  return (enum tide_scope)timeline->scope;
}

uint64_t tide_timeline_query(const struct tide_timeline *timeline) {
  return tide_load_acquire(&timeline->reached.value);
}

enum tide_status tide_timeline_status(const struct tide_timeline *timeline) {
  return (enum tide_status)tide_load_acquire(&timeline->status);
}

static const char *const scope_names[] = {"default", "queue",   "device",
                                          "group",   "process", "system"};

const char *tide_scope_name(enum tide_scope scope) {
  return (unsigned)scope <= TIDE_SCOPE_SYSTEM ? scope_names[scope] : "unknown";
}

enum tide_scope tide_scope_for(const struct tide_scope_usage *usage) {
  if (usage->exported) return TIDE_SCOPE_SYSTEM;
  if (usage->host) return TIDE_SCOPE_PROCESS;
  if (usage->devices > 1) return TIDE_SCOPE_GROUP;
  if (usage->queues > 1) return TIDE_SCOPE_DEVICE;
  return TIDE_SCOPE_QUEUE;
}

void tide_timeline_emit(const struct tide_timeline *timeline, enum tide_event_kind kind,
                        uint64_t value, tide_axis axis, uint64_t epoch,
                        const struct tide_frontier *frontier, enum tide_status status) {
  struct tide_context *context = timeline->context;
  struct tide_event event = {.kind = kind,
                             .thread = context->platform->thread_id(context->platform->self),
                             .axis = axis,
                             .epoch = epoch,
                             .value = value,
                             .object = timeline,
                             .object_label = timeline->label,
                             .frontier = frontier,
                             .status = status};
  tell_check(context, &event);
  if (context->sink) emit_event(context->sink, context->platform, &event);
}

void tide_timeline_emit_wait(const struct tide_timeline *timeline, uint64_t value) {
  tide_timeline_emit(timeline, TIDE_EVENT_HOST_WAIT, value, 0, 0, NULL, TIDE_OK);
}
