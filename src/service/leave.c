/* Clients with a hung-up peer, or one whose process has ended.
 *
 *      client --- hang-up ---> leaving --- its ring is read ---> ended
 *                                 |
 *                                 +-- paced, for TIDE_GRACE, or its capacity is needed --> ended
 *
 * The commands in the ring at the hang-up still run: in ordinary rounds, at the pace of the uid,
 * and one ring of a uid at a time. So all leaving clients of a uid have the share of one client.
 * The ring with the least left is read first: the promises of its client break soon.
 *
 * A leaving client takes no connected client's capacity. Leaving clients have a share of their own,
 * so that they don't pile up; when the share is used up, a drained or paced client ends early. If
 * there is none, a uid with fewer leaving clients does not wait for the rings of the uid with the
 * most: one of these clients ends unread. Of the share, the compounds of gone clients have half:
 * beyond it the oldest break. */
#include "base/alloc.h"
#include "service/served.h"

#include <poll.h>
#include <sys/epoll.h>

bool tide_leave_is_drained(const struct tide_served *client) {
  return client->is_leaving && client->ring.count - client->leave_at <= client->ring.size;
}

static uint64_t cells_left(const struct tide_served *client) {
  return client->leave_at - client->ring.count;
}

/* True if the ring has commands to be read now. */
static bool is_waiting(const struct tide_served *client) {
  return !client->paced_until && !tide_leave_is_drained(client);
}

/* Returns the user's leaving client with the least in its ring that is neither drained nor paced.
 */
static struct tide_served *least_left(struct tide_service *service, const struct tide_user *user) {
  struct tide_served *least = NULL;
  for (struct tide_link *link = service->leaving.next; link != &service->leaving;
       link = link->next) {
    struct tide_served *client = TIDE_CONTAINER(link, struct tide_served, link);
    if (client->user != user || !is_waiting(client)) continue;
    if (!least || cells_left(client) < cells_left(least)) least = client;
  }
  return least;
}

void tide_leave_choose(struct tide_service *service, struct tide_user *user) {
  struct tide_served *next = least_left(service, user);
  if (next == user->draining) return;
  if (user->draining && is_waiting(user->draining)) tide_list_remove(&user->draining->active);
  user->draining = next;
  if (!next) return;
  tide_list_remove(&next->active);
  tide_list_push_back(&service->active, &next->active);
}

void tide_leave_go_on(struct tide_served *client) {
  tide_list_remove(&client->active);
  if (tide_leave_is_drained(client)) tide_list_push_back(&client->service->active, &client->active);
  else tide_leave_choose(client->service, client->user);
}

static void count_leaving(struct tide_served *client) {
  struct tide_service *service = client->service;
  client->user->clients--;
  client->user->leaving++;
  service->client_count--;
  service->leaving_timelines += tide_policy_timelines(&client->limits);
  service->leaving_parts += client->limits.parts;
  tide_list_remove(&client->link);
  tide_list_push_back(&service->leaving, &client->link);
}

/* Reads end at the present count: another holder of the ring may still write into it. The client's
 * descriptors leave epoll: the socket would report its end again and again. */
void tide_leave_begin(struct tide_served *client) {
  struct tide_service *service = client->service;
  uint64_t written = tide_ring_written(&client->ring);
  if (written - client->ring.count > client->ring.size) {
    tide_served_end(client, TIDE_CORRUPT);
    return;
  }
  client->is_leaving = true;
  client->leave_at = written;
  client->leave_by = tide_service_now() + TIDE_GRACE;
  count_leaving(client);
  epoll_ctl(service->epoll, EPOLL_CTL_DEL, client->socket, NULL);
  epoll_ctl(service->epoll, EPOLL_CTL_DEL, client->bell, NULL);
  tide_served_unwatch(client);
  if (client->paced_until) tide_pace_leave(client);
  else tide_leave_go_on(client);
}

void tide_leave_end_in_time(struct tide_served *client) {
  struct tide_service *service = client->service;
  uint64_t now = tide_service_now();
  if (!service->ends_until) service->ends_until = now + TIDE_ROUND_ENDS;
  else if (now >= service->ends_until) return;
  tide_served_end(client, TIDE_OK);
}

void tide_leave_end(struct tide_served *client) {
  struct tide_service *service = client->service;
  struct tide_user *user = client->user;
  if (user->draining == client) user->draining = NULL;
  tide_leave_choose(service, user);
  user->leaving--;
  service->leaving_timelines -= tide_policy_timelines(&client->limits);
  service->leaving_parts -= client->limits.parts;
}

/* True if leaving clients, and the queued commands and the compounds of gone ones, use less than
 * their share. When the queued commands are many, tide_lines_reap soon cancels them. */
static bool is_room_left(const struct tide_service *service) {
  struct tide_points *points = service->points;
  struct tide_lock *lock = tide_points_lock(points);
  bool enough =
      points->orphans + service->leaving_timelines <= tide_timelines_of_clients(service) / 2 &&
      points->orphan_parts + service->leaving_parts <= service->spare_parts;
  tide_lock_give(lock);
  return enough;
}

/* True if the compounds of gone clients use more than half of the share. */
static bool has_many_compounds(const struct tide_service *service) {
  struct tide_points *points = service->points;
  struct tide_lock *lock = tide_points_lock(points);
  bool many = points->orphan_compound_count > tide_timelines_of_clients(service) / 4 ||
              points->orphan_parts > service->spare_parts / 2;
  tide_lock_give(lock);
  return many;
}

/* Ends the oldest drained or paced leaving client, of the user or (NULL) of all. False: none. */
static bool end_oldest(struct tide_service *service, const struct tide_user *user) {
  for (struct tide_link *link = service->leaving.next; link != &service->leaving;
       link = link->next) {
    struct tide_served *client = TIDE_CONTAINER(link, struct tide_served, link);
    if (user && client->user != user) continue;
    if (!tide_leave_is_drained(client) && !client->paced_until) continue;
    tide_served_end(client, TIDE_OK);
    return true;
  }
  return false;
}

/* Returns the user with the most leaving clients, if these are more than `count`. */
static const struct tide_user *most_leaving(const struct tide_service *service, uint32_t count) {
  const struct tide_user *most = NULL;
  for (struct tide_link *link = service->users.next; link != &service->users; link = link->next) {
    const struct tide_user *user = TIDE_CONTAINER(link, struct tide_user, link);
    if (user->leaving <= count) continue;
    most = user;
    count = user->leaving;
  }
  return most;
}

/* Ends, unread, a leaving client of the uid with the most, unless `user` has as many. The client is
 * that with the most left in its ring, which would be read last. */
static bool end_unread(struct tide_service *service, const struct tide_user *user) {
  const struct tide_user *most = most_leaving(service, user->leaving);
  struct tide_served *last = NULL;
  if (!most) return false;
  for (struct tide_link *link = service->leaving.next; link != &service->leaving;
       link = link->next) {
    struct tide_served *client = TIDE_CONTAINER(link, struct tide_served, link);
    if (client->user != most) continue;
    if (!last || cells_left(client) > cells_left(last)) last = client;
  }
  tide_served_end(last, TIDE_OK);
  return true;
}

bool tide_leave_make_room(struct tide_service *service, const struct tide_user *user) {
  while (user->leaving >= user->rule->connections)
    if (!end_oldest(service, user)) return false;
  while (has_many_compounds(service) && tide_points_end_orphan(service->points)) continue;
  while (!is_room_left(service))
    if (!end_oldest(service, NULL) && !end_unread(service, user)) return false;
  return true;
}

/* ---- hang-ups and ended processes that epoll has not reported yet ---- */

#define LOOKED_AT 64u /* clients in one poll */

static void leave_if_gone(struct tide_served *const *clients, uint32_t count) {
  struct pollfd looks[LOOKED_AT], processes[LOOKED_AT];
  for (uint32_t i = 0; i < count; i++) {
    looks[i] = (struct pollfd){.fd = clients[i]->socket, .events = POLLRDHUP};
    processes[i] = (struct pollfd){.fd = clients[i]->process, .events = POLLIN};
  }
  /* poll skips the descriptor -1 of a process that is not watched. */
  int hung_up = poll(looks, count, 0), ended = poll(processes, count, 0);
  if (hung_up <= 0 && ended <= 0) return;
  for (uint32_t i = 0; i < count; i++)
    if (looks[i].revents & (POLLHUP | POLLERR | POLLRDHUP) || processes[i].revents)
      tide_leave_begin(clients[i]);
}

void tide_leave_look(struct tide_service *service, const struct tide_user *user) {
  struct tide_served *some[LOOKED_AT];
  uint32_t count = 0;
  struct tide_link *link = service->clients.next;
  while (link != &service->clients) {
    struct tide_served *client = TIDE_CONTAINER(link, struct tide_served, link);
    link = link->next; /* the call below unlinks only clients before it */
    if (!user || client->user == user) some[count++] = client;
    if (count < LOOKED_AT) continue;
    leave_if_gone(some, count);
    count = 0;
  }
  if (count) leave_if_gone(some, count);
}
