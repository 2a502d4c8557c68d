/* tidemark/timeline.h: timelines, and waits for their values.
 *
 * The model. A *timeline* is a 64-bit value that only increases. A wait for v ends once the value
 * is v or more. The timeline keeps a *record* for each value that was signalled: the *signaller*,
 * as an axis and an epoch, and the signaller's frontier. So a waiter learns that the value was
 * reached, and also everything that must have happened before:
 *
 *        value   1        2                 5
 *        record  {a@4}    {a@5, b@3}        {a@9, b@3, c@1}
 *
 * A waiter for 2 learns {a@5, b@3}, even if the value is 5 by then: the waiter depends on "at least
 * 2", not on later signals.
 *
 * A record is *pending* (a submitted operation will signal it), then *reached* or *failed*. A
 * record is *tracked* or *external*. The signaller of an external record is invisible to the
 * library: the record satisfies waits but carries no knowledge. A value and its record are
 * published together: a thread that reads value v and then asks for its frontier never gets an
 * older one.
 *
 * A ring keeps the newest records. If a value's record was dropped, the oldest kept tracked record
 * above it is returned, marked *coarse*: correct, but less precise.
 *
 * Order. Pending values increase. Several signallers of one timeline must be ordered among
 * themselves, because racing signals have no causal meaning. A signal by the host must stay below
 * the smallest pending value.
 *
 * Failure. A timeline fails *from a value upward*. Take a signal of 5 that fails, is cancelled, or
 * is lost with its device. The timeline fails from just above the newest value that is reached, or
 * pending below 5. A waiter for 3 relied on that 5, and is notified at once, or as soon as it
 * waits. Reached values stay reached. Waits for other values return the status of the first
 * failure.
 *
 * Owners. The owners of a timeline may signal it: hosts (create, retain, release), and the
 * operations that are to signal it. When the last owner releases the timeline, no value can be
 * reached any more. The timeline then fails with TIDE_CANCELLED, as if it had been destroyed. An
 * operation that is to signal the timeline is an owner even while it is held, and even if it waits
 * for the same timeline.
 *
 * Waiters are not owners. A blocked wait keeps the timeline's memory, and so do members of a wait
 * set, timepoints and operations, once they are added. To begin a wait, and to query a failure
 * afterwards, the caller needs an owner that lives meanwhile: a thread retains the timeline first
 * if another thread may release it.
 *
 * Scope. The scope limits how far away a timeline's waiters may be: one queue, one device, several
 * devices, the process, the system. It determines the cost of a wait. (Vulkan's synchronization
 * scopes are unrelated: they concern memory.) A submit refuses a wait beyond the scope. Host waits
 * and host signals need TIDE_SCOPE_PROCESS or wider.
 *
 * Threads: any thread may call every function, unless its comment says otherwise. Host query,
 * signal and wait never allocate. A signal without waiters makes no system call.
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
  TIDE_SCOPE_DEFAULT = 0, /* TIDE_SCOPE_PROCESS */
  TIDE_SCOPE_QUEUE = 1,   /* a wait costs nothing: the queue's order implies it. Out of order, on a
                             device that runs ahead (backend.h): a barrier */
  TIDE_SCOPE_DEVICE = 2,  /* a wait is a barrier or a native wait, on a device that runs ahead; else
                             a hand-over between workers of one device */
  TIDE_SCOPE_GROUP = 3,   /* a wait is a native wait, between devices of one group that run ahead;
                             else a wake across devices */
  TIDE_SCOPE_PROCESS = 4, /* also hosts and other devices: a futex. Operations of one group wait as
                             above all the same */
  TIDE_SCOPE_SYSTEM = 5   /* also members of a session, in other processes: tidemark/cluster.h */
};

/* Returns "queue", "device" …; "unknown" for an unknown scope. A constant. */
TIDE_API const char *tide_scope_name(enum tide_scope scope);

/* The users of a timeline; tide_scope_for picks the narrowest scope that allows them. */
struct tide_scope_usage {
  uint32_t queues;  /* the number of queues that wait or signal */
  uint32_t devices; /* the number of devices that own those queues */
  bool host;        /* a host thread waits or signals */
  bool exported;    /* another process takes part */
};
/* Returns the narrowest scope for this usage; never TIDE_SCOPE_DEFAULT. */
TIDE_API enum tide_scope tide_scope_for(const struct tide_scope_usage *usage);

struct tide_timeline_params {
  size_t struct_size;
  const char *label; /* copied, cut at 31 bytes; may be NULL */
  enum tide_scope scope;
  uint64_t initial;     /* the initial value, which has no record */
  uint32_t history;     /* reached records to keep, rounded up to a power of two. 0: the newest one,
                           and room for 16 once operations are submitted that will signal */
  bool operations_only; /* only operations signal it. Host signals are refused, and a wait may
                           therefore be raised to the value of the record that will satisfy it. */
};

/* Creates a timeline with one owner, the caller. The caller ends it by release or destroy.
 * Allocates memory for the records if params->history is given. If not, the timeline takes 512
 * bytes: a record of a host signal then lists only the signaller, and is tainted unless the rest of
 * its past has finished. The room for more records is allocated by submits; without memory look-ups
 * are coarser. NULL params select the defaults.
 * - TIDE_NOMEM
 * - TIDE_INVALID: struct_size is missing, no such scope, or a history above 2^24 */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_timeline_create(struct tide_context *context, const struct tide_timeline_params *params,
                     struct tide_timeline **out_timeline);
/* Adds an owner. The caller must be an owner already, and releases the new one later. */
TIDE_API void tide_timeline_retain(struct tide_timeline *timeline);
/* Removes an owner. Removing the last one fails all values that are not reached with
 * TIDE_CANCELLED; the calls of timepoints then run on this thread, without a lock held. NULL is
 * fine. */
TIDE_API void tide_timeline_release(struct tide_timeline *timeline);
/* Fails all values that are not reached with TIDE_CANCELLED, also those that operations are to
 * signal, then releases. Those operations fail in queue order. NULL is fine. */
TIDE_API void tide_timeline_destroy(struct tide_timeline *timeline);

/* Returns the label, or the name instead (context.h). Lives as long as the timeline. */
TIDE_API const char *tide_timeline_label(const struct tide_timeline *timeline);
/* Returns the scope of the params; TIDE_SCOPE_PROCESS for TIDE_SCOPE_DEFAULT. */
TIDE_API enum tide_scope tide_timeline_scope(const struct tide_timeline *timeline);

/* Returns the current value: one load. */
TIDE_API uint64_t tide_timeline_query(const struct tide_timeline *timeline);
/* Returns TIDE_OK, or the status of the first failure. */
TIDE_API enum tide_status tide_timeline_status(const struct tide_timeline *timeline);

/* Raises the value from the host. With a position the signal is tracked: the position's epoch
 * increases by one and counts as finished, and the record carries the position's knowledge. Without
 * a position (NULL) the signal is external. One thread at a time may use a position. Runs the
 * callbacks of timepoints that became due, without a lock held. On an error nothing has changed:
 * - TIDE_VALUE: value <= the current value, or >= the smallest pending value
 * - TIDE_SCOPE: the scope is narrower than process, or only operations may signal
 * - TIDE_DENIED: its values come from elsewhere: from its home (cluster.h), or from a VkSemaphore
 * - TIDE_NOT_FOUND: the position's axis is not registered with the tracker
 * - the failure's status: value is in the failed part */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_timeline_signal(struct tide_timeline *timeline,
                                                               uint64_t value,
                                                               struct tide_position *position);
/* Raises the value without a position: the signal is external. */
static inline enum tide_status TIDE_MUST_CHECK
tide_timeline_signal_external(struct tide_timeline *timeline, uint64_t value) {
  return tide_timeline_signal(timeline, value, NULL);
}

/* Fails all values that are not reached, at once. `status` must not be TIDE_OK. The first failure
 * wins. */
TIDE_API void tide_timeline_fail(struct tide_timeline *timeline, enum tide_status status);

/* True if `value` has failed. *out_failure (may be NULL) is then the first cause: the operation
 * that failed before all others, its queue and device, and its backend's message. If no operation
 * failed, as after tide_timeline_fail, the text names that timeline. A point's timeline keeps the
 * status alone, so an operation that fails because of a broken point is itself the first cause.
 * False: the value is reached, or may still be. Never blocks, never allocates. */
TIDE_API bool tide_timeline_failure(struct tide_timeline *timeline, uint64_t value,
                                    struct tide_failure *out_failure);

/* Blocks until the value is reached, the timeline fails or the deadline passes. A deadline of
 * TIDE_NOW never enters the kernel. Never allocates.
 * - TIDE_TIMEOUT
 * - TIDE_SCOPE: the scope is narrower than process
 * - the failure's status; TIDE_CANCELLED when the timeline was destroyed
 *
 * With more than four threads waiting for a value, each wakes two others before it returns, so
 * that the signaller need not wake them all. A thread that is preempted at that moment delays
 * those two. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_timeline_wait(struct tide_timeline *timeline,
                                                             uint64_t value, uint64_t deadline);

/* The knowledge about a reached value. */
struct tide_record_info {
  uint64_t value; /* the value of the returned record, >= the requested one; in a row of external
                     records the last */
  tide_axis axis; /* the signaller; 0: external */
  uint64_t epoch;
  bool external; /* the signaller is unknown; the frontier is empty and tainted */
  bool coarse;   /* a later record replaces a dropped one */
};
/* Copies the frontier of the record of `value` (NULL: only info). TIDE_TIMEOUT: the value is not
 * reached; TIDE_NOT_FOUND: the value is the initial one, or below it. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_timeline_frontier_at(struct tide_timeline *timeline, uint64_t value,
                          struct tide_frontier *out_frontier, struct tide_record_info *out_info);
/* Merges the knowledge of a reached value into a position, for the thread that owns the position
 * and has waited. Errors as from tide_timeline_frontier_at; then nothing is merged. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_timeline_import(struct tide_timeline *timeline,
                                                               uint64_t value,
                                                               struct tide_position *position);

/* ---- waiting for several -------------------------------------------------- */

/* A (timeline, value) pair and the storage to wait for it: 64 bytes. The caller owns it, zeroes it,
 * and keeps it until the wait is over. It may then be used again as it is. */
struct tide_wait_point {
  struct tide_timeline *timeline;
  uint64_t value;
  uint64_t private_words[6];
};

/* Blocks until a point is reached or has failed. Of several points on one timeline only the one
 * with the lowest value counts (of equal ones the first). A failure above that value does not end
 * the wait, and the other points are never returned. *out_index (may be NULL) is the first such
 * point found. Returns TIDE_OK, that point's failure, TIDE_TIMEOUT, TIDE_INVALID for count 0, or
 * TIDE_SCOPE, which is checked before anything else. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_wait_any(struct tide_wait_point *points, size_t count, uint64_t deadline, size_t *out_index);
/* Blocks until all points are reached; returns at once when one fails, with its failure. Of several
 * points on one timeline the highest counts. Count 0 returns TIDE_OK. TIDE_TIMEOUT; TIDE_SCOPE,
 * which is checked before anything else. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_wait_all(struct tide_wait_point *points,
                                                        size_t count, uint64_t deadline);

/* The latched form of tide_wait_any: fixed once made, set permanently once a point is reached or
 * has failed. Registration stops at the first point that is satisfied already. The points stay the
 * caller's until fini, which unregisters them. */
struct tide_wait_any_set {
  struct tide_wait_point *points;
  size_t count, registered;
  size_t winner;
  uint32_t word; /* 1: latched; else not */
  uint32_t status;
  uint32_t remaining;   /* private: points that must still be reached */
  uint32_t outstanding; /* private: registered points that may still be touched */
};
/* Registers the points. The caller provides the storage of the set and the points, until fini.
 * TIDE_INVALID: count 0; TIDE_SCOPE: nothing was registered, and no fini is due. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_wait_any_init(struct tide_wait_any_set *set, struct tide_wait_point *points, size_t count);
/* Blocks until the set is latched. Any number of threads may call it, repeatedly. Returns TIDE_OK
 * or the failure of the winner, the same each time; or TIDE_TIMEOUT. *out_index (may be NULL) is
 * the winner's index. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_wait_any_wait(struct tide_wait_any_set *set,
                                                             uint64_t deadline, size_t *out_index);
/* Unregisters the points. After the return the library touches none of them. No thread may be in
 * tide_wait_any_wait. */
TIDE_API void tide_wait_any_fini(struct tide_wait_any_set *set);

/* A persistent set. Members stay registered over many waits, so the cost of a wait depends on the
 * number of ready members, not of all. One thread waits at a time; any thread adds and removes. The
 * capacity is fixed. */
struct tide_wait_set;
struct tide_wait_ready {
  uint64_t cookie;
  uint64_t value;
  enum tide_status status; /* TIDE_OK: reached; else the failure */
};
/* Creates a set; the only call of a set that allocates. TIDE_INVALID: capacity 0; TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_wait_set_create(struct tide_context *context,
                                                               uint32_t capacity,
                                                               struct tide_wait_set **out_set);
/* Removes all members, then destroys the set. No thread may use the set any more. NULL is fine. */
TIDE_API void tide_wait_set_destroy(struct tide_wait_set *set);
/* Adds a one-shot member: reported once, then removed from the set. To wait for more, add again.
 * The set keeps the timeline's memory meanwhile. *out_member (may be NULL) identifies the member
 * for tide_wait_set_remove. TIDE_FULL: the set is at its capacity; TIDE_SCOPE. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_wait_set_add(struct tide_wait_set *set,
                                                            struct tide_timeline *timeline,
                                                            uint64_t value, uint64_t cookie,
                                                            uint64_t *out_member);
/* True: the member will not be reported any more. False: it was reported, or is queued to be. */
TIDE_API bool tide_wait_set_remove(struct tide_wait_set *set, uint64_t member);
/* Blocks until at least one member is ready. Fills in up to `size`, in the order in which they
 * became ready. TIDE_TIMEOUT; TIDE_INVALID: size 0; TIDE_CANCELLED: the context is being
 * destroyed. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_wait_set_wait(struct tide_wait_set *set,
                                                             struct tide_wait_ready *ready,
                                                             size_t size, uint64_t deadline,
                                                             size_t *out_count);

/* ---- timepoints: a call when a value is reached --------------------------- */

struct tide_notifier;

/* A waiter of 64 bytes, usually a member of a caller's struct that holds the data of the call. The
 * caller owns it, and zeroes it except for the fields that it sets, until `call` has run or
 * tide_timepoint_cancel has returned true. It may then be added again as it is, but a notifier must
 * be set anew. */
struct tide_timepoint {
  struct tide_timeline *timeline;
  uint64_t value;
  void *private_links[3];
  /* status: TIDE_OK, or the failure. Runs without a lock held: it may signal, submit, and free the
   * timepoint; it must not close a device or destroy the context. It may be on a thread of a
   * device, which does nothing else meanwhile, so it must not wait for operations. Without a
   * notifier it runs on the signalling thread, one callback of a context at a time, never nested (a
   * chain of callbacks that signal each other uses constant stack). */
  void (*call)(struct tide_timepoint *timepoint, enum tide_status status);
  uint64_t private_state;
  struct tide_notifier
      *notifier; /* the dispatcher, of the timeline's context; NULL: none. Private once added. */
};
/* Registers the timepoint. If the value is already reached or failed, the call runs (or is queued)
 * at once. After an error no call comes. TIDE_INVALID: no timeline, no call, or another context's
 * notifier; TIDE_SCOPE. Never allocates. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_timepoint_add(struct tide_timepoint *timepoint);
/* True: the call will not run. False: the call has run, is running, or will run. Must not run
 * concurrently with a tide_timepoint_add of the same timepoint. */
TIDE_API bool tide_timepoint_cancel(struct tide_timepoint *timepoint);

/* Creates a queue of due timepoints with a descriptor for epoll, readable while a timepoint is due.
 * TIDE_NOMEM; TIDE_FULL: no descriptors left; or another error of the platform. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_notifier_create(struct tide_context *context,
                                                               struct tide_notifier **out_notifier);
/* Destroys the notifier. No timepoint may use it any more. */
TIDE_API void tide_notifier_destroy(struct tide_notifier *notifier);
/* Returns a descriptor for poll and epoll only: the notifier alone reads and closes it. */
TIDE_API int tide_notifier_descriptor(const struct tide_notifier *notifier);
/* Runs up to `most` due calls on this thread; returns how many ran. */
TIDE_API size_t tide_notifier_dispatch(struct tide_notifier *notifier, size_t most);

#ifdef __cplusplus
}
#endif
#endif
