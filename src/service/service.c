/* The service's loop, its creation and its end. */
#include "base/params.h"
#include "base/alloc.h"
#include "base/text.h"
#include "service/work.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTS 16                /* connections per round */
#define ADMISSION_TIME 1000000ull /* ns per round: making a client takes many system calls */
#define EVENTS 256
#define DRAIN_MS 10 /* the wait of the loop while the service is drained */
#define REAP_MS 2   /* the wait of the loop while channels of gone clients have commands left */

void tide_service_kick(struct tide_service *service) {
  uint64_t one = 1;
  if (tide_exchange(&service->asleep, 0u)) (void)!write(service->bell, &one, sizeof one);
}

void tide_service_stop(struct tide_service *service) {
  uint64_t one = 1;
  int error = errno;
  tide_store_ordered(&service->stopping, 1u);
  (void)!write(service->bell, &one, sizeof one);
  errno = error;
}

void tide_service_notify(struct tide_service *service, enum tide_service_event_kind kind,
                         const struct tide_served *client, enum tide_status status,
                         const char *what) {
  if (!service->params.event) return;
  struct tide_service_event event = {.kind = kind,
                                     .status = status,
                                     .time = tide_service_now(),
                                     .client = client->number,
                                     .uid = client->uid,
                                     .pid = client->pid,
                                     .label = client->label,
                                     .what = what,
                                     .sequence = client->sequence};
  service->params.event(service->params.user, &event);
}

/* ---- the loop ------------------------------------------------------------------------- */

/* Accepts one connection with the spare descriptor, and turns it away: all other descriptors are in
 * use. A connection left in the backlog would wake the loop for ever. */
static bool turn_away_one(struct tide_service *service) {
  if (service->spare < 0) return false;
  close(service->spare);
  int socket = accept4(service->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket >= 0) tide_served_turn_away(service, socket, TIDE_FULL);
  service->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return socket >= 0;
}

static bool may_admit(const struct tide_service *service) {
  return tide_service_now() < service->admission_end;
}

static void accept_some(struct tide_service *service) {
  /* Another thread may have taken the spare's descriptor at an earlier call. */
  if (service->spare < 0) service->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (int i = 0; i < ACCEPTS && (i == 0 || may_admit(service)); i++) {
    int socket = accept4(service->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    bool full = socket < 0 && (errno == EMFILE || errno == ENFILE);
    if (socket >= 0) tide_served_accept(service, socket);
    else if (!full || !turn_away_one(service)) return;
  }
}

static void handle_client(struct tide_served *client, unsigned which, uint32_t what) {
  if (client->is_ended) return; /* an earlier event of this batch ended it */
  /* epoll reports a skipped hello again. One is read in any case, however many connections come. */
  bool is_late_hello = client->hello_before != 0;
  if (is_late_hello && client->service->late_hellos++ && !may_admit(client->service)) return;
  if (which == TIDE_EVENT_BELL) tide_served_wake(client);
  else if (which == TIDE_EVENT_PROCESS) tide_served_hear(client, true, false, false);
  else
    tide_served_hear(client, what & (EPOLLHUP | EPOLLERR | EPOLLRDHUP), what & EPOLLIN,
                     what & EPOLLOUT);
}

static void handle_events(struct tide_service *service, const struct epoll_event *events,
                          int count) {
  for (int i = 0; i < count; i++) {
    uint64_t who = events[i].data.u64;
    if (who == (uint64_t)(uintptr_t)&service->bell) continue;
    if (who == (uint64_t)(uintptr_t)&service->listener) accept_some(service);
    else
      handle_client((struct tide_served *)(uintptr_t)(who & ~(uint64_t)TIDE_EVENT_BITS),
                    who & TIDE_EVENT_BITS, events[i].events);
  }
}

/* Puts clients that have just woken first: they have waited for the end of a round, and mostly have
 * few commands. */
static void put_woken_first(struct tide_service *service) {
  while (!tide_list_empty(&service->woken)) {
    struct tide_link *last = service->woken.prev;
    tide_list_remove(last);
    tide_list_insert_before(service->active.next, last);
  }
}

static uint64_t count_active(const struct tide_service *service) {
  uint64_t count = 0;
  for (const struct tide_link *at = service->active.next; at != &service->active; at = at->next)
    count++;
  return count;
}

/* Serves each active client for its share of one round. */
static void serve_round(struct tide_service *service) {
  put_woken_first(service);
  uint64_t active = count_active(service);
  uint64_t share = TIDE_ROUND_ALL / (active + 1);
  if (share > TIDE_ROUND_TIME) share = TIDE_ROUND_TIME;
  if (share < TIDE_ROUND_LEAST) share = TIDE_ROUND_LEAST;
  /* When all clients have used too much before, larger shares end that in fewer rounds. */
  service->idle_rounds = service->served_last && !service->served ? service->idle_rounds + 1 : 0;
  service->share = share << (service->idle_rounds < 16 ? service->idle_rounds : 16);
  service->given += service->share;
  service->served_last = active;
  service->served = 0;
  service->ends_until = 0;
  tide_served_begin_round(service);
  /* A client's round may remove any client from the list, and append others. */
  for (uint64_t i = 0; i < active && !tide_list_empty(&service->active); i++) {
    struct tide_link *first = tide_list_pop_front(&service->active);
    tide_list_push_back(&service->active, first);
    tide_served_round(TIDE_CONTAINER(first, struct tide_served, active));
  }
}

static int milliseconds_until(uint64_t until) {
  uint64_t now = tide_service_now();
  if (until == TIDE_FOREVER) return -1;
  return until <= now ? 0 : (int)((until - now) / 1000000u + 1);
}

static bool anything_finished(struct tide_service *service) {
  tide_lock_take(&service->finished_lock, service->context->platform);
  bool some = service->finished != NULL;
  tide_lock_give(&service->finished_lock);
  return some;
}

/* Reaps the channels of gone clients, but not in each round: a check of all channels takes time.
 * True if some are left. */
static bool reap_now_and_then(struct tide_service *service) {
  uint64_t now = tide_service_now();
  if (!tide_list_empty(&service->closing) && now - service->reaped < REAP_MS * 500000ull)
    return true;
  service->reaped = now;
  return tide_lines_reap(service);
}

enum tide_status tide_service_run(struct tide_service *service) {
  struct epoll_event events[EVENTS];
  while (!tide_load_ordered(&service->stopping)) {
    int patience = 0;
    enum tide_status drained = tide_drain_look(service);
    if (drained != TIDE_BUSY) return drained;
    bool left = reap_now_and_then(service) || !tide_list_empty(&service->waiting);
    uint64_t hellos = tide_hellos_expire(service);
    if (tide_list_empty(&service->active)) {
      uint64_t until = service->paced_next < hellos ? service->paced_next : hellos;
      patience = milliseconds_until(until < service->trim_at ? until : service->trim_at);
      if (left && (patience < 0 || patience > REAP_MS)) patience = REAP_MS;
      if (service->is_draining && (patience < 0 || patience > DRAIN_MS)) patience = DRAIN_MS;
      tide_store_ordered(&service->asleep, 1u);
      if (anything_finished(service) || tide_load_ordered(&service->stopping)) patience = 0;
    }
    int count = epoll_wait(service->epoll, events, EVENTS, patience);
    tide_store_ordered(&service->asleep, 0u);
    if (count < 0 && errno != EINTR) return TIDE_IO;
    if (count == 0 && tide_list_empty(&service->active)) tide_trim_if_due(service);
    service->admission_end = tide_service_now() + ADMISSION_TIME;
    service->late_hellos = 0;
    tide_policy_follow(service);
    tide_hellos_welcome(service);
    handle_events(service, events, count < 0 ? 0 : count);
    tide_pending_deliver(service);
    tide_pace_resume(service);
    serve_round(service);
    tide_served_free_ended(service);
  }
  return TIDE_OK;
}

/* ---- making and unmaking ------------------------------------------------------------------ */

static const struct tide_allocator *allocator_of(const struct tide_service_params *params) {
  return params->allocator ? params->allocator : tide_allocator_system();
}

static bool add_to_epoll(struct tide_service *service, int descriptor, void *name,
                         uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = name};
  return epoll_ctl(service->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

/* Returns the first descriptor number that no buffer may have: a quarter is left for
 * connections. */
static int descriptors_for_buffers(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX) return INT_MAX;
  return (int)(limit.rlim_cur - limit.rlim_cur / 4);
}

static enum tide_status open_descriptors(struct tide_service *service, struct tide_diag *diag) {
  service->listener = tide_endpoint_open(&service->endpoint, service->path, diag);
  if (service->listener < 0) return TIDE_IO;
  service->epoll = epoll_create1(EPOLL_CLOEXEC);
  service->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  service->buffers_most = descriptors_for_buffers();
  service->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (service->epoll < 0 || service->bell < 0 ||
      !add_to_epoll(service, service->listener, &service->listener, EPOLLIN) ||
      !add_to_epoll(service, service->bell, &service->bell, EPOLLIN | EPOLLET))
    return tide_diag_set(diag, TIDE_FULL, "no descriptors are left: %s", strerror(errno));
  return TIDE_OK;
}

static enum tide_status open_parts(struct tide_service *service) {
  const struct tide_policy *policy = &service->policy;
  struct tide_policy_room room = tide_policy_room(policy);
  struct tide_points_params points = {.struct_size = sizeof points,
                                      .domain = service->params.domain,
                                      .timelines = room.timelines,
                                      .parts = room.parts};
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .allocator = allocator_of(&service->params)};
  struct tide_cpu_params cpu = {.struct_size = sizeof cpu, .workers = service->params.workers};
  enum tide_status status = tide_context_create(&context_params, &service->context);
  if (status != TIDE_OK) return status;
  status = tide_cpu_open(service->context, &cpu, &service->device);
  if (status == TIDE_OK) status = tide_points_create(service->context, &points, &service->points);
  for (uint32_t i = 0; status == TIDE_OK && i < policy->trusted_count; i++)
    status = tide_points_trust(service->points, policy->trusted[i]);
  if (status != TIDE_OK) return status;
  service->places = tide_alloc(service->context->allocator, (size_t)points.timelines + 1,
                               sizeof *service->places);
  if (!service->places) return TIDE_NOMEM;
  service->spare_parts = room.spare_parts;
  tide_points_observe(service->points, tide_publish_observe, service);
  return tide_ended_points_create(service);
}

static void free_service(struct tide_service *service) {
  const struct tide_allocator *allocator = allocator_of(&service->params);
  tide_policy_forget_next(service);
  if (service->context) {
    uint32_t places = service->points ? service->points->slot_count + 1 : 0;
    tide_device_close(service->device); /* the device's threads may still report ends */
    tide_client_destroy(service->self, TIDE_OK);
    tide_points_destroy(service->points);
    tide_free(service->context->allocator, service->places, places, sizeof *service->places);
    tide_context_destroy(service->context);
  }
  if (service->listener >= 0)
    tide_endpoint_close(&service->endpoint, service->path, service->listener);
  if (service->epoll >= 0) close(service->epoll);
  if (service->bell >= 0) close(service->bell);
  if (service->spare >= 0) close(service->spare);
  tide_free(allocator, service->path, 1, strlen(service->path) + 1);
  tide_free(allocator, service, 1, sizeof *service);
}

enum tide_status tide_service_create(const struct tide_service_params *params,
                                     struct tide_service **out_service, struct tide_diag *diag) {
  struct tide_service_params own;
  enum tide_status known =
      tide_params_copy_named(&own, sizeof own, params, "tide_service_params", diag);
  if (known != TIDE_OK) return known;
  params = &own;
  if (!params->socket || !params->socket[0])
    return tide_diag_set(diag, TIDE_INVALID, "no socket is named");
  enum tide_status status = tide_service_check_bodies(params->bodies, diag);
  if (status != TIDE_OK) return status;
  const struct tide_allocator *allocator = allocator_of(params);
  struct tide_service *service = tide_alloc(allocator, 1, sizeof *service);
  size_t length = strlen(params->socket) + 1;
  char *path = tide_alloc(allocator, 1, length);
  if (!service || !path) {
    tide_free(allocator, service, 1, sizeof *service);
    tide_free(allocator, path, 1, length);
    return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  }
  memcpy(path, params->socket, length);
  service->params = *params;
  service->path = path;
  service->listener = service->epoll = service->bell = service->spare = -1;
  service->last_finished = &service->finished;
  tide_list_init(&service->clients);
  tide_list_init(&service->hellos);
  tide_list_init(&service->waiting);
  tide_list_init(&service->leaving);
  tide_list_init(&service->ended);
  tide_list_init(&service->users);
  tide_list_init(&service->active);
  tide_list_init(&service->woken);
  tide_list_init(&service->paced);
  service->paced_next = service->trim_at = TIDE_FOREVER;
  tide_list_init(&service->published);
  tide_list_init(&service->closing);
  tide_policy_init(&service->policy);
  status = tide_policy_read(&service->policy, params->policy,
                            params->policy ? params->policy_length : 0, diag);
  if (status == TIDE_OK) {
    status = open_parts(service);
    if (status != TIDE_OK) tide_diag_set(diag, status, "%s", tide_status_text(status));
  }
  if (status == TIDE_OK) status = open_descriptors(service, diag);
  if (status == TIDE_OK) *out_service = service;
  else free_service(service);
  return status;
}

static void end_all(struct tide_link *connections) {
  while (!tide_list_empty(connections))
    tide_served_end(TIDE_CONTAINER(connections->next, struct tide_served, link), TIDE_LOST);
}

/* Waits for running bodies. Processes that still map the values find them failed with TIDE_LOST.
 * All clients are told before any of them is ended: an end takes the longer the more the client
 * had. */
void tide_service_destroy(struct tide_service *service) {
  if (!service) return;
  tide_published_fail_all(service, TIDE_LOST);
  for (struct tide_link *at = service->clients.next; at != &service->clients; at = at->next)
    tide_served_hang_up(TIDE_CONTAINER(at, struct tide_served, link), TIDE_LOST);
  end_all(&service->hellos);
  end_all(&service->waiting);
  end_all(&service->clients);
  end_all(&service->leaving);
  tide_served_free_ended(service);
  tide_users_free(service);
  tide_lines_end(service);
  tide_pending_deliver(service);
  free_service(service);
}
