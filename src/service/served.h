/* service/served.h: the service from inside.
 *
 * One thread serves: it takes commands out of rings, a few of each client a round, and talks to
 * sockets. What ends on other threads (a body, a deadline) reaches clients in two ways: values are
 * stored into shared memory right there (publish.c), and answers that somebody waits for are put on
 * a list that the serving thread works off (waits.c).
 *
 * Nothing that a client does can block that thread: it sends without blocking, and each answer has
 * its room from the moment when it was asked for. */
#ifndef TIDE_SERVICE_SERVED_H
#define TIDE_SERVICE_SERVED_H

#include "base/check.h"
#include "base/list.h"
#include "base/lock.h"
#include "point/point_state.h"
#include "service/command_ring.h"
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

/* ---- publish.c: what a client's timelines show ---- */

struct tide_published;

/* One place of the shared memory. */
struct tide_publication {
  struct tide_node wake;
  struct tide_published *owner;
  uint32_t pending; /* the wake is on its way */
  uint32_t busy;    /* atomic: its timeline may still end something */
};
/* A client's shared memory. Stays until the client is gone, and all that it had queued has ended.
 */
struct tide_published {
  struct tide_service *service;
  struct tide_mapping mapping;
  struct tide_values values;
  uint32_t references, count;
  uint64_t owner;
  struct tide_link link;
  struct tide_publication places[];
};
enum tide_status tide_published_create(struct tide_service *service, uint64_t owner,
                                       uint32_t places, struct tide_published **out_published);
void tide_published_release(struct tide_published *published);
/* The timeline's ends go to this place from now on; nothing of it has ended yet. */
void tide_publish(struct tide_published *published, uint32_t place, uint32_t generation,
                  struct tide_point base);
/* Shows, at the place of a timeline that was never made, that all of it is broken. */
void tide_publish_refused(struct tide_published *published, uint32_t place, uint32_t generation,
                          enum tide_status cause);
/* Of the room's points. */
void tide_publish_observe(void *user, const struct tide_observed *what, struct tide_fired *fired);
/* What the service's own shared memory is told at the end. */
void tide_published_fail_all(struct tide_service *service, enum tide_status status);

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
  bool writable;   /* a buffer; of a foreign timeline: its owner is trusted */
  bool made;       /* a buffer of its own, which is charged until it is gone */
  uint8_t refused; /* the status of a REFUSED one; 0 */
  uint32_t generation;
  struct tide_point base;  /* of a timeline */
  void *object;            /* a tide_future, tide_line or tide_store */
  uint64_t owner;          /* of a foreign timeline: whose it is */
  struct tide_link grants; /* tokens for it */
};

/* ---- tokens.c ---- */

struct tide_grant {
  struct tide_grant *next; /* in its bucket */
  struct tide_link link;   /* of the entry */
  struct tide_served *client;
  struct tide_entry *entry;
  bool writable;
  struct tide_token token;
};
#define TIDE_GRANT_BUCKETS 1024u

enum tide_status tide_grant_create(struct tide_served *client, struct tide_entry *entry,
                                   bool writable, struct tide_token *out_token);
/* NULL: there is none. */
struct tide_grant *tide_grant_find(struct tide_service *service, const struct tide_token *token);
/* All of an entry. */
void tide_grants_drop(struct tide_entry *entry);

/* ---- waits.c ---- */

struct tide_pending {
  struct tide_pending *next; /* of the finished ones */
  struct tide_service *service;
  struct tide_served *client; /* NULL: gone */
  uint32_t answer;
  uint32_t status;
  bool schedulable;
  struct tide_wire_name makes; /* the buffer that it is about; 0: none */
  struct tide_wire_point host; /* to be kept when the client has been sent it; 0: none */
  union {
    struct tide_timepoint complete;
    struct tide_schedulable scheduled;
  };
};
/* TIDE_FULL; TIDE_BUSY: this number is taken. */
enum tide_status tide_pending_begin(struct tide_served *client, uint32_t answer,
                                    struct tide_pending **out_pending);
/* It never began to wait. */
void tide_pending_drop(struct tide_pending *pending);
void tide_pending_complete(struct tide_timepoint *timepoint, enum tide_status status);
void tide_pending_scheduled(struct tide_schedulable *wait, enum tide_status status);
/* True: it will not be answered. */
bool tide_pending_forget(struct tide_served *client, uint32_t answer);
void tide_pending_forget_all(struct tide_served *client);
/* On the serving thread: sends what has finished. */
void tide_pending_deliver(struct tide_service *service);

/* ---- hello.c: connections until their hello ---- */

/* Lets a connection in, or tells it why not. Takes the descriptor. */
void tide_served_accept(struct tide_service *service, int socket);
/* Tells it why. Takes the descriptor. */
void tide_served_turn_away(struct tide_service *service, int socket, enum tide_status status);
/* Reads the hello: the connection becomes a client, waits for room, or ends. False: the hello has
 * not come. */
bool tide_hello_hear(struct tide_served *client);
/* Welcomes those that wait for what others leave behind. */
void tide_hellos_welcome(struct tide_service *service);
/* Ends the connections whose hello has not come in time. Returns the next deadline. */
uint64_t tide_hellos_expire(struct tide_service *service);

/* ---- served.c: one client ---- */

struct tide_outgoing {
  struct tide_wire_message message;
  int descriptor; /* -1; else it is closed when it was sent */
  /* Of this buffer, opened when it is sent, so that what waits costs none; then `host` is kept. */
  struct tide_wire_name buffer;
  struct tide_wire_point host;
};

struct tide_served {
  struct tide_service *service;
  struct tide_link link;   /* of one of the service's lists of connections */
  struct tide_link active; /* of those whose rings may have something, or of the paced ones */
  int socket, bell;
  uint64_t number;
  uint32_t uid, pid;
  struct tide_user *user;
  bool is_welcome;
  bool is_ended; /* only its memory is still there: an event may name it */
  const struct tide_policy_rule *rule;
  struct tide_wire_limits limits;
  char label[TIDE_WIRE_LABEL];
  uint64_t hello_before;      /* the deadline for its hello; 0: it came */
  struct tide_client *client; /* of the room; NULL before the hello */
  struct tide_mapping ring_memory;
  struct tide_ring ring;
  struct tide_published *published;
  struct tide_entry *entries;     /* limits.handles; 0 is none's */
  struct tide_pending **pendings; /* limits.waits */
  uint32_t pending_count;
  struct tide_outgoing *outgoing; /* a row: first .. first + count */
  uint32_t outgoing_capacity, outgoing_first, outgoing_count;
  uint32_t outgoing_descriptors;        /* of these messages */
  bool flooded;                         /* epoll tells when there is room in the socket */
  uint32_t timelines, channels, grants; /* in use */
  uint32_t buffers;
  uint32_t promises; /* the room for them, of all future timelines */
  uint64_t bytes;
  uint32_t wrong_tokens;
  struct tide_link lines;  /* channels */
  struct tide_link stores; /* buffers that it made and that are not gone */
  uint64_t sequence, refused, dropped;
  uint64_t spent;       /* ns of the serving thread */
  int64_t credit;       /* ns that it may still take; below 0: that it took too much */
  uint64_t given;       /* the service's, when that was counted */
  uint64_t rounds;      /* in which its ring was read */
  uint64_t paced_until; /* its ring is left alone until then; 0: it is not */
  uint64_t paced;       /* how often it was */
  bool is_leaving;      /* its peer has hung up; what it left in its ring is still read */
  uint64_t leave_at;    /* up to this count of cells, */
  uint64_t leave_by;    /* and, where its uid is paced, until then */
};

/* Something happened on its socket. */
void tide_served_hear(struct tide_served *client, bool hung_up, bool readable, bool writable);
/* Its bell was rung. */
void tide_served_wake(struct tide_served *client);
/* A round begins now. */
void tide_served_begin_round(struct tide_service *service);
/* Executes some of its commands. The client may have ended. */
void tide_served_round(struct tide_served *client);
/* Ends the connection. The structure stays until tide_served_free_ended. */
void tide_served_end(struct tide_served *client, enum tide_status cause);
/* Frees the structures of those that have ended: no event that names them is left. */
void tide_served_free_ended(struct tide_service *service);
/* What epoll is told about its bell. */
struct epoll_event tide_served_bell_event(const struct tide_served *client);
/* Into its outgoing messages; takes the descriptor (-1: none). */
void tide_served_send(struct tide_served *client, const struct tide_wire_message *message,
                      int descriptor);

/* An answer that gives a buffer. */
void tide_served_send_buffer(struct tide_served *client, const struct tide_wire_message *message,
                             struct tide_wire_name buffer, struct tide_wire_point host);

/* ---- leave.c: clients whose peer has hung up ---- */

/* The peer has hung up: what the ring holds now is still read. The client may end. */
void tide_leave_begin(struct tide_served *client);
/* True if it leaves, and its ring was read. */
bool tide_leave_is_drained(const struct tide_served *client);
/* Ends it, unless the round has had its share of ends: they take as long as what a client had. */
void tide_leave_end_in_time(struct tide_served *client);
/* The leaving client ends; it is in no list any more. */
void tide_leave_end(struct tide_served *client);
/* Of those of the user that leave, the next one is active: called when one more may be, or may be
 * no longer. */
void tide_leave_choose(struct tide_service *service, struct tide_user *user);
/* Lets those leave whose hang-up has not been told yet, of the user or (NULL) of all. */
void tide_leave_look(struct tide_service *service, const struct tide_user *user);
/* The leaving client is not paced any more. */
void tide_leave_go_on(struct tide_served *client);
/* Makes room for one more client beside those that leave. False: there is none. */
bool tide_leave_make_room(struct tide_service *service, const struct tide_user *user);

/* ---- pace.c: who is refused too often ---- */

/* This command failed so. From here on its ring may be left alone: `paced_until`. */
void tide_pace_charge(struct tide_served *client, const struct tide_wire_view *view,
                      enum tide_status status);
/* Its peer has hung up: at `leave_by` it is left alone no longer. */
void tide_pace_leave(struct tide_served *client);
/* Those whose time has come are active again. */
void tide_pace_resume(struct tide_service *service);

/* ---- calls.c: one command ---- */

/* Executes it. *out_answer is filled. *out_later: the answer comes later. *out_descriptor: goes
 * with the answer; -1. */
enum tide_status tide_call(struct tide_served *client, const struct tide_wire_view *view,
                           struct tide_wire_message *answer, int *out_descriptor, bool *out_later);
/* NULL: no such name, or it is of another kind (FREE: of any). */
struct tide_entry *tide_entry_find(struct tide_served *client, struct tide_wire_name name,
                                   enum tide_entry_kind kind);
/* A free place for a new one, chosen by the client: its generation must be new. */
enum tide_status tide_entry_claim(struct tide_served *client, struct tide_wire_name name,
                                  struct tide_entry **out_entry);
/* Of a refused one: a point that is broken with the refusal's status. TIDE_NOT_FOUND. */
enum tide_status tide_entry_point(struct tide_served *client, struct tide_wire_point point,
                                  struct tide_point *out_point);
void tide_entry_free(struct tide_served *client, struct tide_entry *entry);

/* ---- refuse.c: the points of a refused command ---- */

/* The service's points that are broken, which refused names stand for. One timeline each. */
#define TIDE_BROKEN_POINTS TIDE_STATUS_COUNT
enum tide_status tide_broken_points_create(struct tide_service *service);
/* Returns how many timelines clients may have, those that leave included. */
uint32_t tide_timelines_of_clients(const struct tide_service *service);
/* Breaks the points that the command was to make or to keep. */
void tide_refuse(struct tide_served *client, const struct tide_wire_view *view,
                 enum tide_status status);
/* Breaks one promise. */
void tide_refuse_point(struct tide_served *client, const struct tide_wire_point *point,
                       enum tide_status cause);
/* Returns the status, or TIDE_INVALID for those that mean "not yet": a point that broke with one of
 * them would look as if it had not ended. */
enum tide_status tide_refusal_cause(enum tide_status status);

/* ---- the service ---- */

struct tide_place_of {
  struct tide_published *published;
  uint32_t place;
};

struct tide_service {
  struct tide_service_params params;
  char *path;
  struct tide_policy policy;
  struct tide_context *context;
  struct tide_device *device;
  struct tide_points *points;
  struct tide_client *self;                     /* of the broken points */
  struct tide_point broken[TIDE_BROKEN_POINTS]; /* by status; [TIDE_OK] is none */
  struct tide_endpoint endpoint;                /* while `listener` is open */
  int listener, epoll, bell;
  int spare;                    /* a descriptor to accept with when all are used up */
  int buffers_most;             /* descriptors from here on are not for buffers */
  uint64_t share;               /* ns that each client gets in this round */
  uint64_t given;               /* the same of all rounds so far */
  uint64_t served_last;         /* how many had something in the last one */
  uint64_t served;              /* looks into rings, in this one */
  uint64_t ends_until;          /* in this round: later ends wait for the next one */
  uint32_t idle_rounds;         /* in a row in which all had taken too much before */
  uint64_t seen_wall, seen_own; /* the clock, and this thread's own time, when last compared */
  uint64_t admission_end;       /* of this batch of events: the others wait for the next one */
  uint32_t late_hellos;         /* heard in this batch, or put off */
  uint64_t reaped;              /* when channels of those who are gone were looked at */
  uint32_t asleep, stopping;    /* atomic */
  uint64_t clients_ever;
  uint32_t client_count, hello_count;
  struct tide_link hellos;                   /* connections without a hello, the oldest first */
  struct tide_link waiting;                  /* those with one that wait for room */
  struct tide_link clients;                  /* those that were welcomed */
  struct tide_link leaving;                  /* whose peers have hung up, the oldest first */
  uint32_t leaving_timelines, leaving_parts; /* these may have */
  uint32_t spare_parts;                      /* beside those of all clients */
  struct tide_link ended;                    /* whose structures are still to be freed */
  struct tide_link users;
  struct tide_link active, paced, published;
  struct tide_link woken; /* since the last round: these are the first of the next one */
  uint64_t paced_next;    /* when one of them is to be read again; TIDE_FOREVER */
  struct tide_lock finished_lock;
  struct tide_pending *finished, **last_finished;
  struct tide_place_of *places; /* of the room's timelines, by slot; under the room's lock */
  struct tide_grant *grants[TIDE_GRANT_BUCKETS];
  struct tide_link closing; /* channels whose client has let go of them */
  uint32_t closing_count;
  struct tide_store *dead_stores; /* atomic */
  uint64_t orphan_bytes;          /* of buffers whose makers are gone */
};

/* Wakes the serving thread. Any thread. */
void tide_service_kick(struct tide_service *service);
void tide_service_notify(struct tide_service *service, enum tide_service_event_kind kind,
                         const struct tide_served *client, enum tide_status status,
                         const char *what);
/* How much one client gets a round. */
#define TIDE_ROUND_COMMANDS 64u
#define TIDE_ROUND_TIME 100000ull
/* ns that what a client has queued, or left in its ring, may still take when it is gone. */
#define TIDE_GRACE 5000000000ull
/* … and all of them together, about: who has little to ask for waits no longer than that. But each
 * gets enough for a few commands. */
#define TIDE_ROUND_ALL 4000000ull
#define TIDE_ROUND_LEAST 2000ull
/* ns in which clients may end in a round, but for the last one's own time. */
#define TIDE_ROUND_ENDS 1000000ull
/* What takes longer than this is looked at more closely. */
#define TIDE_ROUND_LONG 50000ull
#define TIDE_WRONG_TOKENS 16u
#define TIDE_REFUSALS_ROOM 32u
/* Answers with a descriptor that may wait until a client reads; each is one of ours. */
#define TIDE_DESCRIPTORS_UNREAD 8u

#endif
