/* Buffers that clients share with the service, and with each other. */
#include "base/memory.h"
#include "service/work.h"

enum tide_status tide_store_create(struct tide_service *service, uint64_t size,
                                   struct tide_store **out_store) {
  struct tide_store *store = tide_alloc(service->context.allocator, 1, sizeof *store);
  if (!store) return TIDE_NOMEM;
  enum tide_status status = tide_mapping_create(&store->mapping, "tidemark-buffer", size, false);
  if (status != TIDE_OK) {
    tide_free(service->context.allocator, store, 1, sizeof *store);
    return status;
  }
  store->service = service;
  store->references = 1;
  tide_list_init(&store->link);
  *out_store = store;
  return TIDE_OK;
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
    tide_free(service->context.allocator, store, 1, sizeof *store);
    store = next;
  }
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
