/* sched/diagnosis.h: texts about the signallers of awaited values. */
#ifndef TIDE_SCHED_DIAGNOSIS_H
#define TIDE_SCHED_DIAGNOSIS_H

#include "base/text.h"
#include "timeline/timeline_state.h"

/* Appends the awaited value, the reached one and the promise, " 'frames' >= 3 (at 2; promised by
 * 'renderer', due in 0.450 s)" say; nothing if the value is reached. The scheduler's lock is
 * held. */
void tide_diagnose_value(struct tide_text *text, const struct tide_timeline *timeline,
                         uint64_t value);

/* Does tide_context_diagnose, but ends soon after `most` characters: it holds the lock. */
size_t tide_diagnose_most(struct tide_context *context, char *buffer, size_t size, size_t most);

#endif
