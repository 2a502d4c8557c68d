/* timeline/timeline_state.h: a timeline from inside, for the parts that make its values
 * come true (sched).
 *
 * Locks. `guard` protects everything but the atomics. It is the timeline's own lock
 * as long as only hosts use it; from the first operation that names it on, it is the
 * scheduler's (of the context, so it outlives them all), and stays so: then an
 * operation's submit and its publication need no lock but the one that they hold, and
 * no host's signal comes between two looks of the scheduler. Whoever does not hold the
 * scheduler's lock takes the guard by tide_timeline_lock. Functions named _locked
 * expect the guard to be held. Order: the callbacks' lock (of a cancel: see timepoint.c), guard,
 * then the tracker's lock.
 *
 * Waking. Nothing is called under a lock: whoever became ready is appended to a
 * `struct tide_fired`, and the caller runs it later. */
#ifndef TIDE_TIMELINE_TIMELINE_STATE_H
#define TIDE_TIMELINE_TIMELINE_STATE_H

#include "base/counter.h"
#include "base/lock.h"
#include "base/alloc.h"
#include "base/tree.h"
#include "causal/context_state.h"
#include "tidemark/timeline.h"
#include "timeline/cause.h"

#define TIDE_LABEL_SIZE 32

/* A value that a submitted operation will signal. Lives in the operation. */
struct tide_record {
  struct tide_tree_node node; /* key = value; in the timeline's pending or reserved tree */
  struct tide_timeline *timeline;
  bool external;
  enum { TIDE_RECORD_IDLE, TIDE_RECORD_RESERVED, TIDE_RECORD_PENDING } state;
};

/* A record as a reader sees it. */
struct tide_record_view {
  uint64_t value;
  tide_axis axis; /* 0: external */
  uint64_t epoch;
  const struct tide_frontier *frontier; /* NULL: external; valid under the guard */
  bool reached, coarse;
};

/* Where a progress timeline's records come from. Called under the guard. */
struct tide_record_source {
  /* The record of `value`, reached or pending; false when there is none. */
  bool (*find)(void *self, uint64_t value, struct tide_record_view *out_view);
};

/* What the calls of hosts touch is in the first two lines; an external signal needs the first and
 * the context. */
struct tide_timeline {
  _Alignas(TIDE_CACHE_LINE) struct tide_counter reached; /* the value, and who waits for it */
  uint64_t quiet_below; /* a host may signal less, nobody waits for it, and the newest record is
                           external: the least of host_limit and wake_at, or 0 */
  struct tide_lock own_lock;
  uint32_t references;       /* of the memory: one of all owners together, and the waiters' */
  struct tide_lock *guard;   /* changes once: see above */
  uint64_t wake_at;          /* nobody waits, for this or for a promise, for less; perhaps nobody
                                for this either */
  uint64_t fail_from;        /* values >= it have failed; UINT64_MAX: none */
  uint64_t *newest_external; /* where the newest record will keep its value, which is the timeline's
                                as long as it is the newest; NULL: it is tracked */
  struct tide_context *context;
  uint64_t host_limit; /* a host may signal below it: what has failed, is pending or reserved is
                          not below; 0 where hosts may not signal at all */
  uint32_t status;
  enum tide_scope scope;
  uint32_t vain_spins;   /* atomic: since one was worth its while; see wait.c */
  bool ends_singly;      /* its values end one by one: see pending_value.h */
  bool was_held, orphan; /* see tide_timeline_hold_locked */
  bool gone;             /* its values ended one by one, and it is not known any more which broke */
  uint32_t held;         /* by points: the last that is in the two lines */
  uint64_t number;       /* in its context, in the order in which they were made */
  uint64_t lowest_broken; /* … UINT64_MAX: none broke */
  struct tide_tree pending_values;
  struct tide_tree pending;     /* struct tide_record, by value */
  struct tide_tree reserved;    /* of held operations */
  struct tide_counter promised; /* who waits for a pending record; its value is unused */
  uint32_t owners;              /* hosts that may signal it, and one of all operations that will */
  bool operations_only;
  bool kept;                     /* the last slot is in use */
  uint64_t awaiting, signalling; /* waits and signals of operations: sched's */
  uint64_t held_waits; /* waits of held operations, and the largest value among them: sched's */
  uint64_t held_most;
  struct tide_cause *cause;    /* of what has failed first; NULL: no operation did, or no memory */
  const void *home;            /* the queue or device that a narrow scope is bound to: sched's */
  uint64_t batch, batch_value; /* sched's, while it checks several submits at once */
  const struct tide_record_source *source; /* NULL: the ring below */
  void *source_self;
  uint64_t initial;
  /* The ring: records `oldest` .. `newest`-1, each at slot number % history. */
  uint32_t history, slot_size;
  uint64_t oldest, newest;
  uint64_t tracked;     /* number + 1 of the newest tracked one; 0: none */
  uint64_t dropped;     /* the highest value that fell out of the ring */
  unsigned char *slots; /* history + 1 of them; the last keeps the newest tracked record */
  struct tide_tree broken_ranges; /* where values end one by one, and of it: see pending_value.h */
  char label[TIDE_LABEL_SIZE];
  struct tide_owned owned; /* by the context, if the user made it */
};

_Static_assert(sizeof(struct tide_timeline) <= 512, "small things are small");
_Static_assert(sizeof(void *) != 8 ||
                   __builtin_offsetof(struct tide_timeline, number) <= 2 * TIDE_CACHE_LINE,
               "what the calls of hosts touch");

static inline struct tide_record *tide_record_of(struct tide_tree_node *node) {
  return (struct tide_record *)(void *)node;
}

/* Where the guard is not free, or is another by now. */
struct tide_lock *tide_timeline_lock_slowly(struct tide_timeline *timeline);
static inline struct tide_lock *tide_timeline_lock(struct tide_timeline *timeline) {
  struct tide_lock *guard = tide_load_acquire(&timeline->guard);
  if (!tide_lock_take_free(guard)) return tide_timeline_lock_slowly(timeline);
  if (__builtin_expect(guard == tide_load_relaxed(&timeline->guard), 1)) return guard;
  tide_lock_give(guard);
  return tide_timeline_lock_slowly(timeline);
}

/* References. An *owner* may signal the timeline: a host, or the operations that are to signal it.
 * When the last owner releases it, no value can be reached any more, and its waiters fail. A waiter
 * keeps the memory alone, by `references`, of which all owners together have one.
 *
 * Points hold a timeline that only hosts use through `held`, which the guard that they take anyway
 * protects. Once there was such a point, TIDE_REFERENCES_HELD is part of `references`, so that the
 * last reference looks for them: if there are any, it leaves the timeline to the last of them, as
 * an orphan. */
#define TIDE_REFERENCES_HELD (1u << 31)

void tide_timeline_free(struct tide_timeline *timeline);
/* The last reference has gone, and there were points. */
void tide_timeline_orphan(struct tide_timeline *timeline);

/* Keeps the memory for a waiter. */
static inline void tide_timeline_hold(struct tide_timeline *timeline) {
  tide_fetch_add(&timeline->references, 1u);
}
static inline void tide_timeline_let_go(struct tide_timeline *timeline) {
  uint32_t references = tide_fetch_sub(&timeline->references, 1u);
  if (references == 1) tide_timeline_free(timeline);
  else if (references == TIDE_REFERENCES_HELD + 1) tide_timeline_orphan(timeline);
}

/* True: counted in `held`. */
static inline bool tide_timeline_hold_locked(struct tide_timeline *timeline) {
  if (__builtin_expect(timeline->guard != &timeline->own_lock, 0)) {
    tide_timeline_hold(timeline);
    return false;
  }
  timeline->held++;
  if (__builtin_expect(!timeline->was_held, 0)) {
    timeline->was_held = true;
    tide_fetch_add(&timeline->references, TIDE_REFERENCES_HELD);
  }
  return true;
}
/* True: nobody holds it any more, and the caller frees it once the guard is given back. */
static inline bool tide_timeline_let_go_locked(struct tide_timeline *timeline, bool counted) {
  if (counted) return --timeline->held == 0 && timeline->orphan;
  uint32_t references = tide_fetch_sub(&timeline->references, 1u);
  if ((references & ~TIDE_REFERENCES_HELD) != 1) return false;
  timeline->orphan = true;
  return timeline->held == 0;
}

/* An operation names it. The scheduler's lock is held. */
void tide_timeline_adopt(struct tide_timeline *timeline);

/* Events, when somebody listens. */
static inline bool tide_timeline_traced(const struct tide_timeline *timeline) {
  struct tide_context *context = timeline->context;
  return ((uintptr_t)context->sink | (uintptr_t)tide_load_relaxed(&context->check)) != 0;
}
/* A host has seen that the value was reached. */
void tide_timeline_emit_wait(const struct tide_timeline *timeline, uint64_t value);
static inline void tide_timeline_emit_seen(const struct tide_timeline *timeline, uint64_t value) {
  if (__builtin_expect(tide_timeline_traced(timeline), 0)) tide_timeline_emit_wait(timeline, value);
}
/* Raises the value from the host: who waits is taken off. Under the guard; it is allowed. */
void tide_timeline_raise_locked(struct tide_timeline *timeline, uint64_t value,
                                struct tide_position *position, struct tide_fired *fired);

/* The same without a call where nobody listens, waits for the timeline's own values, or has told a
 * record: most values that end one by one are raised so. */
static inline void tide_timeline_raise_quick(struct tide_timeline *timeline, uint64_t value,
                                             struct tide_position *position,
                                             struct tide_fired *fired) {
  if (position || !timeline->newest_external || value >= timeline->wake_at ||
      tide_timeline_traced(timeline)) /* it is told there */
    tide_timeline_raise_locked(timeline, value, position, fired);
  else tide_store_release(&timeline->reached.value, value);
}

/* After a change of what is pending, reserved, failed or awaited. Under the guard. */
void tide_timeline_refresh(struct tide_timeline *timeline);

/* For sched's progress timelines: guarded by the scheduler's lock, records from a source. */
/* Creates a timeline as tide_timeline_create does, which the context does not own. */
enum tide_status tide_timeline_make(struct tide_context *context,
                                    const struct tide_timeline_params *params,
                                    struct tide_timeline **out_timeline);
/* The notifier whose owned part this is. */
struct tide_notifier *tide_notifier_of(struct tide_owned *owned);
enum tide_status tide_timeline_create_sourced(struct tide_context *context, const char *label,
                                              const struct tide_record_source *source, void *self,
                                              struct tide_timeline **out_timeline);

/* The status is there before fail_from is; without one, even the highest value has not failed. */
static inline bool tide_timeline_has_failed(const struct tide_timeline *timeline, uint64_t value) {
  return value >= tide_load_acquire(&timeline->fail_from) &&
         tide_load_acquire(&timeline->status) != TIDE_OK;
}

/* The smallest pending record >= value; NULL when there is none. What is pending in the failed part
 * will never be reached: it promises nothing. */
static inline struct tide_record *tide_timeline_pending(const struct tide_timeline *timeline,
                                                        uint64_t value) {
  struct tide_tree_node *node = tide_tree_at_least(&timeline->pending, value);
  if (node && tide_timeline_has_failed(timeline, node->key)) return NULL;
  return (struct tide_record *)(void *)node;
}

/* What is known about a reached value. False: nothing (initial value, or external). */
bool tide_timeline_reached_locked(const struct tide_timeline *timeline, uint64_t value,
                                  struct tide_record_view *out_view);

/* ---- for operations: the scheduler's lock is held, and it is the guard ---- */

/* A held operation will signal it. Values of one timeline are unique among pending and reserved:
 * false when it is taken. */
bool tide_timeline_reserve(struct tide_record *record, uint64_t value);
void tide_timeline_unreserve(struct tide_record *record);
/* An operation that entered will signal it: those who waited for a promise are taken off. */
void tide_timeline_promise(struct tide_record *record, uint64_t value, struct tide_fired *fired);
/* It did: the value and what the signaller, epoch `epoch` of `axis`, knew become visible together.
 * The frontier lists the signaller. False when the value did not go up (it was refused), and the
 * timeline fails from there. */
bool tide_timeline_reach(struct tide_record *record, tide_axis axis, uint64_t epoch,
                         const struct tide_frontier *frontier, struct tide_fired *fired);
/* A pending record is so no more. */
void tide_timeline_withdraw(struct tide_record *record);
/* The record's signal will not come, though it may stay pending until its pending value: fails the
 * timeline from just above the newest value below it that is reached, pending or reserved. A turned
 * timeline does not change: its promiser breaks the value alone. */
void tide_timeline_break(struct tide_record *record, enum tide_status status,
                         struct tide_cause *cause, struct tide_fired *fired);
/* Fails everything from a value upward. The first status and its cause (NULL: none) stay. */
void tide_timeline_fail_locked(struct tide_timeline *timeline, uint64_t value,
                               enum tide_status status, struct tide_cause *cause,
                               struct tide_fired *fired);
/* For a progress timeline: the value, without a record. */
static inline void tide_timeline_advance(struct tide_timeline *timeline, uint64_t value,
                                         struct tide_fired *fired) {
  if (value <= timeline->reached.value || tide_timeline_has_failed(timeline, value)) return;
  tide_store_release(&timeline->reached.value, value);
  /* Promises are taken off by those who make them, so wake_at is not kept here. */
  if (tide_counter_least(&timeline->reached) <= value)
    tide_counter_pop(&timeline->reached, value, fired, TIDE_OK);
  if (tide_counter_least(&timeline->promised) <= value)
    tide_counter_pop(&timeline->promised, value, fired, TIDE_OK);
}

/* The cause of what has failed, for an operation that fails by it: made now where a host failed the
 * timeline. NULL: no memory, or a turned timeline, which keeps none. Under the guard. */
struct tide_cause *tide_timeline_cause_locked(struct tide_timeline *timeline);

/* ---- waiting ---- */

/* A thread blocks until something is reached: workers that let operations come together don't any
 * more. (None does so where interleavings are explored, and every access is one more to explore.)
 */
static inline void tide_waiting_count(struct tide_context *context, uint32_t more) {
#ifdef TIDE_INTERLEAVE
  (void)context, (void)more;
#else
  tide_fetch_add((uint32_t *)&context->waiting, more);
#endif
}
static inline void tide_waiting_begin(struct tide_context *context) {
  tide_waiting_count(context, 1u);
}
static inline void tide_waiting_end(struct tide_context *context) {
  tide_waiting_count(context, -1u);
}

enum tide_await { TIDE_AWAIT_QUEUED, TIDE_AWAIT_REACHED, TIDE_AWAIT_FAILED };
/* Where values end one by one: see pending_value.h. */
enum tide_await tide_pending_await_locked(struct tide_timeline *timeline, uint64_t value,
                                          struct tide_node *node);
bool tide_pending_forget_locked(struct tide_timeline *timeline, struct tide_node *node);
/* Fires the node when the value is reached or failed; says at once if it is so already. */
enum tide_await tide_timeline_await(struct tide_timeline *timeline, uint64_t value,
                                    struct tide_node *node);
static inline enum tide_await tide_timeline_await_locked(struct tide_timeline *timeline,
                                                         uint64_t value, struct tide_node *node) {
  if (__builtin_expect(timeline->ends_singly, 0))
    return tide_pending_await_locked(timeline, value, node);
  if (timeline->reached.value >= value) return TIDE_AWAIT_REACHED;
  if (tide_timeline_has_failed(timeline, value)) return TIDE_AWAIT_FAILED;
  tide_counter_add(&timeline->reached, node, value);
  if (value < timeline->wake_at) timeline->wake_at = value;
  if (value < timeline->quiet_below) timeline->quiet_below = value;
  return TIDE_AWAIT_QUEUED;
}
/* Fires the node when something changes for a value that nobody has promised: promised, reached or
 * failed. */
void tide_timeline_await_promise_locked(struct tide_timeline *timeline, uint64_t value,
                                        struct tide_node *node);
/* Why a value has failed. Takes the guard where values end one by one. */
enum tide_status tide_timeline_failed_with(struct tide_timeline *timeline, uint64_t value);
/* How a value stands, without a lock while none has ended alone. */
enum tide_await tide_timeline_look(struct tide_timeline *timeline, uint64_t value);
/* True: it will not fire. */
bool tide_timeline_forget(struct tide_timeline *timeline, struct tide_node *node);
/* wake_at stays as it is: the next signal that finds nobody there will raise it. */
static inline bool tide_timeline_forget_locked(struct tide_timeline *timeline,
                                               struct tide_node *node) {
  if (__builtin_expect(timeline->ends_singly, 0)) return tide_pending_forget_locked(timeline, node);
  return tide_counter_remove(&timeline->reached, node);
}
bool tide_timeline_forget_promise_locked(struct tide_timeline *timeline, struct tide_node *node);

/* For check mode alone: a timeline was made, perhaps where another one was. */
#define TIDE_EVENT_MADE ((enum tide_event_kind)100)

void tide_timeline_emit(const struct tide_timeline *timeline, enum tide_event_kind kind,
                        uint64_t value, tide_axis axis, uint64_t epoch,
                        const struct tide_frontier *frontier, enum tide_status status);

#endif
