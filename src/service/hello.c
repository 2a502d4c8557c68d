/* Connections until their hello: admitted, read, or sent away.
 *
 * A silent connection has cost its owner nothing. So silent connections take no client's capacity:
 * they have a short time and a share of their own, for each uid and for all uids together. When a
 * share is used up, its oldest connection is sent away. A hello usually lies in the socket when the
 * connection is accepted. The service reads it at once, and again before it sends a connection
 * away, so that only a connection without a hello is ever sent away. */
#include "base/alloc.h"
#include "service/served.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define HELLO_TIME 1000000000ull
#define HELLOS_OF_ONE 16u
#define HELLOS_OF_ALL 128u

/* ---- sending away ---------------------------------------------------------------------- */

void tide_served_turn_away(struct tide_service *service, int socket, enum tide_status status) {
  struct tide_peer peer = tide_peer_of(socket);
  struct tide_wire_message goodbye;
  struct tide_served stranger = {.service = service, .uid = peer.uid, .pid = peer.pid};
  tide_wire_begin(&goodbye, TIDE_WIRE_GOODBYE);
  goodbye.status = (uint32_t)status;
  (void)!tide_message_send(socket, &goodbye, NULL, 0);
  close(socket);
  tide_service_notify(service, TIDE_SERVICE_TURNED_AWAY, &stranger, status, NULL);
}

/* ---- a client's tables and memory ---- */

static enum tide_status make_tables(struct tide_served *client) {
  const struct tide_allocator *allocator = client->service->context->allocator;
  client->entries = tide_alloc(allocator, client->limits.handles, sizeof *client->entries);
  if (!client->entries) return TIDE_NOMEM;
  /* Before the next call can fail: tide_served_end walks the lists of a table that exists. */
  for (uint32_t i = 0; i < client->limits.handles; i++) tide_list_init(&client->entries[i].grants);
  client->pendings = tide_alloc(allocator, client->limits.waits, sizeof *client->pendings);
  client->outgoing_capacity = client->limits.waits + TIDE_REFUSALS_ROOM;
  client->outgoing = tide_alloc(allocator, client->outgoing_capacity, sizeof *client->outgoing);
  return client->pendings && client->outgoing ? TIDE_OK : TIDE_NOMEM;
}

static enum tide_status make_memory(struct tide_served *client) {
  struct tide_service *service = client->service;
  enum tide_status status = tide_mapping_create(&client->ring_memory, "tidemark-ring",
                                                tide_ring_bytes(client->limits.cells), false);
  if (status != TIDE_OK) return status;
  client->ring = (struct tide_ring){client->ring_memory.memory, client->limits.cells, 0};
  client->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (client->bell < 0) return TIDE_FULL;
  struct epoll_event event = tide_served_bell_event(client);
  if (epoll_ctl(service->epoll, EPOLL_CTL_ADD, client->bell, &event) != 0) return TIDE_NOMEM;
  return tide_published_create(service, client->number, client->limits.handles, &client->published);
}

static enum tide_status make_client(struct tide_served *client) {
  struct tide_client_params params = {.struct_size = sizeof params,
                                      .label = client->label,
                                      .timelines = tide_policy_timelines(&client->limits),
                                      .parts = client->limits.parts ? client->limits.parts : 1};
  enum tide_status status = make_tables(client);
  if (status == TIDE_OK) status = make_memory(client);
  if (status == TIDE_OK) status = tide_served_watch(client);
  if (status == TIDE_OK)
    status = tide_client_create(client->service->points, &params, &client->client);
  return status;
}

static enum tide_status send_welcome(struct tide_served *client) {
  struct tide_wire_message message;
  tide_wire_begin(&message, TIDE_WIRE_WELCOME);
  message.owner = client->number;
  message.domain = client->service->points->domain;
  message.trusted = client->rule->trusted;
  message.limits = client->limits;
  int values = tide_mapping_another(&client->published->mapping, false);
  int descriptors[3] = {client->ring_memory.descriptor, values, client->bell};
  if (values < 0) return TIDE_FULL;
  enum tide_status status = tide_message_send(client->socket, &message, descriptors, 3);
  close(values);
  return status;
}

/* ---- hellos ------------------------------------------------------------------------------ */

static bool has_all_clients(const struct tide_service *service, const struct tide_user *user) {
  return service->client_count >= service->policy.clients ||
         user->clients >= user->rule->connections;
}

/* True if no further client fits. Counts hang-ups that epoll has not reported yet as capacity. */
static bool is_full(struct tide_service *service, const struct tide_user *user) {
  if (!has_all_clients(service, user)) return false;
  tide_leave_look(service, user->clients >= user->rule->connections ? user : NULL);
  return has_all_clients(service, user);
}

/* Makes a client of the connection, or ends it. The connection waits while leaving clients hold the
 * capacity. */
static void welcome_client(struct tide_served *client) {
  struct tide_service *service = client->service;
  if (!tide_leave_make_room(service, client->user)) return;
  client->number = ++service->clients_ever;
  enum tide_status status = make_client(client);
  if (status == TIDE_OK) status = send_welcome(client);
  if (status != TIDE_OK) {
    tide_served_end(client, status == TIDE_LOST ? TIDE_OK : status);
    return;
  }
  /* The client has its descriptor: no other process is ever given the ring. */
  tide_mapping_keep(&client->ring_memory);
  client->is_welcome = true;
  tide_list_remove(&client->link);
  tide_list_push_back(&service->clients, &client->link);
  tide_service_notify(service, TIDE_SERVICE_CONNECTED, client, TIDE_OK, NULL);
  tide_served_wake(client);
}

/* Counts the connection as a client from here on. */
static enum tide_status take_hello(struct tide_served *client,
                                   const struct tide_wire_message *raw) {
  struct tide_service *service = client->service;
  struct tide_wire_message hello;
  enum tide_status status = tide_wire_check_hello(raw, sizeof *raw, &hello);
  if (status == TIDE_OK && is_full(service, client->user)) status = TIDE_FULL;
  if (status != TIDE_OK) return status;
  memcpy(client->label, hello.label, sizeof client->label);
  client->hello_before = 0;
  client->user->hellos--;
  client->user->clients++;
  service->hello_count--;
  service->client_count++;
  tide_list_remove(&client->link);
  tide_list_push_back(&service->waiting, &client->link);
  return TIDE_OK;
}

bool tide_hello_hear(struct tide_served *client) {
  struct tide_wire_message raw;
  enum tide_status status = tide_message_receive(client->socket, &raw, NULL, 0);
  if (status == TIDE_BUSY) return false;
  if (status == TIDE_OK) status = take_hello(client, &raw);
  else if (status != TIDE_LOST) status = TIDE_CORRUPT;
  if (status == TIDE_OK) welcome_client(client);
  else tide_served_end(client, status == TIDE_LOST ? TIDE_OK : status);
  return true;
}

void tide_hellos_welcome(struct tide_service *service) {
  struct tide_link *link = service->waiting.next;
  while (link != &service->waiting && tide_service_now() < service->admission_end) {
    struct tide_served *client = TIDE_CONTAINER(link, struct tide_served, link);
    link = link->next;
    welcome_client(client);
  }
}

/* Sends a silent connection away, unless its hello has come meanwhile. */
static void end_silent(struct tide_served *client, enum tide_status cause) {
  if (!tide_hello_hear(client)) tide_served_end(client, cause);
}

/* Returns the oldest silent connection of the user. */
static struct tide_served *oldest_of(struct tide_service *service, const struct tide_user *user) {
  struct tide_link *link = service->hellos.next;
  while (TIDE_CONTAINER(link, struct tide_served, link)->user != user) link = link->next;
  return TIDE_CONTAINER(link, struct tide_served, link);
}

/* Returns the user with the most silent connections. The newest one counted for `user` is still to
 * be accepted. */
static struct tide_user *most_silent(struct tide_service *service, const struct tide_user *user) {
  struct tide_user *most = NULL;
  uint32_t count = 0;
  for (struct tide_link *link = service->users.next; link != &service->users; link = link->next) {
    struct tide_user *other = TIDE_CONTAINER(link, struct tide_user, link);
    uint32_t silent = other->hellos - (other == user);
    if (silent > count) most = other;
    if (silent > count) count = silent;
  }
  return most;
}

/* Ends silent connections to make space for the one that the user's count already has. When the
 * share of all is used up, the user with the most of them loses its oldest. */
static void make_room(struct tide_service *service, struct tide_user *user) {
  if (user->hellos > HELLOS_OF_ONE) end_silent(oldest_of(service, user), TIDE_FULL);
  if (service->hello_count >= HELLOS_OF_ALL)
    end_silent(oldest_of(service, most_silent(service, user)), TIDE_FULL);
}

uint64_t tide_hellos_expire(struct tide_service *service) {
  if (tide_list_empty(&service->hellos)) return TIDE_FOREVER;
  uint64_t now = tide_service_now();
  while (!tide_list_empty(&service->hellos)) { /* the list is in the order of the deadlines */
    struct tide_served *oldest = TIDE_CONTAINER(service->hellos.next, struct tide_served, link);
    if (oldest->hello_before > now) return oldest->hello_before;
    end_silent(oldest, TIDE_TIMEOUT);
  }
  return TIDE_FOREVER;
}

/* ---- accepting ----------------------------------------------------------------------------- */

static enum tide_status admit_connection(struct tide_service *service, int socket,
                                         struct tide_peer peer, struct tide_user *user) {
  /* Keeps the record: the check for hang-ups may end the uid's last client. */
  user->hellos++;
  bool full = is_full(service, user);
  struct tide_served *client =
      full ? NULL : tide_alloc(service->context->allocator, 1, sizeof *client);
  if (!client) {
    user->hellos--; /* the caller releases the record */
    return full ? TIDE_FULL : TIDE_NOMEM;
  }
  make_room(service, user);
  client->service = service;
  client->user = user;
  client->socket = socket;
  client->bell = client->process = -1;
  client->ring_memory.descriptor = -1;
  client->uid = peer.uid;
  client->pid = peer.pid;
  client->accepted = peer.accepted;
  *client->rule = *user->rule;
  client->limits = client->rule->limits;
  client->hello_before = tide_service_now() + HELLO_TIME;
  tide_list_init(&client->active);
  tide_list_init(&client->lines);
  tide_list_init(&client->stores);
  tide_list_push_back(&service->hellos, &client->link);
  service->hello_count++;
  struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = client};
  if (epoll_ctl(service->epoll, EPOLL_CTL_ADD, socket, &event) != 0)
    tide_served_end(client, TIDE_NOMEM);
  else (void)tide_hello_hear(client);
  return TIDE_OK;
}

void tide_served_accept(struct tide_service *service, int socket) {
  struct tide_peer peer = tide_peer_of(socket);
  enum tide_status status = TIDE_OK;
  if (peer.uid == UINT32_MAX || tide_policy_find(&service->policy, peer.uid)->denied)
    status = TIDE_DENIED;
  struct tide_user *user = NULL;
  if (status == TIDE_OK && !(user = tide_user_find(service, peer.uid))) status = TIDE_NOMEM;
  if (status == TIDE_OK) status = admit_connection(service, socket, peer, user);
  if (status == TIDE_OK) return;
  tide_served_turn_away(service, socket, status);
  if (user) tide_user_release(service, user);
}
