/* Buffers that clients share with the service, and with each other. */
#include "base/alloc.h"
#include "service/work.h"

enum tide_status tide_store_begin(struct tide_service *service, uint64_t size,
                                  struct tide_store **out_store) {
  struct tide_store *store = tide_alloc(service->context->allocator, 1, sizeof *store);
  if (!store) return TIDE_NOMEM;
  store->service = service;
  store->mapping = (struct tide_mapping){.size = size, .descriptor = -1};
  store->references = 1;
  tide_list_init(&store->link);
  *out_store = store;
  return TIDE_OK;
}

/* The name may go at the same time: of both threads the later one closes the descriptor. The size
 * never changes: other threads read it. */
enum tide_status tide_store_make(struct tide_store *store) {
  struct tide_mapping mapping;
  uint32_t before = TIDE_STORE_TO_MAKE;
  enum tide_status status =
      tide_mapping_create(&mapping, "tidemark-buffer", store->mapping.size, false);
  if (status == TIDE_OK && mapping.descriptor >= store->service->buffers_most) {
    tide_mapping_close(&mapping);
    status = TIDE_FULL;
  }
  if (status != TIDE_OK) {
    tide_store_fail(store, status);
    return status;
  }
  store->mapping.memory = mapping.memory;
  store->mapping.descriptor = mapping.descriptor;
  if (!tide_compare_exchange(&store->state, &before, (uint32_t)TIDE_STORE_MADE)) {
    tide_mapping_keep(&store->mapping);
    tide_store_release(&store->state, (uint32_t)TIDE_STORE_MADE);
  }
  return TIDE_OK;
}

void tide_store_fail(struct tide_store *store, enum tide_status status) {
  if (tide_load_acquire(&store->state) >= TIDE_STORE_MADE) return;
  store->status = (uint32_t)status;
  tide_store_release(&store->state, (uint32_t)TIDE_STORE_FAILED);
}

enum tide_status tide_store_status(const struct tide_store *store) {
  uint32_t state = tide_load_acquire(&store->state);
  if (state == TIDE_STORE_FAILED) return (enum tide_status)store->status;
  return state == TIDE_STORE_MADE ? TIDE_OK : TIDE_BUSY;
}

void tide_store_close_name(struct tide_store *store) {
  uint32_t before = TIDE_STORE_TO_MAKE;
  if (tide_compare_exchange(&store->state, &before, (uint32_t)TIDE_STORE_NAMELESS)) return;
  if (before == TIDE_STORE_MADE) tide_mapping_keep(&store->mapping);
}

void tide_store_drop(struct tide_store *store) {
  struct tide_service *service = store->service;
  if (tide_fetch_sub(&store->references, 1u) != 1) return;
  struct tide_store *first = tide_load_acquire(&service->dead_stores);
  do store->next_dead = first;
  while (!tide_compare_exchange(&service->dead_stores, &first, store));
}

void tide_store_discharge(struct tide_served *client, const struct tide_store *store) {
  client->bytes -= store->mapping.size;
  client->buffers--;
}

void tide_stores_orphan(struct tide_served *client) {
  struct tide_link *link;
  while ((link = tide_list_pop_front(&client->stores))) {
    struct tide_store *store = TIDE_CONTAINER(link, struct tide_store, link);
    store->maker = NULL;
    store->orphan = true;
    client->service->orphan_bytes += store->mapping.size;
  }
}

void tide_stores_reap(struct tide_service *service) {
  struct tide_store *none = NULL;
  if (!tide_load_acquire(&service->dead_stores)) return;
  struct tide_store *store = tide_exchange(&service->dead_stores, none);
  while (store) {
    struct tide_store *next = store->next_dead;
    if (store->maker) tide_store_discharge(store->maker, store);
    if (store->orphan) service->orphan_bytes -= store->mapping.size;
    tide_list_remove(&store->link);
    tide_mapping_close(&store->mapping);
    tide_free(service->context->allocator, store, 1, sizeof *store);
    store = next;
  }
}

enum tide_status tide_store_check_quota(struct tide_served *client, uint64_t size) {
  tide_stores_reap(client->service); /* returns the quota of stores that were just dropped */
  if (size == 0) return TIDE_INVALID;
  if (size > client->limits.bytes - client->bytes) return TIDE_FULL;
  return client->buffers < client->limits.buffers ? TIDE_OK : TIDE_FULL;
}

enum tide_status tide_store_claim(struct tide_served *client, struct tide_entry *entry,
                                  struct tide_store *store, bool writable, bool made) {
  uint64_t size = store->mapping.size;
  if (size > client->limits.bytes - client->bytes) return TIDE_FULL;
  if (client->buffers >= client->limits.buffers) return TIDE_FULL;
  client->bytes += size;
  client->buffers++;
  if (made) {
    store->maker = client;
    tide_list_push_back(&client->stores, &store->link);
  }
  entry->made = made;
  entry->kind = TIDE_ENTRY_BUFFER;
  entry->object = store;
  entry->writable = writable;
  return TIDE_OK;
}
