/* cluster/cluster.h: a session between the contexts of several processes, its *members*.
 *
 * The model. The members of a session are fixed. Member r has the machine number r + 1 in its axes.
 * A timeline has one home: the member that promises and signals its values. Others *follow* it by
 * name and have a mirror of it (timeline/mirror.h), which operations wait for like any other
 * timeline. The home tells followers its state when it has changed: the newest one, not each of
 * them.
 *
 *        member 0                            member 1
 *        home "loaded"   ----- STATE ----->  mirror of "loaded" <- operations, hosts
 *        axes of 0       --- PROGRESS --->   tracker
 *
 * A receiver decides alone, from the frontiers of the records, whether work may be queued or a wait
 * elided. The axes that a record lists are followed, too: an operation that fails awaits them.
 *
 * Loss. A loss is final: the first verdict of any member wins. Under the session's lock, in
 * this order: the session falls silent (it sends nothing but LOST, and takes nothing in); the
 * mirrors fail with TIDE_LOST and the lost member's name; all others are told. Then the axes of
 * others are severed, and the waiters run. An operation that has failed is no loss.
 *
 * Transport. It carries whole messages, in any order, and may carry one twice; a message that does
 * not arrive is a loss. It says when a member is gone.
 *
 * Ownership. The session keeps the memory of home timelines and an owner of each mirror. It is
 * destroyed before its context.
 *
 * Threads. Any thread makes and follows timelines. One thread at a time, the transport's, calls
 * receive, publish and lose; the calls of timepoints that are due run on it. */
#ifndef TIDE_CLUSTER_CLUSTER_H
#define TIDE_CLUSTER_CLUSTER_H

#include "tidemark/timeline.h"

#define TIDE_MEMBERS_MOST 1024u

struct tide_cluster;

struct tide_transport {
  void *self;
  /* Sends a copy of the bytes to a member. Does not block. */
  void (*send)(void *self, uint32_t to, const void *bytes, size_t size);
  /* Has the transport's thread call tide_cluster_publish soon. Any thread; no lock is held. */
  void (*wake)(void *self);
};

struct tide_cluster_params {
  struct tide_context *context; /* its lease has the machine number rank + 1 */
  uint32_t rank, count;
  uint64_t tag; /* of the session, the same for all members */
  struct tide_transport transport;
  /* The names of the members for messages, such as "host b, pid 71"; copied. */
  const char *const *names;
};

/* Creates a session. TIDE_INVALID: a rank, a count or a machine number that does not fit;
 * TIDE_NOMEM. */
enum tide_status tide_cluster_create(const struct tide_cluster_params *params,
                                     struct tide_cluster **out_cluster);
/* Ends the session here: what has not been reached fails with TIDE_CANCELLED. NULL is fine. */
void tide_cluster_destroy(struct tide_cluster *cluster);

/* Makes a timeline of this context known by a name. TIDE_INVALID: no name, or of more than 63
 * bytes; TIDE_SCOPE: narrower than process; TIDE_DENIED: it is another member's; TIDE_BUSY: the
 * name, or the timeline, is taken; TIDE_NOMEM. */
enum tide_status tide_cluster_home(struct tide_cluster *cluster, const char *name,
                                   struct tide_timeline *timeline);
/* Follows a timeline of another member, which may make it later. *out_timeline has an owner for the
 * caller; following it again gives the same one. TIDE_INVALID: no such member, or no name;
 * TIDE_LOST: the session is lost; TIDE_NOMEM. */
enum tide_status tide_cluster_follow(struct tide_cluster *cluster, uint32_t home, const char *name,
                                     struct tide_timeline **out_timeline);

/* ---- the transport's thread ---- */

/* Takes in a message. One that breaks a rule is a loss of its sender; nothing is learned from it.
 */
void tide_cluster_receive(struct tide_cluster *cluster, uint32_t from, const void *bytes,
                          size_t size);
/* Tells followers what has changed since the last call. */
void tide_cluster_publish(struct tide_cluster *cluster);
/* The member is gone, for the reason in words ("end of file"). */
void tide_cluster_lose(struct tide_cluster *cluster, uint32_t rank, const char *reason);

/* True if the session is lost: *out_failure (may be NULL) says which member, and why. */
bool tide_cluster_lost(struct tide_cluster *cluster, struct tide_failure *out_failure);

#endif
