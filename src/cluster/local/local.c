/* The transport between processes of one computer: a thread, a socket to each other member, and a
 * descriptor of its process.
 *
 * The thread sleeps in epoll_wait. It takes in all that has come before it believes that a member
 * is gone. A message for which a socket has no room is kept until it has; the window bounds how
 * many there are. */
#include "base/alloc.h"
#include "base/params.h"
#include "cluster/local/meeting.h"
#include "cluster/local/shared_memory.h"
#include "service/socket.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 32
#define TAKEN_AT_ONCE 256 /* messages of one member, before the others have their turn */
#define MEETING_MS 60000
#define SHORTEST_SILENCE 20000000u /* ns: epoll_wait counts milliseconds, and threads are late */

enum {
  ASLEEP,
  AWAKE,
  RUNG
}; /* the thread: in epoll_wait; at work; to look again before it sleeps */

struct unsent {
  struct tide_link link;
  int descriptor; /* sent with it; -1: none */
  size_t size;
  unsigned char bytes[];
};

struct peer {
  int socket, process; /* -1: none, or the member is gone */
  struct tide_link unsent;
  struct tide_shared_peer shared;
  bool is_out_of_memory; /* a message to it was lost */
};

struct local {
  struct tide_context *context;
  struct tide_cluster *cluster;
  struct tide_shared_source *source;
  struct tide_thread *thread;
  int epoll, bell;
  uint32_t state; /* atomic: ASLEEP, AWAKE or RUNG */
  bool ends;      /* atomic */
  uint32_t rank, count;
  uint64_t tag;
  uint64_t next_beat;    /* the thread's */
  struct tide_lock lock; /* guards the peers, against send */
  struct peer peers[TIDE_CLUSTER_MEMBERS_MAX];
};

/* The upper half of an event's data; the lower half is the member's rank. */
enum source { BELL, SOCKET, PROCESS };

static bool listen_to(struct local *local, int descriptor, enum source source, uint32_t rank,
                      uint32_t events) {
  struct epoll_event event = {.events = events, .data.u64 = (uint64_t)source << 32 | rank};
  return epoll_ctl(local->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

static void listen_for_room(struct local *local, uint32_t rank, bool wants_room) {
  struct epoll_event event = {.events = EPOLLIN | (wants_room ? EPOLLOUT : 0u),
                              .data.u64 = (uint64_t)SOCKET << 32 | rank};
  epoll_ctl(local->epoll, EPOLL_CTL_MOD, local->peers[rank].socket, &event);
}

/* ---- sending ------------------------------------------------------------------------ */

static bool copy_descriptor(int descriptor, int *out_copy) {
  *out_copy = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  return descriptor < 0 || *out_copy >= 0;
}

static void free_unsent(struct local *local, struct unsent *unsent) {
  if (unsent->descriptor >= 0) close(unsent->descriptor);
  tide_free(local->context->allocator, unsent, 1, sizeof *unsent + unsent->size);
}

static void keep_unsent(struct local *local, uint32_t rank, const void *bytes, size_t size,
                        int descriptor) {
  struct peer *peer = &local->peers[rank];
  struct unsent *unsent = tide_alloc(local->context->allocator, 1, sizeof *unsent + size);
  if (unsent) unsent->size = size;
  if (!unsent || !copy_descriptor(descriptor, &unsent->descriptor)) {
    peer->is_out_of_memory = true;
    if (unsent) free_unsent(local, unsent);
    return;
  }
  memcpy(unsent->bytes, bytes, size);
  if (tide_list_empty(&peer->unsent)) listen_for_room(local, rank, true);
  tide_list_push_back(&peer->unsent, &unsent->link);
}

static void local_wake(void *self);

static enum tide_status send_now(const struct peer *peer, const void *bytes, size_t size,
                                 int descriptor) {
  return tide_socket_send(peer->socket, bytes, size, &descriptor, descriptor >= 0);
}

static void send_with(void *self, uint32_t to, const void *bytes, size_t size, int descriptor) {
  struct local *local = self;
  struct peer *peer = &local->peers[to];
  tide_lock_take(&local->lock, local->context->platform);
  bool is_full = !tide_list_empty(&peer->unsent);
  if (peer->socket >= 0 && !is_full) is_full = send_now(peer, bytes, size, descriptor) == TIDE_BUSY;
  if (peer->socket >= 0 && is_full) keep_unsent(local, to, bytes, size, descriptor);
  bool is_lost = peer->is_out_of_memory;
  tide_lock_give(&local->lock);
  if (is_lost) local_wake(local);
}

static void local_send(void *self, uint32_t to, const void *bytes, size_t size) {
  send_with(self, to, bytes, size, -1);
}

static void flush(struct local *local, uint32_t rank) {
  struct peer *peer = &local->peers[rank];
  tide_lock_take(&local->lock, local->context->platform);
  while (peer->socket >= 0 && !tide_list_empty(&peer->unsent)) {
    struct unsent *first = TIDE_CONTAINER(peer->unsent.next, struct unsent, link);
    if (send_now(peer, first->bytes, first->size, first->descriptor) == TIDE_BUSY) break;
    tide_list_remove(&first->link);
    free_unsent(local, first); /* after TIDE_LOST the end of the connection is read */
    if (tide_list_empty(&peer->unsent)) listen_for_room(local, rank, false);
  }
  bool is_empty = tide_list_empty(&peer->unsent);
  tide_lock_give(&local->lock);
  if (is_empty) local_wake(local); /* the session may wait for that to end */
}

static bool local_has_unsent(void *self, uint32_t to) {
  struct local *local = self;
  tide_lock_take(&local->lock, local->context->platform);
  bool has = !tide_list_empty(&local->peers[to].unsent);
  tide_lock_give(&local->lock);
  return has;
}

/* ---- memory ----------------------------------------------------------------------------- */

static bool local_find(void *self, const void *data, size_t size, struct tide_span *out_span) {
  return tide_shared_source_find(((struct local *)self)->source, data, size, out_span);
}

static void local_share(void *self, uint32_t to, const struct tide_span *span) {
  tide_shared_source_share(((struct local *)self)->source, to, span);
}

static bool local_has(void *self, uint32_t from, const struct tide_span *span) {
  struct local *local = self;
  tide_lock_take(&local->lock, local->context->platform);
  bool has = tide_shared_has(&local->peers[from].shared, span);
  tide_lock_give(&local->lock);
  return has;
}

static enum tide_status local_read(void *self, uint32_t from, const struct tide_span *span,
                                   void *data) {
  struct local *local = self;
  struct tide_shared_peer *peer = &local->peers[from].shared;
  tide_lock_take(&local->lock, local->context->platform);
  const void *bytes = tide_shared_read_begin(peer, span);
  tide_lock_give(&local->lock);
  if (!bytes) return TIDE_LOST;
  memcpy(data, bytes, span->size);
  tide_lock_take(&local->lock, local->context->platform);
  tide_shared_read_end(local->context, peer, span);
  tide_lock_give(&local->lock);
  return TIDE_OK;
}

/* ---- receiving ------------------------------------------------------------------------ */

/* Other processes may hold copies of the descriptor, so that closing alone would not end its
 * events. */
static void close_one(const struct local *local, int *descriptor) {
  if (*descriptor < 0) return;
  epoll_ctl(local->epoll, EPOLL_CTL_DEL, *descriptor, NULL);
  close(*descriptor);
  *descriptor = -1;
}

static void drop_peer(struct local *local, uint32_t rank) {
  struct peer *peer = &local->peers[rank];
  tide_lock_take(&local->lock, local->context->platform);
  close_one(local, &peer->socket);
  close_one(local, &peer->process);
  for (struct tide_link *link; (link = tide_list_pop_front(&peer->unsent));)
    free_unsent(local, TIDE_CONTAINER(link, struct unsent, link));
  tide_lock_give(&local->lock);
}

static void end_peer(struct local *local, uint32_t rank, const char *reason) {
  drop_peer(local, rank);
  tide_cluster_gone(local->cluster, rank, reason);
}

static void take_message(struct local *local, uint32_t rank, const void *bytes, size_t size,
                         int descriptor) {
  const char *wrong = NULL;
  if (tide_shared_is_message(bytes, size)) {
    tide_lock_take(&local->lock, local->context->platform);
    wrong = tide_shared_take(local->context, &local->peers[rank].shared, local->tag, bytes, size,
                             descriptor);
    tide_lock_give(&local->lock);
  } else {
    if (descriptor >= 0) close(descriptor);
    tide_cluster_receive(local->cluster, rank, bytes, size);
  }
  if (wrong) tide_cluster_lose(local->cluster, rank, wrong);
}

/* Takes in the messages that are there. `all`: to the last one, since the member's process has
 * ended. */
static void drain(struct local *local, uint32_t rank, bool all) {
  unsigned char bytes[TIDE_MESSAGE_MOST + 1];
  int descriptors[TIDE_DESCRIPTORS_MOST];
  size_t size;
  for (uint32_t i = 0; (all || i < TAKEN_AT_ONCE) && local->peers[rank].socket >= 0; i++) {
    enum tide_status status =
        tide_socket_receive(local->peers[rank].socket, bytes, sizeof bytes, &size, descriptors, 1);
    if (status == TIDE_BUSY) return;
    if (status == TIDE_OK) take_message(local, rank, bytes, size, descriptors[0]);
    else if (status == TIDE_LOST) end_peer(local, rank, "its process has ended");
    else end_peer(local, rank, "it has sent a message that is too long");
  }
}

static void take_event(struct local *local, const struct epoll_event *event) {
  const struct tide_platform *platform = local->context->platform;
  enum source source = (enum source)(event->data.u64 >> 32);
  uint32_t rank = (uint32_t)event->data.u64;
  if (source == BELL) {
    platform->notify_clear(platform->self, local->bell);
  } else if (source == PROCESS) {
    drain(local, rank, true);
    if (local->peers[rank].socket >= 0) end_peer(local, rank, "its process has ended");
  } else {
    if (event->events & EPOLLOUT) flush(local, rank);
    drain(local, rank, false);
  }
}

/* ---- the thread ------------------------------------------------------------------------ */

static void local_wake(void *self) {
  struct local *local = self;
  const struct tide_platform *platform = local->context->platform;
  if (tide_exchange(&local->state, (uint32_t)RUNG) == ASLEEP)
    platform->notify_raise(platform->self, local->bell);
}

static void end_lost_peers(struct local *local) {
  for (uint32_t i = 0; i < local->count; i++) {
    tide_lock_take(&local->lock, local->context->platform);
    bool is_lost = local->peers[i].is_out_of_memory && local->peers[i].socket >= 0;
    tide_lock_give(&local->lock);
    if (is_lost) end_peer(local, i, "there was no memory for a message to it");
  }
}

/* True: the thread may sleep, and wake rings the bell. */
static bool fall_asleep(struct local *local) {
  uint32_t expected = AWAKE;
  return tide_compare_exchange(&local->state, &expected, (uint32_t)ASLEEP);
}

/* Returns the time until the next beat, for epoll_wait. */
static int beat_if_due(struct local *local) {
  const struct tide_platform *platform = local->context->platform;
  uint64_t period = tide_cluster_beat_period(local->cluster), now;
  if (!period) return -1;
  now = platform->now(platform->self);
  if (now >= local->next_beat) {
    tide_cluster_beat(local->cluster);
    local->next_beat = now + period;
  }
  return (int)((local->next_beat - now) / 1000000u) + 1;
}

static void local_main(void *argument) {
  struct local *local = argument;
  struct epoll_event events[EVENTS];
  for (;;) {
    int timeout = beat_if_due(local);
    if (tide_exchange(&local->state, (uint32_t)AWAKE) == RUNG) {
      tide_cluster_tell(local->cluster);
      end_lost_peers(local);
    }
    if (tide_load_acquire(&local->ends)) return; /* it was set before the thread was woken */
    if (!fall_asleep(local)) continue;
    int count = epoll_wait(local->epoll, events, EVENTS, timeout);
    uint32_t expected = ASLEEP;
    (void)tide_compare_exchange(&local->state, &expected, (uint32_t)AWAKE);
    for (int i = 0; i < count; i++) take_event(local, &events[i]);
  }
}

static void local_end(void *self) {
  struct local *local = self;
  const struct tide_platform *platform = local->context->platform;
  tide_store_release(&local->ends, true);
  local_wake(local);
  if (local->thread) platform->join(platform->self, local->thread);
  local->thread = NULL;
  if (local->source) tide_shared_source_end(local->source);
  for (uint32_t i = 0; i < local->count; i++) {
    flush(local, i);
    drop_peer(local, i);
  }
}

static void local_free(void *self) {
  struct local *local = self;
  const struct tide_platform *platform = local->context->platform;
  for (uint32_t i = 0; i < local->count; i++)
    tide_shared_peer_close(local->context, &local->peers[i].shared);
  if (local->epoll >= 0) close(local->epoll);
  if (local->bell >= 0) platform->notify_close(platform->self, local->bell);
  tide_free(local->context->allocator, local, 1, sizeof *local);
}

/* ---- joining ----------------------------------------------------------------------------- */

/* Takes the meeting's descriptors, also when it fails. */
static enum tide_status open_local(struct tide_context *context, struct tide_meeting *meeting,
                                   struct local **out_local) {
  const struct tide_platform *platform = context->platform;
  struct local *local = tide_alloc(context->allocator, 1, sizeof *local);
  if (!local) {
    tide_meeting_close(meeting);
    return TIDE_NOMEM;
  }
  local->context = context;
  local->rank = meeting->rank;
  local->count = meeting->count;
  local->tag = meeting->tag;
  local->bell = -1;
  local->epoll = epoll_create1(EPOLL_CLOEXEC);
  tide_lock_init(&local->lock);
  bool is_good = local->epoll >= 0 &&
                 platform->notify_open(platform->self, &local->bell) == TIDE_OK &&
                 listen_to(local, local->bell, BELL, 0, EPOLLIN);
  for (uint32_t i = 0; i < meeting->count; i++) {
    struct peer *peer = &local->peers[i];
    peer->socket = meeting->members[i].socket;
    peer->process = meeting->members[i].process;
    tide_list_init(&peer->unsent);
    tide_list_init(&peer->shared.mappings);
    if (peer->socket >= 0) is_good = is_good && listen_to(local, peer->socket, SOCKET, i, EPOLLIN);
    if (peer->process >= 0)
      is_good = is_good && listen_to(local, peer->process, PROCESS, i, EPOLLIN);
  }
  struct tide_shared_sender sender = {local, send_with};
  enum tide_status status = TIDE_FULL;
  if (is_good) status = tide_shared_source_create(context, local->tag, &sender, &local->source);
  *out_local = local;
  if (status == TIDE_OK) return TIDE_OK;
  local_end(local);
  local_free(local);
  return status;
}

static enum tide_status open_session(struct tide_context *context, struct tide_meeting *meeting,
                                     uint64_t silence, struct tide_cluster **out_cluster) {
  const struct tide_platform *platform = context->platform;
  const char *names[TIDE_CLUSTER_MEMBERS_MAX];
  struct local *local;
  enum tide_status status = open_local(context, meeting, &local);
  if (status != TIDE_OK) return status;
  for (uint32_t i = 0; i < meeting->count; i++) names[i] = meeting->members[i].name;
  struct tide_cluster_setup setup = {
      .context = context,
      .rank = meeting->rank,
      .count = meeting->count,
      .tag = meeting->tag,
      .window = TIDE_CLUSTER_WINDOW,
      .silence = silence,
      .transport = {.self = local,
                    .send = local_send,
                    .wake = local_wake,
                    .has_unsent = local_has_unsent,
                    .end = local_end,
                    .free = local_free,
                    .memory = tide_shared_source_memory(local->source),
                    .find = local_find,
                    .share = local_share,
                    .has = local_has,
                    .read = local_read},
      .names = names};
  status = tide_cluster_create(&setup, &local->cluster);
  if (status != TIDE_OK) {
    local_end(local);
    local_free(local);
    return status;
  }
  struct tide_cluster *cluster = local->cluster;
  status = platform->spawn(platform->self, "tide-cluster", local_main, local, &local->thread);
  if (status == TIDE_OK) {
    *out_cluster = cluster;
    return TIDE_OK;
  }
  cluster->phase = TIDE_CLUSTER_OVER; /* it has not begun: nothing is lost, no axis is severed */
  tide_cluster_destroy(cluster);
  return status;
}

/* The rank becomes part of each axis, so that none may be out. */
static bool is_fresh(const struct tide_lease *lease) {
  for (int i = 0; i < TIDE_DOMAIN_COUNT; i++)
    if (lease->next[i] > 1) return false;
  return true;
}

static enum tide_status check(const struct tide_context *context,
                              const struct tide_cluster_params *params, struct tide_diag *diag) {
  if (!params->path || !params->path[0])
    return tide_diag_set(diag, TIDE_INVALID, "a session needs a path at which its members meet");
  if (!params->count || params->count > TIDE_CLUSTER_MEMBERS_MAX || params->rank >= params->count)
    return tide_diag_set(diag, TIDE_INVALID,
                         "rank %u of %u: a session has 1 to %u members, with ranks from 0",
                         params->rank, params->count, TIDE_CLUSTER_MEMBERS_MAX);
  if (!is_fresh(context->lease) || context->lease->machine)
    return tide_diag_set(diag, TIDE_BUSY,
                         "the context has queues or a session: a session comes first");
  return TIDE_OK;
}

enum tide_status tide_cluster_join(struct tide_context *context,
                                   const struct tide_cluster_params *params,
                                   struct tide_cluster **out_cluster, struct tide_diag *diag) {
  struct tide_cluster_params own;
  struct tide_meeting meeting;
  enum tide_status status = tide_params_copy(&own, sizeof own, params);
  if (status != TIDE_OK)
    return tide_diag_set(diag, status, "struct tide_cluster_params: %s", tide_status_text(status));
  if (!own.deadline) own.deadline = tide_after_ms(context, MEETING_MS);
  if (own.silence && own.silence < SHORTEST_SILENCE) own.silence = SHORTEST_SILENCE;
  status = check(context, &own, diag);
  if (status == TIDE_OK) status = tide_meet(&own, &meeting, diag);
  if (status != TIDE_OK) return status;
  if (!is_fresh(context->lease)) {
    tide_meeting_close(&meeting);
    return tide_diag_set(diag, TIDE_BUSY, "the context got a queue while its session met");
  }
  context->lease->machine = (uint16_t)(own.rank + 1);
  status = open_session(context, &meeting, own.silence, out_cluster);
  if (status == TIDE_OK) return TIDE_OK;
  context->lease->machine = 0;
  return tide_diag_set(diag, status, "%s: the session cannot be opened: %s", own.path,
                       tide_status_text(status));
}
