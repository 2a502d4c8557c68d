/* timeline/history.h: the ring of reached records. All under the guard.
 *
 * A ring with a size by the user is allocated with the timeline. The default one begins with one
 * slot inside the timeline, enough for the signals of hosts: their past has finished. The submits
 * of operations that are to signal the timeline make it grow. Without memory it stays as it is:
 * fewer records are kept, and look-ups are coarser. */
#ifndef TIDE_TIMELINE_HISTORY_H
#define TIDE_TIMELINE_HISTORY_H

#include "timeline/timeline_state.h"

/* `history`: the records of the ring; 0: the default. TIDE_NOMEM; TIDE_INVALID. */
enum tide_status tide_history_init(struct tide_timeline *timeline, uint32_t history);
void tide_history_fini(struct tide_timeline *timeline);
/* Makes room for the records of the operations that are to signal, if timeline->grows. */
void tide_history_grow(struct tide_timeline *timeline);
/* Pushes a tracked record with `frontier`, which lists (axis, epoch). */
void tide_history_push(struct tide_timeline *timeline, uint64_t value, tide_axis axis,
                       uint64_t epoch, const struct tide_frontier *frontier);
/* Raises the position's epoch by one, and pushes a record with the position's frontier. */
void tide_history_push_step(struct tide_timeline *timeline, uint64_t value,
                            struct tide_position *position);
/* Pushes an external record, of which only the value is known. */
void tide_history_push_external(struct tide_timeline *timeline, uint64_t value);
/* Returns the newest tracked record. False: there is none. */
bool tide_history_newest(const struct tide_timeline *timeline, struct tide_record_view *out_view);
/* Finds the record that stands for a reached value. False: nothing is known about the value. */
bool tide_history_find(const struct tide_timeline *timeline, uint64_t value,
                       struct tide_record_view *out_view);

#endif
