/* Who is refused too often is left alone for a while.
 *
 * Each refused command costs its client some time that has not come yet: `refused_until` is how far
 * the future is used up. Who has used up more than BURST of it is not read until that is less
 * again: its ring stays as it is, and its bell is not heard, so that it wakes nobody. Its socket
 * is: it is told what it is owed, and goes when it goes. */
#include "service/work.h"

#include <sys/epoll.h>

#define SECOND 1000000000ull
#define BURST (4 * SECOND)
#define PAUSE (SECOND / 10) /* at least: to begin and to end one takes system calls */
#define TICK (SECOND / 64)  /* those whose pauses end together are looked at together */
#define WHOLE 4u            /* so many of what nobody can help count as one */

static bool names_all(struct tide_served *client, const struct tide_wire_view *view) {
  if (!tide_entry_find(client, view->command->object, TIDE_ENTRY_FREE)) return false;
  for (size_t i = 0; i < view->point_count; i++)
    if (!tide_entry_find(client, view->points[i].name, TIDE_ENTRY_FREE)) return false;
  return true;
}

/* What a client could have known counts as a whole one; what others, time or the quotas made of its
 * command, as a part of one. The end of a list is an answer like any other. */
static uint64_t parts_of(struct tide_served *client, const struct tide_wire_view *view,
                         enum tide_status status) {
  switch (status) {
    case TIDE_NOT_FOUND:
      if (view->command->op == TIDE_WIRE_STATS) return 0;
      return names_all(client, view) ? 1 : WHOLE; /* no such value, perhaps not yet */
    case TIDE_INVALID:
    case TIDE_CORRUPT:
    case TIDE_DENIED:
    case TIDE_UNSUPPORTED: return WHOLE;
    default: return 1;
  }
}

static void hear_bell(struct tide_served *client, bool heard) {
  struct epoll_event event = tide_served_bell_event(client);
  if (!heard) event.events = 0;
  epoll_ctl(client->service->epoll, EPOLL_CTL_MOD, client->bell, &event);
}

static void begin(struct tide_served *client, uint64_t now, enum tide_status status,
                  const char *what) {
  struct tide_service *service = client->service;
  uint64_t until = client->refused_until - BURST;
  if (until < now + PAUSE) until = now + PAUSE;
  client->paced_until = (until / TICK + 1) * TICK;
  if (client->paced_until < service->paced_next) service->paced_next = client->paced_until;
  tide_list_remove(&client->active);
  tide_list_push_back(&service->paced, &client->active);
  hear_bell(client, false);
  client->paced++;
  if (client->told_of_pace) return;
  client->told_of_pace = true;
  tide_service_tell(service, TIDE_SERVICE_PACED, client, status, what);
}

void tide_pace_charge(struct tide_served *client, const struct tide_wire_view *view,
                      enum tide_status status) {
  uint64_t now = tide_service_now(), price = SECOND / WHOLE / client->rule->refusals;
  if (client->refused_until <= now) {
    client->refused_until = now;
    client->told_of_pace = false;
  }
  client->refused_until += price * parts_of(client, view, status);
  if (client->refused_until > now + BURST && !client->paced_until)
    begin(client, now, status, tide_wire_op_name(view->command->op));
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
    tide_list_remove(&client->active);
    tide_list_push_back(&service->active, &client->active);
    hear_bell(client, true);
  }
  service->paced_next = next;
}
