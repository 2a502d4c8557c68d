/* Timepoints: a call when a value is reached, on the signalling thread or by a notifier's
 * dispatch. */
#include "base/check.h"
#include "base/alloc.h"
#include "timeline/pending_value.h"
#include "timeline/waiter.h"

struct tide_notifier {
  struct tide_context *context;
  struct tide_owned owned;
  struct tide_tree_node in_all; /* deferred->notifiers; guarded by the callbacks' lock */
  uint32_t number;              /* unique in the context */
  struct tide_lock lock;
  struct tide_deferred_call *first, **last; /* calls of timepoints; their `run` is not used */
  int descriptor;
};

static struct tide_timepoint *timepoint_of(struct tide_point_waiter *waiter) {
  return (struct tide_timepoint *)(void *)tide_point_of(waiter);
}
/* Returns the timepoint as the wait point that it begins as. */
static struct tide_wait_point *point_of(struct tide_timepoint *timepoint) {
  return tide_point_of(tide_waiter_of_timepoint(timepoint));
}

/* The waiter's `callbacks` is the context that will run the timepoint's call. It is cleared when
 * the call begins or the timepoint is cancelled.
 *
 * A cancelling thread may find the timeline gone, unless `callbacks` is still set. So cancel checks
 * `callbacks`, and every thread clears it, under the callbacks' lock. Cancel therefore holds that
 * lock while it takes the timeline's guard; with a guard held, a thread only tries the lock.
 *
 * A timepoint that its point adds (tide_timepoint_add_single) is simpler, and has its own kind of
 * node. The guard is the context's own lock. The waiter is queued at a pending value, which ends
 * before its timeline does. So under the guard the node's state suffices: while the node is queued
 * the timeline exists, and needs no reference. */
static inline bool is_single(const struct tide_point_waiter *waiter) {
  return waiter->node.kind == TIDE_NODE_SINGLE;
}

/* A bit that distinguishes the context from the notifier that the caller has stored there. */
#define ADDED ((uintptr_t)1)

static inline struct tide_context *context_of(uintptr_t callbacks) {
  return (struct tide_context *)(callbacks & ~ADDED);
}

/* The node's `own`: TIDE_POINT_HELD, and the number of the timepoint's notifier. So cancel reads no
 * memory that may be gone once the call has run. */
#define OWN_NOTIFIER(number) ((number) << 1)
#define NUMBER_OF(own) ((uint64_t)((own) >> 1))

static inline bool is_notified(const struct tide_point_waiter *waiter) {
  return waiter->node.own > TIDE_POINT_HELD;
}
static struct tide_notifier *notifier_of(struct tide_deferred *deferred,
                                         const struct tide_point_waiter *waiter) {
  tide_lock_take(&deferred->lock, deferred->platform);
  struct tide_tree_node *at = tide_tree_at_least(&deferred->notifiers, NUMBER_OF(waiter->node.own));
  tide_lock_give(&deferred->lock);
  TIDE_ASSERT(at && at->key == NUMBER_OF(waiter->node.own)); /* a notifier outlives its calls */
  return TIDE_CONTAINER(at, struct tide_notifier, in_all);
}

bool tide_timepoint_fits(const struct tide_timepoint *timepoint, struct tide_context *context) {
  return timepoint->call && (!timepoint->notifier || timepoint->notifier->context == context);
}

/* Initialises the fields that queuing the node does not write. `call` already lies in the location
 * of `fire`. */
static inline struct tide_point_waiter *begin_waiter(struct tide_timepoint *timepoint,
                                                     enum tide_node_kind kind) {
  struct tide_point_waiter *waiter = tide_waiter_of_timepoint(timepoint);
  const struct tide_notifier *notifier = timepoint->notifier;
  waiter->node.status = TIDE_OK;
  waiter->node.state = TIDE_NODE_IDLE;
  waiter->node.kind = (uint8_t)kind;
  waiter->node.own = notifier ? OWN_NOTIFIER(notifier->number) : 0;
  tide_store_release(&waiter->callbacks, (uintptr_t)timepoint->timeline->context | ADDED);
  return waiter;
}

static inline void take_callbacks_away(struct tide_point_waiter *waiter) {
  tide_store_relaxed(&waiter->callbacks, (uintptr_t)0);
}

/* Makes the call, after `callbacks` was cleared. */
static inline void make_call(struct tide_timepoint *timepoint, bool single) {
  enum tide_status status = (enum tide_status)tide_waiter_of_timepoint(timepoint)->node.status;
  if (!single) tide_point_let_go(point_of(timepoint));
  timepoint->call(timepoint, status);
}

/* Clears `callbacks` of a timepoint when its call begins. */
static inline void end_registration(struct tide_deferred *deferred,
                                    struct tide_point_waiter *waiter) {
  bool single = is_single(waiter);
  if (!single) tide_lock_take(&deferred->lock, deferred->platform);
  take_callbacks_away(waiter);
  if (!single) tide_lock_give(&deferred->lock);
}

static void run_callback(struct tide_deferred_call *call) {
  struct tide_point_waiter *waiter = TIDE_CONTAINER(call, struct tide_point_waiter, call);
  end_registration(context_of(waiter->callbacks)->deferred, waiter);
  make_call(timepoint_of(waiter), is_single(waiter));
}

static void queue_notified(struct tide_notifier *notifier, struct tide_deferred_call *call) {
  const struct tide_platform *platform = notifier->context->platform;
  tide_lock_take(&notifier->lock, platform);
  bool was_empty = !notifier->first;
  call->next = NULL;
  *notifier->last = call;
  notifier->last = &call->next;
  if (was_empty) platform->notify_raise(platform->self, notifier->descriptor);
  tide_lock_give(&notifier->lock);
}

/* Begins a call. True: no thread was running callbacks, so this thread runs them until it drains
 * the queue. False: the call is queued. Unless the timepoint is a pending value's, the same
 * critical section clears `callbacks`. */
static inline bool begin_calls(struct tide_deferred *deferred, struct tide_point_waiter *waiter,
                               bool single) {
  waiter->call.run = run_callback;
  tide_lock_take(&deferred->lock, deferred->platform);
  bool now = tide_deferred_enter(deferred, &waiter->call);
  if (now && !single) take_callbacks_away(waiter);
  tide_lock_give(&deferred->lock);
  if (now && single) take_callbacks_away(waiter);
  return now;
}

/* Makes a timepoint's call now, or queues it: for its notifier, or for the thread that runs the
 * context's callbacks. `is_running`: this thread does already. Returns whether it does now. */
static inline bool make_or_queue_call(struct tide_deferred *deferred,
                                      struct tide_point_waiter *waiter, bool is_running) {
  if (__builtin_expect(is_notified(waiter), 0)) {
    queue_notified(notifier_of(deferred, waiter), &waiter->call);
    return is_running;
  }
  bool single = is_single(waiter);
  if (is_running) end_registration(deferred, waiter);
  else if (!begin_calls(deferred, waiter, single)) return false;
  make_call(timepoint_of(waiter), single);
  return true;
}

/* Calls a timepoint that was due when it was added. */
static void make_due(struct tide_timepoint *timepoint) {
  struct tide_point_waiter *waiter = tide_waiter_of_timepoint(timepoint);
  struct tide_deferred *deferred = context_of(waiter->callbacks)->deferred;
  if (make_or_queue_call(deferred, waiter, false)) tide_deferred_drain(deferred);
}

/* `running`: the context's callbacks, if this thread runs them already; else NULL. Uses the context
 * only while a node that keeps it has not been fired: a thread that is woken may destroy the
 * context. */
static void run_fired(struct tide_fired *fired, struct tide_context *context,
                      struct tide_deferred *running) {
  for (struct tide_node *node; (node = tide_fired_pop(fired));) {
    if (node->kind >= TIDE_NODE_TIMEPOINT) {
      struct tide_point_waiter *waiter = TIDE_CONTAINER(node, struct tide_point_waiter, node);
      struct tide_deferred *deferred = context->deferred;
      running = make_or_queue_call(deferred, waiter, running != NULL) ? deferred : NULL;
      continue;
    }
    if (running) tide_deferred_drain(running);
    running = NULL;
    node->fire(node, (enum tide_status)node->status);
  }
  if (running) tide_deferred_drain(running);
}

void tide_fired_run_calls(struct tide_fired *fired, struct tide_context *context) {
  run_fired(fired, context, NULL);
}

bool tide_timepoint_begin_locked(struct tide_timeline *timeline, struct tide_node *node) {
  struct tide_deferred *deferred = timeline->context->deferred;
  if (node->kind != TIDE_NODE_TIMEPOINT || node->own != TIDE_POINT_HELD || timeline->orphan ||
      !tide_lock_try(&deferred->lock))
    return false;
  bool now = !deferred->running;
  if (now) {
    deferred->running = true;
    take_callbacks_away(TIDE_CONTAINER(node, struct tide_point_waiter, node));
    timeline->held--;
  }
  tide_lock_give(&deferred->lock);
  return now;
}

void tide_fired_run_begun(struct tide_fired *fired, struct tide_context *context) {
  struct tide_node *node = tide_fired_pop(fired);
  struct tide_timepoint *timepoint =
      timepoint_of(TIDE_CONTAINER(node, struct tide_point_waiter, node));
  timepoint->call(timepoint, (enum tide_status)node->status);
  run_fired(fired, context, context->deferred);
}

enum tide_await tide_timepoint_add_single(struct tide_timepoint *timepoint) {
  struct tide_timeline *timeline = timepoint->timeline;
  struct tide_point_waiter *waiter = begin_waiter(timepoint, TIDE_NODE_SINGLE);
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

enum tide_status tide_timepoint_add(struct tide_timepoint *timepoint) {
  struct tide_timeline *timeline = timepoint->timeline;
  if (!timeline || !tide_timepoint_fits(timepoint, timeline->context)) return TIDE_INVALID;
  if (timeline->scope < TIDE_SCOPE_PROCESS) return TIDE_SCOPE;
  struct tide_point_waiter *waiter = begin_waiter(timepoint, TIDE_NODE_TIMEPOINT);
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
  if (!(callbacks & ADDED)) return false; /* never added, or its call has begun */
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
  bool is_new = tide_tree_insert(&deferred->notifiers, &notifier->in_all, notifier->number);
  TIDE_ASSERT(is_new);
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
  tide_tree_remove(&deferred->notifiers, &notifier->in_all);
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
