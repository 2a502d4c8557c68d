/* causal/tracker.h: what the scheduler and the tracker's own files need of it.
 *
 * `_collect` calls do what their public twins do, but on an axis found before,
 * and hand the ready nodes out instead of firing them: the caller fires them
 * after letting go of its locks. They append to `out`. */
#ifndef TIDE_CAUSAL_TRACKER_H
#define TIDE_CAUSAL_TRACKER_H

#include "base/counter.h"
#include "tidemark/causal.h"

struct tide_tracker_axis; /* stays at its address while the axis is registered and not closed */

/* NULL when unknown or closed. No lock unless the axis is not there. */
struct tide_tracker_axis *tide_tracker_find(struct tide_tracker *tracker, tide_axis axis);

/* Is it still this axis' state? A closed axis' state serves another one later. */
bool tide_tracker_axis_is(const struct tide_tracker_axis *at, tide_axis axis);

/* What has an epoch of this axis is an operation, which names each buffer that it touches: the pool
 * hears of it by tide_buffer_use. Said once, when the axis is registered. Of any other axis (a
 * host's, one from elsewhere) it is not known what it touches. */
void tide_tracker_set_names(struct tide_tracker_axis *at);
/* NULL when that was not said of it, or it is closed. */
struct tide_tracker_axis *tide_tracker_namer(struct tide_tracker *tracker, tide_axis axis);

/* The scheduler's own: whose axis it is, and in whose house that one lives. Said once, too. */
void tide_tracker_set_owner(struct tide_tracker_axis *at, const void *house, void *owner);
/* NULL when the axis is of another house, or closed. It stays as long as the house keeps it open.
 */
void *tide_tracker_owner(struct tide_tracker *tracker, tide_axis axis, const void *house);

/* One exchange when nobody waits for anything up to `epoch`; else the lock, once. */
void tide_tracker_advance_collect(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                  uint64_t epoch, struct tide_fired *out);
void tide_tracker_fail_collect(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                               enum tide_status status, struct tide_fired *out);
/* The axis has failed. */
void tide_tracker_certify_collect(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                  struct tide_fired *out);
/* `at` is invalid afterwards. No call on this axis may be under way. */
void tide_tracker_close_collect(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                struct tide_fired *out);

/* The finished epoch; UINT64_MAX once certified. One load, no lock. */
uint64_t tide_tracker_axis_epoch(const struct tide_tracker_axis *at);

/* A raw waiter for "(axis, epoch) has finished, whatever its status": fires with TIDE_OK on
 * advance, certify or close; never on fail. node->fire is set, node->state is IDLE or FIRED. */
enum tide_finish { TIDE_FINISH_QUEUED, TIDE_FINISH_ALREADY, TIDE_FINISH_UNKNOWN };
enum tide_finish tide_tracker_wait_finish(struct tide_tracker *tracker, tide_axis axis,
                                          uint64_t epoch, struct tide_node *node);
/* True: the node will never fire. False: somebody has taken it off to fire it. */
bool tide_tracker_cancel_finish(struct tide_tracker *tracker, tide_axis axis,
                                struct tide_node *node);

/* Copies up to `size` pairs (axis, newest epoch given or finished) of the live axes, in no order;
 * returns how many axes are live. Once all of these have finished, so has everything that was under
 * way: a grace period. */
size_t tide_tracker_snapshot(struct tide_tracker *tracker, tide_axis *axes, uint64_t *epochs,
                             size_t size);

#endif
