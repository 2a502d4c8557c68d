/* causal/tracker.h: the tracker's interface for the scheduler and for the tracker's own files.
 *
 * A `_collect` call does the same as its public twin, but on an axis found before. It appends the
 * ready nodes to `out` instead of firing them: the caller fires them after releasing its locks. */
#ifndef TIDE_CAUSAL_TRACKER_H
#define TIDE_CAUSAL_TRACKER_H

#include "base/counter.h"
#include "tidemark/causal.h"

struct tide_tracker_axis; /* stays at its address while the axis is registered and not closed */

/* Returns the state of an axis; NULL: unknown or closed. Takes the lock only if the look-up without
 * it fails. */
struct tide_tracker_axis *tide_tracker_find(struct tide_tracker *tracker, tide_axis axis);

/* True if the state still belongs to this axis. A closed axis' state serves another one later. */
bool tide_tracker_axis_is(const struct tide_tracker_axis *at, tide_axis axis);

/* Declares that every epoch of this axis is an operation that names each buffer it touches: the
 * pool is notified by tide_buffer_use. Called once, when the axis is registered. The buffers
 * touched by any other axis (a host's, a foreign one) are unknown. */
void tide_tracker_set_names(struct tide_tracker_axis *at);
/* Returns the state of such an axis; NULL: not declared, or closed. */
struct tide_tracker_axis *tide_tracker_namer(struct tide_tracker *tracker, tide_axis axis);

/* Sets the owner of the axis (a queue), and the scheduler of that owner as its `house`. Called
 * once, too. */
void tide_tracker_set_owner(struct tide_tracker_axis *at, const void *house, void *owner);
/* Returns the owner of an axis; NULL: the axis belongs to another house, or is closed. The owner is
 * valid as long as its house keeps the axis open. */
void *tide_tracker_owner(struct tide_tracker *tracker, tide_axis axis, const void *house);

/* Returns an axis that was never registered, so that it leaves no gap between the closed axes. No
 * effect if the lease has handed out another one since. */
void tide_lease_return(struct tide_lease *lease, tide_axis axis);

/* Takes one exchange if no waiter awaits an epoch <= `epoch`; else also the lock, once. */
void tide_tracker_advance_collect(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                  uint64_t epoch, struct tide_fired *out);
void tide_tracker_fail_collect(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                               enum tide_status status, struct tide_fired *out);
/* Requires that the axis has failed. */
void tide_tracker_certify_collect(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                  struct tide_fired *out);
/* Makes `at` invalid. No other call on this axis may be in progress. */
void tide_tracker_close_collect(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                struct tide_fired *out);

/* Returns the finished epoch; UINT64_MAX: certified. One load, no lock. */
uint64_t tide_tracker_axis_epoch(const struct tide_tracker_axis *at);

/* Returns true if the axis was registered; *out_given is the newest epoch that was given or has
 * finished; UINT64_MAX: it is closed. */
bool tide_tracker_given(struct tide_tracker *tracker, tide_axis axis, uint64_t *out_given);

/* A raw waiter for "(axis, epoch) has finished, with any status". */
struct tide_finish_wait {
  struct tide_node node;
  tide_axis axis;
};
/* Queues a raw waiter, of an axis that need not be known yet. Fires with TIDE_OK on advance,
 * certify or close; never on fail. wait->node.fire is set, its state is IDLE or FIRED. False: the
 * epoch has finished, and nothing was queued. */
bool tide_tracker_wait_finish(struct tide_tracker *tracker, tide_axis axis, uint64_t epoch,
                              struct tide_finish_wait *wait);
/* True: the wait will never fire. False: another thread has taken it off to fire it. */
bool tide_tracker_cancel_finish(struct tide_tracker *tracker, struct tide_finish_wait *wait);

/* A source that reports the progress of an axis on demand. `ask` is called with the tracker's lock
 * held: it takes notes. */
struct tide_teller {
  void (*ask)(struct tide_teller *teller);
};
/* Has the first waiter for an axis ask, once; at once if one is there. NULL: none asks any more.
 * False: the axis is not registered. */
bool tide_tracker_set_teller(struct tide_tracker *tracker, tide_axis axis,
                             struct tide_teller *teller);

/* Severs the axes of other machines than this: nothing tells of their progress any more. Their
 * waiters fail with `status`. All their epochs then count as finished, and so do those of axes that
 * are not registered. The caller holds no lock. */
void tide_tracker_sever(struct tide_tracker *tracker, uint16_t machine, enum tide_status status);

/* True once tide_tracker_sever has been called. */
bool tide_tracker_is_severed(struct tide_tracker *tracker);

/* Copies up to `size` pairs (axis, newest epoch given or finished) of the live axes, in no order.
 * Returns the number of live axes. Once all copied epochs have finished, so has every operation
 * that was in progress: a grace period. */
size_t tide_tracker_snapshot(struct tide_tracker *tracker, tide_axis *axes, uint64_t *epochs,
                             size_t size);

#endif
