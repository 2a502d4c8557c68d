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
 * Memory. Buffers of a pool whose source is tide_cluster_memory can be read by other members. Their
 * owner exports a buffer before the value that publishes it, and names a *receipt*: a value that
 * the reader signals once it has read.
 *
 *      rank 0                                    rank 1
 *      tide_queue_alloc(queue, …, &frame)
 *      tide_cluster_export(…, frame, loaded, 1,
 *                          read, 1)
 *      submit: writes frame, signals loaded = 1  submit: waits for loaded = 1, signals read = 1;
 *      tide_queue_free(queue, frame)                     its body calls tide_cluster_read
 *
 * The free is complete, and the memory can be reused, once all receipts of the buffer are over:
 * reached, or failed with all operations finished that were to signal them. A receipt that is over
 * stays so: an operation that failed to read does not read again. A reader submits its operations
 * in the order of their receipts. After a loss the memory of open receipts is *quarantined*: its
 * pool never reuses it, since a reader that has not heard of the loss may still read.
 *
 * Members may also map the same memory by themselves (a memfd), and order its use by values. A pool
 * knows nothing of such readers: free the buffer behind an operation that waits for them.
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

#include "tidemark/memory.h"
#include "tidemark/queue.h"
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
  uint64_t silence;  /* ns, the same for all: a member that says nothing for so long, since it was
                        stopped, is lost. The library's thread speaks, whatever the program does. At
                        least 20 ms; 0: never */
};

/* Joins a session: blocks until all members have come. It must precede every queue of the context,
 * since the rank becomes part of the axes. The context destroys the session if the caller does not.
 * - TIDE_TIMEOUT: the diag names the ranks that are missing, or says that rank 0 is
 * - TIDE_BUSY: the context already has queues or a session
 * - TIDE_DENIED: another user's process is there, or a member that does not fit (its count, its
 *   silence, its version of the library, a rank twice)
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
 * waits for it, its home is asked to tell no more. A home that has left
 * still tells what it has reached, until all leave.
 * - TIDE_INVALID: no such member, or its own rank, or no name
 * - TIDE_LOST: the session is lost
 * - TIDE_CANCELLED: this member leaves, or that one is gone
 * - TIDE_NOMEM */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cluster_follow(struct tide_cluster *cluster,
                                                              uint32_t home, const char *name,
                                                              struct tide_timeline **out_timeline);

/* Returns the source of memory that other members may read, for the params of a pool. Each chunk is
 * a memfd, whose descriptor stays open, and which a member maps with the first export that needs
 * it. Without a free descriptor the pool gets no memory. The source lives as long as the context.
 * It has no more memory once the session is destroyed. */
TIDE_API const struct tide_memory_source *tide_cluster_memory(struct tide_cluster *cluster);

/* Lets the home of `receipt` read the buffer once `timeline` has reached `value`, and until
 * `receipt` has reached `receipt_value`. The caller owns the buffer, and frees it as soon as it
 * likes. The values of a timeline's exports go up for each reader: one value is one buffer.
 * - TIDE_INVALID: the buffer is freed, or not of tide_cluster_memory; the timeline is not published
 *   here; the receipt is not followed, a value is 0
 * - TIDE_BUSY: the value is reached, or not above that of an earlier export to this reader
 * - TIDE_LOST: the session is lost. TIDE_CANCELLED: this member or the reader has left
 * - TIDE_NOMEM */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_cluster_export(struct tide_cluster *cluster, struct tide_buffer *buffer,
                    struct tide_timeline *timeline, uint64_t value, struct tide_timeline *receipt,
                    uint64_t receipt_value);
/* Copies `size` bytes, from `offset` on, of the buffer that a value of a followed timeline
 * publishes. For the body of an operation that waits for the value and signals the receipt; a body
 * may read several times.
 * - TIDE_NOT_FOUND: the value publishes no buffer to this member
 * - TIDE_INVALID: the timeline is not followed, its value is not reached, the receipt is over, or
 *   the bytes exceed the buffer
 * - TIDE_LOST, TIDE_CANCELLED: the session is lost, or this member has left it, before the copy or
 *   while it was made */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cluster_read(struct tide_cluster *cluster,
                                                            struct tide_timeline *timeline,
                                                            uint64_t value, uint64_t offset,
                                                            void *data, size_t size);

/* ---- collectives ------------------------------------------------------------------ */

/* Members do one thing together, one queue of each: like tide_collective_create for the queues of
 * one context. The parts of an instance start when all have arrived; no worker is held meanwhile.
 * The progress timeline reaches n when every part of instance n has finished, at all members. The
 * parts go up and down a tree, as states of timelines: a collective orders, and moves no bytes.
 * Parts of two collectives in crossed orders wait for one another for ever: no member sees the
 * whole of them, so none is refused.
 *
 * A part whose waits fail does not arrive, and no part of its instance and of all later ones
 * starts. A part whose body fails fails the progress timeline, from its instance on, at all
 * members; parts of later instances start, if they do not wait for it. Both carry the first cause.
 * To go on after a failure, create another collective under another name. */
struct tide_cluster_collective;
struct tide_cluster_collective_params {
  size_t struct_size;
  const char *name; /* 1 to 40 bytes, the same for all its members, used once in a session */
  struct tide_queue *queue; /* of this member: its parts run there */
  const uint32_t *ranks;    /* its members, in the same order everywhere; NULL: the whole session */
  uint32_t rank_count;
  uint32_t depth; /* most instances that are submitted and not over, at most 65536; 0: 64 */
  uint32_t radix; /* of the tree, the same for all its members, at most 16; 0: 16 */
};

/* Creates this member's side of a collective, which may be the first or the last one. It ends with
 * the session, or is destroyed before its queue's device and before the session.
 * - TIDE_INVALID: no name, no queue of the session's context, a rank that is no member, twice, or
 *   without this member's, a radix or a depth above the most
 * - TIDE_BUSY: the name was used before
 * - TIDE_LOST, TIDE_CANCELLED: as from tide_cluster_follow
 * - TIDE_NOMEM */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_cluster_collective_create(struct tide_cluster *cluster,
                               const struct tide_cluster_collective_params *params,
                               struct tide_cluster_collective **out_collective);
/* Destroys this member's side. Its parts run on; instances that are not over fail at all members.
 * NULL is fine. */
TIDE_API void tide_cluster_collective_destroy(struct tide_cluster_collective *collective);
/* Returns the timeline of the finished instances, which finish in order. Lives as long as the
 * collective. */
TIDE_API struct tide_timeline *
tide_cluster_collective_progress(struct tide_cluster_collective *collective);
/* Submits this member's part of the next instance, as two operations of its queue: one arrives, the
 * other one runs. *out_instance (may be NULL) is the value that the progress timeline will reach.
 * - TIDE_FULL: `depth` instances are not over, or the queue is full
 * - TIDE_DEADLOCK, TIDE_UNORDERED: as from tide_queue_submit_all. If the first operation was
 *   accepted, the instance fails at all members
 * - other statuses of tide_queue_submit: nothing has changed
 * TIDE_MISMATCH is the status of an instance to which members submitted different `kind`s, any
 * number that describes the operation. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_cluster_collective_submit(struct tide_cluster_collective *collective, uint64_t kind,
                               const struct tide_operation *part, uint64_t *out_instance,
                               struct tide_diag *diag);

/* ---- the end ---------------------------------------------------------------------- */

/* Leaves the session: blocks until the operations that others have heard of are over, all receipts
 * of exported buffers are, and all members have heard of all and have left. From its begin on,
 * nothing new may be submitted that others wait for, and receipts of this member that no operation
 * is to signal are over. The session still needs tide_cluster_destroy.
 * - TIDE_LOST: the session is lost; tide_cluster_lost says why
 * - TIDE_TIMEOUT: the deadline has passed. The session is lost: its text names the member that was
 *   waited for */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cluster_leave(struct tide_cluster *cluster,
                                                             uint64_t deadline);
/* True once the session is lost: *out_failure (may be NULL) says which member, and why. */
TIDE_API bool tide_cluster_lost(struct tide_cluster *cluster, struct tide_failure *out_failure);
/* Describes, one per line: the loss, if there is one; each other member, how long it has been
 * silent, and how many states it has not acknowledged; its timelines that are followed here, with
 * the smallest awaited value; the timelines of this member that it follows. Writes at most `size` -
 * 1 bytes; returns the length of the whole text. */
TIDE_API size_t tide_cluster_diagnose(struct tide_cluster *cluster, char *buffer, size_t size);
/* Ends the session here; followed values that are not reached fail with TIDE_CANCELLED. For the
 * others this member is lost, unless it has left. No thread or body may be in a call of the
 * session, such as tide_cluster_read, or call it later: after a loss, wait for the operations that
 * do, or leave the session to its context, which waits for them. NULL is fine. */
TIDE_API void tide_cluster_destroy(struct tide_cluster *cluster);

#ifdef __cplusplus
}
#endif

#endif
