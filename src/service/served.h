/* service/served.h: the service's internal structures.
 *
 * One thread, the serving thread, takes commands out of rings, a few of each client per round, and
 * handles the sockets. An end on another thread (of a body, at a deadline) reaches clients in two
 * ways: publish.c stores the value into shared memory on that thread, and waits.c puts an awaited
 * answer on a list that the serving thread works off.
 *
 * No client can block that thread: sends do not block, and each answer has its entry in the
 * outgoing queue reserved from the command on. */
#ifndef TIDE_SERVICE_SERVED_H
#define TIDE_SERVICE_SERVED_H

#include "base/check.h"
#include "base/list.h"
#include "base/lock.h"
#include "point/point_state.h"
#include "service/command_ring.h"
#include "service/peer_process.h"
#include "service/socket.h"
#include "service/system.h"
#include "service/user.h"
#include "service/values.h"
#include "tidemark/cpu.h"
#include "tidemark/file.h"
#include "tidemark/service.h"

struct epoll_event;
struct tide_served;
struct tide_store;

/* ---- publish.c: the values that a client's timelines show ---- */

struct tide_published;

/* A slot of a client's shared memory. */
struct tide_publication {
  struct tide_node wake;
  struct tide_published *owner;
  uint32_t pending;  /* a wake of the slot's readers is under way */
  uint32_t busy;     /* atomic; the slot's timeline or channel may still end values */
  uint32_t capacity; /* of the slot's future timeline; guarded by the points' lock */
};
/* A client's shared memory. Freed when the client has ended and all that it queued is over. */
struct tide_published {
  struct tide_service *service;
  struct tide_mapping mapping;
  struct tide_values values;
  uint32_t references, count;
  uint32_t promises; /* atomic; the capacities of its future timelines that may still end values */
  uint64_t owner;
  struct tide_link link;
  struct tide_publication places[];
};
enum tide_status tide_published_create(struct tide_service *service, uint64_t owner,
                                       uint32_t places, struct tide_published **out_published);
void tide_published_release(struct tide_published *published);
/* Publishes the timeline at this slot from now on; none of its values has ended yet, and values up
 * to `newest` are promised. `capacity`: a future timeline's, counted in `promises`; else 0. */
void tide_publish(struct tide_published *published, uint32_t place, uint32_t generation,
                  struct tide_point base, uint64_t newest, uint32_t capacity);
/* Shows all values as broken at the slot of a timeline that was never made. */
void tide_publish_refused(struct tide_published *published, uint32_t place, uint32_t generation,
                          enum tide_status cause);
/* Publishes a change of the domain's points: the observer of the points, called under their
 * lock. */
void tide_publish_observe(void *user, const struct tide_observed *what, struct tide_fired *fired);
/* Fails the values of all clients with `status`: the service ends. */
void tide_published_fail_all(struct tide_service *service, enum tide_status status);

/* ---- tombstones.c: what a held timeline's values were ---- */

struct tide_entry;
struct tide_tombstone;

/* Counts the client as a holder of the owner's timeline until tide_tombstone_release, and charges
 * it for the tombstone. TIDE_FULL: its quota of promises; TIDE_NOMEM. */
enum tide_status tide_tombstone_hold(struct tide_served *holder, const struct tide_entry *owned,
                                     struct tide_tombstone **out_tombstone);
/* `base` names the timeline, which may be gone. */
void tide_tombstone_release(struct tide_served *holder, struct tide_tombstone *tombstone,
                            struct tide_point base);
/* Fills the tombstone of a timeline, if it has one: its name is about to go. Under the points'
 * lock. */
void tide_tombstone_fill(struct tide_service *service, uint32_t slot);
/* Returns the point itself while its timeline exists, else one of the service's own with the same
 * result. The answer holds until tide_tombstones_settle: a timeline that ends meanwhile keeps its
 * name, so that all steps of a command see the same. */
struct tide_point tide_tombstone_point(struct tide_service *service,
                                       const struct tide_tombstone *tombstone,
                                       struct tide_point point);
/* Returns the promises that its quota leaves the client, beside the capacities of its own
 * timelines, destroyed ones with queued points included, and of those that it holds. */
uint32_t tide_promises_left(const struct tide_served *client);
/* Called at the end of each command. */
void tide_tombstones_settle(struct tide_service *service);

/* ---- the table of a client's names ---- */

enum tide_entry_kind {
  TIDE_ENTRY_FREE,
  TIDE_ENTRY_FUTURE,
  TIDE_ENTRY_COMPOUND,
  TIDE_ENTRY_FOREIGN, /* another client's timeline */
  TIDE_ENTRY_REFUSED, /* a compound or stand-in that could not be made: see refuse.c */
  TIDE_ENTRY_CHANNEL,
  TIDE_ENTRY_BUFFER
};
struct tide_entry {
  uint8_t kind;
  bool writable;   /* the buffer may be written; a foreign timeline's owner is trusted */
  bool made;       /* a buffer that this client made: charged to it until the buffer is freed */
  uint8_t refused; /* the status of a REFUSED entry; else 0 */
  uint32_t generation;
  struct tide_point base;  /* a timeline's point at its initial value */
  void *object;            /* a tide_future, tide_line or tide_store; FOREIGN: a tide_tombstone */
  uint64_t owner;          /* the number of the client that owns a buffer or foreign timeline */
  struct tide_link grants; /* the tokens for this entry */
};

/* ---- tokens.c ---- */

struct tide_grant {
  struct tide_grant *next; /* the next grant of its bucket */
  struct tide_link link;   /* links the entry's grants */
  struct tide_served *client;
  struct tide_entry *entry;
  bool writable;
  struct tide_token token;
};
#define TIDE_GRANT_BUCKETS 1024u

enum tide_status tide_grant_create(struct tide_served *client, struct tide_entry *entry,
                                   bool writable, struct tide_token *out_token);
/* Returns NULL if no grant has this token. */
struct tide_grant *tide_grant_find(struct tide_service *service, const struct tide_token *token);
/* Frees all grants of an entry. */
void tide_grants_drop(struct tide_entry *entry);

/* ---- waits.c ---- */

struct tide_pending {
  struct tide_pending *next; /* the next finished wait */
  struct tide_service *service;
  struct tide_served *client; /* NULL: the client has ended */
  uint32_t answer;
  uint32_t status;
  bool schedulable;
  struct tide_wire_name makes;    /* the buffer that the command makes; 0: none */
  struct tide_wire_point host;    /* the point to fulfil after the send; 0: none */
  struct tide_wire_point awaited; /* for an admin to read; 0: none */
  union {
    struct tide_timepoint complete;
    struct tide_schedulable scheduled;
  };
};
/* Reserves a wait for this answer. TIDE_BUSY: the number is in use; TIDE_NOMEM. */
enum tide_status tide_pending_begin(struct tide_served *client, uint32_t answer,
                                    struct tide_pending **out_pending);
/* Frees a wait that never started, or was cancelled. */
void tide_pending_drop(struct tide_pending *pending);
void tide_pending_complete(struct tide_timepoint *timepoint, enum tide_status status);
void tide_pending_scheduled(struct tide_schedulable *wait, enum tide_status status);
/* Cancels the wait for this answer. True if the wait will not send the answer. */
bool tide_pending_forget(struct tide_served *client, uint32_t answer);
void tide_pending_forget_all(struct tide_served *client);
/* Sends the answers of all finished waits. On the serving thread. */
void tide_pending_deliver(struct tide_service *service);

/* ---- hello.c: connections until their hello ---- */

/* Admits a connection, or sends the reason and closes it. Takes the descriptor. */
void tide_served_accept(struct tide_service *service, int socket);
/* Sends the reason and closes the connection. Takes the descriptor. */
void tide_served_turn_away(struct tide_service *service, int socket, enum tide_status status);
/* Reads the hello: the connection becomes a client, waits for capacity, or ends. False: no hello
 * has come yet. */
bool tide_hello_hear(struct tide_served *client);
/* Welcomes the clients that wait for capacity, as far as leaving clients have freed some. */
void tide_hellos_welcome(struct tide_service *service);
/* Ends each connection without a hello at its deadline. Returns the next deadline. */
uint64_t tide_hellos_expire(struct tide_service *service);

/* ---- served.c: one client ---- */

struct tide_outgoing {
  struct tide_wire_message message;
  int descriptor; /* -1: none; closed once the message was sent */
  /* The buffer to send, opened at the send, so that a queued message holds no descriptor. `host` is
   * fulfilled after the send. */
  struct tide_wire_name buffer;
  struct tide_wire_point host;
};

struct tide_served {
  struct tide_service *service;
  struct tide_link link;   /* links one of the service's lists of connections */
  struct tide_link active; /* links the service's active, woken or paced clients */
  int socket, bell;
  int process; /* readable once the peer has ended; -1: not watched */
  uint64_t number;
  uint32_t uid, pid;
  uint64_t accepted; /* as in struct tide_peer */
  struct tide_user *user;
  bool is_welcome;
  bool is_ended;                   /* only its memory is left: an event of this batch may name it */
  struct tide_policy_rule rule[1]; /* a copy: a new policy is for others */
  struct tide_wire_limits limits;
  char label[TIDE_WIRE_LABEL];
  uint64_t hello_before;      /* the deadline for the hello; 0: the hello has come */
  struct tide_client *client; /* the client of the points' domain; NULL before the welcome */
  struct tide_mapping ring_memory;
  struct tide_ring ring;
  struct tide_published *published;
  struct tide_entry *entries;     /* limits.handles of them; entry 0 is unused */
  struct tide_pending **pendings; /* limits.waits of them */
  uint32_t pending_count;
  struct tide_outgoing *outgoing; /* a circular queue: first .. first + count */
  uint32_t outgoing_capacity, outgoing_first, outgoing_count;
  uint32_t outgoing_descriptors;        /* descriptors among these messages */
  bool flooded;                         /* epoll reports when the socket has space again */
  uint32_t timelines, channels, grants; /* in use */
  uint32_t buffers;
  uint32_t held; /* the capacities of all held timelines together */
  uint64_t bytes;
  uint32_t wrong_tokens;
  struct tide_link lines;  /* channels */
  struct tide_link stores; /* buffers that it made and that are not freed */
  uint64_t sequence, refused, dropped;
  uint64_t spent;       /* ns of the serving thread's time */
  int64_t credit;       /* ns that it may still use; below 0: it used too much */
  uint64_t given;       /* the service's `given` when `credit` was computed */
  uint64_t rounds;      /* rounds in which its ring was read */
  uint64_t paced_until; /* no read of its ring until then; 0: not paced */
  uint64_t paced;       /* the number of pauses */
  bool is_leaving;      /* the peer has hung up; the rest of the ring is still read */
  uint64_t leave_at;    /* the count of cells at which the reads end, */
  uint64_t leave_by;    /* and the time, if its uid is paced */
};

/* Handles events of the client's socket. */
void tide_served_hear(struct tide_served *client, bool hung_up, bool readable, bool writable);
/* Handles the bell's event: the client is active from the next round on. */
void tide_served_wake(struct tide_served *client);
/* Starts a round. */
void tide_served_begin_round(struct tide_service *service);
/* Executes the client's share of commands. May end the client. */
void tide_served_round(struct tide_served *client);
/* Tells the client that the service ends its connection. To be followed by tide_served_end. */
void tide_served_hang_up(struct tide_served *client, enum tide_status cause);
/* Ends the connection. The structure stays until tide_served_free_ended. */
void tide_served_end(struct tide_served *client, enum tide_status cause);
/* Frees the structures of ended clients: no event that names them is left. */
void tide_served_free_ended(struct tide_service *service);
/* The lowest bits of the data of an epoll event say which of the client's descriptors is meant. */
#define TIDE_EVENT_BELL 1u
#define TIDE_EVENT_PROCESS 2u
#define TIDE_EVENT_BITS 3u
/* Returns the epoll event for the client's bell. */
struct epoll_event tide_served_bell_event(const struct tide_served *client);
/* Watches the peer's process. Its end is that of the client, even if other processes still hold the
 * socket. TIDE_LOST: the process has ended; TIDE_FULL: no descriptors left; TIDE_NOMEM. */
TIDE_MUST_CHECK enum tide_status tide_served_watch(struct tide_served *client);
void tide_served_unwatch(struct tide_served *client);
/* Appends a message to the outgoing queue; takes the descriptor (-1: none). */
void tide_served_send(struct tide_served *client, const struct tide_wire_message *message,
                      int descriptor);

/* Appends an answer that carries a buffer. */
void tide_served_send_buffer(struct tide_served *client, const struct tide_wire_message *message,
                             struct tide_wire_name buffer, struct tide_wire_point host);

/* ---- leave.c: clients with a hung-up peer, or one that has ended ---- */

/* Handles the hang-up of the peer: the rest of the ring is still read. May end the client. */
void tide_leave_begin(struct tide_served *client);
/* True if the client is leaving and its ring was read. */
bool tide_leave_is_drained(const struct tide_served *client);
/* Ends the client, unless this round's time for ends is used up: an end takes the longer the more
 * the client had. */
void tide_leave_end_in_time(struct tide_served *client);
/* Uncounts a leaving client that ends. The client is in no list any more. */
void tide_leave_end(struct tide_served *client);
/* Makes the next of the user's leaving clients active. To be called when one more client may be
 * active, or an active one may be so no longer. */
void tide_leave_choose(struct tide_service *service, struct tide_user *user);
/* Starts leaving for clients with a hang-up that epoll has not reported yet: of the user, or (NULL)
 * of all. */
void tide_leave_look(struct tide_service *service, const struct tide_user *user);
/* Lets a leaving client go on that is not paced, or not any more. */
void tide_leave_go_on(struct tide_served *client);
/* Makes capacity for one more client beside the leaving ones. False: none can be freed now. */
bool tide_leave_make_room(struct tide_service *service, const struct tide_user *user);

/* ---- pace.c: clients that are refused too often ---- */

/* Charges a refused command to the client's uid. May pause the reads of the ring: `paced_until`. */
void tide_pace_charge(struct tide_served *client, const struct tide_wire_view *view,
                      enum tide_status status);
/* Bounds the pause of a leaving client: the pause ends at `leave_by`. */
void tide_pace_leave(struct tide_served *client);
/* Makes paced clients active again at the end of their pauses. */
void tide_pace_resume(struct tide_service *service);

/* ---- client_commands.c: one command ---- */

/* Executes one command and fills *answer. *out_later: the answer comes later. *out_descriptor: to
 * be sent with the answer; -1: none. */
enum tide_status tide_call(struct tide_served *client, const struct tide_wire_view *view,
                           struct tide_wire_message *answer, int *out_descriptor, bool *out_later);
/* Returns NULL if there is no such name, or one of another kind (FREE: any kind). */
struct tide_entry *tide_entry_find(struct tide_served *client, struct tide_wire_name name,
                                   enum tide_entry_kind kind);
/* Finds the free entry for a name that the client has chosen. TIDE_NOT_FOUND: no such handle;
 * TIDE_BUSY: the entry is in use, or the generation is not new. */
enum tide_status tide_entry_claim(struct tide_served *client, struct tide_wire_name name,
                                  struct tide_entry **out_entry);
/* Finds the point of a name; a refused name's is broken with the refusal's status.
 * TIDE_NOT_FOUND. */
enum tide_status tide_entry_point(struct tide_served *client, struct tide_wire_point point,
                                  struct tide_point *out_point);
void tide_entry_free(struct tide_served *client, struct tide_entry *entry);

/* ---- refuse.c: the points of a refused command ---- */

/* The service's own points, which have ended: one for each status. They stand for refused names,
 * and for points of timelines that are gone. */
#define TIDE_ENDED_POINTS TIDE_STATUS_COUNT
enum tide_status tide_ended_points_create(struct tide_service *service);
/* Returns the number of timelines that clients may have, leaving clients included. */
uint32_t tide_timelines_of_clients(const struct tide_service *service);
/* Breaks the points that the command was to make or to keep. */
void tide_refuse(struct tide_served *client, const struct tide_wire_view *view,
                 enum tide_status status);
/* Breaks one promise. */
void tide_refuse_point(struct tide_served *client, const struct tide_wire_point *point,
                       enum tide_status cause);
/* Returns the status, or TIDE_INVALID for those that mean "not yet": a point broken with one of
 * them would look pending. */
enum tide_status tide_refusal_cause(enum tide_status status);

/* ---- policy_change.c ---- */

/* The capacity for the quotas of all clients, and of those that leave. */
struct tide_policy_room {
  uint32_t timelines, parts, spare_parts;
};
struct tide_policy_room tide_policy_room(const struct tide_policy *policy);
/* Follows the newest policy that tide_service_set_policy has left. On the serving thread. */
void tide_policy_follow(struct tide_service *service);
/* Frees a policy that is not followed any more: the service ends. */
void tide_policy_forget_next(struct tide_service *service);

/* ---- trim.c ---- */

/* Notes that memory was freed. */
void tide_trim_note(struct tide_service *service);
/* Gives freed memory back to the system, if it is time. The serving thread has nothing else to
 * do. */
void tide_trim_if_due(struct tide_service *service);

/* ---- drain.c: the end in order ---- */

/* Returns TIDE_BUSY while the service goes on; TIDE_OK: it was to be drained, and all is done;
 * TIDE_TIMEOUT: the time for that is over. */
TIDE_MUST_CHECK enum tide_status tide_drain_look(struct tide_service *service);
/* True if the command makes something new that a service which is drained does not take. */
bool tide_drain_refuses(const struct tide_service *service, uint16_t op);

/* ---- the service ---- */

struct tide_place_of {
  struct tide_published *published;
  uint32_t place;
  struct tide_tombstone *tombstone; /* NULL: no client holds the timeline */
};

struct tide_service {
  struct tide_service_params params;
  char *path;
  struct tide_policy policy;
  struct tide_policy *next_policy; /* atomic; to be followed from the next round on; NULL: none */
  struct tide_context *context;
  struct tide_device *device;
  struct tide_points *points;
  struct tide_client *self;                     /* the owner of the ended points */
  struct tide_point results[TIDE_ENDED_POINTS]; /* by status */
  struct tide_endpoint endpoint;                /* while `listener` is open */
  int listener, epoll, bell;
  int spare;            /* a descriptor to accept with when all others are in use */
  int buffers_most;     /* buffers get descriptors below this number only */
  uint64_t share;       /* ns of each client in this round */
  uint64_t given;       /* the shares of all rounds so far, added up */
  uint64_t served_last; /* the number of active clients in the last round */
  uint64_t served;      /* tries to read a ring in this round */
  uint64_t ends_until;  /* no client ends in this round after that time */
  uint32_t idle_rounds; /* consecutive rounds in which all clients had used too much before */
  uint64_t seen_wall, seen_own; /* the wall clock and the thread's own time when last compared */
  uint64_t admission_end; /* the last time at which this batch of events may admit connections */
  char *diagnosis;        /* the text whose pieces a client is reading; NULL: none */
  size_t diagnosis_length;
  uint64_t diagnosis_for;    /* the client's number */
  uint32_t late_hellos;      /* connections without a hello in this batch, handled or put off */
  uint64_t reaped;           /* the time of the last reap of closing channels */
  uint64_t trim_at;          /* the time to give freed memory back; TIDE_FOREVER: none was freed */
  uint64_t trim_next;        /* not before this time */
  uint32_t asleep, stopping; /* atomic */
  bool over;                 /* the values show the service's end; guarded by the points' lock */
  bool has_pinned;           /* this command has looked up a held timeline: its name stays */
  uint64_t drain_by;         /* atomic; the end of the time for the rest; 0: it is not drained */
  bool is_draining;          /* the path is given up, and promises are refused */
  uint32_t done_looks;       /* looks in a row that found everything done */
  uint64_t clients_ever;
  uint32_t client_count, hello_count;
  struct tide_link hellos;                   /* connections without a hello, the oldest first */
  struct tide_link waiting;                  /* connections with a hello that wait for capacity */
  struct tide_link clients;                  /* welcomed clients */
  struct tide_link leaving;                  /* clients with a hung-up peer, the oldest first */
  uint32_t leaving_timelines, leaving_parts; /* the quotas of the leaving clients */
  uint32_t spare_parts;                      /* parts beyond the quotas of connected clients */
  struct tide_link ended;                    /* clients that ended and are still to be freed */
  struct tide_link users;
  struct tide_link active, paced, published;
  struct tide_link woken; /* clients woken since the last round: the first of the next one */
  uint64_t paced_next;    /* the earliest end of a pause; TIDE_FOREVER: none */
  struct tide_lock finished_lock;
  struct tide_pending *finished, **last_finished;
  struct tide_place_of *places; /* by timeline slot; guarded by the points' lock */
  struct tide_grant *grants[TIDE_GRANT_BUCKETS];
  struct tide_link closing; /* channels that their clients have destroyed or left behind */
  uint32_t closing_count;
  struct tide_store *dead_stores; /* atomic */
  uint64_t orphan_bytes;          /* bytes of buffers that outlive their makers */
};

/* Wakes the serving thread. Any thread may call it. */
void tide_service_kick(struct tide_service *service);
void tide_service_notify(struct tide_service *service, enum tide_service_event_kind kind,
                         const struct tide_served *client, enum tide_status status,
                         const char *what);
/* The most that one client gets in a round: commands, ns. */
#define TIDE_ROUND_COMMANDS 64u
#define TIDE_ROUND_TIME 100000ull
/* ns that a gone client's queued commands, or the rest of its ring, may still take. */
#define TIDE_GRACE 5000000000ull
/* ns that all clients of a round get together, about: a client with few commands waits no longer
 * than that. Each client gets at least TIDE_ROUND_LEAST, enough for a few commands. */
#define TIDE_ROUND_ALL 4000000ull
#define TIDE_ROUND_LEAST 2000ull
/* ns of a round in which clients may end, without the time of the last end itself. */
#define TIDE_ROUND_ENDS 1000000ull
/* ns from which on a command's cost is measured by the thread's own time, too. */
#define TIDE_ROUND_LONG 50000ull
#define TIDE_WRONG_TOKENS 16u
#define TIDE_REFUSALS_ROOM 32u
/* Answers with a descriptor that may wait until a client reads: each holds a descriptor of the
 * service. */
#define TIDE_DESCRIPTORS_UNREAD 8u

#endif
