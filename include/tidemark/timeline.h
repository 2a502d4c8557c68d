/* tidemark/timeline.h: the one waiting primitive.
 *
 * The model. A *timeline* is a 64-bit value that only goes up. A wait for v ends once the value is
 * v or more. Beside the value stands a *record* for each value that was signalled: its *signaller*,
 * an axis and an epoch, and the frontier of that signaller. So a waiter learns not only that the
 * value was reached, but all that must have happened before:
 *
 *        value   1        2                 5
 *        record  {a@4}    {a@5, b@3}        {a@9, b@3, c@1}
 *
 * A waiter of 2 learns {a@5, b@3}, even if the value is at 5 by then: it depends on "at least 2",
 * not on later signals.
 *
 * A record is *pending* (a submitted operation will signal it), then *reached* or *failed*. It is
 * *tracked*, or *external*: signalled by something that we cannot see into. An external record
 * opens waits but teaches nothing. Values are published together with their record: a thread that
 * reads value v and then asks for its frontier never gets an older one.
 *
 * The newest records are kept in a ring. When an old one was dropped, the oldest
 * kept tracked record above it answers in its place, marked *coarse*: true, only
 * less tight.
 *
 * Order. Pending values increase, and several signallers of one timeline must be
 * ordered among themselves (racing signals have no causal meaning). A signal by
 * the host stays below the smallest value that is pending.
 *
 * Failure. A timeline fails *from a value upward*. A signal of 5 that fails, is
 * cancelled, or is lost with its device fails the timeline from just above the
 * newest value that is reached, or pending below 5: the waiters of 3 relied on
 * that 5, and are told at once, or as soon as they come. Reached values stay
 * reached; waits for other values return the first failure's status.
 *
 * Owners. A timeline has owners, which may signal it: hosts (create, retain,
 * release), and the operations that are to signal it. When the last owner
 * releases the timeline, no value can be reached any more, and it fails with
 * TIDE_CANCELLED as if it had been destroyed. An operation that is to signal the
 * timeline is an owner even while it is held, also if it waits for that timeline.
 *
 * Waiters own nothing. A wait keeps the memory once it sleeps, a wait-set's member,
 * a timepoint and an operation once they are added; to begin any of them, and to ask
 * for a failure afterwards, the caller needs an owner that lives meanwhile: a thread
 * retains the timeline first if another one may release it.
 *
 * Scope says how far a timeline's waiters may be: within one queue, one device, several devices,
 * the process, the system. It fixes the cost of a wait. (It is not Vulkan's synchronization scope,
 * which is about memory.) Waiting beyond it is refused at submit. Host waits and host signals need
 * TIDE_SCOPE_PROCESS or wider.
 *
 * Threads: every function may be called from any thread unless it says otherwise. Host query,
 * signal and wait never allocate, and a signal without waiters makes no system call.
 *
 * Source: "Causal Dependency Tracking with Vector Clock Frontiers"; "Vulkan Timeline Semaphores".
 */
#ifndef TIDEMARK_TIMELINE_H
#define TIDEMARK_TIMELINE_H

#include "tidemark/context.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tide_timeline;

enum tide_scope {
  TIDE_SCOPE_DEFAULT = 0, /* process */
  TIDE_SCOPE_QUEUE = 1,   /* waiting costs nothing: the queue's order does it */
  TIDE_SCOPE_DEVICE = 2,  /* a hand-over between workers of one device */
  TIDE_SCOPE_GROUP = 3,   /* a wake across devices */
  TIDE_SCOPE_PROCESS = 4, /* a futex */
  TIDE_SCOPE_SYSTEM = 5   /* memory that several processes map: tidemark/shared.h */
};

/* "queue", "device" …; "unknown" for anything else. A constant. */
TIDE_API const char *tide_scope_name(enum tide_scope scope);

/* How a timeline is used; tide_scope_for picks the narrowest scope that allows it. */
struct tide_scope_usage {
  uint32_t queues;  /* that wait or signal */
  uint32_t devices; /* that those queues belong to */
  bool host;        /* a host thread waits or signals */
  bool exported;    /* another process takes part */
};
/* Never TIDE_SCOPE_DEFAULT. */
TIDE_API enum tide_scope tide_scope_for(const struct tide_scope_usage *usage);

struct tide_timeline_params {
  size_t struct_size;
  const char *label; /* copied, cut at 31 bytes; may be NULL */
  enum tide_scope scope;
  uint64_t initial; /* the first value; nothing is known about it */
  uint32_t history; /* reached records to keep; 0: 16; a power of two is kept as it is, else rounded
                       up */
  bool operations_only; /* only operations signal it: host signals are refused, and a wait may
                           therefore be raised to the value of the record that will satisfy it */
};

/* One owner, the caller: release, or destroy. NULL params are the defaults. TIDE_NOMEM;
 * TIDE_INVALID: no such scope, or a history above 2^24; TIDE_UNSUPPORTED: TIDE_SCOPE_SYSTEM: what
 * is made here has waiters and calls of this process, which no other can see; tidemark/shared.h
 * has timelines that lie in shared memory. Allocates all it will ever need. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_timeline_create(struct tide_context *context, const struct tide_timeline_params *params,
                     struct tide_timeline **out_timeline);
/* Adds an owner. The caller is one, and releases it later. */
TIDE_API void tide_timeline_retain(struct tide_timeline *timeline);
/* Removes an owner. The last one fails all that is not reached with TIDE_CANCELLED; calls of
 * timepoints run on this thread, without a lock held. NULL is fine. */
TIDE_API void tide_timeline_release(struct tide_timeline *timeline);
/* Fails all that is not reached with TIDE_CANCELLED, also what operations are to signal, then
 * releases. Operations fail at their place. NULL is fine. */
TIDE_API void tide_timeline_destroy(struct tide_timeline *timeline);

/* "" when none was given. Lives as long as the timeline. */
TIDE_API const char *tide_timeline_label(const struct tide_timeline *timeline);
/* As it was made, or bound to the process where nothing was said. */
TIDE_API enum tide_scope tide_timeline_scope(const struct tide_timeline *timeline);

/* The current value: one load. */
TIDE_API uint64_t tide_timeline_query(const struct tide_timeline *timeline);
/* TIDE_OK, or the first failure. */
TIDE_API enum tide_status tide_timeline_status(const struct tide_timeline *timeline);

/* Raises the value from the host. With a position, the signal is tracked: the position's epoch goes
 * up by one, counts as finished, and the record is what the position knows. Without one (NULL) it
 * is external. The caller uses one position from one thread at a time. Runs the callbacks of
 * timepoints that became due, without a lock held. On an error nothing has changed:
 * - TIDE_VALUE: value <= the current value, or >= the smallest pending value
 * - TIDE_SCOPE: the scope is narrower than process, or only operations may signal
 * - TIDE_NOT_FOUND: the position's axis is not registered with the tracker
 * - the failure: value is in the failed part */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_timeline_signal(struct tide_timeline *timeline,
                                                               uint64_t value,
                                                               struct tide_position *position);
/* The same without a position: by something that we cannot see into. */
static inline enum tide_status TIDE_MUST_CHECK
tide_timeline_signal_external(struct tide_timeline *timeline, uint64_t value) {
  return tide_timeline_signal(timeline, value, NULL);
}

/* Fails all that is not reached, at once. `status` must not be TIDE_OK. The first failure wins. */
TIDE_API void tide_timeline_fail(struct tide_timeline *timeline, enum tide_status status);

/* True: `value` has failed, and *out_failure (may be NULL) is the first cause: the operation that
 * failed before all others, its queue and device, and what its backend said. Where no operation
 * failed, as after tide_timeline_fail, the text names that timeline. Of a point's timeline the
 * status alone is kept, so an operation that fails by a broken point is the first cause. False: the
 * value is reached, or may still be. Never blocks, never allocates. */
TIDE_API bool tide_timeline_failure(struct tide_timeline *timeline, uint64_t value,
                                    struct tide_failure *out_failure);

/* Blocks until the value is reached, the timeline fails or the deadline (absolute, ns) passes.
 * TIDE_TIMEOUT; TIDE_SCOPE: narrower than process; else the failure, TIDE_CANCELLED when the
 * timeline was destroyed. A deadline of TIDE_NOW never enters the kernel. Never allocates.
 * Of more than four threads that wait for a value each wakes two others before it returns, so that
 * the signal need not wake them all: one that is stopped just then holds up those two. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_timeline_wait(struct tide_timeline *timeline,
                                                             uint64_t value, uint64_t deadline);

/* What is known about a reached value. */
struct tide_record_info {
  uint64_t value; /* the record that answers: >= the one asked for; of external ones in a row the
                     last */
  tide_axis axis; /* its signaller; 0 when external */
  uint64_t epoch;
  bool external; /* nothing is known; the frontier is empty and tainted */
  bool coarse;   /* a later record answers for a dropped one */
};
/* Copies the record's frontier (NULL: only info). TIDE_TIMEOUT when the value is not reached,
 * TIDE_NOT_FOUND when it is the initial value or below. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_timeline_frontier_at(struct tide_timeline *timeline, uint64_t value,
                          struct tide_frontier *out_frontier, struct tide_record_info *out_info);
/* Merges what a reached value teaches into a position: the thread that owns it has waited. Errors
 * as above; nothing is merged then. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_timeline_import(struct tide_timeline *timeline,
                                                               uint64_t value,
                                                               struct tide_position *position);

/* ---- waiting for several -------------------------------------------------- */

/* One (timeline, value) pair and the storage to wait for it: 64 bytes. The caller owns it, zeroed,
 * and keeps it until the wait is over; then it may be used again as it is. */
struct tide_wait_point {
  struct tide_timeline *timeline;
  uint64_t value;
  uint64_t private_words[6];
};

/* Blocks until one is reached (or has failed). Of several points of one timeline only the one with
 * the lowest value counts (of equal ones the first): a failure above it does not end the wait, and
 * the others are never the answer. *out_index (may be NULL) is the first that was found. Returns
 * TIDE_OK, the failure of the one that failed, TIDE_TIMEOUT, or TIDE_INVALID for count 0. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_wait_any(struct tide_wait_point *points, size_t count, uint64_t deadline, size_t *out_index);
/* Blocks until all are reached; returns at once when one fails, with its failure. Of several points
 * of one timeline the highest counts. Count 0 is TIDE_OK. TIDE_TIMEOUT. Both check scopes before
 * anything else: TIDE_SCOPE. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_wait_all(struct tide_wait_point *points,
                                                        size_t count, uint64_t deadline);

/* The latched form of wait any: immutable once made, set for good once one point was reached.
 * Registration stops at the first that is satisfied already. The points stay the caller's until
 * fini, which unregisters. */
struct tide_wait_any_set {
  struct tide_wait_point *points;
  size_t count, registered;
  size_t winner;
  uint32_t word; /* 0, or 1 once latched */
  uint32_t status;
  uint32_t remaining;   /* private: how many must still be reached */
  uint32_t outstanding; /* private: registered points that may still be touched */
};
/* The set is the caller's storage, and so are the points, from here to fini. TIDE_INVALID: count 0;
 * TIDE_SCOPE: then nothing was registered, and no fini is due. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_wait_any_init(struct tide_wait_any_set *set, struct tide_wait_point *points, size_t count);
/* Blocks until the set is latched; as often as one likes, from any threads. TIDE_OK or the failure
 * of the winner, whose index comes out (NULL is fine), the same each time; TIDE_TIMEOUT. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_wait_any_wait(struct tide_wait_any_set *set,
                                                             uint64_t deadline, size_t *out_index);
/* Unregisters: no waiter is touched any more when it returns. Nobody may be in wait. */
TIDE_API void tide_wait_any_fini(struct tide_wait_any_set *set);

/* A persistent set: members stay registered over many waits, so waiting for any of 10 000 costs
 * what is ready, not 10 000. One thread waits at a time; any thread adds and removes. Capacity is
 * fixed. */
struct tide_wait_set;
struct tide_wait_ready {
  uint64_t cookie;
  uint64_t value;
  enum tide_status status; /* TIDE_OK: reached; else the failure */
};
/* TIDE_INVALID: capacity 0; TIDE_NOMEM. The only call of a set that allocates. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_wait_set_create(struct tide_context *context,
                                                               uint32_t capacity,
                                                               struct tide_wait_set **out_set);
/* Takes all members off first. Nobody may use the set any more. NULL is fine. */
TIDE_API void tide_wait_set_destroy(struct tide_wait_set *set);
/* One shot: reported once, then it leaves the set; add again to wait for more. The set keeps
 * the timeline's memory meanwhile. *out_member (may be NULL) names it for remove. TIDE_FULL at
 * capacity; TIDE_SCOPE. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_wait_set_add(struct tide_wait_set *set,
                                                            struct tide_timeline *timeline,
                                                            uint64_t value, uint64_t cookie,
                                                            uint64_t *out_member);
/* True: it will not be reported any more. False: it was reported, or is in the list to be. */
TIDE_API bool tide_wait_set_remove(struct tide_wait_set *set, uint64_t member);
/* Blocks until at least one is ready; fills up to `size`, in the order in which they came.
 * TIDE_TIMEOUT; TIDE_INVALID: size 0. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_wait_set_wait(struct tide_wait_set *set,
                                                             struct tide_wait_ready *ready,
                                                             size_t size, uint64_t deadline,
                                                             size_t *out_count);

/* ---- timepoints: a call when a value is reached --------------------------- */

struct tide_notifier;

/* A waiter of 64 bytes, mostly a member of a struct of the caller's with what the call needs. The
 * caller owns it, zeroed but for the fields that it sets, until `call` has run or cancel has said
 * that it will not; then it may be added again as it is, but for a notifier, which is set anew. */
struct tide_timepoint {
  struct tide_timeline *timeline;
  uint64_t value;
  void *private_links[3];
  /* status: TIDE_OK, or the failure. Runs without a lock held: it may signal, submit, and free the
   * timepoint; it must not close a device or destroy the context. Without a notifier it runs on the
   * signalling thread, one callback of a context at a time, never nested (a chain of callbacks that
   * signal each other uses constant stack). */
  void (*call)(struct tide_timepoint *timepoint, enum tide_status status);
  uint64_t private_state;
  struct tide_notifier *notifier; /* NULL, or who dispatches, of the timeline's context; once added
                                     it is private */
};
/* Registers; when the value is reached or failed already the call runs (or is queued) at once. No
 * call comes after an error: TIDE_INVALID: no timeline, no call, or another context's notifier;
 * TIDE_SCOPE. Never allocates. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_timepoint_add(struct tide_timepoint *timepoint);
/* True: the call will not run. False: it has run, is running, or will run. Must not run
 * concurrently with a call that adds the timepoint again. */
TIDE_API bool tide_timepoint_cancel(struct tide_timepoint *timepoint);

/* A queue of due timepoints with a descriptor for epoll: readable while something is due.
 * TIDE_NOMEM; TIDE_FULL: no descriptors left; or what else the platform says. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_notifier_create(struct tide_context *context,
                                                               struct tide_notifier **out_notifier);
/* No timepoint may use it any more. */
TIDE_API void tide_notifier_destroy(struct tide_notifier *notifier);
/* For poll and epoll only: nobody but the notifier reads or closes it. */
TIDE_API int tide_notifier_descriptor(const struct tide_notifier *notifier);
/* Runs up to `most` due calls on this thread; returns how many ran. */
TIDE_API size_t tide_notifier_dispatch(struct tide_notifier *notifier, size_t most);

#ifdef __cplusplus
}
#endif
#endif
