/* Timepoints: a call when a value is reached, on the signalling thread or by a
 * notifier's dispatch. */
#include "base/check.h"
#include "base/memory.h"
#include "base/plant.h"
#include "timeline/waiter.h"

struct tide_notifier {
  const struct tide_context *context;
  struct tide_lock lock;
  struct tide_deferred_call *first, **last; /* of timepoints; their `run` is not used */
  int descriptor;
};

static struct tide_timepoint *timepoint_of(struct tide_point_waiter *waiter) {
  return TIDE_CONTAINER(tide_point_of(waiter), struct tide_timepoint, point);
}

/* Whoever cancels may find the timeline gone, unless the timepoint still has its `callbacks`: both
 * look, and these are taken away, under the lock that they are. So a cancel holds that while it
 * takes the timeline's guard; nobody takes it with a guard held. */
static inline void take_callbacks_away(struct tide_point_waiter *waiter) {
  tide_store_relaxed(&waiter->callbacks, NULL);
}

/* The callbacks have been taken away. */
static inline void make_call(struct tide_timepoint *timepoint) {
  enum tide_status status = (enum tide_status)tide_waiter_of(&timepoint->point)->node.status;
  tide_point_let_go(&timepoint->point);
  timepoint->call(timepoint, status);
}

static void run(struct tide_deferred_call *call) {
  struct tide_point_waiter *waiter = TIDE_CONTAINER(call, struct tide_point_waiter, call);
  struct tide_deferred *callbacks = waiter->callbacks;
  tide_lock_take(&callbacks->lock, callbacks->platform);
  take_callbacks_away(waiter);
  tide_lock_give(&callbacks->lock);
  make_call(timepoint_of(waiter));
}

static void notify(struct tide_notifier *notifier, struct tide_deferred_call *call) {
  const struct tide_platform *platform = notifier->context->platform;
  tide_lock_take(&notifier->lock, platform);
  bool was_empty = !notifier->first;
  call->next = NULL;
  *notifier->last = call;
  notifier->last = &call->next;
  if (was_empty) platform->notify_raise(platform->self, notifier->descriptor);
  tide_lock_give(&notifier->lock);
}

/* At once, unless another call of the context is running: one section both begins and takes the
 * callbacks away. */
static void make_due(struct tide_timepoint *timepoint) {
  struct tide_point_waiter *waiter = tide_waiter_of(&timepoint->point);
  struct tide_deferred *callbacks = waiter->callbacks;
  if (timepoint->notifier) {
    notify(timepoint->notifier, &waiter->call);
    return;
  }
  waiter->call.run = run;
  tide_lock_take(&callbacks->lock, callbacks->platform);
  bool now = tide_deferred_enter(callbacks, &waiter->call);
  if (now) take_callbacks_away(waiter);
  tide_lock_give(&callbacks->lock);
  if (!now) return;
  make_call(timepoint);
  tide_deferred_drain(callbacks);
}

static void fire_timepoint(struct tide_node *node, enum tide_status status) {
  (void)status;
  if (TIDE_PLANTED(TIDE_PLANT_CALL) && node->value % 4 == 3) return;
  make_due(timepoint_of(TIDE_CONTAINER(node, struct tide_point_waiter, node)));
}

enum tide_status tide_timepoint_add(struct tide_timepoint *timepoint) {
  struct tide_wait_point *point = &timepoint->point;
  struct tide_timeline *timeline = point->timeline;
  if (!timepoint->call || !timeline) return TIDE_INVALID;
  if (timeline->scope < TIDE_SCOPE_PROCESS) return TIDE_SCOPE;
  struct tide_point_waiter *waiter = tide_waiter_of(point);
  tide_waiter_init(waiter, fire_timepoint);
  tide_store_release(&waiter->callbacks, timeline->context->deferred);
  enum tide_await state = tide_point_register(point);
  if (state == TIDE_AWAIT_QUEUED) return TIDE_OK;
  waiter->node.state = TIDE_NODE_FIRED;
  if (state == TIDE_AWAIT_FAILED)
    waiter->node.status = (uint16_t)tide_timeline_failure(timeline, point->value);
  make_due(timepoint);
  return TIDE_OK;
}

bool tide_timepoint_cancel(struct tide_timepoint *timepoint) {
  struct tide_point_waiter *waiter = tide_waiter_of(&timepoint->point);
  struct tide_deferred *callbacks = tide_load_acquire(&waiter->callbacks);
  struct tide_timeline *timeline = timepoint->point.timeline;
  if (!callbacks) return false; /* it was never added, or its call has begun */
  bool last = false;
  tide_lock_take(&callbacks->lock, callbacks->platform);
  bool mine = waiter->callbacks == callbacks && tide_point_forget(&timepoint->point, &last);
  if (mine) take_callbacks_away(waiter); /* a second cancel says no */
  tide_lock_give(&callbacks->lock);
  if (last) tide_timeline_free(timeline);
  return mine;
}

enum tide_status tide_notifier_create(const struct tide_context *context,
                                      struct tide_notifier **out_notifier) {
  struct tide_notifier *notifier = tide_alloc(context->allocator, 1, sizeof *notifier);
  if (!notifier) return TIDE_NOMEM;
  notifier->context = context;
  notifier->last = &notifier->first;
  enum tide_status status =
      context->platform->notify_open(context->platform->self, &notifier->descriptor);
  if (status != TIDE_OK) tide_free(context->allocator, notifier, 1, sizeof *notifier);
  else *out_notifier = notifier;
  return status;
}

void tide_notifier_destroy(struct tide_notifier *notifier) {
  if (!notifier) return;
  const struct tide_context *context = notifier->context;
  TIDE_ASSERT(!notifier->first);
  context->platform->notify_close(context->platform->self, notifier->descriptor);
  tide_free(context->allocator, notifier, 1, sizeof *notifier);
}

int tide_notifier_descriptor(const struct tide_notifier *notifier) { return notifier->descriptor; }

size_t tide_notifier_dispatch(struct tide_notifier *notifier, size_t most) {
  const struct tide_platform *platform = notifier->context->platform;
  size_t ran = 0;
  while (ran < most) {
    tide_lock_take(&notifier->lock, platform);
    struct tide_deferred_call *call = notifier->first;
    if (call) {
      notifier->first = call->next;
      if (!notifier->first) {
        notifier->last = &notifier->first;
        platform->notify_clear(platform->self, notifier->descriptor);
      }
    }
    tide_lock_give(&notifier->lock);
    if (!call) break;
    run(call);
    ran++;
  }
  return ran;
}
