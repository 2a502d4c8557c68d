/* tidemark/cluster.h: sessions, by which processes that trust each other share timelines.
 *
 * The model. The *members* of a session are fixed: `count` processes, with ranks from 0. Each joins
 * with a context of its own. A timeline has one *home*, the member that made it: the home publishes
 * it under a name, and alone signals it. Other members follow the name and get a timeline that
 * operations, hosts and wait sets use like any other:
 *
 *      rank 0                                         rank 1
 *      tide_cluster_join(context, …, &cluster)        tide_cluster_join(context, …, &cluster)
 *      tide_timeline_create(… TIDE_SCOPE_SYSTEM …)    tide_cluster_follow(cluster, 0, "loaded", …)
 *      tide_cluster_publish(cluster, "loaded", …)
 *      submit: signals loaded = 1                     submit: waits for loaded = 1
 *      tide_cluster_leave(cluster, …)                 tide_cluster_leave(cluster, …)
 *
 * A value crosses with its frontier, and already when an operation is submitted that will signal
 * it. So a member queues operations before the work of others is done, and drops the waits that
 * causality implies, without asking any process.
 *
 * The progress of a queue (tide_queue_progress) is published like a timeline. Its home leaves once
 * the queue's operations are over; a queue that ends before fails the values above.
 *
 * A follower hears of the newest state, not of each signal. The value may be late here; it is never
 * ahead. To signal or fail a followed timeline is TIDE_DENIED. A value that is not promised yet
 * waits for its home. A value that the home fails is failed here, with the home's first cause.
 *
 * Memory. A session carries no bytes. Members that map the same memory (a memfd) order its use by
 * values. A pool reuses memory by the uses of its own process alone: free a buffer that another
 * member reads behind an operation that waits for this member.
 *
 * The end. tide_cluster_leave waits until each member has heard of all, and has left as well.
 * Values that a member has not reached when it leaves fail with TIDE_CANCELLED at its followers.
 *
 * Loss. A process that ends without leaving is lost, and with it the session, for good: each other
 * member fails the unreached values of all followed timelines with TIDE_LOST, and a sentence that
 * names the lost process. Operations fail that need them; all others go on. To begin again is a new
 * session with new contexts. An operation that fails is no loss.
 *
 * Trust. The members are processes of one user, on one computer. They can hold each other up, and
 * lie about what they have done. For others, there is a service (service.h).
 *
 * Threads. Any thread may call all functions; but no call of a timepoint, no callback and no body
 * of the context may leave or destroy the session. Calls of timepoints that another member's signal
 * makes due run on a thread of the session: they must not block.
 *
 * Source: docs/processes.md; unix(7), pidfd_open(2). */
#ifndef TIDEMARK_CLUSTER_H
#define TIDEMARK_CLUSTER_H

#include "tidemark/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tide_cluster;

#define TIDE_CLUSTER_MEMBERS_MAX 64u /* of a session on one computer */
#define TIDE_CLUSTER_NAME_MAX 63u    /* bytes of a timeline's name */

struct tide_cluster_params {
  size_t struct_size;
  const char *path; /* of the Unix socket at which the members meet: rank 0 makes and removes it */
  uint32_t rank, count;
  const char *label; /* of this member, for messages: "reader" is "machine 1 (reader, pid 71)" */
  uint64_t deadline; /* for all members to come; 0: in a minute */
};

/* Joins a session: blocks until all members have come. It must precede every queue of the context,
 * since the rank becomes part of the axes. The context destroys the session if the caller does not.
 * - TIDE_TIMEOUT: the diag names the ranks that are missing, or says that rank 0 is
 * - TIDE_BUSY: the context already has queues or a session
 * - TIDE_DENIED: another user's process is there, or a member that does not fit (its count, its
 *   version of the library, a rank twice)
 * - TIDE_LOST: a member has ended while the others met
 * - TIDE_IO: the path cannot be used; for rank 0 also: another session meets there
 * - TIDE_INVALID, TIDE_NOMEM, TIDE_FULL: no descriptors are left */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_cluster_join(struct tide_context *context, const struct tide_cluster_params *params,
                  struct tide_cluster **out_cluster, struct tide_diag *diag);

/* Publishes a timeline of this context under a name, of 1 to 63 bytes: one of TIDE_SCOPE_SYSTEM, or
 * the progress of a queue. The session keeps its memory, and is no owner.
 * - TIDE_SCOPE: its scope is narrower
 * - TIDE_DENIED: its home is another member, or its values are a collective's, a point's or a
 *   semaphore's
 * - TIDE_BUSY: the name is taken, or the timeline has one
 * - TIDE_INVALID, TIDE_NOMEM */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cluster_publish(struct tide_cluster *cluster,
                                                               const char *name,
                                                               struct tide_timeline *timeline);
/* Follows a timeline of another member, which may publish it later. *out_timeline has an owner for
 * the caller. To follow it again gives the same one. Once the callers have released it and nothing
 * waits for it, its home is asked to tell no more.
 * - TIDE_INVALID: no such member, or its own rank, or no name
 * - TIDE_LOST: the session is lost
 * - TIDE_CANCELLED: this member or that one has left
 * - TIDE_NOMEM */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cluster_follow(struct tide_cluster *cluster,
                                                              uint32_t home, const char *name,
                                                              struct tide_timeline **out_timeline);

/* Leaves the session: blocks until the operations that others have heard of are over, and all
 * members have heard of all and have left. From its begin on, nothing new may be submitted that
 * others wait for. The session still needs tide_cluster_destroy.
 * - TIDE_LOST: the session is lost; tide_cluster_lost says why
 * - TIDE_TIMEOUT: the deadline has passed. The session is lost: its text names the member that was
 *   waited for */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cluster_leave(struct tide_cluster *cluster,
                                                             uint64_t deadline);
/* True once the session is lost: *out_failure (may be NULL) says which member, and why. */
TIDE_API bool tide_cluster_lost(struct tide_cluster *cluster, struct tide_failure *out_failure);
/* Describes, one per line: the loss, if there is one; the other members, how long they have been
 * silent, what they follow; their timelines with an awaited value. Writes at most `size` - 1 bytes;
 * returns the length of the whole text. */
TIDE_API size_t tide_cluster_diagnose(struct tide_cluster *cluster, char *buffer, size_t size);
/* Ends the session here; followed values that are not reached fail with TIDE_CANCELLED. For the
 * others this member is lost, unless it has left. NULL is fine. */
TIDE_API void tide_cluster_destroy(struct tide_cluster *cluster);

#ifdef __cplusplus
}
#endif

#endif
