/* Publishes ended values in shared memory, at once and on the thread where they end. */
#include "base/alloc.h"
#include "service/served.h"

static void free_published(struct tide_published *published) {
  struct tide_service *service = published->service;
  struct tide_lock *lock = tide_points_lock(service->points);
  tide_list_remove(&published->link);
  tide_lock_give(lock);
  tide_mapping_close(&published->mapping);
  tide_free(service->context->allocator, published, 1,
            sizeof *published + published->count * sizeof published->places[0]);
}

void tide_published_release(struct tide_published *published) {
  if (published && tide_fetch_sub(&published->references, 1u) == 1) free_published(published);
}

/* Wakes the slot's readers. Runs without the lock. `pending` is cleared before the wake: a thread
 * that publishes meanwhile either sees it cleared, or has stored its value before this wake. */
static void wake_publication(struct tide_node *node, enum tide_status status) {
  struct tide_publication *at = TIDE_CONTAINER(node, struct tide_publication, wake);
  struct tide_published *published = at->owner;
  (void)status;
  tide_exchange(&at->pending, 0u);
  tide_values_wake(&published->values, (uint32_t)(at - published->places));
  tide_published_release(published);
}

enum tide_status tide_published_create(struct tide_service *service, uint64_t owner,
                                       uint32_t places, struct tide_published **out_published) {
  struct tide_published *published = tide_alloc(
      service->context->allocator, 1, sizeof *published + places * sizeof published->places[0]);
  if (!published) return TIDE_NOMEM;
  enum tide_status status =
      tide_mapping_create(&published->mapping, "tidemark-values", tide_values_bytes(places), true);
  published->service = service;
  published->count = places;
  published->owner = owner;
  published->references = 1;
  tide_list_init(&published->link);
  if (status == TIDE_OK) status = tide_values_format(published->mapping.memory, places);
  if (status == TIDE_OK)
    status = tide_values_attach(&published->values, published->mapping.memory, places, true);
  if (status != TIDE_OK) {
    tide_mapping_close(&published->mapping);
    tide_free(service->context->allocator, published, 1,
              sizeof *published + places * sizeof published->places[0]);
    return status;
  }
  for (uint32_t i = 0; i < places; i++) {
    published->places[i].owner = published;
    published->places[i].wake.fire = wake_publication;
  }
  struct tide_lock *lock = tide_points_lock(service->points);
  tide_list_push_back(&service->published, &published->link);
  tide_lock_give(lock);
  *out_published = published;
  return TIDE_OK;
}

static void show(struct tide_published *published, uint32_t place,
                 const struct tide_observed *what) {
  struct tide_values_news news = {.value = what->value,
                                  .lowest = what->lowest,
                                  .returned = what->returned,
                                  .newest = what->newest,
                                  .open = what->open,
                                  .ended = what->ended,
                                  .status = (uint32_t)what->status,
                                  .closed = what->closed};
  if (what->counts) tide_values_count(&published->values, place, &news);
  else if (what->none_from)
    tide_values_end(&published->values, place, what->none_from, what->status);
  else tide_values_publish(&published->values, place, &news);
}

void tide_publish(struct tide_published *published, uint32_t place, uint32_t generation,
                  struct tide_point base, uint64_t newest, uint32_t capacity) {
  struct tide_service *service = published->service;
  struct tide_publication *at = &published->places[place];
  struct tide_lock *lock = tide_points_lock(service->points);
  at->capacity = capacity;
  tide_fetch_add(&published->promises, capacity);
  service->places[base.timeline] = (struct tide_place_of){published, place, NULL};
  tide_fetch_add(&published->references, 1u);
  tide_store_release(&at->busy, 1u);
  tide_values_open(&published->values, place, generation, base.value, newest);
  /* A compound's deadline may have passed since it was made. */
  struct tide_observed news;
  if (tide_slot_news(service->points, base.timeline, &news)) show(published, place, &news);
  tide_lock_give(lock);
  tide_values_wake(&published->values, place);
}

void tide_publish_refused(struct tide_published *published, uint32_t place, uint32_t generation,
                          enum tide_status cause) {
  struct tide_lock *lock = tide_points_lock(published->service->points);
  tide_values_open(&published->values, place, generation, 0, 1);
  tide_values_end(&published->values, place, 1, cause);
  tide_lock_give(lock);
  tide_values_wake(&published->values, place);
}

void tide_publish_observe(void *user, const struct tide_observed *what, struct tide_fired *fired) {
  struct tide_service *service = user;
  struct tide_place_of *of = &service->places[what->slot];
  struct tide_published *published = of->published;
  if (!published) return;
  struct tide_publication *at = &published->places[of->place];
  /* Before the closed state is shown: a client that sees it may reuse the slot. */
  if (what->closed) tide_store_release(&at->busy, 0u);
  /* What breaks after the service's end breaks because of it: the values say so already. */
  if (!service->over) show(published, of->place, what);
  if (!what->counts && !tide_exchange(&at->pending, 1u)) {
    tide_fetch_add(&published->references, 1u);
    tide_fired_push(fired, &at->wake, TIDE_OK);
  }
  if (!what->closed) return;
  tide_fetch_sub(&published->promises, at->capacity);
  tide_tombstone_fill(service, what->slot);
  *of = (struct tide_place_of){NULL, 0, NULL};
  tide_fetch_sub(&published->references, 1u); /* not the last reference: the wake has one */
}

void tide_published_fail_all(struct tide_service *service, enum tide_status status) {
  struct tide_lock *lock = tide_points_lock(service->points);
  for (struct tide_link *link = service->published.next; link != &service->published;
       link = link->next) {
    struct tide_published *published = TIDE_CONTAINER(link, struct tide_published, link);
    tide_values_fail(&published->values, status);
  }
  service->over = true;
  tide_lock_give(lock);
}
