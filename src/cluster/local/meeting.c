/* Unix sockets, SO_PEERCRED, SCM_RIGHTS. */
#include "cluster/local/greeting.h"

#include "base/label.h"
#include "service/peer_process.h"
#include "service/socket.h"
#include "service/system.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RETRY_MS 5 /* between two tries to reach rank 0 */
#define STRANGERS TIDE_CLUSTER_MEMBERS_MAX

static void close_one(int *descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

void tide_meeting_close(struct tide_meeting *meeting) {
  for (uint32_t i = 0; i < meeting->count; i++) {
    close_one(&meeting->members[i].socket);
    close_one(&meeting->members[i].process);
  }
}

/* Returns the milliseconds until the deadline, rounded up, at most a minute. */
static int ms_until(uint64_t deadline) {
  uint64_t now = tide_service_now();
  if (now >= deadline) return 0;
  uint64_t left = (deadline - now) / 1000000u + 1;
  return left > 60000 ? 60000 : (int)left;
}

static void write_name(char *name, const char *label, uint32_t pid) {
  if (!pid) snprintf(name, TIDE_CLUSTER_NAME, "%s", label[0] ? label : "of another pid namespace");
  else snprintf(name, TIDE_CLUSTER_NAME, "%s%spid %u", label, label[0] ? ", " : "", pid);
}

/* Receives a message. TIDE_BUSY: none has come; TIDE_LOST: the end; otherwise with a diag. */
static enum tide_status receive(int socket, struct tide_greeting *out,
                                int descriptors[TIDE_DESCRIPTORS_MOST], struct tide_diag *diag) {
  struct tide_greeting bytes;
  size_t size;
  enum tide_status status = tide_socket_receive(socket, &bytes, sizeof bytes, &size, descriptors,
                                                descriptors ? TIDE_DESCRIPTORS_MOST : 0);
  if (status == TIDE_OK) return tide_greeting_read(&bytes, size, out, diag);
  if (status != TIDE_CORRUPT) return status;
  return tide_diag_set(diag, status, "a message of more than %zu bytes", sizeof bytes);
}

/* ---- rank 0 --------------------------------------------------------------------------- */

struct host {
  struct tide_meeting *meeting;
  const char *path;
  uint64_t deadline;
  int listener;
  struct stranger {
    int socket;
    struct tide_peer peer;
  } strangers[STRANGERS]; /* connections without a hello */
  uint32_t stranger_count;
};

static void refuse(int socket, const struct tide_meeting *meeting, enum tide_status status,
                   const char *text) {
  struct tide_greeting refusal;
  tide_greeting_begin(&refusal, TIDE_GREETING_REFUSED, meeting);
  refusal.status = (uint32_t)status;
  snprintf(refusal.text, sizeof refusal.text, "%s", text);
  (void)!tide_socket_send(socket, &refusal, sizeof refusal, NULL, 0);
}

static bool is_complete(const struct tide_meeting *meeting) {
  for (uint32_t i = 1; i < meeting->count; i++)
    if (meeting->members[i].socket < 0) return false;
  return true;
}

/* False: there are no descriptors. */
static bool accept_stranger(struct host *host) {
  int socket = accept4(host->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) return errno != EMFILE && errno != ENFILE;
  struct tide_peer peer = tide_peer_of(socket);
  if (peer.uid == geteuid()) {
    host->strangers[host->stranger_count++] = (struct stranger){socket, peer};
    return true;
  }
  refuse(socket, host->meeting, TIDE_DENIED, "the session is another user's");
  close(socket);
  return true;
}

/* Seats the member. TIDE_DENIED, with a diag. */
static enum tide_status seat(struct host *host, const struct stranger *stranger,
                             const struct tide_greeting *hello, struct tide_diag *diag) {
  char label[TIDE_LABEL_SIZE];
  enum tide_status status = tide_greeting_judge_hello(hello, host->meeting, diag);
  if (status != TIDE_OK) return status;
  struct tide_met *met = &host->meeting->members[hello->rank];
  if (tide_peer_watch(&stranger->peer, &met->process) != TIDE_OK)
    return tide_diag_set(diag, TIDE_DENIED, "its process cannot be watched");
  met->socket = stranger->socket;
  tide_label_copy(label, hello->text);
  write_name(met->name, label, stranger->peer.pid);
  return TIDE_OK;
}

/* Reads a stranger's hello. True: it is no stranger any more, or is gone. */
static bool hear_stranger(struct host *host, const struct stranger *stranger) {
  struct tide_greeting hello;
  struct tide_diag diag = {.text = "a hello was expected"};
  enum tide_status status = receive(stranger->socket, &hello, NULL, &diag);
  if (status == TIDE_BUSY) return false;
  if (status == TIDE_OK) status = seat(host, stranger, &hello, &diag);
  if (status == TIDE_OK) return true;
  refuse(stranger->socket, host->meeting, TIDE_DENIED, diag.text);
  close(stranger->socket);
  return true;
}

static void hear_strangers(struct host *host) {
  uint32_t left = 0;
  for (uint32_t i = 0; i < host->stranger_count; i++)
    if (!hear_stranger(host, &host->strangers[i])) host->strangers[left++] = host->strangers[i];
  host->stranger_count = left;
}

/* A member that ends before the session begins may be started again. */
static void unseat(struct tide_met *met) {
  close_one(&met->socket);
  close_one(&met->process);
}

/* Waits for something to happen, and takes it in. TIDE_TIMEOUT, TIDE_FULL. */
static enum tide_status hear_once(struct host *host) {
  struct pollfd polled[1 + STRANGERS + TIDE_CLUSTER_MEMBERS_MAX];
  struct tide_meeting *meeting = host->meeting;
  nfds_t count = 0;
  bool has_room = host->stranger_count < STRANGERS;
  polled[count++] = (struct pollfd){has_room ? host->listener : -1, POLLIN, 0};
  for (uint32_t i = 0; i < host->stranger_count; i++)
    polled[count++] = (struct pollfd){host->strangers[i].socket, POLLIN, 0};
  nfds_t first = count;
  for (uint32_t i = 1; i < meeting->count; i++)
    polled[count++] = (struct pollfd){meeting->members[i].socket, POLLRDHUP, 0};
  int ready = poll(polled, count, ms_until(host->deadline));
  if (ready < 0 && errno != EINTR) return TIDE_FULL;
  if (ready > 0) {
    for (uint32_t i = 1; i < meeting->count; i++)
      if (polled[first + i - 1].revents) unseat(&meeting->members[i]);
    hear_strangers(host);
    if (polled[0].revents && !accept_stranger(host)) return TIDE_FULL;
    hear_strangers(host);
  }
  return tide_service_now() < host->deadline ? TIDE_OK : TIDE_TIMEOUT;
}

static enum tide_status time_out(struct host *host, struct tide_diag *diag) {
  const struct tide_meeting *meeting = host->meeting;
  char missing[160];
  struct tide_text text;
  tide_text_init(&text, missing, sizeof missing);
  for (uint32_t i = 1; i < meeting->count; i++)
    if (meeting->members[i].socket < 0) tide_text_format(&text, "%s%u", text.length ? ", " : "", i);
  char why[256];
  snprintf(why, sizeof why, "not all of %u members have come; missing: rank %s", meeting->count,
           missing);
  for (uint32_t i = 1; i < meeting->count; i++)
    if (meeting->members[i].socket >= 0)
      refuse(meeting->members[i].socket, meeting, TIDE_TIMEOUT, why);
  return tide_diag_set(diag, TIDE_TIMEOUT, "%s: %s", host->path, why);
}

/* Tells member `to` of member `of`, with its end of their connection. */
static enum tide_status introduce(const struct host *host, uint32_t to, uint32_t of,
                                  int connection) {
  const struct tide_meeting *meeting = host->meeting;
  const struct tide_met *met = &meeting->members[of];
  struct tide_greeting member;
  int descriptors[2];
  unsigned count = 0;
  tide_greeting_begin(&member, TIDE_GREETING_MEMBER, meeting);
  member.rank = of;
  snprintf(member.text, sizeof member.text, "%s", met->name);
  if (connection >= 0) descriptors[count++] = connection;
  member.has_process = met->process >= 0;
  if (member.has_process) descriptors[count++] = met->process;
  for (;;) {
    enum tide_status status =
        tide_socket_send(meeting->members[to].socket, &member, sizeof member, descriptors, count);
    /* The kernel limits the descriptors in a user's unread messages. */
    if (status != TIDE_BUSY || tide_service_now() >= host->deadline) return status;
    poll(NULL, 0, RETRY_MS);
  }
}

static enum tide_status connect_two(const struct host *host, uint32_t a, uint32_t b) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
    return TIDE_FULL;
  enum tide_status status = introduce(host, a, b, pair[0]);
  if (status == TIDE_OK) status = introduce(host, b, a, pair[1]);
  close(pair[0]);
  close(pair[1]);
  return status;
}

static enum tide_status introduce_all(const struct host *host) {
  enum tide_status status = TIDE_OK;
  for (uint32_t a = 1; a < host->meeting->count && status == TIDE_OK; a++) {
    status = introduce(host, a, 0, -1);
    for (uint32_t b = 1; b < a && status == TIDE_OK; b++) status = connect_two(host, a, b);
  }
  return status;
}

static enum tide_status gather(struct host *host, struct tide_diag *diag) {
  struct tide_meeting *meeting = host->meeting;
  enum tide_status status = TIDE_OK;
  while (!is_complete(meeting) && status == TIDE_OK) status = hear_once(host);
  if (status == TIDE_TIMEOUT && !is_complete(meeting)) return time_out(host, diag);
  if (status == TIDE_FULL)
    return tide_diag_set(diag, TIDE_FULL, "%s: no descriptors are left", host->path);
  if (getrandom(&meeting->tag, sizeof meeting->tag, 0) != sizeof meeting->tag)
    return tide_diag_set(diag, TIDE_IO, "getrandom: %s", strerror(errno));
  status = introduce_all(host);
  if (status == TIDE_BUSY) status = TIDE_TIMEOUT; /* somebody did not read */
  if (status != TIDE_OK)
    return tide_diag_set(diag, status, "%s: the members cannot be connected: %s", host->path,
                         tide_status_text(status));
  return TIDE_OK;
}

static enum tide_status host_meeting(const struct tide_cluster_params *params,
                                     struct tide_meeting *meeting, struct tide_diag *diag) {
  struct tide_endpoint endpoint;
  struct tide_met *self = &meeting->members[0];
  struct host host = {.meeting = meeting, .path = params->path, .deadline = params->deadline};
  char label[TIDE_LABEL_SIZE];
  tide_label_copy(label, params->label);
  write_name(self->name, label, (uint32_t)getpid());
  host.listener = tide_endpoint_open(&endpoint, params->path, diag);
  if (host.listener < 0) return diag->status == TIDE_OK ? TIDE_IO : diag->status;
  self->process = (int)syscall(SYS_pidfd_open, getpid(), 0);
  enum tide_status status = gather(&host, diag);
  tide_endpoint_close(&endpoint, params->path, host.listener);
  for (uint32_t i = 0; i < host.stranger_count; i++) {
    int socket = host.strangers[i].socket;
    refuse(socket, meeting, TIDE_DENIED, "the session has begun, or has not come about");
    close(socket);
  }
  close_one(&self->process);
  return status;
}

/* ---- the others ------------------------------------------------------------------------- */

/* Connects as soon as rank 0 listens; -1: the diag has the reason. */
static int reach_host(const struct tide_cluster_params *params, struct tide_diag *diag) {
  for (;;) {
    int socket = tide_socket_connect(params->path, params->deadline), error = errno;
    if (socket >= 0) return socket;
    bool is_early = error == ENOENT || error == ECONNREFUSED;
    if (!is_early || tide_service_now() >= params->deadline) {
      tide_diag_set(diag, is_early || error == ETIMEDOUT ? TIDE_TIMEOUT : TIDE_IO,
                    "%s: rank 0 is not there: %s", params->path, strerror(error));
      return -1;
    }
    poll(NULL, 0, RETRY_MS);
  }
}

static enum tide_status hear_host(struct tide_meeting *meeting, const char *path, uint64_t deadline,
                                  struct tide_diag *diag) {
  struct tide_greeting member;
  struct tide_diag wrong = {.text = ""};
  int descriptors[TIDE_DESCRIPTORS_MOST];
  struct pollfd one = {.fd = meeting->members[0].socket, .events = POLLIN};
  enum tide_status status;
  while ((status = receive(one.fd, &member, descriptors, &wrong)) == TIDE_BUSY) {
    if (tide_service_now() >= deadline)
      return tide_diag_set(diag, TIDE_TIMEOUT, "%s: rank 0 has not begun the session", path);
    poll(&one, 1, ms_until(deadline));
  }
  bool is_refused = status == TIDE_OK && member.kind == TIDE_GREETING_REFUSED;
  if (status == TIDE_OK && !is_refused)
    status =
        tide_greeting_take_member(&member, meeting, descriptors, TIDE_DESCRIPTORS_MOST, &wrong);
  for (unsigned i = 0; i < TIDE_DESCRIPTORS_MOST; i++) close_one(&descriptors[i]);
  if (is_refused)
    return tide_diag_set(diag, member.status == TIDE_TIMEOUT ? TIDE_TIMEOUT : TIDE_DENIED, "%s: %s",
                         path, member.text);
  if (status == TIDE_OK) return TIDE_OK;
  if (status == TIDE_LOST) return tide_diag_set(diag, TIDE_LOST, "%s: rank 0 has hung up", path);
  return tide_diag_set(diag, TIDE_DENIED, "%s: no session meets there: %s", path, wrong.text);
}

static enum tide_status visit_meeting(const struct tide_cluster_params *params,
                                      struct tide_meeting *meeting, struct tide_diag *diag) {
  struct tide_greeting hello;
  struct tide_met *self = &meeting->members[meeting->rank];
  char label[TIDE_LABEL_SIZE];
  int socket = reach_host(params, diag);
  meeting->members[0].socket = socket;
  if (socket < 0) return diag->status;
  tide_label_copy(label, params->label);
  write_name(self->name, label, (uint32_t)getpid());
  tide_greeting_begin(&hello, TIDE_GREETING_HELLO, meeting);
  snprintf(hello.text, sizeof hello.text, "%s", label);
  if (tide_socket_peer(socket) != geteuid())
    return tide_diag_set(diag, TIDE_DENIED, "%s: the session is another user's", params->path);
  enum tide_status status = tide_socket_send(socket, &hello, sizeof hello, NULL, 0);
  if (status != TIDE_OK)
    return tide_diag_set(diag, TIDE_LOST, "%s: rank 0 has hung up", params->path);
  for (uint32_t i = 1; i < meeting->count && status == TIDE_OK; i++)
    status = hear_host(meeting, params->path, params->deadline, diag);
  return status;
}

enum tide_status tide_meet(const struct tide_cluster_params *params, struct tide_meeting *out,
                           struct tide_diag *diag) {
  struct tide_diag own = {.status = TIDE_OK};
  if (!diag) diag = &own;
  *out = (struct tide_meeting){
      .rank = params->rank, .count = params->count, .silence = params->silence};
  for (uint32_t i = 0; i < TIDE_CLUSTER_MEMBERS_MAX; i++)
    out->members[i].socket = out->members[i].process = -1;
  enum tide_status status =
      params->rank == 0 ? host_meeting(params, out, diag) : visit_meeting(params, out, diag);
  if (status != TIDE_OK) tide_meeting_close(out);
  return status;
}
