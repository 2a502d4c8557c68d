/* Timepoints: a call when a value is reached, on the signalling thread or by a
 * notifier's dispatch. */
#include "base/check.h"
#include "base/deferred.h"
#include "base/memory.h"
#include "base/plant.h"
#include "timeline/waiter.h"

struct tide_notifier {
  const struct tide_context *context;
  struct tide_lock lock;
  struct tide_timepoint *first, **last;
  int descriptor;
};

/* In private_words: the deferred call, or the next in a notifier's list. */
_Static_assert(sizeof(struct tide_deferred_call) <= 2 * sizeof(void *),
               "a timepoint must hold its deferred call");

static struct tide_deferred_call *call_of(struct tide_timepoint *timepoint) {
  return (struct tide_deferred_call *)(void *)timepoint->private_words;
}

static struct tide_timepoint **next_of(struct tide_timepoint *timepoint) {
  return (struct tide_timepoint **)(void *)timepoint->private_words;
}

static enum tide_status status_of(struct tide_timepoint *timepoint) {
  return (enum tide_status)tide_waiter_of(&timepoint->point)->node.status;
}

/* Whoever cancels may find the timeline gone, unless the point still has its owner: both look, and
 * the owner is taken away, under the lock of the context's callbacks. So a cancel holds that while
 * it takes the timeline's guard; nobody takes it with a guard held. */
static struct tide_deferred *callbacks_of(struct tide_timepoint *timepoint) {
  return tide_waiter_of(&timepoint->point)->callbacks;
}

/* The owner has been taken away. */
static inline void make_call(struct tide_timepoint *timepoint) {
  enum tide_status status = status_of(timepoint);
  tide_point_let_go(timepoint->point.timeline, tide_waiter_of(&timepoint->point)->holds);
  timepoint->call(timepoint, status);
}

static void run(struct tide_timepoint *timepoint) {
  struct tide_deferred *callbacks = callbacks_of(timepoint);
  tide_lock_take(&callbacks->lock, callbacks->platform);
  tide_waiter_of(&timepoint->point)->owner = NULL;
  tide_lock_give(&callbacks->lock);
  make_call(timepoint);
}

static void run_deferred(struct tide_deferred_call *call) {
  run(TIDE_CONTAINER(call, struct tide_timepoint, private_words));
}

static void notify(struct tide_timepoint *timepoint, const struct tide_platform *platform) {
  struct tide_notifier *notifier = timepoint->notifier;
  tide_lock_take(&notifier->lock, platform);
  bool was_empty = !notifier->first;
  *next_of(timepoint) = NULL;
  *notifier->last = timepoint;
  notifier->last = next_of(timepoint);
  if (was_empty) platform->notify_raise(platform->self, notifier->descriptor);
  tide_lock_give(&notifier->lock);
}

/* At once, unless another call of the context is running: one section both begins and takes the
 * owner away. */
static void make_due(struct tide_timepoint *timepoint) {
  struct tide_deferred *callbacks = callbacks_of(timepoint);
  if (timepoint->notifier) {
    notify(timepoint, callbacks->platform);
    return;
  }
  struct tide_deferred_call *call = call_of(timepoint);
  call->run = run_deferred;
  tide_lock_take(&callbacks->lock, callbacks->platform);
  bool now = tide_deferred_enter(callbacks, call);
  if (now) tide_waiter_of(&timepoint->point)->owner = NULL;
  tide_lock_give(&callbacks->lock);
  if (!now) return;
  make_call(timepoint);
  tide_deferred_drain(callbacks);
}

static void fire_timepoint(struct tide_node *node, enum tide_status status) {
  (void)status;
  if (TIDE_PLANTED(TIDE_PLANT_CALL) && node->value % 4 == 3) return;
  make_due(TIDE_CONTAINER(node, struct tide_point_waiter, node)->owner);
}

enum tide_status tide_timepoint_add(struct tide_timepoint *timepoint) {
  struct tide_wait_point *point = &timepoint->point;
  struct tide_timeline *timeline = point->timeline;
  if (!timepoint->call || !timeline) return TIDE_INVALID;
  if (timeline->scope < TIDE_SCOPE_PROCESS) return TIDE_SCOPE;
  struct tide_point_waiter *waiter = tide_waiter_of(point);
  *waiter = (struct tide_point_waiter){
      .node.fire = fire_timepoint, .owner = timepoint, .callbacks = timeline->context->deferred};
  enum tide_await state = tide_point_register(point);
  if (state == TIDE_AWAIT_QUEUED) return TIDE_OK;
  waiter->node.state = TIDE_NODE_FIRED;
  waiter->node.status =
      state == TIDE_AWAIT_FAILED ? tide_timeline_failure(timeline, point->value) : TIDE_OK;
  make_due(timepoint);
  return TIDE_OK;
}

bool tide_timepoint_cancel(struct tide_timepoint *timepoint) {
  struct tide_deferred *callbacks = callbacks_of(timepoint);
  struct tide_point_waiter *waiter = tide_waiter_of(&timepoint->point);
  struct tide_timeline *timeline = timepoint->point.timeline;
  if (!callbacks) return false; /* it was never added */
  bool last = false;
  tide_lock_take(&callbacks->lock, callbacks->platform);
  bool mine = waiter->owner && tide_point_forget(&timepoint->point, &last);
  if (mine) waiter->owner = NULL; /* a second cancel says no */
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
    struct tide_timepoint *timepoint = notifier->first;
    if (timepoint) {
      notifier->first = *next_of(timepoint);
      if (!notifier->first) {
        notifier->last = &notifier->first;
        platform->notify_clear(platform->self, notifier->descriptor);
      }
    }
    tide_lock_give(&notifier->lock);
    if (!timepoint) break;
    run(timepoint);
    ran++;
  }
  return ran;
}
