/* cluster/cluster_state.h: the private struct of a session. */
#ifndef TIDE_CLUSTER_CLUSTER_STATE_H
#define TIDE_CLUSTER_CLUSTER_STATE_H

#include "base/list.h"
#include "base/lock.h"
#include "base/tree.h"
#include "causal/context_state.h"
#include "causal/tracker.h"
#include "cluster/message.h"
#include "cluster/transport.h"

#define TIDE_CLUSTER_NAME 64u /* bytes of a member's name */

struct tide_follower;

struct tide_member {
  char name[TIDE_CLUSTER_NAME];
  uint64_t heard_at;  /* when a message of it came last; 0: none has */
  uint64_t sent_at;   /* when one was sent to it last */
  uint32_t in_flight; /* states and progresses sent to it, and not acknowledged */
  uint32_t taken;     /* those of it that were taken in, and not acknowledged to it */
  struct tide_follower *first_untold, **last_untold; /* untold subjects, in this order */
  uint32_t asks;                                     /* timelines of it that were asked for */
  uint32_t asked;                                    /* timelines that it has asked for */
  uint32_t asked_all; /* the same when it noted that this member is leaving */
  bool is_leaving;    /* it has said LEAVING: each message is acknowledged at once */
  bool is_to_note;    /* NOTED is owed to it */
  bool has_noted;
  bool has_left; /* it has said BYE */
  bool is_gone;  /* after that, its end of the transport has ended */
};

/* What members follow: a timeline of this member, or an axis. */
struct tide_subject {
  struct tide_link link;        /* cluster->subjects */
  struct tide_subject *changed; /* cluster->changed */
  uint32_t has_changed;         /* atomic: it is in that list, or about to be */
  bool is_axis;
  bool is_ignored; /* it has changed, and left that list without a follower */
  struct tide_cluster *cluster;
  struct tide_follower *followers;
};

struct tide_follower {
  struct tide_follower *next;        /* of the subject */
  struct tide_follower *next_untold; /* of the member, if is_untold */
  struct tide_subject *subject;
  uint64_t told;   /* promises of the timeline up to this value */
  uint32_t number; /* the member's number of the timeline */
  uint16_t rank;
  bool is_untold; /* it does not know the newest state */
};

/* A timeline of this member, or a name that is followed before the timeline is published. */
struct tide_home {
  struct tide_subject subject;
  struct tide_timeline *timeline; /* NULL: not published yet */
  struct tide_timeline_follow follow;
  uint64_t told, told_failed; /* the reached value, and the first failed one, told last */
  uint64_t told_ended; /* all receipts up to this value were said to be over: their memory may be
                          reused */
  struct tide_link untold;  /* struct tide_export: buffers that its values publish, and that their
                               readers have not been told of */
  struct tide_link exports; /* the others */
  struct tide_link parts;   /* of a collective: kinds that the parent has not been told */
  char name[TIDE_MESSAGE_NAME];
};

/* A mirror of another member's timeline. */
struct tide_followed {
  struct tide_tree_node node;  /* cluster->mirrors; key: its number */
  struct tide_tree_node named; /* cluster->mirrors_by_timeline; key: its timeline's address */
  struct tide_timeline *timeline;
  uint32_t home;
  bool has_come;             /* a state of it was taken in */
  uint64_t ended;            /* the operations that signal values up to this one are over */
  struct tide_link receipts; /* struct tide_export: its values say that these have been read */
  struct tide_tree imports;  /* struct tide_import, by value */
  uint64_t most_imports;     /* from how many on those that have been read are forgotten */
  struct tide_home *receipt; /* of the newest import; NULL: none has come */
  uint32_t receipt_number;   /* its home's number of that timeline */
  struct tide_cluster_collective *collective; /* whose arrivals of a child it has; NULL: none */
  struct tide_tree parts; /* kinds of parts that this member has not submitted yet, by instance */
  char name[TIDE_MESSAGE_NAME];
};

/* A buffer of this member that another one may read. Its pin keeps the memory. */
struct tide_export {
  struct tide_link link;         /* home->untold or home->exports */
  struct tide_link receipt_link; /* receipt->receipts */
  struct tide_buffer *buffer;
  struct tide_home *home;
  struct tide_followed *receipt;
  struct tide_message_export message;
};

/* A buffer of another member that this one may read. */
struct tide_import {
  struct tide_tree_node node; /* followed->imports; key: the value */
  struct tide_span span;
  struct tide_home *receipt;
  uint64_t receipt_value;
};

/* An axis of this member that others follow. `wait` awaits the epoch after the one told. */
struct tide_followed_axis {
  struct tide_subject subject;
  struct tide_tree_node node; /* cluster->axes; key: the axis */
  struct tide_finish_wait wait;
  uint32_t is_waiting; /* atomic: `wait` is queued, or about to fire */
  uint64_t told;       /* UINT64_MAX: it is closed */
};

/* An axis of another member, which some record lists. Its progress is followed once it has a
 * waiter.
 */
struct tide_far_axis {
  struct tide_tree_node node; /* cluster->far_axes; key: the axis */
  struct tide_teller teller;
  struct tide_cluster *cluster;
  struct tide_far_axis *next_wanted;
};

enum tide_cluster_phase {
  TIDE_CLUSTER_OPEN,
  TIDE_CLUSTER_LEAVING, /* tide_cluster_leave was called */
  TIDE_CLUSTER_SAID_BYE,
  TIDE_CLUSTER_OVER /* all have said BYE */
};

struct tide_cluster {
  struct tide_owned owned;
  struct tide_context *context;
  uint32_t rank, count;
  uint64_t tag;
  uint32_t window;
  uint64_t silence; /* ns; 0: a silent member is never lost */
  struct tide_transport transport;
  struct tide_subject *changed; /* atomic: a stack of subjects that have changed */
  struct tide_far_axis *wanted; /* atomic: a stack of axes that somebody waits for */
  uint32_t calls;               /* atomic: the nodes of axes that are firing */
  uint64_t told_at;             /* atomic: when a signalling thread told followers last */
  uint32_t news;                /* atomic, waited on: counts changes of phase, and the loss */
  struct tide_lock lock;        /* guards all that follows; taken before a guard */
  enum tide_cluster_phase phase;
  uint64_t watched_at, watched_from; /* see beat.c: the last look, and the first after a pause */
  bool is_lost;
  bool has_said_leaving;
  struct tide_failure failure;
  struct tide_member *members;
  struct tide_link subjects;
  struct tide_tree mirrors;
  struct tide_tree mirrors_by_timeline;
  struct tide_link collectives;
  struct tide_tree axes;        /* of this member, by axis */
  struct tide_tree far_axes;    /* of other members, by axis */
  uint32_t far_count, far_most; /* of far_axes; from how many on closed ones are asked for */
  uint32_t mirror_count;        /* also the number of the newest one */
  uint32_t asked;               /* the newest mirror for which FOLLOW was sent */
  struct tide_message_writer writer;
  struct tide_message message; /* the transport's thread alone */
};

static inline void tide_cluster_lock(struct tide_cluster *cluster) {
  tide_lock_take(&cluster->lock, cluster->context->platform);
}
static inline void tide_cluster_unlock(struct tide_cluster *cluster) {
  tide_lock_give(&cluster->lock);
}
static inline struct tide_home *tide_home_of(struct tide_subject *subject) {
  return TIDE_CONTAINER(subject, struct tide_home, subject);
}
static inline struct tide_followed_axis *tide_followed_axis_of(struct tide_subject *subject) {
  return TIDE_CONTAINER(subject, struct tide_followed_axis, subject);
}

/* Makes the session an object that its context destroys. */
void tide_cluster_own(struct tide_cluster *cluster);
/* Ends the session with this failure, if it is the first. `rank`: the lost member. */
void tide_cluster_fail(struct tide_cluster *cluster, uint32_t rank, const struct tide_failure *why);
/* Does so with the member's name and the reason. */
void tide_cluster_lose(struct tide_cluster *cluster, uint32_t rank, const char *reason);
/* Wakes the threads that wait for `news`. */
void tide_cluster_announce(struct tide_cluster *cluster);

/* Returns the failure of the unreached values of a member that has left. */
struct tide_failure tide_cluster_leave_of(const struct tide_cluster *cluster, uint32_t rank);
/* Begins to leave, and waits for nothing. */
void tide_cluster_begin_leave(struct tide_cluster *cluster);
/* Ends the session well if all members have said BYE. */
void tide_cluster_end_if_over(struct tide_cluster *cluster);

/* Tells followers of changes, or has the transport do so soon. */
void tide_cluster_tell_soon(struct tide_cluster *cluster);
/* Notes that the followers of a subject do not know its newest state. Any thread; no lock is
 * needed.
 */
bool tide_subject_note(struct tide_subject *subject);
/* Does so, and has the transport tell them. */
void tide_subject_change(struct tide_subject *subject);
void tide_subject_init(struct tide_subject *subject, struct tide_cluster *cluster, bool is_axis);

/* ---- with the lock held ---- */

/* True if a sink receives the session's events. */
static inline bool tide_cluster_traced(const struct tide_cluster *cluster) {
  return __builtin_expect(cluster->context->sink != NULL, 0);
}
/* Emit events, to the sink that there is: a state that the follower was sent; the news of a state
 * that has come, before the timeline takes it in; a lost member. */
void tide_cluster_trace_sent(const struct tide_cluster *cluster,
                             const struct tide_follower *follower);
void tide_cluster_trace_received(const struct tide_cluster *cluster,
                                 const struct tide_followed *followed,
                                 const struct tide_mirror_state *state);
void tide_cluster_trace_lost(const struct tide_cluster *cluster, uint32_t rank,
                             const struct tide_failure *why);

/* Finds the home of a name, or makes one that waits for its timeline. NULL: no memory. */
struct tide_home *tide_cluster_need_home(struct tide_cluster *cluster, const char *name);
/* Notes an axis that a record lists, so that a waiter for it has its progress followed. */
void tide_cluster_note_axis(struct tide_cluster *cluster, tide_axis axis, struct tide_fired *fired);
/* Asks for the progress of the axes that have waiters. */
void tide_cluster_ask_for_axes(struct tide_cluster *cluster);
/* Frees a noted axis. The stack of wanted axes must be empty. */
void tide_cluster_free_far_axis(struct tide_cluster *cluster, struct tide_far_axis *axis);
/* Notes that another member's axis is closed: all its epochs have finished. False: no memory. */
bool tide_cluster_close_axis(struct tide_cluster *cluster, tide_axis axis,
                             struct tide_fired *fired);
/* Appends a follower without the newest state to those that its member's window awaits. */
void tide_cluster_put_in_line(struct tide_cluster *cluster, struct tide_follower *follower);
/* Sends the message that the writer holds. */
void tide_cluster_send(struct tide_cluster *cluster, uint32_t to);
/* Returns the followed timeline of a mirror; NULL: it is not followed. */
struct tide_followed *tide_cluster_followed(const struct tide_cluster *cluster,
                                            const struct tide_timeline *timeline);
/* Returns the home of a timeline of this member; NULL: it is not published. */
struct tide_home *tide_cluster_home(struct tide_cluster *cluster, struct tide_timeline *timeline);
/* Returns the home that a member follows under its number; NULL: it follows none. */
struct tide_home *tide_cluster_home_followed(struct tide_cluster *cluster, uint32_t rank,
                                             uint32_t number);
/* Frees a followed timeline, with the exports and imports that hang on it. */
void tide_cluster_free_followed(struct tide_cluster *cluster, struct tide_followed *followed);

/* ---- export_buffer.c, with the lock held ---- */

/* Tells a follower of the buffers that the timeline publishes to it. */
void tide_cluster_tell_exports(struct tide_cluster *cluster, struct tide_home *home,
                               const struct tide_follower *follower);
/* Takes in an EXPORT. Returns why it cannot be; NULL: it was. */
const char *tide_cluster_take_export(struct tide_cluster *cluster, uint32_t from);
/* Notes that a member follows the timeline no more: under its next number it is told anew. */
void tide_cluster_untell_exports(struct tide_home *home, uint32_t rank);
/* Lets go of the buffers that have been read. `all`: the reader has left. */
void tide_cluster_end_receipts(struct tide_followed *followed, bool all);
/* Frees the exports of a home or a followed timeline. The memory stays out of use. */
void tide_cluster_free_exports(struct tide_home *home);
void tide_cluster_free_receipts(struct tide_followed *followed);
void tide_cluster_free_imports(struct tide_followed *followed);

/* ---- member_collective.c, with the lock held ---- */

/* Tells the parent of the kinds of parts. */
void tide_cluster_tell_parts(struct tide_cluster *cluster, struct tide_home *home,
                             const struct tide_follower *follower);
/* Takes in a PART. Returns why it cannot be; NULL: it was. */
const char *tide_cluster_take_part(struct tide_cluster *cluster, uint32_t from,
                                   struct tide_fired *fired);
/* Frees the collectives that their user left. Their queues are their devices'. */
void tide_cluster_free_collectives(struct tide_cluster *cluster);
void tide_cluster_free_untold_parts(struct tide_home *home);
void tide_cluster_free_parts(struct tide_followed *followed);

/* Frees an axis that awaits nothing, with its followers. */
void tide_cluster_free_axis(struct tide_cluster *cluster, struct tide_followed_axis *axis);
void tide_cluster_free_followers(struct tide_cluster *cluster, struct tide_subject *subject);

#endif
