/* timeline/history.h: the ring of reached records. All under the guard. */
#ifndef TIDE_TIMELINE_HISTORY_H
#define TIDE_TIMELINE_HISTORY_H

#include "timeline/timeline_state.h"

enum tide_status tide_history_init(struct tide_timeline *timeline, uint32_t history);
void tide_history_fini(struct tide_timeline *timeline);
/* The record is `frontier`, which lists (axis, epoch). */
void tide_history_push(struct tide_timeline *timeline, uint64_t value, tide_axis axis,
                       uint64_t epoch, const struct tide_frontier *frontier);
/* The position takes a step, and what it knows then is the record. */
void tide_history_push_step(struct tide_timeline *timeline, uint64_t value,
                            struct tide_position *position);
/* Nothing but the value is known. */
void tide_history_push_external(struct tide_timeline *timeline, uint64_t value);
/* The record that answers for a reached value. False when nothing is known about it. */
bool tide_history_find(const struct tide_timeline *timeline, uint64_t value,
                       struct tide_record_view *out_view);

#endif
