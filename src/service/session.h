/* service/session.h: a session's internal structures. */
#ifndef TIDE_SERVICE_SESSION_H
#define TIDE_SERVICE_SESSION_H

#include "service/command_ring.h"
#include "service/system.h"
#include "service/values.h"
#include "tidemark/service.h"

#include <pthread.h>

/* A client's values, mapped read-only. */
struct tide_values_view {
  struct tide_values_view *next;
  struct tide_mapping mapping;
  struct tide_values values;
  uint64_t owner;
  uint32_t count, uses;
  bool lent; /* returned by tide_session_view: mapped until the session's end */
};

enum tide_name_kind {
  TIDE_NAME_FREE,
  TIDE_NAME_MAKING, /* no answer from the service yet */
  TIDE_NAME_LIMBO,  /* destroyed, while queued commands may still end values */
  TIDE_NAME_FUTURE,
  TIDE_NAME_COMPOUND,
  TIDE_NAME_FOREIGN,
  TIDE_NAME_CHANNEL,
  TIDE_NAME_BUFFER
};

struct tide_session_name {
  uint8_t kind;
  uint32_t generation;
  bool timeline;  /* counts against the quota of timelines */
  uint32_t shown; /* the generation of the values in shared memory; 0: none */
  struct tide_values_view *view;
  uint32_t place, place_generation; /* the slot in the view, and its generation */
  uint64_t initial, newest;
  uint32_t capacity;
  uint64_t decreases;         /* a channel's: the numbers given so far */
  struct tide_mapping memory; /* a buffer's; `memory.memory` is NULL until the answer has come */
};

/* An awaited answer. */
struct tide_session_ask {
  uint32_t number; /* 0: free */
  bool blocking, done;
  tide_session_call call;
  void *user;
  struct tide_wire_name buffer; /* the buffer that comes with the answer; 0: none */
  struct tide_wire_name makes;  /* the object of a call that timed out: destroyed when it is made */
  uint64_t size;
  struct tide_wire_message answer;
  int descriptor;
};

struct tide_session {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool reading;
  pthread_t reader;
  int socket, bell;
  uint32_t status;
  bool hung_up;       /* the service is gone; its last messages may still be in the socket */
  uint64_t next_look; /* when a call checks again whether it is */
  uint32_t domain;
  uint64_t number;
  struct tide_wire_limits limits;
  struct tide_mapping ring_memory;
  struct tide_ring ring;
  struct tide_values_view *views; /* the session's own is the first */
  struct tide_session_name *names;
  uint32_t next_name, timelines;
  struct tide_session_ask *asks;
  uint32_t next_ask, ask_count, ask_round;
  uint64_t sequence, refusals;
  uint64_t patience; /* ns that a call without a deadline waits for its answer */
  void (*refused)(void *user, uint64_t sequence, const char *what, enum tide_status status);
  void *user;
};

/* Takes the lock. From time to time checks whether the service is gone. */
void tide_session_lock(struct tide_session *session);
void tide_session_unlock(struct tide_session *session);

/* ---- with the lock held ---- */

/* Returns TIDE_OK while the service lives, as far as was noticed; else the session's status. */
static inline enum tide_status tide_session_ended(const struct tide_session *session) {
  if (session->status) return (enum tide_status)session->status;
  return session->hung_up ? TIDE_LOST : TIDE_OK;
}

/* Returns NULL if there is no such name, or one of another kind (FREE: any kind that has
 * points). */
struct tide_session_name *tide_session_find(struct tide_session *session, struct tide_point point,
                                            enum tide_name_kind kind);
/* Takes a free name and makes it MAKING. `timeline`: counted against that quota. TIDE_FULL. */
enum tide_status tide_session_claim(struct tide_session *session, bool timeline,
                                    struct tide_session_name **out_name);
void tide_session_give_up(struct tide_session *session, struct tide_session_name *name);
/* Has the service destroy an object that it made and the caller does not get. May release the lock,
 * as tide_session_push. */
void tide_session_disown(struct tide_session *session, struct tide_session_name *name);
struct tide_wire_name tide_session_wire(const struct tide_session *session,
                                        const struct tide_session_name *name);
struct tide_point tide_session_point(const struct tide_session *session,
                                     const struct tide_session_name *name, uint64_t value);
/* Returns the status of a call that names nothing. */
static inline enum tide_status tide_session_no_name(const struct tide_session *session) {
  enum tide_status ended = tide_session_ended(session);
  return ended != TIDE_OK ? ended : TIDE_NOT_FOUND;
}
/* Copies points into a record as names. TIDE_NOT_FOUND, TIDE_INVALID: too many. */
enum tide_status tide_session_add_points(struct tide_session *session,
                                         struct tide_wire_record *record, size_t *used,
                                         const struct tide_point *points, size_t count);

/* Sets the text of a record without points. NULL: none. */
void tide_session_add_label(struct tide_wire_record *record, const char *label);

/* Looks whether the service is gone: then nothing wakes a parked thread. Its last messages may
 * still be in the socket: the thread that reads them makes the calls of all waits. */
bool tide_session_is_lost(struct tide_session *session);
/* Returns the time at which a thread that parks until the deadline must check again for a lost
 * session. */
uint64_t tide_session_next_look(uint64_t deadline);

/* Blocks until the ring has space for such a command (its counts and its size of text are set), and
 * releases the lock meanwhile. The space stays until the lock is released again. So a caller with a
 * command that depends on the session's state reads that state after this call, and then pushes.
 * TIDE_FULL, TIDE_LOST. */
enum tide_status tide_session_await_room(struct tide_session *session,
                                         const struct tide_wire_command *command);
/* Appends a command to the ring. Releases the lock while the ring is full, but never after
 * tide_session_await_room. TIDE_FULL, TIDE_LOST. */
enum tide_status tide_session_push(struct tide_session *session, struct tide_wire_record *record);
/* Appends a command and blocks for its answer: TIDE_TIMEOUT. *out_descriptor: -1, or the caller's
 * (NULL: none is expected). */
enum tide_status tide_session_ask(struct tide_session *session, struct tide_wire_record *record,
                                  uint64_t deadline, struct tide_wire_message *out_answer,
                                  int *out_descriptor);
/* The same with the session's patience as the deadline. */
enum tide_status tide_session_ask_soon(struct tide_session *session,
                                       struct tide_wire_record *record,
                                       struct tide_wire_message *out_answer);
/* The same, for a command that makes `name`. The name is freed when the service refuses. Without an
 * answer in time the name stays MAKING, and an object that is made late is destroyed. */
enum tide_status tide_session_ask_make(struct tide_session *session,
                                       struct tide_wire_record *record,
                                       struct tide_session_name *name,
                                       struct tide_wire_message *out_answer, int *out_descriptor);
/* Appends a command; `call` runs when the answer comes. */
enum tide_status tide_session_ask_later(struct tide_session *session,
                                        struct tide_wire_record *record, tide_session_call call,
                                        void *user, uint32_t *out_number);
/* The same for a buffer, which gets its memory with the answer, or loses its name. */
enum tide_status tide_session_ask_buffer(struct tide_session *session,
                                         struct tide_wire_record *record,
                                         const struct tide_session_name *name, uint64_t size);
/* Handles all received messages; blocks for the first until the deadline. */
enum tide_status tide_session_receive(struct tide_session *session, uint64_t deadline);
void tide_session_fail(struct tide_session *session, enum tide_status status);

#endif
