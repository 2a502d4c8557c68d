/* cluster/transport.h: a session, for the transports below it. The public half is
 * tidemark/cluster.h.
 *
 * The model. Member r has the machine number r + 1 in its axes. The home of a timeline tells its
 * followers its state when that has changed: the newest one, not each of them.
 *
 *        member 0                            member 1
 *        home "loaded"   ----- STATE ----->  mirror of "loaded" <- operations, hosts
 *        axes of 0       --- PROGRESS --->   tracker
 *                        <----- ACK -------
 *
 * A receiver decides alone, from the frontiers of the records, whether work may be queued or a wait
 * elided. A reached record tells of the progress of all axes that it lists. Beyond that, the
 * progress of an axis is followed once something waits for it here, such as an operation that
 * fails.
 *
 * The window. So many states and progresses may be on their way to a member. Beyond that, what it
 * follows is only marked: the newest state goes when the member has acknowledged half a window. So
 * a member that stops takes no memory of others, and blocks nobody.
 *
 * The end. A member that is leaving says so, and the others note it, after all that they have asked
 * for until then. It says BYE when these requests have come, all that it told is acknowledged, and
 * no operation is unfinished that others follow, or that will signal a published timeline. It still
 * answers then. Once all have said BYE, nothing is unfinished anywhere.
 *
 * Loss. A loss is final: the first verdict of any member wins. Under the session's lock, in
 * this order: the session falls silent (it sends nothing but LOST, and takes nothing in); the
 * mirrors fail with TIDE_LOST and the lost member's name; all others are told, also the lost one,
 * if it lives. Then the axes of others are severed, and the waiters run. An operation that has
 * failed is no loss.
 *
 * Transport. It carries whole messages, each once, in any order, but for EXPORT, PART and UNFOLLOW,
 * which keep their places among the messages to their member; a message that does not arrive is a
 * loss. It says when a member is gone.
 *
 * Ownership. The session keeps the memory of home timelines and an owner of each mirror. It is
 * destroyed before its context.
 *
 * Threads. Any thread makes and follows timelines. One thread at a time, the transport's, calls
 * receive, tell and gone; the calls of timepoints that are due run on it. */
#ifndef TIDE_CLUSTER_TRANSPORT_H
#define TIDE_CLUSTER_TRANSPORT_H

#include "cluster/message.h"
#include "tidemark/cluster.h"

#define TIDE_MEMBERS_MOST 1024u
#define TIDE_CLUSTER_WINDOW 64u /* the usual one */

struct tide_transport {
  void *self;
  /* Sends a copy of the bytes to a member. Does not block. The session's lock is held. */
  void (*send)(void *self, uint32_t to, const void *bytes, size_t size);
  /* Has the transport's thread call tide_cluster_tell soon. Any thread, which may hold the
   * tracker's or the scheduler's lock: it takes none. */
  void (*wake)(void *self);
  /* True if bytes for a member are still here. Once they have gone the transport's thread calls
   * tide_cluster_tell. The session's lock is held. NULL: send keeps none. */
  bool (*has_unsent)(void *self, uint32_t to);
  /* Ends the transport: when it has returned, no call of the session is in progress or begins, and
   * send and wake do nothing. NULL: nothing is to be ended. */
  void (*end)(void *self);
  /* Frees the transport, after `end`. NULL: nothing is to be freed. */
  void (*free)(void *self);

  /* Memory that members read. NULL, and no function below is called: this transport has none. */
  const struct tide_memory_source *memory;
  /* Finds bytes in memory of the source. False: they are not in it. */
  bool (*find)(void *self, const void *data, size_t size, struct tide_span *out_span);
  /* Lets a member read the span's chunk, from a message on that is sent later. The session's lock
   * is held. */
  void (*share)(void *self, uint32_t to, const struct tide_span *span);
  /* True if the member has shared all bytes of the span. The session's lock is held. */
  bool (*has)(void *self, uint32_t from, const struct tide_span *span);
  /* Copies the span's bytes to `data`. No lock is held. TIDE_LOST: they are gone. */
  enum tide_status (*read)(void *self, uint32_t from, const struct tide_span *span, void *data);
};

struct tide_cluster_setup {
  struct tide_context *context; /* its lease has the machine number rank + 1 */
  uint32_t rank, count;
  uint64_t tag;     /* of the session, the same for all members */
  uint32_t window;  /* the same for all members, at least 2 */
  uint64_t silence; /* ns after which a silent neighbour is lost; 0: never */
  struct tide_transport transport;
  /* The names of the members for messages, such as "host b, pid 71"; copied. */
  const char *const *names;
};

/* Creates a session. TIDE_INVALID: a rank, a count or a machine number that does not fit;
 * TIDE_NOMEM: the transport stays the caller's. */
enum tide_status tide_cluster_create(const struct tide_cluster_setup *setup,
                                     struct tide_cluster **out_cluster);

/* ---- the transport's thread ---- */

/* Takes in a message. One that breaks a rule is a loss of its sender; nothing is learned from it.
 */
void tide_cluster_receive(struct tide_cluster *cluster, uint32_t from, const void *bytes,
                          size_t size);
/* Tells followers of the changes since the last call. */
void tide_cluster_tell(struct tide_cluster *cluster);
/* Sends beats, and ends the session if a neighbour has been silent for too long. Called at each
 * period, after all messages that have arrived were taken in. */
void tide_cluster_beat(struct tide_cluster *cluster);
/* Returns the period in ns; 0: silence is not judged. */
uint64_t tide_cluster_beat_period(const struct tide_cluster *cluster);
/* The member is gone, for the reason in words ("end of file"): a loss, unless it has left. */
void tide_cluster_gone(struct tide_cluster *cluster, uint32_t rank, const char *reason);

#endif
