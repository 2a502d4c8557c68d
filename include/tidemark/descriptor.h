/* tidemark/descriptor.h: descriptors of the system that poll readable, as signallers and as
 * waiters.
 *
 * The model. An eventfd, pidfd, timerfd, sync_file, pipe or socket becomes *readable* once. A
 * timeline then gets a value from it, as an external signal (timeline.h). In the other direction, a
 * value of a timeline makes an eventfd readable, for an event loop or another library:
 *
 *      pidfd ---- tide_descriptor_signal ----> child 1 ---- operations wait
 *      frames 7 - tide_descriptor_export ----> eventfd ---- poll, epoll, io_uring
 *
 * One thread of the context polls all descriptors of tide_descriptor_signal. It starts with the
 * first one, sleeps while none is readable, and ends with the context. An export has no thread.
 *
 * Callbacks of the context run one after the other, and an export comes after those that are due
 * before it. So a callback must not wait for one.
 *
 * A tide_notifier (timeline.h) is for many values in a loop of the application, which runs their
 * calls. An export is for one value, and runs nothing.
 *
 * Threads: any thread may call both functions.
 *
 * Source: docs/architecture.md.
 */
#ifndef TIDEMARK_DESCRIPTOR_H
#define TIDEMARK_DESCRIPTOR_H

#include "tidemark/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Signals the value once the descriptor is readable. The library reads nothing from it; another
 * reader that empties it before that may prevent the signal. The context keeps a duplicate until
 * the signal, so the caller may close its own at once. The context also becomes an owner of the
 * timeline until then. Of two descriptors for one timeline, the higher value counts for both
 * once it is signalled.
 *
 * The value fails if the descriptor has an error, or hangs up without being readable (TIDE_IO; a
 * socket whose peer has closed it is readable), or if it is a sync_file with a failed fence
 * (TIDE_FAILED). Waiters for less fail with it, down to the next lower value that is reached,
 * pending, or expected from a descriptor.
 *
 * TIDE_INVALID: no timeline, one of another context, or no open descriptor; TIDE_UNSUPPORTED: the
 * descriptor cannot be polled, as that of a regular file; TIDE_SCOPE: hosts may not signal the
 * timeline; TIDE_DENIED: its values come from elsewhere; TIDE_FULL: no descriptors left;
 * TIDE_NOMEM; or another error of the system. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_descriptor_signal(struct tide_context *context, int descriptor, struct tide_timeline *timeline,
                       uint64_t value, struct tide_diag *diag);

/* Makes an eventfd that becomes and stays readable once the value is reached or has failed; the end
 * of the timeline or the context is a failure, too. The caller closes it, at any time; until the
 * value has ended, the library keeps a duplicate. TIDE_INVALID: no timeline; TIDE_SCOPE: narrower
 * than process; TIDE_FULL: no descriptors left; TIDE_NOMEM; or another error of the system. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_descriptor_export(struct tide_timeline *timeline,
                                                                 uint64_t value,
                                                                 int *out_descriptor,
                                                                 struct tide_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
