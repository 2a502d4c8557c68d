/* timeline/timeline_state.h: the private struct of a timeline, for the parts that signal its values
 * (sched).
 *
 * Locks. `guard` protects everything but the atomics. As long as only hosts use the timeline, the
 * guard is the timeline's own lock. From the first operation that names the timeline on, the guard
 * is the scheduler's lock, and stays so. (That lock is the context's, so it outlives all
 * timelines.) Then an operation's submit and publication need only the lock that they hold, and no
 * host signal comes between two steps of the scheduler. A caller without the scheduler's lock takes
 * the guard by tide_timeline_lock. Functions named _locked expect the guard to be held. Order: the
 * callbacks' lock (of a cancel: see timepoint.c), guard, then the tracker's lock.
 *
 * Waking. No callback runs under a lock: ready nodes are appended to a `struct tide_fired`, and the
 * caller runs them later. */
#ifndef TIDE_TIMELINE_TIMELINE_STATE_H
#define TIDE_TIMELINE_TIMELINE_STATE_H

#include "base/counter.h"
#include "base/label.h"
#include "base/lock.h"
#include "base/alloc.h"
#include "base/tree.h"
#include "causal/context_state.h"
#include "tidemark/timeline.h"
#include "timeline/cause.h"
#include "timeline/value_ops.h"

/* A value that a submitted operation will signal. Lives in the operation. */
struct tide_record {
  struct tide_tree_node node; /* key = value; in the timeline's pending or reserved tree */
  struct tide_timeline *timeline;
  bool external;
  enum { TIDE_RECORD_IDLE, TIDE_RECORD_RESERVED, TIDE_RECORD_PENDING } state;
};

/* Hears of each change of a timeline: of a promise, a signal, a failure. The node goes to the fired
 * nodes of the change, once for all changes until it runs. Its `fire`, without a lock, calls
 * tide_timeline_follow_heard before it looks at anything, and tide_timeline_follow_done last. */
struct tide_timeline_follow {
  struct tide_node node;
  uint32_t told;      /* atomic: the node is on its way */
  uint32_t in_flight; /* atomic: nodes that have not called tide_timeline_follow_done */
  /* Under the guard. The highest value that an operation was to signal and that failed, with the
   * operation over; the same, counting only values without a lower pending or reserved one. */
  uint64_t over, over_first;
};

/* The size of a slot with a frontier of one entry: see history.c. */
#define TIDE_FIRST_SLOT_SIZE 48

/* A timeline. The first two cache lines hold the fields that host calls use; an external signal
 * needs the first line and the context. */
struct tide_timeline {
  _Alignas(TIDE_CACHE_LINE) struct tide_counter reached; /* the value, and its waiters */
  uint64_t quiet_below; /* a host signal below it is allowed, has no waiter, and follows an external
                           record: the least of host_limit and wake_at, or 0 */
  struct tide_lock own_lock;
  uint32_t references;     /* references to the memory: one of all owners, and the waiters' */
  struct tide_lock *guard; /* changes once: see above */
  uint64_t wake_at; /* no waiter, of `reached` or `promised`, awaits less; possibly none awaits this
                       value */
  uint64_t fail_from;        /* values >= it have failed; UINT64_MAX: none */
  uint64_t *newest_external; /* the newest record's value, which is stored when a later one
                                comes: until then it is the timeline's. NULL: a tracked record */
  struct tide_context *context;
  uint64_t host_limit; /* a host may signal below it: no failed, pending or reserved value is below;
                          0: hosts may not signal */
  uint32_t status;
  uint8_t scope; /* enum tide_scope */
  bool operations_only;
  uint16_t slot_size;        /* bytes of a slot of the ring */
  uint32_t vain_spins;       /* atomic; vain spins since the last useful one: see wait.c */
  bool is_backed;            /* `ops` is set: said here, among the fields that host calls use */
  bool was_held, orphan : 1; /* see tide_timeline_hold_locked */
  bool kept : 1;             /* the last slot is in use */
  bool gone : 1;             /* the broken ranges are lost: see tide_pending_forget_all_locked */
  bool grows : 1;            /* the ring may grow: see history.h */
  bool awaits_promise : 1;   /* `promised` has a waiter */
  bool is_followed : 1;      /* `follow` is set */
  uint32_t held;             /* references of points */
  uint32_t owners;        /* hosts that may signal, and one for all operations that will; the last
                             field in the two lines */
  uint64_t number;        /* number in the context, in order of creation */
  uint64_t lowest_broken; /* the lowest broken value; UINT64_MAX: none */
  struct tide_tree pending_values;
  struct tide_tree pending;      /* struct tide_record, by value */
  struct tide_tree reserved;     /* struct tide_record of held operations */
  struct tide_counter promised;  /* waiters for a pending record; its value is unused */
  uint32_t awaiting, signalling; /* numbers of waits and signals of operations: sched's */
  uint32_t held_waits; /* number of waits of held operations, and their largest value: sched's */
  uint32_t history;    /* the ring's records */
  uint64_t held_most;
  struct tide_cause *cause; /* the first failure's; NULL: no operation failed, or no memory */
  const struct tide_value_ops *ops; /* the backing; NULL: the host ring */
  void *backing;                    /* the argument of ops; NULL: it has ended, or needs none */
  uint64_t initial;
  /* The ring: records `oldest` .. `newest`-1, each at slot number % history. */
  uint64_t oldest, newest;
  uint64_t tracked;     /* number + 1 of the newest tracked record; 0: none */
  uint64_t dropped;     /* the highest value that fell out of the ring */
  unsigned char *slots; /* history + 1 of them; the last keeps the newest tracked record */
  union {
    struct tide_tree broken_ranges; /* of a future: see pending_value.h */
    struct {
      union {
        const void *home; /* the queue or device that a narrow scope is bound to: sched's */
        struct tide_timeline_follow *follow; /* of a wider scope */
      };
      uint64_t batch, batch_value; /* sched's, while it checks several submits at once */
    };
  };
  char label[TIDE_LABEL_SIZE];
  struct tide_owned owned; /* owned by the context, if the user made it */
  _Alignas(uint64_t) unsigned char first_slot[TIDE_FIRST_SLOT_SIZE]; /* the ring, until it grows */
};

_Static_assert(sizeof(struct tide_timeline) <= 512, "small things are small");
_Static_assert(sizeof(void *) != 8 ||
                   __builtin_offsetof(struct tide_timeline, number) <= 2 * TIDE_CACHE_LINE,
               "what the calls of hosts touch");

static inline struct tide_record *tide_record_of(struct tide_tree_node *node) {
  return (struct tide_record *)(void *)node;
}

/* Takes the guard if it is held, or has changed. */
struct tide_lock *tide_timeline_lock_slowly(struct tide_timeline *timeline);
static inline struct tide_lock *tide_timeline_lock(struct tide_timeline *timeline) {
  struct tide_lock *guard = tide_load_acquire(&timeline->guard);
  if (!tide_lock_take_free(guard)) return tide_timeline_lock_slowly(timeline);
  if (__builtin_expect(guard == tide_load_relaxed(&timeline->guard), 1)) return guard;
  tide_lock_give(guard);
  return tide_timeline_lock_slowly(timeline);
}

/* References. An *owner* may signal the timeline: a host, or the operations that are to signal it.
 * When the last owner releases the timeline, no value can be reached any more, and its waiters
 * fail. A waiter keeps only the memory, by `references`, of which all owners together have one.
 *
 * Points hold a timeline that only hosts use through `held`, which is protected by the guard that
 * they take anyway. After the first such point, TIDE_REFERENCES_HELD is part of `references`, so
 * that the last reference checks for points. If there are any, the timeline becomes an orphan, and
 * the last point frees it. */
#define TIDE_REFERENCES_HELD (1u << 31)

void tide_timeline_free(struct tide_timeline *timeline);
/* Frees the timeline, or leaves it to the last point: the last reference has gone, and points held
 * it. */
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

/* Keeps the memory for a point. True: counted in `held`. */
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
/* Releases the memory for a point. True: this was the last reference, and the caller frees the
 * timeline after releasing the guard. */
static inline bool tide_timeline_let_go_locked(struct tide_timeline *timeline, bool counted) {
  if (counted) return --timeline->held == 0 && timeline->orphan;
  uint32_t references = tide_fetch_sub(&timeline->references, 1u);
  if ((references & ~TIDE_REFERENCES_HELD) != 1) return false;
  timeline->orphan = true;
  return timeline->held == 0;
}

/* Makes the scheduler's lock the guard: an operation names the timeline. The scheduler's lock is
 * held. */
void tide_timeline_adopt(struct tide_timeline *timeline);

/* True if a sink or check mode receives the timeline's events. */
static inline bool tide_timeline_traced(const struct tide_timeline *timeline) {
  struct tide_context *context = timeline->context;
  return ((uintptr_t)context->sink | (uintptr_t)tide_load_relaxed(&context->check)) != 0;
}
/* Emits the event that a host has seen the value reached. */
void tide_timeline_emit_wait(const struct tide_timeline *timeline, uint64_t value);
static inline void tide_timeline_emit_seen(const struct tide_timeline *timeline, uint64_t value) {
  if (__builtin_expect(tide_timeline_traced(timeline), 0)) tide_timeline_emit_wait(timeline, value);
}
/* Raises the value from the host and takes off its waiters. Under the guard; the signal is
 * allowed. */
void tide_timeline_raise_locked(struct tide_timeline *timeline, uint64_t value,
                                struct tide_position *position, struct tide_fired *fired);

/* Does tide_timeline_raise_locked, in line if there is no trace, no due waiter and no new record.
 * Most values of futures are raised so. */
static inline void tide_timeline_raise_quick(struct tide_timeline *timeline, uint64_t value,
                                             struct tide_position *position,
                                             struct tide_fired *fired) {
  if (position || !timeline->newest_external || value >= timeline->wake_at ||
      tide_timeline_traced(timeline)) /* the call emits the event */
    tide_timeline_raise_locked(timeline, value, position, fired);
  else tide_store_release(&timeline->reached.value, value);
}

/* Recomputes the limits after a change of the pending, reserved, failed or awaited values. Under
 * the guard. */
void tide_timeline_refresh(struct tide_timeline *timeline);

/* Creates a timeline as tide_timeline_create does, but not owned by the context. */
enum tide_status tide_timeline_make(struct tide_context *context,
                                    const struct tide_timeline_params *params,
                                    struct tide_timeline **out_timeline);
/* Opens a timeline that no other thread knows yet on a backing. */
void tide_timeline_open_on(struct tide_timeline *timeline, const struct tide_value_ops *ops,
                           void *backing);
/* Takes the backing off its timeline, which may outlive it. Takes the guard. */
void tide_timeline_leave_backing(struct tide_timeline *timeline);
/* Raises a timeline of a backing to an external value, unless that has failed or was passed. Takes
 * the guard, and runs calls. */
void tide_timeline_raise_external(struct tide_timeline *timeline, uint64_t value);
/* Returns the status that refuses a host's signal of any value; TIDE_OK: none does. */
enum tide_status tide_timeline_refuses_hosts(const struct tide_timeline *timeline);
/* True if the ring and the operations have the records, not a backing. */
static inline bool tide_timeline_has_ring(const struct tide_timeline *timeline) {
  return !timeline->ops || !timeline->ops->find;
}
/* Returns the notifier that contains `owned`. */
struct tide_notifier *tide_notifier_of(struct tide_owned *owned);
/* Creates a progress timeline of sched, on its backing: its guard is the scheduler's lock. Without
 * a label, the kind of the backing and a number are its name. */
enum tide_status tide_timeline_create_progress(struct tide_context *context, const char *label,
                                               const struct tide_value_ops *ops, void *backing,
                                               struct tide_timeline **out_timeline);

/* True if a value has failed. The status is stored before fail_from; without a status, even
 * UINT64_MAX has not failed. */
static inline bool tide_timeline_has_failed(const struct tide_timeline *timeline, uint64_t value) {
  return value >= tide_load_acquire(&timeline->fail_from) &&
         tide_load_acquire(&timeline->status) != TIDE_OK;
}

/* Returns the smallest pending record >= value; NULL: none. A pending record in the failed part
 * will never be reached, and so promises nothing. */
static inline struct tide_record *tide_timeline_pending(const struct tide_timeline *timeline,
                                                        uint64_t value) {
  struct tide_tree_node *node = tide_tree_at_least(&timeline->pending, value);
  if (node && tide_timeline_has_failed(timeline, node->key)) return NULL;
  return (struct tide_record *)(void *)node;
}

/* Returns the newest value that is reached or pending, also in the failed part. */
static inline uint64_t tide_timeline_newest(const struct tide_timeline *timeline) {
  uint64_t value = tide_load_acquire(&timeline->reached.value);
  const struct tide_tree_node *pending = timeline->pending.last;
  return pending && pending->key > value ? pending->key : value;
}

/* Finds the record of a reached value. False: nothing is known (initial value, or external). */
bool tide_timeline_reached_locked(const struct tide_timeline *timeline, uint64_t value,
                                  struct tide_record_view *out_view);
/* Finds the newest reached tracked record. False: none. */
bool tide_timeline_newest_locked(const struct tide_timeline *timeline,
                                 struct tide_record_view *out_view);

/* ---- operations: the caller holds the scheduler's lock, which is the guard ---- */

/* Reserves a value that a held operation will signal. Pending and reserved values of one timeline
 * are unique: false if the value is taken. */
bool tide_timeline_reserve(struct tide_record *record, uint64_t value);
void tide_timeline_unreserve(struct tide_record *record, struct tide_fired *fired);
/* Makes the value pending: an operation that entered will signal it. Takes off the waiters for a
 * promise. */
void tide_timeline_promise(struct tide_record *record, uint64_t value, struct tide_fired *fired);
/* Reaches the value: the operation has signalled. The value and the knowledge of the signaller,
 * epoch `epoch` of `axis`, become visible together. The frontier lists the signaller. False: the
 * value did not go up, so it was refused, and the timeline fails from there. */
bool tide_timeline_reach(struct tide_record *record, tide_axis axis, uint64_t epoch,
                         const struct tide_frontier *frontier, struct tide_fired *fired);
/* Makes a pending record idle. */
void tide_timeline_withdraw(struct tide_record *record, struct tide_fired *fired);
/* Breaks a record: its signal will not come, though the record may stay pending for a while. Fails
 * the timeline from just above the newest value below it that is reached, pending or reserved.
 * Changes nothing on a backing: then the promiser breaks the value alone. */
void tide_timeline_break(struct tide_record *record, enum tide_status status,
                         struct tide_cause *cause, struct tide_fired *fired);
/* Fails everything from a value upward. The first status and its cause (NULL: none) stay. */
void tide_timeline_fail_locked(struct tide_timeline *timeline, uint64_t value,
                               enum tide_status status, struct tide_cause *cause,
                               struct tide_fired *fired);
/* Fails all values that are not reached: no value arrives any more. Changes nothing on a backing
 * that keeps them (fails_on_release). Takes the guard, and runs calls. */
void tide_timeline_end(struct tide_timeline *timeline, enum tide_status status);
/* Does so under the guard. */
void tide_timeline_end_locked(struct tide_timeline *timeline, enum tide_status status,
                              struct tide_fired *fired);
/* Fails a value that a host was to signal, like tide_timeline_break, but no value up to `below`.
 * Takes the guard, and runs calls. */
void tide_timeline_fail_external(struct tide_timeline *timeline, uint64_t value, uint64_t below,
                                 const struct tide_failure *why);
void tide_timeline_follow_tell(struct tide_timeline_follow *follow, struct tide_fired *fired);
/* Has the follower hear of a change: the caller has made it under the guard. */
static inline void tide_timeline_tell_change(const struct tide_timeline *timeline,
                                             struct tide_fired *fired) {
  if (__builtin_expect(timeline->is_followed, 0))
    tide_timeline_follow_tell(timeline->follow, fired);
}
/* Raises a progress timeline, without a record. */
static inline void tide_timeline_advance(struct tide_timeline *timeline, uint64_t value,
                                         struct tide_fired *fired) {
  if (value <= timeline->reached.value || tide_timeline_has_failed(timeline, value)) return;
  tide_store_release(&timeline->reached.value, value);
  /* A progress timeline does not use wake_at. */
  if (tide_counter_least(&timeline->reached) <= value)
    tide_counter_pop(&timeline->reached, value, fired, TIDE_OK);
  if (tide_counter_least(&timeline->promised) <= value)
    tide_counter_pop(&timeline->promised, value, fired, TIDE_OK);
  tide_timeline_tell_change(timeline, fired);
}

/* Returns the cause of the timeline's failure, for an operation that fails because of it. The cause
 * is created now if a host failed the timeline. NULL: no memory, or each value has a state of its
 * own, without a cause. Under the guard. */
struct tide_cause *tide_timeline_cause_locked(struct tide_timeline *timeline);

/* ---- waiting ---- */

/* A bit of context->waiting: tide_context_destroy awaits the threads. */
#define TIDE_WAITING_AWAITED (1u << 31)
/* Count the threads that block until a value is reached. While there are any, workers do not wait
 * for operations to form batches, and the context is not destroyed: the end is a thread's last
 * touch of the context and its objects. Counts may nest. (Not under the explorer of interleavings,
 * where every access is one more to explore.) */
static inline void tide_waiting_begin(struct tide_context *context) {
#ifdef TIDE_INTERLEAVE
  (void)context;
#else
  tide_fetch_add(&context->waiting, 1u);
#endif
}
static inline void tide_waiting_end(struct tide_context *context) {
#ifdef TIDE_INTERLEAVE
  (void)context;
#else
  const struct tide_platform *platform = context->platform;
  uint32_t *waiting = &context->waiting;
  if (__builtin_expect(tide_fetch_sub(waiting, 1u) & TIDE_WAITING_AWAITED, 0))
    platform->wake(platform->self, waiting, UINT32_MAX);
#endif
}

/* Has `follow` hear of each change, for a timeline of scope process or wider. False: another one
 * does. */
bool tide_timeline_set_follow(struct tide_timeline *timeline, struct tide_timeline_follow *follow);
/* Ends that, and waits until the node is at rest. */
void tide_timeline_end_follow(struct tide_timeline *timeline, struct tide_timeline_follow *follow);
/* Returns the value up to which all operations are over that were to signal the timeline, whether
 * they did or failed. They were submitted in the order of their values. Under the guard. */
uint64_t tide_timeline_ended_locked(const struct tide_timeline *timeline);
/* Notes that all values have failed, so that only operations which are out can hold that up. Under
 * the guard. */
void tide_timeline_note_end(const struct tide_timeline *timeline, struct tide_fired *fired);
static inline void tide_timeline_follow_heard(struct tide_timeline_follow *follow) {
  tide_store_release(&follow->told, 0u);
}
static inline void tide_timeline_follow_done(struct tide_timeline_follow *follow) {
  tide_fetch_sub(&follow->in_flight, 1u);
}

/* Returns the smallest awaited value; false: no waiter is queued. */
bool tide_timeline_awaited(struct tide_timeline *timeline, uint64_t *out_value);
/* Queues the node, to be fired when the value is reached or failed; or returns the state if it is
 * so already. */
enum tide_await tide_timeline_await(struct tide_timeline *timeline, uint64_t value,
                                    struct tide_node *node);
enum tide_await tide_timeline_await_backed(struct tide_timeline *timeline, uint64_t value,
                                           struct tide_node *node);
/* Queues the node in the timeline's own counter. */
static inline enum tide_await tide_timeline_await_reached(struct tide_timeline *timeline,
                                                          uint64_t value, struct tide_node *node) {
  if (timeline->reached.value >= value) return TIDE_AWAIT_REACHED;
  if (tide_timeline_has_failed(timeline, value)) return TIDE_AWAIT_FAILED;
  tide_counter_add(&timeline->reached, node, value);
  if (value < timeline->wake_at) timeline->wake_at = value;
  if (value < timeline->quiet_below) timeline->quiet_below = value;
  return TIDE_AWAIT_QUEUED;
}
static inline enum tide_await tide_timeline_await_locked(struct tide_timeline *timeline,
                                                         uint64_t value, struct tide_node *node) {
  if (__builtin_expect(timeline->is_backed, 0))
    return tide_timeline_await_backed(timeline, value, node);
  return tide_timeline_await_reached(timeline, value, node);
}
/* Queues the node for a value that is not promised, to be fired when the value is promised, reached
 * or failed. */
void tide_timeline_await_promise_locked(struct tide_timeline *timeline, uint64_t value,
                                        struct tide_node *node);
/* Returns the failure of a value. Takes the guard if each value has a state of its own. */
enum tide_status tide_timeline_failed_with(struct tide_timeline *timeline, uint64_t value);
/* Returns the state of a value; without a lock below the lowest broken value. */
enum tide_await tide_timeline_look(struct tide_timeline *timeline, uint64_t value);
/* Returns the state of a value, under the guard. Failed: *out_status is the reason. */
enum tide_await tide_timeline_look_locked(const struct tide_timeline *timeline, uint64_t value,
                                          enum tide_status *out_status);
/* Takes the node off. True: it will not fire. */
bool tide_timeline_forget(struct tide_timeline *timeline, struct tide_node *node);
bool tide_timeline_forget_backed(struct tide_timeline *timeline, struct tide_node *node);
/* Does not raise wake_at: the next signal that finds no waiter does. */
static inline bool tide_timeline_forget_locked(struct tide_timeline *timeline,
                                               struct tide_node *node) {
  if (__builtin_expect(timeline->is_backed, 0)) return tide_timeline_forget_backed(timeline, node);
  return tide_counter_remove(&timeline->reached, node);
}
bool tide_timeline_forget_promise_locked(struct tide_timeline *timeline, struct tide_node *node);

void tide_timeline_emit(const struct tide_timeline *timeline, enum tide_event_kind kind,
                        uint64_t value, tide_axis axis, uint64_t epoch,
                        const struct tide_frontier *frontier, enum tide_status status);

#endif
