/* Timepoints: a call when a value is reached, on the signalling thread or by a
 * notifier's dispatch. */
#include "base/check.h"
#include "base/alloc.h"
#include "timeline/pending_value.h"
#include "timeline/waiter.h"

struct tide_notifier {
  struct tide_context *context;
  struct tide_owned owned;
  struct tide_notifier *next; /* of the context's; guarded by the callbacks' lock */
  uint32_t number;            /* which of them */
  struct tide_lock lock;
  struct tide_deferred_call *first, **last; /* of timepoints; their `run` is not used */
  int descriptor;
};

static struct tide_timepoint *timepoint_of(struct tide_point_waiter *waiter) {
  return (struct tide_timepoint *)(void *)tide_point_of(waiter);
}
/* As the wait point that it begins as. */
static struct tide_wait_point *point_of(struct tide_timepoint *timepoint) {
  return tide_point_of(tide_waiter_of_timepoint(timepoint));
}

/* Whose callbacks a timepoint waits for: its context, until its call begins or it is cancelled.
 *
 * Whoever cancels may find the timeline gone, unless the timepoint still has these: both look, and
 * they are taken away, under the callbacks' lock. So a cancel holds that while it takes the
 * timeline's guard; nobody takes it with a guard held.
 *
 * Where values end one by one it is simpler, and the node's kind says so. There the guard is the
 * context's own, and what waits hangs on a pending value, which is over before its timeline goes.
 * So under the guard the node says it all: as long as it is queued there is a timeline, and nobody
 * has to hold it. */
static inline bool is_single(const struct tide_point_waiter *waiter) {
  return waiter->node.kind == TIDE_NODE_SINGLE;
}

/* Tells the context from the notifier that the caller has set there. */
#define ADDED ((uintptr_t)1)

static inline struct tide_context *context_of(uintptr_t callbacks) {
  return (struct tide_context *)(callbacks & ~ADDED);
}

/* The node's own word: does it hold its timeline as points do, and the number of its notifier. So
 * who cancels looks at nothing that may be gone once the call has run. */
#define OWN_NOTIFIER(number) ((number) << 1)

static inline bool is_notified(const struct tide_point_waiter *waiter) {
  return waiter->node.own > TIDE_POINT_HELD;
}
static struct tide_notifier *notifier_of(struct tide_deferred *deferred,
                                         const struct tide_point_waiter *waiter) {
  tide_lock_take(&deferred->lock, deferred->platform);
  struct tide_notifier *notifier = deferred->notifiers;
  while (notifier && OWN_NOTIFIER(notifier->number) != (waiter->node.own & ~TIDE_POINT_HELD))
    notifier = notifier->next;
  tide_lock_give(&deferred->lock);
  TIDE_ASSERT(notifier); /* it was destroyed before its calls */
  return notifier;
}

bool tide_timepoint_fits(const struct tide_timepoint *timepoint, struct tide_context *context) {
  return timepoint->call && (!timepoint->notifier || timepoint->notifier->context == context);
}

/* What queuing the node does not write; `call` lies where it has what fires it. */
static inline struct tide_point_waiter *begin_waiter(struct tide_timepoint *timepoint,
                                                     bool ends_singly) {
  struct tide_point_waiter *waiter = tide_waiter_of_timepoint(timepoint);
  const struct tide_notifier *notifier = timepoint->notifier;
  waiter->node.status = TIDE_OK;
  waiter->node.state = TIDE_NODE_IDLE;
  waiter->node.kind = ends_singly ? TIDE_NODE_SINGLE : TIDE_NODE_TIMEPOINT;
  waiter->node.own = notifier ? OWN_NOTIFIER(notifier->number) : 0;
  tide_store_release(&waiter->callbacks, (uintptr_t)timepoint->timeline->context | ADDED);
  return waiter;
}

static inline void take_callbacks_away(struct tide_point_waiter *waiter) {
  tide_store_relaxed(&waiter->callbacks, (uintptr_t)0);
}

/* The callbacks have been taken away. */
static inline void make_call(struct tide_timepoint *timepoint, bool ends_singly) {
  enum tide_status status = (enum tide_status)tide_waiter_of_timepoint(timepoint)->node.status;
  if (!ends_singly) tide_point_let_go(point_of(timepoint));
  timepoint->call(timepoint, status);
}

static void run_callback(struct tide_deferred_call *call) {
  struct tide_point_waiter *waiter = TIDE_CONTAINER(call, struct tide_point_waiter, call);
  uintptr_t callbacks = waiter->callbacks;
  struct tide_deferred *deferred = context_of(callbacks)->deferred;
  bool ends_singly = is_single(waiter);
  if (!ends_singly) tide_lock_take(&deferred->lock, deferred->platform);
  take_callbacks_away(waiter);
  if (!ends_singly) tide_lock_give(&deferred->lock);
  make_call(timepoint_of(waiter), ends_singly);
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

/* True: nobody runs callbacks, so this thread does from now on, until it drains them. With one that
 * is no pending value's, the section that says so takes the callbacks away, too. */
static inline bool begin_calls(struct tide_deferred *deferred, struct tide_point_waiter *waiter,
                               bool ends_singly) {
  waiter->call.run = run_callback;
  tide_lock_take(&deferred->lock, deferred->platform);
  bool now = tide_deferred_enter(deferred, &waiter->call);
  if (now && !ends_singly) take_callbacks_away(waiter);
  tide_lock_give(&deferred->lock);
  if (now && ends_singly) take_callbacks_away(waiter);
  return now;
}

/* At once, unless another call of the context is running. */
static void make_due(struct tide_timepoint *timepoint) {
  struct tide_point_waiter *waiter = tide_waiter_of_timepoint(timepoint);
  struct tide_deferred *deferred = context_of(waiter->callbacks)->deferred;
  if (is_notified(waiter)) {
    notify(notifier_of(deferred, waiter), &waiter->call);
    return;
  }
  bool ends_singly = is_single(waiter);
  if (!begin_calls(deferred, waiter, ends_singly)) return;
  make_call(timepoint, ends_singly);
  tide_deferred_drain(deferred);
}

static void fire_node(struct tide_node *node) {
  if (node->kind < TIDE_NODE_TIMEPOINT) {
    node->fire(node, (enum tide_status)node->status);
    return;
  }
  make_due(timepoint_of(TIDE_CONTAINER(node, struct tide_point_waiter, node)));
}

/* One of a pending value, which is called by whoever fired it. */
static inline struct tide_timepoint *single_of(struct tide_node *node) {
  if (node->kind != TIDE_NODE_SINGLE) return NULL;
  struct tide_point_waiter *waiter = TIDE_CONTAINER(node, struct tide_point_waiter, node);
  return is_notified(waiter) ? NULL : timepoint_of(waiter);
}

/* The context is looked at only as long as somebody who keeps it has not been told: whoever is
 * woken may tear it down. */
void tide_fired_run_calls(struct tide_fired *fired, struct tide_context *context) {
  struct tide_deferred *running = NULL;
  for (struct tide_node *node; (node = tide_fired_pop(fired));) {
    struct tide_timepoint *timepoint = single_of(node);
    if (!timepoint) {
      if (running) tide_deferred_drain(running);
      running = NULL;
      fire_node(node);
      continue;
    }
    struct tide_point_waiter *waiter = tide_waiter_of_timepoint(timepoint);
    if (running) take_callbacks_away(waiter);
    else if (begin_calls(context->deferred, waiter, true)) running = context->deferred;
    else continue; /* it is queued */
    make_call(timepoint, true);
  }
  if (running) tide_deferred_drain(running);
}

enum tide_await tide_timepoint_add_single(struct tide_timepoint *timepoint) {
  struct tide_timeline *timeline = timepoint->timeline;
  struct tide_point_waiter *waiter = begin_waiter(timepoint, true);
  struct tide_pending_value *pending;
  enum tide_status status = TIDE_OK;
  enum tide_await state = tide_pending_look(timeline, timepoint->value, &status, &pending);
  if (state == TIDE_AWAIT_QUEUED) {
    tide_counter_add(&pending->waiters, &waiter->node, timepoint->value);
    return state;
  }
  waiter->node.state = TIDE_NODE_FIRED;
  if (state == TIDE_AWAIT_FAILED) waiter->node.status = (uint16_t)status;
  return state;
}

void tide_timepoint_call(struct tide_timepoint *timepoint) { make_due(timepoint); }

static enum tide_status add_single(struct tide_timepoint *timepoint) {
  struct tide_lock *guard = tide_timeline_lock(timepoint->timeline);
  enum tide_await state = tide_timepoint_add_single(timepoint);
  tide_lock_give(guard);
  if (state != TIDE_AWAIT_QUEUED) make_due(timepoint);
  return TIDE_OK;
}

enum tide_status tide_timepoint_add(struct tide_timepoint *timepoint) {
  struct tide_timeline *timeline = timepoint->timeline;
  if (!timeline || !tide_timepoint_fits(timepoint, timeline->context)) return TIDE_INVALID;
  if (timeline->scope < TIDE_SCOPE_PROCESS) return TIDE_SCOPE;
  if (timeline->ends_singly) return add_single(timepoint);
  struct tide_point_waiter *waiter = begin_waiter(timepoint, false);
  enum tide_await state = tide_point_register(tide_point_of(waiter));
  if (state == TIDE_AWAIT_QUEUED) return TIDE_OK;
  waiter->node.state = TIDE_NODE_FIRED;
  if (state == TIDE_AWAIT_FAILED)
    waiter->node.status = (uint16_t)tide_timeline_failed_with(timeline, timepoint->value);
  make_due(timepoint);
  return TIDE_OK;
}

static bool cancel_single(struct tide_timepoint *timepoint, struct tide_context *context) {
  struct tide_point_waiter *waiter = tide_waiter_of_timepoint(timepoint);
  tide_lock_take(context->sched_lock, context->platform);
  bool mine = waiter->node.state == TIDE_NODE_QUEUED &&
              tide_pending_forget_locked(timepoint->timeline, &waiter->node);
  if (mine) take_callbacks_away(waiter); /* a second cancel says no */
  tide_lock_give(context->sched_lock);
  return mine;
}

bool tide_timepoint_cancel(struct tide_timepoint *timepoint) {
  struct tide_point_waiter *waiter = tide_waiter_of_timepoint(timepoint);
  uintptr_t callbacks = tide_load_acquire(&waiter->callbacks);
  struct tide_timeline *timeline = timepoint->timeline;
  if (!(callbacks & ADDED)) return false; /* it was never added, or its call has begun */
  struct tide_context *context = context_of(callbacks);
  if (is_single(waiter)) return cancel_single(timepoint, context);
  struct tide_deferred *deferred = context->deferred;
  bool last = false;
  tide_lock_take(&deferred->lock, deferred->platform);
  bool mine = waiter->callbacks == callbacks && tide_point_forget(point_of(timepoint), &last);
  if (mine) take_callbacks_away(waiter); /* a second cancel says no */
  tide_lock_give(&deferred->lock);
  if (last) tide_timeline_free(timeline);
  return mine;
}

struct tide_notifier *tide_notifier_of(struct tide_owned *owned) {
  return TIDE_CONTAINER(owned, struct tide_notifier, owned);
}
static void destroy_owned(struct tide_owned *owned) {
  tide_notifier_destroy(tide_notifier_of(owned));
}
static const struct tide_owned_ops owned_ops = {.destroy = destroy_owned};

enum tide_status tide_notifier_create(struct tide_context *context,
                                      struct tide_notifier **out_notifier) {
  struct tide_notifier *notifier = tide_alloc(context->allocator, 1, sizeof *notifier);
  if (!notifier) return TIDE_NOMEM;
  notifier->context = context;
  notifier->last = &notifier->first;
  enum tide_status status =
      context->platform->notify_open(context->platform->self, &notifier->descriptor);
  if (status != TIDE_OK) {
    tide_free(context->allocator, notifier, 1, sizeof *notifier);
    return status;
  }
  struct tide_deferred *deferred = context->deferred;
  tide_lock_take(&deferred->lock, deferred->platform);
  notifier->number = ++deferred->notifier_number;
  notifier->next = deferred->notifiers;
  deferred->notifiers = notifier;
  tide_lock_give(&deferred->lock);
  tide_context_own(context, TIDE_OWNED_NOTIFIER, &notifier->owned, &owned_ops);
  *out_notifier = notifier;
  return TIDE_OK;
}

void tide_notifier_destroy(struct tide_notifier *notifier) {
  if (!notifier) return;
  struct tide_context *context = notifier->context;
  struct tide_deferred *deferred = context->deferred;
  TIDE_ASSERT(!notifier->first);
  tide_context_disown(context, &notifier->owned);
  tide_lock_take(&deferred->lock, deferred->platform);
  struct tide_notifier **at = &deferred->notifiers;
  while (*at != notifier) at = &(*at)->next;
  *at = notifier->next;
  tide_lock_give(&deferred->lock);
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
    run_callback(call);
    ran++;
  }
  return ran;
}
