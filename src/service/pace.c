/* A client that is refused too often is not read for a while.
 *
 * Each refused command charges its uid some future time, which ends at `refused_until`. While that
 * is more than BURST ahead, a client with a refused command is paused until it is less again: its
 * ring is not read and its bell is ignored. Its socket is still served, so that it gets its
 * answers.
 *
 * The time is the uid's, so that a client cannot get rid of it by connecting again, and so that a
 * full ring that is left behind has its price, too. A client without refused commands never waits
 * for others of its uid. */
#include "service/work.h"

#include <sys/epoll.h>

#define SECOND 1000000000ull
#define BURST (4 * SECOND)
#define PAUSE (SECOND / 10) /* the shortest pause: each takes system calls */
#define TICK (SECOND / 64)  /* pauses end together, at multiples of this */
#define WHOLE 4u            /* parts that a refusal counts if the client could have avoided it */

static bool names_all(struct tide_served *client, const struct tide_wire_view *view) {
  if (!tide_entry_find(client, view->command->object, TIDE_ENTRY_FREE)) return false;
  for (size_t i = 0; i < view->point_count; i++)
    if (!tide_entry_find(client, view->points[i].name, TIDE_ENTRY_FREE)) return false;
  return true;
}

/* Returns the parts that a refusal counts: WHOLE if the client could have avoided it, one if other
 * clients, time or quotas caused it, none at the end of a list, or of the service. */
static uint64_t refusal_parts(struct tide_served *client, const struct tide_wire_view *view,
                              enum tide_status status) {
  if (tide_drain_refuses(client->service, view->command->op)) return 0;
  switch (status) {
    case TIDE_NOT_FOUND:
      if (view->command->op == TIDE_WIRE_STATS) return 0;
      return names_all(client, view) ? 1 : WHOLE; /* 1: the value may still be promised */
    case TIDE_INVALID:
    case TIDE_CORRUPT:
    case TIDE_DENIED:
    case TIDE_UNSUPPORTED: return WHOLE;
    default: return 1;
  }
}

static void set_bell_heard(struct tide_served *client, bool heard) {
  if (client->is_leaving) return;
  struct epoll_event event = tide_served_bell_event(client);
  if (!heard) event.events = 0;
  epoll_ctl(client->service->epoll, EPOLL_CTL_MOD, client->bell, &event);
}

static void begin_pause(struct tide_served *client, uint64_t now, enum tide_status status,
                        const char *what) {
  struct tide_service *service = client->service;
  struct tide_user *user = client->user;
  uint64_t until = user->refused_until - BURST;
  if (until < now + PAUSE) until = now + PAUSE;
  client->paced_until = (until / TICK + 1) * TICK;
  if (client->is_leaving) tide_pace_leave(client);
  if (client->paced_until < service->paced_next) service->paced_next = client->paced_until;
  tide_list_remove(&client->active);
  tide_list_push_back(&service->paced, &client->active);
  if (client->is_leaving) tide_leave_choose(service, user);
  set_bell_heard(client, false);
  client->paced++;
  if (user->is_told) return;
  user->is_told = true;
  tide_service_notify(service, TIDE_SERVICE_PACED, client, status, what);
}

void tide_pace_charge(struct tide_served *client, const struct tide_wire_view *view,
                      enum tide_status status) {
  struct tide_user *user = client->user;
  uint64_t now = tide_service_now(), price = SECOND / WHOLE / client->rule->refusals;
  uint64_t parts = refusal_parts(client, view, status);
  if (!parts) return;
  if (user->refused_until <= now) {
    user->refused_until = now;
    user->is_told = false;
  }
  user->refused_until += price * parts;
  if (user->refused_until > now + BURST && !client->paced_until)
    begin_pause(client, now, status, tide_wire_op_name(view->command->op));
}

void tide_pace_leave(struct tide_served *client) {
  struct tide_service *service = client->service;
  if (!client->paced_until || client->paced_until <= client->leave_by) return;
  client->paced_until = client->leave_by;
  if (client->leave_by < service->paced_next) service->paced_next = client->leave_by;
}

void tide_pace_resume(struct tide_service *service) {
  if (service->paced_next == TIDE_FOREVER) return;
  uint64_t now = tide_service_now(), next = TIDE_FOREVER;
  if (now < service->paced_next) return;
  struct tide_link *link = service->paced.next;
  while (link != &service->paced) {
    struct tide_served *client = TIDE_CONTAINER(link, struct tide_served, active);
    link = link->next;
    if (client->paced_until > now) {
      if (client->paced_until < next) next = client->paced_until;
      continue;
    }
    client->paced_until = 0;
    /* TIDE_GRACE is over: the rest of the ring is not read. */
    if (client->is_leaving && client->leave_by <= now) client->leave_at = client->ring.count;
    tide_list_remove(&client->active);
    if (client->is_leaving) tide_leave_go_on(client);
    else tide_list_push_back(&service->active, &client->active);
    set_bell_heard(client, true);
  }
  service->paced_next = next;
}
