/* sched/promise_view.h: the promises of a timeline, for those that tell others of them. */
#ifndef TIDE_SCHED_PROMISE_VIEW_H
#define TIDE_SCHED_PROMISE_VIEW_H

#include "timeline/timeline_state.h"

/* Finds the lowest pending record at or above a value. False: there is none. Under the guard; the
 * view is valid until the next call. */
bool tide_promise_view(const struct tide_timeline *timeline, uint64_t value,
                       struct tide_record_view *out_view);
/* True if an operation is to raise the timeline, even one that is held. Under the guard. */
bool tide_promise_remains(const struct tide_timeline *timeline);

#endif
