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
               "a timepoint must hold its deferred call, and its callbacks' queue behind it");

static struct tide_timepoint **next_of(struct tide_timepoint *timepoint) {
  return (struct tide_timepoint **)(void *)timepoint->private_words;
}

static enum tide_status status_of(struct tide_timepoint *timepoint) {
  return (enum tide_status)tide_waiter_of(&timepoint->point)->node.status;
}

/* Whoever cancels may find the timeline gone, unless the point still has its owner: both look, and
 * the owner is taken away, under the lock of the context's callbacks. */
static struct tide_deferred *callbacks_of(struct tide_timepoint *timepoint) {
  return timepoint->private_words[2];
}

static void run(struct tide_timepoint *timepoint) {
  struct tide_deferred *callbacks = callbacks_of(timepoint);
  struct tide_timeline *timeline = timepoint->point.timeline;
  enum tide_status status = status_of(timepoint);
  tide_lock_take(&callbacks->lock, callbacks->platform);
  tide_waiter_of(&timepoint->point)->owner = NULL;
  tide_lock_give(&callbacks->lock);
  tide_timeline_release(timeline);
  timepoint->call(timepoint, status);
}

static void run_deferred(struct tide_deferred_call *call) {
  run(TIDE_CONTAINER(call, struct tide_timepoint, private_words));
}

static void make_due(struct tide_timepoint *timepoint) {
  struct tide_notifier *notifier = timepoint->notifier;
  const struct tide_context *context = timepoint->point.timeline->context;
  if (!notifier) {
    struct tide_deferred_call *call = (struct tide_deferred_call *)(void *)timepoint->private_words;
    call->run = run_deferred;
    tide_deferred_add(context->deferred, call);
    return;
  }
  const struct tide_platform *platform = context->platform;
  tide_lock_take(&notifier->lock, platform);
  bool was_empty = !notifier->first;
  *next_of(timepoint) = NULL;
  *notifier->last = timepoint;
  notifier->last = next_of(timepoint);
  if (was_empty) platform->notify_raise(platform->self, notifier->descriptor);
  tide_lock_give(&notifier->lock);
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
  *waiter = (struct tide_point_waiter){.node.fire = fire_timepoint, .owner = timepoint};
  timepoint->private_words[2] = timeline->context->deferred;
  tide_timeline_retain(timeline);
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
  struct tide_timeline *timeline = timepoint->point.timeline;
  if (!callbacks) return false; /* it was never added */
  tide_lock_take(&callbacks->lock, callbacks->platform);
  bool over = tide_waiter_of(&timepoint->point)->owner == NULL;
  if (!over) tide_timeline_retain(timeline);
  tide_lock_give(&callbacks->lock);
  if (over) return false;
  bool mine = tide_point_forget(&timepoint->point);
  if (mine) tide_waiter_of(&timepoint->point)->owner = NULL; /* a second cancel says no */
  if (mine) tide_timeline_release(timeline);
  tide_timeline_release(timeline);
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
