/* A session: connecting, and the table of its names. */
#include "base/label.h"
#include "base/params.h"
#include "service/session.h"
#include "base/alloc.h"
#include "base/text.h"
#include "service/socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_TIME 5000000000ull /* ns until the default deadline */
#define ANSWER_TIME 30000000000ull /* ns; the default patience */

static const struct tide_allocator *allocator(void) { return tide_allocator_system(); }

/* ---- names --------------------------------------------------------------------------- */

static bool has_points(uint8_t kind) {
  return kind == TIDE_NAME_FUTURE || kind == TIDE_NAME_COMPOUND || kind == TIDE_NAME_FOREIGN;
}

struct tide_session_name *tide_session_find(struct tide_session *session, struct tide_point point,
                                            enum tide_name_kind kind) {
  if (point.domain != session->domain || point.reserved || point.timeline == 0 ||
      point.timeline >= session->limits.handles)
    return NULL;
  struct tide_session_name *name = &session->names[point.timeline];
  if (name->generation != point.generation || name->kind <= TIDE_NAME_LIMBO) return NULL;
  if (kind == TIDE_NAME_FREE) return has_points(name->kind) ? name : NULL;
  return name->kind == kind ? name : NULL;
}

/* True if the service shows no more values at the name's own location. */
static bool is_over(const struct tide_session *session, const struct tide_session_name *name) {
  if (!name->shown) return true;
  return tide_values_over(&session->views->values, (uint32_t)(name - session->names), name->shown);
}

static void free_finished_names(struct tide_session *session) {
  for (uint32_t i = 1; i < session->limits.handles; i++) {
    struct tide_session_name *name = &session->names[i];
    if (name->kind != TIDE_NAME_LIMBO || !is_over(session, name)) continue;
    name->kind = TIDE_NAME_FREE;
    name->shown = 0;
    session->timelines -= name->timeline;
  }
}

static struct tide_session_name *find_free_name(struct tide_session *session) {
  for (uint32_t i = 1; i < session->limits.handles; i++) {
    uint32_t at = 1 + session->next_name++ % (session->limits.handles - 1);
    if (session->names[at].kind == TIDE_NAME_FREE && session->names[at].generation < UINT32_MAX)
      return &session->names[at];
  }
  return NULL;
}

enum tide_status tide_session_claim(struct tide_session *session, bool timeline,
                                    struct tide_session_name **out_name) {
  enum tide_status ended = tide_session_ended(session);
  if (ended != TIDE_OK) return ended;
  if (timeline && session->timelines >= session->limits.timelines) free_finished_names(session);
  if (timeline && session->timelines >= session->limits.timelines) return TIDE_FULL;
  struct tide_session_name *name = find_free_name(session);
  if (!name) {
    free_finished_names(session);
    name = find_free_name(session);
  }
  if (!name) return TIDE_FULL;
  *name = (struct tide_session_name){
      .kind = TIDE_NAME_MAKING, .generation = name->generation + 1, .memory.descriptor = -1};
  if (timeline) {
    session->timelines++;
    name->timeline = true;
    name->shown = name->generation;
    name->view = session->views;
    name->view->uses++;
    name->place = (uint32_t)(name - session->names);
    name->place_generation = name->generation;
  }
  *out_name = name;
  return TIDE_OK;
}

static void release_view(struct tide_session *session, struct tide_values_view *view) {
  if (!view || --view->uses || view->lent) return;
  struct tide_values_view **at = &session->views;
  while (*at != view) at = &(*at)->next;
  *at = view->next;
  tide_mapping_close(&view->mapping);
  tide_free(allocator(), view, 1, sizeof *view);
}

/* Frees a name after the service refused to make its object. */
void tide_session_give_up(struct tide_session *session, struct tide_session_name *name) {
  session->timelines -= name->timeline;
  release_view(session, name->view);
  name->view = NULL;
  name->shown = 0;
  name->kind = TIDE_NAME_FREE;
}

struct tide_wire_name tide_session_wire(const struct tide_session *session,
                                        const struct tide_session_name *name) {
  return (struct tide_wire_name){(uint32_t)(name - session->names), name->generation};
}

struct tide_point tide_session_point(const struct tide_session *session,
                                     const struct tide_session_name *name, uint64_t value) {
  return (struct tide_point){.domain = session->domain,
                             .timeline = (uint32_t)(name - session->names),
                             .generation = name->generation,
                             .value = value};
}

enum tide_status tide_session_add_points(struct tide_session *session,
                                         struct tide_wire_record *record, size_t *used,
                                         const struct tide_point *points, size_t count) {
  struct tide_wire_point *to =
      (struct tide_wire_point *)(void *)(record->bytes + sizeof record->command);
  if (count > TIDE_WIRE_POINTS - *used) return TIDE_INVALID;
  for (size_t i = 0; i < count; i++) {
    struct tide_session_name *name = tide_session_find(session, points[i], TIDE_NAME_FREE);
    if (!name) return tide_session_no_name(session);
    to[(*used)++] = (struct tide_wire_point){tide_session_wire(session, name), points[i].value};
  }
  return TIDE_OK;
}

void tide_session_add_label(struct tide_wire_record *record, const char *label) {
  char text[TIDE_WIRE_LABEL];
  tide_label_copy(text, label);
  record->command.text_size = (uint32_t)strlen(text);
  memcpy(record->bytes + sizeof record->command, text, record->command.text_size);
}

/* Tells the service to destroy the object. A name with a slot is free once the service has done
 * so. */
static enum tide_status destroy_name(struct tide_session *session, struct tide_session_name *name) {
  struct tide_wire_record record = {
      .command = {.op = TIDE_WIRE_DESTROY, .object = tide_session_wire(session, name)}};
  enum tide_status status = tide_session_push(session, &record);
  if (status != TIDE_OK) return status;
  release_view(session, name->view);
  name->view = NULL;
  tide_mapping_close(&name->memory);
  name->kind = name->shown ? TIDE_NAME_LIMBO : TIDE_NAME_FREE;
  return TIDE_OK;
}

enum tide_status tide_session_destroy(struct tide_session *session, struct tide_point object) {
  const struct tide_wire_command command = {.op = TIDE_WIRE_DESTROY};
  tide_session_lock(session);
  enum tide_status status = tide_session_await_room(session, &command);
  struct tide_session_name *name = tide_session_find(session, object, TIDE_NAME_FREE);
  if (!name) name = tide_session_find(session, object, TIDE_NAME_CHANNEL);
  if (!name) name = tide_session_find(session, object, TIDE_NAME_BUFFER);
  if (status == TIDE_OK)
    status = name ? destroy_name(session, name) : tide_session_no_name(session);
  tide_session_unlock(session);
  return status;
}

/* A name stays MAKING if the command cannot be pushed: no other object ever gets it. */
void tide_session_disown(struct tide_session *session, struct tide_session_name *name) {
  (void)!destroy_name(session, name);
}

/* ---- connecting -------------------------------------------------------------------------- */

static void free_session(struct tide_session *session) {
  for (uint32_t i = 0; session->names && i < session->limits.handles; i++)
    tide_mapping_close(&session->names[i].memory);
  while (session->views) {
    struct tide_values_view *view = session->views;
    session->views = view->next;
    tide_mapping_close(&view->mapping);
    tide_free(allocator(), view, 1, sizeof *view);
  }
  tide_free(allocator(), session->names, session->limits.handles, sizeof *session->names);
  tide_free(allocator(), session->asks, session->limits.waits, sizeof *session->asks);
  tide_mapping_close(&session->ring_memory);
  if (session->bell >= 0) close(session->bell);
  if (session->socket >= 0) close(session->socket);
  pthread_cond_destroy(&session->changed);
  pthread_mutex_destroy(&session->lock);
  tide_free(allocator(), session, 1, sizeof *session);
}

/* Sleeps until the socket is ready for the events, for a second at most. False: the deadline
 * passed. */
static bool poll_socket(const struct tide_session *session, short events, uint64_t deadline) {
  struct pollfd one = {.fd = session->socket, .events = events};
  uint64_t now = tide_service_now();
  if (now >= deadline) return false;
  uint64_t left = (deadline - now) / 1000000u + 1;
  poll(&one, 1, left > 1000 ? 1000 : (int)left);
  return true;
}

static enum tide_status send_hello(struct tide_session *session, const char *label,
                                   uint64_t deadline) {
  struct tide_wire_message hello;
  tide_wire_begin(&hello, TIDE_WIRE_HELLO);
  tide_label_copy(hello.label, label);
  for (;;) {
    enum tide_status status = tide_message_send(session->socket, &hello, NULL, 0);
    if (status != TIDE_BUSY) return status;
    if (!poll_socket(session, POLLOUT, deadline)) return TIDE_TIMEOUT;
  }
}

static enum tide_status receive_welcome(struct tide_session *session, uint64_t deadline,
                                        struct tide_wire_message *message, int descriptors[]) {
  for (;;) {
    enum tide_status status =
        tide_message_receive(session->socket, message, descriptors, TIDE_DESCRIPTORS_MOST);
    if (status == TIDE_OK) break;
    if (status != TIDE_BUSY) return TIDE_LOST;
    if (!poll_socket(session, POLLIN, deadline)) return TIDE_TIMEOUT;
  }
  if (message->kind == TIDE_WIRE_GOODBYE)
    return message->status ? (enum tide_status)message->status : TIDE_LOST;
  if (message->magic != TIDE_WIRE_MAGIC || message->version != TIDE_WIRE_VERSION)
    return TIDE_MISMATCH;
  const struct tide_wire_limits *l = &message->limits;
  bool sane = message->kind == TIDE_WIRE_WELCOME && l->handles && l->waits && l->cells >= 64 &&
              !(l->cells & (l->cells - 1));
  return sane ? TIDE_OK : TIDE_CORRUPT;
}

static enum tide_status map_memory(struct tide_session *session, int descriptors[]) {
  struct tide_values_view *own = tide_alloc(allocator(), 1, sizeof *own);
  session->names = tide_alloc(allocator(), session->limits.handles, sizeof *session->names);
  session->asks = tide_alloc(allocator(), session->limits.waits, sizeof *session->asks);
  session->views = own;
  if (!own || !session->names || !session->asks) return TIDE_NOMEM;
  own->owner = session->number;
  own->count = session->limits.handles;
  own->uses = 1;
  for (uint32_t i = 0; i < session->limits.handles; i++) session->names[i].memory.descriptor = -1;
  enum tide_status status = tide_mapping_open(&session->ring_memory, descriptors[0],
                                              tide_ring_bytes(session->limits.cells), false);
  descriptors[0] = -1;
  if (status != TIDE_OK) return status;
  session->ring = (struct tide_ring){session->ring_memory.memory, session->limits.cells, 0};
  status = tide_mapping_open(&own->mapping, descriptors[1],
                             tide_values_bytes(session->limits.handles), true);
  if (status == TIDE_OK)
    status = tide_values_attach(&own->values, own->mapping.memory, own->count, false);
  descriptors[1] = -1;
  session->bell = descriptors[2];
  descriptors[2] = -1;
  return status != TIDE_OK ? status : session->bell < 0 ? TIDE_CORRUPT : TIDE_OK;
}

static enum tide_status open_socket(struct tide_session *session, const char *path,
                                    uint64_t deadline, struct tide_diag *diag) {
  session->socket = tide_socket_connect(path, deadline);
  if (session->socket >= 0) return TIDE_OK;
  enum tide_status status = TIDE_LOST;
  bool missing = errno == ENOENT || errno == ENOTDIR;
  if (missing) status = TIDE_NOT_FOUND;
  if (missing || errno == ECONNREFUSED)
    return tide_diag_set(diag, status, "no service listens at %s: %s", path, strerror(errno));
  if (errno == EACCES) status = TIDE_DENIED;
  if (errno == ETIMEDOUT) status = TIDE_TIMEOUT;
  if (status == TIDE_TIMEOUT)
    return tide_diag_set(diag, status, "%s: the service does not accept: %s", path,
                         tide_status_text(status));
  return tide_diag_set(diag, status, "%s: %s: %s", path, tide_status_text(status), strerror(errno));
}

/* Refuses the services of other users: at a path that they can write to they could listen first,
 * read all that this session sends, and answer as they like. */
static enum tide_status check_owner(const struct tide_session *session,
                                    const struct tide_session_params *params,
                                    struct tide_diag *diag) {
  uint32_t own = (uint32_t)geteuid(), uid = tide_socket_peer(session->socket);
  if (uid != UINT32_MAX && (uid == own || uid == 0 || uid == params->trust_uid)) return TIDE_OK;
  return tide_diag_set(diag, TIDE_DENIED,
                       "%s: a service of uid %u or of root is expected, not one of uid %u",
                       params->socket, params->trust_uid ? params->trust_uid : own, uid);
}

/* Sends the hello and maps the memory that the welcome brings. */
static enum tide_status exchange_hello(struct tide_session *session, const char *label,
                                       uint64_t deadline) {
  struct tide_wire_message welcome;
  int descriptors[TIDE_DESCRIPTORS_MOST] = {-1, -1, -1, -1};
  enum tide_status status = send_hello(session, label, deadline);
  /* A client that was turned away at once cannot send its hello, but can read the reason. */
  enum tide_status heard = receive_welcome(session, deadline, &welcome, descriptors);
  if (status == TIDE_OK || heard != TIDE_LOST) status = heard;
  if (status == TIDE_OK) {
    session->limits = welcome.limits;
    session->domain = welcome.domain;
    session->number = welcome.owner;
    status = map_memory(session, descriptors);
  }
  for (unsigned i = 0; i < TIDE_DESCRIPTORS_MOST; i++)
    if (descriptors[i] >= 0) close(descriptors[i]);
  return status;
}

/* Connects. One deadline bounds all steps. */
static enum tide_status open_session(struct tide_session *session,
                                     const struct tide_session_params *params,
                                     struct tide_diag *diag) {
  uint64_t deadline = params->deadline ? params->deadline : tide_service_now() + CONNECT_TIME;
  enum tide_status status = open_socket(session, params->socket, deadline, diag);
  if (status == TIDE_OK) status = check_owner(session, params, diag);
  if (status != TIDE_OK) return status;
  status = exchange_hello(session, params->label, deadline);
  if (status == TIDE_OK) return TIDE_OK;
  return tide_diag_set(diag, status, "%s: %s%s", params->socket,
                       status == TIDE_TIMEOUT ? "the service does not answer: " : "",
                       tide_status_text(status));
}

enum tide_status tide_session_connect(const struct tide_session_params *params,
                                      struct tide_session **out_session, struct tide_diag *diag) {
  struct tide_session_params own;
  enum tide_status known =
      tide_params_copy_named(&own, sizeof own, params, "tide_session_params", diag);
  if (known != TIDE_OK) return known;
  params = &own;
  if (!params->socket || !params->socket[0])
    return tide_diag_set(diag, TIDE_INVALID, "no socket is named");
  struct tide_session *session = tide_alloc(allocator(), 1, sizeof *session);
  if (!session) return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&session->lock, NULL);
  pthread_cond_init(&session->changed, &clock);
  pthread_condattr_destroy(&clock);
  session->socket = session->bell = -1;
  session->ring_memory.descriptor = -1;
  session->refused = params->refused;
  session->user = params->user;
  session->patience = params->patience ? params->patience : ANSWER_TIME;
  enum tide_status status = open_session(session, params, diag);
  if (status == TIDE_OK) *out_session = session;
  else free_session(session);
  return status;
}

void tide_session_close(struct tide_session *session) {
  if (!session) return;
  tide_session_lock(session);
  tide_session_fail(session, TIDE_CANCELLED);
  tide_session_unlock(session);
  free_session(session);
}

enum tide_status tide_session_status(struct tide_session *session) {
  tide_session_lock(session);
  enum tide_status status = tide_session_ended(session);
  tide_session_unlock(session);
  return status;
}

int tide_session_descriptor(const struct tide_session *session) { return session->socket; }

uint64_t tide_session_sequence(struct tide_session *session) {
  tide_session_lock(session);
  uint64_t sequence = session->sequence;
  tide_session_unlock(session);
  return sequence;
}

uint64_t tide_session_refusals(struct tide_session *session) {
  tide_session_lock(session);
  uint64_t refusals = session->refusals;
  tide_session_unlock(session);
  return refusals;
}
