/* layer/submission_trace.h: the submissions of a program as a trace (tidemark/trace.h): a track a
 * queue, a slice from the release of each submission to when the host saw it finish, arrows for
 * waits. */
#ifndef TIDE_LAYER_SUBMISSION_TRACE_H
#define TIDE_LAYER_SUBMISSION_TRACE_H

#include "layer/layer.h"

/* Trace a submission. The device's lock is held. Both do nothing if no trace is wanted. */
void layer_trace_start(const struct layer_submission *submission);
void layer_trace_finish(const struct layer_submission *submission);
/* Writes DIRECTORY/PID.trace anew. */
void layer_trace_write(void);

#endif
