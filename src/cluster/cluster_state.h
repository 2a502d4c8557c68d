/* cluster/cluster_state.h: the private struct of a session. */
#ifndef TIDE_CLUSTER_CLUSTER_STATE_H
#define TIDE_CLUSTER_CLUSTER_STATE_H

#include "base/list.h"
#include "base/lock.h"
#include "base/tree.h"
#include "causal/context_state.h"
#include "causal/tracker.h"
#include "cluster/message.h"
#include "cluster/cluster.h"

#define TIDE_CLUSTER_NAME 64u /* bytes of a member's name */

/* A member that follows a timeline, or an axis. */
struct tide_follower {
  struct tide_link link;
  uint32_t rank;
  uint32_t number; /* its number of the timeline */
};

/* A timeline of this member, or a name that is followed before the timeline is made. */
struct tide_home {
  struct tide_link link; /* cluster->homes */
  struct tide_cluster *cluster;
  struct tide_timeline *timeline; /* NULL: not made yet */
  struct tide_timeline_follow follow;
  uint32_t dirty; /* atomic: it has changed since the followers were told */
  struct tide_link followers;
  char name[TIDE_MESSAGE_NAME];
};

/* A mirror of another member's timeline. */
struct tide_followed {
  struct tide_link link; /* cluster->mirrors */
  struct tide_timeline *timeline;
  uint32_t home, number;
  bool asked; /* FOLLOW was sent */
  char name[TIDE_MESSAGE_NAME];
};

/* An axis of this member that others follow. `wait` awaits the epoch after the one told. */
struct tide_followed_axis {
  struct tide_tree_node node; /* cluster->axes; key: the axis */
  struct tide_cluster *cluster;
  struct tide_finish_wait wait;
  uint32_t is_waiting; /* atomic: `wait` is queued, or about to fire */
  uint32_t dirty;      /* atomic: it has advanced since the followers were told */
  uint64_t told;
  struct tide_link followers;
};

struct tide_cluster {
  struct tide_context *context;
  uint32_t rank, count;
  uint64_t tag;
  struct tide_transport transport;
  char (*names)[TIDE_CLUSTER_NAME];
  struct tide_lock lock; /* guards all that follows, but for the atomics; taken before a guard */
  struct tide_link homes, mirrors;
  struct tide_tree axes;
  struct tide_tree far_axes; /* by axis: those of other members whose progress was asked for */
  uint32_t mirror_count;
  bool is_lost;
  struct tide_failure failure;
  uint32_t calls; /* atomic: the nodes of axes that are firing */
  struct tide_message_writer writer;
  struct tide_message message; /* the transport's thread alone */
};

static inline void tide_cluster_lock(struct tide_cluster *cluster) {
  tide_lock_take(&cluster->lock, cluster->context->platform);
}
static inline void tide_cluster_unlock(struct tide_cluster *cluster) {
  tide_lock_give(&cluster->lock);
}

/* Ends the session with this failure, if it is the first. `rank`: the lost member. */
void tide_cluster_fail(struct tide_cluster *cluster, uint32_t rank, const struct tide_failure *why);
/* Ends the waits for the progress of followed axes, and frees these and the far ones. */
void tide_cluster_end_axes(struct tide_cluster *cluster);

/* ---- with the lock held ---- */

/* Finds the home of a name, or makes one that waits for its timeline. NULL: no memory. */
struct tide_home *tide_cluster_need_home(struct tide_cluster *cluster, const char *name);
/* Asks for the progress of another member's axis, unless it has been asked for. */
void tide_cluster_follow_axis(struct tide_cluster *cluster, tide_axis axis);
void tide_cluster_free_followers(struct tide_cluster *cluster, struct tide_link *followers);

#endif
