/* What must be left of clients that are gone: nothing. Looked at from inside, when the service has
 * stopped serving. */
#ifndef TESTS_ATTACKS_LEFT_H
#define TESTS_ATTACKS_LEFT_H

#include "service/work.h"

#include <stdio.h>
#include <unistd.h>

#define LEFT(what)                                                                                 \
  do {                                                                                             \
    uint64_t left_here = (uint64_t)(what);                                                         \
    if (left_here) fprintf(stderr, "left: %s: %lu\n", #what, (unsigned long)left_here);            \
    count += left_here != 0;                                                                       \
  } while (0)

/* A body that had ended when the service stopped may still be telling so, on a worker. */
static void left_let_workers_tell(struct tide_service *service) {
  for (int patience = 0; patience < 5000; patience++) {
    struct tide_lock *lock = tide_points_lock(service->points);
    bool told = tide_list_empty(&service->published);
    tide_lock_give(lock);
    if (told) return;
    usleep(1000);
  }
}

static int left_of_clients(struct tide_service *service) {
  const struct tide_points *points = service->points;
  uint64_t grants = 0, places = 0, slots = 0;
  int count = 0;
  left_let_workers_tell(service);
  struct tide_lock *lock = tide_points_lock(service->points);
  for (unsigned i = 0; i < TIDE_GRANT_BUCKETS; i++) grants += service->grants[i] != NULL;
  for (uint32_t i = 1; i <= points->slot_count; i++) {
    slots += points->slots[i].kind != TIDE_SLOT_FREE;
    places += service->places[i].published != NULL;
  }
  LEFT(service->client_count);
  LEFT(service->hello_count);
  LEFT(!tide_list_empty(&service->leaving));
  LEFT(!tide_list_empty(&service->active));
  LEFT(!tide_list_empty(&service->paced));
  LEFT(!tide_list_empty(&service->published));
  LEFT(service->closing_count);
  LEFT(service->finished != NULL);
  LEFT(service->dead_stores != NULL);
  LEFT(service->orphan_bytes);
  LEFT(grants);
  LEFT(places);
  LEFT(slots - TIDE_ENDED_POINTS); /* the service's own */
  LEFT(points->part_count - points->free_cells);
  LEFT(points->part_count - points->free_groups);
  LEFT(points->orphans);
  LEFT(points->orphan_compound_count);
  LEFT(points->orphan_parts);
  LEFT(points->clients.next != &service->self->link ||
       points->clients.prev != &service->self->link);
  LEFT(points->due.first != NULL || points->due.root != NULL);
  tide_lock_give(lock);
  return count;
}

#endif
