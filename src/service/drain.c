/* The end in order: nothing new is taken, and what there is may end.
 *
 *      serving --- tide_service_drain ---> draining --- all is done --------> run: TIDE_OK
 *                                             |
 *                                             +-- the time is over ---------> run: TIDE_TIMEOUT
 *                                             +-- tide_service_stop --------> run: TIDE_OK
 *
 * The path is given up at the beginning: clients find no service there, or the next one. */
#include "service/work.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LOOKS 2u /* a value ends a moment before its waiters are on the list of finished ones */

void tide_service_drain(struct tide_service *service, uint64_t time) {
  uint64_t now = tide_service_now(), one = 1;
  int error = errno;
  tide_store_ordered(&service->drain_by, time < TIDE_FOREVER - now ? now + time : TIDE_FOREVER);
  (void)!write(service->bell, &one, sizeof one);
  errno = error;
}

static void end_connections(const struct tide_link *connections) {
  while (!tide_list_empty(connections))
    tide_served_end(TIDE_CONTAINER(connections->next, struct tide_served, link), TIDE_LOST);
}

static void begin_drain(struct tide_service *service) {
  service->is_draining = true;
  epoll_ctl(service->epoll, EPOLL_CTL_DEL, service->listener, NULL);
  tide_endpoint_close(&service->endpoint, service->path, service->listener);
  service->listener = -1;
  end_connections(&service->hellos);
  end_connections(&service->waiting);
}

bool tide_drain_refuses(const struct tide_service *service, uint16_t op) {
  return service->is_draining &&
         (op == TIDE_WIRE_PROMISE || op == TIDE_WIRE_COMPOUND || op == TIDE_WIRE_STAND_IN);
}

static bool is_client_done(const struct tide_served *client) {
  struct tide_client_stats points;
  for (const struct tide_link *at = client->lines.next; at != &client->lines; at = at->next) {
    const struct tide_line *line = TIDE_CONTAINER(at, struct tide_line, link);
    if (tide_load_acquire(&line->over) != line->submitted) return false;
  }
  tide_client_stats(client->client, &points);
  return points.promised == points.kept + points.broken;
}

/* True if no promise is open, no command is queued, and no ring has any. */
static bool is_all_done(struct tide_service *service) {
  if (!tide_list_empty(&service->active) || !tide_list_empty(&service->woken) ||
      !tide_list_empty(&service->paced) || !tide_list_empty(&service->leaving) ||
      !tide_list_empty(&service->closing))
    return false;
  struct tide_lock *lock = tide_points_lock(service->points);
  bool some_left = service->points->orphans != 0;
  tide_lock_give(lock);
  if (some_left) return false;
  for (struct tide_link *at = service->clients.next; at != &service->clients; at = at->next)
    if (!is_client_done(TIDE_CONTAINER(at, struct tide_served, link))) return false;
  return true;
}

enum tide_status tide_drain_look(struct tide_service *service) {
  uint64_t by = tide_load_ordered(&service->drain_by);
  if (!by) return TIDE_BUSY;
  if (!service->is_draining) begin_drain(service);
  service->done_looks = is_all_done(service) ? service->done_looks + 1 : 0;
  if (service->done_looks >= LOOKS) return TIDE_OK;
  if (tide_service_now() < by) return TIDE_BUSY;
  return service->done_looks ? TIDE_OK : TIDE_TIMEOUT;
}
