/* A session's input and output: commands to the ring, answers from the socket. */
#include "base/alloc.h"
#include "service/session.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define RING_PATIENCE 2000000000ull /* ns that a call waits for space in the ring */
#define SLICE                                                                                      \
  50000000ull /* ns between two checks that the service lives: of calls, of a parked thread */

static bool has_hung_up(const struct tide_session *session) {
  struct pollfd one = {.fd = session->socket, .events = POLLRDHUP};
  return poll(&one, 1, 0) > 0 && one.revents & (POLLHUP | POLLERR | POLLRDHUP);
}

void tide_session_lock(struct tide_session *session) {
  const struct tide_platform *platform = tide_platform_linux();
  pthread_mutex_lock(&session->lock);
  uint64_t now = platform->now_about(platform->self); /* most calls ask for nothing but this */
  if (now < session->next_look || session->hung_up) return;
  session->next_look = now + SLICE;
  session->hung_up = has_hung_up(session);
}
void tide_session_unlock(struct tide_session *session) { pthread_mutex_unlock(&session->lock); }

/* ---- commands ------------------------------------------------------------------------ */

static void ring_bell(const struct tide_session *session) {
  uint64_t one = 1;
  (void)!write(session->bell, &one, sizeof one);
}

bool tide_session_is_lost(struct tide_session *session) {
  if (!session->hung_up) session->hung_up = has_hung_up(session);
  return tide_session_ended(session) != TIDE_OK;
}

uint64_t tide_session_next_look(uint64_t deadline) {
  uint64_t look = tide_service_now() + SLICE;
  return look < deadline ? look : deadline;
}

/* Like tide_session_await_room. TIDE_TIMEOUT: the deadline came before RING_PATIENCE was over. */
static enum tide_status await_room_by(struct tide_session *session,
                                      const struct tide_wire_command *command, uint64_t deadline) {
  uint32_t cells = tide_wire_cells(command);
  uint64_t until = 0;
  uint32_t unparks;
  if (cells == 0 || cells > session->ring.size) return TIDE_INVALID;
  for (;;) {
    enum tide_status ended = tide_session_ended(session);
    if (ended != TIDE_OK) return ended;
    if (tide_ring_has_capacity(&session->ring, cells)) return TIDE_OK;
    uint64_t now = tide_service_now();
    if (!until) until = now + RING_PATIENCE;
    if (now >= until) return TIDE_FULL;
    if (now >= deadline) return TIDE_TIMEOUT;
    if (!tide_ring_must_park(&session->ring, cells, &unparks)) continue;
    tide_session_unlock(session);
    tide_ring_park(&session->ring, unparks, tide_platform_linux(),
                   tide_session_next_look(until < deadline ? until : deadline));
    tide_session_lock(session);
    (void)tide_session_is_lost(session);
  }
}

enum tide_status tide_session_await_room(struct tide_session *session,
                                         const struct tide_wire_command *command) {
  return await_room_by(session, command, TIDE_FOREVER);
}

static enum tide_status push_by(struct tide_session *session, struct tide_wire_record *record,
                                uint64_t deadline) {
  bool asleep;
  enum tide_status status = await_room_by(session, &record->command, deadline);
  if (status == TIDE_OK) status = tide_ring_write(&session->ring, record, &asleep);
  if (status != TIDE_OK) return status;
  session->sequence++;
  if (asleep) ring_bell(session);
  return TIDE_OK;
}

enum tide_status tide_session_push(struct tide_session *session, struct tide_wire_record *record) {
  return push_by(session, record, TIDE_FOREVER);
}

/* ---- answers --------------------------------------------------------------------------- */

static enum tide_status claim_ask(struct tide_session *session, struct tide_session_ask **out_ask) {
  uint32_t capacity = session->limits.waits;
  enum tide_status ended = tide_session_ended(session);
  if (ended != TIDE_OK) return ended;
  if (session->ask_count == capacity) return TIDE_FULL;
  for (;;) {
    uint32_t at = session->next_ask++ % capacity;
    struct tide_session_ask *ask = &session->asks[at];
    if (ask->number) continue;
    /* The number is the location plus a multiple of the capacity, so that it is new. Zero is no
     * number. */
    session->ask_round = (session->ask_round + 1) % (UINT32_MAX / capacity - 1);
    *ask = (struct tide_session_ask){.number = (session->ask_round + 1) * capacity + at,
                                     .descriptor = -1};
    session->ask_count++;
    *out_ask = ask;
    return TIDE_OK;
  }
}

static void free_ask(struct tide_session *session, struct tide_session_ask *ask) {
  ask->number = 0;
  session->ask_count--;
}

/* Ends the wait. Releases the lock for the call. */
static void finish_ask(struct tide_session *session, struct tide_session_ask *ask,
                       enum tide_status status) {
  if (ask->blocking) {
    ask->done = true;
    ask->answer.status = (uint32_t)status;
    return;
  }
  tide_session_call call = ask->call;
  void *user = ask->user;
  free_ask(session, ask);
  if (!call) return;
  tide_session_unlock(session);
  call(user, status);
  tide_session_lock(session);
}

void tide_session_fail(struct tide_session *session, enum tide_status status) {
  if (session->status) return;
  session->status = (uint32_t)status;
  for (uint32_t i = 0; i < session->limits.waits; i++)
    if (session->asks[i].number && !session->asks[i].done)
      finish_ask(session, &session->asks[i], status);
  pthread_cond_broadcast(&session->changed);
  tide_ring_unpark(&session->ring, tide_platform_linux());
}

static void handle_refusal(struct tide_session *session, const struct tide_wire_message *message) {
  session->refusals = message->value;
  if (!session->refused) return;
  tide_session_unlock(session);
  session->refused(session->user, message->sequence, tide_wire_op_name(message->op),
                   (enum tide_status)message->status);
  tide_session_lock(session);
}

/* Maps the buffer, unless its name is gone. *descriptor becomes -1 when it is taken. */
static void handle_buffer(struct tide_session *session, const struct tide_session_ask *ask,
                          const struct tide_wire_message *message, int *descriptor) {
  struct tide_session_name *name = &session->names[ask->buffer.handle];
  if (name->kind != TIDE_NAME_BUFFER || name->generation != ask->buffer.generation) return;
  if (message->status != TIDE_OK) {
    tide_session_give_up(session, name);
    return;
  }
  (void)!tide_mapping_open(&name->memory, *descriptor, ask->size, false);
  *descriptor = -1;
}

/* Disposes of an object that was made after its call had returned. */
static void dispose_late(struct tide_session *session, struct tide_wire_name made,
                         enum tide_status status) {
  struct tide_session_name *name = &session->names[made.handle];
  if (status == TIDE_OK) tide_session_disown(session, name);
  else tide_session_give_up(session, name);
}

static void handle_message(struct tide_session *session, const struct tide_wire_message *message,
                           int descriptor) {
  if (message->kind == TIDE_WIRE_ANSWER && message->answer) {
    struct tide_session_ask *ask = &session->asks[message->answer % session->limits.waits];
    if (ask->number == message->answer && !ask->done) {
      if (ask->blocking) {
        ask->answer = *message;
        ask->descriptor = descriptor;
        descriptor = -1;
      }
      if (ask->buffer.handle) handle_buffer(session, ask, message, &descriptor);
      struct tide_wire_name late = ask->makes;
      finish_ask(session, ask, (enum tide_status)message->status);
      if (late.handle) dispose_late(session, late, (enum tide_status)message->status);
    }
  }
  if (descriptor >= 0) close(descriptor);
  if (message->kind == TIDE_WIRE_REFUSAL) handle_refusal(session, message);
  if (message->kind == TIDE_WIRE_GOODBYE)
    tide_session_fail(session, message->status ? (enum tide_status)message->status : TIDE_LOST);
}

/* Handles all messages in the socket. False: none had come. */
static bool receive_all(struct tide_session *session) {
  for (bool some = false;; some = true) {
    struct tide_wire_message message;
    int descriptors[TIDE_DESCRIPTORS_MOST];
    enum tide_status status =
        tide_message_receive(session->socket, &message, descriptors, TIDE_DESCRIPTORS_MOST);
    if (status == TIDE_BUSY) return some;
    if (status != TIDE_OK) {
      tide_session_fail(session, TIDE_LOST);
      return true;
    }
    for (unsigned i = 1; i < TIDE_DESCRIPTORS_MOST; i++)
      if (descriptors[i] >= 0) close(descriptors[i]);
    handle_message(session, &message, descriptors[0]);
  }
}

static struct timespec timespec_of(uint64_t deadline) {
  return (struct timespec){(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
}

static void wait_for_socket(const struct tide_session *session, uint64_t deadline) {
  struct pollfd one = {.fd = session->socket, .events = POLLIN | POLLRDHUP};
  uint64_t now = tide_service_now(), left = deadline > now ? deadline - now : 0;
  struct timespec patience = timespec_of(left);
  ppoll(&one, 1, deadline == TIDE_FOREVER ? NULL : &patience, NULL);
}

/* Parks until the reading thread has read something. It may be in a callback for long, and hears of
 * the service's end only after that. */
static enum tide_status await_reader(struct tide_session *session, uint64_t deadline) {
  for (;;) {
    struct timespec look = timespec_of(tide_session_next_look(deadline));
    bool late = pthread_cond_timedwait(&session->changed, &session->lock, &look) != 0;
    if (tide_session_is_lost(session)) return tide_session_ended(session);
    if (!late) return TIDE_OK;
    if (tide_service_now() >= deadline) return TIDE_TIMEOUT;
  }
}

/* Only one thread reads, for all threads; a call that it runs may read again. */
enum tide_status tide_session_receive(struct tide_session *session, uint64_t deadline) {
  bool nested = session->reading && pthread_equal(session->reader, pthread_self());
  if (session->status) return (enum tide_status)session->status;
  if (session->reading && !nested) return await_reader(session, deadline);
  session->reading = true;
  session->reader = pthread_self();
  bool some = receive_all(session);
  if (!some && deadline != TIDE_NOW) {
    tide_session_unlock(session);
    wait_for_socket(session, deadline);
    tide_session_lock(session);
    some = receive_all(session);
  }
  if (!nested) session->reading = false;
  pthread_cond_broadcast(&session->changed);
  if (session->status) return (enum tide_status)session->status;
  return some ? TIDE_OK : TIDE_TIMEOUT;
}

/* ---- both ---------------------------------------------------------------------------------- */

/* `name`: the name of the object that the command makes; NULL: none. *out_late: an answer is still
 * to come. */
static enum tide_status ask_for(struct tide_session *session, struct tide_wire_record *record,
                                uint64_t deadline, const struct tide_session_name *name,
                                struct tide_wire_message *out_answer, int *out_descriptor,
                                bool *out_late) {
  struct tide_session_ask *ask;
  enum tide_status status = claim_ask(session, &ask);
  if (status != TIDE_OK) return status;
  ask->blocking = true;
  record->command.answer = ask->number;
  status = push_by(session, record, deadline);
  bool pushed = status == TIDE_OK;
  while (status == TIDE_OK && !ask->done) {
    status = tide_session_receive(session, deadline);
    if (status == TIDE_TIMEOUT && tide_service_now() < deadline) status = TIDE_OK;
  }
  if (ask->done) status = (enum tide_status)ask->answer.status;
  if (ask->done && out_answer) *out_answer = ask->answer;
  if (ask->done && out_descriptor) *out_descriptor = ask->descriptor;
  else if (ask->done && ask->descriptor >= 0) close(ask->descriptor);
  *out_late = pushed && !ask->done && status == TIDE_TIMEOUT;
  if (*out_late) {
    ask->blocking = false; /* freed when the answer comes; no call is made */
    ask->call = NULL;
    if (name) ask->makes = tide_session_wire(session, name);
    return status;
  }
  free_ask(session, ask);
  return status;
}

enum tide_status tide_session_ask(struct tide_session *session, struct tide_wire_record *record,
                                  uint64_t deadline, struct tide_wire_message *out_answer,
                                  int *out_descriptor) {
  bool late;
  return ask_for(session, record, deadline, NULL, out_answer, out_descriptor, &late);
}

static uint64_t patience_deadline(const struct tide_session *session) {
  uint64_t now = tide_service_now();
  return session->patience < TIDE_FOREVER - now ? now + session->patience : TIDE_FOREVER;
}

enum tide_status tide_session_ask_soon(struct tide_session *session,
                                       struct tide_wire_record *record,
                                       struct tide_wire_message *out_answer) {
  return tide_session_ask(session, record, patience_deadline(session), out_answer, NULL);
}

enum tide_status tide_session_ask_make(struct tide_session *session,
                                       struct tide_wire_record *record,
                                       struct tide_session_name *name,
                                       struct tide_wire_message *out_answer, int *out_descriptor) {
  bool late = false;
  enum tide_status status =
      ask_for(session, record, patience_deadline(session), name, out_answer, out_descriptor, &late);
  if (status != TIDE_OK && !late) tide_session_give_up(session, name);
  return status;
}

enum tide_status tide_session_ask_later(struct tide_session *session,
                                        struct tide_wire_record *record, tide_session_call call,
                                        void *user, uint32_t *out_number) {
  struct tide_session_ask *ask;
  enum tide_status status = claim_ask(session, &ask);
  if (status != TIDE_OK) return status;
  ask->call = call;
  ask->user = user;
  record->command.answer = ask->number;
  if (out_number) *out_number = ask->number;
  uint32_t number = ask->number;
  status = tide_session_push(session, record);
  /* If the session failed meanwhile, the call was made. */
  if (status == TIDE_OK || ask->number != number) return TIDE_OK;
  free_ask(session, ask);
  return status;
}

enum tide_status tide_session_ask_buffer(struct tide_session *session,
                                         struct tide_wire_record *record,
                                         const struct tide_session_name *name, uint64_t size) {
  struct tide_session_ask *ask;
  enum tide_status status = claim_ask(session, &ask);
  if (status != TIDE_OK) return status;
  ask->buffer = tide_session_wire(session, name);
  ask->size = size;
  record->command.answer = ask->number;
  uint32_t number = ask->number;
  status = tide_session_push(session, record);
  if (status != TIDE_OK && ask->number == number) free_ask(session, ask);
  return status;
}

bool tide_session_forget(struct tide_session *session, uint32_t wait) {
  tide_session_lock(session);
  struct tide_session_ask *ask = wait ? &session->asks[wait % session->limits.waits] : NULL;
  bool mine = ask && ask->number == wait && !ask->blocking && ask->call;
  if (mine) {
    /* The location is free once the service has answered. */
    struct tide_wire_record record = {.command = {.op = TIDE_WIRE_FORGET, .number = wait}};
    ask->call = NULL;
    (void)!tide_session_push(session, &record);
  }
  tide_session_unlock(session);
  return mine;
}

enum tide_status tide_session_dispatch(struct tide_session *session, uint64_t deadline) {
  tide_session_lock(session);
  enum tide_status status = tide_session_receive(session, deadline);
  tide_session_unlock(session);
  return status;
}

enum tide_status tide_session_sync(struct tide_session *session, uint64_t deadline) {
  struct tide_wire_record record = {.command = {.op = TIDE_WIRE_SYNC}};
  tide_session_lock(session);
  enum tide_status status = tide_session_ask(session, &record, deadline, NULL, NULL);
  tide_session_unlock(session);
  return status;
}
